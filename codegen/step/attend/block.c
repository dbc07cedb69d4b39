/* A block of positions, of ATTEND steps of several rows: keys and values copied to LDS, and
 * multiplied from there. */
#include "codegen/step/attend/rows.h"

enum { PIECE = 2 * ET_ATTEND_EACH, MAX_SUMS = ET_ATTEND_BLOCK / 16 };

/* The score of a masked position: its weight is zero even where no other was seen (CG_ROWS_LEAST).
 */
static const double hidden = -1e38;

int cg_rows_row(const cg_rows *r, int v) {
    const et_deal *m = &r->loop.fr->layout->m;
    for (int j = 0; j < r->loop.nrows; j++)
        if (et_deal_value(m, j) == et_deal_value(&r->loop.sums->sum_m, v)) return j;
    return -1;
}

val cg_rows_at_most(cg *g, val v, val most) {
    return cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){v, most});
}

val cg_rows_at_least(cg *g, val v, val few) {
    return cg_call(g, "llvm.smax", 1, &g->i32, 2, (val[]){v, few});
}

static LLVMTypeRef piece_type(cg *g) {
    return LLVMVectorType(g->i32, PIECE / 4);
}

/* Elements of E from ET_ATTEND_EACH times PIECE on, in the operands' type. */
val cg_rows_load_piece(cg *g, const cg_rows *r, et_expr e, val piece) {
    const et_step *s = r->loop.s;
    val v[ET_ATTEND_EACH];
    int mark = cg_scope(g), u = cg_fresh_var(g, "u", s->depth / ET_ATTEND_EACH);
    cg_bind(g, u, piece, true);
    cg_emit_n(g, e, s->dvar, et_mul(g->x, et_var(g->x, u), et_int(g->x, ET_ATTEND_EACH)),
              ET_ATTEND_EACH, v);
    for (int i = 0; i < ET_ATTEND_EACH; i++)
        v[i] = cg_to_storage(g, r->loop.operand, v[i]);
    cg_scope_end(g, mark);
    val all = cg_vector(g, cg_storage(g, r->loop.operand), ET_ATTEND_EACH, v);
    return LLVMBuildBitCast(g->b, all, piece_type(g), "");
}

/* Binds the head and the lane's row number J, at most the last live one. */
void cg_rows_bind(cg *g, const cg_rows *r, int j) {
    cg_bind(g, r->loop.s->hvar, r->head, false);
    cg_bind(g, r->loop.s->ivar[0], cg_rows_at_most(g, r->row[j], cg_addi(g, r->live, -1)), true);
}

/* ---- keys and values, loaded and stored to LDS ---- */

/* The work-item's load number I of TOTAL; work-items past the last repeat an earlier one. */
static val item_of(cg *g, int i, int total) {
    val item = cg_addi(g, g->tid, (int64_t)i * g->p->workgroup);
    return total % g->p->workgroup ? LLVMBuildURem(g->b, item, cg_i32(g, total), "") : item;
}

static val load_at(cg *g, const cg_rows *r, int part, val position, val piece) {
    int mark = cg_scope(g);
    cg_bind(g, r->loop.s->ivar[0], r->run, false);
    position = cg_rows_at_most(g, position, cg_addi(g, r->end, -1));
    cg_bind(g, r->loop.s->pvar, cg_rows_at_least(g, position, cg_i32(g, 0)), true);
    val v = cg_rows_load_piece(g, r, r->loop.s->part[part], piece);
    cg_scope_end(g, mark);
    return v;
}

/* The block from position P0 on: keys, then values of two positions each. */
void cg_rows_load_block(cg *g, const cg_rows *r, val p0, val *out) {
    int pieces = r->loop.s->depth / ET_ATTEND_EACH;
    for (int i = 0; i < r->loop.nk; i++) {
        val item = item_of(g, i, ET_ATTEND_BLOCK * pieces), of = cg_i32(g, pieces);
        val p = cg_add(g, p0, LLVMBuildUDiv(g->b, item, of, ""));
        *out++ = load_at(g, r, ET_AT_K, p, LLVMBuildURem(g->b, item, of, ""));
    }
    for (int i = 0; i < r->loop.nv; i++) {
        val item = item_of(g, i, ET_ATTEND_BLOCK / 2 * pieces), of = cg_i32(g, ET_ATTEND_BLOCK / 2);
        val piece = LLVMBuildUDiv(g->b, item, of, "");
        val p = cg_add(g, p0, cg_muli(g, LLVMBuildURem(g->b, item, of, ""), 2));
        for (int k = 0; k < 2; k++)
            *out++ = load_at(g, r, ET_AT_V, cg_addi(g, p, k), piece);
    }
}

