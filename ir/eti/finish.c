/* What the whole program must satisfy, and what the text may leave out. */
#include "ir/eti/parser.h"
#include "ir/program/deal.h"
#include "ir/program/tags.h"
#include <stdlib.h>

enum { ALIGN = 256, LINE_WORDS = 32 };

static void error(eti_parser *p, const char *fmt, const char *name) {
    eti_error(p, (et_loc){.file = p->file, .line = 1, .col = 1, .len = 1}, fmt, name);
}

static void name_is_used(eti_parser *p, char sign, const char *name, et_loc loc, const char *what) {
    if (!eti_known(p, sign, name)) eti_error(p, loc, "%s is not in the schedule", what);
}

/* ---- the workspace ---- */

static void note(void *ctx, const et_step *step, int tensor, bool is_store, const et_expr *index) {
    (void)step, (void)is_store, (void)index;
    ((bool *)ctx)[tensor] = true;
}

/* Temporaries without a place follow the others, each for itself: what shares memory is said. */
static void plan_workspace(eti_parser *p) {
    et_program *pr = p->p;
    int64_t end = 0;
    bool *used = et_alloc(p->arena, (size_t)pr->ntensors + 1);
    for (int i = 0; i < pr->nfuncs; i++)
        et_func_accesses(pr, &pr->funcs[i], note, used);
    if (!p->planned && p->stage < ET_STAGE_EVENTED) return;
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < pr->ntensors; i++) {
            et_tensor *t = &pr->tensors[i];
            bool given = i < p->cplaced && p->placed[i];
            if (t->kind != ET_TENSOR_TEMP || given == (pass == 1) || (!given && !used[i])) continue;
            if (!given) t->offset = end;
            int64_t last = used[i] ? t->offset + t->max_bytes : 0;
            if (pr->workspace_bytes && last > pr->workspace_bytes)
                eti_error(p, eti_loc_of(p, '%', t->name), "this ends at %lld, past the workspace",
                          (long long)last);
            last = (last + ALIGN - 1) / ALIGN * ALIGN;
            end = last > end ? last : end;
            if (end > ETI_MAX_BYTES) {
                eti_error(p, eti_loc_of(p, '%', t->name),
                          "this takes the workspace past its largest size");
                return;
            }
        }
    if (!pr->workspace_bytes) pr->workspace_bytes = end;
}

/* ---- events ---- */

static void place_events(eti_parser *p) {
    et_program *pr = p->p;
    int64_t end = ET_EVENT_RESERVED;
    for (int i = 0; i < pr->nevents; i++)
        if (pr->events[i].base >= 0) {
            int64_t last = (int64_t)pr->events[i].base + pr->events[i].words;
            end = last > end ? last : end;
        }
    for (int i = 0; i < pr->nevents; i++) {
        et_event *e = &pr->events[i];
        end = (end + LINE_WORDS - 1) / LINE_WORDS * LINE_WORDS;
        if (end + e->words > 1 << 29) {
            eti_error(p, eti_loc_of(p, 'e', e->name), "too many event counters");
            return;
        }
        if (e->base >= 0) continue;
        e->base = (int)end;
        end += e->words;
    }
    pr->event_words = (int)((end + LINE_WORDS - 1) / LINE_WORDS * LINE_WORDS);
}

static int by_base(const void *a, const void *b) {
    const et_event *const *x = a, *const *y = b;
    return ((*x)->base > (*y)->base) - ((*x)->base < (*y)->base);
}

static void check_overlap(eti_parser *p) {
    int n = p->p->nevents;
    const et_event **v = et_alloc(p->arena, (size_t)(n + 1) * sizeof *v);
    for (int i = 0; i < n; i++)
        v[i] = &p->p->events[i];
    qsort(v, (size_t)n, sizeof *v, by_base);
    for (int i = 1; i < n; i++)
        if (v[i - 1]->base + v[i - 1]->words > v[i]->base)
            eti_error(p, eti_loc_of(p, 'e', v[i]->name), "this begins among the counters of %s",
                      v[i - 1]->name);
}

/* ---- */

static void check_variants(eti_parser *p) {
    et_program *pr = p->p;
    int64_t lo, hi;
    const char *problem = et_tags_shared_problem(pr);
    if (problem) error(p, "%s", problem);
    const et_variant *last = &pr->variant[pr->nvariants - 1];
    if (pr->variant_sym >= 0) et_sym_range(p->x, pr->variant_sym, &lo, &hi);
    if (pr->variant_sym >= 0 && last->upto != hi)
        error(p, "the last variant of %s is not for the largest value of the dim", pr->g->name);
    if (last->most) error(p, "the last variant of %s is not for any workgroups", pr->g->name);
    if (eti_known(p, 's', "schedule") || pr->nfuncs || pr->ngroups || pr->nevents)
        error(p, "%s has variants: all else is part of one of them", pr->g->name);
}

static void check_program(eti_parser *p) {
    et_program *pr = p->p;
    if (!eti_known(p, 's', "schedule")) {
        error(p, "%s has no schedule", pr->g->name);
        return;
    }
    if (!pr->count) error(p, "the schedule of %s is empty", pr->g->name);
    for (int i = 0; i < pr->ngroups; i++)
        name_is_used(p, 't', pr->groups[i].name, pr->groups[i].loc,
                     et_printf(p->arena, "@%s", pr->groups[i].name));
}

void eti_finish(eti_parser *p) {
    if (!*p->g->name) error(p, "%sthe program has no model line", "");
    if (p->stage == ET_STAGE_GRAPH) {
        bool effect = p->g->noutputs > 0;
        for (int i = 0; i < p->g->nnodes; i++)
            effect |= et_writes_state(&p->g->nodes[i]);
        if (!effect) error(p, "%sthe program has no output and updates no state", "");
        return;
    }
    if (p->p->nvariants) {
        check_variants(p);
        return;
    }
    check_program(p);
    plan_workspace(p);
    const char *problem = et_tags_problem(p->p);
    if (problem) error(p, "%s", problem);
    if (!p->errors) problem = et_deal_problem(p->p);
    if (problem) error(p, "%s", problem);
    if (p->stage < ET_STAGE_EVENTED) return;
    place_events(p);
    check_overlap(p);
}
