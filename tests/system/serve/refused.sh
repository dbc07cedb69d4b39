#!/bin/sh
# What is refused, by name and with the right status.
. "$(dirname "$0")/lib.sh"
start --body-limit 4096 --max-tokens 100
c=/v1/completions t=/v1/chat/completions
p='"model":"stories-llama","prompt":"x"' u='"model":"stories-llama","messages":[{"role":"user","content":"x"}]'
bad 400 $c '{' 'not JSON' '"type":"invalid_request_error"'
bad 400 $c '[]' 'must be a JSON object'
bad 400 $c '{"prompt":"x","prompt":"y"}' 'duplicate'
bad 400 $c "$(printf '{"prompt":"a\377"}')" 'not JSON'
bad 400 $c '{}' "'prompt' is missing" '"param":"prompt"'
bad 404 $c '{"prompt":"x","model":"gpt"}' 'model_not_found' '"param":"model"'
bad 400 $c "{$p,\"colour\":1}" "'colour' is not known" '"param":"colour"'
bad 400 $c "{$p,\"temperature\":-1}" '"param":"temperature"'
bad 400 $c "{$p,\"temperature\":\"hot\"}" 'must be a number'
bad 400 $c "{$p,\"max_tokens\":1.5}" 'must be an integer'
full="\"model\":\"stories-llama\",\"prompt\":[$(awk 'BEGIN { for (i = 0; i < 511; i++) printf "5," }')5]"
bad 400 $c "{$full}" 'context_length_exceeded' 'keeps 512 tokens, the prompt has 512' '"param":"prompt"'
bad 400 $c "{$p,\"max_tokens\":1000000,\"min_tokens\":600}" 'no room for an answer of 600' 'context_length_exceeded'
bad 400 $c "{$p,\"max_tokens\":1000000,\"min_tokens\":101}" 'at most 100' '"param":"min_tokens"'
bad 400 $c "{$p,\"n\":1000}" '"param":"n"'
bad 400 $c "{$p,\"best_of\":3}" 'best_of'
bad 400 $c "{$p,\"suffix\":\"y\"}" 'suffix'
bad 400 $c "{$p,\"stop\":[\"\"]}" '"param":"stop"'
bad 400 $c "{$p,\"logit_bias\":{\"x\":1}}" 'no token id'
bad 400 $c "{$p,\"logit_bias\":{\"99999\":1}}" 'no token id'
bad 400 $c "{$p,\"prompt_logprobs\":1,\"stream\":true}" 'not streamed'
bad 400 $c "{$p,\"top_n_sigma\":2}" "'top_n_sigma' is not supported"
bad 400 $c "{$p,\"cache_salt\":\"x\"}" '--lenient'
bad 400 $c "{$p,\"guided_regex\":\"(?=a)\"}" 'looking ahead' '"param":"guided_regex"'
bad 400 $c "{$p,\"guided_regex\":\"a\",\"guided_choice\":[\"b\"]}" 'exclude each other'
bad 400 $c "{$p,\"structured_outputs\":{\"structural_tag\":\"x\"}}" 'structural_tag'
bad 400 $c "{$p,\"grammar\":\"root ::= other\"}" "no rule 'other'"
bad 400 $c "{$p,\"stream_options\":{\"include_usage\":true}}" "needs 'stream'"
bad 400 $c '{"model":"stories-llama","prompt":[1,2,99999]}' 'integers from 0'
bad 400 $c '{"model":"stories-llama","prompt":[]}' '"param":"prompt"'
bad 400 $t '{"model":"stories-llama","messages":[]}' '"param":"messages"'
bad 400 $t '{"messages":[{"content":"x"}]}' "no 'role'"
bad 400 $t '{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}' 'image_url'
bad 400 $t "{$u,\"tools\":[{\"type\":\"function\",\"function\":{\"name\":\"f\"}}]}" 'tool-parser'
bad 400 $t "{$u,\"tool_choice\":\"required\"}" "needs 'tools'"
bad 400 $t "{$u,\"top_logprobs\":2}" "needs 'logprobs'"
bad 400 $t "{$u,\"response_format\":{\"type\":\"xml\"}}" 'xml'
bad 400 $t "{$u,\"functions\":[]}" "'functions' is not known"
bad 400 /v1/responses '{"input":"x","previous_response_id":"r"}' 'previous_response_id'
bad 400 /v1/messages "{$u}" 'max_tokens' '"type":"error"'
t5='"max_tokens":5'
bad 400 /v1/messages "{$u,$t5,\"context_management\":{\"edits\":[{\"type\":\"clear_tool_uses_20250919\"}]}}" "'context_management'"
bad 400 /v1/messages "{$u,$t5,\"context_management\":{\"edits\":[{\"type\":\"clear_thinking_20251015\",\"keep\":{\"type\":\"thinking_turns\",\"value\":1}}]}}" "'context_management'"
bad 400 /v1/messages "{$u,$t5,\"mcp_servers\":[{\"type\":\"url\"}]}" "'mcp_servers'"
bad 400 /v1/messages "{$u,$t5,\"logprobs\":true}" 'not told there'
bad 400 /v1/messages "{$u,$t5,\"inference_geo\":\"us\"}" 'inference_geo'
bad 404 /v1/nothing '{}' 'nothing here'
bad 501 /infill '{}' 'not taught to fill in'
for path in /v1/embeddings /api/embed; do bad 501 $path '{}' "the model 'stories-llama' gives no vectors of texts"; done
bad 501 /v1/rerank '{}' "the model 'stories-llama' gives no scores of texts"
bad 400 /api/chat '{"messages":[{"role":"user","content":"x","images":["abc"]}]}' "'image'"
bad 400 /api/generate '{"prompt":"x","options":{"mirostat":2}}' "'mirostat' is not supported"
bad 404 /api/generate '{"model":"other","prompt":"x"}' 'model_not_found'
bad 405 /v1/models '{}' 'method_not_allowed'
bad 404 /v1/models/other '' 'model_not_found'
bad 400 /tokenize '{"content":1}' 'string'
bad 400 /detokenize '{"tokens":[-1]}' 'integers'
deep=$(awk 'BEGIN { for (i = 0; i < 4000; i++) printf "[" }')
bad 400 $c "$deep" 'not JSON'

