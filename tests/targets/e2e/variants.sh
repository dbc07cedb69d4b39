#!/bin/sh
# variants.sh ETCC CHECK_KERNEL WORK FILE.etg...: kernels of several variants compute what the program means, as the graph interpreter
# has it and a kernel of one variant, at both ends of each variant. At least one FILE has several.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
etcc=$1 check=$2 work=$3
shift 3
fresh "$work"
several=0
for f; do
    "$etcc" "$f" -v -o all.hsaco 2> said
    ends=$(sed -n 's/.*: variant for \([A-Za-z0-9_]*\) up to \([0-9]*\)$/\1 \2/p' said)
    [ -n "$ends" ] || continue
    several=$((several + 1))
    "$etcc" "$f" --variants=1 -o one.hsaco
    dim=${ends%% *}
    least=$(sed -n "s/.*\<$dim  *in  *\([0-9]*\)\.\..*/\1/p" "$f" | head -1)
    for n in $(echo "$ends" | awk -v from="$least" '{ print from; print $2; from = $2 + 1 }' | sort -nu); do
        for kernel in all one; do
            "$check" "$f" $kernel.hsaco --runs 1 --set "$dim=$n" --device emu:gfx942:cus=6 > told || { cat told; die "$f: $kernel.hsaco at $dim=$n"; }
        done
    done
done
echo "$several programs with variants"
[ $several -gt 0 ]
