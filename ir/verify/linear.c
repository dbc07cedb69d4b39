/* Linear constraints over integers: Fourier and Motzkin's elimination, each row divided by the
 * greatest common divisor of its factors and its constant rounded, which no integer notices. */
#include "ir/verify/linear.h"
#include <stdlib.h>
#include <string.h>

enum { ROWS = 384, WIDTH = 48, DEPTH = 14, BIG = 1 << 30 };

/* ---- sums ---- */

vl_form vl_const(int64_t k) {
    return (vl_form){.ok = true, .k = k};
}

vl_form vl_var(int var) {
    return (vl_form){.ok = true, .n = 1, .var = {var}, .by = {1}};
}

static bool times(int64_t a, int64_t b, int64_t *out) {
    return !__builtin_mul_overflow(a, b, out) && *out > INT64_MIN / 4 && *out < INT64_MAX / 4;
}

/* a + b * by; false when it is too large a number. */
static bool fused(int64_t a, int64_t b, int64_t by, int64_t *out) {
    return times(b, by, out) && !__builtin_add_overflow(a, *out, out) && *out > INT64_MIN / 4 &&
           *out < INT64_MAX / 4;
}

vl_form vl_add(const vl_form *a, const vl_form *b, int64_t by) {
    vl_form r = {.ok = a->ok && b->ok};
    int i = 0, j = 0;
    if (r.ok) r.ok = fused(a->k, b->k, by, &r.k);
    while (r.ok && (i < a->n || j < b->n)) {
        int x = i < a->n ? a->var[i] : INT32_MAX, y = j < b->n ? b->var[j] : INT32_MAX;
        int64_t c = x <= y ? a->by[i] : 0;
        if (y <= x) r.ok = fused(c, b->by[j], by, &c);
        i += x <= y;
        j += y <= x;
        if (!c) continue;
        if (r.n == VL_TERMS) r.ok = false;
        if (!r.ok) break;
        r.var[r.n] = x < y ? x : y;
        r.by[r.n++] = c;
    }
    return r;
}

vl_form vl_scale(const vl_form *a, int64_t by) {
    vl_form zero = vl_const(0);
    return vl_add(&zero, a, by);
}

void vl_shift(vl_form *f, int64_t by) {
    f->ok &= !__builtin_add_overflow(f->k, by, &f->k);
}

/* ---- systems ---- */

void vl_push_row(vl_sys *s, const vl_row *r) {
    if (!r->f.ok) {
        s->bad = true;
        return;
    }
    ET_GROW(s->arena, s->row, s->n, s->cap);
    s->row[s->n++] = *r;
}

void vl_push(vl_sys *s, const vl_form *f, bool eq) {
    vl_row r = {*f, eq};
    vl_push_row(s, &r);
}

vl_split *vl_push_split(vl_sys *s) {
    ET_GROW(s->arena, s->split, s->nsplits, s->csplits);
    vl_split *p = &s->split[s->nsplits++];
    memset(p, 0, sizeof *p);
    return p;
}

/* ---- a dense copy to work on ---- */

struct dense {
    int64_t c[WIDTH + 1]; /* the constant last */
    bool eq;
};

struct vl_work {
    struct dense row[ROWS];
    int n, width;
    int var[WIDTH]; /* which variable a column is */
    int64_t done, limit;
    /* What was eliminated, for going back: a column and the rows that bound it. */
    struct dense *trail;
    int ntrail, ctrail, order[WIDTH], first[WIDTH + 1], norder;
    et_arena *arena;
};

vl_work *vl_work_create(et_arena *a, int64_t limit) {
    vl_work *w = et_alloc(a, sizeof *w);
    w->limit = limit;
    w->arena = a;
    return w;
}

bool vl_spent(const vl_work *w) {
    return w->done > w->limit;
}

static int64_t gcd(int64_t a, int64_t b) {
    while (b) {
        int64_t r = a % b;
        a = b;
        b = r;
    }
    return a < 0 ? -a : a;
}

