/* The model: a grid takes as long as the slowest of memory (every byte once at the reachable
 * bandwidth), caches (a tile's bytes at one CU's share), matrix and vector units, for the tiles of
 * the busiest CU; plus the latency of a dependent chain of loads per tile. Grids that do not wait
 * for one another run side by side. */
#include "passes/cost/cost.h"
#include "ir/base/diag.h"
#include "ir/program/step.h"
#include "passes/cost/footprint.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

void et_sample_symbols(const et_exprs *x, int64_t syms[ET_SAMPLES][ET_MAX_SYMS]) {
    for (int i = 0; i < et_sym_count(x) && i < ET_MAX_SYMS; i++) {
        int64_t lo, hi;
        et_sym_range(x, i, &lo, &hi);
        hi = hi > ET_LARGE && lo < ET_LARGE ? ET_LARGE : hi;
        syms[0][i] = lo;
        syms[1][i] = (int64_t)sqrt((double)lo * (double)hi);
        syms[2][i] = hi;
    }
}

struct estimate {
    et_program *p;
    et_exprs *x;
    const et_func *f;
    const et_machine *m;
    const int64_t *syms;
    int64_t *vars; /* all 0: the first tile stands for all */
};

/* Value of an expression where it does not depend on data, else GUESS. */
static double value(const struct estimate *e, et_expr x, double guess) {
    const et_node_x *n = et_x(e->x, x);
    switch (n->op) {
    case ET_X_INT:
        return (double)n->n;
    case ET_X_SYM:
        return (double)e->syms[n->i];
    case ET_X_VAR:
        return (double)e->vars[n->i];
    case ET_X_ADD:
        return value(e, n->ops[0], guess) + value(e, n->ops[1], 0);
    case ET_X_SUB:
        return value(e, n->ops[0], guess) - value(e, n->ops[1], 0);
    case ET_X_MUL:
        return value(e, n->ops[0], guess) * value(e, n->ops[1], 1);
    case ET_X_IDIV: {
        double b = value(e, n->ops[1], 1);
        return b > 0 ? (double)(int64_t)(value(e, n->ops[0], guess) / b) : guess;
    }
    case ET_X_MIN: {
        double a = value(e, n->ops[0], guess), b = value(e, n->ops[1], guess);
        return a < b ? a : b;
    }
    case ET_X_MAX: {
        double a = value(e, n->ops[0], guess), b = value(e, n->ops[1], guess);
        return a > b ? a : b;
    }
    case ET_X_SELECT: { /* the condition is known only at the launch: the dearer of the two */
        double a = value(e, n->ops[1], guess), b = value(e, n->ops[2], guess);
        return a > b ? a : b;
    }
    default:
        return guess;
    }
}

static double value_fn(void *ctx, et_expr x, double guess) {
    return value(ctx, x, guess);
}

/* ---- one grid ---- */

/* Elements of a tensor that the grid touches: whole dimensions but for those a loop picks from. */
static double touched(const struct estimate *e, const et_footprint *fp, int loop) {
    const et_tensor *t = &e->p->tensors[fp->tensor];
    double n = et_dtype_width(t->shape.dtype);
    for (int d = 0; d < t->shape.rank; d++) {
        bool picked = false;
        for (int l = loop; l >= 0 && !fp->dim[d].whole; l = e->p->g->loops[l].parent)
            picked |= et_expr_eq(fp->dim[d].lo, et_var(e->x, e->p->g->loops[l].var)) &&
                      et_expr_eq(fp->dim[d].hi, fp->dim[d].lo);
        if (!picked) n *= value(e, t->shape.dim[d], 1);
    }
    return n;
}

/* Of gathered tables and caches, the elements that tiles read: OWN of these are rows of smaller
 * tensors, which come from the L2 while memory brings the rest. Rows that a tile waits for take
 * their time as if memory brought them. */
static void memory_traffic(const struct estimate *e, const et_grid *g, const et_footprints *fps,
                           double own, et_grid_cost *c) {
    double small = 0;
    for (int i = 0; i < fps->n; i++) {
        bool again = false;
        for (int k = 0; k < i; k++)
            again |= fps->v[k].tensor == fps->v[i].tensor;
        double all = touched(e, &fps->v[i], g->loop);
        if (!again) c->memory_bytes += all < c->cache_bytes ? all : c->cache_bytes;
        if (!again && all < own) small += all;
    }
    double at_most = small > 0 && small < own ? c->cache_bytes - own + small : c->cache_bytes;
    if (c->memory_bytes > at_most) c->memory_bytes = at_most;
}

static double most(double a, double b) {
    return a > b ? a : b;
}

static double ceiling(double a, double b) {
    return (double)(int64_t)((a + b - 1) / b);
}

