/* Random expressions of a given shape, by what makes them. */
#include "tests/by_hand/programs/gen.h"
#include <math.h>
#include <string.h>

/* What is asked for, and how deep it may go. */
typedef struct {
    gen *g;
    const gen_shape *s;
    bool whole, exact;
    int depth;
} want;

static const gen_ex none = {0};
static const double float_bits = 22, whole_bits = 30;
enum { LEAST_F32 = 149 };

static gen_ex value_of(const want *w, const gen_shape *s) {
    return gen_value(w->g, s, w->whole, w->exact, w->depth - 1);
}

static double size_bits(const gen_range *r) {
    return r->max > 0 ? log2(r->max) + r->frac : r->frac;
}

static bool too_large(const gen_range *r) {
    return r->whole ? r->max > ldexp(1, (int)whole_bits)
                    : r->exact && (size_bits(r) > float_bits || r->frac > LEAST_F32);
}

static gen_ex with(const want *w, const char *text, gen_range r) {
    return (gen_ex){text, *w->s, r};
}

/* ---- indices ---- */

/* Whole numbers of this shape, most of them below K; what reads through them clamps the others. */
static const char *index_of(gen *g, const gen_shape *s, gen_dim k, int depth) {
    int most = gen_low(g, k);
    const char *n = gen_dim_text(g, k);
    if (s->rank == 1 && gen_chance(g, 40)) {
        const char *len = gen_dim_text(g, s->d[0]);
        switch (gen_draw(g, 4)) {
        case 0:
            return et_printf(g->a, "((%s - 1) - iota(%s))", n, len);
        case 1:
            return et_printf(g->a, "idiv(iota(%s), %d)", len, 1 + gen_draw(g, 5));
        case 2:
            return et_printf(g->a, "mod(((iota(%s) * %d) + %d), %s)", len, 1 + gen_draw(g, 40000),
                             gen_draw(g, 1000000000), n);
        default:
            return et_printf(g->a, "((iota(%s) * %d) - %d)", len, 1 + gen_draw(g, 3),
                             gen_draw(g, 4));
        }
    }
    gen_ex e = gen_value(g, s, true, true, depth - 1);
    if (gen_chance(g, 25)) return gen_fit(g, e, most + 1, 0).text;
    if (gen_chance(g, 30)) return et_printf(g->a, "((%s - 1) - mod(%s, %s))", n, e.text, n);
    return et_printf(g->a, "mod(%s, %s)", e.text, n);
}

/* ---- leaves ---- */

static bool readable(const want *w, const gen_name *n) {
    return n->r.whole == w->whole && (n->r.exact || !w->exact);
}

static gen_ex read_name(const gen_name *n) {
    return (gen_ex){n->name, n->s, n->r};
}

/* Any element of N at each place. */
static gen_ex scattered(const want *w, const gen_name *n) {
    gen *g = w->g;
    double all = gen_count(g, &n->s);
    gen_shape flat = {1, {gen_number((int)all)}};
    if (w->s->rank == 0 || w->depth < -1) return none;
    for (int i = 0; i < n->s.rank; i++)
        if (n->s.d[i].sym >= 0) return none;
    const char *from =
        n->s.rank == 1 ? n->name : et_printf(g->a, "reshape(%s, [%.0f])", n->name, all);
    const char *at = index_of(g, w->s, flat.d[0], w->depth > 1 ? 1 : w->depth);
    return with(w, et_printf(g->a, "gather(%s, %s)", from, at), n->r);
}

static gen_ex counted(const want *w) {
    gen *g = w->g;
    double all = gen_count(g, w->s);
    const char *n = "1";
    for (int i = 0; i < w->s->rank; i++)
        n = i ? et_printf(g->a, "%s * %s", n, gen_dim_text(g, w->s->d[i]))
              : gen_dim_text(g, w->s->d[i]);
    const char *t = et_printf(g->a, "iota(%s)", n);
    if (w->s->rank == 0)
        t = et_printf(g->a, "iota(5)[%d]", gen_draw(g, 5)), all = 5;
    else if (w->s->rank > 1)
        t = et_printf(g->a, "reshape(%s, %s)", t, gen_dims_text(g, w->s));
    gen_ex e = with(w, t, (gen_range){.whole = true, .exact = true, .max = all});
    if (w->whole) return e;
    int by = 3 + gen_draw(g, 30);
    e.text = et_printf(g->a, "f32((mod(%s, %d) - %d))", t, by, by / 2);
    e.r = (gen_range){.exact = true, .max = by};
    return e;
}

