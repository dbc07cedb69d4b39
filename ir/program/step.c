/* What each kind of step is made of. */
#include "ir/program/step.h"
#include "ir/base/diag.h"
#include <stddef.h>

/* Fields of et_step by their place in it. COUNT is the place of the number of elements of an array,
 * ONE where the field is no array. */
enum { ONE = 0, MOST_ROWS = 12 };
#define AT(field) offsetof(et_step, field)

struct var_row {
    size_t at, count;
    et_var_role role;
    size_t extent; /* of the expression that says how far it goes, or 0: its own extent does */
};

struct expr_row {
    const char *name;
    et_part part;
    size_t at, count;
    unsigned under; /* bit i: variables of row i have values there */
};

struct local_row {
    size_t at, count;
};

/* Rows end with one whose AT is 0, the place of the kind. */
struct description {
    size_t to;    /* of the place stored to, or 0 */
    size_t state; /* of one that is read and stored to besides, or 0 */
    struct var_row var[MOST_ROWS];
    struct expr_row expr[MOST_ROWS];
    struct local_row local[MOST_ROWS];
};

#define EXPR(field, part, under)                                                                   \
    { #field, ET_PART_##part, AT(field), ONE, under }
#define ATTEND(field, kind, under)                                                                 \
    { #field, ET_PART_##kind, AT(part[ET_AT_##field]), ONE, under }
#define SCAN(field, under)                                                                         \
    { #field, ET_PART_VALUE, AT(scan[ET_SC_##field]), ONE, under }

static const struct description described[] = {
    [ET_STEP_MAP] = {.to = AT(to),
                     .var = {{AT(vars), AT(nvars), ET_VAR_EACH, 0}},
                     .expr = {EXPR(mask, MASK, 1),
                              EXPR(value, VALUE, 1),
                              EXPR(tag, EXTENT, 0),
                              {"to", ET_PART_INDEX, AT(to.index), AT(to.rank), 1}}},
    [ET_STEP_REDUCE] = {.to = AT(to),
                        .var = {{AT(vars), AT(nvars), ET_VAR_EACH, 0},
                                {AT(rvar), ONE, ET_VAR_SUM, AT(rextent)}},
                        .expr = {EXPR(mask, MASK, 1),
                                 EXPR(value, VALUE, 1 | 2),
                                 EXPR(rextent, EXTENT, 1),
                                 {"to", ET_PART_INDEX, AT(to.index), AT(to.rank), 1}}},
    [ET_STEP_CONTRACT] = {.var = {{AT(mvar), ONE, ET_VAR_SIDE, AT(mlive)},
                                  {AT(nvar), ONE, ET_VAR_SIDE, AT(nlive)},
                                  {AT(kvar), ONE, ET_VAR_SUM, AT(kextent)}},
                          .expr = {EXPR(mlive, EXTENT, 0),
                                   EXPR(nlive, EXTENT, 0),
                                   EXPR(kextent, EXTENT, 0),
                                   EXPR(a, OPERAND, 1 | 4),
                                   {"b", ET_PART_OPERAND, AT(b), AT(nacc), 2 | 4}},
                          .local = {{AT(acc), AT(nacc)}, {AT(stage_a), ONE}, {AT(stage_b), ONE}}},
    [ET_STEP_ATTEND] = {.var = {{AT(hvar), ONE, ET_VAR_EACH, 0},
                                {AT(dvar), ONE, ET_VAR_EACH, 0},
                                {AT(pvar), ONE, ET_VAR_POSITION, AT(part[ET_AT_END])},
                                {AT(ivar), AT(nivar), ET_VAR_SIDE, AT(ilive)}},
                        .expr = {ATTEND(Q, OPERAND, 1 | 2 | 8), ATTEND(K, OPERAND, 2 | 4 | 8),
                                 ATTEND(V, OPERAND, 2 | 4 | 8), ATTEND(FIRST, EXTENT, 8),
                                 ATTEND(END, EXTENT, 8), ATTEND(MASK, MASK, 1 | 4 | 8),
                                 ATTEND(SCORE, OPERAND, 1 | 4 | 8), ATTEND(EXTRA, OPERAND, 1 | 8),
                                 EXPR(ilive, EXTENT, 0)},
                        .local = {{AT(out), ONE}, {AT(scratch), ONE}}},
    [ET_STEP_SCAN] = {.to = AT(to),
                      .state = AT(state),
                      .var = {{AT(vars), AT(nvars), ET_VAR_EACH, 0},
                              {AT(rvar), ONE, ET_VAR_SUM, AT(rextent)},
                              {AT(evar), ONE, ET_VAR_SUM, 0}},
                      .expr = {EXPR(mask, MASK, 1),
                               EXPR(rextent, EXTENT, 0),
                               SCAN(FRESH, 2),
                               SCAN(KEEP, 2),
                               SCAN(LOOK, 1 | 2 | 4),
                               SCAN(NEXT, 1 | 2 | 4),
                               SCAN(OUT, 1 | 2 | 4),
                               SCAN(THEN, 1 | 2),
                               {"state", ET_PART_INDEX, AT(state.index), AT(state.rank), 1 | 2 | 4},
                               {"to", ET_PART_INDEX, AT(to.index), AT(to.rank), 1 | 2}},
                      .local = {{AT(scratch), ONE}}},
};

/* Field number I of an array of SIZE bytes each. */
static const void *field(const et_step *s, size_t at, size_t size, int i) {
    return (const char *)s + at + size * (size_t)i;
}

static int count_of(const et_step *s, size_t count) {
    return count == ONE ? 1 : *(const int *)field(s, count, 0, 0);
}

const char *et_step_name(et_step_kind k) {
    static const char *const name[] = {
#define X(NAME, name) #name,
#include "ir/program/step.def"
#undef X
    };
    return name[k];
}

et_step et_step_make(et_step_kind kind) {
    return (et_step){.kind = kind, .wm = 1, .stage_a = -1, .stage_b = -1, .out = -1, .scratch = -1};
}

int et_step_stages(const et_func *f, const et_step *s) {
    if (s->kind != ET_STEP_CONTRACT || s->stage_a < 0) return 0;
    const et_local *l = &f->locals[s->stage_a];
    return l->rank == 3 ? l->dim[0] : 0;
}

int et_step_declared_k(const et_func *f, const et_step *s) {
    const et_local *l = &f->locals[s->stage_a];
    return l->dim[l->rank - 1];
}

int et_step_chunk(const et_func *f, const et_step *s) {
    const et_product_plan *w = &s->plan[ET_PLAN_MAIN];
    return w->made ? w->chunk : et_step_declared_k(f, s);
}

et_warpgroup_rows et_step_warpgroup(const et_step *s, int waves) {
    if (!waves || et_dtype_bytes(s->operand) != 2) return ET_WARPGROUP_NONE;
    if (s->wm % waves == 0 && s->tm == 16 * s->wm) return ET_WARPGROUP_M;
    bool apart = et_step_products(s) < s->nacc;
    int columns = apart ? s->nacc * s->tn : s->tn, pieces = et_step_pieces(s, waves);
    if (s->wn % waves || columns != 16 * pieces * s->wn || s->tn % (16 * pieces * waves))
        return ET_WARPGROUP_NONE;
    return ET_WARPGROUP_N;
}

int et_step_pieces(const et_step *s, int waves) {
    bool twice = s->nacc == 1 && s->tn == 32 * s->wn && s->tm > 16 * waves;
    return twice ? 2 : 1;
}

bool et_warpgroup_divides(int kc, int wk, int k) {
    int steps = kc / k, own = steps / wk;
    return steps % wk == 0 && (own % 2 == 0 || steps == 2);
}

bool et_step_divides_columns(const et_step *s) {
    bool apart = s->stage_b >= 0 && s->nacc > 1 && s->nacc * s->tn == 16 * s->wn;
    return s->tn % (16 * s->wn) == 0 || apart || et_step_side_by_side(s);
}

bool et_step_side_by_side(const et_step *s) {
    enum { EIGHT = 8 }; /* of a lane's columns, whose places in local memory depend on them */
    return s->stage_b < 0 && s->wm == 1 && s->tn % (16 * s->wn) && s->tn % EIGHT == 0 &&
           s->nacc * s->tn % (16 * s->wn) == 0;
}

int et_step_products(const et_step *s) {
    return s->tn % (16 * s->wn) == 0 ? s->nacc : 1;
}

bool et_step_is_part(const et_func *f, const et_step *s) {
    if (s->kind != ET_STEP_ATTEND) return false;
    const et_local *out = &f->locals[s->out];
    return out->dim[out->rank - 1] > s->depth;
}

/* Bits of the variables of rows ROWS, as et_step_vars numbers them. */
static unsigned vars_of_rows(const et_step *s, unsigned rows) {
    const struct var_row *row = described[s->kind].var;
    unsigned set = 0;
    for (int i = 0, n = 0; row[i].at; i++)
        for (int k = 0; k < count_of(s, row[i].count); k++, n++)
            if (rows >> i & 1) set |= 1u << n;
    return set;
}

int et_step_exprs(const et_step *s, et_step_expr out[ET_STEP_EXPRS]) {
    int n = 0;
    for (const struct expr_row *row = described[s->kind].expr; row->at; row++) {
        unsigned under = vars_of_rows(s, row->under);
        for (int i = 0; i < count_of(s, row->count); i++) {
            et_expr e = *(const et_expr *)field(s, row->at, sizeof e, i);
            if (!e.id) continue;
            et_check(n < ET_STEP_EXPRS);
            out[n++] = (et_step_expr){row->name, row->part, e, under};
        }
    }
    return n;
}

int et_step_vars(const et_exprs *x, const et_step *s, et_step_var out[ET_STEP_VARS]) {
    int n = 0;
    for (const struct var_row *row = described[s->kind].var; row->at; row++)
        for (int i = 0; i < count_of(s, row->count); i++) {
            et_check(n < ET_STEP_VARS);
            int var = *(const int *)field(s, row->at, sizeof var, i);
            et_expr extent =
                row->extent ? *(const et_expr *)field(s, row->extent, 0, 0) : et_var_extent(x, var);
            out[n++] = (et_step_var){var, extent, row->role};
        }
    return n;
}

et_expr et_step_extent(const et_exprs *x, const et_step *s, int var) {
    et_step_var v[ET_STEP_VARS];
    int n = et_step_vars(x, s, v);
    for (int i = 0; i < n; i++)
        if (v[i].var == var) return v[i].extent;
    return et_var_extent(x, var);
}

static et_expr end_in(const et_exprs *x, et_expr mask, et_expr index) {
    const et_node_x *n = et_x(x, mask);
    if (n->op == ET_X_LT && et_expr_eq(n->ops[0], index)) return n->ops[1];
    if (n->op != ET_X_AND) return ET_NO_EXPR;
    et_expr end = end_in(x, n->ops[0], index);
    return end.id ? end : end_in(x, n->ops[1], index);
}

et_expr et_step_masked_end(const et_exprs *x, const et_step *s, et_expr index) {
    if (s->kind != ET_STEP_MAP || !s->mask.id || et_expr_loads(x, s->mask)) return ET_NO_EXPR;
    return end_in(x, s->mask, index);
}

const et_place *et_step_to(const et_step *s) {
    return described[s->kind].to ? &s->to : NULL;
}

const et_place *et_step_state(const et_step *s) {
    return described[s->kind].state ? &s->state : NULL;
}

/* ---- what is touched ---- */

struct touching {
    const et_exprs *x;
    et_touch_fn fn;
    void *ctx;
};

static void touch_node(void *ctx, et_expr e) {
    struct touching *t = ctx;
    const et_node_x *n = et_x(t->x, e);
    if (n->op == ET_X_LOAD) t->fn(t->ctx, n->i2, n->i, false, n->ops);
}

void et_step_touches(const et_exprs *x, const et_step *s, et_touch_fn fn, void *ctx) {
    struct touching t = {x, fn, ctx};
    et_step_expr e[ET_STEP_EXPRS];
    const et_place *to = et_step_to(s);
    for (int i = 0, n = et_step_exprs(s, e); i < n; i++)
        et_walk(x, e[i].e, touch_node, &t);
    const et_place *state = et_step_state(s);
    if (to) fn(ctx, to->space, to->id, true, to->index);
    if (state) fn(ctx, state->space, state->id, false, state->index);
    if (state) fn(ctx, state->space, state->id, true, state->index);
    for (const struct local_row *row = described[s->kind].local; row->at; row++)
        for (int i = 0; i < count_of(s, row->count); i++) {
            int local = *(const int *)field(s, row->at, sizeof local, i);
            if (local >= 0) fn(ctx, ET_LOAD_LOCAL, local, true, NULL);
        }
}

struct touched {
    int local;
    bool yes;
};

static void note_local(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    struct touched *t = ctx;
    (void)is_store, (void)index;
    t->yes |= space == ET_LOAD_LOCAL && id == t->local;
}

static bool is_chunks_of(const et_step *s, int local) {
    return local == s->stage_a || local == s->stage_b;
}

static bool is_sums_of(const et_step *s, int local) {
    bool yes = false;
    for (int i = 0; i < s->nacc; i++)
        yes |= s->acc[i] == local;
    return yes;
}

bool et_locals_may_meet(const et_exprs *x, const et_func *f, int a, int b) {
    const et_step *of = NULL;
    int chunks = a;
    for (int i = 0; i < f->nsteps && !of; i++) {
        const et_step *s = &f->steps[i];
        if (s->kind != ET_STEP_CONTRACT) continue;
        if (is_chunks_of(s, a) && is_sums_of(s, b)) of = s;
        if (is_chunks_of(s, b) && is_sums_of(s, a)) of = s, chunks = b;
    }
    struct touched t = {chunks, false};
    for (int i = 0; i < f->nsteps && of; i++)
        if (&f->steps[i] != of) et_step_touches(x, &f->steps[i], note_local, &t);
    return of && !t.yes;
}

/* ---- bands of rows ---- */

struct bands {
    const et_exprs *x;
    const et_func *f;
    const et_step *of;
    int var;
    bool ok;
    bool *made; /* locals that the steps have stored to, with the place of VAR among the indices */
    int *place;
};

static bool is_var(const et_exprs *x, et_expr e, int var) {
    const et_node_x *n = et_x(x, e);
    return n->op == ET_X_VAR && n->i == var;
}

static void note_band(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    struct bands *s = ctx;
    if (space != ET_LOAD_LOCAL) return;
    const et_local *l = &s->f->locals[id];
    if (is_sums_of(s->of, id)) {
        s->ok &= !is_store && index && is_var(s->x, index[1], s->var);
        return;
    }
    if (is_store && index) {
        int at = 0;
        while (at < l->rank && !is_var(s->x, index[at], s->var))
            at++;
        s->ok &= at < l->rank && (!s->made[id] || s->place[id] == at);
        s->made[id] = true;
        s->place[id] = at;
    } else if (s->made[id]) {
        s->ok &= index && is_var(s->x, index[s->place[id]], s->var);
    }
}

static bool has_var(const et_step *s, int var) {
    for (int i = 0; i < s->nvars; i++)
        if (s->vars[i] == var) return true;
    return false;
}

/* May VAR count the rows of the steps from number FIRST on? */
static bool counts_rows(struct bands *s, int first, int var) {
    enum { MOST = 64 };
    bool made[MOST] = {false};
    int place[MOST] = {0};
    int64_t n;
    s->var = var, s->made = made, s->place = place;
    s->ok =
        s->f->nlocals <= MOST && et_is_int(s->x, et_var_extent(s->x, var), &n) && n == s->of->tm;
    for (int i = first; i < s->f->nsteps && s->ok; i++) {
        const et_step *st = &s->f->steps[i];
        s->ok = (st->kind == ET_STEP_MAP || st->kind == ET_STEP_REDUCE) && has_var(st, var);
        if (s->ok) et_step_touches(s->x, st, note_band, s);
    }
    return s->ok;
}

int et_func_bands(const et_exprs *x, const et_func *f, int *out_after, int *out_var) {
    *out_var = -1;
    for (int i = 0; i < f->nsteps; i++) {
        struct bands s = {.x = x, .f = f, .of = &f->steps[i]};
        if (s.of->kind != ET_STEP_CONTRACT || !s.of->nacc || !f->locals[s.of->acc[0]].rows)
            continue;
        *out_after = i + 1;
        for (int v = 0; i + 1 < f->nsteps && v < f->steps[i + 1].nvars && *out_var < 0; v++)
            if (counts_rows(&s, i + 1, f->steps[i + 1].vars[v])) *out_var = f->steps[i + 1].vars[v];
        return s.of->tm / f->locals[s.of->acc[0]].rows;
    }
    return 1;
}

struct accesses {
    const et_step *step;
    et_access_fn fn;
    void *ctx;
};

static void access(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    struct accesses *a = ctx;
    if (space == ET_LOAD_TENSOR) a->fn(a->ctx, a->step, id, is_store, index);
}

void et_func_accesses(const et_program *p, const et_func *f, et_access_fn fn, void *ctx) {
    for (int i = 0; i < f->nsteps; i++)
        et_step_touches(p->g->exprs, &f->steps[i], access,
                        &(struct accesses){&f->steps[i], fn, ctx});
}

bool et_grid_notifies(const et_grid *g, int event) {
    for (int i = 0; i < g->nnotifies; i++)
        if (g->notifies[i].event == event) return true;
    return false;
}

bool et_grid_waits_for(const et_grid *g, int event) {
    for (int i = 0; i < g->nwaits; i++)
        if (g->waits[i].event == event) return true;
    return false;
}

void et_event_accesses(const et_program *p, int event, et_access_fn fn, void *tells, void *waits) {
    for (int i = 0; i < p->ngrids; i++) {
        const et_grid *g = &p->grids[i];
        const et_func *f = &p->funcs[g->func];
        if (et_grid_notifies(g, event)) et_func_accesses(p, f, fn, tells);
        if (et_grid_waits_for(g, event)) et_func_accesses(p, f, fn, waits);
    }
}

/* ---- groups ---- */

int et_group_exprs(et_group *gr, et_expr *out[ET_GROUP_EXPRS]) {
    int n = 0;
    if (gr->mask.id) out[n++] = &gr->mask;
    if (gr->value.id) out[n++] = &gr->value;
    for (int i = 0; i < ET_AT_PARTS; i++)
        if (gr->part[i].id) out[n++] = &gr->part[i];
    for (int i = 0; i < ET_SC_PARTS; i++)
        if (gr->scan[i].id) out[n++] = &gr->scan[i];
    for (int d = 0; d < gr->state.rank; d++)
        out[n++] = &gr->state.index[d];
    for (int d = 0; d < gr->to.rank; d++)
        out[n++] = &gr->to.index[d];
    for (int i = 0; i < gr->nproduct; i++) {
        out[n++] = &gr->product[i].a;
        out[n++] = &gr->product[i].b;
    }
    return n;
}
