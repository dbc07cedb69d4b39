/* Events from footprints. Two grids that touch the same memory, one of them writing, are ordered by
 * an event of the earlier one: its counters are indexed by the loops around it and by those of its
 * tile coordinates that say which part of the memory a tile touches; arrivals over its other
 * coordinates are summed. A tile of the later grid waits for the box of counters whose tiles touch
 * what it touches. */
#include "passes/events/int.h"
#include "passes/pipeline/findings.h"
#include <string.h>

/* Counters that a tensor names: two looks of a wave of 64. To wait for more costs a task more than
 * the tensor's own latency, and names most of the tiles there are. */
enum { POINT_LIMIT = 128, ASK_LIMIT = 32 };

/* ---- loops ---- */

int events_loops(const et_program *p, int loop, int out[ET_MAX_RANK]) {
    int n = 0, path[ET_MAX_RANK];
    for (; loop >= 0 && n < ET_MAX_RANK; loop = p->g->loops[loop].parent)
        path[n++] = loop;
    for (int i = 0; i < n; i++)
        out[i] = path[n - 1 - i];
    return n;
}

int events_shared_loops(const et_program *p, const et_grid *a, const et_grid *b) {
    int u[ET_MAX_RANK], v[ET_MAX_RANK];
    int n = events_loops(p, a->loop, u), m = events_loops(p, b->loop, v), k = 0;
    while (k < n && k < m && u[k] == v[k])
        k++;
    return k;
}

/* ---- conflicts ---- */

bool events_proved(const struct events *e, et_expr p) {
    const et_node_x *n = et_x(e->x, p);
    return n->op == ET_X_INT && n->n;
}

/* Coordinates of a tile of GRID that is another than the one they are of. */
static et_expr of_another(const struct events *e, int grid, et_expr x) {
    const et_grid *g = &e->p->grids[grid];
    const et_func *f = &e->p->funcs[g->func];
    for (int c = 0; c < f->ncoords; c++) {
        if (!et_expr_has_var(e->x, x, f->coord[c])) continue;
        int *twin = &e->twin[grid * ET_MAX_RANK + c];
        if (!*twin) *twin = et_var_add(e->x, et_var_name(e->x, f->coord[c]), g->extent[c]) + 1;
        x = et_subst_var(e->x, x, f->coord[c], et_var(e->x, *twin - 1));
    }
    return x;
}

/* A, of any tile of FROM, and B, of one of TO. */
static bool disjoint(const struct events *e, int from, int to, const et_interval *a,
                     const et_interval *b) {
    if (a->whole || b->whole) return false;
    et_expr lo = a->lo, hi = a->hi;
    if (e->p->grids[from].func == e->p->grids[to].func)
        lo = of_another(e, from, lo), hi = of_another(e, from, hi);
    return events_proved(e, et_op2(e->x, ET_X_LT, hi, b->lo)) ||
           events_proved(e, et_op2(e->x, ET_X_LT, b->hi, lo));
}

static bool share_memory(const et_program *p, int a, int b) {
    if (a == b) return true;
    const et_tensor *s = &p->tensors[a], *t = &p->tensors[b];
    return s->kind == ET_TENSOR_TEMP && t->kind == ET_TENSOR_TEMP &&
           s->offset < t->offset + t->max_bytes && t->offset < s->offset + s->max_bytes;
}

static et_interval in_previous(const struct events *e, et_interval i, int loop) {
    if (i.whole || loop < 0) return i;
    int var = e->p->g->loops[loop].var;
    et_expr before = et_sub(e->x, et_var(e->x, var), et_int(e->x, 1));
    i.lo = et_subst_var(e->x, i.lo, var, before);
    i.hi = et_subst_var(e->x, i.hi, var, before);
    return i;
}

