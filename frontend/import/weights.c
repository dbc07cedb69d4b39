/* weights.c - which tensors a decoder needs, and whether the checkpoint has them.
 *
 * One table serves the check here and the declarations in emit.c, so the two cannot differ. */
#include "frontend/import/import.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include <string.h>

static const struct {
    const char *st, *etg;
} types[] = {{"BF16", "bf16"}, {"F16", "f16"}, {"F32", "f32"}};

static const char *etg_type(const char *st_dtype) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(types[i].st, st_dtype)) return types[i].etg;
    return NULL;
}

struct list {
    struct imp_weight *w;
    int n;
    bool per_layer, per_expert;
};

static void add(struct list *l, const char *var, const char *source, const char *shape, int rank,
                int64_t d0, int64_t d1, const char *help) {
    l->w[l->n++] = (struct imp_weight){.var = var,
                                       .source = source,
                                       .shape = shape,
                                       .help = help,
                                       .rank = rank,
                                       .dims = {d0, d1},
                                       .per_layer = l->per_layer,
                                       .per_expert = l->per_expert};
}

#define LAYER(rest) "model.layers.{l}." rest

static void add_attention(struct list *l, const struct imp_config *c) {
    int64_t q = c->heads * c->head_dim, kv = c->kv_heads * c->head_dim;
    add(l, "g1", LAYER("input_layernorm.weight"), "H", 1, c->hidden, 0, NULL);
    add(l, "wq", LAYER("self_attn.q_proj.weight"), "NH*D, H", 2, q, c->hidden, NULL);
    add(l, "wk", LAYER("self_attn.k_proj.weight"), "NKV*D, H", 2, kv, c->hidden, NULL);
    add(l, "wv", LAYER("self_attn.v_proj.weight"), "NKV*D, H", 2, kv, c->hidden, NULL);
    add(l, "wo", LAYER("self_attn.o_proj.weight"), "H, NH*D", 2, c->hidden, q, NULL);
    if (c->attention_bias) {
        add(l, "bq", LAYER("self_attn.q_proj.bias"), "NH*D", 1, q, 0, NULL);
        add(l, "bk", LAYER("self_attn.k_proj.bias"), "NKV*D", 1, kv, 0, NULL);
        add(l, "bv", LAYER("self_attn.v_proj.bias"), "NKV*D", 1, kv, 0, NULL);
        add(l, "bo", LAYER("self_attn.o_proj.bias"), "H", 1, c->hidden, 0, NULL);
    }
    if (c->arch->qk_norm) {
        bool whole = c->arch->qk_norm == IMP_QK_WHOLE;
        add(l, "gq", LAYER("self_attn.q_norm.weight"), whole ? "NH*D" : "D", 1,
            whole ? q : c->head_dim, 0, NULL);
        add(l, "gk", LAYER("self_attn.k_norm.weight"), whole ? "NKV*D" : "D", 1,
            whole ? kv : c->head_dim, 0, NULL);
    }
}

static void add_mlp(struct list *l, const struct imp_config *c) {
    add(l, "g2", LAYER("post_attention_layernorm.weight"), "H", 1, c->hidden, 0, NULL);
    add(l, "wg", LAYER("mlp.gate_proj.weight"), "F, H", 2, c->ffn, c->hidden, NULL);
    add(l, "wu", LAYER("mlp.up_proj.weight"), "F, H", 2, c->ffn, c->hidden, NULL);
    add(l, "wd", LAYER("mlp.down_proj.weight"), "H, F", 2, c->hidden, c->ffn, NULL);
    if (c->mlp_bias) {
        add(l, "bg", LAYER("mlp.gate_proj.bias"), "F", 1, c->ffn, 0, NULL);
        add(l, "bu", LAYER("mlp.up_proj.bias"), "F", 1, c->ffn, 0, NULL);
        add(l, "bd", LAYER("mlp.down_proj.bias"), "H", 1, c->hidden, 0, NULL);
    }
}

