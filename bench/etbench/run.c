/* Launches: warm-up, then every column in turn, again and again. */
#include "bench/etbench/etbench.h"
#include "ir/base/clock.h"

#include <math.h>
#include <stdlib.h>

static long warmups(const struct eb_bench *b) {
    if (b->o->warmup >= 0) return b->o->warmup;
    return etrt_device_is_emulated(b->device) ? 1 : 10;
}

static long repetitions(const struct eb_bench *b) {
    if (b->o->repeat >= 0) return b->o->repeat;
    return etrt_device_is_emulated(b->device) ? 5 : 100;
}

static void add(struct eb_cell *cell, enum eb_metric m, double value) {
    cell->sample[m][cell->n[m]++] = value;
}

/* One launch of column C; what it took goes to CELL, unless that is NULL. */
static bool launch(struct eb_bench *b, struct eb_column *c, struct eb_cell *cell) {
    etrt_stats before, after;
    double seconds;
    etrt_status st = b->between.session ? etrt_run(b->between.session) : ETRT_OK;
    if (st != ETRT_OK) return eb_fail_status(b->between.name, st);
    etrt_device_stats(b->device, &before);
    double from = et_seconds();
    st = etrt_run(c->session);
    double all = et_seconds() - from;
    if (st == ETRT_OK) st = etrt_launch_seconds(c->session, &seconds);
    if (st != ETRT_OK) return eb_fail_status(c->name, st);
    etrt_device_stats(b->device, &after);
    if (!cell) return true;
    add(cell, EB_TIME, seconds * 1e6);
    if (b->o->resident) add(cell, EB_LAUNCH, all * 1e6);
    cell->beside += all - seconds;
    if (!etrt_device_is_emulated(b->device)) return true;
    add(cell, EB_INSTRUCTIONS, (double)(after.instructions - before.instructions));
    add(cell, EB_READ, (double)(after.bytes_read - before.bytes_read));
    add(cell, EB_WRITTEN, (double)(after.bytes_written - before.bytes_written));
    add(cell, EB_ATOMICS, (double)(after.atomics - before.atomics));
    add(cell, EB_POLLS, (double)(after.sleeps - before.sleeps));
    add(cell, EB_BARRIERS, (double)(after.barriers - before.barriers));
    return true;
}

static bool compare_all(struct eb_bench *b, const struct eb_point *p) {
    bool ok = true;
    for (int c = 1; c < b->nruns; c++)
        ok &= eb_same_results(b, &b->column[c], p);
    return ok;
}

static void tell(const struct eb_bench *b, const struct eb_point *p, long rep, int c) {
    long reps = warmups(b) + repetitions(b);
    long done = ((p - b->point) * reps + rep) * b->nruns + c;
    char *what = eb_text("%s %s", p->name, b->column[c].name);
    eb_progress(b, (int)done, (int)(b->npoints * reps * b->nruns), what);
    free(what);
}

/* What launches have done to the cache of experts, FROM the first that counts. */
static void note_experts(struct eb_column *c, struct eb_cell *cell, bool from) {
    etrt_cache_info now = {0}, *was = &cell->experts;
    etrt_model_cached(c->model, &now);
    now.used -= was->used;
    now.hits -= was->hits;
    now.copied_bytes -= was->copied_bytes;
    *was = now;
    if (from) cell->beside = 0;
}

/* ---- steps of kernels that stay, by the host's clock ---- */

enum { MODELS = 16 };

static bool can_stay(const struct eb_column *c) {
    return etrt_model_manifest(c->model)->resident;
}

/* Of a column's models, all of which have what they need. */
struct stay {
    etrt_residence *r;
    const char *name[MODELS]; /* NULL: of the one that there is */
    int n;
    double alone[MODELS]; /* seconds that a step took, all added up */
    struct eb_cell *cell;
};

static bool alone(struct stay *s, long warm, long reps) {
    for (long rep = 0; rep < warm + reps; rep++) {
        double sum = 0;
        for (int m = 0; m < s->n; m++) {
            double from = et_seconds();
            etrt_status st = etrt_residence_post(s->r, s->name[m]);
            if (st == ETRT_OK) st = etrt_residence_done(s->r, s->name[m], INFINITY);
            if (st != ETRT_OK) return eb_fail_status("a step", st);
            double took = et_seconds() - from;
            sum += took;
            if (rep >= warm) s->alone[m] += took;
        }
        if (rep >= warm) add(s->cell, EB_STEP, sum * 1e6);
    }
    return true;
}

/* All ask again as soon as they are answered, until each has been REPS times. The times of their
 * steps go to TOOK, of ROOM. */
