#!/bin/sh
# The smallest server gives each of several clients at once the tokens that `etllm generate` gives.
. "$(dirname "$0")/lib.sh"
for try in 1 2 3 4 5; do
    port=$((20000 + ($$ * 7 + try * 1009) % 30000))
    "$bin/serve_minimal" "$kernel" "$stories" $port 2> server.log &
    server=$!
    sleep 1
    ! kill -0 $server 2> kill.log || break
done
for prompt in 'Once upon a time' 'A fox and a turtle' 'The'; do
    name=$(echo "$prompt" | tr -d ' ')
    "$bin/etllm" tokenize --model "$stories" -p "$prompt" > "$name.ids"
    "$bin/serve_client" lines "http://127.0.0.1:$port" 12 < "$name.ids" > "$name" &
    clients="${clients:-} $!"
done
# shellcheck disable=SC2086
wait $clients || die "a client was left alone"
for prompt in 'Once upon a time' 'A fox and a turtle' 'The'; do
    "$bin/etllm" generate --kernel "$kernel" --model "$stories" -p "$prompt" -n 12 > want 2> generate.log
    name=$(echo "$prompt" | tr -d ' ')
    ids=$(cat "$name.ids" "$name" | tr '\n' ' ')
    "$bin/etllm" detokenize --no-specials --model "$stories" --ids "$ids" > got
    cmp want got || die "'$prompt': $(cat want got)"
done
