/* fuzz_schedules COUNT FILE.eti...: the files with a few numbers and words changed at random. What
 * still parses is verified and run; whatever comes of that is fine, but for a crash. Text that the
 * verifier accepts must run without a race. */
#include "ir/eti/eti.h"
#include "ir/graph/op_util.h"
#include "ir/interp/interp.h"
#include "ir/program/step.h"
#include "ir/verify/verify.h"
#include "tests/support/random_model.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_TEXT = 1 << 16, MAX_ELEMENTS = 1 << 20, MAX_EVALUATIONS = 1 << 24 };

static uint64_t state = 1;

static int pick(int n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int)((state >> 33) % (uint64_t)n);
}

static size_t word_at(const char *text, size_t n, size_t at, size_t *out_from) {
    while (at > 0 && isalnum((unsigned char)text[at - 1]))
        at--;
    *out_from = at;
    size_t end = at;
    while (end < n && isalnum((unsigned char)text[end]))
        end++;
    return end - at;
}

/* Replace a word by a number or by another word of the text. */
static size_t change(char *text, size_t n) {
    static const char *const numbers[] = {"0",
                                          "1",
                                          "2",
                                          "3",
                                          "7",
                                          "8",
                                          "16",
                                          "63",
                                          "65",
                                          "1000000",
                                          "2147483647",
                                          "4294967296",
                                          "9223372036854775807"};
    size_t from, other, len = word_at(text, n, (size_t)pick((int)n), &from);
    size_t by_len = word_at(text, n, (size_t)pick((int)n), &other);
    char by[64];
    if (!len || by_len >= sizeof by) return n;
    if (isdigit((unsigned char)text[from]) && pick(3))
        by_len = (size_t)snprintf(by, sizeof by, "%s", numbers[pick(13)]);
    else
        memcpy(by, text + other, by_len);
    if (n + by_len - len >= MAX_TEXT) return n;
    memmove(text + from + by_len, text + from + len, n - from - len);
    memcpy(text + from, by, by_len);
    return n + by_len - len;
}

/* How often the expressions of a grid's steps are evaluated, at most; what depends on more than the
 * dims is taken by its bounds. */
static double evaluations(const et_program *p, const et_grid *g, const int64_t *syms) {
    const et_func *f = &p->funcs[g->func];
    et_step_var var[ET_STEP_VARS];
    double tiles = 1, all = 0;
    for (int l = g->loop; l >= 0; l = p->g->loops[l].parent)
        tiles *= (double)(p->g->loops[l].hi - p->g->loops[l].lo);
    for (int c = 0; c < f->ncoords; c++)
        tiles *= (double)et_eval(p->g->exprs, g->extent[c], syms, NULL);
    for (int s = 0; s < f->nsteps; s++) {
        double one = 1;
        for (int i = 0, n = et_step_vars(p->g->exprs, &f->steps[s], var); i < n; i++) {
            int64_t lo, hi;
            et_span(p->g->exprs, var[i].extent, &lo, &hi);
            one *= (double)hi;
        }
        all += one;
    }
    return tiles * all;
}

static bool small(const et_program *p, const int64_t *syms) {
    double all = 0;
    int64_t total = p->workspace_bytes + p->event_words;
    for (int t = 0; t < p->ntensors; t++) {
        int64_t n = 1;
        for (int d = 0; d < p->tensors[t].shape.rank; d++)
            if (__builtin_mul_overflow(
                    n, et_eval(p->g->exprs, p->tensors[t].shape.dim[d], syms, NULL), &n) ||
                n > MAX_ELEMENTS)
                return false;
        total += n;
    }
    for (int g = 0; g < p->ngrids; g++)
        for (int c = 0; c < p->funcs[p->grids[g].func].ncoords; c++)
            if (et_eval(p->g->exprs, p->grids[g].extent[c], syms, NULL) > 200) return false;
    for (int g = 0; g < p->ngrids; g++)
        all += evaluations(p, &p->grids[g], syms);
    for (int l = 0; l < p->g->nloops; l++)
        if (p->g->loops[l].hi - p->g->loops[l].lo > 50) return false;
    return total < 4 * MAX_ELEMENTS && all < MAX_EVALUATIONS;
}

