/* host.h - what the HSA entry points share: whether the runtime is up, its agents and pools. */
#ifndef EMU_HOST_H
#define EMU_HOST_H

#include "runtime/emu/etemu.h"
#include "runtime/emu/hsa.h"
#include "runtime/emu/machine/engine.h"
#include "runtime/emu/memory/memory.h"

#include <stdbool.h>

/* Attributes that headers newer than the ones we build against have. */
enum {
    EMU_AGENT_INFO_MEMORY_AVAIL = 0xA015,
    EMU_AGENT_INFO_TIMESTAMP_FREQUENCY = 0xA016,
    EMU_AGENT_INFO_NUM_XCC = 0xA111,
    EMU_AGENT_INFO_NEAREST_CPU = 0xA113,
};

enum emu_agent_id { EMU_CPU_AGENT, EMU_GPU_AGENT, EMU_AGENTS };

enum emu_pool_id {
    EMU_POOL_HOST_KERNARG,
    EMU_POOL_HOST_FINE,
    EMU_POOL_HOST_COARSE,
    EMU_POOL_DEVICE,
    EMU_POOL_LDS,
    EMU_POOLS
};

/* Agents, ISAs and pools are rows of static tables; a handle is the address of the row. */
struct emu_agent {
    enum emu_agent_id id;
};
struct emu_pool {
    enum emu_pool_id id;
    enum emu_agent_id owner;
    hsa_amd_segment_t segment;
    uint32_t flags; /* hsa_amd_memory_pool_global_flag_t */
};
extern const struct emu_agent emu_agents[EMU_AGENTS];
extern const struct emu_pool emu_pools[EMU_POOLS];

static inline hsa_agent_t emu_agent_handle(enum emu_agent_id id) {
    return (hsa_agent_t){(uint64_t)&emu_agents[id]};
}

/* NULL when the handle is none of ours. */
const struct emu_agent *emu_agent_from(hsa_agent_t);
const struct emu_pool *emu_pool_from(uint64_t handle);
size_t emu_pool_bytes(const struct emu_pool *);

bool emu_is_up(void);

#define EMU_CHECK_UP()                                                                             \
    do {                                                                                           \
        if (!emu_is_up()) return HSA_STATUS_ERROR_NOT_INITIALIZED;                                 \
    } while (0)

/* Ends of life of what entry points keep, in the order hsa_shut_down calls them. */
void emu_queues_close(void);
void emu_copies_close(void);
void emu_handlers_close(void);
void emu_executables_close(void);
void emu_signals_close(void);

/* The callback of hsa_amd_register_system_event_handler, if any. */
void emu_report_memory_fault(uint64_t addr);

#endif
