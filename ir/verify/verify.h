/* verify.h - prove that a scheduled program's events order what must be ordered.
 *
 * For the declared bounds of the symbols: any two tasks that touch the same memory, one of them
 * writing, are ordered by events, in program order; every counter gets exactly the arrivals its
 * event counts; every wait is for tasks that come before in the order one workgroup visits them,
 * and dynamic tasks are queued with room to spare, which lets any number of resident workgroups
 * make progress; every counter a task waits for or notifies exists; the scope of an event reaches
 * every task that waits for it. VERIFIER.md says what of that is proved for all values of the
 * symbols at once and what value by value.
 *
 * It shares no reasoning with the passes that made the events. What it does share is how a program
 * is read: what a step touches (ir/program/step.h), held to what the interpreter sees touched in
 * tests/passes/pipeline, and where queues lie (ir/program/queue.h), held to kernels that run on the
 * emulator; and arithmetic of integers (ir/expr/int_ops.h), held to 128 bits in tests/unit/ir. */
#ifndef ET_VERIFY_H
#define ET_VERIFY_H

#include "ir/program/program.h"

/* How it is shown: for all values of the symbols at once, or value by value where that fails; or
 * one of the two alone, for tests. */
typedef enum { ET_VERIFY_EITHER, ET_VERIFY_AT_ONCE, ET_VERIFY_BY_VALUE } et_verify_how;

enum { ET_VERIFY_WORK = 400000000 }; /* some twenty seconds */

typedef struct {
    int dies;          /* of the device, 0 when not known: tasks may then be on different ones */
    int64_t work;      /* how much may be looked at, in steps of some tens of nanoseconds, value by
                          value and, of all numbers of iterations, at once; 0: ET_VERIFY_WORK */
    int64_t step_work; /* how much for one condition inside of a task; 0: no such limit */
    et_verify_how how;
} et_verify_options;

/* What was looked at. */
typedef struct {
    int64_t values;  /* of the symbols; none where everything was shown for all at once */
    bool exhaustive; /* all values within the bounds */
    bool proved;     /* for all values, whether looked at or not; false: an error says what not */
    int64_t tasks;   /* at the largest value */
    int64_t pairs;   /* of accesses shown to be ordered or apart */
    int64_t work;
    int64_t step_work; /* of that which was done for what happens inside of tasks */
} et_verify_report;

/* False with errors in the diagnostics that name the two tasks and what is missing between them, or
 * what could not be shown: nothing that is not proved for every value of the symbols passes.
 * P keeps its meaning; expressions may be added to its pool. OUT_REPORT may be NULL. */
bool et_verify(et_program *p, const et_verify_options *, et_diags *, et_verify_report *out_report);

#endif
