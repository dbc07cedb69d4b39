/* Loops run the iterations of one stage; weights and states have the rows of these alone. */
#include "passes/divide/stage_int.h"
#include <string.h>

enum { SCALAR = -2, RANGE = -3 }; /* in an update's "index" (ir/graph/ops/update.c) */

static et_attr *attr(et_node *n, const char *name) {
    for (int i = 0; i < n->nattrs; i++)
        if (strcmp(n->attrs[i].name, name) == 0) return &n->attrs[i];
    return NULL;
}

static void set_index(et_graph *g, et_attr *a, int axis, et_expr e) {
    et_expr *own = et_alloc(g->arena, (size_t)a->n * sizeof *own);
    memcpy(own, a->exprs, (size_t)a->n * sizeof *own);
    own[axis] = e;
    a->exprs = own;
}

/* ---- states ---- */

/* The axis of a state that has a row for each layer: the first one, or of a scan, whose rows of
 * other axes data may choose, the first whose rows they do not. */
static int layer_axis(const et_graph *g, const et_node *n) {
    if (n->op->class != ET_CLASS_SCAN) return 0;
    const et_attr *index = et_attr_find(n, "index");
    int k = 0;
    while (k + 1 < index->n && et_expr_loads(g->exprs, index->exprs[k]))
        k++;
    return k;
}

/* Where N says which rows of its first argument, a state, it reads or writes, and how many they
 * are; NULL: all of them. */
static et_attr *rows_of(et_graph *g, et_node *n, int64_t *out_count) {
    int rank = et_arg_shape(g, n, 0)->rank;
    const et_expr *size = NULL;
    *out_count = 1;
    if (n->op->class == ET_CLASS_SCAN) return attr(n, "index");
    if (n->op->class == ET_CLASS_UPDATE) {
        int64_t how = et_op_ints(n, "index", rank)[0];
        if (how == SCALAR) return attr(n, "scalar");
        if (how != RANGE) return NULL;
        size = et_op_exprs(n, "size", rank);
    } else if (n->op == &et_op_slice) {
        size = et_op_exprs(n, "size", rank);
    }
    if (!size || !et_is_int(g->exprs, size[0], out_count) || et_op_step(n, 0) != 1) return NULL;
    return attr(n, n->op == &et_op_slice ? "start" : "scalar");
}

struct rows {
    int64_t from, to; /* half open; empty: none */
};

struct states {
    struct staging *t;
    struct rows *of; /* by stage and value */
    bool *written;   /* by value */
    int *axis;       /* by value: which has a row for each layer */
    int stage, var;
    et_expr by; /* in place of the variable VAR, in this stage */
};

static void add_rows(struct states *s, et_value state, et_expr first, int64_t count) {
    et_graph *g = s->t->g;
    const et_shape *shape = &et_val_of(g, state)->shape;
    struct rows *r = &s->of[s->stage * g->nvals + (int)state.id];
    int64_t all = 1, lo, hi;
    bool known =
        shape->rank && et_is_int(g->exprs, shape->dim[s->axis[state.id]], &all) && first.id;
    if (known && s->var >= 0) first = et_subst_var(g->exprs, first, s->var, s->by);
    if (!known || !et_bounds(g->exprs, first, &lo, &hi) || lo < 0 || hi + count > all)
        lo = 0, hi = all - 1, count = 1;
    bool none = r->from == r->to;
    if (none || lo < r->from) r->from = lo;
    if (none || hi + count > r->to) r->to = hi + count;
}

/* An attention reads elements of its arguments in expressions. */
struct loads {
    struct states *s;
    const et_node *n;
    int arg;
};

static bool is_load_of(const et_exprs *p, et_expr e, int arg) {
    const et_node_x *x = et_x(p, e);
    return x->op == ET_X_LOAD && x->i2 == ET_LOAD_ARG && x->i == arg && x->nops;
}

static void look_at_load(void *ctx, et_expr e) {
    const struct loads *l = ctx;
    const et_exprs *p = l->s->t->g->exprs;
    et_value state = l->n->args[l->arg];
    if (is_load_of(p, e, l->arg)) add_rows(l->s, state, et_x(p, e)->ops[l->s->axis[state.id]], 1);
}

static void look_at_state(struct states *s, et_node *n, int a) {
    et_graph *g = s->t->g;
    int64_t count = 1;
    s->written[n->args[a].id] |= et_writes_state(n);
    if (n->op->class == ET_CLASS_ATTENTION) {
        struct loads l = {s, n, a};
        for (int i = 0; i < n->nattrs; i++)
            if (n->attrs[i].kind == ET_A_EXPR && n->attrs[i].expr.id)
                et_walk(g->exprs, n->attrs[i].expr, look_at_load, &l);
        return;
    }
    int axis = s->axis[n->args[a].id];
    et_attr *at = a || layer_axis(g, n) != axis ? NULL : rows_of(g, n, &count);
    add_rows(s, n->args[a], at ? at->exprs[axis] : ET_NO_EXPR, count);
}

