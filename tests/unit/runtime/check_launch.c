/* libetrt from end to end with a hand-written kernel (probe.s), on every device (conform.h). */
#include "tests/unit/runtime/conform.h"

#include <math.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

/* A copy of the probe with the first OLD in its manifest replaced by NEW, which is as long; the sum
 * of the manifest is right again when TRUE_AGAIN. In PTX it is an array of numbers. */
static void write_changed(const char *path, const char *old, const char *new, bool true_again) {
    size_t bytes, from = strlen(old);
    char *code = read_whole(probe, &bytes), *array = strstr(code, "] = {");
    ck_assert_uint_eq(from, strlen(new));
    bool text = bytes > 4 && memcmp(code, "\177ELF", 4) != 0;
    char *frame = text ? calloc(1, bytes) : code;
    size_t n = text ? 0 : bytes;
    for (char *p = text ? array + 4 : NULL; p && *p != '}'; n++)
        frame[n] = (char)strtol(p + 1, &p, 10), p += strspn(p, " \n");
    char *at = memmem(frame, n, old, from);
    ck_assert_ptr_nonnull(at);
    memcpy(at, new, from);
    if (true_again) frame_again(frame, n);
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    fwrite(code, 1, text ? (size_t)(array + 5 - code) : bytes, f);
    for (size_t i = 0; text && i < n; i++)
        fprintf(f, "%s%u", i ? "," : "", (unsigned char)frame[i]);
    if (text) fputs("};\n", f);
    ck_assert_int_eq(fclose(f), 0);
    if (text) free(frame);
    free(code);
}

/* ---- what works ---- */

START_TEST(describes_itself) {
    etrt_dim_info dim;
    etrt_tensor_info tensor;
    open_model();
    ck_assert(*etrt_device_name(device));
    ck_assert(device->cus >= 1 && device->dies >= 1);
    if (*etrt_device_isa(device)) ck_assert_str_eq(etrt_device_isa(device), target);
    ck_assert_int_eq(etrt_device_is_emulated(device), strncmp(spec, "emu", 3) == 0);
    if (etrt_device_is_emulated(device))
        ck_assert_str_eq(etrt_device_name(device), "emulated gfx942, 4 CUs in 2 dies");
    ck_assert_str_eq(etrt_model_name(model), "probe");
    ok(etrt_model_dim(model, 2, &dim));
    ck_assert_str_eq(dim.name, "N");
    ck_assert_int_eq(dim.lo, 1);
    ck_assert_int_eq(dim.hi, 1000);
    fails(ETRT_RANGE, "3 dims", etrt_model_dim(model, 3, &dim));
    ok(etrt_model_tensor(model, 1, &tensor));
    ck_assert_str_eq(tensor.name, "w");
    ck_assert_int_eq(tensor.kind, ETRT_WEIGHT);
    ck_assert_int_eq(tensor.dtype, ETRT_F32);
    ck_assert_int_eq(tensor.rank, 2);
    ck_assert_int_eq(tensor.max_bytes, 24);
    fails(ETRT_RANGE, "4 tensors", etrt_model_tensor(model, 4, &tensor));
    fails(ETRT_RANGE, "4 tensors", etrt_model_tensor(model, -1, &tensor));
    close_all();
}
END_TEST

/* Shapes change from launch to launch; event arrays take turns; the state counts launches. */
START_TEST(runs) {
    static const int sizes[] = {1, 63, 64, 65, 257, 1000, 2};
    float s[4] = {100};
    int64_t shape[ETRT_MAX_RANK];
    int rank;
    open_session();
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        bind_n(session, sizes[k]);
        ok(etrt_shape(session, "y", shape, &rank));
        ck_assert_int_eq(rank, 1);
        ck_assert_int_eq(shape[0], sizes[k]);
        ok(etrt_run(session));
        check_y(session, sizes[k]);
        check_s(session, 0, (int)k + 1);
    }
    ok(etrt_session_reset(session));
    check_s(session, 0, 0);
    ok(etrt_write(session, "s", s, sizeof s));
    ok(etrt_run(session));
    check_s(session, 100, 1);
    close_all();
}
END_TEST

