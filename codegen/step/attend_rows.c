/* ATTEND steps of several rows of queries: matrix instructions make the scores and the sums.
 *
 * A wave has sixteen rows of one head, or, where there are more waves, part of the positions of
 * such. Rows one after another whose keys and values are the same are a run; one run after another,
 * the workgroup brings keys and values of ET_ATTEND_BLOCK positions at a time to LDS, those of the
 * next block while this one's are multiplied. A lane's scores of two or more blocks of sixteen
 * positions are, side by side, what it needs of an operand for the sums: so values lie in LDS with
 * positions side by side, in that order. */
#include "codegen/step/step.h"
#include "ir/base/diag.h"
#include "ir/program/step.h"
#include <math.h>
#include <string.h>

enum {
    PIECE = 16,       /* bytes of a load */
    EACH = 8,         /* elements in one */
    MAX_ITEMS = 8,    /* loads of a work-item for a block */
    MAX_ROWS = 2,     /* of sixteen in a lane */
    MAX_UNITS = 16,   /* of a head */
    MAX_DEPTH16 = 16, /* sixteens of a head */
    MAX_STATE = 2 * MAX_ROWS + MAX_DEPTH16,
    BLOCK = ET_ATTEND_BLOCK,
    MAX_SUMS = BLOCK / 16,
};

struct rows {
    const et_step *s;
    const et_fragment *fr;
    et_dtype operand;
    int groups, columns, nrows, results; /* of a lane: columns of a sum, its rows, both together */
    int unit;                            /* k of an operand of EACH a lane */
    int waves_p, fragments;              /* waves that share a sixteen of rows; these */
    int nk, nv;                          /* loads of a work-item */
    int key, value;                      /* bytes between rows in LDS */
    val piece, lane_m, lane_n, group;    /* of this lane; group: of k */
    val wave_p, head, row16, writes;     /* of this wave */
    val live;
    double factor; /* of a product, to its score in base 2 */
    et_expr score; /* over the product, or none where the factor is all there is to it */
    val row[MAX_ROWS], q[MAX_UNITS][MAX_ROWS];
    val from[MAX_ROWS], to[MAX_ROWS]; /* positions of a row, in this run */
    val run, end;                     /* its first row; the position after its last */
};

static const double least = -1e38;

/* Which of the lane's rows value V of a sum is of. */
static int row_of(const et_layout *l, int v) {
    for (int j = 0; j < et_deal_values(&l->m); j++)
        if (et_deal_value(&l->m, j) == et_deal_value(&l->sum_m, v)) return j;
    return -1;
}

/* Are a lane's columns of a sum the k's that it has of an operand? */
static bool chains(const et_target *t, const et_layout *l) {
    int groups = et_layout_groups(l), columns = 16 / groups;
    bool ok = columns * groups == 16 && columns >= 2 && EACH % columns == 0 &&
              et_deal_values(&l->m) <= MAX_ROWS && et_deal_values(&l->m) * columns == 256 / t->wave;
    for (int v = 0; ok && v < 256 / t->wave; v++)
        ok = row_of(l, v) >= 0 && et_deal_value(&l->sum_n, v) < columns;
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
    if (!fr || !chains(g->t, fr->layout) || EACH % fr->lane_k)
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

static val at_most(cg *g, val v, val most) {
    return cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){v, most});
}

static val at_least(cg *g, val v, val few) {
    return cg_call(g, "llvm.smax", 1, &g->i32, 2, (val[]){v, few});
}

