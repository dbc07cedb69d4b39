/* check_devices FILE.etg N [--seeds K] [--set DIM=V]... [--exchange HOW] [--parts bf16] [--mutants
 * LEAST]: divide FILE among N devices, run the program of all of them in several legal orders, and
 * compare outputs and states, put together of their parts, with the graph interpreter on the whole
 * graph. Then, of the program changed in one place at a time, those that compute something else in
 * some order must be refused by the verifier, and be LEAST at least. Status 3: it cannot be
 * divided. */
#include "ir/graph/op_util.h"
#include "ir/interp/interp.h"
#include "ir/verify/verify.h"
#include "passes/divide/divide.h"
#include "passes/passes.h"
#include "tests/support/random_model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 16, REFUSED = 3 };

struct check {
    et_arena *a;
    et_graph *g, *part; /* whole, and divided */
    et_program *p;
    int devices;
    int64_t syms[16];
    et_tensor_data **data; /* by value of the whole graph */
    int *whole;            /* by tensor of the program: that value */
    void **start[MOST];    /* by device, by tensor: bytes before the run */
};

static int64_t each(const struct check *c, const et_shape *s, int d) {
    return et_eval(c->part->exprs, s->dim[d], c->syms, NULL);
}

/* Elements between neighbours of the axis that is cut, and its size in a part. */
static void run_of(const struct check *c, const et_tensor *x, const et_shape *s, int64_t *inner,
                   int64_t *size) {
    *inner = 1;
    for (int d = x->cut.axis + 1; d < s->rank; d++)
        *inner *= each(c, s, d);
    *size = each(c, s, x->cut.axis);
}

/* The element of the whole tensor that is element I of device D's. */
static int64_t place(const struct check *c, const et_tensor *x, const et_shape *s, int d,
                     int64_t i) {
    int64_t inner, size;
    if (!x->cut.devices) return i;
    run_of(c, x, s, &inner, &size);
    int64_t at = i / inner % size, outer = i / inner / size;
    int64_t all = x->cut.of ? x->cut.of : size * (c->devices / x->cut.repeat);
    int64_t first = x->cut.from + d / x->cut.repeat * size;
    return (outer * all + first + at) * inner + i % inner;
}

static int value_of(const struct check *c, const et_tensor *x) {
    const et_val *own = &c->part->vals[x->value.id];
    for (int i = 1; i < c->g->nvals; i++) {
        const et_val *v = &c->g->vals[i];
        bool same = own->name && v->name && !strcmp(own->name, v->name);
        if (own->source && v->source) same &= !strcmp(own->source, v->source);
        if (x->kind == ET_TENSOR_OUTPUT ? v->is_output && same
                                        : v->kind == own->kind && v->kind <= ET_V_STATE && same)
            return i;
    }
    return 0;
}

static const et_shape *shape_of(const struct check *c, const et_tensor *x) {
    return &c->part->vals[x->value.id].shape;
}

static int64_t count(const struct check *c, const et_shape *s) {
    int64_t n = 1;
    for (int d = 0; d < s->rank; d++)
        n *= each(c, s, d);
    return n;
}

static bool prepare(struct check *c) {
    c->data = et_alloc(c->a, (size_t)c->g->nvals * sizeof *c->data);
    c->whole = et_alloc(c->a, (size_t)c->p->ntensors * sizeof *c->whole);
    for (int d = 0; d < c->devices; d++)
        c->start[d] = et_alloc(c->a, (size_t)c->p->ntensors * sizeof **c->start);
    for (int t = 0; t < c->p->ntensors; t++) {
        const et_tensor *x = &c->p->tensors[t];
        if (x->kind == ET_TENSOR_TEMP || x->kind == ET_TENSOR_CONST) continue;
        int v = c->whole[t] = value_of(c, x);
        if (!v) return false;
        et_tensor_data *all = c->data[v];
        if (!all) {
            all = c->data[v] = tm_tensor(c->a, c->g, &c->g->vals[v].shape, c->syms);
            if (x->kind == ET_TENSOR_OUTPUT)
                memset(all->p, 0xff, (size_t)et_tensor_count(all) * 4);
            else
                tm_fill(all);
        }
        for (int d = 0; d < c->devices; d++) {
            et_tensor_data *own = tm_tensor(c->a, c->part, shape_of(c, x), c->syms);
            int64_t n = et_tensor_count(own);
            for (int64_t i = 0; i < n; i++)
                own->f[i] = all->f[place(c, x, shape_of(c, x), d, i)];
            void *bytes = tm_bytes(c->a, own);
            if (x->relaid) {
                void *relaid = et_alloc(c->a, (size_t)et_dtype_size(own->dtype, n) + 1);
                et_relay_elements(c->part->exprs, x, n, bytes, relaid);
                bytes = relaid;
            }
            c->start[d][t] = bytes;
        }
    }
    return true;
}

