#!/bin/sh
# programs.sh BIN FILE.etg FOLDER [TARGET]: dynamic, claimed and hybrid kernels, sequences of kernels, and some with tasks made
# dynamic or claimed at random, and tasks claimed in turn, against the graph interpreter and bit for bit against the static one, at the corners of
# the dims, in seeded orders on incoherent caches. With $ETCC_LONG set, three such kernels, on more devices, and between the corners.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
. "$here/../../support/lib.sh"
bin=$1 etg=$2 target=${4:-gfx942} dir=$3/$(basename "$2" .etg).$target
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
for how in static dynamic hybrid kernels claimed; do
    k=$(kernel "$bin/etcc" "$etg" "$target" $how)
    ln -s "$k" $how.hsaco
    # A hybrid may find that no task is worth a queue, or that every one is; tasks of one tile are not claimed.
    [ $how = hybrid ] || [ $how = claimed ] || "$bin/etrun" $how.hsaco --list | grep -q "schedule $how"
done
"$bin/etcc" "$etg" --target="$target" --variants=1 --to scheduled -o static.eti
"$bin/etcc" static.eti --target="$target" -o base.hsaco
seeds=${ETCC_LONG:+2 3 }1 few="--device emu:$target:cus=2 --device emu:$target:cus=24:seed=2:coherence=model"
mixes=
for seed in $seeds; do
    mixed "$bin/etcc" static.eti $seed mix$seed.hsaco --target="$target"
    mixes="$mixes --also mix$seed.hsaco"
done
[ "$target" != gfx942 ] || [ -z "${ETCC_LONG-}" ] || few="$few --device emu:$target:cus=1 --device emu:$target:cus=7:xcds=2:seed=1
    --device emu:$target:cus=64:xcds=8:coherence=model:seed=3"
# shellcheck disable=SC2046,SC2086
for dims in ${ETCC_LONG:+''} "$(dims 2 "$etg")" "$(dims 3 "$etg")"; do
    "$bin/check_kernel" "$etg" static.hsaco --also dynamic.hsaco --also hybrid.hsaco --also kernels.hsaco --also claimed.hsaco $few $dims --runs 1
    "$bin/check_kernel" "$etg" base.hsaco $mixes $few $dims --runs 1
done

# Two tasks in turn: on so small a chip as has several blocks of these programs for each CU.
sed 's/^cus .*/cus 2/; s/^dies .*/dies 1/; s/^shader_engines .*/shader_engines 1/' "$here/../../../passes/machines/mi300x.machine" > small.machine
[ "$target" != gfx942 ] || "$bin/etcc" "$etg" --machine=small.machine --variants=1 --schedule=claimed --to scheduled -o turns.eti
if [ "$target" = gfx942 ] && grep -q ' behind ' turns.eti; then
    sed 's/ order claimed\( behind [0-9]*\)\{0,1\}$//; s/^schedule claimed/schedule/' turns.eti > apart.eti
    for how in turns apart; do "$bin/etcc" $how.eti -o $how.hsaco; done
    # shellcheck disable=SC2046,SC2086
    for dims in "$(dims 2 "$etg")" "$(dims 3 "$etg")"; do
        "$bin/check_kernel" "$etg" apart.hsaco --also turns.hsaco $few --device emu:gfx942:cus=1 $dims --runs 1
    done
fi
"$bin/check_kernel" "$etg" claimed.hsaco --runs 5 --device emu:$target:cus=4
"$bin/check_kernel" "$etg" dynamic.hsaco --runs 5 --device emu:$target:cus=4
