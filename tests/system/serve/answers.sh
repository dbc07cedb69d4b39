#!/bin/sh
# What is answered: texts whole and streamed, in every dialect, and what is told of the server.
. "$(dirname "$0")/lib.sh"
start
m='"model":"stories-llama"'
greedy='"temperature":0'
p='"prompt":"Once upon a time"'
u='"messages":[{"role":"user","content":"Once upon a time"}]'

# The text is the one that the command line generates.
"$bin/etllm" generate --kernel "$kernel" --model "$stories" -p 'Once upon a time' -n 12 > generated 2> generate.log
good /v1/completions "{$m,$p,$greedy,\"max_tokens\":12,\"echo\":true}" "\"text\":\"$(cat generated)\"" \
    '"finish_reason":"length"' '"prompt_tokens":5' '"completion_tokens":12' '"total_tokens":17'
good /v1/completions "{$m,$p,$greedy,\"max_tokens\":12}" '"text":", there was' '"object":"text_completion"'

# Streamed, the pieces are the same text.
good /v1/completions "{$m,$p,$greedy,\"max_tokens\":12,\"stream\":true,\"stream_options\":{\"include_usage\":true}}" \
    'data: [DONE]' '"usage":null' '"completion_tokens":12' '"choices":[]'
sed -n 's/^data: .*"text":"\([^"]*\)".*/\1/p' answer | tr -d '\n' > streamed
[ "Once upon a time$(cat streamed)" = "$(cat generated)" ] || die "streamed: $(cat streamed)"
good /v1/chat/completions "{$m,$u,$greedy,\"max_completion_tokens\":12,\"stream\":true}" 'data: [DONE]' \
    '"delta":{"role":"assistant","content":""}' '"finish_reason":"length"' 'chat.completion.chunk'
sed -n 's/^data: .*"content":"\([^"]*\)".*/\1/p' answer | tr -d '\n' > streamed
[ "Once upon a time$(cat streamed)" = "$(cat generated)" ] || die "chat streamed: $(cat streamed)"
good /v1/chat/completions "{$m,$u,$greedy,\"max_tokens\":4}" '"role":"assistant"' '"content":", there was a"' \
    '"object":"chat.completion"' '"finish_reason":"length"'

# A stop string that lies over two tokens ends the text and is not part of it, whole and streamed.
good /v1/completions "{$m,$p,$greedy,\"max_tokens\":30,\"stop\":[\"zzz\",\"le bo\"]}" \
    '"text":", there was a gent"' '"finish_reason":"stop"'
good /v1/completions "{$m,$p,$greedy,\"max_tokens\":30,\"stop\":\"le bo\",\"stream\":true}" '"finish_reason":"stop"'
sed -n 's/^data: .*"text":"\([^"]*\)".*/\1/p' answer | tr -d '\n' > streamed
[ "$(cat streamed)" = ', there was a gent' ] || die "streamed up to a stop string: $(cat streamed)"

# Seeds: the same text twice, another one for another seed; n texts differ.
ask /v1/completions "{$m,$p,\"max_tokens\":12,\"seed\":5,\"n\":2}"
sed 's/.*"choices"/"choices"/; s/"usage".*//' answer > first
ask /v1/completions "{$m,$p,\"max_tokens\":12,\"seed\":5,\"n\":2}"
sed 's/.*"choices"/"choices"/; s/"usage".*//' answer | cmp - first || die 'one seed, two texts'
ask /v1/completions "{$m,$p,\"max_tokens\":12,\"seed\":9,\"n\":2}"
sed 's/.*"choices"/"choices"/; s/"usage".*//' answer | cmp -s - first && die 'two seeds, one text'
good /v1/completions "{$m,\"prompt\":[\"Once\",\"A fox\"],$greedy,\"max_tokens\":2}" '"index":0' '"index":1'

# What changes the choice.
good /v1/completions "{$m,$p,$greedy,\"max_tokens\":1,\"logit_bias\":{\"14\":100}}" '"text":"."'
good /v1/completions "{$m,$p,\"temperature\":5,\"top_k\":1,\"max_tokens\":4}" '"text":", there was a"'
good /v1/completions "{$m,$p,\"temperature\":5,\"top_p\":0.01,\"max_tokens\":1}" '"text":","'
good /v1/completions "{$m,$p,\"temperature\":2,\"min_p\":0.9,\"max_tokens\":1}" '"text":","'
good /v1/completions "{$m,$p,$greedy,\"max_tokens\":3,\"logprobs\":2}" '"tokens":[","," there"," was"]' \
    '"text_offset":[0,1,7]'
good /v1/chat/completions "{$m,$u,$greedy,\"max_tokens\":1,\"logprobs\":true,\"top_logprobs\":2}" \
    '"token":","' '"bytes":[44]' '"top_logprobs":[{'

