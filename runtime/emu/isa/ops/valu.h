/* valu.h - sources of vector instructions as arrays of 64 lanes. */
#ifndef ISA_VALU_H
#define ISA_VALU_H

#include "runtime/emu/isa/lanes/lanes.h"

/* S in every lane: where it already is, or spread into T. */
static inline const uint32_t *isa_source(struct emu_wave *w, const struct emu_src *s, uint32_t *t) {
    if (s->kind == SRC_VGPR) return w->v[s->reg];
    if (s->kind == SRC_CONST) return s->lane;
    w->lanes->broadcast(t, w->s[s->reg]);
    if (s->dwords == 2) w->lanes->broadcast(t + LANES, w->s[s->reg + 1]);
    return t;
}

/* A scratch array for sources and results of up to 64 bits per lane. */
#define LANE_TEMP(name) uint32_t name[2 * LANES] __attribute__((aligned(64)))

#endif