/* Outputs are there once a launch has completed, and NaNs where it has written nothing. */
START_TEST(outputs_before_and_after) {
    float y[MAX_N];
    open_session();
    ok(etrt_set_dim(session, "N", 10));
    fails(ETRT_UNBOUND, "input x is not bound", etrt_read(session, "x", y, 40));
    bind_n(session, 10);
    ok(etrt_read(session, "x", y, 40));
    check_s(session, 0, 0);
    fails(ETRT_INVALID, "no launch has completed and written output y",
          etrt_read(session, "y", y, 40));
    ok(etrt_run(session));
    check_y(session, 10);
    ok(etrt_set_dim(session, "N", 1000));
    ok(etrt_read(session, "y", y, 4000));
    ck_assert(isnan(y[9]) == !can(ETRT_CAN_COMPUTE) && isnan(y[10]) && isnan(y[999]));
    close_all();
}
END_TEST

START_TEST(any_number_of_workgroups) {
    open_session();
    int cus = (int)device->cus;
    for (int w = 1; w <= cus; w += w < 4 ? 1 : 50) {
        ok(etrt_set_workgroups(session, w));
        bind_n(session, 300 + w);
        ok(etrt_run(session));
        check_y(session, 300 + w);
    }
    fails(ETRT_RANGE, "workgroups cannot all be resident on the ",
          etrt_set_workgroups(session, cus + 1));
    fails(ETRT_RANGE, "-1 workgroups", etrt_set_workgroups(session, -1));
    close_all();
}
END_TEST

START_TEST(counts) {
    etrt_stats before, after;
    open_session();
    bind_n(session, 64);
    etrt_device_stats(device, &before);
    ok(etrt_run(session));
    etrt_device_stats(device, &after);
    ck_assert_uint_eq(after.launches - before.launches, 1);
    if (can(ETRT_CAN_COUNT)) {
        ck_assert_uint_gt(after.instructions, before.instructions + 50 * device->cus);
        ck_assert_uint_ge(after.bytes_written - before.bytes_written, 64 * 4);
        ck_assert_uint_eq(after.atomics - before.atomics, 2 * device->cus);
    } else
        ck_assert_uint_eq(after.instructions + after.atomics + after.bytes_written, 0);
    close_all();
}
END_TEST

START_TEST(times_launches) {
    double seconds = 1;
    open_session();
    bind_n(session, 10);
    ok(etrt_run(session));
    fails(ETRT_INVALID, "timed", etrt_launch_seconds(session, &seconds));
    if (!can(ETRT_CAN_TIME)) {
        fails(ETRT_UNSUPPORTED, "does not time", etrt_device_timing(device, 1));
        close_all();
        return;
    }
    ok(etrt_device_timing(device, 1));
    fails(ETRT_INVALID, "timed", etrt_launch_seconds(session, &seconds));
    ok(etrt_run(session));
    ok(etrt_launch_seconds(session, &seconds));
    ck_assert_msg((seconds > 0) == can(ETRT_CAN_COMPUTE) && seconds < 60, "a launch of %g seconds",
                  seconds);
    ok(etrt_device_timing(device, 0));
    ok(etrt_run(session));
    fails(ETRT_INVALID, "timed", etrt_launch_seconds(session, &seconds));
    close_all();
}
END_TEST

START_TEST(weights_one_by_one) {
    const float w[6] = {w0, 2, 3, 4, 5, 6};
    open_model();
    ok(etrt_session_create(model, &session));
    ok(etrt_set_dim(session, "B", 0));
    ok(etrt_set_dim(session, "F", 0));
    bind_n(session, 10);
    fails(ETRT_UNBOUND, "weights", etrt_run(session));
    fails(ETRT_NOT_FOUND, "no tensor v", etrt_model_weight(model, "v", w, sizeof w));
    fails(ETRT_INVALID, "no weight but", etrt_model_weight(model, "y", w, sizeof w));
    fails(ETRT_MISMATCH, "24 needed", etrt_model_weight(model, "w", w, sizeof w - 4));
    fails(ETRT_INVALID, "NULL", etrt_model_weight(model, "w", NULL, sizeof w));
    ok(etrt_model_weight(model, "w", w, sizeof w));
    ok(etrt_run(session));
    check_y(session, 10);
    close_all();
}
END_TEST

