/* Tasks that touch the same memory, one of them writing, against what happens before what. */
#include "ir/base/diag.h"
#include "ir/verify/int.h"
#include <string.h>

/* ---- tiles of one instance, for all values of the symbols at once ---- */

/* An index as a sum of coordinates times constants and a rest without coordinates. */
struct linear {
    bool ok;
    int64_t factor[ET_MAX_RANK];
    et_expr rest;
    int64_t lo, hi; /* of the rest */
};

/* Loop variables are the same in both tiles and cancel where they come in equally; what is left of
 * them in the rest is taken at 0 after checking that. */
static et_expr without_loops(struct verify *v, const struct vf_grid *g, et_expr e) {
    for (int k = 0; k < g->depth; k++)
        e = et_subst_var(v->x, e, v->p->g->loops[g->path[k]].var, et_int(v->x, 0));
    return e;
}

static struct linear split(struct verify *v, const struct vf_grid *g, et_expr e) {
    struct linear l = {.ok = true};
    et_exprs *x = v->x;
    et_expr rest = e, sum;
    for (int c = 0; c < g->f->ncoords; c++)
        rest = et_subst_var(x, rest, g->f->coord[c], et_int(x, 0));
    sum = rest;
    for (int c = 0; c < g->f->ncoords; c++) {
        et_expr one = et_subst_var(x, e, g->f->coord[c], et_int(x, 1));
        et_expr zero = et_subst_var(x, e, g->f->coord[c], et_int(x, 0));
        l.ok &= et_is_int(x, et_sub(x, one, zero), &l.factor[c]);
        if (l.ok)
            sum = et_add(x, sum, et_mul(x, et_var(x, g->f->coord[c]), et_int(x, l.factor[c])));
    }
    l.rest = rest;
    l.ok = l.ok && et_expr_eq(sum, e) && !et_expr_loads(v->x, rest) &&
           et_bounds(x, without_loops(v, g, rest), &l.lo, &l.hi);
    return l;
}

/* What loops add to both is the same number: it has no variable that two tiles may differ in. */
static bool same_in_loops(struct verify *v, const struct vf_grid *g, et_expr a, et_expr b) {
    et_expr da = et_sub(v->x, a, without_loops(v, g, a));
    int64_t none;
    if (!et_expr_eq(da, et_sub(v->x, b, without_loops(v, g, b)))) return false;
    if (et_is_int(v->x, da, &none)) return true;
    for (int i = 0; i < et_var_count(v->x); i++) {
        bool loop = false;
        for (int k = 0; k < g->depth; k++)
            loop |= v->p->g->loops[g->path[k]].var == i;
        if (!loop && et_expr_has_var(v->x, da, i)) return false;
    }
    return true;
}

/* The part of the sum E whose terms are no multiples of M: E and it differ by a multiple of M. */
static et_expr remainder_of(et_exprs *x, et_expr e, int64_t m) {
    et_node_x n = *et_x(x, e);
    int64_t by;
    if (n.op == ET_X_ADD)
        return et_add(x, remainder_of(x, n.ops[0], m), remainder_of(x, n.ops[1], m));
    if (n.op == ET_X_INT)
        by = n.n;
    else if (n.op != ET_X_MUL || (!et_is_int(x, n.ops[1], &by) && !et_is_int(x, n.ops[0], &by)))
        return e;
    return by % m == 0 ? et_int(x, 0) : e;
}

/* How far apart everything but coordinate C moves the indices of two tiles that agree on the
 * coordinates in SAME, up to multiples of M where that is not 0; -1 = not known. */
