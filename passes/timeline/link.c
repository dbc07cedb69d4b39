/* Finds what every span of a timeline waited for and notified, by evaluating the expressions of the
 * program. */
#include "passes/timeline/link.h"

#include "ir/expr/int_ops.h"
#include "passes/timeline/int.h"

#include <stdlib.h>

/* More ranges of counters than this are not drawn. */
enum { MAX_RANGES = 1 << 24 };

struct link {
    timeline *t;
    et_program *p;
    et_exprs *x;
    const int64_t *symbols;
    timeline_read read;
    void *ctx;
    int64_t *vars;
    int64_t iteration;
    int span, first_task;
    bool unknown; /* an expression reads a tensor element that is not known */
    int64_t (*stride)[ET_MAX_RANK], (*dim)[ET_MAX_RANK];
};

/* ---- values ---- */

static int64_t value(struct link *l, et_expr e);

static int64_t load(struct link *l, const et_node_x *n) {
    int64_t index[ET_MAX_RANK], v = 0;
    for (int i = 0; i < n->nops && i < ET_MAX_RANK; i++)
        index[i] = value(l, n->ops[i]);
    if (l->unknown || n->i2 != ET_LOAD_TENSOR || !l->read ||
        !l->read(l->ctx, n->i, l->iteration, index, &v))
        l->unknown = true;
    return v;
}

static int64_t operation(struct link *l, const et_node_x *n) {
    int64_t a = value(l, n->ops[0]), b = n->nops > 1 ? value(l, n->ops[1]) : 0;
    return et_int_total(n->op, a, b);
}

static int64_t value(struct link *l, et_expr e) {
    const et_node_x *n = et_x(l->x, e);
    switch (n->op) {
    case ET_X_INT:
        return n->n;
    case ET_X_SYM:
        return l->symbols[n->i];
    case ET_X_VAR:
        return l->vars[n->i];
    case ET_X_LOAD:
        return load(l, n);
    case ET_X_SELECT:
        return value(l, n->ops[value(l, n->ops[0]) ? 1 : 2]);
    default:
        if (n->type != ET_T_F32 && n->nops >= 1 && n->nops <= 2 && n->op >= ET_X_NEG &&
            n->op < ET_X_SELECT)
            return operation(l, n);
        l->unknown = true;
        return 0;
    }
}

/* ---- waits and notifications ---- */

static bool applies(struct link *l, const et_grid *g, et_when when) {
    if (when == ET_ALWAYS || g->loop < 0) return true;
    const et_loop *loop = &l->p->g->loops[g->loop];
    int64_t i = l->vars[loop->var];
    if (when == ET_LAST_ITERATION) return i == value(l, loop->trips) - 1;
    return (i == 0) == (when == ET_FIRST_ITERATION);
}

/* Advances the variables to their next values, like an odometer; false after the last. Extents may
 * depend on tensors, not on each other. */
static bool next_tuple(struct link *l, int nvars, const int *vars) {
    for (int i = nvars - 1; i >= 0; i--) {
        if (++l->vars[vars[i]] < value(l, et_var_extent(l->x, vars[i]))) return !l->unknown;
        l->vars[vars[i]] = 0;
    }
    return false;
}

static bool first_tuple(struct link *l, int nvars, const int *vars) {
    for (int i = 0; i < nvars; i++) {
        l->vars[vars[i]] = 0;
        if (value(l, et_var_extent(l->x, vars[i])) <= 0) return false;
    }
    return !l->unknown;
}

static void await_box(struct link *l, const et_wait *w) {
    const et_event *e = &l->p->events[w->event];
    int64_t lo[ET_MAX_RANK], hi[ET_MAX_RANK], at[ET_MAX_RANK];
    const int64_t *stride = l->stride[w->event];
    for (int d = 0; d < e->rank; d++) {
        at[d] = lo[d] = value(l, w->lo[d]);
        hi[d] = value(l, w->hi[d]);
        if (lo[d] < 0) at[d] = lo[d] = 0;
        if (hi[d] >= l->dim[w->event][d]) hi[d] = l->dim[w->event][d] - 1;
        if (l->unknown || lo[d] > hi[d]) return;
    }
    for (int last = e->rank - 1, d; l->t->nawaits < MAX_RANGES;) {
        int64_t word = e->base;
        for (d = 0; d < last; d++)
            word += at[d] * stride[d];
        int64_t from = word + (last < 0 ? 0 : lo[last]), to = word + (last < 0 ? 1 : hi[last] + 1);
        timeline_awaits(l->t, l->span, (uint32_t)from, (uint32_t)to);
        for (d = last - 1; d >= 0 && ++at[d] > hi[d]; d--)
            at[d] = lo[d];
        if (d < 0) return;
    }
}

static void arrive(struct link *l, const et_notify *n) {
    const et_event *e = &l->p->events[n->event];
    int64_t word = e->base;
    for (int d = 0; d < e->rank; d++) {
        int64_t i = value(l, n->index[d]);
        if (l->unknown || i < 0 || i >= l->dim[n->event][d]) return;
        word += i * l->stride[n->event][d];
    }
    if (l->t->narrivals < MAX_RANGES) timeline_arrives(l->t, l->span, (uint32_t)word);
}

/* Links one wait or notification at all values of its variables. Returns 1 where it could not be
 * resolved, else 0. */
