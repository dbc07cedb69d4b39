/* Which plan a MAP or REDUCE step gets. Where several would do, the order of preference is written
 * here. */
#include "ir/product/items.h"
#include "passes/product/product.h"

/* ---- MAP ---- */

/* As many elements as fill a store and leave enough work for the workgroup; of words that are
 * polled as many as may be. */
static int vector_of(const et_product_cx *g, const et_map_loop *l) {
    const et_place *to = &l->s.to;
    et_dtype t =
        to->space == ET_LOAD_LOCAL ? g->f->locals[to->id].dtype : g->p->tensors[to->id].shape.dtype;
    bool receives = et_map_receives(g, &l->s);
    for (int n = ET_ITEM_BYTES / et_dtype_bytes(t); n > 1; n /= 2)
        if ((receives || l->total / n >= g->p->workgroup / 2) && et_map_may_vector(g, l, n))
            return n;
    return 1;
}

/* A round trip to memory for all items of a work-item in place of one for each. */
static int unroll_of(const et_product_cx *g, const et_map_loop *l, int vector, int most) {
    int n = et_map_loaded(g, l, vector) ? most : 1;
    while (n > 1 && !et_map_may_unroll(g, l, vector, n))
        n /= 2;
    return n;
}

static bool is_choice_of_loads(const void *exprs, et_expr e) {
    const et_node_x *n = et_x(exprs, e);
    for (int i = 1; n->op == ET_X_SELECT && i < n->nops; i++)
        if (et_expr_loads(exprs, n->ops[i])) return true;
    return false;
}

/* Most tiles of many rows are full: with warpgroup MMA, so that a tile is as large as registers
 * allow, and where only one arm of a choice is loaded, as rotary embeddings do, code for these
 * looks at no row and has more in flight. */
static bool suits_full(const et_product_cx *g, const et_map_loop *l) {
    enum { FEW = 16 }; /* rows */
    et_expr bound, rest;
    bool many = false;
    int64_t lo, hi;
    if (!g->t->warpgroup || !et_map_may_be_full(g, l, &bound, &rest)) return false;
    for (int i = 0; i < g->f->nsteps; i++)
        many |= g->f->steps[i].kind == ET_STEP_CONTRACT && et_step_stages(g->f, &g->f->steps[i]);
    if (many) return true;
    if (!et_bounds(g->x, et_x(g->x, bound)->ops[1], &lo, &hi) || lo <= FEW) return false;
    return et_expr_any(g->x, l->s.value, is_choice_of_loads, g->x);
}

/* A task of few steps, and where weights come ahead of tasks any, is as long as its trips to
 * memory, one behind the other: what maps behind the STREAMED product read, or those of a task of
 * maps and reductions, is in flight while the steps before them run. */
static bool suits_loads(const et_product_cx *g, const et_step *s, const et_step *streamed,
                        int turns) {
    const et_func *f = g->f;
    bool simple = g->t->copies;
    for (int i = 0; i < f->nsteps; i++)
        simple &= f->steps[i].kind == ET_STEP_REDUCE || f->steps[i].kind == ET_STEP_MAP;
    return turns && (simple || (streamed && s > streamed && turns == 1));
}

void et_map_choose(const et_product_cx *g, const et_step *s, const et_step *streamed, bool reuse,
                   et_map_plan *out) {
    enum { FULL = 8, SOME = 4 }; /* items at once: code that looks at rows is longer */
    et_map_loop l = et_map_loop_of(g, s);
    *out = (et_map_plan){.made = true, .vector = vector_of(g, &l), .unroll = 1, .reuse = reuse};
    if (et_map_may_copy(g, s)) {
        out->early = ET_MAP_EARLY_COPY;
        out->vector = ET_ITEM_BYTES / et_dtype_bytes(g->f->locals[s->to.id].dtype);
    } else if (suits_loads(g, s, streamed, et_map_early_rounds(g, &l, out->vector))) {
        out->early = ET_MAP_EARLY_LOADS;
    } else {
        out->unroll = unroll_of(g, &l, out->vector, SOME);
        if (suits_full(g, &l)) out->full = unroll_of(g, &l, out->vector, FULL);
    }
}

