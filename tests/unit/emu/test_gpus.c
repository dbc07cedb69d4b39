/* test_gpus.c - what each emulated GPU says about itself, and the same kernels compiled for it. */
#include "tests/unit/emu/emu_test.h"

#include <stdio.h>

#define P(p) ((uint64_t)(uintptr_t)(p))

static const struct gpu {
    const char *name;
    const char *spec;
    uint32_t lanes, dies, lds, cus;
} gpus[] = {
    {"gfx90a", "gfx90a:cus=6", 64, 1, 65536, 6},
    {"gfx942", "gfx942:cus=6:xcds=2", 64, 2, 65536, 6},
    {"gfx950", "gfx950:cus=6:xcds=2", 64, 2, 163840, 6},
    {"gfx1100", "gfx1100:cus=6", 32, 1, 65536, 6},
    {"gfx1201", "gfx1201:cus=6:seed=3", 32, 1, 65536, 6},
};
enum { NGPUS = sizeof gpus / sizeof *gpus };

START_TEST(says_what_it_is) {
    const struct gpu *g = &gpus[_i];
    char name[64], isa_name[128];
    uint32_t lanes, dies;
    hsa_isa_t isa;
    emu_test_start(g->spec);
    OK(hsa_agent_get_info(T.gpu, HSA_AGENT_INFO_NAME, name));
    OK(hsa_agent_get_info(T.gpu, HSA_AGENT_INFO_WAVEFRONT_SIZE, &lanes));
    OK(hsa_agent_get_info(T.gpu, (hsa_agent_info_t)0xA111, &dies));
    OK(hsa_agent_get_info(T.gpu, HSA_AGENT_INFO_ISA, &isa));
    OK(hsa_isa_get_info_alt(isa, HSA_ISA_INFO_NAME, isa_name));
    ck_assert_str_eq(name, g->name);
    ck_assert_ptr_nonnull(strstr(isa_name, g->name));
    ck_assert_uint_eq(lanes, g->lanes);
    ck_assert_uint_eq(dies, g->dies);
    ck_assert_uint_eq(T.cus, g->cus);
    emu_test_stop();
}
END_TEST

START_TEST(adds_and_reduces) {
    enum { N = 1000, GROUPS = 7 };
    emu_test_start(gpus[_i].spec);
    float *a = emu_test_alloc(N * 4), *b = emu_test_alloc(N * 4), *c = emu_test_alloc(N * 4);
    uint32_t *in = emu_test_alloc(GROUPS * 1024), *out = emu_test_alloc(GROUPS * 4);
    uint64_t random = 5;
    for (int i = 0; i < N; i++) {
        a[i] = (float)i;
        b[i] = (float)(emu_test_random(&random) % 1000);
    }
    for (int i = 0; i < GROUPS * 256; i++)
        in[i] = emu_test_random(&random);
    ck_assert_int_eq(LAUNCH("vector_add", 1024, 256, P(a), P(b), P(c), N), 0);
    ck_assert_int_eq(LAUNCH("reduce", GROUPS * 256, 256, P(in), P(out)), 0);
    for (int i = 0; i < N; i++)
        ck_assert(c[i] == a[i] + b[i]);
    for (int g = 0; g < GROUPS; g++) {
        uint32_t want = 0;
        for (int i = 0; i < 256; i++)
            want += in[g * 256 + i];
        ck_assert_uint_eq(out[g], want);
    }
    emu_test_stop();
}
END_TEST

