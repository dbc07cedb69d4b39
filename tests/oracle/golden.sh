#!/bin/sh
# The imported golden checkpoints through the reference interpreter, against PyTorch: as the language
# rounds, and with everything in f32. $1: tools; $2: source tree; $3: scratch folder; $4: the model.
set -eu
bin=$1 golden=$2/tests/golden/$4 work=$3
mkdir -p "$work"
cd "$work"
"$bin/etimport" "$golden" -o "$4.etg" --max-tokens 512
sed -E 's/@ ([a-z]+)\.T/@ f32(\1).T/g; s/^state kc, vc : bf16/state kc, vc : f32/' "$4.etg" > "$4_f32.etg"
check() { # MODEL TOLERANCE
    "$bin/etinterp" "$1.etg" --in "$golden/golden.safetensors" --weights "$golden" \
        --out "$1.safetensors"
    "$bin/etllm" compare --ref "$golden/golden.safetensors" --out "$1.safetensors" --tolerance "$2"
}
check "$4" 1e-2
# What is left in f32 is the rounding of rope's frequencies to bf16 in the references.
check "$4_f32" 5e-3
