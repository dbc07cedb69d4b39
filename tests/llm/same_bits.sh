#!/bin/sh
# The logits are the same bits on any number of CUs and dies, and every time. $4 is not used.
. "$(dirname "$0")/lib.sh"
golden=$(checkpoint llama)/golden.safetensors
first=
for device in cus=16:xcds=2 cus=1:xcds=1 cus=2:xcds=1 cus=7:xcds=7 cus=64:xcds=8 cus=304:xcds=8 \
    cus=16:xcds=2 cus=15:xcds=3; do
    device=emu:gfx942:$device
    score llama "$golden" bits.safetensors 2> bits.log
    sum=$(cksum < bits.safetensors)
    echo "$device: $sum: $(cat bits.log)"
    [ -z "$first" ] || [ "$sum" = "$first" ] || die "$device gives other bits"
    first=$sum
done
