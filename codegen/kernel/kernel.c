/* The persistent kernel: prologue, arguments, variants; what comes between is static.c. */
#include "codegen/kernel/kernel.h"
#include "codegen/step/step.h"
#include "ir/program/zeros.h"
#include <stddef.h>
#include <string.h>

/* ---- prologue ---- */

val cg_argument(cg *g, size_t offset, LLVMTypeRef t) {
    val v = LLVMBuildLoad2(g->b, t, cg_gepi(g, g->args, (int64_t)offset), "");
    LLVMSetAlignment(v, t == g->i32 ? 4 : 8);
    LLVMSetMetadata(v, g->md_invariant,
                    LLVMMetadataAsValue(g->ctx, LLVMMDNodeInContext2(g->ctx, NULL, 0)));
    return v;
}

static val const_tensor(cg *g, const et_tensor *t) {
    int64_t n = t->max_bytes / et_dtype_bytes(t->shape.dtype);
    val *v = et_alloc(g->arena, (size_t)(n + 1) * sizeof *v);
    for (int64_t i = 0; i < n; i++)
        v[i] = t->shape.dtype == ET_I32 ? cg_i32(g, ((const int32_t *)t->data)[i])
                                        : cg_f32(g, (double)((const float *)t->data)[i]);
    LLVMTypeRef e = cg_storage(g, t->shape.dtype);
    val global = LLVMAddGlobalInAddressSpace(g->mod, LLVMArrayType2(e, (uint64_t)n), "table",
                                             g->family->global);
    LLVMSetInitializer(global, LLVMConstArray2(e, v, (uint64_t)n));
    LLVMSetGlobalConstant(global, true);
    LLVMSetLinkage(global, LLVMInternalLinkage);
    LLVMSetAlignment(global, 256);
    return global;
}

/* Where argument pointers of tensors begin, in bytes. */
static size_t tensor_args(const cg *g) {
    size_t at = sizeof(struct etrt_kernarg) + 4 * (size_t)et_sym_count(g->x);
    return (at + 7) & ~(size_t)7;
}

static bool has_argument(const et_tensor *t) {
    return t->kind != ET_TENSOR_TEMP && t->kind != ET_TENSOR_CONST;
}

size_t cg_part_args(const cg *g) {
    size_t at = tensor_args(g);
    for (int i = 0; i < g->p->ntensors; i++)
        at += has_argument(&g->p->tensors[i]) ? 8 : 0;
    return at;
}

int64_t cg_tensor_at(const cg *g, int tensor) {
    const et_tensor *te = &g->p->tensors[tensor];
    return te->kind == ET_TENSOR_TEMP ? te->offset : g->tensor_at[tensor];
}

static void load_tensor(cg *g, int i, val workspace) {
    val place = cg_tensor_place(g, i);
    if (g->p->tensors[i].kind == ET_TENSOR_TEMP) {
        g->tensor[i] =
            place ? cg_gep(g, workspace, place) : cg_gepi(g, workspace, g->p->tensors[i].offset);
        return;
    }
    cg of = *g;
    if (place) of.args = cg_gep(g, g->args, place);
    g->tensor[i] = cg_argument(&of, place ? 0 : (size_t)g->tensor_at[i], g->gptr);
}

/* Every grid loads its arguments anew: they are one cached scalar load away, while kept across the
 * kernel they would fill the scalar registers. Hidden is that they are the same. */
void cg_load_arguments(cg *g) {
    if (!g->in_body) g->args = g->family->hide(g, LLVMGetParam(g->fn, 0));
    const et_program *p = g->p;
    g->control = cg_argument(g, offsetof(struct etrt_kernarg, control), g->gptr);
    g->events = cg_argument(g, offsetof(struct etrt_kernarg, events), g->gptr);
    g->wait_ticks = cg_argument(g, offsetof(struct etrt_kernarg, wait_ticks), g->i64);
    g->nwg = g->part ? cg_part_workgroups(g)
                     : cg_argument(g, offsetof(struct etrt_kernarg, workgroups), g->i32);
    val workspace = cg_argument(g, offsetof(struct etrt_kernarg, workspace), g->gptr);
    for (int i = 0; i < et_sym_count(g->x); i++)
        g->sym[i] = cg_argument(g, sizeof(struct etrt_kernarg) + 4 * (size_t)i, g->i32);
    for (int i = 0; i < p->ntensors; i++)
        if (p->tensors[i].kind != ET_TENSOR_CONST && cg_wants(g, i)) load_tensor(g, i, workspace);
}

val cg_die(cg *g) {
    val die = g->t->dies ? g->family->die(g) : cg_i32(g, 0);
    return LLVMBuildAnd(g->b, die, cg_i32(g, ETRT_MAX_DIES - 1), "");
}

