/* Integer expressions of a grid as one list of operations, operands first, for evaluating them once
 * per task. What cannot be known (a tensor without given contents, floating point) is UNKNOWN, and
 * so is what depends on it. */
#include "ir/base/diag.h"
#include "ir/expr/int_ops.h"
#include "passes/simulate/int.h"
#include <stdlib.h>

struct operation {
    et_expr e;
    et_xop op;
    bool is_tensor; /* LOAD: of a tensor */
    int32_t i;
    int nops;
    int src[ET_MAX_RANK];
};

struct sim_sheet {
    const et_program *p;
    et_exprs *x;
    struct operation *v;
    int64_t *value;
    int n, cap;
    bool loads;
};

struct sim_sheet *sim_sheet_create(struct sim *s) {
    struct sim_sheet *t = et_alloc(s->arena, sizeof *t);
    t->p = s->p;
    t->x = s->x;
    return t;
}

void sim_sheet_destroy(struct sim_sheet *t) {
    if (!t) return;
    free(t->v);
    free(t->value);
}

int sim_sheet_find(const struct sim_sheet *t, et_expr e) {
    int k = 0;
    while (k < t->n && !et_expr_eq(t->v[k].e, e))
        k++;
    return k < t->n ? k : -1;
}

static void add(void *ctx, et_expr e) {
    struct sim_sheet *t = ctx;
    if (sim_sheet_find(t, e) >= 0) return;
    if (t->n == t->cap) {
        t->cap = t->cap ? 2 * t->cap : 32;
        t->v = realloc(t->v, (size_t)t->cap * sizeof *t->v);
        t->value = realloc(t->value, (size_t)t->cap * sizeof *t->value);
        if (!t->v || !t->value) et_no_memory();
    }
    const et_node_x *n = et_x(t->x, e);
    struct operation *o = &t->v[t->n];
    *o = (struct operation){.e = e, .op = n->op, .i = n->i};
    o->nops = n->nops < ET_MAX_RANK ? n->nops : ET_MAX_RANK;
    o->is_tensor = n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR;
    if (o->is_tensor) t->loads |= t->p->tensors[n->i].kind == ET_TENSOR_TEMP;
    for (int i = 0; i < o->nops; i++)
        o->src[i] = sim_sheet_find(t, n->ops[i]);
    if (n->type == ET_T_F32 || n->op == ET_X_REDUCE) o->op = ET_X_NONE;
    t->value[t->n] = n->op == ET_X_INT ? n->n : SIM_UNKNOWN;
    t->n++;
}

int sim_sheet_add(struct sim_sheet *t, et_expr e) {
    et_walk(t->x, e, add, t);
    return sim_sheet_find(t, e);
}

bool sim_sheet_loads(const struct sim_sheet *t) {
    return t->loads;
}

int64_t sim_sheet_value(const struct sim_sheet *t, int place) {
    return t->value[place];
}

static int64_t load(struct sim *s, const struct sim_sheet *t, const struct operation *o) {
    int64_t index[ET_MAX_RANK], v;
    if (!o->is_tensor || !s->opt->value) return SIM_UNKNOWN;
    for (int i = 0; i < o->nops; i++)
        if ((index[i] = t->value[o->src[i]]) == SIM_UNKNOWN) return SIM_UNKNOWN;
    return s->opt->value(s->opt->ctx, o->i, s->iteration, index, &v) ? v : SIM_UNKNOWN;
}

void sim_sheet_run(struct sim *s, struct sim_sheet *t) {
    int64_t *v = t->value;
    for (int k = 0; k < t->n; k++) {
        const struct operation *o = &t->v[k];
        switch (o->op) {
        case ET_X_INT:
            break;
        case ET_X_SYM:
            v[k] = s->syms[o->i];
            break;
        case ET_X_VAR:
            v[k] = s->vars[o->i];
            break;
        case ET_X_LOAD:
            v[k] = load(s, t, o);
            break;
        case ET_X_SELECT: {
            int64_t c = v[o->src[0]];
            v[k] = c == SIM_UNKNOWN ? c : v[o->src[c != 0 ? 1 : 2]];
            break;
        }
        default:
            v[k] = o->nops == 0 || o->nops > 2
                       ? SIM_UNKNOWN
                       : et_int_value(o->op, v[o->src[0]], o->nops == 2 ? v[o->src[1]] : 0);
        }
    }
}
