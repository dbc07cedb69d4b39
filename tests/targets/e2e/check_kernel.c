/* check_kernel FILE.etg FILE.hsaco [--also FILE.hsaco]... [--set DIM=V]... [--device SPEC]...
 *              [--runs K] [--wait-limit SECONDS] [--workgroups W]...
 *
 * Run the code objects on random weights and inputs on each device and compare every output and
 * state with the graph interpreter; and bit for bit with the first run. Any mix of CUs and dies
 * must give the same bits: sums are ordered at compile time. */
#include "ir/graph/op_util.h"
#include "runtime/etrt.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "tests/support/random_model.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_DEVICES = 16, MAX_KERNELS = 16, MAX_SIZES = 512 };

struct kernel_check {
    et_arena *a;
    et_graph *g;
    int64_t syms[ET_MAX_SYMS];
    et_tensor_data **data; /* by value: expected after the run */
    void **start;          /* by value: bytes before the run */
    void **first;          /* by value: bytes the first run left */
    const char *hsaco[MAX_KERNELS], *device[MAX_DEVICES];
    char weights[64];
    int workgroups[MAX_SIZES]; /* 0: one per CU */
    int nkernels, ndevices, nsizes, runs;
    double wait_limit; /* 0: the usual one */
};

static bool is_result(const struct kernel_check *c, int v) {
    return c->g->vals[v].kind == ET_V_STATE || c->g->vals[v].is_output;
}

static size_t bytes_of(const struct kernel_check *c, int v) {
    return (size_t)et_dtype_size(c->g->vals[v].shape.dtype, et_tensor_count(c->data[v]));
}

static bool fail(const char *what) {
    fprintf(stderr, "check_kernel: %s\n", what);
    return false;
}

static bool prepare(struct kernel_check *c) {
    size_t n = (size_t)c->g->nvals;
    c->data = et_alloc(c->a, n * sizeof *c->data);
    c->start = et_alloc(c->a, n * sizeof *c->start);
    c->first = et_alloc(c->a, n * sizeof *c->first);
    for (int v = 1; v < c->g->nvals; v++) {
        const et_val *val = &c->g->vals[v];
        if (val->kind > ET_V_STATE && !val->is_output) continue;
        c->data[v] = tm_tensor(c->a, c->g, &val->shape, c->syms);
        if (val->is_output) continue;
        tm_fill(c->data[v]);
        c->start[v] = tm_bytes(c->a, c->data[v]);
    }
    char err[256];
    return et_graph_interp(c->g, c->syms, c->data, err) || fail(err);
}

/* ---- weights by their checkpoint names ---- */

struct slices {
    struct kernel_check *c;
    struct etrt_st_tensor *v;
    int n, cap;
};

static const char *source_name(struct slices *s, const et_val *val, const int64_t *at) {
    const char *name = val->source;
    for (int l = 0; l < val->nloops; l++) {
        const et_loop *loop = &s->c->g->loops[val->loops[l]];
        const char *key = et_printf(s->c->a, "{%s}", loop->name), *hit;
        while ((hit = strstr(name, key)))
            name = et_printf(s->c->a, "%.*s%lld%s", (int)(hit - name), name,
                             (long long)(loop->lo + at[l]), hit + strlen(key));
    }
    return name;
}

/* Codes of few bits are in words, or in bytes where the last dimension has too few: it counts those
 * then, or is left out where one holds all of it. */
static void pack(struct etrt_st_tensor *t, int bits) {
    int64_t *last = &t->shape[t->rank - 1], per = *last * bits % 32 ? 8 / bits : 32 / bits;
    t->dtype = per == 32 / bits ? "I32" : "U8";
    *last /= per;
    if (*last == 1) t->rank--;
}

static void add_weight(struct slices *s, int v) {
    const et_val *val = &s->c->g->vals[v];
    const et_tensor_data *d = s->c->data[v];
    int64_t at[ET_MAX_LOOPS] = {0}, slices = 1;
    for (int l = 0; l < val->nloops; l++)
        slices *= d->dim[l];
    for (int64_t i = 0; i < slices; i++) {
        int64_t left = i;
        for (int l = val->nloops - 1; l >= 0; left /= d->dim[l--])
            at[l] = left % d->dim[l];
        ET_GROW(s->c->a, s->v, s->n, s->cap);
        struct etrt_st_tensor *t = &s->v[s->n++];
        *t = (struct etrt_st_tensor){.name = source_name(s, val, at),
                                     .dtype = et_dtype_safetensors(val->shape.dtype),
                                     .rank = d->rank - val->nloops};
        memcpy(t->shape, d->dim + val->nloops, (size_t)t->rank * sizeof *t->shape);
        if (et_dtype_bits(val->shape.dtype) < 8) pack(t, et_dtype_bits(val->shape.dtype));
        t->bytes = bytes_of(s->c, v) / (size_t)slices;
        t->data = (const char *)s->c->start[v] + (size_t)i * t->bytes;
    }
}

static bool write_weights(struct kernel_check *c) {
    struct slices s = {.c = c};
    for (int v = 1; v < c->g->nvals; v++)
        if (c->g->vals[v].kind == ET_V_WEIGHT) add_weight(&s, v);
    if (!s.n) return true;
    snprintf(c->weights, sizeof c->weights, "check_kernel.%d.safetensors", (int)getpid());
    char err[ETRT_ST_ERR];
    return etrt_st_write(c->weights, s.v, (size_t)s.n, err, sizeof err) || fail(err);
}

