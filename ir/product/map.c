/* How a MAP step's iterations may be dealt to work-items. */
#include "ir/base/diag.h"
#include "ir/product/items.h"
#include "ir/program/tags.h"

static et_dtype type_of(const et_product_cx *g, int space, int id) {
    return space == ET_LOAD_LOCAL ? g->f->locals[id].dtype : g->p->tensors[id].shape.dtype;
}

et_map_loop et_map_loop_of(const et_product_cx *g, const et_step *s) {
    et_map_loop l = {.s = *s, .total = 1};
    for (int i = 0; i < s->nvars; i++) {
        if (!et_is_int(g->x, et_var_extent(g->x, s->vars[i]), &l.extent[i]))
            et_bug("the extent of %s in a map step is not constant", et_var_name(g->x, s->vars[i]));
        l.total *= l.extent[i];
    }
    if (type_of(g, s->to.space, s->to.id) == ET_I32 && et_x(g->x, s->value)->type == ET_T_I32)
        l.s.value = et_op1(g->x, ET_X_TO_I32, s->value);
    l.once = s->mask.id && !et_expr_has_vars(g->x, s->mask, s->nvars, s->vars);
    if (l.once) l.s.mask = ET_NO_EXPR;
    return l;
}

/* The mask at BASE + j, if it is the same for every j < n: independent of the variable, or a bound
 * that is a multiple of n. */
static bool same_mask(const et_product_cx *g, et_expr mask, int var, et_expr base, int n) {
    et_node_x x = *et_x(g->x, mask);
    if (!et_expr_has_var(g->x, mask, var)) return true;
    if (x.op == ET_X_AND || x.op == ET_X_OR)
        return same_mask(g, x.ops[0], var, base, n) && same_mask(g, x.ops[1], var, base, n);
    if (x.op == ET_X_NOT) return same_mask(g, x.ops[0], var, base, n);
    if (x.op != ET_X_LT || et_x(g->x, x.ops[0])->type != ET_T_I32) return false;
    int64_t step;
    et_expr a0 = et_subst_var(g->x, x.ops[0], var, base);
    et_expr a1 = et_subst_var(g->x, x.ops[0], var, et_add(g->x, base, et_int(g->x, 1)));
    return !et_expr_has_var(g->x, x.ops[1], var) && et_is_int(g->x, et_sub(g->x, a1, a0), &step) &&
           step == 1 && et_divides(g->x, n, a0) && et_divides(g->x, n, x.ops[1]);
}

/* E, over VAR, is N elements from a multiple of them on. */
static bool counts(const et_product_cx *g, et_expr e, int var, int n) {
    et_expr rest = et_sub(g->x, e, et_var(g->x, var));
    return !et_expr_has_var(g->x, rest, var) && et_divides(g->x, n, rest);
}

/* N flag-in-data words, one behind the other, and as many elements of the buffer. */
static bool may_receive(const et_product_cx *g, const et_map_loop *l, int n) {
    const et_step *s = &l->s;
    const et_local *to = &g->f->locals[s->to.id];
    const et_node_x from = *et_x(g->x, s->value);
    int bytes = et_dtype_bytes(g->p->tensors[from.i].shape.dtype), last = s->nvars - 1;
    return g->t->wide_words && !s->mask.id && !l->once && last >= 0 && l->extent[last] % n == 0 &&
           2 * bytes * n <= ET_ITEM_BYTES && to->offset % (n * bytes) == 0 &&
           counts(g, et_access_offset(g->p, g->f, ET_LOAD_TENSOR, from.i, from.ops), s->vars[last],
                  n) &&
           counts(g, et_access_offset(g->p, g->f, ET_LOAD_LOCAL, s->to.id, s->to.index),
                  s->vars[last], n);
}

bool et_map_receives(const et_product_cx *g, const et_step *s) {
    bool store;
    return et_step_tagged(g->p, s, &store) >= 0 && !store;
}

