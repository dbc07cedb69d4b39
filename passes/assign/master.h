/* master.h - the linear program over plans, as the files that solve it share it. */
#ifndef ET_ASSIGN_MASTER_H
#define ET_ASSIGN_MASTER_H

#include "passes/assign/int.h"
#include <glpk.h>

/* A plan of a model; column K of the program is plan K - 2. */
struct column {
    int model;
    int *range;
    assign_plan_cost cost;
};

struct master {
    const et_assign_problem *p;
    et_arena *arena;
    assign_table **table;
    struct column *column;
    int ncolumns, ccolumns;
    glp_prob *lp;
    double best_bound;
    int *scratch;
    et_assignment *best;
    int nodes, steps, max_nodes, max_plans;
    int adding; /* the model whose plans are being collected */
    int added;
    int **fixed; /* by model and group: its range while diving, or -1 */
};

bool assign_master_solve(struct master *);
/* A plan that none of its model makes superfluous, or any if EVEN_WORSE. */
bool assign_master_add(struct master *, int model, const int *range, bool even_worse);
/* Prices of the relaxation as it was solved, such that no model's cheapest plan at them says more
 * than the bound allows. */
void assign_master_prices(const struct master *, int model, assign_prices *out);
/* Keeps the choice of the plans that have most of each model, if it is better. */
void assign_master_round(struct master *);

/* To a choice that is near the relaxation: groups are fixed on the ranges that have most of them,
 * the largest first, and the relaxation is solved again, until all are (dive.c). */
void assign_dive(struct master *);

#endif
