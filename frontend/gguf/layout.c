/* layout.c - what order the rows of each kind of tensor have. */
#include "frontend/gguf/layout.h"
#include "frontend/gguf/convert.h"
#include <jansson.h>
#include <string.h>

enum { MOST = 1 << 20 /* of any size: products of three are no overflow */ };

static bool fail(const struct gguf *g, const struct gguf_tensor *t, const char *why) {
    return gguf_fail(g->fault, "%s: tensor \"%s\" %s", g->path, gguf_shown(t->name), why);
}

/* ---- building ---- */

static struct gguf_section *add_section(const struct gguf *g, struct gguf_layout *l, uint64_t turns,
                                        const struct gguf_rows *rows, int n) {
    struct gguf_section *s = &l->section[l->nsections++];
    struct gguf_rows *own = et_alloc(g->arena, (size_t)n * sizeof *own);
    memcpy(own, rows, (size_t)n * sizeof *own);
    *s = (struct gguf_section){turns, own, n};
    return s;
}

static void set_dims(struct gguf_layout *l, int rank, const uint64_t *dims) {
    l->rank = rank;
    for (int d = 0; d < GGUF_MOST_DIMS; d++)
        l->dims[d] = d < rank ? dims[d] : 1;
}

/* All rows of T, each of ROW elements, in order. */
static void add_all(const struct gguf *g, const struct gguf_tensor *t, uint64_t row,
                    struct gguf_layout *l) {
    l->row = row;
    add_section(g, l, 1, &(struct gguf_rows){t, 0, 0, row ? t->elements / row : 0, 1, false}, 1);
}

void gguf_layout_plain(const struct gguf *g, const struct gguf_tensor *t, struct gguf_layout *l) {
    *l = (struct gguf_layout){0};
    set_dims(l, t->rank, t->dims);
    add_all(g, t, t->dims[0], l);
}

void gguf_layout_expert(const struct gguf *g, const struct gguf_tensor *t, uint64_t e,
                        struct gguf_layout *l) {
    *l = (struct gguf_layout){.row = t->dims[0]};
    set_dims(l, 2, t->dims);
    add_section(g, l, 1, &(struct gguf_rows){t, e * t->dims[1], 0, t->dims[1], 1, false}, 1);
}

/* ---- sizes ---- */

static bool size_of(const struct gguf *g, const json_t *config, const struct gguf_tensor *t,
                    const char *name, uint64_t *out) {
    int64_t n = json_integer_value(json_object_get(config, name));
    if (n < 1 || n > MOST)
        return fail(g, t, et_printf(g->arena, "needs \"%s\", which is out of range", name));
    *out = (uint64_t)n;
    return true;
}

static uint64_t rows_of(const struct gguf_tensor *t) {
    return t->rank == 1 ? t->dims[0] : t->elements / t->dims[0];
}

/* The tensor of the same layer that is called so in place of T's last name, or NULL. */
static const struct gguf_tensor *beside(const struct gguf *g, const struct gguf_tensor *t,
                                        const char *from, const char *to) {
    size_t n = strlen(from);
    for (size_t i = 0; i + n <= t->name.bytes; i++)
        if (!memcmp(t->name.at + i, from, n))
            return gguf_tensor(g, et_printf(g->arena, "%.*s%s%.*s", (int)i, t->name.at, to,
                                            (int)(t->name.bytes - i - n), t->name.at + i + n));
    return NULL;
}

static const struct gguf_tensor *need_beside(const struct gguf *g, const struct gguf_tensor *t,
                                             const char *from, const char *to) {
    const struct gguf_tensor *other = beside(g, t, from, to);
    if (!other) fail(g, t, et_printf(g->arena, "has no \"%s\" beside it", to));
    return other;
}

/* ---- heads whose halves, which rope turns against each other, lie row by row: 0, D/2, 1, ... ----
 */

static bool lay_heads(const struct gguf *g, const json_t *config, const struct gguf_tensor *t,
                      unsigned change, struct gguf_layout *l) {
    uint64_t n, rows = rows_of(t);
    const char *of = change & GGUF_QUERY ? "num_attention_heads" : "num_key_value_heads";
    if (!size_of(g, config, t, of, &n)) return false;
    if (t->rank > 2 || rows % (2 * n)) return fail(g, t, "does not have rows for each head");
    uint64_t d = rows / n;
    struct gguf_rows halves[] = {{t, 0, d, d / 2, 2, false}, {t, 1, d, d / 2, 2, false}};
    l->row = t->rank == 1 ? 1 : t->dims[0];
    add_section(g, l, n, halves, 2);
    return true;
}

