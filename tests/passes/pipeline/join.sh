#!/bin/sh
# join.sh ETCC FOLDER: tasks of one tile that need one another's results are one task, whose steps leave what only they read in local
# memory; a task of several tiles is not part of it, nor one that is asked to have tiles of its own, and with many rows they stay apart.
# Of a few rows, tasks that read their own row alone are one task with a tile for each row.
set -eu
etcc=$1 folder=$2
. "$(dirname "$0")/../../support/lib.sh"
fresh "$folder"
source() { # ROWS HINT
    cat << ETG
model join
dim N in 1..$1
input scores : f32[N, 64]
input x : bf16[N, 512]
weight up : bf16[64, 256, 512]
s = softmax(scores)
$2
s2 = s * s
w, expert = topk(s2, 4)
v = w / sum(w, keep=1)
rows, place, owner, first = group(expert, 64)
output h = grouped(gather(x, idiv(rows, 4)), up, owner)
output o = v * f32(place)
ETG
}
tasks() { # ROWS HINT: how many there are
    source "$1" "$2" > join.etg
    "$etcc" join.etg --machine=H100 --variants=1 -d tile > join.eti
    grep -c '^ *task @' join.eti
}
n=$(tasks 1 '')
[ "$n" = 3 ] || die "one row: $n tasks"
# Which has what place, and how many rows each expert has, nobody else reads.
for tensor in rank count; do
    ! grep -q "^ *%[a-z.]*$tensor\[.*\] = " join.eti || die "$tensor is stored: $(grep "%[a-z.]*$tensor\[" join.eti)"
done
# Experts of one row are compared with each other: nobody counts what each of 64 has.
! grep -q '^ *local .* : i32\[65\]' join.eti || die 'where groups begin is worked out for one row'
# Of one row nobody asks which it is.
! grep -q '^ *%h\.map\[.*\] = ' join.eti || die 'what nobody reads is computed'
grep -q '^ *%owner\[.*\] = ' join.eti || die 'nobody is told of owners'
apart=$(tasks 1 '@tile(1, 32)')
[ "$apart" -gt "$n" ] || die "a task with tiles of its own: $apart tasks, as without"
many=$(tasks 4096 '')
[ "$many" -ge 8 ] || die "4096 rows: $many tasks"
few=$(tasks 8 '')
[ "$few" = 5 ] || die "eight rows: $few tasks"
grep -q '^ *task @expert = @expert \[i0 < N\]$' join.eti || die "a row's choice: $(grep '^ *task @expert = ' join.eti)"
! grep -q '^ *%[a-z.]*rank\[.*\] = ' join.eti || die 'the rank is stored'
sed 's/^s2 = .*/s2 = s * gather(s, minimum(iota(N) + 1, N - 1))/' join.etg > next.etg
"$etcc" next.etg --machine=H100 --variants=1 -d tile > next.eti
grep -q '^ *task @s = ' next.eti || die 'a row that reads the next one is part of the task before it'
# What nobody needs in the end, since there is one row to choose from, is whole all the same: the schedule is verified.
cat > single.etg << ETG
model single
input expert : i32[1]
input x : f32[1]
rows, place, owner, first = group(expert, 3)
output o = gather(gather(x, owner), rows)
ETG
"$etcc" single.etg --target=gfx942 -o single.hsaco
# A sum of 600 inputs is some forty steps, which would be one task, but for what they load.
{
    printf 'model many\ndim N in 1..4\n'
    awk 'BEGIN {
        for (i = 0; i < 600; i++) printf "input x%d : f32[N, 8]\n", i
        print "y0 = x0"
        for (i = 1; i < 600; i++) printf "y%d = y%d + x%d\n", i, i - 1, i
        print "output y = y599"
    }'
} > many.etg
"$etcc" many.etg --variants=1 -d tile > many.eti
most=$(awk '/^func /{ n = 0 } { n += gsub(/%x[0-9]+\[/, ""); if (n > most) most = n } END { print most }' many.eti)
[ "$most" -gt 100 ] && [ "$most" -le 256 ] || die "a task of $most loads"
