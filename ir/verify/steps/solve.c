/* Bounds of numbers narrowed by the conditions until nothing is left, or until any choice will do;
 * in between sums of conditions that cannot hold (eliminate.c), then one alternative after another,
 * then one half of a number's range after the other. */
#include "ir/verify/steps/solve.h"
#include "ir/base/diag.h"
#include "ir/verify/steps/problem.h"
#include <string.h>

enum { MAX_NODES = 6000, MAX_DEPTH = 600, MAX_ROUNDS = 40, MAX_NESTING = 400 };
typedef __int128 wide;

/* ---- making problems ---- */

sv_problem *sv_create(et_arena *a) {
    sv_problem *p = et_alloc(a, sizeof *p);
    p->arena = a;
    p->rows = et_alloc(a, SV_ROWS * sizeof *p->rows);
    p->bounding = et_alloc(a, SV_ROWS);
    sv_clear(p);
    return p;
}

void sv_clear(sv_problem *p) {
    p->n = p->nproduct = p->nquotient = p->npart = p->nlin = p->nor = 0;
    p->ncond = 1;
    p->failed = p->left_out = false;
    if (p->ccond) return;
    p->ccond = 64;
    p->cond = et_alloc(p->arena, (size_t)p->ccond * sizeof *p->cond);
}

int sv_number(sv_problem *p, int64_t lo, int64_t hi) {
    if (p->n == p->cap) {
        int cap = p->cap ? 2 * p->cap : 64;
        struct sv_dom *more = et_alloc(p->arena, (size_t)cap * sizeof *more);
        if (p->n) memcpy(more, p->dom, (size_t)p->n * sizeof *more);
        p->dom = more;
        p->cap = cap;
    }
    p->dom[p->n] =
        (struct sv_dom){.lo = lo < -SV_MOST ? -SV_MOST : lo, .hi = hi > SV_MOST ? SV_MOST : hi};
    return p->n++;
}

int sv_dim(sv_problem *p, int64_t lo, int64_t hi) {
    int n = sv_number(p, lo, hi);
    p->dom[n].dim = true;
    return n;
}

void sv_range(const sv_problem *p, int number, int64_t *out_lo, int64_t *out_hi) {
    *out_lo = p->dom[number].lo;
    *out_hi = p->dom[number].hi;
}

int sv_find_product(const sv_problem *p, int x, int y) {
    for (int i = 0; i < p->nproduct; i++)
        if (p->product[i].x == x && p->product[i].y == y) return p->product[i].z;
    return -1;
}

void sv_product(sv_problem *p, int z, int x, int y) {
    ET_GROW(p->arena, p->product, p->nproduct, p->cproduct);
    p->product[p->nproduct++] = (struct sv_prod){z, x, y};
}

int sv_find_quotient(const sv_problem *p, const sv_linear *of, const sv_linear *by) {
    for (int i = 0; i < p->nquotient; i++) {
        const struct sv_quot *q = &p->quotient[i];
        if (q->of.k == of->k && q->by.k == by->k && sv_same_terms(&q->of, of) &&
            sv_same_terms(&q->by, by))
            return q->q;
    }
    return -1;
}

void sv_quotient_is(sv_problem *p, int q, const sv_linear *of, const sv_linear *by) {
    ET_GROW(p->arena, p->quotient, p->nquotient, p->cquotient);
    p->quotient[p->nquotient++] = (struct sv_quot){q, *of, *by};
}

static sv_cond add_cond(sv_problem *p, const struct sv_node *c) {
    if (p->ncond == p->ccond) {
        struct sv_node *more = et_alloc(p->arena, 2 * (size_t)p->ccond * sizeof *more);
        memcpy(more, p->cond, (size_t)p->ncond * sizeof *more);
        p->cond = more;
        p->ccond *= 2;
    }
    p->cond[p->ncond] = *c;
    return (sv_cond){p->ncond++};
}

