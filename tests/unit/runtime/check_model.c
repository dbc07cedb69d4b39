/* What a model says of itself, and where its code comes from: on every device (conform.h). */
#include "runtime/etrt/inspect.h"
#include "runtime/etrt_abi.h"
#include "tests/unit/runtime/conform.h"

#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

START_TEST(version) {
    char want[32];
    snprintf(want, sizeof want, "%d.%d.%d", ETRT_VERSION_MAJOR, ETRT_VERSION_MINOR,
             ETRT_VERSION_PATCH);
    ck_assert_str_eq(etrt_version(), want);
}
END_TEST

/* ---- code in memory ---- */

static void run_in_session(void) {
    ok(etrt_session_create(model, &session));
    ok(etrt_set_dim(session, "B", 0));
    ok(etrt_set_dim(session, "F", 0));
    bind_n(session, 123);
    ok(etrt_run(session));
    check_y(session, 123);
}

static void run_once(void) {
    write_weights(scratch("w.safetensors"), good_second);
    ok(etrt_model_weights_file(model, scratch("w.safetensors")));
    run_in_session();
}

/* The caller's copy may go at once; captures have the code too. */
START_TEST(loads_from_memory) {
    size_t bytes, captured;
    char *code = read_whole(probe, &bytes), *copy = malloc(bytes);
    memcpy(copy, code, bytes);
    ok(etrt_device_open(spec, &device));
    ok(etrt_model_load_memory(device, copy, bytes, &model));
    memset(copy, 0xEE, bytes);
    free(copy);
    run_once();
    bind_n(session, 5);
    ok(etrt_capture(session, scratch("cap")));
    ok(etrt_run(session));
    char *again = read_whole(scratch("cap/code.hsaco"), &captured);
    ck_assert_uint_eq(captured, bytes);
    ck_assert_mem_eq(again, code, bytes);
    free(again);
    free(code);
    close_all();
}
END_TEST

START_TEST(bad_code_in_memory) {
    size_t bytes;
    char *code = read_whole(probe, &bytes);
    ok(etrt_device_open(spec, &device));
    fails(ETRT_INVALID, "no device or no image", etrt_model_load_memory(device, NULL, 0, &model));
    fails(ETRT_INVALID, "no device or no image", etrt_model_load_memory(NULL, code, bytes, &model));
    fails(ETRT_INVALID, "no place", etrt_model_load_memory(device, code, bytes, NULL));
    fails(ETRT_FORMAT, "has 2147483648 bytes",
          etrt_model_load_memory(device, code, (size_t)1 << 31, &model));
    for (size_t n = 0; n < bytes; n += 97) {
        char *cut = malloc(n + !n); /* so that a sanitizer sees what reads past it */
        memcpy(cut, code, n);
        fails(ETRT_FORMAT, "code in memory: ", etrt_model_load_memory(device, cut, n, &model));
        ck_assert_ptr_null(model);
        free(cut);
    }
    free(code);
    close_all();
}
END_TEST

/* ---- what it says ---- */

START_TEST(tells_of_tensors) {
    etrt_tensor_info t;
    char text[64];
    open_model();
    ok(etrt_model_tensor(model, 1, &t));
    ck_assert_str_eq(t.source, "model.{l}.w");
    ck_assert_int_eq(t.loops, 1);
    ok(etrt_model_tensor(model, 0, &t));
    ck_assert_ptr_null(t.source);
    ck_assert_int_eq(t.loops, 0);
    ok(etrt_model_source(model, 1, 0, text, sizeof text));
    ck_assert_str_eq(text, "model.5.w");
    ok(etrt_model_source(model, 1, 1, text, 10));
    ck_assert_str_eq(text, "model.6.w");
    fails(ETRT_RANGE, "10 bytes are needed, not 9", etrt_model_source(model, 1, 1, text, 9));
    ck_assert_str_eq(text, "");
    fails(ETRT_RANGE, "w has 2 slices", etrt_model_source(model, 1, 2, text, sizeof text));
    fails(ETRT_RANGE, "w has 2 slices", etrt_model_source(model, 1, -1, text, sizeof text));
    fails(ETRT_INVALID, "no weight but input", etrt_model_source(model, 0, 0, text, sizeof text));
    fails(ETRT_RANGE, "4 tensors", etrt_model_source(model, 4, 0, text, sizeof text));
    fails(ETRT_INVALID, "no model", etrt_model_source(NULL, 1, 0, text, sizeof text));
    fails(ETRT_INVALID, "no place", etrt_model_source(model, 1, 0, NULL, 7));
    ok(etrt_model_shape_text(model, 0, text, sizeof text));
    ck_assert_str_eq(text, "N");
    ok(etrt_model_shape_text(model, 1, text, 5));
    ck_assert_str_eq(text, "2, 3");
    fails(ETRT_RANGE, "5 bytes are needed, not 4", etrt_model_shape_text(model, 1, text, 4));
    fails(ETRT_INVALID, "no place", etrt_model_shape_text(model, 1, text, 0));
    fails(ETRT_RANGE, "4 tensors", etrt_model_shape_text(model, -1, text, 4));
    close_all();
}
END_TEST

