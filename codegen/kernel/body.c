/* Kernels of many tasks. LLVM's time grows faster than a function, so
 * in a kernel of many grids or steps the tiles of each grid are in a function of their own, which
 * the kernel calls where it reaches the grid, or for one tile that it popped. Static
 * grids that are alike but for the tensors and events they name (ir/program/alike.h) share one
 * function: what differs it reads from the grid's row of a table. A schedule of very many calls is
 * itself cut into functions. */
#include "codegen/kernel/kernel.h"
#include "ir/base/diag.h"
#include "ir/base/table.h"
#include "ir/program/alike.h"
#include <string.h>

enum { MANY = 64, MANY_STEPS = 256 };

/* Bodies, and steps of all of them, beyond which those that differ in numbers alone are one. */
enum { MANY_BODIES = 128, MANY_BODY_STEPS = 768 };

/* Grids and loops in a list of the schedule beyond which it is cut, and in each of its parts. */
enum { LONG = 256, PART = 64 };

struct body {
    const char *text;
    int grid; /* the first of those that share it: what it is emitted from */
    int ngrids;
    int first, count; /* in place of a grid's tiles: items of the schedule; count 0: tiles */
    val fn;           /* NULL until the first call */
    LLVMTypeRef type;
    val table;   /* NULL where one grid has it */
    val numbers; /* what it hands its numbers' row in, where bodies share by numbers; else NULL */
};

struct cg_bodies {
    et_task_key *key; /* by grid */
    struct body **of; /* by grid */
    int *row;         /* by grid: its own in the table of its body */
    cg_names names;   /* of the body being emitted */
    bool numbers;     /* bodies that differ in numbers alone are one function */
};

/* ---- which grids share ---- */

/* Not with dynamic tasks, for whose events code is specialised, nor where a test weakens one edge.
 */
static bool may_share(const cg *g) {
    for (int i = 0; i < g->p->ngrids; i++)
        if (g->p->grids[i].dynamic || g->p->grids[i].order == ET_TILES_CLAIMED) return false;
    return !g->opt->weaken_event;
}

static bool has_many(et_program *whole) {
    int grids = 0, steps = 0;
    et_program *p;
    for (int i = 0; (p = et_program_part(whole, i)); i++) {
        grids += p->ngrids;
        for (int k = 0; k < p->ngrids; k++)
            steps += p->funcs[p->grids[k].func].nsteps;
    }
    return grids > MANY || steps > MANY_STEPS;
}

bool cg_is_brief(const cg *g) {
    return g->nbodies > MANY_BODIES;
}

void cg_plan_bodies(cg *g) {
    g->bodies = NULL;
    g->names = NULL;
    /* Stages of the weight stream are counted in registers, which functions do not get. */
    if (!has_many(g->whole) || cg_is_sequence(g) || g->p->nvariants || g->ring_stages || g->send_at)
        return;
    bool share = may_share(g);
    size_t n = (size_t)g->p->ngrids + 1;
    struct cg_bodies *b = et_alloc(g->arena, sizeof *b);
    et_table by_text = {0};
    int steps = 0;
    b->key = et_task_keys(g->p, g->texts);
    b->of = et_alloc(g->arena, n * sizeof *b->of);
    b->row = et_alloc(g->arena, n * sizeof *b->row);
    b->names.tensor = et_alloc(g->arena, ((size_t)g->p->ntensors + 1) * sizeof *b->names.tensor);
    b->names.event = et_alloc(g->arena, ((size_t)g->p->nevents + 1) * sizeof *b->names.event);
    b->names.wanted = et_alloc(g->arena, (size_t)g->p->ntensors + 1);
    for (int i = 0; i < g->p->ngrids; i++) {
        bool may =
            share && !cg_has_boxes(&g->p->funcs[g->p->grids[i].func]); /* maps name tensors */
        struct body *own = may ? et_table_find(&by_text, b->key[i].text) : NULL;
        if (!own) {
            own = et_alloc(g->arena, sizeof *own);
            *own = (struct body){.text = b->key[i].text, .grid = i};
            g->nbodies++;
            steps += g->p->funcs[g->p->grids[i].func].nsteps;
            if (may) et_table_add(g->arena, &by_text, own);
        }
        b->of[i] = own;
        b->row[i] = own->ngrids++;
    }
    /* Products are counted by their tasks' numbers. */
    b->numbers = (cg_is_brief(g) || steps > MANY_BODY_STEPS) && !g->products;
    g->bodies = b;
    if (share) g->names = &b->names;
}

