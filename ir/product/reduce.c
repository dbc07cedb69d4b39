/* How a REDUCE step's rows may be dealt to lanes. */
#include "ir/base/diag.h"
#include "ir/product/items.h"

et_reduce_loop et_reduce_loop_of(const et_product_cx *g, const et_step *s) {
    et_reduce_loop l = {.s = s, .plan = s->reduce, .rows = 1, .places = 1};
    l.real = et_x(g->x, s->value)->type != ET_T_I32;
    l.value = l.real ? s->value : et_op1(g->x, ET_X_TO_I32, s->value);
    if (!et_is_int(g->x, s->rextent, &l.extent)) l.extent = -1;
    for (int i = 0; i < s->nvars; i++) {
        if (!et_is_int(g->x, et_var_extent(g->x, s->vars[i]), &l.row_extent[i]))
            et_bug("the extent of %s in a reduce step is not constant",
                   et_var_name(g->x, s->vars[i]));
        l.rows *= l.row_extent[i];
    }
    if (s->red == ET_RED_TOP) l.places = l.row_extent[s->nvars - 1], l.rows /= l.places;
    return l;
}

int64_t et_reduce_beside(const et_product_cx *g, int lanes) {
    return g->p->workgroup / lanes;
}

/* Of a few long rows the first ones may be the only ones that exist. */
bool et_reduce_by_workgroup(const et_product_cx *g, const et_reduce_loop *l, int lanes) {
    const et_step *s = l->s;
    if (!s->mask.id || s->nvars != 1 || s->red >= ET_RED_ARGMAX || lanes != g->p->workgroup ||
        lanes == g->t->wave)
        return false;
    const et_node_x *mask = et_x(g->x, s->mask);
    return l->rows > 1 && l->rows <= ET_REDUCE_ROWS && mask->op == ET_X_LT &&
           et_expr_eq(mask->ops[0], et_var(g->x, s->vars[0])) &&
           !et_expr_has_var(g->x, mask->ops[1], s->vars[0]);
}

/* Places of a row are found one after the other, by a wave or less, or by all waves for each row.
 */
static bool may_share(const et_product_cx *g, const et_reduce_loop *l, int lanes) {
    if (l->s->red == ET_RED_TOP && lanes > g->t->wave && lanes != g->p->workgroup) return false;
    return lanes >= 1 && lanes <= g->p->workgroup && !(lanes & (lanes - 1)) &&
           (lanes <= g->t->wave || l->s->red == ET_RED_TOP ||
            et_reduce_beside(g, lanes) >= l->rows || et_reduce_by_workgroup(g, l, lanes));
}

/* ---- several rows of a lane ---- */

struct sources {
    const et_product_cx *g;
    bool lds; /* all is read from there, and of what is read and computed nothing is out of range */
};

static void find_source(void *ctx, et_expr e) {
    struct sources *q = ctx;
    const et_func *f = q->g->f;
    const et_exprs *x = q->g->x;
    const et_node_x *n = et_x(x, e);
    int64_t lo, hi;
    if (n->op == ET_X_IDIV || n->op == ET_X_MOD) q->lds &= et_is_int(x, n->ops[1], &lo);
    if (n->op != ET_X_LOAD) return;
    q->lds &= n->i2 == ET_LOAD_LOCAL && !f->locals[n->i].rows;
    for (int i = 0; i < n->nops && q->lds; i++)
        q->lds = et_bounds(x, n->ops[i], &lo, &hi) && lo >= 0 && hi < f->locals[n->i].dim[i];
}

bool et_reduce_may_all(const et_product_cx *g, const et_reduce_loop *l, int lanes) {
    struct sources q = {g, true};
    if (lanes >= g->t->wave || l->extent <= 0 || l->s->red == ET_RED_TOP ||
        l->rows % et_reduce_beside(g, lanes))
        return false;
    et_walk(g->x, l->value, find_source, &q);
    return q.lds;
}

