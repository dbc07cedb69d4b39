/* Expressions, built as they are read. A wrong one is no expression, and neither is what it is part
 * of, so that each mistake is told once. */
#include "ir/eti/parser.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static et_type type_of(const eti_parser *p, et_expr e) {
    return et_x(p->x, e)->type;
}

static const char *type_text(et_type t) {
    static const char *const text[] = {"f32", "i32", "a predicate"};
    return text[t];
}

/* ---- size of trees ---- */

static et_expr checked(eti_parser *p, et_expr e, et_loc loc) {
    if (!e.id || et_x(p->x, e)->depth <= ETI_MAX_LEVELS) return e;
    eti_error(p, loc, "an expression of more than %d levels", ETI_MAX_LEVELS);
    p->broken = true;
    return ET_NO_EXPR;
}

/* ---- variables ---- */

enum { WRONG = -2 }; /* in place of the variable of a wrong declaration */

void eti_bind_var(eti_parser *p, int var) {
    ET_GROW(p->arena, p->scope, p->nscope, p->cscope);
    p->scope[p->nscope++] = (eti_binding){et_var_name(p->x, var), var};
}

static int in_scope(const eti_parser *p, const char *name) {
    for (int i = p->nscope - 1; i >= 0; i--)
        if (strcmp(p->scope[i].name, name) == 0) return p->scope[i].var;
    return -1;
}

/* Within a group or a function equal names with equal extents are one variable, so that equal
 * expressions are one node. */
int eti_bind(eti_parser *p, const char *name, et_loc loc, et_expr extent) {
    if (in_scope(p, name) != -1 || eti_known(p, 'n', name)) {
        eti_error(p, loc, "'%s' already means something here", name);
        return -1;
    }
    if (!extent.id || p->broken) { /* known, so that uses of it say nothing */
        ET_GROW(p->arena, p->scope, p->nscope, p->cscope);
        p->scope[p->nscope++] = (eti_binding){name, WRONG};
        return -1;
    }
    int var = -1;
    for (int i = 0; i < p->nmade && var < 0; i++)
        if (strcmp(p->made[i].name, name) == 0 &&
            et_expr_eq(et_var_extent(p->x, p->made[i].var), extent))
            var = p->made[i].var;
    if (var < 0) {
        var = et_var_add(p->x, name, extent);
        ET_GROW(p->arena, p->made, p->nmade, p->cmade);
        p->made[p->nmade++] = (eti_binding){et_var_name(p->x, var), var};
    }
    eti_bind_var(p, var);
    return var;
}

bool eti_in_bounds(eti_parser *p, et_expr e, et_loc loc, int64_t lo, int64_t hi, const char *what) {
    int64_t least, most;
    if (!e.id) return false;
    if (!et_bounds(p->x, e, &least, &most)) {
        eti_error(p, loc, "%s must be known before the launch", what);
        return false;
    }
    if (least >= lo && most <= hi) return true;
    if (least == most)
        eti_error(p, loc, "%s must be from %lld to %lld, this is %lld", what, (long long)lo,
                  (long long)hi, (long long)least);
    else
        eti_error(p, loc, "%s must be from %lld to %lld, this may be from %lld to %lld", what,
                  (long long)lo, (long long)hi, (long long)least, (long long)most);
    return false;
}

struct leaves {
    const eti_parser *p;
    bool loops, other;
};

/* Is it the variable of a loop that what is being read stands in, or, where that is not known yet,
 * of any? */
static bool of_loop(const struct leaves *s, const et_node_x *n) {
    const et_graph *g = s->p->g;
    for (int l = s->p->loop; n->op == ET_X_VAR && l >= 0; l = g->loops[l].parent)
        if (g->loops[l].var == n->i) return true;
    for (int l = 0; n->op == ET_X_VAR && s->loops && l < g->nloops; l++)
        if (g->loops[l].var == n->i) return true;
    return false;
}

