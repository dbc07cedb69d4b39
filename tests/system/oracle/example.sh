#!/bin/sh
# One of the small examples, compiled and run, against the reference interpreter.
# $1: tools; $2: source tree; $3: scratch folder; $4: example; $5: its dim; $6...: values of it, of which the first
# two are taken unless $ETCC_LONG is set.
# Sums in another order may move one value across a rounding to bf16, and that moves others: equal to 1e-7
# without such a case, up to the noise of bf16 with one.
set -eu
bin=$1 src=$2 work=$3 name=$4 dim=$5
shift 5
[ -n "${ETCC_LONG-}" ] || set -- "$1" "$2"
mkdir -p "$work"
for n in "$@"; do
    sh "$src/examples/$name/run.sh" "$bin" "$work" "$n"
    "$bin/etinterp" "$src/examples/$name/$name.etg" --stage graph --set "$dim=$n" \
        --in "$work/${name}_inputs.safetensors" --weights "$work/${name}_weights.safetensors" \
        --out "$work/${name}_want.safetensors"
    "$bin/etsame" "$work/${name}_want.safetensors" "$work/${name}_outputs.safetensors" 1e-2
done
