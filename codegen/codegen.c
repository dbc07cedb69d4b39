/* The driver: from a program to a code object. Start reading here, then kernel.c. */
#include "codegen/codegen.h"
#include "codegen/internal.h"
#include "ir/base/diag.h"
#include "ir/program/step.h"
#include <ctype.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <string.h>

_Static_assert(ET_EVENT_RESERVED == ETRT_EVENT_FIRST, "events begin after the words of the ABI");

#define X(name) extern const et_target et_target_##name;
#include "codegen/targets/targets.def"
#undef X

static const et_target *const targets[] = {
#define X(name) &et_target_##name,
#include "codegen/targets/targets.def"
#undef X
};
enum { NTARGETS = sizeof targets / sizeof *targets };

const et_target *et_target_find(const char *name) {
    for (int i = 0; i < NTARGETS; i++)
        if (strcmp(targets[i]->name, name) == 0) return targets[i];
    return NULL;
}

const char *et_target_name(int i) {
    return i >= 0 && i < NTARGETS ? targets[i]->name : NULL;
}

const et_fragment *et_target_fragment(const et_target *t, et_dtype operand) {
    for (int i = 0; i < t->nfragments; i++)
        if (t->fragments[i].operand == operand) return &t->fragments[i];
    return NULL;
}

void cg_error(cg *g, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    et_diag(g->p->g->diags, ET_ERROR, (et_loc){0}, "%s", et_vprintf(g->arena, fmt, ap));
    va_end(ap);
}

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *ctx) {
    cg *g = ctx;
    char *text = LLVMGetDiagInfoDescription(info);
    LLVMDiagnosticSeverity s = LLVMGetDiagInfoSeverity(info);
    if (s == LLVMDSError) cg_error(g, "LLVM: %s", text);
    if (s == LLVMDSWarning) et_diag(g->p->g->diags, ET_WARNING, (et_loc){0}, "LLVM: %s", text);
    LLVMDisposeMessage(text);
}

/* ---- what the target must be able to hold ---- */

static bool check_contract(cg *g, const et_func *f, const et_step *s) {
    const et_fragment *fr = et_target_fragment(g->t, s->operand);
    if (!fr) {
        cg_error(g, "%s has no matrix instruction for %s (in %s)", g->t->name,
                 et_dtype_name(s->operand), f->name);
        return false;
    }
    int waves = g->p->workgroup / g->t->wave, k = fr->lane_k * fr->groups;
    if (s->wn * s->wk != waves || s->tm % 16 || s->tn % (16 * s->wn) || s->kc % (k * s->wk)) {
        cg_error(g, "%s: a contraction of %d x %d by %d does not divide among %d x %d waves",
                 f->name, s->tm, s->tn, s->kc, s->wn, s->wk);
        return false;
    }
    g->f = f;
    const char *problem = cg_contract_problem(g, s);
    g->f = NULL;
    if (problem) cg_error(g, "%s: %s", f->name, problem);
    return !problem;
}

/* LDS: every function's locals share the front; codegen's own words follow. More than half of what
 * a CU has keeps a second workgroup out. */
static bool check_lds(cg *g) {
    int most = 0;
    for (int k = 0; et_program_part(g->whole, k); k++) {
        const et_program *p = et_program_part(g->whole, k);
        for (int i = 0; i < p->nfuncs; i++)
            if (p->funcs[i].lds_bytes > most) most = p->funcs[i].lds_bytes;
    }
    most = (most + 15) & ~15;
    g->flag_at = most;
    g->reduce_at = most + CG_FLAG_BYTES;
    if (g->sliced && g->p->g->nmodels) g->reduce_at += CG_ORDER_BYTES;
    g->trace_at = g->reduce_at + 16 * (g->p->workgroup / g->t->wave);
    g->lds_bytes = g->trace_at + cg_trace_lds(g);
    if (g->lds_bytes > g->t->lds_bytes) {
        cg_error(g, "the program needs %d bytes of local memory, %s has %d", g->lds_bytes,
                 g->t->name, g->t->lds_bytes);
        return false;
    }
    int half = g->t->lds_bytes / 2 + 512;
    if (g->lds_bytes < half) g->lds_bytes = half;
    return true;
}

static bool check_steps(cg *g, const et_program *p) {
    bool ok = true;
    for (int i = 0; i < p->nfuncs; i++) {
        const et_func *f = &p->funcs[i];
        for (int k = 0; k < f->nsteps; k++)
            if (f->steps[k].kind == ET_STEP_CONTRACT)
                ok &= check_contract(g, f, &f->steps[k]);
            else if (f->steps[k].kind == ET_STEP_ATTEND && f->steps[k].depth > 8 * g->t->wave) {
                cg_error(g, "%s: heads of %d are too deep, at most %d", f->name, f->steps[k].depth,
                         8 * g->t->wave);
                ok = false;
            }
    }
    return ok;
}

