/* Chunks of SCAN steps: many rows of a sequence at once, by matrix products (ir/product/scan.h).
 *
 * All matrices of a chunk are in LDS, f32, among them the states of the tile's results; what the
 * next chunk has is loaded while this one is multiplied. The triangular system is solved by a
 * work-item for each result. */
#include "codegen/step/scan.h"
#include <string.h>

enum { K = ET_SCAN_LANE_K, SIDE = ET_SCAN_CHUNK_UNIT };

/* What a work-item has loaded of a chunk, for LDS. */
struct pieces {
    val outs[ET_SCAN_PIECES], looks[ET_SCAN_PIECES], along[ET_SCAN_PIECES], added[ET_SCAN_PIECES];
    val kept, sees;
};

struct chunk {
    cg_scan *c;
    const et_scan_chunk *of;
    const et_layout *l;
    const et_fragment *fr;
    int row, result, part; /* variables: of the launch; of the tile; pieces of a state */
    int unit;              /* k's of a product of fragments */
    int waves;
    val lane_m, lane_n, group, sum_m, sum_n; /* of this lane */
};

/* ---- which rows ---- */

static val at_most(cg *g, val v, val most) {
    return cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){v, most});
}

static val count_of(cg_scan *c) {
    return cg_emit_i32(c->g, c->s->rextent);
}

static val position_of(cg_scan *c, val row, bool divergent) {
    cg *g = c->g;
    int mark = cg_scope(g);
    cg_bind(g, c->s->rvar, row, divergent);
    val p = cg_emit_i32(g, c->chunk.form.position);
    cg_scope_end(g, mark);
    return p;
}

/* Have lanes a chunk each that may begin I rows behind ROW? Its first and last row fit. */
static val may_begin(cg_scan *c, val row) {
    cg *g = c->g;
    val i = cg_add(g, row, g->lane), last = cg_addi(g, count_of(c), -1);
    val end = cg_addi(g, i, c->chunk.rows - 1);
    val first = position_of(c, at_most(g, i, last), true);
    val at = position_of(c, at_most(g, end, last), true);
    val ok = cg_icmp(g, LLVMIntSLE, end, last);
    val in = LLVMBuildAnd(g->b, first, cg_i32(g, c->chunk.rows - 1), "");
    ok = LLVMBuildAnd(g->b, ok, cg_icmp(g, LLVMIntEQ, in, cg_i32(g, 0)), "");
    return LLVMBuildAnd(g->b, ok, cg_icmp(g, LLVMIntEQ, at, cg_addi(g, first, c->chunk.rows - 1)),
                        "");
}

/* What decides whether rows from ROW on are a chunk, where there are so many: the first one's place
 * and position, and those of the lane's. */
struct run {
    val key, first, t, of_key, at;
};

static struct run look_at(cg_scan *c, val row) {
    cg *g = c->g;
    val last = cg_addi(g, count_of(c), -1);
    struct run r = {.t = LLVMBuildAnd(g->b, g->lane, cg_i32(g, c->chunk.rows - 1), "")};
    val i = at_most(g, cg_add(g, row, r.t), last);
    row = at_most(g, row, last);
    r.key = cg_scan_key(c, row, false), r.first = position_of(c, row, false);
    r.of_key = cg_scan_key(c, i, true), r.at = position_of(c, i, true);
    return r;
}

/* i1, uniform: are they one sequence's, in order? */
static val is_run(cg_scan *c, const struct run *r) {
    cg *g = c->g;
    val ok = cg_icmp(g, LLVMIntEQ, r->of_key, r->key);
    ok = LLVMBuildAnd(g->b, ok, cg_icmp(g, LLVMIntSGE, r->key, LLVMConstNull(g->i64)), "");
    val same = cg_icmp(g, LLVMIntEQ, r->at, cg_add(g, r->first, r->t));
    ok = LLVMBuildAnd(g->b, ok, same, "");
    return cg_none(g, cg_ballot(g, LLVMBuildNot(g->b, ok, "")));
}

