#!/bin/sh
# pieces.sh BIN SOURCE FOLDER: sequences fed in several launches give the logits of one launch, where N or
# the slots of the caches are too few for all of them.
set -eu
bin=$1 model=$1/../checkpoints/stories-llama
mkdir -p "$3"
cd "$3"
"$bin/etfill" ids.st --seed 3 'input_ids:i32[3,20]:0:200'
"$bin/etimport" "$model" -o whole.etg --max-tokens 64 --slots 3 --wide
"$bin/etimport" "$model" -o pieces.etg --max-tokens 8 --slots 2 --wide
for stage in tasks graph; do
    for name in whole pieces; do
        "$bin/etinterp" $name.etg --stage $stage --in ids.st --weights "$model" --out $name.st
    done
    "$bin/etllm" compare --ref whole.st --out pieces.st --tolerance 1e-5 --gap 0.001
done
