/* queue.h - dynamic tasks: their numbers, when they are queued, and where the words for that are in
 * the event array. All of it follows from the program alone.
 *
 * A region is a maximal run of dynamic items of one model in one list; a loop all of whose grids
 * are dynamic is one item of it, all iterations together. Workgroups visit items in program order;
 * at a region they pop tasks from its queues until every task of that instance of it (one iteration
 * of the surrounding loops) has been popped.
 *
 * A task's number is `first + iteration * tiles + tile` of its grid, never 0; iterations of all
 * loops around the grid are counted, outermost slowest. The tasks of a grid with the same loop
 * values and the same coordinates in their waits are a cell: they become ready together. The
 * arrival that completes a counter checks the cells that wait for it; the first workgroup that
 * finds one ready and sets its claim word pushes its tasks. Cells that may have nothing to wait for
 * are checked when the launch starts. */
#ifndef ET_QUEUE_H
#define ET_QUEUE_H

#include "ir/program/program.h"

/* A queue is a ticket ring: four words on cache lines of their own, then a power of two of slots.
 * `tail` and `head` give tickets to pushers and poppers; `published`, where there are several
 * rings, counts pushed tasks that have not been popped. Slots of a die's queue are reused, so
 * `count` reserves room first; without room the task goes to the device's queue, which has a slot
 * for every task of a launch. */
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
    int inner;               /* iterations inside one instance of the region */
    unsigned fixed;          /* bit mask of the coordinates that its waits mention */
    int stride[ET_MAX_RANK]; /* of those coordinates in a cell's number */
    int cells;               /* per iteration, at the upper bounds */
    int claim;               /* claim word of its first cell */
    bool seeded;             /* cells may have nothing to wait for */
} et_queue_grid;

typedef struct {
    int first, count; /* items */
    int loop;         /* around it, or -1 */
    int instances;
    int popped;    /* word that counts popped tasks of the first instance; a line for each */
    int rings;     /* first word of the queues: the dies', then the device's */
    int slots;     /* of the device's queue, a power of two */
    int64_t tasks; /* of all instances at the upper bounds */
} et_region;

typedef struct {
    et_queue_grid *grid; /* by grid */
    et_region *region;
    int nregions;
    int *claimed; /* by grid: word that counts claimed tiles of the first iteration of the loops
                   * around it, a line for each; -1: its tiles are not claimed, or in turn with
                   * those of the grid before */
    int *begun;   /* by event: word of the first counter of arrivals that have begun, or -1 */
    int words;    /* of the event array, all together; p->event_words if nothing is dynamic */
} et_queues;

/* Two grids whose tiles are claimed in turn have one counter. A block are the tiles that have one
 * value of the first coordinate, of which both grids have as many. The first BEHIND blocks of the
 * first grid come first; then a block of the second, one of the first, and so on, until the first
 * has none left. Which tile of which grid has number AT; true: of the second. */
bool et_in_turn(int64_t at, int64_t blocks, int64_t first_tiles, int64_t second_tiles, int behind,
                int64_t *out_tile);
/* The grid whose tiles are claimed in turn with those of item I of a list that ends before END; or
 * -1. */
int et_turns_with(const et_program *, int i, int end);
/* Why tiles of grid TO cannot be claimed in turn with those of FROM before it, or NULL. */
const char *et_turns_problem(const et_program *, const et_grid *from, const et_grid *to);

/* NULL, or what is too large, as text. */
const char *et_queues_plan(et_arena *, const et_program *, et_queues *out);
/* Region that starts with item I, or -1. */
int et_queues_region(const et_queues *, int item);
/* Does a task notify exactly one counter, known when the task starts? */
bool et_notify_plain(const et_program *, const et_notify *);
/* Do loops A and B, or loops around them, coincide? Either may be -1. */
bool et_loops_shared(const et_program *, int a, int b);
/* Does the wait depend on VAR, a loop or a coordinate? */
bool et_wait_mentions(const et_program *, const et_wait *, int var);
/* Do tensors decide which counters the wait names, or their counts? */
bool et_wait_loads(const et_program *, const et_wait *);

/* How many counters a wait names, if they are at most ET_QUEUE_POINTS points whatever tensors hold;
 * else 0. */
enum { ET_QUEUE_POINTS = 8 };
int et_wait_points(const et_program *, const et_wait *);
/* Can lanes check cells in parallel, one each, that differ in VAR alone? Then those that are ready
 * are pushed together. */
bool et_cells_together(const et_program *, const et_grid *, int var);

#endif
