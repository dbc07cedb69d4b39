/* Products whose k is cut into parts, each of which leaves its sums at an element of one more
 * dimension of the tensor, the first. Groups that read the tensor add the parts up. */
#include "passes/tile/split_k.h"
#include <string.h>

static bool has_product(const et_exprs *x, et_expr e) {
    return et_expr_has_op(x, e, ET_X_CONTRACT);
}

bool et_split_off_product(et_exprs *x, et_expr e, et_expr *product, et_expr *rest) {
    et_node_x n = *et_x(x, e);
    if (n.op == ET_X_CONTRACT) {
        *product = e;
        *rest = ET_NO_EXPR;
        return true;
    }
    if (n.op != ET_X_ADD) return false;
    bool left = has_product(x, n.ops[0]);
    if (left == has_product(x, n.ops[1])) return false;
    if (!et_split_off_product(x, n.ops[!left], product, rest)) return false;
    *rest = rest->id ? et_add(x, *rest, n.ops[left]) : n.ops[left];
    return true;
}

et_expr et_add_part_axis(et_program *p, et_group *gr, int parts) {
    memmove(gr->axis + 1, gr->axis, (size_t)gr->rank * sizeof *gr->axis);
    memmove(gr->tile + 1, gr->tile, (size_t)gr->rank * sizeof *gr->tile);
    gr->rank++;
    gr->axis[0] = et_graph_var(p->g, "s", et_int(p->g->exprs, parts));
    gr->tile[0] = 0;
    return et_var(p->g->exprs, gr->axis[0]);
}

void et_store_in_part(et_group *gr, et_expr part) {
    memmove(gr->to.index + 1, gr->to.index, (size_t)gr->to.rank * sizeof *gr->to.index);
    gr->to.rank++;
    gr->to.index[0] = part;
}

et_expr et_in_first(et_exprs *x, et_expr part, et_expr e) {
    return et_select(x, et_op2(x, ET_X_EQ, part, et_int(x, 0)), e, et_float(x, 0));
}

void et_cut_product(et_program *p, et_group *gr, int parts, et_expr part) {
    et_exprs *x = p->g->exprs;
    et_product *of = &gr->product[0];
    et_expr product = ET_NO_EXPR, rest = ET_NO_EXPR, index[ET_MAX_RANK];
    int64_t k = 0;
    bool sum = et_split_off_product(x, gr->value, &product, &rest);
    bool fixed = et_is_int(x, et_var_extent(x, of->k), &k);
    et_check(sum && fixed && k % parts == 0);
    et_expr each = et_int(x, k / parts);
    int within = et_graph_var(p->g, "k", each);
    of->batch[of->nbatch++] = et_graph_var(p->g, "b0", et_int(x, parts));
    et_expr at = et_mul(x, et_var(x, of->batch[of->nbatch - 1]), each);
    at = et_add(x, at, et_var(x, within));
    of->a = et_subst_var(x, of->a, of->k, at);
    of->b = et_subst_var(x, of->b, of->k, at);
    of->k = within;
    of->value = of->left = (et_value){0};
    et_node_x n = *et_x(x, product);
    index[0] = part;
    memcpy(index + 1, n.ops, (size_t)n.nops * sizeof *index);
    gr->value = et_contract_x(x, n.i, n.nops + 1, index);
    if (rest.id) gr->value = et_add(x, et_in_first(x, part, rest), gr->value);
}

et_expr et_add_parts_up(et_exprs *x, int tensor, et_type type, int rank, const et_expr *at,
                        int parts) {
    et_expr index[ET_MAX_RANK], sum = ET_NO_EXPR;
    memcpy(index + 1, at, (size_t)rank * sizeof *index);
    for (int i = 0; i < parts; i++) {
        index[0] = et_int(x, i);
        et_expr one = et_load(x, ET_LOAD_TENSOR, tensor, type, rank + 1, index);
        sum = i ? et_add(x, sum, one) : one;
    }
    return sum;
}

void et_split_tensor(et_exprs *x, et_tensor *t, int parts) {
    memmove(t->shape.dim + 1, t->shape.dim, (size_t)t->shape.rank * sizeof *t->shape.dim);
    t->shape.dim[0] = et_int(x, parts);
    t->shape.rank++;
    t->max_bytes *= parts;
    t->value = (et_value){0};
}
