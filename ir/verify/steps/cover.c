/* Does a store reach an element? The values of its variables that would are computed from the
 * element's place, dimension by dimension: of what is left of an index, the variable that moves it
 * furthest takes as much as it can, the next one of the rest. Then whether these are values the
 * variables have, whether the mask holds there, and whether the element is the one that is stored
 * to, are conditions like others. */
#include "ir/base/diag.h"
#include "ir/verify/steps/int.h"

enum { MAX_UNKNOWNS = 2 * ET_STEP_VARS + ET_MAX_RANK + ET_MAX_LOOPS, MAX_NESTING = 64 };

struct unknowns {
    struct steps *s;
    sv_frame *frame; /* they are bound there as they are found */
    int n, var[MAX_UNKNOWNS];
    bool known[MAX_UNKNOWNS];
    int number[MAX_UNKNOWNS]; /* that stands for it while coefficients are looked for */
};

static sv_frame *scratch_frame(struct unknowns *u, int *out_first) {
    sv_frame *f = sv_inside(u->s, u->frame);
    *out_first = sv_number(u->s->problem, 0, 0);
    for (int i = 0; i < u->n; i++) {
        if (u->known[i]) continue;
        sv_linear v = sv_of(u->number[i] = sv_number(u->s->problem, -(1 << 30), 1 << 30));
        sv_frame_bind(f, u->var[i], &v);
    }
    return f;
}

/* The unknown variable that moves the index furthest; -1 when none does. */
static int furthest(const struct unknowns *u, const sv_linear *f, int64_t *out_by) {
    int best = -1;
    int64_t most = 0;
    for (int i = 0; i < u->n; i++) {
        if (u->known[i]) continue;
        int64_t c = sv_coef(f, u->number[i]), by = c < 0 ? -c : c;
        if (by > most) best = i, most = by, *out_by = c;
    }
    return best;
}

/* Find what variables of INDEX must be for it to be AT. */
static void invert(struct unknowns *u, et_expr index, const sv_linear *at) {
    int first, i;
    int64_t by = 0;
    sv_linear f = sv_form(scratch_frame(u, &first), index), rest;
    for (int k = 0; k < f.n; k++) { /* what is not a sum of them is not for us */
        bool own = f.number[k] < first;
        for (int j = 0; j < u->n; j++)
            own |= !u->known[j] && f.number[k] == u->number[j];
        if (!own) return;
    }
    rest = *at;
    sv_linear fixed = f;
    for (int j = 0; j < u->n; j++) {
        sv_linear v = sv_of(u->number[j]);
        int64_t c = u->known[j] ? 0 : sv_coef(&fixed, u->number[j]);
        if (c && !sv_add(&fixed, &v, -c, &fixed)) return;
    }
    rest = sv_sum(u->frame, &rest, &fixed, -1);
    while ((i = furthest(u, &f, &by)) >= 0) {
        sv_linear zero = sv_constant(0), v = sv_of(u->number[i]);
        sv_linear q = by < 0 ? sv_sum(u->frame, &zero, &rest, -1) : rest;
        q = sv_quotient(u->frame, &q, by < 0 ? -by : by);
        sv_frame_bind(u->frame, u->var[i], &q);
        u->known[i] = true;
        rest = sv_sum(u->frame, &rest, &q, -by);
        if (!sv_add(&f, &v, -by, &f)) return;
    }
}

/* ---- variables of which indices take digits ---- */

struct digits {
    const struct store *st;
    const et_exprs *x;
    int at; /* of the variable, -1: none found */
    int64_t by;
};

static void find_digit(void *ctx, et_expr e) {
    struct digits *d = ctx;
    const et_node_x *n = et_x(d->x, e);
    int64_t by;
    if (d->at >= 0 || (n->op != ET_X_IDIV && n->op != ET_X_MOD) ||
        !et_is_int(d->x, n->ops[1], &by) || by < 2 || et_x(d->x, n->ops[0])->op != ET_X_VAR)
        return;
    for (int i = 0; i < d->st->nvars; i++)
        if (d->st->var[i].var == et_x(d->x, n->ops[0])->i) d->at = i, d->by = by;
}

