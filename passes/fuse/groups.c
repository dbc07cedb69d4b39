/* From the graph to groups: one group per tensor that is computed. */
#include "ir/base/names.h"
#include "ir/program/tags.h"
#include "passes/fuse/lowering.h"
#include "passes/pipeline/names.h"
#include <string.h>

/* A value with a larger or deeper expression gets a tensor: expressions share parts, but passes
 * walk them as trees, which double with every x = x * x, and recursively. */
enum { MAX_FOLDED = 1000, MAX_DEEP = 500 };

static void note_folded(et_lowering *lo, et_value v) {
    int group = lo->p->ngroups;
    if (lo->info[v.id].last_group == group) return;
    lo->info[v.id].last_group = group;
    ET_GROW(lo->g->arena, lo->folded, lo->nfolded, lo->cfolded);
    lo->folded[lo->nfolded++] = (struct et_folded){group, (int)v.id};
}

/* The loops around the node of V, outermost first. */
static int loops_around(const et_lowering *lo, et_value v, int out[ET_MAX_LOOPS]) {
    int n = 0, up[ET_MAX_LOOPS];
    for (int l = lo->info[v.id].loop; l >= 0; l = lo->g->loops[l].parent)
        up[n++] = l;
    for (int i = 0; i < n; i++)
        out[i] = up[n - 1 - i];
    return n;
}

/* INDEX of V in its tensor, which has dimensions for the loops around a value that is exchanged:
 * nothing of it is stored twice in a launch. Returns its rank. */
static int partial_index(et_lowering *lo, et_value v, const et_expr *index, et_expr *out) {
    int loop[ET_MAX_LOOPS], n = loops_around(lo, v, loop), rank = et_val_of(lo->g, v)->shape.rank;
    for (int i = 0; i < n; i++)
        out[i] = et_var(lo->g->exprs, lo->g->loops[loop[i]].var);
    memcpy(out + n, index, (size_t)rank * sizeof *out);
    return n + rank;
}

et_expr et_value_at(et_lowering *lo, et_value v, const et_expr *index) {
    const et_val *val = et_val_of(lo->g, v);
    int tensor = lo->info[v.id].tensor;
    lo->asked++;
    if (tensor >= 0) {
        const et_tensor *t = &lo->p->tensors[tensor];
        et_expr other[ET_MAX_RANK];
        int rank = val->shape.rank;
        if (t->relaid) rank = et_relaid_index(lo, t, lo->relaying[v.id], index, other);
        if (t->partial) rank = partial_index(lo, v, index, other);
        return et_load(lo->g->exprs, ET_LOAD_TENSOR, tensor, et_dtype_type(val->shape.dtype), rank,
                       t->relaid || t->partial ? other : index);
    }
    const et_node *n = et_node_of(lo->g, v);
    note_folded(lo, v);
    if (n && n->op->class == ET_CLASS_SCAN) return et_sum_of_scan(lo, v, index);
    et_check(n && n->op->at);
    /* A placeholder for a value without a tensor, in a lowering that will be started over: an
     * argument, which is not simplified. */
    et_expr later = et_arg(lo->g->exprs, (int)v.id, et_dtype_type(val->shape.dtype));
    if (lo->forced[v.id]) return later;
    et_expr e = n->op->at(&lo->lower, n, index);
    const et_node_x *x = et_x(lo->g->exprs, e);
    if (x->size <= MAX_FOLDED && x->depth <= MAX_DEEP) return e;
    et_force(lo, (int)v.id);
    return later;
}

/* ---- tensors ---- */

int et_add_tensor(et_lowering *lo, et_tensor_kind kind, const char *name, et_value v,
                  const et_shape *shape) {
    et_program *p = lo->p;
    ET_GROW(lo->g->arena, p->tensors, p->ntensors, p->ctensors);
    et_tensor *t = &p->tensors[p->ntensors];
    *t = (et_tensor){.kind = kind,
                     .name = et_names_add(lo->tensor_names, name, '_'),
                     .shape = *shape,
                     .value = v,
                     .max_bytes = et_shape_max_bytes(lo->g->exprs, shape)};
    return p->ntensors++;
}

