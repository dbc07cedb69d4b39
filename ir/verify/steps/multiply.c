/* Inequalities times numbers. A product of numbers is a column of a table of its own, by its
 * factors, however it was written; an inequality times a number that is not negative is one more
 * inequality. Those are added that speak of products which others speak of, and linear
 * programming finds the sum of some that cannot hold. So it follows from r < A * B and
 * j < C that (C * r + j) / (A * B) < C. */
#include "ir/verify/steps/problem.h"
#include "ir/verify/steps/simplex.h"
#include <string.h>

typedef sv_wide wide;
enum { DEGREE = 6, COLUMNS = 160, ROWS = 320, ROUNDS = 4, FACTORS = 64, ENDS = 12, QUOTIENTS = 32 };

struct column {
    int n, factor[DEGREE]; /* numbers, ascending */
    int64_t lo, hi;
};

/* What quotient Q may be less than: BY times column C, MOST where all dims are largest. */
struct end {
    struct column c;
    int64_t by;
    wide most;
};
struct ends {
    int q, n;
    struct end end[ENDS];
};

struct sv_products {
    struct column col[COLUMNS];
    sv_linear row[ROWS]; /* of columns */
    int ncols, nrows;
    int64_t known[ROWS]; /* the constants of rows that were there before any product */
    int known_cols, known_rows;
    struct ends ends[QUOTIENTS];
    uint64_t done[ROWS]; /* times which factors a row was taken */
    sv_table *table;
};

static const struct sv_prod *product_of(const sv_problem *p, int number) {
    for (int i = 0; i < p->nproduct; i++)
        if (p->product[i].z == number) return &p->product[i];
    return NULL;
}

/* C times NUMBER, *BY times what has one value; false when there are too many factors. */
static bool times(const sv_problem *p, struct column *c, int number, int64_t *by) {
    const struct sv_dom *d = &p->dom[number];
    if (d->lo == d->hi) return !__builtin_mul_overflow(*by, d->lo, by);
    const struct sv_prod *m = product_of(p, number);
    if (m) return times(p, c, m->x, by) && times(p, c, m->y, by);
    if (c->n == DEGREE) return false;
    int at = c->n++;
    for (; at && c->factor[at - 1] > number; at--)
        c->factor[at] = c->factor[at - 1];
    c->factor[at] = number;
    return true;
}

static bool same_column(const struct column *a, const struct column *b) {
    return a->n == b->n && !memcmp(a->factor, b->factor, (size_t)a->n * sizeof *a->factor);
}

static int find(const struct sv_products *s, const struct column *c) {
    for (int i = 0; i < s->ncols; i++)
        if (same_column(&s->col[i], c)) return i;
    return -1;
}

/* Between what the factors' ends make; false beyond SV_MOST. */
static bool range_of(const sv_problem *p, struct column *c) {
    wide lo = 1, hi = 1;
    for (int i = 0; i < c->n; i++) {
        const struct sv_dom *d = &p->dom[c->factor[i]];
        wide end[] = {lo * d->lo, lo * d->hi, hi * d->lo, hi * d->hi};
        lo = hi = end[0];
        for (int k = 1; k < 4; k++) {
            lo = end[k] < lo ? end[k] : lo;
            hi = end[k] > hi ? end[k] : hi;
        }
        if (lo < -SV_MOST || hi > SV_MOST) return false;
    }
    c->lo = (int64_t)lo;
    c->hi = (int64_t)hi;
    return c->lo > -SV_MOST;
}

static int column_of(const sv_problem *p, struct sv_products *s, struct column *c) {
    int at = find(s, c);
    if (at >= 0) return at;
    if (s->ncols == COLUMNS || !range_of(p, c)) return -1;
    s->col[s->ncols] = *c;
    return s->ncols++;
}

/* What is known of NUMBER itself, which is column C. */
static void narrow(const sv_problem *p, struct column *c, int number) {
    c->lo = c->lo > p->dom[number].lo ? c->lo : p->dom[number].lo;
    c->hi = c->hi < p->dom[number].hi ? c->hi : p->dom[number].hi;
}

static void add_row(struct sv_products *s, const sv_linear *like) {
    sv_linear f = *like;
    sv_reduce(&f);
    for (int i = 0; i < s->nrows; i++)
        if (sv_same_terms(&s->row[i], &f)) {
            if (f.k < s->row[i].k) s->row[i].k = f.k;
            return;
        }
    if (s->nrows < ROWS) s->row[s->nrows++] = f;
}

/* F += BY * (column C). */
static bool add_term(const sv_problem *p, struct sv_products *s, sv_linear *f, struct column *c,
                     int64_t by) {
    sv_linear term = sv_constant(1);
    if (c->n) {
        int at = column_of(p, s, c);
        if (at < 0) return false;
        term = sv_of(at);
    }
    return sv_add(f, &term, by, f);
}

