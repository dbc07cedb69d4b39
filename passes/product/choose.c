/* Which plan a product gets: how much of k a chunk has, where rows come from, how quantised values
 * are decoded. Where several would do, the order of preference is written here; the figures behind
 * it were measured (bench/DECISIONS.md). */
#include "passes/product/product.h"

/* The order that C's products are to have, or NULL: any. */
static const et_product_order *order_of(const et_product_cx *g, const et_mainloop *c) {
    return et_orders_product(g->orders, g->p, c->s->b[0]);
}

/* Of WIDE k each: as many as all rows of a chunk have room for in a stage. */
static int ring_units(const et_mainloop *c, int wide, int bytes) {
    int64_t of_one = (int64_t)c->s->nacc * c->s->tn * wide * c->bits / 8;
    return bytes > of_one ? (int)(bytes / of_one) : 1;
}

/* The same of a tile that has room for all of its k in a stage: one chunk, or 0. */
static int all_units(const et_mainloop *c, int wide, int bytes) {
    int64_t stage = (int64_t)c->s->nacc * c->s->tn * c->k * c->bits / 8;
    return c->k > 0 && c->k % wide == 0 && stage <= bytes ? (int)(c->k / wide) : 0;
}

/* Chunks of so much of k are all whole, or with ENDS all but the last, and lanes copy the same
 * pieces of all rows. */
static bool may_stream(const et_product_cx *g, const et_mainloop *c, int chunk, bool ends) {
    int bits = chunk * c->bits, piece = 8 * ET_RING_PIECE;
    et_stream_run run[ET_MOST_RUNS];
    bool whole = c->k > 0 && c->k % chunk == 0;
    return (whole || (ends && et_stream_may_end(c, chunk))) && c->part % chunk == 0 &&
           bits % piece == 0 && bits > 0 && et_stream_runs(g, bits / piece, run) &&
           c->s->tn % et_stream_rows_at_once(g, bits / piece) == 0;
}

/* ---- b as it lies in memory ---- */

/* The buffer for a holds 16 rows at a time: as much k per chunk as fits there and in registers.
 * OWN: rows may be a wave's own. */
static int direct_units(const et_product_cx *g, const et_mainloop *c, bool own) {
    const et_step *s = c->s;
    int pitch = et_mainloop_pitch(g, c), pad = et_mainloop_pad(g, c);
    int wide = s->wk * c->unit_k, per = c->nsub * c->rows_n * c->products;
    const et_product_order *order = order_of(g, c);
    if (order && order->chunk % wide == 0 && order->chunk) return order->chunk / wide;
    int units = (s->tm * pitch / 16 - pad) / wide;
    int most = g->t->loads * c->piece / c->lane_k / per;
    if (c->packed) most = g->t->loads / per; /* a load brings a lane's k's */
    if (c->streamed && c->packed)
        most = et_stream_packed_units(c, g->p->ring.bytes);
    else if (c->streamed)
        most = ring_units(c, wide, g->p->ring.bytes);
    if (units > most) units = most;
    int turns = c->packed ? 4 : s->tm > 16 ? 2 : 1; /* of rows in the buffer, or fewer */
    while (turns > 1 && pitch / turns - pad < wide)
        turns /= 2;
    if (turns > 1 && units > (pitch / turns - pad) / wide && et_rows_may_copy_ahead(g, c))
        units = (pitch / turns - pad) / wide;
    if (units < 1) units = 1;
    int64_t all = (c->k + wide - 1) / wide;
    if (c->k > 0 && c->k % wide == 0 && own && et_rows_may_own(g, c)) {
        units = et_rows_own_units(c, all, most);
    } else if (c->packed && c->streamed) { /* of which none is less than full */
        while (units > 1 && all % units)
            units--;
    } else if (c->k > 0) { /* chunks of one size */
        int64_t n = (all + units - 1) / units;
        units = (int)((all + n - 1) / n);
        while (c->streamed && c->k % wide == 0 && units > 1 &&
               !may_stream(g, c, wide * units, false))
            units--;
    }
    return units;
}

