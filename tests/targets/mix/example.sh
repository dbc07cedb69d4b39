#!/bin/sh
# examples/mix: what the README shows runs, and a model left to itself computes the bits it computes beside the other.
. "$(dirname "$0")/lib.sh"
sh "$src/examples/mix/run.sh" "$bin" . > said 2>&1 || { cat said; exit 1; }
"$bin/etsame" one.safetensors both.safetensors 0
