/* The programs of --calibrate. All they read and write are states, which a session zeroes: nothing
 * has to be loaded. */
#include "bench/etbench/calibrate.h"

static void head(const struct eb_scale *s, FILE *f) {
    fputs("eti 1 evented\nmodel probe\n", f);
    if (s->wave_size == 32) fputs("wave 32\n", f);
    fprintf(f, "workgroup %d\ndim N in 1..%d\n", s->waves * s->wave_size, s->workgroups * s->tiles);
}

/* Tiles of TILES different ones in memory, all of them through a product of 16 rows, as a decoder
 * reads its weights. */
static void write_stream(const struct eb_scale *s, int tiles, FILE *f) {
    int rows = EB_STREAM_ROWS;
    head(s, f);
    fprintf(f, "state %%x : bf16[16, %d]\nstate %%w : bf16[%d, %d]\nstate %%y : f32[N, 16, %d]\n",
            s->row, tiles * rows, s->row, rows);
    fprintf(f,
            "func @f [i < N] {\n  contract bf16 [m < 16, n < %d] over k < %d\n    a = %%x[m, k]\n"
            "    $sum += a * %%w[i %% %d * %d + n, k]\n  map [m < 16, n < %d]\n"
            "    %%y[i, m, n] = $sum[0, m, n]\n}\nschedule {\n  task @f\n}\n",
            rows, s->row, tiles, rows, rows);
}

static void all_tiles(const struct eb_scale *s, int trips, FILE *f) {
    (void)trips;
    write_stream(s, s->workgroups * s->tiles, f);
}

static void few_tiles(const struct eb_scale *s, int trips, FILE *f) {
    write_stream(s, trips, f);
}

static void write_product(const struct eb_scale *s, const char *type, FILE *f) {
    head(s, f);
    fprintf(f, "state %%x : %s[%d, %d]\nstate %%w : %s[%d, %d]\nstate %%y : f32[N, %d, %d]\n", type,
            EB_PRODUCT_M, s->depth, type, EB_PRODUCT_N, s->depth, EB_PRODUCT_M, EB_PRODUCT_N);
    fprintf(
        f,
        "func @f [i < N] {\n  contract %s [m < %d, n < %d] over k < %d\n    a = %%x[m, k]\n"
        "    $sum += a * %%w[n, k]\n  map [m < %d, n < %d]\n    %%y[i, m, n] = $sum[0, m, n]\n}\n"
        "schedule {\n  task @f\n}\n",
        type, EB_PRODUCT_M, EB_PRODUCT_N, s->depth, EB_PRODUCT_M, EB_PRODUCT_N);
}

static void write_matrix(const struct eb_scale *s, int trips, FILE *f) {
    (void)trips;
    write_product(s, "bf16", f);
}

static void write_f32_matrix(const struct eb_scale *s, int trips, FILE *f) {
    (void)trips;
    write_product(s, "f32", f);
}

/* A polynomial of degree TRIPS of every element. */
static void write_vector(const struct eb_scale *s, int trips, FILE *f) {
    head(s, f);
    fprintf(f, "state %%x : f32[%d]\nstate %%y : f32[N, %d]\n", s->lanes, s->lanes);
    fprintf(f, "func @f [i < N] {\n  map [m < %d]\n    %%y[i, m] = ", s->lanes);
    for (int i = 0; i < trips; i++)
        fputc('(', f);
    fputs("%x[m]", f);
    for (int i = 0; i < trips; i++)
        fprintf(f, " * %%x[m] + %d.5)", i + 1);
    fputs("\n}\nschedule {\n  task @f\n}\n", f);
}

/* TRIPS loads of which each needs the one before, from a place that the launch is told: what an
 * earlier one went through is in the cache. */
static void write_chain(const struct eb_scale *s, int trips, FILE *f) {
    head(s, f);
    fprintf(f,
            "state %%t : i32[%d]\nstate %%s : i32[1]\nstate %%y : i32[N]\nfunc @f [i < N] {\n  map "
            "[m < 1]\n    %%y[i] = ",
            s->words);
    for (int i = 0; i < trips; i++)
        fputs("%t[min(max(", f);
    fputs("%s[0]", f);
    for (int i = 0; i < trips; i++)
        fprintf(f, ", 0), %d)]", s->words - 1);
    fputs("\n}\nschedule {\n  task @f\n}\n", f);
}

static void write_store(const char *name, const char *to, const char *value, FILE *f) {
    fprintf(f, "func @%s [i < N] {\n  map [m < 1]\n    %%%s[i] = %s\n}\n", name, to, value);
}

