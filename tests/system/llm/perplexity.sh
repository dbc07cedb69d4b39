#!/bin/sh
# etllm perplexity against the logits of etllm score, for windows of several lengths, with a bos token and
# without; and what it refuses. $5: folder with check_perplexity.
. "$(dirname "$0")/lib.sh"
tools=$5
cat > text << END
Once upon a time, there was a little girl named Lily. She liked to play in the park with her dog. One day, they saw a big
red ball. "Look," said Lily, "a ball!" The dog ran to the ball and pushed it with his nose. <|endoftext|> is no end here.
They played all day. When the sun went down, they went home and ate soup. Then Lily went to bed and was happy. The end.
END
cp -r "$bin/../checkpoints/stories-llama" bare 2> /dev/null || true
sed 's/"add_bos_token": [a-z]*,//; s/{/{"add_bos_token": false,/' "$bin/../checkpoints/stories-llama/tokenizer_config.json" \
    > bare/tokenizer_config.json
"$bin/etllm" tokenize --model bare --bare --no-specials -p "$(cat text)
" > ids
check() { # MODEL BOS WINDOW STRIDE [OPTION...]
    model=$1 bos=$2 window=$3 stride=$4
    shift 4
    said=$("$bin/etllm" perplexity --kernel stories-llama.hsaco --model "$model" --device "$device" --file text "$@")
    "$tools/check_perplexity" windows "$bos" "$window" "$stride" ids windows.safetensors
    rm -f windows.logits
    "$bin/etllm" score --kernel stories-llama.hsaco --model "$model" --device "$device" --tokens windows.safetensors \
        --out windows.logits
    "$tools/check_perplexity" compare "$bos" "$window" "$stride" ids windows.logits "$said" || die "$*: $said"
}
checkpoint=$bin/../checkpoints/stories-llama
check "$checkpoint" 0 512 255
check "$checkpoint" 0 64 20 --window 64 --stride 20
check bare -1 50 24 --window 50
# The story that the model tells, and one that no model predicts.
cat > own << END
Once upon a time, there was a gentle boy named Tom. One foggy day, Tom went to the farm. He found a seed. A bear said, "That is a plum seed.
END
tr '\n' ' ' < own > own.line
tr 'a-z' 'n-za-m' < own > rotated
number() { "$bin/etllm" perplexity --kernel stories-llama.hsaco --model "$checkpoint" --device "$device" --file "$1" | sed 's/perplexity \(.*\): .*/\1/'; }
good=$(number own.line) bad=$(number rotated)
echo "$good $bad" | awk '{ exit !($1 > 1 && $1 < 4 && $2 > 1000) }' || die "its own story $good, another one $bad"

ppl() { "$bin/etllm" perplexity --kernel stories-llama.hsaco --model "$checkpoint" --device "$device" "$@"; }
: > empty
refuses 'the text has 0 tokens' ppl --file empty
refuses 'No such file' ppl --file absent
printf 'a\377b' > odd
refuses 'not UTF-8 at byte 1' ppl --file odd
refuses 'the kernel keeps 512 positions' ppl --file text --window 513
refuses 'at most 63' ppl --file text --window 64 --stride 64
misused '--file is missing' ppl
misused '--stride 0: write a number' ppl --file text --stride 0
