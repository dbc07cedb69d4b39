#!/bin/sh
# runs.sh BIN WORK TARGET MACHINE: products of one row by codes whose scales are of fewer k's than a unit of all lanes has are made of
# f16, each run of k's that share a scale in a column of its own, with as many codes of a lane as one load brings; codes of two planes,
# scales that have a scale, values of a table, and minima too; of two to sixteen rows values are made bf16 without their scale, and no run has a
# column. Neither: zero points, scales of bf16, which suit packed pairs, and scales that all
# lanes share.
set -eu
bin=$1 work=$2 target=$3 machine=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
die() {
    echo "runs.sh: $target: $*" >&2
    exit 1
}
spread() { # NAME TYPE SHARED [K]: a plane of numbers that SHARED columns have one of
    printf 'weight %s : %s[2048, K / %s]\n%s_each = gather(%s.T, idiv(iota(K), %s)).T\n' "$1" "$2" "$3" "$1" "$1" "$3"
}
plan() { # ROWS K WEIGHTS DECLARATIONS
    {
        printf 'model runs\ndim N in 1..%s\nconst K = %s\ninput x : bf16[N, K]\n%s\n' "$1" "$2" "$4"
        printf 'output y : f32[N, 2048] = x @ bf16(%s).T\n' "$3"
    } > runs.etg
    "$bin/etcc" runs.etg --machine="$machine" --variants=1 --to=scheduled -o runs.eti
    plan=$(grep 'plan rows' runs.eti)
}
has() { # LANE RUN: and the text of the plan is the same plan
    echo "$plan" | grep -q "weights stream .* decode f16 .* lane $1 .* run $2 " || die "$name: $plan"
    "$bin/etcc" runs.eti --machine="$machine" -o again.ptx
    "$bin/etcc" runs.etg --machine="$machine" --variants=1 -o runs.ptx
    cmp -s runs.ptx again.ptx || die "$name: another kernel from its text"
    grep -q 'mma\.sync.*\.f16\.f16\.f32' runs.ptx && ! grep -q 'mma\.sync.*\.bf16' runs.ptx || die "$name: no products of f16, or of bf16"
}
several() { # the same by 2 and by 16 rows: bf16, and a plan that nobody else's is
    for rows in 2 16; do
        plan $rows "$@"
        echo "$plan" | grep -q 'weights stream .* decode bf16 .* lane 8 ' || die "$name, $rows rows: $plan"
        ! echo "$plan" | grep -q ' run ' || die "$name, $rows rows: $plan"
    done
    "$bin/etcc" runs.eti --machine="$machine" -o again.ptx
    "$bin/etcc" runs.etg --machine="$machine" --variants=1 -o runs.ptx
    cmp -s runs.ptx again.ptx || die "$name: another kernel from its text, of 16 rows"
    grep -q 'mma\.sync.*\.bf16' runs.ptx && ! grep -q 'mma\.sync.*\.f16\.f16\.f32' runs.ptx || die "$name: no products of bf16, or of f16"
}
no() { ! echo "$plan" | grep -q ' run ' || die "$1: $plan"; }

halves=$(spread s f16 32)
low='weight c : u4[2048, K]'
name='scales of 32'
plan 1 2048 '(c - 8) * s_each' "$low
$halves"
has 32 32
sed 's/ lane 32 / lane 16 /' runs.eti > other.eti
"$bin/etcc" other.eti --machine="$machine" -o other.ptx || die 'a lane may have half as many'
sed 's/ run 32 / run 16 /' runs.eti > other.eti
! "$bin/etcc" other.eti --machine="$machine" -o other.ptx 2> said || die 'runs of 16 where scales are of 32'
grep -q 'runs of a row' said || die "$(cat said)"
name=minima
plan 1 2048 'c * s_each + m_each' "$low
$halves
$(spread m f16 32)"
has 32 32
name='minima, both of a scale'
plan 1 2048 'c * (d_each * s_each) - m_each * e_each' "$low
$(spread s u8 32)
$(spread m u8 32)
$(spread d f16 256)
$(spread e f16 256)"
has 32 32
name='two planes, scales of 16'
plan 1 2048 '(c + 16 * h - 32) * (d_each * s_each)' "$low
weight h : u2[2048, K]
$(spread s i8 16)
$(spread d f16 256)"
has 32 16
name='eight bits'
plan 1 2048 'c * s_each' "weight c : i8[2048, K]
$halves"
has 16 32
name='576 columns'
plan 1 576 'c * s_each' "$low
$halves"
echo "$plan" | grep -q 'decode f16 .* run 32 ' || die "$name: $plan"

name='a table'
plan 1 2048 'c * s_each' "weight c : iq4[2048, K]
$halves"
has 32 32

name='several rows'
several 2048 '(c - 8) * s_each' "$low
$halves"
sed 's/ decode bf16 / decode pairs /' runs.eti > other.eti
! "$bin/etcc" other.eti --machine="$machine" -o other.ptx 2> said || die 'pairs by scales of f16'
name='several rows, minima of a scale'
several 2048 'c * (d_each * s_each) - m_each * e_each' "$low
$(spread s u8 32)
$(spread m u8 32)
$(spread d f16 256)
$(spread e f16 256)"
name='several rows, two planes, scales of 16'
several 2048 '(c + 16 * h - 32) * (d_each * s_each)' "$low
weight h : u2[2048, K]
$(spread s i8 16)
$(spread d f16 256)"
name='several rows, eight bits'
several 2048 'c * s_each' "weight c : i8[2048, K]
$halves"
name='several rows, a table'
several 2048 'c * s_each' "weight c : iq4[2048, K]
$halves"
plan 17 2048 '(c - 8) * s_each' "$low
$halves"
! echo "$plan" | grep -q 'decode bf16' || die "seventeen rows: $plan"
plan 1 2048 '(c - z_each) * s_each' "$low
$halves
$(spread z u4 32)"
no 'zero points'
plan 1 2048 'c * s_each' "$low
$(spread s f16 128)"
no 'what all of a unit share'
plan 1 2048 '(c - 8) * s_each' "$low
$(spread s bf16 32)"
no 'scales of bf16, by which packed pairs are exact'
