/* input.h - files that tools read.
 *
 * A path must lead to a regular file. Anything else is refused at once: a pipe that nobody writes
 * would never answer, a device has no end. Standard input comes as a path too, of a file
 * (runtime/cli), so nothing here knows of it. */
#ifndef ET_INPUT_H
#define ET_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum {
    ET_WHY = 128
}; /* bytes of a reason: "No such file or directory", "is a folder, not a regular file" */

/* PATH opened for reading, closed on exec; -1 with the reason in WHY. *OUT_BYTES (may be NULL) is
 * its size, 0 for files of /proc that tell none. */
int et_file_open(const char *path, uint64_t *out_bytes, char why[ET_WHY]);

/* All of PATH with a 0 behind it, for free(); at most MAX bytes. NULL with the reason in WHY. */
char *et_file_read(const char *path, size_t max, size_t *out_bytes, char why[ET_WHY]);

#endif
