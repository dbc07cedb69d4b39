/* What happens before what, at one value of the symbols.
 *
 * Instances are visited in program order. A class's past is a set of groups: those whose tasks are
 * all done whenever a task of the class starts, because it waits for counters that count all their
 * arrivals, transitively. */
#include "ir/base/diag.h"
#include "ir/verify/int.h"
#include <inttypes.h>
#include <string.h>

enum {
    MAX_COUNTERS = 1 << 22,
    MAX_BITS = 1 << 29, /* classes times groups */
    MAX_CLASSES = 1 << 20,
};

/* ---- instances ---- */

static bool fits(const struct verify *v) {
    return v->nclasses <= MAX_CLASSES && v->ngroups <= MAX_CLASSES &&
           (int64_t)v->nclasses * v->ngroups <= MAX_BITS;
}

static void list_instances(struct verify *v, int first, int count, int *at, int depth) {
    for (int i = first; i < first + count && v->ninst < MAX_CLASSES; i++) {
        const et_item *it = &v->p->items[i];
        if (it->kind == ET_P_LOOP) {
            for (at[depth] = 0; at[depth] < v->loop[it->index].kept && v->ninst < MAX_CLASSES;
                 at[depth]++)
                list_instances(v, it->first, it->count, at, depth + 1);
            continue;
        }
        const struct vf_grid *g = &v->grid[it->index];
        ET_GROW(v->round, v->inst, v->ninst, v->cinst);
        struct vf_inst *in = &v->inst[v->ninst++];
        *in = (struct vf_inst){
            .grid = it->index, .first_class = v->nclasses, .first_group = v->ngroups};
        memcpy(in->at, at, (size_t)depth * sizeof *at);
        if (!fits(v)) continue; /* already too many */
        v->nclasses += g->nclasses;
        v->ngroups += g->ngroups;
    }
}

static bool measure_grids(struct verify *v) {
    for (int i = 0; i < v->p->ngrids; i++) {
        struct vf_grid *g = &v->grid[i];
        g->tiles = 1;
        for (int c = 0; c < g->f->ncoords; c++) {
            g->extent[c] = vf_eval(v, g->g->extent[c]).lo;
            if (g->extent[c] < 0) g->extent[c] = 0;
            if (__builtin_mul_overflow(g->tiles, g->extent[c], &g->tiles)) return false;
        }
        vf_measure_unknowns(v, g);
        int64_t classes, groups = vf_count(g, g->notify_coords);
        if (__builtin_mul_overflow(vf_count(g, g->wait_coords), g->values, &classes))
            classes = INT64_MAX;
        g->nclasses = !g->tiles ? 0 : classes > MAX_CLASSES ? MAX_CLASSES + 1 : (int)classes;
        g->ngroups = !g->tiles ? 0 : groups > MAX_CLASSES ? MAX_CLASSES + 1 : (int)groups;
    }
    return true;
}

/* ---- counters ---- */

static bool measure_events(struct verify *v) {
    v->ncounters = 0;
    for (int i = 0; i < v->p->nevents; i++) {
        const et_event *ev = &v->p->events[i];
        struct vf_event *e = &v->event[i];
        int64_t n = 1;
        for (int d = 0; d < ev->rank; d++) {
            e->dim[d] = vf_eval(v, ev->dim[d]).lo;
            e->kept[d] = e->loop[d] >= 0 ? v->loop[e->loop[d]].kept : e->dim[d];
            if (e->kept[d] < 0) e->kept[d] = 0;
            if (__builtin_mul_overflow(n, e->kept[d], &n) || n > MAX_COUNTERS) return false;
        }
        e->loose = -1;
        e->first = v->ncounters;
        v->ncounters += n;
        if (v->ncounters > MAX_COUNTERS) return false;
    }
    return true;
}

bool vf_applies(const struct verify *v, const struct vf_inst *in, et_when when) {
    const struct vf_grid *g = &v->grid[in->grid];
    if (when == ET_ALWAYS || !g->depth) return true;
    const struct vf_loop *l = &v->loop[g->path[g->depth - 1]];
    int at = in->at[g->depth - 1];
    if (when == ET_LAST_ITERATION) return at == l->kept - 1;
    return (at == 0) == (when == ET_FIRST_ITERATION);
}

static const char *class_name(struct verify *v, const struct vf_inst *in, int klass) {
    const struct vf_grid *g = &v->grid[in->grid];
    return vf_task_at(v, in, g->wait_coords, klass / g->values);
}

