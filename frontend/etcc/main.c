/* etcc - the command line. */
#include "codegen/codegen.h"
#include "frontend/etcc/driver.h"
#include "ir/base/arena.h"
#include "passes/divide/divide.h"
#include "passes/divide/stage.h"
#include "runtime/files/output.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct command_line {
    et_options o;
    cli_list models;
    const char *without;
    bool unstreamed;
};

static bool take_slices(void *options, const char *text) {
    et_options *o = &((struct command_line *)options)->o;
    int64_t n = 0;
    o->slice_rows = strncmp(text, "rows:", 5) == 0;
    if (strcmp(text, "auto") == 0)
        n = ET_SLICES_AUTO;
    else if (strcmp(text, "none") != 0 &&
             !cli_integer(text + (o->slice_rows ? 5 : 0), 1, ET_MAX_SLICES, &n))
        return false;
    o->slices = (int)n;
    return true;
}

static bool take_stage(void *options, const char *text) {
    et_options *o = &((struct command_line *)options)->o;
    int64_t stage, stages;
    const char *slash = strchr(text, '/');
    char first[8];
    if (!slash || slash - text >= (ptrdiff_t)sizeof first) return false;
    memcpy(first, text, (size_t)(slash - text));
    first[slash - text] = 0;
    if (!cli_integer(slash + 1, 1, ET_MOST_STAGES, &stages) ||
        !cli_integer(first, 1, stages, &stage))
        return false;
    o->stage = (int)stage;
    o->stages = (int)stages;
    return true;
}

static bool take_widths(void *options, const char *text) {
    et_widths *w = &((struct command_line *)options)->o.widths;
    for (*w = (et_widths){0};; text++) {
        char *end;
        long cus = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : 0;
        if (w->n == ET_MAX_WIDTHS || cus < 1 || cus > 65535) return false;
        if (w->n && cus <= w->cus[w->n - 1]) return false;
        w->cus[w->n++] = (int)cus;
        text = end;
        if (*text != ',') return !*text;
    }
}

static const char *experts_on_name(int i) {
    static const char *const names[] = {"device", "host"};
    return i >= 0 && i <= ET_EXPERTS_ON_HOST ? names[i] : NULL;
}

/* What -d takes. */
static const char *dump_name(int i) {
    return i == 0 ? "graph" : i == 1 ? "all" : et_pass_name(i - 2);
}

/* As a word: capitals and spaces do not count. */
static const char *machine_name(int i) {
    static char word[32];
    const et_machine *m = et_machine_at(i);
    size_t n = 0;
    for (const char *c = m ? m->name : ""; *c && n + 1 < sizeof word; c++)
        if (*c != ' ') word[n++] = (char)tolower((unsigned char)*c);
    word[n] = 0;
    return m ? word : NULL;
}

static void list_machines(const cli_tool *tool, FILE *to) {
    (void)tool;
    et_machine_list(to);
}

static void list_features(const cli_tool *tool, FILE *to) {
    (void)tool;
    for (int i = 0; et_feature_name(i); i++)
        fprintf(to, "%-10s %s\n", et_feature_name(i), et_feature_help(i));
}

