/* Plans of one model under prices: a shortest path over (group, range, range changes so far).
 * Groups of a loop also remember the range its first group has, for the way from one iteration to
 * the next. */
#include "passes/assign/int.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A way into a state. */
struct step {
    int start, changes, range;
    double price;
};

struct assign_table {
    const et_assign_problem *pr;
    const et_assign_model *m;
    int nr, nb;   /* ranges; values of "changes so far" */
    int *segment; /* by group */
    double *move; /* [nr][nr], scratch: price of a move, by row as they are asked for */
    bool *priced; /* [nr]: is that row of it? */
    double most_us, most_byte_us; /* of any move */
    double *cost;                 /* [ngroups][nr]: price of all runs of a group */
    double **reach;   /* by group: [starts][nb][nr], price of the cheapest way here; of the first
                       * group   of a loop, whose range is the start, [nb][nr] */
    double *row;      /* [nr], scratch */
    struct step **in; /* by group, scratch: the ways into one state of it */
    struct step *end; /* scratch: the states of the last group */
    double *left;     /* [nb][nr], scratch: price of having left a segment there */
    double completion;
};

static const et_assign_segment *segment_of(const assign_table *t, int g) {
    return &t->m->segments[t->segment[g]];
}

static int starts(const assign_table *t, int g) {
    return segment_of(t, g)->trips > 1 ? t->nr : 1;
}

static bool is_first(const assign_table *t, int g) {
    return segment_of(t, g)->first == g;
}

static bool starts_here(const assign_table *t, int g) {
    return is_first(t, g) && starts(t, g) > 1;
}

static double *state(const assign_table *t, int g, int start, int changes) {
    size_t row = starts_here(t, g) ? 0 : (size_t)start * (size_t)t->nb;
    return t->reach[g] + (row + (size_t)changes) * (size_t)t->nr;
}

static double reach_of(const assign_table *t, int g, int start, int changes, int range) {
    return starts_here(t, g) && start != range ? INFINITY : state(t, g, start, changes)[range];
}

/* reach_of all ranges. */
static const double *reach_row(assign_table *t, int g, int start, int changes) {
    if (!starts_here(t, g)) return state(t, g, start, changes);
    for (int r = 0; r < t->nr; r++)
        t->row[r] = reach_of(t, g, start, changes, r);
    return t->row;
}

assign_table *assign_table_create(const et_assign_problem *pr, const et_assign_model *m,
                                  et_arena *a) {
    assign_table *t = et_alloc(a, sizeof *t);
    int budget = m->switch_budget < ET_ASSIGN_BUDGET ? m->switch_budget : ET_ASSIGN_BUDGET;
    *t = (assign_table){.pr = pr, .m = m, .nr = pr->nranges, .nb = (budget < 0 ? 0 : budget) + 1};
    size_t nr = (size_t)t->nr, ng = (size_t)m->ngroups;
    t->segment = et_alloc(a, ng * sizeof *t->segment);
    for (int s = 0; s < m->nsegments; s++)
        for (int i = 0; i < m->segments[s].count; i++)
            t->segment[m->segments[s].first + i] = s;
    t->move = et_alloc(a, nr * nr * sizeof *t->move);
    t->priced = et_alloc(a, nr * sizeof *t->priced);
    for (size_t i = 0; i < nr * nr; i++) {
        t->most_us = fmax(t->most_us, pr->switch_us[i]);
        t->most_byte_us = fmax(t->most_byte_us, pr->byte_us[i]);
    }
    t->cost = et_alloc(a, ng * nr * sizeof *t->cost);
    t->reach = et_alloc(a, ng * sizeof *t->reach);
    t->in = et_alloc(a, ng * sizeof *t->in);
    size_t last = 0;
    for (int g = 0; g < m->ngroups; g++) {
        size_t begins = starts_here(t, g) ? 1 : (size_t)starts(t, g);
        size_t states = begins * (size_t)t->nb * nr;
        t->reach[g] = et_alloc(a, states * sizeof(double));
        size_t begun = g && is_first(t, g) ? (size_t)starts(t, g - 1) : 1;
        t->in[g] = et_alloc(a, begun * nr * sizeof(struct step));
        last = states;
    }
    t->end = et_alloc(a, last * sizeof *t->end);
    t->row = et_alloc(a, nr * sizeof *t->row);
    t->left = et_alloc(a, (size_t)t->nb * nr * sizeof *t->left);
    return t;
}

static double move_price(const assign_table *t, int after, int from, int to) {
    size_t at = (size_t)from * (size_t)t->nr + (size_t)to;
    return t->completion * (t->pr->switch_us[at] + t->m->bytes[after] * t->pr->byte_us[at]);
}

static int by_price(const void *a, const void *b) {
    double x = ((const struct step *)a)->price, y = ((const struct step *)b)->price;
    return x < y ? -1 : x > y;
}

/* Closing a loop, from its last group back to its first, all but one time: changes of range, and
 * the price. */
static int closing_changes(const assign_table *t, int last, int from, int start) {
    return from == start ? 0 : segment_of(t, last)->trips - 1;
}

