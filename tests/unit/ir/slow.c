#include "tests/unit/ir/slow.h"
#include "ir/expr/philox.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_VARS = 4096, MAX_DEPTH = 3 };

struct slow {
    fixture *f;
    et_lower lower;
    et_expr *expr; /* per value, at its variables */
    int (*var)[ET_MAX_RANK];
    int *depth; /* nested reductions when inlined */
    int64_t vars[MAX_VARS];
};

/* ---- lowering ---- */

static int own_depth(const et_op *op) {
    /* Each reads its arguments many times. */
    if (strncmp(op->name, "group_", 6) == 0 || strcmp(op->name, "segment") == 0 ||
        strcmp(op->name, "rank") == 0)
        return MAX_DEPTH + 1;
    if (strcmp(op->name, "layernorm") == 0 || strcmp(op->name, "softmax") == 0) return 2;
    return op->class == ET_CLASS_REDUCE || op->class == ET_CLASS_CONTRACT;
}

/* Values that are read as tensors: what is not a node, what has no rule, and what would nest too
 * many reductions to be evaluated in this way. */
static bool is_inlined(const slow *s, et_value v) {
    const et_node *n = et_node_of(s->f->g, v);
    return n && n->op->at && s->depth[v.id] <= MAX_DEPTH;
}

static et_expr value_at(et_lower *lo, et_value v, const et_expr *index) {
    slow *s = lo->ctx;
    const et_shape *shape = &et_val_of(lo->g, v)->shape;
    if (!is_inlined(s, v))
        return et_load(lo->g->exprs, ET_LOAD_TENSOR, (int)v.id, et_dtype_type(shape->dtype),
                       shape->rank, index);
    const et_node *n = et_node_of(lo->g, v);
    return n->op->at(lo, n, index);
}

static void find_depths(slow *s) {
    for (int i = 0; i < s->f->g->nnodes; i++) {
        const et_node *n = &s->f->g->nodes[i];
        int depth = 0;
        for (int k = 0; k < n->nargs; k++)
            if (is_inlined(s, n->args[k]) && s->depth[n->args[k].id] > depth)
                depth = s->depth[n->args[k].id];
        s->depth[n->result.id] = depth + own_depth(n->op);
    }
}

slow *slow_create(fixture *f) {
    slow *s = calloc(1, sizeof *s);
    size_t n = (size_t)f->g->nvals;
    s->f = f;
    s->lower = (et_lower){.g = f->g, .value_at = value_at, .ctx = s};
    s->expr = calloc(n, sizeof *s->expr);
    s->var = calloc(n, sizeof *s->var);
    s->depth = calloc(n, sizeof *s->depth);
    find_depths(s);
    for (int i = 0; i < f->g->nloops; i++) /* tensors hold what the last iteration left */
        s->vars[f->g->loops[i].var] = et_eval(f->p, f->g->loops[i].trips, f->syms, NULL) - 1;
    return s;
}

void slow_destroy(slow *s) {
    free(s->expr);
    free(s->var);
    free(s->depth);
    free(s);
}

/* The lowered expression of V, at variables of its own. */
static et_expr expr_of(slow *s, et_value v) {
    const et_shape *shape = &et_val_of(s->f->g, v)->shape;
    et_expr index[ET_MAX_RANK];
    if (s->expr[v.id].id) return s->expr[v.id];
    for (int k = 0; k < shape->rank; k++) {
        s->var[v.id][k] = et_var_add(s->f->p, "i", shape->dim[k]);
        et_check(s->var[v.id][k] < MAX_VARS);
        index[k] = et_var(s->f->p, s->var[v.id][k]);
    }
    /* A value too deep to be inlined elsewhere is still lowered where it is asked for. */
    const et_node *n = et_node_of(s->f->g, v);
    return s->expr[v.id] =
               n && n->op->at ? n->op->at(&s->lower, n, index) : value_at(&s->lower, v, index);
}

/* ---- evaluation ---- */

static double eval(slow *s, et_expr e);
static double operand_at(slow *s, et_value v, const int64_t *index);

static double load(slow *s, const et_node_x *x) {
    const et_tensor_data *t = s->f->tensors[x->i];
    int64_t at = 0;
    for (int k = 0; k < x->nops; k++) {
        int64_t i = (int64_t)eval(s, x->ops[k]);
        if (i < 0 || i >= t->dim[k])
            et_bug("index %lld of dimension %d, size %lld", (long long)i, k, (long long)t->dim[k]);
        at = at * t->dim[k] + i;
    }
    return t->dtype == ET_I32 ? (double)t->i[at] : (double)t->f[at];
}

static double reduce(slow *s, const et_node_x *x) {
    int64_t n = (int64_t)eval(s, x->ops[0]), was = s->vars[x->i2], where = 0;
    bool whole = x->type == ET_T_I32 && x->i != ET_RED_ARGMAX;
    double sum = 0, max = whole ? (double)INT32_MIN : -INFINITY;
    double min = whole ? (double)INT32_MAX : INFINITY;
    for (int64_t k = 0; k < n; k++) {
        s->vars[x->i2] = k;
        double v = eval(s, x->ops[1]);
        sum += v;
        where = v > max ? k : where;
        max = fmax(max, v);
        min = fmin(min, v);
    }
    s->vars[x->i2] = was;
    if (x->i == ET_RED_SUM && x->type == ET_T_I32) /* i32 arithmetic wraps */
        return (double)(int32_t)(uint32_t)(int64_t)sum;
    return x->i == ET_RED_SUM   ? sum
           : x->i == ET_RED_MAX ? max
           : x->i == ET_RED_MIN ? min
                                : (double)where;
}

