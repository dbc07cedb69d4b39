/* Chunks that are asked for before there is a slot for them: a lane copies 16 bytes of a line to
 * where nobody reads them, and the cache that all CUs share takes in the whole of it. So memory is
 * read on while all slots are full, which is when tasks wait for each other, and the ring is filled
 * from that cache, at twice the rate, when they do not. Copies by the engine that asks for blocks
 * (cp.async.bulk.prefetch) and `prefetch` are dropped when many are under way; these are not. */
#include "codegen/step/contract.h"

enum { LINE = ET_ASK_LINE, FLIGHT = 2 /* copies on their way, each of a line a lane */ };

/* Do lines and lanes come out even? Where they do not, chunks are only counted. */
static bool can(cg *g, const et_contract *c, int lines, int per) {
    int wave = g->t->wave;
    return (lines % wave == 0 || wave % lines == 0) && c->s->tn % per == 0 &&
           (per <= 16 || et_stream_is_full(g->p, c->s)) && cg_contract_alike(g, c, per);
}

static void ask(cg *g, val to, val from) {
    g->family->stream->ask(g, to, from);
    g->family->copy_group(g);
    g->family->copied(g, FLIGHT - 1);
}

void cg_contract_ask_packed(cg *g, const et_contract *c, const cg_bringer *by, const val *from) {
    int all = cg_contract_packed_bytes(c), wave = g->t->wave;
    block asked = cg_block(g, "asked");
    cg_ring_ask(g, by, g->p->ring.ahead / g->p->ring.bytes, asked);
    val to = cg_ring_scrap(g), own = cg_muli(g, g->lane, LINE);
    for (int i = 0; i < cg_contract_slot_bytes(c) / all; i++)
        for (int at = 0; at < all; at += wave * LINE) {
            val last = cg_i32(g, all - at - ET_RING_PIECE);
            val line = cg_call(g, "llvm.umin", 1, &g->i32, 2, (val[]){own, last});
            line = LLVMBuildZExt(g->b, line, g->i64, "");
            ask(g, to, cg_gepi(g, cg_gep(g, from[i], line), at));
        }
    cg_br(g, asked);
    cg_at(g, asked);
    cg_wave_meets(g);
}

void cg_contract_ask(cg *g, const et_contract *c, const cg_bringer *by, const val *from) {
    const et_step *s = c->s;
    int bytes = cg_contract_row_bytes(c), lines = bytes > LINE ? bytes / LINE : 1;
    int wave = g->t->wave, per = lines < wave ? wave / lines : 1;
    block asked = cg_block(g, "asked");
    cg_ring_ask(g, by, g->p->ring.ahead / g->p->ring.bytes, asked);
    val to = cg_ring_scrap(g);
    for (int i = 0; i < s->nacc && can(g, c, lines, per); i++) {
        block past = cg_contract_past(g, c);
        for (int r = 0; r < s->tn; r += per) {
            cg_contract_skip(g, c, r, past);
            int64_t row = et_stream_row(g->p, s, i, r) * c->bits / 8;
            for (int l = 0; l < lines; l += wave) {
                ask(g, to, cg_gepi(g, from[i], row + l * LINE));
            }
        }
        cg_contract_pass(g, past);
    }
    cg_br(g, asked);
    cg_at(g, asked);
    cg_wave_meets(g);
}
