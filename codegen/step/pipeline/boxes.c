/* Stages of a multistage pipeline filled with TMA boxes. */
#include "codegen/step/pipeline/pipeline.h"
#include "ir/base/diag.h"

void cg_chunks_begin_box(cg *g, et_chunks *r, int i) {
    et_chunk_operand *s = &r->side[i];
    et_box m;
    et_check(et_box_of(cg_cx(g), &r->c->p, s->e, s->var, s->rows, &m));
    s->plain = s->async = true;
    s->once = cg_chunk_once(g, r, i);
    s->map = cg_map(g, m.tensor, &m.map);
    s->begin = g->family->anew(g, cg_emit_i32(g, m.row));
    s->column = g->family->anew(g, cg_emit_i32(g, m.column));
}

val cg_chunks_phases(cg *g) {
    val v = LLVMBuildLoad2(g->b, g->i32, cg_box_phases(g), "");
    LLVMSetAlignment(v, 4);
    return v;
}

void cg_chunks_phases_end(cg *g, val phases) {
    LLVMSetAlignment(LLVMBuildStore(g->b, phases, cg_box_phases(g)), 4);
}

void cg_chunk_await(cg *g, val stage, val phases) {
    val phase = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, phases, stage, ""), cg_i32(g, 1), "");
    g->family->boxes->await(g, cg_box_barrier(g, stage), phase);
    cg_wave_meets(g);
}

/* Rows are copied last, behind weights. */
static void copy_matrices(cg *g, const et_chunks *r, val chunk, val stage, int first, int last) {
    const et_contract *c = r->c;
    val barrier = cg_box_barrier(g, stage);
    int64_t bytes = 0;
    chunk = cg_chunk_in_turn(g, r, chunk);
    for (int i = first; i <= last; i++)
        bytes += (int64_t)r->parts * r->side[i].rows * r->wide;
    g->family->boxes->expect(g, barrier, (int)bytes, first == r->boxed);
    for (int part = 0; part < r->parts; part++)
        for (int i = first; i <= last; i++) {
            const et_chunk_operand *s = &r->side[i];
            val at = cg_addi(g, cg_muli(g, stage, r->parts * s->bytes), s->at + part * s->bytes);
            val to = cg_gep(g, cg_gepi(g, g->lds, g->f->locals[s->local].offset), at);
            val column = cg_add(g, s->column, cg_muli(g, chunk, c->p.kc));
            column = cg_addi(g, column, (int64_t)part * r->wide / c->p.size);
            g->family->boxes->copy(g, to, s->map, column, s->begin, barrier, s->once);
        }
}

/* The branch has only the copies of the one work-item: with other code in it ptxas (13.0) makes a
 * loop over lanes around each copy. */
static void begin_one(cg *g, cg_if *one) {
    cg_if_begin(g, one, cg_box_producer(g));
}

static void end_one(cg *g, cg_if *one) {
    cg_if_end(g, one);
    cg_wave_meets(g);
}

void cg_chunks_fill(cg *g, const et_chunks *r, int from, int end, int first, int last) {
    cg_if one;
    first = first > r->boxed ? first : r->boxed;
    if (from >= end || first > last) return;
    begin_one(g, &one);
    g->family->boxes->order(g);
    for (int i = from; i < end && i < r->c->p.chunks; i++)
        copy_matrices(g, r, cg_i32(g, i), cg_i32(g, i), first, last);
    end_one(g, &one);
}

void cg_chunks_refill(cg *g, const et_chunks *r, val chunk, val stage) {
    cg_if some, one;
    cg_if_begin(g, &some, cg_icmp(g, LLVMIntSLT, chunk, r->c->now.nchunks));
    begin_one(g, &one);
    copy_matrices(g, r, chunk, stage, r->boxed, r->nsides - 1);
    end_one(g, &one);
    cg_if_end(g, &some);
}
