/* emu_test.h - a running emulator, its memory, and one-line dispatches, for the tests of libetemu.
 * Everything goes through the HSA API. Each test runs in a process of its own (Check forks). */
#ifndef EMU_TEST_H
#define EMU_TEST_H

#include "runtime/emu/etemu.h"

#include <check.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define OK(call) ck_assert_msg(!(call), "%s failed: %s", #call, etemu_last_fault())
#define FAILS(call, status) ck_assert_int_eq((int)(call), (int)(status))

struct emu_test {
    hsa_agent_t cpu, gpu;
    hsa_amd_memory_pool_t kernarg, host, device;
    hsa_executable_t executable;
    hsa_queue_t *queue;
    void *image; /* of the code object */
    size_t image_bytes;
    uint32_t cus;
    _Atomic int error;  /* status of the last queue error */
    _Atomic int errors; /* how many there were */
};
extern struct emu_test T;

/* hsa_init with the device SPEC, pools found, a queue made; the code object basic.hsaco for the
 * device loaded. */
void emu_test_start(const char *spec);
void emu_test_stop(void);

/* Only hsa_init and the agents and pools. */
void emu_test_init(const char *spec);

void *emu_test_alloc(size_t bytes);      /* device memory */
void *emu_test_alloc_host(size_t bytes); /* host memory the GPU may access */
void emu_test_read_image(const char *path);
hsa_status_t emu_test_load(const void *image, size_t bytes, hsa_executable_t *out);
uint64_t emu_test_kernel(const char *name); /* kernel object */
hsa_queue_t *emu_test_queue(uint32_t packets);

struct emu_launch {
    const char *kernel;
    uint32_t grid[3], group[3]; /* work-items; zeros mean 1 */
    uint32_t lds, scratch;
    const void *args;
    size_t args_bytes;
};

/* Put the packet in the queue and ring; the completion signal starts at 1. */
hsa_signal_t emu_test_submit(hsa_queue_t *, const struct emu_launch *);
/* The signal's value once it is below 1, or fails the test after a minute. Destroys it. */
hsa_signal_value_t emu_test_wait(hsa_signal_t);
/* Submit and wait: 0, or negative after a fault. */
hsa_signal_value_t emu_test_run(const struct emu_launch *);

#define LAUNCH(name, items, per_group, ...)                                                        \
    emu_test_run(&(struct emu_launch){.kernel = (name),                                            \
                                      .grid = {(items), 1, 1},                                     \
                                      .group = {(per_group), 1, 1},                                \
                                      .args = (uint64_t[]){__VA_ARGS__},                           \
                                      .args_bytes = sizeof((uint64_t[]){__VA_ARGS__})})
/* Two 32-bit arguments side by side. */
#define PAIR(lo, hi) ((uint64_t)(uint32_t)(lo) | (uint64_t)(uint32_t)(hi) << 32)

/* A generator with a fixed seed. */
static inline uint32_t emu_test_random(uint64_t *state) {
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*state >> 33);
}

Suite *device_suite(void);
Suite *memory_suite(void);
Suite *signal_suite(void);
Suite *queue_suite(void);
Suite *dispatch_suite(void);
Suite *fault_suite(void);
Suite *loader_suite(void);
Suite *coherence_suite(void);
Suite *gpus_suite(void);

#endif
