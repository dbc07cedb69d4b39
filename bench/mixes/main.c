/* etmixes A.etg B.etg [C.etg]...: models that share a GPU, under every policy there is, on a
 * machine model; a table in Markdown. etmixes --changes A.etg: what it costs one model to change
 * its CUs. All figures are predicted. mixes.md says what they mean. */
#include "bench/mixes/mixes.h"
#include "frontend/syntax/ast.h"
#include "runtime/cli/cli.h"
#include "runtime/files/input.h"
#include <math.h>
#include <stdlib.h>

struct options {
    struct mix mix;
    const char *machine;
    cli_list files;
    int64_t requests;
    uint64_t seed;
    bool changes;
    cli_list splits;
    int64_t width;
};

/* ---- the table of a mix ---- */

static const double loads[] = {0.5, 0.8};
enum { LOADS = sizeof loads / sizeof *loads };

static void print_each(int n, const double *x, double by, const char *end) {
    for (int m = 0; m < n; m++) {
        double v = x[m] * by;
        printf(v < 99.95 ? "%s%.1f" : "%s%.0f", m ? " / " : " ", v);
    }
    printf(" %s", end);
}

static void print_times(const struct options *o, const struct mix_outcome *r,
                        const struct mix_outcome *all, double part) {
    struct mix_load load = {.requests = o->requests, .seed = o->seed};
    struct mix_times t;
    for (int m = 0; m < o->mix.nmodels; m++)
        load.rate[m] = part / all->us;
    mix_queue(&r->service, &load, &t);
    if (t.grows)
        printf(" grows |");
    else
        print_each(o->mix.nmodels, t.p99, 1, "|");
}

static void print_row(const struct options *o, const struct mix_outcome *r,
                      const struct mix_outcome *each) {
    int n = o->mix.nmodels;
    const double *alone = each[MIX_SEQUENCE].service.us;
    double rate[MIX_MODELS], slowdown[MIX_MODELS], progress = 0;
    mix_capacity(&r->service, rate);
    for (int m = 0; m < n; m++) {
        slowdown[m] = 1 / (rate[m] * alone[1 << m]);
        progress += rate[m] * alone[1 << m];
    }
    printf("| %s | %.1f |", r->policy, r->us);
    print_each(n, r->done, 1, "|");
    print_each(n, rate, 1e6, "|");
    printf(" %.2f | %.2f | %.0f %% | %.1f |", progress, mix_fairness(n, slowdown), 100 * r->idle,
           r->idle * r->us * o->mix.machine->cus * 1e-3);
    for (int i = 0; i < LOADS; i++)
        print_times(o, r, &each[MIX_ALL], loads[i]);
    printf("\n");
}

static void print_shares(const char *name, int n, const et_share *s) {
    printf("%s", name);
    for (int m = 0; m < n; m++)
        printf("%s %.4g to %.4g", m ? "," : "", s[m].from / 1e4, s[m].to / 1e4);
}

static void print_parts(const struct options *o, const struct mix_parts *p) {
    int n = o->mix.nmodels;
    print_shares("Per cent of the CUs, model by model: fixed", n, p->fixed);
    print_shares("; searched", n, p->searched);
    print_shares("; greedy", n, p->greedy);
    print_shares("; ilp", n, p->ilp);
    printf(". ECLIP:");
    for (int m = 0; m < n; m++)
        printf(" %.0f %% of them in %d switches%s", 100 * p->eclip.share[m], p->eclip.switches[m],
               m == n - 1 ? ", " : ";");
    printf("alpha %.2f.\n", p->eclip.alpha);
}

/* What no schedule can exceed. */
static bool print_bound(const struct options *o, struct mix_program *all, double turns) {
    struct mix_needs each[MIX_MODELS], sum = {0};
    int n = o->mix.nmodels;
    for (int m = 0; m < n; m++) {
        if (!mix_needs_of(all, m, &each[m])) return false;
        sum.memory += each[m].memory;
        sum.matrix += each[m].matrix;
        sum.vector += each[m].vector;
    }
    double most = fmax(sum.memory, fmax(sum.matrix, sum.vector));
    printf("One of each needs of the whole chip, us:");
    for (int m = 0; m < n; m++)
        printf("%s %s memory %.0f, matrix units %.0f, vector units %.0f", m ? ";" : "",
               mix_name(all, m), each[m].memory, each[m].matrix, each[m].vector);
    printf(". No schedule takes less than the largest sum, %.0f: progress is %.2f at most.\n\n",
           most, turns / most);
    return true;
}

