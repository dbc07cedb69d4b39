/* Symbols that only count rows. Where one does, tasks that are ordered at some value are ordered at
 * that value plus the period, so that looking at all values up to a few periods proves the rest:
 * VERIFIER.md has the proof, this file checks what it assumes. */
#include "ir/base/diag.h"
#include "ir/program/step.h"
#include "ir/verify/int.h"

struct rows {
    struct verify *v;
    int sym;
    int64_t period;
};

static bool has_sym(const struct rows *r, et_expr e) {
    return et_expr_has(r->v->x, e, ET_X_SYM, r->sym);
}

/* Some symbol, this one or another: no value of it is known here. */
static bool has_any_sym(const struct rows *r, et_expr e) {
    return et_expr_has(r->v->x, e, ET_X_SYM, ET_ANY);
}

/* 0: does not depend on the symbol; t: the symbol over t, rounded up, with t a divisor of the
 * period; -1: something else. */
static int64_t unit_of(const struct rows *r, et_expr e) {
    et_exprs *x = r->v->x;
    if (!has_sym(r, e)) return 0;
    for (int64_t t = 1; t <= r->period; t++)
        if (r->period % t == 0 && et_expr_eq(e, et_ceil_div(x, et_sym(x, r->sym), et_int(x, t))))
            return t;
    return -1;
}

/* The one coordinate of the grid that counts rows and its unit; -1 when there is none. */
static bool row_coord(const struct rows *r, const et_grid *g, int *out_coord, int64_t *out_unit) {
    *out_coord = -1;
    *out_unit = 0;
    for (int c = 0; c < r->v->p->funcs[g->func].ncoords; c++) {
        int64_t unit = unit_of(r, g->extent[c]);
        if (unit < 0 || (unit && *out_coord >= 0)) return false;
        if (unit) *out_coord = c, *out_unit = unit;
    }
    return true;
}

/* E stays, for a tile of every block of `period` rows, within that block: it moves by one block
 * when the tile does, and in the first block it is in [0, period / UNIT). Variables other than the
 * tile's coordinate range over what they are set to. */
static bool is_local(const struct rows *r, et_expr e, int var, int64_t tile, int64_t unit) {
    et_exprs *x = r->v->x;
    int64_t moved, steps = r->period / tile, size = r->period / unit;
    et_expr next = et_subst_var(x, e, var, et_add(x, et_var(x, var), et_int(x, steps)));
    if (has_any_sym(r, e) || et_expr_loads(r->v->x, e) ||
        !et_is_int(x, et_sub(x, next, e), &moved) || moved != size)
        return false;
    for (int64_t i = 0; i < steps; i++) {
        r->v->var[var] = (struct vf_range){i, i};
        struct vf_range at = vf_eval(r->v, e);
        if (at.lo < 0 || at.hi >= size) return false;
    }
    return true;
}

/* E without a clamp at the start or the end of the dimension. */
static et_expr unclamped(const struct rows *r, et_expr e, et_expr dim) {
    et_exprs *x = r->v->x;
    et_expr last = et_sub(x, dim, et_int(x, 1)), zero = et_int(x, 0);
    for (int pass = 0; pass < 2; pass++) {
        et_node_x n = *et_x(x, e);
        for (int i = 0; i < 2; i++)
            if ((n.op == ET_X_MIN && et_expr_eq(n.ops[i], last)) ||
                (n.op == ET_X_MAX && et_expr_eq(n.ops[i], zero))) {
                e = n.ops[!i];
                break;
            }
    }
    return e;
}

/* ---- events ---- */

