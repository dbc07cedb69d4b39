/* Weights that are codes: of each type, with scales and zero points for rows, groups and blocks, k
 * last in memory or first. */
#include "ir/base/dtype.h"
#include "tests/by_hand/programs/gen.h"

/* Codes are at most so much and multiples of 2^-frac; zero points whole numbers up to 7; scales 1
 * to 2^-3. */
static const struct {
    const char *type;
    int max, frac;
    bool points; /* may have zero points */
} codes[] = {{"e4m3", 14, 0, false}, {"e5m2", 6, 0, false}, {"i8", 100, 0, true},
             {"u4", 15, 0, true},    {"i4", 7, 0, true},    {"e2m1", 6, 1, false}};
enum { MOST_POINT = 7, SCALE_BITS = 3 };

/* A weight [ROWS, COLUMNS] beside codes, declared; its name. */
static const char *declare(gen *g, const char *type, int rows, int columns, const char *holds) {
    const char *name = gen_fresh(g, "w");
    const char *each = g->nloops ? ".{l0}" : "";
    gen_line(g, et_printf(g->a, "weight %s : %s[%d, %d] = \"%s%s\"   #: %s", name, type, rows,
                          columns, name, each, holds));
    return name;
}

const char *gen_in_bytes(const char *type, int columns) {
    et_dtype d;
    return et_dtype_parse(type, &d) && et_dtype_size(d, columns) * 8 != columns * et_dtype_bits(d)
               ? "i8"
               : type;
}

/* Numbers of a type, one for each SIZE along axis AXIS of [D0, D1], repeated to that shape. */
static const char *grouped(gen *g, const char *type, const int *d, int axis, int size,
                           const char *holds) {
    int rows = axis ? d[0] : d[0] / size, columns = axis ? d[1] / size : d[1];
    const char *name = declare(g, gen_in_bytes(type, columns), rows, columns, holds);
    const char *turned = axis ? ".T" : "";
    return et_printf(g->a, "gather(%s%s, idiv(iota(%d), %d))%s", name, turned, d[axis], size,
                     turned);
}

static const char *scales(gen *g, const int *d, int axis, int size) {
    static const char *const types[] = {"f32", "bf16", "f16", "ue8m0"};
    const char *type = types[gen_draw(g, 4)];
    int block[2];
    switch (gen_draw(g, 4)) {
    case 0: /* for each row */
        return declare(g, type, axis ? d[0] : 1, axis ? 1 : d[1], "powers");
    case 1: /* for each block, the last ones smaller */
        for (int i = 0; i < 2; i++)
            block[i] = 16 << gen_draw(g, 4);
        return et_printf(g->a, "gather(gather(%s, idiv(iota(%d), %d)).T, idiv(iota(%d), %d)).T",
                         declare(g, type, (d[0] + block[0] - 1) / block[0],
                                 (d[1] + block[1] - 1) / block[1], "powers"),
                         d[0], block[0], d[1], block[1]);
    default:
        return grouped(g, type, d, axis, size, "powers");
    }
}

/* [ROWS, K] of a float type. */
static gen_ex weight(gen *g, int rows, int k, const char *type) {
    int c = gen_draw(g, sizeof codes / sizeof *codes), axis = gen_chance(g, 60), size = 1;
    int d[2] = {axis ? rows : k, axis ? k : rows};
    gen_range r = {.exact = true, .max = codes[c].max, .frac = codes[c].frac};
    const char *in = gen_in_bytes(codes[c].type, d[1]);
    const char *holds = et_printf(g->a, "%d/%d", codes[c].max, 1 << codes[c].frac);
    const char *e = declare(g, in, d[0], d[1], holds);
    while (k % (size * 2) == 0 && gen_chance(g, 85))
        size *= 2;
    if (codes[c].points && gen_chance(g, 50)) {
        const char *points = gen_chance(g, 30)
                                 ? "3"
                                 : grouped(g, gen_chance(g, 80) ? "u4" : "i8", d, axis, size,
                                           et_printf(g->a, "%d/1", MOST_POINT));
        e = et_printf(g->a, "(%s - %s)", e, points);
        r.max += MOST_POINT;
    }
    if (gen_chance(g, 85)) {
        if (gen_chance(g, 30)) e = et_printf(g->a, "f32(%s)", e);
        e = et_printf(g->a, "(%s * %s)", e, scales(g, d, axis, size));
        r.frac += SCALE_BITS;
    }
    gen_shape s = {2, {gen_number(rows), gen_number(k)}};
    return (gen_ex){et_printf(g->a, "%s(%s)%s", type, e, axis ? "" : ".T"), s, r};
}

gen_ex gen_coded(gen *g, const gen_shape *s, bool exact, int depth) {
    static const int sizes[] = {32, 40, 64, 72, 96, 128, 256, 512};
    static const char *const types[] = {"bf16", "bf16", "f16", "f32"};
    const char *type = types[gen_draw(g, 4)];
    int n = s->rank, k = sizes[gen_draw(g, sizeof sizes / sizeof *sizes)];
    gen_shape a = *s;
    if (n < 2 || s->d[n - 1].sym >= 0 || g->nloops > 1) return (gen_ex){0};
    if (n == 2 && s->d[0].sym < 0 && gen_chance(g, 20)) {
        gen_ex e = weight(g, s->d[0].add, s->d[1].add, type);
        e.text = et_printf(g->a, "f32(%s)", e.text);
        return e;
    }
    a.d[n - 1] = gen_number(k);
    if (gen_count(g, &a) > 4 * GEN_ELEMENTS) return (gen_ex){0};
    gen_ex x = gen_fit(g, gen_value(g, &a, false, exact, depth - 1), 6, 1);
    gen_ex y = weight(g, s->d[n - 1].add, k, type);
    gen_range r = {.exact = x.r.exact, .max = x.r.max * y.r.max * k, .frac = x.r.frac + y.r.frac};
    return (gen_ex){et_printf(g->a, "(%s(%s) @ %s.T)", type, x.text, y.text), *s, r};
}
