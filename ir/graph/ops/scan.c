#include "ir/graph/scan.h"
#include "ir/expr/tape.h"
#include "ir/graph/op_util.h"
#include <stdlib.h>
#include <string.h>

/* ---- shape ---- */

struct part_check {
    et_graph *g;
    const et_node *n;
    const char *what, *over; /* as in et_scan_row */
    int var[ET_SCAN_VARS], nvars;
    bool ok;
};

static void check_load(struct part_check *c, const et_node_x *x) {
    et_check(x->i2 == ET_LOAD_ARG && x->i >= 0 && x->i < c->n->nargs);
    const et_shape *s = et_arg_shape(c->g, c->n, x->i);
    et_check(x->type == et_dtype_type(s->dtype));
    if (x->nops != s->rank)
        c->ok = et_op_error(c->g, c->n, "scan: %s: an element of %s has %d indices, not %d",
                            c->what, et_arg_text(c->g, c->n, x->i), s->rank, x->nops);
    else if (c->n->args[x->i].id == c->n->args[0].id)
        c->ok = et_op_error(c->g, c->n,
                            "scan: %s reads the state, of which it knows its element "
                            "alone",
                            c->what);
}

static char letter_of(const struct part_check *c, const et_node_x *x) {
    if (x->op == ET_X_ARG) return x->i == ET_ARG_STATE ? 's' : x->i == ET_ARG_SEEN ? 'n' : '?';
    for (int v = 0; x->op == ET_X_VAR && v < c->nvars; v++)
        if (x->i == c->var[v]) return v == 0 ? 'i' : v + 1 < c->nvars ? 'r' : 'j';
    return 0;
}

static void check_leaf(void *ctx, et_expr e) {
    struct part_check *c = ctx;
    const et_node_x *x = et_x(c->g->exprs, e);
    if (!c->ok) return;
    if (x->op == ET_X_REDUCE || x->op == ET_X_CONTRACT)
        et_bug("a part of a scan holds a %s", et_xop_text(x->op));
    if (x->op == ET_X_LOAD) check_load(c, x);
    char letter = letter_of(c, x);
    if (!letter || strchr(c->over, letter)) return;
    const char *name = x->op == ET_X_VAR ? et_var_name(c->g->exprs, x->i) : et_own_arg_name(x->i);
    c->ok = et_op_error(c->g, c->n, "scan: %s cannot depend on %s", c->what,
                        name ? name : "an argument");
}

static bool check_part(struct part_check *c, et_scan_part part) {
    static const char *const wanted[] = {"floating-point", "i32", "a condition"};
    const et_scan_row *row = &et_scan_rows[part];
    et_expr e = et_scan_part_of(c->n, part);
    if (!e.id)
        return !row->required || et_op_error(c->g, c->n, "scan needs %s: %s", row->what, row->name);
    if (part == ET_SC_THEN) return et_op_error(c->g, c->n, "scan: a node has no '%s'", row->name);
    c->what = row->what;
    c->over = et_scan_part_of(c->n, ET_SC_LOOK).id ? row->over : "irjs";
    if (part == ET_SC_FRESH || part == ET_SC_KEEP) c->over = "i";
    et_walk(c->g->exprs, e, check_leaf, c);
    return c->ok && (et_x(c->g->exprs, e)->type == row->type ||
                     et_op_error(c->g, c->n, "scan: %s must be %s", row->what, wanted[row->type]));
}

/* Each r and j is an index by itself, all values of which lie inside; the others know i alone. */
static bool check_index(struct part_check *c) {
    et_exprs *x = c->g->exprs;
    const et_shape *state = et_arg_shape(c->g, c->n, 0);
    const et_attr *a = et_op_attr(c->n, "index", ET_A_EXPRS);
    int64_t size, lo, hi;
    unsigned seen = 0;
    if (a->n != state->rank)
        return et_op_error(c->g, c->n, "scan: %d indices for %s", a->n, et_arg_text(c->g, c->n, 0));
    for (int d = 0; d < a->n && c->ok; d++) {
        const et_node_x *e = et_x(x, a->exprs[d]);
        char letter = letter_of(c, e);
        if (letter != 'r' && letter != 'j') {
            c->what = "an index of the state", c->over = "i";
            et_walk(x, a->exprs[d], check_leaf, c);
            if (c->ok && e->type != ET_T_I32)
                return et_op_error(c->g, c->n, "scan: an index of the state must be i32");
            continue;
        }
        int v = 1;
        while (c->var[v] != e->i)
            v++;
        if (seen >> v & 1)
            return et_op_error(c->g, c->n, "scan: %s is two indices of the state",
                               et_var_name(x, e->i));
        seen |= 1u << v;
        if (!et_is_int(x, et_var_extent(x, e->i), &size) ||
            !et_bounds(x, state->dim[d], &lo, &hi) || size > lo)
            return et_op_error(c->g, c->n,
                               "scan: %s takes %s values, dimension %d of the state "
                               "has %s",
                               et_var_name(x, e->i),
                               et_expr_text(x, et_var_extent(x, e->i), NULL, NULL), d,
                               et_expr_text(x, state->dim[d], NULL, NULL));
    }
    for (int v = 1; v < c->nvars && c->ok; v++) /* one value is an index that is 0 */
        if (!(seen >> v & 1) && !(et_is_int(x, et_var_extent(x, c->var[v]), &size) && size == 1))
            return et_op_error(c->g, c->n, "scan: %s is no index of the state by itself",
                               et_var_name(x, c->var[v]));
    return c->ok;
}

