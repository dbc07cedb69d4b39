/* Attention of one row of queries by matrix instructions that multiply 16 rows by 8 columns (the
 * family's multiply8): up to eight heads that share keys and values are done at once. Of several
 * rows as many have columns side by side as there are eight for, and a wave has one or two such
 * groups at once; each column has the positions of its row, and its sums are those of that row
 * alone.
 *
 * A wave takes sixteen positions at a time. Of an instruction's fragments lane l has row l / 4 of
 * the left operand, column l / 4 of the right one, and of the sums rows l / 4 and l / 4 + 8,
 * columns l % 4 * 2 and the next. The order of k does not matter as long as both operands
 * agree, so a lane's eight elements in a row, one load, are its k's of two instructions.
 *
 *   scores:  queries by keys. Rows are heads, columns positions, k elements. A query is the sum of
 *            two numbers of the keys' type; the second ones are rows 8 to 15, so that sums are as
 *            good as with queries of f32.
 *   values:  values by weights. Rows are elements, columns heads, k positions: two each of a lane's
 *            four. Weights are sums of two numbers as well, by an instruction each.
 *
 * The lanes that have a head's scores have its maximum, and the weights as the next instruction
 * takes them; only how much sums shrink goes from lane to lane. */
#include "codegen/step/attend/attend.h"
#include "codegen/step/attend/rows.h"
#include <string.h>

enum {
    POSITIONS = ET_ATTEND_COLUMNS_P,
    ROWS = 4,  /* of values, in a lane: two positions next to each other, and two more */
    TILES = 2, /* of eight columns of scores */
    WORDS = 4, /* of eight elements */
    KEYS = 32, /* elements of a key that four lanes load at a time */
    VALUES = ET_ATTEND_COLUMNS_D, /* and of values, eight */
    MOST_DEPTH = ET_ATTEND_COLUMNS_MOST_D,
    MOST_CHUNKS = 16, /* that a lane loads of all these */
    MOST_GROUPS = 2,  /* of rows */
};

/* A lane's place among the heads, and its part of the queries. */
struct heads {
    const cg_attend *a;
    et_dtype type;
    int depth, nkeys, nvalues; /* chunks of a key, and of values, in a lane */
    val column, quad;          /* lane / 4, lane % 4 */
    val head;                  /* of this column, at most the last that there is */
    val q[MOST_DEPTH / KEYS][WORDS], rest[MOST_DEPTH / KEYS][WORDS];
    /* Of several rows: that of the first column, and those of a run; of this column its row, which
     * is one that there is, whether that is of the run, and its positions. */
    val row0, run, after, row, in, from, to;
};

/* Of one head's scores, and of two heads' sums. */
struct state {
    val top, sum;
    val out[MOST_DEPTH / 16][4];
};

enum { STATE = sizeof(struct state) / sizeof(val) };

/* ---- numbers of 16 bits, two to a word ---- */

static val packed(cg *g, et_dtype t, val a, val b) {
    LLVMTypeRef two = LLVMVectorType(g->f32, 2);
    val v = LLVMBuildInsertElement(g->b, LLVMGetPoison(two), a, cg_i32(g, 0), "");
    v = LLVMBuildInsertElement(g->b, v, b, cg_i32(g, 1), "");
    if (t == ET_F16) v = cg_before_f16(g, v);
    v = LLVMBuildFPTrunc(g->b, v, LLVMVectorType(cg_storage(g, t), 2), "");
    return LLVMBuildBitCast(g->b, v, g->i32, "");
}

/* A and B rounded to the type, and the remainders. */
static void split(cg *g, et_dtype t, val a, val b, val *out, val *out_rest) {
    val is[2];
    *out = packed(g, t, a, b);
    cg_loaded_words(g, t, *out, 2, is);
    *out_rest = packed(g, t, LLVMBuildFSub(g->b, a, is[0], ""), LLVMBuildFSub(g->b, b, is[1], ""));
}

/* One word of the lower halves of A and B, one of the upper ones. */
static void transpose(cg *g, val a, val b, val *out_low, val *out_high) {
    val half = cg_i32(g, 16), low = LLVMBuildAnd(g->b, a, cg_i32(g, 0xffff), "");
    val high = LLVMBuildAnd(g->b, b, cg_i32(g, 0xffff0000), "");
    *out_low = LLVMBuildOr(g->b, low, LLVMBuildShl(g->b, b, half, ""), "");
    *out_high = LLVMBuildOr(g->b, high, LLVMBuildLShr(g->b, a, half, ""), "");
}

