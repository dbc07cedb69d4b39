/* Expressions of tasks as sums of variables. Floor division, minima, maxima, choices and
 * comparisons each become a variable and what is known of it; whatever else there is, products of
 * unknowns and what tensors hold, becomes a variable that may be anything within its bounds. What
 * depends on symbols alone is made once and lasts. */
#include "ir/program/step.h"
#include "ir/verify/symbolic.h"
#include <limits.h>
#include <string.h>

enum { MAX_NESTING = 400 };

vl_sys *vs_system(struct symbolic *s) {
    vl_sys *q = et_alloc(s->scratch, sizeof *q);
    q->arena = s->scratch;
    return q;
}

void vs_start(struct symbolic *s) {
    for (int i = 0; i < s->nset; i++)
        for (int side = 0; side < VS_SIDES; side++)
            s->var[side][s->set[i]].ok = false;
    s->nset = s->nknown = s->ntemps = 0;
}

void vs_forget(struct symbolic *s, vs_side side) {
    int n = 0;
    for (int i = 0; i < s->nset; i++)
        s->var[side][s->set[i]].ok = false;
    for (int i = 0; i < s->nknown; i++)
        if (s->known[i].side != (int)side) s->known[n++] = s->known[i];
    s->nknown = n;
}

static void set(struct symbolic *s, vs_side side, int var, vl_form f) {
    ET_GROW(s->arena, s->set, s->nset, s->cset);
    s->set[s->nset++] = var;
    s->var[side][var] = f;
}

static void know(struct symbolic *s, struct vs_known k) {
    ET_GROW(s->arena, s->known, s->nknown, s->cknown);
    s->known[s->nknown++] = k;
}

int vs_temp(struct symbolic *s) {
    return VS_TEMP + s->ntemps++;
}

vl_form vs_minus_one(const vl_form *a, const vl_form *b) {
    vl_form r = vl_add(a, b, -1);
    vl_shift(&r, -1);
    return r;
}

/* ---- a variable for an expression ---- */

/* Where what is known of a new variable goes. */
struct home {
    vl_sys *q;
    int var, row, split; /* of q, before it */
    bool lasting;
};

static bool lasts(const vl_form *f) {
    return !f->n || f->var[f->n - 1] < VS_COORD;
}

/* LASTING: it depends on symbols alone. */
static struct home make_home(struct symbolic *s, vl_sys *q, bool lasting) {
    struct home h = {q, -1, 0, 0, lasting && s->nparams < VS_COORD};
    if (h.lasting) h.q = &s->context;
    h.row = h.q->n;
    h.split = h.q->nsplits;
    h.var = h.lasting ? s->nparams++ : vs_temp(s);
    return h;
}

static vl_form settle(struct symbolic *s, const struct home *h) {
    if (h->lasting) {
        s->param[h->var].row = h->row;
        s->param[h->var].nrows = h->q->n - h->row;
        s->param[h->var].split = h->split;
        s->param[h->var].nsplits = h->q->nsplits - h->split;
    }
    return vl_var(h->var);
}

static bool same_form(const vl_form *a, const vl_form *b) {
    bool same = a->n == b->n && a->k == b->k;
    for (int i = 0; same && i < a->n; i++)
        same = a->var[i] == b->var[i] && a->by[i] == b->by[i];
    return same;
}

/* Some of F's terms, which depend on symbols alone, as one variable: the same for the same sum.
 * False where there are no two. */
static bool name_part(struct symbolic *s, vl_form *f) {
    vl_form part = vl_const(0), rest = vl_const(f->k), x;
    int at = 0;
    for (int i = 0; i < f->n; i++) {
        bool named = part.n < VL_TERMS / 2 && f->var[i] < VS_COORD;
        x = vl_var(f->var[i]);
        *(named ? &part : &rest) = vl_add(named ? &part : &rest, &x, f->by[i]);
    }
    if (part.n < 2) return false;
    while (at < s->nlasting && !(s->lasting[at].by && same_form(&s->lasting[at].of, &part)))
        at++;
    if (at == s->nlasting) {
        struct home h = make_home(s, &s->context, true);
        if (!h.lasting) return false;
        x = vl_var(h.var);
        x = vl_add(&part, &x, -1);
        vl_push(h.q, &x, true);
        ET_GROW(s->arena, s->lasting, s->nlasting, s->clasting);
        s->lasting[s->nlasting++] =
            (struct vs_known){.side = -1, .f = settle(s, &h), .of = part, .by = 1};
    }
    *f = vl_add(&rest, &s->lasting[at].f, 1);
    return true;
}

