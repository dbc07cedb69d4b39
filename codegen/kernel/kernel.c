/* The persistent kernel: prologue, arguments, variants; what comes between is static.c. */
#include "codegen/kernel/kernel.h"
#include "codegen/step/step.h"
#include <stddef.h>

/* ---- prologue ---- */

/* Shared among workgroups by the hardware's NUMBER, so before ranks are known. */
void cg_clear_next_events(cg *g, val number) {
    val next = g->in_step ? cg_step_events(g, true)
                          : cg_argument(g, offsetof(struct etrt_kernarg, events_next), g->gptr);
    int wg = g->whole->workgroup, words = g->event_words;
    val first = cg_add(g, cg_muli(g, number, wg), g->tid), none = NULL;
    cg_for f;
    val i = cg_for_begin(g, &f, first, cg_i32(g, words), cg_muli(g, g->nwg, wg), false, 0, &none);
    val ptr = cg_gep(g, next, LLVMBuildZExt(g->b, cg_muli(g, i, 4), g->i64, ""));
    LLVMSetAlignment(LLVMBuildStore(g->b, cg_i32(g, 0), ptr), 4);
    cg_for_end(g, &f, &none);
}

void cg_identify(cg *g) {
    int wave = g->t->wave;
    g->tid = g->family->workitem(g);
    g->lane = LLVMBuildAnd(g->b, g->tid, cg_i32(g, wave - 1), "lane");
    g->wave = cg_uniform(g, LLVMBuildUDiv(g->b, g->tid, cg_i32(g, wave), ""));
    g->args = LLVMGetParam(g->fn, 0);
    cg_load_arguments(g);
    g->family->keep_local(g);
}

static void prologue(cg *g, val number) {
    cg_trace_begin(g);
    if (!g->opt->resident) cg_clear_next_events(g, number);
    g->wg = g->rank = cg_rank(g, number);
    if (g->opt->resident)
        cg_prepare_steps(g);
    else if (g->sliced && g->p->g->nmodels)
        cg_count_models(g);
    else if (g->sliced)
        cg_meet(g);
}

/* ---- the function ---- */

void cg_forget(cg *g) {
    g->memo = NULL;
    g->var = NULL;
    g->divergent = NULL;
    g->nmemo = g->ntrail = g->nvar = 0;
}

/* Emission goes on for P: values of another program's expressions are forgotten. */
void cg_enter_program(cg *g, et_program *p) {
    g->p = p;
    g->x = p->g->exprs;
    cg_forget(g);
    cg_place_arguments(g);
    cg_ring_enter(g, p);
    g->stored = et_program_stored(g->p, g->arena);
    et_queues_plan(g->arena, p, &g->queues);
    cg_plan_bodies(g);
}

/* The program's work of this workgroup, or of the producer wave. */
static void visit_program(cg *g) {
    g->base = cg_i32(g, 0);
    if (g->in_step && g->p->g->nmodels) {
        cg_models(g);
        return;
    }
    cg_maps_begin(g);
    if (g->p->g->nmodels) {
        cg_models(g);
    } else {
        if (!g->producer) cg_seed(g);
        cg_visit(g, g->p->first, g->p->count);
    }
    cg_maps_end(g);
}

/* The program twice, where products can skip weights that are zero: a launch runs the code that
 * does where there are enough of these. */
static void visit_ways(cg *g) {
    if (!cg_has_zeros(g)) {
        visit_program(g);
        return;
    }
    block way[2] = {cg_block(g, "all"), cg_block(g, "some")}, out = cg_block(g, "either");
    g->args = LLVMGetParam(g->fn, 0);
    val zeros = cg_argument(g, cg_zeros_arg(g), g->i32);
    cg_cond(g, cg_icmp(g, LLVMIntEQ, zeros, cg_i32(g, 0)), way[0], way[1]);
    for (int i = 0; i < 2; i++) {
        cg_at(g, way[i]);
        g->leave_out = i == 1;
        cg_enter_program(g, g->p);
        g->args = LLVMGetParam(g->fn, 0);
        cg_load_arguments(g);
        visit_program(g);
        cg_br(g, out);
    }
    g->leave_out = false;
    LLVMMoveBasicBlockAfter(out, LLVMGetLastBasicBlock(g->fn));
    cg_at(g, out);
}

/* Does variant I suit the launch, if none before does? NULL: whatever it is. */
static val suits(cg *g, int i, val value, val workgroups) {
    const et_program *whole = g->whole;
    const et_variant *v = &whole->variant[i];
    val is = NULL;
    if (i + 1 == whole->nvariants) return NULL;
    if (value) is = cg_icmp(g, LLVMIntSLE, value, cg_i32(g, v->upto));
    if (!v->most) return is;
    val above = LLVMBuildSub(g->b, workgroups, cg_i32(g, v->least), "");
    val in = cg_icmp(g, LLVMIntULE, above, cg_i32(g, v->most - v->least));
    return is ? LLVMBuildAnd(g->b, is, in, "") : in;
}

/* Variants: the first that suits runs. */
static void emit_variants(cg *g, block exit) {
    et_program *whole = g->whole;
    val value = whole->variant_sym >= 0 ? g->sym[whole->variant_sym] : NULL, workgroups = g->nwg;
    for (int i = 0; i < whole->nvariants; i++) {
        block mine = cg_block(g, "variant"), next = cg_block(g, "next");
        val is = suits(g, i, value, workgroups);
        if (is)
            cg_cond(g, is, mine, next);
        else
            cg_br(g, mine);
        cg_at(g, mine);
        cg_enter_program(g, whole->variant[i].program);
        g->args = LLVMGetParam(g->fn, 0);
        cg_load_arguments(g);
        visit_ways(g);
        cg_br(g, exit);
        g->first_task += g->p->ngrids;
        g->first_event += g->p->nevents;
        if (i + 1 < whole->nvariants)
            cg_at(g, next);
        else
            LLVMDeleteBasicBlock(next);
    }
    cg_enter_program(g, whole);
}

/* What the producer wave visits, and what a step does. */
static void visit_all(cg *g) {
    block out = cg_block(g, "all_produced");
    if (g->whole->nvariants) {
        emit_variants(g, out);
    } else {
        visit_ways(g);
        cg_br(g, out);
    }
    LLVMMoveBasicBlockAfter(out, LLVMGetLastBasicBlock(g->fn));
    cg_at(g, out);
}

void cg_kernel(cg *g) {
    g->family->declare_kernel(g, g->whole->g->devices || g->opt->resident ? cg_last_args(g)
                                                                          : cg_zeros_arg(g));
    g->family->declare_local(g);
    block entry = cg_block(g, "entry");
    g->exit = cg_block(g, "exit");
    g->failed = cg_block(g, "failed");
    g->in_step = false;
    cg_at(g, entry);
    cg_enter_program(g, g->whole);
    val number = g->family->workgroup(g);
    cg_identify(g);
    cg_begin_producer(g, visit_all);
    prologue(g, number);
    if (g->opt->resident) {
        cg_stay(g, visit_all);
    } else if (g->whole->nvariants) {
        emit_variants(g, g->exit);
    } else {
        visit_ways(g);
        cg_br(g, g->exit);
    }
    cg_kernel_ends(g);
}
