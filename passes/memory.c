/* Memory plan: temporaries share one workspace. Two may overlap when no grid between the first and
 * last use of one uses the other; the events pass then orders the grids that meet in memory.
 * Models that share a kernel run at the same time, and share no memory. */
#include "ir/program/deal.h"
#include "ir/program/step.h"
#include "passes/pipeline/pipeline.h"

enum {
    ALIGN = 256,
    /* Grids between the last use of a tensor and the first of the one that reuses its memory, at
     * least: with fewer, reuse would need a wait of its own. */
    DISTANCE = 2,
};

struct range {
    int first, last; /* positions of grids; first < 0: unused */
};

struct plan {
    et_program *p;
    struct range *live;
    int *position;      /* by grid */
    struct range *loop; /* by loop: positions of its body */
    int now;
};

static void number_grids(struct plan *m, int first, int count) {
    for (int i = first; i < first + count; i++) {
        const et_item *it = &m->p->items[i];
        if (it->kind == ET_P_GRID) {
            m->position[it->index] = m->now++;
            continue;
        }
        m->loop[it->index].first = m->now;
        number_grids(m, it->first, it->count);
        m->loop[it->index].last = m->now - 1;
    }
}

struct use {
    struct plan *m;
    int position;
};

static void note_use(void *ctx, const et_step *step, int tensor, bool is_store,
                     const et_expr *index) {
    (void)step, (void)is_store, (void)index;
    struct use *u = ctx;
    struct range *r = &u->m->live[tensor];
    if (r->first < 0 || u->position < r->first) r->first = u->position;
    if (u->position > r->last) r->last = u->position;
}

/* A tensor used both inside and outside a loop, or carried around it, lives through all of it. */
static void widen_over_loops(struct plan *m) {
    const et_graph *g = m->p->g;
    for (int again = 1; again;) {
        again = 0;
        for (int l = 0; l < g->nloops; l++)
            for (int t = 0; t < m->p->ntensors; t++) {
                struct range *r = &m->live[t], in = m->loop[l];
                if (r->first < 0 || in.first > in.last || r->last < in.first || r->first > in.last)
                    continue;
                bool carried = m->p->tensors[t].carried == l + 1;
                bool crosses = r->first < in.first || r->last > in.last;
                if (!carried && !crosses) continue;
                struct range w = {r->first < in.first ? r->first : in.first,
                                  r->last > in.last ? r->last : in.last};
                again |= w.first != r->first || w.last != r->last;
                *r = w;
            }
    }
}

static bool overlap(const struct plan *m, int a, int b) {
    const et_tensor *t = m->p->tensors;
    if (m->p->g->nmodels && et_model_of(m->p->g, t[a].name) != et_model_of(m->p->g, t[b].name))
        return true;
    return m->live[a].first <= m->live[b].last + DISTANCE &&
           m->live[b].first <= m->live[a].last + DISTANCE;
}

static int64_t place(const struct plan *m, int t) {
    const et_tensor *v = m->p->tensors;
    int64_t at = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (int o = 0; o < t; o++)
            if (v[o].kind == ET_TENSOR_TEMP && !et_in_inbox(&v[o]) && m->live[o].first >= 0 &&
                overlap(m, o, t) && v[o].offset < at + v[t].max_bytes &&
                at < v[o].offset + v[o].max_bytes) {
                at = (v[o].offset + v[o].max_bytes + ALIGN - 1) / ALIGN * ALIGN;
                moved = true;
            }
    }
    return at;
}

bool et_pass_memory(et_pipeline *pl) {
    et_program *p = pl->p;
    et_arena *a = pl->g->arena;
    struct plan m = {.p = p};
    m.loop = et_alloc(a, ((size_t)pl->g->nloops + 1) * sizeof *m.loop);
    m.live = et_alloc(a, (size_t)p->ntensors * sizeof *m.live);
    m.position = et_alloc(a, (size_t)p->ngrids * sizeof *m.position);
    for (int t = 0; t < p->ntensors; t++)
        m.live[t] = (struct range){-1, -1};
    for (int l = 0; l < pl->g->nloops; l++)
        m.loop[l] = (struct range){0, -1};
    number_grids(&m, p->first, p->count);
    for (int g = 0; g < p->ngrids; g++)
        et_func_accesses(p, &p->funcs[p->grids[g].func], note_use,
                         &(struct use){&m, m.position[g]});
    widen_over_loops(&m);
    int64_t total = 0;
    for (int i = 0; i < 2 * p->ntensors; i++) {
        int t = i % p->ntensors;
        et_tensor *v = &p->tensors[t];
        if (v->kind != ET_TENSOR_TEMP || !et_in_inbox(v) != (i < p->ntensors)) continue;
        if (et_in_inbox(v)) { /* behind all others, where inboxes are */
            v->offset = total;
            total += (v->max_bytes + ALIGN - 1) / ALIGN * ALIGN;
            continue;
        }
        if (v->max_bytes > (int64_t)1 << 46) {
            et_diag(pl->g->diags, ET_ERROR, (et_loc){0}, "%s would take %lld bytes", v->name,
                    (long long)v->max_bytes);
            return false;
        }
        /* What tiles hold in local memory in its stead, by now, is small: any place will do. */
        if (m.live[t].first >= 0) v->offset = place(&m, t);
        int64_t end = (v->offset + v->max_bytes + ALIGN - 1) / ALIGN * ALIGN;
        total = end > total ? end : total;
    }
    p->workspace_bytes = total;
    return true;
}
