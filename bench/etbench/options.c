/* The command line. */
#include "bench/etbench/etbench.h"

#include "frontend/etcc/driver.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: etbench MODEL [MODEL]... [options]\n"
    "       etbench --overhead [options]\n"
    "       etbench --profile FILE MODEL [MODEL]... [options]\n"
    "       etbench --tune MODEL [MODEL]... -o MODEL.hsaco [options]\n"
    "Runs models side by side and tells how they compare. A MODEL is an .etg or .eti file, which "
    "is\n"
    "compiled once for each schedule, or a code object that etcc made. Each is a column.\n"
    "\n"
    "  --schedule LIST      schedules to compile with: ";

static const char more_help[] =
    " (default:\n"
    "                       the first)\n"
    "  --vs MODEL           one more column\n"
    "  --sweep DIM=V,V,...  run at each of these values; may be given for several dims\n"
    "  --set DIM=V          value of a dim; dims not named take their largest\n"
    "  --device SPEC        auto (default), hsa, emu, emu:gfx942:cus=16:xcds=2; none: run "
    "nothing,\n"
    "                       predict only\n"
    "  --workgroups W       workgroups to launch (default: one per CU)\n"
    "  --repeat K           launches that count, of each column in turn (default: 5 emulated, 100\n"
    "                       on a GPU)\n"
    "  --warmup K           launches before them, at least one (default: 1 emulated, 10 on a GPU)\n"
    "  --wait-limit SECONDS bound of every wait inside the kernel\n"
    "\n"
    "  --weights PATH       safetensors, index or checkpoint directory (default: random)\n"
    "  --input NAME=FILE    the input NAME of a safetensors file (default: random)\n"
    "  --range NAME=LO..HI  random integers for input NAME from LO to HI\n"
    "  --states HOW         what states hold at first: random (default), zero, poison\n"
    "  --seed N             of everything random (default 1)\n"
    "\n"
    "  --machine NAME|FILE  machine model, as etcc has it (default: the device's)\n"
    "  --target NAME        with --device none: what to compile for (default gfx942)\n"
    "  --unfused            one more column, predicted: the same tiles with one kernel per task\n"
    "                       grid (default on the emulator; --no-unfused leaves it out)\n"
    "  --no-predictions     do not predict anything\n"
    "  --no-tasks           emulated: do not compile everything once more to count tasks\n"
    "  --variants K, --placement HOW    as etcc has them\n"
    "\n"
    "  --json FILE, --markdown FILE, --plot FILE.svg    the results; - is standard output\n"
    "  --trace FILE         a timeline of one launch for Perfetto or chrome://tracing\n"
    "  --html FILE          the same as a page of its own\n"
    "  --trace-of COLUMN    of that column (default: the first), at the last point\n"
    "  --predicted          the timeline that is predicted, not the device's\n"
    "\n"
    "  --profile FILE       write the times of all task grids for etcc --profile: measured on a "
    "GPU,\n"
    "                       predicted from counted instructions on the emulator; at the values of\n"
    "                       --sweep and --set, or else where the compiler looks\n"
    "                       several models are one kernel, here and with --tune\n"
    "  --tune               compile, profile, compile with the profile: -o FILE gets the one that\n"
    "                       is predicted to be faster. The profile is kept beside FILE (or where\n"
    "                       --profile says) and used again while it is of this model\n"
    "  --overhead           instructions per task that scheduling takes, by schedule (emulator)\n"
    "  -q, --quiet          no table, no progress bar\n"
    "  -h, --help, --version\n"
    "\n"
    "Columns must give the same results bit for bit. Exit status: 0 done, 1 errors or results "
    "that\n"
    "differ, 2 wrong usage.\n";

enum {
    SCHEDULE = 256,
    VS,
    SWEEP,
    SET,
    DEVICE,
    WORKGROUPS,
    REPEAT,
    WARMUP,
    WAIT_LIMIT,
    WEIGHTS,
    INPUT,
    RANGE,
    STATES,
    SEED,
    MACHINE,
    PLACEMENT,
    TARGET,
    UNFUSED,
    NO_UNFUSED,
    NO_PREDICTIONS,
    NO_TASKS,
    VARIANTS,
    JSON,
    MARKDOWN,
    PLOT,
    TRACE,
    HTML,
    TRACE_OF,
    PREDICTED,
    OVERHEAD,
    PROFILE,
    TUNE,
    VERSION
};

