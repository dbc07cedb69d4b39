/* etshapes FILE.etg [VARIANTS]: what one code object costs for every size of its first dim. For
 * each power of two within the bounds: the predicted time with the variants etcc would choose, with
 * one variant for all sizes, and with a program compiled for that size alone, on the machine model.
 */
#include "frontend/frontend.h"
#include "passes/cost/cost.h"
#include "passes/passes.h"
#include <stdlib.h>

struct source {
    et_arena *arena;
    const char *name, *text;
    size_t bytes;
};

static et_graph *narrow(void *ctx, const char *dim, int64_t lo, int64_t hi) {
    const struct source *s = ctx;
    et_dim_range range = {dim, lo, hi};
    return et_parse_etg_narrow(s->arena, et_diags_create(s->arena), s->name, s->text, s->bytes,
                               &range);
}

static bool read_text(struct source *s) {
    FILE *f = fopen(s->name, "rb");
    enum { MOST = 1 << 20 };
    char *text = et_alloc(s->arena, MOST);
    if (!f) return false;
    s->bytes = fread(text, 1, MOST, f);
    s->text = text;
    fclose(f);
    return true;
}

static et_program *part_for(et_program *p, int64_t n) {
    int i = 0;
    while (i + 1 < p->nvariants && p->variant[i].upto < n)
        i++;
    return et_program_part(p, i);
}

static void print_row(const struct source *s, et_program *single, et_program *split,
                      const et_pass_options *o, int64_t n, double *worst) {
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    et_program *alone;
    const char *dim = et_sym_name(single->g->exprs, 0);
    et_graph *g = narrow((void *)s, dim, n, n);
    et_sample_symbols(single->g->exprs, syms);
    syms[1][0] = n;
    if (!g || !et_passes_run(g, o, &alone)) return;
    double a = et_cost_at(alone, o->machine, syms[1], 0).us;
    double v = et_cost_at(part_for(split, n), o->machine, syms[1], 0).us;
    double one = et_cost_at(single, o->machine, syms[1], 0).us;
    printf("| %lld | %.1f | %.1f | %.1f | %.3f |\n", (long long)n, a, v, one, v / a);
    *worst = v / a > *worst ? v / a : *worst;
}

int main(int argc, char **argv) {
    struct source s = {.arena = et_arena_create(), .name = argc > 1 ? argv[1] : ""};
    int most = argc > 2 ? atoi(argv[2]) : 2;
    et_diags *d = et_diags_create(s.arena);
    const et_pass_options o = {.machine = et_machine_default()};
    et_program *single = NULL, *split = NULL;
    int64_t lo, hi;
    double worst = 0;
    et_graph *g = read_text(&s) ? et_parse_etg(s.arena, d, s.name, s.text, s.bytes) : NULL;
    bool ok = g && most >= 1 && most <= ET_MAX_VARIANTS && et_sym_count(g->exprs) &&
              (split = et_make_variants(g, &o, most, narrow, &s), et_passes_run(g, &o, &single));
    if (!split) split = single;
    et_diag_print(d, stderr);
    if (ok) {
        const char *dim = et_sym_name(g->exprs, 0);
        et_sym_range(g->exprs, 0, &lo, &hi);
        printf("%s, predicted for %s, us per launch; %d variant%s", g->name, o.machine->name,
               split->nvariants ? split->nvariants : 1, split->nvariants > 1 ? "s:" : "");
        for (int i = 0; i < split->nvariants; i++)
            printf(" %s up to %lld%s", dim, (long long)split->variant[i].upto,
                   i + 1 < split->nvariants ? "," : "");
        printf("\n\n| %s | compiled for it alone | variants | one variant | variants / alone |\n"
               "| --- | --- | --- | --- | --- |\n",
               dim);
        for (int64_t n = 1; n <= hi; n *= 2)
            if (n >= lo) print_row(&s, single, split, &o, n, &worst);
        printf("\nworst %.3f\n", worst);
    } else {
        fprintf(stderr, "etshapes: cannot be predicted: %s\n", s.name);
    }
    et_arena_destroy(s.arena);
    return !ok;
}
