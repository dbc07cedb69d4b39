#include "tests/passes/simulate/played.h"
#include "ir/eti/eti.h"
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

static void note(void *ctx, const et_sim_task *t) {
    struct played *w = ctx;
    ck_assert_int_lt(w->n, MOST);
    w->task[w->n++] = *t;
}

struct played *load(const char *text) {
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

double play(struct played *w) {
    w->n = 0;
    bool ok = et_simulate(w->p, &w->opt, &w->r, w->err);
    ck_assert_msg(ok, "%s", w->err);
    ck_assert_double_eq_tol(w->r.body + w->r.wait + w->r.schedule, 1, 1e-9);
    return w->r.us;
}

void drop(struct played *w) {
    et_arena_destroy(w->arena);
    free(w);
}

const et_sim_task *find(const struct played *w, int grid, int64_t iteration, int64_t tile) {
    for (int i = 0; i < w->n; i++)
        if (w->task[i].grid == grid && w->task[i].iteration == iteration && w->task[i].tile == tile)
            return &w->task[i];
    ck_abort_msg("task %d %d %d did not run", grid, (int)iteration, (int)tile);
}

struct played *chain_of(const char *scope) {
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

const char *const ten = "eti 1 placed\nmodel ten\nworkgroup 256\nworkspace 0\n"
                        "dim N in 1..64\n"
                        "input %x : f32[N, 250]\noutput %y : f32[N]\n"
                        "func @a [i < N] lds 0 {\n  reduce sum [] over r < 250\n"
                        "    %y[i] = %x[i, r]\n}\n"
                        "schedule {\n  task @a = @a [i < N]\n}\n";

void set_n(struct played *w, int64_t n) {
    static int64_t syms[4];
    syms[0] = n;
    w->opt.syms = syms;
}
