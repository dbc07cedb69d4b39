/* Rows of sums that are to be at least 0, of columns that are: can they all be? The simplex method
 * in fractions, a row's numbers over a denominator of its own. */
#include "ir/verify/steps/simplex.h"
#include <string.h>

enum { PIVOTS = 300, GREEDY = 60 };

/* over[i] * (what row i is of) = the sum of at[i][j] * (what column j is of) + at[i][ncols]. */
struct sv_table {
    int rows, cols, nrows, ncols;
    sv_wide *at, *over;
    int *basic, *column; /* which unknown: slacks come after columns */
};

sv_table *sv_table_create(et_arena *a, int rows, int cols) {
    sv_table *t = et_alloc(a, sizeof *t);
    *t = (sv_table){.rows = rows, .cols = cols};
    t->at = et_alloc(a, (size_t)rows * (size_t)(cols + 1) * sizeof *t->at);
    t->over = et_alloc(a, (size_t)rows * sizeof *t->over);
    t->basic = et_alloc(a, (size_t)rows * sizeof *t->basic);
    t->column = et_alloc(a, (size_t)cols * sizeof *t->column);
    return t;
}

void sv_table_clear(sv_table *t, int ncols) {
    t->nrows = 0;
    t->ncols = ncols;
    for (int i = 0; i < ncols; i++)
        t->column[i] = i;
}

static sv_wide *row_at(const sv_table *t, int i) {
    return t->at + (size_t)i * (size_t)(t->cols + 1);
}

sv_wide *sv_table_row(sv_table *t) {
    if (t->nrows == t->rows) return NULL;
    sv_wide *r = row_at(t, t->nrows);
    memset(r, 0, (size_t)(t->ncols + 1) * sizeof *r);
    t->over[t->nrows] = 1;
    t->basic[t->nrows] = t->ncols + t->nrows;
    t->nrows++;
    return r;
}

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a;
}

static sv_wide wide_gcd(sv_wide a, sv_wide b) {
    b = b < 0 ? -b : b;
    while (b > INT64_MAX || (b && a > INT64_MAX)) {
        sv_wide r = a % b;
        a = b;
        b = r;
    }
    return b ? gcd((int64_t)a, (int64_t)b) : a;
}

/* Divide a row by what all its numbers share. */
static void reduce(const sv_table *t, int i) {
    sv_wide *r = row_at(t, i), g = t->over[i];
    for (int j = 0; j <= t->ncols && g != 1; j++)
        if (r[j]) g = wide_gcd(g, r[j]);
    if (g == 1) return;
    t->over[i] /= g;
    for (int j = 0; j <= t->ncols; j++)
        if (r[j]) r[j] /= g;
}

/* *A = *A * X + B * Y; false when that does not fit. */
static bool fuse(sv_wide *a, sv_wide x, sv_wide b, sv_wide y) {
    sv_wide c, d;
    return !__builtin_mul_overflow(*a, x, &c) && !__builtin_mul_overflow(b, y, &d) &&
           !__builtin_add_overflow(c, d, a);
}

/* What column C is of is computed by row R from here on, and the other way round. */
static bool pivot(sv_table *t, int r, int c) {
    sv_wide *from = row_at(t, r), by = from[c], had = t->over[r];
    for (int j = 0; j <= t->ncols; j++)
        from[j] = -from[j];
    from[c] = had;
    t->over[r] = by;
    reduce(t, r);
    by = t->over[r];
    for (int i = 0; i < t->nrows; i++) {
        sv_wide *to = row_at(t, i), times = to[c];
        if (i == r || !times) continue;
        to[c] = 0;
        for (int j = 0; j <= t->ncols; j++)
            if ((to[j] || from[j]) && !fuse(&to[j], by, from[j], times)) return false;
        if (__builtin_mul_overflow(t->over[i], by, &t->over[i])) return false;
        reduce(t, i);
    }
    int swap = t->basic[r];
    t->basic[r] = t->column[c];
    t->column[c] = swap;
    return true;
}

/* A row that is below 0 where all columns are 0: soon the one furthest, later the first of the
 * unknowns, so that there is an end; -1: there is none. */
static int lowest(const sv_table *t, bool first) {
    int best = -1;
    for (int i = 0; i < t->nrows; i++) {
        sv_wide b = row_at(t, i)[t->ncols];
        if (b >= 0) continue;
        if (best < 0 || (first ? t->basic[i] < t->basic[best]
                               : b / t->over[i] < row_at(t, best)[t->ncols] / t->over[best]))
            best = i;
    }
    return best;
}

static int raising(const sv_table *t, int row) {
    const sv_wide *r = row_at(t, row);
    int best = -1;
    for (int j = 0; j < t->ncols; j++)
        if (r[j] > 0 && (best < 0 || t->column[j] < t->column[best])) best = j;
    return best;
}

bool sv_table_never(sv_table *t, int64_t *work) {
    for (int n = 0; n < PIVOTS; n++) {
        int r = lowest(t, n >= GREEDY);
        if (r < 0) return false;
        int c = raising(t, r);
        if (c < 0) return true;
        *work += 1 + t->nrows * t->ncols / 8;
        if (!pivot(t, r, c)) return false;
    }
    return false;
}
