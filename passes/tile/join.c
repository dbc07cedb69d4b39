/* Tasks of one tile that follow one another, each reading what those before it wrote, as one task
 * of several steps. The router of experts is eight and more of them, each so short that the event
 * in front of it takes longer. Between steps is a barrier of the workgroup (codegen/kernel/tile.c),
 * and what one leaves for another is in local memory too.
 *
 * The same of tasks whose elements read those of their own row alone, as a token's choice of
 * experts does: a tile for each row, where there are no more rows than CUs. */
#include "ir/program/step.h"
#include "passes/cost/cost.h"
#include "passes/tile/tiler.h"
#include <math.h>
#include <string.h>

enum {
    ROOM = 16 << 10, /* bytes of local memory, of which others have more anyway */
    STEPS = 64,      /* of a task: one more event is little beside so many, and what LLVM takes for
                      * a function grows faster than the function */
    ROW_STEPS = 10,  /* of one with a tile for each row, of which a router has some ten */
    LOADS = 4 * STEPS, /* of all steps: LLVM's time grows so with these, too */
};

/* A task that becomes part of another: GRID, which as one tile runs FUNC and writes TENSOR. */
struct member {
    int grid, func, tensor;
    bool needed; /* by another task, or by a needed member behind it */
    /* Steps behind it find element [.., i, ..] in a local buffer, where DIM says that the index
     * counts; -1: there is none. */
    int local;
    bool counts[ET_MAX_RANK];
};

struct join {
    const et_tiler *common;
    et_program *p;
    et_exprs *x;
    et_arena *mem;
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    int64_t *vars;         /* of loops: all 0 */
    struct member *member; /* those that are to be one task so far, in their order */
    int nmembers, cmembers;
    /* Which grids read tensor t: reader[first[t]] to reader[first[t + 1] - 1]; a grid may come
     * twice. */
    int ntensors, *first, *reader;
    int *member_at; /* per grid: which member it is, or -1 */
    int *passed;    /* per tensor: a task that is no member stores to it, behind the first of task
                     * number `task` */
    int task;
    et_grid whole; /* the first of them as one tile, or ROWS: a tile for each row */
    bool rows;
    int bytes;          /* of their local memory, at most */
    int nsteps, nloads; /* of all of them */
    et_func f;          /* what they become */
};

/* ---- does one read what the other wrote? ---- */

struct reader {
    const struct join *j;
    et_expr row; /* none: of any */
    bool yes, no;
};

static void note_read(void *ctx, const et_step *s, int tensor, bool is_store,
                      const et_expr *index) {
    (void)s;
    struct reader *r = ctx;
    for (int i = 0; i < r->j->nmembers && !is_store; i++) {
        if (r->j->member[i].tensor != tensor) continue;
        r->yes = true;
        r->no |= r->row.id && !et_expr_eq(index[0], r->row);
    }
}

/* Does the function read what one of the members writes, and, where they have rows, no other row
 * of it than its own? */
static bool reads(const struct join *j, int func) {
    const et_func *f = &j->p->funcs[func];
    struct reader r = {.j = j};
    if (j->rows) r.row = et_var(j->x, f->coord[0]);
    et_func_accesses(j->p, f, note_read, &r);
    return r.yes && !r.no;
}

/* Does the function read what a task stores that stands between it and the members? */
static void note_passed(void *ctx, const et_step *s, int tensor, bool is_store,
                        const et_expr *index) {
    (void)s, (void)index;
    struct reader *r = ctx;
    r->no |= !is_store && r->j->passed[tensor] == r->j->task;
}

static bool reads_passed(const struct join *j, int func) {
    struct reader r = {.j = j};
    et_func_accesses(j->p, &j->p->funcs[func], note_passed, &r);
    return r.no;
}

static void note_store(void *ctx, const et_step *s, int tensor, bool is_store,
                       const et_expr *index) {
    (void)s, (void)index;
    struct join *j = ctx;
    if (is_store) j->passed[tensor] = j->task;
}

struct listing {
    struct join *j;
    int grid, *next; /* where the next reader of a tensor goes; NULL: they are counted */
};

