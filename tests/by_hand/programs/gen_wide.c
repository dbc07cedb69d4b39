/* Programs over wide rows: several reductions over reshapes of them, joins, choices. What they keep
 * of a row in local memory is more than a GPU has unless tiles are small. */
#include "tests/by_hand/programs/gen.h"
#include <string.h>

enum { STEPS = 7, ELEMENTS = 16000, LONGEST = 300 };

/* X is [N, W] with W = A * B, each value made of it too; %1 is what it is so far, %2 an earlier
 * one, %3 a name of its own. Exact results are multiples of 1/4; all are squeezed to 30, NaN
 * and infinities left as they are or not. */
static const struct step {
    const char *text, *before; /* BEFORE: lines of their own */
    enum { ANY, EXACT, NEAR } when;
    bool narrow; /* W is LONGEST at most: the square of it is computed */
} steps[] = {
    {"%1 - max(%1, keep=1)", NULL, ANY, false},
    {"%1 + min(%1, axis=0, keep=1)", NULL, ANY, false},
    {"%1 - sum(where(%1 > 0, 1, 0), keep=1) * 0.25", NULL, EXACT, false},
    {"%1 + f32(argmax(%1, keep=1)) * 0.25", NULL, EXACT, false},
    {"%1 - f32(argmax(%1, axis=0, keep=1)) * 0.25", NULL, EXACT, false},
    {"reshape(%3 - max(%3, axis=1, keep=1), [N, W])", "%3 = reshape(%1, [N, A, B])", ANY, false},
    {"reshape(%3 + sum(%3, axis=2, keep=1), [N, W])", "%3 = reshape(%1, [N, A, B])", ANY, false},
    {"reshape(%3 + max(%3, axis=1, keep=1) - min(%3, axis=2, keep=1), [N, W])",
     "%3 = reshape(%1, [N, A, B])", ANY, false},
    {"reshape(%3 - f32(argmax(%3, axis=1, keep=1)) + sum(%3, axis=2, keep=1), [N, W])",
     "%3 = reshape(%1, [N, B, A])", EXACT, false},
    {"reshape(transpose(reshape(%1, [N, A, B]), [0, 2, 1]), [N, W])", NULL, ANY, false},
    {"concat(f32(%1)[:, H:], f32(%2)[:, :H], axis=1)", NULL, ANY, false},
    {"%1 + %2", NULL, ANY, false},
    {"where(%1 < %2, %1, max(%2, keep=1))", NULL, EXACT, false},
    {"gather(%1.T, idiv(iota(W), 2)).T", NULL, ANY, false},
    {"take(%1, c)", NULL, ANY, false},
    {"f32(bf16(%1)) - min(f16(%2), keep=1)", NULL, ANY, false},
    {"where(m > 0, %1, -inf)", NULL, ANY, false},
    {"-where(%1 < %2, e4m3(%2), bf16(%1))", NULL, ANY, false},
    {"f32(-where(m > 0, e4m3(%1), f16(%2)))", NULL, ANY, false},
    {"abs(where(%1 < %2, f16(x), e4m3(%1)))", NULL, ANY, false},
    {"f32(f16(minimum(bf16(%1), bf16(%2)))) - f32(bf16(x))", NULL, EXACT, false},
    {"f32(i32(-fit(where(%1 < %2, e4m3(%1), bf16(%2)))))", NULL, EXACT, false},
    {"maximum(-f16(%1), where(m > 0, -e4m3(x), abs(bf16(%2))))", NULL, ANY, false},
    {"where(c > 0, -%1, abs(%2)) * where(%1 < 0, -1, 1)", NULL, EXACT, false},
    {"%1 - %3[:, K - 1:K] + f32(%3i[:, :1]) * 0.25", "%3, %3i = topk(where(%1 == %1, %1, -inf), K)",
     EXACT, false},
    {"f32(rank(i32(minimum(maximum(%1, -30), 30)))) * 0.25", NULL, EXACT, true},
    {"cumsum(%1)", NULL, ANY, true},
    {"floor(bf16(%1) @ w)", NULL, EXACT, true},
    {"f32(bf16(%1) @ w.T) - max(%1, keep=1)", NULL, ANY, true},
    {"softmax(%1)", NULL, NEAR, false},
    {"softmax(%1, axis=0)", NULL, NEAR, false},
    {"reshape(softmax(%3, axis=1) + softmax(%3, axis=2), [N, W])", "%3 = reshape(%1, [N, A, B])",
     NEAR, false},
    {"reshape(%3 * rsqrt(mean(%3 * %3, axis=1, keep=1) + 0.5) - mean(%3, axis=2, keep=1), [N, W])",
     "%3 = reshape(%1, [N, B, A])", NEAR, false},
    {"rmsnorm(%1, g, eps=0.25)", NULL, NEAR, false},
    {"layernorm(%1 + %2, g, g, eps=0.25)", NULL, NEAR, false},
    {"softmax(where(m > 0, %1, -inf)) - mean(%2, keep=1)", NULL, NEAR, false},
    {"silu(%1) * softmax(%2)", NULL, NEAR, false},
};