/* ---- pasts ---- */

/* COUNT empty sets of groups. */
static uint64_t *sets(struct verify *v, size_t count) {
    size_t words = count * (size_t)v->words;
    if (v->csets - v->nsets < words) {
        /* Old ones stay valid: they live in the arena. */
        v->csets = words > 2 * v->csets ? words : 2 * v->csets;
        v->sets = et_alloc(v->arena, v->csets * sizeof *v->sets + 8);
        v->nsets = words;
        return v->sets;
    }
    uint64_t *s = v->sets + v->nsets;
    v->nsets += words;
    memset(s, 0, words * sizeof *s);
    return s;
}

static void join(struct verify *v, uint64_t *to, const uint64_t *from) {
    for (int w = 0; w < v->words; w++)
        to[w] |= from[w];
    v->report->work += 1 + v->words / 16;
}

/* Classes that share a task with GROUP of G: coordinates both fix must agree. */
static void join_group(struct verify *v, uint64_t *to, const struct vf_inst *in, int group) {
    const struct vf_grid *g = &v->grid[in->grid];
    int64_t coord[ET_MAX_RANK] = {0}, open = 1, at = group;
    unsigned both = g->wait_coords & g->notify_coords;
    for (int c = g->f->ncoords - 1; c >= 0; c--) {
        if (g->notify_coords >> c & 1) {
            coord[c] = at % g->extent[c];
            at /= g->extent[c];
        } else if (g->wait_coords >> c & 1) {
            open *= g->extent[c];
        }
    }
    for (int64_t o = 0; o < open; o++) {
        int64_t left = o, klass = 0, unit = 1;
        for (int c = g->f->ncoords - 1; c >= 0; c--) {
            if (!(g->wait_coords >> c & 1)) continue;
            int64_t i = coord[c];
            if (!(both >> c & 1)) {
                i = left % g->extent[c];
                left /= g->extent[c];
            }
            klass += i * unit;
            unit *= g->extent[c];
        }
        join(v, to, v->sure[in->first_class + klass * g->values]);
    }
    int bit = in->first_group + group;
    to[bit >> 6] |= (uint64_t)1 << (bit & 63);
}

static uint64_t *clock_of(struct verify *v, struct vf_counter *c) {
    if (c->clock) return c->clock;
    c->clock = sets(v, 1);
    for (int a = c->arrival; a >= 0; a = v->arrival[a].next)
        join_group(v, c->clock, &v->inst[v->arrival[a].inst], v->arrival[a].group);
    return c->clock;
}

/* The first and the last tile, in the order a workgroup takes them, of those that agree on MASK. */
static int64_t tile_of(const struct vf_grid *g, unsigned mask, int64_t at, bool last) {
    int64_t coord[ET_MAX_RANK], tile = 0;
    for (int c = g->f->ncoords - 1; c >= 0; c--) {
        coord[c] = last ? g->extent[c] - 1 : 0;
        if (!(mask >> c & 1)) continue;
        coord[c] = at % g->extent[c];
        at /= g->extent[c];
    }
    for (int c = 0; c < g->f->ncoords; c++)
        tile = tile * g->extent[c] + coord[c];
    return tile;
}

/* Everything that arrives at the counter comes before every task of the class, in the order a
 * single workgroup would run them. */
static bool comes_before(struct verify *v, int inst, int klass, int event, const int64_t *at,
                         const struct vf_counter *c) {
    const struct vf_inst *in = &v->inst[inst];
    const struct vf_grid *g = &v->grid[in->grid];
    int loose = v->event[event].loose;
    if (loose >= inst) {
        vf_error(
            v, in->grid,
            "no progress: task %s waits for event %s, which tasks of %s may notify, but a single "
            "workgroup would have to run those first and they come later",
            class_name(v, in, klass), vf_counter_text(v, event, at),
            v->p->grids[v->inst[loose].grid].name);
        return false;
    }
    for (int a = c->latest < inst ? -1 : c->arrival; a >= 0; a = v->arrival[a].next) {
        const struct vf_arrival *r = &v->arrival[a];
        if (r->inst < inst) continue;
        if (r->inst == inst && !g->g->slice.count && !et_order_is_own(g->g->order) &&
            tile_of(g, g->notify_coords, r->group, true) <
                tile_of(g, g->wait_coords, klass / g->values, false))
            continue;
        const struct vf_inst *other = &v->inst[r->inst];
        vf_error(v, in->grid,
                 "no progress: task %s waits for event %s, which task %s notifies, but a single "
                 "workgroup would have to run that task first and it comes later",
                 class_name(v, in, klass), vf_counter_text(v, event, at),
                 vf_task_at(v, other, v->grid[other->grid].notify_coords, r->group));
        return false;
    }
    return true;
}

