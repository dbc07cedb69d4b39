#!/bin/sh
# run.sh BIN WORK [CLIENTS [REQUESTS [DEVICE]]]
# Many clients of a server with three models at once: REQUESTS (2,000) of CLIENTS (64), streamed and not, drawn and not, every
# answer the one that its request gets alone; how much memory the server has before and after; and what 16 honest
# clients wait alone and beside attacks, all of one address. DEVICE: as etllm takes it; without it, an emulated one. The last lines are the record.
# Models: goldens whose text is an attention and a feed-forward, one with experts, one with windows and sinks.
set -eu
src=$(cd "$(dirname "$0")/../../.." && pwd)
bin=$(cd "$1" && pwd) clients=${3:-64} requests=${4:-2000} device=${5:-emu:gfx942}
mkdir -p "$2"
cd "$2"
models=${MODELS:-qwen3 mixtral gpt_oss}
target=${TARGET:-gfx942}

# A byte-level tokenizer of N tokens without merges: each token has a text of its own.
tokenizer() { # N
    awk -v n="$1" '
        function name(i,  c) {
            c = ""
            for (; i > 0; i = int((i - 1) / 26)) c = sprintf("%c", 97 + (i - 1) % 26) c
            return "\\u0120" c
        }
        BEGIN {
            level = "{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,\"use_regex\":true}"
            printf "{\"added_tokens\":[],\"normalizer\":null,\"pre_tokenizer\":%s,\"post_processor\":null,\"decoder\":%s,", level, level
            printf "\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,\"byte_fallback\":false,\"vocab\":{"
            for (i = 0; i < 256 && i < n; i++) {
                shown = (i >= 33 && i <= 126) || (i >= 161 && i <= 172) || i >= 174
                printf "%s\"\\u%04x\":%d", i ? "," : "", shown ? i : 256 + others++, i
            }
            for (; i < n; i++) printf ",\"%s\":%d", name(i - 255), i
            print "},\"merges\":[]}}"
        }'
}

texts='' folders=''
: > requests
for model in $models; do
    rm -rf "$model"
    cp -r "$bin/../checkpoints/$model" "$model"
    vocab=$(sed -n 's/.*"vocab_size": *\([0-9]*\).*/\1/p' "$model/config.json" | head -1)
    [ -e "$model/tokenizer.json" ] || tokenizer "$vocab" > "$model/tokenizer.json"
    "$bin/etimport" "$model" --slots 32 --max-tokens 64 --logits asked --name "$model" -o "$model.etg"
    texts="$texts $model.etg" folders="$folders,$model=$model"
    # Prompts of random tokens, greedy and drawn.
    awk -v model="$model" -v vocab="$vocab" -v seed="${SEED:-1}" 'BEGIN {
        srand(seed)
        for (i = 0; i < 24; i++) {
            ids = ""
            for (k = 1 + int(rand() * 60); k > 0; k--) ids = ids (ids == "" ? "" : ",") int(rand() * vocab)
            printf "{\"model\":\"%s\",\"prompt\":[%s],\"max_tokens\":%d,\"temperature\":%s,\"seed\":%d,\"ignore_eos\":true}\n", model, ids, 1 + int(rand() * 20), i % 2 ? "1.1" : "0", i
        }
    }' >> requests
done
# shellcheck disable=SC2086
[ -e mix.hsaco ] || "$bin/etcc" $texts --target="$target" -o mix.hsaco
"$bin/etllm" serve --kernel mix.hsaco --models "${folders#,}" --device "$device" --port 0 --queue 4096 --lenient --address-connections 0 --access-log /dev/null 2> server.log &
server=$!
trap 'kill $server 2> kill.log || true' EXIT
until grep -q '^etllm: ready' server.log; do
    kill -0 $server 2> kill.log || { cat server.log >&2; exit 1; }
    sleep 0.2
done
address=$(sed -n 's/^etllm: listening on //p' server.log)
resident() { awk '/^VmRSS/ { print $2 }' /proc/$server/status; }
"$bin/serve_client" together "$address" "$clients" $((requests / 10 + 1)) requests > warm
before=$(resident)
"$bin/serve_client" together "$address" "$clients" "$requests" requests
echo "memory: $before KB before, $(resident) KB after; commit $(git -C "$src" rev-parse --short HEAD 2> kill.log || echo '?'), $device, $models"
[ "${ATTACK:-30}" = 0 ] || "$bin/serve_client" attack "$address" "${ATTACK:-30}" 16
