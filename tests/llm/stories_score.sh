#!/bin/sh
# The demo checkpoint's four reference sequences, different lengths, together in one batch.
. "$(dirname "$0")/lib.sh"
reference=$(checkpoint stories-llama)/reference.safetensors
score stories-llama "$reference" stories.logits.safetensors
"$bin/etllm" compare --ref "$reference" --out stories.logits.safetensors --tolerance 1e-2 --gap 0.1
