#!/bin/sh
# perplexity.sh BIN SRC WORK: what quantising costs the demo, from checkpoint to perplexity.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3
model=$bin/../checkpoints/stories-llama
rm -rf "$work"
mkdir -p "$work"
cd "$work"
cat > story << END
Once upon a time, there was a gentle boy named Tom. One foggy day, Tom went to the farm. He found a seed. A bear said, "That is a plum seed. Plant it!" Tom dug a hole and put the seed in the ground. He gave it water every day. One day passed. Two days passed. Nothing grew. Tom felt sad. "Wait," said the bear. "It is sleeping." Then, one sunny morning, there was a small green leaf.
END
perplexity() { # NAME MODEL
    "$bin/etimport" "$2" -o "$1.etg"
    "$bin/etcc" "$1.etg" -o "$1.hsaco"
    "$bin/etllm" perplexity --kernel "$1.hsaco" --model "$2" --file story > "$1.said"
    sed -n 's/^perplexity \([0-9.]*\): .*/\1/p' "$1.said"
}
was=$(perplexity bf16 "$model")
for how in fp8 int4 'fp8 --head'; do
    rm -rf made
    "$bin/etquant" "$model" -o made --$how
    is=$(perplexity made made)
    echo "bf16 $was, $how $is"
    # Not the same, or nothing was quantised.
    echo "$was $is" | awk '{ r = $2 / $1; exit !(r > 0.97 && r < 1.03 && $1 != $2 && $1 > 1 && $1 < 3) }' || die "$how: $is, not $was"
done
