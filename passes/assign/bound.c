/* A bound where the linear program's is weak: a loop whose groups cannot change range within the
 * budget is on one range, while a mixture of plans has it on many. All choices of a range for the
 * longest such part of each model are looked at; what the rest takes, wherever it is, is added. */
#include "passes/assign/int.h"
#include <math.h>
#include <string.h>

enum { MOST_LOOKED_AT = 400000 };

struct part {
    double *us;      /* by range: the part's time */
    bool given;      /* is there such a part? */
    double rest_us;  /* of all else, on the range where it takes least */
    double rest_cus; /* the same, in units times time */
    double least;    /* units times time of the part */
};

struct bound {
    const et_assign_problem *p;
    struct part *part;
    double load[ET_ASSIGN_UNITS];
    double best;
    int left;
};

/* Changing range inside a loop takes a change each time, and one to begin again but the last time.
 */
static bool is_rigid(const et_assign_model *m, const et_assign_segment *s) {
    return s->count == 1 || assign_budget(m) < 2 * (int64_t)s->trips - 1;
}

static double part_us(const et_assign_problem *p, const et_assign_model *m,
                      const et_assign_segment *s, int r) {
    double us = 0;
    for (int g = s->first; g < s->first + s->count; g++)
        us += m->us[g * p->nranges + r] * s->trips;
    return us;
}

static const et_assign_segment *longest(const et_assign_problem *p, const et_assign_model *m) {
    const et_assign_segment *out = NULL;
    double most = 0;
    for (int s = 0; s < m->nsegments; s++) {
        double least = INFINITY;
        for (int r = 0; r < p->nranges; r++)
            least = fmin(least, part_us(p, m, &m->segments[s], r));
        if (!is_rigid(m, &m->segments[s]) || !(least < INFINITY) || least <= most) continue;
        most = least;
        out = &m->segments[s];
    }
    return out;
}

static double width(const et_assign_problem *p, int r) {
    return __builtin_popcountll(p->units[r]);
}

static void find_part(const et_assign_problem *p, const et_assign_model *m, et_arena *a,
                      struct part *out) {
    const et_assign_segment *s = longest(p, m);
    out->given = s != NULL;
    out->us = et_alloc(a, (size_t)p->nranges * sizeof *out->us);
    out->least = s ? INFINITY : 0;
    for (int r = 0; s && r < p->nranges; r++) {
        out->us[r] = part_us(p, m, s, r);
        out->least = fmin(out->least, out->us[r] * width(p, r));
    }
    for (int g = 0; g < m->ngroups; g++) {
        if (s && g >= s->first && g < s->first + s->count) continue;
        double us = INFINITY, cus = INFINITY;
        for (int r = 0; r < p->nranges; r++) {
            us = fmin(us, m->us[g * p->nranges + r]);
            cus = fmin(cus, m->us[g * p->nranges + r] * width(p, r));
        }
        out->rest_us += us * assign_trips(m, g);
        out->rest_cus += cus * assign_trips(m, g);
    }
}

/* Models from M on, when those before take at least T with a weighted MEAN of completions so far,
 * and all of them at least WORK units times time. */
static void look(struct bound *b, int m, double t, double mean, double work) {
    const et_assign_problem *p = b->p;
    t = fmax(t, work / p->nunits);
    if (t + assign_epsilon * mean >= b->best || b->left-- <= 0) return;
    if (m == p->nmodels) {
        b->best = t + assign_epsilon * mean;
        return;
    }
    const struct part *part = &b->part[m];
    double weight = p->models[m].weight;
    for (int r = 0; r < (part->given ? p->nranges : 1); r++) {
        double us = part->given ? part->us[r] : 0, done = weight * (us + part->rest_us), most = t;
        uint64_t units = part->given ? p->units[r] : 0;
        if (!(us < INFINITY)) continue;
        for (uint64_t left = units; left; left &= left - 1)
            most = fmax(most, b->load[__builtin_ctzll(left)] += us);
        double more = part->given ? us * width(p, r) - part->least : 0;
        look(b, m + 1, fmax(most, done), mean + done / p->nmodels, work + more);
        for (uint64_t left = units; left; left &= left - 1)
            b->load[__builtin_ctzll(left)] -= us;
    }
}

double assign_rigid_bound(const et_assign_problem *p, et_arena *a, double above) {
    struct bound b = {.p = p, .best = above, .left = MOST_LOOKED_AT};
    double work = 0, memory = 0;
    b.part = et_alloc(a, (size_t)p->nmodels * sizeof *b.part);
    for (int m = 0; m < p->nmodels; m++) {
        const et_assign_model *md = &p->models[m];
        find_part(p, md, a, &b.part[m]);
        work += b.part[m].least + b.part[m].rest_cus;
        for (int g = 0; g < md->ngroups; g++)
            memory += md->memory_us[g] * assign_trips(md, g);
    }
    look(&b, 0, memory, 0, work);
    return b.left > 0 ? b.best : 0;
}
