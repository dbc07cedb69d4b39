/* Which changes the search tries. */
#include "passes/assign/moves.h"
#include <math.h>

/* Relative to T: ranges that much dearer than the cheapest are drawn an e-th as often, until all
 * that remain are drawn this often. */
static const double warmth = 0.001, least_often = 0.001;

double assign_ln(double v) {
    int e;
    double m = frexp(v, &e);
    if (m < 0.7071067811865476) m *= 2, e--;
    double t = (m - 1) / (m + 1), sq = t * t, sum = 0;
    for (int k = 15; k >= 1; k -= 2)
        sum = sum * sq + 1.0 / k;
    return 2 * t * sum + e * 0.6931471805599453;
}

double assign_exp(double v) {
    if (v < -700) return 0;
    double n = floor(v * 1.4426950408889634 + 0.5), r = v - n * 0.6931471805599453, sum = 1;
    for (int k = 11; k >= 1; k--)
        sum = 1 + sum * r / k;
    return ldexp(sum, (int)n);
}

void assign_find_runs(struct assign_member *m) {
    for (int a = 0, b; a < m->n; a = b) {
        for (b = a + 1; b < m->n && m->range[b] == m->range[a];)
            b++;
        for (int g = a; g < b; g++) {
            m->first[g] = a;
            m->end[g] = b;
        }
    }
}

/* A range for the group: the dearer at the prices, the less often; now and then any. */
static int draw_range(struct assign_members *s, const struct assign_member *m, int g) {
    int at = assign_draw(s, 16 * ASSIGN_SLOTS);
    if (at >= 15 * ASSIGN_SLOTS) return assign_draw(s, s->p->nranges);
    return m->slot[g * ASSIGN_SLOTS + at % ASSIGN_SLOTS];
}

static struct assign_piece whole_run(struct assign_members *s, int i) {
    const struct assign_member *m = &s->member[i];
    int g = assign_draw(s, m->n);
    return (struct assign_piece){i, m->first[g], m->end[g], draw_range(s, m, g)};
}

/* Some groups from G on. */
static struct assign_piece few(struct assign_members *s, int i) {
    const struct assign_member *m = &s->member[i];
    int g = assign_draw(s, m->n), most = m->n - g < ASSIGN_AT_ONCE ? m->n - g : ASSIGN_AT_ONCE;
    return (struct assign_piece){i, g, g + 1 + assign_draw(s, most), draw_range(s, m, g)};
}

/* A run, or a part of it up to one of its groups, joins its neighbour. */
static bool join(struct assign_members *s, int i, bool part, struct assign_piece *out) {
    const struct assign_member *m = &s->member[i];
    int g = assign_draw(s, m->n), first = m->first[g], end = m->end[g];
    bool before = first > 0 && (end == m->n || assign_draw(s, 2));
    if (!before && end == m->n) return false;
    *out = before ? (struct assign_piece){i, first, part ? g + 1 : end, m->range[first - 1]}
                  : (struct assign_piece){i, part ? g : first, end, m->range[end]};
    return true;
}

/* Two runs change places. */
static void swap(struct assign_members *s, int i, struct assign_piece out[2]) {
    int k = assign_draw(s, s->p->nmodels);
    out[0] = whole_run(s, i);
    out[1] = whole_run(s, k);
    out[0].r = s->member[k].range[out[1].a];
    out[1].r = s->member[i].range[out[0].a];
}

static bool is_none(const struct assign_members *s, const struct assign_piece *e) {
    const struct assign_member *m = &s->member[e->model];
    return m->range[e->a] == e->r && e->b <= m->end[e->a];
}

/* Mostly an end of a run of groups moves, or a run goes elsewhere; now and then any few groups.
 * Where changes of range are used up, a run joins its neighbour while another is made; or two runs
 * change places. */
int assign_propose(struct assign_members *s, struct assign_piece out[2]) {
    int i = assign_draw(s, s->p->nmodels), what = assign_draw(s, 16), n = 1;
    if (what < 6) {
        if (!join(s, i, true, &out[0])) return 0;
    } else if (what < 9) {
        out[0] = whole_run(s, i);
    } else if (what < 11) {
        out[0] = few(s, i);
    } else if (what < 14) {
        if (!join(s, i, false, &out[0])) return 0;
        out[1] = few(s, i);
        n = 2;
    } else {
        swap(s, i, out);
        n = 2;
    }
    return is_none(s, &out[0]) || (n == 2 && is_none(s, &out[1])) ? 0 : n;
}