static bool print_mix(const struct options *o) {
    et_arena *a = et_arena_create();
    struct mix_outcome each[MIX_POLICIES];
    struct mix_parts parts;
    struct mix_program *all = NULL;
    int n = o->mix.nmodels;
    bool ok = mix_try(&o->mix, a, each, &parts, &all);
    if (ok) {
        printf("%s, ", o->mix.machine->name);
        mix_print_dims(all, stdout);
        printf(". Alone, a kernel for each:");
        for (int m = 0; m < n; m++)
            printf(" %s %.1f us (%d kernels, %.1f us)%s", mix_name(all, m),
                   each[MIX_SEQUENCE].service.us[1 << m], mix_kernels(all, m),
                   each[0].service.us[1 << m], m == n - 1 ? "." : ",");
        printf(
            "\n\n| policy | all, us | each, us | a second | progress | fairness | idle | CU ms | "
            "p99 at 50 %%, us | p99 at 80 %%, us |\n"
            "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
        for (int i = 0; i < MIX_POLICIES; i++)
            print_row(o, &each[i], each);
        printf("\n");
        ok = print_bound(o, all, each[MIX_SEQUENCE].us);
        print_parts(o, &parts);
    }
    mix_program_destroy(all);
    et_arena_destroy(a);
    return ok;
}

/* ---- what changes cost ---- */

/* Kernels in N + 1 runs of the same length, on all CUs and on three quarters by turns. */
static void alternate(int kernels, int n, int *config) {
    for (int k = 0; k < kernels; k++)
        config[k] = (int)((int64_t)k * (n + 1) / kernels) % 2 ? 2 : 3;
}

static bool print_changes_row(struct mix_program *p, const et_machine *m, struct mix_masks *masks,
                              int kernels, int n) {
    const double cost[] = {0, m->graph_us, 20, m->mask_us, 55};
    struct mix_launch r;
    struct mix_how how = {.mode = ET_SIM_AS_SCHEDULED, .masks = masks};
    alternate(kernels, n, masks->plan->config[0]);
    if (!mix_play(p, &how, 1, &r)) return false;
    printf("| %d | %.1f |", n, r.r.us);
    how.mode = ET_SIM_STREAMS;
    for (size_t i = 0; i < sizeof cost / sizeof *cost; i++) {
        how.switch_us = cost[i];
        if (!mix_play(p, &how, 1, &r)) return false;
        printf(" %.1f |", r.r.us);
    }
    printf("\n");
    return true;
}

static bool print_changes(const struct options *o) {
    et_arena *a = et_arena_create();
    const et_machine *m = o->mix.machine;
    struct mix_program *p = mix_compile(&o->mix, a, ET_PLACEMENT_ALL);
    int n = p ? mix_kernels(p, 0) : 0;
    struct eclip_plan plan = {.config = {et_alloc(a, (size_t)(n + 1) * sizeof(int))}};
    struct mix_masks masks = {.plan = &plan};
    bool may[MIX_MODELS][ECLIP_CONFIGS], ok = n > 0;
    mix_quarters(1, &masks, may);
    if (ok) {
        printf("%s, %s, ", m->name, mix_name(p, 0));
        mix_print_dims(p, stdout);
        printf(", %d kernels.\n\n| changes | one kernel, ranges inside | kernels, changes free | "
               "%.1f us | 20 us | %.1f us | 55 us |\n| --- | --- | --- | --- | --- | --- | --- |\n",
               n, m->graph_us, m->mask_us);
        const int changes[] = {0, 2, 6, 14, n / 4, n - 1};
        for (size_t i = 0; i < sizeof changes / sizeof *changes && ok; i++)
            if (!i || changes[i] > changes[i - 1])
                ok = print_changes_row(p, m, &masks, n, changes[i]);
    }
    mix_program_destroy(p);
    et_arena_destroy(a);
    return ok;
}

/* ---- fixed parts of the CUs ---- */

static bool print_splits(const struct options *o) {
    int split[MIX_SPLITS];
    int64_t cus;
    for (int i = 0; i < o->splits.n; i++) {
        if (i == MIX_SPLITS ||
            !cli_integer(o->splits.at[i].text, 1, o->mix.machine->cus - 1, &cus)) {
            fprintf(stderr, "etmixes: --splits: up to %d numbers of CUs, 1 to %d\n", MIX_SPLITS,
                    o->mix.machine->cus - 1);
            return false;
        }
        split[i] = (int)cus;
    }
    return mix_print_splits(&o->mix, (int)o->width, split, o->splits.n);
}

/* ---- command line ---- */

#define TO(field) CLI_AT(struct options, field)
static const cli_option options[] = {
    {"machine", 0, CLI_INPUT, "NAME|FILE", TO(machine), "the machine model, as etcc has it"},
    {"context", 0, CLI_INT, "C", TO(mix.context), "positions that attention looks back (256)",
     .lo = 1, .hi = 100000000},
    {"requests", 0, CLI_INT, "R", TO(requests), "requests to each model (200000)", .lo = 100,
     .hi = 100000000},
    {"seed", 0, CLI_INT, "S", TO(seed), "of when requests come (1)", .lo = 1, .hi = 100000000},
    {"splits", 0, CLI_LIST, "CUS,...", TO(splits),
     "two models side by side, a kernel each, the first with so many CUs", .commas = true},
    {"width", 0, CLI_INT, "CUS", TO(width), "kernels have tilings for so many CUs, too", .lo = 1,
     .hi = 65536},
    {"changes", 0, CLI_FLAG, NULL, TO(changes), "what it costs one model to change its CUs"},
    {0},
};
static const cli_option files = {.kind = CLI_INPUTS, .arg = "model", TO(files), .need = 1};

static int run(void *);

static const cli_tool tool = {
    .name = "etmixes",
    .summary = "models that share a GPU, under every policy there is",
    .usage = "A.etg B.etg [C.etg] [options]\n--changes A.etg [options]",
    .about = "Prints a table in Markdown. All figures are predicted; bench/results/mixes.md says "
             "what they mean.",
    .options = options,
    .rest = &files,
    .run = run,
};

/* Lives until the program ends. */
static const et_machine *find_machine(const char *what) {
    et_arena *arena = et_arena_create();
    et_diags *d = et_diags_create(arena);
    const et_machine *m = et_machine_find(arena, d, what, NULL);
    et_diag_print(d, stderr);
    return m;
}

static bool add_file(struct mix *m, const char *path) {
    char why[ET_WHY];
    m->text[m->nmodels] = et_file_read(path, ET_MAX_SOURCE, &m->bytes[m->nmodels], why);
    if (!m->text[m->nmodels]) {
        fprintf(stderr, "etmixes: cannot read %s: %s\n", path, why);
        return false;
    }
    m->file[m->nmodels++] = path;
    return true;
}

static int run(void *read) {
    struct options *o = read;
    if (o->splits.n && o->files.n != 2) return cli_wrong(&tool, "--splits takes two models");
    if (o->changes ? o->files.n != 1 : o->files.n < 2 || o->files.n > MIX_MODELS)
        return cli_wrong(&tool, "%d models: %s", o->files.n,
                         o->changes ? "--changes takes one" : "two or three share a GPU");
    o->mix.machine = o->machine ? find_machine(o->machine) : et_machine_default();
    bool ok = o->mix.machine != NULL;
    for (int i = 0; ok && i < o->files.n; i++)
        ok = add_file(&o->mix, o->files.at[i].text);
    ok = ok && (o->changes ? print_changes : o->splits.n ? print_splits : print_mix)(o);
    for (int i = 0; i < o->mix.nmodels; i++)
        free((void *)(uintptr_t)o->mix.text[i]);
    return ok ? 0 : 1;
}

int main(int argc, char **argv) {
    struct options o = {.requests = 200000, .seed = 1};
    o.mix.context = 256;
    return cli_main(&tool, argc, argv, &o);
}
