/* etbench - models, schedules and code objects side by side: counted, timed, predicted. The command
 * line, and what is done with it. */
#include "bench/etbench/etbench.h"

#include "codegen/codegen.h"
#include "ir/base/arena.h"
#include "runtime/files/output.h"

#include <stdlib.h>
#include <string.h>

static const char *state_name(int i) {
    static const char *const names[] = {"random", "zero", "poison", NULL};
    return names[i];
}

static bool take_cache(void *options, const char *value) {
    return cli_bytes(value, &((struct eb_options *)options)->cache);
}

#define TO(field) CLI_AT(struct eb_options, field)
static const cli_option options[] = {
    CLI_HEADING("What is compared"),
    {"schedule", 0, CLI_LIST, NULL, TO(given.schedules),
     "schedules to compile with (default: static)", .names = et_schedule_name,
     .lo = ET_SCHEDULE_STATIC, .commas = true},
    {"vs", 0, CLI_INPUTS, "MODEL", TO(given.files), "one more column"},
    {"variants", 0, CLI_INT, "K", TO(variants), "tilings, as etcc has it (default 2)", .lo = 1,
     .hi = ET_MAX_VARIANTS},
    {"placement", 0, CLI_CHOICE, NULL, TO(placement), "as etcc has it", .names = et_placement_name},
    {"unfused", 0, CLI_FLAG, NULL, TO(unfused),
     "one more column, predicted: the same tiles with one kernel per task grid (default on the "
     "emulator)"},
    {"no-unfused", 0, CLI_FLAG, NULL, TO(no_unfused), "leaves it out"},
    CLI_HEADING("What is launched"),
    {"sweep", 0, CLI_PAIRS, "DIM=VALUE,VALUE,...", TO(given.sweeps),
     "run at each of these values; may be given for several dims"},
    {"set", 0, CLI_DIMS, "DIM=VALUE", TO(given.sets),
     "value of a dim; dims not named take their largest", .commas = true},
    {"device", 0, CLI_TEXT, "SPEC", TO(device),
     "auto (default), hsa, cuda, emu, emu:gfx942:cus=16:xcds=2; none: run nothing, predict only"},
    {"workgroups", 0, CLI_INT, "W", TO(workgroups), "workgroups to launch (default: one per CU)",
     .lo = 1, .hi = 65536},
    {"repeat", 0, CLI_INT, "K", TO(repeat),
     "launches that count, of each column in turn (default: 5 emulated, 100 on a GPU)", .lo = 1,
     .hi = 1000000},
    {"warmup", 0, CLI_INT, "K", TO(warmup),
     "launches before them, at least one (default: 1 emulated, 10 on a GPU)", .lo = 1,
     .hi = 1000000},
    {"resident", 0, CLI_FLAG, NULL, TO(resident),
     "kernels that can stay also do, and take steps, which are timed beside launches by the host's "
     "clock; models are compiled so"},
    {"wait-limit", 0, CLI_REAL, "SECONDS", TO(wait_limit), "bound of every wait inside the kernel",
     .hi = 1000000, .above = true},
    {"between", 0, CLI_INPUT, "CODE", TO(between),
     "a code object without inputs, launched before each launch of a column and not measured: so "
     "that caches hold nothing of the launch before"},
    {"expert-cache", 0, CLI_TAKE, "SIZE",
     .help = "of code of etcc --experts-on=host: so much device memory for copies of experts (8G, "
             "512M, all; default none)",
     .take = take_cache},
    CLI_HEADING("Data"),
    {"weights", 0, CLI_INPUT, "PATH", TO(weights),
     "safetensors, index or checkpoint directory (default: random)"},
    {"input", 0, CLI_PAIRS, "NAME=FILE", TO(given.inputs),
     "the input NAME of a safetensors file (default: random)", .files = true},
    {"range", 0, CLI_PAIRS, "NAME=LO..HI", TO(given.ranges),
     "random integers for input NAME from LO to HI"},
    {"redraw", 0, CLI_FLAG, NULL, TO(redraw),
     "integers that are random are drawn again before each launch, from the same seed in all "
     "columns"},
    {"states", 0, CLI_CHOICE, NULL, TO(states), "what states hold at first (default: random)",
     .names = state_name},
    {"seed", 0, CLI_INT, "N", TO(seed), "of everything random (default 1)", .hi = INT64_MAX},
    {"24", 0, CLI_FLAG, NULL, TO(two_of_four),
     "random weights have two zeros in every four columns, as kernels of etcc --sparse=2:4 read "
     "packed"},
    CLI_HEADING("Predictions"),
    {"machine", 0, CLI_INPUT, "NAME|FILE", TO(machine),
     "machine model, as etcc has it (default: the device's)"},
    {"target", 0, CLI_TEXT, NULL, TO(target),
     "with --device none: what to compile for (default gfx942)", .names = et_target_name},
    {"alike", 0, CLI_REAL, "SHARE", TO(alike),
     "where routing is not known, this share of a router's scores, 0 to 1, is the same for all "
     "tokens (default 0)",
     .hi = 1},
    {"no-predictions", 0, CLI_FLAG, NULL, TO(no_predictions), "do not predict anything"},
    {"no-tasks", 0, CLI_FLAG, NULL, TO(no_tasks),
     "emulated: do not compile everything once more to count tasks"},
    CLI_HEADING("Results"),
    {"json", 0, CLI_OUTPUT, "FILE", TO(json), "all of them"},
    {"markdown", 0, CLI_OUTPUT, "FILE", TO(markdown), "as tables"},
    {"plot", 0, CLI_OUTPUT, "FILE.svg", TO(plot), "as bars"},
    {"trace", 0, CLI_OUTPUT, "FILE", TO(trace),
     "a timeline of one launch for Perfetto or chrome://tracing"},
    {"html", 0, CLI_OUTPUT, "FILE", TO(html), "the same as a page of its own"},
    {"trace-of", 0, CLI_TEXT, "COLUMN", TO(trace_of),
     "of that column (default: the first), at the last point"},
    {"predicted", 0, CLI_FLAG, NULL, TO(predicted),
     "the timeline that is predicted, not the device's"},
    {"quiet", 'q', CLI_FLAG, NULL, TO(quiet), "no table, no progress bar"},
    CLI_HEADING("Other things to do"),
    {"profile", 0, CLI_OUTPUT, "FILE", TO(profile),
     "write the times of all task grids for etcc --profile: measured on a GPU, predicted from "
     "counted instructions on the emulator; at the values of --sweep and --set, or else where the "
     "compiler looks. Several models are one kernel, here and with --tune"},
    {"tune", 0, CLI_FLAG, NULL, TO(tune),
     "compile, profile, compile with the profile: -o FILE gets the one that is predicted to be "
     "faster. The profile is kept beside FILE (or where --profile says) and used again while it is "
     "of this model"},
    {"calibrate", 0, CLI_FLAG, NULL, TO(calibrate),
     "measure the device: -o FILE gets a machine model for --machine. What cannot be measured is "
     "as in --machine, or in the target's own"},
    {"kernels", 0, CLI_TEXT, "DIR", TO(kernels),
     "where --calibrate's programs are kept compiled, for another run or a machine without LLVM; "
     "with --device none nothing else is done"},
    {"output", 'o', CLI_OUTPUT, "FILE", TO(output), "what --tune and --calibrate make"},
    {"overhead", 0, CLI_FLAG, NULL, TO(overhead),
     "instructions per task that scheduling takes, by schedule (emulator)"},
    {0},
};
static const cli_option files = {.kind = CLI_INPUTS, .arg = "model", TO(given.files)};

