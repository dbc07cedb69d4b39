#include "runtime/etrun/etrun.h"

#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char usage_text[] =
    "usage: etrun MODEL.hsaco [options]     run a model once\n"
    "       etrun MODEL.hsaco --list        show its dims, tensors and kernel\n"
    "       etrun --replay DIR [options]    run a captured launch again and compare\n"
    "\n"
    "  --set DIM=VALUE       value of a dim; once for each (or DIM=VALUE,DIM=VALUE); --dim "
    "likewise\n"
    "  --in FILE             safetensors with the inputs, and states to start from\n"
    "  --weights PATH        safetensors, index or checkpoint directory; MODEL=PATH where the "
    "kernel\n"
    "                        is of several models, once for each\n"
    "  --only MODEL,MODEL    of several models, those to run\n"
    "  --out FILE            safetensors to write the outputs to\n"
    "  --states              write the state tensors to --out as well\n"
    "  --device SPEC         auto (default), hsa, emu, emu:gfx942:cus=16:xcds=2\n"
    "  --workgroups W        workgroups to launch (default: one per CU)\n"
    "  --wait-limit SECONDS  bound of every wait inside the kernel\n"
    "  --repeat K            launch K times\n"
    "  --capture DIR         capture the first launch into a new folder\n"
    "  --stats               print what the device counted\n"
    "  --help, --version\n";

enum {
    SET = 256,
    IN,
    OUT,
    WEIGHTS,
    ONLY,
    DEVICE,
    CAPTURE,
    REPLAY,
    REPEAT,
    STATS,
    STATES,
    WAIT_LIMIT,
    WORKGROUPS,
    LIST,
    HELP,
    VERSION
};

static const struct option long_options[] = {
    {"set", required_argument, NULL, SET},
    {"dim", required_argument, NULL, SET},
    {"in", required_argument, NULL, IN},
    {"out", required_argument, NULL, OUT},
    {"weights", required_argument, NULL, WEIGHTS},
    {"only", required_argument, NULL, ONLY},
    {"device", required_argument, NULL, DEVICE},
    {"capture", required_argument, NULL, CAPTURE},
    {"replay", required_argument, NULL, REPLAY},
    {"repeat", required_argument, NULL, REPEAT},
    {"stats", no_argument, NULL, STATS},
    {"states", no_argument, NULL, STATES},
    {"wait-limit", required_argument, NULL, WAIT_LIMIT},
    {"workgroups", required_argument, NULL, WORKGROUPS},
    {"list", no_argument, NULL, LIST},
    {"help", no_argument, NULL, HELP},
    {"version", no_argument, NULL, VERSION},
    {0},
};

static enum parsed usage(void) {
    fputs("Try 'etrun --help'.\n", stderr);
    return PARSED_BAD;
}

static bool parse_long(const char *text, long lo, long hi, long *out) {
    char *end;
    errno = 0;
    *out = strtol(text, &end, 10);
    return *text && !*end && !errno && *out >= lo && *out <= hi;
}

/* TEXT is "N=3" or "N=3,M=4"; it is cut up in place. */
static bool parse_settings(char *text, struct options *o) {
    for (char *item; (item = strsep(&text, ","));) {
        char *value = strchr(item, '=');
        long number;
        if (!value || value == item || !parse_long(value + 1, INT32_MIN, INT32_MAX, &number))
            return fail("--set %s: write DIM=VALUE", item);
        *value = 0;
        struct setting *more =
            realloc(o->settings, (size_t)(o->nsettings + 1) * sizeof *o->settings);
        if (!more) return fail("out of memory");
        o->settings = more;
        o->settings[o->nsettings++] = (struct setting){item, number};
    }
    return true;
}

static bool add_weights(char *text, struct options *o) {
    char **more = realloc(o->weights, (size_t)(o->nweights + 1) * sizeof *o->weights);
    if (!more) return fail("out of memory");
    o->weights = more;
    o->weights[o->nweights++] = text;
    return true;
}

static bool parse_number(int option, const char *text, struct options *o) {
    char *end;
    switch (option) {
    case REPEAT:
        return parse_long(text, 1, 1000000000, &o->repeat) ||
               fail("--repeat %s: write a number from 1", text);
    case WORKGROUPS:
        return parse_long(text, 1, 65536, &o->workgroups) ||
               fail("--workgroups %s: write a number from 1", text);
    default:
        o->wait_limit = strtod(text, &end);
        return (*text && !*end && o->wait_limit > 0) ||
               fail("--wait-limit %s: write seconds, such as 0.5", text);
    }
}

static bool parse_option(int option, struct options *o) {
    switch (option) {
    case SET:
        return parse_settings(optarg, o);
    case IN:
        o->in = optarg;
        return true;
    case OUT:
        o->out = optarg;
        return true;
    case WEIGHTS:
        return add_weights(optarg, o);
    case ONLY:
        o->only = optarg;
        return true;
    case DEVICE:
        o->device = optarg;
        return true;
    case CAPTURE:
        o->capture = optarg;
        return true;
    case REPLAY:
        o->replay = optarg;
        return true;
    case STATS:
        o->stats = true;
        return true;
    case STATES:
        o->states = true;
        return true;
    case LIST:
        o->list = true;
        return true;
    case REPEAT:
    case WORKGROUPS:
    case WAIT_LIMIT:
        return parse_number(option, optarg, o);
    default:
        return false; /* getopt has printed why */
    }
}

static bool check_together(int argc, char **argv, struct options *o) {
    if (optind < argc) o->model = argv[optind++];
    if (optind < argc) return fail("one model at a time: what is %s?", argv[optind]);
    if (o->replay && (o->model || o->in || o->out || o->nweights || o->only || o->nsettings ||
                      o->capture || o->workgroups || o->list || o->states || o->wait_limit > 0))
        return fail("--replay takes only --device, --repeat and --stats");
    if (!o->replay && !o->model) return fail("no model given");
    if (o->states && !o->out) return fail("--states needs --out");
    return true;
}

enum parsed options_parse(int argc, char **argv, struct options *o) {
    *o = (struct options){.device = "auto", .repeat = 1};
    for (int option; (option = getopt_long(argc, argv, "", long_options, NULL)) != -1;) {
        if (option == HELP || option == VERSION) {
            if (option == HELP)
                fputs(usage_text, stdout);
            else
                printf("etrun %s\n", etrt_version());
            return PARSED_DONE;
        }
        if (!parse_option(option, o)) return usage();
    }
    return check_together(argc, argv, o) ? PARSED_RUN : usage();
}

void options_free(struct options *o) {
    free(o->settings);
    free(o->weights);
}
