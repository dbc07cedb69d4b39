/* Pairs of accesses that may conflict: those of the same memory of which one stores. */
#include "ir/verify/int.h"
#include <string.h>

bool vf_share_memory(const et_program *p, int a, int b) {
    const et_tensor *s = &p->tensors[a], *t = &p->tensors[b];
    return a != b && s->kind == ET_TENSOR_TEMP && t->kind == ET_TENSOR_TEMP &&
           s->offset < t->offset + t->max_bytes && t->offset < s->offset + s->max_bytes;
}

/* STORES: of B. */
static void find_pairs(struct verify *v, const struct vf_grid *a, const struct vf_grid *b,
                       const struct vf_stores *stores, struct vf_pairs *out) {
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

static struct vf_stores *list_stores(struct verify *v) {
    struct vf_stores *all = et_alloc(v->arena, (size_t)v->p->ngrids * sizeof *all + 1);
    for (int g = 0; g < v->p->ngrids; g++) {
        struct vf_stores *s = &all[g];
        s->access = et_alloc(v->arena, (size_t)v->grid[g].naccess * sizeof *s->access + 1);
        for (int i = 0; i < v->grid[g].naccess; i++)
            if (v->grid[g].access[i].store) s->access[s->n++] = i;
    }
    return all;
}

/* By tensor: the grids that touch it. */
struct touched {
    int *grid, n, cap;
    bool stored; /* by any of them */
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
    return all;
}

static void join(uint64_t *to, const uint64_t *from, int words) {
    for (int w = 0; w < words; w++)
        to[w] |= from[w];
}

/* The grids that meet those which touch tensor T. */
static void meet_at(const struct verify *v, const struct touched *all, int t, uint64_t *out) {
    for (int o = 0; o < v->p->ntensors && all[t].n; o++) {
        bool meet =
            all[o].n && (all[o].stored || all[t].stored) && (o == t || vf_share_memory(v->p, o, t));
        for (int k = 0; meet && k < all[o].n; k++)
            vf_set_bit(out, all[o].grid[k]);
    }
}

static void list_meetings(struct verify *v) {
    const struct touched *all = list_touched(v);
    size_t words = (size_t)(v->p->ngrids + 63) / 64;
    uint64_t *at = et_alloc(v->arena, words * sizeof *at + 8);
    v->meet_words = (int)words;
    v->meets = et_alloc(v->arena, (size_t)v->p->ngrids * words * sizeof *v->meets + 8);
    for (int t = 0; t < v->p->ntensors; t++) {
        memset(at, 0, words * sizeof *at);
        meet_at(v, all, t, at);
        for (int k = 0; k < all[t].n; k++)
            join(v->meets + (size_t)all[t].grid[k] * words, at, (int)words);
    }
}

const uint64_t *vf_meets(const struct verify *v, int grid) {
    return v->meets + (size_t)grid * (size_t)v->meet_words;
}

static struct vf_met *slot_of(struct verify *v, int64_t key) {
    if (2 * v->nmet_pairs >= v->cmet_pairs) {
        struct vf_met *old = v->met_pairs;
        int n = v->cmet_pairs;
        v->cmet_pairs = n ? 4 * n : 1024;
        v->met_pairs = et_alloc(v->arena, (size_t)v->cmet_pairs * sizeof *old);
        v->nmet_pairs = 0;
        for (int i = 0; i < n; i++)
            if (old[i].key) *slot_of(v, old[i].key) = old[i];
    }
    uint64_t at = (uint64_t)key * 0x9e3779b97f4a7c15u >> 20, n = (uint64_t)v->cmet_pairs;
    while (v->met_pairs[at % n].key && v->met_pairs[at % n].key != key)
        at++;
    v->nmet_pairs += !v->met_pairs[at % n].key;
    return &v->met_pairs[at % n];
}

const struct vf_pairs *vf_pairs_of(struct verify *v, int earlier, int later) {
    static const struct vf_pairs none;
    if (!vf_bit(vf_meets(v, earlier), later)) return &none;
    int64_t key = (int64_t)earlier * v->p->ngrids + later + 1;
    struct vf_met *m = slot_of(v, key);
    if (!m->key) {
        m->key = key;
        find_pairs(v, &v->grid[earlier], &v->grid[later], &v->stores[later], &m->pairs);
    }
    return &m->pairs;
}

void vf_list_pairs(struct verify *v) {
    int n = v->p->ngrids;
    v->within = et_alloc(v->arena, (size_t)n * sizeof *v->within + 1);
    v->stores = list_stores(v);
    list_meetings(v);
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
