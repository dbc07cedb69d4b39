/* Rows of large sums over devices, dealt to these (ir/program/deal.h).
 *
 * A group that reads a sum which is exchanged with flags, element by element or row by row, is
 * dealt, if all that do can be; so is what reads its results in the same way. What other groups,
 * products first of all, read of these is shared. Where a loop carries a result, which has a value
 * before the loop that no device shares, those behind the loop read a copy that is. */
#include "ir/program/deal.h"
#include "ir/program/step.h"
#include "passes/pipeline/pipeline.h"

enum { MOST_UNIT = 64 };

struct deal {
    et_program *p;
    et_exprs *x;
    bool *dealt; /* by group */
    bool *kept;  /* by group: not dealt, for others could not read its results */
    int *dim;    /* by tensor: that of its rows, -1: unknown */
    et_expr rows;
};

/* Parts of it could be added up where its rows are. */
static bool is_sum(const et_program *p, int tensor) {
    return p->tensors[tensor].flagged && !p->tensors[tensor].own;
}

/* ---- what can be dealt ---- */

/* Which of INDEX is the first axis of the group, and in no other; -1: none. */
static int row_of(const struct deal *d, const et_group *gr, int rank, const et_expr *index) {
    int at = -1;
    for (int i = 0; i < rank; i++) {
        const et_node_x *n = et_x(d->x, index[i]);
        if (!et_expr_has_var(d->x, index[i], gr->axis[0])) continue;
        if (n->op != ET_X_VAR || at >= 0) return -1;
        at = i;
    }
    return at;
}

static bool may_be_dealt(const struct deal *d, const et_group *gr) {
    return !d->kept[gr - d->p->groups] && gr->kind == ET_GROUP_STORE && !gr->nproduct &&
           !gr->slice.count && gr->rank && gr->to.space == ET_LOAD_TENSOR &&
           d->p->tensors[gr->to.id].kind == ET_TENSOR_TEMP && !d->p->tensors[gr->to.id].partial &&
           row_of(d, gr, gr->to.rank, gr->to.index) >= 0 &&
           et_expr_eq(et_var_extent(d->x, gr->axis[0]), d->rows);
}

struct reads {
    const struct deal *d;
    const et_group *gr;
    int tensor;
    bool any, own; /* all of it, of the element's row */
};

static void note_read(void *ctx, et_expr e) {
    struct reads *r = ctx;
    const et_node_x *n = et_x(r->d->x, e);
    if (n->op != ET_X_LOAD || n->i2 != ET_LOAD_TENSOR || n->i != r->tensor) return;
    r->any = true;
    r->own &= row_of(r->d, r->gr, n->nops, n->ops) == r->d->dim[r->tensor];
}

static struct reads reads_of(const struct deal *d, et_group *gr, int tensor) {
    struct reads r = {d, gr, tensor, false, true};
    et_expr *e[ET_GROUP_EXPRS];
    for (int i = 0, n = et_group_exprs(gr, e); i < n; i++)
        if (e[i]->id) et_walk(d->x, *e[i], note_read, &r);
    return r;
}

static et_group *group_that_stores(const struct deal *d, int tensor, bool dealt) {
    for (int i = 0; i < d->p->ngroups; i++) {
        et_group *gr = &d->p->groups[i];
        if (gr->to.space == ET_LOAD_TENSOR && gr->to.id == tensor && d->dealt[i] == dealt)
            return gr;
    }
    return NULL;
}

/* All groups that read the sum are dealt; false: not all can be. */
static bool deal_sum(struct deal *d, int tensor) {
    const et_group *from = group_that_stores(d, tensor, false);
    if (!from || !from->rank) return false;
    if (!d->rows.id) d->rows = et_var_extent(d->x, from->axis[0]);
    d->dim[tensor] = row_of(d, from, from->to.rank, from->to.index);
    if (d->dim[tensor] < 0 || !et_expr_eq(et_var_extent(d->x, from->axis[0]), d->rows))
        return false;
    for (int i = 0; i < d->p->ngroups; i++) {
        struct reads r = reads_of(d, &d->p->groups[i], tensor);
        if (r.any && (!r.own || !may_be_dealt(d, &d->p->groups[i]))) return false;
        d->dealt[i] |= r.any;
    }
    return true;
}