val cg_rows_scratch(cg *g, const cg_rows *r, val bytes) {
    return cg_gep(g, cg_gepi(g, g->lds, g->f->locals[r->loop.s->scratch].offset), bytes);
}

val cg_rows_stage(cg *g, const cg_rows *r, val stage, val bytes) {
    return cg_rows_scratch(g, r,
                           cg_add(g, cg_muli(g, stage, et_attend_slot(r->loop.s->depth)), bytes));
}

/* Where in a row of values the position P of a block is, in elements. */
static val place_of(cg *g, const cg_rows *r, val p) {
    val unit = cg_i32(g, r->loop.unit), sixteen = cg_i32(g, 16),
        columns = cg_i32(g, r->loop.columns);
    val in = LLVMBuildURem(g->b, p, unit, ""), first = LLVMBuildSub(g->b, p, in, "");
    val sixth = LLVMBuildUDiv(g->b, in, sixteen, ""), of = LLVMBuildURem(g->b, in, sixteen, "");
    val group = LLVMBuildUDiv(g->b, of, columns, ""), j = LLVMBuildURem(g->b, of, columns, "");
    val at = cg_add(g, cg_muli(g, group, ET_ATTEND_EACH), cg_muli(g, sixth, r->loop.columns));
    return cg_add(g, first, cg_add(g, at, j));
}

/* The elements of two positions side by side, a word for each element of the piece. */
static void store_pairs(cg *g, const cg_rows *r, val stage, val item, const val two[2]) {
    LLVMTypeRef of = LLVMVectorType(g->i16, ET_ATTEND_EACH);
    val a = LLVMBuildBitCast(g->b, two[0], of, ""), b = LLVMBuildBitCast(g->b, two[1], of, "");
    val pair = LLVMBuildURem(g->b, item, cg_i32(g, ET_ATTEND_BLOCK / 2), "");
    val piece = LLVMBuildUDiv(g->b, item, cg_i32(g, ET_ATTEND_BLOCK / 2), "");
    val at = cg_muli(g, place_of(g, r, cg_muli(g, pair, 2)), 2);
    at = cg_addi(g, at, (int64_t)ET_ATTEND_BLOCK * r->loop.key);
    at = cg_add(g, at, cg_muli(g, piece, (int64_t)ET_ATTEND_EACH * r->loop.value));
    val to = cg_rows_stage(g, r, stage, at);
    for (int i = 0; i < ET_ATTEND_EACH; i++) {
        val word = cg_vector(g, g->i16, 2, (val[]){cg_extract(g, a, i), cg_extract(g, b, i)});
        val store = LLVMBuildStore(g->b, word, cg_gepi(g, to, (int64_t)i * r->loop.value));
        LLVMSetAlignment(store, 4);
    }
}

void cg_rows_store_block(cg *g, const cg_rows *r, val stage, const val *in) {
    int pieces = r->loop.s->depth / ET_ATTEND_EACH;
    for (int i = 0; i < r->loop.nk; i++) {
        val item = item_of(g, i, ET_ATTEND_BLOCK * pieces), of = cg_i32(g, pieces);
        val at = cg_muli(g, LLVMBuildUDiv(g->b, item, of, ""), r->loop.key);
        at = cg_add(g, at, cg_muli(g, LLVMBuildURem(g->b, item, of, ""), PIECE));
        LLVMSetAlignment(LLVMBuildStore(g->b, *in++, cg_rows_stage(g, r, stage, at)), PIECE);
    }
    for (int i = 0; i < r->loop.nv; i++, in += 2)
        store_pairs(g, r, stage, item_of(g, i, ET_ATTEND_BLOCK / 2 * pieces), in);
}

/* ---- products ---- */

/* The lane's part of unit U of sixteen rows, PITCH bytes apart, the first of them at AT. */
static void fragment(cg *g, const cg_rows *r, val stage, val at, int pitch, val u, val *out) {
    const et_deal *n = &r->loop.fr->layout->n;
    val k = cg_muli(g, cg_add(g, cg_muli(g, u, r->loop.groups), r->group), PIECE);
    for (int i = 0; i < et_deal_values(n); i++) {
        val row = cg_addi(g, r->lane_n, et_deal_value(n, i));
        val byte = cg_add(g, at, cg_add(g, k, cg_muli(g, row, pitch)));
        out[i] = LLVMBuildLoad2(g->b, piece_type(g), cg_rows_stage(g, r, stage, byte), "");
        LLVMSetAlignment(out[i], PIECE);
    }
}

val cg_rows_sums(cg *g, const cg_rows *r) {
    return LLVMConstNull(LLVMVectorType(g->f32, (unsigned)r->loop.results));
}

/* How many waves share the positions of a block. */
static int parts_of(const cg_rows *r) {
    return r->loop.apart ? 1 : r->loop.plan.waves;
}

