/* Which die a workgroup is really on, and which others are: for grids that are dealt by slice,
 * whose events of scope die are right only if all tasks of a slice meet in one cache. A rank is no
 * evidence of that, as a workgroup may be a guest on its rank's die. So every workgroup counts
 * itself on the die it finds itself on, and waits until all have: then slice s is of the die that
 * comes s-th, going round, among those that have any workgroups.
 *
 * Models that share a kernel each have counters, and slices, of the workgroups that run them. A
 * workgroup counts itself for all of its models when it starts, as it may long be busy with one
 * while others wait for it at the next. */
#include "codegen/kernel/kernel.h"
#include <string.h>

uint32_t cg_sliced_models(et_program *whole) {
    et_program *p;
    uint32_t models = 0;
    for (int i = 0; (p = et_program_part(whole, i)); i++)
        for (int k = 0; k < p->ngrids; k++)
            if (p->grids[k].slice.count) models |= (uint32_t)1 << p->grids[k].model;
    return models;
}

bool cg_model_sliced(const cg *g, int model) {
    return g->sliced >> model & 1;
}

/* ---- workgroups of each die ---- */

static val pack(cg *g, val low, val high) {
    return LLVMBuildOr(g->b, low, LLVMBuildShl(g->b, high, cg_i32(g, 16), ""), "");
}

/* The counter of DIE, of the model being emitted. */
static val counter(cg *g, val die) {
    int first = g->part ? g->meet_words + ETRT_MAX_DIES * (g->part - 1) : ETRT_MAX_DIES;
    return cg_word(g, cg_addi(g, die, first));
}

/* Workgroups counted on each die, die l % ETRT_MAX_DIES in lane l. */
static val counts(cg *g) {
    return cg_atomic_load(
        g, counter(g, LLVMBuildAnd(g->b, g->lane, cg_i32(g, ETRT_MAX_DIES - 1), "")));
}

static val sum_of(cg *g, val v) {
    for (int i = 1; i < ETRT_MAX_DIES; i *= 2)
        v = cg_add(g, v, cg_shuffle_xor(g, v, i));
    return cg_uniform(g, v);
}

static void leave(cg *g, int word, val v) {
    LLVMBuildStore(g->b, v, cg_flag(g, word));
}

static int first_task(const cg *g) {
    int i = 0;
    while (g->part && i < g->p->ngrids - 1 && g->p->grids[i].model != g->part - 1)
        i++;
    return i;
}

static void expired(cg *g, val started) {
    leave(g, CG_TASK, cg_i32(g, first_task(g)));
    leave(g, CG_TILE, cg_i32(g, 0));
    leave(g, CG_EVENT, cg_i32(g, 0));
    leave(g, CG_INDEX, cg_i32(g, 0));
    leave(g, CG_COUNT, started);
    leave(g, CG_NEED, g->nwg);
    leave(g, CG_STATUS, cg_i32(g, ETRT_REPORT_START));
}

/* By wave 0: until every workgroup has counted itself. Whether to go on. */
static val all_started(cg *g, val die, val order) {
    block met = cg_block(g, "met"), some = cg_block(g, "some"), out = cg_block(g, "started");
    cg_spin s;
    cg_spin_begin(g, &s);
    val on = counts(g), started = sum_of(g, on);
    cg_cond(g, cg_icmp(g, LLVMIntULT, started, g->nwg), some, met);
    cg_at(g, some);
    cg_spin_again(g, &s);

    cg_at(g, met);
    val first16 = cg_icmp(g, LLVMIntULT, g->lane, cg_i32(g, ETRT_MAX_DIES));
    val any = LLVMBuildAnd(g->b, cg_icmp(g, LLVMIntNE, on, cg_i32(g, 0)), first16, "");
    val before = LLVMBuildAnd(g->b, any, cg_icmp(g, LLVMIntULT, g->lane, die), "");
    val dies = cg_count_lanes(g, cg_ballot(g, any));
    val number = cg_count_lanes(g, cg_ballot(g, before));
    val here = cg_atomic_load(g, counter(g, die));
    leave(g, CG_DIE, pack(g, number, dies));
    leave(g, CG_MEMBER, pack(g, order, cg_uniform(g, here)));
    block done = cg_here(g);
    cg_br(g, out);
    cg_at(g, s.expired);
    expired(g, started);
    block late = cg_here(g);
    cg_br(g, out);
    cg_at(g, s.aborted);
    cg_br(g, out);
    cg_at(g, out);
    val r = LLVMBuildPhi(g->b, g->i32, "");
    LLVMAddIncoming(r, (val[]){cg_i32(g, CG_GO_ON), cg_i32(g, CG_EXPIRED), cg_i32(g, CG_ABORTED)},
                    (block[]){done, late, s.aborted}, 3);
    return r;
}

