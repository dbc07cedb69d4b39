/* The same of queues, of several models and of workgroups that take from others. */
#include "tests/passes/simulate/played.h"

START_TEST(pops) {
    struct played *w = load(ten);
    set_n(w, 4);
    w->opt.mode = ET_SIM_DYNAMIC;
    /* Workgroup 0 pushes until 12 and pops until 14; the others notice a moment later. */
    NEAR(play(w), 15.125);
    NEAR(find(w, 0, 0, 0)->t_look, 12);
    NEAR(find(w, 0, 0, 1)->t_look, 12.125);
    ck_assert_int_eq((int)w->r.pushes, 1);
    w->m.pop_us = w->m.atomic_us = 0;
    NEAR(play(w), 11);
    w->m.pop_gap_us = 1; /* one ring serves one at a time */
    NEAR(play(w), 14);
    drop(w);
}
END_TEST

START_TEST(pushes) {
    struct played *w = chain_of("device");
    w->opt.mode = ET_SIM_DYNAMIC;
    play(w);
    const et_sim_task *a = find(w, 0, 0, 0), *b = find(w, 1, 0, 0);
    NEAR(a->t_done, 15);
    /* Its arrival at 15.5 completes the one counter b waits for; pushed, b is seen by an idle
     * workgroup, popped, and looks at its counter once more. */
    double pushed = 15.5 + 2;
    NEAR(b->t_reached, pushed + 0.125 + 2);
    NEAR(b->t_ready, b->t_reached + 0.125 + 0.25);
    NEAR(a->t_left, 15.5 + 0.125 + 2); /* the arrival's answer, then the push */
    NEAR(w->r.us, b->t_done);
    w->opt.early_push = true; /* worth it where a body is longer than a push and a pop */
    w->m.pop_us = 0.25;
    play(w);
    b = find(w, 1, 0, 0);
    ck_assert_double_lt(b->t_reached, find(w, 0, 0, 0)->t_done);
    NEAR(b->t_ready, find(w, 0, 0, 0)->t_done + 0.5 + 0.75 + 0.25);
    ck_assert_int_eq((int)w->r.held, 1);
    drop(w);
}
END_TEST

/* Eight cells, seven of which wait for both counters, one for the second: whoever completes the
 * last pushes one after the other, or all together. */
START_TEST(cells) {
    struct played *w = load("eti 1 placed\nmodel cells\nworkgroup 256\nworkspace 256\n"
                            "input %x : f32[2]\noutput %y : f32[8]\ntemp %h : f32[2] at 0\n"
                            "func @a [i < 2] lds 0 {\n  map []\n    %h[i] = %x[i]\n}\n"
                            "func @b [j < 8] lds 0 {\n  map []\n    %y[j] = %h[j % 2]\n}\n"
                            "event %e[2] count 1 scope device at 32\n"
                            "schedule {\n  task @a = @a [i < 2]\n    notify %e[i]\n"
                            "  task @b = @b [j < 8]\n    wait %e[max(0, j - 6) .. 1]\n}\n");
    bool dynamic[] = {false, true};
    w->opt.mode = ET_SIM_AS_SCHEDULED;
    w->opt.dynamic = dynamic;
    w->opt.workgroups = 16;
    play(w);
    /* Both arrive at 11.5. The first to come looks at seven cells in vain, while the second finds
     * each ready: a poll of its own, a claim and a push. */
    double each = 2 * 0.125 + 2, look = 0.125;
    for (int j = 0; j < 8; j++)
        NEAR(find(w, 1, 0, j)->t_reached, 11.5 + look + (j + 1) * each + 0.125 + 2);
    NEAR(find(w, 0, 0, 0)->t_left, 11.5 + 0.125 + look);
    NEAR(find(w, 0, 0, 1)->t_left, 11.5 + 0.125 + look + 8 * each);
    w->opt.wide_push = true;
    play(w);
    for (int j = 0; j < 8; j++)
        NEAR(find(w, 1, 0, j)->t_reached, 11.5 + each + 0.125 + 2);
    drop(w);
}
END_TEST

/* Hybrid: a dynamic grid between static ones. */
START_TEST(hybrid) {
    struct played *w = chain_of("device");
    bool dynamic[] = {false, true};
    w->opt.mode = ET_SIM_AS_SCHEDULED;
    NEAR(play(w), 13.5);
    w->opt.dynamic = dynamic;
    play(w);
    ck_assert(find(w, 0, 0, 0)->t_look < 0);
    ck_assert(find(w, 1, 0, 0)->t_look >= 0);
    NEAR(find(w, 0, 0, 0)->t_done, 11);
    NEAR(w->r.us, 11.5 + 2 + 0.125 + 2 + 0.125 + 0.25 + 1);
    drop(w);
}
END_TEST

START_TEST(kernels) {
    struct played *w = chain_of("device");
    w->opt.mode = ET_SIM_UNFUSED;
    NEAR(play(w), 10 + 1 + 5 + 1);
    ck_assert_int_eq(w->r.kernels, 2);
    drop(w);
}
END_TEST

