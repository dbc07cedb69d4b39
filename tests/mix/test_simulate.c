/* A launch of several models as the simulator plays it: who runs what, and how long it takes.
 *
 *     test_simulate mlp.etg encoder.etg */
#include "driver.h"
#include "simulate.h"
#include <check.h>
#include <stdlib.h>

static char *files[2];

struct seen {
    et_program *p;
    int workgroups;
    int64_t tasks[ET_MAX_MODELS];
};

static void look(void *ctx, const et_sim_task *t) {
    struct seen *s = ctx;
    int m = s->p->grids[t->grid].model;
    et_share share = s->p->g->model[m].share;
    int64_t from = (int64_t)s->workgroups * share.from / 1000000,
            to = (int64_t)s->workgroups * share.to / 1000000;
    ck_assert_int_ge(t->workgroup, from);
    ck_assert_int_lt(t->workgroup, to > from ? to : from + 1);
    s->tasks[m]++;
}

static et_program *compile(et_arena *a, int first, int count, const char *weight) {
    et_program *p = NULL;
    et_options o = {.input = files[first],
                    .others = files + first + 1,
                    .nothers = count - 1,
                    .variants = 1,
                    .no_verify = true,
                    .arena = a,
                    .weights = {weight},
                    .nweights = weight != NULL,
                    .out_program = &p};
    ck_assert(et_drive(&o) && p);
    return p;
}

/* The predicted time with every dim at its largest. */
static double play(et_program *p, int workgroups, struct seen *seen) {
    int64_t syms[64] = {0}, lo;
    char err[ET_SIM_ERR];
    et_sim_result r;
    *seen = (struct seen){.p = p, .workgroups = workgroups};
    for (int i = 0; i < et_sym_count(p->g->exprs); i++)
        et_sym_range(p->g->exprs, i, &lo, &syms[i]);
    et_sim_options o = {.machine = et_machine_for("gfx942"),
                        .syms = syms,
                        .workgroups = workgroups,
                        .task = p->g->nmodels ? look : NULL,
                        .ctx = seen};
    ck_assert_msg(et_simulate(p, &o, &r, err), "%s", err);
    return r.us;
}

START_TEST(tasks_keep_to_their_parts) {
    et_arena *a = et_arena_create();
    et_program *mix = compile(a, 0, 2, NULL);
    struct seen seen, one;
    ck_assert_int_eq(mix->g->nmodels, 2);
    for (int w = 1; w <= 304; w += 101) {
        double both = play(mix, w, &seen), longest = 0;
        ck_assert(seen.tasks[0] > 0 && seen.tasks[1] > 0);
        for (int i = 0; i < 2; i++) {
            double alone = play(compile(a, i, 1, NULL), w, &one);
            longest = alone > longest ? alone : longest;
        }
        ck_assert_msg(both > 0.9 * longest, "%d workgroups: %g us, alone %g", w, both, longest);
    }
    et_arena_destroy(a);
}
END_TEST

static int width(et_arena *a, int heavy) {
    const et_graph *g = compile(a, 0, 2, heavy ? "encoder=9" : "mlp=9")->g;
    ck_assert_str_eq(g->model[0].name, "mlp");
    ck_assert_str_eq(g->model[1].name, "encoder");
    for (int i = 0; i < 2; i++) {
        ck_assert_int_ge(g->model[i].share.from, 0);
        ck_assert_int_lt(g->model[i].share.from, g->model[i].share.to);
        ck_assert_int_le(g->model[i].share.to, 1000000);
    }
    return g->model[0].share.to - g->model[0].share.from;
}

START_TEST(weight_never_narrows) {
    et_arena *a = et_arena_create();
    ck_assert_int_ge(width(a, 0), width(a, 1));
    et_arena_destroy(a);
}
END_TEST

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    files[0] = argv[1], files[1] = argv[2];
    Suite *s = suite_create("simulated mix");
    TCase *c = tcase_create("simulated mix");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, tasks_keep_to_their_parts);
    tcase_add_test(c, weight_never_narrows);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
