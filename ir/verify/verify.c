/* The verifier: which values of the symbols to look at, and what to say. */
#include "ir/base/diag.h"
#include "ir/program/deal.h"
#include "ir/program/queue.h"
#include "ir/program/tags.h"
#include "ir/verify/steps/steps.h"
#include "ir/verify/symbolic.h"
#include "ir/weights/host.h"
#include "ir/weights/stream.h"
#include <inttypes.h>
#include <string.h>

enum {
    MAX_PERIOD = 512,
    ALL_VALUES = 1 << 16, /* so many are tried one by one, as long as the work allows */
    MAX_CORNERS = 64,
    HOPELESS = 8, /* such a part of the work goes to values that cannot prove all others */
};

/* ---- messages ---- */

const char *vf_task(struct verify *v, const struct vf_inst *in, unsigned known,
                    const int64_t *coord) {
    const struct vf_grid *g = &v->grid[in->grid];
    char buf[256];
    int n = snprintf(buf, sizeof buf, "%.80s", g->g->name);
    for (int c = 0; c < g->f->ncoords && n < 190; c++) {
        n += snprintf(buf + n, sizeof buf - (size_t)n, "%s%.16s=", c ? ", " : "[",
                      et_var_name(v->x, g->f->coord[c]));
        n += known >> c & 1 ? snprintf(buf + n, sizeof buf - (size_t)n, "%" PRId64, coord[c])
                            : snprintf(buf + n, sizeof buf - (size_t)n, "..");
    }
    if (g->f->ncoords) n += snprintf(buf + n, sizeof buf - (size_t)n, "]");
    for (int i = 0; i < g->depth && n < 220; i++) {
        const et_loop *l = &v->p->g->loops[g->path[i]];
        n += snprintf(buf + n, sizeof buf - (size_t)n, " %.8s=%" PRId64, l->name,
                      l->lo + vf_label(&v->loop[g->path[i]], in->at[i]));
    }
    return et_strdup(v->round, buf);
}

void vf_error(struct verify *v, int grid, const char *fmt, ...) {
    char at[256] = "";
    int n = 0;
    for (int s = 0; s < et_sym_count(v->x) && n < 200; s++)
        if (v->syms || v->is_fixed[s])
            n += snprintf(at + n, sizeof at - (size_t)n, "%s%.20s = %" PRId64, n ? ", " : " (with ",
                          et_sym_name(v->x, s), v->syms ? v->syms[s] : v->fixed[s]);
    if (n) snprintf(at + n, sizeof at - (size_t)n, ")");
    va_list ap;
    va_start(ap, fmt);
    const char *text = et_vprintf(v->arena, fmt, ap);
    va_end(ap);
    et_loc loc = {0};
    if (grid >= 0 && v->p->ngroups == v->p->ngrids) loc = v->p->groups[grid].loc;
    et_diag(v->d, ET_ERROR, loc, "%s: %s%s", sv_lead(v->p), text, at);
    v->errors++;
}

/* ---- values of the symbols ---- */

/* What tells small values of a symbol from large ones: the divisors it meets, and their least
 * common multiple. */
struct divisors {
    const et_exprs *x;
    int64_t v[MAX_CORNERS];
    int n;
    int64_t period;
    bool exact; /* the period is a multiple of every divisor */
};

static int64_t gcd(int64_t a, int64_t b) {
    return b ? gcd(b, a % b) : a;
}

static void note_divisor(void *ctx, et_expr e) {
    struct divisors *d = ctx;
    const et_node_x *n = et_x(d->x, e);
    int64_t by;
    if ((n->op != ET_X_IDIV && n->op != ET_X_MOD) || !et_is_int(d->x, n->ops[1], &by) || by < 2)
        return;
    for (int i = 0; i < d->n; i++)
        if (d->v[i] == by) return;
    d->exact &= d->n < MAX_CORNERS;
    if (d->n == MAX_CORNERS) return;
    d->v[d->n++] = by;
    int64_t period = d->period / gcd(d->period, by) * by;
    d->exact &= period <= MAX_PERIOD;
    if (period <= MAX_PERIOD) d->period = period;
}

