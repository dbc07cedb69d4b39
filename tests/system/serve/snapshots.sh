#!/bin/sh
# What layers carry along a text is kept in snapshots: texts that begin as others did go on from there, and are bit for bit what
# they are without; with keys and values in pages and in slots, and where there are none.
. "$(dirname "$0")/lib.sh"

made() { # MODEL NAME OPTION...: its kernel, and a folder with words
    model=$1 etg=$work/$2.etg
    shift 2
    mkdir -p "$model"
    cp "$bin/../checkpoints/$model/"* "$stories/"tokenizer* "$model/"
    "$bin/etimport" "$model" -o "$etg" --slots 4 --max-tokens 32 "$@"
    kernel=$(kernel "$bin/etcc" "$etg" gfx942 static --same-sums)
    folders=$model
}
ids() { # FIRST COUNT: so many tokens
    awk -v a="$1" -v n="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s%d", i ? "," : "", 20 + (a + i * 7) % 200 }'
}
# say PROMPT FILE: the answer of twelve tokens 30, and how likely each was, is put into FILE; $cached: what was not read.
say() {
    ask /v1/completions "{\"temperature\":0,\"prompt\":[$1],\"max_tokens\":12,\"ignore_eos\":true,\"logprobs\":2,\"logit_bias\":{\"30\":100}}"
    [ "$code" = 200 ] || die "status $code: $(cat answer)"
    cached=$(sed 's/.*"cached_tokens":\([0-9]*\).*/\1/' answer)
    sed 's/.*"choices"/"choices"/; s/"usage".*//' answer > "$2"
}
# turns: a conversation of three turns, another one between, one that leaves the first where a question begins, twice. What was
# not read of each is in $seen.
answered=30,30,30,30,30,30,30,30,30,30,30,30
turns() {
    one=$(ids 0 140) other=$(ids 3 50) seen=
    two=$one,$answered,$(ids 5 20)
    say "$one" "$1.1" && seen="$seen $cached"
    say "$two" "$1.2" && seen="$seen $cached"
    say "$other" "$1.3" && seen="$seen $cached"
    say "$two,$answered,$(ids 6 20)" "$1.4" && seen="$seen $cached"
    say "$(ids 0 100),$(ids 9 30)" "$1.5" && seen="$seen $cached"
    say "$(ids 0 100),$(ids 11 30)" "$1.6" && seen="$seen $cached"
}
# all WHAT SEEN: the turns without a cache, and with it, of which SEEN need not be read.
all() {
    start --no-prefix-cache
    turns without
    [ "$seen" = ' 0 0 0 0 0 0' ] || die "$1: without a cache$seen were not read"
    [ "$(metric etllm_snapshots_total)" = 0 ] || die "$1: snapshots that nobody may use"
    stop
    start
    turns with
    [ "$seen" = "$2" ] || die "$1:$seen were not read, not$2"
    for k in 1 2 3 4 5 6; do
        cmp "without.$k" "with.$k" || die "$1: another answer in turn $k"
    done
    [ "$(metric etllm_launch_failures_total)" = 0 ] || die 'launches failed'
}

# In pages the last full one of a prompt counts, of a text the last of four; a question that leaves what was read makes the next one like it short.
made qwen3_5 pages --paged 8 --pages 80 --snapshots 6
all pages ' 0 136 0 168 0 96'
good /props '' '"page_tokens":8' '"snapshots":6'
[ "$(metric etllm_snapshots_total)" -gt 3 ] || die 'no snapshots'
# Together, and again: as alone.
for k in 1 2 3 4 5 6 7 8; do
    curl -sS -m 60 -o "together.$k" "$address/v1/completions" -d "{\"temperature\":0,\"prompt\":[$(ids 0 $((40 + k))),$k,$k],
        \"max_tokens\":9,\"ignore_eos\":true,\"logprobs\":2}" &
    clients="${clients:-} $!"
done
# shellcheck disable=SC2086
all_end $clients
eventually vllm:num_requests_running 0
stop
start --no-prefix-cache
for k in 1 2 3 4 5 6 7 8; do
    ask /v1/completions "{\"temperature\":0,\"prompt\":[$(ids 0 $((40 + k))),$k,$k],\"max_tokens\":9,\"ignore_eos\":true,\"logprobs\":2}"
    sed 's/.*"choices"/"choices"/; s/"usage".*//' answer > alone
    sed 's/.*"choices"/"choices"/; s/"usage".*//' "together.$k" | cmp - alone || die "another answer in company, $k"
done
stop

# Two snapshots: the first text's is given up for others, and it is read again.
made qwen3_5 few --paged 8 --pages 80 --snapshots 2
start
for first in 0 3 9 0; do
    say "$(ids $first 70)" "again.$first"
    [ "$cached" = 0 ] || die "a snapshot that is gone: $cached of $first"
