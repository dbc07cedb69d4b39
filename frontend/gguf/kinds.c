/* kinds.c - what of config.json only some architectures have: kinds of layers, states, latents. */
#include "frontend/gguf/convert.h"
#include <jansson.h>
#include <math.h>
#include <string.h>

enum { MOST_LAYERS = 10000 };

static int64_t field(const json_t *config, const char *name) {
    return json_integer_value(json_object_get(config, name));
}

static void put_int(json_t *config, const char *name, int64_t n) {
    json_object_set_new(config, name, json_integer(n));
}

static void put_bool(json_t *config, const char *name, bool is) {
    json_object_set_new(config, name, json_boolean(is));
}

static bool check_layers(const struct gguf *g, const struct gguf_family *f, const json_t *config) {
    int64_t layers = field(config, "num_hidden_layers");
    return (layers > 0 && layers <= MOST_LAYERS) ||
           gguf_fail_key(g, f, "block_count", "is out of range");
}

/* Tensor NAME of layer LAYER, or NULL. */
static const struct gguf_tensor *of_layer(const struct gguf *g, int64_t layer, const char *name) {
    return gguf_tensor(g, et_printf(g->arena, "blk.%lld.%s", (long long)layer, name));
}

/* Of the first layer that has one, or NULL. */
static const struct gguf_tensor *of_some_layer(const struct gguf *g, const json_t *config,
                                               const char *name) {
    const struct gguf_tensor *t = NULL;
    for (int64_t l = 0; !t && l < field(config, "num_hidden_layers"); l++)
        t = of_layer(g, l, name);
    return t;
}

/* The one number of heads of keys that layers have which have any. */
static bool one_count(const struct gguf *g, const struct gguf_family *f, json_t *config,
                      int64_t *heads) {
    const char *key = "attention.head_count_kv";
    int64_t n, layers = field(config, "num_hidden_layers");
    *heads = 0;
    for (int64_t l = 0; l < layers; l++) {
        if (!gguf_layer_int(g, f, key, l, layers, 0, &n)) return false;
        if (n && *heads && n != *heads)
            return gguf_fail_key(g, f, key, "differs from layer to layer, which is not supported");
        if (n) *heads = n;
    }
    return true;
}

/* Layers with heads of keys attend, and the others are OTHERWISE. */
static bool put_layer_kinds(const struct gguf *g, const struct gguf_family *f, json_t *config,
                            const char *attends, const char *otherwise) {
    const char *key = "attention.head_count_kv";
    int64_t n, heads, layers = field(config, "num_hidden_layers");
    const struct gguf_value *v = gguf_find(g, gguf_key(g, f, key));
    if (!v || v->type != GGUF_ARRAY)
        return gguf_fail_key(g, f, key, "has not one number for each layer");
    if (!one_count(g, f, config, &heads)) return false;
    if (heads < 1) return gguf_fail_key(g, f, key, "is out of range");
    json_t *types = json_array();
    json_object_set_new(config, "layer_types", types);
    for (int64_t l = 0; l < layers; l++) {
        if (!gguf_layer_int(g, f, key, l, layers, 0, &n)) return false;
        json_array_append_new(types, json_string(n ? attends : otherwise));
    }
    put_int(config, "num_key_value_heads", heads);
    return true;
}

/* ---- latents ---- */

/* Files have keys and values either as one matrix, for heads of their own, or apart, for one head
 * that is as wide as the latent and what turns. */
