/* The small builder: types, arithmetic, control flow; and how errors are told. */
#include "codegen/emit/emit.h"
#include "ir/base/clock.h"
#include "ir/base/diag.h"
#include <string.h>

/* ---- what the user sees ---- */

void cg_error(cg *g, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    et_diag(g->p->g->diags, ET_ERROR, (et_loc){0}, "%s", et_vprintf(g->arena, fmt, ap));
    va_end(ap);
}

void cg_stage(cg *g, const char *name) {
    double now = et_seconds();
    if (name && g->opt->time_passes) fprintf(stderr, "  %-24s %8.3f s\n", name, now - g->since);
    g->since = now;
}

/* ---- types ---- */

void cg_init_types(cg *g) {
    LLVMContextRef c = g->ctx;
    g->i1 = LLVMInt1TypeInContext(c);
    g->i8 = LLVMInt8TypeInContext(c);
    g->i16 = LLVMInt16TypeInContext(c);
    g->i32 = LLVMInt32TypeInContext(c);
    g->i64 = LLVMInt64TypeInContext(c);
    g->f16 = LLVMHalfTypeInContext(c);
    g->bf16 = LLVMBFloatTypeInContext(c);
    g->f32 = LLVMFloatTypeInContext(c);
    g->none = LLVMVoidTypeInContext(c);
    g->mask = g->t->wave == 64 ? g->i64 : g->i32;
    g->gptr = LLVMPointerTypeInContext(c, g->family->global);
    g->lptr = LLVMPointerTypeInContext(c, g->family->local);
    g->md_invariant = LLVMGetMDKindIDInContext(c, "invariant.load", 14);
    for (int i = ET_SCOPE_WORKGROUP; i <= ET_SCOPE_SYSTEM; i++)
        g->sync[i] = LLVMGetSyncScopeID(c, g->family->scope[i], strlen(g->family->scope[i]));
}

/* ---- scalars ---- */

val cg_i32(cg *g, int64_t v) {
    return LLVMConstInt(g->i32, (unsigned long long)(uint32_t)v, false);
}

val cg_i64(cg *g, int64_t v) {
    return LLVMConstInt(g->i64, (unsigned long long)v, true);
}

val cg_f32(cg *g, double v) {
    return LLVMConstReal(g->f32, v);
}

val cg_call(cg *g, const char *name, int ntypes, LLVMTypeRef *types, int nargs, val *args) {
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    if (!id) et_bug("LLVM has no intrinsic %s", name);
    val fn = LLVMGetIntrinsicDeclaration(g->mod, id, types, (size_t)ntypes);
    return LLVMBuildCall2(g->b, LLVMIntrinsicGetType(g->ctx, id, types, (size_t)ntypes), fn, args,
                          (unsigned)nargs, "");
}

val cg_add(cg *g, val a, val b) {
    return LLVMBuildAdd(g->b, a, b, "");
}

val cg_mul(cg *g, val a, val b) {
    return LLVMBuildMul(g->b, a, b, "");
}

static val int_like(val a, int64_t v) {
    return LLVMConstInt(LLVMTypeOf(a), (unsigned long long)v, true);
}

val cg_addi(cg *g, val a, int64_t v) {
    return v ? LLVMBuildAdd(g->b, a, int_like(a, v), "") : a;
}

val cg_muli(cg *g, val a, int64_t v) {
    return v == 1 ? a : LLVMBuildMul(g->b, a, int_like(a, v), "");
}

val cg_icmp(cg *g, LLVMIntPredicate p, val a, val b) {
    return LLVMBuildICmp(g->b, p, a, b, "");
}

val cg_select(cg *g, val c, val a, val b) {
    return LLVMBuildSelect(g->b, c, a, b, "");
}

/* What is rounded once is decided here, and not left to LLVM: its choice hangs on the code around,
 * and the same sum would have other bits in another variant. */
static bool is_product(val v) {
    return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == LLVMFMul;
}

val cg_fadd(cg *g, val a, val b) {
    if (is_product(a)) return cg_fma(g, LLVMGetOperand(a, 0), LLVMGetOperand(a, 1), b);
    if (is_product(b)) return cg_fma(g, LLVMGetOperand(b, 0), LLVMGetOperand(b, 1), a);
    return LLVMBuildFAdd(g->b, a, b, "");
}

val cg_fsub(cg *g, val a, val b) {
    if (is_product(a))
        return cg_fma(g, LLVMGetOperand(a, 0), LLVMGetOperand(a, 1), LLVMBuildFNeg(g->b, b, ""));
    if (is_product(b))
        return cg_fma(g, LLVMBuildFNeg(g->b, LLVMGetOperand(b, 0), ""), LLVMGetOperand(b, 1), a);
    return LLVMBuildFSub(g->b, a, b, "");
}

val cg_fmul(cg *g, val a, val b) {
    return LLVMBuildFMul(g->b, a, b, "");
}

val cg_fma(cg *g, val a, val b, val c) {
    LLVMTypeRef t = LLVMTypeOf(a);
    return cg_call(g, "llvm.fma", 1, &t, 3, (val[]){a, b, c});
}

val cg_fmax(cg *g, val a, val b) {
    return cg_call(g, "llvm.maxnum", 1, &g->f32, 2, (val[]){a, b});
}

val cg_exp2(cg *g, val a) {
    return g->family->exp2(g, a);
}

val cg_gep(cg *g, val ptr, val bytes) {
    return LLVMBuildInBoundsGEP2(g->b, g->i8, ptr, &bytes, 1, "");
}

