/* Which plan an attention gets. Where several would do, the order of preference is written here. */
#include "passes/product/product.h"

static int least(int a, int b) {
    return a < b ? a : b;
}

/* Several rows: as many waves share sixteen of them as there are, so that none is idle. */
static void choose_rows(const et_product_cx *g, const et_attend_loop *l, et_attend_plan *w) {
    w->waves = 1;
    while (et_attend_may_share(g, l, 2 * w->waves))
        w->waves *= 2;
    w->by = et_attend_may_group(g, l, w->waves) ? ET_ATTEND_BY_WARPGROUP : ET_ATTEND_BY_ROWS;
    w->block = (et_attend_block){ET_ATTEND_BLOCK, 2};
    w->alone = et_attend_may_alone(g, l->s);
}

/* Few heads leave registers for more positions, and for those that come after them. */
static et_attend_block block_of(const et_product_cx *g, const et_step *s, int heads, int lane_d) {
    enum { FEW = 4 * ET_ATTEND_EACH }; /* elements of all heads in a lane */
    bool few = heads * lane_d <= FEW;
    int n = (few ? ET_ATTEND_POSITIONS : ET_ATTEND_POSITIONS / 2) * ET_ATTEND_EACH / lane_d;
    if (n < 1) n = 1;
    return (et_attend_block){n, few && et_attend_may_double(g, s, n, lane_d) ? 2 : 1};
}

/* As few elements in a lane as a wave has lanes for, so that lanes have different positions. */
static void choose_lanes(const et_product_cx *g, const et_step *s, et_attend_plan *w) {
    w->by = ET_ATTEND_BY_LANES;
    w->lane_d = ET_ATTEND_EACH;
    while (g->t->wave * w->lane_d < s->depth)
        w->lane_d *= 2;
    w->heads = least(s->heads, ET_ATTEND_HEADS * ET_ATTEND_EACH / w->lane_d);
    w->block = block_of(g, s, w->heads, w->lane_d);
    if (s->heads % w->heads) w->rest = block_of(g, s, s->heads % w->heads, w->lane_d);
}

static void choose_columns(const et_step *s, et_attend_plan *w) {
    w->by = ET_ATTEND_BY_COLUMNS;
    w->heads = least(s->heads, ET_ATTEND_HEADS);
    w->block = (et_attend_block){ET_ATTEND_COLUMNS_P, 2};
}

/* Knowing the first run of rows takes two trips to memory and to other lanes, which pay where a
 * tile waits for weights that come anyway. */
static et_attend_early_as early_of(const et_product_cx *g, const et_step *s) {
    if (g->t->copies && et_attend_may_early(g, s, ET_ATTEND_EARLY_RUN)) return ET_ATTEND_EARLY_RUN;
    for (int how = ET_ATTEND_EARLY_PREFETCH; how > ET_ATTEND_EARLY_NONE; how--)
        if (et_attend_may_early(g, s, (et_attend_early_as)how)) return (et_attend_early_as)how;
    return ET_ATTEND_EARLY_NONE;
}

bool et_attend_choose(const et_product_cx *g, const et_step *s, et_attend_plan *out) {
    const char *why;
    et_attend_loop l;
    *out = (et_attend_plan){0};
    if (!et_attend_begin(g, s, &l, &why)) return false;
    if (et_attend_has_columns(g, s)) {
        if (!et_attend_may_columns(g, s)) return false;
        choose_columns(s, out);
    } else if (s->rows)
        choose_rows(g, &l, out);
    else if (et_attend_may_columns(g, s))
        choose_columns(s, out);
    else
        choose_lanes(g, s, out);
    if (g->stored) out->early = early_of(g, s);
    out->made = true;
    return true;
}
