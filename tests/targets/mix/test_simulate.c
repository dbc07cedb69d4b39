/* A launch of several models as the simulator plays it: who runs what, and how long it takes.
 *
 *     test_simulate mlp.etg encoder.etg layers.etg decoder.etg */
#include "frontend/etcc/driver.h"
#include "ir/graph/op_util.h"
#include "passes/simulate/simulate.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>

enum { DIES = 8, SLICES = 4 };

static char *files[4];

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

static et_program *compile_in(et_arena *a, int first, int count, const char *weight, int slices) {
    et_program *p = NULL;
    char *text = weight ? strdup(weight) : NULL, *value = text ? strchr(text, '=') + 1 : NULL;
    cli_item item = {.text = text, .value = value};
    if (value) value[-1] = 0;
    et_options o = {.input = files[first],
                    .others = files + first + 1,
                    .nothers = count - 1,
                    .variants = 1,
                    .unverified = true,
                    .arena = a,
                    .weights = {&item, weight != NULL},
                    .slices = slices,
                    .out_program = &p};
    ck_assert(et_drive(&o) && p);
    free(text);
    return p;
}

static et_program *compile(et_arena *a, int first, int count, const char *weight) {
    return compile_in(a, first, count, weight, 0);
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

/* ---- slices ---- */

struct dealt {
    et_program *p;
    const int64_t *syms;
    int workgroups, only; /* ONLY: 1 + the one model that runs, or 0 */
    int64_t sliced, all;
};

static int64_t value_of(const struct dealt *d, et_expr e) {
    return et_eval(d->p->g->exprs, e, d->syms, NULL);
}

static int first_die(int workgroup, int workgroups) {
    int die = 0, dies = workgroups < DIES ? workgroups : DIES;
    while ((die + 1) * workgroups / dies <= workgroup)
        die++;
    return die;
}

/* Slice s is on the die that comes s-th, going round, of those of the model's workgroups. */
static void look_where(void *ctx, const et_sim_task *t) {
    struct dealt *d = ctx;
    const et_grid *g = &d->p->grids[t->grid];
    et_share share = d->only ? (et_share){0, 1000000} : d->p->g->model[g->model].share;
    int first = (int)((int64_t)d->workgroups * share.from / 1000000),
        end = (int)((int64_t)d->workgroups * share.to / 1000000);
    if (end <= first) end = first + 1;
    ck_assert(!d->only || g->model == d->only - 1);
    ck_assert(t->workgroup >= first && t->workgroup < end);
    d->all++;
    if (!g->slice.count) return;
    int from = first_die(first, d->workgroups), dies = first_die(end - 1, d->workgroups) - from + 1;
    int64_t tile = t->tile, extent = 1;
    for (int k = d->p->funcs[g->func].ncoords - 1; k >= g->slice.coord; k--) {
        tile /= extent;
        extent = value_of(d, g->extent[k]);
    }
    int slice = (int)et_slice_of(tile % extent, extent, g->slice.count);
    ck_assert_int_eq(t->die, from + slice % dies);
    d->sliced++;
}

START_TEST(slices_keep_to_their_models_dies) {
    et_arena *a = et_arena_create();
    et_program *p = compile_in(a, 2, 2, NULL, SLICES);
    int64_t syms[64] = {0}, lo;
    static const int workgroups[] = {1, 2, 5, 8, 13, 40, 304};
    for (int i = 0; i < et_sym_count(p->g->exprs); i++)
        et_sym_range(p->g->exprs, i, &lo, &syms[i]);
    for (size_t w = 0; w < sizeof workgroups / sizeof *workgroups; w++)
        for (int only = 0; only <= 2; only++) {
            struct dealt d = {.p = p, .syms = syms, .workgroups = workgroups[w], .only = only};
            bool left_out[ET_MAX_MODELS] = {only == 2, only == 1};
            et_sim_options o = {.machine = et_machine_for("gfx942"),
                                .syms = syms,
                                .workgroups = workgroups[w],
                                .left_out = left_out,
                                .task = look_where,
                                .ctx = &d};
            et_sim_result r;
            char err[ET_SIM_ERR];
            int64_t all = 0;
            ck_assert_int_eq(o.machine->dies, DIES);
            ck_assert_msg(et_simulate(p, &o, &r, err), "%s", err);
            for (int i = 0; i < p->ngrids; i++)
                if (!left_out[p->grids[i].model])
                    all += value_of(&d, et_grid_tiles(p, &p->grids[i])) *
                           (int64_t)et_loop_trips(p->g, p->grids[i].loop);
            ck_assert_int_eq(d.all, all);
            ck_assert_int_gt(d.sliced, 0);
        }
    et_arena_destroy(a);
}
END_TEST

int main(int argc, char **argv) {
    if (argc != 5) return 2;
    memcpy(files, argv + 1, sizeof files);
    Suite *s = suite_create("simulated mix");
    TCase *c = tcase_create("simulated mix");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, tasks_keep_to_their_parts);
    tcase_add_test(c, weight_never_narrows);
    tcase_add_test(c, slices_keep_to_their_models_dies);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
