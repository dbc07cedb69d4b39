/* cluster.h - one model in several processes: the head runs etllm and the last stage, every other
 * rank one stage. */
#ifndef CLUSTER_H
#define CLUSTER_H

#include "examples/llm/cluster/wire.h"

/* head.c: from here on every kernel that is opened has the other ranks run before it. */
void head_begin(struct wire *);
/* Tells them that there is nothing more. */
void head_end(struct wire *);

struct stage_options {
    const char *kernel, *model, *device;
    uint64_t cache; /* of experts, as etrt_model_cache */
};
/* stage.c: runs the stage until the head says that it is over. False: ERR. */
bool stage_run(const struct wire *, const struct stage_options *, char *err);

#endif
