/* Events from footprints. Two grids that touch the same memory, one of them writing, are ordered by
 * an event of the earlier one: its counters are indexed by the loops around it and by those of its
 * tile coordinates that say which part of the memory a tile touches; arrivals over its other
 * coordinates are summed. A tile of the later grid waits for the box of counters whose tiles touch
 * what it touches. */
#include "findings.h"
#include "footprint.h"
#include "pipeline.h"
#include <string.h>

enum {
    LINE_WORDS = 32,  /* an event tensor starts on a cache line of its own */
    MERGE_LIMIT = 16, /* waiting for this many counters at once costs about as much as for one */
    /* Counters that a tensor names: two looks of a wave of 64. To wait for more costs a task more
     * than the tensor's own latency, and names most of the tiles there are. */
    POINT_LIMIT = 128,
};

/* Tiles lo..hi of one coordinate of the earlier grid, or all of them. Where they depend on a load:
 * those, as far as there are such tiles, for all values of the variables in the load's index. */
struct span {
    bool all;
    et_expr lo, hi;
    et_expr load; /* or none */
};

/* A later grid's need of an earlier one. */
struct edge {
    int from, to;
    bool needed;
    int carried; /* loop whose previous iteration is meant, or -1 */
    bool every;  /* all iterations of the loops around FROM alone, not just the last */
    struct span box[ET_MAX_RANK]; /* by coordinate of FROM */
    bool points; /* one of them depends on a load: waiting for it orders nothing else */
};

struct events {
    et_pipeline *pl;
    et_program *p;
    et_exprs *x;
    et_footprints *fp; /* by grid */
    int *position;
    struct edge *edges;
    int nedges, cedges;
    int now;
    int *order, *begin; /* edge numbers by the grid they come from; where those of a grid begin */
};

/* ---- loops ---- */

static int loops_of(const et_program *p, int loop, int out[ET_MAX_RANK]) {
    int n = 0, path[ET_MAX_RANK];
    for (; loop >= 0 && n < ET_MAX_RANK; loop = p->g->loops[loop].parent)
        path[n++] = loop;
    for (int i = 0; i < n; i++)
        out[i] = path[n - 1 - i];
    return n;
}

static int shared_loops(const et_program *p, const et_grid *a, const et_grid *b) {
    int u[ET_MAX_RANK], v[ET_MAX_RANK];
    int n = loops_of(p, a->loop, u), m = loops_of(p, b->loop, v), k = 0;
    while (k < n && k < m && u[k] == v[k])
        k++;
    return k;
}

/* ---- conflicts ---- */

static bool proved(const struct events *e, et_expr p) {
    const et_node_x *n = et_x(e->x, p);
    return n->op == ET_X_INT && n->n;
}