/* Sums leave room for the variable that is made of them. */
vl_form vs_add(struct symbolic *s, const vl_form *a, const vl_form *b, int64_t by) {
    vl_form x = *a, y = *b, r = vl_add(&x, &y, by);
    while (x.ok && y.ok && (r.ok ? r.n : x.n + y.n) > VL_TERMS - 2 &&
           name_part(s, x.n < y.n ? &y : &x))
        r = vl_add(&x, &y, by);
    return r;
}

/* One more row of way I of the split; without it more is possible than there is. */
static void way(vl_sys *q, vl_split *p, int i, const vl_form *f, bool eq) {
    q->bad |= !f->ok;
    if (f->ok) p->row[i][p->n[i]++] = (vl_row){*f, eq};
    p->ways = i + 1 > p->ways ? i + 1 : p->ways;
}

static vl_form anything(struct symbolic *s, vl_sys *q, et_expr e, bool pred) {
    bool constant = !et_expr_has(s->v->x, e, ET_X_VAR, ET_ANY) && !et_expr_loads(s->v->x, e);
    struct home h = make_home(s, q, constant);
    vl_form x = vl_var(h.var);
    int64_t lo = 0, hi = 1, most = (int64_t)1 << 60;
    s->loose |= !h.lasting;
    if (!pred) et_span(s->v->x, e, &lo, &hi);
    if (lo > -most && hi < most) {
        vl_form from = x, to = vl_const(hi);
        from.k = -lo;
        to = vl_add(&to, &x, -1);
        vl_push(h.q, &from, false);
        vl_push(h.q, &to, false);
    }
    return settle(s, &h);
}

/* The variable that stands for floor(F / BY) already, which what was projected can still name; -1.
 */
static int quotient_of(const struct symbolic *s, const vl_form *f, int64_t by) {
    for (int i = s->nknown - 1; i >= 0; i--)
        if (s->known[i].by == by && same_form(&s->known[i].of, f)) return s->known[i].f.var[0];
    return -1;
}

/* floor(f / by). */
static vl_form divided(struct symbolic *s, vl_sys *q, const vl_form *f, int64_t by) {
    vl_form whole = vl_const(0), rest = vl_const(0), up;
    for (int i = 0; i < f->n; i++) {
        vl_form x = vl_var(f->var[i]);
        bool fits = f->by[i] % by == 0;
        if (fits)
            whole = vl_add(&whole, &x, f->by[i] / by);
        else
            rest = vl_add(&rest, &x, f->by[i]);
    }
    int64_t k = f->k / by - (f->k % by < 0);
    vl_shift(&whole, k);
    rest.k = f->k - k * by;
    if (!rest.n) return whole;
    int have = quotient_of(s, &rest, by);
    if (have >= 0) {
        vl_form x = vl_var(have);
        return vl_add(&whole, &x, 1);
    }
    struct home h = make_home(s, q, lasts(&rest));
    vl_form x = vl_var(h.var), low = vl_add(&rest, &x, -by);
    vl_push(h.q, &low, false); /* rest - by * x >= 0 */
    up = vl_scale(&low, -1);
    vl_shift(&up, by - 1);
    vl_push(h.q, &up, false);
    x = settle(s, &h);
    if (!h.lasting) know(s, (struct vs_known){.side = -1, .f = x, .of = rest, .by = by});
    return vl_add(&whole, &x, 1);
}