/* The first position of the wave's sum number B, of those from P0 on. */
static val first_of(cg *g, const cg_rows *r, val p0, int b) {
    int blocks = r->loop.unit / 16;
    val unit = r->loop.apart ? cg_i32(g, b / blocks)
                             : cg_addi(g, r->wave_p, (int64_t)(b / blocks) * r->loop.plan.waves);
    return cg_add(g, p0, cg_addi(g, cg_muli(g, unit, r->loop.unit), (int64_t)(b % blocks) * 16));
}

/* The position of value V of the sum for those from P0 on. */
static val position_of(cg *g, const cg_rows *r, val p0, int v) {
    return cg_addi(g, cg_add(g, p0, r->column), et_deal_value(&r->loop.sums->sum_n, v));
}

/* Products for positions from P0 on become scores, but for r->loop.factor. */
static void score(cg *g, const cg_rows *r, val p0, val *of) {
    for (int v = 0; v < r->loop.results; v++) {
        int mark = cg_scope(g);
        val s = of[v];
        if (r->loop.score.id) {
            val p = position_of(g, r, p0, v);
            cg_rows_bind(g, r, cg_rows_row(r, v));
            cg_bind(g, r->loop.s->pvar, cg_rows_at_most(g, p, cg_addi(g, r->end, -1)), true);
            cg_remember(g, et_arg(g->x, ET_ARG_QK, ET_T_F32), s);
            s = cg_emit_f32(g, r->loop.score);
        }
        of[v] = r->loop.before == 1 ? s : cg_fmul(g, s, cg_f32(g, r->loop.before));
        cg_scope_end(g, mark);
    }
}

/* Masks the scores of N sums, from P0 on, whose position is not one of the row's. */
static void hide(cg *g, const cg_rows *r, val p0, int n, val s[][16]) {
    val shown[MAX_SUMS][16];
    val in = LLVMBuildAnd(g->b, cg_icmp(g, LLVMIntSGE, p0, r->all_from),
                          cg_icmp(g, LLVMIntSLE, cg_addi(g, p0, ET_ATTEND_BLOCK), r->all_to), "");
    cg_if edge;
    cg_if_begin(g, &edge, LLVMBuildNot(g->b, in, ""));
    for (int b = 0; b < n; b++)
        for (int v = 0; v < r->loop.results; v++) {
            int j = cg_rows_row(r, v);
            val p = position_of(g, r, first_of(g, r, p0, b), v);
            val counts = LLVMBuildAnd(g->b, cg_icmp(g, LLVMIntSGE, p, r->from[j]),
                                      cg_icmp(g, LLVMIntSLT, p, r->to[j]), "");
            shown[b][v] = cg_select(g, counts, s[b][v], cg_f32(g, hidden));
        }
    cg_if_end(g, &edge);
    for (int b = 0; b < n; b++)
        for (int v = 0; v < r->loop.results; v++)
            s[b][v] = cg_if_value(g, &edge, shown[b][v], s[b][v]);
}

val cg_rows_minus(cg *g, val x, val y) {
    return LLVMBuildFSub(g->b, x, y, "");
}

/* 2^((X - Y) * factor); 1 where they are equal. */
val cg_rows_power(cg *g, const cg_rows *r, val x, val y) {
    return cg_exp2(g, cg_fmul(g, cg_rows_minus(g, x, y), cg_f32(g, r->loop.factor)));
}

/* Reduces V over the lanes that have other columns of the same rows: sum or maximum. */
val cg_rows_over_columns(cg *g, const cg_rows *r, val v, bool add) {
    for (int m = 1; m < g->t->wave; m *= 2) {
        if (!et_deal_lane(&r->loop.fr->layout->k, m)) continue;
        val other = cg_shuffle_xor(g, v, m);
        v = add ? cg_fadd(g, v, other) : cg_fmax(g, v, other);
    }
    return v;
}

val cg_rows_scaled(cg *g, const cg_rows *r, val sum, const val *by) {
    for (int v = 0; v < r->loop.results; v++) {
        val x = cg_fmul(g, cg_extract(g, sum, v), by[cg_rows_row(r, v)]);
        sum = LLVMBuildInsertElement(g->b, sum, x, cg_i32(g, v), "");
    }
    return sum;
}

/* The weights of N sums of sixteen positions, packed as the operand of the product with values. */
static void weights(cg *g, const cg_rows *r, int n, val p[][16], val *out) {
    const et_layout *l = r->loop.fr->layout;
    for (int j = 0; j < r->loop.nrows; j++) {
        val each[ET_ATTEND_EACH];
        for (int b = 0; b < n; b++)
            for (int v = 0; v < r->loop.results; v++)
                if (et_attend_row_of(l, v) == j)
                    each[b * r->loop.columns + et_deal_value(&l->sum_n, v)] =
                        cg_to_storage(g, r->loop.operand, p[b][v]);
        val all = cg_vector(g, cg_storage(g, r->loop.operand), ET_ATTEND_EACH, each);
        out[j] = LLVMBuildBitCast(g->b, all, piece_type(g), "");
    }
}

