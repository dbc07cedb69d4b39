/* link.h - stores to memory that several devices share, where links between them are modelled.
 *
 * Such a store is on its way for a while, and what one wave stores arrives in any order. A wait for
 * stores is a wait for their arrival; nothing else is one. That is what LLVM's AMDGPU memory model
 * leaves open, so a kernel whose fences are right computes the same bits. */
#ifndef ISA_LINK_H
#define ISA_LINK_H

#include "runtime/emu/isa/isa.h"

static inline bool isa_link_modelled(const struct emu_wave *w) {
    return __builtin_expect(w->link.random != 0, 0);
}

/* Where links are modelled: the lanes of MASK whose stores are not on their way now. */
uint64_t isa_link_store(struct emu_wave *, const struct emu_op *, const uint32_t *s,
                        const uint64_t *a, uint64_t mask);
/* A load or an atomic of shared memory by the wave itself finds what it has stored before. */
void isa_link_meet(struct emu_wave *, const uint64_t *a, uint64_t mask);
/* All that is on its way arrives. */
void isa_link_settle(struct emu_wave *);
/* A wait instruction, of which some are for stores. */
void isa_link_wait(struct emu_wave *, const struct emu_op *);
/* At the begin of a turn of a wave some of what its workgroup has stored arrives. */
void isa_link_turn(const struct emu_group *);
/* After a store: is it time for another wave? */
bool isa_link_yields(struct emu_wave *);

#endif
