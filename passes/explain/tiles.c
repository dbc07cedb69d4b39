/* How every task was cut into tiles, and by which values; the events between them. */
#include "ir/program/step.h"
#include "passes/explain/int.h"
#include "passes/tile/tile.h"
#include <string.h>

/* "16 x 48 elements of h": what the last step that stores does. */
static const char *stored(const struct explain *e, const et_func *f) {
    const char *text = NULL;
    const et_step *s = f->steps + f->nsteps;
    const et_place *to = NULL;
    while (s > f->steps && (!to || to->space != ET_LOAD_TENSOR))
        to = et_step_to(--s);
    if (!to || to->space != ET_LOAD_TENSOR) return NULL;
    for (int i = 0; i < s->nvars; i++) {
        int64_t n;
        if (!et_is_int(e->x, et_var_extent(e->x, s->vars[i]), &n)) return NULL;
        text = et_printf(e->arena, "%s%s%lld", text ? text : "", text ? " x " : "", (long long)n);
    }
    return et_printf(e->arena, "%s element%s of %s", text ? text : "1", text ? "s" : "",
                     e->p->tensors[to->id].name);
}

/* How attention is done on the target, by its plan. */
static void put_attend(const struct explain *e, const et_attend_plan *w) {
    static const char *const by[] = {
        [ET_ATTEND_BY_LANES] = "by lanes, each group of them",
        [ET_ATTEND_BY_COLUMNS] = "by matrix instructions whose columns are heads, each wave",
        [ET_ATTEND_BY_ROWS] = "by matrix instructions,",
        [ET_ATTEND_BY_WARPGROUP] = "by warpgroup MMA,",
    };
    fprintf(e->to, ", %s %d positions at a time", by[w->by], w->block.positions);
    if (w->block.depth > 1) fprintf(e->to, ", the next in flight");
    if (w->early == ET_ATTEND_EARLY_PREFETCH)
        fprintf(e->to, ", keys and values prefetched before waits");
}

static void put_products(const struct explain *e, const et_func *f, const et_group *gr) {
    for (int i = 0; i < f->nsteps; i++) {
        const et_step *s = &f->steps[i];
        if (s->kind == ET_STEP_ATTEND)
            fprintf(e->to, "; attention of %d head%s of %d", s->heads, s->heads == 1 ? "" : "s",
                    s->depth);
        if (s->rows) fprintf(e->to, ", %d rows of queries", s->rows);
        if (s->attend.made) put_attend(e, &s->attend);
        if (et_step_is_part(f, s) && gr)
            fprintf(e->to, ", split by positions in %d parts, chosen for a context of %lld",
                    gr->parts, (long long)et_assumed_context(e->p, gr));
        if (s->kind != ET_STEP_CONTRACT) continue;
        fprintf(e->to, "; ");
        if (s->nacc > 1) fprintf(e->to, "%d ", s->nacc);
        fprintf(e->to, "%s product%s of %d x %d, %d of k at a time, waves %d along n x %d along k",
                et_dtype_name(s->operand), s->nacc == 1 ? "" : "s", s->tm, s->tn,
                et_step_chunk(f, s), s->wn, s->wk);
        if (gr && gr->parts > 1)
            fprintf(e->to, ", split-K in %d parts that its readers add up", gr->parts);
    }
}

static void put_counts(const struct explain *e, const et_grid *g) {
    const et_func *f = &e->p->funcs[g->func];
    et_expr tiles = et_grid_tiles(e->p, g);
    int64_t n[ET_SAMPLES];
    bool same = true;
    for (int i = 0; i < e->nsamples; i++) {
        n[i] = et_eval(e->x, tiles, e->syms[i], NULL);
        same &= n[i] == n[0];
    }
    fprintf(e->to, "    %s: ", f->ncoords ? et_dims_text(e->x, f->ncoords, g->extent) : "[1]");
    for (int i = 0; i < (same ? 1 : e->nsamples); i++)
        fprintf(e->to, "%s%lld", i ? ", " : "", (long long)n[i]);
    fprintf(e->to, " tile%s on %.0f CUs", same && n[0] == 1 ? "" : "s", explain_cus(e, g));
    if (g->dynamic) fputs(g->early ? ", queued early" : ", queued", e->to);
    if (g->order == ET_TILES_CLAIMED) fputs(", claimed", e->to);
    if (g->behind) fputs(" in turn with those before", e->to);
    if (g->slice.count) fprintf(e->to, ", in %d slices, each on one die", g->slice.count);
    fputc('\n', e->to);
}