static bool put_latent(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    bool apart = of_some_layer(g, config, "attn_k_b.weight");
    int64_t heads = field(config, "num_attention_heads"), key, value, turns, kv = 1;
    int64_t latent = field(config, "kv_lora_rank");
    const char *of = apart ? "attention.key_length_mla" : "attention.key_length";
    if (!gguf_get_int(g, gguf_key(g, f, of), 0, &key) ||
        !gguf_get_int(
            g, gguf_key(g, f, apart ? "attention.value_length_mla" : "attention.value_length"), 0,
            &value) ||
        !gguf_get_int(g, gguf_key(g, f, "rope.dimension_count"), 0, &turns) ||
        (f->bit != GGUF_KIMI_LINEAR &&
         !gguf_get_int(g, gguf_key(g, f, "attention.head_count_kv"), heads, &kv)))
        return false;
    if (turns < 2 || turns > INT32_MAX)
        return gguf_fail_key(g, f, "rope.dimension_count", "is missing or out of range");
    if (key <= turns || key > INT32_MAX)
        return gguf_fail_key(g, f, of, "is missing or out of range");
    if (value < 1 || value > INT32_MAX)
        return gguf_fail_key(g, f, "attention.value_length_mla", "is missing or out of range");
    if (heads < 1 || (kv != 1 && kv != heads))
        return gguf_fail_key(g, f, "attention.head_count_kv", "is out of range");
    if (apart && !gguf_must_be(g, f, "attention.key_length", latent + turns, "the latent's"))
        return false;
    put_int(config, "qk_rope_head_dim", turns);
    put_int(config, "qk_nope_head_dim", key - turns);
    put_int(config, "v_head_dim", value);
    put_int(config, "num_key_value_heads", heads);
    if (!json_object_get(config, "q_lora_rank"))
        json_object_set_new(config, "q_lora_rank", json_null());
    return true;
}

static bool put_deepseek(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    int64_t how;
    if (!put_latent(g, f, config)) return false;
    if (f->bit == GGUF_DEEPSEEK3) return true;
    if (!gguf_get_int(g, gguf_key(g, f, "expert_gating_func"), 1, &how)) return false;
    if (how != 1) return gguf_fail_key(g, f, "expert_gating_func", "is no softmax (1)");
    bool groups = field(config, "n_group") > 1;
    json_object_set_new(config, "topk_method",
                        json_string(groups ? "group_limited_greedy" : "greedy"));
    return true;
}

static bool put_kimi(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    if (!put_layer_kinds(g, f, config, "full_attention", "linear_attention") ||
        !put_latent(g, f, config))
        return false;
    json_t *most = json_object_get(config, "max_position_embeddings");
    json_object_set(config, "model_max_length", most);
    json_object_del(config, "max_position_embeddings");
    put_int(config, "linear_num_heads", field(config, "num_attention_heads"));
    return true;
}

/* ---- gated delta rules ---- */

/* Does a block of the last product of a delta rule hold columns of two heads of values? They stay
 * where the file has them then: those of the first value of each key first. */
static bool stays_tiled(const struct gguf *g, uint64_t head) {
    static const char end[] = ".ssm_out.weight";
    for (int i = 0; i < g->ntensors; i++) {
        const struct gguf_tensor *t = &g->tensors[i];
        const struct gguf_format *f = gguf_format(t->type);
        uint64_t n = sizeof end - 1;
        if (f && t->name.bytes > n && !memcmp(t->name.at + t->name.bytes - n, end, n) &&
            f->elements > 1 && head % f->elements)
            return true;
    }
    return false;
}

static bool put_delta(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    const char *key = gguf_key(g, f, "attention.recurrent_layers");
    const struct gguf_value *v = gguf_find(g, key);
    int64_t every, inner, recurs, layers = field(config, "num_hidden_layers"),
                                  heads = field(config, "linear_num_value_heads");
    if (!gguf_get_int(g, gguf_key(g, f, "full_attention_interval"), 4, &every) ||
        !gguf_get_int(g, gguf_key(g, f, "ssm.inner_size"), 0, &inner))
        return false;
    if (heads < 1 || inner < 1 || inner > INT32_MAX || inner % heads)
        return gguf_fail_key(g, f, "ssm.inner_size", "is no multiple of \"ssm.time_step_rank\"");
    if (every < 1 || every > MOST_LAYERS)
        return gguf_fail_key(g, f, "full_attention_interval", "is out of range");
    json_t *types = json_array();
    json_object_set_new(config, "layer_types", types);
    for (int64_t l = 0; l < layers; l++) {
        recurs = (l + 1) % every != 0;
        if (v && v->type == GGUF_ARRAY && v->item == GGUF_BOOL && v->count >= (uint64_t)layers)
            recurs = v->at[l];
        else if (v)
            return gguf_fail_key(g, f, "attention.recurrent_layers",
                                 "has not true or false for each layer");
        json_array_append_new(types, json_string(recurs ? "linear_attention" : "full_attention"));
    }
    put_int(config, "linear_value_head_dim", inner / heads);
    if (f->bit != GGUF_QWEN3_NEXT && stays_tiled(g, (uint64_t)(inner / heads)))
        json_object_set_new(config, "linear_out_tiled", json_true());
    if (f->bit == GGUF_QWEN3_NEXT) json_object_set_new(config, "mlp_only_layers", json_array());
    return true;
}

