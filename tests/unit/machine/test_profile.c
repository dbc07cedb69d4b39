/* Profiles: text, looking up, and being of a program or not. */
#include "frontend/frontend.h"
#include "passes/passes.h"
#include "passes/simulate/simulate.h"
#include "tests/unit/ir/main.h"
#include <stdlib.h>
#include <string.h>

#define HEAD "etcc-profile 1\ntool " ETCC_VERSION "\nmachine MI300X\nmodel m\ndevice d\n"
#define TIMES "times measured\n"
#define H1 "00000000000000a1"
#define H2 "00000000000000b2"

struct got {
    et_arena *arena;
    et_diags *d;
    et_profile *p;
};

static struct got nothing(void) {
    struct got g = {.arena = et_arena_create()};
    g.d = et_diags_create(g.arena);
    return g;
}

static struct got parse(const char *text) {
    struct got g = nothing();
    g.p = et_profile_parse(g.arena, g.d, "x.prof", text, strlen(text));
    return g;
}

static char *said(et_diags *d) {
    char *text = NULL;
    size_t n;
    FILE *f = open_memstream(&text, &n);
    et_diag_print(d, f);
    fclose(f);
    return text;
}

static void expect_said(et_diags *d, const char *message) {
    char *all = said(d);
    ck_assert_msg(strstr(all, message), "not '%s' but: %s", message, all);
    free(all);
}

START_TEST(looks_up) {
    struct got g = parse(HEAD TIMES "task b " H2 " N=1\n at 4 8\n at 8 4\n at 16 3\ntask a " H1
                                    "\n at 10 1e1\n");
    static const double known[][2] = {{4, 8},  {8, 4},   {16, 3},       {1000, 3},   {2, 16},
                                      {1, 32}, {.5, 64}, {12, 10. / 3}, {6, 16. / 3}};
    double us;
    ck_assert_ptr_nonnull(g.p);
    ck_assert_int_eq(g.p->ntasks, 2);
    ck_assert(!g.p->counted);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        ck_assert(et_profile_us(g.p, 0xb2, known[i][0], &us));
        ck_assert_double_eq_tol(us, known[i][1], 1e-9);
    }
    ck_assert(et_profile_us(g.p, 0xa1, 10, &us) && us == 10);
    ck_assert(!et_profile_us(g.p, 0xa2, 10, &us) && !et_profile_us(NULL, 0xa1, 10, &us));
    ck_assert(!et_profile_us(g.p, 0xa1, 0, &us));
    et_arena_destroy(g.arena);
}
END_TEST

START_TEST(prints_what_it_reads) {
    static const char text[] = HEAD "times predicted\n"
                                    "# task NAME HASH DIMS; at WORKGROUPS MICROSECONDS\n"
                                    "task b " H2 " N=1 M=2\n  at 4 8.5\n  at 8 0.25\n"
                                    "task a " H1 "\n  at 304 12345.6\n";
    struct got g = parse(text);
    char *printed = NULL;
    size_t n;
    FILE *f = open_memstream(&printed, &n);
    ck_assert(g.p && g.p->counted);
    et_profile_print(g.p, f);
    fclose(f);
    ck_assert_str_eq(printed, text);
    free(printed);
    et_arena_destroy(g.arena);
}
END_TEST

