/* assign.h - which range of CUs every group of tiles gets: the integer program behind placement.
 *
 * The chip is cut into units (a shader engine of a die, say); a range is a set of units. Models run
 * side by side, each a sequence of groups, some of them in loops whose iterations all use the same
 * ranges. A plan gives each group of one model a range. For chosen plans,
 *
 *     completion of m   C(m) = sum of its groups' times on their ranges, and of what moving from
 *                              range to range costs
 *     load of unit u    L(u) = sum over models of the times of groups whose range has u
 *     memory            B    = sum of the times that all groups' bytes take at the whole bandwidth
 *
 *     minimise  T + epsilon * mean of weight(m) * C(m),   T >= weight(m) * C(m), L(u), B
 *
 * so models that overlap are charged the time they share, and neighbours that do not are charged
 * nothing. Everything is linear in the choice of one plan per model. */
#ifndef ET_ASSIGN_H
#define ET_ASSIGN_H

#include "ir/base/arena.h"
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { ET_ASSIGN_UNITS = 64, ET_ASSIGN_BUDGET = 64 };

/* Groups [first, first + count), run TRIPS times in a row. */
typedef struct {
    int first, count, trips;
} et_assign_segment;

typedef struct {
    const char *name;
    double weight; /* > 0: a model of weight 2 must be done in half the time */
    int ngroups;
    const double *us;        /* [ngroups][nranges], one run; infinite: it cannot be there */
    const double *memory_us; /* [ngroups], one run: its bytes at the bandwidth of the chip */
    const double *bytes;     /* [ngroups] that a run hands to the group after it */
    int nsegments;
    const et_assign_segment *segments; /* cover the groups, in order */
    int switch_budget;                 /* range changes per launch, at most ET_ASSIGN_BUDGET */
} et_assign_model;

typedef struct {
    int nunits, nranges;
    const uint64_t *units;   /* [nranges]: bit u is unit u */
    const double *switch_us; /* [nranges][nranges]: moving from one to another, 0 on the diagonal */
    const double *byte_us;   /* [nranges][nranges]: per byte handed over */
    int nmodels;
    const et_assign_model *models;
    int max_plans; /* plans per model the integer program chooses from; 0: 4000 */
    int max_nodes; /* of its branch and bound; 0: 20000. Counts, not times, so that builds repeat */
} et_assign_problem;

typedef struct {
    int **range;      /* [nmodels][ngroups] */
    double objective; /* of this choice */
    double makespan;  /* T of it, us */
    double *us;       /* [nmodels]: C(m) */
    double bound;     /* a lower bound of the objective, or 0 where there is none */
    bool optimal;     /* no choice is better */
    int plans, nodes; /* visited */
} et_assignment;

/* What a choice costs; RANGE as in et_assignment. Infinite when it is not allowed. */
void et_assign_evaluate(const et_assign_problem *, int *const *range, et_assignment *out);

/* The best choice, by integer program over plans that dynamic programming proposes. Needs GLPK:
 * false when built without, or when some model has no plan at all. */
bool et_assign_optimal(const et_assign_problem *, et_arena *, et_assignment *out);
/* Greedy: group after group, models in turn, the best range given the choices so far. */
bool et_assign_greedy(const et_assign_problem *, et_arena *, et_assignment *out);
/* Every group on range R of its model: the baselines "all" and "one range per model". */
bool et_assign_fixed(const et_assign_problem *, et_arena *, const int *range_of_model,
                     et_assignment *out);
/* One range per model, no two of which overlap: the best such choice, of the first 200,000. */
bool et_assign_partition(const et_assign_problem *, et_arena *, et_assignment *out);

#endif
