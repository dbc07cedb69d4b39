/* test_mutants [-v] [--machine NAME] [--every K] [--dynamic|--hybrid|--claimed|--turns]
 *              [--slices N] [--evented|--placed] FILE...: (.etg or .eti) change each program in one
 * place at a time and see who notices; with --every only one mutant in K, for programs that are
 * slow to run; with --turns those alone of two grids of which tiles are claimed in turn.
 *
 * The oracle says which mutants change the meaning at some sizes; of those none may pass both the
 * verifier and the interpreter's race check. Mutants known to mean the same must pass both. */
#include "ir/eti/eti.h"
#include "ir/graph/op_util.h"
#include "ir/interp/interp.h"
#include "ir/verify/verify.h"
#include "passes/passes.h"
#include "tests/passes/verify/mutate.h"
#include "tests/passes/verify/oracle.h"
#include "tests/support/random_model.h"
#include <stdlib.h>
#include <string.h>

enum {
    MAX_SIZES = 6,
    MOST_TASKS = 700,
    SAMPLE =
        9, /* of mutants the verifier rejects, one in so many is shown to the interpreter too */
};

struct size {
    int64_t syms[16];
    oracle *oracle;
    void **start; /* by tensor: bytes before the run */
    void **after; /* and after the unchanged program's */
    int64_t *bytes;
};

struct score {
    int changed, equal, same;   /* by the oracle; same: known to be */
    int at_once, equal_at_once; /* of the same, and of the equal: shown for all sizes at once */
    int of_kind[MUTATE_KINDS]
               [4]; /* change the meaning, of those refused; equal or the same, accepted */
    int by_verifier, by_interp;    /* rejections of changed ones */
    int asked, by_interp_of_asked; /* the interpreter's score alone */
    int strict;                    /* equal at the sizes tried, rejected by the verifier */
    int missed, wronged;           /* failures of this test */
};

struct test {
    et_arena *a;
    et_program *p;
    const char *path;
    int dies, every, seen;
    struct size size[MAX_SIZES];
    int nsizes;
    bool verbose;
    struct score n;
};

/* ---- sizes ---- */

static void fill(struct test *t, struct size *s) {
    const et_program *p = t->p;
    et_graph *g = p->g;
    size_t n = (size_t)p->ntensors + 1;
    s->start = et_alloc(t->a, n * sizeof *s->start);
    s->after = et_alloc(t->a, n * sizeof *s->after);
    s->bytes = et_alloc(t->a, n * sizeof *s->bytes);
    for (int i = 0; i < p->ntensors; i++) {
        const et_tensor *x = &p->tensors[i];
        if (x->kind == ET_TENSOR_TEMP || x->kind == ET_TENSOR_CONST) continue;
        et_tensor_data *d = tm_tensor(t->a, g, &x->shape, s->syms);
        s->bytes[i] = et_dtype_size(d->dtype, et_tensor_count(d));
        if (x->kind == ET_TENSOR_OUTPUT)
            memset(d->p, 0xff, (size_t)et_tensor_count(d) * 4);
        else
            tm_fill(d);
        s->start[i] = tm_bytes(t->a, d);
    }
}

static void **fresh(const struct test *t, const struct size *s) {
    void **memory = calloc((size_t)t->p->ntensors + 1, sizeof *memory);
    for (int i = 0; i < t->p->ntensors; i++) {
        const et_tensor *x = &t->p->tensors[i];
        if (!s->start[i]) continue;
        memory[i] = s->start[i];
        if (x->kind != ET_TENSOR_OUTPUT && x->kind != ET_TENSOR_STATE) continue;
        memory[i] = memcpy(malloc((size_t)s->bytes[i] + 1), s->start[i], (size_t)s->bytes[i]);
    }
    return memory;
}

static void drop(const struct test *t, const struct size *s, void **memory) {
    for (int i = 0; i < t->p->ntensors; i++)
        if (memory[i] != s->start[i]) free(memory[i]);
    free(memory);
}

