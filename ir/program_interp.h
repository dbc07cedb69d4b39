/* program_interp.h - run an event-tensor program in plain C: the oracle for codegen and schedules.
 */
#ifndef ET_PROGRAM_INTERP_H
#define ET_PROGRAM_INTERP_H

#include "program.h"

/* Run every task of P once, in an order that its events allow, chosen by SEED (0: program order
 * where possible). Arithmetic is float32; stores round to the tensor's type. Sums are not in the
 * kernel's order, so results agree with it to rounding only.
 *
 * SYMS gives the symbols. TENSOR[i] is the memory of tensor i, row-major in its storage type at
 * these symbols (row-major, contiguous); entries of temporaries and constants are ignored. The
 * workspace starts out filled with NaNs. False with a message that names the task when no task can
 * start, an event is notified too often, or an index leaves its tensor. */
bool et_program_interp(et_program *p, const int64_t *syms, void *const *tensor, uint64_t seed,
                       char err[256]);

#endif
