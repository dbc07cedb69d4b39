/* Integer simplification. A sum is kept as a linear combination of terms (products of atoms, sorted
 * by id) plus a constant; floor division and modulo split off what divides exactly. */
#include "ir/base/diag.h"
#include "ir/expr/int_ops.h"
#include "ir/expr/pool.h"

enum { MAX_TERMS = 24 };

struct linear {
    int n;
    et_expr term[MAX_TERMS];
    int64_t coef[MAX_TERMS];
    int64_t k;
    bool overflow; /* more terms than fit, or a coefficient beyond int64: leave the node as it is */
};

/* The terms are left as they are: there is room for many, and few are used. */
static void clear(struct linear *l) {
    l->n = 0;
    l->k = 0;
    l->overflow = false;
}

static int64_t quotient(int64_t a, int64_t b) {
    return et_int_value(ET_X_IDIV, a, b);
}

static et_expr raw(et_exprs *p, et_xop op, et_expr a, et_expr b) {
    return et_intern(p,
                     &(et_node_x){.op = op, .type = ET_T_I32, .nops = 2, .ops = (et_expr[]){a, b}});
}

static void add_term(et_exprs *p, struct linear *l, et_expr t, int64_t c) {
    int at = 0;
    while (at < l->n && et_expr_order(p, l->term[at], t) < 0)
        at++;
    if (at < l->n && l->term[at].id == t.id) {
        if (!etrt_int_add(l->coef[at], c, &l->coef[at])) l->overflow = true;
        if (l->coef[at]) return;
        for (l->n--; at < l->n; at++) {
            l->term[at] = l->term[at + 1];
            l->coef[at] = l->coef[at + 1];
        }
        return;
    }
    if (c == 0) return;
    if (l->n == MAX_TERMS) {
        l->overflow = true;
        return;
    }
    for (int i = l->n++; i > at; i--) {
        l->term[i] = l->term[i - 1];
        l->coef[i] = l->coef[i - 1];
    }
    l->term[at] = t;
    l->coef[at] = c;
}

/* l += c * e */
static void collect(et_exprs *p, struct linear *l, et_expr e, int64_t c) {
    if (l->overflow) return; /* sums that share parts would be walked once per path */
    const et_node_x *x = et_x_in(p, e);
    int64_t v;
    if (x->op == ET_X_INT) {
        if (!etrt_int_mul(x->n, c, &v) || !etrt_int_add(l->k, v, &l->k)) l->overflow = true;
    } else if (x->op == ET_X_ADD) {
        et_expr a = x->ops[0], b = x->ops[1];
        collect(p, l, a, c);
        collect(p, l, b, c);
    } else if (x->op == ET_X_MUL && et_is_int(p, x->ops[1], &v)) {
        if (!etrt_int_mul(v, c, &v))
            l->overflow = true;
        else
            collect(p, l, x->ops[0], v);
    } else {
        add_term(p, l, e, c);
    }
}

static et_expr build(et_exprs *p, const struct linear *l) {
    et_expr sum = ET_NO_EXPR;
    for (int i = 0; i < l->n; i++) {
        et_expr t =
            l->coef[i] == 1 ? l->term[i] : raw(p, ET_X_MUL, l->term[i], et_int(p, l->coef[i]));
        sum = sum.id ? raw(p, ET_X_ADD, sum, t) : t;
    }
    if (!sum.id) return et_int(p, l->k);
    return l->k ? raw(p, ET_X_ADD, sum, et_int(p, l->k)) : sum;
}

/* Bounds of what build() would make, without the nodes. */
static bool bounds_of(const et_exprs *p, const struct linear *l, int64_t *out_lo, int64_t *out_hi) {
    et_range sum = {0, 0}, t;
    if (l->k == ET_UNKNOWN) return false;
    for (int i = 0; i < l->n; i++) {
        et_range by = {l->coef[i], l->coef[i]};
        if (l->coef[i] == ET_UNKNOWN || !et_bounds(p, l->term[i], &t.lo, &t.hi) ||
            (by.lo != 1 && !et_range_apply(ET_X_MUL, t, by, &t)) ||
            !et_range_apply(ET_X_ADD, sum, t, &sum))
            return false;
    }
    if (!et_range_apply(ET_X_ADD, sum, (et_range){l->k, l->k}, &sum)) return false;
    *out_lo = sum.lo;
    *out_hi = sum.hi;
    return true;
}

/* ---- products ---- */

/* A tensor has no more than 2^40 elements, so that no more of its dims multiply that are not 1. */
enum { MAX_FACTORS = 40 };

