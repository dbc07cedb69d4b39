/* attend(...): attention over named variables; attention(...): the usual case of it. */
#include "frontend/sema/sema.h"
#include "ir/graph/attention.h"
#include "runtime/cli/guess.h"
#include <string.h>

/* ---- attend ---- */

static const char usage[] = "write attend(i in 0..N, h in 0..HEADS, p in 0..CONTEXT, d in 0..D,"
                            " q = ..., k = ..., v = ...)";

static const et_attention_row *row_of(et_sema *s, const et_kwarg *kw) {
    et_guess g = {.name = kw->name.text};
    for (int i = 0; i < ET_AT_PARTS; i++) {
        if (strcmp(et_attention_rows[i].name, kw->name.text) == 0) return &et_attention_rows[i];
        et_guess_try(&g, et_attention_rows[i].name);
    }
    et_sema_error(s, kw->name.loc, "attend has no argument '%s'", kw->name.text);
    if (g.best) et_sema_note(s, kw->name.loc, "did you mean '%s'?", g.best);
    return NULL;
}

static bool parts(et_sema *s, const et_ast *e, const et_def *names, const et_elem *elems,
                  et_operands *o, et_attr *attr, int *nattr) {
    bool given[ET_AT_PARTS] = {false}, ok = true;
    for (int i = 0; i < e->nkw; i++) {
        const et_attention_row *r = row_of(s, &e->kw[i]);
        if (!r || given[r - et_attention_rows]) {
            ok = r ? et_sema_error(s, e->kw[i].name.loc, "'%s' is given twice", r->name) : false;
            continue;
        }
        given[r - et_attention_rows] = true;
        et_def scope = *names; /* the product is there for the score alone */
        if (r - et_attention_rows == ET_AT_SCORE) scope.nparams++;
        et_expr body;
        bool good = et_points_part(s, e, &scope, elems, r->what, r->type, e->kw[i].value, o, &body);
        ok &= good;
        if (good) attr[(*nattr)++] = (et_attr){.name = r->name, .kind = ET_A_EXPR, .expr = body};
    }
    for (int i = 0; i < ET_AT_PARTS; i++)
        if (et_attention_rows[i].required && !given[i])
            ok = et_sema_error(s, e->loc, "attend needs %s: %s = ...", et_attention_rows[i].what,
                               et_attention_rows[i].name);
    return ok;
}

bool et_lower_attend(et_sema *s, const et_call *c, et_elem *out) {
    const et_ast *e = c->ast;
    int64_t var[ET_AT_VARS];
    et_ident names[ET_AT_VARS + 1] = {{NULL, e->loc}};
    et_elem elems[ET_AT_VARS + 1];
    bool ok = true;
    if (e->n != ET_AT_VARS) {
        et_sema_error(s, e->loc, "attend takes four ranges, of query, head, position and element");
        et_sema_note(s, e->loc, "%s", usage);
        return false;
    }
    for (int v = 0; v < ET_AT_VARS; v++) {
        const char *what = v == ET_AT_H ? "heads" : v == ET_AT_D ? "elements of a head" : NULL;
        ok &= et_points_range(s, e, v, "ihpd"[v], what, usage, &var[v]);
    }
    if (!ok || !et_points_names(s, e, var, names, elems)) return false;
    names[ET_AT_VARS] = (et_ident){"qk", e->loc};
    elems[ET_AT_VARS] = et_elem_scalar(s, et_arg(s->x, ET_ARG_QK, ET_T_F32));
    et_def scope = {.name = "attend", .loc = e->loc, .params = names, .nparams = ET_AT_VARS};
    et_attr attr[1 + ET_AT_PARTS] = {
        {.name = "over", .kind = ET_A_VARS, .n = ET_AT_VARS, .ints = var}};
    et_operands o = {.s = s};
    int nattr = 1;
    if (!parts(s, e, &scope, elems, &o, attr, &nattr)) return false;
    if (o.n == ET_MAX_ARGS)
        return et_sema_error(s, e->loc, "attend reads more than %d tensors", ET_MAX_ARGS - 1);
    if (o.n == 0) return et_sema_error(s, e->loc, "attend reads no tensor");
    return et_sema_node(s, &et_op_attention, e->loc, o.n, o.value, nattr, attr, out);
}

