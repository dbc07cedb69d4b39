/* Programs small enough to work out by hand: waits, shares of work and memory, routing (played.h).
 */
#include "tests/passes/simulate/played.h"

/* ---- waits ---- */

START_TEST(chain) {
    struct played *w = chain_of("device");
    /* a: 10 to 11, seen by others from 11.5; b sees it 0.75 later and forgets its caches. */
    NEAR(play(w), 13.5);
    NEAR(find(w, 0, 0, 0)->t_done, 11);
    NEAR(find(w, 0, 0, 0)->t_left, 11.5);
    const et_sim_task *b = find(w, 1, 0, 0);
    ck_assert_int_eq(b->workgroup, 1);
    NEAR(b->t_reached, 10);
    NEAR(b->t_ready, 12.5);
    NEAR(b->t_done, 13.5);
    ck_assert(b->t_look < 0);
    NEAR(w->r.body, 2 / (4 * 13.5));
    ck_assert_int_eq((int)w->r.held, 1);
    w->opt.workgroups = 1;
    NEAR(play(w), 13.5);
    NEAR(find(w, 1, 0, 0)->t_reached, 11.5);
    drop(w);
}
END_TEST

START_TEST(scopes) {
    struct played *w = chain_of("die");
    w->opt.workgroups = 1;
    NEAR(play(w), 11 + 0.0625 + 0.375 + 0.0625 + 1);
    drop(w);
    w = chain_of("workgroup");
    w->opt.workgroups = 1;
    NEAR(play(w), 11 + 0.125 + 0.0625 + 1);
    drop(w);
}
END_TEST

/* Slices 0 and 2 are of die 0, of workgroups 0 and 1; the others of workgroups 2 and 3. The second
 * task begins on those that the 3 tiles a slice of the first leave idle. */
START_TEST(slices) {
    struct played *w = load("eti 1 placed\nmodel slices\nworkgroup 256\nworkspace 256\n"
                            "input %x : f32[4]\noutput %y : f32[4]\ntemp %h : f32[4, 3] at 0\n"
                            "func @a [s < 4, i < 3] lds 0 {\n  map []\n    %h[s, i] = %x[s]\n}\n"
                            "func @b [s < 4] lds 0 {\n  map []\n    %y[s] = %h[s, 0]\n}\n"
                            "event %e[4] count 3 scope die at 32\n"
                            "schedule {\n  task @a = @a [s < 4, i < 3] slice s of 4\n"
                            "    notify %e[s]\n  task @b = @b [s < 4] slice s of 4\n"
                            "    wait %e[s]\n}\n");
    w->opt.workgroups = 4;
    play(w);
    static const int on[2][12] = {{0, 1, 0, 2, 3, 2, 0, 1, 0, 2, 3, 2}, {1, 3, 1, 3}};
    for (int t = 0; t < 16; t++)
        ck_assert_int_eq(find(w, t / 12, 0, t % 12)->workgroup, on[t / 12][t % 12]);
    w->opt.workgroups = 1; /* there is one die then */
    play(w);
    drop(w);
}
END_TEST

/* Who comes when the counter is complete pays for a look at it, and for one more per 64 counters.
 */
START_TEST(late) {
    struct played *w = load("eti 1 placed\nmodel late\nworkgroup 256\nworkspace 512\n"
                            "input %x : f32[65]\noutput %y : f32[4]\ntemp %h : f32[65] at 0\n"
                            "func @a [i < 65] lds 0 {\n  map []\n    %h[i] = %x[i]\n}\n"
                            "func @b [j < 2] lds 0 {\n  map []\n    %y[j] = %h[j]\n}\n"
                            "event %e[65] count 1 scope device at 32\n"
                            "schedule {\n  task @a = @a [i < 65]\n    notify %e[i]\n"
                            "  task @b = @b [j < 2]\n    wait %e[0 .. 64]\n}\n");
    w->opt.workgroups = 1;
    play(w);
    double last = 10 + 65 * 1.5;
    NEAR(find(w, 1, 0, 0)->t_reached, last);
    NEAR(find(w, 1, 0, 0)->t_ready, last + 0.75 + 0.25);
    NEAR(find(w, 1, 0, 1)->t_ready - find(w, 1, 0, 1)->t_reached, 2 * 0.125 + 0.25);
    ck_assert_int_eq((int)w->r.held, 1);
    drop(w);
}
END_TEST

