/* machine.h - what the passes know of a GPU: sizes that tilings must respect, and speeds from which
 * costs are predicted. Anything computed from the speeds is a prediction, never a measurement.
 * Machines are texts: machines/NAME.machine, which come with etcc, and files of the user. */
#ifndef ET_MACHINE_H
#define ET_MACHINE_H

#include "ir/base/diag.h"

typedef struct {
    const char *name;   /* "MI300X" */
    const char *target; /* of its code: a row of codegen/targets/targets.def */
    int cus, dies;
    int waves; /* per workgroup: one per SIMD of a CU */
    int wave_size;
    int k_bytes;      /* bytes of an operand's row in one load of all lanes of a wave */
    int lds_bytes;    /* of a workgroup, at most */
    int occupancy;    /* workgroups that a CU holds at once */
    int group_waves;  /* of a warpgroup MMA; 0: there is none */
    int local_copies; /* 1: memory is copied to local memory without passing through registers */
    double clock_ghz;
    double hbm_gbs; /* bandwidth a streaming kernel reaches, GB/s */
    double
        crowd; /* the part of its bandwidth that a stream loses where memory gives all that it can,
                  and how much longer bytes of the cache take then, as a part; 0: not known */
    double crowd_cache;
    double stream_gbs_cu;     /* of the weight stream to one CU; 0: not known, as cache_gbs_cu */
    double cache_gbs_cu;      /* from the nearest shared cache to one CU, GB/s */
    double copy_gbs_cu;       /* the same by the asynchronous copies of a pipeline */
    double matrix_tflops;     /* dense bf16, whole chip */
    double f32_matrix_tflops; /* the same of f32 operands */
    double vector_tflops;     /* f32 fused multiply-add, whole chip */
    double code8_ops;     /* instructions of a lane for a quantised value of 8 bits in packed pairs,
                             with     its scale and product; 0: the operations of its expression */
    double code4_ops;     /* the same of 4 bits */
    double code8_one_ops; /* of 8 bits, unscaled, with one row; or 0 */
    double bare8_ops;     /* of 8 bits, unscaled, with up to sixteen; or 0 */
    double bare4_ops;     /* the same of 4 bits */
    double event_us;      /* from a notify on one die until a waiter on another goes on */
    double latency_us;    /* of a dependent load from memory */
    double cache_latency_us; /* of one that finds what other tasks have just written */
    double launch_us;        /* of a kernel */

    /* For the simulator of schedules (simulate.h): */
    double link_gbs;  /* from a device to another of the same machine, one way */
    double system_us; /* that fences among devices take beside those of one */
    double cache_mb;  /* in front of memory, for the whole chip */
    double load_kb;   /* of weights that a workgroup has in flight at once */
    double stream_us; /* that the weight stream adds to a task */
    int flight_kb;    /* KiB of the weight stream in flight, at most */
    int prefetch_kb;  /* KiB of a CU's weights that are prefetched into the shared cache ahead of
                         the stages; 0: none */
    int stream_kb;    /* KiB of a stage of the weight stream (ir/weights/stream.h); 0: none */
    double counter_die_us; /* from an arrival until a poller on the same die has seen it */
    double counter_us;     /* the same across dies */
    double arrival_us;     /* between arrivals at one counter: atomics at one address queue up */
    double release_us;     /* to make a workgroup's stores visible to other dies */
    double acquire_us;     /* to invalidate caches, so that stores of other dies are seen */
    double flag_us;        /* that flag-in-data events add to a task; 0: not known, none are used */
    double fence_die_us;   /* of a release or acquire within a die */
    double notify_us;  /* from the last store of a task until its arrival, as traces have it; 0: not
                          measured, release_us */
    double seen_us;    /* from the last arrival until a waiting task goes on; 0: not measured,
                          counter_us and acquire_us */
    double atomic_us;  /* of an atomic that returns a value */
    double pop_us;     /* to pop a task from a queue that has one */
    double pop_gap_us; /* between pops of one queue */
    double graph_us;   /* from a kernel's last workgroup to the next kernel's first, in a graph
                          that the device walks by itself */

    /* For placement: */
    int shader_engines;  /* of a die */
    double die_gbs;      /* what one die alone can get from memory, GB/s */
    double cross_gbs;    /* what one die can get of what others have written, GB/s */
    double issue_cycles; /* clocks between two instructions of a wave without stalls */
    double mask_us;      /* to change the CU mask of a queue, for placement that way */
    const char *source;  /* of the figures, in one line */
    const char *
        file; /* where the figures are from; "MI300X.machine" of the machines that come with etcc */

    /* The options by which steps of this compilation get plans (passes/product/product.h): a step
     * that has none yet is priced by the one that it would get. NULL: steps get no plans, and are
     * priced by what their buffers say. */
    const struct et_product_options *plans;
} et_machine;

/* The machine of TARGET where none is named, or NULL. */
const et_machine *et_machine_for(const char *target);
/* The machine that programs are compiled for by default. */
const et_machine *et_machine_default(void);
/* The I-th machine that comes with etcc, NULL past the end. */
const et_machine *et_machine_at(int i);
/* The machine that the user calls WHAT: one that comes with etcc, by its name (whether letters are
 * large or small and whether there are blanks does not matter), or a file, whose name has a '/' or
 * ends in ".machine". NULL after an error. A file's lives in the arena. TARGET, unless NULL, is
 * what the code is for: it must be the machine's. */
const et_machine *et_machine_find(et_arena *, et_diags *, const char *what, const char *target);

/* What kernels have of M of whose workgroups a CU holds OCCUPANCY: as if it had so many times as
 * many CUs, each with a part of the waves, the LDS and the rates. What a workgroup has in flight
 * from memory stays, since others may not ask for any. In the arena; M itself where that is 1; NULL
 * after an error, where waves cannot be divided so. */
const et_machine *et_machine_share(et_arena *, et_diags *, const et_machine *m, int occupancy);

/* What a kernel has of M that takes OWN GB/s of memory, while kernels on other CUs take OTHERS: the
 * more memory gives, the longer take loads from there, and those that the cache answers. */
et_machine et_machine_beside(const et_machine *m, double own, double others);

/* The machine described by TEXT, which may hold any bytes, in the arena; NULL after errors.
 * machines/README.md is the reference. */
const et_machine *et_machine_parse(et_arena *, et_diags *, const char *file_name, const char *text,
                                   size_t bytes);
/* Set the number KEY of a machine; false, and nothing is changed, where VALUE is outside of what a
 * file may say. */
bool et_machine_set(et_machine *, const char *key, double value);
/* Write the machine as a file that reads back, to four digits, each number with what COMMENT says
 * of its key where that is not NULL: its source. */
typedef const char *(*et_machine_comment)(void *ctx, const char *key);
void et_machine_print(const et_machine *, FILE *, et_machine_comment, void *ctx);
/* A line for every machine that comes with etcc. */
void et_machine_list(FILE *);

/* Slots of SLOT bytes that a ring of weights has room for beside so many bytes of locals; 0 where
 * there is no ring. */
int et_machine_slots(const et_machine *, int locals, int slot);

#endif
