/* Scalar expressions to LLVM values, each distinct one once per scope. */
#include "codegen/emit/emit.h"
#include "ir/base/diag.h"
#include <stdlib.h>
#include <string.h>

/* ---- scopes ---- */

int cg_scope(cg *g) {
    return g->ntrail;
}

void cg_scope_end(cg *g, int mark) {
    while (g->ntrail > mark)
        g->memo[g->trail[--g->ntrail]] = NULL;
}

void cg_remember(cg *g, et_expr e, val v) {
    if ((int)e.id >= g->nmemo) {
        int n = (int)e.id * 2 + 256;
        val *m = et_alloc(g->arena, (size_t)n * sizeof *m);
        if (g->nmemo) memcpy(m, g->memo, (size_t)g->nmemo * sizeof *m);
        g->memo = m;
        g->nmemo = n;
    }
    if (g->memo[e.id]) return;
    g->memo[e.id] = v;
    ET_GROW(g->arena, g->trail, g->ntrail, g->ctrail);
    g->trail[g->ntrail++] = e.id;
}

static val recall(cg *g, et_expr e) {
    return (int)e.id < g->nmemo ? g->memo[e.id] : NULL;
}

void cg_bind(cg *g, int var, val v, bool divergent) {
    if (var >= g->nvar) {
        int n = var * 2 + 64;
        val *vars = et_alloc(g->arena, (size_t)n * sizeof *vars);
        bool *div = et_alloc(g->arena, (size_t)n * sizeof *div);
        if (g->nvar) {
            memcpy(vars, g->var, (size_t)g->nvar * sizeof *vars);
            memcpy(div, g->divergent, (size_t)g->nvar * sizeof *div);
        }
        g->var = vars;
        g->divergent = div;
        g->nvar = n;
    }
    g->var[var] = v;
    g->divergent[var] = divergent;
}

int cg_fresh_var(cg *g, const char *name, int64_t extent) {
    return et_var_add(g->x, name, et_int(g->x, extent));
}

/* ---- questions about expressions ---- */

struct query {
    cg *g;
    bool yes;
};

static void ask_divergent(void *ctx, et_expr e) {
    struct query *q = ctx;
    const et_node_x *x = et_x(q->g->x, e);
    if (x->op == ET_X_VAR && x->i < q->g->nvar) q->yes |= q->g->divergent[x->i];
}

bool cg_is_uniform(cg *g, et_expr e) {
    struct query q = {g, false};
    et_walk(g->x, e, ask_divergent, &q);
    return !q.yes;
}

static void ask_mutable(void *ctx, et_expr e) {
    struct query *q = ctx;
    const et_node_x *x = et_x(q->g->x, e);
    if (x->op == ET_X_LOAD) q->yes |= x->i2 == ET_LOAD_LOCAL || q->g->stored[x->i];
}

bool cg_reads_mutable(cg *g, et_expr e) {
    struct query q = {g, false};
    if (e.id) et_walk(g->x, e, ask_mutable, &q);
    return q.yes;
}

bool cg_divisible(cg *g, et_expr e, int64_t by) {
    const et_node_x *x = et_x(g->x, e);
    if (by == 1) return true;
    switch (x->op) {
    case ET_X_INT:
        return x->n % by == 0;
    case ET_X_ADD:
    case ET_X_SUB:
    case ET_X_MIN:
    case ET_X_MAX:
        return cg_divisible(g, x->ops[0], by) && cg_divisible(g, x->ops[1], by);
    case ET_X_SELECT:
        return cg_divisible(g, x->ops[1], by) && cg_divisible(g, x->ops[2], by);
    case ET_X_MUL: {
        int64_t c;
        if (et_is_int(g->x, x->ops[1], &c) && c) {
            int64_t a = by, b = c < 0 ? -c : c;
            while (b) {
                int64_t r = a % b;
                a = b;
                b = r;
            }
            return cg_divisible(g, et_x(g->x, e)->ops[0], by / a);
        }
        return cg_divisible(g, x->ops[0], by) || cg_divisible(g, x->ops[1], by);
    }
    case ET_X_MOD: {
        int64_t c;
        return et_is_int(g->x, x->ops[1], &c) && c % by == 0 && cg_divisible(g, x->ops[0], by);
    }
    default:
        return false;
    }
}

