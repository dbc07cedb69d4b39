#!/bin/sh
# choice.sh BIN BENCH WORK: how a large sum is exchanged goes by what was measured on two H200 (bench/devices/README.md): prompts of 512 rows with flags,
# of 2,048 by rows, be parts f32 or bf16; what adds up parts with flags has one tile for each CU at most,
# and the norm behind it is the same task; sends are apart where tiles have many rounds. Of a mixture the sum of all experts is exchanged, once a layer.
set -eu
bin=$1 bench=$2 out=$3
mkdir -p "$out" && cd "$out"
. "$bench/pairs.sh"
for rows in 512 2048; do
    pair 4096 14336 28672 $rows > pair.etg
    for parts in f32 bf16; do
        "$bin/etcc" pair.etg --machine=H200 --devices=2 --variants=1 --parts=$parts --to=scheduled -o pair.eti
        grep -q "temp %h.down : $parts\[$rows, 4096\] partial flagged" pair.eti || { echo "$rows rows: parts are not $parts" && exit 1; }
        how=flags
        ! grep -q '^ *task @.* dealt' pair.eti || how=rows
        case $rows.$how in 512.flags | 2048.rows) ;; *) echo "$rows rows of $parts: $how" && exit 1 ;; esac
        [ "$(grep -c '^ *task @' pair.eti)" = 4 ] || { echo "$rows rows of $parts: the sum and its norm are two tasks" && exit 1; }
        [ $how = rows ] || awk '/^func/ { on = 0; split($0, w, /[<\]]/); tiles = w[2] + 0 } /%h\.down\[/ && / = .*%h\.down\[/ { any = 1; if (tiles > 132) bad = 1 }
            END { exit bad || !any }' pair.eti || { echo "$rows rows of $parts: more than a tile for each CU adds up" && exit 1; }
    done
done
# Eight rounds of tiles: what is sent is sent apart.
pair 4096 14336 28672 8192 > pair.etg
"$bin/etcc" pair.etg --machine=H200 --devices=2 --variants=1 --to=scheduled -o pair.eti
grep -q 'task @h.down = .* order others_first along i0 apart$' pair.eti && grep -q 'task @z = .* order own_first along i0$' pair.eti &&
    [ "$(grep -c ' apart$' pair.eti)" = 2 ] || { grep task pair.eti && exit 1; }
"$bin/etcc" pair.etg --machine=H200 --devices=2 --variants=1 --without=apart --to=scheduled -o pair.eti
! grep -q ' apart$\|order o' pair.eti || { grep task pair.eti && exit 1; }
"$bin/etcc" "$bench/../../tests/passes/devices/experts.etg" --machine=H200 --devices=2 --variants=1 --to=scheduled -o experts.eti
[ "$(grep -c 'partial' experts.eti)" = 1 ] && grep -q 'temp %x.map : f32\[2, N, 64\] partial' experts.eti || { grep partial experts.eti && exit 1; }
# Of one token the sum over experts is one product, of as many waves as share a device's part of an expert's k; gate and up have a tile for nearly each CU.
src=$bench/../.. work=$PWD
source_of qwen3-30b-a3b 1 512
"$bin/etcc" model.etg --machine=H200 --devices=2 --to=scheduled -o a3b.eti
grep -q 'func @experts.gate_up \[i0 < 8, u0 < 16\]' a3b.eti && grep -q 'k < 3072 waves 1 \* 6' a3b.eti && grep -q 'temp %experts.down : f32\[48, 1, 2048\] partial tagged' a3b.eti ||
    { grep 'func\|partial\|contract' a3b.eti && exit 1; }
echo ok
