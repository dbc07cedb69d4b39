/* The schedule. Tile t of a static grid without a range goes to workgroup
 * (base + t) mod W, with base counting the tiles of all static grids before it, so that a grid
 * starts on the workgroups its predecessor left idle; nothing is stored: the loops over tiles are
 * code. Tiles of a dynamic grid are queued by the arrival that makes them ready
 * (ir/program/queue.h).
 *
 * README.md says by which rule a hybrid schedule chooses. */
#include "ir/base/diag.h"
#include "ir/program/queue.h"
#include "ir/program/step.h"
#include "ir/program/tags.h"
#include "passes/apart.h"
#include "passes/cost/cost.h"
#include "passes/passes.h"
#include "passes/pipeline/pipeline.h"
#include "passes/trial/play.h"
#include <string.h>

/* ---- what tensors decide ---- */

/* Does a tensor decide which counters the grid waits for, or how many arrivals complete them? */
static bool routed(const et_program *p, const et_grid *g) {
    for (int i = 0; i < g->nwaits; i++)
        if (et_wait_loads(p, &g->waits[i])) return true;
    return false;
}

/* A number or none, as an expert's blocks have all of k, and those that no expert has none. */
static bool is_all_or_none(const et_exprs *x, et_expr e) {
    const et_node_x *n = et_x(x, e);
    int64_t is;
    return n->op == ET_X_SELECT && et_is_int(x, n->ops[1], &is) && et_is_int(x, n->ops[2], &is);
}

/* Does a tensor decide how much a tile has to do? Then tiles of one grid differ. */
typedef enum { EVEN, SOME_EMPTY, UNEVEN } evenness;

static evenness unevenness(const et_program *p, const et_grid *g) {
    const et_func *f = &p->funcs[g->func];
    et_step_expr e[ET_STEP_EXPRS];
    evenness is = EVEN;
    for (int i = 0; i < f->nsteps; i++)
        for (int k = 0, n = et_step_exprs(&f->steps[i], e); k < n; k++) {
            if (e[k].part != ET_PART_EXTENT || !et_expr_loads(p->g->exprs, e[k].e)) continue;
            evenness one = is_all_or_none(p->g->exprs, e[k].e) ? SOME_EMPTY : UNEVEN;
            if (one > is) is = one;
        }
    return is;
}

static bool uneven(const et_program *p, const et_grid *g) {
    return unevenness(p, g) > EVEN;
}

/* ---- what a queue costs and saves ---- */

/* Predicted at the geometric mean of the symbols' bounds. */
struct tiles {
    double n, us; /* of one */
};

static struct tiles tiles_of(const et_pipeline *pl, const et_grid *g) {
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    et_sample_symbols(pl->g->exprs, syms);
    et_profile_symbols(pl->opt->profile, pl->p, syms[1]);
    et_grid_cost c = et_grid_cost_profiled(pl->p, g, pl->opt->machine, pl->opt->profile, syms[1]);
    double rounds = c.tiles / pl->opt->machine->cus;
    rounds = rounds > (double)(int64_t)rounds ? (double)(int64_t)rounds + 1 : rounds;
    return (struct tiles){c.tiles, rounds > 0 ? c.us / rounds : 0};
}

/* Each task costs a pop; idle time of CUs is saved. */
static bool queue_pays(const et_pipeline *pl, const et_grid *g) {
    const et_machine *m = pl->opt->machine;
    struct tiles t = tiles_of(pl, g);
    double rounds = (double)(int64_t)(t.n / m->cus), rest = t.n - rounds * m->cus;
    double idle = 0;
    if (rest > 0) rounds++;
    evenness is = unevenness(pl->p, g);
    if (is == UNEVEN) idle += rounds * t.us / 2; /* half is the mean */
    if (rounds > 1 && routed(pl->p, g))
        idle += t.us / 2; /* others may be ready first; most are together */
    /* Where some are empty the last ones are, and all workgroups have as many. */
    if (is != SOME_EMPTY && rounds > 1 && rest > 0)
        idle += t.us * (1 - rest / m->cus) / 2; /* if others can fill it */
    return idle > rounds * m->pop_us;
}

/* ---- tasks queued before what they wait for is done ---- */

/* Does every arrival at the event go where the coordinates say, so that it is known from the start
 * of a task? And is there a CU for each task that arrives there in one iteration, so that one that
 * has begun waits for nothing but its own turn? */
