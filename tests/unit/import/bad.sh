# Read by run.sh: what must be refused, each by its name.
# shellcheck shell=sh

# ---- config.json ----
bad_config() {
    name=$1 fields=$2
    shift 2
    mkdir -p "$name"
    config "$fields" > "$name/config.json"
    cp plain/model.safetensors "$name/"
    refuses "$name" "$@"
}
bad_config arch '"architectures": ["DeepseekForCausalLM"]' 'architecture "DeepseekForCausalLM"' \
    'supported: ' 'LlamaForCausalLM, ' 'Qwen3ForCausalLM'
bad_config no_arch '"architectures": null' '"architectures"'
bad_config two_archs '"architectures": ["LlamaForCausalLM", "A"]' 'names 2 architectures'
bad_config arch_type '"architectures": "LlamaForCausalLM"' '"architectures" is a string'
bad_config no_hidden '"hidden_size": null' 'field "hidden_size" is null'
left_out='"hidden_size"'
bad_config left_hidden '"hidden_act": "silu"' 'has shape [53, 24], but config.json makes it [53, 4096]' \
    'note: left out, and so as the class of the architecture has them (transformers ' 'hidden_size 4096'
left_out=
bad_config null_rope '"architectures": ["GptOssForCausalLM"], "num_experts": 4, "num_experts_per_tok": 2, "rope_scaling": null' \
    'field "rope_parameters" is null'
bad_config hidden_text '"hidden_size": "24"' 'field "hidden_size" is a string, expected an integer'
bad_config hidden_real '"hidden_size": 24.5' 'field "hidden_size" is a real number'
bad_config negative '"num_hidden_layers": -2' 'field "num_hidden_layers" is -2, expected 1 to'
bad_config zero '"num_attention_heads": 0' 'field "num_attention_heads" is 0'
bad_config huge '"vocab_size": 9223372036854775807' 'field "vocab_size" is 9223372036854775807'
bad_config beyond '"vocab_size": 99999999999999999999' 'too big integer'
bad_config groups '"num_key_value_heads": 3' 'not a multiple of "num_key_value_heads" (3)'
bad_config shared_heads '"architectures": ["GPTNeoXForCausalLM"]' 'field "num_key_value_heads" is 2, which is not supported'
bad_config underived '"hidden_size": 23' '"hidden_size" (23) is not a multiple'
bad_config odd_head '"head_dim": 7' 'even "head_dim"'
bad_config large_head '"head_dim": 8194' 'at most 8192'
bad_config eps '"rms_norm_eps": "1e-5"' 'field "rms_norm_eps" is a string'
bad_config act '"hidden_act": "quick_gelu"' '"hidden_act"' '"quick_gelu"' 'supported: silu'
bad_config tie '"tie_word_embeddings": 1' 'field "tie_word_embeddings" is an integer'
bad_config window '"use_sliding_window": true' '"use_sliding_window" is true'
bad_config layer_types '"layer_types": ["full_attention", "sliding_attention"]' 'layer 1' \
    'sliding_attention'
bad_config window_untold '"architectures": ["Qwen2MoeForCausalLM"], "num_experts": 3, "num_experts_per_tok": 2, "moe_intermediate_size": 5,
    "shared_expert_intermediate_size": 7, "use_sliding_window": true, "sliding_window": 9' '"use_sliding_window" is true, and there is no "layer_types"'
bad_config window_against '"architectures": ["Qwen3MoeForCausalLM"], "num_experts": 3, "num_experts_per_tok": 2, "moe_intermediate_size": 5,
    "layer_types": ["full_attention", "sliding_attention"]' 'layer 1 is "sliding_attention", but "use_sliding_window" is false'
bad_config quantized '"quantization_config": {"quant_method": "awq"}' \
    'field "quantization_config.bits" is missing' '"quantization_config.group_size" is missing'
bad_config quant_method '"quantization_config": {"quant_method": "bitsandbytes"}' \
    '"quantization_config.quant_method" is "bitsandbytes"' 'supported: fp8, compressed-tensors, modelopt, gptq, awq, mxfp4'
bad_config quant_field '"quantization_config": {"quant_method": "mxfp4", "wobble": 2}' \
    'no weight of the model has a tensor "*_blocks"'
bad_config quant_none '"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 128}' \
    'no weight of the model has a tensor "*.qweight"'