/* ---- b that is computed ---- */

/* Elements of a row that the buffer for a has room for: of sixteen rows, or of one, where there are
 * never more and values come in stages, which as many fill as sixteen rows have no room for. */
static int room_of_row(const et_product_cx *g, const et_mainloop *c, bool ring) {
    const et_local *l = &g->f->locals[c->s->stage_a];
    int pitch = et_mainloop_pitch(g, c), all = c->s->tm * pitch / 16;
    int one = (int)l->dim[0] * pitch - et_decode_kept(g) / c->size;
    return (ring && et_most_rows(g, c->s) == 1 && one > all ? one : all) - et_mainloop_pad(g, c);
}

static bool compute(const et_product_cx *g, et_mainloop *c, bool ends) {
    const et_step *s = c->s;
    bool ring = c->streamed && c->late;
    int wide = s->wk * c->unit_k, per = c->nsub * c->rows_n * s->nacc;
    int units = room_of_row(g, c, ring) / wide;
    int most = g->t->loads * c->piece / c->lane_k / per;
    const et_product_order *order = order_of(g, c);
    if (order && order->lane != c->lane_k) return false;
    if (order && order->chunk)
        return order->chunk % wide == 0 && et_mainloop_compute(g, c, order->chunk / wide);
    if (ring) most = ring_units(c, wide, g->p->ring.bytes);
    units = units > most ? most : units;
    if (units < 1) units = 1;
    if (units > ET_USUAL_RAWS) units = ET_USUAL_RAWS;
    for (; units > 0; units--) {
        bool may = !c->streamed || may_stream(g, c, wide * units, ends);
        if (may && et_mainloop_compute(g, c, units)) return true;
    }
    return false;
}

/* Takes fewer k's of PLAIN for a lane, LEAST or more, where the k's of a unit then share a scale
 * that those of C do not, as in groups of 32: so values can be multiplied without it. */
static void share(const et_product_cx *g, et_mainloop *c, const et_mainloop *plain, int least) {
    if (!c->computed || et_most_rows(g, c->s) != 1 || et_decode_pairs(g, c) ||
        et_decode_shares(g, c))
        return;
    for (int k = c->lane_k / 2; k >= least; k /= 2) {
        et_mainloop narrow = *plain;
        et_mainloop_lane_k(&narrow, k);
        if (!compute(g, &narrow, false) || !et_decode_shares(g, &narrow)) continue;
        *c = narrow;
        return;
    }
}

static void rows(const et_product_cx *g, et_mainloop *c, bool own);

/* The most units of BY, whose lanes' k's are known, that are multiplied AS that; else false. */
static bool find_units(const et_product_cx *g, const et_mainloop *by, et_decode_as as,
                       et_mainloop *out) {
    int wide = by->s->wk * by->unit_k, units = ring_units(by, wide, g->p->ring.bytes);
    int most = room_of_row(g, by, true) / wide, all = all_units(by, wide, g->p->ring.bytes);
    units = all > units ? all : units;
    for (units = units < most ? units : most; units > 0; units--) {
        et_mainloop now = *by;
        if (!may_stream(g, by, wide * units, false) || !et_mainloop_compute(g, &now, units))
            continue;
        et_mainloop found = now;
        et_mainloop_count(&now);
        rows(g, &now, false);
        if (now.plan.decode != as || (as == ET_DECODE_F16 && et_decode_exact(g, &now))) continue;
        *out = found;
        return true;
    }
    return false;
}

/* A lane takes as much as one load brings from a stage of the ring, whoever shares a scale: each
 * run of k's that do has a column of its own. */