static void add_condition(const sv_problem *p, struct sv_products *s, const sv_linear *f) {
    sv_linear r = sv_constant(f->k);
    for (int i = 0; i < f->n; i++) {
        struct column c = {0};
        int64_t by = f->coef[i];
        if (!times(p, &c, f->number[i], &by) || !add_term(p, s, &r, &c, by)) return;
        int at = find(s, &c);
        if (at >= 0 && by == f->coef[i]) narrow(p, &s->col[at], f->number[i]);
    }
    add_row(s, &r);
}

/* Row F times NUMBER, if a product in it comes up elsewhere; false where none does yet. */
static bool add_multiple(const sv_problem *p, struct sv_products *s, const sv_linear *f,
                         int number) {
    struct column c[SV_TERMS];
    int known = 0, unknown = 0;
    int64_t by = 1;
    for (int i = 0; i < f->n; i++) {
        c[i] = s->col[f->number[i]];
        if (!times(p, &c[i], number, &by)) return true;
        if (find(s, &c[i]) >= 0)
            known++;
        else
            unknown += c[i].n > 1;
    }
    if (!known || unknown > 1) return false;
    struct column alone = {.n = 1, .factor = {number}};
    sv_linear r = sv_constant(0);
    for (int i = 0; i < f->n; i++)
        if (!add_term(p, s, &r, &c[i], f->coef[i])) return true;
    if (!f->k || add_term(p, s, &r, &alone, f->k)) add_row(s, &r);
    return true;
}

/* Dims that are factors of a product, and not negative. */
static int find_factors(const sv_problem *p, const struct sv_products *s, int *out) {
    int n = 0;
    for (int i = 0; i < s->ncols; i++)
        for (int k = 0; s->col[i].n > 1 && k < s->col[i].n; k++) {
            int at = 0, v = s->col[i].factor[k];
            while (at < n && out[at] != v)
                at++;
            if (at == n && n < FACTORS && p->dom[v].dim && p->dom[v].lo >= 0) out[n++] = v;
        }
    return n;
}

/* The product of column C and what it lacks of column WHOLE: which number that is, -1 if it is not
 * one. */
static int missing(const struct column *c, const struct column *whole) {
    int lacks = -1, k = 0;
    if (c->n + 1 != whole->n) return -1;
    for (int i = 0; i < whole->n; i++) {
        if (k < c->n && c->factor[k] == whole->factor[i])
            k++;
        else if (lacks < 0)
            lacks = whole->factor[i];
        else
            return -1;
    }
    return lacks;
}

/* (v - lo) * rest >= 0 of each product v * rest of a dim, rest >= 0. */
static void add_bounds(const sv_problem *p, struct sv_products *s) {
    for (int i = 0; i < s->ncols; i++)
        for (int k = 0; k < s->ncols; k++) {
            int v = s->col[i].lo >= 0 ? missing(&s->col[i], &s->col[k]) : -1;
            sv_linear whole = sv_of(k), rest = sv_of(i), f;
            if (v >= 0 && p->dom[v].dim && p->dom[v].lo && sv_add(&whole, &rest, -p->dom[v].lo, &f))
                add_row(s, &f);
        }
    for (int i = 0; i < s->ncols; i++) {
        sv_linear f = {.n = 1, .number = {i}, .coef = {-1}, .k = s->col[i].hi};
        if (s->col[i].hi < SV_MOST) add_row(s, &f);
    }
}

static bool never_hold(sv_problem *p, struct sv_products *s) {
    sv_table_clear(s->table, s->ncols);
    for (int i = 0; i < s->nrows; i++) {
        const sv_linear *f = &s->row[i];
        sv_wide *r = sv_table_row(s->table);
        if (!r) break;
        r[s->ncols] = f->k;
        for (int k = 0; k < f->n; k++) {
            r[f->number[k]] = f->coef[k];
            r[s->ncols] += (wide)f->coef[k] * s->col[f->number[k]].lo;
        }
    }
    return sv_table_never(s->table, &p->work);
}

/* Back to what is known. */
static void forget(struct sv_products *s) {
    s->ncols = s->known_cols;
    s->nrows = s->known_rows;
    for (int i = 0; i < s->nrows; i++)
        s->row[i].k = s->known[i];
}

static void remember(struct sv_products *s) {
    s->known_cols = s->ncols;
    s->known_rows = s->nrows;
    for (int i = 0; i < s->nrows; i++)
        s->known[i] = s->row[i].k;
}

