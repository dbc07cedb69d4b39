/* etcluster - one model in several processes that MPI starts, each with a part of its layers.
 *
 *     mpirun -n 3 etcluster [--limit SECONDS] [--wire auto|mpi|nccl] COMMAND OF etllm
 *
 * In all arguments %s is the number of a rank's stage, %l its number among those of its machine. */
#include "examples/llm/cluster/cluster.h"
#include "examples/llm/cluster/nccl.h"
#include "examples/llm/options.h"
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The device in the context that NCCL sends from. */
static const char current[] = "cuda:current";

/* TEXT with the numbers of this rank, and room for CURRENT in it. The caller frees it; NULL: no
 * memory. */
static char *numbered(const struct wire *w, const char *text) {
    char *out = malloc(16 * strlen(text) + sizeof current), *at = out;
    for (; out && *text; text++) {
        if (text[0] != '%' || (text[1] != 's' && text[1] != 'l')) {
            *at++ = *text;
            continue;
        }
        at += sprintf(at, "%d", *++text == 's' ? wire_stage(w, w->rank) : w->local);
    }
    if (out) *at = 0;
    return out;
}

/* What follows --NAME in ARGV, as "--NAME=VALUE" or two arguments; NULL: nothing does. */
static char *value_of(int argc, char **argv, const char *name) {
    size_t n = strlen(name);
    for (int i = 0; i < argc; i++) {
        if (strncmp(argv[i], "--", 2) != 0 || strncmp(argv[i] + 2, name, n) != 0) continue;
        if (argv[i][2 + n] == '=') return argv[i] + 3 + n;
        if (!argv[i][2 + n] && i + 1 < argc) return argv[i + 1];
    }
    return NULL;
}

static bool read_stage(int argc, char **argv, struct stage_options *out, char *err) {
    const char *device = value_of(argc, argv, "device"), *cache;
    out->kernel = value_of(argc, argv, "kernel");
    out->model = value_of(argc, argv, "model");
    out->device = device ? device : "auto";
    if (!out->kernel || !out->model) return llm_fail(err, "--kernel and --model are needed");
    cache = value_of(argc, argv, "expert-cache");
    return !cache || cli_bytes(cache, &out->cache) ||
           llm_fail(err, "--expert-cache %s: write a size", cache);
}

/* The head says when it is over: signals that all ranks get are its own. */
static bool run_stage(const struct wire *w, int argc, char **argv, char *err) {
    struct stage_options o = {0};
    signal(SIGTERM, SIG_IGN);
    signal(SIGINT, SIG_IGN);
    return read_stage(argc, argv, &o, err) && stage_run(w, &o, err);
}

/* What follows NAME where that comes first, both taken out; NULL: it does not. */
static const char *taken(int *argc, char ***argv, const char *name) {
    if (*argc < 3 || strcmp((*argv)[1], name) != 0) return NULL;
    *argc -= 2;
    *argv += 2;
    return (*argv)[0];
}

/* How stages hand on, the same in all, as `--wire` says: NCCL or MPI, or NCCL where all can.
 * DEVICE, the rank's own or NULL, becomes CURRENT for NCCL. */
static bool choose_wire(struct wire *w, const char *how, char *device, char *err) {
    char why[LLM_ERR] = "";
    if (strcmp(how, "auto") != 0 && strcmp(how, "mpi") != 0 && strcmp(how, "nccl") != 0)
        return llm_fail(err, "--wire %s: write auto, mpi or nccl", how);
    if (!strcmp(how, "mpi")) return true;
    w->nccl = nccl_open(w, device ? device : "auto", why);
    if (w->nccl) strcpy(device, current);
    if (!w->nccl && !strcmp(how, "nccl"))
        return llm_fail(err, "--wire nccl: %s", *why ? why : "another rank cannot");
    if (!w->rank)
        fprintf(stderr, "etcluster: stages hand on over %s%s%s\n", w->nccl ? "NCCL" : "MPI",
                *why ? ": " : "", why);
    return true;
}

/* The limits of stages differ, so that of those that wait for each other the one nearest to what
 * is lost says so first. */
static bool read_limit(struct wire *w, int *argc, char ***argv, char *err) {
    const double each = 0.25;
    const char *text = taken(argc, argv, "--limit");
    char *end = "";
    w->limit = text ? strtod(text, &end) : 10;
    if (*end || !(w->limit >= 0.1 && w->limit <= 86400))
        return llm_fail(err, "--limit %s: write seconds, from 0.1 to 86400", text);
    w->limit += each * wire_stage(w, w->rank);
    return true;
}

/* Threads that MPI makes leave signals to this one. */
static bool start(struct wire *w, int *argc, char ***argv, const char **out_wire, char *err) {
    sigset_t ours, before;
    sigemptyset(&ours);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGHUP);
    sigprocmask(SIG_BLOCK, &ours, &before);
    bool good = wire_open(w, argc, argv, err);
    sigprocmask(SIG_SETMASK, &before, NULL);
    *out_wire = "auto";
    if (!good || !read_limit(w, argc, argv, err)) return false;
    const char *how = taken(argc, argv, "--wire");
    if (how) *out_wire = how;
    return true;
}

int main(int argc, char **argv) {
    struct wire w = {0};
    char err[LLM_ERR] = "", who[64];
    const char *how;
    int status = 1;
    bool good = start(&w, &argc, &argv, &how, err);
    char **own = good ? calloc((size_t)argc + 1, sizeof *own) : NULL;
    for (int i = 0; own && i < argc; i++)
        if (!(own[i] = numbered(&w, argv[i]))) good = llm_fail(err, "out of memory");
    if (good && own) {
        fprintf(stderr, "etcluster: %s, process %d\n", wire_name(&w, w.rank, who), (int)getpid());
        good = choose_wire(&w, how, value_of(argc, own, "device"), err);
        if (!good) {
            status = 1;
        } else if (w.rank) {
            good = run_stage(&w, argc, own, err);
            status = 0;
        } else {
            head_begin(&w);
            status = llm_main(argc, own);
            /* What went wrong before the others were ready leaves them waiting. */
            if (status) wire_abort();
            head_end(&w);
        }
    }
    for (int i = 0; own && i < argc; i++)
        free(own[i]);
    free(own);
    if (!good) {
        llm_complain("%s: %s", wire_name(&w, w.rank, who), err);
        wire_abort();
    }
    if (w.nccl) nccl_close();
    wire_close();
    return status;
}
