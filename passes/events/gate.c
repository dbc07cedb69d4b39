/* Gates of nested loops. Every task in every iteration of an inner loop would wait for tasks of the
 * iteration before of the outer one. Where the first grid of the outer loop comes before all others
 * of its iteration anyway, it waits for them once, as a gate. */
#include "passes/events/int.h"

static bool is_in(const struct events *e, int grid, int loop) {
    int l = e->p->grids[grid].loop;
    while (l >= 0 && l != loop)
        l = e->p->g->loops[l].parent;
    return l == loop;
}

static bool has_inner(const struct events *e, int loop) {
    for (int l = 0; l < e->p->g->nloops; l++)
        if (e->p->g->loops[l].parent == loop) return true;
    return false;
}

/* The first grid of LOOP, if it is in no loop inside; or -1. */
static int first_of(const struct events *e, int loop) {
    int first = -1;
    for (int g = 0; g < e->p->ngrids; g++)
        if (is_in(e, g, loop) && (first < 0 || e->position[g] < e->position[first])) first = g;
    return first >= 0 && e->p->grids[first].loop == loop ? first : -1;
}

static bool is_whole(const struct events *e, const struct edge *ed) {
    for (int c = 0; c < e->p->funcs[e->p->grids[ed->from].func].ncoords; c++)
        if (!ed->box[c].all) return false;
    return true;
}

/* Which grids' tiles all start after all of GATE's are done, in each iteration of LOOP: those that
 * wait for all of it, and those whose every tile waits for some tile of one that does. */
static bool *find_behind(const struct events *e, int gate, int loop) {
    bool *behind = et_alloc(e->pl->g->arena, (size_t)e->p->ngrids), more = true;
    while (more) {
        more = false;
        for (int i = 0; i < e->nedges; i++) {
            const struct edge *ed = &e->edges[i];
            bool link = ed->carried < 0 && is_in(e, ed->from, loop) && is_in(e, ed->to, loop) &&
                        events_orders(ed) && (behind[ed->from] || ed->from == gate);
            if (!link || behind[ed->to] || (ed->from == gate && !is_whole(e, ed))) continue;
            more = behind[ed->to] = true;
        }
    }
    behind[gate] = true;
    return behind;
}

/* Drops waits for earlier iterations that follow from the gate: it waits for all of FROM in the
 * iteration before; older ones follow, as FROM is behind the gate of its own iteration. */
static bool passes_gate(const struct edge *ed, const bool *behind, int loop) {
    return ed->carried == loop && behind[ed->from] && behind[ed->to];
}

/* By the grid they go to, otherwise as they are. */
static void sort_edges(struct events *e) {
    et_arena *a = e->pl->g->arena;
    int grids = e->p->ngrids, n = e->nedges;
    int *next = et_alloc(a, (size_t)(grids + 1) * sizeof *next);
    struct edge *sorted = et_alloc(a, (size_t)(n + 1) * sizeof *sorted);
    for (int i = 0; i < n; i++)
        next[e->edges[i].to + 1]++;
    for (int g = 0; g < grids; g++)
        next[g + 1] += next[g];
    for (int i = 0; i < n; i++)
        sorted[next[e->edges[i].to]++] = e->edges[i];
    e->edges = sorted;
    e->cedges = n + 1;
}

static void close_gate(struct events *e, int gate, int loop) {
    const bool *behind = find_behind(e, gate, loop);
    bool *waits = et_alloc(e->pl->g->arena, (size_t)e->p->ngrids);
    int n = 0;
    for (int i = 0; i < e->nedges; i++) {
        const struct edge *ed = &e->edges[i];
        if (passes_gate(ed, behind, loop))
            waits[ed->from] = true;
        else
            e->edges[n++] = *ed;
    }
    e->nedges = n;
    for (int g = 0; g < e->p->ngrids; g++) {
        struct edge ed = {.from = g, .to = gate, .carried = loop, .needed = true};
        ed.every = e->p->grids[g].loop != loop;
        for (int c = 0; c < ET_MAX_RANK; c++)
            ed.box[c].all = true;
        if (waits[g]) events_add(e, &ed);
    }
    sort_edges(e);
}

void events_close_gates(struct events *e) {
    events_find_gaps(e);
    for (int l = 0; l < e->p->g->nloops; l++) {
        int gate = has_inner(e, l) ? first_of(e, l) : -1;
        if (gate >= 0) close_gate(e, gate, l);
    }
}
