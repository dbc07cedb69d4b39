/* Rows of a product staged in local memory: of any expression, converted on the way. */
#include "codegen/step/product/rows.h"

/* A function of an item of a staging. The first is called for some items, so that their loads
 * overlap, then the second for these. */
struct staging {
    cg *g;
    const et_contract *c;
    const et_staging *st;
    int n, align; /* elements of an item */
    val most;     /* with halves: the work-item's largest element so far; else NULL */
    val by;       /* what elements are multiplied by then */
};
struct item {
    val row, at, chunk, u, ptr, v[16];
};
typedef void each_fn(struct staging *, struct item *);

/* The less of two positive numbers, a constant where both are. */
static val least(cg *g, val a, val b) {
    return LLVMBuildSelect(g->b, cg_icmp(g, LLVMIntSLT, a, b), a, b, "");
}

/* How many slots have a chunk, at least one. */
static val slots_used(cg *g, const et_staging *st) {
    val left = LLVMBuildSub(g->b, st->chunks, st->chunk, ""), one = cg_i32(g, 1);
    left = LLVMBuildSelect(g->b, cg_icmp(g, LLVMIntSGT, left, one), left, one, "");
    return least(g, left, LLVMBuildShl(g->b, one, st->slots, ""));
}

/* Where all chunks of several rows are staged at once, and are not as many as slots: how many. */
static val chunks_of_row(const et_staging *st) {
    bool one = LLVMIsAConstantInt(st->live) && LLVMConstIntGetSExtValue(st->live) == 1;
    if (!st->all || one || !LLVMIsAConstantInt(st->chunks)) return NULL;
    int64_t n = LLVMConstIntGetSExtValue(st->chunks);
    return n & (n - 1) ? st->chunks : NULL;
}

/* What item number I is. Items are shared with k fastest, then the slot, then the
 * row. */
static void find_item(const struct staging *s, val i, struct item *out) {
    cg *g = s->g;
    const et_staging *st = s->st;
    val per_row = cg_i32(g, s->c->p.kc / s->n), u = LLVMBuildURem(g->b, i, per_row, "");
    val row = LLVMBuildUDiv(g->b, i, per_row, ""), chunk = st->chunk, at = row;
    if (st->slots) {
        val all = chunks_of_row(st), apart = cg_i32(g, 4 + st->room);
        val slot = all ? LLVMBuildURem(g->b, row, all, "") : cg_low_bits(g, row, st->slots);
        apart = LLVMBuildSub(g->b, apart, st->slots, "");
        row = all ? LLVMBuildUDiv(g->b, row, all, "") : LLVMBuildLShr(g->b, row, st->slots, "");
        /* A slot past the last chunk's is that one once more: the buffer may end there. */
        val last = LLVMBuildSub(g->b, slots_used(g, st), cg_i32(g, 1), "");
        slot = least(g, slot, last);
        at = cg_add(g, LLVMBuildShl(g->b, slot, apart, ""), row);
        chunk = cg_add(g, chunk, slot);
    }
    *out = (struct item){.row = row, .at = at, .chunk = chunk, .u = u};
}

static void find_place(const struct staging *s, struct item *it) {
    cg *g = s->g;
    val at = cg_add(g, cg_muli(g, it->at, s->st->pitch), cg_muli(g, it->u, s->n));
    it->ptr = cg_contract_staged_ptr(g, s->c, s->st->local, at);
}

static void load_item(struct staging *s, struct item *it) {
    cg *g = s->g;
    const et_staging *st = s->st;
    int mark = cg_scope(g);
    cg_bind(g, st->rowvar, st->row0 ? cg_add(g, it->row, st->row0) : it->row, true);
    cg_contract_elements(g, s->c, st->e, st->slots != NULL, it->chunk, it->u, s->n, it->v);
    cg_scope_end(g, mark);
    find_place(s, it);
}

/* The bf16 that V, an f32, was loaded as, or V: rounding it again would be two operations for each
 * element. */