START_TEST(submits_and_waits) {
    open_session();
    bind_n(session, 100);
    fails(ETRT_INVALID, "no launch is in flight", etrt_wait(session));
    ok(etrt_submit(session));
    fails(ETRT_INVALID, "in flight already", etrt_submit(session));
    fails(ETRT_INVALID, "a launch is in flight", etrt_set_dim(session, "N", 3));
    ok(etrt_wait(session));
    check_y(session, 100);
    ok(etrt_submit(session));
    close_all(); /* with a launch in flight */
}
END_TEST

START_TEST(two_sessions) {
    etrt_session *other;
    open_session();
    ok(etrt_session_create(model, &other));
    ok(etrt_set_dim(other, "B", 0));
    ok(etrt_set_dim(other, "F", 0));
    bind_n(session, 1000);
    bind_n(other, 77);
    ok(etrt_submit(session));
    ok(etrt_submit(other));
    ok(etrt_wait(other));
    ok(etrt_wait(session));
    check_y(session, 1000);
    check_y(other, 77);
    ok(etrt_run(other));
    check_s(session, 0, 1);
    check_s(other, 0, 2);
    etrt_session_destroy(other);
    close_all();
}
END_TEST

static void *thread_body(void *argument) {
    etrt_model *m;
    etrt_session *s;
    int n = *(int *)argument;
    ok(etrt_model_load(device, probe, &m));
    ok(etrt_model_weights_file(m, scratch_folder()));
    ok(etrt_session_create(m, &s));
    ok(etrt_set_dim(s, "B", 0));
    ok(etrt_set_dim(s, "F", 0));
    for (int k = 0; k < 20; k++) {
        bind_n(s, n + k);
        ok(etrt_run(s));
        check_y(s, n + k);
    }
    etrt_session_destroy(s);
    etrt_model_unload(m);
    return NULL;
}

START_TEST(threads_share_a_device) {
    pthread_t threads[3];
    int sizes[3] = {1, 100, 900};
    write_weights(scratch("model.safetensors"), good_second);
    ok(etrt_device_open(spec, &device));
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, thread_body, &sizes[i]), 0);
    for (int i = 0; i < 3; i++)
        pthread_join(threads[i], NULL);
    close_all();
}
END_TEST

/* ---- what is refused ---- */

START_TEST(bad_dims_and_bindings) {
    float x[MAX_N] = {0};
    open_session();
    fails(ETRT_RANGE, "dim N = 0 is outside 1..1000", etrt_set_dim(session, "N", 0));
    fails(ETRT_RANGE, "dim N = 1001 is outside 1..1000", etrt_set_dim(session, "N", 1001));
    fails(ETRT_NOT_FOUND, "no dim M", etrt_set_dim(session, "M", 1));
    fails(ETRT_INVALID, "dim N (1..1000) is not set", etrt_run(session));
    ok(etrt_set_dim(session, "N", 5));
    fails(ETRT_UNBOUND, "input x is not bound", etrt_run(session));
    fails(ETRT_MISMATCH, "input x: 16 bytes given, 20 needed", etrt_bind(session, "x", x, 16));
    fails(ETRT_INVALID, "no data for x", etrt_bind(session, "x", NULL, 20));
    fails(ETRT_INVALID, "y is no input but output", etrt_bind(session, "y", x, 20));
    fails(ETRT_INVALID, "w is no input but weight", etrt_bind(session, "w", x, 24));
    fails(ETRT_NOT_FOUND, "no tensor z", etrt_bind(session, "z", x, 20));
    fails(ETRT_UNBOUND, "input x is not bound", etrt_run(session));
    ok(etrt_bind(session, "x", x, 20));
    ok(etrt_run(session));
    ok(etrt_set_dim(session, "N", 6));
    fails(ETRT_MISMATCH, "input x was bound with 20 bytes and needs 24", etrt_run(session));
    fails(ETRT_MISMATCH, "y has 24 bytes, not 20", etrt_read(session, "y", x, 20));
    fails(ETRT_INVALID, "w is a weight", etrt_read(session, "w", x, 24));
    fails(ETRT_INVALID, "y is no state", etrt_write(session, "y", x, 24));
    fails(ETRT_MISMATCH, "s has 16 bytes, not 4", etrt_write(session, "s", x, 4));
    fails(ETRT_RANGE, "wait limit", etrt_set_wait_limit(session, 0));
    fails(ETRT_RANGE, "wait limit", etrt_set_wait_limit(session, NAN));
    close_all();
}
END_TEST

