/* ext.h - modifiers of vector instructions: what happens to sources before the arithmetic and
 * to the result after it. */
#ifndef ISA_EXT_H
#define ISA_EXT_H

#include "runtime/emu/isa/lanes/lanes.h"

/* Source N of O with its modifiers applied, in T (two arrays of lanes) or where it already is.
 * Lanes that DPP finds no source for are taken out of WRITE. */
const uint32_t *isa_ext_source(struct emu_wave *, const struct emu_op *, int n, uint32_t *t,
                               uint64_t *write);
/* Result modifiers on T, then merge T into the destination for the lanes in WRITE. */
void isa_ext_result(struct emu_wave *, const struct emu_op *, uint32_t *t, uint64_t write);

#endif
