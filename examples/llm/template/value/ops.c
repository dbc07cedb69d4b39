/* ops.c - arithmetic, comparisons and membership, with Python's meaning. Integers have 64 bits: a
 * result beyond that is an error. */
#include "examples/llm/template/value/utf8.h"
#include "examples/llm/template/value/vm.h"
#include <math.h>
#include <string.h>

static const char *const signs[] = {
    [OP_ADD] = "+",       [OP_SUB] = "-", [OP_MUL] = "*",           [OP_DIV] = "/",
    [OP_FLOORDIV] = "//", [OP_MOD] = "%", [OP_POW] = "** or pow()", [OP_EQ] = "==",
    [OP_NE] = "!=",       [OP_LT] = "<",  [OP_LE] = "<=",           [OP_GT] = ">",
    [OP_GE] = ">=",       [OP_IN] = "in", [OP_NOT_IN] = "not in",
};

static _Noreturn void unsupported(jt_vm *vm, jt_op op, jt_value a, jt_value b) {
    if (a.kind == JT_UNDEFINED) jt_fail_undefined(vm, a);
    if (b.kind == JT_UNDEFINED) jt_fail_undefined(vm, b);
    jt_fail(vm, "unsupported operand type(s) for %s: '%s' and '%s'", signs[op], jt_type_name(a),
            jt_type_name(b));
}

static _Noreturn void too_large(jt_vm *vm) {
    jt_fail(vm, "an integer does not fit 64 bits");
}

static int64_t int_pow(jt_vm *vm, int64_t base, int64_t exponent) {
    int64_t result = 1;
    while (exponent) {
        if (exponent & 1 && __builtin_mul_overflow(result, base, &result)) too_large(vm);
        exponent >>= 1;
        if (exponent && __builtin_mul_overflow(base, base, &base)) too_large(vm);
    }
    return result;
}

static jt_value int_binary(jt_vm *vm, jt_op op, int64_t a, int64_t b) {
    int64_t r;
    if ((op == OP_DIV || op == OP_FLOORDIV || op == OP_MOD) && !b)
        jt_fail(vm, op == OP_DIV ? "division by zero" : "integer division or modulo by zero");
    switch (op) {
    case OP_ADD:
        if (__builtin_add_overflow(a, b, &r)) too_large(vm);
        return jt_int(r);
    case OP_SUB:
        if (__builtin_sub_overflow(a, b, &r)) too_large(vm);
        return jt_int(r);
    case OP_MUL:
        if (__builtin_mul_overflow(a, b, &r)) too_large(vm);
        return jt_int(r);
    case OP_DIV:
        return jt_float((double)a / (double)b);
    case OP_FLOORDIV:
        if (b == -1) return jt_negate(vm, jt_int(a));
        return jt_int(a / b - (a % b && (a < 0) != (b < 0)));
    case OP_MOD:
        if (b == -1) return jt_int(0);
        r = a % b;
        return jt_int(r && (r < 0) != (b < 0) ? r + b : r);
    default:
        if (b >= 0) return jt_int(int_pow(vm, a, b));
        if (!a) jt_fail(vm, "0.0 cannot be raised to a negative power");
        return jt_float(pow((double)a, (double)b));
    }
}

static jt_value float_binary(jt_vm *vm, jt_op op, double a, double b) {
    double r;
    if ((op == OP_DIV || op == OP_FLOORDIV || op == OP_MOD) && b == 0)
        jt_fail(vm, op == OP_DIV        ? "float division by zero"
                    : op == OP_FLOORDIV ? "float floor division by zero"
                                        : "float modulo");
    switch (op) {
    case OP_ADD:
        return jt_float(a + b);
    case OP_SUB:
        return jt_float(a - b);
    case OP_MUL:
        return jt_float(a * b);
    case OP_DIV:
        return jt_float(a / b);
    case OP_MOD:
    case OP_FLOORDIV:
        r = fmod(a, b);
        if (r != 0 && (r < 0) != (b < 0)) r += b;
        if (op == OP_MOD) return jt_float(r == 0 ? copysign(0, b) : r);
        return jt_float(round((a - r) / b));
    default:
        if (a == 0 && b < 0) jt_fail(vm, "0.0 cannot be raised to a negative power");
        if (a < 0 && b != trunc(b)) jt_fail(vm, "complex numbers are not supported");
        r = pow(a, b);
        if (isinf(r) && isfinite(a) && isfinite(b)) jt_fail(vm, "Numerical result out of range");
        return jt_float(r);
    }
}

/* ---- strings and lists ---- */

static jt_value join_strings(jt_vm *vm, jt_str *a, jt_str *b) {
    bool markup = a->markup || b->markup;
    if (markup && !a->markup) a = jt_escape(vm, jt_of_str(a)).s;
    if (markup && !b->markup) b = jt_escape(vm, jt_of_str(b)).s;
    char *p = jt_alloc(vm, a->n + b->n + 1);
    if (a->n) memcpy(p, a->p, a->n);
    if (b->n) memcpy(p + a->n, b->p, b->n);
    jt_value v = jt_text(vm, p, a->n + b->n);
    v.s->markup = markup;
    return v;
}

