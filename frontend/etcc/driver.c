#include "frontend/etcc/driver.h"
#include "frontend/frontend.h"
#include "frontend/syntax/ast.h"
#include "ir/base/clock.h"
#include "ir/base/stack.h"
#include "ir/eti/eti.h"
#include "passes/divide/divide.h"
#include "passes/divide/stage.h"
#include "runtime/files/input.h"
#include "runtime/files/output.h"
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static void complain(et_diags *d, const char *path, const char *what) {
    et_diag(d, ET_ERROR, (et_loc){0}, "%s: %s", path, what);
}

static char *read_input(et_arena *arena, et_diags *d, const char *path, size_t *out_bytes) {
    char why[ET_WHY], *data = et_file_read(path, ET_MAX_SOURCE, out_bytes, why);
    if (!data) {
        complain(d, path, why);
        return NULL;
    }
    char *text = et_strndup(arena, data, *out_bytes);
    free(data);
    return text;
}

struct source {
    et_arena *arena;
    const char *name, *text;
    size_t bytes;
    const et_options *o;
    et_source *mix; /* of several models, or NULL */
    int nmix;
    const et_machine *on; /* what devices are to do is decided for */
    et_divided divided;
};

static bool give_wishes(et_graph *, et_diags *, const et_options *);

/* Of a model what one kernel of several computes, and of that, unless it is to be WHOLE, what one
 * device does. */
static bool take_part(et_graph *g, struct source *s, bool whole) {
    const et_options *o = s->o;
    return et_take_stage(g, o->stage, o->stages) &&
           (whole || et_divide(g, o->devices, s->on, o->gather, &s->divided));
}

/* The text was parsed without errors before: diagnostics here would only repeat warnings. */
static et_graph *narrow(void *ctx, const char *dim, int64_t lo, int64_t hi, bool whole) {
    struct source *s = ctx;
    et_dim_range range = {dim, lo, hi};
    et_program *p;
    et_diags *quiet = et_diags_create(s->arena);
    et_graph *g;
    if (s->mix)
        g = et_parse_etg_mix(s->arena, quiet, s->nmix, s->mix, &range);
    else if (et_eti_looks(s->text, s->bytes))
        g = et_eti_parse_narrow(s->arena, quiet, s->name, s->text, s->bytes, dim, lo, hi, &p);
    else
        g = et_parse_etg_narrow(s->arena, quiet, s->name, s->text, s->bytes, &range);
    return g && give_wishes(g, quiet, s->o) && take_part(g, s, whole) ? g : NULL;
}

/* PATH with ".TARGET" before its extension. */
static const char *path_for(et_arena *arena, const char *path, const char *target) {
    if (!path || strcmp(path, "-") == 0) return path;
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    if (!dot || dot == name) dot = path + strlen(path);
    return et_printf(arena, "%.*s.%s%s", (int)(dot - path), path, target, dot);
}

enum { MAX_TARGETS = 16 };

/* Inputs are read before anything is written, and then an output would be gone: nothing of O may be
 * another. */
static bool check_files(et_diags *d, const et_options *o) {
    const char *out[] = {o->output, o->emit_llvm, o->emit_loops, o->explain};
    enum { OUTS = sizeof out / sizeof *out };
    for (int i = 0; i < OUTS; i++) {
        for (int k = 0; out[i] && k < i; k++)
            if (out[k] && et_same_file(out[i], out[k])) {
                complain(d, out[i], "two outputs would be one file");
                return false;
            }
        for (int k = -3; out[i] && k < o->nothers; k++) {
            const char *in = k == -3   ? o->profile
                             : k == -2 ? o->machine
                             : k < 0   ? o->input
                                       : o->others[k];
            if (!in || !et_same_file(in, out[i])) continue;
            complain(d, in, "the output would replace the input");
            return false;
        }
    }
    return true;
}

/* O once for each target it names; 0 after an error. */
static int each_target(et_arena *arena, et_diags *d, const et_options *o,
                       et_options out[MAX_TARGETS]) {
    int n = 0;
    bool list = strchr(o->target, ',') != NULL;
    char *rest = et_strndup(arena, o->target, strlen(o->target));
    for (char *name; (name = strsep(&rest, ","));) {
        if (!et_check_target(name, d)) return 0;
        if (o->on && strcmp(o->on->target, name) != 0) {
            et_diag(d, ET_ERROR, (et_loc){0}, "machine %s is a %s, the code is for %s", o->on->name,
                    o->on->target, name);
            return 0;
        }
        for (int i = 0; i < n; i++)
            if (strcmp(out[i].target, name) == 0) {
                et_diag(d, ET_ERROR, (et_loc){0}, "target %s is named twice", name);
                return 0;
            }
        if (n == MAX_TARGETS) return 0; /* there are not that many different ones */
        out[n] = *o;
        out[n].target = name;
        if (list) {
            out[n].output = path_for(arena, o->output, name);
            out[n].emit_llvm = path_for(arena, o->emit_llvm, name);
            out[n].emit_loops = path_for(arena, o->emit_loops, name);
            out[n].explain = path_for(arena, o->explain, name);
        }
        if (!check_files(d, &out[n])) return 0;
        n++;
    }
    return n;
}

