/* check_trace FILE.etg FOLDER TARGET SCHEDULE DEVICE [DIM=VALUE]... [TENSOR<LIMIT]...
 *
 * FILE compiled with and without --profile-kernel and run on random tensors computes the same bits,
 * traced or not; a trace holds every task of the launch once; nothing ran before what it waits for;
 * and the timeline made of it is written as FOLDER/trace.json and FOLDER/page.html, read back here
 * and by the tests of the page. Integers of TENSOR stay below LIMIT. CHECK_TRACE_CAPTURE=DIR
 * captures the first traced launch. */
#include "bench/etbench/trace.h"
#include "frontend/etcc/driver.h"
#include "passes/timeline/int.h"
#include "passes/timeline/link.h"
#include "runtime/etrt.h"
#include "runtime/etrt_abi.h"
#include "runtime/etrt_dtype.h"
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TENSORS = 64, MAX_SYMS = 16 };

struct trace_check {
    const char *file, *folder, *target, *schedule, *device_spec;
    char plain[1024], profiled[1024];
    et_arena *arena;
    et_program *whole, *part;
    int64_t syms[MAX_SYMS];
    void *result[MAX_TENSORS]; /* outputs and states after the first run */
    char **args;
};

static void die(const char *what) {
    fprintf(stderr, "check_trace: %s\n", what);
    exit(1);
}

