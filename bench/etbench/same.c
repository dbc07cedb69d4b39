/* Columns that do not take the same tensors, or do not give the same results, are not compared. */
#include "bench/etbench/etbench.h"

#include <stdlib.h>
#include <string.h>

/* Do A and B have the same dims, whatever their order? */
static bool same_dims(const struct eb_column *a, const struct eb_column *b) {
    etrt_dim_info x, y;
    for (int i = 0; eb_column_dim(a, i, &x); i++) {
        bool found = false;
        for (int k = 0; !found && eb_column_dim(b, k, &y); k++)
            found = strcmp(x.name, y.name) == 0;
        if (!found) return eb_fail("%s has dim %s, %s has not", a->name, x.name, b->name);
    }
    return true;
}

/* Everything of A is in B. Weights may be arranged in another way when they come from a file. */
static bool same_tensors(const struct eb_bench *bench, const struct eb_column *a,
                         const struct eb_column *b) {
    const struct etrt_manifest *m = etrt_model_manifest(a->model),
                               *n = etrt_model_manifest(b->model);
    for (int i = 0; i < m->ntensors; i++) {
        const struct etrt_tensor *t = &m->tensors[i];
        if (t->kind == ETRT_WEIGHT && bench->o->weights) continue;
        int k = etrt_manifest_tensor(n, t->name);
        if (k < 0)
            return eb_fail("%s has %s %s, %s has not", a->name, etrt_kind_name(t->kind), t->name,
                           b->name);
        const struct etrt_tensor *u = &n->tensors[k];
        if (u->kind != t->kind || u->dtype != t->dtype || u->rank != t->rank)
            return eb_fail("%s is %s %s of rank %d in %s, %s %s of rank %d in %s", t->name,
                           etrt_dtype_name(t->dtype), etrt_kind_name(t->kind), t->rank, a->name,
                           etrt_dtype_name(u->dtype), etrt_kind_name(u->kind), u->rank, b->name);
    }
    return true;
}

bool eb_columns_agree(struct eb_bench *b) {
    const struct eb_column *first = &b->column[0];
    for (int i = 1; i < b->nruns; i++) {
        const struct eb_column *c = &b->column[i];
        if (!same_dims(first, c) || !same_dims(c, first)) return false;
        if (b->device && (!same_tensors(b, first, c) || !same_tensors(b, c, first))) return false;
    }
    return true;
}

/* Tensor T of column C at the dims of its session; NULL after an error. */
static void *read_tensor(const struct eb_column *c, const struct etrt_tensor *t, int64_t *bytes) {
    int64_t shape[ETRT_MAX_RANK];
    etrt_status st = etrt_session_shape(c->session, t, shape, bytes);
    void *data = st == ETRT_OK ? eb_alloc((size_t)*bytes) : NULL;
    if (st == ETRT_OK) st = etrt_read(c->session, t->name, data, (size_t)*bytes);
    if (st == ETRT_OK) return data;
    eb_fail_status(c->name, st);
    free(data);
    return NULL;
}

static bool tell_difference(const struct eb_bench *b, const struct eb_column *c,
                            const struct eb_point *p, const struct etrt_tensor *t,
                            const unsigned char *want, const unsigned char *got, int64_t bytes) {
    int64_t element = (int64_t)etrt_dtype_bytes(t->dtype), first = -1, count = 0;
    for (int64_t i = 0; i < bytes; i += element)
        if (memcmp(want + i, got + i, (size_t)element) != 0) {
            if (!count++) first = i / element;
        }
    return eb_fail("%s: %s %s of %s is not that of %s: %lld of %lld elements differ, the first is "
                   "number %lld",
                   p->name, etrt_kind_name(t->kind), t->name, c->name, b->column[0].name,
                   (long long)count, (long long)(bytes / element), (long long)first);
}

static bool same_tensor(struct eb_bench *b, const struct eb_column *c, const struct eb_point *p,
                        const struct etrt_tensor *t) {
    int64_t n = 0, m = 0;
    int k = etrt_manifest_tensor(etrt_model_manifest(c->model), t->name);
    void *want = read_tensor(&b->column[0], t, &n);
    void *got = want ? read_tensor(c, &etrt_model_manifest(c->model)->tensors[k], &m) : NULL;
    bool ok = want && got;
    if (ok && n != m)
        ok = eb_fail("%s: %s has %lld bytes in %s and %lld in %s", p->name, t->name, (long long)n,
                     b->column[0].name, (long long)m, c->name);
    if (ok && memcmp(want, got, (size_t)n) != 0) ok = tell_difference(b, c, p, t, want, got, n);
    free(want);
    free(got);
    return ok;
}

bool eb_same_results(struct eb_bench *b, const struct eb_column *c, const struct eb_point *p) {
    const struct etrt_manifest *m = etrt_model_manifest(b->column[0].model);
    for (int i = 0; i < m->ntensors; i++) {
        const struct etrt_tensor *t = &m->tensors[i];
        if (t->kind != ETRT_OUTPUT && t->kind != ETRT_STATE) continue;
        if (!same_tensor(b, c, p, t)) return false;
    }
    return true;
}
