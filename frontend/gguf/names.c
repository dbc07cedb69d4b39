/* names.c - the architectures that are known, and what their tensors are called here and there. */
#include "frontend/gguf/convert.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#define DECODER "model.layers."
#define BACKBONE "backbone.layers."

/* The first row that fits is the file's. */
static const struct gguf_family families[] = {
    {GGUF_MIXTRAL, "llama", "expert_count", "MixtralForCausalLM", "mixtral", DECODER},
    {GGUF_MISTRAL, "llama", "attention.sliding_window", "MistralForCausalLM", "mistral", DECODER},
    {GGUF_LLAMA, "llama", NULL, "LlamaForCausalLM", "llama", DECODER},
    {GGUF_QWEN2, "qwen2", NULL, "Qwen2ForCausalLM", "qwen2", DECODER},
    {GGUF_QWEN2_MOE, "qwen2moe", NULL, "Qwen2MoeForCausalLM", "qwen2_moe", DECODER},
    {GGUF_QWEN3, "qwen3", NULL, "Qwen3ForCausalLM", "qwen3", DECODER},
    {GGUF_QWEN3_MOE, "qwen3moe", NULL, "Qwen3MoeForCausalLM", "qwen3_moe", DECODER},
    {GGUF_GEMMA, "gemma", NULL, "GemmaForCausalLM", "gemma", DECODER},
    {GGUF_GEMMA2, "gemma2", NULL, "Gemma2ForCausalLM", "gemma2", DECODER},
    {GGUF_GEMMA3, "gemma3", NULL, "Gemma3ForCausalLM", "gemma3_text", DECODER},
    {GGUF_GEMMA_EMBEDDING, "gemma-embedding", NULL, "Gemma3TextModel", "gemma3_text", DECODER},
    {GGUF_SMOLLM3, "smollm3", NULL, "SmolLM3ForCausalLM", "smollm3", DECODER},
    {GGUF_ARCEE, "arcee", NULL, "ArceeForCausalLM", "arcee", DECODER},
    {GGUF_GRANITE, "granite", NULL, "GraniteForCausalLM", "granite", DECODER},
    {GGUF_MINISTRAL3, "mistral3", NULL, "Ministral3ForCausalLM", "ministral3", DECODER},
    {GGUF_SEED_OSS, "seed_oss", NULL, "SeedOssForCausalLM", "seed_oss", DECODER},
    {GGUF_ERNIE, "ernie4_5", NULL, "Ernie4_5ForCausalLM", "ernie4_5", DECODER},
    {GGUF_ERNIE_MOE, "ernie4_5-moe", NULL, "Ernie4_5_MoeForCausalLM", "ernie4_5_moe", DECODER},
    {GGUF_EXAONE4, "exaone4", NULL, "Exaone4ForCausalLM", "exaone4", DECODER},
    {GGUF_OLMO3, "olmo2", "attention.sliding_window", "Olmo3ForCausalLM", "olmo3", DECODER},
    {GGUF_OLMO2, "olmo2", NULL, "Olmo2ForCausalLM", "olmo2", DECODER},
    {GGUF_OLMOE, "olmoe", NULL, "OlmoeForCausalLM", "olmoe", DECODER},
    {GGUF_GLM4, "glm4", NULL, "Glm4ForCausalLM", "glm4", DECODER},
    {GGUF_GLM4_MOE, "glm4moe", NULL, "Glm4MoeForCausalLM", "glm4_moe", DECODER},
    {GGUF_DOTS1, "dots1", NULL, "Dots1ForCausalLM", "dots1", DECODER},
    {GGUF_MINIMAX_M2, "minimax-m2", NULL, "MiniMaxM2ForCausalLM", "minimax_m2", DECODER},
    {GGUF_COHERE, "command-r", NULL, "CohereForCausalLM", "cohere", DECODER},
    {GGUF_COHERE2, "cohere2", NULL, "Cohere2ForCausalLM", "cohere2", DECODER},
    {GGUF_STARCODER2, "starcoder2", NULL, "Starcoder2ForCausalLM", "starcoder2", DECODER},
    {GGUF_PHI3, "phi3", NULL, "Phi3ForCausalLM", "phi3", DECODER},
    {GGUF_LFM2, "lfm2", NULL, "Lfm2ForCausalLM", "lfm2", DECODER},
    {GGUF_LFM2_MOE, "lfm2moe", NULL, "Lfm2MoeForCausalLM", "lfm2_moe", DECODER},
    {GGUF_DEEPSEEK3, "deepseek2", "expert_gating_func=2", "DeepseekV3ForCausalLM", "deepseek_v3",
     DECODER},
    {GGUF_DEEPSEEK2, "deepseek2", NULL, "DeepseekV2ForCausalLM", "deepseek_v2", DECODER},
    {GGUF_KIMI_LINEAR, "kimi-linear", NULL, "KimiLinearForCausalLM", "kimi_linear", DECODER},
    {GGUF_QWEN3_NEXT, "qwen3next", NULL, "Qwen3NextForCausalLM", "qwen3_next", DECODER},
    {GGUF_QWEN3_5, "qwen35", NULL, "Qwen3_5ForCausalLM", "qwen3_5_text", DECODER},
    {GGUF_QWEN3_5_MOE, "qwen35moe", NULL, "Qwen3_5MoeForCausalLM", "qwen3_5_moe_text", DECODER},
    {GGUF_GRANITE_HYBRID, "granitehybrid", "embedding_scale", "GraniteMoeHybridForCausalLM",
     "granitemoehybrid", DECODER},
    {GGUF_NEMOTRON_H, "nemotron_h", NULL, "NemotronHForCausalLM", "nemotron_h", BACKBONE},
    {GGUF_NEMOTRON_H, "nemotron_h_moe", NULL, "NemotronHForCausalLM", "nemotron_h", BACKBONE},
    {GGUF_MAMBA, "mamba", NULL, "MambaForCausalLM", "mamba", BACKBONE},
    {GGUF_JAMBA, "jamba", NULL, "JambaForCausalLM", "jamba", DECODER},
    {GGUF_FALCON_H1, "falcon-h1", NULL, "FalconH1ForCausalLM", "falcon_h1", DECODER},
    {GGUF_MAMBA2, "mamba2", NULL, "Mamba2ForCausalLM", "mamba2", BACKBONE},
    {GGUF_LLAMA4, "llama4", NULL, "Llama4ForCausalLM", "llama4_text", DECODER},
    {GGUF_GPT_OSS, "gpt-oss", NULL, "GptOssForCausalLM", "gpt_oss", DECODER},
    {GGUF_GEMMA3N, "gemma3n", NULL, "Gemma3nForCausalLM", "gemma3n_text", DECODER},
    {GGUF_GEMMA4, "gemma4", NULL, "Gemma4ForCausalLM", "gemma4_text", DECODER},
    {GGUF_BERT_SCORES, "bert", "pooling_type=4", "BertForSequenceClassification", "bert",
     "bert.encoder.layer."},
    {GGUF_BERT, "bert", NULL, "BertModel", "bert", "encoder.layer."},
    {GGUF_NOMIC_BERT, "nomic-bert", NULL, "NomicBertModel", "nomic_bert", "encoder.layers."},
    {GGUF_MODERN_BERT, "modern-bert", NULL, "ModernBertModel", "modernbert", "layers."},
};

