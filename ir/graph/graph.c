#include "ir/graph/graph.h"
#include "ir/graph/ops.h"
#include <string.h>

bool et_shape_eq(const et_shape *a, const et_shape *b) {
    if (a->dtype != b->dtype || a->rank != b->rank) return false;
    for (int i = 0; i < a->rank; i++)
        if (!et_expr_eq(a->dim[i], b->dim[i])) return false;
    return true;
}

char *et_dims_text(et_exprs *p, int rank, const et_expr *dim) {
    et_arena *a = et_exprs_arena(p);
    char *text = et_strdup(a, "[");
    for (int i = 0; i < rank; i++)
        text = et_printf(a, "%s%s%s", text, i ? ", " : "", et_expr_text(p, dim[i], NULL, NULL));
    return et_printf(a, "%s]", text);
}

char *et_shape_text(et_exprs *p, const et_shape *s) {
    return et_printf(et_exprs_arena(p), "%s%s", et_dtype_name(s->dtype),
                     et_dims_text(p, s->rank, s->dim));
}

const char *et_shape_problem(et_exprs *p, const et_shape *s, bool weight) {
    int64_t last;
    if (!et_dtype_is_code(s->dtype)) return NULL;
    const char *name = et_dtype_name(s->dtype);
    if (!weight)
        return et_printf(et_exprs_arena(p), "only weights are %s: convert with %s(...)", name,
                         et_dtype_name(et_dtype_stored(s->dtype)));
    int each = 8 / et_dtype_bits(s->dtype);
    if (each > 1 && (!s->rank || (et_is_int(p, s->dim[s->rank - 1], &last) && last % each)))
        return et_printf(et_exprs_arena(p),
                         "%d elements of %s share a byte: the last dimension "
                         "is a multiple of that",
                         each, name);
    return NULL;
}

int64_t et_shape_max_bytes(const et_exprs *p, const et_shape *s) {
    int64_t n = 1, low, high;
    for (int i = 0; i < s->rank; i++)
        if (!et_bounds(p, s->dim[i], &low, &high) || __builtin_mul_overflow(n, high, &n))
            return INT64_MAX;
    return n > INT64_MAX / et_dtype_bits(s->dtype) ? INT64_MAX : et_dtype_size(s->dtype, n);
}

et_graph *et_graph_create(et_arena *arena, et_diags *diags) {
    et_graph *g = et_alloc(arena, sizeof *g);
    g->arena = arena;
    g->exprs = et_exprs_create(arena);
    g->diags = diags;
    g->name = g->source_hash = "";
    ET_GROW(arena, g->vals, g->nvals, g->cvals);
    g->nvals = 1;
    return g;
}

/* ---- several models ---- */

static bool is_model(const et_graph *g, const char *name) {
    for (int i = 0; i < g->nmodels; i++)
        if (strcmp(g->model[i].name, name) == 0) return true;
    return false;
}

bool et_graph_model(et_graph *g, const char *name) {
    if (g->nmodels == ET_MAX_MODELS) return false;
    const char *own = name;
    for (int n = 2; is_model(g, own); n++)
        own = et_printf(g->arena, "%s_%d", name, n);
    g->building = g->nmodels++;
    g->model[g->building] = (et_model){.name = et_strdup(g->arena, own), .weight = 1};
    return true;
}

const char *et_model_name(const et_graph *g, int model, const char *name) {
    return g->nmodels && name ? et_printf(g->arena, "%s.%s", g->model[model].name, name) : name;
}

const char *et_graph_name(const et_graph *g, const char *name) {
    return et_model_name(g, g->building, name);
}

int et_model_of(const et_graph *g, const char *name) {
    if (!g->nmodels) return 0;
    const char *dot = strchr(name, '.');
    for (int i = 0; dot && i < g->nmodels; i++) {
        size_t n = strlen(g->model[i].name);
        if (n == (size_t)(dot - name) && memcmp(name, g->model[i].name, n) == 0) return i;
    }
    return -1;
}

const char *et_model_plain(const et_graph *g, const char *name) {
    int m = g->nmodels ? et_model_of(g, name) : -1;
    return m < 0 ? name : name + strlen(g->model[m].name) + 1;
}

et_val *et_val_of(const et_graph *g, et_value v) {
    et_check(v.id > 0 && v.id < (uint32_t)g->nvals);
    return &g->vals[v.id];
}