static void list_read(void *ctx, const et_step *s, int tensor, bool is_store,
                      const et_expr *index) {
    (void)s, (void)index;
    struct listing *l = ctx;
    if (is_store) return;
    if (l->next)
        l->j->reader[l->next[tensor]++] = l->grid;
    else
        l->j->first[tensor + 1]++;
}

static void list_grids(struct join *j, int *next) {
    for (int g = 0; g < j->p->ngrids; g++) {
        struct listing l = {j, g, next};
        et_func_accesses(j->p, &j->p->funcs[j->p->grids[g].func], list_read, &l);
    }
}

/* Which tasks read which tensors, before any becomes part of another. */
static void list_readers(struct join *j) {
    int n = j->ntensors = j->p->ntensors;
    int *next = et_alloc(j->mem, (size_t)(n + 1) * sizeof *next);
    j->first = et_alloc(j->mem, (size_t)(n + 1) * sizeof *j->first);
    j->member_at = et_alloc(j->mem, (size_t)(j->p->ngrids + 1) * sizeof *j->member_at);
    for (int g = 0; g < j->p->ngrids; g++)
        j->member_at[g] = -1;
    list_grids(j, NULL);
    for (int t = 0; t < n; t++)
        next[t] = j->first[t], j->first[t + 1] += j->first[t];
    j->reader = et_alloc(j->mem, (size_t)(j->first[n] + 1) * sizeof *j->reader);
    list_grids(j, next);
}

static bool read_inside(const struct join *j, int member) {
    int t = j->member[member].tensor;
    for (int i = j->first[t]; i < j->first[t + 1]; i++) {
        int by = j->member_at[j->reader[i]];
        if (by > member && j->member[by].needed) return true;
    }
    return false;
}

static bool read_outside(const struct join *j, int member) {
    int t = j->member[member].tensor;
    for (int i = j->first[t]; i < j->first[t + 1]; i++)
        if (j->member_at[j->reader[i]] < 0) return true;
    return false;
}

/* ---- tasks of one tile ---- */

static bool is_hinted(const et_group *gr) {
    bool any = gr->hint != ET_HINT_NONE || gr->slice.count || gr->range.to || gr->dealt;
    for (int d = 0; d < gr->rank; d++)
        any |= gr->tile[d] != 0;
    return any;
}

/* Each element of a temporary once, at the place that the axes say. */
static bool may_join(const struct join *j, const et_group *gr) {
    if (gr->kind != ET_GROUP_STORE || gr->nproduct || is_hinted(gr) ||
        gr->to.space != ET_LOAD_TENSOR)
        return false;
    const et_tensor *t = &j->p->tensors[gr->to.id];
    if (t->kind != ET_TENSOR_TEMP || t->carried || t->partial || gr->to.rank != gr->rank ||
        !et_tile_alone_writes(j->p, gr))
        return false;
    for (int d = 0; d < gr->rank; d++) {
        int64_t n;
        bool one = et_is_int(j->x, gr->to.index[d], &n) && n == 0;
        if (!one && !et_expr_eq(gr->to.index[d], et_var(j->x, gr->axis[d]))) return false;
    }
    return true;
}

static bool is_one(const struct join *j, const et_grid *g) {
    int64_t n;
    return et_is_int(j->x, et_grid_tiles(j->p, g), &n) && n == 1;
}

/* GRID of GROUP as one tile: the grid, whose function is the last there is or its own. */
static bool as_one(const struct join *j, const et_group *gr, const et_grid *grid, et_grid *out) {
    et_program *p = j->p;
    int ngrids = p->ngrids;
    *out = *grid;
    if (!may_join(j, gr)) return false;
    if (is_one(j, grid)) return true;
    if (!et_tile_whole(j->common, gr, false)) return false;
    *out = p->grids[ngrids];
    p->ngrids = ngrids;
    return is_one(j, out);
}

/* ---- tasks of a tile for each row ---- */

/* Could there be a tile for each element of the group's first axis, all at the same time? */
static bool may_have_rows(const struct join *j, const et_group *gr) {
    int64_t lo, hi;
    return may_join(j, gr) && gr->rank > 1 &&
           et_bounds(j->x, et_var_extent(j->x, gr->axis[0]), &lo, &hi) && hi > 1 &&
           hi <= j->common->opt->machine->cus;
}