val cg_scan_find(cg_scan *c, val row) {
    cg *g = c->g;
    val n = count_of(c), from[4], to[4];
    block before = cg_here(g), head = cg_block(g, "find"), test = cg_block(g, "may_begin"),
          some = cg_block(g, "candidate"), none = cg_block(g, "no_candidate"),
          over = cg_block(g, "not_it"), done = cg_block(g, "found");
    cg_br(g, head);
    cg_at(g, head);
    val at = LLVMBuildPhi(g->b, g->i32, "");
    val enough = cg_icmp(g, LLVMIntSLE, cg_addi(g, at, c->chunk.rows), n);
    block full = cg_here(g);
    cg_cond(g, enough, test, done);
    cg_at(g, test);
    val mask = cg_ballot(g, may_begin(c, at));
    cg_cond(g, cg_none(g, mask), none, some);
    cg_at(g, none);
    from[1] = cg_addi(g, at, g->t->wave);
    cg_br(g, head);
    cg_at(g, some);
    val one = cg_uniform(g, cg_add(g, at, cg_first_lane(g, mask)));
    struct run r = look_at(c, one);
    val yes = is_run(c, &r);
    block tested = cg_here(g);
    cg_cond(g, yes, done, over);
    cg_at(g, over);
    from[2] = cg_addi(g, one, 1);
    cg_br(g, head);
    LLVMAddIncoming(at, (val[]){row, from[1], from[2]}, (block[]){before, none, over}, 3);
    cg_at(g, done);
    val found = LLVMBuildPhi(g->b, g->i32, "");
    to[0] = n, to[1] = one;
    LLVMAddIncoming(found, to, (block[]){full, tested}, 2);
    return cg_uniform(g, found);
}

/* i1: does a chunk that begins with ROW, as R has it, go on with the sequence of the state at KEY,
 * behind one that begins at position BEFORE? At position 0 nothing goes on: rows before it have
 * negative ones. */
static val goes_on(cg_scan *c, val row, const struct run *r, val key, val before) {
    cg *g = c->g;
    val yes = is_run(c, r);
    val fits = cg_icmp(g, LLVMIntSLE, cg_addi(g, row, c->chunk.rows), count_of(c));
    val on = cg_icmp(g, LLVMIntEQ, r->first, cg_addi(g, before, c->chunk.rows));
    yes = LLVMBuildAnd(g->b, yes, LLVMBuildAnd(g->b, fits, on, ""), "");
    yes = LLVMBuildAnd(g->b, yes, cg_icmp(g, LLVMIntNE, r->first, cg_i32(g, 0)), "");
    return LLVMBuildAnd(g->b, yes, cg_icmp(g, LLVMIntEQ, r->key, key), "");
}

/* ---- local memory ---- */

static val word(const struct chunk *k, val at) {
    return cg_local_ptr(k->c->g, k->c->s->scratch, at);
}

static val load(const struct chunk *k, val at) {
    return LLVMBuildLoad2(k->c->g->b, k->c->g->f32, word(k, at), "");
}

static val load_at(const struct chunk *k, int64_t at) {
    return load(k, cg_i32(k->c->g, at));
}

static val load_four(const struct chunk *k, val at) {
    cg *g = k->c->g;
    val v = LLVMBuildLoad2(g->b, LLVMVectorType(g->f32, K), word(k, at), "");
    LLVMSetAlignment(v, 4 * K);
    return v;
}

static void store(const struct chunk *k, val v, val at) {
    LLVMBuildStore(k->c->g->b, v, word(k, at));
}

/* ---- what a chunk loads ---- */

static val mod(cg *g, val v, int by) {
    return LLVMBuildURem(g->b, v, cg_i32(g, by), "");
}

static val quotient(cg *g, val v, int by) {
    return LLVMBuildUDiv(g->b, v, cg_i32(g, by), "");
}

/* The work-item's number I of TOTAL; those past the last do an earlier one once more. */
static val item_of(cg *g, int i, int total) {
    val item = cg_addi(g, g->tid, (int64_t)i * g->p->workgroup);
    return total % g->p->workgroup ? mod(g, item, total) : item;
}

static int items(const struct chunk *k, int total) {
    int all = k->c->g->p->workgroup;
    return (total + all - 1) / all;
}