static double closing(const assign_table *t, int last, int from, int start) {
    int trips = segment_of(t, last)->trips;
    return trips > 1 ? (trips - 1) * move_price(t, last, from, start) : 0;
}

/* ways[] into range R of group G after CHANGES, given START: at most nr * nr. */
static int ways(const assign_table *t, int g, int start, int changes, int r, struct step *out) {
    int n = 0, trips = segment_of(t, g)->trips;
    if (!is_first(t, g)) {
        for (int from = 0; from < t->nr; from++) {
            int before = changes - (from == r ? 0 : trips);
            if (before < 0) continue;
            double reach = reach_of(t, g - 1, start, before, from);
            if (reach < INFINITY)
                out[n++] = (struct step){start, before, from,
                                         reach + trips * move_price(t, g - 1, from, r)};
        }
        return n;
    }
    if (g == 0 || (trips > 1 && start != r)) return 0;
    bool loop = starts(t, g - 1) > 1;
    for (int s = 0; s < starts(t, g - 1); s++)
        for (int from = 0; from < t->nr; from++) {
            int before = changes - (from != r);
            if (loop) before -= closing_changes(t, g - 1, from, s);
            if (before < 0) continue;
            double reach = reach_of(t, g - 1, s, before, from);
            if (!(reach < INFINITY)) continue;
            double close = loop ? closing(t, g - 1, from, s) : 0;
            out[n++] =
                (struct step){s, before, from, reach + close + move_price(t, g - 1, from, r)};
        }
    return n;
}

/* Prices of moving from a range to any other, after group G - 1. */
static const double *moves_from(assign_table *t, int g, int trips, size_t from) {
    size_t nr = (size_t)t->nr;
    double *row = t->move + from * nr;
    if (t->priced[from]) return row;
    for (size_t to = 0; to < nr; to++)
        row[to] = trips * move_price(t, g - 1, (int)from, (int)to);
    row[from] = INFINITY;
    t->priced[from] = true;
    return row;
}

/* Inside a segment, where the way in changes neither start nor loop: over rows of numbers. */
static void reach_inside(assign_table *t, int g) {
    int trips = segment_of(t, g)->trips;
    size_t nr = (size_t)t->nr;
    double most = trips * t->completion * (t->most_us + t->m->bytes[g - 1] * t->most_byte_us);
    memset(t->priced, 0, nr * sizeof *t->priced);
    for (int s = 0; s < starts(t, g); s++)
        for (int b = 0; b < t->nb; b++) {
            double *here = state(t, g, s, b);
            memcpy(here, reach_row(t, g - 1, s, b), nr * sizeof *here);
            const double *change = b >= trips ? reach_row(t, g - 1, s, b - trips) : NULL;
            /* A range dearer than two others by more than any move is never moved from. */
            double least = INFINITY, second = INFINITY;
            for (size_t from = 0; change && from < nr; from++) {
                double reach = change[from], more = reach > least ? reach : least;
                least = reach < least ? reach : least;
                second = more < second ? more : second;
            }
            for (size_t from = 0; change && from < nr; from++) {
                double reach = change[from];
                if (!(reach < INFINITY) || reach > second + most) continue;
                const double *move = moves_from(t, g, trips, from);
                for (size_t r = 0; r < nr; r++)
                    here[r] = reach + move[r] < here[r] ? reach + move[r] : here[r];
            }
            for (size_t r = 0; r < nr; r++)
                here[r] += t->cost[(size_t)g * nr + r];
        }
}

/* The segment before group G as a whole, its loop closed: left[] gets the cheapest price of having
 * run it, by changes of range so far and the range of its last group. Nothing after it depends
 * on the range that its loop began with. */
static void leave(assign_table *t, int g) {
    bool loop = starts(t, g - 1) > 1;
    for (int b = 0; b < t->nb; b++)
        for (int from = 0; from < t->nr; from++) {
            double best = INFINITY;
            bool own = starts_here(t, g - 1);
            for (int s = own ? from : 0; s < (own ? from + 1 : starts(t, g - 1)); s++) {
                int before = b - (loop ? closing_changes(t, g - 1, from, s) : 0);
                if (before < 0) continue;
                double reach = reach_of(t, g - 1, s, before, from);
                if (loop && reach < best) reach += closing(t, g - 1, from, s);
                best = reach < best ? reach : best;
            }
            t->left[b * t->nr + from] = best;
        }
}

/* The cheapest of ways[] into each state of the first group of a segment. */
static void reach_first(assign_table *t, int g) {
    if (g) leave(t, g);
    for (int b = 0; b < t->nb; b++)
        for (int r = 0; r < t->nr; r++) {
            double best = g == 0 && b == 0 ? 0 : INFINITY;
            for (int from = 0; g && from < t->nr; from++) {
                int before = b - (from != r);
                double left = before < 0 ? INFINITY : t->left[before * t->nr + from];
                if (left < best) left += move_price(t, g - 1, from, r);
                best = left < best ? left : best;
            }
            state(t, g, 0, b)[r] = best + t->cost[g * t->nr + r];
        }
}

