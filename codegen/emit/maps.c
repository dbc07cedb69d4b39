/* Maps that what is being emitted asks for, and the barriers by which it knows of copies. */
#include "codegen/emit/maps.h"
#include "ir/base/diag.h"

val cg_map_place(cg *g, int i) {
    return cg_gepi(g, g->maps->all, (int64_t)i * g->t->boxes->map_bytes);
}

val cg_map(cg *g, int tensor, const et_tensor_map *m) {
    int i = et_boxes_map(&g->maps->of, tensor, m);
    et_check(i >= 0);
    return cg_map_place(g, i);
}

/* One of the wave that notifies. The copies that it issues before a tile's waits then follow the
 * notifications of the tile before, whose fence would otherwise wait for these copies. */
val cg_box_producer(cg *g) {
    return cg_icmp(g, LLVMIntEQ, g->tid, cg_i32(g, (int64_t)cg_telling_wave(g) * g->t->wave));
}

val cg_box_barrier(cg *g, val slot) {
    return cg_gep(g, cg_gepi(g, g->lds, g->box_at), cg_muli(g, slot, CG_BOX_BARRIER));
}

val cg_box_phases(cg *g) {
    return cg_gepi(g, g->lds, g->box_at + ET_BOX_STAGES * CG_BOX_BARRIER);
}
