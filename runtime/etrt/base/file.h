/* file.h - whole files, read at once and written so that they are never half there. */
#ifndef ETRT_FILE_H
#define ETRT_FILE_H

#include "runtime/etrt.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* All of a regular file of LEAST to MOST bytes; anything else is refused before it is read, and at
 * once. Failures name the file. Free *OUT. */
etrt_status etrt_file_read(const char *path, uint64_t least, uint64_t most, void **out,
                           size_t *out_bytes);
enum { ETRT_MAX_CODE = INT32_MAX }; /* bytes of a code object's file */
/* A path that dlopen is to take must lead to a file: it would wait for a pipe. False with the
 * reason.
 */
bool etrt_library_check(const char *path, char *why, size_t why_bytes);
/* Write a new file. */
etrt_status etrt_file_write(const char *path, const void *data, size_t bytes);
/* Remove a folder of plain files, ignoring errors. */
void etrt_folder_remove(const char *path);

#endif