static void add_stack(struct list *l, const char *var, const char *source, const char *shape,
                      int64_t d0, int64_t d1, int64_t d2) {
    add(l, var, source, shape, 3, d0, d1, NULL);
    l->w[l->n - 1].dims[2] = d2;
}

#define STACKED LAYER("mlp.experts.gate_up_proj")

/* Gate and up of one expert after the other in one tensor, as transformers from 5 on keeps them, or
 * a tensor each. */
static void add_experts(struct list *l, const struct imp_config *c, const char *router) {
    const struct imp_arch *a = c->arch;
    add(l, "g2", LAYER("post_attention_layernorm.weight"), "H", 1, c->hidden, 0, NULL);
    add(l, "wr", router, "E, H", 2, c->experts, c->hidden, NULL);
    if (c->stacked) {
        add_stack(l, "wgu", STACKED, "E, 2*F, H", c->experts, 2 * c->ffn, c->hidden);
        add_stack(l, "wd", LAYER("mlp.experts.down_proj"), "E, H, F", c->experts, c->hidden,
                  c->ffn);
        return;
    }
    l->per_expert = true;
    add(l, "wg", a->gate, "e in 0..E, F, H", 2, c->ffn, c->hidden, NULL);
    add(l, "wu", a->up, "e in 0..E, F, H", 2, c->ffn, c->hidden, NULL);
    add(l, "wd", a->down, "e in 0..E, H, F", 2, c->hidden, c->ffn, NULL);
    l->per_expert = false;
}

static void expand(char *buf, size_t bytes, const char *source, int64_t layer, int64_t expert);

static bool has(const struct etrt_st *st, const char *source) {
    char name[256];
    expand(name, sizeof name, source, 0, 0);
    return st && etrt_st_find(st, name);
}

void imp_list_weights(struct imp_config *c, const struct etrt_st *st, struct imp_weight *out) {
    struct list l = {.w = out};
    if (c->tie == IMP_TIED_UNLESS_HEAD)
        c->tie = st && etrt_st_find(st, "lm_head.weight") ? IMP_UNTIED : IMP_TIED;
    add(&l, "embed", "model.embed_tokens.weight", "V, H", 2, c->vocab, c->hidden,
        c->tie == IMP_TIED ? "also the output head" : NULL);
    if (c->tie == IMP_UNTIED)
        add(&l, "head", "lm_head.weight", "V, H", 2, c->vocab, c->hidden, NULL);
    add(&l, "gf", "model.norm.weight", "H", 1, c->hidden, 0, NULL);
    l.per_layer = true;
    add_attention(&l, c);
    const char *newer = LAYER("mlp.gate.weight");
    c->stacked = c->experts && has(st, STACKED);
    if (c->experts)
        add_experts(&l, c, has(st, newer) ? newer : c->arch->router);
    else
        add_mlp(&l, c);
    out[l.n].var = NULL;
    for (int i = 0; i < l.n; i++)
        out[i].dtype = etg_type(c->dtype ? c->dtype : "BF16");
}

/* The name of SOURCE in layer LAYER, for expert EXPERT. */
static void expand(char *buf, size_t bytes, const char *source, int64_t layer, int64_t expert) {
    size_t n = 0;
    while (*source && n + 24 < bytes) {
        if (strncmp(source, "{l}", 3) && strncmp(source, "{e}", 3)) {
            buf[n++] = *source++;
            continue;
        }
        n += (size_t)snprintf(buf + n, bytes - n, "%lld",
                              (long long)(source[1] == 'l' ? layer : expert));
        source += 3;
    }
    buf[n] = 0;
}

static bool same_shape(const struct etrt_st_tensor *t, const struct imp_weight *w) {
    if (t->rank != w->rank) return false;
    for (int i = 0; i < w->rank; i++)
        if (t->shape[i] != w->dims[i]) return false;
    return true;
}