/* ---- Mamba-2 ---- */

/* Elements of a head: those of all of them by how many there are. */
static bool put_inner(const struct gguf *g, const struct gguf_family *f, json_t *config,
                      const char *heads_name, const char *to, const char *expand) {
    int64_t inner, heads = field(config, heads_name), wide = field(config, "hidden_size");
    if (!gguf_get_int(g, gguf_key(g, f, "ssm.inner_size"), 0, &inner)) return false;
    if (heads < 1 || inner < 1 || inner > INT32_MAX || inner % heads)
        return gguf_fail_key(g, f, "ssm.inner_size", "is no multiple of \"ssm.time_step_rank\"");
    put_int(config, to, inner / heads);
    if (!expand) return true;
    if (wide < 1 || inner % wide)
        return gguf_fail_key(g, f, "ssm.inner_size", "is no multiple of \"embedding_length\"");
    put_int(config, expand, inner / wide);
    return true;
}

static bool put_granite(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    bool turns, experts = field(config, "num_local_experts") > 0;
    if (!gguf_get_bool(g, gguf_key(g, f, "rope.scaling.finetuned"), true, &turns) ||
        !put_layer_kinds(g, f, config, "attention", "mamba") ||
        !put_inner(g, f, config, "mamba_n_heads", "mamba_d_head", "mamba_expand"))
        return false;
    json_object_set_new(config, "position_embedding_type", json_string(turns ? "rope" : "nope"));
    put_bool(config, "mamba_conv_bias", of_some_layer(g, config, "ssm_conv1d.bias"));
    put_bool(config, "mamba_proj_bias", false);
    /* Without experts all tokens see the layer's one, whose width is the layer's. */
    if (!experts) put_int(config, "num_local_experts", 0);
    if (!experts) put_int(config, "shared_intermediate_size", field(config, "intermediate_size"));
    return true;
}

/* Each layer is one thing, told by what it has. */
static bool put_nemotron(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    int64_t heads;
    double eps;
    const struct gguf_tensor *up = of_some_layer(g, config, "ffn_up.weight");
    if (!one_count(g, f, config, &heads) ||
        !put_inner(g, f, config, "mamba_num_heads", "mamba_head_dim", NULL) ||
        !gguf_get_real(g, gguf_key(g, f, "attention.layer_norm_epsilon"), 0, &eps))
        return false;
    if (heads) put_int(config, "num_key_value_heads", heads);
    if (!json_object_get(config, "layer_norm_epsilon")) {
        if (eps <= 0) return gguf_fail_key(g, f, "attention.layer_norm_epsilon", "is missing");
        json_object_set_new(config, "layer_norm_epsilon", json_real(gguf_short_real(eps)));
    }
    json_t *kinds = json_array();
    json_object_set_new(config, "layers_block_type", kinds);
    for (int64_t l = 0; l < field(config, "num_hidden_layers"); l++)
        json_array_append_new(kinds, json_string(of_layer(g, l, "ssm_in.weight")   ? "mamba"
                                                 : of_layer(g, l, "attn_q.weight") ? "attention"
                                                 : of_layer(g, l, "ffn_gate_inp.weight") ? "moe"
                                                                                         : "mlp"));
    put_int(config, "intermediate_size", up ? (int64_t)up->dims[1] : 1);
    put_bool(config, "use_conv_bias", of_some_layer(g, config, "ssm_conv1d.bias"));
    json_object_set_new(config, "mlp_hidden_act", json_string("relu2"));
    return true;
}

/* How many times as wide as a layer states are. */
static bool put_expand(const struct gguf *g, const struct gguf_family *f, json_t *config,
                       const char *to, int64_t *inner) {
    int64_t wide = field(config, "hidden_size");
    if (!gguf_get_int(g, gguf_key(g, f, "ssm.inner_size"), 0, inner)) return false;
    if (wide < 1 || *inner < 1 || *inner > INT32_MAX || *inner % wide)
        return gguf_fail_key(g, f, "ssm.inner_size", "is no multiple of \"embedding_length\"");
    put_int(config, to, *inner / wide);
    return true;
}