/* The tensor's parts as one, each element as it lies in memory; all devices must have the same of
 * what is not cut. */
static void *together(struct check *c, int t, void *const *const memory[MOST], bool *same) {
    const et_tensor *x = &c->p->tensors[t];
    const et_shape *s = shape_of(c, x);
    size_t size = (size_t)et_dtype_bytes(s->dtype), n = (size_t)count(c, s);
    char *all = et_alloc(c->a, n * size * (size_t)c->devices);
    for (int d = 0; d < c->devices; d++)
        for (size_t i = 0; i < n; i++) {
            char *to = all + (size_t)place(c, x, s, d, (int64_t)i) * size;
            const char *from = (const char *)memory[d][t] + i * size;
            if (d && (!x->cut.devices || d % x->cut.repeat)) *same &= !memcmp(to, from, size);
            memcpy(to, from, size);
        }
    return all;
}

static double worst_of(struct check *c, uint64_t seed, const char **out_name,
                       char err[ET_INTERP_ERR]) {
    void **memory[MOST];
    void *const *given[MOST];
    double worst = 0;
    bool same = true;
    for (int d = 0; d < c->devices; d++) {
        given[d] = memory[d] = et_alloc(c->a, (size_t)c->p->ntensors * sizeof *memory[d]);
        for (int t = 0; t < c->p->ntensors; t++) {
            const et_tensor *x = &c->p->tensors[t];
            if (!c->start[d][t]) continue;
            size_t bytes = (size_t)et_dtype_size(x->shape.dtype, count(c, shape_of(c, x)));
            memory[d][t] = memcpy(et_alloc(c->a, bytes + 1), c->start[d][t], bytes);
        }
    }
    et_interp_options opt = {.seed = seed, .races = true};
    if (!et_program_run_devices(c->p, c->syms, given, &opt, err)) return INFINITY;
    for (int t = 0; t < c->p->ntensors; t++) {
        const et_tensor *x = &c->p->tensors[t];
        if (x->kind != ET_TENSOR_OUTPUT && x->kind != ET_TENSOR_STATE) continue;
        double e = tm_relative_error(c->data[c->whole[t]], together(c, t, given, &same));
        if (!(e <= worst)) worst = e, *out_name = x->name;
    }
    if (!same) snprintf(err, ET_INTERP_ERR, "devices have different bits of one tensor");
    return same ? worst : INFINITY;
}

/* ---- mutants ---- */

struct mutants {
    struct check *c;
    uint64_t seeds;
    int wrong, refused, passed; /* that compute something else; refused by the verifier; neither */
    bool ok;
};

static bool computes_the_same(struct mutants *m) {
    char err[ET_INTERP_ERR] = "";
    const char *name = "";
    for (uint64_t seed = 0; seed < m->seeds; seed++)
        if (!(worst_of(m->c, seed, &name, err) < 1e-2)) return false;
    return true;
}

static void try(struct mutants *m, const char *what, const char *where) {
    const et_verify_options opt = {.dies = 2, .work = ET_VERIFY_WORK / 16};
    et_diags *said = et_diags_create(m->c->a);
    bool accepted = et_verify(m->c->p, &opt, said, NULL), same = computes_the_same(m);
    m->wrong += !same;
    m->refused += !accepted;
    m->passed += accepted && same;
    if (!accepted || same) return;
    printf("accepted, and computes something else: %s of %s\n", what, where);
    m->ok = false;
}

