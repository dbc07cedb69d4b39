/* Groups with matrix products: operands through matrix instructions, everything around them in the
 * same tile. All products of a group share their left operand; what the group computes from them
 * (bias, activation, rotary embedding, per-head norm) reads the sums from local memory. */
#include "passes/tile/contract.h"
#include "ir/program/step.h"
#include "ir/weights/stream.h"
#include "passes/cost/cost.h"
#include "passes/pipeline/pipeline.h"
#include <math.h>
#include <string.h>

enum {
    MAX_TM = 64,           /* rows of a tile without a ring */
    FEW_ALONE = 32,        /* so few need no ring, where each wave multiplies for itself */
    RULE_ROWS = 128,       /* of a tile with one, where costs are not looked at */
    ACC_BYTES = 32 << 10,  /* local memory for sums */
    ACC_STREAM = 36 << 10, /* where weights come ahead */
    LARGE_LDS = 1 << 17,   /* where another chunk of staged rows may be in flight */
};

/* ---- finding the products ---- */

static void find_leaf(void *ctx, et_expr e) {
    et_contract_tiler *c = ctx;
    const et_node_x *x = et_x(c->t.x, e);
    if (x->op != ET_X_CONTRACT) return;
    if (c->nleaf == ET_TILE_LEAVES) {
        c->too_many = true;
        return;
    }
    c->leaf[c->nleaf++] =
        (et_leaf){.e = e, .product = x->i, .m = x->ops[x->nops - 2], .n = x->ops[x->nops - 1]};
}

static int axis_of(const et_contract_tiler *c, et_expr e) {
    const et_node_x *x = et_x(c->t.x, e);
    for (int d = 0; x->op == ET_X_VAR && d < c->t.gr->rank; d++)
        if (x->i == c->t.gr->axis[d]) return d;
    return -1;
}

/* Which axes of the group are rows, columns and batches of the products. */
static bool classify(et_contract_tiler *c) {
    const et_group *gr = c->t.gr;
    c->m_axis = axis_of(c, c->leaf[0].m);
    if (c->m_axis < 0 && et_x(c->t.x, c->leaf[0].m)->op != ET_X_INT) return false;
    for (int l = 0; l < c->nleaf; l++) {
        if (!et_expr_eq(c->leaf[l].m, c->leaf[0].m)) return false;
        const et_node_x *x = et_x(c->t.x, c->leaf[l].e);
        for (int d = 0; d < gr->rank; d++) {
            for (int b = 0; b + 2 < x->nops; b++)
                c->batch[d] |= et_expr_has_var(c->t.x, x->ops[b], gr->axis[d]);
            c->column[d] |= et_expr_has_var(c->t.x, c->leaf[l].n, gr->axis[d]);
        }
    }
    for (int d = 0; d < gr->rank; d++) {
        int64_t one;
        bool single = et_is_int(c->t.x, et_tiler_extent(&c->t, d), &one) && one == 1;
        if ((d == c->m_axis) + c->batch[d] + c->column[d] != 1 && !single) return false;
    }
    return true;
}

/* Are there always more rows than in one matrix instruction? With fewer a pipeline is slower than
 * weights in registers; programs for few and many rows have variants. */
static bool always_many(const et_contract_tiler *c) {
    int64_t lo, hi;
    return c->m_axis >= 0 && et_bounds(c->t.x, et_tiler_extent(&c->t, c->m_axis), &lo, &hi) &&
           lo > 16;
}

/* Operands that a pipeline copies unchanged, or computes from contiguous loads. */
static bool may_ring(const et_contract_tiler *c) {
    bool words = c->words && c->t.opt->machine->local_copies;
    return (c->plain || words || c->computed > 0) &&
           !et_is_without(c->t.opt->without, ET_FEATURE_PIPELINE);
}

static et_expr operand_of(et_contract_tiler *c, int p, bool left, et_expr at, et_expr k) {
    int l = 0;
    while (c->leaf[l].product != p)
        l++;
    return et_tiler_operand(&c->t, &c->t.gr->product[p], et_x(c->t.x, c->leaf[l].e), left, at, k);
}

/* ---- local memory ---- */

/* Rows of the buffer for a: those of all chunks where they are so few that fewer than sixteen hold
 * them, and some for what lies between them should codegen cut k into more chunks. */
