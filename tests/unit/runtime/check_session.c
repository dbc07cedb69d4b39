/* Launches that are followed from afar, cancelled and shared, and parts of tensors: on every device
 * (conform.h). */
#include "tests/unit/runtime/conform.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

/* ---- being told ---- */

/* Is FD readable within SECONDS? */
static bool readable(int fd, double seconds) {
    struct pollfd p = {.fd = fd, .events = POLLIN};
    int n = poll(&p, 1, (int)(seconds * 1e3));
    ck_assert(n >= 0 && (n == 0 || p.revents == POLLIN));
    return n == 1;
}

START_TEST(tells_by_descriptor) {
    int fd, again;
    open_session();
    ok(etrt_session_fd(session, &fd));
    ok(etrt_session_fd(session, &again));
    ck_assert_int_eq(fd, again);
    ck_assert(!readable(fd, 0));
    for (int k = 1; k <= 5; k++) {
        bind_n(session, 100 + k);
        ok(etrt_submit(session));
        fails(ETRT_INVALID, "in flight already", etrt_session_fd(session, &again));
        ck_assert_int_eq(again, -1);
        ck_assert(readable(fd, 60));
        ck_assert(readable(fd, 0)); /* until somebody asks */
        ok(etrt_wait_for(session, 0));
        ck_assert(!readable(fd, 0));
        check_y(session, 100 + k);
        ok(etrt_submit(session)); /* nobody looks */
        ok(etrt_wait(session));
        ck_assert(!readable(fd, 0));
        ok(etrt_run(session)); /* tells nobody */
        ck_assert(!readable(fd, 0.01));
        check_s(session, 0, 3 * k);
    }
    ok(etrt_submit(session));
    close_all(); /* with a launch in flight */
    ck_assert(fcntl(fd, F_GETFD) < 0 && errno == EBADF);
}
END_TEST

struct told {
    pthread_t by;
    atomic_int times;
};

static void count(void *user) {
    struct told *t = user;
    t->by = pthread_self();
    atomic_fetch_add(&t->times, 1);
}

START_TEST(tells_by_call) {
    struct told t = {.times = 0};
    open_session();
    bind_n(session, 64);
    ok(etrt_session_notify(session, NULL, NULL));
    ok(etrt_session_notify(session, count, &t));
    for (int k = 1; k <= 3; k++) {
        ok(etrt_submit(session));
        fails(ETRT_INVALID, "in flight", etrt_session_notify(session, NULL, NULL));
        while (atomic_load(&t.times) < k)
            usleep(100);
        ck_assert(!pthread_equal(t.by, pthread_self()));
        ok(etrt_wait(session));
        check_y(session, 64);
    }
    ok(etrt_session_notify(session, NULL, NULL));
    ok(etrt_submit(session));
    ok(etrt_wait(session));
    ck_assert_int_eq(atomic_load(&t.times), 3);
    ok(etrt_session_notify(session, count, &t));
    ok(etrt_submit(session));
    close_all();
    ck_assert_int_eq(atomic_load(&t.times), 4);
}
END_TEST

/* ---- waiting for a while, and cancelling ---- */

/* A launch that waits in vain for as long as it may. */
static void submit_endless(etrt_session *s) {
    bind_n(s, 10);
    ok(etrt_set_wait_limit(s, 1000));
    ok(etrt_set_dim(s, "B", 1));
    ok(etrt_submit(s));
}

static void end_well(etrt_session *s) {
    ok(etrt_set_dim(s, "B", 0));
    bind_n(s, 77);
    ok(etrt_run(s));
    check_y(s, 77);
}

/* Where launches end at once, or as in the fake of CUDA when somebody looks, none can be waited for
 * in vain. */
static bool launches_last(void) {
    const char *fake = getenv("ETRT_CUDA_LIB");
    if (strcmp(spec, "cuda") == 0) return !fake || !*fake;
    return strcmp(spec, "null") != 0;
}

START_TEST(waits_for_a_while) {
    open_session();
    bind_n(session, 10);
    fails(ETRT_INVALID, "no launch is in flight", etrt_wait_for(session, 1));
    ok(etrt_submit(session));
    fails(ETRT_RANGE, "seconds", etrt_wait_for(session, -1));
    fails(ETRT_RANGE, "seconds", etrt_wait_for(session, NAN));
    ok(etrt_wait_for(session, INFINITY));
    check_y(session, 10);
    if (launches_last())
        for (int watched = 0, fd; watched < 2; watched++) {
            submit_endless(session);
            fails(ETRT_TIMEOUT, "not ended within 0 s", etrt_wait_for(session, 0));
            fails(ETRT_TIMEOUT, "not ended within 0.05 s", etrt_wait_for(session, 0.05));
            fails(ETRT_INVALID, "in flight", etrt_run(session));
            ok(etrt_cancel(session));
            fails(ETRT_CANCELLED, "was cancelled", etrt_wait_for(session, 60));
            end_well(session);
            ok(etrt_session_fd(session, &fd));
        }
    close_all();
}
END_TEST

