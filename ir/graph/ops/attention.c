#include "ir/graph/attention.h"
#include "ir/expr/tape.h"
#include "ir/graph/op_util.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- shape ---- */

struct part_check {
    et_graph *g;
    const et_node *n;
    const et_attention_row *row;
    bool ok;
};

static void check_load(struct part_check *c, const et_node_x *x) {
    et_check(x->i2 == ET_LOAD_ARG && x->i >= 0 && x->i < c->n->nargs);
    const et_shape *s = et_arg_shape(c->g, c->n, x->i);
    et_check(x->type == et_dtype_type(s->dtype));
    if (x->nops != s->rank)
        c->ok = et_op_error(c->g, c->n, "attention: %s: an element of %s has %d indices, not %d",
                            c->row->what, et_arg_text(c->g, c->n, x->i), s->rank, x->nops);
}

static void check_leaf(void *ctx, et_expr e) {
    static const char letters[] = "ihpd";
    struct part_check *c = ctx;
    const et_node_x *x = et_x(c->g->exprs, e);
    if (!c->ok) return;
    if (x->op == ET_X_REDUCE || x->op == ET_X_CONTRACT)
        et_bug("a part of an attention holds a %s", et_xop_text(x->op));
    if (x->op == ET_X_ARG && (x->i != ET_ARG_QK || strcmp(c->row->name, "score") != 0))
        c->ok = et_op_error(c->g, c->n, "attention: only the score reads the product, not %s",
                            c->row->what);
    if (x->op == ET_X_LOAD) check_load(c, x);
    for (int v = 0; x->op == ET_X_VAR && v < ET_AT_VARS; v++)
        if (x->i == et_attention_var(c->n, v) && !strchr(c->row->over, letters[v]))
            c->ok = et_op_error(c->g, c->n, "attention: %s cannot depend on %s", c->row->what,
                                et_var_name(c->g->exprs, x->i));
}

static bool check_part(et_graph *g, const et_node *n, const et_attention_row *row) {
    static const char *const wanted[] = {"floating-point", "i32", "a condition"};
    const et_attr *a = et_attr_find(n, row->name);
    if (!a)
        return !row->required ||
               et_op_error(g, n, "attention needs %s: the attribute %s", row->what, row->name);
    struct part_check c = {g, n, row, true};
    et_walk(g->exprs, a->expr, check_leaf, &c);
    if (!c.ok) return false;
    return et_x(g->exprs, a->expr)->type == row->type ||
           et_op_error(g, n, "attention: %s must be %s", row->what, wanted[row->type]);
}

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    int64_t size;
    for (int part = 0; part < ET_AT_PARTS; part++)
        if (!check_part(g, n, &et_attention_rows[part])) return false;
    *out_shape = (et_shape){.dtype = ET_F32, .rank = 3};
    static const int axis[] = {ET_AT_I, ET_AT_H, ET_AT_D};
    for (int k = 0; k < 3; k++)
        out_shape->dim[k] = et_var_extent(g->exprs, et_attention_var(n, axis[k]));
    for (int k = 1; k < 3; k++)
        if (!et_is_int(g->exprs, out_shape->dim[k], &size))
            return et_op_error(g, n, "attention: the number of %s must be a constant, found %s",
                               k == 1 ? "heads" : "elements of a head",
                               et_expr_text(g->exprs, out_shape->dim[k], NULL, NULL));
    return true;
}

/* ---- evaluation ---- */

enum { MAX_LOADS = 64, QK = 0 /* slot of the product; loads follow it */ };

/* A part made ready to be evaluated: its loads, inner ones first, become arguments of tapes. */
struct load {
    const et_tensor_data *from;
    int rank;
    et_tape *index[ET_MAX_RANK];
};
struct code {
    struct attention *at;
    int nloads;
    struct load load[MAX_LOADS];
    double slot[MAX_LOADS + 1];
    et_tape *value; /* NULL: there is no such part */
    bool row;       /* it is load[nloads - 1], with d its last index alone: elements in a row */
    bool uses_d;    /* an index of a load does */
};

struct attention {
    const et_interp_args *a;
    int64_t *vars; /* with those of the node */
    int var[ET_AT_VARS];
    struct code code[ET_AT_PARTS];
    bool failed;
};

