/* The dims of every run: all combinations of the sweeps' values. */
#include "bench/etbench/etbench.h"

#include <stdlib.h>
#include <string.h>

const struct eb_metric_info eb_metric_info[EB_METRICS] = {
    [EB_PREDICTED] = {"predicted_us", "us", false},
    [EB_TIME] = {"time_us", "us", false},
    [EB_LAUNCH] = {"launch_us", "us of a launch by the host's clock", false},
    [EB_STEP] = {"step_us",
                 "us by the host's clock from post to done, of a kernel that stays; of "
                 "several models one after the other",
                 false},
    [EB_STEP_P99] = {"step_p99_us",
                     "us that 99 % of steps of a kernel that stays do not exceed; "
                     "several models ask again at once",
                     false},
    [EB_PROGRESS] = {"progress",
                     "progress of several models that ask again at once: 1 is what "
                     "taking turns gives",
                     false},
    [EB_INSTRUCTIONS] = {"instructions", "instructions of waves", true},
    [EB_READ] = {"bytes_read", "bytes read", true},
    [EB_WRITTEN] = {"bytes_written", "bytes written", true},
    [EB_ATOMICS] = {"atomics", "atomics", true},
    [EB_POLLS] = {"polls", "polls of waits that had to be repeated", true},
    [EB_BARRIERS] = {"barriers", "barriers of waves", true},
    [EB_SPAN] = {"span",
                 "instructions of a workgroup from the first task of the launch to the last", true},
    [EB_TASK_BODY] = {"task_body", "instructions of a workgroup per task, bodies", true},
    [EB_TASK_SCHEDULING] = {"task_scheduling",
                            "instructions of a workgroup per task, finding it and telling that it "
                            "is done",
                            true},
};

static int find_dim(const struct eb_column *c, const char *name, etrt_dim_info *out) {
    for (int i = 0; eb_column_dim(c, i, out); i++)
        if (strcmp(out->name, name) == 0) return i;
    return -1;
}

static bool check_value(const struct eb_bench *b, const char *name, int64_t value) {
    for (int i = 0; i < b->nruns; i++) {
        etrt_dim_info info;
        find_dim(&b->column[i], name, &info); /* columns have the same dims */
        if (value < info.lo || value > info.hi)
            return eb_fail("%s = %lld is outside %lld..%lld in %s", name, (long long)value,
                           (long long)info.lo, (long long)info.hi, b->column[i].name);
    }
    return true;
}

static bool check_sweep(const struct eb_bench *b, const struct eb_sweep *s) {
    etrt_dim_info info;
    if (find_dim(&b->column[0], s->name, &info) < 0) {
        eb_fail("%s has no dim %s", b->column[0].file, s->name);
        for (int i = 0; eb_column_dim(&b->column[0], i, &info); i++)
            fprintf(stderr, "there is %s in %lld..%lld\n", info.name, (long long)info.lo,
                    (long long)info.hi);
        return false;
    }
    return true;
}

/* The name tells the dims that change; all of them if none does. */
static char *point_name(const struct eb_bench *b, const struct eb_point *p, bool swept_only) {
    char *name = eb_text("%s", "");
    etrt_dim_info info;
    for (int d = 0; eb_column_dim(&b->column[0], d, &info); d++) {
        bool swept = false;
        for (int s = 0; s < b->o->nsweeps; s++)
            swept |= b->o->sweep[s].n > 1 && strcmp(b->o->sweep[s].name, info.name) == 0;
        if (swept_only && !swept) continue;
        char *more =
            eb_text("%s%s%s=%lld", name, *name ? " " : "", info.name, (long long)p->value[d]);
        free(name);
        name = more;
    }
    return name;
}

static void fill_point(struct eb_bench *b, struct eb_point *p, const int *at) {
    etrt_dim_info info;
    for (int d = 0; eb_column_dim(&b->column[0], d, &info); d++) {
        p->value[d] = info.hi;
        for (int s = 0; s < b->o->nsweeps; s++)
            if (strcmp(b->o->sweep[s].name, info.name) == 0)
                p->value[d] = b->o->sweep[s].value[at[s]];
    }
    p->cell = eb_alloc((size_t)b->ncolumns * sizeof *p->cell);
    memset(p->cell, 0, (size_t)b->ncolumns * sizeof *p->cell);
}

/* The next combination, the last sweep fastest; false after the last one. */
static bool step(const struct eb_options *o, int *at) {
    for (int s = o->nsweeps; s-- > 0;) {
        if (++at[s] < o->sweep[s].n) return true;
        at[s] = 0;
    }
    return false;
}

bool eb_points_make(struct eb_bench *b) {
    const struct eb_options *o = b->o;
    int total = 1, at[EB_MAX_SETTINGS] = {0};
    for (int s = 0; s < o->nsweeps; s++) {
        if (!check_sweep(b, &o->sweep[s])) return false;
        total *= o->sweep[s].n;
        if (total > EB_MAX_POINTS)
            return eb_fail("the sweeps have more than %d combinations", EB_MAX_POINTS);
    }
    etrt_dim_info info;
    int ndims = 0;
    while (eb_column_dim(&b->column[0], ndims, &info))
        if (++ndims > EB_MAX_SETTINGS) return eb_fail("more than %d dims", EB_MAX_SETTINGS);
    b->point = eb_alloc((size_t)total * sizeof *b->point);
    memset(b->point, 0, (size_t)total * sizeof *b->point);
    do {
        struct eb_point *p = &b->point[b->npoints++];
        fill_point(b, p, at);
        for (int d = 0; eb_column_dim(&b->column[0], d, &info); d++)
            if (!check_value(b, info.name, p->value[d])) return false;
        p->name = point_name(b, p, total > 1);
    } while (step(o, at));
    return true;
}

void eb_points_free(struct eb_bench *b) {
    for (int i = 0; i < b->npoints; i++) {
        for (int c = 0; c < b->ncolumns; c++) {
            for (int m = 0; m < EB_METRICS; m++)
                free(b->point[i].cell[c].sample[m]);
            free(b->point[i].cell[c].memory);
        }
        free(b->point[i].cell);
        free(b->point[i].name);
    }
    free(b->point);
}
