/* Flag-in-data events (ir/program/tags.h): which temporaries are tagged, and which events then need
 * no fences. A fence costs most while weights stream, since it waits for their loads; tagged words
 * are twice as large, and are polled one by one.
 *
 * All temporaries that can be tagged are, for one that is not needs a path of events with fences
 * from its readers to the task that writes it next, and in a loop that path goes all the way
 * around. Whether what reads it can still be done is for the plans of products to say. Events lose
 * their fences as long as the verifier proves the program without them. Then tags that no such
 * event needs are removed. All of it is kept where it is predicted to pay, or by option. */
#include "ir/base/diag.h"
#include "ir/program/deal.h"
#include "ir/program/tags.h"
#include "ir/verify/verify.h"
#include "passes/pipeline/pipeline.h"
#include "passes/product/product.h"
#include "passes/tag.h"
#include <string.h>

enum { OWN = 1024, WORK = ET_VERIFY_WORK / 16 };

/* The state before the pass. */
struct before {
    et_tensor *tensors;
    et_event *events;
    et_func *funcs;
    int64_t workspace;
};

struct unfencing {
    et_pipeline *pl;
    et_program *p;
    struct before was;
    bool *tagged, *unfenced; /* by tensor, by event: what is tried */
    int tries;
};

/* ---- changes ---- */

static void *copy(et_arena *a, const void *from, size_t bytes) {
    return bytes ? memcpy(et_alloc(a, bytes), from, bytes) : NULL;
}

static void put_back(struct unfencing *c) {
    et_program *p = c->p;
    p->tensors = c->was.tensors;
    p->events = c->was.events;
    p->funcs = c->was.funcs;
    p->workspace_bytes = c->was.workspace;
}

/* Tagged temporaries lie behind all others, each for itself. */
static void place(et_program *p) {
    int64_t end = (p->workspace_bytes + ET_TAGGED_ALIGN - 1) / ET_TAGGED_ALIGN * ET_TAGGED_ALIGN;
    end = et_place_after(p, end, false);
    p->workspace_bytes = et_place_after(p, end, true);
}

static void apply(struct unfencing *c) {
    et_program *p = c->p;
    et_arena *a = c->pl->g->arena;
    put_back(c);
    p->tensors = copy(a, p->tensors, (size_t)p->ctensors * sizeof *p->tensors);
    p->events = copy(a, p->events, (size_t)p->cevents * sizeof *p->events);
    p->funcs = copy(a, p->funcs, (size_t)p->cfuncs * sizeof *p->funcs);
    for (int i = 0; i < p->nfuncs; i++) {
        et_func *f = &p->funcs[i];
        f->steps = copy(a, f->steps, (size_t)f->nsteps * sizeof *f->steps);
        f->locals = copy(a, f->locals, (size_t)f->nlocals * sizeof *f->locals);
        f->csteps = f->nsteps;
        f->clocals = f->nlocals;
    }
    for (int t = 0; t < p->ntensors; t++)
        if (c->tagged[t] && !p->tensors[t].partial) et_tag(p, t);
    for (int e = 0; e < p->nevents; e++)
        p->events[e].unfenced = c->unfenced[e];
    place(p);
}

/* What is tagged leaves every step possible on the target, and room in local memory. */
static bool can_be_done(const struct unfencing *c) {
    const et_product_options *by = c->pl->opt->machine->plans;
    int lds = c->pl->opt->machine->lds_bytes - OWN;
    bool any = false;
    for (int t = 0; t < c->p->ntensors; t++)
        any |= c->tagged[t];
    for (int f = 0; f < c->p->nfuncs && any; f++)
        if (c->p->funcs[f].lds_bytes > lds) return false;
    return !any || !by || et_product_possible(c->p, by);
}

/* Is the program proved so? Messages of the verifier are dropped. */
static bool proves(struct unfencing *c) {
    et_verify_options opt = {.dies = c->pl->opt->machine->dies, .work = WORK};
    et_diags *said = et_diags_create(c->pl->g->arena);
    apply(c);
    c->tries++;
    return can_be_done(c) && !et_tags_problem(c->p) && et_verify(c->p, &opt, said, NULL);
}

/* Temporaries that can be tagged, each for itself. Returns whether there are any. */
static bool choose_tensors(struct unfencing *c) {
    int n = c->p->ntensors;
    bool any = false, *may = et_alloc(c->pl->g->arena, (size_t)n + 1);
    for (int t = 0; t < n; t++) {
        may[t] = c->p->tensors[t].partial && !c->p->tensors[t].flagged;
        any |= may[t];
        if (et_in_inbox(&c->p->tensors[t]) ||
            !et_can_tag(c->p, t, c->pl->opt->machine->lds_bytes - OWN))
            continue;
        c->tagged[t] = true;
        apply(c);
        may[t] = can_be_done(c);
        any |= may[t];
        put_back(c);
        c->tagged[t] = false;
    }
    memcpy(c->tagged, may, (size_t)n);
    return any;
}

