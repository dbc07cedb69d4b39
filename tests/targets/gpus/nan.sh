#!/bin/sh
# nan.sh BIN WORK TARGET: reductions, top-k and softmax of rows with NaN, infinities and equal numbers in every place give what the
# graph interpreter gives, however rows are shared among lanes, waves and tiles, and whether their length is known; so does the
# program interpreter. Zeros may have another sign.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../../support/lib.sh"
. "$here/tables.sh"
bin=$1 work=$2 target=$3
fresh "$work"

[ -n "${ETCC_LONG-}" ] || nan_columns=$nan_few
for columns in $nan_columns; do
    "$bin/nan_rows" $nan_rows $columns in.st
    printf '%s\n' "$nan_kinds" | while read -r what; do
        nan_program $columns "$what" > nan.etg
        "$bin/etinterp" nan.etg --stage=graph --set=N=$nan_rows --in=in.st --out=want.st
        "$bin/etinterp" nan.etg --target="$target" --set=N=$nan_rows --in=in.st --out=tasks.st
        "$bin/all_values" same want.st tasks.st || die "$what, $columns columns: the program interpreter"
        for schedule in static dynamic; do
            "$bin/etcc" nan.etg --target="$target" --schedule=$schedule -o nan.hsaco
            "$bin/etrun" nan.hsaco --set=N=$nan_rows --in=in.st --device="emu:$target:cus=8" --out=got.st
            "$bin/all_values" same want.st got.st || die "$target, $schedule: $what, $columns columns"
        done
        [ -n "${ETCC_LONG-}" ] || break
    done
done
