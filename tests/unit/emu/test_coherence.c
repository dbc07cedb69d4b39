/* test_coherence.c - what is stale without a fence, and which fence cures it, step by step.
 *
 * The device has two dies of two CUs. Workgroup 0 is A; it shares its CU with A2, its die with B,
 * and only memory with C. */
#include "tests/unit/emu/emu_test.h"
#include "tests/unit/emu/litmus.h"

enum { A = 0, C = 1, B = 2, D = 3, A2 = 4, GROUPS = 8 };
enum { DATA = 1 << 20, MAX_STEPS = 32, ANY = 0x7fffffff };
#define X 0
#define NEIGHBOUR 4 /* in X's line */
#define FAR 512     /* in another line */

static struct litmus_step *steps;
static uint32_t *turn, *results;
static char *data;

static void start_with(const char *spec, const char *image) {
    emu_test_init(spec);
    emu_test_read_image(image);
    OK(emu_test_load(T.image, T.image_bytes, &T.executable));
    T.queue = emu_test_queue(64);
    steps = emu_test_alloc(MAX_STEPS * sizeof *steps);
    turn = emu_test_alloc(4096);
    results = emu_test_alloc(MAX_STEPS * 4);
    data = emu_test_alloc(DATA);
    memset(data, 0, DATA);
}
static void start(const char *spec) {
    start_with(spec, EMU_TEST_CODE "litmus.hsaco");
}
#define DEVICE "gfx942:cus=4:xcds=2:coherence="
static void start_caches(void) {
    start(DEVICE "caches");
}
static void start_model(void) {
    start(DEVICE "model");
}

/* A step, and what it must load; ANY when it loads nothing or that does not matter. */
struct expected {
    struct litmus_step step;
    uint32_t result;
};

static void run(const struct expected *e) {
    uint32_t n = 0;
    for (; e[n].step.what != END; n++)
        steps[n] = e[n].step;
    steps[n] = e[n].step;
    *turn = 0;
    memset(results, 0xff, MAX_STEPS * 4);
    ck_assert_int_eq(LAUNCH("litmus", GROUPS, 1, (uint64_t)steps, (uint64_t)turn, (uint64_t)data,
                            (uint64_t)results),
                     0);
    ck_assert_uint_eq(*turn, n);
    for (uint32_t i = 0; i < n; i++)
        if (e[i].result != ANY)
            ck_assert_msg(results[i] == e[i].result, "step %u loaded %#x, not %#x", i, results[i],
                          e[i].result);
}
#define DO(who, what, ...)                                                                         \
    { {who, what, __VA_ARGS__}, ANY }
#define GET(who, what, at, want)                                                                   \
    { {who, what, at, 1}, want }
#define RUN(...) run((const struct expected[]){__VA_ARGS__, {{0, END, 0, 0}, ANY}})

static const int plain_loads[] = {LOAD, LOAD_NT, LOAD_SC0, LOAD_FLAT, LOAD_BUFFER, LOAD_LDS};
static const int plain_stores[] = {STORE, STORE_NT, STORE_SC0, STORE_BUFFER};

/* ---- what any caches do ---- */

START_TEST(same_cu_needs_nothing) {
    for (size_t s = 0; s < sizeof plain_stores / sizeof *plain_stores; s++)
        for (size_t l = 0; l < sizeof plain_loads / sizeof *plain_loads; l++) {
            *(uint32_t *)data = 0;
            RUN(GET(A, LOAD, X, 0), DO(A2, plain_stores[s], X, 1), GET(A, plain_loads[l], X, 1),
                GET(A2, LOAD, X, 1));
            ck_assert_uint_eq(*(uint32_t *)data, 1);
        }
}
END_TEST

START_TEST(same_die_l1_is_stale) {
    for (size_t l = 0; l < sizeof plain_loads / sizeof *plain_loads; l++) {
        *(uint32_t *)data = 0;
        RUN(GET(B, plain_loads[l], X, 0), DO(A, STORE, X, 1), GET(B, plain_loads[l], X, 0),
            DO(B, INV, 0, 0), GET(B, plain_loads[l], X, 0), DO(A, WB_SC1, 0, 0),
            GET(B, plain_loads[l], X, 0), DO(B, INV_SC0, 0, 0), GET(B, plain_loads[l], X, 1));
    }
}
END_TEST

