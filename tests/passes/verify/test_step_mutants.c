/* test_step_mutants [-v] [--machine NAME] [--every K] [--dynamic] FILE...: (.etg or .eti) change
 * each program in one step at a time and see whether the verifier notices.
 *
 * What is wrong is said by what the interpreter touches at some sizes, in program order: an index
 * outside, two work-items of one step at one element of which one stores, an element read before it
 * was written, local buffers in one place. The verifier must refuse all that is wrong and accept
 * all that is known to mean the same. A mutant may also compute something else in good order: that
 * is a program like any other, and nothing is asked of it. */
#include "ir/eti/eti.h"
#include "ir/graph/op_util.h"
#include "ir/interp/interp.h"
#include "ir/program/step.h"
#include "ir/verify/verify.h"
#include "passes/passes.h"
#include "tests/passes/verify/mutate_steps.h"
#include "tests/support/random_model.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_SIZES = 5, MARKS = 1 << 16 };

struct score {
    int wrong[STEP_KINDS], refused[STEP_KINDS]; /* of those that are wrong */
    int right[STEP_KINDS], accepted[STEP_KINDS];
    int missed, wronged;
};

/* An element that the current step stores to, or has read. */
struct mark {
    uint64_t stamp;
    int space, id;
    int64_t element;
    uint64_t writer, reader; /* work-items by the values of the step's variables, 0: none */
    bool several;            /* readers */
};

struct record {
    et_program *p;
    const int64_t *syms;
    int task;
    const et_step *step;
    uint64_t stamp;
    struct mark *mark;
    int nmarks;
    unsigned char **written; /* by tensor: temporaries and outputs */
    int64_t *elements;
    unsigned char *local[64]; /* of the task, by buffer */
    const et_func *f;
    char why[256];
};

struct test {
    et_arena *a;
    et_program *p;
    const char *path, *machine;
    int dies, every, seen;
    int64_t syms[MAX_SIZES][16];
    int nsizes;
    bool verbose;
    struct score n;
};

/* ---- what is touched ---- */

static const et_func *function_of(const et_program *p, const et_step *s) {
    for (int i = 0; i < p->nfuncs; i++)
        if (s >= p->funcs[i].steps && s < p->funcs[i].steps + p->funcs[i].nsteps)
            return &p->funcs[i];
    abort();
}

static int64_t size_of(const et_local *l) {
    int64_t n = 1;
    for (int d = 0; d < l->rank; d++)
        n *= l->dim[d];
    return n;
}

/* Of a task that has not touched anything yet. */
static void new_task(struct record *r, const et_step *s) {
    for (int i = 0; i < 64; i++) {
        free(r->local[i]);
        r->local[i] = NULL;
    }
    r->f = function_of(r->p, s);
    for (int i = 0; i < r->f->nlocals && i < 64; i++)
        r->local[i] = calloc((size_t)size_of(&r->f->locals[i]) + 1, 1);
}

/* Products and attention leave nothing else in what they write as a whole. */
static void new_step(struct record *r, const et_step *s) {
    r->stamp++;
    r->nmarks = 0;
    if (et_step_to(s)) return;
    int own[] = {s->stage_a, s->stage_b, s->out, s->scratch};
    for (int i = 0; i < 4; i++)
        if (own[i] >= 0 && own[i] < 64)
            memset(r->local[own[i]], 0, (size_t)size_of(&r->f->locals[own[i]]));
    for (int i = 0; i < s->nacc; i++)
        memset(r->local[s->acc[i]], 0, (size_t)size_of(&r->f->locals[s->acc[i]]));
}

static struct mark *mark_of(struct record *r, const et_interp_touch *t) {
    uint64_t h = (uint64_t)t->element * 0x9e3779b97f4a7c15u ^
                 (uint64_t)t->id * 0xbf58476d1ce4e5b9u ^ (uint64_t)t->space;
    for (h >>= 20;; h++) {
        struct mark *m = &r->mark[h & (MARKS - 1)];
        if (m->stamp == r->stamp &&
            (m->space != t->space || m->id != t->id || m->element != t->element))
            continue;
        if (m->stamp != r->stamp) {
            if (++r->nmarks > MARKS / 2) abort();
            *m = (struct mark){r->stamp, t->space, t->id, t->element, 0, 0, false};
        }
        return m;
    }
}

static void say(struct record *r, const char *what) {
    if (!r->why[0]) snprintf(r->why, sizeof r->why, "%s", what);
}

