#!/bin/sh
# From the first moment to the last: loading, a socket, an end that finishes what runs.
. "$(dirname "$0")/lib.sh"
m='"model":"stories-llama","temperature":0'

# It says that it is loading before it is ready.
launch
ask /health
case $code in
503) has '"code":"loading"' ;;
200) ;; # it was that quick
*) die "while loading: $code" ;;
esac
for _ in $(seq 200); do
    ask /health
    [ "$code" != 200 ] || break
    sleep 0.05
done
[ "$code" = 200 ] || die "never ready: $code"

# SIGTERM: what runs is finished, what comes is refused, then the end.
curl -sS -m 60 -o running -w '%{http_code}' "$address/v1/completions" \
    -d "{$m,\"prompt\":\"Once\",\"max_tokens\":100,\"ignore_eos\":true,\"stream\":true}" > running.code &
client=$!
eventually vllm:num_requests_running 1
kill -TERM $server
sleep 0.2
bad 503 /v1/completions "{$m,\"prompt\":\"Once\"}" 'draining'
bad 503 /health '' 'draining'
wait $client
[ "$(cat running.code)" = 200 ] || die "the running one: $(cat running.code)"
grep -q 'data: \[DONE\]' running && grep -q '"finish_reason":"length"' running || die 'it was not finished'
status=0
wait $server || status=$?
server=
[ $status -eq 0 ] || die "exit status $status"

# The same under load: every client has all of its answer, or was told to come again.
start
for i in $(seq 24); do
    (
        curl -sS -m 100 -o "load.$i" -w '%{http_code}' "$address/v1/completions" \
            -d "{$m,\"prompt\":\"The\",\"max_tokens\":12,\"ignore_eos\":true,\"stream\":true}" > "load.$i.code" 2> "load.$i.log" || echo gone >> "load.$i.code"
    ) &
    clients="${clients:-} $!"
done
for _ in $(seq 100); do
    [ "$(metric vllm:num_requests_running)" = 0 ] || break
    sleep 0.05
done
stop
[ $status -eq 0 ] || die "under load: exit status $status"
# shellcheck disable=SC2086
wait $clients
for i in $(seq 24); do
    case $(cat "load.$i.code") in
    200) grep -q '"finish_reason":"length"' "load.$i" && grep -q 'data: \[DONE\]' "load.$i" || die "cut: $(cat "load.$i")" ;;
    503 | 000gone) ;; # it came while the server drained, or when it was no more
    *) die "under load: $(cat "load.$i.code" "load.$i")" ;;
    esac
done
grep -q '^200' load.*.code || die 'no client was served'

# SIGINT twice ends it at once.
start
curl -sS -m 60 -o running "$address/v1/completions" -d "{$m,\"prompt\":\"Once\",\"max_tokens\":400,\"ignore_eos\":true}" \
    2> curl.log &
client=$!
eventually vllm:num_requests_running 1
kill -INT $server
sleep 0.2
stop INT
[ $status -eq 130 ] || die "interrupted twice: exit status $status"
wait $client || true

# Not all is finished in time: it ends nevertheless, and says so.
start --drain-timeout 1
curl -sS -m 60 -o running "$address/v1/completions" -d "{$m,\"prompt\":\"Once\",\"max_tokens\":400,\"ignore_eos\":true}" \
    2> curl.log &
client=$!
eventually vllm:num_requests_running 1
stop
[ $status -eq 1 ] && grep -q 'not all was finished' server.log || die "exit status $status"
wait $client || true

# A UNIX socket: an old one is replaced, another server's is not, nothing is left behind.
start --unix socket
code=$(curl -sS --unix-socket socket -o answer -w '%{http_code}' http://localhost/health)
[ "$code" = 200 ] || die "by socket: $code"
if "$bin/etllm" serve --kernel "$kernel" --model "$stories" --unix socket 2> second.log; then die 'two servers'; fi
grep -q 'is there already' second.log || die "$(cat second.log)"
kill -KILL $server
wait $server || true
start --unix socket
stop
[ ! -e socket ] || die 'the socket is left'