static int staged_rows(const et_contract_tiler *c, const et_step *s, int kc) {
    int most = c->m_axis < 0 ? 1 : c->t.tile[c->m_axis], rows = 1, chunks = 1;
    while (rows < most)
        rows *= 2;
    while ((int64_t)chunks * kc < et_cut_upper(c, s->kextent) && chunks < 16)
        chunks *= 2;
    return c->direct && rows * (chunks + 1) < s->tm ? rows * (chunks + 1) : s->tm;
}

/* Where rows cannot go to the registers of the wave that has their k (et_tile_own_rows), four
 * chunks of half as many k's have room, of which three are in flight. */
static bool turns(const et_contract_tiler *c, const et_step *s) {
    int64_t lo, rows;
    return c->t.opt->packed && c->plain && et_may_stream(c->t.opt) && s->tm <= 32 &&
           et_bounds(c->t.x, s->mlive, &lo, &rows) && rows > 4;
}

static void lay_out(et_contract_tiler *c, et_step *s) {
    et_program *p = c->t.p;
    et_func *f = &c->t.f;
    int bytes = et_dtype_bytes(s->operand);
    bool own = c->plain && !c->order && et_tile_own_rows(&c->t, s);
    et_tile_deal_waves(c, s, own);
    c->direct = c->plain || et_tile_in_registers(c->computed, s);
    if (!c->direct) s->wk = c->t.opt->machine->waves / s->wn; /* all of them fill the buffer */
    int at = f->lds_bytes;
    for (int a = 0; a < s->nacc; a++)
        s->acc[a] = et_local_add(p, f, et_printf(c->t.p->g->arena, "acc%d", a), ET_F32, 3,
                                 (int[]){s->wk, s->tm, s->tn}, s->tn + 4);
    int unit = c->t.opt->machine->k_bytes / bytes * s->wk, pad = 16 / bytes;
    int most = et_tile_staged_k(c->t.opt->machine, bytes, s->tm + (c->direct ? 0 : s->tn), s->wk,
                                f->lds_bytes);
    int64_t k = et_cut_upper(c, s->kextent), chunks = (k + most - 1) / most;
    int kc = (int)((k + chunks * unit - 1) / (chunks * unit)) * unit; /* chunks of one size */
    if (own) kc = unit;
    if (c->order && c->order->chunk) kc = c->order->chunk;
    int dim_a[] = {staged_rows(c, s, kc), kc}, dim_b[] = {s->tn, kc};
    if (c->direct && !own && !c->order && dim_a[0] == s->tm)
        et_tile_staged_whole(&c->t, s, unit, dim_a);
    bool two = c->direct && s->tm > 16 && !et_may_stream(c->t.opt) &&
               c->t.opt->machine->lds_bytes >= LARGE_LDS;
    bool four = turns(c, s);
    int ahead = et_tile_chunks_ahead(c, s, kc);
    int end = f->lds_bytes;
    bool meet = c->direct && et_may_stream(c->t.opt); /* so that the ring has more slots */
    if (meet) f->lds_bytes = at;                      /* et_locals_may_meet */
    s->stage_a = et_local_add(p, f, "a", s->operand, 2, dim_a,
                              ahead > 1 ? ahead * (kc + pad)
                              : four    ? 2 * kc + 4 * pad
                                        : (two ? 2 : 1) * dim_a[1] + 2 * pad);
    if (!c->direct) s->stage_b = et_local_add(p, f, "b", s->operand, 2, dim_b, kc + pad);
    if (f->lds_bytes < end) f->lds_bytes = end;
}

/* Weights beside rows are copied to local memory where that takes no slot from the ring. */
static void lay_out_beside(et_contract_tiler *c, et_step *s) {
    const et_machine *m = c->t.opt->machine;
    const et_func f = c->t.f;
    const et_step was = *s;
    s->a = et_tile_beside(&c->t, s);
    bool beside = s->a.id != was.a.id;
    int copied = c->t.f.lds_bytes - f.lds_bytes;
    lay_out(c, s);
    int slot = m->stream_kb << 10, slots = et_machine_slots(m, c->t.f.lds_bytes, slot);
    if (!beside || slots == et_machine_slots(m, c->t.f.lds_bytes - copied, slot)) return;
    c->t.f = f;
    *s = was;
    lay_out(c, s);
}

