/* etinterp - run an .etg in plain C, through the front end and the reference interpreter: an oracle
 * that shares nothing with code generation.
 *
 *     etinterp MODEL.etg [--set NAME=VALUE]... --in I.safetensors --weights CHECKPOINT
 *              --out O.safetensors
 *
 * I holds the inputs by name; or input_ids [B, T], which a decoder from etimport is fed in one
 * launch as B sequences, its logits then written as [B, T, V]. */
#include "etrt_safetensors.h"
#include "frontend.h"
#include "ops.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_SYMS = 16 };

struct run {
    et_arena *arena;
    et_graph *g;
    int64_t syms[MAX_SYMS];
    et_tensor_data **tensors;
    const struct etrt_st *in, *weights;
    int64_t sequences, length; /* of input_ids, or 0 */
};

static _Noreturn void die(const char *what, const char *name) {
    fprintf(stderr, "etinterp: %s%s%s\n", what, *name ? ": " : "", name);
    exit(1);
}

static float widen(const char *dtype, const char *at) {
    uint16_t half;
    uint32_t bits;
    float f;
    _Float16 h;
    if (!strcmp(dtype, "F32")) {
        memcpy(&f, at, sizeof f);
        return f;
    }
    memcpy(&half, at, sizeof half);
    memcpy(&h, &half, sizeof h);
    bits = (uint32_t)half << 16;
    memcpy(&f, &bits, sizeof f);
    return strcmp(dtype, "BF16") ? (float)h : f;
}

static et_tensor_data *allocate(struct run *r, const et_val *v) {
    et_tensor_data *t = et_alloc(r->arena, sizeof *t);
    int64_t n = 1;
    t->dtype = v->shape.dtype == ET_I32 ? ET_I32 : ET_F32;
    t->rank = v->shape.rank;
    for (int k = 0; k < t->rank; k++)
        n *= t->dim[k] = et_eval(r->g->exprs, v->shape.dim[k], r->syms, NULL);
    t->p = et_alloc(r->arena, (size_t)n * sizeof *t->f + 1);
    return t;
}

static int64_t count(const et_tensor_data *t) {
    int64_t n = 1;
    for (int k = 0; k < t->rank; k++)
        n *= t->dim[k];
    return n;
}

/* Tensor NAME of ST to the elements of T from AT on, N of them. */
static void copy_in(et_tensor_data *t, int64_t at, int64_t n, const struct etrt_st *st,
                    const char *name) {
    const struct etrt_st_tensor *from = st ? etrt_st_find(st, name) : NULL;
    if (!from) die("no tensor", name);
    size_t item = etrt_st_dtype_bytes(from->dtype);
    if (from->bytes != (size_t)n * item || (t->dtype == ET_I32) != !strcmp(from->dtype, "I32"))
        die("another size or type", name);
    for (int64_t i = 0; i < n; i++) {
        const char *p = (const char *)from->data + (size_t)i * item;
        if (t->dtype == ET_I32)
            memcpy(&t->i[at + i], p, sizeof *t->i);
        else
            t->f[at + i] = widen(from->dtype, p);
    }
}

/* "layers.{l}.w" at iteration INDEX of the loops the weight stands in, as one number. */
static char *expand(const struct run *r, const et_val *v, int64_t index) {
    const char *source = v->source ? v->source : v->name;
    char *name = et_strdup(r->arena, source);
    for (int i = v->nloops; i-- > 0;) {
        const et_loop *loop = &r->g->loops[v->loops[i]];
        int64_t trips = loop->hi - loop->lo;
        char *key = et_printf(r->arena, "{%s}", loop->name), *at;
        while ((at = strstr(name, key)))
            name = et_printf(r->arena, "%.*s%lld%s", (int)(at - name), name,
                             (long long)(loop->lo + index % trips), at + strlen(key));
        index /= trips;
    }
    return name;
}

static void load_weight(struct run *r, const et_val *v, et_tensor_data *t) {
    int64_t copies = 1, n = count(t);
    for (int i = 0; i < v->nloops; i++)
        copies *= r->g->loops[v->loops[i]].hi - r->g->loops[v->loops[i]].lo;
    for (int64_t i = 0; i < copies; i++)
        copy_in(t, i * (n / copies), n / copies, r->weights, expand(r, v, i));
}

/* tokens, positions and slots of sequences laid one after the other. */
static void load_input(struct run *r, const et_val *v, et_tensor_data *t) {
    if (!r->sequences) {
        copy_in(t, 0, count(t), r->in, v->name);
        return;
    }
    const struct etrt_st_tensor *ids = etrt_st_find(r->in, "input_ids");
    for (int64_t i = 0; i < r->sequences * r->length; i++)
        if (!strcmp(v->name, "tokens"))
            memcpy(&t->i[i], (const char *)ids->data + i * 4, 4);
        else
            t->i[i] = (int32_t)(*v->name == 'p' ? i % r->length : i / r->length);
}

