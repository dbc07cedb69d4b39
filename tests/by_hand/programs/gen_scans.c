/* Programs of scans: states of every size, rows of several sequences wherever they stand, and what
 * a row does said in every way that has a chunked form, and in some that have none. */
#include "tests/by_hand/programs/gen.h"
#include <string.h>

enum { MOST_ROWS = 110, STATES = 2, WORK = 60000 };

/* A scan's sizes. WINDOW: an element of its state is what one of the last rows brought. */
struct sizes {
    int slots, heads, results, elements;
    bool window;
};

static int one_of(gen *g, int n, const int *of) {
    return of[gen_draw(g, n)];
}

static struct sizes some_sizes(gen *g) {
    static const int multiples[] = {16, 16, 16, 32, 32, 48, 64, 128}, any[] = {1, 5, 8, 20, 33};
    bool odd = gen_chance(g, 12);
    struct sizes z = {1 + gen_draw(g, 4), 1 + gen_draw(g, 3), one_of(g, 8, multiples),
                      one_of(g, 8, multiples), false};
    if (odd) *(gen_chance(g, 50) ? &z.results : &z.elements) = one_of(g, 5, any);
    while (z.slots * z.heads * z.results * z.elements > WORK / 4)
        *(z.results > z.elements ? &z.results : &z.elements) = 16, z.slots = z.slots / 2 + 1;
    return z;
}

static struct sizes window_sizes(gen *g) {
    static const int elements[] = {1, 2, 3, 4, 4, 4, 5, 8, 16, 17};
    static const int results[] = {1, 3, 16, 20, 32, 64, 65, 100};
    return (struct sizes){1 + gen_draw(g, 4), 1 + gen_draw(g, 2), one_of(g, 8, results),
                          one_of(g, 10, elements), true};
}

/* ---- which rows ---- */

/* %C: somewhere in the launch; %P: a length; %S: slots. Each says `slot` and `pos` of all rows. */
static const char *const orders[] = {
    "at = iota(N)\nslot = mod(idiv(at, %P), %S)\npos = mod(at, %P)",
    "at = iota(N) + %C\nslot = mod(idiv(at, %P), %S)\npos = mod(at, %P)",
    "at = iota(N)\nslot = where(at < %C, 0, %S - 1)\npos = where(at < %C, at, at - %C)",
    "at = iota(N)\nslot = where(at < %C, 0, %S - 1)\npos = where(at < %C, at + 16, at - %C)",
    "at = iota(N)\nslot = where(at < %C, 0, %S - 1)\npos = where(at < %C, at, at - %C + 32)",
    "at = iota(N)\nslot = at * 0\npos = at - %C",
    "at = iota(N)\nslot = at * 0\npos = at - 16 * %P",
    "at = iota(N)\nslot = at * 0 + %S - 1\npos = at + 32",
    "at = iota(N)\nslot = mod(at, %S)\npos = idiv(at, %S)",
    "at = iota(N)\nslot = where(at == %C, %S - 1, 0)\npos = where(at == %C, 0, at)",
    "at = iota(N)\nslot = where(at < %C, 0, %S)\npos = where(at < %C, at, at - %C)",
    "at = iota(N)\nslot = where(at < 32, -1, 0)\npos = at",
    "at = iota(N)\nslot = mod(abs(few), %S)\npos = at",
    "at = iota(N)\nslot = at * 0\npos = where(few == 3, 0, at)",
    "at = iota(N)\nslot = at * 0\npos = N - 1 - at",
    "at = iota(N)\nslot = mod(idiv(at, 16), %S)\npos = 16 * idiv(at, 16 * %S) + mod(at, 16)",
    "at = iota(N)\nslot = mod(idiv(at, 32), %S)\npos = 32 * idiv(at, 32 * %S) + mod(at, 32)",
};