static bool deal_runs(const et_product_cx *g, et_mainloop *c) {
    int run = et_runs_of(g, c), groups = et_layout_groups(c->fr->layout);
    if (!run || 128 / c->bits * groups <= run || c->direct || c->stages || c->side_by_side ||
        et_is_without(g->without, ET_FEATURE_F16))
        return false;
    for (int k = 128 / c->bits; k >= 8 && k * groups >= run; k /= 2) {
        et_mainloop by = *c;
        et_mainloop_lane_k(&by, k);
        by.run = run;
        if (find_units(g, &by, ET_DECODE_F16, c)) return true;
    }
    return false;
}

/* Several rows have the operand's columns, so a lane takes k's that share a scale with those of the
 * other lanes. */
static bool deal_bare(const et_product_cx *g, et_mainloop *c) {
    enum { LANE = 8 };
    et_mainloop by = *c;
    if (c->direct || c->stages || c->side_by_side || g->orders || !et_bare_may(g, c)) return false;
    et_mainloop_lane_k(&by, LANE);
    by.bf16 = true;
    return find_units(g, &by, ET_DECODE_BF16, c);
}

/* From a stage of the ring a lane takes as much as one load brings, if it can. */
static void decode(const et_product_cx *g, et_mainloop *c) {
    if (c->direct || c->stages || c->side_by_side || deal_runs(g, c) || deal_bare(g, c)) return;
    et_mainloop plain = *c;
    int lane_k = c->lane_k, kw = c->kc / c->s->wk;
    for (int k = c->streamed ? 128 / c->bits : 0; k > lane_k && !c->computed; k /= 2) {
        if (k > 16 || kw % (k * et_layout_groups(c->fr->layout))) continue;
        et_mainloop_lane_k(c, k);
        compute(g, c, false);
    }
    for (int ends = 0; ends < 2 && !c->computed; ends++) {
        et_mainloop_lane_k(c, lane_k);
        compute(g, c, ends);
    }
    share(g, c, &plain, lane_k);
    if (!c->computed) return;
    c->plan.decode = ET_DECODE_COMPUTED;
    c->pair_gap = et_decode_pairs(g, c);
    if (!c->pair_gap) return;
    c->times = et_decode_pairs_times();
    c->plan.decode = ET_DECODE_PAIRS;
}

/* ---- all of it ---- */

/* Sums that take turns: where all variants are to have the same order, by pieces of k, or none with
 * the steps that warpgroup MMA has. */
static void turns(const et_product_cx *g, et_mainloop *c) {
    const et_product_order *order = order_of(g, c);
    c->in_steps =
        g->orders && (!order || order->terms == ET_TERMS_IN_STEPS) && et_mainloop_may_step(g, c);
    if (c->in_steps || (order && order->turns <= 1)) {
        et_mainloop_few(g, c, 1, false);
    } else {
        et_mainloop_few(g, c, order ? order->turns : 0, g->orders != NULL);
    }
}

static void rows(const et_product_cx *g, et_mainloop *c, bool own) {
    c->rows_ahead = c->bf16 ? 0 : et_rows_most_ahead(g, c);
    et_mainloop_rows(g, c);
    turns(g, c);
    if (c->bf16 && et_decode_bf16(g, c))
        c->plan.decode = ET_DECODE_BF16;
    else if (!g->orders && et_decode_f16(g, c))
        c->plan.decode = ET_DECODE_F16;
    else if (!g->orders && et_decode_unscaled(g, c))
        c->plan.decode = ET_DECODE_UNSCALED;
    c->results = et_layout_sums(c->sums);
    c->rows_own = own ? et_rows_own_depth(g, c) : 0;
    if (c->rows_own) c->rows_ahead = c->room = 0;
}

/* Warpgroup MMA adds up each wave's part of k as that does where waves share it. */
static void span(const et_product_cx *g, et_mainloop *c) {
    const et_product_order *order = order_of(g, c);
    if (!order || order->terms != ET_TERMS_IN_STEPS || !c->warpgroup || order->waves < 2 ||
        !et_mainloop_may_span(c, order->waves, order->chunk / order->waves))
        return;
    c->spans = order->waves;
    c->span = order->chunk / order->waves;
}