static val word(cg *g, val v, int i) {
    return cg_extract(g, v, i);
}

/* ---- columns ---- */

/* The row of COLUMN, of several; is it one of the run, and of a head? */
static val row_of(cg *g, const struct heads *h, val column) {
    return cg_add(g, h->row0, LLVMBuildUDiv(g->b, column, cg_i32(g, h->a->heads), ""));
}

static val is_there(cg *g, const struct heads *h, val column) {
    if (!h->row0) return cg_icmp(g, LLVMIntSLT, column, cg_i32(g, h->a->heads));
    int columns = h->a->heads * h->a->loop.beside;
    val row = row_of(g, h, column), is = cg_icmp(g, LLVMIntSLT, column, cg_i32(g, columns));
    is = LLVMBuildAnd(g->b, is, cg_icmp(g, LLVMIntSGE, row, h->run), "");
    return LLVMBuildAnd(g->b, is, cg_icmp(g, LLVMIntSLT, row, h->after), "");
}

/* Where the sums of COLUMN are among those that a wave leaves. */
static val place_of(cg *g, const struct heads *h, val column) {
    if (!h->row0 || h->a->alone) return cg_addi(g, column, h->a->head0);
    return cg_add(g, column, cg_muli(g, h->row0, h->a->heads));
}

/* ---- queries ---- */

static void load_query(cg *g, struct heads *h, int u) {
    const cg_attend *a = h->a;
    const et_step *s = a->loop.s;
    val q[ET_ATTEND_EACH];
    int mark = cg_scope(g), var = cg_fresh_var(g, "u", KEYS / ET_ATTEND_EACH);
    cg_bind(g, var, h->quad, true);
    cg_bind(g, s->hvar, h->head, true);
    if (h->row0) cg_bind(g, s->ivar[0], h->row, true);
    et_expr first = et_mul(g->x, et_var(g->x, var), et_int(g->x, ET_ATTEND_EACH));
    first = et_add(g->x, first, et_int(g->x, (int64_t)u * KEYS));
    cg_emit_n(g, s->part[ET_AT_Q], s->dvar, first, ET_ATTEND_EACH, q);
    val is = is_there(g, h, h->column);
    for (int j = 0; j < ET_ATTEND_EACH; j++) {
        q[j] = cg_to_f32(g, q[j]);
        if (a->loop.factor != 1) q[j] = cg_fmul(g, q[j], cg_f32(g, a->loop.factor));
        if (h->row0 || a->heads < ET_ATTEND_HEADS) q[j] = cg_select(g, is, q[j], cg_f32(g, 0));
    }
    for (int w = 0; w < WORDS; w++)
        split(g, h->type, q[2 * w], q[2 * w + 1], &h->q[u][w], &h->rest[u][w]);
    cg_scope_end(g, mark);
}

static struct heads place(cg *g, const cg_attend *a) {
    et_expr k = a->loop.s->part[ET_AT_K];
    struct heads h = {.a = a,
                      .type = g->p->tensors[et_x(g->x, k)->i].shape.dtype,
                      .depth = a->loop.s->depth,
                      .nkeys = TILES * a->loop.s->depth / KEYS,
                      .nvalues = ROWS * a->loop.s->depth / VALUES};
    h.column = LLVMBuildLShr(g->b, g->lane, cg_i32(g, 2), "");
    h.quad = LLVMBuildAnd(g->b, g->lane, cg_i32(g, 3), "");
    return h;
}

static struct heads begin(cg *g, const cg_attend *a) {
    struct heads h = place(g, a);
    val last[] = {h.column, cg_i32(g, a->heads - 1)};
    h.head = cg_addi(g, cg_call(g, "llvm.umin", 1, &g->i32, 2, last), a->head0);
    for (int u = 0; u < h.depth / KEYS; u++)
        load_query(g, &h, u);
    return h;
}

