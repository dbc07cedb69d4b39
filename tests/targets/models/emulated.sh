#!/bin/sh
# emulated.sh BIN SRC WORK MODEL TOLERANCE [TARGET SCHEDULE]: pieces of every size against PyTorch's logits.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 m=$4 tolerance=$5 target=${6:-gfx942} schedule=${7:-static}
golden=$bin/../checkpoints/$m
mkdir -p "$work"
cd "$work"
k=$(kernel "$bin/etcc" "$src/tests/targets/models/$m.etg" "$target" "$schedule")
out=$m.$target.$schedule.safetensors
for chunk in 1 7 40; do
    rm -f "$out"
    "$bin/etllm" score --kernel "$k" --model "$golden" --device "emu:$target:cus=8" --chunk $chunk \
        --tokens "$golden/golden.safetensors" --out "$out"
    "$bin/etllm" compare --ref "$golden/golden.safetensors" --out "$out" --tolerance "$tolerance" --gap 0.1
done
