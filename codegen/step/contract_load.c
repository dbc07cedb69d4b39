/* Operands of contractions on their way in: b from memory to registers, a (and a b that is not
 * contiguous along k) to LDS. */
#include "codegen/step/contract.h"
#include "ir/base/diag.h"
#include <string.h>

/* ---- b from memory ---- */

static LLVMTypeRef bits_type(cg *g, int bytes) {
    return bytes < 4 ? g->i16 : bytes == 4 ? g->i32 : LLVMVectorType(g->i32, (unsigned)bytes / 4);
}

LLVMTypeRef cg_fragment_type(cg *g, const et_contract *c) {
    return bits_type(g, c->p.lane_k * c->p.size);
}

val cg_contract_mask(cg *g, const et_contract *c, val v, val k) {
    val zero = LLVMConstNull(LLVMTypeOf(v));
    if (c->p.k >= 0 && c->p.k % c->p.piece == 0)
        return cg_select(g, cg_icmp(g, LLVMIntSLT, k, c->kend), v, zero);
    LLVMTypeRef e = c->p.size == 1 ? g->i8 : c->p.size == 2 ? g->i16 : g->i32;
    LLVMTypeRef vt = LLVMVectorType(e, (unsigned)c->p.piece);
    val elems = LLVMBuildBitCast(g->b, v, vt, "");
    val keep[16];
    for (int j = 0; j < c->p.piece; j++)
        keep[j] = cg_icmp(g, LLVMIntSLT, cg_addi(g, k, j), c->kend);
    elems = cg_select(g, cg_vector(g, g->i1, c->p.piece, keep), elems, LLVMConstNull(vt));
    return LLVMBuildBitCast(g->b, elems, LLVMTypeOf(v), "");
}

/* How far K elements are, in bytes: of a row that 32 bits hold, computed in these. */
static val k_bytes(cg *g, const et_contract *c, val k) {
    int64_t lo, hi;
    et_span(g->x, c->p.extent, &lo, &hi);
    if (hi <= INT32_MAX / c->p.size)
        return LLVMBuildSExt(g->b, cg_muli(g, k, c->p.size), g->i64, "");
    return cg_muli(g, LLVMBuildSExt(g->b, k, g->i64, ""), c->p.size);
}

/* The piece of a row that is AHEAD elements past the lane's place at K0. */
static val load_piece(cg *g, const et_contract *c, const cg_addr *row, val k0, int64_t ahead) {
    val base = cg_gep(g, row->base, k_bytes(g, c, k0));
    val k = cg_add(g, k0, cg_addi(g, c->lane_k0, ahead));
    val off = LLVMBuildZExt(g->b, row->lane, g->i64, "");
    val ptr = cg_gepi(g, cg_gep(g, base, off), ahead * c->p.size);
    if (c->p.tail) { /* past the end: the row's first elements instead, then zero */
        val start = LLVMBuildSub(g->b, row->lane, cg_muli(g, c->lane_k0, c->p.size), "");
        start = cg_gep(g, row->base, LLVMBuildZExt(g->b, start, g->i64, ""));
        ptr = cg_select(g, cg_icmp(g, LLVMIntSLT, k, c->kend), ptr, start);
    }
    /* Not marked invariant, which would let LLVM sink it below the wait it is to hide in. */
    val v = LLVMBuildLoad2(g->b, bits_type(g, c->p.piece * c->p.size), ptr, "");
    LLVMSetAlignment(v, (unsigned)(c->p.piece * c->p.size));
    return c->p.tail ? cg_contract_mask(g, c, v, k) : v;
}

val cg_contract_fragment(cg *g, const et_contract *c, const cg_addr *row, val k0, int u) {
    int64_t ahead = (int64_t)u * c->p.unit_k;
    val v = load_piece(g, c, row, k0, ahead), words[16];
    if (c->p.lane_k == c->p.piece) return v;
    int per = c->p.piece * c->p.size / 4, n = 0;
    for (int k = 0; k < c->p.lane_k; k += c->p.piece) {
        if (k) v = load_piece(g, c, row, k0, ahead + k);
        for (int i = 0; i < per; i++)
            words[n++] = cg_extract(g, v, i);
    }
    return cg_vector(g, g->i32, n, words);
}

void cg_contract_load(cg *g, const et_contract *c, val chunk, et_source which, val *out) {
    if (c->p.coded) {
        cg_contract_raws(g, c, chunk, which, out);
        return;
    }
    if (c->p.packed) {
        cg_contract_packed(g, c, chunk, out);
        return;
    }
    if (c->p.streamed) {
        cg_contract_take(g, c, out);
        return;
    }
    val k0 = cg_add(g, cg_muli(g, chunk, c->p.kc), c->kpart);
    for (int u = 0; u < c->p.units; u++)
        for (int i = 0; i < c->p.products; i++)
            for (int r = 0; r < c->p.nsub * c->p.rows_n; r++)
                *out++ = cg_contract_fragment(g, c, &c->row[i][r], k0, u);
}

