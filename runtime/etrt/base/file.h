/* file.h - whole files, read at once and written so that they are never half there. */
#ifndef ETRT_FILE_H
#define ETRT_FILE_H

#include "runtime/etrt.h"

#include <stdbool.h>
#include <stddef.h>

/* Failures name the file. Free *OUT. */
etrt_status etrt_file_read(const char *path, void **out, size_t *out_bytes);
/* Write a new file. */
etrt_status etrt_file_write(const char *path, const void *data, size_t bytes);
/* Remove a folder of plain files, ignoring errors. */
void etrt_folder_remove(const char *path);

#endif