bad_config quant_text '"quantization_config": "fp8"' '"quantization_config.quant_method" is missing'
bad_config quant_order '"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128, "desc_act": 7}' \
    'field "quantization_config.desc_act"'
bad_config quant_bits '"quantization_config": {"quant_method": "gptq", "bits": 3, "group_size": 128}' '"quantization_config.bits" is 3'
bad_config quant_group '"quantization_config": {"quant_method": "awq", "bits": 4, "group_size": 0}' '"quantization_config.group_size" is 0'
bad_config quant_block '"quantization_config": {"quant_method": "fp8", "weight_block_size": [128]}' \
    '"quantization_config.weight_block_size" has 1 numbers'
bad_config quant_block_text '"quantization_config": {"quant_method": "fp8", "weight_block_size": ["a", 128]}' \
    'field "quantization_config.weight_block_size.0" is a string, expected an integer'
bad_config quant_block_list '"quantization_config": {"quant_method": "fp8", "weight_block_size": [[128], 128.5]}' \
    '"quantization_config.weight_block_size.0" is a list, expected an integer' '"quantization_config.weight_block_size.1" is a real number'
bad_config quant_block_null '"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, null]}' \
    '"quantization_config.weight_block_size.1" is missing'
bad_config quant_block_zero '"quantization_config": {"quant_method": "fp8", "weight_block_size": [0, 128]}' \
    '"quantization_config.weight_block_size.0" is 0, expected 1 to'
bad_config quant_zeros '"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups":
    {"group_0": {"weights": {"type": "int", "num_bits": 4, "strategy": "group", "group_size": 32, "symmetric": false}}}}' 'zero points'
bad_config quant_three '"quantization_config": {"quant_method": "compressed-tensors", "format": "pack-quantized", "config_groups":
    {"group_0": {"weights": {"type": "float", "num_bits": 4, "strategy": "tensor"}}}}' 'weights of 4 bits ("float")' 'weights by "tensor"'
bad_config partial '"partial_rotary_factor": 0.5' '"partial_rotary_factor"'
bad_config two_ropes '"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_parameters": {"rope_type": "default"}' \
    'fields "rope_parameters" and "rope_scaling" are two names of one field, and differ'
bad_config ntk '"rope_scaling": {"rope_type": "ntk", "factor": 4.0}' '"rope_scaling.rope_type" is "ntk"' \
    'supported: default, linear, dynamic, llama3, yarn, longrope'
bad_config linear '"rope_scaling": {"type": "linear"}' '"rope_scaling.factor" is missing'
bad_config rope_text '"rope_parameters": "default"' 'field "rope_parameters" may change'
bad_config rope_more '"rope_parameters": {"rope_type": "default", "wobble": 2}' 'field "rope_parameters.wobble" may change'
bad_config yarn_order '"rope_scaling": {"type": "yarn", "factor": 4.0, "beta_fast": 1, "beta_slow": 2}' \
    '"beta_slow" (2) must be below "beta_fast" (1)'
bad_config longrope '"rope_scaling": {"type": "longrope", "short_factor": [1, 1], "long_factor": [1, 1, 1]},
    "original_max_position_embeddings": 9' 'the list in use has 2 numbers, 3 are needed'
# The long list is in use where more positions are asked for.
options='--context 12'
bad_config longrope_long '"rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1], "long_factor": [1, 2]},
    "original_max_position_embeddings": 9' 'the list in use has 2 numbers, 3 are needed'
options=
bad_config longrope_text '"rope_scaling": {"type": "longrope", "short_factor": [1, 1, 1], "long_factor": "x"}' \
    '"rope_scaling.long_factor" is a string, expected a list'
bad_config llama3_short '"rope_scaling": {"rope_type": "llama3", "factor": 8.0}' \
    '"rope_scaling.low_freq_factor" is missing' '"rope_scaling.high_freq_factor" is missing'
bad_config llama3_order '"rope_parameters": {"rope_type": "llama3", "factor": 8, "low_freq_factor": 4,
    "high_freq_factor": 1, "original_max_position_embeddings": 64}' 'field "low_freq_factor" (4) must be below "high_freq_factor" (1)'
bad_config theta '"rope_theta": -1' 'field "rope_theta" is -1'
# All problems of a file in one run.
bad_config several '"hidden_size": null, "vocab_size": "x", "hidden_act": "foo"' '"hidden_size"' \
    '"vocab_size"' '"hidden_act"'
