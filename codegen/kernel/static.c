/* The static schedule: every workgroup visits the grids in program order and takes the tiles that
 * are its own, by closed-form loops. */
#include "codegen/kernel/kernel.h"
#include "ir/program/step.h"

/* Tiles are counted in 32 bits where so many there are at most, and a step past the last fits too.
 */
static val count_tiles(cg *g, const et_grid *gr) {
    int64_t lo, hi;
    et_expr n = et_grid_tiles(g->p, gr);
    et_span(g->x, n, &lo, &hi);
    return hi <= INT32_MAX - (1 << 20) ? cg_emit_i32(g, n) : cg_emit_i64(g, n);
}

static val as_wide(cg *g, val v, val like) {
    return LLVMTypeOf(like) == g->i64 ? LLVMBuildZExt(g->b, v, g->i64, "") : v;
}

/* The first of NTILES tiles that this workgroup runs, and how far it is to the next. */
static val round_robin(cg *g, val ntiles, val *out_step) {
    val first = LLVMBuildSub(g->b, g->wg, g->base, ""), zero = cg_i32(g, 0);
    first = cg_select(g, cg_icmp(g, LLVMIntSLT, first, zero), cg_add(g, first, g->nwg), first);
    *out_step = as_wide(g, g->nwg, ntiles);
    val next = cg_add(g, as_wide(g, g->base, ntiles), ntiles);
    g->base = LLVMBuildURem(g->b, next, *out_step, "");
    if (LLVMTypeOf(next) == g->i64) g->base = LLVMBuildTrunc(g->b, g->base, g->i32, "");
    return as_wide(g, first, ntiles);
}

/* Millionths of the workgroups, rounded down; there are too few for an overflow of 64 bits. */
static val part_of(cg *g, int millionths) {
    val wide = LLVMBuildZExt(g->b, g->nwg, g->i64, "");
    val part = LLVMBuildUDiv(g->b, LLVMBuildMul(g->b, wide, cg_i64(g, millionths), ""),
                             cg_i64(g, 1000000), "");
    return LLVMBuildTrunc(g->b, part, g->i32, "");
}

/* The same on a part of the workgroups, at least one; none for those outside. */
static val in_range(cg *g, et_share s, val ntiles, val *out_step) {
    val from = part_of(g, s.from), to = part_of(g, s.to);
    to = cg_select(g, cg_icmp(g, LLVMIntULT, from, to), to, cg_addi(g, from, 1));
    val first = LLVMBuildSub(g->b, g->wg, from, "");
    val inside = LLVMBuildAnd(g->b, cg_icmp(g, LLVMIntUGE, g->wg, from),
                              cg_icmp(g, LLVMIntULT, g->wg, to), "");
    *out_step = as_wide(g, LLVMBuildSub(g->b, to, from, ""), ntiles);
    return cg_select(g, inside, as_wide(g, first, ntiles), ntiles);
}

/* How far it is from a workgroup's first tile to its second, where tiles are dealt back and forth.
 */
static val to_second(cg *g, val first, val step) {
    val two = LLVMBuildAdd(g->b, step, step, "");
    return LLVMBuildSub(g->b, cg_addi(g, two, -1), LLVMBuildAdd(g->b, first, first, ""), "");
}

/* The tile that a workgroup runs in place of number TILE of NTILES where its tiles are side by
 * side: as many as there are from FIRST on, each STEP from the one before. They stay in their
 * order, so that none waits for a later one. */
static val beside(cg *g, val tile, val first, val step, val ntiles) {
    val each = LLVMBuildUDiv(g->b, ntiles, step, ""), more = LLVMBuildURem(g->b, ntiles, step, "");
    val longer = cg_select(g, cg_icmp(g, LLVMIntULT, first, more), first, more);
    val begin = LLVMBuildAdd(g->b, LLVMBuildMul(g->b, first, each, ""), longer, "");
    val turn = LLVMBuildUDiv(g->b, LLVMBuildSub(g->b, tile, first, ""), step, "");
    return LLVMBuildAdd(g->b, begin, turn, "");
}