static bool put_mamba(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    int64_t inner;
    if (!put_expand(g, f, config, "expand", &inner)) return false;
    put_int(config, "intermediate_size", inner);
    put_bool(config, "use_bias", false);
    put_bool(config, "use_conv_bias", of_some_layer(g, config, "ssm_conv1d.bias"));
    return true;
}

/* Layers that have TENSOR come every so often, from one on. */
static bool put_period(const struct gguf *g, json_t *config, const char *tensor, const char *every,
                       const char *from) {
    int64_t layers = field(config, "num_hidden_layers"), first = -1, period = layers;
    for (int64_t l = 0; l < layers && period == layers; l++) {
        if (!of_layer(g, l, tensor)) continue;
        if (first >= 0) period = l - first;
        if (first < 0) first = l;
    }
    for (int64_t l = 0; l < layers; l++)
        if (!of_layer(g, l, tensor) == (first >= 0 && l % period == first))
            return gguf_fail(g->fault,
                             "%s: tensor \"%s\": layers that have it are not as far from each "
                             "other, which is not supported",
                             g->path, tensor);
    put_int(config, every, period);
    put_int(config, from, first < 0 ? layers : first);
    return true;
}

static bool put_jamba(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    int64_t inner, heads;
    if (!put_expand(g, f, config, "mamba_expand", &inner) || !one_count(g, f, config, &heads) ||
        !put_period(g, config, "attn_q.weight", "attn_layer_period", "attn_layer_offset") ||
        !put_period(g, config, "ffn_gate_inp.weight", "expert_layer_period", "expert_layer_offset"))
        return false;
    put_int(config, "num_key_value_heads", heads ? heads : field(config, "num_attention_heads"));
    put_bool(config, "mamba_conv_bias", of_some_layer(g, config, "ssm_conv1d.bias"));
    put_bool(config, "mamba_proj_bias", false);
    if (field(config, "num_experts") < 1) put_int(config, "num_experts", 1);
    return true;
}

/* Its factors are part of the weights that they are of. */
static bool put_falcon_h1(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    static const char *const ones[] = {"embedding_multiplier",     "lm_head_multiplier",
                                       "key_multiplier",           "attention_in_multiplier",
                                       "attention_out_multiplier", "ssm_in_multiplier",
                                       "ssm_out_multiplier"};
    int64_t inner;
    if (!put_inner(g, f, config, "mamba_n_heads", "mamba_d_head", NULL) ||
        !gguf_get_int(g, gguf_key(g, f, "ssm.inner_size"), 0, &inner))
        return false;
    put_int(config, "mamba_d_ssm", inner);
    put_int(config, "mamba_expand", 1); /* what it is of is said */
    for (size_t i = 0; i < sizeof ones / sizeof *ones; i++)
        json_object_set_new(config, ones[i], json_real(1));
    put_bool(config, "mamba_conv_bias", of_some_layer(g, config, "ssm_conv1d.bias"));
    put_bool(config, "mamba_norm_before_gate", false);
    put_bool(config, "mamba_proj_bias", false);
    put_bool(config, "projectors_bias", false);
    put_bool(config, "mlp_bias", false);
    return true;
}

static bool put_mamba2(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    put_bool(config, "use_conv_bias", of_some_layer(g, config, "ssm_conv1d.bias"));
    return put_inner(g, f, config, "num_heads", "head_dim", "expand");
}

/* ---- Gemma 3n and 4 ---- */

static bool put_layer_inputs(const struct gguf *g, json_t *config) {
    const struct gguf_tensor *t = gguf_tensor(g, "per_layer_token_embd.weight");
    if (field(config, "hidden_size_per_layer_input") && !t)
        return gguf_fail(g->fault, "%s: tensor \"per_layer_token_embd.weight\" is missing",
                         g->path);
    if (t) put_int(config, "vocab_size_per_layer_input", (int64_t)t->dims[1]);
    return true;
}