static void mutate_events(struct mutants *m) {
    et_program *p = m->c->p;
    for (int e = 0; e < p->nevents; e++) {
        et_scope was = p->events[e].scope;
        if (was != ET_SCOPE_SYSTEM) continue;
        p->events[e].scope = ET_SCOPE_DEVICE;
        try(m, "the scope", p->events[e].name);
        p->events[e].scope = was;
    }
}

static void mutate_wait(struct mutants *m, et_grid *g, int i) {
    et_wait was = g->waits[i];
    const et_event *e = &m->c->p->events[was.event];
    if (e->scope != ET_SCOPE_SYSTEM) return;
    g->waits[i] = g->waits[--g->nwaits];
    try(m, "a wait left out", g->name);
    g->waits[g->nwaits++] = g->waits[i];
    for (int d = 0; d < e->rank; d++) {
        g->waits[i] = was;
        g->waits[i].lo[d] = was.hi[d];
        try(m, "the first counters of a wait", g->name);
        g->waits[i].lo[d] = was.lo[d], g->waits[i].hi[d] = was.lo[d];
        try(m, "the last counters of a wait", g->name);
    }
    g->waits[i] = was;
}

static void mutate_grids(struct mutants *m) {
    et_program *p = m->c->p;
    for (int i = 0; i < p->ngrids; i++) {
        et_grid *g = &p->grids[i];
        et_grid_deal was = g->deal;
        g->deal = was.rows ? (et_grid_deal){0} : (et_grid_deal){1, 0};
        if (was.rows || (p->rows.id && p->funcs[g->func].ncoords))
            try(m, "who runs the tiles", g->name);
        g->deal = (et_grid_deal){2 * was.rows, was.coord};
        if (was.rows) try(m, "the rows of a tile", g->name);
        g->deal = (et_grid_deal){was.rows, -1};
        if (was.rows && was.coord >= 0) try(m, "the device of all tiles", g->name);
        g->deal = was;
        for (int w = 0; w < g->nwaits; w++)
            mutate_wait(m, g, w);
    }
}

static void mutate_tensors(struct mutants *m) {
    et_program *p = m->c->p;
    for (int t = 0; t < p->ntensors; t++) {
        et_tensor *x = &p->tensors[t], was = *x;
        x->shared = !was.shared;
        if (was.kind == ET_TENSOR_TEMP && !was.partial) try(m, "who gets", was.name);
        *x = was;
        x->dealt = was.dealt ? 0 : x->shape.rank;
        if (was.flagged && p->rows.id) try(m, "the rows", was.name);
        x->dealt = x->shape.rank;
        if (was.dealt) try(m, "the dimension of rows", was.name);
        *x = was;
    }
}

/* What each device has of its own: another dimension says whose it is, or one device has all. */
static void mutate_own(struct mutants *m) {
    et_program *p = m->c->p;
    for (int t = 0; t < p->ntensors; t++) {
        et_tensor *x = &p->tensors[t];
        int was = x->own;
        for (x->own = 1; was && x->own <= x->shape.rank; x->own++) {
            int64_t n; /* another dimension with an index for each device is another program */
            bool other = !et_is_int(p->g->exprs, x->shape.dim[x->own - 1], &n) || n != x->partial;
            if (other) try(m, "the dimension of devices", x->name);
        }
        x->own = was;
    }
    for (int f = 0; f < p->nfuncs; f++)
        for (int k = 0; k < p->funcs[f].nsteps; k++) {
            et_place *to = &p->funcs[f].steps[k].to;
            int own = to->space == ET_LOAD_TENSOR ? p->tensors[to->id].own : 0;
            if (!own || p->funcs[f].steps[k].kind != ET_STEP_MAP) continue;
            et_expr was = to->index[own - 1];
            to->index[own - 1] = et_int(p->g->exprs, 0);
            try(m, "whose elements are stored", p->funcs[f].name);
            to->index[own - 1] = was;
        }
}

