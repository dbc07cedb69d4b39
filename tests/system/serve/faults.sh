#!/bin/sh
# What goes wrong stays with whom it went wrong for.
. "$(dirname "$0")/lib.sh"
m='"model":"stories-llama","temperature":0'
right() { # the server answers as ever
    good /v1/completions "{$m,\"prompt\":\"Once upon a time\",\"max_tokens\":4}" '"text":", there was a"'
}

# A client that leaves, streaming or not, gives its slot back.
start --timeout 1 --ping 1
for stream in true false; do
    gone=$(metric 'vllm:request_success_total{finished_reason="abort"')
    curl -sS -m 0.7 -o gone -d "{$m,\"prompt\":\"Once\",\"max_tokens\":500,\"ignore_eos\":true,\"stream\":$stream}" \
        "$address/v1/completions" 2> curl.log && die 'the answer came at once'
    eventually 'vllm:request_success_total{finished_reason="abort"' $((gone + 1))
    eventually 'vllm:num_requests_running' 0
done
right

# Who says nothing, or half of it, is let go; so is who sends a byte now and then.
"$bin/serve_client" slow "$address" || die 'slow clients'
"$bin/serve_client" garbage "$address" || die 'garbage'
"$bin/serve_client" half "$address" || die 'a client that says no more'
right
stop
[ $status -eq 0 ] || die "exit status $status"

# No room: 429 and when to come again.
start --queue 1
"$bin/serve_client" full "$address" 17 || die 'a full queue'
right
stop

# A launch that fails fails its requests and no others; the device is opened again where it was lost.
for launch in 6 -6; do
    start --abort-launch $launch
    curl -sS -o first -w '%{http_code}' "$address/v1/completions" \
        -d "{$m,\"prompt\":\"Once\",\"max_tokens\":40,\"ignore_eos\":true}" > code
    [ "$(cat code)" = 500 ] && grep -q 'told to fail' first || die "a failed launch: $(cat code first)"
    right
    good /health '' ok
    [ "$(metric etllm_launch_failures_total)" = 1 ] || die 'one launch failed'
    stop
    [ $status -eq 0 ] || die "exit status $status"
done
start --abort-launch 6
ask /v1/completions "{$m,\"prompt\":\"Once\",\"max_tokens\":40,\"ignore_eos\":true,\"stream\":true}"
has '"error":{"message":"launch 6' 'data: [DONE]'
right
stop

# A log that cannot be written costs lines and not answers.
start --access-log /dev/full
right
[ "$(metric etllm_log_lines_lost_total)" -ge 1 ] || die 'no line was lost'
stop
start --access-log access.log
logged() { # COUNT: so many answers are in the log, soon: a line is written once its answer has left
    for _ in $(seq 50); do
        [ "$(grep -c 'POST /v1/completions" 200 .* generated=4' access.log)" != "$1" ] || return 0
        sleep 0.1
    done
    die "not $1 answers in the log: $(cat access.log)"
}
right
right
logged 2
mv access.log old.log
kill -HUP $server
sleep 0.3
right
logged 1
stop
