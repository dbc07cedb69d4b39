#!/bin/sh
# Compiles the two products for several devices, gives them random weights and rows, runs them on emulated ones. $1: the folder with etcc,
# etrun and etfill; $2: where to leave the files; $3: rows; DEVICES: how many devices, 2 or 4; EXCHANGE: rows, flags, tags or auto.
set -eu
bin=$1 out=$2 n=${3:-40} devices=${DEVICES:-2}
here=$(cd "$(dirname "$0")" && pwd)

"$bin/etfill" "$out/devices_weights.safetensors" --seed 1 'norm:f32[256]:0.5:1.5' 'up:bf16[512,256]:-0.1:0.1' \
    'down:bf16[256,512]:-0.1:0.1' 'head:bf16[384,256]:-0.1:0.1'
"$bin/etfill" "$out/devices_inputs.safetensors" --seed "$n" "x:bf16[$n,256]:-2:2"

sed "s/const D=2/const D=$devices/" "$here/devices.etg" > "$out/devices.etg"
"$bin/etcc" "$out/devices.etg" --devices="$devices" --exchange="${EXCHANGE:-rows}" -o "$out/devices.hsaco"
"$bin/etrun" "$out/devices.hsaco" --device "emu:gfx942:cus=8:agents=$devices" --set "N=$n" --in "$out/devices_inputs.safetensors" \
    --weights "$out/devices_weights.safetensors" --out "$out/devices_outputs.safetensors"
