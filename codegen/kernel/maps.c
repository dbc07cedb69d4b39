/* Tensor maps of TMA boxes (et_box_family), in memory of the kernel's own. Each workgroup builds
 * those of the program that the launch runs, the same in the same place, before it runs: so none
 * waits for another. */
#include "codegen/emit/maps.h"
#include "codegen/kernel/kernel.h"
#include "codegen/step/step.h"
#include "ir/program/deal.h"
#include <stddef.h>

/* ---- before the program ---- */

static val begin_of(cg *g, int tensor) {
    const et_tensor *t = &g->p->tensors[tensor];
    cg of = *g;
    of.args = LLVMGetParam(g->fn, 0);
    if (t->kind != ET_TENSOR_TEMP) return cg_argument(&of, (size_t)g->tensor_at[tensor], g->gptr);
    if (et_in_inbox(t)) {
        size_t at = cg_zeros_arg(g);
        val own = LLVMBuildMul(g->b, cg_argument(&of, at, g->i64), cg_i64(g, 8), "");
        of.args = cg_gep(g, of.args, own);
        return cg_gepi(g, cg_argument(&of, at + 8, g->gptr), cg_tensor_at(g, tensor));
    }
    val workspace = cg_argument(&of, offsetof(struct etrt_kernarg, workspace), g->gptr);
    return cg_gepi(g, workspace, t->offset);
}

void cg_maps_begin(cg *g) {
    if (!g->box_bytes_lds || g->producer) return;
    if (!g->maps) g->maps = et_alloc(g->arena, sizeof *g->maps);
    struct cg_maps *all = g->maps;
    if (!all->all) {
        LLVMTypeRef type =
            LLVMArrayType2(g->i8, (uint64_t)ET_MOST_MAPS * (uint64_t)g->t->boxes->map_bytes);
        all->all = LLVMAddGlobalInAddressSpace(g->mod, type, "maps", g->family->global);
        LLVMSetInitializer(all->all, LLVMConstNull(type));
        LLVMSetLinkage(all->all, LLVMInternalLinkage);
        LLVMSetAlignment(all->all, (unsigned)g->t->boxes->map_bytes);
    }
    all->of.first = all->of.n;
    all->make = cg_block(g, "maps");
    all->go = cg_block(g, "mapped");
    cg_br(g, all->make);
    cg_at(g, all->go);
}

void cg_box_barriers(cg *g) {
    cg_if one;
    cg_if_begin(g, &one, cg_box_producer(g));
    for (int i = 0; i < ET_BOX_STAGES; i++)
        g->family->boxes->init(g, cg_box_barrier(g, cg_i32(g, i)));
    LLVMBuildStore(g->b, cg_i32(g, 0), cg_box_phases(g));
    g->family->boxes->order(g);
    cg_if_end(g, &one);
}

/* Maps are dealt to waves, and made by way of where tiles have their locals later. */
static void make_all(cg *g) {
    const struct cg_maps *all = g->maps;
    int waves = g->p->workgroup / g->t->wave;
    val scratch = cg_gep(g, g->lds, cg_muli(g, g->wave, g->t->boxes->map_bytes));
    for (int w = 0; w < waves && all->of.first + w < all->of.n; w++) {
        cg_if own;
        cg_if_begin(g, &own, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, w)));
        for (int i = all->of.first + w; i < all->of.n; i += waves)
            g->family->boxes->make(g, &all->of.of[i].map, begin_of(g, all->of.of[i].tensor),
                                   cg_map_place(g, i), scratch);
        cg_if_end(g, &own);
    }
    if (!g->in_step) cg_box_barriers(g);
    cg_barrier(g);
}

void cg_maps_end(cg *g) {
    struct cg_maps *all = g->maps;
    if (!g->box_bytes_lds || g->producer) return;
    block here = cg_here(g);
    cg_at(g, all->make);
    if (all->of.n > all->of.first) make_all(g);
    cg_br(g, all->go);
    cg_at(g, here);
}

/* Copies in flight have arrived before a workgroup that gives up ends. */
void cg_maps_settle(cg *g) {
    enum { CLOCKS = 40000 };
    if (g->maps && g->maps->of.n) g->family->nap(g, CLOCKS);
}

/* ---- local memory ---- */

bool cg_has_boxes(const et_func *f) {
    bool any = false;
    for (int i = 0; i < f->nsteps; i++)
        for (int k = 0; k < ET_PLANS; k++)
            any |= f->steps[i].plan[k].boxes;
    return any;
}

int cg_box_bytes(cg *g) {
    et_program *p;
    bool any = false;
    for (int k = 0; (p = et_program_part(g->whole, k)); k++) {
        for (int i = 0; i < p->nfuncs; i++)
            any |= cg_has_boxes(&p->funcs[i]);
    }
    return any ? (ET_BOX_STAGES + 1) * CG_BOX_BARRIER : 0;
}
