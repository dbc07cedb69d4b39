/* CONTRACT steps: matrix instructions over chunks of k.
 *
 * A wave owns a group of n rows of b and a part of every chunk of k. Rows of a pass through LDS;
 * rows of b come straight from memory to registers, one group of loads ahead of the matrix
 * instructions that use them, the first group even ahead of the tile's waits. b is the A operand of
 * the instruction, so a lane ends up with four consecutive n of one m. */
#include "contract.h"
#include "diag.h"

/* ---- what the step looks like from one lane ---- */

static bool is_direct(cg *g, const et_step *s, et_expr b, int lane_k) {
    et_node_x x = *et_x(g->x, b);
    if (x.op != ET_X_LOAD || x.i2 != ET_LOAD_TENSOR) return false;
    if (g->p->tensors[x.i].shape.dtype != s->operand) return false;
    et_expr off = cg_offset(g, x.i2, x.i, x.ops);
    et_expr at0 = et_subst_var(g->x, off, s->kvar, et_int(g->x, 0));
    et_expr rest = et_sub(g->x, off, et_var(g->x, s->kvar));
    return !cg_mentions(g, rest, 1, &s->kvar) && rest.id == at0.id && cg_divisible(g, at0, lane_k);
}

static void plan(cg *g, et_contract *c) {
    const et_step *s = c->s;
    c->fr = et_target_fragment(g->t, s->operand);
    int groups = g->t->wave / 16, kw = s->kc / s->wk;
    c->size = et_dtype_bytes(s->operand);
    c->lane_k = 16 / c->size;
    while (kw % (c->lane_k * groups))
        c->lane_k /= 2;
    c->unit_k = c->lane_k * groups;
    c->nsub = s->tn / s->wn / 16;
    c->msub = s->tm / 16;
    c->direct = true;
    for (int i = 0; i < s->nacc; i++)
        c->direct &= is_direct(g, s, s->b[i], c->lane_k);
    if (!c->direct && s->stage_b < 0)
        et_bug("%s: b is not contiguous along k and there is no buffer to stage it", g->f->name);
    int units = kw / c->unit_k, per = c->nsub * s->nacc;
    for (c->group = units; c->group > 1; c->group--)
        if (units % c->group == 0 && c->group * per <= 16) break;
    c->groups = units / c->group;
    if (!et_is_int(g->x, s->kextent, &c->k)) c->k = -1;
    c->chunks = c->k < 0 ? -1 : c->k <= s->kc ? 1 : (c->k + s->kc - 1) / s->kc;
    c->tail = c->k < 0 || c->chunks * s->kc != c->k;
    c->nload = c->direct ? c->group * per : 0;
}

/* ---- b from memory ---- */

static LLVMTypeRef load_type(cg *g, const et_contract *c) {
    int words = c->lane_k * c->size / 4;
    if (c->lane_k * c->size < 4) return g->i16;
    return words == 1 ? g->i32 : LLVMVectorType(g->i32, (unsigned)words);
}

/* Zero the elements of V from k on. */
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

static val load_fragment(cg *g, const et_contract *c, int i, int ns, val k0, int u) {
    const cg_addr *row = &c->row[i][ns];
    val bytes = LLVMBuildSExt(g->b, cg_muli(g, k0, c->size), g->i64, "");
    val base = cg_gep(g, row->base, bytes);
    val klane = cg_add(g, k0, cg_addi(g, c->lane_k0, (int64_t)u * c->unit_k));
    val off = LLVMBuildZExt(g->b, row->lane, g->i64, "");
    val ptr = cg_gepi(g, cg_gep(g, base, off), (int64_t)u * c->unit_k * c->size);
    if (c->tail) { /* past the end: the row's first elements instead, then zero */
        val start = LLVMBuildSub(g->b, row->lane, cg_muli(g, c->lane_k0, c->size), "");
        start = cg_gep(g, row->base, LLVMBuildZExt(g->b, start, g->i64, ""));
        ptr = cg_select(g, cg_icmp(g, LLVMIntSLT, klane, c->kend), ptr, start);
    }
    /* Not marked invariant, which would let LLVM sink it below the wait it is to hide in. */
    val v = LLVMBuildLoad2(g->b, load_type(g, c), ptr, "");
    LLVMSetAlignment(v, (unsigned)(c->lane_k * c->size));
    return c->tail ? mask_tail(g, c, v, klane) : v;
}

