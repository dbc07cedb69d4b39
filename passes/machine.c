#include "machine.h"
#include <stddef.h>
#include <string.h>

/* Reachable bandwidth is 81 % of peak, as measured by others on the MI300X; a CU's share of the
 * cache is 64 bytes a clock. Event and launch costs of the MI300X are published measurements; those
 * of the others are scaled from it by clock and number of dies, and say so. */
static const et_machine machines[] = {
    {.name = "MI300X",
     .target = "gfx942",
     .cus = 304,
     .dies = 8,
     .waves = 4,
     .wave_size = 64,
     .lds_bytes = 64 << 10,
     .clock_ghz = 2.1,
     .hbm_gbs = 4300,
     .cache_gbs_cu = 134,
     .matrix_tflops = 1307,
     .vector_tflops = 163,
     .event_us = 0.95,
     .latency_us = 0.34,
     .launch_us = 1.6,
     .source = "AMD data sheet; event, latency, bandwidth and launch as measured and published on "
               "an MI300X"},
};

const et_machine *et_machine_at(int i) {
    return i >= 0 && (size_t)i < sizeof machines / sizeof *machines ? &machines[i] : NULL;
}

const et_machine *et_machine_for(const char *target) {
    for (int i = 0; et_machine_at(i); i++)
        if (strcmp(machines[i].target, target) == 0) return &machines[i];
    return NULL;
}
