#!/bin/sh
# Greedy text is the reference's up to its first near-tie; alone and in a batch it is the same; a seed
# fixes what is drawn; the sampler does draw.
. "$(dirname "$0")/lib.sh"
# $5: the model; its files are in a folder of their own.
m=$(checkpoint "$5") kernel=$PWD/$5.hsaco
mkdir -p "text_$5"
cd "text_$5"
p0='Once upon a time, there was a'
p1='One rainy morning, a shy girl named'
p2='A fox and a turtle'
p3='It was a snowy day. Leo, a proud boy, was'
generate() {
    "$bin/etllm" generate --kernel "$kernel" --model "$m" --device "$device" "$@"
}

generate -p "$p0" -p "$p1" -p "$p2" -p "$p3" -n 96 > batch.txt 2> batch.log
cat batch.log
# The texts are parted by lines of "---".
awk '/^---$/ { n++; next } { print > ("text." n + 0 ".txt") }' batch.txt
for i in 0 1 2 3; do
    "$bin/check_text" prefix "$m" $i text.$i.txt
done

# The reference's own text up to a near-tie as the prompt: what follows is the reference's, word by word,
# up to the next.
for i in 0 1 2 3; do
    n=$("$bin/check_text" longest "$m" $i prompt.$i.txt want.$i.txt)
    echo >> want.$i.txt
    generate -p "$(cat prompt.$i.txt)" -n "$n" > stretch.$i.txt 2> /dev/null
    cmp want.$i.txt stretch.$i.txt || die "sequence $i: another text over a stretch of $n certain tokens"
    echo "sequence $i: $n tokens as in the reference"
done

generate -p "$p2" -n 40 > alone.txt 2> alone.log
head -c "$(($(wc -c < alone.txt) - 1))" alone.txt > alone.cut
head -c "$(wc -c < alone.cut)" text.2.txt | cmp - alone.cut || die 'alone and in a batch differ'

# What the start took: all parts, in that order.
generate -p "$p2" -n 2 --timings 2>&1 > /dev/null | tr '\n' ' ' > timings.log
grep -Eq 'start: tokenizer [0-9.]+ ms, device [0-9.]+ ms, kernel [0-9.]+ ms, weights [0-9.]+ ms, session [0-9.]+ ms,' timings.log &&
    grep -Eq '; [0-9.]+ ms to the first launch, [0-9.]+ ms without weights etllm: first launch: [0-9.]+ ms $' timings.log ||
    die "--timings says: $(cat timings.log)"

# More sequences than slots, and a prompt longer than a launch takes: each text as if it were alone.
long=$(cat want.3.txt)
generate -p "$long" -n 4 > long.txt 2> /dev/null
generate -p "$p1" -n 4 > short.txt 2> /dev/null
set --
for _ in 1 2 3 4 5 6 7 8 9 10; do
    set -- "$@" -p "$long" -p "$p1"
done
generate "$@" -n 4 > many.txt 2> /dev/null
for i in 1 2 3 4 5 6 7 8 9 10; do
    cat long.txt
    echo ---
    cat short.txt
    [ $i -eq 10 ] || echo ---
done | cmp - many.txt || die 'twenty sequences differ from two alone'

for seed in 7 7 8; do
    generate -p "$p0" -n 20 --temperature 1.5 --top-k 40 --seed $seed 2> /dev/null >> drawn.$seed.new
done
lines=$(wc -l < drawn.7.new)
head -n $((lines / 2)) drawn.7.new > first
tail -n $((lines / 2)) drawn.7.new | cmp - first || die 'one seed, two texts'
cmp -s first drawn.8.new && die 'two seeds, one text'
rm -f drawn.*.new