static void spread(const et_product_cx *g, et_mainloop *c) {
    c->held = et_pipeline_most_held(g, c);
    c->row_packed = et_rows_most_packed(g, c);
    int at_once = et_rows_units_at_once(g, c),
        pieces = c->row_packed ? et_rows_packed_pieces(c) : 0;
    if (g->orders && c->units > at_once && at_once * pieces % c->sets) c->row_packed = 0;
    if (c->row_packed) c->in_turn = false;
    if (c->f16 && c->row_packed) c->sets = c->row_packed;
}

/* What was found, as the plan says it. */
static void note(et_mainloop *c) {
    et_product_plan *w = &c->plan;
    w->made = true;
    w->rows = c->stages       ? ET_ROWS_PIPELINE
              : c->rows_own   ? ET_ROWS_OWN
              : c->rows_ahead ? ET_ROWS_AHEAD
                              : ET_ROWS_STAGED;
    w->rows_depth = c->stages       ? c->stages
                    : c->rows_own   ? c->rows_own
                    : c->rows_ahead ? c->rows_ahead
                                    : 1;
    w->weights = c->streamed ? ET_WEIGHTS_STREAM
                 : c->stages ? ET_WEIGHTS_PIPELINE
                 : c->direct ? ET_WEIGHTS_DIRECT
                             : ET_WEIGHTS_STAGED;
    if (c->fp8) w->decode = ET_DECODE_FP8;
    w->depth = c->deep ? ET_DEEP : c->held ? c->held : 1;
    w->maybe_packed = c->maybe_packed;
    w->chunk = c->kc;
    w->lane_k = c->lane_k;
    w->sets = c->sets;
    w->row_packed = c->row_packed;
    w->in_turn = c->in_turn;
    w->in_steps = c->in_steps;
    w->spans = c->spans;
    w->span = c->span;
    w->run = c->run;
    w->unroll = 1;
}

static bool step(const et_product_cx *g, const et_step *s, et_mainloop_kind kind, bool zeros,
                 bool own, et_mainloop *c) {
    if (!et_mainloop_begin(g, s, kind, c)) return false;
    if (kind.packed && !et_mainloop_fits_packed(g, c)) return false;
    decode(g, c);
    if (!c->direct && s->stage_b < 0) return false;
    if (c->direct && !c->computed) et_mainloop_cut(g, c, direct_units(g, c, own));
    et_mainloop_count(c);
    c->zeros = zeros && et_mainloop_may_zeros(g, c);
    c->deep = et_mainloop_may_be_deep(g, c);
    rows(g, c, own);
    /* The buffer was laid out for waves that have rows of their own, and these cannot. */
    if (own && c->room < 0 && et_most_rows(g, s) > 16 >> -c->room && !c->rows_own &&
        !c->rows_ahead && et_rows_may_own(g, c))
        return step(g, s, kind, zeros, false, c);
    spread(g, c);
    span(g, c);
    note(c);
    return true;
}

/* A plan of e4m3 takes twice as many k at once as one of bf16: where waves would have none of the
 * last ones, that is not better. */
static bool prefers_fp8(const et_mainloop *c) {
    return c->direct && !c->computed && c->piece * c->size == 16 && c->k > 0 &&
           c->k % (c->s->wk * c->unit_k) == 0;
}

static bool choose(const et_product_cx *g, const et_step *s, bool streamed, bool zeros,
                   et_mainloop *c) {
    et_mainloop_kind kind = {.streamed = streamed};
    const et_step *fp8 = streamed || g->orders ? NULL : et_decode_fp8(g, s);
    if (fp8 && step(g, fp8, (et_mainloop_kind){.fp8 = true}, zeros, true, c) && prefers_fp8(c))
        return true;
    if (!step(g, s, kind, zeros, true, c)) return false;
    if (!et_mainloop_may_pack(g, c) || c->fr->packed) return true;
    kind.maybe_packed = true;
    return step(g, s, kind, zeros, true, c);
}