static int run(void *);

static const cli_tool tool = {
    .name = "etbench",
    .summary = "run models, schedules and code objects side by side and compare them",
    .usage = "MODEL [MODEL]... [options]\n--overhead [options]\n"
             "--profile FILE MODEL [MODEL]... [options]\n"
             "--tune MODEL [MODEL]... -o MODEL.hsaco [options]\n"
             "--calibrate -o MY.machine [options]",
    .about = "Runs models side by side and tells how they compare. A MODEL is an .etg or .eti "
             "file, which is compiled once for each schedule, or a code object that etcc made. "
             "Each is a column.",
    .options = options,
    .rest = &files,
    .notes = "Columns must give the same results bit for bit: anything else is a failure.",
    .run = run,
};

static struct eb_sweep *add_dim(struct eb_options *o, const char *option, char *name) {
    for (int i = 0; i < o->nsweeps; i++)
        if (strcmp(o->sweep[i].name, name) == 0) {
            eb_fail("--%s %s: dim %s has values already", option, name, name);
            return NULL;
        }
    if (o->nsweeps == EB_MAX_SETTINGS) {
        eb_fail("too many dims");
        return NULL;
    }
    struct eb_sweep *s = &o->sweep[o->nsweeps++];
    s->name = name;
    return s;
}