bad_config twice '"vocab_size": 53, "use_cache": true, "use_cache": true' 'duplicate'

mkdir -p no_config truncated_config list_config binary_config
refuses no_config 'no_config/config.json' 'No such file'
printf '{"architectures": ["Llama' > truncated_config/config.json
refuses truncated_config 'line 1'
echo '[1, 2]' > list_config/config.json
refuses list_config 'is a list, expected an object'
head -c 300 plain/model.safetensors > binary_config/config.json
refuses binary_config 'config.json'
mkdir -p folder_config/config.json
refuses folder_config 'not a regular file'

# ---- tensors against config.json ----
checkpoint absent '' '/layers.1.mlp.up_proj/d'
refuses absent 'tensor "model.layers.1.mlp.up_proj.weight" is missing'
checkpoint headless '"tie_word_embeddings": false'
refuses headless 'tensor "lm_head.weight" is missing'
checkpoint shape '' 's/(layers.1.self_attn.k_proj.weight:bf16\[)12/\113/'
refuses shape 'tensor "model.layers.1.self_attn.k_proj.weight" has shape [13, 24]' 'makes it [12, 24]'
checkpoint rank '' 's/(model.norm.weight:bf16\[)24/\11,24/'
refuses rank 'tensor "model.norm.weight" has shape [1, 24]' 'makes it [24]'
checkpoint int '' 's/(layers.0.mlp.up_proj.weight:)bf16/\1i32/'
refuses int 'tensor "model.layers.0.mlp.up_proj.weight" has type I32'
checkpoint unlike '' 's/(layers.1.mlp.up_proj.weight:)bf16/\1f32/'
refuses unlike 'tensor "model.layers.1.mlp.up_proj.weight" is f32, but the first of its kind has bf16'
checkpoint shallow '"num_hidden_layers": 10000'
refuses shallow 'tensor "model.layers.2.input_layernorm.weight" is missing' 'more errors'
[ "$(wc -l < shallow.out)" -lt 30 ] || fail "shallow: too many lines"

# ---- quantised weights ----
# A copy of a golden checkpoint, its config.json changed.
quantised() {
    mkdir -p "$1"
    cp "$bin/../checkpoints/$2/model.safetensors" "$1/"
    sed "$3" "$bin/../checkpoints/$2/config.json" > "$1/config.json"
    ! cmp -s "$bin/../checkpoints/$2/config.json" "$1/config.json" || fail "$1: nothing changed"
}
quantised fp8_more fp8_block 's/"fmt": "e4m3"/"fmt": "e4m3", "wobble": [1]/'
refuses fp8_more 'field "quantization_config.wobble" may change'
quantised fp8_type fp8_block 's/"fmt": "e4m3"/"fmt": "e5m2"/'
refuses fp8_type 'field "quantization_config.fmt" is "e5m2"'
quantised fp8_blocks fp8_block 's/^ *128\(,*\)$/64\1/'
refuses fp8_blocks 'tensor "model.layers.0.self_attn.q_proj.weight_scale_inv" has shape [2, 2]' 'makes it [4, 4]'
quantised fp8_plain fp8_block 's/"intermediate_size": 256/"intermediate_size": 512/'
refuses fp8_plain 'tensor "model.layers.1.mlp.up_proj.weight" has shape [256, 256]' 'makes it [512, 256]'
quantised packed_groups int4_packed 's/"group_size": 128/"group_size": 32/'
refuses packed_groups 'q_proj.weight_scale" has shape [256, 2]' 'makes it [256, 8]'
quantised packed_bits int4_packed 's/"num_bits": 4/"num_bits": 8/'
refuses packed_bits 'q_proj.weight_packed" has shape [256, 32] of 4 u8 each' 'makes it [256, 256]'
quantised gptq_groups gptq 's/"group_size": 128/"group_size": 64/'
refuses gptq_groups 'q_proj.qzeros" has shape [2, 32] of 8 u4 each' 'makes it [4, 256]'
# Columns of a group that is not there.
ordered() { # NAME FIRST LAST
    checkpoint "$1" '"num_key_value_heads": 4, "intermediate_size": 40,
    "quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 8, "desc_act": true}' "s/\[12,24\]/[24,24]/; s/37/40/
        s/(.*_proj).weight:bf16\[([0-9]+),([0-9]+)\].*/\1.qweight:i32[@\3,\2]:-9:9\n\1.qzeros:i32[@\3,@\2]:-9:9\n\1.scales:f16[@\3,\2]:0:1\n\1.g_idx:i32[\3]:$2:$3/
        s/@24/3/g; s/@40/5/g"
}
ordered in_groups 0 2
accepts in_groups 'wo_order : i32[NH*D] = "model.layers.{l}.self_attn.o_proj.g_idx"'
ordered beyond_groups 0 200
refuses beyond_groups 'tensor "model.layers.0.self_attn.q_proj.g_idx": number ' ', expected 0 to 2' 'down_proj.g_idx' ', expected 0 to 4'
ordered before_groups -9 0
refuses before_groups 'q_proj.g_idx": number ' ' is -' ', expected 0 to 2'
quantised awq_odd awq 's/"intermediate_size": 256/"intermediate_size": 128/'
refuses awq_odd 'gate_proj.qweight" has shape [256, 32]' 'makes it [256, 16, 2, 4]'
quantised mxfp4_odd mxfp4 's/"intermediate_size": 96/"intermediate_size": 64/'
refuses mxfp4_odd 'gate_up_proj_blocks" has shape [4, 192, 4, 16]' 'makes it [4, 128, 128]'

