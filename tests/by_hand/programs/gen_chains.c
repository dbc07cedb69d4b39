/* Programs that are one operator after itself, up to forty times. */
#include "tests/by_hand/programs/gen.h"
#include <string.h>

enum { DEPTH = 40 };

/* X is [N, K] or [R, K], each value of the chain too; %1 is what it is so far, %2 a number from 0.
 * Results of exact ones are multiples of 1/4 no larger than 30. */
static const struct link {
    const char *text;
    bool near, square; /* K is R, and no dim */
} links[] = {
    {"softmax(%1)", true, false},
    {"rmsnorm(%1, g, eps=0.25)", true, false},
    {"layernorm(%1, g, g, eps=0.25)", true, false},
    {"tanh(%1 + 0.25)", true, false},
    {"minimum(maximum(%1 * 2 - 0.25, -30), 30)", false, false},
    {"where(%1 < b, %1, 0 - %1)", false, false},
    {"gather(%1, r)", false, false},
    {"take(%1, c)", false, false},
    {"reshape(%1.T, [R, K])", false, false},
    {"%1.T", false, true},
    {"reshape(reshape(%1, [R * K]), [R, K])", false, false},
    {"concat(%1[:, 1:], %1[:, :1], axis=1)", false, false},
    {"concat(%1[1:, :], %1[:1, :], axis=0)", false, false},
    {"minimum(maximum(cumsum(%1, axis=1), -30), 30)", false, false},
    {"minimum(maximum(%1 - max(%1, axis=1, keep=1), -30), 30)", false, false},
    {"minimum(maximum(%1 + min(%1, axis=0, keep=1), -30), 30)", false, false},
    {"minimum(maximum(%1 - sum(%1, keep=1), -30), 30)", false, false},
    {"%1 + f32(mod(argmax(%1, axis=1, keep=1), 2)) * 0", false, false},
    {"minimum(maximum(floor(%1 @ w), -30), 30)", false, false},
    {"minimum(maximum(floor(bf16(%1) @ bf16(w).T), -30), 30)", false, false},
    {"f32(bf16(%1))", false, false},
    {"f32(f16(%1)) * -1", false, false},
};

static const char *link_text(gen *g, const char *form, const char *x) {
    const char *t = "";
    for (const char *p = form, *next; *p; p = next) {
        next = strstr(p, "%1");
        if (!next) next = p + strlen(p);
        t = et_printf(g->a, "%s%.*s%s", t, (int)(next - p), p, *next ? x : "");
        if (*next) next += 2;
    }
    return t;
}

/* By way of a state, a loop, or names of its own. */
static void chain(gen *g, const struct link *l, int depth, bool dim) {
    const char *x = "x";
    int how = gen_draw(g, 4);
    if (how == 0) {
        gen_line(g, "t = f32(x)");
        gen_line(g, et_printf(g->a, "for l in 0..%d {", depth));
        gen_line(g, et_printf(g->a, "  t = f32(%s)", link_text(g, l->text, "t")));
        gen_line(g, "}");
        x = "t";
    }
    for (int i = 0; how && i < depth; i++) {
        const char *next = et_printf(g->a, "t%d", i);
        gen_line(g, et_printf(g->a, "%s = %s", next, link_text(g, l->text, x)));
        x = next;
        if (how != 1 || dim || !gen_chance(g, 40)) continue;
        gen_line(g, et_printf(g->a, "s[:, :] = %s", x));
        x = "s";
    }
    gen_line(g,
             et_printf(g->a, "output y : f32[R, K] = f32(%s)%s", x, l->near ? "   #: near" : ""));
}

void gen_chains(gen *g) {
    const struct link *l = &links[gen_draw(g, sizeof links / sizeof *links)];
    static const int sizes[] = {2, 3, 8, 16, 17, 32, 33, 64};
    int rows = sizes[gen_draw(g, 8)], columns = l->square ? rows : sizes[gen_draw(g, 8)];
    bool dim = !l->square && gen_chance(g, 50);
    static const char *const types[] = {"f32", "f32", "bf16", "f16"};
    gen_line(g, l->near ? "model near" : "model exact");
    gen_line(g, dim ? et_printf(g->a, "dim R in 2..%d", rows < 2 ? 2 : rows)
                    : et_printf(g->a, "const R = %d", rows));
    gen_line(g, et_printf(g->a, "const K = %d", columns));
    gen_line(g, et_printf(g->a, "input x : %s[R, K]   #: 30/4%s", types[gen_draw(g, 4)],
                          !l->near && gen_chance(g, 40) ? " odd" : ""));
    gen_line(g, "input b : f32[K]   #: 30/4");
    gen_line(g, "input r : i32[R]   #: 64/1");
    gen_line(g, "input c : i32[R, K]   #: 64/1");
    gen_line(g, "weight g : f32[K] = \"g\"   #: 2/4");
    gen_line(g, "weight w : f32[K, K] = \"w\"   #: 1/1");
    if (!dim)
        gen_line(g, et_printf(g->a, "state s : f32[R, K]   #: %s", l->near ? "near" : "30/4"));
    chain(g, l, 2 + gen_draw(g, DEPTH - 1), dim);
}