static int64_t floor_div(int64_t a, int64_t b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

enum verdict { FINE, TRIVIAL, NEVER };

/* Divide by what all factors share. */
static enum verdict tighten(const vl_work *w, struct dense *r) {
    int64_t g = 0;
    for (int v = 0; v < w->width; v++)
        if (r->c[v]) g = gcd(r->c[v], g);
    int64_t *k = &r->c[w->width];
    if (!g) return r->eq ? (*k ? NEVER : TRIVIAL) : *k < 0 ? NEVER : TRIVIAL;
    if (g == 1) return FINE;
    if (r->eq && *k % g) return NEVER;
    for (int v = 0; v < w->width; v++)
        r->c[v] /= g;
    *k = floor_div(*k, g);
    return FINE;
}

static int column_of(vl_work *w, int var) {
    for (int v = 0; v < w->width; v++)
        if (w->var[v] == var) return v;
    return -1;
}

/* A column for each variable of the row; false when there is no room. */
static bool add_columns(vl_work *w, const vl_form *f) {
    int had = w->width;
    for (int t = 0; t < f->n; t++) {
        if (column_of(w, f->var[t]) >= 0) continue;
        if (w->width == WIDTH) {
            w->width = had;
            return false;
        }
        w->var[w->width++] = f->var[t];
    }
    return true;
}

/* What there is room for, the first rows first; false when that is not all. */
static bool load(vl_work *w, const vl_sys *s) {
    const vl_row *of[ROWS];
    bool all = true;
    w->n = w->width = 0;
    for (int i = 0; i < s->n; i++)
        if (w->n < ROWS && add_columns(w, &s->row[i].f))
            of[w->n++] = &s->row[i];
        else
            all = false;
    for (int i = 0; i < w->n; i++) {
        struct dense *r = &w->row[i];
        memset(r, 0, sizeof *r);
        r->eq = of[i]->eq;
        r->c[w->width] = of[i]->f.k;
        for (int t = 0; t < of[i]->f.n; t++)
            r->c[column_of(w, of[i]->f.var[t])] = of[i]->f.by[t];
    }
    return all;
}

/* TO = A * x + B * y, x > 0 or B an equation; false when numbers grow too large. */
static bool combine(const vl_work *w, const struct dense *a, int64_t x, const struct dense *b,
                    int64_t y, struct dense *to) {
    struct dense r;
    r.eq = a->eq && b->eq;
    for (int v = 0; v <= w->width; v++)
        if (!times(a->c[v], x, &r.c[v]) || !fused(r.c[v], b->c[v], y, &r.c[v])) return false;
    *to = r;
    return true;
}

static bool same_factors(const vl_work *w, const struct dense *a, const struct dense *b) {
    return memcmp(a->c, b->c, (size_t)w->width * sizeof *a->c) == 0;
}

/* Rows tightened, those that say nothing or less than another left out. False: none can hold. */
static bool tidy(vl_work *w) {
    int n = 0;
    for (int i = 0; i < w->n; i++) {
        enum verdict t = tighten(w, &w->row[i]);
        if (t == NEVER) return false;
        if (t == TRIVIAL) continue;
        int64_t k = w->row[i].c[w->width];
        bool known = false;
        for (int o = 0; o < n && !known; o++) {
            if (w->row[o].eq != w->row[i].eq || !same_factors(w, &w->row[o], &w->row[i])) continue;
            known = true;
            if (w->row[i].eq && k != w->row[o].c[w->width]) return false;
            if (k < w->row[o].c[w->width]) w->row[o].c[w->width] = k;
        }
        if (!known) w->row[n++] = w->row[i];
    }
    w->done += 1 + w->n * w->n / 16;
    w->n = n;
    return true;
}

/* ---- equations ---- */

/* An equation and a column that it gives, with factor 1 or -1 where there is one. Columns that are
 * WANTED only. */
static bool find_equation(const vl_work *w, const bool *wanted, int *out_row, int *out_column) {
    int64_t best = INT64_MAX;
    for (int i = 0; i < w->n; i++)
        for (int v = 0; v < w->width && w->row[i].eq; v++) {
            int64_t c = llabs(w->row[i].c[v]);
            if (!c || c >= best || (wanted && !wanted[v])) continue;
            best = c;
            *out_row = i;
            *out_column = v;
        }
    return best != INT64_MAX;
}

/* Every row without column V, by equation E, which goes. EXACT: fail rather than leave out a row.
 */
static bool substitute(vl_work *w, int e, int v, bool exact) {
    struct dense eq = w->row[e];
    int64_t c = eq.c[v], size = llabs(c);
    w->row[e] = w->row[--w->n];
    for (int i = 0; i < w->n; i++) {
        if (!w->row[i].c[v]) continue;
        int64_t by = w->row[i].c[v] * (c < 0 ? 1 : -1);
        if (combine(w, &w->row[i], size, &eq, by, &w->row[i])) continue;
        if (exact) return false;
        w->row[i--] = w->row[--w->n];
    }
    return true;
}

/* ---- inequalities ---- */

static void count_signs(const vl_work *w, int v, int *pos, int *neg) {
    *pos = *neg = 0;
    for (int i = 0; i < w->n; i++) {
        *pos += w->row[i].c[v] > 0;
        *neg += w->row[i].c[v] < 0;
    }
}

/* Do the bounds of column V on one side have a factor of 1? Then no integer is lost with it. */
static bool is_exact(const vl_work *w, int v) {
    bool pos = true, neg = true;
    for (int i = 0; i < w->n; i++) {
        pos &= w->row[i].c[v] <= 1;
        neg &= w->row[i].c[v] >= -1;
    }
    return pos || neg;
}

/* The column that costs least to do without, if there are any of those that lose nothing; -1 when
 * none is left. */
static int cheapest(const vl_work *w, const bool *wanted) {
    int best = -1;
    bool least_exact = false;
    long cost = 0;
    for (int v = 0; v < w->width; v++) {
        int pos, neg;
        if (wanted && !wanted[v]) continue;
        count_signs(w, v, &pos, &neg);
        if (!pos && !neg) continue;
        long c = (long)pos * neg - pos - neg;
        bool exact = is_exact(w, v);
        if (best < 0 || exact > least_exact || (exact == least_exact && c < cost))
            best = v, cost = c, least_exact = exact;
    }
    return best;
}

/* Every pair of bounds of column V in place of both. Where the column has to have an integer value
 * (DARK), the pair leaves room for one. False when there is no room, or DARK and not exact. */
static bool eliminate(vl_work *w, int v, bool dark) {
    int n = w->n, pos, neg;
    count_signs(w, v, &pos, &neg);
    if (n + pos * neg > ROWS) return false;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n && w->row[i].c[v] > 0; j++) {
            struct dense *r = &w->row[w->n];
            int64_t a = w->row[i].c[v], b = -w->row[j].c[v], g;
            if (b <= 0) continue;
            g = gcd(a, b);
            if (!combine(w, &w->row[i], b / g, &w->row[j], a / g, r)) {
                if (dark) return false;
                continue;
            }
            int64_t slack = (a - 1) * (b - 1);
            if (dark && slack) r->c[w->width] -= (slack + g - 1) / g;
            w->n++;
        }
    int kept = 0;
    for (int i = 0; i < w->n; i++)
        if (!w->row[i].c[v]) w->row[kept++] = w->row[i];
    w->done += w->n;
    w->n = kept;
    return true;
}