static int acc_bytes(const et_contract_tiler *c, int tm, int tn, int waves) {
    int wn = waves;
    if (c->order) return c->t.gr->nproduct * c->order->waves * tm * (tn + 4) * 4;
    while (c->narrow ? c->t.gr->nproduct * tn % (16 * wn) : (tn / 16) % wn)
        wn /= 2;
    return c->t.gr->nproduct * (waves / wn) * tm * (tn + 4) * 4;
}

/* ---- the function ---- */

static et_expr sum_of_leaf(void *ctx, et_exprs *x, et_expr e) {
    et_contract_tiler *c = ctx;
    const et_node_x *n = et_x(x, e);
    if (n->op != ET_X_CONTRACT) return ET_NO_EXPR;
    /* The step that made the accumulators is found through its function: steps may move. */
    const et_step *s = et_tile_product_of(&c->t.f);
    et_expr row = c->m_axis >= 0 && c->t.inner[c->m_axis] >= 0 ? et_var(x, c->t.inner[c->m_axis])
                                                               : et_int(x, 0);
    int64_t most;
    et_expr off = et_sub(x, n->ops[n->nops - 1], c->base[n->i]);
    et_expr index[] = {et_int(x, 0), row, et_pieces_column(x, &c->pieces, off, &most)};
    return et_load(x, ET_LOAD_LOCAL, s->acc[n->i], ET_T_F32, 3, index);
}

static et_expr live(et_exprs *x, int most, et_expr extent, et_expr from) {
    return et_op2(x, ET_X_MIN, et_int(x, most), et_sub(x, extent, from));
}

/* Experts' weights that come ahead, of a k that waves cannot share evenly: some have no part of its
 * last chunk. */
static bool lay_out_ending(et_contract_tiler *c, const et_step *step) {
    const et_machine *m = c->t.opt->machine;
    const et_func before = c->t.f;
    et_step s = *step;
    if (c->plain || c->ring || c->order || !et_may_stream(c->t.opt) || m->dies > 1 || s.wk == 1 ||
        et_x(c->t.x, s.kextent)->op != ET_X_SELECT || et_cut_rows(c) > ET_TILE_FEW)
        return false;
    c->computed = et_tile_computed(c->t.p, m, &s, true);
    c->ends = c->computed > 0;
    if (c->ends) {
        lay_out_beside(c, &s);
        *et_tiler_step(&c->t, ET_STEP_CONTRACT) = s;
        if (et_product_use_of(c->t.p, &c->t.f, et_tile_product_of(&c->t.f), m).streamed)
            return true;
    }
    c->t.f = before;
    c->ends = false;
    c->computed = 0;
    return false;
}

