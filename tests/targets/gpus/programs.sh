#!/bin/sh
# programs.sh BIN SRC WORK TARGET: two small programs, with $ETCC_LONG set every one, compiled for TARGET against the graph
# interpreter, on few CUs and many, at the corners of its dims and between.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3 target=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
set -- "$src/tests/passes/pipeline/carries.etg" "$src/examples/mlp/mlp.etg"
[ -z "${ETCC_LONG-}" ] || set -- "$src"/tests/passes/pipeline/*.etg "$src"/examples/*/*.etg
for etg; do
    echo "$etg"
    k=$(kernel "$bin/etcc" "$etg" "$target" static)
    for bound in 2 3; do
        # shellcheck disable=SC2046
        "$bin/check_kernel" "$etg" "$k" --runs 1 --device "emu:$target:cus=6" \
            --device "emu:$target:cus=32:coherence=model" $(dims $bound "$etg")
    done
    "$bin/check_kernel" "$etg" "$k" --device "emu:$target:cus=2"
done