/* Groups that read, row by row, what dealt ones store. */
static void deal_readers(struct deal *d) {
    for (bool again = true; again;) {
        again = false;
        for (int i = 0; i < d->p->ngroups; i++) {
            int t = d->p->groups[i].to.id;
            if (!d->dealt[i]) continue;
            d->dim[t] =
                row_of(d, &d->p->groups[i], d->p->groups[i].to.rank, d->p->groups[i].to.index);
            for (int k = 0; k < d->p->ngroups; k++) {
                struct reads r = reads_of(d, &d->p->groups[k], t);
                if (d->dealt[k] || !r.any || !r.own || !may_be_dealt(d, &d->p->groups[k])) continue;
                d->dealt[k] = again = true;
            }
        }
    }
}

/* ---- what others read of it ---- */

static bool is_read_by_others(const struct deal *d, int tensor) {
    bool any = false;
    for (int i = 0; i < d->p->ngroups; i++)
        any |= !d->dealt[i] && reads_of(d, &d->p->groups[i], tensor).any;
    return any;
}

/* All of the groups that read it, dealt or not, are in the loop of the one that stores it. */
static bool stays_in_loop(const struct deal *d, int tensor, int loop) {
    bool all = true;
    for (int i = 0; i < d->p->ngroups; i++)
        all &= d->p->groups[i].loop == loop || !reads_of(d, &d->p->groups[i], tensor).any;
    return all && (loop < 0 || d->p->g->loops[loop].parent < 0);
}

/* The item of the top-level list that is or has the loop; -1: none has. */
static int item_of(const struct deal *d, int loop) {
    while (loop >= 0 && d->p->g->loops[loop].parent >= 0)
        loop = d->p->g->loops[loop].parent;
    for (int i = 0; i < d->p->count && loop >= 0; i++) {
        const et_item *it = &d->p->items[d->p->first + i];
        if (it->kind == ET_P_LOOP && it->index == loop) return i;
    }
    return -1;
}

/* The groups that read it and are not dealt are behind item AT of the top-level list. */
static bool are_behind(const struct deal *d, int tensor, int at) {
    int seen = 0, all = 0;
    for (int i = at + 1; i < d->p->count; i++) {
        const et_item *it = &d->p->items[d->p->first + i];
        if (it->kind == ET_P_GRID && !d->dealt[it->index])
            seen += reads_of(d, &d->p->groups[it->index], tensor).any;
    }
    for (int i = 0; i < d->p->ngroups; i++)
        all += !d->dealt[i] && reads_of(d, &d->p->groups[i], tensor).any;
    return seen == all;
}

enum how { ALONE, SHARED, COPIED, NEVER };

static enum how how_read(const struct deal *d, int tensor) {
    const et_group *from = group_that_stores(d, tensor, true);
    if (!from || !is_read_by_others(d, tensor)) return ALONE;
    if (!group_that_stores(d, tensor, false) && !d->p->tensors[tensor].carried &&
        (from->loop < 0 || from->to.rank < ET_MAX_RANK) && stays_in_loop(d, tensor, from->loop))
        return SHARED;
    int at = item_of(d, from->loop);
    return at >= 0 && are_behind(d, tensor, at) ? COPIED : NEVER;
}

/* ---- changes ---- */

struct rename {
    int from, to;
    et_expr loop; /* an index before all others, or none */
};

static et_expr rename_load(void *ctx, et_exprs *x, et_expr leaf) {
    const struct rename *r = ctx;
    et_node_x n = *et_x(x, leaf);
    et_expr index[ET_MAX_RANK];
    int k = 0;
    if (n.op != ET_X_LOAD || n.i2 != ET_LOAD_TENSOR || n.i != r->from) return ET_NO_EXPR;
    if (r->loop.id) index[k++] = r->loop;
    for (int i = 0; i < n.nops; i++)
        index[k++] = et_subst(x, n.ops[i], rename_load, ctx);
    return et_load(x, ET_LOAD_TENSOR, r->to, n.type, k, index);
}

static void rename_in(const struct deal *d, et_group *gr, struct rename *r) {
    et_expr *e[ET_GROUP_EXPRS];
    for (int i = 0, n = et_group_exprs(gr, e); i < n; i++)
        if (e[i]->id) *e[i] = et_subst(d->x, *e[i], rename_load, r);
}

