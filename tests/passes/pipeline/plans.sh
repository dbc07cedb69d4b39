#!/bin/sh
# plans.sh BIN SRC FOLDER: plans of products that a text gives are obeyed or refused. Each decision of every plan is
# changed in every way below, one at a time: no text ends etcc otherwise than with a kernel or an error, and every
# kernel computes what the graph interpreter does.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
. "$(dirname "$0")/plan_edits.sh"
bin=$1 src=$2
fresh "$3"
check='--device emu:gfx942:cus=7:xcds=2' compile=--target=gfx942 target=gfx942 kind=hsaco

cat > plain.etg << 'END'
model plain
dim N in 1..40
input x : bf16[N, 512]
weight u : bf16[96, 512]
weight v : bf16[64, 96]
output y : f32[N, 64] = relu(x @ u.T) @ v.T
END
sed 's/N in 1..40/N in 1..1/' plain.etg > row.etg
cat > quantised.etg << 'END'
model quantised
dim N in 1..8
input x : bf16[N, 512]
weight u : e4m3[64, 512]
weight s : f32[64, 1]
output y : f32[N, 64] = x @ bf16(f32(u) * s).T
END

try() { # MODEL.etg EDIT: its plans changed so
    edit_plans "${1%.etg}" 'rows ' "$2" 'cannot have the plan that is given, for '$target': '
}

for etg in plain.etg row.etg quantised.etg; do
    "$bin/etcc" "$etg" --variants=1 --to scheduled -o "${etg%.etg}.eti"
    grep -q '^ *plan rows ' "${etg%.etg}.eti" || die "$etg has no plan"
    for rows in staged ahead own pipeline; do
        for n in 1 2 4; do try "$etg" "s/rows [a-z]* [0-9]*/rows $rows $n/"; done
    done
    for weights in direct stream staged pipeline; do
        for n in 1 2 3 4; do try "$etg" "s/weights [a-z]* [0-9]*/weights $weights $n/"; done
    done
    for decode in plain computed pairs unscaled f16 fp8; do try "$etg" "s/decode [a-z0-9]*/decode $decode/"; done
    for n in 1 32 64 128 256 512 1024 1048576; do try "$etg" "s/chunk [0-9]*/chunk $n/"; done
    for n in 1 2 3 4 8 16; do try "$etg" "s/lane [0-9]*/lane $n/"; done
    for n in 1 2 3 4 64; do try "$etg" "s/sums [0-9]*/sums $n/"; done
    for n in 2 4 16; do try "$etg" "s/ row_packed [0-9]*//; s/\$/ row_packed $n/"; done
    for n in 1 2 4; do try "$etg" "s/sums [0-9]*/sums $n/; s/\$/ in_turn/"; done
    for early in none loads guess pipeline 'pipeline early_chunks 2'; do
        try "$etg" "s/ early [a-z]*//; s/\$/ early $early/"
    done
    for word in maybe_packed 'boxes all' 'boxes weights' deferred 'prefetch 64' prefetch_auxiliary interleaved evict_first reuse; do
        try "$etg" "s/\$/ $word/"
    done
    for word in deferred reuse 'unroll [0-9]*' 'prologue [a-z]*'; do try "$etg" "s/ $word//"; done
    for n in 2 3 8; do try "$etg" "s/ unroll [0-9]*//; s/\$/ unroll $n/"; done
    for prologue in staged registers; do try "$etg" "s/ prologue [a-z]*//; s/\$/ prologue $prologue/"; done
    # The order of tiles, too, is the text's.
    for order in adjacent back_and_forth; do
        sed "s/^ *task .*/& order $order/" "${etg%.etg}.eti" > ordered.eti
        "$bin/etcc" ordered.eti $compile -o ordered.hsaco
        "$bin/check_kernel" "$etg" ordered.hsaco $check || die "$etg with tiles in the order $order is wrong"
    done
