/* config.c - config.json from the metadata.
 *
 * What is known of a key stands in a row. A key of the architecture without a row may change what
 * the model computes, and is refused by its name unless it says nothing (0, false, empty). */
#include "frontend/gguf/convert.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum kind {
    INT,     /* an integer, or an array of one and the same for each layer */
    REAL,    /* a number */
    ELSE,    /* looked at by some function here */
    NOTHING, /* without effect on what is computed */
};

enum { NEED = 1 /* must be there */, SIGMOID = 2 /* as files number it */ };
#define PATTERN (GGUF_EXAONE4 | GGUF_OLMO3) /* which layers slide is in the file */
#define WINDOWS                                                                                    \
    (GGUF_MISTRAL | GGUF_GEMMA2 | GGUF_GEMMA3S | PATTERN | GGUF_COHERE2 | GGUF_PHI3 | GGUF_NEXT |  \
     GGUF_GPT_OSS)
#define CAPS (GGUF_GEMMA2 | GGUF_GEMMA3S)
#define RECURRENT                                                                                  \
    (GGUF_LFM2S | GGUF_KIMI_LINEAR | GGUF_GRANITE_HYBRID | GGUF_NEMOTRON_H | GGUF_JAMBA)
/* Sizes of heads that are not those of a decoder in general. */
#define OTHER_HEADS (GGUF_LATENT | GGUF_GEMMA4 | GGUF_MAMBAS)
#define OTHER_WIDTHS (GGUF_GEMMA4 | GGUF_NEMOTRON_H | GGUF_MAMBAS | GGUF_QWEN3_5_MOE)
#define MIXERS (GGUF_NEMOTRON_H | GGUF_MAMBAS)
#define NO_POSITIONS (MIXERS | GGUF_KIMI_LINEAR | GGUF_JAMBA)
#define LEARNED GGUF_BERTS /* positions */
#define TURNED (GGUF_ALL & ~LEARNED)
#define SEES_ONE (GGUF_QWEN2_MOE | GGUF_QWEN3_NEXT | GGUF_QWEN3_5_MOE)
#define QWEN_MIXTURE (SEES_ONE | GGUF_QWEN3_MOE)
#define GRANITES (GGUF_GRANITE | GGUF_GRANITE_HYBRID)
#define COHERES (GGUF_COHERE | GGUF_COHERE2)
#define LOCAL (GGUF_MIXTRAL | GGUF_MINIMAX_M2 | GGUF_LLAMA4 | GGUF_GPT_OSS)
#define BY_NAME (QWEN_MIXTURE | GGUF_OLMOE | GGUF_LFM2_MOE)
#define ROUTED (GGUF_SIGMOIDS | GGUF_DEEPSEEKS) /* words of DeepSeek's */
#define MIXTURE (LOCAL | BY_NAME | ROUTED)
/* The file may say that weights of experts add up to 1. */
#define NORMED (QWEN_MIXTURE | ROUTED | GGUF_NEMOTRON_H | GGUF_KIMI_LINEAR)
#define SIGMOIDS                                                                                   \
    (GGUF_SIGMOIDS | GGUF_LFM2_MOE | GGUF_MINIMAX_M2 | GGUF_DEEPSEEK3 | GGUF_KIMI_LINEAR)
/* A part of a head turns. */
#define PARTIAL (GGUF_GLM4 | GGUF_GLM4_MOE | GGUF_PHI3 | GGUF_MINIMAX_M2 | GGUF_DELTA)

