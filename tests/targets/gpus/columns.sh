#!/bin/sh
# columns.sh BIN WORK: products of few rows and of more columns than a lane has sums for compile, where rows are a wave's own.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$(cd "$1" && pwd)
fresh "$2"

for target in sm_80 sm_90 gfx942 gfx1100; do
    for columns in 33 165 1025; do
        for rows in 1 8 40; do
            printf 'model m\ninput x : f32[%d, 128]\nweight w : f32[128, %d]\noutput y = x @ w\n' $rows $columns > m.etg
            "$bin/etcc" m.etg --target=$target --to scheduled -o m.eti || die "$target: $rows rows of 128, $columns columns"
        done
    done
done
