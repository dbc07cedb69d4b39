/* test_queue.c - packets: order, barriers, wrap-around, errors, queues that are destroyed. */
#include "tests/unit/emu/emu_test.h"

#include <sched.h>

static void setup(void) {
    emu_test_start("gfx942:cus=4");
}
static void teardown(void) {
    emu_test_stop();
}

static hsa_signal_t new_signal(hsa_signal_value_t v) {
    hsa_signal_t s;
    OK(hsa_signal_create(v, 0, NULL, &s));
    return s;
}

/* A barrier packet over up to two signals; its completion signal. */
static hsa_signal_t barrier(hsa_queue_t *q, hsa_packet_type_t type, hsa_signal_t a,
                            hsa_signal_t b) {
    hsa_signal_t done = new_signal(1);
    uint64_t i = hsa_queue_add_write_index_scacq_screl(q, 1);
    hsa_barrier_and_packet_t *p = q->base_address;
    p += i & (q->size - 1);
    hsa_barrier_and_packet_t body = {.dep_signal = {a, {0}, b}, .completion_signal = done};
    memcpy((char *)p + 4, (char *)&body + 4, sizeof body - 4);
    __atomic_store_n((uint32_t *)p, type | 1 << HSA_PACKET_HEADER_BARRIER, __ATOMIC_RELEASE);
    hsa_signal_store_relaxed(q->doorbell_signal, (int64_t)i);
    return done;
}

/* Until another queue has put a hundred barriers through whose signals are down: time enough for
 * one that should wait and does not, on a slow machine too. */
static void others_pass(void) {
    hsa_queue_t *q = emu_test_queue(64);
    hsa_signal_t down = new_signal(0);
    for (int i = 0; i < 50; i++) {
        ck_assert_int_eq(emu_test_wait(barrier(q, HSA_PACKET_TYPE_BARRIER_AND, down, down)), 0);
        ck_assert_int_eq(emu_test_wait(barrier(q, HSA_PACKET_TYPE_BARRIER_OR, down, down)), 0);
    }
    OK(hsa_queue_destroy(q));
    OK(hsa_signal_destroy(down));
}

START_TEST(barrier_and) {
    hsa_signal_t a = new_signal(1), b = new_signal(2);
    hsa_signal_t done = barrier(T.queue, HSA_PACKET_TYPE_BARRIER_AND, a, b);
    hsa_signal_t after = emu_test_submit(
        T.queue, &(struct emu_launch){.kernel = "no_arguments", .grid = {64}, .group = {64}});
    hsa_signal_store_relaxed(a, 0);
    others_pass();
    ck_assert_int_eq(hsa_signal_load_relaxed(done), 1);
    ck_assert_int_eq(hsa_signal_load_relaxed(after), 1);
    hsa_signal_subtract_relaxed(b, 2);
    ck_assert_int_eq(emu_test_wait(after), 0);
    ck_assert_int_eq(hsa_signal_load_relaxed(done), 0);
}
END_TEST

START_TEST(barrier_or) {
    hsa_signal_t a = new_signal(1), b = new_signal(2);
    hsa_signal_t done = barrier(T.queue, HSA_PACKET_TYPE_BARRIER_OR, a, b);
    others_pass();
    ck_assert_int_eq(hsa_signal_load_relaxed(done), 1);
    hsa_signal_store_relaxed(b, 0);
    ck_assert_int_eq(emu_test_wait(done), 0);
    hsa_signal_t none = {0};
    ck_assert_int_eq(emu_test_wait(barrier(T.queue, HSA_PACKET_TYPE_BARRIER_OR, none, none)), 0);
}
END_TEST

START_TEST(one_queue_waits_for_another) {
    hsa_queue_t *other = emu_test_queue(64);
    uint32_t *flag = emu_test_alloc(4);
    *flag = 0;
    uint64_t args = (uint64_t)flag;
    hsa_signal_t first = emu_test_submit(
        T.queue,
        &(struct emu_launch){
            .kernel = "doze", .grid = {64}, .group = {64}, .args = &args, .args_bytes = 8});
    hsa_signal_t then = barrier(other, HSA_PACKET_TYPE_BARRIER_AND, first, (hsa_signal_t){0});
    others_pass();
    ck_assert_int_eq(hsa_signal_load_relaxed(then), 1);
    __atomic_store_n(flag, 1, __ATOMIC_RELEASE);
    ck_assert_int_eq(emu_test_wait(then), 0);
    ck_assert_int_eq(hsa_signal_load_relaxed(first), 0);
}
END_TEST

