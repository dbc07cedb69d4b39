/* check_done - are the outputs of a model there when it is done, while another still runs?
 *
 *     check_done DEVICE MIX
 *
 * MIX is of short.etg and long.etg. What each gives beside the other must be the bytes that it
 * gives alone, and the short one's must be read before the launch ends. */
#include "runtime/etrt.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 16, WIDE = 256 };

static float alone[2][N * WIDE], beside[N * WIDE];
static const char *const model_name[2] = {"short", "long"}, *const out[2] = {"short.out",
                                                                             "long.out"};

static void must_be(etrt_status got, etrt_status want, const char *what) {
    if (got == want) return;
    fprintf(stderr, "check_done: %s: %s, not %s: %s\n", what, etrt_status_name(got),
            etrt_status_name(want), etrt_last_error());
    exit(1);
}
#define is(want, call) must_be(call, want, #call)

static void give_inputs(etrt_session *s) {
    static float x[N * WIDE];
    static uint16_t w[WIDE * WIDE];
    uint32_t state = 1;
    for (int i = 0; i < N * WIDE; i++)
        x[i] = (float)((state = state * 1664525u + 1013904223u) >> 16) / 65536.0f - 0.5f;
    for (int i = 0; i < WIDE * WIDE; i++)
        w[i] = (uint16_t)(0x3c00 | ((state = state * 1664525u + 1013904223u) >> 16 & 0x80ff));
    for (int m = 0; m < 2; m++) {
        char name[32];
        snprintf(name, sizeof name, "%s.N", model_name[m]);
        is(ETRT_OK, etrt_set_dim(s, name, N));
        snprintf(name, sizeof name, "%s.x", model_name[m]);
        is(ETRT_OK, etrt_bind(s, name, x, sizeof x));
        snprintf(name, sizeof name, "%s.w", model_name[m]);
        is(ETRT_OK, etrt_bind(s, name, w, sizeof w));
    }
}

static void compare(etrt_session *s, int m) {
    memset(beside, 0, sizeof beside);
    is(ETRT_OK, etrt_read(s, out[m], beside, sizeof beside));
    if (memcmp(beside, alone[m], sizeof beside) == 0) return;
    fprintf(stderr, "check_done: %s differs from what it is alone\n", out[m]);
    exit(1);
}

static void run_alone(etrt_session *s) {
    for (int m = 0; m < 2; m++) {
        is(ETRT_OK, etrt_select(s, model_name[!m], 0));
        is(ETRT_OK, etrt_submit(s));
        is(ETRT_INVALID, etrt_wait_model(s, model_name[!m], 0));
        is(ETRT_OK, etrt_wait_model(s, model_name[m], 600));
        is(ETRT_OK, etrt_wait(s));
        is(ETRT_OK, etrt_read(s, out[m], alone[m], sizeof alone[m]));
        is(ETRT_OK, etrt_select(s, model_name[!m], 1));
    }
}

/* From the short model's end on, the other still at work. */
static void short_first(etrt_session *s) {
    is(ETRT_OK, etrt_submit(s));
    is(ETRT_INVALID, etrt_read(s, out[0], beside, sizeof beside));
    is(ETRT_OK, etrt_wait_model(s, "short", 600));
    compare(s, 0);
    float row[WIDE];
    is(ETRT_OK, etrt_read_part(s, out[0], 0, N - 1, 1, row, sizeof row));
    if (memcmp(row, alone[0] + (N - 1) * WIDE, sizeof row) != 0) exit(1);
    is(ETRT_TIMEOUT, etrt_wait_model(s, "long", 0));
    is(ETRT_INVALID, etrt_read(s, out[1], beside, sizeof beside));
    is(ETRT_INVALID, etrt_set_dim(s, "short.N", 1));
    is(ETRT_NOT_FOUND, etrt_wait_model(s, "longer", 0));
    is(ETRT_RANGE, etrt_wait_model(s, "long", -1));
    is(ETRT_TIMEOUT, etrt_wait_for(s, 0));
}

int main(int argc, char **argv) {
    etrt_device *device;
    etrt_model *mix;
    etrt_session *s;
    int fd;
    if (argc != 3) return 2;
    is(ETRT_OK, etrt_device_open(argv[1], &device));
    is(ETRT_OK, etrt_model_load(device, argv[2], &mix));
    is(ETRT_OK, etrt_session_create(mix, &s));
    give_inputs(s);
    run_alone(s);
    is(ETRT_INVALID, etrt_wait_model(s, "short", 0));
    short_first(s);
    is(ETRT_OK, etrt_wait_model(s, "long", 600));
    compare(s, 1);
    is(ETRT_OK, etrt_wait(s));
    compare(s, 0);
    compare(s, 1);

    /* Watched by a thread, and cancelled: what was done is still there. */
    is(ETRT_OK, etrt_session_fd(s, &fd));
    short_first(s);
    is(ETRT_OK, etrt_cancel(s));
    etrt_status ended = etrt_wait_model(s, "long", 600);
    is(ETRT_CANCELLED, etrt_wait(s));
    compare(s, 0);
    if (ended == ETRT_OK) { /* no workgroup of it had to wait any more */
        compare(s, 1);
    } else {
        is(ETRT_CANCELLED, ended);
        is(ETRT_INVALID, etrt_read(s, out[1], beside, sizeof beside));
    }
    is(ETRT_INVALID, etrt_wait_model(NULL, "long", 0));
    etrt_session_destroy(s);
    etrt_model_unload(mix);
    etrt_device_close(device);
    puts("the short model was read while the long one ran");
    return 0;
}
