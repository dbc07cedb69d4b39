/* etbench as a user meets it: results, files, messages, exit statuses. */
#include "tests/unit/runtime/support.h"

#include <dirent.h>
#include <fcntl.h>
#include <jansson.h>
#include <math.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define DEVICE "--device", "emu:gfx942:cus=7:xcds=2"

static char *etbench, *etcc, *mlp;
static char *said; /* standard output and error of the last run */

extern char **environ;

static int run(char *program, const char *const *arguments) {
    char *argv[48] = {program};
    int n = 1, status;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    const char *log = scratch("log");
    setenv("TMPDIR", scratch_folder(), 1);
    while (*arguments)
        argv[n++] = (char *)*arguments++;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_TRUNC, 0666);
    posix_spawn_file_actions_adddup2(&actions, 1, 2);
    ck_assert_int_eq(posix_spawn(&pid, program, &actions, NULL, argv, environ), 0);
    posix_spawn_file_actions_destroy(&actions);
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    free(said);
    said = read_whole(log, NULL);
    ck_assert_msg(WIFEXITED(status), "it died: %s", said);
    return WEXITSTATUS(status);
}

#define ends_with(code, program, ...)                                                              \
    do {                                                                                           \
        int got_ = run(program, (const char *const[]){__VA_ARGS__, NULL});                         \
        ck_assert_msg(got_ == (code), "exit status %d, not %d: %s", got_, code, said);             \
    } while (0)
#define bench_is(code, ...) ends_with(code, etbench, __VA_ARGS__)
#define refuses(code, message, ...)                                                                \
    do {                                                                                           \
        bench_is(code, __VA_ARGS__);                                                               \
        expect_in(said, message);                                                                  \
    } while (0)

/* Code objects that etbench makes are gone when it is. */
static void expect_no_leftovers(void) {
    DIR *d = opendir(scratch_folder());
    struct dirent *e;
    ck_assert_ptr_nonnull(d);
    while ((e = readdir(d)))
        ck_assert_msg(strncmp(e->d_name, "etbench.", 8) != 0, "%s is left", e->d_name);
    closedir(d);
}

static json_t *load(const char *name) {
    json_error_t err;
    json_t *j = json_load_file(scratch(name), 0, &err);
    ck_assert_msg(j != NULL, "%s: %s", name, err.text);
    return j;
}

static json_t *at(json_t *array, size_t i) {
    json_t *v = json_array_get(array, i);
    ck_assert_ptr_nonnull(v);
    return v;
}

static json_t *in(json_t *object, const char *key) {
    json_t *v = json_object_get(object, key);
    ck_assert_msg(v != NULL, "no member %s", key);
    return v;
}

static double median(json_t *cell, const char *metric) {
    return json_number_value(in(in(cell, metric), "median"));
}

static void check_cell(json_t *cell, bool runs, bool first) {
    json_t *predicted = in(cell, "prediction");
    ck_assert_str_eq(json_string_value(in(predicted, "machine")), "MI300X");
    ck_assert(json_number_value(in(predicted, "us")) > 0);
    double shares = json_number_value(in(predicted, "body")) +
                    json_number_value(in(predicted, "wait")) +
                    json_number_value(in(predicted, "schedule"));
    ck_assert_msg(fabs(shares - 1) < 1e-6, "shares add up to %g", shares);
    ck_assert_int_eq(json_object_get(in(cell, "predicted_us"), "ratio") == NULL, first);
    ck_assert_int_eq(json_object_get(cell, "instructions") != NULL, runs);
    if (!runs) return;
    ck_assert_uint_eq(json_array_size(in(in(cell, "instructions"), "samples")), 3);
    ck_assert(median(cell, "instructions") > 1000);
    ck_assert(median(cell, "bytes_read") > 1000);
    ck_assert(median(cell, "host_us") > 0);
    ck_assert(median(cell, "span") > 100);
    ck_assert(median(cell, "task_scheduling") > 0);
    ck_assert(json_integer_value(in(in(cell, "counted"), "tasks")) > 0);
    if (first) return;
    json_t *ratio = in(in(cell, "instructions"), "ratio");
    double value = json_number_value(in(ratio, "value"));
    ck_assert(json_number_value(in(ratio, "lo")) <= value);
    ck_assert(json_number_value(in(ratio, "hi")) >= value);
}

