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
    et_step_touches(s->x, st, note, &t);
    return !t.written ? NOTHING : et_step_to(st) ? SOME : SPOILS;
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

/* Of what a product or an attention writes, what has a meaning: the live rows and columns of the
 * sum over all waves, and all of the result. */
static vs_cond unwritten(struct steps *s, const et_step *st, int local, const vs_linear *at) {
    vs_problem *p = s->problem;
    if (st->kind == ET_STEP_ATTEND) return local == st->out ? vs_never(p) : VS_ANY;
    for (int i = 0; i < st->nacc; i++) {
        if (st->acc[i] != local) continue;
        vs_linear zero = vs_constant(0), rows = vs_form(s->one, st->mlive),
                  columns = vs_form(s->one, st->nlive);
        return vs_either(p, vs_ne(p, &at[0], &zero),
                         vs_either(p, vs_le(p, &rows, &at[1]), vs_le(p, &columns, &at[2])));
    }
    return VS_ANY;
}

/* The step does not write the element at AT, which the current step reads. */
static vs_cond not_by(struct steps *s, int step, int local, const vs_linear *at) {
    const et_step *st = &s->f->steps[step];
    if (!et_step_to(st)) return unwritten(s, st, local, at);
    struct changed c = {.s = s, .from = step, .to = s->at};
    if (st->mask.id) et_walk(s->x, st->mask, ask_changed, &c);
    if (c.yes) return VS_ANY;
    struct store store = {.to = &st->to, .mask = st->mask, .nvars = st->nvars};
    for (int i = 0; i < st->nvars; i++)
        store.var[i] = (et_step_var){st->vars[i], et_var_extent(s->x, st->vars[i]), ET_VAR_EACH};
    vs_frame *frame = vs_frame_create(s->arena, s->x, s->problem, s->one);
    return vs_uncovered(s, frame, &store, at);
}

static bool look(void *ctx, const struct guards *g, const et_node_x *n, bool last) {
    struct steps *s = ctx;
    vs_linear at[ET_MAX_RANK];
    if (n->op != ET_X_LOAD || n->i2 != ET_LOAD_LOCAL) return true;
    vs_begin(s, s->at);
    for (int d = 0; d < n->nops; d++)
        at[d] = vs_form(s->one, n->ops[d]);
    vs_assert_guards(s, g);
    enum effect e = NOTHING;
    vs_answer a = VS_YES;
    for (int i = s->at - 1; i >= 0 && e != SPOILS && a != VS_NO; i--) {
        e = effect_of(s, &s->f->steps[i], n->i);
        if (e == NOTHING) continue;
        vs_assert(s->problem, not_by(s, i, n->i, at));
        a = vs_solve(s->problem, VS_ANY);
    }
    if (a == VS_NO) return true;
    if (last)
        vs_error(s, "reads %s, which no step before it %s%s",
                 vs_element(s, ET_LOAD_LOCAL, n->i, n->ops),
                 a == VS_YES ? "has written" : "is shown to have written",
                 a == VS_YES && vs_solve(s->problem, VS_ANY) == VS_YES ? vs_where(s) : "");
    return false;
}

bool vs_check_locals(struct steps *s) {
    bool ok = true;
    for (s->at = 0; ok && s->at < s->f->nsteps; s->at++)
        ok = vs_each_node(s, look, s);
    s->at = -1;
    return ok;
}
