#include "tests/targets/codegen/kit.h"
#include "ir/interp/interp.h"
#include "ir/program/step.h"
#include "passes/product/product.h"
#include "runtime/etrt.h"
#include "runtime/etrt_abi.h"
#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

const char *kit_target(void) {
    const char *name = getenv("KIT_TARGET");
    return name ? name : "gfx942";
}

int kit_wave(void) {
    return strncmp(kit_target(), "gfx9", 4) == 0 ? 64 : 32;
}

int kit_waves(const kit *k) {
    return k->p->workgroup / kit_wave();
}

/* DEVICE without what the GPU cannot be: several dies where it is of one, half a pair of CUs. */
static void device_spec(const char *device, char *out, size_t n) {
    const char *name = kit_target();
    bool one_die = strcmp(name, "gfx942") != 0 && strcmp(name, "gfx950") != 0;
    int cus, xcds, used = 0;
    ck_assert_int_eq(sscanf(device, "cus=%d:xcds=%d%n", &cus, &xcds, &used), 2);
    if (kit_wave() == 32) cus += cus % 2;
    if (one_die) xcds = 1;
    snprintf(out, n, "emu:%s:cus=%d:xcds=%d%s", name, cus, xcds, device + used);
}

void kit_begin(kit *k, const char *name) {
    *k = (kit){0};
    k->arena = et_arena_create();
    k->g = et_graph_create(k->arena, et_diags_create(k->arena));
    k->g->name = name;
    k->x = k->g->exprs;
    k->p = et_program_create(k->g);
    k->p->stage = ET_STAGE_SCHEDULED;
    k->p->event_words = ETRT_EVENT_FIRST;
    k->tolerance = 1e-5;
    k->launches = 1;
    const char *dir = getenv("TMPDIR");
    snprintf(k->path, sizeof k->path, "%s/etcg-%d.hsaco", dir ? dir : "/tmp", (int)getpid());
    k->opt = (et_codegen_options){.target = et_target_find(kit_target()),
                                  .output = k->path,
                                  .emit_llvm = getenv("KIT_LL"),
                                  .opt_level = 2};
}

void kit_end(kit *k) {
    if (!getenv("KIT_KEEP")) unlink(k->path);
    et_arena_destroy(k->arena);
}

int kit_sym(kit *k, const char *name, int lo, int hi) {
    return et_sym_add(k->x, name, lo, hi);
}

et_expr kit_n(kit *k, int64_t n) {
    return et_int(k->x, n);
}

int kit_var(kit *k, const char *name, int64_t extent) {
    return et_var_add(k->x, name, kit_n(k, extent));
}

int kit_tensor(kit *k, et_tensor_kind kind, const char *name, et_dtype t, int rank,
               const et_expr *dim) {
    et_program *p = k->p;
    ET_GROW(k->arena, p->tensors, p->ntensors, p->ctensors);
    et_tensor *n = &p->tensors[p->ntensors];
    *n = (et_tensor){.kind = kind, .name = name, .shape = {.dtype = t, .rank = rank}};
    n->max_bytes = et_dtype_bytes(t);
    for (int i = 0; i < rank; i++) {
        int64_t lo, hi;
        n->shape.dim[i] = dim[i];
        ck_assert(et_bounds(k->x, dim[i], &lo, &hi));
        n->max_bytes *= hi;
    }
    if (kind == ET_TENSOR_TEMP) {
        n->offset = p->workspace_bytes;
        p->workspace_bytes += (n->max_bytes + 255) / 256 * 256;
    }
    return p->ntensors++;
}

et_expr kit_at(kit *k, int tensor, int n, const et_expr *index) {
    return et_load(k->x, ET_LOAD_TENSOR, tensor, et_dtype_type(k->p->tensors[tensor].shape.dtype),
                   n, index);
}

et_expr kit_local_at(kit *k, const et_func *f, int local, int n, const et_expr *index) {
    return et_load(k->x, ET_LOAD_LOCAL, local, et_dtype_type(f->locals[local].dtype), n, index);
}

et_func *kit_func(kit *k, const char *name, int ncoords) {
    et_program *p = k->p;
    if (!p->funcs) p->funcs = et_alloc(k->arena, 16 * sizeof *p->funcs);
    ck_assert_int_lt(p->nfuncs, 16);
    et_func *f = &p->funcs[p->nfuncs++];
    f->name = name;
    f->ncoords = ncoords;
    for (int i = 0; i < ncoords; i++)
        f->coord[i] = et_var_add(k->x, "t", kit_n(k, 1 << 20));
    return f;
}

et_expr kit_coord(kit *k, et_func *f, int i) {
    return et_var(k->x, f->coord[i]);
}

et_step *kit_step(kit *k, et_func *f, et_step_kind kind) {
    ET_GROW(k->arena, f->steps, f->nsteps, f->csteps);
    et_step *s = &f->steps[f->nsteps++];
    *s = et_step_make(kind);
    return s;
}

