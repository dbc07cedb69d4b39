#!/bin/sh
# growth.sh BIN SRC WORK: what a chain of operators costs grows no faster than the chain. Counted, not timed, for chains of each
# kind: lines of the scheduled text (tasks, steps, waits) and nodes of expressions that each pass meets (--time-passes) of 160 and
# of 320 operators, functions of the kernel of 80 and of 160, lines of LLVM IR of 160.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$(cd "$1" && pwd) src=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
cd "$work"

schedule() { # KIND N: chain.eti, and the nodes of each pass
    sh "$src/bench/compile_curve.sh" --program "$1" "$2" > chain.etg
    "$bin/etcc" chain.etg --to scheduled -o chain.eti --time-passes 2> passes || die "$1 $2"
    awk '$5 == "nodes" { n[$3] += $4 } END { for (pass in n) print pass, n[pass] }' passes | sort > "nodes$2"
    grep -q '^fuse [1-9]' "nodes$2" || die "no nodes are counted"
    eval "lines$2=$(wc -l < chain.eti)"
}

# The passes that meet a quarter more than twice as much in the chain of N as in that of half as many.
faster() { # N
    join "nodes$(($1 / 2))" "nodes$1" | awk -v n="$1" '$3 > $2 * 5 / 2 + 1000 { print $1 ": " $2 " nodes of " n / 2 ", " $3 " of " n }'
}

for kind in softmax rows norm group topk gather rotate reshape loop update product attention; do
    schedule $kind 160
    schedule $kind 320
    for n in 80 160; do
        sh "$src/bench/compile_curve.sh" --program $kind $n > chain.etg
        "$bin/etcc" chain.etg --unoptimised --emit-llvm=chain.ll || die "$kind $n"
        eval "functions$n=$(grep -c '^define' chain.ll)"
    done
    # An eighth more than twice as many, of what a pass meets a quarter more; of functions half as many more, since they differ by
    # what folds into them, up to a depth.
    [ "$lines320" -le $((lines160 * 9 / 4)) ] || die "$kind: $lines160 lines of 160, $lines320 of 320"
    [ "$functions160" -le $((functions80 * 3 / 2 + 8)) ] || die "$kind: $functions80 functions of 80, $functions160 of 160"
    # Chains of gathers that fold into every element of their readers were 1,250 lines an operator of topk.
    ir=$(wc -l < chain.ll)
    [ "$ir" -le $((300 * 160)) ] || die "$kind: $ir lines of LLVM IR of 160"
    # Known and left: each product compares its rows with those of all others (passes/tile/pool.c), 0.5 s of a thousand.
    if [ $kind = product ]; then sed -i -E '/^(fuse|tile) /d' nodes160; fi
    # The search for what to join may only try so much: short chains are joined more, which is no growth that goes on.
    faster 320 > faster
    if [ -s faster ]; then
        schedule $kind 640
        if [ $kind = product ]; then sed -i -E '/^(fuse|tile) /d' nodes320; fi
        faster 640 > faster
    fi
    [ ! -s faster ] || die "$kind: $(cat faster)"
    echo "$kind: $lines160 and $lines320 lines, $functions80 and $functions160 functions, $ir lines of LLVM IR"
done

# Few tasks of very many steps each: those that differ in numbers alone are one function.
sh "$src/bench/compile_curve.sh" --program tree 800 > tree.etg
"$bin/etcc" tree.etg --variants=1 --unoptimised --emit-llvm=tree.ll || die tree
functions=$(grep -c '^define' tree.ll)
[ "$functions" -le 8 ] || die "tree: $functions functions"
