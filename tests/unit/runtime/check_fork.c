/* What a child of fork may do with the handles it inherits: ask, be told, and let go of them. */
#include "runtime/etrt.h"
#include "tests/unit/runtime/support.h"

#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const char *const devices[] = {"emu:gfx942:cus=4:xcds=2", "auto", "null", "cuda"};

static const char *probe; /* path of the code object */
static const char *spec;
static etrt_device *device;
static etrt_model *model;
static etrt_session *session;

#define ok(call)                                                                                   \
    do {                                                                                           \
        etrt_status status_ = (call);                                                              \
        ck_assert_msg(status_ == ETRT_OK, "%s: %s: %s", #call, etrt_status_name(status_),          \
                      etrt_last_error());                                                          \
    } while (0)

static void open_session(void) {
    const float w[6] = {1, 2, 3, 4, 5, 6}, x[100] = {1};
    write_safetensors(scratch("w.safetensors"),
                      "{\"model.5.w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},"
                      "\"model.6.w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[12,24]}}",
                      w, sizeof w);
    ok(etrt_device_open(spec, &device));
    ok(etrt_model_load(device, probe, &model));
    ok(etrt_model_weights_file(model, scratch("w.safetensors")));
    ok(etrt_session_create(model, &session));
    ok(etrt_set_dim(session, "B", 0));
    ok(etrt_set_dim(session, "F", 0));
    ok(etrt_set_dim(session, "N", 100));
    ok(etrt_bind(session, "x", x, sizeof x));
}

static void close_all(void) {
    etrt_session_destroy(session);
    etrt_model_unload(model);
    etrt_device_close(device);
}

/* In a child: every call answers, with the status that says why, or by doing nothing. */
static int use_as_child(void) {
    const float x[3] = {0};
    float y[3];
    double seconds;
    etrt_stats stats;
    etrt_trace_info info;
    etrt_device *own;
    etrt_device_info about;
    etrt_model *loaded;
    etrt_session *made;
    void *memory;
    int fd;
    const etrt_status got[] = {
        etrt_run(session),
        etrt_submit(session),
        etrt_wait(session),
        etrt_wait_for(session, 0),
        etrt_cancel(session),
        etrt_session_fd(session, &fd),
        etrt_session_notify(session, NULL, NULL),
        etrt_read_part(session, "s", 0, 0, 1, y, 4),
        etrt_write_part(session, "s", 0, 0, 1, y, 4),
        etrt_reset_part(session, "s", 0, 0, 1),
        etrt_copy_part(session, session, "s", 0, 0, 1, 1),
        etrt_bind_device(session, "s", NULL, 0),
        etrt_device_alloc(device, 4, &memory),
        etrt_device_write(device, y, y, 4),
        etrt_device_read(device, y, y, 4),
        etrt_model_load_memory(device, "", 0, &loaded),
        etrt_bind(session, "x", x, sizeof x),
        etrt_read(session, "y", y, sizeof y),
        etrt_write(session, "s", y, sizeof y),
        etrt_set_dim(session, "N", 3),
        etrt_session_reset(session),
        etrt_session_trace(session, 1),
        etrt_session_trace_read(session, NULL, 0, &info),
        etrt_set_wait_limit(session, 1),
        etrt_set_workgroups(session, 1),
        etrt_session_create(model, &made),
        etrt_model_load(device, probe, &loaded),
        etrt_model_weights_file(model, scratch("none")),
        etrt_model_weight(model, "w", x, sizeof x),
        etrt_device_timing(device, 1),
        etrt_device_open(spec, &own),
        etrt_device_at(0, &about),
    };
    for (size_t i = 0; i < sizeof got / sizeof *got; i++)
        if (got[i] != ETRT_FORKED) return 100 + (int)i;
    etrt_launch_seconds(session, &seconds);
    etrt_device_stats(device, &stats);
    etrt_session_destroy(session);
    etrt_model_unload(model);
    etrt_device_close(device);
    return *etrt_last_error() ? 0 : 1;
}

/* exit, not _exit: what libraries do at the end must not wait either. */
static void expect_child(void) {
    int status;
    pid_t child = fork();
    ck_assert(child >= 0);
    if (child == 0) exit(use_as_child());
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %x", status);
}

START_TEST(children_of_fork) {
    char dir[PATH_MAX];
    snprintf(dir, sizeof dir, "%s", scratch("captured"));
    int fd;
    open_session();
    expect_child();
    ok(etrt_session_fd(session, &fd)); /* from here on a thread of the session's is there too */
    expect_child();
    ok(etrt_capture(session, dir)); /* a child leaves what is being captured alone */
    ok(etrt_submit(session));
    expect_child();
    ok(etrt_wait(session)); /* which the child's did not disturb */
    ck_assert(access(dir, F_OK) == 0);
    ok(etrt_run(session));
    close_all();
    ok(etrt_device_open(spec, &device)); /* closed by the parent, opened by the child */
    etrt_device_close(device);
    pid_t child = fork();
    if (child == 0) exit(strcmp(spec, "cuda") != 0 && etrt_device_open(spec, &device) != ETRT_OK);
    int status;
    ck_assert_int_eq(waitpid(child, &status, 0), child);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "the child ended with %x", status);
}
END_TEST

static atomic_bool enough, failed_run;

static void *launch_again(void *arg) {
    (void)arg;
    while (!atomic_load(&enough)) /* without Check's marks, which take locks of their own */
        if (etrt_run(session) != ETRT_OK) atomic_store(&failed_run, true);
    return NULL;
}

/* Whatever locks the parent's threads hold at that moment. */
START_TEST(forks_while_running) {
    pthread_t thread;
    open_session();
    atomic_store(&enough, false);
    ck_assert_int_eq(pthread_create(&thread, NULL, launch_again, NULL), 0);
    for (int i = 0; i < 20; i++)
        expect_child();
    atomic_store(&enough, true);
    pthread_join(thread, NULL);
    ck_assert(!atomic_load(&failed_run));
    close_all();
}
END_TEST

static void add(TCase *tc) {
    tcase_add_test(tc, children_of_fork);
    tcase_add_test(tc, forks_while_running);
}

/* The probes for AMD's GPUs and NVIDIA's. */
int main(int argc, char **argv) {
    if (argc != 3) return 2;
    int failed = 0;
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        spec = devices[i];
        probe = argv[strcmp(spec, "cuda") == 0 ? 2 : 1];
        failed |= run_suite(spec, add, 120);
    }
    return failed;
}
