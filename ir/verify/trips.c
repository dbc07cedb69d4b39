/* Loops that run as often as a launch says. Everything else of the verifier takes loops for as long
 * as they are, so each number of iterations is looked at by itself, with the symbols that decide it
 * at that value and all others anywhere within their bounds. */
#include "ir/base/diag.h"
#include "ir/verify/int.h"
#include <inttypes.h>
#include <string.h>

enum { MOST_CASES = 4096 };

void vf_sym_range(const struct verify *v, int sym, int64_t *out_lo, int64_t *out_hi) {
    et_sym_range(v->x, sym, out_lo, out_hi);
    if (v->is_fixed[sym]) *out_lo = *out_hi = v->fixed[sym];
}

struct symbols {
    const struct verify *v;
    bool *found; /* by symbol, or NULL */
    bool free, fixed;
};

static void note_symbol(void *ctx, et_expr e) {
    struct symbols *s = ctx;
    const et_node_x *n = et_x(s->v->x, e);
    if (n->op != ET_X_SYM) return;
    if (s->found) s->found[n->i] = true;
    s->free |= !s->v->is_fixed[n->i];
    s->fixed |= s->v->is_fixed[n->i];
}

bool vf_is_int(const struct verify *v, et_expr e, int64_t *out) {
    struct symbols s = {.v = v};
    if (et_is_int(v->x, e, out)) return true;
    if (!et_expr_is_known(v->x, e)) return false;
    et_walk(v->x, e, note_symbol, &s);
    if (s.free) return false;
    *out = et_eval(v->x, e, v->fixed, NULL);
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

/* Case number AT of them. */
static void fix(struct verify *v, const bool *found, int64_t at) {
    for (int i = et_sym_count(v->x) - 1; i >= 0; i--) {
        int64_t lo, hi;
        if (!found[i]) continue;
        et_sym_range(v->x, i, &lo, &hi);
        v->is_fixed[i] = true;
        v->fixed[i] = lo + at % (hi - lo + 1);
        at /= hi - lo + 1;
    }
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

bool vf_each_trips(struct verify *v, bool (*prove)(struct verify *)) {
    size_t syms = (size_t)et_sym_count(v->x) + 1;
    bool *found = et_alloc(v->arena, syms);
    int64_t cases = find_symbols(v, found), values = 0, most = 0;
    if (cases > MOST_CASES) {
        vf_error(v, -1,
                 "loops run as often as dims say that have more than %d values, and each is "
                 "looked at: give them narrower bounds",
                 MOST_CASES);
        return false;
    }
    bool ok = true, proved = true, exhaustive = false;
    for (int64_t at = 0; ok && at < cases; at++) {
        v->report->values = 0;
        v->report->proved = v->report->exhaustive = false;
        fix(v, found, at);
        ok = set_trips(v) && prove(v);
        values += v->report->values;
        proved &= v->report->proved;
        exhaustive |= v->report->exhaustive;
        most = v->report->tasks > most ? v->report->tasks : most;
    }
    v->report->values = values;
    v->report->proved = ok && proved;
    v->report->exhaustive = exhaustive;
    v->report->tasks = most;
    return ok;
}
