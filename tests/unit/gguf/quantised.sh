#!/bin/sh
# quantised.sh BIN TOOLS WORK: a GGUF file whose blocks stay quantised is the same model, bit for bit, as the same file with
# its blocks widened to f32: in the interpreter, whose sums are in one order.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 tools=$2 work=$3
rm -rf "$work"
mkdir -p "$work"
cd "$work"

# same MODEL FORMAT: and as many bytes as the file, but for a twentieth.
same() {
    "$tools/make_gguf" "$bin/../checkpoints/$1" m.gguf "$2"
    rm -rf kept wide
    "$bin/etgguf" m.gguf -o kept 2> said || die "$1 $2: $(cat said)"
    "$bin/etgguf" m.gguf -o wide --type f32 2> said || die "$1 $2: $(cat said)"
    [ "$(stat -c %s kept/model.safetensors)" -le "$(($(stat -c %s m.gguf) * 21 / 20))" ] || die "$1 $2: a folder larger than its file"
    for m in kept wide; do
        "$bin/etimport" $m -o $m.etg --max-tokens 8 --slots 1 --context 32 --wide --name same
        # The root of Gemma's width is rounded to the type of the embedding.
        sed -i "s/^x = [0-9.]* \* f32/x = 9.75 * f32/" $m.etg
        "$bin/etinterp" $m.etg --stage graph --in in.safetensors --weights $m --out $m.safetensors
    done
    grep -q "_codes : " kept.etg || die "$1 $2: nothing is quantised"
    cmp kept.safetensors wide.safetensors || die "$1 $2: other logits"
}
"$bin/etfill" in.safetensors 'input_ids:i32[1,5]:1:200'
for f in q4_0 q4_1 q5_0 q5_1 q8_0 q4_k q5_k q6_k iq4_nl iq4_xs mxfp4 nvfp4 q4_k+q6_k; do
    same stories-llama $f
done
# Experts, an embedding of its own, and other families; rows of 64, which blocks of 256 do not fit.
for m in mixtral:q4_1 qwen2_moe:q8_0+q5_1 qwen3:nvfp4 qwen3_moe:mxfp4 gemma:iq4_nl gemma2:q5_0+q4_0 gemma3:q4_0+q5_1 qwen2:q5_0 mistral:q4_0; do
    same ${m%:*} ${m#*:}
done
