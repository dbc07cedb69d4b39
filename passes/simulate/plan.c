/* The grids to run, in every iteration, with their expressions ready to evaluate. */
#include "ir/base/diag.h"
#include "passes/simulate/int.h"
#include <stdlib.h>

enum { MOST_TASKS = 1 << 24 }; /* of a launch */

/* ---- grids ---- */

static void add_extents(struct sim *s, struct sim_grid *sg, int n, const int *vars, int *out) {
    for (int i = 0; i < n; i++)
        out[i] = sim_sheet_add(sg->sheet, et_var_extent(s->x, vars[i]));
}

struct mentions {
    struct sim *s;
    struct sim_grid *g;
};

static void add_box(struct sim *s, struct sim_grid *sg, const et_wait *w, struct sim_box *b) {
    const et_event *e = &s->p->events[w->event];
    *b = (struct sim_box){.event = w->event, .rank = e->rank, .when = w->when};
    for (int d = 0; d < e->rank; d++) {
        b->lo[d] = sim_sheet_add(sg->sheet, w->lo[d]);
        b->hi[d] = sim_sheet_add(sg->sheet, w->hi[d]);
        b->routed |= et_expr_loads(s->x, w->lo[d]) || et_expr_loads(s->x, w->hi[d]);
    }
    b->routed |= w->nvars > 0;
    b->nvars = w->nvars;
    b->vars = w->vars;
    add_extents(s, sg, w->nvars, w->vars, b->extent);
}

/* Counters that a wait names at most, or -1. */
static int64_t most_counters(const struct sim *s, const et_wait *w) {
    int64_t n = 1, lo, hi;
    for (int d = 0; d < s->p->events[w->event].rank; d++) {
        et_expr size = et_add(s->x, et_sub(s->x, w->hi[d], w->lo[d]), et_int(s->x, 1));
        if (!et_bounds(s->x, size, &lo, &hi) || __builtin_mul_overflow(n, hi, &n)) return -1;
    }
    for (int v = 0; v < w->nvars; v++)
        if (!et_bounds(s->x, et_var_extent(s->x, w->vars[v]), &lo, &hi) ||
            __builtin_mul_overflow(n, hi, &n))
            return -1;
    return n;
}

/* As codegen does: waits are looked at together while the lanes of a wave are enough for their
 * counters and none reads a tensor that an earlier one may be for. */
static void join_waits(struct sim *s, struct sim_grid *sg) {
    int64_t lanes = 0;
    for (int i = 0; i < sg->g->nwaits; i++) {
        int64_t n = most_counters(s, &sg->g->waits[i]);
        bool fits = n >= 0 && n <= s->m->wave_size;
        sg->box[i].joins = i > 0 && fits && lanes + n <= s->m->wave_size && !sg->box[i].routed;
        lanes = !fits ? s->m->wave_size : sg->box[i].joins ? lanes + n : n;
    }
}

static void add_arrival(struct sim *s, struct sim_grid *sg, const et_notify *n,
                        struct sim_arrival *a) {
    const et_event *e = &s->p->events[n->event];
    *a = (struct sim_arrival){.event = n->event, .rank = e->rank, .when = n->when};
    for (int d = 0; d < e->rank; d++)
        a->index[d] = sim_sheet_add(sg->sheet, n->index[d]);
    a->nvars = n->nvars;
    a->vars = n->vars;
    add_extents(s, sg, n->nvars, n->vars, a->extent);
}

static void note_coord(void *ctx, et_expr e) {
    struct mentions *m = ctx;
    const et_node_x *n = et_x(m->s->x, e);
    for (int c = 0; n->op == ET_X_VAR && c < m->g->f->ncoords; c++)
        if (m->g->f->coord[c] == n->i) m->g->cell_coords |= 1u << c;
}

/* The coordinates that the waits mention. */
static void find_cells(struct sim *s, struct sim_grid *sg) {
    struct mentions m = {.s = s, .g = sg};
    for (int i = 0; i < sg->g->nwaits; i++) {
        const et_wait *w = &sg->g->waits[i];
        for (int d = 0; d < s->p->events[w->event].rank; d++) {
            et_walk(s->x, w->lo[d], note_coord, &m);
            et_walk(s->x, w->hi[d], note_coord, &m);
        }
        for (int v = 0; v < w->nvars; v++)
            et_walk(s->x, et_var_extent(s->x, w->vars[v]), note_coord, &m);
    }
    sg->cells = 1;
    for (int c = 0; c < sg->f->ncoords; c++)
        if (sg->cell_coords >> c & 1) sg->cells *= sg->extent[c];
    if (sg->tiles == 0) sg->cells = 0;
}

/* Does a tensor decide what the grid waits for? Then it is not known before that tensor is written.
 */
static bool routed(const struct sim *s, const struct sim_grid *g) {
    for (int i = 0; i < g->g->nwaits; i++)
        if (s->event[g->box[i].event].sheet) return true;
    return sim_sheet_loads(g->sheet);
}