/* Of a kernel of one model, which is done when the launch ends; tests/targets/mix has those of
 * several. */
START_TEST(waits_for_a_model) {
    float y[10];
    open_session();
    bind_n(session, 10);
    fails(ETRT_INVALID, "NULL", etrt_wait_model(NULL, "probe", 1));
    fails(ETRT_INVALID, "NULL", etrt_wait_model(session, NULL, 1));
    fails(ETRT_NOT_FOUND, "not of other", etrt_wait_model(session, "other", 1));
    fails(ETRT_RANGE, "seconds", etrt_wait_model(session, "probe", NAN));
    fails(ETRT_INVALID, "no launch is in flight", etrt_wait_model(session, "probe", 1));
    for (int watched = 0, fd; watched < 2; watched++) {
        bind_n(session, 10);
        ok(etrt_submit(session));
        fails(ETRT_INVALID, "in flight", etrt_read(session, "y", y, sizeof y));
        ok(etrt_wait_model(session, "probe", INFINITY));
        check_y(session, 10);
        ok(etrt_wait(session));
        check_y(session, 10);
        submit_endless(session);
        if (launches_last())
            fails(ETRT_TIMEOUT, "not done within", etrt_wait_model(session, "probe", 0.01));
        ok(etrt_cancel(session));
        fails(ETRT_CANCELLED, "before model probe", etrt_wait_model(session, "probe", 60));
        fails(ETRT_INVALID, "in flight", etrt_read(session, "y", y, sizeof y));
        fails(ETRT_CANCELLED, "was cancelled", etrt_wait(session));
        end_well(session);
        if (!launches_last()) break; /* who watches may look before it is cancelled */
        ok(etrt_session_fd(session, &fd));
    }
    close_all();
}
END_TEST

START_TEST(cancels) {
    float y[10];
    int fd = -1;
    open_session();
    fails(ETRT_INVALID, "no launch is in flight", etrt_cancel(session));
    if (launches_last()) ok(etrt_session_fd(session, &fd));
    for (int k = 0; k < 3; k++) {
        submit_endless(session);
        if (k == 1 && launches_last()) ck_assert(!readable(fd, 0.05));
        ok(etrt_cancel(session));
        if (k == 2) ok(etrt_cancel(session)); /* as good as once */
        ck_assert(!launches_last() || readable(fd, 60));
        fails(ETRT_CANCELLED, "was cancelled", etrt_wait(session));
        fails(ETRT_INVALID, "no launch has completed", etrt_read(session, "y", y, sizeof y));
        fails(ETRT_INVALID, "no launch is in flight", etrt_cancel(session));
        end_well(session);
    }
    fails(ETRT_INVALID, "no session", etrt_cancel(NULL));
    close_all();
}
END_TEST

/* One that runs, and one behind it that has not begun: neither says anything of the other. */
START_TEST(cancels_one_of_two) {
    etrt_session *other;
    open_session();
    ok(etrt_session_create(model, &other));
    ok(etrt_set_dim(other, "F", 0));
    ok(etrt_set_dim(other, "B", 0));
    for (int k = 0; k < 2; k++) {
        submit_endless(k ? other : session);
        bind_n(k ? session : other, 500);
        ok(etrt_submit(k ? session : other));
        ok(etrt_cancel(k ? other : session));
        fails(ETRT_CANCELLED, "was cancelled", etrt_wait(k ? other : session));
        ok(etrt_wait(k ? session : other));
        check_y(k ? session : other, 500);
        end_well(session);
        end_well(other);
    }
    etrt_session_destroy(other);
    close_all();
}
END_TEST

static void *cancel_later(void *of) {
    usleep(20000);
    return etrt_cancel(of) == ETRT_OK ? NULL : of;
}

/* By another thread, while this one waits. */
START_TEST(cancels_what_is_waited_for) {
    pthread_t thread;
    void *failed;
    open_session();
    for (int k = 0; k < 3 && launches_last(); k++) {
        submit_endless(session);
        ck_assert_int_eq(pthread_create(&thread, NULL, cancel_later, session), 0);
        fails(ETRT_CANCELLED, "was cancelled", etrt_wait(session));
        pthread_join(thread, &failed);
        ck_assert_ptr_null(failed);
        end_well(session);
    }
    close_all();
}
END_TEST

