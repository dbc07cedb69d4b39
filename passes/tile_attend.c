/* Cached causal attention: one tile per token and group of heads that share keys and values. */
#include "tiler.h"

enum { MAX_HEADS = 8 };

static et_expr clamp(et_exprs *x, et_expr e, et_expr size) {
    e = et_op2(x, ET_X_MAX, e, et_int(x, 0));
    return et_op2(x, ET_X_MIN, e, et_sub(x, size, et_int(x, 1)));
}

static bool constant(et_lowering *lo, const et_group *gr, et_expr e, const char *what, int *out) {
    int64_t n;
    if (!et_is_int(lo->g->exprs, e, &n) || n > 1 << 20) {
        et_diag(lo->g->diags, ET_ERROR, gr->loc, "attention: the number of %s must be a constant",
                what);
        return false;
    }
    *out = (int)n;
    return true;
}

bool et_tile_attend(et_lowering *lo, const et_group *gr) {
    et_tiler t = et_tiler_begin(lo, gr);
    et_exprs *x = t.x;
    const et_node *n = gr->node;
    const et_shape *cache = &et_val_of(lo->g, n->args[1])->shape;
    int heads, groups, depth;
    if (!constant(lo, gr, gr->dim[1], "heads", &heads) ||
        !constant(lo, gr, cache->dim[1], "key and value heads", &groups) ||
        !constant(lo, gr, gr->dim[2], "elements of a head", &depth))
        return false;
    if (depth > 512) {
        et_diag(lo->g->diags, ET_ERROR, gr->loc,
                "attention: heads of %d elements, at most 512 are supported", depth);
        return false;
    }
    int shared = heads / groups, per = shared < MAX_HEADS ? shared : MAX_HEADS;
    while (shared % per)
        per--;
    et_expr i = et_tiler_coord(&t, "i0", gr->dim[0]);
    et_expr g = et_tiler_coord(&t, "g0", et_int(x, groups));
    et_expr c = et_tiler_coord(&t, "h0", et_int(x, shared / per));
    et_expr first = et_add(x, et_mul(x, g, et_int(x, shared)), et_mul(x, c, et_int(x, per)));

    int waves = lo->opt->machine.waves;
    int hvar = et_var_add(x, "h", et_int(x, per)), dvar = et_var_add(x, "d", et_int(x, depth));
    int pvar = et_var_add(x, "p", cache->dim[2]);
    int out = et_local_add(lo->p, &t.f, "out", ET_F32, 2, (int[]){per, depth}, depth);
    int scratch =
        et_local_add(lo->p, &t.f, "part", ET_F32, 3, (int[]){waves, per, depth + 2}, depth + 2);
    et_step *s = et_tiler_step(&t, ET_STEP_ATTEND);
    s->hvar = hvar, s->dvar = dvar, s->pvar = pvar;
    s->heads = per, s->depth = depth;
    s->out = out, s->scratch = scratch;
    s->scale = et_attr_float(n, "scale", 1);
    et_expr h = et_add(x, first, et_var(x, hvar)), d = et_var(x, dvar), p = et_var(x, pvar);
    et_expr slot = clamp(x, et_arg_at(&lo->lower, n, 3, &i), cache->dim[0]);
    et_expr last = clamp(x, et_arg_at(&lo->lower, n, 4, &i), cache->dim[2]);
    s->pextent = et_add(x, last, et_int(x, 1));
    s->q = et_arg_at(&lo->lower, n, 0, (et_expr[]){i, h, d});
    s->k = et_arg_at(&lo->lower, n, 1, (et_expr[]){slot, g, p, d});
    s->v = et_arg_at(&lo->lower, n, 2, (et_expr[]){slot, g, p, d});

    et_step *m = et_tiler_step(&t, ET_STEP_MAP);
    m->nvars = 0;
    if (per > 1) m->vars[m->nvars++] = hvar;
    m->vars[m->nvars++] = dvar;
    et_expr index[] = {et_var(x, hvar), d};
    m->value = et_load(x, ET_LOAD_LOCAL, out, ET_T_F32, 2, index);
    m->to = gr->to;
    m->to.index[0] = i, m->to.index[1] = h, m->to.index[2] = d;
    return et_tiler_end(&t);
}
