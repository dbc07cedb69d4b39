/* Who notifies which counter, and whether every counter gets what it counts. */
#include "ir/base/diag.h"
#include "ir/verify/int.h"
#include <inttypes.h>

/* Where index I of dimension D is among the counters kept; false when it is outside the event. */
bool vf_locate(const struct verify *v, const struct vf_inst *in, int event, int d, int64_t i,
               int64_t *out) {
    const struct vf_event *e = &v->event[event];
    *out = i;
    if (i < 0 || i >= e->dim[d]) return false;
    return e->loop[d] < 0 || vf_map_iteration(v, in, e->loop[d], i, out);
}

/* A task of INST for messages: coordinates in MASK from AT, the others open. */
const char *vf_task_at(struct verify *v, const struct vf_inst *in, unsigned mask, int64_t at) {
    const struct vf_grid *g = &v->grid[in->grid];
    int64_t coord[ET_MAX_RANK] = {0};
    for (int c = g->f->ncoords - 1; c >= 0; c--) {
        if (!(mask >> c & 1)) continue;
        coord[c] = at % g->extent[c];
        at /= g->extent[c];
    }
    return vf_task(v, in, mask, coord);
}

/* ---- arrivals ---- */

const char *vf_counter_text(struct verify *v, int event, const int64_t *at) {
    const et_event *ev = &v->p->events[event];
    char buf[200];
    int n = snprintf(buf, sizeof buf, "%%%.80s[", ev->name);
    for (int d = 0; d < ev->rank && n < 180; d++)
        n += snprintf(buf + n, sizeof buf - (size_t)n, "%s%" PRId64, d ? ", " : "", at[d]);
    return et_printf(v->round, "%s]", buf);
}

/* At these values of its variables. */
static bool notify_one(struct verify *v, int inst, int group, const et_notify *no) {
    const struct vf_inst *in = &v->inst[inst];
    const struct vf_grid *g = &v->grid[in->grid];
    const struct vf_event *e = &v->event[no->event];
    int rank = v->p->events[no->event].rank;
    int64_t word = 0, at[ET_MAX_RANK], kept;
    bool inside = true;
    for (int d = 0; d < rank; d++) {
        at[d] = vf_eval(v, no->index[d]).lo;
        if (no->nvars && (at[d] < 0 || at[d] >= e->dim[d])) return true;
        inside &= vf_locate(v, in, no->event, d, at[d], &kept);
        word = word * e->kept[d] + kept;
    }
    if (!inside) {
        vf_error(v, in->grid, "task %s notifies event %s, which has no such counter",
                 vf_task_at(v, in, g->notify_coords, group), vf_counter_text(v, no->event, at));
        return false;
    }
    struct vf_counter *c = &v->counter[e->first + word];
    c->arrivals += g->tiles / g->ngroups;
    if (c->latest < inst) c->latest = inst;
    ET_GROW(v->round, v->arrival, v->narrivals, v->carrivals);
    v->arrival[v->narrivals] = (struct vf_arrival){inst, group, c->arrival};
    c->arrival = v->narrivals++;
    return true;
}

/* What the entered tasks read by the variables of their waits (EARLY) or notifies is inside the
 * tensors, which no mask looks after there. */
bool vf_reads_inside(struct verify *v, const struct vf_inst *in, bool early) {
    const struct vf_grid *g = &v->grid[in->grid];
    for (int i = 0; i < g->naccess; i++) {
        const struct vf_access *a = &g->access[i];
        const et_tensor *t = &v->p->tensors[a->tensor];
        if (a->step || a->early != early || a->data || !a->nvars) continue;
        vf_box_of(v, a); /* sets the variables */
        for (int d = 0; d < t->shape.rank; d++) {
            bool moves = false;
            for (int k = 0; k < a->nvars; k++)
                moves |= v->var[a->vars[k]].hi > 0 &&
                         et_expr_has_var(v->x, a->index[d], a->vars[k]) &&
                         !et_expr_loads(v->x, et_var_extent(v->x, a->vars[k]));
            struct vf_range at = vf_eval(v, a->index[d]);
            int64_t size = vf_eval(v, t->shape.dim[d]).lo;
            if (!moves || (at.lo >= 0 && at.hi < size)) continue;
            vf_error(v, in->grid,
                     "%s of %s reads %%%s at %" PRId64 " to %" PRId64
                     " in dimension %d, which has %" PRId64,
                     early ? "a wait" : "a notify", g->g->name, t->name, at.lo, at.hi, d, size);
            return false;
        }
    }
    return true;
}

