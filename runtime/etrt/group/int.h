/* int.h - what the files of the room share. */
#ifndef ETRT_GROUP_INT_H
#define ETRT_GROUP_INT_H

#include "runtime/etrt/group/group.h"
#include "runtime/etrt_abi.h"

#include <pthread.h>

/* An allocation; blocks are in the order of their first addresses. */
struct block {
    char *on[ETRT_MAX_DEVICES];
    uint64_t bytes;
};

struct group {
    struct etrt_device base; /* first */
    int n;
    etrt_device *member[ETRT_MAX_DEVICES];
    pthread_mutex_t lock; /* of blocks */
    struct block *block;
    size_t blocks, room;
    int failed;    /* the member that the last launch that failed did so on first */
    int lost;      /* one that did not end when it was told to, or -1 */
    double waited; /* of the last launch: etrt_waited */
};

/* heart.c: whether a launch gets on. */
struct heart {
    double looked, since;           /* when it was looked at, and last changed or was asked */
    uint64_t sum[ETRT_MAX_DEVICES]; /* of the events of each member */
    bool begun;
    uint32_t asked; /* enum of etrt_abi.h */
};
/* What a member, whose launch D is, finds in its abort word from now on. */
void etrt_group_tell(etrt_device *member, const struct etrt_dispatch *d, uint32_t what);
/* Looks at members that have not ENDED; asks what they wait for where none gets on. Returns whether
 * they do not even answer that. */
bool etrt_group_listen(etrt_device *dev, struct heart *, struct etrt_dispatch *const *d,
                       const bool *ended);
/* Seconds that a launch whose waits are bounded by LIMIT may stand still, and that its members may
 * take to end when they are told to. */
double etrt_group_grace(double limit);

static inline struct group *group_of(const etrt_device *dev) {
    return (struct group *)dev;
}

/* memory.c: as the driver's functions of these names. */
etrt_status etrt_group_alloc(etrt_device *dev, enum etrt_place place, uint64_t bytes, void **out);
void etrt_group_free(etrt_device *dev, void *memory);
etrt_status etrt_group_copy(etrt_device *dev, void *to, const void *from, uint64_t bytes,
                            enum etrt_direction direction);
etrt_status etrt_group_send(etrt_device *dev, void *to, const void *from, uint64_t bytes);
etrt_status etrt_group_settle(etrt_device *dev);
bool etrt_group_fill(etrt_device *dev, void *memory, uint8_t byte, uint64_t bytes);
/* An error: MEMORY is none of the group's. */
etrt_status etrt_group_strange(const void *memory);

#endif