done
# Rows that a workgroup's next tile finds, which those of the same k and other columns are.
cat > reuse.etg << 'END'
model reuse
input x : bf16[1, 2048]
weight g : bf16[2048]
weight u : e4m3[512, 2048]
weight s : f32[512, 1]
output y : f32[1, 512] = rmsnorm(x, g, eps=1e-5) @ bf16(f32(u) * s).T
END
"$bin/etcc" reuse.etg --to scheduled -o reuse.eti
for word in reuse 'prologue staged'; do grep -q "^ *plan rows .* $word" reuse.eti || die "reuse.eti has no $word"; done
grep -q '^ *plan lanes .* reuse$' reuse.eti || die 'each tile of reuse.eti adds up the squares of the same rows'
for word in reuse 'unroll [0-9]*' 'prologue [a-z]*'; do try reuse.etg "s/ $word//"; done
for n in 2 3 8; do try reuse.etg "s/ unroll [0-9]*//; s/\$/ unroll $n/"; done
try reuse.etg 's/ prologue [a-z]*//; s/$/ prologue registers/'
# What is prefetched, which NVIDIA's GPUs alone can: lines of weights behind those that come early, up to k of them.
cat > wide.etg << 'END'
model wide
dim N in 256..512
input x : bf16[N, 512]
weight g : bf16[512]
weight u : bf16[1024, 512]
output y : f32[N, 1024] = rmsnorm(x, g, eps=1e-5) @ u.T
END
cat > few.etg << 'END'
model few
const M = 128
input x : bf16[M, 1024]
weight u : bf16[8192, 1024]
output y : f32[M, 8192] = x @ u.T
END
target=sm_90 compile=--target=sm_90 kind=ptx
for etg in wide.etg few.etg; do
    "$bin/etcc" "$etg" --target=sm_90 --unstreamed --variants=1 --to scheduled -o "${etg%.etg}.eti"
    before=$made,$refused
    for n in 1 63 64 65 128 512 960 1024 1088 1048576; do try "$etg" "s/ prefetch [0-9]*//; s/\$/ prefetch $n/"; done
    try "$etg" 's/ prefetch_auxiliary//; s/$/ prefetch_auxiliary/'
    [ $before != $made,$refused ] || die "no plan of $etg was changed"
done
grep -q '^ *plan .* prefetch [0-9]' few.eti || die 'no weights are prefetched'
grep -q '^ *plan .* prefetch_auxiliary' wide.eti || die 'no auxiliary operands are prefetched'
target=gfx942 compile=--target=gfx942 kind=hsaco
# How much of k is multiplied at a time is one number, wherever it is written.
"$bin/etcc" plain.etg --variants=1 --explain -o plain.hsaco > explained
for etg in plain row; do
    ! grep -q 'over k < [0-9]* by ' $etg.eti || die "$etg.eti says the k of a chunk twice"
done
sed -n 's/.* plan .* chunk \([0-9]*\) .*/\1/p' plain.eti | sort > chunks
sed -n 's/.* products* of .*, \([0-9]*\) of k at a time.*/\1/p' explained | sort | cmp -s - chunks ||
    die "--explain and the plans differ: $(cat explained)"
refuse() { # TEXT.eti MESSAGE
    status=0
    "$bin/etcc" "$1" --target=gfx942 -o changed.hsaco 2> said || status=$?
    [ $status -eq 1 ] && grep -q "$2" said || die "$1 ends with $status: $(cat said)"
}
sed 's/ over k < 512/& by 512/' plain.eti > twice.eti
refuse twice.eti "the k of a chunk is the plan's: leave 'by' out"
# Chunks that a pipeline holds in registers: as many as the plan says, and no more than there is room for.
cat > pipeline.etg << 'END'
model pipeline
input x : bf16[2048, 2048]
weight u : bf16[2048, 2048]
output y : f32[2048, 2048] = x @ u.T
END
"$bin/etcc" pipeline.etg --target=gfx942 --to scheduled -o pipeline.eti
grep -q 'weights pipeline 2 ' pipeline.eti || die "pipeline.eti: $(grep 'plan rows' pipeline.eti)"
for n in 3 4; do
    sed "s/weights pipeline 2/weights pipeline $n/" pipeline.eti > more.eti
    refuse more.eti 'registers have no room for so many chunks of a pipeline'
done
sed 's/weights pipeline 2/weights pipeline 1/' pipeline.eti > one.eti
"$bin/etcc" one.eti --target=gfx942 -o one.hsaco && "$bin/etcc" pipeline.eti --target=gfx942 -o two.hsaco
! cmp -s one.hsaco two.hsaco || die 'the kernel has other chunks in registers than its plan says'
# Less of k than a matrix instruction takes.
cat > narrow.eti << 'END'
eti 1 tiled
model narrow
input %x : f32[16, 64]
weight %w : f32[64, 64] = "w"
output %y : f32[16, 64]
func @p [n0 < 1] {
  contract f32 [m < 16, n < 64] over k < 64 by 2 waves 4 * 1
    a = %x[m, k]
    $s += a * %w[n, k]
  map [i < 16, j < 64]
    %y[i, j] = $s[0, i, j]
}
schedule {
  task @p
}
END
refuse narrow.eti 'a contraction of 16 x 64 by 2 does not divide among 4 x 1 x 1 waves'
printf 'plans.sh: %d kernels right, %d plans refused\n' $made $refused
least 12 60
