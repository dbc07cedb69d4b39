/* int.h - what the files of the placement program share. */
#ifndef ET_ASSIGN_INT_H
#define ET_ASSIGN_INT_H

#include "passes/assign/assign.h"

static const double assign_epsilon = 1e-3;

/* Prices of the rows of the linear program: of a model's completion, per unit, of memory. */
typedef struct {
    double completion;
    double unit[ET_ASSIGN_UNITS];
    double memory;
} assign_prices;

/* The rows one plan of a model enters. */
typedef struct {
    double us, memory_us;
    int64_t changes; /* of range */
    double load[ET_ASSIGN_UNITS];
} assign_plan_cost;

/* False where the plan breaks the budget or uses a range that is not allowed. */
bool assign_plan_cost_of(const et_assign_problem *, const et_assign_model *, const int *range,
                         assign_plan_cost *out);
et_assignment *assign_new(const et_assign_problem *, et_arena *, et_assignment *);

/* ---- plan.c: plans of one model under prices ---- */
typedef struct assign_table assign_table;
assign_table *assign_table_create(const et_assign_problem *, const et_assign_model *, et_arena *);
/* Price of the cheapest plan, which goes to RANGE; infinite when there is none. */
double assign_cheapest(assign_table *, const assign_prices *, int *range);
/* Call FN for the plans of price at most LIMIT under the prices last given to assign_cheapest,
 * until it returns false. True when it has seen them all. */
typedef bool (*assign_plan_fn)(void *ctx, const int *range);
bool assign_each_plan(assign_table *, double limit, assign_plan_fn, void *ctx);

#endif
