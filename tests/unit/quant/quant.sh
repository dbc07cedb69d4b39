#!/bin/sh
# quant.sh BIN TOOLS SRC WORK: etquant: every weight against what its codes mean, and what it refuses.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 tools=$2 src=$3 work=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"

for type in BF16 F16 F32; do
    mkdir "$type"
    echo '{"model_type": "none"}' > "$type/config.json"
    "$tools/check_quant" make "$type" "$type"
    for how in 24 fp8 int4; do
        "$bin/etquant" "$type" -o "$type.$how" --$how > said || die "$type $how"
        "$tools/check_quant" $how "$type" "$type.$how"
    done
done
grep -qE 'F32.int4: 3 weights to int4, 1\.[0-9] MB to 0\.[0-9] MB' said || die "$(cat said)"

# Real ones, with their tokenizers and all.
for m in stories-llama qwen3 mixtral gemma2; do
    from=$bin/../checkpoints/$m
    for how in 24 fp8 int4; do
        rm -rf made
        [ $m$how != gemma2int4 ] || continue # widths that are no multiple of 128
        "$bin/etquant" "$from" -o made --$how > said || die "$m $how"
        "$tools/check_quant" $how "$from" made
        for file in tokenizer.json generation_config.json tokenizer_config.json; do
            [ ! -f "$from/$file" ] || cmp "$from/$file" "made/$file"
        done
    done
done

# The head too: one of its own, and one that is the embedding.
for m in BF16 "$bin/../checkpoints/mixtral" "$bin/../checkpoints/qwen3"; do
    for how in fp8 int4; do
        rm -rf made
        "$bin/etquant" "$m" -o made --$how --head > said || die "$m $how"
        "$tools/check_quant" $how "$m" made head
    done
done
rm -rf made
"$bin/etquant" "$bin/../checkpoints/qwen3" -o made --24 --head > said
grep -q '15 weights to 2:4' said || die "$(cat said)"
mkdir headless
echo '{}' > headless/config.json
"$bin/etfill" headless/model.safetensors 'model.layers.0.a.weight:bf16[4,128]:-1:1'
refuses 1 'has no tensor embed_tokens.weight, which would be its head' "$bin/etquant" headless -o out --fp8 --head
refuses 1 'no bf16, f16 or f32 matrix with a multiple of 128 columns' "$bin/etquant" "$bin/../checkpoints/gemma2" -o out --int4 --head

# What stays where one asks for it.
"$bin/etquant" BF16 -o kept --fp8 --keep '*.q_proj.weight' --keep 'model.layers.11.*' > said
grep -q '2 weights to fp8' said || die "$(cat said)"
grep -q '"model.layers.0.self_attn.q_proj"' kept/config.json || die 'not listed'

misused() { refuses 2 "$@"; }
misused 'one of --fp8, --int4 and --24' "$bin/etquant" BF16 -o out
misused 'one of --fp8, --int4 and --24' "$bin/etquant" BF16 -o out --fp8 --int4
refuses 1 'quantised already' "$bin/etquant" BF16.fp8 -o out --int4
refuses 1 'BF16.int4: is there, and has files in it' "$bin/etquant" BF16 -o BF16.int4 --fp8
refuses 1 'no tensor of the checkpoint is' "$bin/etquant" "$bin/../checkpoints/gemma2" -o out --int4
refuses 1 'No such file' "$bin/etquant" absent -o out --fp8
refuses 1 'a row for each input' "$bin/etquant" "$bin/../checkpoints/gpt2" -o out --fp8
mkdir odd
echo '[]' > odd/config.json
refuses 1 'is no object' "$bin/etquant" odd -o out --fp8
echo '{' > odd/config.json
refuses 1 'line 2' "$bin/etquant" odd -o out --fp8
echo '{}' > odd/config.json
refuses 1 'odd' "$bin/etquant" odd -o out --fp8
# All bits of the last value set: NaN.
cp F32/model.safetensors odd/
printf '\377\377\377\377' | dd of=odd/model.safetensors bs=1 seek=$(($(wc -c < odd/model.safetensors) - 4)) conv=notrunc 2> said
refuses 1 'has values that are no finite numbers' "$bin/etquant" odd -o out --fp8
refuses 1 'has values that are no finite numbers' "$bin/etquant" odd -o out --int4
refuses 1 'has values that are no finite numbers' "$bin/etquant" odd -o out --24
[ -z "$(ls -d out ./*.tmp 2> said)" ] || die 'something was left'
