/* tool.h - runs programs that turn one file into another, such as assemblers and linkers. */
#ifndef ET_TOOL_H
#define ET_TOOL_H

#include "ir/base/arena.h"
#include <stddef.h>

/* Runs ARGV, which ends with NULL. Its standard input is a file with the BYTES at IN, its standard
 * output an empty file. Neither has a name, so nothing is left behind however this ends, and the
 * tool may open them as /dev/stdin and /dev/stdout. Returns the output, *OUT_BYTES long, which the
 * caller frees. *OUT_SAID, in the arena, is the beginning of what the tool wrote to its standard
 * error. NULL where the tool could not be started or failed: then *OUT_SAID is the reason, to
 * follow the tool's name in an error message. */
char *et_tool_run(et_arena *, const char *const *argv, const void *in, size_t bytes,
                  size_t *out_bytes, char **out_said);

#endif
