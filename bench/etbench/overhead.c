/* --overhead: what scheduling costs per task, in instructions: the slope between two numbers of
 * tasks that do next to nothing. */
#include "bench/etbench/etbench.h"

#include "frontend/etcc/driver.h"

#include <stdlib.h>
#include <string.h>

enum { FEW = 1024, MANY = 4096 };

/* A task stores one number, which its four waves do in a handful of instructions each. */
#define HEAD "eti 1 evented\nmodel overhead\ndim N in 1..4096\ninput %x : f32[1]\n"
#define STORE(name, to, from)                                                                      \
    "func @" name " [i < N] {\n  map [m < 1]\n    %" to "[i] = %" from "\n}\n"

static const struct program {
    const char *what;
    int tasks; /* for each N */
    const char *text;
} programs[] = {
    {"tasks that wait for nothing and tell nobody", 1,
     HEAD "output %y : f32[N]\n" STORE("a", "y", "x[0]") "schedule {\n  task @a\n}\n"},
    {"pairs: one tells, the other waits for it", 2,
     HEAD "output %y : f32[N]\ntemp %h : f32[N]\n" STORE("a", "h", "x[0]")
         STORE("b", "y", "h[i]") "event %e[N] count 1\nschedule {\n  task @a\n    notify %e[i]\n"
                                 "  task @b\n    wait %e[i]\n}\n"},
    {"a barrier in the middle: all tell one counter, all wait for it", 2,
     HEAD "output %y : f32[N]\ntemp %h : f32[N]\n" STORE("a", "h", "x[0]")
         STORE("b", "y", "h[i]") "event %e[1] count N\nschedule {\n  task @a\n    notify %e[0]\n"
                                 "  task @b\n    wait %e[0]\n}\n"},
};
enum { PROGRAMS = sizeof programs / sizeof *programs };

static bool write_program(const char *path, const char *text) {
    et_output f;
    if (!eb_file_open(&f, path)) return false;
    fputs(text, f.to);
    return eb_file_close(&f);
}

/* Instructions per task of every column. */
static bool measure(const struct eb_options *o, const struct program *p, double *out, char **device,
                    int *columns) {
    struct eb_bench b = {.o = o};
    bool ok = eb_columns_make(&b) && eb_points_make(&b);
    if (ok && (!b.device || !etrt_device_is_emulated(b.device)))
        ok = eb_fail("instructions are counted by the emulator only: --device emu");
    ok = ok && eb_run(&b);
    *columns = b.nruns;
    for (int c = 0; ok && c < b.nruns; c++) {
        double n[2];
        for (int i = 0; i < 2; i++) {
            const struct eb_cell *cell = &b.point[i].cell[c];
            n[i] = eb_summarise(cell->sample[EB_INSTRUCTIONS], cell->n[EB_INSTRUCTIONS]).median;
        }
        out[c] = (n[1] - n[0]) / ((double)p->tasks * (MANY - FEW));
    }
    if (ok && !*device) *device = eb_text("%s", etrt_device_name(b.device));
    eb_progress_end(&b);
    eb_points_free(&b);
    eb_columns_free(&b);
    return ok;
}

static void print_table(const struct eb_options *o, double value[PROGRAMS][EB_MAX_COLUMNS],
                        int columns, const char *device, FILE *to) {
    fprintf(to,
            "Instructions of waves per task, all four waves of a workgroup together, bodies of one "
            "store included; counted on %s, from %d to %d tasks of a kind.\n\n| |",
            device, FEW, MANY);
    for (int c = 0; c < columns; c++)
        fprintf(to, " %s |", et_schedule_name(o->schedules[c]));
    fputs("\n| --- |", to);
    for (int c = 0; c < columns; c++)
        fputs(" --- |", to);
    fputs("\n", to);
    for (int i = 0; i < PROGRAMS; i++) {
        fprintf(to, "| %s |", programs[i].what);
        for (int c = 0; c < columns; c++)
            fprintf(to, " %.1f |", value[i][c]);
        fputs("\n", to);
    }
}

bool eb_overhead(const struct eb_options *given) {
    struct eb_options o = *given;
    struct eb_sweep sweep = {(char *)"N", {FEW, MANY}, 2};
    double value[PROGRAMS][EB_MAX_COLUMNS] = {{0}};
    char *device = NULL;
    int columns = 0;
    if (o.nsweeps || o.ninputs || o.trace || o.html || o.json || o.plot)
        return eb_fail("--overhead takes --schedule, --device and --markdown");
    for (int i = ET_SCHEDULE_STATIC; !given->nschedules && et_schedule_name(i); i++)
        o.schedules[o.nschedules++] = (et_schedule_kind)i;
    char *folder = eb_folder();
    if (!folder) return false;
    char *file = eb_text("%s/overhead.eti", folder);
    o.sweep[0] = sweep;
    o.files[0] = file;
    o.nsweeps = o.nfiles = 1;
    o.no_predictions = o.no_tasks = o.no_unfused = true;
    if (o.repeat < 0) o.repeat = 1;
    bool ok = true;
    for (int i = 0; ok && i < PROGRAMS; i++)
        ok = write_program(file, programs[i].text) &&
             measure(&o, &programs[i], value[i], &device, &columns);
    et_folder_remove(folder);
    if (ok && !o.quiet) print_table(&o, value, columns, device, stdout);
    et_output f;
    if (ok && o.markdown && (ok = eb_file_open(&f, o.markdown))) {
        print_table(&o, value, columns, device, f.to);
        ok = eb_file_close(&f);
    }
    free(file);
    free(folder);
    free(device);
    return ok;
}
