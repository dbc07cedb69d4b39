/* In which order a workgroup runs static tiles: instance after instance in program order. */
#include "passes/simulate/int.h"

static int64_t first_tile(const struct sim *s, int wg, int item, struct sim_part part) {
    const struct sim_instance *in = &s->inst[item];
    int64_t from = part.first, n = part.count;
    if (wg < from || wg >= from + n) return s->grid[in->grid].tiles;
    bool rotates = s->opt->mask ? n == s->nwg : !s->p->grids[in->grid].range.to;
    return rotates ? (wg - from + n - in->first % n) % n : wg - from;
}

/* The tile after TILE. */
static int64_t tile_after(const struct sim *s, int item, int64_t tile, struct sim_part part) {
    int64_t n = part.count;
    if (s->p->grids[s->inst[item].grid].order != ET_TILES_BACK_AND_FORTH) return tile + n;
    return tile + 2 * (n - 1 - tile % n) + 1;
}

/* The tile that CURSOR is at, which moves on behind it; as many as the grid has: there is none. */
static int64_t take_tile(const struct sim *s, int wg, struct sim_cursor *io) {
    int grid = s->inst[io->item].grid;
    if (s->p->grids[grid].slice.count && !s->opt->mask) {
        int64_t k = io->tile < 0 ? 0 : io->tile;
        io->tile = k + 1;
        return sim_slice_tile(s, wg, grid, k);
    }
    struct sim_part part = sim_part_of(s, io->item);
    int64_t tile = io->tile < 0 ? first_tile(s, wg, io->item, part) : io->tile;
    io->tile = tile_after(s, io->item, tile, part);
    return tile;
}

bool sim_next_tile(const struct sim *s, int wg, bool streamed, struct sim_cursor *io,
                   int *out_instance, int64_t *out_tile) {
    for (; io->item < s->ninst; *io = (struct sim_cursor){io->item + 1, -1}) {
        const struct sim_instance *in = &s->inst[io->item];
        if (streamed && !s->grid[in->grid].streamed) continue;
        bool claimed = s->p->grids[in->grid].order == ET_TILES_CLAIMED;
        if (in->region >= 0 || (claimed && s->opt->mode < ET_SIM_UNFUSED)) return false;
        int64_t tile = take_tile(s, wg, io);
        if (tile >= s->grid[in->grid].tiles) continue;
        *out_instance = io->item;
        *out_tile = tile;
        return true;
    }
    return false;
}
