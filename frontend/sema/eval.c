/* Expressions. */
#include "frontend/sema/sema.h"
#include <string.h>

enum { MAX_EVAL_DEPTH = 400, MAX_STEPS = 2000000 };

static bool eval_name(et_sema *s, const et_ast *e, et_elem *out) {
    for (const et_frame *f = s->frame; f; f = f->inner ? f->up : NULL)
        for (int i = 0; i < f->def->nparams; i++)
            if (strcmp(f->def->params[i].text, e->text) == 0) {
                *out = f->args[i];
                return !f->poison[i];
            }
    const et_binding *b = et_name_find(s, e->text);
    if (!b) {
        et_name_unknown(s, e->text, e->loc);
        return false;
    }
    *out = b->elem;
    return !b->poison;
}

static et_xop xop_of(et_tok_kind op, et_mode mode, const et_elem *a, const et_elem *b) {
    switch (op) {
    case ET_TOK_PLUS:
        return ET_X_ADD;
    case ET_TOK_MINUS:
        return ET_X_SUB;
    case ET_TOK_STAR:
        return ET_X_MUL;
    case ET_TOK_SLASH:
        return mode == ET_IN_SIZE && a->type == ET_T_I32 && b->type == ET_T_I32 ? ET_X_IDIV
                                                                                : ET_X_DIV;
    case ET_TOK_AND:
        return ET_X_AND;
    case ET_TOK_OR:
        return ET_X_OR;
    case ET_TOK_EQ:
        return ET_X_EQ;
    case ET_TOK_NE:
        return ET_X_NE;
    case ET_TOK_LT:
    case ET_TOK_GT:
        return ET_X_LT;
    default:
        return ET_X_LE;
    }
}

static bool matmul(et_sema *s, const et_ast *e, et_elem *out);

static bool eval_binary(et_sema *s, const et_ast *e, et_mode mode, et_elem *out) {
    if (e->op == ET_TOK_AT) return matmul(s, e, out);
    et_elem a, b;
    bool ok = et_sema_eval(s, e->kid[0], mode, &a);
    ok &= et_sema_eval(s, e->kid[1], mode, &b);
    if (!ok) return false;
    bool swapped = e->op == ET_TOK_GT || e->op == ET_TOK_GE;
    return et_elem_op2(s, e->loc, xop_of(e->op, mode, &a, &b), swapped ? &b : &a, swapped ? &a : &b,
                       out);
}

static bool transposed(et_sema *s, et_loc loc, et_value v, et_elem *out) {
    int rank = et_val_of(s->graph, v)->shape.rank;
    int64_t perm[ET_MAX_RANK];
    if (rank < 2)
        return et_sema_error(s, loc, ".T swaps the last two dimensions of %s, which has %d",
                             et_shape_text(s->x, &et_val_of(s->graph, v)->shape), rank);
    for (int i = 0; i < rank; i++)
        perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
    et_attr attr = et_attr_of_ints("perm", rank, perm);
    return et_sema_node(s, &et_op_transpose, loc, 1, &v, 1, &attr, out);
}

static bool eval_tensor(et_sema *s, const et_ast *e, const char *what, et_value *out) {
    et_elem v;
    if (!et_sema_eval(s, e, ET_IN_VALUE, &v)) return false;
    if (v.nargs == 0)
        return et_sema_error(s, e->loc, "%s must be a tensor, this is a number", what);
    return et_elem_place(s, e->loc, &v, out);
}

/* x @ w.T is one contraction of w as it lies in memory. */
static bool matmul(et_sema *s, const et_ast *e, et_elem *out) {
    const et_ast *right = e->kid[1];
    bool trans_b = right->kind == ET_E_TRANSPOSE;
    et_value args[2];
    bool ok = eval_tensor(s, e->kid[0], "the left side of @", &args[0]);
    ok &= eval_tensor(s, trans_b ? right->kid[0] : right, "the right side of @", &args[1]);
    if (!ok) return false;
    et_attr attr = et_attr_of_int("trans_b", trans_b);
    if (et_sema_node(s, &et_op_contract, e->loc, 2, args, 1, &attr, out)) return true;
    const et_shape *a = &s->graph->vals[args[0].id].shape, *b = &s->graph->vals[args[1].id].shape;
    if (!trans_b && a->rank > 1 && b->rank > 1 &&
        et_expr_eq(a->dim[a->rank - 1], b->dim[b->rank - 1]) &&
        !et_expr_eq(a->dim[a->rank - 1], b->dim[b->rank - 2]))
        et_sema_note(s, right->loc, "%s.T fits", right->kind == ET_E_NAME ? right->text : "(...)");
    return false;
}

