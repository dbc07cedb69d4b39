/* copy.c - asynchronous copies: at once when nothing is waited for, else on a thread each. */
#include "runtime/emu/base/clock.h"
#include "runtime/emu/emu.h"
#include "runtime/emu/hsa/host.h"
#include "runtime/emu/machine/signal.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct copy {
    struct copy *next;
    pthread_t thread;
    _Atomic bool done;
    void *dst;
    const void *src;
    size_t bytes;
    struct emu_signal *completion;
    uint32_t ndeps;
    struct emu_signal *deps[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct copy *copies;
static _Atomic bool closing;

static void perform(const struct copy *c) {
    struct emu_signal *s = c->completion;
    uint64_t start = emu_host_ticks();
    memmove(c->dst, c->src, c->bytes);
    if (!s) return;
    s->start = start;
    s->end = emu_host_ticks();
    emu_signal_subtract(s, 1);
}

static void *copy_thread(void *arg) {
    struct copy *c = arg;
    for (uint32_t i = 0; i < c->ndeps; i++)
        emu_signal_wait(c->deps[i], HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX, &closing);
    if (!atomic_load(&closing)) perform(c);
    atomic_store(&c->done, true);
    return NULL;
}

/* Free copies that ended, or wait for all. */
static void reap(bool all) {
    pthread_mutex_lock(&lock);
    for (struct copy **at = &copies; *at;) {
        struct copy *c = *at;
        if (!all && !atomic_load(&c->done)) {
            at = &c->next;
            continue;
        }
        *at = c->next;
        pthread_join(c->thread, NULL);
        free(c);
    }
    pthread_mutex_unlock(&lock);
}

void emu_copies_close(void) {
    atomic_store(&closing, true);
    reap(true);
    atomic_store(&closing, false);
}

static hsa_status_t start(struct copy *c) {
    pthread_mutex_lock(&lock);
    bool ok = !pthread_create(&c->thread, NULL, copy_thread, c);
    if (ok) {
        c->next = copies;
        copies = c;
    }
    pthread_mutex_unlock(&lock);
    if (ok) return HSA_STATUS_SUCCESS;
    free(c);
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
}

hsa_status_t HSA_API hsa_amd_memory_async_copy(void *dst, hsa_agent_t dst_agent, const void *src,
                                               hsa_agent_t src_agent, size_t bytes, uint32_t ndeps,
                                               const hsa_signal_t *deps, hsa_signal_t completion) {
    EMU_CHECK_UP();
    if (!emu_agent_from(dst_agent) || !emu_agent_from(src_agent))
        return HSA_STATUS_ERROR_INVALID_AGENT;
    if (!dst || !src || (ndeps && !deps) || (!ndeps && deps))
        return HSA_STATUS_ERROR_INVALID_ARGUMENT;
    if (!completion.handle) return HSA_STATUS_ERROR_INVALID_SIGNAL;
    if (!emu_memory_span_ok(dst, bytes) || !emu_memory_span_ok(src, bytes))
        return HSA_STATUS_ERROR_INVALID_ALLOCATION;
    reap(false);
    struct copy *c = calloc(1, sizeof *c + ndeps * sizeof c->deps[0]);
    if (!c) return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
    c->dst = dst;
    c->src = src;
    c->bytes = bytes;
    c->completion = emu_signal_from(completion);
    for (uint32_t i = 0; i < ndeps; i++) {
        struct emu_signal *s = emu_signal_from(deps[i]);
        if (s && atomic_load(&s->value) != 0) c->deps[c->ndeps++] = s;
    }
    if (c->ndeps) return start(c);
    perform(c);
    free(c);
    return HSA_STATUS_SUCCESS;
}
