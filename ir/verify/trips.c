/* Loops that run as often as a launch says. Everything else of the verifier takes loops for as long
 * as they are, so each number of iterations is looked at by itself, with the symbols that decide it
 * within the span of values that gives that number, and all others anywhere within their bounds.
 * Where a span is not proved at once, each of its values is looked at. */
#include "ir/base/diag.h"
#include "ir/verify/int.h"
#include <inttypes.h>
#include <string.h>

enum { MOST_CASES = 4096 };

void vf_sym_range(const struct verify *v, int sym, int64_t *out_lo, int64_t *out_hi) {
    et_sym_range(v->x, sym, out_lo, out_hi);
    if (v->is_fixed[sym]) *out_lo = v->fixed[sym], *out_hi = v->upto[sym];
}

struct symbols {
    const struct verify *v;
    bool *found; /* by symbol, or NULL */
    bool free, fixed, several;
    int wide; /* 1 + the one of more than one value, or 0; SEVERAL: there are others */
};

static void note_symbol(void *ctx, et_expr e) {
    struct symbols *s = ctx;
    const et_node_x *n = et_x(s->v->x, e);
    if (n->op != ET_X_SYM) return;
    if (s->found) s->found[n->i] = true;
    s->free |= !s->v->is_fixed[n->i];
    s->fixed |= s->v->is_fixed[n->i];
    if (!s->v->is_fixed[n->i] || s->v->upto[n->i] == s->v->fixed[n->i]) return;
    s->several |= s->wide && s->wide != 1 + n->i;
    s->wide = 1 + n->i;
}

bool vf_is_int(const struct verify *v, et_expr e, int64_t *out) {
    struct symbols s = {.v = v};
    if (et_is_int(v->x, e, out)) return true;
    if (!et_expr_is_known(v->x, e)) return false;
    et_walk(v->x, e, note_symbol, &s);
    if (s.free || s.several) return false;
    *out = et_eval(v->x, e, v->fixed, NULL);
    int64_t *at = v->trial;
    memcpy(at, v->fixed, (size_t)et_sym_count(v->x) * sizeof *at);
    for (int i = s.wide - 1; s.wide && ++at[i] <= v->upto[i];)
        if (et_eval(v->x, e, at, NULL) != *out) return false;
    return *out != ET_UNKNOWN;
}

bool vf_mentions_fixed(const struct verify *v, et_expr e) {
    struct symbols s = {.v = v};
    et_walk(v->x, e, note_symbol, &s);
    return s.fixed;
}

/* The symbols that decide how often some loop runs, and how many values they have together. */
static int64_t find_symbols(struct verify *v, bool *found) {
    const et_graph *g = v->p->g;
    struct symbols s = {.v = v, .found = found};
    int64_t cases = 1, lo, hi;
    for (int l = 0; l < g->nloops; l++)
        et_walk(v->x, g->loops[l].trips, note_symbol, &s);
    for (int i = 0; i < et_sym_count(v->x); i++) {
        if (!found[i]) continue;
        et_sym_range(v->x, i, &lo, &hi);
        if (__builtin_mul_overflow(cases, hi - lo + 1, &cases)) return INT64_MAX;
    }
    return cases;
}

/* Do all loops run as often with SYM one more than it is in AT? */
static bool runs_alike(const struct verify *v, int sym, int64_t *at) {
    const et_graph *g = v->p->g;
    bool same = true;
    for (int l = 0; l < g->nloops && same; l++) {
        int64_t trips = et_eval(v->x, g->loops[l].trips, at, NULL);
        at[sym]++;
        same = et_eval(v->x, g->loops[l].trips, at, NULL) == trips;
        at[sym]--;
    }
    return same;
}

/* Does more than one symbol decide how often some loop runs? */
static bool are_mixed(const struct verify *v) {
    const et_graph *g = v->p->g;
    bool mixed = false;
    for (int l = 0; l < g->nloops; l++) {
        int first = -1;
        for (int i = 0; i < et_sym_count(v->x); i++) {
            if (!et_expr_has(v->x, g->loops[l].trips, ET_X_SYM, i)) continue;
            mixed |= first >= 0;
            first = i;
        }
    }
    return mixed;
}

/* What the symbols that are FOUND are within for now: the first of the spans of each, or the ones
 * after those there are. False when all have been. */
