#!/bin/sh
# Models with kernels of their own: each is loaded when it is asked for, by requests or by name, as many at once as there
# may be; the texts are the same whoever had the device before; and what is told of it, as other servers tell it.
. "$(dirname "$0")/lib.sh"
"$bin/etllm" generate --kernel "$kernel" --model "$stories" -p 'Once upon a time' -n 6 > generated 2> generate.log
mkdir -p many/broken
for name in first second third; do cp -r "$stories" many/$name; done
chmod -R u+w many
cp "$stories"/*.json many/broken
echo 'no model' > many/README

serve() { # [options]
    : > server.log
    "$bin/etllm" serve --models-dir many --cache cache --context 128 --slots 4 --port 0 "$@" 2> server.log &
    server=$!
    for _ in $(seq 400); do
        ! grep -q '^etllm: ready: 4 models' server.log || break
        kill -0 $server 2> kill.log || break
        sleep 0.05
    done
    address=$(sed -n 's/^etllm: listening on //p' server.log)
}
states() { # the models and their states
    ask /models
    tr '{' '\n' < answer | sed -n 's/.*"id":"\([^"]*\)".*/\1/p; s/^"value":"\([a-z]*\)".*/\1/p' | paste -s -d ' '
}
state() { # STATES
    [ "$(states)" = "$1" ] || die "not '$1' but $(states)"
}
p='"prompt":"Once upon a time","temperature":0,"max_tokens":6'
text() { # MODEL: it writes what it writes alone
    good /v1/completions "{\"model\":\"$1\",$p}" "\"text\":\"$(sed 's/^Once upon a time//' generated)\"" "\"model\":\"$1\""
}

serve --models-max 1
state 'broken unloaded first unloaded second unloaded third unloaded'
good /health '' ok
bad 503 /props '' 'is not loaded'
good /metrics '' 'model_name="first"'
text first
state 'broken unloaded first loaded second unloaded third unloaded'
text second
state 'broken unloaded first unloaded second loaded third unloaded'
good '/props?model=second' '' '"n_ctx":128'
good /api/ps '' '"models":[{"name":"second"'
text third
text first

# By name; what runs is not taken away.
good /models/load '{"model":"second"}' '{"success":true}'
state 'broken unloaded first unloaded second loaded third unloaded'
good /models/unload '{"model":"second"}' '{"success":true}'
good /models/unload '{"model":"second"}' '{"success":true}'
state 'broken unloaded first unloaded second unloaded third unloaded'
good /is_sleeping '' true
bad 404 /models/load '{"model":"nobody"}' model_not_found
bad 404 /models/unload '{"model":"nobody"}' model_not_found
curl -sS -N -m 60 -o slow -d "{\"model\":\"first\",\"prompt\":\"Once\",\"max_tokens\":120,\"ignore_eos\":true,\"temperature\":0,\"stream\":true}" \
    "$address/v1/completions" &
slow=$!
eventually 'vllm:num_requests_running{model_name="first"' 1
bad 409 /models/unload '{"model":"first"}' busy
text second # which waits until that is over
wait $slow
[ "$(grep -c '"finish_reason":"length"' slow)" = 1 ] || die 'a stream was ended for another model'

# Ollama's way: a request for nothing.
good /api/generate '{"model":"third:latest"}' '"done_reason":"load"' '"response":""'
state 'broken unloaded first unloaded second unloaded third loaded'
good /api/chat '{"model":"third","messages":[],"keep_alive":0}' '"done_reason":"unload"' '"message":'
for _ in $(seq 100); do [ "$(states)" != 'broken unloaded first unloaded second unloaded third unloaded' ] || break; sleep 0.1; done
state 'broken unloaded first unloaded second unloaded third unloaded'
good /api/generate '{"model":"first","prompt":"Once","stream":false,"keep_alive":"0s","options":{"num_predict":2}}' '"done":true'
for _ in $(seq 100); do [ "$(states)" != 'broken unloaded first unloaded second unloaded third unloaded' ] || break; sleep 0.1; done
state 'broken unloaded first unloaded second unloaded third unloaded'

# What cannot be loaded is told to who asks, each time, and to nobody else.
for _ in 1 2; do bad 503 /v1/completions "{\"model\":\"broken\",$p}" 'is not loaded' 'etimport failed'; done
text first

# Many who want others: all get what they asked for.
many() { # ROUNDS
    clients=
    for i in $(seq "$1"); do
        set -- first second third
        shift $((i % 3))
        curl -sS -m 120 -o many.$i -d "{\"model\":\"$1\",$p}" "$address/v1/completions" &
        clients="$clients $!"
    done
    # shellcheck disable=SC2086
    all_end $clients
    for i in $(seq "$i"); do
        grep -qF "\"text\":\"$(sed 's/^Once upon a time//' generated)\"" many.$i || die "among many: $(cat many.$i)"
    done
}
many 9

stop
[ $status -eq 0 ] || die "exit status $status"

# As many as there is memory for, unless it is said; who waits for one is answered when the server stops.
serve
text first
text second
state 'broken unloaded first loaded second loaded third unloaded'
# Their launches go side by side; one comes, and one goes while others work, and comes again.
many 24
[ "$(grep -c 'loaded: .* beside others' server.log)" = 2 ] || die 'they do not share the device'
many 15 &
good /models/unload '{"model":"broken"}' '{"success":true}'
for _ in $(seq 20); do ask /models/unload '{"model":"third"}'; sleep 0.05; done
all_end $!
[ "$(metric 'etllm_launch_failures_total{model_name="first"')" = 0 ] || die 'launches failed'
stop
[ $status -eq 0 ] || die "exit status $status"
serve --turns
text first
text second
many 6
! grep -q 'beside others' server.log || die 'they take no turns'
stop
rm -rf cache
serve
curl -sS -m 60 -o waiting -d '{"model":"second","prompt":"Once","max_tokens":2}' "$address/v1/completions" &
waiting=$!
for _ in $(seq 100); do
    [ "$(states)" = 'broken unloaded first unloaded second unloaded third unloaded' ] || break
    sleep 0.05
done
stop
[ $status -eq 0 ] || die "exit status $status"
all_end $waiting
grep -q 'the server is stopping\|"finish_reason"' waiting || die "who waited: $(cat waiting)"
refuses 2 'is of models that have kernels of their own' "$bin/etllm" serve --model "$stories" --models-max 2
refuses 1 'there are no models in it' "$bin/etllm" serve --models-dir "$work/cache"
