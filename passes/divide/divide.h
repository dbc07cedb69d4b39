/* divide.h - a graph made into what each of several devices runs of it. */
#ifndef ET_DIVIDE_H
#define ET_DIVIDE_H

#include "ir/graph/graph.h"
#include "passes/machine/machine.h"

/* Where an operator needs all of what is cut, each device can get what the others have, or compute
 * all of it. */
typedef enum {
    ET_GATHER_AUTO,  /* what is predicted to take less time */
    ET_GATHER_NEVER, /* it computes all */
    ET_GATHER_ALWAYS /* it gets what others have, wherever that can be */
} et_gather;
const char *et_gather_name(int); /* NULL past the last one */

/* What is decided of a program, by value: the same whatever its dims are said to be. */
typedef struct {
    int nvals;          /* 0: nothing is decided yet */
    const int *least;   /* so many devices at least have the same part of it */
    const bool *gather; /* devices get it of each other */
} et_divided;

/* Change G, which nothing has lowered, into the part of one of DEVICES devices, the same for all:
 * weights, states and outputs that are cut say so, sums over devices are exchanged. IO, or NULL:
 * decided where it is empty, obeyed where it is not. False after an error: nothing can be cut, or G
 * is for several models or devices already. */
bool et_divide(et_graph *, int devices, const et_machine *, et_gather, et_divided *io);

#endif