/* Without a register for the die there is one die. */
static void one_die(cg *g) {
    leave(g, CG_DIE, pack(g, cg_i32(g, 0), cg_i32(g, 1)));
    leave(g, CG_MEMBER, pack(g, g->wg, g->nwg));
}

/* Lane m is for model m: one round trip to memory for all of them. */
void cg_count_models(cg *g) {
    if (!g->t->dies) return;
    cg_if first, some;
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, 0)));
    cg_if_begin(g, &some, cg_icmp(g, LLVMIntULT, g->lane, cg_i32(g, g->p->g->nmodels)));
    val has =
        LLVMBuildTrunc(g->b, LLVMBuildLShr(g->b, cg_i32(g, g->sliced), g->lane, ""), g->i1, "");
    val here = LLVMBuildAnd(g->b, cg_part_has(g, g->lane, g->rank), has, "");
    val word = cg_add(g, cg_addi(g, cg_die(g), g->meet_words), cg_muli(g, g->lane, ETRT_MAX_DIES));
    val order = cg_atomic_lanes(g, LLVMAtomicRMWBinOpAdd, here, cg_word(g, word), cg_i32(g, 1),
                                cg_i32(g, 0));
    LLVMBuildStore(g->b, order, cg_gep(g, cg_flag(g, CG_ORDER), cg_muli(g, g->lane, 4)));
    cg_if_end(g, &some);
    cg_if_end(g, &first);
}

/* The number that this workgroup has on its die. */
static val order_on(cg *g, val die) {
    if (!g->part || g->in_step)
        return cg_atomic_once(g, LLVMAtomicRMWBinOpAdd, counter(g, die), cg_i32(g, 1));
    return cg_uniform(g, LLVMBuildLoad2(g->b, g->i32, cg_flag(g, CG_ORDER + g->part - 1), ""));
}

void cg_meet(cg *g) {
    cg_if first;
    if (g->part) cg_barrier(g); /* no wave still reads what was left for the model before */
    cg_if_begin(g, &first, cg_icmp(g, LLVMIntEQ, g->wave, cg_i32(g, 0)));
    if (g->t->dies) {
        val die = cg_die(g), order = order_on(g, die);
        leave(g, CG_QUIT, all_started(g, die, order));
    } else {
        one_die(g);
    }
    cg_if_end(g, &first);
    cg_barrier(g);
    if (!g->t->dies) return;
    block go = cg_block(g, "placed");
    val quit = cg_uniform(g, LLVMBuildLoad2(g->b, g->i32, cg_flag(g, CG_QUIT), ""));
    cg_cond(g, cg_icmp(g, LLVMIntNE, quit, cg_i32(g, 0)), g->failed, go);
    cg_at(g, go);
}

/* ---- tiles of slices ---- */

static void unpack(cg *g, int word, val *low, val *high) {
    val v = cg_uniform(g, LLVMBuildLoad2(g->b, g->i32, cg_flag(g, word), ""));
    *low = LLVMBuildAnd(g->b, v, cg_i32(g, 0xFFFF), "");
    *high = LLVMBuildLShr(g->b, v, cg_i32(g, 16), "");
}

