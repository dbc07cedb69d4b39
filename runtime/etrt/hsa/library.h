/* library.h - the HSA functions libetrt uses, found at run time in one of two libraries. */
#ifndef ETRT_HSA_H
#define ETRT_HSA_H

#include "runtime/emu/etemu.h"
#include "runtime/etrt.h"

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>

/* A library without one of these is refused, naming the function. */
#define ETRT_HSA_REQUIRED(X)                                                                       \
    X(hsa_init)                                                                                    \
    X(hsa_shut_down)                                                                               \
    X(hsa_status_string)                                                                           \
    X(hsa_system_get_info)                                                                         \
    X(hsa_iterate_agents)                                                                          \
    X(hsa_agent_get_info)                                                                          \
    X(hsa_queue_create)                                                                            \
    X(hsa_queue_destroy)                                                                           \
    X(hsa_queue_add_write_index_relaxed)                                                           \
    X(hsa_queue_load_read_index_scacquire)                                                         \
    X(hsa_signal_create)                                                                           \
    X(hsa_signal_destroy)                                                                          \
    X(hsa_signal_load_scacquire)                                                                   \
    X(hsa_signal_store_relaxed)                                                                    \
    X(hsa_signal_store_screlease)                                                                  \
    X(hsa_signal_wait_scacquire)                                                                   \
    X(hsa_code_object_reader_create_from_memory)                                                   \
    X(hsa_code_object_reader_destroy)                                                              \
    X(hsa_executable_create_alt)                                                                   \
    X(hsa_executable_load_agent_code_object)                                                       \
    X(hsa_executable_freeze)                                                                       \
    X(hsa_executable_destroy)                                                                      \
    X(hsa_executable_get_symbol_by_name)                                                           \
    X(hsa_executable_symbol_get_info)                                                              \
    X(hsa_memory_copy)                                                                             \
    X(hsa_amd_agent_iterate_memory_pools)                                                          \
    X(hsa_amd_memory_pool_get_info)                                                                \
    X(hsa_amd_memory_pool_allocate)                                                                \
    X(hsa_amd_memory_pool_free)                                                                    \
    X(hsa_amd_agents_allow_access)

/* NULL where the library does not have them; the etemu_ ones only the emulator has. */
#define ETRT_HSA_OPTIONAL(X)                                                                       \
    X(hsa_amd_memory_fill)                                                                         \
    X(hsa_amd_register_system_event_handler)                                                       \
    X(hsa_amd_profiling_set_profiler_enabled)                                                      \
    X(hsa_amd_profiling_get_dispatch_time)                                                         \
    X(etemu_configure)                                                                             \
    X(etemu_get_stats)                                                                             \
    X(etemu_last_fault)                                                                            \
    X(etemu_clock_counts)                                                                          \
    X(etemu_expect_wait)                                                                           \
    X(etemu_map_at)                                                                                \
    X(etemu_unmap)

struct etrt_hsa {
    void *library;
    bool emulator;
#define X(name) __typeof__(&name) name;
    ETRT_HSA_REQUIRED(X)
    ETRT_HSA_OPTIONAL(X)
#undef X
};

/* Open the vendor's library (EMULATOR false) or libetemu.so and call hsa_init. EMU_SPEC is what
 * follows "emu:", or NULL for the emulator's default; a second opening in the same process must
 * ask for the same. Close with etrt_hsa_close, which calls hsa_shut_down. */
etrt_status etrt_hsa_open(bool emulator, const char *emu_spec, const struct etrt_hsa **out);
void etrt_hsa_close(const struct etrt_hsa *);
/* Is it settled which GPU the emulator is? It runs already, or the environment variable
 * ETEMU_DEVICE says. Fails when there is no emulator. */
etrt_status etrt_hsa_settled(bool *out);

/* Text of an HSA status, never NULL. */
const char *etrt_hsa_text(const struct etrt_hsa *, hsa_status_t);

#endif
