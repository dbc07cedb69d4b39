/* Progress of dynamic tasks: each is queued, there is room, and no task waits for one that is never
 * popped. VERIFIER.md has the argument; here is what it rests on. */
#include "ir/program/queue.h"
#include "ir/base/diag.h"
#include "ir/verify/int.h"
#include <inttypes.h>

static bool loads(struct verify *v, const et_notify *n, int rank) {
    bool any = n->nvars > 0;
    for (int d = 0; d < rank; d++)
        any |= et_expr_loads(v->x, n->index[d]);
    return any;
}

/* A task that is queued when its producers have begun. Their beginnings are counted where they will
 * notify, so that must be known by then. In a region that runs several times a workgroup may be
 * given a task of a later run, and must then not wait for a static task of the loop, which may come
 * after one of its own. */
static bool check_early(struct verify *v, int grid, const et_queues *q) {
    const et_grid *g = &v->p->grids[grid];
    int loop = q->region[q->grid[grid].region].loop;
    for (int w = 0; w < g->nwaits; w++)
        for (int o = 0; o < v->p->ngrids; o++)
            for (int n = 0; n < v->p->grids[o].nnotifies; n++) {
                const et_grid *from = &v->p->grids[o];
                const et_notify *no = &from->notifies[n];
                if (no->event != g->waits[w].event) continue;
                if (loads(v, no, v->p->events[no->event].rank)) {
                    vf_error(v, grid,
                             "task %s is early, but where task %s arrives at event %%%s is not "
                             "known before it has run",
                             g->name, from->name, v->p->events[no->event].name);
                    return false;
                }
                if (!from->dynamic && et_loops_shared(v->p, loop, from->loop)) {
                    vf_error(v, grid,
                             "no progress: task %s, early and in a loop with static tasks, may be "
                             "taken by a workgroup that has yet to run what task %s waits for",
                             g->name, from->name);
                    return false;
                }
            }
    return true;
}

/* Words of the queues lie behind those of the events, and are not too many. */
bool vf_queue_plan(struct verify *v, const et_queues *q) {
    for (int e = 0; e < v->p->nevents; e++)
        if (v->p->events[e].base > v->p->event_words - v->p->events[e].words) {
            vf_error(v, -1, "the counters of event %%%s lie among the words of queues",
                     v->p->events[e].name);
            return false;
        }
    for (int g = 0; g < v->p->ngrids; g++)
        if (v->p->grids[g].early && (q->grid[g].region < 0 || !check_early(v, g, q))) return false;
    return true;
}

/* A slot of the device's ring for every task of a launch, a number for each, a word for each cell.
 */
static bool check_room(struct verify *v, const et_queues *q) {
    int64_t tasks = 0;
    for (int r = 0; r < q->nregions; r++, tasks = 0) {
        for (int i = 0; i < v->p->ngrids; i++) {
            const et_queue_grid *k = &q->grid[i];
            const struct vf_grid *g = &v->grid[i];
            if (k->region != r) continue;
            int64_t runs = 1, cells = 1;
            for (int l = 0; l < g->depth; l++)
                runs *= v->loop[g->path[l]].trips;
            for (int c = 0; c < g->f->ncoords; c++)
                if (k->fixed >> c & 1) cells *= g->extent[c];
            tasks += runs * g->tiles;
            if (g->tiles > k->tiles || runs > k->iterations || (g->tiles && cells > k->cells)) {
                vf_error(v, i, "task %s has %" PRId64 " tiles, its queue is laid out for %d",
                         g->g->name, g->tiles, k->tiles);
                return false;
            }
        }
        if (tasks <= q->region[r].slots) continue;
        vf_error(v, -1, "%" PRId64 " tasks may be queued, and there are %d places", tasks,
                 q->region[r].slots);
        return false;
    }
    return true;
}

static bool applies(const struct verify *v, const struct vf_inst *in, et_when when) {
    const struct vf_grid *g = &v->grid[in->grid];
    if (when == ET_ALWAYS || !g->depth) return true;
    const struct vf_loop *l = &v->loop[g->path[g->depth - 1]];
    int at = in->at[g->depth - 1];
    if (when == ET_LAST_ITERATION) return at == l->kept - 1;
    return (at == 0) == (when == ET_FIRST_ITERATION);
}

/* Does every task of the class surely wait for some counter that takes an arrival to complete? */
static bool awaits_arrival(struct verify *v, const struct vf_inst *in) {
    const et_grid *g = v->grid[in->grid].g;
    for (int i = 0; i < g->nwaits; i++) {
        const et_wait *w = &g->waits[i];
        const et_event *e = &v->p->events[w->event];
        for (int d = 0; d < e->rank; d++) /* whichever counter it is */
            if (e->var[d])
                v->var[e->var[d] - 1] = (struct vf_range){0, vf_eval(v, e->dim[d]).hi - 1};
        bool some = applies(v, in, w->when) && !w->nvars && vf_eval(v, e->count).lo > 0;
        for (int d = 0; d < e->rank && some; d++)
            some = et_expr_eq(w->lo[d], w->hi[d]) ||
                   vf_eval(v, w->lo[d]).hi <= vf_eval(v, w->hi[d]).lo;
        if (some) return true;
    }
    return false;
}

/* What no arrival will queue must be looked at when the launch starts. */
static bool check_start(struct verify *v, const et_queues *q) {
    for (int i = 0; i < v->ninst; i++) {
        const struct vf_inst *in = &v->inst[i];
        const struct vf_grid *g = &v->grid[in->grid];
        if (!g->g->dynamic || q->grid[in->grid].seeded) continue;
        for (int k = 0; k < g->nclasses; k++) {
            vf_enter_class(v, in, k);
            v->report->work += 4;
            if (awaits_arrival(v, in)) continue;
            int64_t none[ET_MAX_RANK] = {0};
            vf_error(v, in->grid,
                     "no progress: task %s may have nothing to wait for, and nothing queues it",
                     vf_task(v, in, 0, none));
            return false;
        }
    }
    return true;
}

bool vf_queues(struct verify *v) {
    bool any = false;
    for (int g = 0; g < v->p->ngrids; g++)
        any |= v->p->grids[g].dynamic;
    if (!any) return true;
    et_queues q;
    const char *problem = et_queues_plan(v->round, v->p, &q);
    if (problem) {
        vf_error(v, -1, "%s", problem);
        return false;
    }
    return vf_queue_plan(v, &q) && check_room(v, &q) && check_start(v, &q);
}
