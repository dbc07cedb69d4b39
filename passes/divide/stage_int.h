/* stage_int.h - what stage.c, layers.c and keep.c share. */
#ifndef ET_STAGE_INT_H
#define ET_STAGE_INT_H

#include "ir/graph/op_util.h"
#include "passes/divide/stage.h"

enum { INSIDE = -1, ANYWHERE = -2 };

/* The iterations of all outermost loops, one loop after another, are the graph's layers. A loop
 * whose iterations a launch counts is one layer. */
struct staging {
    et_graph *g;
    int stage, stages; /* from 0 */
    int layers;
    int *bound; /* [stages + 1]: the first layer of each stage; and how many there are */
    struct span {
        int from, to; /* layers, half open */
    } * at;           /* by statement of the outermost block */
    int *home;        /* by value: the layer at whose end it is there; INSIDE: of a loop's body;
                         ANYWHERE: it hangs on inputs and constants alone, or on nothing */
    const char *why;  /* it cannot be done */
};

/* layers.c: which layers there are, and which of them each stage has. */
bool stage_layers(struct staging *);
int stage_of(const struct staging *, int layer);
/* How many iterations of the outermost statement's loop lie before layer AT. */
int stage_before(const struct staging *, int stmt, int at);

/* cut.c: loops run the stage's iterations, and weights and states have these alone. */
bool stage_cut(struct staging *);

/* keep.c: what no statement of the graph reads is taken out of it; ALL: but inputs and states.
 */
void stage_keep(et_graph *, bool all);

/* FN for every node of a statement, in all its loops. */
void stage_walk(const et_graph *, et_stmt, void (*fn)(void *ctx, int node), void *ctx);

#endif