/* ---- several sessions of one model ---- */

static void *session_body(void *argument) {
    etrt_session *s;
    int n = *(int *)argument, fd;
    ok(etrt_session_create(model, &s));
    ok(etrt_session_fd(s, &fd));
    ok(etrt_set_dim(s, "B", 0));
    ok(etrt_set_dim(s, "F", 0));
    for (int k = 0; k < 20; k++) {
        bind_n(s, n + k);
        ok(etrt_submit(s));
        ck_assert(readable(fd, 60));
        ok(etrt_wait(s));
        check_y(s, n + k);
        check_s(s, 0, k + 1);
    }
    etrt_session_destroy(s);
    return NULL;
}

START_TEST(threads_share_a_model) {
    pthread_t threads[4];
    int sizes[4] = {1, 64, 300, 900};
    open_session();
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, session_body, &sizes[i]), 0);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    close_all();
}
END_TEST

/* ---- parts ---- */

START_TEST(reads_parts) {
    float y[MAX_N], part[MAX_N];
    open_session();
    bind_n(session, 500);
    fails(ETRT_INVALID, "no launch has completed", etrt_read_part(session, "y", 0, 0, 1, part, 4));
    ok(etrt_run(session));
    ok(etrt_read(session, "y", y, 2000));
    for (int first = 0; first <= 500; first += 50) {
        int count = first < 500 ? 50 - first / 20 : 0;
        ok(etrt_read_part(session, "y", 0, first, count, part, (size_t)count * 4));
        ck_assert_mem_eq(part, y + first, (size_t)count * 4);
    }
    ok(etrt_read_part(session, "x", 0, 3, 2, part, 8));
    ck_assert(part[0] == 9 - 50 && part[1] == 12 - 50);
    fails(ETRT_RANGE, "2 from 499 on is outside axis 0 of y, which has 500",
          etrt_read_part(session, "y", 0, 499, 2, part, 8));
    fails(ETRT_RANGE, "outside axis 0", etrt_read_part(session, "y", 0, -1, 2, part, 8));
    fails(ETRT_RANGE, "outside axis 0", etrt_read_part(session, "y", 0, 1, -1, part, 0));
    fails(ETRT_RANGE, "outside axis 0", etrt_read_part(session, "y", 0, INT64_MAX, 1, part, 4));
    fails(ETRT_RANGE, "outside axis 0", etrt_read_part(session, "y", 0, 1, INT64_MAX, part, 4));
    fails(ETRT_RANGE, "no axis 1", etrt_read_part(session, "y", 1, 0, 1, part, 4));
    fails(ETRT_RANGE, "no axis -1", etrt_read_part(session, "y", -1, 0, 1, part, 4));
    fails(ETRT_MISMATCH, "has 8 bytes, not 4", etrt_read_part(session, "y", 0, 0, 2, part, 4));
    fails(ETRT_INVALID, "no place", etrt_read_part(session, "y", 0, 0, 2, NULL, 8));
    fails(ETRT_INVALID, "w is a weight", etrt_read_part(session, "w", 0, 0, 1, part, 12));
    fails(ETRT_NOT_FOUND, "no tensor z", etrt_read_part(session, "z", 0, 0, 1, part, 12));
    fails(ETRT_INVALID, "no session", etrt_read_part(NULL, "y", 0, 0, 1, part, 4));
    close_all();
}
END_TEST

static void expect_s(etrt_session *s, float a, float b, float c, float d) {
    float got[4], want[4] = {a, b, c, d};
    ok(etrt_read(s, "s", got, sizeof got));
    ck_assert_mem_eq(got, want, sizeof want);
}

