/* Which tasks become which regions and cells (ir/program/queue.h), what the verifier says of
 * schedules that could stand still, and what the text of one may say. */
#include "ir/base/diag.h"
#include "ir/eti/eti.h"
#include "ir/program/queue.h"
#include "ir/verify/verify.h"
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *path;
static et_arena *arena;
static et_diags *diags;
static char *said; /* the diagnostics of the last program */

static void set_up(void) {
    arena = et_arena_create();
}

static void tear_down(void) {
    free(said);
    said = NULL;
    et_arena_destroy(arena);
}

/* The program in the file with FROM replaced by TO, any number of pairs, ended by NULL. */
static et_program *changed(const char *from, ...) {
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    char buf[16384];
    size_t n = fread(buf, 1, sizeof buf - 1, f);
    fclose(f);
    buf[n] = 0;
    const char *text = et_strdup(arena, buf);
    va_list ap;
    va_start(ap, from);
    for (const char *a = from; a; a = va_arg(ap, const char *)) {
        const char *b = va_arg(ap, const char *), *at = strstr(text, a);
        ck_assert_msg(at != NULL, "no '%s'", a);
        text = et_printf(arena, "%.*s%s%s", (int)(at - text), text, b, at + strlen(a));
    }
    va_end(ap);
    diags = et_diags_create(arena);
    et_program *p = NULL;
    et_eti_parse(arena, diags, "queued.eti", text, strlen(text), &p);
    return p;
}

static const char *errors(void) {
    size_t size;
    free(said);
    FILE *f = open_memstream(&said, &size);
    et_diag_print(diags, f);
    fclose(f);
    return said;
}

static bool verifies(et_program *p) {
    et_verify_options opt = {.dies = 8};
    ck_assert_msg(p != NULL, "%s", errors());
    return et_verify(p, &opt, diags, NULL);
}

START_TEST(test_regions) {
    et_queues q;
    et_program *p = changed(NULL);
    ck_assert_msg(p != NULL, "%s", errors());
    ck_assert_int_eq(p->schedule, ET_SCHEDULE_HYBRID);
    ck_assert_ptr_null(et_queues_plan(arena, p, &q));
    ck_assert_int_eq(q.nregions, 1); /* the loop is wholly dynamic and joins what follows it */
    ck_assert_int_eq(q.region[0].instances, 1);
    ck_assert_int_eq(q.region[0].count, 2);
    ck_assert_int_eq(q.region[0].tasks, 3 * 5 + 3 * 5 + 40);
    ck_assert_int_eq(q.region[0].slots, 128);
    ck_assert_int_eq(q.grid[0].region, -1);
    ck_assert_int_eq(q.grid[4].region, -1);
    ck_assert_int_eq(q.grid[1].tiles, 5);
    ck_assert_int_eq(q.grid[1].iterations, 3);
    ck_assert_int_eq(q.grid[1].inner, 3);
    ck_assert_int_eq(q.grid[1].cells, 5);
    ck_assert(q.grid[1].seeded); /* neither wait is there in every iteration */
    ck_assert(!q.grid[2].seeded);
    ck_assert_int_eq(q.grid[1].first, 1);
    ck_assert_int_eq(q.grid[2].first, 16);
    ck_assert_int_eq(q.grid[3].first, 31);
    ck_assert_int_ge(q.begun[2], p->event_words); /* %o, that an early task waits for */
    ck_assert_int_eq(q.begun[0], -1);
    ck_assert_int_le(q.begun[2] + p->events[2].words, q.words);
    ck_assert_int_le(q.grid[3].claim + 40, q.region[0].popped);
}
END_TEST

START_TEST(test_regions_in_loops) {
    et_queues q;
    et_program *p = changed("task @odd dynamic", "task @odd", NULL);
    ck_assert_msg(p != NULL, "%s", errors());
    ck_assert_ptr_null(et_queues_plan(arena, p, &q));
    ck_assert_int_eq(q.nregions, 2);
    ck_assert_int_eq(q.region[0].instances, 3);
    ck_assert_int_eq(q.grid[1].inner, 1);
    ck_assert_int_eq(q.region[1].instances, 1);
    ck_assert_int_gt(q.region[1].popped, q.region[0].rings);
    ck_assert(verifies(p));
    p = changed("hybrid", "dynamic", "task @first", "task @first dynamic", "task @total",
                "task @total dynamic", NULL);
    ck_assert_msg(p != NULL, "%s", errors());
    ck_assert_ptr_null(et_queues_plan(arena, p, &q));
    ck_assert_int_eq(q.nregions, 1);
    ck_assert(q.grid[0].seeded);
    ck_assert_int_eq(q.grid[0].cells, 1); /* it waits for nothing: all tiles at once */
    ck_assert(verifies(p));
}
END_TEST

