/* test_dispatch.c - kernels run: results, residency, workgroups that wait for one another. */
#include "tests/unit/emu/emu_test.h"

#include <stdio.h>
#include <unistd.h>

#define P(pointer) ((uint64_t)(pointer))

START_TEST(vector_add) {
    enum { N = 10000 };
    emu_test_start("gfx942:cus=3");
    float *a = emu_test_alloc(N * 4), *b = emu_test_alloc(N * 4), *c = emu_test_alloc(N * 4);
    uint64_t seed = 1;
    for (int i = 0; i < N; i++) {
        a[i] = (float)(emu_test_random(&seed) % 1000) / 8;
        b[i] = (float)(emu_test_random(&seed) % 1000) / 16;
    }
    ck_assert_int_eq(LAUNCH("vector_add", (N + 255) / 256 * 256, 256, P(a), P(b), P(c), N), 0);
    for (int i = 0; i < N; i++)
        ck_assert_float_eq(c[i], a[i] + b[i]);
    etemu_stats stats;
    etemu_get_stats(&stats);
    ck_assert_uint_eq(stats.dispatches, 1);
    ck_assert_uint_ge(stats.instructions, (N + 63) / 64 * 8);
    ck_assert_uint_eq(stats.global_bytes_written, N * 4);
    emu_test_stop();
}
END_TEST

START_TEST(reduce_in_lds) {
    enum { GROUPS = 100, N = GROUPS * 256 };
    emu_test_start("gfx942:cus=5:threads=3");
    uint32_t *in = emu_test_alloc(N * 4), *out = emu_test_alloc(GROUPS * 4);
    uint64_t seed = 2;
    for (int i = 0; i < N; i++)
        in[i] = emu_test_random(&seed);
    ck_assert_int_eq(LAUNCH("reduce", N, 256, P(in), P(out)), 0);
    for (int g = 0; g < GROUPS; g++) {
        uint32_t sum = 0;
        for (int i = 0; i < 256; i++)
            sum += in[g * 256 + i];
        ck_assert_uint_eq(out[g], sum);
    }
    emu_test_stop();
}
END_TEST

