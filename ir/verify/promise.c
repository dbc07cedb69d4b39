/* Events that are notified through tensors, or count what tensors say. Nothing here can show that
 * the numbers in them are the right ones: the user vouches for that (`promised`), and the
 * interpreter checks it for the tensors it is given. */
#include "ir/base/diag.h"
#include "ir/verify/int.h"

bool vf_is_loose(struct verify *v, const et_notify *n) {
    for (int d = 0; d < v->p->events[n->event].rank; d++)
        if (et_expr_loads(v->x, n->index[d])) return true;
    for (int i = 0; i < n->nvars; i++)
        if (et_expr_loads(v->x, et_var_extent(v->x, n->vars[i]))) return true;
    return false;
}

bool vf_promises(struct verify *v) {
    for (int g = 0; g < v->p->ngrids; g++)
        for (int i = 0; i < v->p->grids[g].nnotifies; i++) {
            const et_notify *n = &v->p->grids[g].notifies[i];
            if (!vf_is_loose(v, n) || v->p->events[n->event].promised) continue;
            vf_error(
                v, g,
                "%s notifies event %%%s where tensors say, and nothing shows that they are right: "
                "write 'promised' behind the event's count if you vouch for them",
                v->p->grids[g].name, v->p->events[n->event].name);
            return false;
        }
    for (int e = 0; e < v->p->nevents; e++) {
        const et_event *ev = &v->p->events[e];
        if (!et_expr_loads(v->x, ev->count) || ev->promised) continue;
        vf_error(v, -1,
                 "event %%%s counts what tensors say, and nothing shows that they are right: write "
                 "'promised' behind the count if you vouch for them",
                 ev->name);
        return false;
    }
    return true;
}

/* Indices that are told before the launch agree. */
static bool may_notify(struct verify *v, const struct vf_inst *first, const int64_t *coord,
                       const et_notify *n, const struct vf_box *box) {
    const struct vf_grid *g = &v->grid[first->grid];
    vf_enter(v, first, 0, 0);
    for (int c = 0; c < g->f->ncoords; c++)
        if (g->notify_coords >> c & 1)
            v->var[g->f->coord[c]] = (struct vf_range){coord[c], coord[c]};
    for (int i = 0; i < n->nvars; i++)
        v->var[n->vars[i]] =
            (struct vf_range){0, vf_eval(v, et_var_extent(v->x, n->vars[i])).hi - 1};
    for (int d = 0; d < v->p->events[n->event].rank; d++) {
        if (et_expr_loads(v->x, n->index[d])) continue;
        struct vf_range at = vf_eval(v, n->index[d]);
        if (at.lo < box->d[d].lo || at.hi > box->d[d].hi) return false;
    }
    return true;
}

static bool notifies_some(struct verify *v, const struct vf_inst *first, const int64_t *coord,
                          int event, const struct vf_box *box) {
    const et_grid *g = v->grid[first->grid].g;
    for (int i = 0; i < g->nnotifies; i++) {
        const et_notify *n = &g->notifies[i];
        if (n->event == event && vf_applies(v, first, n->when) && vf_is_loose(v, n) &&
            may_notify(v, first, coord, n, box))
            return true;
    }
    return false;
}

bool vf_vouched(struct verify *v, const struct vf_inst *first, const int64_t *coord,
                const struct vf_inst *second, int klass) {
    const et_grid *g = v->grid[second->grid].g;
    for (int i = 0; i < g->nwaits; i++) {
        const et_wait *w = &g->waits[i];
        const et_event *ev = &v->p->events[w->event];
        struct vf_box box = {.empty = false};
        if (!ev->promised || w->nvars || !vf_applies(v, second, w->when)) continue;
        vf_enter_class(v, second, klass);
        for (int d = 0; d < ev->rank; d++) {
            struct vf_range lo = vf_eval(v, w->lo[d]), hi = vf_eval(v, w->hi[d]);
            box.d[d] = (struct vf_range){lo.hi, hi.lo}; /* surely waited for */
            box.empty |= lo.hi > hi.lo;
        }
        if (!box.empty && notifies_some(v, first, coord, w->event, &box)) return true;
    }
    return false;
}
