/* waves.c - which waves of a tile have which columns of a product, which parts of k, and rows of
 * their own. */
#include "ir/product/product.h"
#include "passes/pipeline/pipeline.h"
#include "passes/tile/contract.h"

enum {
    MOST_ROWS = 32,    /* of a tile */
    MOST_COLUMNS = 48, /* of all its products */
    TOGETHER = 4,      /* rows that are staged together whatever waves do */
};

/* Of MOST waves that may share k as many as have whole units of it, where the weights of few rows
 * may stream: no stage of a stream has a chunk that is not full. The others multiply nothing. All
 * of them where that left more than half without work. */
static int waves_along_k(const et_contract_tiler *c, const et_step *s, int most) {
    const et_machine *m = c->t.opt->machine;
    int unit = m->k_bytes / et_dtype_bytes(s->operand), waves = most;
    int64_t k;
    if (!et_may_stream(c->t.opt) || m->dies > 1 || c->t.opt->same_sums ||
        et_cut_rows(c) > ET_TILE_FEW || !et_is_int(c->t.x, s->kextent, &k) || k % unit)
        return most;
    int64_t part = s->b[0].id ? et_k_part(c->t.p, s->b[0], s->kvar) : 0; /* a chunk is of one */
    if (part && part % unit == 0) k = part;
    while (k / unit % waves)
        waves--;
    return 2 * waves < most ? most : waves;
}

bool et_tile_deal_waves(const et_contract_tiler *c, et_step *s, bool own) {
    int waves = c->t.opt->machine->waves;
    s->wn = own ? 1 : waves;
    if (c->order) {
        s->wk = c->order->waves;
        s->wn = waves / s->wk;
        return s->wk * s->wn == waves && c->order->lane > 0 &&
               (c->narrow ? s->nacc * s->tn % (16 * s->wn) : (s->tn / 16) % s->wn) == 0;
    }
    while (c->narrow ? s->nacc * s->tn % (16 * s->wn) : (s->tn / 16) % s->wn)
        s->wn /= 2;
    s->wk = waves_along_k(c, s, waves / s->wn);
    return true;
}

/* Products whose waves each have a part of k to themselves, and all of a tile's columns.
 *
 * Where weights come ahead of a task, what it waits for are its rows. These go straight to the
 * registers of the wave whose k they have then, more of them in flight than local memory has
 * room for (codegen/step/product/rows_own.c). Each wave has sums of all columns then. Packed
 * weights need rows in another order than in memory, so these go through local memory then. */
bool et_tile_own_rows(const et_tiler *t, const et_step *s) {
    const et_machine *m = t->opt->machine;
    int unit = m->waves * m->k_bytes / et_dtype_bytes(s->operand);
    int64_t lo, rows, k;
    return et_may_stream(t->opt) && !t->opt->packed && s->tm <= MOST_ROWS &&
           s->nacc * s->tn <= MOST_COLUMNS && et_bounds(t->x, s->mlive, &lo, &rows) &&
           rows > TOGETHER && et_is_int(t->x, s->kextent, &k) && k % unit == 0 &&
           et_access_direct(t->p, &t->f, s, s->a, 16 / et_dtype_bytes(s->operand));
}
