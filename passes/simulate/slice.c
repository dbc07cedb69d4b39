/* Tiles dealt by die, as codegen deals them: slice s to the workgroups of the die that comes s-th
 * among those that have any of the model's, going round. */
#include "passes/simulate/int.h"

int et_sim_die(int workgroup, int workgroups, int dies) {
    return (int)(((int64_t)(workgroup + 1) * dies - 1) / workgroups);
}

int sim_die_of(const struct sim *s, int wg) {
    return et_sim_die(wg, s->nwg, s->ndies);
}

struct place {
    int64_t number, dies, order, members;
};

static struct place place_of(const struct sim *s, struct sim_part part, int wg) {
    int64_t first = wg, end = wg + 1, last = part.first + part.count;
    int die = s->wg[wg].die, lowest = s->wg[part.first].die;
    while (first > part.first && s->wg[first - 1].die == die)
        first--;
    while (end < last && s->wg[end].die == die)
        end++;
    return (struct place){die - lowest, s->wg[last - 1].die - lowest + 1, wg - first, end - first};
}

/* Tiles of one slice of the model's sliced grids before. */
static int64_t tiles_before(const struct sim *s, int grid) {
    int64_t n = 0;
    for (int i = 0; i < grid; i++) {
        int count = s->grid[i].g->slice.count;
        if (count && s->grid[i].g->model == s->grid[grid].g->model)
            n += (s->grid[i].tiles + count - 1) / count;
    }
    return n;
}

static int64_t slice_begin(int64_t slice, int64_t extent, int count) {
    return (slice * extent + count - 1) / count;
}

static int64_t tile_in_slice(const struct sim_grid *g, int64_t from, int64_t width, int64_t i) {
    int64_t tile = 0, stride = 1;
    for (int c = g->f->ncoords - 1; c >= 0; c--) {
        bool sliced = c == g->g->slice.coord;
        int64_t size = sliced ? width : g->extent[c];
        tile += (i % size + (sliced ? from : 0)) * stride;
        i /= size;
        stride *= g->extent[c];
    }
    return tile;
}

int64_t sim_slice_tile(const struct sim *s, int wg, int grid, int64_t k) {
    const struct sim_grid *g = &s->grid[grid];
    int count = g->g->slice.count;
    int64_t extent = g->extent[g->g->slice.coord];
    struct sim_part part = s->part[g->g->model];
    if (wg < part.first || wg >= part.first + part.count) return g->tiles;
    struct place p = place_of(s, part, wg);
    int64_t first = (p.order + p.members - tiles_before(s, grid) % p.members) % p.members;
    for (int64_t slice = p.number; slice < count && g->tiles; slice += p.dies) {
        int64_t from = slice_begin(slice, extent, count);
        int64_t width = slice_begin(slice + 1, extent, count) - from;
        int64_t n = g->tiles / extent * width;
        int64_t own = n > first ? (n - first + p.members - 1) / p.members : 0;
        if (k < own) return tile_in_slice(g, from, width, first + k * p.members);
        k -= own;
    }
    return g->tiles;
}
