/* Which right operands are codes times a scale. */
#include "ir/weights/scaled.h"
#include <math.h>

enum { EXACT = 256 }; /* integers up to it are bf16 */

struct codes {
    const et_program *p;
    et_exprs *x;
    et_same_fn *is_same;
    const void *ctx;
};

static et_dtype dtype_of(const struct codes *c, et_expr load) {
    return c->p->tensors[et_x(c->x, load)->i].shape.dtype;
}

static bool is_load(const struct codes *c, et_expr e) {
    const et_node_x *x = et_x(c->x, e);
    return x->op == ET_X_LOAD && x->i2 == ET_LOAD_TENSOR;
}

static bool same(const struct codes *c, et_expr e) {
    return c->is_same(c->ctx, e);
}

/* Integers that are far from any limit, or LIMIT where they may not be. */
enum { LIMIT = 1 << 20 };

/* How far from zero values of a type of codes may be, or as many bits go where that is more. */
static int64_t reach_of(et_dtype t) {
    double most = (1 << et_dtype_bits(t)) - 1;
    for (uint32_t code = 0; code < 1u << et_dtype_bits(t); code++)
        most = fmax(most, fabs(etrt_element((int)t, &code, 0))); /* but for NaN */
    return most < LIMIT ? (int64_t)most : LIMIT;
}

/* How far from zero an integer may be. */
static int64_t reach(const struct codes *c, et_expr e) {
    et_node_x x = *et_x(c->x, e);
    int64_t lo, hi, a, b, all;
    if (is_load(c, e) && et_dtype_is_code(dtype_of(c, e))) return reach_of(dtype_of(c, e));
    if (x.op == ET_X_TO_I32) return reach(c, x.ops[0]);
    if (x.op == ET_X_ADD || x.op == ET_X_SUB || x.op == ET_X_MUL) {
        a = reach(c, x.ops[0]);
        b = reach(c, x.ops[1]);
        all = x.op == ET_X_MUL ? a * b : a + b;
        return all < LIMIT ? all : LIMIT;
    }
    et_span(c->x, e, &lo, &hi);
    return lo <= -LIMIT || hi >= LIMIT ? LIMIT : hi > -lo ? hi : -lo;
}

static bool is_small(const struct codes *c, et_expr e) {
    return et_x(c->x, e)->type == ET_T_I32 && reach(c, e) <= EXACT;
}

/* ---- what can be ---- */

static bool fits(et_dtype t) {
    return t == ET_BF16 || et_dtype_is_code(t);
}

/* E without conversions that change nothing of what fits eight bits. */
static et_expr inside(const struct codes *c, et_expr e) {
    const et_node_x *x = et_x(c->x, e);
    while (x->op == ET_X_TO_BF16 || x->op == ET_X_TO_F32 || x->op == ET_X_TO_I32) {
        bool whole = et_x(c->x, x->ops[0])->type == ET_T_I32;
        if (x->op != ET_X_TO_BF16 && !whole) break;
        e = x->ops[0], x = et_x(c->x, e);
    }
    return e;
}

/* Is E, which is the same for all k's, a bf16 whatever it is made of? */
static bool is_scale(const struct codes *c, et_expr e) {
    e = inside(c, e);
    return is_load(c, e) ? fits(dtype_of(c, e)) : is_small(c, e);
}

/* Is E a load of codes, of few bits, times a power of two that moves them above those of T? */
static bool is_high(const struct codes *c, et_expr e, et_dtype t, et_scaled *out) {
    et_node_x x = *et_x(c->x, inside(c, e));
    int64_t by;
    if (x.op != ET_X_MUL) return false;
    int at = et_is_int(c->x, x.ops[0], &by) ? 0 : 1;
    et_expr load = inside(c, x.ops[!at]);
    if (!et_is_int(c->x, x.ops[at], &by) || by != INT64_C(1) << et_dtype_bits(t) ||
        !is_load(c, load) || same(c, load) || !et_dtype_is_code(dtype_of(c, load)) ||
        et_dtype_bits(dtype_of(c, load)) >= et_dtype_bits(t))
        return false;
    out->high = load;
    out->shift = et_dtype_bits(t);
    return true;
}

/* E as codes in two planes. */
static bool of_planes(const struct codes *c, et_node_x x, et_scaled *out) {
    for (int at = 0; at < 2 && x.op == ET_X_ADD && !out->high.id; at++) {
        et_expr low = inside(c, x.ops[at]);
        if (!is_load(c, low) || same(c, low) || !et_dtype_is_code(dtype_of(c, low)) ||
            !is_high(c, x.ops[!at], dtype_of(c, low), out))
            continue;
        out->load = low;
        return true;
    }
    return false;
}

