#!/bin/sh
# The logits are the same bits on any number of CUs and dies, and every time. $4 is not used. $5: the model.
. "$(dirname "$0")/lib.sh"
m=$5
golden=$(checkpoint "$m")/golden.safetensors
first=
run() { # CUs, dies: the golden sequences, mixed; compares with the first run
    device=emu:gfx942:cus=$1:xcds=$2
    score "$m" "$golden" "$m.bits.safetensors" 2> "$m.bits.log" || die "$device: $(cat "$m.bits.log")"
    sum=$(cksum < "$m.bits.safetensors")
    [ -z "$first" ] || [ "$sum" = "$first" ] || die "$device gives other bits"
    first=$sum
}
for shape in '1 1' '2 1' '2 2' '7 1' '7 7' '15 3' '16 4' '20 5' '24 6' '64 8' '304 8'; do
    # shellcheck disable=SC2086
    run $shape
done
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
    run 16 2
done