static bool reads_var(const et_exprs *x, et_expr e, int var) {
    const et_node_x *n = et_x(x, e);
    bool yes = n->op == ET_X_VAR && n->i == var;
    for (int i = 0; i < n->nops && !yes; i++)
        yes = reads_var(x, n->ops[i], var);
    return yes;
}

static et_expr load_to_slot(void *ctx, et_exprs *x, et_expr leaf) {
    struct code *c = ctx;
    et_node_x n = *et_x(x, leaf);
    if (n.op == ET_X_ARG && n.i == ET_ARG_QK) return et_arg(x, QK, ET_T_F32);
    if (n.op != ET_X_LOAD) return ET_NO_EXPR;
    if (c->nloads == MAX_LOADS) {
        c->at->failed = true;
        return et_int(x, 0);
    }
    struct load *l = &c->load[c->nloads++];
    *l = (struct load){.from = c->at->a->args[n.i], .rank = n.nops};
    int d = c->at->var[ET_AT_D];
    c->row = !c->uses_d && n.nops > 0 && et_expr_eq(n.ops[n.nops - 1], et_var(x, d));
    for (int k = 0; k < n.nops; k++) {
        bool uses_d = reads_var(x, n.ops[k], d);
        c->row &= !uses_d || k + 1 == n.nops;
        c->uses_d |= uses_d;
        l->index[k] = et_tape_create(x, n.ops[k]);
        c->at->failed |= !l->index[k];
    }
    return et_arg(x, c->nloads, n.type);
}

static void prepare(struct attention *at, et_attention_part part) {
    et_exprs *x = at->a->g->exprs;
    struct code *c = &at->code[part];
    et_expr e = et_attention_part_of(x, at->a->node, part);
    c->at = at;
    if (!e.id) return;
    e = et_subst(x, e, load_to_slot, c);
    const et_node_x *n = et_x(x, e);
    c->row &= n->op == ET_X_ARG && n->i == c->nloads;
    c->value = et_tape_create(x, e);
    at->failed |= !c->value;
}

static void release(struct code *c) {
    for (int i = 0; i < c->nloads; i++)
        for (int k = 0; k < c->load[i].rank; k++)
            et_tape_destroy(c->load[i].index[k]);
    et_tape_destroy(c->value);
}

/* Where load I of the part reads; NULL where it leaves its tensor. */
static const et_word *place(struct code *c, int i) {
    const struct load *l = &c->load[i];
    struct attention *at = c->at;
    int64_t offset = 0;
    for (int k = 0; k < l->rank; k++) {
        int64_t v = et_tape_run(l->index[k], c->slot, at->a->syms, at->vars).i;
        if (v < 0 || v >= l->from->dim[k]) {
            if (!at->failed)
                et_interp_error(at->a, "index %lld of dimension %d is outside [0, %lld)",
                                (long long)v, k, (long long)l->from->dim[k]);
            at->failed = true;
            return NULL;
        }
        offset = offset * l->from->dim[k] + v;
    }
    return et_words(l->from) + offset;
}

static double element_at(const et_tensor_data *t, const et_word *w) {
    float f;
    int32_t i;
    memcpy(&f, w, 4);
    memcpy(&i, w, 4);
    return et_dtype_is_float(t->dtype) ? (double)f : (double)i;
}

static et_scalar value_of(struct code *c) {
    for (int i = 0; i < c->nloads; i++) {
        const et_word *w = place(c, i);
        if (!w) return (et_scalar){0, 0};
        c->slot[1 + i] = element_at(c->load[i].from, w);
    }
    return et_tape_run(c->value, c->slot, c->at->a->syms, c->at->vars);
}

static double evaluate(struct code *c) {
    return (double)value_of(c).f;
}

/* The part at every d from 0 to SIZE. */
static void row_of(struct code *c, int64_t size, float *out) {
    int64_t *d = &c->at->vars[c->at->var[ET_AT_D]];
    *d = 0;
    bool row = c->row && c->load[c->nloads - 1].from->dim[c->load[c->nloads - 1].rank - 1] >= size;
    for (int i = 0; row && i < c->nloads; i++) {
        const et_word *w = place(c, i);
        if (!w) return;
        if (i + 1 < c->nloads)
            c->slot[1 + i] = element_at(c->load[i].from, w);
        else
            memcpy(out, w, (size_t)size * sizeof *out);
    }
    for (; !row && *d < size; ++*d)
        out[*d] = (float)evaluate(c);
}

