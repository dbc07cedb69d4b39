/* test_fault.c - kernels that do what they must not: each fault is named and nothing else breaks.
 */
#include "tests/unit/emu/emu_test.h"

#include <stdio.h>
#include <time.h>

#define P(pointer) ((uint64_t)(pointer))

static void setup(void) {
    emu_test_start("gfx942:cus=2");
}
static void teardown(void) {
    emu_test_stop();
}

static void expect(const char *const *words) {
    for (; *words; words++)
        ck_assert_msg(strstr(etemu_last_fault(), *words) != NULL, "no \"%s\" in:\n%s", *words,
                      etemu_last_fault());
}
#define EXPECT(...) expect((const char *const[]){__VA_ARGS__, NULL})

static void fresh_queue(void) {
    OK(hsa_queue_destroy(T.queue));
    T.queue = emu_test_queue(64);
}

START_TEST(one_past_the_end) {
    uint32_t *p = emu_test_alloc(1000);
    char range[64];
    ck_assert_int_eq(LAUNCH("store_at", 192, 64, P(p), 249), 0);
    ck_assert_int_lt(LAUNCH("store_at", 192, 64, P(p), 250), 0);
    ck_assert_int_eq(T.error, HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
    snprintf(range, sizeof range, "0 bytes past the end of the device memory allocation [%p",
             (void *)p);
    EXPECT("store", range, "of 1000 bytes", "store_at+0x", "lane 5", "wave 0", "workgroup (",
           "global_store", "die ", "CU ");
    fresh_queue();
    ck_assert_int_lt(LAUNCH("store_at", 64, 64, P(p), (uint64_t)-1), 0);
    EXPECT("4 bytes before the device memory");
    fresh_queue();
    ck_assert_int_eq(LAUNCH("store_at", 192, 64, P(p), 0), 0);
    ck_assert_int_eq(T.errors, 2);
}
END_TEST

/* The last bytes are too few for the access. */
START_TEST(over_the_end) {
    uint32_t *p = emu_test_alloc(1002), *out = emu_test_alloc(4);
    ck_assert_int_eq(LAUNCH("load_at", 64, 64, P(p), 249, P(out)), 0);
    ck_assert_uint_eq(*out, 0xA5A5A5A5);
    ck_assert_int_lt(LAUNCH("load_at", 64, 64, P(p), 250, P(out)), 0);
    EXPECT("byte 1000 of the device memory allocation", "load");
}
END_TEST

START_TEST(null_and_freed) {
    uint32_t *p = emu_test_alloc(64);
    ck_assert_int_lt(LAUNCH("store_at", 64, 64, 0, 0), 0);
    ck_assert_int_eq(T.error, HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
    fresh_queue();
    OK(hsa_amd_memory_pool_free(p));
    ck_assert_int_lt(LAUNCH("store_at", 64, 64, P(p), 0), 0);
    ck_assert_int_eq(T.error, HSA_STATUS_ERROR_MEMORY_APERTURE_VIOLATION);
    EXPECT("store");
}
END_TEST

/* What was freed is named for as long as its addresses are not used again. */
START_TEST(after_free) {
    uint32_t *p = emu_test_alloc(1000), *other = emu_test_alloc(64);
    char range[64];
    OK(hsa_amd_memory_pool_free(p));
    ck_assert_int_lt(LAUNCH("store_at", 64, 64, P(p), 10), 0);
    snprintf(range, sizeof range, "byte 40 of the device memory allocation [%p", (void *)p);
    EXPECT(range, "of 1000 bytes that was freed", "global_store", "lane 5", "wave 0",
           "workgroup (");
    fresh_queue();
    ck_assert_int_lt(LAUNCH("load_at", 64, 64, P(p), 2, P(other)), 0);
    EXPECT("byte 8 of the device memory", "that was freed", "load");
}
END_TEST

/* Loads and stores may be anywhere; atomics must be aligned, in memory and in LDS. */
START_TEST(misaligned) {
    uint32_t *p = emu_test_alloc(1024), *out = emu_test_alloc(256);
    for (uint32_t i = 0; i < 256; i++)
        p[i] = 0x03020100 + 0x04040404 * i;
    for (uint32_t at = 0; at < 4; at++) {
        ck_assert_int_eq(LAUNCH("load_byte_address", 64, 64, P(p), at, P(out)), 0);
        ck_assert_uint_eq(out[0], 0x03020100 + 0x01010101 * at);
        ck_assert_int_eq(LAUNCH("lds_byte_address", 32, 32, PAIR(at, 0), P(out)), 0);
        ck_assert_uint_eq(out[1], at ? 2u << (32 - 8 * at) | 1u >> 8 * at : 1);
    }
    ck_assert_int_eq(LAUNCH("add_byte_address", 64, 64, P(p), 4), 0);
    ck_assert_int_lt(LAUNCH("add_byte_address", 64, 64, P(p), 6), 0);
    EXPECT("atomic of 4 bytes", "not aligned", "global_atomic_add", "add_byte_address+0x", "lane 0",
           "wave 0", "workgroup (0,0,0)");
    fresh_queue();
    ck_assert_int_lt(LAUNCH("lds_byte_address", 32, 32, PAIR(2, 2), P(out)), 0);
    EXPECT("LDS", "not aligned", "ds_add_u32", "lane 0");
}
END_TEST

START_TEST(over_the_end_of_lds) {
    uint32_t *out = emu_test_alloc(256);
    static const char *const names[] = {"ds_read_b32", "ds_write_b32", "ds_add_u32"};
    ck_assert_int_eq(LAUNCH("lds_byte_address", 64, 64, PAIR(0, 0), P(out)), 0);
    for (uint32_t what = 0; what < 3; what++) {
        fresh_queue();
        ck_assert_int_lt(LAUNCH("lds_byte_address", 64, 64, PAIR(40, what), P(out)), 0);
        EXPECT("LDS", "out of bounds", "at 256", "has 256 bytes", names[what], "lane 54",
               "lds_byte_address+0x");
    }
}
END_TEST

START_TEST(no_access) {
    uint32_t *p;
    OK(hsa_amd_memory_pool_allocate(T.host, 64, 0, (void **)&p));
    ck_assert_int_lt(LAUNCH("store_at", 64, 64, P(p), 0), 0);
    EXPECT("hsa_amd_agents_allow_access");
    fresh_queue();
    OK(hsa_amd_agents_allow_access(1, &T.gpu, NULL, p));
    ck_assert_int_eq(LAUNCH("store_at", 64, 64, P(p), 0), 0);
    ck_assert_uint_eq(*p, 1);
    OK(hsa_amd_agents_allow_access(1, &T.cpu, NULL, p));
    ck_assert_int_lt(LAUNCH("store_at", 64, 64, P(p), 0), 0);
}
END_TEST

START_TEST(locked_memory) {
    uint32_t stack[8] = {0};
    void *p;
    ck_assert_int_lt(LAUNCH("store_at", 64, 64, P(stack), 3), 0);
    fresh_queue();
    OK(hsa_amd_memory_lock(stack, sizeof stack, NULL, 0, &p));
    ck_assert_int_eq(LAUNCH("store_at", 64, 64, P(p), 3), 0);
    ck_assert_uint_eq(stack[3], 1);
    OK(hsa_amd_memory_unlock(stack));
    ck_assert_int_lt(LAUNCH("store_at", 64, 64, P(p), 3), 0);
}
END_TEST

START_TEST(read_only_code) {
    uint32_t *out = emu_test_alloc(4);
    uint64_t object = emu_test_kernel("lookup");
    ck_assert_int_lt(LAUNCH("write_constant", 64, 64, P(out), object), 0);
    EXPECT("store", "code object", "write_constant");
}
END_TEST

START_TEST(unknown_instruction) {
    uint32_t *out = emu_test_alloc(4);
    ck_assert_int_lt(LAUNCH("illegal", 64, 64, P(out)), 0);
    ck_assert_int_eq(T.error, HSA_STATUS_ERROR_ILLEGAL_INSTRUCTION);
    EXPECT("illegal+0x");
    fresh_queue();
    ck_assert_int_eq(LAUNCH("store_at", 64, 64, P(out), 0), 0);
}
END_TEST

static _Atomic uint64_t reported;

static hsa_status_t on_event(const hsa_amd_event_t *event, void *data) {
    (void)data;
    if (event->event_type == HSA_AMD_GPU_MEMORY_FAULT_EVENT)
        reported = event->memory_fault.virtual_address;
    return HSA_STATUS_SUCCESS;
}

START_TEST(system_event) {
    uint32_t *p = emu_test_alloc(64);
    OK(hsa_amd_register_system_event_handler(on_event, NULL));
    ck_assert_int_lt(LAUNCH("store_at", 64, 64, P(p), 16), 0);
    ck_assert_uint_eq(reported, P(p) + 64);
}
END_TEST

/* The others of a dispatch that faults wait for ever; they must be ended with it. */
START_TEST(fault_beside_waiting_queue) {
    uint32_t *flag = emu_test_alloc(4), *p = emu_test_alloc(4);
    uint64_t args = P(flag);
    *flag = 0;
    hsa_queue_t *other = emu_test_queue(64);
    hsa_signal_t waits = emu_test_submit(
        other, &(struct emu_launch){
                   .kernel = "doze", .grid = {64}, .group = {64}, .args = &args, .args_bytes = 8});
    ck_assert_int_lt(LAUNCH("store_at", 640, 64, P(p), 1), 0);
    ck_assert_int_eq(hsa_signal_load_relaxed(waits), 1);
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    ck_assert_int_eq(emu_test_wait(waits), 0);
}
END_TEST

/* A dispatch that never gets anywhere ends all the same, with whoever is to blame by name; what
 * runs beside it goes on. */
static const struct {
    const char *device, *kernel, *said;
} endless[] = {
    {"gfx942:cus=2:budget=1", "spin", "seems to loop for ever"},
    {"gfx942:cus=2:budget=1:threads=1", "spin", "million instructions"},
    {"gfx942:cus=2:budget=1:seed=3", "spin", "budget=MILLIONS"},
    {"gfx942:cus=2:budget=1:clock=instructions", "spin", "seems to loop for ever"},
    {"gfx942:cus=2:budget=1:coherence=model", "spin", "seems to loop for ever"},
    {"gfx942:cus=2:idle=1", "doze", "seems to wait for ever"},
    {"gfx942:cus=2:idle=1:seed=3", "doze", "idle=SECONDS"},
};
enum { ENDLESS = sizeof endless / sizeof *endless };

START_TEST(never_ends) {
    emu_test_start(endless[_i].device);
    uint32_t *flag = emu_test_alloc(4);
    char place[64];
    *flag = 0;
    ck_assert_int_lt(LAUNCH(endless[_i].kernel, 256, 64, P(flag)), 0);
    snprintf(place, sizeof place, "%s+0x", endless[_i].kernel);
    EXPECT(endless[_i].said, place, "workgroup (", "wave 0", "at pc 0x");
    fresh_queue();
    *flag = 1;
    ck_assert_int_eq(LAUNCH(endless[_i].kernel, 256, 64, P(flag)), 0);
    emu_test_stop();
}
END_TEST

/* Nothing but what one wave does between two tiles counts: each ends and the next begins. */
START_TEST(much_but_not_endless) {
    emu_test_start("gfx942:cus=2:budget=1");
    uint32_t *p = emu_test_alloc(4 * 64 * 1000000);
    ck_assert_int_eq(LAUNCH("store_at", 64 * 1000000, 64, P(p), 0), 0);
    emu_test_stop();
}
END_TEST

/* Where all only wait, the bound is beyond what libetrt said that a kernel may wait. */
START_TEST(long_waits_are_expected) {
    emu_test_start("gfx942:cus=2:idle=1");
    uint32_t *flag = emu_test_alloc(4);
    uint64_t args = P(flag);
    *flag = 0;
    etemu_expect_wait(100);
    hsa_signal_t waits = emu_test_submit(
        T.queue,
        &(struct emu_launch){
            .kernel = "doze", .grid = {64}, .group = {64}, .args = &args, .args_bytes = 8});
    nanosleep(&(struct timespec){.tv_sec = 2}, NULL);
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    ck_assert_int_eq(emu_test_wait(waits), 0);
    emu_test_stop();
}
END_TEST

Suite *fault_suite(void) {
    Suite *s = suite_create("fault");
    TCase *t = tcase_create("fault");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, one_past_the_end);
    tcase_add_test(t, over_the_end);
    tcase_add_test(t, null_and_freed);
    tcase_add_test(t, after_free);
    tcase_add_test(t, misaligned);
    tcase_add_test(t, over_the_end_of_lds);
    tcase_add_test(t, no_access);
    tcase_add_test(t, locked_memory);
    tcase_add_test(t, read_only_code);
    tcase_add_test(t, unknown_instruction);
    tcase_add_test(t, system_event);
    tcase_add_test(t, fault_beside_waiting_queue);
    suite_add_tcase(s, t);
    t = tcase_create("endless"); /* each starts a device of its own */
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, never_ends, 0, ENDLESS);
    tcase_add_test(t, much_but_not_endless);
    tcase_add_test(t, long_waits_are_expected);
    suite_add_tcase(s, t);
    return s;
}
