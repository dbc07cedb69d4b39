/* What adds up parts of large sums over devices, as the residual's map does, and the norm behind
 * it, whose tiles have the same rows, are one task: all that products wait for is an event shorter.
 * The result of the first stays in memory, for other tasks read it too; the barrier between steps
 * (codegen/kernel/tile.c) is enough for its own. */
#include "ir/program/step.h"
#include "passes/tile/tiler.h"

struct pair {
    et_program *p;
    et_exprs *x;
    const et_func *first, *second;
    const et_place *to; /* what the first stores */
    int dim;            /* of it, that of rows */
    int64_t rows;       /* of a tile */
    bool parts, reads, no;
};

/* INDEX is of the rows of the tile that the coordinate says. */
static bool in_tile(const struct pair *r, et_expr index, int coord) {
    int64_t lo, hi;
    et_expr from = et_mul(r->x, et_var(r->x, coord), et_int(r->x, r->rows));
    return et_bounds(r->x, et_sub(r->x, index, from), &lo, &hi) && lo >= 0 && hi < r->rows;
}

/* The dimension of TO that has the first's coordinate, and how many rows a tile has there. */
static bool find_rows(struct pair *r) {
    int coord = r->first->coord[0], n = 0;
    for (int d = 0; d < r->to->rank; d++)
        if (et_expr_has_var(r->x, r->to->index[d], coord)) {
            r->dim = d;
            n++;
        }
    if (n != 1) return false;
    et_expr at = r->to->index[r->dim], zero = et_subst_var(r->x, at, coord, et_int(r->x, 0));
    et_expr one = et_subst_var(r->x, at, coord, et_int(r->x, 1));
    return et_is_int(r->x, et_sub(r->x, one, zero), &r->rows) && r->rows > 0 &&
           in_tile(r, at, coord);
}

static void look_at_first(void *ctx, const et_step *s, int tensor, bool is_store,
                          const et_expr *index) {
    struct pair *r = ctx;
    (void)s, (void)index;
    const et_place *last = &r->second->steps[r->second->nsteps - 1].to;
    r->parts |= !is_store && r->p->tensors[tensor].flagged;
    r->no |= !is_store && (tensor == r->to->id || tensor == last->id);
}

static void look_at_second(void *ctx, const et_step *s, int tensor, bool is_store,
                           const et_expr *index) {
    struct pair *r = ctx;
    (void)s;
    if (tensor != r->to->id) return;
    r->reads = true;
    r->no |= is_store || !in_tile(r, index[r->dim], r->second->coord[0]);
}

/* A map that stores to a temporary, tile by tile. */
static bool is_map(const struct pair *r) {
    const et_step *s = &r->first->steps[0];
    if (r->first->nsteps != 1 || s->kind != ET_STEP_MAP || s->tag.id || r->first->nlocals ||
        s->to.space != ET_LOAD_TENSOR)
        return false;
    const et_tensor *t = &r->p->tensors[s->to.id];
    return t->kind == ET_TENSOR_TEMP && !t->partial && !t->shared && !t->carried;
}

static bool is_alike(const et_program *p, const et_grid *a, const et_grid *b) {
    return a->loop == b->loop && a->model == b->model && !a->range.to && !b->range.to &&
           !a->slice.count && !b->slice.count && !a->hint && !b->hint &&
           a->deal.rows == b->deal.rows && a->deal.coord == b->deal.coord &&
           p->funcs[a->func].ncoords == 1 && p->funcs[b->func].ncoords == 1 &&
           et_expr_eq(a->extent[0], b->extent[0]);
}

static bool may_follow(et_program *p, const et_grid *a, const et_grid *b) {
    struct pair r = {
        .p = p, .x = p->g->exprs, .first = &p->funcs[a->func], .second = &p->funcs[b->func]};
    if (!is_alike(p, a, b) || !is_map(&r) || !r.second->nsteps) return false;
    const et_step *last = &r.second->steps[r.second->nsteps - 1];
    r.to = &r.first->steps[0].to;
    if (last->kind != ET_STEP_MAP || last->to.space != ET_LOAD_TENSOR || !find_rows(&r))
        return false;
    et_func_accesses(p, r.first, look_at_first, &r);
    et_func_accesses(p, r.second, look_at_second, &r);
    return r.parts && r.reads && !r.no;
}

/* The first's step, in front of the second's. */
static void put_in_front(et_program *p, const et_func *first, et_func *second) {
    et_exprs *x = p->g->exprs;
    et_step s = first->steps[0];
    et_expr by = et_var(x, second->coord[0]);
    s.value = et_subst_var(x, s.value, first->coord[0], by);
    if (s.mask.id) s.mask = et_subst_var(x, s.mask, first->coord[0], by);
    for (int d = 0; d < s.to.rank; d++)
        s.to.index[d] = et_subst_var(x, s.to.index[d], first->coord[0], by);
    ET_GROW(p->g->arena, second->steps, second->nsteps, second->csteps);
    for (int i = second->nsteps++; i > 0; i--)
        second->steps[i] = second->steps[i - 1];
    second->steps[0] = s;
}

static bool is_in_list(const et_item *of, int at) {
    return at >= of->first && at + 1 < of->first + of->count;
}

/* Items AT and the next one are next to each other in a list. */
static bool are_neighbours(const et_program *p, int at) {
    bool any = is_in_list(&(et_item){.first = p->first, .count = p->count}, at);
    for (int i = 0; i < p->nitems; i++)
        any |= p->items[i].kind == ET_P_LOOP && is_in_list(&p->items[i], at);
    return any;
}

/* Functions have one grid each. */
void et_tile_follow(et_program *p) {
    bool *gone = et_alloc(p->g->arena, (size_t)p->nitems + 1), any = false;
    for (int i = 0; i + 1 < p->nitems && p->g->devices; i++) {
        const et_item *a = &p->items[i], *b = a + 1;
        if (a->kind != ET_P_GRID || b->kind != ET_P_GRID || !are_neighbours(p, i)) continue;
        et_grid *first = &p->grids[a->index], *second = &p->grids[b->index];
        if (first->func == second->func || !may_follow(p, first, second)) continue;
        put_in_front(p, &p->funcs[first->func], &p->funcs[second->func]);
        gone[i] = any = true;
    }
    if (any) et_tile_take_out(p, gone);
}