static bool begins_at_once(const et_pipeline *pl, int event, int loop) {
    et_program *p = pl->p;
    int64_t tiles = 0, lo, hi;
    for (int g = 0; g < p->ngrids; g++)
        for (int i = 0; i < p->grids[g].nnotifies; i++) {
            const et_notify *n = &p->grids[g].notifies[i];
            if (n->event != event) continue;
            if (!et_notify_plain(p, n) || uneven(p, &p->grids[g])) return false;
            if (!p->grids[g].dynamic && et_loops_shared(p, loop, p->grids[g].loop)) return false;
            tiles +=
                et_bounds(p->g->exprs, et_grid_tiles(p, &p->grids[g]), &lo, &hi) ? hi : 1 << 30;
        }
    return tiles <= pl->opt->machine->cus;
}

/* In a region that runs several times, not for static tasks of the same loop
 * (ir/verify/VERIFIER.md). */
static bool may_be_early(const et_pipeline *pl, const et_queues *q, int grid) {
    const et_grid *g = &pl->p->grids[grid];
    if (!g->dynamic || !g->nwaits || routed(pl->p, g)) return false;
    int loop = q->region[q->grid[grid].region].loop;
    for (int i = 0; i < g->nwaits; i++)
        if (g->waits[i].nvars || !begins_at_once(pl, g->waits[i].event, loop)) return false;
    return true;
}

/* It stores or takes what devices exchange. Such tasks are dealt: a workgroup then waits for words
 * of another device only when all tasks before that have been taken, on its own device and, since
 * the order is the same, on others. All workgroups could have taken queued ones, of different
 * exchanges on each device, and wait in a circle. */
static bool exchanges(const et_program *p, const et_grid *g) {
    const et_func *f = &p->funcs[g->func];
    bool store;
    for (int i = 0; i < f->nsteps; i++) {
        int t = et_step_tagged(p, &f->steps[i], &store);
        if (t >= 0 && p->tensors[t].partial) return true;
    }
    if (g->deal.rows) return true;
    for (int i = 0; i < g->nwaits; i++)
        if (p->events[g->waits[i].event].scope == ET_SCOPE_SYSTEM) return true;
    for (int i = 0; i < g->nnotifies; i++)
        if (p->events[g->notifies[i].event].scope == ET_SCOPE_SYSTEM) return true;
    return false;
}

/* ---- tiles that are claimed ---- */

/* Which workgroup has which tile is known to nobody in advance: a producer wave, slices, and words
 * that carry their own events have to know. */
static bool may_be_claimed(const et_program *p, const et_grid *g) {
    bool plain = !g->range.to && !g->slice.count && !g->streamed && !exchanges(p, g);
    for (int i = 0; i < g->nwaits; i++)
        plain &= !p->events[g->waits[i].event].unfenced;
    for (int i = 0; i < g->nnotifies; i++)
        plain &= !p->events[g->notifies[i].event].unfenced;
    return plain;
}

/* Tiles of one grid take different times, or begin when tensors say, and workgroups have several of
 * them. One round has nothing to even out. */
static bool claims_pay(const et_pipeline *pl, const et_grid *g) {
    if (g->hint) return g->hint == ET_HINT_DYNAMIC;
    return (uneven(pl->p, g) || routed(pl->p, g)) && tiles_of(pl, g).n > pl->opt->machine->cus;
}

/* Does each tile of NEXT wait for one counter of G's, which its coordinates name? */
static bool waits_for_few(const et_program *p, const et_grid *next, const et_grid *g) {
    int of = 0;
    for (int i = 0; i < next->nwaits; i++) {
        if (!et_grid_notifies(g, next->waits[i].event)) continue;
        of++;
        if (et_wait_loads(p, &next->waits[i]) || et_wait_points(p, &next->waits[i]) != 1)
            return false;
    }
    return of > 0;
}

/* Where workgroups go on to claim tiles of the next grid, one by one as these are done, they even
 * out there what one of them had more of here. While some are there and some here, the two share
 * memory better: one layer of experts, 1,024 tokens, both claimed 1.03 of static, the second 1.00.
 */
static bool is_evened_out_later(const et_pipeline *pl, int item) {
    const et_program *p = pl->p;
    const et_item *it = &p->items[item], *after = it + 1;
    if (item + 1 >= p->nitems || after->kind != ET_P_GRID) return false;
    const et_grid *g = &p->grids[it->index], *next = &p->grids[after->index];
    return next->loop == g->loop && next->model == g->model && next->order == ET_TILES_CLAIMED &&
           waits_for_few(p, next, g);
}

/* Are tiles of the item claimed in turn with those of the one before or behind it? */
static bool in_turn(const et_pipeline *pl, int item) {
    const et_program *p = pl->p;
    return p->grids[p->items[item].index].behind || et_turns_with(p, item, p->nitems) >= 0;
}

