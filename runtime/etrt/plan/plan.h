/* plan.h - how the workgroups of a device are divided among the models that have steps.
 *
 * The chip is so many equal units, at most ETRT_PACE_UNITS, in the order of ranks; a plan gives
 * each of these models a run of units. With us(m, w) what a step of m takes on w of them,
 *
 *     maximise  sum over m of weight(m) * us(m, all) / us(m, w(m))
 *     where     us(m, w(m)) <= sum over k of us(k, all)     nobody waits longer than in turns
 *               us(m, w(m)) <= latency(m)                   where one is wished for
 *               the runs of m and k have no unit in common; that of m has the unit home(m)
 *
 * which is an integer program with a choice of one width for each model. Dynamic programming over
 * models and units solves it exactly, so it is solved when a step comes, with what has been
 * measured until then; a condition that cannot be met is missed by as little as can be. A plan in
 * force stays until another promises 2 % more. us is predicted by the compiler and corrected by
 * what steps took: an exponential mean of their ratio for each size and width, and for widths not
 * tried yet what lies between those of the next ones that were, and 7 % less. What is long ago
 * fades, so what was slow once is tried again. */
#ifndef ETRT_PLAN_PLAN_H
#define ETRT_PLAN_PLAN_H

#include "runtime/etrt/manifest/manifest.h"

/* What is known of a model while it stays. */
struct etrt_pace {
    const struct etrt_pacing *by; /* predictions, or none */
    double weight, latency_ns;
    int size;                                          /* of the step that it has, or had last */
    double ratio[ETRT_MAX_SIZES][ETRT_PACE_UNITS + 1]; /* by width; 0: not known */
};

/* A model that has a step; and what the plan in force gives it, or a new one: no units where there
 * is none. */
struct etrt_claim {
    const struct etrt_pace *pace;
    int home;
    int from, units;
};

int etrt_pace_size(const struct etrt_pacing *, const int64_t *dims);
/* UNITS of so many, in ETRT_PACE_UNITS parts of the chip. */
static inline int etrt_pace_parts(int units, int of) {
    int parts = units * ETRT_PACE_UNITS / of;
    return parts ? parts : 1;
}
/* What a step took of late on PARTS of ETRT_PACE_UNITS parts of the chip, in ns; 0: not known. */
double etrt_pace_known(const struct etrt_pace *, int parts);
/* The same, where it is not known as plans take it. */
double etrt_pace_expected(const struct etrt_pace *, int parts);
/* A step took NS on PARTS of ETRT_PACE_UNITS parts of the chip. */
void etrt_pace_measured(struct etrt_pace *, int parts, double ns);
/* The plan for N models with homes in ascending order, on UNITS >= N. False: each on all units, one
 * after the other, is better, or has not been seen yet. */
bool etrt_plan(struct etrt_claim *, int n, int units);

#endif
