/* test_memory.c - pools, copies, locked memory, memory at given addresses. */
#include "tests/unit/emu/emu_test.h"

#include <sys/mman.h>

static void setup(void) {
    emu_test_init("gfx942");
}
static void teardown(void) {
    OK(hsa_shut_down());
}

START_TEST(allocations_are_poisoned_and_apart) {
    unsigned char *a = emu_test_alloc(100), *b = emu_test_alloc(100);
    for (int i = 0; i < 100; i++)
        ck_assert_uint_eq(a[i], 0xA5);
    ck_assert_uint_eq((uintptr_t)a % 4096, 0);
    ck_assert_int_ge(labs((long)(a - b)), 65536);
    OK(hsa_amd_memory_pool_free(a));
    unsigned char *c = emu_test_alloc(100);
    ck_assert_ptr_ne(a, c);
    FAILS(hsa_amd_memory_pool_free(a), HSA_STATUS_ERROR_INVALID_ALLOCATION);
    FAILS(hsa_amd_memory_pool_free(b + 8), HSA_STATUS_ERROR_INVALID_ALLOCATION);
    OK(hsa_amd_memory_pool_free(NULL));
}
END_TEST

START_TEST(impossible_allocations) {
    void *p = &p;
    FAILS(hsa_amd_memory_pool_allocate(T.device, 0, 0, &p), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    ck_assert_ptr_null(p);
    FAILS(hsa_amd_memory_pool_allocate(T.device, SIZE_MAX - 5, 0, &p),
          HSA_STATUS_ERROR_OUT_OF_RESOURCES);
    FAILS(hsa_amd_memory_pool_allocate((hsa_amd_memory_pool_t){1}, 8, 0, &p),
          HSA_STATUS_ERROR_INVALID_MEMORY_POOL);
    FAILS(hsa_amd_memory_pool_allocate(T.device, 8, 0, NULL), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}
END_TEST

START_TEST(copy_and_fill) {
    uint32_t *d = emu_test_alloc(401), host[100], back[100];
    for (uint32_t i = 0; i < 100; i++)
        host[i] = i * i;
    OK(hsa_memory_copy(d, host, sizeof host));
    OK(hsa_amd_memory_fill(d + 10, 7, 5));
    OK(hsa_memory_copy(back, d, sizeof back));
    for (uint32_t i = 0; i < 100; i++)
        ck_assert_uint_eq(back[i], i < 10 || i > 14 ? i * i : 7);
    FAILS(hsa_memory_copy(d, host, 402), HSA_STATUS_ERROR_INVALID_ALLOCATION);
    FAILS(hsa_memory_copy((char *)d + 500, host, 4), HSA_STATUS_ERROR_INVALID_ALLOCATION);
    FAILS(hsa_amd_memory_fill(d + 99, 0, 2), HSA_STATUS_ERROR_INVALID_ALLOCATION);
    FAILS(hsa_amd_memory_fill((char *)d + 1, 0, 1), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    OK(hsa_memory_copy(NULL, NULL, 0));
}
END_TEST

START_TEST(asynchronous_copy) {
    char *d = emu_test_alloc(5), back[5] = "";
    hsa_signal_t gate, first, second;
    OK(hsa_signal_create(1, 0, NULL, &gate));
    OK(hsa_signal_create(1, 0, NULL, &first));
    OK(hsa_signal_create(1, 0, NULL, &second));
    OK(hsa_amd_memory_async_copy(back, T.cpu, d, T.gpu, 5, 1, &first, second));
    OK(hsa_amd_memory_async_copy(d, T.gpu, "text", T.cpu, 5, 1, &gate, first));
    ck_assert_int_eq(hsa_signal_load_relaxed(second), 1);
    hsa_signal_store_relaxed(gate, 0);
    ck_assert_int_eq(hsa_signal_wait_scacquire(second, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX,
                                               HSA_WAIT_STATE_BLOCKED),
                     0);
    ck_assert_str_eq(back, "text");
    /* One that never starts must not keep hsa_shut_down from ending. */
    hsa_signal_store_relaxed(gate, 1);
    OK(hsa_amd_memory_async_copy(d, T.gpu, "none", T.cpu, 5, 1, &gate, first));
}
END_TEST

START_TEST(pointer_information) {
    char *d = emu_test_alloc(1000), stack[8];
    hsa_amd_pointer_info_t info = {.size = sizeof info};
    uint32_t n;
    hsa_agent_t *agents;
    OK(hsa_amd_pointer_info(d + 999, &info, malloc, &n, &agents));
    ck_assert_int_eq(info.type, HSA_EXT_POINTER_TYPE_HSA);
    ck_assert_ptr_eq(info.agentBaseAddress, d);
    ck_assert_uint_eq(info.sizeInBytes, 1000);
    ck_assert_uint_eq(info.agentOwner.handle, T.gpu.handle);
    ck_assert_uint_eq(n, 2);
    free(agents);
    OK(hsa_amd_pointer_info(d + 1000, &info, NULL, NULL, NULL));
    ck_assert_int_eq(info.type, HSA_EXT_POINTER_TYPE_UNKNOWN);
    void *locked;
    OK(hsa_amd_memory_lock(stack, sizeof stack, &T.gpu, 1, &locked));
    OK(hsa_amd_pointer_info(locked, &info, NULL, NULL, NULL));
    ck_assert_int_eq(info.type, HSA_EXT_POINTER_TYPE_LOCKED);
    OK(hsa_amd_memory_unlock(stack));
    FAILS(hsa_amd_memory_unlock(stack), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}
END_TEST

START_TEST(memory_at_an_address) {
    char *free_place = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    munmap(free_place, 1 << 20);
    uint64_t at = (uint64_t)free_place + 256;
    ck_assert_int_eq(etemu_map_at(at, 70000), 0);
    ck_assert_uint_eq(*(unsigned char *)at, 0xA5);
    ck_assert_int_eq(etemu_map_at(at, 1), -1);
    ck_assert_int_eq(etemu_map_at(at + 8192, 10), -1);
    ck_assert_int_eq(etemu_map_at((uint64_t)&at, 8), -1);
    ck_assert_int_eq(etemu_map_at(UINT64_MAX - 4, 100), -1);
    ck_assert_int_eq(etemu_map_at(0, 100), -1);
    ck_assert_int_eq(etemu_unmap(at + 1), -1);
    ck_assert_int_eq(etemu_unmap(at), 0);
    ck_assert_int_eq(etemu_unmap(at), -1);
    ck_assert_int_eq(etemu_map_at(at, 70000), 0);
}
END_TEST

static hsa_status_t pick_fine(hsa_region_t region, void *out) {
    uint32_t flags;
    OK(hsa_region_get_info(region, HSA_REGION_INFO_GLOBAL_FLAGS, &flags));
    if (flags & HSA_REGION_GLOBAL_FLAG_KERNARG) *(hsa_region_t *)out = region;
    return HSA_STATUS_SUCCESS;
}

START_TEST(regions) {
    hsa_region_t fine = {0};
    void *p;
    OK(hsa_agent_iterate_regions(T.gpu, pick_fine, &fine));
    ck_assert_uint_ne(fine.handle, 0);
    OK(hsa_memory_allocate(fine, 64, &p));
    memset(p, 1, 64);
    OK(hsa_memory_free(p));
}
END_TEST

Suite *memory_suite(void) {
    Suite *s = suite_create("memory");
    TCase *t = tcase_create("memory");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, allocations_are_poisoned_and_apart);
    tcase_add_test(t, impossible_allocations);
    tcase_add_test(t, copy_and_fill);
    tcase_add_test(t, asynchronous_copy);
    tcase_add_test(t, pointer_information);
    tcase_add_test(t, memory_at_an_address);
    tcase_add_test(t, regions);
    suite_add_tcase(s, t);
    return s;
}
