#!/bin/sh
# predict.sh BIN MACHINE TARGET: what the simulator says that two devices take for a product, the sum of it over both dealt by rows, a norm and a
# product behind it (GEMM + reduce-scatter, all-gather + GEMM), beside one device with the same products of a device and no exchange. Rows of the
# widths of Qwen3-8B, Qwen3-32B and Llama-3-70B: widths, rows, one, --exchange=rows, --exchange=flags.
set -eu
bin=$1 machine=$2 target=$3 work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
program() { # HIDDEN, of the sum, behind it, rows: what is multiplied first is made of 64 columns, which costs next to nothing
    cat << END
model pair
const H=$1, F=$2, V=$3
dim N in $4..$4
input x : bf16[N, 64]
weight g : f32[H] = "g"
weight src : bf16[F, 64] = "src"
weight down : bf16[H, F] = "down"
weight up : bf16[V, H] = "up"
h = bf16(x @ src.T) @ down.T
output z : bf16[N, V] = bf16(rmsnorm(h, g, eps=1e-5) @ up.T)
END
}
predicted() { # SOURCE OPTIONS
    "$bin/etcc" "$@" --target="$target" --machine="$machine" --variants=1 --explain -o "$work/k" |
        sed -n 's/.*N = [0-9]*: \([0-9.]* [mu]*s\) predicted; the CUs.*/\1/p'
}
for model in '8B 4096 14336' '32B 5120 25600' '70B 8192 28672'; do
    # shellcheck disable=SC2086
    set -- $model
    for rows in 512 2048 8192; do
        program "$2" $(($3 / 2)) "$3" $rows > "$work/one.etg"
        program "$2" "$3" $((2 * $3)) $rows > "$work/two.etg"
        echo "$1 | $rows | $(predicted "$work/one.etg") | $(predicted "$work/two.etg" --devices=2 --exchange=rows) |" \
            "$(predicted "$work/two.etg" --devices=2 --exchange=flags)"
    done
done
