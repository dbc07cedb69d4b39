#!/bin/sh
# dequantised.sh BIN SRC WORK MODEL NAME TENSOR: weight NAME of layer 1, by the lines that etimport writes for its format, is what a
# dequantiser of a few lines (dequantise.c) makes of TENSOR, bit for bit: in the interpreter and on emulated GPUs.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3/dequantised.$4 m=$4 name=$5 tensor=$6
golden=$bin/../checkpoints/$m
rm -rf "$work"
mkdir -p "$work"
cd "$work"
{
    echo "model one"
    grep '^const' "$src/tests/targets/models/$m.etg"
    sed -n "s/^  *\(weight ${name}_.*\)/\1/p; s/^  *\(${name}[_a-z0-9]* = .*\)/\1/p" "$src/tests/targets/models/$m.etg" | sed 's/{l}/1/g'
    echo "output y = f32($name)"
} >w.etg
"$bin/dequantise" "$golden" "$m" "$tensor" want.safetensors
"$bin/etinterp" w.etg --weights "$golden" --out got.safetensors
cmp want.safetensors got.safetensors
for target in gfx942 gfx1100; do
    "$bin/etcc" w.etg --target=$target -o w.hsaco
    "$bin/etrun" w.hsaco --device "emu:$target:cus=16" --weights "$golden" --out got.safetensors >out
    cmp want.safetensors got.safetensors
done
[ "$(wc -c <want.safetensors)" -gt 65536 ] || die "an empty weight"
