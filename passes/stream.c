/* Which grids use the weight stream (ir/weights/stream.h), and its stages: as many as fit in LDS
 * beside the locals of tasks, for the grids that gain. Weights in stages have arrived when a task
 * begins, so their time is saved; the stream costs each task some time. Of several models some may
 * stream: a workgroup runs one at a time, and locals of a model that does not stream share LDS with
 * the stages. */
#include "ir/weights/stream.h"
#include "ir/program/step.h"
#include "ir/weights/packed.h"
#include "passes/cost/cost.h"
#include "passes/cost/stream_many.h"
#include "passes/cost/use.h"
#include "passes/pipeline/pipeline.h"
#include <math.h>

/* A product of many rows has a pipeline of its own for weights and rows. */
static bool produces_itself(const et_func *f) {
    bool any = false;
    for (int i = 0; i < f->nsteps; i++)
        any |= et_step_stages(f, &f->steps[i]) > 0;
    return any;
}

static uint32_t bit_of(const et_grid *g) {
    return (uint32_t)1 << g->model;
}

/* The models with tasks that have their own pipelines, as bits; and all of them. */
static uint32_t with_chunks(const et_program *p, uint32_t *all) {
    uint32_t some = 0;
    for (int i = 0; i < p->ngrids; i++) {
        *all |= bit_of(&p->grids[i]);
        if (produces_itself(&p->funcs[p->grids[i].func])) some |= bit_of(&p->grids[i]);
    }
    return some;
}

/* The models that could stream. MANY: those whose tasks have their own pipelines and need none for
 * weights; they get pipelines of rows alone. */
static uint32_t candidates(et_program *p, const et_pass_options *opt, uint32_t *many) {
    uint32_t all = 0, chunks = *many = with_chunks(p, &all);
    bool may = et_may_have_slots(opt);
    for (int i = 0; i < ET_MAX_MODELS; i++)
        if (chunks >> i & 1 && !(may && et_stream_many_suits(p, opt->machine, i)))
            *many &= ~((uint32_t)1 << i);
    for (int i = 0; i < p->ngrids; i++)
        if (bit_of(&p->grids[i]) & *many)
            et_stream_many_convert(p, &p->funcs[p->grids[i].func], opt->machine);
    return (all & ~chunks) | *many;
}

/* Bytes of a stage for auxiliary operands: the most of the grids of MODELS. */
static int64_t beside(const et_program *p, int bytes, uint32_t models) {
    int64_t most = 0;
    for (int i = 0; i < p->ngrids; i++) {
        const et_func *f = &p->funcs[p->grids[i].func];
        int step = et_stream_step(p, f);
        if (step < 0 || !(models >> p->grids[i].model & 1)) continue;
        int64_t more = et_stream_auxiliary_bytes(p, &f->steps[step], bytes);
        most = more > most ? more : most;
    }
    return most;
}

/* Of slots of PARTS eighths of what the machine has. */
static et_ring ring_of(const et_program *p, const et_pass_options *opt, uint32_t models,
                       int parts) {
    enum { ALIGN = 1024 }; /* of rows that waves multiply together */
    const et_machine *m = opt->machine;
    et_ring r = {.bytes = (m->stream_kb << 10) / 8 * parts};
    int most = 0;
    for (int i = 0; i < p->ngrids; i++) {
        int bytes = p->funcs[p->grids[i].func].lds_bytes;
        if (models >> p->grids[i].model & 1 && bytes > most) most = bytes;
    }
    if (!r.bytes || !models) return (et_ring){0};
    r.bytes = et_stream_stage(r.bytes, beside(p, r.bytes, models), opt->packed);
    if (with_chunks(p, &(uint32_t){0})) r.bytes = (r.bytes + ALIGN - 1) / ALIGN * ALIGN;
    r.slots = et_machine_slots(m, most, r.bytes);
    if (r.slots > ET_RING_MAX_SLOTS) r.slots = ET_RING_MAX_SLOTS;
    if (r.slots < ET_RING_MIN_SLOTS) r.slots = 0;
    r.flight = m->flight_kb << 10;
    return r;
}

/* How often a grid runs in a launch. */
static double trips(const et_program *p, const et_grid *g) {
    double n = 1;
    for (int l = g->loop; l >= 0; l = p->g->loops[l].parent)
        n *= (double)(p->g->loops[l].hi - p->g->loops[l].lo);
    return n;
}

/* Is b computed, as of quantised values? A task that loads these itself has no registers to
 * prefetch to: a producer wave was measured to pay. */