/* ---- attention ---- */

static const et_shape *shape_of(et_sema *s, const et_call *c, int i) {
    return &et_val_of(s->graph, c->value[i])->shape;
}

static const char *dims(et_sema *s, const et_shape *shape) {
    return et_dims_text(s->x, shape->rank, shape->dim);
}

static bool check_cache(et_sema *s, const et_call *c) {
    const et_shape *q = shape_of(s, c, 0), *k = shape_of(s, c, 1), *v = shape_of(s, c, 2);
    int64_t heads, kv_heads, d;
    if (q->rank != 3)
        return et_sema_error(
            s, c->loc, "the queries of attention must be [tokens, heads, D], found %s", dims(s, q));
    if (k->rank != 4)
        return et_sema_error(
            s, c->loc, "the key cache of attention must be [slots, heads, context, D], found %s",
            dims(s, k));
    if (!et_shape_eq(k, v))
        return et_sema_error(s, c->loc,
                             "the key cache is %s and the value cache %s: they must be the same",
                             et_shape_text(s->x, k), et_shape_text(s->x, v));
    if (!et_is_int(s->x, q->dim[2], &d) || !et_expr_eq(q->dim[2], k->dim[3]))
        return et_sema_error(s, c->loc,
                             "queries %s and key cache %s: the last dimensions must be the same "
                             "constant",
                             dims(s, q), dims(s, k));
    if (!et_is_int(s->x, q->dim[1], &heads) || !et_is_int(s->x, k->dim[1], &kv_heads) ||
        heads % kv_heads != 0)
        return et_sema_error(s, c->loc, "%s query heads must be a multiple of %s cached heads",
                             et_sema_text(s, q->dim[1]), et_sema_text(s, k->dim[1]));
    for (int i = 3; i < 5; i++) {
        const et_shape *of = shape_of(s, c, i);
        if (of->rank != 1 || !et_expr_eq(of->dim[0], q->dim[0]))
            return et_sema_error(s, c->loc,
                                 "the %s of attention must be [%s], one per query, "
                                 "found %s",
                                 i == 3 ? "slots" : "positions", et_sema_text(s, q->dim[0]),
                                 dims(s, of));
    }
    return true;
}

enum { SCALE, WINDOW, SOFTCAP, SINK }; /* keywords, in the order of the function's row */

static et_expr load(et_sema *s, const et_call *c, int i, const et_expr *index) {
    const et_shape *shape =
        i < 5 ? shape_of(s, c, i) : &et_val_of(s->graph, c->kw[SINK].value)->shape;
    return et_load(s->x, ET_LOAD_ARG, i, et_dtype_type(shape->dtype), shape->rank, index);
}

static et_expr clamp(et_exprs *x, et_expr e, int64_t least, et_expr size) {
    e = et_op2(x, ET_X_MAX, e, et_int(x, least));
    return et_op2(x, ET_X_MIN, e, et_sub(x, size, et_int(x, 1)));
}