/* ---- choosing ---- */

/* Quick test: tasks at its ends share no untagged tensor. Orders through other tasks are the
 * verifier's to prove. */
struct shared {
    const struct unfencing *c;
    bool *stored, *touched;
};

static void note(void *ctx, const et_step *step, int tensor, bool is_store, const et_expr *index) {
    struct shared *s = ctx;
    (void)step, (void)index;
    if (s->c->tagged[tensor]) return;
    s->touched[tensor] = true;
    if (is_store) s->stored[tensor] = true;
}

static bool hands_over(struct unfencing *c, int event) {
    const et_program *p = c->p;
    size_t n = (size_t)p->ntensors + 1;
    struct shared from = {c, et_alloc(c->pl->g->arena, n), et_alloc(c->pl->g->arena, n)};
    struct shared to = {c, et_alloc(c->pl->g->arena, n), et_alloc(c->pl->g->arena, n)};
    et_event_accesses(p, event, note, &from, &to);
    for (int t = 0; t < p->ntensors; t++)
        if ((from.stored[t] && to.touched[t]) || (from.touched[t] && to.stored[t])) return true;
    return false;
}

static bool may_be_unfenced(const et_program *p, int event) {
    const et_event *e = &p->events[event];
    bool ok = !e->promised && e->scope == ET_SCOPE_DEVICE;
    for (int i = 0; i < p->ngrids; i++) {
        const et_grid *g = &p->grids[i];
        bool uses = false;
        for (int k = 0; k < g->nwaits; k++)
            uses |= g->waits[k].event == event;
        for (int k = 0; k < g->nnotifies; k++)
            uses |= g->notifies[k].event == event;
        ok &= !uses || !(g->dynamic || g->slice.count);
    }
    return ok;
}

/* Events without fences, as many as can be. */
static bool choose_events(struct unfencing *c) {
    int n = c->p->nevents;
    bool any = false;
    bool *may = et_alloc(c->pl->g->arena, (size_t)n + 1);
    for (int e = 0; e < n; e++) {
        may[e] = may_be_unfenced(c->p, e) && !hands_over(c, e);
        c->unfenced[e] = may[e];
        any |= may[e];
    }
    if (!any) return false;
    if (proves(c)) return true;
    memset(c->unfenced, 0, (size_t)n);
    if (!proves(c)) return false; /* tags alone are wrong */
    any = false;
    for (int e = 0; e < n; e++) {
        if (!may[e]) continue;
        c->unfenced[e] = true;
        c->unfenced[e] = proves(c);
        any |= c->unfenced[e];
    }
    return any;
}

/* Removes tags of tensors that are ordered without. */
static void drop_tensors(struct unfencing *c) {
    for (int t = 0; t < c->p->ntensors; t++) {
        if (!c->tagged[t] || c->p->tensors[t].partial) continue;
        c->tagged[t] = false;
        c->tagged[t] = !proves(c);
    }
}

/* ---- its gain ---- */

/* How many of its tiles a workgroup runs in a launch. */
static double turns(const struct unfencing *c, const et_grid *g) {
    et_program *p = c->p;
    int64_t lo, hi;
    int cus = c->pl->opt->machine->cus;
    double n = 1;
    if (et_bounds(p->g->exprs, et_grid_tiles(p, g), &lo, &hi) && hi > cus)
        n = (double)((hi + cus - 1) / cus);
    for (int l = g->loop; l >= 0; l = p->g->loops[l].parent)
        n *= (double)(p->g->loops[l].hi - p->g->loops[l].lo);
    return n;
}

static bool all_unfenced(const et_program *p, const et_grid *g, bool notifies) {
    bool all = true;
    for (int i = 0; i < (notifies ? g->nnotifies : g->nwaits); i++)
        all &= p->events[notifies ? g->notifies[i].event : g->waits[i].event].unfenced;
    return all && (notifies ? g->nnotifies : g->nwaits) > 0;
}

/* Summed over the tasks of a launch: fences saved; the cost of larger words and of steps that
 * receive them. */
