/* Inputs, weights and outputs: between safetensors files and the memory a run works on. */
#include "frontend/etinterp/etinterp.h"
#include "runtime/etrt_source.h"
#include <stdlib.h>
#include <string.h>

/* ---- dims ---- */

static bool set_dim(struct model *m, const char *name, int64_t value) {
    const et_exprs *x = m->g->exprs;
    for (int i = 0; i < et_sym_count(x); i++) {
        int64_t lo, hi;
        const char *sym = et_sym_name(x, i);
        if (strcmp(sym, name) != 0) continue;
        et_sym_range(x, i, &lo, &hi);
        if (value < lo || value > hi)
            return complain(m, "%s = %lld is outside its bounds %lld..%lld", sym, (long long)value,
                            (long long)lo, (long long)hi);
        m->syms[i] = value;
        return true;
    }
    return complain(m, "there is no dim '%s'", name);
}

/* Of a program with variants, the one for these values. */
static void choose_variant(struct model *m) {
    if (!m->p || !m->p->nvariants) return;
    m->p = et_part_at(m->p, m->syms);
    m->g = m->p->g;
}

/* Sequences whose keys and values a decoder from etimport keeps: kc is [L, SLOTS, ...]. */
static int64_t slots_of(const struct model *m) {
    const et_shape *kc = NULL;
    for (int i = 0; m->p && i < m->p->ntensors; i++)
        if (strcmp(m->p->tensors[i].name, "kc") == 0) kc = &m->p->tensors[i].shape;
    for (int i = 1; !m->p && i < m->g->nvals; i++)
        if (m->g->vals[i].kind == ET_V_STATE && strcmp(m->g->vals[i].name, "kc") == 0)
            kc = &m->g->vals[i].shape;
    int64_t n = kc && kc->rank > 1 ? et_eval(m->g->exprs, kc->dim[1], m->syms, NULL) : 0;
    return n > 0 ? n : m->sequences;
}

/* The upper bound of a dim; INT64_MAX where there is none of that name. */
static int64_t most_of(const struct model *m, const char *dim) {
    int64_t lo, hi = INT64_MAX;
    for (int i = 0; i < et_sym_count(m->g->exprs); i++)
        if (strcmp(et_sym_name(m->g->exprs, i), dim) == 0) et_sym_range(m->g->exprs, i, &lo, &hi);
    return hi;
}

/* N of a launch: as many tokens as its bounds allow, of sequences that have slots of their own. A
 * decoder that is asked for logits is asked for those of each. */
static bool set_tokens(struct model *m) {
    int64_t hi = most_of(m, "N"), rows = most_of(m, "ROWS");
    if (rows < hi) hi = rows;
    m->slots = slots_of(m);
    int64_t group = m->slots * m->length, all = m->sequences * m->length;
    int64_t end = (m->at / (group ? group : 1) + 1) * group;
    if (end > all) end = all;
    m->count = end - m->at < hi ? end - m->at : hi;
    return set_dim(m, "N", m->count) && (rows == INT64_MAX || set_dim(m, "ROWS", m->count));
}

/* What --set says; N of a decoder from input_ids; for the rest the lowest value. */
bool set_dims(struct model *m, const struct options *o) {
    m->p = m->whole;
    if (m->p) m->g = m->p->g;
    int n = et_sym_count(m->g->exprs);
    if (n > MAX_SYMS) return complain(m, "more than %d dims", MAX_SYMS);
    for (int i = 0; i < n; i++) {
        int64_t hi;
        et_sym_range(m->g->exprs, i, &m->syms[i], &hi);
    }
    const struct etrt_st_tensor *ids = m->in ? etrt_st_find(m->in, "input_ids") : NULL;
    if (ids && ids->rank == 2 && !strcmp(ids->dtype, "I32")) {
        m->sequences = ids->shape[0];
        m->length = ids->shape[1];
        if (!set_tokens(m)) return false;
    }
    for (int i = 0; i < o->set.n; i++)
        if (!set_dim(m, o->set.at[i].text, o->set.at[i].number)) return false;
    choose_variant(m);
    return true;
}

