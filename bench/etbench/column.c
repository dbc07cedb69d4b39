/* What is compared: models compiled here, code objects made before, the unfused baseline. */
#include "bench/etbench/etbench.h"
#include "ir/base/clock.h"

#include "frontend/etcc/driver.h"
#include "runtime/etrt/base/file.h"
#include "runtime/files/input.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool eb_is_code(const char *path) {
    char magic[4] = {0}, why[ET_WHY];
    int fd = et_file_open(path, NULL, why);
    ssize_t n = fd >= 0 ? read(fd, magic, sizeof magic) : 0;
    if (fd >= 0) close(fd);
    return n == sizeof magic && memcmp(magic, "\177ELF", 4) == 0;
}

/* Models are told from other files by their names, so that a file of any other kind is not taken
 * for a model with a thousand errors. */
static bool is_model(const char *path) {
    const char *dot = strrchr(path, '.');
    if (strcmp(path, "/dev/stdin") == 0) return true;
    return dot && (strcmp(dot, ".etg") == 0 || strcmp(dot, ".eti") == 0);
}

static bool check_file(const char *path) {
    char why[ET_WHY];
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode))
        return eb_fail("%s is a folder; etimport makes an .etg of a checkpoint", path);
    int fd = et_file_open(path, NULL, why);
    if (fd < 0) return eb_fail("%s: %s", path, why);
    close(fd);
    if (eb_is_code(path) || is_model(path)) return true;
    return eb_fail("%s is neither a model (.etg, .eti) nor a code object", path);
}

static int64_t file_bytes(const char *path) {
    struct stat st;
    return stat(path, &st) == 0 ? (int64_t)st.st_size : 0;
}

/* The schedule that came out: an .eti that is scheduled already keeps its own. */
static bool compile_file(struct eb_bench *b, const char *file, et_schedule_kind schedule,
                         bool profile, struct eb_column *c) {
    c->file = file;
    c->asked = schedule;
    c->arena = et_arena_create();
    c->code = eb_text("%s/%d.hsaco", b->folder, b->ncompiled++);
    c->made_here = true;
    et_options o = {.input = file,
                    .output = b->device || profile ? c->code : NULL,
                    .target = b->target,
                    .machine = b->o->machine,
                    .schedule = schedule,
                    .placement = b->o->placement,
                    .times = c->timed ? b->times : NULL,
                    .others = (char *const *)b->o->files + 1,
                    .nothers = b->o->one_kernel ? b->o->nfiles - 1 : 0,
                    .variants = (int)b->o->variants,
                    .profile_kernel = profile,
                    .resident = b->o->resident && !profile,
                    .arena = c->arena,
                    .out_program = &c->program};
    double from = et_seconds();
    if (!et_drive(&o))
        return eb_fail("%s, schedule %s: not compiled", file, et_schedule_name(schedule));
    c->compile_seconds = et_seconds() - from;
    if (o.output) c->code_bytes = file_bytes(c->code);
    c->schedule = et_schedule_name(et_program_part(c->program, 0)->schedule);
    return true;
}

static bool load_code(struct eb_bench *b, struct eb_column *c);

/* What records its tasks is another kernel, which is neither timed nor counted. */
struct eb_column *eb_traced(struct eb_bench *b, struct eb_column *c) {
    if (c->traced) return c->traced;
    if (!c->arena && !etrt_model_traceable(c->model)) {
        eb_fail("%s records no tasks: compile it with etcc --profile-kernel", c->file);
        return NULL;
    }
    c->traced = eb_alloc(sizeof *c->traced);
    *c->traced =
        (struct eb_column){.name = eb_text("%s", c->name), .file = c->file, .timed = c->timed};
    bool ok = true;
    if (c->arena)
        ok = compile_file(b, c->file, c->asked, true, c->traced);
    else
        c->traced->code = eb_text("%s", c->code);
    return ok && load_code(b, c->traced) && eb_weights(b, c->traced) ? c->traced : NULL;
}