bool et_map_may_vector(const et_product_cx *g, const et_map_loop *l, int n) {
    const et_step *s = &l->s;
    int last = s->nvars - 1,
        most = ET_ITEM_BYTES / et_dtype_bytes(type_of(g, s->to.space, s->to.id));
    if (n == 1) return true;
    if (n < 1 || n & (n - 1)) return false;
    if (et_map_receives(g, s)) return may_receive(g, l, n);
    if (n > most || !s->nvars || s->tag.id || l->extent[last] % n) return false;
    int own = s->to.space == ET_LOAD_TENSOR ? g->p->tensors[s->to.id].own : 0;
    if (own && et_expr_has_var(g->x, s->to.index[own - 1], s->vars[last])) return false;
    if (!s->mask.id) return true;
    et_expr u = et_var(g->x, et_var_add(g->x, "u", et_int(g->x, l->extent[last] / n)));
    return same_mask(g, s->mask, s->vars[last], et_mul(g->x, u, et_int(g->x, n)), n);
}

/* ---- items at once ---- */

struct loads {
    const et_product_cx *g;
    const et_step *s;
    int n;
};

static void count_load(void *ctx, et_expr e) {
    struct loads *l = ctx;
    const et_node_x *n = et_x(l->g->x, e);
    l->n += n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR &&
            et_expr_has_vars(l->g->x, e, l->s->nvars, l->s->vars);
}

int et_map_loaded(const et_product_cx *g, const et_map_loop *l, int vector) {
    struct loads q = {g, &l->s, 0};
    et_walk(g->x, l->s.value, count_load, &q);
    return q.n * vector;
}

bool et_map_may_unroll(const et_product_cx *g, const et_map_loop *l, int vector, int n) {
    int64_t items = l->total / vector;
    return n == 1 || (n > 1 && n <= ET_MAP_UNROLL && !(n & (n - 1)) && !l->s.tag.id &&
                      items % ((int64_t)g->p->workgroup * n) == 0 &&
                      n * et_map_loaded(g, l, vector) <= ET_MAP_LOADED);
}

/* The conjunct of MASK that bounds rows, `... + row < rows`, with no tensor in it; and what is left
 * of MASK, or none. */
static et_expr bound_of(const et_product_cx *g, et_expr mask, int row, et_expr *rest) {
    et_node_x x = *et_x(g->x, mask);
    *rest = ET_NO_EXPR;
    if (x.op == ET_X_LT && et_expr_has_var(g->x, x.ops[0], row) &&
        !et_expr_has_var(g->x, x.ops[1], row) && !et_expr_loads(g->x, mask))
        return mask;
    if (x.op != ET_X_AND) return ET_NO_EXPR;
    for (int i = 0; i < 2; i++) {
        et_expr left, bound = bound_of(g, x.ops[i], row, &left);
        if (!bound.id) continue;
        *rest = left.id ? et_op2(g->x, ET_X_AND, left, x.ops[1 - i]) : x.ops[1 - i];
        return bound;
    }
    return ET_NO_EXPR;
}

bool et_map_may_be_full(const et_product_cx *g, const et_map_loop *l, et_expr *out_bound,
                        et_expr *out_rest) {
    const et_step *s = &l->s;
    int64_t step;
    if (!s->mask.id || !s->nvars || s->tag.id) return false;
    int row = s->vars[0];
    *out_bound = bound_of(g, s->mask, row, out_rest);
    if (!out_bound->id) return false;
    const et_expr at = et_x(g->x, *out_bound)->ops[0];
    et_expr first = et_subst_var(g->x, at, row, et_int(g->x, 0));
    if (!et_is_int(g->x, et_sub(g->x, et_sub(g->x, at, first), et_var(g->x, row)), &step) || step)
        return false;
    return !et_expr_has_vars(g->x, first, s->nvars, s->vars);
}

/* ---- before the waits of a tile ---- */

