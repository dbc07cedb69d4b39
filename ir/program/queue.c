/* Where the words of dynamic tasks are. */
#include "ir/program/queue.h"
#include "ir/program/step.h"

enum { MAX_WORDS = 1 << 28, MAX_TASKS = 1 << 30 };

struct plan {
    et_arena *arena;
    const et_program *p;
    et_queues *q;
    int cregions;
    int64_t words;
    const char *problem;
};

/* ---- what waits say ---- */

bool et_wait_mentions(const et_program *p, const et_wait *w, int var) {
    const et_exprs *x = p->g->exprs;
    for (int d = 0; d < p->events[w->event].rank; d++)
        if (et_expr_has_var(x, w->lo[d], var) || et_expr_has_var(x, w->hi[d], var)) return true;
    for (int i = 0; i < w->nvars; i++)
        if (et_expr_has_var(x, et_var_extent(x, w->vars[i]), var)) return true;
    return false;
}

int et_wait_points(const et_program *p, const et_wait *w) {
    int64_t n = 1, extent;
    for (int d = 0; d < p->events[w->event].rank; d++)
        if (!et_expr_eq(w->lo[d], w->hi[d])) return 0;
    for (int i = 0; i < w->nvars; i++) {
        et_expr e = et_var_extent(p->g->exprs, w->vars[i]);
        if (!et_is_int(p->g->exprs, e, &extent) || extent > ET_QUEUE_POINTS) return 0;
        n *= extent;
    }
    return n <= ET_QUEUE_POINTS ? (int)n : 0;
}

bool et_cells_together(const et_program *p, const et_grid *g, int var) {
    for (int i = 0; i < g->nwaits; i++) {
        const et_wait *w = &g->waits[i];
        if (w->when != ET_ALWAYS || (et_wait_mentions(p, w, var) && !et_wait_points(p, w)))
            return false;
    }
    return true;
}

bool et_wait_loads(const et_program *p, const et_wait *w) {
    const et_exprs *x = p->g->exprs;
    const et_event *e = &p->events[w->event];
    bool loads = et_expr_loads(x, e->count);
    for (int d = 0; d < e->rank; d++)
        loads |= et_expr_loads(x, w->lo[d]) || et_expr_loads(x, w->hi[d]);
    for (int i = 0; i < w->nvars; i++)
        loads |= et_expr_loads(x, et_var_extent(x, w->vars[i]));
    return loads;
}

bool et_notify_plain(const et_program *p, const et_notify *n) {
    bool plain = !n->nvars;
    for (int d = 0; d < p->events[n->event].rank; d++)
        plain &= !et_expr_loads(p->g->exprs, n->index[d]);
    return plain;
}

bool et_loops_shared(const et_program *p, int a, int b) {
    for (; a >= 0; a = p->g->loops[a].parent)
        for (int l = b; l >= 0; l = p->g->loops[l].parent)
            if (l == a) return true;
    return false;
}

/* Is there always at least one counter that must see an arrival? */
static bool surely_waits(const et_program *p, const et_wait *w) {
    et_exprs *x = p->g->exprs;
    const et_event *e = &p->events[w->event];
    int64_t lo, hi;
    if (w->when != ET_ALWAYS || w->nvars || !et_bounds(x, e->count, &lo, &hi) || lo < 1)
        return false;
    for (int d = 0; d < e->rank; d++)
        if (!et_bounds(x, et_sub(x, w->hi[d], w->lo[d]), &lo, &hi) || lo < 0) return false;
    return true;
}

/* ---- grids ---- */

static int64_t upper(const et_program *p, et_expr e) {
    int64_t lo, hi;
    return et_bounds(p->g->exprs, e, &lo, &hi) ? hi < 0 ? 0 : hi : MAX_TASKS + 1;
}

static int64_t times(int64_t a, int64_t b) {
    return a > MAX_TASKS || b > MAX_TASKS || a * b > MAX_TASKS ? MAX_TASKS + 1 : a * b;
}

static int64_t iterations(const et_program *p, int loop, int until) {
    int64_t n = 1;
    for (; loop >= 0 && loop != until; loop = p->g->loops[loop].parent)
        n = times(n, p->g->loops[loop].hi - p->g->loops[loop].lo);
    return n;
}

