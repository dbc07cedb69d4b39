/* The command line of etrun. */
#include "runtime/etrun/etrun.h"

static bool take_cache(void *options, const char *value) {
    return cli_bytes(value, &((struct options *)options)->cache);
}

#define TO(field) CLI_AT(struct options, field)
static const cli_option options[] = {
    {"set", 0, CLI_DIMS, "DIM=VALUE", TO(settings), "value of a dim; once for each, or DIM=V,DIM=V",
     .commas = true},
    {"dim", 0, CLI_DIMS, "DIM=VALUE", TO(settings), "the same", .commas = true},
    {"in", 0, CLI_INPUT, "FILE", TO(in), "safetensors with the inputs, and states to start from"},
    {"weights", 0, CLI_INPUTS, "PATH", TO(weights),
     "safetensors, index or checkpoint directory; MODEL=PATH where the kernel is of several "
     "models, once for each"},
    {"expert-cache", 0, CLI_TAKE, "SIZE", .take = take_cache,
     .help = "of a model of etcc --experts-on=host: so much device memory for copies of experts "
             "(8G, 512M, all)"},
    {"only", 0, CLI_TEXT, "MODEL,MODEL", TO(only), "of several models, those to run"},
    {"out", 0, CLI_OUTPUT, "FILE", TO(out), "safetensors to write the outputs to"},
    {"states", 0, CLI_FLAG, NULL, TO(states), "write the state tensors to --out as well"},
    {"device", 0, CLI_TEXT, "SPEC", TO(device),
     "auto (default), hsa, hsa:1, cuda, cuda:1, emu, emu:gfx942:cus=16:xcds=2"},
    {"devices", 0, CLI_FLAG, NULL, TO(devices), "show the devices there are"},
    {"workgroups", 0, CLI_INT, "W", TO(workgroups), "workgroups to launch (default: one per CU)",
     .lo = 1, .hi = 65536},
    {"wait-limit", 0, CLI_REAL, "SECONDS", TO(wait_limit), "bound of every wait inside the kernel",
     .hi = 1000000, .above = true},
    {"repeat", 0, CLI_INT, "K", TO(repeat), "launch K times", .lo = 1, .hi = 1000000000},
    {"list", 0, CLI_FLAG, NULL, TO(list), "show the model's dims, tensors and kernel"},
    {"capture", 0, CLI_FOLDER, "DIR", TO(capture), "capture the first launch into a new folder"},
    {"replay", 0, CLI_FOLDER, "DIR", TO(replay), "run a captured launch again and compare"},
    {"capture-limit", 0, CLI_INT, "GIB", TO(capture_limit),
     "most memory that is captured or replayed, before and after a launch together (16)", .lo = 1,
     .hi = 1 << 20},
    {"stats", 0, CLI_FLAG, NULL, TO(stats), "print what the device counted"},
    {0},
};
static const cli_option model = {.kind = CLI_INPUT, .arg = "model", TO(model)};

static int run(void *);

const cli_tool etrun_tool = {
    .name = "etrun",
    .summary = "run a compiled model, or replay a captured launch",
    .usage = "MODEL.hsaco [options]\nMODEL.hsaco --list\n--replay DIR [options]\n--devices",
    .about = "Runs a model that etcc compiled: on a GPU, or on an emulated one.",
    .options = options,
    .rest = &model,
    .notes = "A file may be '-', standard input or output.",
    .run = run,
};

static int run(void *read) {
    const struct options *o = read;
    if (o->replay && (o->model || o->in || o->out || o->weights.n || o->only || o->settings.n ||
                      o->capture || o->workgroups || o->list || o->states || o->wait_limit > 0))
        return cli_wrong(&etrun_tool,
                         "--replay takes only --device, --repeat, --capture-limit and --stats");
    if (o->devices && (o->model || o->replay))
        return cli_wrong(&etrun_tool, "--devices takes no model");
    if (!o->replay && !o->model && !o->devices) return cli_wrong(&etrun_tool, "no model given");
    if (o->states && !o->out) return cli_wrong(&etrun_tool, "--states needs --out");
    bool ok = o->devices  ? list_devices()
              : o->list   ? list_model(o->model)
              : o->replay ? replay_launch(o)
                          : run_model(o);
    return ok ? 0 : 1;
}