static void look(void *ctx, int node) {
    struct states *s = ctx;
    et_node *n = &s->t->g->nodes[node];
    for (int a = 0; a < n->nargs; a++)
        if (et_val_of(s->t->g, n->args[a])->kind == ET_V_STATE) look_at_state(s, n, a);
}

/* Which rows of states each stage has to do with. */
static void find_rows(struct states *s) {
    struct staging *t = s->t;
    et_graph *g = t->g;
    for (int i = 0; i < g->body.n; i++)
        for (s->stage = stage_of(t, t->at[i].from); s->stage <= stage_of(t, t->at[i].to - 1);
             s->stage++) {
            s->var = -1;
            if (g->body.stmt[i].kind == ET_S_LOOP) {
                int from = stage_before(t, i, t->bound[s->stage]);
                int to = stage_before(t, i, t->bound[s->stage + 1]);
                s->var = g->loops[g->body.stmt[i].index].var;
                et_expr own =
                    et_var(g->exprs, et_graph_var(g, "layer", et_int(g->exprs, to - from)));
                s->by = et_add(g->exprs, own, et_int(g->exprs, from));
            }
            stage_walk(g, g->body.stmt[i], look, s);
        }
}

static bool check_rows(struct states *s) {
    const et_graph *g = s->t->g;
    for (int v = 1; v < g->nvals; v++)
        for (int a = 0; s->written[v] && a < s->t->stages; a++)
            for (int b = 0; b < a; b++) {
                struct rows x = s->of[a * g->nvals + v], y = s->of[b * g->nvals + v];
                if (x.from == x.to || y.from == y.to || x.from >= y.to || y.from >= x.to) continue;
                s->t->why = et_printf(g->arena,
                                      "stages %d and %d would read and write the same of state %s",
                                      b + 1, a + 1, g->vals[v].name);
                return false;
            }
    return true;
}

static int64_t first_of(const struct states *s, et_value v) {
    const et_graph *g = s->t->g;
    if (et_val_of(g, v)->kind != ET_V_STATE) return 0;
    return s->of[s->t->stage * g->nvals + (int)v.id].from;
}

static et_expr move_load(void *ctx, et_exprs *p, et_expr e) {
    const struct loads *l = ctx;
    const et_node_x *x = et_x(p, e);
    et_expr index[ET_MAX_RANK];
    if (!is_load_of(p, e, l->arg)) return ET_NO_EXPR;
    memcpy(index, x->ops, (size_t)x->nops * sizeof *index);
    et_expr *row = &index[l->s->axis[l->n->args[l->arg].id]];
    *row = et_sub(p, *row, et_int(p, first_of(l->s, l->n->args[l->arg])));
    return et_load(p, ET_LOAD_ARG, l->arg, x->type, x->nops, index);
}

static void move_rows(void *ctx, int node) {
    struct states *s = ctx;
    et_graph *g = s->t->g;
    et_node *n = &g->nodes[node];
    int64_t count;
    for (int a = 0; n->op->class == ET_CLASS_ATTENTION && a < n->nargs; a++) {
        struct loads l = {s, n, a};
        for (int i = 0; first_of(s, n->args[a]) && i < n->nattrs; i++)
            if (n->attrs[i].kind == ET_A_EXPR && n->attrs[i].expr.id)
                n->attrs[i].expr = et_subst(g->exprs, n->attrs[i].expr, move_load, &l);
    }
    if (n->op->class == ET_CLASS_ATTENTION || !n->nargs || !first_of(s, n->args[0])) return;
    et_attr *a = rows_of(g, n, &count);
    int axis = s->axis[n->args[0].id];
    if (a)
        set_index(g, a, axis,
                  et_sub(g->exprs, a->exprs[axis], et_int(g->exprs, first_of(s, n->args[0]))));
}

/* ---- loops ---- */

struct loop {
    struct staging *t;
    int at, was; /* the loop; its variable before */
    et_expr var, by;
};

static bool is_stacked(const struct loop *l, const et_node *n) {
    const et_val *v = n->nargs ? et_val_of(l->t->g, n->args[0]) : NULL;
    return v && v->kind == ET_V_WEIGHT && v->nloops && v->loops[0] == l->at;
}

static et_expr other(const struct loop *l, et_expr e) {
    return et_subst_var(l->t->g->exprs, e, l->was, l->by);
}

