/* Operands of products from memory: pieces of rows as they lie, and elements of any expression. */
#include "codegen/step/operand/operand.h"
#include "ir/base/diag.h"
#include <string.h>

static LLVMTypeRef bits_type(cg *g, int bytes) {
    return bytes < 4 ? g->i16 : bytes == 4 ? g->i32 : LLVMVectorType(g->i32, (unsigned)bytes / 4);
}

LLVMTypeRef cg_fragment_type(cg *g, const et_contract *c) {
    return bits_type(g, c->p.lane_k * c->p.size);
}

val cg_contract_mask(cg *g, const et_contract *c, val v, val k) {
    val zero = LLVMConstNull(LLVMTypeOf(v));
    if (c->p.k >= 0 && c->p.k % c->p.piece == 0)
        return cg_select(g, cg_icmp(g, LLVMIntSLT, k, c->now.kend), v, zero);
    LLVMTypeRef e = c->p.size == 1 ? g->i8 : c->p.size == 2 ? g->i16 : g->i32;
    LLVMTypeRef vt = LLVMVectorType(e, (unsigned)c->p.piece);
    val elems = LLVMBuildBitCast(g->b, v, vt, "");
    val keep[16];
    for (int j = 0; j < c->p.piece; j++)
        keep[j] = cg_icmp(g, LLVMIntSLT, cg_addi(g, k, j), c->now.kend);
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

val cg_contract_halves(cg *g, val low, val high) {
    val word[4];
    for (int i = 0; i < 4; i++)
        word[i] = cg_extract(g, i < 2 ? low : high, i % 2);
    return cg_vector(g, g->i32, 4, word);
}

/* N elements of a row that are OFFSET past the lane's place at K0. */
static val load_some(cg *g, const et_contract *c, const cg_addr *row, val k0, int64_t offset,
                     int n) {
    val base = cg_gep(g, row->base, k_bytes(g, c, k0));
    val k = cg_add(g, k0, cg_addi(g, c->at.lane_k0, offset));
    val off = LLVMBuildZExt(g->b, row->lane, g->i64, "");
    val ptr = cg_gepi(g, cg_gep(g, base, off), offset * c->p.size);
    if (c->p.tail) { /* past the end: the row's first elements instead, then zero */
        val start = LLVMBuildSub(g->b, row->lane, cg_muli(g, c->at.lane_k0, c->p.size), "");
        start = cg_gep(g, row->base, LLVMBuildZExt(g->b, start, g->i64, ""));
        ptr = cg_select(g, cg_icmp(g, LLVMIntSLT, k, c->now.kend), ptr, start);
    }
    /* Not `invariant`: LLVM would sink it below the wait. */
    val v = LLVMBuildLoad2(g->b, bits_type(g, n * c->p.size), ptr, "");
    LLVMSetAlignment(v, (unsigned)(n * c->p.size));
    return c->p.tail ? cg_contract_mask(g, c, v, k) : v;
}

/* A piece of a row. */
static val load_piece(cg *g, const et_contract *c, const cg_addr *row, val k0, int64_t offset) {
    int n = c->p.piece;
    if (!c->p.in_steps) return load_some(g, c, row, k0, offset, n);
    val low = load_some(g, c, row, k0, offset, n / 2);
    return cg_contract_halves(g, low, load_some(g, c, row, k0, offset + c->p.unit_k / 2, n / 2));
}

val cg_contract_fragment(cg *g, const et_contract *c, const cg_addr *row, val k0, int u) {
    int64_t offset = (int64_t)u * c->p.unit_k;
    val v = load_piece(g, c, row, k0, offset), words[16];
    if (c->p.lane_k == c->p.piece) return v;
    int per = c->p.piece * c->p.size / 4, n = 0;
    for (int k = 0; k < c->p.lane_k; k += c->p.piece) {
        if (k) v = load_piece(g, c, row, k0, offset + k);
        for (int i = 0; i < per; i++)
            words[n++] = cg_extract(g, v, i);
    }
    return cg_vector(g, g->i32, n, words);
}

cg_addr cg_contract_row(cg *g, const et_contract *c, et_expr e, int rowvar, val r) {
    int mark = cg_scope(g);
    et_node_x x = *et_x(g->x, e);
    cg_bind(g, rowvar, r, true);
    et_expr off = cg_offset(g, x.i2, x.i, x.ops);
    off = et_subst_var(g->x, off, c->p.s->kvar, et_int(g->x, 0));
    cg_addr a = cg_address_split(g, x.i2, x.i, off);
    val lane = cg_muli(g, c->at.lane_k0, c->p.size);
    a.lane = a.lane ? cg_add(g, a.lane, lane) : lane;
    cg_scope_end(g, mark);
    return a;
}

/* Row N of those of all products one behind the other, which neighbouring lanes may have of two. */
static cg_addr row_of_all(cg *g, const et_contract *c, val n) {
    const et_step *s = c->p.s;
    val last = cg_addi(g, cg_emit_i32(g, s->nlive), -1), at = NULL;
    cg_addr all = {.lane = cg_muli(g, c->at.lane_k0, c->p.size)};
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
    val last = cg_addi(g, cg_emit_i32(g, s->nlive), -1);
    for (int r = 0; r < c->p.nsub * c->p.rows_n; r++) {
        int64_t offset = r / c->p.rows_n * 16 + et_deal_value(&c->p.fr->layout->n, r % c->p.rows_n);
        val n = cg_addi(g, cg_add(g, c->at.n0, c->at.lane_n), offset);
        int64_t live;
        if (c->p.side_by_side) {
            c->at.row[0][r] = row_of_all(g, c, n);
            continue;
        }
        if (!et_is_int(g->x, s->nlive, &live) || live < s->tn) /* rows that do not exist */
            n = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){n, last});
        c->at.row_n[r] = n;
        if (c->p.computed) continue;
        for (int i = 0; i < s->nacc; i++)
            c->at.row[i][r] = cg_contract_row(g, c, s->b[i], s->nvar, n);
    }
}

