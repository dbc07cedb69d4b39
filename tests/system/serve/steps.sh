#!/bin/sh
# Kernels that go on by themselves with what they chose, for several steps: the texts are those of one step a launch, in fewer
# launches; with texts that end within a launch, in slots and in pages of which there are few, beside others, and where what is
# asked for takes a step at a time. With `more` behind the usual arguments of scripts here: other schedules and a server.
. "$(dirname "$0")/lib.sh"
texts() { # FILE [options]
    _file=$1
    shift
    "$bin/etllm" generate --model "$stories" -p 'A fox and a turtle' -p 'Once upon a time' -p 'The' -n 40 "$@" > "$_file" 2> generate.log
}
steps() { # FILE SCHEDULE [options of etimport]
    _file=$1 _schedule=$2
    shift 2
    "$bin/etimport" "$stories" -o "$_file.etg" --logits asked --sample greedy --steps 6 "$@"
    kernel "$bin/etcc" "$work/$_file.etg" gfx942 "$_schedule"
}
one=$kernel
slots=$(steps slots static)
texts want --kernel "$one"
texts got --kernel "$slots"
cmp want got || die 'another text'
texts got --kernel "$slots" --steps 4
cmp want got || die 'another text with four steps a launch'
texts want.1 --kernel "$one" --temperature 1.2
texts got --kernel "$slots" --temperature 1.2
cmp want.1 got || die 'another text at a temperature'
refuses 1 'needs --logits asked and --sample greedy' "$bin/etimport" "$stories" -o x.etg --steps 4 --sample greedy
refuses 2 'steps' "$bin/etimport" "$stories" -o x.etg --steps 0
[ "${4:-}" = more ] || exit 0

few=$(steps few static --paged 8 --pages 14)
"$bin/etimport" "$stories" -o few_one.etg --paged 8 --pages 14
texts want --kernel "$(kernel "$bin/etcc" "$work/few_one.etg" gfx942 static)"
for k in "$few" "$(steps dynamic dynamic)" "$(steps hybrid hybrid)"; do
    texts got --kernel "$k"
    cmp want got || die "another text from $k"
    texts got --kernel "$k" --speculate 3
    cmp want got || die "another text from $k with guesses"
done

# The server: answers of all kinds, and the launches that they take.
m='"model":"stories-llama","prompt":"Once upon a time","max_tokens":21,"ignore_eos":true'
answers() { # FILE
    : > "$1"
    for how in '"temperature":0' '"temperature":0,"logprobs":1' '"temperature":0,"frequency_penalty":1' '"temperature":1,"seed":4' \
        '"temperature":0,"stop":"gentle"' '"temperature":0,"logit_bias":{"14":3}' '"temperature":0,"min_tokens":9,"n":2'; do
        ask /v1/completions "{$m,$how}"
        [ "$code" = 200 ] || die "status $code: $(cat answer)"
        sed 's/.*"choices"/"choices"/; s/"usage".*//' answer >> "$1"
    done
}
launches() { # how many a plain text takes
    _before=$(metric etllm_launches_total)
    ask /v1/completions "{$m,\"temperature\":0}"
    echo $(($(metric etllm_launches_total) - _before))
}
kernel=$one
start
answers want
[ "$(launches)" = 21 ] || die 'not a launch for each token'
stop
for kernel in "$slots" "$few"; do
    start
    answers got
    cmp want got || die "another answer from $kernel"
    [ "$(launches)" -le 5 ] || die "too many launches for 21 tokens: $(launches)"
    "$bin/serve_client" together "$address" 8 24 || die 'answers differ'
    eventually vllm:num_requests_running 0
    stop
    [ "$status" -eq 0 ] || die "exit status $status"
done