static gen_ex leaf(const want *w) {
    gen *g = w->g;
    const gen_name *same[GEN_NAMES], *other[GEN_NAMES];
    int n = 0, m = 0;
    const gen_name *f = g->favourite;
    for (int i = 0; i < g->nnames; i++) {
        if (!readable(w, &g->name[i])) continue;
        if (gen_same_shape(&g->name[i].s, w->s))
            same[n++] = &g->name[i];
        else
            other[m++] = &g->name[i];
    }
    if (f && readable(w, f) && gen_chance(g, 70)) {
        gen_ex e = gen_same_shape(&f->s, w->s) ? read_name(f) : scattered(w, f);
        if (e.text) return e;
    }
    if (n && gen_chance(g, 90)) return read_name(same[gen_draw(g, n)]);
    if (m && gen_chance(g, 60)) {
        gen_ex e = scattered(w, other[gen_draw(g, m)]);
        if (e.text) return e;
    }
    return counted(w);
}

/* ---- elementwise ---- */

/* What is put beside a value of the shape: of the same one, one that is repeated, a number. */
static gen_ex operand(const want *w) {
    gen *g = w->g;
    if (gen_chance(g, 25)) {
        static const double numbers[] = {0.5, 2, -1, 1.5, 3, 0.25, -2, 1, 7};
        double v = w->whole ? 1 + gen_draw(g, 9) : numbers[gen_draw(g, 9)];
        int frac = v == floor(v) ? 0 : v == 0.25 ? 2 : 1;
        return with(w, et_printf(g->a, "%g", v), (gen_range){w->whole, true, fabs(v), frac});
    }
    if (g->nloops && gen_chance(g, 15)) {
        int l = gen_draw(g, g->nloops);
        return with(w, g->loop[l].name, (gen_range){w->whole, true, g->loop[l].hi, 0});
    }
    gen_shape s = *w->s;
    if (gen_chance(g, 30)) {
        int drop = s.rank ? gen_draw(g, s.rank) : 0;
        s.rank -= drop;
        memmove(s.d, s.d + drop, (size_t)s.rank * sizeof *s.d);
        if (s.rank && gen_chance(g, 40)) s.d[gen_draw(g, s.rank)] = gen_number(1);
    }
    gen_ex e = value_of(w, &s);
    e.s = *w->s;
    return e;
}

static gen_range both(const gen_ex *a, const gen_ex *b) {
    return (gen_range){.whole = a->r.whole,
                       .exact = a->r.exact && b->r.exact,
                       .max = fmax(a->r.max, b->r.max),
                       .frac = a->r.frac > b->r.frac ? a->r.frac : b->r.frac};
}

static gen_range binary_range(const gen_ex *a, const gen_ex *b, char op) {
    gen_range r = both(a, b);
    if (op == '+' || op == '-') r.max = a->r.max + b->r.max;
    if (op == '*') r.max = a->r.max * b->r.max, r.frac = a->r.frac + b->r.frac;
    return r;
}

static gen_ex binary(const want *w) {
    static const char ops[] = "+-*+-<>";
    gen *g = w->g;
    char op = ops[gen_draw(g, 7)];
    gen_ex a = value_of(w, w->s), b = operand(w);
    if (gen_chance(g, 30) && op != '<' && op != '>') {
        gen_ex swap = a;
        a = b, b = swap;
        if (!w->s->rank && gen_chance(g, 50)) return none;
    }
    gen_range r = binary_range(&a, &b, op);
    if (too_large(&r) || (!r.exact && r.max > 1e4)) {
        a = gen_fit(g, a, w->whole ? 10000 : 64, 1);
        b = gen_fit(g, b, w->whole ? 10000 : 64, 1);
        r = binary_range(&a, &b, op);
    }
    if (op == '<' || op == '>')
        return with(
            w, et_printf(g->a, "%s(%s, %s)", op == '<' ? "minimum" : "maximum", a.text, b.text), r);
    return with(w, et_printf(g->a, "(%s %c %s)", a.text, op, b.text), r);
}