static void plan_grid(struct plan *pl, int grid, et_region *r) {
    const et_program *p = pl->p;
    const et_grid *g = &p->grids[grid];
    const et_func *f = &p->funcs[g->func];
    et_queue_grid *q = &pl->q->grid[grid];
    int64_t tiles = 1, cells = 1;
    bool waits = false;
    for (int w = 0; w < g->nwaits; w++) {
        waits |= surely_waits(p, &g->waits[w]);
        for (int c = 0; c < f->ncoords; c++)
            if (et_wait_mentions(p, &g->waits[w], f->coord[c])) q->fixed |= 1u << c;
    }
    for (int c = f->ncoords - 1; c >= 0; c--) {
        int64_t n = upper(p, g->extent[c]);
        tiles = times(tiles, n);
        if (!(q->fixed >> c & 1)) continue;
        q->stride[c] = (int)cells;
        cells = times(cells, n);
    }
    int64_t outer = iterations(p, r->loop, -1), all = iterations(p, g->loop, -1);
    if (times(tiles, all) > MAX_TASKS || r->tasks + tiles * all > MAX_TASKS) {
        pl->problem = "too many dynamic tasks";
        return;
    }
    q->region = pl->q->nregions;
    q->first = (int)r->tasks + 1;
    q->tiles = (int)tiles;
    q->iterations = (int)all;
    q->inner = (int)(all / outer);
    q->cells = (int)cells;
    q->claim = (int)pl->words;
    q->seeded = !waits;
    r->tasks += tiles * all;
    pl->words += (cells * all + ET_LINE_WORDS - 1) / ET_LINE_WORDS * ET_LINE_WORDS;
}

/* ---- regions ---- */

static bool is_dynamic(const et_program *p, const et_item *it) {
    if (it->kind == ET_P_GRID) return p->grids[it->index].dynamic;
    for (int i = it->first; i < it->first + it->count; i++)
        if (!is_dynamic(p, &p->items[i])) return false;
    return true;
}

static void plan_grids(struct plan *pl, int first, int count, et_region *r) {
    for (int i = first; i < first + count && !pl->problem; i++) {
        const et_item *it = &pl->p->items[i];
        if (it->kind == ET_P_GRID)
            plan_grid(pl, it->index, r);
        else
            plan_grids(pl, it->first, it->count, r);
        if (pl->words > MAX_WORDS) pl->problem = "too many words for dynamic tasks";
    }
}

static void plan_region(struct plan *pl, int first, int count, int loop) {
    et_region r = {.first = first, .count = count, .loop = loop};
    int64_t instances = iterations(pl->p, loop, -1);
    plan_grids(pl, first, count, &r);
    if (pl->problem) return;
    r.instances = (int)instances;
    r.popped = (int)pl->words;
    pl->words += ET_LINE_WORDS * instances;
    r.rings = (int)pl->words;
    for (r.slots = ET_LINE_WORDS; r.slots < r.tasks; r.slots *= 2) {
    }
    pl->words += ET_QUEUE_DIES * ET_DIE_RING + ET_RING_SLOTS + r.slots;
    if (instances > MAX_WORDS || pl->words > MAX_WORDS) {
        pl->problem = "too many words for dynamic tasks";
        return;
    }
    ET_GROW(pl->arena, pl->q->region, pl->q->nregions, pl->cregions);
    pl->q->region[pl->q->nregions++] = r;
}

static void plan_list(struct plan *pl, int first, int count, int loop) {
    const et_item *items = pl->p->items;
    for (int i = first; i < first + count && !pl->problem; i++) {
        int n = 0;
        while (i + n < first + count && is_dynamic(pl->p, &items[i + n]) &&
               et_item_model(pl->p, &items[i + n]) == et_item_model(pl->p, &items[i]))
            n++;
        if (n) {
            plan_region(pl, i, n, loop);
            i += n - 1;
        } else if (items[i].kind == ET_P_LOOP) {
            plan_list(pl, items[i].first, items[i].count, items[i].index);
        }
    }
}

/* Counters of what has begun, for the events that early grids wait for. */
static void plan_begun(struct plan *pl) {
    const et_program *p = pl->p;
    for (int i = 0; i < p->nevents; i++)
        pl->q->begun[i] = -1;
    for (int g = 0; g < p->ngrids; g++)
        for (int w = 0; p->grids[g].early && w < p->grids[g].nwaits; w++) {
            const et_event *e = &p->events[p->grids[g].waits[w].event];
            int *begun = &pl->q->begun[p->grids[g].waits[w].event];
            if (*begun >= 0 || pl->words > MAX_WORDS) continue;
            *begun = (int)pl->words;
            pl->words += (e->words + ET_LINE_WORDS - 1) / ET_LINE_WORDS * ET_LINE_WORDS;
        }
    if (pl->words > MAX_WORDS) pl->problem = "too many words for dynamic tasks";
}

/* ---- tiles that are claimed ---- */

bool et_in_turn(int64_t at, int64_t blocks, int64_t first_tiles, int64_t second_tiles, int behind,
                int64_t *out_tile) {
    int64_t ahead = behind < blocks ? behind : blocks, both = first_tiles + second_tiles;
    int64_t turn = at - ahead * first_tiles, turns = blocks - ahead;
    *out_tile = at;
    if (turn < 0) return false;
    *out_tile = turn - turns * both + turns * second_tiles;
    if (turn >= turns * both) return true;
    bool second = turn % both < second_tiles;
    *out_tile = second ? turn / both * second_tiles + turn % both
                       : (turn / both + ahead) * first_tiles + turn % both - second_tiles;
    return second;
}