static void begin(cg *g, struct rows *r) {
    const et_step *s = r->s;
    int waves = g->p->workgroup / g->t->wave, of_head = s->rows / 16;
    const et_layout *l;
    if (!et_attend_operand(g->p, s, &r->operand)) et_bug("%s: no type of operands", g->f->name);
    r->fr = et_target_fragment(g->t, r->operand);
    l = r->fr->layout;
    r->groups = et_layout_groups(l);
    r->columns = 16 / r->groups;
    r->nrows = et_deal_values(&l->m);
    r->results = 256 / g->t->wave;
    r->unit = EACH * r->groups;
    r->fragments = of_head * s->heads;
    r->waves_p = 1;
    while (2 * r->waves_p * r->fragments <= waves && 2 * r->waves_p * r->unit <= BLOCK)
        r->waves_p *= 2;
    r->value = 2 * BLOCK + 64;
    r->key = (et_attend_slot(s->depth) - s->depth * r->value) / BLOCK;
    r->nk = (BLOCK * s->depth / EACH + g->p->workgroup - 1) / g->p->workgroup;
    r->nv = (BLOCK / 2 * s->depth / EACH + g->p->workgroup - 1) / g->p->workgroup;
    et_check(r->nk + 2 * r->nv <= 2 * MAX_ITEMS);
    r->lane_m = dealt(g, &l->m);
    r->lane_n = dealt(g, &l->n);
    r->group = dealt(g, &l->k);
    val fragment = LLVMBuildUDiv(g->b, g->wave, cg_i32(g, r->waves_p), "");
    r->wave_p = LLVMBuildURem(g->b, g->wave, cg_i32(g, r->waves_p), "");
    val some = cg_icmp(g, LLVMIntSLT, fragment, cg_i32(g, r->fragments));
    r->writes = LLVMBuildAnd(g->b, some, cg_icmp(g, LLVMIntEQ, r->wave_p, cg_i32(g, 0)), "");
    fragment = at_most(g, fragment, cg_i32(g, r->fragments - 1));
    r->head = LLVMBuildUDiv(g->b, fragment, cg_i32(g, of_head), "");
    r->row16 = cg_muli(g, LLVMBuildURem(g->b, fragment, cg_i32(g, of_head), ""), 16);
    r->live = cg_uniform(g, cg_emit_i32(g, s->ilive));
    for (int j = 0; j < r->nrows; j++)
        r->row[j] = cg_addi(g, cg_add(g, r->row16, r->lane_m), et_deal_value(&l->m, j));
    r->score = cg_attend_score(g, s, &r->factor);
    if (r->score.id) r->factor = M_LOG2E;
}

static LLVMTypeRef piece_type(cg *g) {
    return LLVMVectorType(g->i32, PIECE / 4);
}

/* Elements of E from EACH times PIECE on, in the operands' type. */
static val load_piece(cg *g, const struct rows *r, et_expr e, val piece) {
    const et_step *s = r->s;
    val v[EACH];
    int mark = cg_scope(g), u = cg_fresh_var(g, "u", s->depth / EACH);
    cg_bind(g, u, piece, true);
    cg_emit_n(g, e, s->dvar, et_mul(g->x, et_var(g->x, u), et_int(g->x, EACH)), EACH, v);
    for (int i = 0; i < EACH; i++)
        v[i] = cg_to_storage(g, r->operand, v[i]);
    cg_scope_end(g, mark);
    val all = cg_vector(g, cg_storage(g, r->operand), EACH, v);
    return LLVMBuildBitCast(g->b, all, piece_type(g), "");
}

/* The lane's row number J, or the last one that lives. */
static void bind_row(cg *g, const struct rows *r, int j) {
    cg_bind(g, r->s->hvar, r->head, false);
    cg_bind(g, r->s->ivar[0], at_most(g, r->row[j], cg_addi(g, r->live, -1)), true);
}

static void load_queries(cg *g, struct rows *r) {
    for (int j = 0; j < r->nrows; j++) {
        int mark = cg_scope(g);
        bind_row(g, r, j);
        for (int u = 0; u * r->unit < r->s->depth; u++)
            r->q[u][j] =
                load_piece(g, r, r->s->part[ET_AT_Q], cg_addi(g, r->group, (int64_t)u * r->groups));
        cg_scope_end(g, mark);
    }
}

/* ---- keys and values on their way ---- */

/* Work-item's load number I of TOTAL; those that have none do one twice. */
static val item_of(cg *g, int i, int total) {
    val item = cg_addi(g, g->tid, (int64_t)i * g->p->workgroup);
    return total % g->p->workgroup ? LLVMBuildURem(g->b, item, cg_i32(g, total), "") : item;
}

static val load_at(cg *g, const struct rows *r, int part, val position, val piece) {
    int mark = cg_scope(g);
    cg_bind(g, r->s->ivar[0], r->run, false);
    position = at_most(g, position, cg_addi(g, r->end, -1));
    cg_bind(g, r->s->pvar, at_least(g, position, cg_i32(g, 0)), true);
    val v = load_piece(g, r, r->s->part[part], piece);
    cg_scope_end(g, mark);
    return v;
}

