/* Tagged temporaries: the box of elements that a tile reads of one; the steps that copy it to local
 * memory; and the number that each store's tag has, counted along the program. */
#include "passes/tag.h"
#include "ir/base/diag.h"
#include "ir/program/tags.h"
#include <string.h>

enum { MOST = 1 << 14, MAX_LOADS = 256 };

struct tagging {
    et_program *p;
    et_exprs *x;
    int t;
    /* In one function: the loads of the tensor, and the box around what they read. */
    et_expr load[MAX_LOADS];
    int nloads;
    et_expr base[ET_MAX_RANK];
    int size[ET_MAX_RANK];
    et_expr from[ET_MAX_RANK]; /* of index d: all but what variables of steps and numbers add */
    int64_t lo[ET_MAX_RANK], hi[ET_MAX_RANK];
    bool whole[ET_MAX_RANK];
    const et_step *step;
    et_part part;
    bool bad;
};

/* ---- what is read ---- */

static bool has_step_var(const struct tagging *k, et_expr e) {
    et_step_var v[ET_STEP_VARS];
    for (int i = 0, n = et_step_vars(k->x, k->step, v); i < n; i++)
        if (et_expr_has_var(k->x, e, v[i].var)) return true;
    return false;
}

/* Splits E into terms that are the same in all of the task, and the rest. */
static void split(struct tagging *k, et_expr e, et_expr *task, et_expr *rest) {
    et_node_x n = *et_x(k->x, e);
    int64_t c;
    if (n.op == ET_X_ADD) {
        et_expr a = n.ops[0], b = n.ops[1];
        split(k, a, task, rest);
        split(k, b, task, rest);
    } else if (et_is_int(k->x, e, &c) || has_step_var(k, e)) {
        *rest = et_add(k->x, *rest, e);
    } else {
        *task = et_add(k->x, *task, e);
    }
}

static void note_index(struct tagging *k, int d, et_expr index) {
    et_expr task = et_int(k->x, 0), rest = task;
    int64_t lo, hi;
    split(k, index, &task, &rest);
    k->bad |= et_expr_loads(k->x, rest);
    if (!et_bounds(k->x, rest, &lo, &hi) || hi - lo > MOST) k->whole[d] = true;
    if (k->nloads && !et_expr_eq(task, k->from[d])) k->whole[d] = true;
    k->from[d] = task;
    if (k->whole[d]) return;
    k->lo[d] = k->nloads && k->lo[d] < lo ? k->lo[d] : lo;
    k->hi[d] = k->nloads && k->hi[d] > hi ? k->hi[d] : hi;
}

static void note_load(void *ctx, et_expr e) {
    struct tagging *k = ctx;
    const et_node_x n = *et_x(k->x, e);
    et_expr index[ET_MAX_RANK];
    if (n.op != ET_X_LOAD || n.i2 != ET_LOAD_TENSOR || n.i != k->t) return;
    k->bad |= k->part == ET_PART_EXTENT || k->part == ET_PART_INDEX || k->nloads == MAX_LOADS;
    for (int i = 0; i < k->nloads; i++)
        if (et_expr_eq(k->load[i], e)) return;
    if (k->bad) return;
    int rank = n.nops;
    memcpy(index, n.ops, (size_t)rank * sizeof *index);
    for (int d = 0; d < rank; d++)
        note_index(k, d, index[d]);
    k->load[k->nloads++] = e;
}

/* The begin and size of the box; a dimension in which they are not known, or that is no larger, is
 * whole.
 */
static void close_box(struct tagging *k) {
    const et_shape *s = &k->p->tensors[k->t].shape;
    int64_t elements = 1, lo, hi;
    for (int d = 0; d < s->rank && k->nloads; d++) {
        if (!et_bounds(k->x, s->dim[d], &lo, &hi)) hi = INT32_MAX;
        bool whole = k->whole[d] || k->hi[d] - k->lo[d] + 1 >= hi;
        k->base[d] = whole ? et_int(k->x, 0) : et_add(k->x, k->from[d], et_int(k->x, k->lo[d]));
        int64_t size = whole ? hi : k->hi[d] - k->lo[d] + 1;
        elements = size < 1 || size > MOST || elements > MOST ? MOST + 1 : elements * size;
        k->size[d] = (int)(size > MOST ? MOST : size);
    }
    k->bad |= elements > MOST;
}

/* Is expression E of the step read as it lies in memory: an operand that goes to a ring or right
 * into registers, keys and values? */
