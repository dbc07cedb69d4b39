#!/bin/sh
# etllm tokenize and detokenize: there and back, and what they refuse.
. "$(dirname "$0")/lib.sh"
designs=$src/tests/system/llm/designs
text="Hello,  世界 é 👨‍👩‍👧 <|im_end|> 12345
	tabs"
for name in llama3 qwen gpt2 deepseek o200k starcoder2 bloom llama2 mistral gemma; do
    ids=$("$bin/etllm" tokenize --model "$designs/$name" --bare -p "$text" --no-specials)
    back=$("$bin/etllm" detokenize --model "$designs/$name" --ids "$ids")
    [ "$back" = "$text" ] || die "$name: $back"
done
# Bytes that are no text: refused, kept when asked, U+FFFD when text is wanted.
bad=$(printf 'a\377b')
refuses 'not UTF-8 at byte 1' "$bin/etllm" tokenize --model "$designs/qwen" -p "$bad"
for name in qwen llama2; do
    ids=$("$bin/etllm" tokenize --model "$designs/$name" --raw --bare -p "$bad")
    back=$("$bin/etllm" detokenize --model "$designs/$name" --raw --ids "$ids" | od -An -c | tr -d ' \n')
    case $back in a377*b'\n') ;; *) die "$name, raw: $back" ;; esac
    back=$("$bin/etllm" detokenize --model "$designs/$name" --ids "$ids" | od -An -c | tr -d ' \n')
    case $back in a357277275*b'\n') ;; *) die "$name: $back" ;; esac
done
# Special tokens: found in the text, or text like any other; shown, or not.
ids=$("$bin/etllm" tokenize --model "$designs/qwen" -p 'x<|im_end|>')
[ "$("$bin/etllm" detokenize --model "$designs/qwen" --ids "$ids")" = 'x<|im_end|>' ] || die "special: $ids"
[ "$("$bin/etllm" detokenize --model "$designs/qwen" --ids "$ids" --no-specials)" = x ] || die "special: $ids"
[ "$(echo "$ids" | wc -w)" -eq 2 ] || die "special: $ids"
[ "$("$bin/etllm" tokenize --model "$designs/qwen" --no-specials -p 'x<|im_end|>' | wc -w)" -gt 2 ] || die 'no specials'
refuses 'no token 999999' "$bin/etllm" detokenize --model "$designs/qwen" --ids '1 999999'
refuses 'no token -1' "$bin/etllm" detokenize --model "$designs/qwen" --ids '-1'
refuses '"2x" is not a number' "$bin/etllm" detokenize --model "$designs/qwen" --ids '1 2x'
misused '--ids is missing' "$bin/etllm" detokenize --model "$designs/qwen"
refuses 'No such file' "$bin/etllm" detokenize --model "$designs" --ids 1
