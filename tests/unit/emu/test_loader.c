/* test_loader.c - code objects, good and damaged: an error or a load, never a crash. */
#include "tests/unit/emu/emu_test.h"

#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

static void setup(void) {
    emu_test_init("gfx942");
    emu_test_read_image(EMU_TEST_CODE "basic.hsaco");
}

static void setup_tiny(void) {
    emu_test_init("gfx942");
    emu_test_read_image(EMU_TEST_CODE "tiny.hsaco");
}

static void teardown(void) {
    emu_test_stop();
}

START_TEST(symbols) {
    hsa_executable_symbol_t s;
    hsa_symbol_kind_t kind;
    uint32_t n;
    uint64_t address, pointers[2];
    char name[32] = "";
    OK(emu_test_load(T.image, T.image_bytes, &T.executable));
    OK(hsa_executable_get_symbol_by_name(T.executable, "reduce.kd", &T.gpu, &s));
    OK(hsa_executable_symbol_get_info(s, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind));
    ck_assert_int_eq(kind, HSA_SYMBOL_KIND_KERNEL);
    OK(hsa_executable_symbol_get_info(s, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_GROUP_SEGMENT_SIZE, &n));
    ck_assert_uint_eq(n, 1024);
    OK(hsa_executable_symbol_get_info(s, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_KERNARG_SEGMENT_SIZE,
                                      &n));
    ck_assert_uint_eq(n, 16);
    OK(hsa_executable_symbol_get_info(s, HSA_EXECUTABLE_SYMBOL_INFO_NAME_LENGTH, &n));
    ck_assert_uint_eq(n, strlen("reduce.kd"));
    OK(hsa_executable_symbol_get_info(s, HSA_EXECUTABLE_SYMBOL_INFO_NAME, name));
    ck_assert_str_eq(name, "reduce.kd");
    OK(hsa_executable_get_symbol_by_name(T.executable, "tables", &T.gpu, &s));
    OK(hsa_executable_symbol_get_info(s, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind));
    ck_assert_int_eq(kind, HSA_SYMBOL_KIND_VARIABLE);
    OK(hsa_executable_symbol_get_info(s, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_SIZE, &n));
    ck_assert_uint_eq(n, sizeof pointers);
    OK(hsa_executable_symbol_get_info(s, HSA_EXECUTABLE_SYMBOL_INFO_VARIABLE_ADDRESS, &address));
    OK(hsa_memory_copy(pointers, (void *)address, sizeof pointers));
    ck_assert_uint_eq(((uint32_t *)pointers[1])[3], 27);
    FAILS(hsa_executable_get_symbol_by_name(T.executable, "reduce", &T.gpu, &s),
          HSA_STATUS_ERROR_INVALID_SYMBOL_NAME);
    FAILS(hsa_executable_symbol_get_info((hsa_executable_symbol_t){address},
                                         HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind),
          HSA_STATUS_ERROR_INVALID_EXECUTABLE_SYMBOL);
}
END_TEST

static hsa_status_t count_kernel(hsa_executable_t e, hsa_executable_symbol_t s, void *count) {
    (void)e;
    hsa_symbol_kind_t kind;
    OK(hsa_executable_symbol_get_info(s, HSA_EXECUTABLE_SYMBOL_INFO_TYPE, &kind));
    *(int *)count += kind == HSA_SYMBOL_KIND_KERNEL;
    return HSA_STATUS_SUCCESS;
}