static void find_other(void *ctx, et_expr e) {
    struct leaves *l = ctx;
    const et_node_x *x = et_x(l->p->x, e);
    l->other |= x->nops == 0 && x->op != ET_X_INT && x->op != ET_X_SYM && !of_loop(l, x);
    bool known = x->op == ET_X_ADD || x->op == ET_X_SUB || x->op == ET_X_MUL ||
                 x->op == ET_X_IDIV || x->op == ET_X_MOD || x->op == ET_X_MIN || x->op == ET_X_MAX;
    l->other |= x->nops > 0 && !known;
}

static bool known(eti_parser *p, et_expr e, et_loc loc, const char *what, bool loops) {
    struct leaves l = {p, loops, false};
    et_walk(p->x, e, find_other, &l);
    if (l.other) eti_error(p, loc, "%s is made of dims, constants and + - * / %% min max", what);
    return !l.other;
}

bool eti_symbols_only(eti_parser *p, et_expr e, et_loc loc, const char *what) {
    return known(p, e, loc, what, false);
}

/* Variables of the step or group are no part of an extent. */
int eti_var_over(eti_parser *p, int may) {
    et_loc loc = p->tok.loc;
    const char *name = eti_need_name(p, ETI_NAME, "a variable");
    eti_need(p, '<');
    et_loc at = p->tok.loc;
    et_expr extent = eti_expr_of(p, may, ET_T_I32, "an extent");
    int64_t lo, hi;
    if (!name) return -1;
    if (extent.id && et_bounds(p->x, extent, &lo, &hi) && hi < 1) {
        eti_error(p, at, "an extent that is never above zero");
        extent = ET_NO_EXPR;
    }
    return eti_bind(p, name, loc, extent);
}

/* LOOPS: the extent may change with a loop. */
static int var_of(eti_parser *p, int64_t constant, bool loops) {
    et_loc loc = p->tok.loc;
    const char *name = eti_need_name(p, ETI_NAME, "a variable");
    eti_need(p, '<');
    et_loc at = p->tok.loc;
    et_expr extent = eti_expr_of(p, loops ? ETI_LOOPS : 0, ET_T_I32, "an extent");
    int64_t n;
    if (!name) return -1;
    bool ok = extent.id && known(p, extent, at, "an extent", loops) &&
              eti_in_bounds(p, extent, at, 1, INT32_MAX, "an extent");
    if (ok && constant && (!et_is_int(p->x, extent, &n) || n > constant)) {
        eti_error(p, at, "this extent must be a constant, at most %lld", (long long)constant);
        ok = false;
    }
    return eti_bind(p, name, loc, ok ? extent : ET_NO_EXPR);
}

int eti_var(eti_parser *p, int64_t constant) {
    return var_of(p, constant, false);
}

int eti_vars(eti_parser *p, int most, int *vars, int64_t constant) {
    int n = 0;
    bool ok = true;
    eti_need(p, '[');
    while (!p->broken && !eti_is(p, ']')) {
        et_loc loc = p->tok.loc;
        int var = eti_var(p, constant);
        ok &= var >= 0;
        if (n == most) {
            eti_error(p, loc, "more than %d variables", most);
            ok = false;
        } else {
            vars[n++] = var;
        }
        if (!eti_take(p, ',')) break;
    }
    eti_need(p, ']');
    return ok && !p->broken ? n : -1;
}

/* ---- leaves ---- */

bool eti_indices(eti_parser *p, int may, int rank, et_expr *index, const char *what) {
    et_loc open = p->tok.loc;
    int n = 0;
    bool ok = true;
    eti_need(p, '[');
    while (!p->broken && !eti_is(p, ']')) {
        et_expr e = eti_expr_of(p, may, ET_T_I32, "an index");
        ok &= e.id != 0;
        if (n < ET_MAX_RANK) index[n] = e;
        n++;
        if (!eti_take(p, ',')) break;
    }
    eti_need(p, ']');
    if (p->broken || rank < 0) return false;
    if (n != rank) {
        eti_error(p, open, "%s has %d dimension%s, here %s %d", what, rank, rank == 1 ? "" : "s",
                  n == 1 ? "is" : "are", n);
        return false;
    }
    return ok;
}

