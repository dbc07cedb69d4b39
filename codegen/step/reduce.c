/* REDUCE steps, as their plans say (et_reduce_plan): a row is shared by lanes of a wave, or by
 * several waves, whose parts meet in LDS. */
#include "codegen/step/reduce.h"
#include "ir/base/diag.h"
#include <limits.h>
#include <math.h>

static bool indexed(const et_reduce_loop *r) {
    return r->s->red >= ET_RED_ARGMAX;
}

struct best cg_best_none(cg *g, const et_reduce_loop *r) {
    struct best b = {NULL, indexed(r) ? cg_i32(g, INT_MAX) : NULL};
    switch (r->s->red) {
    case ET_RED_SUM:
        b.v = r->real ? cg_f32(g, 0) : cg_i32(g, 0);
        break;
    case ET_RED_MIN:
        b.v = r->real ? cg_f32(g, (double)INFINITY) : cg_i32(g, INT_MAX);
        break;
    default:
        b.v = r->real ? cg_f32(g, (double)-INFINITY) : cg_i32(g, INT_MIN);
    }
    return b;
}

struct best cg_best_of(cg *g, const et_reduce_loop *r, struct best a, struct best b) {
    LLVMTypeRef t = LLVMTypeOf(a.v);
    switch (r->s->red) {
    case ET_RED_SUM:
        return (struct best){r->real ? cg_fadd(g, a.v, b.v) : cg_add(g, a.v, b.v), NULL};
    case ET_RED_MAX:
    case ET_RED_MIN: {
        bool max = r->s->red == ET_RED_MAX;
        const char *name =
            r->real ? (max ? "llvm.maxnum" : "llvm.minnum") : (max ? "llvm.smax" : "llvm.smin");
        return (struct best){cg_call(g, name, 1, &t, 2, (val[]){a.v, b.v}), NULL};
    }
    default: { /* there are no NaN: item_values */
        val gt = r->real ? LLVMBuildFCmp(g->b, LLVMRealOGT, b.v, a.v, "")
                         : cg_icmp(g, LLVMIntSGT, b.v, a.v);
        val eq = r->real ? LLVMBuildFCmp(g->b, LLVMRealOEQ, b.v, a.v, "")
                         : cg_icmp(g, LLVMIntEQ, b.v, a.v);
        val first = LLVMBuildAnd(g->b, eq, cg_icmp(g, LLVMIntSLT, b.at, a.at), "");
        val better = LLVMBuildOr(g->b, gt, first, "");
        return (struct best){cg_select(g, better, b.v, a.v), cg_select(g, better, b.at, a.at)};
    }
    }
}

static int waves(cg *g) {
    return g->p->workgroup / g->t->wave;
}

/* ---- one lane's part of a row ---- */

/* The values of one item. */
static void item_values(cg *g, const et_reduce_loop *r, val item, val *v) {
    int u = cg_fresh_var(g, "u", r->extent < 0 ? INT_MAX : r->extent / r->plan.vector);
    cg_bind(g, u, item, true);
    et_expr base = et_mul(g->x, et_var(g->x, u), et_int(g->x, r->plan.vector));
    int mark = cg_scope(g);
    if (r->extent == r->plan.vector) base = et_int(g->x, 0);
    if (r->plan.vector > 1) {
        cg_emit_n(g, r->value, r->s->rvar, base, r->plan.vector, v);
    } else {
        cg_bind(g, r->s->rvar, item, true);
        v[0] = cg_emit(g, r->value);
    }
    cg_scope_end(g, mark);
    for (int j = 0; j < r->plan.vector; j++)
        if (LLVMTypeOf(v[j]) == g->i1) v[j] = LLVMBuildUIToFP(g->b, v[j], g->f32, "");
    for (int j = 0; j < r->plan.vector && indexed(r) && r->real;
         j++) /* NaN is as if it were -inf */
        v[j] = cg_fmax(g, v[j], cg_f32(g, (double)-INFINITY));
}

