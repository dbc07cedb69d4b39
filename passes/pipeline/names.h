/* names.h - names of tensors and tasks, made from the names in the source. passes/README.md has the
 * rules. */
#ifndef ET_SOURCE_NAMES_H
#define ET_SOURCE_NAMES_H

#include "ir/graph/graph.h"

/* Is the value computed where it is read, and so a part of what reads it? */
typedef bool (*et_folded_fn)(void *ctx, et_value);

/* The name of value V, and of the task that computes it with all that is FOLDED into it (or NULL:
 * nothing is). Equal names are not told apart yet. */
const char *et_source_name(const et_graph *, et_value v, et_folded_fn folded, void *ctx);

#endif