/* Columns of rows from ROW0 on, of the run from RUN to AFTER, of LIVE that there are. */
static struct heads begin_rows(cg *g, const cg_attend *a, val row0, val run, val after, val live) {
    struct heads h = place(g, a);
    const et_step *s = a->loop.s;
    val none = cg_i32(g, 0);
    h.row0 = row0, h.run = run, h.after = after;
    h.head = LLVMBuildURem(g->b, h.column, cg_i32(g, a->heads), "");
    h.row = cg_rows_at_most(g, row_of(g, &h, h.column), cg_addi(g, live, -1));
    h.in = is_there(g, &h, h.column);
    int mark = cg_scope(g);
    cg_bind(g, s->ivar[0], h.row, true);
    h.from = cg_emit_i32(g, s->part[ET_AT_FIRST]);
    h.to = cg_select(g, h.in, cg_emit_i32(g, s->part[ET_AT_END]), none);
    cg_scope_end(g, mark);
    for (int u = 0; u < h.depth / KEYS; u++)
        load_query(g, &h, u);
    return h;
}

/* ---- keys and values ---- */

/* AT0 + P, at most the last position. */
static val clamped(cg *g, const cg_attend *a, val at0, val p) {
    val args[] = {cg_add(g, at0, p), cg_addi(g, a->end, -1)};
    return cg_call(g, "llvm.smin", 1, &g->i32, 2, args);
}

static void load_keys(cg *g, const struct heads *h, val at0, val *out) {
    const et_step *s = h->a->loop.s;
    for (int tile = 0; tile < TILES; tile++) {
        int mark = cg_scope(g);
        if (h->row0) cg_bind(g, s->ivar[0], h->run, false);
        cg_bind(g, s->pvar, clamped(g, h->a, at0, cg_addi(g, h->column, 8 * tile)), true);
        for (int u = 0; u < h->depth / KEYS; u++)
            *out++ = cg_attend_words(g, h->a, s->part[ET_AT_K], ET_ATTEND_EACH, h->quad,
                                     KEYS / ET_ATTEND_EACH, u * KEYS);
        cg_scope_end(g, mark);
    }
}

/* Number I of a lane's positions, from the first of sixteen on. */
static val own_position(cg *g, const struct heads *h, int i) {
    return cg_addi(g, cg_muli(g, h->quad, 2), i / 2 * 8 + i % 2);
}

static void load_values(cg *g, const struct heads *h, val at0, val *out) {
    const et_step *s = h->a->loop.s;
    for (int r = 0; r < ROWS; r++) {
        int mark = cg_scope(g);
        if (h->row0) cg_bind(g, s->ivar[0], h->run, false);
        cg_bind(g, s->pvar, clamped(g, h->a, at0, own_position(g, h, r)), true);
        for (int c = 0; c < h->depth / VALUES; c++)
            *out++ = cg_attend_words(g, h->a, s->part[ET_AT_V], ET_ATTEND_EACH, h->column,
                                     VALUES / ET_ATTEND_EACH, c * VALUES);
        cg_scope_end(g, mark);
    }
}

typedef void (*load_fn)(cg *, const struct heads *, val at0, val *out);

/* What LOAD loads of the positions from AT0 on, where that is before the end; elsewhere it is
 * undefined, and not used. */
static void load_if_any(cg *g, const struct heads *h, load_fn load, int n, val at0, val *words) {
    cg_if more;
    cg_if_begin(g, &more, cg_icmp(g, LLVMIntSLT, at0, h->a->end));
    load(g, h, at0, words);
    cg_if_end(g, &more);
    for (int i = 0; i < n; i++)
        words[i] = cg_if_value(g, &more, words[i], LLVMGetPoison(LLVMTypeOf(words[i])));
}

/* ---- scores ---- */

/* Products of all queries and the keys of a tile's column: this lane's two, of its head. */
static void multiply_keys(cg *g, const struct heads *h, const val *keys, val out[2]) {
    val sum[4];
    for (int i = 0; i < 4; i++)
        sum[i] = cg_f32(g, 0);
    for (int u = 0; u < h->depth / KEYS; u++)
        for (int w = 0; w < WORDS; w += 2) {
            val q[] = {h->q[u][w], h->rest[u][w], h->q[u][w + 1], h->rest[u][w + 1]};
            val k[] = {word(g, keys[u], w), word(g, keys[u], w + 1)};
            g->family->multiply8(g, h->type, q, k, sum);
        }
    out[0] = cg_fadd(g, sum[0], sum[2]);
    out[1] = cg_fadd(g, sum[1], sum[3]);
}

