/* test_products [ROUNDS]: random small problems with products of dims and quotients by them,
 * against trying every point; and what must be shown of shapes of any size. */
#include "ir/verify/steps/solve.h"
#include <stdio.h>
#include <stdlib.h>

enum { DIMS = 3, COORDS = 2, SIDE = 4, ROWS = 3, TERMS = 4 };

static uint64_t state = 4242;

static int64_t pick(int64_t lo, int64_t hi) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return lo + (int64_t)((state >> 33) % (uint64_t)(hi - lo + 1));
}

/* Numbers of a problem: dims, coordinates, products of two of those, quotients of one by a dim. */
struct made {
    int kind, x, y;
};

static int64_t value_of(const struct made *m, const int64_t *v) {
    return m->kind == 0 ? v[m->x] : m->kind == 1 ? v[m->x] * v[m->y] : v[m->x] / v[m->y];
}

struct row {
    int64_t coef[TERMS], k;
    int of[TERMS];
};

static bool holds(int nrows, const struct row *row, const struct made *made, const int64_t *v) {
    for (int r = 0; r < nrows; r++) {
        int64_t sum = row[r].k;
        for (int t = 0; t < TERMS; t++)
            sum += row[r].coef[t] * value_of(&made[row[r].of[t]], v);
        if (sum < 0) return false;
    }
    return true;
}

static bool has_point(int nrows, const struct row *row, const struct made *made, int64_t *v,
                      int at) {
    if (at == DIMS + COORDS) return holds(nrows, row, made, v);
    for (v[at] = at < DIMS; v[at] <= SIDE; v[at]++)
        if (has_point(nrows, row, made, v, at + 1)) return true;
    return false;
}

static void say_quotient(sv_problem *p, int q, int of, int by) {
    int z = sv_number(p, 0, SIDE * SIDE);
    sv_linear whole = sv_of(z), a = sv_of(of), rest, b = sv_of(by);
    sv_product(p, z, q < by ? q : by, q < by ? by : q);
    sv_add(&a, &whole, -1, &rest);
    sv_linear zero = sv_constant(0);
    sv_assert(p, sv_le(p, &zero, &rest));
    sv_assert(p, sv_lt(p, &rest, &b));
    sv_quotient_is(p, q, &a, &b);
}

static int try_one(sv_problem *p, int *none, int *told) {
    struct made made[DIMS + COORDS + 4];
    struct row row[ROWS];
    int number[DIMS + COORDS + 4], n = 0;
    sv_clear(p);
    for (; n < DIMS + COORDS; n++) {
        made[n] = (struct made){0, n, 0};
        number[n] = n < DIMS ? sv_dim(p, 1, SIDE) : sv_number(p, 0, SIDE);
    }
    for (int i = 0; i < 4; i++, n++) {
        int x = (int)pick(0, DIMS + COORDS - 1), y = (int)pick(0, DIMS - 1);
        made[n] = (struct made){1 + (i > 2), x, y};
        number[n] = sv_number(p, 0, SIDE * SIDE);
        if (i > 2)
            say_quotient(p, number[n], number[x], number[y]);
        else
            sv_product(p, number[n], number[x], number[y]);
    }
    for (int r = 0; r < ROWS; r++) {
        sv_linear f = sv_constant(row[r].k = pick(-6, 2)), zero = sv_constant(0);
        for (int t = 0; t < TERMS; t++) {
            row[r].of[t] = (int)pick(0, n - 1);
            row[r].coef[t] = pick(-2, 2);
            sv_linear term = sv_of(number[row[r].of[t]]);
            sv_add(&f, &term, row[r].coef[t], &f);
        }
        sv_assert(p, sv_le(p, &zero, &f));
    }
    int64_t v[DIMS + COORDS];
    bool some = has_point(ROWS, row, made, v, 0);
    sv_answer a = sv_solve(p, SV_ANY);
    *none += !some;
    *told += a == SV_NO;
    return a == SV_NO && some;
}

/* r < A * B and j < C: (C * r + j) / (A * B) < C, dims up to a thousand. */
static bool shows_flat(sv_problem *p) {
    const int64_t most = 1000;
    sv_clear(p);
    int a = sv_dim(p, 1, most), b = sv_dim(p, 1, most), c = sv_dim(p, 1, most);
    int r = sv_number(p, 0, most * most), j = sv_number(p, 0, most);
    int ab = sv_number(p, 1, most * most), cr = sv_number(p, 0, most * most * most);
    int q = sv_number(p, 0, most * most * most), whole = sv_number(p, 0, most * most * most);
    sv_product(p, ab, a, b);
    sv_product(p, cr, c, r);
    sv_product(p, whole, ab, q);
    sv_linear row = sv_of(r), all = sv_of(ab), column = sv_of(j), width = sv_of(c);
    sv_linear x = sv_of(cr), y = sv_of(whole), z = sv_of(q), rest, zero = sv_constant(0);
    sv_add(&x, &column, 1, &x);
    sv_add(&x, &y, -1, &rest);
    sv_assert(p, sv_lt(p, &row, &all));
    sv_assert(p, sv_lt(p, &column, &width));
    sv_assert(p, sv_le(p, &zero, &rest));
    sv_assert(p, sv_lt(p, &rest, &all));
    sv_quotient_is(p, q, &x, &all);
    return sv_solve(p, sv_le(p, &width, &z)) == SV_NO;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 1500, none = 0, told = 0;
    et_arena *arena = et_arena_create();
    sv_problem *p = sv_create(arena);
    for (int i = 0; i < rounds; i++)
        if (try_one(p, &none, &told)) {
            printf("round %d: said to have no solution\n", i);
            return 1;
        }
    bool flat = shows_flat(p);
    printf("%d problems: %d without solutions, told of %d; a flat index %s\n", rounds, none, told,
           flat ? "stays inside" : "is not shown to stay inside");
    et_arena_destroy(arena);
    return !flat || told * 10 < none * 9;
}
