/* etstudy FILE.etg DIM=N,N,... [--context C] [--skew S] [--spread P] [--set FIELD=X]...: the same
 * tiles as one kernel per operator, under a static, a dynamic and a hybrid schedule, predicted by
 * the simulator on the MI300X model. etstudy --experts: the same for a layer of experts written at
 * the level of events. etstudy --probe: a stream of weights with events in it, against published
 * times.
 *
 * Integer inputs hold what a launch in the middle of generation has: N sequences, each at position
 * C - 1. Floating-point inputs are logits of a router: Gumbel noise, and S times the logarithm of a
 * Zipf distribution over the last axis, so that softmax and top-k choose columns that often. */
#include "bench/study/study.h"
#include "codegen/targets/targets.h"
#include "frontend/frontend.h"
#include "frontend/syntax/ast.h"
#include "ir/graph/ops.h"
#include "passes/passes.h"
#include "passes/simulate/simulate.h"
#include "runtime/cli/cli.h"
#include "runtime/files/input.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct study {
    const char *file, *text, *dim;
    size_t bytes;
    struct study_machine on;
    int64_t context;
    double skew;
};
enum { MOST_SYMS = 8 };

/* ---- inputs ---- */

static double uniform(uint64_t *state) {
    *state ^= *state << 13, *state ^= *state >> 7, *state ^= *state << 17;
    return ((double)(*state >> 11) + 0.5) / 9007199254740992.0;
}

static int64_t count_of(const et_tensor_data *t) {
    int64_t n = 1;
    for (int d = 0; d < t->rank; d++)
        n *= t->dim[d];
    return n;
}

/* Column c of the last axis is the (c * 37 + 11)-th most wanted, going around. */
static void fill_logits(et_tensor_data *t, double skew) {
    uint64_t state = 88172645463325252u;
    int64_t n = count_of(t), last = t->rank ? t->dim[t->rank - 1] : 1;
    for (int64_t i = 0; i < n; i++) {
        double wanted = (double)((i % last * 37 + 11) % last + 1);
        t->f[i] = (float)(-log(-log(uniform(&state))) - skew * log(wanted));
    }
}

static void fill_integers(et_tensor_data *t, const char *name, int64_t context) {
    bool positions = name && strcmp(name, "positions") == 0;
    for (int64_t i = 0; i < count_of(t); i++)
        t->i[i] = (int32_t)(positions ? context - 1 : i);
}

static et_tensor_data **make_inputs(const struct study *s, const et_graph *g, const int64_t *syms) {
    et_tensor_data **given = et_alloc(g->arena, (size_t)g->nvals * sizeof *given);
    for (int v = 1; v < g->nvals; v++) {
        const et_val *val = &g->vals[v];
        if (val->kind != ET_V_INPUT) continue;
        et_tensor_data *t = given[v] = et_alloc(g->arena, sizeof *t);
        t->dtype = val->shape.dtype == ET_I32 ? ET_I32 : ET_F32;
        t->rank = val->shape.rank;
        for (int d = 0; d < t->rank; d++)
            t->dim[d] = et_eval(g->exprs, val->shape.dim[d], syms, NULL);
        t->p = et_alloc(g->arena, (size_t)count_of(t) * 4);
        if (t->dtype == ET_I32)
            fill_integers(t, val->name, s->context);
        else
            fill_logits(t, s->skew);
    }
    return given;
}

/* ---- one size ---- */

static const struct {
    const char *title;
    et_schedule_kind schedule;
    enum study_way way;
    bool wide;
} columns[] = {
    {"unfused", ET_SCHEDULE_STATIC, STUDY_UNFUSED, false},
    {"static", ET_SCHEDULE_STATIC, STUDY_SCHEDULED, false},
    {"dynamic", ET_SCHEDULE_DYNAMIC, STUDY_SCHEDULED, false},
    {"dynamic, together", ET_SCHEDULE_DYNAMIC, STUDY_SCHEDULED, true},
    {"hybrid", ET_SCHEDULE_HYBRID, STUDY_SCHEDULED, false},
    {"chosen", ET_SCHEDULE_STATIC, STUDY_CHOSEN, false},
};
enum { COLUMNS = sizeof columns / sizeof *columns };

