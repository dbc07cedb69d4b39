/* A product from begin to end.
 *
 * A wave owns a group of n rows of b, the weights, and a part of every chunk of k. b goes from
 * memory to registers, a chunk at a time, the first even ahead of the tile's waits; it is
 * multiplied with the rows of a, sixteen at a time (loop.c). b is the left operand of the
 * instruction, so a lane ends up with a few consecutive n of one m. A b that is computed of what
 * lies in memory like that is computed in registers (decode/). One that is not k-major goes through
 * LDS (staged.c), and so do both operands of a step with a multistage pipeline (pipeline/). */
#include "codegen/step/product/product.h"
#include "codegen/step/product/rows.h"
#include "codegen/step/product/weights.h"
#include "ir/base/diag.h"
#include "ir/program/step.h"
#include <string.h>

enum { MOST_CARRIED = ET_DEEP * ET_MAX_FRAGMENTS + ET_MAX_SUMS + 1 };

/* ---- its plan ---- */

/* ---- its frame ---- */

static void addresses(cg *g, et_contract *c) {
    c->now.kend = cg_emit_i32(g, c->p.extent);
    if (c->p.direct && c->weights->begin) c->weights->begin(g, c);
}

static void first_loads(cg *g, et_contract *c) {
    cg_contract_find_zeros(g, c);
    c->now.begin = cg_contract_next(g, c, cg_i32(g, 0));
    if (c->p.zeros) {
        cg_contract_load_later(g, c, c->now.begin, cg_i32(g, c->p.chunks), ET_FROM_BOTH,
                               c->now.first[0]);
        return;
    }
    cg_contract_load(g, c, c->now.begin, ET_FROM_BOTH, c->now.first[0]);
    if (c->p.deep) cg_contract_load(g, c, cg_i32(g, 1), ET_FROM_BOTH, c->now.first[1]);
}

/* ---- a step with two plans ---- */

struct ways {
    block way[2], end[2], join;
    int mark;
};

/* Branches: to the code of the plan for a packed b, to that of the other plan, and behind both. */
static void ways_begin(cg *g, struct ways *w, val is_packed) {
    for (int i = 0; i < 2; i++)
        w->way[i] = cg_block(g, i ? "dense" : "packed");
    w->join = cg_block(g, "either");
    cg_cond(g, is_packed, w->way[0], w->way[1]);
    cg_at(g, w->way[0]);
    w->mark = cg_scope(g);
}

static void way_ends(cg *g, struct ways *w, int i) {
    cg_scope_end(g, w->mark);
    w->end[i] = cg_here(g);
    cg_br(g, w->join);
    cg_at(g, i ? w->join : w->way[1]);
    if (!i) w->mark = cg_scope(g);
}

static val of_ways(cg *g, struct ways *w, val packed, val dense) {
    val phi = LLVMBuildPhi(g->b, LLVMTypeOf(packed ? packed : dense), "");
    val none = LLVMGetPoison(LLVMTypeOf(phi));
    LLVMAddIncoming(phi, (val[]){packed ? packed : none, dense ? dense : none}, w->end, 2);
    return phi;
}

/* Loads from a stage take little time, and the first loads of both plans are more registers than a
 * lane has where words are read one by one: these come behind the branch. */
static bool loads_late(const cg *g, const et_contract *c) {
    return c->weights->streamed || g->t->spread;
}

/* The first loads of either plan: the registers of the other one are not read. */
static void first_loads_of(cg *g, et_contract *c) {
    struct ways w;
    et_contract *o = c->other;
    c->now.is_packed = cg_contract_is_packed(g, o);
    if (loads_late(g, c)) return;
    ways_begin(g, &w, c->now.is_packed);
    first_loads(g, o);
    way_ends(g, &w, 0);
    first_loads(g, c);
    way_ends(g, &w, 1);
    for (int d = 0; d < ET_DEEP; d++) {
        for (int i = 0; i < o->p.nload && (!d || o->p.deep); i++)
            o->now.first[d][i] = of_ways(g, &w, o->now.first[d][i], NULL);
        for (int i = 0; i < c->p.nload && (!d || c->p.deep); i++)
            c->now.first[d][i] = of_ways(g, &w, NULL, c->now.first[d][i]);
    }
}

static void begin_loads(cg *g, et_contract *c) {
    addresses(g, c);
    if (c->other) {
        addresses(g, c->other);
        first_loads_of(g, c);
    } else if (c->p.direct) {
        first_loads(g, c);
    }
}

static void prepare(cg *g, et_contract *c) {
    c->rows = cg_rows_of(&c->p);
    c->weights = cg_weights_of(&c->p);
    c->decode = cg_decoding_of(&c->p);
    cg_contract_place(g, c);
}

et_contract *cg_contract_begin(cg *g, const et_step *s) {
    et_contract *c = et_alloc(g->arena, sizeof *c);
    cg_contract_plan(g, s, c);
    prepare(g, c);
    c->other = cg_contract_other(g, c);
    if (c->other) prepare(g, c->other);
    if (!c->p.cond.id) begin_loads(g, c);
    return c;
}

/* ---- products ---- */

/* Do sums lie where chunks are? */
static bool shares_memory(const cg *g, const et_step *s) {
    const et_local *l = g->f->locals;
    int stage[] = {s->stage_a, s->stage_b};
    for (int i = 0; i < s->nacc; i++)
        for (int k = 0; k < (s->stage_b < 0 ? 1 : 2); k++)
            if (l[s->acc[i]].offset < l[stage[k]].offset + et_local_bytes(&l[stage[k]]) &&
                l[stage[k]].offset < l[s->acc[i]].offset + et_local_bytes(&l[s->acc[i]]))
                return true;
    return false;
}

