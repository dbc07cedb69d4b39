/* ATTEND steps of several rows with warpgroup MMA (et_warpgroup_family): sixty-four rows
 * of queries, of one head or several, in registers, by keys and values of a block in LDS, which all
 * waves then read once and not each for itself.
 *
 * Keys and values lie there alike, as they are in memory: those of 32 elements of all positions,
 * then of the next 32. Scores are, as they are dealt to lanes, what the products with values take
 * from registers. */
#include "codegen/step/attend/rows.h"
#include <string.h>

enum { PIECE = 16, ROW = 64, PIECES = ROW / PIECE, COLUMNS = ROW / 2, WORDS = 4, EIGHT = 8 };
enum { PART = ET_ATTEND_BLOCK * ROW, MOST_SUMS = CG_ROWS_DEPTH16 * EIGHT };

bool cg_rows_may_group(cg *g, const et_func *f, const et_step *s, int fragments, int waves_p) {
    const et_warpgroup_shape *of = g->t->warpgroup;
    if (!of || !g->t->copies || fragments % of->waves ||
        fragments * waves_p * g->t->wave != g->p->workgroup)
        return false;
    return f->locals[s->scratch].offset % of->align == 0 &&
           et_attend_slot(s->depth) % of->align == 0 && PART % of->align == 0 &&
           2 * ET_ATTEND_BLOCK * s->depth * 2 <= et_attend_slot(s->depth);
}

/* Two elements from number 2 * PAIR on, a word. */
static val load_pair(cg *g, const et_rows *r, val pair) {
    val v[2];
    int mark = cg_scope(g), u = cg_fresh_var(g, "u", r->s->depth / 2);
    cg_bind(g, u, pair, true);
    cg_emit_n(g, r->s->part[ET_AT_Q], r->s->dvar, et_mul(g->x, et_var(g->x, u), et_int(g->x, 2)), 2,
              v);
    for (int i = 0; i < 2; i++)
        v[i] = cg_to_storage(g, r->operand, v[i]);
    cg_scope_end(g, mark);
    return LLVMBuildBitCast(g->b, cg_vector(g, cg_storage(g, r->operand), 2, v), g->i32, "");
}

void cg_rows_hold_queries(cg *g, et_rows *r) {
    for (int w = 0; w < WORDS; w++) {
        int first = et_deal_value(&r->sums->sum_n, 2 * w);
        int mark = cg_scope(g);
        cg_rows_bind(g, r, cg_rows_row(r, 2 * w));
        for (int u = 0; u < r->s->depth / 16; u++) {
            val at = cg_addi(g, r->column, (int64_t)16 * u + first);
            r->held[u][w] = load_pair(g, r, LLVMBuildLShr(g->b, at, cg_i32(g, 1), ""));
        }
        cg_scope_end(g, mark);
    }
}

/* ---- keys and values in flight ---- */

/* Which piece of a row, and position of the block, a work-item's load number I is, and where. */
struct item {
    val position, piece, to;
};

static struct item item_of(cg *g, const et_rows *r, int i) {
    int total = ET_ATTEND_BLOCK * r->s->depth / CG_ROWS_EACH;
    val n = cg_addi(g, g->tid, (int64_t)i * g->p->workgroup);
    if (total % g->p->workgroup) n = LLVMBuildURem(g->b, n, cg_i32(g, total), "");
    val q = LLVMBuildAnd(g->b, n, cg_i32(g, PIECES - 1), "");
    val row = LLVMBuildUDiv(g->b, n, cg_i32(g, PIECES), "");
    val part = LLVMBuildUDiv(g->b, row, cg_i32(g, ET_ATTEND_BLOCK), "");
    struct item it = {LLVMBuildURem(g->b, row, cg_i32(g, ET_ATTEND_BLOCK), ""),
                      cg_add(g, cg_muli(g, part, PIECES), q), NULL};
    val turn = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, row, cg_i32(g, 1), ""), cg_i32(g, 3), "");
    turn = cg_muli(g, LLVMBuildXor(g->b, q, turn, ""), PIECE);
    it.to = cg_add(g, cg_muli(g, row, ROW), turn);
    return it;
}

/* Where the piece of PART, keys or values, of a position is. */
static val piece_ptr(cg *g, const et_rows *r, int part, val position, val piece) {
    et_node_x x = *et_x(g->x, r->s->part[part]);
    int mark = cg_scope(g), u = cg_fresh_var(g, "u", r->s->depth / CG_ROWS_EACH);
    cg_bind(g, r->s->ivar[0], r->run, false);
    position = cg_rows_at_most(g, position, cg_addi(g, r->end, -1));
    cg_bind(g, r->s->pvar, cg_rows_at_least(g, position, cg_i32(g, 0)), true);
    cg_bind(g, u, piece, true);
    et_expr at = et_mul(g->x, et_var(g->x, u), et_int(g->x, CG_ROWS_EACH));
    et_expr off = et_subst_var(g->x, cg_offset(g, x.i2, x.i, x.ops), r->s->dvar, at);
    val ptr = cg_address(g, x.i2, x.i, off);
    cg_scope_end(g, mark);
    return ptr;
}