/* Two results of which each may be a product, which is rounded: so the sum has the same bits where
 * lanes have one each, as in a tile of fewer rows. */
static struct best add_apart(cg *g, const et_reduce_loop *r, struct best a, struct best b) {
    if (r->s->red != ET_RED_SUM || !r->real || r->plan.vector > 1) return cg_best_of(g, r, a, b);
    return (struct best){LLVMBuildFAdd(g->b, a.v, b.v, ""), NULL};
}

/* Parts of a row in one lane: those that lanes of their own would have. */
static int parts_in_lane(const et_reduce_loop *r) {
    return r->plan.as ? r->plan.as / r->plan.lanes : 1;
}

/* B, or nothing where it does not come after BEHIND. */
static struct best coming_after(cg *g, const et_reduce_loop *r, struct best behind, struct best b) {
    struct best none = cg_best_none(g, r);
    val less = r->real ? LLVMBuildFCmp(g->b, LLVMRealOLT, b.v, behind.v, "")
                       : cg_icmp(g, LLVMIntSLT, b.v, behind.v);
    val eq = r->real ? LLVMBuildFCmp(g->b, LLVMRealOEQ, b.v, behind.v, "")
                     : cg_icmp(g, LLVMIntEQ, b.v, behind.v);
    val later = LLVMBuildAnd(g->b, eq, cg_icmp(g, LLVMIntSGT, b.at, behind.at), "");
    val is = LLVMBuildOr(g->b, less, later, "");
    return (struct best){cg_select(g, is, b.v, none.v), cg_select(g, is, b.at, none.at)};
}

/* Adds N items to ACC, ITEM and those LANES apart behind it: all are loaded before any is combined.
 * Each goes to the lane's next part, from the first on. Of those of TOP those that come after
 * BEHIND. */
static void accumulate(cg *g, const et_reduce_loop *r, const struct best *behind, struct best *acc,
                       val item, int n) {
    val v[ET_REDUCE_UNROLL][16], at[ET_REDUCE_UNROLL];
    if (LLVMTypeOf(item) == g->i64) item = LLVMBuildTrunc(g->b, item, g->i32, "");
    for (int i = 0; i < n; i++) {
        at[i] = cg_addi(g, item, (int64_t)i * r->plan.lanes);
        item_values(g, r, at[i], v[i]);
    }
    struct best each[ET_REDUCE_UNROLL];
    for (int i = 0; i < n; i++) {
        struct best part[16];
        for (int j = 0; j < r->plan.vector; j++)
            part[j] = (struct best){
                v[i][j], indexed(r) ? cg_addi(g, cg_muli(g, at[i], r->plan.vector), j) : NULL};
        for (int j = 0; behind && j < r->plan.vector; j++)
            part[j] = coming_after(g, r, *behind, part[j]);
        for (int step = 1; step < r->plan.vector; step *= 2)
            for (int j = 0; j + step < r->plan.vector; j += 2 * step)
                part[j] = cg_best_of(g, r, part[j], part[j + step]);
        each[i] = part[0];
    }
    for (int step = 1; step < n && r->plan.lanes == 1; step *= 2) /* as lanes would combine them */
        for (int i = 0; i + step < n; i += 2 * step)
            each[i] = add_apart(g, r, each[i], each[i + step]);
    for (int i = 0; i < (r->plan.lanes == 1 ? 1 : n); i++) {
        struct best *to = &acc[i % parts_in_lane(r)];
        *to = add_apart(g, r, *to, each[i]);
    }
}

/* As `accumulate`, of one item that may lie past the last. */
static void accumulate_inside(cg *g, const et_reduce_loop *r, const struct best *behind,
                              struct best *acc, val item, val total) {
    cg_if in;
    struct best next = *acc;
    cg_if_begin(g, &in, cg_icmp(g, LLVMIntSLT, item, total));
    accumulate(g, r, behind, &next, item, 1);
    cg_if_end(g, &in);
    val old[2] = {acc->v, acc->at}, new[2] = {next.v, next.at}, v[2] = {NULL, NULL};
    for (int i = 0; i < (indexed(r) ? 2 : 1); i++)
        v[i] = cg_if_value(g, &in, new[i], old[i]);
    *acc = (struct best){v[0], v[1]};
}

