#!/bin/sh
# expert_cache.sh BIN FOLDER SRC: which experts are in the cache follows what launches use, and comes to rest; results are the same from
# any cache; what experts in host memory do not go with is refused.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$3
fresh "$2"
cat >mix.etg <<'X'
model mix
dim N in 1..8
const E = 16, K = 2, H = 64, F = 32
input  x : bf16[N, H]
input  choice : i32[N, K]
weight wg : bf16[e in 0..E, F, H] = "g.{e}"
weight wu : bf16[e in 0..E, F, H] = "u.{e}"
weight wd : bf16[e in 0..E, H, F] = "d.{e}"
rows, place, owner, first = group(choice, E)
t = gather(x, idiv(rows, K))
y = grouped(silu(grouped(t, wg, owner)) * grouped(t, wu, owner), wd, owner)
y = gather(reshape(y, [size(rows, axis=0) * size(rows, axis=1), H]), place)
output z : f32[N, H] = sum(reshape(y, [N, K, H]), axis=1)
X
"$bin/etcc" mix.etg -o plain.hsaco
"$bin/etcc" mix.etg --experts-on=host -o host.hsaco
for e in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do echo "g.$e:bf16[32,64]:-1:1"; echo "u.$e:bf16[32,64]:-1:1"; echo "d.$e:bf16[64,32]:-1:1"; done |
    xargs "$bin/etfill" w.safetensors
"$bin/etfill" in.safetensors 'x:bf16[2,64]:-1:1' 'choice:i32[2,2]:8:11'
run() { # CODE OUT [OPTION...]
    code=$1 out=$2
    shift 2
    "$bin/etrun" "$code.hsaco" --set "N=${n:-2}" --in "${in:-in}.safetensors" --weights w.safetensors --out "$out.safetensors" \
        --device emu:gfx942:cus=4 --stats "$@" >said
}
experts() { sed -n 's/^experts: .* \([0-9]*\) of \([0-9]*\) entries there; \([0-9]*\) of \([0-9]*\) used were; \([0-9]*\) bytes copied/\1 \2 \3 \4 \5/p' said; }
run plain plain
[ -z "$(experts)" ] || die "there is a cache where nothing is in host memory"

# 48 entries of 4 KiB; a launch uses at most twelve: the cache of a quarter has room for them.
for cache in 0 12K 48K 96K all; do
    for repeat in 12 24; do
        run host host --expert-cache $cache --repeat $repeat
        cmp plain.safetensors host.safetensors || die "a cache of $cache changes the result"
        # shellcheck disable=SC2046
        set -- $(experts)
        [ "$2" -eq 48 ] || die "$2 entries"
        case $cache in
        0) [ "$1.$3.$5" = 0.0.0 ] || die "no cache: $*" ;;
        all) [ "$1.$3.$5" = 48.0.0 ] || die "everything is in the cache: $*" ;;
        96K) [ "$1" -eq 24 ] && [ "$5" -gt 0 ] || die "half: $*" ;;
        esac
        eval "was_$repeat=\$5 missed_$repeat=$(($4 - $3)) used_$repeat=$4"
    done
    case $cache in
    48K | 96K)
        # shellcheck disable=SC2154
        [ "$used_12" -gt 0 ] && [ "$was_12" -eq "$was_24" ] || die "$cache: steady routing, and $was_12 bytes become $was_24"
        # shellcheck disable=SC2154
        [ "$missed_12" -gt 0 ] && [ "$missed_12" -eq "$missed_24" ] || die "$cache: $missed_12 misses, then $missed_24"
        ;;
    esac
done

# Every weight of a product counts: one expert of three weights, in the launches before the last.
"$bin/etfill" single.safetensors 'x:bf16[1,64]:-1:1' 'choice:i32[1,2]:8:8'
n=1 in=single run host one --expert-cache 96K --repeat 5
# shellcheck disable=SC2046
set -- $(experts)
[ "$4" -eq 12 ] || die "four launches use $4 entries, of three weights of one expert"

refuses 1 'there are no weights of experts' "$bin/etcc" "$src/examples/mlp/mlp.etg" --experts-on=host -o no.hsaco
refuses 1 'experts-on=host with --devices is not supported' "$bin/etcc" mix.etg --experts-on=host --devices=2 -o no.hsaco
refuses 1 'resident with weights in host memory' "$bin/etcc" mix.etg --experts-on=host --resident -o no.hsaco
refuses 1 'sparse with weights in host memory' "$bin/etcc" mix.etg --experts-on=host --sparse -o no.hsaco
refuses 2 'expert-cache 3X' "$bin/etrun" host.hsaco --expert-cache 3X
refuses 1 'reads weights in host memory cannot be captured' "$bin/etrun" host.hsaco --set N=2 --in in.safetensors \
    --weights w.safetensors --device emu:gfx942:cus=4 --capture captured

# A tile's product of rows of several entries is refused, whoever wrote it.
"$bin/etcc" mix.etg --experts-on=host --variants=1 --to=scheduled -o good.eti
grep -q 'wg : .* host 1$' good.eti || die "no weight says that it is in host memory"
"$bin/etcc" good.eti -o again.hsaco && "$bin/etrun" --list again.hsaco | grep -q "16 entries in host memory" || die "the text loses them"

sed 's/%wg\[max(0, min(15, %owner\[[^]]*\])), \([^]]*\)n\([^]]*\), k\]/%wg[(n) % 16, \1n\2, k]/' good.eti >bad.eti
cmp -s good.eti bad.eti && die "the program has another form: $(grep '%wg\[' good.eti)"
refuses 1 'several entries of a weight in host memory' "$bin/etcc" bad.eti -o no.hsaco