static const struct {
    const char *key, *to;
    enum kind kind;
    uint64_t families;
    unsigned need;
} rows[] = {
    {"context_length", "max_position_embeddings", INT, TURNED & ~GGUF_MAMBAS, NEED},
    {"context_length", NULL, NOTHING, LEARNED | GGUF_MAMBAS, 0},
    {"embedding_length", "hidden_size", INT, GGUF_ALL, NEED},
    {"block_count", "num_hidden_layers", INT, GGUF_ALL, NEED},
    {"feed_forward_length", "intermediate_size", INT,
     GGUF_ALL & ~(OTHER_WIDTHS | GGUF_LLAMA4 | GGUF_GEMMA3N), NEED},
    {"feed_forward_length", "intermediate_size_mlp", INT, GGUF_LLAMA4, NEED},
    {"feed_forward_length", "intermediate_size", INT, GGUF_GEMMA3N, NEED},
    {"feed_forward_length", NULL, ELSE, OTHER_WIDTHS, 0},
    {"attention.head_count", "num_attention_heads", INT, GGUF_ALL & ~GGUF_MAMBAS, NEED},
    {"attention.head_count", NULL, NOTHING, GGUF_MAMBAS, 0},
    {"attention.head_count_kv", "num_key_value_heads", INT,
     GGUF_DECODERS & ~(RECURRENT | OTHER_HEADS), 0},
    {"attention.head_count_kv", NULL, ELSE, RECURRENT, NEED},
    {"attention.head_count_kv", NULL, ELSE, OTHER_HEADS, 0},
    {"attention.key_length", "head_dim", INT, GGUF_DECODERS & ~OTHER_HEADS, 0},
    {"attention.key_length", NULL, ELSE, OTHER_HEADS, 0},
    {"attention.layer_norm_rms_epsilon", "rms_norm_eps", REAL,
     GGUF_DECODERS & ~(COHERES | GGUF_STARCODER2 | GGUF_LFM2S | MIXERS), NEED},
    {"attention.layer_norm_rms_epsilon", "layer_norm_epsilon", REAL, GGUF_MAMBAS, NEED},
    {"attention.layer_norm_rms_epsilon", "layer_norm_epsilon", REAL, GGUF_NEMOTRON_H, 0},
    {"attention.layer_norm_epsilon", NULL, ELSE, GGUF_NEMOTRON_H, 0},
    {"attention.q_lora_rank", "q_lora_rank", INT, GGUF_LATENT, 0},
    {"attention.kv_lora_rank", "kv_lora_rank", INT, GGUF_LATENT, NEED},
    {"attention.key_length_mla", NULL, ELSE, GGUF_LATENT, 0},
    {"attention.value_length_mla", NULL, ELSE, GGUF_LATENT, 0},
    {"kda.head_dim", "linear_head_dim", INT, GGUF_KIMI_LINEAR, NEED},
    {"attention.recurrent_layers", NULL, ELSE, GGUF_DELTA, 0},
    {"full_attention_interval", NULL, ELSE, GGUF_DELTA, 0},
    {"rope.dimension_sections", NULL, NOTHING, GGUF_DELTA, 0}, /* all alike for text */
    {"ssm.conv_kernel", "linear_conv_kernel_dim", INT, GGUF_DELTA | GGUF_KIMI_LINEAR, NEED},
    {"ssm.state_size", "linear_key_head_dim", INT, GGUF_DELTA, NEED},
    {"ssm.group_count", "linear_num_key_heads", INT, GGUF_DELTA, NEED},
    {"ssm.time_step_rank", "linear_num_value_heads", INT, GGUF_DELTA, NEED},
    {"ssm.conv_kernel", "mamba_d_conv", INT, GGUF_BESIDE, NEED},
    {"ssm.state_size", "mamba_d_state", INT, GGUF_BESIDE, NEED},
    {"ssm.group_count", "mamba_n_groups", INT, GGUF_BESIDE & ~GGUF_JAMBA, NEED},
    {"ssm.time_step_rank", "mamba_n_heads", INT, GGUF_BESIDE & ~GGUF_JAMBA, NEED},
    {"ssm.time_step_rank", "mamba_dt_rank", INT, GGUF_JAMBA, NEED},
    {"ssm.time_step_rank", "time_step_rank", INT, GGUF_MAMBA, NEED},
    {"ssm.conv_kernel", "conv_kernel", INT, MIXERS, NEED},
    {"ssm.state_size", "ssm_state_size", INT, GGUF_NEMOTRON_H, NEED},
    {"ssm.state_size", "state_size", INT, GGUF_MAMBAS, NEED},
    {"ssm.group_count", "n_groups", INT, GGUF_NEMOTRON_H | GGUF_MAMBA2, NEED},
    {"ssm.time_step_rank", "mamba_num_heads", INT, GGUF_NEMOTRON_H, NEED},
    {"ssm.time_step_rank", "num_heads", INT, GGUF_MAMBA2, NEED},
    {"ssm.inner_size", NULL, ELSE, GGUF_DELTA | GGUF_STATES, NEED},
    {"altup.active_idx", "altup_active_idx", INT, GGUF_GEMMA3N, NEED},
    {"altup.num_inputs", "altup_num_inputs", INT, GGUF_GEMMA3N, NEED},
    {"activation_sparsity_scale", NULL, ELSE, GGUF_GEMMA3N, 0},
    {"embedding_length_per_layer_input", "hidden_size_per_layer_input", INT, GGUF_NEXT, NEED},
    {"attention.shared_kv_layers", "num_kv_shared_layers", INT, GGUF_NEXT, NEED},
    {"attention.key_length_swa", NULL, ELSE, GGUF_GEMMA4, 0},
    {"attention.value_length_swa", NULL, ELSE, GGUF_GEMMA4, 0},
    {"rope.dimension_count_swa", NULL, ELSE, GGUF_GEMMA4, 0},
    {"attention.sliding_window", NULL, ELSE, GGUF_LLAMA4, 0},
    {"attention.layer_norm_epsilon", "layer_norm_eps", REAL, COHERES, NEED},
    {"moe_latent_size", "moe_latent_size", INT, GGUF_NEMOTRON_H, 0},
    {"attention.layer_norm_rms_epsilon", "norm_eps", REAL, GGUF_LFM2S, NEED},
    {"attention.layer_norm_epsilon", "norm_epsilon", REAL, GGUF_STARCODER2, NEED},
    {"attention.temperature_scale", NULL, ELSE, GGUF_MINISTRAL3, 0},
    {"shortconv.l_cache", "conv_L_cache", INT, GGUF_LFM2S, NEED},
    {"logit_scale", "logit_scale", REAL, COHERES, NEED},
    {"logit_scale", "logits_scaling", REAL, GRANITES, NEED},
    {"attention.scale", "attention_multiplier", REAL, GRANITES, NEED},
    {"embedding_scale", "embedding_multiplier", REAL, GRANITES, NEED},
    {"residual_scale", "residual_multiplier", REAL, GRANITES, NEED},
    {"attention.layer_norm_epsilon", "layer_norm_eps", REAL, GGUF_BERTS | GGUF_NOMIC_BERT, NEED},
    {"attention.layer_norm_epsilon", "norm_eps", REAL, GGUF_MODERN_BERT, NEED},
    {"rope.freq_base", "rope_theta", REAL, TURNED & ~GGUF_MODERN_BERT, 0},
    {"rope.freq_base", "global_rope_theta", REAL, GGUF_MODERN_BERT, 0},
    {"rope.freq_base_swa", "rope_local_base_freq", REAL, GGUF_GEMMA3S | GGUF_NEXT, 0},
    {"rope.freq_base_swa", "local_rope_theta", REAL, GGUF_MODERN_BERT, 0},
    {"rope.freq_base_swa", NULL, ELSE, GGUF_OLMO3, 0},
    {"attention.sliding_window", "sliding_window", INT, WINDOWS, 0},
    {"attention.sliding_window", "local_attention", INT, GGUF_MODERN_BERT, NEED},
    {"attn_logit_softcapping", "attn_logit_softcapping", REAL, CAPS, 0},
    {"final_logit_softcapping", "final_logit_softcapping", REAL, CAPS | GGUF_NEXT, 0},
    {"expert_count", "num_local_experts", INT, LOCAL, NEED},
    {"expert_count", "num_experts", INT, BY_NAME | GGUF_KIMI_LINEAR, NEED},
    {"expert_count", "n_routed_experts", INT, ROUTED, NEED},
    {"expert_count", "n_routed_experts", INT, GGUF_NEMOTRON_H, 0},
    {"expert_count", "num_local_experts", INT, GGUF_GRANITE_HYBRID, 0},
    {"expert_count", "num_experts", INT, GGUF_GEMMA4 | GGUF_JAMBA, 0},
    {"expert_used_count", "num_experts_per_token", INT, GGUF_KIMI_LINEAR, NEED},
    {"expert_used_count", "num_experts_per_tok", INT,
     GGUF_NEMOTRON_H | GGUF_GRANITE_HYBRID | GGUF_JAMBA, 0},
    {"expert_used_count", "top_k_experts", INT, GGUF_GEMMA4, 0},
    {"expert_feed_forward_length", "intermediate_size", INT, GGUF_LLAMA4, NEED},
    {"expert_feed_forward_length", "moe_intermediate_size", INT, GGUF_KIMI_LINEAR, NEED},
    {"expert_feed_forward_length", "moe_intermediate_size", INT, GGUF_NEMOTRON_H | GGUF_GEMMA4, 0},
    {"expert_shared_feed_forward_length", "moe_shared_expert_intermediate_size", INT,
     GGUF_NEMOTRON_H, 0},
    {"expert_shared_feed_forward_length", "shared_intermediate_size", INT, GGUF_GRANITE_HYBRID, 0},
    {"expert_shared_count", "n_shared_experts", INT, GGUF_NEMOTRON_H, 0},
    {"expert_shared_count", "num_shared_experts", INT, GGUF_KIMI_LINEAR, NEED},
    {"expert_group_count", "num_expert_group", INT, GGUF_KIMI_LINEAR, 0},
    {"expert_group_count", "n_group", INT, GGUF_NEMOTRON_H, 0},
    {"expert_group_used_count", "topk_group", INT, GGUF_NEMOTRON_H | GGUF_KIMI_LINEAR, 0},
    {"expert_weights_scale", "routed_scaling_factor", REAL, GGUF_NEMOTRON_H | GGUF_KIMI_LINEAR, 0},
    {"expert_count", "moe_num_experts", INT, GGUF_ERNIE_MOE, NEED},
    {"expert_used_count", "num_experts_per_tok", INT, MIXTURE, NEED},
    {"expert_used_count", "moe_k", INT, GGUF_ERNIE_MOE, NEED},
    {"expert_feed_forward_length", "moe_intermediate_size", INT,
     (MIXTURE | GGUF_ERNIE_MOE) & ~(LOCAL | GGUF_OLMOE), NEED},
    {"expert_feed_forward_length", "intermediate_size", INT, GGUF_MINIMAX_M2 | GGUF_GPT_OSS, NEED},
    {"expert_shared_feed_forward_length", "shared_expert_intermediate_size", INT, SEES_ONE, NEED},
    {"expert_shared_feed_forward_length", NULL, NOTHING, GGUF_ERNIE_MOE, 0}, /* as its tensors */
    {"expert_shared_count", "n_shared_experts", INT, ROUTED, NEED},
    {"expert_shared_count", "moe_num_shared_experts", INT, GGUF_ERNIE_MOE, 0},
    {"leading_dense_block_count", "first_k_dense_replace", INT, ROUTED | GGUF_KIMI_LINEAR, NEED},
    {"leading_dense_block_count", "num_dense_layers", INT, GGUF_LFM2_MOE, NEED},
    {"leading_dense_block_count", "moe_layer_start_index", INT, GGUF_ERNIE_MOE, NEED},
    {"interleave_moe_layer_step", "moe_layer_interval", INT, GGUF_ERNIE_MOE, NEED},
    {"interleave_moe_layer_step", "interleave_moe_layer_step", INT, GGUF_LLAMA4, NEED},
    {"expert_group_count", "n_group", INT, ROUTED, 0},
    {"expert_group_used_count", "topk_group", INT, ROUTED, 0},
    {"expert_weights_scale", "routed_scaling_factor", REAL, ROUTED, 0},
    {"expert_gating_func", NULL, ELSE, SIGMOIDS | GGUF_DEEPSEEK2 | GGUF_NEMOTRON_H | GGUF_LLAMA4,
     0},
    {"nextn_predict_layers", NULL, ELSE, GGUF_DECODERS, 0},
    {"expert_weights_norm", NULL, ELSE, NORMED, 0},
    {"attention.head_count_kv", NULL, ELSE, GGUF_ENCODERS, 0},
    {"attention.key_length", NULL, ELSE, GGUF_ENCODERS, 0},
    {"attention.value_length", NULL, ELSE, GGUF_ALL, 0},
    {"vocab_size_per_layer_input", NULL, NOTHING, GGUF_NEXT, 0},
    {"attention.causal", NULL, ELSE, GGUF_ALL, 0},
    {"attention.scale", NULL, ELSE, CAPS, 0},
    {"attention.sliding_window_pattern", NULL, ELSE, CAPS | GGUF_MODERN_BERT | PATTERN | GGUF_NEXT,
     0},
    {"rope.dimension_count", NULL, ELSE, TURNED, 0},
    {"rope.scaling.type", NULL, ELSE, TURNED, 0},
    {"rope.scaling.factor", NULL, ELSE, TURNED, 0},
    {"rope.scale_linear", NULL, ELSE, TURNED, 0},
    {"rope.scaling.original_context_length", NULL, ELSE, TURNED, 0},
    {"rope.scaling.attn_factor", NULL, ELSE, TURNED, 0},
    {"rope.scaling.yarn_attn_factor", NULL, ELSE, TURNED, 0},
    {"rope.scaling.yarn_log_multiplier", NULL, ELSE, GGUF_MINISTRAL3 | GGUF_DEEPSEEKS, 0},
    {"rope.scaling.yarn_beta_fast", NULL, ELSE, TURNED, 0},
    {"rope.scaling.yarn_beta_slow", NULL, ELSE, TURNED, 0},
    {"rope.scaling.finetuned", NULL, NOTHING, TURNED & ~GGUF_GRANITE_HYBRID, 0},
    {"rope.scaling.finetuned", NULL, ELSE, GGUF_GRANITE_HYBRID, 0}, /* are there any? */
    {"vocab_size", NULL, NOTHING, GGUF_ALL, 0}, /* the embedding has as many rows */
    {"pooling_type", NULL, ELSE, GGUF_ALL, 0},
    {"classifier.output_labels", NULL, NOTHING, GGUF_BERT_SCORES, 0}, /* names */
    {"dense_2_feat_in", NULL, NOTHING, GGUF_GEMMA_EMBEDDING, 0},      /* sizes of the tensors */
    {"dense_2_feat_out", NULL, NOTHING, GGUF_GEMMA_EMBEDDING, 0},
    {"dense_3_feat_in", NULL, NOTHING, GGUF_GEMMA_EMBEDDING, 0},
    {"dense_3_feat_out", NULL, NOTHING, GGUF_GEMMA_EMBEDDING, 0},
    {"tensor_data_layout", NULL, ELSE, GGUF_ALL, 0},
};
enum { ROWS = sizeof rows / sizeof *rows };