static void set_sym(struct run *r, const char *name, size_t bytes, int64_t value) {
    for (int i = 0; i < et_sym_count(r->g->exprs); i++)
        if (strlen(et_sym_name(r->g->exprs, i)) == bytes &&
            !strncmp(et_sym_name(r->g->exprs, i), name, bytes)) {
            r->syms[i] = value;
            return;
        }
    die("no such dim", name);
}

static void write_outputs(struct run *r, const char *path) {
    char err[ETRT_ST_ERR];
    struct etrt_st_tensor out[ET_MAX_ARGS];
    if (r->g->noutputs > ET_MAX_ARGS) die("too many outputs", "");
    for (int i = 0; i < r->g->noutputs; i++) {
        const et_val *v = et_val_of(r->g, r->g->outputs[i]);
        const et_tensor_data *t = r->tensors[r->g->outputs[i].id];
        out[i] = (struct etrt_st_tensor){.name = v->name,
                                         .dtype = t->dtype == ET_I32 ? "I32" : "F32",
                                         .rank = t->rank,
                                         .data = t->p,
                                         .bytes = (size_t)count(t) * 4};
        memcpy(out[i].shape, t->dim, sizeof t->dim);
        if (r->sequences) {
            out[i].rank = 3;
            out[i].shape[0] = r->sequences;
            out[i].shape[1] = r->length;
            out[i].shape[2] = t->dim[1];
        }
    }
    if (!etrt_st_write(path, out, (size_t)r->g->noutputs, err, sizeof err)) die(err, "");
}

static et_graph *parse(et_arena *arena, const char *path) {
    enum { MAX = 1 << 20 };
    char *text = et_alloc(arena, MAX);
    FILE *f = fopen(path, "r");
    if (!f) die("cannot open", path);
    size_t n = fread(text, 1, MAX, f);
    fclose(f);
    et_diags *diags = et_diags_create(arena);
    et_graph *g = et_parse_etg(arena, diags, path, text, n);
    et_diag_print(diags, stderr);
    if (!g || et_sym_count(g->exprs) > MAX_SYMS) die("cannot use", path);
    return g;
}

static void open_file(const char *path, const struct etrt_st **out) {
    char err[ETRT_ST_ERR];
    struct etrt_st *st;
    if (!etrt_st_open(path, &st, err, sizeof err)) die(err, "");
    *out = st;
}

static void run(struct run *r, const char *out) {
    char err[256];
    r->tensors = et_alloc(r->arena, (size_t)r->g->nvals * sizeof *r->tensors);
    for (int id = 1; id < r->g->nvals; id++) {
        const et_val *v = &r->g->vals[id];
        bool ours = v->kind == ET_V_INPUT || v->kind == ET_V_WEIGHT || v->kind == ET_V_STATE;
        if (!ours && !v->is_output) continue;
        r->tensors[id] = allocate(r, v);
        if (v->kind == ET_V_WEIGHT)
            load_weight(r, v, r->tensors[id]);
        else if (v->kind == ET_V_INPUT)
            load_input(r, v, r->tensors[id]);
    }
    if (!et_graph_interp(r->g, r->syms, r->tensors, err)) die(err, "");
    write_outputs(r, out);
}

int main(int argc, char **argv) {
    struct run r = {.arena = et_arena_create()};
    const char *out = NULL;
    if (argc < 2) die("usage: etinterp MODEL.etg [--set N=V] --in I --weights W --out O", "");
    r.g = parse(r.arena, argv[1]);
    for (int i = 2; i + 1 < argc; i += 2) {
        const char *value = argv[i + 1], *eq = strchr(value, '=');
        if (!strcmp(argv[i], "--set") && eq)
            set_sym(&r, value, (size_t)(eq - value), atoll(eq + 1));
        else if (!strcmp(argv[i], "--in"))
            open_file(value, &r.in);
        else if (!strcmp(argv[i], "--weights"))
            open_file(value, &r.weights);
        else if (!strcmp(argv[i], "--out"))
            out = value;
        else
            die("unknown option", argv[i]);
    }
    if (!r.in || !out) die("--in and --out are needed", "");
    const struct etrt_st_tensor *ids = etrt_st_find(r.in, "input_ids");
    if (ids) {
        r.sequences = ids->shape[0];
        r.length = ids->shape[1];
        set_sym(&r, "N", 1, r.sequences * r.length);
    }
    run(&r, out);
    etrt_st_close((struct etrt_st *)r.in);
    etrt_st_close((struct etrt_st *)r.weights);
    et_arena_destroy(r.arena);
    return 0;
}
