/* One tile of a task grid: its coordinates, what it waits for, the steps of its device function and
 * the barriers between them, what it notifies. */
#include "codegen/kernel/kernel.h"
#include "codegen/step/attend/attend.h"
#include "codegen/step/product/product.h"
#include "ir/program/deal.h"
#include "ir/program/step.h"
#include <string.h>

/* ---- steps of a tile ---- */

/* What steps have touched since the last barrier: locals first, then tensors. */
struct touched {
    bool *read, *written;
};

struct scan {
    cg *g;
    struct touched *t;
};

static void scan(void *ctx, int space, int id, bool is_store, const et_expr *index) {
    const struct scan *s = ctx;
    (void)index;
    (is_store ? s->t->written : s->t->read)[space == ET_LOAD_LOCAL ? id : s->g->f->nlocals + id] =
        true;
}

/* A barrier between a step and an earlier one when either writes what the other touches. */
static void order(cg *g, const et_step *st, struct touched *sofar) {
    int n = g->f->nlocals + g->p->ntensors;
    struct touched now = {et_alloc(g->arena, (size_t)n), et_alloc(g->arena, (size_t)n)};
    et_step_touches(g->x, st, scan, &(struct scan){g, &now});
    bool conflict = false;
    for (int i = 0; i < n; i++)
        conflict |= (now.written[i] && (sofar->read[i] || sofar->written[i])) ||
                    (now.read[i] && sofar->written[i]);
    if (conflict) {
        cg_barrier(g);
        memset(sofar->read, 0, (size_t)n);
        memset(sofar->written, 0, (size_t)n);
    }
    for (int i = 0; i < n; i++) {
        sofar->read[i] |= now.read[i];
        sofar->written[i] |= now.written[i];
    }
}

/* Steps from number *AT on that receive words, all together; *AT is the last of them afterwards. */
static int receives_from(cg *g, int *at, struct touched *t) {
    int n = 1;
    for (; *at + 1 < g->f->nsteps && cg_receives(g, &g->f->steps[*at + 1]); n++)
        order(g, &g->f->steps[++*at], t);
    return n;
}

static void run_steps(cg *g, int early, et_contract *begun) {
    static void (*const run[])(cg *, const et_step *) = {
        [ET_STEP_MAP] = cg_step_map,
        [ET_STEP_REDUCE] = cg_step_reduce,
        [ET_STEP_ATTEND] = cg_step_attend,
        [ET_STEP_SCAN] = cg_step_scan,
    };
    int n = g->f->nlocals + g->p->ntensors;
    struct touched t = {et_alloc(g->arena, (size_t)n), et_alloc(g->arena, (size_t)n)};
    g->parts = et_alloc(g->arena, (size_t)g->f->nlocals * sizeof *g->parts);
    bool received = false, asked = false; /* copies to LDS are in flight */
    cg_bands *bands = NULL;
    int after, row, banded = -1; /* of a product whose sums come in bands */
    if (et_func_bands(g->x, g->f, &after, &row) > 1) banded = after - 1;
    for (int i = 0; i < g->f->nsteps; i++) {
        const et_step *s = &g->f->steps[i];
        bool receives = cg_receives(g, s);
        if (received && !receives) {
            cg_received_all(g);
            memset(t.read, 0, (size_t)n);
            memset(t.written, 0, (size_t)n);
        }
        received = receives;
        if (s->map.early == ET_MAP_EARLY_COPY) {
            t.written[s->to.id] = asked = true;
            continue;
        }
        if (asked && s->kind == ET_STEP_CONTRACT) {
            g->family->copied(g, 0);
            asked = false;
        }
        if (i + 1 == g->f->nsteps && !bands && s->kind != ET_STEP_CONTRACT)
            cg_take_next_ticket(g, g->task - g->first_task);
        if (i + 1 == g->f->nsteps && s->kind != ET_STEP_CONTRACT) cg_claim_next(g, bands != NULL);
        order(g, s, &t);
        if (i == banded) {
            bands = cg_bands_begin(g, i == early ? begun : cg_contract_begin(g, s));
            continue;
        }
        int mark = cg_scope(g);
        cg_if first;
        val once = cg_first_tile(g, s->map.reuse || s->reduce.reuse);
        if (once) cg_if_begin(g, &first, once);
        if (received)
            cg_step_receives(g, s, receives_from(g, &i, &t));
        else if (s->kind == ET_STEP_CONTRACT)
            cg_contract_run(g, i == early ? begun : cg_contract_begin(g, s));
        else
            run[s->kind](g, s);
        cg_scope_end(g, mark);
        if (once) cg_if_end(g, &first);
    }
    if (received) cg_received_all(g);
    if (bands) cg_bands_end(g, bands);
    g->parts = NULL;
}

/* ---- the tile ---- */

