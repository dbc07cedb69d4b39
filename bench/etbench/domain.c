/* Which indices an integer input is good for: the least extent of the dimensions that the program
 * indexes with it. */
#include "bench/etbench/etbench.h"
#include "ir/program/step.h"

#include <string.h>

struct search {
    const et_program *p;
    const int64_t *syms;
    int tensor;    /* the input */
    int64_t bound; /* 0: none found yet */
};

struct found {
    const struct search *s;
    bool any;
};

static void visit(void *ctx, et_expr e) {
    struct found *f = ctx;
    const et_node_x *x = et_x(f->s->p->g->exprs, e);
    f->any |= x->op == ET_X_LOAD && x->i2 == ET_LOAD_TENSOR && x->i == f->s->tensor;
}

static void visit_access(void *ctx, const et_step *step, int tensor, bool is_store,
                         const et_expr *index) {
    struct search *s = ctx;
    const et_exprs *x = s->p->g->exprs;
    const et_shape *shape = &s->p->tensors[tensor].shape;
    (void)step;
    (void)is_store;
    for (int d = 0; d < shape->rank; d++) {
        struct found f = {s, false};
        et_walk(x, index[d], visit, &f);
        int64_t extent = f.any ? et_eval(x, shape->dim[d], s->syms, NULL) : 0;
        if (extent > 0 && (!s->bound || extent < s->bound)) s->bound = extent;
    }
}

int64_t eb_index_bound(et_program *p, const char *name, const int64_t *syms) {
    p = et_part_at(p, syms);
    struct search s = {.p = p, .syms = syms, .tensor = -1};
    for (int i = 0; i < p->ntensors; i++)
        if (p->tensors[i].kind == ET_TENSOR_INPUT && strcmp(p->tensors[i].name, name) == 0)
            s.tensor = i;
    for (int i = 0; s.tensor >= 0 && i < p->nfuncs; i++)
        et_func_accesses(p, &p->funcs[i], visit_access, &s);
    return s.bound;
}
