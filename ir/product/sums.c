/* Sums of which each wave has those of its part of k. They lie one behind the other in local
 * memory. Mostly maps follow that read each of them once: then whoever reads one adds up its parts,
 * in the order of the waves, and there is no step of all waves and no barrier for that alone. */
#include "ir/product/product.h"

struct readers {
    const et_product_cx *g;
    const et_step *product;
    const et_step *map; /* the one step that reads sums, */
    int loads;          /* so many times */
    bool otherwise; /* something else reads or writes them, or not just those of the first part */
};

static bool is_sum(const et_step *s, int space, int id) {
    bool is = false;
    for (int i = 0; i < s->nacc; i++)
        is |= space == ET_LOAD_LOCAL && s->acc[i] == id;
    return is;
}

struct reader {
    struct readers *r;
    const et_step *s;
};

static void find(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    const struct reader *of = ctx;
    struct readers *r = of->r;
    int64_t part;
    if (!is_sum(r->product, space, id)) return;
    if (is_store || of->s->kind != ET_STEP_MAP || (r->map && r->map != of->s) ||
        !et_is_int(r->g->x, index[0], &part) || part) {
        r->otherwise = true;
        return;
    }
    r->map = of->s;
    r->loads++;
}

/* How many elements MAP has at most; -1 where nobody knows. */
static int64_t elements(const et_product_cx *g, const et_step *map) {
    int64_t n = 1, lo, hi;
    for (int i = 0; i < map->nvars; i++) {
        if (!et_bounds(g->x, et_var_extent(g->x, map->vars[i]), &lo, &hi)) return -1;
        n *= hi;
    }
    return n;
}

bool et_sums_as_read(const et_product_cx *g, const et_step *s) {
    enum { TWICE = 2 }; /* as rotations do */
    struct readers r = {.g = g, .product = s};
    bool after = false;
    for (int i = 0; i < g->f->nsteps; i++) {
        const et_step *step = &g->f->steps[i];
        if (step != s) et_step_touches(g->x, step, find, &(struct reader){&r, step});
        after |= step == s;
        if (r.map == step && !after) r.otherwise = true;
    }
    if (r.otherwise || !r.map || r.loads > TWICE * s->nacc) return false;
    int64_t n = elements(g, r.map);
    return n >= 0 && n <= (int64_t)s->tm * s->tn;
}