/* ---- elements ---- */

struct elements {
    struct elements *next;
    char *bytes;
};

char *make_elements(struct model *m, size_t bytes) {
    char *p = calloc(bytes + 1, 1);
    if (!p) {
        complain(m, "no memory for a tensor of %zu bytes", bytes);
        return NULL;
    }
    struct elements *e = et_alloc(m->arena, sizeof *e);
    *e = (struct elements){m->elements, p};
    m->elements = e;
    return p;
}

void free_elements(struct model *m) {
    for (; m->elements; m->elements = m->elements->next)
        free(m->elements->bytes);
}

/* Tensor NAME of a file to the elements of T from AT on, N of them. */
static bool copy_in(struct model *m, struct tensor *t, int64_t at, int64_t n,
                    const struct etrt_st *st, const char *name) {
    const struct etrt_st_tensor *from = st ? etrt_st_find(st, name) : NULL;
    if (!from) return complain(m, "no file holds tensor '%s'", name);
    size_t item = etrt_st_dtype_bytes(from->dtype);
    et_dtype stored = t->shape->dtype;
    int held = etrt_dtype_held(et_dtype_bits(stored), et_dtype_safetensors(stored), from->dtype);
    bool codes = et_dtype_is_code(stored) && held;
    if (!codes && (!et_dtype_parse_safetensors(from->dtype, &stored) ||
                   et_dtype_is_float(stored) != et_dtype_is_float(t->dtype)))
        return complain(m, "'%s' is %s, the model wants %s", name, from->dtype,
                        et_dtype_name(t->shape->dtype));
    if (from->bytes != (codes ? (size_t)et_dtype_size(stored, n) : (size_t)n * item))
        return complain(m, "'%s' has %zu elements, the model wants %lld", name, from->bytes / item,
                        (long long)n);
    for (int64_t i = 0; i < n; i++) {
        int64_t place = t->relaid ? et_relaid_place(m->g->exprs, t->relaid, at + i) - at : i;
        etrt_element_set((int)t->dtype, t->bytes, at + i,
                         etrt_element((int)stored, from->data, place));
    }
    return true;
}

/* ---- sources ---- */

/* "layers.{l}.w" at iteration INDEX of the loops the weight stands in, as one number. */
static char *expand(const struct model *m, const struct tensor *t, int64_t index) {
    int64_t at[ET_MAX_LOOPS];
    char *out = et_strdup(m->arena, "");
    for (int i = t->nloops; i-- > 0;) {
        const et_loop *loop = &m->g->loops[t->loops[i]];
        at[i] = loop->lo + index % (loop->hi - loop->lo);
        index /= loop->hi - loop->lo;
    }
    for (const char *p = t->source ? t->source : t->name; *p;) {
        size_t plain = strcspn(p, "{"), bytes = strcspn(p + plain, "}");
        struct etrt_source_index x;
        out = et_printf(m->arena, "%s%.*s", out, (int)plain, p);
        p += plain;
        if (!*p || !etrt_source_index(p + 1, bytes - 1, &x)) continue;
        for (int k = 0; k < x.n; k++)
            for (int i = 0; i < t->nloops; i++)
                if (etrt_source_is(&x, k, m->g->loops[t->loops[i]].name))
                    x.plus += x.term[k].times * at[i];
        out = et_printf(m->arena, "%s%lld", out, (long long)x.plus);
        p += bytes + (p[bytes] == '}');
    }
    return out;
}

static bool load_weight(struct model *m, struct tensor *t) {
    int64_t copies = 1;
    for (int i = 0; i < t->nloops; i++)
        copies *= m->g->loops[t->loops[i]].hi - m->g->loops[t->loops[i]].lo;
    int64_t each = t->count / copies;
    for (int64_t i = 0; i < copies; i++)
        if (!copy_in(m, t, i * each, each, m->weights, expand(m, t, i))) return false;
    return true;
}