done
say "$(ids 0 70)" again
[ "$cached" = 64 ] || die "a snapshot that is there: $cached"
cmp again again.0 || die 'another answer from the last snapshot'
stop
# A launch that fails, and a device that is lost, leave nothing that is trusted.
start --abort-launch -5
for _ in 1 2 3; do
    curl -sS -m 60 -o one -w '%{http_code}' "$address/v1/completions" \
        -d "{\"temperature\":0,\"prompt\":[$(ids 0 70)],\"max_tokens\":12,\"ignore_eos\":true,\"logprobs\":2,\"logit_bias\":{\"30\":100}}" > code
done
[ "$(cat code)" = 200 ] || die "after a device was lost: $(cat code one)"
sed 's/.*"choices"/"choices"/; s/"usage".*//' one | cmp - again.0 || die 'another answer after a device was lost'
stop

# Fewer pages than texts want: who gives way goes on from its snapshot.
made qwen3_5 preempted --paged 8 --pages 31 --snapshots 8
six="\"prompt\":[[$(ids 0 20)],[$(ids 1 20)],[$(ids 2 20)],[$(ids 3 20)],[$(ids 4 20)],[$(ids 5 20)]]"
six="{\"temperature\":0,$six,\"max_tokens\":50,\"ignore_eos\":true,\"logprobs\":1}"
for o in --no-prefix-cache ''; do
    # shellcheck disable=SC2086
    start $o
    ask /v1/completions "$six"
    sed 's/.*"choices"/"choices"/; s/"usage".*//' answer > "six$o"
    [ "$(metric vllm:num_preemptions_total)" -gt 0 ] || die 'nobody gave way'
    metric etllm_prompt_tokens_computed_total > "computed$o"

    stop
done
cmp six six--no-prefix-cache || die 'another text by who gave way'
[ "$(cat computed)" -lt "$(cat computed--no-prefix-cache)" ] || die "read $(cat computed), and all again: $(cat computed--no-prefix-cache)"

# In slots: what a text left goes on whole; its keys and values are in one slot alone.
made lfm2 slots --snapshots 4
all slots ' 0 151 0 183 0 96'
stop
# Where states are all there is, any slot will do, and many steps in a launch.
made mamba2 alone --snapshots 6 --logits asked --sample greedy --steps 4
all alone ' 0 151 0 183 0 96'
stop
# Without snapshots what a slot has is all.
made mamba2 none
all none ' 0 151 0 183 0 0'
stop

# A kernel that is made of a folder has as many as slots.
cp "$stories"/../qwen3_5/* "$stories/"tokenizer* qwen3_5/
"$bin/etllm" serve --model qwen3_5 --slots 3 --cache "$work/cache" --port 0 2> server.log &
server=$!
for _ in $(seq 1200); do
    ! grep -q '^etllm: ready:' server.log || break
    sleep 0.1
done
address=$(sed -n 's/^etllm: listening on //p' server.log)
good /props '' '"total_slots":3' '"snapshots":3'
grep -aq '"name": "N", [^}]*"chunk": 32}' "$work"/cache/kernel-*/kernel.hsaco || die 'the manifest does not say how many rows are a chunk'
stop

# What does not fit together is refused.
refused() { # WORDS: by a server of the kernel
    "$bin/etllm" serve --kernel "$kernel" --model "$folders" --port 0 2> log && die "served: $1"
    grep -q "$1" log || die "no '$1': $(cat log)"
}
sed 's/conv : f32\[SLOTS+SNAPSHOTS/conv : f32[SLOTS+SNAPSHOTS+1/' pages.etg > damaged.etg
kernel=$(kernel "$bin/etcc" "$work/damaged.etg" gfx942 static)
folders=qwen3_5
refused 'conv has 11 rows and not one for each of 4 slots and 6 snapshots'
sed '/^state snapshots/d' pages.etg > damaged.etg
kernel=$(kernel "$bin/etcc" "$work/damaged.etg" gfx942 static)
refused 'conv has 10 rows and not one for each of 4 slots and 0 snapshots'
(imported "$bin" "$src" stories-llama | xargs cat; echo 'state snapshots : i32[5]') > damaged.etg
kernel=$(kernel "$bin/etcc" "$work/damaged.etg" gfx942 static)
folders=$stories
refused 'snapshots, and nothing that they could be of'
refuses 1 'no layer of this LlamaForCausalLM carries a state' "$bin/etimport" "$stories" -o x.etg --snapshots 4
refuses 2 'snapshots' "$bin/etimport" qwen3_5 -o x.etg --snapshots 0
[ $status -eq 0 ] || die "exit status $status"