/* The block from position P0 on: keys, then values of two positions each. */
static void load_block(cg *g, const struct rows *r, val p0, val *out) {
    int pieces = r->s->depth / EACH;
    for (int i = 0; i < r->nk; i++) {
        val item = item_of(g, i, BLOCK * pieces), of = cg_i32(g, pieces);
        val p = cg_add(g, p0, LLVMBuildUDiv(g->b, item, of, ""));
        *out++ = load_at(g, r, ET_AT_K, p, LLVMBuildURem(g->b, item, of, ""));
    }
    for (int i = 0; i < r->nv; i++) {
        val item = item_of(g, i, BLOCK / 2 * pieces), of = cg_i32(g, BLOCK / 2);
        val piece = LLVMBuildUDiv(g->b, item, of, "");
        val p = cg_add(g, p0, cg_muli(g, LLVMBuildURem(g->b, item, of, ""), 2));
        for (int k = 0; k < 2; k++)
            *out++ = load_at(g, r, ET_AT_V, cg_addi(g, p, k), piece);
    }
}

static val scratch_at(cg *g, const struct rows *r, val bytes) {
    return cg_gep(g, cg_gepi(g, g->lds, g->f->locals[r->s->scratch].offset), bytes);
}

static val slot_at(cg *g, const struct rows *r, val slot, val bytes) {
    return scratch_at(g, r, cg_add(g, cg_muli(g, slot, et_attend_slot(r->s->depth)), bytes));
}

/* Where in a row of values the position P of a block is, in elements. */
static val place_of(cg *g, const struct rows *r, val p) {
    val unit = cg_i32(g, r->unit), sixteen = cg_i32(g, 16), columns = cg_i32(g, r->columns);
    val in = LLVMBuildURem(g->b, p, unit, ""), first = LLVMBuildSub(g->b, p, in, "");
    val sixth = LLVMBuildUDiv(g->b, in, sixteen, ""), of = LLVMBuildURem(g->b, in, sixteen, "");
    val group = LLVMBuildUDiv(g->b, of, columns, ""), j = LLVMBuildURem(g->b, of, columns, "");
    val at = cg_add(g, cg_muli(g, group, EACH), cg_muli(g, sixth, r->columns));
    return cg_add(g, first, cg_add(g, at, j));
}

/* The elements of two positions side by side, a word for each element of the piece. */
static void store_pairs(cg *g, const struct rows *r, val slot, val item, const val two[2]) {
    LLVMTypeRef of = LLVMVectorType(g->i16, EACH);
    val a = LLVMBuildBitCast(g->b, two[0], of, ""), b = LLVMBuildBitCast(g->b, two[1], of, "");
    val pair = LLVMBuildURem(g->b, item, cg_i32(g, BLOCK / 2), "");
    val piece = LLVMBuildUDiv(g->b, item, cg_i32(g, BLOCK / 2), "");
    val at = cg_muli(g, place_of(g, r, cg_muli(g, pair, 2)), 2);
    at = cg_addi(g, at, (int64_t)BLOCK * r->key);
    at = cg_add(g, at, cg_muli(g, piece, (int64_t)EACH * r->value));
    val to = slot_at(g, r, slot, at);
    for (int i = 0; i < EACH; i++) {
        val word = cg_vector(g, g->i16, 2, (val[]){cg_extract(g, a, i), cg_extract(g, b, i)});
        val store = LLVMBuildStore(g->b, word, cg_gepi(g, to, (int64_t)i * r->value));
        LLVMSetAlignment(store, 4);
    }
}

static void store_block(cg *g, const struct rows *r, val slot, const val *in) {
    int pieces = r->s->depth / EACH;
    for (int i = 0; i < r->nk; i++) {
        val item = item_of(g, i, BLOCK * pieces), of = cg_i32(g, pieces);
        val at = cg_muli(g, LLVMBuildUDiv(g->b, item, of, ""), r->key);
        at = cg_add(g, at, cg_muli(g, LLVMBuildURem(g->b, item, of, ""), PIECE));
        LLVMSetAlignment(LLVMBuildStore(g->b, *in++, slot_at(g, r, slot, at)), PIECE);
    }
    for (int i = 0; i < r->nv; i++, in += 2)
        store_pairs(g, r, slot, item_of(g, i, BLOCK / 2 * pieces), in);
}

