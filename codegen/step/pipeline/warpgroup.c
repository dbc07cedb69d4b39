/* Products of many rows by warpgroup MMA (et_warpgroup_family), whose instructions read operands
 * from the stages. Addresses of the operands, and the first weights, come before the tile's waits.
 */
#include "codegen/step/pipeline/pipeline.h"

enum { EIGHT = 8 };

/* ---- out of a stage, by a warpgroup ---- */

/* The first part of the chunk in STAGE. */
static val chunk_at(cg *g, const et_chunks *r, const et_chunk_operand *s, val stage) {
    val base = cg_gepi(g, g->lds, g->f->locals[s->local].offset);
    return cg_gep(g, base, cg_muli(g, stage, r->parts * s->bytes));
}

/* ROW of an operand whose chunk is at BASE, at the k's of step J of these waves: each part has
 * STEPS of them. */
static val group_rows(cg *g, const et_chunks *r, const et_chunk_operand *s, val base, val row,
                      int j, int steps) {
    const et_contract *c = r->c;
    int own = r->parts * steps / c->p.s->wk, bytes = r->wide / steps;
    val at = cg_muli(g, row, r->wide);
    if (own % steps == 0) { /* whole parts */
        at = cg_add(g, at, cg_muli(g, c->at.ks, own / steps * s->bytes));
    } else {
        val first = cg_muli(g, c->at.ks, own), of = cg_i32(g, steps);
        at = cg_add(g, at, cg_muli(g, LLVMBuildUDiv(g->b, first, of, ""), s->bytes));
        at = cg_add(g, at, cg_muli(g, LLVMBuildURem(g->b, first, of, ""), bytes));
    }
    if (s != r->side && c->at.product)
        at = cg_add(g, at, cg_muli(g, c->at.product, (int64_t)s->rows * r->wide));
    return cg_gepi(g, cg_gep(g, base, at), s->at + j / steps * s->bytes + j % steps * bytes);
}

/* SUM: f32's, of product after product. ROWS, COLUMNS: where the chunk of either operand is. */
static void multiply_group(cg *g, const et_chunks *r, val rows, val cols, val *sum) {
    const et_contract *c = r->c;
    const et_warpgroup_family *of = g->family->warpgroup;
    bool rows_m = c->p.warpgroup == ET_WARPGROUP_M;
    int columns = 16 * (rows_m ? c->p.nsub : c->p.msub), pieces = rows_m ? 1 : c->p.nsub;
    val all = cg_i32(g, -16 * g->t->warpgroup->waves);
    val m = c->p.warpgroup == ET_WARPGROUP_M ? LLVMBuildAnd(g->b, c->at.m0, all, "") : c->at.m0;
    val n = c->p.warpgroup == ET_WARPGROUP_N ? LLVMBuildAnd(g->b, c->at.n0, all, "") : c->at.n0;
    int steps = r->wide / c->p.size / g->t->warpgroup->k;
    of->begin(g, 0, NULL, 0, NULL);
    for (int j = 0; j < r->parts * steps / c->p.s->wk; j++)
        for (int i = 0; i < c->p.products * pieces; i++) {
            val a = group_rows(g, r, &r->side[0], rows, m, j, steps);
            val from = cg_addi(g, n, (int64_t)i % pieces * c->p.next_n);
            val b = group_rows(g, r, &r->side[1 + i / pieces], cols, from, j, steps);
            of->multiply(g, c->p.s->operand, r->wide, rows_m ? a : b, rows_m ? b : a, columns,
                         sum + (ptrdiff_t)i * columns / 2);
        }
    of->end(g);
}

/* Loop-carried values. */
struct running {
    int sums; /* f32's of a lane, in V, with a stage of the chunks' ring and, behind it, one of
                 weights or what cg_chunks_phases gives; and behind that the sums of all spans */
    val v[2 * ET_MAX_SUMS * EIGHT + 2];
};

