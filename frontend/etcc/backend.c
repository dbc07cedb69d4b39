/* The graph's way to a code object. */
#include "codegen/codegen.h"
#include "frontend/etcc/driver.h"
#include "ir/eti/eti.h"
#include "passes/explain/explain.h"
#include "passes/explain/floor_plan.h"
#include "passes/passes.h"
#include "passes/pipeline/findings.h"
#include "passes/pipeline/pipeline.h"
#include "runtime/files/output.h"
#include <errno.h>
#include <string.h>

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

/* Drop all waits for the flag-in-data event NAME. */
static void leave_out_waits(et_program *whole, const char *name) {
    et_program *p;
    for (int k = 0; (p = et_program_part(whole, k)); k++)
        for (int i = 0; i < p->ngrids; i++) {
            et_grid *g = &p->grids[i];
            int n = 0;
            for (int w = 0; w < g->nwaits; w++) {
                const et_event *e = &p->events[g->waits[w].event];
                if (!e->unfenced || strcmp(e->name, name) != 0) g->waits[n++] = g->waits[w];
            }
            g->nwaits = n;
        }
}

/* "HOW:EVENT" into the options for codegen; false after an error. */
static bool find_weaken(et_program *p, const char *text, et_diags *d, et_codegen_options *out) {
    static const char *const how[] = {
        [ET_WEAKEN_FENCE] = "fence",     [ET_WEAKEN_SCOPE] = "scope",
        [ET_WEAKEN_RELEASE] = "release", [ET_WEAKEN_ACQUIRE] = "acquire",
        [ET_WEAKEN_HINT] = "hint",       [ET_WEAKEN_TAG] = "tag"};
    if (!text) return true;
    const char *colon = strchr(text, ':');
    for (int i = ET_WEAKEN_FENCE; colon && i <= ET_WEAKEN_TAG; i++) {
        size_t n = strlen(how[i]);
        if (strncmp(text, how[i], n) != 0 || text + n != colon) continue;
        out->weaken = (et_weaken)i;
        out->weaken_event = colon + 1;
        if (out->weaken >= ET_WEAKEN_HINT) leave_out_waits(p, colon + 1);
        return find_event(p, colon + 1, d);
    }
    et_diag(d, ET_ERROR, (et_loc){0},
            "--weaken takes fence, scope, release, acquire, hint or tag, a colon and an event");
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

static bool write_text(text_fn text, void *ctx, const char *path, et_diags *d) {
    et_output f;
    bool ok = et_output_open(&f, path) && et_output_close(&f, text(ctx, f.to));
    if (!ok) et_diag(d, ET_ERROR, (et_loc){0}, "%s: %s", path, strerror(errno));
    return ok;
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

/* The page instead of the text? */
static bool is_page(const char *path) {
    size_t n = strlen(path);
    return n > 5 && strcmp(path + n - 5, ".html") == 0;
}

/* What was decided, or the floor plan. */
static bool explain(et_program *p, const et_options *o, const et_pass_options *passes,
                    const et_codegen_info *made, et_diags *d) {
    if (!o->explain) return true;
    int n = made && made->code ? made->ncode : 0;
    et_explain_code *code = et_alloc(p->g->arena, (size_t)(n + 1) * sizeof *code);
    for (int i = 0; i < n; i++) {
        const et_product_code *c = &made->code[i];
        code[i] = (et_explain_code){{c->instructions[0], c->instructions[1]},
                                    {c->flops[0], c->flops[1]},
                                    c->deeper,
                                    c->codes};
    }
    struct explained e = {p,
                          {.input = o->input,
                           .machine = passes->machine,
                           .profile = o->times,
                           .findings = passes->findings,
                           .code = n ? code : NULL}};
    return write_text(is_page(o->explain) ? floor_plan : explanation, &e, o->explain, d);
}

/* May a program for which ASKED was asked be scheduled like IS? */
static bool may_come_out(et_schedule_kind asked, et_schedule_kind is) {
    bool chosen = et_schedule_of(asked)->queued == ET_QUEUED_CHOSEN;
    return is == asked || (chosen && !et_schedule_of(is)->kernels) ||
           (et_schedule_of(asked)->fixed && is == ET_SCHEDULE_STATIC);
}

/* A program that is scheduled stays as it is. */
static bool check_schedule(const et_options *o, et_program *from, et_diags *d) {
    const et_program *p;
    if (!o->schedule || !from || from->stage != ET_STAGE_SCHEDULED) return true;
    for (int i = 0; (p = et_program_part(from, i)); i++)
        if (!may_come_out(o->schedule, p->schedule)) {
            et_diag(d, ET_ERROR, (et_loc){0}, "the input is scheduled already, and %s",
                    et_schedule_name(p->schedule));
            return false;
        }
    return true;
}

static bool check_explain(const et_options *o, et_diags *d) {
    bool page = o->explain && is_page(o->explain);
    et_stage least = page ? ET_STAGE_SCHEDULED : ET_STAGE_FUSED;
    if (!o->explain || !o->to || o->to >= least) return true;
    et_diag(d, ET_ERROR, (et_loc){0},
            page ? "--explain draws a schedule: there is none at stage '%s'"
                 : "--explain says what was decided: nothing is at stage '%s'",
            et_stage_name(o->to));
    return false;
}

static bool check_stage(et_stage to, const et_program *p, et_diags *d) {
    if (!to || !p || to >= p->stage) return true;
    et_diag(d, ET_ERROR, (et_loc){0}, "the input is at stage %s, past '%s'",
            et_stage_name(p->stage), et_stage_name(to));
    return false;
}

/* Where that is decided task by task, all may turn out to go the same way: which one, or NONE. */
static et_schedule_kind came_out(const et_options *o, et_program *whole) {
    const et_program *p;
    et_schedule_kind all = et_program_part(whole, 0)->schedule;
    for (int i = 1; (p = et_program_part(whole, i)); i++)
        if (p->schedule != all) return ET_SCHEDULE_NONE;
    bool one = et_schedule_of(o->schedule)->queued == ET_QUEUED_CHOSEN &&
               et_schedule_of(all)->queued != ET_QUEUED_CHOSEN &&
               whole->stage == ET_STAGE_SCHEDULED;
    return one ? all : ET_SCHEDULE_NONE;
}

static void tell_schedule(const et_options *o, et_program *whole) {
    et_schedule_kind all = came_out(o, whole);
    if (all)
        fprintf(stderr, "%s: note: --schedule=%s came out %s: that costs less for every task\n",
                o->input, et_schedule_name(o->schedule), et_schedule_name(all));
}

static et_program *lower_once(et_graph *g, et_program *from, const et_options *o,
                              const et_pass_options *passes, et_narrow_fn narrow, void *ctx) {
    int variants = o->resident && g->nmodels ? 1 : o->variants;
    const et_widths *widths = o->widths.n ? &o->widths : NULL;
    et_program *p = narrow ? et_make_variants(g, passes, variants, widths, narrow, ctx) : NULL;
    if (et_diag_errors(g->diags)) return NULL; /* variants add up in other orders */
    if (p) return p;
    return from                              ? et_passes_resume(g, from, passes, &p) ? p : NULL
           : et_passes_beside(g, passes, &p) ? p
                                             : NULL;
}

/* P, which was made with a weight stream, or the same without one, whose tiles are claimed. */
static et_program *stream_or_claim(et_graph *g, et_program *p, const et_options *o,
                                   const et_pass_options *by) {
    et_pass_options claims = *by;
    et_planned *on = et_alloc(g->arena, sizeof *on);
    if (!p || !et_streams_unevenly(p, by)) return p;
    claims.without |= (et_features)1 << ET_FEATURE_STREAM;
    et_plan_for(&claims, by->machine, by->machine->plans->target, on);
    et_program *claimed = lower_once(g, NULL, o, &claims, NULL, NULL);
    return claimed && et_is_better_claimed(claimed, &claims, p, by) ? claimed : p;
}

/* Does the source ask for a queue, which the passes are not to choose instead of it? */
static bool asks_for_queue(const et_graph *g) {
    bool asks = false;
    for (int i = 0; i < g->nnodes; i++)
        asks |= et_attr_int(&g->nodes[i], "dynamic", 0);
    return asks;
}

/* The program to generate code for: split into variants where that pays. Where tasks may be queued
 * or not, all may be claimed or dealt: tiles, and a weight stream, are others where it is known
 * from the start that no task is queued. A queue is compared with claims alone: the simulator does
 * not see how uneven tiles are where a tensor decides, which both even out. */
static et_program *lower(et_graph *g, et_program *from, const et_options *o,
                         const et_pass_options *passes, et_narrow_fn narrow, void *ctx) {
    et_program *p = lower_once(g, from, o, passes, narrow, ctx);
    et_pass_options fixed = *passes;
    if (!p || from || et_schedule_of(o->schedule)->queued != ET_QUEUED_CHOSEN ||
        p->stage != ET_STAGE_SCHEDULED)
        return p;
    bool queued = came_out(o, p) != ET_SCHEDULE_STATIC;
    if (queued && asks_for_queue(g)) return p;
    fixed.schedule = ET_SCHEDULE_CLAIMED;
    fixed.claims_chosen = true;
    et_program *claimed = lower_once(g, NULL, o, &fixed, narrow, ctx);
    if (queued && claimed &&
        (came_out(o, claimed) == ET_SCHEDULE_STATIC ||
         !et_is_better_than_queued(claimed, &fixed, p, passes)))
        return p;
    return stream_or_claim(g, claimed, o, &fixed);
}

bool et_check_target(const char *name, et_diags *d) {
    if (et_target_find(name)) return true;
    et_diag(d, ET_ERROR, (et_loc){0}, "unknown target '%s'", name);
    for (int i = 0; et_target_name(i); i++)
        et_diag(d, ET_NOTE, (et_loc){0}, "there is %s", et_target_name(i));
    return false;
}

/* Registers are of two or three kinds, of one, or not known before the file is loaded. */
static void tell_made(const char *path, const et_codegen_info *info) {
    fprintf(stderr, "%s: %lld bytes", path, (long long)info->file_bytes);
    if (info->text_bytes) fprintf(stderr, ", .text %lld", (long long)info->text_bytes);
    fprintf(stderr, "; ");
    if (info->sgprs)
        fprintf(stderr, "%d VGPRs, %d AGPRs, %d SGPRs, ", info->vgprs, info->agprs, info->sgprs);
    else if (info->vgprs)
        fprintf(stderr, "%d registers, ", info->vgprs);
    fprintf(stderr, "LDS %d", info->lds_bytes);
    if (info->vgprs) fprintf(stderr, ", scratch %d", info->scratch_bytes);
    fprintf(stderr, "\n");
}

/* Device memory at the upper bounds of the dims: weights once, the rest for every session. */
static void tell_memory(const char *path, et_program *whole) {
    int64_t bytes[ET_TENSOR_STATE + 1] = {0}, workspace = 0, host = 0;
    const et_program *p;
    for (int i = 0; i < whole->ntensors; i++)
        if (whole->tensors[i].host)
            host += whole->tensors[i].max_bytes;
        else if (whole->tensors[i].kind <= ET_TENSOR_STATE)
            bytes[whole->tensors[i].kind] += whole->tensors[i].max_bytes;
    for (int i = 0; (p = et_program_part(whole, i)); i++)
        workspace = p->workspace_bytes > workspace ? p->workspace_bytes : workspace;
    fprintf(stderr,
            "%s: device memory: weights %lld; per session: states %lld, inputs %lld, outputs %lld, "
            "workspace %lld\n",
            path, (long long)bytes[ET_TENSOR_WEIGHT], (long long)bytes[ET_TENSOR_STATE],
            (long long)bytes[ET_TENSOR_INPUT], (long long)bytes[ET_TENSOR_OUTPUT],
            (long long)workspace);
    if (host) fprintf(stderr, "%s: host memory: weights %lld\n", path, (long long)host);
}

/* Entries of tables change between launches, and what is known of zeros is known by matrix. */
static bool check_host(const et_program *p, const et_options *o, et_diags *d) {
    const char *with = o->resident ? "--resident" : o->sparse ? "--sparse" : NULL;
    for (int t = 0; with && t < p->ntensors; t++)
        if (p->tensors[t].host) {
            et_diag(d, ET_ERROR, (et_loc){0},
                    "%s with weights in host memory (--experts-on=host) is not supported", with);
            return false;
        }
    return true;
}

static void tell_variant(const et_options *o, const et_program *p, const et_variant *v) {
    fprintf(stderr, "%s: variant", o->input);
    if (p->variant_sym >= 0)
        fprintf(stderr, " for %s up to %lld", et_sym_name(p->g->exprs, p->variant_sym),
                (long long)v->upto);
    if (v->most) fprintf(stderr, " on %d to %d workgroups", v->least, v->most);
    fprintf(stderr, "\n");
}

/* Widths are of one model, whose tiles are not chosen yet, and narrower than the machine. */
static bool check_widths(const et_graph *g, bool lowered, const et_options *o, const et_machine *m,
                         et_diags *d) {
    const et_widths *w = &o->widths;
    const char *why = !w->n        ? NULL
                      : g->nmodels ? "of several models, each has its part of the workgroups"
                      : lowered    ? "the input is past stage graph"
                                   : NULL;
    if (why) et_diag(d, ET_ERROR, (et_loc){0}, "--widths: %s", why);
    for (int i = 0; i < w->n && !why; i++)
        if (w->cus[i] >= m->cus || w->cus[i] % m->dies) {
            why = "";
            et_diag(d, ET_ERROR, (et_loc){0},
                    "--widths: %d are not fewer CUs than the %d of %s, as many on each of its %d "
                    "die%s",
                    w->cus[i], m->cus, m->name, m->dies, m->dies == 1 ? "" : "s");
        }
    if (!why && w->n && (o->variants + 1) * (w->n + 1) > ET_MAX_VARIANTS) {
        why = "";
        et_diag(
            d, ET_ERROR, (et_loc){0},
            "--widths: %d variants for each of them and for all CUs, and one more for a value of "
            "1, are more than %d",
            o->variants, ET_MAX_VARIANTS);
    }
    return !why;
}

bool et_compile(et_graph *g, et_program *from, const et_options *o, et_diags *d,
                et_narrow_fn narrow, void *ctx) {
    if (!check_stage(o->to, from, d) || !check_schedule(o, from, d) || !check_explain(o, d))
        return false;
    if (o->to == ET_STAGE_GRAPH) return write_text(graph_text, g, o->output, d);
    et_findings findings = {0};
    const et_target *target = et_target_find(o->target);
    et_planned on;
    et_pass_options passes = {.dump = o->dump,
                              .dump_to = stdout,
                              .time_passes = o->time_passes,
                              .verbose = o->verbose,
                              .unverified = o->unverified,
                              .schedule = o->schedule,
                              .without = o->without,
                              .same_sums = o->same_sums,
                              .packed = o->sparse == ET_SPARSE_2_4 && et_target_packs(target),
                              .zeros = o->sparse == ET_SPARSE_ZEROS,
                              .resident = o->resident,
                              .keep_order = o->sparse != ET_SPARSE_NONE,
                              .flags = o->flags,
                              .exchange = o->exchange,
                              .parts = o->parts,
                              .experts_on_host = o->experts_on == ET_EXPERTS_ON_HOST,
                              .slices = o->slices,
                              .slice_rows = o->slice_rows,
                              .placement = o->placement,
                              .profile = o->times,
                              .findings = o->explain ? &findings : NULL,
                              .to = o->to};
    et_plan_for(&passes, o->on ? o->on : et_machine_for(o->target), target, &on);
    if (!check_widths(g, from || !narrow, o, passes.machine, d)) return false;
    et_program *p = lower(g, from, o, &passes, narrow, ctx);
    if (!p || !check_host(p, o, d)) return false;
    if (o->notes) tell_schedule(o, p);
    if (o->times && p->stage >= ET_STAGE_TILED && !et_profile_check(o->times, p, passes.machine, d))
        return false;
    if (o->verbose)
        for (int i = 0; i < p->nvariants; i++)
            tell_variant(o, p, &p->variant[i]);
    if (o->to) return write_text(program_text, p, o->output, d) && explain(p, o, &passes, NULL, d);
    if (o->out_program) *o->out_program = p;
    if (!o->output && !o->emit_llvm) return explain(p, o, &passes, NULL, d);
    if (!find_event(p, o->break_event, d)) return false;
    if (o->resident) et_find_paces(p, &passes);
    et_codegen_options codegen = {.target = &on.target,
                                  .output = o->output,
                                  .emit_llvm = o->emit_llvm,
                                  .unoptimised = o->unoptimised,
                                  .emit_loops = o->emit_loops,
                                  .opt_level = 3,
                                  .break_event = o->break_event,
                                  .device_libs = o->device_libs,
                                  .assembler = o->assembler,
                                  .sparse = (et_sparse)o->sparse,
                                  .profile = o->profile_kernel,
                                  .resident = o->resident,
                                  .count = o->explain && !is_page(o->explain),
                                  .time_passes = o->time_passes};
    if (!find_weaken(p, o->weaken, d, &codegen)) return false;
    et_codegen_info info;
    if (!et_codegen(p, &codegen, &info)) return false;
    if (o->sparse == ET_SPARSE_2_4 && !info.packed)
        fprintf(stderr,
                "%s: note: --sparse=2:4 changes nothing: no product for %s reads weights packed\n",
                o->input, passes.machine->target);
    if (o->verbose) tell_made(o->output ? o->output : o->emit_llvm, &info);
    if (o->verbose) tell_memory(o->output ? o->output : o->emit_llvm, p);
    return explain(p, o, &passes, &info, d);
}
