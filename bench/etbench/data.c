/* Weights, inputs and states: the same bytes for every column. */
#include "bench/etbench/etbench.h"
#include "bench/etbench/fill.h"

#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "runtime/etrt_dtype.h"

#include <stdlib.h>
#include <string.h>

/* ---- weights ---- */

static bool weight_bytes(const struct eb_column *c, const struct etrt_tensor *t, int64_t *bytes) {
    int64_t shape[ETRT_MAX_RANK];
    etrt_status st = etrt_tensor_shape(t, NULL, shape, bytes);
    return st == ETRT_OK || eb_fail_status(c->name, st);
}

/* Of a weight all of which is made at once, or one of the pieces of a weight that repeats itself:
 * so models of billions take little memory here, and a system takes longer to give new pages than
 * to fill them. */
enum { PIECE = 32 << 20 };

static int64_t piece_of(const struct etrt_tensor *t, int64_t bytes) {
    int64_t period = eb_weight_period(t->dtype);
    return t->zeros.columns || t->packed.matrices || !period || bytes <= PIECE
               ? bytes
               : PIECE / period * period;
}

/* DATA: room for a piece. */
static bool random_weight(const struct eb_bench *b, struct eb_column *c, int index, char *data) {
    const struct etrt_tensor *t = &etrt_model_manifest(c->model)->tensors[index];
    int64_t shape[ETRT_MAX_RANK], bytes, n;
    etrt_status st = etrt_tensor_shape(t, NULL, shape, &bytes);
    if (st != ETRT_OK) return eb_fail_status(c->name, st);
    int64_t piece = piece_of(t, bytes);
    int64_t count = piece * 8 / (int64_t)etrt_dtype_bits(t->dtype);
    eb_fill_weight(t, shape, b->o->seed, data, count);
    if (b->o->two_of_four) eb_prune_weight(t, data, count);
    bool parts = t->cut != 0; /* each of several devices has the same in its part */
    if (piece == bytes && !parts) st = etrt_model_weight(c->model, t->name, data, (size_t)bytes);
    for (int64_t at = 0; (piece < bytes || parts) && at < bytes && st == ETRT_OK; at += n) {
        n = bytes - at < piece ? bytes - at : piece;
        st = etrt_model_poke(c->model, index, (uint64_t)at, data, (uint64_t)n);
    }
    return st == ETRT_OK || eb_fail_status(c->name, st);
}

static bool random_weights(const struct eb_bench *b, struct eb_column *c) {
    const struct etrt_manifest *m = etrt_model_manifest(c->model);
    int64_t most = 0, bytes = 0;
    for (int i = 0; i < m->ntensors; i++) {
        if (m->tensors[i].kind != ETRT_WEIGHT) continue;
        if (!weight_bytes(c, &m->tensors[i], &bytes)) return false;
        int64_t piece = piece_of(&m->tensors[i], bytes);
        most = piece > most ? piece : most;
    }
    char *data = eb_alloc((size_t)most);
    bool ok = true;
    for (int i = 0; ok && i < m->ntensors; i++)
        if (m->tensors[i].kind == ETRT_WEIGHT) ok = random_weight(b, c, i, data);
    free(data);
    return ok;
}

bool eb_weights(struct eb_bench *b, struct eb_column *c) {
    if (!b->o->weights) return random_weights(b, c);
    etrt_status st = etrt_model_weights_file(c->model, b->o->weights);
    return st == ETRT_OK || eb_fail_status(c->name, st);
}

/* ---- inputs and states ---- */

static const struct eb_input *given(const struct eb_options *o, const char *name) {
    for (int i = 0; i < o->ninputs; i++)
        if (strcmp(o->input[i].name, name) == 0) return &o->input[i];
    return NULL;
}

/* Without a range from the user: what all programs can index with it, or as many numbers as there
 * are elements. */
static void index_range(struct eb_bench *b, const struct eb_point *p, const char *name,
                        int64_t count, int64_t *lo, int64_t *span) {
    const struct eb_input *in = given(b->o, name);
    int64_t bound = 0;
    *lo = in ? in->lo : 0;
    *span = in ? in->hi - in->lo + 1 : count > 0 ? count : 1;
    for (int i = 0; !in && i < b->nruns; i++) {
        if (!b->column[i].program) continue;
        int64_t syms[EB_MAX_SETTINGS];
        eb_symbols(b, p, b->column[i].program, syms);
        int64_t n = eb_index_bound(b->column[i].program, name, syms);
        if (n && (!bound || n < bound)) bound = n;
    }
    if (bound) *span = bound;
}