/* I over all iterations of LOOP: whole unless it grows or shrinks evenly with it. */
static et_interval in_any(const struct events *e, et_interval i, int loop) {
    et_exprs *x = e->x;
    const et_loop *l = &e->p->g->loops[loop];
    et_expr end[2] = {i.lo, i.hi}, next = et_add(x, et_var(x, l->var), et_int(x, 1));
    for (int k = 0; k < 2 && !i.whole; k++) {
        int64_t step;
        if (!et_expr_has_var(x, end[k], l->var)) continue;
        if (!et_is_int(x, et_sub(x, et_subst_var(x, end[k], l->var, next), end[k]), &step))
            return (et_interval){.whole = true};
        bool last = (step > 0) == (k == 1);
        et_expr at = last ? et_sub(x, l->trips, et_int(x, 1)) : et_int(x, 0);
        end[k] = et_subst_var(x, end[k], l->var, at);
    }
    i.lo = end[0], i.hi = end[1];
    return i;
}

/* ---- counters that tensors name ---- */

static void find_var(void *ctx, et_expr ex) {
    struct events_vars *l = ctx;
    const et_program *p = l->e->p;
    const et_node_x *n = et_x(l->e->x, ex);
    if (n->op != ET_X_VAR) return;
    const et_func *f = &p->funcs[l->g->func];
    for (int c = 0; c < f->ncoords; c++)
        if (f->coord[c] == n->i) return;
    for (int k = l->g->loop; k >= 0; k = p->g->loops[k].parent)
        if (p->g->loops[k].var == n->i) return;
    for (int i = 0; i < l->n; i++)
        if (l->v[i] == n->i) return;
    if (l->n < ET_MAX_VARS) l->v[l->n++] = n->i;
}

struct events_vars events_vars_of(const struct events *e, const et_grid *g, et_expr load) {
    struct events_vars l = {.e = e, .g = g};
    et_walk(e->x, load, find_var, &l);
    return l;
}

int64_t events_upper(const struct events *e, et_expr x) {
    int64_t lo, hi;
    return et_bounds(e->x, x, &lo, &hi) ? hi : INT32_MAX;
}

/* With queues, the arrival that completes a counter checks all tiles of TO that may wait for it, 32
 * in parallel, at the POINTS counters of each. That must be a small delay. */
static bool asks_little(const struct events *e, const et_grid *to, int64_t points) {
    int64_t tiles = events_upper(e, et_grid_tiles(e->p, to));
    return et_is_static(e->pl->opt) || (tiles + 31) / 32 * points <= ASK_LIMIT;
}

/* Few enough to look at, and few enough that some tile is left out: as many rows as there are tiles
 * name 63 % of them if they are spread evenly, twice as many 86 %. */
static bool pays(const struct events *e, const et_grid *from, const et_grid *to, int coord,
                 et_expr load) {
    struct events_vars l = events_vars_of(e, to, load);
    int64_t n = 1;
    for (int i = 0; i < l.n && n <= POINT_LIMIT; i++)
        n *= events_upper(e, et_var_extent(e->x, l.v[i]));
    return n <= POINT_LIMIT && n < 2 * events_upper(e, from->extent[coord]) &&
           asks_little(e, to, n);
}

/* The least (or GREATEST) of E over all coordinates of F but C, which it grows with evenly; or
 * none.
 */
static et_expr extreme(const struct events *e, const et_grid *g, int c, et_expr ex, bool greatest) {
    const et_func *f = &e->p->funcs[g->func];
    et_exprs *x = e->x;
    et_expr one = et_int(x, 1);
    for (int k = 0; k < f->ncoords; k++) {
        int64_t step;
        if (k == c) continue;
        et_expr next = et_subst_var(x, ex, f->coord[k], et_add(x, et_var(x, f->coord[k]), one));
        if (!et_is_int(x, et_sub(x, next, ex), &step) || step < 0) return ET_NO_EXPR;
        et_expr last = et_sub(x, g->extent[k], one);
        ex = et_subst_var(x, ex, f->coord[k], greatest ? last : et_int(x, 0));
    }
    return ex;
}

/* The coordinate in whose steps the tiles cover a dimension: one that alone decides, or the one of
 * the widest step. LO and HI: of a tile with index 0 along it, whatever its other coordinates. */
