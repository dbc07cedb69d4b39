/* What the simulator says of every column at every point. */
#include "etbench.h"

#include "ops.h"

#include <stdlib.h>
#include <string.h>

void eb_symbols(const struct eb_bench *b, const struct eb_point *p, const et_program *program,
                int64_t *out) {
    const et_exprs *x = program->g->exprs;
    etrt_dim_info info;
    for (int s = 0; s < et_sym_count(x) && s < EB_MAX_SETTINGS; s++)
        for (int d = 0; eb_column_dim(&b->column[0], d, &info); d++)
            if (strcmp(info.name, et_sym_name(x, s)) == 0) out[s] = p->value[d];
}

/* ---- tensors that routing depends on ----------------------------------------------------------
 */

static float to_float(enum etrt_dtype dtype, const char *data, int64_t i) {
    uint32_t w = 0;
    float f;
    _Float16 h;
    if (dtype == ETRT_F16) {
        memcpy(&h, data + 2 * i, 2);
        return (float)h;
    }
    if (dtype == ETRT_BF16)
        memcpy((char *)&w + 2, data + 2 * i, 2);
    else
        memcpy(&w, data + 4 * i, 4);
    memcpy(&f, &w, sizeof f);
    return f;
}

/* A tensor as the interpreter holds it; its elements follow it in memory. */
static et_tensor_data *to_data(const struct etrt_tensor *t, const int64_t *shape, const char *bytes,
                               int64_t count) {
    et_tensor_data *d = eb_alloc(sizeof *d + (size_t)count * 4);
    memset(d, 0, sizeof *d);
    d->dtype = t->dtype == ETRT_F32   ? ET_F32
               : t->dtype == ETRT_F16 ? ET_F16
               : t->dtype == ETRT_I32 ? ET_I32
                                      : ET_BF16;
    d->rank = t->rank;
    memcpy(d->dim, shape, (size_t)t->rank * sizeof *shape);
    d->p = d + 1;
    if (t->dtype == ETRT_I32)
        memcpy(d->i, bytes, (size_t)count * 4);
    else
        for (int64_t i = 0; i < count; i++)
            d->f[i] = to_float(t->dtype, bytes, i);
    return d;
}

/* Input, weight or state T of a launch at P, as every launch of a point starts with it. */
static et_tensor_data *make_tensor(struct eb_bench *b, const struct eb_column *c,
                                   const struct eb_point *p, const struct etrt_tensor *t) {
    const struct etrt_manifest *m = &c->model->manifest;
    int64_t shape[ETRT_MAX_RANK], bytes, dims[EB_MAX_SETTINGS];
    et_tensor_data *d = NULL;
    etrt_dim_info info;
    for (int i = 0; eb_column_dim(&b->column[0], i, &info); i++)
        dims[etrt_manifest_symbol(m, info.name)] = p->value[i];
    if (etrt_tensor_shape(t, dims, shape, &bytes) != ETRT_OK) return NULL;
    char *data = eb_alloc((size_t)bytes);
    bool ok = t->kind == ETRT_WEIGHT
                  ? etrt_mem_read(b->device, data, c->model->weights[t - m->tensors],
                                  (uint64_t)bytes) == ETRT_OK
                  : eb_make_first(b, p, t, shape, data, bytes);
    if (ok) d = to_data(t, shape, data, bytes / (int64_t)etrt_dtype_bytes(t->dtype));
    free(data);
    return d;
}

/* The graph's inputs, and with ALL its weights and states, by value. */
static void make_given(struct eb_bench *b, const struct eb_column *c, const struct eb_point *p,
                       const et_graph *g, bool all, et_tensor_data **out) {
    const struct etrt_manifest *m = &c->model->manifest;
    for (int v = 1; v < g->nvals; v++) {
        const et_val *val = &g->vals[v];
        bool wanted = val->kind == ET_V_INPUT ||
                      (all && (val->kind == ET_V_WEIGHT || val->kind == ET_V_STATE));
        int t = wanted && val->name ? etrt_manifest_tensor(m, val->name) : -1;
        if (t >= 0) out[v] = make_tensor(b, c, p, &m->tensors[t]);
    }
}

/* The column that ran a program: it, or another one of the same file. */
static const struct eb_column *runner(const struct eb_bench *b, const struct eb_column *c) {
    for (int i = 0; i < b->nruns; i++)
        if (b->column[i].program == c->program && b->column[i].model) return &b->column[i];
    return NULL;
}