# A schema as llama-server is given one.
good /v1/chat/completions "{$m,$u,$greedy,\"max_tokens\":8,\"response_format\":{\"type\":\"json_object\",\"schema\":{\"enum\":[\"only this\"]}}}" \
    '\"only this\"'

good /v1/completions "{$m,$p,$greedy,\"max_tokens\":20,\"guided_regex\":\"[0-9]{3}-[ab]\"}" '"finish_reason":"stop"'
sed 's/.*"text":"\([^"]*\)".*/\1/' answer | grep -qE '^[0-9]{3}-[ab]$' || die "a regular expression: $(cat answer)"
good /v1/completions "{$m,$p,$greedy,\"max_tokens\":20,\"structured_outputs\":{\"choice\":[\"red fox\",\"red hen\"]},\"n\":20}" \
    '"text":"red ' '"index":19'
good /v1/completions "{$m,$p,$greedy,\"max_tokens\":30,\"grammar\":\"root ::= [a-c]+ \\\"!\\\" | \\\"?\\\"\"}" '"text":"'
good /v1/completions "{$m,$p,$greedy,\"max_tokens\":12,\"guided_json\":\"{\\\"type\\\":\\\"integer\\\",\\\"minimum\\\":10,\\\"maximum\\\":12}\"}" \
    '"text":"1'

# Log probabilities of a prompt, as lm-eval asks for them: the first token has none, and the chosen one is
# among the likeliest.
good /v1/completions "{$m,$p,$greedy,\"max_tokens\":1,\"echo\":true,\"logprobs\":1}" '"token_logprobs":[null,-' \
    '"top_logprobs":[null,{' '"text":"Once upon a time,'
sed 's/.*"tokens":\[\([^]]*\)\].*/\1/' answer | grep -q '" upon"," a"," time",","' || die "tokens of the prompt: $(cat answer)"
told=$(sed 's/.*"token_logprobs":\[\([^]]*\)\].*/\1/' answer)
good /v1/completions "{$m,$p,$greedy,\"max_tokens\":0,\"echo\":true,\"logprobs\":1}" "\"token_logprobs\":[${told%,*}]" \
    '"completion_tokens":0'
good /v1/completions "{$m,$p,$greedy,\"max_tokens\":1,\"prompt_logprobs\":0}" '"prompt_logprobs":[null,{"' '"decoded_token":" upon"'
# What comes is as likely as it was when it was a part of the prompt.
good /v1/completions "{$m,\"prompt\":\"Once\",$greedy,\"max_tokens\":1,\"logprobs\":0,\"logit_bias\":{}}" '"token_logprobs":[-'

# The other dialects.
good /v1/responses "{$m,\"input\":\"Once upon a time\",$greedy,\"max_output_tokens\":4}" '"object":"response"' \
    '"type":"output_text"' '"text":", there was a"' '"status":"incomplete"' '"output_tokens":4'
good /v1/responses "{$m,\"input\":\"Once upon a time\",$greedy,\"max_output_tokens\":2,\"stream\":true}" \
    'event: response.created' 'event: response.output_text.delta' '"delta":" there"' 'event: response.incomplete'
one='"token":",","logprob":-' two='"top_logprobs":[{"token":",","logprob":-'
good /v1/responses "{$m,\"input\":\"Once upon a time\",$greedy,\"max_output_tokens\":1,\"include\":[\"message.output_text.logprobs\"],\"top_logprobs\":2}" \
    "\"annotations\":[],\"logprobs\":[{$one" "$two"
good /v1/responses "{$m,\"input\":\"Once upon a time\",$greedy,\"max_output_tokens\":1,\"include\":[\"message.output_text.logprobs\"],\"stream\":true}" \
    "\"delta\":\",\",\"logprobs\":[{$one" "\"text\":\",\",\"logprobs\":[{$one"
good /v1/messages "{$m,$u,$greedy,\"max_tokens\":4}" '"type":"message"' '"text":", there was a"' \
    '"stop_reason":"max_tokens"' '"output_tokens":4'
good /v1/messages "{$m,$u,$greedy,\"max_tokens\":9,\"output_format\":{\"type\":\"json_schema\",\"schema\":{\"enum\":[7]}}}" '"text":"7"'
good /v1/messages "{$m,$u,$greedy,\"max_tokens\":2,\"stream\":true}" 'event: message_start' \
    '"type":"text_delta"' '"text":" there"' 'event: message_stop'

# Which stop sequence it was; what agents send that changes nothing, and what is not there.
good /v1/messages "{$m,$u,$greedy,\"max_tokens\":9,\"stop_sequences\":[\"zz\",\" was\"]}" '"stop_reason":"stop_sequence"' '"stop_sequence":" was"'
good /v1/messages "{$m,$u,$greedy,\"max_tokens\":9,\"stop_sequences\":[\" was\"],\"stream\":true}" '"stop_sequence":" was"'
good /v1/messages "{$m,$u,$greedy,\"max_tokens\":2,\"stop_sequences\":[\"zz\"],\"mcp_servers\":[],\"speed\":\"standard\",\"cache_control\":{\"type\":\"ephemeral\"},\"context_management\":{\"edits\":[{\"type\":\"clear_thinking_20251015\",\"keep\":\"all\"}]}}" \
    '"stop_sequence":null' '"stop_reason":"max_tokens"'