START_TEST(compares_schedules) {
    bench_is(0, mlp, DEVICE, "--schedule", "static,dynamic", "--sweep", "N=1,9", "--repeat", "3",
             "--json", scratch("r.json"), "--markdown", scratch("r.md"), "--plot",
             scratch("r.svg"));
    expect_in(said, "predicted for the machine model MI300X");
    expect_in(said, "same bit for bit");
    ck_assert_ptr_null(strchr(said, '\r')); /* no bar where there is no terminal */
    json_t *j = load("r.json");
    const char *const names[] = {"static", "dynamic", "unfused"};
    ck_assert_uint_eq(json_array_size(in(j, "columns")), 3);
    ck_assert_uint_eq(json_array_size(in(j, "points")), 2);
    ck_assert(json_is_true(in(j, "same_results")));
    ck_assert(json_is_true(in(in(j, "device"), "emulated")));
    for (size_t p = 0; p < 2; p++) {
        json_t *point = at(in(j, "points"), p);
        ck_assert_int_eq(json_integer_value(in(in(point, "dims"), "N")), p ? 9 : 1);
        for (size_t c = 0; c < 3; c++) {
            json_t *cell = at(in(point, "columns"), c);
            ck_assert_str_eq(json_string_value(in(cell, "column")), names[c]);
            check_cell(cell, c < 2, c == 0);
        }
    }
    json_decref(j);
    char *md = read_whole(scratch("r.md"), NULL), *svg = read_whole(scratch("r.svg"), NULL);
    expect_in(md, "|  | static | dynamic | unfused |\n| --- | --- | --- | --- |\n| N=1 |");
    expect_in(svg, "<svg xmlns");
    expect_in(svg, "unfused (predicted)");
    expect_in(svg, "</svg>");
    free(md);
    free(svg);
    expect_no_leftovers();
}
END_TEST

/* The emulator's clock counts instructions: everything that is counted comes out the same again. */
START_TEST(counts_the_same_again) {
    char *first[2];
    for (int i = 0; i < 2; i++) {
        bench_is(0, mlp, DEVICE, "--schedule", "dynamic", "--set", "N=5", "--repeat", "2", "--seed",
                 "7");
        char *table = strstr(said, "\ninstructions of waves");
        ck_assert_ptr_nonnull(table);
        first[i] = strdup(table);
    }
    ck_assert_str_eq(first[0], first[1]);
    free(first[0]);
    free(first[1]);
}
END_TEST

START_TEST(takes_code_objects) {
    ends_with(0, etcc, mlp, "-o", scratch("a.hsaco"));
    ends_with(0, etcc, mlp, "-o", scratch("b.hsaco"), "--variants=1");
    bench_is(0, scratch("a.hsaco"), "--vs", scratch("b.hsaco"), DEVICE, "--set", "N=3", "--repeat",
             "2", "--quiet", "--json", "-");
    json_error_t err;
    json_t *j = json_loads(said, 0, &err);
    ck_assert_msg(j != NULL, "%s: %s", err.text, said);
    ck_assert_uint_eq(json_array_size(in(j, "columns")), 2);
    ck_assert_str_eq(json_string_value(in(at(in(j, "columns"), 1), "name")), "b");
    json_t *cell = at(in(at(in(j, "points"), 0), "columns"), 1);
    ck_assert_ptr_null(json_object_get(cell, "prediction"));
    ck_assert(median(cell, "instructions") > 1000);
    json_decref(j);
    /* and one of its own beside them */
    bench_is(0, scratch("a.hsaco"), mlp, DEVICE, "--set", "N=3", "--repeat", "1", "--no-tasks");
    expect_in(said, "mlp");
}
END_TEST

