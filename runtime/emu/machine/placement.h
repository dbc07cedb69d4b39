/* placement.h - which compute unit the next workgroup of a dispatch goes to. */
#ifndef EMU_PLACEMENT_H
#define EMU_PLACEMENT_H

#include "runtime/emu/emu.h"
#include "runtime/emu/machine/engine.h"

struct emu_placement {
    const struct emu_config *config;
    uint64_t total;                   /* workgroups of the dispatch */
    uint32_t unit;                    /* CUs that share a workgroup */
    uint32_t capacity;                /* of one unit, in workgroups */
    uint32_t *used;                   /* workgroups on each unit, dies one after another */
    uint32_t first[EMU_MAX_XCDS + 1]; /* units where the dies start */
    uint32_t cursor[EMU_MAX_XCDS];    /* where the die's next search starts */
    uint64_t free;                    /* places left */
};

bool emu_placement_init(struct emu_placement *, const struct emu_config *, uint32_t unit,
                        uint32_t capacity, uint64_t total);
void emu_placement_free(struct emu_placement *);

/* Take a place for workgroup number INDEX and write it into G; the number of its (first) CU, or
 * -1 when all are full. A full die passes its workgroup on to the next one. */
int64_t emu_placement_take(struct emu_placement *, uint64_t index, struct emu_group *g);
void emu_placement_give(struct emu_placement *, int64_t cu);

#endif