cg_addr cg_contract_row(cg *g, const et_contract *c, et_expr e, int rowvar, val r) {
    int mark = cg_scope(g);
    et_node_x x = *et_x(g->x, e);
    cg_bind(g, rowvar, r, true);
    et_expr off = cg_offset(g, x.i2, x.i, x.ops);
    off = et_subst_var(g->x, off, c->p.s->kvar, et_int(g->x, 0));
    cg_addr a = cg_address_split(g, x.i2, x.i, off);
    val lane = cg_muli(g, c->lane_k0, c->p.size);
    a.lane = a.lane ? cg_add(g, a.lane, lane) : lane;
    cg_scope_end(g, mark);
    return a;
}

/* Row N of those of all products one behind the other, which neighbouring lanes may have of two. */
static cg_addr row_of_all(cg *g, const et_contract *c, val n) {
    const et_step *s = c->p.s;
    val last = cg_addi(g, cg_emit_i32(g, s->nlive), -1), at = NULL;
    cg_addr all = {.lane = cg_muli(g, c->lane_k0, c->p.size)};
    for (int i = 0; i < s->nacc; i++) {
        val row = cg_addi(g, n, -(int64_t)i * s->tn);
        val own = cg_icmp(g, LLVMIntSGE, row, cg_i32(g, 0));
        row = cg_call(g, "llvm.smax", 1, &g->i32, 2, (val[]){row, cg_i32(g, 0)});
        row = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){row, last});
        cg_addr a = cg_contract_row(g, c, s->b[i], s->nvar, row);
        val lane = LLVMBuildSub(g->b, a.lane, all.lane, "");
        at = cg_gep(g, a.base, LLVMBuildZExt(g->b, lane, g->i64, ""));
        all.base = i ? cg_select(g, own, at, all.base) : at;
    }
    return all;
}

void cg_contract_rows(cg *g, et_contract *c) {
    const et_step *s = c->p.s;
    if (c->p.packed) {
        cg_contract_packed_rows(g, c);
        return;
    }
    val last = cg_addi(g, cg_emit_i32(g, s->nlive), -1);
    for (int r = 0; r < c->p.nsub * c->p.rows_n; r++) {
        int64_t ahead = r / c->p.rows_n * 16 + et_deal_value(&c->p.fr->layout->n, r % c->p.rows_n);
        val n = cg_addi(g, cg_add(g, c->n0, c->lane_n), ahead);
        int64_t live;
        if (c->p.side_by_side) {
            c->row[0][r] = row_of_all(g, c, n);
            continue;
        }
        if (!et_is_int(g->x, s->nlive, &live) || live < s->tn) /* rows that are not there */
            n = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){n, last});
        c->row_n[r] = n;
        if (c->p.coded) continue;
        for (int i = 0; i < s->nacc; i++)
            c->row[i][r] = cg_contract_row(g, c, s->b[i], s->nvar, n);
    }
}

/* ---- staging ---- */

val cg_low_bits(cg *g, val v, val bits) {
    val one = cg_i32(g, 1);
    return LLVMBuildAnd(g->b, v, LLVMBuildSub(g->b, LLVMBuildShl(g->b, one, bits, ""), one, ""),
                        "");
}

/* One by one, each at a k that exists. */
static void each_or_zero(cg *g, const et_contract *c, et_expr e, val k, int n, val *v) {
    for (int j = 0; j < n; j++) {
        int mark = cg_scope(g);
        val kj = cg_addi(g, k, j), in = cg_icmp(g, LLVMIntSLT, kj, c->kend);
        cg_bind(g, c->p.s->kvar, cg_select(g, in, kj, cg_i32(g, 0)), true);
        v[j] = cg_select(g, in, cg_emit_f32(g, e), cg_f32(g, 0));
        cg_scope_end(g, mark);
    }
}

