#!/bin/sh
# goldens.sh BIN TOOLS SRC WORK: checkpoints to GGUF files and back are the same weights, bit for bit, and the same
# model.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 tools=$2 src=$3 work=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"

for m in llama llama3 linear mistral mixtral qwen2 qwen3 yarn qwen2_moe qwen3_moe gemma gemma2 gemma3; do
    golden=$bin/../checkpoints/$m
    for type in bf16 f16 f32; do
        "$tools/make_gguf" "$golden" "$m.gguf" $type
        rm -rf "$m"
        "$bin/etgguf" "$m.gguf" -o "$m" 2> said || die "$m $type: $(cat said)"
        [ "$(cat said)" = "etgguf: $m.gguf: warning: there is no tokenizer in the file" ] || die "$m: $(cat said)"
        "$tools/make_gguf" compare "$golden" "$m" $type
        rm -rf "$m.wide"
        "$bin/etgguf" "$m.gguf" -o "$m.wide" --type f32 2> said || die "$m $type: $(cat said)"
        [ $type = f16 ] || "$tools/make_gguf" compare "$golden" "$m.wide" f32
    done
    # The last one has the type f32, so that one more is made to compare the texts.
    "$tools/make_gguf" "$golden" "$m.gguf" bf16
    rm -rf "$m"
    "$bin/etgguf" "$m.gguf" -o "$m" 2> said
    "$bin/etimport" "$m" -o got.etg --name same
    "$bin/etimport" "$golden" -o want.etg --name same
    diff -u want.etg got.etg || die "$m: another model"
done

# What it computes, for one that is turned and one that is shifted.
for m in llama3 gemma; do
    "$bin/etimport" "$m" -o "$m.etg" --max-tokens 512 --wide --rope-frequencies bf16
    "$bin/etinterp" "$m.etg" --stage graph --in "$bin/../checkpoints/$m/golden.safetensors" --weights "$m" \
        --out "$m.safetensors"
    "$bin/etllm" compare --ref "$bin/../checkpoints/$m/golden.safetensors" --out "$m.safetensors" --tolerance 5e-6
done