/* FORM with what its marks stand for. */
static const char *filled(gen *g, const char *form, const char *marks, const char *const *by) {
    const char *out = "";
    for (const char *p = form; *p; p++) {
        const char *m = *p == '%' ? strchr(marks, p[1]) : NULL;
        if (m && p[1])
            out = et_printf(g->a, "%s%s", out, by[m - marks]), p++;
        else
            out = et_printf(g->a, "%s%c", out, *p);
    }
    return out;
}

static void rows(gen *g, const struct sizes *z) {
    static const int lengths[] = {1, 3, 16, 17, 31, 32, 33, 40, 48, 64, 100};
    int most = sizeof orders / sizeof *orders;
    const char *by[] = {et_printf(g->a, "%d", gen_draw(g, 70)),
                        et_printf(g->a, "%d", one_of(g, 11, lengths)),
                        et_printf(g->a, "%d", z->slots)};
    gen_line(g, filled(g, orders[gen_draw(g, gen_chance(g, 50) ? 5 : most)], "CPS", by));
}

/* ---- what a row does ---- */

/* %a, %b: tensors by row and head; %k, %q, %v; %e: decays of each element; %w: a weight of codes.
 */
static const char *const near_kept[] = {
    "%a * s",
    "s",
    "s * %a * %b",
    "sigmoid(%a) * s",
    "exp(-abs(%a)) * s",
    "-%a * s",
    "s - 0.5 * %a * s",
    "where(%a > 0.5, 0, %a) * s",
    "0.9 * s",
    "%e * s",
    "(%a + %b) * 0.5 * s",
    "%a * (s * 0.5 + 0.25 * s)",
    "s * where(mod(i, 7) == 3, 0, 1)",
    "minimum(%a, 0.75) * s",
    "s * abs(%v) * 0.5",
};
static const char *const exact_kept[] = {
    "s",     "-s",   "0 - s", "s * where(few[i] < 5, 1, 0)", "where(few[i] < 5, -1, 1) * s",
    "s * 1", "0 * s"};
static const char *const near_added[] = {
    "%b * (%v - seen) * %k",  "(%v - seen) * %b * %k",         "%k * (%b * %v) - seen * %k * %b",
    "(%v - 0.5 * seen) * %k", "%v * %k - %b * seen * %k",      "-%b * (seen - %v) * %k",
    "%b * seen * %k",         "(%v * %b - seen) * (%k * 0.5)", "-(seen * %b) * %k * %w",
};
static const char *const plain_added[] = {
    "%v * %k",
    "%k * %v * %b",
    "-%v * %k",
    "%k",
    "%v",
    "(%v + 1) * (%k - 0.5)",
    "%v * silu(%k)",
    "%v * %w",
    "0.25",
    "%v * (%k * %w)",
    "f32(bf16(%v)) * %k",
    "where(%v > 0, %v, 0) * %k",
    "%v * where(mod(j, 2) == 0, %k, -%k)",
};
static const char *const exact_added[] = {"%v * %k", "-%v * %k", "%k", "%v", "%k * (%v + 1)", "1"};
static const char *const looks[] = {"s * %k",      "%k * %a * s",   "-s * %k",          "s",
                                    "%a * s * %k", "s * (%k + %q)", "0.5 * s * %k * %a"};
static const char *const outs[] = {"s * %q",        "s",           "-s * %q",     "%q * s",
                                   "s * (%q - %k)", "s * %q * %w", "(s + s) * %q"};
static const char *const exact_outs[] = {"s * %q", "s", "-s * %q", "s * (%q + 1)"};

