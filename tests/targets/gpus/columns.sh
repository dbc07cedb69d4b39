#!/bin/sh
# columns.sh BIN WORK: products of few rows compile: of more columns than a lane has sums for, where rows are a wave's own; and by what
# goes through local memory, of which all waves have a part, however few have whole units of k.
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

for target in sm_90 sm_100 gfx1100; do
    for k in 48 64 96; do
        printf 'model m\ninput x : f32[3, %d]\nstate s : f16[%d, 17]\noutput y = x @ f32(s)\n' $k $k > m.etg
        case $target in sm_*) out=m.ptx ;; *) out=m.hsaco ;; esac
        "$bin/etcc" m.etg --target=$target -o $out || die "$target: $k"
    done
done