static int covering(const struct events *e, const et_grid *from, const et_interval *have,
                    int64_t *out_step, et_expr *out_lo, et_expr *out_hi) {
    const et_func *f = &e->p->funcs[from->func];
    et_exprs *x = e->x;
    int best = -1;
    for (int c = 0; c < f->ncoords; c++) {
        int var = f->coord[c];
        et_expr next = et_add(x, et_var(x, var), et_int(x, 1));
        int64_t step, other;
        if (!et_is_int(x, et_sub(x, et_subst_var(x, have->lo, var, next), have->lo), &step) ||
            !et_is_int(x, et_sub(x, et_subst_var(x, have->hi, var, next), have->hi), &other) ||
            step < 1 || step != other || (best >= 0 && step <= *out_step))
            continue;
        et_expr lo = extreme(e, from, c, et_subst_var(x, have->lo, var, et_int(x, 0)), false);
        et_expr hi = extreme(e, from, c, et_subst_var(x, have->hi, var, et_int(x, 0)), true);
        if (!lo.id || !hi.id) continue;
        bool alone = et_expr_eq(lo, et_subst_var(x, have->lo, var, et_int(x, 0))) &&
                     et_expr_eq(hi, et_subst_var(x, have->hi, var, et_int(x, 0)));
        if (!alone && !from->slice.count) continue;
        best = c;
        *out_step = step, *out_lo = lo, *out_hi = hi;
    }
    return best;
}

struct terms {
    const et_exprs *x;
    int n;
};

static void count_division(void *ctx, et_expr e) {
    struct terms *t = ctx;
    const et_node_x *n = et_x(t->x, e);
    int64_t by;
    t->n += (n->op == ET_X_IDIV || n->op == ET_X_MOD) && !et_is_int(t->x, n->ops[0], &by);
}

/* A wait for tiles that more dims, and quotients of them, decide than the verifier adds up is not
 * shown to be right. */
static bool too_many_terms(const et_exprs *x, et_expr lo, et_expr hi) {
    enum { MOST = 8, FEW_DIMS = 3 };
    struct terms t = {.x = x};
    int dims = 0;
    for (int s = 0; s < et_sym_count(x); s++)
        dims += et_expr_has(x, lo, ET_X_SYM, s) || et_expr_has(x, hi, ET_X_SYM, s);
    if (dims <= FEW_DIMS) return false;
    et_walk(x, lo, count_division, &t);
    et_walk(x, hi, count_division, &t);
    return dims + t.n > MOST;
}

/* If tiles cover a dimension in equal steps along a coordinate, the coordinates whose tiles meet
 * WANT. */
static bool tiles_meeting(const struct events *e, const struct edge *ed, const et_interval *have,
                          const et_interval *want, int *out_coord, struct span *out) {
    const et_grid *from = &e->p->grids[ed->from], *to = &e->p->grids[ed->to];
    et_exprs *x = e->x;
    int64_t step = 1;
    et_expr lo0, hi0;
    if (have->whole || (want->whole && !want->load.id)) return false;
    int c = covering(e, from, have, &step, &lo0, &hi0);
    if (c < 0) return false;
    et_expr size = et_int(x, step), last = et_sub(x, from->extent[c], et_int(x, 1));
    *out_coord = c;
    *out = (struct span){.load = want->load};
    et_expr between = et_sub(x, et_add(x, lo0, et_int(x, step - 1)), hi0);
    out->holes = !events_proved(e, et_op2(x, ET_X_LE, between, et_int(x, 0)));
    out->lo = et_ceil_div(x, et_sub(x, want->lo, hi0), size);
    out->hi = et_op2(x, ET_X_IDIV, et_sub(x, want->hi, lo0), size);
    bool loads = et_expr_loads(e->x, out->lo) ||
                 et_expr_loads(e->x, out->hi); /* not all of a clamp may be left */
    if (want->load.id && loads) return pays(e, from, to, c, want->load);
    out->load = ET_NO_EXPR;
    out->lo = et_op2(x, ET_X_MAX, out->lo, et_int(x, 0));
    out->hi = et_op2(x, ET_X_MIN, out->hi, last);
    if (too_many_terms(x, out->lo, out->hi)) return false;
    out->all = et_expr_eq(out->lo, et_int(x, 0)) && et_expr_eq(out->hi, last);
    return true;
}