/* ---- integers ---- */

static val floor_div(cg *g, et_xop op, et_expr ea, et_expr eb, val a, val b) {
    int64_t lo, hi, blo, bhi, c;
    bool positive =
        et_bounds(g->x, ea, &lo, &hi) && lo >= 0 && et_bounds(g->x, eb, &blo, &bhi) && blo > 0;
    if (positive)
        return op == ET_X_IDIV ? LLVMBuildUDiv(g->b, a, b, "") : LLVMBuildURem(g->b, a, b, "");
    if (et_is_int(g->x, eb, &c) && c > 0 && (c & (c - 1)) == 0)
        return op == ET_X_IDIV ? LLVMBuildAShr(g->b, a, cg_i32(g, __builtin_ctzll((uint64_t)c)), "")
                               : LLVMBuildAnd(g->b, a, cg_i32(g, c - 1), "");
    val q = LLVMBuildSDiv(g->b, a, b, ""), r = LLVMBuildSRem(g->b, a, b, "");
    val zero = cg_i32(g, 0);
    val fix = LLVMBuildAnd(g->b, cg_icmp(g, LLVMIntNE, r, zero),
                           cg_icmp(g, LLVMIntSLT, LLVMBuildXor(g->b, a, b, ""), zero), "");
    if (op == ET_X_IDIV) return LLVMBuildSub(g->b, q, LLVMBuildZExt(g->b, fix, g->i32, ""), "");
    return cg_add(g, r, cg_select(g, fix, b, zero));
}

val cg_emit_i64(cg *g, et_expr e) {
    et_node_x x = *et_x(g->x, e);
    if (x.op == ET_X_INT) return cg_i64(g, x.n);
    if (x.op == ET_X_ADD || x.op == ET_X_MUL) {
        val a = cg_emit_i64(g, x.ops[0]), b = cg_emit_i64(g, x.ops[1]);
        return x.op == ET_X_ADD ? cg_add(g, a, b) : cg_mul(g, a, b);
    }
    int64_t lo, hi;
    val v = cg_emit(g, e);
    if (et_bounds(g->x, e, &lo, &hi) && lo >= 0) return LLVMBuildZExt(g->b, v, g->i64, "");
    return LLVMBuildSExt(g->b, v, g->i64, "");
}

static val emit_int(cg *g, const et_node_x *x, val a, val b) {
    switch (x->op) {
    case ET_X_ADD:
        return cg_add(g, a, b);
    case ET_X_SUB:
        return LLVMBuildSub(g->b, a, b, "");
    case ET_X_MUL:
        return cg_mul(g, a, b);
    case ET_X_IDIV:
    case ET_X_MOD:
        return floor_div(g, x->op, x->ops[0], x->ops[1], a, b);
    case ET_X_MIN:
        return cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){a, b});
    case ET_X_MAX:
        return cg_call(g, "llvm.smax", 1, &g->i32, 2, (val[]){a, b});
    case ET_X_NEG:
        return LLVMBuildNeg(g->b, a, "");
    case ET_X_ABS:
        return cg_call(g, "llvm.abs", 1, &g->i32, 2, (val[]){a, LLVMConstInt(g->i1, 0, false)});
    default:
        et_bug("integer %s", et_xop_text(x->op));
    }
}

/* ---- predicates and floats ---- */

static val emit_compare(cg *g, et_xop op, val a, val b) {
    bool real = LLVMTypeOf(a) == g->f32;
    switch (op) {
    case ET_X_LT:
        return real ? LLVMBuildFCmp(g->b, LLVMRealOLT, a, b, "") : cg_icmp(g, LLVMIntSLT, a, b);
    case ET_X_LE:
        return real ? LLVMBuildFCmp(g->b, LLVMRealOLE, a, b, "") : cg_icmp(g, LLVMIntSLE, a, b);
    case ET_X_EQ:
        return real ? LLVMBuildFCmp(g->b, LLVMRealOEQ, a, b, "") : cg_icmp(g, LLVMIntEQ, a, b);
    default:
        return real ? LLVMBuildFCmp(g->b, LLVMRealUNE, a, b, "") : cg_icmp(g, LLVMIntNE, a, b);
    }
}

