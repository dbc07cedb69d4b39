/* config.c - config.json of a Hugging Face checkpoint, in its old and new spellings.
 *
 * A field that changes the computation is either understood, or refused by its name. Fields that do
 * not are listed in `ignored`; what is in neither list is reported as a warning. */
#include "frontend/import/import.h"
#include "runtime/files/input.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAYER "model.layers.{l}."
#define EXPERTS                                                                                    \
    .router = LAYER "mlp.gate.weight", .gate = LAYER "mlp.experts.{e}.gate_proj.weight",           \
    .up = LAYER "mlp.experts.{e}.up_proj.weight", .down = LAYER "mlp.experts.{e}.down_proj.weight"

static const struct imp_arch archs[] = {
    {.name = "LlamaForCausalLM", .model_type = "llama"},
    {.name = "Qwen3ForCausalLM", .model_type = "qwen3", .qk_norm = IMP_QK_HEADS},
    {.name = "Qwen3MoeForCausalLM",
     .model_type = "qwen3_moe",
     .qk_norm = IMP_QK_HEADS,
     EXPERTS,
     .own_width = true},
    {.name = "MixtralForCausalLM",
     .model_type = "mixtral",
     .router = LAYER "block_sparse_moe.gate.weight",
     .gate = LAYER "block_sparse_moe.experts.{e}.w1.weight",
     .up = LAYER "block_sparse_moe.experts.{e}.w3.weight",
     .down = LAYER "block_sparse_moe.experts.{e}.w2.weight",
     .always_norm = true,
     .always_slides = true},
    {.name = "OlmoeForCausalLM", .model_type = "olmoe", .qk_norm = IMP_QK_WHOLE, EXPERTS},
};
enum { ARCHS = sizeof archs / sizeof *archs };

/* hidden_act and the .etg function that computes it. */
static const struct {
    const char *hf, *etg;
} acts[] = {
    {"silu", "silu"},          {"swish", "silu"},          {"gelu", "gelu"},
    {"gelu_new", "gelu_tanh"}, {"gelu_tanh", "gelu_tanh"}, {"gelu_pytorch_tanh", "gelu_tanh"},
    {"relu", "relu"},          {"tanh", "tanh"},           {"sigmoid", "sigmoid"},
};

static const struct {
    const char *hf, *st;
} dtypes[] = {{"bfloat16", "BF16"}, {"float16", "F16"}, {"float32", "F32"}};

/* Read elsewhere, or without effect on what a forward pass computes. */
static const char *const understood[] = {
    "architectures",
    "model_type",
    "hidden_size",
    "intermediate_size",
    "vocab_size",
    "num_hidden_layers",
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "max_position_embeddings",
    "rms_norm_eps",
    "hidden_act",
    "attention_bias",
    "mlp_bias",
    "tie_word_embeddings",
    "rope_theta",
    "rope_scaling",
    "rope_parameters",
    "dtype",
    "torch_dtype",
    "use_sliding_window",
    "layer_types",
    "quantization_config",
    "num_experts",
    "num_local_experts",
    "num_experts_per_tok",
    "moe_intermediate_size",
    "norm_topk_prob",
    "decoder_sparse_step",
    "mlp_only_layers",
    "clip_qkv",
    "partial_rotary_factor",
    "sliding_window",
};
/* Fields of other architectures that change what is computed. Whoever puts one into a configuration
 * means it, so it is refused unless it is null, false or 0. */
static const char *const foreign[] = {
    "attention_multiplier",
    "attn_logit_softcapping",
    "embedding_multiplier",
    "final_logit_softcapping",
    "first_k_dense_replace",
    "logit_scale",
    "logits_scaling",
    "n_group",
    "n_shared_experts",
    "no_rope_layers",
    "parallel_attn",
    "qk_layernorm",
    "query_pre_attn_scalar",
    "residual_multiplier",
    "rope_interleaved",
    "rope_local_base_freq",
    "routed_scaling_factor",
    "scale_emb",
    "shared_expert_intermediate_size",
    "sliding_window_pattern",
    "swiglu_limit",
    "use_parallel_residual",
    "use_qk_norm",
};
static const char *const ignored[] = {
    "_attn_implementation",
    "_attn_implementation_autoset",
    "_from_model_config",
    "_name_or_path",
    "attention_dropout",
    "bos_token_id",
    "eos_token_id",
    "hidden_dropout",
    "id2label",
    "initializer_range",
    "label2id",
    "max_length",
    "max_window_layers",
    "output_attentions",
    "output_hidden_states",
    "output_router_logits",
    "pad_token_id",
    "pretraining_tp",
    "problem_type",
    "return_dict",
    "router_aux_loss_coef",
    "router_jitter_noise",
    "task_specific_params",
    "tokenizer_class",
    "torchscript",
    "transformers.js_config",
    "transformers_version",
    "unk_token_id",
    "unsloth_fixed",
    "unsloth_version",
    "use_cache",
};