/* E of row T of the chunk at ROW, or of the last one there is. */
static et_expr of_row(struct chunk *k, et_expr e, val row, val t) {
    cg *g = k->c->g;
    val last = cg_addi(g, count_of(k->c), -1);
    cg_bind(g, k->row, at_most(g, cg_add(g, row, t), last), true);
    return et_subst_var(g->x, e, k->c->s->rvar, et_var(g->x, k->row));
}

static void load_matrix(struct chunk *k, et_expr e, val row, val *out) {
    cg *g = k->c->g;
    int per = k->of->elements / K, total = k->of->rows * per;
    for (int i = 0; i < items(k, total); i++) {
        val each[K], item = item_of(g, i, total);
        int mark = cg_scope(g);
        et_expr at = of_row(k, e, row, quotient(g, item, per));
        cg_bind(g, k->part, mod(g, item, per), true);
        cg_emit_n(g, at, k->c->s->evar, et_mul(g->x, et_var(g->x, k->part), et_int(g->x, K)), K,
                  each);
        for (int j = 0; j < K; j++)
            each[j] = cg_to_f32(g, each[j]);
        cg_scope_end(g, mark);
        out[i] = cg_vector(g, g->f32, K, each);
    }
}

static val load_vector(struct chunk *k, et_expr e, val row) {
    cg *g = k->c->g;
    int mark = cg_scope(g);
    val v = cg_emit_f32(g, of_row(k, e, row, mod(g, g->tid, k->of->rows)));
    cg_scope_end(g, mark);
    return v;
}

static void load_chunk(struct chunk *k, val row, struct pieces *p) {
    cg *g = k->c->g;
    const et_scan_form *f = &k->of->form;
    int total = k->of->rows * k->of->results;
    load_matrix(k, f->outs, row, p->outs);
    load_matrix(k, f->along, row, p->along);
    if (f->sees.id) load_matrix(k, f->looks, row, p->looks);
    p->kept = load_vector(k, f->kept, row);
    if (f->sees.id) p->sees = load_vector(k, f->sees, row);
    for (int i = 0; i < items(k, total); i++) {
        val item = item_of(g, i, total);
        int mark = cg_scope(g);
        et_expr e = of_row(k, f->added, row, quotient(g, item, k->of->results));
        cg_bind(g, k->result, mod(g, item, k->of->results), true);
        e = et_subst_var(g->x, e, k->c->s->vars[0], et_var(g->x, k->result));
        p->added[i] = cg_emit_f32(g, e);
        cg_scope_end(g, mark);
    }
}

static void store_matrix(const struct chunk *k, const val *v, int at) {
    cg *g = k->c->g;
    int per = k->of->elements / K, total = k->of->rows * per;
    for (int i = 0; i < items(k, total); i++) {
        val item = item_of(g, i, total), to = cg_muli(g, quotient(g, item, per), k->of->pitch);
        to = cg_addi(g, cg_add(g, to, cg_muli(g, mod(g, item, per), K)), at);
        LLVMSetAlignment(LLVMBuildStore(g->b, v[i], word(k, to)), 4 * K);
    }
}

static void store_chunk(const struct chunk *k, const struct pieces *p) {
    cg *g = k->c->g;
    const et_scan_chunk *c = k->of;
    int total = c->rows * c->results;
    store_matrix(k, p->outs, c->outs);
    store_matrix(k, p->along, c->along);
    if (c->form.sees.id) store_matrix(k, p->looks, c->outs + c->rows * c->pitch);
    val t = mod(g, g->tid, c->rows);
    store(k, p->kept, cg_addi(g, t, c->kept));
    if (c->form.sees.id) store(k, p->sees, cg_addi(g, t, c->sees));
    for (int i = 0; i < items(k, total); i++) {
        val item = item_of(g, i, total);
        val to = cg_muli(g, quotient(g, item, c->results), c->add_pitch);
        store(k, p->added[i], cg_addi(g, cg_add(g, to, mod(g, item, c->results)), c->adds));
    }
}

/* ---- products ---- */

static val dealt(cg *g, const et_deal *d) {
    return LLVMBuildAnd(g->b, cg_dealt(g, d), cg_i32(g, SIDE - 1), "");
}

