/* --calibrate: the numbers of a machine file, measured. Each is the slope between two launches that
 * differ in how much they do, so that what a launch costs by itself cancels. What no launch tells
 * stays as it is in the machine that is the base, and says so. */
#include "bench/etbench/calibrate.h"

#include "bench/etbench/fill.h"
#include "frontend/etcc/driver.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LAUNCHES = 15, LAUNCHES_EMULATED = 1 };

struct calibration {
    struct eb_bench *b;
    struct eb_scale scale;
    et_machine out;
    struct {
        etrt_model *model;
        etrt_session *session;
    } probe[EB_PROBES];
    double stream, release, acquire, event, pop; /* microseconds, which others are made of */
    uint64_t random;
    bool ok; /* false after an error, which has been told */
};

/* ---- the programs ---- */

static char *code_of(const struct calibration *c, int id) {
    const char *kernels = c->b->o->kernels;
    return eb_text("%s/%s.code", kernels ? kernels : c->b->folder, eb_probe[id].name);
}

static bool compile(const struct calibration *c, int id) {
    const struct eb_probe *p = &eb_probe[id];
    et_output f;
    char *text = eb_text("%s/%s.eti", c->b->folder, p->name), *code = code_of(c, id);
    bool ok = eb_file_open(&f, text);
    if (ok) {
        p->write(&c->scale, p->trips, f.to);
        ok = eb_file_close(&f);
    }
    et_options o = {.input = text,
                    .output = code,
                    .target = c->b->target,
                    .machine = c->b->o->machine,
                    .schedule = p->schedule,
                    .variants = 1};
    ok = ok && (et_drive(&o) || eb_fail("the program %s is not compiled", p->name));
    free(text);
    free(code);
    return ok;
}

/* A chain through a table whose every element leads to another, far away, before one comes again: a
 * linear congruential generator of full period (Knuth, TAOCP 2, 3.2.1.2). */
static bool fill_chain(struct calibration *c, etrt_session *s) {
    size_t n = (size_t)c->scale.words;
    int32_t *table = eb_alloc(n * sizeof *table);
    for (size_t i = 0; i < n; i++)
        table[i] = (int32_t)((i * 1664525u + 1013904223u) & (n - 1));
    etrt_status st = etrt_write(s, "t", table, n * sizeof *table);
    free(table);
    return st == ETRT_OK || eb_fail_status("the table of a chain", st);
}

static bool is_chain(int id) {
    return id == EB_PROBE_SHORT_CHAIN || id == EB_PROBE_LONG_CHAIN;
}

static bool load(struct calibration *c, int id) {
    if (c->probe[id].session) return true;
    char *code = code_of(c, id);
    if (access(code, F_OK) != 0 && !compile(c, id)) {
        free(code);
        return false;
    }
    etrt_status st = etrt_model_load(c->b->device, code, &c->probe[id].model);
    if (st == ETRT_OK) st = etrt_session_create(c->probe[id].model, &c->probe[id].session);
    bool ok = st == ETRT_OK || eb_fail_status(code, st);
    free(code);
    return ok && (!is_chain(id) || fill_chain(c, c->probe[id].session));
}

static void unload(struct calibration *c, int id) {
    etrt_session_destroy(c->probe[id].session);
    etrt_model_unload(c->probe[id].model);
    c->probe[id].session = NULL;
    c->probe[id].model = NULL;
}

/* ---- launches ---- */

