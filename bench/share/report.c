/* The table, for people and for programs. */
#include "bench/share/share.h"

#include "bench/mixes/mixes.h"
#include "runtime/files/output.h"

#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double sh_quantile(const struct sh_answers *a, double p) {
    if (!a->n) return NAN;
    double *sorted = sh_alloc((size_t)a->n * sizeof *sorted);
    memcpy(sorted, a->seconds, (size_t)a->n * sizeof *sorted);
    qsort(sorted, (size_t)a->n, sizeof *sorted, compare);
    int64_t at = (int64_t)ceil(p * (double)a->n) - 1;
    double value = sorted[at < 0 ? 0 : at];
    free(sorted);
    return value;
}

/* ---- figures of a closed loop ---- */

/* What all models together get done, in units of what each does alone on everything: 1 is what
 * taking turns gives. ALONE are the first policy's times. */
static double progress(const struct sh_policy *p, const double *alone) {
    double sum = 0;
    for (int m = 0; m < p->nmodels; m++)
        sum += p->closed.of[m].rate * alone[m];
    return sum;
}

/* Jain, Chiu and Hawe's index (DEC-TR-301, 1984) of how much each is slowed down. */
static double fairness(const struct sh_policy *p, const double *alone) {
    double slowdown[SH_MODELS];
    for (int m = 0; m < p->nmodels; m++)
        slowdown[m] = 1 / (p->closed.of[m].rate * alone[m]);
    return mix_fairness(p->nmodels, slowdown);
}

/* Joules for one request of each model, by the share of the work that was done in a second. */
static double joules(const struct sh_policy *p, const double *alone) {
    double sum = 0;
    for (int m = 0; m < p->nmodels; m++)
        sum += alone[m];
    return p->closed.watts / progress(p, alone) * sum;
}

/* ---- for people ---- */

static void print_number(FILE *f, double x) {
    if (isnan(x))
        fputs("-", f);
    else
        fprintf(f, x < 9.995 ? "%.2f" : x < 99.95 ? "%.1f" : "%.0f", x);
}

static void print_figure(FILE *f, double x) {
    fputc(' ', f);
    print_number(f, x);
    fputs(" |", f);
}

static void print_times(FILE *f, const struct sh_policy *p, const struct sh_run *r, double q) {
    if (r->grows) {
        fputs(" grows |", f);
        return;
    }
    for (int m = 0; m < p->nmodels; m++) {
        fputs(m ? " / " : " ", f);
        print_number(f, sh_quantile(&r->of[m], q) * 1e6);
    }
    fputs(" |", f);
}

static void print_row(const struct sh_options *o, const struct sh_policy *p, const double *alone,
                      FILE *f) {
    fprintf(f, "| %s | %s |", p->name, sh_kind_name[p->kind]);
    for (int m = 0; m < p->nmodels; m++)
        fprintf(f, "%s%d%s", m ? " / " : " ", p->model[m].cus, p->model[m].beside ? " half" : "");
    fputs(" |", f);
    for (int m = 0; m < p->nmodels; m++) {
        fputs(m ? " / " : " ", f);
        print_number(f, p->alone[m] * 1e6);
    }
    fputs(" |", f);
    for (int m = 0; m < p->nmodels; m++) {
        fputs(m ? " / " : " ", f);
        print_number(f, p->watts[m]);
    }
    fputs(" |", f);
    for (int m = 0; m < p->nmodels; m++) {
        fputs(m ? " / " : " ", f);
        print_number(f, p->closed.of[m].rate);
    }
    fputs(" |", f);
    print_figure(f, progress(p, alone));
    print_figure(f, fairness(p, alone));
    print_figure(f, p->closed.watts);
    print_figure(f, p->closed.mhz);
    print_figure(f, joules(p, alone));
    for (int i = 0; i < o->nloads; i++) {
        print_times(f, p, &p->open[i], 0.5);
        print_times(f, p, &p->open[i], 0.99);
    }
    fputc('\n', f);
}