# ---- rows that are quantised, too ----
options='--activations fp8'
refuses plain 'there is no field "quantization_config"'
checkpoint rows_silent "$(rows null "$by_channel")" "$(codes e4m3 weight_scale bf16 '\2,1')"
refuses rows_silent 'says nothing of activations'
bad_rows() { # NAME INPUT_ACTIVATIONS WHAT...
    checkpoint "$1" "$(rows "$2" "$by_channel")" "$(codes e4m3 weight_scale bf16 '\2,1')"
    name=$1
    shift 2
    refuses "$name" "$@"
}
bad_rows rows_int '{"type": "int", "num_bits": 8, "strategy": "token", "dynamic": true}' 'input_activations": 8 bits ("int") are not supported'
bad_rows rows_four '{"type": "float", "num_bits": 4, "strategy": "token", "dynamic": true}' '4 bits ("float") are not supported'
bad_rows rows_zeros '{"type": "float", "num_bits": 8, "strategy": "token", "dynamic": true, "symmetric": false}' 'zero points'
bad_rows rows_fixed '{"type": "float", "num_bits": 8, "strategy": "token", "dynamic": false}' 'a scale for each "token" that is not dynamic'
bad_rows rows_local '{"type": "float", "num_bits": 8, "strategy": "token", "dynamic": "local"}' 'input_activations.dynamic" is a string'
bad_rows rows_strategy '{"type": "float", "num_bits": 8, "strategy": "attn_head", "dynamic": true}' 'input_activations.strategy" is "attn_head"'
bad_rows rows_sizeless '{"type": "float", "num_bits": 8, "strategy": "group", "dynamic": true}' 'input_activations.group_size" is missing'
bad_rows rows_odd '{"type": "float", "num_bits": 8, "strategy": "group", "group_size": 16, "dynamic": true}' \
    'the 24 columns of "model.layers.{l}.self_attn.q_proj.weight" are no whole number of groups of 16'
bad_rows rows_more '{"type": "float", "num_bits": 8, "strategy": "token", "dynamic": true, "wobble": 1}' 'input_activations.wobble" may change'
bad_rows rows_text '"yes"' 'says nothing of activations'
checkpoint rows_unscaled "$(rows '{"type": "float", "num_bits": 8, "strategy": "tensor", "dynamic": false}' "$by_channel")" \
    "$(codes e4m3 weight_scale bf16 '\2,1')"
refuses rows_unscaled 'tensor "model.layers.0.self_attn.q_proj.input_scale" is missing'
checkpoint rows_of_int "$(rows "$token" "$by_channel" | sed 's/"float"/"int"/; s/float-/int-/')" "$(codes i8 weight_scale bf16 '\2,1')"
refuses rows_of_int '--activations fp8 is for weights of e4m3, these are "i8"'
quantised rows_scheme fp8_block 's/"dynamic"/"sometimes"/'
refuses rows_scheme 'field "quantization_config.activation_scheme" is "sometimes"' 'supported: dynamic, static'
quantised rows_none fp8_block '/activation_scheme/d'
refuses rows_none 'says nothing of activations'
quantised rows_static fp8_block 's/"dynamic"/"static"/'
refuses rows_static 'q_proj.activation_scale" is missing'
quantised rows_four_bits int4_packed 's/"LlamaForCausalLM"/"MistralForCausalLM"/'
refuses rows_four_bits 'says nothing of activations'
options='--activations fp8 --config-only'
refuses rows_deepseek_v2 'the quantised weight wb stands in no product that can quantise its rows'
options='--activations int8' want_status=2
refuses plain 'activations'
unset options want_status

