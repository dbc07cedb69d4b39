#!/bin/sh
# floats4.sh BIN WORK: checkpoints of floats of four bits in blocks, made here as compressed-tensors (nvfp4_packed, mxfp4_packed) and
# ModelOpt (its configuration in config.json, and in hf_quant_config.json) lay them out. By the lines that etimport writes, a weight and
# the experts of a mixture are what a dequantiser of a few lines (dequantise.c) makes of the tensors, bit for bit: in the interpreter and
# on an emulated GPU. What a configuration says and tensors do not is refused by its name.
set -eu
. "$(dirname "$0")/../../support/lib.sh"
bin=$1 work=$2/floats4
rm -rf "$work"
mkdir -p "$work"
cd "$work"
config() { # CLASS FIELDS
    printf '{"architectures": ["%s"], "hidden_size": 64, "intermediate_size": 96, "max_position_embeddings": 99, "num_attention_heads": 4,
        "num_hidden_layers": 2, "num_key_value_heads": 2, "rms_norm_eps": 1e-05,
        "vocab_size": 53, "tie_word_embeddings": true%s}\n' "$1" "$2"
}
matrix() { # NAME ROWS COLUMNS: as $layout has it
    case $layout in
    mxfp4_packed) printf '%s\n' "$1.weight_packed:u8[$2,$(($3 / 2))]:0:255" "$1.weight_scale:u8[$2,$(($3 / 32))]:118:124" ;;
    nvfp4_packed) printf '%s\n' "$1.weight_packed:u8[$2,$(($3 / 2))]:0:255" "$1.weight_scale:e4m3[$2,$(($3 / 16))]:0.1:400" \
        "$1.weight_global_scale:f32[1]:900:2000" "$1.input_global_scale:f32[1]:1:2" ;;
    modelopt) printf '%s\n' "$1.weight:u8[$2,$(($3 / 2))]:0:255" "$1.weight_scale:e4m3[$2,$(($3 / 16))]:0.1:400" \
        "$1.weight_scale_2:f32[]:0.0001:0.001" "$1.input_scale:f32[]:1:2" ;;
    esac
}
tensors() { # CLASS
    printf '%s\n' 'model.embed_tokens.weight:bf16[53,64]:-1:1' 'model.norm.weight:bf16[64]:-1:1'
    for l in 0 1; do
        p=model.layers.$l
        printf '%s\n' "$p.input_layernorm.weight:bf16[64]:0:1" "$p.post_attention_layernorm.weight:bf16[64]:0:1"
        matrix "$p.self_attn.q_proj" 64 64
        matrix "$p.self_attn.k_proj" 32 64
        matrix "$p.self_attn.v_proj" 32 64
        matrix "$p.self_attn.o_proj" 64 64
        if [ "$1" = MixtralForCausalLM ]; then
            echo "$p.block_sparse_moe.gate.weight:bf16[3,64]:-1:1"
            for e in 0 1 2; do
                matrix "$p.block_sparse_moe.experts.$e.w1" 96 64
                matrix "$p.block_sparse_moe.experts.$e.w3" 96 64
                matrix "$p.block_sparse_moe.experts.$e.w2" 64 96
            done
        else
            matrix "$p.mlp.gate_proj" 96 64
            matrix "$p.mlp.up_proj" 96 64
            matrix "$p.mlp.down_proj" 64 96
        fi
    done
}
made() { # NAME LAYOUT CLASS FIELDS
    name=$1 layout=$2
    mkdir "$name"
    config "$3" "$4" > "$name/config.json"
    tensors "$3" | "$bin/etfill" "$name/model.safetensors" --seed 7 -
}
line_of() { # WEIGHT: a model of it alone
    {
        echo 'model one'
        grep '^const' "$name.etg"
        sed -n "s/^  *\(weight $1_.*\)/\1/p; s/^  *\($1[_a-z0-9]* = .*\)/\1/p" "$name.etg" | sed 's/{l}/1/g'
        echo "output y = f32($2)"
    } > w.etg
}
same() { # got.safetensors is want.safetensors
    cmp want.safetensors got.safetensors
    [ "$(wc -c < want.safetensors)" -gt 20000 ] || die 'an empty weight'
}
right() { # the weight of a product
    "$bin/etimport" "$name" -o "$name.etg" > /dev/null
    line_of wd wd
    "$bin/dequantise" "$name" "$layout" model.layers.1.mlp.down_proj want.safetensors
    "$bin/etinterp" w.etg --weights "$name" --out got.safetensors
    same
    "$bin/etcc" w.etg --target=gfx942 -o w.hsaco
    "$bin/etrun" w.hsaco --device emu:gfx942:cus=16 --weights "$name" --out got.safetensors > out
    same
}
compressed() { # FORMAT STRATEGY GROUP [BITS]
    printf ', "quantization_config": {"quant_method": "compressed-tensors", "format": "%s", "ignore": ["lm_head"], "config_groups":
        {"group_0": {"format": "%s", "targets": ["Linear"], "input_activations": {"num_bits": 4, "dynamic": "local", "group_size": 16},
        "weights": {"type": "float", "num_bits": %s, "strategy": "%s", "group_size": %s, "symmetric": true, "dynamic": false}}}}' \
        "$1" "$1" "${4:-4}" "$2" "$3"
}
hf='{"producer": {"name": "modelopt"}, "quantization": {"quant_algo": "NVFP4", "kv_cache_quant_algo": "FP8", "group_size": 16, "exclude_modules": ["lm_head"]}}'

