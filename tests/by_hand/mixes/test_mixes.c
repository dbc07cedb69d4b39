/* The parts of etmixes: queues against formulas, ECLIP's allocation against all allocations there
 * are, and what must hold between policies whatever the models are.
 *
 *     test_mixes mlp.etg encoder.etg */
#include "bench/mixes/mixes.h"
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 3;

static double draw(void) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) / 9007199254740992.0;
}

#define CLOSE(a, b, part) ck_assert_double_eq_tol(a, b, (part)*fabs((double)(b)))

/* ---- queues ---- */

static struct mix_times serve(const struct mix_service *s, double rate, double rate2) {
    const struct mix_load load = {.rate = {rate, rate2}, .requests = 300000, .seed = 11};
    struct mix_times t;
    mix_queue(s, &load, &t);
    return t;
}

/* Crommelin's formula: the chance of waiting no longer than T where every service takes 1. */
static double chance_of_wait(double load, double t) {
    double sum = 0;
    for (int j = 0; j <= (int)t; j++) {
        double x = load * (j - t), term = exp(-x);
        for (int i = 1; i <= j; i++)
            term *= x / i;
        sum += term;
    }
    return (1 - load) * sum;
}

/* One model, whose requests take 10 us: all ways of serving are one. */
START_TEST(deterministic_service) {
    const double part[] = {0.2, 0.5, 0.8};
    for (int i = 0; i < 3; i++) {
        struct mix_service s = {.nmodels = 1, .us = {0, 10}};
        s.speed[1][0] = 0.1;
        for (int kind = MIX_TURNS; kind <= MIX_STREAMS; kind++) {
            s.kind = kind;
            struct mix_times t = serve(&s, part[i] / 10, 0);
            double wait = 10 * part[i] / (2 * (1 - part[i]));
            ck_assert(!t.grows);
            CLOSE(t.mean[0] - 10, wait, 0.03);
            double chance = chance_of_wait(part[i], t.p99[0] / 10 - 1);
            ck_assert_double_eq_tol(chance, 0.99, part[i] < 0.6 ? 1e-3 : 4e-3);
        }
    }
}
END_TEST

/* Pollaczek and Khinchine: both models wait in one line, however long each is served. */
START_TEST(two_services_in_turn) {
    const struct mix_service s = {.kind = MIX_TURNS, .nmodels = 2, .us = {0, 4, 20}};
    double rate = 0.03, rate2 = 0.025, load = rate * 4 + rate2 * 20;
    struct mix_times t = serve(&s, rate, rate2);
    double wait = (rate * 16 + rate2 * 400) / (2 * (1 - load));
    CLOSE(t.mean[0] - 4, wait, 0.03);
    CLOSE(t.mean[1] - 20, wait, 0.03);
}
END_TEST

START_TEST(streams_apart) {
    struct mix_service s = {.kind = MIX_STREAMS, .nmodels = 2};
    s.speed[1][0] = s.speed[3][0] = 0.25;
    s.speed[2][1] = s.speed[3][1] = 0.05;
    struct mix_times t = serve(&s, 0.1, 0.04);
    CLOSE(t.mean[0], 4 + 4 * 0.4 / (2 * 0.6), 0.03);
    CLOSE(t.mean[1], 20 + 20 * 0.8 / (2 * 0.2), 0.03);
    /* Halved where the other is at work: between those two and both at half speed. */
    s.speed[3][0] /= 2, s.speed[3][1] /= 2;
    struct mix_times slow = serve(&s, 0.1, 0.015);
    s.speed[1][0] /= 2, s.speed[2][1] /= 2;
    struct mix_times slower = serve(&s, 0.1, 0.015);
    for (int m = 0; m < 2; m++)
        ck_assert_double_lt(slow.mean[m], slower.mean[m]);
    ck_assert_double_gt(slow.mean[0], t.mean[0]);
}
END_TEST

/* Two of a kind that take as long together as alone: no request waits for more than the rest of a
 * launch and those of its own kind, so it is between a server of its own and one shared by both. */
START_TEST(launches_together) {
    const struct mix_service both = {.kind = MIX_LAUNCHES, .nmodels = 2, .us = {0, 10, 10, 10}};
    const struct mix_service turns = {.kind = MIX_TURNS, .nmodels = 2, .us = {0, 10, 10}};
    struct mix_times t = serve(&both, 0.03, 0.03), u = serve(&turns, 0.03, 0.03);
    for (int m = 0; m < 2; m++) {
        ck_assert_double_lt(t.mean[m], u.mean[m]);
        ck_assert_double_gt(t.mean[m], 10 + 10 * 0.3 / (2 * 0.7));
    }
    ck_assert(serve(&turns, 0.055, 0.055).grows);
    ck_assert(!serve(&both, 0.095, 0.095).grows);
    ck_assert(serve(&both, 0.11, 0.11).grows);
}
END_TEST

