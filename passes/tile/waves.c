/* waves.c - which waves of a tile have which columns of a product, and which parts of k. */
#include "passes/pipeline/pipeline.h"
#include "passes/tile/contract.h"

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
