#!/bin/sh
# logits.sh BIN TOOLS SRC WORK: what etimport reads of a quantised checkpoint is what its codes mean: the logits are those
# of the checkpoint that has their values as f32.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 tools=$2 src=$3 work=$4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
"$bin/etfill" ids.safetensors 'input_ids:i32[2,9]:1:250'
logits() { # FOLDER OUT
    "$bin/etimport" "$1" -o "$2.etg" --name same --max-tokens 32 --wide
    "$bin/etinterp" "$2.etg" --stage graph --in ids.safetensors --weights "$1" --out "$2.safetensors"
}
same() { # MODEL OPTION...
    rm -rf made wide
    mkdir wide
    m=$1
    shift
    "$bin/etquant" "$bin/../checkpoints/$m" -o made "$@" > said
    "$tools/check_quant" dequantise made wide
    logits made codes
    logits wide values
    grep -q codes codes.etg || die "$m $*: nothing is quantised"
    "$bin/etllm" compare --ref values.safetensors --out codes.safetensors --tolerance 1e-5
}
# Dense, mixtures by both names, layers of both kinds with shared experts.
for m in qwen3 mixtral qwen3_moe deepseek_v2; do
    for how in fp8 int4; do
        same $m --$how
    done
done
# With a head of codes: one that was the embedding, and one that was its own.
for m in qwen3 mixtral; do
    for how in fp8 int4; do
        same $m --$how --head
        grep -q 'head_codes' codes.etg || die "$m $how: the head is not quantised"
    done
done