et_node *et_node_of(const et_graph *g, et_value v) {
    const et_val *val = et_val_of(g, v);
    return val->kind == ET_V_NODE ? &g->nodes[val->node] : NULL;
}

et_value et_graph_value(et_graph *g, et_value_kind kind, const char *name, const et_shape *shape,
                        et_loc loc) {
    et_check(g->nvals < INT32_MAX);
    ET_GROW(g->arena, g->vals, g->nvals, g->cvals);
    g->vals[g->nvals] = (et_val){.kind = kind,
                                 .name = name ? et_strdup(g->arena, name) : NULL,
                                 .shape = *shape,
                                 .loc = loc,
                                 .model = g->building,
                                 .node = -1};
    return (et_value){(uint32_t)g->nvals++};
}

/* A block inside the loop array moves when the array grows; a pointer kept across that is a bug. */
static void check_block(const et_graph *g, const et_block *b) {
    if (b == &g->body) return;
    for (int i = 0; i < g->nloops; i++)
        if (b == &g->loops[i].body) return;
    et_bug("statement added to a stale block: call et_graph_loop_body again");
}

static void add_stmt(et_graph *g, et_block *b, et_stmt s) {
    check_block(g, b);
    ET_GROW(g->arena, b->stmt, b->n, b->cap);
    b->stmt[b->n++] = s;
}

static et_attr copy_attr(et_arena *arena, const et_attr *a) {
    et_attr c = *a;
    c.name = et_strdup(arena, a->name);
    size_t n = (size_t)a->n;
    if (a->kind == ET_A_INTS || a->kind == ET_A_VARS)
        c.ints = memcpy(et_alloc(arena, n * sizeof *a->ints), a->ints, n * sizeof *a->ints);
    if (a->kind == ET_A_EXPRS)
        c.exprs = memcpy(et_alloc(arena, n * sizeof *a->exprs), a->exprs, n * sizeof *a->exprs);
    return c;
}

/* A tensor has at least one element, and few enough to count in 64-bit arithmetic with room. */
static bool check_size(et_graph *g, const et_node *n, const et_shape *s) {
    int64_t count = 1;
    for (int i = 0; i < s->rank; i++) {
        int64_t lo, hi;
        if (!et_bounds(g->exprs, s->dim[i], &lo, &hi) || lo < 1) {
            et_diag(g->diags, ET_ERROR, n->loc,
                    "the result has shape %s: dimension %s may be less than 1",
                    et_dims_text(g->exprs, s->rank, s->dim),
                    et_expr_text(g->exprs, s->dim[i], NULL, NULL));
            return false;
        }
        if (__builtin_mul_overflow(count, hi, &count) || count > (int64_t)1 << 48) {
            et_diag(g->diags, ET_ERROR, n->loc, "the result has shape %s: too many elements",
                    et_dims_text(g->exprs, s->rank, s->dim));
            return false;
        }
    }
    return true;
}

bool et_graph_node(et_graph *g, et_block *block, const et_op *op, et_loc loc, int nargs,
                   const et_value *args, int nattrs, const et_attr *attrs, et_value *out_result) {
    if (out_result) *out_result = ET_NO_VALUE;
    if (nargs < op->nargs_min || nargs > op->nargs_max) {
        et_diag(g->diags, ET_ERROR, loc, "%s takes %s%d argument%s, not %d", op->name,
                op->nargs_min == op->nargs_max ? ""
                : nargs < op->nargs_min        ? "at least "
                                               : "up to ",
                nargs < op->nargs_min ? op->nargs_min : op->nargs_max,
                (nargs < op->nargs_min ? op->nargs_min : op->nargs_max) == 1 ? "" : "s", nargs);
        return false;
    }
    et_node n = {.op = op, .loc = loc, .nargs = nargs, .nattrs = nattrs, .vars = {-1, -1, -1}};
    if (nargs) memcpy(n.args, args, (size_t)nargs * sizeof *args);
    for (int i = 0; i < nargs; i++)
        et_val_of(g, args[i]);
    n.attrs = et_alloc(g->arena, (size_t)nattrs * sizeof *n.attrs);
    for (int i = 0; i < nattrs; i++)
        n.attrs[i] = copy_attr(g->arena, &attrs[i]);
    et_shape shape = {0};
    if (!op->shape(g, &n, &shape)) return false;
    bool has_result = op->class != ET_CLASS_UPDATE;
    if (has_result && !check_size(g, &n, &shape)) return false;
    if (has_result) {
        n.result = et_graph_value(g, ET_V_NODE, NULL, &shape, loc);
        et_val_of(g, n.result)->node = g->nnodes;
        if (out_result) *out_result = n.result;
    }
    ET_GROW(g->arena, g->nodes, g->nnodes, g->cnodes);
    g->nodes[g->nnodes] = n;
    add_stmt(g, block, (et_stmt){ET_S_NODE, g->nnodes++});
    return true;
}