static int64_t spread(struct verify *v, const struct vf_grid *g, const struct linear *a,
                      const struct linear *b, unsigned same, int c, int64_t m) {
    struct vf_range x = {a->lo, a->hi}, y = {b->lo, b->hi};
    int64_t low, most, wide;
    if (m && (!et_bounds(v->x, remainder_of(v->x, without_loops(v, g, a->rest), m), &x.lo, &x.hi) ||
              !et_bounds(v->x, remainder_of(v->x, without_loops(v, g, b->rest), m), &y.lo, &y.hi)))
        return -1;
    int64_t lo = x.lo < y.lo ? x.lo : y.lo, hi = x.hi > y.hi ? x.hi : y.hi;
    for (int o = 0; o < g->f->ncoords; o++) {
        if (a->factor[o] != b->factor[o]) return -1;
        if (o == c || same >> o & 1 || !a->factor[o] || (m && a->factor[o] % m == 0)) continue;
        if (!et_bounds(v->x, g->g->extent[o], &low, &most)) return -1;
        if (__builtin_mul_overflow(most - 1, a->factor[o], &most)) return -1;
        lo += most < 0 ? most : 0;
        hi += most > 0 ? most : 0;
    }
    return __builtin_sub_overflow(hi, lo, &wide) ? -1 : wide;
}

/* As fixes, where the rest has terms that are multiples of M: then C and what is left of the rest
 * stay within M, so that the index modulo M tells C. Halves of a head are M apart, and tiles of
 * them lie in between. */
static bool fixes_modulo(struct verify *v, const struct vf_grid *g, const struct linear *a,
                         const struct linear *b, unsigned same, int c, int64_t m) {
    int64_t step = a->factor[c] < 0 ? -a->factor[c] : a->factor[c], low, most;
    if (m <= step || !et_bounds(v->x, g->g->extent[c], &low, &most)) return false;
    int64_t wide = spread(v, g, a, b, same, c, m);
    return wide >= 0 && wide < step && most - 1 <= (m - 1 - wide) / step;
}

static bool fixes_by_term(struct verify *v, const struct vf_grid *g, const struct linear *a,
                          const struct linear *b, unsigned same, int c, et_expr term) {
    et_node_x n = *et_x(v->x, term);
    int64_t by;
    if (n.op == ET_X_ADD)
        return fixes_by_term(v, g, a, b, same, c, n.ops[0]) ||
               fixes_by_term(v, g, a, b, same, c, n.ops[1]);
    if (n.op != ET_X_MUL || (!et_is_int(v->x, n.ops[1], &by) && !et_is_int(v->x, n.ops[0], &by)))
        return false;
    return fixes_modulo(v, g, a, b, same, c, by < 0 ? -by : by);
}

/* Equal indices in dimension D mean equal coordinate C, for tiles that agree on the coordinates in
 * SAME: one step of C moves further than everything else together, or than what is no multiple of
 * a term's factor. */
static bool fixes(struct verify *v, const struct vf_grid *g, const struct linear *a,
                  const struct linear *b, unsigned same, int c) {
    int64_t step = a->factor[c] < 0 ? -a->factor[c] : a->factor[c];
    if (!step) return false;
    int64_t wide = spread(v, g, a, b, same, c, 0);
    if (wide >= 0 && wide < step) return true;
    return fixes_by_term(v, g, a, b, same, c, without_loops(v, g, a->rest));
}

static bool proved_apart(struct verify *v, const struct vf_grid *g, const struct vf_access *a,
                         const struct vf_access *b) {
    int rank = v->p->tensors[a->tensor].shape.rank;
    unsigned same = 0, all = (1u << g->f->ncoords) - 1;
    int64_t one;
    for (int c = 0; c < g->f->ncoords; c++)
        if (et_is_int(v->x, g->g->extent[c], &one) && one == 1) same |= 1u << c;
    for (bool more = true; more && same != all;) {
        more = false;
        for (int d = 0; d < rank; d++) {
            struct linear x = split(v, g, a->index[d]), y = split(v, g, b->index[d]);
            if (!x.ok || !y.ok || !same_in_loops(v, g, a->index[d], b->index[d])) continue;
            for (int c = 0; c < g->f->ncoords; c++)
                if (!(same >> c & 1) && fixes(v, g, &x, &y, same, c)) same |= 1u << c, more = true;
        }
    }
    return same == all;
}

