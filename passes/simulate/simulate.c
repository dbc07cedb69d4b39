/* The clock, the workgroups and the memory they share.
 *
 * A workgroup looks for a task, polls the counters it waits for one wait after the other, fences,
 * runs the body, makes its stores visible and notifies. A body lasts as long as the slower of the
 * CU's own work and its share of memory, plus a chain of dependent loads. Memory is a fluid: all
 * loads in flight receive the same, up to what one CU takes. */
#include "ir/base/diag.h"
#include "ir/program/step.h"
#include "passes/simulate/int.h"
#include <stdarg.h>
#include <stdlib.h>

void sim_fail(struct sim *s, const char *fmt, ...) {
    va_list ap;
    if (s->failed) return;
    va_start(ap, fmt);
    vsnprintf(s->err, ET_SIM_ERR, fmt, ap);
    va_end(ap);
    s->failed = true;
}

static void *room(void *v, int n, int *cap, size_t size) {
    if (n < *cap) return v;
    *cap = *cap ? 2 * *cap : 64;
    v = realloc(v, (size_t)*cap * size);
    if (!v) et_no_memory();
    return v;
}

/* ---- moments ---- */

static bool sooner(const struct sim_moment *a, const struct sim_moment *b) {
    return a->t < b->t || (a->t <= b->t && a->order < b->order);
}

void sim_at(struct sim *s, double t, enum sim_kind kind, int arg, int arg2) {
    s->heap = room(s->heap, s->nheap, &s->cheap, sizeof *s->heap);
    struct sim_moment m = {t, s->order++, kind, arg, arg2};
    int i = s->nheap++;
    for (int up = (i - 1) / 2; i > 0 && sooner(&m, &s->heap[up]); i = up, up = (i - 1) / 2)
        s->heap[i] = s->heap[up];
    s->heap[i] = m;
}

static struct sim_moment take_moment(struct sim *s) {
    struct sim_moment top = s->heap[0], m = s->heap[--s->nheap];
    int i = 0;
    for (;;) {
        int k = 2 * i + 1;
        if (k >= s->nheap) break;
        if (k + 1 < s->nheap && sooner(&s->heap[k + 1], &s->heap[k])) k++;
        if (!sooner(&s->heap[k], &m)) break;
        s->heap[i] = s->heap[k];
        i = k;
    }
    s->heap[i] = m;
    return top;
}

/* ---- memory ---- */

/* Bytes a microsecond that each load receives. */
static double pour_rate(const struct sim *s) {
    double each = s->m->hbm_gbs * 1e3 / s->nflow, cu = s->m->cache_gbs_cu * 1e3;
    return each < cu ? each : cu;
}

static void pour(struct sim *s) {
    if (s->nflow) s->poured += pour_rate(s) * (s->now - s->poured_at);
    s->poured_at = s->now;
}

static double flow_time(const struct sim *s) {
    if (!s->nflow) return SIM_NEVER;
    double left = s->mark[s->flow[0]] - s->poured;
    return s->poured_at + (left > 0 ? left / pour_rate(s) : 0);
}

static void place_flow(struct sim *s, int i, int wg) {
    s->flow[i] = wg;
    s->flow_at[wg] = i;
}

static bool ends_first(const struct sim *s, int a, int b) {
    return s->mark[a] < s->mark[b] || (s->mark[a] <= s->mark[b] && a < b);
}

static void settle(struct sim *s, int i, int wg) {
    while (i > 0 && ends_first(s, wg, s->flow[(i - 1) / 2])) {
        place_flow(s, i, s->flow[(i - 1) / 2]);
        i = (i - 1) / 2;
    }
    for (;;) {
        int k = 2 * i + 1;
        if (k >= s->nflow) break;
        if (k + 1 < s->nflow && ends_first(s, s->flow[k + 1], s->flow[k])) k++;
        if (!ends_first(s, s->flow[k], wg)) break;
        place_flow(s, i, s->flow[k]);
        i = k;
    }
    place_flow(s, i, wg);
}