START_TEST(refuses_texts) {
    static const char *const cases[][2] = {
        {"", "x.prof:1: error: not a profile"},
        {"etcc-profile 2\n", "version '2' of the format"},
        {HEAD, "times is missing"},
        {HEAD "times guessed\n", "times are 'measured' or 'predicted'"},
        {HEAD "times\n", "times of what?"},
        {HEAD TIMES "model x\n", "x.prof:7:1: error: model is given twice"},
        {HEAD TIMES "taks a\n", "unknown key 'taks'"},
        {HEAD TIMES "at 1 1\n", "a time without a task before it"},
        {HEAD TIMES "task a\n", "a task is: NAME, 16 hexadecimal digits"},
        {HEAD TIMES "task a 12\n", "a task is: NAME, 16 hexadecimal digits"},
        {HEAD TIMES "task a 00000000000000AB\n", "a task is: NAME, 16 hexadecimal digits"},
        {HEAD TIMES "task a " H1 "\n", "x.prof:7:1: error: task a has no times"},
        {HEAD TIMES "task a " H1 "\n at 1\n", "a time is: workgroups from 1 to 65536"},
        {HEAD TIMES "task a " H1 "\n at 1 2 3\n", "a time is: workgroups"},
        {HEAD TIMES "task a " H1 "\n at 1 0\n", "a time is: workgroups"},
        {HEAD TIMES "task a " H1 "\n at 1 inf\n", "a time is: workgroups"},
        {HEAD TIMES "task a " H1 "\n at 70000 1\n", "a time is: workgroups"},
        {HEAD TIMES "task a " H1 "\n at 2 1\n at 2 1\n", "of a task ascend"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct got g = parse(cases[i][0]);
        ck_assert_msg(!g.p, "taken: %s", cases[i][0]);
        expect_said(g.d, cases[i][1]);
        et_arena_destroy(g.arena);
    }
}
END_TEST

/* ---- programs ---- */

#define MODEL(n, hidden)                                                                           \
    "model m\ndim N in 1.." n "\ninput x : f32[N, 32]\nweight w : f32[" hidden                     \
    ", 32] = \"w\"\nweight v : f32[32, " hidden "] = \"v\"\n"                                      \
    "output y : f32[N, 32] = relu(x @ w.T) @ v.T\n"

static et_program *compile(struct got *g, const char *text, et_schedule_kind schedule) {
    et_pass_options o = {
        .machine = et_machine_for("gfx942"), .schedule = schedule, .profile = g->p};
    et_program *p = NULL;
    et_graph *graph = et_parse_etg(g->arena, g->d, "m.etg", text, strlen(text));
    bool ok = graph && et_passes_run(graph, &o, &p);
    et_diag_print(g->d, stderr);
    ck_assert(ok);
    return p;
}

static uint64_t hash(et_program *p, int grid, int64_t n) {
    return et_profile_hash(p, &p->grids[grid], &n);
}

START_TEST(hashes) {
    struct got g = nothing();
    et_program *p = compile(&g, MODEL("64", "48"), ET_SCHEDULE_NONE);
    et_program *again = compile(&g, MODEL("64", "48"), ET_SCHEDULE_DYNAMIC);
    et_program *other = compile(&g, MODEL("64", "80"), ET_SCHEDULE_NONE);
    int last = p->ngrids - 1;
    ck_assert_int_ge(last, 1);
    for (int i = 0; i <= last; i++)
        ck_assert(hash(p, i, 7) == hash(again, i, 7));
    ck_assert(hash(p, last, 7) != hash(p, last, 8));
    ck_assert(hash(p, last, 7) != hash(p, 0, 7));
    ck_assert(hash(p, last, 7) != hash(other, other->ngrids - 1, 7));
    et_arena_destroy(g.arena);
}
END_TEST

/* A profile of P that says every task takes US on one workgroup and as long on any other number. */
static const char *profile_text(struct got *g, et_program *p, int64_t n, double us) {
    const char *text = HEAD TIMES;
    for (int i = 0; i < p->ngrids; i++)
        text = et_printf(g->arena, "%stask %s %016llx N=%lld\n at 1 %g\n at 304 %g\n", text,
                         p->grids[i].name, (unsigned long long)hash(p, i, n), (long long)n, us, us);
    return text;
}

START_TEST(checked) {
    struct got g = nothing(), times;
    const et_machine *m = et_machine_for("gfx942");
    et_program *p = compile(&g, MODEL("64", "48"), ET_SCHEDULE_NONE);
    et_program *other = compile(&g, MODEL("64", "80"), ET_SCHEDULE_NONE);
    et_program *narrow = compile(&g, MODEL("4", "48"), ET_SCHEDULE_NONE);
    times = parse(profile_text(&g, p, 7, 5));
    ck_assert(times.p && et_profile_check(times.p, p, m, times.d));
    ck_assert(!et_profile_check(times.p, other, m, times.d));
    expect_said(times.d, "N=7: its device function or the shapes it works on have changed since");
    ck_assert(!et_profile_check(times.p, narrow, m, times.d));
    expect_said(times.d, "at N=7: N is 1 to 4");
    ck_assert(!et_profile_check(times.p, p, et_machine_for("gfx950"), times.d));
    expect_said(times.d, "times for machine MI300X, the code is for MI355X");
    times.p->tool = "0.0.1";
    ck_assert(!et_profile_check(times.p, p, m, times.d));
    expect_said(times.d, "made with etcc 0.0.1");
    expect_said(times.d, "make it again: etbench --profile x.prof MODEL");
    et_arena_destroy(times.arena);
    static const char *const wrong[][2] = {
        {"task q " H1 "\n at 1 1\n", "it does not name every dim"},
        {"task q " H1 " K=1\n at 1 1\n", "there is no dim K"},
        {"task q " H1 " N\n at 1 1\n", "does not say DIM=VALUE"},
        {"task q " H1 " N=3\n at 1 1\n", "has no task q"}};
    for (int i = 0; i < 4; i++) {
        times = parse(et_printf(g.arena, HEAD TIMES "%s", wrong[i][0]));
        ck_assert(times.p && !et_profile_check(times.p, p, m, times.d));
        expect_said(times.d, wrong[i][1]);
        et_arena_destroy(times.arena);
    }
    et_arena_destroy(g.arena);
}
END_TEST

START_TEST(decided_where_it_was_made) {
    struct got g = nothing();
    et_program *p = compile(&g, MODEL("64", "48"), ET_SCHEDULE_NONE);
    static const int64_t known[][2] = {{1, 2}, {2, 2}, {5, 2}, {11, 40}, {40, 40}, {64, 40}};
    struct got times = parse(HEAD TIMES "task a " H1 " N=2\n at 1 1\ntask b " H2
                                        " N=40\n at 1 1\ntask c 00000000000000c3 N=99\n at 1 1\n");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int64_t n = known[i][0];
        et_profile_symbols(times.p, p, &n);
        ck_assert_int_eq(n, known[i][1]);
        n = known[i][0];
        et_profile_symbols(NULL, p, &n);
        ck_assert_int_eq(n, known[i][0]);
    }
    et_arena_destroy(times.arena);
    et_arena_destroy(g.arena);
}
END_TEST

/* Costs and the simulator take the profile's time where it has one. */
START_TEST(used) {
    struct got g = nothing();
    et_program *p = compile(&g, MODEL("64", "48"), ET_SCHEDULE_NONE);
    struct got slow = parse(profile_text(&g, p, 7, 500));
    int64_t syms[] = {7};
    et_sim_options o = {.machine = et_machine_for("gfx942"), .syms = syms};
    et_sim_result without, with;
    char err[ET_SIM_ERR];
    ck_assert(et_simulate(p, &o, &without, err));
    o.profile = slow.p;
    ck_assert(et_simulate(p, &o, &with, err));
    ck_assert(without.us < 100 && with.us > 500.0 * p->ngrids * 0.99);
    syms[0] = 8;
    ck_assert(et_simulate(p, &o, &with, err) && with.us < 100);
    et_arena_destroy(slow.arena);
    et_arena_destroy(g.arena);
}
END_TEST

TEST_MAIN("profiles", looks_up, prints_what_it_reads, refuses_texts, hashes, checked,
          decided_where_it_was_made, used)