static bool all_apart(struct verify *v, int grid) {
    const struct vf_grid *g = &v->grid[grid];
    for (int i = 0; i < v->within[grid].n; i++) {
        const struct vf_pair *p = &v->within[grid].v[i];
        const struct vf_access *a = &g->access[p->a], *b = &g->access[p->b];
        /* What a data-dependent store leaves where two tasks of one grid write the same element is
         * either's value: that is what the language says of an update that repeats an index. */
        if (p->a == p->b && a->data) continue;
        if (p->overlapping || !proved_apart(v, g, a, b)) return false;
    }
    return true;
}

void vf_list_apart(struct verify *v) {
    v->apart = et_alloc(v->arena, (size_t)v->p->ngrids + 1);
    for (int g = 0; g < v->p->ngrids; g++)
        v->apart[g] = all_apart(v, g);
}

/* ---- two sets of tasks, narrowed until they are apart or two tasks ---- */

struct side {
    const struct vf_inst *in;
    const struct vf_access *a;
    int64_t value;            /* of the unknown numbers in its waits, -1: any */
    int klass;                /* of the later side */
    et_expr load;             /* in the access, known to be ... */
    struct vf_range holds;    /* ... from there; or none */
    const uint64_t *past;     /* of the later side */
    unsigned fixed, relevant; /* coordinates chosen; that matter */
    int64_t coord[ET_MAX_RANK];
    struct vf_box box;
};

static void measure(struct verify *v, struct side *s) {
    const struct vf_grid *g = &v->grid[s->in->grid];
    vf_enter(v, s->in, 0, 0);
    for (int c = 0; c < g->f->ncoords; c++)
        if (s->fixed >> c & 1) v->var[g->f->coord[c]] = (struct vf_range){s->coord[c], s->coord[c]};
    if (s->value >= 0) vf_know(v, g, s->value);
    v->at = s->load;
    v->at_range = s->holds;
    s->box = vf_box_of(v, s->a);
    v->at = ET_NO_EXPR;
}

static bool side_meet(const struct verify *v, const struct side *a, const struct side *b) {
    v->report->work++;
    if (a->a->tensor == b->a->tensor)
        return vf_meet(&a->box, &b->box, v->p->tensors[a->a->tensor].shape.rank);
    /* Tensors that share memory at their largest: taken to meet wherever they are touched. */
    return !a->box.empty && !b->box.empty;
}

static int64_t number(const struct vf_grid *g, unsigned mask, const int64_t *coord) {
    int64_t n = 0;
    for (int c = 0; c < g->f->ncoords; c++)
        if (mask >> c & 1) n = n * g->extent[c] + coord[c];
    return n;
}

static void choose(const struct vf_grid *g, struct side *s, unsigned mask, int64_t at) {
    s->fixed = mask;
    for (int c = g->f->ncoords - 1; c >= 0; c--) {
        if (!(mask >> c & 1)) continue;
        s->coord[c] = at % g->extent[c];
        at /= g->extent[c];
    }
}

static void report(struct verify *v, const struct side *a, const struct side *b) {
    const et_program *p = v->p;
    const char *first = vf_task(v, a->in, a->fixed, a->coord);
    const char *second = vf_task(v, b->in, b->fixed, b->coord);
    if (a->a->tensor == b->a->tensor)
        vf_error(
            v, b->in->grid,
            "task %s %s %%%s, which task %s %s before it, and no event orders the two: an edge "
            "from %s to %s is missing",
            second, b->a->store ? "writes" : "reads", p->tensors[a->a->tensor].name, first,
            a->a->store ? "writes" : "reads", p->grids[a->in->grid].name,
            p->grids[b->in->grid].name);
    else
        vf_error(
            v, b->in->grid,
            "task %s %s %%%s, in memory that task %s %s as %%%s before it, and no event orders "
            "the two: an edge from %s to %s is missing",
            second, b->a->store ? "writes" : "reads", p->tensors[b->a->tensor].name, first,
            a->a->store ? "writes" : "reads", p->tensors[a->a->tensor].name,
            p->grids[a->in->grid].name, p->grids[b->in->grid].name);
}

static bool in_set(const uint64_t *set, int group) {
    return set[group >> 6] >> (group & 63) & 1;
}

