#!/bin/sh
# architectures.sh BIN TOOLS SRC WORK: files as llama.cpp's converter makes them of golden checkpoints (architectures.json) become those
# checkpoints again: the same text, and the same weights, bit for bit; of gpt-oss, whose experts stay turned, the same logits.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$(cd "$1" && pwd) tools=$(cd "$2" && pwd) record=$(cd "$3" && pwd)/tests/unit/gguf/architectures.json
fresh "$4"

names=$(sed -n 's/^"\([a-z0-9_]*\)": .*/\1/p' "$record")
[ "$(echo "$names" | wc -l)" -ge 41 ] || die "$record has fewer models"
for m in $names; do
    golden=$bin/../checkpoints/$m
    mkdir "$m"
    "$tools/remake" "$record" "$m" "$golden" "$m"
    "$bin/etgguf" "$m/model.gguf" -o "$m.made" 2> said || die "$m: $(cat said)"
    if [ "$m" = gpt_oss ]; then
        "$bin/etimport" "$m.made" -o got.etg --max-tokens 512 --wide --rope-frequencies bf16 2> said || die "$m: $(cat said)"
        "$bin/etinterp" got.etg --stage graph --in "$golden/golden.safetensors" --weights "$m.made" --out got.safetensors
        "$bin/etllm" compare --ref "$golden/golden.safetensors" --out got.safetensors --tolerance 5e-6
        continue
    fi
    "$tools/make_gguf" compare "$golden" "$m.made" same
    ln -s "$(realpath "$golden/model.safetensors")" "$m/"
    "$bin/etimport" "$m.made" -o got.etg --name same || die "$m"
    "$bin/etimport" "$m" -o want.etg --name same || die "$m"
    diff -u want.etg got.etg || die "$m: another model"
done

refused() { # WORDS MODEL SED: of the file changed by it
    sed "$3" "$2/model.gguf" > bad.gguf
    rm -rf no
    ! "$bin/etgguf" bad.gguf -o no 2> said || die "$1: was taken"
    grep -qF "$1" said || die "$1: $(cat said)"
}
refused 'metadata "lfm2.attention.head_count_kx" may change' lfm2 's/lfm2.attention.head_count_kv/lfm2.attention.head_count_kx/'
refused 'tensor "rope_factors_long.weight" is missing' longrope 's/rope_factors_long/rope_factors_lang/'
refused 'metadata "granite.logit_scale" is missing' granite 's/granite.logit_scale/general.logit_scale/'
refused 'tensor "blk.0.attn_quv.weight" has no place in a phi3 model' phi3 's/blk.0.attn_qkv.weight/blk.0.attn_quv.weight/'
refused 'metadata "glm4moe.rope.dimension_counx" may change what is computed' glm4_moe 's/rope.dimension_count/rope.dimension_counx/'