/* The first index of slice SLICE: ceil(slice * extent / count). */
static val slice_begin(cg *g, val slice, val extent, int count) {
    val a = LLVMBuildZExt(g->b, slice, g->i64, ""), b = LLVMBuildZExt(g->b, extent, g->i64, "");
    val n = LLVMBuildAdd(g->b, LLVMBuildMul(g->b, a, b, ""), cg_i64(g, count - 1), "");
    return LLVMBuildTrunc(g->b, LLVMBuildUDiv(g->b, n, cg_i64(g, count), ""), g->i32, "");
}

/* Tiles of one slice of all sliced grids of the model before this one, at most: a grid begins on
 * the workgroups that those before it left idle. */
static int64_t tiles_before(cg *g, int index) {
    int64_t n = 0, lo, hi;
    for (int i = 0; i < index; i++) {
        const et_grid *gr = &g->p->grids[i];
        if (gr->model == g->p->grids[index].model && gr->slice.count &&
            et_bounds(g->x, et_grid_tiles(g->p, gr), &lo, &hi))
            n += (hi + gr->slice.count - 1) / gr->slice.count;
    }
    return n % (1 << 20);
}

/* Tile number I, row-major, of those whose sliced coordinate is FROM .. FROM + WIDTH - 1. */
static val tile_in_slice(cg *g, const et_grid *gr, const val *extent, val from, val width, val i) {
    int n = g->p->funcs[gr->func].ncoords;
    val tile = cg_i32(g, 0), stride = cg_i32(g, 1);
    for (int c = n - 1; c >= 0; c--) {
        bool sliced = c == gr->slice.coord;
        val size = sliced ? width : extent[c], at = LLVMBuildURem(g->b, i, size, "");
        i = LLVMBuildUDiv(g->b, i, size, "");
        if (sliced) at = cg_add(g, at, from);
        tile = cg_add(g, tile, cg_mul(g, at, stride));
        stride = cg_mul(g, stride, extent[c]);
    }
    return tile;
}

void cg_sliced_grid(cg *g, int index) {
    const et_grid *gr = &g->p->grids[index];
    int n = g->p->funcs[gr->func].ncoords, count = gr->slice.count;
    val extent[ET_MAX_RANK], number, dies, order, members, others = cg_i32(g, 1), none = NULL;
    for (int c = 0; c < n; c++) {
        extent[c] = cg_emit_i32(g, gr->extent[c]);
        if (c != gr->slice.coord) others = cg_mul(g, others, extent[c]);
    }
    unpack(g, CG_DIE, &number, &dies);
    unpack(g, CG_MEMBER, &order, &members);
    val skip = LLVMBuildURem(g->b, cg_i32(g, tiles_before(g, index)), members, "");
    val first =
        LLVMBuildURem(g->b, LLVMBuildSub(g->b, cg_add(g, order, members), skip, ""), members, "");
    cg_for slices, tiles;
    val slice = cg_for_begin(g, &slices, number, cg_i32(g, count), dies, false, 0, &none);
    int mark = cg_scope(g);
    val from = slice_begin(g, slice, extent[gr->slice.coord], count);
    val to = slice_begin(g, cg_addi(g, slice, 1), extent[gr->slice.coord], count);
    val width = LLVMBuildSub(g->b, to, from, "");
    val i = cg_for_begin(g, &tiles, first, cg_mul(g, width, others), members, false, 0, &none);
    cg_tile(g, index, tile_in_slice(g, gr, extent, from, width, i));
    cg_for_end(g, &tiles, &none);
    cg_scope_end(g, mark);
    cg_for_end(g, &slices, &none);
}

/* ---- fences of a die ---- */

bool cg_within_die(const cg *g, int event) {
    return g->t->die_fence && g->p->events[event].scope <= ET_SCOPE_DIE;
}

void cg_die_acquire(cg *g, bool weak) {
    et_weaken how = weak ? g->opt->weaken : ET_WEAKEN_NOTHING;
    if (how != ET_WEAKEN_NOTHING && how != ET_WEAKEN_RELEASE) return;
    g->family->die_acquire(g);
}

val cg_die(cg *g) {
    val die = g->t->dies ? g->family->die(g) : cg_i32(g, 0);
    return LLVMBuildAnd(g->b, die, cg_i32(g, ETRT_MAX_DIES - 1), "");
}
