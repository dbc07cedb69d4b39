#!/bin/sh
# Bytes that the vocabulary has no token for are left out of a text: the log counts them, and /tokenize tells.
. "$(dirname "$0")/lib.sh"
mkdir folder
cp -r "$stories/." folder/
sed 's/^      "~": 94,/      "<no tilde>": 94,/' "$stories/tokenizer.json" > folder/tokenizer.json
folders=$work/folder
start --access-log access.log --name stories-llama
m='"model":"stories-llama","temperature":0,"max_tokens":2'
good /v1/completions "{$m,\"prompt\":\"Once upon a time\"}" '"prompt_tokens":5'
good /v1/completions "{$m,\"prompt\":[\"~Once ~~upon a time\",\"A ~fox\"],\"n\":2}" '"finish_reason":"length"'
good /v1/chat/completions "{$m,\"messages\":[{\"role\":\"user\",\"content\":\"~\"},{\"role\":\"user\",\"content\":\"~a\"}]}" '"length"'
good /tokenize '{"prompt":"a~b"}' '"dropped":1' '"count":'
good /tokenize '{"prompt":"a b"}'
! grep -q dropped answer || die "nothing was left out: $(cat answer)"
stop
for want in 'completions" 200 .* generated=2$' 'completions" 200 .* generated=8 dropped=4$' 'chat/completions" 200 .* dropped=2$'; do
    grep -q -- "$want" access.log || die "no line $want: $(cat access.log)"
done