/* ---- delta rules: heads of keys, each with some of values ---- */

struct delta {
    uint64_t keys, values, key, value; /* heads, and elements of each */
};

static bool read_delta(const struct gguf *g, const json_t *config, const struct gguf_tensor *t,
                       struct delta *d) {
    return size_of(g, config, t, "linear_num_key_heads", &d->keys) &&
           size_of(g, config, t, "linear_num_value_heads", &d->values) &&
           size_of(g, config, t, "linear_key_head_dim", &d->key) &&
           size_of(g, config, t, "linear_value_head_dim", &d->value) &&
           (d->values % d->keys == 0 || fail(g, t, "has no whole number of values for each key"));
}

/* Rows of T from FIRST on, UNIT for each head of values. In the file the first heads of all keys
 * come first, then their second ones. */
static void add_tiled(const struct gguf *g, const struct delta *d, const struct gguf_tensor *t,
                      uint64_t first, uint64_t unit, struct gguf_layout *l) {
    uint64_t each = d->values / d->keys;
    struct gguf_rows *rows = et_alloc(g->arena, each * sizeof *rows);
    for (uint64_t r = 0; r < each; r++)
        rows[r] = (struct gguf_rows){t, first + r * d->keys * unit, unit, unit, 1, false};
    l->section[l->nsections++] = (struct gguf_section){d->keys, rows, (int)each};
}

static bool lay_tiled(const struct gguf *g, const json_t *config, const struct gguf_tensor *t,
                      unsigned change, struct gguf_layout *l) {
    struct delta d;
    uint64_t rows = rows_of(t), before = 0;
    if (!read_delta(g, config, t, &d)) return false;
    if (change & GGUF_TILED_COLUMNS) {
        if (t->rank != 2 || t->dims[0] != d.values * d.value)
            return fail(g, t, "does not have columns for each head of values");
        if (!json_is_true(json_object_get(config, "linear_out_tiled"))) {
            l->piece = d.value;
            l->groups = d.keys;
        }
        add_all(g, t, t->dims[0], l);
        return true;
    }
    if (change & GGUF_TILED_TAIL) before = 2 * d.keys * d.key;
    if (rows <= before || (rows - before) % d.values)
        return fail(g, t, "does not have rows for each head of values");
    l->row = t->rank == 1 ? 1 : t->dims[0];
    if (before) add_section(g, l, 1, &(struct gguf_rows){t, 0, 0, before, 1, false}, 1);
    add_tiled(g, &d, t, before, (rows - before) / d.values, l);
    return true;
}

/* A head of keys has its query, its key, its values and their gates together. */
static bool lay_qkvz(const struct gguf *g, const json_t *config, const struct gguf_tensor *t,
                     struct gguf_layout *l) {
    struct delta d;
    const struct gguf_tensor *gate = need_beside(g, t, "attn_qkv", "attn_gate");
    if (!gate || !read_delta(g, config, t, &d)) return false;
    uint64_t all = d.keys * d.key, values = d.values * d.value, own = values / d.keys;
    if (t->rank != 2 || gate->rank != 2 || t->dims[0] != gate->dims[0] ||
        t->dims[1] != 2 * all + values || gate->dims[1] != values)
        return fail(g, t, "and \"attn_gate\" do not have rows for each head");
    struct gguf_rows rows[] = {{t, 0, d.key, d.key, 1, false},
                               {t, all, d.key, d.key, 1, false},
                               {t, 2 * all, own, own, 1, false},
                               {gate, 0, own, own, 1, false}};
    l->row = t->dims[0];
    add_section(g, l, d.keys, rows, 4);
    set_dims(l, 2, (uint64_t[]){t->dims[0], 2 * all + 2 * values});
    return true;
}

/* ---- latents: a head's keys are turned, its values behind them ---- */

