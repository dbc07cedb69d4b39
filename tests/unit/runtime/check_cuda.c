/* The CUDA driver on the fake of its library (fake_cuda.h): what check_launch.c, which runs on it
 * too, does not reach. Every call that can fail does so in turn; copies are late; launches do not
 * end. */
#include "runtime/etrt.h"
#include "runtime/etrt/cuda/library.h"
#include "runtime/etrt/driver/driver.h"
#include "tests/unit/runtime/fake_cuda.h"
#include "tests/unit/runtime/support.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *probe, *amd_probe, *spec = "cuda";

#define ok(call)                                                                                   \
    do {                                                                                           \
        etrt_status status_ = (call);                                                              \
        ck_assert_msg(status_ == ETRT_OK, "%s: %s: %s", #call, etrt_status_name(status_),          \
                      etrt_last_error());                                                          \
    } while (0)
#define fails(status, part, call)                                                                  \
    do {                                                                                           \
        etrt_status status_ = (call);                                                              \
        ck_assert_msg(status_ == (status), "%s: %s, not " #status, #call,                          \
                      etrt_status_name(status_));                                                  \
        expect_in(etrt_last_error(), part);                                                        \
    } while (0)

/* The fake is the library that libetrt opens, so its one state is this. */
static struct fake_cuda *fake(void) {
    void *library = dlopen(getenv("ETRT_CUDA_LIB"), RTLD_NOW | RTLD_LOCAL);
    struct fake_cuda *f = library ? dlsym(library, FAKE_CUDA_NAME) : NULL;
    ck_assert_ptr_nonnull(f);
    return f;
}

static void write_weights(void) {
    static const float w[6] = {10.5f, 2, 3, 4, 5, 6};
    write_safetensors(scratch("w.safetensors"),
                      "{\"model.5.w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[0,12]},"
                      "\"model.6.w\":{\"dtype\":\"F32\",\"shape\":[3],\"data_offsets\":[12,24]}}",
                      w, sizeof w);
}

/* ---- devices ---- */

START_TEST(specifications) {
    etrt_device *dev;
    fails(ETRT_INVALID, "write cuda:N", etrt_device_open("cuda:", &dev));
    fails(ETRT_INVALID, "write cuda:N", etrt_device_open("cuda:1x", &dev));
    fails(ETRT_INVALID, "write cuda:N", etrt_device_open("cuda:-1", &dev));
    fails(ETRT_NO_DEVICE, "there are 2", etrt_device_open("cuda:2", &dev));
    ok(etrt_device_open("cuda:1", &dev));
    ck_assert_str_eq(etrt_device_name(dev), "Fake GPU 1 (sm_90, 5 SMs)");
    ck_assert_str_eq(etrt_device_isa(dev), "sm_90");
    etrt_device_close(dev);
    ck_assert_int_eq(fake()->live, 0);
}
END_TEST

START_TEST(no_gpu) {
    etrt_device *dev;
    setenv("FAKE_CUDA_GPUS", "0", 1);
    fails(ETRT_NO_DEVICE, "no NVIDIA GPU", etrt_device_open("cuda", &dev));
    setenv("ETRT_CUDA_LIB", scratch("absent.so"), 1);
    fails(ETRT_NO_DEVICE, "absent.so", etrt_device_open("cuda", &dev));
    setenv("ETRT_CUDA_LIB", "libc.so.6", 1);
    fails(ETRT_NO_DEVICE, "libc.so.6 lacks cuInit", etrt_device_open("cuda", &dev));
}
END_TEST

START_TEST(lists_devices) {
    etrt_device_info info;
    int count = etrt_device_count(), gpus = 0;
    for (int i = 0; i < count; i++) {
        ok(etrt_device_at(i, &info));
        if (strncmp(info.spec, "cuda:", 5) != 0) continue;
        ck_assert_int_eq(info.spec[5] - '0', gpus++);
        ck_assert_str_eq(info.isa, "sm_90");
        ck_assert_uint_eq(info.cus, 3 + (unsigned)gpus);
        ck_assert_uint_eq(info.memory_bytes, 1 << 30);
        ck_assert(!info.emulated);
    }
    ck_assert_int_eq(gpus, 2);
    fails(ETRT_RANGE, "no device of number", etrt_device_at(count, &info));
    fails(ETRT_RANGE, "no device of number -1", etrt_device_at(-1, &info));
    fails(ETRT_INVALID, "no place", etrt_device_at(0, NULL));
    ck_assert_int_eq(fake()->live, 0);
}
END_TEST