static int group_of(const struct verify *v, const struct side *s) {
    const struct vf_grid *g = &v->grid[s->in->grid];
    return s->in->first_group + (int)number(g, g->notify_coords, s->coord);
}

/* Two tiles of one instance: what the later waits for whatever its unknown numbers are. */
static bool ordered_within(const struct verify *v, const struct side *a, const struct side *b) {
    const struct vf_grid *g = &v->grid[b->in->grid];
    int64_t klass = number(g, g->wait_coords, b->coord) * g->values;
    return in_set(v->sure[b->in->first_class + klass], group_of(v, a));
}

static bool narrow(struct verify *v, struct side *a, struct side *b);

/* The next coordinate of S, to each of its values. OTHER stays. */
static bool narrow_side(struct verify *v, struct side *a, struct side *b, struct side *s) {
    const struct vf_grid *g = &v->grid[s->in->grid];
    int c = __builtin_ctz(s->relevant & ~s->fixed);
    struct vf_box box = s->box;
    bool ok = true;
    s->fixed |= 1u << c;
    for (s->coord[c] = 0; ok && s->coord[c] < g->extent[c]; s->coord[c]++) {
        measure(v, s);
        ok = narrow(v, a, b);
        if (!ok) return false;
    }
    s->fixed &= ~(1u << c);
    s->box = box;
    return ok;
}

/* Every task of A that meets one of B is done before it. For tiles of one instance: is ordered with
 * it, one way or the other. */
static bool narrow(struct verify *v, struct side *a, struct side *b) {
    if (!side_meet(v, a, b)) return true;
    unsigned left_a = a->relevant & ~a->fixed, left_b = b->relevant & ~b->fixed;
    if (left_a && (!left_b || __builtin_ctz(left_a) <= __builtin_ctz(left_b)))
        return narrow_side(v, a, b, a);
    if (left_b) return narrow_side(v, a, b, b);
    if (a->in == b->in) {
        const struct vf_grid *g = &v->grid[a->in->grid];
        if (number(g, a->relevant, a->coord) == number(g, b->relevant, b->coord)) return true;
        bool tagged = v->p->tensors[a->a->tensor].tagged; /* two of one tag: to be apart */
        if (!tagged && (ordered_within(v, a, b) || ordered_within(v, b, a))) return true;
    } else if (in_set(b->past, group_of(v, a)) ||
               (!b->a->early && vf_vouched(v, a->in, a->coord, b->in, b->klass))) {
        return true;
    }
    report(v, a, b);
    return false;
}

/* ---- instances ---- */

static bool all_set(const uint64_t *bits, int from, int n) {
    for (int i = from; i < from + n;) {
        if ((i & 63) == 0 && i + 64 <= from + n) {
            if (bits[i >> 6] != UINT64_MAX) return false;
            i += 64;
        } else {
            if (!(bits[i >> 6] >> (i & 63) & 1)) return false;
            i++;
        }
    }
    return true;
}

/* The groups every class of each instance waits for. */
static uint64_t *common_pasts(struct verify *v) {
    size_t words = (size_t)v->words;
    uint64_t *common = et_alloc(v->round, (size_t)v->ninst * words * 8 + 8);
    for (int i = 0; i < v->ninst; i++) {
        int n = v->grid[v->inst[i].grid].nclasses;
        uint64_t *to = common + (size_t)i * words;
        if (n) memset(to, 0xff, words * 8);
        for (int k = 0; k < n; k++) {
            int c = v->inst[i].first_class + k;
            const uint64_t *past = v->early[c] ? v->early[c] : v->past[c];
            for (size_t w = 0; w < words; w++)
                to[w] &= past[w];
        }
    }
    return common;
}

/* The earlier side of a pair as a tree: all groups, those that agree on the first coordinate of
 * notify_coords, on the first two, ... Nodes of one depth are numbered like groups; their
 * footprints are made when first needed. */
struct node {
    bool made;
    struct side side;
};

struct tree {
    const struct vf_inst *in;
    const struct vf_access *a;
    int depth, coord[ET_MAX_RANK];   /* the coordinates, in order */
    int64_t first[ET_MAX_RANK + 1];  /* node of each depth */
    int64_t groups[ET_MAX_RANK + 1]; /* below a node of each depth */
    struct node *node;
};

