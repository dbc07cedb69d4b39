/* The graph's way to a code object. */
#include "codegen/codegen.h"
#include "frontend/etcc/driver.h"
#include "frontend/syntax/ast.h"
#include "ir/base/output.h"
#include "ir/eti/eti.h"
#include "passes/explain/explain.h"
#include "passes/explain/floor_plan.h"
#include "passes/findings.h"
#include "passes/passes.h"
#include <errno.h>
#include <string.h>

static bool check_dump(const char *dump, et_diags *d) {
    if (!dump || strcmp(dump, "graph") == 0 || strcmp(dump, "all") == 0) return true;
    et_guess g = {.name = dump};
    for (int i = 0; et_pass_name(i); i++) {
        if (strcmp(et_pass_name(i), dump) == 0) return true;
        et_guess_try(&g, et_pass_name(i));
    }
    et_diag(d, ET_ERROR, (et_loc){0}, "unknown pass '%s'", dump);
    if (g.best) et_diag(d, ET_NOTE, (et_loc){0}, "did you mean '%s'?", g.best);
    et_diag(d, ET_NOTE, (et_loc){0}, "there is graph, all, and the passes 'etcc --help' lists");
    return false;
}

/* Is there an event called NAME (or no name given)? False after an error. */
static bool find_event(et_program *whole, const char *name, et_diags *d) {
    et_program *p;
    for (int k = 0; name && (p = et_program_part(whole, k)); k++)
        for (int i = 0; i < p->nevents; i++)
            if (strcmp(p->events[i].name, name) == 0) return true;
    if (!name) return true;
    et_diag(d, ET_ERROR, (et_loc){0}, "there is no event '%s' to break", name);
    for (int k = 0; (p = et_program_part(whole, k)); k++)
        for (int i = 0; i < p->nevents; i++)
            et_diag(d, ET_NOTE, (et_loc){0}, "there is %s", p->events[i].name);
    return false;
}

/* "HOW:EVENT" into the options for codegen; false after an error. */
static bool find_weaken(et_program *p, const char *text, et_diags *d, et_codegen_options *out) {
    static const char *const how[] = {[ET_WEAKEN_FENCE] = "fence",
                                      [ET_WEAKEN_SCOPE] = "scope",
                                      [ET_WEAKEN_RELEASE] = "release",
                                      [ET_WEAKEN_ACQUIRE] = "acquire"};
    if (!text) return true;
    const char *colon = strchr(text, ':');
    for (int i = ET_WEAKEN_FENCE; colon && i <= ET_WEAKEN_ACQUIRE; i++) {
        size_t n = strlen(how[i]);
        if (strncmp(text, how[i], n) != 0 || text + n != colon) continue;
        out->weaken = (et_weaken)i;
        out->weaken_event = colon + 1;
        return find_event(p, colon + 1, d);
    }
    et_diag(d, ET_ERROR, (et_loc){0},
            "--weaken takes fence, scope, release or acquire, a colon and an event");
    return false;
}

typedef bool (*text_fn)(void *ctx, FILE *);

static bool graph_text(void *g, FILE *to) {
    et_graph_print(g, to);
    return true;
}

static bool program_text(void *p, FILE *to) {
    et_program_print(p, to);
    return true;
}

/* To standard output where PATH is "-". */
static bool write_text(text_fn text, void *ctx, const char *path, et_diags *d) {
    et_output f;
    if (strcmp(path, "-") == 0) return text(ctx, stdout);
    bool ok = et_output_open(&f, path) && et_output_close(&f, text(ctx, f.to));
    if (!ok) et_diag(d, ET_ERROR, (et_loc){0}, "%s: %s", path, strerror(errno));
    return ok;
}

/* A name beside OUTPUT: KIND, "html", for what follows its last dot. */
static const char *beside(et_arena *a, const char *output, const char *kind) {
    const char *slash = strrchr(output, '/'), *name = slash ? slash + 1 : output;
    const char *dot = strrchr(name, '.');
    int length = dot && dot > name ? (int)(dot - output) : (int)strlen(output);
    const char *path = et_printf(a, "%.*s.%s", length, output, kind);
    return strcmp(path, output) == 0 ? et_printf(a, "%s.%s", path, kind) : path;
}

struct explained {
    et_program *p;
    et_explain_options opt;
};

static bool explanation(void *ctx, FILE *to) {
    struct explained *e = ctx;
    return et_explain(e->p, &e->opt, to);
}

static bool floor_plan(void *ctx, FILE *to) {
    struct explained *e = ctx;
    return et_floor_plan(e->p, e->opt.machine, e->opt.profile, to);
}

/* What was decided, or the floor plan. */
static bool explain(et_program *p, const et_options *o, const et_pass_options *passes,
                    et_diags *d) {
    et_arena *a = p->g->arena;
    if (!o->explain) return true;
    struct explained e = {p, {o->input, passes->machine, o->times, passes->findings}};
    bool text = strcmp(o->explain, "text") == 0;
    const char *path = o->output ? beside(a, o->output, text ? "txt" : "html") : "-";
    return write_text(text ? explanation : floor_plan, &e, path, d);
}

/* A program that is scheduled stays as it is. */
static bool check_schedule(const et_options *o, et_program *from, et_diags *d) {
    const et_program *p;
    if (!o->schedule || !from || strcmp(from->stage, "scheduled") != 0) return true;
    for (int i = 0; (p = et_program_part(from, i)); i++)
        if (strcmp(p->schedule, o->schedule) != 0) {
            et_diag(d, ET_ERROR, (et_loc){0}, "the input is scheduled already, and %s",
                    p->schedule);
            return false;
        }
    return true;
}

