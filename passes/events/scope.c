/* Scopes of events. An event is of the die where it has a dimension such that whatever arrives at a
 * counter is in the slice that its index there says, and so are tasks that wait for it. */
#include "passes/events/scope.h"
#include "passes/pipeline/pipeline.h"
#include <string.h>

enum { NOBODY = -1, MOST_INDICES = 1 << 16 };

struct scopes {
    et_program *p;
    et_exprs *x;
    int *owner; /* by index of the dimension looked at: the slice that arrives there */
    int64_t size;
};

static int64_t slices_of(const struct scopes *s, const et_grid *g) {
    int64_t n;
    if (!g->slice.count || !et_is_int(s->x, g->extent[g->slice.coord], &n)) return 0;
    return n > MOST_INDICES ? 0 : n;
}

/* E where the sliced coordinate of G is C. */
static bool bounds_at(struct scopes *s, const et_grid *g, int64_t c, et_expr e, int64_t *lo,
                      int64_t *hi) {
    int var = s->p->funcs[g->func].coord[g->slice.coord];
    return et_bounds(s->x, et_subst_var(s->x, e, var, et_int(s->x, c)), lo, hi);
}

static bool own(struct scopes *s, const et_grid *g, const et_notify *n, int d) {
    int64_t tiles = slices_of(s, g), lo, hi;
    if (!tiles || n->nvars) return false;
    for (int64_t c = 0; c < tiles; c++) {
        int slice = (int)et_slice_of(c, tiles, g->slice.count);
        if (!bounds_at(s, g, c, n->index[d], &lo, &hi) || lo < 0 || hi >= s->size) return false;
        for (int64_t i = lo; i <= hi; i++) {
            if (s->owner[i] != NOBODY && s->owner[i] != slice) return false;
            s->owner[i] = slice;
        }
    }
    return true;
}

static bool stays(struct scopes *s, const et_grid *g, const et_wait *w, int d) {
    int64_t tiles = slices_of(s, g), lo, hi, ignored;
    if (!tiles || w->nvars) return false;
    for (int64_t c = 0; c < tiles; c++) {
        int slice = (int)et_slice_of(c, tiles, g->slice.count);
        if (!bounds_at(s, g, c, w->lo[d], &lo, &ignored) ||
            !bounds_at(s, g, c, w->hi[d], &ignored, &hi))
            return false;
        for (int64_t i = lo < 0 ? 0 : lo; i <= hi && i < s->size; i++)
            if (s->owner[i] != NOBODY && s->owner[i] != slice) return false;
    }
    return true;
}

static bool local_along(struct scopes *s, int event, int d) {
    et_program *p = s->p;
    if (!et_is_int(s->x, p->events[event].dim[d], &s->size) || s->size > MOST_INDICES) return false;
    for (int64_t i = 0; i < s->size; i++)
        s->owner[i] = NOBODY;
    for (int i = 0; i < p->ngrids; i++)
        for (int k = 0; k < p->grids[i].nnotifies; k++)
            if (p->grids[i].notifies[k].event == event &&
                !own(s, &p->grids[i], &p->grids[i].notifies[k], d))
                return false;
    for (int i = 0; i < p->ngrids; i++)
        for (int k = 0; k < p->grids[i].nwaits; k++)
            if (p->grids[i].waits[k].event == event &&
                !stays(s, &p->grids[i], &p->grids[i].waits[k], d))
                return false;
    return true;
}

/* What devices exchange with flags or share, and the tasks of one end of an event touch. */
struct exchanged {
    const et_program *p;
    bool *stored, *loaded; /* by tensor */
};

static void note_flagged(void *ctx, const et_step *step, int tensor, bool is_store,
                         const et_expr *index) {
    struct exchanged *x = ctx;
    (void)step, (void)index;
    if (x->p->tensors[tensor].flagged || x->p->tensors[tensor].shared)
        (is_store ? x->stored : x->loaded)[tensor] = true;
}

/* Tasks that notify the event store what devices exchange with flags, and tasks that wait for it
 * take it. */
static bool exchanges(const et_program *p, int event) {
    size_t n = (size_t)p->ntensors + 1;
    struct exchanged from = {p, et_alloc(p->g->arena, n), et_alloc(p->g->arena, n)};
    struct exchanged to = {p, et_alloc(p->g->arena, n), et_alloc(p->g->arena, n)};
    bool any = false;
    et_event_accesses(p, event, note_flagged, &from, &to);
    for (int t = 0; t < p->ntensors; t++)
        any |= from.stored[t] && to.loaded[t];
    return any;
}

void et_infer_scopes(et_program *p) {
    struct scopes s = {.p = p, .x = p->g->exprs};
    bool sliced = false, flagged = false;
    for (int t = 0; t < p->ntensors; t++)
        flagged |= p->tensors[t].flagged || p->tensors[t].shared;
    for (int i = 0; i < p->ngrids; i++)
        sliced |= p->grids[i].slice.count > 0;
    if (sliced) s.owner = et_alloc(p->g->arena, MOST_INDICES * sizeof *s.owner);
    for (int e = 0; e < p->nevents; e++) {
        p->events[e].scope = ET_SCOPE_DEVICE;
        for (int d = 0; sliced && d < p->events[e].rank; d++)
            if (local_along(&s, e, d)) p->events[e].scope = ET_SCOPE_DIE;
        if (flagged && exchanges(p, e)) p->events[e].scope = ET_SCOPE_SYSTEM;
    }
}

/* ---- how many ---- */

/* A grid that notifies the event, or NULL. */
static const et_grid *notifier(const et_program *p, int event) {
    const et_grid *g = NULL;
    for (int i = 0; i < p->ngrids; i++)
        for (int k = 0; k < p->grids[i].nnotifies; k++)
            if (p->grids[i].notifies[k].event == event) g = &p->grids[i];
    return g;
}

void et_tell_scopes(const et_program *p, int model, FILE *to) {
    for (int l = -1; l < p->g->nloops; l++) {
        int n[ET_SCOPE_SYSTEM + 1] = {0}, all = 0;
        for (int e = 0; e < p->nevents; e++) {
            const et_grid *g = notifier(p, e);
            if ((g ? g->loop : -1) != l || (model >= 0 && (!g || g->model != model))) continue;
            n[p->events[e].scope]++, all++;
        }
        if (!all) continue;
        fprintf(to, "# events %s%s:", l < 0 ? "outside loops" : "in an iteration of ",
                l < 0 ? "" : p->g->loops[l].name);
        const char *sep = " ";
        for (int s = ET_SCOPE_SYSTEM; s >= 0; s--) {
            if (!n[s]) continue;
            fprintf(to, "%s%d of the %s", sep, n[s], et_scope_name((et_scope)s));
            sep = ", ";
        }
        fputc('\n', to);
    }
}

double et_device_events(const et_program *p, int model) {
    double n = 0;
    for (int e = 0; e < p->nevents; e++) {
        const et_grid *g = p->events[e].scope == ET_SCOPE_DEVICE ? notifier(p, e) : NULL;
        if (g && g->model == model) n += et_loop_trips(p->g, g->loop);
    }
    return n;
}