/* Numbers of items: of 32 bits where a step past the last still fits. */
static LLVMTypeRef counter_type(cg *g, const et_reduce_loop *r) {
    int64_t lo, hi = r->extent;
    if (r->extent < 0) et_span(g->x, r->s->rextent, &lo, &hi);
    return hi <= INT32_MAX - (1 << 16) ? g->i32 : g->i64;
}

/* The number of items; 0 where a tensor holds a negative one. */
static val items_of(cg *g, const et_reduce_loop *r, LLVMTypeRef t) {
    int64_t lo, hi;
    if (r->extent >= 0) return LLVMConstInt(t, (uint64_t)(r->extent / r->plan.vector), false);
    val n = t == g->i64 ? cg_emit_i64(g, r->s->rextent) : cg_emit_i32(g, r->s->rextent);
    et_span(g->x, r->s->rextent, &lo, &hi);
    return lo >= 0 ? n : cg_call(g, "llvm.smax", 1, &t, 2, (val[]){n, LLVMConstNull(t)});
}

/* The values of a lane's PARTS that a loop carries, and back. */
static int carry(const et_reduce_loop *r, const struct best *acc, val *v) {
    int n = 0;
    for (int i = 0; i < parts_in_lane(r); i++) {
        v[n++] = acc[i].v;
        if (indexed(r)) v[n++] = acc[i].at;
    }
    return n;
}

static void carried(const et_reduce_loop *r, const val *v, struct best *acc) {
    for (int i = 0; i < parts_in_lane(r); i++) {
        acc[i].v = *v++;
        acc[i].at = indexed(r) ? *v++ : NULL;
    }
}

/* Items from FROM on, by lanes, after those that all lanes have several of at once. */
static void lane_rest(cg *g, const et_reduce_loop *r, const struct best *behind, val from, val sub,
                      int64_t rest, struct best *acc) {
    cg_for f;
    val v[2 * ET_REDUCE_PARTS], total = items_of(g, r, LLVMTypeOf(from)), item = NULL;
    if (r->extent >= 0) { /* fewer than are unrolled: those that all lanes have at once, too */
        int all = (int)(rest / r->plan.lanes);
        item = cg_add(g, from, sub);
        if (all) accumulate(g, r, behind, acc, item, all);
        if (rest % r->plan.lanes == 0) return;
        item = cg_addi(g, item, (int64_t)all * r->plan.lanes);
        accumulate_inside(g, r, behind, &acc[all % parts_in_lane(r)], item, total);
        return;
    }
    int looped = carry(r, acc, v);
    val step = LLVMConstInt(LLVMTypeOf(from), (uint64_t)r->plan.lanes, false);
    item = cg_add(g, cg_for_begin(g, &f, from, total, step, false, looped, v), sub);
    carried(r, v, acc);
    accumulate_inside(g, r, behind, acc, item, total);
    carry(r, acc, v);
    cg_for_end(g, &f, v);
    carried(r, v, acc);
}

