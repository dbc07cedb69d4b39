/* Rows dealt to devices: who has which, and what may be stored and read. */
#include "ir/program/deal.h"
#include "ir/base/arena.h"
#include "ir/program/step.h"

/* The rows that each device has, a multiple of the unit. */
static et_expr each_has(const et_program *p) {
    et_exprs *x = p->g->exprs;
    et_expr unit = et_int(x, p->deal_unit);
    et_expr all = et_int(x, (int64_t)p->deal_unit * p->g->devices);
    return et_mul(x, et_ceil_div(x, p->rows, all), unit);
}

et_expr et_deal_owner_of(const et_program *p, et_expr row) {
    return et_op2(p->g->exprs, ET_X_IDIV, row, each_has(p));
}

et_expr et_deal_owner(const et_program *p, const et_grid *g) {
    et_exprs *x = p->g->exprs;
    if (g->deal.coord < 0) return et_int(x, 0);
    et_expr tile = et_var(x, p->funcs[g->func].coord[g->deal.coord]);
    return et_deal_owner_of(p, et_mul(x, tile, et_int(x, g->deal.rows)));
}

struct check {
    et_program *p;
    const et_grid *g;
    bool *own; /* by tensor: grids that are dealt store it, and it is not shared */
    int *dim;  /* of these: 1 + the dimension of rows, 0: not known yet */
    const char *problem;
};

/* INDEX is of the rows of the grid's tile. */
static bool in_tile(const struct check *c, et_expr index) {
    et_exprs *x = c->p->g->exprs;
    int64_t lo, hi;
    if (c->g->deal.coord >= 0) {
        et_expr tile = et_var(x, c->p->funcs[c->g->func].coord[c->g->deal.coord]);
        index = et_sub(x, index, et_mul(x, tile, et_int(x, c->g->deal.rows)));
    }
    return et_bounds(x, index, &lo, &hi) && lo >= 0 && hi < c->g->deal.rows;
}

/* Of TENSOR the task touches the rows that its tile has. */
static bool own_rows(struct check *c, int tensor, const et_expr *index) {
    int *dim = &c->dim[tensor];
    for (int d = 0; d < c->p->tensors[tensor].shape.rank; d++)
        if ((!*dim || *dim == d + 1) && in_tile(c, index[d])) {
            *dim = d + 1;
            return true;
        }
    return false;
}

static void say(struct check *c, int tensor, const char *what) {
    if (!c->problem)
        c->problem =
            et_printf(c->p->g->arena, "@%s %s %%%s", c->g->name, what, c->p->tensors[tensor].name);
}

static void check_dealt(struct check *c, int tensor, bool is_store, const et_expr *index) {
    const et_tensor *t = &c->p->tensors[tensor];
    bool rows = c->own[tensor] || t->dealt || (is_store && t->shared);
    if (is_store && (t->kind != ET_TENSOR_TEMP || t->partial))
        say(c, tensor, "is dealt to devices, and stores what is no temporary of its own:");
    else if (rows && !own_rows(c, tensor, index))
        say(c, tensor,
            is_store ? "stores rows of another device to" : "reads rows of another device of");
}

static void check_access(void *ctx, const et_step *s, int tensor, bool is_store,
                         const et_expr *index) {
    struct check *c = ctx;
    const et_tensor *t = &c->p->tensors[tensor];
    (void)s;
    if (c->g->deal.rows)
        check_dealt(c, tensor, is_store, index);
    else if (is_store && t->shared)
        say(c, tensor, "is not dealt to devices, and stores what they share:");
    else if (!is_store && (c->own[tensor] || t->dealt))
        say(c, tensor, "is not dealt to devices, and reads what each has its rows of:");
}

static void note_own(void *ctx, const et_step *s, int tensor, bool is_store, const et_expr *index) {
    struct check *c = ctx;
    (void)s, (void)index;
    if (is_store && !c->p->tensors[tensor].shared) c->own[tensor] = true;
}

static const char *tensor_problem(const et_program *p, const et_tensor *t) {
    if (!t->dealt && !t->shared) return NULL;
    if (!p->rows.id || (t->shared && (t->partial || t->tagged)) ||
        (t->dealt && (!t->flagged || t->own || t->dealt > t->shape.rank)))
        return et_printf(p->g->arena, "%%%s is dealt to devices or shared, and cannot be", t->name);
    return NULL;
}

const char *et_deal_problem(et_program *p) {
    struct check c = {.p = p};
    bool any = p->rows.id != 0;
    for (int i = 0; i < p->ngrids; i++)
        any |= p->grids[i].deal.rows != 0;
    for (int t = 0; t < p->ntensors && !c.problem; t++) {
        c.problem = tensor_problem(p, &p->tensors[t]);
        any |= p->tensors[t].dealt || p->tensors[t].shared;
    }
    if (c.problem || !any) return c.problem;
    if (!p->rows.id || !p->g->devices) return "tasks are dealt to devices, and no rows are";
    c.own = et_alloc(p->g->arena, (size_t)p->ntensors + 1);
    c.dim = et_alloc(p->g->arena, ((size_t)p->ntensors + 1) * sizeof *c.dim);
    for (int t = 0; t < p->ntensors; t++)
        c.dim[t] = p->tensors[t].dealt;
    for (int i = 0; i < p->ngrids; i++)
        if (p->grids[i].deal.rows) et_func_accesses(p, &p->funcs[p->grids[i].func], note_own, &c);
    for (int i = 0; i < p->ngrids && !c.problem; i++) {
        c.g = &p->grids[i];
        if (c.g->deal.rows && (c.g->dynamic || c.g->slice.count || p->deal_unit % c.g->deal.rows))
            return et_printf(p->g->arena,
                             "@%s is dealt to devices, and dynamic, in slices, or of tiles that do "
                             "not divide what stays together",
                             c.g->name);
        et_func_accesses(p, &p->funcs[c.g->func], check_access, &c);
    }
    return c.problem;
}