static void price(const struct unfencing *c, double *out_saved, double *out_paid) {
    const et_program *p = c->p;
    const et_machine *m = c->pl->opt->machine;
    *out_saved = *out_paid = 0;
    for (int i = 0; i < p->ngrids; i++) {
        const et_grid *g = &p->grids[i];
        double bytes = 0, n = turns(c, g);
        for (int k = 0; k < p->funcs[g->func].nsteps; k++) {
            bool store;
            const et_step *s = &p->funcs[g->func].steps[k];
            int t = et_step_tagged(p, s, &store);
            double elements = 1;
            int64_t extent;
            for (int v = 0; v < s->nvars && t >= 0 && !store; v++)
                if (et_is_int(p->g->exprs, et_var_extent(p->g->exprs, s->vars[v]), &extent))
                    elements *= (double)extent;
            if (t < 0 || store || p->tensors[t].partial) continue;
            bytes += elements * (2 * et_dtype_bytes(p->tensors[t].shape.dtype) -
                                 et_dtype_bytes(c->was.tensors[t].shape.dtype));
        }
        *out_saved += n * (all_unfenced(p, g, true) ? m->release_us : 0);
        *out_saved += n * (all_unfenced(p, g, false) ? m->acquire_us : 0);
        *out_paid += n * bytes / (m->cache_gbs_cu * 1e3);
        if (bytes != 0) *out_paid += n * m->flag_us;
    }
}

static void tell(const struct unfencing *c, bool kept, double saved, double paid) {
    FILE *f = c->pl->opt->dump_to;
    const et_program *p = c->p;
    fprintf(f,
            "# unfenced events%s: fences that are left out take %.1f us of a launch, words %.1f us "
            "more (predicted)\n",
            kept ? "" : " do not pay", saved, paid);
    for (int e = 0; e < p->nevents; e++)
        if (p->events[e].unfenced) fprintf(f, "# %%%s has no fences\n", p->events[e].name);
    for (int t = 0; t < p->ntensors; t++)
        if (p->tensors[t].tagged) fprintf(f, "# %%%s is tagged\n", p->tensors[t].name);
}

/* ---- what is exchanged by devices ---- */

static bool refuse(et_pipeline *pl, int tensor, const char *why) {
    const et_tensor *t = &pl->p->tensors[tensor];
    et_loc loc = t->value.id ? et_val_of(pl->g, t->value)->loc : (et_loc){0};
    et_diag(pl->g->diags, ET_ERROR, loc, "several devices: the sum of %%%s over them %s", t->name,
            why);
    return false;
}

/* What is partial over devices is tagged, whatever it costs: nothing else says that it has come. */
static bool tag_partial(et_pipeline *pl, int64_t untagged) {
    et_program *p = pl->p;
    bool any = false;
    for (int t = 0; t < p->ntensors; t++) {
        any |= p->tensors[t].partial > 0;
        if (!p->tensors[t].partial || p->tensors[t].tagged || p->tensors[t].flagged) continue;
        if (!et_can_tag(p, t, pl->opt->machine->lds_bytes - OWN)) {
            if (pl->apart) return refuse(pl, t, "cannot be taken tile by tile");
            return !(pl->again = pl->ask_apart = true);
        }
        et_tag(p, t);
    }
    p->workspace_bytes = untagged;
    if (any) place(p);
    return true;
}

/* The end of what is neither tagged nor exchanged. */
static int64_t end_of_others(const et_program *p) {
    int64_t end = 0;
    for (int t = 0; t < p->ntensors; t++) {
        const et_tensor *x = &p->tensors[t];
        if (x->kind == ET_TENSOR_TEMP && !x->tagged && !et_in_inbox(x) &&
            x->offset + x->max_bytes > end)
            end = x->offset + x->max_bytes;
    }
    return (end + ET_TAGGED_ALIGN - 1) / ET_TAGGED_ALIGN * ET_TAGGED_ALIGN;
}

bool et_pass_unfence(et_pipeline *pl) {
    et_program *p = pl->p;
    int64_t untagged = pl->g->devices ? end_of_others(p) : p->workspace_bytes;
    if (!pl->opt->quick && !tag_partial(pl, untagged)) return false;
    const et_pass_options *o = pl->opt;
    struct unfencing c = {pl, p, {p->tensors, p->events, p->funcs, untagged}, NULL, NULL, 0};
    if (!et_is_static(o) || o->quick || o->flags == ET_FLAGS_NONE ||
        (o->flags == ET_FLAGS_AUTO && o->machine->flag_us <= 0))
        return true;
    c.tagged = et_alloc(pl->g->arena, (size_t)p->ntensors + 1);
    c.unfenced = et_alloc(pl->g->arena, (size_t)p->nevents + 1);
    bool can = choose_tensors(&c) && choose_events(&c);
    if (can) drop_tensors(&c);
    if (can) can = proves(&c);
    double saved = 0, paid = 0;
    if (can) price(&c, &saved, &paid);
    bool kept = can && (o->flags == ET_FLAGS_ALL || saved > paid);
    if (et_is_dumped(o, "unfence") && can) tell(&c, kept, saved, paid);
    if (et_is_dumped(o, "unfence") && !can)
        fprintf(o->dump_to, "# no event can do without fences\n");
    if (!kept) put_back(&c);
    if (!kept && pl->g->devices) place(p);
    return true;
}