/* WG loads so many bytes in addition to its loads in flight. */
static void flow_add(struct sim *s, int wg, double bytes) {
    pour(s);
    if (s->flow_at[wg] >= 0) {
        s->mark[wg] += bytes;
        settle(s, s->flow_at[wg], wg);
        return;
    }
    s->mark[wg] = s->poured + bytes;
    settle(s, s->nflow++, wg);
}

static int flow_end(struct sim *s) {
    pour(s);
    int wg = s->flow[0], last = s->flow[--s->nflow];
    s->flow_at[wg] = -1;
    if (last != wg) settle(s, 0, last);
    return wg;
}

/* ---- random numbers ---- */

static uint64_t mix(uint64_t v) {
    v = (v ^ v >> 30) * 0xBF58476D1CE4E5B9u;
    v = (v ^ v >> 27) * 0x94D049BB133111EBu;
    return v ^ v >> 31;
}

/* A number from 0 up to 1 for thing I of the seed. */
static double chance(const struct sim *s, uint64_t i) {
    uint64_t h = mix(s->opt->seed * 0x9E3779B97F4A7C15u + i + 1);
    return (double)(h >> 11) / 9007199254740992.0;
}

/* ---- one task ---- */

void sim_go(struct sim *s, int wg, enum sim_state state, double t) {
    s->wg[wg].state = state;
    sim_at(s, t, SIM_AT_WORKGROUP, wg, 0);
}

static const struct sim_tile_cost *cost_of(struct sim *s, int wg) {
    return sim_cost(s, s->wg[wg].instance, s->wg[wg].now.tile);
}

static bool waits(const struct sim *s) {
    return s->opt->mode < ET_SIM_UNFUSED;
}

void sim_reach(struct sim *s, int wg) {
    struct sim_workgroup *w = &s->wg[wg];
    const struct sim_instance *in = &s->inst[w->instance];
    w->now.grid = in->grid;
    w->now.iteration = in->iteration;
    w->now.t_look = w->look;
    w->now.t_reached = w->chain = s->now;
    w->scan = (struct sim_scan){0};
    w->latest = 0;
    w->polled = 0;
    w->any = w->held = w->looking = false;
    w->look = -1;
    s->r.tasks++;
    if (!waits(s)) {
        sim_go(s, wg, SIM_BODY, s->now);
        return;
    }
    double early = (double)cost_of(s, wg)->early_bytes * w->slow;
    if (early > 0) flow_add(s, wg, early);
    w->started = w->now.t_look >= 0;
    if (w->started) w->chain += sim_started(s, wg);
    w->state = SIM_WAITING;
    sim_waits(s, wg);
}

/* Done with waits that are looked at together: a round of polls for each wave's worth of counters,
 * or until the last could be seen. */
static void wait_over(struct sim *s, struct sim_workgroup *w) {
    if (!w->looking) return;
    w->looking = false;
    double polls = (double)((w->polled + s->m->wave_size - 1) / s->m->wave_size) * s->m->atomic_us;
    s->schedule += polls;
    w->any = true;
    w->chain += polls;
    if (w->latest > w->chain) {
        w->chain = w->latest;
        w->held = true;
    }
    w->latest = 0;
    w->polled = 0;
}

static double seen_after(const struct sim *s, int event) {
    switch (s->p->events[event].scope) {
    case ET_SCOPE_WORKGROUP:
        return 0;
    case ET_SCOPE_DIE:
        return s->m->counter_die_us;
    default:
        return s->m->counter_us;
    }
}

static bool within_die(const struct sim *s, const struct sim_grid *g) {
    for (int i = 0; i < g->g->nwaits; i++)
        if (s->p->events[g->g->waits[i].event].scope > ET_SCOPE_DIE) return false;
    return true;
}

/* No fence follows; the task polls words. */
static bool all_unfenced(const struct sim *s, const struct sim_grid *g) {
    bool all = true;
    for (int i = 0; i < g->g->nwaits; i++)
        all &= s->p->events[g->g->waits[i].event].unfenced;
    return all;
}

