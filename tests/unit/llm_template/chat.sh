#!/bin/sh
# etllm chat-template: where a checkpoint's templates are, what they see, what is refused.
. "$(dirname "$0")/../../system/llm/lib.sh"
chats=$src/tests/unit/llm_template/chats
c=$work/checkpoint
rm -rf "$c"
mkdir -p "$c"

render() { # what etllm makes of the messages in $c/m.json, with more options; a line, newlines as |
    "$bin/etllm" chat-template --model "$c" --messages "$c/m.json" "$@" | tr '\n' '|'
}
expect() { # WANTED GOT
    [ "$1" = "$2" ] || die "wanted: $1, got: $2"
}

# A golden conversation through the files of a checkpoint.
printf '{"bos_token": {"content": "<s>", "lstrip": false}, "eos_token": null, "model_max_length": 1e30}' > "$c/tokenizer_config.json"
printf '{"bos_token": "no", "eos_token": "</s>"}' > "$c/special_tokens_map.json"
cp "$chats/header.jinja" "$c/chat_template.jinja"
for case in plain turns tools calls; do
    "$bin/etllm" chat-template --model "$c" --messages - --now '2025-03-07 15:04:05' < "$chats/header.$case.json" > "$c/got"
    cmp "$c/got" "$chats/header.$case.txt" || die "header.$case"
done

# The other places, in the order in which they count.
printf '[{"role": "user", "content": "hi"}]' > "$c/m.json"
rm "$c/chat_template.jinja"
printf '{"chat_template": "third {{ eos_token }}"}' > "$c/chat_template.json"
expect 'third </s>' "$(render)"
printf '{"chat_template": "second {{ messages[0].content }} {{ unk_token is defined }}"}' > "$c/tokenizer_config.json"
expect 'second hi False' "$(render)"
printf '{"chat_template": [{"name": "default", "template": "plain"}, {"name": "tool_use", "template": "{{ tools|length }} tools"}]}' > "$c/tokenizer_config.json"
printf '[{"type": "function", "function": {"name": "f"}}]' > "$c/tools.json"
expect 'plain' "$(render)"
expect '1 tools' "$(render --tools "$c/tools.json")"
expect 'plain' "$(render --tools "$c/tools.json" --template-name default)"
printf 'first {{ add_generation_prompt }} {{ x }} {{ strftime_now("%%d.%%m.") }}' > "$c/chat_template.jinja"
mkdir "$c/additional_chat_templates"
printf 'rag {{ documents }}\n\n' > "$c/additional_chat_templates/rag.jinja"
expect 'first True [1] 02.01.' "$(render --kwargs '{"x": [1]}' --now 2025-01-02)"
expect 'first False  02.01.' "$(render --no-generation-prompt --now 2025-01-02)"
expect 'rag None|' "$(render --template-name rag)"
printf '{{ x|tojson }}' > "$c/own.jinja"
expect '{"a": 1}' "$(render --template "$c/own.jinja" --kwargs '{"x": {"a": 1}}')"

# A request: arguments that are text become JSON, reasoning has all its names, tools come along.
cat > "$c/m.json" << 'END'
{"model": "m", "tools": [{"type": "function"}], "messages": [{"role": "assistant", "reasoning": "why",
 "tool_calls": [{"function": {"name": "f", "arguments": "{\"k\": [1, \"v\"]}"}}, {"function": {"name": "g", "arguments": "{"}}]}]}
END
printf '{%% set m = messages[0] %%}{{ m.reasoning_content }} {{ m.thinking }} {{ tools|length }} {{ m.tool_calls[0].function.arguments.k[1] }} {{ m.tool_calls[1].function.arguments }}' > "$c/own.jinja"
expect 'why why 1 v {' "$(render --template "$c/own.jinja")"

# What is wrong is told with its place.
printf '[{"role": "user", "content": "hi"}]' > "$c/m.json"
printf 'a\n{{ raise_exception("no " ~ messages[0].role) }}' > "$c/own.jinja"
refuses 'line 2, column 19: no user' "$bin/etllm" chat-template --model "$c" --messages "$c/m.json" --template "$c/own.jinja"
printf 'a\n\n  {%% iff %%}' > "$c/own.jinja"
refuses 'own.jinja: default: line 3, column 6' "$bin/etllm" chat-template --model "$c" --messages "$c/m.json" --template "$c/own.jinja"
refuses 'no chat template nope' "$bin/etllm" chat-template --model "$c" --messages "$c/m.json" --template-name nope
refuses 'are not an array' "$bin/etllm" chat-template --model "$c" --messages "$c/tokenizer_config.json"
refuses 'variables for the template are not an object' "$bin/etllm" chat-template --model "$c" --messages "$c/m.json" --kwargs '[]'
refuses 'line 1, column' "$bin/etllm" chat-template --model "$c" --messages "$c/m.json" --kwargs '{'
refuses 'YYYY-MM-DD' "$bin/etllm" chat-template --model "$c" --messages "$c/m.json" --now yesterday
rm -r "$c/additional_chat_templates" "$c/chat_template.jinja" "$c/chat_template.json"
printf '{"chat_template": [{"name": "default"}]}' > "$c/tokenizer_config.json"
refuses 'entry 0 has no name and template' "$bin/etllm" chat-template --model "$c" --messages "$c/m.json"
printf '{}' > "$c/tokenizer_config.json"
refuses 'has no chat template' "$bin/etllm" chat-template --model "$c" --messages "$c/m.json"
misused '--messages is missing' "$bin/etllm" chat-template --model "$c"
