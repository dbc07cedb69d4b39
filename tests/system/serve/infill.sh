#!/bin/sh
# What is to be in a hole of a text: the prompt has the tokens of the model's tokenizer around its parts, in every
# dialect; models without them refuse. And llama-server's own /completion.
. "$(dirname "$0")/lib.sh"
# The last three tokens of the vocabulary, and what merges into them, become marks of a hole.
mkdir filler
cp "$stories"/* filler
chmod u+w filler/*
sed -n '/^ *"Ġtry",$/=' "$stories/tokenizer.json" > line
awk -v at="$(cat line)" -v n="$(wc -l < "$stories/tokenizer.json")" '
    /"added_tokens": \[/ {
        print
        split("<fim_prefix> <fim_suffix> <fim_middle>", name, " ")
        for (i = 1; i <= 3; i++)
            printf "{\"id\": %d, \"content\": \"%s\", \"single_word\": false, \"lstrip\": false, \"rstrip\": false, \"normalized\": false, \"special\": true},\n", 1020 + i, name[i]
        next
    }
    { sub(/"Ġtrying": 1021/, "\"<fim_prefix>\": 1021"); sub(/"Ġmeans": 1022/, "\"<fim_suffix>\": 1022"); sub(/"har": 1023/, "\"<fim_middle>\": 1023") }
    NR == at - 2 { print "]"; next }
    NR < at - 1 || NR > at + 10 { print }' "$stories/tokenizer.json" > filler/tokenizer.json

ids() { # TEXT: its tokens, with a comma behind each
    ask /tokenize "{\"content\":\"$1\"}"
    sed 's/.*"tokens":\[\([0-9,]*\)\].*/\1,/; s/^,$//' answer
}
text() { # the text of the answer
    sed 's/.*"\(content\|text\|response\)":"\([^"]*\)".*/\2/' answer
}
folders=filler
start
before=$(ids 'Once upon') behind=$(ids 'went home. The end.') begun=$(ids ' a')
greedy='"temperature":0,"n_predict":6'
good /completion "{\"prompt\":[0,1021,${before}1022,${behind}1023],$greedy}" '"stop":true' '"stop_type":"limit"' \
    '"tokens_predicted":6' '"timings":{'
text > want
evaluated=$(grep -o '"tokens_evaluated":[0-9]*' answer)
hole='"input_prefix":"Once upon","input_suffix":"went home. The end."'
good /infill "{$hole,$greedy}" "$evaluated" "\"content\":\"$(cat want)\""
good /infill "{$hole,$greedy,\"stream\":true}" '"stop":false' '"stop":true' "$evaluated"
sed -n 's/^data: .*"content":"\([^"]*\)".*/\1/p' answer | tr -d '\n' | cmp - want || die 'another text in a stream'
good /v1/completions '{"prompt":"Once upon","suffix":"went home. The end.","temperature":0,"max_tokens":6}' "\"text\":\"$(cat want)\""
good /api/generate '{"model":"filler","prompt":"Once upon","suffix":"went home. The end.","stream":false,"options":{"temperature":0,"num_predict":6}}' \
    "\"response\":\"$(cat want)\""

# What the answer begins with is behind the last mark; names of marks in the code are text.
good /completion "{\"prompt\":[0,1021,${before}1022,${behind}1023,${begun%,}],$greedy}" '"stop":true'
text > want
good /infill "{$hole,\"prompt\":\" a\",$greedy}" "\"content\":\"$(cat want)\""
good /infill "{\"input_prefix\":\"<fim_suffix>\",\"input_suffix\":\"\",$greedy}" '"stop":true'
[ "$(grep -o '"tokens_evaluated":[0-9]*' answer | grep -o '[0-9]*')" -gt 4 ] || die 'the name of a mark in a text is a mark'

# Of other files the last ones that there is room for, whole.
many=$(for i in $(seq 300); do printf 'word '; done)
good /infill "{$hole,$greedy,\"input_extra\":[{\"filename\":\"a.c\",\"text\":\"$many$many\"},{\"filename\":\"b.c\",\"text\":\"int b;\"}]}" '"stop":true'
some=$(grep -o '"tokens_evaluated":[0-9]*' answer | grep -o '[0-9]*')
good /infill "{$hole,$greedy,\"input_extra\":[{\"filename\":\"b.c\",\"text\":\"int b;\"}]}" "\"tokens_evaluated\":$some"
[ "$some" -gt "${evaluated#*:}" ] || die 'another file is not in the prompt'
bad 400 /infill "{$hole,\"input_extra\":[{\"filename\":\"a\"}]}" "'text'"
bad 400 /infill '{"input_prefix":5}' "'input_prefix' must be a string"

# A mark ends the answer.
good /infill "{$hole,$greedy,\"logit_bias\":{\"1022\":100}}" '"content":""' '"stop_type":"word"'

# A prompt that goes through no template, and paths of other servers.
good /api/generate '{"model":"filler","prompt":"Once upon a time","raw":true,"stream":false,"options":{"temperature":0,"num_predict":4}}' \
    '"response":", there was a"' '"prompt_eval_count":5'
good /chat/completions '{"messages":[{"role":"user","content":"Once upon a time"}],"temperature":0,"max_tokens":4}' '", there was a"'
good /v1/health '' ok
stop

# By ids that the checkpoint names.
cp "$stories"/tokenizer.json filler
sed '1s/{/{"fim_token_ids":{"prefix":1021,"suffix":1022,"middle":1023},/' "$stories/tokenizer_config.json" > filler/tokenizer_config.json
start
good /infill "{$hole,$greedy}" "$evaluated"
stop
folders=$stories
start
bad 501 /infill "{$hole,$greedy}" 'not taught to fill in'
bad 400 /v1/completions '{"prompt":"Once","suffix":"end","max_tokens":2}' 'not taught to fill in'
stop
