/* engine.h - executing one dispatch: residency, workgroup placement, host threads. */
#ifndef EMU_ENGINE_H
#define EMU_ENGINE_H

#include "runtime/emu/base/config.h"
#include "runtime/emu/emu.h"
#include "runtime/emu/hsa.h"

#include <stdbool.h>

/* What went wrong with a dispatch. */
struct emu_failure {
    hsa_status_t status; /* HSA_STATUS_SUCCESS: nothing */
    uint64_t addr;       /* of a memory fault, else 0 */
    bool memory;
    char text[2048];
};

/* What a kernel descriptor says about the resources of a wave. */
struct emu_needs {
    uint32_t waves;     /* per full workgroup */
    uint32_t vgprs;     /* per lane, allocated */
    uint32_t lds_bytes; /* per workgroup */
    uint32_t cus;       /* that share a workgroup: 1, or 2 in the mode of a workgroup processor */
};

/* Start the helper threads; the thread that executes a dispatch is one worker itself. */
bool emu_engine_start(const struct emu_config *);
void emu_engine_stop(void);
/* The device it was started for; only while the runtime is up. */
const struct emu_config *emu_device(void);

/* How many workgroups with such NEEDS fit on one compute unit, or on the NEEDS->cus that share one.
 */
uint32_t emu_engine_groups_per_cu(const struct emu_config *, const struct emu_needs *);

/* Run every workgroup of D and return when all have ended. Setting D->stop from another thread
 * ends it early. On a fault FAILURE is filled in and the rest of the dispatch is dropped. */
void emu_engine_execute(struct emu_dispatch *d, const struct emu_needs *needs,
                        struct emu_failure *failure);

/* Host nanoseconds spent executing waves since the engine started. */
uint64_t emu_engine_busy_ns(void);

#endif
