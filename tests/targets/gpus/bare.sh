#!/bin/sh
# bare.sh BIN WORK TARGET: products of few rows by codes are made without their scale on AMD's GPUs, and no weight is rounded: the
# results are those of products in f32, of which rounded weights are a thousandth off, for scales of each kind and codes of each type.
set -eu
bin=$1 work=$2 target=$3
. "$(dirname "$0")/../../support/lib.sh"
rm -rf "$work"
mkdir -p "$work"
cd "$work"
K=1024 R=96

model() { # TYPE, CODES: with what is added; SCALES: type, rows and k's to one; PRODUCT: of x and weights; and other weights
    cat << X
model bare
dim N in 1..64
input x : bf16[N, $K]
weight codes : $1[$R, $K]
weight scales : $3[($R + $4 - 1) / $4, $K / $5]
${7:-}
each = gather(gather(scales, idiv(iota($R), $4)).T, idiv(iota($K), $5)).T
output y : f32[N, $R] = $6
X
}
try() { # NAME and TYPE CODES SCALES ROWS KS OTHER, OPERAND, what scales are multiplied by, what is added
    name=$1 operand=${8:-bf16} range=-1:1 unit=0.001:0.02
    case $2 in u4) range=0:15 ;; i4) range=-8:7 ;; i8) range=-128:127 ;; ue8m0 | e2m1) range=-6:6 ;; e4m3 | e5m2) range=-200:200 ;; esac
    if [ "$4" = ue8m0 ]; then unit=0.001:4; fi
    model "$2" "$3" "$4" "$5" "$6" "$operand(x) @ $operand(($3) * (each${9:-})${10:-}).T" "$7" > "$name.etg"
    model "$2" "$3" "$4" "$5" "$6" "f32(x) @ (f32($3) * f32(each${9:-})${10:-}).T" "$7" > exact.etg
    "$bin/etfill" weights --seed 3 "codes:$2[$R,$K]:$range" "scales:$4[$((($R + $5 - 1) / $5)),$(($K / $6))]:$unit" "zeros:u4[$R,$(($K / 32))]:0:15" \
        "minima:f16[$R,$(($K / 32))]:-0.2:0.1" "six:u8[$R,$(($K / 32))]:0:63" "wide:f16[$R,$(($K / 256))]:0.01:0.05"
    "$bin/etcc" "$name.etg" --target="$target" --variants=1 -o "$name.hsaco"
    case ${ETCC_LONG-}$target in
    gfx942) counts='1 17' ;;
    gfx1100) counts='7 64' ;;
    *) counts='1 7 16 17 64' ;;
    esac
    for n in $counts; do
        "$bin/etfill" in --seed $n "x:bf16[$n,$K]:-2:2"
        "$bin/etinterp" exact.etg --stage graph --set=N=$n --in in --weights weights --out want
        "$bin/etrun" "$name.hsaco" --set=N=$n --in in --weights weights --out got --device "emu:$target:cus=4" >/dev/null
        "$bin/etsame" want got 3e-6 || die "$target: $name, $n rows"
    done
}

for scales in bf16 f32; do
    try "blocks.$scales" e4m3 codes $scales 128 128 ''
    try "channels.$scales" e4m3 codes $scales 1 1024 ''
    try "fours.$scales" u4 'codes - 8' $scales 1 128 ''
done
try zeros u4 'codes - gather(zeros.T, idiv(iota(1024), 32)).T' bf16 1 32 "weight zeros : u4[$R, $K / 32]"
try signed i4 codes bf16 1 64 ''
try eights i8 codes f32 1 1024 ''
try small e5m2 codes bf16 1 128 ''
try mx e2m1 codes ue8m0 1 32 ''
try half u4 'codes - 8' f16 1 128 '' f16
# Minima, as Q4_1 has them, with scales of 0 among others; and as Q4_K has them, of which a number of a block of 256 makes scales.
six='gather(six.T, idiv(iota(1024), 32)).T' wide='gather(wide.T, idiv(iota(1024), 256)).T'
try minima u4 codes f16 1 32 "weight minima : f16[$R, $K / 32]" bf16 '' ' + gather(minima.T, idiv(iota(1024), 32)).T'
try minima.eights i8 codes f16 1 32 "weight minima : f16[$R, $K / 32]" bf16 '' ' + gather(minima.T, idiv(iota(1024), 32)).T'
try blocks.minima u4 codes bf16 1 32 "weight six : u8[$R, $K / 32]
weight wide : f16[$R, $K / 256]" bf16 " * $wide" " - $six * $wide"