static void widen(struct events *e, struct span *to, const struct span *by) {
    if (to->all || by->all || to->load.id || by->load.id) {
        bool same =
            !to->all && !by->all && et_expr_eq(to->lo, by->lo) && et_expr_eq(to->hi, by->hi);
        if (!same) *to = (struct span){.all = true};
        return;
    }
    to->holes |= by->holes;
    to->lo = et_op2(e->x, ET_X_MIN, to->lo, by->lo);
    to->hi = et_op2(e->x, ET_X_MAX, to->hi, by->hi);
}

static bool depends_on_loops(const struct events *e, const et_footprint *fp, int rank,
                             const int *loops, int n) {
    for (int d = 0; d < rank; d++)
        for (int i = 0; i < n && !fp->dim[d].whole; i++) {
            int var = e->p->g->loops[loops[i]].var;
            et_expr zero = et_int(e->x, 0);
            if (!et_expr_eq(et_subst_var(e->x, fp->dim[d].lo, var, zero), fp->dim[d].lo))
                return true;
        }
    return false;
}

/* Does each tile of FROM store where it did in the iteration before, for which it waits, so that
 * the last iteration is done after all others? */
static bool repeats_itself(const struct events *e, int from, const int *loops, int n) {
    for (int i = 0; i < e->fp[from].n; i++) {
        const et_footprint *fp = &e->fp[from].v[i];
        int rank = e->p->tensors[fp->tensor].shape.rank;
        if (fp->is_store && !depends_on_loops(e, fp, rank, loops, n)) return true;
    }
    return false;
}

static bool is_exchanged(const struct events *e, const et_footprint *a, const et_footprint *b) {
    const et_tensor *t = &e->p->tensors[a->tensor];
    return (t->flagged || t->shared) && a->tensor == b->tensor && a->is_store && !b->is_store;
}

bool events_exchanged(const struct events *e, int from, int to) {
    bool any = false;
    for (int i = 0; i < e->fp[from].n && e->p->g->devices; i++)
        for (int k = 0; k < e->fp[to].n && !any; k++)
            any = is_exchanged(e, &e->fp[from].v[i], &e->fp[to].v[k]);
    return any;
}

static void add_box(struct events *e, struct edge *ed, const struct span *box, int n, bool every) {
    ed->every |= every;
    for (int c = 0; c < n; c++)
        if (ed->needed)
            widen(e, &ed->box[c], &box[c]);
        else
            ed->box[c] = box[c];
    ed->needed = true;
    ed->points = false;
    for (int c = 0; c < n; c++)
        ed->points |= ed->box[c].load.id != 0;
}

/* Add to ED what footprint A of its earlier grid and B of the later one require; to POINTS instead
 * where that depends on a load. */
static void meet(struct events *e, struct edge *ed, struct edge *points, const et_footprint *a,
                 const et_footprint *b) {
    const et_program *p = e->p;
    const et_grid *from = &p->grids[ed->from];
    const et_func *f = &p->funcs[from->func];
    if (!share_memory(p, a->tensor, b->tensor) || !(a->is_store || b->is_store)) return;
    int rank = p->tensors[a->tensor].shape.rank;
    bool same = a->tensor == b->tensor, loads = false;
    int loops[ET_MAX_RANK], n = events_loops(p, from->loop, loops);
    int common = events_shared_loops(p, from, &p->grids[ed->to]); /* loops of one iteration */
    for (int l = 0; l < common; l++)
        if (loops[l] == ed->carried) common = l + 1;
    struct span box[ET_MAX_RANK];
    for (int c = 0; c < ET_MAX_RANK; c++)
        box[c] = (struct span){.all = true};
    for (int d = 0; same && d < rank; d++) {
        et_interval have = in_previous(e, a->dim[d], ed->carried);
        for (int l = common; l < n; l++)
            have = in_any(e, have, loops[l]);
        if (disjoint(e, ed->from, ed->to, &have, &b->dim[d])) return;
        int c;
        struct span s;
        if (!tiles_meeting(e, ed, &have, &b->dim[d], &c, &s)) continue;
        bool second = s.load.id && loads; /* a wait is for the values of one load */
        if (box[c].all && !second) {
            box[c] = s;
            loads |= s.load.id != 0;
        }
    }
    bool every = depends_on_loops(e, a, rank, loops + common, n - common) ||
                 (!a->is_store && !repeats_itself(e, ed->from, loops + common, n - common));
    struct edge *to = loads ? points : ed;
    add_box(e, to, box, f->ncoords, every);
    to->system |= is_exchanged(e, a, b);
}