static void find_divisors(const struct verify *v, struct divisors *d) {
    *d = (struct divisors){.x = v->x, .period = 1, .exact = true};
    for (int i = 0; i < v->p->ngrids; i++) {
        const et_grid *g = &v->p->grids[i];
        for (int c = 0; c < v->p->funcs[g->func].ncoords; c++)
            et_walk(v->x, g->extent[c], note_divisor, d);
        for (int w = 0; w < g->nwaits; w++)
            for (int k = 0; k < v->p->events[g->waits[w].event].rank; k++) {
                et_walk(v->x, g->waits[w].lo[k], note_divisor, d);
                et_walk(v->x, g->waits[w].hi[k], note_divisor, d);
            }
    }
    for (int e = 0; e < v->p->nevents; e++)
        et_walk(v->x, v->p->events[e].count, note_divisor, d);
}

struct corners {
    int64_t v[MAX_CORNERS];
    int n;
};

static void corner(struct corners *c, int64_t lo, int64_t hi, int64_t value) {
    if (value < lo || value > hi || c->n == MAX_CORNERS) return;
    for (int i = 0; i < c->n; i++)
        if (c->v[i] == value) return;
    c->v[c->n++] = value;
}

/* Ends of the range, either side of every divisor and of its double, some primes. */
static void find_corners(const struct divisors *d, int64_t lo, int64_t hi, struct corners *out) {
    static const int64_t prime[] = {7, 13, 37, 101, 257};
    out->n = 0;
    corner(out, lo, hi, hi);
    corner(out, lo, hi, lo);
    corner(out, lo, hi, lo + 1);
    corner(out, lo, hi, hi - 1);
    for (int i = 0; i < d->n; i++)
        for (int k = -1; k <= 1; k++) {
            corner(out, lo, hi, d->v[i] + k);
            corner(out, lo, hi, 2 * d->v[i] + k);
        }
    for (size_t i = 0; i < sizeof prime / sizeof *prime; i++)
        corner(out, lo, hi, prime[i]);
}

/* ---- one value ---- */

static vf_status order_tasks(struct verify *v) {
    vf_status s = vf_order(v);
    bool settled = s == VF_OK && vf_loops_settled(v);
    if (s != VF_OK || settled) return s;
    for (int l = 0; l < v->p->g->nloops; l++)
        v->loop[l] = (struct vf_loop){v->loop[l].trips, (int)v->loop[l].trips, 1, false};
    return vf_order(v);
}

/* The order of what takes fences: unfenced events do not count. */
static vf_status look_at_fenced(struct verify *v, bool *ok) {
    v->fenced = true;
    vf_status s = order_tasks(v);
    *ok = s == VF_OK && vf_hazards(v);
    v->fenced = false;
    return s;
}

/* The order of tasks on different devices: events of the system alone count. */
static vf_status look_at_system(struct verify *v, bool *ok) {
    v->system = true;
    vf_status s = order_tasks(v);
    *ok = s == VF_OK && vf_hazards(v);
    v->system = false;
    return s;
}

static bool look(struct verify *v) {
    v->round = et_arena_create();
    vf_status s = order_tasks(v);
    bool ok = s == VF_OK && vf_queues(v) && vf_hazards(v) && vf_contents(v);
    if (ok && v->has_unfenced) s = look_at_fenced(v, &ok);
    if (ok && v->has_flagged) s = look_at_system(v, &ok);
    if (s == VF_TOO_LARGE) ok = !vf_instances(v) || vf_contents(v);
    int64_t tasks = 0;
    for (int i = 0; ok && i < v->ninst; i++)
        tasks += v->grid[v->inst[i].grid].tiles;
    if (s == VF_TOO_LARGE || v->report->work > v->limit)
        v->skipped = true;
    else if (ok)
        v->report->values++;
    v->report->tasks = tasks > v->report->tasks ? tasks : v->report->tasks;
    et_arena_destroy(v->round);
    v->round = NULL;
    return ok;
}

/* Of each symbol. */
struct extent {
    int64_t lo, hi;
    int64_t window; /* upper end */
    struct corners corner;
};

struct space {
    int n;
    struct extent *of;
    bool rows;             /* symbols with larger values than that only count rows */
    int64_t all, windows;  /* values, or more than ALL_VALUES */
    unsigned char *looked; /* when all are to be looked at */
};

static bool is_spent(struct verify *v) {
    if (v->report->work > v->limit) v->skipped = true;
    return v->report->work > v->limit;
}

static bool look_once(struct verify *v, struct space *s) {
    int64_t at = 0;
    for (int i = 0; i < s->n && s->looked; i++)
        at = at * (s->of[i].hi - s->of[i].lo + 1) + v->syms[i] - s->of[i].lo;
    if (s->looked) {
        if (s->looked[at]) return true;
        s->looked[at] = 1;
    }
    return is_spent(v) || look(v);
}

