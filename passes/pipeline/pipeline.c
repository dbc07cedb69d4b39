#include "passes/pipeline/pipeline.h"
#include "ir/base/clock.h"
#include "ir/eti/eti.h"
#include "passes/cost/cost.h"
#include <string.h>

static const struct {
    const char *name;
    et_stage from, to;
    const char *help;
    et_pass_fn fn;
} passes[] = {
#define X(name, from, to, help) {#name, ET_STAGE_##from, ET_STAGE_##to, help, et_pass_##name},
#include "passes/pipeline/pipeline.def"
#undef X
};
enum { NPASSES = sizeof passes / sizeof *passes };

const char *et_pass_name(int i) {
    return i >= 0 && i < NPASSES ? passes[i].name : NULL;
}

const char *et_pass_help(int i) {
    return i >= 0 && i < NPASSES ? passes[i].help : NULL;
}

const char *et_placement_name(int i) {
    static const char *const names[] = {"ilp", "greedy", "fixed", "all"};
    return i >= 0 && i <= ET_PLACEMENT_ALL ? names[i] : NULL;
}

const char *et_exchange_name(int i) {
    static const char *const names[] = {"auto", "tags", "flags", "rows"};
    return i >= 0 && i <= ET_EXCHANGE_ROWS ? names[i] : NULL;
}

const char *et_parts_name(int i) {
    static const char *const names[] = {"f32", "bf16"};
    return i >= 0 && i <= ET_PARTS_BF16 ? names[i] : NULL;
}

const char *et_flags_name(int i) {
    static const char *const names[] = {"auto", "all", "none"};
    return i >= 0 && i <= ET_FLAGS_NONE ? names[i] : NULL;
}

void et_plan_for(et_pass_options *o, const et_machine *m, const et_target *t, et_planned *out) {
    static const et_orders own;
    out->machine = *m;
    out->target = *t;
    if (et_is_without(o->without, ET_FEATURE_WARPGROUP)) {
        out->machine.group_waves = 0;
        out->target.warpgroup = NULL;
    }
    o->machine = &out->machine;
    out->plans = (et_product_options){.target = &out->target,
                                      .without = o->without,
                                      .packed = o->packed,
                                      .zeros = o->zeros,
                                      .resident = o->resident,
                                      .orders = !o->same_sums ? NULL
                                                : o->orders   ? o->orders
                                                              : &own,
                                      .stream_bytes = et_may_stream(o) ? m->stream_kb << 10 : 0};
    out->machine.plans = &out->plans;
}

static void dump(const et_pipeline *pl, const char *pass) {
    const et_pass_options *o = pl->opt;
    if (!et_is_dumped(o, pass)) return;
    fprintf(o->dump_to, "# after %s\n", pass);
    et_program_print(pl->p, o->dump_to);
}

static void check_text(const et_pipeline *pl, const char *pass) {
#ifdef NDEBUG
    if (!pl->opt->check_text) return;
#endif
    if (pl->opt->quick) return;
    const char *problem = et_eti_round_trip(pl->g->arena, pl->g, pl->p);
    if (problem) et_bug("the text after %s does not read back: %s", pass, problem);
}

/* Where to go on: a program whose temporaries have places needs no memory plan, and one that has a
 * ring has been cut for it. */
static bool is_done(const et_program *p, const et_pass_options *opt, int pass) {
    if (passes[pass].from < p->stage) return true;
    if (passes[pass].fn == et_pass_deal) return p->rows.id != 0;
    if (passes[pass].fn == et_pass_stream) return p->ring.slots > 0 && et_may_stream(opt);
    return passes[pass].fn == et_pass_memory && p->workspace_bytes > 0;
}

/* The passes that are left for the program PL->p, or all. */
static bool run_passes(et_pipeline *pl) {
    const et_pass_options *opt = pl->opt;
    const et_program *given = pl->p;
    et_stage last = opt->to ? opt->to : ET_STAGE_SCHEDULED;
    for (int i = 0; i < NPASSES && passes[i].to <= last; i++) {
        if (given && is_done(given, opt, i)) continue;
        double t = et_seconds();
        uint64_t work = et_exprs_work(pl->g->exprs);
        bool ok = passes[i].fn(pl);
        if (opt->time_passes)
            fprintf(stderr, "%8.3f ms  %-8s %9llu nodes\n", 1e3 * (et_seconds() - t),
                    passes[i].name, (unsigned long long)(et_exprs_work(pl->g->exprs) - work));
        if (!ok || et_diag_errors(pl->g->diags)) return false;
        pl->p->stage = passes[i].to;
        if (passes[i].fn == et_pass_verify) continue;
        dump(pl, passes[i].name);
        check_text(pl, passes[i].name);
    }
    return true;
}

static bool run(et_graph *g, et_program *p, const et_pass_options *opt, et_program **out_program) {
    et_pipeline pl = {.g = g, .opt = opt, .p = p};
    if (et_sym_count(g->exprs) > ET_MAX_SYMS) {
        et_diag(g->diags, ET_ERROR, (et_loc){0}, "%d dims: at most %d", et_sym_count(g->exprs),
                ET_MAX_SYMS);
        return false;
    }
    if (p && p->ngrids > ET_MAX_TASKS) {
        et_diag(g->diags, ET_ERROR, (et_loc){0}, "%d tasks: at most %d are compiled", p->ngrids,
                ET_MAX_TASKS);
        return false;
    }
    *out_program = NULL;
    if (opt->dump && (strcmp(opt->dump, "graph") == 0 || (strcmp(opt->dump, "all") == 0 && !p))) {
        fprintf(opt->dump_to, "# after parsing\n");
        et_graph_print(g, opt->dump_to);
    }
    check_text(&pl, "parsing");
    bool ok = run_passes(&pl);
    while (!ok && pl.again) {
        pl = (et_pipeline){.g = g,
                           .opt = opt,
                           .simpler = pl.ask_apart ? pl.simpler : pl.simpler + 1,
                           .apart = pl.apart || pl.ask_apart};
        ok = run_passes(&pl);
    }
    if (ok) *out_program = pl.p;
    return ok;
}

bool et_passes_resume(et_graph *g, et_program *p, const et_pass_options *opt,
                      et_program **out_program) {
    *out_program = NULL;
    for (int i = 0; p && i < p->nvariants; i++) {
        et_program *part = p->variant[i].program;
        if (!run(part->g, part, opt, &part)) return false;
        p->variant[i].program = part;
        p->stage = part->stage;
    }
    if (!p || !p->nvariants) return run(g, p, opt, out_program);
    et_place_tagged(p);
    *out_program = p;
    return true;
}

bool et_passes_run(et_graph *g, const et_pass_options *opt, et_program **out_program) {
    return et_passes_resume(g, NULL, opt, out_program);
}