/* The CONTRACT step, after the reductions its left operand needs. */
static bool contract_step(et_contract_tiler *c) {
    et_exprs *x = c->t.x;
    const et_product *first_product = &c->t.gr->product[0];
    int tm = et_round16(c->m_axis < 0 ? 1 : c->t.tile[c->m_axis]),
        tn = c->narrow ? c->span : et_round_up(c->span, c->grain);
    et_step s = et_step_make(ET_STEP_CONTRACT);
    s.tm = tm, s.tn = tn, s.operand = first_product->operand, s.nacc = c->t.gr->nproduct;
    s.kextent = et_var_extent(x, first_product->k);
    s.mvar = et_graph_var(c->t.p->g, "m", et_int(x, tm));
    s.nvar = et_graph_var(c->t.p->g, "n", et_int(x, tn));
    s.kvar = et_graph_var(c->t.p->g, "k", s.kextent);
    et_expr first = c->m_axis < 0 ? c->leaf[0].m : c->t.outer[c->m_axis];
    et_expr rows = et_var_extent(x, first_product->m);
    s.mlive = c->m_axis < 0 ? et_int(x, 1) : live(x, c->t.tile[c->m_axis], rows, first);
    s.a = operand_of(c, 0, true, et_add(x, first, et_var(x, s.mvar)), et_var(x, s.kvar));
    int from = c->t.f.nsteps;
    s.a = et_tiler_reductions(&c->t, s.a, 1, &s.mvar, s.kvar);
    if (!s.a.id) return et_tiler_force(&c->t, first_product->left, "the left operand");
    et_expr in = et_op2(x, ET_X_LT, et_var(x, s.mvar), s.mlive);
    for (int i = from; i < c->t.f.nsteps; i++)
        et_tiler_rows(&c->t, &c->t.f.steps[i], s.mvar, in,
                      c->m_axis < 0 ? 1 : c->t.tile[c->m_axis]);
    et_expr guard = et_tile_guard(c);
    if (guard.id) s.kextent = et_select(x, guard, s.kextent, et_int(x, 0));
    s.nlive = et_int(x, c->span);
    c->plain = c->words = true;
    for (int p = 0; p < c->t.gr->nproduct; p++) {
        et_expr n = et_pieces_offset(x, &c->pieces, et_var(x, s.nvar));
        s.b[p] = operand_of(c, p, false, et_add(x, c->base[p], n), et_var(x, s.kvar));
        if (c->pieces.count == 1) /* pieces are all there */
            s.nlive =
                et_op2(x, ET_X_MIN, s.nlive, et_sub(x, et_cut_product_columns(c, p), c->base[p]));
        c->plain &= et_k_contiguous(c->t.p, s.b[p], s.kvar, s.operand);
        c->words &= et_k_in_words(c->t.p, s.b[p], s.kvar, s.operand);
    }
    if (c->narrow && !c->plain) return true;
    bool dealt = et_tile_deal_waves(c, &s, false);
    if (c->ring ? !et_tile_ring_has_order(c) : !dealt) return c->unfit = true;
    c->ends = false;
    c->computed = c->plain ? 0 : et_tile_computed(c->t.p, c->t.opt->machine, &s, false);
    if (!c->computed && lay_out_ending(c, &s)) return true;
    if (!c->ring)
        lay_out_beside(c, &s);
    else if (!may_ring(c) || !et_tile_ring(c->t.p, &c->t.f, c->t.opt->machine, c->order, &s))
        return c->unfit = true;
    *et_tiler_step(&c->t, ET_STEP_CONTRACT) = s;
    return true;
}

static void epilogue(et_contract_tiler *c) {
    int vars[ET_MAX_VARS], n = et_tiler_inner(&c->t, vars);
    et_expr value = et_tiler_subst(&c->t, c->t.gr->value);
    value = et_subst(c->t.x, value, sum_of_leaf, c);
    et_tiler_store(&c->t, et_tiler_reductions(&c->t, value, n, vars, -1));
}

/* Fusion went too far for one tile: the products get tensors of their own. */
static bool give_up(const et_contract_tiler *c) {
    for (int p = 0; p < c->t.gr->nproduct; p++)
        et_tiler_force(&c->t, c->t.gr->product[p].value, "the product");
    return false;
}

/* Products that cannot share a tile with the first one: another left operand, operand type or
 * order. */
static bool share_left(const et_contract_tiler *c) {
    const et_product *p = c->t.gr->product;
    bool ok = true;
    for (int i = 1; i < c->t.gr->nproduct; i++)
        if (!et_expr_eq(p[i].a, p[0].a) || p[i].operand != p[0].operand ||
            !et_tile_ordered_alike(&c->t, 0, i))
            ok = et_tiler_force(&c->t, p[i].value, p[i].name);
    return ok;
}

static int sums_room(const et_contract_tiler *c) {
    return et_may_stream(c->t.opt) ? ACC_STREAM : ACC_BYTES;
}

/* Rows of a tile of CUT that has at most ROWS, fewer where the sums would not fit in their share of
 * local memory. */
static int rows_in(const et_contract_tiler *c, const et_tile_cut *cut, int rows, bool ring) {
    int waves = c->t.opt->machine->waves, n = c->m_axis < 0 ? 1 : cut->tile[c->m_axis];
    while (n > 16 && (n > rows || (!ring && acc_bytes(c, et_round16(n), et_round16(cut->span),
                                                      waves) > sums_room(c))))
        n = et_round16(et_round16(n) / 2);
    return n;
}

static void apply(et_contract_tiler *c, const et_tile_cut *cut, int rows) {
    et_tile_cut by = *cut;
    if (c->m_axis >= 0) by.tile[c->m_axis] = rows_in(c, cut, rows, c->ring);
    et_cut_apply(c, &by);
}

/* Are the columns of all products shared by the waves, where those of each alone do not go round?
 */
