/* --profile: the times of all task grids of a model, at several dims and on several numbers of
 * workgroups, as a file for etcc --profile. A device is timed. The emulator counts instructions,
 * from which the machine model predicts times, together with what it says of bytes and products. */
#include "bench/etbench/etbench.h"

#include "passes/cost/cost.h"
#include "passes/timeline/link.h"

#include <stdlib.h>
#include <string.h>

static bool add_point(struct eb_bench *b, const et_program *part, const int64_t *syms) {
    struct eb_point p = {.name = NULL};
    etrt_dim_info info;
    char *name = eb_text("%s", "");
    for (int d = 0; eb_column_dim(&b->column[0], d, &info); d++) {
        p.value[d] = info.hi;
        for (int s = 0; s < et_sym_count(part->g->exprs) && s < ET_MAX_SYMS; s++)
            if (strcmp(et_sym_name(part->g->exprs, s), info.name) == 0) p.value[d] = syms[s];
        char *more =
            eb_text("%s%s%s=%lld", name, *name ? " " : "", info.name, (long long)p.value[d]);
        free(name);
        name = more;
    }
    for (int i = 0; i < b->npoints; i++)
        if (strcmp(b->point[i].name, name) == 0) {
            free(name);
            return true;
        }
    p.name = name;
    p.cell = eb_alloc(EB_MAX_COLUMNS * sizeof *p.cell);
    memset(p.cell, 0, EB_MAX_COLUMNS * sizeof *p.cell);
    b->point[b->npoints++] = p;
    return b->npoints <= EB_MAX_POINTS;
}

/* What the user asked for, or else where the passes look: the least, the middle and the largest
 * dims of every part of the program. */
bool eb_points_of_passes(struct eb_bench *b) {
    et_program *part;
    if (b->o->nsweeps) return eb_points_make(b);
    b->point = eb_alloc(ET_SAMPLES * ET_MAX_VARIANTS * sizeof *b->point);
    for (int i = 0; (part = et_program_part(b->column[0].program, i)); i++) {
        int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
        et_sample_symbols(part->g->exprs, syms);
        for (int s = 0; s < ET_SAMPLES; s++)
            add_point(b, part, syms[s]);
    }
    return true;
}

/* ---- one launch ---- */

struct launch {
    struct eb_bench *b;
    struct eb_column *c; /* that records its tasks */
    et_program *part;    /* that runs */
    int first;           /* its first task */
    int64_t syms[EB_MAX_SETTINGS];
    etrt_trace_task *trace;
    etrt_trace_info info;
    struct eb_task *task; /* room for all of one grid */
};

static bool launch(struct launch *l, int width) {
    etrt_session *s = l->c->session;
    etrt_status st = etrt_set_workgroups(s, width);
    if (st == ETRT_OK) st = etrt_run(s);
    if (st == ETRT_OK) st = etrt_session_trace_read(s, NULL, 0, &l->info);
    free(l->trace);
    free(l->task);
    l->trace = NULL;
    l->task = NULL;
    if (st != ETRT_OK) return eb_fail_status(l->c->name, st);
    if (l->info.dropped) return eb_fail("%s: more tasks than can be recorded", l->c->name);
    l->trace = eb_alloc(l->info.tasks * sizeof *l->trace);
    l->task = eb_alloc(l->info.tasks * sizeof *l->task);
    st = etrt_session_trace_read(s, l->trace, l->info.tasks, &l->info);
    return st == ETRT_OK || eb_fail_status(l->c->name, st);
}

/* The tasks of grid G, their bodies in ticks times SCALE. */
static int tasks_of(struct launch *l, int g, double scale) {
    int n = 0;
    for (size_t i = 0; i < l->info.tasks; i++) {
        const etrt_trace_task *t = &l->trace[i];
        if (t->task != l->first + g) continue;
        l->task[n++] = (struct eb_task){.iteration = t->iteration,
                                        .tile = t->tile,
                                        .workgroup = (int)t->workgroup,
                                        .us = (double)(t->done - t->ready) * scale};
    }
    return n;
}