/* Division and roots to 2.5 ulp: the hardware's own instructions with scaling around them. */
static val loose(cg *g, val v) {
    if (LLVMIsAInstruction(v)) LLVMSetMetadata(v, g->md_fpmath, g->fpmath);
    return v;
}

static val emit_sqrt(cg *g, val a) {
    val v = loose(g, cg_call(g, "llvm.sqrt", 1, &g->f32, 1, &a));
    LLVMSetFastMathFlags(v, LLVMFastMathAllowContract);
    return v;
}

static val emit_div(cg *g, val a, val b) {
    val v = loose(g, LLVMBuildFDiv(g->b, a, b, ""));
    if (LLVMIsAInstruction(v)) LLVMSetFastMathFlags(v, LLVMFastMathAllowContract);
    return v;
}

static val emit_float(cg *g, const et_node_x *x, val a, val b) {
    switch (x->op) {
    case ET_X_ADD:
        return cg_fadd(g, a, b);
    case ET_X_SUB: {
        val v = LLVMBuildFSub(g->b, a, b, "");
        if (LLVMIsAInstruction(v)) LLVMSetFastMathFlags(v, LLVMFastMathAllowContract);
        return v;
    }
    case ET_X_MUL:
        return cg_fmul(g, a, b);
    case ET_X_DIV:
        return emit_div(g, a, b);
    case ET_X_MIN:
        return cg_call(g, "llvm.minnum", 1, &g->f32, 2, (val[]){a, b});
    case ET_X_MAX:
        return cg_fmax(g, a, b);
    case ET_X_NEG:
        return LLVMBuildFNeg(g->b, a, "");
    case ET_X_ABS:
        return cg_call(g, "llvm.fabs", 1, &g->f32, 1, &a);
    case ET_X_FLOOR:
        return cg_call(g, "llvm.floor", 1, &g->f32, 1, &a);
    case ET_X_SQRT:
        return emit_sqrt(g, a);
    case ET_X_RSQRT:
        return emit_div(g, cg_f32(g, 1), emit_sqrt(g, a));
    case ET_X_TO_F16:
        return LLVMBuildFPExt(g->b, LLVMBuildFPTrunc(g->b, a, g->f16, ""), g->f32, "");
    case ET_X_TO_BF16:
        return LLVMBuildFPExt(g->b, LLVMBuildFPTrunc(g->b, a, g->bf16, ""), g->f32, "");
    default:
        return g->family->math(g, x->op, x->nops, (val[]){a, b});
    }
}

/* ---- conversions, loads, guards ---- */

static val convert(cg *g, val v, et_type to) {
    LLVMTypeRef from = LLVMTypeOf(v);
    if (to == ET_T_F32 && from == g->i32) return LLVMBuildSIToFP(g->b, v, g->f32, "");
    if (to == ET_T_F32 && from == g->i1) return LLVMBuildUIToFP(g->b, v, g->f32, "");
    if (to == ET_T_I32 && from == g->i1) return LLVMBuildZExt(g->b, v, g->i32, "");
    if (to == ET_T_I32 && from == g->f32) {
        LLVMTypeRef t[] = {g->i32, g->f32};
        return cg_call(g, "llvm.fptosi.sat", 2, t, 1, &v);
    }
    return v;
}

val cg_emit_f32(cg *g, et_expr e) {
    return convert(g, cg_emit(g, e), ET_T_F32);
}

