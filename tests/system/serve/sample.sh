#!/bin/sh
# Kernels that choose the next tokens: the answers are those of a kernel that gives logits alone, and what is read of a
# launch is a few bytes for each token.
. "$(dirname "$0")/lib.sh"

# The same answers from all three kernels.
m='"model":"stories-llama"'
schema='{"type":"object","properties":{"name":{"enum":["fox","frog"]},"n":{"type":"integer"}},"required":["name","n"]}'
answers() { # FILE
    : > "$1"
    for how in '"temperature":0' '"temperature":0,"logprobs":2' '"temperature":1,"seed":5' \
        '"temperature":1.5,"top_k":9,"seed":6,"n":2' '"temperature":1.2,"top_p":0.8,"min_p":0.02,"seed":7' \
        '"temperature":0.9,"seed":8,"frequency_penalty":1,"presence_penalty":0.5,"repetition_penalty":1.2' \
        '"temperature":0,"logit_bias":{"14":4,"3":-100},"min_tokens":8' '"temperature":1.1,"top_k":1,"logprobs":1'; do
        ask /v1/completions "{$m,\"prompt\":\"Once upon a time\",\"max_tokens\":12,$how}"
        [ "$code" = 200 ] || die "status $code: $(cat answer)"
        sed 's/.*"choices"/"choices"/; s/"usage".*//' answer >> "$1"
    done
    for t in 0 1; do
        ask /v1/chat/completions "{$m,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"temperature\":$t,\"seed\":1,\"max_tokens\":40,\
\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"s\",\"schema\":$schema}}}"
        [ "$code" = 200 ] || die "status $code: $(cat answer)"
        sed 's/.*"choices"/"choices"/; s/"usage".*//' answer >> "$1"
    done
}
bytes() { # MAX_TOKENS HOW: bytes that are read for each token of a text
    _before=$(metric etllm_read_bytes_total)
    ask /v1/completions "{$m,\"prompt\":\"The\",\"max_tokens\":$1,\"ignore_eos\":true,$2}"
    echo $((($(metric etllm_read_bytes_total) - _before) / $1))
}
start
answers want
[ "$(bytes 8 '"temperature":0')" = 4096 ] || die 'a row of logits for each token'
stop
for s in all greedy; do
    "$bin/etimport" "$stories" -o $s.etg --sample $s
    kernel=$(kernel "$bin/etcc" "$work/$s.etg" gfx942 static)
    start
    answers got
    cmp want got || die "other answers where the kernel chooses ($s)"
    [ "$(bytes 8 '"temperature":0')" = 4 ] || die "more than a token is read ($s)"
    case $s in
    all) [ "$(bytes 8 '"temperature":1,"frequency_penalty":1')" = 4 ] || die 'more than a token is read' ;;
    greedy) [ "$(bytes 8 '"temperature":1')" = 4096 ] || die 'a row of logits for each token' ;;
    esac
    stop
done

# Others beside it, guesses, and pages change nothing.
"$bin/etimport" "$stories" -o pages.etg --sample all --paged 8 --pages 60
kernel=$(kernel "$bin/etcc" "$work/pages.etg" gfx942 static)
start --speculate 4
answers got
cmp want got || die 'other answers in pages with guesses'
"$bin/serve_client" together "$address" 8 24 || die 'answers differ'
stop
[ "$status" -eq 0 ] || die "exit status $status"
