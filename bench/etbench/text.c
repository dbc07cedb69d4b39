/* Results for people: tables, as text or as Markdown. */
#include "bench/etbench/etbench.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool eb_file_open(et_output *f, const char *path) {
    return et_output_open(f, path) || eb_fail("%s: %s", path, strerror(errno));
}

bool eb_file_close(et_output *f) {
    return et_output_close(f, true) || eb_fail("%s: %s", f->path, strerror(errno));
}

bool eb_metric_shown(const struct eb_bench *b, enum eb_metric m) {
    bool any = false;
    for (int i = 0; i < b->npoints; i++)
        for (int c = 0; c < b->ncolumns; c++)
            for (int k = 0; k < b->point[i].cell[c].n[m]; k++)
                any |= b->point[i].cell[c].sample[m][k] > 0;
    return any;
}

const char *eb_metric_key(const struct eb_bench *b, enum eb_metric m) {
    return m == EB_TIME && etrt_device_is_emulated(b->device) ? "host_us" : eb_metric_info[m].name;
}

char *eb_metric_title(const struct eb_bench *b, enum eb_metric m) {
    const char *title = eb_metric_info[m].title;
    if (m == EB_PREDICTED)
        return eb_text("predicted for the machine model %s, %s", b->machine->name, title);
    if (m == EB_TIME && etrt_device_is_emulated(b->device))
        return eb_text("time of the host, no time of a GPU, %s", title);
    if (m == EB_TIME) return eb_text("time by the device's clock, %s", title);
    return eb_text("%s", title);
}

/* A number with as many digits as say something. */
static char *number(double x) {
    double size = fabs(x);
    if (x == floor(x) && size < 1e15) return eb_text("%.0f", x);
    return eb_text("%.*f", size < 10 ? 3 : size < 100 ? 2 : size < 10000 ? 1 : 0, x);
}

/* "812.4 [810.2 .. 815.0] 1.07x (1.06 .. 1.08)", leaving out what is no news. */
static char *cell_text(const struct eb_bench *b, const struct eb_point *p, int c,
                       enum eb_metric m) {
    const struct eb_cell *cell = &p->cell[c], *base = &p->cell[0];
    if (!cell->n[m]) return eb_text("-");
    struct eb_summary s = eb_summarise(cell->sample[m], cell->n[m]);
    char *median = number(s.median), *q1 = number(s.q1), *q3 = number(s.q3);
    char *text =
        strcmp(q1, q3) == 0 ? eb_text("%s", median) : eb_text("%s [%s .. %s]", median, q1, q3);
    free(median);
    free(q1);
    free(q3);
    struct eb_ratio r = {NAN, NAN, NAN};
    if (c > 0)
        r = eb_ratio_of(cell->sample[m], cell->n[m], base->sample[m], base->n[m], b->o->seed);
    if (isnan(r.value)) return text;
    char *more = r.hi - r.lo < 0.005
                     ? eb_text("%s %.2fx", text, r.value)
                     : eb_text("%s %.2fx (%.2f .. %.2f)", text, r.value, r.lo, r.hi);
    free(text);
    return more;
}

static char *predicted_shares(const struct eb_cell *cell) {
    const et_sim_result *r = &cell->prediction;
    if (!cell->has_prediction) return eb_text("-");
    return eb_text("%.1f / %.1f / %.1f", 100 * r->body, 100 * r->wait, 100 * r->schedule);
}

static char *counted_shares(const struct eb_cell *cell) {
    const timeline_summary *s = &cell->tasks;
    if (!cell->has_tasks) return eb_text("-");
    return eb_text("%.1f / %.1f / %.1f", 100 * s->body, 100 * (s->waiting + s->idle),
                   100 * s->scheduling);
}

/* ---- tables: a head, then a row per point ---- */

struct table {
    char *title;
    int rows, columns;
    char **cell; /* [rows][columns], the first row and column are names */
};

enum { PREDICTED_SHARES = EB_METRICS, COUNTED_SHARES };

static char *table_title(const struct eb_bench *b, int which) {
    if (which < EB_METRICS) return eb_metric_title(b, (enum eb_metric)which);
    char *whose = which == COUNTED_SHARES
                      ? eb_text("counted in instructions by the emulator")
                      : eb_text("predicted for the machine model %s", b->machine->name);
    char *title =
        eb_text("%s: shares of all workgroups' time in %%, bodies / waiting / scheduling", whose);
    free(whose);
    return title;
}

