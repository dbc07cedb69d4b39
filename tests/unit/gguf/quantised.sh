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
# A block with columns of two heads of values, which then stay where the file has them: Qwen3.5 with heads of 64. It is near the checkpoint that
# the file was made of, too, from which other columns would be far.
sed -n '/^"qwen3_5":/{s/^/{/; s/,$/}/; s/ssm\.inner_size",\[4\],128/ssm.inner_size",[4],256/; s/"same",\[4,192\]/"same",[4,320]/; s/"same",\[64,192\]/"same",[64,320]/
    s/conv1d\.weight",256,\[2,32,4\],\[256,4,1\]/conv1d.weight",256,[2,64,4],[512,4,1]/; s/conv1d\.weight",384,\[2,32,4\],\[256,4,1\]/conv1d.weight",512,[2,64,4],[512,4,1]/
    s/qkv\.weight",4096,\[2,32,64\],\[4096,64,1\]/qkv.weight",4096,[2,64,64],[8192,64,1]/; s/qkv\.weight",6144,\[2,32,64\],\[4096,64,1\]/qkv.weight",8192,[2,64,64],[8192,64,1]/
    s/z\.weight",0,\[2,32,64\],\[4096,64,1\]/z.weight",0,[2,64,64],[8192,64,1]/; s/z\.weight",2048,\[2,32,64\],\[4096,64,1\]\]\],"same",\[64,128\]/z.weight",4096,[2,64,64],[8192,64,1]]],"same",[64,256]/
    s/linear_attn\.norm\.weight","same",\[32\]/linear_attn.norm.weight","same",[64]/; s/out_proj\.weight",0,\[64,2,2,32\],\[128,32,64,1\]\]\],"same",\[128,64\]/out_proj.weight",0,[64,2,2,64],[256,64,128,1]]],"same",[256,64]/;p}' "$record" > wide.json
mkdir -p heads
sed 's/"linear_value_head_dim": 32/"linear_value_head_dim": 64/' "$bin/../checkpoints/qwen3_5/config.json" > heads/config.json
matrix() { # NAME ROWS COLUMNS
    echo "$1.weight:bf16[$2,$3]:-0.2:0.2"
}
norm() { # NAME WIDTH
    echo "$1.weight:bf16[$2]:0.8:1.2"
}
{
    matrix lm_head 256 64
    matrix model.embed_tokens 256 64
    norm model.norm 64
    for l in 0 1 2 3; do
        m=model.layers.$l
        norm $m.input_layernorm 64
        norm $m.post_attention_layernorm 64
        matrix $m.mlp.down_proj 64 128
        matrix $m.mlp.gate_proj 128 64
        matrix $m.mlp.up_proj 128 64
        if [ $l = 2 ]; then
            for k in q:256 k:64 v:64; do matrix "$m.self_attn.${k%:*}_proj" "${k#*:}" 64; done
            matrix $m.self_attn.o_proj 64 128
            norm $m.self_attn.q_norm 32
            norm $m.self_attn.k_norm 32
        else
            for k in qkv:320 z:256 a:4 b:4; do matrix "$m.linear_attn.in_proj_${k%:*}" "${k#*:}" 64; done
            matrix $m.linear_attn.out_proj 64 256
            norm $m.linear_attn.norm 64
            echo "$m.linear_attn.A_log:bf16[4]:0:2"
            echo "$m.linear_attn.dt_bias:bf16[4]:-1:1"
            echo "$m.linear_attn.conv1d.weight:bf16[320,1,4]:-0.5:0.5"
        fi
    done
} > heads.list
"$bin/etfill" heads/model.safetensors - < heads.list
mkdir -p made
"$bin/etimport" heads -o heads.etg --max-tokens 8 --slots 1 --context 32 --wide --name same
"$bin/etinterp" heads.etg --stage graph --in in.safetensors --weights heads --out heads.safetensors
for f in q4_k q6_k; do
    "$tools/remake" wide.json qwen3_5 heads made $f
    mv made/model.gguf m.gguf
    compare heads $f
    grep -q 'transpose' kept.etg || die "$f: columns that are not where the file has them"
    "$bin/etsame" heads.safetensors kept.safetensors 0.5 > said || die "$f: $(cat said)"
    sed 's/^  y = transpose(\(.*\), \[0, 2, 1, 3\])$/  y = \1/' kept.etg > wrong.etg
    "$bin/etinterp" wrong.etg --stage graph --in in.safetensors --weights kept --out wrong.safetensors
    ! "$bin/etsame" heads.safetensors wrong.safetensors 0.5 > said || die "$f: columns in another order are as near"
done
# Tensors that are taken apart, put together or in another order.
for m in qwen3_next:q4_0 qwen3_5:q4_1 qwen3_5_moe:q5_0 granitemoehybrid:q8_0 nemotron_h:q5_1 llama4_text:q8_0 gemma3n:q4_0 gemma4_moe:iq4_nl kimi_linear:q8_0 gpt_oss:mxfp4 \
    mamba:q4_0 jamba:q8_0 falcon_h1:q4_1; do
    remade ${m%:*} ${m#*:}
done
remade deepseek_v2 q8_0 4e-3