val cg_gepi(cg *g, val ptr, int64_t bytes) {
    return bytes ? cg_gep(g, ptr, LLVMTypeOf(ptr) == g->lptr ? cg_i32(g, bytes) : cg_i64(g, bytes))
                 : ptr;
}

val cg_uniform(cg *g, val v) {
    return g->family->first_active(g, v);
}

val cg_vector(cg *g, LLVMTypeRef element, int n, val *v) {
    val out = LLVMGetPoison(LLVMVectorType(element, (unsigned)n));
    for (int i = 0; i < n; i++)
        out = LLVMBuildInsertElement(g->b, out, v[i], cg_i32(g, i), "");
    return out;
}

val cg_extract(cg *g, val vec, int i) {
    return LLVMBuildExtractElement(g->b, vec, cg_i32(g, i), "");
}

val cg_extract_n(cg *g, val vec, int from, int n) {
    val at[16];
    for (int i = 0; i < n; i++)
        at[i] = cg_i32(g, from + i);
    return LLVMBuildShuffleVector(g->b, vec, LLVMGetPoison(LLVMTypeOf(vec)),
                                  LLVMConstVector(at, (unsigned)n), "");
}

LLVMTypeRef cg_storage(cg *g, et_dtype t) {
    switch (t) {
    case ET_F32:
        return g->f32;
    case ET_F16:
        return g->f16;
    case ET_BF16:
        return g->bf16;
    case ET_I32:
        return g->i32;
    default:
        et_check(et_dtype_bits(t) == 8);
        return g->i8;
    }
}

/* ---- control flow ---- */

block cg_block(cg *g, const char *name) {
    return LLVMAppendBasicBlockInContext(g->ctx, g->fn, name);
}

block cg_here(cg *g) {
    return LLVMGetInsertBlock(g->b);
}

void cg_at(cg *g, block to) {
    LLVMPositionBuilderAtEnd(g->b, to);
}

void cg_br(cg *g, block to) {
    LLVMBuildBr(g->b, to);
}

void cg_cond(cg *g, val c, block yes, block no) {
    LLVMBuildCondBr(g->b, c, yes, no);
}

void cg_if_begin(cg *g, cg_if *s, val cond) {
    s->then = cg_block(g, "then");
    s->join = cg_block(g, "join");
    cg_cond(g, cond, s->then, s->join);
    s->otherwise = cg_here(g);
    cg_at(g, s->then);
}

void cg_if_end(cg *g, cg_if *s) {
    s->then = cg_here(g);
    cg_br(g, s->join);
    cg_at(g, s->join);
}

val cg_invariant(cg *g, val load) {
    LLVMSetMetadata(load, g->md_invariant,
                    LLVMMetadataAsValue(g->ctx, LLVMMDNodeInContext2(g->ctx, NULL, 0)));
    return load;
}

val cg_if_value(cg *g, const cg_if *s, val then, val otherwise) {
    val phi = LLVMBuildPhi(g->b, LLVMTypeOf(then), "");
    LLVMAddIncoming(phi, (val[]){then, otherwise}, (block[]){s->then, s->otherwise}, 2);
    return phi;
}

val cg_for_begin(cg *g, cg_for *f, val from, val to, val step, bool do_while, int n, val *v) {
    et_check(n <= (int)(sizeof f->phi / sizeof *f->phi));
    block before = cg_here(g);
    *f = (cg_for){.to = to, .step = step, .n = n, .do_while = do_while};
    f->head = cg_block(g, "for");
    cg_br(g, f->head);
    cg_at(g, f->head);
    f->i = LLVMBuildPhi(g->b, LLVMTypeOf(from), "i");
    LLVMAddIncoming(f->i, &from, &before, 1);
    for (int k = 0; k < n; k++) {
        f->phi[k] = LLVMBuildPhi(g->b, LLVMTypeOf(v[k]), "");
        LLVMAddIncoming(f->phi[k], &v[k], &before, 1);
        v[k] = f->phi[k];
    }
    f->done = cg_block(g, "done");
    if (!do_while) {
        f->body = cg_block(g, "body");
        cg_cond(g, cg_icmp(g, LLVMIntSLT, f->i, to), f->body, f->done);
        cg_at(g, f->body);
    }
    return f->i;
}

void cg_for_end(cg *g, cg_for *f, val *v) {
    val next = LLVMBuildNSWAdd(g->b, f->i, f->step, "");
    block latch = cg_here(g);
    LLVMAddIncoming(f->i, &next, &latch, 1);
    for (int k = 0; k < f->n; k++)
        LLVMAddIncoming(f->phi[k], &v[k], &latch, 1);
    if (f->do_while) {
        cg_cond(g, cg_icmp(g, LLVMIntSLT, next, f->to), f->head, f->done);
    } else {
        cg_br(g, f->head);
        for (int k = 0; k < f->n; k++)
            v[k] = f->phi[k];
    }
    LLVMMoveBasicBlockAfter(f->done, latch);
    cg_at(g, f->done);
}

/* ---- the workgroup ---- */

void cg_barrier(cg *g) {
    g->family->barrier(g, false);
}

void cg_barrier_drain(cg *g) {
    g->family->barrier(g, true);
}

val cg_shuffle_xor(cg *g, val v, int mask) {
    LLVMTypeRef t = LLVMTypeOf(v);
    val bits = t == g->i32 ? v : LLVMBuildBitCast(g->b, v, g->i32, "");
    bits = g->family->shuffle_xor(g, bits, mask);
    return t == g->i32 ? bits : LLVMBuildBitCast(g->b, bits, t, "");
}
