#!/bin/sh
# weakened.sh BIN SRC WORK [LAUNCHES]: take the fences from one event of a kernel, or narrow them to
# the workgroup, and the logits are wrong in every launch.
set -eu
bin=$1 model=$1/../checkpoints/llama launches=${4:-6}
mkdir -p "$3" && cd "$3"
"$bin/etimport" "$model" -o weakened.etg
device=emu:gfx942:cus=16:xcds=4:coherence=model:seed=
etcc() { "$bin/etcc" weakened.etg --variants=1 "$@"; }
seed=0
caught() { # HOW EVENT
    etcc -o weakened.hsaco --weaken="$1:$2"
    printf '%s of %s: ' "$1" "$2"
    seed=$((seed + 1))
    "$bin/interleavings" weakened.hsaco "$model" "$device$seed" "$launches" wrong
}
events=$(etcc -d schedule | sed -n 's/^ *event %\([a-z_0-9.]*\).*/\1/p')
test -n "$events"
n=0 all=0 releases=0
for event in $events; do
    n=$((n + 1))
    for how in fence acquire scope; do
        if caught $how "$event"; then all=$((all + 1)); fi
    done
    if caught release "$event"; then releases=$((releases + 1)); fi
done
echo "wrong in each of $launches launches: $all of $((3 * n)) kernels without a fence, an acquire or" \
    "device scope; $releases of $n without a release"
# Where the same workgroups release something else before any use, one release too few is no error.
test "$all" = $((3 * n)) && test $((2 * releases)) -ge "$n"
