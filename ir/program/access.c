/* Where the elements of an access lie, and what an access may rely on. */
#include "ir/program/program.h"
#include "ir/program/step.h"

/* The number that HIGH and LOW are quotient and remainder of, by the extent DIM of LOW's dimension,
 * where a tensor gives it; or none. Both follow from it by what may be many instructions. */
static et_expr flat_index(et_exprs *x, et_expr high, et_expr low, et_expr dim) {
    et_node_x n = *et_x(x, low);
    if (n.op != ET_X_MOD || !et_expr_eq(n.ops[1], dim) || !et_expr_loads(x, n.ops[0]) ||
        !et_expr_eq(et_op2(x, ET_X_IDIV, n.ops[0], dim), high))
        return ET_NO_EXPR;
    return n.ops[0];
}

et_expr et_access_offset(const et_program *p, const et_func *f, int space, int id,
                         const et_expr *index) {
    et_exprs *x = p->g->exprs;
    et_expr off = et_int(x, 0), stride = et_int(x, 1);
    if (space == ET_LOAD_LOCAL) {
        const et_local *l = &f->locals[id];
        for (int i = l->rank - 1; i >= 0; i--) {
            off = et_add(x, off, et_mul(x, index[i], stride));
            stride = et_mul(x, stride, et_int(x, i == l->rank - 1 ? l->pitch : l->dim[i]));
        }
        return off;
    }
    const et_shape *s = &p->tensors[id].shape;
    for (int i = s->rank - 1; i >= 0; i--) {
        et_expr flat = i ? flat_index(x, index[i - 1], index[i], s->dim[i]) : ET_NO_EXPR;
        off = et_add(x, off, et_mul(x, flat.id ? flat : index[i], stride));
        stride = et_mul(x, stride, s->dim[i]);
        if (flat.id) stride = et_mul(x, stride, s->dim[--i]);
    }
    return off;
}

bool *et_program_stored(const et_program *p, et_arena *arena) {
    bool *stored = et_alloc(arena, (size_t)p->ntensors + 1);
    for (int i = 0; i < p->nfuncs; i++)
        for (int k = 0; k < p->funcs[i].nsteps; k++) {
            const et_place *to = et_step_to(&p->funcs[i].steps[k]);
            const et_place *state = et_step_state(&p->funcs[i].steps[k]);
            if (to && to->space == ET_LOAD_TENSOR) stored[to->id] = true;
            if (state) stored[state->id] = true;
        }
    return stored;
}

struct reading {
    const et_exprs *x;
    const bool *stored;
};

static bool is_stored(const void *ctx, et_expr e) {
    const struct reading *r = ctx;
    const et_node_x *n = et_x(r->x, e);
    return n->op == ET_X_LOAD && (n->i2 == ET_LOAD_LOCAL || r->stored[n->i]);
}

bool et_reads_stored(const et_exprs *x, et_expr e, const bool *stored) {
    return et_expr_any(x, e, is_stored, &(struct reading){x, stored});
}

/* Is index E below DIM, as BELOW says or whatever holds? */
static bool is_below(et_exprs *x, et_expr e, et_expr dim, et_expr below) {
    int64_t yes;
    const et_node_x *known = below.id ? et_x(x, below) : NULL;
    if (known && et_expr_eq(known->ops[0], e) && et_expr_eq(known->ops[1], dim)) return true;
    return et_is_int(x, et_op2(x, ET_X_LT, e, dim), &yes) && yes;
}

bool et_load_inside(const et_program *p, et_expr load, et_expr below) {
    et_exprs *x = p->g->exprs;
    et_node_x n = *et_x(x, load);
    if (n.i2 == ET_LOAD_LOCAL) return true; /* which has no neighbour to trap on */
    const et_shape *s = &p->tensors[n.i].shape;
    for (int i = 0; i < n.nops; i++) {
        int64_t yes;
        et_expr from = et_op2(x, ET_X_LE, et_int(x, 0), n.ops[i]);
        if (!et_is_int(x, from, &yes) || !yes || !is_below(x, n.ops[i], s->dim[i], below))
            return false;
    }
    return true;
}