/* Widths come in ascending order. */
static void add_time(et_profile_task *t, double width, double us) {
    double last = t->ntimes ? t->time[t->ntimes - 1].width : 0;
    if (t->ntimes < ET_PROFILE_WIDTHS && us > 0 && width > last)
        t->time[t->ntimes++] = (et_profile_time){width, us < 1e-6 ? 1e-6 : us};
}

/* ---- counted: one launch says what every tile does, wherever it runs ---- */

/* GB/s to WIDTH CUs that fill one die after the other. */
static double bandwidth(const et_machine *m, int width) {
    int die = m->cus / m->dies, dies = (width + die - 1) / die;
    double all = dies * m->die_gbs;
    return all < m->hbm_gbs ? all : m->hbm_gbs;
}

static void predict_grid(struct launch *l, int g, et_profile_task *t) {
    const et_machine *m = l->b->machine;
    int width[ET_PROFILE_WIDTHS], nwidths = eb_widths(m, m->cus, width);
    et_grid_cost c = et_grid_cost_at(l->part, &l->part->grids[g], m, l->syms);
    int n = tasks_of(l, g, m->issue_cycles / (m->clock_ghz * 1e3));
    for (int i = 0; i < n; i++) {
        if (l->task[i].us < c.tile_us) l->task[i].us = c.tile_us;
        l->task[i].us += ET_DEPENDENT_LOADS * m->latency_us;
    }
    for (int i = 0; n && i < nwidths; i++) {
        double us = eb_busiest(l->task, n, width[i]);
        double memory = c.memory_bytes / (bandwidth(m, width[i]) * 1e3);
        add_time(t, width[i], us > memory ? us : memory);
    }
}

static bool count(struct launch *l, et_profile_task *task) {
    if (!launch(l, (int)l->b->o->workgroups)) return false;
    for (int g = 0; g < l->part->ngrids; g++)
        predict_grid(l, g, &task[g]);
    return true;
}

/* ---- measured: launches on every number of workgroups ---- */

static double share_of(et_share s) {
    return s.to ? (s.to - s.from) / 1e6 : 1;
}

/* How many of so many workgroups run grid G. */
static double width_of(const struct launch *l, int g, int workgroups) {
    const et_grid *grid = &l->part->grids[g];
    double n = workgroups;
    if (l->part->g->nmodels) n *= share_of(l->part->g->model[grid->model].share);
    if (!grid->dynamic) n *= share_of(grid->range);
    return n > 1 ? n : 1;
}

static bool time_width(struct launch *l, int width, et_profile_task *task) {
    long reps = l->b->o->repeat >= 0 ? l->b->o->repeat : 20;
    int ngrids = l->part->ngrids;
    double *sample = eb_alloc((size_t)(ngrids * reps) * sizeof *sample);
    bool ok = launch(l, width); /* warms up */
    for (long r = 0; ok && r < reps; r++) {
        ok = launch(l, width);
        for (int g = 0; ok && g < ngrids; g++) {
            int n = tasks_of(l, g, 1e6 / l->info.ticks_per_second);
            sample[g * reps + r] = eb_busiest(l->task, n, 0);
        }
    }
    for (int g = 0; ok && g < ngrids; g++)
        add_time(&task[g], width_of(l, g, width),
                 eb_summarise(sample + g * reps, (int)reps).median);
    free(sample);
    return ok;
}

static bool measure(struct launch *l, et_profile_task *task) {
    int width[ET_PROFILE_WIDTHS];
    int most = l->b->o->workgroups ? (int)l->b->o->workgroups : (int)etrt_device_cus(l->b->device);
    int n = eb_widths(l->b->machine, most, width);
    for (int i = 0; i < n; i++)
        if (!time_width(l, width[i], task)) return false;
    return true;
}

/* ---- all of it ---- */

/* "N=16 M=2", in the order of the program's symbols. */
static const char *shape_text(et_arena *arena, const et_program *p, const int64_t *syms) {
    const char *text = "";
    for (int s = 0; s < et_sym_count(p->g->exprs); s++)
        text = et_printf(arena, "%s%s%s=%lld", text, *text ? " " : "", et_sym_name(p->g->exprs, s),
                         (long long)syms[s]);
    return text;
}

