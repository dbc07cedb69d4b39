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
#include "frontend/frontend.h"
#include "ir/graph/ops.h"
#include "passes/passes.h"
#include "passes/simulate/simulate.h"
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
                           et_arena *a) {
    et_dim_range range = {s->dim, n, n};
    et_diags *d = et_diags_create(a);
    const et_pass_options o = {.machine = &s->on.m, .no_verify = true, .schedule = schedule};
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
    et_program *p = compile(s, n, columns[column].schedule, a);
    et_sim_values *values = NULL;
    for (int i = 0; p && i < et_sym_count(p->g->exprs); i++)
        et_sym_range(p->g->exprs, i, &syms[i], &hi);
    if (p) values = et_sim_values_create(p, syms, make_inputs(s, p->g, syms), err);
    et_sim_options o = {.machine = &s->on.m, .syms = syms, .value = et_sim_value, .ctx = values};
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

/* ---- */

static char *read_text(const char *path, size_t *out_bytes) {
    enum { MOST = 1 << 20 };
    FILE *f = fopen(path, "rb");
    char *text = f ? malloc(MOST) : NULL;
    if (text) *out_bytes = fread(text, 1, MOST, f);
    if (f) fclose(f);
    return text;
}

static int usage(void) {
    fputs("usage: etstudy FILE.etg DIM=N,N,... [--context C] [--skew S] [--spread P]\n"
          "               [--machine M] [--set FIELD=X]...\n"
          "       etstudy --experts [--skew S] [--spread P] [--machine M] [--set FIELD=X]...\n"
          "       etstudy --probe\n",
          stderr);
    return 2;
}

/* FIELD=VALUE of the machine model. */
static bool set_field(et_machine *m, const char *text) {
    const struct {
        const char *name;
        double *at;
    } field[] = {{"hbm_gbs", &m->hbm_gbs},       {"cache_mb", &m->cache_mb},
                 {"counter_us", &m->counter_us}, {"arrival_us", &m->arrival_us},
                 {"release_us", &m->release_us}, {"acquire_us", &m->acquire_us},
                 {"atomic_us", &m->atomic_us},   {"pop_us", &m->pop_us},
                 {"pop_gap_us", &m->pop_gap_us}, {"graph_us", &m->graph_us}};
    const char *value = strchr(text, '=');
    for (size_t i = 0; value && i < sizeof field / sizeof *field; i++)
        if (strncmp(field[i].name, text, (size_t)(value - text)) == 0 &&
            strlen(field[i].name) == (size_t)(value - text)) {
            *field[i].at = atof(value + 1);
            return true;
        }
    return false;
}

/* As etcc has it; lives until the program ends. */
static bool set_machine(const char *what, et_machine *out) {
    et_arena *arena = et_arena_create();
    et_diags *d = et_diags_create(arena);
    const et_machine *m = et_machine_find(arena, d, what, NULL);
    et_diag_print(d, stderr);
    if (m) *out = *m;
    return m != NULL;
}

static bool read_options(int n, char **arg, struct study *s) {
    if (n % 2) return false;
    for (int i = 0; i < n; i += 2) {
        double v = atof(arg[i + 1]);
        if (strcmp(arg[i], "--context") == 0)
            s->context = (int64_t)v;
        else if (strcmp(arg[i], "--skew") == 0)
            s->skew = v;
        else if (strcmp(arg[i], "--spread") == 0)
            s->on.spread = v;
        else if (strcmp(arg[i], "--machine") == 0 && set_machine(arg[i + 1], &s->on.m))
            continue;
        else if (strcmp(arg[i], "--set") == 0 && set_field(&s->on.m, arg[i + 1]))
            continue;
        else
            return false;
    }
    return true;
}

int main(int argc, char **argv) {
    struct study s = {.context = 1024, .skew = 1};
    s.on.m = *et_machine_default();
    if (argc == 2 && strcmp(argv[1], "--probe") == 0) return study_probe();
    if (argc >= 2 && strcmp(argv[1], "--experts") == 0)
        return read_options(argc - 2, argv + 2, &s) ? study_experts(s.skew, &s.on) : usage();
    if (argc < 3 || !strchr(argv[2], '=') || !read_options(argc - 3, argv + 3, &s)) return usage();
    s.file = argv[1];
    char *text = read_text(argv[1], &s.bytes), *sizes = strchr(argv[2], '=');
    *sizes++ = 0;
    s.dim = argv[2];
    s.text = text;
    if (!text) fprintf(stderr, "etstudy: cannot read %s\n", argv[1]);
    bool ok = text && print_table(&s, sizes);
    free(text);
    return !ok;
}