static const struct option options[] = {
    {"schedule", required_argument, NULL, SCHEDULE},
    {"vs", required_argument, NULL, VS},
    {"sweep", required_argument, NULL, SWEEP},
    {"set", required_argument, NULL, SET},
    {"device", required_argument, NULL, DEVICE},
    {"workgroups", required_argument, NULL, WORKGROUPS},
    {"repeat", required_argument, NULL, REPEAT},
    {"warmup", required_argument, NULL, WARMUP},
    {"wait-limit", required_argument, NULL, WAIT_LIMIT},
    {"weights", required_argument, NULL, WEIGHTS},
    {"input", required_argument, NULL, INPUT},
    {"range", required_argument, NULL, RANGE},
    {"states", required_argument, NULL, STATES},
    {"seed", required_argument, NULL, SEED},
    {"machine", required_argument, NULL, MACHINE},
    {"placement", required_argument, NULL, PLACEMENT},
    {"target", required_argument, NULL, TARGET},
    {"unfused", no_argument, NULL, UNFUSED},
    {"no-unfused", no_argument, NULL, NO_UNFUSED},
    {"no-predictions", no_argument, NULL, NO_PREDICTIONS},
    {"no-tasks", no_argument, NULL, NO_TASKS},
    {"variants", required_argument, NULL, VARIANTS},
    {"json", required_argument, NULL, JSON},
    {"markdown", required_argument, NULL, MARKDOWN},
    {"plot", required_argument, NULL, PLOT},
    {"trace", required_argument, NULL, TRACE},
    {"html", required_argument, NULL, HTML},
    {"trace-of", required_argument, NULL, TRACE_OF},
    {"predicted", no_argument, NULL, PREDICTED},
    {"overhead", no_argument, NULL, OVERHEAD},
    {"profile", required_argument, NULL, PROFILE},
    {"tune", no_argument, NULL, TUNE},
    {"output", required_argument, NULL, 'o'},
    {"quiet", no_argument, NULL, 'q'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, VERSION},
    {0},
};

static void print_schedules(FILE *to) {
    for (int i = 0; et_schedule_name(i); i++)
        fprintf(to, "%s%s", i ? ", " : "", et_schedule_name(i));
}

static void print_help(void) {
    fputs(help, stdout);
    print_schedules(stdout);
    fputs(more_help, stdout);
}

static bool add_file(struct eb_options *o, const char *file) {
    if (o->nfiles == EB_MAX_COLUMNS) return eb_fail("more than %d models", EB_MAX_COLUMNS);
    o->files[o->nfiles++] = file;
    return true;
}

/* The name in the compiler's list that is TEXT. */
static const char *find_schedule(const char *text) {
    for (int i = 0; et_schedule_name(i); i++)
        if (strcmp(et_schedule_name(i), text) == 0) return et_schedule_name(i);
    eb_fail("unknown schedule '%s'", text);
    fputs("there is ", stderr);
    print_schedules(stderr);
    fputs("\n", stderr);
    return NULL;
}

static bool parse_schedules(char *text, struct eb_options *o) {
    for (char *item; (item = strsep(&text, ","));) {
        const char *name = find_schedule(item);
        if (!name) return false;
        for (int i = 0; i < o->nschedules; i++)
            if (strcmp(o->schedules[i], name) == 0)
                return eb_fail("schedule %s is named twice", name);
        if (o->nschedules == EB_MAX_COLUMNS) return eb_fail("too many schedules");
        o->schedules[o->nschedules++] = name;
    }
    return true;
}

static bool parse_int(const char *text, int64_t lo, int64_t hi, int64_t *out) {
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    *out = v;
    return end != text && !*end && !errno && v >= lo && v <= hi;
}