static bool disjoint(const struct events *e, const et_interval *a, const et_interval *b) {
    if (a->whole || b->whole) return false;
    return proved(e, et_op2(e->x, ET_X_LT, a->hi, b->lo)) ||
           proved(e, et_op2(e->x, ET_X_LT, b->hi, a->lo));
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

/* ---- counters that tensors name ---- */

struct vars {
    const struct events *e;
    const et_grid *g; /* whose coordinates and loops are left out */
    int v[ET_MAX_VARS], n;
};

static void find_var(void *ctx, et_expr ex) {
    struct vars *l = ctx;
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

static void find_load(void *ctx, et_expr ex) {
    struct vars *l = ctx;
    l->n += et_x(l->e->x, ex)->op == ET_X_LOAD;
}

static bool has_load(const struct events *e, et_expr ex) {
    struct vars l = {.e = e};
    et_walk(e->x, ex, find_load, &l);
    return l.n > 0;
}

/* The variables that a load in a span of an edge to grid G is for. */
static struct vars vars_of(const struct events *e, const et_grid *g, et_expr load) {
    struct vars l = {.e = e, .g = g};
    et_walk(e->x, load, find_var, &l);
    return l;
}

static int64_t upper(const struct events *e, et_expr x) {
    int64_t lo, hi;
    return et_bounds(e->x, x, &lo, &hi) ? hi : INT32_MAX;
}

/* Few enough to look at, and few enough that some tile is left out: as many rows as there are tiles
 * name 63 % of them if they are spread evenly, twice as many 86 %. */
static bool pays(const struct events *e, const et_grid *from, const et_grid *to, int coord,
                 et_expr load) {
    struct vars l = vars_of(e, to, load);
    int64_t n = 1;
    for (int i = 0; i < l.n && n <= POINT_LIMIT; i++)
        n *= upper(e, et_var_extent(e->x, l.v[i]));
    return n <= POINT_LIMIT && n < 2 * upper(e, from->extent[coord]);
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
    out->lo = et_ceil_div(x, et_sub(x, want->lo, hi0), size);
    out->hi = et_op2(x, ET_X_IDIV, et_sub(x, want->hi, lo0), size);
    bool loads = has_load(e, out->lo) || has_load(e, out->hi); /* not all of a clamp may be left */
    if (want->load.id && loads) return pays(e, from, to, c, want->load);
    out->load = ET_NO_EXPR;
    out->lo = et_op2(x, ET_X_MAX, out->lo, et_int(x, 0));
    out->hi = et_op2(x, ET_X_MIN, out->hi, last);
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
    struct span box[ET_MAX_RANK];
    for (int c = 0; c < ET_MAX_RANK; c++)
        box[c] = (struct span){.all = true};
    for (int d = 0; same && d < rank; d++) {
        et_interval have = in_previous(e, a->dim[d], ed->carried);
        if (disjoint(e, &have, &b->dim[d])) return;
        int c;
        struct span s;
        if (!tiles_meeting(e, ed, &have, &b->dim[d], &c, &s)) continue;
        bool second = s.load.id && loads; /* a wait is for the values of one load */
        if (box[c].all && !second) {
            box[c] = s;
            loads |= s.load.id != 0;
        }
    }
    int loops[ET_MAX_RANK], n = loops_of(p, from->loop, loops);
    int shared = shared_loops(p, from, &p->grids[ed->to]);
    bool every = depends_on_loops(e, a, rank, loops + shared, n - shared);
    add_box(e, loads ? points : ed, box, f->ncoords, every);
}

static void add_edge(struct events *e, const struct edge *ed) {
    ET_GROW(e->pl->g->arena, e->edges, e->nedges, e->cedges);
    e->edges[e->nedges++] = *ed;
}

/* What tensors name is an edge of its own, beside what is known before the launch. */
static void find_edge(struct events *e, int from, int to, int carried) {
    struct edge ed = {.from = from, .to = to, .carried = carried}, points = ed;
    for (int i = 0; i < e->fp[from].n; i++)
        for (int k = 0; k < e->fp[to].n; k++)
            meet(e, &ed, &points, &e->fp[from].v[i], &e->fp[to].v[k]);
    if (ed.needed) add_edge(e, &ed);
    bool whole = ed.needed && ed.every >= points.every;
    for (int c = 0; c < e->p->funcs[e->p->grids[from].func].ncoords; c++)
        whole &= ed.box[c].all;
    if (points.needed && !whole) add_edge(e, &points);
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
    for (int to = 0; to < e->p->ngrids; to++)
        for (int from = 0; from < e->p->ngrids; from++) {
            if (e->position[from] < e->position[to]) find_edge(e, from, to, -1);
            int loops[ET_MAX_RANK];
            int shared = shared_loops(e->p, &e->p->grids[from], &e->p->grids[to]);
            loops_of(e->p, e->p->grids[to].loop, loops);
            for (int k = 0; k < shared; k++)
                find_edge(e, from, to, loops[k]);
        }
}

/* ---- redundant edges ---- */

/* Does E never fall as VAR grows? Enough for the shapes tiles_meeting builds. */
static bool grows_with(const struct events *e, et_expr ex, int var) {
    const et_node_x *n = et_x(e->x, ex);
    int64_t lo, hi;
    switch (n->op) {
    case ET_X_INT:
    case ET_X_SYM:
    case ET_X_VAR:
        return true;
    case ET_X_ADD:
    case ET_X_MIN:
    case ET_X_MAX:
        return grows_with(e, n->ops[0], var) && grows_with(e, n->ops[1], var);
    case ET_X_MUL:
        return et_bounds(e->x, n->ops[1], &lo, &hi) && lo == hi &&
               (lo >= 0
                    ? grows_with(e, n->ops[0], var)
                    : et_expr_eq(et_subst_var(e->x, n->ops[0], var, et_int(e->x, 0)), n->ops[0]));
    case ET_X_IDIV:
        return et_is_int(e->x, n->ops[1], &lo) && lo > 0 && grows_with(e, n->ops[0], var);
    default:
        return false;
    }
}

/* The tiles of coordinate A that are done before a tile of B starts, given that it waits for the
 * tiles CB of C and each of those waited for AC. */
static bool through(const struct events *e, const struct edge *ac, const struct edge *cb, int a,
                    struct span *out) {
    const et_grid *mid = &e->p->grids[ac->to];
    const et_func *f = &e->p->funcs[mid->func];
    *out = ac->box[a];
    if (out->all) return true;
    for (int c = 0; c < f->ncoords; c++) {
        int var = f->coord[c];
        et_expr zero = et_int(e->x, 0), last = et_sub(e->x, mid->extent[c], et_int(e->x, 1));
        if (et_expr_eq(et_subst_var(e->x, out->lo, var, zero), out->lo) &&
            et_expr_eq(et_subst_var(e->x, out->hi, var, zero), out->hi))
            continue;
        bool single = !cb->box[c].all && et_expr_eq(cb->box[c].lo, cb->box[c].hi);
        /* The union over neighbouring tiles of C has no gaps. */
        et_expr next = et_add(e->x, et_var(e->x, var), et_int(e->x, 1));
        et_expr gap = et_subst_var(e->x, out->lo, var, next);
        if (!single &&
            (!grows_with(e, out->lo, var) || !grows_with(e, out->hi, var) ||
             !proved(e, et_op2(e->x, ET_X_LE, gap, et_add(e->x, out->hi, et_int(e->x, 1))))))
            return false;
        out->lo = et_subst_var(e->x, out->lo, var, cb->box[c].all ? zero : cb->box[c].lo);
        out->hi = et_subst_var(e->x, out->hi, var, cb->box[c].all ? last : cb->box[c].hi);
    }
    return true;
}

/* Are the tiles that AB waits for among those of HAVE? */
static bool covers(const struct events *e, const struct edge *ab, const struct edge *have) {
    const et_grid *g = &e->p->grids[ab->from];
    const et_func *f = &e->p->funcs[g->func];
    for (int a = 0; a < f->ncoords; a++) {
        if (have->box[a].all) continue;
        et_expr last = et_sub(e->x, g->extent[a], et_int(e->x, 1));
        et_expr lo = ab->box[a].all ? et_int(e->x, 0) : ab->box[a].lo;
        et_expr hi = ab->box[a].all ? last : ab->box[a].hi;
        if (!proved(e, et_op2(e->x, ET_X_LE, have->box[a].lo, lo)) ||
            !proved(e, et_op2(e->x, ET_X_LE, hi, have->box[a].hi)))
            return false;
    }
    return true;
}

/* Which iterations A -> C and C -> B together speak of. */
static bool compose(const struct events *e, const struct edge *ac, const struct edge *cb,
                    struct edge *out) {
    const et_grid *g = e->p->grids;
    int a = g[ac->from].loop, b = g[cb->to].loop, c = g[ac->to].loop;
    *out = (struct edge){.from = ac->from, .to = cb->to, .carried = -1, .needed = true};
    if (a == b && b == c) {
        out->carried = ac->carried >= 0 ? ac->carried : cb->carried;
        return ac->carried < 0 || cb->carried < 0;
    }
    /* Where A is in a loop that B is not in, "every iteration" must be kept. */
    out->every = c == a ? cb->every : ac->every;
    return ac->carried < 0 && cb->carried < 0 && (c == a || c == b);
}

static bool same_order(const struct edge *have, const struct edge *want) {
    return have->from == want->from && have->to == want->to && have->carried == want->carried &&
           (have->every || !want->every);
}

/* How many grids of the program an edge spans; one across an iteration goes once around. */
static int length(const struct events *e, const struct edge *ed) {
    int n = e->position[ed->to] - e->position[ed->from];
    return ed->carried >= 0 ? n + e->now : n;
}

enum { MAX_REACHED = 48 };

/* What is ordered after tiles of one grid, found by following edges from it. */
struct reached {
    struct edge v[MAX_REACHED];
    int n;
};

static void reach(const struct events *e, struct reached *r, const struct edge *to) {
    const et_func *f = &e->p->funcs[e->p->grids[to->from].func];
    for (int i = 0; i < r->n; i++) {
        const struct edge *o = &r->v[i];
        bool same = o->to == to->to && o->carried == to->carried && o->every == to->every;
        for (int c = 0; same && c < f->ncoords; c++)
            same = o->box[c].all || (!to->box[c].all && et_expr_eq(o->box[c].lo, to->box[c].lo) &&
                                     et_expr_eq(o->box[c].hi, to->box[c].hi));
        if (same) return;
    }
    if (r->n < MAX_REACHED) r->v[r->n++] = *to;
}

/* Does waiting as AC and then CB says order all that AB does? In any case *ON is what they order,
 * when the result or *KNOWN is true. */
static bool follows(const struct events *e, const struct edge *ab, const struct edge *ac,
                    const struct edge *cb, struct edge *on, bool *known) {
    const et_func *f = &e->p->funcs[e->p->grids[ab->from].func];
    *known = compose(e, ac, cb, on) && length(e, on) <= length(e, ab);
    for (int c = 0; *known && c < f->ncoords; c++)
        *known = through(e, ac, cb, c, &on->box[c]);
    return *known && same_order(on, ab) && covers(e, ab, on);
}

/* The first edge from grid FROM to TO or to a later one, as an index into e->order. */
static int first_to(const struct events *e, int from, int to) {
    int lo = e->begin[from], hi = e->begin[from + 1];
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (e->edges[e->order[mid]].to < to)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

/* A -> B follows from a chain through other grids: whatever a tile of B needs of A was waited for,
 * link by link, by tiles that it waits for. Every link of a chain spans fewer grids than A -> B
 * itself, so dropping all edges that follow leaves each of them following from edges that stay.
 * Chains of two links come first: among many grids that share memory nearly every edge has one. */
static bool implied(const struct events *e, const struct edge *ab) {
    struct reached r = {.n = 0};
    struct edge on;
    bool known;
    for (int i = e->begin[ab->from]; i < e->begin[ab->from + 1] && r.n < MAX_REACHED; i++)
        if (!e->edges[e->order[i]].points && length(e, &e->edges[e->order[i]]) < length(e, ab))
            reach(e, &r, &e->edges[e->order[i]]);
    for (int i = 0; i < r.n; i++)
        for (int k = first_to(e, r.v[i].to, ab->to); k < e->begin[r.v[i].to + 1]; k++) {
            const struct edge *cb = &e->edges[e->order[k]];
            if (cb->to != ab->to) break;
            if (!cb->points && follows(e, ab, &r.v[i], cb, &on, &known)) return true;
        }
    for (int i = 0; i < r.n; i++)
        for (int k = e->begin[r.v[i].to]; k < e->begin[r.v[i].to + 1]; k++) {
            if (e->edges[e->order[k]].points) continue;
            if (follows(e, ab, &r.v[i], &e->edges[e->order[k]], &on, &known)) return true;
            if (known) reach(e, &r, &on);
        }
    return false;
}

/* The edges in order of the grid they come from, otherwise as they are: by the grid they go to. */
static void sort_edges(struct events *e) {
    et_arena *a = e->pl->g->arena;
    int grids = e->p->ngrids;
    e->begin = et_alloc(a, (size_t)(grids + 1) * sizeof *e->begin);
    e->order = et_alloc(a, (size_t)(e->nedges + 1) * sizeof *e->order);
    int *next = et_alloc(a, (size_t)(grids + 1) * sizeof *next);
    for (int i = 0; i < e->nedges; i++)
        e->begin[e->edges[i].from + 1]++;
    for (int g = 0; g < grids; g++)
        next[g + 1] = e->begin[g + 1] += e->begin[g];
    for (int i = 0; i < e->nedges; i++)
        e->order[next[e->edges[i].from]++] = i;
}

/* Every tile of ED's grid waits for itself in the iteration before. */
static bool waits_for_itself(const struct events *e, const struct edge *ed) {
    const et_func *f = &e->p->funcs[e->p->grids[ed->from].func];
    bool own = ed->from == ed->to && ed->carried >= 0 && !ed->points;
    for (int c = 0; c < f->ncoords && own; c++) {
        et_expr var = et_var(e->x, f->coord[c]);
        own = ed->box[c].all || (et_expr_eq(ed->box[c].lo, var) && et_expr_eq(ed->box[c].hi, var));
    }
    return own;
}

static bool same_box(const struct events *e, const struct edge *a, const struct edge *b) {
    for (int c = 0; c < e->p->funcs[e->p->grids[a->from].func].ncoords; c++)
        if (a->box[c].all != b->box[c].all || !et_expr_eq(a->box[c].lo, b->box[c].lo) ||
            !et_expr_eq(a->box[c].hi, b->box[c].hi))
            return false;
    return true;
}

/* Tiles that a tensor names, in the iteration before, follow from those it names in this one when
 * tiles of that grid wait for themselves. */
static bool repeats(const struct events *e, const struct edge *ab) {
    bool now = false, own = false;
    for (int i = e->begin[ab->from]; i < e->begin[ab->from + 1]; i++) {
        const struct edge *o = &e->edges[e->order[i]];
        now |= o->to == ab->to && o->points && o->carried < 0 && same_box(e, o, ab);
        own |= o->carried == ab->carried && waits_for_itself(e, o);
    }
    return ab->points && ab->carried >= 0 && now && own;
}

static void drop_implied(struct events *e) {
    sort_edges(e);
    for (int i = 0; i < e->nedges; i++)
        e->edges[i].needed = !implied(e, &e->edges[i]) && !repeats(e, &e->edges[i]);
}

/* ---- event tensors ---- */

/* The coordinates that index the event of an edge; those past the rank that loops leave are summed,
 * which only waits for more. */
static unsigned coords_of(const struct events *e, const struct edge *ed) {
    const et_grid *g = &e->p->grids[ed->from];
    int loops[ET_MAX_RANK], room = ET_MAX_RANK - loops_of(e->p, g->loop, loops);
    unsigned set = 0;
    for (int c = 0; c < e->p->funcs[g->func].ncoords && room > 0; c++)
        if (!ed->box[c].all) {
            set |= 1u << c;
            room--;
        }
    return set;
}

/* Is event set B, finer than A by a few counters, good enough for A's waits? */
static bool serves(const struct events *e, const et_grid *g, unsigned a, unsigned b) {
    int64_t extra = 1;
    if ((a & b) != a) return false;
    for (int c = 0; c < ET_MAX_RANK; c++)
        if ((b & ~a) >> c & 1)
            extra *= upper(e, g->extent[c]) < 1024 ? upper(e, g->extent[c]) : 1024;
    return extra <= MERGE_LIMIT;
}

static const char *event_name(et_program *p, const char *grid, int n) {
    const char *name = grid;
    for (int k = 2, i = 0; i < n; i++)
        if (strcmp(p->events[i].name, name) == 0) {
            name = et_printf(p->g->arena, "%s_%d", grid, k++);
            i = -1;
        }
    return name;
}

static int add_event(struct events *e, int grid, unsigned set) {
    et_program *p = e->p;
    et_grid *g = &p->grids[grid];
    const et_func *f = &p->funcs[g->func];
    ET_GROW(p->g->arena, p->events, p->nevents, p->cevents);
    et_event *ev = &p->events[p->nevents];
    et_notify no = {.event = p->nevents};
    *ev = (et_event){.scope = ET_SCOPE_DEVICE, .count = et_int(e->x, 1)};
    int loops[ET_MAX_RANK], n = loops_of(p, g->loop, loops);
    for (int l = 0; l < n; l++) {
        const et_loop *lp = &p->g->loops[loops[l]];
        ev->dim[ev->rank] = et_int(e->x, lp->hi - lp->lo);
        no.index[ev->rank++] = et_var(e->x, lp->var);
    }
    for (int c = 0; c < f->ncoords; c++) {
        if (!(set >> c & 1)) {
            ev->count = et_mul(e->x, ev->count, g->extent[c]);
            continue;
        }
        ev->dim[ev->rank] = g->extent[c];
        no.index[ev->rank++] = et_var(e->x, f->coord[c]);
    }
    ev->name = event_name(p, g->name, p->nevents);
    ET_GROW(p->g->arena, g->notifies, g->nnotifies, g->cnotifies);
    g->notifies[g->nnotifies++] = no;
    return p->nevents++;
}

static void add_wait(struct events *e, const struct edge *ed, int event, unsigned set) {
    et_program *p = e->p;
    et_grid *from = &p->grids[ed->from], *to = &p->grids[ed->to];
    const et_func *f = &p->funcs[from->func];
    et_wait w = {.event = event};
    int loops[ET_MAX_RANK], n = loops_of(p, from->loop, loops), d = 0;
    int shared = shared_loops(p, from, to), mine[ET_MAX_RANK];
    int carried_at = -1, m = loops_of(p, to->loop, mine);
    for (int l = 0; l < n; l++, d++) {
        const et_loop *lp = &p->g->loops[loops[l]];
        et_expr last = et_int(e->x, lp->hi - lp->lo - 1), var = et_var(e->x, lp->var);
        bool inside = l < shared && carried_at < 0;
        if (inside && loops[l] == ed->carried) {
            /* An empty box where there is no previous iteration. */
            w.lo[d] = w.hi[d] = et_sub(e->x, var, et_int(e->x, 1));
            carried_at = l;
        } else if (inside) {
            w.lo[d] = w.hi[d] = var;
        } else {
            w.lo[d] = ed->every ? et_int(e->x, 0) : last;
            w.hi[d] = last;
        }
    }
    if (carried_at >= 0) {
        w.when = carried_at == m - 1 ? ET_LATER_ITERATIONS : ET_ALWAYS;
        w.lo[carried_at] = et_op2(e->x, ET_X_MAX, w.lo[carried_at], et_int(e->x, 0));
    }
    for (int c = 0; c < f->ncoords; c++) {
        if (!(set >> c & 1)) continue;
        bool all = ed->box[c].all;
        w.lo[d] = all ? et_int(e->x, 0) : ed->box[c].lo;
        w.hi[d] = all ? et_sub(e->x, from->extent[c], et_int(e->x, 1)) : ed->box[c].hi;
        d++;
        if (!ed->box[c].load.id) continue;
        struct vars l = vars_of(e, to, ed->box[c].load);
        memcpy(w.vars, l.v, sizeof w.vars);
        w.nvars = l.n;
    }
    ET_GROW(p->g->arena, to->waits, to->nwaits, to->cwaits);
    to->waits[to->nwaits++] = w;
}

enum { MAX_SETS = 1 << ET_MAX_RANK };

/* The distinct sets of coordinates that edges from GRID are indexed by, finest first. */
static int edge_sets(const struct events *e, int grid, unsigned sets[MAX_SETS]) {
    int n = 0;
    for (int i = 0; i < e->nedges; i++) {
        if (!e->edges[i].needed || e->edges[i].from != grid) continue;
        unsigned set = coords_of(e, &e->edges[i]);
        int k = 0;
        while (k < n && sets[k] != set)
            k++;
        if (k < n || n == MAX_SETS) continue;
        for (k = n++; k > 0 && __builtin_popcount(sets[k - 1]) < __builtin_popcount(set); k--)
            sets[k] = sets[k - 1];
        sets[k] = set;
    }
    return n;
}

/* An event per set that no finer event of the grid serves well enough. */
static void make_events(struct events *e, int grid) {
    const et_grid *g = &e->p->grids[grid];
    unsigned sets[MAX_SETS];
    int event[MAX_SETS], n = edge_sets(e, grid, sets);
    for (int k = 0; k < n; k++) {
        int by = k;
        for (int o = 0; o < k; o++)
            if (event[o] >= 0 && by == k && serves(e, g, sets[k], sets[o])) by = o;
        event[k] = by == k ? add_event(e, grid, sets[k]) : -1;
    }
    for (int i = 0; i < e->nedges; i++) {
        if (!e->edges[i].needed || e->edges[i].from != grid) continue;
        unsigned set = coords_of(e, &e->edges[i]);
        int best = -1;
        for (int k = 0; k < n; k++)
            if (event[k] >= 0 && (sets[k] == set || (best < 0 && serves(e, g, set, sets[k]))))
                best = k;
        et_check(best >= 0);
        add_wait(e, &e->edges[i], event[best], sets[best]);
    }
}

static bool place_events(et_program *p) {
    int64_t at = ET_EVENT_RESERVED;
    for (int i = 0; i < p->nevents; i++) {
        et_event *ev = &p->events[i];
        int64_t words = 1, lo, hi;
        for (int d = 0; d < ev->rank; d++)
            if (!et_bounds(p->g->exprs, ev->dim[d], &lo, &hi) ||
                __builtin_mul_overflow(words, hi, &words))
                words = INT64_MAX;
        if (words > 1 << 28 || at > 1 << 28) {
            et_diag(p->g->diags, ET_ERROR, (et_loc){0},
                    "%s needs too many event counters: lower the bounds of its dims", ev->name);
            return false;
        }
        ev->base = (int)at;
        ev->words = (int)words;
        at += (words + LINE_WORDS - 1) / LINE_WORDS * LINE_WORDS;
    }
    p->event_words = (int)at;
    return true;
}

static bool reads_tensor(const struct events *e, const et_wait *w) {
    bool reads = false;
    for (int d = 0; d < e->p->events[w->event].rank; d++)
        reads |= has_load(e, w->lo[d]) || has_load(e, w->hi[d]);
    return reads;
}

/* What a tensor names is waited for last: the wait reads the tensor, which other waits are for. */
static void points_last(const struct events *e, et_grid *g) {
    for (int i = 1; i < g->nwaits; i++) {
        et_wait w = g->waits[i];
        int k = i;
        for (; !reads_tensor(e, &w) && k > 0 && reads_tensor(e, &g->waits[k - 1]); k--)
            g->waits[k] = g->waits[k - 1];
        g->waits[k] = w;
    }
}

/* Before: every dependency between two grids with a counter per tile. After: what was made. */
static void tell(const struct events *e) {
    const et_pass_options *o = e->pl->opt;
    if (!o->dump || (strcmp(o->dump, "events") && strcmp(o->dump, "all"))) return;
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
        int64_t n = upper(e, et_grid_tiles(e->p, from));
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
    number_grids(&e, p->first, p->count);
    for (int g = 0; g < p->ngrids; g++)
        et_grid_footprints(p, &p->grids[g], &e.fp[g]);
    find_edges(&e);
    drop_implied(&e);
    for (int g = 0; g < p->ngrids; g++)
        make_events(&e, g);
    for (int g = 0; g < p->ngrids; g++)
        points_last(&e, &p->grids[g]);
    if (!place_events(p)) return false;
    tell(&e);
    et_finding *f = et_finding_note(pl->opt, pl->g);
    if (f) note(&e, f);
    return true;
}
