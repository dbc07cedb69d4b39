/* ATTEND steps of several rows of queries: matrix instructions make the scores and the sums.
 *
 * A wave has sixteen rows of one head, or, where there are more waves, part of the positions of
 * such. Rows one after another whose keys and values are the same are a run; one run after another,
 * the workgroup brings keys and values of ET_ATTEND_BLOCK positions at a time to LDS, those of the
 * next block while this one's are multiplied. A lane's scores of two or more blocks of sixteen
 * positions are, side by side, what it needs of an operand for the sums: so values lie in LDS with
 * positions side by side, in that order. */
#include "codegen/step/attend/rows.h"
#include "codegen/step/attend/attend.h"
#include "ir/base/diag.h"
#include <math.h>
#include <string.h>

/* Are a lane's columns of a sum the k's that it has of an operand? */
static bool chains(const et_target *t, const et_layout *l) {
    int groups = et_layout_groups(l), columns = 16 / groups;
    bool ok = columns * groups == 16 && columns >= 2 && CG_ROWS_EACH % columns == 0 &&
              et_deal_values(&l->m) <= CG_ROWS_OF_LANE &&
              et_deal_values(&l->m) * columns == 256 / t->wave;
    for (int v = 0; ok && v < 256 / t->wave; v++)
        ok = cg_rows_row_of(l, v) >= 0 && et_deal_value(&l->sum_n, v) < columns;
    for (int i = 0; ok && i < t->wave; i++)
        ok = et_deal_lane(&l->sum_m, i) == et_deal_lane(&l->m, i) &&
             et_deal_lane(&l->sum_n, i) == et_deal_lane(&l->k, i) * columns;
    return ok;
}

const char *cg_attend_rows_problem(cg *g, const et_func *f, const et_step *s) {
    et_dtype operand;
    et_expr key[ET_ATTEND_KEYS];
    const et_local *out = &f->locals[s->out], *part = &f->locals[s->scratch];
    int waves = g->p->workgroup / g->t->wave;
    if (!et_attend_operand(g->p, s, &operand) || et_attend_keys(g->x, s, ET_ATTEND_KEYS, key) < 0)
        return "rows of queries share keys and values that are elements of tensors of 16 bits";
    if (s->depth % 32 || s->depth > 128 || s->rows > g->t->wave || s->rows > 32 ||
        s->rows / 16 * s->heads > waves || s->part[ET_AT_MASK].id)
        return "rows of queries are at most 32, of heads of 32 to 128 elements, sixteen of a head "
               "for each wave at most, and without a mask";
    if (part->pitch != part->dim[2] || out->pitch != s->depth) return "its buffers have no padding";
    const et_fragment *fr = et_target_fragment(g->t, operand);
    if (!fr || !chains(g->t, fr->layout) || CG_ROWS_EACH % fr->lane_k)
        return "rows of queries need matrix instructions whose sums are dealt as operands are";
    return NULL;
}

/* ---- where the lane is ---- */

static val dealt(cg *g, const et_deal *d) {
    val sum = cg_i32(g, 0);
    for (int i = 0; 1 << i < g->t->wave; i++) {
        if (!et_deal_lane(d, 1 << i)) continue;
        val bit =
            LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, g->lane, cg_i32(g, i), ""), cg_i32(g, 1), "");
        sum = cg_add(g, sum, cg_muli(g, bit, et_deal_lane(d, 1 << i)));
    }
    return sum;
}