/* While a chunk is multiplied the next is stored; the products of the chunk before are waited for
 * last. WEIGHTS: the address of CHUNK's, which have arrived; NULL: they are in the same stage. */
static void run_chunk(cg *g, et_chunks *r, val chunk, val weights, struct running *t) {
    val stage = t->v[t->sums], next = cg_chunks_next(g, r, stage);
    val last = cg_addi(g, r->c->now.nchunks, -1);
    if (r->async) g->family->copied(g, et_pipeline_in_flight(&r->c->p) - 1);
    if (r->boxed) g->family->warpgroup->written(g);
    cg_barrier(g); /* the chunk is there, and the one two before it has been multiplied */
    val later = cg_addi(g, chunk, et_pipeline_in_flight(&r->c->p)),
        to = cg_chunks_back(g, r, stage, 2);
    if (r->async) cg_chunks_copy(g, r, later, to, r->nsides - 1);
    if (r->bulk) {
        val *phases = &t->v[t->sums + 1], one = LLVMBuildShl(g->b, cg_i32(g, 1), stage, "");
        cg_chunks_refill(g, r, later, to);
        cg_chunk_await(g, stage, *phases);
        *phases = LLVMBuildXor(g->b, *phases, one, "");
    }
    val then = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){cg_addi(g, chunk, 1), last});
    cg_chunk_load(g, r, then);
    val rows = chunk_at(g, r, &r->side[0], stage);
    multiply_group(g, r, rows, weights ? weights : chunk_at(g, r, &r->side[1], stage), t->v);
    cg_chunk_store(g, r, next);
    g->family->warpgroup->over(g, 1, 0, NULL);
    t->v[t->sums] = next;
}

static void run_chunks(cg *g, et_chunks *r, struct running *t) {
    cg_for f;
    int n = t->sums + 1 + r->bulk;
    if (r->bulk) t->v[n - 1] = cg_chunks_phases(g);
    val chunk = cg_for_begin(g, &f, cg_i32(g, 0), r->c->now.nchunks, cg_i32(g, 1), true, n, t->v);
    run_chunk(g, r, chunk, NULL, t);
    cg_for_end(g, &f, t->v);
}

/* The same, of a span after another, whose sums are added up: -0 is what any may be added to. */
static void run_spans(cg *g, et_chunks *r, struct running *t) {
    const et_mainloop *c = &r->c->p;
    cg_for f, of_span;
    int n = t->sums + 1 + r->bulk;
    val zero = cg_i32(g, 0), one = cg_i32(g, 1), each = cg_i32(g, c->chunks / c->spans);
    if (r->bulk) t->v[n - 1] = cg_chunks_phases(g);
    for (int i = 0; i < t->sums; i++)
        t->v[n + i] = cg_f32(g, -0.0f);
    val span = cg_for_begin(g, &f, zero, cg_i32(g, c->spans), one, true, n + t->sums, t->v);
    val chunk = cg_for_begin(g, &of_span, zero, each, one, true, n, t->v);
    run_chunk(g, r, cg_add(g, LLVMBuildMul(g->b, span, each, ""), chunk), NULL, t);
    cg_for_end(g, &of_span, t->v);
    g->family->warpgroup->over(g, 0, t->sums, t->v);
    for (int i = 0; i < t->sums; i++) {
        t->v[n + i] = LLVMBuildFAdd(g->b, t->v[n + i], t->v[i], "");
        t->v[i] = cg_f32(g, 0);
    }
    cg_for_end(g, &f, t->v);
    for (int i = 0; i < t->sums; i++)
        t->v[i] = t->v[n + i];
}

/* The same, of weights that come through the weight stream, several chunks in a stage of that. It
 * is free when the first chunk of the next one is being multiplied. (With a stage's chunks one
 * after the other in one loop ptxas (13.0) has no uniform registers left for what the products of
 * all of them read, nor for any others of the kernel.) */
