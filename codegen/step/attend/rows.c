/* ATTEND steps of several rows of queries: matrix instructions make the scores and the sums.
 *
 * A wave has sixteen rows of one head, or, where there are more waves, part of the positions of
 * such. Rows one after another whose keys and values are the same are a run; one run after another,
 * the workgroup copies keys and values of ET_ATTEND_BLOCK positions at a time to LDS, those of the
 * next block while this one's are multiplied. A lane's scores of two or more blocks of sixteen
 * positions are, side by side, what it needs of an operand for the sums: so values lie in LDS with
 * positions side by side, in that order. */
#include "codegen/step/attend/rows.h"
#include "codegen/step/attend/attend.h"
#include "ir/base/diag.h"
#include <math.h>
#include <string.h>

/* ---- where the lane is ---- */

static void begin(cg *g, cg_rows *r) {
    const et_attend_loop *c = &r->loop;
    const et_step *s = c->s;
    const et_layout *l = c->fr->layout;
    int of_head = s->rows / 16;
    r->lane_m = cg_dealt(g, &l->m);
    r->column = cg_dealt(g, &c->sums->sum_n);
    r->lane_n = cg_dealt(g, &l->n);
    r->group = cg_dealt(g, &l->k);
    val by = cg_i32(g, c->warpgroup ? c->fragments : c->plan.waves);
    val high = LLVMBuildUDiv(g->b, g->wave, by, ""), low = LLVMBuildURem(g->b, g->wave, by, "");
    val fragment = c->warpgroup ? low : high;
    r->wave_p = c->warpgroup ? high : low;
    val some = cg_icmp(g, LLVMIntSLT, fragment, cg_i32(g, c->fragments));
    r->writes = some;
    if (!c->apart)
        r->writes = LLVMBuildAnd(g->b, some, cg_icmp(g, LLVMIntEQ, r->wave_p, cg_i32(g, 0)), "");
    fragment = cg_rows_at_most(g, fragment, cg_i32(g, c->fragments - 1));
    r->head = LLVMBuildUDiv(g->b, fragment, cg_i32(g, of_head), "");
    r->row16 = cg_muli(g, LLVMBuildURem(g->b, fragment, cg_i32(g, of_head), ""), 16);
    r->live = cg_uniform(g, cg_emit_i32(g, s->ilive));
    for (int j = 0; j < c->nrows; j++)
        r->row[j] = cg_addi(g, cg_add(g, r->row16, r->lane_m), et_deal_value(&l->m, j));
}

static void load_queries(cg *g, cg_rows *r) {
    if (r->loop.warpgroup) {
        cg_attend_warpgroup_queries(g, r);
        return;
    }
    for (int j = 0; j < r->loop.nrows; j++) {
        int mark = cg_scope(g);
        cg_rows_bind(g, r, j);
        for (int u = 0; u * r->loop.unit < r->loop.s->depth; u++)
            r->q[u][j] = cg_rows_load_piece(g, r, r->loop.s->part[ET_AT_Q],
                                            cg_addi(g, r->group, (int64_t)u * r->loop.groups));
        cg_scope_end(g, mark);
    }
}

/* ---- a run ---- */

val cg_rows_run_end(cg *g, const et_step *s, val run, val live) {
    et_expr key[ET_ATTEND_KEYS];
    int n = et_attend_keys(g->x, s, ET_ATTEND_KEYS, key);
    val mine[ET_ATTEND_KEYS], differs = LLVMConstInt(g->i1, 0, false);
    if (n <= 0) return live;
    for (int own = 0; own < 2; own++) {
        int mark = cg_scope(g);
        val row = own ? cg_rows_at_most(g, g->lane, cg_addi(g, live, -1)) : run;
        cg_bind(g, s->ivar[0], row, own);
        for (int i = 0; i < n; i++) {
            val v = cg_emit_i32(g, key[i]);
            if (own)
                differs = LLVMBuildOr(g->b, differs, cg_icmp(g, LLVMIntNE, v, mine[i]), "");
            else
                mine[i] = v;
        }
        cg_scope_end(g, mark);
    }
    val after = LLVMBuildAnd(g->b, cg_icmp(g, LLVMIntSGT, g->lane, run),
                             cg_icmp(g, LLVMIntSLT, g->lane, live), "");
    val mask = cg_ballot(g, LLVMBuildAnd(g->b, differs, after, ""));
    val top = LLVMConstInt(LLVMTypeOf(mask), 1, false);
    top = LLVMBuildShl(g->b, top, LLVMConstInt(LLVMTypeOf(mask), (unsigned)g->t->wave - 1, false),
                       "");
    val found = cg_first_lane(g, LLVMBuildOr(g->b, mask, top, ""));
    return cg_uniform(g, cg_select(g, cg_none(g, mask), live, found));
}