/* The options with the machine, target and profile that they mean; false after an error. */
static bool resolve(et_arena *arena, et_diags *d, et_options *o) {
    if (o->machine && !(o->on = et_machine_find(arena, d, o->machine, NULL))) return false;
    if (!o->target) o->target = (o->on ? o->on : et_machine_default())->target;
    return !o->profile || (o->times = et_profile_read(arena, d, o->profile));
}

/* ---- several models ---- */

static int model_named(const et_graph *g, const char *name) {
    for (int i = 0; i < g->nmodels; i++)
        if (strcmp(g->model[i].name, name) == 0) return i;
    return -1;
}

/* What OPTION=MODEL=VALUE says of a model: to the place OF, in its struct. */
struct wish {
    const char *option;
    const cli_list *given;
    size_t of;
};

static bool give_wish(et_graph *g, et_diags *d, const struct wish *w, const cli_item *item,
                      bool given[ET_MAX_MODELS]) {
    const char *why = NULL;
    char *end;
    double value = strtod(item->value, &end);
    int m = model_named(g, item->text);
    if (*end || !(value > 0 && value < 1e6))
        why = "write MODEL=NUMBER, with a number above 0 and below a million";
    else if (!g->nmodels)
        why = "that is for several models that share a kernel";
    else if (m < 0)
        why = "there is no model of that name";
    else if (given[m])
        why = "a second time for this model";
    if (why) {
        et_diag(d, ET_ERROR, (et_loc){0}, "--%s=%s=%s: %s", w->option, item->text, item->value,
                why);
        for (int i = 0; m < 0 && i < g->nmodels; i++)
            et_diag(d, ET_NOTE, (et_loc){0}, "there is %s", g->model[i].name);
        return false;
    }
    given[m] = true;
    *(double *)(void *)((char *)&g->model[m] + w->of) = value;
    return true;
}

/* Latencies are for plans, which only kernels that stay have. */
static bool give_wishes(et_graph *g, et_diags *d, const et_options *o) {
    const struct wish wishes[] = {
        {"weight", &o->weights, offsetof(et_model, weight)},
        {"latency", &o->latencies, offsetof(et_model, latency_us)},
    };
    bool ok = true;
    for (size_t k = 0; k < sizeof wishes / sizeof *wishes; k++) {
        bool given[ET_MAX_MODELS] = {false};
        for (int i = 0; i < wishes[k].given->n; i++)
            ok &= give_wish(g, d, &wishes[k], &wishes[k].given->at[i], given);
    }
    if (ok && o->latencies.n && !o->resident) {
        et_diag(d, ET_ERROR, (et_loc){0}, "--latency goes with --resident");
        return false;
    }
    return ok;
}

static et_graph *read_mix(et_arena *arena, et_diags *d, const et_options *o, struct source *out) {
    if (o->nothers >= ET_MAX_MODELS) {
        et_diag(d, ET_ERROR, (et_loc){0}, "%d models: at most %d share a kernel", o->nothers + 1,
                ET_MAX_MODELS);
        return NULL;
    }
    if (!out->mix) out->mix = et_alloc(arena, ET_MAX_MODELS * sizeof *out->mix);
    out->nmix = o->nothers + 1;
    for (int i = 0; i < out->nmix; i++) {
        et_source *s = &out->mix[i];
        s->name = i ? o->others[i - 1] : o->input;
        if (!s->text) s->text = read_input(arena, d, s->name, &s->bytes);
        if (!s->text) return NULL;
        if (!et_eti_looks(s->text, s->bytes)) continue;
        complain(d, s->name, "models that are to share a kernel are given as .etg");
        et_diag(d, ET_NOTE, (et_loc){0}, "one .eti can hold several models: see 'part' in ETI.md");
        return NULL;
    }
    return et_parse_etg_mix(arena, d, out->nmix, out->mix, NULL);
}

