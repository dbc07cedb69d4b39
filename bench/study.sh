#!/bin/sh
# sh bench/study.sh BIN: the tables of study.md, predicted on the machine model of the MI300X. BIN is
# the build's folder of programs. A minute or two.
set -eu
bin=$1
here=$(dirname "$0")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
free="--set pop_us=0 --set pop_gap_us=0 --set atomic_us=0"
table() { # title, command
    echo "### $1"
    echo
    shift
    "$@"
    echo
}

for model in llama-3.2-1b qwen3-32b; do
    "$bin/etimport" "$here/$model" --config-only --max-tokens 128 -o "$tmp/$model.etg"
done
dense() { "$bin/etstudy" "$tmp/qwen3-32b.etg" N=1,16,32,128 "$@"; }
layer() { "$bin/etstudy" "$here/qwen3-30b-a3b/layer.etg" N=1,128,1024,4096 "$@"; }
events() { "$bin/etstudy" --experts "$@"; }

table "Dense decoder, dimensions of Qwen3-32B" dense
table "Dense decoder, arrivals at one counter do not queue up" dense --set arrival_us=0
table "Dense decoder, weights stay in the caches" dense --set cache_mb=1024
if test -f "$here/qwen3-30b-a3b/layer.etg"; then
    table "Experts, dimensions of Qwen3-30B-A3B, compiled from layer.etg" layer
    # shellcheck disable=SC2086
    table "Experts from layer.etg, atomics and pops are free" layer $free
fi
table "Experts, written at the level of events" events
# shellcheck disable=SC2086
table "Experts at the level of events, atomics and pops are free" events $free
table "Experts at the level of events, CUs up to 10 % slower" events --spread 0.1
table "Experts at the level of events, routing that is not skewed" events --skew 0
table "Llama-3.2-1B" "$bin/etstudy" "$tmp/llama-3.2-1b.etg" N=1,16,32,128
table "Against published times" "$bin/etstudy" --probe
