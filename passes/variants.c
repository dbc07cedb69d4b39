/* Variants: one code object for any value of a symbol, each value near its best tiling.
 *
 * Costs are predicted at the powers of two within the bounds. From the smallest on, a range is
 * grown while the program compiled for the whole range stays close to the one compiled for each
 * sample alone; if that gives too many ranges, the tolerance is relaxed until it does not. */
#include "ir/base/diag.h"
#include "passes/cost/cost.h"
#include "passes/passes.h"
#include <string.h>

enum { MAX_SAMPLES = 12 };
static const double tolerance = 1.03;

struct variants {
    et_program *base;
    const et_pass_options *opt;
    et_narrow_fn narrow;
    void *ctx;
    const char *sym;
    int64_t sample[MAX_SAMPLES];
    double alone[MAX_SAMPLES]; /* predicted time of the program for this value only */
    int n;
};

static et_program *lower(const struct variants *v, int64_t lo, int64_t hi,
                         const et_pass_options *opt) {
    et_program *p;
    et_graph *g = v->narrow(v->ctx, v->sym, lo, hi);
    return g && et_passes_run(g, opt, &p) ? p : NULL;
}

static double cost_at(const struct variants *v, et_program *p, int64_t value) {
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    et_sample_symbols(v->base->g->exprs, syms);
    syms[1][v->base->variant_sym] = value;
    return et_cost_at(p, v->opt->machine, syms[1], 0).us;
}

static void choose_samples(struct variants *v, int64_t lo, int64_t hi) {
    int64_t most = hi > ET_LARGE && lo < ET_LARGE ? ET_LARGE : hi;
    for (int64_t s = 1; s < most && v->n < MAX_SAMPLES - 1; s *= 2)
        if (s >= lo) v->sample[v->n++] = s;
    v->sample[v->n++] = most;
}

/* The worst ratio of samples first..last under one program, against each alone. */
static double worst_ratio(const struct variants *v, int first, int last, int64_t lo) {
    et_pass_options quick = *v->opt;
    quick.quick = true;
    quick.dump = NULL;
    quick.to = ET_STAGE_NONE;
    quick.time_passes = quick.verbose = false;
    et_program *p = lower(v, lo, v->sample[last], &quick);
    double worst = 0;
    for (int i = first; p && i <= last; i++) {
        double r = cost_at(v, p, v->sample[i]) / v->alone[i];
        worst = r > worst ? r : worst;
    }
    return p ? worst : 1e30;
}

/* Ends (indices of samples) of the ranges grown under LIMIT; returns how many. */
static int grow(const struct variants *v, int64_t lo, double limit, int end[MAX_SAMPLES]) {
    int n = 0;
    for (int first = 0; first < v->n;) {
        int last = first;
        int64_t from = first ? v->sample[first - 1] + 1 : lo;
        while (last + 1 < v->n && worst_ratio(v, first, last + 1, from) <= limit)
            last++;
        end[n++] = last;
        first = last + 1;
    }
    return n;
}

static bool predict_alone(struct variants *v) {
    et_pass_options quick = *v->opt;
    quick.quick = true;
    quick.dump = NULL;
    quick.to = ET_STAGE_NONE;
    quick.time_passes = quick.verbose = false;
    for (int i = 0; i < v->n; i++) {
        et_program *p = lower(v, v->sample[i], v->sample[i], &quick);
        if (!p) return false;
        v->alone[i] = cost_at(v, p, v->sample[i]);
    }
    return true;
}

static bool build(const struct variants *v, int64_t lo, int64_t hi, const int *end, int n) {
    et_program *base = v->base;
    for (int i = 0; i < n; i++) {
        int64_t to = i == n - 1 ? hi : v->sample[end[i]];
        if (v->opt->dump)
            fprintf(v->opt->dump_to, "# variant for %s in %lld..%lld\n", v->sym, (long long)lo,
                    (long long)to);
        et_program *p = lower(v, lo, to, v->opt);
        if (!p) return false;
        base->variant[base->nvariants++] = (et_variant){to, p};
        lo = to + 1;
    }
    for (int i = 0; i < n; i++) { /* what they have to say is heard, now and from here on */
        et_graph *g = base->variant[i].program->g;
        et_diag_pass_on(g->diags, base->g->diags);
        g->diags = base->g->diags;
    }
    return true;
}

void et_make_variants(et_program *base, const et_pass_options *opt, int most, et_narrow_fn narrow,
                      void *ctx) {
    struct variants v = {.base = base, .opt = opt, .narrow = narrow, .ctx = ctx};
    int64_t lo, hi;
    int end[MAX_SAMPLES], n = MAX_SAMPLES;
    et_check(most <= ET_MAX_VARIANTS);
    if (et_sym_count(base->g->exprs) == 0 || most < 2) return;
    v.sym = et_sym_name(base->g->exprs, 0);
    et_sym_range(base->g->exprs, 0, &lo, &hi);
    if (lo == hi) return;
    choose_samples(&v, lo, hi);
    if (!predict_alone(&v)) return;
    for (double limit = tolerance; n > most; limit *= 1.02)
        n = grow(&v, lo, limit, end);
    /* What cannot be lowered for some range is lowered for all of it, or says then why not. */
    if (n > 1 && !build(&v, lo, hi, end, n)) base->nvariants = 0;
}