/* Valid until the next call. */
static void plant(struct verify *v, const struct vf_inst *in, const struct vf_access *a,
                  struct tree *t) {
    const struct vf_grid *g = &v->grid[in->grid];
    int64_t nodes = 1, width = 1;
    *t = (struct tree){.in = in, .a = a};
    for (int c = 0; c < g->f->ncoords; c++) {
        if (!(g->notify_coords >> c & 1)) continue;
        t->first[t->depth + 1] = nodes;
        t->coord[t->depth++] = c;
        nodes += width *= g->extent[c];
    }
    t->groups[t->depth] = 1;
    for (int d = t->depth; d > 0; d--)
        t->groups[d - 1] = t->groups[d] * g->extent[t->coord[d - 1]];
    if (v->nscratch < nodes) {
        v->nscratch = (int)(2 * nodes);
        v->scratch = et_alloc(v->arena, (size_t)v->nscratch * sizeof *t->node);
    }
    t->node = v->scratch;
    for (int64_t i = 0; i < nodes; i++)
        t->node[i].made = false;
}

static struct side *side_at(struct verify *v, const struct tree *t, int depth, int64_t at) {
    const struct vf_grid *g = &v->grid[t->in->grid];
    struct node *n = &t->node[t->first[depth] + at];
    if (n->made) return &n->side;
    n->made = true;
    n->side = (struct side){
        .in = t->in, .a = t->a, .value = -1, .relevant = t->a->coords | g->notify_coords};
    unsigned mask = 0;
    for (int d = 0; d < depth; d++)
        mask |= 1u << t->coord[d];
    choose(g, &n->side, mask, at);
    measure(v, &n->side);
    return &n->side;
}

/* Groups below the node are done before the class of B, or do not meet it. */
static bool descend(struct verify *v, const struct tree *t, int depth, int64_t at, struct side *b) {
    int64_t below = t->groups[depth];
    if (all_set(b->past, t->in->first_group + (int)(at * below), (int)below)) return true;
    struct side *a = side_at(v, t, depth, at);
    if (!side_meet(v, a, b)) return true;
    if (depth == t->depth) return narrow(v, a, b);
    int64_t n = v->grid[t->in->grid].extent[t->coord[depth]];
    for (int64_t i = 0; i < n; i++)
        if (!descend(v, t, depth + 1, at * n + i, b)) return false;
    return true;
}

static int shared_loops(const struct vf_grid *a, const struct vf_grid *b) {
    int n = 0;
    while (n < a->depth && n < b->depth && a->path[n] == b->path[n])
        n++;
    return n;
}

struct later {
    const struct tree *t;
    struct side side;
    const uint64_t *before; /* its past, whatever the load holds */
    uint64_t *past;
};

/* The later side where the load that it and waits of its task share is in one range. */
static bool check_cut(void *ctx, struct verify *v, const struct vf_cut *c) {
    struct later *l = ctx;
    const struct vf_grid *g = &v->grid[c->in->grid];
    struct side b = l->side;
    memcpy(l->past, l->before, (size_t)v->words * sizeof *l->past);
    for (int k = 0; k < g->npoints; k++)
        if (c->points >> k & 1)
            vf_join_box(v, c->in, g->g->waits[g->point[k].wait].event, &c->box[k], l->past);
    b.past = l->past;
    b.load = b.a->match[__builtin_ctz(c->points)].load;
    b.holds = c->x;
    measure(v, &b);
    return descend(v, l->t, 0, 0, &b);
}

/* All points that cover A are for the same whichever class waits. */
static bool all_alike(const struct vf_access *a, unsigned points) {
    for (int k = 0; k < VF_POINTS; k++)
        if ((points >> k & 1) && !a->match[k].alike) return false;
    return true;
}

/* What holds of the instance's groups in SET is among what does in OTHER. */
static bool no_less(const uint64_t *set, const uint64_t *other, int from, int n) {
    for (int i = from; i < from + n; i++)
        if (in_set(set, i) && !in_set(other, i)) return false;
    return true;
}