void sh_print(const struct sh_options *o, const struct sh_policy *p, int n, FILE *f) {
    fprintf(f, "On %s:", p->device);
    for (int m = 0; m < p->nmodels; m++)
        fprintf(f, "%s %s", m ? "," : "", p->model[m].name);
    fputs(
        ".\n\n| policy | kind | CUs | alone, us | W | a second | progress | fairness | W | MHz | J "
        "for one of each |",
        f);
    for (int i = 0; i < o->nloads; i++)
        fprintf(f, " p50 at %.0f %%, us | p99 |", 100 * o->load[i]);
    fputs("\n|", f);
    for (int i = 0; i < 11 + 2 * o->nloads; i++)
        fputs(" --- |", f);
    fputc('\n', f);
    for (int i = 0; i < n; i++)
        print_row(o, &p[i], p[0].alone, f);
}

/* ---- for programs ---- */

/* NAN has no JSON: null. */
static json_t *real(double x) {
    return isfinite(x) ? json_real(x) : json_null();
}

static json_t *answers(const struct sh_answers *a) {
    return json_pack("{s:I, s:o, s:o, s:o}", "answers", (json_int_t)a->n, "a_second", real(a->rate),
                     "p50_us", real(sh_quantile(a, 0.5) * 1e6), "p99_us",
                     real(sh_quantile(a, 0.99) * 1e6));
}

static json_t *run_of(const struct sh_policy *p, const struct sh_run *r) {
    json_t *models = json_array();
    for (int m = 0; m < p->nmodels; m++)
        json_array_append_new(models, answers(&r->of[m]));
    return json_pack("{s:b, s:o, s:o, s:o, s:o}", "grows", (int)r->grows, "models", models, "watts",
                     real(r->watts), "mhz", real(r->mhz), "power_capped", real(r->capped));
}

static json_t *policy(const struct sh_options *o, const struct sh_policy *p, const double *alone) {
    json_t *models = json_array(), *loads = json_array();
    for (int m = 0; m < p->nmodels; m++)
        json_array_append_new(models, json_pack("{s:s, s:i, s:b, s:I, s:o, s:o, s:o}", "name",
                                                p->model[m].name, "cus", p->model[m].cus, "half",
                                                (int)p->model[m].beside, "half_launches",
                                                (json_int_t)p->model[m].halves, "alone_us",
                                                real(p->alone[m] * 1e6), "watts", real(p->watts[m]),
                                                "mhz", real(p->mhz[m])));
    for (int i = 0; i < o->nloads; i++) {
        json_t *run = run_of(p, &p->open[i]);
        json_object_set_new(run, "load", real(o->load[i]));
        json_array_append_new(loads, run);
    }
    return json_pack("{s:s, s:s, s:s, s:o, s:o, s:o, s:o, s:o, s:o}", "name", p->name, "kind",
                     sh_kind_name[p->kind], "device", p->device, "models", models, "closed",
                     run_of(p, &p->closed), "progress", real(progress(p, alone)), "fairness",
                     real(fairness(p, alone)), "watts", real(p->closed.watts), "loads", loads);
}

static bool write_json(const struct sh_options *o, const struct sh_policy *p, int n, FILE *f) {
    json_t *list = json_array();
    for (int i = 0; i < n; i++)
        json_array_append_new(list, policy(o, &p[i], p[0].alone));
    json_t *all = json_pack("{s:I, s:o}", "seed", (json_int_t)o->seed, "policies", list);
    bool ok = all && json_dumpf(all, f, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) == 0;
    fputc('\n', f);
    json_decref(all);
    return ok;
}

bool sh_write(const struct sh_options *o, const struct sh_policy *p, int n, const char *path,
              bool json) {
    et_output out;
    if (!et_output_open(&out, path)) return sh_fail("cannot write %s: %s", path, strerror(errno));
    bool ok = true;
    if (json)
        ok = write_json(o, p, n, out.to);
    else
        sh_print(o, p, n, out.to);
    return et_output_close(&out, ok) || sh_fail("cannot write %s: %s", path, strerror(errno));
}