static void begin(cg *g, et_rows *r) {
    const et_step *s = r->s;
    int waves = g->p->workgroup / g->t->wave, of_head = s->rows / 16;
    const et_layout *l;
    if (!et_attend_operand(g->p, s, &r->operand)) et_bug("%s: no type of operands", g->f->name);
    r->fr = et_target_fragment(g->t, r->operand);
    l = r->fr->layout;
    r->sums = l;
    r->groups = et_layout_groups(l);
    r->columns = 16 / r->groups;
    r->nrows = et_deal_values(&l->m);
    r->results = 256 / g->t->wave;
    r->unit = CG_ROWS_EACH * r->groups;
    r->fragments = of_head * s->heads;
    r->waves_p = 1;
    while (2 * r->waves_p * r->fragments <= waves && 2 * r->waves_p * r->unit <= ET_ATTEND_BLOCK)
        r->waves_p *= 2;
    r->together = cg_rows_may_group(g, g->f, s, r->fragments, r->waves_p);
    if (r->together) r->sums = g->t->warpgroup->rows_m;
    r->value = 2 * ET_ATTEND_BLOCK + 64;
    r->key = (et_attend_slot(s->depth) - s->depth * r->value) / ET_ATTEND_BLOCK;
    r->nk = (ET_ATTEND_BLOCK * s->depth / CG_ROWS_EACH + g->p->workgroup - 1) / g->p->workgroup;
    r->nv = (ET_ATTEND_BLOCK / 2 * s->depth / CG_ROWS_EACH + g->p->workgroup - 1) / g->p->workgroup;
    et_check(r->nk + 2 * r->nv <= 2 * CG_ROWS_ITEMS);
    r->lane_m = dealt(g, &l->m);
    r->column = dealt(g, &r->sums->sum_n);
    r->lane_n = dealt(g, &l->n);
    r->group = dealt(g, &l->k);
    val by = cg_i32(g, r->together ? r->fragments : r->waves_p);
    val high = LLVMBuildUDiv(g->b, g->wave, by, ""), low = LLVMBuildURem(g->b, g->wave, by, "");
    val fragment = r->together ? low : high;
    r->wave_p = r->together ? high : low;
    r->partner = r->together ? r->fragments : 1;
    val some = cg_icmp(g, LLVMIntSLT, fragment, cg_i32(g, r->fragments));
    r->writes = LLVMBuildAnd(g->b, some, cg_icmp(g, LLVMIntEQ, r->wave_p, cg_i32(g, 0)), "");
    fragment = cg_rows_at_most(g, fragment, cg_i32(g, r->fragments - 1));
    r->head = LLVMBuildUDiv(g->b, fragment, cg_i32(g, of_head), "");
    r->row16 = cg_muli(g, LLVMBuildURem(g->b, fragment, cg_i32(g, of_head), ""), 16);
    r->live = cg_uniform(g, cg_emit_i32(g, s->ilive));
    for (int j = 0; j < r->nrows; j++)
        r->row[j] = cg_addi(g, cg_add(g, r->row16, r->lane_m), et_deal_value(&l->m, j));
    r->score = cg_attend_score(g, s, &r->factor);
    if (r->score.id) r->factor = M_LOG2E;
    r->before = 1;
    if (!(r->factor > 1e-6 && r->factor < 3)) r->before = r->factor, r->factor = 1;
}

static void load_queries(cg *g, et_rows *r) {
    if (r->together) {
        cg_rows_hold_queries(g, r);
        return;
    }
    for (int j = 0; j < r->nrows; j++) {
        int mark = cg_scope(g);
        cg_rows_bind(g, r, j);
        for (int u = 0; u * r->unit < r->s->depth; u++)
            r->q[u][j] = cg_rows_load_piece(g, r, r->s->part[ET_AT_Q],
                                            cg_addi(g, r->group, (int64_t)u * r->groups));
        cg_scope_end(g, mark);
    }
}

/* ---- a run ---- */

/* The rows from r->run on whose keys are its: the first that is not. */
static val run_end(cg *g, const et_rows *r) {
    et_expr key[ET_ATTEND_KEYS];
    int n = et_attend_keys(g->x, r->s, ET_ATTEND_KEYS, key);
    val mine[ET_ATTEND_KEYS], differs = LLVMConstInt(g->i1, 0, false);
    if (n <= 0) return r->live;
    for (int own = 0; own < 2; own++) {
        int mark = cg_scope(g);
        val row = own ? cg_rows_at_most(g, g->lane, cg_addi(g, r->live, -1)) : r->run;
        cg_bind(g, r->s->ivar[0], row, own);
        for (int i = 0; i < n; i++) {
            val v = cg_emit_i32(g, key[i]);
            if (own)
                differs = LLVMBuildOr(g->b, differs, cg_icmp(g, LLVMIntNE, v, mine[i]), "");
            else
                mine[i] = v;
        }
        cg_scope_end(g, mark);
    }
    val after = LLVMBuildAnd(g->b, cg_icmp(g, LLVMIntSGT, g->lane, r->run),
                             cg_icmp(g, LLVMIntSLT, g->lane, r->live), "");
    val mask = cg_ballot(g, LLVMBuildAnd(g->b, differs, after, ""));
    val top = LLVMConstInt(LLVMTypeOf(mask), 1, false);
    top = LLVMBuildShl(g->b, top, LLVMConstInt(LLVMTypeOf(mask), (unsigned)g->t->wave - 1, false),
                       "");
    val found = cg_first_lane(g, LLVMBuildOr(g->b, mask, top, ""));
    return cg_uniform(g, cg_select(g, cg_none(g, mask), r->live, found));
}

