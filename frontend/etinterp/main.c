/* etinterp - run a model in plain C, task by task in an order its events allow, or as the graph
 * its text says. */
#include "frontend/etinterp/etinterp.h"
#include "frontend/frontend.h"
#include "frontend/syntax/ast.h"
#include "ir/eti/eti.h"
#include "passes/passes.h"
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: etinterp MODEL --in I.safetensors --weights CHECKPOINT --out O.safetensors\n"
    "Runs a model, .etg or .eti of any stage, in plain C and float32, without code generation.\n"
    "\n"
    "  --set NAME=VALUE   a dim; may be repeated. Dims not set take their lowest value\n"
    "  --in FILE          inputs by name (and states, which otherwise start as zeros); or\n"
    "                     input_ids [B, T], fed to a decoder from etimport as B sequences in one\n"
    "                     launch, its outputs then [B, T, ...]\n"
    "  --weights PATH     a safetensors file or checkpoint folder; types are converted\n"
    "  --out FILE         where the outputs go\n"
    "  --stage STAGE      tasks (default): lower the model, run its tasks as events allow;\n"
    "                     graph: run it as written\n"
    "  --seed S           the order of tasks: 0 program order (default), odd at random, even with\n"
    "                     whole grids held back\n"
    "  --orders K         run K orders, seeds S to S+K-1: they must agree bit by bit\n"
    "  --check-races      report accesses no event orders, reads of memory nothing wrote, events\n"
    "                     with too few or too many arrivals\n"
    "  --no-verify        run it even if its schedule cannot be proved right\n"
    "  --target NAME      whose tile sizes to use: gfx942 (default)\n"
    "  -h, --help, --version\n"
    "\n"
    "Exit status: 0 done, 1 errors, 2 wrong usage.\n";

bool complain(struct model *m, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    et_diag(m->diags, ET_ERROR, (et_loc){0}, "%s", et_vprintf(m->arena, fmt, ap));
    va_end(ap);
    return false;
}

static char *read_text(struct model *m, const char *path, size_t *out_bytes) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        complain(m, "%s: %s", path, strerror(errno));
        return NULL;
    }
    char *text = et_alloc(m->arena, ET_MAX_SOURCE + 1);
    *out_bytes = fread(text, 1, ET_MAX_SOURCE + 1, f);
    bool ok = !ferror(f);
    fclose(f);
    if (!ok) complain(m, "%s cannot be read", path);
    return ok ? text : NULL;
}

static bool read_model(struct model *m, const struct options *o) {
    size_t bytes;
    char *text = read_text(m, o->model, &bytes);
    if (!text) return false;
    m->g = et_eti_looks(text, bytes)
               ? et_eti_parse(m->arena, m->diags, o->model, text, bytes, &m->p)
               : et_parse_etg(m->arena, m->diags, o->model, text, bytes);
    if (!m->g) return false;
    if (o->graph) return !m->p || complain(m, "%s is past the stage of a graph", o->model);
    et_pass_options opt = {.machine = et_machine_for(o->target), .no_verify = o->no_verify};
    if (!opt.machine) return complain(m, "unknown target '%s'", o->target);
    return et_passes_resume(m->g, m->p, &opt, &m->p);
}

/* Of a program with variants, the one for these dims. */
static bool choose_variant(struct model *m) {
    et_program *p = m->p;
    for (int i = 0; p && i < p->nvariants; i++)
        if (m->syms[p->variant_sym] <= p->variant[i].upto) {
            m->p = p->variant[i].program;
            m->g = m->p->g;
            break;
        }
    return true;
}

static bool open_file(struct model *m, const char *path, struct etrt_st **out) {
    char err[ETRT_ST_ERR];
    if (!path) return true;
    return etrt_st_open(path, out, err, sizeof err) || complain(m, "%s", err);
}

static bool work(struct model *m, const struct options *o) {
    return read_model(m, o) && open_file(m, o->in, &m->in) &&
           open_file(m, o->weights, &m->weights) && set_dims(m, o) && choose_variant(m) &&
           load_tensors(m, o) && run_model(m, o) && (!o->out || write_outputs(m, o->out));
}

static int usage(const char *fmt, const char *what) {
    fputs("etinterp: ", stderr);
    fprintf(stderr, fmt, what);
    fputs("\nTry 'etinterp --help'.\n", stderr);
    return 2;
}

static bool number(const char *text, int64_t lo, int64_t *out) {
    char *end;
    errno = 0;
    long long v = strtoll(text, &end, 10);
    *out = v;
    return !errno && end != text && !*end && v >= lo;
}

enum { SET = 256, IN, WEIGHTS, OUT, STAGE, SEED, ORDERS, RACES, NO_VERIFY, TARGET, VERSION };

static const struct option options[] = {{"set", required_argument, NULL, SET},
                                        {"in", required_argument, NULL, IN},
                                        {"weights", required_argument, NULL, WEIGHTS},
                                        {"out", required_argument, NULL, OUT},
                                        {"stage", required_argument, NULL, STAGE},
                                        {"seed", required_argument, NULL, SEED},
                                        {"orders", required_argument, NULL, ORDERS},
                                        {"check-races", no_argument, NULL, RACES},
                                        {"no-verify", no_argument, NULL, NO_VERIFY},
                                        {"target", required_argument, NULL, TARGET},
                                        {"help", no_argument, NULL, 'h'},
                                        {"version", no_argument, NULL, VERSION},
                                        {0}};

/* -1: go on, else the exit status. */
static int take(struct options *o, int c) {
    int64_t v;
    switch (c) {
    case SET:
        if (o->nset == MAX_SYMS) return usage("too many dims%s", "");
        o->set[o->nset++] = optarg;
        return -1;
    case IN:
        o->in = optarg;
        return -1;
    case WEIGHTS:
        o->weights = optarg;
        return -1;
    case OUT:
        o->out = optarg;
        return -1;
    case STAGE:
        o->graph = strcmp(optarg, "graph") == 0;
        return o->graph || strcmp(optarg, "tasks") == 0 ? -1 : usage("unknown stage '%s'", optarg);
    case SEED:
        if (!number(optarg, 0, &v)) return usage("--seed '%s' is not a number", optarg);
        o->seed = (uint64_t)v;
        return -1;
    case ORDERS:
        return number(optarg, 1, &o->orders) ? -1 : usage("--orders '%s' is not a count", optarg);
    case RACES:
        o->races = true;
        return -1;
    case NO_VERIFY:
        o->no_verify = true;
        return -1;
    case TARGET:
        o->target = optarg;
        return -1;
    case 'h':
        fputs(help, stdout);
        return 0;
    case VERSION:
        puts("etinterp " ETCC_VERSION);
        return 0;
    default:
        fputs("Try 'etinterp --help'.\n", stderr);
        return 2;
    }
}

int main(int argc, char **argv) {
    struct options o = {.target = "gfx942", .orders = 1};
    for (int c; (c = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        int status = take(&o, c);
        if (status >= 0) return status;
    }
    if (argc - optind != 1) return usage("give one model%s", "");
    o.model = argv[optind];
    struct model m = {.arena = et_arena_create()};
    m.diags = et_diags_create(m.arena);
    bool ok = work(&m, &o);
    et_diag_print(m.diags, stderr);
    etrt_st_close(m.in);
    etrt_st_close(m.weights);
    et_arena_destroy(m.arena);
    return !ok;
}
