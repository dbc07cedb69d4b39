/* ATTEND steps: softmax over positions in one pass.
 *
 * A power of two of lanes hold one position, eight consecutive d each, or 16 or 32 of heads that
 * are longer than a wave of eights; a wave works on several positions at a time, and waves
 * process blocks of positions in turn. Every group of lanes keeps its own running maximum, sum and
 * weighted values; groups are merged lane by lane, waves through LDS in their order, where the
 * extra term joins them. Scores are kept in base 2. */
#include "codegen/step/attend/attend.h"
#include "codegen/step/attend/rows.h"
#include "ir/base/diag.h"
#include <math.h>
#include <string.h>

enum {
    CHUNK = ET_ATTEND_EACH,
    STATE = ET_ATTEND_HEADS * (2 + CHUNK), /* as many with fewer heads of more elements in a lane */
};

/* One position per lane group. */
struct position {
    val p, valid;
    val k[ET_ATTEND_LANE_D], v[ET_ATTEND_LANE_D];
};

/* Running state of one head: maximum, sum, values. Laid out flat so that loops can carry it. */
static int state_size(const cg_attend *a) {
    return 2 + a->loop.plan.lane_d;
}

/* E(d) at this lane's d, zero where there are none. */
static void load_slice(cg *g, const cg_attend *a, et_expr e, val *out) {
    const et_step *s = a->loop.s;
    if (s->depth % a->loop.plan.lane_d == 0) {
        int u = cg_fresh_var(g, "u", s->depth / a->loop.plan.lane_d);
        cg_bind(g, u, a->clamped, a->loop.lanes > 1);
        et_expr first = et_mul(g->x, et_var(g->x, u), et_int(g->x, a->loop.plan.lane_d));
        for (int j = 0; j < a->loop.plan.lane_d; j += CHUNK)
            cg_emit_n(g, e, s->dvar, et_add(g->x, first, et_int(g->x, j)), CHUNK, out + j);
        for (int j = 0; j < a->loop.plan.lane_d; j++) {
            out[j] = cg_to_f32(g, out[j]);
            if (a->owns) out[j] = cg_select(g, a->owns, out[j], cg_f32(g, 0));
        }
        return;
    }
    for (int j = 0; j < a->loop.plan.lane_d; j++) {
        int mark = cg_scope(g);
        val d = cg_addi(g, cg_muli(g, a->slice, a->loop.plan.lane_d), j);
        val in = cg_icmp(g, LLVMIntSLT, d, cg_i32(g, s->depth));
        cg_bind(g, s->dvar, cg_select(g, in, d, cg_i32(g, 0)), true);
        out[j] = cg_select(g, in, cg_emit_f32(g, e), cg_f32(g, 0));
        cg_scope_end(g, mark);
    }
}

static et_expr of_head(cg *g, const cg_attend *a, int h, et_expr e) {
    return et_subst_var(g->x, e, a->loop.s->hvar, et_int(g->x, a->head0 + h));
}

static void load_queries(cg *g, cg_attend *a) {
    for (int h = 0; h < a->heads; h++) {
        int mark = cg_scope(g);
        load_slice(g, a, of_head(g, a, h, a->loop.s->part[ET_AT_Q]), a->q[h]);
        for (int j = 0; a->loop.factor != 1 && j < a->loop.plan.lane_d; j++)
            a->q[h][j] = cg_fmul(g, a->q[h][j], cg_f32(g, a->loop.factor));
        cg_scope_end(g, mark);
    }
}

static val score(cg *g, const cg_attend *a, int h, const struct position *at, val valid) {
    val sum = cg_fmul(g, a->q[h][0], at->k[0]);
    for (int j = 1; j < a->loop.plan.lane_d; j++)
        sum = cg_fma(g, a->q[h][j], at->k[j], sum);
    for (int m = 1; m < a->loop.lanes; m *= 2)
        sum = cg_fadd(g, sum, cg_shuffle_xor(g, sum, m));
    if (a->loop.score.id) {
        int mark = cg_scope(g);
        cg_bind(g, a->loop.s->pvar, at->p, true);
        cg_remember(g, et_arg(g->x, ET_ARG_QK, ET_T_F32), sum);
        sum = cg_fmul(g, cg_emit_f32(g, of_head(g, a, h, a->loop.score)), cg_f32(g, M_LOG2E));
        cg_scope_end(g, mark);
    }
    return cg_select(g, valid, sum, cg_f32(g, cg_attend_least()));
}

