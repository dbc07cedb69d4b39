#!/bin/sh
# 3 sequences of 40 tokens against PyTorch's logits: a token at a time, 7 at a time, and mixed as many
# as a launch takes, by one and the same kernel. $5: the model.
. "$(dirname "$0")/lib.sh"
m=$5
golden=$(checkpoint "$m")/golden.safetensors
for options in '--chunk 1' '--chunk 7' '' '--batch 1' '--chunk 13 --batch 2'; do
    # shellcheck disable=SC2086
    score "$m" "$golden" "$m.logits.safetensors" $options
    echo "$m $options"
    "$bin/etllm" compare --ref "$golden" --out "$m.logits.safetensors" --tolerance 1e-2 --gap 0.1
done