static et_program *compile(const struct study *s, int64_t n, et_schedule_kind schedule,
                           et_planned *on, et_arena *a) {
    et_dim_range range = {s->dim, n, n};
    et_diags *d = et_diags_create(a);
    et_pass_options o = {.unverified = true, .schedule = schedule};
    et_plan_for(&o, &s->on.m, et_target_find(s->on.m.target), on);
    et_program *p = NULL;
    et_graph *g = et_parse_etg_narrow(a, d, s->file, s->text, s->bytes, &range);
    bool ok = g && et_sym_count(g->exprs) < MOST_SYMS && et_passes_run(g, &o, &p);
    et_diag_print(d, stderr);
    return ok ? p : NULL;
}

static bool simulate(et_program *p, et_sim_options *o, bool choose, et_sim_result *r, char *err) {
    bool *dynamic = et_alloc(p->g->arena, (size_t)(p->ngrids + 1) * sizeof *dynamic);
    if (choose && et_sim_choose(p, o, dynamic, err) < 0) return false;
    if (choose) o->dynamic = dynamic;
    return et_simulate(p, o, r, err);
}

static bool play(const struct study *s, int64_t n, int column, et_sim_result *r) {
    enum study_way way = columns[column].way;
    et_arena *a = et_arena_create();
    char err[ET_SIM_ERR] = "it does not compile";
    int64_t syms[MOST_SYMS], hi;
    et_planned on;
    et_program *p = compile(s, n, columns[column].schedule, &on, a);
    et_sim_values *values = NULL;
    for (int i = 0; p && i < et_sym_count(p->g->exprs); i++)
        et_sym_range(p->g->exprs, i, &syms[i], &hi);
    if (p) values = et_sim_values_create(p, syms, make_inputs(s, p->g, syms), err);
    et_sim_options o = {.machine = &on.machine, .syms = syms, .value = et_sim_value, .ctx = values};
    o.mode = way == STUDY_UNFUSED ? ET_SIM_UNFUSED : ET_SIM_AS_SCHEDULED;
    o.wide_push = columns[column].wide;
    o.spread = s->on.spread;
    bool ok = values && simulate(p, &o, way == STUDY_CHOSEN, r, err);
    if (!ok)
        fprintf(stderr, "etstudy: %s, %s at %lld: %s\n", s->file, columns[column].title,
                (long long)n, err);
    et_sim_values_destroy(values);
    et_arena_destroy(a);
    return ok;
}

static bool print_row(const struct study *s, int64_t n) {
    et_sim_result first, r;
    if (!play(s, n, 0, &first)) return false;
    printf("| %lld | %lld | %d | %.0f |", (long long)n, (long long)first.tasks, first.kernels,
           first.us);
    for (int i = 1; i < COLUMNS; i++)
        if (play(s, n, i, &r))
            printf(" %.0f (%.2f) |", r.us, first.us / r.us);
        else
            printf(" |");
    printf("\n");
    fflush(stdout);
    return true;
}

static bool print_table(const struct study *s, char *sizes) {
    bool ok = true;
    printf("| %s | tasks | kernels |", s->dim);
    for (int i = 0; i < COLUMNS; i++)
        printf(" %s |", columns[i].title);
    printf("\n| --- | --- | --- |");
    for (int i = 0; i < COLUMNS; i++)
        printf(" --- |");
    printf("\n");
    for (char *at = strtok(sizes, ","); at; at = strtok(NULL, ","))
        ok &= print_row(s, atoll(at));
    return ok;
}

/* ---- the command line ---- */

struct options {
    struct study s;
    cli_list rest, fields; /* a file and DIM=N,N,...; FIELD=X */
    const char *machine;
    bool experts, probe;
};