static gen_ex unary(const want *w) {
    gen *g = w->g;
    gen_ex e = value_of(w, w->s);
    int by = 1 + gen_draw(g, 9);
    switch (gen_draw(g, 5)) {
    case 0:
        return with(w, et_printf(g->a, "abs(%s)", e.text), e.r);
    case 1:
        return with(w, et_printf(g->a, "(-%s)", e.text), e.r);
    case 2:
        if (w->whole) return with(w, et_printf(g->a, "idiv(%s, %d)", e.text, by), e.r);
        return with(w, et_printf(g->a, "relu(%s)", e.text), e.r);
    case 3:
        e.r.max = by;
        if (w->whole) return with(w, et_printf(g->a, "mod(%s, %d)", e.text, by), e.r);
        return none;
    default:
        if (w->whole || !e.r.exact) return none;
        e.r.max += 1, e.r.frac = 0;
        return with(w, et_printf(g->a, "floor(%s)", e.text), e.r);
    }
}

/* A random number by a seed and a counter that are data, places or numbers. */
static gen_ex chance(const want *w) {
    want c = {w->g, w->s, true, true, w->depth};
    int most = 1 + gen_draw(w->g, 60);
    const char *form =
        w->whole ? "mod(random_bits(%s, %s, %s), %d)" : "floor((random(%s, %s, %s) * %d))";
    const char *seed = operand(&c).text, *at = value_of(&c, w->s).text, *j = operand(&c).text;
    return with(w, et_printf(w->g->a, form, seed, at, j, most),
                (gen_range){w->whole, true, most, 0});
}

static const char *condition(const want *w) {
    static const char *const ops[] = {"<", "<=", ">", ">=", "==", "!="};
    gen *g = w->g;
    want c = *w;
    c.whole = gen_chance(g, 50);
    c.exact = true;
    gen_ex a = value_of(&c, w->s), b = operand(&c);
    const char *t = et_printf(g->a, "(%s %s %s)", a.text, ops[gen_draw(g, 6)], b.text);
    return gen_chance(g, 15) ? et_printf(g->a, "(not %s)", t) : t;
}

static gen_ex select(const want *w) {
    gen_ex a = value_of(w, w->s), b = operand(w);
    gen_range r = both(&a, &b);
    if (too_large(&r)) return a;
    return with(w, et_printf(w->g->a, "where(%s, %s, %s)", condition(w), a.text, b.text), r);
}

static gen_ex convert(const want *w) {
    gen *g = w->g;
    if (w->whole) {
        gen_ex e = gen_value(g, w->s, false, true, w->depth - 1);
        if (e.r.max < 1) e.r.max = 1;
        /* Infinity is the largest integer. */
        if (g->odd)
            e.text = et_printf(g->a, "minimum(maximum(%s, -%.0f), %.0f)", e.text, ceil(e.r.max),
                               ceil(e.r.max));
        return with(w, et_printf(g->a, "i32(%s)", e.text),
                    (gen_range){.whole = true, .exact = true, .max = e.r.max});
    }
    if (gen_chance(g, 50)) {
        gen_ex e = gen_fit(g, value_of(w, w->s), 60, 2);
        return with(w, et_printf(g->a, "%s(%s)", gen_chance(g, 60) ? "bf16" : "f16", e.text), e.r);
    }
    gen_ex e = gen_fit(g, gen_value(g, w->s, true, true, w->depth - 1), 1000, 0);
    return with(w, et_printf(g->a, "f32(%s)", e.text), (gen_range){.exact = true, .max = e.r.max});
}

/* ---- moving elements ---- */

