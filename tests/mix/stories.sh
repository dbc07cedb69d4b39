#!/bin/sh
# The two story tellers in one kernel, on 64 CUs in 4 dies with caches as the memory model allows them.
# $4, $5: seeds and tokens, more of them by hand (README.md).
. "$(dirname "$0")/lib.sh"
set -- "${4:-2}" "${5:-5}"
for m in stories-llama stories-moe; do
    "$bin/etimport" "$src/examples/models/$m" -o $m.etg
    "$bin/etcc" $m.etg -o $m.hsaco
done
"$bin/etcc" stories-llama.etg stories-moe.etg -o mix.hsaco
"$bin/check_stories" mix.hsaco "$2" emu:gfx942:cus=64:xcds=4:coherence=model 1 "$1" \
    stories_llama stories-llama.hsaco "$src/examples/models/stories-llama" \
    stories_moe stories-moe.hsaco "$src/examples/models/stories-moe"
