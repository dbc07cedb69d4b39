/* ATTEND steps of several rows with warpgroup MMA (et_warpgroup_family): sixty-four rows
 * of queries, of one head or several, in registers, by keys and values of a block in LDS, which are
 * read once for all waves.
 *
 * Keys and values lie there alike, as they are in memory: those of 32 elements of all positions,
 * then of the next 32. Scores are, as they are dealt to lanes, what the products with values take
 * from registers. */
#include "codegen/step/attend/rows.h"
#include <string.h>

enum {
    PIECE = 16,
    ROW = ET_ATTEND_GROUP_ROW,
    PIECES = ROW / PIECE,
    COLUMNS = ROW / 2,
    WORDS = 4,
    EIGHT = 8
};
enum { PART = ET_ATTEND_BLOCK * ROW, MOST_SUMS = CG_ROWS_DEPTH16 * EIGHT };

/* Elements 2 * PAIR and the next of a query, a word. */
static val load_pair(cg *g, const cg_rows *r, val pair) {
    val v[2];
    int mark = cg_scope(g), u = cg_fresh_var(g, "u", r->loop.s->depth / 2);
    cg_bind(g, u, pair, true);
    cg_emit_n(g, r->loop.s->part[ET_AT_Q], r->loop.s->dvar,
              et_mul(g->x, et_var(g->x, u), et_int(g->x, 2)), 2, v);
    for (int i = 0; i < 2; i++)
        v[i] = cg_to_storage(g, r->loop.operand, v[i]);
    cg_scope_end(g, mark);
    return LLVMBuildBitCast(g->b, cg_vector(g, cg_storage(g, r->loop.operand), 2, v), g->i32, "");
}

void cg_attend_warpgroup_queries(cg *g, cg_rows *r) {
    for (int w = 0; w < WORDS; w++) {
        int first = et_deal_value(&r->loop.sums->sum_n, 2 * w);
        int mark = cg_scope(g);
        cg_rows_bind(g, r, cg_rows_row(r, 2 * w));
        for (int u = 0; u < r->loop.s->depth / 16; u++) {
            val at = cg_addi(g, r->column, (int64_t)16 * u + first);
            r->held[u][w] = load_pair(g, r, LLVMBuildLShr(g->b, at, cg_i32(g, 1), ""));
        }
        cg_scope_end(g, mark);
    }
}

/* ---- keys and values, copied to LDS ---- */

/* A work-item's copy number I: of which position and piece of its row, and where it goes. */
struct item {
    val position, piece, to;
};