/* When the models of SET are done if they begin together. */
static void begin_together(double speed[MIX_SETS][MIX_MODELS], unsigned set, double *done) {
    double left[MIX_MODELS] = {1, 1, 1}, t = 0;
    while (set) {
        double step = INFINITY;
        int next = 0;
        for (int m = 0; m < MIX_MODELS; m++)
            if (set >> m & 1 && left[m] / speed[set][m] < step)
                step = left[m] / speed[set][m], next = m;
        for (int m = 0; m < MIX_MODELS; m++)
            left[m] -= set >> m & 1 ? step * speed[set][m] : 0;
        done[next] = t += step;
        set &= ~(1u << next);
    }
}

/* Speeds follow from the times at which models are done that began together. */
START_TEST(speeds_from_times) {
    for (int k = 0; k < 500; k++) {
        double speed[MIX_SETS][MIX_MODELS] = {{0}}, done[MIX_SETS][MIX_MODELS] = {{0}};
        double found[MIX_SETS][MIX_MODELS];
        for (unsigned set = 1; set < MIX_SETS; set++) {
            for (int m = 0; m < MIX_MODELS; m++)
                if (set >> m & 1) speed[set][m] = (0.02 + 0.02 * draw()) / __builtin_popcount(set);
            begin_together(speed, set, done[set]);
        }
        mix_speeds(MIX_MODELS, (const double(*)[MIX_MODELS])done, found);
        for (unsigned set = 1; set < MIX_SETS; set++)
            for (int m = 0; m < MIX_MODELS; m++)
                ck_assert_double_eq_tol(found[set][m], speed[set][m], 1e-9);
    }
}
END_TEST

START_TEST(fairness) {
    const double equal[] = {3, 3, 3}, one[] = {1, 0, 0}, two[] = {1, 3};
    CLOSE(mix_fairness(3, equal), 1, 1e-12);
    CLOSE(mix_fairness(3, one), 1.0 / 3, 1e-12);
    CLOSE(mix_fairness(2, two), 0.8, 1e-12);
}
END_TEST

/* ---- ECLIP ---- */

enum { KERNELS = 4 };

struct all_plans {
    int nworkers, most;
    const struct eclip_worker *w;
    int config[MIX_MODELS][KERNELS];
    double best;
};

static void look(struct all_plans *a) {
    double us = 0, share = 0;
    for (int i = 0; i < a->nworkers; i++) {
        int switches = 0, n = a->w[i].kernels;
        for (int k = 0; k < n; k++) {
            int c = a->config[i][k];
            if (!a->w[i].may[c]) return;
            switches += k && c != a->config[i][k - 1];
            us += a->w[i].us[k * ECLIP_CONFIGS + c];
            share += (c + 1.0) / ECLIP_CONFIGS / n;
        }
        if (switches > a->most) return;
    }
    a->best = fmin(a->best, us * (1 + share));
}

static void each_plan(struct all_plans *a, int i, int k) {
    if (i == a->nworkers) {
        look(a);
        return;
    }
    if (k == a->w[i].kernels) {
        each_plan(a, i + 1, 0);
        return;
    }
    for (int c = 0; c < ECLIP_CONFIGS; c++) {
        a->config[i][k] = c;
        each_plan(a, i, k + 1);
    }
}

START_TEST(no_allocation_is_better) {
    for (int i = 0; i < 60; i++) {
        double us[MIX_MODELS][KERNELS * ECLIP_CONFIGS];
        struct eclip_worker w[MIX_MODELS];
        struct eclip_plan plan;
        et_arena *a = et_arena_create();
        struct all_plans all = {1 + i % 3, i % 4, w, {{0}}, INFINITY};
        for (int k = 0; k < all.nworkers; k++) {
            w[k] = (struct eclip_worker){
                all.nworkers > 2 ? 3 : KERNELS, us[k], {i % 2, true, true, true}};
            for (int j = 0; j < KERNELS; j++) /* faster on more CUs, by how much differs */
                for (int c = ECLIP_CONFIGS - 1; c >= 0; c--)
                    us[k][j * ECLIP_CONFIGS + c] =
                        (c == 3 ? 1 + 20 * draw() : us[k][j * ECLIP_CONFIGS + c + 1]) *
                        (1 + (c < 3) * draw());
        }
        each_plan(&all, 0, 0);
        eclip_solve(a, all.nworkers, w, all.most, &plan);
        CLOSE(plan.objective, all.best, 1e-9);
        all.best = INFINITY;
        for (int k = 0; k < all.nworkers; k++)
            memcpy(all.config[k], plan.config[k], (size_t)w[k].kernels * sizeof(int));
        look(&all); /* it is allowed, and costs what it says */
        CLOSE(all.best, plan.objective, 1e-9);
        et_arena_destroy(a);
    }
}
END_TEST

/* Workers whose CUs are disjoint, and those of three overlap by no more than they must. */
START_TEST(quarters) {
    for (int n = 1; n <= MIX_MODELS; n++) {
        struct mix_masks k;
        bool may[MIX_MODELS][ECLIP_CONFIGS];
        mix_quarters(n, &k, may);
        for (int m = 0; m < n; m++)
            for (int c = 0; c < ECLIP_CONFIGS; c++) {
                et_share s = k.quarters[m][c];
                ck_assert_int_eq(s.to - s.from, (c + 1) * 250000);
                ck_assert(s.from >= 0 && s.to <= 1000000);
                ck_assert(may[m][c] || (n == 3 && c == 0));
            }
        if (n > 1) ck_assert_int_le(k.quarters[0][1].to, k.quarters[1][1].from);
    }
}
END_TEST

