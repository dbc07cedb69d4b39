#!/bin/sh
# What all tiles of a grid have in common is worked out once by a workgroup that runs several: it reads its rows once, and the
# results are those of workgroups with a tile each. Usage: again.sh BIN WORK
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 work=$2
mkdir -p "$work"
cd "$work"
# model NAME VALUE: NAME of rows of x, multiplied by 2048 rows of weights, 16 bytes for each of which are read at least.
model() {
    printf 'model %s\ndim N in 1..2\ninput x : f32[N, 512]\nweight g : bf16[512]\nweight w : bf16[2048, 512]\noutput y : f32[N, 2048] = %s\n' \
        "$1" "$2" > "$1.etg"
    "$bin/etcc" "$1.etg" --variants=1 -o "$1.hsaco" || die "$1"
}
"$bin/etfill" in --seed 7 'x:f32[2,512]:-1:1'
"$bin/etfill" weights --seed 8 'g:bf16[512]:-1:1' 'w:bf16[2048,512]:-1:1'
# run NAME CUS: the bytes that it read; its results are NAME.CUS.
run() {
    "$bin/etrun" "$1.hsaco" --device "emu:gfx942:cus=$2" --set N=2 --in in --weights weights --out "$1.$2" --stats > said || die "$(cat said)"
    sed -n 's/^memory: \([0-9]*\) bytes read.*/\1/p' said
}
all=$((2048 * 512 * 2))
model normed 'rmsnorm(x, g, eps=1e-5) @ w.T'
model plain 'bf16(x) @ w.T'
for m in normed plain; do
    alone=$(run $m 1) each=$(run $m 128)
    cmp $m.1 $m.128 || die "$m: one workgroup has other results than many"
    echo "$m: $alone bytes read by one workgroup, $each by many, of weights $all"
    [ "$alone" -ge "$all" ] && [ "$alone" -lt $((all + all / 50)) ] || die "$m: rows are read again for each tile"
done
