/* output.h - files that tools write: whole or not at all.
 *
 * What is written goes to a temporary name beside the output and is renamed when it is complete. A
 * device, pipe or socket (/dev/null) cannot be replaced by a file, so it is written to; "-" is
 * standard output. */
#ifndef ET_OUTPUT_H
#define ET_OUTPUT_H

#include <limits.h>
#include <stdbool.h>
#include <stdio.h>

typedef struct {
    FILE *to;
    const char *path;         /* the caller's, kept until closed */
    char temporary[PATH_MAX]; /* empty where PATH itself is open */
} et_output;

/* Begins to write PATH. False with errno. */
bool et_output_open(et_output *, const char *path);
/* Ends it: PATH has what was written when OK and no write failed, and is as it was otherwise. False
 * with errno when a write or the renaming failed; when not OK, errno is left as it was. */
bool et_output_close(et_output *, bool ok);

/* For files that others write under names: STEM is what a temporary name begins with, beside PATH
 * or, where PATH is not a plain file's, in the folder for temporary files. False with errno. */
bool et_output_stem(const char *path, char stem[PATH_MAX]);
/* The complete file TEMPORARY becomes PATH. False with errno; TEMPORARY is the caller's to remove
 * then. */
bool et_output_move(const char *temporary, const char *path);

#endif
