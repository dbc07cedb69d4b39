#!/bin/sh
# numbers.sh BIN WORK: bodies that differ in numbers alone are one function where a kernel has very many (codegen/kernel/numbers.c),
# and compute what the graph means: products of different widths, of different columns of x, times and plus different numbers.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$(cd "$1" && pwd)
fresh "$2"

awk 'BEGIN {
    print "model m\ndim N in 1..9\ninput x : f32[N, 300]"
    for (i = 0; i < 140; i++) {
        k = 17 + i * 37 % 271; w = 5 + i * 53 % 199; at = i % 90
        printf "weight w%d : f32[%d, %d]\n", i, k, w
        printf "output y%d : f32[N, %d] = tanh(x[:, 0:%d] @ w%d) * %d.5 + x[:, %d:%d]\n", i, w, k, i, i + 1, at, at + w
    }
}' > many.etg
while read -r target schedule; do
    case $target in sm_*) kind=ptx ;; *) kind=hsaco ;; esac
    ETCC_VERIFY=1 "$bin/etcc" many.etg --target=$target --schedule=$schedule -o many.$kind --emit-llvm=many.ll ||
        die "$target $schedule"
    n=$(grep -c '^define' many.ll)
    [ "$n" -le 110 ] || die "$target $schedule: $n functions"
    grep -q '@numbers.* constant ' many.ll || die "$target $schedule: no numbers"
    [ $kind = ptx ] || "$bin/check_kernel" many.etg many.hsaco --device emu:$target:cus=2 > said || die "$(cat said)"
done << EOF
gfx942 dynamic
gfx1100 static
sm_90 static
EOF