static bool lies_in_memory(const et_func *f, const et_step *s, const et_step_expr *e) {
    switch (s->kind) {
    case ET_STEP_CONTRACT:
        return et_step_stages(f, s) || (s->stage_b < 0 && strcmp(e->name, "b") == 0);
    case ET_STEP_ATTEND:
        return s->rows || strcmp(e->name, "Q") != 0;
    case ET_STEP_SCAN: /* of all rows of the launch */
        return true;
    default:
        return false;
    }
}

static bool look(et_program *p, const et_func *f, int t, struct tagging *k) {
    *k = (struct tagging){.p = p, .x = p->g->exprs, .t = t};
    et_step_expr e[ET_STEP_EXPRS];
    for (int i = 0; i < f->nsteps; i++) {
        k->step = &f->steps[i];
        for (int n = 0, count = et_step_exprs(k->step, e); n < count; n++) {
            int before = k->nloads;
            k->part = e[n].part;
            et_walk(k->x, e[n].e, note_load, k);
            k->bad |= k->nloads > before && lies_in_memory(f, k->step, &e[n]);
        }
    }
    close_box(k);
    return !k->bad;
}

/* ---- which may be tagged ---- */

static bool stores(const et_func *f, int t, int *out_steps, bool *out_plain) {
    *out_steps = 0;
    *out_plain = true;
    for (int i = 0; i < f->nsteps; i++) {
        const et_place *to = et_step_to(&f->steps[i]);
        if (!to || to->space != ET_LOAD_TENSOR || to->id != t) continue;
        ++*out_steps;
        *out_plain &= f->steps[i].kind == ET_STEP_MAP;
    }
    return *out_steps > 0;
}

static void note_any(void *ctx, et_expr e) {
    struct tagging *k = ctx;
    const et_node_x *n = et_x(k->x, e);
    k->bad |= n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR && n->i == k->t;
}

/* Is it read to decide what is waited for, notified or counted? */
static bool decides(et_program *p, int t) {
    struct tagging k = {.p = p, .x = p->g->exprs, .t = t};
    for (int i = 0; i < p->ngrids; i++) {
        const et_grid *g = &p->grids[i];
        for (int w = 0; w < g->nwaits; w++) {
            for (int d = 0; d < p->events[g->waits[w].event].rank; d++) {
                et_walk(k.x, g->waits[w].lo[d], note_any, &k);
                et_walk(k.x, g->waits[w].hi[d], note_any, &k);
            }
            for (int v = 0; v < g->waits[w].nvars; v++)
                et_walk(k.x, et_var_extent(k.x, g->waits[w].vars[v]), note_any, &k);
        }
        for (int n = 0; n < g->nnotifies; n++) {
            for (int d = 0; d < p->events[g->notifies[n].event].rank; d++)
                et_walk(k.x, g->notifies[n].index[d], note_any, &k);
            for (int v = 0; v < g->notifies[n].nvars; v++)
                et_walk(k.x, et_var_extent(k.x, g->notifies[n].vars[v]), note_any, &k);
        }
    }
    for (int e = 0; e < p->nevents; e++)
        et_walk(k.x, p->events[e].count, note_any, &k);
    return k.bad;
}

static int users(const et_program *p, int func) {
    int n = 0;
    for (int i = 0; i < p->ngrids; i++)
        n += p->grids[i].func == func;
    return n;
}

static int box_bytes(const struct tagging *k, et_dtype t) {
    int64_t n = et_dtype_bytes(t);
    for (int d = 0; d < k->p->tensors[k->t].shape.rank; d++)
        n *= k->size[d];
    return (int)((n + 15) & ~(int64_t)15);
}

static int64_t taken(const et_program *p, const et_func *f, int t);

bool et_can_tag(et_program *p, int t, int lds) {
    const et_tensor *x = &p->tensors[t];
    int bits = et_dtype_bits(x->shape.dtype), steps;
    bool plain, any = false;
    struct tagging k;
    if (x->kind != ET_TENSOR_TEMP || et_dtype_is_code(x->shape.dtype) ||
        (bits != 16 && bits != 32) || x->shape.rank < 1 || decides(p, t))
        return false;
    for (int i = 0; i < p->nfuncs; i++) {
        const et_func *f = &p->funcs[i];
        bool writes = stores(f, t, &steps, &plain), reads = look(p, f, t, &k) && k.nloads;
        if (k.bad || (writes && (!plain || steps > 1 || reads))) return false;
        for (int n = 0; n < f->nsteps && writes; n++)
            for (int d = 0; d < f->steps[n].to.rank && f->steps[n].to.id == t; d++)
                if (et_expr_loads(p->g->exprs, f->steps[n].to.index[d])) return false;
        if ((writes || reads) && users(p, i) != 1) return false;
        if (reads && f->lds_bytes + box_bytes(&k, x->shape.dtype) > lds) return false;
        any |= writes;
    }
    for (int g = 0; g < p->ngrids; g++) { /* tags are counted in loops that stand alone */
        int l = p->grids[g].loop;
        if ((stores(&p->funcs[p->grids[g].func], t, &steps, &plain) ||
             taken(p, &p->funcs[p->grids[g].func], t)) &&
            l >= 0 && p->g->loops[l].parent >= 0)
            return false;
    }
    return any;
}

