#!/bin/sh
# seeds.sh SOURCE_TREE BUILD - make the seed corpora in BUILD/seeds out of files of the tree: whatever an input
# can be cut or assembled from is not committed a second time.
set -eu
src=$1 out=$2/seeds tmp=$2/seeds.tmp
rm -rf "$out" "$tmp"
mkdir -p "$out/etg" "$out/safetensors" "$out/manifest" "$out/config" "$out/complete" "$out/checkpoint" "$out/quant" "$out/tokenizer" "$out/chat_template" "$out/code" "$out/isa" "$tmp"

# def_bombs takes its whole budget of steps on every run.
for f in "$src"/tests/*/*/*.etg "$src"/examples/*/*.etg; do
    case $f in */def_bombs.etg) continue ;; esac
    cp "$f" "$out/etg/$(basename "$(dirname "$f")")-$(basename "$f")"
done
for f in "$src"/tests/*/*/*.eti; do
    [ -f "$f" ] || continue
    mkdir -p "$out/eti"
    cp "$f" "$out/eti/$(basename "$(dirname "$f")")-$(basename "$f")"
done

cp "$src/tests/unit/runtime/probe.json" "$out/manifest/probe.json"
for d in "$2"/checkpoints/*/; do
    name=$(basename "$d")
    cp "$d/config.json" "$out/config/$name.json"
    cp "$d/config.json" "$out/complete/$name.json"
    [ -f "$d/model.safetensors" ] || continue
    # The header with its length, and none of the data.
    head -c 4096 "$d/model.safetensors" > "$out/safetensors/$name"
    # config.json, a byte 0, the header.
    header=$(od -An -tu8 -N8 "$d/model.safetensors")
    { cat "$d/config.json"; printf '\000'; tail -c +9 "$d/model.safetensors" | head -c "$((header))"; } |
        head -c 16384 > "$out/checkpoint/$name"
    cp "$out/checkpoint/$name" "$out/quant/$name"
done

# modules.json, two of its modules, the two files of texts, the second's tensors, the checkpoint; bytes 0 between.
mkdir -p "$out/embedder"
for d in "$2"/checkpoints/*/; do
    [ -f "$d/modules.json" ] || continue
    name=$(basename "$d")
    {
        for f in modules.json 1_Pooling/config.json 2_Dense/config.json config_sentence_transformers.json sentence_bert_config.json; do
            [ ! -f "$d/$f" ] || cat "$d/$f"
            printf '\000'
        done
        [ ! -f "$d/2_Dense/model.safetensors" ] ||
            tail -c +9 "$d/2_Dense/model.safetensors" | head -c "$(($(od -An -tu8 -N8 "$d/2_Dense/model.safetensors")))"
        printf '\000'
        cat "$out/checkpoint/$name"
    } | head -c 16384 > "$out/embedder/$name"
done

for d in "$src"/tests/system/llm/designs/*/; do
    # No longer than run.sh lets inputs be.
    head -c 16384 "$d/tokenizer.json" > "$out/tokenizer/design-$(basename "$d")"
done

# A template, a byte 0, its variables.
for f in "$src"/tests/unit/llm_template/chats/*.json; do
    name=$(basename "$f" .json)
    { cat "$src/tests/unit/llm_template/chats/${name%%.*}.jinja"; printf '\000'; cat "$f"; } > "$out/chat_template/$name"
done

clang=clang-22
triple='--target=amdgcn-amd-amdhsa -mcpu=gfx942 -nogpulib -nostdlib -ffreestanding -O2'
for f in "$src"/tests/unit/emu/kernels/*.c; do
    # shellcheck disable=SC2086
    $clang -std=c11 -I "$src" $triple "$f" -o "$out/code/$(basename "$f" .c).hsaco"
done
sh "$src/tests/unit/runtime/frame.sh" "$src/tests/unit/runtime/probe.json" "$out/manifest/probe.manifest"
$clang --target=amdgcn-amd-amdhsa -mcpu=gfx942 -I "$out/manifest" "$src/tests/unit/runtime/probe.s" \
    -o "$out/code/probe.hsaco"

# Machine code behind the byte that chooses the architecture.
for f in "$out"/code/*.hsaco; do
    llvm-objcopy-22 -O binary -j .text "$f" "$tmp/text"
    { printf '\000'; head -c 1024 "$tmp/text"; } > "$out/isa/$(basename "$f" .hsaco)"
done
rm -rf "$tmp"
