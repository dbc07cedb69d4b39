#include "tests/passes/verify/oracle.h"
#include "ir/interp/interp.h"
#include "ir/program/step.h"
#include <stdlib.h>
#include <string.h>

/* A task: its grid, and the values of all variables that name it. */
struct task {
    int grid;
    int64_t loop[ET_MAX_LOOPS], coord[ET_MAX_RANK];
};

struct cell {
    int writer; /* task + 1 */
    int *reader, nreaders, creaders;
};

struct oracle {
    et_program *p;
    const int64_t *syms;
    int64_t *vars;
    int nvars, dies;
    int32_t *
        *held; /* by tensor: what it holds at the end, of integer tensors that the caller owns */
    struct task *task;
    int ntasks, ctasks;
    /* Sets of tasks, twice: for what takes fences, then for what has tags. Of those before a task,
     * the first set is by events with fences, the second by all. */
    int words;
    uint64_t *pair; /* [later][2][earlier] */
    int64_t npairs;
    struct cell **cell; /* by tensor; of the workspace at [ntensors], a cell for two bytes */
    int64_t *ncells;
};

/* ---- tasks in program order ---- */

static int path_of(const et_program *p, int loop, int path[ET_MAX_LOOPS]) {
    int n = 0;
    for (int l = loop; l >= 0; l = p->g->loops[l].parent)
        n++;
    for (int l = loop, i = n; l >= 0; l = p->g->loops[l].parent)
        path[--i] = l;
    return n;
}

static void list_tiles(oracle *o, int grid, const int64_t *loop, int64_t *coord, int c) {
    const et_grid *g = &o->p->grids[grid];
    if (c < o->p->funcs[g->func].ncoords) {
        int64_t n = et_eval(o->p->g->exprs, g->extent[c], o->syms, o->vars);
        for (coord[c] = 0; coord[c] < n; coord[c]++)
            list_tiles(o, grid, loop, coord, c + 1);
        return;
    }
    if (o->ntasks == o->ctasks) {
        o->ctasks = o->ctasks ? 2 * o->ctasks : 256;
        o->task = realloc(o->task, (size_t)o->ctasks * sizeof *o->task);
    }
    struct task *t = &o->task[o->ntasks++];
    t->grid = grid;
    memcpy(t->loop, loop, sizeof t->loop);
    memcpy(t->coord, coord, sizeof t->coord);
}

static void list_tasks(oracle *o, int first, int count, int64_t *loop, int depth) {
    for (int i = first; i < first + count; i++) {
        const et_item *it = &o->p->items[i];
        int64_t coord[ET_MAX_RANK] = {0};
        if (it->kind == ET_P_GRID) {
            list_tiles(o, it->index, loop, coord, 0);
            continue;
        }
        const et_loop *l = &o->p->g->loops[it->index];
        int64_t trips = et_eval(o->p->g->exprs, l->trips, o->syms, NULL);
        for (loop[depth] = 0; loop[depth] < trips; loop[depth]++)
            list_tasks(o, it->first, it->count, loop, depth + 1);
    }
}

/* ---- pairs ---- */

static uint64_t *set_of(uint64_t *all, const oracle *o, int task, int which) {
    return all + (2 * (size_t)task + (size_t)which) * (size_t)o->words;
}

static void need(oracle *o, int earlier, int later, bool tagged) {
    uint64_t *w = &set_of(o->pair, o, later, tagged)[earlier >> 6];
    uint64_t bit = (uint64_t)1 << (earlier & 63);
    if (earlier == later || *w & bit) return;
    *w |= bit;
    o->npairs++;
}

static void touch_cell(oracle *o, struct cell *c, int task, bool store, bool tagged) {
    if (c->writer) need(o, c->writer - 1, task, tagged);
    for (int i = 0; store && i < c->nreaders; i++)
        need(o, c->reader[i], task, tagged);
    if (store) {
        c->writer = task + 1;
        c->nreaders = 0;
    } else if (!c->nreaders || c->reader[c->nreaders - 1] != task) {
        if (c->nreaders == c->creaders) {
            c->creaders = c->creaders ? 2 * c->creaders : 4;
            c->reader = realloc(c->reader, (size_t)c->creaders * sizeof *c->reader);
        }
        c->reader[c->nreaders++] = task;
    }
}

