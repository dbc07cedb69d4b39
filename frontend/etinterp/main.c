/* etinterp - run a model in plain C, task by task in an order its events allow, or as the graph
 * its text says. */
#include "frontend/etinterp/etinterp.h"
#include "frontend/frontend.h"
#include "frontend/syntax/ast.h"
#include "ir/base/arena.h"
#include "ir/base/stack.h"
#include "ir/eti/eti.h"
#include "passes/passes.h"
#include "runtime/files/input.h"
#include "runtime/files/output.h"
#include <stdlib.h>
#include <string.h>

bool complain(struct model *m, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    et_diag(m->diags, ET_ERROR, (et_loc){0}, "%s", et_vprintf(m->arena, fmt, ap));
    va_end(ap);
    return false;
}

static char *read_text(struct model *m, const char *path, size_t *out_bytes) {
    char why[ET_WHY], *data = et_file_read(path, ET_MAX_SOURCE, out_bytes, why);
    if (!data) {
        complain(m, "%s: %s", path, why);
        return NULL;
    }
    char *text = et_strndup(m->arena, data, *out_bytes);
    free(data);
    return text;
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
    et_pass_options opt = {.machine = o->target ? et_machine_for(o->target) : et_machine_default(),
                           .unverified = o->unverified};
    return et_passes_resume(m->g, m->p, &opt, &m->p);
}

static bool open_file(struct model *m, const char *path, struct etrt_st **out) {
    char err[ETRT_ST_ERR];
    if (!path) return true;
    return etrt_st_open(path, out, err, sizeof err) || complain(m, "%s", err);
}

/* One launch; or as many as it takes to feed all tokens of the sequences. */
static bool launches(struct model *m, const struct options *o) {
    m->whole = m->p;
    do {
        m->at += m->count;
        if (!set_dims(m, o) || !load_tensors(m) || !run_model(m, o) || !keep_outputs(m))
            return false;
    } while (m->at + m->count < m->sequences * m->length);
    return true;
}

static bool work(struct model *m, const struct options *o) {
    return read_model(m, o) && open_file(m, o->in, &m->in) &&
           open_file(m, o->weights, &m->weights) && launches(m, o) &&
           (!o->out || write_outputs(m, o->out));
}

/* Those that machines have, each once. */
static const char *target_name(int i) {
    const et_machine *m;
    for (int k = 0; (m = et_machine_at(k)); k++)
        if (et_machine_for(m->target) == m && i-- == 0) return m->target;
    return NULL;
}

static const char *stage_name(int i) {
    static const char *const names[] = {"tasks", "graph", NULL};
    return names[i];
}

#define TO(field) CLI_AT(struct options, field)
static const cli_option options[] = {
    CLI_HEADING("Data"),
    {"set", 0, CLI_DIMS, "NAME=VALUE", TO(set),
     "a dim; may be repeated. Dims not set take their lowest value", .commas = true},
    {"in", 0, CLI_INPUT, "FILE", TO(in),
     "inputs by name (and states, which otherwise start as zeros); or input_ids [B, T], fed to a "
     "decoder from etimport as B sequences, in as many launches as its bounds need, its outputs "
     "then [B, T, ...]"},
    {"weights", 0, CLI_INPUT, "PATH", TO(weights),
     "a safetensors file or checkpoint folder; types are converted"},
    {"out", 0, CLI_OUTPUT, "FILE", TO(out), "where the outputs go"},
    CLI_HEADING("How it is run"),
    {"stage", 0, CLI_CHOICE, NULL, TO(graph),
     "tasks (the default): lower the model, run its tasks as events allow; graph: run it as "
     "written",
     .names = stage_name},
    {"seed", 0, CLI_INT, "S", TO(seed),
     "the order of tasks: 0 program order (the default), odd at random, even with whole grids held "
     "back",
     .hi = INT64_MAX},
    {"orders", 0, CLI_INT, "K", TO(orders),
     "run K orders, seeds S to S+K-1: they must agree bit by bit", .lo = 1, .hi = INT32_MAX},
    {"check-races", 0, CLI_FLAG, NULL, TO(races),
     "report accesses no event orders, reads of memory nothing wrote, events with too few or too "
     "many arrivals"},
    {"unverified", 0, CLI_FLAG, NULL, TO(unverified),
     "run it even if its schedule cannot be proved right"},
    {"target", 0, CLI_TEXT, NULL, TO(target), "whose tile sizes to use (default gfx942)",
     .names = target_name},
    {0},
};
static const cli_option model = {.kind = CLI_INPUT, .arg = "model", TO(model), .need = 1};

struct call {
    struct model *m;
    const struct options *o;
    bool ok;
};

static void call(void *ctx) {
    struct call *c = ctx;
    c->ok = work(c->m, c->o);
}

static int run(void *read) {
    struct model m = {.arena = et_arena_create()};
    m.again = ((struct options *)read)->orders > 1;
    m.diags = et_diags_create(m.arena);
    struct call c = {&m, read, false};
    et_with_stack(call, &c);
    bool ok = c.ok;
    et_diag_print(m.diags, stderr);
    etrt_st_close(m.in);
    etrt_st_close(m.weights);
    free_elements(&m);
    et_arena_destroy(m.arena);
    return ok ? 0 : 1;
}

static const cli_tool tool = {
    .name = "etinterp",
    .summary = "run a model in plain C, without code generation",
    .usage = "MODEL --in I.safetensors --weights CHECKPOINT --out O.safetensors [options]",
    .about = "Runs a model, .etg or .eti of any stage, in plain C and float32, without code "
             "generation.",
    .options = options,
    .rest = &model,
    .notes = "A file may be '-', standard input or output.",
    .run = run,
};

int main(int argc, char **argv) {
    struct options o = {.orders = 1};
    et_on_give_up(et_remove_guarded);
    return cli_main(&tool, argc, argv, &o);
}
