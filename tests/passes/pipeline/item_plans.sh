#!/bin/sh
# item_plans.sh BIN SRC FOLDER: plans of maps and reductions that a text gives are obeyed or refused. Each decision is
# changed in every way below, of all steps at once: no text ends etcc otherwise than with a kernel or an error, and
# every AMD kernel computes what the graph interpreter does.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
. "$(dirname "$0")/plan_edits.sh"
bin=$1 src=$2
fresh "$3"

# Rows of a norm, one and two, that the workgroup shares; the largest of few and of many; sums of columns, and of what is
# gathered; a rotary embedding behind a product.
cat > one.etg << 'END'
model one
dim N in 1..1
input x : bf16[N, 4096]
weight g : bf16[4096]
output y : f32[N, 4096] = rmsnorm(x, g, eps=1e-5)
output i : i32[N] = argmax(x)
END
cat > few.etg << 'END'
model few
dim N in 1..2
input x : bf16[N, 512]
weight g : bf16[512]
weight w : bf16[64, 512]
output y : f32[N, 64] = rmsnorm(x, g, eps=1e-5) @ w.T
END
cat > many.etg << 'END'
model many
dim N in 1..70
input x : bf16[N, 96]
input z : f32[24, N]
output y : f32[N, 96] = softmax(x)
output s : f32[24] = sum(z)
output m : f32[N] = sum(transpose(z, [1, 0]))
END
cat > gathered.etg << 'END'
model gathered
dim N in 1..600
input at : i32[N, 2]
input e : bf16[16, 512]
weight w : bf16[64, 512]
x = sum(gather(e, at), axis=1)
output y : f32[N, 64] = bf16(x) @ w.T
END
cat > behind.etg << 'END'
model behind
dim N in 1..40
input x : bf16[N, 128]
input positions : i32[N]
weight g : bf16[128]
weight w : bf16[256, 128]
q = reshape(rmsnorm(x, g, eps=1e-5) @ w.T, [N, 4, 64])
output y : f32[N, 4, 64] = rope(q, positions, theta=10000)
END
# Places, of equal numbers and of minus infinity, too.
cat > largest.etg << 'END'
model largest
dim N in 310..330
input x : f32[N, 64]
v, at = topk(floor(x * 2), 4)
w, there = topk(log(maximum(x - 0.9, 0)), 5)
output y : i32[N, 4] = at
output z : i32[N, 5] = there
END

try() { # MODEL KIND EDIT: plans of KIND, a word that they begin with, changed so
    edit_plans "$1" "$2 " "$3" ': its \(map\|reduction\) cannot have the plan that is given, for '$target': '
}

changes() { # MODEL
    "$bin/etcc" "$1.etg" $compile --variants=1 --to scheduled -o "$1.eti"
    "$bin/etcc" "$1.eti" $compile --to scheduled -o again.eti
    cmp "$1.eti" again.eti
    for n in 1 2 4 8 16; do try "$1" vector "s/vector [0-9]*/vector $n/"; done
    for n in 2 3 4 8; do
        try "$1" vector "s/ unroll [0-9]*//; s/vector [0-9]*/& unroll $n/"
        try "$1" vector "s/ full [0-9]*//; s/vector [0-9]*\( unroll [0-9]*\)*/& full $n/"
        try "$1" vector "s/vector [0-9]*.*/vector 1 unroll $n full $n/"
    done
    for early in none copy loads; do
        try "$1" vector "s/ early [a-z]*//; s/\$/ early $early/"
        try "$1" vector "s/vector.*/vector 1 early $early/"
    done
    for of in vector lanes; do
        try "$1" $of 's/ reuse//'
        try "$1" $of 's/ reuse//; s/$/ reuse/'
    done
    for n in 1 2 4 8 16 32 64 128 256 512 1024; do
        try "$1" lanes "s/lanes [0-9]*/lanes $n/"
        try "$1" lanes "s/lanes.*/lanes $n vector 1 unroll 3/"
    done
    for n in 64 128 256 512; do
        try "$1" lanes "s/\$/ as $n/"
        try "$1" lanes "s/lanes [0-9]*/lanes 64/; s/unroll [0-9]*/unroll 4/; s/ rows [0-9]*//; s/ wide [0-9]*//; s/\$/ as $n/"
    done
    for n in 1 2 3 4 8; do
        try "$1" lanes "s/vector [0-9]*/vector $n/"
        try "$1" lanes "s/unroll [0-9]*/unroll $n/"
    done
    for n in 1 2 3 4; do
        try "$1" lanes "s/ rows [0-9]*//; s/unroll [0-9]*/& rows $n/"
        try "$1" lanes "s/ wide [0-9]*//; s/\$/ wide $n/"
    done
}

target=gfx942 compile=--target=gfx942 kind=hsaco check='--device emu:gfx942:cus=7:xcds=2'
for model in one few many gathered behind largest; do changes $model; done
grep -q '^ *plan lanes 256 ' few.eti || die 'no workgroup shares its rows'
grep -q '^ *reduce top ' largest.eti || die 'the largest are found by ranks'
grep -q '^ *plan lanes 1 vector 2 .* wide 2$' gathered.eti || die 'no lane has neighbouring rows'
target=sm_90 compile=--target=sm_90 kind=ptx
for model in many behind; do changes $model; done
grep -q '^ *plan vector 8 early copy' behind.eti || die 'no weights are copied early'
grep -q '^ *plan vector [0-9]* early loads' many.eti || die 'nothing is loaded early'
printf 'item_plans.sh: %d kernels right, %d plans refused\n' $made $refused
least 150 50