START_TEST(predicts_without_a_device) {
    bench_is(0, mlp, "--device", "none", "--schedule", "static,dynamic", "--sweep", "N=1,33",
             "--target", "gfx950", "--json", scratch("r.json"));
    expect_in(said, "nothing was run");
    json_t *j = load("r.json");
    ck_assert(json_is_null(in(j, "device")));
    ck_assert_str_eq(json_string_value(in(j, "machine")), "MI355X");
    ck_assert(median(at(in(at(in(j, "points"), 1), "columns"), 2), "predicted_us") > 0);
    json_decref(j);
}
END_TEST

/* Who waits for whom is not in the model but in what its first tasks compute. */
START_TEST(predicts_with_routing_of_the_device) {
    char *experts = replaced(mlp, "mlp/mlp.etg", "eti/experts.eti");
    bench_is(0, experts, DEVICE, "--schedule", "static,dynamic", "--set", "N=7", "--repeat", "1",
             "--no-tasks", "--json", scratch("r.json"));
    expect_in(said, "the routing that the last launch left");
    json_t *j = load("r.json");
    for (size_t c = 0; c < 2; c++) {
        json_t *cell = at(in(at(in(j, "points"), 0), "columns"), c);
        ck_assert(json_is_true(in(in(cell, "prediction"), "routing_from_device")));
        ck_assert(median(cell, "predicted_us") > 0);
    }
    json_decref(j);
    bench_is(0, experts, "--device", "none", "--set", "N=7");
    expect_in(said, "Not predicted: N=7 static: ");
    free(experts);
    /* of a graph the interpreter knows, from random inputs and weights */
    experts = replaced(mlp, "examples/mlp/mlp.etg", "tests/passes/pipeline/experts.etg");
    bench_is(0, experts, "--device", "none", "--schedule", "static,dynamic", "--json",
             scratch("r.json"));
    ck_assert_ptr_null(strstr(said, "Not predicted"));
    j = load("r.json");
    ck_assert(median(at(in(at(in(j, "points"), 0), "columns"), 1), "predicted_us") > 0);
    json_decref(j);
    free(experts);
}
END_TEST

/* The interpreter knows routing that is behind attention; with or without a device it is the same.
 */
START_TEST(predicts_with_routing_behind_attention) {
    double us[2];
    char *model = replaced(mlp, "examples/mlp/mlp.etg", "tests/system/etbench/routed.etg");
    for (int i = 0; i < 2; i++) {
        bench_is(0, model, "--device", i ? "none" : "emu:gfx942:cus=7", "--set", "N=9", "--json",
                 scratch("r.json"), "--repeat", "1", "--no-tasks");
        ck_assert_ptr_null(strstr(said, "Not predicted"));
        json_t *j = load("r.json");
        json_t *cell = at(in(at(in(j, "points"), 0), "columns"), 0);
        ck_assert(json_is_false(in(in(cell, "prediction"), "routing_from_device")));
        us[i] = median(cell, "predicted_us");
        json_decref(j);
    }
    ck_assert_msg(us[0] == us[1], "%g us with a device, %g without", us[0], us[1]);
    free(model);
}
END_TEST

/* Both timelines: what the kernel recorded, and what the simulator says. */
START_TEST(writes_timelines) {
    const char *const how[] = {"--no-tasks", "--predicted"};
    for (int i = 0; i < 2; i++) {
        bench_is(0, mlp, DEVICE, "--schedule", "static,dynamic", "--set", "N=9", "--repeat", "1",
                 "--trace", scratch("t.json"), "--html", scratch("t.html"), "--trace-of", "dynamic",
                 how[i]);
        json_t *j = load("t.json");
        ck_assert(json_array_size(in(j, "traceEvents")) > 10);
        json_decref(j);
        char *page = read_whole(scratch("t.html"), NULL);
        expect_in(page, i ? "predicted by the machine model MI300X" : "counted");
        free(page);
    }
    expect_no_leftovers();
}
END_TEST