static void change(void *ctx, int node) {
    struct loop *l = ctx;
    et_graph *g = l->t->g;
    et_node *n = &g->nodes[node];
    bool own_row = is_stacked(l, n) && n->op == &et_op_slice &&
                   et_expr_eq(et_op_exprs(n, "start", et_arg_shape(g, n, 0)->rank)[0],
                              et_var(g->exprs, l->was));
    if (is_stacked(l, n) && !own_row)
        l->t->why = "a weight of each iteration is read by another iteration";
    for (int i = 0; i < n->nattrs; i++) {
        et_attr *a = &n->attrs[i];
        if (a->kind == ET_A_EXPR) a->expr = other(l, a->expr);
        for (int k = 0; a->kind == ET_A_VARS && k < a->n; k++)
            if (et_expr_has_var(g->exprs, et_var_extent(g->exprs, (int)a->ints[k]), l->was))
                l->t->why = "extents differ from iteration to iteration";
        if (a->kind != ET_A_EXPRS) continue;
        et_expr *own = et_alloc(g->arena, ((size_t)a->n + 1) * sizeof *own);
        for (int k = 0; k < a->n; k++)
            own[k] = a->exprs[k].id ? other(l, a->exprs[k]) : a->exprs[k];
        a->exprs = own;
    }
    if (own_row) set_index(g, attr(n, "start"), 0, l->var);
    et_shape *s = n->result.id ? &et_val_of(g, n->result)->shape : NULL;
    for (int d = 0; s && d < s->rank; d++)
        s->dim[d] = other(l, s->dim[d]);
}

/* The loop of statement S runs the stage's iterations. */
static void trim(struct staging *t, int s) {
    et_graph *g = t->g;
    int at = g->body.stmt[s].index;
    et_loop *loop = &g->loops[at];
    int from = stage_before(t, s, t->bound[t->stage]),
        to = stage_before(t, s, t->bound[t->stage + 1]);
    if (to - from == loop->hi - loop->lo) return;
    struct loop l = {.t = t, .at = at, .was = loop->var};
    const char *name = et_var_name(g->exprs, l.was);
    et_var_rename(g->exprs, l.was, et_printf(g->arena, "%s.all", name));
    loop->trips = et_int(g->exprs, to - from);
    loop->var = et_var_add(g->exprs, name, loop->trips);
    et_graph_renamed(g);
    loop->hi = loop->lo + to;
    loop->lo += from;
    l.var = et_var(g->exprs, loop->var);
    l.by = et_add(g->exprs, l.var, et_int(g->exprs, from));
    stage_walk(g, g->body.stmt[s], change, &l);
    for (int v = 1; v < g->nvals; v++)
        if (g->vals[v].kind == ET_V_WEIGHT && g->vals[v].nloops && g->vals[v].loops[0] == at)
            g->vals[v].shape.dim[0] = loop->trips;
}

static bool is_own(const struct staging *t, int s) {
    return stage_of(t, t->at[s].from) <= t->stage && t->stage <= stage_of(t, t->at[s].to - 1);
}

bool stage_cut(struct staging *t) {
    et_graph *g = t->g;
    struct states s = {.t = t};
    int nvals = g->nvals;
    s.of = et_alloc(g->arena, (size_t)t->stages * (size_t)nvals * sizeof *s.of);
    s.written = et_alloc(g->arena, (size_t)nvals);
    s.axis = et_alloc(g->arena, (size_t)nvals * sizeof *s.axis);
    for (int i = 0; i < g->nnodes; i++)
        if (g->nodes[i].op && g->nodes[i].op->class == ET_CLASS_SCAN)
            s.axis[g->nodes[i].args[0].id] = layer_axis(g, &g->nodes[i]);
    find_rows(&s);
    if (!check_rows(&s)) return false;
    for (int i = 0; i < g->body.n; i++) {
        if (!is_own(t, i)) continue;
        if (g->body.stmt[i].kind == ET_S_LOOP) trim(t, i);
        stage_walk(g, g->body.stmt[i], move_rows, &s);
    }
    for (int v = 1; v < nvals; v++) {
        struct rows own = s.of[t->stage * nvals + v];
        /* Of what others alone keep the last stage, to which a server looks for sizes, has one. */
        for (int a = 0; a < t->stages && own.from == own.to; a++)
            if (s.of[a * nvals + v].from < s.of[a * nvals + v].to) own.to = own.from + 1;
        if (own.from < own.to && g->vals[v].shape.rank)
            g->vals[v].shape.dim[s.axis[v]] = et_int(g->exprs, own.to - own.from);
    }
    return !t->why;
}
