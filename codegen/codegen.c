/* From a program to a code object: what cannot be done is told, then the parts have their turns. */
#include "codegen/codegen.h"
#include "codegen/kernel/kernel.h"
#include "codegen/object.h"
#include "codegen/step/attend/attend.h"
#include "codegen/step/step.h"
#include "ir/base/diag.h"
#include "ir/program/deal.h"
#include "ir/weights/packed.h"
#include <ctype.h>
#include <dlfcn.h>
#include <inttypes.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/TargetMachine.h>
#include <string.h>

_Static_assert(ET_MAX_MODELS <= ETRT_MAX_MODELS, "every model has a word in the report");
_Static_assert(ET_EVENT_RESERVED == ETRT_EVENT_FIRST, "events begin after the words of the ABI");

static void on_diagnostic(LLVMDiagnosticInfoRef info, void *ctx) {
    cg *g = ctx;
    char *text = LLVMGetDiagInfoDescription(info);
    LLVMDiagnosticSeverity s = LLVMGetDiagInfoSeverity(info);
    if (s == LLVMDSError) cg_error(g, "LLVM: %s", text);
    if (s == LLVMDSWarning) et_diag(g->p->g->diags, ET_WARNING, (et_loc){0}, "LLVM: %s", text);
    LLVMDisposeMessage(text);
}

/* ---- where LLVM cannot go on ---- */

/* LLVM would abort. */
static void on_fatal(const char *why) {
    et_give_up(why);
}

static void on_no_memory(void *ctx, const char *why, bool crash) {
    (void)ctx, (void)why, (void)crash;
    et_no_memory();
}

/* C has no names for how C++ is told what to do when memory runs out; where a library has none by
 * these names either, it aborts. */
static void find_memory_handlers(void) {
    typedef void (*handler)(void *, const char *, bool);
    void (*install)(handler, void *);
    void (*(*set_new)(void (*)(void)))(void);
    void *llvm = dlsym(RTLD_DEFAULT, "_ZN4llvm31install_bad_alloc_error_handlerEPFvPvPKcbES0_");
    void *remove = dlsym(RTLD_DEFAULT, "_ZN4llvm30remove_bad_alloc_error_handlerEv");
    void *new = dlsym(RTLD_DEFAULT, "_ZSt15set_new_handlerPFvvE");
    void (*forget)(void);
    memcpy(&install, &llvm, sizeof install);
    memcpy(&forget, &remove, sizeof forget);
    memcpy(&set_new, &new, sizeof set_new);
    if (llvm && remove) {
        forget(); /* one of an earlier compilation: a second is a fatal error */
        install(on_no_memory, NULL);
    }
    if (new) set_new((void (*)(void))et_no_memory);
}

/* ---- what the target must be able to hold ---- */

static bool check_contract(cg *g, const et_func *f, const et_step *s) {
    const et_fragment *fr = et_target_fragment(g->t, s->operand);
    if (!fr) {
        cg_error(g, "%s has no matrix instruction for %s (in %s)", g->t->name,
                 et_dtype_name(s->operand), f->name);
        return false;
    }
    int waves = g->p->workgroup / g->t->wave, k = fr->lane_k * et_layout_groups(fr->layout);
    int parts = s->wn * s->wk * s->wm;
    bool all = parts == waves || (parts < waves && s->stage_b < 0 && s->wm == 1);
    if (!all || s->tm % (16 * s->wm) || !et_step_divides_columns(s) ||
        et_step_chunk(f, s) % (k * s->wk)) {
        cg_error(g, "%s: a contraction of %d x %d by %d does not divide among %d x %d x %d waves",
                 f->name, s->tm, s->tn, et_step_chunk(f, s), s->wn, s->wk, s->wm);
        return false;
    }
    g->f = f;
    const char *problem = cg_contract_problem(g, s);
    g->f = NULL;
    if (problem) cg_error(g, "%s: %s", f->name, problem);
    return !problem;
}

