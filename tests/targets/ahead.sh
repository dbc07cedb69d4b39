#!/bin/sh
# ahead.sh BIN WORK TARGET MACHINE: tiles of products of many rows ask for the first of their weights before their waits, where few
# tiles read the same of them, and not where many do.
set -eu
bin=$1 work=$2 target=$3 machine=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
die() {
    echo "ahead.sh: $target: $*" >&2
    exit 1
}
ptx() { # LEAST MOST: rows
    cat > ahead.etg << X
model ahead
dim N in $1..$2
input x : bf16[N, 2048]
weight wa : bf16[4096, 2048]
weight wb : bf16[2048, 4096]
y = relu(x @ wa.T)
output z : f32[N, 2048] = y @ wb.T
X
    "$bin/etcc" ahead.etg --machine="$machine" --target="$target" --variants=1 -o ahead.ptx
}
ptx 33 64
# The first of them come before the first look at a counter.
awk '/prefetch\.global\.L2/ { asked++ } /ld\.relaxed\.gpu\.global/ { exit } END { exit !asked }' ahead.ptx || die 'nothing is asked for'
ptx 1025 2048
! grep -q 'prefetch\.global\.L2' ahead.ptx || die 'what many tiles read is asked for'