/* The score of the product at a position, in base 2, and whether that counts. */
static val score(cg *g, const struct heads *h, val at0, int i, val product, val *out_counts) {
    const cg_attend *a = h->a;
    const et_step *s = a->loop.s;
    val own = own_position(g, h, i);
    int mark = cg_scope(g);
    val p = cg_add(g, at0, own);
    *out_counts = cg_icmp(g, LLVMIntSLT, p, h->row0 ? h->to : a->end);
    if (h->row0) {
        val from = cg_icmp(g, LLVMIntSGE, p, h->from);
        *out_counts = LLVMBuildAnd(g->b, *out_counts, from, "");
        cg_bind(g, s->ivar[0], h->row, true);
    }
    cg_bind(g, s->pvar, clamped(g, a, at0, own), true);
    if (s->part[ET_AT_MASK].id)
        *out_counts = LLVMBuildAnd(g->b, *out_counts, cg_emit(g, s->part[ET_AT_MASK]), "");
    if (a->loop.score.id) {
        cg_bind(g, s->hvar, h->head, true);
        cg_remember(g, et_arg(g->x, ET_ARG_QK, ET_T_F32), product);
        product = cg_fmul(g, cg_emit_f32(g, a->loop.score), cg_f32(g, 1.4426950408889634));
    }
    cg_scope_end(g, mark);
    return cg_select(g, *out_counts, product, cg_f32(g, cg_attend_least()));
}

/* ---- values ---- */

/* The factors of this lane's two heads' sums, from the lanes that have their scores. */
static void scale(cg *g, const struct heads *h, val shrink, val out[2]) {
    val bits = LLVMBuildBitCast(g->b, shrink, g->i32, "");
    for (int i = 0; i < 2; i++) {
        val from = cg_addi(g, cg_muli(g, h->quad, 8), (int64_t)4 * i);
        out[i] = LLVMBuildBitCast(g->b, g->family->read_lane(g, bits, from), g->f32, "");
    }
}

static void multiply_values(cg *g, const struct heads *h, const val *values, const val counts[ROWS],
                            const val weight[2], const val rest[2], struct state *st) {
    int chunks = h->depth / VALUES;
    bool masked = h->a->loop.s->part[ET_AT_MASK].id != 0;
    for (int c = 0; c < chunks; c++)
        for (int w = 0; w < WORDS; w++) {
            val v[ROWS], row[4];
            for (int r = 0; r < ROWS; r++) { /* a value that the mask hides may be anything */
                v[r] = word(g, values[r * chunks + c], w);
                if (masked) v[r] = cg_select(g, counts[r], v[r], cg_i32(g, 0));
            }
            transpose(g, v[0], v[1], &row[0], &row[1]);
            transpose(g, v[2], v[3], &row[2], &row[3]);
            g->family->multiply8(g, h->type, row, weight, st->out[c * WORDS + w]);
            g->family->multiply8(g, h->type, row, rest, st->out[c * WORDS + w]);
        }
}

/* ---- the loop ---- */

static val of_quad(cg *g, val v, val (*both)(cg *, val, val)) {
    v = both(g, v, cg_shuffle_xor(g, v, 1));
    return both(g, v, cg_shuffle_xor(g, v, 2));
}

/* Sixteen positions from AT0 on; PRODUCT: this lane's, of its head. */
static void add_positions(cg *g, const struct heads *h, val at0, const val product[ROWS],
                          const val *values, struct state *st) {
    val s[ROWS], counts[ROWS], top = st->top, p[ROWS], by[2], weight[2], rest[2];
    for (int i = 0; i < ROWS; i++) {
        s[i] = score(g, h, at0, i, product[i], &counts[i]);
        top = cg_fmax(g, top, s[i]);
    }
    top = of_quad(g, top, cg_fmax);
    val shrink = cg_exp2(g, LLVMBuildFSub(g->b, st->top, top, ""));
    st->top = top;
    st->sum = cg_fmul(g, st->sum, shrink);
    for (int i = 0; i < ROWS; i++) {
        p[i] = cg_exp2(g, LLVMBuildFSub(g->b, s[i], top, ""));
        p[i] = cg_select(g, counts[i], p[i], cg_f32(g, 0));
        st->sum = cg_fadd(g, st->sum, p[i]);
    }
    for (int i = 0; i < 2; i++)
        split(g, h->type, p[2 * i], p[2 * i + 1], &weight[i], &rest[i]);
    scale(g, h, shrink, by);
    for (int j = 0; j < h->depth / 16; j++)
        for (int i = 0; i < 4; i++)
            st->out[j][i] = cg_fmul(g, st->out[j][i], by[i % 2]);
    multiply_values(g, h, values, counts, weight, rest, st);
}

