#!/bin/sh
# fences.sh BIN SRC WORK TARGET: a kernel for TARGET without the fences of one event reads stale data
# where the memory model lets it. Without the release alone it does so where dies have their own L2;
# elsewhere every store has reached the one L2 before the workgroup's barrier lets anyone notify.
set -eu
bin=$1 src=$2 work=$3 target=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
golden=$src/tests/golden/llama
"$bin/etimport" "$golden" -o llama.etg

right() { # HOW: are the logits of the kernel so weakened right?
    weaken=
    [ "$1" = none ] || weaken=--weaken=$1:x
    # shellcheck disable=SC2086
    "$bin/etcc" llama.etg --target="$target" -o k.hsaco $weaken
    "$bin/etllm" score --kernel k.hsaco --model "$golden" --device "emu:$target:cus=8:coherence=model" \
        --tokens "$golden/golden.safetensors" --out logits.safetensors --chunk 40
    "$bin/etllm" compare --ref "$golden/golden.safetensors" --out logits.safetensors \
        --tolerance 1e-2 --gap 0.1
}

case $target in
gfx942 | gfx950) stale='fence scope acquire release' fresh=none ;;
*) stale='fence scope acquire' fresh='none release' ;;
esac
for how in $fresh; do
    right "$how" || { echo "fences.sh: $target, without $how: wrong" >&2; exit 1; }
done
for how in $stale; do
    if right "$how" 2> err; then
        echo "fences.sh: $target, without $how: right all the same" >&2
        exit 1
    fi
    ! grep -q 'error' err || { cat err >&2; exit 1; }
done
