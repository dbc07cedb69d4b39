# Read by run.sh: what must be accepted, in every spelling.
# shellcheck shell=sh

checkpoint plain ''
accepts plain 'model plain' 'const D     = 6 ' 'const CTX   = 99 ' 'theta=10000)' 'eps=1e-5' \
    'scale=0.4082482904638631)' '@ embed.T'
[ -z "$(cat plain.out)" ] || fail "plain: unexpected words: $(cat plain.out)"

checkpoint by_type '"architectures": null, "model_type": "llama"'
accepts by_type 'LlamaForCausalLM'

# Types of the weights come from the tensors, not from the configuration.
checkpoint half '"torch_dtype": "bfloat16"' '' f16
accepts half 'embed : f16[V, H]' 'wq : f16[NH*D, H]'
checkpoint full '"dtype": "float32"' '' f32
accepts full 'embed : f32[V, H]' 'g1 : f32[H]'
checkpoint mixed '' 's/(norm.weight:)bf16/\1f32/'
accepts mixed 'gf    : f32[H]' 'g1 : f32[H]' 'wq : bf16[NH*D, H]'

# rope, old and new spelling.
checkpoint theta_old '"rope_theta": 500000.0, "rope_scaling": null'
accepts theta_old 'theta=500000)'
checkpoint theta_new '"rope_parameters": {"rope_type": "default", "rope_theta": 1000000}'
accepts theta_new 'theta=1000000)'
llama3='"factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 8192'
checkpoint scaled_old "\"rope_theta\": 500000.0, \"rope_scaling\": {\"rope_type\": \"llama3\", $llama3}"
accepts scaled_old 'theta=500000, scaling="llama3", factor=32,' 'original_context=8192'
checkpoint scaled_older "\"rope_scaling\": {\"type\": \"llama3\", $llama3}"
accepts scaled_older 'theta=10000, scaling="llama3", factor=32,' 'high_freq_factor=4'
checkpoint scaled_new "\"rope_parameters\": {\"rope_type\": \"llama3\", \"rope_theta\": 500000, $llama3}"
accepts scaled_new 'theta=500000, scaling="llama3", factor=32,'
if ! cmp -s scaled_old.etg scaled_new.etg &&
    [ "$(diff scaled_old.etg scaled_new.etg | grep -c '^[<>]')" -ne 2 ]; then
    fail "the spellings of llama3 rope scaling give different models"
fi

# The head: tied, untied, or whatever the tensors say.
head_tensor='$a lm_head.weight:bf16[53,24]:-1:1'
checkpoint untied '"tie_word_embeddings": false' "$head_tensor"
accepts untied 'weight head  : bf16[V, H]' '@ head.T'
checkpoint silent_untied '"tie_word_embeddings": null' "$head_tensor"
accepts silent_untied '@ head.T'
checkpoint silent_tied '"tie_word_embeddings": null'
accepts silent_tied '@ embed.T'

# Heads: no grouping; a head_dim that is not hidden / heads.
checkpoint ungrouped '"num_key_value_heads": null' 's/([kv]_proj.weight:bf16\[)12/\124/'
accepts ungrouped 'const NKV   = 4 '
checkpoint wide_heads '"head_dim": 16' \
    's/(q_proj.weight:bf16\[)24/\164/; s/([kv]_proj.weight:bf16\[)12/\132/; s/(o_proj.weight:bf16\[24,)24/\164/'
accepts wide_heads 'const D     = 16 ' 'scale=1/4)'

# Biases.
biases='/q_proj/{p;s/weight:bf16.*]/bias:bf16[24]/;b}
/[kv]_proj/{p;s/weight:bf16.*]/bias:bf16[12]/;b}
/o_proj/{p;s/weight:bf16.*]/bias:bf16[24]/;b}
/(gate|up)_proj/{p;s/weight:bf16.*]/bias:bf16[37]/;b}
/down_proj/{p;s/weight:bf16.*]/bias:bf16[24]/}'
checkpoint biased '"attention_bias": true, "mlp_bias": true' "$biases"
accepts biased 'h @ wq.T + bq' 'h @ wv.T + bv' '@ wo.T + bo' 'h2 @ wg.T + bg' '@ wd.T + bd' \
    'weight bu : bf16[F] '

# Other activations.
checkpoint gelu '"hidden_act": "gelu_pytorch_tanh"'
accepts gelu 'def gated(a, b) = gelu_tanh(a) * b'