static gen_ex permuted(const want *w) {
    gen *g = w->g;
    int n = w->s->rank, p[GEN_RANK];
    if (n < 2) return none;
    gen_shape from = *w->s;
    if (gen_chance(g, 50)) {
        from.d[n - 1] = w->s->d[n - 2];
        from.d[n - 2] = w->s->d[n - 1];
        gen_ex e = value_of(w, &from);
        return with(w, et_printf(g->a, "%s.T", e.text), e.r);
    }
    for (int i = 0; i < n; i++)
        p[i] = i;
    for (int i = n - 1; i > 0; i--) {
        int k = gen_draw(g, i + 1), t = p[i];
        p[i] = p[k], p[k] = t;
    }
    const char *axes = "";
    for (int i = 0; i < n; i++) {
        from.d[p[i]] = w->s->d[i];
        axes = et_printf(g->a, "%s%s%d", axes, i ? ", " : "", p[i]);
    }
    gen_ex e = value_of(w, &from);
    return with(w, et_printf(g->a, "transpose(%s, [%s])", e.text, axes), e.r);
}

static gen_ex gathered(const want *w) {
    gen *g = w->g;
    if (w->s->rank < 1) return none;
    int lead = 1 + gen_draw(g, w->s->rank);
    gen_shape at = {.rank = lead}, from = {.rank = 1 + w->s->rank - lead};
    memcpy(at.d, w->s->d, (size_t)lead * sizeof *at.d);
    from.d[0] = gen_any_dim(g);
    memcpy(from.d + 1, w->s->d + lead, (size_t)(w->s->rank - lead) * sizeof *from.d);
    if (gen_count(g, &from) > GEN_ELEMENTS) return none;
    gen_ex e = value_of(w, &from);
    return with(
        w, et_printf(g->a, "gather(%s, %s)", e.text, index_of(g, &at, from.d[0], w->depth - 1)),
        e.r);
}

static gen_ex taken(const want *w) {
    gen *g = w->g;
    if (w->s->rank < 1) return none;
    gen_shape from = *w->s;
    gen_dim *last = &from.d[from.rank - 1];
    *last = gen_any_dim(g);
    if (gen_count(g, &from) > GEN_ELEMENTS) return none;
    gen_ex e = value_of(w, &from);
    return with(w, et_printf(g->a, "take(%s, %s)", e.text, index_of(g, w->s, *last, w->depth - 1)),
                e.r);
}

/* A number within D for certain. */
static const char *place_in(gen *g, gen_dim d) {
    int least = gen_low(g, d);
    if (g->nloops && gen_chance(g, 60)) {
        int l = gen_draw(g, g->nloops);
        const char *var = g->loop[l].name;
        if (g->loop[l].hi <= least)
            return gen_chance(g, 50) ? var : et_printf(g->a, "%d - %s", g->loop[l].hi - 1, var);
        return et_printf(g->a, "mod(%s * %d, %d)", var, 1 + gen_draw(g, 5), least);
    }
    if (d.sym >= 0 && gen_chance(g, 50)) return et_printf(g->a, "%s - 1", gen_dim_text(g, d));
    return gen_chance(g, 20) ? "-1" : et_printf(g->a, "%d", gen_draw(g, least));
}

/* The part of dimension FROM that is D long. */
static const char *stretch(gen *g, gen_dim d, gen_dim *from) {
    int most = gen_high(g, d), more = gen_draw(g, 3) ? gen_draw(g, 5) : 0;
    const char *len = gen_dim_text(g, d);
    *from = d;
    if (d.sym >= 0 && !gen_chance(g, 40)) return ":";
    if (d.sym < 0 && gen_chance(g, 20)) {
        int step = 2 + gen_draw(g, 2), first = gen_draw(g, 3);
        int end = first + (most - 1) * step + 1 + gen_draw(g, step);
        *from = gen_number(end + gen_draw(g, 2));
        return et_printf(g->a, "%d:%d:%d", first, end, step);
    }
    *from = gen_number(most + more);
    for (int i = 0; i < g->nsizes; i++)
        if (g->size[i] >= most && gen_chance(g, 40)) *from = gen_number(g->size[i]);
    more = from->add - most;
    if (d.sym >= 0)
        return gen_chance(g, 50) ? et_printf(g->a, ":%s", len)
                                 : et_printf(g->a, "%d - %s:", from->add, len);
    if (!more) return ":";
    if (g->nloops && gen_chance(g, 50)) {
        int l = gen_draw(g, g->nloops);
        const char *var = g->loop[l].name;
        if (g->loop[l].hi - 1 <= more) return et_printf(g->a, "%s:%s + %d", var, var, most);
    }
    int first = gen_draw(g, more + 1);
    return et_printf(g->a, "%d:%d", first, first + most);
}