void sim_waits(struct sim *s, int wg) {
    struct sim_workgroup *w = &s->wg[wg];
    const struct sim_instance *in = &s->inst[w->instance];
    struct sim_grid *g = &s->grid[in->grid];
    int n = g->g->nwaits;
    if (n) {
        sim_enter(s, w->instance, w->now.tile);
        sim_sheet_run(s, g->sheet);
    }
    for (; w->scan.wait < n && !s->failed; w->scan = (struct sim_scan){w->scan.wait + 1, 0, 0}) {
        const struct sim_box *b = &g->box[w->scan.wait];
        double seen = seen_after(s, b->event);
        int word;
        if (!b->joins && !w->scan.tuple && !w->scan.place) wait_over(s, w);
        if (!sim_applies(s, in, b->when)) continue;
        w->looking = true;
        while ((word = sim_scan_word(s, g, b, &w->scan)) >= 0) {
            struct sim_counter *c = &s->counter[word];
            if (c->complete > s->now) {
                w->next = c->waiter;
                c->waiter = wg;
                return;
            }
            if (c->need && c->complete + seen > w->latest) w->latest = c->complete + seen;
            w->polled++;
            w->scan.place++;
        }
    }
    wait_over(s, w);
    double fence = !w->any              ? 0
                   : within_die(s, g)   ? s->m->fence_die_us
                   : all_unfenced(s, g) ? s->m->flag_us
                                        : s->m->acquire_us;
    s->schedule += fence;
    s->r.held += w->held;
    sim_go(s, wg, SIM_BODY, w->chain + fence);
}

static void body(struct sim *s, int wg) {
    struct sim_workgroup *w = &s->wg[wg];
    if (waits(s) && !w->started) { /* a static task has begun when its waits are over */
        w->started = true;
        sim_go(s, wg, SIM_BODY, s->now + sim_started(s, wg));
        return;
    }
    const struct sim_tile_cost *c = cost_of(s, wg);
    double early = waits(s) ? (double)c->early_bytes : 0, rest = (double)c->memory_bytes - early;
    s->r.memory_bytes += (double)c->memory_bytes;
    w->now.t_ready = s->now;
    w->chain = s->now + (double)c->us * w->slow;
    double hidden = early > 0 ? s->now - w->now.t_reached : 0;
    w->latest = ET_DEPENDENT_LOADS * s->m->latency_us -
                (hidden < s->m->latency_us ? hidden : s->m->latency_us);
    if (s->opt->straggle_us > 0) {
        uint64_t task = (uint64_t)w->instance << 32 | (uint64_t)w->now.tile;
        w->latest += s->opt->straggle_us * chance(s, mix(task + 1));
    }
    if (rest > 0) flow_add(s, wg, rest * w->slow);
    w->state = SIM_LOADING;
    if (s->flow_at[wg] < 0) sim_go(s, wg, SIM_DONE, w->chain + w->latest);
}

static void loaded(struct sim *s, int wg) {
    struct sim_workgroup *w = &s->wg[wg];
    if (w->state != SIM_LOADING) return; /* what came ahead of its waits */
    sim_go(s, wg, SIM_DONE, (s->now > w->chain ? s->now : w->chain) + w->latest);
}

/* ---- what next ---- */

static int64_t first_tile(const struct sim *s, int wg, struct sim_part part) {
    const struct sim_instance *in = &s->inst[s->wg[wg].item];
    int64_t from = part.first, n = part.count;
    if (wg < from || wg >= from + n) return s->grid[in->grid].tiles;
    bool rotates = s->opt->mask ? n == s->nwg : !s->p->grids[in->grid].range.to;
    return rotates ? (wg - from + n - in->first % n) % n : wg - from;
}

/* The tile after the workgroup's next. */
static int64_t tile_after(const struct sim *s, int wg, struct sim_part part) {
    const struct sim_instance *in = &s->inst[s->wg[wg].item];
    int64_t tile = s->wg[wg].tile, n = part.count;
    if (s->p->grids[in->grid].order != ET_TILES_BACK_AND_FORTH) return tile + n;
    return tile + 2 * (n - 1 - tile % n) + 1;
}

/* TILE of the workgroup's item is the next it runs, if there is such a tile, and then the one that
 * NEXT stands for; else the item is over. */