static bool same_results(const struct test *t, const struct size *s, void **memory) {
    for (int i = 0; i < t->p->ntensors; i++)
        if (s->start[i] && memory[i] != s->start[i] &&
            memcmp(memory[i], s->after[i], (size_t)s->bytes[i]))
            return false;
    return true;
}

static void add_size(struct test *t, const int64_t *syms) {
    struct size *s = &t->size[t->nsizes];
    memcpy(s->syms, syms, sizeof s->syms);
    for (int k = 0; k < t->nsizes; k++)
        if (!memcmp(t->size[k].syms, s->syms, sizeof s->syms)) return;
    if (t->nsizes == MAX_SIZES) return;
    fill(t, s);
    void **memory = fresh(t, s);
    s->oracle = oracle_create(t->p, s->syms, memory, MOST_TASKS, t->dies);
    for (int i = 0; s->oracle && i < t->p->ntensors; i++)
        if (s->start[i] && memory[i] != s->start[i])
            s->after[i] =
                memcpy(et_alloc(t->a, (size_t)s->bytes[i]), memory[i], (size_t)s->bytes[i]);
    drop(t, s, memory);
    if (s->oracle) t->nsizes++;
}

/* Small, around the sizes of tiles, and the largest. */
static void choose_sizes(struct test *t) {
    static const int64_t want[] = {33, 1, 66, 17, 3, 1000};
    const et_exprs *x = t->p->g->exprs;
    for (size_t k = 0; k < sizeof want / sizeof *want; k++) {
        int64_t syms[16] = {0}, lo, hi;
        for (int i = 0; i < et_sym_count(x) && i < 16; i++) {
            et_sym_range(x, i, &lo, &hi);
            int64_t v = want[(k + (size_t)i) % (sizeof want / sizeof *want)];
            syms[i] = v < lo ? lo : v > hi ? hi : v;
        }
        add_size(t, syms);
    }
}

/* ---- judges ---- */

/* Run as one workgroup would. */
static bool reads_what_is_written(struct test *t, et_program *p, const struct size *s,
                                  char why[256]) {
    char err[ET_INTERP_ERR] = "";
    void **memory = fresh(t, s);
    et_interp_options opt = {.races = true};
    bool ok = et_program_run(p, s->syms, memory, &opt, err);
    drop(t, s, memory);
    snprintf(why, 256, "%.250s", err);
    return ok;
}

static bool oracle_allows(struct test *t, et_program *p, const mutant *m, char why[256]) {
    for (int k = 0; k < t->nsizes; k++) {
        struct size *s = &t->size[k];
        if (!m->memory) {
            if (!oracle_accepts(s->oracle, p, why)) return false;
            continue;
        }
        void **memory = fresh(t, s);
        oracle *o = oracle_create(p, s->syms, memory, MOST_TASKS, t->dies);
        bool ok = o && oracle_accepts(o, p, why) && (m->other || same_results(t, s, memory));
        oracle_destroy(o);
        drop(t, s, memory);
        if (!ok || (m->other && !reads_what_is_written(t, p, s, why))) return false;
    }
    return true;
}

/* No text has more tiles than the function allows for: it would not be read. */
static bool has_text(const et_program *p) {
    bool ok = true;
    for (int g = 0; g < p->ngrids; g++) {
        const et_func *f = &p->funcs[p->grids[g].func];
        for (int c = 0; c < f->ncoords; c++)
            ok &= et_prove_le(p->g->exprs, p->grids[g].extent[c],
                              et_var_extent(p->g->exprs, f->coord[c]));
    }
    return ok;
}

static bool allows(struct test *t, et_program *p, et_verify_how how, int64_t work, char *why,
                   size_t bytes) {
    et_arena *a = et_arena_create();
    et_diags *d = et_diags_create(a);
    et_verify_options opt = {.dies = t->dies, .work = work, .how = how};
    bool ok = has_text(p) && et_verify(p, &opt, d, NULL);
    FILE *f = fmemopen(why, bytes, "w");
    if (f) {
        et_diag_print(d, f);
        fclose(f);
    }
    et_arena_destroy(a);
    return ok;
}