START_TEST(ring_wraps_around) {
    hsa_queue_t *q = emu_test_queue(4);
    uint32_t *counter = emu_test_alloc(4), *order = emu_test_alloc(4);
    struct emu_launch l = {
        .kernel = "chain",
        .grid = {64},
        .group = {64},
        .args = (uint64_t[]){(uint64_t)counter, (uint64_t)order, 1},
        .args_bytes = 20,
    };
    *counter = 0;
    hsa_signal_t done[100];
    for (int i = 0; i < 100; i++)
        done[i] = emu_test_submit(q, &l);
    for (int i = 0; i < 100; i++)
        ck_assert_int_eq(emu_test_wait(done[i]), 0);
    ck_assert_uint_eq(*counter, 100);
    ck_assert_uint_eq(hsa_queue_load_read_index_relaxed(q), 100);
    OK(hsa_queue_destroy(q));
}
END_TEST

START_TEST(vendor_barrier_value) {
    hsa_signal_t watched = new_signal(0x10);
    hsa_amd_barrier_value_packet_t body = {.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE,
                                           .signal = watched,
                                           .value = 4,
                                           .mask = 0xf,
                                           .cond = HSA_SIGNAL_CONDITION_EQ,
                                           .completion_signal = new_signal(1)};
    uint64_t i = hsa_queue_add_write_index_relaxed(T.queue, 1);
    hsa_amd_barrier_value_packet_t *p = T.queue->base_address;
    p += i & (T.queue->size - 1);
    body.header.header = HSA_PACKET_TYPE_INVALID;
    memcpy(p, &body, sizeof body);
    __atomic_store_n((uint16_t *)p, HSA_PACKET_TYPE_VENDOR_SPECIFIC, __ATOMIC_RELEASE);
    hsa_signal_store_relaxed(T.queue->doorbell_signal, (int64_t)i);
    others_pass();
    ck_assert_int_eq(hsa_signal_load_relaxed(body.completion_signal), 1);
    hsa_signal_store_relaxed(watched, 0x34);
    ck_assert_int_eq(emu_test_wait(body.completion_signal), 0);
}
END_TEST

/* Run a good launch with one thing changed and expect STATUS and words in the text. */
static void expect_failure(struct emu_launch l, hsa_status_t status, const char *says) {
    int before = T.errors;
    T.queue = emu_test_queue(64);
    ck_assert_int_lt(emu_test_run(&l), 0);
    ck_assert_int_eq(T.errors, before + 1);
    ck_assert_int_eq(T.error, (int)status);
    ck_assert_msg(strstr(etemu_last_fault(), says) != NULL, "%s", etemu_last_fault());
    /* The queue takes no more, but nobody hangs. */
    ck_assert_int_lt(emu_test_run(&l), 0);
    ck_assert_int_eq(T.errors, before + 1);
    OK(hsa_queue_destroy(T.queue));
}

START_TEST(bad_packets) {
    struct emu_launch good = {.kernel = "no_arguments", .grid = {64}, .group = {64}}, l;
    l = good, l.group[0] = 1025;
    expect_failure(l, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, "1024");
    l = good, l.group[0] = 64, l.group[1] = 64;
    expect_failure(l, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, "1024");
    l = good, l.grid[0] = l.grid[1] = l.grid[2] = 1 << 22;
    expect_failure(l, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, "4294967295");
    l = good, l.lds = 65537;
    expect_failure(l, HSA_STATUS_ERROR_OUT_OF_RESOURCES, "65537 bytes of LDS");
    l = good, l.scratch = 1 << 24;
    expect_failure(l, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, "private memory");
    l = good, l.kernel = "store_at";
    expect_failure(l, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT, "kernel arguments");
    T.queue = emu_test_queue(64);
    ck_assert_int_eq(emu_test_run(&good), 0);
}
END_TEST

START_TEST(bad_kernel_object_and_type) {
    hsa_signal_t done = new_signal(1);
    hsa_kernel_dispatch_packet_t *p = T.queue->base_address;
    hsa_kernel_dispatch_packet_t body = {.workgroup_size_x = 1,
                                         .workgroup_size_y = 1,
                                         .workgroup_size_z = 1,
                                         .grid_size_x = 1,
                                         .kernel_object = (uint64_t)&body,
                                         .completion_signal = done};
    memcpy((char *)p + 4, (char *)&body + 4, sizeof body - 4);
    hsa_queue_add_write_index_relaxed(T.queue, 1);
    __atomic_store_n((uint32_t *)p, HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << 16, __ATOMIC_RELEASE);
    hsa_signal_store_relaxed(T.queue->doorbell_signal, 0);
    ck_assert_int_lt(emu_test_wait(done), 0);
    ck_assert_int_eq(T.error, HSA_STATUS_ERROR_INVALID_CODE_OBJECT);
    T.queue = emu_test_queue(64);
    ck_assert_int_lt(emu_test_wait(barrier(T.queue, HSA_PACKET_TYPE_AGENT_DISPATCH,
                                           (hsa_signal_t){0}, (hsa_signal_t){0})),
                     0);
    ck_assert_int_eq(T.error, HSA_STATUS_ERROR_INVALID_PACKET_FORMAT);
    T.queue = emu_test_queue(64);
    ck_assert_int_lt(emu_test_wait(barrier(T.queue, HSA_PACKET_TYPE_BARRIER_AND,
                                           (hsa_signal_t){(uint64_t)&done}, (hsa_signal_t){0})),
                     0);
}
END_TEST

