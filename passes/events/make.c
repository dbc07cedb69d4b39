/* Event tensors of the edges that are needed. */
#include "passes/events/int.h"

enum {
    LINE_WORDS = 32, /* an event tensor starts on a cache line of its own */
    /* Arrivals at one counter that are worth a second one, and that are not. */
    MANY_ARRIVALS = 64,
    FEW_ARRIVALS = 32,
    MOST_WORDS = 1 << 21, /* of an event tensor whose counters are a line apart */
    MERGE_LIMIT = 16, /* waiting for this many counters at once costs about as much as for one */
};

/* The coordinates that index the event of an edge; those past the rank that loops leave are summed,
 * which only waits for more. */
static unsigned coords_of(const struct events *e, const struct edge *ed) {
    const et_grid *g = &e->p->grids[ed->from];
    int loops[ET_MAX_RANK], room = ET_MAX_RANK - events_loops(e->p, g->loop, loops);
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
            extra *= events_upper(e, g->extent[c]) < 1024 ? events_upper(e, g->extent[c]) : 1024;
    return extra <= MERGE_LIMIT;
}

/* Arrivals at one counter serialise. Where there would be many, tiles arrive at PARTS counters, on
 * different cache lines, by their coordinate C, and a task that waits for one waits for all. */
struct split {
    int c;
    int64_t parts, size; /* tiles along C for each */
};

/* The most tiles along the coordinates in SET, up to as many as matter. */
static int64_t tiles_along(const struct events *e, const et_grid *g, unsigned set) {
    int64_t n = 1;
    for (int c = 0; c < e->p->funcs[g->func].ncoords && n < 1 << 20; c++)
        if (set >> c & 1) n *= events_upper(e, g->extent[c]);
    return n;
}

/* Into as few as keep the queues short, or as many as may be. */
static struct split split_of(const struct events *e, const et_grid *g, unsigned set, int rank) {
    bool fixed = et_is_static(e->pl->opt); /* a queue asks counter by counter */
    struct split s = {.c = -1, .parts = 1};
    int64_t n, arrivals = tiles_along(e, g, ~set);
    double counters = (double)tiles_along(e, g, set) * et_loop_trips(e->p->g, g->loop);
    if (!fixed || arrivals < MANY_ARRIVALS || rank + 2 > ET_MAX_RANK ||
        counters * MERGE_LIMIT * LINE_WORDS > MOST_WORDS)
        return s;
    for (int c = 0; c < e->p->funcs[g->func].ncoords; c++) {
        if (set >> c & 1 || !et_is_int(e->x, g->extent[c], &n)) continue;
        for (int64_t k = 2; k <= MERGE_LIMIT && arrivals / s.parts > FEW_ARRIVALS; k++)
            if (n % k == 0 && k > s.parts) s = (struct split){c, k, n / k};
    }
    return s;
}

static int add_event(struct events *e, int grid, unsigned set) {
    et_program *p = e->p;
    et_grid *g = &p->grids[grid];
    const et_func *f = &p->funcs[g->func];
    ET_GROW(p->g->arena, p->events, p->nevents, p->cevents);
    et_event *ev = &p->events[p->nevents];
    et_notify no = {.event = p->nevents};
    *ev = (et_event){.scope = ET_SCOPE_DEVICE, .count = et_int(e->x, 1)};
    int loops[ET_MAX_RANK], n = events_loops(p, g->loop, loops);
    for (int l = 0; l < n; l++) {
        const et_loop *lp = &p->g->loops[loops[l]];
        ev->dim[ev->rank] = lp->trips;
        no.index[ev->rank++] = et_var(e->x, lp->var);
    }
    struct split s = split_of(e, g, set, n + __builtin_popcount(set));
    for (int c = 0; c < f->ncoords; c++) {
        if (!(set >> c & 1)) {
            et_expr tiles = c == s.c ? et_int(e->x, s.size) : g->extent[c];
            ev->count = et_mul(e->x, ev->count, tiles);
            continue;
        }
        ev->dim[ev->rank] = g->extent[c];
        no.index[ev->rank++] = et_var(e->x, f->coord[c]);
    }
    if (s.parts > 1) {
        ev->dim[ev->rank] = et_int(e->x, s.parts);
        no.index[ev->rank++] =
            et_op2(e->x, ET_X_IDIV, et_var(e->x, f->coord[s.c]), et_int(e->x, s.size));
        ev->dim[ev->rank] = et_int(e->x, LINE_WORDS);
        no.index[ev->rank++] = et_int(e->x, 0);
    }
    ev->name = et_names_add(e->names, g->name, '_');
    ET_GROW(p->g->arena, g->notifies, g->nnotifies, g->cnotifies);
    g->notifies[g->nnotifies++] = no;
    return p->nevents++;
}