/* Where each device has an order of its own: the tile in place of number TILE. Of the coordinate
 * each device has so many, the first device the first ones. */
static val by_device(cg *g, const et_grid *gr, val tile) {
    const et_func *f = &g->p->funcs[gr->func];
    int n = g->whole->g->devices;
    et_expr outer = et_int(g->x, 1), inner = outer, size = gr->extent[gr->along];
    for (int i = 0; i < f->ncoords; i++) {
        et_expr *to = i < gr->along ? &outer : &inner;
        if (i != gr->along) *to = et_mul(g->x, *to, gr->extent[i]);
    }
    val all = cg_emit_i32(g, size), low = cg_emit_i32(g, inner), many = cg_emit_i32(g, outer);
    val each = cg_emit_i32(g, et_ceil_div(g->x, size, et_int(g->x, n)));
    val lot = LLVMBuildMul(g->b, low, many, ""), at = tile, from = NULL, have = NULL;
    if (LLVMTypeOf(tile) == g->i64) at = LLVMBuildTrunc(g->b, tile, g->i32, "");
    val own = LLVMBuildTrunc(g->b, g->device, g->i32, ""), done = LLVMConstInt(g->i1, 0, false);
    for (int i = 0; i < n; i++) {
        val device = cg_addi(g, own, i + (gr->order == ET_TILES_OTHERS_FIRST)), zero = cg_i32(g, 0);
        val round = cg_icmp(g, LLVMIntSGE, device, cg_i32(g, n));
        device = cg_select(g, round, cg_addi(g, device, -n), device);
        val begin = LLVMBuildMul(g->b, device, each, "");
        val left = LLVMBuildSub(g->b, all, begin, "");
        left = cg_select(g, cg_icmp(g, LLVMIntSLT, left, zero), zero, left);
        left = cg_select(g, cg_icmp(g, LLVMIntSLT, left, each), left, each);
        val tiles = LLVMBuildMul(g->b, left, lot, "");
        val is =
            LLVMBuildAnd(g->b, LLVMBuildNot(g->b, done, ""), cg_icmp(g, LLVMIntSLT, at, tiles), "");
        from = from ? cg_select(g, is, begin, from) : begin;
        have = have ? cg_select(g, is, left, have) : left;
        done = LLVMBuildOr(g->b, done, is, "");
        at = cg_select(g, done, at, LLVMBuildSub(g->b, at, tiles, ""));
    }
    val low_at = LLVMBuildURem(g->b, at, low, ""), high = LLVMBuildUDiv(g->b, at, low, "");
    val row = LLVMBuildAdd(g->b, LLVMBuildURem(g->b, high, have, ""), from, "");
    val before = LLVMBuildMul(g->b, LLVMBuildUDiv(g->b, high, have, ""), all, "");
    row = LLVMBuildMul(g->b, LLVMBuildAdd(g->b, before, row, ""), low, "");
    return as_wide(g, LLVMBuildAdd(g->b, row, low_at, ""), tile);
}

void cg_own_tiles(cg *g, int index) {
    const et_grid *gr = &g->p->grids[index];
    if (gr->slice.count) {
        cg_sliced_grid(g, index);
        return;
    }
    if (gr->order == ET_TILES_CLAIMED && g->producer) return; /* none of them stream */
    val ntiles = count_tiles(g, gr);
    if (gr->order == ET_TILES_CLAIMED) {
        cg_claimed_tiles(g, &index, 1, ntiles);
        return;
    }
    val first, step;
    if (gr->range.to)
        first = in_range(g, gr->range, ntiles, &step);
    else
        first = round_robin(g, ntiles, &step);
    cg_for tiles;
    bool folds = gr->order == ET_TILES_BACK_AND_FORTH;
    val by = folds ? to_second(g, first, step) : step;
    val tile = cg_for_begin(g, &tiles, first, ntiles, step, false, folds, &by);
    g->again = cg_icmp(g, LLVMIntNE, tile, first);
    if (!folds && cg_tells_apart(g, index))
        g->more = cg_icmp(g, LLVMIntULT, LLVMBuildAdd(g->b, tile, step, ""), ntiles);
    bool adjacent = gr->order == ET_TILES_ADJACENT;
    val walked = adjacent                     ? beside(g, tile, first, step, ntiles)
                 : et_order_is_own(gr->order) ? by_device(g, gr, tile)
                                              : tile;
    cg_tile(g, index, walked);
    g->again = g->more = NULL;
    if (folds) {
        tiles.step = by;
        by = LLVMBuildSub(g->b, LLVMBuildAdd(g->b, step, step, ""), by, "");
    }
    cg_for_end(g, &tiles, &by);
}

