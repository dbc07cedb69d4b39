#!/bin/sh
# Rounds of tools as the dialects tell them: a model's turn is one message, whichever blocks or items it came in.
. "$(dirname "$0")/lib.sh"
cat > template.jinja <<'END'
{%- for m in messages -%}
<{{ m.role }}>{{ m.reasoning_content or '' }}|{{ m.content or '' }}|
{%- for c in m.tool_calls or [] %} {{ c.function.name }} {{ c.function.arguments | tojson }}{% endfor %}
{% endfor -%}
END
start --tool-parser hermes --chat-template-file template.jinja

call() { printf '{"id":"%s","type":"function","function":{"name":"time","arguments":"{\\"city\\":\\"%s\\"}"}}' "$1" "$2"; }
chat="{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"reasoning_content\":\"hm\",\"content\":\"I look.\",\"tool_calls\":[$(call c1 Oslo),$(call c2 Rome)]},
{\"role\":\"tool\",\"tool_call_id\":\"c1\",\"content\":\"1\"},{\"role\":\"tool\",\"tool_call_id\":\"c2\",\"content\":\"2\"}"
good /apply-template "{\"messages\":[$chat]}" '<user>|x|<assistant>hm|I look.| time {\"city\": \"Oslo\"} time {\"city\": \"Rome\"}<tool>|1|<tool>|2|'

good /v1/messages/count_tokens "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},{\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"hm\",\"signature\":\"\"},
{\"type\":\"text\",\"text\":\"I look.\"},{\"type\":\"tool_use\",\"id\":\"c1\",\"name\":\"time\",\"input\":{\"city\":\"Oslo\"}},{\"type\":\"tool_use\",\"id\":\"c2\",\"name\":\"time\",\"input\":{\"city\":\"Rome\"}}]},
{\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"c1\",\"content\":\"1\"},{\"type\":\"tool_result\",\"tool_use_id\":\"c2\",\"content\":[{\"type\":\"text\",\"text\":\"2\"}]}]}]}"
tokens=$(sed 's/.*"input_tokens":\([0-9]*\).*/\1/' answer)
good /v1/chat/completions "{\"messages\":[$chat],\"max_tokens\":1}" "\"prompt_tokens\":$tokens,"
items() { # REASONING
    printf '{"role":"user","content":"x"},%s{"type":"message","role":"assistant","content":[{"type":"output_text","text":"I look."}]},' "$1"
    printf '{"type":"function_call","call_id":"c1","name":"time","arguments":"{\\"city\\":\\"Oslo\\"}"},{"type":"function_call","call_id":"c2","name":"time","arguments":"{\\"city\\":\\"Rome\\"}"},'
    printf '{"type":"function_call_output","call_id":"c1","output":"1"},{"type":"function_call_output","call_id":"c2","output":"2"}'
}
for part in content summary; do
    good /v1/responses "{\"input\":[$(items "{\"type\":\"reasoning\",\"id\":\"r\",\"$part\":[{\"type\":\"text\",\"text\":\"hm\"}]},")],\"max_output_tokens\":1}" "\"input_tokens\":$tokens,"
done
# A turn behind another is one of its own.
good /apply-template "{\"messages\":[{\"role\":\"assistant\",\"content\":\"a\"},{\"role\":\"assistant\",\"content\":\"b\"}]}" '<assistant>|a|<assistant>|b|'
twice='{"role":"assistant","content":"a"},{"type":"message","role":"assistant","content":"b"},{"type":"reasoning","id":"r","summary":[{"type":"summary_text","text":"t"}]},{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}'
good /v1/responses "{\"input\":[$twice],\"max_output_tokens\":1}" '"input_tokens":'
tokens=$(sed 's/.*"input_tokens":\([0-9]*\).*/\1/' answer)
twice='{"role":"assistant","content":"a"},{"role":"assistant","content":"b"},{"role":"assistant","reasoning_content":"t","content":null,"tool_calls":[{"id":"c","type":"function","function":{"name":"f","arguments":"{}"}}]}'
good /v1/chat/completions "{\"messages\":[$twice],\"max_tokens\":1}" "\"prompt_tokens\":$tokens,"

# A model that may not call in parallel does not; tools that are not allowed are not there.
tools='{"name":"time","input_schema":{"type":"object","properties":{},"additionalProperties":false}}'
good /v1/messages "{\"max_tokens\":200,\"temperature\":1,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"tools\":[$tools],\"tool_choice\":{\"type\":\"any\",\"disable_parallel_tool_use\":true}}" '"stop_reason":"tool_use"'
[ "$(grep -o '"type":"tool_use"' answer | wc -l)" = 1 ] || die 'several calls'

# Integers beyond 64 bits stay themselves, wherever a schema, a call or a tool has them.
big=123456789012345678901234567890
for schema in "{\"const\":$big}" "{\"type\":\"integer\",\"enum\":[\"$big\",$big]}" "{\"enum\":[$big],\"minimum\":5}"; do
    good /v1/completions "{\"prompt\":\"x\",\"max_tokens\":60,\"guided_json\":$schema}" "\"text\":\"$big\""
done
bad 400 /v1/completions "{\"prompt\":\"x\",\"guided_json\":{\"type\":\"string\",\"enum\":[$big]}}" 'nothing fits'
tools="{\"name\":\"time\",\"input_schema\":{\"type\":\"object\",\"properties\":{\"n\":{\"const\":$big}},\"required\":[\"n\"],\"additionalProperties\":false}}"
ask="\"max_tokens\":200,\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]"
good /v1/messages "{$ask,\"tools\":[$tools],\"tool_choice\":{\"type\":\"any\"}}" "\"input\":{\"n\":$big}"
tool="{\"type\":\"function\",\"function\":{\"name\":\"time\",\"parameters\":{\"const\":$big}}}"
good /apply-template "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"tools\":[$tool]}" "\\\"const\\\":$big}"
spoken="{\"role\":\"assistant\",\"tool_calls\":[{\"function\":{\"name\":\"f\",\"arguments\":\"{\\\"n\\\":$big}\"}}]}"
good /v1/chat/completions "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},$spoken],\"max_tokens\":1}" '"prompt_tokens":'
tokens=$(sed 's/.*"prompt_tokens":\([0-9]*\).*/\1/' answer)
used="{\"role\":\"assistant\",\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":{\"n\":$big}}]}"
good /v1/messages/count_tokens "{\"messages\":[{\"role\":\"user\",\"content\":\"x\"},$used]}" "\"input_tokens\":$tokens"
# Where a prompt is told again, tokens that its text does not show take no room in it.
good /v1/completions '{"prompt":"Once upon","echo":true,"logprobs":1,"max_tokens":0}' '"text_offset":[0,0,4]'
stop
[ $status -eq 0 ] || die "exit status $status"
