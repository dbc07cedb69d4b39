/* machine.h - what the passes know of a GPU: sizes that tilings must respect, and speeds from which
 * costs are predicted. Anything computed from the speeds is a prediction, never a measurement. */
#ifndef ET_MACHINE_H
#define ET_MACHINE_H

typedef struct {
    const char *name;   /* "MI300X" */
    const char *target; /* "gfx942" */
    int cus, dies;
    int waves; /* per workgroup: one per SIMD of a CU */
    int wave_size;
    int k_bytes;   /* of a row of an operand that one round of a wave's matrix loads covers */
    int lds_bytes; /* a workgroup may use */
    double clock_ghz;
    double hbm_gbs;           /* bandwidth a streaming kernel reaches, GB/s */
    double cache_gbs_cu;      /* from the nearest shared cache to one CU, GB/s */
    double matrix_tflops;     /* dense bf16, whole chip */
    double f32_matrix_tflops; /* the same of f32 operands */
    double vector_tflops;     /* f32 fused multiply-add, whole chip */
    double event_us;          /* from a notify on one die to a waiter on another going on */
    double latency_us;        /* of a dependent load from memory */
    double launch_us;         /* of a kernel */

    /* What the simulator of schedules (simulate.h) needs besides. */
    double cache_mb;       /* in front of memory, for the whole chip */
    double load_kb;        /* of weights that a workgroup's loads in flight bring at once */
    double counter_die_us; /* from an arrival until a poller on the same die has seen it */
    double counter_us;     /* the same across dies */
    double arrival_us;     /* between arrivals at one counter: atomics at one address queue up */
    double release_us;     /* to make a workgroup's stores visible to other dies */
    double acquire_us;     /* to forget what other dies have written since */
    double fence_die_us;   /* either, within a die */
    double atomic_us;      /* there and back */
    double pop_us;         /* to take a task from a ring that has one */
    double pop_gap_us;     /* between pops of one ring */
    double graph_us;       /* from a kernel's last workgroup to the next kernel's first, in a graph
                              that the device walks by itself */
    const char *source;
} et_machine;

/* The machine that stands for TARGET where none is named, or NULL. */
const et_machine *et_machine_for(const char *target);
/* The I-th machine, NULL past the end. */
const et_machine *et_machine_at(int i);

#endif