et_place kit_place(int space, int id, int rank, const et_expr *index) {
    et_place p = {.space = space, .id = id, .rank = rank};
    memcpy(p.index, index, (size_t)rank * sizeof *index);
    return p;
}

et_step *kit_map(kit *k, et_func *f, int nvars, const int *vars, et_expr value, et_expr mask,
                 et_place to) {
    et_step *s = kit_step(k, f, ET_STEP_MAP);
    s->nvars = nvars;
    memcpy(s->vars, vars, (size_t)nvars * sizeof *vars);
    s->value = value;
    s->mask = mask;
    s->to = to;
    return s;
}

int kit_grid(kit *k, et_func *f, const et_expr *extent, int loop) {
    et_program *p = k->p;
    ET_GROW(k->arena, p->grids, p->ngrids, p->cgrids);
    et_grid *g = &p->grids[p->ngrids];
    *g = (et_grid){.name = f->name, .func = (int)(f - p->funcs), .loop = loop};
    memcpy(g->extent, extent, (size_t)f->ncoords * sizeof *extent);
    return p->ngrids++;
}

int kit_event(kit *k, const char *name, int rank, const et_expr *dim, et_expr count) {
    et_program *p = k->p;
    ET_GROW(k->arena, p->events, p->nevents, p->cevents);
    et_event *e = &p->events[p->nevents];
    *e = (et_event){.name = name, .rank = rank, .count = count, .scope = ET_SCOPE_DEVICE};
    e->base = p->event_words;
    e->words = 1;
    for (int i = 0; i < rank; i++) {
        int64_t lo, hi;
        e->dim[i] = dim[i];
        ck_assert(et_bounds(k->x, dim[i], &lo, &hi));
        e->words *= (int)hi;
    }
    p->event_words += e->words;
    return p->nevents++;
}

void kit_notify(kit *k, int grid, int event, const et_expr *index, et_when when) {
    et_grid *g = &k->p->grids[grid];
    ET_GROW(k->arena, g->notifies, g->nnotifies, g->cnotifies);
    et_notify *n = &g->notifies[g->nnotifies++];
    *n = (et_notify){.event = event, .when = when};
    for (int i = 0; i < k->p->events[event].rank; i++)
        n->index[i] = index[i];
}

void kit_wait(kit *k, int grid, int event, const et_expr *lo, const et_expr *hi, et_when when) {
    et_grid *g = &k->p->grids[grid];
    ET_GROW(k->arena, g->waits, g->nwaits, g->cwaits);
    et_wait *w = &g->waits[g->nwaits++];
    *w = (et_wait){.event = event, .when = when};
    for (int i = 0; i < k->p->events[event].rank; i++) {
        w->lo[i] = lo[i];
        w->hi[i] = hi[i];
    }
}

void kit_compile(kit *k) {
    et_program *p = k->p;
    if (!p->nitems) {
        for (int i = 0; i < p->ngrids; i++) {
            ET_GROW(k->arena, p->items, p->nitems, p->citems);
            p->items[p->nitems++] = (et_item){.kind = ET_P_GRID, .index = i};
        }
        p->count = p->nitems;
    }
    et_product_plan_all(p, &(et_product_options){.target = k->opt.target,
                                                 .packed = k->opt.sparse == ET_SPARSE_2_4,
                                                 .zeros = k->opt.sparse == ET_SPARSE_ZEROS,
                                                 .resident = k->opt.resident});
    if (getenv("KIT_DUMP")) et_program_print(p, stdout);
    bool ok = et_codegen(p, &k->opt, &k->info);
    if (!ok) et_diag_print(k->g->diags, stderr);
    ck_assert(ok);
}

/* ---- running ---- */

static uint32_t draw(uint64_t *s) {
    *s = *s * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*s >> 33);
}

static int32_t any_integer(uint64_t *seed) {
    static const int32_t ends[] = {0, 1, -1, INT32_MAX, INT32_MIN};
    uint32_t some = draw(seed);
    return some % 3 ? (int32_t)(draw(seed) * 2 + (some >> 9) % 2) : ends[(some >> 4) % 5];
}

static void fill(const kit *k, et_dtype t, void *data, size_t n, uint64_t seed) {
    for (size_t i = 0; i < n; i++) {
        double v = (double)((float)((int)(draw(&seed) % 2001) - 1000) / 1000.0f);
        if (t == ET_I32) v = k->any_integers ? any_integer(&seed) : (double)(draw(&seed) % 8);
        etrt_element_set((int)t, data, (int64_t)i, v);
    }
}

