#!/bin/sh
# Compiles the layer, gives it random weights and tokens, runs it. $1: the folder with etcc, etrun and
# etfill; $2: where to leave the files; $3: tokens.
set -eu
bin=$1 out=$2 n=${3:-10}
here=$(cd "$(dirname "$0")" && pwd)

"$bin/etfill" "$out/moe_weights.safetensors" --seed 1 'router:f32[8,64]:-0.5:0.5' \
    'gate:bf16[8,96,64]:-0.2:0.2' 'up:bf16[8,96,64]:-0.2:0.2' 'down:bf16[8,64,96]:-0.2:0.2'
"$bin/etfill" "$out/moe_inputs.safetensors" --seed "$n" "x:f32[$n,64]:-2:2"

"$bin/etcc" "$here/moe.etg" -o "$out/moe.hsaco"
"$bin/etrun" "$out/moe.hsaco" --set "N=$n" --in "$out/moe_inputs.safetensors" \
    --weights "$out/moe_weights.safetensors" --out "$out/moe_outputs.safetensors"