/* Factors of a term (a left-leaning chain of MUL over non-constant atoms). */
static int factors(et_exprs *p, et_expr t, et_expr f[MAX_FACTORS]) {
    int n = 0;
    const et_node_x *x = et_x_in(p, t);
    while (x->op == ET_X_MUL && n < MAX_FACTORS - 1) {
        f[n++] = x->ops[1];
        t = x->ops[0];
        x = et_x_in(p, t);
    }
    f[n++] = t;
    return n;
}

static et_expr product(et_exprs *p, et_expr *f, int n) {
    for (int i = 1; i < n; i++)
        for (int j = i; j > 0 && et_expr_order(p, f[j - 1], f[j]) > 0; j--) {
            et_expr t = f[j];
            f[j] = f[j - 1];
            f[j - 1] = t;
        }
    et_expr e = f[0];
    for (int i = 1; i < n; i++)
        e = raw(p, ET_X_MUL, e, f[i]);
    return e;
}

static et_expr mul_terms(et_exprs *p, et_expr a, et_expr b) {
    et_expr f[2 * MAX_FACTORS];
    int n = factors(p, a, f);
    n += factors(p, b, f + n);
    return product(p, f, n);
}

static et_expr mul(et_exprs *p, et_expr a, et_expr b) {
    struct linear x, y, z;
    clear(&x);
    clear(&y);
    clear(&z);
    collect(p, &x, a, 1);
    collect(p, &y, b, 1);
    if (x.overflow || y.overflow || (x.n + 1) * (y.n + 1) > MAX_TERMS)
        return raw(p, ET_X_MUL, a, b);
    for (int i = 0; i <= x.n; i++)
        for (int j = 0; j <= y.n; j++) {
            int64_t c;
            if (!etrt_int_mul(i < x.n ? x.coef[i] : x.k, j < y.n ? y.coef[j] : y.k, &c))
                return raw(p, ET_X_MUL, a, b);
            if (i < x.n && j < y.n)
                add_term(p, &z, mul_terms(p, x.term[i], y.term[j]), c);
            else if (i < x.n)
                add_term(p, &z, x.term[i], c);
            else if (j < y.n)
                add_term(p, &z, y.term[j], c);
            else if (!etrt_int_add(z.k, c, &z.k))
                z.overflow = true;
        }
    return z.overflow ? raw(p, ET_X_MUL, a, b) : build(p, &z);
}

/* ---- comparison ---- */

