/* Inequalities that contradict each other together: one number after another is eliminated, each
 * inequality that bounds it from below added to each that bounds it from above (Fourier and
 * Motzkin), until a constant is less than 0 or nothing is left. What would take too much room is
 * left out, which can only make more possible. */
#include "ir/verify/steps/problem.h"

typedef __int128 wide;
enum { MAX_NUMBERS = 48 };

struct rows {
    sv_problem *p;
    int n;
    bool contradiction;
};

static void limits(const sv_problem *p, const sv_linear *f, wide *out_lo, wide *out_hi) {
    *out_lo = *out_hi = f->k;
    for (int i = 0; i < f->n; i++) {
        wide c = f->coef[i];
        const struct sv_dom *d = &p->dom[f->number[i]];
        *out_lo += c * (c > 0 ? d->lo : d->hi);
        *out_hi += c * (c > 0 ? d->hi : d->lo);
    }
}

/* F >= 0. What the bounds of its numbers say already is not kept, unless it is one of them. */
static void add_row(struct rows *r, const sv_linear *like, bool bounding) {
    sv_problem *p = r->p;
    sv_linear f = *like;
    wide lo, hi;
    sv_reduce(&f);
    limits(p, &f, &lo, &hi);
    p->work += f.n;
    if (hi < 0) r->contradiction = true;
    if (r->contradiction || !f.n || (lo >= 0 && !bounding)) return;
    for (int i = 0; i < r->n; i++)
        if (sv_same_terms(&p->rows[i], &f)) {
            if (f.k < p->rows[i].k) p->rows[i].k = f.k;
            p->bounding[i] &= bounding;
            return;
        }
    if (r->n == SV_ROWS) return;
    p->bounding[r->n] = bounding;
    p->rows[r->n++] = f;
}

static bool small(const struct sv_dom *d) {
    return d->lo > -((int64_t)1 << 40) && d->hi < (int64_t)1 << 40;
}

/* SIGN * (Z - (A * Y + B * X - A * B)) >= 0, where A bounds X and B bounds Y. */
static void add_envelope(struct rows *r, const struct sv_prod *m, int64_t a, int64_t b, int sign) {
    sv_linear f = {0}, z = sv_of(m->z), y = sv_of(m->y), x = sv_of(m->x);
    wide ab = (wide)a * b;
    if (ab > INT64_MAX / 2 || ab < -INT64_MAX / 2) return;
    f.k = (int64_t)ab * sign;
    if (sv_add(&f, &z, sign, &f) && sv_add(&f, &y, -a * sign, &f) && sv_add(&f, &x, -b * sign, &f))
        add_row(r, &f, false);
}

static void add_products(struct rows *r) {
    const sv_problem *p = r->p;
    for (int i = 0; i < p->nproduct; i++) {
        const struct sv_prod *m = &p->product[i];
        const struct sv_dom *x = &p->dom[m->x], *y = &p->dom[m->y];
        if (!small(x) || !small(y)) continue;
        add_envelope(r, m, x->lo, y->lo, 1);
        add_envelope(r, m, x->hi, y->hi, 1);
        add_envelope(r, m, x->hi, y->lo, -1);
        add_envelope(r, m, x->lo, y->hi, -1);
    }
}

/* Numbers in the rows, the first of too many, with their bounds as rows. */
static int add_bounds(struct rows *r, int number[MAX_NUMBERS]) {
    sv_problem *p = r->p;
    int n = 0, have = r->n;
    for (int i = 0; i < have; i++)
        for (int k = 0; k < p->rows[i].n; k++) {
            int at = 0, v = p->rows[i].number[k];
            while (at < n && number[at] != v)
                at++;
            if (at == n && n < MAX_NUMBERS) number[n++] = v;
        }
    for (int i = 0; i < n; i++) {
        const struct sv_dom *d = &p->dom[number[i]];
        sv_linear low = sv_of(number[i]), high = low;
        low.k = -d->lo;
        high.coef[0] = -1;
        high.k = d->hi;
        if (d->lo > -SV_MOST) add_row(r, &low, true);
        if (d->hi < SV_MOST) add_row(r, &high, true);
    }
    return n;
}

/* The number whose elimination adds the fewest rows. */
static int cheapest(const struct rows *r, int n, const int *number) {
    int best = -1, cost = 1 << 30;
    for (int i = 0; i < n; i++) {
        int up = 0, down = 0;
        for (int k = 0; k < r->n; k++) {
            int64_t c = sv_coef(&r->p->rows[k], number[i]);
            up += c > 0;
            down += c < 0;
        }
        if (up * down - up - down < cost) best = i, cost = up * down - up - down;
    }
    return best;
}

/* LOW, where the number has the factor A, and HIGH, where it has -B, added up without it. */
static bool combine(const sv_linear *low, int64_t a, const sv_linear *high, int64_t b,
                    sv_linear *out) {
    static const sv_linear zero;
    int64_t g = a, h = b;
    while (h) {
        int64_t t = g % h;
        g = h;
        h = t;
    }
    return sv_add(&zero, low, b / g, out) && sv_add(out, high, a / g, out);
}

static void eliminate(struct rows *r, int number) {
    sv_problem *p = r->p;
    int had = r->n, kept = 0;
    static const sv_linear none;
    int64_t coef[SV_ROWS];
    for (int i = 0; i < had; i++)
        coef[i] = sv_coef(&p->rows[i], number);
    for (int i = 0; i < had && !r->contradiction; i++) {
        if (coef[i] <= 0) continue;
        for (int k = 0; k < had && !r->contradiction; k++) {
            sv_linear f;
            if (coef[k] >= 0) continue;
            if (combine(&p->rows[i], coef[i], &p->rows[k], -coef[k], &f))
                add_row(r, &f, p->bounding[i] && p->bounding[k]);
        }
    }
    for (int i = 0; i < r->n; i++) {
        if (sv_coef(&p->rows[i], number)) continue;
        p->bounding[kept] = p->bounding[i];
        p->rows[kept++] = p->rows[i];
    }
    for (int i = kept; i < r->n; i++)
        p->rows[i] = none;
    r->n = kept;
}

bool sv_eliminate(sv_problem *p) {
    struct rows r = {.p = p};
    int number[MAX_NUMBERS];
    for (int i = 0; i < p->nlin && !r.contradiction; i++)
        add_row(&r, &p->cond[p->lin[i]].f, false);
    if (r.n) add_products(&r);
    if (r.contradiction) return true;
    if (!r.n) return false;
    int n = add_bounds(&r, number);
    while (n > 0 && !r.contradiction) {
        int at = cheapest(&r, n, number);
        eliminate(&r, number[at]);
        number[at] = number[--n];
    }
    return r.contradiction;
}