/* ---- REDUCE ---- */

enum { UNROLL = 4 }; /* items of a lane that are loaded at once */

struct neighbours {
    const et_product_cx *g;
    int rvar, row; /* the variable that differs between neighbouring rows */
    bool adjacent, gathered;
};

static void compare_rows(void *ctx, et_expr load) {
    struct neighbours *n = ctx;
    et_exprs *x = n->g->x;
    const et_node_x *l = et_x(x, load);
    if (l->op != ET_X_LOAD) return;
    for (int i = 0; l->i2 == ET_LOAD_TENSOR && i < l->nops; i++)
        n->gathered |= et_expr_loads(x, l->ops[i]);
    if (!et_expr_has_var(x, load, n->rvar) || !et_expr_has_var(x, load, n->row)) return;
    et_expr at = et_access_offset(n->g->p, n->g->f, l->i2, l->i, l->ops);
    et_expr next = et_subst_var(x, at, n->row, et_add(x, et_var(x, n->row), et_int(x, 1)));
    int64_t step;
    n->adjacent &= et_is_int(x, et_sub(x, next, at), &step) && (step == 0 || step == 1);
}

/* Are elements of neighbouring rows adjacent in memory? Then a lane for each row reads whole lines,
 * and no lanes have to combine parts. Else lanes that share a row read whole lines. */
static struct neighbours compare(const et_product_cx *g, const et_reduce_loop *l) {
    enum { MANY = 8 };
    const et_step *s = l->s;
    bool any = s->nvars && s->red != ET_RED_TOP && l->row_extent[s->nvars - 1] >= MANY;
    struct neighbours n = {g, s->rvar, any ? s->vars[s->nvars - 1] : -1, any, false};
    if (any) et_walk(g->x, l->value, compare_rows, &n);
    return n;
}

/* Are there no more terms, of all rows, than a lane of each of a wave adds up at once? Then waves
 * would take longer to tell each other than one of them for all. */
static bool is_small(const et_product_cx *g, const et_reduce_loop *l) {
    return l->extent > 0 && l->rows * l->extent <= (int64_t)g->t->wave * ET_REDUCE_VECTOR;
}

/* Several waves share a row where there are no more than half as many rows as waves: all of them,
 * where only some of the rows may exist and each is long. A wave at most otherwise. */
static int most_lanes(const et_product_cx *g, const et_reduce_loop *l) {
    int all = g->p->workgroup, lanes = all;
    if (is_small(g, l)) return g->t->wave;
    while (lanes > g->t->wave && et_reduce_beside(g, lanes) < l->rows)
        lanes /= 2;
    bool some = lanes > g->t->wave && l->extent >= all && et_reduce_by_workgroup(g, l, all);
    return some ? all : lanes;
}

/* Of LANES that share a row of integers so few that each loads all of its part at once: more rows
 * are done beside each other then, and each round of rows is a trip to memory. */
static int fewest_lanes(const et_product_cx *g, const et_reduce_loop *l, int vector, int lanes) {
    if (l->real || l->extent < 1 || et_reduce_may_rows(g, l, lanes, 2)) return lanes;
    while (lanes > 1 && et_reduce_beside(g, lanes) < l->rows &&
           2 * (l->extent / vector) <= (int64_t)UNROLL * lanes)
        lanes /= 2;
    return lanes;
}

/* Lanes of a wave that share a row: one, where rows are ADJACENT, or as many as it has work for;
 * more, where others would have none. Of a short row one or all have a part, since those add
 * neighbours first, and a row has the same bits in a tile of few rows and of many; integers have
 * the same bits anyway, and long rows of them a lane each where most lanes have one. */
static int lanes_of(const et_product_cx *g, const et_reduce_loop *l, int vector, bool adjacent) {
    int lanes = 1;
    bool full = l->extent >= g->t->wave && 2 * l->rows > g->p->workgroup;
    if (adjacent && !l->real && full) return lanes;
    if (is_small(g, l) && l->extent == vector) return 1;
    while (!adjacent && lanes < g->t->wave && lanes < l->extent / vector)
        lanes *= 2;
    while (lanes < g->t->wave && l->rows < et_reduce_beside(g, lanes))
        lanes *= 2;
    while (lanes > 1 && lanes < g->t->wave && lanes < l->extent / vector)
        lanes *= 2;
    return fewest_lanes(g, l, vector, lanes);
}

