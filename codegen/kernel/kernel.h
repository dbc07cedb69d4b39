/* kernel.h - the kernel around the tiles: where a workgroup is, what it runs next, what it waits
 * for and notifies, what it records. */
#ifndef ET_KERNEL_H
#define ET_KERNEL_H

#include "codegen/emit/emit.h"

/* ---- wait.c ---- */
/* Words of local memory by which wave 0 tells the others whether to go on, and for what it waited
 * when a wait expired. TILE also holds the task that it popped. */
enum {
    CG_QUIT,
    CG_TASK,
    CG_TILE,
    CG_EVENT,
    CG_INDEX,
    CG_COUNT,
    CG_NEED,
    CG_STATUS,
    CG_RANK,   /* the workgroup's own, for the prologue only */
    CG_DIE,    /* of those that have workgroups, this one's number and how many there are */
    CG_MEMBER, /* the workgroup's number on its die and how many there are; 16 bits each */
    CG_WORD,   /* whether all words of tagged temporaries have come, as CG_QUIT says it of waits */
    CG_OTHER = CG_RANK, /* behind the prologue: 1 + the device that was waited for, or 0 */
    CG_FLAG_BYTES = 48,
    CG_ORDER = CG_FLAG_BYTES / 4, /* of several models in slices: that number, for each model */
    CG_ORDER_BYTES = 4 * ET_MAX_MODELS,
};
_Static_assert(4 * (CG_WORD + 1) <= CG_FLAG_BYTES, "the words have their place in local memory");
enum { CG_GO_ON, CG_ABORTED, CG_EXPIRED };
val cg_flag(cg *, int word);
/* i1: the edge applies in this iteration of the grid's loop; NULL: it always does. */
val cg_applies(cg *, const et_grid *, et_when);
bool cg_weakened(cg *, int event); /* by fault injection */
/* Does the wait depend, in its boxes or counts, on what this kernel writes? Then an earlier wait of
 * the task was for that.
 */
bool cg_wait_reads(cg *, const et_wait *);
void cg_waits(cg *, int grid, val tile);
/* Does each tile wait, with a barrier, and not a workgroup's first one alone? */
bool cg_waits_each_tile(cg *, int grid);
/* The producer waits for the events behind which GRID's weights can be found (et_grid.awaits), once
 * for all of its tiles. Goes to QUIT where consumers have given up. */
void cg_awaits(cg *, int grid, block quit);
void cg_kernel_ends(cg *);     /* the blocks of failure and exit, behind all others */
void cg_begin(cg *, int grid); /* notify early grids that a tile of this one has begun */
void cg_notifies(cg *, int grid);
/* Does a wave of its own tell of tiles that are not a workgroup's last of the grid? By that wave.
 */
/* ---- flags.c: waves that send what tiles store for other devices ---- */
bool cg_sends_apart(cg *, int grid);
void cg_send_tile(cg *, int grid, val tile); /* by those waves */
void cg_leave_sending(cg *);                 /* by those that ran the tile */
/* Of a tile that is sent, by one wave: makes it known to others. */
void cg_notify_sent(cg *, int grid);
bool cg_tells_apart(cg *, int grid);
void cg_tell_tile(cg *, int grid, val tile);

/* ---- flags.c: events of the system, of which devices tell each other ---- */
bool cg_is_flag(const cg *, int event);
/* Do tasks of the grid wait for one, or notify one? */
bool cg_waits_for_flags(const cg *, const et_grid *);
bool cg_notifies_flags(const cg *, const et_grid *);
/* What a flag is in this launch, that of an earlier one being less; i32. */
val cg_flag_value(cg *);
/* The flag of DEVICE for a word of the event array, i32 both, in this device's inbox. */
val cg_flag_at(cg *, val word, val device);
/* One work-item, which was the one after OLD to arrive at WORD of the event, tells all devices if
 * all have. */
void cg_tell_devices(cg *, int event, val word, val old);

/* ---- receive.c: reads of tagged temporaries ---- */
bool cg_receives(const cg *, const et_step *); /* does the step wait for flag-in-data words? */
void cg_step_receives(cg *, const et_step *, int n); /* N of them, one after the other */
void cg_receiving(cg *, int grid, val tile); /* before the waits of a tile whose function is g->f */
void cg_received_all(cg *); /* after such steps: a barrier; to g->failed if words are missing */

/* ---- trace.c: records for a profile; emits nothing without that option ---- */
int cg_trace_lds(const cg *); /* bytes of LDS it needs */
void cg_trace_begin(cg *);    /* once per workgroup, before the others */
void cg_trace_look(cg *);     /* the workgroup looks for a task in a queue; again for every look */
/* A task: it was popped or reached; its waits are over; its body is; it has notified. */
void cg_trace_reached(cg *);
void cg_trace_ready(cg *);
void cg_trace_done(cg *);
void cg_trace_left(cg *, int grid, val tile);
int64_t cg_trace_tasks(const cg *); /* most tasks a launch can have; -1 without a profile */