/* A place of value V, of which the lane's part is LANE. */
static val place(cg *g, const et_deal *d, val lane, int v) {
    int of = et_deal_value(d, v);
    return of ? LLVMBuildAnd(g->b, cg_addi(g, lane, of), cg_i32(g, SIDE - 1), "") : lane;
}

/* A matrix in LDS: element (row, k) at AT + row * ROW + k * K. SCALE: where elements of k have a
 * factor each, else -1. */
struct matrix {
    val at;
    int row, k, scale;
};

/* The lane's part of unit U of sixteen rows: k's next to each other, or, DEALT, one of each group
 * in turn, so that lanes load from neighbouring rows. */
static void fragment(const struct chunk *k, const et_deal *d, val lane, const struct matrix *m,
                     int u, bool dealt, val *out) {
    cg *g = k->c->g;
    int apart = dealt ? k->unit / K : 1;
    val first = cg_addi(g, cg_muli(g, k->group, dealt ? 1 : K), (int64_t)u * k->unit);
    for (int i = 0; i < et_deal_values(d); i++) {
        val at = cg_add(g, m->at, cg_muli(g, place(g, d, lane, i), m->row)), each[K];
        if (m->k == 1) {
            out[i] = load_four(k, cg_add(g, at, first));
            continue;
        }
        for (int j = 0; j < K; j++) {
            val by = cg_addi(g, first, (int64_t)j * apart);
            each[j] = load(k, cg_add(g, at, cg_muli(g, by, m->k)));
            if (m->scale >= 0) each[j] = cg_fmul(g, each[j], load(k, cg_addi(g, by, m->scale)));
        }
        out[i] = cg_vector(g, g->f32, K, each);
    }
}

/* Sixteen rows M by sixteen rows N over SIZE k's. */
static val product(const struct chunk *k, const struct matrix *m, const struct matrix *n,
                   int size) {
    cg *g = k->c->g;
    val sum = LLVMConstNull(LLVMVectorType(g->f32, (unsigned)et_layout_sums(k->l)));
    bool dealt = m->k != 1 && n->k != 1;
    g->finite = true; /* a chunk with an infinity may be NaN from its first row on (GRAMMAR.md) */
    for (int u = 0; u * k->unit < size; u++) {
        val a[8], b[8];
        fragment(k, &k->l->m, k->lane_m, m, u, dealt, a);
        fragment(k, &k->l->n, k->lane_n, n, u, dealt, b);
        sum = g->family->multiply(g, k->fr, K, b, a, sum);
    }
    g->finite = false;
    return sum;
}

/* Tiles of ROWS by COLUMNS sixteens that waves share: those of one wave follow each other. */
struct tiles {
    int each, columns, all;
    val first;
};

static struct tiles deal(const struct chunk *k, int rows, int columns) {
    struct tiles t = {.columns = columns, .all = rows * columns};
    t.each = (t.all + k->waves - 1) / k->waves;
    t.first = cg_muli(k->c->g, k->c->g->wave, t.each);
    return t;
}

/* Row and column of the wave's tile number I. */
static void tile_at(const struct chunk *k, const struct tiles *t, int i, val *row, val *column) {
    cg *g = k->c->g;
    if (t->columns % t->each == 0) {
        *row = quotient(g, t->first, t->columns);
        *column = cg_addi(g, mod(g, t->first, t->columns), i);
        return;
    }
    *row = quotient(g, cg_addi(g, t->first, i), t->columns);
    *column = mod(g, cg_addi(g, t->first, i), t->columns);
}

/* The waves that have a tile number I, where not all have one. */
static bool begin_guard(const struct chunk *k, const struct tiles *t, int i, cg_if *in) {
    cg *g = k->c->g;
    if (t->each * k->waves == t->all) return false;
    cg_if_begin(g, in, cg_icmp(g, LLVMIntSLT, cg_addi(g, t->first, i), cg_i32(g, t->all)));
    return true;
}

/* ---- a chunk ---- */

