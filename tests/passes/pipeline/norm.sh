#!/bin/sh
# norm.sh ETCC MODEL.etg WORK: for one token and for many the router of a mixture computes the norm of its rows itself, in f32. Experts
# gather it from a tensor, which has the type of their products then, and which the router does not wait for. For eight it reads it.
set -eu
etcc=$1 model=$2 work=$3
fail() { echo "norm.sh: $*, $tokens tokens" >&2; exit 1; }
task() { sed -n "/^ *task @$1 = /,/^ *notify/p" "$work/text"; }
mkdir -p "$work"
for tokens in 1 8 512; do
    sed "s/^dim N in [0-9]*\.\.[0-9]*/dim N in $tokens..$tokens/" "$model" > "$work/model.etg"
    "$etcc" "$work/model.etg" --variants=1 --to scheduled -o "$work/text"
    task mlp.gate | grep -q task || fail 'no router'
    own=yes
    if task mlp.gate | grep -q 'wait %h2'; then own=no; fi
    [ $own = "$([ $tokens = 8 ] && echo no || echo yes)" ] || fail "has the router its own norm? $own"
    [ $own = no ] || grep -q '^temp %h2 : bf16\[' "$work/text" || fail 'the norm is not kept as experts read it'
done
