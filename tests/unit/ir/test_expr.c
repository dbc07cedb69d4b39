/* Integer simplification: the forms that shapes, waits and schedules are compared in, and that they
 * have the values of what was written. */
#include "ir/base/arena.h"
#include "ir/expr/expr.h"
#include "ir/program/program.h"
#include "ir/weights/computed.h"
#include "tests/unit/ir/main.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { RANDOM = 50000 };

struct pool {
    et_arena *arena;
    et_exprs *p;
    et_expr n, m, i, j; /* symbols of 1 .. 4096 and -50 .. 50; variables below N and below 100 */
};

static struct pool start(void) {
    struct pool s = {.arena = et_arena_create()};
    s.p = et_exprs_create(s.arena);
    s.n = et_sym(s.p, et_sym_add(s.p, "N", 1, 4096));
    s.m = et_sym(s.p, et_sym_add(s.p, "M", -50, 50));
    s.i = et_var(s.p, et_var_add(s.p, "i", s.n));
    s.j = et_var(s.p, et_var_add(s.p, "j", et_int(s.p, 100)));
    return s;
}

static et_expr times(struct pool *s, et_expr e, int64_t c) {
    return et_mul(s->p, e, et_int(s->p, c));
}

static et_expr plus(struct pool *s, et_expr e, int64_t c) {
    return et_add(s->p, e, et_int(s->p, c));
}

static et_expr over(struct pool *s, et_expr e, int64_t c) {
    return et_op2(s->p, ET_X_IDIV, e, et_int(s->p, c));
}

static void is(struct pool *s, et_expr e, const char *text) {
    ck_assert_str_eq(et_expr_text(s->p, e, NULL, NULL), text);
}

START_TEST(common_factors) {
    struct pool s = start();
    is(&s, over(&s, times(&s, s.i, 4), 512), "i / 128");
    is(&s, over(&s, plus(&s, times(&s, s.i, 4), 3), 512), "i / 128");
    is(&s, over(&s, plus(&s, times(&s, s.i, 4), 4), 512), "(i + 1) / 128");
    is(&s, over(&s, plus(&s, times(&s, s.i, 4), -1), 512), "(i + 127) / 128 - 1");
    is(&s, over(&s, plus(&s, times(&s, s.i, -4), 6), 6), "i * -2 / 3 + 1");
    is(&s, over(&s, plus(&s, times(&s, s.i, 6), 5), 9), "(i * 2 + 1) / 3");
    is(&s, over(&s, plus(&s, times(&s, s.i, 5), 3), 7), "(i * 5 + 3) / 7");
    is(&s, over(&s, et_add(s.p, times(&s, s.i, 4), times(&s, s.j, 6)), 16), "(i * 2 + j * 3) / 8");
    is(&s, over(&s, times(&s, over(&s, s.i, 3), 8), 40), "i / 15");
    is(&s, et_op2(s.p, ET_X_IDIV, plus(&s, times(&s, s.j, 4), 7), times(&s, s.n, 8)),
       "(j + 1) / (N * 2)");
    is(&s, et_op2(s.p, ET_X_IDIV, plus(&s, times(&s, s.j, 4), -1), times(&s, s.n, 8)),
       "(j - 1) / (N * 2)");
    et_arena_destroy(s.arena);
}
END_TEST

/* What all terms but the constant and the divisor have in common is left below. */
START_TEST(remainders_of_neighbours) {
    struct pool s = start();
    et_expr m = et_int(s.p, 128), four = times(&s, s.i, 4);
    is(&s, et_op2(s.p, ET_X_MOD, plus(&s, four, 67), m), "(i * 4 + 64) % 128 + 3");
    is(&s, et_op2(s.p, ET_X_MOD, plus(&s, four, -1), m), "(i * 4 + 124) % 128 + 3");
    is(&s, et_op2(s.p, ET_X_MOD, plus(&s, times(&s, s.i, 3), 65), m), "(i * 3 + 65) % 128");
    is(&s,
       et_sub(s.p, et_op2(s.p, ET_X_MOD, plus(&s, four, 66), m),
              et_op2(s.p, ET_X_MOD, plus(&s, four, 64), m)),
       "2");
    et_arena_destroy(s.arena);
}
END_TEST

/* Loads may hold anything: their products wrap around. */
START_TEST(loads_keep_their_factors) {
    struct pool s = start();
    et_expr load = et_load(s.p, ET_LOAD_TENSOR, 0, ET_T_I32, 1, &s.i);
    et_expr e = over(&s, times(&s, load, 4), 512);
    ck_assert_int_eq(et_x(s.p, e)->op, ET_X_IDIV);
    ck_assert_int_eq(et_x(s.p, et_x(s.p, e)->ops[1])->n, 512);
    et_arena_destroy(s.arena);
}
END_TEST