/* How many tiles the busiest CU has. A slice's are all on one die. */
static double rounds_of(const et_grid_cost *c, double cus, double dies) {
    double per_die = cus / dies < 1 ? 1 : (double)(int64_t)(cus / dies);
    if (!c->slices) return ceiling(c->tiles, cus < 1 ? 1 : cus);
    return ceiling(c->slices, dies) * ceiling(ceiling(c->tiles, c->slices), per_die);
}

/* Terms that are the same at all values of the symbols, computed at AT. */
struct grid_estimate {
    struct estimate at;
    const et_grid *grid;
    et_step_elements *elements;
    et_footprints fps;
};

static struct grid_estimate begin(et_program *p, const et_grid *g, const et_machine *m) {
    const et_func *f = &p->funcs[g->func];
    struct grid_estimate e = {
        {p, p->g->exprs, f, m, NULL, NULL}, g, et_func_elements(p, f, m), {0}};
    for (int i = 0; i < f->nsteps; i++)
        e.elements[i].visits = e.elements[i].usual; /* what tensors hold is not known */
    et_grid_footprints(p, g, &e.fps);
    e.at.vars = calloc((size_t)et_var_count(e.at.x) + 1, sizeof *e.at.vars);
    if (!e.at.vars) et_no_memory();
    return e;
}

static et_grid_cost cost_at(struct grid_estimate *e, const int64_t *syms) {
    const et_machine *m = e->at.m;
    e->at.syms = syms;
    et_tile_cost t = et_tile_cost_of(e->at.p, e->at.f, e->elements, m, value_fn, &e->at);
    et_grid_cost c = {
        .tiles = (double)et_eval(e->at.x, et_grid_tiles(e->at.p, e->grid), syms, e->at.vars)};
    c.slices = e->grid->slice.count;
    c.cache_bytes = t.cache_bytes * c.tiles;
    c.matrix_flops = t.matrix_flops * c.tiles;
    c.vector_flops = t.vector_flops * c.tiles;
    memory_traffic(&e->at, e->grid, &e->fps, t.own_bytes * c.tiles, &c);
    c.tile_us = et_tile_us(&t, m);
    double tile = c.tile_us + ET_DEPENDENT_LOADS * m->latency_us;
    c.us = most(c.memory_bytes / (m->hbm_gbs * 1e3), rounds_of(&c, m->cus, m->dies) * tile);
    return c;
}

et_grid_cost et_grid_cost_at(et_program *p, const et_grid *g, const et_machine *m,
                             const int64_t *syms) {
    struct grid_estimate e = begin(p, g, m);
    et_grid_cost c = cost_at(&e, syms);
    free(e.at.vars);
    return c;
}

void et_grid_costs(et_program *p, const et_grid *g, const et_machine *m,
                   int64_t syms[ET_SAMPLES][ET_MAX_SYMS], et_grid_cost out[ET_SAMPLES]) {
    struct grid_estimate e = begin(p, g, m);
    size_t set = (size_t)et_sym_count(e.at.x) * sizeof **syms;
    for (int i = 0; i < ET_SAMPLES; i++)
        out[i] = i && !memcmp(syms[i], syms[i - 1], set) ? out[i - 1] : cost_at(&e, syms[i]);
    free(e.at.vars);
}

et_grid_cost et_grid_cost_profiled(et_program *p, const et_grid *g, const et_machine *m,
                                   const et_profile *times, const int64_t *syms) {
    et_grid_cost c = et_grid_cost_at(p, g, m, syms);
    if (times) et_profile_us(times, et_profile_hash(p, g, syms), m->cus, &c.us);
    return c;
}

double et_grid_us_on(const et_grid_cost *c, const et_machine *m, double cus, double dies) {
    double gbs = dies < m->dies && dies * m->die_gbs < m->hbm_gbs ? dies * m->die_gbs : m->hbm_gbs;
    return most(c->memory_bytes / (gbs * 1e3),
                rounds_of(c, cus, dies) * (c->tile_us + ET_DEPENDENT_LOADS * m->latency_us));
}

double et_grid_us_in_rounds(const et_grid_cost *c, const et_machine *m, double cus) {
    enum { LATE_PART = 8 };
    double tile = c->tile_us + ET_DEPENDENT_LOADS * m->latency_us;
    double whole = cus < 1 ? 1 : (double)(int64_t)cus, us = 0, busy = 0;
    for (double left = c->tiles; left > 0; left -= whole) {
        double now = left < whole ? left : whole;
        us += most(now / c->tiles * c->memory_bytes / (m->hbm_gbs * 1e3), tile);
        busy += tile;
    }
    return us + busy / LATE_PART;
}

/* ---- a launch ---- */

struct uses {
    et_program *p;
    et_task_cost *to;
};

static void note_use(void *ctx, const et_step *step, int tensor, bool is_store,
                     const et_expr *index) {
    (void)step, (void)index;
    struct uses *u = ctx;
    et_task_cost *to = u->to;
    for (int i = 0; i < to->nuses; i++)
        if (to->use[i].tensor == tensor && to->use[i].is_store == is_store) return;
    ET_GROW(u->p->g->arena, to->use, to->nuses, to->cuses);
    to->use[to->nuses++] = (et_use){tensor, is_store};
}