static bool check_options(et_sema *s, const et_call *c) {
    int64_t lo, hi;
    if (c->kw[WINDOW].given &&
        (!et_bounds(s->x, c->kw[WINDOW].size, &lo, &hi) || lo < 1 || hi > INT32_MAX))
        return et_sema_error(s, c->kw[WINDOW].loc, "a window is at least 1 position, this is %s",
                             et_sema_text(s, c->kw[WINDOW].size));
    if (c->kw[SOFTCAP].given && !(c->kw[SOFTCAP].f > 0))
        return et_sema_error(s, c->kw[SOFTCAP].loc, "a soft cap is above 0, this is %g",
                             c->kw[SOFTCAP].f);
    if (!c->kw[SINK].given) return true;
    const et_shape *sink = &et_val_of(s->graph, c->kw[SINK].value)->shape;
    et_expr heads = shape_of(s, c, 0)->dim[1];
    if (sink->dtype != ET_I32 && sink->rank == 1 && et_expr_eq(sink->dim[0], heads)) return true;
    return et_sema_error(s, c->kw[SINK].loc,
                         "the sinks must be floats [%s], one per head, found %s",
                         et_sema_text(s, heads), et_shape_text(s->x, sink));
}

static et_expr score_of(et_sema *s, const et_call *c) {
    et_exprs *x = s->x;
    double scale = c->kw[SCALE].f, cap = c->kw[SOFTCAP].f;
    et_expr qk = et_arg(x, ET_ARG_QK, ET_T_F32);
    if (!c->kw[SOFTCAP].given) return et_mul(x, qk, et_float(x, scale));
    return et_mul(x, et_op1(x, ET_X_TANH, et_mul(x, qk, et_float(x, scale / cap))),
                  et_float(x, cap));
}

bool et_lower_attention(et_sema *s, const et_call *c, et_elem *out) {
    if (!check_cache(s, c) || !check_options(s, c)) return false;
    et_exprs *x = s->x;
    const et_shape *q = shape_of(s, c, 0), *k = shape_of(s, c, 1);
    const et_expr extent[] = {q->dim[0], q->dim[1], k->dim[2], q->dim[2]};
    int64_t var[ET_AT_VARS], heads = 1, kv_heads = 1;
    et_expr at[ET_AT_VARS];
    for (int v = 0; v < ET_AT_VARS; v++) {
        var[v] = et_graph_var(s->graph, (char[]){"ihpd"[v], 0}, extent[v]);
        at[v] = et_var(x, (int)var[v]);
    }
    et_is_int(x, q->dim[1], &heads);
    et_is_int(x, k->dim[1], &kv_heads);
    et_expr last = clamp(x, load(s, c, 4, at), -1, k->dim[2]), end = et_add(x, last, et_int(x, 1));
    et_expr row[] = {clamp(x, load(s, c, 3, at), 0, k->dim[0]),
                     et_op2(x, ET_X_IDIV, at[ET_AT_H], et_int(x, heads / kv_heads)), at[ET_AT_P],
                     at[ET_AT_D]};
    et_expr part[ET_AT_PARTS] = {
        [ET_AT_Q] = load(s, c, 0, (et_expr[]){at[ET_AT_I], at[ET_AT_H], at[ET_AT_D]}),
        [ET_AT_K] = load(s, c, 1, row),
        [ET_AT_V] = load(s, c, 2, row),
        [ET_AT_END] = end,
        [ET_AT_SCORE] = score_of(s, c),
    };
    if (c->kw[WINDOW].given) part[ET_AT_FIRST] = et_sub(x, end, c->kw[WINDOW].size);
    if (c->kw[SINK].given) part[ET_AT_EXTRA] = load(s, c, 5, &at[ET_AT_H]);
    et_attr attr[1 + ET_AT_PARTS] = {
        {.name = "over", .kind = ET_A_VARS, .n = ET_AT_VARS, .ints = var}};
    int nattr = 1, nargs = 5;
    for (int i = 0; i < ET_AT_PARTS; i++)
        if (part[i].id)
            attr[nattr++] =
                (et_attr){.name = et_attention_rows[i].name, .kind = ET_A_EXPR, .expr = part[i]};
    et_value args[6];
    memcpy(args, c->value, 5 * sizeof *args);
    if (c->kw[SINK].given) args[nargs++] = c->kw[SINK].value;
    return et_sema_node(s, &et_op_attention, c->loc, nargs, args, nattr, attr, out);
}