/* Does the position count for head H? */
static val counts(cg *g, const cg_attend *a, int h, const struct position *at) {
    if (!a->loop.masked_by_head) return at->valid;
    int mark = cg_scope(g);
    cg_bind(g, a->loop.s->pvar, at->p, true);
    val yes = cg_emit(g, of_head(g, a, h, a->loop.s->part[ET_AT_MASK]));
    cg_scope_end(g, mark);
    return LLVMBuildAnd(g->b, at->valid, yes, "");
}

static val minus(cg *g, val x, val y) {
    return LLVMBuildFSub(g->b, x, y, "");
}

/* A masked value may be anything, and 0 times infinity is NaN. */
static val value_at(cg *g, const cg_attend *a, const struct position *at, val valid, int j) {
    return a->loop.s->part[ET_AT_MASK].id ? cg_select(g, valid, at->v[j], cg_f32(g, 0)) : at->v[j];
}

/* Adds N positions of each group of lanes to its running maximum, sum and values. */
static void add_positions(cg *g, const cg_attend *a, int n, const struct position *at, val *state) {
    for (int h = 0; h < a->heads; h++) {
        val *st = state + h * state_size(a), s[ET_ATTEND_POSITIONS], valid[ET_ATTEND_POSITIONS],
            top = st[0];
        for (int i = 0; i < n; i++) {
            valid[i] = counts(g, a, h, &at[i]);
            s[i] = score(g, a, h, &at[i], valid[i]);
            top = cg_fmax(g, top, s[i]);
        }
        val shrink = cg_exp2(g, minus(g, st[0], top));
        st[0] = top;
        st[1] = cg_fmul(g, st[1], shrink);
        for (int j = 0; j < a->loop.plan.lane_d; j++)
            st[2 + j] = cg_fmul(g, st[2 + j], shrink);
        for (int i = 0; i < n; i++) {
            val p = cg_select(g, valid[i], cg_exp2(g, minus(g, s[i], top)), cg_f32(g, 0));
            st[1] = cg_fadd(g, st[1], p);
            for (int j = 0; j < a->loop.plan.lane_d; j++)
                st[2 + j] = cg_fma(g, p, value_at(g, a, &at[i], valid[i], j), st[2 + j]);
        }
    }
}

/* ---- positions ---- */

static int stride(const cg *g, const cg_attend *a) {
    return g->p->workgroup / g->t->wave * a->loop.per_wave;
}

/* Position number I of the group of lanes, of the block that begins at AT0; LAST where it is past
 * that, and not valid past the end. */
static struct position position(cg *g, const cg_attend *a, val at0, int i, val last) {
    val p = cg_add(g, cg_addi(g, at0, (int64_t)i * stride(g, a)), a->part);
    val valid = cg_icmp(g, LLVMIntSLT, p, a->end);
    p = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){p, last});
    return (struct position){.p = p, .valid = valid};
}

static void apply_mask(cg *g, const cg_attend *a, struct position *at) {
    et_expr mask = a->loop.s->part[ET_AT_MASK];
    if (mask.id && !a->loop.masked_by_head)
        at->valid = LLVMBuildAnd(g->b, at->valid, cg_emit(g, mask), "");
}

static void load_block(cg *g, const cg_attend *a, val at0, struct position *at) {
    const et_step *s = a->loop.s;
    val last = cg_addi(g, a->end, -1);
    for (int i = 0; i < a->block.positions; i++) {
        at[i] = position(g, a, at0, i, last);
        int mark = cg_scope(g);
        cg_bind(g, s->pvar, at[i].p, true);
        load_slice(g, a, s->part[ET_AT_K], at[i].k);
        load_slice(g, a, s->part[ET_AT_V], at[i].v);
        apply_mask(g, a, &at[i]);
        cg_scope_end(g, mark);
    }
}

