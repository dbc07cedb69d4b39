/* What a profiled kernel records of every task (etrt_abi.h: etrt_trace). Without a profile nothing
 * here emits anything.
 *
 * The first work-item of a workgroup writes its records, and alone uses two words of local memory:
 * which record comes next and when a queue was last looked into. */
#include "codegen/kernel/kernel.h"
#include "ir/base/diag.h"
#include <stddef.h>

enum { NEXT = 0, LOOK = 8, BYTES = 16 };

int cg_trace_lds(const cg *g) {
    return g->opt->profile ? BYTES : 0;
}

static val word(cg *g, int at) {
    return cg_gepi(g, g->lds, g->trace_at + at);
}

static void first_item(cg *g, cg_if *me) {
    cg_if_begin(g, me, cg_icmp(g, LLVMIntEQ, g->tid, cg_i32(g, 0)));
}

void cg_trace_begin(cg *g) {
    if (!g->opt->profile) return;
    cg_if me;
    first_item(g, &me);
    LLVMBuildStore(g->b, cg_i32(g, 0), word(g, NEXT));
    LLVMBuildStore(g->b, cg_i64(g, 0), word(g, LOOK));
    cg_if_end(g, &me);
}

void cg_trace_look(cg *g) {
    if (!g->opt->profile) return;
    val now = g->family->clock(g);
    cg_if me;
    first_item(g, &me);
    LLVMBuildStore(g->b, now, word(g, LOOK));
    cg_if_end(g, &me);
}

void cg_trace_reached(cg *g) {
    if (g->opt->profile) g->reached = g->family->clock(g);
}

void cg_trace_ready(cg *g) {
    if (g->opt->profile) g->ready = g->family->clock(g);
}

/* Every wave's part of the body, not only that of the one which writes the record. */
void cg_trace_done(cg *g) {
    if (!g->opt->profile) return;
    cg_barrier_drain(g);
    g->done = g->family->clock(g);
}

/* Loops around a grid count as the digits of one number. */
static val iteration(cg *g, int loop) {
    if (loop < 0) return cg_i32(g, 0);
    const et_loop *l = &g->p->g->loops[loop];
    val outer = cg_muli(g, iteration(g, l->parent), l->hi - l->lo);
    return l->hi - l->lo == 1 ? outer : cg_add(g, outer, g->var[l->var]);
}

static val in_trace(cg *g, val trace, size_t field) {
    return cg_gepi(g, trace, (int64_t)field);
}

/* The number of the record to write: the next of the workgroup's chunk, or the first of a new one.
 */
static val take_record(cg *g, val trace) {
    val next = LLVMBuildLoad2(g->b, g->i32, word(g, NEXT), "");
    val used = LLVMBuildAnd(g->b, next, cg_i32(g, ETRT_TRACE_CHUNK - 1), "");
    cg_if none;
    cg_if_begin(g, &none, cg_icmp(g, LLVMIntEQ, used, cg_i32(g, 0)));
    val chunk = cg_atomic(g, LLVMAtomicRMWBinOpAdd,
                          in_trace(g, trace, offsetof(struct etrt_trace, taken)), cg_i32(g, 1));
    val first = cg_muli(g, chunk, ETRT_TRACE_CHUNK);
    cg_if_end(g, &none);
    return cg_if_value(g, &none, first, next);
}

static void write_record(cg *g, val trace, val at, int grid, val tile, val left) {
    val bytes = LLVMBuildMul(g->b, LLVMBuildZExt(g->b, at, g->i64, ""),
                             cg_i64(g, sizeof(struct etrt_trace_record)), "");
    val to = cg_gep(g, in_trace(g, trace, offsetof(struct etrt_trace, record)), bytes);
    val look = LLVMBuildLoad2(g->b, g->i64, word(g, LOOK), "");
    const struct {
        size_t at;
        val value;
    } field[] = {
#define X(name, value) {offsetof(struct etrt_trace_record, name), value}
        X(task, cg_addi(g, cg_task_number(g, grid), 1)),
        X(tile, tile),
        X(iteration, iteration(g, g->p->grids[grid].loop)),
        X(workgroup, g->rank),
        X(die, cg_die(g)),
        X(hw_id, g->family->hardware_id(g)),
        X(look, look),
        X(reached, g->reached),
        X(ready, g->ready),
        X(done, g->done),
        X(left, left),
#undef X
    };
    for (size_t i = 0; i < sizeof field / sizeof *field; i++)
        LLVMSetAlignment(LLVMBuildStore(g->b, field[i].value, cg_gepi(g, to, (int64_t)field[i].at)),
                         LLVMTypeOf(field[i].value) == g->i64 ? 8 : 4);
    LLVMBuildStore(g->b, cg_i64(g, 0), word(g, LOOK));
    LLVMBuildStore(g->b, cg_addi(g, at, 1), word(g, NEXT));
}

void cg_trace_left(cg *g, int grid, val tile) {
    if (!g->opt->profile) return;
    val left = g->family->clock(g);
    val trace = cg_argument(g, offsetof(struct etrt_kernarg, trace), g->gptr);
    val wanted = LLVMBuildIsNotNull(g->b, trace, "");
    val me = cg_icmp(g, LLVMIntEQ, g->tid, cg_i32(g, 0));
    cg_if record, fits;
    cg_if_begin(g, &record, LLVMBuildAnd(g->b, me, wanted, ""));
    val at = take_record(g, trace);
    val chunks = LLVMBuildLoad2(g->b, g->i32, trace, "");
    val chunk = LLVMBuildUDiv(g->b, at, cg_i32(g, ETRT_TRACE_CHUNK), "");
    cg_if_begin(g, &fits, cg_icmp(g, LLVMIntULT, chunk, chunks));
    write_record(g, trace, at, grid, tile, left);
    cg_if_end(g, &fits);
    cg_if full;
    cg_if_begin(g, &full, cg_icmp(g, LLVMIntUGE, chunk, chunks));
    cg_atomic(g, LLVMAtomicRMWBinOpAdd, in_trace(g, trace, offsetof(struct etrt_trace, dropped)),
              cg_i32(g, 1));
    cg_if_end(g, &full);
    cg_if_end(g, &record);
}

/* Tiles of a grid in all iterations, at most; saturating. */
static int64_t tasks_of(et_program *p, const et_grid *gr) {
    int64_t lo, n;
    if (!et_bounds(p->g->exprs, et_grid_tiles(p, gr), &lo, &n)) n = INT64_MAX;
    for (int l = gr->loop; l >= 0; l = p->g->loops[l].parent)
        if (__builtin_mul_overflow(n, p->g->loops[l].hi - p->g->loops[l].lo, &n)) return INT64_MAX;
    return n;
}

int64_t cg_trace_tasks(const cg *g) {
    if (!g->opt->profile) return -1;
    int64_t most = 0;
    et_program *p;
    for (int i = 0; (p = et_program_part(g->whole, i)); i++) {
        int64_t sum = 0;
        for (int k = 0; k < p->ngrids; k++)
            if (__builtin_add_overflow(sum, tasks_of(p, &p->grids[k]), &sum)) sum = INT64_MAX;
        if (sum > most) most = sum;
    }
    return most < ETRT_TRACE_MAX_TASKS ? most : ETRT_TRACE_MAX_TASKS;
}