/* All of which exist or none, or each is looked at. */
void cg_contract_elements(cg *g, const et_contract *c, et_expr e, bool divergent, val chunk, val u,
                          int n, val *v) {
    val k = cg_add(g, cg_muli(g, chunk, c->p.kc), cg_muli(g, u, n)), in = NULL;
    if (c->p.tail && (c->p.k < 0 || c->p.k % n)) {
        each_or_zero(g, c, e, k, n, v);
        return;
    }
    if (c->p.tail) { /* past the end: the chunk's first column, then zero */
        in = cg_icmp(g, LLVMIntSLT, k, c->kend);
        u = cg_select(g, in, u, cg_i32(g, 0));
    }
    et_expr base = et_int(g->x, 0);
    if (c->p.kc > n) {
        int uvar = cg_fresh_var(g, "u", c->p.kc / n);
        cg_bind(g, uvar, u, true);
        base = et_mul(g->x, et_var(g->x, uvar), et_int(g->x, n));
    }
    if (c->p.chunks != 1) {
        int cvar = cg_fresh_var(g, "c", c->p.chunks < 0 ? INT32_MAX / c->p.kc : c->p.chunks);
        cg_bind(g, cvar, chunk, divergent);
        base = et_add(g->x, base, et_mul(g->x, et_var(g->x, cvar), et_int(g->x, c->p.kc)));
    }
    cg_emit_n(g, e, c->p.s->kvar, base, n, v);
    for (int j = 0; j < n; j++) {
        v[j] = cg_to_f32(g, v[j]);
        if (in) v[j] = cg_select(g, in, v[j], cg_f32(g, 0));
    }
}

/* What is done with all items of a staging: first one thing with some of them, so that their loads
 * overlap, and then the other. */
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

/* What item number I is. Items are shared with k fastest, then the slot, then the
 * row. */
static void find_item(const struct staging *s, val i, struct item *out) {
    cg *g = s->g;
    const et_staging *st = s->st;
    val per_row = cg_i32(g, s->c->p.kc / s->n), u = LLVMBuildURem(g->b, i, per_row, "");
    val row = LLVMBuildUDiv(g->b, i, per_row, ""), chunk = st->chunk, at = row;
    if (st->slots) {
        val slot = cg_low_bits(g, row, st->slots), apart = cg_i32(g, 4 + st->room);
        apart = LLVMBuildSub(g->b, apart, st->slots, "");
        row = LLVMBuildLShr(g->b, row, st->slots, "");
        at = cg_add(g, LLVMBuildShl(g->b, slot, apart, ""), row);
        chunk = cg_add(g, chunk, slot); /* a slot past the last chunk repeats it, unread */
        val last = LLVMBuildSub(g->b, st->chunks, cg_i32(g, 1), "");
        chunk = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){chunk, last});
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

void cg_contract_pair_up(const et_contract *c, int n, val *v) {
    val was[16];
    memcpy(was, v, (size_t)n * sizeof *v);
    for (int i = 0; i < n; i++) {
        int two = 2 * c->p.apart, in = i % two;
        v[i] = was[i - in + in / 2 + in % 2 * c->p.apart];
    }
}

static void store_item(struct staging *s, struct item *it) {
    if (s->most) s->most = cg_contract_larger(s->g, s->most, s->n, it->v);
    if (s->c->p.apart > 1) cg_contract_pair_up(s->c, s->n, it->v);
    if (s->c->p.codes)
        cg_contract_store_codes(s->g, it->ptr, s->n, s->align, it->v);
    else
        cg_store_n(s->g, ET_LOAD_LOCAL, s->st->local, it->ptr, s->n, s->align, it->v);
}

static void load_staged(struct staging *s, struct item *it) {
    find_place(s, it);
    it->v[0] = LLVMBuildLoad2(s->g->b, cg_words(s->g, 16 * s->n), it->ptr, "");
    LLVMSetAlignment(it->v[0], (unsigned)s->align);
}

static void store_halves(struct staging *s, struct item *it) {
    val all = cg_contract_halve(s->g, s->c, s->n, it->v[0], s->by);
    LLVMSetAlignment(LLVMBuildStore(s->g->b, all, it->ptr), (unsigned)s->align);
}

/* Several items at a time while every work-item has them. */
static void each_item(struct staging *s, each_fn *first, each_fn *then) {
    enum { UNROLL = 4 };
    cg *g = s->g;
    const et_staging *st = s->st;
    int wg = g->p->workgroup, carried = s->most != NULL;
    val total = cg_muli(g, st->live, s->c->p.kc / s->n), whole = cg_i32(g, 0);
    if (st->slots) total = LLVMBuildShl(g->b, total, st->slots, "");
    int64_t rows = st->room < 0 ? st->rows >> -st->room : (int64_t)st->rows << st->room;
    int64_t most = rows * (s->c->p.kc / s->n) / wg;
    int many = most < UNROLL ? (int)most : UNROLL;
    struct item it[UNROLL];
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
    if (carried) {
        val phi = LLVMBuildPhi(g->b, g->f32, "");
        LLVMAddIncoming(phi, (val[]){s->most, old}, (block[]){in.then, in.otherwise}, 2);
        s->most = phi;
    }
    cg_for_end(g, &f, &s->most);
}