/* Where the norms of a layer stand: in front of each half and behind it, behind alone, ... */
#define SANDWICH (GGUF_GEMMA2 | GGUF_GEMMA3S | GGUF_NEXT)
#define BEHIND (GGUF_EXAONE4 | GGUF_OLMO2 | GGUF_OLMO3)
/* Before the second half, by that name. */
#define SECOND (GGUF_SEED_OSS | GGUF_GLM4_MOE | GGUF_DELTA | GGUF_GPT_OSS)
#define MIXERS (GGUF_NEMOTRON_H | GGUF_MAMBAS) /* a layer is one of several things */
#define FORWARD (GGUF_JAMBA | GGUF_FALCON_H1)  /* a second half by that name */
/* In front alone. */
#define PLAIN (GGUF_DECODERS & ~(SANDWICH | BEHIND | SECOND | GGUF_LFM2S | MIXERS | FORWARD))
#define FUSED (GGUF_GLM4 | GGUF_PHI3) /* gate and up in one tensor */
#define SEES_ONE (GGUF_QWEN2_MOE | GGUF_QWEN3_NEXT | GGUF_QWEN3_5_MOE) /* an expert, by a gate */
#define QWEN_LIKE (SEES_ONE | GGUF_QWEN3_MOE | GGUF_OLMOE)
#define SHARED (GGUF_SIGMOIDS | GGUF_ERNIE_MOE | GGUF_DEEPSEEKS) /* experts that all tokens see */
#define AS_DENSE (QWEN_LIKE | SHARED) /* experts' parts are called as a dense layer's */
#define BY_NUMBER (GGUF_MIXTRAL | GGUF_MINIMAX_M2 | GGUF_KIMI_LINEAR) /* w1, w2, w3 */
#define OTHERWISE (MIXERS | GGUF_BESIDE | GGUF_LLAMA4 | GGUF_GPT_OSS) /* by other names */
#define DENSE (GGUF_DECODERS & ~(BY_NUMBER | QWEN_LIKE | OTHERWISE))
#define HEAD_NORMS                                                                                 \
    (GGUF_QWEN3 | GGUF_QWEN3_MOE | GGUF_GEMMA3S | BEHIND | GGUF_OLMOE | GGUF_SIGMOIDS |            \
     GGUF_MINIMAX_M2 | GGUF_DELTA | GGUF_NEXT)
#define DRAFTS (GGUF_GLM4_MOE | GGUF_DELTA | GGUF_DEEPSEEKS | GGUF_NEMOTRON_H)
#define EARLIER (GGUF_BERT | GGUF_NOMIC_BERT)
#define LLAMAS (GGUF_LLAMA | GGUF_MISTRAL | GGUF_MIXTRAL)
#define TURNED                                                                                     \
    (LLAMAS | GGUF_SMOLLM3 | GGUF_ARCEE | GGUF_GRANITE | GGUF_MINISTRAL3 | GGUF_GRANITE_HYBRID |   \
     MIXERS)
#define TILED (GGUF_QWEN3_5 | GGUF_QWEN3_5_MOE) /* values of the first of each key come first */