/* T: what of a state before row u + 1 is left after row t, a column for each work-item. */
static void make_table(const struct chunk *k) {
    cg *g = k->c->g;
    const et_scan_chunk *c = k->of;
    cg_if in;
    cg_if_begin(g, &in, cg_icmp(g, LLVMIntSLE, g->tid, cg_i32(g, c->rows)));
    val left = cg_f32(g, 0), zero = left, one = cg_f32(g, 1);
    for (int t = 0; t <= c->rows; t++) {
        if (t) left = cg_fmul(g, left, load_at(k, c->kept + t - 1));
        val begins = cg_icmp(g, LLVMIntEQ, g->tid, cg_i32(g, t));
        left = cg_select(g, begins, one, left);
        val before = cg_icmp(g, LLVMIntSGT, g->tid, cg_i32(g, t));
        left = cg_select(g, before, zero, left);
        store(k, left, cg_addi(g, g->tid, c->table + (int64_t)t * c->table_pitch));
    }
    cg_if_end(g, &in);
}

/* What outs and looks are by along and the states, each with what is left of the latter then. */
static void multiply_all(const struct chunk *k) {
    cg *g = k->c->g;
    const et_scan_chunk *c = k->of;
    int rows = (c->form.sees.id ? 2 : 1) * c->rows / SIDE, columns = (c->rows + c->results) / SIDE;
    struct tiles t = deal(k, rows, columns);
    val sum[ET_SCAN_TILES], row, column;
    for (int i = 0; i < t.each; i++) {
        cg_if in;
        bool guarded = begin_guard(k, &t, i, &in);
        tile_at(k, &t, i, &row, &column);
        struct matrix m = {cg_addi(g, cg_muli(g, row, SIDE * c->pitch), c->outs), c->pitch, 1, -1};
        struct matrix n = {cg_addi(g, cg_muli(g, column, SIDE * c->pitch), c->along), c->pitch, 1,
                           -1};
        sum[i] = product(k, &m, &n, c->elements);
        if (guarded) {
            cg_if_end(g, &in);
            sum[i] = cg_if_value(g, &in, sum[i], LLVMConstNull(LLVMTypeOf(sum[i])));
        }
    }
    cg_barrier(g); /* the table is there */
    for (int i = 0; i < t.each; i++) {
        cg_if in;
        bool guarded = begin_guard(k, &t, i, &in);
        tile_at(k, &t, i, &row, &column);
        for (int v = 0; v < et_layout_sums(k->l); v++) {
            val r = cg_add(g, cg_muli(g, row, SIDE), place(g, &k->l->sum_m, k->sum_m, v));
            val n = cg_add(g, cg_muli(g, column, SIDE), place(g, &k->l->sum_n, k->sum_n, v));
            val out = cg_icmp(g, LLVMIntSLT, r, cg_i32(g, c->rows));
            val after = cg_select(g, out, cg_addi(g, r, 1), cg_addi(g, r, -c->rows));
            val from = cg_icmp(g, LLVMIntSLT, n, cg_i32(g, c->rows));
            from = cg_select(g, from, cg_addi(g, n, 1), cg_i32(g, 0));
            val at = cg_add(g, cg_muli(g, after, c->table_pitch), from);
            val left = load(k, cg_addi(g, at, c->table));
            val to = cg_add(g, cg_muli(g, r, c->product_pitch), n);
            store(k, cg_fmul(g, cg_extract(g, sum[i], v), left), cg_addi(g, to, c->products));
        }
        if (guarded) cg_if_end(g, &in);
    }
}

/* What rows add, in turn, a work-item for each result: four rows by themselves, then what those
 * behind them see of these. */