et_block *et_graph_block(et_graph *g, int loop) {
    return loop < 0 ? &g->body : &g->loops[loop].body;
}

et_value et_graph_node_before(et_graph *g, int loop, int *at, const et_op *op, et_loc loc,
                              int nargs, const et_value *args, int nattrs, const et_attr *attrs) {
    et_value result;
    et_block *b = et_graph_block(g, loop);
    et_check(et_graph_node(g, b, op, loc, nargs, args, nattrs, attrs, &result));
    int last = b->n - 1, s = (*at)++;
    et_stmt own = b->stmt[last];
    memmove(&b->stmt[s + 1], &b->stmt[s], (size_t)(last - s) * sizeof *b->stmt);
    b->stmt[s] = own;
    return result;
}

struct taken {
    const char *name;
};

static void take(et_graph *g, const char *name) {
    if (et_table_find(&g->taken.names, name)) return;
    struct taken *t = et_alloc(g->arena, sizeof *t);
    t->name = name;
    g->taken.noted++;
    et_table_add(g->arena, &g->taken.names, t);
}

/* By a symbol, or by a loop. */
static bool is_taken(et_graph *g, const char *name) {
    while (g->taken.syms < et_sym_count(g->exprs))
        take(g, et_sym_name(g->exprs, g->taken.syms++));
    while (g->taken.loops < g->nloops)
        take(g, et_var_name(g->exprs, g->loops[g->taken.loops++].var));
    return et_table_find(&g->taken.names, name);
}

void et_graph_renamed(et_graph *g) {
    g->taken.names = (et_table){0};
    g->taken.syms = g->taken.loops = 0;
}

static const char *loop_label(et_graph *g, const char *name) {
    const char *label = name;
    for (int n = 2; is_taken(g, label); n++)
        label = et_printf(g->arena, "%s.%d", name, n);
    return label;
}

int et_graph_var(et_graph *g, const char *name, et_expr extent) {
    while (is_taken(g, name))
        name = et_printf(g->arena, "%s_", name);
    return et_var_add(g->exprs, name, extent);
}

static int new_loop(et_graph *g, const char *name, int parent, int64_t lo, int64_t hi,
                    et_expr trips, et_loc loc) {
    et_check(lo < hi);
    ET_GROW(g->arena, g->loops, g->nloops, g->cloops);
    g->loops[g->nloops] =
        (et_loop){.name = et_strdup(g->arena, name),
                  .model = g->building,
                  .var = et_var_add(g->exprs, loop_label(g, et_graph_name(g, name)), trips),
                  .lo = lo,
                  .hi = hi,
                  .trips = trips,
                  .parent = parent,
                  .loc = loc};
    return g->nloops++;
}

int et_graph_loop_until(et_graph *g, et_block *block, const char *name, int parent, int64_t lo,
                        int64_t hi, et_expr trips, et_loc loc) {
    /* The statement first: growing the array of loops moves BLOCK when it is a loop's body. */
    add_stmt(g, block, (et_stmt){ET_S_LOOP, g->nloops});
    return new_loop(g, name, parent, lo, hi, trips, loc);
}

int et_graph_loop(et_graph *g, et_block *block, const char *name, int parent, int64_t lo,
                  int64_t hi, et_loc loc) {
    return et_graph_loop_until(g, block, name, parent, lo, hi, et_int(g->exprs, hi - lo), loc);
}

int et_graph_stack(et_graph *g, const char *name, int64_t lo, int64_t hi, et_loc loc) {
    for (int l = 0; l < g->nloops; l++) {
        const et_loop *o = &g->loops[l];
        if (o->stacks && o->model == g->building && o->lo == lo && o->hi == hi &&
            strcmp(o->name, name) == 0)
            return l;
    }
    int l = new_loop(g, name, -1, lo, hi, et_int(g->exprs, hi - lo), loc);
    g->loops[l].stacks = true;
    return l;
}