/* ---- the table ---- */

static int words_of(const et_task_key *k) {
    return 1 + k->ntensors + CG_ROW_EVENT * k->nevents;
}

static void put_row(cg *g, int grid, val *row) {
    const et_task_key *k = &g->bodies->key[grid];
    *row++ = cg_i64(g, g->first_task + grid);
    for (int i = 0; i < k->ntensors; i++)
        *row++ = cg_i64(g, cg_tensor_at(g, k->tensor[i]));
    for (int i = 0; i < k->nevents; i++) {
        *row++ = cg_i64(g, g->p->events[k->event[i]].base);
        *row++ = cg_i64(g, g->first_event + k->event[i]);
    }
}

static val make_table(cg *g, const struct body *b) {
    int words = words_of(&g->bodies->key[b->grid]), n = b->ngrids * words;
    val *v = et_alloc(g->arena, (size_t)n * sizeof *v);
    for (int i = b->grid, rows = 0; rows < b->ngrids; i++)
        if (g->bodies->of[i] == b) put_row(g, i, v + words * rows++);
    LLVMTypeRef type = LLVMArrayType2(g->i64, (uint64_t)n);
    val table = LLVMAddGlobalInAddressSpace(g->mod, type, "tasks", g->family->global);
    LLVMSetInitializer(table, LLVMConstArray2(g->i64, v, (uint64_t)n));
    LLVMSetGlobalConstant(table, true);
    LLVMSetLinkage(table, LLVMInternalLinkage);
    LLVMSetAlignment(table, 64);
    return table;
}

/* ---- the function ---- */

/* What the kernel hands to every body: then the loops around a static grid, outermost first, or the
 * number of a dynamic task, and last of all its numbers' row. All but the work-item are uniform. */
enum { ARGS, ROW, WG, NWG, BASE, RANK, TID, MORE, MOST = MORE + ET_MAX_LOOPS + 1 };

static bool is_dynamic(const cg *g, int grid) {
    return g->p->grids[grid].dynamic;
}

static int loop_around(const cg *g, const et_item *it) {
    return it->kind == ET_P_GRID ? g->p->grids[it->index].loop : g->p->g->loops[it->index].parent;
}

/* The loop around what it is emitted from. A dynamic task says itself which iterations it is of. */
static int loop_of(const cg *g, const struct body *b) {
    if (b->count) return loop_around(g, &g->p->items[b->first]);
    return is_dynamic(g, b->grid) ? -1 : g->p->grids[b->grid].loop;
}

/* LOOP and those around it, outermost first. */
static int loops_of(const cg *g, int loop, int vars[ET_MAX_LOOPS]) {
    int n = 0, up[ET_MAX_LOOPS];
    for (; loop >= 0; loop = g->p->g->loops[loop].parent)
        up[n++] = g->p->g->loops[loop].var;
    for (int i = 0; i < n; i++)
        vars[i] = up[n - 1 - i];
    return n;
}

/* Sets the names of GRID, or clears them. */
static void name_all(cg *g, int grid, bool on) {
    cg_names *b = &g->bodies->names;
    const et_task_key *k = &g->bodies->key[grid];
    b->ntensors = k->ntensors;
    for (int i = 0; i < k->ntensors; i++) {
        b->wanted[k->tensor[i]] = on;
        b->tensor[k->tensor[i]] = on ? 1 + i : 0;
    }
    for (int i = 0; i < k->nevents; i++)
        b->event[k->event[i]] = on ? 1 + i : 0;
}

