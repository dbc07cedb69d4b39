/* int.h - what the files of the events pass share: events.c finds which tiles need which,
 * implied.c drops what follows from the rest, make.c makes counters of what is left.
 */
#ifndef EVENTS_INT_H
#define EVENTS_INT_H

#include "ir/base/names.h"
#include "passes/cost/cost.h"
#include "passes/cost/footprint.h"
#include "passes/pipeline/pipeline.h"

/* Tiles lo..hi of one coordinate of the earlier grid, or all of them. Where they depend on a load:
 * those, as far as there are such tiles, for all values of the variables in the load's index. */
struct span {
    bool all;
    bool holes; /* between what two tiles touch lies what none does */
    et_expr lo, hi;
    et_expr load; /* or none */
};

/* An edge: tiles of an earlier grid that tiles of a later one need. */
struct edge {
    int from, to;
    bool needed;
    int carried; /* loop whose previous iteration is meant, or -1 */
    bool far;    /* all iterations of CARRIED before that one are; orders nothing else */
    bool every;  /* all iterations of the loops around FROM alone, not just the last */
    struct span box[ET_MAX_RANK]; /* by coordinate of FROM */
    bool points; /* one of them depends on a load: waiting for it orders nothing else */
    bool gaps;   /* for some tile there is none in the box: what it waits for orders nothing else */
    bool system; /* TO loads what devices exchange with flags or share: see events_exchanged */
};

struct events {
    et_pipeline *pl;
    et_program *p;
    et_exprs *x;
    et_footprints *fp; /* by grid */
    int *position;
    int *twin; /* by grid and coordinate: 1 + the variable that stands for another tile's, or 0 */
    struct edge *edges;
    int nedges, cedges;
    int now;
    et_names *names;    /* of events */
    int *order, *begin; /* edge numbers by the grid they come from; where those of a grid begin */
};

/* Variables in an expression, without the coordinates and loops of G. */
struct events_vars {
    const struct events *e;
    const et_grid *g;
    int v[ET_MAX_VARS], n;
};

/* The loops around LOOP and itself, outermost first; how many. */
int events_loops(const et_program *, int loop, int out[ET_MAX_RANK]);
/* How many of the outermost loops two grids have in common. */
int events_shared_loops(const et_program *, const et_grid *, const et_grid *);
bool events_proved(const struct events *, et_expr);
/* The variables that a load in a span of an edge to grid G is for. */
struct events_vars events_vars_of(const struct events *, const et_grid *g, et_expr load);
/* The largest value, where that is known. */
int64_t events_upper(const struct events *, et_expr);

/* By how much LO lies behind HI at most, for tiles at the ends of grid G's coordinates and loops
 * and dims at their bounds: 1 where a box from LO to HI may be empty. Below 0 for loads. */
int64_t events_most_behind(const struct events *, const et_grid *g, et_expr lo, et_expr hi);
/* Does grid TO load what FROM stores for other devices (ir/program/deal.h)? Then events of the
 * system alone order the two, and edges through tasks of one device do not make up for theirs. */
bool events_exchanged(const struct events *, int from, int to);
/* Adds what TO needs of FROM, of the previous iteration of the loop CARRIED if that is not -1. */
void events_find_edge(struct events *, int from, int to, int carried);
/* Adds what TO needs of FROM in iterations of LOOP before the previous one, where what follows from
 * those in between does not say so: where what FROM touches moves with the loop. */
void events_find_far(struct events *, int from, int to, int loop);
/* The same for all pairs that do not follow from others: for programs of more grids than this. */
enum { EVENTS_MANY = 64 };
void events_find_many(struct events *);

/* May it be a link of a chain? Its GAPS are known. */
bool events_orders(const struct edge *);
/* Which edges have gaps. */
void events_find_gaps(struct events *);
void events_add(struct events *, const struct edge *);
/* Waits for the iteration before, of a loop around others, where one task can wait for all. */
void events_close_gates(struct events *);

/* Marks the edges that follow from others as not needed. */
void events_drop_implied(struct events *);
/* Event tensors, notifications and waits for the edges that are needed, and their counters in
 * memory; false with a diagnostic where these are too many. */
bool events_make(struct events *);

#endif