static bool load_code(struct eb_bench *b, struct eb_column *c) {
    etrt_status st = etrt_model_load(b->device, c->code, &c->model);
    if (st == ETRT_OK) st = etrt_model_cache(c->model, b->o->cache);
    if (c->made_here) unlink(c->code); /* at once: less is left if somebody ends the program */
    if (st == ETRT_OK) st = etrt_session_create(c->model, &c->session);
    if (st == ETRT_OK && b->o->wait_limit > 0)
        st = etrt_set_wait_limit(c->session, b->o->wait_limit);
    if (st == ETRT_OK && b->o->workgroups)
        st = etrt_set_workgroups(c->session, (int)b->o->workgroups);
    if (st != ETRT_OK) return eb_fail_status(c->file, st);
    c->schedule = etrt_model_manifest(c->model)->schedule;
    return true;
}

static const char *base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Short where that is enough: the schedule, or the file, or both; numbered if still the same. */
static char *column_name(const struct eb_bench *b, const char *file, const char *schedule) {
    bool many = b->o->nfiles > 1 || !schedule;
    const char *base = base_name(file), *dot = strrchr(base, '.');
    int length = dot && dot != base ? (int)(dot - base) : (int)strlen(base);
    char *name = !many                              ? eb_text("%s", schedule)
                 : schedule && b->o->nschedules > 1 ? eb_text("%.*s:%s", length, base, schedule)
                                                    : eb_text("%.*s", length, base);
    int same = 1;
    for (int i = 0; i < b->ncolumns; i++) {
        const char *other = b->column[i].name;
        size_t n = strlen(name);
        same += strncmp(other, name, n) == 0 && (!other[n] || other[n] == '#');
    }
    if (same == 1) return name;
    char *numbered = eb_text("%s#%d", name, same);
    free(name);
    return numbered;
}

static struct eb_column *add_column(struct eb_bench *b) {
    if (b->ncolumns < EB_MAX_COLUMNS) return &b->column[b->ncolumns];
    eb_fail("more than %d columns", EB_MAX_COLUMNS);
    return NULL;
}

static bool add_code(struct eb_bench *b, const char *file) {
    struct eb_column *c = add_column(b);
    if (!c) return false;
    if (!b->device) return eb_fail("%s: code objects can be run, but not predicted", file);
    c->file = file;
    c->code = eb_text("%s", file);
    c->code_bytes = file_bytes(file);
    c->name = column_name(b, file, NULL);
    b->ncolumns++;
    return load_code(b, c);
}

static bool add_model(struct eb_bench *b, const char *file, et_schedule_kind schedule) {
    struct eb_column *c = add_column(b);
    if (!c) return false;
    c->name = column_name(b, file, et_schedule_name(schedule));
    b->ncolumns++;
    eb_progress(b, b->ncolumns - 1, 0, c->name);
    return compile_file(b, file, schedule, false, c) && (!b->device || load_code(b, c));
}

bool eb_add_timed(struct eb_bench *b, const char *name) {
    struct eb_column *c = add_column(b), *first = &b->column[0];
    if (!c) return false;
    c->name = eb_text("%s", name);
    c->timed = true;
    b->nruns = ++b->ncolumns;
    return compile_file(b, first->file, first->asked, false, c) && load_code(b, c) &&
           eb_columns_agree(b) && eb_weights(b, c);
}

static bool add_file(struct eb_bench *b, const char *file) {
    const et_schedule_kind usual = ET_SCHEDULE_STATIC,
                           *schedule = b->o->nschedules ? b->o->schedules : &usual;
    int n = b->o->nschedules ? b->o->nschedules : 1;
    if (eb_is_code(file)) return add_code(b, file);
    for (int i = 0; i < n; i++)
        if (!add_model(b, file, schedule[i])) return false;
    return true;
}

