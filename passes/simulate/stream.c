/* Models of one launch: which are in it and on which workgroups, and streams of kernels, where each
 * task grid is a kernel of its own. A kernel begins when the one before it in its stream is over;
 * its tiles are taken one by one by the CUs of its mask as they become free, and a CU that several
 * streams may use takes from them in turn. */
#include "passes/simulate/int.h"

/* ---- parts ---- */

enum { WHOLE = 1000000 };

static et_share share_of(const et_graph *g, int model) {
    et_share all = {0, WHOLE};
    return model < g->nmodels && g->model[model].share.to ? g->model[model].share : all;
}

bool sim_runs(const struct sim *s, int model) {
    return !s->opt->left_out || !s->p->g->nmodels || !s->opt->left_out[model];
}

/* The part of [0, AT) that belongs to models that run. */
static int64_t in_use(const struct sim *s, int64_t at) {
    int64_t used = 0, from = 0;
    for (;;) { /* the part that goes on furthest of those that begin first */
        int64_t begin = at, end = at;
        for (int m = 0; m < s->p->g->nmodels; m++) {
            et_share p = share_of(s->p->g, m);
            int64_t first = p.from > from ? p.from : from;
            if (!sim_runs(s, m) || p.to <= from) continue;
            if (first < begin || (first == begin && p.to > end)) begin = first, end = p.to;
        }
        if (begin >= at) return used;
        used += (end < at ? end : at) - begin;
        from = end;
    }
}

static bool lends(const struct sim *s) {
    bool all = true;
    for (int m = 0; m < s->p->g->nmodels; m++)
        all &= sim_runs(s, m);
    return !all && !s->opt->keep_parts;
}

void sim_share_out(struct sim *s) {
    bool lent = lends(s);
    int64_t whole = lent ? in_use(s, WHOLE) : WHOLE;
    for (int m = 0; m < ET_MAX_MODELS; m++) {
        et_share p = share_of(s->p->g, m);
        int64_t from = lent ? in_use(s, p.from) : p.from, to = lent ? in_use(s, p.to) : p.to;
        int64_t first = whole ? s->nwg * from / whole : 0, end = whole ? s->nwg * to / whole : 0;
        s->part[m].first = first < s->nwg ? first : s->nwg - 1;
        s->part[m].count = end > s->part[m].first ? end - s->part[m].first : 1;
    }
}

static void narrow(et_share share, struct sim_part *io) {
    if (!share.to) return;
    int64_t from = io->count * share.from / WHOLE, to = io->count * share.to / WHOLE;
    io->first += from;
    io->count = to > from ? to - from : 1;
}

struct sim_part sim_part_of(const struct sim *s, int instance) {
    const struct sim_instance *in = &s->inst[instance];
    const et_grid *g = &s->p->grids[in->grid];
    struct sim_part out = {0, s->nwg};
    if (s->opt->mask) {
        narrow(s->opt->mask(s->opt->ctx, in->grid, in->iteration), &out);
        return out;
    }
    out = s->part[g->model];
    narrow(g->range, &out);
    return out;
}

/* ---- streams ---- */

static bool is_of(const struct sim *s, const struct sim_stream *st, int instance) {
    return st->model < 0 || s->p->grids[s->inst[instance].grid].model == st->model;
}

/* The first kernel with tiles of the stream from INSTANCE on, or -1. */
static int kernel_from(const struct sim *s, const struct sim_stream *st, int instance) {
    for (; instance < s->ninst; instance++)
        if (is_of(s, st, instance) && s->grid[s->inst[instance].grid].tiles > 0) return instance;
    return -1;
}

static void add_stream(struct sim *s, int model) {
    struct sim_stream *st = &s->stream[s->nstream];
    *st = (struct sim_stream){.model = model};
    if (kernel_from(s, st, 0) < 0) return;
    sim_at(s, s->m->launch_us, SIM_AT_KERNEL, 0, s->nstream++);
}

void sim_streams_begin(struct sim *s) {
    for (int i = 0; i < s->nwg; i++)
        s->wg[i].state = SIM_PARKED;
    if (s->opt->mode == ET_SIM_UNFUSED || !s->p->g->nmodels) {
        add_stream(s, -1);
        return;
    }
    for (int m = 0; m < s->p->g->nmodels; m++)
        if (sim_runs(s, m)) add_stream(s, m);
}

void sim_kernel_begins(struct sim *s, int instance, int stream) {
    struct sim_stream *st = &s->stream[stream];
    st->kernel = kernel_from(s, st, instance);
    st->next = 0;
    st->left = s->grid[s->inst[st->kernel].grid].tiles;
    st->part = (struct sim_part){0, s->nwg};
    if (s->opt->mode == ET_SIM_STREAMS) st->part = sim_part_of(s, st->kernel);
    s->r.kernels++;
    for (int64_t i = st->part.first; i < st->part.first + st->part.count; i++)
        if (s->wg[i].state == SIM_PARKED) sim_next_of_kernels(s, (int)i);
}

void sim_next_of_kernels(struct sim *s, int wg) {
    struct sim_workgroup *w = &s->wg[wg];
    w->state = SIM_PARKED;
    for (int i = 1; i <= s->nstream; i++) {
        int k = (w->stream + i) % s->nstream;
        struct sim_stream *st = &s->stream[k];
        if (st->left <= 0 || st->next >= s->grid[s->inst[st->kernel].grid].tiles) continue;
        if (wg < st->part.first || wg >= st->part.first + st->part.count) continue;
        w->stream = k;
        w->instance = st->kernel;
        w->now.tile = st->next++;
        sim_reach(s, wg);
        return;
    }
}

void sim_kernel_tile_done(struct sim *s, int wg) {
    struct sim_stream *st = &s->stream[s->wg[wg].stream];
    int next = --st->left == 0 ? kernel_from(s, st, st->kernel + 1) : -1;
    if (next >= 0) {
        double gap = s->m->graph_us;
        if (s->opt->mode == ET_SIM_STREAMS) {
            struct sim_part part = sim_part_of(s, next);
            if (part.first != st->part.first || part.count != st->part.count)
                gap += s->opt->switch_us;
        } else {
            s->schedule += gap * s->nwg;
        }
        sim_at(s, s->now + gap, SIM_AT_KERNEL, next, s->wg[wg].stream);
    }
    sim_next_of_kernels(s, wg);
}
