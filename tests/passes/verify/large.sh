#!/bin/sh
# large.sh BIN: programs with too many tasks, or too many sizes, to look at one by one are proved; with one
# wait wrong, even for one size alone, they are refused; --unverified compiles them all the same.
set -eu
bin=$1 here=$(cd "$(dirname "$0")" && pwd)/large
tmp=$(mktemp -d) && trap 'rm -rf "$tmp"' EXIT
cd "$tmp"
fail() { echo "large.sh: $*"; exit 1; }

accepted() { # FILE
    "$bin/etcc" "$1" --to scheduled -v -o out.eti 2> said || fail "$1 is refused: $(cat said)"
    grep -q 'verified for all values of the dims (at once)' said || fail "$1: $(cat said)"
}

refused() { # FILE SED-COMMAND MESSAGE
    sed -e "$2" "$here/$1" > wrong.eti
    cmp -s "$here/$1" wrong.eti && fail "$1: $2 changes nothing"
    "$bin/etcc" wrong.eti --to scheduled -o out.eti 2> said && fail "$1, $2: accepted"
    grep -q "$3" said || fail "$1, $2: $(cat said)"
    [ -e out.eti ] && fail "$1, $2: wrote its output"
    "$bin/etcc" wrong.eti --unverified --to scheduled -o out.eti 2> said || fail "$1, $2: $(cat said)"
    rm out.eti
}

accepted "$here/many.eti"
rm out.eti
refused many.eti '/wait %b/d' 'task g\[i=0\] does to %g is done before what task y\[b=0\] does'
refused many.eti '/wait %a/d' 'is not proved right'
refused many.eti 's/wait %a\[0 .. 15/wait %a[1 .. 15/' 'is not proved right'
refused many.eti 's/+ 1023)\]/+ 1022)]/' 'is not proved right'
refused many.eti 's/count 62500/count 62501/' 'gets the arrivals it counts'
refused many.eti 's/i \/ 62500, 0/i \/ 62501, 0/' 'gets the arrivals it counts'
refused many.eti 's/wait %b\[b \* 1024 /wait %b[b * 1024 - 1 /' 'counters there are'
accepted "$here/wide.eti"
rm out.eti
refused wide.eti 's/wait %e\[i\]/wait %e[select((N + 3) % 4999 == 0, 0, i)]/' 'with N = 4996'
refused wide.eti 's/wait %e\[i\]/wait %e[min(i, 77776)]/' 'does to %h with N = 77778'
refused wide.eti 's/%h\[i\]$/%h[select(N == 31337 \&\& i == 5, 6, i)]/' 'with N = 31337'
accepted "$here/chained.eti"
rm out.eti
refused chained.eti 's/max(0, i0 - 1) .. i0 - 1\]/max(0, i0 - 2) .. i0 - 2]/' 'is not proved right\|schedule is wrong'
refused chained.eti 's/min(i0 + 1, (N + 3) \/ 4 - 1)/i0/' 'which task scan\[i0=.*no event orders'
refused chained.eti 's/min(i0 \* 16 + 15, (N + 3) \/ 4 - 1)\]/min(i0 * 16 + 14, (N + 3) \/ 4 - 1)]/' 'is not proved right\|schedule is wrong'
rm -f out.eti

# Updates of one state by tiles that dims of their own count: a tile's box of tiles of the one before may be empty, by whichever dims.
updates() { # COUNT
    awk -v n="$1" 'BEGIN { print "model updates"
        for (i = 0; i < n; i++) printf "dim D%d in 1..9\ninput x%d : f32[D%d, 8]\n", i, i, i
        print "state s : f32[16, 8]"
        for (i = 0; i < n; i++) printf "s[iota(D%d)] = softmax(x%d)\n", i, i
        print "output y = s * 1" }'
}
for n in 5 14; do
    updates $n > updates.etg
    accepted updates.etg
done
updates 7 > updates.etg
accepted updates.etg
mv out.eti updates.eti
accepted updates.eti
sed '/task @s_update_5 /,/notify/ { /wait %s_update\[/d; }' out.eti > wrong.eti
cmp -s out.eti wrong.eti && fail "no wait of the first update"
rm out.eti
"$bin/etcc" wrong.eti --to scheduled -o out.eti 2> said && fail "updates without a wait: accepted"
grep -q 'task s_update_5\[i0=.*which task s_update\[i0=.*no event orders' said || fail "updates without a wait: $(cat said)"

# Indices that sum more dims than a sum has terms: each element has a place of its own, tiles wait for all of an earlier task.
sums() { # COUNT
    awk -v n="$1" 'BEGIN { print "model sums"; last = "D" n - 1
        for (i = 0; i < n; i++) { print "dim D" i " in 1..40"; if (i < n - 1) { up = up "+D" i; down = "+" i % 3 + 1 "*D" i down } }
        print "state s : f32[300, 8]\ninput x : f32[" last "]\ninput z : f32[" last ", 8]"
        print "s[iota(" last ")" up ", 3] = x\ns[iota(" last ")" down ", :] = z"
        print "output y : f32[" last ", 8] = gather(s, 2*iota(" last ")" up ") + z" }'
}
for n in 12 21 40 20; do
    sums $n > sums.etg
    accepted sums.etg
done
cp out.eti sums.eti
rm out.eti
awk '!done && /%s\[.*\] = / { done = sub(/i1/, "i1 / 2") } { print }' sums.eti > wrong.eti
cmp -s sums.eti wrong.eti && fail "no index of an update"
"$bin/etcc" wrong.eti --to scheduled -o out.eti 2> said && fail "two elements to one place of many dims: accepted"
grep -q 'stores two elements to one place\|that it stores no two elements to one place' said || fail "sums: $(cat said)"