static bool shape(et_graph *g, const et_node *n, et_shape *out_shape) {
    struct part_check c = {.g = g, .n = n, .ok = true};
    const et_val *state = et_val_of(g, n->args[0]);
    int64_t size;
    c.nvars = et_scan_vars(n, c.var);
    if (c.nvars < 2) return et_op_error(g, n, "scan is over rows and the elements of a state");
    for (int v = 1; v < c.nvars; v++)
        if (!et_is_int(g->exprs, et_var_extent(g->exprs, c.var[v]), &size))
            return et_op_error(g, n, "scan: the number of values of %s must be a constant",
                               et_var_name(g->exprs, c.var[v]));
    if (state->kind != ET_V_STATE || state->shape.dtype != ET_F32)
        return et_op_error(g, n, "scan carries a state of type f32, found %s",
                           et_arg_text(g, n, 0));
    for (int part = 0; part < ET_SC_PARTS; part++)
        if (!check_part(&c, (et_scan_part)part)) return false;
    if (!check_index(&c)) return false;
    *out_shape = (et_shape){.dtype = ET_F32, .rank = c.nvars - 1};
    for (int k = 0; k + 1 < c.nvars; k++)
        out_shape->dim[k] = et_var_extent(g->exprs, c.var[k]);
    return true;
}

/* ---- evaluation ---- */

enum { MAX_LOADS = 64, STATE = 0, SEEN = 1, LOADS = 2 }; /* slots */

/* An expression made ready to be evaluated: its loads, inner ones first, become arguments. */
struct load {
    const et_tensor_data *from;
    int rank;
    et_tape *index[ET_MAX_RANK];
};
struct code {
    struct scan *s;
    int nloads;
    struct load load[MAX_LOADS];
    double slot[LOADS + MAX_LOADS];
    et_tape *value; /* NULL: there is no such part */
};

struct scan {
    const et_interp_args *a;
    int64_t *vars; /* with those of the node */
    int var[ET_SCAN_VARS], nvars;
    struct code part[ET_SC_PARTS], index[ET_MAX_RANK];
    bool failed;
};

static et_expr load_to_slot(void *ctx, et_exprs *x, et_expr leaf) {
    struct code *c = ctx;
    et_node_x n = *et_x(x, leaf);
    if (n.op == ET_X_ARG) return et_arg(x, n.i == ET_ARG_STATE ? STATE : SEEN, ET_T_F32);
    if (n.op != ET_X_LOAD) return ET_NO_EXPR;
    if (c->nloads == MAX_LOADS) {
        c->s->failed = true;
        return et_int(x, 0);
    }
    struct load *l = &c->load[c->nloads++];
    *l = (struct load){.from = c->s->a->args[n.i], .rank = n.nops};
    for (int k = 0; k < n.nops; k++) {
        l->index[k] = et_tape_create(x, n.ops[k]);
        c->s->failed |= !l->index[k];
    }
    return et_arg(x, LOADS + c->nloads - 1, n.type);
}

static void prepare(struct scan *s, struct code *c, et_expr e) {
    et_exprs *x = s->a->g->exprs;
    c->s = s;
    if (!e.id) return;
    c->value = et_tape_create(x, et_subst(x, e, load_to_slot, c));
    s->failed |= !c->value;
}

static void release(struct code *c) {
    for (int i = 0; i < c->nloads; i++)
        for (int k = 0; k < c->load[i].rank; k++)
            et_tape_destroy(c->load[i].index[k]);
    et_tape_destroy(c->value);
}

static double element(struct code *c, const struct load *l) {
    struct scan *s = c->s;
    int64_t offset = 0;
    for (int k = 0; k < l->rank; k++) {
        int64_t v = et_tape_run(l->index[k], c->slot, s->a->syms, s->vars).i;
        if (v < 0 || v >= l->from->dim[k]) {
            if (!s->failed)
                et_interp_error(s->a, "index %lld of dimension %d is outside [0, %lld)",
                                (long long)v, k, (long long)l->from->dim[k]);
            s->failed = true;
            return 0;
        }
        offset = offset * l->from->dim[k] + v;
    }
    return et_dtype_is_float(l->from->dtype) ? (double)l->from->f[offset]
                                             : (double)l->from->i[offset];
}