/* ---- products ---- */

/* The lane's part of unit U of sixteen rows, PITCH bytes apart, the first of them at AT. */
static void fragment(cg *g, const struct rows *r, val slot, val at, int pitch, val u, val *out) {
    const et_deal *n = &r->fr->layout->n;
    val k = cg_muli(g, cg_add(g, cg_muli(g, u, r->groups), r->group), PIECE);
    for (int i = 0; i < et_deal_values(n); i++) {
        val row = cg_addi(g, r->lane_n, et_deal_value(n, i));
        val byte = cg_add(g, at, cg_add(g, k, cg_muli(g, row, pitch)));
        out[i] = LLVMBuildLoad2(g->b, piece_type(g), slot_at(g, r, slot, byte), "");
        LLVMSetAlignment(out[i], PIECE);
    }
}

static val sums(cg *g, const struct rows *r) {
    return LLVMConstNull(LLVMVectorType(g->f32, (unsigned)r->results));
}

/* The scores in base 2 of the sum for positions from P0 on, those that do not count the least. */
static void score(cg *g, const struct rows *r, val p0, val product, val *out, val *out_counts) {
    const et_layout *l = r->fr->layout;
    for (int v = 0; v < r->results; v++) {
        int j = row_of(l, v), mark = cg_scope(g);
        val s = cg_extract(g, product, v);
        val p = cg_addi(g, cg_add(g, p0, cg_muli(g, r->group, r->columns)),
                        et_deal_value(&l->sum_n, v));
        out_counts[v] = LLVMBuildAnd(g->b, cg_icmp(g, LLVMIntSGE, p, r->from[j]),
                                     cg_icmp(g, LLVMIntSLT, p, r->to[j]), "");
        if (r->score.id) {
            bind_row(g, r, j);
            cg_bind(g, r->s->pvar, at_most(g, p, cg_addi(g, r->end, -1)), true);
            cg_remember(g, et_arg(g->x, ET_ARG_QK, ET_T_F32), s);
            s = cg_emit_f32(g, r->score);
        }
        s = cg_fmul(g, s, cg_f32(g, r->factor));
        out[v] = cg_select(g, out_counts[v], s, cg_f32(g, least));
        cg_scope_end(g, mark);
    }
}

static val minus(cg *g, val x, val y) {
    return LLVMBuildFSub(g->b, x, y, "");
}

/* Over the lanes that have other columns of the same rows. */
static val over_columns(cg *g, const struct rows *r, val v, bool add) {
    for (int m = 1; m < g->t->wave; m *= 2) {
        if (!et_deal_lane(&r->fr->layout->k, m)) continue;
        val other = cg_shuffle_xor(g, v, m);
        v = add ? cg_fadd(g, v, other) : cg_fmax(g, v, other);
    }
    return v;
}

static val scaled(cg *g, const struct rows *r, val sum, const val *by) {
    for (int v = 0; v < r->results; v++) {
        val x = cg_fmul(g, cg_extract(g, sum, v), by[row_of(r->fr->layout, v)]);
        sum = LLVMBuildInsertElement(g->b, sum, x, cg_i32(g, v), "");
    }
    return sum;
}

/* The weights of blocks B to B + n - 1, as the operand for unit of these positions. */
static void weights(cg *g, const struct rows *r, int n, val p[][16], val *out) {
    const et_layout *l = r->fr->layout;
    for (int j = 0; j < r->nrows; j++) {
        val each[EACH];
        for (int b = 0; b < n; b++)
            for (int v = 0; v < r->results; v++)
                if (row_of(l, v) == j)
                    each[b * r->columns + et_deal_value(&l->sum_n, v)] =
                        cg_to_storage(g, r->operand, p[b][v]);
        val all = cg_vector(g, cg_storage(g, r->operand), EACH, each);
        out[j] = LLVMBuildBitCast(g->b, all, piece_type(g), "");
    }
}

