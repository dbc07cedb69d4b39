#!/bin/sh
# sh bench/study.sh BIN: the tables of study.md, predicted on the machine model of the MI300X. BIN is
# the build's folder of programs. Half a minute.
set -eu
bin=$1
here=$(dirname "$0")
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

for model in llama-3.2-1b qwen3-8b qwen3-32b; do
    "$bin/etimport" "$here/$model" --config-only --max-tokens 128 -o "$tmp/$model.etg"
done

echo "### Dense decoder, dimensions of Qwen3-32B"
echo
"$bin/etstudy" "$tmp/qwen3-32b.etg" N=1,16,32,128
echo
echo "### The same, CUs up to 10 % slower"
echo
"$bin/etstudy" "$tmp/qwen3-32b.etg" N=1,16,32,128 --spread 0.1
echo
echo "### Smaller dense decoders: Llama-3.2-1B, Qwen3-8B"
echo
"$bin/etstudy" "$tmp/llama-3.2-1b.etg" N=1,16,32,128
echo
"$bin/etstudy" "$tmp/qwen3-8b.etg" N=1,16,32,128
for layer in "$here"/qwen3-30b-a3b/layer.etg; do
    test -f "$layer" || continue
    echo
    echo "### Layer of experts, dimensions of Qwen3-30B-A3B, compiled from layer.etg"
    echo
    "$bin/etstudy" "$layer" N=1,128,1024,4096
done
echo
echo "### The same layer written at the level of events"
echo
"$bin/etstudy" --experts
echo
echo "### With routing that is not skewed"
echo
"$bin/etstudy" --experts --skew 0
echo
echo "### CUs up to 10 % slower"
echo
"$bin/etstudy" --experts --spread 0.1
echo
echo "### Against published times"
echo
"$bin/etstudy" --probe
