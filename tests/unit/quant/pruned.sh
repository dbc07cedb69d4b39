#!/bin/sh
# pruned.sh BIN SRC WORK: what pruning to 2:4 costs the demo, and that a kernel which reads weights packed predicts the text
# as one that reads them as they are.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 src=$2 work=$3
model=$bin/../checkpoints/stories-llama
rm -rf "$work"
mkdir -p "$work"
cd "$work"
echo 'Once upon a time, there was a gentle boy named Tom. One foggy day, Tom went to the farm. He found a seed.' > story
"$bin/etquant" "$model" -o pruned --24
cmp "$model/tokenizer.json" pruned/tokenizer.json
! grep -q quantization_config pruned/config.json || die "a pruned checkpoint says that it is quantised"
"$bin/etimport" pruned -o model.etg
"$bin/etcc" model.etg -o dense.hsaco
"$bin/etcc" model.etg --sparse=2:4 -o packed.hsaco
perplexity() { # KERNEL MODEL
    "$bin/etllm" perplexity --kernel "$1.hsaco" --model "$2" --file story > said
    sed -n 's/^perplexity \([0-9.]*\): .*/\1/p' said
}
was=$(perplexity dense "$model")
dense=$(perplexity dense pruned)
packed=$(perplexity packed pruned)
whole=$(perplexity packed "$model") # whose weights are not 2:4
echo "bf16 $was, with all ways to read them $whole; pruned $dense, packed $packed"
echo "$was $whole $dense $packed" | awk '{ near = 1e-2; exit !($1 > 1 && ($2 / $1 - 1) ^ 2 < near ^ 2 && $3 > $1 && ($4 / $3 - 1) ^ 2 < near ^ 2) }' ||
    die "these are not alike"
# Products with half of the matrix instructions, or nothing would have been packed.
for t in tokens positions slots; do echo "$t:i32[5]:0:15"; done | "$bin/etfill" in.safetensors -
for kernel in dense packed; do
    "$bin/etrun" $kernel.hsaco --set N=5 --in in.safetensors --weights pruned --out out.safetensors --stats > said
    sed -n 's/.* mfma \([0-9]*\),.*/\1/p' said
done > count
awk 'NR == 1 { n = $1 } NR == 2 { exit !($1 > 0 && $1 < 0.8 * n) }' count || die "matrix instructions: $(cat count)"