/* STATE: of each row the largest score and the lane's sum of weights, then sums of values. */
static void multiply(cg *g, const struct rows *r, val slot, val p0, val *state) {
    int units = BLOCK / r->unit / r->waves_p, blocks = r->unit / 16, n = units * blocks;
    int deep = r->s->depth / 16;
    val s[MAX_SUMS][16], counts[MAX_SUMS][16], *o = state + 2 * r->nrows, old[MAX_ROWS];
    for (int b = 0; b < n; b++) {
        val unit = cg_addi(g, r->wave_p, (int64_t)(b / blocks) * r->waves_p);
        val first = cg_addi(g, cg_muli(g, unit, r->unit), (int64_t)(b % blocks) * 16);
        val sum = sums(g, r), k[8];
        for (int u = 0; u * r->unit < r->s->depth; u++) {
            fragment(g, r, slot, cg_muli(g, first, r->key), r->key, cg_i32(g, u), k);
            sum = g->family->multiply(g, r->fr, EACH, k, r->q[u], sum);
        }
        score(g, r, cg_add(g, p0, first), sum, s[b], counts[b]);
    }
    memcpy(old, state, (size_t)r->nrows * sizeof *old);
    for (int b = 0; b < n; b++)
        for (int v = 0; v < r->results; v++) {
            int j = row_of(r->fr->layout, v);
            state[j] = cg_fmax(g, state[j], s[b][v]);
        }
    for (int j = 0; j < r->nrows; j++) {
        state[j] = over_columns(g, r, state[j], false);
        old[j] = cg_exp2(g, minus(g, old[j], state[j]));
        state[r->nrows + j] = cg_fmul(g, state[r->nrows + j], old[j]);
    }
    for (int b = 0; b < n; b++)
        for (int v = 0; v < r->results; v++) {
            int j = row_of(r->fr->layout, v);
            val p = cg_exp2(g, minus(g, s[b][v], state[j]));
            s[b][v] = cg_select(g, counts[b][v], p, cg_f32(g, 0));
            state[r->nrows + j] = cg_fadd(g, state[r->nrows + j], s[b][v]);
        }
    for (int d = 0; d < deep; d++)
        o[d] = scaled(g, r, o[d], old);
    for (int u = 0; u < units; u++) {
        val p[MAX_ROWS], v[8], unit = cg_addi(g, r->wave_p, (int64_t)u * r->waves_p);
        weights(g, r, blocks, s + u * blocks, p);
        for (int d = 0; d < deep; d++) {
            int64_t at = (int64_t)BLOCK * r->key + (int64_t)16 * d * r->value;
            fragment(g, r, slot, cg_i32(g, at), r->value, unit, v);
            o[d] = g->family->multiply(g, r->fr, EACH, v, p, o[d]);
        }
    }
}

/* ---- a run ---- */

/* The rows from r->run on whose keys are its: the first that is not. */
static val run_end(cg *g, const struct rows *r) {
    et_expr key[ET_ATTEND_KEYS];
    int n = et_attend_keys(g->x, r->s, ET_ATTEND_KEYS, key);
    val mine[ET_ATTEND_KEYS], differs = LLVMConstInt(g->i1, 0, false);
    if (n <= 0) return r->live;
    for (int own = 0; own < 2; own++) {
        int mark = cg_scope(g);
        val row = own ? at_most(g, g->lane, cg_addi(g, r->live, -1)) : r->run;
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
        v = most ? at_least(g, v, other) : at_most(g, v, other);
    }
    return cg_uniform(g, v);
}

/* Positions of rows r->run to END - 1: of each of the lane's, and the first of them all. */
static val positions(cg *g, struct rows *r, val end) {
    const et_step *s = r->s;
    int mark = cg_scope(g);
    val row = at_most(g, at_least(g, g->lane, r->run), cg_addi(g, end, -1));
    cg_bind(g, s->ivar[0], row, true);
    val first = over_lanes(g, cg_emit_i32(g, s->part[ET_AT_FIRST]), false);
    r->end = over_lanes(g, cg_emit_i32(g, s->part[ET_AT_END]), true);
    cg_scope_end(g, mark);
    for (int j = 0; j < r->nrows; j++) {
        mark = cg_scope(g);
        bind_row(g, r, j);
        val in = LLVMBuildAnd(g->b, cg_icmp(g, LLVMIntSGE, r->row[j], r->run),
                              cg_icmp(g, LLVMIntSLT, r->row[j], end), "");
        r->from[j] = cg_emit_i32(g, s->part[ET_AT_FIRST]);
        r->to[j] = cg_select(g, in, cg_emit_i32(g, s->part[ET_AT_END]), cg_i32(g, 0));
        cg_scope_end(g, mark);
    }
    return first;
}