START_TEST(takes_targets) {
    static const struct {
        const char *target;
        bool runs;
    } cases[] = {{"sm_90", true},   {"sm_80", true},  {"sm_90a", true}, {"sm_80a", false},
                 {"sm_100", false}, {"sm_", false},   {"sm_x", false},  {"gfx942", false},
                 {"sm_91", false},  {"sm_-1", false}, {"", false}};
    etrt_device *dev;
    ok(etrt_device_open("cuda", &dev));
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        ck_assert_msg((dev->driver->accept(dev, cases[i].target) == ETRT_OK) == cases[i].runs, "%s",
                      cases[i].target);
    etrt_device_close(dev);
}
END_TEST

/* The file decides which of the devices "auto" is, and it stays that. */
START_TEST(automatic) {
    etrt_device *dev;
    etrt_model *m, *other;
    unsetenv("ETEMU_DEVICE");
    for (int amd = 0; amd < 2; amd++) {
        ok(etrt_device_open("auto", &dev));
        ck_assert_str_eq(etrt_device_isa(dev), "");
        ck_assert(*etrt_device_name(dev));
        ok(etrt_device_timing(dev, 1));
        ok(etrt_model_load(dev, amd ? amd_probe : probe, &m));
        ck_assert_str_eq(etrt_device_isa(dev), amd ? "gfx942" : "sm_90");
        ck_assert_int_eq(etrt_device_is_emulated(dev), amd);
        ck_assert(etrt_device_itself(dev)->timing);
        fails(ETRT_MISMATCH, "but the device is",
              etrt_model_load(dev, amd ? probe : amd_probe, &other));
        etrt_model_unload(m);
        etrt_device_close(dev);
    }
    ck_assert_int_eq(fake()->live, 0);
}
END_TEST

/* ---- every call fails in turn ---- */

static void use(etrt_device **dev, etrt_model **m, etrt_session **s, etrt_status *st) {
    float x[100] = {1};
    double seconds;
#define then(call)                                                                                 \
    if (*st == ETRT_OK) *st = (call)
    then(etrt_device_open(spec, dev));
    then(etrt_device_timing(*dev, 1));
    then(etrt_model_load(*dev, probe, m));
    then(etrt_model_weights_file(*m, scratch("w.safetensors")));
    then(etrt_session_create(*m, s));
    then(etrt_set_dim(*s, "B", 0));
    then(etrt_set_dim(*s, "F", 0));
    then(etrt_set_dim(*s, "N", 100));
    then(etrt_bind(*s, "x", x, sizeof x));
    then(etrt_run(*s));
    then(etrt_launch_seconds(*s, &seconds));
    then(etrt_read(*s, "y", x, sizeof x));
#undef then
    if (*st == ETRT_OK) ck_assert(x[0] == 12.5f && x[99] == 11.5f);
}

static etrt_status use_all(void) {
    etrt_device *dev = NULL;
    etrt_model *m = NULL;
    etrt_session *s = NULL;
    etrt_status st = ETRT_OK;
    use(&dev, &m, &s, &st);
    etrt_session_destroy(s);
    etrt_model_unload(m);
    etrt_device_close(dev);
    return st;
}