/* Items sub, sub + lanes, ... of the row, several at a time while all lanes have as many. */
void cg_reduce_parts(cg *g, const et_reduce_loop *r, const struct best *behind, val sub,
                     struct best *acc) {
    bool constant = r->extent >= 0;
    int many = r->plan.unroll * r->plan.lanes;
    int64_t items = constant ? r->extent / r->plan.vector : -1,
            whole = constant ? items / many * many : -1;
    LLVMTypeRef t = counter_type(g, r);
    val total = items_of(g, r, t), from = LLVMConstNull(t), v[2 * ET_REDUCE_PARTS];
    val all_at_once = LLVMConstInt(t, (uint64_t)many, false);
    for (int i = 0; i < parts_in_lane(r); i++)
        acc[i] = cg_best_none(g, r);
    if (t == g->i64) sub = LLVMBuildZExt(g->b, sub, t, "");
    if (whole) {
        cg_for f;
        val zero = from, item = sub;
        bool loop = !constant || whole > many;
        int looped = carry(r, acc, v);
        from = LLVMConstInt(t, (uint64_t)whole, true);
        if (!constant)
            from = LLVMBuildSub(g->b, total, LLVMBuildURem(g->b, total, all_at_once, ""), "");
        if (loop)
            item =
                cg_add(g, cg_for_begin(g, &f, zero, from, all_at_once, constant, looped, v), sub);
        carried(r, v, acc);
        accumulate(g, r, behind, acc, item, r->plan.unroll);
        carry(r, acc, v);
        if (loop) cg_for_end(g, &f, v);
        carried(r, v, acc);
    }
    if (!constant || whole < items) lane_rest(g, r, behind, from, sub, items - whole, acc);
}

/* The same of a lane that has one part. */
static struct best lane_part(cg *g, const et_reduce_loop *r, val sub) {
    struct best acc[ET_REDUCE_PARTS];
    et_check(parts_in_lane(r) == 1);
    cg_reduce_parts(g, r, NULL, sub, acc);
    return acc[0];
}

/* Parts of N rows that LANES side by side have, each combined in all of these. */
void cg_reduce_fold(cg *g, const et_reduce_loop *r, struct best *b, int n, int lanes) {
    for (int m = 1; m < lanes; m *= 2) {
        struct best o[ET_REDUCE_PARTS];
        for (int i = 0; i < n; i++) {
            o[i].v = cg_shuffle_xor(g, b[i].v, m);
            o[i].at = indexed(r) ? cg_shuffle_xor(g, b[i].at, m) : NULL;
        }
        for (int i = 0; i < n; i++)
            b[i] = cg_best_of(g, r, b[i], o[i]);
    }
}

void cg_reduce_store(cg *g, const et_reduce_loop *r, struct best b) {
    const et_place *to = &r->s->to;
    val v = b.v;
    if (indexed(r)) /* of no values */
        v = cg_select(g, cg_icmp(g, LLVMIntEQ, b.at, cg_i32(g, INT_MAX)), cg_i32(g, 0), b.at);
    int mark = cg_scope(g);
    val ptr = cg_address(g, to->space, to->id, cg_offset(g, to->space, to->id, to->index));
    cg_store_n(g, to->space, to->id, ptr, 1, 1, &v);
    cg_scope_end(g, mark);
}

/* ---- by lanes of a wave, or by several waves ---- */

/* How rows of the step are shared out among lanes that are a wave at most. */
struct in_waves {
    int64_t per_round;
    val row, sub;
    bool whole, guarded; /* rows that do not exist are reduced, too; the last iteration may have
                            fewer rows */
};

static struct in_waves share_out(cg *g, const et_reduce_loop *r) {
    int per_wave = g->t->wave / r->plan.lanes;
    struct in_waves w = {.row = g->wave, .sub = g->lane};
    w.per_round = et_reduce_beside(cg_cx(g), r->plan.lanes);
    w.guarded = r->rows % w.per_round != 0;
    w.whole = et_reduce_may_all(cg_cx(g), r, r->plan.lanes);
    if (per_wave == 1) return w;
    w.row = cg_add(g, cg_muli(g, g->wave, per_wave),
                   LLVMBuildUDiv(g->b, g->lane, cg_i32(g, r->plan.lanes), ""));
    w.sub = LLVMBuildURem(g->b, g->lane, cg_i32(g, r->plan.lanes), "");
    return w;
}

static int bind_round(cg *g, const et_reduce_loop *r, const struct in_waves *w, val row,
                      int round) {
    int mark = cg_scope(g);
    cg_decode(g, cg_addi(g, row, round * w->per_round), r->s->nvars, r->s->vars, r->row_extent);
    for (int i = 0; r->plan.lanes == g->t->wave && i < r->s->nvars; i++)
        g->divergent[r->s->vars[i]] = false;
    return mark;
}