/* From the last one back, since what follows decides. */
static void leave_to_later(et_pipeline *pl) {
    for (int i = pl->p->nitems - 1; i >= 0; i--) {
        if (pl->p->items[i].kind != ET_P_GRID) continue;
        et_grid *g = &pl->p->grids[pl->p->items[i].index];
        if (g->order == ET_TILES_CLAIMED && !in_turn(pl, i) && is_evened_out_later(pl, i))
            g->order = ET_TILES_ROUND_ROBIN;
    }
}

static bool waits_for_some(const et_grid *next, const et_grid *g) {
    for (int i = 0; i < next->nwaits; i++)
        if (et_grid_notifies(g, next->waits[i].event)) return true;
    return false;
}

/* Two tasks, block by block in turn: others read weights while some store results, so both use
 * memory more evenly than one after the other, and what the second reads is still in the cache. As
 * many blocks of the first come ahead as keep all CUs busy for twice one of its tiles; where there
 * are not several times as many, nothing is gained. Caches of several dies: not measured. */
static int blocks_ahead(const et_pipeline *pl, const et_grid *g, const et_grid *next) {
    enum { TILES = 2, TIMES = 3 };
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    et_sample_symbols(pl->g->exprs, syms);
    et_profile_symbols(pl->opt->profile, pl->p, syms[1]);
    struct tiles a = tiles_of(pl, g), b = tiles_of(pl, next);
    int64_t blocks = et_eval(pl->g->exprs, g->extent[0], syms[1], NULL);
    double block_us = blocks > 0 ? (a.n * a.us + b.n * b.us) / (double)blocks : 0;
    if (pl->opt->machine->dies > 1 || block_us <= 0) return 0;
    int64_t ahead = (int64_t)(TILES * a.us * pl->opt->machine->cus / block_us) + 1;
    return ahead <= ET_MOST_BEHIND && blocks >= TIMES * ahead ? (int)ahead : 0;
}

static void take_turns(et_pipeline *pl) {
    const et_program *p = pl->p;
    for (int i = 0; i + 1 < p->nitems; i++) {
        const et_item *it = &p->items[i];
        if (it->kind != ET_P_GRID || it[1].kind != ET_P_GRID) continue;
        et_grid *g = &p->grids[it->index], *next = &p->grids[it[1].index];
        if (g->loop == next->loop && waits_for_some(next, g) && !et_turns_problem(p, g, next))
            next->behind = blocks_ahead(pl, g, next);
    }
}

/* A grid of one tile has nobody to give it to. */
static bool has_tiles(const et_pipeline *pl, const et_grid *g) {
    int64_t lo, hi;
    return !et_bounds(pl->p->g->exprs, et_grid_tiles(pl->p, g), &lo, &hi) || hi > 1;
}

/* ---- the rules of ir/program/schedules.def ---- */

/* How tiles of a grid are given to workgroups, which are dealt so far, in an order that tile/ has
 * chosen. */
typedef void (*rule)(const et_pipeline *, et_grid *);

static void deal(const et_pipeline *pl, et_grid *g) {
    (void)pl, (void)g;
}

static void queue(const et_pipeline *pl, et_grid *g) {
    g->dynamic = !exchanges(pl->p, g);
    if (g->dynamic) g->order = ET_TILES_ROUND_ROBIN;
}

static void queue_where_it_pays(const et_pipeline *pl, et_grid *g) {
    if (g->hint ? g->hint == ET_HINT_DYNAMIC : queue_pays(pl, g)) queue(pl, g);
}

static void claim(const et_pipeline *pl, et_grid *g) {
    bool pays = pl->opt->claims_chosen ? claims_pay(pl, g) : has_tiles(pl, g);
    if (pays && may_be_claimed(pl->p, g)) g->order = ET_TILES_CLAIMED;
}

static const rule rules[] = {
    [ET_SCHEDULE_NONE] = deal,
#define SCHEDULE(kind, name, tasks, rule, kernels, help, means) rule,
#include "ir/program/schedules.def"
};

/* ---- a stream or claims ---- */

bool et_streams_unevenly(et_program *p, const et_pass_options *o) {
    et_pipeline pl = {.g = p->g, .p = p, .opt = o};
    bool any = false;
    for (int i = 0; i < p->ngrids && !p->nvariants && p->stage == ET_STAGE_SCHEDULED; i++)
        any |= p->grids[i].streamed && uneven(p, &p->grids[i]) && claims_pay(&pl, &p->grids[i]);
    return any;
}

