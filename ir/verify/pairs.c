/* Pairs of accesses that may conflict: those of the same memory of which one stores. */
#include "ir/verify/int.h"
#include <string.h>

bool vf_share_memory(const et_program *p, int a, int b) {
    const et_tensor *s = &p->tensors[a], *t = &p->tensors[b];
    return a != b && s->kind == ET_TENSOR_TEMP && t->kind == ET_TENSOR_TEMP &&
           s->offset < t->offset + t->max_bytes && t->offset < s->offset + s->max_bytes;
}

/* Numbers of those accesses of each grid that store. */
struct stores {
    int *access, n;
};

/* Replaces what OUT holds. STORES: of B. */
static void find_pairs(struct verify *v, const struct vf_grid *a, const struct vf_grid *b,
                       const struct stores *stores, struct vf_pairs *out) {
    out->n = 0;
    for (int i = 0; i < a->naccess; i++)
        for (int n = 0; n < (a->access[i].store ? b->naccess : stores->n); n++) {
            int k = a->access[i].store ? n : stores->access[n];
            const struct vf_access *x = &a->access[i], *y = &b->access[k];
            bool overlapping = vf_share_memory(v->p, x->tensor, y->tensor);
            if (x->tensor != y->tensor && !overlapping) continue;
            ET_GROW(v->arena, out->v, out->n, out->cap);
            out->v[out->n++] = (struct vf_pair){i, k, overlapping};
        }
}

static struct stores *list_stores(struct verify *v) {
    struct stores *all = et_alloc(v->arena, (size_t)v->p->ngrids * sizeof *all + 1);
    for (int g = 0; g < v->p->ngrids; g++) {
        struct stores *s = &all[g];
        s->access = et_alloc(v->arena, (size_t)v->grid[g].naccess * sizeof *s->access + 1);
        for (int i = 0; i < v->grid[g].naccess; i++)
            if (v->grid[g].access[i].store) s->access[s->n++] = i;
    }
    return all;
}

/* By tensor: the grids that touch it, and other tensors of which some lies in the same memory. */
struct touched {
    int *grid, n, cap;
    int *other, nothers, cothers;
    bool stored; /* by any of the grids */
    int last;    /* 1 + the last grid whose meetings were noted for it */
};

static struct touched *list_touched(struct verify *v) {
    struct touched *all = et_alloc(v->arena, (size_t)v->p->ntensors * sizeof *all + 1);
    for (int g = 0; g < v->p->ngrids; g++)
        for (int i = 0; i < v->grid[g].naccess; i++) {
            struct touched *t = &all[v->grid[g].access[i].tensor];
            t->stored |= v->grid[g].access[i].store;
            if (t->n && t->grid[t->n - 1] == g) continue;
            ET_GROW(v->arena, t->grid, t->n, t->cap);
            t->grid[t->n++] = g;
        }
    for (int a = 0; a < v->p->ntensors; a++)
        for (int b = 0; all[a].n && b < v->p->ntensors; b++) {
            if (!all[b].n || !vf_share_memory(v->p, a, b)) continue;
            ET_GROW(v->arena, all[a].other, all[a].nothers, all[a].cothers);
            all[a].other[all[a].nothers++] = b;
        }
    return all;
}

static void note_touching(const struct touched *a, const struct touched *b, bool *meets) {
    for (int k = 0; (a->stored || b->stored) && k < b->n; k++)
        meets[b->grid[k]] = true;
}

/* Sets MEETS for grids that touch memory which G touches, where any of them stores. */
static void note_meetings(const struct verify *v, struct touched *all, int g, bool *meets) {
    for (int i = 0; i < v->grid[g].naccess; i++) {
        struct touched *t = &all[v->grid[g].access[i].tensor];
        if (t->last == g + 1) continue;
        t->last = g + 1;
        note_touching(t, t, meets);
        for (int k = 0; k < t->nothers; k++)
            note_touching(t, &all[t->other[k]], meets);
    }
}

const struct vf_pairs *vf_pairs_of(const struct verify *v, int earlier, int later) {
    static const struct vf_pairs none;
    const struct vf_row *row = &v->row[earlier];
    int lo = 0, hi = row->n;
    while (lo < hi) {
        int mid = lo + (hi - lo) / 2;
        if (row->v[mid].later < later)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < row->n && row->v[lo].later == later ? &row->v[lo].pairs : &none;
}

void vf_list_pairs(struct verify *v) {
    int n = v->p->ngrids;
    v->row = et_alloc(v->arena, (size_t)n * sizeof *v->row + 1);
    v->within = et_alloc(v->arena, (size_t)n * sizeof *v->within + 1);
    struct touched *touched = list_touched(v);
    const struct stores *stores = list_stores(v);
    bool *meets = et_alloc(v->arena, (size_t)n + 1);
    struct vf_pairs found = {0};
    for (int a = 0; a < n; a++) {
        memset(meets, 0, (size_t)n);
        note_meetings(v, touched, a, meets);
        for (int b = 0; b < n; b++) {
            if (!meets[b]) continue;
            find_pairs(v, &v->grid[a], &v->grid[b], &stores[b], &found);
            if (!found.n) continue;
            struct vf_met met = {.later = b, .pairs = {NULL, found.n, found.n}};
            met.pairs.v = et_alloc(v->arena, (size_t)found.n * sizeof *found.v);
            memcpy(met.pairs.v, found.v, (size_t)found.n * sizeof *found.v);
            ET_GROW(v->arena, v->row[a].v, v->row[a].n, v->row[a].cap);
            v->row[a].v[v->row[a].n++] = met;
        }
    }
    for (int g = 0; g < n; g++) {
        const struct vf_pairs *all = vf_pairs_of(v, g, g);
        struct vf_pairs *half = &v->within[g];
        for (int k = 0; k < all->n; k++) {
            if (all->v[k].a > all->v[k].b) continue;
            ET_GROW(v->arena, half->v, half->n, half->cap);
            half->v[half->n++] = all->v[k];
        }
    }
}