START_TEST(same_die_needs_no_release) {
    RUN(GET(B, LOAD, X, 0), DO(A, STORE, X, 1), DO(B, INV_SC0, 0, 0), GET(B, LOAD, X, 1));
    RUN(GET(B, LOAD, X, 1), DO(A, STORE, X, 2), GET(B, LOAD_SC1, X, 2), GET(B, LOAD, X, 1));
}
END_TEST

/* Message passing across dies: only release and acquire together, of device scope. */
START_TEST(across_dies) {
    RUN(GET(C, LOAD, X, 0), DO(A, STORE, X, 1), GET(C, LOAD, X, 0));
    *(uint32_t *)data = 0;
    RUN(GET(C, LOAD, X, 0), DO(A, STORE, X, 1), DO(C, INV_SC1, 0, 0), GET(C, LOAD, X, 0));
    *(uint32_t *)data = 0;
    RUN(GET(C, LOAD, X, 0), DO(A, STORE, X, 1), DO(A, WB_SC1, 0, 0), GET(C, LOAD, X, 0));
    *(uint32_t *)data = 0;
    RUN(GET(C, LOAD, X, 0), DO(A, STORE, X, 1), DO(A, WB_SC1, 0, 0), DO(C, INV_SC0, 0, 0),
        GET(C, LOAD, X, 0), DO(C, INV, 0, 0), GET(C, LOAD, X, 0));
    *(uint32_t *)data = 0;
    RUN(GET(C, LOAD, X, 0), DO(A, STORE, X, 1), DO(A, WB_SC1, 0, 0), DO(C, INV_SC1, 0, 0),
        GET(C, LOAD, X, 1));
    *(uint32_t *)data = 0;
    RUN(GET(C, LOAD, X, 0), DO(A, STORE, X, 1), DO(A, WB_SC01, 0, 0), DO(C, INV_SC01, 0, 0),
        GET(C, LOAD, X, 1));
}
END_TEST

START_TEST(narrow_release) {
    RUN(DO(A, STORE, X, 1), DO(A, WB, 0, 0), DO(A, WB_SC0, 0, 0), DO(C, INV_SC1, 0, 0),
        GET(C, LOAD, X, 0), GET(C, LOAD_SC1, X, 0), DO(A, WB_SC1, 0, 0), GET(C, LOAD_SC1, X, 1),
        GET(C, LOAD, X, 0), DO(C, INV_SC1, 0, 0), GET(C, LOAD, X, 1));
}
END_TEST

START_TEST(accesses_of_device_scope) {
    RUN(GET(C, LOAD, X, 0), DO(A, STORE_SC1, X, 1), GET(C, LOAD, X, 0), GET(C, LOAD_SC1, X, 1),
        GET(C, LOAD_SC01, X, 1), GET(C, LOAD, X, 0), GET(A, LOAD, X, 1), GET(B, LOAD_SC1, X, 1),
        DO(A, STORE_SC01, X, 2), GET(C, LOAD_SC1, X, 2), DO(C, INV_SC1, 0, 0), GET(C, LOAD, X, 2));
    /* Its own die's stores on their way to memory are what such a load sees. */
    RUN(DO(A, STORE, X, 3), GET(A, LOAD_SC1, X, 3), GET(B, LOAD_SC1, X, 3), GET(C, LOAD_SC1, X, 2));
}
END_TEST

/* What has reached memory is not written there again. */
START_TEST(a_store_of_device_scope_replaces) {
    RUN(DO(A, STORE, X, 1), DO(A, STORE_SC1, X, 2), GET(C, ADD, X, 2), DO(A, WB_SC1, 0, 0),
        GET(C, LOAD_SC1, X, 3));
    ck_assert_uint_eq(*(uint32_t *)data, 3);
}
END_TEST

