#!/bin/sh
# nan.sh BIN WORK TARGET: reductions, top-k and softmax of rows with NaN, infinities and equal numbers in every place give what the
# graph interpreter gives, however rows are shared among lanes, waves and tiles, and whether their length is known; so does the
# program interpreter. Zeros may have another sign.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 work=$2 target=$3
fresh "$work"
rows=320 # each kind of row with what is odd in 32 places
program() { # COLUMNS, and what is reduced: f32, or rounded
    cat << X
model nan
dim N in 1..$rows
input a : f32[N, $1]
x = $2
output zero_most = max(x)
output zero_least = min(x)
output first = argmax(x)
output zero_down = max(x, axis=0)
output first_down = argmax(x, axis=0)
output sums = max(where(x > 0, 1, 0))
X
    [ "$1" -gt 200 ] || cat << X
output near_soft = softmax(x)
v, i = topk(where(x == x, x, -inf), 2)
output zero_top = v
output top = i
X
}
for columns in 3 5 64 100 128 1024 1500; do
    "$bin/nan_rows" $rows $columns in.st
    for what in a 'f32(bf16(a))' 'f32(f16(a) + 0)'; do
        program $columns "$what" > nan.etg
        "$bin/etinterp" nan.etg --stage=graph --set=N=$rows --in=in.st --out=want.st
        "$bin/etinterp" nan.etg --target="$target" --set=N=$rows --in=in.st --out=tasks.st
        "$bin/all_values" same want.st tasks.st || die "$what, $columns columns: the program interpreter"
        for schedule in static dynamic; do
            "$bin/etcc" nan.etg --target="$target" --schedule=$schedule -o nan.hsaco
            "$bin/etrun" nan.hsaco --set=N=$rows --in=in.st --device="emu:$target:cus=8" --out=got.st
            "$bin/all_values" same want.st got.st || die "$target, $schedule: $what, $columns columns"
        done
        [ -n "${ETCC_LONG-}" ] || break
    done
done