static void check_items(struct record *r, const et_interp_touch *t) {
    const et_place *to = et_step_to(t->step);
    uint64_t item = 1;
    if (!to) {
        int own[] = {t->step->stage_a, t->step->stage_b, t->step->out, t->step->scratch};
        bool written = false;
        for (int i = 0; i < 4; i++)
            written |= own[i] == t->id;
        for (int i = 0; i < t->step->nacc; i++)
            written |= t->step->acc[i] == t->id;
        if (t->space == ET_LOAD_LOCAL && !t->is_store && written) say(r, "reads what it writes");
        return;
    }
    if (t->space != to->space || t->id != to->id) return;
    for (int v = 0; v < t->step->nvars; v++)
        item = item * 1000003 + (uint64_t)t->vars[t->step->vars[v]] + 1;
    struct mark *m = mark_of(r, t);
    if (t->is_store && (m->writer || m->several || (m->reader && m->reader != item)))
        say(r, "two work-items at one element");
    if (!t->is_store && m->writer && m->writer != item) say(r, "two work-items at one element");
    if (t->is_store)
        m->writer = item;
    else
        m->several |= m->reader && m->reader != item, m->reader = item;
}

/* A product's rows and columns that are not live have no value. */
static bool has_value(struct record *r, const et_interp_touch *t) {
    const et_step *s = t->step;
    if (s->kind != ET_STEP_CONTRACT || et_expr_loads(r->p->g->exprs, s->mlive)) return true;
    const et_exprs *x = r->p->g->exprs;
    return t->element / s->tn < et_eval(x, s->mlive, r->syms, t->vars) &&
           t->element % s->tn < et_eval(x, s->nlive, r->syms, t->vars);
}

static void check_written(struct record *r, const et_interp_touch *t) {
    unsigned char *w = t->space == ET_LOAD_LOCAL ? r->local[t->id] : r->written[t->id];
    if (!w) return;
    if (t->is_store)
        w[t->element] = has_value(r, t);
    else if (!w[t->element])
        say(r, "reads what was not written");
}

static void note(void *ctx, const et_interp_touch *t) {
    struct record *r = ctx;
    if (!t->step) return;
    if (t->task != r->task) new_task(r, t->step);
    if (t->task != r->task || t->step != r->step) new_step(r, t->step);
    r->task = t->task;
    r->step = t->step;
    check_items(r, t);
    check_written(r, t);
}

/* ---- one run ---- */

static void **memory_of(et_arena *a, et_program *p, const int64_t *syms, struct record *r) {
    void **memory = et_alloc(a, (size_t)(p->ntensors + 1) * sizeof *memory);
    r->written = et_alloc(a, (size_t)(p->ntensors + 1) * sizeof *r->written);
    for (int i = 0; i < p->ntensors; i++) {
        const et_tensor *x = &p->tensors[i];
        et_tensor_data *d = tm_tensor(a, p->g, &x->shape, syms);
        if (x->kind == ET_TENSOR_TEMP || x->kind == ET_TENSOR_OUTPUT)
            r->written[i] = et_alloc(a, (size_t)et_tensor_count(d) + 1);
        if (x->kind == ET_TENSOR_TEMP || x->kind == ET_TENSOR_CONST) continue;
        tm_fill(d);
        memory[i] = tm_bytes(a, d);
    }
    return memory;
}

static bool overlap(const et_exprs *ex, const et_func *f) {
    for (int a = 0; a < f->nlocals; a++) {
        const et_local *x = &f->locals[a];
        if (x->offset + et_local_bytes(x) > f->lds_bytes) return true;
        for (int b = 0; b < a; b++) {
            const et_local *y = &f->locals[b];
            if (x->offset < y->offset + et_local_bytes(y) &&
                y->offset < x->offset + et_local_bytes(x) && !et_locals_may_meet(ex, f, a, b))
                return true;
        }
    }
    return false;
}

static bool runs_well(et_program *p, const int64_t *syms, char why[ET_INTERP_ERR]) {
    et_arena *a = et_arena_create();
    struct record *r = et_alloc(a, sizeof *r);
    *r = (struct record){.p = p, .syms = syms, .task = -1};
    r->mark = calloc(MARKS, sizeof *r->mark);
    void **memory = memory_of(a, p, syms, r);
    et_interp_options opt = {.touch = note, .ctx = r};
    bool ok = et_program_run(p, syms, memory, &opt, why);
    if (ok && r->why[0]) snprintf(why, ET_INTERP_ERR, "%s", r->why);
    ok &= !r->why[0];
    for (int i = 0; i < p->nfuncs; i++)
        if (ok && overlap(p->g->exprs, &p->funcs[i])) {
            snprintf(why, ET_INTERP_ERR, "local buffers overlap or leave their memory");
            ok = false;
        }
    for (int i = 0; i < 64; i++)
        free(r->local[i]);
    free(r->mark);
    et_arena_destroy(a);
    return ok;
}

/* ---- judges ---- */

