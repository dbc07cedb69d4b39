/* Where a program does not say to how many rows groups are padded, its variants have paddings of
 * their own where nothing that the program computes shows them, and else those of its bounds. */
#include "frontend/frontend.h"
#include "ir/graph/ops.h"
#include <check.h>
#include <stdio.h>
#include <string.h>

static const char text[] =
    "model m; dim N in 1..512; input i, j : i32[N, 2]; input x : f32[N, 16]\n"
    "weight w : bf16[5, 16, 16]; weight b : f32[5, 16]; weight v : f32[16, 16]\n"
    "rows, place, owner, first = group(i, 5); T = size(rows, axis=0); P = size(rows, axis=1)\n"
    "t = gather(x, idiv(rows, 2)); y = grouped(t, w, owner)\n";

static const struct {
    const char *tail;
    bool shows;
} tails[] = {
    {"output z = gather(reshape(y, [T * P, 16]), place)", false},
    {"h = grouped(silu(y) * grouped(t, w, owner), w, owner)\n"
     "output z = sum(gather(reshape(h, [T * P, 16]), place), axis=1)",
     false},
    {"h = y + reshape(gather(b, owner), [T, 1, 16])\n"
     "output z = gather(reshape(h, [T * P, 16]), place)",
     false},
    {"h = reshape(y, [T, P, 8, 2]); h = h[:, :, :, 0] * h[:, :, :, 1]\n"
     "output z = gather(reshape(h, [T * P, 8]), place)",
     false},
    {"h = y / max(y, axis=2, keep=1); output z = gather(reshape(h @ v, [T * P, 16]), place)",
     false},
    {"output z = softmax(gather(reshape(y, [T * P, 16]), place))", false},
    {"output z = y", true},
    {"output z = first", true},
    {"output z = place", true},
    {"output z = owner", true},
    {"output z = rows", true},
    {"output z = x * P", true},
    {"output z = gather(reshape(y * P, [T * P, 16]), place)", true},
    {"output z = sum(y, axis=1)", true},
    {"output z = max(max(y, axis=1), axis=0)", true},
    {"h = y - max(y, axis=1, keep=1); output z = gather(reshape(h, [T * P, 16]), place)", true},
    {"output z = gather(reshape(y, [T * P, 16]), idiv(place, 2))", true},
    {"output z = gather(reshape(y, [T * P, 16]), i)", true},
    {"output z = gather(reshape(y, [T * P, 16]), iota(P))", true},
    {"output z = gather(x, place)", true},
    {"output z = sum(iota(T * P), axis=0)", true},
    {"h = y + reshape(iota(P), [1, P, 1])\n"
     "output z = gather(reshape(h, [T * P, 16]), place)",
     true},
    {"h = softmax(transpose(y, [0, 2, 1]))\n"
     "output z = gather(reshape(transpose(h, [0, 2, 1]), [T * P, 16]), place)",
     true},
    {"rows2, place2, owner2, first2 = group(j, 5)\n"
     "output z = gather(reshape(grouped(t, w, owner2), [T * P, 16]), place)",
     true},
    {"rows2, place2, owner2, first2 = group(j, 5)\n"
     "output z = gather(reshape(y, [T * P, 16]), place2)",
     true},
};
enum { TAILS = sizeof tails / sizeof *tails };

/* Of the first group for launches of LO to HI. */
static int64_t pad_of(et_arena *arena, const char *whole, int64_t lo, int64_t hi) {
    et_dim_range narrow = {"N", lo, hi};
    et_diags *d = et_diags_create(arena);
    et_graph *g = et_parse_etg_narrow(arena, d, "t.etg", whole, strlen(whole), &narrow);
    ck_assert_msg(g != NULL, "%s", whole);
    for (int i = 0; i < g->nnodes; i++)
        if (g->nodes[i].op == &et_op_group_first) return et_attr_int(&g->nodes[i], "pad", 0);
    ck_abort_msg("no groups");
}

START_TEST(pads) {
    et_arena *arena = et_arena_create();
    char whole[2048];
    snprintf(whole, sizeof whole, "%s%s\n", text, tails[_i].tail);
    int64_t declared = pad_of(arena, whole, 1, 512), few = pad_of(arena, whole, 1, 8);
    ck_assert_int_eq(declared, 128);
    ck_assert_msg(few == (tails[_i].shows ? 128 : 16), "%s: %d", tails[_i].tail, (int)few);
    et_arena_destroy(arena);
}
END_TEST

int main(void) {
    Suite *suite = suite_create("pads");
    TCase *tc = tcase_create("pads");
    tcase_add_loop_test(tc, pads, 0, TAILS);
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