/* The less, or with SIGN -1 the greater, of two. */
static vl_form lesser(struct symbolic *s, vl_sys *q, const vl_form *a, const vl_form *b, int sign) {
    vl_form d = vs_add(s, a, b, -1);
    if (vl_is_const(&d)) return (d.k <= 0) == (sign > 0) ? *a : *b;
    struct home h = make_home(s, q, lasts(a) && lasts(b));
    vl_form x = vl_var(h.var), below_a = vl_add(a, &x, -1), below_b = vl_add(b, &x, -1);
    vl_form f = vl_scale(&below_a, sign), g = vl_scale(&below_b, sign);
    vl_push(h.q, &f, false);
    vl_push(h.q, &g, false);
    vl_split *p = vl_push_split(h.q);
    way(h.q, p, 0, &below_a, true);
    way(h.q, p, 1, &below_b, true);
    return settle(s, &h);
}

/* 1 where a >= 0 (EQ: a == 0), else 0. */
static vl_form truth(struct symbolic *s, vl_sys *q, const vl_form *a, bool eq) {
    if (vl_is_const(a)) return vl_const(eq ? a->k == 0 : a->k >= 0);
    struct home h = make_home(s, q, lasts(a));
    vl_form x = vl_var(h.var), one = x, less = vl_scale(a, -1), more = *a;
    one.k = -1;
    vl_shift(&less, -1);
    vl_shift(&more, -1);
    vl_split *p = vl_push_split(h.q);
    way(h.q, p, 0, &one, true);
    way(h.q, p, 0, a, eq);
    way(h.q, p, 1, &x, true);
    way(h.q, p, 1, &less, false);
    if (eq) {
        way(h.q, p, 2, &x, true);
        way(h.q, p, 2, &more, false);
    }
    return settle(s, &h);
}

static vl_form chosen(struct symbolic *s, vl_sys *q, const vl_form *c, const vl_form *a,
                      const vl_form *b) {
    if (vl_is_const(c)) return c->k ? *a : *b;
    struct home h = make_home(s, q, lasts(c) && lasts(a) && lasts(b));
    vl_form x = vl_var(h.var), one = *c, is_a = vl_add(a, &x, -1), is_b = vl_add(b, &x, -1);
    vl_shift(&one, -1);
    vl_split *p = vl_push_split(h.q);
    way(h.q, p, 0, &one, true);
    way(h.q, p, 0, &is_a, true);
    way(h.q, p, 1, c, true);
    way(h.q, p, 1, &is_b, true);
    return settle(s, &h);
}

/* ---- expressions ---- */

static vl_form form(struct symbolic *s, vl_sys *q, vs_side side, et_expr e, int depth);

/* Comparisons and logic: 0 or 1. */
static vl_form predicate(struct symbolic *s, vl_sys *q, const et_node_x *n, const vl_form *a,
                         const vl_form *b) {
    vl_form d = vs_add(s, b, a, -1), one = vl_const(1), none = {.ok = false};
    switch (n->op) {
    case ET_X_NOT:
        return vl_add(&one, a, -1);
    case ET_X_LT:
        vl_shift(&d, -1);
        return d.ok ? truth(s, q, &d, false) : none;
    case ET_X_LE:
        return d.ok ? truth(s, q, &d, false) : none;
    case ET_X_EQ:
        return d.ok ? truth(s, q, &d, true) : none;
    case ET_X_NE:
        d = d.ok ? truth(s, q, &d, true) : none;
        return vl_add(&one, &d, -1);
    case ET_X_AND:
        return lesser(s, q, a, b, 1);
    case ET_X_OR:
        return lesser(s, q, a, b, -1);
    default:
        return none;
    }
}

static vl_form of_two(struct symbolic *s, vl_sys *q, const et_node_x *n, const vl_form *a,
                      const vl_form *b) {
    vl_form none = {.ok = false}, d;
    switch (n->op) {
    case ET_X_ADD:
        return vs_add(s, a, b, 1);
    case ET_X_SUB:
        return vs_add(s, a, b, -1);
    case ET_X_MUL:
        return vl_is_const(a) ? vl_scale(b, a->k) : vl_is_const(b) ? vl_scale(a, b->k) : none;
    case ET_X_IDIV:
    case ET_X_MOD:
        if (!vl_is_const(b) || b->k <= 0) return none;
        d = divided(s, q, a, b->k);
        return n->op == ET_X_IDIV ? d : vs_add(s, a, &d, -b->k);
    case ET_X_MIN:
        return lesser(s, q, a, b, 1);
    case ET_X_MAX:
        return lesser(s, q, a, b, -1);
    default:
        return predicate(s, q, n, a, b);
    }
}

