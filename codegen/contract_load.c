/* Operands of contractions on their way in: b from memory to registers, a (and a b that is not
 * contiguous along k) to LDS. */
#include "contract.h"
#include "diag.h"

/* ---- b from memory ---- */

bool cg_contract_direct(cg *g, const et_step *s, et_expr b, int lane_k) {
    et_node_x x = *et_x(g->x, b);
    if (x.op != ET_X_LOAD || x.i2 != ET_LOAD_TENSOR) return false;
    if (g->p->tensors[x.i].shape.dtype != s->operand) return false;
    et_expr off = cg_offset(g, x.i2, x.i, x.ops);
    et_expr at0 = et_subst_var(g->x, off, s->kvar, et_int(g->x, 0));
    et_expr rest = et_sub(g->x, off, et_var(g->x, s->kvar));
    return !cg_mentions(g, rest, 1, &s->kvar) && rest.id == at0.id && cg_divisible(g, at0, lane_k);
}

LLVMTypeRef cg_fragment_type(cg *g, const et_contract *c) {
    int words = c->lane_k * c->size / 4;
    if (c->lane_k * c->size < 4) return g->i16;
    return words == 1 ? g->i32 : LLVMVectorType(g->i32, (unsigned)words);
}

/* Zero the elements of V from the last k on. */
static val mask_tail(cg *g, const et_contract *c, val v, val k) {
    val zero = LLVMConstNull(LLVMTypeOf(v));
    if (c->k >= 0 && c->k % c->lane_k == 0)
        return cg_select(g, cg_icmp(g, LLVMIntSLT, k, c->kend), v, zero);
    LLVMTypeRef e = c->size == 2 ? g->i16 : g->i32;
    LLVMTypeRef vt = LLVMVectorType(e, (unsigned)c->lane_k);
    val elems = LLVMBuildBitCast(g->b, v, vt, "");
    val keep[16];
    for (int j = 0; j < c->lane_k; j++)
        keep[j] = cg_icmp(g, LLVMIntSLT, cg_addi(g, k, j), c->kend);
    elems = cg_select(g, cg_vector(g, g->i1, c->lane_k, keep), elems, LLVMConstNull(vt));
    return LLVMBuildBitCast(g->b, elems, LLVMTypeOf(v), "");
}

static val load_fragment(cg *g, const et_contract *c, const cg_addr *row, val k0, int u) {
    val base = cg_gep(g, row->base, LLVMBuildSExt(g->b, cg_muli(g, k0, c->size), g->i64, ""));
    val k = cg_add(g, k0, cg_addi(g, c->lane_k0, (int64_t)u * c->unit_k));
    val off = LLVMBuildZExt(g->b, row->lane, g->i64, "");
    val ptr = cg_gepi(g, cg_gep(g, base, off), (int64_t)u * c->unit_k * c->size);
    if (c->tail) { /* past the end: the row's first elements instead, then zero */
        val start = LLVMBuildSub(g->b, row->lane, cg_muli(g, c->lane_k0, c->size), "");
        start = cg_gep(g, row->base, LLVMBuildZExt(g->b, start, g->i64, ""));
        ptr = cg_select(g, cg_icmp(g, LLVMIntSLT, k, c->kend), ptr, start);
    }
    /* Not marked invariant, which would let LLVM sink it below the wait it is to hide in. */
    val v = LLVMBuildLoad2(g->b, cg_fragment_type(g, c), ptr, "");
    LLVMSetAlignment(v, (unsigned)(c->lane_k * c->size));
    return c->tail ? mask_tail(g, c, v, k) : v;
}

void cg_contract_load(cg *g, const et_contract *c, val chunk, val *out) {
    val k0 = cg_add(g, cg_muli(g, chunk, c->kc), c->kpart);
    for (int u = 0; u < c->units; u++)
        for (int i = 0; i < c->s->nacc; i++)
            for (int ns = 0; ns < c->nsub; ns++)
                *out++ = load_fragment(g, c, &c->row[i][ns], k0, u);
}

void cg_contract_rows(cg *g, et_contract *c) {
    const et_step *s = c->s;
    val last = cg_addi(g, cg_emit(g, s->nlive), -1);
    for (int ns = 0; ns < c->nsub; ns++) {
        val n = cg_addi(g, cg_add(g, c->n0, c->lane_row), (int64_t)ns * 16);
        int64_t live;
        if (!et_is_int(g->x, s->nlive, &live) || live < s->tn) /* rows that are not there */
            n = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){n, last});
        for (int i = 0; i < s->nacc; i++) {
            int mark = cg_scope(g);
            et_node_x x = *et_x(g->x, s->b[i]);
            cg_bind(g, s->nvar, n, true);
            et_expr off = cg_offset(g, x.i2, x.i, x.ops);
            off = et_subst_var(g->x, off, s->kvar, et_int(g->x, 0));
            cg_addr a = cg_address_split(g, x.i2, x.i, off);
            val lane = cg_muli(g, c->lane_k0, c->size);
            a.lane = a.lane ? cg_add(g, a.lane, lane) : lane;
            c->row[i][ns] = a;
            cg_scope_end(g, mark);
        }
    }
}