/* Every fragment of the group of units at k0 (this wave's part included). */
static void load_group(cg *g, const et_contract *c, val k0, val *out) {
    for (int u = 0; u < c->group; u++)
        for (int i = 0; i < c->s->nacc; i++)
            for (int ns = 0; ns < c->nsub; ns++)
                *out++ = load_fragment(g, c, i, ns, k0, u);
}

static void find_rows(cg *g, et_contract *c) {
    const et_step *s = c->s;
    val last = cg_addi(g, cg_emit(g, s->nlive), -1);
    for (int ns = 0; ns < c->nsub; ns++) {
        val n = cg_addi(g, cg_add(g, c->n0, c->lane_row), ns * 16);
        int64_t live;
        if (!et_is_int(g->x, s->nlive, &live) || live < s->tn)
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

bool cg_contract_early(cg *g, const et_step *s) {
    et_contract c = {.s = s};
    plan(g, &c);
    if (!c.direct || cg_reads_mutable(g, s->nlive) || cg_reads_mutable(g, s->kextent)) return false;
    for (int i = 0; i < s->nacc; i++)
        if (cg_reads_mutable(g, s->b[i])) return false;
    return true;
}

et_contract *cg_contract_begin(cg *g, const et_step *s) {
    et_contract *c = et_alloc(g->arena, sizeof *c);
    c->s = s;
    plan(g, c);
    val wn = cg_i32(g, s->wn);
    val ng = s->wn == 1 ? cg_i32(g, 0) : LLVMBuildURem(g->b, g->wave, wn, "");
    c->ks = s->wk == 1 ? cg_i32(g, 0) : LLVMBuildUDiv(g->b, g->wave, wn, "");
    c->n0 = cg_muli(g, ng, c->nsub * 16);
    c->lane_row = LLVMBuildAnd(g->b, g->lane, cg_i32(g, 15), "");
    c->lane_group = LLVMBuildLShr(g->b, g->lane, cg_i32(g, 4), "");
    c->lane_k0 = cg_muli(g, c->lane_group, c->lane_k);
    c->kpart = cg_muli(g, c->ks, s->kc / s->wk);
    c->kend = cg_emit(g, s->kextent);
    if (!c->direct) return c;
    find_rows(g, c);
    load_group(g, c, c->kpart, c->first);
    return c;
}

/* ---- staging through LDS ---- */

/* Rows [0, live) of E(row, k), k from chunk * kc, rounded to the operand type. */
static void stage(cg *g, const et_contract *c, et_expr e, int rowvar, val live, int local,
                  val chunk) {
    const et_step *s = c->s;
    int n = 16 / c->size;
    while (s->kc % n)
        n /= 2;
    int64_t per_row = s->kc / n;
    cg_items items;
    val item = cg_items_begin(g, &items, cg_muli(g, live, per_row), -1);
    int mark = cg_scope(g);
    int uvar = cg_fresh_var(g, "u", per_row);
    int vars[] = {rowvar, uvar};
    int64_t extent[] = {s->tm > s->tn ? s->tm : s->tn, per_row};
    if (extent[0] == 1) extent[0] = 2;
    cg_decode(g, item, 2, vars, extent);
    et_expr base = et_mul(g->x, et_var(g->x, uvar), et_int(g->x, n));
    val k = per_row == 1 ? cg_i32(g, 0) : cg_muli(g, g->var[uvar], n), k0 = cg_i32(g, 0);
    if (c->chunks != 1) {
        int cvar = cg_fresh_var(g, "c", c->chunks < 0 ? INT32_MAX / s->kc : c->chunks);
        cg_bind(g, cvar, chunk, false);
        base = et_add(g->x, base, et_mul(g->x, et_var(g->x, cvar), et_int(g->x, s->kc)));
        k0 = cg_muli(g, chunk, s->kc);
    }
    val at = cg_add(g, cg_muli(g, g->var[rowvar], g->f->locals[local].pitch), k);
    val ptr = cg_local_ptr(g, local, at);
    int align = g->f->locals[local].pitch % n == 0 ? n * c->size : c->size;
    val v[16];
    if (!c->tail) {
        cg_emit_n(g, e, s->kvar, base, n, v);
    } else if (c->k > 0 && c->k % n == 0) { /* all or nothing */
        val old = cg_f32(g, 0);
        cg_if in;
        cg_if_begin(g, &in, cg_icmp(g, LLVMIntSLT, cg_add(g, k0, k), c->kend));
        int inner = cg_scope(g);
        cg_emit_n(g, e, s->kvar, base, n, v);
        for (int j = 0; j < n; j++)
            if (LLVMTypeOf(v[j]) == g->i32) v[j] = LLVMBuildSIToFP(g->b, v[j], g->f32, "");
        cg_scope_end(g, inner);
        cg_if_end(g, &in);
        for (int j = 0; j < n; j++) {
            val phi = LLVMBuildPhi(g->b, g->f32, "");
            LLVMAddIncoming(phi, (val[]){v[j], old}, (block[]){in.then, in.otherwise}, 2);
            v[j] = phi;
        }
    } else { /* one by one, at a k that exists */
        for (int j = 0; j < n; j++) {
            int inner = cg_scope(g);
            val kj = cg_addi(g, cg_add(g, k0, k), j);
            val in = cg_icmp(g, LLVMIntSLT, kj, c->kend);
            cg_bind(g, s->kvar, cg_select(g, in, kj, cg_i32(g, 0)), true);
            v[j] = cg_select(g, in, cg_emit_f32(g, e), cg_f32(g, 0));
            cg_scope_end(g, inner);
        }
    }
    cg_store_n(g, ET_LOAD_LOCAL, local, ptr, n, align, v);
    cg_scope_end(g, mark);
    cg_items_end(g, &items);
}

/* ---- matrix instructions ---- */

static LLVMTypeRef element_type(cg *g, const et_fragment *fr) {
    return fr->element == ET_FRAG_F32 ? g->f32 : fr->element == ET_FRAG_F16 ? g->f16 : g->i16;
}

/* Part I of a fragment as the instruction takes it. */
static val operand(cg *g, const et_contract *c, val v, int i) {
    LLVMTypeRef e = element_type(g, c->fr);
    int n = c->fr->lane_k;
    LLVMTypeRef all = c->lane_k == 1 ? e : LLVMVectorType(e, (unsigned)c->lane_k);
    v = LLVMBuildBitCast(g->b, v, all, "");
    if (c->lane_k == n) return v;
    if (n == 1) return cg_extract(g, v, i);
    val mask[16];
    for (int j = 0; j < n; j++)
        mask[j] = cg_i32(g, i * n + j);
    return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(all), LLVMConstVector(mask, (unsigned)n),
                                  "");
}

static val matrix(cg *g, const et_contract *c, val a, val b, val acc) {
    val zero = cg_i32(g, 0);
    for (int i = 0; i < c->lane_k / c->fr->lane_k; i++) {
        val args[] = {operand(g, c, a, i), operand(g, c, b, i), acc, zero, zero, zero};
        acc = cg_call(g, c->fr->intrinsic, 0, NULL, 6, args);
    }
    return acc;
}

/* The fragment of 16 rows of a staged operand at row0, k (within the chunk). */
static val staged_fragment(cg *g, const et_contract *c, int local, val row0, val k) {
    val row = cg_add(g, row0, c->lane_row);
    val at = cg_add(g, cg_muli(g, row, g->f->locals[local].pitch), cg_add(g, k, c->lane_k0));
    val v = LLVMBuildLoad2(g->b, load_type(g, c), cg_local_ptr(g, local, at), "");
    bool even = g->f->locals[local].pitch % c->lane_k == 0;
    LLVMSetAlignment(v, (unsigned)(even ? c->lane_k * c->size : c->size));
    return v;
}

static int acc_at(const et_contract *c, int i, int ms, int ns) {
    return (i * c->msub + ms) * c->nsub + ns;
}

/* All products of one group; K is where this wave's group begins within the chunk. ONLY >= 0: just
 * that accumulator, b staged. */
static void multiply(cg *g, const et_contract *c, val k, val *b, val *acc, int only) {
    const et_step *s = c->s;
    int from = only < 0 ? 0 : only, to = only < 0 ? s->nacc : only + 1;
    for (int ms = 0; ms < c->msub; ms++) {
        cg_if live;
        val old[64];
        int n = 0;
        if (ms) cg_if_begin(g, &live, cg_icmp(g, LLVMIntSLT, cg_i32(g, 16 * ms), c->mlive));
        for (int i = from; i < to; i++)
            for (int ns = 0; ns < c->nsub; ns++)
                old[n++] = acc[acc_at(c, i, ms, ns)];
        for (int u = 0; u < c->group; u++) {
            val ku = cg_addi(g, k, (int64_t)u * c->unit_k);
            val a = staged_fragment(g, c, s->stage_a, cg_i32(g, 16 * ms), ku);
            for (int i = from; i < to; i++)
                for (int ns = 0; ns < c->nsub; ns++) {
                    val row = only < 0 ? b[(u * s->nacc + i) * c->nsub + ns]
                                       : staged_fragment(g, c, s->stage_b,
                                                         cg_addi(g, c->n0, 16 * ns), ku);
                    val *to_acc = &acc[acc_at(c, i, ms, ns)];
                    *to_acc = matrix(g, c, row, a, *to_acc);
                }
        }
        if (!ms) continue;
        cg_if_end(g, &live);
        n = 0;
        for (int i = from; i < to; i++)
            for (int ns = 0; ns < c->nsub; ns++, n++) {
                val *v = &acc[acc_at(c, i, ms, ns)];
                val phi = LLVMBuildPhi(g->b, LLVMTypeOf(old[n]), "");
                LLVMAddIncoming(phi, (val[]){*v, old[n]}, (block[]){live.then, live.otherwise}, 2);
                *v = phi;
            }
    }
}

/* ---- the loops over k ---- */

/* Carried values: accumulators, then the loaded fragments of the group to come. */
static void one_group(cg *g, const et_contract *c, val chunk, val group, val chunks, val *carried) {
    const et_step *s = c->s;
    int nacc = s->nacc * c->msub * c->nsub;
    val *acc = carried, *b = carried + nacc, now[ET_MAX_FRAGMENTS];
    val k = cg_add(g, c->kpart, cg_muli(g, group, (int64_t)c->group * c->unit_k));
    for (int i = 0; i < c->nload; i++)
        now[i] = b[i];
    if (c->chunks != 1 || c->groups > 1) { /* the loads of the group after this one */
        val wraps = cg_icmp(g, LLVMIntEQ, group, cg_i32(g, c->groups - 1));
        val nchunk = cg_add(g, chunk, LLVMBuildZExt(g->b, wraps, g->i32, ""));
        val ngroup = cg_select(g, wraps, cg_i32(g, 0), cg_addi(g, group, 1));
        cg_if more;
        cg_if_begin(g, &more, cg_icmp(g, LLVMIntSLT, nchunk, chunks));
        val at = cg_add(g, cg_muli(g, nchunk, s->kc), c->kpart);
        at = cg_add(g, at, cg_muli(g, ngroup, (int64_t)c->group * c->unit_k));
        val next[ET_MAX_FRAGMENTS];
        load_group(g, c, at, next);
        cg_if_end(g, &more);
        for (int i = 0; i < c->nload; i++) {
            b[i] = LLVMBuildPhi(g->b, LLVMTypeOf(next[i]), "");
            LLVMAddIncoming(b[i], (val[]){next[i], LLVMGetPoison(LLVMTypeOf(next[i]))},
                            (block[]){more.then, more.otherwise}, 2);
        }
    }
    multiply(g, c, k, now, acc, -1);
}

static void staged_chunk(cg *g, const et_contract *c, val chunk, val *acc) {
    const et_step *s = c->s;
    val none = NULL;
    for (int i = 0; i < s->nacc; i++) {
        if (i) cg_barrier(g); /* the last accumulator's rows have been read */
        stage(g, c, s->b[i], s->nvar, c->nlive, s->stage_b, chunk);
        cg_barrier(g);
        int n = s->nacc * c->msub * c->nsub;
        val group = cg_i32(g, 0);
        cg_for f;
        if (c->groups > 1)
            group = cg_for_begin(g, &f, group, cg_i32(g, c->groups), cg_i32(g, 1), true, n, acc);
        val k = cg_add(g, c->kpart, cg_muli(g, group, (int64_t)c->group * c->unit_k));
        multiply(g, c, k, &none, acc, i);
        if (c->groups > 1) cg_for_end(g, &f, acc);
    }
}

static void one_chunk(cg *g, const et_contract *c, val chunk, val chunks, val *carried) {
    const et_step *s = c->s;
    int nacc = s->nacc * c->msub * c->nsub;
    if (c->chunks != 1) cg_barrier(g); /* the chunk before has been read */
    stage(g, c, s->a, s->mvar, c->mlive, s->stage_a, chunk);
    if (!c->direct) {
        staged_chunk(g, c, chunk, carried);
        return;
    }
    cg_barrier(g);
    val group = cg_i32(g, 0);
    cg_for f;
    if (c->groups > 1)
        group = cg_for_begin(g, &f, group, cg_i32(g, c->groups), cg_i32(g, 1), true,
                             nacc + c->nload, carried);
    one_group(g, c, chunk, group, chunks, carried);
    if (c->groups > 1) cg_for_end(g, &f, carried);
}

/* ---- results ---- */

static void write_acc(cg *g, const et_contract *c, val *acc) {
    const et_step *s = c->s;
    for (int ms = 0; ms < c->msub; ms++) {
        cg_if live;
        if (ms) cg_if_begin(g, &live, cg_icmp(g, LLVMIntSLT, cg_i32(g, 16 * ms), c->mlive));
        for (int i = 0; i < s->nacc; i++)
            for (int ns = 0; ns < c->nsub; ns++) {
                const et_local *l = &g->f->locals[s->acc[i]];
                val m =
                    cg_add(g, cg_add(g, cg_muli(g, c->ks, s->tm), cg_i32(g, 16 * ms)), c->lane_row);
                val n = cg_add(g, cg_addi(g, c->n0, 16 * ns), cg_muli(g, c->lane_group, 4));
                val at = cg_add(g, cg_muli(g, m, l->pitch), n);
                val st =
                    LLVMBuildStore(g->b, acc[acc_at(c, i, ms, ns)], cg_local_ptr(g, s->acc[i], at));
                LLVMSetAlignment(st, l->pitch % 4 ? 4 : 16);
            }
        if (ms) cg_if_end(g, &live);
    }
}

/* The waves' parts of k, summed in their order into the first. */
static void sum_parts(cg *g, const et_contract *c) {
    const et_step *s = c->s;
    LLVMTypeRef v4 = LLVMVectorType(g->f32, 4);
    cg_barrier(g);
    cg_items items;
    val item = cg_items_begin(g, &items, cg_muli(g, c->mlive, s->tn / 4), -1);
    val per = cg_i32(g, s->tn / 4);
    val m = LLVMBuildUDiv(g->b, item, per, ""), n = LLVMBuildURem(g->b, item, per, "");
    for (int i = 0; i < s->nacc; i++) {
        const et_local *l = &g->f->locals[s->acc[i]];
        unsigned align = l->pitch % 4 ? 4 : 16;
        val at = cg_add(g, cg_muli(g, m, l->pitch), cg_muli(g, n, 4)), sum = NULL;
        val ptr = cg_local_ptr(g, s->acc[i], at);
        for (int w = 0; w < s->wk; w++) {
            val part =
                LLVMBuildLoad2(g->b, v4, cg_gepi(g, ptr, (int64_t)w * s->tm * l->pitch * 4), "");
            LLVMSetAlignment(part, align);
            sum = sum ? LLVMBuildFAdd(g->b, sum, part, "") : part;
        }
        LLVMSetAlignment(LLVMBuildStore(g->b, sum, ptr), align);
    }
    cg_items_end(g, &items);
}

void cg_contract_run(cg *g, et_contract *c) {
    const et_step *s = c->s;
    int nacc = s->nacc * c->msub * c->nsub;
    val carried[ET_MAX_FRAGMENTS + 64];
    if (nacc > 64) et_bug("%s: %d accumulators per wave", g->f->name, nacc);
    c->mlive = cg_emit(g, s->mlive);
    c->nlive = cg_emit(g, s->nlive);
    for (int i = 0; i < nacc; i++)
        carried[i] = LLVMConstNull(LLVMVectorType(g->f32, 4));
    for (int i = 0; i < c->nload; i++)
        carried[nacc + i] = c->first[i];
    val chunk = cg_i32(g, 0), chunks = cg_i32(g, c->chunks);
    if (c->chunks < 0)
        chunks = LLVMBuildSDiv(g->b, cg_addi(g, c->kend, s->kc - 1), cg_i32(g, s->kc), "");
    cg_for f;
    if (c->chunks != 1)
        chunk = cg_for_begin(g, &f, chunk, chunks, cg_i32(g, 1), c->chunks > 0, nacc + c->nload,
                             carried);
    one_chunk(g, c, chunk, chunks, carried);
    if (c->chunks != 1) cg_for_end(g, &f, carried);
    write_acc(g, c, carried);
    if (s->wk > 1) sum_parts(g, c);
}
