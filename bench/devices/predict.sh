#!/bin/sh
# predict.sh BIN MACHINE TARGET: what the simulator says that two devices take for a product, the sum of it over both dealt by rows, a norm and a
# product behind it (GEMM + reduce-scatter, all-gather + GEMM), beside one device with the same products of a device and no exchange. Rows of the
# widths of Qwen3-8B, Qwen3-32B and Llama-3-70B: widths, rows, one, --exchange=rows, --exchange=flags.
set -eu
bin=$1 machine=$2 target=$3 work=$(mktemp -d)
here=$(cd "$(dirname "$0")" && pwd)
. "$here/pairs.sh"
trap 'rm -rf "$work"' EXIT
predicted() { # SOURCE OPTIONS
    "$bin/etcc" "$@" --target="$target" --machine="$machine" --variants=1 --explain -o "$work/k" |
        sed -n 's/.*N = [0-9]*: \([0-9.]* [mu]*s\) predicted; the CUs.*/\1/p'
}
pair_widths | while read -r name hidden width; do
    for rows in 512 2048 8192; do
        pair "$hidden" "$width" $((2 * width)) $rows > "$work/one.etg"
        pair "$hidden" $((2 * width)) $((4 * width)) $rows > "$work/two.etg"
        echo "$name | $rows | $(predicted "$work/one.etg") | $(predicted "$work/two.etg" --devices=2 --exchange=rows) |" \
            "$(predicted "$work/two.etg" --devices=2 --exchange=flags)"
    done
done