/* Waits are looked at together where 64 lanes are enough for their counters. */
START_TEST(looks_together) {
    char text[2048];
    for (int wide = 0; wide < 2; wide++) {
        snprintf(text, sizeof text,
                 "eti 1 placed\nmodel together\nworkgroup 256\nworkspace 512\n"
                 "input %%x : f32[4]\noutput %%y : f32[4]\ntemp %%h : f32[40] at 0\n"
                 "func @a [i < 40] lds 0 {\n  map []\n    %%h[i] = %%x[i %% 4]\n}\n"
                 "func @b [] lds 0 {\n  map [j < 4]\n    %%y[j] = %%h[j]\n}\n"
                 "event %%e[40] count 1 scope device at 32\n"
                 "event %%f[40] count 1 scope device at 96\n"
                 "event %%g[1] count 40 scope device at 160\n"
                 "schedule {\n  task @a = @a [i < 40]\n    notify %%e[i]\n    notify %%f[i]\n"
                 "    notify %%g[0]\n  task @first = @b []\n  task @b = @b []\n"
                 "    wait %%e[0 .. 31]\n    wait %%f[0 .. %d]\n    wait %%g[0]\n}\n",
                 wide ? 39 : 30);
        struct played *w = load(text);
        w->opt.workgroups = 1;
        play(w);
        const et_sim_task *b = find(w, 2, 0, 0);
        NEAR(b->t_ready - b->t_reached, (wide ? 2 : 1) * 0.125 + 0.25);
        drop(w);
    }
}
END_TEST

START_TEST(arrivals_queue_up) {
    struct played *w = load("eti 1 placed\nmodel many\nworkgroup 256\nworkspace 256\n"
                            "input %x : f32[8]\noutput %y : f32[4]\ntemp %h : f32[8] at 0\n"
                            "func @a [i < 8] lds 0 {\n  map []\n    %h[i] = %x[i]\n}\n"
                            "func @b [] lds 0 {\n  map []\n    %y[0] = %h[0]\n}\n"
                            "event %e[1] count 8 scope device at 32\n"
                            "schedule {\n  task @a = @a [i < 8]\n    notify %e[0]\n"
                            "  task @b = @b []\n    wait %e[0]\n}\n");
    w->opt.workgroups = 8;
    w->m.arrival_us = 0.25;
    play(w);
    NEAR(find(w, 1, 0, 0)->t_ready, 11.5 + 7 * 0.25 + 0.75 + 0.25);
    drop(w);
}
END_TEST

/* ---- shares of work and memory ---- */

START_TEST(fan_out) {
    struct played *w = load(ten);
    set_n(w, 4);
    NEAR(play(w), 11);
    set_n(w, 5); /* one works twice, three stand by */
    NEAR(play(w), 12);
    NEAR(w->r.body, 5 / 48.0);
    NEAR(w->r.schedule, 40 / 48.0);
    set_n(w, 10);
    NEAR(play(w), 13);
    ck_assert_int_eq((int)w->r.tasks, 10);
    w->opt.mode = ET_SIM_UNFUSED;
    NEAR(play(w), 13);
    ck_assert_int_eq(w->r.kernels, 1);
    drop(w);
}
END_TEST

START_TEST(memory_is_shared) {
    struct played *w = load(ten);
    w->m.hbm_gbs = 1.004; /* a microsecond for a tile alone: 1000 bytes in, 4 out */
    set_n(w, 1);
    NEAR(play(w), 12);
    NEAR(w->r.memory_bytes, 1004);
    set_n(w, 4);
    NEAR(play(w), 15);
    set_n(w, 5);
    NEAR(play(w), 17);         /* the fifth alone: 1 us to load, 1 of latency */
    w->m.cache_gbs_cu = 0.502; /* one CU takes half as much */
    set_n(w, 1);
    NEAR(play(w), 13);
    set_n(w, 2);
    NEAR(play(w), 13);
    drop(w);
}
END_TEST

static const char two_rows[] =
    "eti 1 evented\nmodel early\ninput %x : bf16[32, 64]\nweight %w : bf16[32, 64]\n"
    "output %y : f32[32, 32]\ntemp %h : bf16[32, 64]\n"
    "func @a [i < 2] {\n  map [j < 16, k < 64]\n    %h[i * 16 + j, k] = %x[i * 16 + j, k]\n}\n"
    "func @b [i < 2] {\n  contract bf16 [m < 16, n < 32] over k < 64\n"
    "    a = %h[i * 16 + m, k]\n    $sum += a * %w[n, k]\n"
    "  map [m < 16, n < 32]\n    %y[i * 16 + m, n] = $sum[0, m, n]\n}\n"
    "event %e[2]\n"
    "schedule {\n  task @a\n    notify %e[i]\n  task @b\n    wait %e[i]\n}\n";

/* Two tiles of rows read the same weights, which move once, and begin before the wait. */
START_TEST(weights) {
    struct played *w = load(two_rows);
    play(w);
    NEAR(w->r.memory_bytes, 32 * 64 * 2 * 2 + 32 * 32 * 4); /* x, w, y; h stays near */
    const et_sim_task *b = find(w, 1, 0, 0);
    NEAR(b->t_done - b->t_ready, 2.0 / 3); /* one of the dependent loads was over */
    w->m.cache_mb = 0;
    play(w); /* h goes to memory and back, and weights are loaded for each tile */
    NEAR(w->r.memory_bytes, 32 * 64 * 2 * 3 + 2 * 32 * 64 * 2 + 32 * 32 * 4);
    drop(w);
}
END_TEST

static double body_of_b(struct played *w) {
    play(w);
    const et_sim_task *b = find(w, 1, 0, 0);
    return b->t_done - b->t_ready;
}

