/* etshare - models that share a GPU under several policies, measured: throughput when everybody
 * asks again at once, times to an answer when requests come at random, energy. */
#include "bench/share/share.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TO(field) CLI_AT(struct sh_options, field)
static const cli_option options[] = {
    CLI_HEADING("What is launched"),
    {"policy", 'p', CLI_PAIRS, "NAME=KIND:FILE[@CUS],...", TO(policies), "one more row", .need = 1},
    {"device", 0, CLI_TEXT, "SPEC", TO(device), "as etrun has it (default: auto)"},
    {"set", 0, CLI_DIMS, "[MODEL.]DIM=VALUE", TO(sets),
     "value of a dim, of one model or of all; others take their largest", .commas = true},
    {"range", 0, CLI_PAIRS, "[MODEL.]NAME=LO..HI", TO(ranges),
     "integers for an input: LO, LO + 1 ... HI, and again (default: from 0 on)"},
    {"wait-limit", 0, CLI_REAL, "SECONDS", TO(wait_limit), "bound of every wait inside a kernel",
     .hi = 1000000, .above = true},
    {"check", 0, CLI_FLAG, NULL, TO(check),
     "compare every answer with the first one, bit by bit; times mean nothing then"},
    CLI_HEADING("How it is asked for"),
    {"seconds", 0, CLI_REAL, "S", TO(seconds), "how long each row asks, in each way (default 2)",
     .hi = 100000, .above = true},
    {"load", 0, CLI_LIST, "PART", TO(loads),
     "requests at random, at this part of what the first policy's models could take in turn "
     "(default: 0.5,0.8; none: not at all)",
     .commas = true},
    {"seed", 0, CLI_INT, "N", TO(seed), "of weights, inputs and arrivals (default 1)",
     .hi = 1000000000},
    CLI_HEADING("Results"),
    {"markdown", 0, CLI_OUTPUT, "FILE", TO(markdown), "the table as a file"},
    {"json", 0, CLI_OUTPUT, "FILE", TO(json), "the same for programs"},
    {"quiet", 'q', CLI_FLAG, NULL, TO(quiet), "do not print the table"},
    {0},
};
static int run(void *);

static const cli_tool tool = {
    .name = "etshare",
    .summary = "models that share a GPU under several policies, measured",
    .usage = "--policy NAME=KIND:FILE[@CUS],... [options]",
    .about =
        "Each policy is a row. KIND is one (a kernel of all models), turns (a kernel each, one "
        "launch after the other), streams (side by side, of so many workgroups each), lent "
        "(the same, and all CUs for who is alone), plans (the same, with CUs by what "
        "launches took; of FILE+HALF, two kernels of a model, by that which is better) or parts "
        "(side by side on SMs of their own, of "
        "which the last file may leave the number out). "
        "Files are code objects of etcc. The first policy is what the others are held against. "
        "bench/share/README.md says what the columns are.",
    .options = options,
    .run = run,
};

