/* test_device.c - choosing the device; what agents, pools and the system say about themselves. */
#include "tests/unit/emu/emu_test.h"

START_TEST(good_specs) {
    static const struct {
        const char *spec;
        uint32_t cus, xcds;
    } cases[] = {{"gfx942", 8, 2},
                 {"gfx942:cus=1", 1, 1},
                 {"gfx942:cus=304", 304, 8},
                 {"gfx942:cus=16:xcds=4:threads=3:map=block", 16, 4},
                 {"gfx942:map=5:cus=7:seed=99", 7, 2},
                 {"gfx942:cus=3:clock=instructions:seed=2", 3, 2},
                 {"gfx942:cus=5+1+3:map=shuffle-7", 9, 3},
                 {"gfx942:cus=5+1+3:cus=6", 6, 3},
                 {"gfx942:cus=2+2:firstdie=14:map=fill-1", 4, 2},
                 {"gfx942:cus=1024", 1024, 8}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t cus, xcds;
        emu_test_init(cases[i].spec);
        OK(hsa_agent_get_info(T.gpu, (hsa_agent_info_t)0xA002, &cus));
        OK(hsa_agent_get_info(T.gpu, (hsa_agent_info_t)0xA111, &xcds));
        ck_assert_uint_eq(cus, cases[i].cus);
        ck_assert_uint_eq(xcds, cases[i].xcds);
        OK(hsa_shut_down());
    }
}
END_TEST

START_TEST(bad_specs) {
    static const struct {
        const char *spec, *says;
    } cases[] = {{"gfx941", "gfx941"},
                 {"", "\"\""},
                 {"gfx942:cus=0", "cus=0"},
                 {"gfx942:cus=1025", "1 to 1024"},
                 {"gfx942:cus=-1", "cus=-1"},
                 {"gfx942:cus=8x", "cus=8x"},
                 {"gfx942:cus=99999999999999999999", "cus="},
                 {"gfx942:cus", "NAME=VALUE"},
                 {"gfx942:xcds=9", "xcds=9"},
                 {"gfx942:cus=2:xcds=3", "more than cus=2"},
                 {"gfx942:dies=2", "\"dies\""},
                 {"gfx942:map=diagonal", "diagonal"},
                 {"gfx942:map=", "map="},
                 {"gfx942:map=rr1", "map=rr1"},
                 {"gfx942:map=shuffle-", "shuffle-SEED"},
                 {"gfx942:map=fill-2:cus=2+2", "0 to 1"},
                 {"gfx942:cus=2+2:firstdie=15", "below 16"},
                 {"gfx942:cus=2+0", "cus=0"},
                 {"gfx942:cus=2+", "cus="},
                 {"gfx942:cus=1024+1", "1 to 0"},
                 {"gfx942:cus=1+1+1+1+1+1+1+1+1", "at most 8"},
                 {"gfx942:cus=2+2:xcds=3", "lists 2 dies"},
                 {"gfx90a:cus=2+2", "at most 1"},
                 {"gfx942:", "NAME=VALUE"},
                 {"gfx942:coherence=yes", "coherence=yes"},
                 {"gfx942:l1=0", "l1=0"},
                 {"gfx942:cus=4:xcds=2:slow=2", "0 to 1"},
                 {"gfx942:starve=x", "starve=x"},
                 {"gfx942:clock=sun", "clock=sun"},
                 {"gfx942:threads=257", "threads=257"}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char err[256];
        ck_assert_int_eq(etemu_configure(cases[i].spec, err, sizeof err), -1);
        ck_assert_msg(strstr(err, cases[i].says) != NULL, "%s: %s", cases[i].spec, err);
    }
    char tiny[4], longer[400];
    ck_assert_int_eq(etemu_configure("x", tiny, sizeof tiny), -1);
    ck_assert_uint_eq(strlen(tiny), 3);
    ck_assert_int_eq(etemu_configure("x", NULL, 0), -1);
    memset(longer, 'g', sizeof longer);
    longer[399] = 0;
    ck_assert_int_eq(etemu_configure(longer, tiny, sizeof tiny), -1);
}
END_TEST

