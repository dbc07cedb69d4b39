/* From the LLVM module to the file on disk: link, optimise, and let the family package it. */
#include "codegen/object.h"
#include "ir/base/diag.h"
#include "ir/base/output.h"
#include <errno.h>
#include <llvm-c/Analysis.h>
#include <llvm-c/Error.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool optimise(cg *g, LLVMTargetMachineRef tm) {
    char passes[32], *err = NULL;
    snprintf(passes, sizeof passes, "default<O%d>", g->opt->opt_level & 3);
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
    LLVMPassBuilderOptionsSetLoopVectorization(o, false);
    LLVMPassBuilderOptionsSetSLPVectorization(o, false);
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
    if (!g->family->link_math(g)) return false;
    cg_stage(g, "device libraries");
    if (!optimise(g, tm)) return false;
    cg_stage(g, "optimise");
    return write_ir(g);
}

bool cg_object(cg *g, LLVMTargetMachineRef tm, et_codegen_info *info) {
    const char *out = g->opt->output;
    cg_stage(g, NULL);
    if (!out) return emit(g, tm); /* the IR was all that was asked for */
    char stem[PATH_MAX], *tmp = NULL;
    int fd = -1;
    if (et_output_stem(out, stem)) {
        tmp = et_printf(g->arena, "%s.XXXXXX", stem);
        fd = mkstemp(tmp);
    }
    if (fd < 0) {
        cg_error(g, "cannot write %s: %s", out, strerror(errno));
        return false;
    }
    close(fd);
    bool ok = emit(g, tm) && g->family->package(g, tm, tmp);
    if (ok) g->family->inspect(g, tmp, info);
    if (ok && !et_output_move(tmp, out)) {
        cg_error(g, "cannot write %s: %s", out, strerror(errno));
        ok = false;
    }
    if (!ok) unlink(tmp);
    return ok;
}
