/* mutate.h - a program changed in one place at a time. */
#ifndef MUTATE_H
#define MUTATE_H

#include "ir/program/program.h"

/* What is changed. */
typedef enum {
    MUTATE_WAIT,     /* a wait taken out, moved, or for others */
    MUTATE_NOTIFY,   /* likewise */
    MUTATE_WAIT_MAP, /* which counters a tile waits for: multiplied, divided, coordinates exchanged
                      */
    MUTATE_NOTIFY_MAP,
    MUTATE_ONE_SIZE, /* wrong at one size of a dim, or from one on, alone */
    MUTATE_COUNT,    /* of events */
    MUTATE_SCOPE,    /* of events */
    MUTATE_COUNTERS, /* where events are in the event array, and their dimensions */
    MUTATE_MEMORY,   /* where temporaries are */
    MUTATE_EXTENT,   /* how many tiles a grid has */
    MUTATE_ORDER,    /* of grids in the program */
    MUTATE_CARRIED,  /* which events have fences, and tags */
    MUTATE_STREAM,   /* which weights come ahead of tasks, and from where */
    MUTATE_TURNS,    /* which tiles are claimed in turn */
    MUTATE_KINDS
} mutate_kind;
extern const char *const mutate_kind_name[MUTATE_KINDS];

typedef struct {
    const char *what;
    mutate_kind kind;
    bool memory; /* what tasks there are, or what they touch, is another matter than before */
    bool other;  /* a program that computes something else may be right too */
    bool same;   /* known to mean the same as before */
    bool wrong;  /* whatever the oracle says, which runs no stream */
} mutant;

/* Called with P mutated; it is put back afterwards. */
typedef void (*mutant_fn)(void *ctx, et_program *p, const mutant *);

/* Every wait, notify, event and temporary, each in all the ways listed in mutate.c. */
void mutate_all(et_program *p, mutant_fn, void *ctx);
/* What two grids wait for and tell, and how many tiles they have. */
void mutate_two(et_program *p, int a, int b, mutant_fn, void *ctx);
/* Any two grids one behind the other claimed in turn, and each of mutate_two of those that may be:
 * mutate_turns.c. */
void mutate_turns(et_program *p, mutant_fn, void *ctx);
/* The same of streams: mutate_streams.c. */
void mutate_streams(et_program *p, mutant_fn, void *ctx);

#endif
