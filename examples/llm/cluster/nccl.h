/* nccl.h - what stages hand on, from GPU to GPU: NCCL, and CUDA's driver, opened at run time.
 *
 * NCCL sends what lies in the primary context of the CUDA runtime. So this retains that of the
 * rank's GPU, and libetrt's device is "cuda:current", which lives in it.
 *
 * Failing calls leave the reason in ERR; what wire.h says of failures holds here, too. */
#ifndef CLUSTER_NCCL_H
#define CLUSTER_NCCL_H

#include "examples/llm/cluster/wire.h"
#include <etrt.h>

/* The library that ETCLUSTER_NCCL names, or libnccl.so.2, joins this rank's GPU, DEVICE ("cuda:1"),
 * to those of all others. All ranks call it. False: on all of them, and none has anything open; WHY
 * is of this rank, and empty where another one is the reason. */
bool nccl_open(const struct wire *, const char *device, char *why);
/* After the devices that use it are closed. */
void nccl_close(void);
/* The primary context becomes current in the calling thread: before it opens "cuda:current". */
void nccl_enter(void);

/* The session has what stages hand on, by NAME, in memory of this: after it is created. */
bool nccl_bind(const etrt_model *, etrt_session *, char *err);
/* So many bytes of it, to or from that rank, which calls the other one. */
bool nccl_send(const struct wire *, int to, const char *name, size_t bytes, char *err);
bool nccl_take(const struct wire *, int from, const char *name, size_t bytes, char *err);

#endif
