/* Times of task grids: hashes, lookup, and checking that a profile is of this program. */
#include "passes/machine/profile.h"
#include "ir/base/diag.h"
#include "ir/base/table.h"
#include "ir/program/step.h"
#include <stdlib.h>
#include <string.h>

/* ---- hashes ---- */

static uint64_t mix_int(uint64_t h, int64_t v) {
    return et_hash(h, &v, sizeof v);
}

struct touched {
    char *tensor;
};

static void note(void *ctx, const et_step *step, int tensor, bool is_store, const et_expr *index) {
    (void)step, (void)is_store, (void)index;
    ((struct touched *)ctx)->tensor[tensor] = 1;
}

static uint64_t mix_tensor(uint64_t h, const et_program *p, int t, const int64_t *syms,
                           const int64_t *vars) {
    const et_shape *s = &p->tensors[t].shape;
    h = et_hash(h, p->tensors[t].name, strlen(p->tensors[t].name) + 1);
    h = mix_int(mix_int(h, s->dtype), s->rank);
    for (int d = 0; d < s->rank; d++)
        h = mix_int(h, et_eval(p->g->exprs, s->dim[d], syms, vars));
    return h;
}

/* Copies of F's steps without plans: times are looked up before plans are made. */
static et_step *unplanned(const et_func *f) {
    et_step *steps = calloc((size_t)f->nsteps + 1, sizeof *steps);
    if (!steps) et_no_memory();
    for (int i = 0; i < f->nsteps; i++) {
        steps[i] = f->steps[i];
        memset(steps[i].plan, 0, sizeof steps[i].plan);
        steps[i].attend.made = steps[i].map.made = steps[i].reduce.made = false;
    }
    return steps;
}

uint64_t et_profile_hash(et_program *p, const et_grid *g, const int64_t *syms) {
    char *text = NULL;
    size_t bytes = 0;
    et_func f = p->funcs[g->func];
    f.name = "f"; /* names do not matter: equal functions take the same time */
    f.steps = unplanned(&f);
    FILE *to = open_memstream(&text, &bytes);
    int64_t *vars = calloc((size_t)et_var_count(p->g->exprs) + 1, sizeof *vars);
    struct touched touched = {calloc((size_t)p->ntensors + 1, 1)};
    if (!to || !vars || !touched.tensor) et_no_memory();
    et_func_print(p, &f, to);
    if (fclose(to) != 0) et_no_memory();
    uint64_t h = et_hash(ET_HASH, text, bytes);
    et_func_accesses(p, &f, note, &touched);
    for (int t = 0; t < p->ntensors; t++)
        if (touched.tensor[t]) h = mix_tensor(h, p, t, syms, vars);
    for (int d = 0; d < f.ncoords; d++)
        h = mix_int(h, et_eval(p->g->exprs, g->extent[d], syms, vars));
    free(f.steps);
    free(touched.tensor);
    free(vars);
    free(text);
    return h;
}

/* ---- looking up ---- */

static int by_hash(const void *a, const void *b) {
    const et_profile_task *x = a, *y = b;
    if (x->hash != y->hash) return x->hash < y->hash ? -1 : 1;
    return (x->line > y->line) - (x->line < y->line);
}

void et_profile_sort(et_profile *p) {
    int kept = 0;
    if (p->ntasks) qsort(p->task, (size_t)p->ntasks, sizeof *p->task, by_hash);
    for (int i = 0; i < p->ntasks; i++)
        if (!kept || p->task[kept - 1].hash != p->task[i].hash) p->task[kept++] = p->task[i];
    p->ntasks = kept;
}

static const et_profile_task *find(const et_profile *p, uint64_t hash) {
    int lo = 0, hi = p->ntasks;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (p->task[mid].hash < hash)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < p->ntasks && p->task[lo].hash == hash ? &p->task[lo] : NULL;
}

bool et_profile_us(const et_profile *p, uint64_t hash, double width, double *out_us) {
    const et_profile_task *t = p ? find(p, hash) : NULL;
    if (!t || !t->ntimes || !(width > 0)) return false;
    int i = 0;
    while (i < t->ntimes && t->time[i].width < width)
        i++;
    const et_profile_time *a = &t->time[i ? i - 1 : 0], *b = &t->time[i];
    if (i == t->ntimes)
        *out_us = a->us;
    else if (!i)
        *out_us = b->us * b->width / width;
    else /* us = x + y / width, through both points */
        *out_us =
            b->us + (a->us - b->us) * (1 / width - 1 / b->width) / (1 / a->width - 1 / b->width);
    return true;
}

/* ---- checking ---- */

