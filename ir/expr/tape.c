#include "ir/expr/tape.h"
#include "ir/base/diag.h"
#include "ir/expr/int_ops.h"
#include "ir/expr/philox.h"
#include "ir/expr/scalar.h"
#include <stdlib.h>

typedef struct {
    et_xop op;
    et_type type;
    et_type from; /* type the operands of a comparison or of arithmetic are taken in */
    int32_t i;
    et_scalar constant;
    int src[3];
} step;

struct et_tape {
    const et_exprs *exprs;
    int n, cap;
    step *steps; /* operands before uses; the last one is the result */
    et_scalar *value;
    int *slot; /* expression id -> step, while building */
    bool failed;
};

static et_type operand_type(const et_exprs *p, const et_node_x *x) {
    for (int k = 0; k < x->nops; k++)
        if (et_x(p, x->ops[k])->type == ET_T_F32) return ET_T_F32;
    return ET_T_I32;
}

static et_scalar whole(int64_t i) {
    return (et_scalar){i, (float)i};
}

static void add_step(void *ctx, et_expr e) {
    et_tape *t = ctx;
    const et_node_x *x = et_x(t->exprs, e);
    if (x->op == ET_X_LOAD || x->op == ET_X_REDUCE || x->op == ET_X_CONTRACT)
        et_bug("cannot evaluate %s", et_xop_text(x->op));
    if (t->n == t->cap) {
        int cap = t->cap ? 2 * t->cap : 32;
        step *grown = realloc(t->steps, (size_t)cap * sizeof *grown);
        if (!grown) {
            t->failed = true;
            return;
        }
        t->steps = grown;
        t->cap = cap;
    }
    step *s = &t->steps[t->n];
    *s = (step){.op = x->op, .type = x->type, .from = operand_type(t->exprs, x), .i = x->i};
    s->constant = x->op == ET_X_INT ? whole(x->n) : (et_scalar){0, (float)x->f};
    for (int k = 0; k < x->nops; k++)
        s->src[k] = t->slot[x->ops[k].id];
    t->slot[e.id] = t->n++;
}

static void max_id(void *ctx, et_expr e) {
    uint32_t *max = ctx;
    *max = e.id > *max ? e.id : *max;
}

et_tape *et_tape_create(const et_exprs *p, et_expr e) {
    et_tape *t = calloc(1, sizeof *t);
    uint32_t ids = 0;
    if (!t) return NULL;
    t->exprs = p;
    et_walk(p, e, max_id, &ids);
    t->slot = calloc((size_t)ids + 1, sizeof *t->slot);
    t->failed = !t->slot;
    if (!t->failed) et_walk(p, e, add_step, t);
    free(t->slot);
    t->slot = NULL;
    if (!t->failed) t->value = calloc((size_t)t->n, sizeof *t->value);
    if (!t->value) {
        et_tape_destroy(t);
        return NULL;
    }
    return t;
}

void et_tape_destroy(et_tape *t) {
    if (!t) return;
    free(t->steps);
    free(t->value);
    free(t);
}

static bool is_logic(et_xop op) {
    return op == ET_X_NOT || op == ET_X_AND || op == ET_X_OR || op == ET_X_LT || op == ET_X_LE ||
           op == ET_X_EQ || op == ET_X_NE;
}

static et_scalar run_step(const step *s, const et_scalar *v) {
    et_scalar a = v[s->src[0]], b = v[s->src[1]];
    if (s->op == ET_X_SELECT) return v[s->src[a.i ? 1 : 2]];
    if (s->op == ET_X_PHILOX) return whole(et_philox_value(a.i, b.i, v[s->src[2]].i));
    if (s->op == ET_X_TO_I32 && s->from == ET_T_F32) return whole(etrt_to_i32((double)a.f));
    if (is_logic(s->op) && s->from == ET_T_F32) return whole(et_compare_op(s->op, a.f, b.f));
    if (s->type != ET_T_F32) return whole(et_int_total(s->op, a.i, b.i));
    return (et_scalar){0, et_float_op(s->op, a.f, b.f)};
}

et_scalar et_tape_run(et_tape *t, const double *args, const int64_t *syms, const int64_t *vars) {
    for (int k = 0; k < t->n; k++) {
        const step *s = &t->steps[k];
        switch (s->op) {
        case ET_X_INT:
        case ET_X_FLOAT:
            t->value[k] = s->constant;
            break;
        case ET_X_SYM:
            t->value[k] = whole(syms[s->i]);
            break;
        case ET_X_VAR:
            t->value[k] = whole(vars[s->i]);
            break;
        case ET_X_ARG:
            t->value[k] = s->type == ET_T_F32 ? (et_scalar){0, (float)args[s->i]}
                                              : whole((int64_t)args[s->i]);
            break;
        default:
            t->value[k] = run_step(s, t->value);
        }
    }
    return t->value[t->n - 1];
}