const char *gguf_key(const struct gguf *g, const struct gguf_family *f, const char *key) {
    return et_printf(g->arena, "%s.%s", f->architecture, key);
}

double gguf_short_real(double x) {
    char text[40];
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, x);
        if (strtof(text, NULL) == (float)x) break;
    }
    return (double)(float)x == x ? strtod(text, NULL) : x;
}

/* ---- keys that nothing is known of ---- */

static bool is_known(const struct gguf_family *f, struct gguf_text key) {
    size_t n = strlen(f->architecture) + 1;
    struct gguf_text rest = {key.at + n, key.bytes - n};
    for (int i = 0; i < ROWS; i++)
        if (rows[i].families & f->bit && gguf_is(rest, rows[i].key)) return true;
    return false;
}

static bool refuse_unknown(const struct gguf *g, const struct gguf_family *f) {
    size_t n = strlen(f->architecture);
    for (int i = 0; i < g->nvalues; i++) {
        const struct gguf_value *v = &g->values[i];
        if (v->key.bytes <= n || memcmp(v->key.at, f->architecture, n) != 0 || v->key.at[n] != '.')
            continue;
        if (!is_known(f, v->key) && !gguf_says_nothing(v))
            return gguf_fail(g->fault,
                             "%s: metadata \"%s\" may change what is computed, and nothing is "
                             "known of it for %s",
                             g->path, gguf_shown(v->key), f->class);
    }
    return true;
}