static bool read_sweep(cli_item *given, struct eb_options *o) {
    struct eb_sweep *s = add_dim(o, "sweep", given->text);
    if (!s) return false;
    for (char *item, *rest = given->value; (item = strsep(&rest, ","));) {
        if (s->n == EB_MAX_VALUES)
            return eb_fail("--sweep %s: more than %d values", given->text, EB_MAX_VALUES);
        if (!cli_integer(item, INT32_MIN, INT32_MAX, &s->value[s->n++]))
            return eb_fail("--sweep %s: '%s' is not a value for a dim", given->text, item);
    }
    return true;
}

static struct eb_input *add_input(const cli_item *given, struct eb_options *o) {
    for (int i = 0; i < o->ninputs; i++)
        if (strcmp(o->input[i].name, given->text) == 0) {
            eb_fail("input %s is given twice", given->text);
            return NULL;
        }
    if (o->ninputs == EB_MAX_SETTINGS) {
        eb_fail("too many inputs");
        return NULL;
    }
    struct eb_input *in = &o->input[o->ninputs++];
    *in = (struct eb_input){.name = given->text, .file = given->value};
    return in;
}

static bool read_range(cli_item *given, struct eb_options *o) {
    struct eb_input *in = add_input(given, o);
    char *dots = strstr(given->value, "..");
    if (!in) return false;
    in->file = NULL;
    if (dots) *dots = 0;
    return (dots && cli_integer(given->value, INT32_MIN, INT32_MAX, &in->lo) &&
            cli_integer(dots + 2, in->lo, INT32_MAX, &in->hi)) ||
           eb_fail("--range %s=%s%s%s: write two numbers, the lower one first: 0..15", given->text,
                   given->value, dots ? ".." : "", dots ? dots + 2 : "");
}

static bool read_schedule(const char *name, struct eb_options *o) {
    et_schedule_kind kind = (et_schedule_kind)et_mode_find(et_schedule_name, name);
    for (int i = 0; i < o->nschedules; i++)
        if (o->schedules[i] == kind) return eb_fail("schedule %s is named twice", name);
    o->schedules[o->nschedules++] = kind;
    return true;
}

/* What was given as text. */
static bool read_lists(struct eb_options *o) {
    bool ok = o->given.files.n <= EB_MAX_COLUMNS || eb_fail("more than %d models", EB_MAX_COLUMNS);
    for (int i = 0; ok && i < o->given.files.n; i++)
        o->files[o->nfiles++] = o->given.files.at[i].text;
    for (int i = 0; ok && i < o->given.schedules.n; i++)
        ok = read_schedule(o->given.schedules.at[i].text, o);
    for (int i = 0; ok && i < o->given.sweeps.n; i++)
        ok = read_sweep(&o->given.sweeps.at[i], o);
    for (int i = 0; ok && i < o->given.sets.n; i++) {
        struct eb_sweep *s = add_dim(o, "set", o->given.sets.at[i].text);
        if ((ok = s)) s->value[s->n++] = o->given.sets.at[i].number;
    }
    for (int i = 0; ok && i < o->given.inputs.n; i++)
        ok = add_input(&o->given.inputs.at[i], o);
    for (int i = 0; ok && i < o->given.ranges.n; i++)
        ok = read_range(&o->given.ranges.at[i], o);
    return ok;
}