START_TEST(atomics_happen_in_memory) {
    RUN(GET(C, LOAD, X, 0), GET(A, ADD, X, 0), GET(C, LOAD, X, 0), GET(C, ADD, X, 1),
        GET(C, LOAD, X, 2), GET(A, LOAD, X, 2), GET(A, ADD_SC1, X, 2), GET(C, LOAD_SC1, X, 3));
    /* What the CU itself stored is there before; its own copy is gone after. */
    RUN(DO(A, STORE, X, 10), GET(C, LOAD_SC1, X, 3), GET(A, ADD, X, 10), GET(A, LOAD, X, 11),
        GET(C, LOAD_SC1, X, 11));
    ck_assert_uint_eq(*(uint32_t *)data, 11);
    /* What another die stored and did not release arrives late and overwrites. */
    RUN(DO(A, STORE, X, 20), GET(C, ADD, X, 11), DO(A, WB_SC1, 0, 0), GET(C, LOAD_SC1, X, 20));
}
END_TEST

START_TEST(bytes_of_a_line_meet) {
    RUN(DO(A, STORE_BYTE, X, 0x11), DO(C, STORE_BYTE, X + 1, 0x22), GET(A, LOAD, X, 0x11),
        GET(C, LOAD, X, 0x2200), DO(A, WB_SC1, 0, 0), DO(C, WB_SC1, 0, 0),
        GET(A, LOAD_SC1, X, 0x2211), DO(A, INV_SC1, 0, 0), DO(C, INV_SC1, 0, 0),
        GET(A, LOAD, X, 0x2211), GET(C, LOAD, X, 0x2211));
}
END_TEST

START_TEST(own_stores_outlive_an_acquire) {
    RUN(DO(A, STORE, X, 1), DO(A, INV_SC01, 0, 0), GET(A, LOAD, X, 1), GET(A, LOAD_SC1, X, 1),
        GET(C, LOAD_SC1, X, 0), DO(C, INV_SC1, 0, 0), GET(C, LOAD, X, 0));
    ck_assert_uint_eq(*(uint32_t *)data, 1);
}
END_TEST

START_TEST(scalar_cache) {
    RUN(GET(B, LOAD_SCALAR, X, 0), DO(B, STORE, X, 1), GET(B, LOAD_SCALAR, X, 0),
        GET(B, LOAD, X, 1), DO(B, INV_SC1, 0, 0), GET(B, LOAD_SCALAR, X, 0),
        DO(B, INV_SCALAR, 0, 0), GET(B, LOAD_SCALAR, X, 1), GET(C, LOAD_SCALAR, X, 0));
}
END_TEST

/* No L2 keeps host memory; an L1 does. */
START_TEST(host_memory) {
    char *device = data;
    data = emu_test_alloc_host(4096);
    memset(data, 0, 4096);
    RUN(GET(C, LOAD, X, 0), DO(A, STORE, X, 1), GET(C, LOAD, X, 0), GET(C, LOAD_SC1, X, 1),
        DO(C, INV_SC0, 0, 0), GET(C, LOAD, X, 1));
    ck_assert_uint_eq(*(uint32_t *)data, 1);
    data = device;
}
END_TEST

START_TEST(dispatches_begin_and_end_coherent) {
    RUN(GET(C, LOAD, X, 0), GET(C, LOAD_SCALAR, FAR, 0), DO(A, STORE, X, 1));
    ck_assert_uint_eq(*(uint32_t *)data, 1);
    *(uint32_t *)data = 2;
    *(uint32_t *)(data + FAR) = 3;
    RUN(GET(C, LOAD, X, 2), GET(A, LOAD, X, 2), GET(C, LOAD_SCALAR, FAR, 3));
}
END_TEST

START_TEST(lines_come_whole) {
    RUN(GET(C, LOAD, NEIGHBOUR, 0), DO(A, STORE, X, 1), DO(A, STORE, FAR, 1), DO(A, WB_SC1, 0, 0),
        GET(C, LOAD, X, 0), GET(C, LOAD, FAR, 1));
}
END_TEST

/* A dword across the end of a line, and of the L1's copy of half of it. */
START_TEST(across_lines) {
    memset(data, 0, 512);
    RUN(GET(C, LOAD, 126, 0), DO(A, STORE, 126, 0x44332211), GET(A, LOAD, 126, 0x44332211),
        GET(C, LOAD, 126, 0), DO(A, WB_SC1, 0, 0), GET(C, LOAD_SC1, 126, 0x44332211),
        DO(C, INV_SC1, 0, 0), GET(C, LOAD, 126, 0x44332211), GET(C, LOAD, 128, 0x4433));
}
END_TEST