good /v1/chat/completions "{$m,$u,$greedy,\"max_tokens\":2,\"audio\":null,\"prompt_cache_options\":{}}" '"finish_reason":"length"'

# Who asks for more than there is room for gets what there is room for, and is told that it was cut.
long=$(awk 'BEGIN { for (i = 0; i < 500; i++) printf " a" }')
ul="\"messages\":[{\"role\":\"user\",\"content\":\"$long\"}]"
good /v1/messages/count_tokens "{$m,$ul}" '{"input_tokens":'
room=$((512 - $(sed 's/[^0-9]//g' answer)))
good /v1/messages "{$m,$ul,$greedy,\"max_tokens\":32000}" '"stop_reason":"max_tokens"' "\"output_tokens\":$room}"
good /v1/messages "{$m,$ul,$greedy,\"max_tokens\":32000,\"stream\":true}" '"stop_reason":"max_tokens"' "\"output_tokens\":$room}"
good /v1/responses "{$m,\"input\":\"$long\",$greedy,\"max_output_tokens\":32000}" '"status":"incomplete"' '"reason":"max_output_tokens"' \
    "\"output_tokens\":$room,"
good /v1/chat/completions "{$m,$ul,$greedy,\"max_completion_tokens\":32000}" '"finish_reason":"length"' "\"completion_tokens\":$room,"
good /v1/completions "{$m,\"prompt\":\"$long\",$greedy,\"max_tokens\":32000,\"ignore_eos\":true}" '"finish_reason":"length"' \
    "\"completion_tokens\":$room,"

# Ollama's, in lines of JSON.
o='"model":"stories-llama:latest","options":{"temperature":0,"num_predict":4,"num_ctx":512}'
good /api/chat "{$o,$u,\"stream\":false}" '"message":{"role":"assistant","content":", there was a"}' '"done":true' '"eval_count":4' \
    '"done_reason":"length"'
good /api/generate "{$o,$p}" '"response":" there"' '"done":false' '"done":true' '"prompt_eval_count":5'
[ "$(wc -l < answer)" = 5 ] || die "lines: $(cat answer)"
good /api/chat "{$o,$u,\"stream\":false,\"format\":{\"enum\":[7]}}" '"content":"7"'
good /api/chat "{$o,$u,\"stream\":false,\"logprobs\":true,\"top_logprobs\":1}" "\"logprobs\":[{$one" "$two"
good /api/generate "{$o,$p,\"logprobs\":true}" "\"done\":false,\"logprobs\":[{\"token\":\" there\",\"logprob\":-"
good /api/tags '' '"name":"stories-llama"'
good /api/show '{"model":"stories-llama"}' '"capabilities":["completion"'
good /version '' '"version":"'
good /apply-template "{$u}" '{"prompt":"Once upon a time"}'
good /v1/messages/count_tokens "{$m,$u}" '{"input_tokens":5}'

# What there is to know.
good /health '' '"status":"ok"'
good /v1/models '' '"id":"stories-llama"' '"max_model_len":512'
good /v1/models/stories-llama '' '"object":"model"'
good /props '' '"total_slots":16' '"n_ctx":512' '"default_generation_settings"'
good /slots '' '"is_processing":false' '"n_decoded":'
good /tokenize '{"prompt":"Once upon"}' '"count":3'
tokens=$(sed 's/.*"tokens":\(\[[^]]*\]\).*/\1/' answer)
good /detokenize "{\"tokens\":$tokens}" 'Once upon"'
good /metrics '' 'vllm:num_requests_running{model_name="stories-llama"} 0' \
    'vllm:time_to_first_token_seconds_bucket{le="0.001",model_name="stories-llama"}' \
    'vllm:inter_token_latency_seconds_sum' 'vllm:e2e_request_latency_seconds_count' \
    'vllm:request_success_total{finished_reason="length"' 'vllm:kv_cache_usage_perc' \
    'vllm:prompt_tokens_total' 'vllm:generation_tokens_total' 'vllm:time_per_output_token_seconds_bucket'
# Of one prompt asked for twice both count as a whole, however much lay there.
before=$(metric vllm:prompt_tokens_total)
good /v1/completions "{$m,$p,$greedy,\"max_tokens\":1}" '"prompt_tokens":5'
good /v1/completions "{$m,$p,$greedy,\"max_tokens\":1}" '"prompt_tokens":5'
[ "$(metric vllm:prompt_tokens_total)" = $((before + 10)) ] || die "tokens of prompts: $(metric vllm:prompt_tokens_total)"
good / '' '<!doctype html>'
stop
[ $status -eq 0 ] || die "exit status $status"
