/* manifest.h - what a code object says about itself, parsed and checked. */
#ifndef ETRT_MANIFEST_H
#define ETRT_MANIFEST_H

#include "runtime/etrt.h"
#include "runtime/etrt/manifest/expr.h"
#include "runtime/etrt_abi.h"

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* One of several models that share the kernel. */
struct etrt_mixed {
    char *name;
    int64_t from, to; /* its part of the workgroups when all run, in millionths */
    int64_t done;     /* where in struct etrt_report the kernel tells that it is done */
};

/* How long steps of a model are predicted to take (etrt_abi.h). Rows after the last have UPTO 0. */
struct etrt_paced {
    int64_t upto, ns[ETRT_PACE_UNITS];
};

struct etrt_pacing {
    int64_t symbol, weight, latency_ns;
    struct etrt_paced size[ETRT_MAX_SIZES];
};

struct etrt_symbol {
    char *name;
    int model; /* it is a dim of; 0 where there is one */
    int64_t lo, hi, tile, chunk;
};

struct etrt_loop {
    char *name;
    int64_t lo, hi; /* [lo, hi) */
};

/* The map of what is zero in a weight (etrt_abi.h), in BYTES at AT from its begin. */
struct etrt_zeros {
    int64_t columns; /* of a piece; 0: there is no map */
    int64_t matrices, rows, k;
    uint64_t at, bytes;
};

/* A weight's matrices, packed (etrt_abi.h), in BYTES at AT from its begin; of BLOCK bytes each, and
 * from WORDS on whether they are. */
struct etrt_packed {
    int64_t matrices; /* 0: it is not packed */
    int64_t rows, k;
    uint64_t at, block, words, bytes;
};

struct etrt_tensor {
    char *name;
    int model; /* it is of; 0 where there is one */
    enum etrt_kind kind;
    enum etrt_dtype dtype;
    int rank;
    struct etrt_expr shape[ETRT_MAX_RANK];
    int64_t max_bytes;
    bool stored;  /* an output that the kernel never reads */
    char *source; /* weights: the checkpoint name, with {loop} where loops are */
    /* 1 + the dimension of which each device has a part; 0: each has all of it. So many devices
     * that follow each other have the same part. Of a weight, the parts may be of elements from
     * FROM on of a dimension that has OF in the checkpoint; OF 0: of all. */
    int cut, repeat;
    int64_t from, of;
    int nloops;
    struct etrt_loop loops[ETRT_MAX_RANK];
    /* Of a weight, as is what follows. In memory dimension d is the shape's number order[d]. */
    bool relaid;
    unsigned char order[ETRT_MAX_RANK];
    struct etrt_zeros zeros;
    struct etrt_packed packed;
    int64_t entries; /* of its table (etrt_abi.h); 0: it is in device memory */
};

/* A tensor in the workspace. */
struct etrt_temporary {
    struct etrt_tensor tensor; /* its name, dtype and shape */
    uint64_t offset;
    int symbol; /* launches differ by: it is there while LO <= value <= HI; -1: always */
    int64_t lo, hi;
    int64_t least, most; /* workgroups with which it is there */
};

struct etrt_event {
    char *name;
    uint32_t base, words;
    int rank;
    int64_t shape[ETRT_MAX_RANK]; /* at the symbols' upper bounds */
};

enum { ETRT_MAX_DEPTH = 16 }; /* of loops in one another */

/* One kernel of a launch that is a sequence of them. */
struct etrt_kernel {
    char *symbol;
    uint32_t lds_bytes, workgroup;
    bool counted; /* a workgroup for each of its tiles, whose number is the product of TILES; else
                     as many as can be resident */
    int rank;
    struct etrt_expr tiles[ETRT_MAX_RANK];
};

/* A kernel, or TIMES times the COUNT steps that follow; as many as UNTIL says where it VARIES,
 * TIMES at most. */
struct etrt_step {
    int kernel; /* -1: a loop */
    int64_t times;
    bool varies;
    struct etrt_expr until;
    int count;
};

/* What launches run whose value of SYMBOL is not beyond UPTO, and their workgroups not beyond
 * WORKGROUPS, the first there is. */
struct etrt_sequence {
    int symbol; /* -1: all launches */
    int64_t upto;
    int64_t workgroups; /* INT32_MAX: any number */
    struct etrt_step *steps;
    int nsteps;
    int64_t launches; /* of kernels, all in all */
};

