/* Work-items of one step do not race: two of them store to different elements, and what one reads
 * no other stores. Steps of a function are separated by barriers where they touch the same tensor
 * or buffer, so tensors that share memory must not meet in one function. */
#include "ir/base/diag.h"
#include "ir/verify/steps/int.h"

/* ---- two work-items ---- */

/* By how much the variables of the other work-item are larger. */
struct apart {
    int n;
    sv_linear by[ET_MAX_VARS];
};

/* The other work-item, and that the step's mask holds for both. */
static void make_other(struct steps *s, const et_step *st, struct apart *out) {
    sv_problem *p = s->problem;
    sv_linear zero = sv_constant(0);
    out->n = st->nvars;
    for (int i = 0; i < st->nvars; i++) {
        sv_linear v = sv_form(s->one, et_var(s->x, st->vars[i]));
        sv_linear extent = sv_form(s->one, et_var_extent(s->x, st->vars[i])), w;
        int64_t lo, hi;
        if (!sv_bounds(p, &extent, &lo, &hi)) hi = INT32_MAX;
        out->by[i] = sv_of(sv_number(p, 1 - hi, hi - 1));
        w = sv_sum(s->one, &v, &out->by[i], 1);
        sv_assert(p, sv_le(p, &zero, &w));
        sv_assert(p, sv_lt(p, &w, &extent));
        sv_frame_bind(s->other, st->vars[i], &w);
    }
    if (st->kind == ET_STEP_REDUCE || st->kind == ET_STEP_SCAN) {
        sv_frame_extent(s->other, st->rvar, st->rextent);
        sv_frame_own(s->other, st->rvar);
    }
    if (st->kind == ET_STEP_SCAN) {
        sv_frame_extent(s->other, st->evar, et_var_extent(s->x, st->evar));
        sv_frame_own(s->other, st->evar);
    }
    sv_assert(p, sv_holds(s->one, st->mask));
    sv_assert(p, sv_holds(s->other, st->mask));
}

/* Are there two work-items for which what was asserted holds? With BOTH_WAYS, whichever of them is
 * the earlier one. */
static sv_answer meet(struct steps *s, const struct apart *d, bool both_ways) {
    sv_problem *p = s->problem;
    sv_linear zero = sv_constant(0);
    sv_cond before = SV_ANY;
    sv_answer worst = SV_NO;
    for (int i = 0; i < d->n; i++) {
        sv_cond more = sv_lt(p, &zero, &d->by[i]), less = sv_lt(p, &d->by[i], &zero);
        if (both_ways) {
            sv_answer a = sv_solve(p, sv_both(p, before, less));
            if (a == SV_YES) return a;
            if (a != SV_NO) worst = a;
        }
        sv_answer a = sv_solve(p, sv_both(p, before, more));
        if (a == SV_YES) return a;
        if (a != SV_NO) worst = a;
        before = sv_both(p, before, sv_eq(p, &d->by[i], &zero));
    }
    return worst;
}

/* ---- stores ---- */

/* What an update leaves where its index tensor names an element twice is either's value; so says
 * the language. Where two work-items read their indices from different elements, nothing is asked:
 * what is read in the one's is taken to be read in the other's. */
struct equal {
    struct steps *s;
};

static void read_alike(void *ctx, et_expr e) {
    struct steps *s = ((struct equal *)ctx)->s;
    const et_node_x n = *et_x(s->x, e);
    if (n.op != ET_X_LOAD) return;
    for (int i = 0; i <= n.nops; i++) {
        et_expr part = i < n.nops ? n.ops[i] : e;
        sv_linear a = sv_form(s->one, part), b = sv_form(s->other, part);
        sv_assert(s->problem, sv_eq(s->problem, &a, &b));
    }
}

static void same_element(struct steps *s, int rank, const et_expr *one, const et_expr *other) {
    for (int d = 0; d < rank; d++) {
        sv_linear a = sv_form(s->one, one[d]), b = sv_form(s->other, other[d]);
        sv_assert(s->problem, sv_eq(s->problem, &a, &b));
    }
}

static bool check_stores(struct steps *s, const et_step *st, const et_place *to) {
    struct apart d;
    sv_begin(s, s->at);
    make_other(s, st, &d);
    for (int i = 0; i < to->rank && st->kind != ET_STEP_SCAN; i++)
        et_walk(s->x, to->index[i], read_alike, &(struct equal){s});
    same_element(s, to->rank, to->index, to->index);
    sv_answer a = meet(s, &d, false);
    if (a == SV_NO) return true;
    const char *element = sv_element(s, to->space, to->id, to->index);
    if (a == SV_YES)
        sv_error(s, "stores two elements to one place, %s%s", element, sv_where(s));
    else
        sv_error(s, "stores to %s, and nothing shows that it stores no two elements to one place",
                 element);
    return false;
}

/* ---- loads of what is stored ---- */

struct loading {
    struct steps *s;
    const et_step *st;
    const et_place *to;
    bool ok;
};

