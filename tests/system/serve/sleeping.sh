#!/bin/sh
# The device's memory is given back and taken again, on request and after a while without one; texts are the same.
. "$(dirname "$0")/lib.sh"
m='"model":"stories-llama","temperature":0'
text() { # NAME: a text of 24 tokens
    good /v1/completions "{$m,\"prompt\":\"Once upon a time\",\"max_tokens\":24,\"ignore_eos\":true}"
    sed -n 's/.*"text":"\([^"]*\)".*/\1/p' answer > "$1"
    [ -s "$1" ] || die "no text: $(cat answer)"
}
is() { # WHETHER it sleeps
    ask /is_sleeping
    [ "$code" = 200 ] || die "/is_sleeping: $code"
    has "\"is_sleeping\":$1"
}

# Others read the one that is shared.
cp "$kernel" own.hsaco
kernel=$PWD/own.hsaco
start
text before
is false

# Its memory is given back, and it says that it is well.
before=$(resident)
ask /sleep '' -X POST
[ "$code" = 200 ] || die "/sleep: $code $(cat answer)"
has '"is_sleeping":true'
is true
good /health ''
[ "$(metric etllm_asleep)" = 1 ] || die 'the metric says that it is awake'
after=$(resident)
[ "$after" -lt "$before" ] || die "the process has $after KiB, awake it had $before"
ask /sleep '' -X POST # twice is fine
[ "$code" = 200 ] || die "/sleep again: $code"

# The next request wakes it; nothing of the prompt is there any more.
text after
cmp before after || die 'another text after it slept'
has '"cached_tokens":0'
is false
[ "$(metric etllm_sleeps_total)" = 1 ] || die "it slept $(metric etllm_sleeps_total) times"

# It is woken without a request, also when it is awake.
ask /sleep '' -X POST
ask /wake '' -X POST
[ "$code" = 200 ] || die "/wake: $code $(cat answer)"
has '"is_sleeping":false'
ask /wake_up '' -X POST
[ "$code" = 200 ] || die "/wake_up: $code"
text after
cmp before after || die 'another text after it was woken'

# Not while a request runs.
curl -sS -m 60 -o running -N "$address/v1/completions" \
    -d "{$m,\"prompt\":\"Once\",\"max_tokens\":200,\"ignore_eos\":true,\"stream\":true}" &
client=$!
eventually vllm:num_requests_running 1
ask /sleep '' -X POST
[ "$code" = 409 ] || die "/sleep beside a request: $code $(cat answer)"
has '"code":"busy"'
wait $client
grep -q 'data: \[DONE\]' running || die 'the request was cut'

# A kernel that is gone: requests fail by name, and when it is there again they do not.
ask /sleep '' -X POST
mv "$kernel" "$kernel.away"
ask /wake '' -X POST
[ "$code" = 503 ] || die "/wake without a kernel: $code $(cat answer)"
ask /v1/completions "{$m,\"prompt\":\"Once\",\"max_tokens\":2}"
lost=$code
mv "$kernel.away" "$kernel"
[ "$lost" = 500 ] || die "a request without a kernel: $lost"
text after
cmp before after || die 'another text after its kernel was gone'

# Many who send it to sleep beside many who ask: every answer comes.
for i in 1 2 3 4; do
    (
        for _ in 1 2 3 4 5; do
            curl -sS -m 60 -o "many.$i" "$address/v1/completions" -d "{$m,\"prompt\":\"The $i\",\"max_tokens\":3}"
            grep -q '"finish_reason":"length"' "many.$i" || cp "many.$i" "many.bad"
            curl -sS -m 60 -o "sleep.$i" -X POST "$address/sleep"
        done
    ) &
    clients="${clients:-} $!"
done
# shellcheck disable=SC2086
wait $clients
[ ! -e many.bad ] || die "beside sleep: $(cat many.bad)"
stop
[ $status -eq 0 ] || die "exit status $status"

# By itself, and it ends as well asleep.
start --idle 0.3s
text after
cmp before after || die 'another text'
eventually etllm_asleep 1
text after
cmp before after || die 'another text after it fell asleep'
eventually etllm_asleep 1
stop
[ $status -eq 0 ] || die "asleep: exit status $status"
! "$bin/etllm" serve --kernel "$kernel" --model "$stories" --idle 10d 2> wrong || die '--idle 10d is no time'
grep -q -- '--idle 10d: write' wrong || die "--idle: $(cat wrong)"