val cg_rows_over_lanes(cg *g, val v, bool most) {
    for (int m = 1; m < g->t->wave; m *= 2) {
        val other = cg_shuffle_xor(g, v, m);
        v = most ? cg_rows_at_least(g, v, other) : cg_rows_at_most(g, v, other);
    }
    return cg_uniform(g, v);
}

/* The positions of rows r->run to r->after - 1: of each of the lane's rows, and of all of them. */
static void positions(cg *g, cg_rows *r) {
    const et_step *s = r->loop.s;
    int mark = cg_scope(g);
    val row = cg_rows_at_most(g, cg_rows_at_least(g, g->lane, r->run), cg_addi(g, r->after, -1));
    cg_bind(g, s->ivar[0], row, true);
    r->first = cg_rows_over_lanes(g, cg_emit_i32(g, s->part[ET_AT_FIRST]), false);
    r->end = cg_rows_over_lanes(g, cg_emit_i32(g, s->part[ET_AT_END]), true);
    cg_scope_end(g, mark);
    for (int j = 0; j < r->loop.nrows; j++) {
        mark = cg_scope(g);
        cg_rows_bind(g, r, j);
        val in = LLVMBuildAnd(g->b, cg_icmp(g, LLVMIntSGE, r->row[j], r->run),
                              cg_icmp(g, LLVMIntSLT, r->row[j], r->after), "");
        r->from[j] = cg_emit_i32(g, s->part[ET_AT_FIRST]);
        r->to[j] = cg_select(g, in, cg_emit_i32(g, s->part[ET_AT_END]), cg_i32(g, 0));
        cg_scope_end(g, mark);
    }
    r->all_from = r->from[0], r->all_to = r->to[0];
    for (int j = 1; j < r->loop.nrows; j++) {
        r->all_from = cg_rows_at_least(g, r->all_from, r->from[j]);
        r->all_to = cg_rows_at_most(g, r->all_to, r->to[j]);
    }
    r->all_from = cg_rows_over_lanes(g, r->all_from, true);
    r->all_to = cg_rows_over_lanes(g, r->all_to, false);
}

static void know_run(cg *g, cg_rows *r) {
    r->after = cg_rows_run_end(g, r->loop.s, r->run, r->live);
    positions(g, r);
}

static int state_size(const cg_rows *r) {
    return 2 * r->loop.nrows + r->loop.values / 16;
}

/* Begins to load the block from P0 on: to a stage, or to registers. */
static void load_block(cg *g, const cg_rows *r, val p0, val stage, val *out) {
    if (r->loop.warpgroup)
        cg_attend_warpgroup_copy(g, r, p0, stage);
    else
        cg_rows_load_block(g, r, p0, out);
}