static bool check_explain(const et_options *o, et_diags *d) {
    if (!o->explain || !o->to || strcmp(o->to, "scheduled") == 0) return true;
    if (strcmp(o->explain, "text") == 0 && strcmp(o->to, "graph") != 0) return true;
    et_diag(d, ET_ERROR, (et_loc){0},
            strcmp(o->explain, "text") == 0
                ? "--explain says what was decided: nothing is at stage '%s'"
                : "--explain draws a schedule: there is none at stage '%s'",
            o->to);
    return false;
}

static bool check_stage(const char *to, const et_program *p, et_diags *d) {
    int stage = to ? et_stage_find(to) : 0, from = p ? et_stage_find(p->stage) : 0;
    if (!to || stage >= from) return true;
    if (stage < 0)
        et_diag(d, ET_ERROR, (et_loc){0}, "unknown stage '%s'", to);
    else
        et_diag(d, ET_ERROR, (et_loc){0}, "the input is at stage %s, past '%s'", p->stage, to);
    et_diag(d, ET_NOTE, (et_loc){0},
            "the stages are graph, fused, tiled, evented, placed and scheduled");
    return false;
}

/* The program to generate code for: split into variants where that pays, which is found out with
 * quick passes first. */
static et_program *lower(et_graph *g, et_program *from, const et_options *o,
                         const et_pass_options *passes, et_narrow_fn narrow, void *ctx) {
    et_program *p;
    et_pass_options quick = *passes;
    quick.quick = true;
    quick.dump = quick.to = NULL;
    quick.time_passes = quick.verbose = false;
    if (narrow && o->variants > 1) {
        if (!et_passes_run(g, &quick, &p)) return NULL;
        et_make_variants(p, passes, o->variants, narrow, ctx);
        if (p->nvariants) return p;
    }
    return et_passes_resume(g, from, passes, &p) ? p : NULL;
}

const char *et_schedule_name(int i) {
    static const char *const names[] = {"static", "dynamic", "hybrid"};
    return i >= 0 && i < 3 ? names[i] : NULL;
}

bool et_check_target(const char *name, et_diags *d) {
    if (et_target_find(name)) return true;
    et_diag(d, ET_ERROR, (et_loc){0}, "unknown target '%s'", name);
    for (int i = 0; et_target_name(i); i++)
        et_diag(d, ET_NOTE, (et_loc){0}, "there is %s", et_target_name(i));
    return false;
}

bool et_compile(et_graph *g, et_program *from, const et_options *o, et_diags *d,
                et_narrow_fn narrow, void *ctx) {
    if (!check_dump(o->dump, d) || !check_stage(o->to, from, d) || !check_schedule(o, from, d) ||
        !check_explain(o, d))
        return false;
    if (o->to && strcmp(o->to, "graph") == 0) return write_text(graph_text, g, o->output, d);
    et_findings findings = {0};
    et_pass_options passes = {.machine = o->on ? o->on : et_machine_for(o->target),
                              .dump = o->dump,
                              .dump_to = stdout,
                              .time_passes = o->time_passes,
                              .verbose = o->verbose,
                              .no_verify = o->no_verify,
                              .schedule = o->schedule,
                              .slices = o->slices,
                              .slice_rows = o->slice_rows,
                              .placement = o->placement,
                              .profile = o->times,
                              .findings = o->explain ? &findings : NULL,
                              .to = o->to};
    et_program *p = lower(g, from, o, &passes, narrow, ctx);
    if (!p) return false;
    if (o->times && et_stage_find(p->stage) >= et_stage_find("tiled") &&
        !et_profile_check(o->times, p, passes.machine, d))
        return false;
    if (o->verbose)
        for (int i = 0; i < p->nvariants; i++)
            fprintf(stderr, "%s: variant for %s up to %lld\n", o->input,
                    et_sym_name(g->exprs, p->variant_sym), (long long)p->variant[i].upto);
    if (o->to) return write_text(program_text, p, o->output, d) && explain(p, o, &passes, d);
    if (o->out_program) *o->out_program = p;
    if (!o->output && !o->emit_llvm) return explain(p, o, &passes, d);
    if (!find_event(p, o->break_event, d)) return false;
    et_codegen_options codegen = {.target = et_target_find(o->target),
                                  .output = o->output,
                                  .emit_llvm = o->emit_llvm,
                                  .opt_level = 3,
                                  .break_event = o->break_event,
                                  .device_libs = o->device_libs,
                                  .profile = o->profile_kernel,
                                  .time_passes = o->time_passes};
    if (!find_weaken(p, o->weaken, d, &codegen)) return false;
    et_codegen_info info;
    if (!et_codegen(p, &codegen, &info)) return false;
    if (o->verbose)
        fprintf(stderr,
                "%s: %lld bytes, .text %lld; %d VGPRs, %d AGPRs, %d SGPRs, LDS %d, scratch %d\n",
                o->output ? o->output : o->emit_llvm, (long long)info.file_bytes,
                (long long)info.text_bytes, info.vgprs, info.agprs, info.sgprs, info.lds_bytes,
                info.scratch_bytes);
    return explain(p, o, &passes, d);
}
