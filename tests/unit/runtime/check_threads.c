/* Sessions of one model in several threads, for ThreadSanitizer: libetrt is compiled with it here.
 * Devices are those whose own code it sees too: the null device and, of CUDA, the fake. */
#include "runtime/etrt.h"

#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { THREADS = 4, LAUNCHES = 40 };

static void must(etrt_status st, const char *what) {
    if (st == ETRT_OK) return;
    fprintf(stderr, "%s: %s: %s\n", what, etrt_status_name(st), etrt_last_error());
    exit(1);
}
#define ok(call) must(call, #call)

static etrt_device *device;
static etrt_model *model;
static int computes; /* outputs are a kernel's */
static pthread_barrier_t together;

static void set_up(etrt_session *s, int n) {
    float x[1000];
    for (int i = 0; i < n; i++)
        x[i] = (float)(i % 17);
    ok(etrt_set_dim(s, "B", 0));
    ok(etrt_set_dim(s, "F", 0));
    ok(etrt_set_dim(s, "N", n));
    ok(etrt_bind(s, "x", x, (size_t)n * 4));
}

static void check(etrt_session *s, int n) {
    float y;
    ok(etrt_read_part(s, "y", 0, n - 1, 1, &y, sizeof y));
    if (!computes || y == (float)((n - 1) % 17) + 1 + 10) return;
    fprintf(stderr, "y[%d] = %g\n", n - 1, (double)y);
    exit(1);
}

/* Each in its own way: waiting, told by descriptor, or cancelled by the thread below. */
static void *use_session(void *of) {
    int number = (int)(intptr_t)of, fd;
    etrt_session *s;
    ok(etrt_session_create(model, &s));
    if (number % 2) ok(etrt_session_fd(s, &fd));
    pthread_barrier_wait(&together);
    for (int k = 0; k < LAUNCHES; k++) {
        int n = 1 + number * 200 + k;
        set_up(s, n);
        ok(etrt_submit(s));
        if (number % 2) {
            struct pollfd p = {.fd = fd, .events = POLLIN};
            if (poll(&p, 1, 60000) != 1) exit(1);
        }
        ok(etrt_wait_for(s, 60));
        check(s, n);
        ok(etrt_reset_part(s, "s", 0, 0, 1));
    }
    etrt_session_destroy(s);
    return NULL;
}

static void *cancel(void *of) {
    for (int k = 0; k < LAUNCHES; k++) {
        etrt_cancel(of); /* ETRT_INVALID between launches */
        usleep(200);
    }
    return NULL;
}

static void *be_cancelled(void *of) {
    etrt_session *s;
    pthread_t other;
    (void)of;
    ok(etrt_session_create(model, &s));
    pthread_barrier_wait(&together);
    if (pthread_create(&other, NULL, cancel, s)) exit(1);
    for (int k = 0; k < LAUNCHES; k++) {
        set_up(s, 100);
        etrt_status st = etrt_run(s);
        if (st != ETRT_CANCELLED) must(st, "a launch that may be cancelled");
    }
    pthread_join(other, NULL);
    etrt_session_destroy(s);
    return NULL;
}

static void use_device(const char *spec, const char *probe) {
    const float w[6] = {10};
    pthread_t threads[THREADS + 1];
    computes = strcmp(spec, "null") != 0;
    ok(etrt_device_open(spec, &device));
    ok(etrt_model_load(device, probe, &model));
    ok(etrt_model_weight(model, "w", w, sizeof w));
    pthread_barrier_init(&together, NULL, THREADS + 1);
    for (int i = 0; i <= THREADS; i++)
        if (pthread_create(&threads[i], NULL, i < THREADS ? use_session : be_cancelled,
                           (void *)(intptr_t)i))
            exit(1);
    for (int i = 0; i <= THREADS; i++)
        pthread_join(threads[i], NULL);
    pthread_barrier_destroy(&together);
    etrt_model_unload(model);
    etrt_device_close(device);
}

/* The probes for AMD's GPUs and NVIDIA's. */
int main(int argc, char **argv) {
    if (argc != 3) return 2;
    use_device("null", argv[1]);
    use_device("cuda", argv[2]);
    return 0;
}