/* ---- keys and values prefetched to registers, as in memory ---- */

val cg_attend_words(cg *g, const cg_attend *a, et_expr e, int each, val slice, int n, int d) {
    const et_step *s = a->loop.s;
    et_node_x x = *et_x(g->x, e);
    int u = cg_fresh_var(g, "u", n), align = et_attend_whole(cg_cx(g), s, e, each);
    cg_bind(g, u, slice, true);
    et_expr first = et_mul(g->x, et_var(g->x, u), et_int(g->x, CHUNK));
    first = et_add(g->x, first, et_int(g->x, d));
    et_expr off = et_subst_var(g->x, cg_offset(g, x.i2, x.i, x.ops), s->dvar, first);
    return cg_load_words(g, x.i2, x.i, cg_address(g, x.i2, x.i, off), 16 * CHUNK, align);
}

static void load_words(cg *g, const cg_attend *a, et_expr e, val *out) {
    const et_step *s = a->loop.s;
    int slices = s->depth / a->loop.plan.lane_d, per = a->loop.plan.lane_d / CHUNK;
    val slice = cg_muli(g, a->clamped, per);
    for (int j = 0; j < per; j++)
        *out++ =
            cg_attend_words(g, a, e, a->loop.plan.lane_d, slice, (slices - 1) * per + 1, j * CHUNK);
}

static int block_words(const cg_attend *a) {
    return 2 * a->block.positions * a->loop.plan.lane_d / CHUNK;
}

/* Loads keys and values of the block at AT0; past its end those of the last position again. */
static void load_early(cg *g, const cg_attend *a, val at0, val *words) {
    const et_step *s = a->loop.s;
    val last = cg_addi(g, a->end, -1);
    for (int i = 0; i < a->block.positions; i++) {
        int mark = cg_scope(g), n = a->loop.plan.lane_d / CHUNK;
        cg_bind(g, s->pvar, position(g, a, at0, i, last).p, true);
        load_words(g, a, s->part[ET_AT_K], words);
        load_words(g, a, s->part[ET_AT_V], words + n);
        words += 2 * n;
        cg_scope_end(g, mark);
    }
}

static void values_of(cg *g, const cg_attend *a, et_expr e, const val *words, val *out) {
    et_dtype t = g->p->tensors[et_x(g->x, e)->i].shape.dtype;
    for (int j = 0; j < a->loop.plan.lane_d; j += CHUNK)
        cg_loaded_words(g, t, words[j / CHUNK], CHUNK, out + j);
    for (int j = 0; a->owns && j < a->loop.plan.lane_d; j++)
        out[j] = cg_select(g, a->owns, out[j], cg_f32(g, 0));
}

static void block_of(cg *g, const cg_attend *a, val at0, const val *words, struct position *at) {
    const et_step *s = a->loop.s;
    val last = cg_addi(g, a->end, -1);
    for (int i = 0; i < a->block.positions; i++) {
        int mark = cg_scope(g), n = a->loop.plan.lane_d / CHUNK;
        at[i] = position(g, a, at0, i, last);
        cg_bind(g, s->pvar, at[i].p, true);
        values_of(g, a, s->part[ET_AT_K], words, at[i].k);
        values_of(g, a, s->part[ET_AT_V], words + n, at[i].v);
        words += 2 * n;
        apply_mask(g, a, &at[i]);
        cg_scope_end(g, mark);
    }
}

/* The same where AT0 is before the end; elsewhere the words are undefined, and not used. */
static void load_if_any(cg *g, const cg_attend *a, val at0, val *words) {
    cg_if more;
    cg_if_begin(g, &more, cg_icmp(g, LLVMIntSLT, at0, a->end));
    load_early(g, a, at0, words);
    cg_if_end(g, &more);
    for (int i = 0; i < block_words(a); i++)
        words[i] = cg_if_value(g, &more, words[i], LLVMGetPoison(LLVMTypeOf(words[i])));
}

