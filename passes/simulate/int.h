/* int.h - what the files of the simulator share: simulate.c has the clock and the workgroups,
 * plan.c the tasks, wait.c counters, queue.c dynamic tasks, cost.c bytes and time of tiles, expr.c
 * expressions. */
#ifndef ET_SIMULATE_INT_H
#define ET_SIMULATE_INT_H

#include "passes/cost/cost.h"
#include "passes/simulate/simulate.h"

/* ---- expr.c: the expressions of a grid, each shared part computed once */

#define SIM_UNKNOWN ET_UNKNOWN

struct sim;
struct sim_sheet;
struct sim_sheet *sim_sheet_create(struct sim *);
void sim_sheet_destroy(struct sim_sheet *);
int sim_sheet_add(struct sim_sheet *, et_expr);        /* its place in the values */
int sim_sheet_find(const struct sim_sheet *, et_expr); /* -1: not added */
/* Compute everything at the variables of the simulation and the iteration it is in. */
void sim_sheet_run(struct sim *, struct sim_sheet *);
int64_t sim_sheet_value(const struct sim_sheet *, int place);
/* Whether any of it reads what the kernel itself computes. */
bool sim_sheet_loads(const struct sim_sheet *);

/* ---- plan.c */

/* The counters one wait names: a box, at every value of the wait's own variables. */
struct sim_box {
    int event, rank;
    int lo[ET_MAX_RANK], hi[ET_MAX_RANK]; /* places in the grid's sheet */
    et_when when;
    int nvars;
    const int *vars;
    int extent[ET_MAX_VARS]; /* of the variables */
    bool routed;             /* a tensor decides which */
    bool joins;              /* looked at together with the wait before */
};

/* A notify: one counter, at every value of its variables. */
struct sim_arrival {
    int event, rank;
    int index[ET_MAX_RANK];
    et_when when;
    int nvars;
    const int *vars;
    int extent[ET_MAX_VARS];
};

struct sim_tile_cost {
    float us;           /* of the CU, data near */
    float memory_bytes; /* of it, from or to memory */
    float early_bytes;  /* of that, loads that codegen issues before the waits */
    float stream_bytes; /* of memory_bytes, weights that the producer asks for */
    float stage_bytes;  /* that these take in the stages of the weight stream */
    float sent_bytes;   /* stored to other devices */
    bool foreign;       /* another device runs its steps */
};

/* An access of a tile to a tensor, by one step. */
struct sim_access {
    const et_step *step;
    int tensor;
    bool is_store;
    double early;  /* the part that is loaded before the waits: of a product's weights */
    bool streamed; /* weights that come through the weight stream */
    int rank;
    et_expr index[ET_MAX_RANK];
};

struct sim_grid {
    const et_grid *g;
    const et_func *f;
    struct sim_sheet *sheet; /* of waits and notifies */
    struct sim_box *box;
    struct sim_box *await; /* what the producer waits for */
    struct sim_arrival *arrival;
    int64_t extent[ET_MAX_RANK], tiles;
    bool dynamic, early;
    bool streamed;                 /* a producer asks for its weights */
    int nloop, loop[ET_MAX_LOOPS]; /* loops around it, outermost first */
    double scale;                  /* of the CU's time, as the profile has it; 0: not asked yet */
    /* By tile. A producer is ahead of the tasks: costs that differ are kept of two iterations. */
    struct sim_tile_cost *cost[2];
    int64_t cost_iteration[2]; /* COST is of this one; -1: of none, -2: of all */
    struct sim_access *access; /* to memory, what does not stay in the caches */
    int naccess, caccess;
    struct sim_access *sent; /* stores to what other devices read */
    int nsent, csent;
    et_expr owner; /* of a grid that is dealt: the device that runs a tile's steps; or none */
    struct sim_sheet *sizes; /* what the work of a tile depends on */
    et_step_elements *elements;
    /* Tiles that agree in these coordinates wait for the same: cell = the coordinates of the mask
     * in row-major order. */
    unsigned cell_coords;
    int64_t cells;
};

