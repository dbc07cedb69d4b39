/* Properties of the predicted times of whole models, and values that routing depends on. */
#include "ir/graph/op_util.h"
#include "passes/passes.h"
#include "passes/simulate/simulate.h"
#include "tests/support/random_model.h"
#include "tests/unit/ir/main.h"
#include <stdlib.h>
#include <string.h>

static const char *tests_dir;

struct model {
    et_arena *arena;
    et_graph *g;
    et_program *p;
    int64_t syms[4];
};

static struct model load(const char *name) {
    struct model m = {.arena = et_arena_create()};
    et_diags *d = et_diags_create(m.arena);
    const et_pass_options o = {.machine = et_machine_for("gfx942"), .unverified = true};
    m.g = tm_parse(m.arena, d, et_printf(m.arena, "%s/%s", tests_dir, name));
    bool ok = m.g && et_passes_run(m.g, &o, &m.p);
    et_diag_print(d, stderr);
    ck_assert(ok);
    return m;
}

struct seen {
    int64_t n;
    uint64_t hash;
    double end[512]; /* by workgroup: when its last task left */
    bool ordered;
};

static void note(void *ctx, const et_sim_task *t) {
    struct seen *s = ctx;
    s->n++;
    s->hash = s->hash * 31 + (uint64_t)(t->t_done * 1e6) + (uint64_t)t->workgroup;
    double from = t->t_look >= 0 ? t->t_look : t->t_reached;
    s->ordered &= from >= s->end[t->workgroup] && t->t_reached >= from &&
                  t->t_ready >= t->t_reached && t->t_done >= t->t_ready && t->t_left >= t->t_done;
    s->end[t->workgroup] = t->t_left;
}

static bool some_context(void *ctx, int tensor, int64_t iteration, const int64_t *index,
                         int64_t *out) {
    (void)ctx, (void)tensor, (void)iteration, (void)index;
    *out = 5;
    return true;
}

static et_sim_result play(const struct model *m, const et_machine *machine, et_sim_mode mode,
                          bool early, int workgroups, struct seen *seen) {
    et_sim_options o = {.machine = machine, .syms = m->syms, .mode = mode, .early_push = early};
    et_sim_result r;
    char err[ET_SIM_ERR];
    o.workgroups = workgroups;
    o.value = some_context;
    *seen = (struct seen){.ordered = true};
    o.task = note;
    o.ctx = seen;
    bool ok = et_simulate(m->p, &o, &r, err);
    ck_assert_msg(ok, "%s", err);
    ck_assert(seen->ordered);
    ck_assert_int_eq(seen->n, r.tasks);
    return r;
}

START_TEST(every_mode) {
    struct model m = load("unit/import/stories-llama.etg");
    const et_machine *mi300x = et_machine_for("gfx942");
    struct seen seen;
    for (int n = 1; n <= 64; n += 21) {
        m.syms[0] = n;
        int64_t tasks = play(&m, mi300x, ET_SIM_STATIC, false, 0, &seen).tasks;
        for (int wgs = 1; wgs <= 304; wgs += 101)
            for (int mode = ET_SIM_STATIC; mode <= ET_SIM_UNFUSED; mode++)
                for (int early = 0; early < (mode == ET_SIM_DYNAMIC ? 2 : 1); early++) {
                    et_sim_result a = play(&m, mi300x, (et_sim_mode)mode, early, wgs, &seen);
                    uint64_t hash = seen.hash;
                    et_sim_result b = play(&m, mi300x, (et_sim_mode)mode, early, wgs, &seen);
                    ck_assert_int_eq(a.tasks, tasks);
                    ck_assert(seen.hash == hash && memcmp(&a, &b, sizeof a) == 0);
                    ck_assert_double_eq_tol(a.body + a.wait + a.schedule, 1, 1e-9);
                }
    }
    et_arena_destroy(m.arena);
}
END_TEST

/* Where events, queues and launches cost nothing, what remains differs by the order of tasks alone.
 */
