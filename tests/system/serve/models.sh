#!/bin/sh
# Two models in one kernel: each answers as it does alone, whatever the other is asked meanwhile.
. "$(dirname "$0")/lib.sh"
moe=$bin/../checkpoints/stories-moe
"$bin/etimport" "$stories" -o llama.etg --paged 8 --pages 40 --name stories_llama
"$bin/etimport" "$moe" -o moe.etg --logits asked --name stories_moe
"$bin/etcc" llama.etg moe.etg -o mix.hsaco

# What each says alone, in a kernel of its own.
alone() { # MODEL FOLDER KERNEL
    for p in 'Once upon a time' 'A fox and a turtle' 'The'; do
        "$bin/etllm" generate --kernel "$3" --model "$2" -n 20 -p "$p" 2> generate.log > "want.$1.${p%% *}"
    done
}
alone llama "$stories" "$(kernel "$bin/etcc" "$work/llama.etg" gfx942 static --variants=1)"
alone moe "$moe" "$(kernel "$bin/etcc" "$work/moe.etg" gfx942 static --variants=1)"

kernel=$work/mix.hsaco option=--models folders=$stories,$moe
start
good /v1/models '' '"id":"stories-llama"' '"id":"stories-moe"'
good /v1/models/stories-moe '' '"object":"model"'
bad 404 /v1/models/stories '' 'model_not_found'
good '/props?model=stories-llama' '' '"model_alias":"stories-llama"' '"pages":40'
good '/props?model=stories-moe' '' '"model_alias":"stories-moe"' '"pages":0'
good /props '' '"model_alias":"stories-llama"'
bad 404 '/slots?model=x' '' 'model_not_found'
c=/v1/completions
bad 400 $c '{"prompt":"x"}' "'model' must be one of stories-llama, stories-moe" '"param":"model"'
bad 404 $c '{"prompt":"x","model":"gpt"}' 'there are stories-llama, stories-moe'
bad 400 /tokenize '{"prompt":"x"}' "'model' must be one of"
good /tokenize '{"prompt":"Once upon","model":"stories-moe"}' '"count":3'

# All at once, twice as many of one as of the other, three times.
n=0
for _ in 1 2 3; do
    pids=
    for m in llama moe llama; do
        for p in 'Once upon a time' 'A fox and a turtle' 'The'; do
            n=$((n + 1))
            curl -sS -m 100 -o "got.$m.${p%% *}.$n" "$address$c" -d \
                "{\"model\":\"stories-$m\",\"prompt\":\"$p\",\"temperature\":0,\"max_tokens\":20,\"echo\":true}" &
            pids="$pids $!"
        done
    done
    # shellcheck disable=SC2086
    all_end $pids
done
for got in got.*; do
    want=want.${got#got.}
    want=${want%.*}
    sed 's/.*"text":"//; s/","logprobs".*//; s/\\"/"/g; s/\\n/\n/g' "$got" > text
    [ "$(cat text)" = "$(cat "$want")" ] || die "$got: $(cat text), alone: $(cat "$want")"
done
[ "$(metric 'etllm_launches_total{model_name="stories-moe"')" -gt 0 ] || die 'no launches'
[ "$(metric 'etllm_launch_failures_total{model_name="stories-llama"')" = 0 ] || die 'launches failed'
[ "$(metric 'etllm_launches_early_total{model_name="stories-moe"')" -gt 10 ] || die 'no answer left before both models were done'
[ "$(metric 'vllm:generation_tokens_total{model_name="stories-moe"')" -gt 100 ] || die 'too few tokens'
grep -c '^# TYPE vllm:num_requests_running ' answer | grep -qx 1 || die 'a metric is described twice'
stop
[ $status -eq 0 ] || die "exit status $status"

# One alone, by its name in the kernel; what is lost is opened again for both.
folders=stories_moe=$moe
start
ask $c '{"prompt":"The","model":"stories_moe","temperature":0,"max_tokens":20,"echo":true}'
has "$(head -c 40 want.moe.The)"
stop
folders=stories_moe=$moe,stories_llama=$stories
start --abort-launch -3
for m in moe moe llama; do
    ask $c "{\"prompt\":\"The\",\"model\":\"stories_$m\",\"temperature\":0,\"max_tokens\":20,\"echo\":true}"
done
has "$(head -c 40 want.llama.The)"
stop

refuse() { # WORDS [options]: it does not begin
    words=$1
    shift
    ! "$bin/etllm" serve --kernel "$kernel" --port 0 "$@" 2> refused.log || die 'it began'
    grep -qF -- "$words" refused.log || die "not '$words': $(cat refused.log)"
}
refuse 'holds several models: stories_llama, stories_moe' --model "$moe"
refuse 'holds no model "x"' --models "x=$moe"
refuse 'two models are called stories-moe' --models "$moe,$moe"
refuse '"stories_moe" is meant twice' --models "stories_moe=$moe,$moe"
refuse 'either --model or --models' --model "$moe" --models "$moe"
refuse 'either --model or --models'
refuse 'model.' --models "$moe,$stories"