static void touch(void *ctx, const et_interp_touch *at) {
    oracle *o = ctx;
    if (at->space != ET_LOAD_TENSOR) return;
    const et_tensor *t = &o->p->tensors[at->id];
    if (t->kind != ET_TENSOR_TEMP) {
        if (o->cell[at->id])
            touch_cell(o, &o->cell[at->id][at->element], at->task, at->is_store, false);
        return;
    }
    int half = et_dtype_bytes(t->shape.dtype) / 2;
    for (int i = 0; i < half; i++)
        touch_cell(o, &o->cell[o->p->ntensors][t->offset / 2 + at->element * half + i], at->task,
                   at->is_store, t->tagged);
}

static void note_store(void *ctx, const et_step *step, int tensor, bool is_store,
                       const et_expr *index) {
    (void)step, (void)index;
    if (is_store) ((bool *)ctx)[tensor] = true;
}

static void make_cells(oracle *o) {
    et_program *p = o->p;
    bool *stored = calloc((size_t)p->ntensors + 1, 1);
    for (int f = 0; f < p->nfuncs; f++)
        et_func_accesses(p, &p->funcs[f], note_store, stored);
    o->cell = calloc((size_t)p->ntensors + 1, sizeof *o->cell);
    o->ncells = calloc((size_t)p->ntensors + 1, sizeof *o->ncells);
    for (int t = 0; t <= p->ntensors; t++) {
        int64_t n = 1;
        if (t < p->ntensors && (!stored[t] || p->tensors[t].kind == ET_TENSOR_TEMP)) continue;
        if (t == p->ntensors)
            n = p->workspace_bytes / 2 + 2;
        else
            for (int d = 0; d < p->tensors[t].shape.rank; d++)
                n *= et_eval(p->g->exprs, p->tensors[t].shape.dim[d], o->syms, NULL);
        o->ncells[t] = n;
        o->cell[t] = calloc((size_t)n + 1, sizeof **o->cell);
    }
    free(stored);
}

static void free_cells(oracle *o) {
    for (int t = 0; o->cell && t <= o->p->ntensors; t++) {
        for (int64_t i = 0; o->cell[t] && i < o->ncells[t]; i++)
            free(o->cell[t][i].reader);
        free(o->cell[t]);
    }
    free(o->cell);
    free(o->ncells);
    o->cell = NULL;
    o->ncells = NULL;
}

static int64_t elements(const oracle *o, int tensor) {
    const et_shape *s = &o->p->tensors[tensor].shape;
    int64_t n = 1;
    for (int d = 0; d < s->rank; d++)
        n *= et_eval(o->p->g->exprs, s->dim[d], o->syms, NULL);
    return n;
}

static void hold(oracle *o, void *const *memory) {
    o->held = calloc((size_t)o->p->ntensors + 1, sizeof *o->held);
    for (int t = 0; t < o->p->ntensors; t++) {
        const void *at =
            o->p->tensors[t].kind == ET_TENSOR_CONST ? o->p->tensors[t].data : memory[t];
        if (o->p->tensors[t].shape.dtype != ET_I32 || !at) continue;
        size_t bytes = (size_t)elements(o, t) * sizeof **o->held;
        o->held[t] = memcpy(malloc(bytes + 1), at, bytes);
    }
}

oracle *oracle_create(et_program *p, const int64_t *syms, void *const *memory, int most, int dies) {
    oracle *o = calloc(1, sizeof *o);
    int64_t loop[ET_MAX_LOOPS] = {0};
    char err[ET_INTERP_ERR];
    o->p = p;
    o->syms = syms;
    o->dies = dies;
    o->nvars = et_var_count(p->g->exprs) + 1;
    o->vars = calloc((size_t)o->nvars, sizeof *o->vars);
    list_tasks(o, p->first, p->count, loop, 0);
    o->words = (o->ntasks + 63) / 64;
    bool ok = o->ntasks <= most;
    if (ok) {
        o->pair = calloc(2 * (size_t)o->ntasks * (size_t)o->words + 1, sizeof *o->pair);
        make_cells(o);
        et_interp_options opt = {.touch = touch, .ctx = o};
        ok = et_program_run(p, syms, memory, &opt, err);
        free_cells(o);
        hold(o, memory);
    }
    if (ok) return o;
    oracle_destroy(o);
    return NULL;
}

void oracle_destroy(oracle *o) {
    if (!o) return;
    for (int t = 0; o->held && t < o->p->ntensors; t++)
        free(o->held[t]);
    free(o->held);
    free(o->vars);
    free(o->task);
    free(o->pair);
    free(o);
}

