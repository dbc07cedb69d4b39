/* The lane kernels for any x86-64 host, and the choice between them. */
#define LANES_TABLE isa_lanes_base
#include "runtime/emu/isa/lanes/lanes.inc"

#include <pthread.h>
#include <stdlib.h>

static const struct emu_lane_table *chosen;

/* The best the host has, or less when ETEMU_LANES says "avx2" or "base": results are the same,
 * which is what the tests use it for. */
static void choose(void) {
    const char *limit = getenv("ETEMU_LANES");
    int level = !limit || !strcmp(limit, "avx512") ? 2 : !strcmp(limit, "avx2") ? 1 : 0;
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("f16c") && __builtin_cpu_supports("bmi2") &&
                __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("lzcnt");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    chosen = avx512 && level == 2 ? &isa_lanes_avx512
             : avx2 && level >= 1 ? &isa_lanes_avx2
                                  : &isa_lanes_base;
}

const struct emu_lane_table *isa_lanes(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
    return chosen;
}