/* No integers satisfy the rows loaded. */
static bool never(vl_work *w) {
    int row, v;
    for (;;) {
        if (!tidy(w)) return true;
        if (vl_spent(w)) return false;
        if (find_equation(w, NULL, &row, &v)) {
            substitute(w, row, v, false);
            continue;
        }
        v = cheapest(w, NULL);
        if (v < 0 || !eliminate(w, v, false)) return false;
    }
}

static bool empty(vl_work *w, vl_sys *s, int split, int depth) {
    int n = s->n;
    if (vl_spent(w)) return false;
    load(w, s); /* what some of the rows rule out all do */
    if (never(w)) return true;
    if (split == s->nsplits || depth == DEPTH) return false;
    bool all = true;
    for (int i = 0; i < s->split[split].ways && all; i++) {
        for (int r = 0; r < s->split[split].n[i]; r++)
            vl_push_row(s, &s->split[split].row[i][r]);
        all = empty(w, s, split + 1, depth + 1);
        s->n = n;
    }
    return all;
}

bool vl_empty(vl_work *w, vl_sys *s) {
    return empty(w, s, 0, 0);
}

/* ---- projection ---- */

static bool store(const vl_work *w, vl_sys *s) {
    s->n = 0;
    for (int i = 0; i < w->n; i++) {
        vl_form f = vl_const(w->row[i].c[w->width]);
        for (int v = 0; v < w->width; v++) {
            vl_form x = vl_var(w->var[v]);
            if (w->row[i].c[v]) f = vl_add(&f, &x, w->row[i].c[v]);
        }
        if (!f.ok) return false;
        vl_push(s, &f, w->row[i].eq);
    }
    return true;
}

