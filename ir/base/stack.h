/* stack.h - room for what recurses. */
#ifndef ET_STACK_H
#define ET_STACK_H

#include <stddef.h>

/* Everything here that recurses has a bound on its depth, but LLVM's recursion follows the length
 * of expressions, and what the shell gives a process (`ulimit -s`) may be little for either. */
#define ET_STACK ((size_t)64 << 20)

/* Calls FN on a stack of ET_STACK bytes, and returns when it has; on the caller's own where the
 * system has no such stack to give. */
void et_with_stack(void (*fn)(void *ctx), void *ctx);

#endif
