/* test_text_mutants [-v] [--mutants N] [--seed S] [--claimed|--dynamic|--hybrid] FILE.etg...: the
 * text of each stage of a program, for two GPUs, changed in one place at a time. What is still
 * read, lowered and accepted by the verifier must mean something: tasks in any order that events
 * allow touch what they may, and leave the same; on both GPUs; and of the text of a graph what its
 * own interpreter leaves. */
#include "ir/base/diag.h"
#include "ir/eti/eti.h"
#include "ir/graph/op_util.h"
#include "ir/interp/interp.h"
#include "ir/program/step.h"
#include "ir/verify/verify.h"
#include "passes/passes.h"
#include "runtime/etrt_dtype.h"
#include "tests/support/random_model.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum {
    TARGETS = 2,
    SEEDS = 3,
    SIZES = 2,
    MOST_ELEMENTS = 1 << 18,
    MOST_TILES = 3000,
    VERIFY = 20000000
};
static const char *const targets[TARGETS] = {"gfx942", "sm_90"};
static const et_stage stages[] = {ET_STAGE_GRAPH,   ET_STAGE_FUSED,  ET_STAGE_TILED,
                                  ET_STAGE_EVENTED, ET_STAGE_PLACED, ET_STAGE_SCHEDULED};
enum { STAGES = sizeof stages / sizeof *stages };
static const double bound =
    2e-2; /* between GPUs, whose products are summed and rounded in other ways */

struct score {
    int made, refused, too_large, trusted, accepted, missed;
};

static uint64_t rng;
static et_schedule_kind schedule; /* none: static */

static int draw(int n) {
    rng = rng * 6364136223846793005u + 1442695040888963407u;
    return (int)(((rng ^ rng >> 29) * 0xbf58476d1ce4e5b9u >> 20) % (uint64_t)n);
}

/* ---- mutants ---- */

static bool is_word(char c) {
    return isalnum((unsigned char)c) || c == '_' || c == '.' || c == '%' || c == '@' || c == '$';
}

/* The words of TEXT from FROM on: where they are; returns how many. */
struct word {
    const char *at;
    int n;
};

static int words_of(const char *text, struct word *out, int most) {
    int n = 0;
    for (const char *p = text; *p && n < most;) {
        int k = 0;
        while (is_word(p[k]))
            k++;
        if (k) out[n++] = (struct word){p, k};
        p += k ? k : 1;
    }
    return n;
}

static char kind_of(const struct word *w) {
    char c = *w->at;
    return isdigit((unsigned char)c) ? '0' : c == '%' || c == '@' || c == '$' ? c : 'a';
}

static char *spliced(const char *text, const char *from, const char *to, const char *by, size_t n) {
    size_t before = (size_t)(from - text), after = strlen(to);
    char *out = malloc(before + n + after + 1);
    memcpy(out, text, before);
    memcpy(out + before, by, n);
    memcpy(out + before + n, to, after + 1);
    return out;
}

/* One word is another of its kind, or another number. */
static char *other_word(const char *text, const char *body) {
    enum { MOST = 4096 };
    static struct word w[MOST];
    int n = words_of(body, w, MOST);
    if (n < 2) return NULL;
    const struct word *a = &w[draw(n)];
    if (kind_of(a) == '0' && draw(3)) {
        static const int by[] = {1, -1, 1, -1, 2, -7};
        char number[32];
        long v = strtol(a->at, NULL, 10);
        int bytes = snprintf(number, sizeof number, "%ld", draw(6) ? v + by[draw(6)] : 2 * v);
        return spliced(text, a->at, a->at + strspn(a->at, "0123456789"), number, (size_t)bytes);
    }
    for (int tries = 0; tries < 50; tries++) {
        /* Most often a neighbour, which has more to do with it. */
        int k = draw(2) ? draw(n) : (int)(a - w) + draw(21) - 10;
        if (k < 0 || k >= n || kind_of(&w[k]) != kind_of(a)) continue;
        if (w[k].n != a->n || strncmp(w[k].at, a->at, (size_t)a->n))
            return spliced(text, a->at, a->at + a->n, w[k].at, (size_t)w[k].n);
    }
    return NULL;
}