void explain_tiles(struct explain *e) {
    fprintf(e->to, "\nTILES: chosen by predicted cost, or by @tile");
    if (e->nsamples > 1) fprintf(e->to, "; numbers for the launches under TIME");
    fputc('\n', e->to);
    for (int i = 0; i < e->p->ngrids; i++) {
        const et_grid *g = &e->p->grids[i];
        const et_group *gr = explain_group(e, g);
        const et_func *f = &e->p->funcs[g->func];
        const char *what = stored(e, f);
        bool asked = false;
        for (int d = 0; gr && d < gr->rank; d++)
            asked |= gr->tile[d] > 0;
        fprintf(e->to, "  %s: %s%s", g->name, what ? what : "nothing stored",
                asked ? " (asked for)" : "");
        put_products(e, f, gr);
        fputc('\n', e->to);
        put_counts(e, g);
    }
}

/* ---- events ---- */

struct made {
    int events, scope[ET_SCOPE_SYSTEM + 1], waits;
    double counters;
};

/* Events are of the loop that their last tasks are in. */
static void count_made(const struct explain *e, int loop, struct made *out) {
    const et_program *p = e->p;
    *out = (struct made){0};
    for (int i = 0; i < p->nevents; i++) {
        int of = -2;
        for (int g = 0; g < p->ngrids; g++)
            for (int k = 0; k < p->grids[g].nnotifies; k++)
                if (p->grids[g].notifies[k].event == i) of = p->grids[g].loop;
        if (of != loop) continue;
        out->events++;
        out->scope[p->events[i].scope]++;
        out->counters += p->events[i].words / et_loop_trips(e->p->g, loop);
    }
    for (int g = 0; g < p->ngrids; g++)
        if (p->grids[g].loop == loop) out->waits += p->grids[g].nwaits > 0;
}

static void put_loop(const struct explain *e, int loop) {
    struct made made;
    const et_graph *g = e->p->g;
    const char *model = loop >= 0 && g->nmodels ? g->model[g->loops[loop].model].name : NULL;
    count_made(e, loop, &made);
    const et_found_events *before =
        e->found && e->found->events ? &e->found->events[loop + 1] : NULL;
    if (!made.events && !made.waits && !(before && before->needs)) return;
    if (loop < 0)
        fprintf(e->to, "  Outside of loops:");
    else
        fprintf(e->to, "  In each of the %s%.0f iterations of %s%s%s:",
                et_loop_varies(g, &g->loops[loop]) ? "at most " : "", et_loop_trips(g, loop),
                e->p->g->loops[loop].name, model ? " of " : "", model ? model : "");
    if (before)
        fprintf(e->to,
                " %d pair%s of tasks must be in order, %d of which do not follow from others. "
                "With a counter for each tile: %.0f counters; made:",
                before->needs, before->needs == 1 ? "" : "s", before->kept, before->counters);
    fprintf(e->to, " %d event%s of %.0f counter%s", made.events, made.events == 1 ? "" : "s",
            made.counters, made.counters == 1 ? "" : "s");
    const char *sep = " (";
    for (int s = ET_SCOPE_SYSTEM; s >= 0; s--) {
        if (!made.scope[s]) continue;
        fprintf(e->to, "%s%d of the %s", sep, made.scope[s], et_scope_name((et_scope)s));
        sep = ", ";
    }
    fprintf(e->to, "%s; %d task%s wait%s.\n", made.events ? ")" : "", made.waits,
            made.waits == 1 ? "" : "s", made.waits == 1 ? "s" : "");
}

/* Flag-in-data events, and the tensors they guard. */
static void put_flags(struct explain *e) {
    const et_program *p = e->p;
    int events = 0;
    const char *sep = " Tensors with tags:";
    for (int i = 0; i < p->nevents; i++)
        events += p->events[i].unfenced;
    if (!events) return;
    fprintf(e->to,
            "  %d flag-in-data event%s: no fences; every word of data has a tag that shows that it "
            "has arrived.",
            events, events == 1 ? "" : "s");
    for (int i = 0; i < p->ntensors; i++) {
        if (!p->tensors[i].tagged) continue;
        fprintf(e->to, "%s %%%s", sep, p->tensors[i].name);
        sep = ",";
    }
    fprintf(e->to, ". Without: --flag-in-data=none\n");
}

void explain_events(struct explain *e) {
    fprintf(e->to, "\nEVENTS: what orders tasks, before and after redundant ones were removed\n");
    for (int l = -1; l < e->p->g->nloops; l++)
        put_loop(e, l);
    put_flags(e);
    fprintf(e->to, "  An event across the chip is predicted to take %s, one within a die %s.\n",
            explain_us(e, e->m->event_us),
            explain_us(e, e->m->counter_die_us + 2 * e->m->fence_die_us));
}
