/* mutate.h - a program changed in one place at a time. */
#ifndef MUTATE_H
#define MUTATE_H

#include "ir/program/program.h"

typedef struct {
    const char *what;
    bool memory; /* moves a tensor: what tasks touch is another matter than before */
    bool same;   /* known to mean the same as before */
} mutant;

/* Called with P mutated; it is put back afterwards. */
typedef void (*mutant_fn)(void *ctx, et_program *p, const mutant *);

/* Every wait, notify, event and temporary, each in all the ways listed in mutate.c. */
void mutate_all(et_program *p, mutant_fn, void *ctx);

#endif
