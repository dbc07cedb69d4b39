#!/bin/sh
# events.sh BIN SRC WORK: programs whose waits tensors decide, and others written at the level of
# events: the same bits from the static schedule, the dynamic one, the hybrid and random mixes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
. "$here/lib.sh"
bin=$1 src=$2
rm -rf "$3"
mkdir -p "$3" && cd "$3"
"$bin/etfill" splitk_in.safetensors --seed 3 'x:f32[5,1000]:-1:1'
"$bin/etfill" pipeline_in.safetensors --seed 4 'x:bf16[5,80]:-2:2'
"$bin/etfill" pipeline_w.safetensors --seed 1 'w1:bf16[96,80]:-0.3:0.3' 'w2:bf16[40,96]:-0.3:0.3'
"$bin/etfill" experts_w.safetensors --seed 1 'router:f32[8,16]:-1:1' 'w:f32[8,16,16]:-0.3:0.3'
"$bin/etfill" experts_in.safetensors --seed 5 'x:f32[5,16]:-2:2'
"$bin/etfill" one_in.safetensors 'x:f32[5,16]:1:1' # all tokens to the same experts

run() { # KERNEL NAME INPUTS SUM: its outputs on several devices have the checksum, or give it
    want=$4
    weights=
    [ ! -e "$2_w.safetensors" ] || weights="--weights $2_w.safetensors"
    for device in ${ETCC_LONG:+cus=1 cus=4:seed=1} cus=24:xcds=8:seed=2:coherence=model cus=64:xcds=8:seed=3; do
        # shellcheck disable=SC2086
        "$bin/etrun" "$1" --set N=5 --in "$3" $weights --out out.safetensors --device "emu:gfx942:$device"
        sum=$(cksum < out.safetensors)
        [ -z "$want" ] || [ "$sum" = "$want" ] || { echo "$1 on $device: other bits"; exit 1; }
        want=$sum
    done
}

mixes="mix1${ETCC_LONG:+ mix2 mix3 mix4 mix5}"
for name in splitk pipeline experts; do
    eti=$src/examples/eti/$name.eti
    inputs=$name'_in.safetensors'
    [ $name != experts ] || inputs="$inputs one_in.safetensors"
    "$bin/etcc" "$eti" --to scheduled -o $name.eti
    for how in static dynamic hybrid; do
        "$bin/etcc" "$eti" --schedule=$how -o $how.hsaco
    done
    for mix in $mixes; do
        mixed "$bin/etcc" $name.eti "${mix#mix}" $mix.hsaco
    done
    for in in $inputs; do
        run static.hsaco $name "$in" ''
        for kernel in dynamic hybrid $mixes; do
            run $kernel.hsaco $name "$in" "$want"
        done
    done
done