/* Two models of two kernels each, of 4 tiles and of 1, side by side on 4 CUs: every tile takes 1
 * us, a boundary 5. A has the first half of the CUs, B the second. */
static struct played *two_models(void) {
    return load("eti 1 placed\nmodel mix\npart a range [0, 0.5]\npart b range [0.5, 1]\n"
                "workgroup 256\nworkspace 512\n"
                "input %a.x : f32[4]\noutput %a.y : f32[4]\ntemp %a.h : f32[4] at 0\n"
                "input %b.x : f32[4]\noutput %b.y : f32[4]\ntemp %b.h : f32[4] at 256\n"
                "func @a.f [t < 4] lds 0 {\n  map []\n    %a.h[t] = %a.x[t]\n}\n"
                "func @a.g [] lds 0 {\n  map [j < 4]\n    %a.y[j] = %a.h[j]\n}\n"
                "func @b.f [t < 4] lds 0 {\n  map []\n    %b.h[t] = %b.x[t]\n}\n"
                "func @b.g [] lds 0 {\n  map [j < 4]\n    %b.y[j] = %b.h[j]\n}\n"
                "event %a.e[1] count 4 scope device at 32\n"
                "event %b.e[1] count 4 scope device at 64\n"
                "schedule {\n"
                "  task @a.p = @a.f [t < 4]\n    notify %a.e[0]\n"
                "  task @a.q = @a.g []\n    wait %a.e[0]\n"
                "  task @b.p = @b.f [t < 4]\n    notify %b.e[0]\n"
                "  task @b.q = @b.g []\n    wait %b.e[0]\n}\n");
}

START_TEST(streams) {
    struct played *w = two_models();
    w->opt.mode = ET_SIM_UNFUSED; /* one kernel after the other, each on all CUs */
    NEAR(play(w), 10 + 1 + 5 + 1 + 5 + 1 + 5 + 1);
    w->opt.mode = ET_SIM_STREAMS; /* side by side: two rounds on two CUs */
    NEAR(play(w), 10 + 2 + 5 + 1);
    ck_assert_int_eq(w->r.kernels, 4);
    for (int i = 0; i < w->n; i++)
        ck_assert_int_eq(w->task[i].workgroup / 2, w->task[i].grid / 2);
    const bool without_b[] = {false, true};
    w->opt.left_out = without_b; /* B's CUs are lent */
    NEAR(play(w), 10 + 1 + 5 + 1);
    ck_assert_int_eq(w->n, 5);
    w->opt.keep_parts = true;
    NEAR(play(w), 10 + 2 + 5 + 1);
    drop(w);
}
END_TEST

/* The first kernels on all CUs, the second ones on one die. */
static et_share narrower(void *ctx, int grid, int64_t iteration) {
    (void)ctx, (void)iteration;
    return grid % 2 ? (et_share){500000, 1000000} : (et_share){0, 1000000};
}

START_TEST(masks) {
    struct played *w = two_models();
    w->opt.mode = ET_SIM_STREAMS;
    w->opt.mask = narrower;
    w->opt.switch_us = 7;
    NEAR(play(w), 10 + 2 + 5 + 7 + 1); /* CUs take tiles of both in turn */
    for (int i = 0; i < w->n; i++)
        ck_assert(w->task[i].workgroup >= 2 || w->task[i].grid % 2 == 0);
    w->opt.mode = ET_SIM_STATIC; /* in one kernel nothing is switched */
    play(w);
    ck_assert_double_lt(w->r.us, 10 + 2 + 5 + 1);
    for (int i = 0; i < w->n; i++)
        ck_assert(w->task[i].workgroup >= 2 || w->task[i].grid % 2 == 0);
    drop(w);
}
END_TEST

START_TEST(subsets) {
    struct played *w = two_models();
    double both = play(w);
    const bool without_a[] = {true, false};
    w->opt.left_out = without_a;
    w->opt.keep_parts = true;
    NEAR(play(w), both);
    ck_assert_int_eq(w->n, 5);
    for (int i = 0; i < w->n; i++)
        ck_assert_int_ge(w->task[i].workgroup, 2);
    w->opt.keep_parts = false;
    NEAR(play(w), both - 1.5); /* one tile and its notify less, one after the other */
    drop(w);
}
END_TEST

/* A die's tasks are taken by the other die's workgroups when these have none. */
START_TEST(stealing) {
    struct played *w = load(ten);
    set_n(w, 12);
    w->opt.mode = ET_SIM_DYNAMIC;
    play(w);
    ck_assert_int_eq((int)w->r.stolen, 6);
    int per[4] = {0};
    for (int i = 0; i < w->n; i++)
        per[w->task[i].workgroup]++;
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(per[i], 3);
    set_n(w, 40); /* too many for a die's ring: the device's */
    play(w);
    ck_assert_int_eq((int)w->r.stolen, 0);
    drop(w);
}
END_TEST

TEST_MAIN("simulate queues", pops, pushes, cells, hybrid, kernels, streams, masks, subsets,
          stealing)
