#!/bin/sh
# attend_plans.sh BIN SRC FOLDER: plans of attention that a text gives are obeyed or refused. Each decision is changed in every
# way below, one at a time and two together: no text ends etcc otherwise than with a kernel or an error, and every AMD
# kernel computes what the graph interpreter does.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
. "$(dirname "$0")/plan_edits.sh"
bin=$1 src=$2
fresh "$3"

# Windows, a sink and a soft cap; three heads of 64 that share keys. Heads of 600, with a mask that differs by head.
cat > one.etg << 'END'
model one
dim N in 1..9
input slots, positions : i32[N]
input q : f32[N, 3, 64]
state kc, vc : bf16[2, 1, 40, 64]
weight sinks : bf16[3]
slot = mod(slots, 2)
output a : f32[N, 3, 64] = attention(q, kc, vc, slot, positions, scale=1/8, window=9, softcap=3, sink=sinks)
END
cat > deep.etg << 'END'
model deep
dim N in 1..9
input r : f32[N, 5, 600]
input k : f32[40, 600]
output b : f32[N, 5, 600] = attend(i in 0..N, h in 0..5, p in 0..40, d in 0..600, q = r[i, h, d], k = k[p, d], v = k[p, d],
                                   score = qk * 0.02, mask = mod(p + h, 3) != 0)
END
# Rows of queries of one sequence, whose keys and values this launch writes, and half of which have a window.
cat > rows.etg << 'END'
model rows
dim N in 90..100
input positions, slots : i32[N]
input x : bf16[N, 128]
weight w : bf16[256, 128]
state kc, vc : bf16[1, 1, 128, 64]
q = reshape(x @ w.T, [N, 4, 64])
output a : f32[N, 4, 64] = attention(q, kc, vc, slots, positions, scale=1/8, window=50)
END
# The same with heads of 256, which waves have halves of.
sed 's/^model rows/model wide/; s/\[N, 128\]/[N, 512]/; s/bf16\[256, 128\]/bf16[1024, 512]/; s/128, 64\]/128, 256]/; s/N, 4, 64/N, 4, 256/' rows.etg > wide.etg
# The same of several sequences.
sed 's/^model rows/model several/; s/bf16\[1, 1, 128, 64\]/bf16[4, 1, 128, 64]/; s/^q = /slot = mod(slots, 4)\nq = /; s/vc, slots,/vc, slot,/' rows.etg > several.etg
# So few CUs that a tile has all heads that share keys, and several rows.
for gpu in mi300x mi355x h100; do sed 's/^cus .*/cus 4/; s/^dies .*/dies 1/' "$src/passes/machines/$gpu.machine" > $gpu.few; done

try() { # MODEL EDIT: its plans changed so
    edit_plans "$1" '[lcrw][a-z]* [hw]' "$2" ': its attention cannot have the plan that is given, for [gs]'
}

changes() { # MODEL
    "$bin/etcc" "$1.etg" $compile --variants=1 --to scheduled -o "$1.eti"
    for by in 'lanes heads 1 lane 8' 'lanes heads 2 lane 16' 'columns heads 1' 'columns heads 3' 'rows waves 1' 'rows waves 2' \
        'warpgroup waves 1' 'warpgroup waves 2'; do
        for block in '' '4 depth 1' '16 depth 2' '64 depth 2'; do
            try "$1" "s/plan .* positions/plan $by positions/; s/ rest positions [0-9]* depth [0-9]*//; ${block:+s/positions [0-9]* depth [0-9]*/positions $block/}"
        done
    done
    for n in 1 2 3 4 5 6 8 9 64; do
        try "$1" "s/heads [0-9]*/heads $n/; s/ rest positions [0-9]* depth [0-9]*//"
        try "$1" "s/heads [0-9]*/heads $n/; s/ rest positions [0-9]* depth [0-9]*//; /lanes/s/depth [12]/& rest positions 1 depth 1/"
    done
    for n in 1 8 16 24 32 64; do
        try "$1" "s/lane [0-9]*/lane $n/"
        try "$1" "s/heads [0-9]* lane [0-9]*/heads 1 lane $n/; s/ rest positions [0-9]* depth [0-9]*//"
        try "$1" "s/heads [0-9]* lane [0-9]*/heads 1 lane $n/; s/ rest [a-z0-9 ]* depth [0-9]*//; s/depth [12]/depth 2/"
    done
    for n in 1 2 3 4 8 16 32 64 1024; do try "$1" "s/positions [0-9]*/positions $n/g"; done
    for n in 1 2; do
        try "$1" "s/depth [0-9]*/depth $n/g"
        for k in 1 2 4; do try "$1" "s/positions [0-9]* depth [0-9]*/positions $k depth $n/g"; done
    done
    for n in 1 2 3 4 8 16 32; do try "$1" "s/waves [0-9]*/waves $n/"; done
    for early in none indices prefetch run; do try "$1" "s/ early [a-z]*//; s/ alone//; s/\$/ early $early/"; done
    try "$1" 's/ alone//'
    try "$1" 's/ alone//; s/$/ alone/'
}

check='--device emu:gfx942:cus=4:xcds=1' compile=--machine=./mi300x.few kind=hsaco
changes one
changes deep
check='--set N=97' compile=--machine=./mi355x.few
changes rows
grep -q '^ *plan rows waves ' rows.eti || die 'no plan has rows of queries'
# What only NVIDIA's GPUs have: plans end the same way, though no kernel runs here.
compile=--machine=./h100.few kind=ptx
changes one
grep -q '^ *plan columns heads 3 ' one.eti || die 'no heads are columns'
changes rows
grep -q '^ *plan warpgroup waves .* early run$' rows.eti || die 'no rows are multiplied by warpgroup MMA'
changes wide
grep -q '^ *plan warpgroup waves 2 .* early run$' wide.eti || die 'no rows of deep heads are multiplied by warpgroup MMA'
changes several
grep -q '^ *plan warpgroup waves .* early run alone$' several.eti || die 'a row with keys of its own is not done by itself'
printf 'attend_plans.sh: %d kernels right, %d plans refused\n' $made $refused
least 30 100
