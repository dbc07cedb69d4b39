/* The static schedule: every workgroup visits the grids in program order and takes the tiles that
 * are its own, by closed-form loops. */
#include "internal.h"

static void static_grid(cg *g, int index) {
    const et_grid *gr = &g->p->grids[index];
    int mark = cg_scope(g);
    cg_load_arguments(g);
    val ntiles = cg_emit(g, et_grid_tiles(g->p, gr));
    val first = LLVMBuildSub(g->b, g->wg, g->base, "");
    first =
        cg_select(g, cg_icmp(g, LLVMIntSLT, first, cg_i32(g, 0)), cg_add(g, first, g->nwg), first);
    g->base = LLVMBuildURem(g->b, cg_add(g, g->base, ntiles), g->nwg, "");
    cg_for tiles;
    val none = NULL;
    val tile = cg_for_begin(g, &tiles, first, ntiles, g->nwg, false, 0, &none);
    cg_tile(g, index, tile);
    cg_for_end(g, &tiles, &none);
    cg_scope_end(g, mark);
}

void cg_visit(cg *g, int first, int count) {
    for (int i = first; i < first + count; i++) {
        const et_item *it = &g->p->items[i];
        int region = et_queues_region(&g->queues, i);
        if (region >= 0) {
            cg_region(g, region);
            i += g->queues.region[region].count - 1;
            continue;
        }
        if (it->kind == ET_P_GRID) {
            static_grid(g, it->index);
            continue;
        }
        const et_loop *l = &g->p->g->loops[it->index];
        cg_for f;
        val v = cg_for_begin(g, &f, cg_i32(g, 0), cg_i32(g, l->hi - l->lo), cg_i32(g, 1), true, 1,
                             &g->base);
        int mark = cg_scope(g);
        cg_bind(g, l->var, v, false);
        cg_visit(g, it->first, it->count);
        cg_scope_end(g, mark);
        cg_for_end(g, &f, &g->base);
    }
}