/* "blk.N." in front and the number of the layer there, but for those that have no #. */
static const struct {
    const char *from, *to;
    uint64_t families;
    unsigned change;
} names[] = {
    {"#ssm_a", "#mixer.A_log", GGUF_MAMBA, GGUF_LOG},
    {"#ssm_x.weight", "#mixer.x_proj.weight", GGUF_MAMBA, 0},
    {"#ssm_dt.weight", "#mixer.dt_proj.weight", GGUF_MAMBA, 0},
    {"#ssm_dt.bias", "#mixer.dt_proj.bias", GGUF_MAMBA, 0},
    {"#ssm_a", "#mamba.A_log", GGUF_JAMBA, GGUF_LOG},
    {"#ssm_x.weight", "#mamba.x_proj.weight", GGUF_JAMBA, 0},
    {"#ssm_dt.weight", "#mamba.dt_proj.weight", GGUF_JAMBA, 0},
    {"#ssm_dt.bias", "#mamba.dt_proj.bias", GGUF_JAMBA, 0},
    {"#ssm_dt_norm.weight", "#mamba.dt_layernorm.weight", GGUF_JAMBA, 0},
    {"#ssm_b_norm.weight", "#mamba.b_layernorm.weight", GGUF_JAMBA, 0},
    {"#ssm_c_norm.weight", "#mamba.c_layernorm.weight", GGUF_JAMBA, 0},
    {"output_norm.weight", "model.final_layernorm.weight", FORWARD, 0},
    {"#ffn_norm.weight", "#pre_ff_layernorm.weight", FORWARD, 0},
    {"#ffn_gate.weight", "#feed_forward.gate_proj.weight", FORWARD, 0},
    {"#ffn_up.weight", "#feed_forward.up_proj.weight", FORWARD, 0},
    {"#ffn_down.weight", "#feed_forward.down_proj.weight", FORWARD, 0},
    {"#ffn_gate_inp.weight", "#feed_forward.router.weight", GGUF_JAMBA, GGUF_ROUTER},
    {"#ffn_gate_exps.weight", "#feed_forward.experts.{e}.gate_proj.weight", GGUF_JAMBA,
     GGUF_EXPERTS},
    {"#ffn_up_exps.weight", "#feed_forward.experts.{e}.up_proj.weight", GGUF_JAMBA, GGUF_EXPERTS},
    {"#ffn_down_exps.weight", "#feed_forward.experts.{e}.down_proj.weight", GGUF_JAMBA,
     GGUF_EXPERTS},
    {"token_embd.weight", "backbone.embeddings.weight", MIXERS, 0},
    {"output_norm.weight", "backbone.norm_f.weight", MIXERS, 0},
    {"#attn_norm.weight", "#norm.weight", MIXERS, 0},
    {"#attn_q.weight", "#mixer.q_proj.weight", MIXERS, GGUF_QUERY},
    {"#attn_k.weight", "#mixer.k_proj.weight", MIXERS, GGUF_KEY},
    {"#attn_v.weight", "#mixer.v_proj.weight", MIXERS, 0},
    {"#attn_output.weight", "#mixer.o_proj.weight", MIXERS, 0},
    {"#ffn_up.weight", "#mixer.up_proj.weight", MIXERS, 0},
    {"#ffn_down.weight", "#mixer.down_proj.weight", MIXERS, 0},
    {"#ffn_up_exps.weight", "#mixer.experts.{e}.up_proj.weight", MIXERS, GGUF_EXPERTS},
    {"#ffn_down_exps.weight", "#mixer.experts.{e}.down_proj.weight", MIXERS, GGUF_EXPERTS},
    {"#ffn_latent_down.weight", "#mixer.fc1_latent_proj.weight", MIXERS, 0},
    {"#ffn_latent_up.weight", "#mixer.fc2_latent_proj.weight", MIXERS, 0},
    {"#ffn_up_shexp.weight", "#mixer.shared_experts.up_proj.weight", MIXERS, 0},
    {"#ffn_down_shexp.weight", "#mixer.shared_experts.down_proj.weight", MIXERS, 0},
    {"#ffn_gate_inp.weight", "#mixer.gate.weight", MIXERS, GGUF_ROUTER},
    {"#exp_probs_b.bias", "#mixer.gate.e_score_correction_bias", MIXERS, GGUF_KEPT},
    {"#ssm_in.weight", "#mixer.in_proj.weight", MIXERS, 0},
    {"#ssm_conv1d.weight", "#mixer.conv1d.weight", MIXERS, GGUF_TAPS},
    {"#ssm_conv1d.bias", "#mixer.conv1d.bias", MIXERS, 0},
    {"#ssm_dt.bias", "#mixer.dt_bias", MIXERS, 0},
    {"#ssm_a", "#mixer.A_log", MIXERS, GGUF_LOG | GGUF_FLAT},
    {"#ssm_d", "#mixer.D", MIXERS, GGUF_FLAT},
    {"#ssm_norm.weight", "#mixer.norm.weight", MIXERS, GGUF_FLAT},
    {"#ssm_out.weight", "#mixer.out_proj.weight", MIXERS, 0},
    {"#ssm_in.weight", "#mamba.in_proj.weight", GGUF_BESIDE, 0},
    {"#ssm_conv1d.weight", "#mamba.conv1d.weight", GGUF_BESIDE, GGUF_TAPS},
    {"#ssm_conv1d.bias", "#mamba.conv1d.bias", GGUF_BESIDE, 0},
    {"#ssm_dt.bias", "#mamba.dt_bias", GGUF_BESIDE, 0},
    {"#ssm_a", "#mamba.A_log", GGUF_BESIDE, GGUF_LOG | GGUF_FLAT},
    {"#ssm_d", "#mamba.D", GGUF_BESIDE, GGUF_FLAT},
    {"#ssm_norm.weight", "#mamba.norm.weight", GGUF_BESIDE, GGUF_FLAT},
    {"#ssm_out.weight", "#mamba.out_proj.weight", GGUF_BESIDE, 0},
    {"#ffn_gate.weight", "#shared_mlp.input_linear.weight", GGUF_GRANITE_HYBRID, GGUF_GATE_UP},
    {"#ffn_gate_shexp.weight", "#shared_mlp.input_linear.weight", GGUF_GRANITE_HYBRID,
     GGUF_GATE_UP},
    {"#ffn_up.weight", "", GGUF_GRANITE_HYBRID, GGUF_JOINED},
    {"#ffn_up_shexp.weight", "", GGUF_GRANITE_HYBRID, GGUF_JOINED},
    {"#ffn_down.weight", "#shared_mlp.output_linear.weight", GGUF_GRANITE_HYBRID, 0},
    {"#ffn_down_shexp.weight", "#shared_mlp.output_linear.weight", GGUF_GRANITE_HYBRID, 0},
    {"#ffn_gate_exps.weight", "#block_sparse_moe.input_linear.weight", GGUF_GRANITE_HYBRID,
     GGUF_GATE_UP | GGUF_STACKED},
    {"#ffn_up_exps.weight", "", GGUF_GRANITE_HYBRID, GGUF_JOINED},
    {"#ffn_down_exps.weight", "#block_sparse_moe.output_linear.weight", GGUF_GRANITE_HYBRID,
     GGUF_STACKED},
    {"#ffn_gate_inp.weight", "#block_sparse_moe.router.layer.weight", GGUF_GRANITE_HYBRID,
     GGUF_ROUTER},
    {"#attn_qkv.weight", "#linear_attn.in_proj_qkvz.weight", GGUF_QWEN3_NEXT, GGUF_QKVZ},
    {"#attn_gate.weight", "", GGUF_QWEN3_NEXT, GGUF_JOINED},
    {"#ssm_ba.weight", "#linear_attn.in_proj_ba.weight", GGUF_QWEN3_NEXT, 0},
    {"#ssm_a", "#linear_attn.A_log", GGUF_QWEN3_NEXT, GGUF_LOG},
    {"#ssm_dt.bias", "#linear_attn.dt_bias", GGUF_QWEN3_NEXT, 0},
    {"#ssm_conv1d.weight", "#linear_attn.conv1d.weight", GGUF_QWEN3_NEXT, GGUF_TAPS},
    {"#ssm_out.weight", "#linear_attn.out_proj.weight", GGUF_QWEN3_NEXT, 0},
    {"#attn_qkv.weight", "#linear_attn.in_proj_qkv.weight", TILED, GGUF_TILED_TAIL},
    {"#attn_gate.weight", "#linear_attn.in_proj_z.weight", TILED, GGUF_TILED},
    {"#ssm_beta.weight", "#linear_attn.in_proj_b.weight", TILED, GGUF_TILED},
    {"#ssm_alpha.weight", "#linear_attn.in_proj_a.weight", TILED, GGUF_TILED},
    {"#ssm_a", "#linear_attn.A_log", TILED, GGUF_LOG | GGUF_TILED},
    {"#ssm_dt.bias", "#linear_attn.dt_bias", TILED, GGUF_TILED},
    {"#ssm_conv1d.weight", "#linear_attn.conv1d.weight", TILED, GGUF_TAPS | GGUF_TILED_TAIL},
    {"#ssm_out.weight", "#linear_attn.out_proj.weight", TILED, GGUF_TILED_COLUMNS},
    {"#ssm_norm.weight", "#linear_attn.norm.weight", GGUF_DELTA, 0},
    {"#attn_q_a.weight", "#self_attn.q_a_proj.weight", GGUF_LATENT, 0},
    {"#attn_q_a_norm.weight", "#self_attn.q_a_layernorm.weight", GGUF_LATENT, 0},
    {"#attn_q_b.weight", "#self_attn.q_b_proj.weight", GGUF_LATENT, 0},
    {"#attn_kv_a_mqa.weight", "#self_attn.kv_a_proj_with_mqa.weight", GGUF_LATENT, 0},
    {"#attn_kv_a_norm.weight", "#self_attn.kv_a_layernorm.weight", GGUF_LATENT, 0},
    {"#attn_kv_b.weight", "#self_attn.kv_b_proj.weight", GGUF_LATENT, 0},
    {"#attn_k_b.weight", "#self_attn.kv_b_proj.weight", GGUF_LATENT, GGUF_KV_B},
    {"#attn_v_b.weight", "", GGUF_LATENT, GGUF_JOINED},
    {"#ssm_a", "#self_attn.A_log", GGUF_KIMI_LINEAR, GGUF_LOG},
    {"#ssm_beta.weight", "#self_attn.b_proj.weight", GGUF_KIMI_LINEAR, 0},
    {"#ssm_dt.bias", "#self_attn.dt_bias", GGUF_KIMI_LINEAR, GGUF_KEPT},
    {"#ssm_f_a.weight", "#self_attn.f_a_proj.weight", GGUF_KIMI_LINEAR, 0},
    {"#ssm_f_b.weight", "#self_attn.f_b_proj.weight", GGUF_KIMI_LINEAR, 0},
    {"#ssm_g_a.weight", "#self_attn.g_a_proj.weight", GGUF_KIMI_LINEAR, 0},
    {"#ssm_g_b.weight", "#self_attn.g_b_proj.weight", GGUF_KIMI_LINEAR, 0},
    {"#ssm_conv1d_q.weight", "#self_attn.q_conv1d.weight", GGUF_KIMI_LINEAR, GGUF_TAPS},
    {"#ssm_conv1d_k.weight", "#self_attn.k_conv1d.weight", GGUF_KIMI_LINEAR, GGUF_TAPS},
    {"#ssm_conv1d_v.weight", "#self_attn.v_conv1d.weight", GGUF_KIMI_LINEAR, GGUF_TAPS},
    {"#ssm_norm.weight", "#self_attn.o_norm.weight", GGUF_KIMI_LINEAR, 0},
    {"#ffn_gate.weight", "#block_sparse_moe.gate_proj.weight", GGUF_KIMI_LINEAR, 0},
    {"#ffn_up.weight", "#block_sparse_moe.up_proj.weight", GGUF_KIMI_LINEAR, 0},
    {"#ffn_down.weight", "#block_sparse_moe.down_proj.weight", GGUF_KIMI_LINEAR, 0},
    {"#ffn_gate_shexp.weight", "#block_sparse_moe.shared_experts.gate_proj.weight",
     GGUF_KIMI_LINEAR, 0},
    {"#ffn_up_shexp.weight", "#block_sparse_moe.shared_experts.up_proj.weight", GGUF_KIMI_LINEAR,
     0},
    {"#ffn_down_shexp.weight", "#block_sparse_moe.shared_experts.down_proj.weight",
     GGUF_KIMI_LINEAR, 0},
    {"#exp_probs_b.bias", "#block_sparse_moe.gate.e_score_correction_bias", GGUF_KIMI_LINEAR,
     GGUF_KEPT},
    {"#ffn_gate.weight", "#feed_forward.gate_proj.weight", GGUF_LLAMA4, 0},
    {"#ffn_up.weight", "#feed_forward.up_proj.weight", GGUF_LLAMA4, 0},
    {"#ffn_down.weight", "#feed_forward.down_proj.weight", GGUF_LLAMA4, 0},
    {"#ffn_gate_inp.weight", "#feed_forward.router.weight", GGUF_LLAMA4, GGUF_ROUTER},
    {"#ffn_gate_shexp.weight", "#feed_forward.shared_expert.gate_proj.weight", GGUF_LLAMA4, 0},
    {"#ffn_up_shexp.weight", "#feed_forward.shared_expert.up_proj.weight", GGUF_LLAMA4, 0},
    {"#ffn_down_shexp.weight", "#feed_forward.shared_expert.down_proj.weight", GGUF_LLAMA4, 0},
    {"#ffn_gate_exps.weight", "#feed_forward.experts.{e}.gate_proj.weight", GGUF_LLAMA4,
     GGUF_EXPERTS | GGUF_BLOCKS},
    {"#ffn_up_exps.weight", "#feed_forward.experts.{e}.up_proj.weight", GGUF_LLAMA4,
     GGUF_EXPERTS | GGUF_BLOCKS},
    {"#ffn_down_exps.weight", "#feed_forward.experts.{e}.down_proj.weight", GGUF_LLAMA4,
     GGUF_EXPERTS | GGUF_BLOCKS},
    {"#ffn_gate_exps.weight", "#feed_forward.experts.gate_up_proj", GGUF_LLAMA4,
     GGUF_GATE_UP | GGUF_TURNED | GGUF_STACKED},
    {"#ffn_up_exps.weight", "", GGUF_LLAMA4, GGUF_JOINED},
    {"#ffn_down_exps.weight", "#feed_forward.experts.down_proj", GGUF_LLAMA4,
     GGUF_TURNED | GGUF_STACKED},
    {"#attn_sinks.weight", "#self_attn.sinks", GGUF_GPT_OSS, 0},
    {"#ffn_gate_inp.weight", "#mlp.router.weight", GGUF_GPT_OSS, GGUF_ROUTER},
    {"#ffn_gate_inp.bias", "#mlp.router.bias", GGUF_GPT_OSS, 0},
    {"#ffn_gate_exps.weight", "#mlp.experts.gate_up_proj.weight", GGUF_GPT_OSS,
     GGUF_GATE_UP | GGUF_IN_TURNS | GGUF_STACKED},
    {"#ffn_up_exps.weight", "", GGUF_GPT_OSS, GGUF_JOINED},
    {"#ffn_down_exps.weight", "#mlp.experts.down_proj.weight", GGUF_GPT_OSS, GGUF_STACKED},
    {"#ffn_gate_exps.bias", "#mlp.experts.gate_up_proj_bias", GGUF_GPT_OSS,
     GGUF_GATE_UP | GGUF_IN_TURNS | GGUF_ROUTER},
    {"#ffn_up_exps.bias", "", GGUF_GPT_OSS, GGUF_JOINED},
    {"#ffn_down_exps.bias", "#mlp.experts.down_proj_bias", GGUF_GPT_OSS, GGUF_ROUTER},
    {"altup_proj.weight", "model.altup_projections.{e}.weight", GGUF_GEMMA3N, GGUF_EXPERTS},
    {"altup_unembd_proj.weight", "model.altup_unembed_projections.{e}.weight", GGUF_GEMMA3N,
     GGUF_EXPERTS},
    {"per_layer_token_embd.weight", "model.embed_tokens_per_layer.weight", GGUF_NEXT, 0},
    {"per_layer_model_proj.weight", "model.per_layer_model_projection.weight", GGUF_NEXT, 0},
    {"per_layer_proj_norm.weight", "model.per_layer_projection_norm.weight", GGUF_NEXT, 0},
    {"#inp_gate.weight", "#per_layer_input_gate.weight", GGUF_NEXT, 0},
    {"#proj.weight", "#per_layer_projection.weight", GGUF_NEXT, 0},
    {"#post_norm.weight", "#post_per_layer_input_norm.weight", GGUF_NEXT, 0},
    {"#altup_correct_scale.weight", "#altup.correct_output_scale", GGUF_GEMMA3N, 0},
    {"#altup_correct_coef.weight", "#altup.correction_coefs.weight", GGUF_GEMMA3N, GGUF_ROUTER},
    {"#altup_predict_coef.weight", "#altup.prediction_coefs.weight", GGUF_GEMMA3N, GGUF_ROUTER},
    {"#altup_router.weight", "#altup.modality_router.weight", GGUF_GEMMA3N, 0},
    {"#altup_router_norm.weight", "#altup.router_norm.weight", GGUF_GEMMA3N, 0},
    {"#laurel_l.weight", "#laurel.linear_left.weight", GGUF_GEMMA3N, 0},
    {"#laurel_r.weight", "#laurel.linear_right.weight", GGUF_GEMMA3N, 0},
    {"#laurel_post_norm.weight", "#laurel.post_laurel_norm.weight", GGUF_GEMMA3N, 0},
    {"#layer_output_scale.weight", "#layer_scalar", GGUF_GEMMA4, 0},
    {"#post_ffw_norm_1.weight", "#post_feedforward_layernorm_1.weight", GGUF_GEMMA4, 0},
    {"#post_ffw_norm_2.weight", "#post_feedforward_layernorm_2.weight", GGUF_GEMMA4, 0},
    {"#pre_ffw_norm_2.weight", "#pre_feedforward_layernorm_2.weight", GGUF_GEMMA4, 0},
    {"#ffn_gate_inp.weight", "#router.proj.weight", GGUF_GEMMA4, GGUF_ROUTER},
    {"#ffn_gate_inp.scale", "#router.scale", GGUF_GEMMA4, 0},
    {"#ffn_down_exps.scale", "#router.per_expert_scale", GGUF_GEMMA4, 0},
    {"#ffn_gate_up_exps.weight", "#experts.gate_up_proj", GGUF_GEMMA4, GGUF_STACKED},
    {"#ffn_gate_exps.weight", "#experts.gate_up_proj", GGUF_GEMMA4, GGUF_GATE_UP | GGUF_STACKED},
    {"#ffn_up_exps.weight", "", GGUF_GEMMA4, GGUF_JOINED},
    {"#ffn_down_exps.weight", "#experts.down_proj", GGUF_GEMMA4, GGUF_STACKED},
    {"token_embd.weight", "model.embed_tokens.weight", GGUF_DECODERS, 0},
    {"output_norm.weight", "model.norm.weight", GGUF_DECODERS, GGUF_NORM},
    {"output_norm.bias", "model.norm.bias", GGUF_STARCODER2, 0},
    {"token_embd_norm.weight", "model.embedding_norm.weight", GGUF_LFM2S, 0},
    {"rope_factors_long.weight", "", GGUF_PHI3, GGUF_ASIDE},
    {"rope_factors_short.weight", "", GGUF_PHI3, GGUF_ASIDE},
    {"#attn_norm.weight", "#operator_norm.weight", GGUF_LFM2S, 0},
    {"#attn_output.weight", "#self_attn.out_proj.weight", GGUF_LFM2S, 0},
    {"#attn_q_norm.weight", "#self_attn.q_layernorm.weight", GGUF_LFM2S, 0},
    {"#attn_k_norm.weight", "#self_attn.k_layernorm.weight", GGUF_LFM2S, 0},
    {"#shortconv.conv.weight", "#conv.conv.weight", GGUF_LFM2S, GGUF_TAPS},
    {"#shortconv.in_proj.weight", "#conv.in_proj.weight", GGUF_LFM2S, 0},
    {"#shortconv.out_proj.weight", "#conv.out_proj.weight", GGUF_LFM2S, 0},
    {"#ffn_norm.weight", "#ffn_norm.weight", GGUF_LFM2S, 0},
    {"#ffn_gate.weight", "#feed_forward.w1.weight", GGUF_LFM2S, 0},
    {"#ffn_up.weight", "#feed_forward.w3.weight", GGUF_LFM2S, 0},
    {"#ffn_down.weight", "#feed_forward.w2.weight", GGUF_LFM2S, 0},
    {"#ffn_gate_inp.weight", "#feed_forward.gate.weight", GGUF_LFM2_MOE, GGUF_ROUTER},
    {"#exp_probs_b.bias", "#feed_forward.expert_bias", GGUF_LFM2_MOE, 0},
    {"#ffn_gate_exps.weight", "#feed_forward.experts.{e}.w1.weight", GGUF_LFM2_MOE, GGUF_EXPERTS},
    {"#ffn_up_exps.weight", "#feed_forward.experts.{e}.w3.weight", GGUF_LFM2_MOE, GGUF_EXPERTS},
    {"#ffn_down_exps.weight", "#feed_forward.experts.{e}.w2.weight", GGUF_LFM2_MOE, GGUF_EXPERTS},
    {"output.weight", "lm_head.weight", GGUF_DECODERS, 0},
    {"rope_freqs.weight", "", GGUF_DECODERS, GGUF_ASIDE},
    {"#attn_norm.weight", "#input_layernorm.weight", GGUF_DECODERS, GGUF_NORM},
    {"#attn_norm.bias", "#input_layernorm.bias", GGUF_STARCODER2, 0},
    {"#ffn_norm.bias", "#post_attention_layernorm.bias", GGUF_STARCODER2, 0},
    {"#attn_qkv.weight", "#self_attn.qkv_proj.weight", GGUF_PHI3, 0},
    {"#attn_q.weight", "#self_attn.q_proj.weight", GGUF_DECODERS, GGUF_QUERY},
    {"#attn_k.weight", "#self_attn.k_proj.weight", GGUF_DECODERS, GGUF_KEY},
    {"#attn_v.weight", "#self_attn.v_proj.weight", GGUF_DECODERS, 0},
    {"#attn_output.weight", "#self_attn.o_proj.weight", GGUF_DECODERS, 0},
    {"#attn_q.bias", "#self_attn.q_proj.bias", GGUF_DECODERS, GGUF_QUERY},
    {"#attn_k.bias", "#self_attn.k_proj.bias", GGUF_DECODERS, GGUF_KEY},
    {"#attn_v.bias", "#self_attn.v_proj.bias", GGUF_DECODERS, 0},
    {"#attn_output.bias", "#self_attn.o_proj.bias", GGUF_DECODERS, 0},
    {"#attn_q_norm.weight", "#self_attn.q_norm.weight", GGUF_COHERE, GGUF_ROUTER},
    {"#attn_k_norm.weight", "#self_attn.k_norm.weight", GGUF_COHERE, GGUF_ROUTER},
    {"#attn_q_norm.weight", "#self_attn.q_norm.weight", HEAD_NORMS, GGUF_NORM},
    {"#attn_k_norm.weight", "#self_attn.k_norm.weight", HEAD_NORMS, GGUF_NORM},
    {"#ffn_norm.weight", "#post_attention_layernorm.weight", PLAIN, GGUF_NORM},
    {"#ffn_norm.weight", "#pre_feedforward_layernorm.weight", SANDWICH, GGUF_NORM},
    {"#post_attention_norm.weight", "#post_self_attn_layernorm.weight", GGUF_GLM4, 0},
    {"#post_ffw_norm.weight", "#post_mlp_layernorm.weight", GGUF_GLM4, 0},
    {"#post_attention_norm.weight", "#post_attention_layernorm.weight", SANDWICH | BEHIND | SECOND,
     GGUF_NORM},
    {"#post_ffw_norm.weight", "#post_feedforward_layernorm.weight", SANDWICH | BEHIND, GGUF_NORM},
    {"#ffn_up.weight", "#mlp.gate_up_proj.weight", FUSED, 0},
    {"#ffn_up.weight", "#mlp.c_fc.weight", GGUF_STARCODER2, 0},
    {"#ffn_down.weight", "#mlp.c_proj.weight", GGUF_STARCODER2, 0},
    {"#ffn_up.bias", "#mlp.c_fc.bias", GGUF_STARCODER2, 0},
    {"#ffn_down.bias", "#mlp.c_proj.bias", GGUF_STARCODER2, 0},
    {"#ffn_gate.weight", "#mlp.gate_proj.weight", DENSE, 0},
    {"#ffn_up.weight", "#mlp.up_proj.weight", DENSE, 0},
    {"#ffn_down.weight", "#mlp.down_proj.weight", DENSE, 0},
    {"#ffn_gate.bias", "#mlp.gate_proj.bias", LLAMAS, 0},
    {"#ffn_up.bias", "#mlp.up_proj.bias", LLAMAS, 0},
    {"#ffn_down.bias", "#mlp.down_proj.bias", LLAMAS, 0},
    {"#ffn_gate_inp.weight", "#mlp.gate.weight", AS_DENSE, GGUF_ROUTER},
    {"#ffn_gate_exps.weight", "#mlp.experts.{e}.gate_proj.weight", AS_DENSE, GGUF_EXPERTS},
    {"#ffn_up_exps.weight", "#mlp.experts.{e}.up_proj.weight", AS_DENSE, GGUF_EXPERTS},
    {"#ffn_down_exps.weight", "#mlp.experts.{e}.down_proj.weight", AS_DENSE, GGUF_EXPERTS},
    {"#ffn_gate_inp_shexp.weight", "#mlp.shared_expert_gate.weight", SEES_ONE,
     GGUF_ROUTER | GGUF_ROW},
    {"#ffn_gate_shexp.weight", "#mlp.shared_expert.gate_proj.weight", SEES_ONE, 0},
    {"#ffn_up_shexp.weight", "#mlp.shared_expert.up_proj.weight", SEES_ONE, 0},
    {"#ffn_down_shexp.weight", "#mlp.shared_expert.down_proj.weight", SEES_ONE, 0},
    {"#exp_probs_b.bias", "#mlp.gate.e_score_correction_bias", GGUF_SIGMOIDS | GGUF_DEEPSEEK3,
     GGUF_KEPT},
    {"#exp_probs_b.bias", "#mlp.moe_statics.e_score_correction_bias", GGUF_ERNIE_MOE,
     GGUF_ROUTER | GGUF_KEPT},
    {"#ffn_gate_shexp.weight", "#mlp.shared_experts.gate_proj.weight", SHARED, 0},
    {"#ffn_up_shexp.weight", "#mlp.shared_experts.up_proj.weight", SHARED, 0},
    {"#ffn_down_shexp.weight", "#mlp.shared_experts.down_proj.weight", SHARED, 0},
    {"#nextn.eh_proj.weight", "", DRAFTS, GGUF_ASIDE}, /* drafts more tokens */
    {"#nextn.embed_tokens.weight", "", DRAFTS, GGUF_ASIDE},
    {"#nextn.enorm.weight", "", DRAFTS, GGUF_ASIDE},
    {"#nextn.hnorm.weight", "", DRAFTS, GGUF_ASIDE},
    {"#nextn.shared_head_head.weight", "", DRAFTS, GGUF_ASIDE},
    {"#nextn.shared_head_norm.weight", "", DRAFTS, GGUF_ASIDE},
    {"#exp_probs_b.bias", "#block_sparse_moe.e_score_correction_bias", GGUF_MINIMAX_M2, 0},
    {"#ffn_gate_inp.weight", "#block_sparse_moe.gate.weight", BY_NUMBER, GGUF_ROUTER},
    {"#ffn_gate_exps.weight", "#block_sparse_moe.experts.{e}.w1.weight", BY_NUMBER, GGUF_EXPERTS},
    {"#ffn_up_exps.weight", "#block_sparse_moe.experts.{e}.w3.weight", BY_NUMBER, GGUF_EXPERTS},
    {"#ffn_down_exps.weight", "#block_sparse_moe.experts.{e}.w2.weight", BY_NUMBER, GGUF_EXPERTS},
    {"dense_2.weight", "", GGUF_GEMMA_EMBEDDING, GGUF_BEHIND},
    {"dense_3.weight", "", GGUF_GEMMA_EMBEDDING, GGUF_BEHIND},
    {"token_embd.weight", "bert.embeddings.word_embeddings.weight", GGUF_BERT_SCORES, 0},
    {"token_types.weight", "bert.embeddings.token_type_embeddings.weight", GGUF_BERT_SCORES,
     GGUF_ROUTER},
    {"position_embd.weight", "bert.embeddings.position_embeddings.weight", GGUF_BERT_SCORES,
     GGUF_ROUTER},
    {"token_embd_norm.weight", "bert.embeddings.LayerNorm.weight", GGUF_BERT_SCORES, 0},
    {"token_embd_norm.bias", "bert.embeddings.LayerNorm.bias", GGUF_BERT_SCORES, 0},
    {"cls.weight", "bert.pooler.dense.weight", GGUF_BERT_SCORES, 0},
    {"cls.bias", "bert.pooler.dense.bias", GGUF_BERT_SCORES, 0},
    {"cls.output.weight", "classifier.weight", GGUF_BERT_SCORES, GGUF_ROW},
    {"cls.output.bias", "classifier.bias", GGUF_BERT_SCORES, 0},
    {"token_embd.weight", "embeddings.word_embeddings.weight", EARLIER, 0},
    {"token_types.weight", "embeddings.token_type_embeddings.weight", EARLIER, GGUF_ROUTER},
    {"position_embd.weight", "embeddings.position_embeddings.weight", GGUF_BERT, GGUF_ROUTER},
    {"token_embd_norm.weight", "embeddings.LayerNorm.weight", GGUF_BERT, 0},
    {"token_embd_norm.bias", "embeddings.LayerNorm.bias", GGUF_BERT, 0},
    {"#attn_q.weight", "#attention.self.query.weight", GGUF_BERTS, 0},
    {"#attn_k.weight", "#attention.self.key.weight", GGUF_BERTS, 0},
    {"#attn_v.weight", "#attention.self.value.weight", GGUF_BERTS, 0},
    {"#attn_q.bias", "#attention.self.query.bias", GGUF_BERTS, 0},
    {"#attn_k.bias", "#attention.self.key.bias", GGUF_BERTS, 0},
    {"#attn_v.bias", "#attention.self.value.bias", GGUF_BERTS, 0},
    {"#attn_output.weight", "#attention.output.dense.weight", GGUF_BERTS, 0},
    {"#attn_output.bias", "#attention.output.dense.bias", GGUF_BERTS, 0},
    {"#attn_output_norm.weight", "#attention.output.LayerNorm.weight", GGUF_BERTS, 0},
    {"#attn_output_norm.bias", "#attention.output.LayerNorm.bias", GGUF_BERTS, 0},
    {"#ffn_up.weight", "#intermediate.dense.weight", GGUF_BERTS, 0},
    {"#ffn_up.bias", "#intermediate.dense.bias", GGUF_BERTS, 0},
    {"#ffn_down.weight", "#output.dense.weight", GGUF_BERTS, 0},
    {"#ffn_down.bias", "#output.dense.bias", GGUF_BERTS, 0},
    {"#layer_output_norm.weight", "#output.LayerNorm.weight", GGUF_BERTS, 0},
    {"#layer_output_norm.bias", "#output.LayerNorm.bias", GGUF_BERTS, 0},
    {"token_embd_norm.weight", "emb_ln.weight", GGUF_NOMIC_BERT, 0},
    {"token_embd_norm.bias", "emb_ln.bias", GGUF_NOMIC_BERT, 0},
    {"#attn_qkv.weight", "#attn.Wqkv.weight", GGUF_NOMIC_BERT | GGUF_MODERN_BERT, 0},
    {"#attn_output.weight", "#attn.out_proj.weight", GGUF_NOMIC_BERT, 0},
    {"#attn_output_norm.weight", "#norm1.weight", GGUF_NOMIC_BERT, 0},
    {"#attn_output_norm.bias", "#norm1.bias", GGUF_NOMIC_BERT, 0},
    {"#ffn_up.weight", "#mlp.fc11.weight", GGUF_NOMIC_BERT, 0},
    {"#ffn_gate.weight", "#mlp.fc12.weight", GGUF_NOMIC_BERT, 0},
    {"#ffn_down.weight", "#mlp.fc2.weight", GGUF_NOMIC_BERT, 0},
    {"#layer_output_norm.weight", "#norm2.weight", GGUF_NOMIC_BERT, 0},
    {"#layer_output_norm.bias", "#norm2.bias", GGUF_NOMIC_BERT, 0},
    {"token_embd.weight", "embeddings.tok_embeddings.weight", GGUF_MODERN_BERT, 0},
    {"token_embd_norm.weight", "embeddings.norm.weight", GGUF_MODERN_BERT, 0},
    {"output_norm.weight", "final_norm.weight", GGUF_MODERN_BERT, 0},
    {"#attn_norm.weight", "#attn_norm.weight", GGUF_MODERN_BERT, 0},
    {"#attn_output.weight", "#attn.Wo.weight", GGUF_MODERN_BERT, 0},
    {"#ffn_norm.weight", "#mlp_norm.weight", GGUF_MODERN_BERT, 0},
    {"#ffn_up.weight", "#mlp.Wi.weight", GGUF_MODERN_BERT, 0},
    {"#ffn_down.weight", "#mlp.Wo.weight", GGUF_MODERN_BERT, 0},
};

