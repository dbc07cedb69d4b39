/* Arithmetic of integer expressions, kept in range and small, and of numbers known now. */
#include "ir/expr/scalar.h"
#include "frontend/sema/sema.h"
#include <math.h>

enum { MAX_INT_NODES = 64 }; /* products of longer sums would multiply without end */

static int count_nodes(const et_exprs *x, et_expr e, int room) {
    const et_node_x *n = et_x(x, e);
    int count = 1;
    for (int i = 0; i < n->nops && count <= room; i++)
        count += count_nodes(x, n->ops[i], room - count);
    return count;
}

static bool in_range(et_xop op, int64_t alo, int64_t ahi, int64_t blo, int64_t bhi) {
    __int128 v[4] = {alo, ahi, alo, ahi}, w[4] = {blo, blo, bhi, bhi};
    for (int i = 0; i < 4; i++) {
        __int128 r = op == ET_X_ADD   ? v[i] + w[i]
                     : op == ET_X_SUB ? v[i] - w[i]
                     : op == ET_X_MUL ? v[i] * w[i]
                                      : 0;
        if (r > ET_MAX_INT || r < -ET_MAX_INT) return false;
    }
    return true;
}

bool et_scalar_int(et_sema *s, et_loc loc, et_xop op, et_expr a, et_expr b, et_expr *out) {
    int64_t alo, ahi, blo, bhi;
    et_span(s->x, a, &alo, &ahi); /* what is random has no bounds, but these */
    et_span(s->x, b, &blo, &bhi);
    if (op == ET_X_IDIV || op == ET_X_MOD) {
        const char *where;
        if (blo == 0 && bhi == 0) return et_sema_error(s, loc, "division by zero");
        if (blo < 1 && et_find_zero(s->x, b, &where) == ET_ZERO_AT)
            return et_sema_error(s, loc, "division by zero: the divisor %s is 0 where %s",
                                 et_sema_text(s, b), where);
        if (blo < 1)
            return et_sema_error(s, loc, "the divisor %s may be zero or negative",
                                 et_sema_text(s, b));
    }
    if (!in_range(op, alo, ahi, blo, bhi))
        return et_sema_error(s, loc, "this integer may go beyond %lld", (long long)ET_MAX_INT);
    *out = et_op2(s->x, op, a, b);
    if (count_nodes(s->x, *out, MAX_INT_NODES) > MAX_INT_NODES)
        return et_sema_error(s, loc, "integer expression of more than %d parts", MAX_INT_NODES);
    return true;
}

/* What is computed of a finite A is finite, and a number in any case: no infinity comes about that
 * nobody wrote. */
static bool result(et_sema *s, et_loc loc, double a, double v, double *out) {
    if (isnan(v) && !isfinite(a)) return et_sema_error(s, loc, "the result is not a number");
    if (!isfinite(v) && isfinite(a))
        return et_sema_error(s, loc, "the result is not a finite number");
    *out = v;
    return true;
}

bool et_scalar_fold1(et_sema *s, et_loc loc, et_xop op, double a, double *out, bool *out_folded) {
    et_function *of = et_function_of(op);
    *out_folded = of || op == ET_X_NEG || op == ET_X_ABS;
    if (!*out_folded) return true;
    return result(s, loc, a, of ? of(a) : op == ET_X_NEG ? -a : fabs(a), out);
}

bool et_scalar_fold2(et_sema *s, et_loc loc, et_xop op, double a, double b, double *out,
                     bool *out_folded) {
    double of = isfinite(a) ? b : a; /* the one that is infinite, if one is */
    *out_folded = true;
    switch (op) {
    case ET_X_ADD:
        return result(s, loc, of, a + b, out);
    case ET_X_SUB:
        return result(s, loc, of, a - b, out);
    case ET_X_MUL:
        return result(s, loc, of, a * b, out);
    case ET_X_DIV:
        if (b == 0) return et_sema_error(s, loc, "division by zero");
        return result(s, loc, of, a / b, out);
    case ET_X_POW:
        return result(s, loc, of, pow(a, b), out);
    case ET_X_MIN:
        return result(s, loc, of, fmin(a, b), out);
    case ET_X_MAX:
        return result(s, loc, of, fmax(a, b), out);
    default:
        *out_folded = false;
        return true;
    }
}
