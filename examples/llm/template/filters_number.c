/* filters_number.c - filters of numbers. */
#include "examples/llm/template/run.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static jt_value do_abs(jt_vm *vm, jt_value self, jt_value *arg) {
    int64_t i;
    (void)arg;
    if (self.kind == JT_UNDEFINED) jt_fail_undefined(vm, self);
    if (self.kind == JT_FLOAT) return jt_float(fabs(self.f));
    if (!jt_integer(self, &i)) jt_fail(vm, "bad operand type for abs(): '%s'", jt_type_name(self));
    return i < 0 ? jt_negate(vm, jt_int(i)) : jt_int(i);
}

/* A float as an int, as Python cuts it; JT_ABSENT: it is none. */
static jt_value truncated(jt_vm *vm, double f) {
    if (!isfinite(f)) return (jt_value){.kind = JT_ABSENT};
    if (fabs(f) >= 9223372036854775808.0) jt_fail(vm, "an integer does not fit 64 bits");
    return jt_int((int64_t)f);
}

static jt_value do_int(jt_vm *vm, jt_value self, jt_value *arg) {
    jt_value v = {.kind = JT_ABSENT};
    int64_t base = jt_absent(arg[1]) ? 10 : jt_need_int(vm, arg[1], "base"), i;
    if (base != 0 && (base < 2 || base > 36))
        jt_fail(vm, "int() base must be >= 2 and <= 36, or 0");
    if (self.kind == JT_UNDEFINED) jt_fail_undefined(vm, self);
    if (self.kind == JT_STR) {
        v = jt_parse_int(vm, self.s, (int)base);
        if (jt_absent(v)) {
            jt_value f = jt_parse_float(vm, self.s);
            if (!jt_absent(f)) v = truncated(vm, f.f);
        }
    } else if (self.kind == JT_FLOAT) {
        if (isinf(self.f)) jt_fail(vm, "cannot convert float infinity to integer");
        v = truncated(vm, self.f);
    } else if (jt_integer(self, &i)) {
        v = jt_int(i);
    }
    if (!jt_absent(v)) return v;
    return jt_absent(arg[0]) ? jt_int(0) : arg[0];
}

static jt_value do_float(jt_vm *vm, jt_value self, jt_value *arg) {
    jt_value v = {.kind = JT_ABSENT};
    double f;
    if (self.kind == JT_UNDEFINED) jt_fail_undefined(vm, self);
    if (jt_number(self, &f)) return jt_float(f);
    if (self.kind == JT_STR) v = jt_parse_float(vm, self.s);
    if (!jt_absent(v)) return v;
    return jt_absent(arg[0]) ? jt_float(0) : arg[0];
}

/* To DIGITS behind the point, a half to the even neighbour of what the number is exactly. */
static jt_value round_float(jt_vm *vm, double f, int64_t digits) {
    char text[400];
    if (!isfinite(f) || digits > 300) return jt_float(f);
    if (digits < -300) return jt_float(0 * f);
    if (digits >= 0) {
        snprintf(text, sizeof text, "%.*f", (int)digits, f);
        return jt_float(strtod(text, NULL));
    }
    double scale = pow(10, (double)-digits);
    (void)vm;
    return jt_float(nearbyint(f / scale) * scale);
}

static jt_value round_int(jt_vm *vm, int64_t i, int64_t digits) {
    if (digits >= 0) return jt_int(i);
    if (digits < -18) return jt_int(0);
    int64_t scale = 1, half, rest, low;
    for (; digits; digits++)
        scale *= 10;
    half = scale / 2;
    rest = ((i % scale) + scale) % scale;
    if (__builtin_sub_overflow(i, rest, &low)) jt_fail(vm, "an integer does not fit 64 bits");
    bool up = rest > half || (rest == half && (low / scale) % 2 != 0);
    return jt_binary(vm, OP_ADD, jt_int(low), jt_int(up ? scale : 0));
}

static jt_value do_round(jt_vm *vm, jt_value self, jt_value *arg) {
    int64_t digits = jt_absent(arg[0]) ? 0 : jt_need_int(vm, arg[0], "precision"), i;
    const char *method = jt_absent(arg[1]) ? "'common'" : jt_as_word(vm, arg[1]);
    double f;
    if (self.kind == JT_UNDEFINED) jt_fail_undefined(vm, self);
    if (strcmp(method, "'common'") != 0 && strcmp(method, "'ceil'") != 0 &&
        strcmp(method, "'floor'") != 0)
        jt_fail(vm, "method must be common, ceil or floor");
    if (!jt_number(self, &f))
        jt_fail(vm, "type %s doesn't define __round__ method", jt_type_name(self));
    if (method[1] == 'c' && method[2] == 'o')
        return jt_integer(self, &i) ? round_int(vm, i, digits) : round_float(vm, f, digits);
    double scale = pow(10, (double)digits);
    if (!isfinite(f))
        jt_fail(vm, "cannot convert float %s to integer", isnan(f) ? "NaN" : "infinity");
    return jt_float((method[1] == 'c' ? ceil(f * scale) : floor(f * scale)) / scale);
}

static jt_value do_filesizeformat(jt_vm *vm, jt_value self, jt_value *arg) {
    static const char *const letters = "kMGTPEZY";
    bool binary = jt_true(vm, arg[0]);
    double base = binary ? 1024 : 1000, f, unit = base;
    char *text = jt_alloc(vm, 400);
    jt_value number = do_float(vm, self, (jt_value[]){jt_none()});
    if (!jt_number(number, &f)) jt_fail(vm, "could not convert to float");
    if (f == 1) return jt_word(vm, "1 Byte");
    if (f < base && f > -1e15) {
        snprintf(text, 400, "%lld Bytes", (long long)f);
        return jt_word(vm, text);
    }
    int i = 0;
    for (; i < 7 && f >= unit * base; i++)
        unit *= base;
    snprintf(text, 400, "%.1f %c%s", f / unit, binary && !i ? 'K' : letters[i],
             binary ? "iB" : "B");
    return jt_word(vm, text);
}

const jt_builtin jt_number_filters[] = {
    {"abs", "", do_abs, NULL, false},
    {"int", "default? base?", do_int, NULL, false},
    {"float", "default?", do_float, NULL, false},
    {"round", "precision? method?", do_round, NULL, false},
    {"filesizeformat", "binary?", do_filesizeformat, NULL, false},
    {0},
};