static void check_load(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    struct loading *l = ctx;
    struct steps *s = l->s;
    const et_place *to = l->to;
    struct apart d;
    if (is_store || space != to->space || id != to->id || !l->ok) return;
    sv_begin(s, s->at);
    make_other(s, l->st, &d);
    same_element(s, to->rank, index, to->index);
    sv_answer a = meet(s, &d, true);
    if (a == SV_NO) return;
    l->ok = false;
    sv_error(s, "reads %s, which %s another work-item of the step stores as %s%s",
             sv_element(s, space, id, index), a == SV_YES ? "is what" : "may be what",
             sv_element(s, to->space, to->id, to->index), a == SV_YES ? sv_where(s) : "");
}

/* Local buffers that a product or an attention writes must not be read meanwhile. */
struct own {
    bool written[1024], read[1024];
};

static void note_local(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    struct own *o = ctx;
    (void)index;
    if (space == ET_LOAD_LOCAL && id < 1024) (is_store ? o->written : o->read)[id] = true;
}

static bool check_own(struct steps *s, const et_step *st) {
    struct own *o = et_alloc(s->arena, sizeof *o);
    et_step_touches(s->x, st, note_local, o);
    for (int l = 0; l < s->f->nlocals && l < 1024; l++)
        if (o->written[l] && o->read[l]) {
            sv_error(s, "reads $%s, which it writes", s->f->locals[l].name);
            return false;
        }
    return true;
}

/* ---- tensors that share memory ---- */

struct temps {
    bool *touched, *stored;
};

static void note_temp(void *ctx, const et_step *st, int tensor, bool is_store,
                      const et_expr *index) {
    struct temps *t = ctx;
    (void)st, (void)index;
    t->touched[tensor] = true;
    t->stored[tensor] |= is_store;
}

bool sv_share_memory(const et_tensor *a, const et_tensor *b) {
    return a->kind == ET_TENSOR_TEMP && b->kind == ET_TENSOR_TEMP &&
           a->offset < b->offset + b->max_bytes && b->offset < a->offset + a->max_bytes;
}

static bool check_memory(struct steps *s) {
    int n = s->p->ntensors;
    struct temps t = {et_alloc(s->arena, (size_t)n + 1), et_alloc(s->arena, (size_t)n + 1)};
    et_func_accesses(s->p, s->f, note_temp, &t);
    for (int a = 0; a < n; a++)
        for (int b = 0; t.stored[a] && b < n; b++) {
            if (a == b || !t.touched[b] || !sv_share_memory(&s->p->tensors[a], &s->p->tensors[b]))
                continue;
            sv_error(s, "stores to %%%s and uses %%%s, which lies in the same memory",
                     s->p->tensors[a].name, s->p->tensors[b].name);
            return false;
        }
    return true;
}

/* ---- local buffers apart ---- */

static bool check_layout(struct steps *s) {
    for (int a = 0; a < s->f->nlocals; a++) {
        const et_local *x = &s->f->locals[a];
        int end = x->offset + et_local_bytes(x);
        if (x->offset < 0 || x->offset % 16 || end > s->f->lds_bytes ||
            x->pitch < x->dim[x->rank - 1]) {
            sv_error(s, "has $%s, which leaves the %d bytes of local memory or is not aligned",
                     x->name, s->f->lds_bytes);
            return false;
        }
        for (int b = 0; b < a; b++) {
            const et_local *y = &s->f->locals[b];
            if (x->offset >= y->offset + et_local_bytes(y) || y->offset >= end ||
                et_locals_may_meet(s->x, s->f, a, b))
                continue;
            sv_error(s, "has $%s and $%s in the same local memory", y->name, x->name);
            return false;
        }
    }
    return true;
}

/* A scan keeps its state in registers and loads what later rows read: it meets neither of what it
 * stores to in memory as rows left it. */
static void check_scanned(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    struct loading *l = ctx;
    if (index == l->st->state.index) {
        check_load(ctx, space, id, is_store, index);
        return;
    }
    if (is_store || space != l->to->space || id != l->to->id || !l->ok) return;
    l->ok = false;
    sv_error(l->s, "reads %s, which it writes row by row: of its state, $state alone is known",
             sv_element(l->s, space, id, index));
}

static bool check_step(struct steps *s) {
    const et_step *st = &s->f->steps[s->at];
    const et_place *to[] = {et_step_to(st), et_step_state(st)};
    et_touch_fn load = st->kind == ET_STEP_SCAN ? check_scanned : check_load;
    if (!to[0]) return check_own(s, st);
    for (int i = 0; i < 2 && to[i]; i++) {
        struct loading l = {s, st, to[i], true};
        if (!check_stores(s, st, to[i])) return false;
        et_step_touches(s->x, st, load, &l);
        if (!l.ok) return false;
    }
    return true;
}

bool sv_check_races(struct steps *s) {
    s->at = -1;
    if (!check_layout(s) || !check_memory(s)) return false;
    for (s->at = 0; s->at < s->f->nsteps; s->at++)
        if (!check_step(s)) return false;
    s->at = -1;
    return true;
}
