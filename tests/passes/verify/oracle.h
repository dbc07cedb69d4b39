/* oracle.h - what a program must order and whether its events do, task by task and element by
 * element, at given values of the symbols. Slow, plain, and shares nothing with the verifier or the
 * interpreter's race check: it says which mutants change a program's meaning. */
#ifndef ORACLE_H
#define ORACLE_H

#include "ir/program/program.h"

typedef struct oracle oracle;

/* Run P in program order on memory[] (as et_program_run wants it) and note which pairs of tasks
 * touch the same memory, one of them writing, on a device of so many DIES. NULL when it does not
 * run or has more than MOST tasks. */
oracle *oracle_create(et_program *p, const int64_t *syms, void *const *memory, int most, int dies);
void oracle_destroy(oracle *);

/* The events of P, which has the tasks the oracle was made of, let every task start in the end (one
 * workgroup, program order, tiles that are claimed in turn in theirs) and order every pair noted.
 * WHY says what is wrong otherwise. */
bool oracle_accepts(oracle *, const et_program *p, char why[256]);

#endif