void events_add(struct events *e, const struct edge *ed) {
    ET_GROW(e->pl->g->arena, e->edges, e->nedges, e->cedges);
    e->edges[e->nedges++] = *ed;
}

/* Counters that tensors name are an edge of their own, beside those known before the launch. */
void events_find_edge(struct events *e, int from, int to, int carried) {
    struct edge ed = {.from = from, .to = to, .carried = carried}, points = ed;
    for (int i = 0; i < e->fp[from].n; i++)
        for (int k = 0; k < e->fp[to].n; k++)
            meet(e, &ed, &points, &e->fp[from].v[i], &e->fp[to].v[k]);
    if (ed.needed) events_add(e, &ed);
    bool whole = ed.needed && ed.every >= points.every;
    for (int c = 0; c < e->p->funcs[e->p->grids[from].func].ncoords; c++)
        whole &= ed.box[c].all;
    if (points.needed && !whole) events_add(e, &points);
}

/* I in all iterations of LOOP but this one and the last. */
static et_interval in_older(const struct events *e, et_interval i, int loop) {
    et_exprs *x = e->x;
    et_expr var = et_var(x, e->p->g->loops[loop].var);
    et_expr older = et_sub(x, var, et_int(x, 2)), end[2] = {i.lo, i.hi};
    for (int k = 0; k < 2 && !i.whole; k++) {
        int64_t step;
        int v = e->p->g->loops[loop].var;
        et_expr next = et_subst_var(x, end[k], v, et_add(x, var, et_int(x, 1)));
        if (!et_is_int(x, et_sub(x, next, end[k]), &step)) return (et_interval){.whole = true};
        bool last = (step > 0) == (k == 1);
        end[k] = et_subst_var(x, end[k], v, last ? older : et_int(x, 0));
    }
    i.lo = end[0], i.hi = end[1];
    return i;
}

static bool meet_far(const struct events *e, const struct edge *ed, const et_footprint *a,
                     const et_footprint *b) {
    const et_program *p = e->p;
    int rank = p->tensors[a->tensor].shape.rank, loops[ET_MAX_RANK], at = 0;
    if (a->tensor != b->tensor || !(a->is_store || b->is_store)) return false;
    if (!depends_on_loops(e, a, rank, &ed->carried, 1)) return false;
    int n = events_loops(p, p->grids[ed->from].loop, loops);
    while (loops[at] != ed->carried)
        at++;
    for (int d = 0; d < rank; d++) {
        et_interval have = in_older(e, a->dim[d], ed->carried);
        for (int l = at + 1; l < n; l++)
            have = in_any(e, have, loops[l]);
        if (disjoint(e, ed->from, ed->to, &have, &b->dim[d])) return false;
    }
    return true;
}

void events_find_far(struct events *e, int from, int to, int loop) {
    struct edge ed = {.from = from, .to = to, .carried = loop, .far = true, .every = true};
    const et_loop *l = &e->p->g->loops[loop];
    for (int c = 0; c < ET_MAX_RANK; c++)
        ed.box[c].all = true;
    for (int i = 0; i < e->fp[from].n && l->hi - l->lo > 2; i++)
        for (int k = 0; k < e->fp[to].n && !ed.needed; k++)
            ed.needed = meet_far(e, &ed, &e->fp[from].v[i], &e->fp[to].v[k]);
    if (ed.needed) events_add(e, &ed);
}