/* Products of the block's keys and the wave's queries, N sums of sixteen positions. */
static void scores(cg *g, const cg_rows *r, val stage, val p0, int n, val s[][16]) {
    if (r->loop.warpgroup) {
        cg_attend_warpgroup_scores(g, r, stage, p0, first_of(g, r, cg_i32(g, 0), 0), n, s);
        return;
    }
    for (int b = 0; b < n; b++) {
        val first = first_of(g, r, cg_i32(g, 0), b), sum = cg_rows_sums(g, r), k[8];
        for (int u = 0; u * r->loop.unit < r->loop.s->depth; u++) {
            fragment(g, r, stage, cg_muli(g, first, r->loop.key), r->loop.key, cg_i32(g, u), k);
            sum = g->family->multiply(g, r->loop.fr, ET_ATTEND_EACH, k, r->q[u], sum);
        }
        for (int v = 0; v < r->loop.results; v++)
            s[b][v] = cg_extract(g, sum, v);
    }
}

/* One step of online softmax: scores S become weights; STATE gets the new maxima and sums, and its
 * sums of values are scaled to these. */
static void weigh(cg *g, const cg_rows *r, int n, val s[][16], val *state) {
    val *o = state + 2 * r->loop.nrows, old[ET_ATTEND_LANE_ROWS], shift[ET_ATTEND_LANE_ROWS];
    memcpy(old, state, (size_t)r->loop.nrows * sizeof *old);
    for (int b = 0; b < n; b++)
        for (int v = 0; v < r->loop.results; v++) {
            int j = cg_rows_row(r, v);
            state[j] = cg_fmax(g, state[j], s[b][v]);
        }
    for (int j = 0; j < r->loop.nrows; j++) {
        state[j] = cg_rows_over_columns(g, r, state[j], false);
        old[j] = cg_rows_power(g, r, old[j], state[j]);
        state[r->loop.nrows + j] = cg_fmul(g, state[r->loop.nrows + j], old[j]);
        shift[j] = LLVMBuildFNeg(g->b, cg_fmul(g, state[j], cg_f32(g, r->loop.factor)), "");
    }
    for (int b = 0; b < n; b++)
        for (int v = 0; v < r->loop.results; v++) {
            int j = cg_rows_row(r, v);
            s[b][v] = cg_exp2(g, cg_fma(g, s[b][v], cg_f32(g, r->loop.factor), shift[j]));
            state[r->loop.nrows + j] = cg_fadd(g, state[r->loop.nrows + j], s[b][v]);
        }
    for (int d = 0; d < r->loop.values / 16; d++)
        o[d] = cg_rows_scaled(g, r, o[d], old);
}

/* Products of the block's values and the weights of N sums, added to O. */
static void values(cg *g, const cg_rows *r, val stage, int n, val s[][16], val *o) {
    int blocks = r->loop.unit / 16;
    if (r->loop.warpgroup) {
        cg_attend_warpgroup_values(g, r, stage, first_of(g, r, cg_i32(g, 0), 0), n, s, o);
        return;
    }
    for (int u = 0; u < n / blocks; u++) {
        val p[ET_ATTEND_LANE_ROWS], v[8],
            unit = cg_addi(g, r->wave_p, (int64_t)u * r->loop.plan.waves);
        weights(g, r, blocks, s + u * blocks, p);
        for (int d = 0; d < r->loop.s->depth / 16; d++) {
            int64_t at = (int64_t)ET_ATTEND_BLOCK * r->loop.key + (int64_t)16 * d * r->loop.value;
            fragment(g, r, stage, cg_i32(g, at), r->loop.value, unit, v);
            o[d] = g->family->multiply(g, r->loop.fr, ET_ATTEND_EACH, v, p, o[d]);
        }
    }
}

/* STATE: of each row the largest score and the lane's sum of weights, then sums of values. */
void cg_rows_multiply(cg *g, const cg_rows *r, val stage, val p0, val *state) {
    int n = ET_ATTEND_BLOCK / 16 / parts_of(r);
    val s[MAX_SUMS][16];
    scores(g, r, stage, p0, n, s);
    for (int b = 0; b < n; b++)
        score(g, r, cg_add(g, p0, first_of(g, r, cg_i32(g, 0), b)), s[b]);
    hide(g, r, p0, n, s);
    weigh(g, r, n, s, state);
    values(g, r, stage, n, s, state + 2 * r->loop.nrows);
}