static char *other_operator(const char *text, const char *body) {
    static const char *const swaps[][2] = {{" + ", " - "},   {" - ", " + "}, {" * ", " + "},
                                           {" / ", " % "},   {" % ", " / "}, {"min(", "max("},
                                           {"max(", "min("}, {" < ", " <= "}};
    const char *const *s = swaps[draw(8)], *found[256], *p = body;
    int n = 0;
    for (; n < 256 && (p = strstr(p, s[0])); p++)
        found[n++] = p;
    if (!n) return NULL;
    p = found[draw(n)];
    return spliced(text, p, p + strlen(s[0]), s[1], strlen(s[1]));
}

/* A line is missing, there twice, or after the next one. */
static char *other_lines(const char *text, const char *body) {
    int lines = 0;
    for (const char *p = body; *p; p++)
        lines += *p == '\n';
    if (lines < 3) return NULL;
    const char *a = body;
    for (int k = draw(lines - 2); k > 0; k--)
        a = strchr(a, '\n') + 1;
    const char *b = strchr(a, '\n') + 1, *c = strchr(b, '\n') + 1;
    int how = draw(3);
    if (!how) return spliced(text, a, b, "", 0);
    if (how == 1) return spliced(text, b, b, a, (size_t)(b - a));
    char *both = malloc((size_t)(c - a));
    memcpy(both, b, (size_t)(c - b));
    memcpy(both + (c - b), a, (size_t)(b - a));
    char *out = spliced(text, a, c, both, (size_t)(c - a));
    free(both);
    return out;
}

/* What stands before it says what the text is. */
static char *mutant_of(const char *text) {
    const char *body = text, *model = strstr(text, "\nmodel ");
    if (model) body = strchr(model + 1, '\n') + 1;
    if (!strncmp(body, "source ", 7)) body = strchr(body, '\n') + 1;
    int how = draw(8);
    return how < 5   ? other_word(text, body)
           : how < 7 ? other_operator(text, body)
                     : other_lines(text, body);
}

/* ---- what a text means ---- */

/* A program, and what it leaves: by size and tensor. */
struct meaning {
    et_arena *a;
    et_graph *g;
    et_program *p;
    int64_t syms[SIZES][16];
    int64_t *bytes[SIZES];
    void **start[SIZES], **after[SIZES];
    et_tensor_data **data[SIZES];
};

/* It is read, lowered and accepted. */
static bool accepted(struct meaning *m, const char *text, const char *target, bool verbose) {
    et_diags *d = et_diags_create(m->a);
    et_pass_options opt = {
        .machine = et_machine_for(target), .schedule = schedule, .unverified = true};
    m->g = et_eti_parse(m->a, d, "mutant.eti", text, strlen(text), &m->p);
    bool ok = m->g && et_passes_resume(m->g, m->p, &opt, &m->p);
    et_verify_options how = {.dies = opt.machine->dies, .work = VERIFY, .step_work = VERIFY / 4};
    ok = ok && et_verify(m->p, &how, d, NULL);
    if (!ok && verbose) et_diag_print(d, stdout);
    return ok;
}

static bool is_result(const et_tensor *t) {
    return t->kind == ET_TENSOR_OUTPUT || t->kind == ET_TENSOR_STATE;
}

static bool is_given(const et_tensor *t) {
    return t->kind != ET_TENSOR_TEMP && t->kind != ET_TENSOR_CONST;
}

/* False where it is too much to run. */
static bool set_size(struct meaning *m, int k) {
    const et_program *p = m->p;
    double elements = 0, tiles = 0;
    for (int i = 0; i < et_sym_count(p->g->exprs) && i < 16; i++) {
        int64_t lo, hi;
        et_sym_range(p->g->exprs, i, &lo, &hi);
        m->syms[k][i] = k ? lo + (hi - lo < 40 ? hi - lo : 37) : lo;
    }
    for (int i = 0; i < p->ntensors; i++) {
        double n = 1;
        for (int d = 0; d < p->tensors[i].shape.rank; d++)
            n *= (double)et_eval(p->g->exprs, p->tensors[i].shape.dim[d], m->syms[k], NULL);
        if (n < 1) return false;
        elements += n;
    }
    for (int g = 0; g < p->ngrids; g++) {
        double n = 1, loops = 1;
        for (int c = 0; c < p->funcs[p->grids[g].func].ncoords; c++)
            n *= (double)et_eval(p->g->exprs, p->grids[g].extent[c], m->syms[k], NULL);
        for (int l = p->grids[g].loop; l >= 0; l = p->g->loops[l].parent)
            loops *= (double)(p->g->loops[l].hi - p->g->loops[l].lo);
        tiles += n * loops;
    }
    return elements <= MOST_ELEMENTS && tiles <= MOST_TILES;
}

