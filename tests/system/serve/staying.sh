#!/bin/sh
# A kernel that stays on the device answers as one that is launched for every step; of two models each goes at its
# own pace.
. "$(dirname "$0")/lib.sh"
moe=$bin/../checkpoints/stories-moe
"$bin/etimport" "$stories" -o llama.etg --paged 8 --pages 40 --name stories_llama
"$bin/etimport" "$moe" -o moe.etg --logits asked --name stories_moe
"$bin/etcc" llama.etg moe.etg -o launched.hsaco
"$bin/etcc" llama.etg moe.etg --resident -o staying.hsaco
option=--models folders=$stories,$moe
c=/v1/completions

all() { # FOLDER: answers of both models, all at once; to the longer one a prompt that is read in pieces
    mkdir "$1"
    pids=
    long=$(seq -s ' and then ' 60)
    for m in llama moe; do
        for p in 'Once upon a time' 'A fox and a turtle' "The $long"; do
            curl -sS -m 200 -o "$1/$m.${p%% *}" "$address$c" -d \
                "{\"model\":\"stories-$m\",\"prompt\":\"$p\",\"temperature\":0,\"max_tokens\":20,\"ignore_eos\":true}" &
            pids="$pids $!"
        done
    done
    # shellcheck disable=SC2086
    all_end $pids
    for f in "$1"/*; do
        grep -q '"finish_reason":"length"' "$f" || die "$f: $(cat "$f")"
        sed -i 's/.*"text":"\([^"]*\)".*/\1/' "$f"
    done
}
launches() { # MODEL
    metric "etllm_launches_total{model_name=\"stories-$1\""
}

kernel=$work/launched.hsaco
start
all want
stop
kernel=$work/staying.hsaco
start --resident
all got
diff -r want got || die 'other answers'
all again # what was read before is there
diff -r want again || die 'other answers the second time'

# While one writes a long text the other's steps are its own: it has none.
before=$(launches moe)
good $c '{"model":"stories-llama","prompt":"The","temperature":0,"max_tokens":60,"ignore_eos":true}' '"length"'
[ "$(launches moe)" = "$before" ] || die 'a model without requests has steps'

# A client that leaves; a grammar, whose masks are waited for; sleep, and the kernel is there again.
curl -sS -m 1 -o gone -N "$address$c" -d '{"model":"stories-llama","prompt":"A","max_tokens":400,"ignore_eos":true,"stream":true}' || :
eventually 'vllm:num_requests_running{model_name="stories-llama"' 0
good /v1/chat/completions '{"model":"stories-llama","messages":[{"role":"user","content":"x"}],"max_tokens":30,"guided_regex":"[a-c]{4}"}' 'content'
ask /sleep '' -X POST
[ "$code" = 200 ] || die "/sleep: $code $(cat answer)"
all slept
diff -r want slept || die 'other answers after it slept'
[ "$(metric 'etllm_launch_failures_total{model_name="stories-llama"')" = 0 ] || die 'steps failed'

# SIGTERM while both run: all is finished.
for m in llama moe; do
    curl -sS -m 100 -o "last.$m" "$address$c" -d "{\"model\":\"stories-$m\",\"prompt\":\"The\",\"max_tokens\":60,\"ignore_eos\":true}" &
    clients="${clients:-} $!"
done
eventually 'vllm:num_requests_running{model_name="stories-moe"' 1
eventually 'vllm:num_requests_running{model_name="stories-llama"' 1
stop
[ $status -eq 0 ] || die "exit status $status"
# shellcheck disable=SC2086
wait $clients
grep -q '"finish_reason":"length"' last.llama && grep -q '"finish_reason":"length"' last.moe || die "cut: $(cat last.*)"

kernel=$work/launched.hsaco
! "$bin/etllm" serve --kernel "$kernel" $option "$folders" --port 0 --resident 2> refused || die 'a kernel that cannot stay'
grep -q 'compiled without --resident' refused || die "refused: $(cat refused)"
! "$bin/etllm" serve --kernel "$kernel" $option "$folders" --resident --timings 2> refused || die 'with --timings'
grep -q 'has no launches' refused || die "refused: $(cat refused)"