/* A task that waits sees the task that notifies, wherever the two run. */
static bool reaches(const struct verify *v, et_scope scope) {
    return scope >= ET_SCOPE_DEVICE || (scope == ET_SCOPE_DIE && v->opt->dies == 1);
}

/* ---- slices ---- */

enum { ANY_DIE = -1 };

/* The slice that the tasks of number AT, coordinates in MASK, are in, if they are all in one. */
static int64_t slice_at(const struct vf_grid *g, unsigned mask, int64_t at) {
    et_slice s = g->g->slice;
    if (!s.count || g->g->dynamic) return ANY_DIE;
    for (int c = g->f->ncoords - 1; c >= 0; c--) {
        bool known = mask >> c & 1;
        int64_t i = known ? at % g->extent[c] : 0;
        if (c == s.coord)
            return known || g->extent[c] == 1 ? et_slice_of(i, g->extent[c], s.count) : ANY_DIE;
        if (known) at /= g->extent[c];
    }
    return ANY_DIE;
}

/* The slice of all tasks that arrive at the counter. */
static int64_t slice_of_arrivals(struct verify *v, struct vf_counter *c) {
    if (c->sliced) return c->slice;
    c->sliced = true;
    c->slice = ANY_DIE;
    for (int a = c->arrival; a >= 0; a = v->arrival[a].next) {
        const struct vf_arrival *r = &v->arrival[a];
        const struct vf_grid *g = &v->grid[v->inst[r->inst].grid];
        int64_t s = slice_at(g, g->notify_coords, r->group);
        v->report->work++;
        if (s == ANY_DIE || (a != c->arrival && s != c->slice)) return c->slice = ANY_DIE;
        c->slice = s;
    }
    return c->slice;
}

/* Class KLASS of G and all that arrives at the counter are on one die. */
static bool on_one_die(struct verify *v, const struct vf_grid *g, int klass, int event,
                       struct vf_counter *c) {
    if (v->p->events[event].scope != ET_SCOPE_DIE || v->event[event].loose >= 0) return false;
    int64_t s = slice_at(g, g->wait_coords, klass / g->values);
    return s != ANY_DIE && s == slice_of_arrivals(v, c);
}

/* A wait's last box and what is done once it is met: the next class often waits for the same. */
struct waited {
    int64_t lo[ET_MAX_RANK], hi[ET_MAX_RANK];
    bool reusable; /* everything in it is of earlier instances */
    uint64_t *all;
};

/* One counter of a wait's box, AT counting kept iterations: what it waits for is added to TO. */
static bool wait_for(struct verify *v, int inst, int klass, const et_wait *w, const int64_t *at,
                     struct waited *to) {
    const struct vf_inst *in = &v->inst[inst];
    const struct vf_event *e = &v->event[w->event];
    const et_event *ev = &v->p->events[w->event];
    int64_t word = 0, index[ET_MAX_RANK];
    for (int d = 0; d < ev->rank; d++)
        word = word * e->kept[d] + at[d];
    struct vf_counter *c = &v->counter[e->first + word];
    c->waited = true;
    vf_indices_of(v, w->event, word, index);
    int loose = v->event[w->event].loose;
    if (!reaches(v, ev->scope) && (c->arrival >= 0 || loose >= 0) &&
        !on_one_die(v, &v->grid[in->grid], klass, w->event, c)) {
        struct vf_arrival some = {loose, 0, -1};
        const struct vf_arrival *a = c->arrival >= 0 ? &v->arrival[c->arrival] : &some;
        const struct vf_inst *other = &v->inst[a->inst];
        vf_error(v, in->grid,
                 "task %s waits for event %s of scope %s, but task %s, which notifies it, may run "
                 "on another %s",
                 class_name(v, in, klass), vf_counter_text(v, w->event, index),
                 et_scope_name(ev->scope),
                 vf_task_at(v, other, v->grid[other->grid].notify_coords, a->group),
                 ev->scope == ET_SCOPE_DIE ? "die" : "workgroup");
        return false;
    }
    if (!comes_before(v, inst, klass, w->event, index, c)) return false;
    to->reusable &= c->latest < inst;
    join(v, to->all, clock_of(v, c));
    return true;
}