/* By its name, whatever else there is. Integers count up, so that scatters do not collide. */
static void fill_tensor(et_tensor_data *d, const char *name) {
    uint32_t h = 2166136261u;
    for (const char *p = name; *p; p++)
        h = (h ^ (unsigned char)*p) * 16777619u;
    for (int64_t i = 0; i < et_tensor_count(d); i++) {
        uint32_t v = (h ^ (uint32_t)i) * 0x9e3779b1u;
        v = (v ^ v >> 15) * 0x85ebca6bu;
        if (et_dtype_is_float(d->dtype))
            d->f[i] = et_round_to(d->dtype, (float)((v >> 8) % 2001) / 1000 - 1);
        else
            d->i[i] = (int32_t)(i + h % 3) % (et_dtype_bits(d->dtype) < 32 ? 7 : INT32_MAX);
    }
}

static void fill(struct meaning *m, int k) {
    const et_program *p = m->p;
    size_t n = (size_t)p->ntensors + 1;
    m->start[k] = et_alloc(m->a, n * sizeof(void *));
    m->after[k] = et_alloc(m->a, n * sizeof(void *));
    m->bytes[k] = et_alloc(m->a, n * sizeof(int64_t));
    m->data[k] = et_alloc(m->a, n * sizeof(et_tensor_data *));
    for (int i = 0; i < p->ntensors; i++) {
        if (!is_given(&p->tensors[i])) continue;
        et_tensor_data *d = tm_tensor(m->a, p->g, &p->tensors[i].shape, m->syms[k]);
        m->data[k][i] = d;
        m->bytes[k][i] = et_dtype_size(d->dtype, et_tensor_count(d));
        if (p->tensors[i].kind == ET_TENSOR_OUTPUT)
            memset(d->p, 0xff, (size_t)et_tensor_count(d) * 4);
        else
            fill_tensor(d, p->tensors[i].name);
        m->start[k][i] = tm_bytes(m->a, d);
        if (!p->tensors[i].relaid) continue;
        void *turned =
            memset(et_alloc(m->a, (size_t)m->bytes[k][i] + 1), 0, (size_t)m->bytes[k][i]);
        et_relay_elements(p->g->exprs, &p->tensors[i], et_tensor_count(d), m->start[k][i], turned);
        m->start[k][i] = turned;
    }
}

/* The tasks in the order of SEED. OUT: by tensor, what is left of results. */
static bool run(struct meaning *m, int k, uint64_t seed, void **out, char err[ET_INTERP_ERR]) {
    const et_program *p = m->p;
    for (int i = 0; i < p->ntensors; i++) {
        size_t bytes = (size_t)m->bytes[k][i];
        out[i] = m->start[k][i];
        if (out[i] && is_result(&p->tensors[i]))
            out[i] = memcpy(et_alloc(m->a, bytes + 1), m->start[k][i], bytes);
    }
    et_interp_options opt = {.seed = seed, .races = true};
    return et_program_run(m->p, m->syms[k], out, &opt, err);
}

static const char *differing(const struct meaning *m, int k, void *const *a, void *const *b) {
    for (int i = 0; i < m->p->ntensors; i++)
        if (a[i] && is_result(&m->p->tensors[i]) && memcmp(a[i], b[i], (size_t)m->bytes[k][i]))
            return m->p->tensors[i].name;
    return NULL;
}

static void note_scatter(void *ctx, const et_step *step, int tensor, bool is_store,
                         const et_expr *index) {
    struct meaning *m = ((void **)ctx)[0];
    (void)step;
    for (int d = 0; is_store && d < m->p->tensors[tensor].shape.rank; d++)
        *(bool *)((void **)ctx)[1] |= et_expr_loads(m->p->g->exprs, index[d]);
}

/* Does a tensor say where something is stored? That it names no element twice is its user's word.
 */
static bool scatters(struct meaning *m) {
    bool yes = false;
    for (int g = 0; g < m->p->ngrids; g++)
        et_func_accesses(m->p, &m->p->funcs[m->p->grids[g].func], note_scatter,
                         (void *[]){m, &yes});
    return yes;
}

