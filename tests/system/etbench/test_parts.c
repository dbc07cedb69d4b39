/* The parts of etbench that can be tried alone. */
#include "bench/etbench/etbench.h"
#include "bench/etbench/fill.h"
#include "tests/unit/runtime/support.h"

#include "frontend/etcc/driver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void *eb_alloc(size_t bytes) {
    void *p = malloc(bytes ? bytes : 1);
    ck_assert_ptr_nonnull(p);
    return p;
}

START_TEST(medians_and_quartiles) {
    const double odd[] = {5, 1, 4, 2, 3}, even[] = {4, 1, 3, 2};
    struct eb_summary s = eb_summarise(odd, 5);
    ck_assert(s.median == 3 && s.q1 == 2 && s.q3 == 4 && s.least == 1 && s.most == 5);
    s = eb_summarise(even, 4);
    ck_assert(s.median == 2.5 && s.q1 == 1.75 && s.q3 == 3.25);
    s = eb_summarise(odd, 1);
    ck_assert(s.median == 5 && s.q1 == 5 && s.q3 == 5);
    ck_assert_int_eq(eb_summarise(NULL, 0).n, 0);
}
END_TEST

START_TEST(ratios) {
    const double two[] = {2, 2, 2}, three[] = {3, 3, 3}, zero[] = {0, 0, 0};
    struct eb_ratio r = eb_ratio_of(three, 3, two, 3, 1);
    ck_assert(r.value == 1.5 && r.lo == 1.5 && r.hi == 1.5);
    ck_assert(isnan(eb_ratio_of(three, 3, zero, 3, 1).value));
    ck_assert(isnan(eb_ratio_of(three, 0, two, 3, 1).value));
    ck_assert(eb_ratio_of(zero, 3, two, 3, 1).value == 0);
}
END_TEST

/* Of samples from one distribution about 19 intervals in 20 hold 1; of 200 pairs of thirty,
 * certainly more than 160 and fewer than all. */
START_TEST(intervals_hold_the_truth) {
    uint64_t state = 5;
    int held = 0;
    for (int i = 0; i < 200; i++) {
        double a[30], b[30];
        for (int k = 0; k < 30; k++) {
            a[k] = 100 + (double)(eb_random(&state) % 1000) / 100;
            b[k] = 100 + (double)(eb_random(&state) % 1000) / 100;
        }
        struct eb_ratio r = eb_ratio_of(a, 30, b, 30, (uint64_t)i);
        ck_assert(r.lo <= r.hi);
        held += r.lo <= 1 && r.hi >= 1;
    }
    ck_assert_msg(held > 160 && held < 200, "%d of 200 intervals hold 1", held);
}
END_TEST

START_TEST(seeds) {
    uint64_t a = eb_seed(1, "x"), b = eb_seed(1, "y"), c = eb_seed(2, "x");
    ck_assert(a != b && a != c);
    ck_assert_uint_eq(a, eb_seed(1, "x"));
}
END_TEST

/* What a token, a position and a slot may be, by what is done with them. */
/* What comes after the period of a weight is what began it. */
START_TEST(weights_repeat) {
    const struct {
        enum etrt_dtype type;
        int bits;
    } of[] = {{ETRT_BF16, 16}, {ETRT_E4M3, 8}, {ETRT_U4, 4}};
    for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
        int64_t period = eb_weight_period(of[i].type), more = 4096;
        const int64_t shape[] = {64, (period + more) * 8 / of[i].bits / 64};
        struct etrt_tensor t = {.name = "w", .dtype = of[i].type, .rank = 2};
        unsigned char *all = calloc(1, (size_t)(period + more)), *one = calloc(1, (size_t)period);
        eb_fill_weight(&t, shape, 1, all, (period + more) * 8 / of[i].bits);
        eb_fill_weight(&t, shape, 1, one, period * 8 / of[i].bits);
        ck_assert_mem_eq(all, one, (size_t)period);
        ck_assert_mem_eq(all + period, one, (size_t)more);
        free(all);
        free(one);
    }
    ck_assert_int_eq(eb_weight_period(ETRT_I32), 0);
}
END_TEST

