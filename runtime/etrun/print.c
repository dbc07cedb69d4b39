/* What etrun prints about devices and values. */
#include "runtime/etrt_dtype.h"
#include "runtime/etrun/etrun.h"

#include <inttypes.h>

void print_device(const etrt_device *dev) {
    printf("device: %s\n", etrt_device_name(dev));
}

void print_stats(const etrt_device *dev, double seconds) {
    etrt_stats s;
    etrt_device_stats(dev, &s);
    printf("launches: %" PRIu64 " in %.3f s\n", s.launches, seconds);
    if (!etrt_device_is_emulated(dev)) {
        printf("instructions: a real device does not count\n");
        return;
    }
    const struct {
        const char *name;
        uint64_t count;
    } kinds[] = {{"valu", s.valu}, {"salu", s.salu}, {"vmem", s.vmem},     {"smem", s.smem},
                 {"lds", s.lds},   {"mfma", s.mfma}, {"branch", s.branch}, {"other", s.other}};
    printf("instructions: %" PRIu64 " (", s.instructions);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        printf("%s%s %" PRIu64, i ? ", " : "", kinds[i].name, kinds[i].count);
    printf(")\nmemory: %" PRIu64 " bytes read, %" PRIu64 " written; atomics %" PRIu64 "\n",
           s.bytes_read, s.bytes_written, s.atomics);
    printf("waits: %" PRIu64 " polls repeated, %" PRIu64 " barriers\n", s.sleeps, s.barriers);
    if (s.busy_seconds > 0)
        printf("speed: %.1f Minst/s per core, %.1f Minst/s of wall time\n",
               (double)s.instructions / s.busy_seconds * 1e-6,
               seconds > 0 ? (double)s.instructions / seconds * 1e-6 : 0);
}

void print_values(FILE *to, enum etrt_dtype dtype, const void *data, int64_t count) {
    for (int64_t i = 0; i < count; i++)
        fprintf(to, " %.9g", etrt_element((int)dtype, data, i));
}
