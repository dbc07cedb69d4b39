/* stress [--programs N] [--launches N] [--first SEED] [--keep FOLDER] [--verbose] [--sabotage]
 *        [--record FOLDER] [--target NAME] [--refused N]
 *
 * Random programs (generate.h), verified, run by the program interpreter, compiled with every
 * schedule and launched on emulated GPUs of several sizes with seeded interleavings and incoherent
 * caches, several times per session. Whatever a launch leaves must be what the interpreter leaves,
 * bit for bit; no wait may run out. Exit status 0 only then, if the programs were not trivial, and
 * if exactly N of them could not be verified, where --refused says so.
 *
 * With --record nothing is launched: kernels for --target and what they must leave go to FOLDER,
 * for
 * ../../by_hand/device/play.c to launch them elsewhere. */
#include "codegen/codegen.h"
#include "ir/base/diag.h"
#include "ir/eti/eti.h"
#include "ir/interp/interp.h"
#include "ir/verify/verify.h"
#include "passes/passes.h"
#include "passes/pipeline/pipeline.h"
#include "runtime/etrt.h"
#include "runtime/etrt/safetensors/etrt_safetensors.h"
#include "tests/by_hand/stress/generate.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SETTINGS = 2, LAUNCHES = 3, MAX_TENSORS = 128 };
static const et_schedule_kind schedules[] = {ET_SCHEDULE_STATIC, ET_SCHEDULE_DYNAMIC,
                                             ET_SCHEDULE_HYBRID};
enum { SCHEDULES = sizeof schedules / sizeof *schedules };

struct totals {
    uint64_t programs, refused, grids, events, waits, routed, tasks, launches, dynamic, early;
    uint64_t wrong, hung, failed, refused_late;
    uint64_t sabotaged, caught, broken, in_vain; /* broken: with an event that is never full */
};

struct options {
    uint64_t programs, launches, first;
    const char *keep, *record, *target;
    int64_t refused; /* or -1 */
    bool verbose, sabotage;
};

/* One program, its inputs at some dims, and what the interpreter makes of them. */
struct test {
    uint64_t seed, draw;
    const char *target;
    gen_program text;
    et_arena *arena;
    et_diags *diags;
    et_graph *g;
    et_program *p;
    int64_t syms[SETTINGS][2];
    size_t bytes[SETTINGS][MAX_TENSORS];
    void *input[SETTINGS][MAX_TENSORS];
    int32_t salt[SETTINGS][LAUNCHES];
    void *want[SETTINGS][LAUNCHES][MAX_TENSORS];
};

static uint32_t pick(struct test *t, uint32_t n) {
    t->draw = t->draw * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(t->draw >> 33) % n;
}

/* ---- the program ---- */

/* Parse it anew and schedule it: NULL with diagnostics. ORDER 0 leaves what the pass decides. */
static et_program *schedule(struct test *t, et_schedule_kind how, uint64_t order) {
    et_program *p = NULL, *done = NULL;
    t->diags = et_diags_create(t->arena);
    t->g = et_eti_parse(t->arena, t->diags, "random.eti", t->text.text, t->text.bytes, &p);
    et_planned on;
    et_pass_options opt = {.unverified = true, .schedule = how};
    et_plan_for(&opt, et_machine_for(t->target), et_target_find(t->target), &on);
    if (!t->g || !et_passes_resume(t->g, p, &opt, &done)) return NULL;
    for (int i = 0; order && i < done->ngrids; i++) { /* a hybrid of its own */
        done->grids[i].dynamic = pick(t, 100) < 60;
        done->grids[i].early = done->grids[i].dynamic && order == 1 && pick(t, 2);
    }
    if (order) done->schedule = ET_SCHEDULE_HYBRID;
    return done;
}

static bool verified(struct test *t, et_program *p, int64_t *tasks) {
    et_verify_report r;
    bool ok = et_verify(p, &(et_verify_options){0}, t->diags, &r);
    *tasks = r.tasks;
    return ok;
}

/* ---- inputs ---- */

static int find_input(const gen_program *g, const char *name) {
    for (int i = 0; i < g->ninputs; i++)
        if (strcmp(g->input[i].name, name) == 0) return i;
    abort();
}

static int32_t limit_of(const char *text, const int64_t *syms) {
    if (strcmp(text, "N") == 0) return (int32_t)syms[0];
    if (strcmp(text, "M") == 0) return (int32_t)syms[1];
    if (strchr(text, 'N')) return (int32_t)(syms[0] + 1) / 2;
    return atoi(text);
}

