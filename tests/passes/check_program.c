/* check_program FILE.etg [--seeds K] [--set DIM=V]...: lower FILE to a scheduled program, run it in
 * several legal orders, and compare outputs and states with the graph interpreter on random inputs.
 * The graph interpreter knows nothing of the passes; agreement means that fusion, tiling, memory
 * plan and events kept the meaning. */
#include "frontend.h"
#include "op_util.h"
#include "passes.h"
#include "program_interp.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state = 88172645463325252u;

static double uniform(void) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (double)(state >> 11) / 9007199254740992.0;
}

static et_graph *parse(et_arena *a, et_diags *d, const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = malloc(1 << 20);
    size_t n = fread(text, 1, 1 << 20, f);
    fclose(f);
    et_graph *g = et_parse_etg(a, d, path, text, n);
    free(text);
    return g;
}

static et_tensor_data *new_data(et_arena *a, const et_graph *g, const et_shape *s,
                                const int64_t *syms) {
    et_tensor_data *t = et_alloc(a, sizeof *t);
    t->dtype = s->dtype;
    t->rank = s->rank;
    for (int d = 0; d < s->rank; d++)
        t->dim[d] = et_eval(g->exprs, s->dim[d], syms, NULL);
    t->p = et_alloc(a, (size_t)et_tensor_count(t) * 4);
    return t;
}

/* Indices stay small and distinct within a tensor, so that scatters do not collide. */
static void fill(et_tensor_data *t) {
    int64_t n = et_tensor_count(t), shift = (int64_t)(uniform() * 3);
    for (int64_t i = 0; i < n; i++)
        if (t->dtype == ET_I32)
            t->i[i] = (int32_t)(i + shift);
        else
            t->f[i] = et_round_to(t->dtype, (float)(uniform() * 2 - 1));
}

static void *to_bytes(et_arena *a, const et_tensor_data *t) {
    int64_t n = et_tensor_count(t);
    char *out = et_alloc(a, (size_t)n * 4);
    for (int64_t i = 0; i < n; i++) {
        if (t->dtype == ET_F32 || t->dtype == ET_I32) {
            memcpy(out + 4 * i, &t->i[i], 4);
        } else if (t->dtype == ET_F16) {
            _Float16 h = (_Float16)t->f[i];
            memcpy(out + 2 * i, &h, 2);
        } else {
            uint32_t w;
            memcpy(&w, &t->f[i], 4);
            memcpy(out + 2 * i, &(uint16_t){(uint16_t)(w >> 16)}, 2);
        }
    }
    return out;
}

static double at(const et_tensor_data *t, const char *bytes, int64_t i) {
    uint32_t w = 0;
    float f;
    int32_t n;
    _Float16 h;
    switch (t->dtype) {
    case ET_I32:
        memcpy(&n, bytes + 4 * i, 4);
        return n;
    case ET_F32:
        memcpy(&f, bytes + 4 * i, 4);
        return (double)f;
    case ET_F16:
        memcpy(&h, bytes + 2 * i, 2);
        return (double)h;
    default:
        memcpy((char *)&w + 2, bytes + 2 * i, 2);
        memcpy(&f, &w, 4);
        return (double)f;
    }
}

/* ||got - want|| / ||want|| */
static double relative_error(const et_tensor_data *want, const char *got) {
    double num = 0, den = 0;
    for (int64_t i = 0; i < et_tensor_count(want); i++) {
        double w = want->dtype == ET_I32 ? want->i[i] : (double)want->f[i], g = at(want, got, i);
        if (isnan(w) != isnan(g)) return INFINITY;
        if (isnan(w)) continue;
        num += (g - w) * (g - w);
        den += w * w;
    }
    return sqrt(num) / (sqrt(den) + 1e-30);
}

struct check {
    et_arena *a;
    et_graph *g;
    et_program *p;
    int64_t syms[16];
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
        if (!d) d = c->data[x->value.id] = new_data(c->a, c->g, &x->shape, c->syms);
        if (x->kind == ET_TENSOR_OUTPUT)
            memset(d->p, 0xff, (size_t)et_tensor_count(d) * 4);
        else
            fill(d);
        c->start[t] = to_bytes(c->a, d);
    }
}

static double worst_of(struct check *c, uint64_t seed, const char **out_name, char err[256]) {
    void **memory = et_alloc(c->a, (size_t)c->p->ntensors * sizeof *memory);
    double worst = 0;
    for (int t = 0; t < c->p->ntensors; t++) {
        const et_tensor *x = &c->p->tensors[t];
        if (!c->start[t]) continue;
        size_t bytes = (size_t)et_tensor_count(c->data[x->value.id]) * 4;
        memory[t] = memcpy(et_alloc(c->a, bytes), c->start[t], bytes);
    }
    if (!et_program_interp(c->p, c->syms, memory, seed, err)) return INFINITY;
    for (int t = 0; t < c->p->ntensors; t++) {
        const et_tensor *x = &c->p->tensors[t];
        if (x->kind != ET_TENSOR_OUTPUT && x->kind != ET_TENSOR_STATE) continue;
        double e = relative_error(c->data[x->value.id], memory[t]);
        if (!(e <= worst)) worst = e, *out_name = x->name;
    }
    return worst;
}

static bool set_dim(struct check *c, const char *text) {
    const char *eq = strchr(text, '=');
    for (int s = 0; eq && s < et_sym_count(c->g->exprs); s++) {
        const char *name = et_sym_name(c->g->exprs, s);
        if (strlen(name) == (size_t)(eq - text) && strncmp(name, text, strlen(name)) == 0) {
            c->syms[s] = atoll(eq + 1);
            return true;
        }
    }
    return false;
}

int main(int argc, char **argv) {
    struct check c = {.a = et_arena_create()};
    et_diags *d = et_diags_create(c.a);
    const et_pass_options opt = {
        .machine = {.waves = 4, .wave_size = 64, .lds_bytes = 65536, .cus = 304}};
    c.g = argc > 1 ? parse(c.a, d, argv[1]) : NULL;
    bool ok = c.g && et_passes_run(c.g, &opt, &c.p);
    et_diag_print(d, stderr);
    uint64_t seeds = 4;
    for (int s = 0; ok && s < et_sym_count(c.g->exprs); s++) {
        int64_t lo, hi;
        et_sym_range(c.g->exprs, s, &lo, &hi);
        c.syms[s] = lo + (hi - lo) / 3;
    }
    for (int i = 2; ok && i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--seeds") == 0)
            seeds = strtoull(argv[i + 1], NULL, 10);
        else
            ok = strcmp(argv[i], "--set") == 0 && set_dim(&c, argv[i + 1]);
    char err[256] = "";
    if (ok) {
        prepare(&c);
        ok = et_graph_interp(c.g, c.syms, c.data, err);
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
