#!/bin/sh
# largest.sh BIN SRC FOLDER: the k largest of many rows are found one after the other, by lanes that share a row or by a workgroup, and of few
# rows by ranks; what is found is the same: the first of equal numbers, minus infinity among them, integers, and fewer rows than tiles have.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1
fresh "$3"

model() { # NAME DIMS ELEMENTS
    cat > "$1.etg" << END
model $1
dim N in $2
input x : f32[N, $3]
input s : i32[N, $3]
v, at = topk(floor(x * 2), 4)
w, there = topk(log(maximum(x - 0.9, 0)), 5)
u, here = topk(idiv(s, 30), 3)
output a : i32[N, 4] = at
output b : i32[N, 5] = there
output c : i32[N, 3] = here
output d : f32[N, 4] = v
output e : f32[N, 5] = exp(w)
output f : i32[N, 3] = u
END
    "$bin/etcc" "$1.etg" --target=gfx942 --variants=1 --to=scheduled -o "$1.eti"
    "$bin/etcc" "$1.eti" -o "$1.hsaco"
    "$bin/check_kernel" "$1.etg" "$1.hsaco" --device emu:gfx942:cus=7:xcds=2 > said || die "$1: $(cat said)"
}

tops() { # MODEL
    grep -c '^ *reduce top ' "$1.eti" || :
}

model many 500..700 48
model long 1..2 20000
model few 1..8 48
[ "$(tops many) $(tops long) $(tops few)" = '3 3 0' ] || die "many, long, few: $(tops many) $(tops long) $(tops few)"
[ "$(grep -c '^func .*rank' many.eti) $(grep -c '^func .*rank' few.eti)" = '0 3' ] || die 'ranks'
grep -A1 '^ *reduce top ' long.eti | grep -q 'plan lanes 256 ' || die 'no workgroup shares a long row'
grep -A1 '^ *reduce top ' many.eti | grep -q 'plan lanes 4 ' || die 'no lanes share a row'
# Ranks that a source asks for stay.
cat > read.etg << 'END'
model read
dim N in 500..700
input x : f32[N, 48]
v, at = topk(x, 4)
output a : i32[N, 4] = at
output r : i32[N, 48] = rank(x)
END
"$bin/etcc" read.etg --target=gfx942 --variants=1 -o read.hsaco
"$bin/check_kernel" read.etg read.hsaco --device emu:gfx942:cus=7:xcds=2 > said || die "$(cat said)"
printf 'largest.sh: by places where these take less, and the same\n'