static void scan(cg *g, const cg_rows *r, val *state) {
    int n = state_size(r);
    val looped[CG_ROWS_STATE + 2 * ET_ATTEND_ITEMS + 1], next[2 * ET_ATTEND_ITEMS];
    memcpy(looped, state, (size_t)n * sizeof *state);
    load_block(g, r, r->first, cg_i32(g, 0), next);
    if (!r->loop.warpgroup) cg_rows_store_block(g, r, cg_i32(g, 0), next);
    looped[n] = cg_i32(g, 0);
    cg_for f;
    val by = cg_i32(g, ET_ATTEND_BLOCK);
    val p0 = cg_for_begin(g, &f, r->first, r->end, by, false, n + 1, looped);
    val stage = looped[n], other = LLVMBuildXor(g->b, stage, cg_i32(g, 1), "");
    if (r->loop.warpgroup) cg_attend_warpgroup_copied(g);
    cg_barrier(g); /* the block is there, and the one before it has been multiplied */
    int mark = cg_scope(g);
    load_block(g, r, cg_addi(g, p0, ET_ATTEND_BLOCK), other, next);
    cg_rows_multiply(g, r, stage, p0, looped);
    if (r->loop.warpgroup)
        cg_attend_warpgroup_over(g, r, looped + 2 * r->loop.nrows);
    else
        cg_rows_store_block(g, r, other, next);
    cg_scope_end(g, mark);
    looped[n] = other;
    cg_for_end(g, &f, looped);
    memcpy(state, looped, (size_t)n * sizeof *state);
}

/* Where number I of the lane's state is in WAVE's part of scratch. */
static val state_ptr(cg *g, const cg_rows *r, val wave, int i) {
    int all = 2 * r->loop.nrows + r->loop.values / 16 * r->loop.results;
    val at = cg_muli(g, cg_add(g, cg_muli(g, wave, (int64_t)all * g->t->wave), g->lane), 4);
    return cg_gepi(g, cg_rows_scratch(g, r, at), (int64_t)i * g->t->wave * 4);
}

static void store_state(cg *g, const cg_rows *r, const val *state) {
    for (int i = 0; i < 2 * r->loop.nrows; i++)
        LLVMBuildStore(g->b, state[i], state_ptr(g, r, g->wave, i));
    for (int d = 0; d < r->loop.values / 16; d++)
        for (int v = 0; v < r->loop.results; v++)
            LLVMBuildStore(g->b, cg_extract(g, state[2 * r->loop.nrows + d], v),
                           state_ptr(g, r, g->wave, 2 * r->loop.nrows + d * r->loop.results + v));
}

static val state_of(cg *g, const cg_rows *r, val wave, int i) {
    return LLVMBuildLoad2(g->b, g->f32, state_ptr(g, r, wave, i), "");
}

/* Merges the state that wave number W of those that share the rows has stored. */
static void join(cg *g, const cg_rows *r, int w, val *state) {
    val wave = cg_addi(g, g->wave, (int64_t)w * r->loop.partner), mine[ET_ATTEND_LANE_ROWS],
        theirs[ET_ATTEND_LANE_ROWS];
    for (int j = 0; j < r->loop.nrows; j++) {
        val top = state_of(g, r, wave, j), most = cg_fmax(g, state[j], top);
        mine[j] = cg_rows_power(g, r, state[j], most);
        theirs[j] = cg_rows_power(g, r, top, most);
        state[j] = most;
        val sum = cg_fmul(g, state_of(g, r, wave, r->loop.nrows + j), theirs[j]);
        state[r->loop.nrows + j] = cg_fma(g, state[r->loop.nrows + j], mine[j], sum);
    }
    for (int d = 0; d < r->loop.values / 16; d++) {
        val *o = &state[2 * r->loop.nrows + d];
        *o = cg_rows_scaled(g, r, *o, mine);
        for (int v = 0; v < r->loop.results; v++) {
            val x = state_of(g, r, wave, 2 * r->loop.nrows + d * r->loop.results + v);
            x = cg_fma(g, x, theirs[cg_rows_row(r, v)], cg_extract(g, *o, v));
            *o = LLVMBuildInsertElement(g->b, *o, x, cg_i32(g, v), "");
        }
    }
}

/* Adds the extra term of the sum, and divides by the sum, unless it is that of a part: then the
 * maxima are in base 2 from here on. */
