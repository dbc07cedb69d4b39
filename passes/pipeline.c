#include "pipeline.h"
#include <string.h>
#include <time.h>

static const struct {
    const char *name, *from, *to, *help;
    et_pass_fn fn;
} passes[] = {
#define X(name, from, to, help) {#name, from, to, help, et_pass_##name},
#include "pipeline.def"
#undef X
};
enum { NPASSES = sizeof passes / sizeof *passes };

const char *et_pass_name(int i) {
    return i >= 0 && i < NPASSES ? passes[i].name : NULL;
}

const char *et_pass_help(int i) {
    return i >= 0 && i < NPASSES ? passes[i].help : NULL;
}

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void dump(const et_pipeline *pl, const char *pass, const char *stage) {
    const et_pass_options *o = pl->opt;
    if (!o->dump || (strcmp(o->dump, pass) && strcmp(o->dump, "all") && strcmp(o->dump, stage)))
        return;
    fprintf(o->dump_to, "# after %s\n", pass);
    et_program_print(pl->p, o->dump_to);
}

bool et_passes_run(et_graph *g, const et_pass_options *opt, et_program **out_program) {
    et_pipeline pl = {.g = g, .opt = opt};
    *out_program = NULL;
    if (opt->dump && (strcmp(opt->dump, "graph") == 0 || strcmp(opt->dump, "all") == 0)) {
        fprintf(opt->dump_to, "# after parsing\n");
        et_graph_print(g, opt->dump_to);
    }
    for (int i = 0; i < NPASSES; i++) {
        double t = seconds();
        bool ok = passes[i].fn(&pl);
        if (opt->time_passes)
            fprintf(stderr, "%8.3f ms  %s\n", 1e3 * (seconds() - t), passes[i].name);
        if (!ok || et_diag_errors(g->diags)) return false;
        pl.p->stage = passes[i].to;
        if (passes[i].fn != et_pass_verify) dump(&pl, passes[i].name, passes[i].to);
    }
    *out_program = pl.p;
    return true;
}
