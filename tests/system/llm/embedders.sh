#!/bin/sh
# etllm embed and etllm rerank of models that people run now, as vectors.sh has them of others: decoders whose tokens see all of a text or
# whose vectors are means, layers behind pooling, buckets of distances, rotary encoders in their own code's names; and what they refuse.
. "$(dirname "$0")/lib.sh"
eval "check=\${$#}"
rm -rf embedders
mkdir embedders
cd embedders
. "$(dirname "$0")/vectors_lib.sh"

for model in embed_mpnet embed_nomic embed_gte embed_gemma3 embed_qwen2 embed_llama; do
    texts $model > texts
    compare $model vectors 1.6e-2 embed
done
compare embed_gemma3 query 1.6e-2 embed --prompt-name query
texts rerank_gte > texts
compare rerank_gte scores 5e-3 rerank --query 'where does the cat sleep?'
# A layer behind pooling decides how many numbers a vector has.
refuses 'have 24 numbers' of embed_gemma3 embed -p x --dimensions 25

lie() { # WORDS FILE SED: as in vectors_lib.sh; etimport refuses it
    falsify "$2" "$3"
    refuses "$1" "$bin/etimport" lie -o lie.etg
}
liar=embed_gemma3
lie 'Dense takes 31 numbers of a text, which has 32' 2_Dense/config.json 's/"in_features": 32/"in_features": 31/'
lie 'modules.2.config.out_features' 2_Dense/config.json 's/"out_features": 48/"out_features": -1/'
lie 'Dense takes 48 numbers of a text, which has 40' 2_Dense/config.json 's/"out_features": 48/"out_features": 40/'
lie 'tensor "modules.3.linear.weight" has shape' 3_Dense/config.json 's/"out_features": 24/"out_features": 23/'
lie 'Softmax", which is not supported' 3_Dense/config.json 's/Tanh/Softmax/'
lie 'tensor "modules.3.linear.bias" is a bias' 3_Dense/config.json 's/"bias": true/"bias": false/'
lie 'modules.2.config.in_features' modules.json 's/"2_Dense"/"4_Normalize"/'
rm lie/modules.json lie/2_Dense/model.safetensors
cp "$(checkpoint $liar)/modules.json" lie
refuses 'tensor "modules.2.linear.weight" is missing' "$bin/etimport" lie -o lie.etg
lie 'there is a Pooling of what a Pooling gives' modules.json 's/normalize.Normalize/pooling.Pooling/'
lie '"use_bidirectional_attention" is true' modules.json 's/pooling.Pooling/dropout.Dropout/'
liar=embed_qwen2
lie '"is_causal" is false' modules.json 's/pooling.Pooling/dropout.Dropout/'
lie 'field "is_causal" is false, which is not supported with windows' config.json 's/"use_sliding_window": false/"use_sliding_window": true/; s/"sliding_window": null/"sliding_window": 8/; s/"full_attention"/"sliding_attention"/; s/"max_window_layers": 28/"max_window_layers": 0/'
liar=embed_nomic
lie 'comes before any Pooling' modules.json 's/pooling.Pooling/dropout.Dropout/'
lie '"prenorm" is true' config.json '1s/{/{"prenorm": true,/'
lie '"num_experts"' config.json '1s/{/{"num_experts": 8,/'
lie '"rotary_emb_fraction"' config.json '1s/{/{"rotary_emb_fraction": 0.5,/'
lie '"maxout", which is not supported' config.json 's/"silu"/"maxout"/'
# Its own code has the fields of GPT-2: they make the same model.
falsify config.json 's/"hidden_size"/"n_embd"/; s/"num_attention_heads"/"n_head"/; s/"num_hidden_layers"/"n_layer"/; s/"intermediate_size"/"n_inner"/
    s/"layer_norm_eps"/"layer_norm_epsilon"/; s/"hidden_act": "silu"/"activation_function": "swiglu", "prenorm": false, "rotary_emb_fraction": 1.0/; /"head_dim"/d
    s/"rope_theta"/"ignored"/; 1s/{/{"rotary_emb_base": 1000, "use_flash_attn": true, "pad_vocab_size_multiple": 64,/; /"rope_parameters"/,/}/d'
"$bin/etimport" lie -o own.etg --name m || die 'fields of GPT-2'
"$bin/etimport" "$(checkpoint embed_nomic)" -o names.etg --name m || die 'fields of BERT'
cmp own.etg names.etg
liar=embed_mpnet
lie 'relative_attention_num_buckets' config.json 's/"relative_attention_num_buckets": 32/"relative_attention_num_buckets": 16/'