START_TEST(shapes_at_dims) {
    int64_t shape[ETRT_MAX_RANK], bytes, dims[3] = {0, 1, 17};
    open_model();
    ok(etrt_model_shape(model, 3, dims, shape, &bytes));
    ck_assert(shape[0] == 17 && shape[1] == 0 && bytes == 68);
    ok(etrt_model_shape(model, 3, NULL, shape, &bytes));
    ck_assert(shape[0] == 1000 && bytes == 4000);
    ok(etrt_model_shape(model, 1, dims, shape, &bytes));
    ck_assert(shape[0] == 2 && shape[1] == 3 && bytes == 24);
    dims[2] = 1001;
    fails(ETRT_RANGE, "dim N = 1001 is outside 1..1000",
          etrt_model_shape(model, 3, dims, shape, &bytes));
    ck_assert(shape[0] == 0 && bytes == 0);
    fails(ETRT_RANGE, "4 tensors", etrt_model_shape(model, 4, NULL, shape, &bytes));
    fails(ETRT_INVALID, "no model", etrt_model_shape(NULL, 0, NULL, shape, &bytes));
    fails(ETRT_INVALID, "no place", etrt_model_shape(model, 0, NULL, NULL, &bytes));
    close_all();
}
END_TEST

START_TEST(tells_memory) {
    etrt_memory need, before, image;
    int64_t dims[3] = {0, 0, 10};
    size_t bytes;
    char *code = read_whole(probe, &bytes);
    ok(etrt_memory_needed_file(probe, &before)); /* without a device */
    ok(etrt_memory_needed(code, bytes, &image));
    ck_assert_mem_eq(&before, &image, sizeof image);
    ck_assert(before.weights == 24 && before.states == 16 && before.workspace == 256);
    ck_assert(before.inputs == 4000 && before.outputs == 4000);
    ck_assert_uint_eq(before.session, 16 + 256 + 8000 + 2 * 64 * 4 + 128);
    open_model();
    ok(etrt_model_memory(model, NULL, &need));
    ck_assert_uint_eq(need.session, before.session + 16 * device->cus);
    ok(etrt_model_memory(model, dims, &need));
    ck_assert(need.inputs == 40 && need.outputs == 40 && need.states == 16 && need.weights == 24);
    ck_assert_uint_eq(need.session, before.session + 16 * device->cus);
    dims[2] = 0;
    fails(ETRT_RANGE, "dim N = 0", etrt_model_memory(model, dims, &need));
    fails(ETRT_INVALID, "NULL", etrt_model_memory(model, NULL, NULL));
    fails(ETRT_IO, "absent", etrt_memory_needed_file(scratch("absent"), &need));
    fails(ETRT_FORMAT, "", etrt_memory_needed(code, 20, &need));
    fails(ETRT_INVALID, "NULL", etrt_memory_needed(NULL, 20, &need));
    free(code);
    close_all();
}
END_TEST

/* ---- two kernels of a model ---- */

/* Weights are the first one's memory, whichever is given them or is unloaded first. */
START_TEST(lends_weights) {
    etrt_memory need;
    etrt_model *second, *third;
    const float other[6] = {1, 1, 1, 1, 1, 1};
    open_model();
    fails(ETRT_INVALID, "no place", etrt_model_load_with(model, probe, NULL));
    fails(ETRT_INVALID, "no first kernel", etrt_model_load_with(NULL, probe, &second));
    ck_assert_ptr_null(second);
    fails(ETRT_INVALID, "no path", etrt_model_load_with(model, NULL, &second));
    fails(ETRT_IO, "absent", etrt_model_load_with(model, scratch("absent"), &second));
    ok(etrt_model_load_with(model, probe, &second));
    ok(etrt_model_load_with(second, probe, &third));
    ok(etrt_model_memory(second, NULL, &need));
    ck_assert_uint_eq(need.weights, 0);
    ok(etrt_model_memory(model, NULL, &need));
    ck_assert_uint_eq(need.weights, 24);
    write_weights(scratch("w.safetensors"), good_second);
    ok(etrt_model_weights_file(second, scratch("w.safetensors")));
    ok(etrt_model_weights_file(third, scratch("w.safetensors"))); /* it has them */
    etrt_model_unload(model);
    model = third;
    run_in_session();
    ok(etrt_model_weight(second, "w", other, sizeof other));
    etrt_model_unload(second);
    float back[6];
    int w = etrt_manifest_tensor(etrt_model_manifest(model), "w");
    ok(etrt_session_peek(session, w, 0, back, sizeof back));
    ck_assert_mem_eq(back, other, sizeof other);
    close_all();
}
END_TEST

/* ---- weights that several threads copy ---- */

