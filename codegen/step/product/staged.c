/* Products whose weights are not k-major: both operands are staged in local memory, a chunk at a
 * time. */
#include "codegen/step/product/rows.h"
#include "codegen/step/product/weights.h"
#include <string.h>

/* The rows of sixteen staged ones that this lane holds, ROW the first. */
static void staged_fragment(cg *g, const et_contract *c, const et_deal *deal, int local, int pitch,
                            val row, val k, val *out) {
    for (int i = 0; i < et_deal_values(deal); i++)
        out[i] = cg_contract_staged(g, c, local, pitch, cg_addi(g, row, et_deal_value(deal, i)), k);
}

static void multiply_staged(cg *g, const et_contract *c, int i, int ms, val k, int units,
                            val *acc) {
    const et_step *s = c->p.s;
    const et_layout *l = c->p.fr->layout;
    int pitch_b = g->f->locals[s->stage_b].pitch;
    for (int u = 0; u < units; u++) {
        val ku = cg_addi(g, k, (int64_t)u * c->p.unit_k);
        val m = cg_addi(g, c->at.lane_m, (int64_t)16 * ms);
        val a[ET_MAX_ROWS], b[ET_MAX_ROWS];
        staged_fragment(g, c, &l->m, s->stage_a, c->p.pitch_a, m, ku, a);
        for (int ns = 0; ns < c->p.nsub; ns++) {
            val n = cg_add(g, cg_addi(g, c->at.n0, (int64_t)16 * ns), c->at.lane_n);
            staged_fragment(g, c, &l->n, s->stage_b, pitch_b, n, ku, b);
            val *sum = &acc[cg_contract_sum(c, i, ms, ns)];
            *sum = cg_contract_product(g, c, b, a, *sum);
        }
    }
}

static void live_pieces(cg *g, const et_contract *c, int i, val k, int units, val *acc) {
    for (int ms = 0; ms < c->p.msub; ms++) {
        val old[ET_MAX_SUMS];
        memcpy(old, acc, (size_t)et_mainloop_sums(&c->p) * sizeof *old);
        cg_if live;
        if (ms) cg_if_begin(g, &live, cg_icmp(g, LLVMIntSLT, cg_i32(g, 16 * ms), c->now.mlive));
        multiply_staged(g, c, i, ms, k, units, acc);
        if (!ms) continue;
        cg_if_end(g, &live);
        for (int ns = 0; ns < c->p.nsub; ns++) {
            int at = cg_contract_sum(c, i, ms, ns);
            acc[at] = cg_if_value(g, &live, acc[at], old[at]);
        }
    }
}

static void one_staged(cg *g, const et_contract *c, int i, val chunk, val *acc) {
    const et_step *s = c->p.s;
    int pitch_b = g->f->locals[s->stage_b].pitch, units = c->p.units, some = units < 4 ? units : 4;
    while (units % some)
        some--;
    et_staging st = {s->b[i], s->nvar, s->tn, NULL, c->now.nlive, s->stage_b, pitch_b,
                     chunk,   NULL,    NULL,  0,    false,        false};
    cg_contract_stage(g, c, &st);
    cg_barrier(g);
    val u = cg_i32(g, 0);
    cg_for f;
    if (units > some)
        u = cg_for_begin(g, &f, u, cg_i32(g, units), cg_i32(g, some), true, et_mainloop_sums(&c->p),
                         acc);
    live_pieces(g, c, i, cg_add(g, c->at.kpart, cg_muli(g, u, c->p.unit_k)), some, acc);
    if (units > some) cg_for_end(g, &f, acc);
}

void cg_contract_staged_chunks(cg *g, const et_contract *c, val chunks, val *acc) {
    const et_step *s = c->p.s;
    val chunk = cg_i32(g, 0);
    cg_for f;
    if (c->p.chunks != 1) {
        chunk = cg_for_begin(g, &f, chunk, chunks, cg_i32(g, 1), c->p.chunks > 0,
                             et_mainloop_sums(&c->p), acc);
        cg_barrier(g);
    }
    et_staging st = {s->a,  s->mvar, s->tm, NULL, c->now.mlive, s->stage_a, c->p.pitch_a,
                     chunk, NULL,    NULL,  0,    false,        false};
    cg_contract_stage(g, c, &st);
    for (int i = 0; i < s->nacc; i++) {
        if (i) cg_barrier(g); /* the rows of the product before have been read */
        one_staged(g, c, i, chunk, acc);
    }
    if (c->p.chunks != 1) cg_for_end(g, &f, acc);
}