bool vl_project(vl_work *w, vl_sys *s, int first, int last, int rest) {
    bool wanted[WIDTH];
    int row, v;
    if (s->bad || !load(w, s)) return false;
    for (int i = 0; i < w->width; i++)
        wanted[i] = (w->var[i] >= first && w->var[i] < last) || w->var[i] >= rest;
    for (;;) {
        if (!tidy(w) || vl_spent(w)) return false;
        if (find_equation(w, wanted, &row, &v)) {
            if (llabs(w->row[row].c[v]) != 1 || !substitute(w, row, v, true)) return false;
            continue;
        }
        v = cheapest(w, wanted);
        if (v < 0) break;
        if (!eliminate(w, v, true)) return false;
    }
    return store(w, s);
}

/* ---- solutions ---- */

/* Values for the columns of the rows loaded: eliminates one after another and goes back. */
static void keep(vl_work *w, int v) {
    w->first[w->norder] = w->ntrail;
    w->order[w->norder++] = v;
    for (int i = 0; i < w->n; i++) {
        if (!w->row[i].c[v]) continue;
        ET_GROW(w->arena, w->trail, w->ntrail, w->ctrail);
        w->trail[w->ntrail++] = w->row[i];
    }
    w->first[w->norder] = w->ntrail;
}

/* The bounds that kept rows set to column number AT, the later ones having values. */
static bool bounds_at(const vl_work *w, int at, const int64_t *value, int64_t *lo, int64_t *hi) {
    int v = w->order[at];
    *lo = -(int64_t)BIG * BIG;
    *hi = (int64_t)BIG * BIG;
    for (int i = w->first[at]; i < w->first[at + 1]; i++) {
        const struct dense *r = &w->trail[i];
        int64_t rest = r->c[w->width], c = r->c[v];
        for (int o = 0; o < w->width; o++)
            if (o != v && r->c[o] && !fused(rest, r->c[o], value[o], &rest)) return false;
        if (r->eq && rest % c) return false;
        int64_t at_least = -floor_div(rest, c), at_most = floor_div(rest, -c);
        if ((c > 0 || r->eq) && at_least > *lo) *lo = at_least;
        if ((c < 0 || r->eq) && at_most < *hi) *hi = at_most;
    }
    return *lo <= *hi;
}

static bool back(vl_work *w, int at, int64_t *value, int *tries) {
    int64_t lo, hi;
    if (at < 0) return true;
    if (--*tries < 0 || !bounds_at(w, at, value, &lo, &hi)) return false;
    int64_t mid = lo < 0 && hi > 0 ? 0 : llabs(lo) < llabs(hi) ? lo : hi;
    for (int64_t step = 0; step < 64; step++) {
        int64_t up = mid + step, down = mid - step;
        if (up >= lo && up <= hi) {
            value[w->order[at]] = up;
            if (back(w, at - 1, value, tries)) return true;
        }
        if (step && down >= lo && down <= hi) {
            value[w->order[at]] = down;
            if (back(w, at - 1, value, tries)) return true;
        }
    }
    return false;
}

static bool solve_rows(vl_work *w, const vl_sys *s, int count, int64_t *out) {
    int64_t value[WIDTH] = {0};
    int row, v, tries = 2000;
    if (!load(w, s)) return false;
    w->ntrail = w->norder = 0;
    for (;;) {
        if (!tidy(w) || vl_spent(w)) return false;
        if (find_equation(w, NULL, &row, &v)) {
            keep(w, v);
            substitute(w, row, v, false);
            continue;
        }
        v = cheapest(w, NULL);
        if (v < 0) break;
        keep(w, v);
        if (!eliminate(w, v, false)) return false;
    }
    if (!back(w, w->norder - 1, value, &tries)) return false;
    memset(out, 0, (size_t)count * sizeof *out);
    for (int i = 0; i < w->width; i++)
        if (w->var[i] < count) out[w->var[i]] = value[i];
    return true;
}

static bool solve(vl_work *w, vl_sys *s, int split, int count, int64_t *out) {
    int n = s->n;
    if (split == s->nsplits) return solve_rows(w, s, count, out);
    for (int i = 0; i < s->split[split].ways; i++) {
        for (int r = 0; r < s->split[split].n[i]; r++)
            vl_push_row(s, &s->split[split].row[i][r]);
        bool no = !load(w, s) || never(w);
        bool found = !no && solve(w, s, split + 1, count, out);
        s->n = n;
        if (found) return true;
    }
    return false;
}

bool vl_solve(vl_work *w, vl_sys *s, int count, int64_t *out) {
    return solve(w, s, 0, count, out);
}