#define TO(field) CLI_AT(struct command_line, o.field)
static const cli_option options[] = {
    CLI_HEADING("What is made"),
    {"output", 'o', CLI_OUTPUT, "FILE", TO(output), "the code object to write; with --to the text"},
    {"to", 0, CLI_CHOICE, NULL, TO(to), "stop at this stage and write it to -o FILE as .eti",
     .names = et_stage_name, .lo = ET_STAGE_GRAPH},
    {"target", 0, CLI_TEXT, NULL, TO(target),
     "the GPU (default gfx942). With several, -o MODEL.hsaco writes MODEL.gfx90a.hsaco and so on, "
     "one file for each; the other files likewise",
     .names = et_target_name, .commas = true},
    {"machine", 0, CLI_INPUT, "NAME|FILE", TO(machine),
     "the GPU whose speeds costs are predicted from, and its target; a FILE is a description of "
     "your own (passes/machines/README.md)",
     .names = machine_name},
    {"variants", 0, CLI_INT, "K", TO(variants),
     "at most K (1 to 12, default 2) tilings of the program, chosen at launch by the value of the "
     "first dim that is no loop's count (with several models: of the one that gains most); fewer "
     "where fewer will do, and one more for a value of 1 where weights stream",
     .lo = 1, .hi = ET_MAX_VARIANTS},
    {"widths", 0, CLI_TAKE, "W[,W[,W]]", .take = take_widths,
     .help = "tilings of their own for launches on W of the GPU's CUs, within 3 % (fewer than all, "
             "ascending), beside those for all: for models that share a GPU (etrt.h: "
             "etrt_set_workgroups)"},
    {"occupancy", 0, CLI_INT, "N", TO(occupancy),
     "make workgroups of which a CU holds N (1 or 2; default 1) at once, with a part of its LDS "
     "and "
     "registers each: kernels of other models run beside on the same CUs",
     .lo = 1, .hi = ET_MAX_OCCUPANCY},
    {"same-sums", 0, CLI_FLAG, NULL, TO(same_sums),
     "all variants add up the terms of each sum in the order of the one for the fewest rows: a row "
     "has the same bits whatever is in its launch. Refused, with the reason, where one cannot"},
    {"devices", 0, CLI_INT, "N", TO(devices),
     "for N devices of one machine (1 to 16), which run one launch together: each has its part of "
     "weights, caches and outputs, and gets the others' sums while the kernel runs",
     .lo = 1, .hi = ET_MAX_DEVICES},
    {"layers", 0, CLI_TAKE, "K/N", .take = take_stage,
     .help =
         "the kernel of stage K of N (1 to 256) that run one after another, each with a part of "
         "the layers, on machines of their own (examples/llm/cluster): what one hands to the "
         "next is an output, stage_out, and there an input, stage_in"},
    {"emit-llvm", 0, CLI_OUTPUT, "FILE", TO(emit_llvm), "write the kernel's LLVM IR"},
    {"unoptimised", 0, CLI_FLAG, NULL, TO(unoptimised),
     "with --emit-llvm: write it as it is before LLVM's passes"},
    {"emit-loops", 0, CLI_OUTPUT, "FILE", TO(emit_loops),
     "with -o, for AMD's GPUs: write the machine code of mainloops, each as a region for llvm-mca "
     "that is named after its task"},
    {"profile-kernel", 0, CLI_FLAG, NULL, TO(profile_kernel),
     "the kernel can record when and where every task ran"},
    {"resident", 0, CLI_FLAG, NULL, TO(resident),
     "the kernel can stay on the GPU and take one step of a model after another, without launches "
     "(etrt.h: etrt_residence_open); of several models each goes at its own pace"},
    CLI_HEADING("How it is scheduled"),
    {"schedule", 0, CLI_CHOICE, NULL, TO(schedule),
     "how tiles are given to workgroups: "
#define SCHEDULE(kind, name, tasks, rule, kernels, help, means) name " (" help "); "
#include "ir/program/schedules.def"
     "the default is static",
     .names = et_schedule_name, .lo = ET_SCHEDULE_STATIC},
    {"slices", 0, CLI_TAKE, "none|auto|1..16|rows:1..16", .take = take_slices,
     .help = "cut operators into so many slices, each of which stays on one die; products are cut "
             "by split-K, which changes the order of their sums; rows: only rows are cut; auto: "
             "one slice for each die, where that is predicted to be faster; none (the default)"},
    {"unstreamed", 0, CLI_FLAG, NULL, CLI_AT(struct command_line, unstreamed),
     "no weight stream: the producer wave that, under a static schedule, fills a multistage "
     "pipeline in LDS with weights ahead of the tasks that read them, where the machine has one"},
    {"sparse", 0, CLI_CHOICE, NULL, TO(sparse),
     "skip weights that are zero, which libetrt finds when it loads them: zeros (what --sparse "
     "alone means) skips blocks of 16 rows by 64 columns or more that are all zero, if an eighth "
     "of the weights is; 2:4 reads matrices with two zeros in every four columns packed and "
     "multiplies them by sparse matrix instructions, where the GPU has them; none (the default)",
     .names = et_sparse_name, .otherwise = "zeros"},
    {"experts-on", 0, CLI_CHOICE, NULL, TO(experts_on),
     "where the weights of routed experts lie: device (the default), or host, in memory of the "
     "host that the GPU reads over the link, for models that do not fit; programs keep those that "
     "are used most on the GPU (etrt.h: etrt_model_cache)",
     .names = experts_on_name},
    {"exchange", 0, CLI_CHOICE, NULL, TO(exchange),
     "of several devices, what says that a sum over them has come: tags, one for each element; "
     "flags, one for each counter of its event, and the elements alone; rows: flags, each device "
     "adds up its share of the rows and sends what others read of them; auto (the default): rows, "
     "or flags, where the link takes longer for tags than fences take",
     .names = et_exchange_name},
    {"parts", 0, CLI_CHOICE, NULL, TO(parts),
     "of several devices, what each sends of a sum that is exchanged with flags or by rows: f32 "
     "(the default), its part as it is; bf16: rounded, which is half of the bytes, and the usual "
     "way of collective libraries. What is exchanged with tags is f32",
     .names = et_parts_name},
    {"gather", 0, CLI_CHOICE, NULL, TO(gather),
     "of several devices, where an operator needs all of what each has a part of, as what chooses "
     "the next token does: never: each computes all of it; always: it gets the others' parts, "
     "wherever that can be; auto (the default): what is predicted to take less time",
     .names = et_gather_name},
    {"flag-in-data", 0, CLI_CHOICE, NULL, TO(flags),
     "flag-in-data events: each word of data carries a tag that shows that it has arrived, and no "
     "fences are needed. auto (the default) where the machine file says what they cost and they "
     "are predicted to pay; all: wherever possible; none. Under a static schedule",
     .names = et_flags_name},
    {"placement", 0, CLI_CHOICE, NULL, TO(placement),
     "which CUs each task gets, and each of several models: ilp (the default: an integer program), "
     "greedy, fixed (a part of its own for each model), or all (all CUs)",
     .names = et_placement_name},
    {"weight", 0, CLI_PAIRS, "MODEL=W", TO(weights),
     "of several models: MODEL's time counts W times (default 1) when the GPU is divided among "
     "them; once for each"},
    {"latency", 0, CLI_PAIRS, "MODEL=US", TO(latencies),
     "of several models that stay (--resident): no plan gives MODEL so few CUs that a step takes "
     "longer than so many microseconds, where that can be; once for each"},
    {"profile", 0, CLI_INPUT, "FILE", TO(profile),
     "times of tasks that replace predicted ones: what 'etbench --profile' writes"},
    {"unverified", 0, CLI_FLAG, NULL, TO(unverified),
     "make the kernel even if its schedule cannot be proved right; the schedule is not checked "
     "then"},
    {"without", 0, CLI_TEXT, NULL, CLI_AT(struct command_line, without),
     "switch optimisations off, to measure what each is worth; --list-features describes them",
     .names = et_feature_name, .commas = true},
    CLI_HEADING("What is printed"),
    {"explain", 0, CLI_OUTPUT, "FILE", TO(explain),
     "print what was decided and why, what the predicted time goes to and what can be done about "
     "it: on standard output, or to FILE. A FILE that ends in .html is a page that draws what runs "
     "where on the chip and when",
     .otherwise = "-"},
    {NULL, 'd', CLI_TEXT, NULL, TO(dump),
     "print the program after a pass, or after each with 'all'; 'graph' is the program as parsed. "
     "Without -o nothing else is made",
     .names = dump_name},
    {"verbose", 'v', CLI_FLAG, NULL, TO(verbose), "print sizes and registers of what was made"},
    {"time-passes", 0, CLI_FLAG, NULL, TO(time_passes),
     "print how long each pass took, and how many nodes of expressions it met"},
    {"list-machines", 0, CLI_PRINT, .print = list_machines, .help = "list the machine models"},
    {"list-features", 0, CLI_PRINT, .print = list_features,
     .help = "list what --without can switch off"},
    CLI_HEADING("Rarely needed"),
    {"rocm-device-lib-path", 0, CLI_FOLDER, "DIR", TO(device_libs),
     "where the ROCm device libraries' bitcode is"},
    {"ptxas", 0, CLI_INPUT, "FILE", TO(assembler),
     "the assembler of a CUDA toolkit, for code that is not PTX; looked for in PATH and where CUDA "
     "is installed"},
    {"break-event", 0, CLI_TEXT, "NAME", TO(break_event),
     "for testing: waits for event NAME need one arrival too many, so that the kernel gives up and "
     "reports"},
    {"weaken", 0, CLI_TEXT, "HOW:EVENT", TO(weaken),
     "for testing: the fences of EVENT are left out (HOW is fence, release or acquire) or order "
     "the workgroup only (scope); of a flag-in-data EVENT, no task waits for its counter (hint), "
     "or tags are not compared either (tag)"},
    {0},
};
static const cli_option models = {
    .kind = CLI_INPUTS, .arg = "model", CLI_AT(struct command_line, models), .need = 1};

