/* Mathematical functions, without libdevice: the instructions of the hardware where they are good
 * enough, and arithmetic around them. */
#include "codegen/targets/nvptx/nvptx.h"
#include "ir/base/diag.h"
#include <math.h>

static val one(cg *g, const char *name, val x) {
    return cg_call(g, name, 0, NULL, 1, &x);
}

/* 2 ulp of all f32. */
val nvptx_divide(cg *g, val a, val b) {
    return cg_call(g, "llvm.nvvm.div.full", 0, NULL, 2, (val[]){a, b});
}

val nvptx_root(cg *g, val a) {
    return one(g, "llvm.nvvm.sqrt.approx.f", a);
}

static val scaled(cg *g, val x, double by) {
    return cg_fmul(g, x, cg_f32(g, by));
}

static val power_of_2(cg *g, val x) {
    return cg_call(g, "llvm.nvvm.ex2.approx", 1, &g->f32, 1, &x);
}

static val log_2(cg *g, val x) {
    return one(g, "llvm.nvvm.lg2.approx.f", x);
}

static val tangent(cg *g, val x) {
    val e = power_of_2(g, scaled(g, x, 2 * M_LOG2E));
    val rest = nvptx_divide(g, cg_f32(g, 2), cg_fadd(g, e, cg_f32(g, 1)));
    return LLVMBuildFSub(g->b, cg_f32(g, 1), rest, "");
}

val nvptx_math(cg *g, et_xop op, int nargs, val *args) {
    (void)nargs;
    switch (op) {
    case ET_X_EXP:
        return power_of_2(g, scaled(g, args[0], M_LOG2E));
    case ET_X_LOG:
        return scaled(g, log_2(g, args[0]), M_LN2);
    case ET_X_SIN:
        return one(g, "llvm.nvvm.sin.approx.f", args[0]);
    case ET_X_COS:
        return one(g, "llvm.nvvm.cos.approx.f", args[0]);
    case ET_X_TANH:
        return tangent(g, args[0]);
    case ET_X_ERF:
        return tangent(g, args[0]);
    case ET_X_POW:
        return power_of_2(g, cg_fmul(g, args[1], log_2(g, args[0])));
    default:
        et_bug("codegen knows no operator %s", et_xop_text(op));
    }
}

bool nvptx_link_math(cg *g) {
    (void)g;
    return true;
}