/* GRID of GROUP with a tile for each row. */
static bool as_rows(const struct join *j, const et_group *gr, et_grid *out) {
    et_program *p = j->p;
    int ngrids = p->ngrids;
    if (!may_have_rows(j, gr) || !et_tile_whole(j->common, gr, true)) return false;
    *out = p->grids[ngrids];
    p->ngrids = ngrids;
    return p->funcs[out->func].ncoords == 1;
}

static int row_of(const struct join *j, int func) {
    return j->rows ? j->p->funcs[func].coord[0] : -1;
}

/* ---- one function of several ---- */

struct move {
    const struct join *j;
    int by;  /* so many locals come before */
    int row; /* the member's coordinate, or -1 */
};

static const struct member *kept(const struct join *j, int tensor) {
    for (int i = 0; i < j->nmembers; i++)
        if (j->member[i].tensor == tensor && j->member[i].local >= 0) return &j->member[i];
    return NULL;
}

/* Reads results of steps before from local memory; indices are rewritten already. */
static et_expr move_load(void *ctx, et_exprs *x, et_expr leaf) {
    const struct move *m = ctx;
    et_node_x n = *et_x(x, leaf);
    et_expr index[ET_MAX_RANK];
    int rank = 0;
    if (n.op == ET_X_VAR && n.i == m->row) return et_var(x, row_of(m->j, m->j->whole.func));
    if (n.op != ET_X_LOAD) return ET_NO_EXPR;
    const struct member *k = n.i2 == ET_LOAD_TENSOR ? kept(m->j, n.i) : NULL;
    if (!k && n.i2 == ET_LOAD_TENSOR) return ET_NO_EXPR;
    for (int d = 0; d < n.nops; d++)
        if (!k || k->counts[d]) index[rank++] = n.ops[d];
    if (!rank) index[rank++] = et_int(x, 0);
    return et_load(x, ET_LOAD_LOCAL, k ? k->local : n.i + m->by, n.type, rank, index);
}

static et_expr moved(const struct move *m, et_expr e) {
    return e.id ? et_subst(m->j->x, e, move_load, (void *)m) : e;
}

static void add_step(struct join *j, const et_step *s) {
    ET_GROW(j->mem, j->f.steps, j->f.nsteps, j->f.csteps);
    j->f.steps[j->f.nsteps++] = *s;
}

/* Is E, of a place in a tensor, an element of a local buffer's side, of *OUT? */
static bool is_counted(const struct join *j, et_expr e, int64_t *out) {
    const et_node_x *n = et_x(j->x, e);
    return n->op == ET_X_VAR && n->i != row_of(j, j->whole.func) &&
           et_is_int(j->x, et_var_extent(j->x, n->i), out);
}

/* A local buffer for the result of step S, which stores to a tensor; returns an element of it. */
static et_expr keep(struct join *j, struct member *k, const et_step *s, et_place *to) {
    const et_tensor *t = &j->p->tensors[k->tensor];
    int dim[ET_MAX_RANK];
    *to = (et_place){.space = ET_LOAD_LOCAL};
    for (int d = 0; d < s->to.rank; d++) {
        int64_t extent;
        k->counts[d] = is_counted(j, s->to.index[d], &extent);
        if (!k->counts[d]) continue;
        dim[to->rank] = (int)extent;
        to->index[to->rank++] = s->to.index[d];
    }
    if (!to->rank) dim[0] = 1, to->index[to->rank++] = et_int(j->x, 0);
    to->id = k->local = et_local_add(j->p, &j->f, et_printf(j->mem, "t%d", j->f.nlocals),
                                     t->shape.dtype, to->rank, dim, dim[to->rank - 1]);
    return et_load(j->x, ET_LOAD_LOCAL, to->id, t->shape.dtype == ET_I32 ? ET_T_I32 : ET_T_F32,
                   to->rank, to->index);
}

/* Does step S store a copy of a local buffer, so that readers may read that buffer instead? */
static bool is_kept(struct join *j, struct member *k, const et_step *s) {
    et_node_x n = *et_x(j->x, s->value);
    int64_t extent;
    int rank = 0;
    if (!j->common->opt->machine->group_waves || s->mask.id || n.op != ET_X_LOAD ||
        n.i2 != ET_LOAD_LOCAL || j->f.locals[n.i].dtype != j->p->tensors[k->tensor].shape.dtype)
        return false;
    for (int d = 0; d < s->to.rank; d++) {
        k->counts[d] = is_counted(j, s->to.index[d], &extent);
        if (!k->counts[d]) continue;
        if (rank == n.nops || !et_expr_eq(n.ops[rank], s->to.index[d]) ||
            j->f.locals[n.i].dim[rank++] != extent)
            return false;
    }
    if (rank != n.nops) return false;
    k->local = n.i;
    return true;
}