/* ---- events ---- */

struct word {
    int *arrived, n, cap;
};

struct check {
    const oracle *o;
    const et_program *p;
    struct word *word;
    char *why;
    bool astray; /* an index reads outside its tensor, or one whose contents are not known here */
};

static bool wrong(struct check *c, const char *what, int task, const char *name) {
    snprintf(c->why, 256, "%s: %s, task %d of %s", what, name, task,
             task < 0 ? "none" : c->p->grids[c->o->task[task].grid].name);
    return false;
}

static void enter(const struct check *c, int task) {
    const struct task *t = &c->o->task[task];
    const et_grid *g = &c->p->grids[t->grid];
    int path[ET_MAX_LOOPS], n = path_of(c->p, g->loop, path);
    for (int i = 0; i < n; i++)
        c->o->vars[c->p->g->loops[path[i]].var] = t->loop[i];
    for (int i = 0; i < c->p->funcs[g->func].ncoords; i++)
        c->o->vars[c->p->funcs[g->func].coord[i]] = t->coord[i];
}

static bool applies(const struct check *c, int task, et_when when) {
    const et_grid *g = &c->p->grids[c->o->task[task].grid];
    if (g->loop < 0 || when == ET_ALWAYS) return true;
    const et_loop *l = &c->p->g->loops[g->loop];
    int64_t i = c->o->vars[l->var];
    return when == ET_FIRST_ITERATION ? i == 0
           : when == ET_LAST_ITERATION
               ? i == et_eval(c->o->p->g->exprs, l->trips, c->o->syms, NULL) - 1
               : i > 0;
}

static int64_t value(struct check *c, et_expr e);

static int64_t loaded(struct check *c, const et_node_x *n) {
    const et_shape *s = &c->p->tensors[n->i].shape;
    int64_t at = 0;
    for (int d = 0; d < n->nops; d++) {
        int64_t i = value(c, n->ops[d]), dim = value(c, s->dim[d]);
        c->astray |= i < 0 || i >= dim;
        at = at * dim + i;
    }
    c->astray |= !c->o->held[n->i];
    return c->astray ? 0 : c->o->held[n->i][at];
}

static int64_t value(struct check *c, et_expr e) {
    const et_node_x *n = et_x(c->p->g->exprs, e);
    if (n->op == ET_X_INT) return n->n;
    if (n->op == ET_X_SYM) return c->o->syms[n->i];
    if (n->op == ET_X_VAR) return c->o->vars[n->i];
    if (n->op == ET_X_LOAD) return loaded(c, n);
    if (n->op == ET_X_SELECT) return value(c, n->ops[value(c, n->ops[0]) ? 1 : 2]);
    int64_t a = value(c, n->ops[0]), b = value(c, n->ops[1]), q;
    switch (n->op) {
    case ET_X_ADD:
        return a + b;
    case ET_X_SUB:
        return a - b;
    case ET_X_MUL:
        return a * b;
    case ET_X_EQ:
        return a == b;
    case ET_X_LE:
        return a <= b;
    case ET_X_MIN:
        return a < b ? a : b;
    case ET_X_MAX:
        return a > b ? a : b;
    case ET_X_IDIV:
    case ET_X_MOD:
        if (!b) return 0;
        q = a / b - (a % b != 0 && (a < 0) != (b < 0));
        return n->op == ET_X_IDIV ? q : a - q * b;
    default:
        c->astray = true;
        return 0;
    }
}

/* Variables to their first or next values. */
static bool first_values(struct check *c, int n, const int *vars) {
    bool any = true;
    for (int i = 0; i < n; i++)
        c->o->vars[vars[i]] = 0;
    for (int i = 0; i < n; i++)
        any &= value(c, et_var_extent(c->p->g->exprs, vars[i])) > 0;
    return any;
}

static bool next_values(struct check *c, int n, const int *vars) {
    for (int i = n - 1; i >= 0; i--) {
        if (++c->o->vars[vars[i]] < value(c, et_var_extent(c->p->g->exprs, vars[i]))) return true;
        c->o->vars[vars[i]] = 0;
    }
    return false;
}