/* Sets the symbols that SHAPE, "N=16 M=3", gives values to. NULL, or why P has no such shape. */
static const char *read_shape(et_arena *arena, const et_program *p, const char *shape,
                              int64_t *syms) {
    const et_exprs *x = p->g->exprs;
    int given = 0;
    char *rest = et_strdup(arena, shape);
    for (char *word; (word = strsep(&rest, " ")) && *word; given++) {
        char *eq = strchr(word, '='), *end;
        if (!eq) return "it does not say DIM=VALUE";
        *eq = 0;
        int s = 0;
        int64_t lo, hi;
        while (s < et_sym_count(x) && strcmp(et_sym_name(x, s), word) != 0)
            s++;
        if (s == et_sym_count(x)) return et_printf(arena, "there is no dim %s", word);
        et_sym_range(x, s, &lo, &hi);
        syms[s] = strtoll(eq + 1, &end, 10);
        if (*end || syms[s] < lo || syms[s] > hi)
            return et_printf(arena, "%s is %lld to %lld", word, (long long)lo, (long long)hi);
    }
    return given == et_sym_count(x) ? NULL : "it does not name every dim once";
}

/* The distance of two sets of dims as a factor: 1 where they are equal. */
static double distance(const int64_t *a, const int64_t *b, int n) {
    double d = 1;
    for (int i = 0; i < n; i++) {
        double x = (double)a[i] + 1, y = (double)b[i] + 1; /* a dim may be 0 */
        d *= x > y ? x / y : y / x;
    }
    return d;
}

void et_profile_symbols(const et_profile *times, const et_program *p, int64_t *syms) {
    int n = et_sym_count(p->g->exprs);
    size_t bytes = ((size_t)n + 1) * sizeof *syms;
    if (!times || !n) return;
    int64_t *at = et_alloc(p->g->arena, bytes), *best = et_alloc(p->g->arena, bytes);
    double least = 0;
    for (int i = 0; i < times->ntasks; i++) {
        const char *shape = times->task[i].shape;
        if (i && shape == times->task[i - 1].shape) continue;
        if (read_shape(p->g->arena, p, shape, at)) continue;
        double d = distance(at, syms, n);
        if (least > 0 && d >= least) continue;
        least = d;
        memcpy(best, at, bytes);
    }
    if (least > 0) memcpy(syms, best, (size_t)n * sizeof *syms);
}

struct shape {
    const char *text, *wrong; /* WRONG: why it is none of this program, or NULL */
    et_program *part;         /* the variant that such a launch runs */
    uint64_t *hash;           /* of its grids */
};

static struct shape look_at(et_arena *arena, et_program *p, const char *text) {
    int64_t *syms = et_alloc(arena, ((size_t)et_sym_count(p->g->exprs) + 1) * sizeof *syms);
    struct shape s = {.text = text, .wrong = read_shape(arena, p, text, syms)};
    if (s.wrong) return s;
    s.part = et_part_at(p, syms);
    s.hash = et_alloc(arena, ((size_t)s.part->ngrids + 1) * sizeof *s.hash);
    for (int g = 0; g < s.part->ngrids; g++)
        s.hash[g] = et_profile_hash(s.part, &s.part->grids[g], syms);
    return s;
}

/* NULL, or why the task is not one of the program's. */
static const char *stale(et_arena *arena, const struct shape *s, const et_profile_task *t) {
    bool named = false;
    if (s->wrong) return s->wrong;
    for (int g = 0; g < s->part->ngrids; g++) {
        if (s->hash[g] == t->hash) return NULL;
        named |= strcmp(s->part->grids[g].name, t->task) == 0;
    }
    return named ? "its device function or the shapes it works on have changed since"
                 : et_printf(arena, "the program has no task %s, nor one like it", t->task);
}

static bool check_tasks(const et_profile *times, et_program *p, et_diags *d) {
    enum { TOLD = 3 };
    et_arena *arena = p->g->arena;
    struct shape *shapes = et_alloc(arena, ET_PROFILE_SHAPES * sizeof *shapes);
    int nshapes = 0, wrong = 0;
    for (int i = 0; i < times->ntasks; i++) {
        const et_profile_task *t = &times->task[i];
        int s = 0;
        while (s < nshapes && strcmp(shapes[s].text, t->shape) != 0)
            s++;
        et_check(s < ET_PROFILE_SHAPES); /* the reader limits their number */
        if (s == nshapes) shapes[nshapes++] = look_at(arena, p, t->shape);
        const char *why = stale(arena, &shapes[s], t);
        if (why && wrong++ < TOLD)
            et_diag(d, ET_ERROR, (et_loc){0}, "%s:%d: stale time of task %s at %s: %s", times->file,
                    t->line, t->task, *t->shape ? t->shape : "no dims", why);
    }
    if (wrong > TOLD) et_diag(d, ET_NOTE, (et_loc){0}, "%d more are stale", wrong - TOLD);
    return !wrong;
}

bool et_profile_check(const et_profile *times, et_program *p, const et_machine *m, et_diags *d) {
    bool ok = false;
    if (strcmp(times->machine, m->name) != 0)
        et_diag(d, ET_ERROR, (et_loc){0}, "%s: times for machine %s, the code is for %s",
                times->file, times->machine, m->name);
    else if (strcmp(times->tool, ETCC_VERSION) != 0)
        et_diag(d, ET_ERROR, (et_loc){0}, "%s: stale: made with etcc %s, this is %s", times->file,
                times->tool, ETCC_VERSION);
    else
        ok = check_tasks(times, p, d);
    if (!ok)
        et_diag(d, ET_NOTE, (et_loc){0}, "make it again: etbench --profile %s MODEL", times->file);
    return ok;
}