/* The loop carries the state, then the words of the next block. */
static void scan_positions(cg *g, const cg_attend *a, val *state) {
    val first = cg_muli(g, g->wave, a->loop.per_wave), looped[STATE + ET_ATTEND_LOADS];
    int n = a->heads * state_size(a), words = a->block.depth == 2 ? block_words(a) : 0;
    val step = cg_i32(g, (int64_t)stride(g, a) * a->block.positions);
    if (a->first) first = cg_add(g, a->first, first);
    memcpy(looped, state, (size_t)n * sizeof *state);
    if (a->block.depth == 2) load_if_any(g, a, first, looped + n);
    cg_for f;
    val at0 = cg_for_begin(g, &f, first, a->end, step, false, n + words, looped);
    struct position at[ET_ATTEND_POSITIONS];
    if (a->block.depth == 2) {
        val now[ET_ATTEND_LOADS];
        memcpy(now, looped + n, (size_t)words * sizeof *now);
        load_if_any(g, a, cg_add(g, at0, step), looped + n);
        g->family->order_loads(g);
        block_of(g, a, at0, now, at);
    } else {
        load_block(g, a, at0, at);
    }
    add_positions(g, a, a->block.positions, at, looped);
    cg_for_end(g, &f, looped);
    memcpy(state, looped, (size_t)n * sizeof *state);
}

/* Merge the state of the lane MASK away into this one's. */
static void merge_lanes(cg *g, const cg_attend *a, int mask, val *state) {
    for (int h = 0; h < a->heads; h++) {
        val *st = state + h * state_size(a), other = cg_shuffle_xor(g, st[0], mask);
        val top = cg_fmax(g, st[0], other);
        val mine = cg_exp2(g, minus(g, st[0], top)), theirs = cg_exp2(g, minus(g, other, top));
        st[0] = top;
        for (int j = 1; j < state_size(a); j++) {
            val o = cg_fmul(g, cg_shuffle_xor(g, st[j], mask), theirs);
            st[j] = cg_fma(g, st[j], mine, o);
        }
    }
}

val cg_attend_state(cg *g, const cg_attend *a, val wave, val head, val d) {
    const et_local *l = &g->f->locals[a->loop.s->scratch];
    if (a->alone) { /* the buffer is for blocks of positions */
        val of = cg_add(g, cg_muli(g, wave, a->heads), head);
        of = cg_add(g, cg_muli(g, of, a->loop.s->depth + 2), d);
        return cg_gep(g, cg_gepi(g, g->lds, l->offset), cg_muli(g, of, 4));
    }
    val row = cg_add(g, cg_muli(g, wave, l->dim[1]), head);
    return cg_local_ptr(g, a->loop.s->scratch, cg_add(g, cg_muli(g, row, l->pitch), d));
}

/* The first group of lanes of each wave stores the wave's state to scratch. */
static void store_state(cg *g, const cg_attend *a, val *state) {
    const et_step *s = a->loop.s;
    cg_if in, own;
    cg_if_begin(g, &in, cg_icmp(g, LLVMIntEQ, a->part, cg_i32(g, 0)));
    for (int h = 0; h < a->heads; h++) {
        val *st = state + h * state_size(a), head = cg_i32(g, a->head0 + h);
        for (int j = 0; j < a->loop.plan.lane_d; j++) {
            val d = cg_addi(g, cg_muli(g, a->slice, a->loop.plan.lane_d), j);
            bool sure = s->depth == a->loop.lanes * a->loop.plan.lane_d;
            if (!sure) cg_if_begin(g, &own, cg_icmp(g, LLVMIntSLT, d, cg_i32(g, s->depth)));
            LLVMBuildStore(g->b, st[2 + j], cg_attend_state(g, a, g->wave, head, d));
            if (!sure) cg_if_end(g, &own);
        }
        cg_if_begin(g, &own, cg_icmp(g, LLVMIntEQ, a->slice, cg_i32(g, 0)));
        LLVMBuildStore(g->b, st[0], cg_attend_state(g, a, g->wave, head, cg_i32(g, s->depth)));
        LLVMBuildStore(g->b, st[1], cg_attend_state(g, a, g->wave, head, cg_i32(g, s->depth + 1)));
        cg_if_end(g, &own);
    }
    cg_if_end(g, &in);
}