/* ---- queue.c: rings of tasks; by wave 0 ---- */
typedef val (*cg_task_fn)(cg *, void *ctx, val i);
/* Push COUNT tasks, at least 1, uniform; FN gives task i, divergent. */
void cg_put(cg *, int region, val count, cg_task_fn, void *ctx);
/* Push EACH tasks, at least 1, of every active lane, of which there are some: FN gives a lane its
 * own.
 */
void cg_put_each(cg *, int region, val active, val each, cg_task_fn fn, void *ctx);
/* When the region is over, and for the report of one that does not end. */
typedef struct {
    int grid;
    val instance, tasks;
    val ticket; /* its place, or NULL */
} cg_none_left;
enum { CG_TAKE_FAILED = -1 };
/* A task of the region; 0 when all have been popped; or CG_TAKE_FAILED. */
val cg_pop(cg *, int region, const cg_none_left *);
void cg_received(cg *, int region, val instance);
/* Where a workgroup keeps its ticket, from the kernel's begin on; NULL: there are several rings. */
val cg_ticket_place(cg *);
/* In a task of GRID: the ticket for the next one, while this one's last step goes on. */
void cg_take_next_ticket(cg *, int grid);

/* ---- ready.c: which tasks to push; by wave 0 ---- */
/* Forget the values computed so far and keep the variables bound so far, until the caller restores
 * a copy of *g. */
void cg_isolate(cg *);
bool cg_wakes(cg *, int event, bool begun); /* does a dynamic grid wait for it? */
/* A counter had OLD arrivals (or beginnings) before this one. */
void cg_arrived(cg *, int event, bool begun, const val *index, val old);
/* Lanes where PRED holds completed the counter that is WORD of the event. */
void cg_wake_lanes(cg *, int event, val pred, val word);
void cg_seed(cg *); /* push the tasks that wait for nothing, of the model being emitted */

/* ---- tile.c, static.c, dynamic.c ---- */
void cg_tile(cg *, int grid, val tile);    /* one tile, i32 or i64, from waits to notifications */
void cg_visit(cg *, int first, int count); /* the items of a list, in program order */
void cg_region(cg *, int region);
void cg_run_task(cg *, int grid, val task); /* one tile of a dynamic grid, by its number */

/* All tiles of a grid that this workgroup runs, after the grid's arguments are loaded. */
void cg_own_tiles(cg *, int grid);

void cg_bind_tile(cg *, const et_grid *, val tile); /* coordinates of TILE, i32 or i64 */

/* The number of this iteration of LOOP among all that the loops around it make; -1: of none. */
val cg_iteration(cg *, int loop);

/* ---- claim.c: tiles that are claimed ---- */
enum { CG_UNCLAIMED = -1 };
typedef struct cg_claim {
    val counter, place; /* PLACE: of each work-item; the first one's has the next tile's number */
    bool ahead;         /* that is asked for while the tile goes on */
    bool left;          /* to all, in front of the tile's last barrier */
} cg_claim;
/* All tiles of N grids, one, or two whose tiles are numbered together, that this workgroup claims,
 * of NTILES. */
void cg_claimed_tiles(cg *, const int *grid, int n, val ntiles);
/* In a claimed tile: the number of the next one, while this one's last step goes on. REPEATS: that
 * is in a loop. */
void cg_claim_next(cg *, bool repeats);
/* Leaves that number to all work-items, before the last barrier of a tile of GRID, if every tile of
 * it waits: the waves then go on to the next tile while one of them tells others of this one. */
void cg_claim_leave(cg *, int grid);

/* ---- producer.c: the producer wave ---- */
/* By all waves of the workgroup: initialises the ring; the producer wave gets the code that VISIT
 * emits, and emission goes on for the others. */
void cg_begin_producer(cg *, void (*visit)(cg *));
/* While that is emitted: true, after the copies of what TILE needs. */
bool cg_produces(cg *, int grid, val tile);
bool cg_model_streams(const et_program *, int model); /* does any grid of it? */
/* Before the first task of a model; false where the producer wave has nothing to do for it. */
bool cg_ring_enters(cg *, int model);
/* The step whose b comes through the weight stream, or NULL. */
const et_step *cg_streamed(cg *, int grid);

/* ---- body.c: tiles in functions of their own ---- */
void cg_plan_bodies(cg *); /* of the program that is entered: sets g->bodies */
bool cg_is_brief(
    const cg *); /* are there so many that LLVM's time counts for more than their speed? */
void cg_call_body(cg *, int grid);
void cg_call_task(cg *, int grid, val task); /* of a dynamic grid */
/* Are these items of the schedule to be cut into functions? Then the first of them are called as
 * one; returns how many. */
bool cg_is_long(const cg *, int first, int count);
int cg_call_part(cg *, int first, int count);

/* ---- numbers.c: bodies that differ in numbers alone ---- */
void cg_begin_numbers(cg *); /* before any function is */
/* FN has just been emitted; its last parameter is an address. Returns the function to call in its
 * place, which may be FN, with *OUT_ROW as that argument. FN is gone if it is another. */