static bool check_attend(cg *g, const et_func *f, const et_step *s) {
    g->f = f;
    const char *problem = cg_attend_problem(g, s);
    g->f = NULL;
    if (problem) cg_error(g, "%s: %s", f->name, problem);
    return !problem;
}

static bool check_chunk(cg *g, const et_func *f, const et_step *s) {
    g->f = f;
    const char *problem = cg_scan_problem(g, s);
    g->f = NULL;
    if (problem) cg_error(g, "%s: its scan cannot be done so: %s", f->name, problem);
    return !problem;
}

/* Without a weight stream a tile whose plan has one would wait for its weights for ever. */
static bool check_slots(cg *g, const et_program *p) {
    bool ok = true;
    for (int i = 0; i < p->ngrids; i++) {
        const et_func *f = &p->funcs[p->grids[i].func];
        bool wants = false;
        for (int k = 0; k < f->nlocals; k++)
            wants |= f->locals[k].slot;
        for (int k = 0; k < f->nsteps; k++)
            wants |= f->steps[k].plan[ET_PLAN_MAIN].made &&
                     f->steps[k].plan[ET_PLAN_MAIN].weights == ET_WEIGHTS_STREAM;
        if (!wants || cg_streamed(g, i)) continue;
        cg_error(g, "%s: its weights come in slots of a ring, and there is none for them",
                 p->grids[i].name);
        ok = false;
    }
    return ok;
}

static bool check_steps(cg *g, const et_program *p) {
    bool ok = true;
    cg_ring_enter(g, p);
    for (int i = 0; i < p->nfuncs; i++) {
        const et_func *f = &p->funcs[i];
        for (int k = 0; k < f->nsteps; k++)
            if (f->steps[k].kind == ET_STEP_CONTRACT)
                ok &= check_contract(g, f, &f->steps[k]);
            else if (f->steps[k].kind == ET_STEP_ATTEND)
                ok &= check_attend(g, f, &f->steps[k]);
            else if (f->steps[k].kind == ET_STEP_SCAN && f->steps[k].lanes > g->t->wave) {
                cg_error(g, "%s: %d lanes share a result of a scan, a wave has %d", f->name,
                         f->steps[k].lanes, g->t->wave);
                ok = false;
            } else if (f->steps[k].kind == ET_STEP_SCAN)
                ok &= check_chunk(g, f, &f->steps[k]);
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
        g->queued |= q.nregions > 0;
    }
    return true;
}

/* Each model counts its own workgroups, on every die and when they are done with it, after all
 * other words. */
static void add_meetings(cg *g) {
    g->meet_words = g->event_words;
    if (g->sliced && g->t->dies) g->event_words += ETRT_MAX_DIES * g->whole->g->nmodels;
    g->done_words = g->event_words;
    g->event_words += g->opt->resident && !g->whole->g->nmodels ? 1 : g->whole->g->nmodels;
}

static bool check_resident(cg *g) {
    const char *problem = cg_resident_problem(g);
    if (problem) cg_error(g, "%s", problem);
    return !problem;
}

static bool check_sequence(cg *g) {
    if (!cg_is_sequence(g)) return true;
    if (g->opt->profile)
        cg_error(g, "a profile is recorded by one kernel: none with --schedule=kernels");
    else if (g->sliced)
        cg_error(g, "tasks in slices are dealt by one kernel, not by a sequence of kernels");
    else
        return true;
    return false;
}

/* The workspace ends where what devices exchange begins, which is elsewhere. */
static const char *inbox_problem(const cg *g) {
    const et_program *p;
    for (int i = 0; g->tags.inbox_bytes && (p = et_program_part(g->whole, i)); i++)
        for (int t = 0; t < p->ntensors; t++)
            if (p->tensors[t].kind == ET_TENSOR_TEMP && !et_in_inbox(&p->tensors[t]) &&
                p->tensors[t].offset + p->tensors[t].max_bytes > g->tags.inbox)
                return "temporaries that are partial over devices come after all others";
    return NULL;
}