static val as_loaded(cg *g, val v) {
    enum { HALF = 16 };
    bool cast = LLVMIsABitCastInst(v), either = LLVMIsASelectInst(v);
    if (either && LLVMIsNull(LLVMGetOperand(v, 2))) {
        val there = as_loaded(g, LLVMGetOperand(v, 1));
        if (LLVMTypeOf(there) != g->bf16) return v;
        return cg_select(g, LLVMGetOperand(v, 0), there, LLVMConstNull(g->bf16));
    }
    val of = cast ? LLVMGetOperand(v, 0) : NULL;
    bool low = of && LLVMIsAInstruction(of) && LLVMGetInstructionOpcode(of) == LLVMShl,
         high = of && LLVMIsAInstruction(of) && LLVMGetInstructionOpcode(of) == LLVMAnd;
    val by = low || high ? LLVMGetOperand(of, 1) : NULL, word = by ? LLVMGetOperand(of, 0) : NULL;
    if (!by || LLVMTypeOf(by) != g->i32 || !LLVMIsAConstantInt(by) ||
        (int32_t)LLVMConstIntGetSExtValue(by) != (low ? HALF : -(1 << HALF)))
        return v;
    if (high) word = LLVMBuildLShr(g->b, word, cg_i32(g, HALF), "");
    return LLVMBuildBitCast(g->b, LLVMBuildTrunc(g->b, word, g->i16, ""), g->bf16, "");
}

static void store_item(struct staging *s, struct item *it) {
    bool bf16 = s->st->all && !s->most && !s->c->p.fp8 &&
                cg_place_dtype(s->g, ET_LOAD_LOCAL, s->st->local) == ET_BF16;
    for (int i = 0; i < s->n && bf16; i++)
        it->v[i] = as_loaded(s->g, it->v[i]);
    if (s->most) s->most = cg_contract_larger(s->g, s->most, s->n, it->v);
    if (s->c->p.pair_gap > 1) cg_contract_pair_up(s->c, s->n, it->v);
    if (s->c->p.fp8)
        cg_contract_store_fp8(s->g, it->ptr, s->n, s->align, it->v);
    else
        cg_store_n(s->g, ET_LOAD_LOCAL, s->st->local, it->ptr, s->n, s->align, it->v);
}

static void load_staged(struct staging *s, struct item *it) {
    find_place(s, it);
    it->v[0] = LLVMBuildLoad2(s->g->b, cg_words(s->g, 16 * s->n), it->ptr, "");
    LLVMSetAlignment(it->v[0], (unsigned)s->align);
}

static void store_halves(struct staging *s, struct item *it) {
    val all = cg_contract_to_f16(s->g, s->c, s->n, it->v[0], s->by);
    LLVMSetAlignment(LLVMBuildStore(s->g->b, all, it->ptr), (unsigned)s->align);
}

/* All TOTAL items at once; several work-items repeat the last one, and store the same. False unless
 * the items are known to be so few. */
static bool all_items(struct staging *s, val total, each_fn *first, each_fn *then) {
    cg *g = s->g;
    int64_t wg = g->p->workgroup;
    if (!LLVMIsAConstantInt(total)) return false;
    int64_t all = LLVMConstIntGetSExtValue(total), n = (all + wg - 1) / wg;
    if (n < 2 || n > s->c->p.plan.unroll) return false;
    struct item it[ET_STAGE_UNROLL];
    for (int64_t j = 0; j < n; j++) {
        val i = cg_addi(g, g->tid, j * wg);
        if (all < (j + 1) * wg) i = least(g, i, cg_i32(g, all - 1));
        find_item(s, i, &it[j]);
        first(s, &it[j]);
    }
    if (s->st->meet) cg_barrier(g);
    for (int64_t j = 0; j < n; j++)
        then(s, &it[j]);
    return true;
}

static val count_items(const struct staging *s) {
    cg *g = s->g;
    const et_staging *st = s->st;
    val total = cg_muli(g, st->live, s->c->p.kc / s->n);
    if (!st->slots) return total;
    if (chunks_of_row(st)) return LLVMBuildMul(g->b, total, chunks_of_row(st), "");
    bool one = LLVMIsAConstantInt(st->live) && LLVMConstIntGetSExtValue(st->live) == 1;
    return one ? LLVMBuildMul(g->b, total, slots_used(g, st), "")
               : LLVMBuildShl(g->b, total, st->slots, "");
}