static bool profile_point(struct eb_bench *b, struct eb_column *traced, const struct eb_point *at,
                          bool counted, et_arena *arena, et_profile *out) {
    et_program *whole = b->column[0].program;
    struct launch l = {.b = b, .c = traced};
    eb_symbols(b, at, whole, l.syms);
    l.part = et_part_at(whole, l.syms);
    l.first = timeline_first_task(whole, l.syms);
    int ngrids = l.part->ngrids;
    if (out->ntasks + ngrids > ET_PROFILE_TASKS)
        return eb_fail("more than %d tasks: choose fewer dims with --sweep", ET_PROFILE_TASKS);
    et_profile_task *task = out->task + out->ntasks;
    for (int g = 0; g < ngrids; g++)
        task[g] = (et_profile_task){.task = l.part->grids[g].name,
                                    .line = out->ntasks + g,
                                    .shape = shape_text(arena, whole, l.syms),
                                    .hash = et_profile_hash(l.part, &l.part->grids[g], l.syms)};
    bool ok = eb_bind_point(b, traced, at) && (counted ? count(&l, task) : measure(&l, task));
    for (int g = 0; ok && g < ngrids; g++)
        if (task[g].ntimes) out->task[out->ntasks++] = task[g]; /* others had no tile */
    free(l.trace);
    free(l.task);
    return ok;
}

/* Can this device tell anything? *OUT_COUNTED: instructions, not time. */
static bool check_device(const struct eb_bench *b, bool *out_counted) {
    *out_counted = etrt_device_counted(b->device);
    if (!b->machine) return eb_fail("--profile needs a machine model: no --no-predictions");
    if (etrt_device_is_emulated(b->device) && !*out_counted)
        return eb_fail("the emulator's host takes no time of interest: use clock=instructions");
    return true;
}

et_profile *eb_profile_make(struct eb_bench *b, et_arena *arena) {
    et_profile *out = et_alloc(arena, sizeof *out);
    *out = (et_profile){.tool = ETCC_VERSION,
                        .machine = b->machine ? b->machine->name : "",
                        .model = b->column[0].program->g->name,
                        .device = etrt_device_name(b->device)};
    if (!check_device(b, &out->counted)) return NULL;
    struct eb_column *traced = eb_traced(b, &b->column[0]);
    if (!traced) return NULL;
    etrt_status st = etrt_session_trace(traced->session, 1);
    if (st != ETRT_OK) {
        eb_fail_status(traced->name, st);
        return NULL;
    }
    out->task = et_alloc(arena, ET_PROFILE_TASKS * sizeof *out->task);
    for (int i = 0; i < b->npoints; i++) {
        eb_progress(b, i, b->npoints, b->point[i].name);
        if (!profile_point(b, traced, &b->point[i], out->counted, arena, out)) return NULL;
    }
    eb_progress_end(b);
    et_profile_sort(out);
    return out;
}

bool eb_profile_write(const struct eb_bench *b, const et_profile *p, const char *path) {
    et_output f;
    if (!eb_file_open(&f, path)) return false;
    et_profile_print(p, f.to);
    if (!eb_file_close(&f)) return false;
    if (!b->o->quiet && strcmp(path, "-") != 0)
        printf("%s: times of %d tasks of %s, %s %s for the machine model %s\n", path, p->ntasks,
               p->model, p->counted ? "predicted from instructions counted by" : "measured on",
               p->device, p->machine);
    return true;
}

bool eb_profile(const struct eb_options *given) {
    struct eb_options o = *given;
    o.no_unfused = o.one_kernel = true;
    struct eb_bench b = {.o = &o};
    et_arena *arena = et_arena_create();
    et_profile *p = NULL;
    if (eb_columns_make(&b) && eb_points_of_passes(&b)) p = eb_profile_make(&b, arena);
    eb_progress_end(&b);
    bool ok = p && eb_profile_write(&b, p, o.profile);
    eb_points_free(&b);
    eb_columns_free(&b);
    et_arena_destroy(arena);
    return ok;
}