static val over_lanes(cg *g, val v, bool most) {
    for (int m = 1; m < g->t->wave; m *= 2) {
        val other = cg_shuffle_xor(g, v, m);
        v = most ? cg_rows_at_least(g, v, other) : cg_rows_at_most(g, v, other);
    }
    return cg_uniform(g, v);
}

/* Positions of rows r->run to r->after - 1: of each of the lane's, and of them all. */
static void positions(cg *g, et_rows *r) {
    const et_step *s = r->s;
    int mark = cg_scope(g);
    val row = cg_rows_at_most(g, cg_rows_at_least(g, g->lane, r->run), cg_addi(g, r->after, -1));
    cg_bind(g, s->ivar[0], row, true);
    r->first = over_lanes(g, cg_emit_i32(g, s->part[ET_AT_FIRST]), false);
    r->end = over_lanes(g, cg_emit_i32(g, s->part[ET_AT_END]), true);
    cg_scope_end(g, mark);
    for (int j = 0; j < r->nrows; j++) {
        mark = cg_scope(g);
        cg_rows_bind(g, r, j);
        val in = LLVMBuildAnd(g->b, cg_icmp(g, LLVMIntSGE, r->row[j], r->run),
                              cg_icmp(g, LLVMIntSLT, r->row[j], r->after), "");
        r->from[j] = cg_emit_i32(g, s->part[ET_AT_FIRST]);
        r->to[j] = cg_select(g, in, cg_emit_i32(g, s->part[ET_AT_END]), cg_i32(g, 0));
        cg_scope_end(g, mark);
    }
    r->all_from = r->from[0], r->all_to = r->to[0];
    for (int j = 1; j < r->nrows; j++) {
        r->all_from = cg_rows_at_least(g, r->all_from, r->from[j]);
        r->all_to = cg_rows_at_most(g, r->all_to, r->to[j]);
    }
    r->all_from = over_lanes(g, r->all_from, true);
    r->all_to = over_lanes(g, r->all_to, false);
}

static void know_run(cg *g, et_rows *r) {
    r->after = run_end(g, r);
    positions(g, r);
}

static int state_size(const et_rows *r) {
    return 2 * r->nrows + r->s->depth / 16;
}

/* The block from P0 on, asked for into a stage, or to registers. */
static void bring(cg *g, const et_rows *r, val p0, val slot, val *out) {
    if (r->together)
        cg_rows_group_copy(g, r, p0, slot);
    else
        cg_rows_load_block(g, r, p0, out);
}

static void scan(cg *g, const et_rows *r, val *state) {
    int n = state_size(r);
    val carried[CG_ROWS_STATE + 2 * CG_ROWS_ITEMS + 1], next[2 * CG_ROWS_ITEMS];
    memcpy(carried, state, (size_t)n * sizeof *state);
    bring(g, r, r->first, cg_i32(g, 0), next);
    if (!r->together) cg_rows_store_block(g, r, cg_i32(g, 0), next);
    carried[n] = cg_i32(g, 0);
    cg_for f;
    val by = cg_i32(g, ET_ATTEND_BLOCK);
    val p0 = cg_for_begin(g, &f, r->first, r->end, by, false, n + 1, carried);
    val slot = carried[n], other = LLVMBuildXor(g->b, slot, cg_i32(g, 1), "");
    if (r->together) cg_rows_group_copied(g);
    cg_barrier(g); /* the block is there, and the one before it has been multiplied */
    int mark = cg_scope(g);
    bring(g, r, cg_addi(g, p0, ET_ATTEND_BLOCK), other, next);
    cg_rows_multiply(g, r, slot, p0, carried);
    if (r->together)
        cg_rows_group_over(g, r, carried + 2 * r->nrows);
    else
        cg_rows_store_block(g, r, other, next);
    cg_scope_end(g, mark);
    carried[n] = other;
    cg_for_end(g, &f, carried);
    memcpy(state, carried, (size_t)n * sizeof *state);
}

/* The lane's numbers of the state, one after the other, into or out of the wave's part of scratch.
 */