/* ---- rows ---- */

static bool fail_key(const struct gguf *g, const char *key, const char *why) {
    return gguf_fail(g->fault, "%s: metadata \"%s\" %s", g->path, key, why);
}

/* An integer, or the one that all layers have. */
static bool get_int(const struct gguf *g, const char *key, const struct gguf_value *v,
                    int64_t *out) {
    int64_t other;
    if (v->type == GGUF_ARRAY && !v->count) return fail_key(g, key, "is an empty array");
    for (uint64_t i = 0; i < v->count; i++) {
        if (!gguf_item_int(v, i, &other)) return fail_key(g, key, "is no integer");
        if (i && other != *out)
            return fail_key(g, key, "differs from layer to layer, which is not supported");
        *out = other;
    }
    return *out >= 0 && *out <= INT32_MAX ? true : fail_key(g, key, "is out of range");
}

static bool put_row(const struct gguf *g, const struct gguf_family *f, int i, json_t *config) {
    const char *key = gguf_key(g, f, rows[i].key);
    const struct gguf_value *v = gguf_find(g, key);
    int64_t n = 0;
    double x;
    if (!v) return rows[i].need ? fail_key(g, key, "is missing") : true;
    if (rows[i].kind == INT) {
        if (!get_int(g, key, v, &n)) return false;
        json_object_set_new(config, rows[i].to, json_integer(n));
    } else {
        if (!gguf_get_real(g, key, 0, &x)) return false;
        json_object_set_new(config, rows[i].to, json_real(gguf_short_real(x)));
    }
    return true;
}

