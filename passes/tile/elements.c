/* Groups without a matrix product: elementwise work, reductions over rows, and both. */
#include "passes/tile/tiler.h"

enum {
    MIN_ELEMENTS = 256,   /* per tile, */
    MANY_ELEMENTS = 1024, /* as many where that is less than each CU has, */
    MAX_ELEMENTS = 8192, /* and these, so that each CU has one tile, when there is plenty of work */
    ROW_ELEMENTS = 4096, /* per tile that reduces long rows, */
    SHORT_ELEMENTS = 16384, /* and short ones */
    FEW_SUMS = 4,           /* elements of a tile that each add up a long row of their own, */
    OF_ONE_ROW = 2,         /* and where they are all of one row */
    LONG_ROW = 1024,        /* a reduction this long gets a tile of its own, */
    LONG_ROWS = 4,       /* or where each CU would have several in any launch so many share one, */
    MOST_LONG_ROWS = 16, /* or so many where products are of many rows, so that each CU has one */
    FEW_ROWS = 4,        /* per tile of shorter ones, in whatever launch */
    MANY_ROWS = 128,     /* or so many, if each CU has one tile in the largest launch */
    TILE_WORK = 1 << 16, /* elements that the reductions of a tile look at, where there are rows */
};

static int64_t upper(et_tiler *t, et_expr e) {
    int64_t lo, hi;
    return et_bounds(t->x, e, &lo, &hi) ? hi : INT64_MAX;
}

static int64_t lower(et_tiler *t, et_expr e) {
    int64_t lo, hi;
    return et_bounds(t->x, e, &lo, &hi) && lo > 0 ? lo : 1;
}

/* CUs that have tiles of the group: those of each device where its rows are dealt. */
static int cus_of(const et_tiler *t) {
    return t->opt->machine->cus * (t->gr->dealt ? t->p->g->devices : 1);
}

static int power_below(int64_t n) {
    int p = 1;
    while (p * 2 <= n)
        p *= 2;
    return p;
}

struct longest {
    et_tiler *t;
    int64_t extent;
    int64_t work; /* elements that a row's reductions look at */
    bool each;    /* every element of a row has one of its own: work-items share it by elements */
};

static void note_extent(void *ctx, et_expr e) {
    struct longest *l = ctx;
    const et_node_x *n = et_x(l->t->x, e);
    if (n->op != ET_X_REDUCE) return;
    int64_t hi = upper(l->t, n->ops[0]);
    l->extent = hi > l->extent ? hi : l->extent;
    int last = l->t->gr->rank - 1;
    bool of_element = last > 0 && n->i != ET_RED_TOP && /* whose places are found together */
                      et_expr_has_var(l->t->x, e, l->t->gr->axis[last]);
    int64_t each = of_element || n->i == ET_RED_TOP ? upper(l->t, et_tiler_extent(l->t, last)) : 1;
    l->each |= of_element;
    int64_t work = hi > INT32_MAX / each ? INT32_MAX : hi * each;
    l->work = work > l->work ? work : l->work;
}

static int power_above(int64_t n, int most) {
    int p = 1;
    while (p < n && p < most)
        p *= 2;
    return p;
}

struct parts {
    const et_tiler *t;
    bool any;
};

static void note_parts(void *ctx, et_expr e) {
    struct parts *s = ctx;
    const et_node_x *n = et_x(s->t->x, e);
    if (n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR) s->any |= s->t->p->tensors[n->i].flagged;
}

/* Does the group add up parts of large sums over devices? */
static bool reads_parts(const et_tiler *t) {
    struct parts s = {t, false};
    et_walk(t->x, t->gr->value, note_parts, &s);
    return s.any;
}

/* Elements per tile: enough for the work-items, few enough to spread over the device, and no more
 * tiles than that takes, since what a tile costs beside its elements is as much as a few thousand.
 */
static int64_t element_budget(et_tiler *t, const struct longest *l) {
    int64_t total = 1, cus = et_tile_own_cus(t->p, t->gr, cus_of(t));
    for (int d = 0; d < t->gr->rank; d++) {
        int64_t n = upper(t, et_tiler_extent(t, d));
        total = n > INT32_MAX / total ? INT32_MAX : total * n;
    }
    if (!l->extent || (l->each && l->extent <= LONG_ROW)) {
        int64_t share = total / (cus > 0 ? cus : 1);
        /* Of rows that are dealt a device has as many tiles that do nothing as others do. Parts of
         * sums over devices are there for all tiles at the same time, and what waits for these
         * waits for all of them. */
        bool once = t->gr->dealt || reads_parts(t);
        int most = once ? MOST_LONG_ROWS * MAX_ELEMENTS : MAX_ELEMENTS;
        if (share > MANY_ELEMENTS) return power_above(share, most);
        if (share > MIN_ELEMENTS && t->opt->machine->group_waves)
            return power_above(share, MANY_ELEMENTS);
        return share < MIN_ELEMENTS ? MIN_ELEMENTS : share;
    }
    if (l->each) { /* and each a long sum, which takes longer than others on the same CUs */
        cus = cus_of(t);
        int64_t share = (total + cus - 1) / (cus > 0 ? cus : 1);
        bool one = upper(t, et_tiler_extent(t, t->gr->rank - 1)) == total;
        int least = one ? OF_ONE_ROW : FEW_SUMS;
        return share < least ? least : power_above(share, ROW_ELEMENTS);
    }
    return l->extent > LONG_ROW ? ROW_ELEMENTS : SHORT_ELEMENTS;
}

