/* CONTRACT steps: matrix instructions over chunks of k.
 *
 * A wave owns a group of n rows of b and a part of every chunk of k. b comes straight from memory
 * to registers, a chunk at a time, the first even ahead of the tile's waits; against it go the rows
 * of a, sixteen at a time: contract_direct.c. b is the A operand of the instruction, so a lane ends
 * up with a few consecutive n of one m. A b that is computed of what lies like that is computed in
 * registers: codes/computed.c. One that is not contiguous along k goes through LDS as well, and so
 * do both operands of a step with a ring: contract_ring.c.
 */
#include "codegen/step/contract.h"
#include "ir/base/diag.h"
#include "ir/program/step.h"
#include <string.h>

enum { MOST_CARRIED = ET_DEEP * ET_MAX_FRAGMENTS + ET_MAX_SUMS + 1 };

/* ---- its plan ---- */

const et_product_cx *cg_cx(cg *g) {
    g->product = et_product_context(g->p, g->f, g->t, g->arena);
    g->product.without = g->opt->without;
    g->product.packed = g->opt->sparse == ET_SPARSE_2_4;
    g->product.stored = g->stored;
    return &g->product;
}

/* The one that holds here: where weights that are zero are left out there may be another. */
static et_plan_of plan_of(const cg *g, const et_step *s) {
    return g->leave_out && s->plan[ET_PLAN_ZEROS].made ? ET_PLAN_ZEROS : ET_PLAN_MAIN;
}

void cg_contract_plan(cg *g, const et_step *s, et_contract *out) {
    const char *why;
    *out = (et_contract){.scale = NULL};
    if (!et_mainloop_of(cg_cx(g), s, plan_of(g, s), &out->p, &why))
        et_bug("%s: %s", g->f->name, why);
}

const char *cg_contract_problem(cg *g, const et_step *s) {
    const char *why = NULL;
    et_mainloop c, plain;
    if (!s->plan[ET_PLAN_MAIN].made)
        return "b is not contiguous along k and there is no buffer to stage it";
    for (int i = 0; i < ET_PLANS && !why; i++)
        if (s->plan[i].made) et_mainloop_of(cg_cx(g), s, i, i ? &c : &plain, &why);
    bool apart = !why && s->plan[ET_PLAN_PACKED].made && !et_mainloop_pairs_with(&plain, &c);
    return apart ? "the plan of packed weights has sums elsewhere than the plan without" : why;
}

const et_product_plan *cg_plan(const cg *g, const et_step *s) {
    return &s->plan[plan_of(g, s)];
}

bool cg_contract_can_stream(cg *g, const et_step *s) {
    return cg_plan(g, s)->weights == ET_WEIGHTS_STREAM;
}

/* ---- where it is ---- */

/* The part of a place that the number of this lane has. Where the numbers of neighbouring bits
 * double from one to the next they are moved there together. */
val cg_contract_dealt(cg *g, const et_deal *d) {
    val place = NULL;
    int most = 0, lanes = g->t->wave == 64 ? 6 : 5;
    for (int i = 0, n; i < lanes; i += n) {
        for (n = 1; i + n < lanes && d->lane[i + n] == d->lane[i] << n; n++) {
        }
        if (!d->lane[i]) continue;
        bool low = i + n <= 4; /* most are of the lane's place among sixteen: a value to share */
        val part = low ? LLVMBuildAnd(g->b, g->lane, cg_i32(g, 15), "") : g->lane;
        if (i) part = LLVMBuildLShr(g->b, part, cg_i32(g, i), "");
        if (i + n < (low ? 4 : lanes)) part = LLVMBuildAnd(g->b, part, cg_i32(g, (1 << n) - 1), "");
        part = cg_muli(g, part, d->lane[i]);
        place = place ? cg_add(g, part, place) : part;
        most += d->lane[i] * ((1 << n) - 1);
    }
    if (most > 15) place = LLVMBuildAnd(g->b, place, cg_i32(g, 15), "");
    return place ? place : cg_i32(g, 0);
}