/* N variables to their first or next values; false past the last. */
bool vf_first_values(struct verify *v, int n, const int *vars) {
    bool any = true;
    for (int i = 0; i < n; i++)
        v->var[vars[i]] = (struct vf_range){0, 0};
    for (int i = 0; i < n; i++)
        any &= vf_eval(v, et_var_extent(v->x, vars[i])).lo > 0;
    return any;
}

bool vf_next_values(struct verify *v, int n, const int *vars) {
    for (int i = n - 1; i >= 0; i--) {
        struct vf_range *r = &v->var[vars[i]];
        v->report->work++;
        r->hi = ++r->lo;
        if (r->lo < vf_eval(v, et_var_extent(v->x, vars[i])).lo) return true;
        *r = (struct vf_range){0, 0};
    }
    return false;
}

static bool notify(struct verify *v, int inst, int group, const et_notify *no) {
    if (vf_is_loose(v, no)) {
        v->event[no->event].loose = inst;
        return true;
    }
    vf_enter(v, &v->inst[inst], v->grid[v->inst[inst].grid].notify_coords, group);
    if (!vf_first_values(v, no->nvars, no->vars)) return true;
    do
        if (!notify_one(v, inst, group, no)) return false;
    while (vf_next_values(v, no->nvars, no->vars) && v->report->work <= v->limit);
    return true;
}

bool vf_list_arrivals(struct verify *v) {
    for (int64_t c = 0; c < v->ncounters; c++)
        v->counter[c].arrival = -1;
    for (int i = 0; i < v->ninst; i++) {
        const struct vf_inst *in = &v->inst[i];
        const struct vf_grid *g = &v->grid[in->grid];
        for (int k = 0; k < g->ngroups && g->g->nnotifies; k++) {
            v->report->work += 4 + g->g->nnotifies;
            vf_enter(v, in, g->notify_coords, k);
            if (!vf_reads_inside(v, in, false)) return false;
            for (int n = 0; n < g->g->nnotifies; n++)
                if (vf_applies(v, in, g->g->notifies[n].when) &&
                    !notify(v, i, k, &g->g->notifies[n]))
                    return false;
        }
    }
    return true;
}

/* The counters of an event, by number, as indices of the whole loops. */
void vf_indices_of(const struct verify *v, int event, int64_t word, int64_t *at) {
    const struct vf_event *e = &v->event[event];
    for (int d = v->p->events[event].rank - 1; d >= 0; d--) {
        at[d] = word % e->kept[d];
        word /= e->kept[d];
        if (e->loop[d] >= 0) at[d] = vf_label(&v->loop[e->loop[d]], (int)at[d]);
    }
}

/* Arrivals that complete counter AT of an event, as the event says. */
static int64_t need_of(struct verify *v, int event, const int64_t *at) {
    const et_event *ev = &v->p->events[event];
    for (int d = 0; d < ev->rank; d++)
        if (ev->var[d]) v->var[ev->var[d] - 1] = (struct vf_range){at[d], at[d]};
    int64_t need = vf_eval(v, ev->count).lo;
    return need > 0 ? need : 0;
}

bool vf_check_counts(struct verify *v) {
    for (int e = 0; e < v->p->nevents; e++) {
        if (v->event[e].loose >= 0 || et_expr_loads(v->x, v->p->events[e].count))
            continue; /* promised */
        int64_t end = e + 1 < v->p->nevents ? v->event[e + 1].first : v->ncounters;
        for (int64_t c = v->event[e].first; c < end; c++) {
            const struct vf_counter *k = &v->counter[c];
            int64_t at[ET_MAX_RANK], need;
            vf_indices_of(v, e, c - v->event[e].first, at);
            need = need_of(v, e, at);
            if (k->arrivals == need || (k->arrivals == 0 && !k->waited)) continue;
            const struct vf_arrival *a = k->arrival >= 0 ? &v->arrival[k->arrival] : NULL;
            const struct vf_inst *in = a ? &v->inst[a->inst] : NULL;
            vf_error(v, in ? in->grid : -1,
                     "event %s counts to %" PRId64 " but gets %" PRId64 " arrivals%s%s",
                     vf_counter_text(v, e, at), need, k->arrivals, in ? ", the last of task " : "",
                     in ? vf_task_at(v, in, v->grid[in->grid].notify_coords, a->group) : "");
            return false;
        }
    }
    return true;
}