/* tokens, positions and slots of sequences laid one after the other; asked: all of them. */
static bool load_decoder_input(struct model *m, struct tensor *t) {
    const struct etrt_st_tensor *ids = etrt_st_find(m->in, "input_ids");
    if (t->dtype != ET_I32 || t->count != m->count)
        return complain(m, "input_ids cannot feed input '%s'", t->name);
    for (int64_t i = 0; i < t->count; i++) {
        int64_t token = m->at + i, sequence = token / m->length;
        int32_t v = (int32_t)(*t->name == 'p' ? token % m->length : sequence % m->slots);
        if (!strcmp(t->name, "asked")) v = (int32_t)i;
        if (!strcmp(t->name, "tokens")) memcpy(&v, (const char *)ids->data + token * 4, 4);
        memcpy(t->bytes + i * 4, &v, 4);
    }
    return true;
}

/* Weights are those of the launch before; states too, but where other sequences begin. */
static bool load_again(struct model *m, struct tensor *t) {
    if (t->kind == ET_TENSOR_WEIGHT) t->first = expand(m, t, 0);
    bool begins = m->length && m->at % (m->slots * m->length) == 0;
    for (int i = 0; i < m->nbefore; i++) {
        const struct tensor *b = &m->before[i];
        if (strcmp(b->name, t->name) != 0 || b->kind != t->kind || b->count != t->count) continue;
        if (t->first && strcmp(b->first, t->first) != 0) continue; /* loops may share names */
        if (t->kind != ET_TENSOR_WEIGHT && (t->kind != ET_TENSOR_STATE || begins)) return false;
        memcpy(t->bytes, b->bytes, tensor_bytes(t));
        return true;
    }
    return false;
}

/* States start as a tensor of their name says, or as zeros; outputs as NaNs. */
static bool load(struct model *m, struct tensor *t) {
    if (load_again(m, t)) return true;
    bool given = m->in && etrt_st_find(m->in, t->name);
    switch (t->kind) {
    case ET_TENSOR_WEIGHT:
        return load_weight(m, t);
    case ET_TENSOR_INPUT:
        if (!given && m->sequences) return load_decoder_input(m, t);
        return copy_in(m, t, 0, t->count, m->in, t->name);
    case ET_TENSOR_STATE:
        return !given || copy_in(m, t, 0, t->count, m->in, t->name);
    default:
        memset(t->bytes, 0xff, tensor_bytes(t));
        return true;
    }
}

static bool measure(struct model *m, struct tensor *t) {
    t->rank = t->shape->rank;
    t->dtype = t->shape->dtype;
    if (!m->p) t->dtype = et_dtype_is_float(t->dtype) ? ET_F32 : ET_I32;
    t->count = 1;
    for (int k = 0; k < t->rank; k++) {
        t->dim[k] = et_eval(m->g->exprs, t->shape->dim[k], m->syms, NULL);
        if (t->dim[k] < 0 || __builtin_mul_overflow(t->count, t->dim[k], &t->count) ||
            t->count > (int64_t)1 << 34)
            return complain(m, "'%s' is too large", t->name);
    }
    return true;
}

static struct tensor *add(struct model *m, et_tensor_kind kind, const char *name, int id) {
    struct tensor *t = &m->tensors[m->ntensors++];
    t->kind = kind;
    t->name = name;
    t->id = id;
    return t;
}

static void list_program(struct model *m) {
    for (int i = 0; i < m->p->ntensors; i++) {
        const et_tensor *x = &m->p->tensors[i];
        if (x->kind == ET_TENSOR_TEMP || x->kind == ET_TENSOR_CONST) continue;
        struct tensor *t = add(m, x->kind, x->name, i);
        t->source = x->source;
        t->shape = &x->shape;
        t->relaid = x->relaid;
        t->nloops = x->nloops;
        t->loops = x->loops;
    }
}