/* Changed in what several devices go by; the other mutants are in tests/passes/verify. */
static bool check_mutants(struct check *c, uint64_t seeds, int least) {
    struct mutants m = {.c = c, .seeds = seeds, .ok = true};
    mutate_events(&m);
    mutate_grids(&m);
    mutate_tensors(&m);
    mutate_own(&m);
    printf("%d mutants compute something else, %d are refused, %d are neither\n", m.wrong,
           m.refused, m.passed);
    return m.ok && m.wrong >= least;
}

static et_exchange exchange_of(const char *name) {
    int i = 0;
    while (et_exchange_name(i) && strcmp(et_exchange_name(i), name) != 0)
        i++;
    return (et_exchange)i;
}

static et_gather gather_of(const char *name) {
    int i = 0;
    while (et_gather_name(i) && strcmp(et_gather_name(i), name) != 0)
        i++;
    return (et_gather)i;
}

static const char *option(int argc, char **argv, const char *name, const char *otherwise) {
    for (int i = 3; i + 1 < argc; i += 2)
        if (strcmp(argv[i], name) == 0) return argv[i + 1];
    return otherwise;
}

int main(int argc, char **argv) {
    struct check c = {.a = et_arena_create()};
    et_diags *d = et_diags_create(c.a);
    const et_pass_options opt = {
        .machine = et_machine_for(option(argc, argv, "--target", "gfx942")),
        .exchange = exchange_of(option(argc, argv, "--exchange", "auto")),
        .parts =
            strcmp(option(argc, argv, "--parts", "f32"), "bf16") ? ET_PARTS_F32 : ET_PARTS_BF16};
    c.devices = argc > 2 ? atoi(argv[2]) : 0;
    bool ok = c.devices > 1 && c.devices <= MOST;
    c.g = ok ? tm_parse(c.a, d, argv[1]) : NULL;
    c.part = ok ? tm_parse(c.a, d, argv[1]) : NULL;
    ok = c.g && c.part;
    if (ok && !et_divide(c.part, c.devices, opt.machine,
                         gather_of(option(argc, argv, "--gather", "auto")), NULL)) {
        et_diag_print(d, stderr);
        et_arena_destroy(c.a);
        return REFUSED;
    }
    ok = ok && et_passes_run(c.part, &opt, &c.p);
    et_diag_print(d, stderr);
    int exchanges = 0;
    for (int i = 0; ok && i < c.p->ntensors; i++)
        exchanges += c.p->tensors[i].partial > 0;
    for (int s = 0; ok && s < et_sym_count(c.g->exprs); s++) {
        int64_t lo, hi;
        et_sym_range(c.g->exprs, s, &lo, &hi);
        c.syms[s] = lo + (hi - lo) / 3;
    }
    for (int i = 3; ok && i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--set") == 0) ok = tm_set_dim(c.g, argv[i + 1], c.syms);
    char err[ET_INTERP_ERR] = "";
    if (ok) {
        ok = prepare(&c);
        if (!ok) snprintf(err, sizeof err, "a tensor has no value of its name in the whole graph");
        ok = ok && et_graph_interp(c.g, c.syms, c.data, err);
    }
    uint64_t seeds = strtoull(option(argc, argv, "--seeds", "6"), NULL, 10);
    for (uint64_t seed = 0; ok && seed < seeds; seed++) {
        const char *name = "";
        double worst = worst_of(&c, seed, &name, err);
        ok = worst < 1e-2;
        printf("%s on %d devices, %d sums, seed %llu: worst relative error %.2g %s %s\n", argv[1],
               c.devices, exchanges, (unsigned long long)seed, worst, name, err);
    }
    int least = atoi(option(argc, argv, "--mutants", "-1"));
    if (ok && least >= 0) ok = check_mutants(&c, seeds, least);
    if (!ok) fprintf(stderr, "failed %s\n", err);
    et_arena_destroy(c.a);
    return !ok;
}