/* The loop carries the state of N groups of columns, then keys and values of the next positions,
 * which are loaded as soon as their registers are free. */
static void scan(cg *g, const struct heads *h, int n, struct state *st) {
    const cg_attend *a = h->a;
    int each = 2 + h->depth / 16 * 4, waves = g->p->workgroup / g->t->wave, all = n * each;
    val looped[MOST_GROUPS * STATE + MOST_CHUNKS], *keys = looped + all, *values = keys + h->nkeys;
    val at0 = cg_muli(g, g->wave, POSITIONS), step = cg_i32(g, (int64_t)waves * POSITIONS);
    if (a->first) at0 = cg_add(g, a->first, at0);
    for (int j = 0; j < n; j++)
        memcpy(looped + (ptrdiff_t)j * each, &st[j], (size_t)each * sizeof *looped);
    load_if_any(g, h, load_keys, h->nkeys, at0, keys);
    load_if_any(g, h, load_values, h->nvalues, at0, values);
    cg_for f;
    at0 = cg_for_begin(g, &f, at0, a->end, step, false, all + h->nkeys + h->nvalues, looped);
    for (int j = 0; j < n; j++)
        memcpy(&st[j], looped + (ptrdiff_t)j * each, (size_t)each * sizeof *looped);
    val product[MOST_GROUPS][ROWS], next = cg_add(g, at0, step);
    for (int j = 0; j < n; j++)
        for (int tile = 0; tile < TILES; tile++)
            multiply_keys(g, &h[j], keys + (ptrdiff_t)tile * h->depth / KEYS,
                          product[j] + (ptrdiff_t)2 * tile);
    load_if_any(g, h, load_keys, h->nkeys, next, keys);
    for (int j = 0; j < n; j++)
        add_positions(g, &h[j], at0, product[j], values, &st[j]);
    load_if_any(g, h, load_values, h->nvalues, next, values);
    for (int j = 0; j < n; j++)
        memcpy(looped + (ptrdiff_t)j * each, &st[j], (size_t)each * sizeof *looped);
    cg_for_end(g, &f, looped);
    for (int j = 0; j < n; j++)
        memcpy(&st[j], looped + (ptrdiff_t)j * each, (size_t)each * sizeof *looped);
}

/* ---- the wave's state, stored ---- */

static val plus(cg *g, val a, val b) {
    return cg_fadd(g, a, b);
}

/* Two elements next to each other of each of this lane's two heads, for each sum. */
static void store_sums(cg *g, const struct heads *h, const struct state *st) {
    const cg_attend *a = h->a;
    for (int i = 0; i < 2; i++) {
        val column = cg_addi(g, cg_muli(g, h->quad, 2), i);
        cg_if own;
        cg_if_begin(g, &own, is_there(g, h, column));
        val head = place_of(g, h, column);
        for (int j = 0; j < h->depth / 16; j++) {
            val d = cg_addi(g, cg_muli(g, h->column, ET_ATTEND_EACH),
                            (int64_t)j / WORDS * VALUES + (int64_t)j % WORDS * 2);
            for (int k = 0; k < 2; k++)
                LLVMBuildStore(g->b, st->out[j][2 * k + i],
                               cg_attend_state(g, a, g->wave, head, cg_addi(g, d, k)));
        }
        cg_if_end(g, &own);
    }
}

static struct state no_positions(cg *g, const struct heads *h) {
    struct state st = {.top = cg_f32(g, cg_attend_least()), .sum = cg_f32(g, 0)};
    for (int j = 0; j < h->depth / 16; j++)
        for (int i = 0; i < 4; i++)
            st.out[j][i] = cg_f32(g, 0);
    return st;
}

