/* Weights that come ahead of the tasks that read them (ir/weights/stream.h). Each workgroup has a
 * producer, which copies the weights of its streamed tiles, in the order in which they run, as long
 * as there is room in the stages: while tasks wait for events, too. A tile's weights are copied and
 * consumed in parts of some stages. */
#include "ir/base/diag.h"
#include "passes/simulate/int.h"

enum { PARTS = 8 /* of a tile, if these are no less than a stage */, ROOM_PARTS = 4 };

static int number_of(const struct sim *s, int wg) {
    return s->nwg + wg;
}

/* How many parts a tile's weights are copied in; none without weights. */
static int parts_of(const struct sim *s, const struct sim_tile_cost *c) {
    double least = s->p->ring.bytes, all = (double)c->stage_bytes;
    double part = all / PARTS < s->room / ROOM_PARTS ? all / PARTS : s->room / ROOM_PARTS;
    if (part < least) part = least;
    return (int)((all + part - 1) / part);
}

/* ---- producers ---- */

/* The next tile with weights, or none. */
static void next_tile(struct sim *s, int wg, struct sim_producer *r) {
    r->instance = -1;
    while (sim_next_tile(s, wg, true, &r->at, &r->instance, &r->tile)) {
        const struct sim_tile_cost *c = sim_cost(s, r->instance, r->tile);
        r->part = 0;
        r->parts = parts_of(s, c);
        if (!r->parts) continue;
        r->stage = (double)c->stage_bytes / r->parts;
        r->bytes = (double)c->stream_bytes / r->parts;
        r->scan = (struct sim_scan){0};
        r->latest = 0;
        return;
    }
    r->instance = -1;
}

/* Where the weights are is known: it has been LATEST. False: the producer is in a list of waiters,
 * or the simulation failed. */
static bool has_awaited(struct sim *s, int wg, struct sim_producer *r) {
    struct sim_grid *g = &s->grid[s->inst[r->instance].grid];
    if (r->awaited == r->instance || !g->g->nawaits) return true;
    sim_enter(s, r->instance, r->tile);
    sim_sheet_run(s, g->sheet);
    for (; r->scan.wait < g->g->nawaits; r->scan = (struct sim_scan){r->scan.wait + 1, 0, 0}) {
        const struct sim_box *b = &g->await[r->scan.wait];
        int word;
        if (!sim_applies(s, &s->inst[r->instance], b->when)) continue;
        while ((word = sim_scan_word(s, g, b, &r->scan)) >= 0) {
            struct sim_counter *c = &s->counter[word];
            if (c->complete > s->now) {
                r->next = c->waiter;
                c->waiter = number_of(s, wg);
                r->waits = true;
                return false;
            }
            double seen = c->need ? c->complete + sim_seen_after(s, b->event) : 0;
            if (seen > r->latest) r->latest = seen;
            r->scan.place++;
        }
        if (s->failed) return false;
    }
    return true;
}

/* Bytes that producers have in flight now. */
static double flight(const struct sim *s, const struct sim_producer *r) {
    const et_ring *ring = &s->p->ring;
    bool calm = s->p->grids[s->inst[r->instance].grid].calm &&
                2 * (r->arrived - r->freed) >= (double)ring->slots * ring->bytes;
    double most = calm ? ring->calm : ring->flight;
    return most < r->bytes ? most : r->bytes;
}

/* What the producer waited for may be there. */
static void produce(struct sim *s, int wg) {
    struct sim_producer *r = &s->producer[wg];
    if (r->busy || r->waits || r->instance < 0 || !has_awaited(s, wg, r)) return;
    double at = s->now;
    if (r->awaited != r->instance && s->grid[s->inst[r->instance].grid].g->nawaits) {
        at =
            (r->latest > at ? r->latest : at) + sim_acquire_us(s) + sim_behind(s, s->m->latency_us);
        r->awaited = r->instance;
    }
    double ahead = r->arrived - r->freed;
    if (ahead + r->stage > s->room && ahead > 0) return;
    r->busy = true;
    if (ahead <= 0) at += sim_behind(s, s->m->latency_us); /* nothing was in flight */
    if (at > s->now)
        sim_at(s, at, SIM_AT_PRODUCER, wg, 0);
    else
        sim_part_begins(s, wg);
}

void sim_producer_awakes(struct sim *s, int wg) {
    s->producer[wg].waits = false;
    produce(s, wg);
}

void sim_part_begins(struct sim *s, int wg) {
    struct sim_producer *r = &s->producer[wg];
    r->asked = flight(s, r);
    s->asked += r->asked;
    sim_flow_add(s, number_of(s, wg), r->bytes);
}

/* Consume a part if there is one. */
static void consume(struct sim *s, int wg) {
    struct sim_workgroup *w = &s->wg[wg];
    const struct sim_producer *r = &s->producer[wg];
    if (w->state != SIM_CONSUMING || w->consumes) return;
    if (r->arrived - r->freed < w->stage * (1 - 1e-6)) return;
    w->consumes = true;
    sim_at(s, s->now + w->part_us, SIM_AT_CONSUMED, wg, 0);
}

void sim_part_arrives(struct sim *s, int wg) {
    struct sim_producer *r = &s->producer[wg];
    s->asked -= r->asked;
    r->arrived += r->stage;
    r->busy = false;
    if (++r->part == r->parts) next_tile(s, wg, r);
    produce(s, wg);
    consume(s, wg);
}

void sim_producers_begin(struct sim *s) {
    bool any = false;
    for (int i = 0; i < s->p->ngrids; i++)
        any |= s->grid[i].streamed;
    if (!any) return;
    s->room = (double)s->p->ring.slots * s->p->ring.bytes + s->p->ring.prefetch;
    s->producer = et_alloc(s->arena, (size_t)s->nwg * sizeof *s->producer);
    for (int i = 0; i < s->nwg; i++) {
        struct sim_producer *r = &s->producer[i];
        *r = (struct sim_producer){.at = {0, -1}, .awaited = -1};
        next_tile(s, i, r);
    }
    for (int i = 0; i < s->nwg; i++)
        produce(s, i);
}

/* ---- consumers ---- */

void sim_consume(struct sim *s, int wg, double us, double lead) {
    struct sim_workgroup *w = &s->wg[wg];
    const struct sim_tile_cost *c = sim_cost(s, w->instance, w->now.tile);
    w->state = SIM_CONSUMING;
    w->parts = parts_of(s, c);
    w->stage = (double)c->stage_bytes / w->parts;
    w->part_us = us / w->parts;
    w->consumes = true; /* until the rows are there */
    sim_at(s, s->now + lead, SIM_AT_CONSUMED, wg, 1);
}

void sim_consumed(struct sim *s, int wg, bool begins) {
    struct sim_workgroup *w = &s->wg[wg];
    w->consumes = false;
    if (!begins) {
        s->producer[wg].freed += w->stage;
        produce(s, wg);
        if (--w->parts == 0) {
            sim_all_consumed(s, wg);
            return;
        }
    }
    consume(s, wg);
}