static struct table make_table(const struct eb_bench *b, int which) {
    struct table t = {.rows = b->npoints + 1, .columns = b->ncolumns + 1};
    t.title = table_title(b, which);
    t.cell = eb_alloc((size_t)(t.rows * t.columns) * sizeof *t.cell);
    for (int r = 0; r < t.rows; r++)
        for (int c = 0; c < t.columns; c++) {
            const struct eb_point *p = r ? &b->point[r - 1] : NULL;
            char **cell = &t.cell[r * t.columns + c];
            if (!p)
                *cell = eb_text("%s", c ? b->column[c - 1].name : "");
            else if (!c)
                *cell = eb_text("%s", p->name);
            else if (which == PREDICTED_SHARES)
                *cell = predicted_shares(&p->cell[c - 1]);
            else if (which == COUNTED_SHARES)
                *cell = counted_shares(&p->cell[c - 1]);
            else
                *cell = cell_text(b, p, c - 1, (enum eb_metric)which);
        }
    return t;
}

static void free_table(struct table *t) {
    for (int i = 0; i < t->rows * t->columns; i++)
        free(t->cell[i]);
    free(t->cell);
    free(t->title);
}

static void print_plain(const struct table *t, FILE *to) {
    fprintf(to, "\n%s\n", t->title);
    for (int r = 0; r < t->rows; r++) {
        for (int c = 0; c < t->columns; c++) {
            size_t width = 0;
            for (int i = 0; i < t->rows; i++) {
                size_t n = strlen(t->cell[i * t->columns + c]);
                width = n > width ? n : width;
            }
            bool last = c == t->columns - 1;
            fprintf(to, "%s%-*s", c ? "  " : "", last ? 0 : (int)width,
                    t->cell[r * t->columns + c]);
        }
        fputs("\n", to);
    }
}

static void print_markdown(const struct table *t, FILE *to) {
    fprintf(to, "\n%s\n\n", t->title);
    for (int r = 0; r < t->rows; r++) {
        for (int c = 0; c < t->columns; c++)
            fprintf(to, "| %s ", t->cell[r * t->columns + c]);
        fputs("|\n", to);
        for (int c = 0; !r && c < t->columns; c++)
            fputs("| --- ", to);
        if (!r) fputs("|\n", to);
    }
}

/* ---- what stands before and after them ---- */

static void print_column(const struct eb_bench *b, int i, const char *bullet, FILE *to) {
    const struct eb_column *c = &b->column[i];
    fprintf(to, "%s%s: ", bullet, c->name);
    if (c->unfused) {
        fprintf(to, "predicted only: the same tiles as %s, one kernel per task grid\n",
                b->column[0].program == c->program ? b->column[0].name : c->file);
        return;
    }
    const char *asked = c->asked ? et_schedule_name(c->asked) : c->schedule;
    fprintf(to, "%s, schedule %s", c->file, asked);
    if (strcmp(asked, c->schedule) != 0) fprintf(to, " (came out %s)", c->schedule);
    if (c->code_bytes) fprintf(to, ", %lld bytes", (long long)c->code_bytes);
    if (c->arena) fprintf(to, ", compiled in %.1f s", c->compile_seconds);
    fputs("\n", to);
}

static void print_head(const struct eb_bench *b, const char *bullet, FILE *to) {
    const struct eb_cell *cell = &b->point[0].cell[0];
    if (b->device)
        fprintf(to, "%s; %d launches of each in turn after warming up; seed %llu\n",
                etrt_device_name(b->device), cell->n[EB_TIME], (unsigned long long)b->o->seed);
    else
        fprintf(to, "nothing was run; compiled for %s\n", b->target);
    if (*bullet == '-') fputs("\n", to);
    for (int i = 0; i < b->ncolumns; i++)
        print_column(b, i, bullet, to);
}

static void print_experts(const struct eb_bench *b, const struct eb_point *p, int c, FILE *to) {
    const struct eb_cell *cell = &p->cell[c];
    const etrt_cache_info *e = &cell->experts;
    if (!e->entries) return;
    fprintf(
        to,
        "Experts: %s %s: %.2f GiB in host memory, %.2f GiB in the cache, %lld of %lld entries; "
        "%.1f %% of %.1f used in a launch were there; a launch copied %.2f MiB and took %.0f us "
        "beyond the device's time\n",
        p->name, b->column[c].name, ldexp((double)e->host_bytes, -30),
        ldexp((double)e->cache_bytes, -30), (long long)e->cached, (long long)e->entries,
        e->used ? 100.0 * (double)e->hits / (double)e->used : 0, (double)e->used / cell->n[EB_TIME],
        ldexp((double)e->copied_bytes / cell->n[EB_TIME], -20),
        cell->beside / cell->n[EB_TIME] * 1e6);
}