/* Corners of all symbols together; then of each with the others at their ends. */
static bool look_at_corners(struct verify *v, struct space *s, int sym) {
    if (sym == s->n) return look_once(v, s);
    int64_t combined = 1;
    for (int i = 0; i < s->n && combined <= 512; i++)
        combined *= s->of[i].corner.n;
    int n = combined > 512 && s->n > 1 && s->of[sym].corner.n > 4 ? 4 : s->of[sym].corner.n;
    for (int k = 0; k < n && !is_spent(v); k++) {
        v->syms[sym] = s->of[sym].corner.v[k];
        if (!look_at_corners(v, s, sym + 1)) return false;
    }
    return true;
}

static bool look_at_all(struct verify *v, struct space *s) {
    for (int64_t at = 0; at < s->all; at++) {
        int64_t left = at;
        for (int i = s->n - 1; i >= 0; i--) {
            int64_t n = s->of[i].hi - s->of[i].lo + 1;
            v->syms[i] = s->of[i].lo + left % n;
            left /= n;
        }
        if (!look_once(v, s)) return false;
    }
    return true;
}

/* The values from which the others follow when symbols only count rows: all small ones of each
 * symbol, together. */
static bool look_at_windows(struct verify *v, struct space *s, int sym) {
    if (sym == s->n) return look_once(v, s);
    for (int64_t k = s->of[sym].lo; k <= s->of[sym].window; k++) {
        v->syms[sym] = k;
        if (!look_at_windows(v, s, sym + 1)) return false;
    }
    return true;
}

/* Every block of rows that two tasks are in and one more: three periods. */
static void find_windows(struct verify *v, struct space *s, const struct divisors *d) {
    s->rows = true;
    s->windows = 1;
    for (int i = 0; i < s->n; i++) {
        int64_t end = s->of[i].lo + 3 * d->period + 2;
        s->of[i].window = end < s->of[i].hi ? end : s->of[i].hi;
        if (end < s->of[i].hi) s->rows = s->rows && d->exact && vf_counts_rows(v, i, d->period);
        int64_t n = s->of[i].window - s->of[i].lo + 1;
        s->windows = n > ALL_VALUES || s->windows > ALL_VALUES ? ALL_VALUES + 1 : s->windows * n;
    }
}

/* Contents of memory at the largest values, whatever the work so far. */
static bool look_at_ends(struct verify *v, const struct space *s) {
    for (int i = 0; i < s->n; i++)
        v->syms[i] = s->of[i].hi;
    v->round = et_arena_create();
    bool ok = !vf_instances(v) || vf_contents(v);
    et_arena_destroy(v->round);
    v->round = NULL;
    return ok;
}

static bool look_around(struct verify *v) {
    struct space s = {.n = et_sym_count(v->x), .all = 1};
    struct divisors d;
    s.of = et_alloc(v->arena, (size_t)(s.n + 1) * sizeof *s.of);
    find_divisors(v, &d);
    for (int i = 0; i < s.n; i++) {
        struct extent *of = &s.of[i];
        vf_sym_range(v, i, &of->lo, &of->hi);
        find_corners(&d, of->lo, of->hi, &of->corner);
        int64_t n = of->hi - of->lo + 1;
        s.all = n > ALL_VALUES || s.all > ALL_VALUES ? ALL_VALUES + 1 : s.all * n;
    }
    find_windows(v, &s, &d);
    v->syms = et_alloc(v->arena, (size_t)(s.n + 1) * sizeof *v->syms);
    v->report->exhaustive = s.all <= ALL_VALUES;
    if (v->report->exhaustive) s.looked = et_alloc(v->arena, (size_t)s.all);
    bool windows = s.rows && s.windows <= ALL_VALUES;
    if (windows && !look_at_windows(v, &s, 0)) return false;
    v->report->proved = windows && !v->skipped;
    int64_t limit = v->limit, few = v->report->work + limit / HOPELESS;
    if (!v->report->exhaustive && !windows && few < limit) v->limit = few;
    bool ok = look_at_ends(v, &s) && look_at_corners(v, &s, 0);
    v->limit = limit;
    if (!ok) return false;
    if (!v->report->proved && v->report->exhaustive && !look_at_all(v, &s)) return false;
    v->report->exhaustive &= s.all == v->report->values;
    v->report->proved |= v->report->exhaustive;
    return true;
}

/* ---- everything ---- */

static unsigned coords_of_extents(struct verify *v, const struct vf_grid *g, int n,
                                  const int *vars) {
    unsigned set = 0;
    for (int i = 0; i < n; i++)
        set |= vf_coords_in(v, g->f, et_var_extent(v->x, vars[i]));
    return set;
}