static bool run(et_arena *a, et_program *p, char err[ET_INTERP_ERR]) {
    int64_t syms[16] = {0}, hi;
    if (et_sym_count(p->g->exprs) > 16 || p->nvariants) return true;
    for (int s = 0; s < et_sym_count(p->g->exprs); s++) {
        et_sym_range(p->g->exprs, s, &syms[s], &hi);
        syms[s] = syms[s] + 9 < hi ? syms[s] + 9 : hi;
    }
    if (!small(p, syms)) return true;
    void **memory = et_alloc(a, (size_t)(p->ntensors + 1) * sizeof *memory);
    for (int t = 0; t < p->ntensors; t++) {
        const et_tensor *x = &p->tensors[t];
        if (x->kind == ET_TENSOR_TEMP || x->kind == ET_TENSOR_CONST) continue;
        et_tensor_data *d = tm_tensor(a, p->g, &x->shape, syms);
        tm_fill(d);
        memory[t] = tm_bytes(a, d);
    }
    et_interp_options opt = {.seed = state, .races = true};
    return et_program_run(p, syms, memory, &opt, err);
}

/* Does a tensor name the counters of a wait? Which these are is known at the launch alone. */
static bool waits_by_tensors(const et_program *p) {
    bool any = false;
    for (int g = 0; g < p->ngrids; g++)
        for (int w = 0; w < p->grids[g].nwaits; w++) {
            const et_wait *wait = &p->grids[g].waits[w];
            for (int d = 0; d < p->events[wait->event].rank; d++)
                any |= et_expr_loads(p->g->exprs, wait->lo[d]) ||
                       et_expr_loads(p->g->exprs, wait->hi[d]);
        }
    return any;
}

static bool once(const char *name, const char *text, size_t n, int counts[3]) {
    et_arena *a = et_arena_create();
    et_diags *d = et_diags_create(a);
    et_program *p = NULL;
    char err[ET_INTERP_ERR] = "";
    bool fine = true;
    et_graph *g = et_eti_parse(a, d, name, text, n, &p);
    counts[0] += g != NULL;
    if (g && p) {
        et_verify_report r;
        bool right = et_verify(p, &(et_verify_options){.dies = 8, .work = 1000000}, d, &r);
        bool ran = run(a, p, err);
        counts[1] += right;
        counts[2] += ran;
        /* Not the schedule's fault: an index that leaves its tensor, an element a mask leaves out,
         * a promise about tensors that the change broke, a tensor that names no counter. */
        for (int e = 0; e < p->nevents; e++)
            ran |= p->events[e].promised;
        fine = !right || !r.proved || ran || strstr(err, "is outside [0,") ||
               strstr(err, "nothing has written") ||
               (waits_by_tensors(p) && strstr(err, "which has no such counter"));
        if (!fine) printf("%s passes the verifier, but: %s\n%.*s\n", name, err, (int)n, text);
    }
    et_arena_destroy(a);
    return fine;
}

int main(int argc, char **argv) {
    static char original[MAX_TEXT], text[MAX_TEXT + 1];
    bool fine = argc > 2;
    int counts[3] = {0};
    for (int i = 2; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        if (!f) return 2;
        size_t bytes = fread(original, 1, sizeof original - 1, f);
        fclose(f);
        for (int k = 0; k < atoi(argv[1]); k++) {
            size_t n = bytes;
            memcpy(text, original, bytes);
            for (int c = 1 + pick(3); c > 0; c--)
                n = change(text, n);
            text[n] = 0;
            fine &= once(argv[i], text, n, counts);
        }
    }
    printf("%d parsed, %d verified, %d ran\n", counts[0], counts[1], counts[2]);
    return !fine;
}