/* The elements from memory in its order, ET_ITEM_BYTES at a time. */
static bool is_copy(const et_product_cx *g, const et_step *s) {
    const et_node_x from = *et_x(g->x, s->value);
    int64_t n, step;
    if (s->mask.id || s->tag.id || s->nvars != 1 || s->to.space != ET_LOAD_LOCAL ||
        from.op != ET_X_LOAD || from.i2 != ET_LOAD_TENSOR ||
        et_reads_stored(g->x, s->value, g->stored) ||
        !et_is_int(g->x, et_var_extent(g->x, s->vars[0]), &n))
        return false;
    et_dtype t = g->p->tensors[from.i].shape.dtype;
    int each = et_dtype_bits(t) < 8 ? 0 : ET_ITEM_BYTES / et_dtype_bytes(t);
    if (!each || n % each || t != g->f->locals[s->to.id].dtype) return false;
    et_expr at[] = {et_access_offset(g->p, g->f, from.i2, from.i, from.ops),
                    et_access_offset(g->p, g->f, s->to.space, s->to.id, s->to.index)};
    for (int i = 0; i < 2; i++) {
        et_expr first = et_subst_var(g->x, at[i], s->vars[0], et_int(g->x, 0));
        et_expr second = et_subst_var(g->x, at[i], s->vars[0], et_int(g->x, 1));
        if (!et_is_int(g->x, et_sub(g->x, second, first), &step) || step != 1 ||
            et_expr_has_var(g->x, et_sub(g->x, at[i], et_var(g->x, s->vars[0])), s->vars[0]) ||
            !et_divides(g->x, each, first))
            return false;
    }
    return true;
}

/* Copies are waited for before the first product behind them; no step before them has the buffer.
 */
bool et_map_may_copy(const et_product_cx *g, const et_step *s) {
    const et_func *f = g->f;
    int at = (int)(s - f->steps);
    bool product = false;
    if (!g->t->copies || !is_copy(g, s)) return false;
    for (int i = at; i < f->nsteps; i++)
        product |= f->steps[i].kind == ET_STEP_CONTRACT;
    for (int i = 0; i < at; i++) {
        const et_place *to = et_step_to(&f->steps[i]);
        if (f->steps[i].kind == ET_STEP_CONTRACT ||
            (to && to->space == ET_LOAD_LOCAL && to->id == s->to.id))
            return false;
    }
    return product;
}

int et_map_early_rounds(const et_product_cx *g, const et_map_loop *l, int vector) {
    int64_t turns = (l->total / vector + g->p->workgroup - 1) / g->p->workgroup;
    bool room = turns == 1 || turns * et_map_loaded(g, l, vector) <= ET_MAP_LOADED;
    return l->s.tag.id || turns > ET_MAP_ROUNDS || !room ? 0 : (int)turns;
}

const char *et_map_problem(const et_product_cx *g, const et_step *s) {
    const et_map_plan *w = &s->map;
    et_map_loop l = et_map_loop_of(g, s);
    et_expr bound, rest;
    if (w->early == ET_MAP_EARLY_COPY) {
        if (!et_map_may_copy(g, s)) return "it is no copy of weights that a product waits for";
        return w->vector * et_dtype_bytes(type_of(g, s->to.space, s->to.id)) == ET_ITEM_BYTES
                   ? NULL
                   : "copies are of 16 bytes";
    }
    if (!et_map_may_vector(g, &l, w->vector)) return "its rows do not divide into such items";
    if (w->early == ET_MAP_EARLY_LOADS)
        return !et_map_early_rounds(g, &l, w->vector)
                   ? "a work-item has too many items to load early"
               : w->unroll > 1 || w->full ? "what is loaded early is not unrolled"
                                          : NULL;
    if (w->full && !et_map_may_be_full(g, &l, &bound, &rest))
        return "no tile's rows are all known to exist";
    if (!et_map_may_unroll(g, &l, w->vector, w->unroll) ||
        (w->full && !et_map_may_unroll(g, &l, w->vector, w->full)))
        return "so many items are not at once in registers, or not whole in number";
    return NULL;
}