static void set_up(struct verify *v) {
    et_program *p = v->p;
    v->grid = et_alloc(v->arena, (size_t)(p->ngrids + 1) * sizeof *v->grid);
    v->loop = et_alloc(v->arena, (size_t)(p->g->nloops + 1) * sizeof *v->loop);
    v->event = et_alloc(v->arena, (size_t)(p->nevents + 1) * sizeof *v->event);
    v->fixed = et_alloc(v->arena, (size_t)(et_sym_count(v->x) + 1) * sizeof *v->fixed);
    v->upto = et_alloc(v->arena, (size_t)(et_sym_count(v->x) + 1) * sizeof *v->upto);
    v->trial = et_alloc(v->arena, (size_t)(et_sym_count(v->x) + 1) * sizeof *v->trial);
    v->is_fixed = et_alloc(v->arena, (size_t)et_sym_count(v->x) + 1);
    for (int i = 0; i < p->ngrids; i++) {
        struct vf_grid *g = &v->grid[i];
        int up[ET_MAX_LOOPS];
        *g = (struct vf_grid){.g = &p->grids[i], .f = &p->funcs[p->grids[i].func]};
        for (int l = g->g->loop; l >= 0 && g->depth < ET_MAX_LOOPS; l = p->g->loops[l].parent)
            up[g->depth++] = l;
        for (int k = 0; k < g->depth; k++)
            g->path[k] = up[g->depth - 1 - k];
        vf_list_accesses(v, g);
        vf_find_unknowns(v, g);
        for (int w = 0; w < g->g->nwaits; w++)
            for (int d = 0; d < p->events[g->g->waits[w].event].rank; d++)
                g->wait_coords |= vf_coords_in(v, g->f, g->g->waits[w].lo[d]) |
                                  vf_coords_in(v, g->f, g->g->waits[w].hi[d]);
        for (int n = 0; n < g->g->nnotifies; n++)
            for (int d = 0; d < p->events[g->g->notifies[n].event].rank; d++)
                g->notify_coords |= vf_coords_in(v, g->f, g->g->notifies[n].index[d]);
        for (int w = 0; w < g->g->nwaits; w++)
            g->wait_coords |= coords_of_extents(v, g, g->g->waits[w].nvars, g->g->waits[w].vars);
        for (int n = 0; n < g->g->nnotifies; n++)
            g->notify_coords |=
                coords_of_extents(v, g, g->g->notifies[n].nvars, g->g->notifies[n].vars);
    }
}

/* Tasks at the upper ends of the symbols. */
static int64_t count_tasks(struct verify *v) {
    int64_t all = 0;
    for (int g = 0; g < v->p->ngrids; g++) {
        int64_t tasks = 1, lo, hi;
        for (int c = 0; c < v->grid[g].f->ncoords; c++)
            if (!et_bounds(v->x, v->grid[g].g->extent[c], &lo, &hi) ||
                __builtin_mul_overflow(tasks, hi > 0 ? hi : 0, &tasks))
                tasks = INT64_MAX;
        for (int k = 0; k < v->grid[g].depth; k++)
            if (__builtin_mul_overflow(tasks, v->loop[v->grid[g].path[k]].trips, &tasks))
                tasks = INT64_MAX;
        if (__builtin_add_overflow(all, tasks, &all)) all = INT64_MAX;
    }
    return all;
}

/* For all values at once, or not: nothing is said then. */
static bool prove_at_once(struct verify *v) {
    const char *stuck;
    int64_t *example;
    et_diags *said = v->d;
    int errors = v->errors;
    v->d = et_diags_create(v->arena);
    bool ok = v->opt->how != ET_VERIFY_BY_VALUE && vf_tags(v) && vf_symbolic(v, &stuck, &example);
    v->d = said;
    v->errors = errors;
    v->report->proved = ok;
    if (ok) v->report->tasks = count_tasks(v);
    return ok;
}

/* For all values at once; where that does not succeed, first for values that may be wrong, if some
 * are known, and then for all one by one. */
