#!/bin/sh
# halves.sh BIN WORK TARGET MACHINE: products of one row by codes of e4m3 are made without their scale, of f16, where 64 k's or more
# share one, whatever its type; of more rows, with something added to the codes, and on a target that
# does not make f16 of codes, they are not. Codes of four bits are where zero points are taken from them, or their scale is f32.
set -eu
bin=$1 work=$2 target=$3 machine=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
die() {
    echo "halves.sh: $target: $*" >&2
    exit 1
}
ptx() { # ROWS, SCALES: type and group, WEIGHTS, and MACHINE
    cat > halves.etg << X
model halves
dim N in 1..$1
input x : bf16[N, 2048]
weight codes : ${type:-e4m3}[2048, 2048]
${more:-}
weight scales : $2[2048, 2048 / $3]
each = gather(scales.T, idiv(iota(2048), $3)).T
output y : f32[N, 2048] = x @ bf16($4).T
X
    "$bin/etcc" halves.etg --machine="${5:-$machine}" --variants=1 -o halves.ptx
}
type=u4
more='weight zeros : u4[2048, 16]
zero = gather(zeros.T, idiv(iota(2048), 128)).T'
fours() { grep -q 'lop3.*1677747200' halves.ptx; } # 0x64006400, two f16 of 1024
ptx 1 bf16 128 '(codes - zero) * each'
fours || die 'codes of four bits less zero points'
grep -q 'mma\.sync.*\.f16\.f16\.f32' halves.ptx && ! grep -q 'mma\.sync.*\.bf16' halves.ptx || die 'no products of f16, or of bf16'
ptx 1 f32 128 '(codes - 8) * each'
fours || die 'codes of four bits with scales of f32'
ptx 1 bf16 128 '(codes - 8) * each'
! fours || die 'codes of four bits less a number'
ptx 2 bf16 128 '(codes - zero) * each'
! fours || die 'two rows and codes of four bits'
type='' more=''

halves() { grep -q 'cvt\.rn\.f16x2\.e4m3x2' halves.ptx; }

for scales in bf16 f32; do
    for group in 64 128 2048; do
        ptx 1 $scales $group 'codes * each'
        halves || die "scales of $group: codes are not made f16"
        grep -q 'mma\.sync.*\.f16\.f16\.f32' halves.ptx || die "scales of $group: no products of f16"
        grep -q 'redux\.sync\.max\.u32' halves.ptx || die 'nobody looks for the largest element of the row'
        ! grep -q 'mma\.sync.*\.bf16' halves.ptx || die 'products of bf16'
    done
    ptx 2 $scales 128 'codes * each'
    ! halves || die 'two rows'
    ptx 2 $scales 16 'codes * each'
    ! halves || die 'two rows, scales of 16'
done
ptx 1 bf16 128 '(codes + 1) * each'
! halves || die 'one is added'
ptx 1 bf16 128 'codes * each' A100
! halves || die 'sm_80 has no such instruction'
