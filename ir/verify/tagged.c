/* The tags of what unfenced events hand over (ir/program/tags.h): in the order of the program, each
 * store to a tagged tensor has a larger tag than all that was stored to it or taken of it before,
 * and what is taken has at least that of all stores before it. That there is a store of just the
 * tag that is asked for is shown with what happens inside of tasks (steps/temp.c), and that all of
 * this keeps its order is for the events to say. */
#include "ir/base/diag.h"
#include "ir/program/tags.h"
#include "ir/verify/int.h"
#include <inttypes.h>

struct tagged {
    struct verify *v;
    int64_t *stored, *taken; /* by tensor: the largest so far, -1: none */
};

bool vf_has_unfenced(const et_program *p) {
    bool any = false;
    for (int e = 0; e < p->nevents; e++)
        any |= p->events[e].unfenced;
    return any;
}

/* ---- a loop that was shortened ---- */

/* What each iteration adds to E, a constant not less than 0; -1: nothing of the kind. */
static int64_t step_of(struct verify *v, et_expr e, int var) {
    et_exprs *x = v->x;
    et_expr first = et_subst_var(x, e, var, et_int(x, 0));
    et_expr second = et_subst_var(x, e, var, et_int(x, 1));
    int64_t by, rest;
    if (!et_is_int(x, et_sub(x, second, first), &by) || by < 0) return -1;
    et_expr line = et_add(x, first, et_mul(x, et_var(x, var), et_int(x, by)));
    return et_is_int(x, et_sub(x, e, line), &rest) && rest == 0 ? by : -1;
}

/* Tags in a loop that was shortened all move alike, so that neighbouring iterations stand for any
 * two, and the ends of the loop for all of it. */
static bool moves_alike(struct verify *v, int loop, int tensor) {
    int64_t by = -1;
    int var = v->p->g->loops[loop].var;
    for (int i = 0; i < v->p->ngrids; i++) {
        const struct vf_grid *g = &v->grid[i];
        bool inside = false;
        for (int k = 0; k < g->depth; k++)
            inside |= g->path[k] == loop;
        for (int k = 0; k < g->naccess && inside; k++) {
            if (g->access[k].tensor != tensor) continue;
            int64_t own = g->depth == 1 ? step_of(v, g->access[k].step->tag, var) : -1;
            if (own < 0 || (by >= 0 && own != by)) return false;
            by = own;
        }
    }
    return true;
}

static bool check_loops(struct verify *v) {
    for (int l = 0; l < v->p->g->nloops; l++)
        for (int t = 0; t < v->p->ntensors; t++) {
            if (!v->loop[l].shortened || !v->p->tensors[t].tagged || moves_alike(v, l, t)) continue;
            vf_error(v, -1, "the tags of %%%s do not all grow alike with loop %s",
                     v->p->tensors[t].name, v->p->g->loops[l].name);
            return false;
        }
    return true;
}

/* ---- in the order of the program ---- */

static bool tag_of(struct verify *v, const struct vf_grid *g, const int *at, et_expr e,
                   int64_t *out) {
    for (int k = 0; k < g->depth; k++) {
        et_expr i = et_int(v->x, vf_label(&v->loop[g->path[k]], at[k]));
        e = et_subst_var(v->x, e, v->p->g->loops[g->path[k]].var, i);
    }
    return vf_is_int(v, e, out);
}

static bool check_access(struct tagged *t, int grid, const int *at, const struct vf_access *a) {
    struct verify *v = t->v;
    int64_t tag, *stored = &t->stored[a->tensor], *taken = &t->taken[a->tensor];
    const char *tensor = v->p->tensors[a->tensor].name, *name = v->grid[grid].g->name;
    if (!tag_of(v, &v->grid[grid], at, a->step->tag, &tag)) {
        vf_error(v, grid, "the tag with which %s touches %%%s is not known before the launch", name,
                 tensor);
        return false;
    }
    bool ok = a->store ? tag > *stored && tag > *taken : tag >= *stored;
    if (!ok)
        vf_error(v, grid,
                 "task %s %s %%%s with tag %" PRId64 ", where %" PRId64 " was %s before it", name,
                 a->store ? "stores" : "takes", tensor, tag, tag > *stored ? *taken : *stored,
                 tag > *stored ? "taken" : "stored");
    int64_t *own = a->store ? stored : taken;
    if (tag > *own) *own = tag;
    return ok;
}

static bool walk(struct tagged *t, int first, int count, int *at, int depth) {
    struct verify *v = t->v;
    for (int i = first; i < first + count; i++) {
        const et_item *it = &v->p->items[i];
        const struct vf_grid *g = it->kind == ET_P_GRID ? &v->grid[it->index] : NULL;
        for (int k = 0; g && k < g->naccess; k++)
            if (v->p->tensors[g->access[k].tensor].tagged &&
                !check_access(t, it->index, at, &g->access[k]))
                return false;
        if (g) continue;
        for (at[depth] = 0; at[depth] < v->loop[it->index].kept; at[depth]++)
            if (!walk(t, it->first, it->count, at, depth + 1)) return false;
    }
    return true;
}

bool vf_tags(struct verify *v) {
    struct tagged t = {.v = v};
    int at[ET_MAX_LOOPS] = {0};
    bool any = false;
    size_t bytes = (size_t)(v->p->ntensors + 1) * sizeof *t.stored;
    t.stored = et_alloc(v->arena, bytes);
    t.taken = et_alloc(v->arena, bytes);
    for (int i = 0; i < v->p->ntensors; i++) {
        t.stored[i] = t.taken[i] = -1;
        any |= v->p->tensors[i].tagged;
    }
    return !any || (check_loops(v) && walk(&t, v->p->first, v->p->count, at, 0));
}
