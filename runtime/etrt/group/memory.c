/* Memory of a group: an allocation is one on every member, known by its address on the first. */
#include "runtime/etrt/group/int.h"

#include "runtime/etrt/base/error.h"

#include <stdlib.h>
#include <string.h>

/* Blocks that begin at or before AT. */
static size_t until(const struct group *g, const char *at) {
    size_t lo = 0, hi = g->blocks;
    while (lo < hi) {
        size_t middle = (lo + hi) / 2;
        if (g->block[middle].on[0] <= at)
            lo = middle + 1;
        else
            hi = middle;
    }
    return lo;
}

void *etrt_member_memory(const etrt_device *dev, int i, const void *memory) {
    const char *at = memory;
    char *there = NULL;
    if (dev->driver != &etrt_group_driver) return (void *)memory;
    struct group *g = group_of(dev);
    pthread_mutex_lock(&g->lock);
    size_t k = until(g, at);
    if (k && (uint64_t)(at - g->block[k - 1].on[0]) <= g->block[k - 1].bytes)
        there = g->block[k - 1].on[i] + (at - g->block[k - 1].on[0]);
    pthread_mutex_unlock(&g->lock);
    return there;
}

static void free_on(struct group *g, const struct block *b) {
    for (int i = 0; i < g->n; i++)
        etrt_mem_free(g->member[i], b->on[i]);
}

static etrt_status keep(struct group *g, const struct block *b) {
    pthread_mutex_lock(&g->lock);
    if (g->blocks == g->room) {
        size_t room = g->room ? 2 * g->room : 64;
        struct block *more = realloc(g->block, room * sizeof *more);
        if (more) g->block = more, g->room = room;
    }
    bool fits = g->blocks < g->room;
    if (fits) {
        size_t k = until(g, b->on[0]);
        memmove(g->block + k + 1, g->block + k, (g->blocks - k) * sizeof *b);
        g->block[k] = *b;
        g->blocks++;
    }
    pthread_mutex_unlock(&g->lock);
    return fits ? ETRT_OK : etrt_no_memory();
}

etrt_status etrt_group_alloc(etrt_device *dev, enum etrt_place place, uint64_t bytes, void **out) {
    struct group *g = group_of(dev);
    struct block b = {.bytes = bytes};
    etrt_status st = ETRT_OK;
    for (int i = 0; st == ETRT_OK && i < g->n; i++) {
        etrt_device *m = g->member[i];
        void *own = NULL;
        st = m->driver->alloc(m, place, bytes, &own);
        b.on[i] = st == ETRT_OK ? own : NULL;
        if (st == ETRT_OK && place == ETRT_FROM_PEERS)
            st = m->driver->share(m, own, g->member, g->n);
    }
    if (st == ETRT_OK) st = keep(g, &b);
    if (st != ETRT_OK) free_on(g, &b);
    *out = st == ETRT_OK ? b.on[0] : NULL;
    return st;
}

void etrt_group_free(etrt_device *dev, void *memory) {
    struct group *g = group_of(dev);
    struct block b = {.on = {memory}};
    pthread_mutex_lock(&g->lock);
    size_t k = until(g, memory);
    bool found = k && g->block[k - 1].on[0] == memory;
    if (found) {
        b = g->block[k - 1];
        memmove(g->block + k - 1, g->block + k, (g->blocks - k) * sizeof b);
        g->blocks--;
    }
    pthread_mutex_unlock(&g->lock);
    if (found) free_on(g, &b);
}

etrt_status etrt_group_strange(const void *memory) {
    return etrt_fail(ETRT_INVALID, "%p is no memory of all devices of the group", memory);
}

typedef etrt_status (*write_fn)(etrt_device *, void *to, const void *from, uint64_t bytes);

static etrt_status write_all(etrt_device *dev, write_fn fn, void *to, const void *from,
                             uint64_t bytes) {
    etrt_status st = ETRT_OK;
    for (int i = 0; st == ETRT_OK && i < etrt_members(dev); i++) {
        void *there = etrt_member_memory(dev, i, to);
        st = there ? fn(etrt_member(dev, i), there, from, bytes) : etrt_group_strange(to);
    }
    return st;
}

etrt_status etrt_group_copy(etrt_device *dev, void *to, const void *from, uint64_t bytes,
                            enum etrt_direction direction) {
    if (direction == ETRT_FROM_DEVICE) return etrt_mem_read(etrt_member(dev, 0), to, from, bytes);
    if (direction == ETRT_TO_DEVICE) return write_all(dev, etrt_mem_write, to, from, bytes);
    etrt_status st = ETRT_OK;
    for (int i = 0; st == ETRT_OK && i < etrt_members(dev); i++) {
        void *there = etrt_member_memory(dev, i, to), *here = etrt_member_memory(dev, i, from);
        st = there && here ? etrt_mem_copy(etrt_member(dev, i), there, here, bytes)
                           : etrt_group_strange(to);
    }
    return st;
}

etrt_status etrt_group_send(etrt_device *dev, void *to, const void *from, uint64_t bytes) {
    return write_all(dev, etrt_mem_send, to, from, bytes);
}

etrt_status etrt_group_settle(etrt_device *dev) {
    etrt_status st = ETRT_OK;
    for (int i = 0; st == ETRT_OK && i < etrt_members(dev); i++)
        st = etrt_mem_settle(etrt_member(dev, i));
    return st;
}

bool etrt_group_fill(etrt_device *dev, void *memory, uint8_t byte, uint64_t bytes) {
    bool ok = true;
    for (int i = 0; ok && i < etrt_members(dev); i++) {
        void *there = etrt_member_memory(dev, i, memory);
        ok = there && etrt_mem_fill(etrt_member(dev, i), there, byte, bytes) == ETRT_OK;
    }
    return ok;
}
