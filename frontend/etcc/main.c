/* etcc - the command line. */
#include "frontend/etcc/driver.h"
#include "passes/passes.h"
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: etcc MODEL.etg -o MODEL.hsaco [options]\n"
    "       etcc A.etg B.etg ... -o MIX.hsaco [options]\n"
    "Compiles a model, or several that share the GPU, to one persistent GPU kernel.\n"
    "\n"
    "  -o FILE              the code object to write; with --to the text\n"
    "  --to=STAGE           stop at a stage and write it as .eti: graph, fused, tiled, evented,\n"
    "                       placed or scheduled; -o - is standard output\n"
    "  --target=NAME[,NAME]...  the GPU: gfx90a, gfx942 (default), gfx950, gfx1100 or gfx1201.\n"
    "                       With several, -o MODEL.hsaco writes MODEL.gfx90a.hsaco and so on, one\n"
    "                       file for each; --emit-llvm likewise\n"
    "  --machine=NAME|FILE  the GPU whose speeds costs are predicted from, and its target; a FILE\n"
    "                       is a description of your own (passes/machines/README.md)\n"
    "  --schedule=HOW       how tiles are given to workgroups: static (the default), dynamic\n"
    "                       (queued when what they wait for is done), or hybrid (each task the\n"
    "                       way that costs less, or that @static or @dynamic asks for)\n"
    "  --slices=S           operators in S slices that each stay on one die, products cut along\n"
    "                       what they sum over, which then has another order; rows:S: only rows\n"
    "                       are cut; auto: one slice per die, cut as is predicted to be faster;\n"
    "                       none (the default)\n"
    "  --placement=HOW      which CUs each task gets, and each of several models: ilp (the\n"
    "                       default: an integer program), greedy, fixed (a part of its\n"
    "                       own for each model), or all (all CUs)\n"
    "  -d PASS              print the program after PASS, or after each with 'all'; 'graph' is "
    "the\n"
    "                       program as parsed. Without -o nothing else is made\n"
    "  --weight=MODEL=W     of several models: MODEL's time counts W times (default 1) when the "
    "GPU\n"
    "                       is divided among them; once for each\n"
    "  --variants=K         at most K (1 to 4, default 2) tilings of everything, chosen at launch\n"
    "                       by the value of the first dim; fewer where fewer will do, one\n"
    "                       where several models share the kernel\n"
    "  --profile=FILE       times of tasks that replace predicted ones: what 'etbench --profile'\n"
    "                       writes\n"
    "  --explain[=HOW]      say what was decided and why, what the time goes to and what can be\n"
    "                       done about it, as predicted: text (the default) on standard output, "
    "or\n"
    "                       beside the output as MODEL.txt; html draws what runs where on the "
    "chip\n"
    "                       and when, MODEL.html beside the output\n"
    "  --emit-llvm=FILE     write the kernel's LLVM IR\n"
    "  --profile-kernel     the kernel can record when and where every task ran\n"
    "  --rocm-device-lib-path=DIR   where the ROCm device libraries' bitcode is\n"
    "  --break-event=NAME   for testing: waits on event NAME need one arrival too many, so that\n"
    "                       the kernel gives up and reports\n"
    "  --weaken=HOW:EVENT   for testing: the fences that go with EVENT are left out (HOW is "
    "fence,\n"
    "                       release or acquire) or order the workgroup only (scope)\n"
    "  --no-verify          do not prove the schedule before making the kernel\n"
    "  -v, --verbose        say what was made\n"
    "  --time-passes        say how long each pass took\n"
    "  --list-machines      print the machines there are\n"
    "  -h, --help           print this\n"
    "  --version            print the version\n"
    "\n"
    "MODEL may also be .eti of any stage: the passes that remain are run. It may be '-' for\n"
    "standard input. Exit status: 0 done, 1 errors in the model or in writing, 2 wrong usage.\n";

enum {
    TARGET = 256,
    MACHINE,
    LIST_MACHINES,
    PROFILE,
    EXPLAIN,
    SCHEDULE,
    SLICES,
    PLACEMENT,
    EMIT_LLVM,
    VARIANTS,
    WEIGHT,
    DEVICE_LIBS,
    BREAK_EVENT,
    NO_VERIFY,
    WEAKEN,
    TIME_PASSES,
    TO,
    PROFILE_KERNEL,
    VERSION
};

static const struct option options[] = {
    {"target", required_argument, NULL, TARGET},
    {"machine", required_argument, NULL, MACHINE},
    {"list-machines", no_argument, NULL, LIST_MACHINES},
    {"profile", required_argument, NULL, PROFILE},
    {"explain", optional_argument, NULL, EXPLAIN},
    {"to", required_argument, NULL, TO},
    {"placement", required_argument, NULL, PLACEMENT},
    {"schedule", required_argument, NULL, SCHEDULE},
    {"slices", required_argument, NULL, SLICES},
    {"emit-llvm", required_argument, NULL, EMIT_LLVM},
    {"variants", required_argument, NULL, VARIANTS},
    {"weight", required_argument, NULL, WEIGHT},
    {"rocm-device-lib-path", required_argument, NULL, DEVICE_LIBS},
    {"break-event", required_argument, NULL, BREAK_EVENT},
    {"no-verify", no_argument, NULL, NO_VERIFY},
    {"weaken", required_argument, NULL, WEAKEN},
    {"time-passes", no_argument, NULL, TIME_PASSES},
    {"profile-kernel", no_argument, NULL, PROFILE_KERNEL},
    {"verbose", no_argument, NULL, 'v'},
    {"help", no_argument, NULL, 'h'},
    {"version", no_argument, NULL, VERSION},
    {0},
};

