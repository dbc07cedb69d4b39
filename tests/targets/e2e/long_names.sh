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
# So are names in checkpoints, which grow where the index of a loop has more digits than its name letters.
s=$(letters 1021 s)
cat > s.etg << X
model s
input x : f32[8]
h = x * 1
for l in 123455..123457 {
  weight w : f32[8] = "$s{l}"
  h = h + w
}
output y = h
X
"$bin/etcc" s.etg -o s.hsaco
"$bin/etfill" in.st "x:f32[8]:-1:1"
header="{\"${s}123455\":{\"dtype\":\"F32\",\"shape\":[8],\"data_offsets\":[0,32]},\"${s}123456\":{\"dtype\":\"F32\",\"shape\":[8],\"data_offsets\":[32,64]}}"
# shellcheck disable=SC2059
printf "\\$(printf %o $((${#header} % 256)))\\$(printf %o $((${#header} / 256)))\\0\\0\\0\\0\\0\\0" > w.st
printf '%s' "$header" >> w.st
letters 64 '?' >> w.st # 0.747, sixteen times
"$bin/etrun" s.hsaco --in in.st --weights w.st --out got.st
"$bin/etinterp" s.etg --in in.st --weights w.st --out want.st
"$bin/etsame" want.st got.st 0
long=$(letters 255 m)
program 255 "$long" > long.etg
"$bin/etcc" long.etg long.etg -o two.hsaco # the second is called so, and _2
"$bin/etrun" two.hsaco --list > list
grep -q "${long}_2.$y" list || die 'no output of the second model'
program 256 m > m.etg
refuses 1 'name longer than 255 characters' "$bin/etcc" m.etg -o not.hsaco
[ ! -e not.hsaco ] || die 'it is there all the same'