/* ---- what a model is to the search ---- */

static void weigh_ranges(const et_assign_problem *p, et_arena *a, double t,
                         struct assign_member *m) {
    size_t nr = (size_t)p->nranges;
    et_arena_mark mark = et_arena_set_mark(a);
    double *often = et_alloc(a, nr * sizeof *often);
    for (int g = 0; g < m->n; g++) {
        double least = INFINITY, sum = 0, at = 0;
        for (size_t r = 0; r < nr; r++) {
            often[r] = m->m->us[(size_t)g * nr + r] * assign_trips(m->m, g) * m->price[r];
            least = fmin(least, often[r]);
        }
        for (size_t r = 0; r < nr; r++)
            sum += often[r] = often[r] < INFINITY
                                  ? assign_exp((least - often[r]) / (warmth * t)) + least_often
                                  : 0;
        for (size_t r = 0, slot = 0; r < nr; r++) {
            at += often[r] / sum * ASSIGN_SLOTS;
            for (; slot < ASSIGN_SLOTS && (slot < at || r + 1 == nr); slot++)
                m->slot[(size_t)g * ASSIGN_SLOTS + slot] = (uint16_t)r;
        }
    }
    et_arena_release(a, mark);
}

static void add_times(const et_assign_problem *p, struct assign_member *m, size_t r) {
    size_t nr = (size_t)p->nranges, n = (size_t)m->n;
    double *upto = m->upto + r * (n + 1);
    int *fits = m->fits + r * (n + 1);
    for (size_t g = 0; g < n; g++) {
        double us = m->m->us[g * nr + r];
        upto[g + 1] = upto[g] + (us < INFINITY ? us * assign_trips(m->m, (int)g) : 0);
    }
    fits[n] = m->n;
    for (size_t g = n; g-- > 0;)
        fits[g] = m->m->us[g * nr + r] < INFINITY ? fits[g + 1] : (int)g;
}

static void create(const et_assign_problem *p, et_arena *a, const et_assign_model *m,
                   const assign_prices *price, struct assign_member *out) {
    size_t n = (size_t)m->ngroups, nr = (size_t)p->nranges;
    *out = (struct assign_member){.m = m, .n = m->ngroups, .budget = assign_budget(m)};
    out->range = et_alloc(a, n * sizeof *out->range);
    out->first = et_alloc(a, n * sizeof *out->first);
    out->end = et_alloc(a, n * sizeof *out->end);
    out->upto = et_alloc(a, (n + 1) * nr * sizeof *out->upto);
    out->fits = et_alloc(a, (n + 1) * nr * sizeof *out->fits);
    out->trips = et_alloc(a, n * sizeof *out->trips);
    out->loop = et_alloc(a, (size_t)m->nsegments * sizeof *out->loop);
    out->price = et_alloc(a, nr * sizeof *out->price);
    out->slot = et_alloc(a, n * ASSIGN_SLOTS * sizeof *out->slot);
    out->completion = price->completion;
    for (int i = 0; i < m->nsegments; i++) {
        const et_assign_segment *s = &m->segments[i];
        for (int g = 0; g < s->count; g++)
            out->trips[s->first + g] = g ? s->trips : 1;
        if (s->trips > 1)
            out->loop[out->nloops++] =
                (struct assign_loop){s->first, s->first + s->count - 1, s->trips - 1};
    }
    for (size_t r = 0; r < nr; r++) {
        out->price[r] = price->completion;
        for (uint64_t left = p->units[r]; left; left &= left - 1)
            out->price[r] += price->unit[__builtin_ctzll(left)];
        add_times(p, out, r);
    }
}

void assign_members_create(const et_assign_problem *p, et_arena *a, const assign_prices *by_model,
                           double t, struct assign_members *out) {
    *out = (struct assign_members){p, et_alloc(a, (size_t)p->nmodels * sizeof *out->member), 1};
    for (int i = 0; i < p->nmodels; i++) {
        create(p, a, &p->models[i], &by_model[i], &out->member[i]);
        weigh_ranges(p, a, t, &out->member[i]);
    }
}
