#!/bin/sh
# What etllm refuses, by name, leaving no file behind.
. "$(dirname "$0")/lib.sh"
stories=$(checkpoint stories-llama) llama=$(checkpoint llama)

tokens() { # a file of tokens
    "$bin/etfill" tokens.safetensors "$@"
}
refuses_score() {
    word=$1
    shift
    refuses "$word" score llama tokens.safetensors bad.safetensors "$@"
    [ -z "$(ls bad.safetensors* 2> /dev/null)" ] || die "something was written: $word"
}
tokens 'input_ids:i32[2,3]:512:600' && refuses_score 'not in the vocabulary of 512'
tokens 'input_ids:i64[2,3]:-5:-1' && refuses_score 'sequence 0, position 0: token -'
tokens 'input_ids:f32[2,3]:0:1' && refuses_score '"input_ids" has type F32; expected I32 or I64'
tokens 'input_ids:i32[3]:0:9' && refuses_score '"input_ids" has shape [3]; expected [B, T]'
tokens 'input_ids:i32[1,257]:0:9' && refuses_score '257 tokens; the model keeps 256'
tokens 'tokens.1:i32[3]:0:9' && refuses_score 'neither "input_ids" nor "tokens.0"'
tokens 'tokens.0:i32[3]:0:9' 'tokens.1:i64[3]:0:9' && refuses_score 'another type'
tokens 'input_ids:i32[2,3]:0:9'
misused '--chunk 0: write a number from 1' score llama tokens.safetensors bad.safetensors --chunk 0
refuses 'No such file' score llama nowhere.safetensors bad.safetensors
refuses 'no-such-folder' score llama tokens.safetensors no-such-folder/x.safetensors

generate() {
    "$bin/etllm" generate --device "$device" "$@"
}
head -c 1000 llama.hsaco > cut.hsaco
refuses 'cut.hsaco' generate --kernel cut.hsaco --model "$stories" -p x
refuses 'nothing.hsaco' generate --kernel nothing.hsaco --model "$stories" -p x
# Weights of another model: a name, type or shape is not what the kernel was compiled for.
refuses 'model.' generate --kernel llama.hsaco --model "$stories" -p x
refuses 'tokenizer.json: No such file' generate --kernel llama.hsaco --model "$llama" -p x
refuses 'not UTF-8' generate --kernel stories-llama.hsaco --model "$stories" -p "$(printf 'a\377')"
long=$(awk 'BEGIN { for (i = 0; i < 600; i++) printf "fox " }')
refuses 'tokens; the model keeps 512' generate --kernel stories-llama.hsaco --model "$stories" -p "$long"
misused '--prompt is missing' generate --kernel llama.hsaco --model "$stories"
misused '--top-k x' generate --kernel llama.hsaco --model "$stories" -p x --top-k x
misused "no command 'sing'" "$bin/etllm" sing

if [ ! -e /dev/kfd ]; then
    refuses 'no device' "$bin/etllm" generate --device hsa --kernel llama.hsaco --model "$stories" -p x
fi
refuses 'emu' "$bin/etllm" generate --device emu:gfx942:cus=none --kernel llama.hsaco --model "$stories" -p x
status=0
generate --kernel stories-llama.hsaco --model "$stories" -p x -n 3 > /dev/full 2> full.log || status=$?
[ $status -eq 1 ] && grep -q 'cannot write the text' full.log || die "a full disk: $(cat full.log)"

# An empty batch is no error.
tokens 'input_ids:i32[0,3]:0:9' && score llama tokens.safetensors empty.safetensors
[ -s empty.safetensors ] || die 'no output for an empty batch'

# compare: what must fail does.
compare() {
    "$bin/etllm" compare "$@"
}
"$bin/etfill" a.safetensors --seed 1 'logits:f32[5,7]:-1:1'
"$bin/etfill" b.safetensors --seed 2 'logits:f32[5,7]:-1:1'
"$bin/etfill" c.safetensors --seed 1 'logits:f32[7,5]:-1:1'
"$bin/etfill" d.safetensors --seed 1 'other:f32[5,7]:-1:1'
compare --ref a.safetensors --out a.safetensors
refuses 'relative error 1.' compare --ref a.safetensors --out b.safetensors
refuses 'arg-max equal at' compare --ref a.safetensors --out b.safetensors --tolerance 100
refuses 'has shape [5, 7]' compare --ref a.safetensors --out c.safetensors
refuses '"logits" is missing' compare --ref a.safetensors --out d.safetensors
refuses 'no logits' compare --ref d.safetensors --out d.safetensors