static int64_t field(const json_t *config, const char *name) {
    return json_integer_value(json_object_get(config, name));
}

bool gguf_fail_key(const struct gguf *g, const struct gguf_family *f, const char *key,
                   const char *why) {
    return fail_key(g, gguf_key(g, f, key), why);
}

bool gguf_must_be(const struct gguf *g, const struct gguf_family *f, const char *name, int64_t want,
                  const char *of) {
    const char *key = gguf_key(g, f, name);
    int64_t n;
    char why[120];
    if (!gguf_get_int(g, key, want, &n)) return false;
    if (n == want) return true;
    snprintf(why, sizeof why, "is %lld, but %s is %lld; others are not supported", (long long)n, of,
             (long long)want);
    return fail_key(g, key, why);
}

/* Heads of an encoder of texts: all have keys of their own, and share its width. */
static bool check_heads(const struct gguf *g, const struct gguf_family *f, int64_t heads,
                        int64_t dim) {
    return gguf_must_be(g, f, "attention.head_count_kv", heads, "the number of heads") &&
           gguf_must_be(g, f, "attention.key_length", dim, "the width of heads") &&
           gguf_must_be(g, f, "attention.value_length", dim, "the width of heads") &&
           gguf_must_be(g, f, "rope.dimension_count", dim, "the width of heads");
}

/* Does a token see those that come after it? */
static bool put_direction(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    const char *key = gguf_key(g, f, "attention.causal");
    bool encodes = f->bit & GGUF_ENCODERS, causal;
    if (!gguf_get_bool(g, key, !encodes, &causal)) return false;
    if (encodes) return !causal || fail_key(g, key, "is true");
    if (f->bit == GGUF_GEMMA_EMBEDDING)
        json_object_set_new(config, "use_bidirectional_attention", json_boolean(!causal));
    else if (!causal)
        json_object_set_new(config, "is_causal", json_false());
    return true;
}