/* Every workgroup waits for all others many times; they are all resident or it would hang. */
static void run_rounds(const char *spec) {
    enum { ROUNDS = 12 };
    emu_test_start(spec);
    uint32_t groups = T.cus, *counters = emu_test_alloc(ROUNDS * 4);
    uint32_t *values = emu_test_alloc((size_t)ROUNDS * groups * 4);
    memset(counters, 0, ROUNDS * 4);
    struct emu_launch l = {.kernel = "rounds",
                           .grid = {groups * 256},
                           .group = {256},
                           .lds = 40000, /* one workgroup per compute unit */
                           .args = (uint64_t[]){P(counters), P(values), PAIR(groups, ROUNDS)},
                           .args_bytes = 24};
    ck_assert_msg(!emu_test_run(&l), "%s: %s", spec, etemu_last_fault());
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

static const char *const devices[] = {
    "gfx942:cus=1",
    "gfx942:cus=2:xcds=2:threads=1",
    "gfx942:cus=7:xcds=3:map=block",
    "gfx942:cus=7:xcds=3:map=1",
    "gfx942:cus=16:xcds=3:map=2:threads=2",
    "gfx942:cus=64:threads=4",
    "gfx942:cus=304:xcds=8",
    "gfx942:cus=304:xcds=1:threads=1",
    "gfx942:cus=9:seed=1:threads=1",
    "gfx942:cus=32:seed=12345",
};

START_TEST(persistent_rounds) {
    run_rounds(devices[_i]);
}
END_TEST

START_TEST(chain_against_the_order) {
    emu_test_start(devices[_i]);
    uint32_t groups = T.cus, *token = emu_test_alloc(4), *order = emu_test_alloc(groups * 4);
    *token = 0;
    struct emu_launch l = {.kernel = "chain",
                           .grid = {groups * 64},
                           .group = {64},
                           .lds = 65536,
                           .args = (uint64_t[]){P(token), P(order), groups},
                           .args_bytes = 20};
    ck_assert_int_eq(emu_test_run(&l), 0);
    for (uint32_t i = 0; i < groups; i++)
        ck_assert_uint_eq(order[i], groups - 1 - i);
    emu_test_stop();
}
END_TEST

/* A workgroup that spins without s_sleep must not keep the one it waits for from running. */
START_TEST(spinning_beside_sleeping) {
    emu_test_start("gfx942:cus=2:threads=1");
    uint32_t *flag = emu_test_alloc(4), *gate = emu_test_alloc(4), *order = emu_test_alloc(4);
    *flag = *gate = 0;
    uint64_t spin_args = P(flag);
    hsa_queue_t *other = emu_test_queue(64);
    hsa_signal_t spin = emu_test_submit(
        T.queue,
        &(struct emu_launch){
            .kernel = "spin", .grid = {128}, .group = {64}, .args = &spin_args, .args_bytes = 8});
    uint64_t chain_args[3] = {P(flag), P(order), 1};
    hsa_signal_t chain = emu_test_submit(
        other,
        &(struct emu_launch){
            .kernel = "chain", .grid = {64}, .group = {64}, .args = chain_args, .args_bytes = 20});
    ck_assert_int_eq(emu_test_wait(chain), 0);
    ck_assert_int_eq(emu_test_wait(spin), 0);
    emu_test_stop();
}
END_TEST

static void arrivals(const char *spec, uint32_t order[40]) {
    emu_test_start(spec);
    uint32_t *counter = emu_test_alloc(4), *out = emu_test_alloc(160);
    bool seen[40] = {false};
    *counter = 0;
    ck_assert_int_eq(LAUNCH("arrive", 40 * 64, 64, P(counter), P(out)), 0);
    memcpy(order, out, 160);
    for (int i = 0; i < 40; i++) {
        ck_assert(order[i] < 40 && !seen[order[i]]);
        seen[order[i]] = true;
    }
    emu_test_stop();
}

START_TEST(seeded_order) {
    uint32_t plain[40], one[40], again[40], two[40];
    arrivals("gfx942:cus=40:threads=1", plain);
    arrivals("gfx942:cus=40:threads=1:seed=1", one);
    arrivals("gfx942:cus=40:threads=1:seed=1", again);
    arrivals("gfx942:cus=40:threads=1:seed=2", two);
    for (uint32_t i = 0; i < 40; i++)
        ck_assert_uint_eq(plain[i], i);
    ck_assert_mem_eq(one, again, sizeof one);
    ck_assert_mem_ne(one, plain, sizeof one);
    ck_assert_mem_ne(one, two, sizeof one);
}
END_TEST

/* Whom the device holds back comes last, in any order, and comes nevertheless. */
START_TEST(held_back) {
    static const char *const seeds[] = {"", ":seed=7"};
    char spec[80];
    uint32_t order[40];
    for (int i = 0; i < 2; i++) {
        snprintf(spec, sizeof spec, "gfx942:cus=40:xcds=1:threads=1:starve=3%s", seeds[i]);
        arrivals(spec, order);
        uint32_t before = 0;
        while (order[before] != 3)
            before++;
        ck_assert_uint_ge(before, 15);
        snprintf(spec, sizeof spec, "gfx942:cus=40:xcds=2:threads=1:slow=1%s", seeds[i]);
        arrivals(spec, order);
        before = 0; /* of the other die among the first twenty */
        for (int k = 0; k < 20; k++)
            before += order[k] % 2 == 0;
        ck_assert_uint_ge(before, 17);
    }
    emu_test_start("gfx942:cus=8:xcds=4:slow=2:starve=5");
    uint32_t *token = emu_test_alloc(4), *out = emu_test_alloc(32), groups = 8;
    *token = 0;
    ck_assert_int_eq(LAUNCH("chain", 8 * 64, 64, P(token), P(out), groups), 0);
    for (uint32_t i = 0; i < groups; i++)
        ck_assert_uint_eq(out[i], groups - 1 - i);
    emu_test_stop();
}
END_TEST

/* With the whole LDS asked for, each workgroup has a compute unit to itself. */
START_TEST(one_place_each) {
    emu_test_start(devices[_i]);
    uint32_t groups = T.cus, *counter = emu_test_alloc(4), *out = emu_test_alloc(groups * 12);
    uint32_t xcds, per_die[8] = {0};
    OK(hsa_agent_get_info(T.gpu, (hsa_agent_info_t)0xA111, &xcds));
    *counter = 0;
    struct emu_launch l = {.kernel = "where",
                           .grid = {groups * 64},
                           .group = {64},
                           .lds = 65536,
                           .args = (uint64_t[]){P(counter), P(out), groups},
                           .args_bytes = 20};
    ck_assert_int_eq(emu_test_run(&l), 0);
    for (uint32_t g = 0; g < groups; g++) {
        ck_assert_uint_eq(out[3 * g + 2], g);
        ck_assert_uint_lt(out[3 * g] & 15, xcds);
        per_die[out[3 * g] & 15]++;
        /* Dies of up to 256 units have an identity for each. */
        for (uint32_t h = 0; h < g && groups <= 256 * xcds; h++)
            ck_assert(((out[3 * g] ^ out[3 * h]) & 15) ||
                      ((out[3 * g + 1] ^ out[3 * h + 1]) & 0xff00));
    }
    for (uint32_t x = 0; x < xcds; x++)
        ck_assert_uint_eq(per_die[x], groups / xcds + (x < groups % xcds));
    if (groups == 304 && xcds == 8)
        for (uint32_t g = 0; g < groups; g++)
            ck_assert_uint_eq(out[3 * g] & 15, g % 8);
    emu_test_stop();
}
END_TEST

/* Workgroups by what their die calls itself, of GROUPS. */
static void count_dies(const char *spec, uint32_t groups, uint32_t per_die[16]) {
    emu_test_start(spec);
    uint32_t *counter = emu_test_alloc(4), *out = emu_test_alloc(groups * 12);
    *counter = 0;
    struct emu_launch l = {.kernel = "where",
                           .grid = {groups * 64},
                           .group = {64},
                           .lds = 65536,
                           .args = (uint64_t[]){P(counter), P(out), groups},
                           .args_bytes = 20};
    ck_assert_int_eq(emu_test_run(&l), 0);
    memset(per_die, 0, 16 * sizeof *per_die);
    for (uint32_t g = 0; g < groups; g++)
        per_die[out[3 * g] & 15]++;
    emu_test_stop();
}

START_TEST(uneven_maps) {
    static const struct {
        const char *spec;
        uint32_t groups, first, dies[4];
    } cases[] = {
        {"gfx942:cus=1+7+3:map=shuffle-3", 11, 0, {1, 7, 3}},
        {"gfx942:cus=4+2+6:map=fill-2:firstdie=5", 12, 5, {4, 2, 6}},
        {"gfx942:cus=4+2+6:map=fill-1:firstdie=13", 7, 13, {0, 2, 5}},
        {"gfx942:cus=8:xcds=2:map=fill-1", 3, 0, {0, 3}},
        {"gfx942:cus=8:xcds=2:map=fill-1", 6, 0, {2, 4}},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t per_die[16], want[16] = {0};
        memcpy(want + cases[i].first, cases[i].dies,
               (16 - cases[i].first < 4 ? 16 - cases[i].first : 4) * sizeof *want);
        count_dies(cases[i].spec, cases[i].groups, per_die);
        for (int d = 0; d < 16; d++)
            ck_assert_msg(per_die[d] == want[d], "%s: %u workgroups on die %d, not %u",
                          cases[i].spec, per_die[d], d, want[d]);
    }
}
END_TEST

/* Dies are drawn, otherwise with another seed. */
START_TEST(shuffled_maps) {
    uint32_t first[16], same = 0, even = 0;
    for (uint32_t seed = 0; seed < 20; seed++) {
        char spec[64];
        uint32_t per_die[16];
        snprintf(spec, sizeof spec, "gfx942:cus=64:xcds=4:map=shuffle-%u", seed);
        count_dies(spec, 24, per_die);
        if (!seed) memcpy(first, per_die, sizeof first);
        same += memcmp(first, per_die, sizeof first) == 0;
        even += per_die[0] == 6 && per_die[1] == 6 && per_die[2] == 6 && per_die[3] == 6;
        for (int d = 0; d < 4; d++)
            ck_assert_uint_lt(per_die[d], 16);
    }
    ck_assert_uint_lt(same, 5);
    ck_assert_uint_lt(even, 5);
}
END_TEST

/* What the waiters of "bounded" say; the host's time it took, in seconds. */
static double run_bounded(uint64_t work, uint64_t limit, uint32_t said) {
    uint64_t a, b;
    uint32_t *flag = emu_test_alloc(4), *out = emu_test_alloc(32);
    *flag = 0;
    OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &a));
    ck_assert_int_eq(LAUNCH("bounded", 8 * 64, 64, P(flag), P(out), work, limit), 0);
    OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &b));
    for (int i = 1; i < 8; i++)
        ck_assert_uint_eq(out[i], said);
    return (double)(b - a) / 1e8;
}