/* What is done in a family to what the rows say of all. */
static unsigned changes(const struct gguf_family *f, unsigned change) {
    if (!(f->bit & TURNED)) change &= ~(unsigned)(GGUF_QUERY | GGUF_KEY);
    if (!(f->bit & (GGUF_GEMMA | GGUF_DELTA | (SANDWICH & ~GGUF_NEXT))))
        change &= ~(unsigned)GGUF_NORM;
    return change;
}

const char *gguf_family_at(int i) {
    return i < (int)(sizeof families / sizeof *families) ? families[i].architecture : NULL;
}

static const char *list_families(et_arena *arena) {
    const char *text = "", *last = "";
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        if (strcmp(last, families[i].architecture) != 0)
            text = et_printf(arena, "%s%s%s", text, *text ? ", " : "", families[i].architecture);
        last = families[i].architecture;
    }
    return text;
}

/* Does the file say what the family needs: "key", which is not 0, or "key=number"? False after an
 * error. */
static bool find_need(const struct gguf *g, const struct gguf_family *f, bool *out) {
    int64_t n = 0;
    size_t end = f->needs ? strcspn(f->needs, "=") : 0;
    *out = !f->needs;
    if (*out) return true;
    const char *key = gguf_key(g, f, et_printf(g->arena, "%.*s", (int)end, f->needs));
    const struct gguf_value *v = gguf_find(g, key);
    bool real = v && (v->type == GGUF_F32 || v->type == GGUF_F64);
    if (!real && !gguf_get_int(g, key, 0, &n)) return false;
    *out = real            ? !gguf_says_nothing(v)
           : f->needs[end] ? n == strtol(f->needs + end + 1, NULL, 10)
                           : n != 0;
    return true;
}

