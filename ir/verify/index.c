/* Where to look: instances by their grid, and notifies and waits by their event. */
#include "ir/base/diag.h"
#include "ir/verify/int.h"
#include <stdlib.h>

static void note_use(struct verify *v, struct vf_uses *to, int grid, int at) {
    ET_GROW(v->arena, to->v, to->n, to->cap);
    to->v[to->n++] = (struct vf_use){grid, at};
}

void vf_index_events(struct verify *v) {
    size_t n = (size_t)v->p->nevents + 1;
    v->notified = et_alloc(v->arena, n * sizeof *v->notified);
    v->awaited = et_alloc(v->arena, n * sizeof *v->awaited);
    for (int g = 0; g < v->p->ngrids; g++) {
        const et_grid *gr = &v->p->grids[g];
        for (int i = 0; i < gr->nnotifies; i++)
            note_use(v, &v->notified[gr->notifies[i].event], g, i);
        for (int i = 0; i < gr->nwaits; i++)
            note_use(v, &v->awaited[gr->waits[i].event], g, i);
    }
}

void vf_index_instances(struct verify *v) {
    int n = v->p->ngrids;
    v->of_grid = et_alloc(v->round, (size_t)(n + 2) * sizeof *v->of_grid);
    v->by_grid = et_alloc(v->round, (size_t)(v->ninst + 1) * sizeof *v->by_grid);
    for (int i = 0; i < v->ninst; i++)
        v->of_grid[v->inst[i].grid + 2]++;
    for (int g = 0; g < n; g++)
        v->of_grid[g + 2] += v->of_grid[g + 1];
    for (int i = 0; i < v->ninst; i++) /* leaves where the next grid's begin */
        v->by_grid[v->of_grid[v->inst[i].grid + 1]++] = i;
}

static int by_number(const void *a, const void *b) {
    return *(const int *)a - *(const int *)b;
}

int vf_notifying(const struct verify *v, et_arena *a, int event, int **out) {
    const struct vf_uses *u = &v->notified[event];
    const int *of;
    int n = 0, grids = 0;
    for (int i = 0; i < u->n; i++)
        n += i && u->v[i - 1].grid == u->v[i].grid ? 0 : vf_instances_of(v, u->v[i].grid, &of);
    *out = et_alloc(a, (size_t)(n + 1) * sizeof **out);
    n = 0;
    for (int i = 0; i < u->n; i++) {
        if (i && u->v[i - 1].grid == u->v[i].grid) continue;
        int of_grid = vf_instances_of(v, u->v[i].grid, &of);
        for (int k = 0; k < of_grid; k++)
            (*out)[n++] = of[k];
        grids++;
    }
    if (grids > 1) qsort(*out, (size_t)n, sizeof **out, by_number);
    return n;
}

int vf_meeting_before(const struct verify *v, et_arena *a, int inst, int **out) {
    const uint64_t *meets = vf_meets(v, v->inst[inst].grid);
    int n = 0;
    *out = et_alloc(a, (size_t)(inst + 1) * sizeof **out);
    for (int w = 0; w < v->meet_words; w++)
        for (uint64_t left = meets[w]; left; left &= left - 1) {
            const int *of;
            int of_grid = vf_instances_of(v, 64 * w + __builtin_ctzll(left), &of);
            for (int k = 0; k < of_grid && of[k] < inst; k++)
                (*out)[n++] = of[k];
        }
    qsort(*out, (size_t)n, sizeof **out, by_number);
    return n;
}