/* It gets a dimension for the loop: an element is stored once in a launch. */
static void share(struct deal *d, int tensor) {
    et_tensor *t = &d->p->tensors[tensor];
    int loop = group_that_stores(d, tensor, true)->loop;
    t->shared = true;
    if (loop < 0) return;
    const et_loop *l = &d->p->g->loops[loop];
    struct rename r = {tensor, tensor, et_var(d->x, l->var)};
    for (int i = 0; i < d->p->ngroups; i++) {
        et_group *gr = &d->p->groups[i];
        rename_in(d, gr, &r);
        if (gr->to.space != ET_LOAD_TENSOR || gr->to.id != tensor) continue;
        memmove(gr->to.index + 1, gr->to.index, (size_t)gr->to.rank++ * sizeof *gr->to.index);
        gr->to.index[0] = r.loop;
    }
    memmove(t->shape.dim + 1, t->shape.dim, (size_t)t->shape.rank++ * sizeof *t->shape.dim);
    t->shape.dim[0] = et_int(d->x, l->hi - l->lo);
    t->max_bytes = et_shape_max_bytes(d->x, &t->shape);
}

static const char *new_name(const struct deal *d, const char *from) {
    for (int n = 1;; n++) {
        const char *name = et_printf(d->p->g->arena, n > 1 ? "%s.all_%d" : "%s.all", from, n);
        bool is_new = true;
        for (int t = 0; t < d->p->ntensors; t++)
            is_new &= strcmp(d->p->tensors[t].name, name) != 0;
        for (int i = 0; i < d->p->ngroups; i++)
            is_new &= strcmp(d->p->groups[i].name, name) != 0;
        if (is_new) return name;
    }
}

/* A group behind the loop that copies the tensor to one that is shared, which all others read. */
static void share_copy(struct deal *d, int tensor) {
    et_program *p = d->p;
    et_arena *a = p->g->arena;
    et_group from = *group_that_stores(d, tensor, true);
    int at = item_of(d, from.loop), to = p->ntensors;
    const char *name = new_name(d, p->tensors[tensor].name);
    ET_GROW(a, p->tensors, p->ntensors, p->ctensors);
    p->tensors[p->ntensors++] = (et_tensor){.kind = ET_TENSOR_TEMP,
                                            .name = name,
                                            .shape = p->tensors[tensor].shape,
                                            .max_bytes = p->tensors[tensor].max_bytes,
                                            .shared = true};
    struct rename r = {tensor, to, ET_NO_EXPR};
    for (int i = 0; i < p->ngroups; i++)
        if (!d->dealt[i]) rename_in(d, &p->groups[i], &r);
    et_group gr = {.kind = ET_GROUP_STORE,
                   .name = name,
                   .loc = from.loc,
                   .loop = -1,
                   .rank = from.rank,
                   .dealt = true};
    gr.to = (et_place){.space = ET_LOAD_TENSOR, .id = to, .rank = from.to.rank};
    for (int i = 0; i < from.rank; i++)
        gr.axis[i] =
            et_graph_var(p->g, et_var_name(d->x, from.axis[i]), et_var_extent(d->x, from.axis[i]));
    for (int i = 0; i < from.to.rank; i++) {
        et_expr e = from.to.index[i];
        for (int k = 0; k < from.rank; k++)
            e = et_subst_var(d->x, e, from.axis[k], et_var(d->x, gr.axis[k]));
        gr.to.index[i] = e;
    }
    gr.value = et_load(d->x, ET_LOAD_TENSOR, tensor, et_dtype_type(p->tensors[to].shape.dtype),
                       gr.to.rank, gr.to.index);
    ET_GROW(a, p->groups, p->ngroups, p->cgroups);
    p->groups[p->ngroups++] = gr;
    et_program_insert_item(p, p->first + at, (et_item){.kind = ET_P_GRID, .index = p->ngroups - 1});
}

/* So many rows stay together as are no more than a device has, a power of two. */
static int unit_of(const struct deal *d) {
    int64_t lo, hi;
    int unit = 1;
    if (!et_bounds(d->x, d->rows, &lo, &hi)) hi = INT32_MAX;
    while (unit < MOST_UNIT && 2 * unit <= hi / d->p->g->devices)
        unit *= 2;
    return unit;
}

static void apply(struct deal *d, const enum how *how, int ntensors) {
    et_program *p = d->p;
    p->rows = d->rows;
    p->deal_unit = unit_of(d);
    for (int i = 0; i < p->ngroups; i++)
        p->groups[i].dealt = d->dealt[i];
    for (int t = 0; t < ntensors; t++) {
        if (is_sum(p, t)) p->tensors[t].dealt = d->dim[t] + 1;
        if (how[t] == SHARED) share(d, t);
    }
    for (int t = 0; t < ntensors; t++)
        if (how[t] == COPIED) share_copy(d, t);
}