static void check_one(const struct etrt_st *st, struct imp_weight *w, int64_t nth, const char *name,
                      struct imp_report *r) {
    char have[128], want[128];
    const struct etrt_st_tensor *t = etrt_st_find(st, name);
    if (!t) {
        imp_error(r, "checkpoint", "tensor \"%s\" is missing", name);
        return;
    }
    const char *file = etrt_st_path(st, t);
    if (!same_shape(t, w))
        imp_error(r, file, "tensor \"%s\" has shape %s, but config.json makes it %s", name,
                  etrt_st_shape_text(t->rank, t->shape, have, sizeof have),
                  etrt_st_shape_text(w->rank, w->dims, want, sizeof want));
    const char *type = etg_type(t->dtype);
    if (!type)
        imp_error(r, file, "tensor \"%s\" has type %s; supported: BF16, F16, F32", name, t->dtype);
    else if (nth == 0)
        w->dtype = type;
    else if (strcmp(type, w->dtype))
        imp_error(r, file,
                  "tensor \"%s\" is %s, but the first of its kind has %s; all must be alike", name,
                  type, w->dtype);
}

/* The layer that tensor NAME is of, or -1. */
static long long layer_of(const char *name) {
    long long layer = -1;
    return sscanf(name, "model.layers.%lld.", &layer) == 1 ? layer : -1;
}

static bool is_expected(const struct imp_config *c, const struct imp_weight *w, const char *name) {
    char want[256];
    long long layer = layer_of(name), expert = 0;
    const char *of = strstr(name, ".experts.");
    if (!strncmp(name, "model.layers.", 13) && (layer < 0 || layer >= c->layers)) return false;
    if (of && sscanf(of, ".experts.%lld.", &expert) == 1 && (expert < 0 || expert >= c->experts))
        return false;
    for (; w->var; w++) {
        expand(want, sizeof want, w->source, layer, expert);
        if (!strcmp(want, name)) return true;
    }
    /* Saved by old versions; recomputed from the configuration. And the head, when it is tied. */
    return strstr(name, ".rotary_emb.inv_freq") ||
           (c->tie == IMP_TIED && !strcmp(name, "lm_head.weight"));
}

/* The field of config.json that would give the bias NAME a place, or NULL. */
static const char *bias_field(const char *name) {
    size_t n = strlen(name);
    if (n < 5 || strcmp(name + n - 5, ".bias")) return NULL;
    return strstr(name, ".self_attn.") ? "attention_bias"
           : strstr(name, ".mlp.")     ? "mlp_bias"
                                       : NULL;
}

/* A tensor in the middle of the model that config.json does not speak of, a bias for example, is
 * part of what was trained: leaving it out would compute something else. What lies beyond the last
 * layer, or outside of them, may be for training alone. */
static void judge_surplus(const struct imp_config *c, const char *file, const char *name,
                          struct imp_report *r) {
    long long layer = layer_of(name);
    const char *field = bias_field(name);
    if (layer < 0 || layer >= c->layers)
        imp_warning(r, file, "tensor \"%s\" is not used", name);
    else if (field)
        imp_error(r, file, "tensor \"%s\" is a bias, but config.json does not set \"%s\"", name,
                  field);
    else
        imp_error(r, file, "tensor \"%s\" has no place in the model that config.json describes",
                  name);
}

bool imp_check_weights(const struct imp_config *c, const struct etrt_st *st,
                       struct imp_weight *weights, struct imp_report *r) {
    char name[256];
    int errors = r->errors;
    for (struct imp_weight *w = weights; w->var; w++)
        for (int64_t l = 0; l < (w->per_layer ? c->layers : 1); l++)
            for (int64_t e = 0; e < (w->per_expert ? c->experts : 1); e++) {
                expand(name, sizeof name, w->source, l, e);
                check_one(st, w, l + e, name, r);
            }
    for (size_t i = 0; i < etrt_st_count(st); i++) {
        const struct etrt_st_tensor *t = etrt_st_at(st, i);
        if (!is_expected(c, weights, t->name)) judge_surplus(c, etrt_st_path(st, t), t->name, r);
    }
    return r->errors == errors;
}