bool gguf_layer_int(const struct gguf *g, const struct gguf_family *f, const char *name,
                    int64_t layer, int64_t layers, int64_t otherwise, int64_t *out) {
    const char *key = gguf_key(g, f, name);
    const struct gguf_value *v = gguf_find(g, key);
    bool list = v && v->type == GGUF_ARRAY;
    *out = otherwise;
    if (!v) return true;
    if (list && v->count < (uint64_t)layers)
        return fail_key(g, key, "has not one number for each layer");
    if (!gguf_item_int(v, list ? (uint64_t)layer : 0, out))
        return fail_key(g, key, "is no integer");
    return (*out >= 0 && *out <= INT32_MAX) || fail_key(g, key, "is out of range");
}

/* How much of a head turns. */
static bool put_turning(const struct gguf *g, const struct gguf_family *f, int64_t dim,
                        json_t *config) {
    const char *key = gguf_key(g, f, "rope.dimension_count");
    int64_t n;
    if (!gguf_get_int(g, key, dim, &n)) return false;
    if (n < 2 || n > dim) return fail_key(g, key, "is out of range");
    if (f->bit == GGUF_MINIMAX_M2)
        json_object_set_new(config, "rotary_dim", json_integer(n));
    else
        json_object_set_new(config, "partial_rotary_factor", json_real((double)n / (double)dim));
    return true;
}

static bool put_heads(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    int64_t heads = field(config, "num_attention_heads"), wide = field(config, "hidden_size");
    if (f->bit & OTHER_HEADS) return put_direction(g, f, config);
    if (!heads) return fail_key(g, gguf_key(g, f, "attention.head_count"), "is 0");
    if (!json_object_get(config, "head_dim") && wide % heads)
        return fail_key(g, gguf_key(g, f, "embedding_length"),
                        "is no multiple of the number of heads, and there is no "
                        "\"attention.key_length\"");
    if (f->bit & GGUF_ENCODERS)
        return check_heads(g, f, heads, wide / heads) && put_direction(g, f, config);
    if (!json_object_get(config, "num_key_value_heads"))
        json_object_set_new(config, "num_key_value_heads", json_integer(heads));
    if (!json_object_get(config, "head_dim"))
        json_object_set_new(config, "head_dim", json_integer(wide / heads));
    int64_t dim = field(config, "head_dim");
    if (f->bit & GGUF_NEMOTRON_H) return put_direction(g, f, config); /* no positions */
    return gguf_must_be(g, f, "attention.value_length", dim, "the length of keys") &&
           (f->bit & PARTIAL
                ? put_turning(g, f, dim, config)
                : gguf_must_be(g, f, "rope.dimension_count", dim, "the width of heads")) &&
           put_direction(g, f, config);
}

/* ---- what only some families have ---- */

/* Absent means what the programs that read such files take it to be. */
static void put_defaults(const struct gguf_family *f, json_t *config) {
    static const struct {
        uint64_t families;
        const char *name;
        double value;
    } defaults[] = {
        {GGUF_DECODERS & ~(GGUF_GEMMA3S | GGUF_NEXT | NO_POSITIONS), "rope_theta", 10000},
        {ROUTED | GGUF_LFM2_MOE | GGUF_KIMI_LINEAR, "routed_scaling_factor", 1},
        {GGUF_NOMIC_BERT, "rope_theta", 10000},
        {GGUF_GEMMA3S | GGUF_NEXT, "rope_theta", 1000000},
        {GGUF_GEMMA3S | GGUF_NEXT, "rope_local_base_freq", 10000},
        {GGUF_MODERN_BERT, "global_rope_theta", 10000},
        {GGUF_MODERN_BERT, "local_rope_theta", 10000},
        {GGUF_GEMMA2, "attn_logit_softcapping", 50},
        {GGUF_GEMMA2, "final_logit_softcapping", 30},
    };
    for (size_t i = 0; i < sizeof defaults / sizeof *defaults; i++)
        if (defaults[i].families & f->bit && !json_object_get(config, defaults[i].name))
            json_object_set_new(config, defaults[i].name, json_real(defaults[i].value));
    if (f->bit == GGUF_GEMMA2 && !json_object_get(config, "sliding_window"))
        json_object_set_new(config, "sliding_window", json_integer(4096));
    if (f->bit & ROUTED) {
        if (!json_object_get(config, "n_group"))
            json_object_set_new(config, "n_group", json_integer(1));
        if (!json_object_get(config, "topk_group"))
            json_object_set_new(config, "topk_group", json_integer(1));
    }
    if (f->bit == GGUF_PHI3 && !field(config, "sliding_window"))
        json_object_set_new(config, "sliding_window", json_null());
    if (f->bit & GGUF_LFM2S) { /* the width of its layers is that of the tensors */
        if (f->bit == GGUF_LFM2)
            json_object_set_new(config, "block_auto_adjust_ff_dim", json_false());
        json_object_set_new(config, "conv_bias", json_false());
        return;
    }
    if (f->bit == GGUF_ARCEE)
        json_object_set_new(config, "hidden_act", json_string("relu2"));
    else if (f->bit == GGUF_STARCODER2)
        json_object_set_new(config, "hidden_act", json_string("gelu_pytorch_tanh"));
    else if (f->bit & (GGUF_GEMMA | CAPS | GGUF_NEXT))
        json_object_set_new(config, "hidden_activation", json_string("gelu_pytorch_tanh"));
    else if (f->bit == GGUF_MODERN_BERT)
        json_object_set_new(config, "hidden_activation", json_string("gelu"));
    else if (f->bit & GGUF_BERTS)
        json_object_set_new(config, "hidden_act", json_string("gelu"));
    else if (f->bit != GGUF_NEMOTRON_H)
        json_object_set_new(config, "hidden_act", json_string("silu"));
}

