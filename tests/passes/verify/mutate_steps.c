#include "tests/passes/verify/mutate_steps.h"
#include "ir/base/diag.h"
#include "ir/program/step.h"
#include <stdarg.h>
#include <string.h>

const char *const step_kind_name[STEP_KINDS] = {"mask",   "store", "load", "clamp",
                                                "extent", "local", "order"};

struct mutation {
    et_program *p;
    et_exprs *x;
    step_mutant_fn fn;
    void *ctx;
    et_func *f;
    et_step *s;
    int at;
};

static void emit(struct mutation *m, step_kind kind, bool same, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void emit(struct mutation *m, step_kind kind, bool same, const char *fmt, ...) {
    char text[256], full[400];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    snprintf(full, sizeof full, "%s, step %d (%s): %s", m->f->name, m->at + 1,
             et_step_name(m->s->kind), text);
    m->fn(m->ctx, m->p, &(step_mutant){full, kind, same});
}

static et_expr plus(struct mutation *m, et_expr e, int64_t by) {
    return et_add(m->x, e, et_int(m->x, by));
}

/* ---- every expression of a step ---- */

/* BY in place of FROM, wherever it stands in the step. */
static void replace(struct mutation *m, et_expr from, et_expr by) {
    et_step *s = m->s;
    et_expr *at[64];
    int n = 0;
    at[n++] = &s->mask, at[n++] = &s->value, at[n++] = &s->rextent, at[n++] = &s->mlive;
    at[n++] = &s->nlive, at[n++] = &s->kextent, at[n++] = &s->a, at[n++] = &s->tag;
    for (int d = 0; d < s->to.rank; d++)
        at[n++] = &s->to.index[d];
    for (int i = 0; i < s->nacc; i++)
        at[n++] = &s->b[i];
    for (int i = 0; i < ET_AT_PARTS; i++)
        at[n++] = &s->part[i];
    for (int i = 0; i < n; i++)
        if (at[i]->id) *at[i] = et_replace(m->x, *at[i], from, by);
}

/* ---- masks ---- */

static et_expr both(struct mutation *m, et_expr a, et_expr b) {
    return !a.id ? b : !b.id ? a : et_op2(m->x, ET_X_AND, a, b);
}

/* The parts of a conjunction, each left out, or moved by one. REST is what stands beside E. */
static void mutate_condition(struct mutation *m, et_expr e, et_expr rest) {
    const et_node_x n = *et_x(m->x, e);
    et_step saved = *m->s;
    if (n.op == ET_X_AND) {
        mutate_condition(m, n.ops[0], both(m, rest, n.ops[1]));
        mutate_condition(m, n.ops[1], both(m, rest, n.ops[0]));
        return;
    }
    m->s->mask = rest;
    emit(m, STEP_MASK, false, "a condition left out");
    *m->s = saved;
    if ((n.op != ET_X_LT && n.op != ET_X_LE) || et_x(m->x, n.ops[0])->type != ET_T_I32) return;
    for (int64_t by = -1; by <= 1; by += 2) {
        et_expr moved = et_op2(m->x, n.op, n.ops[0], plus(m, n.ops[1], by));
        m->s->mask = both(m, rest, moved);
        emit(m, STEP_MASK, false, "a condition true for one %s", by < 0 ? "less" : "more");
        *m->s = saved;
    }
    /* What loads may be guarded by the others. */
    if (n.op != ET_X_LT || et_expr_loads(m->x, saved.mask)) return;
    m->s->mask = both(m, rest, et_op2(m->x, ET_X_LE, plus(m, n.ops[0], 1), n.ops[1]));
    emit(m, STEP_MASK, true, "a condition in other words");
    *m->s = saved;
    m->s->mask =
        et_op2(m->x, ET_X_AND, et_op2(m->x, ET_X_LT, n.ops[0], plus(m, n.ops[1], 5)), saved.mask);
    emit(m, STEP_MASK, true, "a weaker condition in front");
    *m->s = saved;
}

/* ---- stores ---- */

static void mutate_to(struct mutation *m) {
    et_step *s = m->s, saved = *s;
    for (int d = 0; d < s->to.rank; d++) {
        for (int64_t by = -1; by <= 1; by += 2) {
            s->to.index[d] = plus(m, s->to.index[d], by);
            emit(m, STEP_TO, false, "stores one %s in dimension %d", by < 0 ? "before" : "after",
                 d);
            *s = saved;
        }
        s->to.index[d] = et_int(m->x, 0);
        emit(m, STEP_TO, false, "stores at 0 in dimension %d", d);
        *s = saved;
        for (int v = 0; v < s->nvars; v++) {
            et_expr var = et_var(m->x, s->vars[v]), two = et_int(m->x, 2);
            int64_t extent;
            if (!et_expr_has_var(m->x, s->to.index[d], s->vars[v])) continue;
            s->to.index[d] =
                et_subst_var(m->x, s->to.index[d], s->vars[v], et_op2(m->x, ET_X_IDIV, var, two));
            emit(m, STEP_TO, false, "stores pairs of variable %d to one place", v);
            *s = saved;
            s->to.index[d] = et_subst_var(m->x, s->to.index[d], s->vars[v], et_mul(m->x, var, two));
            emit(m, STEP_TO, false, "stores twice as far along variable %d", v);
            *s = saved;
            if (!et_is_int(m->x, et_var_extent(m->x, s->vars[v]), &extent)) continue;
            s->to.index[d] = et_subst_var(m->x, s->to.index[d], s->vars[v],
                                          et_sub(m->x, et_int(m->x, extent - 1), var));
            emit(m, STEP_TO, false, "stores backwards along variable %d", v);
            *s = saved;
            for (int w = 0; w < v; w++) { /* the other in its place */
                s->to.index[d] =
                    et_subst_var(m->x, s->to.index[d], s->vars[v], et_var(m->x, s->vars[w]));
                emit(m, STEP_TO, false, "stores along variable %d in place of %d", w, v);
                *s = saved;
            }
        }
    }
}

/* ---- loads ---- */

struct found {
    const et_exprs *x;
    et_expr load[48], clamp[48];
    int n, nclamps;
};

static void find(void *ctx, et_expr e) {
    struct found *f = ctx;
    const et_node_x *n = et_x(f->x, e);
    if (n->op == ET_X_LOAD && f->n < 48) f->load[f->n++] = e;
    if ((n->op == ET_X_MIN || n->op == ET_X_MAX || n->op == ET_X_SELECT) && f->nclamps < 48)
        f->clamp[f->nclamps++] = e;
}

static void mutate_load(struct mutation *m, et_expr load) {
    et_step saved = *m->s;
    const et_node_x n = *et_x(m->x, load);
    et_expr at[ET_MAX_RANK];
    for (int d = 0; d < n.nops; d++)
        for (int64_t by = -1; by <= 1; by += 2) {
            memcpy(at, n.ops, (size_t)n.nops * sizeof *at);
            at[d] = plus(m, at[d], by);
            replace(m, load, et_load(m->x, n.i2, n.i, n.type, n.nops, at));
            emit(m, STEP_LOAD, false, "reads one %s in dimension %d of %d",
                 by < 0 ? "before" : "after", d, n.i);
            *m->s = saved;
        }
    const et_place *to = et_step_to(m->s);
    if (!to || to->space != n.i2 || to->id == n.i || to->rank != n.nops) return;
    replace(m, load, et_load(m->x, n.i2, to->id, n.type, n.nops, n.ops));
    emit(m, STEP_LOAD, false, "reads what it stores to in place of %d", n.i);
    *m->s = saved;
}

static void mutate_loads(struct mutation *m) {
    struct found f = {.x = m->x};
    et_step_expr e[ET_STEP_EXPRS];
    et_step saved = *m->s;
    for (int i = 0, n = et_step_exprs(m->s, e); i < n; i++)
        et_walk(m->x, e[i].e, find, &f);
    for (int i = 0; i < f.n; i++)
        mutate_load(m, f.load[i]);
    for (int i = 0; i < f.nclamps; i++) {
        const et_node_x n = *et_x(m->x, f.clamp[i]);
        for (int k = n.op == ET_X_SELECT; k < n.nops; k++) {
            if (et_x(m->x, n.ops[k])->type != n.type) continue;
            replace(m, f.clamp[i], n.ops[k]);
            emit(m, STEP_CLAMP, false, "one side of %s alone", et_xop_text(n.op));
            *m->s = saved;
        }
    }
}

/* ---- extents ---- */

/* Variable *VAR of the step over BY more. */
static void resize(struct mutation *m, int *var, int64_t by) {
    int old = *var;
    *var = et_var_add(m->x, "v", plus(m, et_var_extent(m->x, old), by));
    replace(m, et_var(m->x, old), et_var(m->x, *var));
}

static void mutate_extents(struct mutation *m) {
    et_step *s = m->s, saved = *s;
    for (int64_t by = -1; by <= 1; by += 2) {
        const char *more = by < 0 ? "less" : "more";
        for (int v = 0; v < s->nvars; v++) {
            int64_t extent;
            if (et_is_int(m->x, et_var_extent(m->x, s->vars[v]), &extent) && extent + by < 1)
                continue;
            resize(m, &s->vars[v], by);
            emit(m, STEP_EXTENT, false, "variable %d over one %s", v, more);
            *s = saved;
        }
        et_expr *extent[] = {&s->rextent,           &s->mlive,          &s->nlive, &s->kextent,
                             &s->part[ET_AT_FIRST], &s->part[ET_AT_END]};
        static const char *const name[] = {"range", "live rows",      "live columns",
                                           "k",     "first position", "end"};
        for (int i = 0; i < 6; i++) {
            if (!extent[i]->id) continue;
            *extent[i] = plus(m, *extent[i], by);
            emit(m, STEP_EXTENT, false, "%s one %s", name[i], more);
            *s = saved;
        }
    }
    if (s->kind == ET_STEP_CONTRACT) {
        s->mlive = et_int(m->x, s->tm);
        emit(m, STEP_EXTENT, false, "all rows live");
        *s = saved;
        s->nlive = et_int(m->x, s->tn);
        emit(m, STEP_EXTENT, false, "all columns live");
        *s = saved;
    }
    if (s->kind != ET_STEP_MAP || s->nvars < 2) return;
    int first = s->vars[0];
    s->vars[0] = s->vars[1];
    s->vars[1] = first;
    emit(m, STEP_EXTENT, true, "its first two variables in the other order");
    *s = saved;
}

/* ---- functions ---- */

static void mutate_order(struct mutation *m) {
    et_func *f = m->f;
    et_step *steps = et_alloc(m->p->g->arena, (size_t)(f->nsteps + 1) * sizeof *steps),
            *had = f->steps;
    int n = f->nsteps;
    memcpy(steps, had, (size_t)n * sizeof *steps);
    f->steps = steps;
    if (n > 1) {
        memmove(steps + m->at, steps + m->at + 1, (size_t)(n - m->at - 1) * sizeof *steps);
        f->nsteps = n - 1;
        emit(m, STEP_ORDER, false, "left out");
        f->nsteps = n;
        memcpy(steps, had, (size_t)n * sizeof *steps);
    }
    if (m->at + 1 < n) {
        steps[m->at] = had[m->at + 1];
        steps[m->at + 1] = had[m->at];
        emit(m, STEP_ORDER, false, "after the next one");
    }
    f->steps = had;
    if (m->s->kind != ET_STEP_MAP || m->s->to.space != ET_LOAD_LOCAL ||
        et_expr_loads(m->x, m->s->value))
        return;
    memcpy(steps, had, (size_t)(m->at + 1) * sizeof *steps);
    memcpy(steps + m->at + 1, had + m->at, (size_t)(n - m->at) * sizeof *steps);
    f->steps = steps;
    f->nsteps = n + 1;
    emit(m, STEP_ORDER, true, "twice");
    f->steps = had;
    f->nsteps = n;
}

static void mutate_locals(struct mutation *m) {
    et_func *f = m->f;
    int lds = f->lds_bytes;
    for (int l = 0; l < f->nlocals; l++) {
        et_local saved = f->locals[l];
        bool whole = false; /* a step needs it as it is */
        for (int i = 0; i < f->nsteps; i++)
            whole |= et_step_to(&f->steps[i]) == NULL;
        if (f->locals[l].dim[0] > 1 && !whole) {
            f->locals[l].dim[0]--;
            emit(m, STEP_LOCAL, false, "$%s with one row less", saved.name);
            f->locals[l] = saved;
        }
        if (l) {
            f->locals[l].offset = f->locals[l - 1].offset;
            emit(m, STEP_LOCAL, false, "$%s where $%s is", saved.name, f->locals[l - 1].name);
            f->locals[l] = saved;
        }
        f->locals[l].offset = (f->lds_bytes + 15) / 16 * 16;
        emit(m, STEP_LOCAL, false, "$%s past the end", saved.name);
        f->lds_bytes = f->locals[l].offset + et_local_bytes(&f->locals[l]);
        emit(m, STEP_LOCAL, true, "$%s behind all", saved.name);
        f->lds_bytes = lds;
        f->locals[l] = saved;
    }
}

void mutate_steps(et_program *p, step_mutant_fn fn, void *ctx) {
    struct mutation m = {.p = p, .x = p->g->exprs, .fn = fn, .ctx = ctx};
    for (int i = 0; i < p->nfuncs; i++) {
        m.f = &p->funcs[i];
        for (m.at = 0; m.at < m.f->nsteps; m.at++) {
            m.s = &m.f->steps[m.at];
            if (m.s->mask.id) mutate_condition(&m, m.s->mask, ET_NO_EXPR);
            mutate_to(&m);
            mutate_loads(&m);
            mutate_extents(&m);
            mutate_order(&m);
        }
        m.at = 0;
        m.s = m.f->steps;
        mutate_locals(&m);
    }
}
