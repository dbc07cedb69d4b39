#!/bin/sh
# golden.sh BIN SRC WORK: PyTorch's logits from dynamic and hybrid kernels, in launches of 1, 7 and as
# many tokens as fit; and one sequence after another in seeded orders on incoherent caches.
set -eu
bin=$1 src=$2
mkdir -p "$3" && cd "$3"
for model in llama qwen3; do
    checkpoint=$src/tests/golden/$model
    "$bin/etimport" "$checkpoint" -o $model.etg
    for how in dynamic hybrid; do
        "$bin/etcc" $model.etg --schedule=$how -o $model.hsaco
        for options in '--chunk 1' '--chunk 7' ''; do
            # shellcheck disable=SC2086
            "$bin/etllm" score --kernel $model.hsaco --model "$checkpoint" --tokens \
                "$checkpoint/golden.safetensors" --out logits.safetensors $options \
                --device emu:gfx942:cus=16:xcds=4
            "$bin/etllm" compare --ref "$checkpoint/golden.safetensors" --out logits.safetensors \
                --tolerance 1e-2 --gap 0.1
        done
        "$bin/interleavings" $model.hsaco "$checkpoint" \
            emu:gfx942:cus=16:xcds=4:coherence=model:seed=1:starve=5 10 right
    done
done