/* Are the weights of the chosen experts made to add up to 1? Files seldom say it. */
static bool put_experts(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    bool normed;
    bool usual = f->bit & (GGUF_QWEN3_MOE | GGUF_LFM2_MOE | GGUF_DELTA | GGUF_KIMI_LINEAR);
    int64_t how;
    if (!gguf_get_bool(g, gguf_key(g, f, "expert_weights_norm"), usual, &normed) ||
        !gguf_get_int(g, gguf_key(g, f, "expert_gating_func"), SIGMOID, &how))
        return false;
    if (how != SIGMOID && f->bit & (SIGMOIDS | GGUF_NEMOTRON_H | GGUF_LLAMA4))
        return fail_key(g, gguf_key(g, f, "expert_gating_func"), "is no sigmoid (2)");
    json_object_set_new(config, f->bit == GGUF_KIMI_LINEAR ? "moe_renormalize" : "norm_topk_prob",
                        json_boolean(normed));
    return true;
}

/* Scores are scaled by one over the root of this. Files seldom say it: all sizes of Gemma take the
 * width of heads but the largest, which is told by its number of layers. */
static bool put_score_scale(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    const char *key = gguf_key(g, f, "attention.scale");
    int64_t largest = f->bit == GGUF_GEMMA2 ? 46 : 62;
    double scale, scalar = (double)field(config, "head_dim");
    if (field(config, "num_hidden_layers") == largest)
        scalar = (double)(field(config, "hidden_size") / field(config, "num_attention_heads"));
    if (!gguf_get_real(g, key, 0, &scale)) return false;
    if (scale < 0 || (scale && scale < 1e-3)) return fail_key(g, key, "is out of range");
    if (scale) {
        scalar = 1 / (scale * scale);
        int64_t whole = (int64_t)(scalar + 0.5); /* most often one, which f32's root only nears */
        if (scalar > whole - 1e-6 * scalar && scalar < whole + 1e-6 * scalar)
            scalar = (double)whole;
    }
    bool whole = scalar == (double)(int64_t)scalar;
    json_object_set_new(config, "query_pre_attn_scalar",
                        whole ? json_integer((int64_t)scalar) : json_real(scalar));
    return true;
}

/* Which layers slide, where the file says it: true for those, or every so many does not. */
static bool put_layer_types(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    const char *key = gguf_key(g, f, "attention.sliding_window_pattern");
    const struct gguf_value *v = gguf_find(g, key);
    int64_t every, layers = field(config, "num_hidden_layers");
    if (!v) return true;
    bool list = v->type == GGUF_ARRAY && v->item == GGUF_BOOL;
    if (!list && !gguf_get_int(g, key, 0, &every)) return false;
    if (list && v->count != (uint64_t)layers)
        return fail_key(g, key, "has not one item for each layer");
    if (!list && (every < 1 || every > 10000)) return fail_key(g, key, "is out of range");
    if (layers > 10000) return fail_key(g, gguf_key(g, f, "block_count"), "is out of range");
    json_t *types = json_array();
    for (int64_t l = 0; l < layers; l++) {
        /* The last of so many sees all, of a ModernBERT the first. */
        int64_t at = f->bit == GGUF_MODERN_BERT ? l : l + 1;
        bool slides = list ? v->at[l] : at % every != 0;
        json_array_append_new(types, json_string(slides ? "sliding_attention" : "full_attention"));
    }
    json_object_set_new(config, "layer_types", types);
    return true;
}

/* What a tensor that is there says. */
static const struct {
    const char *field, *tensor;
    uint64_t families;
} flags[] = {
    {"attention_bias", "blk.0.attn_q.bias",
     GGUF_LLAMA | GGUF_SMOLLM3 | GGUF_ARCEE | GGUF_GRANITE | GGUF_SEED_OSS | GGUF_GLM4 |
         GGUF_GLM4_MOE | GGUF_DOTS1 | GGUF_OLMO2 | GGUF_OLMO3 | GGUF_OLMOE | COHERES |
         GGUF_GRANITE_HYBRID | GGUF_LLAMA4},
    {"attention_bias", "blk.0.attn_q.bias", GGUF_FALCON_H1},
    {"mamba_rms_norm", "blk.0.ssm_norm.weight", GGUF_FALCON_H1},
    {"attention_out_bias", "blk.0.attn_output.bias", GGUF_SEED_OSS},
    {"mlp_bias", "blk.0.ffn_up.bias",
     GGUF_LLAMA | GGUF_SMOLLM3 | GGUF_ARCEE | GGUF_GRANITE | GGUF_SEED_OSS},
    {"attention_bias", "blk.0.attn_q.bias", GGUF_GPT_OSS},
    {"use_bias", "blk.0.attn_q.bias", GGUF_STARCODER2 | GGUF_ERNIE | GGUF_ERNIE_MOE},
    {"use_qk_norm", "blk.0.attn_q_norm.weight", GGUF_GLM4_MOE | GGUF_COHERE},
};