static bool parse_long(const char *option, int64_t lo, int64_t hi, long *out) {
    int64_t v;
    if (!parse_int(optarg, lo, hi, &v))
        return eb_fail("--%s %s: write a number from %lld to %lld", option, optarg, (long long)lo,
                       (long long)hi);
    *out = (long)v;
    return true;
}

/* Cuts "NAME=REST" in two; NULL after an error. */
static char *cut_name(const char *option, char *text, const char *form) {
    char *eq = strchr(text, '=');
    if (!eq || eq == text || !eq[1]) {
        eb_fail("--%s %s: write %s", option, text, form);
        return NULL;
    }
    *eq = 0;
    return eq + 1;
}

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

static bool parse_sweep(char *text, struct eb_options *o) {
    char *values = cut_name("sweep", text, "DIM=VALUE,VALUE,...");
    struct eb_sweep *s = values ? add_dim(o, "sweep", text) : NULL;
    if (!s) return false;
    for (char *item; (item = strsep(&values, ","));) {
        if (s->n == EB_MAX_VALUES)
            return eb_fail("--sweep %s: more than %d values", text, EB_MAX_VALUES);
        if (!parse_int(item, INT32_MIN, INT32_MAX, &s->value[s->n++]))
            return eb_fail("--sweep %s: '%s' is not a value for a dim", text, item);
    }
    return true;
}

static bool parse_set(char *text, struct eb_options *o) {
    for (char *item; (item = strsep(&text, ","));) {
        char *value = cut_name("set", item, "DIM=VALUE");
        struct eb_sweep *s = value ? add_dim(o, "set", item) : NULL;
        if (!s) return false;
        if (!parse_int(value, INT32_MIN, INT32_MAX, &s->value[s->n++]))
            return eb_fail("--set %s: '%s' is not a value for a dim", item, value);
    }
    return true;
}

static bool parse_input(int option, char *text, struct eb_options *o) {
    bool file = option == INPUT;
    char *rest = cut_name(file ? "input" : "range", text, file ? "NAME=FILE" : "NAME=LO..HI");
    if (!rest) return false;
    for (int i = 0; i < o->ninputs; i++)
        if (strcmp(o->input[i].name, text) == 0) return eb_fail("input %s is given twice", text);
    if (o->ninputs == EB_MAX_SETTINGS) return eb_fail("too many inputs");
    struct eb_input *in = &o->input[o->ninputs++];
    *in = (struct eb_input){.name = text, .file = file ? rest : NULL};
    if (file) return true;
    char *dots = strstr(rest, "..");
    if (dots) *dots = 0;
    if (!dots || !parse_int(rest, INT32_MIN, INT32_MAX, &in->lo) ||
        !parse_int(dots + 2, in->lo, INT32_MAX, &in->hi))
        return eb_fail("--range %s=%s%s%s: write two numbers, the lower one first: 0..15", text,
                       rest, dots ? ".." : "", dots ? dots + 2 : "");
    return true;
}

static bool parse_states(struct eb_options *o) {
    static const char *const names[] = {"random", "zero", "poison"};
    for (int i = 0; i < 3; i++)
        if (strcmp(optarg, names[i]) == 0) {
            o->states = (enum eb_states)i;
            return true;
        }
    return eb_fail("--states %s: there is random, zero and poison", optarg);
}

static bool parse_wait_limit(struct eb_options *o) {
    char *end;
    o->wait_limit = strtod(optarg, &end);
    return (*optarg && !*end && o->wait_limit > 0) ||
           eb_fail("--wait-limit %s: write seconds, such as 0.5", optarg);
}

static bool parse_number(int option, struct eb_options *o) {
    int64_t seed;
    switch (option) {
    case WORKGROUPS:
        return parse_long("workgroups", 1, 65536, &o->workgroups);
    case REPEAT:
        return parse_long("repeat", 1, 1000000, &o->repeat);
    case WARMUP:
        return parse_long("warmup", 1, 1000000, &o->warmup);
    case VARIANTS:
        return parse_long("variants", 1, ET_MAX_VARIANTS, &o->variants);
    case WAIT_LIMIT:
        return parse_wait_limit(o);
    default:
        if (!parse_int(optarg, 0, INT64_MAX, &seed))
            return eb_fail("--seed %s: write a number from 0", optarg);
        o->seed = (uint64_t)seed;
        return true;
    }
}