START_TEST(bad_weights) {
    static const struct {
        etrt_status status;
        const char *second, *says;
    } cases[] = {
        {ETRT_NOT_FOUND, "\"model.7.w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[12,24]}",
         "no tensor model.6.w (weight w, F32 [3])"},
        {ETRT_MISMATCH, "\"model.6.w\":{\"dtype\":\"I32\",\"shape\":[3],\"data_offsets\":[12,24]}",
         "tensor model.6.w is I32 [3], weight w must be F32 [3]"},
        {ETRT_MISMATCH,
         "\"model.6.w\":{\"dtype\":\"F32\",\"shape\":[3,1],\"data_offsets\":[12,24]}",
         "tensor model.6.w is F32 [3, 1], weight w must be F32 [3]"},
        {ETRT_FORMAT, "\"model.6.w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[12,25]}",
         "tensor model.6.w: its data ends at 25"},
    };
    open_model();
    ok(etrt_session_create(model, &session));
    write_weights(scratch("w.safetensors"), cases[_i].second);
    fails(cases[_i].status, cases[_i].says,
          etrt_model_weights_file(model, scratch("w.safetensors")));
    fails(ETRT_IO, "absent", etrt_model_weights_file(model, scratch("absent")));
    fails(ETRT_UNBOUND, "weights of model probe", etrt_run(session));
    close_all();
}
END_TEST

/* A bad file leaves the weights as they were. */
START_TEST(weights_stay) {
    open_session();
    write_weights(scratch("bad.safetensors"), "\"other\":{\"dtype\":\"F32\",\"shape\":[3],"
                                              "\"data_offsets\":[12,24]}");
    fails(ETRT_NOT_FOUND, "model.6.w", etrt_model_weights_file(model, scratch("bad.safetensors")));
    bind_n(session, 70);
    ok(etrt_run(session));
    check_y(session, 70);
    close_all();
}
END_TEST

START_TEST(bad_code_objects) {
    size_t bytes;
    char *code = read_whole(probe, &bytes);
    ok(etrt_device_open(spec, &device));
    fails(ETRT_IO, "absent.hsaco", etrt_model_load(device, scratch("absent.hsaco"), &model));
    for (size_t n = 0; n < bytes; n += 97) {
        write_file(scratch("cut.hsaco"), code, n);
        fails(ETRT_FORMAT, "cut.hsaco", etrt_model_load(device, scratch("cut.hsaco"), &model));
        ck_assert_ptr_null(model);
    }
    free(code);
    close_all();
}
END_TEST

START_TEST(code_for_another_target) {
    char says[128];
    open_model();
    etrt_model_unload(model);
    model = NULL;
    char from[64], to[64];
    snprintf(from, sizeof from, "\"target\": \"%s\"", target);
    snprintf(to, sizeof to, "\"target\": \"%s\"", other_target);
    write_changed(scratch("wrong.hsaco"), from, to, false);
    fails(ETRT_FORMAT, "no intact manifest",
          etrt_model_load(device, scratch("wrong.hsaco"), &model));
    write_changed(scratch("other.hsaco"), from, to, true);
    snprintf(says, sizeof says, "compiled for %s, but the device is %s", other_target, target);
    if (*etrt_device_isa(device))
        fails(ETRT_MISMATCH, says, etrt_model_load(device, scratch("other.hsaco"), &model));
    else
        ok(etrt_model_load(device, scratch("other.hsaco"), &model));
    close_all();
}
END_TEST