/* Either way of showing it will do, so neither may accept what is wrong. */
static bool verifier_allows(struct test *t, et_program *p, bool *out_at_once, char *why,
                            size_t bytes) {
    *out_at_once = allows(t, p, ET_VERIFY_AT_ONCE, 0, why, bytes);
    int64_t work = *out_at_once ? 2000000 : 10000000;
    return allows(t, p, ET_VERIFY_BY_VALUE, work, why, bytes) || *out_at_once;
}

static bool interp_allows(struct test *t, et_program *p, const mutant *m, char err[ET_INTERP_ERR]) {
    for (int k = 0; k < t->nsizes; k++) {
        struct size *s = &t->size[k];
        void **memory = fresh(t, s);
        et_interp_options opt = {.seed = (uint64_t)k + 1, .races = true};
        bool ok = et_program_run(p, s->syms, memory, &opt, err) &&
                  (m->other || same_results(t, s, memory));
        drop(t, s, memory);
        if (!ok) return false;
    }
    return true;
}

static void judge_same(struct test *t, et_program *p, const mutant *m) {
    char text[4096] = "", err[ET_INTERP_ERR] = "", why[256] = "";
    bool at_once, meant = oracle_allows(t, p, m, why);
    bool verifier = verifier_allows(t, p, &at_once, text, sizeof text);
    t->n.at_once += at_once;
    t->n.of_kind[m->kind][2]++;
    t->n.of_kind[m->kind][3] += verifier;
    bool interp = t->n.same % SAMPLE || interp_allows(t, p, m, err);
    t->n.same++;
    if (meant && verifier && interp) return;
    t->n.wronged++;
    printf("%s: WRONGED: %s\n  oracle: %s\n  verifier: %s\n  interpreter: %s\n", t->path, m->what,
           meant ? "fine" : why, verifier ? "fine" : text, interp ? "fine" : err);
}

static void judge(void *ctx, et_program *p, const mutant *m) {
    struct test *t = ctx;
    if (t->seen++ % t->every) return;
    char text[4096] = "", err[ET_INTERP_ERR] = "", why[256] = "";
    if (m->same) {
        judge_same(t, p, m);
        return;
    }
    bool at_once, meant = !m->wrong && oracle_allows(t, p, m, why);
    bool verifier = verifier_allows(t, p, &at_once, text, sizeof text);
    t->n.of_kind[m->kind][meant ? 2 : 0]++;
    t->n.of_kind[m->kind][meant ? 3 : 1] += verifier == meant;
    t->n.equal_at_once += meant && at_once;
    bool ask = (verifier && !meant) || (t->n.changed + t->n.equal) % SAMPLE == 0;
    bool interp = !ask || interp_allows(t, p, m, err);
    if (meant) {
        t->n.equal++;
        t->n.strict += !verifier;
        if (t->verbose && !verifier) printf("strict: %s\n  %s", m->what, text);
        return;
    }
    t->n.changed++;
    t->n.by_verifier += !verifier;
    t->n.by_interp += verifier && !interp;
    t->n.asked += ask;
    t->n.by_interp_of_asked += ask && !interp;
    if (t->verbose && verifier) printf("%s: passes the verifier (%s)\n", m->what, why);
    if (!verifier || !interp) return;
    t->n.missed++;
    printf("%s: MISSED: %s (%s)\n", t->path, m->what, why);
}

/* ---- programs ---- */

struct how {
    const char *machine;
    bool verbose, turns;
    int every, slices;
    et_stage to;
    et_schedule_kind schedule;
};

static et_graph *parse(et_arena *a, et_diags *d, const char *path, et_program **out_program) {
    enum { MOST = 1 << 20 };
    FILE *f = fopen(path, "rb");
    if (!f) return NULL;
    char *text = et_alloc(a, MOST);
    size_t n = fread(text, 1, MOST, f);
    fclose(f);
    return et_eti_looks(text, n) ? et_eti_parse(a, d, path, text, n, out_program)
                                 : tm_parse(a, d, path);
}

