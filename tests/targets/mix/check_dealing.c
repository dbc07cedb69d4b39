/* check_dealing - where do the slices of models that share a kernel run?
 *
 *     check_dealing FOLDER PLACEMENT SLICES FILE.etg FILE.etg
 *
 * The kernel of the two, in launches of both and of each alone, wherever the hardware puts its
 * workgroups: every task of a model runs once, on a workgroup of the model's, and those of one
 * slice on one die. That is the die that comes s-th, going round, of those that have any workgroups
 * of the model, in some order of these dies that all its tasks agree on. */
#include "frontend/etcc/driver.h"
#include "ir/graph/op_util.h"
#include "runtime/etrt.h"
#include "runtime/etrt_abi.h"
#include "tests/support/random_model.h"
#include <stdlib.h>
#include <string.h>

enum { MODELS = 2, MAX_CUS = 64, WHOLE = 1000000, MOST = 1 << 20 };

static struct {
    const char *folder;
    char kernel[1024], now[320];
    et_arena *arena;
    et_program *p;
    int64_t syms[ET_MAX_SYMS];
    uint64_t state;
    int launches, sliced;
    int spread[ETRT_MAX_DIES +
               1]; /* by number of dies: launches of a model with slices on so many */
} c;

static void die(const char *fmt, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *fmt, ...) {
    va_list args;
    fprintf(stderr, "check_dealing: %s: ", c.now);
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

static uint64_t draw(uint64_t below) {
    c.state = c.state * 6364136223846793005u + 1442695040888963407u;
    return (c.state >> 33) % below;
}

/* ---- the kernel ---- */

static void *numbers(const etrt_tensor_info *t) {
    bool wide = t->dtype == ETRT_F32 || t->dtype == ETRT_I32;
    et_tensor_data d = {.dtype = t->dtype == ETRT_F32    ? ET_F32
                                 : t->dtype == ETRT_I32  ? ET_I32
                                 : t->dtype == ETRT_BF16 ? ET_BF16
                                                         : ET_F16,
                        .rank = 1,
                        .dim = {t->max_bytes / (wide ? 4 : 2)}};
    d.p = et_alloc(c.arena, (size_t)et_tensor_count(&d) * 4);
    tm_fill(&d);
    return tm_bytes(c.arena, &d);
}

static void load_weights(etrt_model *m) {
    etrt_tensor_info t;
    for (int i = 0; etrt_model_tensor(m, i, &t) == ETRT_OK; i++)
        if (t.kind == ETRT_WEIGHT)
            RT(etrt_model_weight(m, t.name, numbers(&t), (size_t)t.max_bytes));
}

static void give_inputs(etrt_model *m, etrt_session *s) {
    etrt_tensor_info t;
    int64_t lo, hi, shape[ETRT_MAX_RANK];
    int rank;
    for (int i = 0; i < et_sym_count(c.p->g->exprs); i++) {
        et_sym_range(c.p->g->exprs, i, &lo, &hi);
        c.syms[i] = lo + (int64_t)draw((uint64_t)(hi - lo + 1));
        RT(etrt_set_dim(s, et_sym_name(c.p->g->exprs, i), c.syms[i]));
    }
    for (int i = 0; etrt_model_tensor(m, i, &t) == ETRT_OK; i++) {
        if (t.kind != ETRT_INPUT) continue;
        size_t n = t.dtype == ETRT_F32 || t.dtype == ETRT_I32 ? 4 : 2;
        RT(etrt_shape(s, t.name, shape, &rank));
        for (int d = 0; d < rank; d++)
            n *= (size_t)shape[d];
        RT(etrt_bind(s, t.name, numbers(&t), n));
    }
}

/* ---- one launch ---- */

struct launch {
    uint32_t workgroups;
    bool runs[MODELS];
    uint32_t first[MODELS], end[MODELS]; /* ranks */
    uint32_t die_of[MAX_CUS];            /* by rank */
};

/* Alone a model has all workgroups. */
static void share_out(struct launch *l) {
    for (int m = 0; m < MODELS; m++) {
        et_share s = c.p->g->model[m].share;
        if (!l->runs[!m]) s = (et_share){0, WHOLE};
        l->first[m] = (uint32_t)((uint64_t)l->workgroups * (uint64_t)s.from / WHOLE);
        l->end[m] = (uint32_t)((uint64_t)l->workgroups * (uint64_t)s.to / WHOLE);
        if (l->first[m] >= l->workgroups) l->first[m] = l->workgroups - 1;
        if (l->end[m] <= l->first[m]) l->end[m] = l->first[m] + 1;
    }
}

static void read_dies(struct launch *l, const char *capture) {
    char path[1200];
    struct etrt_control *p = malloc(sizeof *p + MAX_CUS * sizeof *p->placement);
    snprintf(path, sizeof path, "%s/control.after", capture);
    FILE *f = fopen(path, "rb");
    if (!p || !f || fread(p, 1, sizeof *p + MAX_CUS * sizeof *p->placement, f) < sizeof *p)
        die("cannot read %s", path);
    fclose(f);
    for (uint32_t r = 0; r < l->workgroups; r++)
        l->die_of[r] = p->placement[r].die;
    free(p);
}

static int dies_of(const struct launch *l, int model) {
    bool has[ETRT_MAX_DIES] = {false};
    int n = 0;
    for (uint32_t r = l->first[model]; r < l->end[model]; r++) {
        n += !has[l->die_of[r]];
        has[l->die_of[r]] = true;
    }
    return n;
}

static int64_t slice_of(const et_grid *g, int64_t tile) {
    int64_t extent = 0;
    for (int k = c.p->funcs[g->func].ncoords - 1; k >= g->slice.coord; k--) {
        extent = et_eval(c.p->g->exprs, g->extent[k], c.syms, NULL);
        if (k > g->slice.coord) tile /= extent;
    }
    return et_slice_of(tile % extent, extent, g->slice.count);
}

/* Slice s is on the die of slice s mod DIES, other slices on others. */
static void check_dies(const int *die_of, int model, int dies) {
    int found = 0;
    for (int s = 0; s < ET_MAX_SLICES; s++) {
        if (die_of[s] < 0) continue;
        int same = s % dies;
        if (die_of[same] >= 0 && die_of[same] != die_of[s])
            die("model %d has dies %d and %d for slices %d and %d, of %d dies", model, die_of[s],
                die_of[same], s, same, dies);
        for (int k = 0; k < s && k < dies && s < dies; k++)
            if (die_of[k] == die_of[s])
                die("model %d has die %d for slices %d and %d, of %d dies", model, die_of[s], k, s,
                    dies);
        found += s < dies;
    }
    c.spread[found]++;
}

static void check(const struct launch *l, const etrt_trace_task *t, size_t n) {
    int die_of[MODELS][ET_MAX_SLICES], tasks[MODELS] = {0};
    int64_t left = 0;
    char **seen = et_alloc(c.arena, (size_t)c.p->ngrids * sizeof *seen);
    memset(die_of, -1, sizeof die_of);
    for (int i = 0; i < c.p->ngrids; i++) {
        const et_grid *g = &c.p->grids[i];
        int64_t all = et_eval(c.p->g->exprs, et_grid_tiles(c.p, g), c.syms, NULL) *
                      (int64_t)et_loop_trips(c.p->g, g->loop);
        if (all > MOST) die("%s: too many tasks", g->name);
        seen[i] = et_alloc(c.arena, (size_t)all + 1);
        if (l->runs[g->model]) left += all;
    }
    for (size_t i = 0; i < n; i++) {
        const et_grid *g = &c.p->grids[t[i].task];
        int64_t tiles = et_eval(c.p->g->exprs, et_grid_tiles(c.p, g), c.syms, NULL);
        uint32_t r = t[i].workgroup;
        if (!l->runs[g->model]) die("%s has run", g->name);
        if (r < l->first[g->model] || r >= l->end[g->model])
            die("%s on workgroup %u, model %d has %u..%u", g->name, r, g->model, l->first[g->model],
                l->end[g->model] - 1);
        if (t[i].die != l->die_of[r]) die("workgroup %u has moved", r);
        if (t[i].tile >= tiles || seen[t[i].task][t[i].iteration * tiles + t[i].tile]++)
            die("%s, tile %u, iteration %u once more", g->name, t[i].tile, t[i].iteration);
        left--;
        if (!g->slice.count) continue;
        int *d = &die_of[g->model][slice_of(g, t[i].tile)];
        if (*d >= 0 && *d != (int)t[i].die)
            die("%s, tile %u is on die %u, another of its slice on %d", g->name, t[i].tile,
                t[i].die, *d);
        *d = (int)t[i].die;
        tasks[g->model]++;
    }
    if (left) die("%lld tasks have not run", (long long)left);
    for (int m = 0; m < MODELS; m++) {
        if (tasks[m]) check_dies(die_of[m], m, dies_of(l, m));
        c.sliced += tasks[m];
    }
}

static void launch(etrt_model *m, etrt_session *s, uint32_t workgroups, unsigned who) {
    struct launch l = {.workgroups = workgroups};
    char capture[1100];
    etrt_trace_info info;
    for (int i = 0; i < MODELS; i++) {
        l.runs[i] = who >> i & 1;
        RT(etrt_select(s, etrt_model_part(m, i), l.runs[i]));
    }
    share_out(&l);
    snprintf(capture, sizeof capture, "%s/capture%d", c.folder, c.launches++);
    give_inputs(m, s);
    RT(etrt_set_workgroups(s, (int)workgroups));
    RT(etrt_capture(s, capture));
    RT(etrt_run(s));
    read_dies(&l, capture);
    RT(etrt_session_trace_read(s, NULL, 0, &info));
    etrt_trace_task *t = malloc(info.tasks * sizeof *t + 1);
    RT(etrt_session_trace_read(s, t, info.tasks, &info));
    if (info.dropped) die("the trace is not whole");
    check(&l, t, info.tasks);
    free(t);
}

static const struct map {
    const char *options;
    uint32_t workgroups[4]; /* of launches, 0: no more */
} maps[] = {
    {"cus=16:xcds=4", {16, 5, 2, 1}},
    {"cus=16:xcds=8:map=shuffle-1", {16, 11}},
    {"cus=7+1+3+2:map=shuffle-2", {13, 4}},
    {"cus=12:xcds=4:map=fill-2", {12, 6, 3}},
    {"cus=16:xcds=8:firstdie=8:map=block", {16, 9}},
    {"cus=6:xcds=1", {6}},
};

static void run_map(const struct map *map) {
    char spec[300];
    etrt_device *dev;
    etrt_model *m;
    etrt_session *s;
    snprintf(spec, sizeof spec, "emu:gfx942:%s", map->options);
    RT(etrt_device_open(spec, &dev));
    RT(etrt_model_load(dev, c.kernel, &m));
    load_weights(m);
    RT(etrt_session_create(m, &s));
    RT(etrt_session_trace(s, 1));
    RT(etrt_set_wait_limit(s, 5));
    for (int i = 0; i < 4 && map->workgroups[i]; i++)
        for (unsigned who = 3; who > 0; who--) {
            snprintf(c.now, sizeof c.now, "%s, %u workgroups, models %x", map->options,
                     map->workgroups[i], who);
            launch(m, s, map->workgroups[i], who);
        }
    etrt_session_destroy(s);
    etrt_model_unload(m);
    etrt_device_close(dev);
}

int main(int argc, char **argv) {
    if (argc != 6) return 2;
    c.folder = argv[1];
    c.arena = et_arena_create();
    snprintf(c.kernel, sizeof c.kernel, "%s/kernel.hsaco", c.folder);
    snprintf(c.now, sizeof c.now, "compilation");
    et_options o = {.input = argv[4],
                    .others = argv + 5,
                    .nothers = 1,
                    .output = c.kernel,
                    .placement = (et_placement)et_mode_find(et_placement_name, argv[2]),
                    .slices = atoi(argv[3]),
                    .profile_kernel = true,
                    .variants = 1,
                    .arena = c.arena,
                    .out_program = &c.p};
    if (!et_drive(&o)) die("does not compile");
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++)
        run_map(&maps[i]);
    printf("%d launches, %d tasks of slices; a model's were on", c.launches, c.sliced);
    for (int i = 1; i <= ETRT_MAX_DIES; i++)
        if (c.spread[i]) printf(" %d dies (%d times)", i, c.spread[i]);
    printf("\n");
    if (!c.sliced || !c.spread[1] || !c.spread[2]) die("nothing to see");
    et_arena_destroy(c.arena);
    return 0;
}