static void store(cg *g, const struct heads *h, struct state *st) {
    const cg_attend *a = h->a;
    st->sum = of_quad(g, st->sum, plus);
    store_sums(g, h, st);
    cg_if own;
    val first = cg_icmp(g, LLVMIntEQ, h->quad, cg_i32(g, 0));
    val is = is_there(g, h, h->column), head = h->row0 ? place_of(g, h, h->column) : h->head;
    cg_if_begin(g, &own, LLVMBuildAnd(g->b, first, is, ""));
    LLVMBuildStore(g->b, st->top, cg_attend_state(g, a, g->wave, head, cg_i32(g, h->depth)));
    LLVMBuildStore(g->b, st->sum, cg_attend_state(g, a, g->wave, head, cg_i32(g, h->depth + 1)));
    cg_if_end(g, &own);
}

void cg_attend_columns(cg *g, cg_attend *a) {
    struct heads h = begin(g, a);
    struct state st = no_positions(g, &h);
    scan(g, &h, 1, &st);
    store(g, &h, &st);
}

/* ---- several rows ---- */

/* The positions of rows RUN to AFTER - 1, all together. */
static void positions(cg *g, cg_attend *a, val run, val after) {
    const et_step *s = a->loop.s;
    int mark = cg_scope(g);
    val row = cg_rows_at_most(g, cg_rows_at_least(g, g->lane, run), cg_addi(g, after, -1));
    cg_bind(g, s->ivar[0], row, true);
    a->first = cg_rows_over_lanes(g, cg_emit_i32(g, s->part[ET_AT_FIRST]), false);
    a->end = cg_rows_over_lanes(g, cg_emit_i32(g, s->part[ET_AT_END]), true);
    cg_scope_end(g, mark);
}

/* Those of the run from RUN to AFTER, as many as have columns at once after the others. */
static void one_run(cg *g, cg_attend *a, val run, val after, val live) {
    const et_attend_loop *l = &a->loop;
    int each = l->beside * l->at_once;
    struct heads h[MOST_GROUPS];
    struct state st[MOST_GROUPS];
    val none = NULL, by = cg_i32(g, each);
    val from = LLVMBuildUDiv(g->b, run, by, "");
    val end = LLVMBuildUDiv(g->b, cg_addi(g, after, each - 1), by, "");
    cg_for f;
    positions(g, a, run, after);
    val set = cg_for_begin(g, &f, from, end, cg_i32(g, 1), true, 0, &none);
    int mark = cg_scope(g);
    for (int j = 0; j < l->at_once; j++) {
        val row0 = cg_addi(g, cg_muli(g, set, each), (int64_t)j * l->beside);
        h[j] = begin_rows(g, a, row0, run, after, live);
        st[j] = no_positions(g, &h[j]);
    }
    scan(g, h, l->at_once, st);
    for (int j = 0; j < l->at_once; j++)
        store(g, &h[j], &st[j]);
    cg_scope_end(g, mark);
    cg_for_end(g, &f, &none);
}

void cg_attend_columns_rows(cg *g, cg_attend *a, val live) {
    block before = cg_here(g), head = cg_block(g, "run"), done = cg_block(g, "runs");
    val none = cg_i32(g, 0);
    cg_br(g, head);
    cg_at(g, head);
    val run = LLVMBuildPhi(g->b, g->i32, "");
    int mark = cg_scope(g);
    val after = cg_rows_run_end(g, a->loop.s, run, live);
    one_run(g, a, run, after, live);
    cg_scope_end(g, mark);
    LLVMAddIncoming(run, (val[]){none, after}, (block[]){before, cg_here(g)}, 2);
    cg_cond(g, cg_icmp(g, LLVMIntSLT, after, live), head, done);
    cg_at(g, done);
}

void cg_attend_columns_alone(cg *g, cg_attend *a, val live) {
    struct heads h = begin_rows(g, a, a->alone, a->alone, cg_addi(g, a->alone, 1), live);
    struct state st = no_positions(g, &h);
    scan(g, &h, 1, &st);
    store(g, &h, &st);
}