static bool next_of(struct sim *s, int wg, int64_t tile, int64_t next) {
    struct sim_workgroup *w = &s->wg[wg];
    if (tile >= s->grid[s->inst[w->item].grid].tiles) {
        w->item++;
        w->tile = -1;
        return false;
    }
    w->instance = w->item;
    w->now.tile = tile;
    w->tile = next;
    sim_reach(s, wg);
    return true;
}

/* A claimed tile's number has come while the last one went on, but for the first. */
static bool claim(struct sim *s, int wg) {
    struct sim_workgroup *w = &s->wg[wg];
    if (w->tile < 0) {
        w->tile = 0;
        s->schedule += s->m->pop_us;
        sim_go(s, wg, SIM_NEXT, s->now + s->m->pop_us);
        return true;
    }
    return next_of(s, wg, s->inst[w->item].claimed++, 0);
}

/* Static instances between items are gone through tile by tile; a region is left when all its tasks
 * have been taken. */
static void next_task(struct sim *s, int wg) {
    struct sim_workgroup *w = &s->wg[wg];
    if (!waits(s)) {
        sim_next_of_kernels(s, wg);
        return;
    }
    while (w->item < s->ninst) {
        const struct sim_instance *in = &s->inst[w->item];
        if (in->region >= 0) {
            if (s->region[in->region].left > 0) {
                sim_pop(s, wg);
                return;
            }
            w->item = s->region[in->region].first + s->region[in->region].count;
            continue;
        }
        if (s->p->grids[in->grid].slice.count && !s->opt->mask) {
            int64_t tile = sim_slice_tile(s, wg, in->grid, w->tile < 0 ? 0 : w->tile);
            if (next_of(s, wg, tile, (w->tile < 0 ? 0 : w->tile) + 1)) return;
            continue;
        }
        if (s->p->grids[in->grid].order == ET_TILES_CLAIMED) {
            if (claim(s, wg)) return;
            continue;
        }
        struct sim_part part = sim_part_of(s, w->item);
        if (w->tile < 0) w->tile = first_tile(s, wg, part);
        if (next_of(s, wg, w->tile, tile_after(s, wg, part))) return;
    }
    w->state = SIM_OVER;
}

static void leave(struct sim *s, int wg) {
    struct sim_workgroup *w = &s->wg[wg];
    if (w->owed > 0) {
        double t = s->now + w->owed;
        w->owed = 0;
        sim_go(s, wg, SIM_LEFT, t);
        return;
    }
    w->now.t_left = s->now;
    if (s->opt->task) s->opt->task(s->opt->ctx, &w->now);
    s->end = s->now;
    if (waits(s))
        next_task(s, wg);
    else
        sim_kernel_tile_done(s, wg);
}

static void done(struct sim *s, int wg) {
    struct sim_workgroup *w = &s->wg[wg];
    w->now.t_done = s->now;
    s->body += s->now - w->now.t_ready;
    sim_go(s, wg, SIM_LEFT, waits(s) ? sim_notify(s, wg) : s->now);
}

static void workgroup_goes_on(struct sim *s, int wg) {
    struct sim_workgroup *w = &s->wg[wg];
    switch (w->state) {
    case SIM_NEXT:
        if (w->owed > 0) {
            double t = s->now + w->owed;
            w->owed = 0;
            sim_go(s, wg, SIM_NEXT, t);
        } else {
            next_task(s, wg);
        }
        break;
    case SIM_CLAIMED:
        sim_reach(s, wg);
        break;
    case SIM_BODY:
        body(s, wg);
        break;
    case SIM_DONE:
        done(s, wg);
        break;
    case SIM_LEFT:
        leave(s, wg);
        break;
    default:
        break;
    }
}

/* ---- a launch ---- */

