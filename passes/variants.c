/* Variants: one code object for all values of a symbol, each with a tiling that is near its best.
 *
 * Costs are predicted at the powers of two within the bounds. From the smallest on, a range is
 * grown while the program compiled for the whole range stays close to the one compiled for each
 * sample alone; if that gives too many ranges, the tolerance is relaxed until it does not.
 *
 * Where weights stream, or would if tensors did not choose them, a range also ends at the value 1
 * and, of more than two, at FEW. With one row there are no loops over rows and no masks, and all
 * waves share a row's reduction; with up to FEW rows matrix instructions have them on their narrow
 * side. Predicted costs do not show that, and a stream does not hide it.
 *
 * For launches on a part of the CUs all of that is done once more, as if there were no others: a
 * neighbour has them.
 */
#include "ir/base/diag.h"
#include "passes/cost/cost.h"
#include "passes/passes.h"
#include "passes/pipeline/findings.h"
#include "passes/pipeline/pipeline.h"
#include "passes/trial/trial.h"
#include <string.h>

enum { MAX_SAMPLES = 12, FEW = 8 };
static const double tolerance = 1.03;

struct variants {
    et_graph *g; /* for all values */
    const et_pass_options *opt;
    et_narrow_fn narrow;
    void *ctx;
    int sym;
    et_model model[ET_MAX_MODELS]; /* with their workgroups, which all variants have */
    const et_finding *placed;      /* why they have them, or NULL */
    int64_t sample[MAX_SAMPLES];
    double alone[MAX_SAMPLES]; /* predicted time of the program for this value only */
    /* worst_ratio of a first and a last sample that was asked for, or 0: ranges are grown again
     * under each limit, and lowering one is what takes time. */
    double ratio[MAX_SAMPLES][MAX_SAMPLES];
    bool streams; /* the programs for up to FEW do, or would */
    bool few;     /* there are enough ranges for one that ends there */
    int n;
    et_orders orders; /* of sums, where all variants have the same */
};

static double cost_at(const struct variants *v, et_program *p, int64_t value) {
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    et_sample_symbols(v->g->exprs, syms);
    syms[1][v->sym] = value;
    return et_cost_at(p, v->opt->machine, syms[1], 0).us;
}

static const char *name_of(const struct variants *v) {
    return v->sym >= 0 ? et_sym_name(v->g->exprs, v->sym) : NULL;
}

/* The graph for values LO..HI, or NULL. */
static et_graph *narrowed(const struct variants *v, int64_t lo, int64_t hi) {
    et_graph *g = v->narrow(v->ctx, name_of(v), lo, hi, false);
    for (int m = 0; g && m < g->nmodels; m++)
        g->model[m].share = v->model[m].share;
    return g;
}

static void choose_samples(struct variants *v, int64_t lo, int64_t hi) {
    int64_t most = hi > ET_LARGE && lo < ET_LARGE ? ET_LARGE : hi;
    for (int64_t s = 1; s < most && v->n < MAX_SAMPLES - 1; s *= 2)
        if (s >= lo) v->sample[v->n++] = s;
    v->sample[v->n++] = most;
}

/* Is any right operand of a product read where a tensor says, as experts' weights are? */
static bool chooses_weights(const et_program *p) {
    for (int f = 0; f < p->nfuncs; f++)
        for (int i = 0; i < p->funcs[f].nsteps; i++) {
            const et_step *s = &p->funcs[f].steps[i];
            for (int k = 0; s->kind == ET_STEP_CONTRACT && k < s->nacc; k++) {
                const et_node_x *b = et_x(p->g->exprs, s->b[k]);
                for (int d = 0; b->op == ET_X_LOAD && d < b->nops; d++)
                    if (et_expr_has_op(p->g->exprs, b->ops[d], ET_X_LOAD)) return true;
            }
        }
    return false;
}

/* Predicted times at samples FIRST..LAST of the program for LO..HI, lowered as a trial; false where
 * that cannot be done. */