/* Quotients by different constants are still told apart. */
START_TEST(quotients_compare) {
    struct pool s = start();
    et_expr a = over(&s, times(&s, s.i, 4), 512), b, sum = et_add(s.p, times(&s, s.i, 4), s.j);
    b = over(&s, sum, 512);
    ck_assert(et_prove_le(s.p, a, b));
    ck_assert(!et_prove_le(s.p, b, a));
    ck_assert(et_prove_le(s.p, b, plus(&s, a, 1)));
    b = over(&s, plus(&s, times(&s, s.i, 6), 5), 12 * 64);
    ck_assert(et_prove_le(s.p, b, a)); /* i / 128 either way */
    ck_assert(et_prove_le(s.p, a, b));
    b = over(&s, plus(&s, times(&s, s.i, 3), 2), 3 * 128 + 1);
    ck_assert(!et_prove_le(s.p, a, b));
    et_arena_destroy(s.arena);
}
END_TEST

static int64_t floor_div(int64_t a, int64_t b) {
    int64_t q = a / b;
    return q - (a % b != 0 && (a < 0) != (b < 0));
}

/* m * floor((n + 1) / e) against floor((n + 1) / c): what is proved is so, and all that is so for
 * multiples of c. */
START_TEST(multiples_of_quotients_compare) {
    struct pool s = start();
    et_expr n = et_sym(s.p, et_sym_add(s.p, "n", -60, 60)), sum = plus(&s, n, 1);
    for (int64_t c = 1; c <= 6; c++)
        for (int64_t e = 1; e <= 24; e++)
            for (int64_t m = 2; m <= 8; m++) {
                et_expr a = times(&s, over(&s, sum, e), m), b = over(&s, sum, c);
                bool so = true;
                for (int64_t v = -59; v <= 61; v++)
                    so &= m * floor_div(v, e) <= floor_div(v, c);
                bool proved = et_prove_le(s.p, a, b);
                ck_assert_msg(so || !proved, "%lld * floor(v / %lld)", (long long)m, (long long)e);
                ck_assert(proved || !so || e % m || e / m != c);
            }
    et_arena_destroy(s.arena);
}
END_TEST

static int64_t floor_mod(int64_t a, int64_t b) {
    return a - b * floor_div(a, b);
}

/* Coefficients and constants at the ends of int64: as written, or right. */
START_TEST(limits) {
    struct pool s = start();
    static const int64_t ends[] = {-INT64_MAX,       1 - INT64_MAX, -((int64_t)1 << 62),
                                   (int64_t)1 << 62, INT64_MAX - 1, INT64_MAX};
    enum { N = sizeof ends / sizeof *ends };
    const et_expr bit = et_var(s.p, et_var_add(s.p, "bit", et_int(s.p, 2)));
    const int64_t syms[] = {4096, -50}, vars[] = {1, 1, 1};
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++)
            for (int c = 0; c < N; c++) {
                et_expr e = over(&s, plus(&s, times(&s, bit, ends[a]), ends[b]), ends[c]);
                int64_t lo, hi, sum;
                et_bounds(s.p, e, &lo, &hi);
                if (__builtin_add_overflow(ends[a], ends[b], &sum) || sum == INT64_MIN) continue;
                int64_t got = et_eval(s.p, e, syms, vars);
                ck_assert_msg(got == floor_div(sum, ends[c]), "%s is %" PRId64 ", not %" PRId64,
                              et_expr_text(s.p, e, NULL, NULL), got, floor_div(sum, ends[c]));
            }
    et_arena_destroy(s.arena);
}
END_TEST

static uint64_t random_state = 1;

static int64_t below(int64_t n) {
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((random_state >> 33) % (uint64_t)n);
}

static int64_t small(void) {
    static const int64_t usual[] = {0, 1, -1, 3, 4, -4, 6, 8, 12, 16, -64, 512};
    return below(2) ? usual[below((int64_t)(sizeof usual / sizeof *usual))] : below(201) - 100;
}

/* A sum of multiples of four atoms and of a quotient, divided: quotients and remainders at random
 * points, and the bounds that hold them. */