/* Every order leaves the same. NULL, or what is wrong. */
static const char *wrong_order(struct meaning *m, int k) {
    char err[ET_INTERP_ERR] = "";
    void **again = et_alloc(m->a, ((size_t)m->p->ntensors + 1) * sizeof(void *));
    if (!run(m, k, 0, m->after[k], err)) return et_printf(m->a, "in program order: %s", err);
    for (uint64_t seed = 1; seed < SEEDS; seed++) {
        if (!run(m, k, seed, again, err)) return et_printf(m->a, "in another order: %s", err);
        const char *name = differing(m, k, m->after[k], again);
        if (name) return et_printf(m->a, "%s depends on the order", name);
    }
    return NULL;
}

static int tensor_named(const et_program *p, const char *name) {
    for (int i = 0; i < p->ntensors; i++)
        if (is_given(&p->tensors[i]) && !strcmp(p->tensors[i].name, name)) return i;
    return -1;
}

/* What the graph's interpreter leaves is what the tasks do. */
static const char *wrong_graph(struct meaning *m, int k) {
    char err[256] = "";
    size_t n = (size_t)m->g->nvals;
    et_tensor_data **data = et_alloc(m->a, n * sizeof *data);
    int *tensor = et_alloc(m->a, n * sizeof *tensor);
    for (size_t v = 1; v < n; v++) {
        const et_val *val = &m->g->vals[v];
        bool seen = val->name && (val->kind <= ET_V_STATE || val->is_output);
        tensor[v] = seen ? tensor_named(m->p, val->name) : -1;
        if (val->kind > ET_V_STATE && !val->is_output) continue;
        data[v] = tm_tensor(m->a, m->g, &val->shape, m->syms[k]);
        if (tensor[v] < 0) {
            if (val->name) fill_tensor(data[v], val->name);
            continue;
        }
        memcpy(data[v]->p, m->data[k][tensor[v]]->p, (size_t)et_tensor_count(data[v]) * 4);
    }
    if (!et_graph_interp(m->g, m->syms[k], data, err)) return et_printf(m->a, "the graph: %s", err);
    for (size_t v = 1; v < n; v++) {
        if (tensor[v] < 0 || !is_result(&m->p->tensors[tensor[v]])) continue;
        double e = tm_relative_error(data[v], m->after[k][tensor[v]]);
        if (e > bound) return et_printf(m->a, "%s is off by %g", m->g->vals[v].name, e);
    }
    return NULL;
}

/* Of a text for both GPUs: the tasks of one leave what those of the other do. */
static const char *wrong_on_other(const struct meaning *a, const struct meaning *b, int k) {
    for (int i = 0; i < a->p->ntensors; i++) {
        int o = is_result(&a->p->tensors[i]) ? tensor_named(b->p, a->p->tensors[i].name) : -1;
        if (o < 0) continue;
        size_t n = (size_t)et_tensor_count(a->data[k][i]);
        et_tensor_data want = *a->data[k][i];
        want.p = et_alloc(a->a, n * 4 + 4);
        for (size_t e = 0; e < n; e++) {
            double v = etrt_element((int)want.dtype, a->after[k][i], (int64_t)e);
            if (et_dtype_is_float(want.dtype))
                want.f[e] = (float)v;
            else
                want.i[e] = (int32_t)v;
        }
        double e = tm_relative_error(&want, b->after[k][o]);
        if (e > bound)
            return et_printf(a->a, "%s is off by %g on the other GPU", a->p->tensors[i].name, e);
    }
    return NULL;
}

/* ---- one mutant ---- */

static const char *judge(struct meaning *m, int n, bool graph, struct score *s) {
    for (int k = 0; k < SIZES; k++) {
        const char *wrong = NULL;
        for (int t = 0; t < n; t++)
            if (!set_size(&m[t], k)) {
                s->too_large++;
                return NULL;
            }
        for (int t = 0; t < n && !wrong; t++) {
            fill(&m[t], k);
            wrong = wrong_order(&m[t], k);
            if (wrong && strstr(wrong, "race: ") && scatters(&m[t])) {
                s->trusted++;
                return NULL;
            }
            if (!wrong && graph) wrong = wrong_graph(&m[t], k);
        }
        if (!wrong && n == TARGETS) wrong = wrong_on_other(&m[0], &m[1], k);
        if (wrong) return wrong;
    }
    s->accepted++;
    return NULL;
}