static bool computes(const et_program *p, const et_grid *g) {
    const et_func *f = &p->funcs[g->func];
    const et_step *s = &f->steps[et_stream_step(p, f)];
    return !et_expr_eq(et_stream_load(p, s, 0), s->b[0]);
}

/* How much of the weights to come the stages of RING hold, when these are full, a mean of all bytes
 * that MODELS stream; and how many tasks do. */
static double held(et_program *p, const et_pass_options *opt, uint32_t models, et_ring ring,
                   int *out_tasks) {
    et_ring before = p->ring;
    double all = 0, sum = 0;
    p->ring = ring;
    *out_tasks = 0;
    for (int i = 0; i < p->ngrids; i++) {
        const et_grid *g = &p->grids[i];
        const et_func *f = &p->funcs[g->func];
        if (!(models >> g->model & 1) || et_stream_problem(p, g)) continue;
        double bytes = trips(p, g) * (double)et_stream_bytes(p, g);
        int stage =
            et_product_expect_stage(opt->machine->plans, p, f, &f->steps[et_stream_step(p, f)]);
        if (!stage) continue;
        all += bytes;
        sum += bytes * ring.slots * stage;
        ++*out_tasks;
    }
    p->ring = before;
    return all > 0 ? sum / all : 0;
}

static bool has_one_row(const et_program *p, uint32_t models) {
    int64_t lo, rows;
    bool one = true;
    for (int i = 0; i < p->ngrids; i++) {
        const et_func *f = &p->funcs[p->grids[i].func];
        if (!(models >> p->grids[i].model & 1) || et_stream_problem(p, &p->grids[i])) continue;
        et_span(p->g->exprs, f->steps[et_stream_step(p, f)].mlive, &lo, &rows);
        one &= rows <= 1;
    }
    return one;
}

/* Chunks are whole parts of k, so they fill large slots in part: then more slots that are smaller
 * may hold more. Measured of one row. */
static et_ring best_ring(et_program *p, const et_pass_options *opt, uint32_t models) {
    const double gain = 1.1; /* less is not worth shorter chunks */
    et_ring whole = ring_of(p, opt, models, 8), less = ring_of(p, opt, models, 6);
    if (!has_one_row(p, models) || opt->orders || !opt->machine->plans || less.slots <= whole.slots)
        return whole;
    int tasks, those;
    double by_whole = held(p, opt, models, whole, &tasks),
           by_less = held(p, opt, models, less, &those);
    return tasks == those && by_less > gain * by_whole ? less : whole;
}

/* The part of a grid's bytes that is read: where weights may be packed, they are assumed to be. */
static double packed_part(const et_program *p, const et_grid *g, const et_pass_options *opt) {
    const et_func *f = &p->funcs[g->func];
    const et_step *s = &f->steps[et_stream_step(p, f)];
    return opt->packed && et_packed_can(p, s, 0) ? 9.0 / 16 : 1;
}

/* The stream's own time, its savings in the predicted time of tasks, and by how much these are too
 * large where weights are packed. */
struct streamed {
    double us, saved_us, less_us;
};

static struct streamed streamed(et_program *p, const et_pass_options *opt) {
    const et_machine *m = opt->machine;
    double room = (double)p->ring.slots * p->ring.bytes * m->cus;
    struct streamed all = {0, 0, 0};
    for (int i = 0; i < p->ngrids; i++) {
        const et_grid *g = &p->grids[i];
        if (!g->streamed) continue;
        double bytes = (double)et_stream_bytes(p, g), each = trips(p, g) / (1e3 * m->hbm_gbs);
        double part = packed_part(p, g, opt);
        all.less_us += each * bytes * (1 - part);
        bytes *= part;
        all.us += each * bytes;
        all.saved_us += each * (bytes < room ? bytes : room);
    }
    return all;
}

/* BYTES as whole LOTs, MOST at most. */
static int in_lots(double bytes, int lot, int most) {
    double lots = ceil(bytes / lot - 1e-3);
    return lots * lot < most ? (int)lots * lot : most;
}

/* Products of more than a few rows are bound by their weights. */
static bool has_few_rows(const et_program *p, const et_grid *g) {
    const et_func *f = &p->funcs[g->func];
    int64_t lo, rows;
    et_span(p->g->exprs, f->steps[et_stream_step(p, f)].mlive, &lo, &rows);
    return rows <= ET_FEW_ROWS;
}

/* Does a task that waits for a router have weights of so few bits that instructions bound how fast
 * they are copied and multiplied? */