/* Elements of tensor T that a tile of the function copies, or 0. */
static int64_t taken(const et_program *p, const et_func *f, int t) {
    struct tagging k;
    int64_t n = 1;
    if (!look((et_program *)(uintptr_t)p, f, t, &k) || !k.nloads) return 0;
    for (int d = 0; d < p->tensors[t].shape.rank; d++)
        n *= k.size[d];
    return n;
}

/* ---- the type ---- */

/* All readers have it as the left operand of products of 16 bits, to whose type it is
 * rounded there: it may as well be stored so. */
static bool operand_of_all(et_program *p, int t, et_dtype *out) {
    struct tagging k;
    bool any = false;
    for (int i = 0; i < p->nfuncs; i++) {
        const et_func *f = &p->funcs[i];
        look(p, f, t, &k);
        for (int n = 0; n < f->nsteps && k.nloads; n++) {
            const et_step *s = &f->steps[n];
            struct tagging one = {.p = p, .x = p->g->exprs, .t = t};
            et_step_expr e[ET_STEP_EXPRS];
            for (int m = 0, count = et_step_exprs(s, e); m < count; m++)
                et_walk(one.x, e[m].e, note_any, &one);
            if (!one.bad) continue;
            const et_node_x *a = s->kind == ET_STEP_CONTRACT ? et_x(p->g->exprs, s->a) : NULL;
            if (!a || a->op != ET_X_LOAD || a->i2 != ET_LOAD_TENSOR || a->i != t ||
                et_dtype_bytes(s->operand) != 2 || (any && s->operand != *out))
                return false;
            *out = s->operand;
            any = true;
        }
    }
    return any;
}

/* ---- steps ---- */

static et_expr *field(et_step *s, int i) {
    et_expr *const at[] = {&s->mask,  &s->value,   &s->rextent, &s->mlive,
                           &s->nlive, &s->kextent, &s->a,       &s->ilive};
    enum { FIXED = sizeof at / sizeof *at };
    if (i < FIXED) return at[i];
    i -= FIXED;
    if (i < s->nacc) return &s->b[i];
    i -= s->nacc;
    return i < ET_AT_PARTS ? &s->part[i] : NULL;
}

static void read_local(struct tagging *k, et_func *f, int local) {
    int rank = k->p->tensors[k->t].shape.rank;
    for (int i = 0; i < k->nloads; i++) {
        et_expr index[ET_MAX_RANK];
        et_type type = et_x(k->x, k->load[i])->type;
        for (int d = 0; d < rank; d++)
            index[d] = et_sub(k->x, et_x(k->x, k->load[i])->ops[d], k->base[d]);
        et_expr by = et_load(k->x, ET_LOAD_LOCAL, local, type, rank, index), *at;
        for (int s = 0; s < f->nsteps; s++)
            for (int n = 0; (at = field(&f->steps[s], n)); n++)
                if (at->id) *at = et_replace(k->x, *at, k->load[i], by);
    }
}

static et_expr both(et_exprs *x, et_expr a, et_expr b) {
    return a.id ? et_op2(x, ET_X_AND, a, b) : b;
}

