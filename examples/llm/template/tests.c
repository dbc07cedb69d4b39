/* tests.c - what may stand behind `is`. */
#include "examples/llm/template/run.h"
#include "examples/llm/template/value/utf8.h"

#define TEST(name) static jt_value name(jt_vm *vm, jt_value self, jt_value *arg)
#define UNUSED (void)vm, (void)arg

TEST(is_defined) {
    UNUSED;
    return jt_bool(self.kind != JT_UNDEFINED);
}
TEST(is_undefined) {
    UNUSED;
    return jt_bool(self.kind == JT_UNDEFINED);
}
TEST(is_none) {
    UNUSED;
    return jt_bool(self.kind == JT_NONE);
}
TEST(is_string) {
    UNUSED;
    return jt_bool(self.kind == JT_STR);
}
TEST(is_number) {
    double f;
    UNUSED;
    return jt_bool(jt_number(self, &f));
}
TEST(is_integer) {
    UNUSED;
    return jt_bool(self.kind == JT_INT);
}
TEST(is_float) {
    UNUSED;
    return jt_bool(self.kind == JT_FLOAT);
}
TEST(is_boolean) {
    UNUSED;
    return jt_bool(self.kind == JT_BOOL);
}
TEST(is_true) {
    UNUSED;
    return jt_bool(self.kind == JT_BOOL && self.b);
}
TEST(is_false) {
    UNUSED;
    return jt_bool(self.kind == JT_BOOL && !self.b);
}
TEST(is_mapping) {
    UNUSED;
    return jt_bool(self.kind == JT_DICT);
}
TEST(is_iterable) {
    UNUSED;
    return jt_bool(jt_iterable(self));
}
/* What has a length and items: of the values here, also what is undefined. */
TEST(is_sequence) {
    int64_t n;
    UNUSED;
    return jt_bool(jt_length(self, &n) && self.kind != JT_VIEW && self.kind != JT_LOOP);
}
TEST(is_callable) {
    UNUSED;
    return jt_bool(self.kind == JT_FUNCTION || self.kind == JT_MACRO || self.kind == JT_LOOP ||
                   self.kind == JT_JOINER || self.kind == JT_UNDEFINED);
}
TEST(is_escaped) {
    UNUSED;
    return jt_bool(self.kind == JT_STR && self.s->markup);
}

static bool all_cased(jt_vm *vm, jt_value self, bool (*wrong)(int32_t), bool (*right)(int32_t)) {
    const jt_str *s = jt_as_str(vm, self);
    bool any = false;
    for (size_t i = 0, size; i < s->n; i += size) {
        int32_t c = jt_utf8_read(s->p + i, &size);
        if (wrong(c)) return false;
        any |= right(c);
    }
    jt_step_bytes(vm, s->n);
    return any;
}

TEST(is_lower) {
    UNUSED;
    return jt_bool(all_cased(vm, self, jt_is_upper, jt_is_lower));
}
TEST(is_upper) {
    UNUSED;
    return jt_bool(all_cased(vm, self, jt_is_lower, jt_is_upper));
}

static bool remainder_is(jt_vm *vm, jt_value self, jt_value by, int64_t wanted) {
    return jt_equal(vm, jt_binary(vm, OP_MOD, self, by), jt_int(wanted));
}

TEST(is_odd) {
    UNUSED;
    return jt_bool(remainder_is(vm, self, jt_int(2), 1));
}
TEST(is_even) {
    UNUSED;
    return jt_bool(remainder_is(vm, self, jt_int(2), 0));
}
TEST(is_divisibleby) {
    return jt_bool(remainder_is(vm, self, arg[0], 0));
}
TEST(is_sameas) {
    UNUSED;
    return jt_bool(jt_same(self, arg[0]));
}
TEST(is_in) {
    return jt_bool(jt_contains(vm, arg[0], self));
}
TEST(is_eq) {
    return jt_bool(jt_compare(vm, OP_EQ, self, arg[0]));
}
TEST(is_ne) {
    return jt_bool(jt_compare(vm, OP_NE, self, arg[0]));
}
TEST(is_lt) {
    return jt_bool(jt_compare(vm, OP_LT, self, arg[0]));
}
TEST(is_le) {
    return jt_bool(jt_compare(vm, OP_LE, self, arg[0]));
}
TEST(is_gt) {
    return jt_bool(jt_compare(vm, OP_GT, self, arg[0]));
}
TEST(is_ge) {
    return jt_bool(jt_compare(vm, OP_GE, self, arg[0]));
}
TEST(is_filter) {
    UNUSED;
    return jt_bool(self.kind == JT_STR && jt_find_filter(self.s->p, self.s->n));
}
TEST(is_test) {
    UNUSED;
    return jt_bool(self.kind == JT_STR && jt_find_test(self.s->p, self.s->n));
}

static const jt_builtin tests[] = {
    {"defined", "", is_defined, NULL, false},
    {"undefined", "", is_undefined, NULL, false},
    {"none", "", is_none, NULL, false},
    {"string", "", is_string, NULL, false},
    {"number", "", is_number, NULL, false},
    {"integer", "", is_integer, NULL, false},
    {"float", "", is_float, NULL, false},
    {"boolean", "", is_boolean, NULL, false},
    {"true", "", is_true, NULL, false},
    {"false", "", is_false, NULL, false},
    {"mapping", "", is_mapping, NULL, false},
    {"iterable", "", is_iterable, NULL, false},
    {"sequence", "", is_sequence, NULL, false},
    {"callable", "", is_callable, NULL, false},
    {"escaped", "", is_escaped, NULL, false},
    {"lower", "", is_lower, NULL, false},
    {"upper", "", is_upper, NULL, false},
    {"odd", "", is_odd, NULL, false},
    {"even", "", is_even, NULL, false},
    {"divisibleby", "num", is_divisibleby, NULL, false},
    {"sameas", "other", is_sameas, NULL, false},
    {"in", "seq", is_in, NULL, false},
    {"eq", "other", is_eq, NULL, false},
    {"equalto", "other", is_eq, NULL, false},
    {"==", "other", is_eq, NULL, false},
    {"ne", "other", is_ne, NULL, false},
    {"!=", "other", is_ne, NULL, false},
    {"lt", "other", is_lt, NULL, false},
    {"lessthan", "other", is_lt, NULL, false},
    {"<", "other", is_lt, NULL, false},
    {"le", "other", is_le, NULL, false},
    {"<=", "other", is_le, NULL, false},
    {"gt", "other", is_gt, NULL, false},
    {"greaterthan", "other", is_gt, NULL, false},
    {">", "other", is_gt, NULL, false},
    {"ge", "other", is_ge, NULL, false},
    {">=", "other", is_ge, NULL, false},
    {"filter", "", is_filter, NULL, false},
    {"test", "", is_test, NULL, false},
    {0},
};

const jt_builtin *jt_find_test(const char *name, size_t n) {
    return jt_find_in(tests, name, n);
}
