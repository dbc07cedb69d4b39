#!/bin/sh
# queries.sh ETCC CHECK SRC WORK: queries that only attention over rows of them reads are kept as keys are, and take half of the
# memory; such as are read by something else, too, or that attention takes one row of at a time, are not. On the emulator the
# result is the interpreter's.
set -eu
etcc=$1 check=$2 src=$3
. "$(dirname "$0")/../../support/lib.sh"
fresh "$4"
sed 's/^cus .*/cus 8/; s/^dies .*/dies 1/' "$src/passes/machines/mi355x.machine" > few.machine
model() { # SLOTS OUTPUT
    cat > m.etg << X
model m
dim N in 90..100
input positions, slots : i32[N]
input x : bf16[N, 128]
weight w : bf16[256, 128]
state kc, vc : bf16[$1, 1, 128, 64]
q = reshape(x @ w.T, [N, 4, 64])
output a : f32[N, 4, 64] = attention(q, kc, vc, slots, positions, scale=1/8)
$2
X
    "$etcc" m.etg --machine=./few.machine --variants=1 --to=placed -o m.eti
}
is() { # TYPE BYTES: of the queries, and of all temporaries
    grep -q "^temp %q : $1\[" m.eti || die "queries are not $1: $(grep '^temp' m.eti)"
    grep -qx "workspace $2" m.eti || die "not $2 bytes: $(grep '^workspace' m.eti)"
}
model 200 ''
is f32 102400
model 1 'output y : f32[N, 4, 64] = q + 1'
is f32 102400
model 1 ''
is bf16 51200
"$etcc" m.etg --machine=./few.machine --variants=1 -o m.hsaco
"$check" m.etg m.hsaco --set N=97
