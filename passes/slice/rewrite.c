/* The program with its operators cut (slice.c chooses which).
 *
 * A tensor that holds partial sums has one more dimension in front, the slice. Its reader
 * adds them up. A product would do so once in each of its tiles; for it the sums are made
 * beforehand: on every die a copy for the products of its slice, which only those wait for; one for
 * all where products are not sliced. */
#include "ir/program/step.h"
#include "passes/slice/int.h"
#include <string.h>

/* At the current item: the tensor with the sums of each tensor, or -1. */
struct sums {
    int of_slice, of_all;
};

struct rewrite {
    struct slicing *s;
    struct sums *sums; /* by tensor */
    /* Of what is being rewritten: */
    bool direct;   /* sums are added up where they are read */
    et_expr slice; /* that the reader is in; none: it is in no single one */
};

/* ---- sums ---- */

static bool is_split(const struct slicing *s, const et_node_x *n) {
    return n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR && n->i < s->ntensors && s->split[n->i];
}

static et_expr read_sum(void *ctx, et_exprs *x, et_expr leaf) {
    struct rewrite *r = ctx;
    et_node_x n = *et_x(x, leaf);
    et_expr index[ET_MAX_RANK];
    if (!is_split(r->s, &n)) return ET_NO_EXPR;
    struct sums *sums = &r->sums[n.i];
    if (r->slice.id && sums->of_slice >= 0) {
        index[0] = r->slice;
        memcpy(index + 1, n.ops, (size_t)n.nops * sizeof *index);
        return et_load(x, ET_LOAD_TENSOR, sums->of_slice, n.type, n.nops + 1, index);
    }
    if (!r->direct && sums->of_all >= 0)
        return et_load(x, ET_LOAD_TENSOR, sums->of_all, n.type, n.nops, n.ops);
    return et_add_parts_up(x, n.i, n.type, n.nops, n.ops, r->s->count);
}

/* PRODUCT: the slice as products know it; AXES: as the axes tell. */
static void read_all_sums(struct rewrite *r, et_group *gr, et_expr product, et_expr axes) {
    et_expr *e[ET_GROUP_EXPRS];
    int n = et_group_exprs(gr, e), of_products = n - 2 * gr->nproduct;
    for (int i = 0; i < n; i++) {
        r->slice = i < of_products ? axes : product;
        *e[i] = et_subst(r->s->x, *e[i], read_sum, r);
    }
}

/* ---- products of a sliced group as a batch, one for each slice ---- */

static int64_t size_of(const struct slicing *s, int var) {
    int64_t n = 0;
    et_is_int(s->x, et_var_extent(s->x, var), &n);
    return n;
}

static et_expr at_slice(struct slicing *s, et_expr slice, int64_t size, int within) {
    return et_add(s->x, et_mul(s->x, slice, et_int(s->x, size / s->count)), et_var(s->x, within));
}

struct leaves {
    struct slicing *s;
    const et_group *gr;
    struct known k;
    bool fit;
};

static void check_leaf(void *ctx, et_expr e) {
    struct leaves *l = ctx;
    const et_node_x *n = et_x(l->s->x, e);
    if (n->op != ET_X_CONTRACT) return;
    const et_product *p = &l->gr->product[n->i];
    l->fit &= !p->nbatch && sl_follows(l->s, n->ops[n->nops - 1], size_of(l->s, p->n), &l->k);
}

static bool may_batch(struct slicing *s, const et_group *gr, int axis) {
    struct leaves l = {s, gr, sl_know(s, gr->axis[axis]), true};
    if (gr->kind != ET_GROUP_STORE || !gr->nproduct || gr->rank >= ET_MAX_RANK) return false;
    et_walk(s->x, gr->value, check_leaf, &l);
    return l.fit && l.k.var;
}

struct batching {
    struct slicing *s;
    const et_group *gr;
    int var; /* the axis that is cut */
    et_expr slice, at;
    int64_t columns[ET_MAX_ACC]; /* of each product, in all slices */
};

static et_expr to_batch(void *ctx, et_exprs *x, et_expr leaf) {
    struct batching *b = ctx;
    et_node_x n = *et_x(x, leaf);
    if (n.op == ET_X_VAR && n.i == b->var) return b->at;
    if (n.op != ET_X_CONTRACT) return ET_NO_EXPR;
    et_expr index[ET_MAX_RANK];
    int64_t part = b->columns[n.i] / b->s->count;
    index[0] = b->slice;
    memcpy(index + 1, n.ops, (size_t)n.nops * sizeof *index);
    index[n.nops] = et_sub(x, index[n.nops], et_mul(x, b->slice, et_int(x, part)));
    return et_contract_x(x, n.i, n.nops + 1, index);
}