/* Adds the step that copies the box, behind other such steps and before all others. */
static void add_step(struct tagging *k, et_func *f, int local, et_expr tag) {
    const et_tensor *t = &k->p->tensors[k->t];
    et_step s = et_step_make(ET_STEP_MAP);
    et_expr from[ET_MAX_RANK];
    int64_t always;
    s.to = (et_place){.space = ET_LOAD_LOCAL, .id = local, .rank = t->shape.rank};
    for (int d = 0; d < t->shape.rank; d++) {
        et_expr at = et_int(k->x, 0);
        if (k->size[d] > 1) {
            const char *name = et_printf(k->p->g->arena, "e%d_%d", local, d);
            s.vars[s.nvars] = et_var_add(k->x, name, et_int(k->x, k->size[d]));
            at = et_var(k->x, s.vars[s.nvars++]);
        }
        s.to.index[d] = at;
        from[d] = et_add(k->x, k->base[d], at);
        et_expr lo = et_op2(k->x, ET_X_LE, et_int(k->x, 0), from[d]);
        et_expr hi = et_op2(k->x, ET_X_LT, from[d], t->shape.dim[d]);
        if (!et_is_int(k->x, lo, &always) || !always) s.mask = both(k->x, s.mask, lo);
        if (!et_is_int(k->x, hi, &always) || !always) s.mask = both(k->x, s.mask, hi);
    }
    et_type type = et_x(k->x, k->load[0])->type;
    s.value = et_load(k->x, ET_LOAD_TENSOR, k->t, type, t->shape.rank, from);
    s.tag = tag;
    et_step *all = et_alloc(k->p->g->arena, (size_t)(f->nsteps + 1) * sizeof *all);
    int first = 0;
    while (first < f->nsteps && f->steps[first].tag.id && f->steps[first].to.space == ET_LOAD_LOCAL)
        first++;
    memcpy(all, f->steps, (size_t)first * sizeof *all);
    all[first] = s;
    memcpy(all + first + 1, f->steps + first, (size_t)(f->nsteps - first) * sizeof *all);
    f->steps = all;
    f->csteps = ++f->nsteps;
}

static void tag_grid(et_program *p, int t, int grid, et_expr next) {
    struct tagging k;
    et_func *f = &p->funcs[p->grids[grid].func];
    et_exprs *x = p->g->exprs;
    int steps;
    bool plain;
    if (stores(f, t, &steps, &plain))
        for (int i = 0; i < f->nsteps; i++)
            if (f->steps[i].to.space == ET_LOAD_TENSOR && f->steps[i].to.id == t &&
                et_step_to(&f->steps[i]))
                f->steps[i].tag = next;
    if (!look(p, f, t, &k) || !k.nloads) return;
    f->lds_bytes = (f->lds_bytes + 15) & ~15;
    int local = et_local_add(p, f, et_printf(p->g->arena, "%s", p->tensors[t].name),
                             p->tensors[t].shape.dtype, p->tensors[t].shape.rank, k.size,
                             k.size[p->tensors[t].shape.rank - 1]);
    for (int i = 0, n = 2; i < local; i++)
        if (!strcmp(f->locals[i].name, f->locals[local].name)) {
            f->locals[local].name = et_printf(p->g->arena, "%s.%d", p->tensors[t].name, n++);
            i = -1;
        }
    read_local(&k, f, local);
    add_step(&k, f, local, et_sub(x, next, et_int(x, 1)));
}

/* ---- numbers ---- */

static bool writes(const et_program *p, int t, const et_item *it) {
    int steps;
    bool plain;
    return it->kind == ET_P_GRID && stores(&p->funcs[p->grids[it->index].func], t, &steps, &plain);
}

/* The tag of the next store, before the item and, returned, after it. */
static et_expr number(et_program *p, int t, const et_item *it, et_expr next) {
    et_exprs *x = p->g->exprs;
    if (it->kind == ET_P_GRID) {
        bool counts = writes(p, t, it);
        tag_grid(p, t, it->index, next);
        return counts ? et_add(x, next, et_int(x, 1)) : next;
    }
    int each = 0, before = 0;
    for (int i = 0; i < it->count; i++)
        each += writes(p, t, &p->items[it->first + i]);
    const et_loop *l = &p->g->loops[it->index];
    et_expr from = et_add(x, next, et_mul(x, et_var(x, l->var), et_int(x, each)));
    for (int i = 0; i < it->count; i++) {
        const et_item *in = &p->items[it->first + i];
        if (in->kind != ET_P_GRID) continue;
        bool counts = writes(p, t, in);
        tag_grid(p, t, in->index, et_add(x, from, et_int(x, before)));
        before += counts;
    }
    return et_add(x, next, et_mul(x, l->trips, et_int(x, each)));
}

void et_tag(et_program *p, int t) {
    et_tensor *x = &p->tensors[t];
    et_dtype to = x->shape.dtype;
    if (x->shape.dtype == ET_F32 && !x->partial && operand_of_all(p, t, &to)) {
        x->shape.dtype = to;
        x->max_bytes = et_shape_max_bytes(p->g->exprs, &x->shape);
    }
    et_expr next = et_int(p->g->exprs, 0);
    for (int i = 0; i < p->count; i++)
        next = number(p, t, &p->items[p->first + i], next);
    x->tagged = true;
    x->max_bytes = et_tagged_bytes(x, x->max_bytes);
}
