/* placement.c - compute units, dies, and how many workgroups each can hold. */
#include "runtime/emu/machine/placement.h"

#include <stdlib.h>

uint32_t emu_engine_groups_per_cu(const struct emu_config *c, const struct emu_needs *n) {
    const struct emu_arch *a = c->arch;
    if (n->lds_bytes > a->lds_bytes || n->vgprs > a->vgprs || !n->waves) return 0;
    uint32_t per_simd = n->vgprs ? a->vgprs / n->vgprs : a->waves_per_simd;
    if (per_simd > a->waves_per_simd) per_simd = a->waves_per_simd;
    uint32_t fit = per_simd * a->simds_per_cu * n->cus / n->waves, lds = a->lds_bytes * n->cus;
    if (n->lds_bytes && lds / n->lds_bytes < fit) fit = lds / n->lds_bytes;
    if (n->waves > 1 && a->groups_per_cu * n->cus < fit) fit = a->groups_per_cu * n->cus;
    return fit;
}

bool emu_placement_init(struct emu_placement *p, const struct emu_config *c, uint32_t unit,
                        uint32_t capacity, uint64_t total) {
    *p = (struct emu_placement){.config = c, .total = total, .unit = unit, .capacity = capacity};
    p->used = calloc(c->cus, sizeof *p->used);
    for (uint32_t x = 0; x < c->xcds; x++) {
        p->first[x + 1] = p->first[x] + emu_config_die_cus(c, x) / unit;
        p->cursor[x] = p->first[x];
    }
    p->free = (uint64_t)capacity * (c->cus / unit);
    return p->used != NULL;
}

void emu_placement_free(struct emu_placement *p) {
    free(p->used);
    p->used = NULL;
}

/* Spreads the bits of two numbers over one. */
static uint64_t mix(uint64_t a, uint64_t b) {
    uint64_t h = a * 0x9E3779B97F4A7C15u + b + 1;
    for (int i = 0; i < 3; i++)
        h = (h ^ h >> 29) * 0xD6E8FEB86659FD93u;
    return h ^ h >> 32;
}

static uint32_t preferred_die(const struct emu_placement *p, uint64_t index) {
    const struct emu_config *c = p->config;
    if (c->map == EMU_MAP_ROUND_ROBIN) return (uint32_t)((index + c->shift) % c->xcds);
    if (c->map == EMU_MAP_SHUFFLE) return (uint32_t)(mix(c->shift, index) % c->xcds);
    if (c->map == EMU_MAP_FILL) return c->shift;
    /* Blocks in proportion to the dies' sizes. */
    uint64_t at = (uint64_t)((unsigned __int128)index * (c->cus / p->unit) / p->total);
    uint32_t die = 0;
    while (at >= p->first[die + 1])
        die++;
    return die;
}

/* The emptiest unit of the die, the first one from the cursor on. */
static int64_t take_in_die(struct emu_placement *p, uint32_t die) {
    uint32_t first = p->first[die], n = p->first[die + 1] - first, best = 0;
    uint32_t least = p->capacity;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t cu = first + (p->cursor[die] - first + i) % n;
        if (p->used[cu] < least) {
            least = p->used[cu];
            best = cu;
        }
    }
    if (least == p->capacity) return -1;
    p->used[best]++;
    p->free--;
    p->cursor[die] = first + (best + 1 - first) % n;
    return best;
}

int64_t emu_placement_take(struct emu_placement *p, uint64_t index, struct emu_group *g) {
    if (!p->free) return -1;
    uint32_t xcds = p->config->xcds, die = preferred_die(p, index);
    for (uint32_t i = 0; i < xcds; i++, die = (die + 1) % xcds) {
        int64_t unit = take_in_die(p, die);
        if (unit < 0) continue;
        uint32_t die_cus = emu_config_die_cus(p->config, die);
        struct emu_cu_id id =
            emu_config_cu_id(p->config, die_cus, ((uint32_t)unit - p->first[die]) * p->unit);
        g->xcc = die;
        g->xcc_id = die + p->config->first_die;
        g->se = id.se;
        g->sh = id.sh;
        g->cu = id.cu;
        return unit * p->unit;
    }
    return -1;
}

void emu_placement_give(struct emu_placement *p, int64_t cu) {
    p->used[cu / p->unit]--;
    p->free++;
}