/* What a failure of each function is; ETRT_OK where libetrt can do without. */
static etrt_status expected(const char *function, int result) {
    static const struct {
        const char *part;
        etrt_status status;
    } rows[] = {
        {"cuInit", ETRT_NO_DEVICE},      {"cuDeviceGetAttribute", ETRT_OK},
        {"cuDeviceGetName", ETRT_OK},    {"cuDeviceTotalMem", ETRT_OK},
        {"cuDevice", ETRT_NO_DEVICE},    {"cuCtxCreate", ETRT_NO_DEVICE},
        {"cuMemAlloc", ETRT_NO_MEMORY},  {"cuMemHost", ETRT_NO_MEMORY},
        {"cuFuncGetParamInfo", ETRT_OK}, {"cuEventQuery", ETRT_FAULT},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (strncmp(function, rows[i].part, strlen(rows[i].part)) == 0) return rows[i].status;
    (void)result;
    return ETRT_DEVICE;
}

/* The capability and what else is asked of a device must be known; streams are of the opening; what
 * cannot be pinned or entered shows where it is used. */
static bool tolerated(const char *function, etrt_status got, etrt_status want, int result) {
    if (got == want) return true;
    if (strcmp(function, "cuDeviceGetAttribute") == 0)
        return got == ETRT_NO_DEVICE || got == ETRT_MISMATCH || got == ETRT_UNSUPPORTED;
    if (strcmp(function, "cuStreamCreate") == 0) return got == ETRT_NO_DEVICE;
    if (strcmp(function, "cuModuleLoadDataEx") == 0) return result == 2 && got == ETRT_NO_MEMORY;
    if (strncmp(function, "cuModule", 8) == 0) return got == ETRT_NO_MEMORY;
    /* The stages: copies go without them, or meet what broke the device. */
    if (strncmp(function, "cuMemHost", 9) == 0 || strncmp(function, "cuEvent", 7) == 0)
        return got == ETRT_OK || got == ETRT_FAULT || got == ETRT_DEVICE;
    if (strcmp(function, "cuMemsetD8Async") == 0) return got == ETRT_OK;
    if (strcmp(function, "cuStreamSynchronize") == 0) return got == ETRT_OK;
    if (strncmp(function, "cuCtxPush", 9) == 0)
        return got == ETRT_NO_MEMORY || got == ETRT_FAULT || got == ETRT_OK;
    return false;
}

START_TEST(every_call_fails) {
    static const int results[] = {2, 700, 999};
    struct fake_cuda *f = fake();
    int result = results[_i], failed = 0;
    write_weights();
    ok(use_all());
    ck_assert_int_eq(f->live, 0);
    for (long n = 1;; n++) {
        f->failed[0] = 0;
        f->fail_with = result;
        f->fail_at = f->calls + n;
        etrt_status got = use_all(), want = *f->failed ? expected(f->failed, result) : ETRT_OK;
        ck_assert_msg(tolerated(f->failed, got, want, result), "call %ld, %s with %d: %s: %s", n,
                      f->failed, result, etrt_status_name(got), etrt_last_error());
        ck_assert_msg(f->live == 0, "call %ld, %s: %ld are left", n, f->failed, f->live);
        f->fail_at = 0;
        if (!*f->failed) break;
        failed++;
    }
    ck_assert_int_gt(failed, 60);
    ok(use_all());
}
END_TEST

/* One context for two handles of a GPU, which the last one closes; another for another GPU, and for
 * a handle that shares nothing. */
START_TEST(shared_context) {
    etrt_device *dev[4];
    etrt_devices_share(1);
    ok(etrt_device_open("cuda:0", &dev[0]));
    long one = fake()->live;
    ok(etrt_device_open("cuda", &dev[1]));
    ck_assert_int_eq(fake()->live, 2 * one - 1);
    ok(etrt_device_open("cuda:1", &dev[2]));
    ck_assert_int_eq(fake()->live, 3 * one - 1);
    etrt_devices_share(0);
    ok(etrt_device_open("cuda:0", &dev[3]));
    ck_assert_int_eq(fake()->live, 4 * one - 1);
    etrt_device_close(dev[3]);
    etrt_device_close(dev[0]);
    ck_assert_int_eq(fake()->live, 2 * one);
    etrt_devices_share(1);
    ok(etrt_device_open("cuda:0", &dev[0]));
    ck_assert_int_eq(fake()->live, 3 * one - 1);
    etrt_devices_share(0);
    for (int i = 0; i < 3; i++)
        etrt_device_close(dev[i]);
    ck_assert_int_eq(fake()->live, 0);
}
END_TEST

/* The program's context: used while nothing else is current, with the SMs it has, and left alone.
 */
START_TEST(borrowed_context) {
    etrt_device *dev;
    CUcontext context, out;
    fails(ETRT_NO_DEVICE, ", 201)", etrt_device_open("cuda:current", &dev));
    void *library = dlopen(getenv("ETRT_CUDA_LIB"), RTLD_NOW | RTLD_LOCAL);
    struct etrt_cuda cu;
#define FIND(name) *(void **)&cu.name = dlsym(library, #name)
    FIND(cuCtxCreate_v2);
    FIND(cuCtxPopCurrent_v2);
    FIND(cuCtxDestroy_v2);
#undef FIND
    ck_assert_int_eq(cu.cuCtxCreate_v2(&context, 0, 0), CUDA_SUCCESS);
    ok(etrt_device_open("cuda:current", &dev));
    ck_assert_str_eq(etrt_device_name(dev), "Fake GPU 0 (sm_90, 3 SMs)");
    etrt_device_close(dev);
    write_weights();
    spec = "cuda:current";
    ok(use_all());
    cu.cuCtxPopCurrent_v2(&out);
    ck_assert_ptr_eq(out, context);
    ck_assert_int_eq(fake()->live, 1);
    cu.cuCtxDestroy_v2(context);
    ck_assert_int_eq(fake()->live, 0);
}
END_TEST

/* ---- memory ---- */

static void draw(uint32_t *to, size_t words, uint32_t seed) {
    for (size_t i = 0; i < words; i++)
        to[i] = seed = seed * 1664525 + 1013904223;
}

/* Sizes around those of the pinned pieces, out and back; what was sent may be overwritten at once.
 */
START_TEST(copies) {
    static const size_t sizes[] = {4,       65536,   65540,    4 << 20,  (4 << 20) + 4,
                                   5 << 20, 8 << 20, 16 << 20, 17 << 20, (41 << 20) + 12};
    struct fake_cuda *f = fake();
    etrt_device *dev;
    void *to;
    uint32_t *from = malloc(42 << 20), *back = malloc(42 << 20);
    ok(etrt_device_open("cuda", &dev));
    ok(etrt_mem_alloc(dev, ETRT_ON_DEVICE, 42 << 20, "here", &to));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        size_t n = sizes[i];
        ok(etrt_mem_fill(dev, to, 0xEE, 42 << 20));
        draw(from, n / 4, (uint32_t)i);
        if (i % 2)
            ok(etrt_mem_write(dev, to, from, n));
        else {
            for (size_t at = 0, piece; at < n; at += piece) {
                piece = n - at < 3000000 ? n - at : 3000000;
                memcpy(back, (char *)from + at, piece);
                ok(etrt_mem_send(dev, (char *)to + at, back, piece));
                memset(back, 0, piece);
            }
            ok(etrt_mem_settle(dev));
        }
        memset(back, 0, n + 4);
        ok(etrt_mem_read(dev, back, to, n + 4));
        ck_assert_mem_eq(back, from, n);
        ck_assert_uint_eq(back[n / 4], 0xEEEEEEEE);
    }
    ck_assert_int_ge(f->in_flight, 3);
    fails(ETRT_DEVICE, "cannot write", etrt_mem_write(dev, (char *)to + (42 << 20), from, 4));
    etrt_mem_free(dev, to);
    etrt_device_close(dev);
    ck_assert_int_eq(f->live, 0);
    free(from);
    free(back);
}
END_TEST