static bool is_narrow(const et_contract_tiler *c) {
    bool power = (c->span & (c->span - 1)) == 0;
    return et_may_stream(c->t.opt) && !power && c->span % 8 == 0 &&
           c->t.gr->nproduct * c->span % 16 == 0;
}

static bool build_in(et_contract_tiler *c, const et_tile_cut *cut, int rows, bool ring, int grain) {
    c->grain = grain;
    c->ring = ring;
    c->unfit = false;
    apply(c, cut, rows);
    bool whole = grain == 16 || c->t.gr->nproduct * c->span % grain == 0;
    c->narrow = !ring && (c->order ? whole : grain == 16) && is_narrow(c);
    if (!contract_step(c)) return false;
    if (c->narrow && !c->plain) {
        c->narrow = false;
        apply(c, cut, rows);
        if (!contract_step(c)) return false;
    }
    int after, row;
    if (!c->unfit) epilogue(c);
    c->unfit |= et_func_bands(c->t.x, &c->t.f, &after, &row) > 1 && row < 0;
    return true;
}

/* Waves that have no columns of their own share in sums, each with a copy. Where these do not fit,
 * columns without results are added, so that every wave has some. */
static bool build(et_contract_tiler *c, const et_tile_cut *cut, int rows, bool ring) {
    const et_machine *m = c->t.opt->machine;
    int grain = c->order && !ring ? 16 * m->waves / c->order->waves : 16;
    if (!build_in(c, cut, rows, ring, grain)) return false;
    if (c->order && !c->unfit)
        c->unfit = !et_product_has_order(m->plans, c->t.p, &c->t.f, et_tile_product_of(&c->t.f),
                                         c->order, &c->streamed);
    if (ring || c->order || c->t.f.lds_bytes <= m->lds_bytes) return true;
    return build_in(c, cut, rows, ring, 16 * m->waves);
}

/* The CUs that tiles may use, and how costs are compared. */
static void share_cus(et_contract_tiler *c) {
    const et_machine *m = c->t.opt->machine;
    c->cus = m->cus;
    if (et_cut_may_be_many(c)) c->cus = et_tile_cus_by_columns(c->t.p, c->t.gr, m->cus);
    c->many = m->group_waves && m->dies == 1 && always_many(c) && et_cut_rows(c) > FEW_ALONE;
    c->pooled = c->many && c->cus < m->cus;
}

/* The time that the last round of experts' tiles leaves over: a CU without one has its share of
 * memory all the same, for what comes after them. Where tiles may be empty that is half a round, as
 * often as not. */
static double left_over(et_contract_tiler *c, const et_grid_cost *cost) {
    const et_machine *m = c->t.opt->machine;
    double round = cost->memory_bytes / (m->hbm_gbs * 1e3) * m->cus / cost->tiles;
    if (et_tile_may_be_empty(c)) return round / 2;
    double rounds = cost->tiles / m->cus, rest = rounds - (double)(int64_t)rounds;
    return et_tile_streams_routed(c) && rest > 0 ? round * (1 - rest) : 0;
}

/* Predicted time of the function just built, at samples of the symbols relative to REFERENCE. */
static double built_cost(et_contract_tiler *c, double reference[ET_SAMPLES]) {
    enum { TILE_PART = 16 };
    c->tiles = 0;
    et_program *p = c->t.p;
    const et_machine *m = c->t.opt->machine;
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    double sum = 0;
    et_tile_lend(c);
    et_grid_cost costs[ET_SAMPLES];
    et_sample_symbols(c->t.x, syms);
    et_grid_costs(p, &c->t.grid, m, syms, costs);
    /* The smallest size of a range is one row more than the range before has: in tiles of many it
     * says little of the others. */
    for (int i = c->many ? 1 : 0; i < ET_SAMPLES; i++) {
        et_grid_cost cost = costs[i];
        double us = c->pooled   ? et_tile_pool_us(p, c->t.gr, &cost, m, syms[i])
                    : c->rounds ? et_grid_us_in_rounds(&cost, m, c->cus)
                                : et_grid_us_on(&cost, m, c->cus, m->dies);
        /* Memory is not all that a round waits for: smaller tiles on more CUs are a little faster.
         */
        if (!c->pooled && c->ring && m->group_waves && cost.tiles <= m->cus)
            us += cost.tile_us / TILE_PART;
        if (c->rounds) us += left_over(c, &cost);
        if (cost.tiles > c->tiles) c->tiles = cost.tiles;
        if (reference[i] == 0) reference[i] = us;
        sum += us / reference[i];
    }
    return sum;
}

