#!/bin/sh
# codes.sh BIN FOLDER: weights of 8 and 4 bits from safetensors files: as bytes, as words, dimensions of them, by the names that the
# format has for them; and files that do not fit, or hold NaN.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 dir=$2/codes
rm -rf "$dir"
mkdir -p "$dir"
cd "$dir"
cat >codes.etg <<'ETG'
model codes
weight a : e4m3[6]
weight q : u4[2, 8]
weight i : i4[3, 2]
weight m : e2m1[1, 2, 2]
weight s : ue8m0[2]
output x : f32[6] = f32(a)
output y : i32[2, 8] = i32(q)
output z : i32[3, 2] = i32(i)
output w : f32[4] = reshape(m * reshape(s, [1, 2, 1]), [4])
ETG
"$bin/etcc" codes.etg -o codes.hsaco

# file OUT A-DTYPE A-BYTES Q-DTYPE Q-SHAPE M-SHAPE [S-BYTES]: bytes in octal
file() {
    header=$(printf '%s' "{\"a\":{\"dtype\":\"$2\",\"shape\":[6],\"data_offsets\":[0,6]}," \
        "\"q\":{\"dtype\":\"$4\",\"shape\":$5,\"data_offsets\":[6,14]}," \
        "\"i\":{\"dtype\":\"U8\",\"shape\":[3],\"data_offsets\":[14,17]}," \
        "\"m\":{\"dtype\":\"U8\",\"shape\":$6,\"data_offsets\":[17,19]}," \
        "\"s\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[19,21]}}")
    printf "\\$(printf %o $((${#header} % 256)))\\$(printf %o $((${#header} / 256)))\\0\\0\\0\\0\\0\\0" >"$1"
    # shellcheck disable=SC2059 # octal bytes are the format
    {
        printf '%s' "$header"
        printf "$3"
        printf '\020\062\124\166\230\272\334\376' # q: 0 1 2 ... 15
        printf '\207\360\021'                     # i: 7 -8 0 -1 1 1
        printf '\367\101'                         # m: 6 -6 0.5 2
        printf "${7:-\176\202}"                  # s: 1/2 8
    } >>"$1"
}
numbers='\001\270\000\176\277\010' # 2^-9 -1 0 448 -1.875 2^-6
file good.st F8_E4M3 "$numbers" I32 '[2]' '[1,2]'
"$bin/etrun" codes.hsaco --weights good.st | tee out
grep -q '^x: .*= 0.001953125 -1 0 448 -1.875 0.015625$' out || die "x"
grep -q '^y: .*= 0 1 2 3 4 5 6 7 \.\.\.$' out || die "y"
grep -q '^z: .*= 7 -8 0 -1 1 1$' out || die "z"
grep -q '^w: .*= 3 -3 4 16$' out || die "w"
"$bin/etinterp" codes.etg --weights good.st --out interp.st
"$bin/etrun" codes.hsaco --weights good.st --out kernel.st
cmp interp.st kernel.st
file bytes.st U8 "$numbers" U8 '[2,4]' '[1,2]'
"$bin/etrun" codes.hsaco --weights bytes.st --out bytes.out.st
cmp kernel.st bytes.out.st
file square.st F8_E4M3 "$numbers" I32 '[2,1]' '[1,2]'
"$bin/etrun" codes.hsaco --weights square.st --out square.out.st
cmp kernel.st square.out.st
file deep.st F8_E4M3 "$numbers" I32 '[2,1,1]' '[1,2,1]'
"$bin/etrun" codes.hsaco --weights deep.st --out deep.out.st
cmp kernel.st deep.out.st
file wide.st F8_E4M3 "$numbers" I32 '[1,2]' '[1,2]'
refuses 1 'tensor q is I32 [1, 2], weight q must be U4 [2, 8]' "$bin/etrun" codes.hsaco --weights wide.st
file flat.st F8_E4M3 "$numbers" I32 '[2]' '[2]'
refuses 1 'tensor m is U8 [2], weight m must be F4 [1, 2, 2]' "$bin/etrun" codes.hsaco --weights flat.st
file other.st F8_E5M2 "$numbers" I32 '[2]' '[1,2]'
refuses 1 'tensor a is F8_E5M2 [6], weight a must be F8_E4M3 [6]' "$bin/etrun" codes.hsaco --weights other.st
file nan.st F8_E4M3 '\001\270\377\176\277\010' I32 '[2]' '[1,2]'
refuses 1 'weight a holds NaN' "$bin/etrun" codes.hsaco --weights nan.st
file nan.st F8_E4M3 "$numbers" I32 '[2]' '[1,2]' '\176\377'
refuses 1 'weight s holds NaN' "$bin/etrun" codes.hsaco --weights nan.st
