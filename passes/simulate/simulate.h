/* simulate.h - play a scheduled program on a machine model: when every task of a launch runs, and
 * where. A prediction, never a measurement; README.md says how good it is and what it leaves out.
 */
#ifndef ET_SIMULATE_H
#define ET_SIMULATE_H

#include "ir/program/program.h"
#include "passes/machine/machine.h"
#include "passes/machine/profile.h"

typedef enum {
    ET_SIM_AS_SCHEDULED, /* every grid as the program says */
    ET_SIM_STATIC,
    ET_SIM_DYNAMIC,
    ET_SIM_UNFUSED, /* the same tiles, a kernel for every grid, in a graph of the device */
    ET_SIM_STREAMS, /* as UNFUSED, but of several models each is a graph of its own beside the
                       others, on the CUs that the program or `mask` gives every kernel */
} et_sim_mode;

/* One task of the launch. Times are microseconds from the launch on; look is the look into
 * the queues that found the task, and negative when it came from none. */
typedef struct {
    int grid;          /* of the program that runs, see et_part_at */
    int64_t iteration; /* of the loops around it as one number, outermost first, from 0 */
    int64_t tile;
    int workgroup, die;
    double t_look, t_reached, t_ready, t_done, t_left;
} et_sim_task;

typedef struct {
    const et_machine *machine;
    const et_profile *profile; /* times that replace the machine's for bodies, or NULL */
    const int64_t *syms;       /* of the program handed in */
    et_sim_mode mode;
    const bool *dynamic; /* AS_SCHEDULED: by grid, instead of what the program says; or NULL */
    int workgroups;      /* 0: one per CU */
    /* Tasks that a mode or `dynamic` made dynamic are pushed when the last of those they wait for
     * has been claimed, not when it is done, and wait in place; but for those whose waits a tensor
     * decides. */
    bool early_push;
    /* Assume that a wave pushes all cells together that an arrival made ready, whatever their
     * waits. Codegen does so where lanes can test them (et_cells_together). */
    bool wide_push;
    /* CUs differ in speed: each is slower than the machine by a share of its own, 0 .. spread,
     * drawn with the seed. */
    double spread;
    /* Each body takes longer than predicted by a random time in 0 .. straggle_us. */
    double straggle_us;
    uint64_t seed;
    /* The element at INDEX of tensor TENSOR, an integer one that bounds or conditions read, in an
     * iteration of the loops around the reader. False: not known. NULL: none is. */
    bool (*value)(void *ctx, int tensor, int64_t iteration, const int64_t *index, int64_t *out);
    /* By model: the launch leaves it out; NULL: none. Its CUs are lent to the others as libetrt
     * does, or stay idle (keep_parts). */
    const bool *left_out;
    bool keep_parts;
    /* The share of all workgroups that has the tiles of GRID in an iteration of the loops around
     * it, instead of what the program says; NULL: as that says. */
    et_share (*mask)(void *ctx, int grid, int64_t iteration);
    double
        switch_us; /* STREAMS: between kernels with other CUs than the one before, additionally */
    /* Called for every task as it leaves, or NULL. */
    void (*task)(void *ctx, const et_sim_task *);
    void *ctx;
} et_sim_options;

typedef struct {
    double us; /* predicted time of the launch */
    /* Shares of all workgroups' time, adding up to 1: in bodies; held by waits or without a task;
     * looking for tasks and counters, fences, notifying, pushing, launching kernels. */
    double body, wait, schedule;
    double memory_bytes; /* moved from and to memory */
    int64_t tasks;
    int64_t held;   /* of them, those that had to wait */
    int64_t pushes; /* times that tasks were put into a queue */
    int64_t stolen; /* tasks taken from another die's queue */
    int kernels;
} et_sim_result;

enum { ET_SIM_ERR = 256 };

/* False with a message when something that a wait or notify depends on is not known, or when the
 * program cannot finish. The same arguments give the same result. */
bool et_simulate(et_program *, const et_sim_options *, et_sim_result *out, char err[ET_SIM_ERR]);

/* Which grids of the part that runs to make dynamic so that this launch takes the least predicted
 * time; MODE, `dynamic` and `task` of the options are ignored. Returns that time, or -1 with a
 * message. Plays the launch a few times for each grid. */
double et_sim_choose(et_program *, const et_sim_options *, bool *out_dynamic, char err[ET_SIM_ERR]);

/* ---- values that routing depends on ---- */

typedef struct et_sim_values et_sim_values;

/* Integer tensors that waits, notifies and sizes of tiles read, by the reference interpreter, for a
 * program that this compilation made. Runs only the nodes of the graph that these depend on. GIVEN
 * is indexed by value id as in et_graph_interp: inputs and whatever else is known beforehand (a
 * value given is not computed), NULL for the rest; it must outlive the result. States that are
 * given are updated in place. What depends on something missing is not known. NULL with a message
 * when the interpreter fails. */
struct et_tensor_data;
et_sim_values *et_sim_values_create(et_program *p, const int64_t *syms,
                                    struct et_tensor_data *const *given, char err[ET_SIM_ERR]);
/* Integer inputs whose name ends so are IS in every element. */
typedef struct {
    const char *name;
    int32_t is;
} et_sim_known;
/* The same with invented inputs: integers count up, unless KNOWN (or NULL) has them, and values
 * that integers are computed of (a router's scores) are random, the same each time. Lives in the
 * arena. */
et_sim_values *et_sim_values_guess(et_arena *, et_program *p, const int64_t *syms,
                                   const et_sim_known *known, char err[ET_SIM_ERR]);
/* The same with what is GIVEN, by value id of the part's graph. Of a random value the part ALIKE, 0
 * to 1, is the same in all rows: the more, the fewer experts tokens choose together. */
et_sim_values *et_sim_values_guess_rest(et_arena *, et_program *p, const int64_t *syms,
                                        struct et_tensor_data *const *given, float alike,
                                        char err[ET_SIM_ERR]);
void et_sim_values_destroy(et_sim_values *);
/* As et_sim_options.value; CTX is the et_sim_values. */
bool et_sim_value(void *values, int tensor, int64_t iteration, const int64_t *index, int64_t *out);

/* The die of a workgroup: they are laid out die after die, evenly. */
int et_sim_die(int workgroup, int workgroups, int dies);

#endif