static bool has_short_rows(const et_program *p) {
    for (int i = 0; i < p->ngrids; i++)
        if (et_stream_is_short(p, &p->grids[i])) return true;
    return false;
}

static bool have_few_rows(const et_program *p) {
    for (int i = 0; i < p->ngrids; i++)
        if (p->grids[i].streamed && !has_few_rows(p, &p->grids[i])) return false;
    return true;
}

/* Bytes in flight are bandwidth times latency. A launch in which tasks wait for each other longer
 * than for weights needs less than the machine's bandwidth for these; and the fewer are in flight,
 * the sooner other loads return. Weights are fetched into the L2 beyond the stages only where they
 * take most of the time: with less, other loads would queue behind them. Tasks of more than a few
 * rows take so long to read these that memory would be idle whatever the share; what is fetched
 * beyond the stages pays again where they have pipelines of their own, MANY.
 *
 * While half of the stages are full no consumer waits for weights, and all other loads queue behind
 * them: about half as many bytes are in flight then, more or fewer as weights take longer or less
 * long than the rest. Not where instructions bound how fast weights are copied: these are in flight
 * longer than that takes memory. */
static void pace(et_program *p, const et_pass_options *opt, bool many) {
    const et_machine *m = opt->machine;
    enum { CALM = 16 << 10 };
    const int lot = ET_RING_LOT * ET_RING_PIECE * m->wave_size;
    /* Of all the time: between launches that were measured to lose, to gain, and to lose. */
    const double from = 0.75, to = 0.875;
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    struct streamed s = streamed(p, opt);
    et_sample_symbols(p->g->exprs, syms);
    double all = et_cost_at(p, m, syms[1], 0).us - s.less_us, rest = all - s.saved_us;
    double share = rest > 0 ? s.us / rest : 1;
    int flight = m->flight_kb << 10, half = flight / 2 / lot * lot;
    p->ring.flight = in_lots(share * flight, lot, flight);
    p->ring.calm = in_lots(share * (half > CALM ? half : CALM), lot, p->ring.flight);
    bool few = have_few_rows(p), gains = many || (few && s.us >= from * all && s.us <= to * all);
    bool asks = gains && !et_is_without(opt->without, ET_FEATURE_PREFETCH);
    p->ring.prefetch = asks ? m->prefetch_kb << 10 : 0;
    if (many || !few) p->ring.flight = flight;
    if (many || asks || has_short_rows(p) || et_is_without(opt->without, ET_FEATURE_CALM))
        p->ring.calm = p->ring.flight;
}

/* The producer's waits (et_grid.awaits) of all grids that might stream. */
static void await_all(et_program *p) {
    for (int i = 0; i < p->ngrids; i++) {
        et_grid *g = &p->grids[i];
        if (et_stream_step(p, &p->funcs[g->func]) >= 0) et_stream_await(p, g);
    }
}

/* All tasks of a model stream or none: some of each were measured to be slower than either. */
static bool pays(et_program *p, const et_machine *m, int model) {
    double room = (double)p->ring.slots * p->ring.bytes * m->cus, saved = 0, paid = 0;
    for (int i = 0; i < p->ngrids; i++) {
        const et_grid *g = &p->grids[i];
        if (g->model != model || et_stream_problem(p, g)) continue;
        double bytes = (double)et_stream_bytes(p, g);
        saved += trips(p, g) * (bytes < room ? bytes : room) / (1e3 * m->hbm_gbs);
        if (!computes(p, g)) paid += trips(p, g) * m->stream_us;
    }
    return saved > paid;
}

/* ---- staged rows that stay for the next tile ---- */

static bool meet(const et_local *a, const et_local *b) {
    return a->offset < b->offset + et_local_bytes(b) && b->offset < a->offset + et_local_bytes(a);
}

/* Does a workgroup run several tiles of the grid? */
static bool has_rounds(et_program *p, const et_grid *g, const et_machine *m) {
    int64_t lo, hi;
    return !et_bounds(p->g->exprs, et_grid_tiles(p, g), &lo, &hi) || hi > m->cus;
}

/* Rows of all chunks at once, where the buffer was laid out for all k's (et_tile_staged_whole):
 * each chunk of a row has its own padding, and the last one is as long as the others. */