/* One head of one query: OUT holds its SIZE elements, ROW as many to work in, S the scores. */
static void attend(struct attention *at, int64_t first, int64_t end, int64_t size, double *s,
                   const float *q, float *row, float *out) {
    struct code *c = at->code;
    int64_t *p = &at->vars[at->var[ET_AT_P]];
    double extra = c[ET_AT_EXTRA].value ? evaluate(&c[ET_AT_EXTRA]) : -INFINITY;
    double top = extra, total = 0;
    for (*p = first; *p < end && !at->failed; ++*p) {
        s[*p] = -INFINITY;
        if (c[ET_AT_MASK].value && evaluate(&c[ET_AT_MASK]) == 0) continue;
        row_of(&c[ET_AT_K], size, row);
        double product = 0;
        for (int64_t d = 0; d < size; d++)
            product += (double)q[d] * (double)row[d];
        c[ET_AT_SCORE].slot[QK] = product;
        s[*p] = evaluate(&c[ET_AT_SCORE]);
        top = fmax(top, s[*p]);
    }
    double *sum = s + end; /* room for SIZE more */
    for (int64_t d = 0; d < size; d++)
        sum[d] = 0;
    for (*p = first; *p < end && !at->failed; ++*p) {
        if (s[*p] == -INFINITY) continue;
        double w = exp(s[*p] - top);
        total += w;
        row_of(&c[ET_AT_V], size, row);
        for (int64_t d = 0; d < size; d++)
            sum[d] += w * (double)row[d];
    }
    /* Not a number where a score is none, or infinite, as in a softmax. */
    if (total != 0) total += exp(extra - top);
    for (int64_t d = 0; d < size; d++)
        out[d] = total != 0 ? (float)(sum[d] / total) : 0;
}

static void attend_all(struct attention *at, double *s, float *q, float *row) {
    const et_tensor_data *r = at->a->result;
    int64_t size = r->dim[2], *i = &at->vars[at->var[ET_AT_I]], *h = &at->vars[at->var[ET_AT_H]];
    for (*i = 0; *i < r->dim[0] && !at->failed; ++*i) {
        int64_t first = value_of(&at->code[ET_AT_FIRST]).i;
        int64_t end = value_of(&at->code[ET_AT_END]).i;
        for (*h = 0; *h < r->dim[1] && !at->failed; ++*h) {
            row_of(&at->code[ET_AT_Q], size, q);
            attend(at, first, end, size, s, q, row, r->f + (*i * r->dim[1] + *h) * size);
        }
    }
}

static bool interp(const et_interp_args *a) {
    const et_graph *g = a->g;
    struct attention *at = calloc(1, sizeof *at);
    int64_t *vars = calloc((size_t)et_var_count(g->exprs) + 1, sizeof *vars);
    bool ok = at && vars;
    if (ok) {
        *at = (struct attention){.a = a, .vars = vars};
        for (int l = 0; l < g->nloops; l++)
            vars[g->loops[l].var] = a->vars[g->loops[l].var];
        for (int v = 0; v < ET_AT_VARS; v++)
            at->var[v] = et_attention_var(a->node, v);
        for (int part = 0; part < ET_AT_PARTS; part++)
            prepare(at, (et_attention_part)part);
        int64_t most = et_eval(g->exprs, et_var_extent(g->exprs, at->var[ET_AT_P]), a->syms, NULL);
        size_t size = (size_t)a->result->dim[2];
        double *s = malloc(((size_t)most + size) * sizeof *s);
        float *row = malloc(2 * size * sizeof *row);
        ok = s && row && !at->failed;
        if (ok) attend_all(at, s, row, row + size);
        free(s);
        free(row);
        for (int part = 0; part < ET_AT_PARTS; part++)
            release(&at->code[part]);
    }
    bool failed = at && at->failed;
    free(at);
    free(vars);
    if (!ok) return et_interp_error(a, "out of memory");
    return !failed;
}

const et_op et_op_attention = {
    ET_OP_ROW(attention), .class = ET_CLASS_ATTENTION, .shape = shape, .at = NULL, .interp = interp,
};