/* What O names, at whatever stage it is: *OUT_PROGRAM is NULL for a graph. */
static et_graph *read_program(et_arena *arena, et_diags *d, const et_options *o, struct source *s,
                              et_program **out_program) {
    et_graph *g;
    *out_program = NULL;
    if (o->nothers) {
        g = read_mix(arena, d, o, s);
    } else {
        if (!s->text) s->text = read_input(arena, d, o->input, &s->bytes);
        if (!s->text) return NULL;
        g = et_eti_looks(s->text, s->bytes)
                ? et_eti_parse(arena, d, o->input, s->text, s->bytes, out_program)
                : et_parse_etg(arena, d, o->input, s->text, s->bytes);
    }
    if (!g || !give_wishes(g, d, o)) return NULL;
    const char *why =
        *out_program ? "--devices is for a program at stage graph, and not after it"
        : o->slices  ? "--devices with --slices is not supported yet"
        : o->sparse  ? "--devices with --sparse is not supported yet"
        : o->schedule == ET_SCHEDULE_KERNELS
            ? "--devices with --schedule=kernels is not supported: sums are exchanged "
              "inside of one kernel"
            : NULL;
    if (o->devices > 1 && why) {
        complain(d, o->input, why);
        return NULL;
    }
    if (o->stages > 1 && *out_program) {
        complain(d, o->input, "--layers is for a program at stage graph, and not after it");
        return NULL;
    }
    return take_part(g, s, false) ? g : NULL;
}

/* The machine that EACH of the targets is compiled for, as far as its CUs are shared with others:
 * as the text of P says, or the command line. */
static bool share_machines(et_arena *arena, et_diags *d, et_program *p, int targets,
                           et_options each[MAX_TARGETS]) {
    int said = p ? et_program_part(p, 0)->occupancy : 0;
    for (int i = 0; i < targets; i++) {
        int asked = each[i].occupancy;
        if (said && asked && asked != said) {
            et_diag(d, ET_ERROR, (et_loc){0}, "--occupancy=%d: the text is for %d on a CU", asked,
                    said);
            return false;
        }
        const et_machine *m = each[i].on ? each[i].on : et_machine_for(each[i].target);
        int occupancy = said ? said : asked ? asked : 1;
        if (occupancy > 1 && !(each[i].on = et_machine_share(arena, d, m, occupancy))) return false;
    }
    return true;
}

static bool run(et_arena *arena, et_diags *d, const et_options *given) {
    et_options each[MAX_TARGETS], options = *given;
    const et_options *o = &options;
    int targets = resolve(arena, d, &options) ? each_target(arena, d, o, each) : 0;
    if (!targets) return false;
    double t = et_seconds();
    struct source source = {.arena = arena, .name = o->input, .o = o};
    source.on = o->on ? o->on : et_machine_for(each[0].target);
    et_program *p = NULL;
    et_graph *g = read_program(arena, d, o, &source, &p);
    if (!g || !share_machines(arena, d, p, targets, each)) return false;
    if (o->time_passes) fprintf(stderr, "%8.3f ms  parse\n", 1e3 * (et_seconds() - t));
    if (o->verbose && !p)
        fprintf(stderr, "%s: model %s: %d values, %d nodes, %d loops\n", o->input, g->name,
                g->nvals - 1, g->nnodes, g->nloops);
    if (!p && o->dump && strcmp(o->dump, "graph") == 0 && !o->output && !o->emit_llvm) {
        et_graph_print(g, stdout);
        return true;
    }
    bool variants = !p;
    for (int i = 0; i < targets; i++) {
        /* Passes change it, and placement what several models have of the workgroups. */
        if (i && (!variants || g->nmodels)) g = read_program(arena, d, o, &source, &p);
        if (!g || !et_compile(g, p, &each[i], d, variants ? narrow : NULL, &source)) return false;
    }
    return true;
}

struct drive {
    et_arena *arena;
    et_diags *d;
    const et_options *o;
    bool ok;
};

static void drive(void *ctx) {
    struct drive *v = ctx;
    v->ok = run(v->arena, v->d, v->o);
}

bool et_drive(const et_options *o) {
    et_arena *arena = o->arena ? o->arena : et_arena_create();
    et_diags *d = et_diags_create(arena);
    struct drive v = {arena, d, o, false};
    et_with_stack(drive, &v);
    bool ok = v.ok;
    if ((o->dump || o->to || o->explain) && (fflush(stdout) != 0 || ferror(stdout))) {
        complain(d, "standard output", strerror(errno));
        ok = false;
    }
    et_diag_print(d, stderr);
    if (!o->arena) et_arena_destroy(arena);
    return ok;
}