/* A kernel that waits in vain reaches its limit in the time it says, and one that waits for slow
 * work does not, since that is only slow to emulate. */
START_TEST(time_of_the_device) {
    enum { TENTH = 10000000 };
    emu_test_start("gfx942");
    double vain = run_bounded(0, 3 * TENTH, 2);
    ck_assert_double_ge(vain, 0.3);
    ck_assert_double_le(vain, 10);
    double work = 0;
    for (uint64_t n = 1 << 21; work < 0.6; n *= 2)
        work = run_bounded(n, 3 * TENTH, 1);
    emu_test_stop();
}
END_TEST

/* Where instructions are the clock, who waits for them waits as long as they are many, every time,
 * and time goes on from dispatch to dispatch. */
START_TEST(time_of_instructions) {
    enum { WORK = 5000 };
    emu_test_start("gfx942:cus=2:clock=instructions");
    ck_assert_int_eq(etemu_clock_counts(), 1);
    uint32_t *flag = emu_test_alloc(4), *out = emu_test_alloc(8);
    for (int i = 0; i < 20; i++) {
        bool patient = i % 2;
        *flag = out[1] = 0;
        ck_assert_int_eq(
            LAUNCH("bounded", 128, 64, P(flag), P(out), WORK, (patient ? 20 : 2) * WORK), 0);
        ck_assert_uint_eq(out[1], patient ? 1 : 2);
    }
    emu_test_stop();
    emu_test_start("gfx942:cus=2:clock=host");
    ck_assert_int_eq(etemu_clock_counts(), 0);
    emu_test_stop();
}
END_TEST