static double round_operand(double v, et_dtype own, et_dtype other) {
    return own == ET_F32 ? (double)et_round_to(other, (float)v) : v;
}

static double contract(slow *s, const et_node_x *x) {
    et_value v = {(uint32_t)x->i};
    const et_node *n = et_node_of(s->f->g, v);
    const et_shape *a = et_arg_shape(s->f->g, n, 0), *b = et_arg_shape(s->f->g, n, 1);
    int rank = x->nops;
    int64_t at[ET_MAX_RANK], ia[ET_MAX_RANK], ib[ET_MAX_RANK];
    bool trans = et_attr_int(n, "trans_b", 0) != 0;
    for (int k = 0; k < rank; k++)
        at[k] = (int64_t)eval(s, x->ops[k]);
    for (int k = 0; k < a->rank; k++)
        ia[k] = et_eval(s->f->p, a->dim[k], s->f->syms, NULL) == 1 ? 0 : at[rank - a->rank + k];
    for (int k = 0; k < b->rank; k++)
        ib[k] = et_eval(s->f->p, b->dim[k], s->f->syms, NULL) == 1 ? 0 : at[rank - b->rank + k];
    ia[a->rank - 2] = at[rank - 2];
    int64_t size = et_eval(s->f->p, a->dim[a->rank - 1], s->f->syms, NULL);
    double sum = 0;
    for (int64_t k = 0; k < size; k++) {
        ia[a->rank - 1] = k;
        ib[b->rank - 2] = trans ? at[rank - 1] : k;
        ib[b->rank - 1] = trans ? k : at[rank - 1];
        sum += round_operand(operand_at(s, n->args[0], ia), a->dtype, b->dtype) *
               round_operand(operand_at(s, n->args[1], ib), b->dtype, a->dtype);
    }
    return sum;
}

static double apply(const et_node_x *x, double a, double b, double c) {
    switch (x->op) {
    case ET_X_NEG:
        return -a;
    case ET_X_ABS:
        return fabs(a);
    case ET_X_NOT:
        return a == 0;
    case ET_X_ADD:
        return a + b;
    case ET_X_SUB:
        return a - b;
    case ET_X_MUL:
        return a * b;
    case ET_X_DIV:
        return a / b;
    case ET_X_IDIV:
        return floor(a / b);
    case ET_X_MOD:
        return a - b * floor(a / b);
    case ET_X_MIN:
        return fmin(a, b);
    case ET_X_MAX:
        return fmax(a, b);
    case ET_X_AND:
        return a != 0 && b != 0;
    case ET_X_OR:
        return a != 0 || b != 0;
    case ET_X_LT:
        return a < b;
    case ET_X_LE:
        return a <= b;
    case ET_X_EQ:
        return a == b;
    case ET_X_NE:
        return a != b;
    case ET_X_SELECT:
        return a != 0 ? b : c;
    case ET_X_PHILOX:
        return (double)et_philox_value((int64_t)a, (int64_t)b, (int64_t)c);
    case ET_X_TO_F32:
        return (double)(float)a;
    case ET_X_TO_I32:
        return trunc(a);
    case ET_X_TO_F16:
        return (double)et_round_to(ET_F16, (float)a);
    case ET_X_TO_BF16:
        return (double)et_round_to(ET_BF16, (float)a);
    case ET_X_TO_E4M3:
        return (double)et_round_to(ET_E4M3, (float)a);
    case ET_X_EXP:
        return exp(a);
    case ET_X_SQRT:
        return sqrt(a);
    case ET_X_RSQRT:
        return 1 / sqrt(a);
    case ET_X_SIN:
        return sin(a);
    case ET_X_COS:
        return cos(a);
    case ET_X_TANH:
        return tanh(a);
    default:
        et_bug("no test for %s", et_xop_text(x->op));
    }
}

/* Both sides of a select are evaluated, as a device may: every load must stay in bounds. */
static double eval(slow *s, et_expr e) {
    et_node_x x = *et_x(s->f->p, e); /* lowering on the way may move the pool */
    double v[3] = {0};
    switch (x.op) {
    case ET_X_INT:
        return (double)x.n;
    case ET_X_FLOAT:
        return x.f;
    case ET_X_SYM:
        return (double)s->f->syms[x.i];
    case ET_X_VAR:
        return (double)s->vars[x.i];
    case ET_X_LOAD:
        return load(s, &x);
    case ET_X_REDUCE:
        return reduce(s, &x);
    case ET_X_CONTRACT:
        return contract(s, &x);
    default:
        for (int k = 0; k < x.nops; k++)
            v[k] = eval(s, x.ops[k]);
        return apply(&x, v[0], v[1], v[2]);
    }
}

static double tensor_at(const et_tensor_data *t, const int64_t *index) {
    int64_t at = 0;
    for (int k = 0; k < t->rank; k++)
        at = at * t->dim[k] + index[k];
    return t->dtype == ET_I32 ? (double)t->i[at] : (double)t->f[at];
}

static double operand_at(slow *s, et_value v, const int64_t *index) {
    return is_inlined(s, v) ? slow_at(s, v, index) : tensor_at(s->f->tensors[v.id], index);
}

double slow_at(slow *s, et_value v, const int64_t *index) {
    int rank = et_val_of(s->f->g, v)->shape.rank;
    et_expr e = expr_of(s, v);
    int64_t was[ET_MAX_RANK];
    for (int k = 0; k < rank; k++) {
        was[k] = s->vars[s->var[v.id][k]];
        s->vars[s->var[v.id][k]] = index[k];
    }
    double out = eval(s, e);
    for (int k = 0; k < rank; k++)
        s->vars[s->var[v.id][k]] = was[k];
    return out;
}