/* One grid in one iteration of the loops around it. */
struct sim_instance {
    int grid;
    int64_t iteration;
    int64_t loop[ET_MAX_LOOPS];
    int64_t first;   /* tiles of static grids before it in program order */
    int region;      /* dynamic: what workgroups go through as one item; -1 */
    int64_t claimed; /* tiles of it that workgroups have claimed */
};

/* Workgroups that run something. */
struct sim_part {
    int64_t first, count;
};

/* Kernels one after the other. */
struct sim_stream {
    int model;          /* whose; -1: of all */
    int kernel;         /* the instance that runs */
    int64_t next, left; /* tiles of it: to take next; not yet done */
    struct sim_part part;
};

struct sim_region {
    int first, count; /* instances */
    int64_t left;     /* tasks not yet popped */
};

struct sim_counter {
    int64_t need; /* -1: not known yet */
    int32_t event;
    /* Cells whose waits name it, of grids queued when it is complete, and when all it counts has
     * begun. */
    int32_t watched, early_watched;
    int32_t arrivals, starts;
    double free;     /* when the next arrival can be counted */
    double complete; /* when it was, or SIM_NEVER */
    /* Heads of lists, -1 for none: workgroups, cells to look at when it is complete, and when all
     * it counts has begun. */
    int32_t waiter, cells, early_cells;
};
#define SIM_NEVER 1e300

struct sim_event {
    int64_t size[ET_MAX_RANK], stride[ET_MAX_RANK]; /* dimensions at this launch, words */
    struct sim_sheet *sheet; /* of its count, where counters differ; else NULL */
    int count;
    bool late, early; /* dynamic grids wait for it to be complete, begun */
    /* Cells whose waits must be evaluated to know which of its counters they name. */
    int64_t watched, early_watched;
};

/* The counter that a task or cell looks at next. */
struct sim_scan {
    int wait;
    int64_t tuple, place; /* values of the wait's variables as one number; counter in its box */
};

/* ---- simulate.c */

enum sim_state {
    SIM_NEXT,    /* looks for its next task */
    SIM_CLAIMED, /* has a task, from the queue or because it is the next in order */
    SIM_WAITING,
    SIM_BODY, /* may begin */
    SIM_LOADING,
    SIM_CONSUMING, /* weights of the stream */
    SIM_DONE,      /* with the body */
    SIM_LEFT,      /* with its notifications */
    SIM_PARKED,
    SIM_OVER,
};

/* Where a workgroup is in its static tiles. */
struct sim_cursor {
    int item;     /* instance, or the first of the region it is in */
    int64_t tile; /* of it, next; -1: not begun */
};

/* What asks for a workgroup's weights ahead of its tasks. Its copies arrive part by part of a tile,
 * in the order in which tiles run. */
struct sim_producer {
    struct sim_cursor at;
    int instance; /* whose tile is next or on its way; -1: none */
    int64_t tile;
    int parts, part;       /* of the tile; of these, arrived */
    double stage, bytes;   /* of a part: in the stages, from memory */
    double arrived, freed; /* bytes of stages since the launch began */
    double asked;          /* bytes in flight */
    int awaited;           /* instance whose awaits are over; -1 */
    bool busy;             /* a part is on its way, or will be at a known time */
    bool waits;            /* for a counter, in its list of waiters */
    struct sim_scan scan;
    double latest;
    int32_t next;
};

struct sim_workgroup {
    enum sim_state state;
    int die;
    double slow; /* factor on times */
    double owed; /* scheduling work that came up meanwhile */
    struct sim_cursor at;
    int instance; /* of the current task */
    int parts;    /* of its weights, not yet consumed */
    double part_us, stage;
    bool consumes; /* one of them now */
    struct sim_scan scan;
    double chain;   /* when the polls so far are through */
    double latest;  /* when the last of the wait's counters so far could be seen */
    int64_t polled; /* counters of the wait so far */
    bool any, held; /* a wait applied; it had to wait */
    bool looking;   /* at counters of waits that are looked at together */
    bool started;   /* early grids know that it began */
    double look;
    int32_t next; /* of a list of waiters */
    int stream;   /* of its kernel, or the one before */
    et_sim_task now;
};