static int usage(const char *fmt, const char *what) {
    fputs("etcc: ", stderr);
    fprintf(stderr, fmt, what);
    fputs("\nTry 'etcc --help'.\n", stderr);
    return 2;
}

enum { NO_SLICES = -2 };

/* none, auto, or how many, of rows only where *OUT_ROWS. */
static int slices(const char *text, bool *out_rows) {
    char *end;
    *out_rows = strncmp(text, "rows:", 5) == 0;
    if (strcmp(text, "none") == 0) return 0;
    if (strcmp(text, "auto") == 0) return ET_SLICES_AUTO;
    if (*out_rows) text += 5;
    long n = strtol(text, &end, 10);
    return *text >= '1' && *text <= '9' && !*end && n <= ET_MAX_SLICES ? (int)n : NO_SLICES;
}

static int run(const et_options *o) {
    if (!o->input) return usage("no input file%s", "");
    if (o->slices == NO_SLICES)
        return usage("--slices takes none, auto, 1 to 16 or rows:1 to rows:16%s", "");
    bool known = !o->schedule;
    for (int i = 0; et_schedule_name(i); i++)
        known |= o->schedule && strcmp(o->schedule, et_schedule_name(i)) == 0;
    if (!known)
        return usage("unknown schedule '%s': there are static, dynamic and hybrid", o->schedule);
    if (o->slices > 1 && o->schedule && strcmp(o->schedule, "static") != 0)
        return usage("--slices: tasks in slices are static, and --schedule=%s", o->schedule);
    if (o->placement && strcmp(o->placement, "ilp") != 0 && strcmp(o->placement, "greedy") != 0 &&
        strcmp(o->placement, "fixed") != 0 && strcmp(o->placement, "all") != 0)
        return usage("unknown placement '%s': there are ilp, greedy, fixed and all", o->placement);
    if (!o->variants) return usage("--variants takes 1, 2, 3 or 4%s", "");
    if (o->to && (!o->output || o->emit_llvm))
        return usage("--to=%s writes its text to -o FILE and makes no code", o->to);
    bool page = o->explain && strcmp(o->explain, "html") == 0;
    if (o->explain && !page && strcmp(o->explain, "text") != 0)
        return usage("--explain takes text or html, not '%s'", o->explain);
    if (page && !o->output)
        return usage("--explain=%s writes a file beside the output: give -o FILE", o->explain);
    if (o->explain && o->output && strcmp(o->output, "-") == 0)
        return usage("--explain=%s writes a file beside the output: give -o FILE", o->explain);
    if (!o->output && !o->dump && !o->emit_llvm && !o->explain)
        return usage("nothing to make of %s: give -o FILE, --emit-llvm=FILE, -d PASS or --explain",
                     o->input);
    return et_drive(o) ? 0 : 1;
}

int main(int argc, char **argv) {
    et_options o = {.variants = 2};
    for (int c; (c = getopt_long(argc, argv, "o:d:vh", options, NULL)) != -1;) {
        switch (c) {
        case 'o':
            o.output = optarg;
            break;
        case 'd':
            o.dump = optarg;
            break;
        case 'v':
            o.verbose = true;
            break;
        case TO:
            o.to = optarg;
            break;
        case TARGET:
            o.target = optarg;
            break;
        case MACHINE:
            o.machine = optarg;
            break;
        case PROFILE:
            o.profile = optarg;
            break;
        case EXPLAIN:
            o.explain = optarg ? optarg : "text";
            break;
        case LIST_MACHINES:
            et_machine_list(stdout);
            return 0;
        case PLACEMENT:
            o.placement = optarg;
            break;
        case SCHEDULE:
            o.schedule = optarg;
            break;
        case SLICES:
            o.slices = slices(optarg, &o.slice_rows);
            break;
        case EMIT_LLVM:
            o.emit_llvm = optarg;
            break;
        case VARIANTS:
            o.variants = optarg[0] >= '1' && optarg[0] <= '4' && !optarg[1] ? optarg[0] - '0' : 0;
            break;
        case WEIGHT:
            if (o.nweights == ET_MAX_MODELS)
                return usage("more weights than there can be models, at --weight=%s", optarg);
            o.weights[o.nweights++] = optarg;
            break;
        case DEVICE_LIBS:
            o.device_libs = optarg;
            break;
        case BREAK_EVENT:
            o.break_event = optarg;
            break;
        case NO_VERIFY:
            o.no_verify = true;
            break;
        case WEAKEN:
            o.weaken = optarg;
            break;
        case PROFILE_KERNEL:
            o.profile_kernel = true;
            break;
        case TIME_PASSES:
            o.time_passes = true;
            break;
        case 'h':
            fputs(help, stdout);
            puts("\nPasses, in the order they run:");
            for (int i = 0; et_pass_name(i); i++)
                printf("  %-20s %s\n", et_pass_name(i), et_pass_help(i));
            return 0;
        case VERSION:
            puts("etcc " ETCC_VERSION);
            return 0;
        default:
            fputs("Try 'etcc --help'.\n", stderr);
            return 2;
        }
    }
    o.input = argv[optind];
    o.nothers = argc - optind > 1 ? argc - optind - 1 : 0;
    o.others = argv + optind + 1;
    return run(&o);
}
