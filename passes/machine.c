#include "machine.h"
#include <stddef.h>
#include <string.h>

/* Reachable bandwidth is 81 % of peak, as measured by others on the MI300X; a CU's share of the
 * cache is 64 bytes a clock. Event and launch costs of the MI300X are published measurements; those
 * of the others are scaled from it by clock and number of dies, and say so. On gfx11 and gfx12 a
 * workgroup stays on one CU, of whose 64 KiB it may have all; products of f32 are vector
 * instructions there. */
static const et_machine machines[] = {
    {.name = "MI300X",
     .target = "gfx942",
     .cus = 304,
     .dies = 8,
     .waves = 4,
     .wave_size = 64,
     .k_bytes = 64,
     .lds_bytes = 64 << 10,
     .clock_ghz = 2.1,
     .hbm_gbs = 4300,
     .cache_gbs_cu = 134,
     .matrix_tflops = 1307,
     .f32_matrix_tflops = 163.4,
     .vector_tflops = 163,
     .event_us = 0.95,
     .latency_us = 0.34,
     .launch_us = 1.6,
     .source = "AMD data sheet; event, latency, bandwidth and launch as measured and published on "
               "an MI300X"},
    {.name = "MI210",
     .target = "gfx90a",
     .cus = 104,
     .dies = 1,
     .waves = 4,
     .wave_size = 64,
     .k_bytes = 64,
     .lds_bytes = 64 << 10,
     .clock_ghz = 1.7,
     .hbm_gbs = 1300,
     .cache_gbs_cu = 109,
     .matrix_tflops = 181,
     .f32_matrix_tflops = 45.3,
     .vector_tflops = 22.6,
     .event_us = 1.0,
     .latency_us = 0.42,
     .launch_us = 1.6,
     .source = "AMD data sheet; bandwidth reached, event and latency scaled from the MI300X"},
    {.name = "MI355X",
     .target = "gfx950",
     .cus = 256,
     .dies = 8,
     .waves = 4,
     .wave_size = 64,
     .k_bytes = 64,
     .lds_bytes = 160 << 10,
     .clock_ghz = 2.4,
     .hbm_gbs = 6500,
     .cache_gbs_cu = 154,
     .matrix_tflops = 2517,
     .f32_matrix_tflops = 157.3,
     .vector_tflops = 157,
     .event_us = 0.83,
     .latency_us = 0.3,
     .launch_us = 1.6,
     .source = "AMD data sheet; bandwidth reached, event and latency scaled from the MI300X"},
    {.name = "RX 7900 XTX",
     .target = "gfx1100",
     .cus = 96,
     .dies = 1,
     .waves = 8,
     .wave_size = 32,
     .k_bytes = 32,
     .lds_bytes = 64 << 10,
     .clock_ghz = 2.5,
     .hbm_gbs = 780,
     .cache_gbs_cu = 160,
     .matrix_tflops = 123,
     .f32_matrix_tflops = 30.7,
     .vector_tflops = 61,
     .event_us = 0.69,
     .latency_us = 0.29,
     .launch_us = 1.6,
     .source = "AMD data sheet; bandwidth reached, event and latency scaled from the MI300X"},
    {.name = "RX 9070 XT",
     .target = "gfx1201",
     .cus = 64,
     .dies = 1,
     .waves = 8,
     .wave_size = 32,
     .k_bytes = 32,
     .lds_bytes = 64 << 10,
     .clock_ghz = 2.97,
     .hbm_gbs = 520,
     .cache_gbs_cu = 190,
     .matrix_tflops = 195,
     .f32_matrix_tflops = 24.3,
     .vector_tflops = 48,
     .event_us = 0.58,
     .latency_us = 0.24,
     .launch_us = 1.6,
     .source = "AMD data sheet; bandwidth reached, event and latency scaled from the MI300X"},
};

const et_machine *et_machine_at(int i) {
    return i >= 0 && (size_t)i < sizeof machines / sizeof *machines ? &machines[i] : NULL;
}

const et_machine *et_machine_for(const char *target) {
    for (int i = 0; et_machine_at(i); i++)
        if (strcmp(machines[i].target, target) == 0) return &machines[i];
    return NULL;
}
