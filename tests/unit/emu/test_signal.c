/* test_signal.c - signal values, waits, time-outs, handlers. */
#include "tests/unit/emu/emu_test.h"

#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

static hsa_signal_t s;

static void setup(void) {
    emu_test_init("gfx942");
    OK(hsa_signal_create(5, 0, NULL, &s));
}

static void teardown(void) {
    OK(hsa_shut_down());
}

START_TEST(value_operations) {
    ck_assert_int_eq(hsa_signal_load_scacquire(s), 5);
    hsa_signal_add_relaxed(s, 3);
    hsa_signal_subtract_scacq_screl(s, 1);
    hsa_signal_or_screlease(s, 8);
    hsa_signal_and_scacquire(s, ~1LL);
    hsa_signal_xor_relaxed(s, 3);
    ck_assert_int_eq(hsa_signal_load_relaxed(s), ((((5 + 3 - 1) | 8) & ~1) ^ 3));
    ck_assert_int_eq(hsa_signal_exchange_scacq_screl(s, -4), 13);
    ck_assert_int_eq(hsa_signal_cas_relaxed(s, 1, 2), -4);
    ck_assert_int_eq(hsa_signal_cas_scacq_screl(s, -4, 2), -4);
    ck_assert_int_eq(hsa_signal_load_relaxed(s), 2);
}
END_TEST

START_TEST(wait_times_out) {
    uint64_t a, b;
    OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &a));
    ck_assert_int_eq(
        hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_LT, 5, 300000, HSA_WAIT_STATE_BLOCKED),
        5);
    OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &b));
    ck_assert_uint_ge(b - a, 300000);
    /* Conditions that hold return at once whatever the time allowed. */
    ck_assert_int_eq(
        hsa_signal_wait_relaxed(s, HSA_SIGNAL_CONDITION_EQ, 5, 0, HSA_WAIT_STATE_ACTIVE), 5);
    hsa_signal_wait_relaxed(s, HSA_SIGNAL_CONDITION_NE, 4, UINT64_MAX, HSA_WAIT_STATE_ACTIVE);
    hsa_signal_wait_relaxed(s, HSA_SIGNAL_CONDITION_GTE, 5, UINT64_MAX, HSA_WAIT_STATE_ACTIVE);
}
END_TEST

/* Is thread TID asleep, as the kernel sees it? */
static bool sleeps(int tid) {
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", tid);
    FILE *f = fopen(path, "r");
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%*d (%*[^)]) %c", &state), 1);
    fclose(f);
    return state == 'S';
}

static _Atomic int left_to_wait_for;

/* Each value only when the thread whose number is ARG waits for it, asleep. */
static void *count_down(void *arg) {
    for (int left = 4; left >= 0; left--) {
        while (left_to_wait_for != left || !sleeps(*(int *)arg))
            sched_yield();
        hsa_signal_subtract_screlease(s, 1);
    }
    return NULL;
}

START_TEST(waits_are_woken) {
    pthread_t t;
    int self = gettid();
    left_to_wait_for = -1;
    pthread_create(&t, NULL, count_down, &self);
    for (int left = 4; left >= 0; left--) {
        left_to_wait_for = left;
        ck_assert_int_eq(hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_LT, left + 1, UINT64_MAX,
                                                   HSA_WAIT_STATE_BLOCKED),
                         left);
    }
    pthread_join(t, NULL);
}
END_TEST

START_TEST(wait_for_any) {
    hsa_signal_t both[2] = {s, {0}};
    hsa_signal_condition_t conditions[2] = {HSA_SIGNAL_CONDITION_EQ, HSA_SIGNAL_CONDITION_EQ};
    hsa_signal_value_t values[2] = {0, 0}, seen = 1;
    OK(hsa_signal_create(1, 0, NULL, &both[1]));
    ck_assert_uint_eq(
        hsa_amd_signal_wait_any(2, both, conditions, values, 1000, HSA_WAIT_STATE_BLOCKED, &seen),
        UINT32_MAX);
    hsa_signal_store_relaxed(both[1], 0);
    ck_assert_uint_eq(hsa_amd_signal_wait_any(2, both, conditions, values, UINT64_MAX,
                                              HSA_WAIT_STATE_BLOCKED, &seen),
                      1);
    ck_assert_int_eq(seen, 0);
}
END_TEST

static _Atomic int calls;

static bool on_value(hsa_signal_value_t value, void *arg) {
    (void)arg;
    hsa_signal_store_relaxed(s, value + 1);
    return ++calls < 3;
}

static bool once(hsa_signal_value_t value, void *arg) {
    hsa_signal_store_relaxed(*(hsa_signal_t *)arg, value + 1);
    return false;
}

/* The one thread that calls handlers goes through them from the last made to the first: when this
 * returns, it has looked at all that were made after the one of FIRST. */
static void all_looked_at(hsa_signal_t first) {
    hsa_signal_store_relaxed(first, 1);
    ck_assert_int_eq(hsa_signal_wait_scacquire(first, HSA_SIGNAL_CONDITION_EQ, 2, UINT64_MAX,
                                               HSA_WAIT_STATE_BLOCKED),
                     2);
}

START_TEST(handlers) {
    hsa_signal_t first[2];
    for (int i = 0; i < 2; i++) {
        OK(hsa_signal_create(0, 0, NULL, &first[i]));
        OK(hsa_amd_signal_async_handler(first[i], HSA_SIGNAL_CONDITION_EQ, 1, once, &first[i]));
    }
    OK(hsa_amd_signal_async_handler(s, HSA_SIGNAL_CONDITION_GTE, 6, on_value, NULL));
    all_looked_at(first[0]);
    ck_assert_int_eq(calls, 0);
    hsa_signal_store_relaxed(s, 6);
    ck_assert_int_ge(hsa_signal_wait_scacquire(s, HSA_SIGNAL_CONDITION_GTE, 9, 500000000,
                                               HSA_WAIT_STATE_BLOCKED),
                     9);
    all_looked_at(first[1]); /* it has returned false: it would be called again, for 9 is due */
    ck_assert_int_eq(calls, 3);
    ck_assert_int_eq(hsa_signal_load_relaxed(s), 9);
    /* One that is never due goes with the runtime. */
    OK(hsa_amd_signal_async_handler(s, HSA_SIGNAL_CONDITION_EQ, -1, on_value, NULL));
}
END_TEST

START_TEST(handles) {
    FAILS(hsa_signal_destroy((hsa_signal_t){0}), HSA_STATUS_ERROR_INVALID_ARGUMENT);
    FAILS(hsa_signal_destroy((hsa_signal_t){(uint64_t)&s}), HSA_STATUS_ERROR_INVALID_SIGNAL);
    OK(hsa_signal_destroy(s));
    FAILS(hsa_signal_destroy(s), HSA_STATUS_ERROR_INVALID_SIGNAL);
    /* More than one slab of them. */
    for (int i = 0; i < 3000; i++) {
        hsa_signal_t one;
        OK(hsa_signal_create(i, 0, NULL, &one));
        ck_assert_int_eq(hsa_signal_load_relaxed(one), i);
    }
}
END_TEST

Suite *signal_suite(void) {
    Suite *suite = suite_create("signal");
    TCase *t = tcase_create("signal");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, value_operations);
    tcase_add_test(t, wait_times_out);
    tcase_add_test(t, waits_are_woken);
    tcase_add_test(t, wait_for_any);
    tcase_add_test(t, handlers);
    tcase_add_test(t, handles);
    suite_add_tcase(suite, t);
    return suite;
}
