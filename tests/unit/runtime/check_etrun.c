/* etrun as a user meets it: runs, captures, replays; its messages and exit codes. */
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "tests/unit/runtime/support.h"

#include <fcntl.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEVICE "--device", "emu:gfx942:cus=4:xcds=2"

static char *etrun;
static const char *probe;
static char *said; /* standard output and error of the last run */

extern char **environ;

/* Run etrun with arguments up to NULL; its exit status. */
static int run(const char *const *arguments) {
    char *argv[48] = {etrun};
    int n = 1, status;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    const char *log = scratch("log");
    while (*arguments)
        argv[n++] = (char *)*arguments++;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    ck_assert_int_eq(posix_spawn(&pid, etrun, &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    free(said);
    said = read_whole(log, NULL);
    ck_assert_msg(WIFEXITED(status), "etrun died: %s", said);
    return WEXITSTATUS(status);
}

#define etrun_is(code, ...)                                                                        \
    do {                                                                                           \
        int got_ = run((const char *const[]){__VA_ARGS__, NULL});                                  \
        ck_assert_msg(got_ == (code), "exit status %d, not %d: %s", got_, code, said);             \
    } while (0)

enum { N = 70 };
static const float w0 = 0.25f;

static void make_inputs(void) {
    float x[N], s[4] = {41, 1, 2, 3};
    const float w[6] = {w0, 0, 0, 0, 0, 0};
    char err[ETRT_ST_ERR];
    for (int i = 0; i < N; i++)
        x[i] = (float)i / 4;
    const struct etrt_st_tensor in[] = {{"x", "F32", 1, {N}, x, sizeof x},
                                        {"s", "F32", 1, {4}, s, sizeof s}};
    const struct etrt_st_tensor weights[] = {{"model.5.w", "F32", 1, {3}, w, 12},
                                             {"model.6.w", "F32", 1, {3}, w + 3, 12}};
    ck_assert(etrt_st_write(scratch("in.safetensors"), in, 2, err, sizeof err));
    ck_assert(etrt_st_write(scratch("w.safetensors"), weights, 2, err, sizeof err));
}

#define GOOD                                                                                       \
    probe, DEVICE, "--set", "N=70,B=0", "--set=F=0", "--in", scratch("in.safetensors"),            \
        "--weights", scratch("w.safetensors")

START_TEST(usage) {
    etrun_is(0, "--help");
    expect_in(said, "usage: etrun");
    etrun_is(0, "--version");
    expect_in(said, "etrun ");
    etrun_is(2, "--no-such-option");
    expect_in(said, "--help");
    etrun_is(2, "a", "b");
    expect_in(said, "'b' is one too many");
    etrun_is(2, "a", "--set", "N");
    expect_in(said, "DIM=VALUE");
    etrun_is(2, "a", "--set", "N=x");
    etrun_is(2, "a", "--set", "N=99999999999999999999");
    etrun_is(2, "a", "--repeat", "0");
    etrun_is(2, "a", "--wait-limit", "-1");
    etrun_is(2, "a", "--replay", "b");
    etrun_is(2, "a", "--states");
    ck_assert_int_eq(run((const char *const[]){NULL}), 2);
}
END_TEST

START_TEST(lists) {
    etrun_is(0, probe, "--list");
    expect_in(said, "model probe for gfx942");
    expect_in(said, "dim    N in 1..1000");
    expect_in(said, "weight w: f32[2, 3] = \"model.{l}.w\" l in 5..7");
    expect_in(said, "output y: f32[N]");
    expect_in(said, "device memory: 24 bytes of weights; 8912 per session: states 16, inputs 4000, "
                    "outputs 4000, workspace 256\n");
    etrun_is(1, scratch("absent"), "--list");
    expect_in(said, "absent: No such file");
    etrun_is(1, etrun, "--list");
    expect_in(said, "holds no manifest");
}
END_TEST

START_TEST(runs) {
    struct etrt_st *out;
    char err[ETRT_ST_ERR];
    float y[N], s[4];
    make_inputs();
    etrun_is(0, GOOD, "--out", scratch("out.safetensors"), "--states", "--stats", "--repeat", "3");
    expect_in(said, "launches: 3");
    expect_in(said, "instructions: ");
    expect_in(said, "Minst/s");
    ck_assert_msg(etrt_st_open(scratch("out.safetensors"), &out, err, sizeof err), "%s", err);
    ck_assert_uint_eq(etrt_st_count(out), 2);
    ck_assert_uint_eq(etrt_st_find(out, "y")->bytes, sizeof y);
    memcpy(y, etrt_st_find(out, "y")->data, sizeof y);
    for (int i = 0; i < N; i++)
        ck_assert(y[i] == (float)i / 4 + 1 + w0);
    memcpy(s, etrt_st_find(out, "s")->data, sizeof s);
    ck_assert(s[0] == 44 && s[3] == 3);
    etrt_st_close(out);
    etrun_is(0, GOOD);
    expect_in(said, "y: f32[70] = 1.25 1.5 1.75 2 2.25 2.5 2.75 3 ...");
}
END_TEST

START_TEST(refuses) {
    make_inputs();
    const char *out = scratch("none.safetensors"), *in = scratch("in.safetensors"),
               *w = scratch("w.safetensors");
    etrun_is(1, probe, DEVICE, "--set", "N=1001");
    expect_in(said, "dim N = 1001 is outside 1..1000");
    etrun_is(1, probe, DEVICE, "--set", "N=71,B=0,F=0", "--in", in, "--weights", w, "--out", out);
    expect_in(said, "tensor x is F32 [70], the model takes F32 [71]");
    etrun_is(1, probe, DEVICE, "--set", "N=70,B=0,F=0", "--weights", w, "--out", out);
    expect_in(said, "input x is not bound");
    etrun_is(1, probe, DEVICE, "--set", "N=70,B=0,F=0", "--in", in, "--out", out);
    expect_in(said, "weights of model probe are not loaded");
    etrun_is(1, probe, DEVICE, "--set", "N=70", "--in", w);
    expect_in(said, "model.5.w is no input");
    etrun_is(1, GOOD, "--workgroups", "5");
    expect_in(said, "5 workgroups");
    etrun_is(1, probe, "--device", "emu:gfx942:cus=banana");
    expect_in(said, "banana");
    ck_assert_int_ne(access(out, F_OK), 0);
}
END_TEST

START_TEST(tells_of_waits_and_faults) {
    make_inputs();
    etrun_is(1, GOOD, "--set", "B=1", "--wait-limit", "0.05");
    expect_in(said, "for event e0[1, 1]: 4 arrivals of 5 needed");
    etrun_is(1, GOOD, "--set", "F=1");
    expect_in(said, "bytes past the end of tensor.y (4000 bytes)");
}
END_TEST

/* Under the vendor's name the emulator takes the path of a real GPU: nothing of libetemu's own
 * functions is needed. */
START_TEST(vendor_library) {
    char library[4096];
    snprintf(library, sizeof library, "%.*s/../lib/libetemu.so", (int)(strrchr(etrun, '/') - etrun),
             etrun);
    ck_assert_int_eq(symlink(library, scratch("libhsa-runtime64.so.1")), 0);
    make_inputs();
    setenv("LD_LIBRARY_PATH", scratch_folder(), 1);
    setenv("ETEMU_DEVICE", "gfx942:cus=5:xcds=2", 1);
    for (int i = 0; i < 2; i++) {
        etrun_is(0, probe, "--device", i ? "hsa" : "auto", "--set", "N=70,B=0,F=0", "--in",
                 scratch("in.safetensors"), "--weights", scratch("w.safetensors"), "--stats");
        expect_in(said, "device: AMD Instinct MI300X");
        expect_in(said, "(gfx942, 5 CUs)");
        expect_in(said, "y: f32[70] = 1.25 1.5");
    }
}
END_TEST

START_TEST(no_gpu) {
    if (access("/dev/kfd", F_OK) == 0) return; /* there may be one */
    etrun_is(1, probe, "--device", "hsa");
    expect_in(said, "no device: no AMD GPU");
}
END_TEST

/* ---- capture and replay ---- */

#define CAPTURE scratch("capture")

static void capture(void) {
    make_inputs();
    etrun_is(0, GOOD, "--capture", CAPTURE);
}

START_TEST(replays) {
    capture();
    etrun_is(0, "--replay", CAPTURE, DEVICE, "--repeat", "2", "--stats");
    expect_in(said, "9 regions compared, 0 differ");
    etrun_is(0, "--replay", CAPTURE, "--device", "emu:gfx942:cus=7:xcds=7"); /* placed elsewhere */
    etrun_is(1, "--replay", CAPTURE, "--device", "emu:gfx942:cus=3");
    expect_in(said, "4 workgroups");
}
END_TEST

START_TEST(environment_captures) {
    make_inputs();
    setenv("ETRT_CAPTURE", CAPTURE, 1);
    etrun_is(0, GOOD, "--repeat", "2");
    unsetenv("ETRT_CAPTURE");
    etrun_is(0, "--replay", CAPTURE, DEVICE);
}
END_TEST

START_TEST(sees_a_difference) {
    size_t bytes;
    capture();
    char *y = read_whole(scratch("capture/tensor.y.after"), &bytes);
    const float other = 99;
    memcpy(y + 40, &other, 4);
    write_file(scratch("capture/tensor.y.after"), y, bytes);
    free(y);
    etrun_is(1, "--replay", CAPTURE, DEVICE);
    expect_in(said, "tensor.y: ");
    expect_in(said, "first at offset 42 (element 10): captured 99");
    expect_in(said, "replayed 3.75");
    expect_in(said, "9 regions compared, 1 differ");
}
END_TEST

static char *launch_json(void) {
    return read_whole(scratch("capture/launch.json"), NULL);
}

static void set_launch_json(const char *text) {
    write_file(scratch("capture/launch.json"), text, strlen(text));
}

/* An address where nothing can be mapped: the region moves and the arguments follow. */
START_TEST(moves_regions) {
    size_t bytes;
    char from[64], *at;
    uint64_t address, impossible = 0xF00000000000000;
    capture();
    char *kernarg = read_whole(scratch("capture/kernarg.bin"), &bytes), *json = launch_json();
    memcpy(&address, kernarg + bytes - 8, 8); /* y's */
    memcpy(kernarg + bytes - 8, &impossible, 8);
    write_file(scratch("capture/kernarg.bin"), kernarg, bytes);
    snprintf(from, sizeof from, "\"0x%llx\"", (unsigned long long)address);
    at = replaced(json, from, "\"0xf00000000000000\"");
    set_launch_json(at);
    etrun_is(0, "--replay", CAPTURE, DEVICE);
    expect_in(said, "9 regions compared, 0 differ");
    free(at);
    free(json);
    free(kernarg);
}
END_TEST

START_TEST(replays_a_wait) {
    make_inputs();
    etrun_is(1, GOOD, "--set", "B=1", "--wait-limit", "0.05", "--capture", CAPTURE);
    char *json = launch_json();
    expect_in(json, "\"ETRT_WAIT\"");
    expect_in(json, "4 arrivals of 5 needed");
    free(json);
    etrun_is(0, "--replay", CAPTURE, DEVICE);
    expect_in(said, "4 arrivals of 5 needed");
    expect_in(said, "ended as the captured launch did");
}
END_TEST

START_TEST(replays_a_fault) {
    make_inputs();
    etrun_is(1, GOOD, "--set", "F=1", "--capture", CAPTURE);
    etrun_is(0, "--replay", CAPTURE, DEVICE);
    expect_in(said, "ended as the captured launch did: ETRT_FAULT");
}
END_TEST

static const struct {
    const char *from, *to, *says;
} lies[] = {
    {"\"etrt-launch\"", "\"other\"", "is not etrt-launch"},
    {"\"version\": 1", "\"version\": 2", "version 2"},
    {"\"isa\": \"gfx942\"", "\"isa\": \"gfx90a\"", "captured on gfx90a"},
    {"\"code.hsaco\"", "\"../../../etc/passwd\"", "is not the name of a file in the folder"},
    {"\"code.hsaco\"", "\"kernarg.bin\"", ""},
    {"\"kernarg.bin\"", "\"code.hsaco\"", "code.hsaco: has"},
    {"\"tensor.y.after\"", "\"tensor.s.after\"", "tensor.s.after: has 16 bytes, not 4000"},
    {"\"tensor.y.after\"", "\"absent\"", "absent: No such file"},
    {"\"tensor.y.after\"", "\"/dev/zero\"", "is not the name"},
    {"\"tensor.y.after\"", "7", "after: must be a string"},
    {"\"symbol\": \"probe\"", "\"symbol\": \"prope\"", "no kernel \"prope\""},
    {"\"group_bytes\": 40960", "\"group_bytes\": 65537", "65537 bytes of LDS"},
    {"\"grid\": [", "\"grid\": [1.5,", "grid"},
    {"\"pointers\": [", "\"pointers\": [4,", "is not a multiple of 8"},
    {"\"pointers\": [", "\"pointers\": [800,", "800 is outside"},
    {"\"pointers\": [", "\"pointers\": [40,", "is in no region"},
    {"\"memory\": \"host\"", "\"memory\": \"moon\"", "neither device nor host"},
    {"\"bytes\": 4000", "\"bytes\": 4001", "has 4000 bytes, not 4001"},
    {"\"bytes\": 4000", "\"bytes\": -1", "bytes: -1"},
    {"\"bytes\": 4000", "\"bytes\": 70368744177664", "more than the limit of 17179869184"},
    {"\"regions\"", "\"region\"", "regions: is missing"},
    {"\"address\": \"0x", "\"address\": \"0x-", "must be a string like"},
    {"\"address\": \"0x", "\"address\": \"0xfffffffffffffffff", "must be a string like"},
    {"\"address\": \"0x", "\"address\": \"", "must be a string like"},
    {"{", "[", "not JSON"},
};
enum { LIES = sizeof lies / sizeof *lies };

START_TEST(lying_launch) {
    capture();
    char *json = launch_json(), *at = strstr(json, "\"regions\""), *changed;
    /* Names that occur before the regions too are meant there. */
    bool late = strstr(lies[_i].from, "address") || strstr(lies[_i].from, "4000");
    if (late) {
        char *tail = replaced(at, lies[_i].from, lies[_i].to);
        changed = malloc((size_t)(at - json) + strlen(tail) + 1);
        sprintf(changed, "%.*s%s", (int)(at - json), json, tail);
        free(tail);
    } else {
        changed = replaced(json, lies[_i].from, lies[_i].to);
    }
    set_launch_json(changed);
    etrun_is(1, "--replay", CAPTURE, DEVICE);
    expect_in(said, "etrun: ");
    expect_in(said, lies[_i].says);
    free(changed);
    free(json);
}
END_TEST

START_TEST(overlapping_regions) {
    size_t bytes;
    char x[64], y[64];
    uint64_t address;
    capture();
    char *kernarg = read_whole(scratch("capture/kernarg.bin"), &bytes), *json = launch_json();
    memcpy(&address, kernarg + bytes - 32, 8); /* x's */
    snprintf(x, sizeof x, "\"0x%llx\"", (unsigned long long)address + 8);
    memcpy(&address, kernarg + bytes - 8, 8); /* y's */
    snprintf(y, sizeof y, "\"0x%llx\"", (unsigned long long)address);
    char *changed = replaced(json, y, x);
    set_launch_json(changed);
    etrun_is(1, "--replay", CAPTURE, DEVICE);
    expect_in(said, "overlap");
    free(changed);
    free(json);
    free(kernarg);
}
END_TEST

START_TEST(truncated_launch) {
    capture();
    char *json = launch_json();
    for (size_t n = 0, whole = strlen(json); n < whole - 1; n += whole / 40) {
        write_file(scratch("capture/launch.json"), json, n);
        etrun_is(1, "--replay", CAPTURE, DEVICE);
        expect_in(said, "launch.json");
    }
    free(json);
}
END_TEST

static void add(TCase *tc) {
    tcase_add_test(tc, usage);
    tcase_add_test(tc, lists);
    tcase_add_test(tc, runs);
    tcase_add_test(tc, refuses);
    tcase_add_test(tc, tells_of_waits_and_faults);
    tcase_add_test(tc, vendor_library);
    tcase_add_test(tc, no_gpu);
    tcase_add_test(tc, replays);
    tcase_add_test(tc, environment_captures);
    tcase_add_test(tc, sees_a_difference);
    tcase_add_test(tc, moves_regions);
    tcase_add_test(tc, replays_a_wait);
    tcase_add_test(tc, replays_a_fault);
    tcase_add_loop_test(tc, lying_launch, 0, LIES);
    tcase_add_test(tc, overlapping_regions);
    tcase_add_test(tc, truncated_launch);
}

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    etrun = argv[1];
    probe = argv[2];
    int failed = run_suite("etrun", add, 120);
    free(said);
    return failed;
}
