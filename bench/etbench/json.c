/* Results for programs. README.md says what is in it. */
#include "bench/etbench/etbench.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>

static void put(json_t *object, const char *key, json_t *value) {
    if (json_object_set_new(object, key, value) == 0) return;
    eb_fail("out of memory");
    exit(1);
}

static void put_text(json_t *object, const char *key, const char *text) {
    json_t *s = text ? json_string(text) : json_null();
    put(object, key, s ? s : json_string("(not UTF-8)"));
}

static json_t *device(const struct eb_bench *b) {
    if (!b->device) return json_null();
    json_t *d = json_object();
    put_text(d, "name", etrt_device_name(b->device));
    put_text(d, "isa", etrt_device_isa(b->device));
    put(d, "emulated", json_boolean(etrt_device_is_emulated(b->device)));
    put(d, "cus", json_integer(etrt_device_cus(b->device)));
    return d;
}

static json_t *column(const struct eb_column *c) {
    json_t *o = json_object();
    put_text(o, "name", c->name);
    put_text(o, "file", c->file);
    put_text(o, "schedule_asked", c->asked ? et_schedule_name(c->asked) : NULL);
    put_text(o, "schedule", c->schedule);
    put(o, "predicted_only", json_boolean(!c->model));
    put(o, "compile_seconds", c->arena ? json_real(c->compile_seconds) : json_null());
    put(o, "code_bytes", c->code_bytes ? json_integer(c->code_bytes) : json_null());
    return o;
}

static json_t *ratio(const struct eb_bench *b, const struct eb_cell *base,
                     const struct eb_cell *cell, enum eb_metric m) {
    struct eb_ratio r =
        eb_ratio_of(cell->sample[m], cell->n[m], base->sample[m], base->n[m], b->o->seed);
    if (isnan(r.value)) return json_null();
    json_t *o = json_object();
    put(o, "value", json_real(r.value));
    put(o, "lo", json_real(r.lo));
    put(o, "hi", json_real(r.hi));
    return o;
}

static json_t *metric(const struct eb_bench *b, const struct eb_point *p, int c, enum eb_metric m) {
    const struct eb_cell *cell = &p->cell[c];
    struct eb_summary s = eb_summarise(cell->sample[m], cell->n[m]);
    json_t *o = json_object(), *samples = json_array();
    put(o, "median", json_real(s.median));
    put(o, "q1", json_real(s.q1));
    put(o, "q3", json_real(s.q3));
    put(o, "least", json_real(s.least));
    put(o, "most", json_real(s.most));
    for (int i = 0; i < cell->n[m]; i++)
        json_array_append_new(samples, json_real(cell->sample[m][i]));
    put(o, "samples", samples);
    if (c) put(o, "ratio", ratio(b, &p->cell[0], cell, m));
    return o;
}

static json_t *prediction(const struct eb_bench *b, const struct eb_cell *cell) {
    const et_sim_result *r = &cell->prediction;
    json_t *o = json_object();
    put_text(o, "machine", b->machine->name);
    put(o, "routing_from_device", json_boolean(cell->routing_from_device));
    put(o, "us", json_real(r->us));
    put(o, "body", json_real(r->body));
    put(o, "wait", json_real(r->wait));
    put(o, "schedule", json_real(r->schedule));
    put(o, "memory_bytes", json_real(r->memory_bytes));
    put(o, "tasks", json_integer(r->tasks));
    put(o, "held", json_integer(r->held));
    put(o, "pushes", json_integer(r->pushes));
    put(o, "stolen", json_integer(r->stolen));
    put(o, "kernels", json_integer(r->kernels));
    return o;
}

static json_t *tasks(const timeline_summary *s) {
    json_t *o = json_object();
    put(o, "tasks", json_integer(s->spans));
    put(o, "instructions", json_real(s->total));
    put(o, "body", json_real(s->body));
    put(o, "wait", json_real(s->waiting));
    put(o, "idle", json_real(s->idle));
    put(o, "schedule", json_real(s->scheduling));
    return o;
}

static json_t *memory(const struct eb_memory *m) {
    json_t *o = json_object();
    put_text(o, "task", m->task);
    put(o, "tiles", json_real(m->tiles));
    put(o, "bytes_read", json_real(m->bytes));
    put(o, "instructions", json_real(m->instructions));
    put(o, "round_trips", json_real(m->trips));
    put(o, "bytes_in_flight", json_real(m->in_flight));
    put(o, "told_trips", json_real(m->told));
    put(o, "used_trips", json_real(m->used));
    put(o, "cus", json_real(m->cus));
    put(o, "runs", json_real(m->runs));
    put(o, "code_bytes", json_real(m->code));
    return o;
}

static json_t *cell(const struct eb_bench *b, const struct eb_point *p, int c) {
    const struct eb_cell *data = &p->cell[c];
    json_t *o = json_object();
    put_text(o, "column", b->column[c].name);
    for (int m = 0; m < EB_METRICS; m++)
        if (data->n[m])
            put(o, eb_metric_key(b, (enum eb_metric)m), metric(b, p, c, (enum eb_metric)m));
    if (data->has_tasks) put(o, "counted", tasks(&data->tasks));
    if (data->nmemory) {
        json_t *all = json_array();
        for (int i = 0; i < data->nmemory; i++)
            json_array_append_new(all, memory(&data->memory[i]));
        put(o, "memory", all);
    }
    if (data->has_prediction)
        put(o, "prediction", prediction(b, data));
    else if (*data->why)
        put_text(o, "not_predicted", data->why);
    return o;
}

static json_t *point(const struct eb_bench *b, const struct eb_point *p) {
    json_t *o = json_object(), *dims = json_object(), *cells = json_array();
    etrt_dim_info info;
    for (int d = 0; eb_column_dim(&b->column[0], d, &info); d++)
        put(dims, info.name, json_integer(p->value[d]));
    for (int c = 0; c < b->ncolumns; c++)
        json_array_append_new(cells, cell(b, p, c));
    put_text(o, "name", p->name);
    put(o, "dims", dims);
    put(o, "columns", cells);
    return o;
}

bool eb_write_json(const struct eb_bench *b, const char *path) {
    json_t *o = json_object(), *columns = json_array(), *points = json_array();
    et_output f;
    put_text(o, "etbench", ETCC_VERSION);
    put_text(o, "target", b->target);
    put(o, "device", device(b));
    put_text(o, "machine", b->machine ? b->machine->name : NULL);
    put(o, "seed", json_integer((json_int_t)b->o->seed));
    put(o, "repeat", json_integer(b->npoints ? b->point[0].cell[0].n[EB_TIME] : 0));
    put(o, "same_results", b->device && b->nruns > 1 ? json_true() : json_null());
    for (int c = 0; c < b->ncolumns; c++)
        json_array_append_new(columns, column(&b->column[c]));
    for (int i = 0; i < b->npoints; i++)
        json_array_append_new(points, point(b, &b->point[i]));
    put(o, "columns", columns);
    put(o, "points", points);
    bool ok = eb_file_open(&f, path);
    if (ok) {
        bool written = json_dumpf(o, f.to, JSON_INDENT(1) | JSON_REAL_PRECISION(9)) == 0;
        fputs("\n", f.to);
        ok = eb_file_close(&f) && (written || eb_fail("%s: cannot be written", path));
    }
    json_decref(o);
    return ok;
}