static val number_ptr(cg *g, const et_rows *r, val wave, int i) {
    int all = 2 * r->nrows + r->s->depth / 16 * r->results;
    val at = cg_muli(g, cg_add(g, cg_muli(g, wave, (int64_t)all * g->t->wave), g->lane), 4);
    return cg_gepi(g, cg_rows_scratch(g, r, at), (int64_t)i * g->t->wave * 4);
}

static void leave(cg *g, const et_rows *r, const val *state) {
    for (int i = 0; i < 2 * r->nrows; i++)
        LLVMBuildStore(g->b, state[i], number_ptr(g, r, g->wave, i));
    for (int d = 0; d < r->s->depth / 16; d++)
        for (int v = 0; v < r->results; v++)
            LLVMBuildStore(g->b, cg_extract(g, state[2 * r->nrows + d], v),
                           number_ptr(g, r, g->wave, 2 * r->nrows + d * r->results + v));
}

static val left_by(cg *g, const et_rows *r, val wave, int i) {
    return LLVMBuildLoad2(g->b, g->f32, number_ptr(g, r, wave, i), "");
}

/* What the wave W of those that share the rows has left joins the state. */
static void join(cg *g, const et_rows *r, int w, val *state) {
    val wave = cg_addi(g, g->wave, (int64_t)w * r->partner), mine[CG_ROWS_OF_LANE],
        theirs[CG_ROWS_OF_LANE];
    for (int j = 0; j < r->nrows; j++) {
        val top = left_by(g, r, wave, j), most = cg_fmax(g, state[j], top);
        mine[j] = cg_rows_power(g, r, state[j], most);
        theirs[j] = cg_rows_power(g, r, top, most);
        state[j] = most;
        val sum = cg_fmul(g, left_by(g, r, wave, r->nrows + j), theirs[j]);
        state[r->nrows + j] = cg_fma(g, state[r->nrows + j], mine[j], sum);
    }
    for (int d = 0; d < r->s->depth / 16; d++) {
        val *o = &state[2 * r->nrows + d];
        *o = cg_rows_scaled(g, r, *o, mine);
        for (int v = 0; v < r->results; v++) {
            val x = left_by(g, r, wave, 2 * r->nrows + d * r->results + v);
            x = cg_fma(g, x, theirs[cg_rows_row(r, v)], cg_extract(g, *o, v));
            *o = LLVMBuildInsertElement(g->b, *o, x, cg_i32(g, v), "");
        }
    }
}

/* The term that is no position's, and what all is to be multiplied by. */
static void finish(cg *g, const et_rows *r, val *state) {
    val by[CG_ROWS_OF_LANE];
    for (int j = 0; j < r->nrows; j++) {
        val sum = state[r->nrows + j], scale = cg_f32(g, 1);
        if (r->s->part[ET_AT_EXTRA].id) {
            int mark = cg_scope(g);
            cg_rows_bind(g, r, j);
            val extra = cg_fmul(g, cg_emit_f32(g, r->s->part[ET_AT_EXTRA]), cg_f32(g, M_LOG2E));
            val most = cg_fmul(g, state[j], cg_f32(g, r->factor)), top = cg_fmax(g, most, extra);
            scale = cg_exp2(g, cg_rows_minus(g, most, top));
            sum = cg_fma(g, sum, scale, cg_exp2(g, cg_rows_minus(g, extra, top)));
            cg_scope_end(g, mark);
        }
        val none = LLVMBuildFCmp(g->b, LLVMRealOEQ, sum, cg_f32(g, 0), "");
        by[j] = cg_select(g, none, cg_f32(g, 0), g->family->divide(g, scale, sum));
    }
    for (int d = 0; d < r->s->depth / 16; d++)
        state[2 * r->nrows + d] = cg_rows_scaled(g, r, state[2 * r->nrows + d], by);
}

/* Those of the lane's values of a sum that are of row J and columns that follow each other, from
 * its column number AT on; how many. */
static int neighbours(const et_rows *r, int j, int at, int v[16]) {
    int n = 0;
    for (int c = at; c < 16; c++) {
        int found = -1;
        for (int i = 0; i < r->results; i++)
            if (cg_rows_row(r, i) == j && et_deal_value(&r->sums->sum_n, i) == c) found = i;
        if (found < 0) break;
        v[n++] = found;
    }
    return n;
}