/* %j: elements of a state. */
static const char *const brought[] = {"where(mod(pos[i], %j) == j, %v, s)",
                                      "where(j == mod(pos[i], %j), -%v, s)",
                                      "where(mod(pos[i], %j) != j, s, %v)",
                                      "where(mod(pos[i] + 3, %j) == j, %v, s)",
                                      "where(mod(pos[i], %j) == j, %k, s)",
                                      "where(mod(i, %j) == j, %v, s)",
                                      "where(mod(pos[i], %j) == j, %v * %a + %b, s)",
                                      "where(mod(1 - pos[i], %j) == j, %v, s)",
                                      "where(mod(2 * pos[i], %j) == j, %v, s)",
                                      "where(mod(few[i], %j) == j, %v, s)",
                                      "where(mod(pos[i], %j) == j, %v + s, s)",
                                      "where(mod(pos[i] * 1, %j) == j, where(%v > 0, %v, 1), s)"};
static const char *const window_outs[] = {"s * %q", "s", "s * %w * %a", "s * s",
                                          "s * %w * where(j == mod(pos[i], %j), 2, 1)"};

#define SOME(g, of) of[gen_draw(g, sizeof of / sizeof *of)]

static const char *const arguments = "akqvebwj";

static void scan_of(gen *g, const struct sizes *z, int n, bool exact, const char *out) {
    bool sees = !exact && gen_chance(g, 55);
    const char *mark = et_printf(g->a, "%d", n), *by[8];
    static const char *const forms[] = {"a%d[i, h]",    "k%d[i, h, j]", "q%d[i, h, j]",
                                        "v%d[i, h, d]", "e%d[i, h, j]", "b%d[i, h]",
                                        "w%d[h, j]"};
    for (int i = 0; i < 7; i++) {
        const char *at = strstr(forms[i], "%d");
        by[i] = et_printf(g->a, "%.*s%s%s", (int)(at - forms[i]), forms[i], mark, at + 2);
    }
    const char *kept =
        exact ? SOME(g, exact_kept) : near_kept[gen_draw(g, gen_chance(g, 60) ? 9 : 15)];
    const char *added = exact  ? SOME(g, exact_added)
                        : sees ? SOME(g, near_added)
                               : SOME(g, plain_added);
    by[7] = et_printf(g->a, "%d", z->elements);
    if (z->window) sees = false;
    const char *next = et_printf(g->a, gen_chance(g, 80) ? "%s + %s" : "%2$s + %1$s", kept, added);
    next = filled(g, z->window ? SOME(g, brought) : next, arguments, by);
    const char *line = et_printf(
        g->a,
        "%s = scan(i in 0..N, h in 0..%d, d in 0..%d, j in 0..%d, carry = st%d[slot[i], h, d, j]",
        out, z->heads, z->results, z->elements, n);
    if (gen_chance(g, 92))
        line = et_printf(g->a, "%s, fresh = %s", line,
                         gen_chance(g, 80) ? "pos[i] == 0" : "0 == pos[i]");
    if (sees)
        line = et_printf(g->a, "%s, look = %s", line, filled(g, SOME(g, looks), arguments, by));
    gen_line(g, et_printf(g->a, "%s, next = %s, out = %s)", line, next,
                          filled(g,
                                 z->window ? SOME(g, window_outs)
                                 : exact   ? SOME(g, exact_outs)
                                           : SOME(g, outs),
                                 arguments, by)));
}

/* What a scan reads. Delta rules neither grow nor die away. */
static void tensors(gen *g, const struct sizes *z, int n, bool exact) {
    static const char *const types[] = {"f32", "f32", "bf16", "f16"};
    const char *holds = exact && g->odd ? "2/1 rare"
                        : exact         ? "2/1"
                                        : "",
               *rare = g->odd ? " rare" : "";
    const char *mark = exact || g->odd ? "   #: " : "";
    if (g->odd && !exact) holds = "1/256";
    for (int i = 0; i < 2; i++)
        gen_line(g, et_printf(g->a, "input %c%d_ : %s[N, %d, %d]%s%s%s", "kq"[i], n,
                              types[gen_draw(g, 4)], z -> heads, z -> elements, mark, holds, rare));
    gen_line(g, et_printf(g->a, "input v%d : %s[N, %d, %d]%s%s%s", n, types[gen_draw(g, 4)],
                          z->heads, z->results, mark, holds, rare));
    for (int i = 0; i < 2; i++)
        gen_line(g, et_printf(g->a, "input %c%d_ : f32[N, %d]%s%s%s", "ab"[i], n, z -> heads, mark,
                              holds, rare));
    gen_line(g, et_printf(g->a, "input e%d : bf16[N, %d, %d]", n, z->heads, z->elements));
    gen_line(g, et_printf(g->a, "weight w%d_ : e4m3[%d, %d]   #: 1/2", n, z->heads, z->elements));
    gen_line(g, et_printf(g->a, "state st%d : f32[%d, %d, %d, %d]   #: %s", n, z->slots, z->heads,
                          z->results, z->elements,
                          exact    ? "2/1"
                          : g->odd ? "near spread"
                                   : "near"));
}

