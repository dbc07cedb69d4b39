/* Scalar expressions to LLVM values, each distinct one once per scope. */
#include "codegen/emit/emit.h"
#include "ir/base/diag.h"
#include <math.h>
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

static bool is_divergent(const void *ctx, et_expr e) {
    const cg *g = ctx;
    const et_node_x *x = et_x(g->x, e);
    return x->op == ET_X_VAR && x->i < g->nvar && g->divergent[x->i];
}

bool cg_is_uniform(cg *g, et_expr e) {
    return !et_expr_any(g->x, e, is_divergent, g);
}

bool cg_reads_mutable(cg *g, et_expr e) {
    return et_reads_stored(g->x, e, g->stored);
}

bool cg_divisible(cg *g, et_expr e, int64_t by) {
    return et_divides(g->x, by, e);
}

/* ---- integers ---- */

/* An integer is computed in 32 bits where it and what it is made of are known to fit these,
 * whatever the launch and its data; else in 64. */
static bool is_wide(cg *g, et_expr e) {
    int64_t lo, hi;
    if (et_x(g->x, e)->type != ET_T_I32) return false;
    et_span(g->x, e, &lo, &hi);
    return lo < INT32_MIN || hi > INT32_MAX;
}

/* V, the value of E, in 64 bits. */
static val widen(cg *g, et_expr e, val v) {
    int64_t lo, hi;
    if (LLVMTypeOf(v) == g->i64) return v;
    if (LLVMTypeOf(v) == g->i1) return LLVMBuildZExt(g->b, v, g->i64, "");
    et_span(g->x, e, &lo, &hi);
    return lo >= 0 ? LLVMBuildZExt(g->b, v, g->i64, "") : LLVMBuildSExt(g->b, v, g->i64, "");
}

/* A divisor of 0 gives 0, which the hardware does not promise, and -1 of the least integer there is
 * would be one too many: both divide by 1 instead, which leaves no remainder. */
struct divisor {
    val safe;        /* what to divide by */
    val zero, minus; /* where it is 0, and -1; NULL = never */
};

static struct divisor divisor(cg *g, et_expr ea, et_expr eb, val b) {
    LLVMTypeRef t = LLVMTypeOf(b);
    int64_t lo, hi, blo, bhi, least = t == g->i64 ? INT64_MIN : INT32_MIN;
    val one = LLVMConstInt(t, 1, false);
    struct divisor d = {.safe = b};
    et_span(g->x, ea, &lo, &hi);
    et_span(g->x, eb, &blo, &bhi);
    if (blo <= 0 && bhi >= 0) {
        d.zero = cg_icmp(g, LLVMIntEQ, b, LLVMConstNull(t));
        d.safe = cg_select(g, d.zero, one, d.safe);
    }
    if (lo == least && blo <= -1 && bhi >= -1) {
        d.minus = cg_icmp(g, LLVMIntEQ, b, LLVMConstAllOnes(t));
        d.safe = cg_select(g, d.minus, one, d.safe);
    }
    return d;
}

static val floor_div(cg *g, et_xop op, et_expr ea, et_expr eb, val a, val b) {
    LLVMTypeRef t = LLVMTypeOf(a);
    int64_t lo, hi, blo, bhi, c;
    et_span(g->x, ea, &lo, &hi);
    et_span(g->x, eb, &blo, &bhi);
    if (lo >= 0 && blo > 0)
        return op == ET_X_IDIV ? LLVMBuildUDiv(g->b, a, b, "") : LLVMBuildURem(g->b, a, b, "");
    if (et_is_int(g->x, eb, &c) && c > 0 && (c & (c - 1)) == 0) {
        val by = LLVMConstInt(t, (uint64_t)(op == ET_X_IDIV ? __builtin_ctzll((uint64_t)c) : c - 1),
                              false);
        return op == ET_X_IDIV ? LLVMBuildAShr(g->b, a, by, "") : LLVMBuildAnd(g->b, a, by, "");
    }
    struct divisor d = divisor(g, ea, eb, b);
    val q = LLVMBuildSDiv(g->b, a, d.safe, ""), r = LLVMBuildSRem(g->b, a, d.safe, "");
    val zero = LLVMConstNull(t);
    val fix = LLVMBuildAnd(g->b, cg_icmp(g, LLVMIntNE, r, zero),
                           cg_icmp(g, LLVMIntSLT, LLVMBuildXor(g->b, a, b, ""), zero), "");
    if (op == ET_X_MOD) return cg_add(g, r, cg_select(g, fix, b, zero));
    q = LLVMBuildSub(g->b, q, LLVMBuildZExt(g->b, fix, t, ""), "");
    if (d.zero) q = cg_select(g, d.zero, zero, q);
    return d.minus ? cg_select(g, d.minus, LLVMBuildNeg(g->b, a, ""), q) : q;
}