static et_expr tensor_load(eti_parser *p, int may) {
    et_loc loc = p->tok.loc;
    const char *name = p->tok.text;
    et_expr index[ET_MAX_RANK];
    eti_next(p);
    if (!(may & ETI_TENSORS)) {
        eti_error(p, loc, "no tensor can be read here");
        eti_indices(p, may, -1, index, name);
        return ET_NO_EXPR;
    }
    int t = eti_find(p, '%', name, loc, "tensor");
    const et_shape *s = t >= 0 ? &p->p->tensors[t].shape : NULL;
    if (!eti_indices(p, may, s ? s->rank : -1, index, name)) return ET_NO_EXPR;
    return et_load(p->x, ET_LOAD_TENSOR, t, et_dtype_type(s->dtype), s->rank, index);
}

static et_expr argument(eti_parser *p, int may, const char *digits, et_loc loc) {
    long i = strlen(digits) > 4 ? 9999 : strtol(digits, NULL, 10);
    if (!(may & ETI_ARGS) || !p->node) {
        eti_error(p, loc, "$%s: only the body of a map has arguments", digits);
        return ET_NO_EXPR;
    }
    if (i >= p->node->nargs) {
        eti_error(p, loc, "$%s of a node with %d argument%s", digits, p->node->nargs,
                  p->node->nargs == 1 ? "" : "s");
        return ET_NO_EXPR;
    }
    et_value v = p->node->args[i];
    if (!v.id) return ET_NO_EXPR;
    const et_shape *s = &et_val_of(p->g, v)->shape;
    if (p->node->op == &et_op_map) return et_arg(p->x, (int)i, et_dtype_type(s->dtype));
    et_expr index[ET_MAX_RANK];
    if (!eti_indices(p, may, s->rank, index, et_printf(p->arena, "$%s", digits))) return ET_NO_EXPR;
    return et_load(p->x, ET_LOAD_ARG, (int)i, et_dtype_type(s->dtype), s->rank, index);
}

/* $0, $0[...] of an attention's arguments, $qk, $inf, $name[...] */
static et_expr dollar(eti_parser *p, int may) {
    et_loc loc = p->tok.loc;
    const char *name = p->tok.text;
    et_expr index[ET_MAX_RANK];
    eti_next(p);
    if (*name >= '0' && *name <= '9') return argument(p, may, name, loc);
    if (strcmp(name, "inf") == 0) return et_float(p->x, (double)INFINITY);
    if (strcmp(name, "nan") == 0) return et_float(p->x, (double)NAN);
    if (strcmp(name, "true") == 0 || strcmp(name, "false") == 0) {
        et_expr zero = et_int(p->x, 0);
        return et_op2(p->x, *name == 't' ? ET_X_EQ : ET_X_NE, zero, zero);
    }
    bool of_node = may & ETI_ARGS && p->node && p->node->op == &et_op_attention;
    if (may & ETI_CARRIED || (may & ETI_ARGS && p->node && p->node->op == &et_op_scan))
        for (int arg = ET_ARG_STATE; arg >= ET_ARG_SUM; arg--)
            if (strcmp(name, et_own_arg_name(arg)) == 0) return et_arg(p->x, arg, ET_T_F32);
    if (strcmp(name, "qk") == 0) {
        if (may & ETI_SCORE || of_node) return et_arg(p->x, ET_ARG_QK, ET_T_F32);
        eti_error(p, loc, "$qk: only the score of an attention has a product");
        return ET_NO_EXPR;
    }
    if (!(may & ETI_LOCALS) || !p->f) {
        eti_error(p, loc, "no local buffer can be read here");
        eti_indices(p, may, -1, index, name);
        return ET_NO_EXPR;
    }
    int l = eti_local(p, name);
    if (l < 0) eti_error(p, loc, "there is no local buffer called '$%s'", name);
    if (!eti_indices(p, may, l >= 0 ? p->f->locals[l].rank : -1, index, name)) return ET_NO_EXPR;
    const et_local *local = &p->f->locals[l];
    return et_load(p->x, ET_LOAD_LOCAL, l, et_dtype_type(local->dtype), local->rank, index);
}