START_TEST(test_static_needs_no_words) {
    et_queues q;
    et_program *p = changed("task @even dynamic", "task @even", "task @odd dynamic", "task @odd",
                            "dynamic early", "", "hybrid", "static", NULL);
    ck_assert_msg(p != NULL, "%s", errors());
    ck_assert_ptr_null(et_queues_plan(arena, p, &q));
    ck_assert_int_eq(q.nregions, 0);
    ck_assert_int_eq(q.words, p->event_words);
}
END_TEST

START_TEST(test_claimed) {
    et_queues q;
    et_program *p =
        changed("task @even dynamic", "task @even order claimed", "task @odd dynamic", "task @odd",
                "dynamic early", "order claimed", "hybrid", "claimed", NULL);
    ck_assert_msg(p != NULL, "%s", errors());
    ck_assert_int_eq(p->schedule, ET_SCHEDULE_CLAIMED);
    ck_assert_ptr_null(et_queues_plan(arena, p, &q));
    ck_assert_int_eq(q.nregions, 0);
    ck_assert_int_eq(q.claimed[0], -1);
    ck_assert_int_eq(q.claimed[1], p->event_words); /* three iterations, then the other's */
    ck_assert_int_eq(q.claimed[3], p->event_words + 3 * ET_LINE_WORDS);
    ck_assert_int_eq(q.words, p->event_words + 4 * ET_LINE_WORDS);
    ck_assert_msg(verifies(p), "%s", errors());
    ck_assert_ptr_null(et_eti_round_trip(arena, p->g, p));
    /* Beside queues. */
    p = changed("task @first", "task @first order claimed", NULL);
    ck_assert_msg(verifies(p), "%s", errors());
    ck_assert_int_eq(p->schedule, ET_SCHEDULE_HYBRID);
    /* A tile that waits for a later one stands still where one workgroup claims both. */
    ck_assert(!verifies(changed("task @even dynamic", "task @even order claimed", "wait %e[l, i]",
                                "wait %e[l, i]", "wait %f[i] when first", "wait %l[0]", NULL)));
    ck_assert_ptr_null(changed("task @even dynamic", "task @even dynamic order claimed", NULL));
    ck_assert_ptr_null(changed("task @first", "task @first range [0, 0.5] order claimed", NULL));
    ck_assert_msg(strstr(errors(), "tiles are claimed has no range"), "%s", said);
    ck_assert_ptr_null(changed("task @first", "task @first order claimed", "task @even dynamic",
                               "task @even", "task @odd dynamic", "task @odd", "dynamic early", "",
                               "hybrid", "static", NULL));
    ck_assert_msg(strstr(errors(), "the schedule is claimed"), "%s", said);
}
END_TEST

/* Each tile of both once, in their order, and a block of the second behind those of the first that
 * come ahead of it. */
START_TEST(test_numbers_in_turn) {
    for (int64_t blocks = 0; blocks < 7; blocks++)
        for (int64_t a = 1; a < 4; a++)
            for (int64_t b = 1; b < 4; b++)
                for (int behind = 1; behind < 9; behind++) {
                    int64_t next[2] = {0}, tile;
                    for (int64_t at = 0; at < blocks * (a + b); at++) {
                        bool second = et_in_turn(at, blocks, a, b, behind, &tile);
                        ck_assert_int_eq(tile, next[second]++);
                        int64_t ahead = tile / b + behind;
                        if (second)
                            ck_assert_int_eq(next[0], (ahead < blocks ? ahead : blocks) * a);
                    }
                    ck_assert_int_eq(next[0], blocks * a);
                    ck_assert_int_eq(next[1], blocks * b);
                }
}
END_TEST

/* Static tasks, of which two of the loop are claimed in turn. */
static et_program *in_turn(const char *wait, const char *behind) {
    return changed("schedule hybrid", "schedule", "task @even dynamic", "task @even order claimed",
                   "task @odd dynamic", et_printf(arena, "task @odd order claimed%s", behind),
                   "      wait %e[l, i]\n", wait, "last dynamic early", "last", NULL);
}