START_TEST(writes_parts) {
    const float v[4] = {1, 2, 3, 4};
    open_session();
    ok(etrt_write(session, "s", v, sizeof v));
    ok(etrt_write_part(session, "s", 0, 1, 2, v, 8));
    expect_s(session, 1, 1, 2, 4);
    ok(etrt_reset_part(session, "s", 0, 2, 1));
    expect_s(session, 1, 1, 0, 4);
    ok(etrt_reset_part(session, "s", 0, 0, 0));
    expect_s(session, 1, 1, 0, 4);
    fails(ETRT_INVALID, "no state tensor", etrt_write_part(session, "y", 0, 0, 1, v, 4));
    fails(ETRT_INVALID, "no state tensor", etrt_reset_part(session, "x", 0, 0, 1));
    fails(ETRT_INVALID, "no state tensor", etrt_reset_part(session, "w", 0, 0, 1));
    fails(ETRT_RANGE, "outside axis 0 of s, which has 4", etrt_reset_part(session, "s", 0, 4, 1));
    fails(ETRT_RANGE, "outside axis 0", etrt_write_part(session, "s", 0, 3, 2, v, 8));
    ok(etrt_set_dim(session, "N", 20));
    fails(ETRT_UNBOUND, "x is not bound", etrt_write_part(session, "x", 0, 0, 1, v, 4));
    bind_n(session, 20);
    ok(etrt_write_part(session, "x", 0, 7, 1, v + 2, 4));
    ok(etrt_run(session));
    float y;
    ok(etrt_read_part(session, "y", 0, 7, 1, &y, 4));
    ck_assert(can(ETRT_CAN_COMPUTE) ? y == 3 + 1 + w0 : isnan(y));
    ok(etrt_set_dim(session, "N", 30));
    fails(ETRT_MISMATCH, "bound with 80 bytes and has 120",
          etrt_write_part(session, "x", 0, 7, 1, v, 4));
    close_all();
}
END_TEST

START_TEST(copies_parts) {
    const float v[4] = {1, 2, 3, 4};
    etrt_session *other;
    open_session();
    ok(etrt_session_create(model, &other));
    ok(etrt_write(session, "s", v, sizeof v));
    ok(etrt_copy_part(session, session, "s", 0, 2, 0, 2));
    expect_s(session, 1, 2, 1, 2);
    ok(etrt_copy_part(session, session, "s", 0, 1, 1, 3)); /* nothing to do */
    expect_s(session, 1, 2, 1, 2);
    fails(ETRT_RANGE, "overlap", etrt_copy_part(session, session, "s", 0, 1, 0, 2));
    ok(etrt_copy_part(other, session, "s", 0, 3, 1, 1));
    expect_s(other, 0, 0, 0, 2);
    ok(etrt_copy_part(other, session, "s", 0, 0, 0, 4));
    expect_s(other, 1, 2, 1, 2);
    ok(etrt_copy_part(other, session, "s", 0, 4, 0, 0));
    fails(ETRT_RANGE, "outside axis 0", etrt_copy_part(other, session, "s", 0, 3, 0, 2));
    fails(ETRT_RANGE, "outside axis 0", etrt_copy_part(other, session, "s", 0, 0, 3, 2));
    fails(ETRT_INVALID, "no state tensor", etrt_copy_part(other, session, "w", 0, 0, 0, 1));
    fails(ETRT_INVALID, "no session", etrt_copy_part(NULL, session, "s", 0, 0, 0, 1));
    fails(ETRT_INVALID, "no session", etrt_copy_part(session, NULL, "s", 0, 0, 0, 1));
    etrt_session_destroy(other);
    etrt_model *second;
    ok(etrt_model_load(device, probe, &second));
    ok(etrt_session_create(second, &other));
    fails(ETRT_INVALID, "of two models", etrt_copy_part(other, session, "s", 0, 0, 0, 1));
    etrt_session_destroy(other);
    etrt_model_unload(second);
    close_all();
}
END_TEST

/* ---- memory of the caller's ---- */

START_TEST(binds_device_memory) {
    enum { BYTES = MAX_N * 4 };
    void *x, *y, *s;
    float in[MAX_N], out[MAX_N], state[4] = {5, 6, 7, 0};
    open_session();
    ok(etrt_device_alloc(device, BYTES, &x));
    ok(etrt_device_alloc(device, BYTES, &y));
    ok(etrt_device_alloc(device, sizeof state, &s));
    for (int i = 0; i < MAX_N; i++)
        in[i] = (float)(i * 3 % 101) - 50;
    ok(etrt_device_write(device, x, in, BYTES));
    memset(out, 0xFF, sizeof out); /* what nothing is written to is NaNs */
    ok(etrt_device_write(device, y, out, BYTES));
    ok(etrt_device_write(device, s, state, sizeof state));
    ok(etrt_bind_device(session, "x", x, BYTES));
    ok(etrt_bind_device(session, "y", y, BYTES));
    ok(etrt_bind_device(session, "s", s, sizeof state));
    for (int n = 10; n <= MAX_N; n *= 10) { /* bound, whatever the dims */
        ok(etrt_set_dim(session, "N", n));
        fails(ETRT_INVALID, "no launch has completed", etrt_read(session, "y", out, (size_t)n * 4));
        ok(etrt_run(session));
        check_y(session, n);
        ok(etrt_device_read(device, out, y, (size_t)n * 4));
        if (can(ETRT_CAN_COMPUTE)) ck_assert(out[n - 1] == in[n - 1] + 1 + w0);
        ok(etrt_bind_device(session, "y", y, BYTES));
    }
    ok(etrt_write_part(session, "x", 0, 0, 1, state, 4));
    ok(etrt_device_read(device, out, x, 4));
    ck_assert(out[0] == 5);
    check_s(session, 5, 3);
    ok(etrt_bind_device(session, "s", NULL, 0)); /* as it was before */
    check_s(session, 0, 0);
    bind_n(session, 20); /* into the memory that is bound */
    ok(etrt_device_read(device, out, x, 80));
    ck_assert_mem_eq(out, in, 80);
    ok(etrt_set_dim(session, "N", 30));
    fails(ETRT_MISMATCH, "bound with 80 bytes", etrt_run(session));
    ok(etrt_bind_device(session, "x", NULL, 0));
    fails(ETRT_UNBOUND, "x is not bound", etrt_run(session));
    bind_n(session, 30);
    ok(etrt_run(session));
    check_y(session, 30);
    ok(etrt_bind_device(session, "x", y, BYTES)); /* in place */
    ok(etrt_run(session));
    ok(etrt_capture(session, scratch("shared")));
    fails(ETRT_UNSUPPORTED, "tensor.x and tensor.y share memory", etrt_run(session));
    etrt_session_destroy(session);
    session = NULL;
    etrt_device_free(device, x);
    etrt_device_free(device, y);
    etrt_device_free(device, s);
    etrt_device_free(device, NULL);
    close_all();
}
END_TEST

