#!/bin/sh
# golden.sh BIN SRC WORK TARGET: logits of the golden checkpoints by kernels for TARGET against
# PyTorch's, and from caches that show only what the memory model promises. One checkpoint, with $ETCC_LONG set three.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 target=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
for m in llama ${ETCC_LONG:+llama3 qwen3}; do
    golden=$bin/../checkpoints/$m
    k=$(kernel "$bin/etcc" "$src/tests/unit/import/$m.etg" "$target" static)
    for run in 'cus=8 --chunk 1' 'cus=10 --chunk 7' 'cus=64' 'cus=6:coherence=model --chunk 19 --batch 2'; do
        device="emu:$target:${run%% *}" options=${run#"${run%% *}"}
        # shellcheck disable=SC2086
        "$bin/etllm" score --kernel "$k" --model "$golden" --device "$device" \
            --tokens "$golden/golden.safetensors" --out logits.safetensors $options
        "$bin/etllm" compare --ref "$golden/golden.safetensors" --out logits.safetensors \
            --tolerance 1e-2 --gap 0.1
    done
done
