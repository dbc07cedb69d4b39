#!/bin/sh
# growth.sh BIN SRC WORK: what a chain of operators costs grows no faster than the chain. Counted, not timed: lines of the
# scheduled text (tasks, steps, waits) and functions of the kernel, for chains of 80 and of 160 operators of each kind.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$(cd "$1" && pwd) src=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
cd "$work"

for kind in softmax rows norm rotate reshape loop update product; do
    for n in 80 160; do
        sh "$src/bench/compile_curve.sh" --program $kind $n > chain.etg
        "$bin/etcc" chain.etg --to scheduled -o chain.eti || die "$kind $n"
        "$bin/etcc" chain.etg --emit-llvm=chain.ll || die "$kind $n"
        eval "lines$n=$(wc -l < chain.eti) functions$n=$(grep -c '^define' chain.ll)"
    done
    # An eighth more than twice as many; of functions a few, however long the chain.
    [ "$lines160" -le $((lines80 * 9 / 4)) ] || die "$kind: $lines80 lines of 80, $lines160 of 160"
    [ "$functions160" -le $((functions80 + 8)) ] || die "$kind: $functions80 functions of 80, $functions160 of 160"
    echo "$kind: $lines80 and $lines160 lines, $functions80 and $functions160 functions"
done
