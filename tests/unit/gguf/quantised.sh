#!/bin/sh
# quantised.sh BIN TOOLS WORK: a GGUF file whose blocks stay quantised is the same model, bit for bit, as the same file with
# its blocks widened to f32: in the interpreter, whose sums are in one order. What is put together of tensors that are turned is of bf16, and near.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 tools=$2 work=$3
record=$(cd "$(dirname "$0")" && pwd)/architectures.json
rm -rf "$work"
mkdir -p "$work"
cd "$work"

# same MODEL FORMAT: and as many bytes as the file, but for a twentieth.
same() {
    "$tools/make_gguf" "$bin/../checkpoints/$1" m.gguf "$2"
    compare "$@"
    [ "$(stat -c %s kept/model.safetensors)" -le "$(($(stat -c %s m.gguf) * 21 / 20))" ] || die "$1 $2: a folder larger than its file"
}
# The same of what llama.cpp's converter makes.
remade() {
    mkdir -p made
    "$tools/remake" "$record" "$1" "$bin/../checkpoints/$1" made "$2"
    mv made/model.gguf m.gguf
    compare "$@"
}
compare() { # MODEL FORMAT [LIMIT]
    rm -rf kept wide
    "$bin/etgguf" m.gguf -o kept 2> said || die "$1 $2: $(cat said)"
    "$bin/etgguf" m.gguf -o wide --type f32 2> said || die "$1 $2: $(cat said)"
    for m in kept wide; do
        "$bin/etimport" $m -o $m.etg --max-tokens 8 --slots 1 --context 32 --wide --name same
        # The root of Gemma's width is rounded to the type of the embedding.
        sed -i "s/^x = [0-9.]* \* f32/x = 9.75 * f32/" $m.etg
        "$bin/etinterp" $m.etg --stage graph --in in.safetensors --weights $m --out $m.safetensors
    done
    grep -q "_codes : " kept.etg || die "$1 $2: nothing is quantised"
    if [ -n "${3:-}" ]; then
        "$bin/etsame" wide.safetensors kept.safetensors "$3" > said || die "$1 $2: $(cat said)"
    else
        cmp kept.safetensors wide.safetensors || die "$1 $2: other logits"
    fi
}
"$bin/etfill" in.safetensors 'input_ids:i32[1,5]:1:200'
for f in q4_0 q4_1 q5_0 q5_1 q8_0 q4_k q5_k q6_k iq4_nl iq4_xs mxfp4 nvfp4 q4_k+q6_k; do
    same stories-llama $f
done
# Experts, an embedding of its own, and other families; rows of 64, which blocks of 256 do not fit.
for m in mixtral:q4_1 qwen2_moe:q8_0+q5_1 qwen3:nvfp4 qwen3_moe:mxfp4 gemma:iq4_nl gemma2:q5_0+q4_0 gemma3:q4_0+q5_1 qwen2:q5_0 mistral:q4_0; do
    same ${m%:*} ${m#*:}
done
# Tensors that are taken apart, put together or in another order.
for m in qwen3_next:q4_0 qwen3_5:q4_1 qwen3_5_moe:q5_0 granitemoehybrid:q8_0 nemotron_h:q5_1 llama4_text:q8_0 gemma3n:q4_0 gemma4_moe:iq4_nl kimi_linear:q8_0 gpt_oss:mxfp4 \
    mamba:q4_0 jamba:q8_0 falcon_h1:q4_1; do
    remade ${m%:*} ${m#*:}
done
remade deepseek_v2 q8_0 4e-3
