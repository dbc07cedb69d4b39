#!/bin/sh
# attend_parts.sh ETCC CHECK_KERNEL FILE.etg FOLDER SRC: attention over many positions for few tokens is in parts that the readers join, the
# kernel computes what it should on any number of CUs, the text says for which context; with few positions or CUs there are none. Rows that
# share tiles have parts where there may be many positions, which a task of its own joins; one part, where a row has few of them.
set -eu
etcc=$1 check=$2 etg=$3 folder=$4 src=$5
. "$(dirname "$0")/../../support/lib.sh"
fresh "$folder"
"$etcc" "$etg" --variants=1 --to=tiled -o tiled.eti
[ "$(grep -c 'func @\(plain\|sink\|window\) .* s0 < ' tiled.eti)" = 3 ] || die "not in parts: $(grep '^func' tiled.eti)"
"$etcc" "$etg" --variants=1 --to=scheduled -o scheduled.eti
"$etcc" "$etg" -o k.hsaco --explain > said
tr '\n' ' ' < said | tr -s ' ' | grep -q 'positions in [0-9]* parts, chosen for a context of 600' || die "$(grep -A1 attention said)"
"$check" "$etg" k.hsaco --device emu:gfx942:cus=16:xcds=4:coherence=model:seed=1 --device emu:gfx942:cus=100
"$etcc" "$etg" --target=gfx1201 -o k12.hsaco
"$check" "$etg" k12.hsaco --device emu:gfx1201:cus=6
none() { # FILE MACHINE
    "$etcc" "$1" --machine="$2" --variants=1 --to=tiled -o none.eti
    ! grep -q 's0 < ' none.eti || die "parts: $(grep '^func' none.eti)"
}
sed 's/CTX = 1200/CTX = 100/' "$etg" > short.etg
none short.etg "$src/passes/machines/mi300x.machine"
sed 's/^cus .*/cus 2/; s/^dies .*/dies 1/' "$src/passes/machines/mi300x.machine" > two.machine
none "$etg" ./two.machine
sed 's/N in 1..2/N in 1..20/' "$etg" > many.etg
none many.etg "$src/passes/machines/mi300x.machine"

sed 's/^cus .*/cus 8/; s/^dies .*/dies 1/' "$src/passes/machines/mi355x.machine" > few.machine
for slots in 3 1; do
    sed "s/N in 1..2/N in 90..100/; s/CTX = 1200/CTX = 9000/; s/SLOTS = 2/SLOTS = $slots/; s/window = 600/window = 2500/" "$etg" > shared.etg
    "$etcc" shared.etg --machine=./few.machine --variants=1 --to=tiled -o shared.eti
    [ "$(grep -c 'func @\(plain\|sink\|window\) .*/ 32, .* s0 < ' shared.eti)" = 3 ] || die "rows not in parts: $(grep '^func' shared.eti)"
    [ "$(grep -c 'func @\(plain\|sink\|window\).joined ' shared.eti)" = 3 ] || die "nothing joins them: $(grep '^func' shared.eti)"
    "$etcc" shared.etg --machine=./few.machine -o shared.hsaco
    grep -aq '"name": "N", [^}]*"tile": 32}' shared.hsaco || die 'the manifest does not say how many rows share a tile'
    "$check" shared.etg shared.hsaco --device emu:gfx950:cus=8
done
sed 's/CTX = 9000/CTX = 8000/' shared.etg > eight.etg
none eight.etg ./few.machine