/* The plan of a packed b beside C; false where there is none. */
static bool choose_packed(const et_product_cx *g, const et_mainloop *c, et_mainloop *out) {
    const et_mainloop_kind kind = {
        .streamed = c->streamed, .packed = true, .maybe_packed = c->maybe_packed};
    return et_mainloop_may_pack(g, c) && step(g, c->s, kind, false, true, out) &&
           et_mainloop_pairs_with(c, out) && (!c->streamed || et_stream_suits(g, out));
}

/* ---- beside the mainloop ---- */

/* Do workgroups claim tiles of this function, so that those of an expert run at the same time? */
static bool is_claimed(const et_product_cx *g) {
    for (int i = 0; i < g->p->ngrids; i++)
        if (&g->p->funcs[g->p->grids[i].func] == g->f && g->p->grids[i].order == ET_TILES_CLAIMED)
            return true;
    return false;
}

/* Weights that one tile reads, or the two or three of an expert, come from memory, and so faster
 * without boxes, which ask the L2 for more of a row than they are; and what tiles of few rows wait
 * for is their first chunks. Where an expert's tiles are claimed one after the other, they are 2 %
 * faster with boxes of weights. */
static et_boxes_of suits_boxes(const et_product_cx *g, const et_mainloop *c) {
    enum { ROWS = 128 };
    et_boxes_of may = et_boxes_may(g, c);
    bool shared = false;
    et_box a;
    if (c->s->tm < ROWS || may == ET_BOXES_NONE) return ET_BOXES_NONE;
    if (et_expr_loads(g->x, c->s->kextent)) return is_claimed(g) ? ET_BOXES_WEIGHTS : ET_BOXES_NONE;
    if (may != ET_BOXES_ALL) return ET_BOXES_NONE;
    et_box_of(g, c, c->s->a, c->s->mvar, c->s->tm, &a);
    for (int i = 0; i < g->f->ncoords; i++)
        shared |= et_expr_has_var(g->x, a.row, g->f->coord[i]);
    return shared ? may : ET_BOXES_NONE;
}

/* A wave alone on its SIMD reads the next operands while it multiplies; several waves hide each
 * other's reads. */
static bool suits_interleaved(const et_product_cx *g, const et_mainloop *c) {
    return g->p->workgroup / g->t->wave <= g->t->simds && et_pipeline_may_interleave(g, c);
}

/* Tiles that share weights run at the same time, so weights need not stay in the L2: rows, results
 * and instructions would leave it instead. */
static bool suits_eviction(const et_product_cx *g, const et_mainloop *c) {
    bool some = false;
    for (int i = 0; i < c->s->nacc; i++)
        some |= et_weights_may_evict(g, c, i);
    return some && !et_is_without(g->without, ET_FEATURE_ONCE);
}

/* Rows of all chunks of a routed tile, before the first is multiplied: nothing else is in registers
 * yet, and each batch of loads would wait for a trip to memory, or two. */
static int in_one_batch(const et_product_cx *g, const et_mainloop *c, int some) {
    enum { EACH = 8 }; /* elements of an item, as they are loaded */
    int64_t most = et_most_rows(g, c->s), items = most * c->chunks * (c->kc / EACH);
    int64_t n = (items + g->p->workgroup - 1) / g->p->workgroup;
    bool once = c->plan.prologue == ET_PROLOGUE_STAGED && c->streamed && c->cond.id && most > 1;
    return once && n > some && n <= ET_STAGE_UNROLL ? (int)n : some;
}