val cg_emit_i64(cg *g, et_expr e) {
    et_node_x x = *et_x(g->x, e);
    if (x.op == ET_X_INT) return cg_i64(g, x.n);
    if (x.op == ET_X_ADD || x.op == ET_X_MUL) {
        val a = cg_emit_i64(g, x.ops[0]), b = cg_emit_i64(g, x.ops[1]);
        return x.op == ET_X_ADD ? cg_add(g, a, b) : cg_mul(g, a, b);
    }
    return widen(g, e, cg_emit(g, e));
}

val cg_emit_i32(cg *g, et_expr e) {
    val v = cg_emit(g, e);
    if (LLVMTypeOf(v) != g->i64) return v;
    v = cg_call(g, "llvm.smin", 1, &g->i64, 2, (val[]){v, cg_i64(g, INT32_MAX)});
    v = cg_call(g, "llvm.smax", 1, &g->i64, 2, (val[]){v, cg_i64(g, INT32_MIN)});
    return LLVMBuildTrunc(g->b, v, g->i32, "");
}

/* As cg_emit_low; what lies deeper than DEPTH is computed whole. */
static val emit_low(cg *g, et_expr e, int depth) {
    et_node_x x = *et_x(g->x, e);
    if (x.op == ET_X_INT) return cg_i32(g, x.n);
    bool modular = x.op == ET_X_ADD || x.op == ET_X_SUB || x.op == ET_X_MUL;
    if (!modular || depth == 0 || !is_wide(g, e)) {
        val v = cg_emit(g, e);
        return LLVMTypeOf(v) == g->i64 ? LLVMBuildTrunc(g->b, v, g->i32, "") : v;
    }
    val a = emit_low(g, x.ops[0], depth - 1), b = emit_low(g, x.ops[1], depth - 1);
    return x.op == ET_X_ADD   ? cg_add(g, a, b)
           : x.op == ET_X_SUB ? LLVMBuildSub(g->b, a, b, "")
                              : cg_mul(g, a, b);
}

val cg_emit_low(cg *g, et_expr e) {
    return emit_low(g, e, 8);
}

static val emit_int(cg *g, const et_node_x *x, val a, val b) {
    LLVMTypeRef t = LLVMTypeOf(a);
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
        return cg_call(g, "llvm.smin", 1, &t, 2, (val[]){a, b});
    case ET_X_MAX:
        return cg_call(g, "llvm.smax", 1, &t, 2, (val[]){a, b});
    case ET_X_NEG:
        return LLVMBuildNeg(g->b, a, "");
    case ET_X_ABS:
        return cg_call(g, "llvm.abs", 1, &t, 2, (val[]){a, LLVMConstInt(g->i1, 0, false)});
    default:
        et_bug("integer %s", et_xop_text(x->op));
    }
}