/* p0[...] in a group */
static et_expr product(eti_parser *p, int may, const char *name, et_loc loc) {
    et_expr index[ET_MAX_RANK];
    int found = name[0] == 'p' && name[1] >= '0' && name[1] <= '9' && !name[2] ? name[1] - '0' : -1;
    if (!(may & ETI_GROUPS) || !p->gr || found < 0)
        eti_error(p, loc, "'%s' cannot be indexed: a tensor is %%%s, a local buffer $%s", name,
                  name, name);
    else if (found >= p->gr->nproduct)
        eti_error(p, loc, "there is no product called '%s'", name);
    bool ok = p->gr && found >= 0 && found < p->gr->nproduct && p->gr->product[found].name;
    int rank = ok ? p->gr->product[found].nbatch + 2 : -1;
    if (!eti_indices(p, may, rank, index, name)) return ET_NO_EXPR;
    return et_contract_x(p->x, found, rank, index);
}

/* sum(r < 256 : body); top(r < 256 : body, place) */
static et_expr reduction(eti_parser *p, int may, et_reduce red, et_loc loc) {
    int mark = p->nscope;
    eti_next(p);
    int var = var_of(p, 0, may & ETI_LOOPS);
    et_expr extent = var < 0 ? ET_NO_EXPR : et_var_extent(p->x, var);
    p->nscope = mark;
    if (eti_take_word(p, "extent")) extent = eti_expr_of(p, may, ET_T_I32, "an extent");
    if (var >= 0) eti_bind_var(p, var);
    eti_need(p, ':');
    et_expr body = eti_number(p, may, "what is reduced"), place = ET_NO_EXPR;
    p->nscope = mark;
    if (red == ET_RED_TOP) {
        eti_need(p, ',');
        place = eti_expr_of(p, may, ET_T_I32, "a place");
    }
    eti_need(p, ')');
    if (!(may & ETI_GROUPS)) {
        eti_error(p, loc, "no reduction can be here: it is a step of its own");
        return ET_NO_EXPR;
    }
    if (var < 0 || !extent.id || !body.id || p->broken || !eti_check_nested(p, var, body, loc))
        return ET_NO_EXPR;
    if (red != ET_RED_TOP) return et_reduce_x(p->x, red, var, extent, body);
    return place.id ? et_top_x(p->x, var, extent, body, place) : ET_NO_EXPR;
}

/* Is the bracket that follows one of a reduction: is there a colon before a comma? */
static bool colon_ahead(eti_parser *p) {
    eti_parser save = *p;
    int depth = 0;
    bool yes = false;
    p->broken = true; /* silence */
    for (;;) {
        eti_next(p);
        if (p->tok.kind == ETI_EOF ||
            (p->tok.kind == ETI_OP && depth == 0 && (p->tok.op == ',' || p->tok.op == ')')))
            break;
        if (depth == 0 && eti_is(p, ':')) {
            yes = true;
            break;
        }
        if (eti_is(p, '(') || eti_is(p, '[')) depth++;
        if (eti_is(p, ')') || eti_is(p, ']')) depth--;
    }
    *p = save;
    return yes;
}

/* ---- calls ---- */

