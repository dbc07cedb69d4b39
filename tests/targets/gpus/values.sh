#!/bin/sh
# values.sh BIN WORK TARGET: all values of bf16 and f16, as many of f32 and all codes of e4m3 and e5m2 through elementwise operators,
# rounded to each type, as outputs and as states: the bits of the graph interpreter. Rows of an even number of columns are read and
# written several elements at a time, others one by one.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 work=$2 target=$3
fresh "$work"

begin() { # the program, for rows of $columns
    cat << X
model values
dim N in 1..$rows
input b, b2 : bf16[N, $columns]
input h, h2 : f16[N, $columns]
input f, f2 : f32[N, $columns]
weight c : e4m3[$columns]
weight d : e5m2[$columns]
X
}
made=0
give() { # EXPRESSION, near where it is not exact, zero where zeros may have any sign: in all types
    made=$((made + 1))
    for t in f16 bf16 f32 e4m3; do
        echo "output ${2-}y${made}_$t = $t($1)"
    done
}
# Converted once and twice; some by way of a state.
converted() {
    for x in b h f 'c + 0 * h' 'd + 0 * h'; do
        give "$x"
        for t in f16 bf16 e4m3; do give "$t($x)"; done
        for t in f16 bf16; do
            made=$((made + 1))
            cat << X
state s$made : $t[$rows, $columns]
s$made[iota(N), :] = $x + h2
output z$made = f32(gather(s$made, iota(N)))
X
        done
    done
}
one() { # EXPRESSION of x
    for x in b h f '(c + 0 * h)' 'bf16(f)' 'f16(b)' 'bf16(h)' 'e4m3(f)'; do
        give "$(echo "$1" | sed "s/\<x\>/$x/g")" "${2-}"
    done
}
two() { # EXPRESSION of x and y
    for x in b h f c d; do
        for y in b2 h2 f2 c d; do
            [ "$x" != "$y" ] || continue
            case $x$y in cd | dc) continue ;; esac
            give "$(echo "$1" | sed "s/\<x\>/$x/g; s/\<y\>/$y/g")" "${2-}"
        done
    done
}
several() { # what compilers may put together, or narrow, behind a conversion
    for x in b h 'bf16(f)'; do
        for y in b2 h2 'bf16(h2)'; do
            give "where($x < $y, $x - $y, $x * 2)"
            give "abs($x + $y) - 0.5"
            give "-($x + 998.5)"
            give "$x * 0.25 + where($y < 1, $x, 3)" near
        done
    done
}
try() { # NAME COMMAND...: what it prints is a program
    name=$1
    shift
    { begin; "$@"; } > "$name.etg"
    "$bin/etcc" "$name.etg" --target="$target" -o k.hsaco
    "$bin/etinterp" "$name.etg" --stage=graph --set=N=$rows --in=in.st --weights=w.st --out=want.st
    "$bin/etrun" k.hsaco --set=N=$rows --in=in.st --weights=w.st --device="emu:$target:cus=8" --out=got.st
    "$bin/all_values" same want.st got.st > differ || { echo "FAIL $target $name, $columns columns:"; head -40 differ; failed=1; }
}
failed=0
for columns in 256 257; do
    rows=$(((65535 + columns) / columns))
    "$bin/all_values" make $columns in.st w.st
    try converted converted
    try add two 'x + y'
    try multiply two 'x * y'
    [ -n "${ETCC_LONG-}" ] || continue
    try subtract two 'x - y'
    try where two 'where(x < y, x, y)'
    try negative one '-x'
    try zero_less one '(0 - x) * 0.5'
    try zero_divides one '1 / (0 - x)' near
    try absolute one 'abs(x)'
    try floor one 'floor(x)'
    try divide two 'x / y' near
    try largest two 'maximum(x, y)' zero
    try least two 'minimum(x, y)' zero
    try root one 'sqrt(x)' near
    try several several
done
exit $failed
