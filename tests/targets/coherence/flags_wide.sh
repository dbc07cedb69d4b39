#!/bin/sh
# flags_wide.sh BIN WORK: a task takes more tagged words than a lane has at once, and a number of them that is no multiple: the numbers
# are those of events with fences.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$(cd "$1" && pwd)
fresh "$2"

for f in 9216 9248; do
    printf 'model wide\ndim N in 1..1\ninput  x  : bf16[N, 64]\nweight w1 : bf16[%s, 64]\nweight w2 : bf16[64, %s]\n' $f $f > wide.etg
    echo 'output y  : f32[N, 64] = relu(x @ w1.T) @ w2.T' >> wide.etg
    echo 'x:bf16[1,64]:-1:1' > tensors
    "$bin/etfill" in.st - < tensors
    printf 'w1:bf16[%s,64]:-1:1\nw2:bf16[64,%s]:-1:1\n' $f $f > tensors
    "$bin/etfill" weights.st - < tensors
    for target in gfx942 gfx1100; do
        for how in all none; do
            "$bin/etcc" wide.etg --target=$target --flag-in-data=$how --variants=1 -o $how.hsaco
            "$bin/etrun" $how.hsaco --device "emu:$target:cus=8" --in in.st --weights weights.st --out $how.st --repeat=2
        done
        cmp none.st all.st || die "$f on $target"
        ! cmp -s none.hsaco all.hsaco || die "$f: no event is unfenced on $target"
    done
done