START_TEST(more_workgroups_than_places) {
    enum { GROUPS = 3001 };
    emu_test_start("gfx942:cus=2");
    uint32_t *in = emu_test_alloc(GROUPS * 1024), *out = emu_test_alloc(GROUPS * 4);
    for (int i = 0; i < GROUPS * 256; i++)
        in[i] = (uint32_t)i;
    ck_assert_int_eq(LAUNCH("reduce", GROUPS * 256, 256, P(in), P(out)), 0);
    for (uint32_t g = 0; g < GROUPS; g++)
        ck_assert_uint_eq(out[g], 65536 * g + 32640);
    emu_test_stop();
}
END_TEST

START_TEST(grid_that_groups_do_not_divide) {
    enum { NX = 13, NY = 7, NZ = 3 };
    emu_test_start("gfx942:cus=3");
    uint32_t *out = emu_test_alloc(NX * NY * NZ * 4);
    memset(out, 0, NX * NY * NZ * 4);
    struct emu_launch l = {.kernel = "grid3",
                           .grid = {NX, NY, NZ},
                           .group = {5, 3, 2},
                           .args = (uint64_t[]){P(out), PAIR(NX, NY)},
                           .args_bytes = 16};
    ck_assert_msg(!emu_test_run(&l), "%s", etemu_last_fault());
    for (uint32_t z = 0; z < NZ; z++)
        for (uint32_t y = 0; y < NY; y++)
            for (uint32_t x = 0; x < NX; x++)
                ck_assert_uint_eq(out[(z * NY + y) * NX + x], 1 + x + 100 * y + 10000 * z);
    emu_test_stop();
}
END_TEST

START_TEST(private_memory) {
    enum { GROUPS = 9, N = 50 };
    emu_test_start("gfx942:cus=2");
    uint32_t *out = emu_test_alloc(GROUPS * 64 * 4);
    ck_assert_msg(!LAUNCH("private_array", GROUPS * 64, 64, P(out), N), "%s", etemu_last_fault());
    for (uint32_t i = 0; i < GROUPS * 64; i++) {
        uint32_t sum = 0, lane = i % 64;
        for (uint32_t k = 0; k < N; k++)
            sum += (k * 7 + lane) % 64 * (lane + 1);
        ck_assert_uint_eq(out[i], sum);
    }
    emu_test_stop();
}
END_TEST

