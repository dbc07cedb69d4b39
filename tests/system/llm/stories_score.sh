#!/bin/sh
# A demo checkpoint's four reference sequences, different lengths: together in one batch, and in launches
# of 1 and of 7 tokens, by one kernel. $5: the model.
. "$(dirname "$0")/lib.sh"
m=$5
reference=$(checkpoint "$m")/reference.safetensors
for options in '' '--chunk 1' '--chunk 7'; do
    # shellcheck disable=SC2086
    score "$m" "$reference" "$m.score.safetensors" $options
    "$bin/etllm" compare --ref "$reference" --out "$m.score.safetensors" --tolerance 1e-2 --gap 0.1
done
