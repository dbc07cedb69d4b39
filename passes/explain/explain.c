#include "ir/eti/eti.h"
#include "passes/explain/int.h"
#include <stdlib.h>
#include <string.h>

const char *explain_us(const struct explain *e, double us) {
    if (us >= 10000) return et_printf(e->arena, "%.1f ms", us / 1e3);
    return et_printf(e->arena, us < 10 ? "%.2f us" : "%.1f us", us);
}

const char *explain_bytes(const struct explain *e, double bytes) {
    if (bytes >= 1e9) return et_printf(e->arena, "%.2f GB", bytes / 1e9);
    if (bytes >= 1e5) return et_printf(e->arena, "%.1f MB", bytes / 1e6);
    return et_printf(e->arena, "%.1f KB", bytes / 1e3);
}

const char *explain_dims(const struct explain *e, const int64_t *syms) {
    const char *text = NULL;
    for (int i = 0; i < et_sym_count(e->x); i++)
        text = et_printf(e->arena, "%s%s%s = %lld", text ? text : "", text ? ", " : "",
                         et_sym_name(e->x, i), (long long)syms[i]);
    return text ? text : "any launch";
}

const et_group *explain_group(const struct explain *e, const et_grid *g) {
    for (int i = 0; i < e->p->ngroups; i++)
        if (strcmp(e->p->groups[i].name, g->name) == 0) return &e->p->groups[i];
    return NULL;
}

const char *explain_line(const struct explain *e, et_loc at) {
    return at.line ? et_printf(e->arena, " (line %d)", at.line) : "";
}

double explain_cus(const struct explain *e, const et_grid *g) {
    double n = e->m->cus;
    const et_graph *gr = e->p->g;
    if (gr->nmodels && gr->model[g->model].share.to)
        n *= (gr->model[g->model].share.to - gr->model[g->model].share.from) * 1e-6;
    if (g->range.to && !g->dynamic) n *= (g->range.to - g->range.from) * 1e-6;
    return n < 1 ? 1 : (double)(int64_t)(n + 0.5);
}

static void choose_samples(struct explain *e) {
    int64_t all[ET_SAMPLES][ET_MAX_SYMS];
    size_t bytes = (size_t)et_sym_count(e->x) * sizeof **all;
    et_sample_symbols(e->x, all);
    et_profile_symbols(e->opt->profile, e->p, all[1]);
    for (int i = 0; i < ET_SAMPLES; i++) {
        bool again = e->nsamples && memcmp(all[i], e->syms[e->nsamples - 1], bytes) == 0;
        if (!again) memcpy(e->syms[e->nsamples++], all[i], sizeof *all);
        if (i == 1) e->middle = e->nsamples - 1;
    }
}

static void explain_part(et_program *p, int first_task, const et_explain_options *opt,
                         et_arena *arena, FILE *to) {
    struct explain e = {.p = p,
                        .x = p->g->exprs,
                        .arena = arena,
                        .opt = opt,
                        .m = opt->machine,
                        .found = et_finding_of(opt->findings, p->g),
                        .first_task = first_task,
                        .to = to};
    choose_samples(&e);
    if (p->stage >= ET_STAGE_TILED) explain_time(&e);
    explain_devices(&e);
    explain_fusion(&e);
    if (p->stage >= ET_STAGE_TILED) explain_tiles(&e);
    if (p->stage >= ET_STAGE_TILED) explain_quantised(&e);
    if (p->stage >= ET_STAGE_EVENTED) explain_events(&e);
    if (p->stage >= ET_STAGE_PLACED) explain_place(&e);
}

