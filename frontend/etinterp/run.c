/* One or more runs of a loaded model. */
#include "frontend/etinterp/etinterp.h"
#include "ir/graph/op_util.h"
#include "ir/interp/interp.h"
#include <string.h>

static bool run_graph(struct model *m) {
    et_tensor_data **data = et_alloc(m->arena, (size_t)m->g->nvals * sizeof *data);
    char err[256];
    for (int i = 0; i < m->ntensors; i++) {
        struct tensor *t = &m->tensors[i];
        et_tensor_data *d = data[t->id] = et_alloc(m->arena, sizeof *d);
        d->dtype = t->dtype;
        d->rank = t->rank;
        memcpy(d->dim, t->dim, sizeof t->dim);
        d->p = t->bytes;
    }
    return et_graph_interp(m->g, m->syms, data, err) || complain(m, "%s", err);
}

static bool run_tasks(struct model *m, const struct options *o, uint64_t seed) {
    void **memory = et_alloc(m->arena, (size_t)(m->p->ntensors + 1) * sizeof *memory);
    char err[ET_INTERP_ERR];
    for (int i = 0; i < m->ntensors; i++) {
        struct tensor *t = &m->tensors[i];
        if (t->start) memcpy(t->bytes, t->start, tensor_bytes(t));
        memory[t->id] = t->bytes;
    }
    et_interp_options opt = {.seed = seed, .races = o->races};
    return et_program_run(m->p, m->syms, memory, &opt, err) ||
           complain(m, "order %llu: %s", (unsigned long long)seed, err);
}

/* Every order must leave the same bytes in outputs and states. */
static bool same_as_first(struct model *m, char **first, uint64_t seed) {
    for (int i = 0; i < m->ntensors; i++) {
        const struct tensor *t = &m->tensors[i];
        if (t->kind != ET_TENSOR_OUTPUT && t->kind != ET_TENSOR_STATE) continue;
        bool none = !first[i];
        if (none && !(first[i] = make_elements(m, tensor_bytes(t)))) return false;
        if (none)
            memcpy(first[i], t->bytes, tensor_bytes(t));
        else if (memcmp(first[i], t->bytes, tensor_bytes(t)))
            return complain(m, "order %llu leaves other values in %s than the order before it",
                            (unsigned long long)seed, t->name);
    }
    return true;
}

bool run_model(struct model *m, const struct options *o) {
    if (!m->p) return run_graph(m);
    char **first = et_alloc(m->arena, (size_t)(m->ntensors + 1) * sizeof *first);
    for (int64_t k = 0; k < o->orders; k++) {
        uint64_t seed = o->seed + (uint64_t)k;
        if (!run_tasks(m, o, seed) || (o->orders > 1 && !same_as_first(m, first, seed)))
            return false;
    }
    return true;
}