/* The parser sees to it, and passes do; a kernel without would be wrong. */
static bool check_tags(cg *g) {
    const char *problem = et_tags_shared_problem(g->whole);
    for (int i = 0; !problem && et_program_part(g->whole, i); i++)
        problem = et_tags_problem(et_program_part(g->whole, i));
    for (int i = 0; !problem && et_program_part(g->whole, i); i++)
        problem = et_deal_problem(et_program_part(g->whole, i));
    g->tags = et_tags_of(g->whole);
    if (!problem) problem = inbox_problem(g);
    if (problem) cg_error(g, "%s", problem);
    return !problem;
}

/* What codegen cannot do, told before it starts. */
static bool check(cg *g) {
    if (!check_tags(g)) return false;
    g->sliced = cg_sliced_models(g->whole);
    bool ok = check_sequence(g) && check_resident(g) && cg_plan_lds(g) && check_queues(g);
    add_meetings(g);
    for (int i = 0; et_program_part(g->whole, i); i++) {
        et_program *p = et_program_part(g->whole, i);
        if (p->workgroup != g->p->workgroup || p->workgroup % g->t->wave ||
            p->workgroup < g->t->wave) {
            cg_error(g, "%d work-items per workgroup are not whole waves of %d", p->workgroup,
                     g->t->wave);
            return false;
        }
        if (p->occupancy != g->p->occupancy) {
            cg_error(g, "its variants have %d and %d workgroups on a CU", g->p->occupancy,
                     p->occupancy);
            return false;
        }
        cg of = *g;
        of.p = p;
        of.x = p->g->exprs;
        of.stored = et_program_stored(p, g->arena);
        ok &= check_steps(&of, p);
        ok = ok && check_slots(&of, p);
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

/* NULL after an error. */
static LLVMTargetMachineRef machine(cg *g, int opt_level) {
    static const LLVMCodeGenOptLevel level[] = {LLVMCodeGenLevelNone, LLVMCodeGenLevelLess,
                                                LLVMCodeGenLevelDefault,
                                                LLVMCodeGenLevelAggressive};
    const char *triple = g->family->triple;
    const char *cpu = g->family->processor ? g->family->processor(g) : g->t->name;
    LLVMTargetRef target;
    char *err = NULL;
    if (!LLVMGetTargetFromTriple(triple, &target, &err))
        return LLVMCreateTargetMachine(target, triple, cpu, g->family->features(g),
                                       level[opt_level & 3], LLVMRelocPIC, LLVMCodeModelDefault);
    cg_error(g, "LLVM has no target %s: %s", triple, err);
    LLVMDisposeMessage(err);
    return NULL;
}

/* A body that serves several grids reads packed what any of them multiplies by, where one does. */
static void pack_alike(cg *g) {
    const et_program *p;
    bool any = false;
    for (int i = 0; i < g->whole->ntensors; i++)
        any |= g->packed[i];
    for (int i = 0; any && g->nbodies && (p = et_program_part(g->whole, i)); i++)
        for (int t = 0, k = 0; t < p->ntensors; t++) {
            if (p->tensors[t].kind == ET_TENSOR_TEMP || p->tensors[t].kind == ET_TENSOR_CONST)
                continue;
            g->packed[k++] |= et_packed_used(p, t);
        }
}

/* A kernel for each variant, where the family has them so and there is one model. In one kernel
 * of all, each variant gets the registers and the waves that the hungriest needs, and its code lies
 * among that of others: instruction cache misses cost 2 %. */
static void emit_each_variant(cg *g) {
    et_program *whole = g->whole;
    char *symbol = g->symbol;
    int lds = 0, slots = 0;
    g->kernels = et_alloc(g->arena, (size_t)whole->nvariants * sizeof *g->kernels);
    for (int i = 0; i < whole->nvariants; i++) {
        const et_variant *v = &whole->variant[i];
        g->whole = g->p = v->program;
        g->x = g->p->g->exprs;
        g->ring_stages = g->send_at = 0;
        cg_plan_lds(g);
        if (i) g->symbol = et_printf(g->arena, "%s_%" PRId64, symbol, v->upto);
        if (i && v->most) g->symbol = et_printf(g->arena, "%s_on_%d", g->symbol, v->most);
        cg_kernel(g);
        g->kernels[i] =
            (et_kernel){.symbol = g->symbol, .p = g->p, .lds_bytes = g->lds_bytes, .grid = -1};
        g->kernels[i].workitems = cg_workitems(g);
        if (!i) symbol = g->symbol;
        if (g->lds_bytes > lds) lds = g->lds_bytes;
        if (g->ring_stages > slots) slots = g->ring_stages;
        g->first_task += v->program->ngrids;
        g->first_event += v->program->nevents;
    }
    g->whole = whole;
    g->symbol = symbol;
    g->lds_bytes = lds;
    g->ring_stages = slots;
    cg_enter_program(g, whole);
}

static bool generate(cg *g, et_codegen_info *info) {
    LLVMTargetMachineRef tm = machine(g, g->opt->opt_level);
    if (!tm) return false;
    g->symbol = symbol_of(g);
    g->mod = LLVMModuleCreateWithNameInContext(g->symbol, g->ctx);
    LLVMSetTarget(g->mod, g->family->triple);
    LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(tm);
    LLVMSetModuleDataLayout(g->mod, layout);
    LLVMDisposeTargetData(layout);
    g->family->begin_module(g);
    cg_begin_numbers(g);
    cg_begin_random(g);
    if (cg_is_sequence(g))
        cg_sequence(g);
    else if (g->family->variants && g->whole->nvariants && !g->p->g->nmodels)
        emit_each_variant(g);
    else
        cg_kernel(g);
    cg_finish_numbers(g);
    pack_alike(g);
    g->family->embed(g, cg_manifest(g));
    if (cg_is_brief(g)) {
        LLVMDisposeTargetMachine(tm);
        tm = machine(g, 1);
    }
    bool ok = cg_object(g, tm, info);
    LLVMDisposeTargetMachine(tm);
    return ok;
}

bool et_codegen(et_program *p, const et_codegen_options *opt, et_codegen_info *out_info) {
    cg g = {.whole = p,
            .p = p,
            .x = p->g->exprs,
            .arena = p->g->arena,
            .opt = opt,
            .t = opt->target,
            .family = opt->target->family};
    et_codegen_info info = {0};
    g.packed = et_alloc(g.arena, (size_t)(p->ntensors + 1) * sizeof *g.packed);
    for (int i = 0; et_program_part(p, i); i++)
        info.ncode += et_program_part(p, i)->ngrids;
    if (opt->count || opt->emit_loops)
        g.products = et_alloc(g.arena, (size_t)(info.ncode + 1) * sizeof *g.products);
    if (!check(&g)) return false;
    LLVMResetFatalErrorHandler();
    LLVMInstallFatalErrorHandler(on_fatal);
    find_memory_handlers();
    g.family->initialize();
    g.texts = et_arena_create();
    g.ctx = LLVMContextCreate();
    LLVMContextSetDiagnosticHandler(g.ctx, on_diagnostic, &g);
    g.b = LLVMCreateBuilderInContext(g.ctx);
    cg_init_types(&g);
    bool ok = generate(&g, &info);
    LLVMDisposeBuilder(g.b);
    if (g.mod) LLVMDisposeModule(g.mod);
    LLVMContextDispose(g.ctx);
    et_arena_destroy(g.texts);
    for (int i = 0; i < p->ntensors; i++)
        info.packed |= g.packed[i];
    if (ok && out_info) *out_info = info;
    return ok;
}

const char *et_sparse_name(int i) {
    static const char *const names[] = {"none", "zeros", "2:4"};
    return i >= 0 && i <= ET_SPARSE_2_4 ? names[i] : NULL;
}
