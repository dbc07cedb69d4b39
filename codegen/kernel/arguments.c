/* The kernel's arguments: where each is, and what of them is loaded. */
#include "codegen/kernel/kernel.h"
#include "ir/program/deal.h"
#include "ir/weights/zeros.h"
#include <stddef.h>

val cg_argument(cg *g, size_t offset, LLVMTypeRef t) {
    val v = LLVMBuildLoad2(g->b, t, cg_gepi(g, g->args, (int64_t)offset), "");
    LLVMSetAlignment(v, t == g->i32 ? 4 : 8);
    return cg_invariant(g, v);
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
    if (et_in_inbox(te)) return te->offset - g->tags.inbox;
    return te->kind == ET_TENSOR_TEMP ? te->offset : g->tensor_at[tensor];
}

/* Which device this is, and where all inboxes are; its own, in which what is partial over devices
 * is. */
static val load_devices(cg *g) {
    size_t at = cg_zeros_arg(g);
    g->device = cg_argument(g, at, g->i64);
    for (int d = 0; d < g->whole->g->devices; d++)
        g->inbox[d] = cg_argument(g, at + 8 * (1 + (size_t)d), g->gptr);
    cg of = *g;
    of.args = cg_gep(g, g->args, LLVMBuildMul(g->b, g->device, cg_i64(g, 8), ""));
    return g->own_inbox = cg_argument(&of, at + 8, g->gptr);
}

static void load_tensor(cg *g, int i, val workspace, val inbox) {
    val place = cg_tensor_place(g, i);
    if (g->p->tensors[i].kind == ET_TENSOR_TEMP) {
        val in = et_in_inbox(&g->p->tensors[i]) ? inbox : workspace;
        g->tensor[i] = place ? cg_gep(g, in, place) : cg_gepi(g, in, cg_tensor_at(g, i));
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
    if (g->in_step && g->part) g->control = cg_gepi(g, g->control, 4 * (int64_t)(g->part - 1));
    g->events = g->in_step ? cg_step_events(g, false)
                           : cg_argument(g, offsetof(struct etrt_kernarg, events), g->gptr);
    g->wait_ticks = cg_argument(g, offsetof(struct etrt_kernarg, wait_ticks), g->i64);
    g->nwg = g->in_step && g->part ? cg_step_word(g, CG_STEP_COUNT)
             : g->part             ? cg_part_workgroups(g)
                       : cg_argument(g, offsetof(struct etrt_kernarg, workgroups), g->i32);
    val workspace = cg_argument(g, offsetof(struct etrt_kernarg, workspace), g->gptr);
    val inbox = g->whole->g->devices ? load_devices(g) : NULL;
    for (int i = 0; i < et_sym_count(g->x); i++)
        g->sym[i] = g->in_step
                        ? cg_step_word(g, CG_STEP_SYMBOLS + i)
                        : cg_argument(g, sizeof(struct etrt_kernarg) + 4 * (size_t)i, g->i32);
    for (int i = 0; i < p->ntensors; i++) {
        et_tensor_kind kind = p->tensors[i].kind;
        bool elsewhere = kind == ET_TENSOR_TEMP && p->nvariants; /* each variant has its own */
        if (kind != ET_TENSOR_CONST && !elsewhere && cg_wants(g, i))
            load_tensor(g, i, workspace, inbox);
    }
}

void cg_place_arguments(cg *g) {
    const et_program *p = g->p;
    g->sym = et_alloc(g->arena, (size_t)(et_sym_count(g->x) + 1) * sizeof *g->sym);
    g->tensor = et_alloc(g->arena, (size_t)(p->ntensors + 1) * sizeof *g->tensor);
    g->tensor_at = et_alloc(g->arena, (size_t)(p->ntensors + 1) * sizeof *g->tensor_at);
    size_t at = tensor_args(g);
    for (int i = 0; i < p->ntensors; i++) {
        if (p->tensors[i].kind == ET_TENSOR_CONST) g->tensor[i] = const_tensor(g, &p->tensors[i]);
        g->tensor_at[i] = (int64_t)at;
        at += has_argument(&p->tensors[i]) ? 8 : 0;
    }
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

size_t cg_last_args(const cg *g) {
    int devices = g->whole->g->devices;
    return cg_zeros_arg(g) + (cg_has_zeros(g) ? 8 : 0) + (devices ? 8 * (1 + (size_t)devices) : 0) +
           (g->opt->resident ? sizeof(struct etrt_resident) : 0);
}