/* Where the box from LO up to HI begins: right behind HI where a tile touches nothing of what the
 * tiles of the box do, so that LO would lie further behind; no kernel counts in a box of less than
 * none. */
static et_expr at_most_empty(const struct events *e, const et_grid *to, et_expr lo, et_expr hi) {
    if (events_most_behind(e, to, lo, hi) <= 1) return lo;
    return et_op2(e->x, ET_X_MIN, lo, et_add(e->x, hi, et_int(e->x, 1)));
}

static void add_wait(struct events *e, const struct edge *ed, int event, unsigned set) {
    et_program *p = e->p;
    et_grid *from = &p->grids[ed->from], *to = &p->grids[ed->to];
    const et_func *f = &p->funcs[from->func];
    et_wait w = {.event = event};
    int loops[ET_MAX_RANK], n = events_loops(p, from->loop, loops), d = 0;
    int shared = events_shared_loops(p, from, to), mine[ET_MAX_RANK];
    int carried_at = -1, m = events_loops(p, to->loop, mine);
    for (int l = 0; l < n; l++, d++) {
        const et_loop *lp = &p->g->loops[loops[l]];
        et_expr last = et_sub(e->x, lp->trips, et_int(e->x, 1)), var = et_var(e->x, lp->var);
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
        if (ed->far) {
            et_expr older = et_sub(e->x, w.hi[carried_at], et_int(e->x, 1));
            w.lo[carried_at] = et_int(e->x, 0);
            w.hi[carried_at] = et_op2(e->x, ET_X_MAX, older, et_int(e->x, -1));
        }
    }
    for (int c = 0; c < f->ncoords; c++) {
        if (!(set >> c & 1)) continue;
        bool all = ed->box[c].all;
        w.lo[d] = all ? et_int(e->x, 0) : ed->box[c].lo;
        w.hi[d] = all ? et_sub(e->x, from->extent[c], et_int(e->x, 1)) : ed->box[c].hi;
        if (!all) w.lo[d] = at_most_empty(e, to, w.lo[d], w.hi[d]);
        d++;
        if (!ed->box[c].load.id) continue;
        struct events_vars l = events_vars_of(e, to, ed->box[c].load);
        memcpy(w.vars, l.v, sizeof w.vars);
        w.nvars = l.n;
        if (l.n) continue;
        /* Without variables nothing keeps what the tensor says within the event: an update drops
         * what lies outside, and may then wait for any tile. */
        et_expr last = et_sub(e->x, from->extent[c], et_int(e->x, 1)), none = et_int(e->x, 0);
        w.lo[d - 1] = et_op2(e->x, ET_X_MAX, none, et_op2(e->x, ET_X_MIN, w.lo[d - 1], last));
        w.hi[d - 1] = et_op2(e->x, ET_X_MAX, none, et_op2(e->x, ET_X_MIN, w.hi[d - 1], last));
    }
    struct split s = split_of(e, from, set, d);
    if (s.parts > 1) {
        w.lo[d] = et_int(e->x, 0), w.hi[d++] = et_int(e->x, s.parts - 1);
        w.lo[d] = w.hi[d] = et_int(e->x, 0);
    }
    ET_GROW(p->g->arena, to->waits, to->nwaits, to->cwaits);
    to->waits[to->nwaits++] = w;
}

enum { MAX_SETS = 1 << ET_MAX_RANK };