static void finish(cg *g, const cg_rows *r, val *state) {
    val by[ET_ATTEND_LANE_ROWS];
    bool part = et_step_is_part(g->f, r->loop.s);
    for (int j = 0; j < r->loop.nrows; j++) {
        val sum = state[r->loop.nrows + j], scale = cg_f32(g, 1);
        if (part) state[j] = cg_fmul(g, state[j], cg_f32(g, r->loop.factor));
        if (r->loop.s->part[ET_AT_EXTRA].id) {
            int mark = cg_scope(g);
            cg_rows_bind(g, r, j);
            val extra =
                cg_fmul(g, cg_emit_f32(g, r->loop.s->part[ET_AT_EXTRA]), cg_f32(g, M_LOG2E));
            val most = part ? state[j] : cg_fmul(g, state[j], cg_f32(g, r->loop.factor));
            val top = cg_fmax(g, most, extra);
            scale = cg_exp2(g, cg_rows_minus(g, most, top));
            sum = cg_fma(g, sum, scale, cg_exp2(g, cg_rows_minus(g, extra, top)));
            if (part) state[j] = top;
            cg_scope_end(g, mark);
        }
        state[r->loop.nrows + j] = sum;
        by[j] = scale;
        if (part) continue;
        val none = LLVMBuildFCmp(g->b, LLVMRealOEQ, sum, cg_f32(g, 0), "");
        by[j] = cg_select(g, none, cg_f32(g, 0), g->family->divide(g, scale, sum));
    }
    if (part && !r->loop.s->part[ET_AT_EXTRA].id) return;
    for (int d = 0; d < r->loop.values / 16; d++)
        state[2 * r->loop.nrows + d] = cg_rows_scaled(g, r, state[2 * r->loop.nrows + d], by);
}

/* Those of the lane's values of a sum that are of row J and columns that follow each other, from
 * its column number AT on; how many. */
static int neighbours(const cg_rows *r, int j, int at, int v[16]) {
    int n = 0;
    for (int c = at; c < 16; c++) {
        int found = -1;
        for (int i = 0; i < r->loop.results; i++)
            if (cg_rows_row(r, i) == j && et_deal_value(&r->loop.sums->sum_n, i) == c) found = i;
        if (found < 0) break;
        v[n++] = found;
    }
    return n;
}

/* Of row J those of sixteen elements, SUM, to TO, where the lane's first column of them is. */
static void write_sum(cg *g, const cg_rows *r, int j, val sum, val to) {
    int v[16], n;
    for (int at = 0; at < 16; at += n ? n : 1) {
        val each[16];
        n = neighbours(r, j, at, v);
        for (int i = 0; i < n; i++)
            each[i] = cg_extract(g, sum, v[i]);
        if (n)
            LLVMSetAlignment(
                LLVMBuildStore(g->b, cg_vector(g, g->f32, n, each), cg_gepi(g, to, 4L * at)),
                4 * (unsigned)n);
    }
}

/* Of a part, beside the elements of row J at AT: the largest score and the sum of weights, which
 * groups of waves that have parts of the elements all know. */
static void write_part(cg *g, const cg_rows *r, val at, val top, val sum) {
    const et_step *s = r->loop.s;
    cg_if first;
    val is = cg_icmp(g, LLVMIntEQ, r->column, cg_i32(g, 0));
    if (r->loop.apart)
        is = LLVMBuildAnd(g->b, is, cg_icmp(g, LLVMIntEQ, r->wave_p, cg_i32(g, 0)), "");
    cg_if_begin(g, &first, is);
    LLVMBuildStore(g->b, top, cg_local_ptr(g, s->out, cg_addi(g, at, s->depth)));
    LLVMBuildStore(g->b, sum, cg_local_ptr(g, s->out, cg_addi(g, at, s->depth + 1)));
    cg_if_end(g, &first);
}