static const char **text_option(int option, struct eb_options *o) {
    switch (option) {
    case DEVICE:
        return &o->device;
    case WEIGHTS:
        return &o->weights;
    case MACHINE:
        return &o->machine;
    case PLACEMENT:
        return &o->placement;
    case TARGET:
        return &o->target;
    case JSON:
        return &o->json;
    case PROFILE:
        return &o->profile;
    case 'o':
        return &o->output;
    case MARKDOWN:
        return &o->markdown;
    case PLOT:
        return &o->plot;
    case TRACE:
        return &o->trace;
    case HTML:
        return &o->html;
    case TRACE_OF:
        return &o->trace_of;
    default:
        return NULL;
    }
}

static bool *flag_option(int option, struct eb_options *o) {
    switch (option) {
    case UNFUSED:
        return &o->unfused;
    case NO_UNFUSED:
        return &o->no_unfused;
    case NO_PREDICTIONS:
        return &o->no_predictions;
    case NO_TASKS:
        return &o->no_tasks;
    case PREDICTED:
        return &o->predicted;
    case TUNE:
        return &o->tune;
    case OVERHEAD:
        return &o->overhead;
    case 'q':
        return &o->quiet;
    default:
        return NULL;
    }
}

static bool parse_option(int option, struct eb_options *o) {
    const char **text = text_option(option, o);
    bool *flag = flag_option(option, o);
    if (text) {
        *text = optarg;
        return true;
    }
    if (flag) return *flag = true;
    switch (option) {
    case SCHEDULE:
        return parse_schedules(optarg, o);
    case 1: /* no option: "-" in getopt's string keeps them in order with --vs */
    case VS:
        return add_file(o, optarg);
    case SWEEP:
        return parse_sweep(optarg, o);
    case SET:
        return parse_set(optarg, o);
    case INPUT:
    case RANGE:
        return parse_input(option, optarg, o);
    case STATES:
        return parse_states(o);
    case '?':
        return false; /* getopt has printed why */
    default:
        return parse_number(option, o);
    }
}

static bool check_placement(const struct eb_options *o) {
    const char *p = o->placement;
    return !p || strcmp(p, "ilp") == 0 || strcmp(p, "greedy") == 0 || strcmp(p, "fixed") == 0 ||
           strcmp(p, "all") == 0 ||
           eb_fail("unknown placement '%s': there are ilp, greedy, fixed and all", p);
}

static bool check_profile(const struct eb_options *o) {
    if (o->tune != (o->output != NULL)) return eb_fail("--tune MODEL goes with -o FILE");
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
    return true;
}

static bool check_together(struct eb_options *o) {
    int to_stdout = 0;
    const char *written[] = {o->json, o->markdown, o->plot};
    for (int i = 0; i < 3; i++)
        to_stdout += written[i] && strcmp(written[i], "-") == 0;
    if (to_stdout > 1) return eb_fail("only one result can go to the standard output");
    if (to_stdout) o->quiet = true;
    if (o->overhead && o->nfiles) return eb_fail("--overhead makes a model of its own");
    if (!o->overhead && !o->nfiles) return eb_fail("no model given");
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
    return check_placement(o) && check_profile(o);
}

enum eb_parsed eb_options_parse(int argc, char **argv, struct eb_options *o) {
    *o =
        (struct eb_options){.device = "auto", .seed = 1, .repeat = -1, .warmup = -1, .variants = 2};
    bool ok = true;
    for (int c; ok && (c = getopt_long(argc, argv, "-qho:", options, NULL)) != -1;) {
        if (c == 'h' || c == VERSION) {
            if (c == 'h')
                print_help();
            else
                puts("etbench " ETCC_VERSION);
            return EB_DONE;
        }
        ok = parse_option(c, o);
    }
    while (ok && optind < argc)
        ok = add_file(o, argv[optind++]);
    if (ok && check_together(o)) return EB_RUN;
    fputs("Try 'etbench --help'.\n", stderr);
    return EB_BAD;
}