/* A variable of which an index takes the quotient or the rest by a constant becomes two: each index
 * is a sum again then. What it was must stay below its extent. */
static void split_digits(struct steps *s, struct store *st, et_place *to) {
    struct digits d = {.st = st, .x = s->x};
    et_exprs *x = s->x;
    *to = *st->to;
    st->to = to;
    while (st->nwhole < SV_WHOLES && st->nvars < ET_STEP_VARS) {
        d.at = -1;
        for (int i = 0; i < to->rank; i++)
            et_walk(x, to->index[i], find_digit, &d);
        if (d.at < 0) return;
        et_step_var old = st->var[d.at];
        et_expr by = et_int(x, d.by), count = et_ceil_div(x, old.extent, by);
        int high = et_var_add(x, "high", count), low = et_var_add(x, "low", by);
        et_expr whole = et_add(x, et_mul(x, et_var(x, high), by), et_var(x, low));
        st->var[d.at] = (et_step_var){high, count, old.role};
        st->var[st->nvars++] = (et_step_var){low, by, old.role};
        for (int i = 0; i < to->rank; i++)
            to->index[i] = et_subst_var(x, to->index[i], old.var, whole);
        if (st->mask.id) st->mask = et_subst_var(x, st->mask, old.var, whole);
        for (int i = 0; i < st->nwhole; i++)
            st->whole[i] = et_subst_var(x, st->whole[i], old.var, whole);
        st->whole[st->nwhole] = whole;
        st->below[st->nwhole++] = old.extent;
    }
}

/* The mask does not hold, as far as tensors do not decide that. */
static sv_cond fails(struct steps *s, sv_frame *frame, et_expr mask, int depth) {
    const et_node_x n = *et_x(s->x, mask);
    if (!et_expr_loads(s->x, mask)) return sv_fails(frame, mask);
    if (n.op != ET_X_AND) return sv_never(s->problem);
    if (depth == MAX_NESTING) return SV_ANY;
    sv_cond a = fails(s, frame, n.ops[0], depth + 1);
    return sv_either(s->problem, a, fails(s, frame, n.ops[1], depth + 1));
}

sv_cond sv_uncovered(struct steps *s, sv_frame *frame, const struct store *like,
                     const sv_linear *at) {
    sv_problem *p = s->problem;
    struct store own = *like, *st = &own;
    et_place to;
    split_digits(s, st, &to);
    struct unknowns u = {.s = s, .frame = frame};
    sv_linear zero = sv_constant(0);
    sv_cond out = sv_never(p);
    bool scattered = false;
    for (int d = 0; d < st->to->rank; d++)
        scattered |= et_expr_loads(s->x, st->to->index[d]);
    for (int i = 0; i < st->nvars && u.n < MAX_UNKNOWNS; i++)
        u.var[u.n++] = st->var[i].var;
    for (int d = 0; d < st->to->rank; d++)
        if (!et_expr_loads(s->x, st->to->index[d])) invert(&u, st->to->index[d], &at[d]);
    for (int i = 0; i < u.n; i++)
        if (!u.known[i]) sv_frame_bind(frame, u.var[i], &zero);
    for (int i = 0; i < st->nvars; i++) {
        sv_linear v = sv_form(frame, et_var(s->x, st->var[i].var));
        sv_linear extent = sv_form(frame, st->var[i].extent);
        out = sv_either(p, out, sv_either(p, sv_lt(p, &v, &zero), sv_le(p, &extent, &v)));
    }
    for (int i = 0; i < st->nwhole; i++) {
        sv_linear v = sv_form(frame, st->whole[i]), extent = sv_form(frame, st->below[i]);
        out = sv_either(p, out, sv_le(p, &extent, &v));
    }
    for (int d = 0; d < st->to->rank; d++) {
        if (et_expr_loads(s->x, st->to->index[d])) continue;
        sv_linear reached = sv_form(frame, st->to->index[d]);
        out = sv_either(p, out, sv_ne(p, &reached, &at[d]));
    }
    if (!st->mask.id) return out;
    bool trusted = scattered || st->promised;
    return sv_either(p, out, trusted ? fails(s, frame, st->mask, 0) : sv_fails(frame, st->mask));
}
