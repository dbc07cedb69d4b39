/* check_ranks FILE.etg FOLDER SCHEDULE [DIM=VALUE]...
 *
 * FILE compiled with SCHEDULE computes the same bits wherever the hardware puts its workgroups: in
 * turn, in blocks, drawn, all on one die, on dies of different sizes, in launches of any number of
 * workgroups. Ranks are a permutation, die after die where the map allows it; tiles run on the
 * ranks their grid was given. */
#include "frontend/etcc/driver.h"
#include "ir/graph/op_util.h"
#include "runtime/etrt.h"
#include "runtime/etrt_abi.h"
#include "tests/support/random_model.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_TENSORS = 64, MAX_SYMS = 16, MAX_CUS = 64, SEEDS = 20 };

static struct {
    const char *file, *folder, *schedule;
    char kernel[1024];
    et_arena *arena;
    et_program *whole;
    int64_t syms[MAX_SYMS];
    void *given[MAX_TENSORS], *result[MAX_TENSORS];
    char now[320]; /* the device and launch that is being looked at */
    int launches, guests, ranged;
} c;

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *fmt, ...) {
    va_list args;
    fprintf(stderr, "check_ranks: %s: ", c.now);
    va_start(args, fmt);
    vfprintf(stderr, fmt, args);
    va_end(args);
    fputc('\n', stderr);
    exit(1);
}

