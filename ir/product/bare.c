/* Quantised values as bf16, exactly and without their scale, by two to sixteen rows: sums of k's
 * that share a scale are multiplied by it. A lane has eight k's of a unit, so that all lanes' share
 * one; or half of the lanes', where the unit has two parts. What the k's of a wave's part share
 * comes from a stage as whole words. */
#include "ir/product/product.h"
#include "ir/weights/scaled.h"

enum { ROWS = 16, LANE = 8 /* k's */, HIGH_APART = 4, PIECE = 16, MOST_ADDED = 64, PARTS = 2 };

bool et_bare_may(const et_product_cx *g, const et_mainloop *c) {
    int64_t rows = et_most_rows(g, c->s);
    return c->streamed && c->late && c->s->operand == ET_BF16 && g->t->bare && rows > 1 &&
           rows <= ROWS && !et_is_without(g->without, ET_FEATURE_F16);
}

int et_bare_parts(const et_mainloop *c) {
    int least = c->unit_k;
    for (int i = 0; i < c->s->nacc; i++)
        for (int j = 0; j < c->auxiliary->count[i]; j++) {
            int group = c->auxiliary->of[i][j].group;
            if (group > 1 && group < least) least = group;
        }
    return c->unit_k / least;
}

et_expr et_bare_k(const et_product_cx *g, const et_mainloop *c, int u, int part) {
    int each = et_layout_groups(c->fr->layout) / et_bare_parts(c);
    return et_subst_var(g->x, et_computed_k(g, c, u), c->computed->group,
                        et_int(g->x, (int64_t)part * each));
}

static bool add(et_computed *d, int i, et_raw r) {
    if (d->count[i] == ET_MAX_RAWS) return false;
    d->raw[i][d->count[i]++] = r;
    return true;
}

/* The elements of LOAD that the k's of the wave's part share, as few loads as may be. */
static bool add_all(const et_product_cx *g, const et_mainloop *c, et_computed *d, int i,
                    et_expr load, const et_auxiliary *side) {
    int part = c->kc / c->s->wk, n = part / side->group, each = 1;
    int size = et_dtype_bits(g->p->tensors[et_x(g->x, load)->i].shape.dtype) / 8;
    bool inside = side->group % part == 0, whole = part % side->group == 0;
    if (!size || !(inside || whole) || (side->group % c->unit_k && c->unit_k % side->group))
        return false;
    if (inside) n = 1;
    while (!side->wide && 2 * each * size <= PIECE && n % (2 * each) == 0 &&
           side->pitch % (2 * each * size) == 0)
        each *= 2;
    for (int at = 0; at < n; at += each)
        if (!add(d, i, (et_raw){.load = load, .n = 1, .side = side, .first = at, .each = each}))
            return false;
    return true;
}

bool et_bare_raws(const et_product_cx *g, const et_mainloop *c, et_computed *d, int i,
                  const et_loads *l) {
    if (et_bare_parts(c) > PARTS) return false;
    for (int o = 0; o < l->n; o++) {
        if (et_expr_eq(d->streamed[i], l->load[o])) continue;
        const et_auxiliary *side = et_mainloop_auxiliary(c, i, l->load[o]);
        if (!side || (side->group > 1 && !add_all(g, c, d, i, l->load[o], side))) return false;
    }
    return true;
}

/* Is product I values of one type for all, times scales and plus minima that a unit's k's share? */
static bool suits(const et_product_cx *g, const et_mainloop *c, int i) {
    et_scaled s;
    if (!et_decode_scaled(g, c, i, &s) || s.n || !s.times.id ||
        !et_expr_has_var(g->x, s.times, c->s->kvar))
        return false;
    et_dtype type = et_decode_type(g, c, i);
    if (!g->t->decode[type].bf16 || type != et_decode_type(g, c, 0) ||
        s.more != et_decode_more(g, c) || s.more < -MOST_ADDED || s.more > MOST_ADDED)
        return false;
    int parts = et_bare_parts(c), run = c->unit_k / parts;
    for (int u = 0; u < c->units * parts; u++) {
        et_expr k = et_bare_k(g, c, u / parts, u % parts);
        if (!et_same_in_run(g->x, s.times, c->s->kvar, k, run).id ||
            (s.plus.id && !et_same_in_run(g->x, s.plus, c->s->kvar, k, run).id))
            return false;
    }
    return true;
}

bool et_decode_bf16(const et_product_cx *g, et_mainloop *c) {
    if (!et_bare_may(g, c) || !c->computed || c->zeros || c->rows_ahead || c->msub > 1 ||
        c->lane_k != LANE || et_decode_pairs(g, c))
        return false;
    for (int i = 0; i < c->s->nacc; i++)
        if (!suits(g, c, i)) return false;
    c->unscaled = c->bf16 = true;
    c->pair_gap = et_decode_apart(g, c) ? HIGH_APART : 0;
    c->times = 1;
    c->sets = 1;
    c->fr = &g->t->bare[et_most_rows(g, c->s) > 8];
    c->sums = c->fr->layout;
    c->rows_m = et_deal_values(&c->fr->layout->m);
    return true;
}
