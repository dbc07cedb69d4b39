/* What the tile that was built last is to the weight stream. */
#include "ir/program/step.h"
#include "ir/weights/stream.h"
#include "passes/tile/contract.h"

/* The function has one. */
const et_step *et_tile_product_of(const et_func *f) {
    const et_step *s = &f->steps[0];
    while (s->kind != ET_STEP_CONTRACT)
        s++;
    return s;
}

/* Of few rows, whose weights stream as they are? */
static bool streams(const et_contract_tiler *c) {
    return c->plain && et_may_stream(c->t.opt) && c->t.opt->machine->dies == 1 &&
           et_cut_rows(c) <= ET_TILE_FEW && et_stream_step(c->t.p, &c->t.f) >= 0;
}

/* The function just built is the grid's, without being the program's. */
void et_tile_lend(et_contract_tiler *c) {
    et_program *p = c->t.p;
    ET_GROW(p->g->arena, p->funcs, p->nfuncs, p->cfuncs);
    p->funcs[p->nfuncs] = c->t.f;
    c->t.grid.func = p->nfuncs;
}

/* Are waves left without a part of k where that does not pay? It does in tiles that all run at
 * once, which are on more CUs. */
static bool wastes_waves(et_contract_tiler *c) {
    const et_step *s = et_tile_product_of(&c->t.f);
    int64_t lo, tiles;
    if (s->wn * s->wk * s->wm == c->t.opt->machine->waves) return false;
    et_tile_lend(c);
    return et_bounds(c->t.x, et_grid_tiles(c->t.p, &c->t.grid), &lo, &tiles) && tiles > c->cus;
}

/* Are its weights kept from the weight stream? Those that are computed are where the last tile has
 * fewer columns: then every lane loads what it multiplies itself, scales a byte at a time. Others
 * are where waves cannot share the k: 2880 is no multiple of what four of them take. */
bool et_tile_misses_stream(et_contract_tiler *c) {
    const et_machine *m = c->t.opt->machine;
    const et_step *s = et_tile_product_of(&c->t.f);
    if (!et_may_stream(c->t.opt) || m->dies > 1 || et_cut_rows(c) > ET_TILE_FEW) return false;
    if (wastes_waves(c)) return true;
    if (c->plain) return !et_product_use_of(c->t.p, &c->t.f, s, m).streamed;
    return !c->computed || et_stream_step(c->t.p, &c->t.f) < 0 || !et_stream_is_full(c->t.p, s);
}

/* Weights of chosen experts, which all CUs have waited for, streamed as they are or to be decoded?
 */
bool et_tile_streams_routed(et_contract_tiler *c) {
    bool routed = et_x(c->t.x, et_tile_product_of(&c->t.f)->kextent)->op == ET_X_SELECT;
    return routed && (streams(c) || (c->computed > 0 && et_may_stream(c->t.opt) &&
                                     c->t.opt->machine->dies == 1 && !et_tile_misses_stream(c)));
}

/* In so few rounds that CUs end each of them together? Not with quantised values, which keep a CU
 * busy beside memory, except where all CUs have waited for the router before. */
bool et_tile_has_few_rounds(et_contract_tiler *c) {
    enum { FEW_ROUNDS = 4 };
    int64_t lo, tiles;
    return (streams(c) || et_tile_streams_routed(c)) &&
           et_bounds(c->t.x, et_grid_tiles(c->t.p, &c->t.grid), &lo, &tiles) &&
           tiles <= FEW_ROUNDS * c->t.opt->machine->cus;
}

/* Have some tiles no k, so that how many run is known in a launch alone? Blocks of a single row are
 * as many as there are rows. */
bool et_tile_may_be_empty(const et_contract_tiler *c) {
    const et_step *s = et_tile_product_of(&c->t.f);
    return et_x(c->t.x, s->kextent)->op == ET_X_SELECT && et_cut_rows(c) > 1;
}

/* Has a stage of the weight stream less than a line of memory of each row? */
bool et_tile_splits_lines(et_contract_tiler *c) {
    enum { LINE = 128 };
    const et_step *s = et_tile_product_of(&c->t.f);
    return (streams(c) || et_tile_streams_routed(c)) &&
           (c->t.opt->machine->stream_kb << 10) / (s->nacc * s->tn) < LINE;
}