/* A task in a ring. */
struct sim_queued {
    int32_t instance, tile;
};
struct sim_ring {
    struct sim_queued *task;
    int64_t head, n, cap;
    double free; /* when the next pop can start */
};

struct sim_cell {
    int32_t next; /* of a list at a counter */
    int32_t instance, index;
    struct sim_scan scan;
};

/* Events in time; equal times in the order they were made. */
enum sim_kind {
    SIM_AT_WORKGROUP,
    SIM_AT_COMPLETE,
    SIM_AT_PUSH,
    SIM_AT_KERNEL,
    SIM_AT_PRODUCER, /* its next part begins to arrive */
    SIM_AT_CONSUMED
};
struct sim_moment {
    double t;
    uint64_t order;
    enum sim_kind kind;
    int arg, arg2;
};

struct sim_push {
    int instance, die;
    int64_t cell;
};

struct sim {
    et_program *p;
    et_exprs *x;
    const et_sim_options *opt;
    const et_machine *m;
    const int64_t *syms;
    int64_t *vars;
    int64_t iteration;
    et_arena *arena; /* of the simulation alone */
    struct sim_grid *grid;
    struct sim_instance *inst;
    int ninst, cinst;
    struct sim_region *region;
    int nregion, cregion;
    int64_t tiles;                       /* of all instances */
    int64_t static_tiles[ET_MAX_MODELS]; /* of them, by model: those that counted in its base */
    struct sim_event *event;
    struct sim_counter *counter;
    int words;

    int nwg, ndies;
    struct sim_workgroup *wg;
    double now, end; /* end: when the last task left */
    double linked;   /* what was stored to other devices until now has left by then */
    uint64_t order;
    struct sim_moment *heap;
    int nheap, cheap;

    /* Loads in flight, of workgroups and, by numbers behind theirs, of their producers: all share
     * memory equally. `poured` is what each has received since the start; a load ends when that
     * reaches its mark. */
    double poured, poured_at;
    int *flow; /* heap of loads by mark */
    int nflow;
    double *mark;
    int *flow_at;                  /* by workgroup or producer: place in the heap, -1 none */
    struct sim_producer *producer; /* by workgroup; NULL: nothing is streamed */
    double room;                   /* bytes that a producer may be ahead */
    double asked;                  /* bytes in flight of all producers */

    struct sim_cell *cell;
    int64_t ncell, ccell;
    struct sim_ring *ring; /* by die, then the device's */
    int *parked;           /* workgroups without a task, in order of parking, and how many */
    int nparked;
    struct sim_push *push; /* in flight */
    int npush, cpush, free_push;

    int *word, cword; /* that a task notifies */

    struct sim_part part[ET_MAX_MODELS];
    struct sim_stream stream[ET_MAX_MODELS]; /* UNFUSED, STREAMS */
    int nstream;

    double body, wait, schedule;
    et_sim_result r;
    char *err;
    bool failed;
};

