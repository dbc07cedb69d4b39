/* From the LLVM module to the file on disk: link, optimise, and let the family package it. */
#include "codegen/object.h"
#include "codegen/kernel/kernel.h"
#include "ir/base/diag.h"
#include "runtime/files/output.h"
#include <errno.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <string.h>

/* LLVM's own pipeline takes 25 ms for the tiles of a product, and to machine code as long again. In
 * a kernel of hundreds of different ones time counts for more than the last per cent: what is left
 * are the passes that matter, which take half of that in all. */
static const char brief[] = "always-inline,globaldce,"
                            "function(sroa,early-cse<memssa>,simplifycfg,instcombine<no-verify-"
                            "fixpoint>,loop-simplify,lcssa,loop-mssa(licm),"
                            "gvn,simplifycfg,instcombine<no-verify-fixpoint>)";

static bool optimise(cg *g, LLVMTargetMachineRef tm) {
    char full[32], *err = NULL;
    snprintf(full, sizeof full, "default<O%d>", g->opt->opt_level & 3);
    const char *passes = cg_is_brief(g) ? brief : full;
#ifndef NDEBUG
    bool verify = true;
#else
    bool verify = getenv("ETCC_VERIFY") != NULL;
#endif
    if (verify && LLVMVerifyModule(g->mod, LLVMReturnStatusAction, &err)) {
        cg_error(g, "internal error: codegen made invalid LLVM IR: %s", err);
        LLVMDisposeMessage(err);
        return false;
    }
    LLVMDisposeMessage(err);
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMPassBuilderOptionsSetLoopUnrolling(o, false); /* steps unroll what is worth it */
    LLVMErrorRef e = LLVMRunPasses(g->mod, passes, tm, o);
    LLVMDisposePassBuilderOptions(o);
    if (!e) return true;
    char *msg = LLVMGetErrorMessage(e);
    cg_error(g, "LLVM cannot run its passes: %s", msg);
    LLVMDisposeErrorMessage(msg);
    return false;
}

static bool write_ir(cg *g) {
    if (!g->opt->emit_llvm) return true;
    et_output f;
    char *text = LLVMPrintModuleToString(g->mod);
    bool ok =
        et_output_open(&f, g->opt->emit_llvm) && et_output_close(&f, fputs(text, f.to) != EOF);
    LLVMDisposeMessage(text);
    if (!ok) cg_error(g, "cannot write %s: %s", g->opt->emit_llvm, strerror(errno));
    return ok;
}

static bool emit(cg *g, LLVMTargetMachineRef tm) {
    bool early = g->opt->unoptimised;
    if (early && !write_ir(g)) return false;
    if (early && !g->opt->output) return true;
    if (!g->family->link_math(g)) return false;
    cg_stage(g, "device libraries");
    if (!optimise(g, tm)) return false;
    if (g->family->mend) g->family->mend(g);
    cg_stage(g, "optimise");
    return early || write_ir(g);
}

static bool count_products(cg *g, LLVMTargetMachineRef tm, et_codegen_info *info) {
    bool ok = true;
    et_output f;
    if (!g->opt->count && !g->opt->emit_loops) return true;
    if (!g->family->count) {
        if (g->opt->emit_loops) cg_error(g, "LLVM has no text of %s's machine code", g->t->name);
        return !g->opt->emit_loops;
    }
    if (g->opt->emit_loops && !et_output_open(&f, g->opt->emit_loops)) ok = false;
    info->code = et_alloc(g->whole->g->arena, (size_t)(info->ncode + 1) * sizeof *info->code);
    FILE *loops = ok && g->opt->emit_loops ? f.to : NULL;
    if (!g->family->count(g, tm, info->code, info->ncode, loops)) info->code = NULL;
    if (loops) ok = et_output_close(&f, !ferror(loops));
    if (!ok) cg_error(g, "cannot write %s: %s", g->opt->emit_loops, strerror(errno));
    cg_stage(g, "count");
    return ok;
}

/* Into F what is loaded; false with an error, or when F cannot take it, which closing it tells. */
static bool package(cg *g, LLVMTargetMachineRef tm, et_codegen_info *info, et_output *f) {
    size_t bytes;
    if (!count_products(g, tm, info)) return false;
    char *file = g->family->package(g, tm, &bytes);
    if (!file) return false;
    g->family->inspect(g, file, bytes, info);
    fwrite(file, 1, bytes, f->to);
    free(file);
    return true;
}

bool cg_object(cg *g, LLVMTargetMachineRef tm, et_codegen_info *info) {
    const char *out = g->opt->output;
    et_output f;
    cg_stage(g, NULL);
    if (!out) return emit(g, tm); /* the IR was all that was asked for */
    bool open = et_output_open(&f, out), ok = open && emit(g, tm) && package(g, tm, info, &f);
    bool closed = open && et_output_close(&f, ok);
    if (!open || (ok && !closed)) cg_error(g, "cannot write %s: %s", out, strerror(errno));
    return closed;
}