/* Far more memory than there is; the probe's manifest leaves room for the digits. */
START_TEST(needs_too_much_memory) {
    write_changed(scratch("big.hsaco"), "\"workspace_bytes\":              256",
                  "\"workspace_bytes\":   70368744177663", true);
    ok(etrt_device_open(spec, &device));
    fails(ETRT_NO_MEMORY, "big.hsaco: needs 703687441",
          etrt_model_load(device, scratch("big.hsaco"), &model));
    close_all();
}
END_TEST

/* Any byte of headers, notes and symbols wrong: refused or loaded, never a crash. */
START_TEST(wrong_bytes_in_code_objects) {
    size_t bytes;
    char *code = read_whole(probe, &bytes);
    int loaded = 0, refused = 0;
    ok(etrt_device_open(spec, &device));
    for (size_t at = (size_t)_i; at < bytes; at += 7) {
        char saved = code[at];
        code[at] = (char)(saved ^ (at % 2 ? 0xFF : 0x01));
        write_file(scratch("wrong.hsaco"), code, bytes);
        code[at] = saved;
        etrt_status st = etrt_model_load(device, scratch("wrong.hsaco"), &model);
        loaded += st == ETRT_OK;
        refused += st != ETRT_OK;
        if (st != ETRT_OK) expect_in(etrt_last_error(), "wrong.hsaco");
        etrt_model_unload(model);
        model = NULL;
    }
    ck_assert_int_gt(loaded, 0);
    ck_assert_int_gt(refused, 0);
    free(code);
    close_all();
}
END_TEST

START_TEST(null_arguments) {
    etrt_model *m;
    etrt_session *s;
    ck_assert_int_eq(etrt_device_open("emu", NULL), ETRT_INVALID);
    ck_assert_int_eq(etrt_model_load(NULL, "x", &m), ETRT_INVALID);
    ck_assert_ptr_null(m);
    ck_assert_int_eq(etrt_session_create(NULL, &s), ETRT_INVALID);
    ck_assert_int_eq(etrt_run(NULL), ETRT_INVALID);
    ck_assert_int_eq(etrt_set_dim(NULL, "N", 1), ETRT_INVALID);
    etrt_model_unload(NULL);
    etrt_session_destroy(NULL);
    ck_assert_str_eq(etrt_status_name(ETRT_RANGE), "ETRT_RANGE");
    ck_assert_str_eq(etrt_status_text(ETRT_RANGE), "value out of range");
    ck_assert_str_eq(etrt_status_name(ETRT_OK), "ETRT_OK");
    ck_assert_str_eq(etrt_status_text(ETRT_OK), "success");
    ck_assert_str_eq(etrt_status_name(ETRT_CANCELLED), "ETRT_CANCELLED");
    ck_assert_str_eq(etrt_status_text(ETRT_CANCELLED), "cancelled");
    for (int none = -1; none < 999; none += 1 + ETRT_CANCELLED + 1) {
        ck_assert_str_eq(etrt_status_name((etrt_status)none), "ETRT_?");
        ck_assert_str_eq(etrt_status_text((etrt_status)none), "unknown status");
    }
}
END_TEST

/* ---- what goes wrong inside a launch ---- */

START_TEST(waits_in_vain) {
    float y[128];
    open_session();
    bind_n(session, 128);
    ok(etrt_run(session));
    ok(etrt_set_wait_limit(session, 0.05));
    for (int k = 0; k < 2; k++) {
        char started[80];
        ok(etrt_set_dim(session, "B", 1));
        if (can(ETRT_CAN_COMPUTE)) {
            fails(ETRT_WAIT, "launch ", etrt_run(session));
            const char *said = etrt_last_error();
            expect_in(said, "waited longer than 0.05 s in task add, tile ");
            expect_in(said, "for event e0[1, 1]: ");
            expect_in(said, "on die ");
            expect_in(said, "below: e0[0, 0]=0, e0[0, 1]=0, e0[0, 2]=0, e0[1, 0]=0, e0[1, 2]=0");
            expect_in(said, "unused: no arrivals in 1 counters");
            snprintf(started, sizeof started, " of %u", device->cus);
            expect_in(said, "workgroups started: ");
            expect_in(said, started);
            bind_n(session, 128);
            fails(ETRT_INVALID, "no launch has completed", etrt_read(session, "y", y, sizeof y));
        } else
            ok(etrt_run(session));
        ok(etrt_set_dim(session, "B", 0));
        bind_n(session, 500 + k);
        ok(etrt_run(session));
        check_y(session, 500 + k);
        bind_n(session, 128);
    }
    check_s(session, 0, 3);
    close_all();
}
END_TEST