/* Products of what is known and ALSO, which is supposed; then: can it all be? */
static bool contradicts(sv_problem *p, struct sv_products *s, const sv_linear *also) {
    int factor[FACTORS];
    if (also) add_row(s, also);
    memset(s->done, 0, sizeof s->done);
    for (int round = 0; round < ROUNDS; round++) {
        int until = s->nrows, n = find_factors(p, s, factor);
        for (int r = 0; r < until; r++)
            for (int i = 0; i < n; i++)
                if (!(s->done[r] >> i & 1) && add_multiple(p, s, &s->row[r], factor[i]))
                    s->done[r] |= (uint64_t)1 << i;
        p->work += (int64_t)until * n;
    }
    int had = s->nrows;
    add_bounds(p, s);
    bool never = never_hold(p, s);
    s->nrows = had;
    return never;
}

/* ---- ends of quotients ---- */

/* C without the factors of BY; false where it has not all of them. */
static bool without(struct column *c, const struct column *by) {
    int n = 0, k = 0;
    for (int i = 0; i < c->n; i++) {
        if (k < by->n && by->factor[k] == c->factor[i])
            k++;
        else
            c->factor[n++] = c->factor[i];
    }
    c->n = n;
    return k == by->n;
}

/* Keeps the ENDS smallest, ascending. */
static void add_end(const sv_problem *p, struct ends *e, const struct column *c, int64_t by) {
    struct end new = {*c, by, by};
    for (int i = 0; i < c->n; i++) {
        if (!p->dom[c->factor[i]].dim || new.most > SV_MOST) return;
        new.most *= p->dom[c->factor[i]].hi;
    }
    int at = e->n;
    for (int i = e->n - 1; i >= 0; i--) {
        if (e->end[i].by == by && same_column(&e->end[i].c, c)) return;
        if (e->end[i].most > new.most) at = i;
    }
    if (at == ENDS) return;
    e->n += e->n < ENDS;
    for (int i = e->n - 1; i > at; i--)
        e->end[i] = e->end[i - 1];
    e->end[at] = new;
}

/* Of F / D: all that comes up times D. */
static void find_ends(const sv_problem *p, const struct sv_products *s, const struct sv_quot *q,
                      struct ends *out) {
    struct column d = {0};
    int64_t by = q->by.n ? q->by.coef[0] : q->by.k;
    out->n = 0;
    out->q = q->q;
    if (q->by.n > 1 || (q->by.n && q->by.k)) return;
    if (q->by.n && !times(p, &d, q->by.number[0], &by)) return;
    for (int i = 0; i < s->nrows; i++)
        for (int k = 0; k < s->row[i].n; k++) {
            struct column c = s->col[s->row[i].number[k]];
            int64_t has = s->row[i].coef[k] < 0 ? -s->row[i].coef[k] : s->row[i].coef[k];
            if (without(&c, &d)) add_end(p, out, &c, has % by ? 1 : has / by);
        }
}

/* Q is less than the end; if so, that is known from here on. */
static bool is_less(sv_problem *p, struct sv_products *s, int q, struct end *e) {
    sv_linear f = sv_constant(0), less = sv_constant(-1);
    struct column of = {0};
    int64_t one = 1;
    if (!times(p, &of, q, &one) || !add_term(p, s, &f, &of, one) ||
        !add_term(p, s, &f, &e->c, -e->by))
        return false;
    remember(s);
    bool yes = contradicts(p, s, &f);
    forget(s);
    if (!yes || !sv_add(&less, &f, -1, &less)) return false;
    add_row(s, &less);
    remember(s);
    return true;
}

static void start(sv_problem *p) {
    if (!p->products) {
        p->products = et_alloc(p->arena, sizeof *p->products);
        p->products->table = sv_table_create(p->arena, ROWS, COLUMNS);
    }
    struct sv_products *s = p->products;
    s->ncols = s->nrows = 0;
    for (int i = 0; i < p->nlin; i++)
        add_condition(p, s, &p->cond[p->lin[i]].f);
    remember(s);
}

bool sv_multiply(sv_problem *p) {
    bool more = false;
    if (!p->nproduct) return false;
    start(p);
    struct sv_products *s = p->products;
    if (contradicts(p, s, NULL)) return true;
    int n = p->nquotient < QUOTIENTS ? p->nquotient : QUOTIENTS;
    for (int i = 0; i < n; i++)
        find_ends(p, s, &p->quotient[i], &s->ends[i]);
    forget(s);
    for (int i = 0; i < n; i++) {
        bool less = false;
        for (int k = 0; k < s->ends[i].n && !less; k++)
            less = is_less(p, s, s->ends[i].q, &s->ends[i].end[k]);
        more |= less;
    }
    return more && contradicts(p, s, NULL);
}
