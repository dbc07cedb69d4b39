/* vmem.h - shared by the files of memory instructions. */
#ifndef ISA_VMEM_H
#define ISA_VMEM_H

#include "runtime/emu/isa/lanes/lanes.h"
#include "runtime/emu/isa/ops/memory.h"
#include "runtime/emu/isa/ops/transfer.h"

/* The segment field of the encoding. */
enum { SEG_FLAT, SEG_SCRATCH, SEG_GLOBAL };

struct emu_span isa_active_span(const uint64_t *a, uint64_t mask);
/* The operation o->kernel on every lane of MASK, in lane order. */
void isa_atomic_lanes(struct emu_wave *, const struct emu_op *, const uint64_t *a, uint64_t mask);

#endif