static bool shares_numbers(const cg *g, const struct body *b) {
    return g->bodies->numbers && !b->count;
}

static void declare(cg *g, struct body *b, int more) {
    LLVMTypeRef t[MOST];
    int n = MORE + more;
    for (int i = 0; i < n; i++)
        t[i] = g->i32;
    t[ARGS] = LLVMTypeOf(LLVMGetParam(g->fn, 0));
    t[ROW] = g->gptr;
    if (shares_numbers(g, b)) t[n++] = g->gptr;
    b->type = LLVMFunctionType(g->i32, t, (unsigned)n, false);
    b->fn = LLVMAddFunction(g->mod, "tiles", b->type);
    LLVMSetLinkage(b->fn, LLVMInternalLinkage);
    g->family->declare_body(g, b->fn, TID);
    if (b->ngrids > 1) b->table = make_table(g, b);
}

static val parameter(cg *g, const struct body *b, int i) {
    return cg_uniform(g, LLVMGetParam(b->fn, (unsigned)i));
}

/* What the function does; the loops around it are bound unless it is a dynamic task. */
static void emit_inside(cg *g, const struct body *b) {
    if (b->count) {
        cg_visit(g, b->first, b->count);
        return;
    }
    name_all(g, b->grid, true);
    if (is_dynamic(g, b->grid)) {
        cg_run_task(g, b->grid, parameter(g, b, MORE));
    } else {
        cg_load_arguments(g);
        cg_own_tiles(g, b->grid);
    }
    name_all(g, b->grid, false);
}

/* Returns the first workgroup of the next grid, unless the task is dynamic; -1 where a wait failed.
 */
static void emit(cg *g, const struct body *b, int nloops, const int *loops) {
    g->fn = b->fn;
    block entry = cg_block(g, "entry");
    g->failed = cg_block(g, "failed");
    g->exit = NULL;
    cg_at(g, entry);
    g->in_body = true;
    g->args = parameter(g, b, ARGS);
    g->row = b->table ? parameter(g, b, ROW) : NULL;
    g->wg = parameter(g, b, WG);
    g->nwg = parameter(g, b, NWG);
    g->base = parameter(g, b, BASE);
    g->rank = parameter(g, b, RANK);
    g->tid = LLVMGetParam(b->fn, TID);
    g->lane = LLVMBuildAnd(g->b, g->tid, cg_i32(g, g->t->wave - 1), "lane");
    g->wave = cg_uniform(g, LLVMBuildUDiv(g->b, g->tid, cg_i32(g, g->t->wave), ""));
    for (int i = 0; i < nloops; i++)
        cg_bind(g, loops[i], parameter(g, b, MORE + i), false);
    emit_inside(g, b);
    LLVMBuildRet(g->b, g->base);
    LLVMMoveBasicBlockAfter(g->failed, LLVMGetLastBasicBlock(g->fn));
    cg_at(g, g->failed);
    LLVMBuildRet(g->b, cg_i32(g, -1));
}

/* Values of expressions hold in their own function only; variables that are bound here stay bound.
 */
static void make(cg *g, struct body *b) {
    int loops[ET_MAX_LOOPS], n = loops_of(g, loop_of(g, b), loops);
    val bound[ET_MAX_LOOPS], *memo = g->memo;
    uint32_t *trail = g->trail;
    cg outside = *g;
    block here = cg_here(g);
    for (int i = 0; i < n; i++)
        bound[i] = g->var[loops[i]];
    declare(g, b, !b->count && is_dynamic(g, b->grid) ? 1 : n);
    int known = g->ntrail;
    val *was = et_alloc(g->arena, ((size_t)known + 1) * sizeof *was);
    for (int i = 0; i < known; i++) {
        was[i] = memo[trail[i]];
        memo[trail[i]] = NULL;
    }
    g->trail = NULL;
    g->ntrail = g->ctrail = 0;
    emit(g, b, n, loops);
    cg_scope_end(g, 0);
    outside.memo = g->memo; /* it may have grown */
    outside.nmemo = g->nmemo;
    outside.var = g->var;
    outside.divergent = g->divergent;
    outside.nvar = g->nvar;
    *g = outside;
    for (int i = 0; i < known; i++)
        g->memo[trail[i]] = was[i];
    for (int i = 0; i < n; i++)
        g->var[loops[i]] = bound[i];
    cg_at(g, here);
}