/* ---- policies ---- */

static char *files[2];

static struct mix *load(void) {
    static char text[2][1 << 16];
    static struct mix m;
    m = (struct mix){.nmodels = 2, .machine = et_machine_for("gfx942"), .context = 64};
    for (int i = 0; i < 2; i++) {
        FILE *f = fopen(files[i], "rb");
        ck_assert_ptr_nonnull(f);
        m.bytes[i] = fread(text[i], 1, sizeof text[i], f);
        fclose(f);
        m.text[i] = text[i];
        m.file[i] = files[i];
    }
    return &m;
}

START_TEST(what_holds_between_policies) {
    et_arena *a = et_arena_create();
    struct mix_outcome each[MIX_POLICIES];
    struct mix_parts parts;
    struct mix_program *all = NULL;
    ck_assert(mix_try(load(), a, each, &parts, &all));
    const struct mix_outcome *sequence = &each[MIX_SEQUENCE];
    const double *alone = sequence->service.us;
    CLOSE(sequence->us, alone[1] + alone[2], 1e-9);
    for (int i = 0; i < MIX_POLICIES; i++) {
        double rate[MIX_MODELS];
        mix_capacity(&each[i].service, rate);
        ck_assert_double_le(each[i].idle, 1);
        for (int m = 0; m < 2; m++) {
            ck_assert_double_le(each[i].done[m], each[i].us * (1 + 1e-9));
            ck_assert_double_gt(rate[m], 0);
            /* Nobody is faster beside others than alone on all CUs, but for which tiles meet. */
            ck_assert_double_gt(each[i].done[m], 0.95 * alone[1 << m]);
        }
    }
    const et_share *part[] = {parts.fixed, parts.searched};
    for (int i = 0; i < 2; i++)
        ck_assert(part[i][0].to <= part[i][1].from || part[i][1].to <= part[i][0].from);
    for (int m = 0; m < 2; m++)
        ck_assert_int_le(parts.eclip.switches[m], ECLIP_SWITCHES);
    mix_program_destroy(all);
    et_arena_destroy(a);
}
END_TEST

/* A change of masks costs a stream of kernels its price, each time; without changes all masks are
 * the same as none. */
START_TEST(changes_cost_their_price) {
    et_arena *a = et_arena_create();
    struct mix_program *p = mix_compile(load(), a, ET_PLACEMENT_ALL);
    ck_assert_ptr_nonnull(p);
    int n = mix_kernels(p, 0), config[256] = {0};
    ck_assert(n > 2 && n < 256);
    struct eclip_plan plan = {.config = {config, config}};
    struct mix_masks masks = {.plan = &plan};
    bool may[MIX_MODELS][ECLIP_CONFIGS];
    mix_quarters(2, &masks, may);
    struct mix_how how = {.mode = ET_SIM_STREAMS};
    struct mix_launch bare, r;
    ck_assert(mix_play(p, &how, 1, &bare));
    how.masks = &masks;
    for (int changes = 0; changes < n; changes++) {
        double before = 0;
        int switches = 0;
        for (int k = 0; k < n; k++) {
            config[k] = k <= changes && k % 2 ? 2 : 3;
            switches += k && config[k] != config[k - 1];
        }
        for (int cost = 0; cost < 3; cost++) {
            how.switch_us = 20 * cost;
            ck_assert(mix_play(p, &how, 1, &r));
            if (cost) ck_assert_double_eq_tol(r.r.us - before, 20 * switches, 1e-6);
            before = r.r.us;
        }
        if (!changes) CLOSE(r.r.us, bare.r.us, 1e-9);
    }
    /* Kernel times, and the boundaries between them, add up to the whole. */
    double *us = et_alloc(a, (size_t)n * sizeof *us), sum = 0;
    ck_assert(mix_kernel_times(p, 0, (et_share){0, 1000000}, us, 1));
    for (int k = 0; k < n; k++)
        sum += us[k];
    const et_machine *m = et_machine_for("gfx942");
    CLOSE(sum + m->launch_us + (n - 1) * m->graph_us, bare.r.us, 1e-6);
    mix_program_destroy(p);
    et_arena_destroy(a);
}
END_TEST

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    files[0] = argv[1], files[1] = argv[2];
    const TTest *const tests[] = {deterministic_service,
                                  two_services_in_turn,
                                  streams_apart,
                                  launches_together,
                                  speeds_from_times,
                                  fairness,
                                  no_allocation_is_better,
                                  quarters,
                                  what_holds_between_policies,
                                  changes_cost_their_price};
    Suite *s = suite_create("mixes");
    TCase *c = tcase_create("mixes");
    tcase_set_timeout(c, 120);
    for (size_t i = 0; i < sizeof tests / sizeof *tests; i++)
        tcase_add_test(c, tests[i]);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