void et_task_uses(et_program *p, const et_grid *g, et_task_cost *to) {
    struct uses u = {p, to};
    et_func_accesses(p, &p->funcs[g->func], note_use, &u);
}

static bool uses(const et_task_cost *t, int tensor, bool is_store) {
    for (int i = 0; i < t->nuses; i++)
        if (t->use[i].tensor == tensor && t->use[i].is_store == is_store) return true;
    return false;
}

/* Does the task read what one of the others writes? */
static bool depends(const et_task_cost *t, const et_task_cost *const *other, int n) {
    for (int i = 0; i < n; i++)
        for (int k = 0; k < other[i]->nuses; k++)
            if (other[i]->use[k].is_store && uses(t, other[i]->use[k].tensor, false)) return true;
    return false;
}

/* Is it one tile, and what it reads of the others the results of one each? Then tiling will join it
 * with these (passes/tile/join.c), of a plan that is compared with others before. */
static bool is_joined(const et_task_cost *t, const et_task_cost *const *other, int n) {
    if (!t->one) return false;
    for (int i = 0; i < n; i++)
        if (!other[i]->one && depends(t, &other[i], 1)) return false;
    return true;
}

/* Is anything it reads computed by this kernel? */
static bool must_wait(const et_program *p, const et_task_cost *t) {
    for (int i = 0; i < t->nuses; i++)
        if (!t->use[i].is_store && p->tensors[t->use[i].tensor].kind == ET_TENSOR_TEMP) return true;
    return false;
}

struct side_by_side {
    const et_task_cost *task[32];
    int n;
    double sum_memory, longest;
    double tiles, tiles_us; /* of a CU, one tile after another */
};

static void flush(struct side_by_side *s, const et_machine *m, double trips, et_cost *out) {
    if (!s->n) return;
    double us = most(s->longest, s->sum_memory / (m->hbm_gbs * 1e3));
    /* CUs go on with the next grid's tiles, but each has a number of tiles. */
    double rounds = ceiling(s->tiles, m->cus) * s->tiles_us / s->tiles;
    out->us += trips * most(us, rounds);
    *s = (struct side_by_side){0};
}

struct launch {
    et_program *p;
    const et_machine *m;
    const int64_t *syms;
    int64_t trips;
    const et_task_cost *task; /* by grid, or NULL */
};

static const et_task_cost *task_of(const struct launch *la, int grid) {
    et_program *p = la->p;
    if (la->task) return &la->task[grid];
    et_task_cost *t = et_alloc(p->g->arena, sizeof *t);
    t->cost = et_grid_cost_at(p, &p->grids[grid], la->m, la->syms);
    et_task_uses(p, &p->grids[grid], t);
    return t;
}

static void cost_items(const struct launch *la, int first, int count, double trips, et_cost *out) {
    et_program *p = la->p;
    const et_machine *m = la->m;
    struct side_by_side s = {0};
    for (int i = first; i < first + count; i++) {
        const et_item *it = &p->items[i];
        if (it->kind == ET_P_LOOP) {
            const et_loop *l = &p->g->loops[it->index];
            flush(&s, m, trips, out);
            int64_t n = la->trips ? la->trips : et_eval(p->g->exprs, l->trips, la->syms, NULL);
            cost_items(la, it->first, it->count, trips * (double)n, out);
            continue;
        }
        const et_task_cost *t = task_of(la, it->index);
        et_grid_cost c = t->cost;
        bool waits = depends(t, s.task, s.n), joined = waits && is_joined(t, s.task, s.n);
        if (s.n == 32 || waits) flush(&s, m, trips, out);
        if (joined) c.us = most(c.us - ET_DEPENDENT_LOADS * m->latency_us, 0);
        if (!s.n && !joined && must_wait(p, t)) {
            out->events++;
            out->events_us += trips * m->event_us;
            out->us += trips * m->event_us;
        }
        s.task[s.n++] = t;
        s.sum_memory += c.memory_bytes;
        s.longest = most(s.longest, c.us);
        s.tiles += c.tiles;
        s.tiles_us += c.tiles * c.us / ceiling(c.tiles, m->cus);
        out->memory_bytes += trips * c.memory_bytes;
        out->tasks += (int)trips;
    }
    flush(&s, m, trips, out);
}

et_cost et_cost_of(et_program *p, const et_task_cost *task, const et_machine *m,
                   const int64_t *syms, int64_t trips) {
    et_cost c = {0};
    struct launch la = {p, m, syms, trips, task};
    cost_items(&la, p->first, p->count, 1, &c);
    return c;
}

et_cost et_cost_at(et_program *p, const et_machine *m, const int64_t *syms, int64_t trips) {
    return et_cost_of(p, NULL, m, syms, trips);
}
