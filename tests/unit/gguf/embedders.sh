#!/bin/sh
# embedders.sh BIN TOOLS WORK: encoders of texts, and decoders with a pooling, as GGUF files have them: the folder that etgguf makes
# gives the same vectors as the checkpoint, whose words it splits alike, and near them where its matrices are quantised.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$(cd "$1" && pwd) tools=$(cd "$2" && pwd)
fresh "$3"
ETRT_EMU_LIB=$bin/../lib/libetemu.so
export ETRT_EMU_LIB

embed() { # MODEL OUT
    "$bin/etllm" embed --model "$1" --device emu:gfx942:cus=2 --cache cache --truncate --file texts > "$2" 2> log || die "$1: $(cat log)"
}
module() { printf '{"idx": %s, "path": "%s", "type": "sentence_transformers.models.%s"}' "$1" "$2" "$3"; }

for m in bert roberta nomic modernbert gemma3 qwen3; do
    cp -r "$bin/../checkpoints/embed_$m" $m
    chmod -R u+w $m
    # A file has no layer with a bias or an activation, and all its vectors are of one length; prompts are not in it.
    dense=
    [ $m != gemma3 ] || dense=", $(module 2 2_Dense Dense)"
    echo "[$(module 0 '' Transformer), $(module 1 1_Pooling Pooling)$dense, $(module 3 3_Normalize Normalize)]" > $m/modules.json
    rm -f $m/config_sentence_transformers.json
    "$bin/check_vectors" $m/vectors.json > texts
    "$tools/make_embedder" $m $m.gguf
    "$bin/etgguf" $m.gguf -o $m.made 2> said || die "$m: $(cat said)"
    [ ! -s said ] || die "$m: $(cat said)"
    embed $m want
    embed $m.made got
    cmp want got || die "$m: other vectors"
    case $m in modernbert | gemma3 | roberta) continue ;; qwen3) most=5e-2 ;; *) most=3e-2 ;; esac
    "$bin/check_vectors" $m/vectors.json vectors 1.6e-2 < got || die $m
    "$tools/make_embedder" $m $m.q8.gguf q8_0
    "$bin/etgguf" $m.q8.gguf -o $m.q8 2> said || die "$m: $(cat said)"
    grep -q quant_method $m.q8/config.json || die "$m: nothing stays quantised"
    embed $m.q8 got
    "$bin/check_vectors" $m/vectors.json vectors $most < got || die "$m, q8_0"
done

# Scores of two texts: what stands between them, and the layer behind the first token.
cp -r "$bin/../checkpoints/rerank_roberta" scores
"$bin/check_vectors" scores/vectors.json > texts
"$tools/make_embedder" scores scores.gguf
"$bin/etgguf" scores.gguf -o scores.made 2> said || die "scores: $(cat said)"
for m in scores scores.made; do
    "$bin/etllm" rerank --query 'where does the cat sleep?' --model $m --device emu:gfx942:cus=2 --cache cache --truncate --file texts > $m.out 2> log || die "$m: $(cat log)"
done
cmp scores.out scores.made.out || die "other scores"

refused() { # WORDS FILE.gguf
    rm -rf no
    ! "$bin/etgguf" "$2" -o no 2> said || die "$1: was taken"
    grep -qF "$1" said || die "$1: $(cat said)"
    [ ! -e no ] || die "$1: something is left"
}
# A number of the pooling that nothing is known of, and one of scores without their tensors; a model whose tokens see all of a text that becomes nothing.
put() { # FILE KEY TYPE VALUE: four bytes, behind the key and its type
    at=$(grep -abo "$2" "$1" | head -n 1 | cut -d: -f1)
    # shellcheck disable=SC2059
    printf "$3$4" | dd of="$1" bs=1 seek=$((at + ${#2})) conv=notrunc 2> /dev/null
}
cp bert.gguf bad.gguf
put bad.gguf bert.pooling_type '\004\000\000\000' '\007\000\000\000'
refused 'metadata "bert.pooling_type" is 7' bad.gguf
put bad.gguf bert.pooling_type '\004\000\000\000' '\004\000\000\000'
refused 'tensor "cls.output.weight" is missing' bad.gguf
cp qwen3.gguf bad.gguf
put bad.gguf qwen3.pooling_type '\004\000\000\000' '\004\000\000\000'
refused 'metadata "qwen3.pooling_type" is 4' bad.gguf
cp bert.gguf bad.gguf
put bad.gguf bert.attention.causal '\007\000\000\000' '\001'
refused 'metadata "bert.attention.causal" is true' bad.gguf
cp nomic.gguf bad.gguf
put bad.gguf nomic-bert.attention.head_count '\004\000\000\000' '\005\000\000\000'
refused 'metadata "nomic-bert.embedding_length" is no multiple of the number of heads' bad.gguf
cp gemma3.gguf bad.gguf
put bad.gguf gemma-embedding.pooling_type '\004\000\000\000' '\000\000\000\000'
refused 'tensor "dense_2.weight" changes what no pooling gives' bad.gguf
cp bert.gguf bad.gguf
put bad.gguf tokenizer.ggml.model '' ''
sed 's/\[CLS\]/[cls]/' bert.gguf > bad.gguf
sed 's/tokenizer.ggml.cls_token_id/tokenizer.ggml.clx_token_id/' bad.gguf > worse.gguf
refused 'has no [CLS], which texts of "bert" need' worse.gguf