static int state_size(const struct rows *r) {
    return 2 * r->nrows + r->s->depth / 16;
}

static void scan(cg *g, const struct rows *r, val first, val *state) {
    int n = state_size(r);
    val carried[MAX_STATE + 2 * MAX_ITEMS + 1], next[2 * MAX_ITEMS];
    memcpy(carried, state, (size_t)n * sizeof *state);
    load_block(g, r, first, next);
    store_block(g, r, cg_i32(g, 0), next);
    carried[n] = cg_i32(g, 0);
    cg_for f;
    val p0 = cg_for_begin(g, &f, first, r->end, cg_i32(g, BLOCK), false, n + 1, carried);
    val slot = carried[n], other = LLVMBuildXor(g->b, slot, cg_i32(g, 1), "");
    cg_barrier(g); /* the block is there, and the one before it has been multiplied */
    int mark = cg_scope(g);
    load_block(g, r, cg_addi(g, p0, BLOCK), next);
    multiply(g, r, slot, p0, carried);
    store_block(g, r, other, next);
    cg_scope_end(g, mark);
    carried[n] = other;
    cg_for_end(g, &f, carried);
    memcpy(state, carried, (size_t)n * sizeof *state);
}

/* The lane's numbers of the state, one after the other, into or out of the wave's part of scratch.
 */
static val number_ptr(cg *g, const struct rows *r, val wave, int i) {
    int all = 2 * r->nrows + r->s->depth / 16 * r->results;
    val at = cg_muli(g, cg_add(g, cg_muli(g, wave, (int64_t)all * g->t->wave), g->lane), 4);
    return cg_gepi(g, scratch_at(g, r, at), (int64_t)i * g->t->wave * 4);
}

static void leave(cg *g, const struct rows *r, const val *state) {
    for (int i = 0; i < 2 * r->nrows; i++)
        LLVMBuildStore(g->b, state[i], number_ptr(g, r, g->wave, i));
    for (int d = 0; d < r->s->depth / 16; d++)
        for (int v = 0; v < r->results; v++)
            LLVMBuildStore(g->b, cg_extract(g, state[2 * r->nrows + d], v),
                           number_ptr(g, r, g->wave, 2 * r->nrows + d * r->results + v));
}

static val left_by(cg *g, const struct rows *r, val wave, int i) {
    return LLVMBuildLoad2(g->b, g->f32, number_ptr(g, r, wave, i), "");
}

/* What the wave W of those that share the rows has left joins the state. */
static void join(cg *g, const struct rows *r, int w, val *state) {
    val wave = cg_addi(g, g->wave, w), mine[MAX_ROWS], theirs[MAX_ROWS];
    for (int j = 0; j < r->nrows; j++) {
        val top = left_by(g, r, wave, j), most = cg_fmax(g, state[j], top);
        mine[j] = cg_exp2(g, minus(g, state[j], most));
        theirs[j] = cg_exp2(g, minus(g, top, most));
        state[j] = most;
        val sum = cg_fmul(g, left_by(g, r, wave, r->nrows + j), theirs[j]);
        state[r->nrows + j] = cg_fma(g, state[r->nrows + j], mine[j], sum);
    }
    for (int d = 0; d < r->s->depth / 16; d++) {
        val *o = &state[2 * r->nrows + d];
        *o = scaled(g, r, *o, mine);
        for (int v = 0; v < r->results; v++) {
            val x = left_by(g, r, wave, 2 * r->nrows + d * r->results + v);
            x = cg_fma(g, x, theirs[row_of(r->fr->layout, v)], cg_extract(g, *o, v));
            *o = LLVMBuildInsertElement(g->b, *o, x, cg_i32(g, v), "");
        }
    }
}

