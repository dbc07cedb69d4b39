#!/bin/sh
# sums.sh ETCC CHECK_KERNEL FILE.etg FOLDER SRC: products of few rows with fewer tiles than CUs are cut along k, whoever reads the result
# adds the parts up, no task is added, and the kernel computes what it should on any number of CUs; of many rows there are
# no more than two parts. With few CUs they are whole, and so are those that a hint gives tiles.
set -eu
etcc=$1 check=$2 etg=$3 folder=$4 src=$5
. "$(dirname "$0")/../../support/lib.sh"
fresh "$folder"
"$etcc" "$etg" --variants=1 --to=tiled -o tiled.eti
for name in b d; do
    grep -q "^func @$name \[.*s0 < " tiled.eti || die "$name is whole: $(grep '^func' tiled.eti)"
done
[ "$(grep -c '^func' tiled.eti)" = 8 ] || die "other tasks: $(grep '^func' tiled.eti)"
grep -q '= select(s0 == 0, ' tiled.eti || die 'no part has what is added'
grep -q '^func @whole \[j0 < ' tiled.eti || die 'an output is in parts'
"$etcc" "$etg" -o k.hsaco --explain > said
tr '\n' ' ' < said | tr -s ' ' | grep -q 'split-K in [24] parts that its readers add up' || die "$(grep -A2 ' b: ' said)"
"$check" "$etg" k.hsaco --device emu:gfx942:cus=16:xcds=4:coherence=model:seed=1 --device emu:gfx942:cus=100
"$etcc" "$etg" --schedule=dynamic -o dynamic.hsaco
"$check" "$etg" dynamic.hsaco --device emu:gfx942:cus=16:xcds=4:coherence=model:seed=2
"$etcc" "$etg" --target=gfx1201 -o k12.hsaco
"$check" "$etg" k12.hsaco --device emu:gfx1201:cus=6
none() { # FILE MACHINE
    "$etcc" "$1" --machine="$2" --variants=1 --to=tiled -o none.eti
    ! grep -q '^func @[bd] \[.*s0 < ' none.eti || die "parts: $(grep '^func' none.eti)"
}
sed 's/^cus .*/cus 2/; s/^dies .*/dies 1/' "$src/passes/machines/mi300x.machine" > two.machine
none "$etg" ./two.machine
sed 's/N in 1..2/N in 1..20/' "$etg" > many.etg
"$etcc" many.etg --variants=1 --to=tiled -o many.eti
for name in b d; do
    grep -q "^func @$name \[.*s0 < 2\b" many.eti || die "of many rows: $(grep '^func' many.eti)"
done
"$etcc" many.etg --variants=1 -o many.hsaco
"$check" many.etg many.hsaco --device emu:gfx942:cus=16:xcds=4:coherence=model:seed=3
sed 's/^  [mx] = /  @tile(0, 16)\n&/' "$etg" > asked.etg
none asked.etg "$src/passes/machines/mi300x.machine"