made nvfp4 nvfp4_packed LlamaForCausalLM "$(compressed nvfp4-pack-quantized tensor_group 16)"
right
made mxfp4 mxfp4_packed LlamaForCausalLM "$(compressed mxfp4-pack-quantized group 32)"
right
made own modelopt LlamaForCausalLM ', "quantization_config": {"quant_method": "modelopt", "quant_algo": "NVFP4", "ignore": ["lm_head"],
    "config_groups": {"group_0": {"targets": ["Linear"], "weights": {"type": "float", "num_bits": 4, "group_size": 16, "dynamic": false}}}}'
right
made beside modelopt LlamaForCausalLM ''
echo "$hf" > beside/hf_quant_config.json
right

# Experts: the second of three.
made experts nvfp4_packed MixtralForCausalLM ", \"num_local_experts\": 3, \"num_experts_per_tok\": 2$(compressed nvfp4-pack-quantized tensor_group 16)"
"$bin/etimport" experts -o experts.etg > /dev/null
line_of wd 'reshape(gather(wd, iota(1) + 1), [H, F])'
"$bin/dequantise" experts nvfp4_packed model.layers.1.block_sparse_moe.experts.1.w2 want.safetensors
"$bin/etinterp" w.etg --weights experts --out got.safetensors
same

# What is not so.
refused() { # DIR WORDS
    ! "$bin/etimport" "$1" -o no.etg > said 2>&1 || die "$1 was imported"
    grep -qF "$2" said || die "$1: $(cat said)"
}
lies() { # FROM DIR SED WORDS
    cp -r "$1" "$2"
    sed -i "$3" "$2"/*.json
    refused "$2" "$4"
}
lies nvfp4 group 's/"strategy": "tensor_group", "group_size": 16/"strategy": "tensor_group", "group_size": 32/' 'weights.group_size" is 32, and "nvfp4-pack-quantized" has blocks of 16'
lies nvfp4 bits 's/"num_bits": 4, "strategy"/"num_bits": 8, "strategy"/' '"nvfp4-pack-quantized" weights of 8 bits ("float") are not supported'
lies nvfp4 strategy 's/tensor_group/group/' 'weights by "group" are not supported; supported: tensor_group'
lies nvfp4 other 's/nvfp4-pack/mxfp4-pack/; s/tensor_group", "group_size": 16/group", "group_size": 32/' 'weight_scale" has'
lies mxfp4 other2 's/mxfp4-pack/nvfp4-pack/; s/"group", "group_size": 32/"tensor_group", "group_size": 16/' 'no weight of the model has a tensor "*.weight_global_scale"'
lies own algo 's/NVFP4/W4A8_AWQ/' '"quantization_config.quant_algo" is "W4A8_AWQ"'
lies own of_32 's/"group_size": 16/"group_size": 32/' 'weights.group_size" is 32, and "NVFP4" has blocks of 16'
lies beside of_8 's/"group_size": 16/"group_size": 8/' 'quantization_config.group_size" is 8, and "NVFP4" has blocks of 16'
lies beside none 's/"quant_algo"/"quant_algos"/' 'quantization_config.quant_algo" is missing'
cp -r beside short
sed -i 's/"intermediate_size": 96/"intermediate_size": 112/' short/config.json
refused short 'weight_scale" has shape'
