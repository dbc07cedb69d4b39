#!/bin/sh
# fences.sh BIN SRC WORK TARGET: a kernel for TARGET without the fences of one event reads stale data
# where the memory model lets it. Without the release alone it does so where dies have their own L2;
# elsewhere every store has reached the one L2 before the workgroup's barrier lets anyone notify.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 target=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
golden=$bin/../checkpoints/llama
llama=$src/tests/unit/import/llama.etg

compile() { # HOW to weaken the fences of event x
    if [ "$1" = none ]; then
        k=$(kernel "$bin/etcc" "$llama" "$target" static)
    else
        k=$PWD/weak.hsaco
        "$bin/etcc" "$llama" --target="$target" -o "$k" --weaken="$1:x"
    fi
}

right() { # SEED: are the logits right when waves run in this order?
    "$bin/etllm" score --kernel "$k" --model "$golden" --chunk 40 \
        --device "emu:$target:cus=8:coherence=model:threads=1:seed=$1" \
        --tokens "$golden/golden.safetensors" --out logits.safetensors || exit 1
    "$bin/etllm" compare --ref "$golden/golden.safetensors" --out logits.safetensors \
        --tolerance 1e-2 --gap 0.1
}

case $target in
gfx942 | gfx950) stale='fence scope acquire release' fresh=none ;;
*) stale='fence scope acquire' fresh='none release' ;;
esac
[ -n "${ETCC_LONG-}" ] || stale=scope fresh=none
for how in $fresh; do
    compile "$how"
    right 1 || { echo "fences.sh: $target, without $how: wrong" >&2; exit 1; }
done
for how in $stale; do
    compile "$how"
    for seed in 1 2 3 4 5 never; do
        [ $seed != never ] || { echo "fences.sh: $target, without $how: right all the same" >&2; exit 1; }
        right $seed || break
    done
done