/* Waves that multiply together have tiles of odd widths only where these are one round, which is on
 * more CUs then, and no others share the CUs. */
static bool odd_suits(const et_contract_tiler *c) {
    const et_machine *m = c->t.opt->machine;
    return !m->local_copies || (!c->pooled && c->tiles <= m->cus);
}

/* Blocks of experts of more than sixteen rows have rings, and nothing streams: what tiles without
 * one cost as if their weights streamed says nothing of them. One layer of 128 experts, 256 tokens:
 * 429 us by the weight stream, 350 by rings, measured. */
static bool has_rings_alone(const et_contract_tiler *c) {
    return c->t.opt->machine->group_waves && et_may_stream(c->t.opt) && et_tile_may_be_empty(c) &&
           may_ring(c) && always_many(c) && et_cut_rows(c) > ET_TILE_FEW;
}

/* The cut by rule, or where its sums have not the order that they are to have, the first that has
 * it. */
static const et_tile_cut *first_fit(et_contract_tiler *c, const et_tile_cuts *cuts,
                                    const et_tile_cut *plain, int *rows) {
    bool stream = et_may_stream(c->t.opt) && et_cut_rows(c) <= MAX_TM;
    for (int any = !stream; c->order && any < 2; any++)
        for (*rows = MAX_TM; *rows >= 16; *rows /= 2)
            for (int i = -1; i < cuts->n; i++) {
                const et_tile_cut *cut = i < 0 ? plain : &cuts->v[i];
                if (!build(c, cut, *rows, false)) return NULL;
                bool fits = !c->unfit && c->t.f.lds_bytes <= c->t.opt->machine->lds_bytes;
                if (fits && (any || c->streamed)) return cut;
            }
    *rows = MAX_TM;
    return plain;
}

/* Without costs: the first tile that has the order. Where there is none, fewer things are computed
 * in one tile. */
static bool build_by_order(et_contract_tiler *c, const et_tile_cuts *cuts,
                           const et_tile_cut *plain) {
    int rows;
    plain = first_fit(c, cuts, plain, &rows);
    if (!plain || !build(c, plain, rows, false)) return false;
    bool alone = et_x(c->t.x, c->t.gr->value)->op == ET_X_CONTRACT;
    return !c->unfit || (alone ? et_tile_has_order(c) : give_up(c));
}

/* Every cut with every number of rows, and where there are many also with a ring; the plain choice
 * stays unless another is clearly better. */
