/* Energy by NVML's counter, which covers the whole board and is renewed a few times a second; and
 * clocks, looked at by a thread of its own. */
#include "bench/share/share.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

enum { SM_CLOCK = 1, POWER_CAP = 0x4 };

static struct {
    bool tried;
    void *gpu; /* NULL: nothing is told */
    int (*energy)(void *, unsigned long long *);
    int (*clock)(void *, int, unsigned *);
    int (*reasons)(void *, unsigned long long *);
} nvml;

struct sh_meter {
    pthread_t thread;
    atomic_bool over;
    double joules, from, mhz, capped;
    int clocks, looks; /* that MHZ and CAPPED are sums of */
};

/* NVML counts all GPUs of the machine, CUDA those that CUDA_VISIBLE_DEVICES leaves. */
static bool bus_of(int ordinal, char *out, int room) {
    void *cuda = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    int (*init)(unsigned) = NULL;
    int (*get)(int *, int) = NULL;
    int (*bus)(char *, int, int) = NULL;
    int gpu;
    if (!cuda) return false;
    *(void **)(void *)&init = dlsym(cuda, "cuInit");
    *(void **)(void *)&get = dlsym(cuda, "cuDeviceGet");
    *(void **)(void *)&bus = dlsym(cuda, "cuDeviceGetPCIBusId");
    return init && get && bus && !init(0) && !get(&gpu, ordinal) && !bus(out, room, gpu);
}

static void find(int ordinal) {
    char bus[64];
    void *library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL), *gpu = NULL;
    int (*begin)(void) = NULL;
    int (*by_bus)(const char *, void **) = NULL;
    nvml.tried = true;
    if (!library || ordinal < 0) return;
    *(void **)(void *)&begin = dlsym(library, "nvmlInit_v2");
    *(void **)(void *)&by_bus = dlsym(library, "nvmlDeviceGetHandleByPciBusId_v2");
    *(void **)(void *)&nvml.energy = dlsym(library, "nvmlDeviceGetTotalEnergyConsumption");
    *(void **)(void *)&nvml.clock = dlsym(library, "nvmlDeviceGetClockInfo");
    *(void **)(void *)&nvml.reasons = dlsym(library, "nvmlDeviceGetCurrentClocksThrottleReasons");
    if (begin && by_bus && !begin() && bus_of(ordinal, bus, sizeof bus) && !by_bus(bus, &gpu))
        nvml.gpu = gpu;
}

static double joules(void) {
    unsigned long long millijoules = 0;
    bool told = nvml.gpu && nvml.energy && nvml.energy(nvml.gpu, &millijoules) == 0;
    return told ? (double)millijoules * 1e-3 : NAN;
}

static void *look(void *ctx) {
    struct sh_meter *m = ctx;
    const struct timespec pause = {.tv_nsec = 10000000};
    while (!atomic_load(&m->over)) {
        unsigned mhz;
        unsigned long long why;
        nanosleep(&pause, NULL);
        if (nvml.clock && nvml.clock(nvml.gpu, SM_CLOCK, &mhz) == 0) {
            m->mhz += mhz;
            m->clocks++;
        }
        if (nvml.reasons && nvml.reasons(nvml.gpu, &why) == 0) {
            m->capped += (why & POWER_CAP) != 0;
            m->looks++;
        }
    }
    return NULL;
}

struct sh_meter *sh_meter_begin(int ordinal) {
    struct sh_meter *m = sh_alloc(sizeof *m);
    if (!nvml.tried) find(ordinal);
    m->joules = joules();
    m->from = sh_now();
    if (nvml.gpu && pthread_create(&m->thread, NULL, look, m) != 0) nvml.gpu = NULL;
    return m;
}

void sh_meter_end(struct sh_meter *m, struct sh_run *out) {
    out->watts = (joules() - m->joules) / (sh_now() - m->from);
    atomic_store(&m->over, true);
    if (nvml.gpu) pthread_join(m->thread, NULL);
    out->mhz = m->clocks ? m->mhz / m->clocks : NAN;
    out->capped = m->looks ? m->capped / m->looks : NAN;
    free(m);
}