# Qwen3: a norm on every head of q and k.
norms='/q_proj/{p;s/q_proj.weight:bf16.*]/q_norm.weight:bf16[6]/;b}
/k_proj/{p;s/k_proj.weight:bf16.*]/k_norm.weight:bf16[6]/}'
qwen='"architectures": ["Qwen3ForCausalLM"], "use_sliding_window": false, "sliding_window": null'
checkpoint qwen "$qwen, \"head_dim\": 6, \"layer_types\": [\"full_attention\", \"full_attention\"]" "$norms"
accepts qwen 'q = rmsnorm(q, gq, eps=1e-5)' 'weight gk : bf16[D] '

# Experts: a tensor each, or all of a layer in one.
experts='/up_proj/d
/gate_proj/{s/gate_proj/gate/;s/\[37,/[3,/;p;s/gate.weight/experts.0.gate_proj.weight/;s/\[3,/[37,/;p;s/gate_proj/up_proj/;p
s/up_proj/gate_proj/;s/experts.0/experts.1/;p;s/gate_proj/up_proj/;p
s/up_proj/gate_proj/;s/experts.1/experts.2/;p;s/gate_proj/up_proj/}
/down_proj/{s/mlp.down/mlp.experts.0.down/;p;s/experts.0/experts.1/;p;s/experts.1/experts.2/}'
all='/up_proj/d
/gate_proj/{s/gate_proj/gate/;s/\[37,/[3,/;p;s/gate.weight/experts.gate_up_proj/;s/\[3,/[3,74,/}
/down_proj/s/down_proj.weight:bf16./experts.down_proj:bf16[3,/'
moe='"architectures": ["Qwen3MoeForCausalLM"], "num_experts": 3, "num_experts_per_tok": 2, "moe_intermediate_size": 37'
checkpoint experts "$moe, \"norm_topk_prob\": true" "$norms
$experts"
accepts experts 'weight wu : bf16[e in 0..E, F, H] = "model.layers.{l}.mlp.experts.{e}.up_proj.weight"' \
    'const E     = 3 ' 'const K     = 2 ' 'w = w / sum(w, keep=1)'
checkpoint stacked "$moe" "$norms
$all"
accepts stacked 'weight wgu : bf16[E, 2*F, H] = "model.layers.{l}.mlp.experts.gate_up_proj"' 'wu = wgu[:, F:2*F]'
! grep -q 'w = w' stacked.etg || fail 'stacked: normalised all the same'
olmoe='"architectures": ["OlmoeForCausalLM"], "num_experts": 3, "num_experts_per_tok": 2, "clip_qkv": null'
checkpoint olmoe "$olmoe" "s/_norm.weight:bf16.6/&/
/q_proj/{p;s/q_proj.weight:bf16.*]/q_norm.weight:bf16[24]/;b}
/k_proj/{p;s/k_proj.weight:bf16.*]/k_norm.weight:bf16[12]/;b}
$experts"
accepts olmoe 'weight gk : bf16[NKV*D]' 'k = rmsnorm(h @ wk.T, gk, eps=1e-5)'

# Two shards and an index.
mkdir -p shards
config '' > shards/config.json
# shellcheck disable=SC2046
"$bin/etfill" shards/a.safetensors $(tensors bf16 | grep 'layers.0')
# shellcheck disable=SC2046
"$bin/etfill" shards/b.safetensors $(tensors bf16 | grep -v 'layers.0')
index() {
    printf '{"metadata": {"total_size": 1}, "weight_map": {'
    tensors bf16 | sed 's/:.*//' | sed '/layers\.0/s/.*/"&": "a.safetensors",/
        /layers\.0/!s/.*/"&": "b.safetensors",/' | sed '$s/,$//'
    printf '}}\n'
}
index > shards/model.safetensors.index.json
accepts shards 'model shards'

# Options.
"$bin/etimport" plain -o named.etg --name small --max-tokens 7 --slots 3 --context 50
for want in 'model small' 'dim N in 1..7 ' 'const SLOTS = 3 ' 'const CTX   = 50 '; do
    grep -qF "$want" named.etg || fail "named.etg has no \"$want\""
done
mkdir -p 7-odd.name && cp plain/* 7-odd.name/
accepts 7-odd.name 'model m_7_odd_name'
mkdir -p state && cp plain/* state/
accepts state 'model m_state'
mkdir -p bare && cp plain/config.json bare/
"$bin/etimport" bare -o bare.etg --config-only || fail "--config-only wants weights"

# Things that do not matter, or only a little: a warning at most.
checkpoint chatty '"use_cache": true, "initializer_range": 0.02'
accepts chatty 'model chatty'
[ ! -s chatty.out ] || fail "chatty: $(cat chatty.out)"
# What nobody knows may matter, unless the user says that it does not.
checkpoint unknown '"frobnicate": 3, "wobble": {"a": 1}'
refuses unknown 'field "frobnicate" may change what is computed' 'field "wobble" may change'
"$bin/etimport" unknown -o unknown.etg --ignore-field frobnicate --ignore-field wobble || fail "--ignore-field"
checkpoint extra '' '$a model.layers.2.mlp.up_proj.weight:bf16[37,24]:-1:1'
accepts extra 'const L     = 2 '
grep -q 'warning: tensor "model.layers.2.mlp.up_proj.weight" is not used' extra.out ||
    fail "extra: no warning"

# Fields of others that say nothing, and a window that is switched off, pass without a word; a window that nobody
# switched off is told.
checkpoint silent '"attn_logit_softcapping": null, "use_qk_norm": false, "use_sliding_window": false, "sliding_window": 9'
accepts silent 'model silent'
[ ! -s silent.out ] || fail "silent: $(cat silent.out)"
checkpoint window '"sliding_window": 9'
accepts window 'model window'
grep -q 'warning: field "sliding_window" is 9, but LlamaForCausalLM has no sliding window' window.out ||
    fail 'window: no warning'

# Windows, of all layers or of some; a window that is no shorter than the context is none.
import_only() { # NAME CLASS FIELDS PATTERN...: no weights are looked at
    mkdir -p "$1"
    config "\"architectures\": [\"$2\"], $3" > "$1/config.json"
    "$bin/etimport" "$1" -o "$1.etg" --config-only > "$1.out" 2>&1 || fail "$1: $(cat "$1.out")"
    name=$1
    shift 3
    for want in "$@"; do
        grep -qF -- "$want" "$name.etg" || fail "$name.etg has no \"$want\""
    done
}
moe_of='"num_local_experts": 3, "num_experts_per_tok": 2'
import_only mixtral_window MixtralForCausalLM "$moe_of, \"sliding_window\": 9" ', window=9)'
import_only no_window MistralForCausalLM '"sliding_window": 99' 'scale=0.4082482904638631)'
import_only upper MistralForCausalLM '"sliding_window": null' 'scale=0.4082482904638631)'
import_only some_layers Qwen2ForCausalLM '"use_sliding_window": true, "sliding_window": 9, "max_window_layers": 1' \
    'window=where(l >= 1, 9, CTX)'
import_only some_told Qwen3ForCausalLM '"use_sliding_window": true, "sliding_window": 9, "layer_types": ["sliding_attention", "full_attention"]' \
    'window=where(l < 1, 9, CTX)'
import_only all_experts Qwen3MoeForCausalLM "${moe_of}, \"moe_intermediate_size\": 5, \"use_sliding_window\": true, \"sliding_window\": 9" ', window=9)'
import_only told_experts Qwen2MoeForCausalLM "${moe_of}, \"moe_intermediate_size\": 5, \"shared_expert_intermediate_size\": 7,
    \"use_sliding_window\": true, \"sliding_window\": 9, \"layer_types\": [\"full_attention\", \"sliding_attention\"]" 'window=where(l >= 1, 9, CTX)'
left_out='"rms_norm_eps"'
import_only usual MixtralForCausalLM "$moe_of" 'rmsnorm(x, g1, eps=1e-5)' 'theta=1000000)'
left_out=
import_only swish GptOssForCausalLM "${moe_of}, \"swiglu_alpha\": 0.5, \"rope_parameters\": {\"rope_type\": \"default\"}" 'a * sigmoid(0.5 * a)'
import_only dynamic LlamaForCausalLM '"rope_scaling": {"type": "dynamic", "factor": 2.0}' 'rope(q, positions, theta=10000)'
import_only linear LlamaForCausalLM '"rope_scaling": {"type": "linear", "factor": 2.0}' 'scaling="linear", factor=2)'
import_only few_marks SmolLM3ForCausalLM '"no_rope_layers": [1, 0]' 'where(l < 1, rope(q'
import_only of_four SmolLM3ForCausalLM '"num_hidden_layers": 9' 'where(mod(l, 4) != 3, rope(q'
import_only named_pages LlamaForCausalLM '"tie_word_embeddings": true' 'state kc, vc : bf16[L, SLOTS'
"$bin/etimport" plain -o page.etg --max-tokens 1 --paged 1 || fail 'pages for one token'
"$bin/etimport" plain -o pages.etg --paged 11 --pages 7 || fail 'pages'
for want in 'const PAGES = 7 ' 'input table : i32[SLOTS, CTX/PAGE]' 'state kc, vc : bf16[L, PAGES, NKV, PAGE, D]'; do
    grep -qF "$want" pages.etg || fail "pages.etg has no \"$want\""
done

# Quantised weights: of compressed-tensors, and blocks that do not divide a matrix. With golden checkpoints the other formats are
# tried in tests/targets/models.
group='"quant_method": "compressed-tensors", "ignore": ["lm_head"], "config_groups": {"group_0": {"targets": ["Linear"],'
codes() { # TYPE SUFFIX SCALE-TYPE SCALE-SHAPE: \2 and \3 are rows and columns of the weight
    printf '%s' "s/(.*_proj).weight:bf16\[([0-9]+),([0-9]+)\].*/\1.weight:$1[\2,\3]:-9:9\n\1.$2:$3[$4]:0:0.1/"
}
checkpoint by_channel "\"quantization_config\": {$group \"weights\": {\"type\": \"int\", \"num_bits\": 8, \"strategy\": \"channel\"}}},
    \"format\": \"int-quantized\"}" "$(codes i8 weight_scale bf16 '\2,1')"
accepts by_channel 'wq_codes : i8[NH*D, H] = "model.layers.{l}.self_attn.q_proj.weight"' 'wq_scales : bf16[NH*D, 1]' \
    'wq = bf16(wq_codes * wq_scales)' 'embed : bf16[V, H]'
checkpoint by_tensor "\"quantization_config\": {$group \"weights\": {\"type\": \"float\", \"num_bits\": 8, \"strategy\": \"tensor\"}}},
    \"format\": \"naive-quantized\"}" "$(codes e4m3 weight_scale f32 1)"
accepts by_tensor 'wd_codes : e4m3[H, F]' 'wd_scale : f32[1]'
checkpoint by_block '"quantization_config": {"quant_method": "fp8", "weight_block_size": [16, 8], "modules_to_not_convert": ["lm_head"]}' \
    's/(.*_proj).weight:bf16\[24,24\].*/\1.weight:e4m3[24,24]:-9:9\n\1.weight_scale_inv:f32[2,3]:0:0.1/
s/(.*_proj).weight:bf16\[12,24\].*/\1.weight:e4m3[12,24]:-9:9\n\1.weight_scale_inv:f32[1,3]:0:0.1/
s/(.*_proj).weight:bf16\[37,24\].*/\1.weight:e4m3[37,24]:-9:9\n\1.weight_scale_inv:f32[3,3]:0:0.1/
s/(.*_proj).weight:bf16\[24,37\].*/\1.weight:e4m3[24,37]:-9:9\n\1.weight_scale_inv:f32[2,5]:0:0.1/'
accepts by_block 'wu_scales : f32[(F + 15)/16, (H + 7)/8]' 'wu = bf16(wu_codes * wu)'
# One group of all columns, of which a product of sizes says how many.
whole='"num_key_value_heads": 4, "intermediate_size": 40, "quantization_config": {"quant_method":'
for m in 'gptq", "bits": 4' 'awq", "bits": 4'; do
    import_only one_group LlamaForCausalLM "$whole \"$m, \"group_size\": -1}" 'wo_scales : bf16[NH*D/(NH*D), H]' 'wd_scales : bf16[F/(F), H]'
done
import_only one_packed LlamaForCausalLM "$whole \"compressed-tensors\", \"format\": \"pack-quantized\", \"config_groups\": {\"group_0\":
    {\"weights\": {\"type\": \"int\", \"num_bits\": 4, \"strategy\": \"channel\"}}}}" 'wo_scales : bf16[H, NH*D/(NH*D)]'
# Without tensors, the projections of layers are quantised.
mkdir -p quant_bare
cp by_channel/config.json quant_bare/
"$bin/etimport" quant_bare -o quant_bare.etg --config-only --name by_channel || fail "quant_bare: --config-only wants weights"
grep -q 'wq_codes : i8' quant_bare.etg || fail "quant_bare: nothing is quantised"

# Rows that are quantised, too.
options='--activations fp8'
rows() { # INPUT_ACTIVATIONS WEIGHTS' FIELDS
    printf '%s' "\"quantization_config\": {$group \"weights\": {\"type\": \"float\", \"num_bits\": 8, $2},
    \"input_activations\": $1}}, \"format\": \"float-quantized\"}"
}
by_channel='"strategy": "channel"'
token='{"type": "float", "num_bits": 8, "strategy": "token", "dynamic": true, "observer": null}'
checkpoint rows_token "$(rows "$token" "$by_channel")" "$(codes e4m3 weight_scale bf16 '\2,1')"
accepts rows_token 'def quantised(x, w, t) = scaled(x, row_scales(x), w, t)' 'q = reshape(product(h_codes, h_scales, wq_codes, wq_scales), [N, NH, D])' \
    'x = x + quantised(gated(product(h2_codes, h2_scales, wg_codes, wg_scales), product(h2_codes, h2_scales, wu_codes, wu_scales)), wd_codes, wd_scales)' \
    'x = x + quantised(reshape(a, [N, NH*D]), wo_codes, wo_scales)' 'rmsnorm(x, gf, eps=1e-5) @ embed.T'
checkpoint rows_tensor "$(rows '{"type": "float", "num_bits": 8, "strategy": "tensor", "dynamic": false}' '"strategy": "tensor"')" \
    "$(codes e4m3 weight_scale f32 1)
s/^(.*)\n(.*)weight_scale(:.*)$/\1\n\2weight_scale\3\n\2input_scale\3/"
accepts rows_tensor 'wq_scales = reshape(wq_scale, [1, 1])' 'wq_input : f32[1]' 'q_proj.input_scale"' \
    'k = reshape(quantised(h, wk_codes, wk_scales, wk_input), [N, NKV, D])'
# What products of a mixture become is compiled.
mkdir -p rows_experts
sed 's/"moe_intermediate_size": .*/"moe_intermediate_size": 128,/' "$bin/../checkpoints/qwen3_moe/config.json" > rows_experts/config.json
sed -i '1s/{/{"quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic", "weight_block_size": [128, 128]},/' rows_experts/config.json
sed 's/dynamic/static/' rows_experts/config.json > rows_experts/static.json
mkdir -p rows_experts_static rows_experts_token
mv rows_experts/static.json rows_experts_static/config.json
sed "s/\"quantization_config\": {.*},\$/$(rows "$token" "$by_channel" | tr -d '\n'),/" rows_experts/config.json > rows_experts_token/config.json
imports() { # DIR LINE...
    dir=$1
    shift
    # shellcheck disable=SC2086
    "$bin/etimport" "$dir" -o "$dir.etg" --config-only $options > "$dir.out" 2>&1 || fail "$dir: $(cat "$dir.out")"
    for want in "$@"; do
        grep -qF -- "$want" "$dir.etg" || fail "$dir.etg has no \"$want\""
    done
}
imports rows_experts 'x = x + quantised(reshape(a, [N, NH*D])) @ wo.T' '  t_rounded = quantised_blocks(t)' \
    'y = grouped(quantised_blocks(gated(grouped(t_rounded, wg, owner), grouped(t_rounded, wu, owner))), wd, owner)'
imports rows_experts_static 'k = reshape(quantised(h, wk_input) @ wk.T, [N, NKV, D])' 'grouped(quantised_blocks(t, wg_input, owner), wg, owner)'
imports rows_experts_token 'product_of_blocks(t_codes, t_scales, wg_codes, wg_scales, owner)' ', wd_codes, wd_scales, owner)'
# A part of a fused weight, and a value that changes between two products.
for m in phi3 olmo2 deepseek_v2; do
    mkdir -p rows_$m
    sed "1s/{/{$(rows "$token" "$by_channel" | tr -d '\n'),/" "$bin/../checkpoints/$m/config.json" > rows_$m/config.json
done
imports rows_phi3 'product(h_codes, h_scales, wqkv_codes[0:NH*D], wqkv_scales[0:NH*D])'
imports rows_olmo2 'x_codes = coded(x, x_scales)'
[ "$(grep -c 'x_codes = coded(x, x_scales)' rows_olmo2.etg)" = 2 ] || fail 'rows_olmo2: x changes between two products'
unset options

# A field that is left out means what the class has for it (complete.c tries them all), null what it says.
without() { # GOLDEN FIELD [TEXT]: the lines of a scalar or an object go, TEXT comes before the rest
    mkdir -p "$1_no_$2$4"
    sed -E "/^  \"$2\": \{/,/^  \}/d; /^  \"$2\": /d; 1s/\{/{$3/" "$bin/../checkpoints/$1/config.json" > "$1_no_$2$4/config.json"
}
options='--context 64'
without gemma2 final_logit_softcapping '' ''
imports gemma2_no_final_logit_softcapping '= 30 * tanh('
without gemma2 attn_logit_softcapping '' ''
imports gemma2_no_attn_logit_softcapping 'softcap=50'
without gemma2 attn_logit_softcapping '"attn_logit_softcapping": null,' _null
imports gemma2_no_attn_logit_softcapping_null '= 30 * tanh('
grep -q softcap= gemma2_no_attn_logit_softcapping_null.etg && fail 'gemma2: a cap of null is none'
# A configuration as somebody wrote it by hand, without either cap.
mkdir -p gemma2_no_caps
cat > gemma2_no_caps/config.json << 'X'
{"architectures":["Gemma2ForCausalLM"],"model_type":"gemma2","vocab_size":96,"hidden_size":64,"intermediate_size":128,"num_hidden_layers":2,"num_attention_heads":4,"num_key_value_heads":2,"head_dim":16,"query_pre_attn_scalar":24,"sliding_window":16,"max_position_embeddings":128,"dtype":"bfloat16"}
X
imports gemma2_no_caps 'softcap=50' '= 30 * tanh('
options='--context 8192'
for m in mistral=4096 gemma2=4096 gpt_oss=128; do
    f=${m%=*}
    without "$f" sliding_window '' ''
    sed -i '/^  "max_position_embeddings": /d' "${f}_no_sliding_window/config.json"
    imports "${f}_no_sliding_window" "${m#*=}"
    without "$f" sliding_window '"sliding_window": null,' _null
    sed -i '/^  "max_position_embeddings": /d; /^  "layer_types": \[/,/^  \]/d' "${f}_no_sliding_window_null/config.json"
    imports "${f}_no_sliding_window_null" 'attention('
    grep -q window= "${f}_no_sliding_window_null.etg" && fail "$f: a window of null is none"
done
unset options
# What versions differ in is refused where the file does not say which wrote it.
for m in gpt_oss=rope_parameters cohere=rope_theta; do
    f=${m%=*}
    without "$f" rope_parameters '' ''
    sed -i '/^  "transformers_version": /d' "${f}_no_rope_parameters/config.json"
    "$bin/etimport" "${f}_no_rope_parameters" -o no.etg --config-only > no.out 2>&1 && fail "$f without rope_parameters: accepted"
    grep -q "field \"${m#*=}\" is missing: it is .* up to transformers 4\..*\"transformers_version\" does not tell which" no.out ||
        fail "$f without rope_parameters: $(cat no.out)"
done

# A language model inside of a larger one: its own configuration, tensors by either name, and the rest told.
for prefix in language_model.model model.language_model; do
    checkpoint nested '' "s/^model\\./$prefix./; \$a model.vision_tower.proj.weight:bf16[4,4]:-1:1"
    printf '{"architectures": ["SeesForConditionalGeneration"], "model_type": "sees", "vision_config": {"depth": 2},
"text_config": %s}' "$(config '"model_type": "llama"')" >nested/config.json
    accepts nested "= \"$prefix.embed_tokens.weight\"" "= \"$prefix.layers.{l}.mlp.up_proj.weight\""
    grep -q 'the language model alone is imported, without model.vision_tower$' nested.out || fail "nested: $(cat nested.out)"
done
sed -i 's/"model_type": "llama"/"model_type": "none"/' nested/config.json
refuses nested 'architecture "SeesForConditionalGeneration, of none" is not supported'

# Names of architectures are read whatever their case: the hub spells PhiMoEForCausalLM what transformers spells Phimoe.
checkpoint cased '"architectures": ["LLaMAForCausalLM"]'
accepts cased 'LlamaForCausalLM'

# These classes have a head of their own whatever the field says.
for m in kimi_linear bailing_hybrid nemotron_h; do
    mkdir tied_$m
    cp "$bin/../checkpoints/$m/model.safetensors" tied_$m/
    sed 's/"tie_word_embeddings": false/"tie_word_embeddings": true/' "$bin/../checkpoints/$m/config.json" > tied_$m/config.json
    ! cmp -s "$bin/../checkpoints/$m/config.json" tied_$m/config.json || fail "$m: nothing changed"
    "$bin/etimport" "$bin/../checkpoints/$m" -o whole.etg --name same || fail "$m was refused"
    "$bin/etimport" tied_$m -o tied.etg --name same || fail "$m, tied, was refused"
    cmp -s whole.etg tied.etg || fail "$m: the head is not the one of the file"
done