START_TEST(test_turns) {
    et_queues q;
    et_program *p = in_turn("      wait %e[l, i]\n", " behind 2");
    ck_assert_msg(verifies(p), "%s", errors());
    ck_assert_ptr_null(et_eti_round_trip(arena, p->g, p));
    ck_assert_int_eq(p->grids[2].behind, 2);
    ck_assert_int_eq(et_turns_with(p, p->items[1].first, p->items[1].first + 2), 2);
    ck_assert_ptr_null(et_queues_plan(arena, p, &q));
    ck_assert_int_ge(q.claimed[1], p->event_words);
    ck_assert_int_eq(q.claimed[2], -1); /* one counter for both */
    /* Tiles that wait for later blocks: one workgroup would stand still. */
    static const char *const waits[] = {
        "      wait %e[l, 0 .. (N + 7) / 8 - 1]\n",
        "      wait %e[l, i .. min(i + 1, (N + 7) / 8 - 1)]\n",
        "      wait %e[l, i]\n      wait %e[l, (N + 7) / 8 - 1 - i]\n",
    };
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
        ck_assert_msg(verifies(in_turn(waits[i], "")), "%s", errors());
        ck_assert(!verifies(in_turn(waits[i], " behind 2")));
        ck_assert_msg(
            strstr(errors(), "a tile may wait for blocks of that which are claimed later"), "%s",
            said);
    }
    ck_assert(!verifies(changed("task @first", "task @first order claimed", "task @even dynamic",
                                "task @even order claimed behind 1", NULL)));
    ck_assert_msg(strstr(errors(), "of the task before, but there is none"), "%s", said);
    p = changed("schedule hybrid", "schedule", "task @even dynamic", "task @even",
                "task @odd dynamic", "task @odd order claimed behind 1", NULL);
    ck_assert(!verifies(p));
    ck_assert_msg(strstr(errors(), "that is not claimed by itself"), "%s", said);
    p = changed("schedule hybrid", "schedule", "last dynamic early", "last order claimed",
                "task @total", "task @total order claimed behind 1", NULL);
    ck_assert(!verifies(p));
    ck_assert_msg(strstr(errors(), "that has not as many blocks"), "%s", said);
    ck_assert_ptr_null(changed("task @first", "task @first order adjacent behind 1", NULL));
}
END_TEST

START_TEST(test_verified) {
    ck_assert_msg(verifies(changed(NULL)), "%s", errors());
    ck_assert(!verifies(changed("task @even dynamic", "task @even dynamic early",
                                "task @odd dynamic", "task @odd", NULL)));
    ck_assert_msg(strstr(errors(), "task even, early and in a loop with static tasks, may be taken "
                                   "by a workgroup that has yet to run what task odd waits for"),
                  "%s", said);
    ck_assert(!verifies(changed("wait %o[2, i / 8]", "wait %l[0]", NULL)));
    ck_assert(!verifies(changed("    wait %e[l, i]\n", "    wait %o[l, i]\n", NULL)));
}
END_TEST

START_TEST(test_text) {
    ck_assert_ptr_null(changed("schedule hybrid", "schedule dynamic", NULL));
    ck_assert_msg(strstr(errors(), "the schedule is hybrid: look which tasks are dynamic"), "%s",
                  said);
    ck_assert_ptr_null(changed("task @odd dynamic", "task @odd early", NULL));
    et_program *p = changed("schedule hybrid", "schedule", NULL);
    ck_assert_ptr_nonnull(p);
    ck_assert_ptr_null(et_eti_round_trip(arena, p->g, p));
    ck_assert(p->grids[3].early && p->grids[1].dynamic && !p->grids[1].early);
}
END_TEST

START_TEST(test_too_many) {
    et_queues q;
    et_program *p = changed("1..40", "1..1073741824", NULL);
    if (!p) return; /* the text's own limits came first */
    const char *problem = et_queues_plan(arena, p, &q);
    ck_assert_ptr_nonnull(problem);
    ck_assert_ptr_nonnull(strstr(problem, "too many"));
}
END_TEST

int main(int argc, char **argv) {
    if (argc != 2) return 2;
    path = argv[1];
    Suite *s = suite_create("queue");
    TCase *c = tcase_create("queue");
    tcase_add_checked_fixture(c, set_up, tear_down);
    tcase_add_test(c, test_regions);
    tcase_add_test(c, test_regions_in_loops);
    tcase_add_test(c, test_static_needs_no_words);
    tcase_add_test(c, test_claimed);
    tcase_add_test(c, test_numbers_in_turn);
    tcase_add_test(c, test_turns);
    tcase_add_test(c, test_verified);
    tcase_add_test(c, test_text);
    tcase_add_test(c, test_too_many);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