struct reader {
    const char *path;
    struct imp_report *report;
    const char *group; /* "rope_parameters." while inside that object, else "" */
};

static bool in_list(const char *const *list, size_t n, const char *s) {
    for (size_t i = 0; i < n; i++)
        if (!strcmp(list[i], s)) return true;
    return false;
}

static const char *type_name(const json_t *j) {
    static const char *const names[] = {"an object",     "a list", "a string", "an integer",
                                        "a real number", "true",   "false",    "null"};
    return names[json_typeof(j)];
}

/* Absent and null are the same in these files. */
static json_t *field(const json_t *obj, const char *key) {
    json_t *j = json_object_get(obj, key);
    return json_is_null(j) ? NULL : j;
}

static void wrong_type(struct reader *r, const char *key, const json_t *j, const char *want) {
    imp_error(r->report, r->path, "field \"%s%s\" is %s, expected %s", r->group, key, type_name(j),
              want);
}

static void missing(struct reader *r, const char *key) {
    imp_error(r->report, r->path, "field \"%s%s\" is missing", r->group, key);
}

/* DEF < 0: the field must be there. */
static int64_t read_int(struct reader *r, const json_t *obj, const char *key, int64_t lo,
                        int64_t hi, int64_t def) {
    const json_t *j = field(obj, key);
    if (!j) {
        if (def < 0) missing(r, key);
        return def < 0 ? lo : def;
    }
    if (!json_is_integer(j)) {
        wrong_type(r, key, j, "an integer");
        return lo;
    }
    json_int_t v = json_integer_value(j);
    if (v < lo || v > hi) {
        imp_error(r->report, r->path, "field \"%s%s\" is %lld, expected %lld to %lld", r->group,
                  key, (long long)v, (long long)lo, (long long)hi);
        return lo;
    }
    return v;
}

/* DEF < 0: the field must be there. */
static double read_real(struct reader *r, const json_t *obj, const char *key, double lo, double hi,
                        double def) {
    const json_t *j = field(obj, key);
    if (!j) {
        if (def < 0) missing(r, key);
        return def < 0 ? lo : def;
    }
    if (!json_is_number(j)) {
        wrong_type(r, key, j, "a number");
        return lo;
    }
    double v = json_number_value(j);
    if (!(v >= lo && v <= hi)) {
        imp_error(r->report, r->path, "field \"%s%s\" is %g, expected %g to %g", r->group, key, v,
                  lo, hi);
        return lo;
    }
    return v;
}

static bool read_bool(struct reader *r, const json_t *obj, const char *key) {
    const json_t *j = field(obj, key);
    if (j && !json_is_boolean(j)) wrong_type(r, key, j, "true or false");
    return json_is_true(j);
}

static const char *read_string(struct reader *r, const json_t *obj, const char *key) {
    const json_t *j = field(obj, key);
    if (j && !json_is_string(j)) wrong_type(r, key, j, "a string");
    return json_string_value(j);
}

/* "LlamaForCausalLM, Qwen3ForCausalLM" */
static const char *supported_archs(char *buf, size_t bytes) {
    size_t n = 0;
    for (int i = 0; i < ARCHS && n < bytes; i++)
        n += (size_t)snprintf(buf + n, bytes - n, "%s%s", i ? ", " : "", archs[i].name);
    return buf;
}

static const struct imp_arch *read_arch(struct reader *r, const json_t *root) {
    char list[256];
    const json_t *names = field(root, "architectures");
    if (names && !json_is_array(names)) {
        wrong_type(r, "architectures", names, "a list");
        return NULL;
    }
    if (json_array_size(names) > 1) {
        imp_error(r->report, r->path,
                  "field \"architectures\" names %zu architectures, expected one",
                  json_array_size(names));
        return NULL;
    }
    const char *name = json_string_value(json_array_get(names, 0));
    const char *type = read_string(r, root, "model_type");
    for (int i = 0; i < ARCHS; i++)
        if (name ? !strcmp(name, archs[i].name) : type && !strcmp(type, archs[i].model_type))
            return &archs[i];
    supported_archs(list, sizeof list);
    if (name || type)
        imp_error(r->report, r->path, "architecture \"%s\" is not supported; supported: %s",
                  name ? name : type, list);
    else
        imp_error(r->report, r->path, "no field \"architectures\" or \"model_type\"; supported: %s",
                  list);
    return NULL;
}

