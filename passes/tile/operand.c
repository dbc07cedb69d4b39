/* What a product's operands are in terms of a tile, and which tiles need none. */
#include "ir/program/step.h"
#include "ir/weights/computed.h"
#include "passes/tile/contract.h"

struct operand {
    const et_product *p;
    const et_node_x *leaf;
    et_expr row, column, k;
};

static et_expr operand_var(void *ctx, et_exprs *x, et_expr e) {
    struct operand *o = ctx;
    const et_node_x *n = et_x(x, e);
    if (n->op != ET_X_VAR) return ET_NO_EXPR;
    for (int b = 0; b < o->p->nbatch; b++)
        if (n->i == o->p->batch[b]) return o->leaf->ops[b];
    return n->i == o->p->m   ? o->row
           : n->i == o->p->n ? o->column
           : n->i == o->p->k ? o->k
                             : ET_NO_EXPR;
}

et_expr et_tiler_operand(et_tiler *t, const et_product *p, const et_node_x *leaf, bool left,
                         et_expr at, et_expr k) {
    struct operand o = {.p = p, .leaf = leaf, .row = at, .column = at, .k = k};
    return et_tiler_subst(t, et_subst(t->x, left ? p->a : p->b, operand_var, &o));
}

/* ---- right operands that are computed of what is loaded, as quantised weights are: in registers,
 * without a buffer in local memory, where that is known to be possible ---- */

int et_tile_computed(const et_program *p, const et_machine *m, const et_step *s, bool ends) {
    int bytes = et_dtype_bytes(s->operand), unit = m->k_bytes / bytes, most = 0;
    int run = bytes == 4 ? 4 : unit < 32 ? 16 : 8; /* of a lane */
    for (int i = 0; i < s->nacc; i++) {
        int n = et_k_computed(p, s->b[i], s->kvar, run, unit * (ends ? 1 : s->wk));
        if (!n) return 0;
        most = n > most ? n : most;
    }
    return most;
}

bool et_tile_in_registers(int loads, const et_step *s) {
    enum { REGISTERS = 64, ROWS = 2 }; /* of sixteen that a lane may hold */
    return loads && s->nacc * loads * (s->tn / 16 / s->wn) * ROWS <= REGISTERS;
}

/* ---- tiles whose results need no product, and which so have no k ---- */

/* Where products of E matter: the condition under which E reads any, or none where it always does.
 * LEFT bounds the work, for expressions that share parts. */
static et_expr guard_below(et_contract_tiler *c, et_expr e, int *left) {
    et_node_x x = *et_x(c->t.x, e);
    et_expr all = ET_NO_EXPR;
    if (x.op == ET_X_CONTRACT || --*left < 0) return ET_NO_EXPR;
    bool first = x.op != ET_X_SELECT || et_expr_has_op(c->t.x, x.ops[0], ET_X_CONTRACT);
    if (!first && !et_expr_has_op(c->t.x, x.ops[2], ET_X_CONTRACT)) return x.ops[0];
    for (int i = 0; i < x.nops; i++) {
        if (!et_expr_has_op(c->t.x, x.ops[i], ET_X_CONTRACT)) continue;
        et_expr one = guard_below(c, x.ops[i], left);
        if (!one.id || (all.id && !et_expr_eq(all, one))) return ET_NO_EXPR;
        all = one;
    }
    return all;
}

et_expr et_tile_guard(et_contract_tiler *c) {
    int left = ET_TILE_LEAVES * 8;
    et_expr e = guard_below(c, c->t.gr->value, &left);
    if (!e.id) return e;
    e = et_tiler_subst(&c->t, e);
    if (et_expr_has_op(c->t.x, e, ET_X_REDUCE)) return ET_NO_EXPR;
    for (int d = 0; d < c->t.gr->rank; d++)
        if ((c->t.inner[d] >= 0 && et_expr_has_var(c->t.x, e, c->t.inner[d])) ||
            (c->t.piece[d] >= 0 && et_expr_has_var(c->t.x, e, c->t.piece[d])))
            return ET_NO_EXPR;
    return e;
}