void cg_rows_group_copy(cg *g, const et_rows *r, val p0, val slot) {
    cg_if any;
    cg_if_begin(g, &any, cg_icmp(g, LLVMIntSLT, p0, r->end));
    for (int part = 0; part < 2; part++)
        for (int i = 0; i < r->nk; i++) {
            struct item it = item_of(g, r, i);
            int64_t of = part ? 2L * ET_ATTEND_BLOCK * r->s->depth : 0;
            val to = cg_rows_slot(g, r, slot, cg_addi(g, it.to, of));
            val from =
                piece_ptr(g, r, part ? ET_AT_V : ET_AT_K, cg_add(g, p0, it.position), it.piece);
            g->family->copy(g, to, from, cg_i32(g, PIECE));
        }
    cg_if_end(g, &any);
    g->family->copy_group(g);
}

void cg_rows_group_copied(cg *g) {
    g->family->copied(g, 0);
    g->family->warpgroup->written(g);
}

/* ---- products ---- */

void cg_rows_group_scores(cg *g, const et_rows *r, val slot, val p0, val first, int sixteens,
                          val s[][16]) {
    const et_warpgroup_family *of = g->family->warpgroup;
    val held[CG_ROWS_DEPTH16][WORDS];
    val sum[ET_ATTEND_BLOCK / 2], base = cg_rows_slot(g, r, slot, cg_muli(g, first, ROW));
    int per = COLUMNS / g->t->warpgroup->k;
    memcpy(held, r->held, sizeof held);
    of->anew(g, LLVMBuildSub(g->b, r->end, p0, ""), r->s->depth / g->t->warpgroup->k * WORDS,
             held[0]);
    of->begin(g, 0, NULL, 0, NULL);
    for (int u = 0; u < r->s->depth / g->t->warpgroup->k; u++) {
        val keys = cg_gepi(g, base, (int64_t)u / per * PART + u % per * (ROW / per));
        of->multiply_held(g, r->operand, ROW, held[u], keys, 0, u == 0, 16 * sixteens, sum);
    }
    of->end(g);
    of->over(g, 0, EIGHT * sixteens, sum);
    for (int i = 0; i < EIGHT * sixteens; i++)
        s[i / EIGHT][i % EIGHT] = sum[i];
}

static void flat(cg *g, const et_rows *r, const val *sum, val *out) {
    for (int i = 0; i < r->s->depth / 2; i++)
        out[i] = cg_extract(g, sum[i / EIGHT], i % EIGHT);
}

static void deep(cg *g, const et_rows *r, val *in, val *sum) {
    for (int d = 0; d < r->s->depth / 16; d++)
        sum[d] = cg_vector(g, g->f32, EIGHT, in + (ptrdiff_t)d * EIGHT);
}

/* Two weights as one word. */
static val pair_of(cg *g, const et_rows *r, const val *p) {
    val two[2] = {cg_to_storage(g, r->operand, p[0]), cg_to_storage(g, r->operand, p[1])};
    return LLVMBuildBitCast(g->b, cg_vector(g, cg_storage(g, r->operand), 2, two), g->i32, "");
}

void cg_rows_group_values(cg *g, const et_rows *r, val slot, val first, int sixteens, val p[][16],
                          val *sum) {
    const et_warpgroup_family *of = g->family->warpgroup;
    val all[MOST_SUMS], held[ET_ATTEND_BLOCK / 16][WORDS];
    val at = cg_addi(g, cg_muli(g, first, ROW), 2L * ET_ATTEND_BLOCK * r->s->depth);
    val base = cg_rows_slot(g, r, slot, at);
    for (int b = 0; b < sixteens; b++)
        for (int w = 0; w < WORDS; w++)
            held[b][w] = pair_of(g, r, p[b] + 2 * w);
    flat(g, r, sum, all);
    of->begin(g, r->s->depth / 2, all, sixteens * WORDS, held[0]);
    for (int b = 0; b < sixteens; b++)
        of->multiply_held(g, r->operand, ROW, held[b], cg_gepi(g, base, 16L * b * ROW), PART, false,
                          r->s->depth, all);
    of->end(g);
    deep(g, r, all, sum);
}

void cg_rows_group_over(cg *g, const et_rows *r, val *sum) {
    val all[MOST_SUMS];
    flat(g, r, sum, all);
    g->family->warpgroup->over(g, 0, r->s->depth / 2, all);
    deep(g, r, all, sum);
}
