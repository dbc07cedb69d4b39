#!/bin/sh
# $4 launches are ended while they run, since whoever wanted them has gone, or since they take too long.
. "$(dirname "$0")/lib.sh"
"$bin/test_aborts" "$kernel" "$stories" auto "$4"
m='"model":"stories-llama","temperature":0'
start --launch-timeout 0.0001
bad 500 /v1/completions "{$m,\"prompt\":\"Once\",\"max_tokens\":4}" 'the launch took more than 0.0001 seconds'
good /health '' ok
[ "$(metric etllm_launch_failures_total)" = 1 ] || die 'one launch failed'
stop
[ $status -eq 0 ] || die "exit status $status"