/* Reductions per tile. What a tile costs beside its work, an event and a look for the next, is more
 * than a few short ones take, so where there are enough for all CUs a tile has more. */
static int64_t rows_of_tile(et_tiler *t, const struct longest *l) {
    const et_group *gr = t->gr;
    int64_t all = 1, least = 1, few = l->extent > LONG_ROW ? 1 : FEW_ROWS;
    int64_t cus = et_tile_own_cus(t->p, t->gr, cus_of(t));
    for (int d = 0; d < gr->rank; d++) {
        et_expr rows = d < gr->rank - 1 || gr->rank == 1 ? et_tiler_extent(t, d) : et_int(t->x, 1);
        int64_t n = upper(t, rows), lo = lower(t, rows);
        all = n > INT32_MAX / all ? INT32_MAX : all * n;
        least = lo > INT32_MAX / least ? INT32_MAX : least * lo;
    }
    int64_t share = all / (cus > 0 ? cus : 1);
    if (few == 1 && cus > 0 && t->opt->machine->group_waves && 2 * least > cus)
        return power_above((all + cus - 1) / cus, MOST_LONG_ROWS);
    if (few == 1 && (cus <= 0 || least <= cus)) return 1;
    if (few == 1) return power_below(all / cus < LONG_ROWS ? (all + cus - 1) / cus : LONG_ROWS);
    int64_t rows = share <= few ? few : power_above(share, MANY_ROWS);
    while (rows > 1 && rows * l->work > TILE_WORK)
        rows /= 2;
    return rows;
}

/* The function and the grid, of tiles of so many elements of each axis; false where its buffers
 * have no room. */
static bool cover(et_tiler *t, const int tile[ET_MAX_RANK]) {
    const et_group *gr = t->gr;
    for (int d = 0; d < gr->rank; d++)
        et_tiler_axis(t, d, tile[d]);
    int vars[ET_MAX_VARS], n = 0;
    for (int d = 0; d < gr->rank; d++)
        if (t->inner[d] >= 0) vars[n++] = t->inner[d];
    et_expr value = et_tiler_reductions(t, et_tiler_subst(t, gr->value), n, vars, -1);
    et_tiler_store(t, value);
    return t->f.lds_bytes <= t->opt->machine->lds_bytes;
}

/* The longest side to half, or less where tiles may not straddle slices; false where there is
 * nothing to halve. */
static bool halve(et_tiler *t, int tile[ET_MAX_RANK]) {
    int most = 0;
    for (int d = 1; d < t->gr->rank; d++)
        if (tile[d] > tile[most]) most = d;
    if (!t->gr->rank || tile[most] == 1) return false;
    do
        tile[most] = power_below(tile[most] - 1);
    while (tile[most] > 1 && et_tiler_straddles(t, most, tile[most]));
    return true;
}

bool et_tile_elements(const et_tiler *common, const et_group *gr) {
    et_tiler t = et_tiler_begin(common, gr);
    struct longest l = {.t = &t};
    et_walk(t.x, gr->value, note_extent, &l);
    int64_t left = element_budget(&t, &l), rows = rows_of_tile(&t, &l);
    if (l.extent > LONG_ROW && !l.each) left *= rows;
    int tile[ET_MAX_RANK];
    for (int d = gr->rank - 1; d >= 0; d--) {
        int64_t n = upper(&t, et_tiler_extent(&t, d)), most = left;
        /* Rows of one reduction are few: a wave each. */
        if (l.extent && et_expr_has_op(t.x, gr->value, ET_X_REDUCE) &&
            (d < gr->rank - 1 || gr->rank == 1))
            most = rows < left ? rows : left;
        tile[d] = n <= most ? (int)n : power_below(most > 0 ? most : 1);
        if (gr->tile[d]) tile[d] = gr->tile[d] < n ? gr->tile[d] : (int)n;
        if (gr->dealt && !d && tile[d] > t.p->deal_unit) tile[d] = t.p->deal_unit;
        while (tile[d] > 1 && et_tiler_straddles(&t, d, tile[d]))
            tile[d] = power_below(tile[d] - 1);
        left /= tile[d];
        if (l.extent && d < gr->rank - 1) rows /= tile[d] < rows ? tile[d] : rows;
        left = left > 0 ? left : 1;
        rows = rows > 0 ? rows : 1;
    }
    while (!cover(&t, tile) && halve(&t, tile))
        t = et_tiler_begin(common, gr);
    return et_tiler_end(&t);
}

bool et_tile_whole(const et_tiler *common, const et_group *gr, bool rows) {
    et_tiler t = et_tiler_begin(common, gr);
    struct longest l = {.t = &t};
    et_walk(t.x, gr->value, note_extent, &l);
    int64_t work = l.extent ? l.extent : 1;
    int tile[ET_MAX_RANK];
    for (int d = 0; d < gr->rank; d++) {
        int64_t n = rows && !d ? 1 : upper(&t, et_tiler_extent(&t, d));
        if (n < 1 || n > TILE_WORK / work) return false;
        work *= n;
        tile[d] = (int)n;
    }
    return cover(&t, tile) && et_tiler_end(&t);
}
