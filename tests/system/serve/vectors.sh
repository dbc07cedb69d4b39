#!/bin/sh
# Vectors and scores of texts over HTTP, beside chats: one kernel of a model that writes, one that gives vectors and one that
# gives scores. All is as it is alone; what is wrong with a request is told.
. "$(dirname "$0")/lib.sh"
bert=$bin/../checkpoints/embed_bert pairs=$bin/../checkpoints/rerank_roberta
"$bin/etimport" "$stories" -o llama.etg --logits asked --name stories_llama
"$bin/etimport" "$bert" -o bert.etg --name embed_bert --max-tokens 64 --slots 8
"$bin/etimport" "$pairs" -o pairs.etg --name rerank_roberta --max-tokens 64 --slots 8
"$bin/etcc" llama.etg bert.etg pairs.etg -o mix.hsaco
e=/v1/embeddings r=/v1/rerank

# What etllm makes of the texts, by kernels of their own.
alone() { # FOLDER FILE.etg COMMAND...
    _folder=$1 _kernel=$(kernel "$bin/etcc" "$work/$2" gfx942 static) _command=$3
    shift 3
    "$bin/etllm" "$_command" --kernel "$_kernel" --model "$_folder" "$@" 2> alone.log || die "$(cat alone.log)"
}
alone "$bert" bert.etg embed -p 'The cat sat on the mat.' -p 'x' > want.vectors
alone "$pairs" pairs.etg rerank --query 'the cat' -p 'The cat sat on the mat.' -p 'x' > want.scores
"$bin/etllm" generate --kernel "$(kernel "$bin/etcc" "$work/llama.etg" gfx942 static)" --model "$stories" -n 20 \
    -p 'Once upon a time' > want.text 2> alone.log

kernel=$work/mix.hsaco option=--models folders=$stories,$bert,$pairs
start --queue 12
numbers() { # FILE: numbers of its vectors, with six digits, or of its scores
    sed 's/"usage".*//; s/"created":[0-9]*//' "$1" | grep -oE '"(embedding|index|relevance_score)":|-?[0-9]+\.[0-9]+(e-?[0-9]+)?' |
        awk '/"/ { next } { printf "%.6f\n", $1 }'
}
same() { # WANT: the answer has the same numbers
    numbers "$1" > want.numbers
    numbers answer > got.numbers
    [ -s want.numbers ] || die "no numbers in $1"
    cmp -s want.numbers got.numbers || die "other numbers than in $1: $(cat answer)"
}
texts='"input":["The cat sat on the mat.","x"]' m='"model":"embed_bert"' s='"model":"rerank_roberta"'
documents='"query":"the cat","documents":["The cat sat on the mat.",{"text":"x"}]'
good $e "{$m,$texts}" '"object":"list"' '"object":"embedding","index":0' '"prompt_tokens":12,"total_tokens":12'
same want.vectors
good $r "{$s,$documents}" '"results":[{"index":' '"relevance_score":'
same want.scores
case $(cat answer) in *document*) die "documents that were not asked for: $(cat answer)" ;; esac
good $r "{$s,$documents,\"top_n\":1,\"return_documents\":true}" '"document":{"text":"'
[ "$(numbers answer | wc -l)" -eq 1 ] || die "more than one: $(cat answer)"

# The same vector, however it is asked for: as tokens, as bytes, and a part of it.
good $e "{$m,\"input\":\"x\"}" '"index":0'
cp answer want.x
ids=$("$bin/etllm" tokenize --model "$bert" -p x | tr ' ' ,)
good $e "{$m,\"input\":[$ids]}" && same want.x
good $e "{$m,\"input\":[[$ids]],\"encoding_format\":\"float\",\"user\":\"me\"}" && same want.x
good $e "{$m,\"input\":\"x\",\"encoding_format\":\"base64\"}"
sed 's/.*"embedding":"//; s/".*//' answer | base64 -d | od -An -v -tf4 -w4 | awk '{ printf "%.6f\n", $1 }' > got.numbers
numbers want.x | cmp - got.numbers || die "other bytes: $(cat answer)"
good $e "{$m,\"input\":\"x\",\"dimensions\":4}"
numbers answer | awk '{ n++; s += $1 * $1 } END { exit !(n == 4 && s > 0.9999 && s < 1.0001) }' || die "$(cat answer)"
good /api/embed "{$m,\"input\":[\"x\"],\"keep_alive\":\"5m\"}" '"embeddings":[[' '"prompt_eval_count":3' && same want.x
good /api/embeddings "{$m,\"prompt\":\"x\"}" '{"embedding":[' && same want.x
good $e "{$m,\"input\":\"x\",\"prompt_name\":\"query\"}" '"prompt_tokens":8'
long=$(awk 'BEGIN { for (i = 0; i < 99; i++) printf "cat " }')
good $e "{$m,\"input\":\"$long\",\"truncate_prompt_tokens\":-1}" '"prompt_tokens":64'
good $e "{$m,\"input\":\"$long\",\"truncate_prompt_tokens\":10}" '"prompt_tokens":10'
good $r "{$s,\"query\":\"x\",\"documents\":[\"$long\"],\"truncate\":\"END\"}" '"prompt_tokens":62'

