/* --tune: compile, profile, compile again with the profile, and keep what is predicted to be
 * faster. The choice depends on the model, the profile and the options alone, and a profile that
 * still fits is used again, so doing it twice changes nothing. */
#include "bench/etbench/etbench.h"

#include "frontend/etcc/driver.h"
#include "runtime/files/input.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the profile ---- */

/* "MODEL.prof" beside "MODEL.hsaco". */
static char *profile_path(const struct eb_options *o) {
    const char *slash = strrchr(o->output, '/'), *name = slash ? slash + 1 : o->output;
    const char *dot = strrchr(name, '.');
    if (o->profile) return eb_text("%s", o->profile);
    return eb_text("%.*s.prof", dot && dot > name ? (int)(dot - o->output) : (int)strlen(o->output),
                   o->output);
}

/* Has it times for every point? */
static bool covers(const struct eb_bench *b, const et_profile *p) {
    et_program *whole = b->column[0].program;
    for (int i = 0; i < b->npoints; i++) {
        int64_t syms[EB_MAX_SETTINGS] = {0};
        bool any = false;
        eb_symbols(b, &b->point[i], whole, syms);
        et_program *part = et_part_at(whole, syms);
        for (int g = 0; g < part->ngrids && !any; g++) {
            double us;
            any = et_profile_us(p, et_profile_hash(part, &part->grids[g], syms), 1, &us);
        }
        if (!any) return false;
    }
    return true;
}

/* The one there is, if it is of this model, machine and device. */
static et_profile *reuse(const struct eb_bench *b, const char *path, et_arena *arena) {
    et_diags *d = et_diags_create(arena);
    if (access(path, F_OK) != 0) return NULL;
    et_profile *p = et_profile_read(arena, d, path);
    if (p && et_profile_check(p, b->column[0].program, b->machine, d) &&
        strcmp(p->device, etrt_device_name(b->device)) == 0 && covers(b, p))
        return p;
    if (!b->o->quiet) printf("%s is not of this model, machine and device: made again\n", path);
    return NULL;
}

/* What is used is what is in the file, rounded as it is there. */
static et_profile *profile(struct eb_bench *b, const char *path, et_arena *arena) {
    et_profile *p = reuse(b, path, arena);
    if (p) {
        if (!b->o->quiet) printf("%s is of this model, machine and device: used again\n", path);
        return p;
    }
    p = eb_profile_make(b, arena);
    if (!p || !eb_profile_write(b, p, path)) return NULL;
    et_diags *d = et_diags_create(arena);
    p = et_profile_read(arena, d, path);
    et_diag_print(d, stderr);
    return p;
}

/* ---- what came of it ---- */

static char *range_text(et_share s) {
    if (!s.to) return eb_text("all workgroups");
    return eb_text("workgroups %.4g .. %.4g %%", s.from / 1e4, s.to / 1e4);
}

static void tell_grid(const et_grid *a, const et_grid *b) {
    char *x = range_text(a->range), *y = range_text(b->range);
    if (a->dynamic != b->dynamic)
        printf("  task %s: %s, was %s\n", b->name, b->dynamic ? "dynamic" : "static",
               a->dynamic ? "dynamic" : "static");
    if (strcmp(x, y) != 0) printf("  task %s: %s, was %s\n", b->name, y, x);
    free(x);
    free(y);
}

static void tell_models(const et_graph *a, const et_graph *b) {
    for (int m = 0; m < a->nmodels && m < b->nmodels; m++) {
        char *x = range_text(a->model[m].share), *y = range_text(b->model[m].share);
        if (strcmp(x, y) != 0) printf("  model %s: %s, was %s\n", b->model[m].name, y, x);
        free(x);
        free(y);
    }
}

static void tell_changes(const struct eb_bench *b) {
    et_program *before, *after;
    for (int i = 0; (before = et_program_part(b->column[0].program, i)) &&
                    (after = et_program_part(b->column[1].program, i));
         i++) {
        tell_models(before->g, after->g);
        for (int g = 0; g < before->ngrids && g < after->ngrids; g++)
            tell_grid(&before->grids[g], &after->grids[g]);
    }
}

/* Predicted to be faster before, by the times of the profile, all points counting alike? */
static bool was_faster(const struct eb_bench *b) {
    double ratios = 0;
    for (int i = 0; i < b->npoints; i++) {
        const struct eb_cell *cell = b->point[i].cell;
        if (!cell[0].has_prediction || !cell[1].has_prediction) return false;
        ratios += cell[1].prediction.us / cell[0].prediction.us;
    }
    return ratios > b->npoints;
}