/* Several items at a time while all work-items have as many. */
static void each_item(struct staging *s, each_fn *first, each_fn *then) {
    cg *g = s->g;
    const et_staging *st = s->st;
    int wg = g->p->workgroup, carried = s->most != NULL;
    val total = count_items(s), whole = cg_i32(g, 0);
    if (first == load_item && all_items(s, total, first, then)) return;
    if (st->meet && first == load_item) cg_barrier(g);
    int64_t rows = st->room < 0 ? st->rows >> -st->room : (int64_t)st->rows << st->room;
    int64_t most = rows * (s->c->p.kc / s->n) / wg;
    int many = most < s->c->p.plan.unroll ? (int)most : s->c->p.plan.unroll;
    struct item it[ET_STAGE_UNROLL];
    cg_for f;
    if (many > 1) {
        val block_items = cg_i32(g, (int64_t)many * wg);
        whole = LLVMBuildSub(g->b, total, LLVMBuildURem(g->b, total, block_items, ""), "");
        val i = cg_for_begin(g, &f, cg_i32(g, 0), whole, block_items, false, carried, &s->most);
        val at = cg_add(g, i, g->tid);
        for (int j = 0; j < many; j++) {
            find_item(s, cg_addi(g, at, (int64_t)j * wg), &it[j]);
            first(s, &it[j]);
        }
        for (int j = 0; j < many; j++)
            then(s, &it[j]);
        cg_for_end(g, &f, &s->most);
    }
    val i = cg_for_begin(g, &f, whole, total, cg_i32(g, wg), false, carried, &s->most);
    val item = cg_add(g, i, g->tid);
    cg_if in;
    val old = s->most;
    cg_if_begin(g, &in, cg_icmp(g, LLVMIntULT, item, total));
    find_item(s, item, &it[0]);
    first(s, &it[0]);
    then(s, &it[0]);
    cg_if_end(g, &in);
    if (carried) s->most = cg_if_value(g, &in, s->most, old);
    cg_for_end(g, &f, &s->most);
}

void cg_contract_stage(cg *g, const et_contract *c, const et_staging *st) {
    struct staging s = {.g = g, .c = c, .st = st, .n = 16 / c->p.size};
    while (c->p.kc % s.n)
        s.n /= 2;
    s.align = st->pitch % s.n ? c->p.size : s.n * c->p.size;
    if (c->p.row_scaled) s.most = cg_f32(g, 0);
    each_item(&s, load_item, store_item);
    if (!c->p.row_scaled) return;
    s.by = cg_contract_row_factor(g, c, s.most);
    s.most = NULL;
    each_item(&s, load_staged, store_halves);
}

/* ---- the table ---- */

/* log2 of N, which is at least 1, rounded up; at most 4. */
static val log2_of(cg *g, val n) {
    if (LLVMIsAConstantInt(n)) {
        int bits = et_log2_up(LLVMConstIntGetSExtValue(n));
        return cg_i32(g, bits < 4 ? bits : 4);
    }
    val args[] = {cg_addi(g, n, -1), LLVMConstInt(g->i1, 0, false)};
    val zeros = cg_call(g, "llvm.ctlz", 1, &g->i32, 2, args); /* 32 for 1 */
    val bits = LLVMBuildSub(g->b, cg_i32(g, 32), zeros, "");
    return cg_call(g, "llvm.umin", 1, &g->i32, 2, (val[]){bits, cg_i32(g, 4)});
}

/* log2 of the chunks of a that are staged at once: as many as fit where 16 rows of one do, and no
 * more than there are. */
static val slots_of(cg *g, const et_contract *c) {
    val room = LLVMBuildSub(g->b, cg_i32(g, 4 + c->p.room), log2_of(g, c->now.mlive), "");
    return least(g, room, log2_of(g, c->now.nchunks));
}

static int begin_staged(cg *g, et_contract *c, val *carried) {
    (void)carried;
    if (c->p.chunks != 1) c->now.slots = slots_of(g, c);
    return 0;
}

static const struct et_rows ways[] = {
    [ET_ROWS_STAGED] = {.begin = begin_staged},
    [ET_ROWS_AHEAD] = {.begin = cg_rows_ahead_begin, .at = cg_rows_ahead_at},
    [ET_ROWS_OWN] = {.begin = cg_rows_own_begin,
                     .fragments = cg_rows_own_fragments,
                     .next = cg_rows_own_next},
    [ET_ROWS_PIPELINE] = {.begin = NULL},
};

const struct et_rows *cg_rows_of(const et_mainloop *p) {
    return &ways[p->plan.rows];
}
