/* Dynamic tasks. A cell is the tasks of a grid that wait for the same; the arrival that
 * completes the last counter a cell waits for (with early pushes, the claim of its last producer)
 * pushes all its tasks into the ring of its die, or the device's when that is full. Workgroups
 * without a task look into the ring of their own die, the device's, and then those of other dies.
 */
#include "ir/program/queue.h"
#include "ir/base/diag.h"
#include "passes/simulate/int.h"
#include <stdlib.h>

static const double SLOTS_US = 0.02; /* some forty clocks of a loop that computes and stores */
enum { FEW = 16 };                   /* cells of more tasks go to the device's ring */

static void queue_add(struct sim_ring *r, int instance, int64_t tile) {
    if (r->n == r->cap) {
        int64_t cap = r->cap ? 2 * r->cap : 256;
        struct sim_queued *t = malloc((size_t)cap * sizeof *t);
        if (!t) et_no_memory();
        for (int64_t i = 0; i < r->n; i++)
            t[i] = r->task[(r->head + i) % r->cap];
        free(r->task);
        r->task = t;
        r->head = 0;
        r->cap = cap;
    }
    r->task[(r->head + r->n++) % r->cap] = (struct sim_queued){instance, (int32_t)tile};
}

/* ---- cells ---- */

/* Tile number K of a cell: the coordinates of the cell fixed, the others counted. */
static int64_t tile_of(const struct sim_grid *g, int64_t cell, int64_t k) {
    int64_t tile = 0, place = 1;
    for (int c = g->f->ncoords - 1; c >= 0; c--) {
        int64_t *from = g->cell_coords >> c & 1 ? &cell : &k;
        tile += *from % g->extent[c] * place;
        *from /= g->extent[c];
        place *= g->extent[c];
    }
    return tile;
}

/* Tests the counters from the cell's current one on; true when all are complete, else the cell is
 * put on the list of the first that is not. */
static bool look(struct sim *s, int64_t index) {
    struct sim_cell *cell = &s->cell[index];
    const struct sim_instance *in = &s->inst[cell->instance];
    struct sim_grid *g = &s->grid[in->grid];
    if (g->g->nwaits) {
        sim_enter(s, cell->instance, tile_of(g, cell->index, 0));
        sim_sheet_run(s, g->sheet);
    }
    for (; cell->scan.wait < g->g->nwaits && !s->failed;
         cell->scan = (struct sim_scan){cell->scan.wait + 1, 0, 0}) {
        const struct sim_box *b = &g->box[cell->scan.wait];
        int word;
        if (!sim_applies(s, in, b->when)) continue;
        while ((word = sim_scan_word(s, g, b, &cell->scan)) >= 0) {
            struct sim_counter *c = &s->counter[word];
            if (g->early ? c->starts < c->need : c->complete > s->now) {
                int32_t *list = g->early ? &c->early_cells : &c->cells;
                cell->next = *list;
                *list = (int32_t)index;
                return false;
            }
            cell->scan.place++;
        }
    }
    return !s->failed;
}

static void send(struct sim *s, int64_t cell, int die, double t) {
    int i = s->free_push;
    if (i >= 0) {
        s->free_push = s->push[i].instance;
    } else {
        if (s->npush == s->cpush) {
            s->cpush = s->cpush ? 2 * s->cpush : 256;
            s->push = realloc(s->push, (size_t)s->cpush * sizeof *s->push);
            if (!s->push) et_no_memory();
        }
        i = s->npush++;
    }
    s->push[i] = (struct sim_push){s->cell[cell].instance, die, s->cell[cell].index};
    sim_at(s, t, SIM_AT_PUSH, i, 0);
}

