/* Columns of an operand for k's that share a scale.
 *
 * A product by few rows has an operand of eight columns, of which a single row needs one. Where a
 * lane's k's are such that the lanes of a unit have k's of several runs, each run has a column of
 * its own: there are the row's elements of that run, and zeros elsewhere. So one instruction keeps
 * apart the sums of up to eight runs, of which each is scaled once, and a lane may have as many k's
 * as one load brings. Units whose runs have a column each are a turn. */
#include "ir/product/product.h"
#include "ir/weights/scaled.h"

enum { COLUMNS = 8, VALUES = 2 /* of a lane */ };

int et_runs_of(const et_product_cx *g, const et_mainloop *c) {
    const et_fragment *f16 = et_target_fragment(g->t, ET_F16);
    int run = 0;
    if (!c->streamed || !c->late || c->s->operand != ET_BF16 || et_most_rows(g, c->s) != 1 ||
        !f16 || !f16->few || !f16->few->layout || f16->few->layout->m.value[0])
        return 0;
    for (int i = 0; i < c->s->nacc; i++) {
        et_auxiliary_load b[ET_MOST_AUXILIARY];
        int n = et_stream_auxiliary(g->p, c->s, i, b), least = 0;
        for (int j = 0; j < n; j++)
            if (b[j].group > 1 && (!least || b[j].group < least)) least = b[j].group;
        if (!least || (run && run != least)) return 0;
        run = least;
    }
    return run >= COLUMNS ? run : 0;
}

int et_runs_units(const et_mainloop *c) {
    return COLUMNS * c->run / c->unit_k > 1 ? COLUMNS * c->run / c->unit_k : 1;
}

/* Of a wave's part of a chunk. */
static int turns(const et_mainloop *c) {
    return (c->units + et_runs_units(c) - 1) / et_runs_units(c);
}

int et_runs_here(const et_mainloop *c, int turn) {
    int units = et_runs_units(c), left = c->units - turn * units;
    return (left < units ? left : units) * c->unit_k / c->run;
}

et_expr et_runs_k(const et_product_cx *g, const et_mainloop *c, int turn, int v) {
    const et_computed *d = c->computed;
    et_exprs *x = g->x;
    et_expr column = et_add(x, et_var(x, d->column), et_int(x, v));
    et_expr k = et_add(x, et_int(x, (int64_t)turn * COLUMNS * c->run),
                       et_mul(x, column, et_int(x, c->run)));
    k = et_add(x, k, et_mul(x, et_var(x, d->chunk), et_int(x, c->kc)));
    return et_add(x, k, et_mul(x, et_var(x, d->part), et_int(x, c->kc / c->s->wk)));
}

/* LOAD, of all of a turn's runs or for each of the lane's columns; false where there is no room. */
static bool add(const et_product_cx *g, const et_mainloop *c, et_computed *d, int i, et_expr load,
                int turn, et_columns columns) {
    if (d->count[i] == ET_MAX_RAWS) return false;
    et_expr k = et_runs_k(g, c, turn, columns == ET_COLUMNS_SECOND);
    d->raw[i][d->count[i]++] = (et_raw){.load = load,
                                        .node = et_subst_var(g->x, load, c->s->kvar, k),
                                        .u = turn * et_runs_units(c),
                                        .n = 1,
                                        .side = et_mainloop_auxiliary(c, i, load),
                                        .columns = columns};
    return true;
}

static bool add_all(const et_product_cx *g, const et_mainloop *c, et_computed *d, int i,
                    et_expr load, const et_auxiliary *side) {
    int part = c->kc / c->s->wk, turn = COLUMNS * c->run;
    /* No turn begins in the middle of what shares an element, and ends in the next. */
    bool inside = side->group % turn == 0 && (part % turn == 0 || side->group % part == 0);
    bool ok = inside || side->group == c->run;
    for (int t = 0; t < turns(c) && ok; t++)
        if (inside)
            ok = add(g, c, d, i, load, t, ET_COLUMNS_ALL);
        else if (part % (VALUES * c->run) == 0)
            ok = add(g, c, d, i, load, t, ET_COLUMNS_BOTH);
        else
            ok = add(g, c, d, i, load, t, ET_COLUMNS_FIRST) &&
                 add(g, c, d, i, load, t, ET_COLUMNS_SECOND);
    return ok;
}

bool et_runs_raws(const et_product_cx *g, const et_mainloop *c, et_computed *d, int i,
                  const et_loads *l) {
    if (COLUMNS * c->run % c->unit_k || c->unit_k % c->run) return false;
    for (int o = 0; o < l->n; o++) {
        if (et_expr_eq(d->streamed[i], l->load[o])) continue;
        const et_auxiliary *side = et_mainloop_auxiliary(c, i, l->load[o]);
        if (!side || (side->group > 1 && !add_all(g, c, d, i, l->load[o], side))) return false;
    }
    return true;
}