static void number_grids(struct events *e, int first, int count) {
    for (int i = first; i < first + count; i++) {
        const et_item *it = &e->p->items[i];
        if (it->kind == ET_P_GRID)
            e->position[it->index] = e->now++;
        else
            number_grids(e, it->first, it->count);
    }
}

static void find_edges(struct events *e) {
    if (e->p->ngrids > EVENTS_MANY) {
        events_find_many(e);
        return;
    }
    for (int to = 0; to < e->p->ngrids; to++)
        for (int from = 0; from < e->p->ngrids; from++) {
            if (e->position[from] < e->position[to]) events_find_edge(e, from, to, -1);
            int loops[ET_MAX_RANK];
            int shared = events_shared_loops(e->p, &e->p->grids[from], &e->p->grids[to]);
            events_loops(e->p, e->p->grids[to].loop, loops);
            for (int k = 0; k < shared; k++) {
                events_find_edge(e, from, to, loops[k]);
                events_find_far(e, from, to, loops[k]);
            }
        }
}

/* ---- findings ---- */

/* Before: every dependency between two grids with a counter per tile. After: what was made. */
static void tell(const struct events *e) {
    const et_pass_options *o = e->pl->opt;
    if (!et_is_dumped(o, "events")) return;
    int kept = 0, points = 0;
    int64_t before = 0, after = 0, tiles, ignored;
    for (int i = 0; i < e->nedges; i++) {
        const et_grid *from = &e->p->grids[e->edges[i].from];
        int64_t n = et_bounds(e->x, et_grid_tiles(e->p, from), &ignored, &tiles) ? tiles : 0;
        for (int l = from->loop; l >= 0; l = e->p->g->loops[l].parent)
            n *= e->p->g->loops[l].hi - e->p->g->loops[l].lo;
        before += n;
        kept += e->edges[i].needed;
        points += e->edges[i].needed && e->edges[i].points;
    }
    for (int i = 0; i < e->p->nevents; i++)
        after += e->p->events[i].words;
    fprintf(o->dump_to,
            "# %d dependencies between grids, %d left after those that follow from others; %lld "
            "counters if each had one per tile, %lld in %d event tensors\n",
            e->nedges, kept, (long long)before, (long long)after, e->p->nevents);
    if (points)
        fprintf(o->dump_to, "# %d of them only for the tiles that a tensor names at run time\n",
                points);
}

static void note(const struct events *e, et_finding *f) {
    f->events = et_alloc(e->pl->g->arena, (size_t)(e->pl->g->nloops + 1) * sizeof *f->events);
    for (int i = 0; i < e->nedges; i++) {
        const et_grid *from = &e->p->grids[e->edges[i].from];
        et_found_events *at = &f->events[e->p->grids[e->edges[i].to].loop + 1];
        int64_t n = events_upper(e, et_grid_tiles(e->p, from));
        at->needs++;
        at->kept += e->edges[i].needed;
        at->counters += (double)n;
    }
}

bool et_pass_events(et_pipeline *pl) {
    et_program *p = pl->p;
    struct events e = {.pl = pl, .p = p, .x = pl->g->exprs};
    e.fp = et_alloc(pl->g->arena, (size_t)p->ngrids * sizeof *e.fp);
    e.position = et_alloc(pl->g->arena, (size_t)p->ngrids * sizeof *e.position);
    e.twin = et_alloc(pl->g->arena, (size_t)p->ngrids * sizeof(int[ET_MAX_RANK]));
    number_grids(&e, p->first, p->count);
    for (int g = 0; g < p->ngrids; g++)
        et_grid_footprints(p, &p->grids[g], &e.fp[g]);
    find_edges(&e);
    events_close_gates(&e);
    events_drop_implied(&e);
    if (!events_make(&e)) return false;
    pl->inferred = true;
    tell(&e);
    et_finding *f = et_finding_note(pl->opt, pl->g);
    if (f) note(&e, f);
    return true;
}
