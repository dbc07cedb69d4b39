#!/bin/sh
# values.sh BIN WORK TARGET: all values of bf16 and f16, as many of f32 and all codes of e4m3 and e5m2 through elementwise operators,
# rounded to each type, as outputs and as states: the bits of the graph interpreter. Rows of an even number of columns are read and
# written several elements at a time, others one by one: without $ETCC_LONG the first on gfx942, the others on gfx1100. Then signs, choices and conversions
# one inside another.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/lib.sh"
. "$here/tables.sh"
bin=$1 work=$2 target=$3
fresh "$work"

try() { # NAME FUNCTION EXPRESSION...
    name=$1
    shift
    values_program "$@" > "$name.etg"
    agrees "$name" --set=N=$rows
}
agrees() { # NAME OPTIONS: of the interpreter and of etrun
    name=$1
    shift
    "$bin/etcc" "$name.etg" --target="$target" -o k.hsaco
    "$bin/etinterp" "$name.etg" --stage=graph "$@" --in=in.st --weights=w.st --out=want.st
    "$bin/etrun" k.hsaco "$@" --in=in.st --weights=w.st --device="emu:$target:cus=8" --out=got.st
    "$bin/all_values" same want.st got.st > differ || { echo "FAIL $target $name, $columns columns:"; head -40 differ; : > failed; }
}
case ${ETCC_LONG-}$target in
gfx942) widths=256 ;;
gfx1100) widths=257 ;;
*) widths='256 257' ;;
esac
for columns in $widths; do
    rows=$(((65535 + columns) / columns))
    "$bin/all_values" make $columns in.st w.st
    printf '%s\n' "$values_few" ${ETCC_LONG:+"$values_more"} | while read -r row; do
        set -f # a row may have a *
        # shellcheck disable=SC2086
        try $row < /dev/null
    done
done

# A row that all lanes take whole words of, so that LLVM makes vectors of what they do: each element is negated.
columns=65536
"$bin/all_values" make $columns in.st w.st
cat > negated.etg << X
model negated
input b, b2 : bf16[$columns]
input h, h2 : f16[$columns]
input f, f2 : f32[$columns]
i = i32(h)
output y = i32(-where(i[:2048] < b[:2048], e4m3(b2[:2048]), b[:2048]))
X
agrees negated

# Folds, of parts of that row, and with $ETCC_LONG of rows whose lanes have two to eight elements at once.
for seed in 4 ${ETCC_LONG:+1 2 3 5 6 7 8 9 10 11 12}; do
    for columns in 65536 ${ETCC_LONG:+$((seed % 8 * 2 + 2))}; do
        [ $columns = 65536 ] && several= || several='N, '
        rows=$(((65535 + columns) / columns))
        "$bin/all_values" make $columns in.st w.st
        name=folds$seed.$columns
        { values_inputs "$several" && values_folds $seed 40 $((columns / 65536)); } > "$name.etg"
        agrees "$name" ${several:+--set=N=$rows}
    done
done
[ ! -e failed ]
