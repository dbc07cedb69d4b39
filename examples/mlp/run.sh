#!/bin/sh
# Compiles the MLP, gives it random weights and a random batch, runs it. $1: the folder with etcc,
# etrun and etfill; $2: where to leave the files; $3: samples in the batch.
set -eu
bin=$1 out=$2 n=${3:-5}
here=$(cd "$(dirname "$0")" && pwd)

"$bin/etfill" "$out/mlp_weights.safetensors" --seed 1 \
    'layer1.weight:bf16[101,37]:-0.3:0.3' 'layer1.bias:f32[101]:-0.5:0.5' \
    'norm.weight:f32[101]:0.5:1.5' 'norm.bias:f32[101]:-0.5:0.5' \
    'layer2.weight:bf16[67,101]:-0.3:0.3' 'layer2.bias:bf16[67]:-0.5:0.5' \
    'layer3.weight:f32[11,67]:-0.3:0.3'
"$bin/etfill" "$out/mlp_inputs.safetensors" --seed "$n" "x:f32[$n,37]:-2:2"

"$bin/etcc" "$here/mlp.etg" -o "$out/mlp.hsaco"
"$bin/etrun" "$out/mlp.hsaco" --set "N=$n" --in "$out/mlp_inputs.safetensors" \
    --weights "$out/mlp_weights.safetensors" --out "$out/mlp_outputs.safetensors"
