/* tool.h - programs that make one file of another, as assemblers and linkers do. */
#ifndef ET_TOOL_H
#define ET_TOOL_H

#include "ir/base/arena.h"
#include <stddef.h>

/* Runs ARGV, whose last is NULL: its standard input is a file of the BYTES at IN, its standard
 * output an empty one. They have no names, so nothing is left behind however this ends, and the
 * tool may open them as /dev/stdin and /dev/stdout. Returns what came out, of *OUT_BYTES, for
 * free(), and *OUT_SAID, in the arena, is the beginning of what it wrote to its standard error.
 * NULL when it could not be started or failed: then *OUT_SAID says so, for an error after its name.
 */
char *et_tool_run(et_arena *, const char *const *argv, const void *in, size_t bytes,
                  size_t *out_bytes, char **out_said);

#endif