static bool run(const char *path, const struct how *how, struct score *sum) {
    struct test t = {
        .a = et_arena_create(), .path = path, .verbose = how->verbose, .every = how->every};
    et_diags *d = et_diags_create(t.a);
    et_pass_options opt = {.machine = et_machine_for(how->machine),
                           .to = how->to,
                           .schedule = how->schedule,
                           .slices = how->slices};
    et_graph *g = parse(t.a, d, path, &t.p);
    bool ok = g && et_passes_resume(g, t.p, &opt, &t.p);
    et_diag_print(d, stderr);
    if (ok) {
        t.dies = opt.machine->dies;
        choose_sizes(&t);
        if (!how->turns) mutate_all(t.p, judge, &t);
        if (!how->turns) mutate_streams(t.p, judge, &t);
        if (how->turns) mutate_turns(t.p, judge, &t);
    }
    const struct score *n = &t.n;
    printf(
        "%s: %d sizes, %d mutants change the meaning: verifier %d, interpreter alone %d of %d, "
        "missed %d; %d equal there, verifier rejects %d, %d at once; %d known equal, rejected %d, "
        "%d at once\n",
        path, t.nsizes, n->changed, n->by_verifier, n->by_interp_of_asked, n->asked, n->missed,
        n->equal, n->strict, n->equal_at_once, n->same, n->wronged, n->at_once);
    fflush(stdout);
    ok = ok && t.nsizes > 0 && !n->missed && !n->wronged;
    int *to = (int *)sum, *from = (int *)&t.n;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
    for (int k = 0; k < t.nsizes; k++)
        oracle_destroy(t.size[k].oracle);
    et_arena_destroy(t.a);
    return ok;
}

int main(int argc, char **argv) {
    struct score sum = {0};
    struct how how = {.machine = "gfx942", .every = 1};
    bool ok = true;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-v"))
            how.verbose = true;
        else if (!strcmp(argv[i], "--machine") && i + 1 < argc && et_machine_for(argv[i + 1]))
            how.machine = argv[++i];
        else if (!strcmp(argv[i], "--every") && i + 1 < argc && atoi(argv[i + 1]) > 0)
            how.every = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--slices") && i + 1 < argc)
            how.slices = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--dynamic"))
            how.schedule = ET_SCHEDULE_DYNAMIC;
        else if (!strcmp(argv[i], "--hybrid"))
            how.schedule = ET_SCHEDULE_HYBRID;
        else if (!strcmp(argv[i], "--claimed"))
            how.schedule = ET_SCHEDULE_CLAIMED;
        else if (!strcmp(argv[i], "--turns"))
            how.turns = true, how.schedule = ET_SCHEDULE_CLAIMED;
        else if (!strcmp(argv[i], "--evented"))
            how.to = ET_STAGE_EVENTED;
        else if (!strcmp(argv[i], "--placed"))
            how.to = ET_STAGE_PLACED;
        else
            ok &= run(argv[i], &how, &sum);
    printf("score: %d of %d mutants that change the meaning rejected (verifier %d, interpreter of "
           "the rest %d; interpreter alone %d of %d asked); %d of %d known equal accepted\n",
           sum.changed - sum.missed, sum.changed, sum.by_verifier, sum.by_interp,
           sum.by_interp_of_asked, sum.asked, sum.same - sum.wronged, sum.same);
    for (int k = 0; k < MUTATE_KINDS; k++)
        printf("%-11s %5d change the meaning, verifier refuses %5d; %5d do not, accepts %5d\n",
               mutate_kind_name[k], sum.of_kind[k][0], sum.of_kind[k][1], sum.of_kind[k][2],
               sum.of_kind[k][3]);
    return !ok || sum.changed == 0;
}