static int run(void *);

static const cli_tool tool = {
    .name = "etcc",
    .summary = "compile models to one persistent GPU kernel",
    .usage = "MODEL.etg -o MODEL.hsaco [options]\nA.etg B.etg ... -o MIX.hsaco [options]",
    .about = "Compiles a model, or several that share the GPU, to one persistent GPU kernel.",
    .options = options,
    .rest = &models,
    .notes = "MODEL may also be .eti of any stage: the passes that remain are run. A file may be "
             "'-', standard input or output.",
    .list_title = "Passes, in the order they run",
    .list_name = et_pass_name,
    .list_help = et_pass_help,
    .run = run,
};

static int run(void *options_read) {
    struct command_line *c = options_read;
    et_options *o = &c->o;
    if (o->slices > 1 && !et_schedule_of(o->schedule)->fixed)
        return cli_wrong(&tool, "--slices: tasks in slices are static, and --schedule=%s",
                         et_schedule_name(o->schedule));
    if (o->to && (!o->output || o->emit_llvm))
        return cli_wrong(&tool, "--to=%s writes its text to -o FILE and makes no code",
                         et_stage_name(o->to));
    if (o->explain && (strcmp(o->explain, "html") == 0 || strcmp(o->explain, "text") == 0))
        return cli_wrong(&tool, "--explain=%s: name a file: --explain=MODEL.html", o->explain);
    if (!o->output && !o->dump && !o->emit_llvm && !o->explain)
        return cli_wrong(
            &tool, "nothing to make of %s: give -o FILE, --emit-llvm=FILE, -d PASS or --explain",
            c->models.at[0].text);
    if (o->emit_loops && !o->output)
        return cli_wrong(&tool, "--emit-loops tells of the code that -o FILE writes");
    if (o->output && strcmp(o->output, "-") == 0 && o->target && strchr(o->target, ','))
        return cli_wrong(&tool, "several targets cannot all go to standard output");
    char **others = calloc((size_t)c->models.n, sizeof *others);
    if (!others) return 1;
    for (int i = 1; i < c->models.n; i++)
        others[i - 1] = c->models.at[i].text;
    o->input = c->models.at[0].text;
    o->others = others;
    o->nothers = c->models.n - 1;
    o->without = et_features_named(c->without);
    if (c->unstreamed) o->without |= (et_features)1 << ET_FEATURE_STREAM;
    bool ok = et_drive(o);
    free(others);
    return ok ? 0 : 1;
}

int main(int argc, char **argv) {
    struct command_line c = {.o = {.variants = 2, .notes = true}};
    et_on_give_up(et_remove_guarded);
    return cli_main(&tool, argc, argv, &c);
}
