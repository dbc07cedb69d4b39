/* Weights of the weight stream: the layout of a chunk in its stage, and a lane's reads of it.
 *
 * A stage holds the rows of a chunk, those of each product in turn, without gaps. In every second
 * row pieces change places with their neighbours 64 bytes away, and where the lanes of a row read
 * less than that at a time, in others also with those 32 and 16 bytes away: lanes that read the
 * same k of several rows at a time then find them in different banks. */
#include "codegen/step/operand/operand.h"
#include <string.h>

enum { PIECE = ET_RING_PIECE };

/* The swizzle of a row: the bits of an offset that are flipped where the row's number has bit I, of
 * the bits in which lanes that read at the same time differ, and which bit that is; 0: none. Rows
 * that are no whole lines begin in other banks than those before them, as far as their length is
 * one of half a line, of a quarter: these bits need no swizzle. */
static int swap_of(const cg *g, const et_contract *c, int i, int *out_bit) {
    int swap = ET_STREAM_SWAP >> i, lanes = g->t->wave == 64 ? 6 : 5;
    if (et_stream_row_bytes(&c->p) % (2 * swap) ||
        (i && swap < (c->p.in_steps ? c->p.unit_k / 2 : c->p.unit_k) * c->p.bits / 8))
        return 0;
    for (int l = 0; l < lanes; l++) {
        *out_bit = c->p.fr->layout->n.lane[l];
        if (*out_bit && i-- == 0) return swap;
    }
    return 0;
}

enum { MOST_SWAPS = 3 /* down to a piece */ };

val cg_contract_swapped(cg *g, const et_contract *c, val row) {
    val all = NULL;
    for (int i = 0, bit; i < MOST_SWAPS; i++) {
        int swap = swap_of(g, c, i, &bit);
        if (!swap) continue;
        val is = LLVMBuildAnd(g->b, row, cg_i32(g, bit), "");
        val by = swap >= bit ? cg_muli(g, is, swap / bit)
                             : LLVMBuildLShr(g->b, is, cg_i32(g, __builtin_ctz(bit / swap)), "");
        all = all ? LLVMBuildOr(g->b, all, by, "") : by;
    }
    return all ? all : cg_i32(g, 0);
}

/* The same of a row that is known. */
int cg_contract_swap(const cg *g, const et_contract *c, int row) {
    int all = 0;
    for (int i = 0, bit; i < MOST_SWAPS; i++) {
        int swap = swap_of(g, c, i, &bit);
        all |= swap && row & bit ? swap : 0;
    }
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

/* Of a block lane number 4 r + j gets word j of row r, as lanes have codes of four bits. */
bool cg_contract_stage_in_blocks(const cg *g, const et_contract *c) {
    static const et_deal rows = {.lane = {0, 0, 1, 2, 4}, .value = {8}};
    const et_mainloop *p = &c->p;
    return g->family->load_blocks && p->streamed && p->computed && !p->run && p->bits == 4 &&
           p->lane_k == 8 && p->unit_k == 32 && p->rows_n == 2 &&
           !memcmp(&p->fr->layout->n, &rows, sizeof rows);
}

/* Four blocks: rows 0 to 7 and 8 to 15 of sixteen, in two units; the last unit may be read twice.
 */
void cg_contract_blocks_from_stage(cg *g, const et_contract *c, val stage, int i, val *out) {
    enum { BYTES = 16, TWO = 2 };
    val low = LLVMBuildAnd(g->b, g->lane, cg_i32(g, 15), "");
    val high = cg_muli(g, LLVMBuildLShr(g->b, g->lane, cg_i32(g, 4), ""), BYTES);
    val k0 = LLVMBuildLShr(g->b, c->at.kpart, cg_i32(g, 1), "");
    int rows = c->p.nsub * TWO;
    for (int u = 0; u < c->p.units; u += TWO)
        for (int ns = 0; ns < c->p.nsub; ns++) {
            bool two = u + 1 < c->p.units;
            val row = cg_addi(g, cg_add(g, low, c->at.n0), (int64_t)i * c->p.s->tn + 16 * ns), w[4];
            val at = cg_addi(g, two ? cg_add(g, k0, high) : k0, u * BYTES);
            at = LLVMBuildXor(g->b, at, cg_contract_swapped(g, c, low), "");
            at = cg_add(g, at, cg_muli(g, row, et_stream_row_bytes(&c->p)));
            g->family->load_blocks(g, cg_gep(g, stage, at), w);
            for (int j = 0; j < (two ? 4 : TWO); j++)
                out[(u + j / TWO) * rows + ns * TWO + j % TWO] = w[j];
        }
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