/* Above how many deviations a value stays; files have that for what part of all values it is. */
static bool put_sparsity(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    const struct gguf_value *v = gguf_find(g, gguf_key(g, f, "activation_sparsity_scale"));
    const struct gguf_tensor *left = of_some_layer(g, config, "laurel_l.weight");
    int64_t layers = field(config, "num_hidden_layers");
    json_t *list = json_array();
    json_object_set_new(config, "activation_sparsity_pattern", list);
    if (!left) return gguf_fail(g->fault, "%s: tensor \"laurel_l.weight\" is missing", g->path);
    put_int(config, "laurel_rank", (int64_t)left->dims[1]);
    for (int64_t l = 0; l < layers; l++) {
        double x = -INFINITY;
        if (v && (v->type != GGUF_ARRAY || v->count != (uint64_t)layers ||
                  !gguf_item_real(v, (uint64_t)l, &x)))
            return gguf_fail_key(g, f, "activation_sparsity_scale",
                                 "has not one number for each layer");
        double part = round(erfc(-x / sqrt(2)) / 2 * 1e6) / 1e6;
        json_array_append_new(list, json_real(part > 0 && part < 1 ? part : 0));
    }
    return put_layer_inputs(g, config);
}

/* Heads are of one width in layers with a window and of another in those without. */
static bool put_gemma4_heads(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    const char *pattern = gguf_key(g, f, "attention.sliding_window_pattern");
    const struct gguf_value *v = gguf_find(g, pattern);
    int64_t wide, near, n, kv[2] = {0}, layers = field(config, "num_hidden_layers"),
                           heads = field(config, "num_attention_heads");
    if (!v || v->type != GGUF_ARRAY || v->item != GGUF_BOOL || v->count != (uint64_t)layers)
        return gguf_fail_key(g, f, "attention.sliding_window_pattern",
                             "has not one item for each layer");
    if (!gguf_get_int(g, gguf_key(g, f, "attention.key_length"), 0, &wide) ||
        !gguf_get_int(g, gguf_key(g, f, "attention.key_length_swa"), wide, &near))
        return false;
    if (wide < 2 || near < 2 || wide > INT32_MAX || near > INT32_MAX)
        return gguf_fail_key(g, f, "attention.key_length", "is missing or out of range");
    for (int64_t l = 0; l < layers; l++) {
        if (!gguf_layer_int(g, f, "attention.head_count_kv", l, layers, heads, &n)) return false;
        int64_t *one = &kv[!v->at[l]];
        if (n < 1 || (*one && *one != n))
            return gguf_fail_key(g, f, "attention.head_count_kv",
                                 "differs among layers of one kind, which is not supported");
        *one = n;
    }
    put_int(config, "head_dim", near);
    put_int(config, "global_head_dim", wide);
    put_int(config, "num_key_value_heads", kv[0] ? kv[0] : kv[1]);
    put_int(config, "num_global_key_value_heads", kv[1] ? kv[1] : kv[0]);
    return gguf_must_be(g, f, "attention.value_length", wide, "the length of keys") &&
           gguf_must_be(g, f, "attention.value_length_swa", near, "the length of keys") &&
           gguf_must_be(g, f, "rope.dimension_count", wide, "the width of heads") &&
           gguf_must_be(g, f, "rope.dimension_count_swa", near, "the width of heads");
}

/* Layers that share keys and values may be twice as wide as the others. */
static bool put_gemma4_widths(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    int64_t n, wide = 0, shared = 0, layers = field(config, "num_hidden_layers"),
               own = layers - field(config, "num_kv_shared_layers");
    for (int64_t l = 0; l < layers; l++) {
        if (!gguf_layer_int(g, f, "feed_forward_length", l, layers, 0, &n)) return false;
        int64_t *one = l < own ? &wide : &shared;
        if (n < 1 || (*one && *one != n))
            return gguf_fail_key(g, f, "feed_forward_length",
                                 "differs among layers of one kind, which is not supported");
        *one = n;
    }
    if (shared && shared != wide && shared != 2 * wide)
        return gguf_fail_key(g, f, "feed_forward_length",
                             "is not once or twice as large where keys and values are shared");
    put_int(config, "intermediate_size", wide ? wide : shared);
    put_bool(config, "use_double_wide_mlp", shared && shared == 2 * wide);
    return true;
}

static bool put_gemma4(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    const char *pattern = gguf_key(g, f, "attention.sliding_window_pattern");
    if (!put_gemma4_heads(g, f, config) || !put_gemma4_widths(g, f, config) ||
        !put_layer_inputs(g, config))
        return false;
    const unsigned char *slides = gguf_find(g, pattern)->at;
    bool same = false; /* values are keys, in layers without a window */
    for (int64_t l = 0; l < field(config, "num_hidden_layers"); l++)
        same |= !slides[l] && of_layer(g, l, "attn_k.weight") && !of_layer(g, l, "attn_v.weight");
    put_bool(config, "attention_k_eq_v", same);
    put_bool(config, "enable_moe_block", field(config, "num_experts") > 0);
    return true;
}