/* Where positions are split among tiles: element D of the sum, not yet divided, and once the
 * maximum and the sum of weights, which the join of the parts needs. */
static void store_part(cg *g, const cg_attend *a, val row, val d, val out, val top, val sum) {
    const et_step *s = a->loop.s;
    cg_if first;
    LLVMBuildStore(g->b, out, cg_local_ptr(g, s->out, cg_add(g, row, d)));
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, d, cg_i32(g, 0)));
    LLVMBuildStore(g->b, top, cg_local_ptr(g, s->out, cg_addi(g, row, s->depth)));
    LLVMBuildStore(g->b, sum, cg_local_ptr(g, s->out, cg_addi(g, row, s->depth + 1)));
    cg_if_end(g, &first);
}

/* LIVE: rows that there are, each with its heads, or NULL: one. */
static void merge_waves(cg *g, const cg_attend *a, val live) {
    const et_step *s = a->loop.s;
    int waves = g->p->workgroup / g->t->wave;
    int64_t total = (int64_t)s->heads * s->depth;
    cg_items items;
    val n = live ? cg_muli(g, live, total) : cg_i32(g, total);
    val item = cg_items_begin(g, &items, n, live ? -1 : total), depth = cg_i32(g, s->depth);
    val h = LLVMBuildUDiv(g->b, item, depth, ""), d = LLVMBuildURem(g->b, item, depth, "");
    val m[64], top = NULL, sum = cg_f32(g, 0), out = cg_f32(g, 0);
    et_check(waves <= 64);
    for (int w = 0; w < waves; w++) {
        m[w] = LLVMBuildLoad2(g->b, g->f32, cg_attend_state(g, a, cg_i32(g, w), h, depth), "");
        top = top ? cg_fmax(g, top, m[w]) : m[w];
    }
    if (s->part[ET_AT_EXTRA].id) {
        int mark = cg_scope(g);
        val heads = cg_i32(g, s->heads);
        if (live) cg_bind(g, s->ivar[0], LLVMBuildUDiv(g->b, h, heads, ""), true);
        if (a->alone) cg_bind(g, s->ivar[0], a->alone, false);
        cg_bind(g, s->hvar, live ? LLVMBuildURem(g->b, h, heads, "") : h, true);
        val extra = cg_fmul(g, cg_emit_f32(g, s->part[ET_AT_EXTRA]), cg_f32(g, M_LOG2E));
        top = cg_fmax(g, top, extra);
        sum = cg_exp2(g, minus(g, extra, top));
        cg_scope_end(g, mark);
    }
    for (int w = 0; w < waves; w++) {
        val weight = cg_exp2(g, minus(g, m[w], top)), wave = cg_i32(g, w);
        val l =
            LLVMBuildLoad2(g->b, g->f32, cg_attend_state(g, a, wave, h, cg_addi(g, depth, 1)), "");
        val o = LLVMBuildLoad2(g->b, g->f32, cg_attend_state(g, a, wave, h, d), "");
        sum = cg_fma(g, l, weight, sum);
        out = cg_fma(g, o, weight, out);
    }
    val row = a->alone ? cg_add(g, cg_muli(g, a->alone, s->heads), h) : h;
    row = cg_muli(g, row, g->f->locals[s->out].pitch);
    if (et_step_is_part(g->f, s)) {
        store_part(g, a, row, d, out, top, sum);
    } else {
        out = g->family->divide(g, out, sum);
        val none = LLVMBuildFCmp(g->b, LLVMRealOEQ, sum, cg_f32(g, 0), "");
        out = cg_select(g, none, cg_f32(g, 0), out);
        LLVMBuildStore(g->b, out, cg_local_ptr(g, s->out, cg_add(g, row, d)));
    }
    cg_items_end(g, &items);
}