/* ---- small caches ---- */

START_TEST(a_full_cache_forgets) {
    emu_test_stop();
    start(DEVICE "caches:l1=16:l2=64");
    RUN(GET(C, LOAD, X, 0), DO(A, STORE, X, 1), DO(A, WB_SC1, 0, 0), DO(C, TOUCH, 4096, 100),
        GET(C, LOAD, X, 0), DO(C, TOUCH, 4096, 1000), GET(C, LOAD, X, 1));
    RUN(DO(A, STORE, X, 2), GET(C, LOAD_SC1, X, 1), DO(A, TOUCH, 4096, 1000),
        GET(C, LOAD_SC1, X, 2));
}
END_TEST

START_TEST(one_die_has_one_l2) {
    emu_test_stop();
    start("gfx942:cus=4:xcds=1:coherence=caches");
    RUN(GET(C, LOAD, X, 0), DO(A, STORE, X, 1), GET(C, LOAD, X, 0), GET(C, LOAD_SC1, X, 1),
        DO(C, INV_SC1, 0, 0), GET(C, LOAD, X, 1));
}
END_TEST

START_TEST(off_is_coherent) {
    emu_test_stop();
    start("gfx942:cus=4:xcds=2:coherence=off");
    RUN(GET(C, LOAD, X, 0), DO(A, STORE, X, 1), GET(C, LOAD, X, 1), GET(C, LOAD_SCALAR, X, 1));
}
END_TEST

/* ---- what the model allows besides ---- */

START_TEST(anything_may_have_been_fetched) {
    RUN(DO(A, STORE, X, 1), GET(B, LOAD, X, 0), GET(B, LOAD_SCALAR, X, 0), DO(A, WB_SC1, 0, 0),
        GET(C, LOAD, X, 0), GET(C, LOAD_SC1, X, 1), GET(C, LOAD_SCALAR, X, 0), DO(C, INV_SC1, 0, 0),
        GET(C, LOAD, X, 1), DO(A, STORE, X, 2), DO(A, STORE_SC1, X, 3), GET(C, LOAD, X, 1),
        GET(B, LOAD, X, 0), DO(B, INV_SC0, 0, 0), GET(B, LOAD, X, 3), GET(A, LOAD, X, 3));
}
END_TEST

START_TEST(stores_of_device_scope_too) {
    RUN(DO(A, STORE_SC1, X, 1), GET(C, LOAD, X, 0), GET(B, LOAD, X, 0), GET(C, LOAD_SC1, X, 1),
        GET(B, LOAD_SC1, X, 1), GET(A2, LOAD, X, 1));
}
END_TEST

/* B's release is of what B wrote or has acquired, although hardware writes the whole L2 back. */
START_TEST(releases_are_ones_own) {
    RUN(DO(A, STORE, X, 1), DO(B, STORE, FAR, 1), DO(B, WB_SC1, 0, 0), GET(C, LOAD_SC1, X, 0),
        GET(C, LOAD_SC1, FAR, 1), DO(B, INV_SC0, 0, 0), DO(B, WB_SC1, 0, 0),
        GET(C, LOAD_SC1, X, 1));
    RUN(DO(A, STORE, X, 2), DO(A2, WB_SC1, 0, 0), GET(C, LOAD_SC1, X, 2));
    RUN(DO(A, STORE, X, 3), DO(B, STORE, NEIGHBOUR, 4), DO(B, WB_SC1, 0, 0),
        GET(C, LOAD_SC1, NEIGHBOUR, 4));
}
END_TEST

/* ---- other architectures ---- */

static const struct device {
    const char *spec, *image;
    uint32_t other; /* a workgroup that shares nothing but memory with workgroup 0 */
    bool dies;      /* so that its release must write an L2 back */
} devices[] = {
    {"gfx90a:cus=4:coherence=model", EMU_TEST_CODE "scopes_gfx90a.hsaco", 1, false},
    {"gfx942:cus=4:xcds=2:coherence=model", EMU_TEST_CODE "scopes_gfx942.hsaco", 1, true},
    {"gfx950:cus=4:xcds=2:coherence=model", EMU_TEST_CODE "scopes_gfx950.hsaco", 1, true},
    {"gfx1100:cus=16:coherence=model", EMU_TEST_CODE "scopes_gfx1100.hsaco", 3, false},
    {"gfx1201:cus=16:coherence=model", EMU_TEST_CODE "scopes_gfx1201.hsaco", 3, false},
};