START_TEST(refuses_memory) {
    void *p, *none = &p;
    char byte;
    open_session();
    ok(etrt_device_alloc(device, 4096, &p));
    fails(ETRT_MISMATCH, "x may have 4000 bytes, not 3999",
          etrt_bind_device(session, "x", p, 3999));
    fails(ETRT_INVALID, "no multiple of 256", etrt_bind_device(session, "s", (char *)p + 16, 4000));
    fails(ETRT_INVALID, "w is a weight", etrt_bind_device(session, "w", p, 4096));
    fails(ETRT_NOT_FOUND, "no tensor z", etrt_bind_device(session, "z", p, 4096));
    fails(ETRT_INVALID, "no session", etrt_bind_device(NULL, "x", p, 4096));
    fails(ETRT_INVALID, "no place", etrt_device_alloc(device, 4, NULL));
    fails(ETRT_INVALID, "no device", etrt_device_alloc(NULL, 4, &none));
    fails(ETRT_NO_MEMORY, "cannot allocate", etrt_device_alloc(device, (uint64_t)1 << 60, &none));
    ck_assert_ptr_null(none);
    fails(ETRT_INVALID, "NULL", etrt_device_write(device, NULL, &byte, 1));
    fails(ETRT_INVALID, "NULL", etrt_device_read(device, NULL, &byte, 1));
    fails(ETRT_INVALID, "no device", etrt_device_read(NULL, &byte, &byte, 1));
    etrt_device_free(device, p);
    close_all();
}
END_TEST

/* Before a model has chosen the device there is none to allocate on. */
START_TEST(undecided_devices) {
    static const char *const undecided[] = {"emu", "auto"};
    void *p;
    unsetenv("ETEMU_DEVICE");
    for (int i = 0; i < 2 && strncmp(spec, "emu", 3) == 0; i++) {
        ok(etrt_device_open(undecided[i], &device));
        fails(ETRT_INVALID, "chosen when a model is loaded", etrt_device_alloc(device, 4, &p));
        fails(ETRT_INVALID, "chosen when a model is loaded", etrt_device_read(device, &p, &p, 4));
        ok(etrt_model_load(device, probe, &model));
        ok(etrt_device_alloc(device, 4, &p));
        etrt_device_free(device, p);
        close_all();
    }
}
END_TEST

static void add(TCase *tc) {
    tcase_add_test(tc, tells_by_descriptor);
    tcase_add_test(tc, tells_by_call);
    tcase_add_test(tc, waits_for_a_while);
    tcase_add_test(tc, waits_for_a_model);
    tcase_add_test(tc, cancels);
    tcase_add_test(tc, cancels_one_of_two);
    tcase_add_test(tc, cancels_what_is_waited_for);
    tcase_add_test(tc, threads_share_a_model);
    tcase_add_test(tc, reads_parts);
    tcase_add_test(tc, writes_parts);
    tcase_add_test(tc, copies_parts);
    tcase_add_test(tc, binds_device_memory);
    tcase_add_test(tc, refuses_memory);
    tcase_add_test(tc, undecided_devices);
}

int main(int argc, char **argv) {
    return conform(argc, argv, NULL, add);
}
