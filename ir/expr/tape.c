#include "ir/expr/tape.h"
#include "ir/base/diag.h"
#include "ir/expr/int_ops.h"
#include "ir/expr/scalar.h"
#include <stdlib.h>

typedef struct {
    et_xop op;
    et_type type;
    et_type from; /* type the operands of a comparison or of arithmetic are taken in */
    int32_t i;
    double constant;
    int src[3];
} step;

struct et_tape {
    const et_exprs *exprs;
    int n, cap;
    step *steps; /* operands before uses; the last one is the result */
    double *value;
    int *slot; /* expression id -> step, while building */
    bool failed;
};

static et_type operand_type(const et_exprs *p, const et_node_x *x) {
    for (int k = 0; k < x->nops; k++)
        if (et_x(p, x->ops[k])->type == ET_T_F32) return ET_T_F32;
    return ET_T_I32;
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
    s->constant =
        x->op == ET_X_INT ? (double)(int32_t)(uint32_t)(uint64_t)x->n : (double)(float)x->f;
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

static double logic(const step *s, const double *v) {
    double a = v[s->src[0]], b = s->op == ET_X_NOT ? 0 : v[s->src[1]];
    if (s->from == ET_T_F32) return et_compare_op(s->op, (float)a, (float)b);
    return (double)et_int_value(s->op, (int64_t)a, (int64_t)b);
}

static double run_step(const step *s, const double *v) {
    double a = v[s->src[0]], b = v[s->src[1]];
    switch (s->op) {
    case ET_X_NOT:
    case ET_X_AND:
    case ET_X_OR:
    case ET_X_LT:
    case ET_X_LE:
    case ET_X_EQ:
    case ET_X_NE:
        return logic(s, v);
    case ET_X_SELECT:
        return s->type == ET_T_F32 ? (double)(float)v[s->src[a != 0 ? 1 : 2]]
                                   : v[s->src[a != 0 ? 1 : 2]];
    case ET_X_TO_I32:
        return etrt_to_i32(a);
    default:
        if (s->type == ET_T_I32) return (double)et_int_op(s->op, (int64_t)a, (int64_t)b);
        return (double)et_float_op(s->op, (float)a, (float)b);
    }
}

double et_tape_run(et_tape *t, const double *args, const int64_t *syms, const int64_t *vars) {
    for (int k = 0; k < t->n; k++) {
        const step *s = &t->steps[k];
        switch (s->op) {
        case ET_X_INT:
        case ET_X_FLOAT:
            t->value[k] = s->constant;
            break;
        case ET_X_SYM:
            t->value[k] = (double)syms[s->i];
            break;
        case ET_X_VAR:
            t->value[k] = (double)vars[s->i];
            break;
        case ET_X_ARG:
            t->value[k] = args[s->i];
            break;
        default:
            t->value[k] = run_step(s, t->value);
        }
    }
    return t->value[t->n - 1];
}