static bool prove(struct verify *v) {
    const char *stuck = NULL;
    int64_t *example = NULL;
    if (!vf_tags(v)) return false;
    if (v->opt->how != ET_VERIFY_BY_VALUE && vf_symbolic(v, &stuck, &example)) {
        v->report->proved = true;
        v->report->tasks = count_tasks(v);
        return true;
    }
    if (v->errors) return false;
    if (v->opt->how != ET_VERIFY_AT_ONCE) {
        if (example) {
            v->syms = example;
            if (!look(v)) return false;
            v->report->values = 0;
        }
        if (!look_around(v)) return false;
        if (v->report->proved) return true;
        v->syms = NULL;
    }
    et_diag(v->d, ET_ERROR, (et_loc){0},
            "the schedule is not proved right: %s was not shown for all values of the dims, which "
            "are too many or have too many tasks to look at one by one: give dims narrower bounds, "
            "%sor compile it as it is with --unverified",
            stuck ? stuck : "what events order", sv_is_made(v->p) ? "" : "or wait for more, ");
    return false;
}

/* What comes through a ring is read by another wave, at any time since the launch began, and in an
 * order that both sides know. */
static bool check_streams(struct verify *v) {
    for (int i = 0; i < v->p->ngrids; i++) {
        const et_grid *g = &v->p->grids[i];
        const char *problem = g->streamed ? et_stream_problem(v->p, g) : NULL;
        if (problem) vf_error(v, i, "%s cannot be streamed: %s", g->name, problem);
    }
    return !v->errors;
}

/* Tiles that are claimed in turn with those of the task before. */
static void check_turns(struct verify *v, int first, int count) {
    for (int i = first; i < first + count; i++) {
        const et_item *it = &v->p->items[i];
        if (it->kind == ET_P_LOOP) {
            check_turns(v, it->first, it->count);
            continue;
        }
        const et_grid *g = &v->p->grids[it->index];
        if (!g->behind) continue;
        const char *problem = "there is none";
        if (i > first && it[-1].kind == ET_P_GRID)
            problem = et_turns_problem(v->p, &v->p->grids[it[-1].index], g);
        if (problem)
            vf_error(v, it->index,
                     "tiles of %s are claimed in turn with those of the task before, but %s",
                     g->name, problem);
    }
}

/* Which workgroup runs which tile is settled by slices and by queues, where there are any. */
static bool check_orders(struct verify *v) {
    for (int i = 0; i < v->p->ngrids; i++) {
        const et_grid *g = &v->p->grids[i];
        if (g->order && (g->dynamic || g->slice.count))
            vf_error(v, i, "tiles of %s have an order, and are %s", g->name,
                     g->dynamic ? "queued" : "in slices");
        if (g->order == ET_TILES_CLAIMED && (g->range.to || g->streamed))
            vf_error(v, i, "tiles of %s are claimed, and are %s", g->name,
                     g->streamed ? "streamed" : "in a range");
        if (et_order_is_own(g->order) && !v->p->g->devices)
            vf_error(v, i, "tiles of %s go by devices, and there is one", g->name);
    }
    check_turns(v, v->p->first, v->p->count);
    return !v->errors;
}

static bool check_host(struct verify *v) {
    int tensor;
    const char *problem = et_host_misread(v->p, &tensor);
    if (problem) vf_error(v, -1, "%s: %s", v->p->tensors[tensor].name, problem);
    return !problem;
}

static bool check_tags(struct verify *v) {
    const char *problem = et_tags_problem(v->p);
    if (!problem) problem = et_deal_problem(v->p);
    if (problem) vf_error(v, -1, "%s", problem);
    v->has_unfenced = vf_has_unfenced(v->p);
    for (int t = 0; t < v->p->ntensors; t++)
        v->has_flagged |= v->p->tensors[t].flagged || v->p->tensors[t].shared;
    return !problem;
}

bool et_verify(et_program *p, const et_verify_options *opt, et_diags *d,
               et_verify_report *out_report) {
    et_verify_report report = {0};
    struct verify v = {.p = p, .x = p->g->exprs, .opt = opt, .d = d, .report = &report};
    v.limit = opt->work ? opt->work : ET_VERIFY_WORK;
    v.arena = et_arena_create();
    v.round = v.arena;
    v.var = et_alloc(v.arena, (size_t)(et_var_count(v.x) + 1) * sizeof *v.var);
    set_up(&v);
    vf_index_events(&v);
    bool ok = check_tags(&v) && check_orders(&v) && check_streams(&v) && check_host(&v) &&
              vf_layout(&v) && vf_promises(&v) &&
              et_verify_steps(p, d, opt->step_work, &report.step_work);
    if (ok) vf_list_pairs(&v);
    if (ok) vf_list_apart(&v);
    ok = ok && vf_each_trips(&v, prove, prove_at_once);
    if (out_report) *out_report = report;
    et_arena_destroy(v.arena);
    return ok && !v.errors;
}