/* Predicted. */
static double time_at(et_program *p, const et_pass_options *o, const int64_t *syms) {
    double done[ET_MAX_MODELS];
    et_player *pl = et_player_create(p, o, syms);
    double us = et_player_launch(pl, -1, done);
    et_player_destroy(pl);
    return us;
}

/* At the geometric mean of the symbols' bounds. */
static double time_of(et_program *p, const et_pass_options *o) {
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    et_sample_symbols(p->g->exprs, syms);
    return time_at(p, o, syms[1]);
}

bool et_is_better_claimed(et_program *claimed, const et_pass_options *claimed_by,
                          et_program *streamed, const et_pass_options *streamed_by) {
    /* The simulator takes streams of such tiles for faster than they are. Between what was measured
     * to lose by 3 %, predicted 1.017, and to win by 2 to 12, 1.013: one layer of 128 experts, 64
     * and 128 tokens. */
    const double worth = 1.015;
    et_program p = *claimed; /* as it was then: no tiles in turn */
    p.grids = et_alloc(p.g->arena, ((size_t)p.ngrids + 1) * sizeof *p.grids);
    for (int i = 0; i < p.ngrids; i++) {
        p.grids[i] = claimed->grids[i];
        p.grids[i].behind = 0;
    }
    return time_of(&p, claimed_by) < worth * time_of(streamed, streamed_by);
}

bool et_is_better_than_queued(et_program *claimed, const et_pass_options *claimed_by,
                              et_program *queued, const et_pass_options *queued_by) {
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    et_program *part;
    double ratio = 1;
    for (int i = 0; (part = et_program_part(queued, i)); i++) {
        if (queued->nvariants && queued->variant[i].least) continue; /* on fewer workgroups */
        et_sample_symbols(part->g->exprs, syms);
        ratio *= time_at(et_part_at(claimed, syms[1]), claimed_by, syms[1]) /
                 time_at(part, queued_by, syms[1]);
    }
    return ratio < 1;
}

/* ---- the pass ---- */

static void tell(const et_pipeline *pl) {
    const et_pass_options *o = pl->opt;
    if (!et_is_dumped(o, "schedule")) return;
    for (int i = 0; i < pl->p->ngrids; i++) {
        const et_grid *g = &pl->p->grids[i];
        struct tiles t = tiles_of(pl, g);
        fprintf(o->dump_to, "# %s: %.0f tiles of %.2f us (predicted)%s%s: %s%s\n", g->name, t.n,
                t.us, uneven(pl->p, g) ? ", uneven" : "", routed(pl->p, g) ? ", routed" : "",
                g->dynamic                     ? "dynamic"
                : g->order == ET_TILES_CLAIMED ? "claimed"
                                               : "static",
                g->early ? ", early" : "");
    }
}

bool et_pass_schedule(et_pipeline *pl) {
    et_program *p = pl->p;
    et_schedule_kind asked = pl->opt->schedule;
    const et_schedule *s = et_schedule_of(asked);
    if (s->kernels && pl->g->nmodels > 1) {
        et_diag(pl->g->diags, ET_ERROR, (et_loc){0},
                "--schedule=%s is for one model: several share one kernel", s->name);
        return false;
    }
    for (int i = 0; i < p->ngrids; i++) {
        et_grid *g = &p->grids[i];
        if (g->slice.count && !s->fixed) {
            et_diag(pl->g->diags, ET_ERROR, (et_loc){0},
                    "task %s is dealt by slice, which --schedule=%s cannot: use --schedule=static",
                    g->name, s->name);
            return false;
        }
        g->dynamic = false;
        rules[asked](pl, g);
        g->hint = ET_HINT_NONE;
        g->early = false;
        g->behind = 0;
        if (s->kernels) g->range = (et_share){0}; /* a kernel has the device to itself */
    }
    take_turns(pl);
    if (pl->opt->claims_chosen) leave_to_later(pl);
    p->schedule = s->kernels ? asked : et_program_schedule(p);
    et_queues q;
    const char *problem = et_queues_plan(pl->g->arena, p, &q);
    for (int i = 0; i < p->ngrids && !problem; i++)
        p->grids[i].early = may_be_early(pl, &q, i);
    if (!problem) problem = et_queues_plan(pl->g->arena, p, &q);
    if (problem) {
        et_diag(pl->g->diags, ET_ERROR, (et_loc){0},
                "%s for --schedule=%s: lower the bounds of the dims, or use --schedule=static",
                problem, et_schedule_name(asked ? asked : ET_SCHEDULE_STATIC));
        return false;
    }
    et_send_apart(pl);
    tell(pl);
    return true;
}