/* The word of a counter, -1 when there is none. */
static int word_of(struct check *c, int event, const int64_t *at) {
    const et_event *ev = &c->p->events[event];
    int64_t word = 0, lo, hi;
    for (int d = 0; d < ev->rank; d++) {
        if (at[d] < 0 || at[d] >= value(c, ev->dim[d])) return -1;
        et_bounds(c->p->g->exprs, ev->dim[d], &lo, &hi);
        word = word * hi + at[d];
    }
    return ev->base + word < c->p->event_words ? (int)(ev->base + word) : -1;
}

static bool arrive_one(struct check *c, int task, const et_notify *n) {
    int64_t at[ET_MAX_RANK];
    for (int d = 0; d < c->p->events[n->event].rank; d++)
        at[d] = value(c, n->index[d]);
    if (c->astray) return wrong(c, "notify reads astray", task, c->p->events[n->event].name);
    int w = word_of(c, n->event, at);
    if (w < 0 && n->nvars) return true;
    if (w < 0) return wrong(c, "notify outside", task, c->p->events[n->event].name);
    struct word *word = &c->word[w];
    if (word->n == word->cap) {
        word->cap = word->cap ? 2 * word->cap : 4;
        word->arrived = realloc(word->arrived, (size_t)word->cap * sizeof *word->arrived);
    }
    word->arrived[word->n++] = task;
    return true;
}

static bool arrive(struct check *c, int task) {
    const et_grid *g = &c->p->grids[c->o->task[task].grid];
    enter(c, task);
    for (int i = 0; i < g->nnotifies; i++) {
        const et_notify *n = &g->notifies[i];
        if (!applies(c, task, n->when) || !first_values(c, n->nvars, n->vars)) continue;
        do
            if (!arrive_one(c, task, n)) return false;
        while (next_values(c, n->nvars, n->vars));
    }
    return true;
}

/* Arrivals that complete the counter. */
static int64_t need_of(struct check *c, const et_event *ev, const int64_t *at) {
    for (int d = 0; d < ev->rank; d++)
        if (ev->var[d]) c->o->vars[ev->var[d] - 1] = at[d];
    int64_t n = value(c, ev->count);
    return n > 0 ? n : 0;
}

/* The slice a task is in, or -1. */
static int64_t slice_of(struct check *c, int task) {
    const struct task *t = &c->o->task[task];
    const et_grid *g = &c->p->grids[t->grid];
    if (!g->slice.count || g->dynamic) return -1;
    int64_t extent = et_eval(c->p->g->exprs, g->extent[g->slice.coord], c->o->syms, NULL);
    return et_slice_of(t->coord[g->slice.coord], extent, g->slice.count);
}

/* An event of this scope orders the two. */
static bool reaches(struct check *c, et_scope scope, int a, int b) {
    if (scope >= ET_SCOPE_DEVICE || (scope == ET_SCOPE_DIE && c->o->dies == 1)) return true;
    return scope == ET_SCOPE_DIE && slice_of(c, a) >= 0 && slice_of(c, a) == slice_of(c, b);
}

/* The grid before GRID in its list, or -1. */
static int grid_before(const et_program *p, int first, int count, int grid) {
    for (int i = first; i < first + count; i++) {
        const et_item *it = &p->items[i];
        if (it->kind == ET_P_GRID && it->index == grid)
            return i > first && it[-1].kind == ET_P_GRID ? it[-1].index : -1;
        int in = it->kind == ET_P_LOOP ? grid_before(p, it->first, it->count, grid) : -1;
        if (in >= 0) return in;
    }
    return -1;
}

/* Of tasks that one workgroup claims in turn: is EARLIER's turn after TASK's? A block of the grid
 * that is BEHIND comes when so many blocks more of the other have come, or all of them. */
static bool comes_later(const struct check *c, int earlier, int task) {
    const struct task *a = &c->o->task[earlier], *b = &c->o->task[task];
    const et_grid *g = &c->p->grids[b->grid];
    return g->behind && a->grid == grid_before(c->p, c->p->first, c->p->count, b->grid) &&
           !memcmp(a->loop, b->loop, sizeof a->loop) && a->coord[0] >= b->coord[0] + g->behind;
}

/* Grids in turn have as many blocks. */
static bool has_blocks(struct check *c, int task) {
    const struct task *t = &c->o->task[task];
    const et_grid *g = &c->p->grids[t->grid];
    if (!g->behind) return true;
    int other = grid_before(c->p, c->p->first, c->p->count, t->grid);
    bool same = other >= 0 && c->p->funcs[g->func].ncoords &&
                c->p->funcs[c->p->grids[other].func].ncoords &&
                value(c, g->extent[0]) == value(c, c->p->grids[other].extent[0]);
    return same || wrong(c, "other blocks", task, g->name);
}

