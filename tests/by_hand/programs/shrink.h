/* shrink.h - a smaller program that fails in the same way. */
#ifndef PROGRAMS_SHRINK_H
#define PROGRAMS_SHRINK_H

#include <stdbool.h>

/* Tries what TEXT is without a line, and with a call or an operation replaced by one of its
 * operands, as long as FAILS says that the result still does and TRIES are left. Most of what is
 * tried is no program: FAILS says no to that. The result is malloc'd. */
char *shrink(const char *text, int tries, bool (*fails)(void *ctx, const char *text), void *ctx);

#endif