START_TEST(every_architecture) {
    const struct device *d = &devices[_i];
    uint32_t F = d->other, unreleased = d->dies ? 0 : 1;
    start_with(d->spec, d->image);
    RUN(GET(F, LOAD, X, 0), DO(A, STORE, X, 1), GET(A, LOAD, X, 1), GET(F, LOAD, X, 0),
        GET(F, LOAD_DEVICE, X, unreleased), DO(A, RELEASE_GROUP, 0, 0),
        GET(F, LOAD_DEVICE, X, unreleased), DO(A, RELEASE_DEVICE, 0, 0), GET(F, LOAD, X, 0),
        GET(F, LOAD_DEVICE, X, 1), DO(F, ACQUIRE_GROUP, 0, 0), GET(F, LOAD, X, 0),
        DO(F, ACQUIRE_DEVICE, 0, 0), GET(F, LOAD, X, 1));
    RUN(GET(F, LOAD, X, 1), DO(A, STORE, X, 2), DO(F, ACQUIRE_DEVICE, 0, 0),
        GET(F, LOAD, X, 1 + unreleased), DO(A, RELEASE_DEVICE, 0, 0), DO(F, ACQUIRE_DEVICE, 0, 0),
        GET(F, LOAD, X, 2));
    RUN(GET(F, LOAD, X, 2), DO(A, STORE_DEVICE, X, 3), GET(F, LOAD, X, 2),
        GET(F, LOAD_DEVICE, X, 3), GET(A, LOAD, X, 3), GET(F, ADD, X, 3), GET(F, LOAD, X, 4),
        GET(A, LOAD, X, 3), DO(A, ACQUIRE_DEVICE, 0, 0), GET(A, LOAD, X, 4));
    ck_assert_uint_eq(*(uint32_t *)data, 4);
    emu_test_stop();
}
END_TEST

static void add_common(TCase *t) {
    tcase_set_timeout(t, 60);
    tcase_add_test(t, same_cu_needs_nothing);
    tcase_add_test(t, same_die_l1_is_stale);
    tcase_add_test(t, same_die_needs_no_release);
    tcase_add_test(t, across_dies);
    tcase_add_test(t, narrow_release);
    tcase_add_test(t, accesses_of_device_scope);
    tcase_add_test(t, a_store_of_device_scope_replaces);
    tcase_add_test(t, atomics_happen_in_memory);
    tcase_add_test(t, bytes_of_a_line_meet);
    tcase_add_test(t, own_stores_outlive_an_acquire);
    tcase_add_test(t, scalar_cache);
    tcase_add_test(t, host_memory);
    tcase_add_test(t, dispatches_begin_and_end_coherent);
    tcase_add_test(t, across_lines);
}

Suite *coherence_suite(void) {
    Suite *s = suite_create("coherence");
    TCase *caches = tcase_create("caches"), *model = tcase_create("model");
    tcase_add_checked_fixture(caches, start_caches, emu_test_stop);
    add_common(caches);
    tcase_add_test(caches, lines_come_whole);
    tcase_add_test(caches, a_full_cache_forgets);
    tcase_add_test(caches, one_die_has_one_l2);
    tcase_add_test(caches, off_is_coherent);
    suite_add_tcase(s, caches);
    tcase_add_checked_fixture(model, start_model, emu_test_stop);
    add_common(model);
    tcase_add_test(model, anything_may_have_been_fetched);
    tcase_add_test(model, stores_of_device_scope_too);
    tcase_add_test(model, releases_are_ones_own);
    suite_add_tcase(s, model);
    TCase *others = tcase_create("others");
    tcase_set_timeout(others, 60);
    tcase_add_loop_test(others, every_architecture, 0, sizeof devices / sizeof *devices);
    suite_add_tcase(s, others);
    return s;
}
