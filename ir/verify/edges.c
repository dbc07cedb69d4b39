/* Edges: which waits of which instances speak of which notifies of which others. */
#include "ir/base/diag.h"
#include "ir/verify/symbolic.h"

/* Kept iterations that the wait names in dimension D, which counts those of LOOP. */
static bool iterations(struct symbolic *s, int to, const et_wait *w, int d, int64_t *lo,
                       int64_t *hi) {
    const struct verify *v = s->v;
    int loop = v->event[w->event].loop[d];
    vl_sys *q = vs_system(s);
    vs_start(s);
    vs_enter(s, q, VS_LATER, &v->inst[to], VS_B, false);
    vl_form a = vs_form(s, q, VS_LATER, w->lo[d]), b = vs_form(s, q, VS_LATER, w->hi[d]);
    if (!vl_is_const(&a) || !vl_is_const(&b))
        return vs_fail(s, "which iterations %s waits for", v->grid[v->inst[to].grid].g->name);
    *lo = a.k;
    *hi = b.k;
    if (*lo > *hi) return true;
    if (*lo < 0 || *hi >= v->loop[loop].trips ||
        !vf_map_iteration(v, &v->inst[to], loop, *lo, lo) ||
        !vf_map_iteration(v, &v->inst[to], loop, *hi, hi))
        return vs_fail(s, "which iterations %s waits for", v->grid[v->inst[to].grid].g->name);
    return true;
}

static int iteration_of(const struct symbolic *s, int inst, int loop) {
    const struct vf_grid *g = &s->v->grid[s->v->inst[inst].grid];
    for (int k = 0; k < g->depth; k++)
        if (g->path[k] == loop) return s->v->inst[inst].at[k];
    return -1;
}

static void note_loops(const struct symbolic *s, struct vs_edge *e, int to) {
    const struct vf_inst *a = &s->v->inst[e->from], *b = &s->v->inst[to];
    const struct vf_grid *g = &s->v->grid[a->grid], *h = &s->v->grid[b->grid];
    for (int k = 0; k < g->depth && k < h->depth && g->path[k] == h->path[k]; k++) {
        const struct vf_loop *l = &s->v->loop[g->path[k]];
        if (l->shortened && a->at[k] != b->at[k]) e->between = true;
        if (l->shortened && a->at[k] < l->kept / 2 && b->at[k] >= l->kept / 2) e->cut = true;
    }
}

/* Edges of one wait from one instance. */
static void list_from(struct symbolic *s, int from, int to, int wait, const int64_t *lo,
                      const int64_t *hi) {
    struct verify *v = s->v;
    const et_grid *g = v->grid[v->inst[from].grid].g;
    const et_wait *w = &v->grid[v->inst[to].grid].g->waits[wait];
    for (int i = 0; i < g->nnotifies; i++) {
        bool named =
            g->notifies[i].event == w->event && vf_applies(v, &v->inst[from], g->notifies[i].when);
        for (int d = 0; d < v->p->events[w->event].rank && named; d++) {
            int loop = v->event[w->event].loop[d];
            int64_t at = loop < 0 ? 0 : iteration_of(s, from, loop);
            named = loop < 0 || (at >= lo[d] && at <= hi[d]);
        }
        if (!named) continue;
        ET_GROW(s->arena, s->edge, s->nedges, s->cedges);
        struct vs_edge *e = &s->edge[s->nedges];
        *e = (struct vs_edge){.from = from, .wait = wait, .notify = i, .next = s->first_edge[to]};
        s->first_edge[to] = s->nedges++;
        note_loops(s, e, to);
        if (from <= to) vs_relate(s, e, to);
    }
}

bool vs_list_edges(struct symbolic *s) {
    struct verify *v = s->v;
    int64_t lo[ET_MAX_RANK], hi[ET_MAX_RANK];
    for (int to = 0; to < v->ninst; to++) {
        const et_grid *g = v->grid[v->inst[to].grid].g;
        s->first_edge[to] = -1;
        for (int w = 0; w < g->nwaits; w++) {
            const et_wait *wt = &g->waits[w];
            bool any = !vf_is_out(v, wt->event) && vf_applies(v, &v->inst[to], wt->when);
            for (int d = 0; d < v->p->events[wt->event].rank && any; d++) {
                if (v->event[wt->event].loop[d] < 0) continue;
                if (!iterations(s, to, wt, d, &lo[d], &hi[d])) return false;
                any = lo[d] <= hi[d];
            }
            et_arena_mark before = et_arena_set_mark(s->scratch);
            int *from, n = any ? vf_notifying(v, s->scratch, wt->event, &from) : 0;
            for (int i = 0; i < n; i++)
                list_from(s, from[i], to, w, lo, hi);
            et_arena_release(s->scratch, before);
            if (vl_spent(s->work)) return vs_fail(s, "anything in the time there is");
        }
    }
    return true;
}
