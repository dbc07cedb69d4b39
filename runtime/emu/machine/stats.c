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

void emu_stats_clear(void) {
    pthread_mutex_lock(&lock);
    memset(&total, 0, sizeof total);
    pthread_mutex_unlock(&lock);
}

EMU_EXPORT void etemu_get_stats(etemu_stats *out) {
    pthread_mutex_lock(&lock);
    *out = total;
    out->busy_ns = emu_engine_busy_ns();
    pthread_mutex_unlock(&lock);
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