static bool check_calibrate(const struct eb_options *o) {
    bool none = strcmp(o->device, "none") == 0;
    if (o->kernels && !o->calibrate) return eb_fail("--kernels goes with --calibrate");
    if (!o->calibrate) return true;
    if (o->nfiles || o->tune || o->profile || o->overhead || o->no_predictions)
        return eb_fail("--calibrate takes no model and does nothing else");
    if (none && (!o->kernels || o->output))
        return eb_fail("--calibrate with --device none compiles into --kernels DIR, and no more");
    return none || o->output || eb_fail("--calibrate goes with -o FILE");
}

static bool check_profile(const struct eb_options *o) {
    if (!o->calibrate && o->tune != (o->output != NULL))
        return eb_fail("--tune MODEL goes with -o FILE, as --calibrate does");
    if (!o->tune && !o->profile) return true;
    const char *what = o->tune ? "--tune" : "--profile";
    for (int i = 0; i < o->nfiles; i++)
        if (eb_is_code(o->files[i])) return eb_fail("%s takes models, not code objects", what);
    if (o->overhead) return eb_fail("--overhead makes a model of its own");
    if (o->nschedules > 1) return eb_fail("%s takes one schedule", what);
    if (strcmp(o->device, "none") == 0 || o->no_predictions)
        return eb_fail("%s needs a device and a machine model", what);
    if (!o->tune && (o->json || o->markdown || o->plot || o->trace || o->html))
        return eb_fail("--profile writes nothing but the profile");
    if (o->tune && strcmp(o->output, "-") == 0 && !o->profile)
        return eb_fail("--tune keeps the profile beside -o FILE: say with --profile where it is");
    return true;
}

static bool check_together(struct eb_options *o) {
    const char *written[] = {o->json, o->markdown, o->plot,  o->trace,
                             o->html, o->profile,  o->output};
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        o->quiet |= written[i] && strcmp(written[i], "-") == 0;
    if (o->overhead && o->nfiles) return eb_fail("--overhead makes a model of its own");
    if (!o->overhead && !o->calibrate && !o->nfiles) return eb_fail("no model given");
    if (o->unfused && (o->no_unfused || o->no_predictions))
        return eb_fail("--unfused is a prediction, which another option leaves out");
    if (o->target && strcmp(o->device, "none") != 0)
        return eb_fail("--target goes with --device none: a device says itself what it is");
    if (strcmp(o->device, "none") == 0 && o->weights)
        return eb_fail("--weights goes with a device: predictions alone take random ones");
    if (strcmp(o->device, "none") == 0 && (o->no_predictions || o->overhead))
        return eb_fail("with --device none there is nothing but predictions");
    if ((o->trace_of || o->predicted) && !o->trace && !o->html)
        return eb_fail("--trace-of and --predicted go with --trace or --html");
    return check_calibrate(o) && check_profile(o);
}

static bool report(const struct eb_bench *b) {
    const struct eb_options *o = b->o;
    if (!o->quiet) eb_print_text(b, stdout);
    bool ok = !o->json || eb_write_json(b, o->json);
    ok &= !o->markdown || eb_write_markdown(b, o->markdown);
    ok &= !o->plot || eb_write_plot(b, o->plot);
    return ok;
}

static bool bench(const struct eb_options *o) {
    struct eb_bench b = {.o = o};
    bool ok = eb_columns_make(&b) && eb_points_make(&b) && eb_run(&b) && eb_write_timelines(&b);
    eb_progress_end(&b);
    ok = ok && report(&b);
    eb_points_free(&b);
    eb_columns_free(&b);
    return ok;
}

static bool do_all(const struct eb_options *o) {
    if (o->calibrate) return eb_calibrate(o);
    if (o->tune) return eb_tune(o);
    if (o->profile) return eb_profile(o);
    return o->overhead ? eb_overhead(o) : bench(o);
}

static int run(void *read) {
    struct eb_options *o = read;
    if (read_lists(o) && check_together(o)) return do_all(o) ? 0 : 1;
    fputs("Try 'etbench --help'.\n", stderr);
    return 2;
}

int main(int argc, char **argv) {
    struct eb_options o = {.device = "auto", .seed = 1, .repeat = -1, .warmup = -1, .variants = 2};
    et_on_give_up(et_remove_guarded);
    return cli_main(&tool, argc, argv, &o);
}