/* The median time in microseconds of a launch with N tasks on that many workgroups, 0 for all. */
static double time_of(struct calibration *c, int id, int64_t n, int workgroups) {
    int launches = etrt_device_is_emulated(c->b->device) ? LAUNCHES_EMULATED : LAUNCHES;
    double sample[LAUNCHES], seconds;
    if (!c->ok || !(c->ok = load(c, id))) return 0;
    etrt_session *s = c->probe[id].session;
    etrt_status st = etrt_set_dim(s, "N", n);
    if (st == ETRT_OK) st = etrt_set_workgroups(s, workgroups ? workgroups : c->scale.workgroups);
    for (int i = -1; st == ETRT_OK && i < launches; i++) { /* the first warms up */
        int32_t start = (int32_t)(eb_random(&c->random) % (uint64_t)c->scale.words);
        if (is_chain(id)) st = etrt_write(s, "s", &start, sizeof start);
        if (st == ETRT_OK) st = etrt_run(s);
        if (st == ETRT_OK) st = etrt_launch_seconds(s, &seconds);
        if (st == ETRT_OK && i >= 0) sample[i] = seconds * 1e6;
    }
    c->ok = st == ETRT_OK || eb_fail_status(eb_probe[id].name, st);
    return c->ok ? eb_summarise(sample, launches).median : 0;
}

/* Microseconds that a workgroup takes for one more task, where WORKGROUPS have as many each. */
static double task_us(struct calibration *c, int id, int workgroups) {
    int few = c->scale.tiles / 4, many = c->scale.tiles;
    double less = time_of(c, id, (int64_t)few * workgroups, workgroups);
    return (time_of(c, id, (int64_t)many * workgroups, workgroups) - less) / (many - few);
}

static double all_us(struct calibration *c, int id) {
    return task_us(c, id, c->scale.workgroups);
}

/* What one more trip of the longer of two programs takes, with N tasks in a trip. */
static double trip_us(struct calibration *c, int shorter, int64_t n) {
    int trips = eb_probe[shorter + 1].trips - eb_probe[shorter].trips;
    double less = time_of(c, shorter, n, 0);
    return (time_of(c, shorter + 1, n, 0) - less) / trips;
}

/* ---- what is measured ---- */

static double stream_bytes(const struct calibration *c) {
    return (double)EB_STREAM_ROWS * c->scale.row * 2;
}

static double stream_gbs(struct calibration *c, int workgroups) {
    return workgroups * stream_bytes(c) / task_us(c, EB_PROBE_STREAM, workgroups) * 1e-3;
}

/* How the bandwidth grows with the workgroups that read: one line for each doubling. */
static void tell_stream(struct calibration *c) {
    if (c->b->o->quiet) return;
    eb_progress_end(c->b);
    puts("| workgroups that stream | GB/s |\n| --- | --- |");
    for (int w = 1; w < c->scale.workgroups && c->ok; w *= 2)
        printf("| %d | %.4g |\n", w, stream_gbs(c, w));
    if (c->ok) printf("| %d | %.4g |\n", c->scale.workgroups, c->stream);
}

static double hbm_gbs(struct calibration *c) {
    c->stream = stream_gbs(c, c->scale.workgroups);
    tell_stream(c);
    return c->stream;
}

static double die_gbs(struct calibration *c) {
    return c->stream;
}

/* A CU's stream while all have one, beside that of a CU among a few. */
static double crowd(struct calibration *c) {
    int few = (c->scale.workgroups + 3) / 4;
    double alone = stream_gbs(c, few) / few, all = c->stream / c->scale.workgroups;
    unload(c, EB_PROBE_STREAM); /* gigabytes */
    return 1 - all / alone;
}

static double cache_gbs_cu(struct calibration *c) {
    return stream_bytes(c) / all_us(c, EB_PROBE_CACHED) * 1e-3;
}

static double product_tflops(struct calibration *c, int id) {
    double operations = 2.0 * EB_PRODUCT_M * EB_PRODUCT_N * c->scale.depth;
    return c->scale.workgroups * operations / all_us(c, id) * 1e-6;
}

static double matrix_tflops(struct calibration *c) {
    return product_tflops(c, EB_PROBE_MATRIX);
}

static double f32_matrix_tflops(struct calibration *c) {
    return product_tflops(c, EB_PROBE_F32_MATRIX);
}

static double vector_tflops(struct calibration *c) {
    double operations = 2.0 * EB_POLYNOMIAL * c->scale.lanes;
    return c->scale.workgroups * operations / all_us(c, EB_PROBE_VECTOR) * 1e-6;
}