const struct gguf_family *gguf_family_of(const struct gguf *g) {
    struct gguf_text arch;
    if (!gguf_get_text(g, "general.architecture", &arch)) return NULL;
    for (size_t i = 0; arch.at && i < sizeof families / sizeof *families; i++) {
        const struct gguf_family *f = &families[i];
        bool has;
        if (!gguf_is(arch, f->architecture)) continue;
        if (!find_need(g, f, &has)) return NULL;
        if (has) return f;
    }
    if (arch.at)
        gguf_note(g->fault,
                  "%s: metadata \"general.architecture\" is \"%s\", which is not supported; "
                  "supported: %s",
                  g->path, gguf_shown(arch), list_families(g->arena));
    else
        gguf_note(g->fault, "%s: metadata \"general.architecture\" is missing", g->path);
    return NULL;
}

/* Takes "blk.12." off NAME: the 12 as text, or nothing where it does not begin so. */
static struct gguf_text take_layer(struct gguf_text *name) {
    enum { MOST_DIGITS = 6 };
    struct gguf_text none = {0};
    if (name->bytes < 4 || memcmp(name->at, "blk.", 4) != 0) return none;
    size_t n = 0;
    while (4 + n < name->bytes && name->at[4 + n] >= '0' && name->at[4 + n] <= '9')
        n++;
    bool zero = n > 1 && name->at[4] == '0';
    if (!n || n > MOST_DIGITS || zero || 4 + n >= name->bytes || name->at[4 + n] != '.')
        return none;
    struct gguf_text layer = {name->at + 4, n};
    name->at += 5 + n;
    name->bytes -= 5 + n;
    return layer;
}

/* Layers that draft more tokens stand behind the others. */
static bool is_draft(const struct gguf_family *f, const json_t *config, struct gguf_text layer) {
    int64_t layers = json_integer_value(json_object_get(config, "num_hidden_layers"));
    return f->bit & DRAFTS && layer.at && strtol(layer.at, NULL, 10) >= layers;
}

const char *gguf_tensor_name(const struct gguf *g, const struct gguf_family *f,
                             const json_t *config, struct gguf_text name, bool stays,
                             unsigned *change) {
    struct gguf_text layer = take_layer(&name);
    if (is_draft(f, config, layer)) {
        *change = GGUF_ASIDE;
        return "";
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        bool inside = *names[i].from == '#';
        if (!(names[i].families & f->bit) || inside != !!layer.at ||
            (names[i].change & GGUF_BLOCKS && !stays) || !gguf_is(name, names[i].from + inside))
            continue;
        *change = changes(f, names[i].change);
        if (!inside || !*names[i].to) return names[i].to;
        return et_printf(g->arena, "%s%.*s.%s", f->layers, (int)layer.bytes, layer.at,
                         names[i].to + 1);
    }
    return NULL;
}