START_TEST(stores_outside) {
    open_session();
    bind_n(session, 200);
    ok(etrt_set_dim(session, "F", 1));
    if (can(ETRT_CAN_COMPUTE)) {
        fails(ETRT_FAULT, can(ETRT_CAN_LOCATE) ? "0x" : "kernel probe", etrt_run(session));
        if (can(ETRT_CAN_LOCATE))
            expect_in(etrt_last_error(), "past the end of tensor.y (4000 bytes)");
        if (etrt_device_is_emulated(device)) expect_in(etrt_last_error(), "in task add, tile ");
        fails(ETRT_FAULT, "close it and open it again", etrt_set_dim(session, "F", 0));
        fails(ETRT_FAULT, "close it and open it again", etrt_run(session));
    } else
        ok(etrt_run(session));
    bool again = can(ETRT_CAN_REOPEN);
    close_all();
    if (!again) { /* not in this process */
        etrt_device *none;
        fails(ETRT_NO_DEVICE, "", etrt_device_open(spec, &none));
        return;
    }
    open_session();
    bind_n(session, 200);
    ok(etrt_run(session));
    check_y(session, 200);
    close_all();
}
END_TEST

START_TEST(captures) {
    char *launch;
    open_session();
    bind_n(session, 20);
    ok(etrt_capture(session, scratch("cap")));
    ok(etrt_run(session));
    launch = read_whole(scratch("cap/launch.json"), NULL);
    expect_in(launch, "\"etrt-launch\"");
    expect_in(launch, "\"ETRT_OK\"");
    expect_in(launch, target);
    expect_in(launch, "\"dies\": ");
    expect_in(launch, "\"name\": \"h\"");
    expect_in(launch, "\"load\",\n  \"add\"");
    ck_assert_int_eq(strstr(launch, "\"tensor.y.after\"") != NULL, can(ETRT_CAN_COMPUTE));
    ck_assert_int_ne(access(scratch("cap/tensor.w.after"), F_OK), 0); /* as before */
    free(launch);
    fails(ETRT_INVALID, "exists already", etrt_capture(session, scratch("cap")));
    ok(etrt_capture(session, scratch("no/such/place")));
    fails(ETRT_IO, "capture: ", etrt_run(session));
    bind_n(session, 49); /* nothing says that temporary h is there then */
    ok(etrt_capture(session, scratch("cap49")));
    ok(etrt_run(session)); /* the other wish is spent */
    launch = read_whole(scratch("cap49/launch.json"), NULL);
    expect_in(launch, "\"temporaries\": []");
    free(launch);
    close_all();
}
END_TEST

/* ---- choosing a device: once for all ---- */

START_TEST(bad_devices) {
    etrt_device *dev;
    setenv("FAKE_CUDA_GPUS", "0", 1);
    fails(ETRT_INVALID, "unknown device \"gpu\"", etrt_device_open("gpu", &dev));
    ck_assert_ptr_null(dev);
    fails(ETRT_INVALID, "emu:gfx942:cus=", etrt_device_open("emu:gfx942:cus=0", &dev));
    fails(ETRT_INVALID, "nosuch", etrt_device_open("emu:nosuch", &dev));
    fails(ETRT_INVALID, "no options", etrt_device_open("null:4", &dev));
    fails(ETRT_INVALID, "write hsa:N", etrt_device_open("hsa:first", &dev));
    if (access("/dev/kfd", F_OK) != 0) {
        fails(ETRT_NO_DEVICE, "no AMD GPU", etrt_device_open("hsa", &dev));
        ck_assert_ptr_null(dev);
        ok(etrt_device_open("auto", &dev));
        ck_assert(etrt_device_is_emulated(dev));
        etrt_device_close(dev);
    }
    ok(etrt_device_open("emu:gfx942:cus=3", &dev)); /* the failures leave nothing behind */
    etrt_device *second;
    fails(ETRT_INVALID, "already runs as \"emu:gfx942:cus=3\"",
          etrt_device_open("emu:gfx942:cus=2", &second));
    ok(etrt_device_open("emu:gfx942:cus=3", &second));
    etrt_device_close(second);
    etrt_device_close(dev);
    etrt_device_close(NULL);
}
END_TEST