static int link_wait(struct link *l, const et_grid *g, const et_wait *w) {
    l->unknown = false;
    if (applies(l, g, w->when) && first_tuple(l, w->nvars, w->vars)) do
            await_box(l, w);
        while (!l->unknown && l->t->nawaits < MAX_RANGES && next_tuple(l, w->nvars, w->vars));
    return l->unknown || l->t->nawaits == MAX_RANGES;
}

static int link_notify(struct link *l, const et_grid *g, const et_notify *n) {
    l->unknown = false;
    if (applies(l, g, n->when) && first_tuple(l, n->nvars, n->vars)) do
            arrive(l, n);
        while (!l->unknown && l->t->narrivals < MAX_RANGES && next_tuple(l, n->nvars, n->vars));
    return l->unknown || l->t->narrivals == MAX_RANGES;
}

/* ---- spans ---- */

/* Sets loop variables and tile coordinates to those of a span; false when the grid has no such
 * task. */
static bool enter(struct link *l, const et_grid *g, const timeline_span *s) {
    const et_func *f = &l->p->funcs[g->func];
    int64_t left = s->iteration;
    l->iteration = s->iteration;
    l->unknown = false;
    for (int i = g->loop; i >= 0; i = l->p->g->loops[i].parent) {
        int64_t n = l->p->g->loops[i].hi - l->p->g->loops[i].lo;
        l->vars[l->p->g->loops[i].var] = left % n;
        left /= n;
    }
    if (left != 0 || s->iteration < 0 || s->tile < 0) return false;
    left = s->tile;
    for (int i = f->ncoords - 1; i >= 0; i--) {
        int64_t n = value(l, g->extent[i]);
        if (n <= 0 || l->unknown) return false;
        l->vars[f->coord[i]] = left % n;
        left /= n;
    }
    return left == 0;
}

static int64_t link_span(struct link *l, int span) {
    const timeline_span *s = &l->t->span[span];
    int grid = s->task - l->first_task;
    if (grid < 0 || grid >= l->p->ngrids) return 1;
    const et_grid *g = &l->p->grids[grid];
    int64_t missing = 0;
    l->span = span;
    if (!enter(l, g, s)) return 1;
    for (int i = 0; i < g->nwaits; i++)
        missing += link_wait(l, g, &g->waits[i]);
    for (int i = 0; i < g->nnotifies; i++)
        missing += link_notify(l, g, &g->notifies[i]);
    return missing;
}

/* ---- the program ---- */

static et_program *running_part(et_program *p, const int64_t *symbols, int *out_first_task) {
    int number = et_part_number(p, symbols);
    *out_first_task = 0;
    for (int i = 0; i < number; i++)
        *out_first_task += et_program_part(p, i)->ngrids;
    return et_program_part(p, number);
}

int timeline_first_task(et_program *p, const int64_t *symbols) {
    int first;
    running_part(p, symbols, &first);
    return first;
}

/* Counters are laid out row-major, with dimensions at the symbols' upper bounds. */
static void lay_out_events(struct link *l) {
    size_t n = (size_t)l->p->nevents;
    l->stride = timeline_alloc(n, sizeof *l->stride);
    l->dim = timeline_alloc(n, sizeof *l->dim);
    for (int i = 0; i < l->p->nevents; i++) {
        const et_event *e = &l->p->events[i];
        int64_t stride = 1, lo, hi;
        for (int d = e->rank - 1; d >= 0; d--) {
            l->stride[i][d] = stride;
            l->dim[i][d] = value(l, e->dim[d]);
            stride *= et_bounds(l->x, e->dim[d], &lo, &hi) ? hi : l->dim[i][d];
        }
        timeline_name_counters(l->t, (uint32_t)e->base, (uint32_t)(e->base + stride), e->name);
    }
}

static void name_tasks(timeline *t, et_program *whole) {
    et_program *p;
    for (int i = 0, at = 0; (p = et_program_part(whole, i)); at += p->ngrids, i++)
        for (int k = 0; k < p->ngrids; k++)
            timeline_name_task(t, at + k, p->grids[k].name);
}

int64_t timeline_link(timeline *t, et_program *whole, const int64_t *symbols, timeline_read read,
                      void *ctx) {
    struct link l = {.t = t, .symbols = symbols, .read = read, .ctx = ctx};
    l.p = running_part(whole, symbols, &l.first_task);
    l.x = l.p->g->exprs;
    l.vars = timeline_alloc((size_t)et_var_count(l.x), sizeof *l.vars);
    name_tasks(t, whole);
    lay_out_events(&l);
    for (int i = 0; i < t->nspans; i++)
        t->missing += link_span(&l, i);
    free(l.vars);
    free(l.stride);
    free(l.dim);
    return t->missing;
}

void timeline_collect(struct timeline_collector *c, const et_sim_task *s) {
    timeline_place_row(c->t, s->workgroup, s->die, -1);
    timeline_add(c->t, &(timeline_span){.task = c->first + s->grid,
                                        .tile = s->tile,
                                        .iteration = s->iteration,
                                        .row = s->workgroup,
                                        .look = s->t_look,
                                        .reached = s->t_reached,
                                        .ready = s->t_ready,
                                        .done = s->t_done,
                                        .left = s->t_left});
}