static void read_llama3(struct reader *r, const json_t *rope, struct imp_config *c) {
    c->rope = IMP_ROPE_LLAMA3;
    c->factor = read_real(r, rope, "factor", 1, 1e6, -1);
    c->low_freq = read_real(r, rope, "low_freq_factor", 1e-6, 1e6, -1);
    c->high_freq = read_real(r, rope, "high_freq_factor", 1e-6, 1e6, -1);
    c->original_context = read_int(r, rope, "original_max_position_embeddings", 1, 1 << 30, -1);
    if (field(rope, "low_freq_factor") && field(rope, "high_freq_factor") &&
        c->low_freq >= c->high_freq)
        imp_error(r->report, r->path,
                  "field \"%slow_freq_factor\" (%g) must be below \"high_freq_factor\" (%g)",
                  r->group, c->low_freq, c->high_freq);
}

/* The language wants more than 1: frequencies that fall. */
static const double least_theta = 1.001;

/* New: "rope_parameters" {rope_type, rope_theta, ...}. Old: "rope_theta" beside
 * "rope_scaling" {type or rope_type, ...}. */
static void read_rope(struct reader *r, const json_t *root, struct imp_config *c) {
    bool is_new = field(root, "rope_parameters") != NULL;
    const char *key = is_new ? "rope_parameters" : "rope_scaling";
    const json_t *rope = field(root, key);
    c->theta = read_real(r, root, "rope_theta", least_theta, 1e12, 10000);
    if (!rope) return;
    if (!json_is_object(rope)) {
        wrong_type(r, key, rope, "an object");
        return;
    }
    r->group = is_new ? "rope_parameters." : "rope_scaling.";
    c->theta = read_real(r, rope, "rope_theta", least_theta, 1e12, c->theta);
    const char *type = read_string(r, rope, field(rope, "rope_type") ? "rope_type" : "type");
    if (read_real(r, rope, "partial_rotary_factor", 0, 1, 1) != 1)
        imp_error(r->report, r->path, "field \"%spartial_rotary_factor\" is not supported; only 1",
                  r->group);
    if (!type || !strcmp(type, "default"))
        c->rope = IMP_ROPE_DEFAULT;
    else if (!strcmp(type, "llama3"))
        read_llama3(r, rope, c);
    else
        imp_error(r->report, r->path,
                  "rope type \"%s\" (field \"%s\") is not supported; supported: default, llama3",
                  type, key);
    r->group = "";
}

static void read_act(struct reader *r, const json_t *root, struct imp_config *c) {
    const char *act = read_string(r, root, "hidden_act");
    c->act = "silu";
    if (!act) return;
    for (size_t i = 0; i < sizeof acts / sizeof *acts; i++)
        if (!strcmp(act, acts[i].hf)) {
            c->act = acts[i].etg;
            return;
        }
    imp_error(r->report, r->path,
              "field \"hidden_act\": activation \"%s\" is not supported; supported: silu, gelu, "
              "gelu_new, gelu_pytorch_tanh, relu, tanh, sigmoid",
              act);
}

/* The type a tensor has is what its own header says; this one only matters without weights. */
static void read_dtype(struct reader *r, const json_t *root, struct imp_config *c) {
    const char *t = read_string(r, root, field(root, "dtype") ? "dtype" : "torch_dtype");
    for (size_t i = 0; t && i < sizeof dtypes / sizeof *dtypes; i++)
        if (!strcmp(t, dtypes[i].hf)) c->dtype = dtypes[i].st;
}

/* A window changes what attention sees. Architectures that have none, or have it switched off, do
 * not look at its size; unless it is switched off in so many words, the user is told. */