# More texts than may wait, while others chat: all get theirs.
many=$(awk 'BEGIN { for (i = 0; i < 400; i++) printf "%s\"x\"", i ? "," : "" }')
pids=
for i in 1 2 3 4; do
    curl -sS -m 100 -o "chat.$i" "$address/v1/completions" -d \
        '{"model":"stories-llama","prompt":"Once upon a time","temperature":0,"max_tokens":20,"echo":true}' &
    pids="$pids $!"
done
good $e "{$m,\"input\":[$many]}" '"index":399' '"prompt_tokens":1200'
numbers answer > all.numbers
# shellcheck disable=SC2086
all_end $pids
for i in $(seq 400); do numbers want.x; done | cmp - all.numbers || die 'a vector among many is another'
for i in 1 2 3 4; do
    sed 's/.*"text":"//; s/","logprobs".*//; s/\\"/"/g; s/\\n/\n/g' "chat.$i" > text
    [ "$(cat text)" = "$(cat want.text)" ] || die "another text: $(cat "chat.$i")"
done
[ "$(metric 'etllm_launch_failures_total{model_name="embed_bert"')" = 0 ] || die 'launches failed'

# What is wrong is told.
bad 400 $e '{"input":"x"}' "'model' must be one of"
bad 400 $e "{$m}" "'input' is missing" '"param":"input"'
bad 400 $e "{$m,\"input\":[]}" 'from 1 to 2048 texts'
bad 400 $e "{$m,\"input\":[[]]}" 'text 0 is empty'
bad 400 $e "{$m,\"input\":{}}" "'input' must be a string, an array"
bad 400 $e "{$m,\"input\":[\"x\",3]}" "'input' must be a string, an array"
bad 400 $e "{$m,\"input\":[3,\"x\"]}" "tokens are integers from 0 to 191"
bad 400 $e "{$m,\"input\":[192]}" "tokens are integers from 0 to 191"
bad 400 $e "{$m,\"input\":[-1]}" "tokens are integers from 0 to 191"
bad 400 $e "{$m,\"input\":\"$long\"}" 'text 0 has 101 tokens, the model takes 64' 'context_length_exceeded'
bad 400 $e "{$m,\"input\":\"x\",\"dimensions\":33}" "'dimensions' must be an integer from 1 to 32"
bad 400 $e "{$m,\"input\":\"x\",\"encoding_format\":\"int8\"}" "'encoding_format' must be"
bad 400 $e "{$m,\"input\":\"x\",\"prompt_name\":\"nobody\"}" 'no prompt called'
bad 400 $e "{$m,\"input\":\"x\",\"truncate_prompt_tokens\":65}" 'must be -1, or from 1 to 64'
bad 400 $e "{$m,\"input\":\"x\",\"colour\":1}" "'colour' is not known"
bad 400 $e "[1]" 'must be one of'
bad 400 $e '{"model":"embed_bert"' 'not JSON'
bad 400 $r "{$s,\"documents\":[\"x\"]}" "'query' is missing"
bad 400 $r "{$s,\"query\":\"x\"}" "'documents' is missing"
bad 400 $r "{$s,\"query\":\"x\",\"documents\":[]}" 'from 1 to 2048 texts'
bad 400 $r "{$s,\"query\":\"x\",\"documents\":[{\"title\":\"x\"}]}" "objects with a 'text'"
bad 400 $r "{$s,$documents,\"top_n\":0}" "'top_n'"
bad 400 $r "{$s,\"query\":\"x\",\"documents\":[\"$long\"]}" 'the model takes 62'
bad 501 $r "{$m,$documents}" "the model 'embed_bert' gives no scores"
bad 501 $e "{$s,$texts}" "the model 'rerank_roberta' gives no vectors"
bad 501 $e "{\"model\":\"stories-llama\",$texts}" "the model 'stories-llama' gives no vectors"
bad 400 /v1/completions "{$m,\"prompt\":\"x\"}" "the model 'embed_bert' writes no texts"
bad 400 /v1/chat/completions "{$m,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}" 'writes no texts'
bad 405 $e '' ''
good $e "{$m,\"input\":\"x\"}" && same want.x
stop
[ "$status" = 0 ] || die "status $status"
