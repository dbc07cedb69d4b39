#!/bin/sh
# randoms.sh BIN WORK: the first 32 random numbers of a program are computed where they are needed, those that follow by a function
# (codegen/emit/philox.c), and all are those of the graph: of elements, of one number for all, in several tasks.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$(cd "$1" && pwd)
fresh "$2"

program() { # COUNT: so many random numbers
    printf 'model m\ndim N in 1..9\ninput x : f32[N, 8]\ninput t : i32[N]\na = x\n'
    for i in $(seq "$(($1 - 2))"); do echo "a = a + reshape(random($i, t, iota(N) + $i), [N, 1])"; done
    printf 'output y = a\noutput bits = random_bits(5, iota(N), t)\noutput noisy = x * random(7, 1, 2)\n'
}
calls() { "$bin/etcc" "$@" --unoptimised --emit-llvm=m.ll && grep -c 'call.*@random_bits(' m.ll || true; }
program 12 > few.etg
program 60 > many.etg
while read -r target schedule; do
    [ "$(calls few.etg --target=$target --schedule=$schedule)" -eq 0 ] || die "$target $schedule: calls of few"
    [ "$(calls many.etg --target=$target --schedule=$schedule)" -ge 20 ] || die "$target $schedule: no calls of many"
    case $target in sm_*) continue ;; esac
    ETCC_VERIFY=1 "$bin/etcc" many.etg --target=$target --schedule=$schedule -o many.hsaco || die "$target $schedule"
    "$bin/check_kernel" many.etg many.hsaco --device emu:$target:cus=2 > said || die "$(cat said)"
done << EOF
gfx942 dynamic
gfx942 static
gfx1100 static
sm_90 static
EOF