static void widen(et_program *p, const et_grid *g, const et_machine *m) {
    et_func *f = &p->funcs[g->func];
    const et_step *s = &f->steps[et_stream_step(p, f)];
    et_product_use by = et_product_use_of(p, f, s, m);
    int64_t k;
    if (s->stage_a < 0 || by.rows != ET_ROWS_STAGED || !by.chunk ||
        et_x(p->g->exprs, s->kextent)->op != ET_X_SELECT ||
        !et_is_int(p->g->exprs, et_var_extent(p->g->exprs, s->kvar), &k))
        return;
    et_local *a = &f->locals[s->stage_a];
    int bytes = et_dtype_bytes(a->dtype), pad = ET_RING_PIECE / bytes, was = et_local_bytes(a);
    int64_t chunks = (k + by.chunk - 1) / by.chunk, pitch = chunks * (by.chunk + pad);
    if (a->dim[1] < k || pitch <= a->pitch) return;
    int more = (int)(pitch - a->pitch) * a->dim[0] * bytes, end = a->offset + was + more;
    if (end < f->lds_bytes) end = f->lds_bytes;
    if (et_machine_slots(m, end, p->ring.bytes) < p->ring.slots) return;
    a->pitch = (int)pitch;
    f->lds_bytes = end;
}

/* Staged rows of a product may share memory with its sums (et_locals_may_meet), so that more stages
 * fit. Where as many fit without that, they get memory of their own, and a workgroup need not stage
 * them again for its next tile (ir/product/reuse.c). */
static void keep_apart(et_program *p, const et_grid *g, const et_machine *m) {
    et_func *f = &p->funcs[g->func];
    const et_step *s = &f->steps[et_stream_step(p, f)];
    et_local *l = f->locals, *a = &l[s->stage_a];
    if (et_step_stages(f, s)) return;
    int rows = et_local_bytes(a), sums = 0;
    bool meets = false;
    for (int i = 0; i < s->nacc; i++) {
        meets |= meet(a, &l[s->acc[i]]);
        sums += et_local_bytes(&l[s->acc[i]]);
    }
    int more = rows < sums ? rows : sums, end = f->lds_bytes + more;
    if (!meets || !has_rounds(p, g, m) || et_machine_slots(m, end, p->ring.bytes) < p->ring.slots)
        return;
    if (rows < sums) a->offset = f->lds_bytes;
    for (int i = 0, at = f->lds_bytes; i < s->nacc && rows >= sums; i++) {
        l[s->acc[i]].offset = at;
        at += et_local_bytes(&l[s->acc[i]]);
    }
    f->lds_bytes = end;
}

/* Double-buffered fragments are one stage more while a task waits, and cost time where it waits for
 * the second. Measured to gain in all tasks of few rows with plain weights, and in tasks of a
 * single row with more quantised weights than the stages hold. */
static bool goes_deep(et_program *p, const et_grid *g, const et_pass_options *opt) {
    const et_func *f = &p->funcs[g->func];
    bool codes = computes(p, g);
    double room = (double)p->ring.slots * p->ring.bytes * opt->machine->cus;
    int64_t lo, rows;
    bool few = et_bounds(p->g->exprs, f->steps[et_stream_step(p, f)].mlive, &lo, &rows) &&
               rows <= (codes ? 1 : ET_DEEP_ROWS);
    return few && !et_is_without(opt->without, ET_FEATURE_DOUBLE_BUFFERED) &&
           (!codes || (double)et_stream_bytes(p, g) > room);
}

bool et_pass_stream(et_pipeline *pl) {
    et_program *p = pl->p;
    const et_machine *m = pl->opt->machine;
    uint32_t many = 0, models = et_may_stream(pl->opt) ? candidates(p, pl->opt, &many) : 0;
    /* Where the locals of all models leave so few stages, only models that need them stream. */
    if (many && ring_of(p, pl->opt, models, 8).slots <= ET_RING_MIN_SLOTS) models = many;
    p->ring = ring_of(p, pl->opt, models, 8);
    await_all(p);
    for (int i = 0; i < ET_MAX_MODELS; i++)
        if ((models & ~many) >> i & 1 && !pays(p, m, i)) models &= ~((uint32_t)1 << i);
    p->ring = best_ring(p, pl->opt, models);
    for (int i = 0; i < p->ngrids; i++) {
        et_grid *g = &p->grids[i];
        g->streamed = models >> g->model & 1 && !et_stream_problem(p, g);
        if (!g->streamed) g->nawaits = 0;
    }
    if (!p->ring.slots) return true;
    pace(p, pl->opt, many != 0);
    for (int i = 0; i < p->ngrids; i++) {
        et_grid *g = &p->grids[i];
        if (!g->streamed) continue;
        widen(p, g, m);
        keep_apart(p, g, m);
        g->deep = goes_deep(p, g, pl->opt);
        g->calm = p->ring.calm < p->ring.flight && has_few_rows(p, g);
    }
    return true;
}
