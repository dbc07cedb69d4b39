#!/bin/sh
# Compiles the encoder, gives it random weights and a random sequence, runs it. $1: the folder with
# etcc, etrun and etfill; $2: where to leave the files; $3: tokens of the sequence.
set -eu
bin=$1 out=$2 n=${3:-7}
here=$(cd "$(dirname "$0")" && pwd)

set -- 'words:bf16[211,60]:-1:1' 'places:bf16[48,60]:-0.5:0.5'
for l in 0 1; do
    p=layers.$l
    set -- "$@" "$p.q:bf16[60,60]:-0.3:0.3" "$p.k:bf16[60,60]:-0.3:0.3" \
        "$p.v:bf16[60,60]:-0.3:0.3" "$p.o:bf16[60,60]:-0.3:0.3" \
        "$p.norm1.weight:f32[60]:0.5:1.5" "$p.norm1.bias:f32[60]:-0.5:0.5" \
        "$p.up:bf16[97,60]:-0.3:0.3" "$p.up_bias:bf16[97]:-0.5:0.5" \
        "$p.down:bf16[60,97]:-0.3:0.3" \
        "$p.norm2.weight:f32[60]:0.5:1.5" "$p.norm2.bias:f32[60]:-0.5:0.5"
done
"$bin/etfill" "$out/encoder_weights.safetensors" --seed 2 "$@"
"$bin/etfill" "$out/encoder_inputs.safetensors" --seed "$n" "tokens:i32[$n]:0:210"

"$bin/etcc" "$here/encoder.etg" -o "$out/encoder.hsaco"
"$bin/etrun" "$out/encoder.hsaco" --set "T=$n" --in "$out/encoder_inputs.safetensors" \
    --weights "$out/encoder_weights.safetensors" --out "$out/encoder_outputs.safetensors"