static void store_first(cg *g, const et_reduce_loop *r, const struct in_waves *w, struct best b) {
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, w->sub, cg_i32(g, 0)));
    cg_reduce_store(g, r, b);
    cg_if_end(g, &first);
}

/* One row at a time, if it exists. */
static void reduce_row(cg *g, const et_reduce_loop *r, const struct in_waves *w, val row) {
    cg_if masked;
    int mark = bind_round(g, r, w, row, 0);
    if (r->s->mask.id) cg_if_begin(g, &masked, cg_emit(g, r->s->mask));
    int inner = cg_scope(g);
    struct best b[ET_REDUCE_PARTS];
    cg_reduce_parts(g, r, NULL, w->sub, b);
    g->diverged = r->plan.lanes < g->t->wave && (w->guarded || r->s->mask.id);
    cg_reduce_fold(g, r, b, parts_in_lane(r), r->plan.lanes);
    g->diverged = false;
    for (int i = 1; i < parts_in_lane(r); i++)
        b[0] = cg_best_of(g, r, b[0], b[i]);
    store_first(g, r, w, b[0]);
    cg_scope_end(g, inner);
    if (r->s->mask.id) cg_if_end(g, &masked);
    cg_scope_end(g, mark);
}

/* Several rows at a time; those that exist are stored. */
static void reduce_rows(cg *g, const et_reduce_loop *r, const struct in_waves *w, val row) {
    struct best b[ET_REDUCE_ROWS];
    for (int i = 0; i < r->plan.rows; i++) {
        int mark = bind_round(g, r, w, row, i);
        b[i] = lane_part(g, r, w->sub);
        cg_scope_end(g, mark);
    }
    cg_reduce_fold(g, r, b, r->plan.rows, r->plan.lanes);
    for (int i = 0; i < r->plan.rows; i++) {
        cg_if masked;
        int mark = bind_round(g, r, w, row, i);
        if (r->s->mask.id) cg_if_begin(g, &masked, cg_emit(g, r->s->mask));
        int inner = cg_scope(g);
        store_first(g, r, w, b[i]);
        cg_scope_end(g, inner);
        if (r->s->mask.id) cg_if_end(g, &masked);
        cg_scope_end(g, mark);
    }
}

static void reduce_in_waves(cg *g, const et_reduce_loop *r) {
    struct in_waves w = share_out(g, r);
    int64_t step = r->plan.rows * w.per_round;
    val row = w.row, none = NULL;
    cg_for f;
    cg_if in;
    bool looped = r->rows > step;
    if (looped)
        row = cg_add(
            g,
            cg_for_begin(g, &f, cg_i32(g, 0), cg_i32(g, r->rows), cg_i32(g, step), true, 0, &none),
            row);
    if (w.guarded) cg_if_begin(g, &in, cg_icmp(g, LLVMIntSLT, row, cg_i32(g, r->rows)));
    if (w.whole)
        reduce_rows(g, r, &w, row);
    else
        reduce_row(g, r, &w, row);
    if (w.guarded) cg_if_end(g, &in);
    if (looped) cg_for_end(g, &f, &none);
}

/* Bytes of a partial result in LDS, where those of an index have it beside them. */
static int part_bytes(const et_reduce_loop *r) {
    return r->plan.as ? 4 : 8;
}

/* Stores the partial results of wave NUMBER of the N that share row ROW to LDS, in the order of the
 * waves that each of its parts is of. */