/* Axis AXIS of the group is split in two: the slice, in front, and what is within it. */
static et_expr batch_products(struct slicing *s, et_group *gr, int axis) {
    struct batching b = {.s = s, .gr = gr, .var = gr->axis[axis]};
    int64_t size = size_of(s, b.var);
    const char *name = et_var_name(s->x, b.var);
    int within = et_graph_var(s->p->g, name, et_int(s->x, size / s->count));
    int batch = et_graph_var(s->p->g, "b0", et_int(s->x, s->count)), n[ET_MAX_ACC];
    for (int i = 0; i < gr->nproduct; i++) {
        et_product *p = &gr->product[i];
        b.columns[i] = size_of(s, p->n);
        bool shared = i && b.columns[i] == b.columns[0];
        n[i] = shared ? n[0] : et_graph_var(s->p->g, "n", et_int(s->x, b.columns[i] / s->count));
        p->b = et_subst_var(s->x, p->b, p->n, at_slice(s, et_var(s->x, batch), b.columns[i], n[i]));
        p->n = n[i];
        p->batch[p->nbatch++] = batch;
        p->value = p->left = (et_value){0};
    }
    gr->axis[axis] = within;
    b.slice = et_add_part_axis(s->p, gr, s->count);
    b.at = at_slice(s, b.slice, size, within);
    gr->value = et_subst(s->x, gr->value, to_batch, &b);
    if (gr->mask.id) gr->mask = et_subst(s->x, gr->mask, to_batch, &b);
    for (int d = 0; d < gr->to.rank; d++)
        gr->to.index[d] = et_subst(s->x, gr->to.index[d], to_batch, &b);
    gr->slice = (et_slice){0, s->count};
    return et_var(s->x, batch);
}

/* ---- sums before their readers ---- */

static const char *fresh_name(const et_program *p, const char *tensor) {
    for (int k = 1;; k++) {
        const char *name = et_printf(p->g->arena, k > 1 ? "%s_sum_%d" : "%s_sum", tensor, k);
        bool taken = false;
        for (int i = 0; i < p->ntensors; i++)
            taken |= strcmp(p->tensors[i].name, name) == 0;
        for (int i = 0; i < p->ngroups; i++)
            taken |= strcmp(p->groups[i].name, name) == 0;
        if (!taken) return name;
    }
}

/* A group that adds up TENSOR, for each slice or for all; its tensor. */
static int add_sum(struct rewrite *r, int tensor, bool sliced, int loop, et_loc loc) {
    struct slicing *s = r->s;
    et_program *p = s->p;
    const char *name = fresh_name(p, p->tensors[tensor].name);
    ET_GROW(p->g->arena, p->tensors, p->ntensors, p->ctensors);
    et_tensor *t = &p->tensors[p->ntensors];
    const et_tensor *from = &p->tensors[tensor];
    *t = (et_tensor){.kind = ET_TENSOR_TEMP, .name = name, .shape = from->shape};
    t->max_bytes = from->max_bytes; /* of the whole tensor: FROM is made larger at the end */
    ET_GROW(p->g->arena, p->groups, p->ngroups, p->cgroups);
    et_group *gr = &p->groups[p->ngroups++];
    *gr = (et_group){.kind = ET_GROUP_STORE, .name = name, .loc = loc, .loop = loop};
    gr->rank = t->shape.rank;
    gr->to = (et_place){.space = ET_LOAD_TENSOR, .id = p->ntensors, .rank = gr->rank};
    static const char letter[] = "ijuvwxyz";
    for (int d = 0; d < gr->rank; d++) {
        gr->axis[d] = et_graph_var(p->g, (char[]){letter[d], 0}, t->shape.dim[d]);
        gr->to.index[d] = et_var(s->x, gr->axis[d]);
    }
    et_type type = et_dtype_type(t->shape.dtype);
    gr->value = et_add_parts_up(s->x, tensor, type, gr->rank, gr->to.index, s->count);
    if (sliced) {
        et_store_in_part(gr, et_add_part_axis(p, gr, s->count));
        gr->slice = (et_slice){0, s->count};
        memmove(t->shape.dim + 1, t->shape.dim, (size_t)t->shape.rank * sizeof *t->shape.dim);
        t->shape.dim[0] = et_int(s->x, s->count);
        t->shape.rank++;
        t->max_bytes *= s->count;
    }
    return p->ntensors++;
}

struct wanted {
    struct rewrite *r;
    bool *tensor;
    bool any;
};

static void want(void *ctx, et_expr e) {
    struct wanted *w = ctx;
    const et_node_x *n = et_x(w->r->s->x, e);
    if (!is_split(w->r->s, n)) return;
    w->tensor[n->i] = w->any = true;
}

/* ---- the program ---- */

