/* Where events and temporaries are, and that a read finds what was last written as its tensor. */
#include "ir/base/diag.h"
#include "ir/program/tags.h"
#include "ir/verify/int.h"
#include <inttypes.h>

/* ---- layout: bounds of the symbols taken at their upper ends ---- */

static bool check_event(struct verify *v, int e) {
    const et_program *p = v->p;
    const et_event *ev = &p->events[e];
    int64_t words = 1, lo, hi;
    for (int d = 0; d < ev->rank; d++)
        if (!et_bounds(v->x, ev->dim[d], &lo, &hi) || hi < 0 ||
            __builtin_mul_overflow(words, hi, &words))
            words = INT64_MAX;
    if (words > ev->words) {
        vf_error(v, -1, "event %%%s has %d words and needs %" PRId64, ev->name, ev->words, words);
        return false;
    }
    if (ev->base < ET_EVENT_RESERVED || ev->base > p->event_words - ev->words) {
        vf_error(v, -1,
                 "event %%%s, words %d to %d, leaves the event array of %d words (the first "
                 "%d are the runtime's)",
                 ev->name, ev->base, ev->base + ev->words - 1, p->event_words, ET_EVENT_RESERVED);
        return false;
    }
    for (int o = 0; o < e; o++) {
        const et_event *other = &p->events[o];
        if (ev->base < other->base + other->words && other->base < ev->base + ev->words) {
            vf_error(v, -1, "events %%%s and %%%s share counters", other->name, ev->name);
            return false;
        }
    }
    return true;
}

static bool check_temp(struct verify *v, int t) {
    const et_tensor *x = &v->p->tensors[t];
    int64_t bytes = et_tagged_bytes(x, et_shape_max_bytes(v->x, &x->shape));
    if (x->kind != ET_TENSOR_TEMP) return true;
    if (bytes <= x->max_bytes && x->offset >= 0 && x->offset % 16 == 0 &&
        bytes <= v->p->workspace_bytes - x->offset)
        return true;
    vf_error(v, -1,
             "%%%s, %" PRId64 " bytes at %" PRId64 ", leaves the workspace of %" PRId64
             " bytes or is not aligned",
             x->name, bytes, x->offset, v->p->workspace_bytes);
    return false;
}

/* A word of a tagged tensor holds one tag after another, whatever else there is. */
static bool check_alone(struct verify *v, int t) {
    for (int o = 0; o < v->p->ntensors; o++) {
        if (!v->p->tensors[t].tagged || !vf_share_memory(v->p, t, o)) continue;
        vf_error(v, -1, "%%%s is tagged and shares memory with %%%s", v->p->tensors[t].name,
                 v->p->tensors[o].name);
        return false;
    }
    return true;
}

static bool check_stores(struct verify *v, int grid) {
    const struct vf_grid *g = &v->grid[grid];
    for (int i = 0; i < g->naccess; i++) {
        const et_tensor *t = &v->p->tensors[g->access[i].tensor];
        if (!g->access[i].store || t->kind == ET_TENSOR_OUTPUT || t->kind == ET_TENSOR_STATE ||
            t->kind == ET_TENSOR_TEMP)
            continue;
        vf_error(v, grid, "%s writes %%%s, which is read-only", g->g->name, t->name);
        return false;
    }
    return true;
}

bool vf_layout(struct verify *v) {
    for (int e = 0; e < v->p->nevents; e++)
        if (!check_event(v, e)) return false;
    for (int t = 0; t < v->p->ntensors; t++)
        if (!check_temp(v, t) || !check_alone(v, t)) return false;
    for (int g = 0; g < v->p->ngrids; g++)
        if (!check_stores(v, g)) return false;
    return true;
}

/* ---- contents: what the order of the program leaves where, at one value of the symbols ---- */

/* A stretch of bytes an instance writes as one tensor. */
struct write {
    int inst;
    struct vf_range bytes;
};

struct writes {
    struct write *v;
    int n, cap;
};

static struct vf_range touched(struct verify *v, const struct vf_inst *in,
                               const struct vf_access *a) {
    vf_enter(v, in, 0, 0);
    struct vf_box b = vf_box_of(v, a);
    return vf_bytes(v, a->tensor, &b);
}

/* Do writes of W after instance AFTER cover all of R? Stretches may be in any order. */
static bool covered(const struct writes *w, int after, struct vf_range r) {
    for (bool more = true; more && r.lo <= r.hi;) {
        more = false;
        for (int i = w->n - 1; i >= 0 && w->v[i].inst > after; i--) {
            struct vf_range b = w->v[i].bytes;
            if (b.lo > r.lo || b.hi < r.lo) continue;
            r.lo = b.hi + 1;
            more = true;
        }
    }
    return r.lo > r.hi;
}

static bool check_read(struct verify *v, const struct writes *all, int inst, int tensor,
                       struct vf_range r) {
    const et_tensor *t = &v->p->tensors[tensor];
    const struct vf_inst *in = &v->inst[inst];
    int64_t none[ET_MAX_RANK] = {0};
    if (r.lo > r.hi) return true;
    if (!covered(&all[tensor], -1, r)) {
        vf_error(v, in->grid, "task %s reads %%%s before anything has written all of it",
                 vf_task(v, in, 0, none), t->name);
        return false;
    }
    for (int o = 0; o < v->p->ntensors; o++) {
        if (!vf_share_memory(v->p, o, tensor)) continue;
        for (int i = all[o].n - 1; i >= 0; i--) {
            v->report->work++;
            if (covered(&all[tensor], all[o].v[i].inst, r)) continue;
            const struct vf_inst *by = &v->inst[all[o].v[i].inst];
            vf_error(v, in->grid,
                     "task %s reads %%%s, but task %s has written %%%s over it in the workspace",
                     vf_task(v, in, 0, none), t->name, vf_task(v, by, 0, none),
                     v->p->tensors[o].name);
            return false;
        }
    }
    return true;
}

bool vf_contents(struct verify *v) {
    struct writes *all = et_alloc(v->round, (size_t)(v->p->ntensors + 1) * sizeof *all);
    for (int i = 0; i < v->ninst; i++) {
        const struct vf_inst *in = &v->inst[i];
        const struct vf_grid *g = &v->grid[in->grid];
        if (!g->tiles) continue;
        /* Its own writes first: a task may read back what it has written. */
        for (int k = 0; k < g->naccess; k++) {
            const struct vf_access *a = &g->access[k];
            if (!a->store) continue;
            struct writes *w = &all[a->tensor];
            ET_GROW(v->round, w->v, w->n, w->cap);
            w->v[w->n++] = (struct write){i, touched(v, in, a)};
        }
        for (int k = 0; k < g->naccess; k++) {
            const struct vf_access *a = &g->access[k];
            et_tensor_kind kind = v->p->tensors[a->tensor].kind;
            if (a->store || (kind != ET_TENSOR_TEMP && kind != ET_TENSOR_OUTPUT)) continue;
            if (!check_read(v, all, i, a->tensor, touched(v, in, a))) return false;
        }
    }
    return true;
}