static bool same_bytes(const char *path, const char *other) {
    char why[ET_WHY];
    size_t m, n;
    char *a = et_file_read(path, SIZE_MAX / 4, &m, why),
         *b = et_file_read(other, SIZE_MAX / 4, &n, why);
    bool same = a && b && m == n && memcmp(a, b, m) == 0;
    free(a);
    free(b);
    return same;
}

/* What was made as FROM becomes PATH. */
static bool copy_file(const char *from, const char *path) {
    char why[ET_WHY];
    size_t n;
    et_output out;
    char *data = et_file_read(from, SIZE_MAX / 4, &n, why);
    if (!data) return eb_fail("%s: %s", from, why);
    bool ok = eb_file_open(&out, path);
    if (ok) {
        fwrite(data, 1, n, out.to);
        ok = eb_file_close(&out);
    }
    free(data);
    return ok;
}

/* Elsewhere first, so that it is known whether anything changes. */
static bool write_code(const struct eb_bench *b, const struct eb_column *c, const char *path) {
    char *made = eb_text("%s/tuned.hsaco", b->folder);
    et_options o = {.input = c->file,
                    .others = (char *const *)b->o->files + 1,
                    .nothers = b->o->nfiles - 1,
                    .output = made,
                    .target = b->target,
                    .machine = b->o->machine,
                    .schedule = c->asked,
                    .placement = b->o->placement,
                    .times = c->timed ? b->times : NULL,
                    .variants = (int)b->o->variants};
    bool ok = et_drive(&o), same = ok && same_bytes(made, path);
    if (ok && !same) ok = copy_file(made, path);
    unlink(made);
    if (ok && !b->o->quiet)
        printf("%s: %s, compiled %s the profile\n", path, same ? "not changed" : "written",
               c->timed ? "with" : "without");
    free(made);
    return ok;
}

static char *program_text(et_program *p) {
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    if (!f) return NULL;
    et_program_print(p, f);
    return fclose(f) == 0 ? text : NULL;
}

/* Is the program with the times the one without? */
static bool same_program(const struct eb_bench *b) {
    char *before = program_text(b->column[0].program), *after = program_text(b->column[1].program);
    bool same = before && after && strcmp(before, after) == 0;
    free(before);
    free(after);
    return same;
}

static bool report(struct eb_bench *b) {
    const struct eb_options *o = b->o;
    bool back = was_faster(b);
    if (!o->quiet) {
        eb_print_text(b, stdout);
        if (eb_metric_shown(b, EB_PREDICTED))
            puts("Bodies are predicted by the times of the profile, before and after.");
        tell_changes(b);
        if (back) puts("What was before is predicted to be faster, and is kept.");
    }
    bool ok = !o->json || eb_write_json(b, o->json);
    ok &= !o->markdown || eb_write_markdown(b, o->markdown);
    ok &= !o->plot || eb_write_plot(b, o->plot);
    return ok && write_code(b, &b->column[back ? 0 : 1], o->output);
}

static bool tune(struct eb_bench *b, const char *path, et_arena *arena) {
    if (!eb_columns_make(b) || !eb_points_of_passes(b)) return false;
    free(b->column[0].name);
    b->column[0].name = eb_text("before");
    b->times = profile(b, path, arena);
    eb_points_free(b); /* they have one column */
    b->point = NULL;
    b->npoints = 0;
    const struct eb_options *o = b->o;
    if (!b->times || !eb_add_timed(b, "after")) return false;
    if (same_program(b) && !o->json && !o->markdown && !o->plot && !o->trace && !o->html) {
        eb_progress_end(b);
        if (!o->quiet) puts("Nothing changes with the profile: the program is the same.");
        return write_code(b, &b->column[1], o->output);
    }
    bool ok = eb_points_of_passes(b) && eb_run(b) && eb_write_timelines(b);
    eb_progress_end(b);
    return ok && report(b);
}

bool eb_tune(const struct eb_options *given) {
    struct eb_options o = *given;
    o.no_unfused = o.one_kernel = true;
    struct eb_bench b = {.o = &o};
    et_arena *arena = et_arena_create();
    char *path = profile_path(&o);
    bool ok = !et_same_file(path, o.output) ||
              eb_fail("%s: the profile and the code object would be one file", path);
    ok = ok && tune(&b, path, arena);
    eb_progress_end(&b);
    eb_points_free(&b);
    eb_columns_free(&b);
    et_arena_destroy(arena);
    free(path);
    return ok;
}
