#!/bin/sh
# programs.sh BIN SRC WORK TARGET: every small program compiled for TARGET against the graph
# interpreter, on few CUs and many, at the corners of its dims and between.
set -eu
bin=$1 src=$2 work=$3 target=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
for etg in "$src"/tests/passes/*.etg "$src"/tests/e2e/*.etg "$src"/examples/*/*.etg; do
    [ -e "$etg" ] || continue
    "$bin/etcc" "$etg" --target="$target" -o k.hsaco
    echo "$etg"
    for bound in 2 3; do
        # shellcheck disable=SC2046
        set -- $(sed -n "s/^ *dim  *\([A-Za-z_0-9]*\)  *in  *\([0-9]*\)\.\.\([0-9]*\).*/--set \1=\\$bound/p" "$etg")
        "$bin/check_kernel" "$etg" k.hsaco --runs 1 --device "emu:$target:cus=6" \
            --device "emu:$target:cus=32:coherence=model" "$@"
    done
    "$bin/check_kernel" "$etg" k.hsaco --device "emu:$target:cus=2"
done