struct etrt_manifest {
    char *etcc, *target, *model, *source_hash, *schedule, *kernel;
    uint32_t workgroup, wavefront, lds_bytes;
    uint64_t workspace_bytes;
    uint64_t tags_at, tags_bytes; /* of the workspace: to be zeroed every so many launches */
    uint32_t tags_launches;
    bool resident; /* the kernel stays and takes steps from mailboxes */
    int devices;   /* that run the kernel together, or 0: one */
    uint64_t inbox_bytes;
    uint32_t inbox_launches; /* the inbox is to be zeroed every so many */
    uint32_t event_words;
    int nsymbols, ntensors, ntemporaries, nevents, ntasks;
    int nmodels; /* 0: the kernel is of one model, `model` */
    struct etrt_mixed *models;
    struct etrt_pacing *paces; /* of each model, or of the one that there is; or NULL */
    struct etrt_symbol *symbols;
    struct etrt_tensor *tensors;
    struct etrt_temporary *temporaries;
    struct etrt_event *events;
    char **tasks;
    int64_t profile_tasks; /* -1: the kernel records no tasks; else at most so many in a launch */
    /* Where a launch is a sequence of kernels; else there are none and it is that of `kernel`. */
    int nkernels, nsequences;
    struct etrt_kernel *kernels;
    struct etrt_sequence *sequences;
    int depth;              /* loops around a kernel, at most */
    bool zeros;             /* the kernel's arguments say whether to look at maps of what is zero */
    uint32_t kernarg_bytes; /* of the segment as etrt_abi.h lays it out */
};

/* The sequence that launches at these VALUES of the symbols on so many workgroups run. */
const struct etrt_sequence *etrt_manifest_sequence(const struct etrt_manifest *,
                                                   const int64_t *values, uint32_t workgroups);
/* How often the steps of a loop run. */
etrt_status etrt_step_times(const struct etrt_step *, const int64_t *values, int64_t *out);
/* Workgroups of a kernel whose tiles are counted. Fails where they are out of reason. */
etrt_status etrt_kernel_tiles(const struct etrt_kernel *, const int64_t *values,
                              uint32_t *out_tiles);

/* Parse JSON text. On failure the last error says where, and OUT needs no free. */
etrt_status etrt_manifest_parse(const char *json, size_t bytes, struct etrt_manifest *out);
/* The same out of a whole file of code. */
etrt_status etrt_manifest_of_code(const void *file, size_t bytes, struct etrt_manifest *out);
void etrt_manifest_free(struct etrt_manifest *);

/* More bytes than any honest tensor or model has, so that sums of them do not overflow. */
#define ETRT_MAX_BYTES ((int64_t)1 << 46)

const char *etrt_kind_name(enum etrt_kind);
bool etrt_kind_find(const char *name, enum etrt_kind *out);
const char *etrt_dtype_name(enum etrt_dtype);        /* "bf16" */
const char *etrt_dtype_safetensors(enum etrt_dtype); /* "BF16" */
size_t etrt_dtype_bits(enum etrt_dtype);
size_t etrt_dtype_bytes(enum etrt_dtype); /* what one element takes alone */
bool etrt_dtype_find(const char *name, enum etrt_dtype *out);

/* Shape and size at the symbols' VALUES. Fails naming the tensor when an extent is negative or the
 * size is out of reason. */
etrt_status etrt_tensor_shape(const struct etrt_tensor *, const int64_t *values,
                              int64_t out_shape[ETRT_MAX_RANK], int64_t *out_bytes);

/* What a tensor takes of device memory, its map or table included; and of the host's. */
uint64_t etrt_tensor_memory(const struct etrt_tensor *);
uint64_t etrt_tensor_host(const struct etrt_tensor *);

/* Its shape as people write it: "N, (N + 15) / 16, 256". */
void etrt_shape_print(FILE *, const struct etrt_manifest *, const struct etrt_tensor *);

/* Index by name, -1 when there is none. */
int etrt_manifest_tensor(const struct etrt_manifest *, const char *name);
int etrt_manifest_symbol(const struct etrt_manifest *, const char *name);
int etrt_manifest_model(const struct etrt_manifest *, const char *name);

/* How many parts all devices have of tensor T: 1 of what is not cut. */
static inline int etrt_parts(const struct etrt_manifest *m, const struct etrt_tensor *t) {
    return t->cut ? m->devices / t->repeat : 1;
}

#endif