static void solve(const struct chunk *k) {
    cg *g = k->c->g;
    const et_scan_chunk *c = k->of;
    val u[ET_SCAN_CHUNK], seen[ET_SCAN_CHUNK], added[ET_SCAN_CHUNK], sees[ET_SCAN_CHUNK];
    cg_if in;
    cg_if_begin(g, &in, cg_icmp(g, LLVMIntSLT, g->tid, cg_i32(g, c->results)));
    for (int t = 0; t < c->rows; t++) {
        int64_t of = c->products + (int64_t)(c->rows + t) * c->product_pitch + c->rows;
        seen[t] = load(k, cg_addi(g, g->tid, of));
        added[t] = load(k, cg_addi(g, g->tid, c->adds + (int64_t)t * c->add_pitch));
        sees[t] = load_at(k, c->sees + t);
    }
    for (int four = 0; four < c->rows; four += K) {
        val by[K];
        for (int t = 0; t < K; t++)
            by[t] = load_four(k, cg_i32(g, c->products + four +
                                               (int64_t)(c->rows + four + t) * c->product_pitch));
        for (int t = four; t < four + K; t++) {
            for (int s = four; s < t; s++)
                seen[t] = cg_fma(g, cg_extract(g, by[t - four], s - four), u[s], seen[t]);
            u[t] = cg_fma(g, seen[t], sees[t], added[t]);
            store(k, u[t], cg_addi(g, g->tid, c->adds + (int64_t)t * c->add_pitch));
        }
        for (int t = four + K; t < c->rows; t++) {
            int64_t of = c->products + four + (int64_t)(c->rows + t) * c->product_pitch;
            val them = load_four(k, cg_i32(g, of));
            for (int s = 0; s < K; s++)
                seen[t] = cg_fma(g, cg_extract(g, them, s), u[four + s], seen[t]);
        }
    }
    cg_if_end(g, &in);
}

static void store_results(const struct chunk *k, val row, val t, val d, val v) {
    cg *g = k->c->g;
    const et_place *to = &k->c->s->to;
    et_expr index[ET_MAX_RANK];
    int mark = cg_scope(g);
    cg_bind(g, k->row, cg_add(g, row, t), true);
    cg_bind(g, k->result, d, true);
    for (int i = 0; i < to->rank; i++) {
        index[i] = et_subst_var(g->x, to->index[i], k->c->s->rvar, et_var(g->x, k->row));
        index[i] = et_subst_var(g->x, index[i], k->c->s->vars[0], et_var(g->x, k->result));
    }
    val ptr = cg_address(g, to->space, to->id, cg_offset(g, to->space, to->id, index));
    cg_store_n(g, to->space, to->id, ptr, 1, 1, &v);
    cg_scope_end(g, mark);
}

static void write_results(const struct chunk *k, val first) {
    cg *g = k->c->g;
    const et_scan_chunk *c = k->of;
    struct tiles t = deal(k, c->rows / SIDE, c->results / SIDE);
    for (int i = 0; i < t.each; i++) {
        val row, column;
        cg_if in;
        bool guarded = begin_guard(k, &t, i, &in);
        tile_at(k, &t, i, &row, &column);
        struct matrix m = {cg_addi(g, cg_muli(g, row, SIDE * c->product_pitch), c->products),
                           c->product_pitch, 1, -1};
        struct matrix n = {cg_addi(g, cg_muli(g, column, SIDE), c->adds), 1, c->add_pitch, -1};
        val sum = product(k, &m, &n, c->rows);
        for (int v = 0; v < et_layout_sums(k->l); v++) {
            val r = cg_add(g, cg_muli(g, row, SIDE), place(g, &k->l->sum_m, k->sum_m, v));
            val d = cg_add(g, cg_muli(g, column, SIDE), place(g, &k->l->sum_n, k->sum_n, v));
            val at = cg_add(g, cg_muli(g, r, c->product_pitch), d);
            val of = load(k, cg_addi(g, at, c->products + c->rows));
            store_results(k, first, r, d, cg_fadd(g, cg_extract(g, sum, v), of));
        }
        if (guarded) cg_if_end(g, &in);
    }
}

static void advance_states(const struct chunk *k) {
    cg *g = k->c->g;
    const et_scan_chunk *c = k->of;
    struct tiles t = deal(k, c->results / SIDE, c->elements / SIDE);
    int last = c->table + c->rows * c->table_pitch;
    val left = load_at(k, last);
    for (int i = 0; i < t.each; i++) {
        val row, column;
        cg_if in;
        bool guarded = begin_guard(k, &t, i, &in);
        tile_at(k, &t, i, &row, &column);
        struct matrix m = {cg_addi(g, cg_muli(g, row, SIDE), c->adds), 1, c->add_pitch, last + 1};
        struct matrix n = {cg_addi(g, cg_muli(g, column, SIDE), c->along), 1, c->pitch, -1};
        val sum = product(k, &m, &n, c->rows);
        for (int v = 0; v < et_layout_sums(k->l); v++) {
            val d = cg_add(g, cg_muli(g, row, SIDE), place(g, &k->l->sum_m, k->sum_m, v));
            val j = cg_add(g, cg_muli(g, column, SIDE), place(g, &k->l->sum_n, k->sum_n, v));
            val at = cg_addi(g, cg_add(g, cg_muli(g, d, c->pitch), j), c->states);
            store(k, cg_fma(g, load(k, at), left, cg_extract(g, sum, v)), at);
        }
        if (guarded) cg_if_end(g, &in);
    }
}

