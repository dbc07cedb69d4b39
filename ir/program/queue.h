/* queue.h - dynamic tasks: how they are named, when they are queued, and where the words that takes
 * are in the event array. Computed from the program alone, so that whoever asks gets one answer.
 *
 * A region is a maximal run of dynamic items of one model in one list; a loop all of whose grids
 * are dynamic is one item of it, all iterations together. Workgroups visit items in program order;
 * at a region they take tasks from its rings until every task of that instance of it (the iteration
 * of the loops around) has been taken, and go on.
 *
 * A task is the number `first + iteration * tiles + tile` of its grid, never 0; iterations of all
 * loops around the grid are counted, outermost slowest. The tasks of a grid that agree on the loops
 * and on the coordinates its waits mention are a cell: they become ready together. The arrival that
 * completes a counter looks at the cells that wait for it, and whoever first finds one ready, by
 * its claim word, queues its tasks. Cells that may have nothing to wait for are looked at when the
 * launch starts. */
#ifndef ET_QUEUE_H
#define ET_QUEUE_H

#include "ir/program/program.h"

/* A ring of tasks: four words on lines of their own, then a power of two of slots. `tail` and
 * `head` give tickets to those who put and take; `published` is how many of what has a ticket to be
 * put may still be taken. A die's ring is reused, so room in it is reserved by `count` first; who
 * finds none uses the device's, which has a slot for every task of a launch. */
enum {
    ET_QUEUE_DIES = 16,
    ET_LINE_WORDS = 32,
    ET_RING_COUNT = 0,
    ET_RING_TAIL = ET_LINE_WORDS,
    ET_RING_PUBLISHED = 2 * ET_LINE_WORDS,
    ET_RING_HEAD = 3 * ET_LINE_WORDS,
    ET_RING_SLOTS = 4 * ET_LINE_WORDS,
    ET_DIE_SLOTS = 64,
    ET_DIE_RING = ET_RING_SLOTS + ET_DIE_SLOTS, /* words from one die's ring to the next */
};

typedef struct {
    int region;              /* -1: not dynamic */
    int first;               /* number of its first task */
    int tiles;               /* per iteration, at the upper bounds of the symbols */
    int iterations;          /* of all loops around it */
    int inner;               /* of them, inside one instance of the region */
    unsigned fixed;          /* coordinates that its waits mention */
    int stride[ET_MAX_RANK]; /* of those in a cell's number */
    int cells;               /* per iteration, at the upper bounds */
    int claim;               /* word of its first cell */
    bool seeded;             /* cells may have nothing to wait for */
} et_queue_grid;

typedef struct {
    int first, count; /* items */
    int loop;         /* around it, or -1 */
    int instances;
    int popped;    /* word that counts the tasks taken of the first instance; a line for each */
    int rings;     /* first word: the dies', then the device's */
    int slots;     /* of the device's, a power of two */
    int64_t tasks; /* of all instances at the upper bounds */
} et_region;

typedef struct {
    et_queue_grid *grid; /* by grid */
    et_region *region;
    int nregions;
    int *begun; /* by event: word of the first counter of arrivals that have begun, or -1 */
    int words;  /* of the event array, all together; p->event_words if nothing is dynamic */
} et_queues;

/* NULL, or what is too large. */
const char *et_queues_plan(et_arena *, const et_program *, et_queues *out);
/* Region that starts with item I, or -1. */
int et_queues_region(const et_queues *, int item);
/* Is it known from the start of a task which counter it will notify, and is it one? */
bool et_notify_plain(const et_program *, const et_notify *);
/* Do loops A and B, or some around them, coincide? Either may be -1. */
bool et_loops_shared(const et_program *, int a, int b);
/* Does the loop's value, or the coordinate's, tell the counters of some wait apart? */
bool et_wait_mentions(const et_program *, const et_wait *, int var);
/* Do tensors decide which counters the wait names, or what completes them? */
bool et_wait_loads(const et_program *, const et_wait *);

/* How many counters a wait names where it is a few points, whatever tensors hold; else 0. */
enum { ET_QUEUE_POINTS = 8 };
int et_wait_points(const et_program *, const et_wait *);
/* Can it be told side by side, a cell in each lane, whether cells of a grid are ready that differ
 * in variable VAR alone? Then those that are get queued together. */
bool et_cells_together(const et_program *, const et_grid *, int var);

#endif