static bool together(struct stay *s, long reps, double *took, long room, long *out_n) {
    double posted[MODELS], from = et_seconds(), progress = 0;
    bool busy[MODELS] = {false};
    long done[MODELS] = {0}, least = 0, running = 0;
    *out_n = 0;
    while (least < reps || running) {
        least = reps;
        for (int m = 0; m < s->n; m++) {
            etrt_status st = busy[m] ? etrt_residence_done(s->r, s->name[m], 0) : ETRT_OK;
            if (busy[m] && st == ETRT_OK) {
                done[m]++;
                running--;
                if (*out_n < room) took[(*out_n)++] = et_seconds() - posted[m];
            }
            busy[m] &= st == ETRT_TIMEOUT;
            if (done[m] < least) least = done[m];
            if (st != ETRT_OK && st != ETRT_TIMEOUT) return eb_fail_status("a step", st);
        }
        for (int m = 0; m < s->n && least < reps; m++) {
            if (busy[m]) continue;
            posted[m] = et_seconds();
            etrt_status st = etrt_residence_post(s->r, s->name[m]);
            if (st != ETRT_OK) return eb_fail_status("a step", st);
            busy[m] = true;
            running++;
        }
    }
    double all = et_seconds() - from;
    for (int m = 0; m < s->n; m++)
        progress += (double)done[m] / all * s->alone[m] / (double)reps;
    add(s->cell, EB_PROGRESS, progress);
    return true;
}

static bool stay(struct eb_column *c, struct eb_cell *cell, long warm, long reps) {
    struct stay s = {.cell = cell};
    while (s.n < MODELS && (s.name[s.n] = etrt_model_part(c->model, s.n)))
        s.n++;
    if (!s.n) s.n = 1;
    etrt_status st = etrt_residence_open(c->session, ETRT_RANGES_ELASTIC, &s.r);
    if (st != ETRT_OK) return eb_fail_status(c->name, st);
    bool ok = alone(&s, warm, reps);
    long n = cell->n[EB_STEP], room = 16 * s.n * reps;
    double *took = eb_alloc((size_t)room * sizeof *took);
    if (s.n == 1)
        for (long i = 0; i < n; i++)
            took[i] = cell->sample[EB_STEP][i] / 1e6;
    else
        ok = ok && together(&s, reps, took, room, &n);
    if (ok) add(cell, EB_STEP_P99, eb_quantile(took, (int)n, 0.99) * 1e6);
    free(took);
    st = etrt_residence_close(s.r);
    return ok && (st == ETRT_OK || eb_fail_status(c->name, st));
}

/* ---- all of it ---- */

static bool run_point(struct eb_bench *b, struct eb_point *p) {
    long warm = warmups(b), reps = repetitions(b);
    for (int c = 0; c < b->nruns; c++) {
        if (!eb_bind_point(b, &b->column[c], p)) return false;
        for (int m = EB_TIME; m <= EB_BARRIERS; m++)
            p->cell[c].sample[m] = eb_alloc((size_t)reps * sizeof(double));
    }
    for (long rep = 0; rep < warm + reps; rep++) {
        b->draw += b->o->redraw;
        for (int c = 0; c < b->nruns; c++) {
            tell(b, p, rep, c);
            if (rep == warm) note_experts(&b->column[c], &p->cell[c], true);
            if (b->o->redraw && !eb_redraw(b, &b->column[c], p)) return false;
            if (!launch(b, &b->column[c], rep < warm ? NULL : &p->cell[c])) return false;
        }
        if ((rep == 0 || rep == warm + reps - 1) && !compare_all(b, p)) return false;
    }
    for (int c = 0; b->o->resident && c < b->nruns; c++)
        if (can_stay(&b->column[c]) && !stay(&b->column[c], &p->cell[c], warm, reps)) return false;
    if (b->o->resident && !compare_all(b, p)) return false;
    for (int c = 0; c < b->nruns; c++)
        note_experts(&b->column[c], &p->cell[c], false);
    for (int c = 0; eb_counts_memory(b) && c < b->nruns; c++)
        if (!eb_count_memory(b, p, &b->column[c], &p->cell[c])) return false;
    return true;
}

/* Where clocks count instructions, the launch of a kernel that records its tasks tells what part
 * of them is scheduling. */
static bool count_tasks(struct eb_bench *b, struct eb_column *c, const struct eb_point *p,
                        struct eb_cell *cell) {
    if (!c->arena && !etrt_model_traceable(c->model)) return true;
    timeline *t = eb_record(b, c, p, c->name);
    if (!t) return false;
    timeline_summarise(t, &cell->tasks);
    timeline_destroy(t);
    cell->has_tasks = cell->tasks.spans > 0;
    if (!cell->has_tasks) return true;
    double all = cell->tasks.total * cell->tasks.rows / cell->tasks.spans;
    for (int m = EB_SPAN; m <= EB_TASK_SCHEDULING; m++)
        cell->sample[m] = eb_alloc(sizeof(double));
    add(cell, EB_SPAN, cell->tasks.total);
    add(cell, EB_TASK_BODY, cell->tasks.body * all);
    add(cell, EB_TASK_SCHEDULING, cell->tasks.scheduling * all);
    return true;
}

static bool counts_tasks(const struct eb_bench *b) {
    return b->device && !b->o->no_tasks && etrt_device_counted(b->device);
}

bool eb_run(struct eb_bench *b) {
    for (int i = 0; i < b->npoints; i++) {
        double from = et_seconds();
        if (b->device && !run_point(b, &b->point[i])) return false;
        eb_predict(b, &b->point[i]); /* it may need what the launches left */
        for (int c = 0; counts_tasks(b) && c < b->nruns; c++)
            if (!count_tasks(b, &b->column[c], &b->point[i], &b->point[i].cell[c])) return false;
        b->point[i].seconds = et_seconds() - from;
    }
    return true;
}