static bool build_cheapest(et_contract_tiler *c, const et_tile_cuts *cuts,
                           const et_tile_cut *plain) {
    static const struct {
        int rows;
        bool ring;
    } way[] = {{64, false}, {32, false}, {16, false}, {256, true},
               {128, true}, {64, true},  {32, true}};
    const et_tile_cut *best = plain;
    double reference[ET_SAMPLES] = {0}, least;
    int best_rows,
        many = et_cut_rows(c),
        few = c->t.opt->machine->group_waves && !et_may_stream(c->t.opt) ? ET_TILE_FEW : FEW_ALONE;
    share_cus(c);
    bool ring = false;
    best = plain = first_fit(c, cuts, plain, &best_rows);
    if (!plain || !build(c, plain, best_rows, false) || !et_tile_has_order(c)) return false;
    bool rings_alone = !c->order && has_rings_alone(c);
    if (rings_alone) few = ET_TILE_FEW;
    bool misses = et_tile_misses_stream(c), stays = c->order && c->streamed && many <= MAX_TM;
    for (int i = 0; i < cuts->n && misses; i++) {
        if (!build(c, &cuts->v[i], best_rows, false)) return false;
        misses = c->unfit || et_tile_misses_stream(c);
        if (!misses) best = &cuts->v[i];
    }
    if (misses && !build(c, plain, best_rows, false)) return false;
    least = built_cost(c, reference);
    if (et_tile_has_few_rounds(c) ||
        (et_tile_streams_routed(c) && et_tile_may_be_empty(c))) { /* which are compared otherwise */
        c->rounds = true;
        memset(reference, 0, sizeof reference);
        least = built_cost(c, reference);
    }
    least = rings_alone ? HUGE_VAL : least * 0.98;
    for (int i = 0; i < cuts->n; i++) {
        int built = 0; /* rows of this cut's tiles that were built last, in the way of c->ring */
        for (size_t r = 0; r < sizeof way / sizeof *way; r++) {
            /* Weights that go to registers are read once for every 16 rows. Between tasks that
             * are bound by memory, more reads than needed only take bandwidth from these. */
            bool narrow = cuts->v[i].odd && et_may_stream(c->t.opt) && many <= ET_TILE_FEW;
            if (narrow
                    ? way[r].ring
                    : (cuts->v[i].odd || rings_alone || (c->pooled && may_ring(c))) && !way[r].ring)
                continue;
            if (way[r].ring &&
                (!may_ring(c) || many <= few || !always_many(c) || way[r].rows >= 2 * many))
                continue;
            int rows = rows_in(c, &cuts->v[i], way[r].rows, way[r].ring);
            if (rows == built && way[r].ring == c->ring) continue;
            built = rows;
            if (!build(c, &cuts->v[i], way[r].rows, way[r].ring)) return false;
            if (c->unfit || c->t.f.lds_bytes > c->t.opt->machine->lds_bytes ||
                (narrow && !c->ends && (!c->narrow || cuts->v[i].ending)) ||
                (cuts->v[i].routed && !et_tile_streams_routed(c)) || et_tile_splits_lines(c) ||
                (!misses && et_tile_misses_stream(c)) || (stays && !c->streamed))
                continue;
            double cost = built_cost(c, reference);
            if (cost >= least || (cuts->v[i].odd && !narrow && !odd_suits(c))) continue;
            least = cost;
            best = &cuts->v[i];
            best_rows = way[r].rows;
            ring = way[r].ring;
        }
    }
    return build(c, best, best_rows, ring);
}

/* Without costs, with warpgroup MMA and there are always many rows: with a ring, in the
 * widest tiles of RULE_ROWS rows that are no wider than that. False where there is none; OK is
 * false after an error. */
static bool ring_by_rule(et_contract_tiler *c, const et_tile_cuts *cuts, bool *ok) {
    const et_tile_cut *best = NULL;
    if (!c->t.opt->machine->group_waves || et_cut_rows(c) <= ET_TILE_FEW || !always_many(c))
        return false;
    for (int i = 0; i < cuts->n; i++) {
        int span = et_round16(cuts->v[i].span) * c->t.gr->nproduct;
        if (span <= RULE_ROWS && (!best || cuts->v[i].span > best->span)) best = &cuts->v[i];
    }
    if (!best) return false;
    *ok = build(c, best, RULE_ROWS, true);
    return !*ok || (!c->unfit && c->t.f.lds_bytes <= c->t.opt->machine->lds_bytes);
}

bool et_tile_contract(const et_tiler *common, const et_group *gr) {
    et_contract_tiler *c = et_alloc(common->p->g->arena, sizeof *c);
    c->t = et_tiler_begin(common, gr);
    if (!share_left(c)) return false;
    et_walk(c->t.x, gr->value, find_leaf, c);
    et_tile_cuts cuts = {.n = 0}, hinted = {.n = 0};
    if (c->too_many || !classify(c)) return give_up(c);
    c->order = et_tile_sums_order(&c->t, gr, 0);
    et_cuts_of_columns(c, &cuts);
    if (!cuts.n && gr->slice.count) {
        et_group whole = *gr;
        whole.slice.count = 0;
        return et_tile_contract(common, &whole);
    }
    if (!cuts.n) return give_up(c);
    const et_tile_cut *plain = et_cut_plain(c, &cuts);
    if (et_cut_hinted(c, plain, &hinted))
        return build(c, &hinted.v[0], MAX_TM, false) && et_tile_has_order(c) && et_tiler_end(&c->t);
    bool ok = true;
    if (c->t.by_cost) et_cuts_odd(c, &cuts);
    if (c->t.by_cost)
        ok = build_cheapest(c, &cuts, plain);
    else if (c->order)
        return build_by_order(c, &cuts, plain) && et_tiler_end(&c->t);
    else if (!ring_by_rule(c, &cuts, &ok))
        ok = build(c, plain, MAX_TM, false);
    return ok && et_tiler_end(&c->t);
}
