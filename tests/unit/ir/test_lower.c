/* The lowering rules against the reference interpreter: two descriptions of every operator that
 * share no code must give the same numbers. */
#include "tests/unit/ir/main.h"
#include "tests/unit/ir/random_graph.h"
#include "tests/unit/ir/slow.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { GRAPHS = 2000, ELEMENTS = 40 };

static int seen[64]; /* nodes compared, per operator */

static int number_of(const et_op *op) {
    static const et_op *const all[] = {
#define X(name, lo, hi, help) &et_op_##name,
#include "ir/graph/ops.def"
#undef X
    };
    int n = 0;
    while (all[n] != op)
        n++;
    return n;
}

/* Rounding to 16 bits may turn a last-bit difference into one unit of the smaller type. */
static double tolerance(const fixture *f) {
    for (int i = 1; i < f->g->nvals; i++)
        if (f->g->vals[i].kind == ET_V_NODE &&
            (f->g->vals[i].shape.dtype == ET_BF16 || f->g->vals[i].shape.dtype == ET_F16))
            return 3e-2;
    for (int i = 0; i < f->g->nnodes; i++)
        if (f->g->nodes[i].op == &et_op_contract) return 1e-2;
    return 1e-4;
}

static void compare(slow *s, fixture *f, const et_node *n, uint64_t seed, double tol) {
    const et_tensor_data *t = tensor(f, n->result);
    int64_t count = et_tensor_count(t), index[ET_MAX_RANK];
    for (int i = 0; i < ELEMENTS && i < count; i++) {
        int64_t at = count <= ELEMENTS ? i : (int64_t)(random_bits(f) % (uint64_t)count), rest = at;
        for (int k = t->rank - 1; k >= 0; rest /= t->dim[k--])
            index[k] = rest % t->dim[k];
        double want = t->dtype == ET_I32 ? (double)t->i[at] : (double)t->f[at];
        double got = slow_at(s, n->result, index);
        et_dtype stored = et_val_of(f->g, n->result)->shape.dtype;
        if (isfinite(got)) /* rounded, however near the exact number is */
            ck_assert_double_eq(got, stored == ET_F16 || stored == ET_BF16
                                         ? (double)et_round_to(stored, (float)got)
                                         : got);
        bool same = got == want || fabs(got - want) <= tol * fmax(1, fabs(want)) ||
                    (isnan(got) && isnan(want));
        if (!same) et_graph_print(f->g, stderr);
        ck_assert_msg(same, "seed %llu: %s (value %u) element %lld: lowered %.9g, interpreted %.9g",
                      (unsigned long long)seed, n->op->name, n->result.id, (long long)at, got,
                      want);
    }
    seen[number_of(n->op)]++;
}

static void check_graph(uint64_t seed) {
    fixture *f = fixture_create(seed);
    random_graph(f, 2 + pick(f, 5));
    fill(f);
    ck_assert_msg(run_graph(f), "seed %llu: %s", (unsigned long long)seed, f->err);
    slow *s = slow_create(f);
    for (int i = 0; i < f->g->nnodes; i++)
        if (f->g->nodes[i].op->at) compare(s, f, &f->g->nodes[i], seed, tolerance(f));
    slow_destroy(s);
    fixture_destroy(f);
}

START_TEST(lowering_equals_interpreter) {
    const char *only = getenv("SEED");
    if (only) {
        check_graph(strtoull(only, NULL, 0));
        return;
    }
    for (uint64_t seed = 1; seed <= GRAPHS; seed++)
        check_graph(seed);
#define X(name, lo, hi, help)                                                                      \
    ck_assert_msg(!et_op_##name.at || seen[number_of(&et_op_##name)] > 5, "%s came up %d times",   \
                  #name, seen[number_of(&et_op_##name)]);
#include "ir/graph/ops.def"
#undef X
}
END_TEST

static et_expr inline_all(et_lower *lo, et_value v, const et_expr *index) {
    const et_node *n = et_node_of(lo->g, v);
    const et_shape *shape = &et_val_of(lo->g, v)->shape;
    return n ? n->op->at(lo, n, index)
             : et_load(lo->g->exprs, ET_LOAD_TENSOR, (int)v.id, et_dtype_type(shape->dtype),
                       shape->rank, index);
}

/* The variables of a reduction are made once per node: the same index gives the same expression. */
START_TEST(lowering_twice_is_one_expression) {
    fixture *f = fixture_create(1);
    et_sym_add(f->p, "N", 1, 9);
    et_value x = INPUT(f, "x", ET_F32, -1, 7), w = INPUT(f, "w", ET_F32, 7);
    et_value v = node(f, "softmax", ARGS(x), ATTRS(attr_int("axis", 0)));
    v = node(f, "layernorm", ARGS(v, w, w), NO_ATTRS);
    v = node(f, "rmsnorm", ARGS(v, w), NO_ATTRS);
    v = node(f, "reduce", ARGS(v), ATTRS(attr_int("kind", ET_RED_SUM), attr_int("axis", 0)));
    et_lower lower = {.g = f->g, .value_at = inline_all};
    et_expr index = et_int(f->p, 5);
    et_expr a = inline_all(&lower, v, &index), b = inline_all(&lower, v, &index);
    ck_assert(et_expr_eq(a, b));
    index = et_int(f->p, 4);
    ck_assert(!et_expr_eq(a, inline_all(&lower, v, &index)));
    fixture_destroy(f);
}
END_TEST

TEST_MAIN("lower", lowering_equals_interpreter, lowering_twice_is_one_expression)
