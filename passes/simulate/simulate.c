/* The clock, the workgroups and the memory they share.
 *
 * A workgroup looks for a task, polls the counters it waits for one wait after the other, fences,
 * runs the body, makes its stores visible and notifies. A body lasts as long as the slower of the
 * CU's own work and its share of memory, plus a chain of dependent loads. Memory is a fluid: all
 * loads in flight receive the same, up to what one CU takes. */
#include "ir/base/diag.h"
#include "ir/program/queue.h"
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
    if (early > 0) sim_flow_add(s, wg, early);
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
        double seen = sim_seen_after(s, b->event);
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
                                        : sim_acquire_us(s);
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
    if (c->foreign) { /* it waits and notifies */
        w->now.t_ready = s->now;
        sim_go(s, wg, SIM_DONE, s->now);
        return;
    }
    double early = waits(s) ? (double)c->early_bytes : 0, us = (double)c->us * w->slow;
    double rest = (double)c->memory_bytes - (double)c->stream_bytes - early;
    bool streams = s->producer && c->stage_bytes > 0;
    double near = sim_behind(s, s->m->cache_latency_us), far = sim_behind(s, s->m->latency_us);
    double latency = rest > 0 ? far : near, hidden = early > 0 ? s->now - w->now.t_reached : 0;
    s->r.memory_bytes += (double)c->memory_bytes;
    w->now.t_ready = s->now;
    w->chain = s->now + us;
    w->latest = (ET_DEPENDENT_LOADS - 1) * near + latency - (hidden < latency ? hidden : latency);
    if (streams) w->latest = near; /* behind the last weights; the others are before the first */
    if (s->opt->straggle_us > 0) {
        uint64_t task = (uint64_t)w->instance << 32 | (uint64_t)w->now.tile;
        w->latest += s->opt->straggle_us * chance(s, mix(task + 1));
    }
    if (rest > 0) sim_flow_add(s, wg, rest * w->slow);
    w->state = SIM_LOADING;
    if (streams)
        sim_consume(s, wg, us, (ET_DEPENDENT_LOADS - 2) * near + latency);
    else if (s->flow_at[wg] < 0)
        sim_go(s, wg, SIM_DONE, w->chain + w->latest);
}

void sim_all_consumed(struct sim *s, int wg) {
    struct sim_workgroup *w = &s->wg[wg];
    w->chain = s->now;
    w->state = SIM_LOADING;
    if (s->flow_at[wg] < 0) sim_go(s, wg, SIM_DONE, w->chain + w->latest);
}

static void loaded(struct sim *s, int id) {
    if (id >= s->nwg) {
        sim_part_arrives(s, id - s->nwg);
        return;
    }
    struct sim_workgroup *w = &s->wg[id];
    if (w->state != SIM_LOADING) return; /* what came ahead of its waits */
    sim_go(s, id, SIM_DONE, (s->now > w->chain ? s->now : w->chain) + w->latest);
}

/* ---- what next ---- */

/* The instance whose tiles are claimed in turn with those of instance I, or NULL. */
static const struct sim_instance *in_turn_with(const struct sim *s, int i) {
    const struct sim_instance *next = &s->inst[i + 1];
    return i + 1 < s->ninst && s->p->grids[next->grid].behind ? next : NULL;
}

/* A claimed tile's number has come while the last one went on, but for the first. False: there is
 * none left. */
static bool claim(struct sim *s, int wg) {
    struct sim_workgroup *w = &s->wg[wg];
    struct sim_instance *in = &s->inst[w->at.item];
    const struct sim_instance *other = in_turn_with(s, w->at.item);
    const struct sim_grid *g = &s->grid[in->grid], *o = other ? &s->grid[other->grid] : NULL;
    if (w->at.tile < 0) {
        w->at.tile = 0;
        s->schedule += s->m->pop_us;
        sim_go(s, wg, SIM_NEXT, s->now + s->m->pop_us);
        return true;
    }
    int64_t tile = in->claimed++;
    if (tile >= g->tiles + (o ? o->tiles : 0)) {
        w->at = (struct sim_cursor){w->at.item + 1 + (o != NULL), -1};
        return false;
    }
    w->instance = w->at.item;
    if (o) {
        int64_t blocks = g->extent[0];
        w->instance +=
            et_in_turn(tile, blocks, g->tiles / blocks, o->tiles / blocks, o->g->behind, &tile);
    }
    w->now.tile = tile;
    sim_reach(s, wg);
    return true;
}

/* Static instances between items are gone through tile by tile; a region is left when all its tasks
 * have been taken. */
static void next_task(struct sim *s, int wg) {
    struct sim_workgroup *w = &s->wg[wg];
    if (!waits(s)) {
        sim_next_of_kernels(s, wg);
        return;
    }
    while (w->at.item < s->ninst) {
        if (sim_next_tile(s, wg, false, &w->at, &w->instance, &w->now.tile)) {
            sim_reach(s, wg);
            return;
        }
        if (w->at.item >= s->ninst) break;
        if (s->inst[w->at.item].region < 0) {
            if (claim(s, wg)) return;
            continue;
        }
        struct sim_region *r = &s->region[s->inst[w->at.item].region];
        if (r->left > 0) {
            sim_pop(s, wg);
            return;
        }
        w->at.item = r->first + r->count;
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
        double flow = sim_flow_time(s);
        if (!s->nheap || flow < s->heap[0].t) {
            s->now = flow > s->now ? flow : s->now;
            loaded(s, sim_flow_end(s));
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
        case SIM_AT_PRODUCER:
            sim_part_begins(s, m.arg);
            break;
        case SIM_AT_CONSUMED:
            sim_consumed(s, m.arg, m.arg2 != 0);
            break;
        }
    }
}

static void create_workgroups(struct sim *s) {
    const et_machine *m = s->m;
    s->nwg = s->opt->workgroups > 0 ? s->opt->workgroups : m->cus;
    s->ndies = m->dies < s->nwg ? m->dies : s->nwg;
    s->wg = et_alloc(s->arena, (size_t)s->nwg * sizeof *s->wg);
    size_t loads = 2 * (size_t)s->nwg;
    s->flow = et_alloc(s->arena, loads * sizeof *s->flow);
    s->flow_at = et_alloc(s->arena, loads * sizeof *s->flow_at);
    s->mark = et_alloc(s->arena, loads * sizeof *s->mark);
    s->parked = et_alloc(s->arena, (size_t)s->nwg * sizeof *s->parked);
    for (int i = 0; i < s->nwg; i++) {
        s->wg[i] = (struct sim_workgroup){.die = sim_die_of(s, i), .at = {0, -1}, .look = -1};
        s->wg[i].slow = 1 + s->opt->spread * chance(s, (uint64_t)i);
        s->wg[i].now.workgroup = i;
        s->wg[i].now.die = s->wg[i].die;
        s->flow_at[i] = s->flow_at[s->nwg + i] = -1;
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
    sim_producers_begin(s);
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