void cg_reduce_store_parts(cg *g, const et_reduce_loop *r, val row, val number, int n,
                           const struct best *b) {
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0)));
    val at = cg_add(g, cg_muli(g, row, (int64_t)n * parts_in_lane(r)), number);
    val mine = cg_gep(g, cg_gepi(g, g->lds, g->reduce_at), cg_muli(g, at, part_bytes(r)));
    for (int i = 0; i < parts_in_lane(r); i++) {
        val to = cg_gepi(g, mine, (int64_t)i * n * part_bytes(r));
        LLVMSetAlignment(LLVMBuildStore(g->b, b[i].v, to), 4);
        if (indexed(r)) LLVMSetAlignment(LLVMBuildStore(g->b, b[i].at, cg_gepi(g, to, 4)), 4);
    }
    cg_if_end(g, &first);
}

/* The N partial results of row ROW, combined in their order. */
struct best cg_reduce_waves(cg *g, const et_reduce_loop *r, val row, int n) {
    val parts = cg_muli(g, row, (int64_t)n * part_bytes(r));
    parts = cg_gep(g, cg_gepi(g, g->lds, g->reduce_at), parts);
    LLVMTypeRef t = r->real ? g->f32 : g->i32;
    struct best b = {NULL, NULL};
    for (int w = 0; w < n; w++) {
        val at = cg_gepi(g, parts, (int64_t)part_bytes(r) * w);
        struct best o = {LLVMBuildLoad2(g->b, t, at, ""), NULL};
        if (indexed(r)) o.at = LLVMBuildLoad2(g->b, g->i32, cg_gepi(g, at, 4), "");
        b = w ? cg_best_of(g, r, b, o) : o;
    }
    return b;
}

/* The frame of the row that the wave has a part of, if there is one. */
struct row {
    cg_if in, masked;
    bool guarded;
    int mark, inner;
};

static struct row row_begin(cg *g, const et_reduce_loop *r, val row) {
    struct row at = {.guarded = et_reduce_beside(cg_cx(g), r->plan.lanes) != r->rows};
    if (at.guarded) cg_if_begin(g, &at.in, cg_icmp(g, LLVMIntSLT, row, cg_i32(g, r->rows)));
    at.mark = cg_scope(g);
    cg_decode(g, row, r->s->nvars, r->s->vars, r->row_extent);
    for (int i = 0; i < r->s->nvars; i++)
        g->divergent[r->s->vars[i]] = false;
    if (r->s->mask.id) cg_if_begin(g, &at.masked, cg_emit(g, r->s->mask));
    at.inner = cg_scope(g);
    return at;
}

static void row_end(cg *g, const et_reduce_loop *r, struct row *at) {
    cg_scope_end(g, at->inner);
    if (r->s->mask.id) cg_if_end(g, &at->masked);
    cg_scope_end(g, at->mark);
    if (at->guarded) cg_if_end(g, &at->in);
}

static void reduce_by_several(cg *g, const et_reduce_loop *r) {
    bool one_row = r->plan.lanes == g->p->workgroup;
    int n = r->plan.lanes / g->t->wave;
    val row = one_row ? cg_i32(g, 0) : LLVMBuildUDiv(g->b, g->wave, cg_i32(g, n), "");
    val number = g->wave, sub = g->tid;
    if (!one_row) sub = LLVMBuildURem(g->b, g->tid, cg_i32(g, r->plan.lanes), "");
    if (!one_row) number = LLVMBuildURem(g->b, g->wave, cg_i32(g, n), "");
    struct row part = row_begin(g, r, row);
    struct best mine[ET_REDUCE_PARTS];
    cg_reduce_parts(g, r, NULL, sub, mine);
    cg_reduce_fold(g, r, mine, parts_in_lane(r), g->t->wave);
    cg_reduce_store_parts(g, r, row, number, n, mine);
    row_end(g, r, &part);
    cg_barrier(g);
    struct row whole = row_begin(g, r, row);
    struct best b = cg_reduce_waves(g, r, row, n * parts_in_lane(r));
    cg_if one;
    cg_if_begin(g, &one, cg_icmp(g, LLVMIntEQ, sub, cg_i32(g, 0)));
    cg_reduce_store(g, r, b);
    cg_if_end(g, &one);
    row_end(g, r, &whole);
    cg_barrier(g); /* partial results have been read */
}

/* ---- rows that may not exist ---- */