static void write_tasks(const struct eb_scale *s, int trips, FILE *f) {
    (void)trips;
    head(s, f);
    fputs("state %x : f32[1]\nstate %y : f32[N]\n", f);
    write_store("f", "y", "%x[0]", f);
    fputs("schedule {\n  task @f\n}\n", f);
}

/* Every task tells one that waits, after all of them; of TRIPS times as many nobody waits for. */
static void write_notify(const struct eb_scale *s, int trips, FILE *f) {
    (void)trips;
    head(s, f);
    fputs("state %x : f32[1]\nstate %y : f32[N]\nstate %z : f32[1]\nevent %e[N] count 1\n", f);
    write_store("f", "y", "%x[0]", f);
    fputs("func @last [] {\n  map [m < 1]\n    %z[0] = %y[0]\n}\nschedule {\n  task @f\n    notify "
          "%e[i]\n  task @last\n    wait %e[0]\n}\n",
          f);
}

static void write_pairs(const struct eb_scale *s, int trips, FILE *f) {
    (void)trips;
    head(s, f);
    fputs("state %x : f32[1]\nstate %h : f32[N]\nstate %y : f32[N]\nevent %e[N] count 1\n", f);
    write_store("f", "h", "%x[0]", f);
    write_store("g", "y", "%h[i]", f);
    fputs("schedule {\n  task @f\n    notify %e[i]\n  task @g\n    wait %e[i]\n}\n", f);
}

/* TRIPS times all tasks wait for all. */
static void write_rounds(const struct eb_scale *s, int trips, FILE *f) {
    head(s, f);
    fprintf(f,
            "loop l in 0..%d\nstate %%x : f32[1]\nstate %%y : f32[%d, N]\nevent %%e[%d] count N\n",
            trips, trips, trips);
    fputs("func @f [i < N] {\n  map [m < 1]\n    %y[l, i] = %x[0]\n}\nschedule {\n  loop l {\n    "
          "task "
          "@f\n      wait %e[l - 1] when later\n      notify %e[l]\n  }\n}\n",
          f);
}

static void write_kernels(const struct eb_scale *s, int trips, FILE *f) {
    head(s, f);
    fprintf(f, "loop l in 0..%d\nstate %%x : f32[1]\nstate %%y : f32[%d, N]\n", trips, trips);
    fputs("func @f [i < N] {\n  map [m < 1]\n    %y[l, i] = %x[0]\n}\nschedule {\n  loop l {\n    "
          "task "
          "@f\n  }\n}\n",
          f);
}

const struct eb_probe eb_probe[EB_PROBES] = {
    [EB_PROBE_STREAM] = {"stream", ET_SCHEDULE_STATIC, 0, all_tiles},
    [EB_PROBE_CACHED] = {"cached", ET_SCHEDULE_STATIC, 8, few_tiles},
    [EB_PROBE_MATRIX] = {"matrix", ET_SCHEDULE_STATIC, 0, write_matrix},
    [EB_PROBE_F32_MATRIX] = {"f32_matrix", ET_SCHEDULE_STATIC, 0, write_f32_matrix},
    [EB_PROBE_VECTOR] = {"vector", ET_SCHEDULE_STATIC, EB_POLYNOMIAL, write_vector},
    [EB_PROBE_SHORT_CHAIN] = {"short_chain", ET_SCHEDULE_STATIC, 1, write_chain},
    [EB_PROBE_LONG_CHAIN] = {"long_chain", ET_SCHEDULE_STATIC, 1 + EB_CHAIN, write_chain},
    [EB_PROBE_TASKS] = {"tasks", ET_SCHEDULE_STATIC, 0, write_tasks},
    [EB_PROBE_NOTIFY] = {"notify", ET_SCHEDULE_STATIC, 0, write_notify},
    [EB_PROBE_PAIRS] = {"pairs", ET_SCHEDULE_STATIC, 0, write_pairs},
    [EB_PROBE_QUEUED] = {"queued", ET_SCHEDULE_DYNAMIC, 0, write_tasks},
    [EB_PROBE_FEW_ROUNDS] = {"few_rounds", ET_SCHEDULE_STATIC, 8, write_rounds},
    [EB_PROBE_MANY_ROUNDS] = {"many_rounds", ET_SCHEDULE_STATIC, 72, write_rounds},
    [EB_PROBE_FEW_KERNELS] = {"few_kernels", ET_SCHEDULE_KERNELS, 8, write_kernels},
    [EB_PROBE_MANY_KERNELS] = {"many_kernels", ET_SCHEDULE_KERNELS, 72, write_kernels},
};