void cg_contract_stage(cg *g, const et_contract *c, const et_staging *st) {
    struct staging s = {.g = g, .c = c, .st = st, .n = 16 / c->p.size};
    while (c->p.kc % s.n)
        s.n /= 2;
    s.align = st->pitch % s.n ? c->p.size : s.n * c->p.size;
    if (c->p.halves) s.most = cg_f32(g, 0);
    each_item(&s, load_item, store_item);
    if (!c->p.halves) return;
    s.by = cg_contract_row_factor(g, c, s.most);
    s.most = NULL;
    each_item(&s, load_staged, store_halves);
}

/* Of a b that is computed: is raw number I from WHICH? */
static bool is_of(const et_contract *c, int i, et_source which) {
    return which == ET_FROM_BOTH || cg_contract_raw_source(c, i) == which;
}

void cg_contract_load_later(cg *g, const et_contract *c, val chunk, val chunks, et_source which,
                            val *out) {
    cg_if more;
    cg_if_begin(g, &more, cg_icmp(g, LLVMIntSLT, chunk, chunks));
    cg_contract_load(g, c, chunk, which, out);
    cg_if_end(g, &more);
    for (int i = 0; i < c->p.nload; i++) {
        if (!is_of(c, i, which)) continue;
        LLVMTypeRef t = LLVMTypeOf(out[i]);
        val phi = LLVMBuildPhi(g->b, t, "");
        LLVMAddIncoming(phi, (val[]){out[i], LLVMGetPoison(t)},
                        (block[]){more.then, more.otherwise}, 2);
        out[i] = phi;
    }
}

/* ---- b that a tensor chooses ---- */

/* The first weights, in flight by a guess (ir/product/early.c). */
struct et_early {
    et_guess of;
    val was[ET_MOST_GUESSED]; /* what each of its loads brought */
};

static void load_first(cg *g, et_contract *c) {
    cg_contract_load(g, c, cg_i32(g, 0), ET_FROM_BOTH, c->first[0]);
    if (c->p.deep) cg_contract_load(g, c, cg_i32(g, 1), ET_FROM_BOTH, c->first[1]);
}

/* FIRST of C where WAY was gone, which has just ended, else OTHER's; NULL: of no use. */
static void either(cg *g, et_contract *c, const cg_if *way, val other[ET_DEEP][ET_MAX_FRAGMENTS]) {
    for (int d = 0; d < (c->p.deep ? ET_DEEP : 1); d++)
        for (int i = 0; i < c->p.nload; i++) {
            val v = c->first[d][i];
            val phi = LLVMBuildPhi(g->b, LLVMTypeOf(v), "");
            val o = other ? other[d][i] : LLVMGetPoison(LLVMTypeOf(v));
            LLVMAddIncoming(phi, (val[]){v, o}, (block[]){way->then, way->otherwise}, 2);
            c->first[d][i] = phi;
        }
}

void cg_contract_guess(cg *g, et_contract *c) {
    struct et_early *u = c->guess = et_alloc(g->arena, sizeof *u);
    et_check(et_early_guess(cg_cx(g), &c->p, &u->of));
    int mark = cg_scope(g);
    for (int i = 0; i < u->of.n; i++)
        u->was[i] = cg_emit(g, u->of.load[i]); /* and so it is in this scope */
    val any = LLVMBuildZExt(g->b, cg_emit(g, c->p.cond), g->i32, "");
    cg_if some;
    cg_if_begin(g, &some, cg_icmp(g, LLVMIntNE, cg_uniform(g, any), cg_i32(g, 0)));
    int inner = cg_scope(g);
    c->kend = cg_emit_i32(g, c->p.extent);
    cg_contract_rows(g, c);
    load_first(g, c);
    cg_scope_end(g, inner);
    cg_if_end(g, &some);
    either(g, c, &some, NULL);
    cg_scope_end(g, mark);
}

void cg_contract_guessed(cg *g, et_contract *c) {
    const struct et_early *u = c->guess;
    val was[ET_DEEP][ET_MAX_FRAGMENTS], other = LLVMConstInt(g->i1, 0, false);
    for (int i = 0; i < u->of.n; i++) {
        val differs = cg_icmp(g, LLVMIntNE, u->was[i], cg_emit(g, u->of.load[i]));
        other = LLVMBuildOr(g->b, other, differs, "");
    }
    memcpy(was, c->first, sizeof was);
    other = LLVMBuildZExt(g->b, other, g->i32, "");
    cg_if miss;
    cg_if_begin(g, &miss, cg_icmp(g, LLVMIntNE, cg_uniform(g, other), cg_i32(g, 0)));
    int mark = cg_scope(g);
    load_first(g, c);
    cg_scope_end(g, mark);
    cg_if_end(g, &miss);
    either(g, c, &miss, was);
}