/* E as a load of codes and small integers added to it. */
static bool sum_of(const struct codes *c, et_expr e, et_scaled *out) {
    e = inside(c, e);
    et_node_x x = *et_x(c->x, e);
    int64_t n;
    if (is_load(c, e)) {
        out->load = e;
        return et_dtype_is_code(dtype_of(c, e)) && !same(c, e);
    }
    if ((x.op != ET_X_ADD && x.op != ET_X_SUB) || !is_small(c, e)) return false;
    if (of_planes(c, x, out)) return true;
    int at = x.op == ET_X_ADD && same(c, x.ops[0]) ? 0 : 1;
    et_expr add = x.ops[at];
    if (!is_small(c, add) || !same(c, add) || !sum_of(c, x.ops[!at], out)) return false;
    if (et_is_int(c->x, add, &n)) {
        out->more += x.op == ET_X_SUB ? -n : n;
        return true;
    }
    if (out->n == (int)(sizeof out->add / sizeof *out->add)) return false;
    out->less[out->n] = x.op == ET_X_SUB;
    out->add[out->n++] = add;
    return true;
}

/* E without a number that is the same for all k's of a run and is added to a product. */
static et_expr take_minimum(const struct codes *c, et_expr e, et_scaled *out) {
    et_node_x x = *et_x(c->x, e);
    if ((x.op != ET_X_ADD && x.op != ET_X_SUB) || x.type != ET_T_F32) return e;
    int at = x.op == ET_X_ADD && same(c, x.ops[0]) ? 0 : 1;
    if (!same(c, x.ops[at])) return e;
    out->plus = x.op == ET_X_SUB ? et_op1(c->x, ET_X_NEG, x.ops[at]) : x.ops[at];
    return x.ops[!at];
}

bool et_scaled_codes(const et_program *p, et_expr e, et_same_fn *is_same, const void *ctx,
                     et_scaled *out) {
    const struct codes of = {p, p->g->exprs, is_same, ctx}, *c = &of;
    *out = (et_scaled){.exact = true};
    if (et_x(c->x, e)->op == ET_X_TO_F16) e = et_x(c->x, e)->ops[0];
    e = take_minimum(c, inside(c, e), out);
    et_node_x x = *et_x(c->x, e);
    if (x.op == ET_X_MUL && x.type == ET_T_F32) {
        int at = same(c, x.ops[0]) ? 0 : 1;
        out->times = x.ops[at];
        if (!same(c, out->times)) return false;
        out->exact = !out->plus.id && is_scale(c, out->times);
        e = x.ops[!at];
    }
    if (out->plus.id && !out->times.id) return false;
    return sum_of(c, e, out) && out->more >= -EXACT && out->more <= EXACT;
}

/* ---- for costs ---- */

struct runs {
    const et_exprs *x;
    int kvar, run;
};

/* Numbers of k appear in E only divided by such as the run divides. */
static bool in_runs(const void *ctx, et_expr e) {
    const struct runs *r = ctx;
    et_node_x x = *et_x(r->x, e);
    int64_t by;
    if (!et_expr_has_var(r->x, e, r->kvar)) return true;
    if (x.op == ET_X_VAR) return false;
    if (x.op == ET_X_IDIV && et_is_int(r->x, x.ops[1], &by) && by > 0 && by % r->run == 0)
        return true;
    for (int i = 0; i < x.nops; i++)
        if (!in_runs(r, x.ops[i])) return false;
    return true;
}

static et_dtype code_of(const et_program *p, const et_scaled *s) {
    return p->tensors[et_x(p->g->exprs, s->load)->i].shape.dtype;
}

/* What is the same for runs of 64 is for those of 32 and of 16. */
int et_scaled_bits(const et_program *p, et_expr e, int kvar, bool *out_plain, int *out_bare) {
    struct runs of = {p->g->exprs, kvar, 64};
    et_scaled s;
    *out_plain = false;
    *out_bare = 0;
    while (!et_scaled_codes(p, e, in_runs, &of, &s)) {
        of.run /= 2;
        if (of.run < 16) return 0;
    }
    et_dtype t = code_of(p, &s);
    if (s.high.id) return 0;
    *out_plain = of.run == 64 && !s.n && !s.more && t == ET_E4M3;
    if (of.run >= 32) *out_bare = et_dtype_bits(t);
    return s.exact && (t == ET_E4M3 || t == ET_E2M1 || t == ET_I4 || t == ET_U4) ? et_dtype_bits(t)
                                                                                 : 0;
}