static const char *filled(gen *g, const char *form, const char *const name[3]) {
    const char *t = "";
    for (const char *p = form; *p;) {
        size_t n = strcspn(p, "%");
        t = et_printf(g->a, "%s%.*s", t, (int)n, p);
        p += n;
        if (*p) t = et_printf(g->a, "%s%s", t, name[p[1] - '1']), p += 2;
    }
    return t;
}

static void hint(gen *g) {
    static const int rows[] = {0, 0, 1, 2, 16, 48}, columns[] = {0, 0, 64, 256, 1000};
    if (gen_chance(g, 15))
        gen_line(g,
                 et_printf(g->a, "@tile(%d, %d)", rows[gen_draw(g, 6)], columns[gen_draw(g, 5)]));
}

static void declare_all(gen *g, bool near, int a, int b) {
    static const char *const types[] = {"f32", "f32", "bf16", "f16"};
    int w = a * b, most = ELEMENTS / w;
    gen_line(g, near ? "model near" : "model exact");
    gen_line(g, gen_chance(g, 60)
                    ? et_printf(g->a, "dim N in 1..%d", 1 + gen_draw(g, 70))
                    : et_printf(g->a, "const N = %d", 1 + gen_draw(g, most < 40 ? most : 40)));
    gen_line(g, et_printf(g->a, "const A = %d, B = %d, W = %d, H = %d, K = %d", a, b, w,
                          (w + 1) / 2, 1 + gen_draw(g, w < 6 ? w : 6)));
    const char *holds = gen_chance(g, 50) ? "30/4 odd" : "30/4";
    gen_line(g, et_printf(g->a, "input x : %s[N, W]   #: %s", types[gen_draw(g, 4)], holds));
    gen_line(g, et_printf(g->a, "input m : i32[N, W]   #: %s", gen_chance(g, 50) ? "3/1" : "0/1"));
    gen_line(g, "input c : i32[N, W]   #: 300/1");
    gen_line(g, "weight g : f32[W] = \"g\"   #: 2/4");
    gen_line(
        g, gen_chance(g, 30)
               ? "def fit(v) = minimum(maximum(v, -30), 30)"
               : "def fit(v) = where(v > 30 and v < inf, 30, where(v < -30 and v > -inf, -30, v))");
    if (w <= LONGEST) gen_line(g, "weight w : bf16[W, W] = \"w\"   #: 1/1");
}

void gen_wide(gen *g) {
    static const int sizes[] = {1, 1, 2, 3, 4, 5, 8, 16, 31, 32, 64, 100, 127, 128, 129, 256};
    int a = sizes[gen_draw(g, 16)], b = sizes[gen_draw(g, 16)],
        nstep = sizeof steps / sizeof *steps;
    bool near = gen_chance(g, 50);
    const char *was = "x", *is = "x";
    while (a * b > 8192)
        a = sizes[gen_draw(g, 16)];
    if (gen_chance(g, 20)) a = 1, b = 1 + gen_draw(g, 3000);
    declare_all(g, near, a, b);
    for (int i = 1 + gen_draw(g, STEPS); i > 0;) {
        const struct step *s = &steps[gen_draw(g, nstep)];
        bool fits = s->when == ANY || (s->when == NEAR) == near;
        if (!fits || (s->narrow && a * b > LONGEST)) continue;
        const char *name[3] = {is, gen_chance(g, 50) ? was : "x", gen_fresh(g, "v")};
        if (s->before) gen_line(g, filled(g, s->before, name));
        const char *text = filled(g, s->text, name), *next = gen_fresh(g, "t");
        hint(g);
        gen_line(g, et_printf(g->a, "%s = fit(%s)", next, text));
        was = is, is = next, i--;
    }
    const char *mark = near ? "   #: near" : "";
    gen_line(g, et_printf(g->a, "output y : f32[N, W] = f32(%s)%s", is, mark));
    gen_line(g, et_printf(g->a, "output most : f32[N] = max(f32(%s))%s", was, mark));
    if (near) return;
    gen_line(g, et_printf(g->a, "output first : i32[N] = argmax(%s)", is));
    gen_line(g, et_printf(g->a, "output down : i32[W] = argmax(%s, axis=0)", was));
}
