#!/bin/sh
# Compiles the event-level programs and runs them on random tensors. $1: the folder with etcc,
# etrun and etfill; $2: where to leave the files; $3: rows.
set -eu
bin=$1 out=$2 n=${3:-5}
here=$(cd "$(dirname "$0")" && pwd)

"$bin/etfill" "$out/splitk_inputs.safetensors" --seed "$n" "x:f32[$n,1000]:-1:1"
"$bin/etcc" "$here/splitk.eti" -o "$out/splitk.hsaco"
"$bin/etrun" "$out/splitk.hsaco" --set "N=$n" --in "$out/splitk_inputs.safetensors" \
    --out "$out/splitk_outputs.safetensors"

"$bin/etfill" "$out/pipeline_weights.safetensors" --seed 1 \
    'w1:bf16[96,80]:-0.3:0.3' 'w2:bf16[40,96]:-0.3:0.3'
"$bin/etfill" "$out/pipeline_inputs.safetensors" --seed "$n" "x:bf16[$n,80]:-2:2"
"$bin/etcc" "$here/pipeline.eti" -o "$out/pipeline.hsaco"
"$bin/etrun" "$out/pipeline.hsaco" --set "N=$n" --in "$out/pipeline_inputs.safetensors" \
    --weights "$out/pipeline_weights.safetensors" --out "$out/pipeline_outputs.safetensors"

# At most 32 tokens.
tokens=$((n > 32 ? 32 : n))
"$bin/etfill" "$out/experts_weights.safetensors" --seed 1 \
    'router:f32[8,16]:-1:1' 'w:f32[8,16,16]:-0.3:0.3'
"$bin/etfill" "$out/experts_inputs.safetensors" --seed "$n" "x:f32[$tokens,16]:-2:2"
"$bin/etcc" "$here/experts.eti" -o "$out/experts.hsaco"
"$bin/etrun" "$out/experts.hsaco" --set "N=$tokens" --in "$out/experts_inputs.safetensors" \
    --weights "$out/experts_weights.safetensors" --out "$out/experts_outputs.safetensors"