/* ---- Llama 4 ---- */

/* What files do not say, and programs that read them know: chunks, and how queries grow. */
static bool put_llama4(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    enum { CHUNK = 8192, WITHOUT_NORMS = 128 };
    int64_t window;
    if (!gguf_get_int(g, gguf_key(g, f, "attention.sliding_window"), CHUNK, &window)) return false;
    if (window != CHUNK)
        return gguf_fail_key(g, f, "attention.sliding_window",
                             "is not 8192; others are not supported");
    put_int(config, "attention_chunk_size", CHUNK);
    put_int(config, "floor_scale", CHUNK);
    json_object_set_new(config, "attn_scale", json_real(0.1));
    put_bool(config, "attn_temperature_tuning", true);
    put_int(config, "no_rope_layer_interval", 4);
    put_bool(config, "use_qk_norm", field(config, "num_local_experts") != WITHOUT_NORMS);
    return true;
}

/* ---- encoders of texts ---- */

/* A score, or one for each label, of what a layer and tanh make of the first token. */
static bool put_scores(const struct gguf *g, json_t *config) {
    enum { MOST_LABELS = 1000 };
    const struct gguf_tensor *t = gguf_tensor(g, "cls.output.weight");
    if (!t || !gguf_tensor(g, "cls.weight"))
        return gguf_fail(g->fault, "%s: tensor \"%s\" is missing", g->path,
                         t ? "cls.weight" : "cls.output.weight");
    int64_t n = t->rank > 1 ? (int64_t)t->dims[1] : 1;
    if (n > MOST_LABELS)
        return gguf_fail(g->fault, "%s: tensor \"cls.output.weight\" has too many rows", g->path);
    json_t *labels = json_object();
    json_object_set_new(config, "id2label", labels);
    for (int64_t i = 0; i < n; i++)
        json_object_set_new(labels, et_printf(g->arena, "%lld", (long long)i),
                            json_sprintf("LABEL_%lld", (long long)i));
    return true;
}

/* What an encoder of texts has tables for. */
static bool put_tables(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    const struct gguf_tensor *places = gguf_tensor(g, "position_embd.weight"),
                             *kinds = gguf_tensor(g, "token_types.weight");
    if (f->bit & GGUF_BERTS && !places)
        return gguf_fail(g->fault, "%s: tensor \"position_embd.weight\" is missing", g->path);
    if (f->bit & GGUF_BERTS) put_int(config, "max_position_embeddings", (int64_t)places->dims[1]);
    if (f->bit != GGUF_MODERN_BERT)
        json_object_set_new(config, "type_vocab_size",
                            json_integer(kinds ? (json_int_t)kinds->dims[1] : 0));
    if (f->bit & GGUF_BERTS && !kinds)
        return gguf_fail(g->fault, "%s: tensor \"token_types.weight\" is missing", g->path);
    return f->bit != GGUF_BERT_SCORES || put_scores(g, config);
}

static bool put_lfm2(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    return put_layer_kinds(g, f, config, "full_attention", "conv");
}

bool gguf_put_kind(const struct gguf *g, const struct gguf_family *f, json_t *config) {
    static const struct {
        uint64_t families;
        bool (*put)(const struct gguf *, const struct gguf_family *, json_t *);
    } kinds[] = {
        {GGUF_LFM2S, put_lfm2},
        {GGUF_DEEPSEEKS, put_deepseek},
        {GGUF_KIMI_LINEAR, put_kimi},
        {GGUF_DELTA, put_delta},
        {GGUF_GRANITE_HYBRID, put_granite},
        {GGUF_NEMOTRON_H, put_nemotron},
        {GGUF_MAMBA, put_mamba},
        {GGUF_JAMBA, put_jamba},
        {GGUF_FALCON_H1, put_falcon_h1},
        {GGUF_MAMBA2, put_mamba2},
        {GGUF_GEMMA3N, put_sparsity},
        {GGUF_ENCODERS, put_tables},
        {GGUF_GEMMA4, put_gemma4},
        {GGUF_LLAMA4, put_llama4},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].families & f->bit)
            return check_layers(g, f, config) && kinds[i].put(g, f, config);
    return true;
}