START_TEST(bounds_of_indices) {
    const char *const text = "model m\ndim N in 1..8\ninput token, slot, position, other : i32[N]\n"
                             "weight e : f32[50, 16] = \"e\"\nstate kc : f32[3, 20, 16]\n"
                             "x = gather(e, token)\nkc[slot, position, :] = x\n"
                             "output y : f32[N, 16] = x * 2\noutput z : i32[N] = other + 1\n";
    et_arena *arena = et_arena_create();
    et_program *p = NULL;
    write_file(scratch("m.etg"), text, strlen(text));
    et_options o = {.input = scratch("m.etg"),
                    .target = "gfx942",
                    .schedule = ET_SCHEDULE_STATIC,
                    .variants = 2,
                    .arena = arena,
                    .out_program = &p};
    ck_assert(et_drive(&o));
    const int64_t n = 4;
    ck_assert_int_eq(eb_index_bound(p, "token", &n), 50);
    ck_assert_int_eq(eb_index_bound(p, "slot", &n), 3);
    ck_assert_int_eq(eb_index_bound(p, "position", &n), 20);
    ck_assert_int_eq(eb_index_bound(p, "other", &n), 0);
    ck_assert_int_eq(eb_index_bound(p, "absent", &n), 0);
    et_arena_destroy(arena);
}
END_TEST

static struct eb_task task(int iteration, int tile, int workgroup, double us) {
    return (struct eb_task){.iteration = iteration, .tile = tile, .workgroup = workgroup, .us = us};
}

START_TEST(busiest_workgroup) {
    struct eb_task t[] = {task(1, 2, 7, 4), task(0, 0, 3, 1), task(1, 0, 3, 2), task(0, 1, 3, 2),
                          task(0, 2, 5, 2), task(1, 1, 5, 1), task(0, 3, 5, 6), task(1, 3, 7, 1)};
    const int n = sizeof t / sizeof *t;
    const double known[][2] = {{0, (8 + 5) / 2.0}, {1, (11 + 8) / 2.0}, {2, (8 + 6) / 2.0},
                               {3, (7 + 4) / 2.0}, {4, (6 + 4) / 2.0},  {99, (6 + 4) / 2.0}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        ck_assert_double_eq(eb_busiest(t, n, (int)known[i][0]), known[i][1]);
    ck_assert_double_eq(eb_busiest(t, 0, 0), 0);
}
END_TEST

START_TEST(widths) {
    int w[ET_PROFILE_WIDTHS];
    for (int i = 0; et_machine_at(i); i++) {
        et_machine m = *et_machine_at(i);
        for (int dies = 1; dies <= 64; dies += 21, m.dies = dies)
            for (int most = 1; most <= 2 * m.cus; most += m.cus / 3) {
                int n = eb_widths(&m, most, w);
                ck_assert(n >= 1 && n <= ET_PROFILE_WIDTHS && w[0] >= 1);
                ck_assert_int_eq(w[n - 1], most < m.cus ? most : m.cus);
                for (int k = 1; k < n; k++)
                    ck_assert_int_lt(w[k - 1], w[k]);
            }
    }
    int n = eb_widths(et_machine_for("gfx942"), 304, w), dies = 0;
    for (int k = 0; k < n; k++)
        dies += w[k] % 38 == 0;
    ck_assert_int_eq(dies, 8);
}
END_TEST

static void add(TCase *tc) {
    tcase_add_test(tc, busiest_workgroup);
    tcase_add_test(tc, widths);
    tcase_add_test(tc, medians_and_quartiles);
    tcase_add_test(tc, ratios);
    tcase_add_test(tc, intervals_hold_the_truth);
    tcase_add_test(tc, seeds);
    tcase_add_test(tc, weights_repeat);
    tcase_add_test(tc, bounds_of_indices);
}

int main(void) {
    return run_suite("etbench.parts", add, 60);
}
