/* Do several elements of an access make one load? */
#include "ir/product/product.h"
#include "ir/weights/computed.h"

/* Bytes N elements at OFFSET are aligned to; tensors and locals start at multiples of 16. 0 where
 * they do not begin with a byte. */
static int alignment(const et_exprs *x, et_expr offset, int bits, int n) {
    int align = bits / 8;
    for (int k = 2; k <= n && k * bits <= 128; k *= 2)
        if (et_divides(x, k, offset)) align = k * bits / 8;
    return align;
}

/* Can N elements of BITS each be loaded at once? They are whole words, or a part of one. */
static bool one_load(int n, int bits) {
    return bits >= 16 || n * bits == 8 || n * bits == 16 || n * bits % 32 == 0;
}

struct divided {
    const et_exprs *x;
    et_expr var;
    int64_t by;
};

static void find_divided(void *ctx, et_expr e) {
    struct divided *d = ctx;
    const et_node_x *n = et_x(d->x, e);
    int64_t by;
    if ((n->op == ET_X_IDIV || n->op == ET_X_MOD) && et_expr_eq(n->ops[0], d->var) &&
        et_is_int(d->x, n->ops[1], &by) && by > 1 && by < INT32_MAX)
        d->by = by;
}

static int64_t divisor(const et_exprs *x, et_expr e, int var) {
    struct divided d = {x, et_var((et_exprs *)x, var), 0};
    et_walk(x, e, find_divided, &d);
    return d.by;
}

/* K as two digits of base BY: *OUT_LOW is the variable of the lower one. */
static et_expr digits(et_exprs *x, int64_t hi, int64_t by, int *out_low) {
    int high = et_var_add(x, "high", et_int(x, (hi + by - 1) / by));
    *out_low = et_var_add(x, "low", et_int(x, by));
    return et_add(x, et_mul(x, et_var(x, high), et_int(x, by)), et_var(x, *out_low));
}

/* E, over VAR, where both digits of that are in it, grows by one with the low one; N values from
 * BASE on differ in that alone. */
static bool grows_with_digit(et_exprs *x, et_expr e, int var, et_expr base, int n) {
    int64_t by = divisor(x, e, var), lo, hi;
    int low;
    if (!by || by % n || !et_divides(x, n, base) ||
        !et_bounds(x, et_var_extent(x, var), &lo, &hi) || hi < 1)
        return false;
    et_expr k = digits(x, hi, by, &low);
    et_expr rest = et_sub(x, et_subst_var(x, e, var, k), et_var(x, low));
    return !et_expr_has_var(x, rest, low);
}

/* Is E, where VAR is one of N values from BASE on, one more for each? Of what grows evenly two
 * tell. */
static bool contiguous(et_exprs *x, et_expr e, int var, et_expr base, int n) {
    et_expr first = et_subst_var(x, e, var, base);
    if (et_growth_of(x, e, var) <= ET_EVEN && n > 2) n = 2;
    for (int j = 1; j < n; j++) {
        int64_t d;
        et_expr at = et_subst_var(x, e, var, et_add(x, base, et_int(x, j)));
        if (!et_is_int(x, et_sub(x, at, first), &d) || d != j) return false;
    }
    return true;
}

int et_access_align(const et_program *p, const et_func *f, int space, int id, const et_expr *index,
                    int var, et_expr base, int n) {
    et_exprs *x = p->g->exprs;
    et_expr all = et_access_offset(p, f, space, id, index);
    int bits =
        et_dtype_bits(space == ET_LOAD_LOCAL ? f->locals[id].dtype : p->tensors[id].shape.dtype);
    int align = alignment(x, et_subst_var(x, all, var, base), bits, n);
    bool wide = contiguous(x, all, var, base, n) || grows_with_digit(x, all, var, base, n);
    return one_load(n, bits) && wide ? align : 0;
}

/* As it is, or where both digits of VAR make one number again. */
bool et_access_grows(et_exprs *x, et_expr off, int var, int64_t times, et_expr at0) {
    et_expr k = et_var(x, var), each = et_int(x, times);
    et_expr rest = et_sub(x, off, et_mul(x, k, each));
    if (!et_expr_has_var(x, rest, var)) return rest.id == at0.id;
    int64_t lo, hi, by = divisor(x, off, var);
    int low;
    if (!by || !et_bounds(x, et_var_extent(x, var), &lo, &hi) || hi < 1) return false;
    k = digits(x, hi, by, &low);
    rest = et_sub(x, et_subst_var(x, off, var, k), et_mul(x, k, each));
    return rest.id == at0.id;
}

/* Does a load of BY elements that begins inside of the tensor at a multiple of them, or at one of
 * the step's k's, end there? */
static bool ends_inside(et_exprs *x, const et_step *s, const et_shape *t, int by) {
    et_expr count = et_int(x, 1);
    for (int d = 0; d < t->rank; d++)
        count = et_mul(x, count, t->dim[d]);
    return et_divides(x, by, et_var_extent(x, s->kvar)) || et_divides(x, by, count);
}

bool et_access_direct(const et_program *p, const et_func *f, const et_step *s, et_expr e,
                      int lane_k) {
    et_exprs *x = p->g->exprs;
    et_node_x n = *et_x(x, e);
    if (n.op != ET_X_LOAD || n.i2 != ET_LOAD_TENSOR) return false;
    if (p->tensors[n.i].shape.dtype != s->operand) return false;
    et_expr off = et_access_offset(p, f, n.i2, n.i, n.ops);
    et_expr at0 = et_subst_var(x, off, s->kvar, et_int(x, 0));
    return et_access_grows(x, off, s->kvar, 1, at0) && et_divides(x, lane_k, at0) &&
           ends_inside(x, s, &p->tensors[n.i].shape, lane_k);
}

int et_access_grain(const et_product_cx *g, const et_mainloop *c, et_expr e) {
    enum { WORD = 4 };
    int least = g->t->copies ? WORD / c->size : c->piece;
    for (int n = c->piece; n && n >= least; n /= 2)
        if (et_access_direct(g->p, g->f, c->s, e, n)) return n * c->size;
    return 0;
}

struct across {
    const et_program *p;
    const et_func *f;
    int row, k;
    bool rows, ks; /* adjacent along either */
};

static bool is_adjacent(et_exprs *x, et_expr off, int var) {
    return et_expr_has_var(x, off, var) &&
           et_access_grows(x, off, var, 1, et_subst_var(x, off, var, et_int(x, 0)));
}

static void look_across(void *ctx, et_expr e) {
    struct across *a = ctx;
    et_exprs *x = a->p->g->exprs;
    const et_node_x n = *et_x(x, e);
    if (n.op != ET_X_LOAD || n.i2 != ET_LOAD_TENSOR) return;
    et_expr off = et_access_offset(a->p, a->f, n.i2, n.i, n.ops);
    a->rows |= is_adjacent(x, off, a->row);
    a->ks |= is_adjacent(x, off, a->k);
}

bool et_access_across(const et_program *p, const et_func *f, et_expr e, int row, int k) {
    struct across a = {.p = p, .f = f, .row = row, .k = k};
    et_walk(p->g->exprs, e, look_across, &a);
    return a.rows && !a.ks;
}