bool et_reduce_may_rows(const et_product_cx *g, const et_reduce_loop *l, int lanes, int rows) {
    return rows == 1 ||
           (rows > 1 && rows <= ET_REDUCE_ROWS && !(rows & (rows - 1)) &&
            et_reduce_may_all(g, l, lanes) && l->rows % (rows * et_reduce_beside(g, lanes)) == 0);
}

bool et_reduce_may_wide(const et_product_cx *g, const et_reduce_loop *l, int lanes, int vector,
                        int n) {
    const et_step *s = l->s;
    int var = s->nvars ? s->vars[s->nvars - 1] : -1;
    int64_t step;
    if (n == 1) return true;
    if (n < 1 || n > ET_REDUCE_ROWS || n & (n - 1) || lanes > 1 || vector != l->extent ||
        s->red >= ET_RED_ARGMAX || var < 0 || s->to.space != ET_LOAD_LOCAL ||
        (s->mask.id && et_expr_has_var(g->x, s->mask, var)) || l->row_extent[s->nvars - 1] % n ||
        l->rows % ((int64_t)n * g->p->workgroup))
        return false;
    et_expr at = et_access_offset(g->p, g->f, s->to.space, s->to.id, s->to.index);
    et_expr next = et_subst_var(g->x, at, var, et_add(g->x, et_var(g->x, var), et_int(g->x, 1)));
    return et_is_int(g->x, et_sub(g->x, next, at), &step) && step == 1;
}

/* ---- the same order in all variants ---- */

/* May lanes sum a row as so many more would, each of which has a part of it there? */
static bool may_as(const et_product_cx *g, const et_reduce_loop *l, int lanes, int vector,
                   int unroll, int as) {
    int parts = lanes > 0 ? as / lanes : 0;
    return as == 0 || (l->real && l->s->red == ET_RED_SUM && l->extent > 0 &&
                       l->extent % vector == 0 && lanes >= g->t->wave && lanes < as &&
                       as <= g->p->workgroup && as % lanes == 0 && parts <= ET_REDUCE_PARTS &&
                       unroll % parts == 0 && !et_reduce_by_workgroup(g, l, lanes));
}

int et_reduce_lanes_alone(const et_product_cx *g, const et_reduce_loop *l, int *out_vector) {
    int v = ET_REDUCE_VECTOR, all = g->p->workgroup;
    *out_vector = 1;
    if (!l->real || l->s->red != ET_RED_SUM) return 0;
    if (l->extent < 1) return -1;
    while (l->extent % v)
        v /= 2;
    if (l->extent / v <= g->t->wave) return 0;
    while (v > 2 && l->extent / v * 2 <= all)
        v /= 2;
    *out_vector = v;
    return all;
}

const char *et_reduce_problem(const et_product_cx *g, const et_step *s) {
    const et_reduce_plan *w = &s->reduce;
    et_reduce_loop l = et_reduce_loop_of(g, s);
    if (!may_share(g, &l, w->lanes)) return "so many lanes cannot share a row";
    if (w->vector < 1 || w->vector > ET_REDUCE_VECTOR || w->vector & (w->vector - 1) ||
        (l.extent < 1 ? w->vector > 1 : l.extent % w->vector != 0))
        return "its rows do not divide into so many elements";
    if (w->unroll < 1 || w->unroll > ET_REDUCE_UNROLL) return "so much is not loaded at once";
    if (!et_reduce_may_rows(g, &l, w->lanes, w->rows))
        return "lanes cannot have so many rows at once";
    if (!may_as(g, &l, w->lanes, w->vector, w->unroll, w->as) ||
        (w->as && (w->wide > 1 || w->rows > 1)))
        return "it cannot be summed as by so many lanes";
    if (!et_reduce_may_wide(g, &l, w->lanes, w->vector, w->wide) || (w->wide > 1 && w->rows > 1))
        return "lanes cannot have so many neighbouring rows at once";
    return NULL;
}
