/* The mainloop of products of many rows: both operands go through a multistage pipeline in LDS,
 * ahead of the products, and every wave has a rectangle of the tile's sums.
 *
 * An operand that is a tensor of the operands' type is copied without passing through registers
 * where the family can, as far ahead as there are stages. Where it cannot, and all operands are
 * such, several chunks are in flight in registers, and one is stored while the one before it is
 * multiplied. Any other operand is loaded while the chunk before it is multiplied, and stored after
 * that. */
#include "codegen/step/pipeline/pipeline.h"
#include <string.h>

/* ---- the loop ---- */

val cg_chunks_next(cg *g, const et_chunks *r, val stage) {
    val next = cg_addi(g, stage, 1), round = cg_icmp(g, LLVMIntEQ, next, cg_i32(g, r->c->p.stages));
    return cg_select(g, round, cg_i32(g, 0), next);
}

val cg_chunks_back(cg *g, const et_chunks *r, val stage, int n) {
    val back = cg_addi(g, stage, -n), under = cg_icmp(g, LLVMIntSLT, back, cg_i32(g, 0));
    return cg_select(g, under, cg_addi(g, back, r->c->p.stages), back);
}

void cg_chunks_copy(cg *g, const et_chunks *r, val chunk, val stage, int last) {
    cg_if some;
    cg_if_begin(g, &some, cg_icmp(g, LLVMIntSLT, chunk, r->c->now.nchunks));
    cg_chunk_copy(g, r, chunk, stage, 0, last);
    cg_if_end(g, &some);
    g->family->copy_group(g);
}

static void fill(cg *g, et_chunks *r) {
    val zero = cg_i32(g, 0);
    int all = r->nsides - 1, in_flight = et_pipeline_in_flight(&r->c->p);
    /* All waves have read the stages of the tile before. (Before the waits that is known.) */
    if (!r->bulk || !r->c->now.ring || r->late) cg_barrier(g);
    if (r->bulk) {
        cg_chunks_fill(g, r, 0, r->early, 0, 0);
        cg_chunks_fill(g, r, r->early, in_flight, 0, all);
    }
    for (int i = 0; i < in_flight && r->async; i++)
        cg_chunks_copy(g, r, cg_i32(g, i), cg_i32(g, i), i < r->early ? 0 : all);
    cg_chunk_load(g, r, zero);
    cg_chunk_store(g, r, zero);
}

static void run_chunk(cg *g, et_chunks *r, val *acc) {
    const et_contract *c = r->c;
    int n = et_mainloop_sums(&c->p);
    val carried[ET_MAX_SUMS + 1], last = cg_addi(g, c->now.nchunks, -1);
    memcpy(carried, acc, (size_t)n * sizeof *acc);
    carried[n] = cg_i32(g, 0);
    cg_for f;
    val chunk =
        cg_for_begin(g, &f, cg_i32(g, 0), c->now.nchunks, cg_i32(g, 1), true, n + 1, carried);
    val stage = carried[n], next = cg_chunks_next(g, r, stage);
    if (r->async) g->family->copied(g, et_pipeline_in_flight(&r->c->p) - 1);
    cg_barrier(g); /* the chunk is there, and the one before it has been multiplied */
    if (r->async)
        cg_chunks_copy(g, r, cg_addi(g, chunk, et_pipeline_in_flight(&r->c->p)),
                       cg_chunks_back(g, r, stage, 1), r->nsides - 1);
    val then = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){cg_addi(g, chunk, 1), last});
    cg_chunk_load(g, r, then);
    cg_chunk_multiply(g, r, stage, carried);
    cg_chunk_store(g, r, next);
    carried[n] = next;
    cg_for_end(g, &f, carried);
    memcpy(acc, carried, (size_t)n * sizeof *acc);
}

/* ---- the loop, with what is in flight in registers ---- */

enum { STAGES = 2, MOST_SETS = 4 };

/* As many as the plan says, where all operands are tensors that pass through registers. */
static int sets(cg *g, et_chunks *r) {
    for (int i = 0; i < r->nsides && r->c->p.held; i++)
        for (int j = 0; j < r->side[i].n; j++)
            r->side[i].from[j].base = cg_uniform(g, r->side[i].from[j].base);
    return r->c->p.held;
}

/* CHUNK into a set of registers; their number. */
static int load_set(cg *g, const et_chunks *r, val chunk, val *set) {
    val any = cg_icmp(g, LLVMIntSLT, chunk, r->c->now.nchunks);
    int n = 0;
    for (int i = 0; i < r->nsides; i++)
        for (int j = 0; j < r->side[i].n; j++)
            for (int part = 0; part < r->parts; part++)
                set[n++] = cg_chunk_held(g, r, &r->side[i], j, chunk, part, any);
    return n;
}

static void store_set(cg *g, et_chunks *r, int stage, const val *set) {
    for (int i = 0; i < r->nsides; i++)
        for (int j = 0; j < r->side[i].n; j++)
            for (int part = 0; part < r->parts; part++)
                r->side[i].bits[j][part] = *set++;
    cg_chunk_store(g, r, cg_i32(g, stage));
}

/* Loop-carried values. */
struct running {
    int sums, nsets, n, of; /* n: registers of a set; of: what is read of a unit, or 0 */
    val v[ET_MAX_SUMS + MOST_SETS * (1 + ET_MAX_ACC) * ET_CHUNK_ITEMS * ET_CHUNK_PARTS +
          ET_UNIT_VALUES];
};