static bool fine_wait(const struct rows *r, const et_grid *g, const et_wait *w) {
    const et_event *ev = &r->v->p->events[w->event];
    const et_func *f = &r->v->p->funcs[g->func];
    et_exprs *x = r->v->x;
    int coord;
    int64_t tile;
    if (!row_coord(r, g, &coord, &tile)) return false;
    int var = coord >= 0 ? f->coord[coord] : -1;
    for (int d = 0; d < ev->rank; d++) {
        int64_t unit = unit_of(r, ev->dim[d]);
        et_expr lo = w->lo[d], hi = w->hi[d], last = et_sub(x, ev->dim[d], et_int(x, 1));
        if (unit < 0) return false;
        if (!unit) {
            if (has_sym(r, lo) || has_sym(r, hi) || et_expr_has_var(r->v->x, lo, var) ||
                et_expr_has_var(r->v->x, hi, var))
                return false;
            continue;
        }
        if (et_expr_eq(lo, et_int(x, 0)) && et_expr_eq(hi, last)) continue;
        if (coord < 0 || !is_local(r, unclamped(r, lo, ev->dim[d]), var, tile, unit) ||
            !is_local(r, unclamped(r, hi, ev->dim[d]), var, tile, unit))
            return false;
    }
    return true;
}

/* Arrivals at a counter from one grid, symbolically; none when an index is not a coordinate of its
 * own or a loop's variable. */
static et_expr arrivals_of(const struct rows *r, const et_grid *g, const et_notify *n) {
    const et_event *ev = &r->v->p->events[n->event];
    const et_func *f = &r->v->p->funcs[g->func];
    et_exprs *x = r->v->x;
    unsigned used = 0;
    if (n->when != ET_ALWAYS) return ET_NO_EXPR;
    for (int d = 0; d < ev->rank; d++) {
        int found = -1;
        for (int c = 0; c < f->ncoords; c++)
            if (!(used >> c & 1) && et_expr_eq(n->index[d], et_var(x, f->coord[c])) &&
                et_expr_eq(ev->dim[d], g->extent[c]))
                found = c;
        if (found >= 0)
            used |= 1u << found;
        else if (r->v->event[n->event].loop[d] < 0)
            return ET_NO_EXPR;
    }
    et_expr count = et_int(x, 1);
    for (int c = 0; c < f->ncoords; c++)
        if (!(used >> c & 1)) count = et_mul(x, count, g->extent[c]);
    return count;
}

static bool fine_event(const struct rows *r, int event) {
    const et_program *p = r->v->p;
    et_exprs *x = r->v->x;
    et_expr sum = et_int(x, 0);
    for (int g = 0; g < p->ngrids; g++)
        for (int i = 0; i < p->grids[g].nnotifies; i++) {
            if (p->grids[g].notifies[i].event != event) continue;
            et_expr n = arrivals_of(r, &p->grids[g], &p->grids[g].notifies[i]);
            if (!n.id) return false;
            sum = et_add(x, sum, n);
        }
    return et_expr_eq(sum, p->events[event].count);
}

/* A grid waits for itself only across iterations. */
static bool waits_back(const struct rows *r, const et_grid *g, const et_wait *w) {
    const et_program *p = r->v->p;
    bool own = false;
    for (int i = 0; i < g->nnotifies; i++)
        own |= g->notifies[i].event == w->event;
    for (int d = 0; own && d < p->events[w->event].rank; d++) {
        int loop = r->v->event[w->event].loop[d];
        int64_t by;
        if (loop < 0) continue;
        et_expr var = et_var(r->v->x, p->g->loops[loop].var);
        if (et_is_int(r->v->x, et_sub(r->v->x, w->hi[d], var), &by) && by < 0) own = false;
    }
    return !own;
}

/* ---- accesses ---- */

static bool depends_on_rows(const struct rows *r, const et_step *s, et_expr e) {
    et_step_var var[ET_STEP_VARS];
    int n = et_step_vars(r->v->x, s, var);
    if (has_sym(r, e)) return true;
    for (int v = 0; v < et_var_count(r->v->x); v++) {
        et_expr extent = et_var_extent(r->v->x, v);
        for (int i = 0; i < n; i++)
            if (var[i].var == v && var[i].role == ET_VAR_SUM) extent = var[i].extent;
        if (has_sym(r, extent) && et_expr_has_var(r->v->x, e, v)) return true;
    }
    return false;
}

