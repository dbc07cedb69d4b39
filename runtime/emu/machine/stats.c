/* stats.c - etemu_get_stats. */
#include "runtime/emu/machine/stats.h"

#include "runtime/emu/base/config.h"
#include "runtime/emu/etemu.h"
#include "runtime/emu/hsa.h"
#include "runtime/emu/machine/engine.h"
#include "runtime/emu/memory/memory.h"

#include <pthread.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static etemu_stats total;
/* More than a program that etcc accepts has tasks in a kernel that anybody looks at one by one. */
enum { TASKS = 4096 };
static struct emu_task_counters by_task[TASKS];

void emu_stats_add(const struct emu_counters *c) {
    pthread_mutex_lock(&lock);
    total.dispatches++;
#define ADD(field) total.field += atomic_load(&c->field)
    ADD(instructions), ADD(valu), ADD(salu), ADD(vmem), ADD(smem), ADD(lds), ADD(mfma);
    ADD(branch), ADD(other), ADD(global_bytes_read), ADD(global_bytes_written), ADD(lds_bytes);
    ADD(atomics), ADD(sleeps), ADD(barriers);
#undef ADD
    pthread_mutex_unlock(&lock);
}

void emu_tasks_add(uint32_t task, const struct emu_task_counters *c) {
    if (task >= TASKS) return;
    pthread_mutex_lock(&lock);
    struct emu_task_counters *t = &by_task[task];
    t->tiles += c->tiles;
    t->waves += c->waves;
    t->instructions += c->instructions;
    t->bytes_read += c->bytes_read;
    t->bytes_written += c->bytes_written;
    t->round_trips += c->round_trips;
    t->waits += c->waits;
    t->in_flight += c->in_flight;
    t->in_flight_squares += c->in_flight_squares;
    t->told += c->told;
    t->told_trips += c->told_trips;
    t->used += c->used;
    t->used_trips += c->used_trips;
    t->code += c->code;
    pthread_mutex_unlock(&lock);
}

void emu_stats_clear(void) {
    pthread_mutex_lock(&lock);
    memset(&total, 0, sizeof total);
    memset(by_task, 0, sizeof by_task);
    pthread_mutex_unlock(&lock);
}

EMU_EXPORT void etemu_get_stats(etemu_stats *out) {
    pthread_mutex_lock(&lock);
    *out = total;
    out->busy_ns = emu_engine_busy_ns();
    pthread_mutex_unlock(&lock);
}

EMU_EXPORT int etemu_get_task(uint32_t task, etemu_task *out) {
    if (task >= TASKS || !emu_device()->by_task) return -1;
    pthread_mutex_lock(&lock);
    struct emu_task_counters c = by_task[task];
    pthread_mutex_unlock(&lock);
    *out = (etemu_task){.tiles = c.tiles,
                        .waves = c.waves,
                        .instructions = c.instructions,
                        .bytes_read = c.bytes_read,
                        .bytes_written = c.bytes_written,
                        .round_trips = c.round_trips,
                        .waits = c.waits,
                        .in_flight = c.in_flight,
                        .in_flight_squares = c.in_flight_squares,
                        .told = c.told,
                        .told_trips = c.told_trips,
                        .used = c.used,
                        .used_trips = c.used_trips,
                        .code_bytes = c.code};
    return 0;
}

EMU_EXPORT int etemu_clock_counts(void) {
    return emu_device()->counted;
}

EMU_EXPORT int etemu_map_at(uint64_t addr, uint64_t bytes) {
    return emu_memory_map_at(addr, bytes) ? 0 : -1;
}

EMU_EXPORT int etemu_unmap(uint64_t addr) {
    return emu_memory_unmap(addr) ? 0 : -1;
}