static et_expr apply(eti_parser *p, et_xop op, int n, const et_expr *a, et_loc loc) {
    for (int i = 0; i < n; i++)
        if (!a[i].id) return ET_NO_EXPR;
    bool wants_pred = op == ET_X_NOT;
    for (int i = 0; i < n; i++) {
        bool pred = type_of(p, a[i]) == ET_T_PRED;
        bool want = wants_pred || (op == ET_X_SELECT && i == 0);
        if (pred != want) {
            eti_error(p, loc, "operand %d of %s must be %s", i + 1, et_xop_text(op),
                      want ? "a predicate such as a < b" : "a number");
            return ET_NO_EXPR;
        }
        if (op == ET_X_PHILOX && type_of(p, a[i]) != ET_T_I32) {
            eti_error(p, loc, "operand %d of %s must be an integer", i + 1, et_xop_text(op));
            return ET_NO_EXPR;
        }
    }
    if (op == ET_X_SELECT) return et_select(p->x, a[0], a[1], a[2]);
    if (op == ET_X_PHILOX) return et_philox_x(p->x, a[0], a[1], a[2]);
    return n == 1 ? et_op1(p->x, op, a[0]) : et_op2(p->x, op, a[0], a[1]);
}

static const struct {
    et_xop op;
    const char *name;
    int arity;
} functions[] = {
#define X(NAME, text, arity, traits) {ET_X_##NAME, text, arity},
#include "ir/expr/expr.def"
#undef X
};

static et_expr call(eti_parser *p, int may, const char *name, et_loc loc) {
    for (int r = 0; r < ET_REDUCES; r++)
        if (strcmp(et_reduce_text((et_reduce)r), name) == 0 &&
            ((r != ET_RED_MAX && r != ET_RED_MIN) || colon_ahead(p)))
            return reduction(p, may, (et_reduce)r, loc);
    size_t f = 0;
    while (f < sizeof functions / sizeof *functions &&
           (strcmp(functions[f].name, name) != 0 || et_xop_is(functions[f].op, ET_XOP_INFIX)))
        f++;
    bool known = f < sizeof functions / sizeof *functions;
    if (!known) eti_error(p, loc, "there is no function called '%s'", name);
    et_expr a[3] = {{0}};
    int n = 0;
    eti_next(p);
    while (!p->broken && !eti_is(p, ')')) {
        et_expr e = eti_expr(p, may);
        if (n < 3) a[n] = e;
        n++;
        if (!eti_take(p, ',')) break;
    }
    eti_need(p, ')');
    if (p->broken || !known) return ET_NO_EXPR;
    if (n != functions[f].arity) {
        eti_error(p, loc, "%s takes %d operand%s, not %d", name, functions[f].arity,
                  functions[f].arity == 1 ? "" : "s", n);
        return ET_NO_EXPR;
    }
    return apply(p, functions[f].op, n, a, loc);
}

static et_expr name_or_call(eti_parser *p, int may) {
    et_loc loc = p->tok.loc;
    const char *name = p->tok.text;
    eti_next(p);
    if (eti_is(p, '(')) return call(p, may, name, loc);
    if (eti_is(p, '[')) return product(p, may, name, loc);
    int var = in_scope(p, name);
    if (var >= 0) return et_var(p->x, var);
    if (var == WRONG) return ET_NO_EXPR;
    int sym = eti_find(p, 'n', name, loc, "variable or dim");
    if (sym >= 0) return et_sym(p->x, sym);
    if (sym == -1) return ET_NO_EXPR;
    if (may & ETI_LOOPS) return et_var(p->x, p->g->loops[-2 - sym].var);
    eti_error(p, loc, "the loop variable '%s' cannot be used here", name);
    return ET_NO_EXPR;
}

static et_expr literal(eti_parser *p, bool negative) {
    eti_tok t = p->tok;
    eti_next(p);
    if (t.kind == ETI_INT) return et_int(p->x, negative ? -t.i : t.i);
    return et_float(p->x, negative ? -t.f : t.f);
}