/* An operation of integers, none of which can wrap around or be without a value. */
static bool of_integers(struct symbolic *s, et_expr e, const et_node_x *n) {
    if (n->type == ET_T_F32 || n->nops < 1 || n->op == ET_X_LOAD || n->op == ET_X_TO_I32 ||
        n->op == ET_X_PHILOX || n->known == ET_UNSURE || et_may_wrap(s->v->x, e))
        return false;
    for (int i = 0; i < n->nops; i++)
        if (et_x(s->v->x, n->ops[i])->type == ET_T_F32) return false;
    return true;
}

static vl_form make(struct symbolic *s, vl_sys *q, vs_side side, et_expr e, int depth) {
    const et_node_x *n = et_x(s->v->x, e);
    vl_form r = {.ok = false}, a, b = {.ok = false}, c;
    if (n->op == ET_X_INT) return vl_const(n->n);
    if (n->op == ET_X_SYM) {
        bool fixed = s->v->is_fixed[n->i] && s->v->upto[n->i] == s->v->fixed[n->i];
        return fixed ? vl_const(s->v->fixed[n->i]) : vl_var(s->of_sym[n->i]);
    }
    int64_t one;
    if (s->v->wide && n->type != ET_T_F32 && vf_is_int(s->v, e, &one)) return vl_const(one);
    if (n->op == ET_X_VAR && n->i < s->nvars && s->var[side][n->i].ok) return s->var[side][n->i];
    if (of_integers(s, e, n) && depth < MAX_NESTING) {
        a = form(s, q, side, n->ops[0], depth + 1);
        if (n->nops > 1) b = form(s, q, side, n->ops[1], depth + 1);
        if (n->op == ET_X_SELECT) {
            c = form(s, q, side, n->ops[2], depth + 1);
            if (a.ok && b.ok && c.ok) r = chosen(s, q, &a, &b, &c);
        } else if (n->op == ET_X_NEG && a.ok) {
            r = vl_scale(&a, -1);
        } else if (a.ok && (b.ok || n->nops == 1)) {
            r = of_two(s, q, n, &a, &b);
        }
    }
    return r.ok ? r : anything(s, q, e, n->type == ET_T_PRED);
}

static vl_form form(struct symbolic *s, vl_sys *q, vs_side side, et_expr e, int depth) {
    for (int i = s->nknown - 1; i >= 0; i--)
        if (et_expr_eq(s->known[i].e, e) && s->known[i].side == (int)side) return s->known[i].f;
    for (int i = 0; i < s->nlasting; i++)
        if (et_expr_eq(s->lasting[i].e, e)) return s->lasting[i].f;
    vl_form f = make(s, q, side, e, depth);
    bool lasting = !et_expr_has(s->v->x, e, ET_X_VAR, ET_ANY) && f.ok && lasts(&f);
    if (lasting) {
        ET_GROW(s->arena, s->lasting, s->nlasting, s->clasting);
        s->lasting[s->nlasting++] = (struct vs_known){.e = e, .side = side, .f = f};
    } else {
        vs_alias(s, side, e, &f);
    }
    return f;
}

vl_form vs_form(struct symbolic *s, vl_sys *q, vs_side side, et_expr e) {
    return form(s, q, side, e, 0);
}

bool vs_knows(const struct symbolic *s, vs_side side, et_expr e) {
    for (int i = 0; i < s->nknown; i++)
        if (et_expr_eq(s->known[i].e, e) && s->known[i].side == (int)side) return true;
    return false;
}

void vs_alias(struct symbolic *s, vs_side side, et_expr e, const vl_form *f) {
    know(s, (struct vs_known){.e = e, .side = side, .f = *f});
}