/* Stores the results of the run's rows. */
static void write(cg *g, const cg_rows *r, const val *state) {
    int pitch = g->f->locals[r->loop.s->out].pitch;
    for (int j = 0; j < r->loop.nrows; j++) {
        cg_if in;
        cg_if_begin(g, &in,
                    LLVMBuildAnd(g->b, cg_icmp(g, LLVMIntSGE, r->row[j], r->run),
                                 cg_icmp(g, LLVMIntSLT, r->row[j], r->after), ""));
        val at = cg_add(g, cg_muli(g, r->row[j], r->loop.s->heads), r->head);
        at = cg_muli(g, at, pitch);
        if (et_step_is_part(g->f, r->loop.s))
            write_part(g, r, at, state[j], state[r->loop.nrows + j]);
        at = cg_add(g, at, r->column);
        if (r->loop.apart) at = cg_add(g, at, cg_muli(g, r->wave_p, r->loop.values));
        for (int d = 0; d < r->loop.values / 16; d++)
            write_sum(g, r, j, state[2 * r->loop.nrows + d],
                      cg_local_ptr(g, r->loop.s->out, cg_addi(g, at, (int64_t)16 * d)));
        cg_if_end(g, &in);
    }
}

static void run_of_several(cg *g, cg_rows *r) {
    val state[CG_ROWS_STATE];
    for (int j = 0; j < r->loop.nrows; j++)
        state[j] = cg_f32(g, CG_ROWS_LEAST), state[r->loop.nrows + j] = cg_f32(g, 0);
    for (int d = 0; d < r->loop.values / 16; d++)
        state[2 * r->loop.nrows + d] = cg_rows_sums(g, r);
    scan(g, r, state);
    for (int j = 0; j < r->loop.nrows; j++)
        state[r->loop.nrows + j] = cg_rows_over_columns(g, r, state[r->loop.nrows + j], true);
    if (r->loop.warpgroup) cg_attend_warpgroup_copied(g); /* where there are no positions */
    cg_barrier(g);                                        /* all blocks have been multiplied */
    bool joined = r->loop.plan.waves > 1 && !r->loop.apart;
    if (joined) {
        store_state(g, r, state);
        cg_barrier(g);
    }
    cg_if writes;
    cg_if_begin(g, &writes, r->writes);
    for (int w = 1; joined && w < r->loop.plan.waves; w++)
        join(g, r, w, state);
    finish(g, r, state);
    write(g, r, state);
    cg_if_end(g, &writes);
    if (joined) cg_barrier(g);
}

/* Of a part that has none of the run's positions. */
static void run_of_none(cg *g, const cg_rows *r) {
    const et_step *s = r->loop.s;
    int wide = s->depth + 2, heads = s->heads;
    cg_items items;
    val n = cg_muli(g, LLVMBuildSub(g->b, r->after, r->run, ""), (int64_t)heads * wide);
    val item = cg_items_begin(g, &items, n, -1);
    val row = LLVMBuildUDiv(g->b, item, cg_i32(g, wide), "");
    val d = LLVMBuildURem(g->b, item, cg_i32(g, wide), "");
    val at = cg_muli(g, cg_add(g, cg_muli(g, r->run, heads), row), g->f->locals[s->out].pitch);
    val top = cg_icmp(g, LLVMIntEQ, d, cg_i32(g, s->depth));
    LLVMBuildStore(g->b, cg_select(g, top, cg_f32(g, CG_ROWS_LEAST), cg_f32(g, 0)),
                   cg_local_ptr(g, s->out, cg_add(g, at, d)));
    cg_items_end(g, &items);
}

/* A row by itself has little of what a block shares, and waits for one after the other. */
static void some_run(cg *g, cg_rows *r) {
    if (!r->loop.plan.alone) {
        run_of_several(g, r);
        return;
    }
    block one = cg_block(g, "alone"), more = cg_block(g, "several"), done = cg_block(g, "run_done");
    cg_cond(g, cg_icmp(g, LLVMIntEQ, r->after, cg_addi(g, r->run, 1)), one, more);
    cg_at(g, one);
    int mark = cg_scope(g);
    cg_attend_alone(g, &r->loop, r->run, r->live, r->first, r->end);
    cg_scope_end(g, mark);
    cg_br(g, done);
    cg_at(g, more);
    mark = cg_scope(g);
    run_of_several(g, r);
    cg_scope_end(g, mark);
    cg_br(g, done);
    cg_at(g, done);
}

