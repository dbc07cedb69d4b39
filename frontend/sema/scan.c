/* scan(...): a state carried along rows. */
#include "ir/graph/scan.h"
#include "frontend/sema/sema.h"
#include "runtime/cli/guess.h"
#include <string.h>

static const char usage[] = "write scan(i in 0..N, h in 0..HEADS, j in 0..D, carry = state[...], "
                            "next = ..., out = ...)";

enum { S = ET_SCAN_VARS, SEEN, NAMES }; /* of what parts read beside variables, behind them */

struct parts {
    et_sema *s;
    const et_ast *call;
    int nvars;
    et_ident names[NAMES];
    et_elem elems[NAMES];
    et_operands operands;
    et_expr part[ET_SC_PARTS];
    const et_ast *given[ET_SC_PARTS], *carry;
    et_expr index[ET_MAX_RANK];
    int rank, state; /* STATE: the operand that is carried */
};

/* What is called NAME, whether it is a part or the state. */
static bool take(struct parts *p, const et_kwarg *kw) {
    et_guess g = {.name = kw->name.text};
    const et_ast **to = strcmp(kw->name.text, "carry") == 0 ? &p->carry : NULL;
    for (int i = 0; i < ET_SC_PARTS && !to; i++) {
        if (!et_scan_rows[i].written) continue;
        et_guess_try(&g, et_scan_rows[i].name);
        if (strcmp(et_scan_rows[i].name, kw->name.text) == 0) to = &p->given[i];
    }
    et_guess_try(&g, "carry");
    if (!to) {
        et_sema_error(p->s, kw->name.loc, "scan has no argument '%s'", kw->name.text);
        if (g.best) et_sema_note(p->s, kw->name.loc, "did you mean '%s'?", g.best);
        return false;
    }
    if (*to) return et_sema_error(p->s, kw->name.loc, "'%s' is given twice", kw->name.text);
    *to = kw->value;
    return true;
}

static bool all_given(struct parts *p) {
    bool ok =
        p->carry || et_sema_error(p->s, p->call->loc, "scan needs the state: carry = state[...]");
    for (int i = 0; i < ET_SC_PARTS; i++)
        if (et_scan_rows[i].required && !p->given[i])
            ok = et_sema_error(p->s, p->call->loc, "scan needs %s: %s = ...", et_scan_rows[i].what,
                               et_scan_rows[i].name);
    if (!ok) et_sema_note(p->s, p->call->loc, "%s", usage);
    return ok;
}

/* The variables and what else the part may read by name. */
static bool part(struct parts *p, const char *over, const char *what, et_type type,
                 const et_ast *value, et_expr *out) {
    et_ident names[NAMES];
    et_elem elems[NAMES];
    int n = p->nvars;
    memcpy(names, p->names, (size_t)n * sizeof *names);
    memcpy(elems, p->elems, (size_t)n * sizeof *elems);
    if (strchr(over, 's')) names[n] = p->names[S], elems[n++] = p->elems[S];
    if (strchr(over, 'n') && p->given[ET_SC_LOOK])
        names[n] = p->names[SEEN], elems[n++] = p->elems[SEEN];
    et_def scope = {.name = "scan", .loc = p->call->loc, .params = names, .nparams = n};
    return et_points_part(p->s, p->call, &scope, elems, what, type, value, &p->operands, out);
}

/* carry = state[l, slots[i], h, j]: the state, argument 0, and its indices. Rows whose indices are
 * outside have no state. */
static bool carry(struct parts *p) {
    et_sema *s = p->s;
    et_exprs *x = s->x;
    et_expr e, keep = ET_NO_EXPR;
    if (!part(p, "irj", "the state", ET_T_F32, p->carry, &e)) return false;
    et_node_x n = *et_x(x, e);
    bool element = n.op == ET_X_LOAD && s->indexed.id == p->operands.value[n.i].id;
    for (int d = 0; element && d < n.nops; d++)
        element = et_expr_eq(et_points_numbered(s, s->place[d], &p->operands), n.ops[d]);
    if (!element)
        return et_sema_error(s, p->carry->loc,
                             "carry is an element of a state, as in state[slots"
                             "[i], h, j]");
    const et_shape *shape = &et_val_of(s->graph, p->operands.value[n.i])->shape;
    et_value state = p->operands.value[n.i];
    if (et_val_of(s->graph, state)->kind != ET_V_STATE)
        return et_sema_error(s, p->carry->loc, "carry is an element of a state, this is none");
    if (shape->dtype != ET_F32)
        return et_sema_error(s, p->carry->loc, "a state that is carried is f32, this is %s",
                             et_dtype_name(shape->dtype));
    p->rank = n.nops;
    p->state = n.i;
    for (int d = 0; d < n.nops; d++) {
        p->index[d] = n.ops[d];
        et_expr at = et_points_numbered(s, s->unclamped[d], &p->operands);
        if (!et_expr_loads(x, at) || et_expr_eq(at, n.ops[d])) continue;
        et_expr in = et_op2(x, ET_X_AND, et_op2(x, ET_X_LE, et_int(x, 0), at),
                            et_op2(x, ET_X_LT, at, shape->dim[d]));
        keep = keep.id ? et_op2(x, ET_X_AND, keep, in) : in;
    }
    p->part[ET_SC_KEEP] = keep;
    return true;
}