/* Binds row ROW, or the first one in place of a row that does not exist; OUT_IN: does it? */
static int bind_row(cg *g, const et_step *s, int row, val *out_in) {
    cg_bind(g, s->vars[0], cg_i32(g, row), false);
    int mark = cg_scope(g);
    *out_in = cg_emit(g, s->mask);
    cg_scope_end(g, mark);
    if (row) cg_bind(g, s->vars[0], cg_select(g, *out_in, cg_i32(g, row), cg_i32(g, 0)), false);
    return mark;
}

static val part_ptr(cg *g, int row, val wave) {
    val at = cg_addi(g, wave, (int64_t)row * waves(g));
    return cg_gep(g, cg_gepi(g, g->lds, g->reduce_at), cg_muli(g, at, 4));
}

/* Parts of all lanes in the first ROWS rows, whose loads are in flight together. */
static void parts_of(cg *g, const et_reduce_loop *r, int rows) {
    struct best b[ET_REDUCE_ROWS];
    val in;
    for (int i = 0; i < rows; i++) {
        int mark = bind_row(g, r->s, i, &in);
        b[i] = lane_part(g, r, g->tid);
        cg_scope_end(g, mark);
    }
    cg_reduce_fold(g, r, b, rows, g->t->wave);
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0)));
    for (int i = 0; i < rows; i++)
        LLVMSetAlignment(LLVMBuildStore(g->b, b[i].v, part_ptr(g, i, g->wave)), 4);
    cg_if_end(g, &first);
}

/* Wave number ROW combines the waves' partial results of row ROW, in their order. */
static void combine_row(cg *g, const et_reduce_loop *r, int row) {
    cg_if mine;
    val in, by = cg_icmp(g, LLVMIntEQ, g->tid, cg_i32(g, (int64_t)row * g->t->wave));
    int mark = bind_row(g, r->s, row, &in);
    cg_if_begin(g, &mine, LLVMBuildAnd(g->b, by, in, ""));
    struct best b = {NULL, NULL};
    for (int w = 0; w < waves(g); w++) {
        struct best o = {
            LLVMBuildLoad2(g->b, r->real ? g->f32 : g->i32, part_ptr(g, row, cg_i32(g, w)), ""),
            NULL};
        b = w ? cg_best_of(g, r, b, o) : o;
    }
    cg_reduce_store(g, r, b);
    cg_if_end(g, &mine);
    cg_scope_end(g, mark);
}

/* Code for the first row by itself and for all rows: most launches of programs for a few have one.
 */
static void reduce_by_all(cg *g, const et_reduce_loop *r) {
    int rows = (int)r->rows;
    val first, second;
    cg_if any, alone, more;
    cg_scope_end(g, bind_row(g, r->s, 1, &second));
    cg_scope_end(g, bind_row(g, r->s, 0, &first));
    cg_if_begin(g, &any, first);
    cg_if_begin(g, &alone, LLVMBuildNot(g->b, second, ""));
    parts_of(g, r, 1);
    cg_if_end(g, &alone);
    cg_if_begin(g, &more, second);
    parts_of(g, r, rows);
    cg_if_end(g, &more);
    cg_if_end(g, &any);
    cg_barrier(g);
    for (int i = 0; i < rows; i++)
        combine_row(g, r, i);
    cg_barrier(g); /* partial results have been read */
}

void cg_step_reduce(cg *g, const et_step *s) {
    et_reduce_loop r = et_reduce_loop_of(cg_cx(g), s);
    et_check(s->reduce.made);
    if (s->red == ET_RED_TOP)
        cg_reduce_top(g, &r);
    else if (et_reduce_by_workgroup(cg_cx(g), &r, r.plan.lanes))
        reduce_by_all(g, &r);
    else if (r.plan.lanes > g->t->wave)
        reduce_by_several(g, &r);
    else if (r.plan.wide > 1)
        cg_reduce_wide(g, &r);
    else
        reduce_in_waves(g, &r);
}