static struct item item_of(cg *g, const cg_rows *r, int i) {
    int total = ET_ATTEND_BLOCK * r->loop.s->depth / ET_ATTEND_EACH;
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
static val piece_ptr(cg *g, const cg_rows *r, int part, val position, val piece) {
    et_node_x x = *et_x(g->x, r->loop.s->part[part]);
    int mark = cg_scope(g), u = cg_fresh_var(g, "u", r->loop.s->depth / ET_ATTEND_EACH);
    cg_bind(g, r->loop.s->ivar[0], r->run, false);
    position = cg_rows_at_most(g, position, cg_addi(g, r->end, -1));
    cg_bind(g, r->loop.s->pvar, cg_rows_at_least(g, position, cg_i32(g, 0)), true);
    cg_bind(g, u, piece, true);
    et_expr at = et_mul(g->x, et_var(g->x, u), et_int(g->x, ET_ATTEND_EACH));
    et_expr off = et_subst_var(g->x, cg_offset(g, x.i2, x.i, x.ops), r->loop.s->dvar, at);
    val ptr = cg_address(g, x.i2, x.i, off);
    cg_scope_end(g, mark);
    return ptr;
}

void cg_attend_warpgroup_copy(cg *g, const cg_rows *r, val p0, val stage) {
    cg_if any;
    cg_if_begin(g, &any, cg_icmp(g, LLVMIntSLT, p0, r->end));
    for (int part = 0; part < 2; part++)
        for (int i = 0; i < r->loop.nk; i++) {
            struct item it = item_of(g, r, i);
            int64_t of = part ? 2L * ET_ATTEND_BLOCK * r->loop.s->depth : 0;
            val to = cg_rows_stage(g, r, stage, cg_addi(g, it.to, of));
            val from =
                piece_ptr(g, r, part ? ET_AT_V : ET_AT_K, cg_add(g, p0, it.position), it.piece);
            g->family->copy(g, to, from, cg_i32(g, PIECE));
        }
    cg_if_end(g, &any);
    g->family->copy_group(g);
}

void cg_attend_warpgroup_copied(cg *g) {
    g->family->copied(g, 0);
    g->family->warpgroup->written(g);
}

/* ---- products ---- */

void cg_attend_warpgroup_scores(cg *g, const cg_rows *r, val stage, val p0, val first, int sixteens,
                                val s[][16]) {
    const et_warpgroup_family *of = g->family->warpgroup;
    val held[CG_ROWS_DEPTH16][WORDS];
    val sum[ET_ATTEND_BLOCK / 2], base = cg_rows_stage(g, r, stage, cg_muli(g, first, ROW));
    int per = COLUMNS / g->t->warpgroup->k;
    memcpy(held, r->held, sizeof held);
    of->anew(g, LLVMBuildSub(g->b, r->end, p0, ""), r->loop.s->depth / g->t->warpgroup->k * WORDS,
             held[0]);
    of->begin(g, 0, NULL, 0, NULL);
    for (int u = 0; u < r->loop.s->depth / g->t->warpgroup->k; u++) {
        val keys = cg_gepi(g, base, (int64_t)u / per * PART + u % per * (ROW / per));
        of->multiply_held(g, r->loop.operand, ROW, held[u], keys, 0, u == 0, 16 * sixteens, sum);
    }
    of->end(g);
    of->over(g, 0, EIGHT * sixteens, sum);
    for (int i = 0; i < EIGHT * sixteens; i++)
        s[i / EIGHT][i % EIGHT] = sum[i];
}

static void flat(cg *g, const cg_rows *r, const val *sum, val *out) {
    for (int i = 0; i < r->loop.values / 2; i++)
        out[i] = cg_extract(g, sum[i / EIGHT], i % EIGHT);
}

static void deep(cg *g, const cg_rows *r, val *in, val *sum) {
    for (int d = 0; d < r->loop.values / 16; d++)
        sum[d] = cg_vector(g, g->f32, EIGHT, in + (ptrdiff_t)d * EIGHT);
}

/* Two weights as one word. */
static val pair_of(cg *g, const cg_rows *r, const val *p) {
    val two[2] = {cg_to_storage(g, r->loop.operand, p[0]), cg_to_storage(g, r->loop.operand, p[1])};
    return LLVMBuildBitCast(g->b, cg_vector(g, cg_storage(g, r->loop.operand), 2, two), g->i32, "");
}

void cg_attend_warpgroup_values(cg *g, const cg_rows *r, val stage, val first, int sixteens,
                                val p[][16], val *sum) {
    const et_warpgroup_family *of = g->family->warpgroup;
    val all[MOST_SUMS], held[ET_ATTEND_BLOCK / 16][WORDS];
    val at = cg_addi(g, cg_muli(g, first, ROW), 2L * ET_ATTEND_BLOCK * r->loop.s->depth);
    if (r->loop.apart)
        at = cg_add(g, at, cg_muli(g, r->wave_p, (int64_t)r->loop.values / COLUMNS * PART));
    val base = cg_rows_stage(g, r, stage, at);
    for (int b = 0; b < sixteens; b++)
        for (int w = 0; w < WORDS; w++)
            held[b][w] = pair_of(g, r, p[b] + 2 * w);
    flat(g, r, sum, all);
    of->begin(g, r->loop.values / 2, all, sixteens * WORDS, held[0]);
    for (int b = 0; b < sixteens; b++)
        of->multiply_held(g, r->loop.operand, ROW, held[b], cg_gepi(g, base, 16L * b * ROW), PART,
                          false, r->loop.values, all);
    of->end(g);
    deep(g, r, all, sum);
}

void cg_attend_warpgroup_over(cg *g, const cg_rows *r, val *sum) {
    val all[MOST_SUMS];
    flat(g, r, sum, all);
    g->family->warpgroup->over(g, 0, r->loop.values / 2, all);
    deep(g, r, all, sum);
}
