#!/bin/sh
# The imported golden checkpoints in plain C, against PyTorch: the graph as the language rounds, and
# the tasks with everything in f32. $1: tools; $2: source tree; $3: scratch folder; $4: the model.
set -eu
bin=$1 golden=$2/tests/golden/$4 work=$3
mkdir -p "$work"
cd "$work"
check() { # NAME TOLERANCE STAGE IMPORT-OPTIONS...
    name=$1 tolerance=$2 stage=$3
    shift 3
    "$bin/etimport" "$golden" -o "$name.etg" --max-tokens 512 "$@"
    "$bin/etinterp" "$name.etg" --in "$golden/golden.safetensors" --weights "$golden" \
        --out "$name.safetensors" --stage "$stage" --seed 1 --orders 2 --check-races
    "$bin/etllm" compare --ref "$golden/golden.safetensors" --out "$name.safetensors" \
        --tolerance "$tolerance"
}
check "$4" 1e-2 graph
# The references came from models that were cast to bf16, frequencies and all, and widened again.
check "$4_f32" 2e-5 tasks --wide --rope-frequencies bf16