int et_turns_with(const et_program *p, int i, int end) {
    const et_item *it = &p->items[i];
    if (i + 1 >= end || it->kind != ET_P_GRID || it[1].kind != ET_P_GRID) return -1;
    return p->grids[it[1].index].behind ? it[1].index : -1;
}

/* Is the wait for arrivals of FROM at counters of the tile's own block alone? */
static bool waits_for_block(const et_program *p, const et_grid *from, const et_grid *to,
                            const et_wait *w) {
    et_expr mine = et_var(p->g->exprs, p->funcs[to->func].coord[0]);
    et_expr its = et_var(p->g->exprs, p->funcs[from->func].coord[0]);
    for (int d = 0; d < p->events[w->event].rank; d++) {
        bool own = et_expr_eq(w->lo[d], mine) && et_expr_eq(w->hi[d], mine);
        for (int i = 0; i < from->nnotifies && own; i++)
            if (from->notifies[i].event == w->event)
                own = !from->notifies[i].nvars && et_expr_eq(from->notifies[i].index[d], its);
        if (own) return true;
    }
    return false;
}

const char *et_turns_problem(const et_program *p, const et_grid *from, const et_grid *to) {
    if (to->order != ET_TILES_CLAIMED || from->order != ET_TILES_CLAIMED || from->behind)
        return "that is not claimed by itself";
    if (from->model != to->model || !p->funcs[from->func].ncoords || !p->funcs[to->func].ncoords ||
        !et_expr_eq(from->extent[0], to->extent[0]))
        return "that has not as many blocks";
    for (int i = 0; i < to->nwaits; i++)
        if (et_grid_notifies(from, to->waits[i].event) &&
            !waits_for_block(p, from, to, &to->waits[i]))
            return "a tile may wait for blocks of that which are claimed later";
    return NULL;
}

/* Tiles that are claimed are numbered by one counter. Workgroups that find none left have counted
 * on. */
static void plan_claimed(struct plan *pl) {
    const et_program *p = pl->p;
    for (int g = 0; g < p->ngrids && !pl->problem; g++) {
        pl->q->claimed[g] = -1;
        if (p->grids[g].order != ET_TILES_CLAIMED) continue;
        int64_t n = iterations(p, p->grids[g].loop, -1), tiles = 1;
        for (int c = 0; c < p->funcs[p->grids[g].func].ncoords; c++)
            tiles = times(tiles, upper(p, p->grids[g].extent[c]));
        if (tiles > MAX_TASKS / 2) pl->problem = "too many claimed tiles";
        if (p->grids[g].behind) continue;
        pl->q->claimed[g] = (int)pl->words;
        pl->words += times(n, ET_LINE_WORDS);
        if (pl->words > MAX_WORDS) pl->problem = "too many words for claimed tiles";
    }
}

/* What has begun is counted where it will arrive: that must not depend on what it does first, nor
 * what waits for it on what others have yet to write. */
static void check_early(struct plan *pl) {
    const et_program *p = pl->p;
    for (int g = 0; g < p->ngrids; g++) {
        for (int i = 0; p->grids[g].early && i < p->grids[g].nwaits; i++)
            if (et_wait_loads(p, &p->grids[g].waits[i]))
                pl->problem = "an early task waits for what tensors decide";
        for (int i = 0; i < p->grids[g].nnotifies; i++) {
            const et_notify *n = &p->grids[g].notifies[i];
            if (pl->q->begun[n->event] >= 0 && !et_notify_plain(p, n))
                pl->problem = "an early task waits for arrivals at counters that tensors name";
        }
    }
}

const char *et_queues_plan(et_arena *a, const et_program *p, et_queues *q) {
    struct plan pl = {.arena = a, .p = p, .q = q, .words = p->event_words};
    *q = (et_queues){.words = p->event_words};
    q->grid = et_alloc(a, (size_t)(p->ngrids + 1) * sizeof *q->grid);
    q->claimed = et_alloc(a, (size_t)(p->ngrids + 1) * sizeof *q->claimed);
    q->begun = et_alloc(a, (size_t)(p->nevents + 1) * sizeof *q->begun);
    for (int g = 0; g < p->ngrids; g++)
        q->grid[g].region = -1;
    plan_list(&pl, p->first, p->count, -1);
    if (!pl.problem) plan_begun(&pl);
    if (!pl.problem) check_early(&pl);
    if (!pl.problem) plan_claimed(&pl);
    q->words = (int)pl.words;
    return pl.problem;
}

int et_queues_region(const et_queues *q, int item) {
    for (int r = 0; r < q->nregions; r++)
        if (q->region[r].first == item) return r;
    return -1;
}