/* What is gathered takes two round trips to memory, so a lane has as many rows as one load brings.
 */
static int wide_of(const et_product_cx *g, const et_reduce_loop *l, const et_reduce_plan *w) {
    int n = ET_REDUCE_ROWS;
    while (!et_reduce_may_wide(g, l, w->lanes, w->vector, n))
        n /= 2;
    return n;
}

/* The plan W of a row's sum whose order is the same in all variants: short rows have it anyway. */
static void share_order(const et_product_cx *g, const et_reduce_loop *l, et_reduce_plan *w) {
    int vector, as = et_reduce_lanes_alone(g, l, &vector), wave = g->t->wave;
    if (!as) return;
    w->rows = w->wide = 1;
    w->vector = vector;
    if (as < 0) { /* a wave has all of a row, whose length only a launch knows */
        w->lanes = wave;
        return;
    }
    if (w->lanes < wave) w->lanes = wave;
    if (w->lanes < as / ET_REDUCE_PARTS) w->lanes = as / ET_REDUCE_PARTS;
    if (w->lanes >= as) return;
    w->as = as;
    w->unroll = as / w->lanes;
}

/* Lanes of a row whose places are found one after the other: of a wave as few as leave no row for
 * another round, since that is as long again; all of the workgroup's, where it has few rows and
 * long ones. */
static int lanes_of_top(const et_product_cx *g, const et_reduce_loop *l, int vector) {
    enum { LONG = 16 }; /* items of each lane of a wave */
    int lanes = g->t->wave;
    if (2 * l->rows < et_reduce_beside(g, lanes) && l->extent / vector >= LONG * lanes)
        return g->p->workgroup;
    while (lanes > 1 && (et_reduce_beside(g, lanes) < l->rows || lanes > l->extent / vector))
        lanes /= 2;
    return lanes;
}

void et_reduce_choose(const et_product_cx *g, const et_step *s, bool reuse, et_reduce_plan *out) {
    enum { MANY = 8 };          /* in long rows more, for fewer round trips to memory */
    enum { SIDE_BY_SIDE = 32 }; /* rows of which the same bits come whatever lanes have them */
    et_reduce_loop l = et_reduce_loop_of(g, s);
    struct neighbours n = compare(g, &l);
    int lanes = most_lanes(g, &l), v = ET_REDUCE_VECTOR;
    bool several = lanes > g->t->wave, adjacent = !several && n.adjacent;
    if (g->orders && (l.extent < 1 || l.extent > SIDE_BY_SIDE)) adjacent = false;
    *out = (et_reduce_plan){true, lanes, 1, UNROLL, 1, 1, 0, reuse};
    if (l.extent < 1 && !adjacent) {
        if (g->orders) share_order(g, &l, out);
        return;
    }
    while (l.extent < 1 ? v > 1 : l.extent % v)
        v /= 2;
    if (s->red == ET_RED_TOP)
        out->lanes = lanes_of_top(g, &l, v);
    else if (!several)
        out->lanes = lanes_of(g, &l, v, adjacent);
    while (v > 2 && l.extent / v * 2 <= out->lanes) /* a pair is added in one lane everywhere */
        v /= 2;
    out->vector = v;
    /* A launch alone knows how long these rows are: one lane has all of each. */
    bool unknown = l.extent < 1 && out->lanes == 1;
    if (unknown || (l.extent > 0 && l.extent / v >= MANY * out->lanes)) out->unroll = MANY;
    if (adjacent && n.gathered) out->wide = wide_of(g, &l, out);
    bool straight = l.extent > 0 && l.extent / v <= out->lanes;
    while (out->wide == 1 && straight && et_reduce_may_rows(g, &l, out->lanes, 2 * out->rows))
        out->rows *= 2;
    if (g->orders) share_order(g, &l, out);
}
