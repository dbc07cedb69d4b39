#!/bin/sh
# etllm embed and etllm rerank: vectors and scores of texts as sentence-transformers has them, of encoders and decoders, from
# their folders alone; and what they refuse. The last argument is check_vectors.
. "$(dirname "$0")/lib.sh"
eval "check=\${$#}"
rm -rf vectors
mkdir vectors
cd vectors
. "$(dirname "$0")/vectors_lib.sh"
texts embed_bert > texts
compare embed_bert vectors 1e-2 embed
compare embed_bert query 1e-2 embed --prompt-name query
bert=$(find cache -name kernel.hsaco)
for model in embed_roberta embed_modernbert embed_qwen3; do
    # A decoder keeps its keys and values in bf16, too.
    off=1e-2
    [ $model != embed_qwen3 ] || off=1.5e-2
    texts $model > texts
    # One has a prompt as its default, of the others none is used.
    compare $model vectors $off embed
    [ $model = embed_roberta ] || compare $model query $off embed --prompt-name query
done
for model in rerank_bert rerank_roberta rerank_modernbert rerank_qwen3; do
    texts $model > texts
    off=5e-3
    [ $model != rerank_bert ] || off=2e-2 # the others' go through a sigmoid
    compare $model scores $off rerank --query 'where does the cat sleep?'
done
[ "$(find cache -name 'kernel-*' | wc -l)" -eq 8 ] || die "the cache: $(find cache)"

# From arguments, from standard input, and from more texts than a launch has room for: the same lines.
texts embed_bert | head -2 > texts
of embed_bert embed --file texts > by_file 2> log || die "$(cat log)"
of embed_bert embed < texts > by_input 2> log || die "$(cat log)"
of embed_bert embed -p "$(sed -n 1p texts)" -p "$(sed -n 2p texts)" > by_arguments 2> log || die "$(cat log)"
cmp by_file by_input
cmp by_file by_arguments
for i in $(seq 700); do printf 'cat\nx\n'; done > many
of embed_bert embed --file many > lines 2> log || die "$(cat log)"
[ "$(wc -l < lines)" -eq 1400 ] || die "$(wc -l < lines) lines"
sed 's/"index":[0-9]*/"index":0/' lines | sort -u | wc -l | grep -qx 2 || die 'a text has several vectors'
: > none
of embed_bert embed --file none > lines 2> log || die "$(cat log)"
[ ! -s lines ] || die 'lines of no text'
# Of 4 numbers, and of length 1 again.
of embed_bert embed -p cat --dimensions 4 2> log > lines || die "$(cat log)"
sed 's/.*\[//; s/].*//' lines | awk -F, '{ for (i = 1; i <= NF; i++) s += $i * $i; exit !(NF == 4 && s > 0.99999 && s < 1.00001) }' ||
    die "four numbers: $(cat lines)"

long=$(awk 'BEGIN { for (i = 0; i < 99; i++) printf "cat " }')
refuses '101 tokens, the model takes 64 (--truncate' of embed_bert embed -p "$long"
refuses 'no prompt called "nobody"' of embed_bert embed -p x --prompt-name nobody
refuses 'have 32 numbers' of embed_bert embed -p x --dimensions 33
refuses 'text 1: the text is not UTF-8 at byte 1' of embed_bert embed -p "$(printf 'a\377')"
refuses 'gives no scores of pairs' of embed_bert rerank --query x -p y
refuses 'gives no vectors' of rerank_bert embed -p y
refuses 'gives no vectors' of rerank_qwen3 embed -p y
misused '--query is missing' of rerank_bert rerank -p y
refuses 'gives no scores of pairs' "$bin/etllm" rerank --kernel ../stories-llama.hsaco --model "$(checkpoint stories-llama)" --query x -p y
refuses 'writes no texts: it gives vectors' "$bin/etllm" generate --kernel "$bert" --model "$(checkpoint embed_bert)" -p x

# What the files say that is not done is refused by its name.
liar=embed_bert
lie '"do_lower_case" is not supported' sentence_bert_config.json 's/{/{"do_lower_case": true,/'
lie 'is the name of no prompt' config_sentence_transformers.json 's/"default_prompt_name": null/"default_prompt_name": "x"/'
lie '"weightedmean", which is not supported' 1_Pooling/config.json 's/"mean"/"weightedmean"/'
lie '"include_prompt" false' 1_Pooling/config.json 's/"include_prompt": true/"include_prompt": false/'
lie 'WordWeights' modules.json 's/normalize.Normalize/word_weights.WordWeights/'
lie 'modules.2.config.in_features' modules.json 's/normalize.Normalize/dense.Dense/'