static bool read_input(const struct eb_input *in, const struct etrt_tensor *t, const int64_t *shape,
                       void *data, size_t bytes) {
    struct etrt_st *file;
    char err[ETRT_ST_ERR], have[256], want[256];
    if (!etrt_st_open(in->file, &file, err, sizeof err)) return eb_fail("%s", err);
    const struct etrt_st_tensor *found = etrt_st_find(file, in->name);
    bool ok = found || eb_fail("%s: no tensor %s", in->file, in->name);
    if (ok && (found->rank != t->rank || found->bytes != bytes ||
               strcmp(found->dtype, etrt_dtype_safetensors(t->dtype)) != 0 ||
               memcmp(found->shape, shape, (size_t)t->rank * sizeof *shape) != 0))
        ok = eb_fail("%s: %s is %s %s, the model takes %s %s at these dims", in->file, in->name,
                     found->dtype, etrt_st_shape_text(found->rank, found->shape, have, sizeof have),
                     etrt_dtype_safetensors(t->dtype),
                     etrt_st_shape_text(t->rank, shape, want, sizeof want));
    if (ok) memcpy(data, found->data, bytes);
    etrt_st_close(file);
    return ok;
}

static bool make_input(struct eb_bench *b, const struct eb_point *p, const struct etrt_tensor *t,
                       const int64_t *shape, void *data, int64_t bytes) {
    const struct eb_input *in = given(b->o, t->name);
    int64_t count = bytes * 8 / (int64_t)etrt_dtype_bits(t->dtype), lo, span;
    uint64_t seed = eb_seed(b->o->seed + b->draw, t->name);
    if (in && in->file) return read_input(in, t, shape, data, (size_t)bytes);
    if (t->dtype == ETRT_I32) {
        index_range(b, p, t->name, count, &lo, &span);
        eb_fill_indices(data, count, seed, lo, span);
    } else if (in) {
        eb_fill_floats(data, t->dtype, count, seed, (float)(in->lo + in->hi) / 2,
                       (float)(in->hi - in->lo) / 2);
    } else {
        eb_fill_floats(data, t->dtype, count, seed, 0, 1);
    }
    return true;
}

static void make_state(const struct eb_options *o, const struct etrt_tensor *t, void *data,
                       int64_t bytes) {
    if (o->states == EB_STATES_POISON)
        memset(data, 0xff, (size_t)bytes); /* NaN in every float type, -1 */
    else if (o->states == EB_STATES_ZERO || t->dtype == ETRT_I32)
        memset(data, 0, (size_t)bytes);
    else
        eb_fill_floats(data, t->dtype, bytes * 8 / (int64_t)etrt_dtype_bits(t->dtype),
                       eb_seed(o->seed, t->name), 0, 1);
}

bool eb_make_first(struct eb_bench *b, const struct eb_point *p, const struct etrt_tensor *t,
                   const int64_t *shape, void *data, int64_t bytes) {
    if (t->kind == ETRT_INPUT) return make_input(b, p, t, shape, data, bytes);
    if (t->kind != ETRT_WEIGHT) {
        make_state(b->o, t, data, bytes);
        return true;
    }
    int64_t count = bytes * 8 / (int64_t)etrt_dtype_bits(t->dtype);
    eb_fill_weight(t, shape, b->o->seed, data, count);
    if (b->o->two_of_four) eb_prune_weight(t, data, count);
    return true;
}

static bool bind_tensor(struct eb_bench *b, struct eb_column *c, const struct eb_point *p,
                        const struct etrt_tensor *t) {
    int64_t shape[ETRT_MAX_RANK], bytes;
    etrt_status st = etrt_session_shape(c->session, t, shape, &bytes);
    if (st != ETRT_OK) return eb_fail_status(c->name, st);
    void *data = eb_alloc((size_t)bytes);
    bool ok = eb_make_first(b, p, t, shape, data, bytes);
    if (ok)
        st = t->kind == ETRT_STATE ? etrt_write(c->session, t->name, data, (size_t)bytes)
                                   : etrt_bind(c->session, t->name, data, (size_t)bytes);
    free(data);
    return ok && (st == ETRT_OK || eb_fail_status(c->name, st));
}

bool eb_bind_point(struct eb_bench *b, struct eb_column *c, const struct eb_point *p) {
    etrt_dim_info info;
    for (int d = 0; eb_column_dim(&b->column[0], d, &info); d++) {
        etrt_status st = etrt_set_dim(c->session, info.name, p->value[d]);
        if (st != ETRT_OK) return eb_fail_status(c->name, st);
    }
    for (int i = 0; i < etrt_model_manifest(c->model)->ntensors; i++) {
        const struct etrt_tensor *t = &etrt_model_manifest(c->model)->tensors[i];
        if (t->kind != ETRT_INPUT && t->kind != ETRT_STATE) continue;
        if (!bind_tensor(b, c, p, t)) return false;
    }
    return true;
}

bool eb_redraw(struct eb_bench *b, struct eb_column *c, const struct eb_point *p) {
    for (int i = 0; i < etrt_model_manifest(c->model)->ntensors; i++) {
        const struct etrt_tensor *t = &etrt_model_manifest(c->model)->tensors[i];
        const struct eb_input *in = given(b->o, t->name);
        if (t->kind != ETRT_INPUT || t->dtype != ETRT_I32 || (in && in->file)) continue;
        if (!bind_tensor(b, c, p, t)) return false;
    }
    return true;
}
