/* Programs that only move elements, over sizes that are products of dims: reshapes in any order of
 * factors, transposes, slices, concatenations, now and then something computed in between. */
#include "tests/by_hand/programs/gen.h"
#include <string.h>

enum { FACTORS = 6, RANK = 8, KEPT = 12, MOST = 200000, ATOMS = 64 };

/* What sizes are products of: a dim, a number, or a sum or quotient that came up. */
struct atom {
    const char *text;
    int lo, hi;
    bool
        alone; /* less something: of a product of it the language may not see that it is positive */
};

struct size {
    int n, of[FACTORS]; /* atoms; of none it is 1 */
};

struct shaped {
    const char *text;
    int rank;
    struct size d[RANK];
};

struct shapes {
    gen *g;
    struct atom atom[ATOMS];
    int natoms, ndims, most_rank;
    struct shaped kept[KEPT];
    int nkept;
};

static int add_atom(struct shapes *s, const char *text, double lo, double hi) {
    if (s->natoms == ATOMS || hi > MOST) return -1;
    s->atom[s->natoms] = (struct atom){text, (int)lo, (int)hi, strchr(text, '-') != NULL};
    return s->natoms++;
}

static const char *text_of(const struct shapes *s, const struct size *d) {
    const char *t = d->n ? s->atom[d->of[0]].text : "1";
    for (int i = 1; i < d->n; i++)
        t = et_printf(s->g->a, "%s * %s", t, s->atom[d->of[i]].text);
    return d->n > 1 ? et_printf(s->g->a, "(%s)", t) : t;
}

static const char *list_of(const struct shapes *s, const struct shaped *x) {
    const char *t = "[";
    for (int i = 0; i < x->rank; i++)
        t = et_printf(s->g->a, "%s%s%s", t, i ? ", " : "", text_of(s, &x->d[i]));
    return et_printf(s->g->a, "%s]", t);
}

static double end_of(const struct shapes *s, const struct size *d, bool most) {
    double n = 1;
    for (int i = 0; i < d->n; i++)
        n *= most ? s->atom[d->of[i]].hi : s->atom[d->of[i]].lo;
    return n;
}

static double most_elements(const struct shapes *s, const struct shaped *x) {
    double n = 1;
    for (int i = 0; i < x->rank; i++)
        n *= end_of(s, &x->d[i], true);
    return n;
}

static bool same_size(const struct size *a, const struct size *b) {
    bool same = a->n == b->n;
    for (int i = 0; same && i < a->n; i++)
        same = a->of[i] == b->of[i];
    return same;
}

/* ---- one operator ---- */

/* All factors, in their order or any, dealt to one to RANK sizes. */
static void reshaped(struct shapes *s, struct shaped *x) {
    gen *g = s->g;
    int of[RANK * FACTORS], n = 0;
    for (int i = 0; i < x->rank; i++)
        for (int k = 0; k < x->d[i].n; k++)
            of[n++] = x->d[i].of[k];
    for (int i = n - 1; i > 0 && gen_chance(g, 60); i--) {
        int k = gen_draw(g, i + 1), t = of[i];
        of[i] = of[k], of[k] = t;
    }
    struct shaped to = {.rank = 1 + gen_draw(g, s->most_rank)};
    for (int i = 0, at = 0; i < n; i++) {
        if (at + 1 < to.rank && gen_chance(g, 50)) at++;
        if (to.d[at].n == FACTORS) return;
        to.d[at].of[to.d[at].n++] = of[i];
    }
    for (int i = 0; i < to.rank; i++)
        for (int k = 0; k < to.d[i].n; k++)
            if (to.d[i].n > 1 && s->atom[to.d[i].of[k]].alone) return;
    to.text = et_printf(g->a, "reshape(%s, %s)", x->text, list_of(s, &to));
    *x = to;
}

static void transposed(struct shapes *s, struct shaped *x) {
    struct shaped to = *x;
    const char *axes = "";
    int p[RANK];
    for (int i = 0; i < x->rank; i++)
        p[i] = i;
    for (int i = x->rank - 1; i > 0; i--) {
        int k = gen_draw(s->g, i + 1), t = p[i];
        p[i] = p[k], p[k] = t;
    }
    for (int i = 0; i < x->rank; i++) {
        to.d[i] = x->d[p[i]];
        axes = et_printf(s->g->a, "%s%s%d", axes, i ? ", " : "", p[i]);
    }
    to.text = et_printf(s->g->a, "transpose(%s, [%s])", x->text, axes);
    if (x->rank > 1) *x = to;
}

/* Part of one size: some first or last ones, all but some, every other one. */
static void sliced(struct shapes *s, struct shaped *x) {
    gen *g = s->g;
    int at = gen_draw(g, x->rank), made = -1;
    struct size *d = &x->d[at];
    double lo = end_of(s, d, false), hi = end_of(s, d, true);
    const char *t = text_of(s, d), *part = NULL;
    int k = 1 + gen_draw(g, 3);
    switch (gen_draw(g, 4)) {
    case 0:
        if (lo <= k || d->n != 1) return;
        made = add_atom(s, et_printf(g->a, "(%s - %d)", t, k), lo - k, hi - k);
        part = et_printf(g->a, "%d:", k);
        break;
    case 1:
        if (lo <= k || d->n != 1) return;
        made = add_atom(s, et_printf(g->a, "(%s - %d)", t, k), lo - k, hi - k);
        part = et_printf(g->a, ":%s - %d", t, k);
        break;
    case 2:
        made =
            add_atom(s, et_printf(g->a, "((%s + 1) / 2)", t), (int)(lo + 1) / 2, (int)(hi + 1) / 2);
        part = et_printf(g->a, "0:%s:2", t);
        break;
    default:
        if (lo < k) return;
        made = add_atom(s, et_printf(g->a, "%d", k), k, k);
        part = et_printf(g->a, ":%d", k);
    }
    if (made < 0) return;
    const char *list = "";
    for (int i = 0; i < x->rank; i++)
        list = et_printf(g->a, "%s%s%s", list, i ? ", " : "", i == at ? part : ":");
    *d = (struct size){1, {made}};
    x->text = et_printf(g->a, "%s[%s]", x->text, list);
}

