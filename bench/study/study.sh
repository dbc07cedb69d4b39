#!/bin/sh
# sh bench/study/study.sh BIN: the tables of study.md, predicted on the machine model of the MI300X. BIN is
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

"$bin/etimport" "$here/../models/qwen3-32b" --config-only --max-tokens 128 -o "$tmp/qwen3-32b.etg"
dense() { "$bin/etstudy" "$tmp/qwen3-32b.etg" N=1,16,32,128 "$@"; }
layer() { "$bin/etstudy" "$here/../models/qwen3-30b-a3b/layer.etg" N=1,128,1024,4096 "$@"; }
events() { "$bin/etstudy" --experts "$@"; }

table "Dense: Qwen3-32B" dense
table "Dense, arrivals at one counter do not queue up" dense --set arrival_us=0
table "Experts: a layer of Qwen3-30B-A3B" layer
table "Experts, arrivals at one counter do not queue up" layer --set arrival_us=0
# shellcheck disable=SC2086
table "Experts, neither that nor atomics and pops take time" layer --set arrival_us=0 $free
table "Experts, CUs up to 10 % slower" layer --spread 0.1
table "Experts at the level of events" events
# shellcheck disable=SC2086
table "Experts at the level of events, atomics and pops take no time" events $free
table "Against published times" "$bin/etstudy" --probe