START_TEST(iteration_and_file) {
    int kernels = 0, file = open(EMU_TEST_CODE "basic.hsaco", O_RDONLY);
    hsa_code_object_reader_t reader;
    hsa_executable_t e;
    hsa_loaded_code_object_t loaded;
    OK(hsa_code_object_reader_create_from_file(file, &reader));
    close(file);
    OK(hsa_executable_create(HSA_PROFILE_FULL, HSA_EXECUTABLE_STATE_UNFROZEN, NULL, &e));
    OK(hsa_executable_load_agent_code_object(e, T.gpu, reader, NULL, &loaded));
    OK(hsa_executable_iterate_symbols(e, count_kernel, &kernels));
    ck_assert_int_eq(kernels, 24);
    OK(hsa_executable_freeze(e, NULL));
    FAILS(hsa_executable_freeze(e, NULL), HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
    FAILS(hsa_executable_load_agent_code_object(e, T.gpu, reader, NULL, NULL),
          HSA_STATUS_ERROR_FROZEN_EXECUTABLE);
    FAILS(hsa_executable_load_agent_code_object(e, T.cpu, reader, NULL, NULL),
          HSA_STATUS_ERROR_INVALID_AGENT);
    OK(hsa_executable_destroy(e));
    FAILS(hsa_executable_destroy(e), HSA_STATUS_ERROR_INVALID_EXECUTABLE);
}
END_TEST

static unsigned char *copy_image(void) {
    unsigned char *copy = malloc(T.image_bytes);
    memcpy(copy, T.image, T.image_bytes);
    return copy;
}

START_TEST(other_targets) {
    hsa_executable_t e;
    unsigned char *copy = copy_image();
    copy[48] = 0x3f; /* e_flags: gfx90a */
    FAILS(emu_test_load(copy, T.image_bytes, &e), HSA_STATUS_ERROR_INVALID_ISA);
    ck_assert_str_eq(etemu_last_fault(), "the code object is for gfx90a, the device is gfx942");
    copy[48] = 0x4c;
    copy[49] |= 3; /* XNACK on */
    FAILS(emu_test_load(copy, T.image_bytes, &e), HSA_STATUS_ERROR_INVALID_ISA);
    memcpy(copy, T.image, T.image_bytes);
    copy[8] = 1; /* code object version 3 */
    FAILS(emu_test_load(copy, T.image_bytes, &e), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
    ck_assert_ptr_nonnull(strstr(etemu_last_fault(), "version"));
    FAILS(emu_test_load("hello", 5, &e), HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
    free(copy);
}
END_TEST

static void try_load(const void *image, size_t bytes) {
    hsa_executable_t e;
    if (!emu_test_load(image, bytes, &e)) OK(hsa_executable_destroy(e));
}

/* In memory of exactly that size, so that the sanitizer sees a byte too much. */
START_TEST(truncated_everywhere) {
    for (size_t n = 1; n < T.image_bytes; n++) {
        void *part = malloc(n);
        memcpy(part, T.image, n);
        try_load(part, n);
        free(part);
    }
}
END_TEST

START_TEST(one_byte_flipped) {
    unsigned char *copy = copy_image();
    uint64_t seed = 3;
    for (size_t i = 0; i < T.image_bytes; i++) {
        unsigned char kept = copy[i];
        copy[i] ^= (unsigned char)(1 + emu_test_random(&seed) % 255);
        try_load(copy, T.image_bytes);
        copy[i] = kept;
    }
    free(copy);
}
END_TEST

START_TEST(words_replaced) {
    static const uint64_t values[] = {0,          1,          0x7fffffff,       0xffffffff,
                                      1ull << 40, UINT64_MAX, UINT64_MAX - 4095};
    unsigned char *copy = copy_image();
    for (size_t i = 0; i + 8 <= T.image_bytes; i += 8)
        for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
            memcpy(copy + i, &values[v], 8);
            try_load(copy, T.image_bytes);
            memcpy(copy + i, (char *)T.image + i, 8);
        }
    free(copy);
}
END_TEST

Suite *loader_suite(void) {
    Suite *s = suite_create("loader");
    TCase *t = tcase_create("loader");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 240);
    tcase_add_test(t, symbols);
    tcase_add_test(t, iteration_and_file);
    tcase_add_test(t, other_targets);
    suite_add_tcase(s, t);
    t = tcase_create("damaged");
    tcase_add_checked_fixture(t, setup_tiny, teardown);
    tcase_set_timeout(t, 240);
    tcase_add_test(t, truncated_everywhere);
    tcase_add_test(t, one_byte_flipped);
    tcase_add_test(t, words_replaced);
    suite_add_tcase(s, t);
    return s;
}