static sv_cond at_least_0(sv_problem *p, const sv_linear *f) {
    struct sv_node c = {.kind = SV_LINEAR, .f = *f};
    sv_reduce(&c.f);
    if (!c.f.n) return c.f.k >= 0 ? SV_ANY : sv_never(p);
    return add_cond(p, &c);
}

sv_cond sv_never(sv_problem *p) {
    return add_cond(p, &(struct sv_node){.kind = SV_NEVER});
}

void sv_leave_out(sv_problem *p) {
    p->left_out = true;
}

static sv_cond difference(sv_problem *p, const sv_linear *a, const sv_linear *b, int64_t k) {
    sv_linear f;
    if (!sv_add_parts(p, a, b, -1, &f) || __builtin_add_overflow(f.k, k, &f.k)) {
        sv_leave_out(p);
        return SV_ANY;
    }
    return at_least_0(p, &f);
}

/* The first half of F's terms become one number: the same for the same terms. */
static bool name_part(sv_problem *p, sv_linear *f) {
    sv_linear part = *f, rest = sv_constant(f->k), is;
    int64_t lo, hi;
    part.k = 0;
    part.n = f->n / 2;
    for (int i = part.n; i < f->n; i++) {
        rest.number[rest.n] = f->number[i];
        rest.coef[rest.n++] = f->coef[i];
    }
    int at = 0;
    while (at < p->npart && !sv_same_terms(&p->part[at].of, &part))
        at++;
    if (at == p->npart) {
        if (!sv_bounds(p, &part, &lo, &hi)) return false;
        ET_GROW(p->arena, p->part, p->npart, p->cpart);
        p->part[p->npart++] = (struct sv_part){sv_number(p, lo, hi), part};
        is = sv_of(p->part[at].number);
        sv_assert(p, sv_eq(p, &is, &part));
    }
    is = sv_of(p->part[at].number);
    return sv_add(&rest, &is, 1, f);
}

bool sv_add_parts(sv_problem *p, const sv_linear *a, const sv_linear *b, int64_t by,
                  sv_linear *out) {
    sv_linear x = *a, y = *b;
    while (!sv_add(&x, &y, by, out))
        if (x.n + y.n <= SV_TERMS || !name_part(p, x.n < y.n ? &y : &x)) return false;
    return true;
}

sv_cond sv_le(sv_problem *p, const sv_linear *a, const sv_linear *b) {
    return difference(p, b, a, 0);
}

sv_cond sv_lt(sv_problem *p, const sv_linear *a, const sv_linear *b) {
    return difference(p, b, a, -1);
}

sv_cond sv_eq(sv_problem *p, const sv_linear *a, const sv_linear *b) {
    return sv_both(p, sv_le(p, a, b), sv_le(p, b, a));
}

sv_cond sv_ne(sv_problem *p, const sv_linear *a, const sv_linear *b) {
    return sv_either(p, sv_lt(p, a, b), sv_lt(p, b, a));
}

static bool is_never(const sv_problem *p, sv_cond c) {
    return c.id && p->cond[c.id].kind == SV_NEVER;
}

sv_cond sv_both(sv_problem *p, sv_cond a, sv_cond b) {
    if (!a.id || is_never(p, b)) return b;
    if (!b.id || is_never(p, a)) return a;
    return add_cond(p, &(struct sv_node){.kind = SV_BOTH, .a = a, .b = b});
}

sv_cond sv_either(sv_problem *p, sv_cond a, sv_cond b) {
    if (!a.id || !b.id) return SV_ANY;
    if (is_never(p, a)) return b;
    if (is_never(p, b)) return a;
    return add_cond(p, &(struct sv_node){.kind = SV_EITHER, .a = a, .b = b});
}

/* ---- what is asserted ---- */

static void push(et_arena *a, int **list, int *n, int *cap, int id) {
    if (*n == *cap) {
        *cap = *cap ? 2 * *cap : 64;
        int *more = et_alloc(a, (size_t)*cap * sizeof *more);
        if (*n) memcpy(more, *list, (size_t)*n * sizeof *more);
        *list = more;
    }
    (*list)[(*n)++] = id;
}

