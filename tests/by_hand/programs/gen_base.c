/* What expressions are made of: draws, dimensions, ranges of values. */
#include "tests/by_hand/programs/gen.h"
#include <math.h>
#include <string.h>

int gen_draw(gen *g, int n) {
    g->rng = g->rng * 6364136223846793005u + 1442695040888963407u;
    uint64_t x = g->rng;
    x = (x ^ x >> 33) * 0xff51afd7ed558ccdu;
    return (int)((x >> 33) % (uint64_t)n);
}

bool gen_chance(gen *g, int percent) {
    return gen_draw(g, 100) < percent;
}

const char *gen_fresh(gen *g, const char *prefix) {
    return et_printf(g->a, "%s%d", prefix, g->made++);
}

void gen_line(gen *g, const char *text) {
    fprintf(g->to, "%*s%s\n", 2 * g->nloops, "", text);
}

/* ---- dimensions ---- */

gen_dim gen_number(int n) {
    return (gen_dim){-1, 0, n};
}

static int at(gen_dim d, int sym) {
    return d.sym < 0 ? d.add : d.mul * sym + d.add;
}

int gen_low(const gen *g, gen_dim d) {
    return at(d, d.sym < 0 ? 0 : g->lo[d.sym]);
}

int gen_high(const gen *g, gen_dim d) {
    return at(d, d.sym < 0 ? 0 : g->hi[d.sym]);
}

bool gen_same_dim(gen_dim a, gen_dim b) {
    return a.sym == b.sym && a.add == b.add && (a.sym < 0 || a.mul == b.mul);
}

bool gen_same_shape(const gen_shape *a, const gen_shape *b) {
    bool same = a->rank == b->rank;
    for (int i = 0; same && i < a->rank; i++)
        same = gen_same_dim(a->d[i], b->d[i]);
    return same;
}

double gen_count(const gen *g, const gen_shape *s) {
    double n = 1;
    for (int i = 0; i < s->rank; i++)
        n *= gen_high(g, s->d[i]);
    return n;
}

const char *gen_dim_text(gen *g, gen_dim d) {
    if (d.sym < 0) return et_printf(g->a, "%d", d.add);
    const char *name = d.sym ? "M" : "N";
    if (d.mul != 1) name = et_printf(g->a, "%d * %s", d.mul, name);
    return d.add ? et_printf(g->a, "(%s + %d)", name, d.add)
                 : et_printf(g->a, d.mul != 1 ? "(%s)" : "%s", name);
}

const char *gen_dims_text(gen *g, const gen_shape *s) {
    const char *t = "[";
    for (int i = 0; i < s->rank; i++)
        t = et_printf(g->a, "%s%s%s", t, i ? ", " : "", gen_dim_text(g, s->d[i]));
    return et_printf(g->a, "%s]", t);
}

gen_dim gen_any_dim(gen *g) {
    if (g->nsyms && gen_chance(g, 20)) {
        gen_dim d = {gen_draw(g, g->nsyms), 1, 0};
        if (gen_chance(g, 10)) d.mul = 2;
        if (gen_chance(g, 10)) d.add = 1 + gen_draw(g, 4);
        return d;
    }
    return gen_number(gen_chance(g, 5) ? 1 : g->size[gen_draw(g, g->nsizes)]);
}

/* ---- ranges ---- */

static const char *clamp(gen *g, const char *e, double max, bool whole) {
    return et_printf(
        g->a, whole ? "minimum(maximum(%s, -%.0f), %.0f)" : "minimum(maximum(%s, -%.9g), %.9g)", e,
        max, max);
}

gen_ex gen_fit(gen *g, gen_ex e, double max, int frac) {
    if (!e.r.whole && e.r.exact && e.r.frac > frac) {
        double unit = ldexp(1, frac);
        e.text = frac ? et_printf(g->a, "(floor((%s * %g)) * %g)", e.text, unit, 1 / unit)
                      : et_printf(g->a, "floor(%s)", e.text);
        e.r.frac = frac;
        e.r.max = ceil(e.r.max);
    }
    if (e.r.max <= max) return e;
    if (e.r.whole && gen_chance(g, 60))
        e.text = et_printf(g->a, "mod(%s, %.0f)", e.text, max + 1);
    else
        e.text = clamp(g, e.text, max, e.r.whole);
    e.r.max = max;
    return e;
}

/* ---- indices ---- */

static int common(int a, int b) {
    return b ? common(b, a % b) : a;
}

const char *gen_order(gen *g, int k) {
    const char *have[GEN_NAMES];
    int n = 0;
    for (int i = 0; i < g->nnames; i++)
        if (g->name[i].order && g->name[i].s.d[0].add == k) have[n++] = g->name[i].name;
    switch (gen_draw(g, n ? 6 : 3)) {
    case 0:
        return et_printf(g->a, "(%d - iota(%d))", k - 1, k);
    case 1: {
        int by = 1 + gen_draw(g, 3 * k);
        while (common(by, k) != 1)
            by++;
        return et_printf(g->a, "mod(((iota(%d) * %d) + %d), %d)", k, by,
                         gen_chance(g, 30) ? 1000000007 : gen_draw(g, 3 * k), k);
    }
    case 2:
        return et_printf(g->a, "iota(%d)", k);
    case 3:
        return et_printf(g->a, "gather(%s, %s)", have[gen_draw(g, n)], gen_order(g, k));
    case 4:
        return et_printf(g->a, "(%d - %s)", k - 1, have[gen_draw(g, n)]);
    default:
        return have[gen_draw(g, n)];
    }
}

static const char *some_number(gen *g) {
    return gen_value(g, &(gen_shape){0}, true, true, 0).text;
}

const char *gen_distinct(gen *g, gen_dim n, int k, bool outside) {
    int most = gen_high(g, n);
    const char *len = gen_dim_text(g, n);
    if (most > k && !outside) return NULL;
    if (n.sym < 0 && n.add == k && gen_chance(g, 70)) return gen_order(g, k);
    if (most <= k && gen_chance(g, 40))
        return et_printf(g->a, "(%s)[%d:%s + %d]", gen_order(g, k), k - most, len, k - most);
    switch (gen_draw(g, 5)) {
    case 0:
        return et_printf(g->a, "((%s - 1) - iota(%s))", len, len);
    case 3: /* from a place that is data */
        if (most <= k) return et_printf(g->a, "mod((%s + iota(%s)), %d)", some_number(g), len, k);
        return et_printf(g->a, "(iota(%s) + %s)", len, some_number(g));
    case 1:
        if (outside) return et_printf(g->a, "((iota(%s) * 2) - %d)", len, gen_draw(g, 4));
        return et_printf(g->a, "(iota(%s) + %d)", len, gen_draw(g, k - most + 1));
    case 2:
        if (most <= k) return et_printf(g->a, "gather(%s, iota(%s))", gen_order(g, k), len);
        return et_printf(g->a, "(iota(%s) - 1)", len);
    default:
        return et_printf(g->a, "iota(%s)", len);
    }
}