/* An operator of integers, as wide as the widest of its operands and its result. */
static val emit_whole(cg *g, et_expr e, const et_node_x *x) {
    bool wide = is_wide(g, e);
    val v[2] = {NULL, NULL};
    for (int i = 0; i < x->nops; i++) {
        v[i] = cg_emit(g, x->ops[i]);
        wide |= LLVMTypeOf(v[i]) == g->i64;
    }
    for (int i = 0; wide && i < x->nops; i++)
        v[i] = widen(g, x->ops[i], v[i]);
    val out = emit_int(g, x, v[0], v[1]);
    return wide && !is_wide(g, e) ? LLVMBuildTrunc(g->b, out, g->i32, "") : out;
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

/* By a power of two: a product, as LLVM would make of it, which a sum can take in (cg_fadd). */
static val divide(cg *g, val a, val b) {
    LLVMBool inexact;
    int power;
    double by = LLVMIsAConstantFP(b) ? LLVMConstRealGetDouble(b, &inexact) : 0;
    bool exact = frexp(fabs(by), &power) == 0.5 && abs(power) < 126;
    return exact ? cg_fmul(g, a, cg_f32(g, 1 / by)) : g->family->divide(g, a, b);
}

static val emit_float(cg *g, const et_node_x *x, val a, val b) {
    switch (x->op) {
    case ET_X_ADD:
        return cg_fadd(g, a, b);
    case ET_X_SUB: {
        val v = cg_fsub(g, a, b);
        /* AMD's targets would read what it is used in as of -B, which has another sign of zero. */
        return LLVMIsAConstantFP(a) && LLVMIsNull(a) ? g->family->opaque(g, v) : v;
    }
    case ET_X_MUL:
        return cg_fmul(g, a, b);
    case ET_X_DIV:
        return divide(g, a, b);
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
        return g->family->root(g, a);
    case ET_X_RSQRT:
        return g->family->divide(g, cg_f32(g, 1), g->family->root(g, a));
    case ET_X_TO_F16:
        return LLVMBuildFPExt(g->b, cg_to_f16(g, a), g->f32, "");
    case ET_X_TO_BF16:
        return LLVMBuildFPExt(g->b, cg_to_bf16(g, a), g->f32, "");
    case ET_X_TO_E4M3:
        return cg_round_e4m3(g, a);
    default:
        return g->family->math(g, x->op, x->nops, (val[]){a, b});
    }
}

/* ---- conversions, loads, guards ---- */

static val convert(cg *g, val v, et_type to) {
    LLVMTypeRef from = LLVMTypeOf(v);
    if (to == ET_T_F32 && (from == g->i32 || from == g->i64))
        return LLVMBuildSIToFP(g->b, v, g->f32, "");
    if (to == ET_T_F32 && from == g->i1) return LLVMBuildUIToFP(g->b, v, g->f32, "");
    if (to == ET_T_I32 && from == g->i1) return LLVMBuildZExt(g->b, v, g->i32, "");
    if (to == ET_T_I32 && from == g->f32) {
        LLVMTypeRef t[] = {g->i32, g->f32};
        return cg_call(g, "llvm.fptosi.sat", 2, t, 1, &v);
    }
    return v;
}

val cg_to_f32(cg *g, val v) {
    return convert(g, v, ET_T_F32);
}

val cg_emit_f32(cg *g, et_expr e) {
    return cg_to_f32(g, cg_emit(g, e));
}

static val emit_load(cg *g, et_expr e, const et_node_x *x) {
    et_expr offset = cg_offset(g, x->i2, x->i, x->ops);
    val ptr = cg_address(g, x->i2, x->i, offset);
    if (g->guard && !cg_in_range(g, e)) {
        val safe = x->i2 == ET_LOAD_LOCAL ? g->lds : g->tensor[x->i];
        ptr = cg_select(g, g->guard, ptr, safe);
    }
    return cg_load_one(g, x->i2, x->i, ptr, offset);
}

struct query {
    cg *g;
    bool yes;
};

static void ask_load(void *ctx, et_expr e) {
    struct query *q = ctx;
    if (et_x(q->g->x, e)->op == ET_X_LOAD) q->yes |= !cg_in_range(q->g, e);
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
    val a = cg_emit(g, x->ops[0]), b;
    switch (x->op) {
    case ET_X_NOT:
        return LLVMBuildNot(g->b, a, "");
    case ET_X_AND:
        return LLVMBuildAnd(g->b, a, emit_guarded(g, x->ops[1], a, false), "");
    case ET_X_OR:
        return LLVMBuildOr(g->b, a, emit_guarded(g, x->ops[1], a, true), "");
    default:
        b = cg_emit(g, x->ops[1]);
        if (LLVMTypeOf(a) == g->i64 || LLVMTypeOf(b) == g->i64)
            a = widen(g, x->ops[0], a), b = widen(g, x->ops[1], b);
        return emit_compare(g, x->op, a, b);
    }
}

static val emit_select(cg *g, const et_node_x *x) {
    val c = cg_emit(g, x->ops[0]);
    val a = emit_guarded(g, x->ops[1], c, false), b = emit_guarded(g, x->ops[2], c, true);
    a = convert(g, a, x->type);
    b = convert(g, b, x->type);
    if (LLVMTypeOf(a) != LLVMTypeOf(b)) a = widen(g, x->ops[1], a), b = widen(g, x->ops[2], b);
    return cg_select(g, c, a, b);
}

static val emit_op(cg *g, et_expr e, const et_node_x *x) {
    if (x->op == ET_X_SELECT) return emit_select(g, x);
    if (x->type == ET_T_PRED) return emit_pred(g, x);
    if (x->op == ET_X_TO_I32 && et_x(g->x, x->ops[0])->type == ET_T_I32)
        return cg_emit_low(g, x->ops[0]);
    if (x->op == ET_X_TO_I32) return convert(g, cg_emit(g, x->ops[0]), ET_T_I32);
    if (x->op == ET_X_PHILOX)
        return cg_philox(g, cg_emit_low(g, x->ops[0]), cg_emit_low(g, x->ops[1]),
                         cg_emit_low(g, x->ops[2]));
    if (x->type == ET_T_I32) return emit_whole(g, e, x);
    val a = cg_emit(g, x->ops[0]), b = x->nops > 1 ? cg_emit(g, x->ops[1]) : NULL;
    if (x->op == ET_X_TO_F32) return convert(g, a, ET_T_F32);
    return emit_float(g, x, convert(g, a, ET_T_F32), b ? convert(g, b, ET_T_F32) : NULL);
}

val cg_emit(cg *g, et_expr e) {
    val v = recall(g, e);
    if (v) return v;
    et_node_x x = *et_x(g->x, e);
    switch (x.op) {
    case ET_X_INT:
        if (x.type == ET_T_PRED) return LLVMConstInt(g->i1, x.n != 0, false);
        return is_wide(g, e) ? cg_i64(g, x.n) : cg_i32(g, x.n);
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
        v = emit_op(g, e, &x);
    }
    cg_remember(g, e, v);
    return v;
}