static void addresses(cg *g, et_contract *c) {
    c->kend = cg_emit_i32(g, c->p.extent);
    if (c->p.direct && (!c->p.streamed || c->p.coded)) cg_contract_rows(g, c);
}

static void first_loads(cg *g, et_contract *c) {
    cg_contract_find_zeros(g, c);
    c->begin = cg_contract_next(g, c, cg_i32(g, 0));
    if (c->p.zeros) {
        cg_contract_load_later(g, c, c->begin, cg_i32(g, c->p.chunks), ET_FROM_BOTH, c->first[0]);
        return;
    }
    cg_contract_load(g, c, c->begin, ET_FROM_BOTH, c->first[0]);
    if (c->p.deep) cg_contract_load(g, c, cg_i32(g, 1), ET_FROM_BOTH, c->first[1]);
}

/* ---- a step with two plans ---- */

struct ways {
    block way[2], end[2], join;
    int mark;
};

/* Into the way of the plan for a packed b, then that of the other, then on from both. */
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

/* From a slot of the ring it is not far, and registers that hold the first loads of both plans are
 * more than a lane has where words are read one by one: those wait until the way is gone. */
static bool loads_late(const cg *g, const et_contract *c) {
    return c->p.streamed || g->t->spread;
}

/* The first loads of either plan: what the other's are, nobody reads. */
static void first_loads_of(cg *g, et_contract *c) {
    struct ways w;
    et_contract *o = c->other;
    c->is_packed = cg_contract_is_packed(g, o);
    if (loads_late(g, c)) return;
    ways_begin(g, &w, c->is_packed);
    first_loads(g, o);
    way_ends(g, &w, 0);
    first_loads(g, c);
    way_ends(g, &w, 1);
    for (int d = 0; d < ET_DEEP; d++) {
        for (int i = 0; i < o->p.nload && (!d || o->p.deep); i++)
            o->first[d][i] = of_ways(g, &w, o->first[d][i], NULL);
        for (int i = 0; i < c->p.nload && (!d || c->p.deep); i++)
            c->first[d][i] = of_ways(g, &w, NULL, c->first[d][i]);
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

/* REST modulo N, of which the quotient is left. */
static val digit(cg *g, val *rest, int n) {
    val by = cg_i32(g, n), all = *rest;
    if (n == 1) return cg_i32(g, 0);
    *rest = LLVMBuildUDiv(g->b, all, by, "");
    return LLVMBuildURem(g->b, all, by, "");
}

/* Where this wave and lane are in it. */
static void place(cg *g, et_contract *c) {
    const et_step *s = c->p.s;
    val rest = g->wave, ng;
    if (c->p.together == ET_GROUP_M) { /* neighbouring waves have neighbouring rows */
        c->m0 = digit(g, &rest, s->wm);
        ng = digit(g, &rest, s->wn);
    } else {
        ng = digit(g, &rest, s->wn);
        c->m0 = digit(g, &rest, s->wm);
    }
    c->ks = digit(g, &rest, s->wk);
    c->m0 = cg_muli(g, c->m0, c->p.bands > 1 ? 16 : (int64_t)c->p.msub * 16);
    c->n0 = cg_muli(g, ng, (int64_t)c->p.nsub * 16);
    if (c->p.products < s->nacc && !c->p.side_by_side) {
        val columns = cg_i32(g, s->tn);
        c->product = LLVMBuildUDiv(g->b, c->n0, columns, "");
        c->n0 = LLVMBuildURem(g->b, c->n0, columns, "");
    }
    const et_layout *l = c->p.fr->layout;
    val group = c->group = cg_contract_dealt(g, &l->k);
    c->lane_m = cg_contract_dealt(g, &l->m);
    c->lane_n = cg_contract_dealt(g, &l->n);
    c->lane_k0 = cg_muli(g, group, c->p.lane_k);
    c->out_n = cg_contract_dealt(g, &c->p.sums->sum_n);
    c->out_m = cg_contract_dealt(g, &c->p.sums->sum_m);
    c->kpart = cg_muli(g, c->ks, c->p.kc / s->wk);
}

et_contract *cg_contract_begin(cg *g, const et_step *s) {
    et_contract *c = et_alloc(g->arena, sizeof *c);
    cg_contract_plan(g, s, c);
    place(g, c);
    c->other = cg_contract_other(g, c);
    if (c->other) place(g, c->other);
    if (!c->p.cond.id) begin_loads(g, c);
    return c;
}

/* ---- products ---- */

bool cg_contract_in_blocks(const cg *g, const et_contract *c) {
    int piece = g->t->spread * et_layout_groups(c->p.fr->layout);
    return c->p.packed && g->t->spread && g->family->load_blocks && piece * c->p.size == 16 &&
           c->p.pitch_a % piece == 0;
}

/* The same where neighbouring lanes have K's between the lane's: in blocks of eight rows, of which
 * ROW is the one whose piece the lane names (cg_contract_in_blocks), or one by one. */
static val staged_apart(cg *g, const et_contract *c, int local, val row, val k) {
    int some = g->t->spread, next = some * et_layout_groups(c->p.fr->layout),
        n = c->p.lane_k / some;
    bool blocks = cg_contract_in_blocks(g, c);
    val own = blocks ? cg_muli(g, LLVMBuildLShr(g->b, g->lane, cg_i32(g, 3), ""), next)
                     : cg_muli(g, c->group, some);
    val word[16], at = cg_add(g, row, cg_add(g, k, own));
    for (int i = 0; i < n && blocks; i += 4)
        g->family->load_blocks(
            g, cg_contract_staged_ptr(g, c, local, cg_addi(g, at, (int64_t)i * next)), word + i);
    for (int i = 0; i < n && !blocks; i++) {
        val ptr = cg_contract_staged_ptr(g, c, local, cg_addi(g, at, (int64_t)i * next));
        word[i] = LLVMBuildLoad2(g->b, g->i32, ptr, "");
        LLVMSetAlignment(word[i], 4);
    }
    return cg_vector(g, g->i32, n, word);
}

/* The fragment of a staged row at k within the chunk. */
val cg_contract_staged(cg *g, const et_contract *c, int local, int pitch, val row, val k) {
    if (c->p.packed && g->t->spread) return staged_apart(g, c, local, cg_muli(g, row, pitch), k);
    val at = cg_add(g, cg_muli(g, row, pitch), cg_add(g, k, c->lane_k0));
    val v =
        LLVMBuildLoad2(g->b, cg_fragment_type(g, c), cg_contract_staged_ptr(g, c, local, at), "");
    LLVMSetAlignment(v, (unsigned)(pitch % c->p.piece ? c->p.size : c->p.piece * c->p.size));
    return v;
}

/* The rows of sixteen staged ones that this lane holds, ROW the first. */
static void staged_fragment(cg *g, const et_contract *c, const et_deal *deal, int local, int pitch,
                            val row, val k, val *out) {
    for (int i = 0; i < et_deal_values(deal); i++)
        out[i] = cg_contract_staged(g, c, local, pitch, cg_addi(g, row, et_deal_value(deal, i)), k);
}

int cg_contract_sum(const et_contract *c, int i, int ms, int ns) {
    return (i * c->p.msub + ms) * c->p.nsub + ns;
}

/* ---- b through LDS ---- */

static void multiply_staged(cg *g, const et_contract *c, int i, int ms, val k, int units,
                            val *acc) {
    const et_step *s = c->p.s;
    const et_layout *l = c->p.fr->layout;
    int pitch_b = g->f->locals[s->stage_b].pitch;
    for (int u = 0; u < units; u++) {
        val ku = cg_addi(g, k, (int64_t)u * c->p.unit_k);
        val m = cg_addi(g, c->lane_m, (int64_t)16 * ms);
        val a[ET_MAX_ROWS], b[ET_MAX_ROWS];
        staged_fragment(g, c, &l->m, s->stage_a, c->p.pitch_a, m, ku, a);
        for (int ns = 0; ns < c->p.nsub; ns++) {
            val n = cg_add(g, cg_addi(g, c->n0, (int64_t)16 * ns), c->lane_n);
            staged_fragment(g, c, &l->n, s->stage_b, pitch_b, n, ku, b);
            val *sum = &acc[cg_contract_sum(c, i, ms, ns)];
            *sum = g->family->multiply(g, c->p.fr, c->p.lane_k, b, a, *sum);
        }
    }
}

static void live_pieces(cg *g, const et_contract *c, int i, val k, int units, val *acc) {
    for (int ms = 0; ms < c->p.msub; ms++) {
        val old[ET_MAX_SUMS];
        memcpy(old, acc, (size_t)et_mainloop_sums(&c->p) * sizeof *old);
        cg_if live;
        if (ms) cg_if_begin(g, &live, cg_icmp(g, LLVMIntSLT, cg_i32(g, 16 * ms), c->mlive));
        multiply_staged(g, c, i, ms, k, units, acc);
        if (!ms) continue;
        cg_if_end(g, &live);
        for (int ns = 0; ns < c->p.nsub; ns++) {
            int at = cg_contract_sum(c, i, ms, ns);
            val phi = LLVMBuildPhi(g->b, LLVMTypeOf(old[at]), "");
            LLVMAddIncoming(phi, (val[]){acc[at], old[at]}, (block[]){live.then, live.otherwise},
                            2);
            acc[at] = phi;
        }
    }
}

static void one_staged(cg *g, const et_contract *c, int i, val chunk, val *acc) {
    const et_step *s = c->p.s;
    int pitch_b = g->f->locals[s->stage_b].pitch, units = c->p.units, some = units < 4 ? units : 4;
    while (units % some)
        some--;
    et_staging st = {s->b[i], s->nvar, s->tn, NULL, c->nlive, s->stage_b,
                     pitch_b, chunk,   NULL,  NULL, 0};
    cg_contract_stage(g, c, &st);
    cg_barrier(g);
    val u = cg_i32(g, 0);
    cg_for f;
    if (units > some)
        u = cg_for_begin(g, &f, u, cg_i32(g, units), cg_i32(g, some), true, et_mainloop_sums(&c->p),
                         acc);
    live_pieces(g, c, i, cg_add(g, c->kpart, cg_muli(g, u, c->p.unit_k)), some, acc);
    if (units > some) cg_for_end(g, &f, acc);
}

static void chunks_staged(cg *g, const et_contract *c, val chunks, val *acc) {
    const et_step *s = c->p.s;
    val chunk = cg_i32(g, 0);
    cg_for f;
    if (c->p.chunks != 1) {
        chunk = cg_for_begin(g, &f, chunk, chunks, cg_i32(g, 1), c->p.chunks > 0,
                             et_mainloop_sums(&c->p), acc);
        cg_barrier(g);
    }
    et_staging st = {s->a,         s->mvar, s->tm, NULL, c->mlive, s->stage_a,
                     c->p.pitch_a, chunk,   NULL,  NULL, 0};
    cg_contract_stage(g, c, &st);
    for (int i = 0; i < s->nacc; i++) {
        if (i) cg_barrier(g); /* the rows of the product before have been read */
        one_staged(g, c, i, chunk, acc);
    }
    if (c->p.chunks != 1) cg_for_end(g, &f, acc);
}

/* ---- results ---- */

/* How many values of a sum, from the first on, are of neighbouring n. */
static int run_of(const et_contract *c) {
    const et_layout *l = c->p.sums;
    int n = 1;
    while (n < c->p.results && et_deal_value(&l->sum_n, n) == n && !et_deal_value(&l->sum_m, n))
        n *= 2;
    return n;
}

/* Where element AT of product I's sums is, or of number PRODUCT, where that is not NULL. */
static val sum_ptr(cg *g, const et_contract *c, int i, val product, val at) {
    const et_local *l = g->f->locals;
    const int *acc = c->p.s->acc;
    val ptr = cg_local_ptr(g, acc[i], at);
    for (int k = 1; product && k < c->p.s->nacc; k++) {
        val other = cg_local_ptr(g, acc[k], at);
        val it = cg_icmp(g, LLVMIntEQ, product, cg_i32(g, k));
        et_check(l[acc[k]].pitch == l[acc[0]].pitch);
        ptr = cg_select(g, it, other, ptr);
    }
    return ptr;
}

/* The sum SUM of 16 x 16 of product P, whose first are M0 and N0. */
static void write_sum(cg *g, const et_contract *c, int p, val m0, val n0, val sum) {
    const et_local *l = &g->f->locals[c->p.s->acc[p]];
    const et_layout *dealt_as = c->p.sums;
    int run = run_of(c);
    for (int i = 0; i < c->p.results; i += run) {
        val m = cg_addi(g, m0, et_deal_value(&dealt_as->sum_m, i)), part = sum;
        val n = cg_addi(g, n0, et_deal_value(&dealt_as->sum_n, i)), at[16];
        for (int k = 0; k < run; k++)
            at[k] = cg_i32(g, i + k);
        val product = c->product, columns = cg_i32(g, c->p.s->tn);
        if (c->p.side_by_side) {
            product = LLVMBuildUDiv(g->b, n, columns, "");
            n = LLVMBuildURem(g->b, n, columns, "");
        }
        if (run < c->p.results)
            part = LLVMBuildShuffleVector(g->b, sum, LLVMGetPoison(LLVMTypeOf(sum)),
                                          LLVMConstVector(at, (unsigned)run), "");
        val to = sum_ptr(g, c, p, product, cg_add(g, cg_muli(g, m, l->pitch), n));
        LLVMSetAlignment(LLVMBuildStore(g->b, part, to),
                         run % 4 || l->pitch % 4 ? run % 2 || l->pitch % 2 ? 4 : 8 : 16);
    }
}

void cg_contract_write(cg *g, const et_contract *c, val row0, const val *acc) {
    const et_step *s = c->p.s;
    for (int ms = 0; ms < c->p.msub / c->p.bands; ms++) {
        cg_if live;
        val m16 = cg_addi(g, c->m0, (int64_t)c->p.next_m * ms),
            row = row0 ? cg_add(g, row0, m16) : m16;
        bool sure = !row0 && (c->p.together || (!ms && s->wm == 1)); /* else few may be there */
        if (!sure) cg_if_begin(g, &live, cg_icmp(g, LLVMIntSLT, row, c->mlive));
        for (int i = 0; i < c->p.products; i++)
            for (int ns = 0; ns < c->p.nsub; ns++) {
                val m = cg_add(g, cg_add(g, cg_muli(g, c->ks, s->tm), m16), c->out_m);
                val n = cg_add(g, cg_addi(g, c->n0, 16 * ns), c->out_n);
                write_sum(g, c, i, m, n, acc[cg_contract_sum(c, i, ms, ns)]);
            }
        if (!sure) cg_if_end(g, &live);
    }
}

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

/* The waves' parts of k, summed in their order into the first. */
static void sum_parts(cg *g, const et_contract *c) {
    const et_step *s = c->p.s;
    LLVMTypeRef v4 = LLVMVectorType(g->f32, 4);
    cg_barrier(g);
    cg_items items;
    val item = cg_items_begin(g, &items, cg_muli(g, c->mlive, s->tn / 4), -1);
    val per = cg_i32(g, s->tn / 4);
    val m = LLVMBuildUDiv(g->b, item, per, ""), n = LLVMBuildURem(g->b, item, per, "");
    for (int i = 0; i < s->nacc; i++) {
        const et_local *l = &g->f->locals[s->acc[i]];
        unsigned align = l->pitch % 4 ? 4 : 16;
        val at = cg_add(g, cg_muli(g, m, l->pitch), cg_muli(g, n, 4)), sum = NULL;
        val ptr = cg_local_ptr(g, s->acc[i], at);
        for (int w = 0; w < s->wk; w++) {
            val part =
                LLVMBuildLoad2(g->b, v4, cg_gepi(g, ptr, (int64_t)w * s->tm * l->pitch * 4), "");
            LLVMSetAlignment(part, align);
            sum = sum ? LLVMBuildFAdd(g->b, sum, part, "") : part;
        }
        LLVMSetAlignment(LLVMBuildStore(g->b, sum, ptr), align);
    }
    cg_items_end(g, &items);
}

/* log2 of N, which is at least 1, rounded up; at most 4. */
static val log2_of(cg *g, val n) {
    val args[] = {cg_addi(g, n, -1), LLVMConstInt(g->i1, 0, false)};
    val zeros = cg_call(g, "llvm.ctlz", 1, &g->i32, 2, args); /* 32 for 1 */
    val bits = LLVMBuildSub(g->b, cg_i32(g, 32), zeros, "");
    return cg_call(g, "llvm.umin", 1, &g->i32, 2, (val[]){bits, cg_i32(g, 4)});
}

/* log2 of the chunks of a that are staged at once: as many as fit where 16 rows of one do, and no
 * more than there are. */
static val slots_of(cg *g, const et_contract *c) {
    val room = LLVMBuildSub(g->b, cg_i32(g, 4 + c->p.room), log2_of(g, c->mlive), "");
    return cg_call(g, "llvm.umin", 1, &g->i32, 2, (val[]){room, log2_of(g, c->nchunks)});
}

static void all_chunks(cg *g, et_contract *c, val *carried) {
    c->nchunks = cg_i32(g, c->p.chunks);
    if (c->p.chunks < 0)
        c->nchunks = LLVMBuildSDiv(g->b, cg_addi(g, c->kend, c->p.kc - 1), cg_i32(g, c->p.kc), "");
    if (c->p.turns)
        cg_contract_ahead_begin(g, c);
    else if (c->p.direct && c->p.chunks != 1 && !c->p.deep_a)
        c->slots = slots_of(g, c);
    if (c->p.bare) cg_contract_begin_bare(g, c);
    if (c->p.stages)
        cg_contract_ring(g, c, carried);
    else if (c->p.direct)
        cg_contract_chunks(g, c, c->nchunks, carried);
    else
        chunks_staged(g, c, c->nchunks, carried);
    if (c->p.bare) cg_contract_end_bare(g, c, carried);
}

/* By the plan that goes with what b is. */
static void all_ways(cg *g, et_contract *c, val *carried) {
    if (!c->other) {
        all_chunks(g, c, carried);
        return;
    }
    struct ways w;
    int sums = et_mainloop_sums(&c->p);
    val packed[MOST_CARRIED];
    memcpy(packed, carried, (size_t)sums * sizeof *packed);
    c->other->mlive = c->mlive;
    c->other->nlive = c->nlive;
    ways_begin(g, &w, c->is_packed);
    if (loads_late(g, c)) first_loads(g, c->other);
    all_chunks(g, c->other, packed);
    way_ends(g, &w, 0);
    if (loads_late(g, c)) first_loads(g, c);
    all_chunks(g, c, carried);
    way_ends(g, &w, 1);
    for (int i = 0; i < sums; i++)
        carried[i] = of_ways(g, &w, packed[i], carried[i]);
}

/* Where the tile has k at all; all its waves find the same. */
static void chunks_if(cg *g, et_contract *c, val *carried) {
    val old[ET_MAX_SUMS];
    memcpy(old, carried, (size_t)et_mainloop_sums(&c->p) * sizeof *old);
    val any = LLVMBuildZExt(g->b, cg_emit(g, c->p.cond), g->i32, "");
    cg_if some;
    cg_if_begin(g, &some, cg_icmp(g, LLVMIntNE, cg_uniform(g, any), cg_i32(g, 0)));
    int mark = cg_scope(g);
    if (c->guess) {
        addresses(g, c);
        cg_contract_guessed(g, c);
    } else {
        begin_loads(g, c);
    }
    all_ways(g, c, carried);
    cg_scope_end(g, mark);
    cg_if_end(g, &some);
    for (int i = 0; i < et_mainloop_sums(&c->p); i++) {
        val phi = LLVMBuildPhi(g->b, LLVMTypeOf(old[i]), "");
        LLVMAddIncoming(phi, (val[]){carried[i], old[i]}, (block[]){some.then, some.otherwise}, 2);
        carried[i] = phi;
    }
}

/* The sets of a sum, added up. */
static val together(cg *g, const et_contract *c, val sum) {
    for (int n = c->p.results * c->p.sets / 2; n >= c->p.results; n /= 2) {
        val low[ET_MAX_FRAGMENTS], high[ET_MAX_FRAGMENTS], none = LLVMGetPoison(LLVMTypeOf(sum));
        for (int i = 0; i < n; i++) {
            low[i] = cg_i32(g, i);
            high[i] = cg_i32(g, n + i);
        }
        val a = LLVMBuildShuffleVector(g->b, sum, none, LLVMConstVector(low, (unsigned)n), "");
        val b = LLVMBuildShuffleVector(g->b, sum, none, LLVMConstVector(high, (unsigned)n), "");
        sum = LLVMBuildFAdd(g->b, a, b, "");
    }
    return sum;
}

/* A sum, multiplied by what its operands were divided by. */
static val scaled(cg *g, const et_contract *c, val sum) {
    val each[16];
    if (c->p.times == 1) return sum;
    for (int i = 0; i < c->p.results; i++)
        each[i] = cg_f32(g, c->p.times);
    return LLVMBuildFMul(g->b, sum, LLVMConstVector(each, (unsigned)c->p.results), "");
}

void cg_contract_multiply(cg *g, et_contract *c, val *out) {
    const et_step *s = c->p.s;
    val carried[MOST_CARRIED];
    if (et_mainloop_sums(&c->p) > ET_MAX_SUMS || c->p.nload > ET_MAX_FRAGMENTS)
        et_bug("%s: a wave cannot hold %d sums and %d rows", g->f->name, et_mainloop_sums(&c->p),
               c->p.nload);
    c->mlive = cg_emit_i32(g, s->mlive);
    c->nlive = cg_emit_i32(g, s->nlive);
    for (int i = 0; i < et_mainloop_sums(&c->p); i++)
        carried[i] = LLVMConstNull(LLVMVectorType(g->f32, (unsigned)(c->p.results * c->p.sets)));
    if (c->p.cond.id)
        chunks_if(g, c, carried);
    else
        all_ways(g, c, carried);
    if (shares_memory(g, s)) cg_barrier(g); /* all waves have done with the chunks */
    for (int i = 0; i < et_mainloop_sums(&c->p); i++)
        out[i] = scaled(g, c,
                        c->p.spread ? cg_contract_gathered(g, c, carried[i])
                                    : together(g, c, carried[i]));
}

void cg_contract_run(cg *g, et_contract *c) {
    val sums[ET_MAX_SUMS];
    cg_contract_multiply(g, c, sums);
    cg_contract_write(g, c, NULL, sums);
    if (c->p.plan.deferred)
        cg_sums_begin(g, c->p.s);
    else if (c->p.s->wk > 1)
        sum_parts(g, c);
}

void cg_sums_begin(cg *g, const et_step *s) {
    for (int i = 0; i < s->nacc; i++)
        g->parts[s->acc[i]] = (cg_parts){s->wk, s->tm * g->f->locals[s->acc[i]].pitch * 4};
}
