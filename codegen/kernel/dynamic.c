/* Regions of dynamic tasks (ir/program/queue.h): pop a task, find its grid, run it. */
#include "codegen/kernel/kernel.h"

static void bind_loops(cg *g, int loop, val iteration) {
    if (loop < 0) return;
    const et_loop *l = &g->p->g->loops[loop];
    int64_t trips = l->hi - l->lo;
    bool outermost = l->parent < 0;
    val size = cg_i32(g, trips);
    cg_bind(g, l->var, outermost ? iteration : LLVMBuildURem(g->b, iteration, size, ""), false);
    if (!outermost) bind_loops(g, l->parent, LLVMBuildUDiv(g->b, iteration, size, ""));
}

void cg_run_task(cg *g, int grid, val task) {
    const et_queue_grid *q = &g->queues.grid[grid];
    const et_region *r = &g->queues.region[q->region];
    cg outside = *g;
    cg_isolate(g);
    cg_load_arguments(g);
    val number = cg_addi(g, task, -q->first), iteration = cg_i32(g, 0), tile = number;
    if (q->iterations > 1) {
        val tiles = cg_i32(g, q->tiles);
        iteration = LLVMBuildUDiv(g->b, number, tiles, "");
        tile = LLVMBuildURem(g->b, number, tiles, "");
    }
    bind_loops(g, g->p->grids[grid].loop, iteration);
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, 0)));
    cg_received(g, q->region,
                r->instances > 1 ? LLVMBuildUDiv(g->b, iteration, cg_i32(g, q->inner), "")
                                 : cg_i32(g, 0));
    cg_if_end(g, &first);
    cg_tile(g, grid, tile);
    *g = outside;
}

/* Grids by the numbers of their tasks: halve what is left until one remains. */
static void dispatch(cg *g, const int *grids, int n, val task, block next) {
    if (n == 1) {
        if (g->bodies)
            cg_call_task(g, grids[0], task);
        else
            cg_run_task(g, grids[0], task);
        cg_br(g, next);
        return;
    }
    block low = cg_block(g, "low"), high = cg_block(g, "high");
    int half = n / 2;
    val is = cg_icmp(g, LLVMIntULT, task, cg_i32(g, g->queues.grid[grids[half]].first));
    cg_cond(g, is, low, high);
    cg_at(g, low);
    dispatch(g, grids, half, task, next);
    cg_at(g, high);
    dispatch(g, grids + half, n - half, task, next);
}

/* The region's tasks of one instance, at the symbols of this launch. */
static val count_tasks(cg *g, const et_region *r, const int *grids, int n) {
    val all = cg_i32(g, 0);
    for (int i = 0; i < n; i++) {
        const et_grid *gr = &g->p->grids[grids[i]];
        val tasks = cg_emit_i32(g, et_grid_tiles(g->p, gr));
        for (int l = gr->loop; l >= 0 && l != r->loop; l = g->p->g->loops[l].parent)
            tasks = cg_mul(g, tasks, cg_emit_i32(g, g->p->g->loops[l].trips));
        all = cg_add(g, all, tasks);
    }
    return all;
}

void cg_region(cg *g, int region) {
    const et_region *r = &g->queues.region[region];
    int *grids = et_alloc(g->arena, (size_t)g->p->ngrids * sizeof *grids), n = 0;
    for (int i = 0; i < g->p->ngrids; i++) /* in ascending order of their tasks */
        if (g->queues.grid[i].region == region) {
            int k = n++;
            for (; k > 0 && g->queues.grid[grids[k - 1]].first > g->queues.grid[i].first; k--)
                grids[k] = grids[k - 1];
            grids[k] = i;
        }
    int mark = cg_scope(g);
    cg_load_arguments(g);
    cg_none_left what = {grids[0], cg_iteration(g, r->loop), count_tasks(g, r, grids, n),
                         cg_ticket_place(g)};
    block head = cg_block(g, "region"), got = cg_block(g, "got"), run = cg_block(g, "run"),
          next = cg_block(g, "next"), over = cg_block(g, "over");
    cg_br(g, head);
    cg_at(g, head);
    cg outside = *g;
    cg_isolate(g);
    cg_load_arguments(g);
    cg_if first;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, 0)));
    LLVMBuildStore(g->b, cg_pop(g, region, &what), cg_flag(g, CG_TILE));
    cg_if_end(g, &first);
    cg_barrier(g);
    val task = cg_uniform(g, LLVMBuildLoad2(g->b, g->i32, cg_flag(g, CG_TILE), ""));
    cg_cond(g, cg_icmp(g, LLVMIntEQ, task, cg_i32(g, CG_TAKE_FAILED)), g->failed, got);
    cg_at(g, got);
    cg_cond(g, cg_icmp(g, LLVMIntEQ, task, cg_i32(g, 0)), over, run);
    cg_at(g, run);
    g->ticket = what.ticket;
    dispatch(g, grids, n, task, next);
    LLVMMoveBasicBlockAfter(next, LLVMGetLastBasicBlock(g->fn));
    cg_at(g, next);
    cg_br(g, head);
    *g = outside;
    LLVMMoveBasicBlockAfter(over, LLVMGetLastBasicBlock(g->fn));
    cg_at(g, over);
    cg_barrier(g); /* all have read that it is over before the next region's task is left there */
    cg_scope_end(g, mark);
}