START_TEST(spec_from_environment) {
    uint32_t cus;
    setenv("ETEMU_DEVICE", "gfx942:cus=5", 1);
    emu_test_init(NULL);
    OK(hsa_agent_get_info(T.gpu, (hsa_agent_info_t)0xA002, &cus));
    ck_assert_uint_eq(cus, 5);
    char err[256];
    ck_assert_int_eq(etemu_configure("gfx942", err, sizeof err), -1);
    OK(hsa_shut_down());
    setenv("ETEMU_DEVICE", "gfx9", 1);
    FAILS(hsa_init(), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    ck_assert_ptr_nonnull(strstr(etemu_last_fault(), "gfx9"));
}
END_TEST

START_TEST(reference_counting) {
    FAILS(hsa_shut_down(), HSA_STATUS_ERROR_NOT_INITIALIZED);
    FAILS(hsa_iterate_agents(NULL, NULL), HSA_STATUS_ERROR_NOT_INITIALIZED);
    OK(hsa_init());
    OK(hsa_init());
    OK(hsa_shut_down());
    uint16_t major;
    OK(hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major));
    ck_assert_uint_eq(major, 1);
    OK(hsa_shut_down());
    FAILS(hsa_system_get_info(HSA_SYSTEM_INFO_VERSION_MAJOR, &major),
          HSA_STATUS_ERROR_NOT_INITIALIZED);
}
END_TEST

START_TEST(agent_information) {
    char name[64];
    uint32_t n;
    hsa_isa_t isa;
    emu_test_init("gfx942");
    OK(hsa_agent_get_info(T.gpu, HSA_AGENT_INFO_NAME, name));
    ck_assert_str_eq(name, "gfx942");
    OK(hsa_agent_get_info(T.gpu, (hsa_agent_info_t)HSA_AMD_AGENT_INFO_PRODUCT_NAME, name));
    ck_assert_ptr_nonnull(strstr(name, "emulated"));
    OK(hsa_agent_get_info(T.gpu, HSA_AGENT_INFO_WAVEFRONT_SIZE, &n));
    ck_assert_uint_eq(n, 64);
    OK(hsa_agent_get_info(T.gpu, HSA_AGENT_INFO_ISA, &isa));
    OK(hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME_LENGTH, &n));
    ck_assert_uint_le(n, sizeof name);
    OK(hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, name));
    ck_assert_ptr_nonnull(strstr(name, "gfx942"));
    hsa_isa_t again;
    OK(hsa_isa_from_name(name, &again));
    ck_assert_uint_eq(again.handle, isa.handle);
    FAILS(hsa_isa_from_name("amdgcn-amd-amdhsa--gfx90a", &again),
          HSA_STATUS_ERROR_INVALID_ISA_NAME);
    FAILS(hsa_agent_get_info(T.gpu, (hsa_agent_info_t)0x7777, &n),
          HSA_STATUS_ERROR_INVALID_ARGUMENT);
    FAILS(hsa_agent_get_info((hsa_agent_t){17}, HSA_AGENT_INFO_NAME, name),
          HSA_STATUS_ERROR_INVALID_AGENT);
    hsa_device_type_t type;
    OK(hsa_agent_get_info(T.cpu, HSA_AGENT_INFO_DEVICE, &type));
    ck_assert_int_eq(type, HSA_DEVICE_TYPE_CPU);
    OK(hsa_shut_down());
}
END_TEST

START_TEST(time_goes_on) {
    uint64_t hz, a, b;
    emu_test_init("gfx942");
    OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &hz));
    ck_assert_uint_eq(hz, 100000000);
    OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &a));
    do
        OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &b));
    while (a == b);
    ck_assert_uint_gt(b, a);
    OK(hsa_shut_down());
}
END_TEST

START_TEST(status_texts) {
    const char *text;
    OK(hsa_status_string(HSA_STATUS_ERROR_INVALID_ISA, &text));
    ck_assert_ptr_nonnull(strstr(text, "instruction set"));
    FAILS(hsa_status_string((hsa_status_t)0x4711, &text), HSA_STATUS_ERROR_INVALID_ARGUMENT);
}
END_TEST

Suite *device_suite(void) {
    Suite *s = suite_create("device");
    TCase *t = tcase_create("device");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, good_specs);
    tcase_add_test(t, bad_specs);
    tcase_add_test(t, spec_from_environment);
    tcase_add_test(t, reference_counting);
    tcase_add_test(t, agent_information);
    tcase_add_test(t, time_goes_on);
    tcase_add_test(t, status_texts);
    suite_add_tcase(s, t);
    return s;
}