START_TEST(free_scheduling) {
    struct model m = load("unit/import/stories-llama.etg");
    et_machine machine = *et_machine_for("gfx942");
    struct seen seen;
    machine.counter_us = machine.counter_die_us = machine.arrival_us = machine.release_us =
        machine.acquire_us = machine.atomic_us = machine.pop_us = machine.pop_gap_us =
            machine.graph_us = 0;
    for (m.syms[0] = 1; m.syms[0] <= 64; m.syms[0] += 63) {
        double fixed = play(&m, &machine, ET_SIM_STATIC, false, 0, &seen).us;
        double unfused = play(&m, &machine, ET_SIM_UNFUSED, false, 0, &seen).us;
        double alone = play(&m, &machine, ET_SIM_STATIC, false, 1, &seen).us;
        ck_assert_double_lt(fixed, unfused * 1.01);
        ck_assert_double_eq_tol(play(&m, &machine, ET_SIM_DYNAMIC, false, 1, &seen).us, alone,
                                alone * 0.01);
        for (int early = 0; early < 2; early++) {
            double us = play(&m, &machine, ET_SIM_DYNAMIC, early, 0, &seen).us;
            ck_assert_double_gt(us, fixed * 0.9);
            ck_assert_double_lt(us, fixed * 1.4); /* nothing is loaded ahead of a wait */
        }
    }
    et_arena_destroy(m.arena);
}
END_TEST

/* More bandwidth, cheaper events and cheaper queues are never slower where they are all there is.
 */
START_TEST(monotonic) {
    struct model m = load("unit/import/stories-llama.etg");
    struct seen seen;
    m.syms[0] = 64;
    for (int mode = ET_SIM_STATIC; mode <= ET_SIM_UNFUSED; mode++) {
        double last = 1e30;
        for (double gbs = 10; gbs < 20000; gbs *= 3) {
            et_machine machine = *et_machine_for("gfx942");
            machine.hbm_gbs = gbs;
            double us = play(&m, &machine, (et_sim_mode)mode, false, 0, &seen).us;
            ck_assert_double_lt(us, last * 1.001);
            last = us;
        }
        last = 0;
        for (double events = 0; events < 8; events += 1) {
            et_machine machine = *et_machine_for("gfx942");
            machine.counter_us *= events;
            machine.release_us *= events;
            machine.pop_us *= events;
            machine.graph_us *= events;
            double us = play(&m, &machine, (et_sim_mode)mode, false, 0, &seen).us;
            ck_assert_double_gt(us, last * 0.999);
            last = us;
        }
    }
    et_arena_destroy(m.arena);
}
END_TEST

/* Slower CUs: never faster than none, and no slower than all of them. */
START_TEST(spread) {
    struct model m = load("unit/import/stories-llama.etg");
    et_sim_options o = {.machine = et_machine_for("gfx942"), .syms = m.syms, .value = some_context};
    et_sim_result even, uneven, other;
    char err[ET_SIM_ERR];
    m.syms[0] = 64;
    o.mode = ET_SIM_STATIC;
    ck_assert(et_simulate(m.p, &o, &even, err));
    o.spread = 0.5;
    ck_assert(et_simulate(m.p, &o, &uneven, err));
    o.seed = 1;
    ck_assert(et_simulate(m.p, &o, &other, err));
    ck_assert_double_gt(uneven.us, even.us);
    ck_assert_double_lt(uneven.us, even.us * 1.5);
    ck_assert_double_ne(uneven.us, other.us);
    et_arena_destroy(m.arena);
}
END_TEST

/* What is chosen is at least as good as either extreme, and what it says it takes. */
START_TEST(choice) {
    struct model m = load("unit/import/stories-llama.etg");
    const et_machine *mi300x = et_machine_for("gfx942");
    et_sim_options o = {.machine = mi300x, .syms = m.syms, .value = some_context};
    bool *dynamic = et_alloc(m.arena, (size_t)m.p->ngrids * sizeof *dynamic);
    char err[ET_SIM_ERR];
    struct seen seen;
    et_sim_result r;
    for (m.syms[0] = 1; m.syms[0] <= 64; m.syms[0] += 63) {
        double us = et_sim_choose(m.p, &o, dynamic, err);
        double fixed = play(&m, mi300x, ET_SIM_STATIC, false, 0, &seen).us;
        double queued = play(&m, mi300x, ET_SIM_DYNAMIC, false, 0, &seen).us;
        ck_assert_double_gt(us, 0);
        ck_assert_double_le(us, fixed * 1.001);
        ck_assert_double_le(us, queued * 1.001);
        o.dynamic = dynamic;
        ck_assert(et_simulate(m.p, &o, &r, err));
        ck_assert_double_eq_tol(r.us, us, 1e-9);
    }
    et_arena_destroy(m.arena);
}
END_TEST