START_TEST(random_values) {
    for (int k = 0; k < RANDOM;) {
        struct pool s = start();
        const et_expr atom[] = {s.n, s.m, s.i, s.j};
        for (int round = 0; round < 500; round++, k++) {
            int64_t c[5], n = 1 + below(below(2) ? 4 : 4096), d = 1 + below(below(2) ? 16 : 600),
                          e = 1 + below(64);
            int64_t syms[] = {n, below(101) - 50}, vars[] = {below(n), below(100)};
            const int64_t value[] = {syms[0], syms[1], vars[0], vars[1]};
            et_expr sum = et_int(s.p, c[4] = below(2000) - 1000);
            int64_t want = c[4], g = 1 + below(8);
            for (int t = 0; t < 4; t++) {
                c[t] = small() * g;
                sum = et_add(s.p, sum, times(&s, atom[t], c[t]));
                want += c[t] * value[t];
            }
            if (below(2)) {
                sum = times(&s, over(&s, sum, e), g);
                want = floor_div(want, e) * g;
            }
            et_expr div = et_int(s.p, d * g);
            int64_t by = d * g, lo, hi;
            if (below(4) == 0) div = et_mul(s.p, div, s.n), by *= n;
            et_expr q = et_op2(s.p, ET_X_IDIV, sum, div), r = et_op2(s.p, ET_X_MOD, sum, div);
            int64_t got = et_eval(s.p, q, syms, vars);
            ck_assert_msg(got == floor_div(want, by), "%s is %" PRId64 ", not %" PRId64,
                          et_expr_text(s.p, q, NULL, NULL), got, floor_div(want, by));
            ck_assert(et_bounds(s.p, q, &lo, &hi) && lo <= got && got <= hi);
            ck_assert_int_eq(et_eval(s.p, r, syms, vars), floor_mod(want, by));
            /* What is proved of two of them is so. */
            et_expr other = over(&s, plus(&s, sum, below(2 * by) - by), d);
            int64_t at_other = et_eval(s.p, other, syms, vars);
            if (et_prove_le(s.p, q, other)) ck_assert_int_le(got, at_other);
            if (et_prove_le(s.p, other, q)) ck_assert_int_le(at_other, got);
        }
        et_arena_destroy(s.arena);
    }
}
END_TEST

/* An index of k: now and then one that goes up and down, or that two k's have and those between
 * have not. */
static et_expr random_index(struct pool *s, et_expr k, int depth) {
    static const et_xop op[] = {ET_X_ADD, ET_X_SUB, ET_X_MUL, ET_X_IDIV, ET_X_IDIV, ET_X_MOD};
    if (depth == 0 || below(6) == 0) return below(3) ? k : et_int(s->p, below(40) - 8);
    et_xop o = op[below(6)];
    et_expr a = random_index(s, k, depth - 1);
    if (o == ET_X_IDIV || o == ET_X_MOD) return et_op2(s->p, o, a, et_int(s->p, 1 + below(40)));
    return et_op2(s->p, o, a, random_index(s, k, depth - 1));
}

START_TEST(the_same_in_runs) {
    enum { RUN = 16 };
    int found = 0;
    for (int t = 0; t < RANDOM / 10; t++) {
        struct pool s = start();
        int k = et_var_add(s.p, "k", et_int(s.p, 4096));
        et_expr index = random_index(&s, et_var(s.p, k), 3);
        et_expr load = et_load(s.p, ET_LOAD_TENSOR, 0, ET_T_F32, 1, &index);
        et_expr from = below(2) ? et_int(s.p, below(200)) : times(&s, s.j, RUN);
        et_expr e = below(2) ? load : et_mul(s.p, load, et_float(s.p, 3));
        bool each = true;
        for (int j = 1; j < RUN; j++)
            each &= et_expr_eq(et_subst_var(s.p, e, k, plus(&s, from, j)),
                               et_subst_var(s.p, e, k, from));
        bool got = et_same_in_run(s.p, e, k, from, RUN).id;
        ck_assert(got || !each);
        found += got && et_expr_has_var(s.p, e, k);
        int64_t syms[] = {4096, 0}, vars[] = {0, below(100), 0}, first = 0;
        for (int j = 0; got && j < RUN; j++) {
            vars[2] = et_eval(s.p, from, syms, vars) + j;
            int64_t at = et_eval(s.p, index, syms, vars);
            ck_assert_msg(!j || at == first, "%s", et_expr_text(s.p, index, NULL, NULL));
            first = at;
        }
        et_arena_destroy(s.arena);
    }
    ck_assert_int_gt(found, 20);
}
END_TEST

TEST_MAIN("expr", common_factors, remainders_of_neighbours, loads_keep_their_factors,
          quotients_compare, multiples_of_quotients_compare, limits, random_values,
          the_same_in_runs)