#define RT(call)                                                                                   \
    do {                                                                                           \
        if ((call) != ETRT_OK) die("%s: %s", #call, etrt_last_error());                            \
    } while (0)

/* ---- the model ---- */

static size_t element_bytes(const etrt_tensor_info *t) {
    return t->dtype == ETRT_F32 || t->dtype == ETRT_I32 ? 4 : 2;
}

static size_t size_now(etrt_session *s, const etrt_tensor_info *t) {
    int64_t shape[ETRT_MAX_RANK];
    int rank;
    size_t n = element_bytes(t);
    RT(etrt_shape(s, t->name, shape, &rank));
    for (int i = 0; i < rank; i++)
        n *= (size_t)shape[i];
    return n;
}

/* The same in every launch. */
static void *given(int i, const etrt_tensor_info *t) {
    if (i >= MAX_TENSORS) die("too many tensors");
    if (c.given[i]) return c.given[i];
    et_tensor_data *d = et_alloc(c.arena, sizeof *d);
    *d = (et_tensor_data){.dtype = t->dtype == ETRT_F32    ? ET_F32
                                   : t->dtype == ETRT_I32  ? ET_I32
                                   : t->dtype == ETRT_BF16 ? ET_BF16
                                                           : ET_F16,
                          .rank = 1,
                          .dim = {t->max_bytes / (int64_t)element_bytes(t)}};
    d->p = et_alloc(c.arena, (size_t)et_tensor_count(d) * 4);
    tm_fill(d);
    return c.given[i] = tm_bytes(c.arena, d);
}

static void load_weights(etrt_model *m) {
    etrt_tensor_info t;
    for (int i = 0; etrt_model_tensor(m, i, &t) == ETRT_OK; i++)
        if (t.kind == ETRT_WEIGHT)
            RT(etrt_model_weight(m, t.name, given(i, &t), (size_t)t.max_bytes));
}

static void give(etrt_model *m, etrt_session *s) {
    etrt_tensor_info t;
    for (int i = 0; etrt_model_tensor(m, i, &t) == ETRT_OK; i++) {
        if (t.kind == ETRT_INPUT) RT(etrt_bind(s, t.name, given(i, &t), size_now(s, &t)));
        if (t.kind == ETRT_STATE) RT(etrt_write(s, t.name, given(i, &t), size_now(s, &t)));
    }
}

/* The first launch's results are kept; later ones must be the same. */
static void compare(etrt_model *m, etrt_session *s) {
    etrt_tensor_info t;
    for (int i = 0; etrt_model_tensor(m, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_OUTPUT && t.kind != ETRT_STATE) continue;
        size_t n = size_now(s, &t);
        char *got = malloc(n + 1);
        RT(etrt_read(s, t.name, got, n));
        if (c.result[i] && memcmp(c.result[i], got, n) != 0) die("%s has other bits", t.name);
        if (c.result[i])
            free(got);
        else
            c.result[i] = got;
    }
}

/* ---- where everybody was ---- */

/* The die whose rank this is, of D dies and W workgroups. */
static uint32_t home(uint32_t rank, uint32_t w, uint32_t d) {
    uint32_t at = 0;
    while ((at + 1) * w / d <= rank)
        at++;
    return at;
}

static struct etrt_control *read_control(const char *folder) {
    char path[1200];
    snprintf(path, sizeof path, "%s/control.after", folder);
    FILE *f = fopen(path, "rb");
    struct etrt_control *p = malloc(sizeof *p + MAX_CUS * sizeof *p->placement);
    if (!f || fread(p, 1, sizeof *p + MAX_CUS * sizeof *p->placement, f) < sizeof *p)
        die("cannot read %s", path);
    fclose(f);
    return p;
}

/* Every workgroup has one rank. Where no die has more of them than ranks, all are at home. */
static void check_placement(const struct etrt_control *control, uint32_t launch, uint32_t w,
                            uint32_t d, bool even) {
    const struct etrt_placement *p = control->placement;
    bool seen[MAX_CUS] = {false};
    uint32_t on[ETRT_MAX_DIES] = {0}, places[ETRT_MAX_DIES] = {0}, guests = 0, surplus = 0;
    for (uint32_t r = 0; r < w; r++) {
        if (p[r].launch != launch + 1) die("nobody has rank %u", r);
        if (p[r].workgroup >= w || seen[p[r].workgroup])
            die("ranks are no permutation: workgroup %u has rank %u too", p[r].workgroup, r);
        seen[p[r].workgroup] = true;
        on[p[r].die % d]++;
        places[home(r, w, d)]++;
        guests += p[r].die % d != home(r, w, d);
    }
    for (uint32_t i = 0; i < d; i++)
        surplus += on[i] > places[i] ? on[i] - places[i] : 0;
    if (guests < surplus || (guests && !surplus))
        die("%u of %u workgroups are guests of another die, where dies have %u more than their "
            "ranks",
            guests, w, surplus);
    if (even && guests) die("%u guests on an even map", guests);
    c.guests += (int)guests;
}

/* A static grid's tiles run on its range of ranks; on an even map that is on the planned dies. */
static void check_trace(etrt_model *m, etrt_session *s, uint32_t w, uint32_t d, bool even) {
    et_program *p = c.whole; /* compiled as one variant */
    etrt_trace_info info;
    RT(etrt_session_trace_read(s, NULL, 0, &info));
    etrt_trace_task *t = malloc(info.tasks * sizeof *t + 1);
    RT(etrt_session_trace_read(s, t, info.tasks, &info));
    uint32_t die_of[MAX_CUS];
    int cu_of[MAX_CUS];
    bool seen[MAX_CUS] = {false};
    if (!info.tasks || info.dropped) die("the trace is not whole");
    for (size_t i = 0; i < info.tasks; i++) {
        const et_grid *g = &p->grids[t[i].task];
        uint32_t r = t[i].workgroup;
        if (strcmp(etrt_model_task(m, t[i].task), g->name) != 0) die("a task of another name");
        if (r >= w) die("rank %u of %u", r, w);
        if (seen[r] && (die_of[r] != t[i].die || cu_of[r] != t[i].cu)) die("rank %u moved", r);
        seen[r] = true, die_of[r] = t[i].die, cu_of[r] = t[i].cu;
        if (even && t[i].die % d != home(r, w, d)) die("rank %u on die %u", r, t[i].die);
        if (g->dynamic || !g->range.to) continue;
        uint32_t from = (uint32_t)((uint64_t)w * (uint64_t)g->range.from / 1000000),
                 to = (uint32_t)((uint64_t)w * (uint64_t)g->range.to / 1000000);
        if (to <= from) to = from + 1;
        if (r < from || r >= to)
            die("a tile of %s on rank %u, outside %u..%u", g->name, r, from, to);
        c.ranged++;
    }
    for (uint32_t a = 0; a < w; a++)
        for (uint32_t b = 0; b < a; b++)
            if (seen[a] && seen[b] && die_of[a] == die_of[b] && cu_of[a] == cu_of[b])
                die("ranks %u and %u share a CU", a, b);
    free(t);
}

/* ---- maps ---- */

struct map {
    const char *options;
    uint32_t dies, workgroups[4]; /* of launches, 0: no more */
    bool even;                    /* every die gets as many workgroups as it has ranks */
};

static const struct map maps[] = {
    {"cus=16:xcds=4", 4, {16, 8, 4, 12}, true},
    {"cus=16:xcds=4:map=block", 4, {16, 8, 4}, true},
    {"cus=16:xcds=4:map=3", 4, {16, 8}, true},
    {"cus=16:xcds=8:map=5", 8, {5, 1, 9, 15}, false}, /* fewer workgroups than dies */
    {"cus=8:xcds=8:map=3", 8, {8, 2}, false},
    {"cus=16:xcds=8:firstdie=8", 8, {16, 3}, false},
    {"cus=12:xcds=3:firstdie=11:map=1", 3, {12, 7}, false},
    {"cus=6+1+2+7", 4, {16, 9, 3}, false}, /* dies with fewer CUs */
    {"cus=1+9", 2, {10, 4}, false},
    {"cus=16:xcds=4:map=fill-2", 4, {4, 3, 1, 11}, false}, /* all on one die */
    {"cus=5:xcds=1", 1, {5, 2}, true},
};

static void launch(etrt_model *m, etrt_session *s, const struct map *map, uint32_t w, uint32_t n,
                   bool look) {
    char folder[1100];
    snprintf(folder, sizeof folder, "%s/capture%d", c.folder, c.launches++);
    give(m, s);
    if (look) RT(etrt_capture(s, folder));
    RT(etrt_session_trace(s, look));
    RT(etrt_run(s));
    compare(m, s);
    if (!look) return;
    struct etrt_control *control = read_control(folder);
    check_placement(control, n, w, map->dies, map->even);
    free(control);
    check_trace(m, s, w, map->dies, map->even);
}

static void open_session(const char *options, etrt_device **dev, etrt_model **m, etrt_session **s) {
    char spec[300];
    snprintf(spec, sizeof spec, "emu:gfx942:%s", options);
    snprintf(c.now, sizeof c.now, "%s", spec);
    RT(etrt_device_open(spec, dev));
    RT(etrt_model_load(*dev, c.kernel, m));
    load_weights(*m);
    RT(etrt_session_create(*m, s));
    for (int i = 0; i < et_sym_count(c.whole->g->exprs); i++)
        RT(etrt_set_dim(*s, et_sym_name(c.whole->g->exprs, i), c.syms[i]));
}

static void close_session(etrt_device *dev, etrt_model *m, etrt_session *s) {
    etrt_session_destroy(s);
    etrt_model_unload(m);
    etrt_device_close(dev);
}

/* Every second launch only for its results, as a server runs them. */
static void run_map(const struct map *map) {
    etrt_device *dev;
    etrt_model *m;
    etrt_session *s;
    open_session(map->options, &dev, &m, &s);
    uint32_t n = 0;
    for (int i = 0; i < 4 && map->workgroups[i]; i++) {
        uint32_t w = map->workgroups[i];
        snprintf(c.now, sizeof c.now, "%s, %u workgroups", map->options, w);
        RT(etrt_set_workgroups(s, (int)w));
        launch(m, s, map, w, n++, true);
        launch(m, s, map, w, n++, false);
    }
    close_session(dev, m, s);
}

/* A launch that gave up leaves no claims to the next. */
static void run_after_an_abort(void) {
    static const struct map map = {.dies = 4, .even = true};
    etrt_device *dev;
    etrt_model *m;
    etrt_session *s;
    open_session("cus=8:xcds=4:clock=instructions", &dev, &m, &s);
    launch(m, s, &map, 8, 0, true);
    give(m, s);
    RT(etrt_set_wait_limit(s, 1e-6));
    if (etrt_run(s) != ETRT_WAIT) die("no wait was too long");
    if (!strstr(etrt_last_error(), " on die 0")) die("no places in: %s", etrt_last_error());
    RT(etrt_set_wait_limit(s, 60));
    launch(m, s, &map, 8, 2, true);
    close_session(dev, m, s);
}

static void run_shuffled(uint32_t seed) {
    static const uint32_t few[] = {15, 7, 4, 3, 11, 2};
    char options[100];
    snprintf(options, sizeof options, "cus=16:xcds=%u:map=shuffle-%u:seed=%u%s", 2 + seed % 4 * 2,
             seed, seed, seed % 10 ? "" : ":coherence=model");
    struct map map = {options, 2 + seed % 4 * 2, {few[seed % 6]}, false};
    if (seed % 5 == 0) map.workgroups[1] = 16;
    run_map(&map);
}

int main(int argc, char **argv) {
    if (argc < 4) return 2;
    c.file = argv[1], c.folder = argv[2], c.schedule = argv[3];
    c.arena = et_arena_create();
    snprintf(c.kernel, sizeof c.kernel, "%s/kernel.hsaco", c.folder);
    snprintf(c.now, sizeof c.now, "%s", c.file);
    et_options o = {.input = c.file,
                    .output = c.kernel,
                    .target = "gfx942",
                    .schedule = (et_schedule_kind)et_mode_find(et_schedule_name, c.schedule),
                    .profile_kernel = true,
                    .variants = 1,
                    .arena = c.arena,
                    .out_program = &c.whole};
    if (!et_drive(&o)) die("does not compile");
    for (int i = 0; i < et_sym_count(c.whole->g->exprs); i++)
        et_sym_range(c.whole->g->exprs, i, &c.syms[i], &(int64_t){0});
    for (int i = 4; i < argc; i++)
        if (!tm_set_dim(c.whole->g, argv[i], c.syms)) die("no such dim: %s", argv[i]);
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        run_map(&maps[i]);
    for (uint32_t seed = 1; seed <= SEEDS; seed++)
        run_shuffled(seed);
    run_after_an_abort();
    if (!c.guests) die("no map was uneven");
    bool hinted = false;
    for (int i = 0; i < c.whole->ngrids; i++)
        hinted |= c.whole->grids[i].range.to && !c.whole->grids[i].dynamic;
    if (hinted != (c.ranged > 0)) die("%d tiles of ranges", c.ranged);
    printf("%d launches, %d guests, %d tiles of ranges\n", c.launches, c.guests, c.ranged);
    et_arena_destroy(c.arena);
    return 0;
}