/* Rows by expert, counted and sorted. */
static void sort_rows(const int32_t *expert, size_t n, int32_t *counts, int32_t *rows) {
    size_t at = 0;
    for (int32_t e = 0; e < 4; e++) {
        if (counts) counts[e] = (int32_t)at;
        for (size_t i = 0; i < n; i++)
            if (expert[i] == e) {
                if (rows) rows[at] = (int32_t)i;
                at++;
            }
    }
    if (counts) counts[4] = (int32_t)at;
}

static int tensor_named(const et_program *p, const char *name) {
    for (int i = 0; i < p->ntensors; i++)
        if (strcmp(p->tensors[i].name, name) == 0) return i;
    abort();
}

static void fill(struct test *t, int setting) {
    bool skewed = pick(t, 3) == 0;
    for (int i = 0; i < t->p->ntensors; i++) {
        if (t->p->tensors[i].kind != ET_TENSOR_INPUT) continue;
        const gen_input *in = &t->text.input[find_input(&t->text, t->p->tensors[i].name)];
        int32_t *v = t->input[setting][i] = malloc(t->bytes[setting][i] + 1);
        size_t n = t->bytes[setting][i] / 4;
        int32_t limit = limit_of(in->limit, t->syms[setting]);
        if (in->holds == GEN_COUNTS || in->holds == GEN_ROWS) {
            int e = tensor_named(t->p, t->text.input[in->expert].name);
            bool rows = in->holds == GEN_ROWS;
            sort_rows(t->input[setting][e], t->bytes[setting][e] / 4, rows ? NULL : v,
                      rows ? v : NULL);
            continue;
        }
        for (size_t k = 0; k < n; k++)
            if (in->holds == GEN_FIRST) {
                int32_t before = k ? v[k - 1] : 0, room = limit - before;
                v[k] = k ? before + (int32_t)pick(t, (uint32_t)(room < 3 ? room : 3) + 1) : 0;
            } else {
                v[k] = skewed ? 1 : (int32_t)pick(t, (uint32_t)limit + 4) - 2;
                if (in->holds == GEN_EXPERT) v[k] = skewed ? 2 : (int32_t)pick(t, 4);
            }
    }
}

static void interpret(struct test *t, int setting) {
    void *memory[MAX_TENSORS] = {0};
    char err[ET_INTERP_ERR];
    for (int i = 0; i < t->p->ntensors; i++) {
        const et_tensor *te = &t->p->tensors[i];
        t->bytes[setting][i] = 4;
        for (int d = 0; d < te->shape.rank; d++)
            t->bytes[setting][i] *=
                (size_t)et_eval(t->g->exprs, te->shape.dim[d], t->syms[setting], NULL);
    }
    fill(t, setting);
    for (int i = 0; i < t->p->ntensors; i++) {
        et_tensor_kind k = t->p->tensors[i].kind;
        if (k == ET_TENSOR_INPUT) memory[i] = t->input[setting][i];
        if (k == ET_TENSOR_OUTPUT || k == ET_TENSOR_STATE)
            memory[i] = calloc(t->bytes[setting][i] + 1, 1);
    }
    int salt = tensor_named(t->p, "salt0");
    for (int l = 0; l < LAUNCHES; l++) {
        t->salt[setting][l] = *(int32_t *)memory[salt] = (int32_t)pick(t, 1000);
        et_interp_options opt = {.seed = pick(t, 5), .races = l == 0};
        if (!et_program_run(t->p, t->syms[setting], memory, &opt, err)) {
            printf("program %llu: interpreter: %s\n", (unsigned long long)t->seed, err);
            exit(1);
        }
        for (int i = 0; i < t->p->ntensors; i++)
            if (memory[i])
                t->want[setting][l][i] =
                    memcpy(malloc(t->bytes[setting][i] + 1), memory[i], t->bytes[setting][i]);
    }
    for (int i = 0; i < t->p->ntensors; i++)
        if (t->p->tensors[i].kind != ET_TENSOR_INPUT) free(memory[i]);
}

/* ---- launches ---- */

