/* described.h - is all that the interpreter sees a step touch in the description of the step? The
 * passes, the verifier and codegen know of a step what ir/program/step.h says; the interpreter does
 * not ask there. */
#ifndef DESCRIBED_H
#define DESCRIBED_H

#include "ir/interp/interp.h"

typedef struct described described;
/* FORGET is the name of an expression of steps that is taken to be missing in the description, or
 * "to" for the places stored to, or "". */
described *described_create(et_arena *, et_program *, const int64_t *syms, const char *forget);
/* For et_interp_options. */
void described_touch(void *described, const et_interp_touch *);
/* What was touched and is not described, or NULL; it says how many elements were looked at. */
const char *described_wrong(const described *, int64_t *out_looked_at);

#endif
