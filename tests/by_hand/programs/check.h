/* check.h - does one program mean the same to the graph interpreter, the task interpreter and the
 * machine code of several GPUs? */
#ifndef PROGRAMS_CHECK_H
#define PROGRAMS_CHECK_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

typedef enum {
    CHECK_SAME,
    CHECK_ILLEGAL,     /* the front end has errors */
    CHECK_REFUSED,     /* a later pass or the verifier has */
    CHECK_INTERPRETER, /* tasks in some order compute something else than the graph */
    CHECK_KERNEL,      /* a kernel does, or it ends with an error */
    CHECK_BITS,        /* a kernel leaves other bits on one device than on another */
    CHECK_SLOW,        /* more than so many seconds of a processor */
    CHECK_DIED,        /* the compiler or the emulator crashed */
} check_result;
const char *check_name(check_result);

typedef struct {
    uint64_t seed;      /* of tensors, dims, targets, schedules, devices */
    const char *kernel; /* path for code objects */
    bool interpreters;  /* no kernels */
    bool narrow; /* a dim has the bounds of the launches alone, as in a variant, and no more */
    bool flags;  /* static schedules alone, with flag-in-data events wherever possible */
    const char
        *device; /* the kernels run there, for TARGET alone; NULL: two emulated GPUs of two */
    const char *target;
    const char *record; /* a folder: nothing is launched, and what launches are given and must leave
                           goes there, into SEED.safetensors; or NULL */
    FILE *why;          /* what differs is told here, or NULL */
} check_options;

typedef struct {
    uint64_t programs, kernels, launches, tasks, groups;
    uint64_t results, not_finite; /* of the graph, and those with numbers that are not finite */
} check_totals;

enum { CHECK_LAUNCHES = 4 }; /* of a kernel: two on each of two devices */

/* TEXT is a program of generate.h, or one with the same comments. */
check_result check_program(const char *text, const check_options *, check_totals *);

#endif