/* The first column that has a program also lends it to the baseline. */
static bool add_unfused(struct eb_bench *b) {
    const struct eb_options *o = b->o;
    bool wanted =
        o->unfused || (!b->device || etrt_device_is_emulated(b->device)) ? !o->no_unfused : false;
    if (!wanted || !b->machine) return true;
    for (int i = 0; i < b->nruns; i++)
        if (b->column[i].program) {
            b->column[b->ncolumns++] = (struct eb_column){.name = eb_text("unfused"),
                                                          .file = b->column[i].file,
                                                          .schedule = "unfused",
                                                          .unfused = true,
                                                          .program = b->column[i].program};
            return true;
        }
    return !o->unfused || eb_fail("--unfused needs a model, not only code objects");
}

static bool find_machine(struct eb_bench *b) {
    if (b->o->no_predictions) return true;
    b->machine = et_machine_for(b->target);
    if (!b->o->machine) return true;
    b->arena = et_arena_create();
    et_diags *d = et_diags_create(b->arena);
    b->machine = et_machine_find(b->arena, d, b->o->machine, b->target);
    et_diag_print(d, stderr);
    return b->machine || eb_fail("--machine %s cannot be used", b->o->machine);
}

/* The target of the first code object among the files, or the usual one. */
static char *target_of_files(const struct eb_options *o) {
    char *target = NULL;
    for (int i = 0; i < o->nfiles && !target; i++) {
        struct etrt_manifest m;
        void *file;
        size_t bytes;
        if (!eb_is_code(o->files[i]) ||
            etrt_file_read(o->files[i], 0, ETRT_MAX_CODE, &file, &bytes) != ETRT_OK)
            continue;
        if (etrt_manifest_of_code(file, bytes, &m) == ETRT_OK) {
            target = eb_text("%s", m.target);
            etrt_manifest_free(&m);
        }
        free(file);
    }
    return target ? target : eb_text("%s", et_machine_default()->target);
}

/* The emulator counts the same in every run where its clock counts instructions. */
static etrt_status open_emulator(const struct eb_options *o, const char *options,
                                 etrt_device **out) {
    const char *usual = getenv("ETEMU_DEVICE");
    char *target = target_of_files(o);
    if (!options) options = usual && *usual ? usual : target;
    char *spec =
        eb_text("emu:%s%s", options, strstr(options, "clock=") ? "" : ":clock=instructions");
    etrt_status st = etrt_device_open(spec, out);
    free(spec);
    free(target);
    return st;
}

/* The first GPU that is what the files are for, else its emulator. */
static etrt_status open_automatic(const struct eb_options *o, etrt_device **out) {
    char *target = o->target ? eb_text("%s", o->target) : target_of_files(o);
    etrt_device_info gpu;
    bool found = false;
    for (int i = 0; !found && etrt_device_at(i, &gpu) == ETRT_OK; i++)
        found = !gpu.emulated && strcmp(gpu.isa, target) == 0;
    free(target);
    return found ? etrt_device_open(gpu.spec, out) : open_emulator(o, NULL, out);
}

static etrt_status open_spec(const struct eb_options *o, etrt_device **out) {
    const char *spec = o->device;
    if (strncmp(spec, "emu:", 4) == 0) return open_emulator(o, spec + 4, out);
    if (strcmp(spec, "emu") == 0) return open_emulator(o, NULL, out);
    return strcmp(spec, "auto") == 0 ? open_automatic(o, out) : etrt_device_open(spec, out);
}

bool eb_device_open(struct eb_bench *b) {
    if (strcmp(b->o->device, "none") != 0) {
        etrt_status st = open_spec(b->o, &b->device);
        if (st == ETRT_OK) st = etrt_device_timing(b->device, 1);
        if (st != ETRT_OK) return eb_fail_status(b->o->device, st);
    }
    b->target = b->device ? etrt_device_isa(b->device) : "";
    if (!*b->target) b->target = b->o->target ? b->o->target : et_machine_default()->target;
    et_arena *arena = et_arena_create();
    et_diags *d = et_diags_create(arena);
    bool known = et_check_target(b->target, d);
    et_diag_print(d, stderr);
    et_arena_destroy(arena);
    return known && find_machine(b);
}

