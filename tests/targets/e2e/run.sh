#!/bin/sh
# run.sh ETCC CHECK_KERNEL FILE.etg FOLDER: compile FILE and check its kernel at the corners of its
# dims and between.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
etcc=$1 check=$2 etg=$3 dir=$4/$(basename "$3" .etg)
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
k=$(kernel "$etcc" "$etg" gfx942 static)
few="--device emu:gfx942:cus=1:xcds=1 --device emu:gfx942:cus=16:xcds=4:map=3"
many="--device emu:gfx942:cus=7:xcds=2 --device emu:gfx942:cus=304:xcds=8:map=block"
if [ -n "${ETCC_LONG-}" ]; then
    few="$few --device emu:gfx942:cus=7:xcds=2 --device emu:gfx942:cus=64:xcds=8"
    many="$few --device emu:gfx942:cus=2:xcds=2 --device emu:gfx942:cus=304:xcds=8:map=block"
fi
# shellcheck disable=SC2046,SC2086
"$check" "$etg" "$k" $many
for bound in 2 3; do
    "$check" "$etg" "$k" $few $(dims $bound "$etg")
done