/* What is nested too deeply is left out: that only makes more possible. */
static void assert_cond(sv_problem *p, sv_cond c, int depth) {
    if (!c.id || depth > MAX_NESTING) return;
    const struct sv_node *n = &p->cond[c.id];
    switch (n->kind) {
    case SV_LINEAR:
        push(p->arena, &p->lin, &p->nlin, &p->clin, c.id);
        break;
    case SV_EITHER:
        push(p->arena, &p->either, &p->nor, &p->cor, c.id);
        break;
    case SV_NEVER:
        p->failed = true;
        break;
    case SV_BOTH:
        assert_cond(p, n->a, depth + 1);
        assert_cond(p, n->b, depth + 1);
        break;
    }
}

void sv_assert(sv_problem *p, sv_cond c) {
    assert_cond(p, c, 0);
}

/* ---- bounds ---- */

/* The least and the most of F within the bounds of its numbers. */
static void extremes(const struct sv_dom *dom, const sv_linear *f, wide *out_lo, wide *out_hi) {
    wide lo = f->k, hi = f->k;
    for (int i = 0; i < f->n; i++) {
        wide c = f->coef[i];
        const struct sv_dom *d = &dom[f->number[i]];
        lo += c * (c > 0 ? d->lo : d->hi);
        hi += c * (c > 0 ? d->hi : d->lo);
    }
    *out_lo = lo;
    *out_hi = hi;
}

bool sv_bounds(const sv_problem *p, const sv_linear *f, int64_t *out_lo, int64_t *out_hi) {
    wide lo, hi;
    extremes(p->dom, f, &lo, &hi);
    if (lo < -SV_MOST || hi > SV_MOST) return false;
    *out_lo = (int64_t)lo;
    *out_hi = (int64_t)hi;
    return true;
}