static jt_value repeat(jt_vm *vm, jt_value v, int64_t count) {
    size_t n = v.kind == JT_STR ? v.s->n : v.l->n, times = count > 0 ? (size_t)count : 0;
    if (!n) times = 0;
    if (times > vm->arena.limit / (n + 1)) jt_alloc(vm, vm->arena.limit); /* which fails */
    if (v.kind == JT_STR) {
        char *p = jt_alloc(vm, n * times + 1);
        for (size_t i = 0; i < times; i++)
            memcpy(p + i * n, v.s->p, n);
        return jt_text(vm, p, n * times);
    }
    jt_list *l = jt_list_new(vm, n * times);
    for (size_t i = 0; i < times; i++)
        for (size_t k = 0; k < n; k++)
            jt_list_add(vm, l, v.l->at[k]);
    v.l = l;
    return v;
}

static bool repeatable(jt_value v) {
    return v.kind == JT_STR || v.kind == JT_LIST || v.kind == JT_TUPLE;
}

jt_value jt_binary(jt_vm *vm, jt_op op, jt_value a, jt_value b) {
    int64_t i, j;
    double x, y;
    if (jt_integer(a, &i) && jt_integer(b, &j)) return int_binary(vm, op, i, j);
    if (jt_number(a, &x) && jt_number(b, &y)) return float_binary(vm, op, x, y);
    if (op == OP_MOD && a.kind == JT_STR) return jt_format_percent(vm, a.s, b);
    if (op == OP_MUL && repeatable(a) && jt_integer(b, &j)) return repeat(vm, a, j);
    if (op == OP_MUL && repeatable(b) && jt_integer(a, &i)) return repeat(vm, b, i);
    if (op != OP_ADD || a.kind != b.kind || !repeatable(a)) {
        if (op == OP_ADD && a.kind == JT_STR && b.kind != JT_UNDEFINED)
            jt_fail(vm, "can only concatenate str (not \"%s\") to str", jt_type_name(b));
        unsupported(vm, op, a, b);
    }
    if (a.kind == JT_STR) return join_strings(vm, a.s, b.s);
    jt_list *l = jt_list_new(vm, a.l->n + b.l->n);
    for (size_t k = 0; k < a.l->n; k++)
        jt_list_add(vm, l, a.l->at[k]);
    for (size_t k = 0; k < b.l->n; k++)
        jt_list_add(vm, l, b.l->at[k]);
    a.l = l;
    return a;
}

jt_value jt_negate(jt_vm *vm, jt_value v) {
    int64_t i;
    if (v.kind == JT_UNDEFINED) jt_fail_undefined(vm, v);
    if (v.kind == JT_FLOAT) return jt_float(-v.f);
    if (!jt_integer(v, &i)) jt_fail(vm, "bad operand type for unary -: '%s'", jt_type_name(v));
    if (i == INT64_MIN) too_large(vm);
    return jt_int(-i);
}

/* ---- comparisons ---- */

bool jt_contains(jt_vm *vm, jt_value container, jt_value v) {
    if (container.kind == JT_STR) {
        if (v.kind != JT_STR)
            jt_fail(vm, "'in <string>' requires string as left operand, not %s", jt_type_name(v));
        jt_step_bytes(vm, container.s->n);
        return !v.s->n || memmem(container.s->p, container.s->n, v.s->p, v.s->n);
    }
    bool keys = container.kind == JT_VIEW && container.view->what == JT_KEYS;
    if (container.kind == JT_DICT || keys) {
        if (!jt_hashable(v)) jt_fail(vm, "unhashable type: '%s'", jt_type_name(v));
        return !jt_absent(jt_dict_get(vm, keys ? container.view->dict : container.d, v));
    }
    if (!jt_iterable(container) || container.kind == JT_LOOP)
        jt_fail(vm, "argument of type '%s' is not iterable", jt_type_name(container));
    jt_walk w = jt_walk_of(vm, container);
    jt_value item;
    while (jt_walk_next(vm, &w, &item))
        if (jt_equal(vm, item, v)) return true;
    return false;
}

/* NaN is in no order to anything. */
static bool unordered(jt_value a, jt_value b) {
    return (a.kind == JT_FLOAT && isnan(a.f)) || (b.kind == JT_FLOAT && isnan(b.f));
}

bool jt_compare(jt_vm *vm, jt_op op, jt_value a, jt_value b) {
    switch (op) {
    case OP_EQ:
        return jt_equal(vm, a, b);
    case OP_NE:
        return !jt_equal(vm, a, b);
    case OP_IN:
        return jt_contains(vm, b, a);
    case OP_NOT_IN:
        return !jt_contains(vm, b, a);
    default:
        break;
    }
    int order = jt_order(vm, a, b, signs[op]);
    if (unordered(a, b)) return false;
    return op == OP_LT   ? order < 0
           : op == OP_LE ? order <= 0
           : op == OP_GT ? order > 0
                         : order >= 0;
}
