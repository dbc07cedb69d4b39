/* alike.h - tasks that differ only in names. */
#ifndef ET_ALIKE_H
#define ET_ALIKE_H

#include "ir/program/program.h"

/* A task grid's text, its device function and its events included, with numbers in place of the
 * names of variables, tensors and events: in order of mention, so that equal texts are tasks that
 * do the same to the tensors and events of equal numbers, in iterations that are counted alike of
 * whichever loops are around them. Symbols and constant tensors keep what names them. */
typedef struct {
    const char *text;
    int *tensor, *event; /* by number */
    int ntensors, nevents;
} et_task_key;

/* The keys of all grids of a scheduled program, from ARENA, which is not the program's own. */
et_task_key *et_task_keys(et_program *, et_arena *arena);

#endif