static void run_stages(cg *g, et_chunks *r, struct running *t) {
    const et_contract *c = r->c;
    int each = c->p.stage_k / c->p.kc, n = t->sums + 1;
    val zero = cg_i32(g, 0), one = cg_i32(g, 1), stages = cg_i32(g, c->p.k / c->p.stage_k);
    cg_for f, of_stage;
    cg_if second;
    val at = cg_for_begin(g, &f, zero, stages, one, true, n + 1, t->v);
    cg_ring now = cg_ring_next(g, &g->consumer), before = {t->v[n], NULL};
    val weights = cg_ring_stage(g, &now), i = zero;
    cg_ring_consumer_wait(g, &now);
    if (each > 1) i = cg_for_begin(g, &of_stage, zero, cg_i32(g, each), one, true, n, t->v);
    val part = cg_gep(g, weights, cg_muli(g, i, r->parts * r->side[1].bytes));
    run_chunk(g, r, cg_add(g, cg_muli(g, at, each), i), part, t);
    val is =
        LLVMBuildAnd(g->b, cg_icmp(g, LLVMIntSGT, at, zero), cg_icmp(g, LLVMIntEQ, i, zero), "");
    cg_if_begin(g, &second, is);
    cg_ring_consumer_release(g, &before);
    cg_if_end(g, &second);
    if (each > 1) cg_for_end(g, &of_stage, t->v);
    t->v[n] = now.stage;
    cg_for_end(g, &f, t->v);
}

void cg_chunks_warpgroup(cg *g, et_chunks *r, val *acc) {
    struct running *t = et_alloc(g->arena, sizeof *t);
    int n = t->sums = et_mainloop_sums(&r->c->p) * EIGHT;
    for (int i = 0; i < n; i++)
        t->v[i] = cg_extract(g, acc[i / EIGHT], i % EIGHT);
    t->v[n] = t->v[n + 1] = cg_i32(g, 0);
    if (r->c->p.stage_k)
        run_stages(g, r, t);
    else if (r->c->p.spans)
        run_spans(g, r, t);
    else
        run_chunks(g, r, t);
    if (!r->c->p.spans) g->family->warpgroup->over(g, 0, n, t->v);
    if (r->bulk) cg_chunks_phases_end(g, t->v[n + 1]);
    if (r->c->p.stage_k) cg_ring_consumer_release(g, &(cg_ring){t->v[n + 1], NULL});
    for (int i = 0; i < n / EIGHT; i++)
        acc[i] = cg_vector(g, g->f32, EIGHT, t->v + (ptrdiff_t)i * EIGHT);
}

/* ---- before the tile's waits ---- */

/* Computed here, since LLVM would do so behind the waits, where it is first used. The tile before
 * has read its stages, so weights can be in flight, too. */
void cg_contract_ring_begin(cg *g, et_contract *c) {
    et_chunks *r = et_alloc(g->arena, sizeof *r);
    r->c = c;
    c->now.mlive = cg_emit_i32(g, c->p.s->mlive);
    c->now.nlive = cg_emit_i32(g, c->p.s->nlive);
    cg_chunks_begin(g, r);
    for (int i = 0; i < r->nsides; i++) {
        et_chunk_operand *s = &r->side[i];
        for (int j = 0; j < s->n; j++) {
            val first = LLVMBuildPtrToInt(g->b, cg_chunk_first(g, r, s, j), g->i64, "");
            first = g->family->anew(g, first);
            s->first[j] = LLVMBuildIntToPtr(g->b, first, g->gptr, "");
            s->to[j] = g->family->anew(g, s->to[j]);
        }
    }
    c->now.ring = r;
    int n = r->early = c->p.plan.early_chunks;
    if (r->bulk) cg_chunks_fill(g, r, 0, n, 1, r->nsides - 1);
    for (int i = 0; i < n && !r->bulk; i++)
        cg_chunk_copy(g, r, cg_i32(g, i), cg_i32(g, i), 1, r->nsides - 1);
}
