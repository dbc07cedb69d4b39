#!/bin/sh
# Tokens that are guessed and checked: the text is the one without, in fewer launches; greedy and drawn, in slots and in
# pages of which there are few, alone and beside others, under a grammar.
. "$(dirname "$0")/lib.sh"
"$bin/etimport" "$stories" -o pages.etg --paged 8 --pages 40
paged=$(kernel "$bin/etcc" "$work/pages.etg" gfx942 static)
again='A fox and a turtle. A fox and a turtle. A fox and a turtle. A fox'

texts() { # FILE [options]
    _file=$1
    shift
    "$bin/etllm" generate --model "$stories" -p "$again" -p 'Once upon a time' -p 'The' -n 60 "$@" > "$_file" 2> generate.log
}
for t in 0 1.3; do
    texts "want.$t" --kernel "$kernel" --temperature $t
    for n in 1 3 16; do
        texts got --kernel "$kernel" --temperature $t --speculate $n
        cmp "want.$t" got || die "another text with $n guesses at temperature $t"
    done
    texts got --kernel "$paged" --temperature $t --speculate 5
    cmp "want.$t" got || die "another text from pages at temperature $t"
done

# The server: the same answers, and it comes to guesses that are right.
m='"model":"stories-llama","temperature":0'
schema='{"type":"object","properties":{"a":{"const":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}},"required":["a"]}'
json="{$m,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"max_tokens\":60,\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"s\",\"schema\":$schema}}}"
asked() { # FILE: what the server answers
    ask /v1/completions "{$m,\"prompt\":\"$again\",\"max_tokens\":120,\"ignore_eos\":true,\"logprobs\":1}"
    sed 's/.*"choices"/"choices"/; s/"usage".*//' answer > "$1"
    ask /v1/chat/completions "$json"
    sed 's/.*"choices"/"choices"/; s/"usage".*//' answer >> "$1"
    has aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
}
start
asked want
launches=$(metric etllm_launches_total)
stop
for k in "$kernel" "$paged"; do
    kernel=$k
    start --speculate 8
    asked got
    cmp want got || die 'another answer with guesses'
    guessed=$(metric vllm:spec_decode_num_draft_tokens_total) right=$(metric vllm:spec_decode_num_accepted_tokens_total)
    echo "of $guessed guesses $right were right; $(metric etllm_launches_total) launches, without guesses $launches"
    [ "$right" -gt 0 ] && [ "$guessed" -gt "$right" ] || die 'no guesses, or no wrong ones'
    [ "$(metric etllm_launches_total)" -lt "$launches" ] || die 'as many launches as without guesses'
    "$bin/serve_client" together "$address" 16 48 || die 'answers differ'
    eventually vllm:num_requests_running 0
    stop
    [ $status -eq 0 ] || die "exit status $status"
done
