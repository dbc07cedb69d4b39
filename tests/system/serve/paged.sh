#!/bin/sh
# Keys and values in pages: the texts of a kernel without, when there are pages enough and when there are so few that
# sequences give way to each other; a beginning that was read before is not read again.
. "$(dirname "$0")/lib.sh"
plain=$kernel
paged() { # PAGES: the kernel with so many pages of 8 positions
    "$bin/etimport" "$stories" -o "stories$1.etg" --paged 8 --pages "$1"
    kernel "$bin/etcc" "$work/stories$1.etg" gfx942 static
}
many=$(paged 256) few=$(paged 14)

# The command line: four texts of up to 60 tokens want 8 pages each.
texts() { # KERNEL
    "$bin/etllm" generate --kernel "$1" --model "$stories" -n 44 -p 'Once upon a time' -p 'A fox and a turtle' \
        -p 'Once upon a time, there was a' -p 'One rainy morning, a shy girl named' 2> generate.log
}
texts "$plain" > plain.txt
for k in "$many" "$few"; do
    texts "$k" > paged.txt
    cmp plain.txt paged.txt || die 'other texts from pages'
    "$bin/etllm" score --kernel "$k" --model "$stories" --tokens "$stories/reference.safetensors" \
        --out logits.safetensors 2> score.log && k_fits=yes || k_fits=no
    if [ "$k" = "$many" ]; then
        [ $k_fits = yes ] || die "score: $(cat score.log)"
        "$bin/etllm" compare --ref "$stories/reference.safetensors" --out logits.safetensors
    fi
done
# 14 pages keep 112 positions: what is longer is refused, what is not is done in turn.
"$bin/etfill" long.safetensors 'input_ids:i32[1,113]:0:99'
if "$bin/etllm" score --kernel "$few" --model "$stories" --tokens long.safetensors --out x.safetensors 2> score.log; then
    die 'more tokens than pages'
fi
grep -q '113 tokens; the model keeps 112' score.log || die "$(cat score.log)"
"$bin/etfill" some.safetensors 'input_ids:i32[5,50]:0:99'
for k in "$many" "$few"; do
    "$bin/etllm" score --kernel "$k" --model "$stories" --tokens some.safetensors --out "$(basename "$k").st" 2> score.log
done
cmp "$(basename "$many").st" "$(basename "$few").st" || die 'other logits from few pages'

# The server, with fewer pages than its clients want.
m='"model":"stories-llama","temperature":0'
kernel=$few
start
"$bin/serve_client" together "$address" 12 30 || die 'answers differ'
eventually vllm:num_requests_running 0
eventually vllm:kv_cache_usage_perc 0
# Six texts of more than 50 tokens want three times as many pages as there are.
six='"prompt":["Once upon a time","A fox and a turtle","The","Once upon","It was a snowy day.","One"]'
ask /v1/completions "{$m,$six,\"max_tokens\":50,\"ignore_eos\":true}"
grep -o '"text":"[^"]*"' answer > six.few
[ "$(wc -l < six.few)" -eq 6 ] || die "six texts: $(cat answer)"
[ "$(metric vllm:num_preemptions_total)" -gt 0 ] || die 'nobody gave way'
eventually vllm:kv_cache_usage_perc 0
[ "$(metric etllm_launch_failures_total)" = 0 ] || die 'launches failed'
good /props '' '"page_tokens":8' '"pages":14' '"n_ctx":112'

# Too long for all of the pages is an answer; what just fits is written.
long=$(awk 'BEGIN { for (i = 0; i < 113; i++) printf "%s%d", i ? "," : "", 20 + i % 50 }')
bad 400 /v1/completions "{$m,\"prompt\":[$long]}" 'the model keeps 112 tokens, the prompt has 113'
good /v1/completions "{$m,\"prompt\":\"Once\",\"max_tokens\":110,\"ignore_eos\":true}" '"finish_reason":"length"' \
    '"total_tokens":112'

# A launch that fails fails its own; what is in pages of others stays.
stop
start --abort-launch 6
curl -sS -o first -w '%{http_code}' "$address/v1/completions" \
    -d "{$m,\"prompt\":\"Once\",\"max_tokens\":40,\"ignore_eos\":true}" > code
[ "$(cat code)" = 500 ] || die "a failed launch: $(cat code first)"
good /v1/completions "{$m,\"prompt\":\"Once upon a time\",\"max_tokens\":4}" '"text":", there was a"'
eventually vllm:kv_cache_usage_perc 0
stop
start --abort-launch -6
curl -sS -o first -w '%{http_code}' "$address/v1/completions" \
    -d "{$m,\"prompt\":\"Once\",\"max_tokens\":40,\"ignore_eos\":true}" > code
good /v1/completions "{$m,\"prompt\":\"Once upon a time\",\"max_tokens\":4}" '"text":", there was a"' '"cached_tokens":0'
stop

# What was read is there: full pages, and what is copied of one more. The answer is the same.
kernel=$many
ids=$(awk 'BEGIN { for (i = 0; i < 32; i++) printf "%s%d", i ? "," : "", 20 + i * 7 % 50 }')
start
ask /v1/completions "{$m,\"prompt\":[$ids],\"max_tokens\":9,\"ignore_eos\":true}"
has '"cached_tokens":0'
sed 's/.*"choices"/"choices"/; s/"usage".*//' answer > first
ask /v1/completions "{$m,$six,\"max_tokens\":50,\"ignore_eos\":true}"
grep -o '"text":"[^"]*"' answer | cmp - six.few || die 'another text by who gave way'
[ "$(metric vllm:num_preemptions_total)" = 0 ] || die 'somebody gave way where there was room'
hits=$(metric vllm:prefix_cache_hits_total)
same() { # PROMPT CACHED: so many are there, and the text is that of a server that has none
    ask /v1/completions "{$m,\"prompt\":[$1],\"max_tokens\":9,\"ignore_eos\":true}"
    has "\"cached_tokens\":$2"
    sed 's/.*"choices"/"choices"/; s/"usage".*//' answer > again
}
# All 32 are in pages, but the last is fed in any case: it goes into a copy of the page that has it.
same "$ids" 31
cmp first again || die 'another text from what was read'
same "$ids,3,4,5" 32
mv again longer
same "${ids%,*,*,*},3,4,5" 29
mv again other
eventually vllm:prefix_cache_hits_total $((hits + 92))
# Two texts of one prompt have its pages together.
ask /v1/completions "{$m,\"prompt\":[$ids,3,4,5],\"n\":2,\"max_tokens\":9,\"ignore_eos\":true}"
[ "$(grep -o '"text":"[^"]*"' answer | sort -u | wc -l)" -eq 1 ] || die "two texts: $(cat answer)"
stop
start --no-prefix-cache
same "$ids,3,4,5" 0
cmp longer again || die 'another text behind what was read'
same "${ids%,*,*,*},3,4,5" 0
cmp other again || die 'another text from a copied page'
stop
[ $status -eq 0 ] || die "exit status $status"