/* The first part has the term that is no position's. */
static void one_run(cg *g, cg_rows *r) {
    if (!et_step_is_part(g->f, r->loop.s) || r->loop.s->part[ET_AT_EXTRA].id) {
        some_run(g, r);
        return;
    }
    block none = cg_block(g, "none"), some = cg_block(g, "some"), done = cg_block(g, "run_over");
    cg_cond(g, cg_icmp(g, LLVMIntSLT, r->first, r->end), some, none);
    cg_at(g, none);
    int mark = cg_scope(g);
    run_of_none(g, r);
    cg_scope_end(g, mark);
    cg_br(g, done);
    cg_at(g, some);
    mark = cg_scope(g);
    some_run(g, r);
    cg_scope_end(g, mark);
    cg_br(g, done);
    cg_at(g, done);
}

/* ---- the first run, known before the tile's waits ----
 *
 * Where its rows begin and end, and which positions they have, is decided by tensors that no task
 * writes: two trips to memory and to other lanes before the first key can be asked for. */

enum { RUN_VALUES = 5 + 2 * ET_ATTEND_LANE_ROWS };

static int run_values(cg_rows *r, val **of) {
    int n = 0;
    of[n++] = &r->after, of[n++] = &r->first, of[n++] = &r->end;
    of[n++] = &r->all_from, of[n++] = &r->all_to;
    for (int j = 0; j < r->loop.nrows; j++)
        of[n++] = &r->from[j], of[n++] = &r->to[j];
    return n;
}

void cg_attend_rows_early(cg *g, const et_attend_loop *loop) {
    cg_rows *r = et_alloc(g->arena, sizeof *r);
    r->loop = *loop;
    g->hold = true;
    begin(g, r);
    r->run = cg_i32(g, 0);
    know_run(g, r);
    g->hold = false;
    g->rows = r;
}

/* Makes the values at OF phis of a loop that is entered from BEFORE. */
static void make_phis(cg *g, val **of, int n, block before) {
    for (int i = 0; i < n; i++) {
        val was = *of[i];
        *of[i] = LLVMBuildPhi(g->b, LLVMTypeOf(was), "");
        LLVMAddIncoming(*of[i], &was, &before, 1);
    }
}

void cg_attend_rows(cg *g, const et_attend_loop *loop) {
    val *of[RUN_VALUES], phi[RUN_VALUES];
    bool known = g->rows && g->rows->loop.s == loop->s;
    cg_rows *r = known ? g->rows : et_alloc(g->arena, sizeof *r);
    r->loop = *loop;
    if (!known) begin(g, r);
    int n = known ? run_values(r, of) : 0;
    load_queries(g, r);
    block before = cg_here(g), head = cg_block(g, "run"), done = cg_block(g, "runs");
    cg_br(g, head);
    cg_at(g, head);
    val run = r->run = LLVMBuildPhi(g->b, g->i32, "");
    make_phis(g, of, n, before);
    for (int i = 0; i < n; i++)
        phi[i] = *of[i];
    int mark = cg_scope(g);
    if (!known) know_run(g, r);
    one_run(g, r);
    cg_scope_end(g, mark);
    val end = r->after, more = cg_icmp(g, LLVMIntSLT, end, r->live);
    if (known) {
        block next = cg_block(g, "next_run");
        cg_cond(g, more, next, done);
        cg_at(g, next);
        mark = cg_scope(g);
        r->run = end;
        know_run(g, r);
        cg_scope_end(g, mark);
        for (int i = 0; i < n; i++)
            LLVMAddIncoming(phi[i], of[i], (block[]){cg_here(g)}, 1);
    }
    LLVMAddIncoming(run, (val[]){cg_i32(g, 0), end}, (block[]){before, cg_here(g)}, 2);
    if (known)
        cg_br(g, head);
    else
        cg_cond(g, more, head, done);
    cg_at(g, done);
}
