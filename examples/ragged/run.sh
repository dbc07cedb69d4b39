#!/bin/sh
# Compiles the model, gives it random rows, lengths and labels, runs it. $1: the folder with etcc,
# etrun and etfill; $2: where to leave the files; $3: rows in the batch.
set -eu
bin=$1 out=$2 n=${3:-50}
here=$(cd "$(dirname "$0")" && pwd)

"$bin/etfill" "$out/ragged_weights.safetensors" --seed 1 'w:f32[24,24]:-0.3:0.3'
"$bin/etfill" "$out/ragged_inputs.safetensors" --seed "$n" "x:f32[$n,24]:-2:2" \
    "lengths:i32[8]:0:$((n / 4 + 1))" "label:i32[$n]:-1:7"

"$bin/etcc" "$here/ragged.etg" -o "$out/ragged.hsaco"
"$bin/etrun" "$out/ragged.hsaco" --set "N=$n" --in "$out/ragged_inputs.safetensors" \
    --weights "$out/ragged_weights.safetensors" --out "$out/ragged_outputs.safetensors"