#define TO(field) CLI_AT(struct options, field)
static const cli_option options[] = {
    {"context", 0, CLI_INT, "C", TO(s.context), "sequences stand at position C - 1 (1024)", .lo = 1,
     .hi = 100000000},
    {"skew", 0, CLI_REAL, "S", TO(s.skew), "how unlike the experts are wanted (1)", .hi = 1000},
    {"spread", 0, CLI_REAL, "P", TO(s.on.spread),
     "CUs are slower than the model says by a share of their own, at most P (0)", .hi = 1000},
    {"machine", 0, CLI_INPUT, "NAME|FILE", TO(machine), "the machine model, as etcc has it"},
    {"set", 0, CLI_PAIRS, "FIELD=X", TO(fields), "a field of the machine model; may be repeated"},
    {"experts", 0, CLI_FLAG, NULL, TO(experts),
     "a layer of experts written at the level of events, and no file"},
    {"probe", 0, CLI_FLAG, NULL, TO(probe),
     "a stream of weights with events in it, against published times"},
    {0},
};
static const cli_option rest = {.kind = CLI_LIST, .arg = "file", TO(rest)};

static int run(void *);

static const cli_tool tool = {
    .name = "etstudy",
    .summary = "schedules of the same tiles, predicted",
    .usage = "FILE.etg DIM=N,N,... [options]\n--experts [options]\n--probe",
    .about = "Prints a table in Markdown: the same tiles as one kernel per operator, under a "
             "static, a dynamic and a hybrid schedule.",
    .options = options,
    .rest = &rest,
    .run = run,
};

/* FIELD=VALUE of the machine model. */
static bool set_field(et_machine *m, const cli_item *given) {
    const struct {
        const char *name;
        double *at;
    } field[] = {{"hbm_gbs", &m->hbm_gbs},       {"cache_mb", &m->cache_mb},
                 {"counter_us", &m->counter_us}, {"arrival_us", &m->arrival_us},
                 {"release_us", &m->release_us}, {"acquire_us", &m->acquire_us},
                 {"atomic_us", &m->atomic_us},   {"pop_us", &m->pop_us},
                 {"pop_gap_us", &m->pop_gap_us}, {"graph_us", &m->graph_us}};
    char *end;
    double value = strtod(given->value, &end);
    for (size_t i = 0; !*end && i < sizeof field / sizeof *field; i++)
        if (strcmp(field[i].name, given->text) == 0) {
            *field[i].at = value;
            return true;
        }
    return false;
}

/* As etcc has it; lives until the program ends. */
static bool set_machine(const char *what, et_machine *out) {
    et_arena *arena = et_arena_create();
    et_diags *d = et_diags_create(arena);
    const et_machine *m = what ? et_machine_find(arena, d, what, NULL) : et_machine_default();
    et_diag_print(d, stderr);
    if (m) *out = *m;
    return m != NULL;
}

static bool study_file(struct study *s, const char *file, char *dim) {
    char why[ET_WHY], *text = et_file_read(file, ET_MAX_SOURCE, &s->bytes, why);
    if (!text) {
        fprintf(stderr, "etstudy: cannot read %s: %s\n", file, why);
        return false;
    }
    char *sizes = strchr(dim, '=');
    *sizes++ = 0;
    s->file = file;
    s->dim = dim;
    s->text = text;
    bool ok = print_table(s, sizes);
    free(text);
    return ok;
}

static int run(void *read) {
    struct options *o = read;
    bool file = !o->experts && !o->probe;
    if (o->experts && o->probe) return cli_wrong(&tool, "--experts and --probe are two studies");
    if (file ? o->rest.n != 2 || !strchr(o->rest.at[1].text, '=') : o->rest.n != 0)
        return cli_wrong(&tool, file ? "write FILE.etg DIM=N,N,..." : "no file is needed");
    if (!set_machine(o->machine, &o->s.on.m)) return 1;
    for (int i = 0; i < o->fields.n; i++)
        if (!set_field(&o->s.on.m, &o->fields.at[i]))
            return cli_wrong(&tool, "--set %s=%s: no such field, or no number",
                             o->fields.at[i].text, o->fields.at[i].value);
    if (o->probe) return study_probe();
    if (o->experts) return study_experts(o->s.skew, &o->s.on);
    return study_file(&o->s, o->rest.at[0].text, o->rest.at[1].text) ? 0 : 1;
}

int main(int argc, char **argv) {
    struct options o = {.s = {.context = 1024, .skew = 1}};
    return cli_main(&tool, argc, argv, &o);
}