/* One workgroup on every compute unit; each round waits for all of the round before. */
START_TEST(persistent_rounds) {
    enum { ROUNDS = 20 };
    emu_test_start(gpus[_i].spec);
    uint32_t groups = T.cus, *counters = emu_test_alloc(ROUNDS * 4);
    uint32_t *values = emu_test_alloc((size_t)ROUNDS * groups * 4);
    memset(counters, 0, ROUNDS * 4);
    struct emu_launch l = {.kernel = "rounds",
                           .grid = {groups * 256},
                           .group = {256},
                           .lds = gpus[_i].lds,
                           .args = (uint64_t[]){P(counters), P(values), PAIR(groups, ROUNDS)},
                           .args_bytes = 24};
    ck_assert_msg(!emu_test_run(&l), "%s", etemu_last_fault());
    uint32_t sum = 0;
    for (uint32_t r = 0; r < ROUNDS; r++) {
        uint32_t next = 0;
        for (uint32_t g = 0; g < groups; g++) {
            uint32_t want = r ? sum % 1009 + g : g + 1;
            ck_assert_uint_eq(values[r * groups + g], want);
            next += want;
        }
        sum = next;
    }
    emu_test_stop();
}
END_TEST

/* No two workgroups of the whole LDS share a compute unit; two of a pair may look alike. */
START_TEST(knows_where_it_is) {
    const struct gpu *gpu = &gpus[_i];
    emu_test_start(gpu->spec);
    uint32_t groups = T.cus, *counter = emu_test_alloc(4), *out = emu_test_alloc(groups * 12);
    uint32_t mask = gpu->lanes == 64 ? 0xff00 : 0x1d3c00, most = gpu->lanes == 64 ? 1 : 2;
    *counter = 0;
    struct emu_launch l = {.kernel = "where",
                           .grid = {groups * 64},
                           .group = {64},
                           .lds = gpu->lds,
                           .args = (uint64_t[]){P(counter), P(out), groups},
                           .args_bytes = 20};
    ck_assert_msg(!emu_test_run(&l), "%s", etemu_last_fault());
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t alike = 0;
        ck_assert_uint_eq(out[3 * g + 2], g);
        ck_assert_uint_lt(out[3 * g], gpu->dies);
        for (uint32_t h = 0; h < groups; h++)
            alike += out[3 * g] == out[3 * h] && !((out[3 * g + 1] ^ out[3 * h + 1]) & mask);
        ck_assert_uint_le(alike, most);
    }
    emu_test_stop();
}
END_TEST

START_TEST(ids_scratch_and_constants) {
    enum { NX = 10, NY = 6, NZ = 4 };
    emu_test_start(gpus[_i].spec);
    uint32_t *ids = emu_test_alloc(NX * NY * NZ * 4), *out = emu_test_alloc(256 * 4);
    struct emu_launch l = {.kernel = "grid3",
                           .grid = {NX, NY, NZ},
                           .group = {5, 3, 2},
                           .args = (uint64_t[]){P(ids), PAIR(NX, NY)},
                           .args_bytes = 16};
    ck_assert_msg(!emu_test_run(&l), "%s", etemu_last_fault());
    emu_test_stop();
    emu_test_start("gfx942:cus=2");
    uint32_t *same = emu_test_alloc(NX * NY * NZ * 4), *usual = emu_test_alloc(256 * 4);
    l.args = (uint64_t[]){P(same), PAIR(NX, NY)};
    ck_assert_int_eq(emu_test_run(&l), 0);
    uint32_t kept[NX * NY * NZ], scratch[64];
    memcpy(kept, same, sizeof kept);
    ck_assert_int_eq(LAUNCH("private_array", 64, 64, P(usual), 64), 0);
    memcpy(scratch, usual, sizeof scratch);
    emu_test_stop();
    emu_test_start(gpus[_i].spec);
    ids = emu_test_alloc(NX * NY * NZ * 4);
    out = emu_test_alloc(256 * 4);
    l.args = (uint64_t[]){P(ids), PAIR(NX, NY)};
    ck_assert_int_eq(emu_test_run(&l), 0);
    ck_assert_mem_eq(ids, kept, sizeof kept);
    ck_assert_msg(!LAUNCH("private_array", 64, 64, P(out), 64), "%s", etemu_last_fault());
    ck_assert_mem_eq(out, scratch, sizeof scratch);
    emu_test_stop();
}
END_TEST

