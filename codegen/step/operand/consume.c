/* Weights of the weight stream: the layout of a chunk in its stage, and a lane's reads of it.
 *
 * A stage holds the rows of a chunk, those of each product in turn, without gaps. In every second
 * row pieces change places with their neighbours 64 bytes away, and where the lanes of a row read
 * less than that at a time, in others also with those 32 and 16 bytes away: lanes that read the
 * same k of several rows at a time then find them in different banks. */
#include "codegen/step/operand/operand.h"

enum { PIECE = ET_RING_PIECE };

/* The swizzle of a row: the bits of an offset that are flipped where the row's number has bit I, of
 * the bits in which lanes that read at the same time differ, and which bit that is; 0: none. */
static int swap_of(const cg *g, const et_contract *c, int i, int *out_bit) {
    int swap = ET_STREAM_SWAP >> i, lanes = g->t->wave == 64 ? 6 : 5;
    if (et_stream_row_bytes(&c->p) % (2 * ET_STREAM_SWAP) || swap < PIECE ||
        (i && swap < (c->p.in_steps ? c->p.unit_k / 2 : c->p.unit_k) * c->p.bits / 8))
        return 0;
    for (int l = 0; l < lanes; l++) {
        *out_bit = c->p.fr->layout->n.lane[l];
        if (*out_bit && i-- == 0) return swap;
    }
    return 0;
}

val cg_contract_swapped(cg *g, const et_contract *c, val row) {
    val all = cg_i32(g, 0);
    int swap, bit;
    for (int i = 0; (swap = swap_of(g, c, i, &bit)); i++) {
        val is = LLVMBuildAnd(g->b, row, cg_i32(g, bit), "");
        val by = swap >= bit ? cg_muli(g, is, swap / bit)
                             : LLVMBuildLShr(g->b, is, cg_i32(g, __builtin_ctz(bit / swap)), "");
        all = i ? LLVMBuildOr(g->b, all, by, "") : by;
    }
    return all;
}

/* The same of a row that is known. */
int cg_contract_swap(const cg *g, const et_contract *c, int row) {
    int all = 0, swap, bit;
    for (int i = 0; (swap = swap_of(g, c, i, &bit)); i++)
        all |= row & bit ? swap : 0;
    return all;
}

val cg_contract_from_stage(cg *g, const et_contract *c, val stage, int i, int n, val k, int bits) {
    int64_t place = n / c->p.rows_n * 16 + et_deal_value(&c->p.fr->layout->n, n % c->p.rows_n);
    val of_lane = cg_addi(g, c->at.lane_n, place);
    val row = cg_addi(g, cg_add(g, c->at.n0, of_lane), (int64_t)i * c->p.s->tn);
    val begin = cg_gep(g, stage, cg_muli(g, row, et_stream_row_bytes(&c->p)));
    val at = c->p.bits < 8 ? LLVMBuildLShr(g->b, k, cg_i32(g, c->p.bits == 4 ? 1 : 2), "")
                           : cg_muli(g, k, c->p.bits / 8);
    at = LLVMBuildXor(g->b, at, cg_contract_swapped(g, c, of_lane), "");
    val v = LLVMBuildLoad2(g->b, cg_words(g, bits), cg_gep(g, begin, at), "");
    LLVMSetAlignment(v, (unsigned)bits / 8);
    return v;
}

void cg_contract_consume(cg *g, const et_contract *c, val *out) {
    cg_ring r = cg_ring_next(g, &g->consumer);
    cg_ring_consumer_wait(g, &r);
    val stage = cg_ring_stage(g, &r), k0 = cg_add(g, c->at.kpart, c->at.lane_k0), words[16];
    for (int u = 0; u < c->p.units; u++)
        for (int i = 0; i < c->p.products; i++)
            for (int n = 0; n < c->p.nsub * c->p.rows_n; n++) {
                int per = c->p.piece * c->p.size / 4, count = 0;
                if (c->p.in_steps) {
                    val half[2];
                    for (int h = 0; h < 2; h++) {
                        val at = cg_addi(g, k0, (int64_t)(2 * u + h) * c->p.unit_k / 2);
                        half[h] = cg_contract_from_stage(g, c, stage, i, n, at, 64);
                    }
                    *out++ = cg_contract_halves(g, half[0], half[1]);
                    continue;
                }
                for (int k = 0; k < c->p.lane_k; k += c->p.piece) {
                    val at = cg_addi(g, k0, (int64_t)u * c->p.unit_k + k);
                    val v = cg_contract_from_stage(g, c, stage, i, n, at, 32 * per);
                    for (int w = 0; w < per; w++)
                        words[count++] = cg_extract(g, v, w);
                }
                *out++ = cg_vector(g, g->i32, count, words);
            }
    cg_ring_consumer_release(g, &r);
}

void cg_contract_consume_none(cg *g, val any) {
    cg_if none;
    cg_if_begin(g, &none, cg_icmp(g, LLVMIntEQ, cg_uniform(g, any), cg_i32(g, 0)));
    for (int i = 0; i < g->producers; i++) {
        cg_ring r = cg_ring_next(g, &g->consumer);
        cg_ring_consumer_wait(g, &r);
        cg_ring_consumer_release(g, &r);
    }
    cg_if_end(g, &none);
}