struct eb_values {
    et_sim_values *known;
    et_tensor_data **given; /* by value of the graph */
    int n;
};

void eb_values_free(struct eb_values *v) {
    if (!v) return;
    et_sim_values_destroy(v->known);
    for (int i = 0; i < v->n; i++)
        free(v->given[i]);
    free(v->given);
    free(v);
}

bool eb_value(void *ctx, int tensor, int64_t iteration, const int64_t *index, int64_t *out) {
    struct eb_values *v = ctx;
    return et_sim_value(v->known, tensor, iteration, index, out);
}

static struct eb_values *make_values(struct eb_bench *b, const struct eb_column *c,
                                     const struct eb_point *p, const int64_t *syms, bool all,
                                     char err[ET_SIM_ERR]) {
    et_program *part = et_simulated_part(c->program, syms);
    const struct eb_column *ran = runner(b, c);
    struct eb_values *v = eb_alloc(sizeof *v);
    size_t bytes = (size_t)part->g->nvals * sizeof(void *);
    *v = (struct eb_values){NULL, eb_alloc(bytes), part->g->nvals};
    memset(v->given, 0, bytes);
    if (ran) make_given(b, ran, p, part->g, all, v->given);
    v->known = et_sim_values_create(part, syms, v->given, err);
    if (v->known) return v;
    eb_values_free(v);
    return NULL;
}

/* The simulator has one context for both of its callbacks. */
struct player {
    struct eb_values *values;
    void (*task)(void *ctx, const et_sim_task *);
    void *ctx;
};

static bool player_value(void *ctx, int tensor, int64_t iteration, const int64_t *index,
                         int64_t *out) {
    return eb_value(((struct player *)ctx)->values, tensor, iteration, index, out);
}

static void player_task(void *ctx, const et_sim_task *task) {
    const struct player *p = ctx;
    p->task(p->ctx, task);
}

bool eb_play_with(struct eb_bench *b, const struct eb_column *c, const int64_t *syms,
                  struct eb_values *values, void (*task)(void *ctx, const et_sim_task *), void *ctx,
                  et_sim_result *out, char err[ET_SIM_ERR]) {
    struct player player = {values, task, ctx};
    et_sim_options o = {.machine = b->machine,
                        .syms = syms,
                        .mode = c->unfused ? ET_SIM_UNFUSED : ET_SIM_AS_SCHEDULED,
                        .value = player_value,
                        .task = task ? player_task : NULL,
                        .ctx = &player};
    return et_simulate(c->program, &o, out, err);
}

/* Most routing is not by inputs alone, and the interpreter takes long to multiply weights: so
 * weights only where they are needed. */
bool eb_play(struct eb_bench *b, const struct eb_column *c, const struct eb_point *p,
             et_sim_result *out, struct eb_values **out_values, char err[ET_SIM_ERR]) {
    int64_t syms[EB_MAX_SETTINGS] = {0};
    bool ok = false;
    eb_symbols(b, p, c->program, syms);
    for (int all = 0; all < 2 && !ok; all++) {
        struct eb_values *values = make_values(b, c, p, syms, all != 0, err);
        ok = values && eb_play_with(b, c, syms, values, NULL, NULL, out, err);
        if (ok && out_values)
            *out_values = values;
        else
            eb_values_free(values);
    }
    return ok;
}

bool eb_predict(struct eb_bench *b) {
    for (int i = 0; b->machine && i < b->npoints; i++)
        for (int k = 0; k < b->ncolumns; k++) {
            struct eb_cell *cell = &b->point[i].cell[k];
            const struct eb_column *c = &b->column[k];
            if (!c->program) continue;
            char *what = eb_text("predicting %s %s", b->point[i].name, c->name);
            eb_progress(b, i * b->ncolumns + k, b->npoints * b->ncolumns, what);
            free(what);
            cell->has_prediction = eb_play(b, c, &b->point[i], &cell->prediction, NULL, cell->why);
            if (!cell->has_prediction) continue;
            cell->sample[EB_PREDICTED] = eb_alloc(sizeof(double));
            cell->sample[EB_PREDICTED][0] = cell->prediction.us;
            cell->n[EB_PREDICTED] = 1;
        }
    return true;
}
