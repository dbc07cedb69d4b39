/* record.h - what launches are given and must leave, as a file for ../device/play.c. */
#ifndef PROGRAMS_RECORD_H
#define PROGRAMS_RECORD_H

#include "ir/base/dtype.h"
#include <stdbool.h>
#include <stdint.h>

typedef struct recording recording;

/* Elements of a launch may be off by BOUND of their tensor's norm, where they are not exact. */
recording *record_begin(double bound);
/* COUNT elements, copied; NAME as the head of play.c lists them. */
void record_add(recording *, const char *name, et_dtype, int64_t count, const void *data);
/* To PATH; frees it. False with a line on stdout. */
bool record_end(recording *, const char *path);

#endif