/* A copy of the probe that says it is for another GPU. */
static const char *probe_of_gfx90a(void) {
    write_changed(scratch("gfx90a.hsaco"), "\"target\": \"gfx942\"", "\"target\": \"gfx90a\"",
                  true);
    return scratch("gfx90a.hsaco");
}

/* Which GPU the emulator is, the first model says; from then on it is. */
START_TEST(emulator_of_the_first_model) {
    static const char *const specs[] = {"emu", "auto"};
    etrt_device *other;
    unsetenv("ETEMU_DEVICE");
    setenv("FAKE_CUDA_GPUS", "0", 1);
    for (int i = 0; i < 2; i++) {
        if (i && access("/dev/kfd", F_OK) == 0) continue;
        ok(etrt_device_open(specs[i], &device));
        ok(etrt_device_open("emu", &other));
        ck_assert(etrt_device_is_emulated(device));
        ck_assert_str_eq(etrt_device_isa(device), "");
        ck_assert(*etrt_device_name(device));
        ok(etrt_device_timing(device, 1));
        fails(ETRT_FORMAT, "emulated gfx90a", etrt_model_load(device, probe_of_gfx90a(), &model));
        ck_assert_str_eq(etrt_device_isa(device), "gfx90a");
        fails(ETRT_MISMATCH, "compiled for gfx942, but the device is gfx90a",
              etrt_model_load(device, probe, &model));
        fails(ETRT_MISMATCH, "compiled for gfx942, but the device is gfx90a",
              etrt_model_load(other, probe, &model)); /* there is one emulator in a process */
        etrt_device_close(device);
        etrt_device_close(other);
        spec = specs[i];
        open_session();
        ck_assert_str_eq(etrt_device_isa(device), "gfx942");
        bind_n(session, 100);
        ok(etrt_device_timing(device, 1));
        ok(etrt_run(session));
        check_y(session, 100);
        close_all();
    }
    setenv("ETEMU_DEVICE", "gfx950", 1);
    ok(etrt_device_open("emu", &device));
    ck_assert_str_eq(etrt_device_isa(device), "gfx950");
    close_all();
}
END_TEST

static void add_devices(TCase *tc) {
    tcase_add_test(tc, bad_devices);
    tcase_add_test(tc, emulator_of_the_first_model);
}

static void add(TCase *tc) {
    tcase_add_test(tc, describes_itself);
    tcase_add_test(tc, runs);
    tcase_add_test(tc, outputs_before_and_after);
    tcase_add_test(tc, any_number_of_workgroups);
    tcase_add_test(tc, counts);
    tcase_add_test(tc, times_launches);
    tcase_add_test(tc, weights_one_by_one);
    tcase_add_test(tc, submits_and_waits);
    tcase_add_test(tc, two_sessions);
    tcase_add_test(tc, threads_share_a_device);
    tcase_add_test(tc, bad_dims_and_bindings);
    tcase_add_loop_test(tc, bad_weights, 0, 4);
    tcase_add_test(tc, weights_stay);
    tcase_add_test(tc, bad_code_objects);
    tcase_add_test(tc, code_for_another_target);
    tcase_add_test(tc, needs_too_much_memory);
    tcase_add_loop_test(tc, wrong_bytes_in_code_objects, 0, 3);
    tcase_add_test(tc, null_arguments);
    tcase_add_test(tc, waits_in_vain);
    tcase_add_test(tc, stores_outside);
    tcase_add_test(tc, captures);
}

int main(int argc, char **argv) {
    return conform(argc, argv, add_devices, add);
}
