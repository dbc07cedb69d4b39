#!/bin/sh
# run.sh BIN WORK [OPTIONS]
# A server with three models for long. README.md beside this says what each part asks, and the options.
set -eu
usage() { sed -n 's/^    --/--/p' "$src/tests/by_hand/soak/README.md" >&2 && exit 2; }
src=$(cd "$(dirname "$0")/../../.." && pwd)
[ $# -ge 2 ] || usage
bin=$(cd "$1" && pwd) work=$2
shift 2
parts= models='qwen3 mixtral gpt_oss' target=gfx942 device= seed=1
clients=64 requests=2000 points=10 grown=2 seconds=30 honest=16 longer=1.5 most=2
while [ $# -gt 0 ]; do
    case $1 in
    together | attack | loading) parts="$parts $1" && shift && continue ;;
    esac
    [ $# -ge 2 ] || usage
    case $1 in
    --models) models=$2 ;;
    --target) target=$2 ;;
    --device) device=$2 ;;
    --seed) seed=$2 ;;
    --clients) clients=$2 ;;
    --requests) requests=$2 ;;
    --points) points=$2 ;;
    --grown) grown=$2 ;;
    --seconds) seconds=$2 ;;
    --honest) honest=$2 ;;
    --longer) longer=$2 ;;
    --models-max) most=$2 ;;
    *) usage ;;
    esac
    shift 2
done
[ -n "$parts" ] || parts='together attack loading'
device=${device:-emu:$target}
mkdir -p "$work"
cd "$work"
server=
trap '[ -z "$server" ] || kill $server 2> kill.log || true' EXIT
failed=0

# Prompts of random tokens, greedy and drawn.
draw() { # MODEL VOCAB
    awk -v model="$1" -v vocab="$2" -v seed="$seed" 'BEGIN {
        srand(seed)
        for (i = 0; i < 24; i++) {
            ids = ""
            for (k = 1 + int(rand() * 60); k > 0; k--) ids = ids (ids == "" ? "" : ",") int(rand() * vocab)
            printf "{\"model\":\"%s\",\"prompt\":[%s],\"max_tokens\":%d,\"temperature\":%s,\"seed\":%d,\"ignore_eos\":true}\n", model, ids, 1 + int(rand() * 20), i % 2 ? "1.1" : "0", i
        }
    }'
}

texts='' folders=''
: > requests
mkdir -p many
for model in $models; do
    rm -rf "many/$model"
    cp -r "$bin/../checkpoints/$model" "many/$model"
    vocab=$(sed -n 's/.*"vocab_size": *\([0-9]*\).*/\1/p' "many/$model/config.json" | head -1)
    [ -e "many/$model/tokenizer.json" ] || awk -v n="$vocab" -f "$src/bench/serve/tokenizer.awk" > "many/$model/tokenizer.json"
    texts="$texts $model.etg" folders="$folders,$model=many/$model"
    draw "$model" "$vocab" >> requests
done

serve() { # [options]
    "$bin/etllm" serve --device "$device" --port 0 --queue 4096 --lenient --address-connections 0 --access-log /dev/null "$@" 2> server.log &
    server=$!
    until grep -q '^etllm: ready' server.log; do
        kill -0 $server 2> kill.log || { cat server.log >&2; exit 1; }
        sleep 0.2
    done
    address=$(sed -n 's/^etllm: listening on //p' server.log)
}
stop() {
    kill $server
    wait $server || { echo "the server ended with status $?" && cat server.log && failed=1; } >&2
    server=
}
client() {
    "$bin/serve_client" "$@" || failed=1
}
resident() { awk '/^VmRSS/ { print $2 }' /proc/$server/status; }

together() {
    per=$((requests / points)) point=0
    : > memory
    while [ $point -lt "$points" ]; do
        point=$((point + 1))
        client together "$address" "$clients" $per requests
        resident >> memory
        echo "after $((point * per)): $(tail -1 memory) KB"
    done
    # What is kept is there after the first half.
    awk -v most="$grown" '{ kb[NR] = $1 } END {
        half = kb[int((NR + 1) / 2)]; more = 100 * (kb[NR] - half) / half
        printf "memory: %.2f %% more at the end than at half\n", more
        exit more > most }' memory || failed=1
}

# One kernel with all of them.
one() {
    for model in $models; do
        "$bin/etimport" "many/$model" --slots 32 --max-tokens 64 --logits asked --name "$model" -o "$model.etg"
    done
    # A text has the same bits in any company where variants have the same order of sums.
    # shellcheck disable=SC2086
    [ -e mix.hsaco ] || "$bin/etcc" $texts --target="$target" --same-sums -o mix.hsaco
    serve --kernel mix.hsaco --models "${folders#,}"
}

# Each with a kernel of its own; fewer than all may be loaded.
loading() {
    # The same bits in any company, which kernels with several variants have on request.
    serve --cache cache --context 128 --slots 8 --same-sums --models "${folders#,}" --models-max "$most"
    client loading "$address" "$seconds" "$clients" requests
    stop
}

commit=$(git -C "$src" rev-parse --short HEAD 2> git.log || echo '?')
echo "commit $commit, $device, $models"
case "$parts" in *together* | *attack*)
    one
    case "$parts" in *together*) together ;; esac
    case "$parts" in *attack*) client attack "$address" "$seconds" "$honest" "$longer" ;; esac
    stop
    ;;
esac
case "$parts" in *loading*) loading ;; esac
exit $failed
