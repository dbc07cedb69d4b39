#!/bin/sh
# long_names.sh BIN WORK: what etcc takes for a name the runtime takes too, up to the longest; one letter more is an error of etcc.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 work=$2
fresh "$work"
letters() { # COUNT LETTER
    head -c "$1" /dev/zero | tr '\0' "$2"
}
program() { # COUNT MODEL: names of so many letters
    x=$(letters "$1" x) d=$(letters "$1" D) w=$(letters "$1" w) y=$(letters "$1" y)
    cat << X
model $2
dim $d in 1..4
input $x : f32[$d, 8]
weight $w : f32[8]
output $y : f32[$d, 8] = $x + $w
X
}
for n in 1 128 129 200 255; do
    program $n m > m.etg
    "$bin/etcc" m.etg -o m.hsaco
    "$bin/etfill" in.st "$x:f32[3,8]:-1:1"
    "$bin/etfill" w.st "$w:f32[8]:-1:1"
    "$bin/etrun" m.hsaco --list > list
    grep -q "$y" list || die "no output of $n letters: $(cat list)"
    "$bin/etrun" m.hsaco --set "$d=3" --in in.st --weights w.st --out got.st
    "$bin/etinterp" m.etg --set "$d=3" --in in.st --weights w.st --out want.st
    "$bin/etsame" want.st got.st 0
done
long=$(letters 255 m)
program 255 "$long" > long.etg
"$bin/etcc" long.etg long.etg -o two.hsaco # the second is called so, and _2
"$bin/etrun" two.hsaco --list > list
grep -q "${long}_2.$y" list || die 'no output of the second model'
program 256 m > m.etg
refuses 1 'name longer than 255 characters' "$bin/etcc" m.etg -o not.hsaco
[ ! -e not.hsaco ] || die 'it is there all the same'