/* All arrivals of the counter come first; add them and their pasts to TO. */
static bool join(struct check *c, int task, int event, const int64_t *at, uint64_t *past) {
    const oracle *o = c->o;
    const et_event *ev = &c->p->events[event];
    int w = word_of(c, event, at);
    if (w < 0) return wrong(c, "wait outside", task, ev->name);
    if (c->word[w].n != need_of(c, ev, at) || c->astray) return wrong(c, "count", task, ev->name);
    for (int i = 0; i < c->word[w].n; i++) {
        int a = c->word[w].arrived[i];
        if (a >= task || comes_later(c, a, task))
            return wrong(c, "waits for a later task", task, ev->name);
        if (!reaches(c, ev->scope, a, task)) continue;
        for (int which = ev->unfenced; which < 2; which++) {
            uint64_t *to = set_of(past, o, task, which), *from = set_of(past, o, a, which);
            for (int k = 0; k < o->words; k++)
                to[k] |= from[k];
            to[a >> 6] |= (uint64_t)1 << (a & 63);
        }
    }
    return true;
}

static bool wait_box(struct check *c, int task, const et_wait *w, uint64_t *past) {
    int64_t lo[ET_MAX_RANK], hi[ET_MAX_RANK], at[ET_MAX_RANK];
    int rank = c->p->events[w->event].rank, d;
    for (d = 0; d < rank; d++) {
        int64_t last = value(c, c->p->events[w->event].dim[d]) - 1;
        lo[d] = value(c, w->lo[d]);
        hi[d] = value(c, w->hi[d]);
        if (w->nvars && lo[d] < 0) lo[d] = 0;
        if (w->nvars && hi[d] > last) hi[d] = last;
        at[d] = lo[d];
    }
    if (c->astray) return wrong(c, "wait reads astray", task, c->p->events[w->event].name);
    for (d = 0; d < rank; d++)
        if (lo[d] > hi[d]) return true;
    do {
        if (!join(c, task, w->event, at, past)) return false;
        for (d = rank - 1; d >= 0 && at[d] == hi[d]; d--)
            at[d] = lo[d];
        if (d >= 0) at[d]++;
    } while (d >= 0);
    return true;
}

static bool wait(struct check *c, int task, const et_wait *w, uint64_t *past) {
    if (!first_values(c, w->nvars, w->vars)) return true;
    do
        if (!wait_box(c, task, w, past)) return false;
    while (next_values(c, w->nvars, w->vars));
    return true;
}

static bool check_task(struct check *c, int task, uint64_t *past) {
    const oracle *o = c->o;
    const et_grid *g = &c->p->grids[o->task[task].grid];
    enter(c, task);
    if (!has_blocks(c, task)) return false;
    for (int i = 0; i < g->nwaits; i++)
        if (applies(c, task, g->waits[i].when) && !wait(c, task, &g->waits[i], past)) return false;
    for (int k = 0; k < 2 * o->words; k++) {
        uint64_t missing = set_of(o->pair, o, task, 0)[k] & ~set_of(past, o, task, 0)[k];
        int other = 64 * (k % o->words) + (missing ? __builtin_ctzll(missing) : 0);
        if (missing) return wrong(c, "unordered", task, c->p->grids[o->task[other].grid].name);
    }
    return true;
}

bool oracle_accepts(oracle *o, const et_program *p, char why[256]) {
    int n = et_var_count(p->g->exprs) + 1;
    if (n > o->nvars) o->vars = realloc(o->vars, (size_t)n * sizeof *o->vars);
    o->nvars = n > o->nvars ? n : o->nvars;
    struct check c = {.o = o, .p = p, .why = why};
    bool ok = true;
    c.word = calloc((size_t)p->event_words + 1, sizeof *c.word);
    uint64_t *past = calloc(2 * (size_t)o->ntasks * (size_t)o->words + 1, sizeof *past);
    for (int t = 0; ok && t < o->ntasks; t++)
        ok = arrive(&c, t);
    for (int t = 0; ok && t < o->ntasks; t++)
        ok = check_task(&c, t, past);
    for (int w = 0; w < p->event_words; w++)
        free(c.word[w].arrived);
    free(c.word);
    free(past);
    return ok;
}
