#!/bin/sh
# elements.sh ETCC FOLDER: elementwise work and short reductions have as many tiles as the GPU has CUs, or fewer, where a tile that large
# is still small; less work is spread over as many CUs as it is enough for, sums that every element has for itself among it.
set -eu
etcc=$1 folder=$2
. "$(dirname "$0")/../../support/lib.sh"
fresh "$folder"
tiles() { # ROWS TASK: of TASK with so many rows
    sed "s/ROWS/$1/g" elements.etg > "$1.etg"
    "$etcc" "$1.etg" --machine=H100 --variants=1 --to=tiled -o "$1.eti"
    sed -n "s/^ *task @$2 = .*\[\(.*\)\].*/\1/p; s/^ *task @$2 \[\(.*\)\].*/\1/p" "$1.eti" | head -n 1 |
        awk -F '<' '{ n = 1; for (i = 2; i <= NF; i++) n *= $i + 0; print n }'
}
cat > elements.etg << 'ETG'
model elements
input x, y : f32[ROWS, 2048]
input q : f32[ROWS, 32, 64]
input g : f32[64]
output s : f32[ROWS, 2048] = x + y
output n : f32[ROWS, 32, 64] = rmsnorm(q, g, eps = 1e-5)
input e : f32[ROWS, 8, 2048]
output c : f32[ROWS, 2048] = sum(e, axis = 1)
input w : f32[2048]
output r : f32[ROWS, 2048] = rmsnorm(x, w, eps = 1e-5)
ETG
for rows in 256 512; do
    n=$(tiles $rows s)
    [ "$n" -gt 66 ] && [ "$n" -le 132 ] || die "$rows rows to add: $n tiles"
    n=$(tiles $rows n)
    [ "$n" -gt 66 ] && [ "$n" -le 132 ] || die "sums of $rows rows: $n tiles"
done
# Not two rounds of tiles where one is enough, of a few elements each and of long rows.
n=$(tiles 64 s)
[ "$n" -gt 66 ] && [ "$n" -le 132 ] || die "64 rows to add: $n tiles"
for rows in 128 256 2048; do
    n=$(tiles $rows r)
    [ "$n" -gt 66 ] && [ "$n" -le 132 ] || die "$rows long rows: $n tiles"
done
n=$(tiles 4096 s)
[ "$n" = 1024 ] || die "4096 rows to add: $n tiles"
n=$(tiles 1 c)
[ "$n" = 8 ] || die "sums of one row's elements: $n tiles"
# What is little and needs none of the others' results takes one round of tiles together.
n=0
for task in s n c r; do
    n=$((n + $(tiles 16 $task)))
done
[ "$n" -gt 66 ] && [ "$n" -le 132 ] || die "16 rows of all: $n tiles"
sed -e '/^input e/d' -e '/^output [cnr]/d' 16.etg > alone.etg
cp alone.etg elements.etg
n=$(tiles 16 s)
[ "$n" -gt 66 ] || die "16 rows to add: $n tiles"