/* One bound of a wait's box. */
static bool bound(struct verify *v, const struct vf_inst *in, int klass, const et_wait *w,
                  et_expr e, int64_t *out) {
    v->pointwise = true;
    struct vf_range r = vf_eval(v, e);
    v->pointwise = false;
    *out = r.lo;
    if (r.lo == r.hi) return true;
    vf_error(v, in->grid,
             "task %s waits for a range of event %%%s that cannot be told before the launch",
             class_name(v, in, klass), v->p->events[w->event].name);
    return false;
}

static bool is_unknown(struct verify *v, const et_wait *w) {
    for (int d = 0; d < v->p->events[w->event].rank; d++)
        if (et_expr_loads(v->x, w->lo[d]) || et_expr_loads(v->x, w->hi[d])) return true;
    return false;
}

/* The box a wait names, in kept iterations, and whether it has any counters. A box that runs
 * backwards by more than one has no size a kernel could compute. */
static bool box_of(struct verify *v, const struct vf_inst *in, int klass, const et_wait *w,
                   int64_t *lo, int64_t *hi, bool *out_any, bool *possible) {
    const et_event *ev = &v->p->events[w->event];
    bool inside = true, backwards = false;
    *out_any = true;
    for (int d = 0; d < ev->rank; d++) {
        if (!bound(v, in, klass, w, w->lo[d], &lo[d]) || !bound(v, in, klass, w, w->hi[d], &hi[d]))
            return false;
        int64_t last = v->event[w->event].dim[d] - 1;
        if (w->nvars && lo[d] < 0) lo[d] = 0;
        if (w->nvars && hi[d] > last) hi[d] = last;
        if (lo[d] > hi[d]) *out_any = false;
        backwards |= lo[d] > hi[d] + 1 && !w->nvars;
    }
    int64_t a[ET_MAX_RANK], b[ET_MAX_RANK];
    for (int d = 0; d < ev->rank && *out_any; d++)
        inside &= vf_locate(v, in, w->event, d, lo[d], &a[d]) &&
                  vf_locate(v, in, w->event, d, hi[d], &b[d]);
    if ((!inside || backwards) && is_unknown(v, w)) {
        *possible &= inside;
        *out_any = false;
        return true;
    }
    if (!inside || backwards) {
        const char *task = class_name(v, in, klass);
        vf_error(v, in->grid, "task %s waits for event %s to %s, %s", task,
                 vf_counter_text(v, w->event, lo), vf_counter_text(v, w->event, hi),
                 backwards ? "which runs backwards" : "which has no such counters");
        return false;
    }
    for (int d = 0; d < ev->rank && *out_any; d++)
        lo[d] = a[d], hi[d] = b[d];
    return true;
}

static bool wait_box(struct verify *v, int inst, int klass, const et_wait *w, struct waited *last,
                     bool *possible) {
    int64_t lo[ET_MAX_RANK] = {0}, hi[ET_MAX_RANK] = {0}, at[ET_MAX_RANK];
    bool any;
    int rank = v->p->events[w->event].rank, d = 0;
    if (!box_of(v, &v->inst[inst], klass, w, lo, hi, &any, possible)) return false;
    if (!any) return true;
    bool wide = reaches(v, v->p->events[w->event].scope);
    if (!wide || !last->reusable || memcmp(lo, last->lo, sizeof lo) ||
        memcmp(hi, last->hi, sizeof hi)) {
        memcpy(last->lo, lo, sizeof lo);
        memcpy(last->hi, hi, sizeof hi);
        memset(last->all, 0, (size_t)v->words * sizeof *last->all);
        last->reusable = true;
        memcpy(at, lo, sizeof at);
        while (d >= 0) {
            if (!wait_for(v, inst, klass, w, at, last)) return false;
            for (d = rank - 1; d >= 0 && at[d] == hi[d]; d--)
                at[d] = lo[d];
            if (d >= 0) at[d]++;
        }
    }
    join(v, v->past[v->inst[inst].first_class + klass], last->all);
    return true;
}

/* ---- waits with variables ---- */