static et_loop *loop_of(et_graph *g, int loop) {
    et_check(loop >= 0 && loop < g->nloops);
    return &g->loops[loop];
}

et_block *et_graph_loop_body(et_graph *g, int loop) {
    return &loop_of(g, loop)->body;
}

double et_loop_trips(const et_graph *g, int loop) {
    double n = 1;
    for (; loop >= 0; loop = g->loops[loop].parent)
        n *= (double)(g->loops[loop].hi - g->loops[loop].lo);
    return n;
}

double et_loop_trips_at(const et_graph *g, int loop, const int64_t *syms) {
    double n = 1;
    for (; loop >= 0; loop = g->loops[loop].parent)
        n *= (double)et_eval(g->exprs, g->loops[loop].trips, syms, NULL);
    return n;
}

bool et_loop_varies(const et_graph *g, const et_loop *l) {
    int64_t n;
    return !et_is_int(g->exprs, l->trips, &n);
}

et_value et_graph_carry(et_graph *g, int loop, et_value init) {
    et_loop *l = loop_of(g, loop);
    et_val from = *et_val_of(g, init);
    et_value in = et_graph_value(g, ET_V_CARRY, from.name, &from.shape, from.loc);
    et_val_of(g, in)->node = loop;
    ET_GROW(g->arena, l->carry, l->ncarry, l->ccarry);
    l->carry[l->ncarry++] = (et_carry){.init = init, .in = in};
    return in;
}

bool et_graph_carry_close(et_graph *g, int loop, et_value in, et_value out, et_loc loc,
                          et_value *out_result) {
    et_loop *l = loop_of(g, loop);
    et_carry *c = NULL;
    for (int i = 0; i < l->ncarry; i++)
        if (l->carry[i].in.id == in.id) c = &l->carry[i];
    et_check(c && !c->result.id);
    et_val from = *et_val_of(g, in);
    const et_val *to = et_val_of(g, out);
    *out_result = ET_NO_VALUE;
    if (!et_shape_eq(&from.shape, &to->shape)) {
        et_diag(
            g->diags, ET_ERROR, loc,
            "%s%sis %s before the loop over %s and %s after an iteration: both must be the same",
            from.name ? from.name : "a value carried around the loop", " ",
            et_shape_text(g->exprs, &from.shape), l->name, et_shape_text(g->exprs, &to->shape));
        return false;
    }
    c->out = out;
    c->result = et_graph_value(g, ET_V_LOOP, from.name, &from.shape, loc);
    et_val_of(g, c->result)->node = loop;
    *out_result = c->result;
    return true;
}

static bool in_outer_block(const et_graph *g, et_value v) {
    const et_val *val = et_val_of(g, v);
    if (val->kind != ET_V_NODE) return false;
    for (int i = g->body.n - 1; i >= 0; i--)
        if (g->body.stmt[i].kind == ET_S_NODE && g->body.stmt[i].index == val->node) return true;
    return false;
}

static et_value copy_of(et_graph *g, et_value v) {
    const et_val *val = et_val_of(g, v);
    et_loc loc = val->loc;
    et_attr attrs[] = {
        {.name = "body",
         .kind = ET_A_EXPR,
         .expr = et_arg(g->exprs, 0, et_dtype_type(val->shape.dtype))},
        {.name = "dtype", .kind = ET_A_INT, .i = val->shape.dtype},
    };
    et_value copy;
    et_check(et_graph_node(g, &g->body, &et_op_map, loc, 1, &v, 2, attrs, &copy));
    return copy;
}

void et_graph_output(et_graph *g, et_value v, const char *name) {
    if (et_val_of(g, v)->is_output || !in_outer_block(g, v)) v = copy_of(g, v);
    et_val *val = et_val_of(g, v);
    val->name = et_strdup(g->arena, name);
    val->is_output = true;
    ET_GROW(g->arena, g->outputs, g->noutputs, g->coutputs);
    g->outputs[g->noutputs++] = v;
}