/* The term that is no position's, and what all is to be multiplied by. */
static void finish(cg *g, const struct rows *r, val *state) {
    val by[MAX_ROWS];
    for (int j = 0; j < r->nrows; j++) {
        val sum = state[r->nrows + j], scale = cg_f32(g, 1);
        if (r->s->part[ET_AT_EXTRA].id) {
            int mark = cg_scope(g);
            bind_row(g, r, j);
            val extra = cg_fmul(g, cg_emit_f32(g, r->s->part[ET_AT_EXTRA]), cg_f32(g, M_LOG2E));
            val top = cg_fmax(g, state[j], extra);
            scale = cg_exp2(g, minus(g, state[j], top));
            sum = cg_fma(g, sum, scale, cg_exp2(g, minus(g, extra, top)));
            cg_scope_end(g, mark);
        }
        val none = LLVMBuildFCmp(g->b, LLVMRealOEQ, sum, cg_f32(g, 0), "");
        by[j] = cg_select(g, none, cg_f32(g, 0), g->family->divide(g, scale, sum));
    }
    for (int d = 0; d < r->s->depth / 16; d++)
        state[2 * r->nrows + d] = scaled(g, r, state[2 * r->nrows + d], by);
}

/* Rows of the run, up to END. */
static void write(cg *g, const struct rows *r, val end, const val *state) {
    const et_layout *l = r->fr->layout;
    for (int j = 0; j < r->nrows; j++) {
        cg_if in;
        cg_if_begin(g, &in,
                    LLVMBuildAnd(g->b, cg_icmp(g, LLVMIntSGE, r->row[j], r->run),
                                 cg_icmp(g, LLVMIntSLT, r->row[j], end), ""));
        val at = cg_add(g, cg_muli(g, r->row[j], r->s->heads), r->head);
        at = cg_add(g, cg_muli(g, at, r->s->depth), cg_muli(g, r->group, r->columns));
        for (int d = 0; d < r->s->depth / 16; d++) {
            val each[16];
            for (int v = 0; v < r->results; v++)
                if (row_of(l, v) == j)
                    each[et_deal_value(&l->sum_n, v)] = cg_extract(g, state[2 * r->nrows + d], v);
            val all = cg_vector(g, g->f32, r->columns, each);
            val to = cg_local_ptr(g, r->s->out, cg_addi(g, at, (int64_t)16 * d));
            LLVMSetAlignment(LLVMBuildStore(g->b, all, to), 4 * (unsigned)r->columns);
        }
        cg_if_end(g, &in);
    }
}

static void one_run(cg *g, struct rows *r, val end) {
    val state[MAX_STATE], first = positions(g, r, end);
    for (int j = 0; j < r->nrows; j++)
        state[j] = cg_f32(g, least), state[r->nrows + j] = cg_f32(g, 0);
    for (int d = 0; d < r->s->depth / 16; d++)
        state[2 * r->nrows + d] = sums(g, r);
    scan(g, r, first, state);
    for (int j = 0; j < r->nrows; j++)
        state[r->nrows + j] = over_columns(g, r, state[r->nrows + j], true);
    cg_barrier(g); /* all blocks have been multiplied */
    if (r->waves_p > 1) {
        leave(g, r, state);
        cg_barrier(g);
    }
    cg_if writes;
    cg_if_begin(g, &writes, r->writes);
    for (int w = 1; w < r->waves_p; w++)
        join(g, r, w, state);
    finish(g, r, state);
    write(g, r, end, state);
    cg_if_end(g, &writes);
    if (r->waves_p > 1) cg_barrier(g);
}

void cg_attend_rows(cg *g, const et_step *s) {
    struct rows *r = et_alloc(g->arena, sizeof *r);
    r->s = s;
    begin(g, r);
    load_queries(g, r);
    block before = cg_here(g), head = cg_block(g, "run"), done = cg_block(g, "runs");
    cg_br(g, head);
    cg_at(g, head);
    r->run = LLVMBuildPhi(g->b, g->i32, "");
    int mark = cg_scope(g);
    val end = run_end(g, r);
    one_run(g, r, end);
    cg_scope_end(g, mark);
    LLVMAddIncoming(r->run, (val[]){cg_i32(g, 0), end}, (block[]){before, cg_here(g)}, 2);
    cg_cond(g, cg_icmp(g, LLVMIntSLT, end, r->live), head, done);
    cg_at(g, done);
}