/* Where the box begins and ends among the counters kept; false when it does not. */
static bool kept_box(const struct verify *v, const struct vf_inst *in, int event,
                     const struct vf_box *box, int64_t *lo, int64_t *hi) {
    for (int d = 0; d < v->p->events[event].rank; d++)
        if (!vf_locate(v, in, event, d, box->d[d].lo, &lo[d]) ||
            !vf_locate(v, in, event, d, box->d[d].hi, &hi[d]))
            return false;
    return true;
}

static bool next_at(int rank, const int64_t *lo, const int64_t *hi, int64_t *at) {
    for (int d = rank - 1; d >= 0; d--) {
        if (at[d] < hi[d]) {
            at[d]++;
            return true;
        }
        at[d] = lo[d];
    }
    return false;
}

void vf_join_box(struct verify *v, const struct vf_inst *in, int event, const struct vf_box *box,
                 uint64_t *to) {
    const struct vf_event *e = &v->event[event];
    int64_t lo[ET_MAX_RANK], hi[ET_MAX_RANK], at[ET_MAX_RANK];
    int rank = v->p->events[event].rank;
    if (box->empty || !kept_box(v, in, event, box, lo, hi)) return;
    memcpy(at, lo, sizeof at);
    do {
        int64_t word = 0;
        for (int d = 0; d < rank; d++)
            word = word * e->kept[d] + at[d];
        join(v, to, clock_of(v, &v->counter[e->first + word]));
    } while (next_at(rank, lo, hi, at));
}

struct cut_wait {
    int inst, point;
    struct waited *last;
};

static bool check_cut(void *ctx, struct verify *v, const struct vf_cut *c) {
    struct cut_wait *w = ctx;
    const struct vf_grid *g = &v->grid[c->in->grid];
    const et_wait *wt = &g->g->waits[g->point[w->point].wait];
    const struct vf_box *box = &c->box[w->point];
    int64_t lo[ET_MAX_RANK], hi[ET_MAX_RANK], at[ET_MAX_RANK];
    if (box->empty) return true;
    if (!kept_box(v, c->in, wt->event, box, lo, hi)) {
        vf_error(v, c->in->grid, "task %s waits for event %%%s, which has no such counters",
                 class_name(v, c->in, c->klass), v->p->events[wt->event].name);
        return false;
    }
    memcpy(at, lo, sizeof at);
    do
        if (!wait_for(v, w->inst, c->klass, wt, at, w->last)) return false;
    while (next_at(v->p->events[wt->event].rank, lo, hi, at));
    return true;
}

static int point_of(const struct vf_grid *g, int wait) {
    for (int k = 0; k < g->npoints; k++)
        if (g->point[k].wait == wait) return k;
    return -1;
}

/* Every counter that may be waited for is looked at; none is sure to be. */
static bool wait_point(struct verify *v, int inst, int klass, int wait, struct waited *last) {
    const struct vf_grid *g = &v->grid[v->inst[inst].grid];
    int k = point_of(g, wait);
    if (k < 0) {
        vf_error(v, v->inst[inst].grid,
                 "task %s waits for a range of event %%%s that cannot be told before the launch",
                 class_name(v, &v->inst[inst], klass), v->p->events[g->g->waits[wait].event].name);
        return false;
    }
    /* Once is enough when all classes may wait for the same, and all of it is of earlier instances.
     */
    if (klass && last->reusable && g->point[k].alike && !g->nunknown &&
        reaches(v, v->p->events[g->g->waits[wait].event].scope))
        return true;
    last->reusable = true;
    return vf_each_cut(v, &v->inst[inst], klass, 1u << k, check_cut,
                       &(struct cut_wait){inst, k, last});
}

static bool reads_tensors(struct verify *v, const et_wait *w) {
    bool found = false;
    for (int d = 0; d < v->p->events[w->event].rank; d++)
        found |= et_expr_loads(v->x, w->lo[d]) || et_expr_loads(v->x, w->hi[d]);
    for (int i = 0; i < w->nvars; i++)
        found |= et_expr_loads(v->x, et_var_extent(v->x, w->vars[i]));
    return found;
}