static gen_ex sliced(const want *w) {
    gen *g = w->g;
    gen_shape from = {0};
    const char *at = "";
    int extra = w->s->rank < GEN_RANK ? gen_draw(g, w->s->rank + 2) : -1;
    for (int i = 0; i <= w->s->rank; i++) {
        if (i == extra) {
            gen_dim d = gen_any_dim(g);
            from.d[from.rank++] = d;
            at = et_printf(g->a, "%s%s%s", at, *at ? ", " : "", place_in(g, d));
        }
        if (i == w->s->rank) break;
        const char *part = stretch(g, w->s->d[i], &from.d[from.rank]);
        from.rank++;
        at = et_printf(g->a, "%s%s%s", at, *at ? ", " : "", part);
    }
    if (!*at || gen_count(g, &from) > GEN_ELEMENTS) return none;
    gen_ex e = value_of(w, &from);
    return with(w, et_printf(g->a, "%s[%s]", e.text, at), e.r);
}

static gen_ex joined(const want *w) {
    gen *g = w->g;
    if (w->s->rank < 1) return none;
    int axis = gen_draw(g, w->s->rank);
    gen_shape a = *w->s, b = *w->s;
    gen_dim *d = &a.d[axis];
    if (d->sym >= 0 ? d->add < 1 : d->add < 2) return none;
    int rest = d->sym >= 0 ? d->add : 1 + gen_draw(g, d->add - 1);
    d->add -= rest;
    b.d[axis] = gen_number(rest);
    gen_ex x = value_of(w, &a), y = value_of(w, &b);
    gen_range r = both(&x, &y);
    if (too_large(&r)) return none;
    const char *type = w->whole ? "i32" : "f32";
    return with(
        w, et_printf(g->a, "concat(%s(%s), %s(%s), axis=%d)", type, x.text, type, y.text, axis), r);
}

static gen_ex reshaped(const want *w) {
    gen *g = w->g;
    gen_shape from = *w->s;
    int n = from.rank;
    if (n >= 2 && gen_chance(g, 60)) { /* two dimensions from one */
        int i = gen_draw(g, n - 1);
        gen_dim *a = &from.d[i], b = from.d[i + 1];
        if (a->sym >= 0 && (b.sym >= 0 || a->add)) return none;
        if (b.sym >= 0 && b.add) return none;
        *a = a->sym >= 0  ? (gen_dim){a->sym, a->mul * b.add, 0}
             : b.sym >= 0 ? (gen_dim){b.sym, b.mul * a->add, 0}
                          : gen_number(a->add * b.add);
        memmove(a + 1, a + 2, (size_t)(n - i - 2) * sizeof *a);
        from.rank--;
    } else if (n >= 1 && n < GEN_RANK) { /* one of two */
        int i = gen_draw(g, n), v = from.d[i].add, f = 2 + gen_draw(g, 4);
        if (from.d[i].sym >= 0 || v % f || v == f) return none;
        memmove(from.d + i + 1, from.d + i, (size_t)(n - i) * sizeof *from.d);
        from.d[i] = gen_number(gen_chance(g, 50) ? f : v / f);
        from.d[i + 1] = gen_number(v / from.d[i].add);
        from.rank++;
    } else {
        return none;
    }
    gen_ex e = value_of(w, &from);
    return with(w, et_printf(g->a, "reshape(%s, %s)", e.text, gen_dims_text(g, w->s)), e.r);
}

/* ---- over an axis ---- */