val cg_low_bits(cg *g, val v, val bits) {
    val one = cg_i32(g, 1);
    return LLVMBuildAnd(g->b, v, LLVMBuildSub(g->b, LLVMBuildShl(g->b, one, bits, ""), one, ""),
                        "");
}

/* One by one, each at a k that exists. */
static void each_or_zero(cg *g, const et_contract *c, et_expr e, val k, int n, val *v) {
    for (int j = 0; j < n; j++) {
        int mark = cg_scope(g);
        val kj = cg_addi(g, k, j), in = cg_icmp(g, LLVMIntSLT, kj, c->now.kend);
        cg_bind(g, c->p.s->kvar, cg_select(g, in, kj, cg_i32(g, 0)), true);
        v[j] = cg_select(g, in, cg_emit_f32(g, e), cg_f32(g, 0));
        cg_scope_end(g, mark);
    }
}

/* N elements, all of which exist or none: those of number U of so many in the chunk. */
static void some_or_zero(cg *g, const et_contract *c, et_expr e, bool divergent, val chunk, val u,
                         int n, val *v) {
    val k = cg_add(g, cg_muli(g, chunk, c->p.kc), cg_muli(g, u, n)), in = NULL;
    if (c->p.tail) { /* past the end: the chunk's first column, then zero */
        in = cg_icmp(g, LLVMIntSLT, k, c->now.kend);
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

/* As many at a time as k is a multiple of. */
void cg_contract_elements(cg *g, const et_contract *c, et_expr e, bool divergent, val chunk, val u,
                          int n, val *v) {
    int some = n;
    while (c->p.tail && some > 1 && (c->p.k < 0 || c->p.k % some))
        some /= 2;
    if (some == 1 && n > 1) {
        val k = cg_add(g, cg_muli(g, chunk, c->p.kc), cg_muli(g, u, n));
        each_or_zero(g, c, e, k, n, v);
        return;
    }
    for (int j = 0; j < n; j += some) {
        val at = some < n ? cg_addi(g, cg_muli(g, u, n / some), j / some) : u;
        some_or_zero(g, c, e, divergent, chunk, at, some, v + j);
    }
}
