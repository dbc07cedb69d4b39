/* What attend and scan share: variables with names of their own, and expressions for one value of
 * each. */
#include "frontend/sema/sema.h"
#include <string.h>

bool et_points_range(et_sema *s, const et_ast *call, int which, char letter, const char *constant,
                     const char *usage, int64_t *out_var) {
    const et_ast *e = call->kid[which];
    int64_t lo, hi;
    et_expr first, size;
    if (e->kind != ET_E_RANGE) {
        et_sema_error(s, e->loc, "argument %d of %s is a range such as %c in 0..N", which + 1,
                      call->text, letter);
        et_sema_note(s, e->loc, "%s", usage);
        return false;
    }
    if (!et_sema_size(s, e->kid[0], &first) || !et_sema_size(s, e->kid[1], &size)) return false;
    if (!et_is_int(s->x, first, &lo) || lo != 0)
        return et_sema_error(s, e->kid[0]->loc, "'%s' runs from 0, not from %s", e->text,
                             et_sema_text(s, first));
    if (!et_bounds(s->x, size, &lo, &hi) || lo < 1 || hi > INT32_MAX)
        return et_sema_error(s, e->kid[1]->loc, "'%s' must take at least one value, this is %s",
                             e->text, et_sema_text(s, size));
    if (constant && lo != hi)
        return et_sema_error(s, e->kid[1]->loc, "the number of %s must be a constant", constant);
    *out_var = et_graph_var(s->graph, e->text, size);
    return true;
}

bool et_points_names(et_sema *s, const et_ast *call, const int64_t *var, et_ident *names,
                     et_elem *elems) {
    for (int v = 0; v < call->n; v++) {
        names[v] = (et_ident){call->kid[v]->text, call->kid[v]->loc};
        elems[v] = et_elem_scalar(s, et_var(s->x, (int)var[v]));
        for (int u = 0; u < v; u++)
            if (strcmp(names[u].text, names[v].text) == 0)
                return et_sema_error(s, names[v].loc, "'%s' is already a variable of this %s",
                                     names[v].text, call->text);
    }
    return true;
}

static et_expr number_load(void *ctx, et_exprs *x, et_expr leaf) {
    et_operands *o = ctx;
    et_node_x n = *et_x(x, leaf);
    bool scalar = n.op == ET_X_ARG && !et_own_arg_name(n.i);
    if (!scalar && n.op != ET_X_LOAD) return ET_NO_EXPR;
    int i = 0;
    while (i < o->n && o->value[i].id != (uint32_t)n.i)
        i++;
    if (i == ET_MAX_ARGS) return ET_NO_EXPR; /* reported when it is counted */
    if (i == o->n) o->value[o->n++] = (et_value){(uint32_t)n.i};
    return et_load(x, ET_LOAD_ARG, i, n.type, scalar ? 0 : n.nops, n.ops);
}

et_expr et_points_numbered(et_sema *s, et_expr e, et_operands *o) {
    return et_subst(s->x, e, number_load, o);
}

static bool part_of(et_sema *s, const char *what, et_type type, const et_ast *value, et_operands *o,
                    et_expr *out) {
    et_elem v;
    if (!et_sema_eval(s, value, ET_IN_VALUE, &v)) return false;
    if (v.shape.rank) {
        et_sema_error(s, value->loc, "%s: %s is not one element", what, et_sema_shape_text(s, &v));
        et_sema_note(s, value->loc, "index every dimension, as in x[i, h, d]");
        return false;
    }
    if (type == ET_T_PRED && v.type != ET_T_PRED) /* a number counts where it is not 0 */
        v.body = et_op2(s->x, ET_X_NE, v.body, et_int(s->x, 0));
    if (type != ET_T_PRED && v.type == ET_T_PRED)
        return et_sema_error(s, value->loc, "%s must be a number, this is a condition", what);
    if (type == ET_T_I32 && v.type != ET_T_I32) {
        et_sema_error(s, value->loc, "%s must be i32, this is floating-point", what);
        et_sema_note(s, value->loc, "write i32(...) to convert");
        return false;
    }
    *out = type == ET_T_F32 && v.type == ET_T_I32 ? et_op1(s->x, ET_X_TO_F32, v.body) : v.body;
    *out = et_points_numbered(s, *out, o);
    return true;
}

bool et_points_part(et_sema *s, const et_ast *call, const et_def *scope, const et_elem *elems,
                    const char *what, et_type type, const et_ast *value, et_operands *o,
                    et_expr *out) {
    bool poison[ET_POINT_NAMES] = {false};
    et_frame frame = {.def = scope,
                      .args = elems,
                      .poison = poison,
                      .call = call->loc,
                      .inner = true,
                      .up = s->frame};
    et_check(scope->nparams <= ET_POINT_NAMES);
    s->frame = &frame;
    s->points++;
    bool good = part_of(s, what, type, value, o, out);
    s->points--;
    s->frame = frame.up;
    return good;
}
