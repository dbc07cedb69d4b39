/* The rows of a of products with few of them, straight from memory to registers.
 *
 * Where waves share a tile's k and none of its columns, each element of a is read by one wave, and
 * LDS would only add a trip to the L2 and two barriers a chunk, or limit the bytes in flight.
 * Registers have more room, and no wave waits for another. Each lane loads its fragments some
 * chunks ahead. Rows that do not exist are the last one again: their sums are not stored. */
#include "codegen/step/product/rows.h"

/* Addresses, and the rows of each chunk in registers or in flight; number TURN is multiplied now.
 */
struct et_own {
    cg_addr row[ET_MAX_ROWS];
    val *of;
    int turn;
};

/* Fragments of a chunk. */
static int fragments(const et_contract *c) {
    return c->p.units * c->p.msub * c->p.rows_m;
}

static void load(cg *g, const et_contract *c, val chunk, val *out) {
    val k0 = cg_add(g, cg_muli(g, chunk, c->p.kc), c->at.kpart);
    for (int u = 0; u < c->p.units; u++)
        for (int i = 0; i < c->p.msub * c->p.rows_m; i++)
            *out++ = cg_contract_fragment(g, c, &c->now.own->row[i], k0, u);
}

int cg_rows_own_begin(cg *g, et_contract *c, val *carried) {
    struct et_own *o = c->now.own = et_alloc(g->arena, sizeof *c->now.own);
    val last = cg_addi(g, c->now.mlive, -1);
    for (int ms = 0; ms < c->p.msub; ms++)
        for (int i = 0; i < c->p.rows_m; i++) {
            int64_t place = 16 * ms + et_deal_value(&c->p.fr->layout->m, i);
            val row = cg_addi(g, c->at.lane_m, place);
            row = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){row, last});
            row = cg_call(g, "llvm.smax", 1, &g->i32, 2, (val[]){row, cg_i32(g, 0)});
            o->row[ms * c->p.rows_m + i] = cg_contract_row(g, c, c->p.s->a, c->p.s->mvar, row);
        }
    o->of = carried + et_mainloop_sums(&c->p) + c->p.nload;
    for (int i = 0; i < c->p.rows_own; i++)
        load(g, c, cg_i32(g, i), o->of + (ptrdiff_t)i * fragments(c));
    cg_barrier(g); /* what the tile before left in LDS has been read */
    return c->p.rows_own * fragments(c);
}

val *cg_rows_own_fragments(const et_contract *c) {
    return c->now.own->of + (ptrdiff_t)c->now.own->turn * fragments(c);
}

void cg_rows_own_next(cg *g, const et_contract *c, val chunk) {
    val *of = cg_rows_own_fragments(c);
    cg_if more;
    if (c->p.chunks <= c->p.rows_own) return;
    chunk = cg_addi(g, chunk, c->p.rows_own);
    cg_if_begin(g, &more, cg_icmp(g, LLVMIntSLT, chunk, c->now.nchunks));
    load(g, c, chunk, of);
    cg_if_end(g, &more);
    for (int i = 0; i < fragments(c); i++)
        of[i] = cg_if_value(g, &more, of[i], LLVMGetPoison(LLVMTypeOf(of[i])));
}

void cg_rows_own_select(const et_contract *c, int turn) {
    c->now.own->turn = turn;
}
