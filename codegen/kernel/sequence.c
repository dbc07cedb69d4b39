/* --schedule=kernels: a launch is a sequence of kernels, each of which runs the tiles of one grid
 * in one iteration of the loops around it. The end of a kernel orders what follows, so all that is
 * left of the events are those by which tasks of one kernel wait for each other. */
#include "codegen/kernel/kernel.h"
#include <ctype.h>
#include <string.h>

bool cg_is_sequence(const cg *g) {
    return et_schedule_of(et_program_part(g->whole, 0)->schedule)->kernels;
}

static int depth_of(const et_program *p, const et_grid *gr) {
    int n = 0;
    for (int l = gr->loop; l >= 0; l = p->g->loops[l].parent)
        n++;
    return n;
}

/* Loops around a grid, at most. */
static int sequence_depth(const cg *g) {
    int most = 0;
    const et_program *p;
    for (int i = 0; (p = et_program_part(g->whole, i)); i++)
        for (int k = 0; k < p->ngrids; k++)
            if (depth_of(p, &p->grids[k]) > most) most = depth_of(p, &p->grids[k]);
    return most;
}

/* Where the iterations of the loops around a kernel's grid are among its arguments: an i32 each,
 * outermost first. */
static size_t iteration_args(const cg *g) {
    return cg_last_args(g);
}

/* ---- events within a kernel ---- */

/* Do tasks of one grid both wait for the event and notify it? */
static bool is_inner(const et_program *p, int event) {
    for (int i = 0; i < p->ngrids; i++) {
        const et_grid *gr = &p->grids[i];
        if (et_grid_waits_for(gr, event) && et_grid_notifies(gr, event)) return true;
    }
    return false;
}

/* The same grid without edges that the order of the kernels replaces. An event that is kept is kept
 * by all, for it counts all. */
static et_grid only_inner(cg *g, const et_program *p, const et_grid *from) {
    et_grid to = *from;
    to.waits = et_alloc(g->arena, (size_t)(from->nwaits + 1) * sizeof *to.waits);
    to.notifies = et_alloc(g->arena, (size_t)(from->nnotifies + 1) * sizeof *to.notifies);
    to.nwaits = to.nnotifies = 0;
    for (int i = 0; i < from->nwaits; i++)
        if (is_inner(p, from->waits[i].event)) to.waits[to.nwaits++] = from->waits[i];
    for (int i = 0; i < from->nnotifies; i++)
        if (is_inner(p, from->notifies[i].event)) to.notifies[to.nnotifies++] = from->notifies[i];
    return to;
}

static et_program *without_order(cg *g, const et_program *p) {
    et_program *to = et_alloc(g->arena, sizeof *to);
    *to = *p;
    to->grids = et_alloc(g->arena, (size_t)(p->ngrids + 1) * sizeof *to->grids);
    for (int i = 0; i < p->ngrids; i++)
        to->grids[i] = only_inner(g, p, &p->grids[i]);
    return to;
}

/* ---- one kernel ---- */

static int lds_bytes(const cg *g, const et_program *p, int grid) {
    int own = (p->funcs[p->grids[grid].func].lds_bytes + 15) & ~15;
    return own + g->lds_bytes - g->flag_at;
}

static void bind_loops(cg *g, int loop, int depth) {
    if (loop < 0) return;
    bind_loops(g, g->p->g->loops[loop].parent, depth - 1);
    cg_bind(g, g->p->g->loops[loop].var,
            cg_argument(g, iteration_args(g) + 4 * (size_t)(depth - 1), g->i32), false);
}

/* Words codegen keeps for itself follow this grid's locals, not those of the largest. */
static void emit_kernel(cg *g, et_kernel *k, bool first) {
    const cg was = *g;
    const et_grid *gr = &g->p->grids[k->grid];
    int less = g->lds_bytes - k->lds_bytes;
    g->lds_bytes -= less, g->flag_at -= less, g->reduce_at -= less, g->trace_at -= less;
    g->symbol = (char *)k->symbol;
    g->family->declare_kernel(g, iteration_args(g) + 4 * (size_t)sequence_depth(g));
    g->family->declare_local(g);
    block entry = cg_block(g, "entry");
    g->exit = cg_block(g, "exit");
    g->failed = cg_block(g, "failed");
    cg_at(g, entry);
    cg_forget(g);
    cg_identify(g);
    g->wg = g->rank = g->family->workgroup(g);
    if (first) cg_clear_next_events(g, g->wg);
    g->base = cg_i32(g, 0);
    bind_loops(g, gr->loop, depth_of(g->p, gr));
    cg_own_tiles(g, k->grid);
    cg_br(g, g->exit);
    cg_kernel_ends(g);
    g->symbol = was.symbol, g->lds_bytes = was.lds_bytes, g->flag_at = was.flag_at;
    g->reduce_at = was.reduce_at, g->trace_at = was.trace_at;
}

static const char *symbol_of(const cg *g, const et_grid *gr) {
    char *s = et_printf(g->arena, "%s_%d_%s", g->symbol, g->nkernels, gr->name);
    for (char *c = s; *c; c++)
        if (!isalnum((unsigned char)*c) && *c != '_') *c = '_';
    return s;
}

/* BEGIN: how many kernels the parts before have. */
static void emit_items(cg *g, int first, int count, int begin) {
    for (int i = first; i < first + count; i++) {
        const et_item *it = &g->p->items[i];
        if (it->kind == ET_P_LOOP) {
            emit_items(g, it->first, it->count, begin);
            continue;
        }
        const et_grid *gr = &g->p->grids[it->index];
        et_kernel *k = &g->kernels[g->nkernels];
        *k = (et_kernel){.symbol = symbol_of(g, gr), .p = g->p, .grid = it->index};
        k->lds_bytes = lds_bytes(g, g->p, it->index);
        k->waits = gr->nwaits > 0;
        emit_kernel(g, k, g->nkernels == begin);
        g->nkernels++;
    }
}

void cg_sequence(cg *g) {
    int n = 0;
    g->leave_out = g->opt->sparse == ET_SPARSE_ZEROS;
    et_program *p;
    for (int i = 0; (p = et_program_part(g->whole, i)); i++)
        n += p->ngrids;
    g->kernels = et_alloc(g->arena, (size_t)(n + 1) * sizeof *g->kernels);
    for (int i = 0; (p = et_program_part(g->whole, i)); i++) {
        cg_enter_program(g, without_order(g, p));
        emit_items(g, g->p->first, g->p->count, g->nkernels);
        g->first_task += p->ngrids;
        g->first_event += p->nevents;
    }
    cg_enter_program(g, g->whole);
}