static et_expr binary(eti_parser *p, int may, int least);

static et_expr primary(eti_parser *p, int may) {
    et_expr e;
    switch (p->tok.kind) {
    case ETI_INT:
    case ETI_FLOAT:
        return literal(p, false);
    case ETI_TENSOR:
        return tensor_load(p, may);
    case ETI_LOCAL:
        return dollar(p, may);
    case ETI_NAME:
        return name_or_call(p, may);
    default:
        break;
    }
    if (!eti_take(p, '(')) {
        eti_expected(p, "an expression");
        return ET_NO_EXPR;
    }
    e = binary(p, may, 0);
    eti_need(p, ')');
    return e;
}

static et_expr unary(eti_parser *p, int may) {
    et_loc loc = p->tok.loc;
    bool negative = false;
    while (eti_is(p, '-')) {
        negative = !negative;
        eti_next(p);
    }
    if (negative && (p->tok.kind == ETI_INT || p->tok.kind == ETI_FLOAT)) return literal(p, true);
    et_expr e = primary(p, may);
    return negative ? apply(p, ET_X_NEG, 1, &e, loc) : e;
}

/* ---- infix ---- */

enum { OR = 1, AND, COMPARE, SUM, PRODUCT };

static int level_of(const eti_parser *p, et_xop *out_op, bool *out_swap) {
    static const struct {
        int text, level;
        et_xop op;
        bool swap;
    } in[] = {
        {ETI_OP2('|', '|'), OR, ET_X_OR, false},
        {ETI_OP2('&', '&'), AND, ET_X_AND, false},
        {'<', COMPARE, ET_X_LT, false},
        {'>', COMPARE, ET_X_LT, true},
        {ETI_OP2('<', '='), COMPARE, ET_X_LE, false},
        {ETI_OP2('>', '='), COMPARE, ET_X_LE, true},
        {ETI_OP2('=', '='), COMPARE, ET_X_EQ, false},
        {ETI_OP2('!', '='), COMPARE, ET_X_NE, false},
        {'+', SUM, ET_X_ADD, false},
        {'-', SUM, ET_X_SUB, false},
        {'*', PRODUCT, ET_X_MUL, false},
        {'/', PRODUCT, ET_X_DIV, false},
        {'%', PRODUCT, ET_X_MOD, false},
    };
    for (size_t i = 0; p->tok.kind == ETI_OP && i < sizeof in / sizeof *in; i++)
        if (in[i].text == p->tok.op) {
            *out_op = in[i].op;
            *out_swap = in[i].swap;
            return in[i].level;
        }
    return 0;
}

/* What a tensor holds may be 0: the result is 0 then. What the launch decides may not. */
static bool divides(eti_parser *p, et_expr by, et_loc loc) {
    const char *where;
    et_zero zero = et_find_zero(p->x, by, &where);
    if (zero == ET_ZERO_NEVER || zero == ET_ZERO_DATA) return true;
    const char *text = et_expr_text(p->x, by, NULL, NULL);
    if (zero == ET_ZERO_MAYBE)
        eti_error(p, loc, "the divisor %s cannot be shown never to be 0: write max(1, %s)", text,
                  text);
    else if (*where)
        eti_error(p, loc, "a division by zero: %s is 0 where %s", text, where);
    else
        eti_error(p, loc, "a division by zero");
    return false;
}

/* Notes where an integer that the launch decides may leave 64 bits. */
static et_expr fits(eti_parser *p, et_expr e, et_expr a, et_expr b, et_loc loc) {
    if (!e.id || p->leaves || type_of(p, e) != ET_T_I32 || et_x(p->x, e)->known != ET_UNSURE)
        return e;
    et_xop op = et_x(p->x, e)->op;
    bool was = et_x(p->x, a)->known == ET_UNSURE || et_x(p->x, b)->known == ET_UNSURE;
    if (was || op == ET_X_IDIV || op == ET_X_MOD || !et_expr_of_launch(p->x, e)) return e;
    p->leaves = true;
    p->leaves_at = loc;
    return e;
}