static bool one_more(const want *w, gen_shape *from, int *axis, gen_dim d) {
    if (w->s->rank == GEN_RANK) return false;
    *from = *w->s;
    *axis = gen_draw(w->g, w->s->rank + 1);
    memmove(from->d + *axis + 1, from->d + *axis, (size_t)(w->s->rank - *axis) * sizeof *from->d);
    from->d[*axis] = d;
    from->rank++;
    return gen_count(w->g, from) <= GEN_ELEMENTS;
}

static gen_ex reduced(const want *w) {
    gen *g = w->g;
    static const char *const kinds[] = {"sum", "sum", "max", "min"};
    const char *kind = kinds[gen_draw(g, 4)];
    gen_shape from;
    int axis;
    gen_dim d = gen_any_dim(g);
    if (!one_more(w, &from, &axis, d)) return none;
    gen_ex e = value_of(w, &from);
    if (!strcmp(kind, "sum")) {
        gen_range r = e.r;
        r.max *= gen_high(g, d);
        if (too_large(&r)) e = gen_fit(g, e, w->whole ? 10000 : 64, 2);
        e.r.max *= gen_high(g, d);
    }
    return with(w, et_printf(g->a, "%s(%s, axis=%d)", kind, e.text, axis), e.r);
}

static gen_ex ordered(const want *w) {
    gen *g = w->g;
    if (!w->whole) return none;
    gen_range r = {.whole = true, .exact = true};
    bool floats = gen_chance(g, 50);
    if (w->s->rank && gen_chance(g, 40)) {
        r.max = gen_high(g, w->s->d[w->s->rank - 1]);
        if (g->odd) floats = false; /* the places of NaN are not defined */
        gen_ex e = gen_value(g, w->s, !floats, true, w->depth - 1);
        return with(w, et_printf(g->a, "rank(%s)", e.text), r);
    }
    gen_shape from;
    int axis;
    if (!one_more(w, &from, &axis, gen_any_dim(g))) return none;
    r.max = gen_high(g, from.d[axis]);
    gen_ex e = gen_value(g, &from, !floats, true, w->depth - 1);
    return with(w, et_printf(g->a, "argmax(%s, axis=%d)", e.text, axis), r);
}

static gen_ex sums_so_far(const want *w) {
    gen *g = w->g;
    if (!w->s->rank) return none;
    int axis = gen_draw(g, w->s->rank);
    gen_ex e = gen_fit(g, value_of(w, w->s), w->whole ? 10000 : 32, 2);
    e.r.max *= gen_high(g, w->s->d[axis]);
    return with(w, et_printf(g->a, "cumsum(%s, axis=%d)", e.text, axis), e.r);
}

static gen_ex segments(const want *w) {
    gen *g = w->g;
    gen_shape from = *w->s, at = {1, {gen_number(0)}};
    if (w->s->rank < 1 || w->s->d[0].sym >= 0) return none;
    at.d[0].add = w->s->d[0].add + 1;
    gen_dim k = from.d[0] = gen_any_dim(g);
    if (gen_count(g, &from) > GEN_ELEMENTS) return none;
    gen_ex e = gen_fit(g, value_of(w, &from), w->whole ? 10000 : 32, 2);
    e.r.max *= gen_high(g, k);
    return with(
        w, et_printf(g->a, "segment_sum(%s, %s)", e.text, index_of(g, &at, k, w->depth - 1)), e.r);
}

/* ---- products ---- */

static gen_ex product(const want *w) {
    gen *g = w->g;
    int n = w->s->rank;
    if (w->whole || n < 2) return none;
    gen_dim k = gen_any_dim(g);
    bool turned = gen_chance(g, 50), half = gen_chance(g, 40);
    gen_shape a = *w->s, b = *w->s;
    a.d[n - 1] = k;
    b.d[n - 2] = turned ? w->s->d[n - 1] : k;
    b.d[n - 1] = turned ? k : w->s->d[n - 1];
    if (n > 2 && gen_chance(g, 50)) {
        b.rank = 2;
        memmove(b.d, b.d + n - 2, 2 * sizeof *b.d);
    }
    if (gen_count(g, &a) > GEN_ELEMENTS || gen_count(g, &b) > GEN_ELEMENTS) return none;
    gen_ex x = gen_fit(g, value_of(w, &a), half ? 30 : 24, half ? 2 : 3);
    gen_ex y = gen_fit(g, value_of(w, &b), half ? 30 : 24, half ? 2 : 3);
    gen_range r = {.exact = x.r.exact && y.r.exact,
                   .max = x.r.max * y.r.max * gen_high(g, k),
                   .frac = x.r.frac + y.r.frac};
    const char *type = half ? gen_chance(g, 70) ? "bf16" : "f16" : "f32";
    return with(
        w, et_printf(g->a, "(%s(%s) @ %s(%s)%s)", type, x.text, type, y.text, turned ? ".T" : ""),
        r);
}