/* A member's last step: into local memory for those behind it, and for other tasks to the tensor.
 */
static void store(struct join *j, int member, et_step s) {
    struct member *k = &j->member[member];
    bool inside = read_inside(j, member);
    if (inside && !is_kept(j, k, &s)) {
        et_step local = s;
        s.value = keep(j, k, &s, &local.to);
        add_step(j, &local);
    }
    if (!inside || read_outside(j, member)) add_step(j, &s);
}

/* The steps of a member behind those that there are. */
static void append(struct join *j, int member) {
    const et_func *g = &j->p->funcs[j->member[member].func];
    struct move m = {j, j->f.nlocals, row_of(j, j->member[member].func)};
    int from = j->f.lds_bytes;
    for (int i = 0; i < g->nlocals; i++) {
        et_local l = g->locals[i];
        l.name = et_printf(j->mem, "r%d", j->f.nlocals);
        l.offset += from;
        ET_GROW(j->mem, j->f.locals, j->f.nlocals, j->f.clocals);
        j->f.locals[j->f.nlocals++] = l;
    }
    j->f.lds_bytes += g->lds_bytes;
    for (int i = 0; i < g->nsteps; i++) {
        et_step s = g->steps[i];
        s.mask = moved(&m, s.mask);
        s.value = moved(&m, s.value);
        s.rextent = moved(&m, s.rextent);
        for (int d = 0; d < s.to.rank; d++)
            s.to.index[d] = moved(&m, s.to.index[d]);
        if (s.to.space == ET_LOAD_LOCAL) {
            s.to.id += m.by;
            add_step(j, &s);
        } else {
            store(j, member, s);
        }
    }
}

/* ---- which ones ---- */

static void count_node(void *ctx, et_expr e) {
    (void)e;
    ++*(double *)ctx;
}

static double ceiling(double n, double by) {
    return (double)(int64_t)((n + by - 1) / by);
}

static double most(const struct join *j, et_expr e) {
    int64_t lo, hi;
    return et_bounds(j->x, e, &lo, &hi) ? (double)hi : INT32_MAX;
}

/* The time of a tile's steps by their instructions: waves share the elements of a map, and rows
 * that are reduced, whose lanes' parts are then added up in turn. */
static double steps_us(const struct join *j, int func) {
    const et_func *f = &j->p->funcs[func];
    const et_machine *m = j->common->opt->machine;
    double n = 0;
    for (int i = 0; i < f->nsteps; i++) {
        const et_step *s = &f->steps[i];
        double rows = 1, nodes = 0, lanes = m->wave_size;
        for (int v = 0; v < s->nvars; v++)
            rows *= most(j, et_var_extent(j->x, s->vars[v]));
        et_walk(j->x, s->value, count_node, &nodes);
        if (s->kind == ET_STEP_REDUCE)
            n += ceiling(rows, m->waves) *
                 (ceiling(most(j, s->rextent), lanes) * nodes + 2 * log2(lanes));
        else
            n += ceiling(rows, m->waves * lanes) * nodes;
    }
    return n * m->issue_cycles / (m->clock_ghz * 1e3);
}

struct weights {
    const struct join *j;
    double bytes;
};

static void count_weights(void *ctx, const et_step *s, int tensor, bool is_store,
                          const et_expr *index) {
    struct weights *w = ctx;
    const et_tensor *t = &w->j->p->tensors[tensor];
    et_step_var v[ET_STEP_VARS];
    if (is_store || t->kind != ET_TENSOR_WEIGHT) return;
    double elements = 1;
    for (int i = 0, n = et_step_vars(w->j->x, s, v); i < n; i++) {
        bool any = false;
        for (int d = 0; d < t->shape.rank; d++)
            any |= et_expr_has_var(w->j->x, index[d], v[i].var);
        if (any) elements *= most(w->j, v[i].extent);
    }
    w->bytes += elements * et_dtype_bits(t->shape.dtype) / 8;
}

