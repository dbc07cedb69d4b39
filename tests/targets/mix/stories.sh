#!/bin/sh
# The two story tellers in one kernel, on 64 CUs in 4 dies with caches as the memory model allows them.
# $4, $5: seeds and tokens, more of them by hand (README.md).
. "$(dirname "$0")/lib.sh"
set -- "${4:-2}" "${5:-5}"
for m in stories-llama stories-moe; do
    "$bin/etimport" "$bin/../checkpoints/$m" -o $m.etg
    "$bin/etcc" $m.etg -o $m.hsaco
done
"$bin/etcc" stories-llama.etg stories-moe.etg -o mix.hsaco
as_alone() { # MIX DEVICE SEEDS TOKENS
    "$bin/check_stories" "$1" "$4" "emu:gfx942:$2" 1 "$3" \
        stories_llama stories-llama.hsaco "$bin/../checkpoints/stories-llama" \
        stories_moe stories-moe.hsaco "$bin/../checkpoints/stories-moe"
}
as_alone mix.hsaco cus=64:xcds=4:coherence=model "$1" "$2"

# Tasks on parts of their model's CUs, as greedy has them here, beside ranges of the other model; on a chip of the size that was
# planned for, on fewer CUs, with workgroups on any die, and dies of different sizes.
"$bin/etcc" stories-llama.etg stories-moe.etg --placement=greedy --to=scheduled -o greedy.eti
[ "$(grep -c '^ *task .* range \[' greedy.eti)" -ge 5 ] || die 'greedy leaves all tasks on all CUs of their models'
"$bin/etcc" greedy.eti -o greedy.hsaco
as_alone greedy.hsaco cus=64:xcds=4:coherence=model 1 3
for device in cus=304:xcds=8 cus=40:xcds=4:map=shuffle-3 cus=6+1+2+7; do
    as_alone greedy.hsaco $device 1 3
    as_alone mix.hsaco $device 1 3
done

# In slices, the bits of each alone in as many.
for m in stories-llama stories-moe; do
    "$bin/etcc" $m.etg --slices=2 -o $m.hsaco
done
for placement in ilp greedy; do
    "$bin/etcc" stories-llama.etg stories-moe.etg --slices=2 --placement=$placement -o mix.hsaco
    for device in cus=64:xcds=4 cus=6+1+2+7:map=shuffle-3 cus=12:xcds=4:map=fill-2; do
        as_alone mix.hsaco $device:coherence=model 1 3
    done
done
