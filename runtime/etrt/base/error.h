/* error.h - the calling thread's last error. */
#ifndef ETRT_ERROR_H
#define ETRT_ERROR_H

#include "runtime/etrt.h"

#include <stddef.h>

/* Set the last error and return STATUS, so that a failure is one return statement. */
etrt_status etrt_fail(etrt_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* ETRT_NO_MEMORY: the host has none. */
etrt_status etrt_no_memory(void);
/* Put "FORMAT: " in front of the last error; returns STATUS. */
etrt_status etrt_fail_in(etrt_status status, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* Append to the last error (a report of several lines). */
void etrt_fail_more(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