static double latency_us(struct calibration *c) {
    return trip_us(c, EB_PROBE_SHORT_CHAIN, 1);
}

static double release_us(struct calibration *c) {
    return c->release = all_us(c, EB_PROBE_NOTIFY) - all_us(c, EB_PROBE_TASKS);
}

static double fence_die_us(struct calibration *c) {
    return c->release;
}

static double acquire_us(struct calibration *c) {
    return c->acquire =
               all_us(c, EB_PROBE_PAIRS) - all_us(c, EB_PROBE_NOTIFY) - all_us(c, EB_PROBE_TASKS);
}

static double event_us(struct calibration *c) {
    return c->event = trip_us(c, EB_PROBE_FEW_ROUNDS, 2);
}

static double counter_us(struct calibration *c) {
    return c->event - c->release - c->acquire;
}

static double arrival_us(struct calibration *c) {
    double all = trip_us(c, EB_PROBE_FEW_ROUNDS, c->scale.workgroups);
    return (all - c->event) / (c->scale.workgroups - 2);
}

static double pop_us(struct calibration *c) {
    return c->pop = task_us(c, EB_PROBE_QUEUED, 1) - task_us(c, EB_PROBE_TASKS, 1);
}

static double pop_gap_us(struct calibration *c) {
    return all_us(c, EB_PROBE_QUEUED) / c->scale.workgroups;
}

static double atomic_us(struct calibration *c) {
    return c->pop / 3;
}

static double launch_us(struct calibration *c) {
    return time_of(c, EB_PROBE_TASKS, 1, 0);
}

static double graph_us(struct calibration *c) {
    return trip_us(c, EB_PROBE_FEW_KERNELS, 1);
}

/* In an order in which each finds what it is made of. */
static const struct {
    const char *key;
    double (*measure)(struct calibration *);
    const char *how;
    bool one_die; /* measured between any two workgroups, which are on one die only where there is
                     one */
} measured[] = {
    {"launch_us", launch_us, "a launch of one task", false},
    {"hbm_gbs", hbm_gbs, "products of 16 rows with weights that are read once", false},
    {"crowd", crowd, "a CU's stream among a quarter of them and among all", false},
    {"die_gbs", die_gbs, "one die: as hbm_gbs", true},
    {"cross_gbs", die_gbs, "one die: as hbm_gbs", true},
    {"cache_gbs_cu", cache_gbs_cu, "the same with weights that stay in the cache, by all at once",
     false},
    {"matrix_tflops", matrix_tflops, "our products of bf16 out of the cache", false},
    {"f32_matrix_tflops", f32_matrix_tflops, "our products of f32 out of the cache", false},
    {"vector_tflops", vector_tflops, "polynomials", false},
    {"latency_us", latency_us, "a chain of loads through memory", false},
    {"release_us", release_us, "a task that notifies beside one that does not", false},
    {"fence_die_us", fence_die_us, "one die: as release_us", true},
    {"acquire_us", acquire_us, "a wait for a counter that is complete", false},
    {"event_us", event_us, "two workgroups that wait for each other", false},
    {"counter_us", counter_us, "event_us without release_us and acquire_us", false},
    {"counter_die_us", counter_us, "one die: as counter_us", true},
    {"arrival_us", arrival_us, "all workgroups that wait for all, beside two", false},
    {"pop_us", pop_us, "one workgroup's tasks out of a queue", false},
    {"pop_gap_us", pop_gap_us, "all workgroups' tasks out of one queue", false},
    {"atomic_us", atomic_us, "a third of pop_us: a pop is three of them", false},
    {"graph_us", graph_us, "kernels of one task each, in a graph", false},
};
enum { MEASURED = sizeof measured / sizeof *measured };

struct told {
    const struct calibration *c;
    bool known[MEASURED];
    double value[MEASURED];
    char line[200];
};