#define RT(call)                                                                                   \
    do {                                                                                           \
        if ((call) != ETRT_OK) {                                                                   \
            fprintf(stderr, "check_trace: %s: %s\n", #call, etrt_last_error());                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static void compile(struct trace_check *c, const char *output, bool profile,
                    const char *break_event) {
    et_options o = {.input = c->file,
                    .output = output,
                    .target = c->target,
                    .schedule = (et_schedule_kind)et_mode_find(et_schedule_name, c->schedule),
                    .profile_kernel = profile,
                    .break_event = break_event,
                    .variants = 2,
                    .arena = c->arena,
                    .out_program = &c->whole};
    if (!et_drive(&o)) die("the model does not compile");
}

/* ---- tensors ---- */

static uint32_t draw(uint64_t *s) {
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*s >> 33);
}

/* The word of the command line that says something of NAME, after its OPERATOR; or NULL. */
static const char *argument(const struct trace_check *c, const char *name, char operator) {
    size_t n = strlen(name);
    for (char **a = c->args; *a; a++)
        if (strncmp(*a, name, n) == 0 && (*a)[n] == operator) return *a + n + 1;
    return NULL;
}

/* Integers count up, small and distinct unless they have a limit. */
static int64_t integer(const struct trace_check *c, const char *name, int64_t i) {
    const char *limit = argument(c, name, '<');
    return limit ? i % atoll(limit) : i;
}

static void *random_tensor(const struct trace_check *c, const etrt_tensor_info *t, uint64_t seed) {
    size_t n = (size_t)t->max_bytes, wide = t->dtype == ETRT_F32 || t->dtype == ETRT_I32 ? 4 : 2;
    char *data = malloc(n + 1);
    for (size_t i = 0; i < n / wide; i++) {
        float f = (float)((int)(draw(&seed) % 2001) - 1000) / 4000.0f;
        etrt_element_set((int)t->dtype, data, (int64_t)i,
                         t->dtype == ETRT_I32 ? (double)integer(c, t->name, (int64_t)i)
                                              : (double)f);
    }
    return data;
}

static size_t size_now(etrt_session *s, const etrt_tensor_info *t) {
    int64_t shape[ETRT_MAX_RANK];
    int rank;
    size_t n = t->dtype == ETRT_F32 || t->dtype == ETRT_I32 ? 4 : 2;
    RT(etrt_shape(s, t->name, shape, &rank));
    for (int i = 0; i < rank; i++)
        n *= (size_t)shape[i];
    return n;
}

static void load_weights(const struct trace_check *c, etrt_model *m) {
    etrt_tensor_info t;
    for (int i = 0; etrt_model_tensor(m, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_WEIGHT) continue;
        void *data = random_tensor(c, &t, (uint64_t)i + 1);
        RT(etrt_model_weight(m, t.name, data, (size_t)t.max_bytes));
        free(data);
    }
}

static void give(const struct trace_check *c, etrt_model *m, etrt_session *s) {
    etrt_tensor_info t;
    for (int i = 0; etrt_model_tensor(m, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_INPUT && t.kind != ETRT_STATE) continue;
        void *data = random_tensor(c, &t, (uint64_t)i + 1);
        if (t.kind == ETRT_INPUT) RT(etrt_bind(s, t.name, data, size_now(s, &t)));
        if (t.kind == ETRT_STATE) RT(etrt_write(s, t.name, data, size_now(s, &t)));
        free(data);
    }
}

/* The first run's results are kept; later ones must be the same. */
static void compare(struct trace_check *c, etrt_model *m, etrt_session *s, const char *run) {
    etrt_tensor_info t;
    for (int i = 0; etrt_model_tensor(m, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_OUTPUT && t.kind != ETRT_STATE) continue;
        size_t n = size_now(s, &t);
        char *got = malloc(n + 1);
        RT(etrt_read(s, t.name, got, n));
        if (i >= MAX_TENSORS) die("too many tensors");
        if (c->result[i] && memcmp(c->result[i], got, n) != 0) {
            fprintf(stderr, "check_trace: %s: %s has other bits\n", run, t.name);
            exit(1);
        }
        free(c->result[i]);
        c->result[i] = got;
    }
}

static void run(struct trace_check *c, etrt_model *m, etrt_session *s, const char *what) {
    give(c, m, s);
    RT(etrt_run(s));
    compare(c, m, s, what);
}

static void open_session(struct trace_check *c, etrt_device *dev, const char *path, etrt_model **m,
                         etrt_session **s) {
    RT(etrt_model_load(dev, path, m));
    load_weights(c, *m);
    RT(etrt_session_create(*m, s));
    for (int i = 0; i < et_sym_count(c->whole->g->exprs); i++)
        RT(etrt_set_dim(*s, et_sym_name(c->whole->g->exprs, i), c->syms[i]));
}

/* ---- the timeline against the program ---- */

/* Waits may read the inputs. */
static bool read_input(void *ctx, int tensor, int64_t iteration, const int64_t *index,
                       int64_t *out) {
    const struct trace_check *c = ctx;
    const et_tensor *t = &c->part->tensors[tensor];
    int64_t at = 0;
    (void)iteration;
    if (t->kind != ET_TENSOR_INPUT || t->shape.dtype != ET_I32) return false;
    for (int i = 0; i < t->shape.rank; i++)
        at = at * et_eval(c->part->g->exprs, t->shape.dim[i], c->syms, NULL) + index[i];
    *out = integer(c, t->name, at);
    return true;
}

static int64_t expected_tasks(struct trace_check *c) {
    const et_program *p = c->part;
    int64_t all = 0;
    for (int k = 0; k < p->ngrids; k++) {
        int64_t n = et_eval(p->g->exprs, et_grid_tiles(c->part, &p->grids[k]), c->syms, NULL);
        for (int l = p->grids[k].loop; l >= 0; l = p->g->loops[l].parent)
            n *= et_eval(p->g->exprs, p->g->loops[l].trips, c->syms, NULL);
        all += n;
    }
    return all;
}

static int by_identity(const void *a, const void *b) {
    const timeline_span *x = a, *y = b;
    if (x->task != y->task) return x->task < y->task ? -1 : 1;
    if (x->iteration != y->iteration) return x->iteration < y->iteration ? -1 : 1;
    return (x->tile > y->tile) - (x->tile < y->tile);
}

static void check_once(struct trace_check *c, const timeline *t) {
    size_t n = (size_t)t->nspans;
    if (t->nspans != expected_tasks(c)) {
        fprintf(stderr, "check_trace: %d tasks recorded, %lld in the launch\n", t->nspans,
                (long long)expected_tasks(c));
        exit(1);
    }
    timeline_span *s = malloc(n * sizeof *s + 1);
    memcpy(s, t->span, n * sizeof *s);
    qsort(s, n, sizeof *s, by_identity);
    for (size_t i = 1; i < n; i++)
        if (by_identity(&s[i - 1], &s[i]) == 0) die("a task was recorded twice");
    free(s);
}

static void check_rows(const timeline *t) {
    for (int i = 0; i < t->nspans; i++) {
        const timeline_span *s = &t->span[i];
        if (!(s->look <= s->reached && s->reached <= s->ready && s->ready <= s->done &&
              s->done <= s->left))
            die("the times of a task are in no order");
        if (t->before[i] >= 0 && t->span[t->before[i]].left > s->reached)
            die("two tasks of one workgroup overlap");
    }
}

/* Arrivals at every counter: as many as its event needs, all before anyone went on. */
static void check_counters(struct trace_check *c, const timeline *t) {
    size_t words = (size_t)c->part->event_words;
    double *last = calloc(words, sizeof *last);
    int *arrivals = calloc(words, sizeof *arrivals);
    for (int i = 0; i < t->narrivals; i++) {
        uint32_t w = t->arrival[i].counter;
        if (w >= words) die("an arrival at no counter");
        arrivals[w]++;
        double done = t->span[t->arrival[i].span].done;
        if (done > last[w]) last[w] = done;
    }
    for (int i = 0; i < t->nawaits; i++)
        for (uint32_t w = t->await[i].range.from; w < t->await[i].range.to; w++) {
            if (w >= words || !arrivals[w]) die("a task waits for a counter nothing arrives at");
            if (last[w] > t->span[t->await[i].span].ready)
                die("a task went on before what it waits for was done");
        }
    for (int k = 0; k < c->part->nevents; k++) {
        const et_event *e = &c->part->events[k];
        int64_t lo, hi;
        if (!et_bounds(c->part->g->exprs, e->count, &lo, &hi) || e->var[0]) continue;
        int64_t need = et_eval(c->part->g->exprs, e->count, c->syms, NULL);
        for (int w = e->base; w < e->base + e->words; w++)
            if (arrivals[w] && arrivals[w] != need) die("an event counts to another number");
    }
    free(arrivals);
    free(last);
}

static void check_path(const timeline *t) {
    if (!t->nspans) return;
    if (!t->npath) die("there is no critical path");
    for (int i = 0; i < t->nspans; i++)
        if (t->span[i].left > t->span[t->path[t->npath - 1]].left)
            die("the critical path does not end with the last task");
    for (int i = 1; i < t->npath; i++) {
        const timeline_span *a = &t->span[t->path[i - 1]], *b = &t->span[t->path[i]];
        if (a->done > b->ready) die("the critical path goes back in time");
        if (t->before[t->path[i]] != t->path[i - 1] && t->cause[t->path[i]] != t->path[i - 1])
            die("the critical path leaps");
    }
}

/* ---- what is written ---- */

static double number(json_t *o, const char *key) {
    json_t *v = json_object_get(o, key);
    if (!json_is_number(v)) die("an event of the trace lacks a number");
    return json_number_value(v);
}

static json_t *flow_begins[1 << 20];

static void check_flow(json_t *e, const char *phase, const timeline *t) {
    int64_t id = (int64_t)number(e, "id");
    if (id < 0 || id >= t->nspans) die("a flow of no task");
    if (*phase == 's') {
        flow_begins[id] = e;
        return;
    }
    if (!flow_begins[id] || number(flow_begins[id], "ts") > number(e, "ts"))
        die("a flow ends before it begins");
    if (strcmp(json_string_value(json_object_get(e, "bp")), "e") != 0) die("a flow ends nowhere");
    flow_begins[id] = NULL;
}

/* Slices of a thread come in the order they begin, outer ones first: they must nest. */
static void check_slice(json_t *e, double *end, int rows) {
    int row = (int)number(e, "tid");
    if (row < 0 || row >= rows) die("a slice of no thread");
    double from = number(e, "ts"), to = from + number(e, "dur");
    bool task = strcmp(json_string_value(json_object_get(e, "cat")), "task") == 0;
    if (from < 0 || to < from) die("a slice ends before it begins");
    if (task && from < end[row] - 1e-6) die("slices of two tasks overlap");
    if (!task && to > end[row] + 1e-6) die("a part of a task outlasts it");
    if (task) end[row] = to;
}

static void check_chrome(const char *path, const timeline *t) {
    json_error_t error;
    json_t *root = json_load_file(path, 0, &error), *e;
    size_t i;
    int tasks = 0, flows = 0;
    double *end = calloc((size_t)t->nrows + 1, sizeof *end);
    if (!root) die(error.text);
    json_array_foreach(json_object_get(root, "traceEvents"), i, e) {
        const char *phase = json_string_value(json_object_get(e, "ph"));
        if (!phase || !json_is_string(json_object_get(e, "name"))) die("an event without a name");
        number(e, "pid");
        if (*phase == 'X') {
            check_slice(e, end, t->nrows);
            tasks += strcmp(json_string_value(json_object_get(e, "cat")), "task") == 0;
        } else if (*phase == 's' || *phase == 'f') {
            check_flow(e, phase, t);
            flows += *phase == 'f';
        } else if (*phase != 'M') {
            die("an event of an unknown phase");
        }
    }
    for (int k = 0; k < t->nspans; k++)
        if (flow_begins[k]) die("a flow without an end");
    if (tasks != t->nspans) die("the trace lacks tasks");
    if (t->nawaits && !flows) die("the trace has no flows");
    json_decref(root);
    free(end);
}

static void write_both(struct trace_check *c, timeline *t) {
    char path[1200], err[TIMELINE_ERR];
    snprintf(path, sizeof path, "%s/trace.json", c->folder);
    if (!timeline_write_chrome(t, path, err)) die(err);
    check_chrome(path, t);
    snprintf(path, sizeof path, "%s/page.html", c->folder);
    if (!timeline_write_html(&t, 1, path, err)) die(err);
}

static void check_timeline(struct trace_check *c, etrt_device *dev, etrt_model *m,
                           etrt_session *s) {
    char err[TIMELINE_ERR], title[256];
    snprintf(title, sizeof title, "%s, %s", etrt_model_name(m), c->schedule);
    timeline *t = timeline_of_launch(dev, m, s, title, err);
    if (!t) die(err);
    if (timeline_link(t, c->whole, c->syms, read_input, c)) die("some dependencies are not known");
    timeline_summary sum;
    timeline_summarise(t, &sum);
    double all = sum.body + sum.waiting + sum.idle + sum.scheduling;
    if (sum.total > 0 && (all < 0.999 || all > 1.001)) die("the shares do not add up");
    check_once(c, t);
    check_rows(t);
    check_counters(c, t);
    check_path(t);
    write_both(c, t);
    printf("%d tasks in %d rows on %d dies: bodies %.1f %%, waiting %.1f %%, scheduling %.1f %%; "
           "critical path of %d\n",
           sum.spans, sum.rows, sum.dies, 100 * sum.body, 100 * sum.waiting, 100 * sum.scheduling,
           sum.path);
    timeline_destroy(t);
}

static void refuses(struct trace_check *c, etrt_device *dev) {
    etrt_model *m;
    etrt_session *s;
    etrt_trace_info info;
    open_session(c, dev, c->plain, &m, &s);
    if (etrt_model_traceable(m) || etrt_session_trace(s, 1) != ETRT_UNSUPPORTED)
        die("a kernel without a profile can be traced");
    if (etrt_session_trace_read(s, NULL, 0, &info) != ETRT_INVALID) die("it has a trace");
    run(c, m, s, "without a profile");
    etrt_session_destroy(s);
    etrt_model_unload(m);
}

static void traces(struct trace_check *c, etrt_device *dev) {
    etrt_model *m;
    etrt_session *s;
    etrt_trace_info info;
    open_session(c, dev, c->profiled, &m, &s);
    run(c, m, s, "with a profile, not traced");
    if (etrt_session_trace_read(s, NULL, 0, &info) != ETRT_INVALID) die("a trace of no launch");
    RT(etrt_session_trace(s, 1));
    if (etrt_session_trace_read(s, NULL, 0, &info) != ETRT_INVALID) die("a trace of no launch");
    if (getenv("CHECK_TRACE_CAPTURE")) RT(etrt_capture(s, getenv("CHECK_TRACE_CAPTURE")));
    for (int i = 0; i < 2; i++)
        run(c, m, s, "traced");
    check_timeline(c, dev, m, s);
    etrt_trace_task few[3];
    RT(etrt_session_trace_read(s, few, 3, &info));
    if (info.tasks != (size_t)expected_tasks(c) || info.dropped) die("a short read counts wrong");
    RT(etrt_session_trace(s, 0));
    run(c, m, s, "traced no more");
    etrt_session_destroy(s);
    etrt_model_unload(m);
}

/* ---- bad days ---- */

/* Seal the manifest of a file anew after its text was changed. */
static void seal(char *code, size_t n) {
    char *frame = memmem(code, n, ETRT_MANIFEST_MAGIC, sizeof ETRT_MANIFEST_MAGIC - 1), sum[9];
    if (!frame) die("the code object has no manifest");
    char *numbers = frame + sizeof ETRT_MANIFEST_MAGIC - 1;
    size_t bytes = strtoul(numbers, NULL, 16);
    snprintf(sum, sizeof sum, "%08x", etrt_manifest_sum(frame + ETRT_MANIFEST_HEAD, bytes));
    memcpy(numbers + 9, sum, 8);
}

/* A kernel whose manifest promises one task: what does not fit is dropped and counted. */
static void lies(struct trace_check *c, etrt_device *dev) {
    static const char key[] = "\"profile\": {\"tasks\": ";
    char path[1200];
    FILE *f = fopen(c->profiled, "rb");
    fseek(f, 0, SEEK_END);
    size_t n = (size_t)ftell(f);
    char *code = malloc(n + 1);
    rewind(f);
    if (fread(code, 1, n, f) != n) die("cannot read the code object");
    fclose(f);
    char *at = memmem(code, n, key, sizeof key - 1);
    if (!at) die("the manifest has no profile");
    for (at += sizeof key - 1; at[1] != '}'; at++)
        *at = ' ';
    *at = '1';
    seal(code, n);
    snprintf(path, sizeof path, "%s/lying.hsaco", c->folder);
    f = fopen(path, "wb");
    if (fwrite(code, 1, n, f) != n || fclose(f) != 0) die("cannot write a code object");
    free(code);
    etrt_model *m;
    etrt_session *s;
    etrt_trace_info info;
    open_session(c, dev, path, &m, &s);
    RT(etrt_session_trace(s, 1));
    run(c, m, s, "with too little room for its trace");
    RT(etrt_session_trace_read(s, NULL, 0, &info));
    if ((int64_t)(info.tasks + info.dropped) != expected_tasks(c))
        die("recorded and dropped tasks are not all");
    printf("%llu of them dropped where there is room for few\n", (unsigned long long)info.dropped);
    etrt_session_destroy(s);
    etrt_model_unload(m);
}

/* A launch that gives up leaves what it finished. */
static void gives_up(struct trace_check *c, etrt_device *dev) {
    char path[1200];
    etrt_model *m;
    etrt_session *s;
    etrt_trace_info info;
    if (!c->part->nevents || c->whole->nvariants) return;
    snprintf(path, sizeof path, "%s/broken.hsaco", c->folder);
    compile(c, path, true, c->part->events[c->part->nevents - 1].name);
    open_session(c, dev, path, &m, &s);
    RT(etrt_set_wait_limit(s, 0.002));
    RT(etrt_session_trace(s, 1));
    give(c, m, s);
    if (etrt_run(s) != ETRT_WAIT) die("a broken wait is met");
    RT(etrt_session_trace_read(s, NULL, 0, &info));
    if (!info.tasks || (int64_t)info.tasks >= expected_tasks(c))
        die("a launch that gave up has no tasks, or all");
    etrt_session_destroy(s);
    etrt_model_unload(m);
}

int main(int argc, char **argv) {
    struct trace_check c = {.arena = et_arena_create()};
    if (argc < 6) die("FILE FOLDER TARGET SCHEDULE DEVICE DIM=VALUE...");
    c.file = argv[1];
    c.folder = argv[2];
    c.target = argv[3];
    c.schedule = argv[4];
    c.device_spec = argv[5];
    c.args = argv + 6;
    snprintf(c.plain, sizeof c.plain, "%s/plain.hsaco", c.folder);
    snprintf(c.profiled, sizeof c.profiled, "%s/profiled.hsaco", c.folder);
    compile(&c, c.plain, false, NULL);
    compile(&c, c.profiled, true, NULL);
    for (int i = 0; i < et_sym_count(c.whole->g->exprs) && i < MAX_SYMS; i++) {
        int64_t hi;
        et_sym_range(c.whole->g->exprs, i, &c.syms[i], &hi);
        const char *value = argument(&c, et_sym_name(c.whole->g->exprs, i), '=');
        if (value) c.syms[i] = atoll(value);
    }
    c.part = c.whole;
    for (int i = c.whole->nvariants - 1; i >= 0; i--)
        if (c.syms[c.whole->variant_sym] <= c.whole->variant[i].upto)
            c.part = c.whole->variant[i].program;
    etrt_device *dev;
    RT(etrt_device_open(c.device_spec, &dev));
    refuses(&c, dev);
    traces(&c, dev);
    lies(&c, dev);
    gives_up(&c, dev);
    etrt_device_close(dev);
    for (int i = 0; i < MAX_TENSORS; i++)
        free(c.result[i]);
    et_arena_destroy(c.arena);
    return 0;
}