static bool prepare_grid(struct sim *s, int index) {
    const et_grid *g = &s->p->grids[index];
    struct sim_grid *sg = &s->grid[index];
    *sg = (struct sim_grid){
        .g = g, .f = &s->p->funcs[g->func], .cost_iteration = {-1, -1}, .tiles = 1};
    sg->sheet = sim_sheet_create(s);
    sg->box = et_alloc(s->arena, (size_t)(g->nwaits + 1) * sizeof *sg->box);
    sg->arrival = et_alloc(s->arena, (size_t)(g->nnotifies + 1) * sizeof *sg->arrival);
    for (int c = 0; c < sg->f->ncoords; c++) {
        sg->extent[c] = et_eval(s->x, g->extent[c], s->syms, s->vars);
        if (sg->extent[c] < 0) sg->extent[c] = 0;
        if (__builtin_mul_overflow(sg->tiles, sg->extent[c], &sg->tiles)) sg->tiles = MOST_TASKS;
    }
    if (sg->tiles >= MOST_TASKS) {
        sim_fail(s, "%s has too many tiles", g->name);
        return false;
    }
    for (int i = 0; i < g->nwaits; i++)
        add_box(s, sg, &g->waits[i], &sg->box[i]);
    join_waits(s, sg);
    sg->await = et_alloc(s->arena, (size_t)(g->nawaits + 1) * sizeof *sg->await);
    for (int i = 0; i < g->nawaits; i++)
        add_box(s, sg, &g->awaits[i], &sg->await[i]);
    for (int i = 0; i < g->nnotifies; i++)
        add_arrival(s, sg, &g->notifies[i], &sg->arrival[i]);
    for (int l = g->loop; l >= 0; l = s->p->g->loops[l].parent) {
        et_check(sg->nloop < ET_MAX_LOOPS);
        for (int i = sg->nloop++; i > 0; i--)
            sg->loop[i] = sg->loop[i - 1];
        sg->loop[0] = l;
    }
    switch (s->opt->mode) {
    case ET_SIM_DYNAMIC:
        sg->dynamic = true;
        break;
    case ET_SIM_AS_SCHEDULED:
        sg->dynamic = s->opt->dynamic ? s->opt->dynamic[index] : g->dynamic;
        break;
    default:
        break;
    }
    sg->streamed = g->streamed && !sg->dynamic && g->order != ET_TILES_CLAIMED &&
                   s->p->ring.slots && s->opt->mode < ET_SIM_UNFUSED;
    bool as_scheduled = s->opt->mode == ET_SIM_AS_SCHEDULED && !s->opt->dynamic;
    sg->early = sg->dynamic && (as_scheduled ? g->early : s->opt->early_push && !routed(s, sg));
    find_cells(s, sg);
    return true;
}

static void find_readers(struct sim *s) {
    for (int i = 0; i < s->p->ngrids; i++)
        for (int w = 0; s->grid[i].dynamic && w < s->grid[i].g->nwaits; w++) {
            const struct sim_box *b = &s->grid[i].box[w];
            struct sim_event *e = &s->event[b->event];
            bool early = s->grid[i].early;
            *(early ? &e->early : &e->late) = true;
            if (b->routed) *(early ? &e->early_watched : &e->watched) += s->grid[i].cells;
        }
}

/* ---- instances ---- */

/* Is there a dynamic grid in the loop? */
static bool loop_is_dynamic(const struct sim *s, const et_item *loop) {
    for (int i = loop->first; i < loop->first + loop->count; i++) {
        const et_item *it = &s->p->items[i];
        if (it->kind == ET_P_LOOP ? !loop_is_dynamic(s, it) : !s->grid[it->index].dynamic)
            return false;
    }
    return true;
}

static void add_instance(struct sim *s, int grid, int region) {
    struct sim_grid *sg = &s->grid[grid];
    if (!sim_runs(s, sg->g->model)) return;
    if (s->ninst == s->cinst) {
        s->cinst = s->cinst ? 2 * s->cinst : 256;
        s->inst = realloc(s->inst, (size_t)s->cinst * sizeof *s->inst);
        if (!s->inst) et_no_memory();
    }
    struct sim_instance *in = &s->inst[s->ninst++];
    int64_t *base = &s->static_tiles[sg->g->model];
    *in = (struct sim_instance){.grid = grid, .first = *base, .region = region};
    for (int i = 0; i < sg->nloop; i++) {
        const et_loop *l = &s->p->g->loops[sg->loop[i]];
        in->loop[i] = s->vars[l->var];
        in->iteration = in->iteration * (l->hi - l->lo) + in->loop[i];
    }
    s->tiles += sg->tiles;
    if (region < 0) {
        if (!sg->g->range.to && !sg->g->slice.count && sg->g->order != ET_TILES_CLAIMED)
            *base += sg->tiles;
        return;
    }
    s->region[region].count++;
    s->region[region].left += sg->tiles;
}

static int open_region(struct sim *s) {
    if (s->nregion == s->cregion) {
        s->cregion = s->cregion ? 2 * s->cregion : 16;
        s->region = realloc(s->region, (size_t)s->cregion * sizeof *s->region);
        if (!s->region) et_no_memory();
    }
    s->region[s->nregion] = (struct sim_region){.first = s->ninst};
    return s->nregion++;
}

