/* etstudy FILE.etg DIM=N,N,... [--context C] [--skew S]: the same tiles as one kernel per operator,
 * under a static, a dynamic and a hybrid schedule, predicted by the simulator on the MI300X model.
 * etstudy --probe: a stream of weights with events in it, against published times.
 *
 * Integer inputs hold what a launch in the middle of generation has: N sequences, each at position
 * C - 1. Floating-point inputs are logits of a router: Gumbel noise, and S times the logarithm of a
 * Zipf distribution over the last axis, so that softmax and top-k choose columns that often. */
#include "study.h"
#include "frontend.h"
#include "ops.h"
#include "passes.h"
#include "simulate.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct study {
    const char *file, *text, *dim;
    size_t bytes;
    const et_machine *m;
    int64_t context;
    double skew;
};

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

struct cell {
    et_program *p;
    et_sim_values *values;
    et_sim_options opt;
    int64_t syms[8];
};

static bool compile(const struct study *s, int64_t n, const char *schedule, et_arena *a,
                    struct cell *out) {
    et_dim_range range = {s->dim, n, n};
    et_diags *d = et_diags_create(a);
    const et_pass_options o = {.machine = s->m, .no_verify = true, .schedule = schedule};
    et_graph *g = et_parse_etg_narrow(a, d, s->file, s->text, s->bytes, &range);
    bool ok = g && et_sym_count(g->exprs) < 8 && et_passes_run(g, &o, &out->p);
    et_diag_print(d, stderr);
    if (!ok) return false;
    char err[ET_SIM_ERR];
    for (int i = 0; i < et_sym_count(g->exprs); i++) {
        int64_t hi;
        et_sym_range(g->exprs, i, &out->syms[i], &hi);
    }
    out->values = et_sim_values_create(out->p, out->syms, make_inputs(s, g, out->syms), err);
    if (!out->values) fprintf(stderr, "etstudy: %s\n", err);
    out->opt = (et_sim_options){.machine = s->m, .syms = out->syms, .value = et_sim_value};
    out->opt.ctx = out->values;
    return out->values != NULL;
}

static double play(struct cell *c, et_sim_mode mode, et_sim_result *r) {
    char err[ET_SIM_ERR];
    c->opt.mode = mode;
    if (et_simulate(c->p, &c->opt, r, err)) return r->us;
    fprintf(stderr, "etstudy: %s\n", err);
    return NAN;
}

static double choose(struct cell *c, int *out_dynamic) {
    char err[ET_SIM_ERR];
    bool *dynamic = calloc((size_t)c->p->ngrids + 1, sizeof *dynamic);
    double us = dynamic ? et_sim_choose(c->p, &c->opt, dynamic, err) : -1;
    *out_dynamic = 0;
    for (int i = 0; dynamic && i < c->p->ngrids; i++)
        *out_dynamic += dynamic[i];
    free(dynamic);
    return us;
}

static void print_row(const struct study *s, int64_t n) {
    et_arena *a = et_arena_create();
    struct cell st = {0}, dy = {0}, hy = {0};
    et_sim_result r, us, ud, uh;
    int chosen;
    if (compile(s, n, "static", a, &st) && compile(s, n, "dynamic", a, &dy) &&
        compile(s, n, "hybrid", a, &hy)) {
        double unfused = play(&st, ET_SIM_UNFUSED, &r);
        double fixed = play(&st, ET_SIM_AS_SCHEDULED, &us);
        double queued = play(&dy, ET_SIM_AS_SCHEDULED, &ud);
        double rule = play(&hy, ET_SIM_AS_SCHEDULED, &uh);
        double best = choose(&st, &chosen);
        int kernels = r.kernels;
        dy.opt.wide_push = true;
        double wide = play(&dy, ET_SIM_AS_SCHEDULED, &r);
        printf("| %lld | %lld | %d | %.1f | %.1f | %.1f | %.1f | %.1f | %.1f (%d) | %.2f | %.2f | "
               "%.2f | %.2f | %.2f |\n",
               (long long)n, (long long)us.tasks, kernels, unfused, fixed, queued, wide, rule, best,
               chosen, unfused / fixed, unfused / queued, unfused / wide, unfused / rule,
               unfused / best);
        fflush(stdout);
    }
    et_sim_values_destroy(st.values);
    et_sim_values_destroy(dy.values);
    et_sim_values_destroy(hy.values);
    et_arena_destroy(a);
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
    fputs("usage: etstudy FILE.etg DIM=N,N,... [--context C] [--skew S]\n"
          "       etstudy --probe\n",
          stderr);
    return 2;
}

int main(int argc, char **argv) {
    struct study s = {.m = et_machine_for("gfx942"), .context = 1024, .skew = 1};
    if (argc == 2 && strcmp(argv[1], "--probe") == 0) return study_probe();
    if (argc < 3 || !strchr(argv[2], '=')) return usage();
    for (int i = 3; i < argc; i += 2) {
        if (i + 1 == argc) return usage();
        if (strcmp(argv[i], "--context") == 0)
            s.context = atoll(argv[i + 1]);
        else if (strcmp(argv[i], "--skew") == 0)
            s.skew = atof(argv[i + 1]);
        else
            return usage();
    }
    s.file = argv[1];
    char *text = read_text(argv[1], &s.bytes), *sizes = strchr(argv[2], '=');
    *sizes++ = 0;
    s.dim = argv[2];
    s.text = text;
    if (!text) {
        fprintf(stderr, "etstudy: cannot read %s\n", argv[1]);
        return 1;
    }
    printf(
        "| %s | tasks | kernels | unfused | static | dynamic | dynamic, lanes | hybrid | chosen | "
        "static | dynamic | dynamic, lanes | hybrid | chosen |\n| --- | --- | --- | --- | --- | "
        "--- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
        s.dim);
    for (char *at = strtok(sizes, ","); at; at = strtok(NULL, ","))
        print_row(&s, atoll(at));
    free(text);
    return 0;
}
