/* etshapes FILE.etg [VARIANTS]: what one code object costs for every size of its first dim. For
 * each power of two within the bounds: the predicted time with the variants etcc would choose, with
 * one variant for all sizes, and with a program compiled for that size alone, on the machine model.
 */
#include "codegen/targets/targets.h"
#include "frontend/frontend.h"
#include "frontend/syntax/ast.h"
#include "passes/cost/cost.h"
#include "passes/passes.h"
#include "runtime/cli/cli.h"
#include "runtime/files/input.h"
#include <stdlib.h>

struct source {
    et_arena *arena;
    const char *name, *text;
    size_t bytes;
};

static et_graph *narrow(void *ctx, const char *dim, int64_t lo, int64_t hi, bool whole) {
    (void)whole;
    const struct source *s = ctx;
    et_dim_range range = {dim, lo, hi};
    return et_parse_etg_narrow(s->arena, et_diags_create(s->arena), s->name, s->text, s->bytes,
                               &range);
}

static bool read_text(struct source *s) {
    char why[ET_WHY], *data = et_file_read(s->name, ET_MAX_SOURCE, &s->bytes, why);
    if (!data) {
        fprintf(stderr, "etshapes: %s: %s\n", s->name, why);
        return false;
    }
    s->text = et_strndup(s->arena, data, s->bytes);
    free(data);
    return true;
}

static void print_row(const struct source *s, et_program *single, et_program *split,
                      const et_pass_options *o, int64_t n, double *worst) {
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    et_program *alone;
    const char *dim = et_sym_name(single->g->exprs, 0);
    et_graph *g = narrow((void *)s, dim, n, n, false);
    et_sample_symbols(single->g->exprs, syms);
    syms[1][0] = n;
    if (!g || !et_passes_run(g, o, &alone)) return;
    double a = et_cost_at(alone, o->machine, syms[1], 0).us;
    double v = et_cost_at(et_part_at(split, syms[1]), o->machine, syms[1], 0).us;
    double one = et_cost_at(single, o->machine, syms[1], 0).us;
    printf("| %lld | %.1f | %.1f | %.1f | %.3f |\n", (long long)n, a, v, one, v / a);
    *worst = v / a > *worst ? v / a : *worst;
}

struct options {
    cli_list rest; /* a file and how many variants */
};

static void print_head(const et_graph *g, const et_pass_options *o, const et_program *split) {
    const char *dim = et_sym_name(g->exprs, 0);
    printf("%s, predicted for %s, us per launch; %d variant%s", g->name, o->machine->name,
           split->nvariants ? split->nvariants : 1, split->nvariants > 1 ? "s:" : "");
    for (int i = 0; i < split->nvariants; i++)
        printf(" %s up to %lld%s", dim, (long long)split->variant[i].upto,
               i + 1 < split->nvariants ? "," : "");
    printf("\n\n| %s | compiled for it alone | variants | one variant | variants / alone |\n"
           "| --- | --- | --- | --- | --- |\n",
           dim);
}

static bool print_table(struct source *s, et_diags *d, int most) {
    const et_machine *m = et_machine_default();
    et_planned on;
    et_pass_options o = {0};
    et_plan_for(&o, m, et_target_find(m->target), &on);
    et_program *single = NULL, *split = NULL;
    int64_t lo, hi;
    double worst = 0;
    et_graph *g = read_text(s) ? et_parse_etg(s->arena, d, s->name, s->text, s->bytes) : NULL;
    bool ok =
        g && et_sym_count(g->exprs) &&
        (split = et_make_variants(g, &o, most, NULL, narrow, s), et_passes_run(g, &o, &single));
    if (!ok) return false;
    if (!split) split = single;
    print_head(g, &o, split);
    et_sym_range(g->exprs, 0, &lo, &hi);
    for (int64_t n = 1; n <= hi; n *= 2)
        if (n >= lo) print_row(s, single, split, &o, n, &worst);
    printf("\nworst %.3f\n", worst);
    return true;
}

static const cli_option options[] = {{0}};
static const cli_option rest = {
    .kind = CLI_LIST, .arg = "file", CLI_AT(struct options, rest), .need = 1};

static int run(void *);

static const cli_tool tool = {
    .name = "etshapes",
    .summary = "what one code object costs for every size of its first dim, predicted",
    .usage = "FILE.etg [VARIANTS]",
    .about = "For each power of two within the bounds: the predicted time with the variants that "
             "etcc would choose, at most VARIANTS (2), with one variant for all sizes, and with a "
             "program compiled for that size alone.",
    .options = options,
    .rest = &rest,
    .run = run,
};

static int run(void *read) {
    const struct options *o = read;
    int64_t most = 2;
    if (o->rest.n > 2 ||
        (o->rest.n == 2 && !cli_integer(o->rest.at[1].text, 1, ET_MAX_VARIANTS, &most)))
        return cli_wrong(&tool, "write FILE.etg and a number of variants from 1 to %d",
                         ET_MAX_VARIANTS);
    struct source s = {.arena = et_arena_create(), .name = o->rest.at[0].text};
    et_diags *d = et_diags_create(s.arena);
    bool ok = print_table(&s, d, (int)most);
    et_diag_print(d, stderr);
    if (!ok) fprintf(stderr, "etshapes: cannot be predicted: %s\n", s.name);
    et_arena_destroy(s.arena);
    return ok ? 0 : 1;
}

int main(int argc, char **argv) {
    struct options o = {0};
    return cli_main(&tool, argc, argv, &o);
}
