/* steps.h - what is proved of the steps of device functions, whatever the order of tasks: that
 * indices stay inside what they index, that work-items of one step do not race, that nothing is
 * read before it is written. All of it for all values of the dims at once. */
#ifndef ET_VERIFY_STEPS_H
#define ET_VERIFY_STEPS_H

#include "ir/base/diag.h"
#include "ir/program/program.h"

/* False with errors in the diagnostics. No more than LIMIT is done for one condition; 0: there is
 * none but that of the search. What was done is added to *WORK, in steps of some tens of
 * nanoseconds. Expressions may be added to the program's pool. */
bool et_verify_steps(et_program *, et_diags *, int64_t limit, int64_t *work);

/* Did passes make the program of a graph? Then its user has no schedule to mend. */
bool sv_is_made(const et_program *);
/* How an error begins. */
const char *sv_lead(const et_program *);

#endif