/* TEXT is for GPU T alone, or, where that is -1, for any. */
static void try_text(const char *text, int t, bool graph, const char *what, bool verbose,
                     struct score *s) {
    struct meaning m[TARGETS] = {{0}};
    int n = 0;
    s->made++;
    for (int i = 0; i < TARGETS; i++) {
        if (t >= 0 && i != t) continue;
        m[n].a = et_arena_create();
        if (accepted(&m[n], text, targets[i], verbose))
            n++;
        else
            et_arena_destroy(m[n].a);
    }
    const char *wrong = n ? judge(m, n, graph, s) : NULL;
    s->refused += !n;
    if (wrong) {
        s->missed++;
        printf("MISSED: %s: %s\n%s\n", what, wrong, text);
    }
    for (int i = 0; i < n; i++)
        et_arena_destroy(m[i].a);
}

/* ---- programs ---- */

static char *printed(et_graph *g, et_program *p) {
    char *text = NULL;
    size_t bytes;
    FILE *f = open_memstream(&text, &bytes);
    if (!f) et_no_memory();
    if (p)
        et_program_print(p, f);
    else
        et_graph_print(g, f);
    fclose(f);
    char *copy = strdup(text);
    free(text);
    return copy;
}

/* The text of stage number AT for GPU T. */
static char *text_at(const char *path, int at, int t) {
    et_arena *a = et_arena_create();
    et_diags *d = et_diags_create(a);
    et_graph *g = tm_parse(a, d, path);
    et_program *p = NULL;
    et_pass_options opt = {
        .machine = et_machine_for(targets[t]), .to = stages[at], .schedule = schedule};
    bool ok = g && (!at || et_passes_run(g, &opt, &p));
    et_diag_print(d, stderr);
    char *text = ok ? printed(g, p) : NULL;
    et_arena_destroy(a);
    return text;
}

static void tell(const struct score *s) {
    printf(
        "%d texts, %d refused, %d accepted and right, %d too large to run, %d with elements that a "
        "tensor names twice, %d MISSED\n",
        s->made, s->refused, s->accepted, s->too_large, s->trusted, s->missed);
}

static bool test_program(const char *path, int mutants, bool verbose, struct score *sum) {
    bool ok = true;
    for (int at = 0; at < STAGES; at++)
        for (int t = 0; t < (at > 1 ? TARGETS : 1); t++) {
            struct score s = {0};
            char *text = text_at(path, at, t), *mutant;
            int of = at > 1 ? t : -1; /* the first two stages know no GPU */
            if (!text) return false;
            try_text(text, of, !at, "the text itself", verbose, &s);
            bool itself = s.accepted == 1;
            if (!itself)
                printf("%s, %s, %s: not accepted as it is\n", path, et_stage_name(stages[at]),
                       targets[t]);
            for (int i = 0; i < mutants; i++) {
                if (!(mutant = mutant_of(text))) continue;
                try_text(mutant, of, !at, path, verbose, &s);
                free(mutant);
            }
            printf("%s, %s, %s: ", path, et_stage_name(stages[at]), at > 1 ? targets[t] : "both");
            tell(&s);
            fflush(stdout);
            ok &= itself && !s.missed && s.refused > 0;
            int *to = (int *)sum, *from = (int *)&s;
            for (size_t i = 0; i < sizeof s / sizeof *to; i++)
                to[i] += from[i];
            free(text);
        }
    return ok;
}

int main(int argc, char **argv) {
    struct score sum = {0};
    int mutants = 20;
    bool ok = true, verbose = false;
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-v"))
            verbose = true;
        else if (!strcmp(argv[i], "--mutants") && i + 1 < argc)
            mutants = atoi(argv[++i]);
        else if (!strcmp(argv[i], "--seed") && i + 1 < argc)
            rng = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--claimed"))
            schedule = ET_SCHEDULE_CLAIMED;
        else if (!strcmp(argv[i], "--dynamic"))
            schedule = ET_SCHEDULE_DYNAMIC;
        else if (!strcmp(argv[i], "--hybrid"))
            schedule = ET_SCHEDULE_HYBRID;
        else
            ok &= test_program(argv[i], mutants, verbose, &sum);
    tell(&sum);
    return !ok || !sum.accepted;
}