# ---- safetensors ----
bad_file() {
    name=$1
    shift
    mkdir -p "$name"
    cp plain/config.json "$name/"
    cat > "$name/model.safetensors"
    refuses "$name" "$@"
}
size=$(wc -c < plain/model.safetensors)
head -c $((size - 1)) plain/model.safetensors | bad_file cut_tail 'model.safetensors'
head -c 200 plain/model.safetensors | bad_file cut_header 'model.safetensors'
head -c 5 plain/model.safetensors | bad_file cut_length 'model.safetensors'
: | bad_file empty 'model.safetensors'
(printf '\377\377\377\377\377\377\377\177' && tail -c +9 plain/model.safetensors) |
    bad_file long_header 'model.safetensors'
(head -c 8 plain/model.safetensors && head -c $((size - 8)) /dev/zero) |
    bad_file zero_header 'model.safetensors'
echo GGUF > model.gguf
refuses model.gguf 'expected a checkpoint directory (etgguf makes one of a GGUF file)'
mkdir -p no_weights && cp plain/config.json no_weights/
refuses no_weights 'no_weights'

# ---- index ----
bad_index() {
    name=$1
    shift
    mkdir -p "$name"
    cp shards/config.json shards/*.safetensors "$name/"
    cat > "$name/model.safetensors.index.json"
    refuses "$name" "$@"
}
index | sed 's/"b.safetensors"/"..\/plain\/model.safetensors"/' | bad_index traversal 'plain'
index | sed "s/\"b.safetensors\"/\"\\/etc\\/passwd\"/" | bad_index absolute 'passwd'
index | sed 's/"b.safetensors"/"c.safetensors"/' | bad_index no_shard 'c.safetensors'
index | sed 's/"b.safetensors"/7/' | bad_index number_shard 'index.json'
echo '{"weight_map": []}' | bad_index list_map 'index.json'
index | head -c 500 | bad_index cut_index 'index.json'
index | sed 's/"model.norm.weight": "b/"model.norm.weight": "a/' | bad_index wrong_shard 'model.norm.weight'

# ---- experts ----
checkpoint some_dense "$moe, \"mlp_only_layers\": [1]" "$norms
$experts"
refuses some_dense 'mlp_only_layers'
checkpoint every_other "$moe, \"decoder_sparse_step\": 2" "$norms
$experts"
refuses every_other 'decoder_sparse_step'
checkpoint too_many "$(echo "$moe" | sed 's/per_tok": 2/per_tok": 4/')" "$norms
$experts"
refuses too_many '"num_experts_per_tok" (4) is more than "num_experts" (3)'
checkpoint clipped "$(echo "$olmoe" | sed 's/null/8.0/')"
refuses clipped 'clip_qkv'
checkpoint one_short "$moe" "$norms
$experts
/experts.2.up/d"
refuses one_short 'tensor "model.layers.0.mlp.experts.2.up_proj.weight" is missing'
# What config.json does not speak of is not left out in silence.
checkpoint surplus_bias '' '/layers.1.self_attn.q_proj/{p;s/weight:bf16.*/bias:bf16[24]:-1:1/}'
refuses surplus_bias 'tensor "model.layers.1.self_attn.q_proj.bias" is a bias'
checkpoint surplus_mlp_bias '' '/layers.0.mlp.down_proj/{p;s/weight:bf16.*/bias:bf16[24]:-1:1/}'
refuses surplus_mlp_bias 'tensor "model.layers.0.mlp.down_proj.bias" is a bias'
checkpoint surplus_norm '' '/layers.0.self_attn.q_proj/{p;s/q_proj.weight:bf16.*/q_norm.weight:bf16[6]:-1:1/}'
refuses surplus_norm 'tensor "model.layers.0.self_attn.q_norm.weight" has no place'
bad_config softcap '"attn_logit_softcapping": 50.0' 'field "attn_logit_softcapping" may change what is computed'
bad_config dotted '"rope_scaling.factor": 50.0' 'field "rope_scaling.factor" may change what is computed'
bad_config residual '"residual_multiplier": 0.22' 'field "residual_multiplier" may change what is computed'

