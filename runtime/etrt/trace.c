/* What profiled kernels record of their tasks (etrt_abi.h: etrt_trace), on and off and read back.
 */
#include "runtime/etrt/internal.h"

#include "runtime/etrt/base/error.h"

#include <stdlib.h>
#include <string.h>

/* Room for this many tasks at most, whatever a manifest says: 512 MiB. */
enum { MAX_TASKS = 1 << 23 };

int etrt_model_traceable(const etrt_model *m) {
    return m && m->manifest.profile_tasks >= 0;
}

const char *etrt_model_task(const etrt_model *m, int index) {
    return m && index >= 0 && index < m->manifest.ntasks ? m->manifest.tasks[index] : NULL;
}

/* Every workgroup may leave one chunk unfinished. */
static uint32_t chunks_for(const etrt_session *s) {
    int64_t tasks = s->model->manifest.profile_tasks;
    if (tasks > MAX_TASKS) tasks = MAX_TASKS;
    return (uint32_t)((tasks + ETRT_TRACE_CHUNK - 1) / ETRT_TRACE_CHUNK) + s->model->device->cus;
}

static uint64_t bytes_for(uint32_t chunks) {
    return sizeof(struct etrt_trace) +
           (uint64_t)chunks * ETRT_TRACE_CHUNK * sizeof(struct etrt_trace_record);
}

uint64_t etrt_trace_bytes(const etrt_session *s) {
    return s->trace ? bytes_for(chunks_for(s)) : 0;
}

etrt_status etrt_session_trace(etrt_session *s, int on) {
    if (!s) return etrt_fail(ETRT_INVALID, "etrt_session_trace: no session");
    etrt_device *dev = s->model->device;
    etrt_status st = etrt_device_check(dev);
    if (st == ETRT_OK && s->in_flight)
        return etrt_fail(ETRT_INVALID, "etrt_session_trace: a launch is in flight");
    if (st != ETRT_OK || !on == !s->trace) return st;
    s->traced = false;
    if (!on) {
        etrt_mem_free(dev, s->trace);
        s->trace = NULL;
        return ETRT_OK;
    }
    if (!etrt_model_traceable(s->model))
        return etrt_fail(ETRT_UNSUPPORTED, "model %s was compiled without --profile-kernel",
                         s->model->manifest.model);
    void *trace;
    uint64_t bytes = bytes_for(chunks_for(s));
    if (dev->memory_bytes && bytes > dev->memory_bytes)
        return etrt_fail(ETRT_NO_MEMORY, "a trace of %lld tasks takes %llu bytes, %s has %llu",
                         (long long)s->model->manifest.profile_tasks, (unsigned long long)bytes,
                         dev->name, (unsigned long long)dev->memory_bytes);
    st = etrt_mem_alloc(dev, ETRT_ON_DEVICE, bytes, "trace", &trace);
    if (st == ETRT_OK) s->trace = trace;
    return st;
}

/* Empty, before a launch. */
etrt_status etrt_trace_begin(etrt_session *s) {
    if (!s->trace) return ETRT_OK;
    etrt_device *dev = s->model->device;
    struct etrt_trace head = {.chunks = chunks_for(s)};
    s->traced = false;
    etrt_status st = etrt_mem_fill(dev, s->trace, 0, bytes_for(head.chunks));
    if (st == ETRT_OK) st = etrt_mem_write(dev, s->trace, &head, sizeof head);
    s->traced = st == ETRT_OK;
    return st;
}

/* One number for which of a die's CUs a task ran on. */
static int cu_of(const etrt_session *s, uint32_t hw_id) {
    struct etrt_unit u = etrt_device_unit(s->model->device, s->model->manifest.target, hw_id);
    return u.cu < 0 || u.engine < 0 ? u.cu : u.engine * 32 + u.array * 16 + u.cu;
}

/* Records are device memory: what a kernel gone wrong left there is not passed on. */
static bool believable(const etrt_session *s, const struct etrt_trace_record *r) {
    return r->task && r->task <= (uint32_t)s->model->manifest.ntasks &&
           r->workgroup < s->workgroups && r->reached <= r->ready && r->ready <= r->done &&
           r->done <= r->left && r->look <= r->reached;
}

static size_t unpack(const etrt_session *s, const struct etrt_trace_record *r, size_t count,
                     etrt_trace_task *out, size_t room) {
    size_t n = 0;
    for (size_t i = 0; i < count; i++) {
        if (!believable(s, &r[i])) continue;
        if (n < room)
            out[n] = (etrt_trace_task){.task = (int)r[i].task - 1,
                                       .tile = r[i].tile,
                                       .iteration = r[i].iteration,
                                       .workgroup = r[i].workgroup,
                                       .die = r[i].die,
                                       .cu = cu_of(s, r[i].hw_id),
                                       .look = r[i].look,
                                       .reached = r[i].reached,
                                       .ready = r[i].ready,
                                       .done = r[i].done,
                                       .left = r[i].left};
        n++;
    }
    return n;
}

static int by_time(const void *a, const void *b) {
    const etrt_trace_task *x = a, *y = b;
    if (x->reached != y->reached) return x->reached < y->reached ? -1 : 1;
    return (x->workgroup > y->workgroup) - (x->workgroup < y->workgroup);
}

etrt_status etrt_session_trace_read(etrt_session *s, etrt_trace_task *out, size_t room,
                                    etrt_trace_info *out_info) {
    if (!s || !out_info || (!out && room))
        return etrt_fail(ETRT_INVALID, "etrt_session_trace_read: NULL argument");
    memset(out_info, 0, sizeof *out_info);
    etrt_device *dev = s->model->device;
    etrt_status st = etrt_device_check(dev);
    if (st == ETRT_OK && s->in_flight)
        return etrt_fail(ETRT_INVALID, "etrt_session_trace_read: a launch is in flight");
    if (st != ETRT_OK) return st;
    if (!s->trace || !s->traced)
        return etrt_fail(ETRT_INVALID, "no launch of this session was traced");
    struct etrt_trace head;
    st = etrt_mem_read(dev, &head, s->trace, sizeof head);
    if (st != ETRT_OK) return st;
    uint32_t chunks = chunks_for(s);
    size_t count = (size_t)(head.taken < chunks ? head.taken : chunks) * ETRT_TRACE_CHUNK;
    struct etrt_trace_record *records = malloc(count * sizeof *records + 1);
    if (!records) return etrt_no_memory();
    st = etrt_mem_read(dev, records, (const char *)s->trace + sizeof head, count * sizeof *records);
    if (st == ETRT_OK) {
        out_info->tasks = unpack(s, records, count, out, room);
        out_info->dropped = head.dropped;
        out_info->ticks_per_second = (double)dev->realtime_hz;
        out_info->instructions = dev->counted;
        size_t given = out_info->tasks < room ? out_info->tasks : room;
        if (given) qsort(out, given, sizeof *out, by_time);
    }
    free(records);
    return st;
}