START_TEST(bounded_wait) {
    emu_test_start(gpus[_i].spec);
    uint32_t *flag = emu_test_alloc(4), *out = emu_test_alloc(32);
    *flag = 0;
    ck_assert_int_eq(LAUNCH("bounded", 4 * 64, 64, P(flag), P(out), 100, 1000000000), 0);
    emu_test_stop();
}
END_TEST

START_TEST(faults_by_name) {
    emu_test_start(gpus[_i].spec);
    uint32_t *p = emu_test_alloc(64);
    ck_assert_int_lt(LAUNCH("store_at", 64, 64, P(p), 16), 0);
    ck_assert_ptr_nonnull(strstr(etemu_last_fault(), "store of 4 bytes"));
    emu_test_stop();
}
END_TEST

START_TEST(refuses_other_code) {
    char other[256], want[128];
    const struct gpu *g = &gpus[_i], *from = &gpus[(_i + 1) % NGPUS];
    hsa_executable_t e;
    emu_test_init(g->spec);
    bool usual = !strcmp(from->name, "gfx942");
    snprintf(other, sizeof other, EMU_TEST_CODE "basic%s%s.hsaco", usual ? "" : "-",
             usual ? "" : from->name);
    emu_test_read_image(other);
    FAILS(emu_test_load(T.image, T.image_bytes, &e), HSA_STATUS_ERROR_INVALID_ISA);
    snprintf(want, sizeof want, "the code object is for %s, the device is %s", from->name, g->name);
    ck_assert_str_eq(etemu_last_fault(), want);
    emu_test_stop();
}
END_TEST

/* Tiles of four tasks on three workgroups of 256. */
START_TEST(counts_by_task) {
    enum { GROUPS = 3, LINKS = 256 };
    char spec[64];
    snprintf(spec, sizeof spec, "%s:count=tasks", gpus[_i].spec);
    emu_test_start(spec);
    uint64_t *chain = emu_test_alloc(LINKS * 8);
    uint32_t *in = emu_test_alloc(8 * 1024), *out = emu_test_alloc(GROUPS * 1024);
    for (int i = 0; i < LINKS; i++)
        chain[i] = P(&chain[(i * 5 + 1) % LINKS]);
    memset(in, 1, 8 * 1024);
    ck_assert_int_eq(LAUNCH("trips", GROUPS * 256, 256, P(chain), P(in), P(out)), 0);
    uint64_t lanes = gpus[_i].lanes, waves = GROUPS * 256 / lanes;
    static const struct {
        uint64_t trips, waits, read, in_flight; /* of a wave, bytes of a lane */
    } want[] = {{5, 5, 40, 40}, {1, 1, 32, 32}, {0, 0, 0, 0}, {0, 0, 0, 0}};
    for (uint32_t i = 0; i < 4; i++) {
        etemu_task t;
        ck_assert_int_eq(etemu_get_task(i, &t), 0);
        ck_assert_uint_eq(t.tiles, GROUPS);
        ck_assert_uint_eq(t.waves, waves);
        ck_assert_uint_eq(t.round_trips, want[i].trips * waves);
        ck_assert_uint_eq(t.waits, want[i].waits * waves);
        /* and what scalar loads read of the arguments */
        ck_assert_uint_ge(t.bytes_read, want[i].read * lanes * waves);
        ck_assert_uint_le(t.bytes_read, want[i].read * lanes * waves + 64 * waves);
        ck_assert_uint_eq(t.in_flight, want[i].in_flight * lanes * waves);
        uint64_t each = want[i].waits ? want[i].in_flight * lanes / want[i].waits : 0;
        ck_assert_uint_eq(t.in_flight_squares, want[i].waits * each * each * waves);
        ck_assert_uint_eq(t.bytes_written, i == 2 ? 4 * lanes * waves : 0);
        ck_assert_uint_gt(t.instructions, 0);
    }
    etemu_task none, tells[2];
    uint32_t *counter = emu_test_alloc(4);
    *counter = 0;
    uint64_t code = 0;
    for (int launch = 0; launch < 2; launch++) {
        uint64_t told = 0, used = 0;
        for (uint32_t i = 0; i < 2; i++) {
            ck_assert_int_eq(etemu_get_task(i, &tells[i]), 0);
            told += tells[i].told, used += tells[i].used;
        }
        ck_assert_uint_eq(told + used, 2 * waves * (uint64_t)launch);
        ck_assert_int_eq(LAUNCH("tells", GROUPS * 256, 256, P(out), P(counter)), 0);
        for (uint32_t i = 0; i < 2; i++)
            ck_assert_int_eq(etemu_get_task(i, &tells[i]), 0);
        ck_assert_uint_eq(tells[0].told, waves * (uint64_t)(launch + 1));
        ck_assert_uint_eq(tells[1].used, waves * (uint64_t)(launch + 1));
        ck_assert_uint_eq(tells[0].used + tells[1].told, 0);
        /* The store has been answered, and the cache written back where there is need, when the
         * addition goes out. Looking comes before loading. */
        ck_assert_uint_eq(tells[0].told_trips, 2 * tells[0].told);
        ck_assert_uint_eq(tells[1].used_trips, 2 * tells[1].used);
        /* Code is new only once. */
        ck_assert_uint_gt(tells[0].code_bytes, 0);
        if (launch) ck_assert_uint_eq(tells[0].code_bytes, code);
        code = tells[0].code_bytes;
    }
    ck_assert_int_eq(etemu_get_task(4, &none), 0);
    ck_assert_uint_eq(none.tiles, 0);
    ck_assert_int_eq(etemu_get_task(4096, &none), -1);
    emu_test_stop();
}
END_TEST