static void check_window(struct reader *r, const json_t *root, const struct imp_arch *arch) {
    if (read_bool(r, root, "use_sliding_window")) {
        imp_error(
            r->report, r->path,
            "field \"use_sliding_window\" is true: sliding-window attention is not supported");
        return;
    }
    int64_t window = read_int(r, root, "sliding_window", 0, 1 << 30, 0);
    if (!window) return;
    if (arch->always_slides)
        imp_error(r->report, r->path,
                  "field \"sliding_window\": sliding-window attention is not supported; only null");
    else if (!field(root, "use_sliding_window"))
        imp_warning(
            r->report, r->path,
            "field \"sliding_window\" is %lld, but %s has no sliding window: attention sees "
            "all positions",
            (long long)window, arch->name);
}

static bool means_nothing(const json_t *j) {
    return !j || json_is_false(j) || (json_is_number(j) && json_number_value(j) == 0) ||
           (json_is_array(j) && json_array_size(j) == 0);
}

/* Things that would change the result and are not supported. */
static void refuse(struct reader *r, const json_t *root, const struct imp_arch *arch) {
    check_window(r, root, arch);
    for (size_t i = 0; i < sizeof foreign / sizeof *foreign; i++)
        if (!means_nothing(field(root, foreign[i])))
            imp_error(r->report, r->path,
                      "field \"%s\" changes what is computed, and is not supported for %s",
                      foreign[i], arch->name);
    if (field(root, "quantization_config"))
        imp_error(r->report, r->path,
                  "field \"quantization_config\": quantized checkpoints are not supported; "
                  "supported: bfloat16, float16, float32");
    if (read_real(r, root, "partial_rotary_factor", 0, 1, 1) != 1)
        imp_error(r->report, r->path, "field \"partial_rotary_factor\" is not supported; only 1");
    if (field(root, "clip_qkv"))
        imp_error(r->report, r->path, "field \"clip_qkv\" is not supported; only null");
    const json_t *types = field(root, "layer_types");
    if (types && !json_is_array(types)) wrong_type(r, "layer_types", types, "a list");
    for (size_t i = 0; i < json_array_size(types); i++) {
        const char *t = json_string_value(json_array_get(types, i));
        if (!t || strcmp(t, "full_attention")) {
            imp_error(r->report, r->path,
                      "field \"layer_types\": layer %zu is \"%s\"; supported: full_attention", i,
                      t ? t : "not a string");
            break;
        }
    }
}

/* Every layer is a mixture of experts, or this is refused. */
static void read_experts(struct reader *r, const json_t *root, struct imp_config *c) {
    const char *count = field(root, "num_experts") ? "num_experts" : "num_local_experts";
    c->experts = read_int(r, root, count, 1, 4096, -1);
    c->chosen = read_int(r, root, "num_experts_per_tok", 1, 4096, -1);
    c->norm_chosen = read_bool(r, root, "norm_topk_prob") || c->arch->always_norm;
    if (c->arch->own_width) c->ffn = read_int(r, root, "moe_intermediate_size", 1, 1 << 22, -1);
    if (c->chosen > c->experts)
        imp_error(r->report, r->path, "\"num_experts_per_tok\" (%lld) is more than \"%s\" (%lld)",
                  (long long)c->chosen, count, (long long)c->experts);
    if (read_int(r, root, "decoder_sparse_step", 1, 10000, 1) != 1)
        imp_error(r->report, r->path,
                  "field \"decoder_sparse_step\": dense layers between are not supported; only 1");
    const json_t *dense = field(root, "mlp_only_layers");
    if (dense && !json_is_array(dense)) wrong_type(r, "mlp_only_layers", dense, "a list");
    if (json_array_size(dense))
        imp_error(r->report, r->path,
                  "field \"mlp_only_layers\": dense layers between are not supported; only []");
}

enum { MAX_HEAD = 8192 }; /* what the language's rope takes */