/* The time of reading a tile's weights from memory. */
static double weights_us(const struct join *j, int func) {
    struct weights w = {j, 0};
    et_func_accesses(j->p, &j->p->funcs[func], count_weights, &w);
    return w.bytes / (j->common->opt->machine->cache_gbs_cu * 1e3);
}

static double tile_us(const struct join *j, int func) {
    return steps_us(j, func) + weights_us(j, func);
}

/* Is GRID better done as one tile, WHOLE, behind the members than with an event in between? */
static bool pays(const struct join *j, const et_grid *grid, const et_grid *whole) {
    const et_machine *m = j->common->opt->machine;
    double one = tile_us(j, whole->func) + m->latency_us, tile = tile_us(j, grid->func);
    for (int i = 0; i < ET_SAMPLES; i++) {
        double tiles = (double)et_eval(j->x, et_grid_tiles(j->p, grid), j->syms[i], j->vars);
        double apart = ceiling(tiles, m->cus) * (tile + ET_DEPENDENT_LOADS * m->latency_us);
        if (one > apart + m->event_us) return false;
    }
    return true;
}

/* Which members are needed: where there is one tile of rows, its coordinate is not needed. The
 * last where none is. Returns the last that is. */
static const struct member *find_needed(struct join *j) {
    const struct member *last = NULL;
    bool any = false;
    for (int i = 0; i < j->nmembers; i++)
        any |= read_outside(j, i);
    for (int i = j->nmembers - 1; i >= 0; i--) {
        struct member *k = &j->member[i];
        k->needed = read_outside(j, i) || read_inside(j, i) || (!any && !last);
        if (k->needed && !last) last = k;
    }
    return last;
}

/* The members become one task, called after the last, in place of the first. */
static void close_task(struct join *j) {
    et_program *p = j->p;
    if (j->nmembers > 1) {
        const struct member *first = &j->member[0], *last = find_needed(j);
        j->f = (et_func){.name = p->funcs[last->func].name, .ncoords = j->rows ? 1 : 0};
        j->f.coord[0] = row_of(j, j->whole.func);
        for (int i = 0; i < j->nmembers; i++)
            if (j->member[i].needed) append(j, i);
        ET_GROW(j->mem, p->funcs, p->nfuncs, p->cfuncs);
        p->funcs[p->nfuncs] = j->f;
        j->whole.func = p->nfuncs++;
        j->whole.name = p->grids[last->grid].name;
        p->grids[first->grid] = j->whole;
        p->groups[first->grid] = p->groups[last->grid];
    }
    for (int i = 0; i < j->nmembers; i++)
        j->member_at[j->member[i].grid] = -1;
    j->task++;
    j->nmembers = 0;
    j->bytes = j->nsteps = j->nloads = 0;
    j->rows = false;
}

/* Bytes of local memory that a member takes at most: its own, and either as many again or what its
 * last step leaves for others. */
static int member_bytes(const struct join *j, int func) {
    const et_func *f = &j->p->funcs[func];
    const et_step *s = &f->steps[f->nsteps - 1];
    double kept = 4;
    for (int d = 0; d < s->to.rank; d++) {
        const et_node_x *n = et_x(j->x, s->to.index[d]);
        int64_t extent;
        if (n->op == ET_X_VAR && et_is_int(j->x, et_var_extent(j->x, n->i), &extent))
            kept *= (double)extent;
    }
    if (kept > ROOM) kept = ROOM + 1;
    return f->lds_bytes + (kept > f->lds_bytes ? (int)kept : f->lds_bytes);
}

static void count_load(void *ctx, const et_step *s, int tensor, bool is_store,
                       const et_expr *index) {
    (void)s, (void)tensor, (void)index;
    *(int *)ctx += !is_store;
}

static int loads_of(const struct join *j, int func) {
    int n = 0;
    et_func_accesses(j->p, &j->p->funcs[func], count_load, &n);
    return n;
}