static et_expr combine(eti_parser *p, et_xop op, et_expr a, et_expr b, et_loc loc) {
    if (!a.id || !b.id) return ET_NO_EXPR;
    et_type t = type_of(p, a), u = type_of(p, b);
    bool logic = op == ET_X_AND || op == ET_X_OR;
    if ((t == ET_T_PRED) != logic || (u == ET_T_PRED) != logic) {
        eti_error(p, loc,
                  logic ? "both sides must be predicates such as a < b"
                        : "a predicate where a number is needed: write select(p, 1, 0)");
        return ET_NO_EXPR;
    }
    if (op == ET_X_DIV && t == ET_T_I32 && u == ET_T_I32) op = ET_X_IDIV;
    if (op == ET_X_MOD && (t != ET_T_I32 || u != ET_T_I32)) {
        eti_error(p, loc, "a remainder of integers only");
        return ET_NO_EXPR;
    }
    if ((op == ET_X_IDIV || op == ET_X_MOD) && !divides(p, b, loc)) return ET_NO_EXPR;
    return fits(p, checked(p, et_op2(p->x, op, a, b), loc), a, b, loc);
}

/* A run of operators of LEAST and above, left to right. */
static et_expr binary(eti_parser *p, int may, int least) {
    if (p->broken) return ET_NO_EXPR;
    if (p->depth >= ETI_MAX_DEPTH) {
        eti_error(p, p->tok.loc, "brackets nested more than %d deep", ETI_MAX_DEPTH);
        p->broken = true;
        return ET_NO_EXPR;
    }
    p->depth++;
    et_expr left = unary(p, may);
    bool compared = false, swap;
    et_xop op;
    for (int level; !p->broken && (level = level_of(p, &op, &swap)) > 0 && level >= least;) {
        et_loc loc = p->tok.loc;
        if (level == COMPARE && compared)
            eti_error(p, loc, "comparisons do not chain: write a < b && b < c");
        compared = level == COMPARE;
        eti_next(p);
        et_expr right = binary(p, may, level + 1);
        left = combine(p, op, swap ? right : left, swap ? left : right, loc);
    }
    p->depth -= p->depth > 0;
    return p->broken ? ET_NO_EXPR : left;
}

/* ---- whole expressions ---- */

/* What the launch decides has a value at all dims and variables. What data decides wraps around,
 * and so may the parts of it that the launch decides: (N - load) * c, multiplied out, has one. */
et_expr eti_expr(eti_parser *p, int may) {
    et_loc loc = p->tok.loc;
    bool outside = p->leaves;
    et_loc outside_at = p->leaves_at;
    p->leaves = false;
    et_expr e = checked(p, binary(p, may, 0), loc);
    if (p->leaves && e.id && et_expr_of_launch(p->x, e)) {
        eti_error(p, p->leaves_at, "an integer that may leave 64 bits");
        e = ET_NO_EXPR;
    }
    p->leaves = outside;
    p->leaves_at = outside_at;
    return e;
}

et_expr eti_expr_of(eti_parser *p, int may, et_type type, const char *what) {
    et_loc loc = p->tok.loc;
    et_expr e = eti_expr(p, may);
    if (!e.id || type_of(p, e) == type) return e;
    eti_error(p, loc, "%s must be %s, this is %s", what, type_text(type), type_text(type_of(p, e)));
    return ET_NO_EXPR;
}

et_expr eti_number(eti_parser *p, int may, const char *what) {
    et_loc loc = p->tok.loc;
    et_expr e = eti_expr(p, may);
    if (!e.id || type_of(p, e) != ET_T_PRED) return e;
    eti_error(p, loc, "%s must be a number: write select(p, 1.0, 0.0)", what);
    return ET_NO_EXPR;
}
