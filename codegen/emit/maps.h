/* maps.h - tensor maps of the TMA boxes (et_box_family) of a kernel: shared by the steps that use
 * maps (emit/maps.c) and by what builds them (kernel/maps.c). */
#ifndef ET_EMIT_MAPS_H
#define ET_EMIT_MAPS_H

#include "codegen/emit/emit.h"

enum { CG_BOX_BARRIER = 8 };

struct cg_maps {
    et_box_maps of;
    val all;
    block make, go;
};

val cg_map_place(cg *, int i); /* the address of map I */

#endif