/* ---- running ---- */

static bool set_up(struct kernel_check *c, etrt_session *s) {
    for (int i = 0; i < et_sym_count(c->g->exprs); i++)
        if (etrt_set_dim(s, et_sym_name(c->g->exprs, i), c->syms[i])) return false;
    for (int v = 1; v < c->g->nvals; v++) {
        const et_val *val = &c->g->vals[v];
        if ((val->kind == ET_V_INPUT && etrt_bind(s, val->name, c->start[v], bytes_of(c, v))) ||
            (val->kind == ET_V_STATE && etrt_write(s, val->name, c->start[v], bytes_of(c, v))))
            return false;
    }
    return etrt_run(s) == ETRT_OK;
}

static bool compare(struct kernel_check *c, etrt_session *s, const char *device) {
    bool ok = true;
    for (int v = 1; v < c->g->nvals; v++) {
        if (!is_result(c, v)) continue;
        const char *name = c->g->vals[v].name;
        void *got = malloc(bytes_of(c, v) + 1);
        if (etrt_read(s, name, got, bytes_of(c, v))) {
            free(got);
            return fail(etrt_last_error());
        }
        double e = tm_relative_error(c->data[v], got);
        /* Products of f32 by bf16 round one side; argmax must agree on what is no near-tie. */
        if (!(e < 1e-2)) {
            fprintf(stderr, "%s: relative error %.3g on %s\n", name, e, device);
            ok = false;
        }
        if (!c->first[v]) {
            c->first[v] = memcpy(et_alloc(c->a, bytes_of(c, v)), got, bytes_of(c, v));
            printf("%-12s relative error %.2g\n", name, e);
        } else if (memcmp(c->first[v], got, bytes_of(c, v)) != 0) {
            fprintf(stderr, "%s: other bits on %s\n", name, device);
            ok = false;
        }
        free(got);
    }
    return ok;
}

static bool run_on(struct kernel_check *c, const char *hsaco, const char *spec) {
    etrt_device *d = NULL;
    etrt_model *m = NULL;
    etrt_session *s = NULL;
    bool ok = !etrt_device_open(spec, &d) && !etrt_model_load(d, hsaco, &m) &&
              (!c->weights[0] || !etrt_model_weights_file(m, c->weights)) &&
              !etrt_session_create(m, &s) &&
              (c->wait_limit <= 0 || !etrt_set_wait_limit(s, c->wait_limit));
    for (int w = 0; ok && w < c->nsizes; w++) {
        ok = !etrt_set_workgroups(s, c->workgroups[w]);
        for (int k = 0; ok && k < c->runs; k++)
            ok = set_up(c, s) && compare(c, s, spec);
    }
    if (!ok) fprintf(stderr, "check_kernel: %s: %s: %s\n", hsaco, spec, etrt_last_error());
    etrt_session_destroy(s);
    etrt_model_unload(m);
    etrt_device_close(d);
    return ok;
}

static bool options(struct kernel_check *c, int argc, char **argv) {
    c->runs = 2;
    for (int s = 0; s < et_sym_count(c->g->exprs); s++) {
        int64_t lo, hi;
        et_sym_range(c->g->exprs, s, &lo, &hi);
        c->syms[s] = lo + (hi - lo) / 3;
    }
    for (int i = 3; i + 1 < argc; i += 2)
        if (strcmp(argv[i], "--wait-limit") == 0)
            c->wait_limit = atof(argv[i + 1]);
        else if (strcmp(argv[i], "--runs") == 0)
            c->runs = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--device") == 0 && c->ndevices < MAX_DEVICES)
            c->device[c->ndevices++] = argv[i + 1];
        else if (strcmp(argv[i], "--also") == 0 && c->nkernels < MAX_KERNELS)
            c->hsaco[c->nkernels++] = argv[i + 1];
        else if (strcmp(argv[i], "--workgroups") == 0 && c->nsizes < MAX_SIZES)
            c->workgroups[c->nsizes++] = atoi(argv[i + 1]);
        else if (strcmp(argv[i], "--set") || !tm_set_dim(c->g, argv[i + 1], c->syms))
            return fail(argv[i + 1]);
    if (!c->nsizes) c->nsizes = 1;
    if (!c->ndevices) c->device[c->ndevices++] = "auto";
    return true;
}

int main(int argc, char **argv) {
    struct kernel_check c = {.a = et_arena_create()};
    et_diags *d = et_diags_create(c.a);
    c.g = argc > 2 ? tm_parse(c.a, d, argv[1]) : NULL;
    et_diag_print(d, stderr);
    if (c.g) c.hsaco[c.nkernels++] = argv[2];
    bool ok = c.g && options(&c, argc, argv) && prepare(&c) && write_weights(&c);
    for (int i = 0; ok && i < c.ndevices; i++)
        for (int k = 0; ok && k < c.nkernels; k++)
            ok = run_on(&c, c.hsaco[k], c.device[i]);
    if (c.weights[0]) unlink(c.weights);
    et_arena_destroy(c.a);
    return !ok;
}