static bool wait_boxes(struct verify *v, int inst, int klass, const et_wait *w, struct waited *last,
                       bool *possible) {
    const et_grid *g = v->grid[v->inst[inst].grid].g;
    int wait = (int)(w - g->waits);
    if (point_of(&v->grid[v->inst[inst].grid], wait) >= 0 || (w->nvars && reads_tensors(v, w)))
        return wait_point(v, inst, klass, wait, last);
    if (!vf_first_values(v, w->nvars, w->vars)) return true;
    do
        if (!wait_box(v, inst, klass, w, last, possible)) return false;
    while (vf_next_values(v, w->nvars, w->vars) && v->report->work <= v->limit);
    return true;
}

/* The waits of one class. */
static bool past_of_class(struct verify *v, int inst, int klass, struct waited *last) {
    const struct vf_inst *in = &v->inst[inst];
    const struct vf_grid *g = &v->grid[in->grid];
    uint64_t *past = v->past[in->first_class + klass];
    bool possible = true;
    vf_enter_class(v, in, klass);
    if (!vf_reads_inside(v, in, true)) return false;
    for (int w = 0; w < g->g->nwaits; w++) {
        if (w == g->first_unknown) {
            uint64_t *early = v->early[in->first_class + klass] = sets(v, 1);
            memcpy(early, past, (size_t)v->words * sizeof *past);
        }
        if (vf_is_out(v, g->g->waits[w].event) || !vf_applies(v, in, g->g->waits[w].when)) continue;
        vf_enter_class(v, in, klass); /* each time: messages enter other tasks */
        v->report->work += 8;
        if (!wait_boxes(v, inst, klass, &g->g->waits[w], &last[w], &possible)) return false;
    }
    /* Tensors do not hold these numbers: whatever is asked about such tasks is so. */
    if (!possible) memset(past, 0xff, (size_t)v->words * sizeof *past);
    return true;
}

/* What COUNT classes from FIRST on have in common. */
static uint64_t *common(struct verify *v, int first, int count) {
    uint64_t *all = sets(v, 1);
    memcpy(all, v->past[first], (size_t)v->words * sizeof *all);
    for (int k = 1; k < count; k++)
        for (int w = 0; w < v->words; w++)
            all[w] &= v->past[first + k][w];
    return all;
}

static bool past_of_instance(struct verify *v, int inst) {
    const struct vf_inst *in = &v->inst[inst];
    const struct vf_grid *g = &v->grid[in->grid];
    struct waited *last = et_alloc(v->round, (size_t)(g->g->nwaits + 1) * sizeof *last);
    for (int w = 0; w < g->g->nwaits; w++)
        last[w].all = sets(v, 1);
    for (int k = 0; k < g->nclasses; k++) {
        if (!past_of_class(v, inst, k, last)) return false;
        if (g->values > 1 && (k + 1) % g->values == 0)
            v->sure[in->first_class + k + 1 - (int)g->values] =
                common(v, in->first_class + k + 1 - (int)g->values, (int)g->values);
    }
    return true;
}

static bool compute_pasts(struct verify *v) {
    size_t n = (size_t)v->nclasses + 1;
    v->words = (v->ngroups + 63) / 64;
    v->nsets = 0;
    v->past = et_alloc(v->round, n * sizeof *v->past);
    v->sure = et_alloc(v->round, n * sizeof *v->sure);
    v->early = et_alloc(v->round, n * sizeof *v->early);
    uint64_t *bits = sets(v, (size_t)v->nclasses);
    for (int k = 0; k < v->nclasses; k++)
        v->sure[k] = v->past[k] = bits + (size_t)k * (size_t)v->words;
    for (int i = 0; i < v->ninst; i++)
        if (!past_of_instance(v, i)) return false;
    return true;
}

bool vf_instances(struct verify *v) {
    int at[ET_MAX_LOOPS] = {0};
    v->ninst = v->cinst = v->nclasses = v->ngroups = v->narrivals = v->carrivals = 0;
    v->inst = NULL;
    v->arrival = NULL;
    if (!measure_grids(v)) return false;
    list_instances(v, v->p->first, v->p->count, at, 0);
    vf_index_instances(v);
    return v->ninst < MAX_CLASSES;
}

vf_status vf_order(struct verify *v) {
    if (!vf_instances(v) || !measure_events(v) || !fits(v)) return VF_TOO_LARGE;
    v->counter = et_alloc(v->round, (size_t)(v->ncounters + 1) * sizeof *v->counter);
    bool ok =
        vf_list_arrivals(v) && compute_pasts(v) && (v->fenced || v->system || vf_check_counts(v));
    return ok ? VF_OK : VF_WRONG;
}