static void read_shape(struct reader *r, const json_t *root, struct imp_config *c) {
    int errors = r->report->errors;
    c->layers = read_int(r, root, "num_hidden_layers", 1, 10000, -1);
    c->hidden = read_int(r, root, "hidden_size", 1, 1 << 20, -1);
    c->ffn = read_int(r, root, "intermediate_size", 1, 1 << 22, -1);
    c->vocab = read_int(r, root, "vocab_size", 1, 1 << 24, -1);
    c->heads = read_int(r, root, "num_attention_heads", 1, 1 << 14, -1);
    c->kv_heads = read_int(r, root, "num_key_value_heads", 1, 1 << 14, c->heads);
    c->head_dim = read_int(r, root, "head_dim", 1, 1 << 14, 0);
    c->max_positions = read_int(r, root, "max_position_embeddings", 1, 1 << 30, 0);
    c->eps = read_real(r, root, "rms_norm_eps", 0, 1, 1e-6);
    if (r->report->errors > errors) return;
    if (c->heads % c->kv_heads)
        imp_error(r->report, r->path,
                  "\"num_attention_heads\" (%lld) is not a multiple of \"num_key_value_heads\" "
                  "(%lld)",
                  (long long)c->heads, (long long)c->kv_heads);
    if (!c->head_dim && c->hidden % c->heads) {
        imp_error(r->report, r->path,
                  "\"hidden_size\" (%lld) is not a multiple of \"num_attention_heads\" (%lld) and "
                  "there is no \"head_dim\"",
                  (long long)c->hidden, (long long)c->heads);
        return;
    }
    if (!c->head_dim) c->head_dim = c->hidden / c->heads;
    if (c->head_dim % 2)
        imp_error(r->report, r->path,
                  "heads of %lld elements: rotary embedding needs an even \"head_dim\"",
                  (long long)c->head_dim);
    if (c->head_dim > MAX_HEAD)
        imp_error(r->report, r->path, "heads of %lld elements: at most %d are supported",
                  (long long)c->head_dim, (int)MAX_HEAD);
}

static void warn_unknown(struct reader *r, json_t *root) {
    const char *key;
    json_t *value;
    json_object_foreach(root, key, value) {
        if (!in_list(understood, sizeof understood / sizeof *understood, key) &&
            !in_list(ignored, sizeof ignored / sizeof *ignored, key) &&
            !in_list(foreign, sizeof foreign / sizeof *foreign, key))
            imp_warning(r->report, r->path, "field \"%s\" is not known and was ignored", key);
    }
}

static json_t *load(const char *path, struct imp_report *report) {
    enum { MAX_BYTES = 16 << 20 };
    char why[ET_WHY];
    size_t bytes;
    char *text = et_file_read(path, MAX_BYTES, &bytes, why);
    if (!text) {
        imp_error(report, path, "%s", why);
        return NULL;
    }
    json_error_t e;
    json_t *root = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &e);
    free(text);
    if (!root)
        imp_error(report, path, "line %d: %s", e.line, e.text);
    else if (!json_is_object(root))
        imp_error(report, path, "is %s, expected an object", type_name(root));
    else
        return root;
    json_decref(root);
    return NULL;
}

bool imp_read_config(const char *path, struct imp_config *c, struct imp_report *report) {
    struct reader r = {path, report, ""};
    int errors = report->errors;
    memset(c, 0, sizeof *c);
    json_t *root = load(path, report);
    if (!root) return false;
    c->arch = read_arch(&r, root);
    if (c->arch) {
        read_shape(&r, root, c);
        if (c->arch->router) read_experts(&r, root, c);
        read_rope(&r, root, c);
        read_act(&r, root, c);
        read_dtype(&r, root, c);
        refuse(&r, root, c->arch);
        c->attention_bias = read_bool(&r, root, "attention_bias");
        c->mlp_bias = read_bool(&r, root, "mlp_bias");
        if (c->mlp_bias && c->experts)
            imp_error(report, path, "field \"mlp_bias\" is not supported for experts; only false");
        bool tied = read_bool(&r, root, "tie_word_embeddings");
        c->tie = tied                                 ? IMP_TIED
                 : field(root, "tie_word_embeddings") ? IMP_UNTIED
                                                      : IMP_TIED_UNLESS_HEAD;
        warn_unknown(&r, root);
    }
    json_decref(root);
    return report->errors == errors;
}

bool imp_check_caches(struct imp_options *o, const struct imp_config *c, struct imp_report *r) {
    const double limit = 1e12;
    if (!o->context)
        o->context = c->max_positions && c->max_positions < 4096 ? c->max_positions : 4096;
    if (c->max_positions && o->context > c->max_positions)
        imp_error(r, "--context", "%lld is beyond the model's \"max_position_embeddings\", %lld",
                  (long long)o->context, (long long)c->max_positions);
    double bytes = 4.0 * (double)c->layers * (double)o->slots * (double)c->kv_heads *
                   (double)o->context * (double)c->head_dim;
    if (bytes > limit)
        imp_error(r, "--slots, --context", "the caches would take %.3g bytes, more than %.0e",
                  bytes, limit);
    return !r->errors;
}
