#!/bin/sh
# rows.sh BIN SRC WORK MACHINE TARGET: products of many rows in tiles whose sums local memory has no room for at once, against
# the graph interpreter. MACHINE is made one of two CUs, so that the tiles are as large as they can be.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 machine=$4 target=$5
mkdir -p "$work"
cd "$work"
sed 's/^cus .*/cus 2/; s/^dies .*/dies 1/; s/^event_us .*/event_us 200/; s/^hbm_gbs .*/hbm_gbs 100/' \
    "$src/passes/machines/$machine.machine" > two.machine
etg=$src/tests/targets/gpus/rows.etg
"$bin/etcc" "$etg" --machine=./two.machine --variants=1 --to=scheduled -o rows.eti
[ "$(grep -c '^  local $acc.* rows ' rows.eti)" = 3 ] || die "all sums have room: $(grep local rows.eti)"
sed -n '/^  contract/,/^}/p' rows.eti | grep -q '^  reduce' || die "no steps between the sums and the results"
"$bin/etcc" "$etg" --machine=./two.machine --variants=1 --emit-loops=loops -o rows.hsaco
[ "$(grep -c '^# LLVM-MCA-BEGIN' loops)" = 2 ] || die "products are in loops of several blocks: $(grep BEGIN loops)"
! grep -q v_readfirstlane loops || die "what all lanes have alike is not known to be that in a product's loop"
for n in 250 384 512; do
    "$bin/check_kernel" "$etg" rows.hsaco --runs 1 --device "emu:$target:cus=6" \
        --device "emu:$target:cus=32:coherence=model" --set "N=$n"
done