void et_product_finish(const et_product_cx *g, const et_reuse *u, const et_mainloop *c,
                       et_product_plan *w) {
    enum { UNROLL = 4, MOST = 8 /* of rows that nothing else hides */ };
    w->boxes = suits_boxes(g, c);
    w->deferred = c->s->wk > 1 && et_sums_as_read(g, c->s);
    et_mainloop all = *c;
    all.plan.prologue = w->prologue = et_rows_prologue(g, c);
    w->unroll = w->rows != ET_ROWS_STAGED ? 1 : in_one_batch(g, &all, c->bf16 ? MOST : UNROLL);
    w->interleaved = suits_interleaved(g, c);
    w->evict_first = suits_eviction(g, c);
    w->reuse = et_reuse_may_rows(u, &all);
}

/* How many tiles read the same as this one, or MOST. */
static int64_t readers(const et_product_cx *g, et_expr e, int most) {
    int64_t lo, hi, n = 1;
    for (int i = 0; i < g->f->ncoords; i++) {
        if (et_expr_has_var(g->x, e, g->f->coord[i])) continue;
        if (!et_bounds(g->x, et_var_extent(g->x, g->f->coord[i]), &lo, &hi)) hi = most;
        n *= hi < most ? hi : most;
    }
    return n < most ? n : most;
}

/* The first weights of a pipeline come from memory where few tiles read the same, and memory has
 * nothing to do until the waits end. */
void et_product_prefetch(const et_product_cx *g, const et_step *s, et_product_plan *w) {
    enum {
        WEIGHTS = 64 << 10, /* bytes of a tile's: more would only stand in line for memory */
        READERS = 2,        /* tiles that read the same of them, at most */
    };
    int bytes = et_dtype_bytes(s->operand), most = et_prefetch_most(g, s, w);
    int64_t lines = WEIGHTS / ET_LINE / (s->nacc * s->tn) - et_prefetch_from(s, w);
    w->prefetch_auxiliary = et_prefetch_has_auxiliary(g, s);
    w->prefetch = lines < 1 ? 0 : (int)(lines * ET_LINE / bytes);
    if (w->prefetch > most) w->prefetch = most;
    for (int i = 0; i < s->nacc; i++)
        if (et_prefetch_may(g, s, i) && readers(g, s->b[i], READERS + 1) > READERS) w->prefetch = 0;
}

void et_product_early(const et_product_cx *g, const et_grid *gr, const et_mainloop *c,
                      et_product_plan *w) {
    enum { EARLY = 32 << 10 }; /* bytes: first polls, and rows, stand in line behind them */
    int chunk = c->kc * c->size * c->s->nacc * c->s->tn;
    int most = EARLY / chunk > 1 ? EARLY / chunk : 1;
    w->early = et_early_may(g, gr, c, &w->early_chunks);
    if (w->early_chunks > most) w->early_chunks = most;
    et_product_prefetch(g, c->s, w);
}

static bool choose_all(const et_product_cx *g, const et_step *s, bool streamed, bool deep,
                       bool zeros, et_product_plan out[ET_PLANS], et_mainloop *c) {
    et_mainloop other;
    for (int i = 0; i < ET_PLANS; i++)
        out[i] = (et_product_plan){0};
    if (!choose(g, s, streamed, false, c) || (c->streamed && !et_stream_suits(g, c))) return false;
    if (deep && et_mainloop_may_deepen(g, c)) c->plan.depth = ET_DEEP;
    out[ET_PLAN_MAIN] = c->plan;
    if (choose_packed(g, c, &other)) out[ET_PLAN_PACKED] = other.plan;
    if (!zeros || !choose(g, s, streamed, true, &other) || !other.zeros) return true;
    if (streamed && !et_stream_suits(g, &other)) return true;
    if (deep && et_mainloop_may_deepen(g, &other)) other.plan.depth = ET_DEEP;
    out[ET_PLAN_ZEROS] = other.plan;
    return true;
}

bool et_product_choose(const et_product_cx *g, const et_step *s, bool streamed, bool deep,
                       bool zeros, et_product_plan out[ET_PLANS], et_mainloop *c) {
    return (streamed && choose_all(g, s, true, deep, zeros, out, c)) ||
           choose_all(g, s, false, false, zeros, out, c);
}
