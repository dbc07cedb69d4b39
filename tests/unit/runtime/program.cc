// A C++ program that includes etrt.h: PROGRAM CODE. Loads it from memory onto the null device and launches it.
#include "etrt.h"

#include <stdio.h>

static_assert(ETRT_VERSION_MAJOR == 0 || ETRT_VERSION_MAJOR > 0, "numbers");

namespace {

char code[1 << 20];
int calls;

void told(void *user) {
    *static_cast<int *>(user) += 1;
}

etrt_status launch(etrt_session *session) {
    float x[7] = {}, y[7];
    etrt_status st = etrt_set_dim(session, "N", 7);
    if (st == ETRT_OK) st = etrt_set_dim(session, "B", 0);
    if (st == ETRT_OK) st = etrt_set_dim(session, "F", 0);
    if (st == ETRT_OK) st = etrt_bind(session, "x", x, sizeof x);
    if (st == ETRT_OK) st = etrt_session_notify(session, told, &calls);
    if (st == ETRT_OK) st = etrt_submit(session);
    if (st == ETRT_OK) st = etrt_wait(session);
    if (st == ETRT_OK) st = etrt_read_part(session, "y", 0, 2, 1, &y[2], sizeof y[2]);
    return st;
}

} // namespace

int main(int argc, char **argv) {
    etrt_device *device = nullptr;
    etrt_model *model = nullptr;
    etrt_session *session = nullptr;
    const float w[6] = {};
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : nullptr;
    if (!file) return 2;
    size_t bytes = fread(code, 1, sizeof code, file);
    fclose(file);
    etrt_status st = etrt_device_open("null", &device);
    if (st == ETRT_OK) st = etrt_model_load_memory(device, code, bytes, &model);
    if (st == ETRT_OK) st = etrt_model_weight(model, "w", w, sizeof w);
    if (st == ETRT_OK) st = etrt_session_create(model, &session);
    if (st == ETRT_OK) st = launch(session);
    etrt_session_destroy(session);
    etrt_model_unload(model);
    etrt_device_close(device);
    if (st != ETRT_OK) fprintf(stderr, "%s: %s\n", etrt_status_name(st), etrt_last_error());
    return st == ETRT_OK && calls == 1 ? 0 : 1;
}
