#!/bin/sh
# As vectors.sh, of what people embed and rerank with now, all in one kernel: decoders whose tokens see all of a text or whose vectors are
# means, layers behind pooling, buckets of distances, rotary encoders, windows; a decoder whose answer is the score.
. "$(dirname "$0")/lib.sh"
embedders='embed_modernbert embed_mpnet embed_nomic embed_gte embed_gemma3 embed_qwen2 embed_qwen3 embed_llama'
rerankers='rerank_bert rerank_gte rerank_modernbert rerank_qwen3'
e=/v1/embeddings r=/v1/rerank texts= folders=
for m in $embedders $rerankers; do
    "$bin/etimport" "$bin/../checkpoints/$m" -o $m.etg --name $m --max-tokens 64 --slots 8
    texts="$texts $m.etg" folders=$folders,$bin/../checkpoints/$m
done
# shellcheck disable=SC2086
"$bin/etcc" $texts --variants=1 -o mix.hsaco

alone() { # MODEL COMMAND...: what etllm makes of the texts, by a kernel of its own
    _model=$1 _kernel=$(kernel "$bin/etcc" "$work/$1.etg" gfx942 static --variants=1)
    shift
    "$bin/etllm" "$@" -p 'The cat sat on the mat.' -p 'x' --kernel "$_kernel" --model "$bin/../checkpoints/$_model" 2> alone.log ||
        die "$_model: $(cat alone.log)"
}
kernel=$work/mix.hsaco option=--models folders=${folders#,}
start --queue 12
numbers() { # FILE: numbers of its vectors, with six digits, or of its scores
    sed 's/"usage".*//; s/"created":[0-9]*//' "$1" | grep -oE '"(embedding|index|relevance_score)":|-?[0-9]+\.[0-9]+(e-?[0-9]+)?' |
        awk '/"/ { next } { printf "%.6f\n", $1 }'
}
same() { # MODEL, whose numbers are in `want`
    numbers want > want.numbers
    numbers answer > got.numbers
    [ -s want.numbers ] || die "$1: no numbers: $(cat want)"
    cmp -s want.numbers got.numbers || die "$1: other numbers: $(cat answer)"
}
for m in $embedders; do
    alone $m embed > want
    good $e "{\"model\":\"$m\",\"input\":[\"The cat sat on the mat.\",\"x\"]}" '"object":"embedding","index":1'
    same $m
    bad 501 $r "{\"model\":\"$m\",\"query\":\"x\",\"documents\":[\"x\"]}" 'gives no scores'
done
for m in $rerankers; do
    alone $m rerank --query 'the cat' > want
    good $r "{\"model\":\"$m\",\"query\":\"the cat\",\"documents\":[\"The cat sat on the mat.\",\"x\"]}" '"relevance_score":'
    same $m
    bad 501 $e "{\"model\":\"$m\",\"input\":\"x\"}" 'gives no vectors'
done
# All of them at once, twice: the same.
pids=
for m in $embedders $embedders; do
    curl -sS -m 100 -o "$m.answer" "$address$e" -d "{\"model\":\"$m\",\"input\":[\"The cat sat on the mat.\",\"x\"]}" &
    pids="$pids $!"
done
# shellcheck disable=SC2086
all_end $pids
for m in $embedders; do
    alone $m embed > want
    cp $m.answer answer
    same $m
done
stop
[ "$status" = 0 ] || die "status $status"