static void call(cg *g, struct body *b, val row, const val *more, int n) {
    val arg[MOST];
    arg[ARGS] = g->args;
    arg[ROW] = row;
    arg[WG] = g->wg;
    arg[NWG] = g->nwg;
    arg[BASE] = g->base;
    arg[RANK] = g->rank;
    arg[TID] = g->tid;
    for (int i = 0; i < n; i++)
        arg[MORE + i] = more[i];
    if (b->numbers) arg[MORE + n++] = b->numbers;
    val next = LLVMBuildCall2(g->b, b->type, b->fn, arg, (unsigned)(MORE + n), "");
    g->family->call_body(g, next, TID);
    next = cg_uniform(g, next);
    block go = cg_block(g, "ran");
    cg_cond(g, cg_icmp(g, LLVMIntSLT, next, cg_i32(g, 0)), g->failed, go);
    cg_at(g, go);
    if (b->count || !is_dynamic(g, b->grid)) g->base = next;
}

static void call_grid(cg *g, int grid, const val *more, int n) {
    struct body *b = g->bodies->of[grid];
    if (!b->fn) {
        make(g, b);
        if (shares_numbers(g, b)) b->fn = cg_share_numbers(g, b->fn, &b->numbers);
    }
    val row = LLVMGetPoison(g->gptr);
    if (b->table)
        row = cg_gepi(g, b->table,
                      8 * (int64_t)g->bodies->row[grid] * words_of(&g->bodies->key[grid]));
    call(g, b, row, more, n);
}

/* The iterations of LOOP, and of those around it, that are being emitted. */
static int iterations(cg *g, int loop, val more[ET_MAX_LOOPS]) {
    int loops[ET_MAX_LOOPS], n = loops_of(g, loop, loops);
    for (int i = 0; i < n; i++)
        more[i] = g->var[loops[i]];
    return n;
}

void cg_call_body(cg *g, int grid) {
    val more[ET_MAX_LOOPS];
    int n = iterations(g, g->p->grids[grid].loop, more);
    call_grid(g, grid, more, n);
}

void cg_call_task(cg *g, int grid, val task) {
    call_grid(g, grid, &task, 1);
}

/* ---- parts of the schedule ---- */

/* Grids and loops among COUNT items and inside them. */
static int calls_of(const et_program *p, int first, int count) {
    int n = count;
    for (int i = first; i < first + count; i++)
        if (p->items[i].kind == ET_P_LOOP) n += calls_of(p, p->items[i].first, p->items[i].count);
    return n;
}

bool cg_is_long(const cg *g, int first, int count) {
    return g->bodies && !g->queues.nregions && calls_of(g->p, first, count) > LONG;
}

int cg_call_part(cg *g, int first, int count) {
    int n = 0, calls = 0;
    while (n < count) {
        calls += calls_of(g->p, first + n, 1);
        bool apart = n == 0 || et_turns_with(g->p, first + n - 1, first + count) < 0;
        if (n > 0 && calls > PART && apart) break;
        n++;
    }
    struct body part = {.first = first, .count = n};
    val more[ET_MAX_LOOPS];
    make(g, &part);
    int nloops = iterations(g, loop_of(g, &part), more);
    call(g, &part, LLVMGetPoison(g->gptr), more, nloops);
    return n;
}