# Too large: refused before it is read where its length is told, and also where it is not.
head -c 5000 /dev/zero | tr '\0' ' ' > large
code=$(curl -sS -o answer -w '%{http_code}' --data-binary @large "$address$c")
[ "$code" = 413 ] || die "a large body: $code"
code=$(curl -sS -o answer -w '%{http_code}' -H 'Transfer-Encoding: chunked' --data-binary @large "$address$c")
[ "$code" = 413 ] || die "a large body in chunks: $code"
has 'larger than 4096'
code=$(curl -sS -o answer -w '%{http_code}' -H "X-Long: $(head -c 100000 /dev/zero | tr '\0' x)" "$address/health")
[ "$code" = 431 ] || die "a large header: $code"

# A page of another site may not ask.
code=$(curl -sS -o answer -w '%{http_code}' -H 'Origin: http://evil.example' "$address/v1/models")
[ "$code" = 403 ] || die "a foreign origin: $code"
code=$(curl -sS -o answer -w '%{http_code}' -H "Origin: $address" "$address/v1/models")
[ "$code" = 200 ] || die "its own origin: $code"
stop

start --cors https://chat.example
curl -sS -i -X OPTIONS -H 'Origin: https://chat.example' "$address$t" > answer
has ' 204 ' 'Access-Control-Allow-Origin: https://chat.example' 'Access-Control-Allow-Methods'
stop

printf '# keys\n\nsecret-one\nsecret-two\n' > keys
start --api-key-file keys
bad 401 /v1/models '' 'invalid_api_key' '"type":"authentication_error"'
for key in secret-one secret-two; do
    ask /v1/models '' -H "Authorization: Bearer $key"
    [ "$code" = 200 ] || die "key $key: $code"
done
ask /v1/models '' -H 'x-api-key: secret-two'
[ "$code" = 200 ] || die "x-api-key: $code"
for key in secret-on secret-onee secret-on3 '# keys' ''; do
    ask /v1/models '' -H "Authorization: Bearer $key"
    [ "$code" = 401 ] || die "key '$key': $code"
done
good /health '' 'ok'
stop

# What keeps it from starting: exit status 1 and why; nothing is left behind.
fails() { # WORD [options]
    word=$1 status=0
    shift
    timeout 60 "$bin/etllm" serve --kernel "$kernel" --model "$stories" --port 0 "$@" 2> failed.log || status=$?
    [ $status -eq 1 ] && grep -qF -- "$word" failed.log || die "status $status: $(cat failed.log)"
}
mkdir broken
cp "$stories"/* broken
head -c 100000 "$stories/model.safetensors" > broken/model.safetensors
fails 'model.safetensors' --model broken
cp "$stories/model.safetensors" broken
echo '{' > broken/tokenizer.json
fails 'tokenizer.json' --model broken
head -c 1000 "$kernel" > cut.hsaco
fails 'cut.hsaco' --kernel cut.hsaco
: > empty
fails 'no key' --api-key-file empty
fails 'no-such' --unix no-such/socket
