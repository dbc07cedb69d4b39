/* What predictions must know of tensors that decide who waits for what: from the reference
 * interpreter where it can tell, else as the last launch left them on the device. */
#include "bench/etbench/etbench.h"

#include "ir/graph/ops.h"

#include <stdlib.h>
#include <string.h>

/* Integer tensors of the part that ran, by tensor; NULL where there is nothing to be had. */
struct snapshot {
    int32_t **data;
    int n;
};

struct eb_values {
    et_program *part;
    int64_t syms[EB_MAX_SETTINGS];
    et_sim_values *known;
    et_tensor_data **given; /* by value of the graph */
    int ngiven;
    struct snapshot snapshot;
    bool used_snapshot;
    et_arena *guessed; /* EB_GUESS: what nobody knows */
};

/* ---- for the interpreter ---- */

/* A tensor as the interpreter holds it; its elements follow it in memory. */
static et_tensor_data *to_data(const struct etrt_tensor *t, const et_tensor *x,
                               const int64_t *shape, const char *bytes, int64_t count) {
    et_tensor_data *d = eb_alloc(sizeof *d + (size_t)count * 4);
    memset(d, 0, sizeof *d);
    d->dtype = x->shape.dtype;
    d->rank = t->rank;
    memcpy(d->dim, shape, (size_t)t->rank * sizeof *shape);
    d->p = d + 1;
    if (t->dtype == ETRT_I32)
        memcpy(d->i, bytes, (size_t)count * 4);
    else
        for (int64_t i = 0; i < count; i++)
            d->f[i] = (float)etrt_element((int)t->dtype, bytes, i);
    return d;
}

/* Tensor X of a program as the manifest would tell of it, and its shape. */
static struct etrt_tensor describe(const struct eb_values *v, const et_tensor *x, int64_t *shape,
                                   int64_t *bytes) {
    struct etrt_tensor t = {.name = (char *)x->name,
                            .kind = x->kind == ET_TENSOR_WEIGHT  ? ETRT_WEIGHT
                                    : x->kind == ET_TENSOR_STATE ? ETRT_STATE
                                                                 : ETRT_INPUT,
                            .dtype = (enum etrt_dtype)x->shape.dtype,
                            .rank = x->shape.rank,
                            .nloops = x->nloops};
    *bytes = et_dtype_bytes(x->shape.dtype);
    for (int d = 0; d < t.rank; d++)
        *bytes *= shape[d] = et_eval(v->part->g->exprs, x->shape.dim[d], v->syms, NULL);
    return t;
}

/* Weights that somebody has loaded are read back: they may come from a file. */
static et_tensor_data *make_tensor(struct eb_bench *b, const struct eb_column *ran,
                                   const struct eb_point *p, const struct eb_values *v,
                                   const et_tensor *x) {
    int64_t shape[ETRT_MAX_RANK], bytes;
    struct etrt_tensor t = describe(v, x, shape, &bytes);
    et_tensor_data *d = NULL;
    char *data = eb_alloc((size_t)bytes);
    int k = ran ? etrt_manifest_tensor(etrt_model_manifest(ran->model), t.name) : -1;
    bool ok = t.kind == ETRT_WEIGHT && k >= 0
                  ? etrt_session_peek(ran->session, k, 0, data, (uint64_t)bytes) == ETRT_OK
                  : eb_make_first(b, p, &t, shape, data, bytes);
    if (ok) d = to_data(&t, x, shape, data, bytes / et_dtype_bytes(x->shape.dtype));
    free(data);
    return d;
}

/* The graph's inputs, and with ALL its weights and states, by value. */
static void make_given(struct eb_bench *b, const struct eb_column *ran, const struct eb_point *p,
                       struct eb_values *v, bool all) {
    for (int i = 0; i < v->part->ntensors; i++) {
        const et_tensor *x = &v->part->tensors[i];
        bool wanted = x->kind == ET_TENSOR_INPUT ||
                      (all && (x->kind == ET_TENSOR_WEIGHT || x->kind == ET_TENSOR_STATE));
        if (wanted && x->value.id) v->given[x->value.id] = make_tensor(b, ran, p, v, x);
    }
}

static int64_t bytes_of_all(const et_program *p) {
    int64_t sum = 0;
    for (int i = 0; i < p->ntensors; i++)
        if (p->tensors[i].kind == ET_TENSOR_WEIGHT || p->tensors[i].kind == ET_TENSOR_STATE)
            sum += p->tensors[i].max_bytes;
    return sum;
}

/* ---- from the device ---- */

/* Does anything else use the memory of temporary tensor T during a launch? */
static bool is_shared(const et_program *p, int t) {
    const et_tensor *a = &p->tensors[t];
    for (int i = 0; i < p->ntensors; i++) {
        const et_tensor *x = &p->tensors[i];
        if (i != t && x->kind == ET_TENSOR_TEMP && x->offset < a->offset + a->max_bytes &&
            a->offset < x->offset + x->max_bytes)
            return true;
    }
    return false;
}