START_TEST(bad_queues) {
    hsa_queue_t *q;
    FAILS(hsa_queue_create(T.gpu, 3, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &q),
          HSA_STATUS_ERROR_INVALID_ARGUMENT);
    FAILS(hsa_queue_create(T.gpu, 1u << 30, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &q),
          HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
    FAILS(hsa_queue_create(T.cpu, 64, HSA_QUEUE_TYPE_MULTI, NULL, NULL, 0, 0, &q),
          HSA_STATUS_ERROR_INVALID_QUEUE_CREATION);
    hsa_queue_t fake = {0};
    FAILS(hsa_queue_destroy(&fake), HSA_STATUS_ERROR_INVALID_QUEUE);
}
END_TEST

START_TEST(destroyed_while_running) {
    uint32_t *flag = emu_test_alloc(4), *running = emu_test_alloc(4);
    uint64_t args[2] = {(uint64_t)flag, (uint64_t)running};
    *flag = *running = 0;
    struct emu_launch l = {.grid = {640}, .group = {64}, .args = args, .args_bytes = 16};
    l.kernel = "spin_counted";
    hsa_signal_t first = emu_test_submit(T.queue, &l);
    hsa_queue_t *other = emu_test_queue(64);
    l.kernel = "doze", l.args_bytes = 8;
    hsa_signal_t second = emu_test_submit(other, &l);
    while (!__atomic_load_n(running, __ATOMIC_ACQUIRE)) /* the test's timeout is its bound */
        sched_yield();
    OK(hsa_queue_destroy(T.queue));
    ck_assert_int_lt(emu_test_wait(first), 0);
    ck_assert_int_eq(hsa_signal_load_relaxed(second), 1);
    /* The other one is left for hsa_shut_down. */
}
END_TEST

/* Whether the queue has come to it or not, whoever waits for a packet hears of it. */
START_TEST(destroyed_at_once) {
    for (int i = 0; i < 200; i++) {
        struct emu_launch l = {.kernel = "no_arguments", .grid = {64}, .group = {64}};
        hsa_queue_t *q = emu_test_queue(64);
        hsa_signal_t done[4];
        for (int k = 0; k < 4; k++)
            done[k] = emu_test_submit(q, &l);
        OK(hsa_queue_destroy(q));
        for (int k = 0; k < 4; k++)
            ck_assert_int_lt(emu_test_wait(done[k]), 1);
    }
}
END_TEST

static void destroy_in_callback(hsa_status_t status, hsa_queue_t *q, void *data) {
    *(_Atomic hsa_status_t *)data = status;
    OK(hsa_queue_destroy(q));
}

START_TEST(destroyed_from_its_callback) {
    _Atomic hsa_status_t status = 0;
    hsa_queue_t *q;
    OK(hsa_queue_create(T.gpu, 64, HSA_QUEUE_TYPE_MULTI, destroy_in_callback, &status, 0, 0, &q));
    struct emu_launch l = {.kernel = "no_arguments", .grid = {64}, .group = {64}, .lds = 70000};
    ck_assert_int_lt(emu_test_wait(emu_test_submit(q, &l)), 0);
    ck_assert_int_eq(status, HSA_STATUS_ERROR_OUT_OF_RESOURCES);
}
END_TEST

START_TEST(dispatch_times) {
    hsa_amd_profiling_dispatch_time_t time;
    struct emu_launch l = {.kernel = "no_arguments", .grid = {64}, .group = {64}};
    hsa_signal_t done = emu_test_submit(T.queue, &l);
    hsa_signal_wait_scacquire(done, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED);
    OK(hsa_amd_profiling_get_dispatch_time(T.gpu, done, &time));
    ck_assert_uint_gt(time.start, 0);
    ck_assert_uint_le(time.start, time.end);
}
END_TEST

Suite *queue_suite(void) {
    Suite *s = suite_create("queue");
    TCase *t = tcase_create("queue");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 120);
    tcase_add_test(t, barrier_and);
    tcase_add_test(t, barrier_or);
    tcase_add_test(t, one_queue_waits_for_another);
    tcase_add_test(t, ring_wraps_around);
    tcase_add_test(t, vendor_barrier_value);
    tcase_add_test(t, bad_packets);
    tcase_add_test(t, bad_kernel_object_and_type);
    tcase_add_test(t, bad_queues);
    tcase_add_test(t, destroyed_while_running);
    tcase_add_test(t, destroyed_at_once);
    tcase_add_test(t, destroyed_from_its_callback);
    tcase_add_test(t, dispatch_times);
    suite_add_tcase(s, t);
    return s;
}