char *eb_folder(void) {
    char path[PATH_MAX];
    if (et_folder_make("etbench", path)) return eb_text("%s", path);
    eb_fail("%s: %s", path, strerror(errno));
    return NULL;
}

static bool has_input(const struct eb_column *c, const char *name) {
    if (c->model) {
        const struct etrt_manifest *m = etrt_model_manifest(c->model);
        int t = etrt_manifest_tensor(m, name);
        return t >= 0 && m->tensors[t].kind == ETRT_INPUT;
    }
    const et_program *p = et_program_part(c->program, 0);
    for (int t = 0; t < p->ntensors; t++)
        if (p->tensors[t].kind == ET_TENSOR_INPUT && strcmp(p->tensors[t].name, name) == 0)
            return true;
    return false;
}

/* Does every --input and --range name an input? */
static bool check_inputs(const struct eb_bench *b) {
    for (int i = 0; i < b->o->ninputs; i++)
        if (!has_input(&b->column[0], b->o->input[i].name))
            return eb_fail("%s has no input %s", b->column[0].file, b->o->input[i].name);
    return true;
}

/* What is launched in between, with the largest values of its dims. */
static bool load_between(struct eb_bench *b) {
    struct eb_column *c = &b->between;
    etrt_dim_info dim;
    if (!b->o->between) return true;
    if (!b->device) return eb_fail("--between: nothing is run");
    if (!eb_is_code(b->o->between)) return eb_fail("%s is no code object", b->o->between);
    c->file = b->o->between;
    c->name = eb_text("%s", base_name(c->file));
    c->code = eb_text("%s", c->file);
    if (!load_code(b, c) || !eb_weights(b, c)) return false;
    for (int i = 0; eb_column_dim(c, i, &dim); i++) {
        etrt_status st = etrt_set_dim(c->session, dim.name, dim.hi);
        if (st != ETRT_OK) return eb_fail_status(c->name, st);
    }
    return true;
}

bool eb_columns_make(struct eb_bench *b) {
    for (int i = 0; i < b->o->nfiles; i++)
        if (!check_file(b->o->files[i])) return false;
    if (!eb_device_open(b) || !(b->folder = eb_folder())) return false;
    for (int i = 0; i < (b->o->one_kernel ? 1 : b->o->nfiles); i++)
        if (!add_file(b, b->o->files[i])) return false;
    b->nruns = b->ncolumns;
    if (!add_unfused(b) || !eb_columns_agree(b) || !check_inputs(b)) return false;
    for (int i = 0; b->device && i < b->nruns; i++)
        if (!eb_weights(b, &b->column[i])) return false;
    return load_between(b);
}

static void free_column(struct eb_column *c) {
    if (c->traced) free_column(c->traced);
    free(c->traced);
    etrt_session_destroy(c->session);
    etrt_model_unload(c->model);
    if (c->made_here) unlink(c->code);
    if (c->arena) et_arena_destroy(c->arena);
    free(c->name);
    free(c->code);
}

void eb_columns_free(struct eb_bench *b) {
    free_column(&b->between);
    for (int i = 0; i < b->ncolumns; i++)
        free_column(&b->column[i]);
    etrt_device_close(b->device);
    if (b->arena) et_arena_destroy(b->arena);
    if (b->folder) et_folder_remove(b->folder);
    free(b->folder);
}

bool eb_column_dim(const struct eb_column *c, int index, etrt_dim_info *out) {
    if (c->model) return etrt_model_dim(c->model, index, out) == ETRT_OK;
    const et_exprs *x = c->program->g->exprs;
    if (index >= et_sym_count(x)) return false;
    out->name = et_sym_name(x, index);
    et_sym_range(x, index, &out->lo, &out->hi);
    return true;
}