/* The registers of set number I. */
static val *set_of(struct running *t, int i) {
    return t->v + t->sums + (ptrdiff_t)(i % t->nsets) * t->n;
}

/* CHUNK, whose number is I but for a multiple of the sets, is multiplied: its first unit has been
 * read. The next one goes to the other stage, and its registers to the one that is as many chunks
 * after it as there are sets. While a unit is multiplied the next one is read, be that of the next
 * chunk. */
static void chunk_once(cg *g, et_chunks *r, val chunk, int i, struct running *t) {
    const et_contract *c = r->c;
    val *set = set_of(t, i + 1), *of = t->v + t->sums + (ptrdiff_t)t->nsets * t->n;
    if (!t->of) {
        store_set(g, r, (i + 1) % STAGES, set);
        load_set(g, r, cg_addi(g, chunk, 1 + t->nsets), set);
        cg_chunk_multiply(g, r, cg_i32(g, i % STAGES), t->v);
        cg_barrier(g); /* the next chunk is there, and this one has been multiplied */
        return;
    }
    for (int u = 1; u <= c->p.units; u++) {
        et_mix mix = {.products = t->sums, .reads = t->of * c->p.lane_k / c->p.piece};
        bool last = u == c->p.units;
        val next[ET_UNIT_VALUES];
        if (!last) cg_chunk_unit(g, r, cg_i32(g, i % STAGES), u, next);
        if (u == 1) {
            store_set(g, r, (i + 1) % STAGES, set);
            load_set(g, r, cg_addi(g, chunk, 1 + t->nsets), set);
            mix.writes = mix.loads = t->n;
        }
        if (last) {
            cg_barrier(g); /* the next chunk is there, and this one has been read */
            cg_chunk_unit(g, r, cg_i32(g, (i + 1) % STAGES), 0, next);
        }
        cg_chunk_multiply_unit(g, c, of, t->v);
        g->family->mix(g, c->p.fr, c->p.lane_k, &mix);
        g->family->order_loads(g);
        memcpy(of, next, (size_t)t->of * sizeof *of);
    }
}

/* Registers with loads in flight cannot be moved, so each set has code of its own. */
static void run_sets(cg *g, et_chunks *r, int nsets, val *acc) {
    const et_contract *c = r->c;
    struct running *t = et_alloc(g->arena, sizeof *t);
    int by = nsets < STAGES ? STAGES : nsets;
    int64_t whole = c->p.chunks / by * by;
    *t = (struct running){.sums = et_mainloop_sums(&c->p),
                          .nsets = nsets,
                          .of = c->p.plan.interleaved ? cg_chunk_unit_values(c) : 0};
    memcpy(t->v, acc, (size_t)t->sums * sizeof *acc);
    for (int i = 0; i < nsets; i++)
        t->n = load_set(g, r, cg_i32(g, i), set_of(t, i));
    cg_barrier(g); /* what another tile had here has been read */
    store_set(g, r, 0, set_of(t, 0));
    load_set(g, r, cg_i32(g, nsets), set_of(t, 0));
    cg_barrier(g);
    if (t->of) cg_chunk_unit(g, r, cg_i32(g, 0), 0, t->v + t->sums + (ptrdiff_t)nsets * t->n);
    if (whole) {
        cg_for f;
        val chunk = cg_for_begin(g, &f, cg_i32(g, 0), cg_i32(g, whole), cg_i32(g, by), true,
                                 t->sums + nsets * t->n + t->of, t->v);
        for (int i = 0; i < by; i++)
            chunk_once(g, r, cg_addi(g, chunk, i), i, t);
        cg_for_end(g, &f, t->v);
    }
    for (int i = 0; i < c->p.chunks - whole; i++)
        chunk_once(g, r, cg_i32(g, whole + i), i, t);
    memcpy(acc, t->v, (size_t)t->sums * sizeof *acc);
}

/* A tile without rows or k reads nothing. */
void cg_contract_ring(cg *g, const et_contract *c, val *acc) {
    et_chunks *r = c->now.ring ? c->now.ring : et_alloc(g->arena, sizeof *r);
    int n = et_mainloop_sums(&c->p);
    val old[ET_MAX_SUMS];
    memcpy(old, acc, (size_t)n * sizeof *old);
    r->c = c;
    /* Without this choice more values of the loop are uniform, for which warpgroup MMA waits; with
     * it, other products run out of registers. */
    val rows = et_rows_chunks_have(cg_cx(g), &c->p)
                   ? LLVMConstInt(g->i1, 1, false)
                   : cg_icmp(g, LLVMIntSGT, c->now.mlive, cg_i32(g, 0));
    cg_if any;
    cg_if_begin(g, &any,
                LLVMBuildAnd(g->b, rows, cg_icmp(g, LLVMIntSGT, c->now.nchunks, cg_i32(g, 0)), ""));
    int mark = cg_scope(g);
    if (!c->now.ring) cg_chunks_begin(g, r);
    int nsets = sets(g, r);
    if (!nsets) fill(g, r);
    if (c->p.warpgroup)
        cg_chunks_warpgroup(g, r, acc);
    else if (nsets)
        run_sets(g, r, nsets, acc);
    else
        run_chunk(g, r, acc);
    cg_scope_end(g, mark);
    cg_if_end(g, &any);
    for (int i = 0; i < n; i++)
        acc[i] = cg_if_value(g, &any, acc[i], old[i]);
}
