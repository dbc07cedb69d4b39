#!/bin/sh
# flags_models.sh BIN SRC WORK: what the pass `unfence` makes of a decoder. With all events unfenced that
# can be, the kernel gives PyTorch's logits on incoherent caches in several orders, the bits it gives with
# fences, in all variants; and whether it is done goes by what the machine says it costs.
set -eu
bin=$1 src=$2
mkdir -p "$3" && cd "$3"
fail() {
    echo "$*"
    exit 1
}
"$bin/etfill" in.st 'tokens:i32[5]:0:511' 'positions:i32[5]:0:9' 'slots:i32[5]:0:3'
"$bin/etfill" in1.st 'tokens:i32[1]:0:511' 'positions:i32[1]:7:7' 'slots:i32[1]:0:3'
for m in llama qwen3; do
    golden=$bin/../checkpoints/$m
    "$bin/etimport" "$golden" -o $m.etg
    targets=gfx942
    test $m = qwen3 || targets="gfx942 gfx1100"
    for target in $targets; do
        for how in all none; do
            "$bin/etcc" $m.etg --target=$target --flag-in-data=$how -o $m.$how.hsaco
            for n in 1 5; do
                in=in.st
                test $n = 5 || in=in1.st
                "$bin/etrun" $m.$how.hsaco --set=N=$n --in=$in --weights="$golden" --out=$how.$n.st --repeat=2 \
                    --device=emu:$target:cus=8:xcds=1:coherence=model
            done
        done
        for n in 1 5; do cmp none.$n.st all.$n.st; done
        cmp -s $m.none.hsaco $m.all.hsaco && fail "$m: no event is unfenced on $target"
    done
    "$bin/etcc" $m.etg --flag-in-data=all -o $m.hsaco
    "$bin/interleavings" $m.hsaco "$golden" emu:gfx942:cus=16:xcds=4:coherence=model:seed=1 2 right
    "$bin/interleavings" $m.hsaco "$golden" emu:gfx942:cus=16:xcds=4:coherence=model:seed=2:starve=5 2 right
done
# What is tagged in one variant lies apart from all of the others: the text reads back, which checks it.
"$bin/etcc" "$src/examples/moe/moe.etg" --flag-in-data=all --to=scheduled -o moe.eti
test "$(grep -c '^variant' moe.eti)" -gt 1
grep -q '^temp .* tagged at' moe.eti
"$bin/etcc" moe.eti --to=scheduled -o again.eti
cmp moe.eti again.eti
# Machines that say nothing of unfenced events have none; where they cost little all are, else none.
machine() { sed "s/^flag_us .*/flag_us $1/" "$src/passes/machines/mi300x.machine" > my.machine; }
"$bin/etcc" llama.etg --flag-in-data=none -o none.hsaco
"$bin/etcc" llama.etg -o auto.hsaco
cmp none.hsaco auto.hsaco
machine 0.001
"$bin/etcc" llama.etg --machine=my.machine -d unfence > cheap.txt
grep -q '^# %attn.o has no fences' cheap.txt
grep -q '^# unfenced events: fences that are left out take' cheap.txt
"$bin/etcc" llama.etg --machine=my.machine --explain=cheap.txt -o llama.hsaco
grep -q '[0-9] flag-in-data events: no fences' cheap.txt
machine 50
"$bin/etcc" llama.etg --machine=my.machine -d unfence > dear.txt
grep -q '^# unfenced events do not pay' dear.txt
if grep -q '^event .* unfenced' dear.txt; then fail 'events are unfenced that do not pay'; fi
echo 'unfenced events of decoders: same bits, right logits, chosen by cost'