static bool is_folded(void *ctx, et_value v) {
    const et_value_info *i = &((const et_lowering *)ctx)->info[v.id];
    return !i->keep && i->tensor < 0;
}

/* The names, under the plan, of a value's tensor and of the task that computes it. */
static const char *name_of(et_lowering *lo, et_value v) {
    return et_source_name(lo->g, v, is_folded, lo);
}

/* Where a dimension changes with a loop, there is room for the largest. */
et_expr et_most(const et_lowering *lo, et_expr dim) {
    int64_t least, most;
    if (!et_expr_has_op(lo->g->exprs, dim, ET_X_VAR)) return dim;
    return et_bounds(lo->g->exprs, dim, &least, &most) ? et_int(lo->g->exprs, most) : dim;
}

/* V, which devices exchange, is too large for a tag of each element. */
static bool has_flags(const et_lowering *lo, et_value v) {
    int64_t bytes = et_shape_max_bytes(lo->g->exprs, &et_val_of(lo->g, v)->shape);
    return bytes / (lo->info[v.id].own ? lo->g->devices : 1) > lo->most_tagged;
}

int et_temp_for(et_lowering *lo, et_value v) {
    et_shape shape = et_val_of(lo->g, v)->shape;
    bool partial = lo->info[v.id].partial, flagged = partial && has_flags(lo, v);
    shape.dtype = et_dtype_stored(shape.dtype);
    if (flagged && !lo->info[v.id].own) shape.dtype = lo->parts;
    if (partial) {
        int loop[ET_MAX_LOOPS], n = loops_around(lo, v, loop);
        for (int i = 0; i < n; i++)
            shape.dim[i] =
                et_int(lo->g->exprs, lo->g->loops[loop[i]].hi - lo->g->loops[loop[i]].lo);
        memcpy(shape.dim + n, et_val_of(lo->g, v)->shape.dim,
               (size_t)shape.rank * sizeof *shape.dim);
        shape.rank += n;
    }
    for (int d = 0; d < shape.rank; d++)
        shape.dim[d] = et_most(lo, shape.dim[d]);
    int t = et_add_tensor(lo, ET_TENSOR_TEMP, name_of(lo, v), v, &shape);
    if (!partial) return t;
    et_tensor *sum = &lo->p->tensors[t];
    sum->partial = lo->g->devices;
    int own = lo->info[v.id].own, n = shape.rank - et_val_of(lo->g, v)->shape.rank;
    sum->own = own ? own + n : 0;
    sum->flagged = flagged;
    sum->max_bytes = et_tagged_bytes(sum, sum->max_bytes);
    return t;
}

