/* Diving: what is fixed first has most of its time still to be evened out by what is not, so large
 * groups come before small ones. */
#ifdef ETCC_GLPK
#include "passes/assign/master.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    ROUNDS = 8,
    PART = 8,
    LEAST = 2
}; /* solutions, and what part of the groups is fixed, a turn */

static void fix(struct master *s, int m, int g, int r) {
    s->fixed[m][g] = r;
    assign_fix(s->table[m], g, r);
}

static bool allowed(const struct master *s, const struct column *c) {
    for (int g = 0; g < s->p->models[c->model].ngroups; g++) {
        int r = s->fixed[c->model][g];
        if (r >= 0 && r != c->range[g]) return false;
    }
    return true;
}

static void allow_columns(struct master *s) {
    for (int c = 0; c < s->ncolumns; c++)
        glp_set_col_bnds(s->lp, c + 2, allowed(s, &s->column[c]) ? GLP_LO : GLP_FX, 0, 0);
}

/* Every model has a plan that keeps to what is fixed: one is made where there is none. */
static bool complete(struct master *s) {
    for (int m = 0; m < s->p->nmodels; m++) {
        bool any = false;
        for (int c = 0; c < s->ncolumns && !any; c++)
            any = s->column[c].model == m && allowed(s, &s->column[c]);
        if (any) continue;
        assign_prices even = {.completion = 1};
        for (int u = 0; u < s->p->nunits; u++)
            even.unit[u] = 1.0 / s->p->nunits;
        if (!(assign_cheapest(s->table[m], &even, s->scratch) < INFINITY)) return false;
        assign_master_add(s, m, s->scratch, true);
    }
    return true;
}

static bool solve_again(struct master *s) {
    for (int round = 0; round < ROUNDS; round++) {
        if (!assign_master_solve(s)) return false;
        bool more = false;
        for (int m = 0; m < s->p->nmodels; m++) {
            assign_prices price;
            assign_master_prices(s, m, &price);
            if (assign_cheapest(s->table[m], &price, s->scratch) < INFINITY)
                more |= assign_master_add(s, m, s->scratch, false);
        }
        if (!more) return true;
    }
    return assign_master_solve(s);
}

/* The range that has most of a group. */
struct wish {
    int model, group, range;
    double urge;
};

static int by_urge(const void *a, const void *b) {
    const struct wish *x = a, *y = b;
    if (x->urge != y->urge) return x->urge > y->urge ? -1 : 1;
    return x->model != y->model ? x->model - y->model : x->group - y->group;
}

/* Of all groups that are not fixed, most urgent first. */
static int wishes(const struct master *s, struct wish *out, double *part) {
    int n = 0, nr = s->p->nranges;
    for (int m = 0; m < s->p->nmodels; m++) {
        const et_assign_model *md = &s->p->models[m];
        for (int g = 0; g < md->ngroups; g++) {
            if (s->fixed[m][g] >= 0) continue;
            memset(part, 0, (size_t)nr * sizeof *part);
            for (int c = 0; c < s->ncolumns; c++)
                if (s->column[c].model == m)
                    part[s->column[c].range[g]] += glp_get_col_prim(s->lp, c + 2);
            int best = 0;
            for (int r = 1; r < nr; r++)
                if (part[r] > part[best]) best = r;
            double us = md->us[g * nr + best] * assign_trips(md, g);
            double work = us * __builtin_popcountll(s->p->units[best]);
            out[n++] = (struct wish){m, g, best, part[best] * cbrt(work)};
        }
    }
    qsort(out, (size_t)n, sizeof *out, by_urge);
    return n;
}

void assign_dive(struct master *s) {
    const et_assign_problem *p = s->p;
    int groups = 0;
    s->fixed = et_alloc(s->arena, (size_t)p->nmodels * sizeof *s->fixed);
    for (int m = 0; m < p->nmodels; m++) {
        s->fixed[m] = et_alloc(s->arena, (size_t)p->models[m].ngroups * sizeof **s->fixed);
        for (int g = 0; g < p->models[m].ngroups; g++, groups++)
            s->fixed[m][g] = -1;
    }
    struct wish *wish = et_alloc(s->arena, (size_t)groups * sizeof *wish);
    double *part = et_alloc(s->arena, (size_t)p->nranges * sizeof *part);
    for (;;) {
        allow_columns(s);
        if (!complete(s) || !solve_again(s)) break;
        assign_master_round(s);
        int n = wishes(s, wish, part);
        if (!n || glp_get_obj_val(s->lp) >= s->best->objective * (1 - 1e-7)) break;
        for (int i = 0; i < n && (i < LEAST || i < n / PART); i++)
            fix(s, wish[i].model, wish[i].group, wish[i].range);
    }
    for (int m = 0; m < p->nmodels; m++)
        for (int g = 0; g < p->models[m].ngroups; g++)
            fix(s, m, g, -1);
    allow_columns(s);
}

#else
/* A file has to hold something. */
typedef int assign_dive_needs_glpk;
#endif