/* With what has the same sizes but one. */
static void joined(struct shapes *s, struct shaped *x) {
    gen *g = s->g;
    int axis = gen_draw(g, x->rank);
    struct shaped y = *x;
    for (int i = 0; i < s->nkept; i++) {
        const struct shaped *z = &s->kept[i];
        bool fits = z->rank == x->rank;
        for (int d = 0; fits && d < x->rank; d++)
            fits = d == axis || same_size(&z->d[d], &x->d[d]);
        if (fits && gen_chance(g, 60)) y = *z;
    }
    struct size *a = &x->d[axis], *b = &y.d[axis];
    double lo = end_of(s, a, false) + end_of(s, b, false);
    double hi = end_of(s, a, true) + end_of(s, b, true);
    int made = add_atom(s, et_printf(g->a, "(%s + %s)", text_of(s, a), text_of(s, b)), lo, hi);
    if (made < 0 || most_elements(s, x) + most_elements(s, &y) > MOST) return;
    *a = (struct size){1, {made}};
    x->text = et_printf(g->a, "concat(f32(%s), f32(%s), axis=%d)", x->text, y.text, axis);
}

static void computed(struct shapes *s, struct shaped *x) {
    static const char *const forms[] = {"abs(%s)", "(%s * 2)", "(1 - %s)", "maximum(%s, 0.5)"};
    x->text = et_printf(s->g->a, forms[gen_draw(s->g, 4)], x->text);
}

/* ---- a program ---- */

static struct shaped given(struct shapes *s) {
    gen *g = s->g;
    struct shaped x = {.rank = 1 + gen_draw(g, s->most_rank - 1), .text = gen_fresh(g, "x")};
    for (int i = 0; i < x.rank; i++)
        for (int k = gen_chance(g, 40) ? 2 : 1; k > 0; k--) {
            int atom = gen_draw(g, s->ndims);
            if (gen_chance(g, 20)) {
                int n = 2 + gen_draw(g, 5);
                atom = add_atom(s, et_printf(g->a, "%d", n), n, n);
            }
            x.d[i].of[x.d[i].n++] = atom;
        }
    while (most_elements(s, &x) > MOST)
        x.rank--;
    gen_line(g, et_printf(g->a, "input %s : %s%s   #: 30/4", x.text,
                          gen_chance(g, 70) ? "f32" : "bf16", list_of(s, &x)));
    return x;
}

static void keep(struct shapes *s, struct shaped x) {
    if (s->nkept < KEPT) s->kept[s->nkept++] = x;
}

static void make(gen *g, int most_rank, int most_dims) {
    static const int ends[] = {2, 3, 5, 8, 12, 16, 33, 64};
    static void (*const makers[])(struct shapes *, struct shaped *) = {
        reshaped, reshaped, reshaped, reshaped, transposed, transposed, transposed, sliced, joined};
    struct shapes *s = et_alloc(g->a, sizeof *s);
    s->g = g;
    s->most_rank = most_rank;
    gen_line(g, "model exact");
    s->ndims = 1 + gen_draw(g, most_dims);
    for (int i = 0; i < s->ndims; i++) {
        int lo = 1 + gen_chance(g, 25), hi = ends[gen_draw(g, s->ndims > 4   ? 3
                                                              : s->ndims > 2 ? 6
                                                                             : 8)];
        const char *name = et_printf(g->a, "%c", 'A' + i);
        add_atom(s, name, lo, hi);
        gen_line(g, et_printf(g->a, "dim %s in %d..%d", name, lo, hi));
    }
    for (int i = 1 + gen_draw(g, 2); i > 0; i--)
        keep(s, given(s));
    for (int i = 1 + gen_draw(g, 3); i > 0; i--) {
        struct shaped x = s->kept[gen_draw(g, s->nkept)];
        for (int k = 2 + gen_draw(g, 5); k > 0; k--) {
            makers[gen_draw(g, sizeof makers / sizeof *makers)](s, &x);
            if (gen_chance(g, 15)) computed(s, &x);
        }
        const char *name = gen_fresh(g, "t");
        gen_line(g, et_printf(g->a, "%s = f32(%s)", name, x.text));
        x.text = name;
        keep(s, x);
    }
    for (int i = 0; i < s->nkept && i < 3; i++)
        gen_line(g, et_printf(g->a, "output y%d = %s * 0.5", i, s->kept[s->nkept - 1 - i].text));
}

void gen_shapes(gen *g) {
    make(g, 4, 4);
}

void gen_dims(gen *g) {
    make(g, RANK, 9);
}