static void add_leaf_tensors(et_lowering *lo) {
    static const struct {
        et_value_kind from;
        et_tensor_kind to;
    } kinds[] = {{ET_V_INPUT, ET_TENSOR_INPUT},
                 {ET_V_WEIGHT, ET_TENSOR_WEIGHT},
                 {ET_V_STATE, ET_TENSOR_STATE},
                 {ET_V_CONST, ET_TENSOR_CONST}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        for (int i = 1; i < lo->g->nvals; i++) {
            const et_val *v = &lo->g->vals[i];
            if (v->kind != kinds[k].from) continue;
            int t = et_add_tensor(lo, kinds[k].to,
                                  v->name ? v->name : et_model_name(lo->g, v->model, "const"),
                                  (et_value){(uint32_t)i}, &v->shape);
            et_tensor *tensor = &lo->p->tensors[t];
            tensor->data = v->data;
            tensor->source = v->source;
            tensor->cut = v->cut;
            tensor->nloops = v->nloops;
            memcpy(tensor->loops, v->loops, sizeof v->loops);
            lo->info[i].tensor = t;
            if (lo->relaying && lo->relaying[i]) et_relay_tensor(lo, tensor, lo->relaying[i]);
        }
}

/* An output that is not simply the result of a node (an input, a loop's result) is copied. */
static void add_output_tensors(et_lowering *lo) {
    for (int i = 0; i < lo->g->noutputs; i++) {
        et_value v = lo->g->outputs[i];
        const et_val *val = et_val_of(lo->g, v);
        int t =
            et_add_tensor(lo, ET_TENSOR_OUTPUT, val->name ? val->name : "output", v, &val->shape);
        lo->p->tensors[t].cut = val->cut;
        if (val->kind == ET_V_NODE && lo->info[v.id].tensor < 0) lo->info[v.id].tensor = t;
    }
}

/* ---- groups ---- */

static et_group *new_group(et_lowering *lo, const et_shape *s, const char *name, et_loc loc,
                           int loop) {
    name = et_names_add(lo->group_names, name, '_');
    ET_GROW(lo->g->arena, lo->p->groups, lo->p->ngroups, lo->p->cgroups);
    et_group *gr = &lo->p->groups[lo->p->ngroups++];
    *gr =
        (et_group){.kind = ET_GROUP_STORE, .name = name, .loc = loc, .loop = loop, .rank = s->rank};
    static const char letter[] = "ijuvwxyz"; /* products have m, n, k; attention g, p */
    for (int i = 0; i < s->rank; i++)
        gr->axis[i] = et_graph_var(lo->g, (char[]){letter[i], 0}, et_most(lo, s->dim[i]));
    return gr;
}

/* INDEX, at most the last of DIM: where DIM changes with a loop tiles compute elements past it,
 * too, which repeat the last one. */
static et_expr inside(et_lowering *lo, et_expr index, et_expr dim) {
    et_exprs *x = lo->g->exprs;
    if (et_expr_eq(et_most(lo, dim), dim)) return index;
    return et_op2(x, ET_X_MIN, index, et_sub(x, dim, et_int(x, 1)));
}

static void axis_index(et_lowering *lo, const et_group *gr, et_expr index[ET_MAX_RANK]) {
    for (int i = 0; i < gr->rank; i++)
        index[i] = et_var(lo->g->exprs, gr->axis[i]);
}

static void store_to(et_lowering *lo, et_group *gr, int tensor) {
    gr->to = (et_place){.space = ET_LOAD_TENSOR, .id = tensor, .rank = gr->rank};
    axis_index(lo, gr, gr->to.index);
}

/* ---- matrix products ---- */

static et_dtype operand_type(et_lowering *lo, const et_node *n) {
    et_dtype a = et_val_of(lo->g, n->args[0])->shape.dtype;
    et_dtype b = et_val_of(lo->g, n->args[1])->shape.dtype;
    return a == ET_F32 ? b : a;
}

/* INDEX of an operand, whose batch dimensions may be fewer than the product's, or 1. */
static int operand_batch(et_lowering *lo, const et_shape *operand, const et_product *p,
                         et_expr index[ET_MAX_RANK]) {
    int n = operand->rank - 2;
    for (int b = 0; b < n; b++) {
        int64_t one;
        bool single = et_is_int(lo->g->exprs, operand->dim[b], &one) && one == 1;
        et_expr at = et_var(lo->g->exprs, p->batch[p->nbatch - n + b]);
        index[b] = single ? et_int(lo->g->exprs, 0) : inside(lo, at, operand->dim[b]);
    }
    return n;
}

/* A variable over EXTENT: that of an earlier product of the group where the extents are equal. */
static int shared_var(et_lowering *lo, const char *name, et_expr extent, bool has, int earlier) {
    if (has && et_expr_eq(et_var_extent(lo->g->exprs, earlier), extent)) return earlier;
    return et_graph_var(lo->g, name, extent);
}

static void add_product(et_lowering *lo, et_group *gr, et_value v) {
    const et_node *n = et_node_of(lo->g, v);
    const et_shape *s = &et_val_of(lo->g, v)->shape;
    const et_shape *a = &et_val_of(lo->g, n->args[0])->shape;
    const et_product *first = &gr->product[0];
    et_product *p = &gr->product[gr->nproduct];
    bool has = gr->nproduct > 0 && first->nbatch == s->rank - 2;
    *p = (et_product){.name = et_printf(lo->g->arena, "p%d", gr->nproduct),
                      .nbatch = s->rank - 2,
                      .operand = operand_type(lo, n),
                      .value = v,
                      .left = n->args[0]};
    et_expr index[ET_MAX_RANK];
    for (int b = 0; b < p->nbatch; b++)
        p->batch[b] = shared_var(lo, (char[]){'b', (char)('0' + b), 0}, et_most(lo, s->dim[b]), has,
                                 has ? first->batch[b] : 0);
    et_exprs *x = lo->g->exprs;
    et_expr rows = s->dim[s->rank - 2], columns = s->dim[s->rank - 1], sum = a->dim[a->rank - 1];
    p->m = shared_var(lo, "m", et_most(lo, rows), has, has ? first->m : 0);
    p->n = shared_var(lo, "n", et_most(lo, columns), has, has ? first->n : 0);
    p->k = shared_var(lo, "k", et_most(lo, sum), has, has ? first->k : 0);
    et_expr m = inside(lo, et_var(x, p->m), rows), col = inside(lo, et_var(x, p->n), columns);
    et_expr k = inside(lo, et_var(x, p->k), sum);
    int at = operand_batch(lo, a, p, index);
    index[at] = m, index[at + 1] = k;
    p->a = et_left_at(lo, n, index);
    if (!et_expr_eq(et_most(lo, sum), sum))
        p->a = et_select(x, et_op2(x, ET_X_LT, et_var(x, p->k), sum), p->a, et_float(x, 0));
    bool trans = et_attr_int(n, "trans_b", 0);
    at = operand_batch(lo, &et_val_of(lo->g, n->args[1])->shape, p, index);
    index[at] = trans ? col : k, index[at + 1] = trans ? k : col;
    p->b = et_arg_at(&lo->lower, n, 1, index);
    gr->nproduct++;
}

struct products {
    et_lowering *lo;
    et_group *gr;
};

static void find_product(void *ctx, et_expr e) {
    struct products *s = ctx;
    const et_node_x *x = et_x(s->lo->g->exprs, e);
    if (x->op != ET_X_CONTRACT) return;
    for (int i = 0; i < s->gr->nproduct; i++)
        if (s->gr->product[i].value.id == (uint32_t)x->i) return;
    if (et_is_row_of_sums(s->lo, et_node_of(s->lo->g, (et_value){(uint32_t)x->i}))) return;
    if (s->gr->nproduct == ET_MAX_ACC)
        et_force(s->lo, x->i);
    else
        add_product(s->lo, s->gr, (et_value){(uint32_t)x->i});
}

static et_expr name_product(void *ctx, et_exprs *x, et_expr e) {
    struct products *s = ctx;
    const et_node_x *n = et_x(x, e);
    for (int i = 0; n->op == ET_X_CONTRACT && i < s->gr->nproduct; i++)
        if (s->gr->product[i].value.id == (uint32_t)n->i)
            return et_contract_x(x, i, n->nops, n->ops);
    const et_node *of =
        n->op == ET_X_CONTRACT ? et_node_of(s->lo->g, (et_value){(uint32_t)n->i}) : NULL;
    if (of && et_is_row_of_sums(s->lo, of)) return et_row_of_sums(s->lo, of, n->ops);
    return ET_NO_EXPR;
}

/* The group computes E: its products are listed, and referred to by index from here on. */
static void set_value(et_lowering *lo, et_group *gr, et_expr e) {
    struct products s = {lo, gr};
    et_walk(lo->g->exprs, e, find_product, &s);
    gr->value = et_subst(lo->g->exprs, e, name_product, &s);
}

/* ---- the kinds of groups ---- */

static void copy_group(et_lowering *lo, et_value v, int tensor, int loop) {
    const et_val *val = et_val_of(lo->g, v);
    et_group *gr = new_group(lo, &val->shape, lo->p->tensors[tensor].name, val->loc, loop);
    store_to(lo, gr, tensor);
    set_value(lo, gr, et_value_at(lo, v, gr->to.index));
}

static void take_hint(et_group *gr, const et_node *n) {
    const et_attr *a = et_attr_find(n, "tile");
    for (int i = 0; a && a->kind == ET_A_INTS && i < a->n && i < gr->rank; i++)
        gr->tile[i] = (int)a->ints[i];
    const et_attr *range = et_attr_find(n, "range");
    if (range) gr->range = (et_share){(int)range->ints[0], (int)range->ints[1]};
    if (et_attr_find(n, "dynamic"))
        gr->hint = et_attr_int(n, "dynamic", 0) ? ET_HINT_DYNAMIC : ET_HINT_STATIC;
}

static void node_group(et_lowering *lo, const et_node *n, int loop) {
    const et_val *val = et_val_of(lo->g, n->result);
    int tensor = lo->info[n->result.id].tensor;
    const et_tensor *to = &lo->p->tensors[tensor];
    const char *name = to->value.id == n->result.id ? to->name : name_of(lo, n->result);
    const et_node *scan = et_scan_in(lo, n->result);
    if (scan) val = et_val_of(lo->g, scan->result);
    et_group *gr = new_group(lo, &val->shape, name, n->loc, loop);
    take_hint(gr, scan ? scan : n);
    et_expr axis[ET_MAX_RANK], at[ET_MAX_RANK];
    axis_index(lo, gr, axis);
    store_to(lo, gr, tensor);
    if (to->partial) gr->to.rank = partial_index(lo, n->result, axis, gr->to.index);
    for (int d = 0; d < gr->rank; d++)
        at[d] =
            n->op->class == ET_CLASS_CONTRACT ? axis[d] : inside(lo, axis[d], val->shape.dim[d]);
    if (n->op->class == ET_CLASS_ATTENTION)
        et_attend_group(lo, gr, n, at);
    else if (scan || n->op->class == ET_CLASS_SCAN)
        et_scan_group(lo, gr, scan ? scan : n, n, at);
    else
        set_value(lo, gr, n->op->at(&lo->lower, n, at));
}

/* Where an update stores: at its axes, in ranges of the state, at indices that are the same for all
 * elements, and at those that tensors say, which may be outside of the state. */
static void store_into_state(et_lowering *lo, const et_node *n, et_group *gr, const et_expr *axis) {
    et_exprs *x = lo->g->exprs;
    const et_shape *state = &et_val_of(lo->g, n->args[0])->shape;
    const et_attr *kind = et_attr_find(n, "index"), *scalar = et_attr_find(n, "scalar");
    const et_attr *step = et_attr_find(n, "step");
    int next = n->nargs > 2;
    gr->to.rank = state->rank;
    for (int d = 0; d < state->rank; d++) {
        int64_t k = kind->ints[d];
        et_expr at = k == -1 || k == -3 ? axis[next++]
                     : k == -2          ? scalar->exprs[d]
                                        : et_arg_at(&lo->lower, n, 2 + (int)k, axis);
        if (k == -3)
            at = et_add(x, scalar->exprs[d], et_mul(x, at, et_int(x, step ? step->ints[d] : 1)));
        gr->to.index[d] = at;
        if (k == -1 || k == -3) continue;
        et_expr in = et_op2(x, ET_X_AND, et_op2(x, ET_X_LE, et_int(x, 0), at),
                            et_op2(x, ET_X_LT, at, state->dim[d]));
        gr->mask = gr->mask.id ? et_op2(x, ET_X_AND, gr->mask, in) : in;
    }
}

/* An update reads the state as it was: elements that the group would overwrite are copied first. */
static void read_before(et_lowering *lo, const et_node *n, et_group *gr, const et_expr *axis) {
    bool value = et_reads_what_it_overwrites(lo, gr, gr->value);
    for (int i = 0; i < gr->nproduct; i++) {
        value |= et_reads_what_it_overwrites(lo, gr, gr->product[i].a);
        value |= et_reads_what_it_overwrites(lo, gr, gr->product[i].b);
    }
    if (value) et_force(lo, (int)n->args[1].id);
    bool apart = n->nargs == 2;
    et_expr any[ET_MAX_RANK];
    axis_index(lo, gr, any);
    for (int a = 2; a < n->nargs; a++) {
        et_expr at = et_arg_at(&lo->lower, n, a, axis);
        apart |= et_goes_alone(lo, gr, et_arg_at(&lo->lower, n, a, any));
        if (et_reads_what_it_overwrites(lo, gr, at)) et_force(lo, (int)n->args[a].id);
    }
    if (!apart) et_force(lo, (int)n->args[2].id);
}

/* An update whose value or index is the state itself, which is no node to materialise, reads a
 * copy. Returns the copy's tensor, or -1. */
static int copy_of_itself(et_lowering *lo, const et_node *n, int loop) {
    bool itself = false;
    for (int a = 1; a < n->nargs; a++)
        itself |= n->args[a].id == n->args[0].id;
    if (!itself || n->nargs == 2) return -1; /* s[:] = s leaves every element as it is */
    int copy = et_temp_for(lo, n->args[0]);
    copy_group(lo, n->args[0], copy, loop);
    return copy;
}

static void update_group(et_lowering *lo, const et_node *n, int loop) {
    et_exprs *x = lo->g->exprs;
    const et_val *state = et_val_of(lo->g, n->args[0]), *val = et_val_of(lo->g, n->args[1]);
    int *tensor = &lo->info[n->args[0].id].tensor, to = *tensor;
    int copy = copy_of_itself(lo, n, loop);
    const char *name = et_printf(lo->g->arena, "%s_update", state->name ? state->name : "state");
    et_group *gr = new_group(lo, &val->shape, name, n->loc, loop);
    et_expr axis[ET_MAX_RANK];
    axis_index(lo, gr, axis);
    for (int d = 0; d < gr->rank; d++) {
        et_expr in = et_op2(x, ET_X_LT, axis[d], val->shape.dim[d]);
        if (et_expr_eq(et_most(lo, val->shape.dim[d]), val->shape.dim[d])) continue;
        gr->mask = gr->mask.id ? et_op2(x, ET_X_AND, gr->mask, in) : in;
        axis[d] = inside(lo, axis[d], val->shape.dim[d]);
    }
    if (copy >= 0) *tensor = copy;
    gr->to = (et_place){.space = ET_LOAD_TENSOR, .id = to};
    store_into_state(lo, n, gr, axis);
    set_value(lo, gr, et_arg_at(&lo->lower, n, 1, axis));
    read_before(lo, n, gr, axis);
    *tensor = to;
    int64_t any;
    if (gr->mask.id && et_is_int(x, gr->mask, &any) && !any)
        lo->p->ngroups--; /* every index is outside of the state */
}

/* ---- temporaries ---- */

/* In program order. */
static void assign_temps(et_lowering *lo, const et_block *b) {
    for (int s = 0; s < b->n; s++) {
        int at = b->stmt[s].index;
        if (b->stmt[s].kind == ET_S_LOOP) {
            assign_temps(lo, &lo->g->loops[at].body);
            continue;
        }
        et_value v = lo->g->nodes[at].result;
        if (v.id && lo->info[v.id].keep && lo->info[v.id].tensor < 0)
            lo->info[v.id].tensor = et_temp_for(lo, v);
    }
}

/* ---- the program's tree ---- */

struct entries {
    et_item *v;
    int n, cap;
};

static void add_entry(et_lowering *lo, struct entries *e, et_item it) {
    ET_GROW(lo->g->arena, e->v, e->n, e->cap);
    e->v[e->n++] = it;
}

static void note_groups(et_lowering *lo, struct entries *e, int from) {
    for (int i = from; i < lo->p->ngroups; i++)
        add_entry(lo, e, (et_item){.kind = ET_P_GRID, .index = i});
}

/* Carried values that were not written in place: all are read before any is written. */
static void copy_carries(et_lowering *lo, const et_loop *l, int loop, bool init) {
    int *from = et_alloc(lo->g->arena, (size_t)l->ncarry * sizeof *from), n = 0;
    for (int c = 0; c < l->ncarry; c++) {
        et_value v = init ? l->carry[c].init : l->carry[c].out;
        int t = lo->info[l->carry[c].in.id].tensor;
        from[c] = -1;
        if (lo->info[v.id].tensor == t) continue;
        n++;
        bool overwritten = false; /* does another copy write what this one reads? */
        for (int o = 0; !init && o < l->ncarry; o++)
            overwritten |= o != c && lo->info[v.id].tensor == lo->info[l->carry[o].in.id].tensor;
        if (!overwritten) continue;
        from[c] = et_temp_for(lo, v);
        copy_group(lo, v, from[c], loop);
    }
    for (int c = 0; n && c < l->ncarry; c++) {
        et_value v = init ? l->carry[c].init : l->carry[c].out;
        int t = lo->info[l->carry[c].in.id].tensor, was = lo->info[v.id].tensor;
        if (was == t) continue;
        if (from[c] >= 0) lo->info[v.id].tensor = from[c];
        copy_group(lo, v, t, loop);
        lo->info[v.id].tensor = was;
    }
}

static void build_block(et_lowering *lo, const et_block *b, int loop, int *out_first,
                        int *out_count) {
    struct entries e = {0};
    for (int s = 0; s < b->n; s++) {
        int at = b->stmt[s].index, from = lo->p->ngroups;
        if (b->stmt[s].kind == ET_S_LOOP) {
            const et_loop *l = &lo->g->loops[at];
            copy_carries(lo, l, loop, true);
            note_groups(lo, &e, from);
            et_item it = {.kind = ET_P_LOOP, .index = at};
            build_block(lo, &l->body, at, &it.first, &it.count);
            if (it.count) add_entry(lo, &e, it); /* else everything in it is folded elsewhere */
            continue;
        }
        const et_node *n = &lo->g->nodes[at];
        if (n->op->class == ET_CLASS_UPDATE)
            update_group(lo, n, loop);
        else if (lo->info[n->result.id].tensor >= 0)
            node_group(lo, n, loop);
        note_groups(lo, &e, from);
    }
    int from = lo->p->ngroups;
    if (loop >= 0) copy_carries(lo, &lo->g->loops[loop], loop, false);
    note_groups(lo, &e, from);
    et_program *p = lo->p;
    *out_first = p->nitems;
    *out_count = e.n;
    for (int i = 0; i < e.n; i++) {
        ET_GROW(lo->g->arena, p->items, p->nitems, p->citems);
        p->items[p->nitems++] = e.v[i];
    }
}

/* Outputs that copy another value, appended to the top-level list. */
static void copy_outputs(et_lowering *lo) {
    et_program *p = lo->p;
    for (int t = 0; t < p->ntensors; t++) {
        if (p->tensors[t].kind != ET_TENSOR_OUTPUT) continue;
        et_value v = p->tensors[t].value;
        if (lo->info[v.id].tensor == t) continue;
        copy_group(lo, v, t, -1);
        ET_GROW(lo->g->arena, p->items, p->nitems, p->citems);
        p->items[p->nitems++] = (et_item){.kind = ET_P_GRID, .index = lo->p->ngroups - 1};
        p->count++;
    }
}

void et_build_groups(et_lowering *lo) {
    lo->p = et_program_create(lo->g);
    lo->p->workgroup = lo->workgroup;
    lo->p->occupancy = lo->occupancy;
    lo->p->ngroups = 0;
    lo->folded = NULL; /* a trial's memory goes with the trial */
    lo->nfolded = lo->cfolded = 0;
    lo->tensor_names = et_names_create(lo->g->arena);
    lo->group_names = et_names_create(lo->g->arena);
    et_plan_materialise(lo);
    add_leaf_tensors(lo);
    add_output_tensors(lo);
    et_assign_carries(lo);
    assign_temps(lo, &lo->g->body);
    build_block(lo, &lo->g->body, -1, &lo->p->first, &lo->p->count);
    copy_outputs(lo);
}