static void run(struct sim *s) {
    while (!s->failed && (s->nheap || s->nflow)) {
        double flow = flow_time(s);
        if (!s->nheap || flow < s->heap[0].t) {
            s->now = flow > s->now ? flow : s->now;
            loaded(s, flow_end(s));
            continue;
        }
        struct sim_moment m = take_moment(s);
        s->now = m.t;
        switch (m.kind) {
        case SIM_AT_WORKGROUP:
            workgroup_goes_on(s, m.arg);
            break;
        case SIM_AT_COMPLETE:
            sim_completed(s, m.arg, m.arg2);
            break;
        case SIM_AT_PUSH:
            sim_push_lands(s, m.arg);
            break;
        case SIM_AT_KERNEL:
            sim_kernel_begins(s, m.arg, m.arg2);
            break;
        }
    }
}

static void create_workgroups(struct sim *s) {
    const et_machine *m = s->m;
    s->nwg = s->opt->workgroups > 0 ? s->opt->workgroups : m->cus;
    s->ndies = m->dies < s->nwg ? m->dies : s->nwg;
    s->wg = et_alloc(s->arena, (size_t)s->nwg * sizeof *s->wg);
    s->flow = et_alloc(s->arena, (size_t)s->nwg * sizeof *s->flow);
    s->flow_at = et_alloc(s->arena, (size_t)s->nwg * sizeof *s->flow_at);
    s->mark = et_alloc(s->arena, (size_t)s->nwg * sizeof *s->mark);
    s->parked = et_alloc(s->arena, (size_t)s->nwg * sizeof *s->parked);
    for (int i = 0; i < s->nwg; i++) {
        s->wg[i] = (struct sim_workgroup){.die = sim_die_of(s, i), .tile = -1, .look = -1};
        s->wg[i].slow = 1 + s->opt->spread * chance(s, (uint64_t)i);
        s->wg[i].now.workgroup = i;
        s->wg[i].now.die = s->wg[i].die;
        s->flow_at[i] = -1;
    }
}

static void begin(struct sim *s) {
    double t = s->m->launch_us;
    s->schedule += t * s->nwg;
    s->r.kernels = waits(s);
    if (!waits(s)) {
        sim_streams_begin(s);
        return;
    }
    s->now = t;
    if (!sim_cells_create(s)) return;
    for (int i = 0; i < s->nwg; i++)
        sim_go(s, i, SIM_NEXT, t);
}

static void check_finished(struct sim *s) {
    for (int i = 0; i < s->nwg && waits(s) && !s->failed; i++) {
        const struct sim_workgroup *w = &s->wg[i];
        if (w->state == SIM_WAITING)
            sim_fail(s, "%s waits for ever for %s", s->p->grids[s->inst[w->instance].grid].name,
                     s->p->events[s->p->grids[s->inst[w->instance].grid].waits[w->scan.wait].event]
                         .name);
    }
    for (int i = 0; i < s->nregion && !s->failed; i++)
        if (s->region[i].left) sim_fail(s, "tasks that are never ready");
}

static void summarise(struct sim *s, et_sim_result *out) {
    double all = s->end * s->nwg;
    *out = s->r;
    out->us = s->end;
    if (all <= 0) return;
    out->body = s->body / all;
    out->schedule = s->schedule / all;
    out->wait = 1 - out->body - out->schedule;
    if (out->wait < 0) out->wait = 0;
}

bool et_simulate(et_program *p, const et_sim_options *opt, et_sim_result *out,
                 char err[ET_SIM_ERR]) {
    struct sim s = {.p = et_part_at(p, opt->syms), .opt = opt, .m = opt->machine};
    et_sim_options apart = *opt;
    if (opt->mode == ET_SIM_AS_SCHEDULED && et_schedule_of(s.p->schedule)->kernels) {
        apart.mode = ET_SIM_UNFUSED;
        s.opt = &apart;
    }
    s.x = s.p->g->exprs;
    s.syms = opt->syms;
    s.err = err;
    s.arena = et_arena_create();
    err[0] = 0;
    *out = (et_sim_result){0};
    create_workgroups(&s);
    sim_share_out(&s);
    if (sim_plan(&s)) {
        begin(&s);
        run(&s);
        check_finished(&s);
        if (!s.failed) summarise(&s, out);
    }
    sim_plan_destroy(&s);
    sim_queue_destroy(&s);
    free(s.heap);
    et_arena_destroy(s.arena);
    return !s.failed;
}