enum { COLUMNS = 10000000 }; /* of w, so that its two slices are 80 MB */

/* The probe's manifest, its weight that large; the null device asks for no code around it. */
static char *large_probe(size_t *out_bytes) {
    size_t bytes;
    char to[64], *code = read_whole(probe, &bytes);
    char *frame = memmem(code, bytes, ETRT_MANIFEST_MAGIC, strlen(ETRT_MANIFEST_MAGIC));
    ck_assert_ptr_nonnull(frame);
    size_t n = strtoul(frame + strlen(ETRT_MANIFEST_MAGIC), NULL, 16);
    frame[ETRT_MANIFEST_HEAD + n] = 0;
    snprintf(to, sizeof to, "\"shape\": [2, %d]", COLUMNS);
    char *text = replaced(frame + ETRT_MANIFEST_HEAD, "\"shape\": [2, 3]", to);
    char *all = framed(text, out_bytes);
    free(text);
    free(code);
    return all;
}

struct seen {
    pthread_t by;
    uint64_t done, total;
    int times;
};

static void tell(void *user, uint64_t done, uint64_t total) {
    struct seen *s = user;
    ck_assert(pthread_equal(s->by, pthread_self()));
    ck_assert(done >= s->done && done <= total);
    s->done = done;
    s->total = total;
    s->times++;
}

START_TEST(copies_in_parallel) {
    char header[512];
    size_t bytes, each = (size_t)COLUMNS * 4;
    struct seen seen = {.by = pthread_self()};
    if (strcmp(spec, "null") != 0) return;
    char *image = large_probe(&bytes);
    uint32_t *w = malloc(2 * each), *back = malloc(2 * each);
    for (size_t i = 0; i < 2 * (size_t)COLUMNS; i++)
        w[i] = (uint32_t)i * 2654435761u;
    snprintf(header, sizeof header,
             "{\"model.6.w\":{\"dtype\":\"F32\",\"shape\":[%d],\"data_offsets\":[0,%zu]},"
             "\"model.5.w\":{\"dtype\":\"F32\",\"shape\":[%d],\"data_offsets\":[%zu,%zu]}}",
             COLUMNS, each, COLUMNS, each, 2 * each);
    write_safetensors(scratch("large.safetensors"), header, w, 2 * each);
    ok(etrt_device_open(spec, &device));
    ok(etrt_model_load_memory(device, image, bytes, &model));
    ok(etrt_model_progress(model, tell, &seen));
    ok(etrt_model_weights_file(model, scratch("large.safetensors")));
    ck_assert_uint_eq(seen.done, 2 * each);
    ck_assert_uint_eq(seen.total, 2 * each);
    ck_assert_int_ge(seen.times, 2);
    ok(etrt_session_create(model, &session));
    ok(etrt_session_peek(session, 1, 0, back, 2 * each));
    ck_assert_mem_eq(back, w + COLUMNS, each);
    ck_assert_mem_eq(back + COLUMNS, w, each);
    free(image);
    free(back);
    free(w);
    close_all();
}
END_TEST

/* A weight that comes in pieces is given when the last has come. */
START_TEST(takes_pieces) {
    size_t bytes, each = (size_t)COLUMNS * 4;
    if (strcmp(spec, "null") != 0) return;
    char *image = large_probe(&bytes);
    uint32_t *w = malloc(2 * each), *back = malloc(2 * each);
    for (size_t i = 0; i < 2 * (size_t)COLUMNS; i++)
        w[i] = (uint32_t)i * 2654435761u;
    ok(etrt_device_open(spec, &device));
    ok(etrt_model_load_memory(device, image, bytes, &model));
    ok(etrt_session_create(model, &session));
    ok(etrt_model_poke(model, 1, 0, w, each - 4));
    ck_assert_int_eq(etrt_run(session), ETRT_UNBOUND);
    ck_assert_ptr_nonnull(strstr(etrt_last_error(), "are not loaded"));
    ok(etrt_model_poke(model, 1, each - 4, (char *)w + each - 4, each + 4));
    ck_assert(etrt_run(session) == ETRT_OK || !strstr(etrt_last_error(), "are not loaded"));
    ok(etrt_session_peek(session, 1, 0, back, 2 * each));
    ck_assert_mem_eq(back, w, 2 * each);
    free(image);
    free(back);
    free(w);
    close_all();
}
END_TEST

static void add(TCase *tc) {
    tcase_add_test(tc, version);
    tcase_add_test(tc, loads_from_memory);
    tcase_add_test(tc, bad_code_in_memory);
    tcase_add_test(tc, tells_of_tensors);
    tcase_add_test(tc, shapes_at_dims);
    tcase_add_test(tc, tells_memory);
    tcase_add_test(tc, lends_weights);
    tcase_add_test(tc, copies_in_parallel);
    tcase_add_test(tc, takes_pieces);
}

int main(int argc, char **argv) {
    return conform(argc, argv, NULL, add);
}