static wide div_down(wide a, wide b) {
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

/* No narrower than it was; false when nothing is left. */
static bool narrow(struct sv_dom *d, wide lo, wide hi, bool *changed) {
    if (lo > d->lo) {
        if (lo > d->hi) return false;
        d->lo = (int64_t)lo;
        *changed = true;
    }
    if (hi < d->hi) {
        if (hi < d->lo) return false;
        d->hi = (int64_t)hi;
        *changed = true;
    }
    return true;
}

static bool narrow_linear(sv_problem *p, const sv_linear *f, bool *changed) {
    wide lo, hi;
    extremes(p->dom, f, &lo, &hi);
    p->work += 1 + f->n;
    if (hi < 0) return false;
    if (lo >= 0) return true;
    for (int i = 0; i < f->n; i++) {
        struct sv_dom *d = &p->dom[f->number[i]];
        wide c = f->coef[i], slack;
        if (c > 0) {
            slack = hi - c * d->hi; /* the others at their most */
            if (!narrow(d, -div_down(slack, c), d->hi, changed)) return false;
        } else {
            slack = hi - c * d->lo;
            if (!narrow(d, d->lo, div_down(slack, -c), changed)) return false;
        }
    }
    return true;
}

static wide least(wide a, wide b) {
    return a < b ? a : b;
}

static wide most(wide a, wide b) {
    return a > b ? a : b;
}

/* Y from Z = X * Y where X is at least 1 and Z not negative. */
static bool narrow_factor(const struct sv_dom *x, struct sv_dom *y, const struct sv_dom *z,
                          bool *changed) {
    if (x->lo < 1 || z->lo < 0) return true;
    wide lo = -div_down(-(wide)z->lo, x->hi), hi = div_down(z->hi, x->lo);
    return narrow(y, lo, hi, changed);
}

static bool narrow_product(sv_problem *p, const struct sv_prod *m, bool *changed) {
    struct sv_dom *x = &p->dom[m->x], *y = &p->dom[m->y], *z = &p->dom[m->z];
    wide a = (wide)x->lo * y->lo, b = (wide)x->lo * y->hi, c = (wide)x->hi * y->lo,
         d = (wide)x->hi * y->hi;
    p->work += 4;
    return narrow(z, least(least(a, b), least(c, d)), most(most(a, b), most(c, d)), changed) &&
           narrow_factor(x, y, z, changed) && narrow_factor(y, x, z, changed);
}

enum truth { IMPOSSIBLE, OPEN, CERTAIN };

static enum truth truth_of(sv_problem *p, sv_cond c, int depth) {
    if (!c.id) return CERTAIN;
    if (depth > MAX_NESTING) return OPEN;
    const struct sv_node *n = &p->cond[c.id];
    wide lo, hi;
    enum truth a, b;
    p->work++;
    switch (n->kind) {
    case SV_LINEAR:
        extremes(p->dom, &n->f, &lo, &hi);
        return hi < 0 ? IMPOSSIBLE : lo >= 0 ? CERTAIN : OPEN;
    case SV_NEVER:
        return IMPOSSIBLE;
    case SV_BOTH:
        a = truth_of(p, n->a, depth + 1);
        if (a == IMPOSSIBLE) return a;
        b = truth_of(p, n->b, depth + 1);
        return a < b ? a : b;
    default:
        a = truth_of(p, n->a, depth + 1);
        if (a == CERTAIN) return a;
        b = truth_of(p, n->b, depth + 1);
        return a > b ? a : b;
    }
}

/* Alternatives that are settled go, and what is left of them is asserted. */
static void settle_alternatives(sv_problem *p, bool *changed) {
    for (int i = 0; i < p->nor;) {
        struct sv_node n = p->cond[p->either[i]];
        enum truth a = truth_of(p, n.a, 0), b = truth_of(p, n.b, 0);
        if (a == OPEN && b == OPEN) {
            i++;
            continue;
        }
        p->either[i] = p->either[--p->nor];
        *changed = true;
        if (a == CERTAIN || b == CERTAIN) continue;
        if (a == IMPOSSIBLE && b == IMPOSSIBLE) p->failed = true;
        assert_cond(p, a == IMPOSSIBLE ? n.b : n.a, 0);
    }
}

static bool narrow_all(sv_problem *p) {
    bool changed = true;
    for (int round = 0; changed && round < MAX_ROUNDS; round++) {
        changed = false;
        for (int i = 0; i < p->nlin; i++)
            if (!narrow_linear(p, &p->cond[p->lin[i]].f, &changed)) return false;
        for (int i = 0; i < p->nproduct; i++)
            if (!narrow_product(p, &p->product[i], &changed)) return false;
        settle_alternatives(p, &changed);
        if (p->failed) return false;
    }
    return true;
}

/* ---- search ---- */

/* What there was before a choice. */
struct saved {
    struct sv_dom *dom;
    int *either;
    int nlin, nor;
};

static struct saved save(sv_problem *p, int depth) {
    struct sv_room *r = &p->room[depth];
    if (r->ndom < p->n) {
        r->ndom = p->n + 16;
        r->dom = et_alloc(p->arena, (size_t)r->ndom * sizeof *r->dom);
    }
    if (r->nor < p->nor) {
        r->nor = p->nor + 16;
        r->either = et_alloc(p->arena, (size_t)r->nor * sizeof *r->either);
    }
    if (p->n) memcpy(r->dom, p->dom, (size_t)p->n * sizeof *r->dom);
    if (p->nor) memcpy(r->either, p->either, (size_t)p->nor * sizeof *r->either);
    return (struct saved){r->dom, r->either, p->nlin, p->nor};
}

static void restore(sv_problem *p, const struct saved *s) {
    if (p->n) memcpy(p->dom, s->dom, (size_t)p->n * sizeof *s->dom);
    if (s->nor) memcpy(p->either, s->either, (size_t)s->nor * sizeof *s->either);
    p->nlin = s->nlin;
    p->nor = s->nor;
    p->failed = false;
}

/* The number to halve: of those that something still depends on, one with the fewest values; -1
 * when any choice will do. */
static int open_number(const sv_problem *p) {
    int best = -1;
    int64_t width = INT64_MAX;
    for (int i = 0; i < p->nlin; i++) {
        const sv_linear *f = &p->cond[p->lin[i]].f;
        wide lo, hi;
        extremes(p->dom, f, &lo, &hi);
        for (int k = 0; lo < 0 && k < f->n; k++) {
            int64_t w = p->dom[f->number[k]].hi - p->dom[f->number[k]].lo;
            if (w > 0 && w < width) best = f->number[k], width = w;
        }
    }
    for (int i = 0; i < p->nproduct; i++) {
        int of[] = {p->product[i].x, p->product[i].y};
        for (int k = 0; k < 2; k++) {
            int64_t w = p->dom[of[k]].hi - p->dom[of[k]].lo;
            if (w > 0 && w < width) best = of[k], width = w;
        }
    }
    return best;
}

/* HALVED: a number has no longer all values that it may have. */
static sv_answer search(sv_problem *p, int depth, bool halved);

/* One alternative, then the other. */
static sv_answer try_alternatives(sv_problem *p, int depth, bool halved) {
    struct sv_node n = p->cond[p->either[--p->nor]];
    struct saved s = save(p, depth);
    assert_cond(p, n.a, 0);
    sv_answer a = search(p, depth + 1, halved);
    if (a == SV_YES) return a;
    restore(p, &s);
    assert_cond(p, n.b, 0);
    sv_answer b = search(p, depth + 1, halved);
    return b == SV_YES ? b : a == SV_UNKNOWN ? a : b;
}

static sv_answer try_halves(sv_problem *p, int number, int depth) {
    struct saved s = save(p, depth);
    int64_t lo = p->dom[number].lo, hi = p->dom[number].hi, mid = lo + (hi - lo) / 2;
    p->dom[number].hi = mid;
    sv_answer a = search(p, depth + 1, true);
    if (a == SV_YES) return a;
    restore(p, &s);
    p->dom[number].lo = mid + 1;
    sv_answer b = search(p, depth + 1, true);
    return b == SV_YES ? b : a == SV_UNKNOWN ? a : b;
}

static sv_answer search(sv_problem *p, int depth, bool halved) {
    p->work += 5;
    if (p->failed || !narrow_all(p)) return SV_NO;
    if (sv_eliminate(p)) return SV_NO;
    if (depth == MAX_DEPTH || ++p->nodes > MAX_NODES || p->work > p->until) return SV_UNKNOWN;
    if (p->nor) return try_alternatives(p, depth, halved);
    if (!halved && sv_multiply(p)) return SV_NO;
    int number = open_number(p);
    if (number >= 0) return try_halves(p, number, depth);
    for (int i = 0; i < p->n; i++)
        p->value[i] = p->dom[i].lo;
    return SV_YES;
}

sv_answer sv_solve(sv_problem *p, sv_cond c) {
    if (p->failed) return SV_NO;
    if (!p->room) p->room = et_alloc(p->arena, (MAX_DEPTH + 2) * sizeof *p->room);
    if (p->nvalue < p->n) {
        p->nvalue = p->n + 32;
        p->value = et_alloc(p->arena, (size_t)p->nvalue * sizeof *p->value);
    }
    struct saved s = save(p, 0);
    p->nodes = 0;
    p->until = p->most ? p->work + p->most : INT64_MAX;
    assert_cond(p, c, 0);
    sv_answer a = search(p, 1, false);
    restore(p, &s);
    return a == SV_YES && p->left_out ? SV_UNKNOWN : a;
}

int64_t sv_value(const sv_problem *p, int number) {
    return p->value[number];
}

void sv_limit(sv_problem *p, int64_t work) {
    p->most = work;
}

int64_t sv_work(const sv_problem *p) {
    return p->work;
}