struct list {
    et_item *v;
    int n, cap;
};

static void append(struct slicing *s, struct list *l, et_item it) {
    ET_GROW(s->p->g->arena, l->v, l->n, l->cap);
    l->v[l->n++] = it;
}

/* Sums that the products of the group read and that are not at hand. */
static bool need_sums(struct rewrite *r, int group, bool sliced, struct list *to) {
    struct slicing *s = r->s;
    struct wanted w = {r, et_alloc(s->p->g->arena, (size_t)s->ntensors + 1), false};
    for (int i = 0; i < s->p->groups[group].nproduct; i++)
        et_walk(s->x, s->p->groups[group].product[i].a, want, &w);
    for (int t = 0; t < s->ntensors; t++) {
        int *at = sliced ? &r->sums[t].of_slice : &r->sums[t].of_all;
        if (!w.tensor[t] || *at >= 0) continue;
        const et_group *gr = &s->p->groups[group];
        append(s, to, (et_item){.kind = ET_P_GRID, .index = s->p->ngroups});
        *at = add_sum(r, t, sliced, gr->loop, gr->loc);
    }
    return w.any;
}

static void rewrite_group(struct rewrite *r, int group, struct list *to) {
    struct slicing *s = r->s;
    int axis = s->axis[group];
    et_expr product = ET_NO_EXPR, axes = ET_NO_EXPR;
    bool batched = axis != WHOLE && !s->cut[group] && may_batch(s, &s->p->groups[group], axis);
    bool any = need_sums(r, group, batched || s->cut[group], to);
    et_group *gr = &s->p->groups[group];
    if (axis != WHOLE) gr->slice = (et_slice){axis, s->count};
    if (batched && any) {
        product = batch_products(s, gr, axis);
        axes = et_var(s->x, gr->axis[0]);
    }
    bool split = gr->to.space == ET_LOAD_TENSOR && s->split[gr->to.id];
    if (split) {
        et_expr slice = et_add_part_axis(s->p, gr, s->count);
        if (s->cut[group]) {
            et_cut_product(s->p, gr, s->count, slice);
            product = et_var(s->x, gr->product[0].batch[0]);
            axes = slice;
        } else {
            gr->value = et_in_first(s->x, slice, gr->value);
            if (gr->slice.count) gr->slice.coord++;
        }
        et_store_in_part(gr, slice);
        r->sums[gr->to.id] = (struct sums){-1, -1};
    }
    r->direct = axis != WHOLE || !gr->nproduct;
    read_all_sums(r, gr, product, axes);
}

static void forget_sums(struct rewrite *r) {
    for (int t = 0; t < r->s->ntensors; t++)
        r->sums[t] = (struct sums){-1, -1};
}

/* The items of a list, after the sums that they need; its place among the program's. */
static void rewrite_list(struct rewrite *r, const et_item *items, int *first, int *count) {
    et_program *p = r->s->p;
    struct list l = {0};
    for (int i = *first; i < *first + *count; i++) {
        et_item it = items[i];
        if (it.kind == ET_P_LOOP) {
            forget_sums(r);
            rewrite_list(r, items, &it.first, &it.count);
            forget_sums(r);
        } else {
            rewrite_group(r, it.index, &l);
        }
        append(r->s, &l, it);
    }
    *first = p->nitems;
    *count = l.n;
    for (int i = 0; i < l.n; i++) {
        ET_GROW(p->g->arena, p->items, p->nitems, p->citems);
        p->items[p->nitems++] = l.v[i];
    }
}

/* Groups are numbered in program order. */
static void renumber(et_program *p, const et_group *old, int first, int count) {
    for (int i = first; i < first + count; i++) {
        et_item *it = &p->items[i];
        if (it->kind == ET_P_LOOP) {
            renumber(p, old, it->first, it->count);
            continue;
        }
        ET_GROW(p->g->arena, p->groups, p->ngroups, p->cgroups);
        p->groups[p->ngroups] = old[it->index];
        it->index = p->ngroups++;
    }
}

void sl_rewrite(struct slicing *s) {
    et_program *p = s->p;
    struct rewrite r = {.s = s};
    r.sums = et_alloc(p->g->arena, (size_t)(s->ntensors + 1) * sizeof *r.sums);
    forget_sums(&r);
    const et_item *items = p->items;
    p->items = NULL;
    p->nitems = p->citems = 0;
    rewrite_list(&r, items, &p->first, &p->count);
    const et_group *groups = p->groups;
    p->groups = NULL;
    p->ngroups = p->cgroups = 0;
    renumber(p, groups, p->first, p->count);
    for (int t = 0; t < s->ntensors; t++)
        if (s->split[t]) et_split_tensor(s->x, &p->tensors[t], s->count);
}