/* The distinct sets of coordinates that edges from GRID are indexed by, finest first. */
static int edge_sets(const struct events *e, int grid, unsigned sets[MAX_SETS]) {
    int n = 0;
    for (int i = e->begin[grid]; i < e->begin[grid + 1]; i++) {
        const struct edge *ed = &e->edges[e->order[i]];
        if (!ed->needed) continue;
        unsigned set = coords_of(e, ed);
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
    for (int i = e->begin[grid]; i < e->begin[grid + 1]; i++) {
        const struct edge *ed = &e->edges[e->order[i]];
        if (!ed->needed) continue;
        unsigned set = coords_of(e, ed);
        int best = -1;
        for (int k = 0; k < n; k++)
            if (event[k] >= 0 && (sets[k] == set || (best < 0 && serves(e, g, set, sets[k]))))
                best = k;
        et_check(best >= 0);
        add_wait(e, ed, event[best], sets[best]);
    }
}

/* What there is too much of: a launch has a counter for each iteration of loops around a task. */
static void too_many_counters(const et_program *p, const et_event *ev) {
    const et_loop *most = NULL;
    for (int d = 0; d < ev->rank; d++)
        for (int l = 0; l < p->g->nloops; l++) {
            const et_loop *lp = &p->g->loops[l];
            if (lp->trips.id == ev->dim[d].id && lp->hi - lp->lo > 1 << 20 &&
                (!most || lp->hi - lp->lo > most->hi - most->lo))
                most = lp;
        }
    if (most)
        et_diag(p->g->diags, ET_ERROR, most->loc,
                "loop %s has too many iterations: each has event counters of its own", most->name);
    else
        et_diag(p->g->diags, ET_ERROR, (et_loc){0},
                "%s needs too many event counters: lower the bounds of its dims", ev->name);
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
            too_many_counters(p, ev);
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
        reads |= et_expr_loads(e->x, w->lo[d]) || et_expr_loads(e->x, w->hi[d]);
    return reads;
}

/* Waits that read a tensor come last, behind the waits for that tensor. */
static void points_last(const struct events *e, et_grid *g) {
    for (int i = 1; i < g->nwaits; i++) {
        et_wait w = g->waits[i];
        int k = i;
        for (; !reads_tensor(e, &w) && k > 0 && reads_tensor(e, &g->waits[k - 1]); k--)
            g->waits[k] = g->waits[k - 1];
        g->waits[k] = w;
    }
}

/* Half of the tiles, or more, and more counters than are looked at together: where all of them run
 * at the same time, waiting for the rest as well takes no longer, and fewer counters are polled; if
 * the arrivals that queue up at these take less than a part of a poll. */
static void coarsen(const struct events *e, struct edge *ed) {
    const et_grid *g = &e->p->grids[ed->from];
    const et_machine *m = e->pl->opt->machine;
    int64_t n;
    if (!ed->needed || g->slice.count || !et_is_static(e->pl->opt) ||
        tiles_along(e, g, ~0u) > m->cus || m->arrival_us * FEW_ARRIVALS > m->counter_us / 4)
        return;
    for (int c = 0; c < e->p->funcs[g->func].ncoords; c++) {
        struct span *box = &ed->box[c];
        if (box->all || box->load.id || !et_is_int(e->x, g->extent[c], &n)) continue;
        int64_t own = events_upper(e, et_sub(e->x, box->hi, box->lo)) + 1;
        if (own > MERGE_LIMIT && own < n && 2 * own >= n) *box = (struct span){.all = true};
    }
}

/* A grid of so few tiles that one look shows them all, where those that wait have several for each
 * CU: waiting for the whole grid takes no longer, as its tiles run at the same time, and then all
 * tiles wait for the same, which a workgroup does once, and finds in its caches what it has read
 * before. */
static void wait_once(const struct events *e, struct edge *ed) {
    const et_grid *from = &e->p->grids[ed->from], *to = &e->p->grids[ed->to];
    if (!ed->needed || from->slice.count || !et_is_static(e->pl->opt) ||
        tiles_along(e, from, ~0u) > MERGE_LIMIT ||
        events_upper(e, et_grid_tiles(e->p, to)) <= e->pl->opt->machine->cus)
        return;
    for (int c = 0; c < e->p->funcs[from->func].ncoords; c++)
        ed->box[c] = (struct span){.all = true};
}

bool events_make(struct events *e) {
    e->names = et_names_create(e->pl->g->arena);
    for (int i = 0; i < e->nedges; i++)
        coarsen(e, &e->edges[i]), wait_once(e, &e->edges[i]);
    for (int g = 0; g < e->p->ngrids; g++)
        make_events(e, g);
    for (int g = 0; g < e->p->ngrids; g++)
        points_last(e, &e->p->grids[g]);
    return place_events(e->p);
}
