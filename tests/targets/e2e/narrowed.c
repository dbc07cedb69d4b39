/* narrowed [--lower MACHINE] FILE.etg...: what a program means does not hang on the bounds of its
 * dims. Each dim's bounds are narrowed as variants narrow them, to end or begin at a value or to
 * hold it alone, near both ends and near powers of two: the graph interpreter leaves the same bits
 * as with the bounds of the text. With --lower the passes lower each and the program interpreter
 * leaves about the same. */
#include "frontend/frontend.h"
#include "ir/graph/op_util.h"
#include "ir/interp/interp.h"
#include "passes/passes.h"
#include "tests/support/random_model.h"
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, VALUES = 16, LARGE = 40000000 };

struct source {
    const char *path;
    char *text;
    size_t bytes;
};

/* What a program of a text was given and has left, by value. */
struct run {
    et_graph *g;
    int64_t syms[ET_MAX_SYMS];
    et_tensor_data **before, **after;
};

static bool read_text(const char *path, struct source *s) {
    FILE *f = fopen(path, "rb");
    if (!f) return false;
    *s = (struct source){.path = path, .text = malloc(1 << 20)};
    s->bytes = fread(s->text, 1, 1 << 20, f);
    fclose(f);
    return true;
}

static bool is_result(const et_val *v) {
    return v->kind == ET_V_STATE || v->is_output;
}

static bool is_given(const et_val *v) {
    return v->kind <= ET_V_STATE && !v->is_output;
}

static size_t bytes_of(const et_tensor_data *t) {
    return (size_t)et_tensor_count(t) * 4;
}

static et_tensor_data *copy_of(et_arena *a, const et_tensor_data *t) {
    et_tensor_data *to = et_alloc(a, sizeof *to);
    *to = *t;
    to->p = memcpy(et_alloc(a, bytes_of(t) + 1), t->p, bytes_of(t));
    return to;
}

static bool is_named(const et_val *v, const char *name) {
    return (is_given(v) || is_result(v)) && !strcmp(v->name, name);
}

/* The value of G that stands for value V of OF, or 0: weights of two loops may have one name. */
static int counterpart(const et_graph *g, const et_graph *of, int v) {
    const char *name = of->vals[v].name;
    int before = 0;
    for (int i = 1; i < v; i++)
        before += is_named(&of->vals[i], name);
    for (int i = 1; i < g->nvals; i++)
        if (is_named(&g->vals[i], name) && before-- == 0) return i;
    return 0;
}

static et_graph *parse(et_arena *a, const struct source *s, const et_dim_range *narrow) {
    et_diags *d = et_diags_create(a);
    et_graph *g = narrow ? et_parse_etg_narrow(a, d, s->path, s->text, s->bytes, narrow)
                         : et_parse_etg(a, d, s->path, s->text, s->bytes);
    if (!g) et_diag_print(d, stderr);
    return g;
}

/* R run by the graph interpreter, on what LIKE was given where there is one. */
static bool interpret(et_arena *a, struct run *r, const struct run *like) {
    size_t n = (size_t)r->g->nvals;
    char err[256];
    r->before = et_alloc(a, n * sizeof *r->before);
    r->after = et_alloc(a, n * sizeof *r->after);
    for (int v = 1; v < r->g->nvals; v++) {
        const et_val *val = &r->g->vals[v];
        if (!is_given(val) && !is_result(val)) continue;
        r->after[v] = tm_tensor(a, r->g, &val->shape, r->syms);
        if (!is_given(val)) continue;
        int from = like ? counterpart(like->g, r->g, v) : 0;
        if (from)
            memcpy(r->after[v]->p, like->before[from]->p, bytes_of(r->after[v]));
        else
            tm_fill(r->after[v]);
        r->before[v] = copy_of(a, r->after[v]);
    }
    return et_graph_interp(r->g, r->syms, r->after, err) || (fprintf(stderr, "%s\n", err), false);
}

/* The first element that differs. */
static void tell(const et_tensor_data *want, const et_tensor_data *got) {
    bool real = et_dtype_is_float(want->dtype);
    for (int64_t i = 0; i < et_tensor_count(want) && i < et_tensor_count(got); i++) {
        if (want->i[i] == got->i[i]) continue;
        fprintf(stderr, ": [%lld] is %.9g, not %.9g", (long long)i,
                real ? (double)got->f[i] : got->i[i], real ? (double)want->f[i] : want->i[i]);
        return;
    }
}

static bool same(const struct run *want, const struct run *got, const char *how) {
    for (int v = 1; v < want->g->nvals; v++) {
        if (!is_result(&want->g->vals[v])) continue;
        const char *name = want->g->vals[v].name;
        int at = counterpart(got->g, want->g, v);
        if (at && bytes_of(got->after[at]) == bytes_of(want->after[v]) &&
            !memcmp(got->after[at]->p, want->after[v]->p, bytes_of(want->after[v])))
            continue;
        fprintf(stderr, "%s: %s is another", how, name);
        if (at) tell(want->after[v], got->after[at]);
        fputc('\n', stderr);
        return false;
    }
    return true;
}