static const char *comment(void *ctx, const char *key) {
    struct told *t = ctx;
    const et_machine *base = t->c->b->machine;
    for (int i = 0; i < MEASURED; i++) {
        if (strcmp(measured[i].key, key) != 0) continue;
        if (measured[i].one_die && base->dies > 1) break;
        if (t->known[i])
            snprintf(t->line, sizeof t->line, "measured: %s", measured[i].how);
        else
            snprintf(t->line, sizeof t->line, "as in %s: came out as %.4g", base->file,
                     t->value[i]);
        return t->line;
    }
    snprintf(t->line, sizeof t->line, "as in %s", base->file);
    return t->line;
}

static bool measure_all(struct calibration *c, struct told *t) {
    for (int i = 0; i < MEASURED && c->ok; i++) {
        eb_progress(c->b, i, MEASURED, measured[i].key);
        if (measured[i].one_die && c->out.dies > 1) continue;
        t->value[i] = measured[i].measure(c);
        t->known[i] =
            c->ok && isfinite(t->value[i]) && et_machine_set(&c->out, measured[i].key, t->value[i]);
    }
    eb_progress_end(c->b);
    return c->ok;
}

static bool write_machine(struct calibration *c, struct told *t) {
    et_output f;
    char day[16], *source, *name = eb_text("%.40s", etrt_device_name(c->b->device));
    time_t now = time(NULL);
    struct tm tm;
    strftime(day, sizeof day, "%Y-%m-%d", gmtime_r(&now, &tm));
    source = eb_text(
        "measured by etbench --calibrate on %s%.200s on %s, or as in %s",
        etrt_device_is_emulated(c->b->device) ? "an emulator, which says nothing of a GPU: " : "",
        etrt_device_name(c->b->device), day, c->b->machine->file);
    c->out.name = name;
    c->out.source = source;
    bool ok = eb_file_open(&f, c->b->o->output);
    if (ok) {
        et_machine_print(&c->out, f.to, comment, t);
        ok = eb_file_close(&f);
    }
    free(name);
    free(source);
    return ok;
}

/* How many workgroups the device runs at once, as far as it tells. */
static int workgroups_of(const struct eb_bench *b) {
    etrt_device_info info;
    if (b->o->workgroups) return (int)b->o->workgroups;
    for (int i = 0; b->device && etrt_device_at(i, &info) == ETRT_OK; i++)
        if (strcmp(info.name, etrt_device_name(b->device)) == 0 && info.cus) return (int)info.cus;
    return b->machine->cus;
}

static bool calibrate(struct calibration *c) {
    struct eb_bench *b = c->b;
    if (!eb_device_open(b) || !(b->folder = eb_folder())) return false;
    if (!b->machine)
        return eb_fail("there is no machine for %s to begin with: --machine", b->target);
    bool emulated = b->device && etrt_device_is_emulated(b->device);
    c->out = *b->machine;
    c->scale = (struct eb_scale){.workgroups = workgroups_of(b),
                                 .waves = b->machine->waves,
                                 .wave_size = b->machine->wave_size,
                                 .tiles = emulated ? 4 : 24,
                                 .row = emulated ? 512 : 8192,
                                 .words = emulated ? 1 << 12 : 1 << 26,
                                 .depth = emulated ? 256 : 4096,
                                 .lanes = 1024};
    if (c->scale.workgroups < 3) return eb_fail("--calibrate needs at least three workgroups");
    if (!b->device) {
        for (int i = 0; i < EB_PROBES; i++)
            if (!compile(c, i)) return false;
        return true;
    }
    struct told t = {.c = c};
    c->ok = true;
    c->random = b->o->seed;
    return measure_all(c, &t) && write_machine(c, &t);
}

bool eb_calibrate(const struct eb_options *o) {
    struct eb_bench b = {.o = o};
    struct calibration c = {.b = &b};
    bool ok = calibrate(&c);
    for (int i = 0; i < EB_PROBES; i++)
        unload(&c, i);
    eb_columns_free(&b);
    return ok;
}