static val emit_load(cg *g, et_expr e, const et_node_x *x) {
    val ptr = cg_address(g, x->i2, x->i, cg_offset(g, x->i2, x->i, x->ops));
    if (g->guard && !cg_in_range(g, et_x(g->x, e))) {
        val safe = x->i2 == ET_LOAD_LOCAL ? g->lds : g->tensor[x->i];
        ptr = cg_select(g, g->guard, ptr, safe);
    }
    val v;
    cg_load_n(g, x->i2, x->i, ptr, 1, 1, &v);
    return v;
}

static void ask_load(void *ctx, et_expr e) {
    struct query *q = ctx;
    const et_node_x *x = et_x(q->g->x, e);
    if (x->op == ET_X_LOAD) q->yes |= !cg_in_range(q->g, x);
}

static bool may_leave_range(cg *g, et_expr e) {
    struct query q = {g, false};
    et_walk(g->x, e, ask_load, &q);
    return q.yes;
}

/* E evaluated where COND holds: its loads must not happen elsewhere. */
static val emit_guarded(cg *g, et_expr e, val cond, bool negate) {
    if (!may_leave_range(g, e)) return cg_emit(g, e);
    val outer = g->guard, c = negate ? LLVMBuildNot(g->b, cond, "") : cond;
    int mark = cg_scope(g);
    g->guard = outer ? LLVMBuildAnd(g->b, outer, c, "") : c;
    val v = cg_emit(g, e);
    g->guard = outer;
    cg_scope_end(g, mark);
    return v;
}

static val emit_pred(cg *g, const et_node_x *x) {
    val a = cg_emit(g, x->ops[0]);
    switch (x->op) {
    case ET_X_NOT:
        return LLVMBuildNot(g->b, a, "");
    case ET_X_AND:
        return LLVMBuildAnd(g->b, a, emit_guarded(g, x->ops[1], a, false), "");
    case ET_X_OR:
        return LLVMBuildOr(g->b, a, emit_guarded(g, x->ops[1], a, true), "");
    default:
        return emit_compare(g, x->op, a, cg_emit(g, x->ops[1]));
    }
}

static val emit_select(cg *g, const et_node_x *x) {
    val c = cg_emit(g, x->ops[0]);
    val a = emit_guarded(g, x->ops[1], c, false), b = emit_guarded(g, x->ops[2], c, true);
    return cg_select(g, c, convert(g, a, x->type), convert(g, b, x->type));
}

static val emit_op(cg *g, const et_node_x *x) {
    if (x->op == ET_X_SELECT) return emit_select(g, x);
    if (x->type == ET_T_PRED) return emit_pred(g, x);
    val a = cg_emit(g, x->ops[0]), b = x->nops > 1 ? cg_emit(g, x->ops[1]) : NULL;
    if (x->op == ET_X_TO_I32) return convert(g, a, ET_T_I32);
    if (x->op == ET_X_TO_F32) return convert(g, a, ET_T_F32);
    if (x->type == ET_T_I32) return emit_int(g, x, a, b);
    return emit_float(g, x, convert(g, a, ET_T_F32), b ? convert(g, b, ET_T_F32) : NULL);
}

val cg_emit(cg *g, et_expr e) {
    val v = recall(g, e);
    if (v) return v;
    et_node_x x = *et_x(g->x, e);
    switch (x.op) {
    case ET_X_INT:
        return x.type == ET_T_PRED ? LLVMConstInt(g->i1, x.n != 0, false) : cg_i32(g, x.n);
    case ET_X_FLOAT:
        return cg_f32(g, x.f);
    case ET_X_SYM:
        return g->sym[x.i];
    case ET_X_VAR:
        if (x.i >= g->nvar || !g->var[x.i])
            et_bug("variable %s is not bound here", et_var_name(g->x, x.i));
        return g->var[x.i];
    case ET_X_LOAD:
        v = emit_load(g, e, &x);
        break;
    case ET_X_ARG:
    case ET_X_REDUCE:
    case ET_X_CONTRACT:
    case ET_X_NONE:
    case ET_X_COUNT:
        et_bug("%s in a device function", et_xop_text(x.op));
    default:
        v = emit_op(g, &x);
    }
    cg_remember(g, e, v);
    return v;
}