static et_scalar value_of(struct code *c, float state, double seen) {
    c->slot[STATE] = (double)state;
    c->slot[SEEN] = seen;
    for (int i = 0; i < c->nloads; i++)
        c->slot[LOADS + i] = element(c, &c->load[i]);
    return et_tape_run(c->value, c->slot, c->s->a->syms, c->s->vars);
}

static bool holds(struct scan *s, et_scan_part part, bool otherwise) {
    return s->part[part].value ? value_of(&s->part[part], 0, 0).i != 0 : otherwise;
}

/* The element of the state at the variables' values. */
static float *place(struct scan *s) {
    const et_tensor_data *t = s->a->args[0];
    int64_t offset = 0;
    for (int d = 0; d < t->rank; d++) {
        int64_t v = value_of(&s->index[d], 0, 0).i;
        if (v < 0 || v >= t->dim[d]) {
            if (!s->failed) et_interp_error(s->a, "index %lld leaves the state", (long long)v);
            s->failed = true;
            return t->f;
        }
        offset = offset * t->dim[d] + v;
    }
    return t->f + offset;
}

/* One result, of SIZE elements of the state; NOW: room for as many. */
static float step(struct scan *s, bool fresh, bool keep, int64_t size, float *now) {
    int64_t *j = &s->vars[s->var[s->nvars - 1]];
    double seen = 0, out = 0;
    for (*j = 0; *j < size && !s->failed; ++*j) {
        now[*j] = fresh ? 0 : *place(s);
        if (s->part[ET_SC_LOOK].value) seen += (double)value_of(&s->part[ET_SC_LOOK], now[*j], 0).f;
    }
    for (*j = 0; *j < size && !s->failed; ++*j) {
        now[*j] = value_of(&s->part[ET_SC_NEXT], now[*j], (double)(float)seen).f;
        out += (double)value_of(&s->part[ET_SC_OUT], now[*j], 0).f;
        if (keep) *place(s) = now[*j];
    }
    return (float)out;
}

static void scan_all(struct scan *s, float *now) {
    const et_interp_args *a = s->a;
    int64_t at[ET_MAX_RANK] = {0}, n = 0;
    int64_t size =
        et_eval(a->g->exprs, et_var_extent(a->g->exprs, s->var[s->nvars - 1]), a->syms, a->vars);
    bool fresh = false, keep = true;
    do {
        bool new_row = true;
        for (int k = 0; k < a->result->rank; k++) {
            s->vars[s->var[k]] = at[k];
            new_row &= k == 0 || at[k] == 0;
        }
        if (new_row) {
            keep = holds(s, ET_SC_KEEP, true);
            fresh = !keep || holds(s, ET_SC_FRESH, false);
        }
        a->result->f[n++] = step(s, fresh, keep, size, now);
    } while (et_next_index(a->result->rank, a->result->dim, at) && !s->failed);
}

static void prepare_all(struct scan *s, int64_t *vars) {
    const et_graph *g = s->a->g;
    s->vars = vars;
    for (int l = 0; l < g->nloops; l++)
        vars[g->loops[l].var] = s->a->vars[g->loops[l].var];
    s->nvars = et_scan_vars(s->a->node, s->var);
    for (int part = 0; part < ET_SC_PARTS; part++)
        prepare(s, &s->part[part], et_scan_part_of(s->a->node, (et_scan_part)part));
    for (int d = 0; d < s->a->args[0]->rank; d++)
        prepare(s, &s->index[d], et_scan_index(s->a->node)[d]);
}

static bool interp(const et_interp_args *a) {
    const et_exprs *x = a->g->exprs;
    struct scan *s = calloc(1, sizeof *s);
    int64_t *vars = calloc((size_t)et_var_count(x) + 1, sizeof *vars), size = 1;
    int var[ET_SCAN_VARS], nvars = et_scan_vars(a->node, var);
    et_is_int(x, et_var_extent(x, var[nvars - 1]), &size);
    float *now = malloc((size_t)size * sizeof *now);
    bool ok = s && vars && now;
    if (ok) {
        s->a = a;
        prepare_all(s, vars);
        ok = !s->failed;
        if (ok) scan_all(s, now);
        for (int part = 0; part < ET_SC_PARTS; part++)
            release(&s->part[part]);
        for (int d = 0; d < a->args[0]->rank; d++)
            release(&s->index[d]);
    }
    bool failed = s && s->failed;
    free(s);
    free(vars);
    free(now);
    if (!ok) return et_interp_error(a, "out of memory");
    return !failed;
}

const et_op et_op_scan = {
    ET_OP_ROW(scan), .class = ET_CLASS_SCAN, .shape = shape, .at = NULL, .interp = interp,
};
