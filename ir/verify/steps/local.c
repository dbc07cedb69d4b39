/* What is read of local memory was written by an earlier step of the same task. */
#include "ir/base/diag.h"
#include "ir/verify/steps/int.h"

/* What a step does to a local buffer. */
enum effect { NOTHING, SOME, SPOILS };

struct touched {
    int local;
    bool written;
};

static void note(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    struct touched *t = ctx;
    (void)index;
    t->written |= is_store && space == ET_LOAD_LOCAL && id == t->local;
}

static enum effect effect_of(struct steps *s, const et_step *st, int local) {
    struct touched t = {.local = local};
    const et_place *to = et_step_to(st);
    if (to) return to->space == ET_LOAD_LOCAL && to->id == local ? SOME : NOTHING;
    et_step_touches(s->x, st, note, &t);
    return t.written ? SPOILS : NOTHING;
}

/* What is stored where a mask holds may have been decided by what is different by now. */
struct changed {
    struct steps *s;
    int from, to;
    bool yes;
};

static void ask_changed(void *ctx, et_expr e) {
    struct changed *c = ctx;
    const et_node_x *n = et_x(c->s->x, e);
    if (n->op != ET_X_LOAD) return;
    for (int i = c->from; i < c->to; i++) {
        const et_place *to = et_step_to(&c->s->f->steps[i]);
        if (n->i2 == ET_LOAD_LOCAL) c->yes |= effect_of(c->s, &c->s->f->steps[i], n->i) != NOTHING;
        c->yes |= to && to->space == n->i2 && to->id == n->i;
    }
}

bool sv_changed(struct steps *s, et_expr e, int from) {
    struct changed c = {.s = s, .from = from, .to = s->at};
    if (e.id) et_walk(s->x, e, ask_changed, &c);
    return c.yes;
}

/* Of what a product or an attention writes, what has a meaning: the live rows and columns of the
 * sum over all waves, and all of the result, of the rows that live. */
static sv_cond unwritten(struct steps *s, const et_step *st, int local, const sv_linear *at) {
    sv_problem *p = s->problem;
    if (st->kind == ET_STEP_ATTEND) {
        if (local != st->out) return SV_ANY;
        sv_linear rows = st->rows ? sv_form(s->one, st->ilive) : sv_constant(0);
        return st->rows ? sv_le(p, &rows, &at[0]) : sv_never(p);
    }
    for (int i = 0; i < st->nacc; i++) {
        if (st->acc[i] != local) continue;
        sv_linear zero = sv_constant(0), rows = sv_form(s->one, st->mlive),
                  columns = sv_form(s->one, st->nlive);
        return sv_either(p, sv_ne(p, &at[0], &zero),
                         sv_either(p, sv_le(p, &rows, &at[1]), sv_le(p, &columns, &at[2])));
    }
    return SV_ANY;
}

/* The step does not write the element at AT, which the current step reads. */
static sv_cond not_by(struct steps *s, int step, int local, const sv_linear *at) {
    const et_step *st = &s->f->steps[step];
    if (!et_step_to(st)) return unwritten(s, st, local, at);
    if (sv_changed(s, st->mask, step)) return SV_ANY;
    struct store store = {.to = &st->to, .mask = st->mask, .nvars = st->nvars};
    for (int i = 0; i < st->nvars; i++)
        store.var[i] = (et_step_var){st->vars[i], et_var_extent(s->x, st->vars[i]), ET_VAR_EACH};
    sv_frame *frame = sv_inside(s, s->one);
    return sv_uncovered(s, frame, &store, at);
}

static bool look(void *ctx, const struct guards *g, const et_node_x *n, bool last) {
    struct steps *s = ctx;
    sv_linear at[ET_MAX_RANK];
    if (n->op != ET_X_LOAD || n->i2 != ET_LOAD_LOCAL) return true;
    sv_begin(s, s->at);
    for (int d = 0; d < n->nops; d++)
        at[d] = sv_form(s->one, n->ops[d]);
    sv_assert_guards(s, g);
    enum effect e = NOTHING;
    sv_answer a = SV_YES;
    for (int i = s->at - 1; i >= 0 && e != SPOILS && a != SV_NO; i--) {
        e = effect_of(s, &s->f->steps[i], n->i);
        if (e == NOTHING) continue;
        sv_assert(s->problem, not_by(s, i, n->i, at));
        a = sv_solve(s->problem, SV_ANY);
    }
    if (a == SV_NO) return true;
    if (last)
        sv_error(s, "reads %s, which nothing before it is shown to have written%s",
                 sv_element(s, ET_LOAD_LOCAL, n->i, n->ops),
                 sv_solve(s->problem, SV_ANY) == SV_YES ? sv_where(s) : "");
    return false;
}

bool sv_check_locals(struct steps *s) {
    bool ok = true;
    for (s->at = 0; ok && s->at < s->f->nsteps; s->at++)
        ok = sv_each_node(s, look, s);
    s->at = -1;
    return ok;
}