/* Inputs of few bytes go along with a launch: they are what was bound last, whoever looks when. */
START_TEST(small_inputs) {
    etrt_device *dev = NULL;
    etrt_model *m = NULL;
    etrt_session *s = NULL;
    etrt_status st = ETRT_OK;
    float x[100] = {0}, back[100];
    write_weights();
    use(&dev, &m, &s, &st);
    ck_assert_int_eq(st, ETRT_OK);
    for (int k = 0; k < 4; k++) {
        x[0] = -1;
        ok(etrt_bind(s, "x", x, sizeof x));
        x[0] = (float)k;
        ok(etrt_bind(s, "x", x, sizeof x));
        if (k % 2) ok(etrt_read(s, "x", back, sizeof back));
        if (k % 2) ck_assert_mem_eq(back, x, sizeof x);
        ok(etrt_run(s));
        ok(etrt_read(s, "y", back, sizeof back));
        ck_assert(back[0] == 11.5f + (float)k);
        ok(etrt_read(s, "x", back, sizeof back));
        ck_assert_mem_eq(back, x, sizeof x);
    }
    ok(etrt_bind(s, "x", x, sizeof x)); /* for a launch that does not come */
    etrt_session_destroy(s);
    etrt_model_unload(m);
    etrt_device_close(dev);
    ck_assert_int_eq(fake()->live, 0);
}
END_TEST

static void tell(void *user, uint64_t done, uint64_t total) {
    uint64_t *seen = user;
    ck_assert_uint_eq(total, 24);
    ck_assert_uint_gt(done, seen[0]);
    seen[0] = done;
    seen[1]++;
}

