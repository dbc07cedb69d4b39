#!/bin/sh
# The server's memory is the same after many requests as after some: $4 of them, then four times as many. Answers whole
# and streamed, of grammars and tools, requests that are refused, clients that leave.
. "$(dirname "$0")/lib.sh"
first=$4
m='"model":"stories-llama","temperature":0'
schema='{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string","maxLength":4}},"required":["a","b"]}'
start --queue 4096
mixed() { # some of everything
    for _ in $(seq "$1"); do
        good /v1/chat/completions "{$m,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"max_tokens\":20,\"response_format\":{\"type\":\"json_schema\",\"json_schema\":{\"name\":\"s\",\"schema\":$schema}}}" \
            '"finish_reason"'
        good /v1/messages "{$m,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"max_tokens\":2,\"stream\":true}" message_stop
        good /v1/responses "{$m,\"input\":\"x\",\"max_output_tokens\":2,\"stream\":true}" response.incomplete
        bad 400 /v1/completions "{$m,\"prompt\":\"x\",\"colour\":1}" 'not known'
        bad 400 /v1/completions '{' 'not JSON'
        good /metrics '' vllm:num_requests_running
        curl -sS -m 0.02 -o gone -d "{$m,\"prompt\":\"x\",\"max_tokens\":300,\"stream\":true}" "$address/v1/completions" \
            2> curl.log || true
    done
}
mixed 5
"$bin/serve_client" together "$address" 8 "$first"
eventually vllm:num_requests_running 0
before=$(resident) open=$(find /proc/$server/fd -type l | wc -l)
mixed 20
"$bin/serve_client" together "$address" 8 $((first * 4))
eventually vllm:num_requests_running 0
after=$(resident)
echo "memory: $before KB after $first requests, $after KB after $((first * 5))"
# Threads have heaps of their own, whose sizes hang on which of them did what.
[ "$after" -le $((before + 3072)) ] || die 'memory grows'
for _ in $(seq 100); do
    [ "$(find /proc/$server/fd -type l | wc -l)" -gt "$open" ] || break
    sleep 0.1
done
[ "$(find /proc/$server/fd -type l | wc -l)" -le "$open" ] || die 'descriptors are left'
stop
[ $status -eq 0 ] || die "exit status $status"
