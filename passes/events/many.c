/* Dependencies in programs of many grids. Most pairs of grids that share memory are ordered through
 * others between them, and listing all pairs takes quadratic time and memory. So each grid looks
 * back from the nearest to the farthest, and skips those that are ordered by the edges found so
 * far. implied.c would have dropped these.
 *
 * Two relations are enough for that: all tiles of one grid are done before any tile of the other
 * starts; or of two grids with equal extents, the tile of the same coordinates is. Where the
 * earlier grid is in loops that the other is not in, this is so of all their iterations. */
#include "ir/base/diag.h"
#include "passes/events/int.h"
#include <stdlib.h>
#include <string.h>

/* Sets of grids, by number. */
struct before {
    uint64_t *all, *same; /* of this iteration of the loops around both: in either relation to it */
    /* Of the previous iteration of its loop, grids of that loop alone; NULL outside of loops. */
    uint64_t *last_all, *last_same;
    bool chained; /* each tile comes after that of the same coordinates in the iteration before */
};

struct many {
    struct events *e;
    struct before *of; /* by grid */
    int *grid;         /* by position */
    size_t words;
};

static bool has(const uint64_t *set, int i) {
    return set[i / 64] >> (i % 64) & 1;
}

static void add(uint64_t *set, int i) {
    set[i / 64] |= (uint64_t)1 << (i % 64);
}

static void join(const struct many *m, uint64_t *to, const uint64_t *from) {
    for (size_t i = 0; i < m->words; i++)
        to[i] |= from[i];
}

/* ---- orders by an edge ---- */

enum how { OTHER, SAME, ALL };

static bool equal_extents(const struct events *e, const et_grid *a, const et_grid *b) {
    int n = e->p->funcs[a->func].ncoords;
    bool same = n == e->p->funcs[b->func].ncoords;
    for (int c = 0; same && c < n; c++)
        same = et_expr_eq(a->extent[c], b->extent[c]);
    return same;
}

/* Once what the edge waits for is done, are all iterations of the loops around FROM alone? They may
 * be none, in which no other grid is ordered by it. */
static bool ends_loops(const struct many *m, const struct edge *ed) {
    const et_program *p = m->e->p;
    const et_grid *from = &p->grids[ed->from], *to = &p->grids[ed->to];
    int loops[ET_MAX_RANK], n = events_loops(p, from->loop, loops);
    int shared = events_shared_loops(p, from, to);
    for (int l = shared; l < n; l++)
        if (et_loop_varies(p->g, &p->g->loops[loops[l]])) return false;
    return n == shared || ed->every || (n == shared + 1 && m->of[ed->from].chained);
}

/* The relation that its waits establish; OTHER for neither. */
static enum how how_ordered(const struct many *m, const struct edge *ed) {
    const struct events *e = m->e;
    const et_grid *from = &e->p->grids[ed->from], *to = &e->p->grids[ed->to];
    const et_func *f = &e->p->funcs[from->func], *g = &e->p->funcs[to->func];
    bool all = true, same = equal_extents(e, from, to);
    if (ed->points || ed->far || (ed->carried < 0 && !ends_loops(m, ed))) return OTHER;
    if (ed->carried >= 0 && (from->loop != to->loop || ed->carried != to->loop)) return OTHER;
    for (int c = 0; c < f->ncoords; c++) {
        all &= ed->box[c].all;
        same = same && (ed->box[c].all || (et_expr_eq(ed->box[c].lo, et_var(e->x, g->coord[c])) &&
                                           et_expr_eq(ed->box[c].hi, ed->box[c].lo)));
    }
    return all ? ALL : same ? SAME : OTHER;
}

/* Does it need no more of the earlier grid than the tile of the same coordinates? */
static bool needs_same(const struct events *e, const struct edge *ed) {
    const et_grid *to = &e->p->grids[ed->to];
    const et_func *g = &e->p->funcs[to->func];
    bool same = !ed->points && equal_extents(e, &e->p->grids[ed->from], to);
    for (int c = 0; same && c < g->ncoords; c++) {
        bool one = et_expr_eq(e->p->grids[ed->from].extent[c], et_int(e->x, 1));
        same = (one && ed->box[c].all) ||
               (!ed->box[c].all && et_expr_eq(ed->box[c].lo, et_var(e->x, g->coord[c])) &&
                et_expr_eq(ed->box[c].hi, ed->box[c].lo));
    }
    return same;
}

/* Adds what follows from an edge of the same iteration. */
static void follow(const struct many *m, const struct edge *ed, enum how how) {
    const struct before *a = &m->of[ed->from], *b = &m->of[ed->to];
    if (how == OTHER) return;
    join(m, b->all, a->all);
    join(m, how == ALL ? b->all : b->same, a->same);
    add(how == ALL ? b->all : b->same, ed->from);
}

/* What it tells of the previous iteration, where FROM has been through already. */
static void follow_last(const struct many *m, const struct edge *ed, enum how how) {
    const struct before *a = &m->of[ed->from], *b = &m->of[ed->to];
    const et_grid *g = m->e->p->grids;
    if (how == OTHER || !b->last_all || g[ed->from].loop != g[ed->to].loop) return;
    join(m, b->last_all, a->last_all);
    join(m, how == ALL ? b->last_all : b->last_same, a->last_same);
}