/* Are there steps with warpgroup MMA, of operands that both come through local
 * memory?
 */
static bool multiply_together(const cg *g) {
    bool yes = false;
    for (int i = 0; g->t->warpgroup && i < g->p->ngrids; i++) {
        const et_func *f = &g->p->funcs[g->p->grids[i].func];
        for (int k = 0; k < f->nsteps; k++)
            yes |= et_step_stages(f, &f->steps[k]) > 0 || f->steps[k].rows > 0;
    }
    return yes;
}

/* How many tiles there are, and rows in each, goes by symbols. Such waves are to know that they are
 * the same in all lanes, and in all grids: an assembler that takes one grid's tiles for different
 * in lanes may take the loop over layers around them, and so all in it, for such. In programs
 * without such waves one that knows computes what follows from symbols more slowly. */
static void know_symbols(cg *g) {
    if (!g->family->same || !multiply_together(g)) return;
    for (int i = 0; i < et_sym_count(g->x); i++)
        g->sym[i] = g->family->same(g, g->sym[i]);
}

val cg_iteration(cg *g, int loop) {
    int64_t scale = 1;
    val n = cg_i32(g, 0);
    for (; loop >= 0; loop = g->p->g->loops[loop].parent) {
        const et_loop *l = &g->p->g->loops[loop];
        n = cg_add(g, n, cg_muli(g, g->var[l->var], scale));
        scale *= l->hi - l->lo;
    }
    return n;
}

static void static_grid(cg *g, int index) {
    int mark = cg_scope(g);
    if (g->bodies) {
        cg_call_body(g, index);
    } else {
        cg_load_arguments(g);
        know_symbols(g);
        cg_own_tiles(g, index);
    }
    cg_scope_end(g, mark);
}

static void claimed_in_turn(cg *g, int first, int second) {
    int mark = cg_scope(g);
    cg_load_arguments(g);
    know_symbols(g);
    int grid[] = {first, second};
    val n[] = {count_tiles(g, &g->p->grids[first]), count_tiles(g, &g->p->grids[second])};
    if (!g->producer) cg_claimed_tiles(g, grid, 2, cg_add(g, n[0], n[1]));
    cg_scope_end(g, mark);
}

void cg_visit(cg *g, int first, int count) {
    if (count > 1 && cg_is_long(g, first, count)) {
        for (int i = 0; i < count;)
            i += cg_call_part(g, first + i, count - i);
        return;
    }
    for (int i = first; i < first + count; i++) {
        const et_item *it = &g->p->items[i];
        int region = et_queues_region(&g->queues, i);
        if (region >= 0) {
            cg_region(g, region);
            i += g->queues.region[region].count - 1;
            continue;
        }
        if (it->kind == ET_P_GRID) {
            int second = et_turns_with(g->p, i, first + count);
            if (second < 0)
                static_grid(g, it->index);
            else
                claimed_in_turn(g, it->index, second);
            i += second >= 0;
            continue;
        }
        const et_loop *l = &g->p->g->loops[it->index];
        cg_for f;
        int mark = cg_scope(g);
        if (et_loop_varies(g->p->g, l)) cg_load_arguments(g);
        val trips = cg_emit_i32(g, l->trips);
        cg_scope_end(g, mark);
        val v = cg_for_begin(g, &f, cg_i32(g, 0), trips, cg_i32(g, 1), true, 1, &g->base);
        mark = cg_scope(g);
        cg_bind(g, l->var, v, false);
        cg_visit(g, it->first, it->count);
        cg_scope_end(g, mark);
        cg_for_end(g, &f, &g->base);
    }
}