/* The state first. */
struct renumbered {
    int first;
};

static et_expr renumber(void *ctx, et_exprs *x, et_expr leaf) {
    et_node_x n = *et_x(x, leaf);
    int first = ((struct renumbered *)ctx)->first;
    if (n.op != ET_X_LOAD || n.i > first) return ET_NO_EXPR;
    return et_load(x, ET_LOAD_ARG, n.i == first ? 0 : n.i + 1, n.type, n.nops, n.ops);
}

static void state_first(struct parts *p) {
    et_operands *o = &p->operands;
    int at = p->state;
    struct renumbered r = {at};
    et_value state = o->value[at];
    memmove(o->value + 1, o->value, (size_t)at * sizeof *o->value);
    o->value[0] = state;
    for (int i = 0; i < ET_SC_PARTS; i++)
        if (p->part[i].id) p->part[i] = et_subst(p->s->x, p->part[i], renumber, &r);
    for (int d = 0; d < p->rank; d++)
        p->index[d] = et_subst(p->s->x, p->index[d], renumber, &r);
}

static bool make(struct parts *p, const int64_t *var, et_elem *out) {
    et_attr attr[2 + ET_SC_PARTS] = {
        {.name = "over", .kind = ET_A_VARS, .n = p->nvars, .ints = var},
        et_attr_of_exprs("index", p->rank, p->index)};
    int nattr = 2;
    for (int i = 0; i < ET_SC_PARTS; i++)
        if (p->part[i].id)
            attr[nattr++] =
                (et_attr){.name = et_scan_rows[i].name, .kind = ET_A_EXPR, .expr = p->part[i]};
    if (p->operands.n == ET_MAX_ARGS)
        return et_sema_error(p->s, p->call->loc, "scan reads more than %d tensors",
                             ET_MAX_ARGS - 1);
    if (p->operands.n < 2) return et_sema_error(p->s, p->call->loc, "scan reads no tensor");
    p->s->has_effect = true;
    return et_sema_node(p->s, &et_op_scan, p->call->loc, p->operands.n, p->operands.value, nattr,
                        attr, out);
}

bool et_lower_scan(et_sema *s, const et_call *c, et_elem *out) {
    const et_ast *e = c->ast;
    struct parts p = {.s = s, .call = e, .nvars = e->n, .operands = {.s = s}};
    int64_t var[ET_SCAN_VARS];
    bool ok = true;
    if (e->n < 2 || e->n > ET_SCAN_VARS) {
        et_sema_error(s, e->loc,
                      "scan takes two to five ranges: of rows, up to three more "
                      "dimensions of the result, and elements of the state");
        et_sema_note(s, e->loc, "%s", usage);
        return false;
    }
    for (int v = 0; v < e->n; v++) {
        const char *what = v == 0 ? NULL : v + 1 < e->n ? "results of a row" : "elements";
        ok &= et_points_range(s, e, v, v == 0 ? 'i' : 'j', what, usage, &var[v]);
    }
    if (!ok || !et_points_names(s, e, var, p.names, p.elems)) return false;
    p.names[S] = (et_ident){"s", e->loc};
    p.elems[S] = et_elem_scalar(s, et_arg(s->x, ET_ARG_STATE, ET_T_F32));
    p.names[SEEN] = (et_ident){"seen", e->loc};
    p.elems[SEEN] = et_elem_scalar(s, et_arg(s->x, ET_ARG_SEEN, ET_T_F32));
    for (int i = 0; i < e->nkw; i++)
        ok &= take(&p, &e->kw[i]);
    if (!ok || !all_given(&p) || !carry(&p)) return false;
    for (int i = 0; i < ET_SC_PARTS; i++)
        if (p.given[i])
            ok &= part(&p, et_scan_rows[i].over, et_scan_rows[i].what, et_scan_rows[i].type,
                       p.given[i], &p.part[i]);
    if (!ok) return false;
    state_first(&p);
    return make(&p, var, out);
}