static void print_foot(const struct eb_bench *b, FILE *to) {
    fputs("\n", to);
    for (int i = 0; i < b->npoints; i++)
        for (int c = 0; b->device && c < b->nruns; c++)
            print_experts(b, &b->point[i], c, to);
    if (b->nruns > 1 && b->device) fputs("Results are the same bit for bit in all columns.\n", to);
    if (b->ncolumns > 1) fprintf(to, "Ratios are to %s", b->column[0].name);
    if (b->ncolumns > 1)
        fputs(b->device ? ", with the range that holds 95 % of resamplings.\n" : ".\n", to);
    for (int i = 0; i < b->npoints; i++)
        for (int c = 0; c < b->ncolumns; c++)
            if (b->point[i].cell[c].routing_from_device)
                fprintf(
                    to,
                    "Predicted with the routing that the last launch left (the last iteration's "
                    "for all of a loop): %s %s\n",
                    b->point[i].name, b->column[c].name);
            else if (*b->point[i].cell[c].why && !b->point[i].cell[c].has_prediction)
                fprintf(to, "Not predicted: %s %s: %s\n", b->point[i].name, b->column[c].name,
                        b->point[i].cell[c].why);
}

static bool is_shown(const struct eb_bench *b, int which) {
    if (which >= EB_TIME && which <= EB_PROGRESS && b->device && etrt_device_is_emulated(b->device))
        return false;
    return eb_metric_shown(b, which == PREDICTED_SHARES ? EB_PREDICTED
                              : which == COUNTED_SHARES ? EB_TASK_BODY
                                                        : (enum eb_metric)which);
}

static struct table memory_table(const struct eb_bench *b, const struct eb_point *p, int c) {
    static const char *const heads[] = {"task",
                                        "tiles",
                                        "KB a tile",
                                        "wave instructions a KB",
                                        "trips to memory",
                                        "KB in flight",
                                        "trips to tell",
                                        "trips to use",
                                        "runs",
                                        "CUs",
                                        "code KB"};
    const struct eb_cell *cell = &p->cell[c];
    struct table t = {.rows = cell->nmemory + 1, .columns = 11};
    t.title =
        eb_text("%s %s: of a tile of each task, counted from the machine code; trips follow one "
                "another, bytes in flight to a workgroup are what the average byte finds there "
                "when it is waited for; trips to tell: from its last store to its notification, "
                "to use: from the poll that ends a wait to the first load behind it; CUs: have "
                "a tile of it when it runs; code: of its tiles",
                p->name, b->column[c].name);
    t.cell = eb_alloc((size_t)(t.rows * t.columns) * sizeof *t.cell);
    for (int i = 0; i < t.columns; i++)
        t.cell[i] = eb_text("%s", heads[i]);
    for (int r = 1; r < t.rows; r++) {
        const struct eb_memory *m = &cell->memory[r - 1];
        char **to = &t.cell[(ptrdiff_t)r * t.columns];
        to[0] = eb_text("%s", m->task);
        to[1] = eb_text("%.0f", m->tiles);
        to[2] = eb_text("%.1f", m->bytes / 1024);
        to[3] = m->bytes > 0 ? eb_text("%.1f", m->instructions * 1024 / m->bytes) : eb_text("-");
        to[4] = eb_text("%.1f", m->trips);
        to[5] = eb_text("%.1f", m->in_flight / 1024);
        to[6] = m->told > 0 ? eb_text("%.1f", m->told) : eb_text("-");
        to[7] = m->used > 0 ? eb_text("%.1f", m->used) : eb_text("-");
        to[8] = m->runs > 0 ? eb_text("%.0f", m->runs) : eb_text("-");
        to[9] = m->runs > 0 ? eb_text("%.0f", m->cus) : eb_text("-");
        to[10] = m->code > 0 ? eb_text("%.1f", m->code / 1024) : eb_text("-");
    }
    return t;
}

static void print_table(struct table t, bool markdown, FILE *to) {
    if (markdown)
        print_markdown(&t, to);
    else
        print_plain(&t, to);
    free_table(&t);
}

static void print_all(const struct eb_bench *b, bool markdown, FILE *to) {
    print_head(b, markdown ? "- " : "  ", to);
    static const int order[] = {
        EB_PREDICTED,       PREDICTED_SHARES, EB_TIME,         EB_LAUNCH,  EB_STEP,
        EB_STEP_P99,        EB_PROGRESS,      EB_INSTRUCTIONS, EB_SPAN,    COUNTED_SHARES,
        EB_TASK_SCHEDULING, EB_READ,          EB_WRITTEN,      EB_ATOMICS, EB_POLLS,
        EB_BARRIERS};
    for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
        if (!is_shown(b, order[i])) continue;
        print_table(make_table(b, order[i]), markdown, to);
    }
    for (int i = 0; i < b->npoints; i++)
        for (int c = 0; c < b->nruns; c++)
            if (b->point[i].cell[c].nmemory)
                print_table(memory_table(b, &b->point[i], c), markdown, to);
    print_foot(b, to);
}

void eb_print_text(const struct eb_bench *b, FILE *to) {
    print_all(b, false, to);
}

bool eb_write_markdown(const struct eb_bench *b, const char *path) {
    et_output f;
    if (!eb_file_open(&f, path)) return false;
    print_all(b, true, f.to);
    return eb_file_close(&f);
}