/* Resources that fit, and the same with a byte of LDS too many. */
START_TEST(limits_of_a_unit) {
    emu_test_start(gpus[_i].spec);
    uint32_t *out = emu_test_alloc(4096);
    struct emu_launch l = {.kernel = "arrive",
                           .grid = {64},
                           .group = {64},
                           .lds = gpus[_i].lds,
                           .args = (uint64_t[]){P(out), P(out + 64)},
                           .args_bytes = 16};
    *out = 0;
    ck_assert_int_eq(emu_test_run(&l), 0);
    l.lds++;
    ck_assert_int_lt(emu_test_run(&l), 0);
    ck_assert_ptr_nonnull(strstr(etemu_last_fault(), "does not fit on a compute unit"));
    emu_test_stop();
}
END_TEST

START_TEST(pairs_are_whole) {
    char err[256];
    ck_assert_int_eq(etemu_configure("gfx1100:cus=5", err, sizeof err), -1);
    ck_assert_ptr_nonnull(strstr(err, "pairs"));
    ck_assert_int_eq(etemu_configure("gfx1201:xcds=2", err, sizeof err), -1);
}
END_TEST

Suite *gpus_suite(void) {
    Suite *s = suite_create("gpus");
    TCase *c = tcase_create("each");
    tcase_set_timeout(c, 60);
    tcase_add_loop_test(c, says_what_it_is, 0, NGPUS);
    tcase_add_loop_test(c, adds_and_reduces, 0, NGPUS);
    tcase_add_loop_test(c, persistent_rounds, 0, NGPUS);
    tcase_add_loop_test(c, knows_where_it_is, 0, NGPUS);
    tcase_add_loop_test(c, ids_scratch_and_constants, 0, NGPUS);
    tcase_add_loop_test(c, bounded_wait, 0, NGPUS);
    tcase_add_loop_test(c, faults_by_name, 0, NGPUS);
    tcase_add_loop_test(c, refuses_other_code, 0, NGPUS);
    tcase_add_loop_test(c, counts_by_task, 0, NGPUS);
    tcase_add_loop_test(c, limits_of_a_unit, 0, NGPUS);
    tcase_add_test(c, pairs_are_whole);
    suite_add_tcase(s, c);
    return s;
}