/* ---- staging ---- */

/* N elements from k0 + k on, where all or none of them exist. */
static void whole_or_zero(cg *g, const et_contract *c, const et_stage *st, val k, et_expr base,
                          int n, val *v) {
    val zero = cg_f32(g, 0);
    cg_if in;
    cg_if_begin(g, &in, cg_icmp(g, LLVMIntSLT, k, c->kend));
    int mark = cg_scope(g);
    cg_emit_n(g, st->e, c->s->kvar, base, n, v);
    for (int j = 0; j < n; j++)
        if (LLVMTypeOf(v[j]) == g->i32) v[j] = LLVMBuildSIToFP(g->b, v[j], g->f32, "");
    cg_scope_end(g, mark);
    cg_if_end(g, &in);
    for (int j = 0; j < n; j++) {
        val phi = LLVMBuildPhi(g->b, g->f32, "");
        LLVMAddIncoming(phi, (val[]){v[j], zero}, (block[]){in.then, in.otherwise}, 2);
        v[j] = phi;
    }
}

/* One by one, each at a k that exists. */
static void each_or_zero(cg *g, const et_contract *c, const et_stage *st, val k, int n, val *v) {
    for (int j = 0; j < n; j++) {
        int mark = cg_scope(g);
        val kj = cg_addi(g, k, j), in = cg_icmp(g, LLVMIntSLT, kj, c->kend);
        cg_bind(g, c->s->kvar, cg_select(g, in, kj, cg_i32(g, 0)), true);
        v[j] = cg_select(g, in, cg_emit_f32(g, st->e), cg_f32(g, 0));
        cg_scope_end(g, mark);
    }
}

val cg_low_bits(cg *g, val v, val bits) {
    val one = cg_i32(g, 1);
    return LLVMBuildAnd(g->b, v, LLVMBuildSub(g->b, LLVMBuildShl(g->b, one, bits, ""), one, ""),
                        "");
}

/* Element k of a chunk that is there, into row ROW of slot SLOT. */
static void stage_item(cg *g, const et_contract *c, const et_stage *st, int uvar, val chunk,
                       val row, int n) {
    val column = cg_muli(g, g->var[uvar], n), k = column;
    if (st->row0) cg_bind(g, st->rowvar, cg_add(g, g->var[st->rowvar], st->row0), true);
    et_expr base = et_int(g->x, 0);
    if (c->kc > n) base = et_mul(g->x, et_var(g->x, uvar), et_int(g->x, n));
    if (c->chunks != 1) {
        int64_t most = c->chunks < 0 ? INT32_MAX / c->kc : c->chunks;
        int cvar = cg_fresh_var(g, "c", most);
        cg_bind(g, cvar, chunk, st->slots != NULL);
        base = et_add(g->x, base, et_mul(g->x, et_var(g->x, cvar), et_int(g->x, c->kc)));
        k = cg_add(g, k, cg_muli(g, chunk, c->kc));
    }
    val v[16];
    if (!c->tail)
        cg_emit_n(g, st->e, c->s->kvar, base, n, v);
    else if (c->k > 0 && c->k % n == 0)
        whole_or_zero(g, c, st, k, base, n, v);
    else
        each_or_zero(g, c, st, k, n, v);
    val ptr = cg_local_ptr(g, st->local, cg_add(g, cg_muli(g, row, st->pitch), column));
    cg_store_n(g, ET_LOAD_LOCAL, st->local, ptr, n, st->pitch % n ? c->size : n * c->size, v);
}

/* Items are shared with k fastest, then the slot, then the row. */
void cg_contract_stage(cg *g, const et_contract *c, const et_stage *st) {
    int n = 16 / c->size;
    while (c->kc % n)
        n /= 2;
    int64_t per_row = c->kc / n;
    val total = cg_muli(g, st->live, per_row);
    if (st->slots) total = LLVMBuildShl(g->b, total, st->slots, "");
    cg_items items;
    val item = cg_items_begin(g, &items, total, -1);
    int mark = cg_scope(g), uvar = cg_fresh_var(g, "u", per_row), vars[] = {st->rowvar, uvar};
    cg_decode(g, item, 2, vars, (int64_t[]){st->rows > 1 ? st->rows : 2, per_row});
    if (!st->slots) {
        stage_item(g, c, st, uvar, st->chunk, g->var[st->rowvar], n);
    } else {
        val both = g->var[st->rowvar], slot = cg_low_bits(g, both, st->slots);
        val row = LLVMBuildLShr(g->b, both, st->slots, "");
        val apart = LLVMBuildSub(g->b, cg_i32(g, 4), st->slots, "");
        val at = cg_add(g, LLVMBuildShl(g->b, slot, apart, ""), row);
        val chunk = cg_add(g, st->chunk, slot), k0 = cg_muli(g, chunk, c->kc);
        cg_bind(g, st->rowvar, row, true);
        cg_if there;
        cg_if_begin(g, &there, cg_icmp(g, LLVMIntSLT, k0, c->kend));
        stage_item(g, c, st, uvar, chunk, at, n);
        cg_if_end(g, &there);
    }
    cg_scope_end(g, mark);
    cg_items_end(g, &items);
}
