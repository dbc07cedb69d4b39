#!/bin/sh
# norm.sh ETCC MODEL.etg: the router of a mixture computes the norm of its rows itself, in f32. Experts gather it from a tensor, which has
# the type of their products then, and which the router does not wait for.
set -eu
etcc=$1 model=$2
fail() { echo "norm.sh: $*" >&2; exit 1; }
text=$("$etcc" "$model" --variants=1 --to scheduled -o -)
task() { printf '%s\n' "$text" | sed -n "/^ *task @$1 = /,/^ *notify/p"; }
printf '%s\n' "$text" | grep -q '^temp %h2 : bf16\[' || fail 'the norm is not kept as experts read it'
task mlp.gate | grep -q 'task' || fail 'no router'
! task mlp.gate | grep -q 'wait %h2' || fail 'the router waits for the norm'
task experts.gate_up | grep -q 'wait %h2' || fail 'nothing reads the norm'
