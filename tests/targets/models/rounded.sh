#!/bin/sh
# rounded.sh BIN SRC WORK [TARGET...]: e4m3(x) is the nearest e4m3, bit for bit (quantise.c), in the interpreter and on emulated GPUs; and
# products of rows that are quantised, by the lines that etimport writes, are what a few lines of C make of them.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3/rounded
shift 3
work=$work.${1:-none}
rm -rf "$work"
mkdir -p "$work"
cd "$work"

echo 'model rounded
dim N in 1..772
input x : f32[N, 256]
output y = f32(e4m3(x))' >rounded.etg
"$bin/quantise" inputs x.safetensors
"$bin/quantise" codes x.safetensors want.safetensors
"$bin/etinterp" rounded.etg --set N=772 --in x.safetensors --out got.safetensors
cmp want.safetensors got.safetensors
for target; do
    "$bin/etcc" rounded.etg --target="$target" -o rounded.hsaco
    "$bin/etrun" rounded.hsaco --device "emu:$target:cus=4" --set N=772 --in x.safetensors --out got.safetensors >out
    cmp want.safetensors got.safetensors
done

# A product each, of rows of all sizes.
for m in fp8_channel fp8_block; do
    golden=$bin/../checkpoints/$m text=$src/tests/targets/models/$m.fp8.etg
    {
        echo "model one"
        echo "dim N in 1..64"
        grep '^const' "$text"
        echo "input x : f32[N, F]"
        grep '^def' "$text"
        sed -n "s/^  *\(weight wd_.*\)/\1/p; s/^  *\(wd[_a-z0-9]* = .*\)/\1/p" "$text" | sed 's/{l}/1/g'
        sed -n 's/.*quantised(gated(.*)\(, wd_codes, .*\)/output y = quantised(x\1/p
s/.*quantised(gated(.*) @ wd.T/output y = quantised(x) @ wd.T/p' "$text"
    } >one.etg
    "$bin/etfill" in.safetensors "x:f32[20,256]:-3:3"
    "$bin/etinterp" one.etg --set N=20 --in in.safetensors --weights "$golden" --out got.safetensors
    "$bin/quantise" product "$golden" model.layers.1.mlp.down_proj in.safetensors got.safetensors
    for target; do
        "$bin/etcc" one.etg --target="$target" -o one.hsaco
        "$bin/etrun" one.hsaco --device "emu:$target:cus=4" --set N=20 --weights "$golden" --in in.safetensors \
            --out got.safetensors >out
        "$bin/quantise" product "$golden" model.layers.1.mlp.down_proj in.safetensors got.safetensors
    done
done

# Weights of all codes, in widths that fill chunks and do not, by few rows and many.
for columns in 96 256 1040; do
    rm -rf all
    mkdir all
    "$bin/quantise" weight 80 $columns all/model.safetensors
    {
        echo "model one"
        echo "dim N in 1..64"
        echo "input x : f32[N, $columns]"
        grep '^def' "$src/tests/targets/models/fp8_channel.fp8.etg"
        echo "weight w : e4m3[80, $columns] = \"all.weight\""
        echo 'weight t : f32[80, 1] = "all.weight_scale"'
        echo "output y = quantised(x, w, t)"
    } >all.etg
    for target; do
        "$bin/etcc" all.etg --target="$target" -o all.hsaco --explain >explained
        case $target.$columns in # other widths go through local memory
        gfx942.256 | gfx950.256 | gfx1201.256) grep -q 'multiplied as fp8 x fp8' explained || die "$target: not multiplied as fp8 x fp8" ;;
        gfx90a.* | gfx1100.*) ! grep -q 'multiplied as fp8' explained || die "$target has no such instruction" ;;
        esac
        for n in 1 5 64; do
            "$bin/etfill" in.safetensors "x:f32[$n,$columns]:-3:3"
            "$bin/etrun" all.hsaco --device "emu:$target:cus=4" --set N=$n --weights all --in in.safetensors \
                --out got.safetensors >out
            "$bin/quantise" product all all in.safetensors got.safetensors
        done
    done
done