val cg_share_numbers(cg *, val fn, val *out_row);
void cg_finish_numbers(cg *); /* once all are emitted */

/* ---- lds.c ---- */
/* Lays out local memory for all parts of the program; false, with an error, where it is too small.
 */
bool cg_plan_lds(cg *);
/* The stages of the weight stream in this part of the program. */
void cg_ring_enter(cg *, const et_program *part);

/* ---- maps.c ---- */
int cg_box_bytes(cg *);     /* of local memory, for barriers of TMA copies */
void cg_box_barriers(cg *); /* made, by one work-item; they are there after the next barrier */
/* Around the emission of a program: tensor maps that it turns out to need are built at the begin.
 */
void cg_maps_begin(cg *);
void cg_maps_end(cg *);
bool cg_has_boxes(const et_func *);
void cg_maps_settle(cg *); /* before a workgroup ends early: its boxes are waited for */

/* ---- resident.c: a kernel that stays (etrt_abi.h: struct etrt_resident) ---- */
/* What a workgroup knows of the step it runs, in local memory. */
enum {
    CG_STEP_MODEL,  /* -1: the kernel ends */
    CG_STEP_NUMBER, /* of the step, which is the launch's in other kernels */
    CG_STEP_FIRST,  /* of its ranks, and how many there are */
    CG_STEP_COUNT,
    CG_STEP_SEEN, /* by model: the number of the last one that it has run */
    CG_STEP_SYMBOLS = CG_STEP_SEEN + ETRT_MAX_MODELS
};
int cg_step_bytes(const cg *); /* of local memory; 0: the kernel does not stay */
val cg_step_word(cg *, int word);
/* The event array that the step counts in, or the one that it zeroes. */
val cg_step_events(cg *, bool next);
const char *cg_resident_problem(cg *); /* why the program cannot stay, or NULL */
/* The running number of the launch, or of the step. */
val cg_launch(cg *);
/* Before the first step, by all waves. */
void cg_prepare_steps(cg *);
/* Steps until the kernel ends, each run by VISIT: of the consumers, and of a producer wave. */
void cg_stay(cg *, void (*visit)(cg *));
void cg_stay_producing(cg *, void (*visit)(cg *));
void cg_leave_early(cg *); /* by all waves of a role, where a workgroup gives up */

/* ---- models.c ---- */
/* The workgroup is done with the model. The last one to arrive has acquired the stores of the
 * others and notifies the host. */
void cg_tell_done(cg *, int model);
/* All models of the program that the launch and this workgroup run. */
void cg_models(cg *);
/* How many workgroups the model being emitted has. */
val cg_part_workgroups(cg *);
/* Is RANK one that runs MODEL in this launch? MODEL, below the number of models, may differ from
 * lane to lane. */
val cg_part_has(cg *, val model, val rank);

/* ---- sequence.c: a kernel for each grid ---- */
bool cg_is_sequence(const cg *);
void cg_sequence(cg *);
/* ---- arguments.c ---- */
size_t cg_part_args(const cg *); /* where arguments of the models begin, in bytes */
bool cg_has_zeros(const cg *);   /* is there a weight with a map of its zeros? */
size_t cg_last_args(const cg *); /* the end of the arguments that every kernel has */
size_t cg_zeros_arg(const cg *); /* the argument that says whether to skip them */
void cg_load_arguments(cg *);
val cg_argument(cg *, size_t offset, LLVMTypeRef);
/* The offset of a temporary in the workspace, or of another tensor's address among the arguments.
 */
int64_t cg_tensor_at(const cg *, int tensor);
/* Of the program that is entered: the offsets of all tensors, and loads of those that are constant.
 */
void cg_place_arguments(cg *);

/* ---- kernel.c ---- */
void cg_kernel(cg *);
void cg_identify(cg *); /* the numbers of the work-item, and the arguments */
void cg_forget(cg *);   /* the values of expressions */
void cg_enter_program(cg *, et_program *);
void cg_clear_next_events(cg *, val number);

/* ---- rank.c ---- */
/* The rank of the workgroup with this NUMBER in the dispatch; stored for reports, too. */
val cg_rank(cg *, val number);

/* ---- die.c: grids dealt by slice ---- */
val cg_die(cg *);                        /* below ETRT_MAX_DIES; 0 where it is not known */
uint32_t cg_sliced_models(et_program *); /* as bits */
bool cg_model_sliced(const cg *, int model);
/* Of several models: count this workgroup on its die, for each sliced model that it runs. */
void cg_count_models(cg *);
/* Wait until every workgroup of the model being emitted is counted on its die. */
void cg_meet(cg *);
void cg_sliced_grid(cg *, int grid);
/* All tasks that notify the event or wait for it run on one die, and the target has a fence for
 * that.
 */
bool cg_within_die(const cg *, int event);
/* An acquire fence of the die. */
void cg_die_acquire(cg *, bool weak);

#endif