static void add_member(struct join *j, int g, const et_grid *whole) {
    const et_program *p = j->p;
    if (!j->nmembers) j->whole = *whole;
    ET_GROW(j->mem, j->member, j->nmembers, j->cmembers);
    j->member[j->nmembers++] =
        (struct member){.grid = g, .func = whole->func, .tensor = p->groups[g].to.id, .local = -1};
    j->member_at[g] = j->nmembers - 1;
    j->bytes += member_bytes(j, whole->func);
    j->nsteps += p->funcs[whole->func].nsteps;
    j->nloads += loads_of(j, whole->func);
}

/* Grid G, or WHOLE in its place, behind the members. */
static bool joins_as(const struct join *j, int g, const et_grid *whole) {
    const et_func *f = &j->p->funcs[whole->func];
    return whole->model == j->whole.model && whole->loop == j->whole.loop &&
           j->bytes + member_bytes(j, whole->func) <= ROOM &&
           j->nsteps + f->nsteps <= (j->rows ? ROW_STEPS : STEPS) &&
           j->nloads + loads_of(j, whole->func) <= LOADS && reads(j, whole->func) &&
           !reads_passed(j, whole->func) && pays(j, &j->p->grids[g], whole);
}

/* The group of the list's items AT to END - 1 that reads what group G writes first, or NULL. */
static const et_group *reader_of(const struct join *j, int g, int at, int end) {
    int t = j->p->groups[g].to.id;
    for (const et_item *it = j->p->items; at < end && it[at].kind == ET_P_GRID; at++)
        for (int i = j->first[t]; i < j->first[t + 1]; i++)
            if (j->reader[i] == it[at].index) return &j->p->groups[it[at].index];
    return NULL;
}

/* Grid G, item AT of its list's END, becomes the first of a task, if it can. */
static bool begins(struct join *j, int g, int at, int end, bool one, const et_grid *as) {
    const et_group *gr = &j->p->groups[g], *next;
    et_grid rows;
    if (one && is_one(j, &j->p->grids[g])) {
        close_task(j);
        add_member(j, g, as);
        return true;
    }
    if (!may_have_rows(j, gr) || !(next = reader_of(j, g, at + 1, end)) ||
        !may_have_rows(j, next) || !as_rows(j, gr, &rows))
        return false;
    close_task(j);
    j->rows = true;
    add_member(j, g, &rows);
    return true;
}

/* Whether item AT of a list, a grid, becomes part of a task before it. Others may stand between
 * them that store nothing it reads: what is joined runs in front of these. */
static bool joins(struct join *j, int at, int end) {
    et_program *p = j->p;
    int g = p->items[at].index;
    et_grid whole;
    bool one = !j->rows && as_one(j, &p->groups[g], &p->grids[g], &whole);
    if (j->nmembers && (j->rows ? as_rows(j, &p->groups[g], &whole) : one) &&
        joins_as(j, g, &whole)) {
        add_member(j, g, &whole);
        return true;
    }
    if (j->rows) one = as_one(j, &p->groups[g], &p->grids[g], &whole);
    if (!begins(j, g, at, end, one, &whole))
        et_func_accesses(p, &p->funcs[p->grids[g].func], note_store, j);
    return false;
}

/* Which items of a list are part of those before them. */
static void join_list(struct join *j, int first, int count, bool *gone) {
    for (int i = first; i < first + count; i++)
        if (j->p->items[i].kind == ET_P_GRID)
            gone[i] = joins(j, i, first + count);
        else
            close_task(j);
    close_task(j);
}

void et_tile_join(const et_tiler *common) {
    et_program *p = common->p;
    struct join *j = et_alloc(p->g->arena, sizeof *j);
    *j = (struct join){.common = common, .p = p, .x = p->g->exprs, .mem = p->g->arena};
    bool *gone = et_alloc(p->g->arena, (size_t)p->nitems + 1);
    et_sample_symbols(j->x, j->syms);
    j->vars = et_alloc(j->mem, ((size_t)et_var_count(j->x) + 1) * sizeof *j->vars);
    list_readers(j);
    j->passed = et_alloc(j->mem, (size_t)(p->ntensors + 1) * sizeof *j->passed);
    j->task = 1;
    join_list(j, p->first, p->count, gone);
    for (int i = 0; i < p->nitems; i++)
        if (p->items[i].kind == ET_P_LOOP) join_list(j, p->items[i].first, p->items[i].count, gone);
    et_tile_take_out(p, gone);
}