static void decode_begins(cg *g, et_contract *c) {
    if (c->decode && c->decode->begin && !c->now.begun) c->decode->begin(g, c);
    c->now.begun = true;
}

static void all_chunks(cg *g, et_contract *c, val *carried) {
    c->now.nchunks = cg_i32(g, c->p.chunks);
    if (c->p.chunks < 0)
        c->now.nchunks =
            LLVMBuildSDiv(g->b, cg_addi(g, c->now.kend, c->p.kc - 1), cg_i32(g, c->p.kc), "");
    if (c->p.direct) c->now.rowvals = c->rows->begin(g, c, carried);
    decode_begins(g, c);
    if (c->p.stages)
        cg_contract_ring(g, c, carried);
    else if (c->p.direct)
        cg_contract_chunks(g, c, c->now.nchunks, carried);
    else
        cg_contract_staged_chunks(g, c, c->now.nchunks, carried);
    if (c->decode && c->decode->end) c->decode->end(g, c, carried);
}

/* By the plan that goes with what b is. */
static void all_ways(cg *g, et_contract *c, val *carried) {
    cg_mark_entries(g, c->p.s);
    if (!c->other) {
        all_chunks(g, c, carried);
        return;
    }
    struct ways w;
    int sums = et_mainloop_sums(&c->p);
    val packed[MOST_CARRIED];
    memcpy(packed, carried, (size_t)sums * sizeof *packed);
    c->other->now.mlive = c->now.mlive;
    c->other->now.nlive = c->now.nlive;
    ways_begin(g, &w, c->now.is_packed);
    if (loads_late(g, c)) first_loads(g, c->other);
    all_chunks(g, c->other, packed);
    way_ends(g, &w, 0);
    if (loads_late(g, c)) first_loads(g, c);
    all_chunks(g, c, carried);
    way_ends(g, &w, 1);
    for (int i = 0; i < sums; i++)
        carried[i] = of_ways(g, &w, packed[i], carried[i]);
}

/* Are rows staged before the first weights are awaited? These come late, once it is known which
 * they are. */
static bool has_rows_first(const et_contract *c) {
    return c->weights->streamed && c->p.direct && !c->other && c->p.plan.prologue;
}

/* Are the places that tensors name, of rows and weights, loaded together with what says whether the
 * tile has k at all? One trip to memory after the other would begin each tile. */
static bool has_addresses_first(const et_contract *c) {
    return c->p.stages && c->p.plan.boxes && !c->now.ring;
}

/* Where the tile has k at all; all its waves find the same. */
static void chunks_if(cg *g, et_contract *c, val *carried) {
    val old[ET_MAX_SUMS];
    memcpy(old, carried, (size_t)et_mainloop_sums(&c->p) * sizeof *old);
    val any = LLVMBuildZExt(g->b, cg_emit(g, c->p.cond), g->i32, "");
    bool first = has_rows_first(c);
    cg_if some;
    if (has_addresses_first(c)) {
        cg_contract_ring_begin(g, c);
        c->now.ring->late = true;
    }
    if (first && c->p.plan.reuse) cg_contract_rows_first(g, c);
    cg_if_begin(g, &some, cg_icmp(g, LLVMIntNE, cg_uniform(g, any), cg_i32(g, 0)));
    int mark = cg_scope(g);
    if (first && !c->p.plan.reuse) {
        decode_begins(g, c);
        cg_contract_rows_first(g, c);
    }
    if (c->now.guess) {
        addresses(g, c);
        cg_contract_guessed(g, c);
    } else {
        begin_loads(g, c);
    }
    all_ways(g, c, carried);
    cg_scope_end(g, mark);
    cg_if_end(g, &some);
    for (int i = 0; i < et_mainloop_sums(&c->p); i++)
        carried[i] = cg_if_value(g, &some, carried[i], old[i]);
    if (c->p.streamed) cg_contract_consume_none(g, any);
}

void cg_contract_multiply(cg *g, et_contract *c, val *out) {
    const et_step *s = c->p.s;
    val carried[MOST_CARRIED];
    if (et_mainloop_sums(&c->p) > ET_MAX_SUMS || c->p.nload > ET_MAX_FRAGMENTS)
        et_bug("%s: a wave cannot hold %d sums and %d rows", g->f->name, et_mainloop_sums(&c->p),
               c->p.nload);
    c->now.mlive = cg_emit_i32(g, s->mlive);
    c->now.nlive = cg_emit_i32(g, s->nlive);
    for (int i = 0; i < et_mainloop_sums(&c->p); i++)
        carried[i] = LLVMConstNull(LLVMVectorType(g->f32, (unsigned)(c->p.results * c->p.sets)));
    if (c->p.cond.id)
        chunks_if(g, c, carried);
    else
        all_ways(g, c, carried);
    if (shares_memory(g, s)) cg_barrier(g); /* all waves have done with the chunks */
    for (int i = 0; i < et_mainloop_sums(&c->p); i++)
        out[i] = cg_sums_of(g, c, carried[i]);
}

void cg_contract_run(cg *g, et_contract *c) {
    val sums[ET_MAX_SUMS];
    cg_contract_multiply(g, c, sums);
    cg_contract_write(g, c, NULL, sums);
    if (c->p.plan.deferred)
        cg_sums_begin(g, c->p.s);
    else if (c->p.s->wk > 1)
        cg_sums_add(g, c);
}
