/* Programs small enough to work out by hand, on a machine of round numbers. A body lasts 1 us
 * unless it loads something: three dependent loads of a third. */
#include "ir/eti/eti.h"
#include "passes/passes.h"
#include "passes/simulate/simulate.h"
#include "tests/unit/ir/main.h"
#include <stdlib.h>
#include <string.h>

static const et_machine round_numbers = {
    .name = "round",
    .target = "none",
    .cus = 4,
    .dies = 2,
    .waves = 4,
    .wave_size = 64,
    .k_bytes = 64,
    .lds_bytes = 65536,
    .clock_ghz = 1e12,
    .hbm_gbs = 1e12,
    .cache_gbs_cu = 1e12,
    .matrix_tflops = 1e12,
    .f32_matrix_tflops = 1e12,
    .vector_tflops = 1e12,
    .latency_us = 1.0 / 3,
    .cache_latency_us = 1.0 / 3,
    .copy_gbs_cu = 1e12,
    .launch_us = 10,
    .cache_mb = 1,
    .load_kb = 1,
    .counter_die_us = 0.375,
    .counter_us = 0.75,
    .release_us = 0.5,
    .acquire_us = 0.25,
    .fence_die_us = 0.0625,
    .atomic_us = 0.125,
    .pop_us = 2,
    .graph_us = 5,
};

enum { MOST = 4096 };

struct played {
    et_arena *arena;
    et_program *p;
    et_machine m;
    et_sim_options opt;
    et_sim_result r;
    et_sim_task task[MOST];
    int n;
    char err[ET_SIM_ERR];
};

static void note(void *ctx, const et_sim_task *t) {
    struct played *w = ctx;
    ck_assert_int_lt(w->n, MOST);
    w->task[w->n++] = *t;
}

static struct played *load(const char *text) {
    static int64_t syms[4];
    struct played *w = calloc(1, sizeof *w);
    w->arena = et_arena_create();
    et_diags *d = et_diags_create(w->arena);
    et_program *p = NULL;
    et_graph *g = et_eti_parse(w->arena, d, "test", text, strlen(text), &p);
    const et_pass_options o = {.machine = et_machine_for("gfx942"), .unverified = true};
    bool ok = g && et_passes_resume(g, p, &o, &w->p);
    et_diag_print(d, stderr);
    ck_assert(ok);
    w->m = round_numbers;
    syms[0] = 1;
    w->opt = (et_sim_options){.syms = syms, .mode = ET_SIM_STATIC, .task = note, .ctx = w};
    w->opt.machine = &w->m;
    return w;
}

static double play(struct played *w) {
    w->n = 0;
    bool ok = et_simulate(w->p, &w->opt, &w->r, w->err);
    ck_assert_msg(ok, "%s", w->err);
    ck_assert_double_eq_tol(w->r.body + w->r.wait + w->r.schedule, 1, 1e-9);
    return w->r.us;
}

static void drop(struct played *w) {
    et_arena_destroy(w->arena);
    free(w);
}

static const et_sim_task *find(const struct played *w, int grid, int64_t iteration, int64_t tile) {
    for (int i = 0; i < w->n; i++)
        if (w->task[i].grid == grid && w->task[i].iteration == iteration && w->task[i].tile == tile)
            return &w->task[i];
    ck_abort_msg("task %d %d %d did not run", grid, (int)iteration, (int)tile);
}

#define NEAR(a, b) ck_assert_double_eq_tol(a, b, 1e-6)

/* ---- waits ---- */

/* One task after the other; KIND is what follows the event. */
static struct played *chain_of(const char *scope) {
    char text[1024];
    snprintf(text, sizeof text,
             "eti 1 placed\nmodel chain\nworkgroup 256\nworkspace 256\n"
             "input %%x : f32[4]\noutput %%y : f32[4]\ntemp %%h : f32[4] at 0\n"
             "func @a [] lds 0 {\n  map [j < 4]\n    %%h[j] = %%x[j]\n}\n"
             "func @b [] lds 0 {\n  map [j < 4]\n    %%y[j] = %%h[j]\n}\n"
             "event %%e[1] count 1 scope %s at 32\n"
             "schedule {\n"
             "  task @a = @a []\n    notify %%e[0]\n"
             "  task @b = @b []\n    wait %%e[0]\n}\n",
             scope);
    return load(text);
}

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

static const char *const ten = "eti 1 placed\nmodel ten\nworkgroup 256\nworkspace 0\n"
                               "dim N in 1..64\n"
                               "input %x : f32[N, 250]\noutput %y : f32[N]\n"
                               "func @a [i < N] lds 0 {\n  reduce sum [] over r < 250\n"
                               "    %y[i] = %x[i, r]\n}\n"
                               "schedule {\n  task @a = @a [i < N]\n}\n";

static void set_n(struct played *w, int64_t n) {
    static int64_t syms[4];
    syms[0] = n;
    w->opt.syms = syms;
}

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

/* ---- queues ---- */

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
          memory_is_shared, weights, weights_come_while_tasks_wait, traced_events, pops, pushes,
          cells, hybrid, kernels, streams, masks, subsets, stealing, routing, stuck)