static bool lay_kv_b(const struct gguf *g, const struct gguf_tensor *k, struct gguf_layout *l) {
    const struct gguf_tensor *v = need_beside(g, k, "attn_k_b", "attn_v_b");
    if (!v) return false;
    if (k->rank != 3 || v->rank != 3 || k->dims[1] != v->dims[0] || k->dims[2] != v->dims[2])
        return fail(g, k, "and \"attn_v_b\" do not have a matrix for each head");
    struct gguf_rows rows[] = {{k, 0, k->dims[0], k->dims[0], 1, true},
                               {v, 0, v->dims[1], v->dims[1], 1, false}};
    l->row = v->dims[0];
    add_section(g, l, k->dims[2], rows, 2);
    set_dims(l, 2, (uint64_t[]){v->dims[0], (k->dims[0] + v->dims[1]) * k->dims[2]});
    return true;
}

/* ---- gate and up, of a layer or of each expert ---- */

static bool lay_gate_up(const struct gguf *g, const struct gguf_tensor *gate, unsigned change,
                        struct gguf_layout *l) {
    const struct gguf_tensor *up = need_beside(g, gate, "ffn_gate", "ffn_up");
    if (!up) return false;
    uint64_t columns = gate->dims[0], rows = gate->dims[1], experts = gate->dims[2];
    if (gate->rank < 2 || gate->rank > 3 || gate->rank != up->rank ||
        memcmp(gate->dims, up->dims, sizeof gate->dims) != 0)
        return fail(g, gate, "and \"ffn_up\" are not of one shape");
    if (change & GGUF_TURNED) {
        struct gguf_rows turned[] = {{gate, 0, 1, 1, 1, true}, {up, 0, 1, 1, 1, true}};
        l->row = rows;
        add_section(g, l, columns * experts, turned, 2);
        set_dims(l, gate->rank, (uint64_t[]){2 * rows, columns, experts});
        return true;
    }
    bool vectors = change & GGUF_IN_TURNS && gate->rank == 2; /* an expert's is one */
    uint64_t each = change & GGUF_IN_TURNS ? 1 : rows;
    if (vectors) {
        l->row = 1;
        set_dims(l, 2, (uint64_t[]){2 * columns, rows});
    } else {
        l->row = columns;
        set_dims(l, gate->rank, (uint64_t[]){columns, 2 * rows, experts});
    }
    struct gguf_rows both[] = {{gate, 0, each, each, 1, false}, {up, 0, each, each, 1, false}};
    add_section(g, l, gate->elements / l->row / each, both, 2);
    return true;
}

static bool lay_turned(const struct gguf *g, const struct gguf_tensor *t, struct gguf_layout *l) {
    if (t->rank != 3) return fail(g, t, "has not three dimensions, as experts have");
    l->row = t->dims[1];
    add_section(g, l, 1, &(struct gguf_rows){t, 0, 0, t->dims[0] * t->dims[2], 1, true}, 1);
    set_dims(l, 3, (uint64_t[]){t->dims[1], t->dims[0], t->dims[2]});
    return true;
}

/* ---- all of them ---- */

/* A convolution of each channel, [channels, taps] there and [channels, 1, taps] here. */
static bool lay_taps(const struct gguf *g, const struct gguf_tensor *t, struct gguf_layout *l) {
    if (t->rank < 2) return fail(g, t, "has not two dimensions");
    set_dims(l, 3, (uint64_t[]){t->dims[0], 1, t->elements / t->dims[0]});
    return true;
}

static bool lay_rows(const struct gguf *g, const json_t *config, const struct gguf_tensor *t,
                     unsigned change, struct gguf_layout *l) {
    if (change & (GGUF_QUERY | GGUF_KEY)) return lay_heads(g, config, t, change, l);
    if (change & (GGUF_TILED | GGUF_TILED_TAIL | GGUF_TILED_COLUMNS))
        return lay_tiled(g, config, t, change, l);
    if (change & GGUF_QKVZ) return lay_qkvz(g, config, t, l);
    if (change & GGUF_KV_B) return lay_kv_b(g, t, l);
    if (change & GGUF_GATE_UP) return lay_gate_up(g, t, change, l);
    if (change & GGUF_TURNED) return lay_turned(g, t, l);
    add_all(g, t, t->dims[0], l);
    return true;
}

bool gguf_layout(const struct gguf *g, const json_t *config, const struct gguf_tensor *t,
                 unsigned change, struct gguf_layout *l) {
    *l = (struct gguf_layout){0};
    set_dims(l, t->rank, t->dims);
    if (change & GGUF_ROW) l->rank = 2;
    if (change & GGUF_FLAT) set_dims(l, 1, &t->elements);
    return lay_rows(g, config, t, change, l) && (!(change & GGUF_TAPS) || lay_taps(g, t, l));
}