static int64_t gcd(int64_t a, int64_t b) { /* of two that are not negative */
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

/* floor(x / c) - floor(y / d) + k >= 0, where C = u * c = v * d, follows from
 * v * y <= u * x + u - 1 + k * C; and m * floor(y / (m * d)) is no more than floor(y / d). */
static bool prove_quotients(et_exprs *p, const struct linear *d) {
    if (d->n != 2) return false;
    int plus = d->coef[0] == 1 ? 0 : 1;
    const et_node_x *x = et_x_in(p, d->term[plus]), *y = et_x_in(p, d->term[!plus]);
    int64_t c, other, u, v, k, m = d->coef[!plus];
    if (d->coef[plus] != 1 || m >= 0 || x->op != ET_X_IDIV || y->op != ET_X_IDIV ||
        !et_is_int(p, x->ops[1], &c) || !et_is_int(p, y->ops[1], &other) || c < 1 || other < 1 ||
        other % m)
        return false;
    other /= -m;
    u = other / gcd(c, other);
    v = c / gcd(c, other);
    struct linear l;
    clear(&l);
    if (!etrt_int_mul(u, c, &k) || !etrt_int_mul(d->k, k, &k) || !etrt_int_add(k, u - 1, &l.k))
        return false;
    collect(p, &l, x->ops[0], u);
    collect(p, &l, y->ops[0], -v);
    return !l.overflow && et_prove_le(p, et_int(p, 0), build(p, &l));
}

/* m * c * floor(x / c) lies between m * (x - c + 1) and m * x: D with the first such term replaced
 * by the end that makes it smaller. */
static bool prove_without_quotient(et_exprs *p, const struct linear *d) {
    for (int i = 0; i < d->n; i++) {
        const et_node_x *x = et_x_in(p, d->term[i]);
        int64_t c, k;
        if (x->op != ET_X_IDIV || !et_is_int(p, x->ops[1], &c) || c < 1 || d->coef[i] % c) continue;
        struct linear r = *d;
        int64_t m = d->coef[i] / c;
        add_term(p, &r, d->term[i], -d->coef[i]);
        collect(p, &r, x->ops[0], m);
        if (m > 0 && (!etrt_int_mul(m, c - 1, &k) || !etrt_int_sub(r.k, k, &r.k))) return false;
        return !r.overflow && et_prove_le(p, et_int(p, 0), build(p, &r));
    }
    return false;
}

bool et_prove_le(et_exprs *p, et_expr a, et_expr b) {
    struct linear d;
    clear(&d);
    if (et_may_wrap(p, a) || et_may_wrap(p, b)) return false;
    collect(p, &d, b, 1);
    collect(p, &d, a, -1);
    if (d.overflow) return false;
    if (prove_quotients(p, &d) || prove_without_quotient(p, &d)) return true;
    /* The least value of b - a: variables at the end of their range that makes it smallest, whose
     * extents may themselves be symbolic and cancel. */
    for (int pass = 0; pass < 8; pass++) {
        int at = 0;
        while (at < d.n && et_x_in(p, d.term[at])->op != ET_X_VAR)
            at++;
        if (at == d.n) break;
        int64_t c = d.coef[at];
        et_expr extent = et_var_extent(p, et_x_in(p, d.term[at])->i);
        add_term(p, &d, d.term[at], -c);
        if (c < 0) {
            collect(p, &d, extent, c);
            if (!etrt_int_sub(d.k, c, &d.k)) return false;
        }
        if (d.overflow) return false;
    }
    int64_t lo, hi;
    return bounds_of(p, &d, &lo, &hi) && lo >= 0;
}

/* ---- division ---- */

/* e = q * d + r with r holding the terms that do not divide. */
static bool split(et_exprs *p, et_expr e, et_expr d, et_expr *out_q, et_expr *out_r) {
    struct linear x, q, r;
    clear(&x);
    clear(&q);
    clear(&r);
    collect(p, &x, e, 1);
    if (x.overflow) return false;
    int64_t dc;
    if (et_is_int(p, d, &dc)) {
        for (int i = 0; i < x.n; i++)
            if (x.coef[i] % dc == 0)
                add_term(p, &q, x.term[i], x.coef[i] / dc);
            else
                add_term(p, &r, x.term[i], x.coef[i]);
        q.k = quotient(x.k, dc);
        r.k = et_int_value(ET_X_MOD, x.k, dc);
    } else {
        struct linear y;
        clear(&y);
        collect(p, &y, d, 1);
        if (y.overflow || y.n != 1 || y.k != 0 || y.coef[0] < 1) return false;
        et_expr df[MAX_FACTORS];
        int nd = factors(p, y.term[0], df);
        for (int i = 0; i < x.n; i++) {
            et_expr f[MAX_FACTORS];
            int nf = factors(p, x.term[i], f), found = 0;
            for (int j = 0; j < nd; j++)
                for (int k = 0; k < nf; k++)
                    if (f[k].id == df[j].id) {
                        f[k] = f[--nf];
                        found++;
                        break;
                    }
            if (found < nd || x.coef[i] % y.coef[0])
                add_term(p, &r, x.term[i], x.coef[i]);
            else if (nf)
                add_term(p, &q, product(p, f, nf), x.coef[i] / y.coef[0]);
            else if (!etrt_int_add(q.k, x.coef[i] / y.coef[0], &q.k))
                q.overflow = true;
        }
        r.k = x.k;
    }
    *out_q = build(p, &q);
    *out_r = build(p, &r);
    return !q.overflow && !r.overflow;
}

static et_expr min_max(et_exprs *p, et_xop op, et_expr a, et_expr b);

/* floor((g * A + k) / (g * B)) = floor((A + floor(k / g)) / B): *A and *B without what all of the
 * divisor and all of the dividend but its constant can be divided by, if there is anything. */
static bool reduce(et_exprs *p, et_expr *a, et_expr *b) {
    struct linear x, y;
    clear(&x);
    clear(&y);
    int64_t lo, hi;
    collect(p, &x, *a, 1);
    collect(p, &y, *b, 1);
    if (x.overflow || y.overflow || !et_bounds(p, *a, &lo, &hi)) return false;
    int64_t g = y.k < 0 ? -y.k : y.k;
    for (int i = 0; i < x.n + y.n; i++) {
        int64_t c = i < x.n ? x.coef[i] : y.coef[i - x.n];
        g = gcd(g, c < 0 ? -c : c);
    }
    if (g < 2) return false;
    for (int i = 0; i < x.n; i++)
        x.coef[i] /= g;
    for (int i = 0; i < y.n; i++)
        y.coef[i] /= g;
    x.k = quotient(x.k, g);
    y.k /= g;
    *a = build(p, &x);
    *b = build(p, &y);
    return true;
}

/* (g * A + k) mod (g * c) = (g * A + k - t) mod (g * c) + t, where t is k mod g: *A without that,
 * and t, which is 0 where there is no such g. */
static int64_t rest_of(et_exprs *p, et_expr *a, int64_t c) {
    struct linear x;
    clear(&x);
    collect(p, &x, *a, 1);
    if (x.overflow || !x.n) return 0;
    int64_t g = c;
    for (int i = 0; i < x.n; i++) {
        if (x.coef[i] == INT64_MIN) return 0;
        g = gcd(g, x.coef[i] < 0 ? -x.coef[i] : x.coef[i]);
    }
    int64_t t = et_int_value(ET_X_MOD, x.k, g);
    if (!t || !etrt_int_sub(x.k, t, &x.k)) return 0;
    et_expr less = build(p, &x);
    if (et_may_wrap(p, less)) return 0;
    *a = less;
    return t;
}

static et_expr div_mod(et_exprs *p, et_xop op, et_expr a, et_expr b) {
    int64_t x, y, lo, hi;
    bool constant = et_is_int(p, b, &y);
    if (constant && y == 0)
        return raw(p, op, a, b); /* never evaluated; the front end has reported it */
    if (constant && et_is_int(p, a, &x)) return et_int(p, et_int_value(op, x, y));
    if (constant && y == 1) return op == ET_X_IDIV ? a : et_int(p, 0);
    if (et_may_wrap(p, a) || et_may_wrap(p, b)) return raw(p, op, a, b);
    if (constant ? y < 0 : !et_bounds(p, b, &lo, &hi) || lo < 1) return raw(p, op, a, b);
    int64_t blo, bhi;
    if (op == ET_X_IDIV && et_bounds(p, a, &lo, &hi) && et_bounds(p, b, &blo, &bhi) && blo == bhi &&
        quotient(lo, blo) == quotient(hi, blo))
        return et_int(p, quotient(lo, blo));
    const et_node_x *ax = et_x_in(p, a);
    if (constant && op == ET_X_IDIV && (ax->op == ET_X_MIN || ax->op == ET_X_MAX)) {
        et_expr u = ax->ops[0], v = ax->ops[1];
        return min_max(p, ax->op, div_mod(p, op, u, b), div_mod(p, op, v, b));
    }
    et_expr q, r;
    if (!split(p, a, b, &q, &r)) return raw(p, op, a, b);
    if (et_bounds(p, a, &lo, &hi) && !et_bounds(p, r, &lo, &hi)) return raw(p, op, a, b);
    if (et_may_wrap(p, q) || et_may_wrap(p, r)) return raw(p, op, a, b);
    if (et_prove_le(p, et_int(p, 0), r) && et_prove_le(p, et_add(p, r, et_int(p, 1)), b))
        return op == ET_X_IDIV ? q : r;
    if (op == ET_X_MOD) {
        int64_t t = constant ? rest_of(p, &r, y) : 0;
        return et_add(p, raw(p, op, r, b), et_int(p, t));
    }
    if (reduce(p, &r, &b)) return et_add(p, q, div_mod(p, op, r, b));
    const et_node_x *rx = et_x_in(p, r);
    int64_t z;
    if (constant && rx->op == ET_X_IDIV && et_is_int(p, rx->ops[1], &z) && z > 0 &&
        z < INT64_MAX / y)
        return et_add(p, q, div_mod(p, op, rx->ops[0], et_int(p, z * y)));
    int64_t none;
    if (et_is_int(p, q, &none) && none == 0) return raw(p, op, r, b);
    return et_add(p, q, div_mod(p, op, r, b)); /* its bounds may decide the rest */
}

static et_expr min_max(et_exprs *p, et_xop op, et_expr a, et_expr b) {
    if (et_prove_le(p, a, b)) return op == ET_X_MIN ? a : b;
    if (et_prove_le(p, b, a)) return op == ET_X_MIN ? b : a;
    return et_expr_order(p, a, b) < 0 ? raw(p, op, a, b) : raw(p, op, b, a);
}

et_expr et_int_op2(et_exprs *p, et_xop op, et_expr a, et_expr b) {
    struct linear l;
    clear(&l);
    switch (op) {
    case ET_X_ADD:
    case ET_X_SUB:
        collect(p, &l, a, 1);
        collect(p, &l, b, op == ET_X_ADD ? 1 : -1);
        if (!l.overflow) return build(p, &l);
        return raw(p, op, a, b);
    case ET_X_MUL:
        return mul(p, a, b);
    case ET_X_IDIV:
    case ET_X_MOD:
        return div_mod(p, op, a, b);
    case ET_X_MIN:
    case ET_X_MAX:
        return min_max(p, op, a, b);
    default:
        et_bug("integer operator %s", et_xop_text(op));
    }
}
