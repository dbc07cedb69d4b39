/* The lane kernels for any x86-64 host, and the choice between them. */
#define LANES_TABLE isa_lanes_base
#include "isa_lanes.inc"

const struct emu_lane_table *isa_lanes(void) {
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2") &&
                __builtin_cpu_supports("popcnt");
    if (avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
        return &isa_lanes_avx512;
    return avx2 ? &isa_lanes_avx2 : &isa_lanes_base;
}