/* Same inputs, another output: there is nothing to compare. */
START_TEST(results_that_differ) {
    const char *const text = "model m\ndim N in 1..8\ninput x : f32[N, 16]\n"
                             "output y : f32[N, 16] = x * 2\n";
    char *other = replaced(text, "x * 2", "x * 3");
    write_file(scratch("a.etg"), text, strlen(text));
    write_file(scratch("b.etg"), other, strlen(other));
    refuses(1, "output y of b is not that of a: 128 of 128 elements differ", scratch("a.etg"),
            scratch("b.etg"), DEVICE);
    free(other);
    other = replaced(text, "output", "input z : f32[N]\noutput");
    write_file(scratch("b.etg"), other, strlen(other));
    refuses(1, "b has input z, a has not", scratch("a.etg"), scratch("b.etg"), DEVICE);
    free(other);
    other = replaced(text, "y :", "z :");
    write_file(scratch("b.etg"), other, strlen(other));
    refuses(1, "a has output y, b has not", scratch("a.etg"), scratch("b.etg"), DEVICE);
    free(other);
    other = replaced(text, "dim N in 1..8", "dim N in 1..4");
    write_file(scratch("b.etg"), other, strlen(other));
    refuses(1, "N = 8 is outside 1..4 in b", scratch("a.etg"), scratch("b.etg"), DEVICE);
    free(other);
    expect_no_leftovers();
}
END_TEST

START_TEST(inputs_from_files) {
    const float x[] = {1, 2, 3, 4};
    const char *const text = "model m\ndim N in 1..8\ninput x : f32[N]\ninput i : i32[N]\n"
                             "output y : f32[N] = gather(x, i)\n";
    write_file(scratch("a.etg"), text, strlen(text));
    write_safetensors(scratch("x.safetensors"),
                      "{\"x\":{\"dtype\":\"F32\",\"shape\":[4],\"data_offsets\":[0,16]}}", x,
                      sizeof x);
    char given[4096];
    snprintf(given, sizeof given, "x=%s", scratch("x.safetensors"));
    bench_is(0, scratch("a.etg"), DEVICE, "--set", "N=4", "--input", given, "--range", "i=0..3");
    refuses(1, "x is F32 [4], the model takes F32 [3]", scratch("a.etg"), DEVICE, "--set", "N=3",
            "--input", given);
    snprintf(given, sizeof given, "i=%s", scratch("x.safetensors"));
    refuses(1, "no tensor i", scratch("a.etg"), DEVICE, "--set", "N=4", "--input", given);
    refuses(1, "no input z", scratch("a.etg"), DEVICE, "--range", "z=0..3");
}
END_TEST

START_TEST(usage) {
    bench_is(0, "--help");
    expect_in(said, "usage: etbench");
    expect_in(said, "static|dynamic|hybrid|kernels");
    bench_is(0, "--version");
    expect_in(said, "etbench ");
    ck_assert_int_eq(run(etbench, (const char *const[]){NULL}), 2);
    expect_in(said, "no model given");
    refuses(2, "--help", "--no-such-option");
    refuses(2, "statik: did you mean static", mlp, "--schedule", "statik");
    refuses(2, "write static|dynamic", mlp, "--schedule", "static,");
    refuses(2, "named twice", mlp, "--schedule", "static,static");
    refuses(2, "'x' is not a value", mlp, "--sweep", "N=1,x");
    refuses(2, "DIM=VALUE", mlp, "--sweep", "N");
    refuses(2, "DIM=VALUE", mlp, "--set", "=3");
    refuses(2, "has values already", mlp, "--sweep", "N=1,2", "--set", "N=3");
    refuses(2, "write two numbers", mlp, "--range", "x=3..1");
    refuses(2, "NAME=FILE", mlp, "--input", "x=");
    refuses(2, "--repeat 0", mlp, "--repeat", "0");
    refuses(2, "--variants 13", mlp, "--variants", "13");
    refuses(2, "random|zero|poison", mlp, "--states", "one");
    refuses(2, "standard output", mlp, "--json", "-", "--markdown", "-");
    refuses(2, "--target", mlp, "--target", "gfx942");
    refuses(2, "of its own", mlp, "--overhead");
    refuses(2, "--weights", mlp, "--device", "none", "--weights", "x");
    refuses(2, "nothing but predictions", mlp, "--device", "none", "--no-predictions");
}
END_TEST