checkpoint surplus_end '' '$a model.norm.bias:bf16[24]:-1:1'
refuses surplus_end 'tensor "model.norm.bias" is a bias'
checkpoint surplus_top '' '$a model.embed_positions.weight:bf16[53,24]:-1:1'
refuses surplus_top 'tensor "model.embed_positions.weight" has no place'

# ---- fields of one architecture ----
bad_arch() { # NAME CLASS FIELDS PATTERN...: no weights are looked at
    mkdir -p "$1"
    config "\"architectures\": [\"$2\"], $3" > "$1/config.json"
    name=$1
    shift 3
    options=--config-only
    refuses "$name" "$@"
    options=''
}
bad_arch few_types Gemma2ForCausalLM '"layer_types": ["full_attention"]' '"layer_types" speaks of 1 layers, there are 2'
bad_arch mixed_types MistralForCausalLM '"sliding_window": 9, "layer_types": ["sliding_attention", "full_attention"]' \
    'field "layer_types": layer 1 is "full_attention"'
bad_arch other_types Gemma2ForCausalLM '"layer_types": ["full_attention", "chunked_attention"]' \
    'layer 1 is "chunked_attention"; supported: full_attention, sliding_attention'
bad_arch both_ways Gemma3ForCausalLM '"use_bidirectional_attention": true' '"use_bidirectional_attention"'
bad_arch local_rope Gemma3ForCausalLM '"rope_parameters": {"sliding_attention": {"rope_type": "yarn"}}' \
    '"rope_parameters.sliding_attention.rope_type" is "yarn"'
bad_arch few_marks SmolLM3ForCausalLM '"no_rope_layers": [1]' '"no_rope_layers" speaks of 1 layers'
bad_arch marks_text SmolLM3ForCausalLM '"no_rope_layers": "all"' '"no_rope_layers" is a string, expected a list'
bad_arch nothing GraniteForCausalLM '"logits_scaling": 0' 'field "logits_scaling" is 0, expected'
bad_arch inverse GPT2LMHeadModel '"n_embd": 24, "n_head": 4, "n_layer": 2, "scale_attn_by_inverse_layer_idx": true' \
    '"scale_attn_by_inverse_layer_idx" is true'
bad_arch scoring DeepseekV2ForCausalLM '"scoring_func": "sigmoid"' '"scoring_func" is "sigmoid"'
bad_arch patches ViTForImageClassification '"image_size": 30, "patch_size": 7' '"image_size" (30) is not a multiple'
bad_arch is_decoder BertModel '"is_decoder": true' '"is_decoder" is true'
bad_arch unpaged BertModel '"type_vocab_size": 0' 'field "type_vocab_size" is 0'
bad_arch huge_window MistralForCausalLM '"sliding_window": 99999999999' '"sliding_window" is 99999999999'

# ---- command line ----
options='--results f16' && refuses plain '--results f16: LlamaForCausalLM has no results of experts that it rounds'
options='--paged 16' && refuses plain 'no whole number of pages'
options='--template no_such.etg.in' && refuses plain 'no_such.etg.in'
options='--context 100' && refuses plain 'beyond the model'
want_status=2
options='--context 0' && refuses plain '--context 0: write a number from 1'
options='--cache f8' && refuses plain '--cache f8: write bf16|f16|f32'
options='--slots 12x' && refuses plain '--slots 12x'
options='--name 7up' && refuses plain '--name 7up'
options='--name state' && refuses plain '--name state: write NAME'
options='--wrong' && refuses plain 'etimport --help'
want_status=1
options='--slots 1000000 --config-only' && mkdir -p wide &&
    config '"max_position_embeddings": 1000000' > wide/config.json
options="$options --context 1000000" && refuses wide 'the caches would take'
options=''
if "$bin/etimport" plain -o no/such/folder/x.etg 2> unwritable.out; then
    fail "wrote into a folder that is not there"
fi
grep -q 'no/such/folder/x.etg: No such file' unwritable.out || fail "unwritable: $(cat unwritable.out)"