/* Does what the passes make of R's graph leave about what WANT has? */
static bool lowered(et_arena *a, const struct run *want, const struct source *s,
                    const et_dim_range *narrow, const char *machine, const char *how) {
    const et_pass_options opt = {.machine = et_machine_for(machine)};
    et_program *p;
    char err[ET_INTERP_ERR] = "";
    et_graph *g = parse(a, s, narrow);
    if (!g || !et_passes_run(g, &opt, &p)) {
        if (g) et_diag_print(g->diags, stderr);
        return fprintf(stderr, "%s: refused\n", how), false;
    }
    void **memory = et_alloc(a, (size_t)p->ntensors * sizeof *memory);
    for (int t = 0; t < p->ntensors; t++) {
        const et_tensor *x = &p->tensors[t];
        if (x->kind == ET_TENSOR_TEMP || x->kind == ET_TENSOR_CONST) continue;
        int v = counterpart(want->g, g, x->value.id);
        const et_tensor_data *d = want->before[v] ? want->before[v] : want->after[v];
        memory[t] = tm_bytes(a, d);
        if (!x->relaid) continue;
        void *turned = et_alloc(a, (size_t)et_dtype_size(d->dtype, et_tensor_count(d)) + 1);
        et_relay_elements(p->g->exprs, x, et_tensor_count(d), memory[t], turned);
        memory[t] = turned;
    }
    et_interp_options run = {.seed = 1, .races = true};
    if (!et_program_run(p, want->syms, memory, &run, err))
        return fprintf(stderr, "%s: %s\n", how, err), false;
    for (int t = 0; t < p->ntensors; t++) {
        const et_tensor *x = &p->tensors[t];
        if (x->kind != ET_TENSOR_OUTPUT && x->kind != ET_TENSOR_STATE) continue;
        double e = tm_relative_error(want->after[counterpart(want->g, g, x->value.id)], memory[t]);
        if (e < 1e-2) continue;
        return fprintf(stderr, "%s: %s is %.2g off\n", how, x->name, e), false;
    }
    return true;
}

/* Values of a dim of LO..HI: both ends and beside them, powers of two and beside them; without
 * $ETCC_LONG a few of them. */
static int values_of(int64_t lo, int64_t hi, int64_t out[VALUES]) {
    static const int64_t some[] = {1, 2, 3, 7, 8, 9, 16, 17, 33, MOST};
    int n = 0;
    out[n++] = lo;
    for (size_t i = 0; i < sizeof some / sizeof *some; i++)
        if (some[i] > lo && some[i] < hi && (getenv("ETCC_LONG") || some[i] == 2 || some[i] == 9))
            out[n++] = some[i];
    if (hi > lo && hi <= 4 * MOST) out[n++] = hi;
    return n;
}

static int64_t elements(const struct run *r) {
    int64_t n = 0;
    for (int v = 1; v < r->g->nvals; v++) {
        const et_shape *s = &r->g->vals[v].shape;
        int64_t each = is_given(&r->g->vals[v]) || is_result(&r->g->vals[v]);
        for (int d = 0; each && d < s->rank; d++)
            each *= et_eval(r->g->exprs, s->dim[d], r->syms, NULL);
        n += each;
    }
    return n;
}

static bool at_value(const struct source *s, const et_graph *whole, int sym, int64_t v,
                     const char *machine, int *tried) {
    et_arena *a = et_arena_create();
    struct run want = {.g = parse(a, s, NULL)};
    int64_t lo, hi;
    for (int i = 0; i < et_sym_count(whole->exprs); i++) {
        et_sym_range(whole->exprs, i, &lo, &hi);
        want.syms[i] = i == sym ? v : lo + (hi - lo < 40 ? (hi - lo) / 3 : 13);
    }
    et_sym_range(whole->exprs, sym, &lo, &hi);
    const et_dim_range ranges[] = {{NULL, v, v}, {NULL, lo, v}, {NULL, v, hi}};
    bool ok = true;
    if (elements(&want) <= LARGE) {
        ok = interpret(a, &want, NULL);
        for (int i = 0; ok && i < 3; i++) {
            char how[512];
            et_arena *own = et_arena_create();
            et_dim_range range = {et_sym_name(whole->exprs, sym), ranges[i].lo, ranges[i].hi};
            snprintf(how, sizeof how, "%s, %s of %lld..%lld, at %lld", s->path, range.dim,
                     (long long)range.lo, (long long)range.hi, (long long)v);
            struct run got = {.g = parse(own, s, &range)};
            memcpy(got.syms, want.syms, sizeof got.syms);
            ok = got.g ? interpret(own, &got, &want) && same(&want, &got, how)
                       : (fprintf(stderr, "%s: refused\n", how), false);
            if (ok && machine) ok = lowered(own, &want, s, &range, machine, how);
            ++*tried;
            et_arena_destroy(own);
        }
    }
    et_arena_destroy(a);
    return ok;
}

static bool check(const struct source *s, const char *machine, int *tried) {
    et_arena *a = et_arena_create();
    et_graph *g = parse(a, s, NULL);
    bool ok = g != NULL;
    for (int sym = 0; g && sym < et_sym_count(g->exprs); sym++) {
        int64_t lo, hi, value[VALUES];
        et_sym_range(g->exprs, sym, &lo, &hi);
        for (int i = 0, n = values_of(lo, hi, value); i < n; i++)
            ok &= at_value(s, g, sym, value[i], machine, tried);
    }
    et_arena_destroy(a);
    return ok;
}

int main(int argc, char **argv) {
    int first = 1, wrong = 0, tried = 0;
    const char *machine = NULL;
    if (argc > 2 && !strcmp(argv[1], "--lower")) machine = argv[2], first = 3;
    for (int i = first; i < argc; i++) {
        struct source s;
        if (!read_text(argv[i], &s)) return fprintf(stderr, "cannot read %s\n", argv[i]), 2;
        wrong += !check(&s, machine, &tried);
        free(s.text);
    }
    printf("%d programs, narrowed in %d ways, %d wrong\n", argc - first, tried, wrong);
    return wrong || !tried;
}
