/* test_linear [ROUNDS]: random small systems of linear constraints, against trying every point. */
#include "ir/verify/linear.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { VARS = 4, KEPT = 2, SIDE = 4, WIDE = 6 };

static uint64_t state = 12345;

static int64_t pick(int64_t lo, int64_t hi) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return lo + (int64_t)((state >> 33) % (uint64_t)(hi - lo + 1));
}

static vl_form random_form(int most) {
    vl_form f = vl_const(pick(-9, 9));
    for (int v = 0; v < VARS; v++) {
        vl_form x = vl_var(v);
        if (pick(0, 2)) f = vl_add(&f, &x, pick(-most, most));
    }
    return f;
}

/* Every variable within SIDE of 0, and some more that is true of all or one of two ways. */
static void fill(vl_sys *s) {
    s->n = s->nsplits = 0;
    for (int v = 0; v < VARS; v++)
        for (int sign = -1; sign <= 1; sign += 2) {
            vl_form x = vl_var(v), f = vl_scale(&x, sign);
            f.k = SIDE;
            vl_push(s, &f, false);
        }
    for (int64_t i = pick(1, 4); i > 0; i--) {
        vl_form f = random_form(pick(0, 3) ? 3 : 7);
        vl_push(s, &f, pick(0, 4) == 0);
    }
    for (int64_t i = pick(0, 2); i > 0; i--) {
        vl_split *p = vl_push_split(s);
        p->ways = 2;
        for (int w = 0; w < 2; w++)
            p->row[w][p->n[w]++] = (vl_row){random_form(3), pick(0, 3) == 0};
    }
}

static bool row_holds(const vl_row *r, const int64_t *at) {
    int64_t v = r->f.k;
    for (int i = 0; i < r->f.n; i++)
        v += r->f.by[i] * at[r->f.var[i]];
    return r->eq ? v == 0 : v >= 0;
}

static bool holds(const vl_sys *s, const int64_t *at) {
    for (int i = 0; i < s->n; i++)
        if (!row_holds(&s->row[i], at)) return false;
    for (int i = 0; i < s->nsplits; i++) {
        bool some = false;
        for (int w = 0; w < s->split[i].ways; w++) {
            bool all = true;
            for (int r = 0; r < s->split[i].n[w]; r++)
                all &= row_holds(&s->split[i].row[w][r], at);
            some |= all;
        }
        if (!some) return false;
    }
    return true;
}

/* A point of S with the first FIXED values as they are. */
static bool has_point(const vl_sys *s, int64_t *at, int fixed) {
    if (fixed == VARS) return holds(s, at);
    for (at[fixed] = -SIDE; at[fixed] <= SIDE; at[fixed]++)
        if (has_point(s, at, fixed + 1)) return true;
    return false;
}

static int fail(const char *what, int round) {
    printf("round %d: %s\n", round, what);
    return 1;
}

int main(int argc, char **argv) {
    int rounds = argc > 1 ? atoi(argv[1]) : 4000, without = 0, told = 0, left = 0, points = 0;
    et_arena *a = et_arena_create();
    vl_work *w = vl_work_create(a, INT64_MAX);
    vl_sys s = {.arena = a}, whole = {.arena = a};
    for (int round = 0; round < rounds; round++) {
        int64_t at[VARS] = {0}, out[VARS];
        fill(&s);
        bool some = has_point(&s, at, 0), empty = vl_empty(w, &s);
        without += !some;
        told += empty;
        if (empty && some) return fail("said to have no solution", round);
        if (vl_solve(w, &s, VARS, out)) {
            points++;
            if (!holds(&s, out)) return fail("no solution", round);
        }
        s.nsplits = 0;
        whole.n = 0;
        for (int i = 0; i < s.n; i++)
            vl_push_row(&whole, &s.row[i]);
        if (!vl_project(w, &s, KEPT, VARS, VARS)) continue;
        left++;
        for (at[0] = -WIDE; at[0] <= WIDE; at[0]++)
            for (at[1] = -WIDE; at[1] <= WIDE; at[1]++)
                if (holds(&s, at) && !has_point(&whole, (int64_t[VARS]){at[0], at[1]}, KEPT))
                    return fail("a projection holds where the rest has no values", round);
    }
    printf("%d systems: %d without solutions, told of %d; %d solutions; %d projections\n", rounds,
           without, told, points, left);
    et_arena_destroy(a);
    /* Few are missed: those that only integers make impossible, and not by rounding one row. */
    return told * 10 < without * 8 || left * 2 < rounds / 2;
}