/* Words of the event array that the hungriest part needs. */
static bool check_queues(cg *g) {
    const et_program *p;
    for (int i = 0; (p = et_program_part(g->whole, i)); i++) {
        et_queues q;
        const char *problem = et_queues_plan(g->arena, p, &q);
        if (problem) {
            cg_error(g, "%s", problem);
            return false;
        }
        if (q.words > g->event_words) g->event_words = q.words;
    }
    return true;
}

/* Each model counts its own workgroups on every die, after all other words. */
static void add_meetings(cg *g) {
    g->meet_words = g->event_words;
    if (g->sliced && g->t->die.bits) g->event_words += ETRT_MAX_DIES * g->whole->g->nmodels;
}

bool cg_check(cg *g) {
    g->sliced = cg_sliced_models(g->whole);
    bool ok = check_lds(g) && check_queues(g);
    add_meetings(g);
    for (int i = 0; et_program_part(g->whole, i); i++) {
        et_program *p = et_program_part(g->whole, i);
        if (p->workgroup != g->p->workgroup || p->workgroup % g->t->wave ||
            p->workgroup < g->t->wave) {
            cg_error(g, "%d work-items per workgroup are not whole waves of %d", p->workgroup,
                     g->t->wave);
            return false;
        }
        cg of = *g;
        of.p = p;
        of.x = p->g->exprs;
        ok &= check_steps(&of, p);
    }
    return ok;
}

/* ---- */

static char *symbol_of(cg *g) {
    const char *name = g->p->g->name && *g->p->g->name ? g->p->g->name : "model";
    char *s = et_printf(g->arena, "%s%s", isdigit((unsigned char)*name) ? "_" : "", name);
    for (char *c = s; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_') *c = '_';
    return s;
}

void cg_find_stored(cg *g) {
    g->stored = et_alloc(g->arena, (size_t)g->p->ntensors + 1);
    for (int i = 0; i < g->p->nfuncs; i++)
        for (int k = 0; k < g->p->funcs[i].nsteps; k++) {
            const et_place *to = et_step_to(&g->p->funcs[i].steps[k]);
            if (to && to->space == ET_LOAD_TENSOR) g->stored[to->id] = true;
        }
}

static bool generate(cg *g, et_codegen_info *info) {
    g->symbol = symbol_of(g);
    g->mod = LLVMModuleCreateWithNameInContext(g->symbol, g->ctx);
    LLVMSetTarget(g->mod, g->t->triple);
    LLVMTargetRef target;
    char *err = NULL;
    if (LLVMGetTargetFromTriple(g->t->triple, &target, &err)) {
        cg_error(g, "LLVM has no target %s", g->t->triple);
        LLVMDisposeMessage(err);
        return false;
    }
    LLVMTargetMachineRef tm =
        LLVMCreateTargetMachine(target, g->t->triple, g->t->name, g->t->features,
                                LLVMCodeGenLevelDefault, LLVMRelocPIC, LLVMCodeModelDefault);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(tm);
    LLVMSetModuleDataLayout(g->mod, layout);
    LLVMDisposeTargetData(layout);
    LLVMDisposeTargetMachine(tm);
    /* Version 5 loads on every ROCm since 5.6; nothing of version 6 is used here. */
    LLVMAddModuleFlag(g->mod, LLVMModuleFlagBehaviorError, "amdhsa_code_object_version", 26,
                      LLVMValueAsMetadata(cg_i32(g, 500)));
    cg_kernel(g);
    cg_embed_manifest(g);
    return cg_object(g, info);
}

bool et_codegen(et_program *p, const et_codegen_options *opt, et_codegen_info *out_info) {
    LLVMInitializeAMDGPUTargetInfo();
    LLVMInitializeAMDGPUTarget();
    LLVMInitializeAMDGPUTargetMC();
    LLVMInitializeAMDGPUAsmPrinter();
    LLVMInitializeAMDGPUAsmParser();
    cg g = {
        .whole = p, .p = p, .x = p->g->exprs, .arena = p->g->arena, .opt = opt, .t = opt->target};
    et_codegen_info info = {0};
    if (!cg_check(&g)) return false;
    g.ctx = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(g.ctx, on_diagnostic, &g);
    g.b = LLVMCreateBuilderInContext(g.ctx);
    cg_init_types(&g);
    bool ok = generate(&g, &info);
    LLVMDisposeBuilder(g.b);
    if (g.mod) LLVMDisposeModule(g.mod);
    LLVMContextDispose(g.ctx);
    if (ok && out_info) *out_info = info;
    return ok;
}