/* Every group of lanes has positions of its own. */
static void by_lanes(cg *g, cg_attend *a) {
    val state[STATE];
    load_queries(g, a);
    for (int i = 0; i < a->heads * state_size(a); i++)
        state[i] = cg_f32(g, i % state_size(a) ? 0 : cg_attend_least());
    scan_positions(g, a, state);
    for (int m = a->loop.lanes; m < g->t->wave; m *= 2)
        merge_lanes(g, a, m, state);
    store_state(g, a, state);
}

/* Where the lane is among those that hold a position together. */
static void place_lane(cg *g, cg_attend *a) {
    int each = a->loop.plan.lane_d, depth = a->loop.s->depth, slices = depth / each;
    a->slice = LLVMBuildAnd(g->b, g->lane, cg_i32(g, a->loop.lanes - 1), "");
    a->part = LLVMBuildUDiv(g->b, g->lane, cg_i32(g, a->loop.lanes), "");
    a->clamped = a->slice;
    if (slices < a->loop.lanes && depth % each == 0) {
        a->owns = cg_icmp(g, LLVMIntSLT, a->slice, cg_i32(g, slices));
        a->clamped = cg_select(g, a->owns, a->slice, cg_i32(g, slices - 1));
    }
}

static void one_row(cg *g, const et_attend_loop *loop) {
    cg_attend a = {.loop = *loop};
    const et_step *s = loop->s;
    const et_attend_plan *plan = &loop->plan;
    bool columns = plan->by == ET_ATTEND_BY_COLUMNS;
    if (!columns) place_lane(g, &a);
    if (!et_expr_eq(s->part[ET_AT_FIRST], et_int(g->x, 0)))
        a.first = cg_uniform(g, cg_emit_i32(g, s->part[ET_AT_FIRST]));
    a.end = cg_uniform(g, cg_emit_i32(g, s->part[ET_AT_END]));
    for (a.head0 = 0; a.head0 < s->heads; a.head0 += plan->heads) {
        bool all = s->heads - a.head0 >= plan->heads;
        a.heads = all ? plan->heads : s->heads - a.head0;
        a.block = all ? plan->block : plan->rest;
        int mark = cg_scope(g);
        if (columns)
            cg_attend_columns(g, &a);
        else
            by_lanes(g, &a);
        cg_scope_end(g, mark);
    }
    cg_barrier(g);
    merge_waves(g, &a, NULL);
}

/* Several, whose heads are all columns at once. */
static void rows_beside(cg *g, const et_attend_loop *loop) {
    cg_attend a = {.loop = *loop, .heads = loop->s->heads};
    val live = cg_uniform(g, cg_emit_i32(g, loop->s->ilive));
    cg_attend_columns_rows(g, &a, live);
    cg_barrier(g);
    merge_waves(g, &a, live);
}

void cg_attend_alone(cg *g, const et_attend_loop *loop, val row, val live, val first, val end) {
    cg_attend a = {
        .loop = *loop, .heads = loop->s->heads, .first = first, .end = end, .alone = row};
    a.loop.factor = loop->score.id ? 1 : loop->factor * loop->before;
    a.loop.beside = a.loop.at_once = 1;
    cg_attend_columns_alone(g, &a, live);
    cg_barrier(g);
    merge_waves(g, &a, NULL);
    cg_barrier(g);
}

void cg_step_attend(cg *g, const et_step *s) {
    const char *why;
    et_attend_loop loop;
    if (!et_attend_loop_of(cg_cx(g), s, &loop, &why)) et_bug("%s: %s", g->f->name, why);
    if (s->rows && loop.plan.by == ET_ATTEND_BY_COLUMNS)
        rows_beside(g, &loop);
    else if (s->rows)
        cg_attend_rows(g, &loop);
    else
        one_row(g, &loop);
}

const char *cg_attend_problem(cg *g, const et_step *s) {
    const char *why;
    et_attend_loop loop;
    return et_attend_loop_of(cg_cx(g), s, &loop, &why) ? NULL : why;
}