#define RT(call)                                                                                   \
    do {                                                                                           \
        if (call) {                                                                                \
            printf("program %llu: %s: %s\n", (unsigned long long)t->seed, #call,                   \
                   etrt_last_error());                                                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

/* Says what differs first, unless WHAT is NULL. */
static bool same(struct test *t, etrt_session *s, int setting, int launch, const char *what) {
    bool ok = true;
    for (int i = 0; i < t->p->ntensors && ok; i++) {
        const et_tensor *te = &t->p->tensors[i];
        if (te->kind != ET_TENSOR_OUTPUT && te->kind != ET_TENSOR_STATE) continue;
        size_t bytes = t->bytes[setting][i];
        const int32_t *want = t->want[setting][launch][i];
        int32_t *got = malloc(bytes + 1);
        RT(etrt_read(s, te->name, got, bytes));
        for (size_t k = 0; k < bytes / 4 && ok; k++)
            if (got[k] != want[k]) {
                if (what)
                    printf("program %llu, %s, N=%d M=%d, launch %d: %s[%zu] is %d, not %d\n",
                           (unsigned long long)t->seed, what, (int)t->syms[setting][0],
                           (int)t->syms[setting][1], launch + 1, te->name, k, got[k], want[k]);
                ok = false;
            }
        free(got);
    }
    return ok;
}

static void launch_all(const struct options *o, struct test *t, const char *path, const char *how,
                       struct totals *n) {
    static const char *const devices[] = {"cus=4:xcds=2",         "cus=7:xcds=2:coherence=model",
                                          "cus=24:xcds=8",        "cus=1:xcds=1",
                                          "cus=12:xcds=4:slow=1", "cus=6:xcds=2:starve=2"};
    for (int round = 0; round < 2; round++) {
        char spec[128], what[192];
        snprintf(spec, sizeof spec, "emu:gfx942:%s:seed=%u",
                 devices[round ? pick(t, sizeof devices / sizeof *devices) : (uint32_t)round],
                 1 + pick(t, 1u << 20));
        snprintf(what, sizeof what, "%s on %s", how, spec);
        etrt_device *dev;
        etrt_model *m;
        etrt_session *s;
        RT(etrt_device_open(spec, &dev));
        RT(etrt_model_load(dev, path, &m));
        RT(etrt_session_create(m, &s));
        if (o->sabotage) RT(etrt_set_wait_limit(s, 0.05));
        for (int setting = 0; setting < SETTINGS; setting++) {
            RT(etrt_session_reset(s));
            RT(etrt_set_dim(s, "N", t->syms[setting][0]));
            RT(etrt_set_dim(s, "M", t->syms[setting][1]));
            bool ok = true;
            for (int l = 0; l < LAUNCHES && ok; l++) {
                for (int i = 0; i < t->p->ntensors; i++)
                    if (t->p->tensors[i].kind == ET_TENSOR_INPUT) {
                        const char *name = t->p->tensors[i].name;
                        bool salt = strcmp(name, "salt0") == 0;
                        RT(etrt_bind(s, name,
                                     salt ? (void *)&t->salt[setting][l] : t->input[setting][i],
                                     t->bytes[setting][i]));
                    }
                etrt_status st = etrt_run(s);
                n->launches++;
                if (st) {
                    if (!o->sabotage)
                        printf("program %llu, %s, N=%d M=%d, launch %d: %s: %s\n",
                               (unsigned long long)t->seed, what, (int)t->syms[setting][0],
                               (int)t->syms[setting][1], l + 1, etrt_status_text(st),
                               etrt_last_error());
                    if (st == ETRT_WAIT)
                        n->hung++;
                    else
                        n->failed++;
                    ok = false;
                } else if (!same(t, s, setting, l, o->sabotage ? NULL : what)) {
                    n->wrong++;
                    ok = false;
                }
            }
        }
        etrt_session_destroy(s);
        etrt_model_unload(m);
        etrt_device_close(dev);
    }
}

/* ---- recording ---- */

struct recorded {
    struct etrt_st_tensor tensor[2 * SETTINGS * (LAUNCHES + 1) * MAX_TENSORS];
    char names[2 * SETTINGS * (LAUNCHES + 1) * MAX_TENSORS][128];
    size_t count;
};

/* SETTING, or SETTING.LAUNCH; dim, in or out; the name: words of 32 bits, whatever they are. */
static void add_words(struct recorded *r, int setting, int launch, const char *kind,
                      const char *name, const void *words, size_t bytes) {
    char number[16];
    snprintf(number, sizeof number, "%d", setting);
    if (launch >= 0) snprintf(number, sizeof number, "%d.%d", setting, launch);
    snprintf(r->names[r->count], sizeof r->names[0], "%s/%s/%s", number, kind, name);
    r->tensor[r->count] = (struct etrt_st_tensor){.name = r->names[r->count],
                                                  .dtype = "I32",
                                                  .rank = 1,
                                                  .shape = {(int64_t)(bytes / 4)},
                                                  .data = words,
                                                  .bytes = bytes};
    r->count++;
}

/* What the launches are given and leave, in the order in which they are made. */
static void record(const struct options *o, struct test *t) {
    struct recorded *r = calloc(1, sizeof *r);
    int32_t dims[SETTINGS][2];
    char path[4096], err[ETRT_ST_ERR];
    for (int k = 0; k < SETTINGS; k++) {
        for (int d = 0; d < 2; d++) {
            dims[k][d] = (int32_t)t->syms[k][d];
            add_words(r, k, -1, "dim", d ? "M" : "N", &dims[k][d], 4);
        }
        for (int i = 0; i < t->p->ntensors; i++) {
            const et_tensor *te = &t->p->tensors[i];
            bool salt = strcmp(te->name, "salt0") == 0;
            if (te->kind == ET_TENSOR_INPUT && !salt)
                add_words(r, k, -1, "in", te->name, t->input[k][i], t->bytes[k][i]);
            for (int l = 0; l < LAUNCHES; l++)
                if (salt)
                    add_words(r, k, l, "in", te->name, &t->salt[k][l], 4);
                else if (t->want[k][l][i] && te->kind != ET_TENSOR_INPUT)
                    add_words(r, k, l, "out", te->name, t->want[k][l][i], t->bytes[k][i]);
        }
    }
    snprintf(path, sizeof path, "%s/%llu.safetensors", o->record, (unsigned long long)t->seed);
    if (!etrt_st_write(path, r->tensor, r->count, err, sizeof err)) {
        printf("%s\n", err);
        exit(1);
    }
    free(r);
}

/* ---- one seed ---- */

static void keep_text(const struct options *o, const struct test *t) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%llu.eti", o->keep, (unsigned long long)t->seed);
    FILE *f = fopen(path, "w");
    if (!f || fwrite(t->text.text, 1, t->text.bytes, f) != t->text.bytes || fclose(f)) {
        printf("cannot write %s\n", path);
        exit(1);
    }
}

/* A grid that waits for something, at random; -1 if none does. */
static int with_waits(struct test *t, const et_program *p) {
    int from = (int)pick(t, (uint32_t)p->ngrids);
    for (int i = 0; i < p->ngrids; i++)
        if (p->grids[(from + i) % p->ngrids].nwaits) return (from + i) % p->ngrids;
    return -1;
}

static void compile_and_launch(const struct options *o, struct test *t, const char *path,
                               et_schedule_kind how, uint64_t order, struct totals *n) {
    int64_t tasks;
    et_program *p = schedule(t, how, order);
    bool ok = p && verified(t, p, &tasks);
    if (!ok && order == 1) { /* early tasks are not always allowed */
        p = schedule(t, how, 2);
        ok = p && verified(t, p, &tasks);
    }
    et_codegen_options opt = {.target = et_target_find(t->target), .output = path, .opt_level = 1};
    et_codegen_info info;
    if (ok && o->sabotage) {
        int grid = with_waits(t, p);
        if (grid < 0) return;
        if (pick(t, 3))
            p->grids[grid].nwaits = 0;
        else
            opt.break_event = p->events[p->grids[grid].waits[0].event].name;
    }
    uint64_t before = n->wrong + n->hung, hung = n->hung;
    if (!ok || !et_codegen(p, &opt, &info)) {
        printf("program %llu: %s is refused\n", (unsigned long long)t->seed, et_schedule_name(how));
        et_diag_print(t->diags, stdout);
        n->refused_late++;
        return;
    }
    for (int i = 0; i < p->ngrids; i++) {
        n->dynamic += p->grids[i].dynamic;
        n->early += p->grids[i].early;
    }
    if (!o->record) launch_all(o, t, path, order ? "mixed" : et_schedule_name(how), n);
    n->sabotaged += o->sabotage;
    n->caught += n->wrong + n->hung > before;
    n->broken += opt.break_event != NULL;
    n->in_vain += opt.break_event && n->hung > hung;
}

static void run(const struct options *o, uint64_t seed, const char *path, struct totals *n) {
    struct test t = {.seed = seed, .draw = seed + 77, .target = o->target};
    int64_t tasks = 0;
    gen_make(seed, &t.text);
    t.arena = et_arena_create();
    if (o->keep) keep_text(o, &t);
    t.p = schedule(&t, ET_SCHEDULE_STATIC, 0);
    if (!t.p || t.p->ntensors > MAX_TENSORS || !verified(&t, t.p, &tasks)) {
        n->refused++;
        if (o->verbose) {
            printf("program %llu is refused\n", (unsigned long long)seed);
            et_diag_print(t.diags, stdout);
        }
    } else {
        et_graph *g = t.g;
        for (int k = 0; k < SETTINGS; k++) {
            t.syms[k][0] = k ? 1 + pick(&t, 24) : 24;
            t.syms[k][1] = k ? 1 + pick(&t, 6) : 6;
            interpret(&t, k);
        }
        n->programs++;
        n->tasks += (uint64_t)tasks;
        n->grids += (uint64_t)t.text.grids;
        n->events += (uint64_t)t.text.events;
        n->waits += (uint64_t)t.text.waits;
        n->routed += (uint64_t)t.text.routed;
        for (int i = 0; i <= SCHEDULES; i++) { /* the last is mixed */
            char name[4096];
            if (o->record) {
                snprintf(name, sizeof name, "%s/%llu.%d.code", o->record, (unsigned long long)seed,
                         i);
                path = name;
            }
            compile_and_launch(o, &t, path, schedules[i % SCHEDULES], i == SCHEDULES, n);
        }
        t.g = g;
        if (o->record) record(o, &t);
    }
    for (int k = 0; k < SETTINGS; k++)
        for (int i = 0; i < MAX_TENSORS; i++) {
            free(t.input[k][i]);
            for (int l = 0; l < LAUNCHES; l++)
                free(t.want[k][l][i]);
        }
    et_arena_destroy(t.arena);
    gen_free(&t.text);
}

int main(int argc, char **argv) {
    struct options o = {
        .programs = UINT64_MAX, .launches = 300, .first = 1, .target = "gfx942", .refused = -1};
    for (int i = 1; i < argc; i++) {
        const char *next = i + 1 < argc ? argv[i + 1] : "0";
        if (strcmp(argv[i], "--verbose") == 0 || strcmp(argv[i], "--sabotage") == 0) {
            *(argv[i][2] == 'v' ? &o.verbose : &o.sabotage) = true;
            continue;
        }
        uint64_t v = strtoull(next, NULL, 10);
        if (strcmp(argv[i], "--programs") == 0)
            o.programs = v;
        else if (strcmp(argv[i], "--launches") == 0)
            o.launches = v;
        else if (strcmp(argv[i], "--first") == 0)
            o.first = v;
        else if (strcmp(argv[i], "--refused") == 0)
            o.refused = (int64_t)v;
        else if (strcmp(argv[i], "--keep") == 0)
            o.keep = next;
        else if (strcmp(argv[i], "--record") == 0)
            o.record = next;
        else if (strcmp(argv[i], "--target") == 0)
            o.target = next;
        else
            return printf("usage: see the head of stress.c\n"), 2;
        i++;
    }
    const char *dir = getenv("TMPDIR");
    char path[4096];
    snprintf(path, sizeof path, "%s/etcc-stress-%d.hsaco", dir ? dir : "/tmp", (int)getpid());
    setvbuf(stdout, NULL, _IOLBF, 0);
    struct totals n = {0};
    for (uint64_t s = o.first; s - o.first < o.programs && n.launches < o.launches; s++)
        run(&o, s, path, &n);
    unlink(path);
    printf("%llu programs (%llu not verifiable), %.1f grids, %.1f events, %.0f tasks in each; %.2f "
           "waits "
           "a grid, %.0f %% through tensors; %llu dynamic grids compiled, %llu early\n",
           (unsigned long long)n.programs, (unsigned long long)n.refused,
           (double)n.grids / (double)n.programs, (double)n.events / (double)n.programs,
           (double)n.tasks / (double)n.programs, (double)n.waits / (double)n.grids,
           100.0 * (double)n.routed / (double)n.waits, (unsigned long long)n.dynamic,
           (unsigned long long)n.early);
    printf("%llu launches: %llu did not end, %llu failed, %llu wrong results; %llu schedules "
           "refused\n",
           (unsigned long long)n.launches, (unsigned long long)n.hung, (unsigned long long)n.failed,
           (unsigned long long)n.wrong, (unsigned long long)n.refused_late);
    bool pinned = o.refused < 0 || n.refused == (uint64_t)o.refused;
    if (!pinned) printf("%lld programs were to be not verifiable\n", (long long)o.refused);
    if (o.sabotage) {
        printf("%llu of %llu broken kernels caught; %llu of %llu whose event is never full waited "
               "in vain\n",
               (unsigned long long)n.caught, (unsigned long long)n.sabotaged,
               (unsigned long long)n.in_vain, (unsigned long long)n.broken);
        return !n.broken || n.in_vain != n.broken || n.caught * 10 < n.sabotaged * 6 || n.failed ||
               n.refused_late || !pinned;
    }
    bool trivial = n.tasks < 50 * n.programs || n.waits < n.grids || n.routed * 8 < n.waits ||
                   n.refused > n.programs || n.dynamic < n.grids;
    if (trivial) printf("these programs are trivial\n");
    return n.hung || n.failed || n.wrong || n.refused_late || trivial || !pinned;
}