static bool price(struct variants *v, int64_t lo, int64_t hi, int first, int last,
                  double out[MAX_SAMPLES]) {
    et_trial t;
    et_trial_begin(&t, v->g, NULL, v->opt);
    t.g = narrowed(v, lo, hi);
    bool ok = t.g && et_trial_lower(&t, ET_STAGE_SCHEDULED);
    for (int i = first; ok && i <= last; i++)
        out[i] = cost_at(v, t.p, v->sample[i]);
    if (ok && lo == hi && hi <= FEW && !et_is_without(v->opt->without, ET_FEATURE_SINGLE))
        v->streams |= t.p->ring.slots > 0 || (v->opt->machine->stream_kb && chooses_weights(t.p));
    et_trial_end(&t);
    return ok;
}

/* The worst ratio of samples first..last under one program, for LO to the last of them, against
 * each alone. LO is the same whenever a range begins at FIRST. */
static double worst_ratio(struct variants *v, int first, int last, int64_t lo) {
    double us[MAX_SAMPLES], *worst = &v->ratio[first][last];
    if (*worst) return *worst;
    if (!price(v, lo, v->sample[last], first, last, us)) return *worst = 1e30;
    for (int i = first; i <= last; i++)
        *worst = us[i] / v->alone[i] > *worst ? us[i] / v->alone[i] : *worst;
    return *worst;
}

/* Does a range end at sample I, whatever follows? */
static bool ends_at(const struct variants *v, int i) {
    bool ends = v->sample[i] == 1 || (v->few && v->sample[i] == FEW);
    return v->streams && ends && i + 1 < v->n;
}