START_TEST(relocated_table) {
    static const uint32_t want[8] = {0, 1, 4, 9, 0, 1, 8, 27};
    emu_test_start("gfx942");
    uint32_t *out = emu_test_alloc(64 * 4);
    ck_assert_int_eq(LAUNCH("lookup", 64, 64, P(out)), 0);
    for (int i = 0; i < 64; i++)
        ck_assert_uint_eq(out[i], want[i % 8]);
    emu_test_stop();
}
END_TEST

START_TEST(lds_is_poisoned) {
    emu_test_start("gfx942:cus=1");
    uint32_t *out = emu_test_alloc(64 * 4);
    for (int run = 0; run < 2; run++) {
        ck_assert_int_eq(LAUNCH("raw_lds", 64, 64, P(out)), 0);
        for (int i = 0; i < 64; i++)
            ck_assert_uint_eq(out[i], 0xA5A5A5A5);
    }
    emu_test_stop();
}
END_TEST

/* One workgroup of "rounds" waits for a second one, which the host plays. */
START_TEST(buffer_freed_while_in_use) {
    emu_test_start("gfx942:cus=2");
    uint32_t *counters = emu_test_alloc(8), *values = emu_test_alloc(16), *other;
    other = emu_test_alloc(4);
    memset(counters, 0, 8);
    memset(values, 0, 16);
    uint64_t args[3] = {P(counters), P(values), PAIR(2, 2)};
    hsa_signal_t done = emu_test_submit(T.queue, &(struct emu_launch){.kernel = "rounds",
                                                                      .grid = {256},
                                                                      .group = {256},
                                                                      .args = args,
                                                                      .args_bytes = sizeof args});
    while (!__atomic_load_n(counters, __ATOMIC_ACQUIRE))
        usleep(100);
    OK(hsa_amd_memory_pool_free(other));
    *other = 3; /* still there: the dispatch that runs might be using it */
    __atomic_fetch_add(counters, 1, __ATOMIC_RELEASE);
    ck_assert_int_eq(emu_test_wait(done), 0);
    emu_test_stop();
}
END_TEST

START_TEST(many_small_dispatches) {
    emu_test_start("gfx942");
    uint64_t a, b;
    OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &a));
    for (int i = 0; i < 300; i++)
        ck_assert_int_eq(emu_test_run(&(struct emu_launch){
                             .kernel = "no_arguments", .grid = {8 * 256}, .group = {256}}),
                         0);
    OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &b));
    printf("a dispatch takes %.1f us\n", (double)(b - a) / 100 / 300);
    emu_test_stop();
}
END_TEST

Suite *dispatch_suite(void) {
    int n = sizeof devices / sizeof *devices;
    Suite *s = suite_create("dispatch");
    TCase *t = tcase_create("dispatch");
    tcase_set_timeout(t, 240);
    tcase_add_test(t, vector_add);
    tcase_add_test(t, reduce_in_lds);
    tcase_add_loop_test(t, persistent_rounds, 0, n);
    tcase_add_loop_test(t, chain_against_the_order, 0, n);
    tcase_add_loop_test(t, one_place_each, 0, n);
    tcase_add_test(t, uneven_maps);
    tcase_add_test(t, shuffled_maps);
    tcase_add_test(t, spinning_beside_sleeping);
    tcase_add_test(t, seeded_order);
    tcase_add_test(t, held_back);
    tcase_add_test(t, time_of_the_device);
    tcase_add_test(t, time_of_instructions);
    tcase_add_test(t, more_workgroups_than_places);
    tcase_add_test(t, grid_that_groups_do_not_divide);
    tcase_add_test(t, private_memory);
    tcase_add_test(t, relocated_table);
    tcase_add_test(t, lds_is_poisoned);
    tcase_add_test(t, buffer_freed_while_in_use);
    tcase_add_test(t, many_small_dispatches);
    suite_add_tcase(s, t);
    return s;
}
