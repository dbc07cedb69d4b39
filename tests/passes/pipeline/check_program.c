/* check_program FILE.etg [--seeds K] [--slices S [--rows 1]] [--dies D] [--narrow EVENT] [--forget
 * EXPR] [--machine NAME] [--set DIM=V]...: lower FILE to a scheduled program, run it in several
 * legal orders while watching for races, and compare outputs and states with the graph interpreter
 * on random inputs. The graph interpreter knows nothing of the passes; agreement means that fusion,
 * tiling, memory plan and events kept the meaning. What steps touch must be in their description.
 */
#include "ir/graph/op_util.h"
#include "ir/interp/interp.h"
#include "passes/passes.h"
#include "tests/passes/pipeline/described.h"
#include "tests/support/random_model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct check {
    et_arena *a;
    et_graph *g;
    et_program *p;
    int64_t syms[16];
    int dies;
    const char *forget;    /* a fault: these expressions are not in the description of steps */
    et_tensor_data **data; /* by value */
    void **start;          /* by tensor: bytes before the run */
};

static void prepare(struct check *c) {
    c->data = et_alloc(c->a, (size_t)c->g->nvals * sizeof *c->data);
    c->start = et_alloc(c->a, (size_t)c->p->ntensors * sizeof *c->start);
    for (int t = 0; t < c->p->ntensors; t++) {
        const et_tensor *x = &c->p->tensors[t];
        if (x->kind == ET_TENSOR_TEMP || x->kind == ET_TENSOR_CONST) continue;
        et_tensor_data *d = c->data[x->value.id];
        const et_shape *shape = x->relaid ? &c->g->vals[x->value.id].shape : &x->shape;
        if (!d) d = c->data[x->value.id] = tm_tensor(c->a, c->g, shape, c->syms);
        if (x->kind == ET_TENSOR_OUTPUT)
            memset(d->p, 0xff, (size_t)et_tensor_count(d) * 4);
        else
            tm_fill(d);
        c->start[t] = tm_bytes(c->a, d);
        if (!x->relaid) continue;
        int64_t n = et_tensor_count(d);
        void *turned = et_alloc(c->a, (size_t)et_dtype_size(d->dtype, n) + 1);
        et_relay_elements(c->g->exprs, x, n, c->start[t], turned);
        c->start[t] = turned;
    }
}

static bool is_described(const described *d, char err[ET_INTERP_ERR]) {
    int64_t n;
    const char *wrong = described_wrong(d, &n);
    if (wrong || !n) snprintf(err, ET_INTERP_ERR, "%s", wrong ? wrong : "no step was looked at");
    return !wrong && n;
}

static double worst_of(struct check *c, uint64_t seed, const char **out_name,
                       char err[ET_INTERP_ERR]) {
    void **memory = et_alloc(c->a, (size_t)c->p->ntensors * sizeof *memory);
    double worst = 0;
    for (int t = 0; t < c->p->ntensors; t++) {
        const et_tensor *x = &c->p->tensors[t];
        if (!c->start[t]) continue;
        const et_tensor_data *d = c->data[x->value.id];
        size_t bytes = (size_t)et_dtype_size(d->dtype, et_tensor_count(d));
        memory[t] = memcpy(et_alloc(c->a, bytes), c->start[t], bytes);
    }
    et_interp_options opt = {.seed = seed, .races = true, .dies = c->dies};
    if (!seed) {
        opt.ctx = described_create(c->a, c->p, c->syms, c->forget);
        opt.touch = described_touch;
    }
    if (!et_program_run(c->p, c->syms, memory, &opt, err)) return INFINITY;
    if (!seed && !is_described(opt.ctx, err)) return INFINITY;
    for (int t = 0; t < c->p->ntensors; t++) {
        const et_tensor *x = &c->p->tensors[t];
        if (x->kind != ET_TENSOR_OUTPUT && x->kind != ET_TENSOR_STATE) continue;
        double e = tm_relative_error(c->data[x->value.id], memory[t]);
        if (!(e <= worst)) worst = e, *out_name = x->name;
    }
    return worst;
}

static const char *option(int argc, char **argv, const char *name, const char *otherwise) {
    for (int i = 2; i + 1 < argc; i += 2)
        if (strcmp(argv[i], name) == 0) return argv[i + 1];
    return otherwise;
}

static int number(int argc, char **argv, const char *name) {
    return atoi(option(argc, argv, name, "0"));
}

/* A fault: the scope of the event called NAME is the die. */
static bool narrow(et_program *p, const char *name) {
    bool found = !*name;
    for (int e = 0; e < p->nevents; e++) {
        if (strcmp(p->events[e].name, name) != 0) continue;
        p->events[e].scope = ET_SCOPE_DIE;
        found = true;
    }
    return found;
}

int main(int argc, char **argv) {
    struct check c = {.a = et_arena_create()};
    et_diags *d = et_diags_create(c.a);
    const char *machine = option(argc, argv, "--machine", "");
    const et_pass_options opt = {.machine = *machine ? et_machine_find(c.a, d, machine, NULL)
                                                     : et_machine_for("gfx942"),
                                 .slices = number(argc, argv, "--slices"),
                                 .slice_rows = number(argc, argv, "--rows")};
    c.forget = option(argc, argv, "--forget", "");
    c.dies = number(argc, argv, "--dies");
    c.g = argc > 1 ? tm_parse(c.a, d, argv[1]) : NULL;
    et_graph *meant = argc > 1 ? tm_parse(c.a, d, argv[1]) : NULL; /* passes may change C.G */
    bool ok = c.g && meant && opt.machine && et_passes_run(c.g, &opt, &c.p);
    et_diag_print(d, stderr);
    ok = ok && narrow(c.p, option(argc, argv, "--narrow", ""));
    const char *usual = getenv("ETCC_LONG") ? "4" : "2";
    uint64_t seeds = strtoull(option(argc, argv, "--seeds", usual), NULL, 10);
    for (int s = 0; ok && s < et_sym_count(c.g->exprs); s++) {
        int64_t lo, hi;
        et_sym_range(c.g->exprs, s, &lo, &hi);
        c.syms[s] = lo + (hi - lo) / 3;
    }
    for (int i = 2; ok && i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--set") == 0) ok = tm_set_dim(c.g, argv[i + 1], c.syms);
    char err[ET_INTERP_ERR] = "";
    if (ok) {
        prepare(&c);
        ok = et_graph_interp(meant, c.syms, c.data, err);
    }
    for (uint64_t seed = 0; ok && seed < seeds; seed++) {
        const char *name = "";
        double worst = worst_of(&c, seed, &name, err);
        ok = worst < 1e-2; /* bf16 stores round differently after sums in another order */
        printf("%s seed %llu: worst relative error %.2g %s %s\n", argv[1], (unsigned long long)seed,
               worst, name, err);
    }
    if (!ok) fprintf(stderr, "failed %s\n", err);
    et_arena_destroy(c.a);
    return !ok;
}