/* ---- tasks ---- */

static void in_range(struct symbolic *s, vl_sys *q, vs_side side, int var, et_expr extent) {
    vl_form x = vl_var(var), most = vs_form(s, q, side, extent);
    vl_push(q, &x, false);
    most = vs_minus_one(&most, &x);
    vl_push(q, &most, false);
}

void vs_enter(struct symbolic *s, vl_sys *q, vs_side side, const struct vf_inst *in, int base,
              bool glued) {
    const struct vf_grid *g = &s->v->grid[in->grid];
    for (int i = 0; i < g->depth; i++) {
        const struct vf_loop *l = &s->v->loop[g->path[i]];
        int64_t at = glued ? in->at[i] : vf_label(l, in->at[i]);
        set(s, side, s->v->p->g->loops[g->path[i]].var, vl_const(at));
    }
    for (int c = 0; c < g->f->ncoords; c++)
        set(s, side, g->f->coord[c], vl_var(base + c));
    for (int c = 0; c < g->f->ncoords; c++)
        in_range(s, q, side, base + c, g->g->extent[c]);
}

void vs_enter_vars(struct symbolic *s, vl_sys *q, vs_side side, int n, const int *vars) {
    for (int i = 0; i < n; i++) {
        int var = vs_temp(s);
        in_range(s, q, side, var, et_var_extent(s->v->x, vars[i]));
        set(s, side, vars[i], vl_var(var));
    }
}

void vs_enter_step(struct symbolic *s, vl_sys *q, vs_side side, const et_step *st) {
    et_step_var var[ET_STEP_VARS];
    for (int i = 0, n = et_step_vars(s->v->x, st, var); i < n; i++) {
        int x = vs_temp(s);
        et_expr most = et_var_extent(s->v->x, var[i].var);
        in_range(s, q, side, x, var[i].extent);
        if (!et_expr_eq(most, var[i].extent)) in_range(s, q, side, x, most); /* steps/bounds.c */
        set(s, side, var[i].var, vl_var(x));
    }
}

/* ---- with what is known of the symbols ---- */

static void mark(bool *used, const vl_form *f) {
    for (int t = 0; t < f->n; t++)
        if (f->var[t] < VS_COORD) used[f->var[t]] = true;
}

/* HOPS: of that and of what it mentions and so on, how often. False: there is more. */
static bool add_context(struct symbolic *s, vl_sys *q, int hops) {
    bool used[VS_COORD] = {false}, done[VS_COORD] = {false};
    int row = 0, split = 0;
    for (bool more = true; more;) {
        more = false;
        if (hops-- == 0) return false;
        for (; row < q->n; row++)
            mark(used, &q->row[row].f);
        for (; split < q->nsplits; split++)
            for (int w = 0; w < q->split[split].ways; w++)
                for (int r = 0; r < q->split[split].n[w]; r++)
                    mark(used, &q->split[split].row[w][r].f);
        for (int p = 0; p < s->nparams; p++) {
            if (!used[p] || done[p]) continue;
            done[p] = more = true;
            for (int r = 0; r < s->param[p].nrows; r++)
                vl_push_row(q, &s->context.row[s->param[p].row + r]);
            for (int r = 0; r < s->param[p].nsplits; r++)
                *vl_push_split(q) = s->context.split[s->param[p].split + r];
        }
    }
    return true;
}

void vs_add_context(struct symbolic *s, vl_sys *q) {
    add_context(s, q, INT_MAX);
}

bool vs_empty(struct symbolic *s, vl_sys *q) {
    enum { FEW = 24 };
    int n = q->n, nsplits = q->nsplits;
    bool none = false, all = false;
    /* Of many symbols most do not matter, and all of them together are too much. */
    for (int hops = s->nparams > FEW ? 1 : INT_MAX; !none && !all; hops = INT_MAX) {
        all = add_context(s, q, hops);
        none = vl_empty(s->work, q);
        q->n = n;
        q->nsplits = nsplits;
    }
    return none;
}