static void follow_carried(const struct many *m, const struct edge *ed, enum how how) {
    const struct before *a = &m->of[ed->from], *b = &m->of[ed->to];
    if (how == OTHER || !b->last_all) return;
    join(m, b->last_all, a->all);
    join(m, how == ALL ? b->last_all : b->last_same, a->same);
    add(how == ALL ? b->last_all : b->last_same, ed->from);
}

/* ---- the search ---- */

/* Edges from FROM to TO, if there are any that others do not make up for. */
static void look(const struct many *m, int from, int to, int carried) {
    struct events *e = m->e;
    const et_grid *g = e->p->grids;
    bool apply = carried < 0 || (g[from].loop == g[to].loop && carried == g[to].loop);
    const struct before *b = &m->of[to];
    if (carried >= 0) events_find_far(e, from, to, carried);
    if (apply && e->p->g->devices) apply = !events_exchanged(e, from, to);
    if (apply && has(carried < 0 ? b->all : b->last_all, from)) return;
    int first = e->nedges;
    events_find_edge(e, from, to, carried);
    if (apply && e->nedges > first && has(carried < 0 ? b->same : b->last_same, from)) {
        bool same = true;
        for (int i = first; i < e->nedges; i++)
            same &= needs_same(e, &e->edges[i]);
        if (same) e->nedges = first;
    }
    for (int i = first; i < e->nedges; i++) {
        enum how how = how_ordered(m, &e->edges[i]);
        if (carried < 0)
            follow(m, &e->edges[i], how);
        else
            follow_carried(m, &e->edges[i], how);
    }
}

/* How many loops the grid at a position shares with TO. */
static int shared_at(const struct many *m, int at, int to) {
    const et_program *p = m->e->p;
    if (at < 0 || at >= m->e->now) return 0;
    return events_shared_loops(p, &p->grids[m->grid[at]], &p->grids[to]);
}

/* Grids that share a loop stand side by side. */
static void look_at_carried(const struct many *m, int to) {
    const struct events *e = m->e;
    int loops[ET_MAX_RANK], at = e->position[to], shared;
    events_loops(e->p, e->p->grids[to].loop, loops);
    while (shared_at(m, at + 1, to))
        at++;
    for (; (shared = shared_at(m, at, to)) > 0; at--)
        for (int k = 0; k < shared; k++)
            look(m, m->grid[at], to, loops[k]);
}

/* Does each tile of the grid wait for itself in the iteration before, or for all of them? */
static bool is_chained(const struct many *m, int grid) {
    struct events *e = m->e;
    int loop = e->p->grids[grid].loop, first = e->nedges;
    bool any = false;
    if (loop < 0) return false;
    events_find_edge(e, grid, grid, loop);
    for (int i = first; i < e->nedges; i++)
        any |= how_ordered(m, &e->edges[i]) != OTHER;
    e->nedges = first;
    return any;
}

/* By the later grid, then the earlier one, then as they were found: as they come where all pairs
 * are looked at in turn. */
static int by_grids(const void *a, const void *b, void *ctx) {
    const struct edge *edges = ctx, *x = &edges[*(const int *)a], *y = &edges[*(const int *)b];
    if (x->to != y->to) return x->to < y->to ? -1 : 1;
    if (x->from != y->from) return x->from < y->from ? -1 : 1;
    return *(const int *)a < *(const int *)b ? -1 : 1;
}

static void sort_edges(struct events *e) {
    size_t n = (size_t)e->nedges + 1;
    int *order = malloc(n * sizeof *order);
    struct edge *sorted = et_alloc(e->pl->g->arena, n * sizeof *sorted);
    if (!order) et_no_memory();
    for (int i = 0; i < e->nedges; i++)
        order[i] = i;
    qsort_r(order, (size_t)e->nedges, sizeof *order, by_grids, e->edges);
    for (int i = 0; i < e->nedges; i++)
        sorted[i] = e->edges[order[i]];
    free(order);
    e->edges = sorted;
    e->cedges = (int)n;
}

static uint64_t *new_set(const struct many *m) {
    return et_alloc(m->e->pl->g->arena, m->words * sizeof(uint64_t));
}

void events_find_many(struct events *e) {
    size_t n = (size_t)e->p->ngrids;
    struct many m = {.e = e, .words = n / 64 + 1};
    m.of = et_alloc(e->pl->g->arena, n * sizeof *m.of);
    m.grid = et_alloc(e->pl->g->arena, (n + 1) * sizeof *m.grid);
    for (int g = 0; g < e->p->ngrids; g++) {
        m.grid[e->position[g]] = g;
        m.of[g] = (struct before){.all = new_set(&m), .same = new_set(&m)};
        if (e->p->grids[g].loop < 0) continue;
        m.of[g].last_all = new_set(&m);
        m.of[g].last_same = new_set(&m);
    }
    for (int g = 0; g < e->p->ngrids; g++)
        m.of[g].chained = is_chained(&m, g);
    for (int at = 0; at < e->now; at++)
        for (int back = at - 1; back >= 0; back--)
            look(&m, m.grid[back], m.grid[at], -1);
    int direct = e->nedges, i = 0; /* edges so far are in order of the later grid's position */
    for (int at = 0; at < e->now; at++) {
        for (; i < direct && e->edges[i].to == m.grid[at]; i++)
            follow_last(&m, &e->edges[i], how_ordered(&m, &e->edges[i]));
        if (e->p->grids[m.grid[at]].loop >= 0) look_at_carried(&m, m.grid[at]);
    }
    sort_edges(e);
}