START_TEST(tells_progress) {
    etrt_device *dev;
    etrt_model *m;
    uint64_t seen[2] = {0};
    write_weights();
    ok(etrt_device_open("cuda", &dev));
    ok(etrt_model_load(dev, probe, &m));
    ok(etrt_model_progress(m, tell, seen));
    ok(etrt_model_weights_file(m, scratch("w.safetensors")));
    ck_assert_uint_eq(seen[0], 24);
    ck_assert_uint_eq(seen[1], 2);
    ok(etrt_model_progress(m, NULL, NULL));
    ok(etrt_model_weights_file(m, scratch("w.safetensors")));
    ck_assert_uint_eq(seen[1], 2);
    fails(ETRT_INVALID, "no model", etrt_model_progress(NULL, tell, seen));
    etrt_model_unload(m);
    etrt_device_close(dev);
}
END_TEST

/* ---- code and launches ---- */

START_TEST(compiler_of_ptx) {
    size_t bytes;
    etrt_device *dev;
    etrt_model *m;
    char *code = read_whole(probe, &bytes), *at = strstr(code, ".entry");
    memcpy(at, "bad   ", 6);
    write_file(scratch("bad.ptx"), code, bytes);
    ok(etrt_device_open("cuda", &dev));
    fails(ETRT_FORMAT, "line 7; fatal: bad", etrt_model_load(dev, scratch("bad.ptx"), &m));
    expect_in(etrt_last_error(), "bad.ptx: ");
    free(code);
    etrt_device_close(dev);
    ck_assert_int_eq(fake()->live, 0);
}
END_TEST

/* More workgroups than the SMs hold are refused here, whatever a caller thinks of them. */
START_TEST(not_all_resident) {
    size_t bytes;
    etrt_device *dev;
    struct etrt_code code;
    struct etrt_ticket *ticket;
    char *image = read_whole(probe, &bytes), arguments[184] = {0};
    ok(etrt_device_open("cuda", &dev));
    ok(etrt_code_load(dev, image, bytes, "probe", &code));
    ck_assert_uint_eq(code.kernarg_bytes, 184);
    ok(dev->driver->ticket_make(dev, &ticket));
    struct etrt_dispatch d = {.code = &code,
                              .kernarg = arguments,
                              .kernarg_bytes = sizeof arguments,
                              .workgroups = 5,
                              .workgroup_size = 64,
                              .group_bytes = 40960,
                              .resident = true};
    fails(ETRT_RANGE, "5 workgroups cannot all be resident", etrt_launch_start(dev, &d, 1, ticket));
    d.workgroups = 4;
    d.group_bytes = 300000;
    fails(ETRT_DEVICE, "300000 bytes of shared memory", etrt_launch_start(dev, &d, 1, ticket));
    dev->driver->ticket_free(dev, ticket);
    etrt_code_unload(dev, &code);
    fails(ETRT_FORMAT, "no kernel \"other\"", etrt_code_load(dev, image, bytes, "other", &code));
    etrt_device_close(dev);
    ck_assert_int_eq(fake()->live, 0);
    free(image);
}
END_TEST

/* A launch that never ends: given up, and closing waits for nothing. */
START_TEST(silence) {
    struct fake_cuda *f = fake();
    etrt_device *dev = NULL;
    etrt_model *m = NULL;
    etrt_session *s = NULL;
    etrt_status st = ETRT_OK;
    write_weights();
    setenv("ETRT_LAUNCH_TIMEOUT", "0.2", 1);
    use(&dev, &m, &s, &st);
    ok(st);
    f->silent = 1;
    fails(ETRT_DEVICE, "has not answered", etrt_run(s));
    fails(ETRT_FAULT, "close it and open it again", etrt_run(s));
    etrt_session_destroy(s);
    etrt_model_unload(m);
    etrt_device_close(dev);
    f->silent = 0;
    ok(use_all());
}
END_TEST

static void add(TCase *tc) {
    tcase_add_test(tc, specifications);
    tcase_add_test(tc, no_gpu);
    tcase_add_test(tc, lists_devices);
    tcase_add_test(tc, takes_targets);
    tcase_add_test(tc, borrowed_context);
    tcase_add_test(tc, shared_context);
    tcase_add_test(tc, automatic);
    tcase_add_loop_test(tc, every_call_fails, 0, 3);
    tcase_add_test(tc, copies);
    tcase_add_test(tc, small_inputs);
    tcase_add_test(tc, tells_progress);
    tcase_add_test(tc, compiler_of_ptx);
    tcase_add_test(tc, not_all_resident);
    tcase_add_test(tc, silence);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    probe = argv[1];
    amd_probe = argv[2];
    return run_suite("cuda", add, 120);
}
