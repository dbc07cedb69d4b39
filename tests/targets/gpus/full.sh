#!/bin/sh
# full.sh BIN WORK TARGET MACHINE: tiles of many rows that are full have code of their own after the product, where waves multiply
# together: each store is there twice where rows may end within a tile, once in code that looks at no row; and once where they
# do not, or where each wave multiplies for itself.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 work=$2 target=$3 machine=$4
fresh "$work"
stores() { # LEAST OPTION...: of a launch of LEAST to 512 rows
    cat > full.etg << X
model full
dim N in $1..512
input x : bf16[N, 512]
weight w : bf16[1024, 512]
output y : bf16[N, 1024] = bf16(silu(x @ w.T))
X
    shift
    "$bin/etcc" full.etg --machine="$machine" --target="$target" --variants=1 -o full.ptx "$@"
    grep -cE 'st\.global\.v4\.b32.*\{(%r[0-9]+, ){3}%r[0-9]+\}' full.ptx # what is reported has a zero
}
always=$(stores 512) some=$(stores 300)
[ "$some" -eq $((2 * always)) ] || die "$target: $some stores where rows end within a tile, $always where they do not"
alone=$(stores 300 --without=warpgroup) whole=$(stores 512 --without=warpgroup)
[ "$alone" -eq "$whole" ] || die "$target: $alone stores where waves multiply for themselves, $whole of full tiles"
echo "$target: $some stores, $always where tiles are full; $alone and $whole where each wave multiplies for itself"
