/* mutate_steps.h - a program with one step changed at a time. */
#ifndef MUTATE_STEPS_H
#define MUTATE_STEPS_H

#include "ir/program/program.h"

typedef enum {
    STEP_MASK,   /* left out, or true for one more or one less */
    STEP_TO,     /* where it stores */
    STEP_LOAD,   /* an index of what is read, or what is read */
    STEP_CLAMP,  /* an index without what keeps it inside */
    STEP_EXTENT, /* how far variables go, live rows and columns, positions */
    STEP_LOCAL,  /* where local buffers are and how large */
    STEP_ORDER,  /* a step left out, or after the next one */
    STEP_KINDS
} step_kind;
extern const char *const step_kind_name[STEP_KINDS];

typedef struct {
    const char *what;
    step_kind kind;
    bool same; /* known to mean the same as before */
} step_mutant;

/* Called with P mutated; it is put back afterwards. */
typedef void (*step_mutant_fn)(void *ctx, et_program *p, const step_mutant *);

/* Every step of every function, each in all the ways listed in mutate_steps.c. */
void mutate_steps(et_program *p, step_mutant_fn, void *ctx);

#endif
