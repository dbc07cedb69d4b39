/* wire.h - bytes between the processes of one model, over MPI, with bounded waits.
 *
 * Failing calls leave the reason in ERR, an array of LLM_ERR characters. After a failure nothing is
 * known of what is still under way: the process ends, and with it all others (wire_abort). */
#ifndef CLUSTER_WIRE_H
#define CLUSTER_WIRE_H

#include "examples/llm/base/error.h"
#include <stddef.h>
#include <stdint.h>

enum { WIRE_LAUNCH = 1, WIRE_STATUS, WIRE_TENSOR, WIRE_READY }; /* tags */
enum { WIRE_ID = 128 };                                         /* bytes */

struct wire {
    int rank, ranks; /* rank 0 is the head, and has the last stage */
    int local;       /* among the ranks of this machine */
    double limit;    /* seconds that another rank may be silent while it is waited for */
    bool nccl;       /* stages hand on over NCCL (nccl.h) */
};

/* Starts MPI; ARGC and ARGV as main has them. */
bool wire_open(struct wire *, int *argc, char ***argv, char *err);
void wire_close(void);
/* Ends all processes, with status 1. */
void wire_abort(void) __attribute__((noreturn));

/* All ranks call it: whether it is true on all of them; and what rank 0 has in ID, to all. */
bool wire_all(const struct wire *, bool);
bool wire_share(const struct wire *, char id[WIRE_ID]);

/* The stage of a rank, from 1, as etcc --layers counts them, and the rank of a stage. */
int wire_stage(const struct wire *, int rank);
int wire_rank(const struct wire *, int stage);
/* "stage 2 of 3 (rank 2)" */
const char *wire_name(const struct wire *, int rank, char out[64]);

/* Between looks at what others do: the TURN-th. */
void wire_rest(int turn);

/* Within LIMIT seconds, 0: any time. */
bool wire_send(const struct wire *, int to, int tag, const void *data, size_t bytes, char *err);
/* Waits for the next message and tells how long it is, then takes it. */
bool wire_next(const struct wire *, int from, int tag, double limit, size_t *out_bytes, char *err);
bool wire_take(const struct wire *, int from, int tag, void *out, size_t bytes, char *err);

#endif