static int by_order(const void *a, const void *b) {
    const int32_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

/* A cell that waits for one counter only needs no poll and no claim. */
static bool waits_for_one(const struct sim_grid *g) {
    const struct sim_box *b = g->box;
    if (g->g->nwaits != 1 || b->when != ET_ALWAYS || b->routed) return false;
    for (int d = 0; d < b->rank; d++)
        if (b->lo[d] != b->hi[d]) return false;
    return true;
}

static int take_list(struct sim *s, int32_t first, int32_t **out) {
    int n = 0;
    for (int32_t c = first; c >= 0; c = s->cell[c].next)
        n++;
    int32_t *list = malloc(((size_t)n + 1) * sizeof *list);
    if (!list) et_no_memory();
    n = 0;
    for (int32_t c = first; c >= 0; c = s->cell[c].next)
        list[n++] = c;
    qsort(list, (size_t)n, sizeof *list, by_order);
    *out = list;
    return n;
}

/* Time to test a cell that is ready, and to push its tasks, a wave of them at a time. */
static double push_us(const struct sim *s, const struct sim_grid *g) {
    int64_t rounds = (g->tiles / g->cells + s->m->wave_size - 1) / s->m->wave_size;
    double claim = waits_for_one(g) ? 0 : (g->g->nwaits + 1) * s->m->atomic_us;
    return claim + s->m->pop_us + SLOTS_US * (double)(rounds - 1); /* as many atomics as a pop */
}

/* The variable whose values codegen has in the lanes: the last of a cell's variables. */
static int lane_var(const struct sim *s, const struct sim_grid *g) {
    for (int c = g->f->ncoords - 1; c >= 0; c--)
        if (g->cell_coords >> c & 1) return g->f->coord[c];
    return g->nloop ? s->p->g->loops[g->loop[g->nloop - 1]].var : -1;
}

/* Does codegen test, claim and push the grid's cells in lanes? A grid of one cell has no others. */
static bool together(const struct sim *s, const struct sim_grid *g) {
    int var = lane_var(s, g);
    return s->opt->wide_push || var < 0 || et_cells_together(s->p, g->g, var);
}

static const struct sim_grid *grid_of(const struct sim *s, int32_t cell) {
    return &s->grid[s->inst[s->cell[cell].instance].grid];
}

/* Where lanes cannot prove cells ready, cells that may be are polled again, claimed and pushed one
 * by one. */
static double look_and_push_each(struct sim *s, int32_t cell, int wg, double cost) {
    if (!look(s, cell)) return 0;
    double push = push_us(s, grid_of(s, cell));
    s->r.pushes++;
    send(s, cell, s->wg[wg].die, s->now + cost + push);
    return push;
}

/* Where they can, all ready cells are claimed and pushed together. */
static double look_and_push_all(struct sim *s, int32_t *list, int n, int wg, double cost) {
    int ready = 0;
    for (int i = 0; i < n; i++)
        if (look(s, list[i])) list[ready++] = list[i];
    if (!ready) return s->m->atomic_us;
    double push = push_us(s, grid_of(s, list[0]));
    s->r.pushes++;
    for (int i = 0; i < ready; i++)
        send(s, list[i], s->wg[wg].die, s->now + cost + push);
    return push;
}

/* Time to poll the counters that lanes do not test. */
static double polls_us(const struct sim *s, int64_t watched, const int32_t *list, int n) {
    bool all = true;
    for (int i = 0; i < n; i++) {
        const struct sim_grid *g = grid_of(s, list[i]);
        all = all && together(s, g);
        watched -= together(s, g) || waits_for_one(g);
    }
    if (n && all) return 0;
    if (all) return watched ? s->m->atomic_us : 0;
    int64_t rounds = watched > 0 ? (watched + s->m->wave_size - 1) / s->m->wave_size : 0;
    return (double)rounds * s->m->atomic_us;
}

void sim_cells_look(struct sim *s, int word, bool early, int32_t first, int wg) {
    const struct sim_counter *c = &s->counter[word];
    const struct sim_event *e = &s->event[c->event];
    int64_t watched = early ? c->early_watched + e->early_watched : c->watched + e->watched;
    int32_t *list;
    int n = take_list(s, first, &list);
    double cost = polls_us(s, watched, list, n);
    for (int from = 0, to; from < n && !s->failed; from = to) {
        int instance = s->cell[list[from]].instance;
        to = from + 1;
        if (!together(s, grid_of(s, list[from]))) {
            cost += look_and_push_each(s, list[from], wg, cost);
            continue;
        }
        while (to < n && to < from + s->m->wave_size && s->cell[list[to]].instance == instance)
            to++;
        cost += look_and_push_all(s, list + from, to - from, wg, cost);
    }
    free(list);
    s->wg[wg].owed += cost;
    s->schedule += cost;
}

/* Count the cells that the arrival which completes a counter must check. */
static void count_watchers(struct sim *s, int instance, int64_t index) {
    const struct sim_instance *in = &s->inst[instance];
    struct sim_grid *g = &s->grid[in->grid];
    if (!g->g->nwaits) return;
    sim_enter(s, instance, tile_of(g, index, 0));
    sim_sheet_run(s, g->sheet);
    for (int i = 0; i < g->g->nwaits && !s->failed; i++) {
        struct sim_scan at = {0};
        int word;
        if (g->box[i].routed || !sim_applies(s, in, g->box[i].when)) continue;
        while ((word = sim_scan_word(s, g, &g->box[i], &at)) >= 0) {
            int32_t *n = g->early ? &s->counter[word].early_watched : &s->counter[word].watched;
            ++*n;
            at.place++;
        }
    }
}

/* Cells that wait for nothing go into the queues before anything runs, a workgroup's worth each. */
bool sim_cells_create(struct sim *s) {
    s->ring = et_alloc(s->arena, (size_t)(s->ndies + 1) * sizeof *s->ring);
    s->free_push = -1;
    for (int i = 0; i < s->ninst; i++)
        if (s->inst[i].region >= 0) s->ncell += s->grid[s->inst[i].grid].cells;
    if (!s->ncell) return true;
    s->cell = malloc((size_t)s->ncell * sizeof *s->cell);
    if (!s->cell) et_no_memory();
    int64_t n = 0;
    int starter = 0;
    double cost = s->m->pop_us;
    for (int i = 0; i < s->ninst; i++)
        for (int64_t c = 0; s->inst[i].region >= 0 && c < s->grid[s->inst[i].grid].cells; c++) {
            s->cell[n] = (struct sim_cell){.instance = i, .index = (int32_t)c};
            count_watchers(s, i, c);
            if (look(s, n)) {
                struct sim_workgroup *w = &s->wg[starter++ % s->nwg];
                if (w->owed < cost) {
                    s->schedule += cost;
                    w->owed += cost;
                }
                send(s, n, w->die, s->now + w->owed);
                s->r.pushes++;
            }
            n++;
        }
    return !s->failed;
}

void sim_queue_destroy(struct sim *s) {
    for (int i = 0; s->ring && i <= s->ndies; i++)
        free(s->ring[i].task);
    free(s->cell);
    free(s->push);
}

/* ---- popping ---- */

static void wake(struct sim *s, int at) {
    int wg = s->parked[at];
    for (int i = at; i + 1 < s->nparked; i++)
        s->parked[i] = s->parked[i + 1];
    s->nparked--;
    sim_go(s, wg, SIM_NEXT, s->now + s->m->atomic_us);
}

/* The workgroup that parked first, of this die if there is one. */
static void wake_one(struct sim *s, int die) {
    int at = 0;
    while (at < s->nparked && s->wg[s->parked[at]].die != die)
        at++;
    wake(s, at < s->nparked ? at : 0);
}

void sim_push_lands(struct sim *s, int push) {
    struct sim_push p = s->push[push];
    const struct sim_grid *g = &s->grid[s->inst[p.instance].grid];
    int64_t tasks = g->tiles / g->cells;
    bool few = tasks <= FEW && s->ring[p.die].n + tasks <= ET_DIE_SLOTS;
    struct sim_ring *r = &s->ring[few ? p.die : s->ndies];
    s->push[push].instance = s->free_push;
    s->free_push = push;
    for (int64_t k = 0; k < tasks; k++) {
        queue_add(r, p.instance, tile_of(g, p.cell, k));
        if (s->nparked) wake_one(s, p.die);
    }
}

static int ring_with_task(const struct sim *s, int die) {
    if (s->ring[die].n) return die;
    if (s->ring[s->ndies].n) return s->ndies;
    for (int i = 1; i < s->ndies; i++)
        if (s->ring[(die + i) % s->ndies].n) return (die + i) % s->ndies;
    return -1;
}

void sim_pop(struct sim *s, int wg) {
    struct sim_workgroup *w = &s->wg[wg];
    int from = ring_with_task(s, w->die);
    if (from < 0) {
        w->state = SIM_PARKED;
        s->parked[s->nparked++] = wg;
        return;
    }
    w->look = s->now;
    struct sim_ring *r = &s->ring[from];
    struct sim_queued t = r->task[r->head];
    r->head = (r->head + 1) % r->cap;
    r->n--;
    double at = r->free > s->now ? r->free : s->now;
    r->free = at + s->m->pop_gap_us;
    s->schedule += at - s->now + s->m->pop_us;
    s->r.stolen += from != w->die && from != s->ndies;
    w->instance = t.instance;
    w->now.tile = t.tile;
    sim_go(s, wg, SIM_CLAIMED, at + s->m->pop_us);
    if (--s->region[s->inst[t.instance].region].left == 0)
        while (s->nparked)
            wake(s, 0);
}