static gen_ex coded(const want *w) {
    return w->whole ? none : gen_coded(w->g, w->s, w->exact, w->depth);
}

/* ---- what is not exact ---- */

static gen_ex inexact(const want *w) {
    gen *g = w->g;
    if (w->whole || w->exact) return none;
    gen_ex e = gen_fit(g, value_of(w, w->s), 8, 8);
    gen_range r = {.max = 1};
    int axis = w->s->rank ? gen_draw(g, w->s->rank) : 0;
    switch (gen_draw(g, w->s->rank ? 8 : 4)) {
    case 0:
        return with(w, et_printf(g->a, "tanh(%s)", e.text), r);
    case 1:
        return with(w, et_printf(g->a, "sigmoid(%s)", e.text), r);
    case 2:
        r.max = 8;
        return with(w, et_printf(g->a, "gelu(%s)", e.text), r);
    case 3:
        r.max = 3;
        return with(w, et_printf(g->a, "exp(minimum(%s, 1))", e.text), r);
    case 4:
    case 5:
        return with(w, et_printf(g->a, "softmax(%s, axis=%d)", e.text, axis), r);
    case 6:
        r.max = 8;
        return with(
            w, et_printf(g->a, "(%s - mean(f32(%s), axis=%d, keep=1))", e.text, e.text, axis), r);
    default:
        r.max = 8;
        return with(w,
                    et_printf(g->a, "rmsnorm(f32(%s), f32(iota(%s)) * 0.125, eps=0.5)", e.text,
                              gen_dim_text(g, w->s->d[w->s->rank - 1])),
                    r);
    }
}

/* ---- functions of the program's own (gen_program writes their definitions) ---- */

static gen_ex called(const want *w) {
    gen *g = w->g;
    gen_ex e = value_of(w, w->s);
    if (w->s->rank < 1) return none;
    switch (gen_draw(g, 4)) {
    case 0:
        return with(w, et_printf(g->a, "turned(%s)", e.text), e.r);
    case 1:
        return with(w, et_printf(g->a, "rolled(%s)", e.text), e.r);
    case 2: {
        int n = gen_high(g, w->s->d[w->s->rank - 1]) + 1;
        gen_range r = e.r;
        r.max *= n;
        return with(w, et_printf(g->a, "centred(%s)", e.text), r);
    }
    default: {
        gen_ex b = value_of(w, w->s);
        gen_range r = both(&e, &b);
        r.max = e.r.max * 2 + b.r.max;
        return with(w, et_printf(g->a, "mixed(%s, %s)", e.text, b.text), r);
    }
    }
}

gen_ex gen_value(gen *g, const gen_shape *s, bool whole, bool exact, int depth) {
    static gen_ex (*const makers[])(const want *) = {
        binary,   binary,   binary,  unary,   select,  convert, permuted, permuted,
        gathered, gathered, taken,   sliced,  sliced,  sliced,  joined,   reshaped,
        reshaped, reduced,  reduced, ordered, product, product, segments, sums_so_far,
        called,   called,   inexact, inexact, coded,   coded,   chance};
    want w = {g, s, whole, exact || !g->near, depth};
    if (depth <= 0 || gen_chance(g, 20)) return leaf(&w);
    for (int tries = 0; tries < 3; tries++) {
        gen_ex e = makers[gen_draw(g, sizeof makers / sizeof *makers)](&w);
        if (e.text && !too_large(&e.r)) return e;
    }
    return leaf(&w);
}
