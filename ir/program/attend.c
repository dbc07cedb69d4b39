/* ATTEND steps of several rows of queries: what their rows share, and what they need. */
#include "ir/program/step.h"

/* Keys and values of ROWS lie so that eight neighbouring lanes, who read two rows, meet no bank
 * twice: an odd number of times 64 bytes apart. Those of deep heads, which only warpgroup MMA
 * multiplies, are swizzled instead. */
int et_attend_slot(int depth) {
    if (depth > ET_ATTEND_WAVE_D) return 4 * ET_ATTEND_BLOCK * depth;
    int key = (2 * depth + 127) / 128 * 128 + 64, value = 2 * ET_ATTEND_BLOCK + 64;
    return ET_ATTEND_BLOCK * key + depth * value;
}

/* An element of a tensor, whose last index is the one that goes through a head. */
static int tensor_of(const et_exprs *x, const et_step *s, et_expr e) {
    const et_node_x *n = et_x(x, e);
    bool ok = n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR && n->nops > 0 &&
              et_x(x, n->ops[n->nops - 1])->op == ET_X_VAR &&
              et_x(x, n->ops[n->nops - 1])->i == s->dvar;
    for (int d = 0; ok && d + 1 < n->nops; d++)
        ok = !et_expr_has_var(x, n->ops[d], s->dvar);
    return ok ? n->i : -1;
}

bool et_attend_operand(const et_program *p, const et_step *s, et_dtype *out) {
    const et_exprs *x = p->g->exprs;
    int k = tensor_of(x, s, s->part[ET_AT_K]), v = tensor_of(x, s, s->part[ET_AT_V]);
    if (k < 0 || v < 0) return false;
    *out = p->tensors[k].shape.dtype;
    return *out == p->tensors[v].shape.dtype && (*out == ET_BF16 || *out == ET_F16);
}

struct keys {
    const et_exprs *x;
    const et_step *s;
    et_expr *out;
    int n, most;
    bool ok;
};

static void find_keys(struct keys *k, et_expr e) {
    const et_node_x *n = et_x(k->x, e);
    int outer[] = {k->s->pvar, k->s->dvar};
    if (!et_expr_has_var(k->x, e, k->s->ivar[0])) return;
    if (et_expr_has_vars(k->x, e, 2, outer)) {
        for (int i = 0; i < n->nops; i++)
            find_keys(k, n->ops[i]);
        return;
    }
    for (int i = 0; i < k->n; i++)
        if (et_expr_eq(k->out[i], e)) return;
    k->ok &= k->n < k->most && n->type == ET_T_I32 && et_expr_has_op(k->x, e, ET_X_LOAD);
    if (k->ok) k->out[k->n++] = e;
}

int et_attend_keys(const et_exprs *x, const et_step *s, int most, et_expr *out) {
    struct keys k = {.x = x, .s = s, .out = out, .most = most, .ok = true};
    if (!s->rows) return 0;
    find_keys(&k, s->part[ET_AT_K]);
    find_keys(&k, s->part[ET_AT_V]);
    return k.ok ? k.n : -1;
}