static bool put_tensors(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    const struct gguf_tensor *embed = gguf_tensor(g, "token_embd.weight");
    if (!embed) return gguf_fail(g->fault, "%s: tensor \"token_embd.weight\" is missing", g->path);
    json_object_set_new(config, "vocab_size", json_integer((json_int_t)embed->dims[1]));
    json_object_set_new(config, "tie_word_embeddings",
                        json_boolean(!gguf_tensor(g, "output.weight")));
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++)
        if (flags[i].families & f->bit)
            json_object_set_new(config, flags[i].field,
                                json_boolean(gguf_tensor(g, flags[i].tensor)));
    return true;
}

/* Layers that draft more tokens stand behind the others. */
static bool drop_drafts(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    const char *key = gguf_key(g, f, "nextn_predict_layers");
    int64_t n, layers = field(config, "num_hidden_layers");
    if (!gguf_get_int(g, key, 0, &n)) return false;
    if (n < 0 || n >= layers) return n == 0 || fail_key(g, key, "is out of range");
    json_object_set_new(config, "num_hidden_layers", json_integer(layers - n));
    return true;
}

static bool put_tokens(const struct gguf *g, json_t *config) {
    static const char *const names[] = {"bos", "eos"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        int64_t id;
        if (!gguf_get_int(g, et_printf(g->arena, "tokenizer.ggml.%s_token_id", names[i]), -1, &id))
            return false;
        bool none = id < 0 || id == UINT32_MAX; /* some write no token so */
        json_object_set_new(config, et_printf(g->arena, "%s_token_id", names[i]),
                            none ? json_null() : json_integer(id));
    }
    return true;
}

static bool check_file(const struct gguf *g, const struct gguf_family *f) {
    struct gguf_text layout, type;
    int64_t parts;
    if (!gguf_get_int(g, "split.count", 0, &parts) || !gguf_get_text(g, "general.type", &type) ||
        !gguf_get_text(g, gguf_key(g, f, "tensor_data_layout"), &layout))
        return false;
    if (parts > 1)
        return gguf_fail(g->fault,
                         "%s: is one of %lld parts of a model (metadata \"split.count\"); merge "
                         "them first",
                         g->path, (long long)parts);
    if (type.at && !gguf_is(type, "model"))
        return gguf_fail(g->fault, "%s: metadata \"general.type\" is \"%s\", expected \"model\"",
                         g->path, gguf_shown(type));
    bool usual = !layout.at || gguf_is(layout, "reference") ||
                 (f->bit & GGUF_LLAMA && gguf_is(layout, "Meta AI original pth"));
    return usual || fail_key(g, gguf_key(g, f, "tensor_data_layout"), "is not supported");
}

static bool put_all(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    for (int i = 0; i < ROWS; i++)
        if (rows[i].to && rows[i].families & f->bit && !put_row(g, f, i, config)) return false;
    put_defaults(f, config);
    return check_file(g, f) && refuse_unknown(g, f) && drop_drafts(g, f, config) &&
           gguf_put_kind(g, f, config) && put_heads(g, f, config) &&
           (!(f->bit & CAPS) || put_score_scale(g, f, config)) &&
           (!(f->bit & (CAPS | GGUF_MODERN_BERT | PATTERN | GGUF_NEXT)) ||
            put_layer_types(g, f, config)) &&
           (!(f->bit & (MIXTURE | GGUF_KIMI_LINEAR | GGUF_NEMOTRON_H)) ||
            put_experts(g, f, config)) &&
           put_tensors(g, f, config) && put_tokens(g, config) &&
           (f->bit & NO_POSITIONS || gguf_rope(g, f, config));
}

json_t *gguf_config(const struct gguf *g, const struct gguf_family *f, const char *dtype) {
    json_t *config = json_object(), *classes = json_array();
    json_array_append_new(classes, json_string(f->class));
    json_object_set_new(config, "architectures", classes);
    json_object_set_new(config, "model_type", json_string(f->model_type));
    json_object_set_new(config, "torch_dtype", json_string(dtype));
    if (put_all(g, f, config)) return config;
    json_decref(config);
    return NULL;
}
