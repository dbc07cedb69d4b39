#include "tests/unit/runtime/conform.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

/* The first AMD GPU is asked for where the machine has one. CUDA's library is a fake that computes
 * the probe (fake_cuda.h); on a machine with such a GPU it may be the vendor's. */
static const struct {
    const char *spec, *target, *other_target; /* whose code the device does not take */
    int probe;                                /* which of the command line's */
} devices[] = {
    {"emu:gfx942:cus=4:xcds=2", "gfx942", "gfx90a", 0},
    {"null", "gfx942", "gfx90a", 0},
    {"hsa", "gfx942", "gfx90a", 0},
    {"cuda", "sm_90", "sm_99", 1},
};
const char *probe, *spec, *target, *other_target;

etrt_device *device;
etrt_model *model;
etrt_session *session;

bool can(enum etrt_can what) {
    return device->can & what;
}

void write_weights(const char *path, const char *second) {
    const float w[6] = {w0, 2, 3, 4, 5, 6};
    char header[512];
    snprintf(header, sizeof header,
             "{\"model.5.w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},%s}",
             second);
    write_safetensors(path, header, w, sizeof w);
}

const char good_second[] =
    "\"model.6.w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[12,24]}";

void open_model(void) {
    ok(etrt_device_open(spec, &device));
    ok(etrt_model_load(device, probe, &model));
}

void open_session(void) {
    open_model();
    write_weights(scratch("w.safetensors"), good_second);
    ok(etrt_model_weights_file(model, scratch("w.safetensors")));
    ok(etrt_session_create(model, &session));
    ok(etrt_set_dim(session, "B", 0));
    ok(etrt_set_dim(session, "F", 0));
}

void close_all(void) {
    etrt_session_destroy(session);
    etrt_model_unload(model);
    etrt_device_close(device);
    session = NULL;
    model = NULL;
    device = NULL;
}

void bind_n(etrt_session *s, int n) {
    float x[MAX_N];
    for (int i = 0; i < n; i++)
        x[i] = (float)(i * 3 % 101) - 50;
    ok(etrt_set_dim(s, "N", n));
    ok(etrt_bind(s, "x", x, (size_t)n * 4));
}

void check_y(etrt_session *s, int n) {
    float y[MAX_N];
    ok(etrt_read(s, "y", y, (size_t)n * 4));
    for (int i = 0; i < n && can(ETRT_CAN_COMPUTE); i++)
        ck_assert_msg(y[i] == (float)(i * 3 % 101) - 50 + 1 + w0, "y[%d] = %g", i, (double)y[i]);
    for (int i = 0; i < n && !can(ETRT_CAN_COMPUTE); i++)
        ck_assert(isnan(y[i]));
}

/* The state counts the launches since it held FROM. */
void check_s(etrt_session *session_, float from, int launches) {
    float s[4];
    ok(etrt_read(session_, "s", s, sizeof s));
    ck_assert(s[0] == from + (can(ETRT_CAN_COMPUTE) ? (float)launches : 0) && s[3] == 0);
}

static bool at_hand(const char *device_spec) {
    return strcmp(device_spec, "hsa") != 0 || access("/dev/kfd", F_OK) == 0;
}

int conform(int argc, char **argv, void (*once)(TCase *), void (*add)(TCase *)) {
    if (argc != 3 && argc != 4) return 2;
    probe = argv[1];
    int failed = argc == 4 || !once ? 0 : run_suite("devices", once, 120);
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        spec = devices[i].spec;
        target = devices[i].target;
        other_target = devices[i].other_target;
        probe = argv[1 + devices[i].probe];
        if (argc == 4 ? strcmp(argv[3], spec) == 0 : at_hand(spec))
            failed |= run_suite(spec, add, 120);
    }
    return failed;
}
