/* mutate.h - a program changed in one place at a time. */
#ifndef MUTATE_H
#define MUTATE_H

#include "ir/program/program.h"

/* What is changed. */
typedef enum {
    MUTATE_WAIT,     /* a wait taken out, moved, or for others */
    MUTATE_NOTIFY,   /* likewise */
    MUTATE_MAP,      /* the maps from tiles to counters: multiplied, divided, at some sizes only */
    MUTATE_COUNT,    /* of events */
    MUTATE_SCOPE,    /* of events */
    MUTATE_COUNTERS, /* where events are in the event array, and their dimensions */
    MUTATE_MEMORY,   /* where temporaries are */
    MUTATE_EXTENT,   /* how many tiles a grid has */
    MUTATE_BOUND,    /* of dims */
    MUTATE_ORDER,    /* of grids in the program */
    MUTATE_QUEUE,    /* which grids are dynamic, early, sliced */
    MUTATE_KINDS
} mutate_kind;
extern const char *const mutate_kind_name[MUTATE_KINDS];

typedef struct {
    const char *what;
    mutate_kind kind;
    bool memory; /* moves a tensor: what tasks touch is another matter than before */
    bool same;   /* known to mean the same as before */
} mutant;

/* Called with P mutated; it is put back afterwards. */
typedef void (*mutant_fn)(void *ctx, et_program *p, const mutant *);

/* Every wait, notify, event and temporary, each in all the ways listed in mutate.c. */
void mutate_all(et_program *p, mutant_fn, void *ctx);

#endif