void sim_fail(struct sim *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void sim_at(struct sim *, double t, enum sim_kind, int arg, int arg2);
/* Go on with the waits of workgroup WG: a counter it was short of is complete. */
void sim_waits(struct sim *, int wg);
/* WG goes on at T in STATE. */
void sim_go(struct sim *, int wg, enum sim_state, double t);
/* WG begins its task, w->instance and w->now.tile. */
void sim_reach(struct sim *, int wg);

/* ---- flow.c */
/* What takes US by itself takes so long behind what producers have in flight now. */
double sim_behind(const struct sim *, double us);
/* When the next load ends; which one that is, at that time. */
double sim_flow_time(const struct sim *);
int sim_flow_end(struct sim *);
/* Load ID, of a workgroup or producer, asks for so many bytes besides those it has in flight. */
void sim_flow_add(struct sim *, int id, double bytes);

/* ---- order.c */
/* The next static tile of WG from *IO on, of streamed grids alone if STREAMED. False: there is
 * none, or what comes is a region or claimed, and *IO is at it. */
bool sim_next_tile(const struct sim *, int wg, bool streamed, struct sim_cursor *io,
                   int *out_instance, int64_t *out_tile);

/* ---- producer.c */
void sim_producers_begin(struct sim *);
/* The producer of WG, in a list of waiters no longer, goes on. */
void sim_producer_awakes(struct sim *, int wg);
/* The part it asked for begins to arrive; has arrived. */
void sim_part_begins(struct sim *, int wg);
void sim_part_arrives(struct sim *, int wg);
/* The task of WG, which is ready, consumes its weights, US long once they are there, LEAD later at
 * the earliest. */
void sim_consume(struct sim *, int wg, double us, double lead);
/* Its rows are there (BEGINS), or a part is consumed. */
void sim_consumed(struct sim *, int wg, bool begins);
/* The last weights are consumed. */
void sim_all_consumed(struct sim *, int wg);

/* ---- link.c: of several devices, which all do the same at the same time. Device 0 is played. */
/* What a task of the grid that ends now has stored to others: when it has left this device. */
double sim_sent(struct sim *, double bytes);
/* Does the grid notify events of the system? */
bool sim_tells_system(const struct sim *, const struct sim_grid *);
/* Bytes that other devices get of a store of BYTES to tensor T. */
double sim_sent_of(const struct sim *, const et_tensor *, double bytes);

/* ---- wait.c, for producers too */
double sim_seen_after(const struct sim *, int event);
/* Of a fence behind that. */
double sim_acquire_us(const struct sim *);

/* ---- stream.c */
bool sim_runs(const struct sim *, int model);
/* Give every model its workgroups. */
void sim_share_out(struct sim *);
struct sim_part sim_part_of(const struct sim *, int instance);
void sim_streams_begin(struct sim *);
/* The next kernel with tiles of a stream, from INSTANCE on. */
void sim_kernel_begins(struct sim *, int instance, int stream);
/* WG takes a tile of a kernel that runs on it, or is parked. */
void sim_next_of_kernels(struct sim *, int wg);
void sim_kernel_tile_done(struct sim *, int wg);

/* ---- slice.c */
int sim_die_of(const struct sim *, int wg);
/* The K-th tile that WG runs of a grid that is dealt by slice; one past the last when there is
 * none.
 */
int64_t sim_slice_tile(const struct sim *, int wg, int grid, int64_t k);

/* ---- plan.c */
bool sim_plan(struct sim *);
void sim_plan_destroy(struct sim *);
/* Set the variables to those of a tile. */
void sim_enter(struct sim *, int instance, int64_t tile);
bool sim_applies(const struct sim *, const struct sim_instance *, et_when);

/* ---- cost.c */
const struct sim_tile_cost *sim_cost(struct sim *, int instance, int64_t tile);

/* ---- wait.c */

/* The word of the counter that SCAN, within a wait, is at, moving on to the next value of the
 * wait's variables where one is through; -1 past the last or when the simulation fails. The
 * variables must be those of the task and the grid's sheet run; they are again afterwards. */
int sim_scan_word(struct sim *, struct sim_grid *, const struct sim_box *, struct sim_scan *);
/* The task's arrivals, beginning now; returns when its workgroup is through with them. */
double sim_notify(struct sim *, int wg);
/* Notify, for early pushes, that the task of WG has been claimed; returns the time it costs. */
double sim_started(struct sim *, int wg);
void sim_completed(struct sim *, int word, int wg);

/* ---- queue.c */
bool sim_cells_create(struct sim *);
void sim_queue_destroy(struct sim *);
/* WG looks for a task of the region it is in, until all have been taken. */
void sim_pop(struct sim *, int wg);
/* Workgroup WG completed counter WORD (EARLY: the arrivals that have begun are all): look at the
 * cells that wait for it, of which those in the list that begins with FIRST were short of nothing
 * before it. */
void sim_cells_look(struct sim *, int word, bool early, int32_t first, int wg);
void sim_push_lands(struct sim *, int push);

#endif