bool sh_fail(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("etshare: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    return false;
}

bool sh_ok(const char *what, etrt_status status) {
    return status == ETRT_OK ||
           sh_fail("%s: %s: %s", what, etrt_status_text(status), etrt_last_error());
}

void *sh_alloc(size_t bytes) {
    void *p = calloc(bytes ? bytes : 1, 1);
    if (p) return p;
    sh_fail("out of memory");
    exit(1);
}

double sh_now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- options ---- */

static bool read_loads(struct sh_options *o) {
    static const double usual[] = {0.5, 0.8};
    if (o->loads.n == 1 && strcmp(o->loads.at[0].text, "none") == 0) return true;
    if (o->loads.n > SH_LOADS) return sh_fail("%d loads at most", SH_LOADS);
    for (int i = 0; i < o->loads.n; i++) {
        char *end;
        o->load[i] = strtod(o->loads.at[i].text, &end);
        if (*end || !(o->load[i] > 0 && o->load[i] <= 100))
            return sh_fail("--load %s: a part is more than 0 and at most 100", o->loads.at[i].text);
    }
    o->nloads = o->loads.n ? o->loads.n : 2;
    if (!o->loads.n) memcpy(o->load, usual, sizeof usual);
    return true;
}

static bool read_policies(const struct sh_options *o, struct sh_policy *p) {
    if (o->policies.n > SH_POLICIES) return sh_fail("%d policies at most", SH_POLICIES);
    for (int i = 0; i < o->policies.n; i++)
        if (!sh_policy_read(&o->policies.at[i], &p[i])) return false;
    return true;
}

/* The number of the NVIDIA GPU, whose contexts and energy are asked for beside libetrt. */
static int gpu_of(const char *device) {
    int64_t number = 0;
    if (strncmp(device, "cuda", 4) != 0) return -1;
    return device[4] == ':' && cli_integer(device + 5, 0, 9999, &number) ? (int)number : 0;
}

/* ---- rows ---- */

/* The CUs of models whose kernel stays, after a time in which all had requests. */
static void note_ranks(struct sh_policy *p) {
    struct etrt_part on;
    for (int m = 0; m < p->nmodels && p->kind == SH_STAYS; m++)
        if (etrt_residence_begun(p->model[m].stays, m, &on)) p->model[m].cus = (int)on.count;
}

static bool measure(const struct sh_options *o, struct sh_policy *p,
                    const struct sh_policy *first) {
    double sum = 0;
    unsigned all = (1u << p->nmodels) - 1;
    bool ok = true;
    for (int m = 0; ok && m < p->nmodels; m++) {
        struct sh_run run;
        ok = sh_play_closed(o, p, 1u << m, o->seconds / 2, &run);
        p->alone[m] = sh_quantile(&run.of[m], 0.5);
        p->watts[m] = run.watts;
        p->mhz[m] = run.mhz;
        sh_run_free(&run);
    }
    for (int m = 0; m < p->nmodels; m++)
        sum += first->alone[m];
    ok = ok && sh_play_closed(o, p, all, o->seconds, &p->closed);
    note_ranks(p);
    for (int i = 0; ok && i < o->nloads; i++)
        ok = sh_play_open(o, p, o->load[i] / sum, o->seconds, &p->open[i]);
    return ok;
}

static bool same_models(const struct sh_policy *p, const struct sh_policy *first) {
    if (p->nmodels == first->nmodels) return true;
    return sh_fail("policy %s has %d models, %s has %d", p->name, p->nmodels, first->name,
                   first->nmodels);
}

/* Where a policy fails, those before it are printed. */
static bool measure_all(struct sh_options *o, struct sh_policy *p) {
    int n = 0;
    struct sh_policy *last = NULL;
    bool ok = read_loads(o) && read_policies(o, p);
    while (ok && n < o->policies.n) {
        last = &p[n];
        ok = sh_policy_open(o, last, n ? last - 1 : NULL) && same_models(last, p) &&
             measure(o, last, p);
        n += ok;
    }
    if (last) sh_policy_close(last);
    if (n && !o->quiet) sh_print(o, p, n, stdout);
    ok &= !n || !o->markdown || sh_write(o, p, n, o->markdown, false);
    return ok && (!o->json || sh_write(o, p, n, o->json, true));
}

static int run(void *read) {
    struct sh_options *o = read;
    struct sh_policy *p = sh_alloc(SH_POLICIES * sizeof *p);
    o->gpu = gpu_of(o->device);
    bool ok = measure_all(o, p);
    for (int i = 0; i < o->policies.n && i < SH_POLICIES; i++)
        sh_policy_free(&p[i]);
    free(p);
    return ok ? 0 : 1;
}

int main(int argc, char **argv) {
    struct sh_options o = {.device = "auto", .seconds = 2, .seed = 1};
    return cli_main(&tool, argc, argv, &o);
}