/* Which groups are dealt, and how others read of them; false: none, or not all that must be. Sets
 * AGAIN where groups turned out not to be. */
static bool choose(struct deal *d, enum how *how, bool *again) {
    et_program *p = d->p;
    bool any = false;
    memset(d->dealt, 0, (size_t)p->ngroups);
    for (int t = 0; t < p->ntensors; t++)
        d->dim[t] = -1;
    for (int t = 0; t < p->ntensors; t++) {
        any |= is_sum(p, t);
        if (is_sum(p, t) && !deal_sum(d, t)) return false;
    }
    deal_readers(d);
    for (int t = 0; t < p->ntensors; t++) {
        how[t] = how_read(d, t);
        for (int i = 0; i < p->ngroups && how[t] == NEVER; i++)
            if (d->dealt[i] && p->groups[i].to.id == t) d->kept[i] = *again = true;
    }
    return any;
}

/* Of a sum, in one iteration of the loops around it. */
static double bytes_of(const et_program *p, int tensor) {
    double bytes = et_dtype_bytes(p->tensors[tensor].shape.dtype);
    for (int i = 0; i < p->ngroups; i++) {
        const et_group *gr = &p->groups[i];
        if (gr->to.space != ET_LOAD_TENSOR || gr->to.id != tensor) continue;
        for (int d = 0; d < gr->rank; d++) {
            int64_t lo, hi;
            bool known = et_bounds(p->g->exprs, et_var_extent(p->g->exprs, gr->axis[d]), &lo, &hi);
            bytes *= known ? (double)hi : INT32_MAX;
        }
    }
    return bytes;
}

/* Everything to everybody takes the link for D - 1 times the bytes of a sum. In two steps it is
 * (D - 1) / D of that twice, the second time in the bytes of bf16, as which products read it; and
 * each device adds up and normalises 1 / D of the elements, which takes as long as so many bytes of
 * each from memory do. They pay where that saves more than the second event, and the tasks without
 * rows that wait for the first, take: fitted to prompts of 512 and 2,048 on two H200, of f32 and of
 * bf16 (bench/devices/README.md). */
static bool pays(const et_pipeline *pl) {
    enum { EVENTS = 14, TOUCHED = 24 };
    const double read = 2; /* bytes of an element of what products read */
    const et_program *p = pl->p;
    const et_machine *m = pl->opt->machine;
    double others = p->g->devices - 1, saved = 0;
    for (int t = 0; t < p->ntensors; t++) {
        if (!is_sum(p, t)) continue;
        double each = et_dtype_bytes(p->tensors[t].shape.dtype), n = bytes_of(p, t) / each;
        double us = n * others * (each - (each + read) / p->g->devices) / (m->link_gbs * 1e3);
        us += n * others / p->g->devices * (TOUCHED + each * p->g->devices) / (m->hbm_gbs * 1e3);
        saved = us > saved ? us : saved;
    }
    return saved > EVENTS * m->event_us;
}

static bool has_flagged(const et_program *p) {
    bool any = false;
    for (int t = 0; t < p->ntensors; t++)
        any |= is_sum(p, t);
    return any;
}

bool et_pass_deal(et_pipeline *pl) {
    et_program *p = pl->p;
    struct deal d = {.p = p, .x = p->g->exprs};
    size_t groups = (size_t)p->ngroups + (size_t)p->ntensors + 1; /* with copies behind loops */
    if (!p->g->devices || pl->opt->exchange == ET_EXCHANGE_FLAGS || pl->opt->quick) return true;
    if (pl->opt->exchange != ET_EXCHANGE_ROWS && !pays(pl)) return true;
    d.dealt = et_alloc(p->g->arena, groups);
    d.kept = et_alloc(p->g->arena, groups);
    d.dim = et_alloc(p->g->arena, ((size_t)p->ntensors + 1) * sizeof *d.dim);
    enum how *how = et_alloc(p->g->arena, ((size_t)p->ntensors + 1) * sizeof *how);
    for (bool again = true; again;) {
        again = false;
        if (choose(&d, how, &again)) continue;
        /* A result that others read cannot be dealt, and the sum in it could be. */
        pl->again = pl->ask_apart = has_flagged(p) && !pl->apart && pl->g->nnodes > 0;
        return !pl->again;
    }
    apply(&d, how, p->ntensors);
    return true;
}