/* ---- chunks ---- */

/* The lane's elements of the state, from registers to LDS or back. */
static void move_state(const struct chunk *k, val *v, bool out) {
    cg *g = k->c->g;
    cg_scan *c = k->c;
    val row = cg_addi(g, cg_muli(g, c->item, k->of->pitch), k->of->states);
    for (int e = 0; e < c->n; e++) {
        val j = cg_addi(g, c->at, (int64_t)e / c->wide * c->lanes);
        j = cg_addi(g, cg_muli(g, j, c->wide), e % c->wide);
        if (out)
            store(k, v[e], cg_add(g, row, j));
        else
            v[e] = load(k, cg_add(g, row, j));
    }
}

static void begin(struct chunk *k, cg_scan *c) {
    cg *g = c->g;
    *k = (struct chunk){.c = c, .of = &c->chunk, .fr = et_target_fragment(g->t, ET_F32)};
    k->l = k->fr->layout;
    k->unit = K * et_layout_groups(k->l);
    k->waves = g->p->workgroup / g->t->wave;
    k->row = et_var_add(g->x, "row", et_var_extent(g->x, c->s->rvar));
    k->result = cg_fresh_var(g, "result", k->of->results);
    k->part = cg_fresh_var(g, "part", k->of->elements / K);
    k->lane_m = dealt(g, &k->l->m);
    k->lane_n = dealt(g, &k->l->n);
    k->group = dealt(g, &k->l->k);
    k->sum_m = dealt(g, &k->l->sum_m);
    k->sum_n = dealt(g, &k->l->sum_n);
}

/* The chunk at ROW, which LDS has, and what the one behind it loads. */
static void one_chunk(struct chunk *k, val row) {
    cg *g = k->c->g;
    struct pieces next;
    load_chunk(k, cg_addi(g, row, k->of->rows), &next);
    make_table(k);
    multiply_all(k);
    cg_barrier(g);
    if (k->of->form.sees.id) {
        solve(k);
        cg_barrier(g);
    }
    write_results(k, row);
    advance_states(k);
    cg_barrier(g);
    store_chunk(k, &next);
}

val cg_scan_chunks(cg_scan *c, val row, val *v) {
    cg *g = c->g;
    struct chunk k;
    struct pieces first;
    begin(&k, c);
    memcpy(c->state, v, (size_t)c->n * sizeof *v);
    val key = cg_scan_enter(c, row, v[c->n]);
    val where = position_of(c, row, false);
    load_chunk(&k, row, &first);
    cg_barrier(g); /* what was in LDS has been read */
    move_state(&k, c->state, true);
    store_chunk(&k, &first);
    cg_barrier(g);
    block before = cg_here(g), head = cg_block(g, "chunk"), done = cg_block(g, "chunks");
    cg_br(g, head);
    cg_at(g, head);
    val at = LLVMBuildPhi(g->b, g->i32, ""), position = LLVMBuildPhi(g->b, g->i32, "");
    int mark = cg_scope(g);
    val next = cg_addi(g, at, c->chunk.rows);
    struct run r = look_at(c, next);
    one_chunk(&k, at);
    val more = goes_on(c, next, &r, key, position);
    cg_barrier(g);
    cg_scope_end(g, mark);
    block here = cg_here(g);
    LLVMAddIncoming(at, (val[]){row, next}, (block[]){before, here}, 2);
    LLVMAddIncoming(position, (val[]){where, r.first}, (block[]){before, here}, 2);
    cg_cond(g, more, head, done);
    cg_at(g, done);
    move_state(&k, v, false);
    v[c->n] = key;
    return next;
}