/* Variables of the step over all they can be for any value of the symbol. */
static bool spread(const struct rows *r, const et_step *s) {
    struct verify *v = r->v;
    et_step_var var[ET_STEP_VARS];
    for (int i = 0, n = et_step_vars(v->x, s, var); i < n; i++) {
        int64_t lo, hi;
        if (!et_bounds(v->x, et_var_extent(v->x, var[i].var), &lo, &hi)) return false;
        v->var[var[i].var] = (struct vf_range){0, hi - 1};
    }
    return true;
}

/* One tile is large enough for all rows there can be. */
static bool covers_all(const struct rows *r, const struct vf_grid *g, et_expr e) {
    int64_t lo, hi;
    if (vf_coords_in(r->v, g->f, e) || has_any_sym(r, e)) return false;
    struct vf_range at = vf_eval(r->v, e);
    et_sym_range(r->v->x, r->sym, &lo, &hi);
    return at.lo <= 0 && at.hi >= hi - 1;
}

static bool fine_index(const struct rows *r, const struct vf_grid *g, const struct vf_access *a,
                       int d, int var, int64_t tile) {
    const et_shape *s = &r->v->p->tensors[a->tensor].shape;
    int64_t unit = unit_of(r, s->dim[d]);
    et_expr e = a->index[d];
    if (unit != 0 && unit != 1) return false;
    bool moves = var >= 0 && et_expr_has_var(r->v->x, e, var);
    if (!unit) return !moves && !has_sym(r, e);
    if (et_expr_loads(r->v->x, e)) return true; /* anywhere */
    if (!moves && depends_on_rows(r, a->step, e)) return true;
    if (!spread(r, a->step)) return false;
    return moves ? is_local(r, e, var, tile, 1) : covers_all(r, g, e);
}

static bool fine_accesses(const struct rows *r, const bool *written) {
    for (int g = 0; g < r->v->p->ngrids; g++) {
        const struct vf_grid *gr = &r->v->grid[g];
        int coord;
        int64_t tile;
        if (!row_coord(r, gr->g, &coord, &tile)) return false;
        for (int i = 0; i < gr->naccess; i++) {
            const struct vf_access *a = &gr->access[i];
            if (!written[a->tensor]) continue;
            for (int d = 0; d < r->v->p->tensors[a->tensor].shape.rank; d++)
                if (!fine_index(r, gr, a, d, coord >= 0 ? gr->f->coord[coord] : -1, tile))
                    return false;
        }
    }
    return true;
}

bool vf_counts_rows(struct verify *v, int sym, int64_t period) {
    struct rows r = {v, sym, period};
    const et_program *p = v->p;
    bool *written = et_alloc(v->arena, (size_t)p->ntensors + 1);
    for (int g = 0; g < p->ngrids; g++) {
        const et_grid *gr = &p->grids[g];
        if (v->grid[g].nunknown || v->grid[g].untold || v->grid[g].npoints) return false;
        for (int i = 0; i < gr->nwaits; i++)
            if (gr->waits[i].nvars) return false;
        for (int i = 0; i < gr->nnotifies; i++)
            if (gr->notifies[i].nvars || vf_is_loose(v, &gr->notifies[i])) return false;
        for (int i = 0; i < v->grid[g].naccess; i++)
            if (!v->grid[g].access[i].step) return false;
        for (int i = 0; i < v->grid[g].naccess; i++)
            written[v->grid[g].access[i].tensor] |= v->grid[g].access[i].store;
        for (int i = 0; i < gr->nwaits; i++)
            if (!fine_wait(&r, gr, &gr->waits[i]) || !waits_back(&r, gr, &gr->waits[i]))
                return false;
    }
    for (int e = 0; e < p->nevents; e++)
        if (!fine_event(&r, e)) return false;
    return fine_accesses(&r, written);
}
