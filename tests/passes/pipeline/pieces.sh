#!/bin/sh
# pieces.sh ETCC CHECK_KERNEL FILE.etg FOLDER SRC: tiles of a product whose columns are read in pairs far apart hold a piece of either
# part, as narrow as is asked for, and the kernel computes what it should; where a machine has few CUs heads stay in one piece.
set -eu
etcc=$1 check=$2 etg=$3 folder=$4
. "$(dirname "$0")/../../support/lib.sh"
fresh "$folder"
"$etcc" "$etg" --variants=1 --to=tiled -o tiled.eti
has() { grep -Fq "$1" tiled.eti || die "no '$1' in $(grep -E 'func|acc0 \+=' tiled.eti)"; }
has 'u0 * 8 + n / 8 * 32 + n % 8, k]'   # 16 of 64
has 'u0 * 16 + n / 16 * 32 + n % 16, k]' # 32 of 64
has 'u0 * 16 + n / 16 * 48 + n % 16, k]' # 32 of 96
"$etcc" "$etg" -o k.hsaco
"$check" "$etg" k.hsaco --device emu:gfx942:cus=16:xcds=4:coherence=model:seed=1 --device emu:gfx942:cus=100
"$etcc" "$etg" --target=gfx1100 -o k11.hsaco
"$check" "$etg" k11.hsaco --device emu:gfx1100:cus=6
# Without being asked to: heads of 64 for 8 CUs and for 32.
for cus in 8 32; do
    sed "s/^cus .*/cus $cus/; s/^dies .*/dies 1/" "$5/passes/machines/mi300x.machine" > some.machine
    grep -v '^@tile' "$etg" > plain.etg
    "$etcc" plain.etg --machine=./some.machine --variants=1 --to=tiled -o "$cus.eti"
done
grep -Fq 'n / ' 32.eti || die "one piece for 32 CUs"
! grep -Fq 'n / ' 8.eti || die "pieces for 8 CUs"
