/* Variants: one code object for any value of a symbol, each value near its best tiling.
 *
 * Costs are predicted at the powers of two within the bounds. From the smallest on, a range is
 * grown while the program compiled for the whole range stays close to the one compiled for each
 * sample alone; if that gives too many ranges, the tolerance is relaxed until it does not. */
#include "ir/base/diag.h"
#include "passes/cost/cost.h"
#include "passes/passes.h"
#include "passes/trial/trial.h"
#include <string.h>

enum { MAX_SAMPLES = 12 };
static const double tolerance = 1.03;

struct variants {
    et_graph *g; /* for all values */
    const et_pass_options *opt;
    et_narrow_fn narrow;
    void *ctx;
    int at; /* the symbol they go by */
    const char *sym;
    int64_t sample[MAX_SAMPLES];
    double alone[MAX_SAMPLES]; /* predicted time of the program for this value only */
    int n;
};

static double cost_at(const struct variants *v, et_program *p, int64_t value) {
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    et_sample_symbols(v->g->exprs, syms);
    syms[1][v->at] = value;
    return et_cost_at(p, v->opt->machine, syms[1], 0).us;
}

static void choose_samples(struct variants *v, int64_t lo, int64_t hi) {
    int64_t most = hi > ET_LARGE && lo < ET_LARGE ? ET_LARGE : hi;
    for (int64_t s = 1; s < most && v->n < MAX_SAMPLES - 1; s *= 2)
        if (s >= lo) v->sample[v->n++] = s;
    v->sample[v->n++] = most;
}

/* Predicted times at samples FIRST..LAST of the program for LO..HI, lowered as a trial; false where
 * that cannot be done. */
static bool price(const struct variants *v, int64_t lo, int64_t hi, int first, int last,
                  double out[MAX_SAMPLES]) {
    et_trial t;
    et_trial_begin(&t, v->g, NULL, v->opt);
    t.g = v->narrow(v->ctx, v->sym, lo, hi);
    bool ok = t.g && et_trial_lower(&t, ET_STAGE_SCHEDULED);
    for (int i = first; ok && i <= last; i++)
        out[i] = cost_at(v, t.p, v->sample[i]);
    et_trial_end(&t);
    return ok;
}

/* The worst ratio of samples first..last under one program, against each alone. */
static double worst_ratio(const struct variants *v, int first, int last, int64_t lo) {
    double us[MAX_SAMPLES], worst = 0;
    if (!price(v, lo, v->sample[last], first, last, us)) return 1e30;
    for (int i = first; i <= last; i++)
        worst = us[i] / v->alone[i] > worst ? us[i] / v->alone[i] : worst;
    return worst;
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
    for (int i = 0; i < v->n; i++)
        if (!price(v, v->sample[i], v->sample[i], i, i, v->alone)) return false;
    return true;
}

/* The program whose variants are those for the ranges; NULL where one of them cannot be lowered. */
static et_program *build(const struct variants *v, int64_t lo, int64_t hi, const int *end, int n) {
    et_program *base, *part[ET_MAX_VARIANTS];
    et_pass_options quiet = et_quiet_options(v->opt);
    if (!et_passes_run(v->g, &quiet, &base)) return NULL;
    for (int i = 0; i < n; i++) {
        int64_t to = i == n - 1 ? hi : v->sample[end[i]];
        if (v->opt->dump)
            fprintf(v->opt->dump_to, "# variant for %s in %lld..%lld\n", v->sym, (long long)lo,
                    (long long)to);
        et_graph *g = v->narrow(v->ctx, v->sym, lo, to);
        if (!g || !et_passes_run(g, v->opt, &part[i])) return NULL;
        base->variant[i] = (et_variant){to, part[i]};
        lo = to + 1;
    }
    base->nvariants = n;
    base->variant_sym = v->at;
    for (int i = 0; i < n; i++) { /* what they have to say is heard, now and from here on */
        et_diag_pass_on(part[i]->g->diags, v->g->diags);
        part[i]->g->diags = v->g->diags;
    }
    return base;
}

static void note_symbol(void *ctx, et_expr e) {
    const struct variants *v = ((void **)ctx)[0];
    const et_node_x *n = et_x(v->g->exprs, e);
    if (n->op == ET_X_SYM) ((bool *)((void **)ctx)[1])[n->i] = true;
}

/* The first symbol that no loop goes by: tensors of one for each iteration are as many in all
 * variants. -1: there is none. */
static int symbol_of(const struct variants *v) {
    bool counts[ET_MAX_SYMS] = {false};
    int n = et_sym_count(v->g->exprs), i = 0;
    for (int l = 0; l < v->g->nloops; l++)
        et_walk(v->g->exprs, v->g->loops[l].trips, note_symbol, (void *[]){(void *)v, counts});
    while (i < n && counts[i])
        i++;
    return i < n ? i : -1;
}

et_program *et_make_variants(et_graph *g, const et_pass_options *opt, int most, et_narrow_fn narrow,
                             void *ctx) {
    struct variants v = {.g = g, .opt = opt, .narrow = narrow, .ctx = ctx};
    int64_t lo, hi;
    int end[MAX_SAMPLES], n = MAX_SAMPLES;
    et_check(most <= ET_MAX_VARIANTS);
    if (et_sym_count(g->exprs) == 0 || et_sym_count(g->exprs) > ET_MAX_SYMS || most < 2)
        return NULL;
    v.at = symbol_of(&v);
    if (v.at < 0) return NULL;
    v.sym = et_sym_name(g->exprs, v.at);
    et_sym_range(g->exprs, v.at, &lo, &hi);
    if (lo == hi) return NULL;
    choose_samples(&v, lo, hi);
    if (!predict_alone(&v)) return NULL;
    for (double limit = tolerance; n > most; limit *= 1.02)
        n = grow(&v, lo, limit, end);
    /* What cannot be lowered for some range is lowered for all of it, or says then why not. */
    return n > 1 ? build(&v, lo, hi, end, n) : NULL;
}
