#!/bin/sh
# The imported golden checkpoints in plain C, against PyTorch: the graph as the language rounds, and
# the tasks with everything in f32. $1: tools; $2: source tree; $3: scratch folder; $4: the model.
set -eu
bin=$1 golden=$1/../checkpoints/$4 work=$3
mkdir -p "$work"
cd "$work"
check() { # FILE TOLERANCE OPTIONS...
    file=$1 tolerance=$2
    shift 2
    rm -f "$file.safetensors"
    "$bin/etinterp" "$file" --in "$golden/golden.safetensors" --weights "$golden" \
        --out "$file.safetensors" "$@"
    "$bin/etllm" compare --ref "$golden/golden.safetensors" --out "$file.safetensors" \
        --tolerance "$tolerance"
}
case $4 in # as tests/system/llm/compile.sh
mixtral | qwen3_moe) options='--rope-frequencies bf16 --cache f16' ;;
*) options= ;;
esac
# shellcheck disable=SC2086
"$bin/etimport" "$golden" -o "$4.etg" --max-tokens 512 $options
check "$4.etg" 1e-2 --stage graph
# The references came from models that were cast to bf16, frequencies and all, and widened again.
"$bin/etimport" "$golden" -o "$4_f32.etg" --max-tokens 512 --wide --rope-frequencies bf16
check "$4_f32.etg" 2e-5 --seed 1 --orders 2 --check-races
"$bin/etcc" "$4_f32.etg" --to scheduled -o "$4_f32.eti"
check "$4_f32.eti" 2e-5 --seed 3 --check-races