#define RT(call)                                                                                   \
    do {                                                                                           \
        etrt_status st_ = (call);                                                                  \
        if (st_) ck_abort_msg("%s: %s: %s", #call, etrt_status_text(st_), etrt_last_error());      \
    } while (0)

static size_t elements(kit *k, const et_tensor *t, const int64_t *syms) {
    size_t n = 1;
    for (int i = 0; i < t->shape.rank; i++)
        n *= (size_t)et_eval(k->x, t->shape.dim[i], syms, NULL);
    return n;
}

static void compare(kit *k, const et_tensor *t, const void *want, const void *got, size_t n) {
    double most = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(etrt_element((int)t->shape.dtype, want, i)))
            most = fmax(most, fabs(etrt_element((int)t->shape.dtype, want, i)));
    for (size_t i = 0; i < n; i++) {
        double a = etrt_element((int)t->shape.dtype, want, i),
               b = etrt_element((int)t->shape.dtype, got, i);
        if (a == b || (isnan(a) && isnan(b))) continue;
        if (!(fabs(a - b) <= k->tolerance * most))
            ck_abort_msg("%s: %s[%zu] is %g, not %g (largest %g)", k->g->name, t->name, i, b, a,
                         most);
    }
}

static void open_session(kit *k, const char *device, const int64_t *syms, etrt_device **dev,
                         etrt_model **m, etrt_session **s) {
    char spec[128];
    device_spec(device, spec, sizeof spec);
    RT(etrt_device_open(spec, dev));
    RT(etrt_model_load(*dev, k->path, m));
    RT(etrt_session_create(*m, s));
    for (int i = 0; i < et_sym_count(k->x); i++)
        RT(etrt_set_dim(*s, et_sym_name(k->x, i), syms[i]));
}

void kit_broken(kit *k, const char *device, const int64_t *syms, int event, const char *task) {
    et_program *p = k->p;
    k->opt.break_event = p->events[event].name;
    kit_compile(k);
    etrt_device *dev;
    etrt_model *m;
    etrt_session *s;
    open_session(k, device, syms, &dev, &m, &s);
    for (int i = 0; i < p->ntensors; i++) {
        const et_tensor *t = &p->tensors[i];
        if (t->kind != ET_TENSOR_INPUT) continue;
        size_t bytes = elements(k, t, syms) * (size_t)et_dtype_bytes(t->shape.dtype);
        void *zeros = calloc(bytes, 1);
        RT(etrt_bind(s, t->name, zeros, bytes));
        free(zeros);
    }
    RT(etrt_set_wait_limit(s, 0.05));
    for (int i = 0; i < 2; i++) {
        struct timespec a, b;
        clock_gettime(CLOCK_MONOTONIC, &a);
        ck_assert_int_eq(etrt_run(s), ETRT_WAIT);
        clock_gettime(CLOCK_MONOTONIC, &b);
        ck_assert_int_le(b.tv_sec - a.tv_sec, 1);
        const char *say = etrt_last_error();
        ck_assert_msg(strstr(say, task) && strstr(say, p->events[event].name), "%s", say);
    }
    etrt_session_destroy(s);
    etrt_model_unload(m);
    etrt_device_close(dev);
}

void kit_check(kit *k, const char *device, const int64_t *syms) {
    et_program *p = k->p;
    kit_compile(k);
    etrt_device *dev;
    etrt_model *m;
    etrt_session *s;
    open_session(k, device, syms, &dev, &m, &s);
    void **mem = calloc((size_t)p->ntensors, sizeof *mem);
    for (int i = 0; i < p->ntensors; i++) {
        const et_tensor *t = &p->tensors[i];
        size_t n = elements(k, t, syms), bytes = n * (size_t)et_dtype_bytes(t->shape.dtype);
        if (t->kind == ET_TENSOR_TEMP || t->kind == ET_TENSOR_CONST) continue;
        mem[i] = malloc(bytes);
        fill(k, t->shape.dtype, mem[i], n, (uint64_t)i * 977 + 1);
        if (t->kind == ET_TENSOR_INPUT) RT(etrt_bind(s, t->name, mem[i], bytes));
        if (t->kind == ET_TENSOR_STATE) RT(etrt_write(s, t->name, mem[i], bytes));
    }
    char err[256];
    for (int i = 0; i < k->launches; i++) {
        if (!et_program_interp(p, syms, mem, 0, err)) ck_abort_msg("interpreter: %s", err);
        RT(etrt_run(s));
    }
    for (int i = 0; i < p->ntensors; i++) {
        const et_tensor *t = &p->tensors[i];
        if (t->kind != ET_TENSOR_OUTPUT && t->kind != ET_TENSOR_STATE) continue;
        size_t n = elements(k, t, syms), bytes = n * (size_t)et_dtype_bytes(t->shape.dtype);
        void *got = malloc(bytes);
        RT(etrt_read(s, t->name, got, bytes));
        compare(k, t, mem[i], got, n);
        free(got);
    }
    for (int i = 0; i < p->ntensors; i++)
        free(mem[i]);
    free(mem);
    etrt_session_destroy(s);
    etrt_model_unload(m);
    etrt_device_close(dev);
}
