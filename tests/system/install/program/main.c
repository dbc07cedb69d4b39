/* A program of somebody who installed etcc: saxpy.hsaco on the emulator, its result checked. */
#include <etrt.h>
#include <stdio.h>

enum { N = 37 };

static etrt_status run(etrt_session *s, float z[N]) {
    float x[N], y[N];
    for (int i = 0; i < N; i++) {
        x[i] = (float)i;
        y[i] = 1.0f / (float)(i + 1);
    }
    etrt_status st = etrt_set_dim(s, "N", N);
    if (!st) st = etrt_bind(s, "x", x, sizeof x);
    if (!st) st = etrt_bind(s, "y", y, sizeof y);
    if (!st) st = etrt_run(s);
    if (!st) st = etrt_read(s, "z", z, N * sizeof *z);
    return st;
}

int main(int argc, char **argv) {
    etrt_device *device = NULL;
    etrt_model *model = NULL;
    etrt_session *session = NULL;
    float z[N] = {0};
    if (argc != 2) return 2;

    etrt_status st = etrt_device_open("emu:gfx942:cus=4:xcds=2", &device);
    if (!st) st = etrt_model_load(device, argv[1], &model);
    if (!st) st = etrt_session_create(model, &session);
    if (!st) st = run(session, z);
    int wrong = 0;
    for (int i = 0; i < N; i++) {
        float off = z[i] - (3 * (float)i + 1.0f / (float)(i + 1));
        wrong += !(off > -1e-4f && off < 1e-4f);
    }
    if (st)
        printf("%s: %s\n", etrt_status_text(st), etrt_last_error());
    else
        printf("%s: %d of %d wrong\n", etrt_device_name(device), wrong, N);
    etrt_session_destroy(session);
    etrt_model_unload(model);
    etrt_device_close(device);
    return st || wrong;
}