static bool eval_kind(et_sema *s, const et_ast *e, et_mode mode, et_elem *out) {
    et_elem a;
    et_value v;
    switch (e->kind) {
    case ET_E_INT:
        *out = et_elem_int(s, e->i);
        return true;
    case ET_E_FLOAT:
        *out = et_elem_float(s, e->f);
        return true;
    case ET_E_NAME:
        return eval_name(s, e, out);
    case ET_E_CALL:
        return et_sema_call(s, e, mode, out);
    case ET_E_INDEX:
        return et_sema_index(s, e, out);
    case ET_E_UNARY:
        return et_sema_eval(s, e->kid[0], mode, &a) &&
               et_elem_op1(s, e->loc, e->op == ET_TOK_NOT ? ET_X_NOT : ET_X_NEG, &a, out);
    case ET_E_BINARY:
        return eval_binary(s, e, mode, out);
    case ET_E_TRANSPOSE:
        return eval_tensor(s, e->kid[0], "what .T transposes", &v) && transposed(s, e->loc, v, out);
    case ET_E_STRING:
        return et_sema_error(s, e->loc, "text is not a value");
    case ET_E_LIST:
        et_sema_error(s, e->loc, "a list is not a value");
        et_sema_note(s, e->loc, "lists give reshape its shape and transpose its permutation");
        return false;
    case ET_E_RANGE:
        return et_sema_error(s, e->loc, "only a weight, attend and scan have '%s in ...'", e->text);
    default:
        return et_sema_error(s, e->loc, "':' belongs in an index");
    }
}

bool et_sema_eval(et_sema *s, const et_ast *e, et_mode mode, et_elem *out) {
    *out = (et_elem){0};
    if (s->depth >= MAX_EVAL_DEPTH)
        return et_sema_error(s, e->loc, "functions nested too deeply in each other");
    if (s->steps++ >= MAX_STEPS) {
        if (s->steps == MAX_STEPS + 1)
            et_sema_error(s, e->loc, "the program is too large: more than %d steps of evaluation",
                          MAX_STEPS);
        return false;
    }
    s->depth++;
    bool ok = eval_kind(s, e, mode, out);
    s->depth--;
    return ok;
}

bool et_sema_settled(et_sema *s, et_loc loc, et_expr e) {
    return !et_expr_has_op(s->x, e, ET_X_PHILOX) ||
           et_sema_error(s, loc,
                         "a random number is no size, index or const: those are known before a "
                         "launch; it can be an element of an i32 tensor that gather or take reads");
}

bool et_sema_size(et_sema *s, const et_ast *e, et_expr *out) {
    et_elem v;
    int64_t lo, hi;
    if (!et_sema_eval(s, e, ET_IN_SIZE, &v)) return false;
    if (v.nargs > 0)
        return et_sema_error(s, e->loc, "a size must be an integer of consts and dims, this is %s",
                             et_sema_shape_text(s, &v));
    if (!et_sema_settled(s, e->loc, v.body)) return false;
    if (v.type != ET_T_I32 || !et_bounds(s->x, v.body, &lo, &hi))
        return et_sema_error(s, e->loc, "%s is not an integer", et_sema_text(s, v.body));
    *out = v.body;
    return true;
}

bool et_sema_int(et_sema *s, const et_ast *e, int64_t *out) {
    et_expr size;
    if (!et_sema_size(s, e, &size)) return false;
    if (et_is_int(s->x, size, out)) return true;
    return et_sema_error(s, e->loc, "%s is not known when the program is compiled",
                         et_sema_text(s, size));
}

bool et_sema_number(et_sema *s, const et_ast *e, double *out) {
    et_elem v;
    if (!et_sema_eval(s, e, ET_IN_VALUE, &v)) return false;
    if (et_elem_is_number(s, &v, out)) return true;
    return et_sema_error(s, e->loc, "a number known when the program is compiled is needed here");
}
