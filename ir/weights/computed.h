/* computed.h - right operands of products that are computed of what they load: quantised weights,
 * above all. */
#ifndef ET_COMPUTED_H
#define ET_COMPUTED_H

#include "ir/program/program.h"

/* How E, an integer, changes as VAR grows by one: not at all, by a constant, monotonically, or
 * unknown. */
typedef enum { ET_STILL, ET_EVEN, ET_STEADY, ET_ANYHOW } et_growth;
et_growth et_growth_of(const et_exprs *, et_expr e, int var);
/* E at VAR = K, if it is the same for all VAR in [K, K + RUN); else none. */
et_expr et_same_in_run(et_exprs *, et_expr e, int var, et_expr k, int run);
/* The loads along KVAR that B, an operand, is computed of; false where there are none, more than
 * that, some of local memory, or some that only a choice makes. */
enum { ET_MOST_LOADS = 8 };
typedef struct {
    et_expr load[ET_MOST_LOADS];
    int n;
} et_loads;
bool et_loads_of(const et_exprs *, et_expr b, int kvar, et_loads *out);
/* Can codegen compute B in registers, without staging, where a lane has RUN consecutive values of
 * KVAR, and all waves together a multiple of what divides ROUND? Each load of B must be one element
 * for the run, or the run's elements, contiguous. Returns how many loads; 0: it cannot. */
int et_k_computed(const et_program *, et_expr b, int kvar, int run, int round);

#endif