/* ---- values ---- */

static const char *const picks =
    "model picks\ndim N in 1..8\nconst V=16, H=32\n"
    "input x : f32[N, V]\n"
    "weight embed : f32[V, H] = \"e\"\nweight w : f32[H, H] = \"w\"\n"
    "y = gather(embed, argmax(x)) @ w.T\n"
    "for l in 0..3 {\n  y = y + gather(embed, argmax(x * (l - 1)))\n}\n"
    "output o = gather(embed, argmax(y[:, 0:16]))\n";

START_TEST(values) {
    struct model m = {.arena = et_arena_create()};
    et_diags *d = et_diags_create(m.arena);
    char path[] = "picks_XXXXXX", err[ET_SIM_ERR];
    int fd = mkstemp(path);
    FILE *f = fdopen(fd, "w");
    fputs(picks, f);
    fclose(f);
    m.g = tm_parse(m.arena, d, path);
    remove(path);
    const et_pass_options o = {.machine = et_machine_for("gfx942"), .unverified = true};
    bool ok = m.g && et_passes_run(m.g, &o, &m.p);
    et_diag_print(d, stderr);
    ck_assert(ok);
    m.syms[0] = 5;
    et_tensor_data **given = et_alloc(m.arena, (size_t)m.g->nvals * sizeof *given);
    et_tensor_data *x = NULL;
    for (int v = 1; v < m.g->nvals; v++)
        if (m.g->vals[v].kind == ET_V_INPUT)
            tm_fill(given[v] = x = tm_tensor(m.arena, m.g, &m.g->vals[v].shape, m.syms));
    et_sim_values *sv = et_sim_values_create(m.p, m.syms, given, err);
    ck_assert_msg(sv != NULL, "%s", err);
    int known = 0, unknown = 0;
    for (int t = 0; t < m.p->ntensors; t++) {
        int64_t got, index[ET_MAX_RANK] = {0};
        if (m.p->tensors[t].shape.dtype != ET_I32) continue;
        if (!et_sim_value(sv, t, 0, index, &got)) {
            unknown++; /* it depends on weights */
            continue;
        }
        bool in_loop = m.p->tensors[t].shape.rank && et_sim_value(sv, t, 2, index, &got);
        known++;
        for (int64_t l = 0; l < 3; l++)
            for (index[0] = 0; index[0] < 5; index[0]++) {
                int64_t first, plus, minus, want = 0, least = 0;
                for (int64_t k = 0; k < 16; k++) {
                    if (x->f[index[0] * 16 + k] > x->f[index[0] * 16 + want]) want = k;
                    if (x->f[index[0] * 16 + k] < x->f[index[0] * 16 + least]) least = k;
                }
                ck_assert(et_sim_value(sv, t, l, index, &got));
                ck_assert(et_sim_value(sv, t, 0, index, &first));
                ck_assert(et_sim_value(sv, t, 1, index, &minus));
                ck_assert(et_sim_value(sv, t, 2, index, &plus));
                ck_assert(in_loop);
                bool before = first == want && plus == want && minus == want;
                bool inside = first == least && minus == 0 && plus == want;
                ck_assert(before || inside);
            }
        index[0] = 5;
        ck_assert(!et_sim_value(sv, t, 0, index, &got));
        index[0] = -1;
        ck_assert(!et_sim_value(sv, t, 0, index, &got));
    }
    ck_assert_int_eq(known, 2);
    ck_assert_int_eq(unknown, 1);
    et_sim_values_destroy(sv);
    et_arena_destroy(m.arena);
}
END_TEST

int main(int argc, char **argv) {
    const TTest *const tests[] = {every_mode, free_scheduling, monotonic, spread, choice, values};
    if (argc != 2) return 2;
    tests_dir = argv[1];
    return run_tests("simulate.models", tests, 6);
}