static val narrow(cg *g, val v) {
    return LLVMTypeOf(v) == g->i64 ? LLVMBuildTrunc(g->b, v, g->i32, "") : v;
}

void cg_bind_tile(cg *g, const et_grid *gr, val tile) {
    const et_func *f = &g->p->funcs[gr->func];
    for (int i = f->ncoords - 1; i >= 0; i--) {
        int64_t n;
        bool top = true;
        for (int k = 0; k < i; k++)
            top &= et_is_int(g->x, gr->extent[k], &n) && n == 1;
        if (et_is_int(g->x, gr->extent[i], &n) && n == 1) {
            cg_bind(g, f->coord[i], cg_i32(g, 0), false);
            continue;
        }
        val size = cg_emit_i32(g, gr->extent[i]), at = tile;
        if (LLVMTypeOf(tile) == g->i64) size = LLVMBuildZExt(g->b, size, g->i64, "");
        if (!top) at = LLVMBuildURem(g->b, tile, size, "");
        cg_bind(g, f->coord[i], narrow(g, at), false);
        if (!top) tile = LLVMBuildUDiv(g->b, tile, size, "");
    }
}

/* Two words for a thread trace: the task and its tile. Nothing happens where none is recorded; the
 * emulator shows the last ones with a fault. */
static void mark_tile(cg *g, int grid, val tile) {
    val words[] = {cg_task_number(g, grid), tile};
    for (int i = 0; i < 2; i++)
        g->family->mark(g, words[i]);
}

/* What follows from the lane's number would fill registers all through the kernel, for every grid
 * and out of all loops. */
static void number_anew(cg *g) {
    if (!g->family->anew) return;
    g->tid = g->family->anew(g, g->tid);
    g->wave = g->family->anew(g, g->wave);
    g->lane = LLVMBuildAnd(g->b, g->tid, cg_i32(g, g->t->wave - 1), "");
}

/* The first product, as far as its plan says that it begins before the tile's waits; NULL, and -1
 * to *OUT_STEP: not at all. */
static et_contract *early_product(cg *g, int *out_step) {
    int i = 0;
    while (i < g->f->nsteps && g->f->steps[i].kind != ET_STEP_CONTRACT)
        i++;
    et_early_as how = i < g->f->nsteps ? cg_plan(g, &g->f->steps[i])->early : ET_EARLY_NONE;
    *out_step = how ? i : -1;
    if (!how) return NULL;
    et_contract *begun = cg_contract_begin(g, &g->f->steps[i]);
    if (how == ET_EARLY_GUESS) cg_contract_guess(g, begun);
    if (how == ET_EARLY_PIPELINE) cg_contract_ring_begin(g, begun);
    return begun;
}

static void prefetch_early(cg *g) {
    for (int i = 0; i < g->f->nsteps; i++) {
        const et_step *s = &g->f->steps[i];
        if (s->kind == ET_STEP_CONTRACT) cg_prefetch_early(g, s);
        if (s->kind == ET_STEP_ATTEND) cg_attend_prefetch(g, s);
    }
}

void cg_tile(cg *g, int grid, val tile) {
    if (cg_produces(g, grid, tile)) return;
    const et_grid *gr = &g->p->grids[grid];
    g->f = &g->p->funcs[gr->func];
    g->task = g->first_task + grid;
    g->streamed = cg_streamed(g, grid);
    int mark = cg_scope(g);
    val tid = g->tid, lane = g->lane, wave = g->wave;
    number_anew(g);
    cg_bind_tile(g, gr, tile);
    tile = narrow(g, tile); /* for reports, which have no more room */
    mark_tile(g, grid, tile);
    cg_trace_reached(g);
    cg_begin(g, grid);
    cg_copy_early(g);
    int early = 0;
    et_contract *begun = early_product(g, &early);
    cg_attend_early(g, g->f);
    prefetch_early(g);
    cg_maps_early(g, g->f);
    cg_receiving(g, grid, tile);
    cg_waits(g, grid, tile);
    cg_trace_ready(g);
    cg_if own;
    if (gr->deal.rows) {
        val owner = cg_emit_i32(g, et_deal_owner(g->p, gr));
        val device = LLVMBuildTrunc(g->b, g->device, g->i32, "");
        cg_if_begin(g, &own, cg_icmp(g, LLVMIntEQ, owner, device));
    }
    int inner = cg_scope(g);
    cg_maps_early_waited(g);
    g->sends_later = cg_sends_apart(g, grid);
    run_steps(g, early, begun);
    g->sends_later = false;
    cg_scope_end(g, inner);
    if (gr->deal.rows) cg_if_end(g, &own);
    cg_trace_done(g);
    cg_claim_leave(g, grid);
    cg_notifies(g, grid);
    cg_trace_left(g, grid, tile);
    cg_scope_end(g, mark);
    g->tid = tid;
    g->lane = lane;
    g->wave = wave;
}