/* All of tensor T as the device has it; NULL where that cannot be told. */
static int32_t *read_device(const struct eb_column *c, const et_program *p, int t) {
    const et_tensor *x = &p->tensors[t];
    if (x->shape.dtype != ET_I32 || x->kind == ET_TENSOR_CONST) return NULL;
    bool temporary = x->kind == ET_TENSOR_TEMP;
    int k =
        temporary ? ETRT_WORKSPACE : etrt_manifest_tensor(etrt_model_manifest(c->model), x->name);
    if (temporary ? is_shared(p, t) : k < 0) return NULL;
    int32_t *data = eb_alloc((size_t)x->max_bytes);
    if (etrt_session_peek(c->session, k, temporary ? (uint64_t)x->offset : 0, data,
                          (uint64_t)x->max_bytes) == ETRT_OK)
        return data;
    free(data);
    return NULL;
}

static void take_snapshot(const struct eb_column *c, struct eb_values *v) {
    const et_program *p = v->part;
    v->snapshot = (struct snapshot){eb_alloc((size_t)p->ntensors * sizeof(void *)), p->ntensors};
    for (int t = 0; t < p->ntensors; t++)
        v->snapshot.data[t] = read_device(c, p, t);
}

static bool in_snapshot(struct eb_values *v, int tensor, const int64_t *index, int64_t *out) {
    const et_tensor *x = &v->part->tensors[tensor];
    int64_t at = 0;
    if (!v->snapshot.data || !v->snapshot.data[tensor]) return false;
    for (int d = 0; d < x->shape.rank; d++) {
        int64_t extent = et_eval(v->part->g->exprs, x->shape.dim[d], v->syms, NULL);
        if (index[d] < 0 || index[d] >= extent) return false;
        at = at * extent + index[d];
    }
    if ((at + 1) * 4 > x->max_bytes) return false;
    *out = v->snapshot.data[tensor][at];
    return v->used_snapshot = true;
}

/* ---- both ---- */

void eb_values_free(struct eb_values *v) {
    if (!v) return;
    et_sim_values_destroy(v->known);
    if (v->guessed) et_arena_destroy(v->guessed);
    for (int i = 0; i < v->ngiven; i++)
        free(v->given[i]);
    free(v->given);
    for (int i = 0; i < v->snapshot.n; i++)
        free(v->snapshot.data[i]);
    free(v->snapshot.data);
    free(v);
}

bool eb_value(void *ctx, int tensor, int64_t iteration, const int64_t *index, int64_t *out) {
    struct eb_values *v = ctx;
    return et_sim_value(v->known, tensor, iteration, index, out) ||
           in_snapshot(v, tensor, index, out);
}

bool eb_values_from_device(const struct eb_values *v) {
    return v->used_snapshot;
}

/* A column that ran the program of C, or NULL. */
static const struct eb_column *runner(const struct eb_bench *b, const struct eb_column *c) {
    if (c->session) return c;
    for (int i = 0; i < b->nruns; i++)
        if (b->column[i].program == c->program && b->column[i].model) return &b->column[i];
    return NULL;
}

struct eb_values *eb_values_make(struct eb_bench *b, const struct eb_column *c,
                                 const struct eb_point *p, enum eb_effort effort,
                                 char err[ET_SIM_ERR]) {
    enum { MOST = 1 << 28 }; /* bytes: the interpreter would take too long */
    const struct eb_column *ran = runner(b, c);
    int64_t syms[EB_MAX_SETTINGS] = {0};
    eb_symbols(b, p, c->program, syms);
    et_program *part = et_part_at(c->program, syms);
    if (effort == EB_DEVICE && !ran) return NULL;
    if (effort == EB_ALL && bytes_of_all(part) > MOST) return NULL;
    struct eb_values *v = eb_alloc(sizeof *v);
    memset(v, 0, sizeof *v);
    memcpy(v->syms, syms, sizeof syms);
    v->part = part;
    v->ngiven = part->g->nvals;
    v->given = eb_alloc((size_t)v->ngiven * sizeof(void *));
    memset(v->given, 0, (size_t)v->ngiven * sizeof(void *));
    make_given(b, ran, p, v, effort == EB_ALL);
    if (effort == EB_DEVICE) take_snapshot(ran, v);
    if (effort == EB_GUESS) {
        v->guessed = et_arena_create();
        v->known = et_sim_values_guess_rest(v->guessed, v->part, v->syms, v->given,
                                            (float)b->o->alike, err);
    } else {
        v->known = et_sim_values_create(v->part, v->syms, v->given, err);
    }
    if (v->known) return v;
    eb_values_free(v);
    return NULL;
}
