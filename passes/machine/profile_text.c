/* Reading and writing a profile as text. */
#include "passes/machine/lines.h"
#include "passes/machine/profile.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { VERSION = 1 };

/* Keys that occur once, before the first task. */
enum head { TOOL, MACHINE, MODEL, DEVICE, TIMES, HEADS };
static const char *const heads[HEADS] = {"tool", "machine", "model", "device", "times"};

struct reader {
    et_lines l;
    et_profile *p;
    const char *head[HEADS];
    int ctasks;
    const char *shape[ET_PROFILE_SHAPES];
    int nshapes;
    et_profile_task *task; /* to which the following times belong */
    bool full;
};

#define FAIL(r, loc, ...) et_diag((r)->l.diags, ET_ERROR, loc, __VA_ARGS__)

static void read_head(struct reader *r, enum head h, const et_line *line) {
    if (r->head[h])
        FAIL(r, line->key_loc, "%s is given twice", line->key);
    else if (!*line->value)
        FAIL(r, line->value_loc, "%s of what?", line->key);
    r->head[h] = line->value;
    if (h != TIMES) return;
    r->p->counted = strcmp(line->value, "predicted") == 0;
    if (!r->p->counted && strcmp(line->value, "measured") != 0)
        FAIL(r, line->value_loc, "times are 'measured' or 'predicted'");
}

/* Interns the shape: one string for all tasks that have it; NULL when there are too many. */
static const char *find_shape(struct reader *r, const char *text) {
    for (int i = 0; i < r->nshapes; i++)
        if (strcmp(r->shape[i], text) == 0) return r->shape[i];
    return r->nshapes < ET_PROFILE_SHAPES ? r->shape[r->nshapes++] = text : NULL;
}

/* task NAME HASH DIM=VALUE... */
static void read_task(struct reader *r, const et_line *line) {
    et_profile *p = r->p;
    char *rest = et_strdup(r->l.arena, line->value);
    char *name = et_line_word(&rest), *hash = et_line_word(&rest), *end;
    r->task = NULL;
    if (!hash || strlen(hash) != 16 || strspn(hash, "0123456789abcdef") != 16) {
        FAIL(r, line->value_loc, "a task is: NAME, 16 hexadecimal digits, dims as N=16");
        return;
    }
    rest += strspn(rest, " \t");
    const char *shape = find_shape(r, rest);
    if (p->ntasks == ET_PROFILE_TASKS || !shape) {
        FAIL(r, line->key_loc, "more than %d %s", shape ? ET_PROFILE_TASKS : ET_PROFILE_SHAPES,
             shape ? "tasks" : "choices of dims");
        r->full = true;
        return;
    }
    ET_GROW(r->l.arena, p->task, p->ntasks, r->ctasks);
    r->task = &p->task[p->ntasks++];
    *r->task = (et_profile_task){
        .task = name, .line = r->l.line, .shape = shape, .hash = strtoull(hash, &end, 16)};
}

/* at WIDTH MICROSECONDS */
static void read_time(struct reader *r, const et_line *line) {
    et_profile_task *t = r->task;
    et_profile_time time;
    char *rest = et_strdup(r->l.arena, line->value);
    char *width = et_line_word(&rest), *us = et_line_word(&rest);
    if (!t) {
        FAIL(r, line->key_loc, "a time without a task before it");
        return;
    }
    bool ok = us && !et_line_word(&rest) && et_line_number(width, &time.width) &&
              et_line_number(us, &time.us);
    if (!ok || time.width < 1 || time.width > 65536 || time.us <= 0 || time.us > 1e9)
        FAIL(r, line->value_loc, "a time is: workgroups from 1 to 65536, microseconds above 0");
    else if (t->ntimes == ET_PROFILE_WIDTHS)
        FAIL(r, line->key_loc, "more than %d times of a task", ET_PROFILE_WIDTHS);
    else if (t->ntimes && t->time[t->ntimes - 1].width >= time.width)
        FAIL(r, line->value_loc, "the numbers of workgroups of a task ascend");
    else
        t->time[t->ntimes++] = time;
}