static void put_head(const et_program *p, const et_explain_options *opt, FILE *to) {
    const et_machine *m = opt->machine;
    const et_graph *g = p->g;
    fprintf(to, "%s: model %s", opt->input, g->name);
    if (g->nmodels) {
        fprintf(to, ", of %d models that share the kernel:", g->nmodels);
        for (int i = 0; i < g->nmodels; i++)
            fprintf(to, "%s %s", i ? "," : "", g->model[i].name);
    }
    fprintf(to, ". For %s, %d CUs in %d die%s (%s).\n", m->name, m->cus, m->dies,
            m->dies == 1 ? "" : "s", m->target);
    if (opt->profile)
        fprintf(to,
                "Times are predicted, from the profile %s where it has the task and from the "
                "machine's description otherwise; none is measured by this.\n",
                opt->profile->file);
    else
        fprintf(to, "Every time and size here is predicted, from the machine's description "
                    "(--machine); none is measured.\n");
    fprintf(to, "Words are explained in GLOSSARY.md (ir/ of the sources, share/doc/etcc).\n");
    if (p->stage != ET_STAGE_SCHEDULED) {
        fprintf(to, "The program is at stage %s: later decisions are not shown.\n",
                et_stage_name(p->stage));
        return;
    }
    const et_program *first = p->nvariants ? p->variant[0].program : p;
    const et_schedule *s = et_schedule_of(first->schedule);
    fprintf(to, "Schedule: %s, %s (--schedule).\n", s->name, s->means);
}

static void put_variants(const et_program *p, FILE *to) {
    if (!p->nvariants) return;
    fprintf(to, "The kernel has %d variants, chosen at launch", p->nvariants);
    if (p->variant_sym >= 0)
        fprintf(to,
                " by %s: one tiling for all its values is predicted to be over 3 %% slower for "
                "some (--variants)",
                et_sym_name(p->g->exprs, p->variant_sym));
    if (p->variant[0].most)
        fprintf(to, "%s by the CUs that a launch has (--widths)",
                p->variant_sym < 0 ? "" : ", and");
    fprintf(to, ".\n");
}

static void put_variant(const et_program *p, int i, FILE *to) {
    int64_t lo, hi;
    fprintf(to, "\n========");
    if (p->variant_sym >= 0) {
        et_variant_range(p, i, &lo, &hi);
        fprintf(to, " %s in %lld..%lld", et_sym_name(p->g->exprs, p->variant_sym), (long long)lo,
                (long long)hi);
    }
    const et_variant *v = &p->variant[i];
    if (v->most) fprintf(to, " on %d..%d CUs", v->least, v->most);
    fprintf(to, " ========\n");
}

static void put_all(et_program *p, const et_explain_options *opt, FILE *to) {
    et_arena *arena = et_arena_create();
    et_program *part;
    int tasks = 0;
    put_head(p, opt, to);
    put_variants(p, to);
    for (int i = 0; (part = et_program_part(p, i)); i++) {
        et_explain_options on = *opt;
        et_machine m = *opt->machine;
        if (p->nvariants) put_variant(p, i, to);
        if (p->nvariants && p->variant[i].most) m.cus = p->variant[i].most;
        on.machine = &m;
        explain_part(part, tasks, &on, arena, to);
        tasks += part->ngrids;
    }
    et_arena_destroy(arena);
}

/* ---- lines ---- */

enum { WIDTH = 100 };

/* A line of N bytes, wrapped; the lines behind the first are indented. */
static void put_line(const char *line, size_t n, FILE *to) {
    size_t indent = strspn(line, " "), from = indent, room = WIDTH - indent;
    int in = (int)indent;
    while (n - from > room) {
        size_t end = from + room;
        while (end > from && line[end] != ' ')
            end--;
        if (end == from) break; /* one long word */
        fprintf(to, "%*s%.*s\n", in, "", (int)(end - from), line + from);
        from = end + strspn(line + end, " ");
        in = (int)indent + 4;
        room = WIDTH - indent - 4;
    }
    fprintf(to, "%*s%.*s\n", n > from ? in : 0, "", (int)(n - from), line + from);
}

bool et_explain(et_program *p, const et_explain_options *opt, FILE *to) {
    char *text = NULL;
    size_t bytes;
    FILE *all = open_memstream(&text, &bytes);
    if (!all) return false;
    put_all(p, opt, all);
    bool ok = fclose(all) == 0;
    for (const char *at = text; ok && *at;) {
        size_t n = strcspn(at, "\n");
        put_line(at, n, to);
        at += n + (at[n] == '\n');
    }
    free(text);
    return ok;
}
