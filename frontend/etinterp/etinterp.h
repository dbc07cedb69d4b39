/* etinterp.h - what the parts of etinterp share. */
#ifndef ETINTERP_H
#define ETINTERP_H

#include "ir/program/program.h"
#include "runtime/cli/cli.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"

enum { MAX_SYMS = 64 };

struct options {
    const char *model, *in, *weights, *out, *target;
    cli_list set; /* NAME=3 */
    uint64_t seed;
    int64_t orders;
    int graph; /* 1: as the graph says, without tasks */
    bool races, unverified;
};

/* A tensor the caller holds. */
struct tensor {
    et_tensor_kind kind;
    const char *name, *source; /* source: its name in a checkpoint, with {loop} in it */
    const char *first;         /* of weights: what the first of its tensors is called */
    const et_shape *shape;
    const et_relaid *relaid; /* of a weight that is, or NULL */
    int nloops;
    const int *loops;
    et_dtype dtype; /* as stored here */
    int rank;
    int64_t dim[ET_MAX_RANK], count;
    char *bytes, *start; /* start: what bytes held before the run, where there are several */
    int id;              /* tensor of the program, or value of the graph */
};

struct model {
    et_arena *arena;
    et_diags *diags;
    et_graph *g;
    et_program *p; /* NULL: the graph is run */
    int64_t syms[MAX_SYMS];
    struct tensor *tensors;
    int ntensors;
    struct etrt_st *in, *weights;
    int64_t sequences, length; /* of input_ids, or 0 */
    int64_t slots;             /* of a decoder's caches: sequences that are kept at a time */
    int64_t at, count;         /* tokens before this launch, and in it */
    et_program *whole;         /* with all its variants */
    struct tensor *before;     /* of the launch before this one */
    int nbefore;
    struct etrt_st_tensor *out;
    size_t nout;
    bool again; /* every launch is run more than once */
    struct elements *elements;
};

static inline size_t tensor_bytes(const struct tensor *t) {
    return (size_t)et_dtype_size(t->dtype, t->count);
}

/* These report to m->diags and return false. */
bool complain(struct model *, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool set_dims(struct model *, const struct options *);
bool load_tensors(struct model *);
/* BYTES of zeros for elements of a tensor, until free_elements; NULL when there is no memory. They
 * are no part of the arena: a tensor may be larger than what a compilation may take, and takes
 * memory only where it is touched. */
char *make_elements(struct model *, size_t bytes);
void free_elements(struct model *);
/* Outputs go where those of the launches before are. */
bool keep_outputs(struct model *);
bool write_outputs(struct model *, const char *path);
bool run_model(struct model *, const struct options *);

#endif