static void add_items(struct sim *s, int first, int count, int region) {
    bool outer = region >= 0;
    for (int i = first; i < first + count && s->tiles < MOST_TASKS; i++) {
        const et_item *it = &s->p->items[i];
        bool dynamic = it->kind == ET_P_LOOP ? loop_is_dynamic(s, it) : s->grid[it->index].dynamic;
        if (!outer) region = !dynamic ? -1 : region >= 0 ? region : open_region(s);
        if (it->kind == ET_P_GRID) {
            add_instance(s, it->index, region);
            continue;
        }
        const et_loop *l = &s->p->g->loops[it->index];
        int64_t trips = et_eval(s->x, l->trips, s->syms, s->vars);
        for (int64_t k = 0; k < trips && s->tiles < MOST_TASKS; k++) {
            s->vars[l->var] = k;
            add_items(s, it->first, it->count, region);
        }
    }
}

/* ---- events ---- */

static void prepare_event(struct sim *s, int index) {
    const et_event *e = &s->p->events[index];
    struct sim_event *ev = &s->event[index];
    int64_t n = 1, lo, hi, need = -1;
    for (int d = e->rank - 1; d >= 0; d--) {
        ev->stride[d] = n;
        if (!et_bounds(s->x, e->dim[d], &lo, &hi)) et_bug("%s has no bounds", e->name);
        ev->size[d] = et_eval(s->x, e->dim[d], s->syms, s->vars);
        n *= hi;
    }
    if (!et_expr_is_known(s->x, e->count)) {
        ev->sheet = sim_sheet_create(s);
        ev->count = sim_sheet_add(ev->sheet, e->count);
    } else {
        need = et_eval(s->x, e->count, s->syms, s->vars);
        need = need > 0 ? need : 0;
    }
    for (int64_t w = e->base; w < e->base + n && w < s->words; w++) {
        s->counter[w].need = need;
        s->counter[w].event = index;
        if (need == 0) s->counter[w].complete = 0;
    }
}

static void prepare_events(struct sim *s) {
    et_program *p = s->p;
    s->words = p->event_words;
    s->event = et_alloc(s->arena, (size_t)(p->nevents + 1) * sizeof *s->event);
    s->counter = malloc(((size_t)s->words + 1) * sizeof *s->counter);
    if (!s->counter) et_no_memory();
    for (int w = 0; w < s->words; w++)
        s->counter[w] = (struct sim_counter){
            .complete = SIM_NEVER, .waiter = -1, .cells = -1, .early_cells = -1};
    for (int i = 0; i < p->nevents; i++)
        prepare_event(s, i);
}

/* ---- all of it ---- */

bool sim_plan(struct sim *s) {
    et_program *p = s->p;
    s->vars = et_alloc(s->arena, (size_t)(et_var_count(s->x) + 1) * sizeof *s->vars);
    s->grid = et_alloc(s->arena, (size_t)(p->ngrids + 1) * sizeof *s->grid);
    prepare_events(s);
    for (int i = 0; i < p->ngrids; i++)
        if (!prepare_grid(s, i)) return false;
    find_readers(s);
    add_items(s, p->first, p->count, -1);
    if (s->tiles >= MOST_TASKS) {
        sim_fail(s, "too many tasks");
        return false;
    }
    if (s->nregion && p->g->nmodels) {
        sim_fail(s, "dynamic tasks of several models are not played");
        return false;
    }
    return true;
}

void sim_plan_destroy(struct sim *s) {
    for (int i = 0; s->grid && i < s->p->ngrids; i++) {
        sim_sheet_destroy(s->grid[i].sheet);
        sim_sheet_destroy(s->grid[i].sizes);
        free(s->grid[i].cost[0]);
        free(s->grid[i].cost[1]);
    }
    for (int i = 0; s->event && i < s->p->nevents; i++)
        sim_sheet_destroy(s->event[i].sheet);
    free(s->inst);
    free(s->region);
    free(s->counter);
}

void sim_enter(struct sim *s, int instance, int64_t tile) {
    const struct sim_instance *in = &s->inst[instance];
    const struct sim_grid *g = &s->grid[in->grid];
    for (int c = g->f->ncoords - 1; c >= 0; c--) {
        s->vars[g->f->coord[c]] = g->extent[c] ? tile % g->extent[c] : 0;
        tile = g->extent[c] ? tile / g->extent[c] : 0;
    }
    for (int i = 0; i < g->nloop; i++)
        s->vars[s->p->g->loops[g->loop[i]].var] = in->loop[i];
    s->iteration = in->iteration;
}

bool sim_applies(const struct sim *s, const struct sim_instance *in, et_when when) {
    const struct sim_grid *g = &s->grid[in->grid];
    if (when == ET_ALWAYS || !g->nloop) return true;
    const et_loop *l = &s->p->g->loops[g->loop[g->nloop - 1]];
    int64_t i = in->loop[g->nloop - 1];
    return when == ET_FIRST_ITERATION    ? i == 0
           : when == ET_LATER_ITERATIONS ? i > 0
                                         : i == et_eval(s->x, l->trips, s->syms, s->vars) - 1;
}