static bool next_spans(struct verify *v, const bool *found, bool first) {
    int64_t lo, hi, *at = v->trial;
    int n = et_sym_count(v->x);
    bool more = first, mixed = are_mixed(v);
    for (int i = 0; i < n; i++)
        et_sym_range(v->x, i, &at[i], &hi);
    for (int i = n - 1; i >= 0 && (first || !more); i--) {
        if (!found[i]) continue;
        et_sym_range(v->x, i, &lo, &hi);
        more |= !first && v->upto[i] < hi;
        int64_t from = first || v->upto[i] == hi ? lo : v->upto[i] + 1, least = at[i];
        v->is_fixed[i] = true;
        v->fixed[i] = v->upto[i] = at[i] = from;
        while (!mixed && at[i] < hi && runs_alike(v, i, at))
            v->upto[i] = ++at[i];
        at[i] = least;
    }
    return more;
}

static bool set_trips(struct verify *v) {
    for (int l = 0; l < v->p->g->nloops; l++) {
        const et_loop *loop = &v->p->g->loops[l];
        int64_t trips;
        if (!vf_is_int(v, loop->trips, &trips) || trips < 1 || trips > loop->hi - loop->lo) {
            vf_error(v, -1, "loop %s does not have 1 to %" PRId64 " iterations", loop->name,
                     loop->hi - loop->lo);
            return false;
        }
        v->loop[l] = (struct vf_loop){trips, (int)trips, 1, false};
    }
    vf_shorten_loops(v);
    return true;
}

struct sums {
    int64_t values, most; /* of tasks */
    bool proved, exhaustive;
};

/* What the symbols are within is looked at. */
static bool run(struct verify *v, bool (*prove)(struct verify *), struct sums *of) {
    v->report->values = 0;
    v->report->proved = v->report->exhaustive = false;
    bool ok = set_trips(v) && prove(v);
    of->values += v->report->values;
    of->proved &= v->report->proved;
    of->exhaustive |= v->report->exhaustive;
    of->most = v->report->tasks > of->most ? v->report->tasks : of->most;
    return ok;
}

/* Each number of iterations is looked at anew, which together may take too long. */
static bool takes_too_long(struct verify *v) {
    if (v->met <= v->limit) return false;
    vf_error(v, -1,
             "loops run as often as dims say, and looking at each number of iterations takes too "
             "long: give these dims narrower bounds");
    return true;
}

/* Each value of the spans by itself, from symbol SYM on. */
static bool each_value(struct verify *v, int sym, bool (*prove)(struct verify *), struct sums *of) {
    int n = et_sym_count(v->x);
    while (sym < n && !(v->is_fixed[sym] && v->upto[sym] > v->fixed[sym]))
        sym++;
    if (sym == n) return !takes_too_long(v) && run(v, prove, of);
    int64_t from = v->fixed[sym], to = v->upto[sym];
    bool ok = true;
    for (int64_t at = from; at <= to && ok; at++) {
        v->fixed[sym] = v->upto[sym] = at;
        ok = each_value(v, sym + 1, prove, of);
    }
    v->fixed[sym] = from;
    v->upto[sym] = to;
    return ok;
}

static bool find_wide(struct verify *v) {
    v->wide = false;
    for (int i = 0; i < et_sym_count(v->x); i++)
        v->wide |= v->is_fixed[i] && v->upto[i] > v->fixed[i];
    return v->wide;
}

bool vf_each_trips(struct verify *v, bool (*prove)(struct verify *),
                   bool (*at_once)(struct verify *)) {
    size_t syms = (size_t)et_sym_count(v->x) + 1;
    bool *found = et_alloc(v->arena, syms), ok = true;
    struct sums of = {.proved = true};
    if (find_symbols(v, found) > MOST_CASES) {
        vf_error(v, -1,
                 "loops run as often as dims say that have more than %d values, and each is "
                 "looked at: give them narrower bounds",
                 MOST_CASES);
        return false;
    }
    for (bool more = next_spans(v, found, true); ok && more; more = next_spans(v, found, false)) {
        struct sums was = of;
        if (takes_too_long(v)) return false;
        if (find_wide(v) && run(v, at_once, &of)) continue;
        if (v->wide) of = was;
        v->wide = false;
        ok = each_value(v, 0, prove, &of);
    }
    v->report->values = of.values;
    v->report->proved = ok && of.proved;
    v->report->exhaustive = of.exhaustive;
    v->report->tasks = of.most;
    return ok;
}