START_TEST(bad_input) {
    const char *const broken = "model m\ninput x : f33[4]\n";
    refuses(1, "No such file", scratch("absent.etg"));
    refuses(1, "is a device", "/dev/null");
    write_file(scratch("words.txt"), broken, strlen(broken));
    refuses(1, "neither a model", scratch("words.txt"));
    refuses(1, "is a folder", scratch_folder());
    write_file(scratch("bad.etg"), broken, strlen(broken));
    refuses(1, "f33", scratch("bad.etg"), DEVICE);
    write_file(scratch("bad.hsaco"), "\177ELF and no more", 16);
    refuses(1, "bad.hsaco", scratch("bad.hsaco"), DEVICE);
    refuses(1, "N = 34 is outside 1..33", mlp, DEVICE, "--sweep", "N=1,34");
    refuses(1, "has no dim M", mlp, DEVICE, "--set", "M=1");
    refuses(1, "no emulated device", mlp, "--device", "emu:gfx1");
    refuses(1, "unknown machine", mlp, DEVICE, "--machine", "H999");
    refuses(1, "MI210 is a gfx90a", mlp, DEVICE, "--machine", "MI210");
    refuses(2, "--target gfx1", mlp, "--device", "none", "--target", "gfx1");
    refuses(1, "no such column", mlp, "--device", "none", "--trace", scratch("t.json"),
            "--trace-of", "dynamic");
    refuses(1, "No such file", mlp, "--device", "none", "--json", "/nowhere/r.json");
    refuses(1, "absent", mlp, DEVICE, "--weights", scratch("absent"));
    refuses(1, "resident", mlp, DEVICE, "--workgroups", "8");
    expect_no_leftovers();
}
END_TEST

START_TEST(counts_overhead) {
    double value[2];
    bench_is(0, "--overhead", DEVICE, "--schedule", "static,dynamic");
    char *row = strstr(said, "| pairs: one tells, the other waits for it |");
    ck_assert_ptr_nonnull(row);
    row = strchr(row + 2, '|');
    ck_assert_int_eq(sscanf(row, "| %lf | %lf |", &value[0], &value[1]), 2);
    ck_assert_msg(value[0] > 10 && value[0] < 1000, "%g instructions, static", value[0]);
    ck_assert_msg(value[1] > value[0] && value[1] < 10000, "%g instructions, dynamic", value[1]);
    expect_no_leftovers();
}
END_TEST

static void add(TCase *tc) {
    tcase_add_test(tc, compares_schedules);
    tcase_add_test(tc, counts_the_same_again);
    tcase_add_test(tc, takes_code_objects);
    tcase_add_test(tc, predicts_without_a_device);
    tcase_add_test(tc, predicts_with_routing_of_the_device);
    tcase_add_test(tc, predicts_with_routing_behind_attention);
    tcase_add_test(tc, writes_timelines);
    tcase_add_test(tc, results_that_differ);
    tcase_add_test(tc, inputs_from_files);
    tcase_add_test(tc, usage);
    tcase_add_test(tc, bad_input);
    tcase_add_test(tc, counts_overhead);
}

int main(int argc, char **argv) {
    if (argc != 4) {
        fputs("usage: check_etbench ETBENCH ETCC EXAMPLES\n", stderr);
        return 2;
    }
    etbench = argv[1];
    etcc = argv[2];
    if (asprintf(&mlp, "%s/mlp/mlp.etg", argv[3]) < 0) return 1;
    return run_suite("etbench", add, 120);
}