static void named(gen *g, int n, int elements, bool exact) {
    if (exact) {
        gen_line(g, et_printf(g->a, "k%d = k%d_\nq%d = q%d_\na%d = a%d_\nb%d = b%d_\nw%d = w%d_", n,
                              n, n, n, n, n, n, n, n, n));
        return;
    }
    double by = elements > 32 ? 0.125 : 0.25;
    gen_line(g, et_printf(g->a, "k%d = k%d_ * %g", n, n, by));
    gen_line(g, et_printf(g->a, gen_chance(g, 50) ? "q%d = q%d_" : "q%d = bf16(q%d_ * 2)", n, n));
    gen_line(g,
             et_printf(g->a,
                       gen_chance(g, 50) ? "a%d = a%d_ * 0.5 + 0.5" : "a%d = 1 - abs(a%d_) * 0.125",
                       n, n));
    gen_line(g, et_printf(g->a, "b%d = abs(b%d_)\nw%d = f32(w%d_)", n, n, n, n));
}

void gen_scans(gen *g) {
    struct sizes z[STATES] = {some_sizes(g), some_sizes(g)};
    bool windows = gen_chance(g, 35), exact = windows || gen_chance(g, 30);
    if (windows) z[0] = window_sizes(g), z[1] = window_sizes(g);
    int states = gen_chance(g, 70) ? 1 : 2, low = gen_chance(g, 80) ? 1 : 16;
    g->odd = (!exact || windows) && gen_chance(g, 30);
    z[1].slots = z[0].slots;
    gen_line(g, et_printf(g->a, "model %s", gen_chance(g, 15) ? "same_sums" : "scans"));
    gen_line(g, et_printf(g->a, "dim N in %d..%d", low,
                          windows ? 130 + gen_draw(g, 2 * MOST_ROWS)
                                  : 30 + gen_draw(g, MOST_ROWS - 30)));
    gen_line(g, "input few : i32[N]   #: 6/1");
    for (int n = 0; n < states; n++)
        tensors(g, &z[n], n, exact);
    rows(g, &z[0]);
    for (int n = 0; n < states; n++)
        named(g, n, z[n].elements, exact);
    const char *near = exact ? "" : g->odd ? "   #: near spread" : "   #: near";
    for (int n = 0, made = 0; n < states; n++) {
        int again = gen_chance(g, 20) ? 2 : 1;
        for (int k = 0; k < again; k++, made++) {
            if (gen_chance(g, 15) && !exact)
                gen_line(g, et_printf(g->a, "st%d[%d] = st%d[0] * 0.5", n, z[n].slots - 1, n));
            const char *name = et_printf(g->a, "y%d", made);
            scan_of(g, &z[n], n, exact, name);
            gen_line(
                g, et_printf(g->a, "output o%d = %s%s%s", made,
                             exact || gen_chance(g, 60) ? name : et_printf(g->a, "bf16(%s)", name),
                             exact && again == 1 && gen_chance(g, 50) ? " * 2" : "", near));
        }
        if (gen_chance(g, 30))
            gen_line(g, et_printf(g->a, "output kept%d = st%d[0]%s", n, n, near));
    }
}
