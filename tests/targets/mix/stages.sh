#!/bin/sh
# The text of every stage of a mix reads back as itself, and going on from it gives what going on
# without it does; the interpreter runs it, in orders that race where something is not ordered.
. "$(dirname "$0")/lib.sh"
e=$src/examples
set -- "$e/mlp/mlp.etg" "$e/moe/moe.etg" "$e/encoder/encoder.etg" "$e/mlp/mlp.etg" --weight moe=2.5 --variants=1
"$bin/etcc" "$@" --to=graph -o graph.eti
for stage in graph fused tiled evented placed scheduled; do
    "$bin/etcc" "$@" --to=$stage -o one.eti
    "$bin/etcc" graph.eti --variants=1 --to=$stage -o two.eti
    cmp one.eti two.eti || die "$stage: other text by way of the graph's"
    "$bin/etcc" one.eti --to=$stage -o two.eti
    cmp one.eti two.eti || die "$stage: reads back as something else"
    for model in mlp moe encoder mlp_2; do
        grep -q "^part $model weight" one.eti || die "$stage: no line for $model"
    done
done
grep -q '^part moe weight 2.5 range \[' one.eti || die 'scheduled: no weight or no share for moe'
"$bin/etcc" "$@" -o one.hsaco
"$bin/etcc" one.eti -o two.hsaco
cmp one.hsaco two.hsaco || die 'another kernel by way of text'

# What is chosen for a model is what is chosen for it alone: the same functions, variables' numbers aside.
functions() { # FILE PREFIX
    sed -n "/^func @$2/,/^}/p" "$1" | sed -e "s/\($2\)//g" -e 's/\b\([a-z]\)[0-9][0-9]*\b/\1/g'
}
i=$src/tests/unit/import
"$bin/etcc" "$i/stories-llama.etg" "$i/stories-moe.etg" "$i/qwen3.etg" \
    --variants=1 --to=tiled -o mix.eti
for m in stories-llama stories-moe qwen3; do
    name=$(sed -n 's/^model //p' "$i/$m.etg")
    "$bin/etcc" "$i/$m.etg" --variants=1 --to=tiled -o alone.eti
    functions alone.eti '' > alone.txt
    functions mix.eti "$name\\." > mixed.txt
    [ -s alone.txt ] || die "$m: no functions"
    cmp alone.txt mixed.txt || die "$m: other functions than alone"
done

"$bin/etfill" weights.st --seed 1 'router:f32[8,64]:-0.5:0.5' 'gate:bf16[8,96,64]:-0.2:0.2' \
    'up:bf16[8,96,64]:-0.2:0.2' 'down:bf16[8,64,96]:-0.2:0.2' 'layer1.weight:bf16[101,37]:-0.3:0.3' \
    'layer1.bias:f32[101]:-0.5:0.5' 'norm.weight:f32[101]:0.5:1.5' 'norm.bias:f32[101]:-0.5:0.5' \
    'layer2.weight:bf16[67,101]:-0.3:0.3' 'layer2.bias:bf16[67]:-0.5:0.5' \
    'layer3.weight:f32[11,67]:-0.3:0.3'
"$bin/etfill" in.st --seed 2 'mlp.x:f32[5,37]:-2:2' 'moe.x:f32[9,64]:-2:2' 'mlp_2.x:f32[33,37]:-2:2'
"$bin/etcc" "$e/mlp/mlp.etg" "$e/moe/moe.etg" "$e/mlp/mlp.etg" --variants=1 --to=scheduled -o run.eti
"$bin/etinterp" run.eti --in in.st --weights weights.st --set mlp.N=5 --set moe.N=9 --set mlp_2.N=33 \
    --check-races --seed 1 --orders 4 --out out.st