static bool check_pair(struct verify *v, const struct vf_inst *first, const struct vf_inst *second,
                       const struct vf_pair *p) {
    const struct vf_grid *ga = &v->grid[first->grid], *gb = &v->grid[second->grid];
    struct tree t;
    v->report->pairs++;
    v->glued = shared_loops(ga, gb);
    plant(v, first, &ga->access[p->a], &t);
    uint64_t *room = gb->npoints ? et_alloc(v->round, (size_t)v->words * 8 + 8) : NULL;
    const uint64_t *done = NULL; /* the past of a class that stands for others */
    unsigned done_points = 0;
    for (int k = 0; k < gb->nclasses; k++) {
        struct side b = {.in = second, .a = &gb->access[p->b], .value = k % gb->values, .klass = k};
        b.past = b.a->early ? v->early[second->first_class + k] : v->past[second->first_class + k];
        v->report->work += 2;
        if (all_set(b.past, first->first_group, ga->ngroups)) continue;
        b.relevant = b.a->coords | gb->wait_coords;
        choose(gb, &b, gb->wait_coords, k / gb->values);
        unsigned points = vf_covering(v, second, k, b.a);
        if (points) {
            struct later l = {&t, b, b.past, room};
            v->report->work += ga->ngroups / 16;
            if (done && done_points == points &&
                no_less(done, b.past, first->first_group, ga->ngroups))
                continue;
            if (all_alike(b.a, points)) done = b.past, done_points = points;
            if (!vf_each_cut(v, second, k, points, check_cut, &l)) return false;
            continue;
        }
        measure(v, &b);
        if (!descend(v, &t, 0, 0, &b)) return false;
    }
    return true;
}

static bool check_within(struct verify *v, const struct vf_inst *in, const struct vf_pair *p) {
    const struct vf_grid *g = &v->grid[in->grid];
    if (p->a == p->b && g->access[p->a].data) return true;
    if (!vf_is_now(v, g->access[p->a].tensor)) return true;
    unsigned all = (1u << g->f->ncoords) - 1;
    struct side a = {.in = in, .a = &g->access[p->a], .value = -1, .relevant = all};
    struct side b = {.in = in, .a = &g->access[p->b], .value = -1, .relevant = all};
    measure(v, &a);
    measure(v, &b);
    return narrow(v, &a, &b);
}

/* What instance FIRST stores or loads and IN does too. */
static bool check_instances(struct verify *v, const struct vf_inst *first,
                            const struct vf_inst *in) {
    const struct vf_pairs *p = vf_pairs_of(v, first->grid, in->grid);
    for (int k = 0; k < p->n; k++)
        if (vf_is_now(v, v->grid[first->grid].access[p->v[k].a].tensor) &&
            !check_pair(v, first, in, &p->v[k]))
            return false;
    v->glued = 0;
    return true;
}

bool vf_hazards(struct verify *v) {
    const uint64_t *common = common_pasts(v);
    et_arena *a = et_arena_create();
    bool ok = true;
    for (int j = 0; j < v->ninst && ok && v->report->work <= v->limit; j++) {
        const struct vf_inst *in = &v->inst[j];
        const uint64_t *past = common + (size_t)j * (size_t)v->words;
        if (!v->grid[in->grid].nclasses) continue;
        et_arena_mark before = et_arena_set_mark(a);
        int *earlier, n = vf_meeting_before(v, a, j, &earlier);
        v->report->work += n;
        for (int i = 0; i < n && ok; i++) {
            const struct vf_inst *first = &v->inst[earlier[i]];
            ok = vf_translated(v, first, in) ||
                 all_set(past, first->first_group, v->grid[first->grid].ngroups) ||
                 check_instances(v, first, in);
        }
        et_arena_release(a, before);
        for (int k = 0; k < v->within[in->grid].n && ok && !v->apart[in->grid]; k++)
            ok = check_within(v, in, &v->within[in->grid].v[k]);
    }
    et_arena_destroy(a);
    return ok;
}