/* Of row J those of sixteen elements, SUM, to TO, where the lane's first column of them is. */
static void write_sum(cg *g, const et_rows *r, int j, val sum, val to) {
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

/* Rows of the run. */
static void write(cg *g, const et_rows *r, const val *state) {
    for (int j = 0; j < r->nrows; j++) {
        cg_if in;
        cg_if_begin(g, &in,
                    LLVMBuildAnd(g->b, cg_icmp(g, LLVMIntSGE, r->row[j], r->run),
                                 cg_icmp(g, LLVMIntSLT, r->row[j], r->after), ""));
        val at = cg_add(g, cg_muli(g, r->row[j], r->s->heads), r->head);
        at = cg_add(g, cg_muli(g, at, r->s->depth), r->column);
        for (int d = 0; d < r->s->depth / 16; d++)
            write_sum(g, r, j, state[2 * r->nrows + d],
                      cg_local_ptr(g, r->s->out, cg_addi(g, at, (int64_t)16 * d)));
        cg_if_end(g, &in);
    }
}

static void one_run(cg *g, et_rows *r) {
    val state[CG_ROWS_STATE];
    for (int j = 0; j < r->nrows; j++)
        state[j] = cg_f32(g, CG_ROWS_LEAST), state[r->nrows + j] = cg_f32(g, 0);
    for (int d = 0; d < r->s->depth / 16; d++)
        state[2 * r->nrows + d] = cg_rows_sums(g, r);
    scan(g, r, state);
    for (int j = 0; j < r->nrows; j++)
        state[r->nrows + j] = cg_rows_over_columns(g, r, state[r->nrows + j], true);
    if (r->together) cg_rows_group_copied(g); /* where there are no positions */
    cg_barrier(g);                            /* all blocks have been multiplied */
    if (r->waves_p > 1) {
        leave(g, r, state);
        cg_barrier(g);
    }
    cg_if writes;
    cg_if_begin(g, &writes, r->writes);
    for (int w = 1; w < r->waves_p; w++)
        join(g, r, w, state);
    finish(g, r, state);
    write(g, r, state);
    cg_if_end(g, &writes);
    if (r->waves_p > 1) cg_barrier(g);
}

/* ---- the first run, known before the tile's waits ----
 *
 * Where its rows begin and end, and which positions they have, is decided by what nobody writes:
 * two trips to memory and to other lanes before the first key can be asked for. */

enum { RUN_VALUES = 5 + 2 * CG_ROWS_OF_LANE };

static int run_values(et_rows *r, val **of) {
    int n = 0;
    of[n++] = &r->after, of[n++] = &r->first, of[n++] = &r->end;
    of[n++] = &r->all_from, of[n++] = &r->all_to;
    for (int j = 0; j < r->nrows; j++)
        of[n++] = &r->from[j], of[n++] = &r->to[j];
    return n;
}

void cg_attend_rows_ahead(cg *g, const et_step *s) {
    et_expr key[ET_ATTEND_KEYS];
    bool fixed = g->family->stream && !cg_reads_mutable(g, s->part[ET_AT_FIRST]) &&
                 !cg_reads_mutable(g, s->part[ET_AT_END]) && !cg_reads_mutable(g, s->ilive);
    for (int i = et_attend_keys(g->x, s, ET_ATTEND_KEYS, key) - 1; i >= 0; i--)
        fixed &= !cg_reads_mutable(g, key[i]);
    if (!fixed) return;
    et_rows *r = et_alloc(g->arena, sizeof *r);
    r->s = s;
    g->hold = true;
    begin(g, r);
    r->run = cg_i32(g, 0);
    know_run(g, r);
    g->hold = false;
    g->rows = r;
}

/* The values at OF as they are when the loop begins, and in each turn of it. */
static void carry(cg *g, val **of, int n, block before) {
    for (int i = 0; i < n; i++) {
        val was = *of[i];
        *of[i] = LLVMBuildPhi(g->b, LLVMTypeOf(was), "");
        LLVMAddIncoming(*of[i], &was, &before, 1);
    }
}

void cg_attend_rows(cg *g, const et_step *s) {
    val *of[RUN_VALUES], phi[RUN_VALUES];
    bool known = g->rows && g->rows->s == s;
    et_rows *r = known ? g->rows : et_alloc(g->arena, sizeof *r);
    r->s = s;
    if (!known) begin(g, r);
    int n = known ? run_values(r, of) : 0;
    load_queries(g, r);
    block before = cg_here(g), head = cg_block(g, "run"), done = cg_block(g, "runs");
    cg_br(g, head);
    cg_at(g, head);
    val run = r->run = LLVMBuildPhi(g->b, g->i32, "");
    carry(g, of, n, before);
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
