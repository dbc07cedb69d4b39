/* check_widen FILE.etg...: of a program whose waits were made by the passes, those that tensors
 * decide become waits for everything where they cannot be shown to be enough; where they were read,
 * the program is refused. Each such wait of each program is made to be for the next counters. */
#include "passes/passes.h"
#include "passes/pipeline/pipeline.h"
#include "tests/support/random_model.h"
#include <stdio.h>

/* The number of waits of P that tensors decide; number WRONG is made to be for the next counter. */
static int spoil(et_program *p, int wrong) {
    et_exprs *x = p->g->exprs;
    int n = 0;
    for (int g = 0; g < p->ngrids; g++)
        for (int i = 0; i < p->grids[g].nwaits; i++) {
            et_wait *w = &p->grids[g].waits[i];
            int d = 0, rank = p->events[w->event].rank;
            while (d < rank && !et_expr_loads(x, w->lo[d]) && !et_expr_loads(x, w->hi[d]))
                d++;
            if (d == rank || n++ != wrong) continue;
            w->lo[d] = et_add(x, w->lo[d], et_int(x, 1));
            w->hi[d] = et_add(x, w->hi[d], et_int(x, 1));
        }
    return n;
}

struct answer {
    bool compiled, right;
    int waits, left; /* that tensors decide: before, and after the verifier */
};

static struct answer verify(const char *path, int wrong, bool inferred) {
    et_arena *a = et_arena_create();
    et_diags *d = et_diags_create(a);
    et_pass_options opt = {.machine = et_machine_for("gfx942")};
    et_graph *g = tm_parse(a, d, path);
    et_program *p = NULL;
    struct answer r = {.compiled = g && et_passes_run(g, &opt, &p) && !et_diag_errors(d)};
    if (r.compiled) {
        r.waits = spoil(p, wrong);
        et_pipeline pl = {.g = g, .opt = &opt, .p = p, .inferred = inferred};
        r.right = et_pass_verify(&pl);
        r.left = spoil(p, -1);
        if (r.right != (et_diag_errors(d) == 0)) r.compiled = false;
    }
    if (!r.compiled) et_diag_print(d, stderr);
    et_arena_destroy(a);
    return r;
}

int main(int argc, char **argv) {
    bool ok = argc > 1;
    int refused = 0, all = 0;
    for (int i = 1; i < argc; i++)
        for (int wrong = 0, n = 1; wrong < n && ok; wrong++, all++) {
            struct answer read = verify(argv[i], wrong, false);
            struct answer made = verify(argv[i], wrong, true);
            n = read.waits;
            refused += !read.right;
            ok = read.compiled && made.compiled && read.left == n && made.right &&
                 made.left == (read.right ? n : 0);
            if (!ok) fprintf(stderr, "%s: wait %d\n", argv[i], wrong);
        }
    printf("%d waits made wrong, %d programs refused\n", all, refused);
    return !ok || !refused;
}