/* In place of another of its name. */
static void set_attr(et_graph *g, et_value v, const et_attr *hint) {
    et_node *node = et_node_of(g, v);
    et_check(node);
    et_attr *attrs = et_alloc(g->arena, (size_t)(node->nattrs + 1) * sizeof *attrs);
    int kept = 0;
    for (int i = 0; i < node->nattrs; i++)
        if (strcmp(node->attrs[i].name, hint->name) != 0) attrs[kept++] = node->attrs[i];
    attrs[kept++] = copy_attr(g->arena, hint);
    node->attrs = attrs;
    node->nattrs = kept;
}

void et_graph_hint(et_graph *g, et_value v, int n, const int64_t *tile) {
    set_attr(g, v, &(et_attr){.name = "tile", .kind = ET_A_INTS, .n = n, .ints = tile});
}

void et_graph_hint_dynamic(et_graph *g, et_value v, bool dynamic) {
    set_attr(g, v, &(et_attr){.name = "dynamic", .kind = ET_A_INT, .i = dynamic});
}

et_share et_share_of(double from, double to) {
    if (!(from >= 0 && from < to && to <= 1)) return (et_share){0};
    et_share s = {(int)(from * 1e6 + 0.5), (int)(to * 1e6 + 0.5)};
    return s.from < s.to ? s : (et_share){0};
}

void et_graph_hint_range(et_graph *g, et_value v, et_share s) {
    int64_t ends[] = {s.from, s.to};
    set_attr(g, v, &(et_attr){.name = "range", .kind = ET_A_INTS, .n = 2, .ints = ends});
}

const et_attr *et_attr_find(const et_node *n, const char *name) {
    for (int i = 0; i < n->nattrs; i++)
        if (strcmp(n->attrs[i].name, name) == 0) return &n->attrs[i];
    return NULL;
}

int64_t et_attr_int(const et_node *n, const char *name, int64_t otherwise) {
    const et_attr *a = et_attr_find(n, name);
    return a && a->kind == ET_A_INT ? a->i : otherwise;
}

double et_attr_float(const et_node *n, const char *name, double otherwise) {
    const et_attr *a = et_attr_find(n, name);
    return a && a->kind == ET_A_FLOAT ? a->f : otherwise;
}

int et_node_var(et_graph *g, const et_node *n, int which, const char *name, et_expr extent) {
    et_node *own = et_node_of(g, n->result);
    et_check(own && which >= 0 && which < ET_MAX_NODE_VARS);
    if (own->vars[which] >= 0) return own->vars[which];
    /* Where none has been forgotten since, names up to the last one given are taken. */
    bool again = g->numbered.name && strcmp(g->numbered.name, name) == 0 &&
                 et_var_count(g->exprs) >= g->numbered.vars;
    int k = again ? g->numbered.next : 1;
    char unique[64];
    do
        snprintf(unique, sizeof unique, k > 1 ? "%s%d" : "%s", name, k);
    while (k++, is_taken(g, unique) || et_var_named(g->exprs, unique));
    own->vars[which] = et_var_add(g->exprs, unique, extent);
    g->numbered.name = name;
    g->numbered.next = k;
    g->numbered.vars = et_var_count(g->exprs);
    return own->vars[which];
}

/* ---- symbols that were open ---- */

static void close_attr(et_graph *g, et_attr *a) {
    a->expr = et_closed(g->exprs, a->expr);
    if (a->kind != ET_A_EXPRS && a->kind != ET_A_VARS) return;
    et_expr *now = et_alloc(g->arena, (size_t)a->n * sizeof *now + 1);
    for (int i = 0; a->exprs && i < a->n; i++)
        now[i] = et_closed(g->exprs, a->exprs[i]);
    if (a->exprs) a->exprs = now;
}

void et_graph_close(et_graph *g) {
    if (!et_syms_close(g->exprs)) return;
    for (int v = 1; v < g->nvals; v++)
        for (int d = 0; d < g->vals[v].shape.rank; d++)
            g->vals[v].shape.dim[d] = et_closed(g->exprs, g->vals[v].shape.dim[d]);
    for (int n = 0; n < g->nnodes; n++)
        for (int i = 0; i < g->nodes[n].nattrs; i++)
            close_attr(g, &g->nodes[n].attrs[i]);
    for (int l = 0; l < g->nloops; l++)
        g->loops[l].trips = et_closed(g->exprs, g->loops[l].trips);
}