static void read_line(struct reader *r, const et_line *line) {
    for (int h = 0; h < HEADS; h++)
        if (strcmp(line->key, heads[h]) == 0) {
            read_head(r, (enum head)h, line);
            return;
        }
    if (strcmp(line->key, "task") == 0)
        read_task(r, line);
    else if (strcmp(line->key, "at") == 0)
        read_time(r, line);
    else
        FAIL(r, line->key_loc, "unknown key '%s'", line->key);
}

static void check_all(struct reader *r) {
    et_loc end = {.file = r->l.file, .line = r->l.line};
    for (int h = 0; h < HEADS; h++)
        if (!r->head[h]) {
            FAIL(r, end, "%s is missing", heads[h]);
            return;
        }
    for (int i = 0; i < r->p->ntasks; i++)
        if (!r->p->task[i].ntimes)
            FAIL(r, ((et_loc){.file = r->l.file, .line = r->p->task[i].line, .col = 1}),
                 "task %s has no times", r->p->task[i].task);
}

static bool read_first(struct reader *r) {
    et_line line;
    int64_t version;
    et_loc first = {.file = r->l.file, .line = 1};
    if (!et_lines_next(&r->l, &line) || strcmp(line.key, "etcc-profile") != 0)
        FAIL(r, first, "not a profile: it begins with 'etcc-profile %d'", VERSION);
    else if (!et_line_int(line.value, &version) || version != VERSION)
        FAIL(r, line.value_loc, "version '%s' of the format; this etcc reads %d", line.value,
             VERSION);
    else
        return true;
    return false;
}

et_profile *et_profile_parse(et_arena *arena, et_diags *d, const char *file_name, const char *text,
                             size_t bytes) {
    struct reader r = {.p = et_alloc(arena, sizeof *r.p)};
    et_line line;
    int before = et_diag_errors(d);
    if (!et_lines_open(&r.l, arena, d, file_name, text, bytes) || !read_first(&r)) return NULL;
    while (!r.full && et_lines_next(&r.l, &line))
        read_line(&r, &line);
    if (!r.full) check_all(&r);
    if (et_diag_errors(d) != before) return NULL;
    r.p->file = et_strdup(arena, file_name);
    r.p->tool = r.head[TOOL];
    r.p->machine = r.head[MACHINE];
    r.p->model = r.head[MODEL];
    r.p->device = r.head[DEVICE];
    et_profile_sort(r.p);
    return r.p;
}

et_profile *et_profile_read(et_arena *arena, et_diags *d, const char *path) {
    size_t bytes;
    const char *text = et_lines_read(arena, d, path, &bytes);
    return text ? et_profile_parse(arena, d, path, text, bytes) : NULL;
}

/* Names may contain characters that a line must not. */
static void print_head(enum head h, const char *value, FILE *to) {
    fprintf(to, "%s ", heads[h]);
    for (const char *c = value; *c; c++)
        fputc((unsigned char)*c < 0x20 || (unsigned char)*c >= 0x7f || *c == '#' ? '?' : *c, to);
    fputc('\n', to);
}

static int by_line(const void *a, const void *b) {
    const et_profile_task *x = *(et_profile_task *const *)a, *y = *(et_profile_task *const *)b;
    return (x->line > y->line) - (x->line < y->line);
}

void et_profile_print(const et_profile *p, FILE *to) {
    const et_profile_task **task = calloc((size_t)p->ntasks + 1, sizeof *task);
    if (!task) et_no_memory();
    for (int i = 0; i < p->ntasks; i++)
        task[i] = &p->task[i];
    qsort(task, (size_t)p->ntasks, sizeof *task, by_line);
    fprintf(to, "etcc-profile %d\n", VERSION);
    print_head(TOOL, p->tool, to);
    print_head(MACHINE, p->machine, to);
    print_head(MODEL, p->model, to);
    print_head(DEVICE, p->device, to);
    print_head(TIMES, p->counted ? "predicted" : "measured", to);
    fputs("# task NAME HASH DIMS; at WORKGROUPS MICROSECONDS\n", to);
    for (int i = 0; i < p->ntasks; i++) {
        const et_profile_task *t = task[i];
        fprintf(to, "task %s %016" PRIx64 "%s%s\n", t->task, t->hash, *t->shape ? " " : "",
                t->shape);
        for (int k = 0; k < t->ntimes; k++)
            fprintf(to, "  at %.6g %.6g\n", t->time[k].width, t->time[k].us);
    }
    free(task);
}