static bool verifier_allows(struct test *t, et_program *p, char *why, size_t bytes) {
    et_arena *a = et_arena_create();
    et_diags *d = et_diags_create(a);
    bool ok = et_verify(p, &(et_verify_options){.dies = t->dies}, d, NULL);
    FILE *f = fmemopen(why, bytes, "w");
    if (f) {
        et_diag_print(d, f);
        fclose(f);
    }
    et_arena_destroy(a);
    return ok;
}

static void judge(void *ctx, et_program *p, const step_mutant *m) {
    struct test *t = ctx;
    if (t->seen++ % t->every) return;
    char why[ET_INTERP_ERR] = "", text[4096] = "";
    bool right = true;
    for (int k = 0; k < t->nsizes && right; k++)
        right = runs_well(p, t->syms[k], why);
    bool allowed = verifier_allows(t, p, text, sizeof text);
    (right ? t->n.right : t->n.wrong)[m->kind]++;
    if (right && allowed) t->n.accepted[m->kind]++;
    if (!right && !allowed) t->n.refused[m->kind]++;
    if (t->verbose && right && !allowed) printf("%s refused: %s\n  %s", t->path, m->what, text);
    if (!right && allowed) {
        t->n.missed++;
        printf("%s: MISSED: %s (%s)\n", t->path, m->what, why);
    }
    if (m->same && (!right || !allowed)) {
        t->n.wronged++;
        printf("%s: WRONGED: %s\n  run: %s\n  verifier: %s\n", t->path, m->what,
               right ? "fine" : why, allowed ? "fine" : text);
    }
}

/* ---- programs ---- */

static void choose_sizes(struct test *t) {
    static const int64_t want[] = {33, 1, 17, 4, 1000};
    const et_exprs *x = t->p->g->exprs;
    for (int k = 0; k < MAX_SIZES; k++) {
        int64_t *syms = t->syms[t->nsizes], lo, hi;
        bool seen = false;
        memset(syms, 0, sizeof t->syms[0]);
        for (int i = 0; i < et_sym_count(x) && i < 16; i++) {
            et_sym_range(x, i, &lo, &hi);
            int64_t v = want[(k + i) % MAX_SIZES];
            syms[i] = v < lo ? lo : v > hi ? hi : v;
        }
        for (int o = 0; o < t->nsizes; o++)
            seen |= !memcmp(t->syms[o], syms, sizeof t->syms[0]);
        t->nsizes += !seen;
    }
}

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

static bool run(const char *path, const struct test *like, et_schedule_kind how,
                struct score *sum) {
    struct test t = *like;
    char why[ET_INTERP_ERR] = "";
    t.a = et_arena_create();
    t.path = path;
    et_diags *d = et_diags_create(t.a);
    et_pass_options opt = {
        .machine = et_machine_for(t.machine), .schedule = how, .unverified = true};
    et_graph *g = parse(t.a, d, path, &t.p);
    bool ok = g && et_passes_resume(g, t.p, &opt, &t.p);
    et_diag_print(d, stderr);
    if (!ok) return false;
    et_program *whole = t.p;
    for (int v = 0; (t.p = et_program_part(whole, v)); v++) {
        t.dies = opt.machine->dies;
        t.nsizes = 0;
        choose_sizes(&t);
        for (int k = 0; k < t.nsizes && ok; k++)
            ok = runs_well(t.p, t.syms[k], why);
        if (!ok) printf("%s: as it is: %s\n", path, why);
        mutate_steps(t.p, judge, &t);
    }
    int *to = (int *)sum, *from = (int *)&t.n;
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
    et_arena_destroy(t.a);
    return ok && !t.n.missed && !t.n.wronged;
}

int main(int argc, char **argv) {
    struct score sum = {0};
    struct test like = {.machine = "gfx942", .every = 1};
    et_schedule_kind how = ET_SCHEDULE_STATIC;
    bool ok = true;
    int wrong = 0;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-v"))
            like.verbose = true;
        else if (!strcmp(argv[i], "--machine") && i + 1 < argc && et_machine_for(argv[i + 1]))
            like.machine = argv[++i];
        else if (!strcmp(argv[i], "--dynamic"))
            how = ET_SCHEDULE_DYNAMIC;
        else if (!strcmp(argv[i], "--every") && i + 1 < argc && atoi(argv[i + 1]) > 0)
            like.every = atoi(argv[++i]);
        else
            ok &= run(argv[i], &like, how, &sum);
    for (int k = 0; k < STEP_KINDS; k++) {
        wrong += sum.wrong[k];
        printf("%-7s %5d are wrong, refused %5d; %5d are not at the sizes tried, accepted %5d\n",
               step_kind_name[k], sum.wrong[k], sum.refused[k], sum.right[k], sum.accepted[k]);
    }
    printf("%d wrong mutants accepted, %d equal ones refused\n", sum.missed, sum.wronged);
    return !ok || !wrong;
}
