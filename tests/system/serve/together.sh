#!/bin/sh
# $4 clients at once make $5 requests, streamed and not, sampled and not: every answer is the one that the
# request gets alone, and nothing is lost.
. "$(dirname "$0")/lib.sh"
start --queue 4096
"$bin/serve_client" together "$address" "$4" "$5" || die 'answers differ'
eventually vllm:num_requests_running 0
eventually vllm:num_requests_waiting 0
[ "$(metric etllm_launch_failures_total)" = 0 ] || die 'launches failed'
stop
[ $status -eq 0 ] || die "exit status $status"
