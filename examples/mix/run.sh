#!/bin/sh
# Two models in one kernel: a dense decoder and a mixture of experts, launched together and then the first alone.
# $1: the folder with the tools; $2: where to leave the files.
set -eu
bin=$(cd "$1" && pwd) out=$2
models=$bin/../checkpoints
cd "$out"

"$bin/etimport" "$models/stories-llama" -o llama.etg
"$bin/etimport" "$models/stories-moe" -o moe.etg
"$bin/etcc" llama.etg moe.etg -o mix.hsaco --weight stories_moe=2

# Three sequences of the one model and one of the other, each at its first token.
"$bin/etfill" inputs.safetensors --seed 1 \
    'stories_llama.tokens:i32[3]:1:1000' 'stories_llama.positions:i32[3]:0:0' 'stories_llama.slots:i32[3]:0:15' \
    'stories_moe.tokens:i32[1]:1:1000' 'stories_moe.positions:i32[1]:0:0' 'stories_moe.slots:i32[1]:0:15'
"$bin/etrun" mix.hsaco --weights "stories_llama=$models/stories-llama" --weights "stories_moe=$models/stories-moe" \
    --dim stories_llama.N=3,stories_moe.N=1 --in inputs.safetensors --out both.safetensors
"$bin/etrun" mix.hsaco --only stories_llama --weights "stories_llama=$models/stories-llama" \
    --dim stories_llama.N=3 --in inputs.safetensors --out one.safetensors