static void list_graph(struct model *m) {
    static const et_tensor_kind kind[] = {[ET_V_INPUT] = ET_TENSOR_INPUT,
                                          [ET_V_WEIGHT] = ET_TENSOR_WEIGHT,
                                          [ET_V_STATE] = ET_TENSOR_STATE};
    for (int i = 1; i < m->g->nvals; i++) {
        const et_val *v = &m->g->vals[i];
        if (v->kind > ET_V_STATE && !v->is_output) continue;
        struct tensor *t = add(m, v->is_output ? ET_TENSOR_OUTPUT : kind[v->kind], v->name, i);
        t->source = v->source;
        t->shape = &v->shape;
        t->nloops = v->nloops;
        t->loops = v->loops;
    }
}

bool load_tensors(struct model *m) {
    int most = m->p ? m->p->ntensors : m->g->nvals;
    m->before = m->tensors;
    m->nbefore = m->ntensors;
    m->ntensors = 0;
    m->tensors = et_alloc(m->arena, (size_t)(most + 1) * sizeof *m->tensors);
    if (m->p)
        list_program(m);
    else
        list_graph(m);
    for (int i = 0; i < m->ntensors; i++) {
        struct tensor *t = &m->tensors[i];
        if (!measure(m, t)) return false;
        t->bytes = make_elements(m, tensor_bytes(t));
        if (!t->bytes || !load(m, t)) return false;
        if (m->again && !(t->start = make_elements(m, tensor_bytes(t)))) return false;
        if (m->again) memcpy(t->start, t->bytes, tensor_bytes(t));
    }
    return true;
}

/* Is there a row of T for each token? */
static bool has_rows(const struct model *m, const struct tensor *t) {
    return m->sequences && t->rank > 0 && t->rank < ETRT_ST_MAX_RANK && t->dim[0] == m->count;
}

static struct etrt_st_tensor *find_output(struct model *m, const struct tensor *t) {
    for (size_t i = 0; i < m->nout; i++)
        if (strcmp(m->out[i].name, t->name) == 0) return &m->out[i];
    struct etrt_st_tensor *w = &m->out[m->nout++];
    size_t bytes = tensor_bytes(t);
    *w = (struct etrt_st_tensor){
        .name = t->name, .dtype = et_dtype_safetensors(t->dtype), .rank = t->rank};
    memcpy(w->shape, t->dim, sizeof t->dim);
    if (has_rows(m, t)) {
        memmove(w->shape + 1, t->dim, (size_t)t->rank * sizeof *w->shape);
        w->rank++;
        w->shape[0] = m->sequences;
        w->shape[1] = m->length;
        if (m->count) bytes = bytes / (size_t)m->count * (size_t)(m->sequences * m->length);
    }
    if (!(w->data = make_elements(m, bytes))) return NULL;
    w->bytes = bytes;
    return w;
}

bool keep_outputs(struct model *m) {
    if (!m->out) m->out = et_alloc(m->arena, (size_t)(m->ntensors + 1) * sizeof *m->out);
    for (int i = 0; i < m->ntensors; i++) {
        const struct tensor *t = &m->tensors[i];
        if (t->kind != ET_TENSOR_OUTPUT) continue;
        struct etrt_st_tensor *w = find_output(m, t);
        if (!w) return false;
        size_t bytes = tensor_bytes(t);
        bool rows = w->rank > t->rank && m->count;
        size_t first = rows ? bytes / (size_t)m->count * (size_t)m->at : 0;
        if (first + bytes > w->bytes) return complain(m, "'%s' has another shape now", t->name);
        memcpy((char *)(uintptr_t)w->data + first, t->bytes, bytes);
    }
    return true;
}

bool write_outputs(struct model *m, const char *path) {
    char err[ETRT_ST_ERR];
    return etrt_st_write(path, m->out, m->nout, err, sizeof err) || complain(m, "%s", err);
}