static void price_groups(assign_table *t, const assign_prices *p) {
    const et_assign_model *m = t->m;
    t->completion = p->completion;
    for (int r = 0; r < t->nr; r++) {
        double per_us = p->completion;
        for (int u = 0; u < t->pr->nunits; u++)
            if (t->pr->units[r] >> u & 1) per_us += p->unit[u];
        for (int g = 0; g < m->ngroups; g++) {
            double us = m->us[g * t->nr + r];
            t->cost[g * t->nr + r] = us < INFINITY ? segment_of(t, g)->trips *
                                                         (us * per_us + p->memory * m->memory_us[g])
                                                   : INFINITY;
        }
    }
}

/* Ends of plans that cost at most LIMIT, cheapest first: states of the last group with what closing
 * its loop adds. *LEAST: what the cheapest of all costs. */
static int ends(assign_table *t, double limit, double *least) {
    int g = t->m->ngroups - 1, n = 0;
    *least = INFINITY;
    for (int s = 0; s < starts(t, g); s++)
        for (int b = 0; b < t->nb; b++)
            for (int r = 0; r < t->nr; r++) {
                int more = starts(t, g) > 1 ? closing_changes(t, g, r, s) : 0;
                double price = reach_of(t, g, s, b, r);
                if (!(price < INFINITY) || b + more >= t->nb) continue;
                price += starts(t, g) > 1 ? closing(t, g, r, s) : 0;
                *least = price < *least ? price : *least;
                if (price <= limit) t->end[n++] = (struct step){s, b, r, price};
            }
    qsort(t->end, (size_t)n, sizeof *t->end, by_price);
    return n;
}

struct walk {
    assign_table *t;
    double limit;
    int *range; /* by group, as the rest */
    int *near, *tried;
    double *rest;
    assign_plan_fn fn;
    void *ctx;
};

/* How a plan gets to state AT of group G: the ways in that are near enough, cheapest first, of
 * which so many have been tried, and the price of what follows AT, AT itself included. */
static void look_back(struct walk *w, int g, struct step at, double after) {
    assign_table *t = w->t;
    struct step *in = t->in[g];
    w->range[g] = at.range;
    int n = ways(t, g, at.start, at.changes, at.range, in);
    w->rest[g] = after + t->cost[g * t->nr + at.range];
    w->tried[g] = 0;
    w->near[g] = n == 0 ? -1 : 0; /* the plan begins here */
    for (int i = 0; i < n; i++)
        if (in[i].price + w->rest[g] <= w->limit) in[w->near[g]++] = in[i];
    if (n) qsort(in, (size_t)w->near[g], sizeof *in, by_price);
}

/* All plans that end in state AT of group LAST, cheapest ways first; AFTER is the price of what
 * follows. False when FN wants no more. */
static bool walk_back(struct walk *w, int last, struct step at, double after) {
    assign_table *t = w->t;
    look_back(w, last, at, after);
    for (int g = last; g <= last;) {
        if (w->near[g] < 0 && !w->fn(w->ctx, w->range)) return false;
        if (w->tried[g] >= w->near[g]) {
            g++;
            continue;
        }
        struct step in = t->in[g][w->tried[g]++];
        double reach = reach_of(t, g - 1, in.start, in.changes, in.range);
        look_back(w, g - 1, in, w->rest[g] + (in.price - reach));
        g--;
    }
    return true;
}

bool assign_each_plan(assign_table *t, double limit, assign_plan_fn fn, void *ctx) {
    double least;
    int last = t->m->ngroups - 1, n = ends(t, limit, &least);
    size_t groups = (size_t)last + 1;
    struct walk w = {.t = t, .limit = limit, .fn = fn, .ctx = ctx};
    w.range = malloc(3 * groups * sizeof *w.range);
    w.rest = malloc(groups * sizeof *w.rest);
    if (!w.range || !w.rest) et_no_memory();
    w.near = w.range + groups;
    w.tried = w.near + groups;
    bool all = true;
    for (int i = 0; all && i < n; i++) {
        double reach = reach_of(t, last, t->end[i].start, t->end[i].changes, t->end[i].range);
        all = walk_back(&w, last, t->end[i], t->end[i].price - reach);
    }
    free(w.range);
    free(w.rest);
    return all;
}

struct first {
    int *range;
    int n;
};

static bool take_first(void *ctx, const int *range) {
    struct first *f = ctx;
    memcpy(f->range, range, (size_t)f->n * sizeof *range);
    return false;
}

double assign_cheapest(assign_table *t, const assign_prices *p, int *range) {
    price_groups(t, p);
    for (int g = 0; g < t->m->ngroups; g++)
        if (is_first(t, g))
            reach_first(t, g);
        else
            reach_inside(t, g);
    double best;
    ends(t, -INFINITY, &best);
    if (!(best < INFINITY)) return INFINITY;
    struct first f = {range, t->m->ngroups};
    assign_each_plan(t, best + fabs(best) * 1e-12, take_first, &f);
    return best;
}
