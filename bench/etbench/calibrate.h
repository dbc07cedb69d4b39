/* calibrate.h - the programs that --calibrate measures a machine with. */
#ifndef EB_CALIBRATE_H
#define EB_CALIBRATE_H

#include "bench/etbench/etbench.h"

/* How much a program does: enough that what is measured shows on a GPU, little on the emulator. */
struct eb_scale {
    int workgroups; /* that the device runs at once */
    int waves, wave_size;
    int tiles; /* for each of them, at most: the bound of dim N is their product */
    int row;   /* elements of a row of weights that is streamed */
    int words; /* of the table that a chain of loads goes through: a power of two */
    int depth; /* of a product */
    int lanes; /* elements of a tile of vector arithmetic */
};

enum {
    EB_STREAM_ROWS = 64,
    EB_CHAIN = 32,
    EB_POLYNOMIAL = 64,
    EB_PRODUCT_M = 32,
    EB_PRODUCT_N = 128
};

/* A program of which a measurement runs launches. */
struct eb_probe {
    const char *name;
    et_schedule_kind schedule;
    int trips; /* of its loop, or a length that the program has instead */
    void (*write)(const struct eb_scale *, int trips, FILE *);
};

enum eb_probe_id {
    EB_PROBE_STREAM,
    EB_PROBE_CACHED,
    EB_PROBE_MATRIX,
    EB_PROBE_F32_MATRIX,
    EB_PROBE_VECTOR,
    EB_PROBE_SHORT_CHAIN,
    EB_PROBE_LONG_CHAIN,
    EB_PROBE_TASKS,
    EB_PROBE_NOTIFY,
    EB_PROBE_PAIRS,
    EB_PROBE_QUEUED,
    EB_PROBE_FEW_ROUNDS,
    EB_PROBE_MANY_ROUNDS,
    EB_PROBE_FEW_KERNELS,
    EB_PROBE_MANY_KERNELS,
    EB_PROBES
};
extern const struct eb_probe eb_probe[EB_PROBES];

#endif