/* A producer copies weights while the tasks that read them wait, as far as its stages have room. */
START_TEST(weights_come_while_tasks_wait) {
    struct played *w = load(two_rows);
    et_step *product = w->p->funcs[w->p->grids[1].func].steps;
    w->m.hbm_gbs = 1.024; /* 1024 bytes a microsecond */
    double alone = body_of_b(w), all = w->r.us;
    ck_assert_double_gt(alone, 5);
    w->p->grids[1].streamed = true;
    product->plan[ET_PLAN_MAIN] = (et_product_plan){
        .made = true, .weights = ET_WEIGHTS_STREAM, .chunk = 64, .rows_depth = 1, .depth = 1};
    w->p->ring = (et_ring){.slots = 4, .bytes = 1024, .flight = 1024, .calm = 1024};
    NEAR(body_of_b(w), 4 + 1.0 / 3); /* to store, and a load: the weights are there */
    double whole = w->r.us;
    ck_assert_double_lt(whole, all);
    NEAR(w->r.memory_bytes, 32 * 64 * 2 * 2 + 32 * 32 * 4);
    w->p->ring.slots = 2; /* half of them are, and the rest is loaded when stages are free */
    double half = body_of_b(w);
    ck_assert_double_gt(half, 5);
    ck_assert_double_lt(half, alone + 1);
    ck_assert_double_gt(w->r.us, whole);
    drop(w);
}
END_TEST

/* What traces say of a notify and of what follows the last arrival replaces the fences. */
START_TEST(traced_events) {
    struct played *w = chain_of("device");
    w->m.notify_us = 0.125;
    w->m.seen_us = 0.5;
    NEAR(play(w), 10 + 1 + 0.125 + 0.5 + 1);
    drop(w);
}
END_TEST

/* ---- what tensors decide ---- */

static const char *const routed =
    "eti 1 evented\nmodel routed\ninput %x : f32[8, 40]\ninput %pick : i32[8]\n"
    "output %y : f32[8]\ntemp %h : f32[8, 40]\n"
    "func @square [i < 8] {\n  map [j < 40]\n    %h[i, j] = %x[i, j] * %x[i, j]\n}\n"
    "func @take [i < 8] {\n  reduce sum [] over j < 40\n    %y[i] = %h[%pick[i], j]\n}\n"
    "event %done[8]\n"
    "schedule {\n  task @square\n    notify %done[i]\n  task @take\n    wait %done[%pick[i]]\n}\n";

static bool last_one(void *ctx, int tensor, int64_t iteration, const int64_t *index, int64_t *out) {
    (void)ctx, (void)tensor, (void)iteration, (void)index;
    *out = 7;
    return true;
}

static bool same_one(void *ctx, int tensor, int64_t iteration, const int64_t *index, int64_t *out) {
    (void)ctx, (void)tensor, (void)iteration;
    *out = index[0];
    return true;
}

START_TEST(routing) {
    struct played *w = load(routed);
    w->opt.workgroups = 1;
    ck_assert(!et_simulate(w->p, &w->opt, &w->r, w->err));
    ck_assert_ptr_nonnull(strstr(w->err, "take"));
    w->opt.workgroups = 16;
    w->opt.mode = ET_SIM_DYNAMIC;
    for (int m = ET_SIM_STATIC; m <= ET_SIM_DYNAMIC; m++) {
        w->opt.mode = (et_sim_mode)m;
        w->opt.value = last_one;
        play(w);
        for (int i = 0; i < 8; i++)
            ck_assert_double_gt(find(w, 1, 0, i)->t_ready, find(w, 0, 0, 7)->t_done);
        w->opt.value = same_one;
        play(w);
        for (int i = 0; i < 8; i++)
            ck_assert_double_gt(find(w, 1, 0, i)->t_ready, find(w, 0, 0, i)->t_done);
    }
    drop(w);
}
END_TEST

/* ---- a schedule that cannot finish is told, not played for ever ---- */

START_TEST(stuck) {
    struct played *w = load("eti 1 placed\nmodel stuck\nworkgroup 256\nworkspace 256\n"
                            "input %x : f32[4]\noutput %y : f32[4]\n"
                            "func @a [] lds 0 {\n  map [j < 4]\n    %y[j] = %x[j]\n}\n"
                            "event %e[1] count 2 scope device at 32\n"
                            "schedule {\n  task @a = @a []\n    notify %e[0]\n"
                            "  task @b = @a []\n    wait %e[0]\n}\n");
    for (int m = ET_SIM_STATIC; m <= ET_SIM_DYNAMIC; m++) {
        w->opt.mode = (et_sim_mode)m;
        ck_assert(!et_simulate(w->p, &w->opt, &w->r, w->err));
        ck_assert(w->err[0]);
    }
    drop(w);
}
END_TEST

TEST_MAIN("simulate", chain, scopes, slices, late, looks_together, arrivals_queue_up, fan_out,
          memory_is_shared, weights, weights_come_while_tasks_wait, traced_events, routing, stuck)
