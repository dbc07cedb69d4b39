#!/bin/sh
# company.sh BIN SRC WORK: a row of logits has the same bits however many rows its launch has: with others in one launch, alone, and in
# chunks for every variant, of a dense decoder and of one whose weights are FP8. Of mixtures of experts that holds of kernels of one
# variant; of several it does not yet for all of them, and what differs is counted.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3
fresh "$work"
bits() { # FILE: its tensors, without the header
    tail -c +$((9 + $(od -An -t u8 -N 8 "$1"))) "$1"
}
try() { # NAME.etg, FOLDER with golden.safetensors, VARIANTS, and yes or not yet
    k=$(kernel "$bin/etcc" "$1" gfx942 static --variants="$3")
    differ=0
    for chunk in 64 1 4 5 9; do
        "$bin/etllm" score --kernel "$k" --model "$2" --tokens "$2/golden.safetensors" --out $chunk.st --chunk $chunk --batch 1 2> said ||
            die "$(cat said)"
        bits $chunk.st > $chunk.bits
        cmp -s 64.bits $chunk.bits && continue
        differ=$((differ + 1))
        echo "$1, $3 variants: $(cmp -l 64.bits $chunk.bits | wc -l) bytes of $(wc -c < 64.bits) differ between chunks of 64 and $chunk"
    done
    case $4 in
    yes) [ $differ = 0 ] || die "$1: rows hang on how many there are" ;;
    *) [ $differ -gt 0 ] || die "$1: rows no longer hang on how many there are: say so here and in examples/llm/engine/README.md" ;;
    esac
}
for variants in 1 3; do
    try "$src/tests/unit/import/llama.etg" "$bin/../checkpoints/llama" $variants yes
done
try "$src/tests/targets/models/fp8_channel.etg" "$bin/../checkpoints/fp8_channel" 3 yes
for variants in 1 3; do
    try "$src/tests/targets/models/olmoe.etg" "$bin/../checkpoints/olmoe" $variants yes
done
try "$src/tests/targets/models/qwen2_moe.etg" "$bin/../checkpoints/qwen2_moe" 1 yes
try "$src/tests/targets/models/qwen2_moe.etg" "$bin/../checkpoints/qwen2_moe" 3 'not yet'
