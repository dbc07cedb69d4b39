#!/bin/sh
# run.sh ETCC CHECK_KERNEL FILE.etg FOLDER: compile FILE and check its kernel at the corners of its
# dims and between.
set -eu
etcc=$1 check=$2 etg=$3 dir=$4/$(basename "$3" .etg)
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
"$etcc" "$etg" -o k.hsaco
few="--device emu:gfx942:cus=1:xcds=1 --device emu:gfx942:cus=7:xcds=2 --device emu:gfx942:cus=64:xcds=8"
many="$few --device emu:gfx942:cus=2:xcds=2 --device emu:gfx942:cus=16:xcds=4:map=3
      --device emu:gfx942:cus=304:xcds=8:map=block"
"$check" "$etg" k.hsaco $many
lows=$(sed -n 's/^ *dim  *\([A-Za-z_0-9]*\)  *in  *\([0-9]*\)\.\.\([0-9]*\).*/--set \1=\2/p' "$etg")
highs=$(sed -n 's/^ *dim  *\([A-Za-z_0-9]*\)  *in  *\([0-9]*\)\.\.\([0-9]*\).*/--set \1=\3/p' "$etg")
"$check" "$etg" k.hsaco $few $lows
"$check" "$etg" k.hsaco $few $highs