/* Shared by the workgroups as the hardware numbers them, NUMBER: needs no rank. */
void cg_clear_next_events(cg *g, val number) {
    val next = cg_argument(g, offsetof(struct etrt_kernarg, events_next), g->gptr);
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
    cg_clear_next_events(g, number);
    g->wg = g->rank = cg_rank(g, number);
    if (g->sliced && g->p->g->nmodels)
        cg_count_models(g);
    else if (g->sliced)
        cg_meet(g);
}

/* ---- the function ---- */

/* From here on names mean those of P: nothing known of another program's expressions holds. */
void cg_enter_program(cg *g, et_program *p) {
    g->p = p;
    g->x = p->g->exprs;
    g->memo = NULL;
    g->var = NULL;
    g->divergent = NULL;
    g->nmemo = g->ntrail = g->nvar = 0;
    g->sym = et_alloc(g->arena, (size_t)(et_sym_count(g->x) + 1) * sizeof *g->sym);
    g->tensor = et_alloc(g->arena, (size_t)(p->ntensors + 1) * sizeof *g->tensor);
    g->tensor_at = et_alloc(g->arena, (size_t)(p->ntensors + 1) * sizeof *g->tensor_at);
    size_t at = tensor_args(g);
    for (int i = 0; i < p->ntensors; i++) {
        if (p->tensors[i].kind == ET_TENSOR_CONST) g->tensor[i] = const_tensor(g, &p->tensors[i]);
        g->tensor_at[i] = (int64_t)at;
        at += has_argument(&p->tensors[i]) ? 8 : 0;
    }
    cg_ring_enter(g, p);
    cg_find_stored(g);
    et_queues_plan(g->arena, p, &g->queues);
    cg_plan_bodies(g);
}

/* All that this workgroup, or the wave that brings weights, has of the program. */
static void visit_program(cg *g) {
    g->base = cg_i32(g, 0);
    cg_maps_begin(g);
    if (g->p->g->nmodels) {
        cg_models(g);
    } else {
        if (!g->bringer) cg_seed(g);
        cg_visit(g, g->p->first, g->p->count);
    }
    cg_maps_end(g);
}

bool cg_has_zeros(const cg *g) {
    const et_program *p;
    et_zeros z;
    for (int i = 0; g->opt->sparse == ET_SPARSE_ZEROS && (p = et_program_part(g->whole, i)); i++)
        for (int t = 0; t < p->ntensors; t++)
            if (has_argument(&p->tensors[t]) && et_zeros_used(p, t) && et_zeros_of(p, t, &z))
                return true;
    return false;
}

size_t cg_zeros_arg(const cg *g) {
    return cg_part_args(g) + (size_t)g->whole->g->nmodels * sizeof(struct etrt_part);
}

/* The program twice, where products can leave out weights that are zero: a launch takes the way
 * without that, which costs nothing, unless there are enough of them. */
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

/* Variants: the first whose bound the symbol does not pass runs. */
static void emit_variants(cg *g, block exit) {
    et_program *whole = g->whole;
    val value = g->sym[whole->variant_sym];
    for (int i = 0; i < whole->nvariants; i++) {
        block mine = cg_block(g, "variant"), next = cg_block(g, "next");
        val bound = cg_i32(g, whole->variant[i].upto);
        if (i + 1 < whole->nvariants)
            cg_cond(g, cg_icmp(g, LLVMIntSLE, value, bound), mine, next);
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

/* What the wave that brings weights visits. */
static void visit_all(cg *g) {
    block out = cg_block(g, "all_brought");
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
    g->family->declare_kernel(g, cg_part_args(g) +
                                     (size_t)g->p->g->nmodels * sizeof(struct etrt_part));
    g->family->declare_local(g);
    block entry = cg_block(g, "entry");
    g->exit = cg_block(g, "exit");
    g->failed = cg_block(g, "failed");
    cg_at(g, entry);
    cg_enter_program(g, g->whole);
    val number = g->family->workgroup(g);
    cg_identify(g);
    cg_begin_producer(g, visit_all);
    prologue(g, number);
    if (g->whole->nvariants) {
        emit_variants(g, g->exit);
    } else {
        visit_ways(g);
        cg_br(g, g->exit);
    }
    LLVMMoveBasicBlockAfter(g->failed, LLVMGetLastBasicBlock(g->fn));
    cg_at(g, g->failed);
    cg_failed(g);
    LLVMMoveBasicBlockAfter(g->exit, LLVMGetLastBasicBlock(g->fn));
    cg_at(g, g->exit);
    LLVMBuildRetVoid(g->b);
}
