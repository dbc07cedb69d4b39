/* Statements over rows: a state carried along them, and rows in groups. */
#include "tests/by_hand/programs/gen.h"
#include <string.h>

/* A name for an expression of the shape, squeezed to MAX and FRAC where that is not 0. */
static const char *named(gen *g, const gen_shape *s, bool whole, double max, int frac) {
    gen_ex e = gen_fit(g, gen_value(g, s, whole, true, 1), max, frac);
    const char *name = gen_fresh(g, "r");
    gen_line(g, et_printf(g->a, whole ? "%s = %s" : "%s = f32(%s)", name, e.text));
    return name;
}

static gen_dim below(gen *g, int most) {
    gen_dim d = gen_any_dim(g);
    while (d.sym >= 0 || d.add > most)
        d = gen_number(1 + gen_draw(g, most));
    return d;
}

void gen_carried(gen *g) {
    if (!gen_chance(g, 35)) return;
    gen_shape *s = &g->carried;
    *s = (gen_shape){4,
                     {gen_number(1 + gen_draw(g, 5)), gen_number(1 + gen_draw(g, 2)), below(g, 17),
                      below(g, 33)}};
    if (gen_chance(g, 25)) s->d[3] = gen_number(1);
    gen_line(g, et_printf(g->a, "state carried : f32%s   #: 30/4", gen_dims_text(g, s)));
}

/* Sums stay exact: a state is within 30, or one scan alone goes without bounds, in which each row
 * adds 16 at most. */
void gen_scan(gen *g) {
    const gen_dim *c = g->carried.d;
    gen_dim n = gen_any_dim(g);
    if (!g->carried.rank || gen_high(g, n) > 40) return;
    bool linear = !g->nloops && !g->scanned && gen_chance(g, 40);
    bool looks = !linear && gen_chance(g, 50);
    g->scanned = true;
    gen_shape rows = {1, {n}}, v = {3, {n, c[1], c[2]}}, k = {3, {n, c[1], c[3]}};
    const char *slot = named(g, &rows, true, c[0].add, 0), *on = named(g, &rows, true, 9, 0);
    const char *tv = named(g, &v, false, 8, 2), *tk = named(g, &k, false, 2, 0);
    const char *tq = named(g, &k, false, linear ? 1 : 4, 0);
    const char *keep =
        et_printf(g->a, "where(%s[i] < 7, %s, 0)", on, gen_chance(g, 50) ? "s" : "0 - s");
    const char *gain = et_printf(
        g->a, looks ? "(%s[i, h, d] - seen) * %s[i, h, j]" : "%s[i, h, d] * %s[i, h, j]", tv, tk);
    const char *next = et_printf(g->a, "%s + %s", keep, gain), *name = gen_fresh(g, "t");
    if (!linear) next = et_printf(g->a, "minimum(maximum(%s, -30), 30)", next);
    const char *at = gen_chance(g, 70) ? et_printf(g->a, "%s[i]", slot)
                                       : et_printf(g->a, "mod(%s[i], %d)", slot, c[0].add);
    gen_line(g, et_printf(g->a,
                          "%s = scan(i in 0..%s, h in 0..%d, d in 0..%d, j in 0..%d, carry = "
                          "carried[%s, h, d, j]%s%s, next = %s, out = s * %s[i, h, j])",
                          name, gen_dim_text(g, n), c[1].add, c[2].add, c[3].add, at,
                          gen_chance(g, 40) ? et_printf(g->a, ", fresh = %s[i] == 3", on) : "",
                          looks ? et_printf(g->a, ", look = s * %s[i, h, j]", tk) : "", next, tq));
    gen_range r = {.exact = true, .max = (linear ? 2000 : 120) * c[3].add, .frac = 2};
    gen_add_name(g, name, &v, r);
}

void gen_group(gen *g) {
    gen_dim n = gen_any_dim(g), k = gen_any_dim(g), c = gen_any_dim(g);
    int e = 1 + gen_draw(g, 5), pad = gen_chance(g, 50) ? 1 + gen_draw(g, 9) : 0;
    gen_shape one = {1, {n}}, x = {2, {n, k}}, w = {3, {gen_number(e), c, k}}, y = {2, {n, c}};
    if (gen_count(g, &x) > GEN_ELEMENTS || gen_count(g, &w) > GEN_ELEMENTS) return;
    bool half = gen_chance(g, 50);
    const char *type = half ? "bf16" : "f32", *id = gen_fresh(g, "");
    const char *of = named(g, &one, true, e, 0), *name = gen_fresh(g, "t");
    gen_ex from = gen_fit(g, gen_value(g, &x, false, true, 1), half ? 30 : 24, 2);
    gen_ex by = gen_fit(g, gen_value(g, &w, false, true, 1), half ? 30 : 24, 2);
    gen_line(g, et_printf(g->a, "rows%s, place%s, owner%s, first%s = group(%s, %d%s)", id, id, id,
                          id, of, e, pad ? et_printf(g->a, ", pad=%d", pad) : ""));
    const char *met = gen_fresh(g, "t");
    gen_line(g, et_printf(g->a, "%s = grouped(%s(gather(%s, rows%s)), %s(%s), owner%s)", met, type,
                          from.text, id, type, by.text, id));
    gen_line(g, et_printf(g->a,
                          "%s = where(reshape(place%s, [%s, 1]) >= 0, gather(reshape(%s, "
                          "[size(rows%s, axis=0) * size(rows%s, axis=1), %s]), place%s), -1)",
                          name, id, gen_dim_text(g, n), met, id, id, gen_dim_text(g, c), id));
    gen_range r = {.exact = true,
                   .max = from.r.max * by.r.max * gen_high(g, k) + 1,
                   .frac = from.r.frac + by.r.frac};
    gen_add_name(g, name, &y, r);
    if (!pad) return;
    r = (gen_range){true, true, 10000, 0};
    gen_add_name(g, et_printf(g->a, "place%s", id), &one, r);
    one.d[0] = gen_number(e + 1);
    gen_add_name(g, et_printf(g->a, "first%s", id), &one, r);
}