/* Ends (indices of samples) of the ranges grown under LIMIT; returns how many. */
static int grow(struct variants *v, int64_t lo, double limit, int end[MAX_SAMPLES]) {
    int n = 0;
    for (int first = 0; first < v->n;) {
        int last = first;
        int64_t from = first ? v->sample[first - 1] + 1 : lo;
        while (!ends_at(v, last) && last + 1 < v->n &&
               worst_ratio(v, first, last + 1, from) <= limit)
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

/* The workgroups of each model, decided at these values of the symbol for all variants; false where
 * that fails, or places single tasks. */
static bool place_models(struct variants *v, int64_t lo, int64_t hi, bool verbose) {
    if (!v->g->nmodels) return true;
    et_pass_options opt = et_quiet_options(v->opt);
    opt.quick = false;
    opt.verbose = verbose;
    opt.findings = v->opt->findings;
    et_program *p;
    et_graph *g = v->narrow(v->ctx, et_sym_name(v->g->exprs, v->sym), lo, hi, false);
    if (!g || !et_passes_run(g, &opt, &p)) return false;
    for (int i = 0; i < p->ngrids; i++)
        if (p->grids[i].range.to) return false;
    memcpy(v->model, g->model, sizeof v->model);
    v->placed = et_finding_of(opt.findings, g);
    return true;
}

/* The same for the range that the middle of the symbol's values is in. */
static bool place_middle(struct variants *v, const int *end, int n) {
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS], lo, hi;
    if (v->sym < 0) return true;
    et_sample_symbols(v->g->exprs, syms);
    et_sym_range(v->g->exprs, v->sym, &lo, &hi);
    int i = 0;
    while (i < n - 1 && v->sample[end[i]] < syms[1][v->sym])
        i++;
    if (i) lo = v->sample[end[i - 1]] + 1;
    if (i < n - 1) hi = v->sample[end[i]];
    return place_models(v, lo, hi, v->opt->verbose);
}

/* Variants of BASE for the ranges that end at END, on workgroups as ON says. False where one of
 * them cannot be lowered. */
static bool add(struct variants *v, et_program *base, const int *end, int n, et_variant on) {
    int64_t lo = 0, hi = 0;
    if (v->sym >= 0) et_sym_range(v->g->exprs, v->sym, &lo, &hi);
    for (int i = 0; i < n; i++) {
        et_program *part;
        int64_t to = i == n - 1 ? hi : v->sample[end[i]];
        if (v->opt->dump && v->sym >= 0)
            fprintf(v->opt->dump_to, "# variant for %s in %lld..%lld\n", name_of(v), (long long)lo,
                    (long long)to);
        if (v->opt->dump && on.most)
            fprintf(v->opt->dump_to, "# on %d to %d workgroups\n", on.least, on.most);
        et_graph *g = narrowed(v, lo, to);
        if (!g) return false;
        et_finding *f = v->placed ? et_finding_note(v->opt, g) : NULL;
        if (f) f->place = v->placed->place;
        if (!(on.most ? et_passes_run : et_passes_beside)(g, v->opt, &part)) return false;
        base->variant[base->nvariants++] = (et_variant){to, on.least, on.most, part};
        lo = to + 1;
    }
    return true;
}

/* What all variants have, without any. */
static et_program *begin(struct variants *v, const int *end, int n) {
    et_program *base;
    et_pass_options quiet = et_quiet_options(v->opt);
    quiet.to = v->opt->to; /* the text of a program has one stage, its variants' too */
    if (!place_middle(v, end, n)) return NULL;
    for (int m = 0; m < v->g->nmodels; m++)
        v->g->model[m].share = v->model[m].share;
    if (!et_passes_run(v->g, &quiet, &base)) return NULL;
    base->variant_sym = v->sym;
    return base;
}

static et_program *finish(struct variants *v, et_program *base) {
    et_place_tagged(base);
    for (int i = 0; i < base->nvariants; i++) { /* their diagnostics count from here on */
        et_graph *g = base->variant[i].program->g;
        et_diag_pass_on(g->diags, v->g->diags);
        g->diags = v->g->diags;
    }
    return base;
}

static void note_symbol(void *ctx, et_expr e) {
    const struct variants *v = ((void **)ctx)[0];
    const et_node_x *n = et_x(v->g->exprs, e);
    if (n->op == ET_X_SYM) ((bool *)((void **)ctx)[1])[n->i] = true;
}

/* Samples of symbol SYM, and how far one program for all of them is from the best of each, at
 * worst; 0 where there is nothing to choose from. */
static double look_at(struct variants *v, int sym) {
    int64_t lo, hi;
    v->sym = sym;
    v->n = 0;
    v->streams = false;
    memset(v->ratio, 0, sizeof v->ratio);
    et_sym_range(v->g->exprs, sym, &lo, &hi);
    if (lo == hi) return 0;
    choose_samples(v, lo, hi);
    return predict_alone(v) ? worst_ratio(v, 0, v->n - 1, lo) : 0;
}

/* The symbol by whose values variants differ: of a model alone the first one, of several models
 * that which one program serves worst. None that a loop goes by: tensors of one for each iteration
 * are as many in all variants. False where there is none. */
static bool choose_symbol(struct variants *v) {
    bool counts[ET_MAX_SYMS] = {false};
    double worst = 0;
    struct variants best = *v;
    for (int l = 0; l < v->g->nloops; l++)
        et_walk(v->g->exprs, v->g->loops[l].trips, note_symbol, (void *[]){v, counts});
    for (int s = 0, looked = 0; s < et_sym_count(v->g->exprs); s++) {
        if (counts[s] || (looked++ && !v->g->nmodels)) continue;
        double ratio = look_at(v, s);
        if (ratio <= worst) continue;
        worst = ratio;
        best = *v;
    }
    *v = best;
    return worst > 0;
}

/* ---- sums in the same order ---- */

/* The orders of the program of G, which is for the fewest rows, at the end of OUT. */
static bool orders_of(struct variants *v, et_graph *g, et_orders *out) {
    et_pass_options quiet = et_quiet_options(v->opt);
    et_program *p;
    quiet.quick = quiet.unplanned = false;
    if (!g || !et_passes_run(g, &quiet, &p)) return false;
    p->g->diags = v->g->diags;
    return et_orders_add(out, p, v->opt->machine->plans->target, v->opt->without);
}

/* From here on variants follow the orders of the program for the fewest rows: options FOLLOW for a
 * target and machine ON. False where there is none. Of several devices each adds up in the order of
 * one alone what that has of the same terms. */
static bool follow(struct variants *v, et_pass_options *follow, et_planned *on) {
    int64_t rows = v->sample[0];
    et_orders whole = {0};
    if (!orders_of(v, narrowed(v, rows, rows), &v->orders)) return false;
    if (v->g->devices) {
        if (!orders_of(v, v->narrow(v->ctx, name_of(v), rows, rows, true), &whole)) return false;
        et_orders_take(&v->orders, &whole);
    }
    *follow = *v->opt;
    follow->orders = &v->orders;
    et_plan_for(follow, v->opt->machine, v->opt->machine->plans->target, on);
    v->opt = follow;
    return look_at(v, v->sym) > 0;
}

/* Do they, each of them? Else errors say where not. */
static bool followed(const struct variants *v, et_program *p) {
    bool ok = true;
    for (int i = 0; p && v->opt->same_sums && i < p->nvariants; i++)
        ok &= et_orders_suit(&v->orders, p->variant[i].program, v->opt->machine->plans->target,
                             v->opt->without);
    return ok;
}

/* Why there is one program for all rows, whose sums have one order anyway. */
static et_program *warn_alone(const struct variants *v) {
    if (v->opt->same_sums && !et_diag_errors(v->g->diags))
        et_diag(v->g->diags, ET_WARNING, (et_loc){0},
                "--same-sums: no variants for values of %s have the same orders of sums: there is "
                "one program for all, as with --variants=1",
                et_sym_name(v->g->exprs, v->sym));
    return NULL;
}

/* Ends of ranges, as few as do; returns how many. SYM may be none: all launches are alike. */
static int ranges(struct variants *v, int most, int end[MAX_SAMPLES]) {
    int64_t lo, hi;
    int n = MAX_SAMPLES + 1;
    if (v->sym < 0) return 1;
    et_sym_range(v->g->exprs, v->sym, &lo, &hi);
    if (ends_at(v, 0) && v->sample[0] == 1 && most < ET_MAX_VARIANTS) most++;
    for (double limit = tolerance; n > most; limit *= 1.02)
        n = grow(v, lo, limit, end);
    return n;
}

/* ---- a part of the CUs ---- */

/* Tiles for so many CUs are one for each, or a whole number of rounds: on a few CUs less they take
 * a round more, and a few more are idle, where tiles for all, which are smaller, waste less. */
static et_variant around(int cus) {
    enum { PART = 32 };
    return (et_variant){.least = cus - cus / PART, .most = cus + cus / PART};
}

/* Variants of BASE for each of WIDTHS. */
static bool add_widths(const struct variants *all, et_program *base, const et_widths *widths,
                       int most) {
    const et_machine *m = all->opt->machine;
    for (int i = 0; widths && i < widths->n; i++) {
        int end[MAX_SAMPLES];
        struct variants v = *all;
        et_pass_options opt = *all->opt;
        et_machine part = *m;
        et_planned *on = et_alloc(all->g->arena, sizeof *on);
        part.cus = widths->cus[i];
        et_plan_for(&opt, &part, m->plans->target, on);
        v.opt = &opt;
        if (v.sym >= 0 && !look_at(&v, v.sym)) return false;
        if (!add(&v, base, end, ranges(&v, most, end), around(part.cus))) return false;
    }
    return true;
}

static et_program *warn_widths(const struct variants *v, const et_widths *widths) {
    if (widths && !et_diag_errors(v->g->diags))
        et_diag(v->g->diags, ET_WARNING, (et_loc){0},
                "--widths: there is no variant for some of the widths: there are none for any");
    return NULL;
}

et_program *et_make_variants(et_graph *g, const et_pass_options *opt, int most,
                             const et_widths *widths, et_narrow_fn narrow, void *ctx) {
    struct variants v = {
        .g = g, .opt = opt, .narrow = narrow, .ctx = ctx, .sym = -1, .few = most > 2};
    et_pass_options same;
    et_planned *on = et_alloc(g->arena, sizeof *on);
    int64_t lo, hi;
    int end[MAX_SAMPLES];
    bool by_symbol =
        et_sym_count(g->exprs) > 0 && et_sym_count(g->exprs) <= ET_MAX_SYMS && most > 1;
    et_check(most <= ET_MAX_VARIANTS);
    if (by_symbol) {
        v.sym = 0;
        et_sym_range(g->exprs, 0, &lo, &hi);
        if (!place_models(&v, lo, hi, false)) return NULL;
        if (!choose_symbol(&v)) v.sym = -1;
    }
    if (v.sym < 0 && !widths) return NULL;
    if (v.sym >= 0 && opt->same_sums && !follow(&v, &same, on)) return warn_alone(&v);
    int n = ranges(&v, most, end);
    if (n < 2 && !widths) return NULL;
    /* What cannot be lowered for some range is lowered for all of it, or says then why not. */
    et_program *p = begin(&v, end, n);
    if (p && !add_widths(&v, p, widths, most)) return warn_widths(&v, widths);
    if (!p || !add(&v, p, end, n, (et_variant){0})) return warn_alone(&v);
    return followed(&v, finish(&v, p)) ? p : NULL;
}
