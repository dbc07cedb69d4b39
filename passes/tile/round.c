/* Groups without products that follow one another and do not need one another's results run at the
 * same time, but each CU does its tiles of one after those of another, and what a tile costs beside
 * its elements is as much as a few thousand of these take. So where there is little to do they
 * share the CUs, and together take one round. */
#include "ir/program/step.h"
#include "passes/cost/cost.h"
#include "passes/tile/tiler.h"

enum {
    MOST_BESIDE = 8,
    STORE = 8,            /* operations of an element beside its value */
    MOST_ELEMENTS = 4096, /* of a tile: more of them take longer than a second tile costs */
};

static bool reads(const et_program *p, et_group *gr, int tensor) {
    et_expr *e[ET_GROUP_EXPRS];
    for (int i = 0, n = et_group_exprs(gr, e); i < n; i++)
        if (et_expr_loads_tensor(p->g->exprs, *e[i], tensor)) return true;
    return false;
}

static bool in_order(const et_program *p, et_group *a, et_group *b) {
    return a->to.id == b->to.id || reads(p, a, b->to.id) || reads(p, b, a->to.id);
}

/* Does item I belong to those beside ITEM, items FROM to TO - 1? */
static bool joins(const et_program *p, int i, int from, int to, const et_group *gr) {
    if (p->items[i].kind != ET_P_GRID) return false;
    et_group *o = &p->groups[p->items[i].index];
    if (o->kind != ET_GROUP_STORE || o->nproduct || o->loop != gr->loop ||
        o->to.space != ET_LOAD_TENSOR)
        return false;
    for (int k = from; k < to; k++)
        if (in_order(p, o, &p->groups[p->items[k].index])) return false;
    return true;
}

static double elements(const et_program *p, const et_group *gr) {
    const et_exprs *x = p->g->exprs;
    double n = 1;
    for (int d = 0; d < gr->rank; d++) {
        int64_t lo, hi;
        n *= et_bounds(x, et_var_extent(x, gr->axis[d]), &lo, &hi) ? (double)hi : 1;
    }
    return n;
}

/* The operations and bytes of a group. */
static double work(const et_program *p, const et_group *gr) {
    et_element_cost each = et_element_of(p, gr->value);
    return elements(p, gr) * (each.ops + each.bytes + STORE);
}

/* Half as many tiles for the group whose tiles are the smallest, until each has a CU of its own;
 * and then twice as many for that with the largest that can. */
static void deal_out(const double *work, int *tiles, int n, int cus) {
    int all = 0;
    for (int i = 0; i < n; i++) {
        for (tiles[i] = 1; tiles[i] * 2 <= cus;)
            tiles[i] *= 2;
        all += tiles[i];
    }
    while (all > cus) {
        int least = -1;
        for (int i = 0; i < n; i++)
            if (tiles[i] > 1 && (least < 0 || work[i] / tiles[i] < work[least] / tiles[least]))
                least = i;
        if (least < 0) return;
        all -= tiles[least] /= 2;
    }
    for (int most = 0; most >= 0;) {
        most = -1;
        for (int i = 0; i < n; i++)
            if (all + tiles[i] <= cus &&
                (most < 0 || work[i] / tiles[i] > work[most] / tiles[most]))
                most = i;
        if (most >= 0) all += tiles[most], tiles[most] *= 2;
    }
}

/* The item that is the group; -1: it is none of the program's. */
static int item_of(const et_program *p, const et_group *gr) {
    if (!p->ngroups || gr < p->groups || gr >= p->groups + p->ngroups) return -1;
    int group = (int)(gr - p->groups), *item = &p->groups[group].item;
    for (int i = 0; i < p->nitems; i++, *item = *item + 1 < p->nitems ? *item + 1 : 0)
        if (*item < p->nitems && p->items[*item].kind == ET_P_GRID &&
            p->items[*item].index == group)
            return *item;
    return -1;
}

int et_tile_own_cus(const et_program *p, const et_group *gr, int cus) {
    int item = item_of(p, gr), tiles[MOST_BESIDE];
    double each[MOST_BESIDE];
    if (item < 0 || !joins(p, item, 0, 0, gr)) return cus;
    int from = item, to = item + 1;
    while (from > 0 && to - from < MOST_BESIDE && joins(p, from - 1, from, to, gr))
        from--;
    while (to < p->nitems && to - from < MOST_BESIDE && joins(p, to, from, to, gr))
        to++;
    if (to - from == 1) return cus;
    for (int i = from; i < to; i++)
        each[i - from] = work(p, &p->groups[p->items[i].index]);
    deal_out(each, tiles, to - from, cus);
    for (int i = from; i < to; i++)
        if (elements(p, &p->groups[p->items[i].index]) > MOST_ELEMENTS * (double)tiles[i - from])
            return cus;
    return tiles[item - from];
}
