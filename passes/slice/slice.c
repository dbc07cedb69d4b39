/* Operators cut into slices, one for each die: a product is cut along k, and the producers of its
 * left operand along the same elements, back to a group that needs a whole tensor. Then only
 * partial sums are read across dies. Or the product stays whole and reads across dies itself.
 *
 * The partial products of slice s are element [s, ...] of their tensor, and groups that read the
 * tensor add them up, always in the same order. Terms added to a product (a residual) are
 * part of slice 0, so that no tensor holds the sum: it would need one more event of scope device.
 */
#include "passes/slice/slice.h"
#include "passes/pipeline/pipeline.h"
#include "passes/slice/int.h"
#include <string.h>

enum {
    LEAST_COLUMNS = 16,
    NEAR = 32, /* at most so many groups before a product may be in slices when rows are judged */
};

static bool constant(const struct slicing *s, et_expr e, int64_t *out) {
    return et_is_int(s->x, e, out);
}

/* ---- which element of a tensor is in which slice ---- */

bool sl_follows(struct slicing *s, et_expr index, int64_t size, const struct known *k) {
    int64_t part = size / s->count, lo, hi;
    if (!k->var || size % s->count) return false;
    for (int i = 0; i < s->count; i++) {
        et_expr at =
            et_add(s->x, et_int(s->x, i * (k->extent / s->count)), et_var(s->x, k->within));
        if (!et_bounds(s->x, et_subst_var(s->x, index, k->var - 1, at), &lo, &hi)) return false;
        if (lo < i * part || hi >= (i + 1) * part) return false;
    }
    return true;
}

struct known sl_know(struct slicing *s, int var) {
    int64_t n;
    if (!constant(s, et_var_extent(s->x, var), &n) || n % s->count) return (struct known){0};
    return (struct known){var + 1, n, et_graph_var(s->p->g, "s", et_int(s->x, n / s->count))};
}

/* ---- producers of a product's left operand ---- */

struct reading {
    struct slicing *s;
    const struct known *k;
    bool ask;          /* only look */
    int sliced, whole; /* reads of what others compute: slice by slice, of more than that */
};

static bool slice_group(struct slicing *s, int group, int axis);

/* The axis of GROUP that indexes dimension D of what it stores. */
static int axis_at(const struct slicing *s, const et_group *gr, int d) {
    const et_node_x *n = et_x(s->x, gr->to.index[d]);
    for (int a = 0; n->op == ET_X_VAR && a < gr->rank; a++)
        if (n->i == gr->axis[a]) return a;
    return WHOLE;
}

/* A scan stores to its state as well. */
static bool is_state_of(const et_group *gr, int tensor) {
    return gr->kind == ET_GROUP_SCAN && gr->state.id == tensor;
}

static bool is_computed(const struct slicing *s, int tensor) {
    for (int i = 0; i < s->p->ngroups; i++)
        if (s->p->groups[i].to.id == tensor || is_state_of(&s->p->groups[i], tensor)) return true;
    return false;
}

/* The user gave it a range, or a hint that it be dynamic. */
static bool is_placed(const et_group *gr) {
    return gr->range.to || gr->hint == ET_HINT_DYNAMIC;
}

static bool slice_writers(struct slicing *s, int tensor, int d, bool ask) {
    bool all = true;
    for (int i = 0; i < s->p->ngroups; i++) {
        const et_group *gr = &s->p->groups[i];
        if (is_state_of(gr, tensor)) return false; /* it is not cut */
        if (gr->to.id != tensor) continue;
        int a = axis_at(s, gr, d);
        all &= a != WHOLE && !is_placed(gr) && (ask || slice_group(s, i, a));
    }
    return all;
}

static void note_load(void *ctx, et_expr e) {
    struct reading *r = ctx;
    struct slicing *s = r->s;
    const et_node_x *n = et_x(s->x, e);
    if (n->op != ET_X_LOAD || n->i2 != ET_LOAD_TENSOR || !is_computed(s, n->i)) return;
    const et_tensor *t = &s->p->tensors[n->i];
    int64_t size;
    for (int d = 0; d < t->shape.rank; d++)
        if (constant(s, t->shape.dim[d], &size) && sl_follows(s, n->ops[d], size, r->k) &&
            slice_writers(s, n->i, d, r->ask)) {
            r->sliced++;
            return;
        }
    r->whole++;
}

/* The groups that E reads slice by slice are sliced likewise. */
static void slice_sources(struct slicing *s, et_expr e, const struct known *k) {
    struct reading r = {.s = s, .k = k};
    if (e.id) et_walk(s->x, e, note_load, &r);
}

/* Does E read all temporaries slice by slice? */
static bool in_slices(struct slicing *s, et_expr e, const struct known *k) {
    struct reading r = {.s = s, .k = k, .ask = true};
    et_walk(s->x, e, note_load, &r);
    return r.sliced && !r.whole;
}

/* Slice the group along the axis, and what it reads of others as far as that goes. */
static bool slice_group(struct slicing *s, int group, int axis) {
    et_group *gr = &s->p->groups[group];
    int64_t n, heads;
    if (s->axis[group] != WHOLE) return s->axis[group] == axis && !s->cut[group];
    if (gr->kind == ET_GROUP_SCAN) return false;
    if (!constant(s, et_var_extent(s->x, gr->axis[axis]), &n) || n % s->count) return false;
    bool attend = gr->kind == ET_GROUP_ATTEND;
    if (attend &&
        (axis != 1 || !constant(s, et_var_extent(s->x, gr->gvar), &heads) || heads % s->count))
        return false;
    if (s->most && s->nsliced++ >= s->most) return false;
    s->axis[group] = axis;
    struct known k = sl_know(s, gr->axis[axis]), g = attend ? sl_know(s, gr->gvar) : k;
    if (!attend) slice_sources(s, gr->value, &k);
    for (int i = 0; attend && i < ET_AT_PARTS; i++)
        if (gr->part[i].id) slice_sources(s, gr->part[i], i == ET_AT_K || i == ET_AT_V ? &g : &k);
    return true;
}

/* ---- which products are cut ---- */

struct marking {
    const et_exprs *x;
    bool *read; /* by tensor */
};

static void mark(void *ctx, et_expr e) {
    struct marking *m = ctx;
    const et_node_x *n = et_x(m->x, e);
    if (n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR) m->read[n->i] = true;
}

static void mark_reads(const struct slicing *s, const et_group *gr, bool *read) {
    struct marking m = {s->x, read};
    if (gr->value.id) et_walk(s->x, gr->value, mark, &m);
    if (gr->mask.id) et_walk(s->x, gr->mask, mark, &m);
    for (int i = 0; i < ET_AT_PARTS; i++)
        if (gr->part[i].id) et_walk(s->x, gr->part[i], mark, &m);
    for (int i = 0; i < ET_SC_PARTS; i++)
        if (gr->scan[i].id) et_walk(s->x, gr->scan[i], mark, &m);
    for (int i = 0; i < gr->nproduct; i++)
        et_walk(s->x, gr->product[i].a, mark, &m);
}

static bool reads_tensor(const struct slicing *s, const et_group *gr, int tensor) {
    bool *read = et_alloc(s->p->g->arena, (size_t)s->p->ntensors + 1);
    mark_reads(s, gr, read);
    return read[tensor];
}

/* May the tensor hold partial sums? It is a temporary of f32, and what stores to it neither reads
 * it nor is attention. */
static bool may_split(const struct slicing *s, int tensor) {
    const et_tensor *t = &s->p->tensors[tensor];
    if (t->kind != ET_TENSOR_TEMP || t->shape.dtype != ET_F32 || t->shape.rank >= ET_MAX_RANK)
        return false;
    for (int i = 0; i < s->p->ngroups; i++) {
        const et_group *gr = &s->p->groups[i];
        if (gr->to.id == tensor &&
            (gr->kind != ET_GROUP_STORE || gr->rank >= ET_MAX_RANK || reads_tensor(s, gr, tensor)))
            return false;
    }
    return true;
}

/* Does all that the group's product multiplies come in slices of K? */
static bool operand_in_slices(struct slicing *s, int group, struct known *k) {
    const et_group *gr = &s->p->groups[group];
    if (gr->kind != ET_GROUP_STORE || gr->nproduct != 1 || gr->product[0].nbatch || is_placed(gr) ||
        s->axis[group] != WHOLE)
        return false;
    *k = sl_know(s, gr->product[0].k);
    return k->var && in_slices(s, gr->product[0].a, k);
}

static bool may_cut(struct slicing *s, int group, const struct known *k) {
    const et_group *gr = &s->p->groups[group];
    et_expr product, rest;
    return k->extent / s->count >= LEAST_COLUMNS &&
           et_split_off_product(s->x, gr->value, &product, &rest) && may_split(s, gr->to.id);
}

static bool try_cut(struct slicing *s, int group, et_cut cut) {
    et_group *gr = &s->p->groups[group];
    struct known k;
    if (cut == ET_CUT_NONE || !operand_in_slices(s, group, &k)) return false;
    if (cut == ET_CUT_SUM && !may_cut(s, group, &k)) return false;
    slice_sources(s, gr->product[0].a, &k);
    if (cut == ET_CUT_ROWS) return true;
    s->cut[group] = true;
    s->axis[group] = 0;
    s->split[gr->to.id] = true;
    return true;
}

/* ---- the pass ---- */

static bool is_sliced(const et_program *p) {
    for (int i = 0; i < p->ngroups; i++)
        if (p->groups[i].slice.count) return true;
    return false;
}

static void tell(const struct slicing *s, const et_pass_options *o) {
    if (!et_is_dumped(o, "slice")) return;
    for (int i = 0; i < s->p->ngroups; i++) {
        const et_group *gr = &s->p->groups[i];
        if (s->axis[i] == WHOLE) continue;
        fprintf(o->dump_to, "# %s: %d slices of %s\n", gr->name, s->count,
                s->cut[i] ? "the sum" : et_var_name(s->x, gr->axis[s->axis[i]]));
    }
}

static struct slicing begin(et_program *p, int count) {
    et_arena *a = p->g->arena;
    struct slicing s = {.p = p, .x = p->g->exprs, .count = count, .ntensors = p->ntensors};
    s.axis = et_alloc(a, (size_t)(p->ngroups + 1) * sizeof *s.axis);
    s.cut = et_alloc(a, (size_t)(p->ngroups + 1) * sizeof *s.cut);
    s.split = et_alloc(a, (size_t)(p->ntensors + 1) * sizeof *s.split);
    for (int i = 0; i < p->ngroups; i++)
        s.axis[i] = WHOLE;
    return s;
}

/* Groups that read each tensor; with SLICED, of those in slices. */
static int *count_readers(const struct slicing *s, bool sliced) {
    int nt = s->p->ntensors, *n = et_alloc(s->p->g->arena, ((size_t)nt + 1) * sizeof *n);
    bool *read = et_alloc(s->p->g->arena, (size_t)nt + 1);
    for (int i = 0; i < s->p->ngroups; i++) {
        if (sliced && s->axis[i] == WHOLE) continue;
        memset(read, 0, (size_t)nt);
        mark_reads(s, &s->p->groups[i], read);
        for (int t = 0; t < nt; t++)
            n[t] += read[t];
    }
    return n;
}

/* If nothing but GROUP's operand asks for slices, is there something that stays on a die: what a
 * group in slices computes, and only groups in slices read? */
static bool worth_rows(et_program *p, int count, int group, const int *readers) {
    struct slicing s = begin(p, count);
    bool stays = false;
    s.most = NEAR;
    if (!try_cut(&s, group, ET_CUT_ROWS)) return false;
    const int *sliced = count_readers(&s, true);
    for (int i = 0; i < p->ngroups; i++) {
        int t = p->groups[i].to.id;
        stays |= s.axis[i] != WHOLE && sliced[t] && sliced[t] == readers[t];
    }
    return stays;
}

unsigned char *et_slice_cuts(et_program *p, int count) {
    struct slicing s = begin(p, count);
    unsigned char *may = et_alloc(p->g->arena, (size_t)p->ngroups + 1);
    const int *readers = count_readers(&s, false);
    for (int i = 0; i < p->ngroups; i++) {
        if (worth_rows(p, count, i, readers)) may[i] |= 1 << ET_CUT_ROWS;
        if (try_cut(&s, i, ET_CUT_SUM)) may[i] |= 1 << ET_CUT_SUM;
    }
    return may;
}

int et_slice_groups(et_program *p, int count, const et_cut *cut, const et_pass_options *o) {
    struct slicing s = begin(p, count);
    int cuts = 0;
    for (int i = 0; i < p->ngroups; i++)
        cuts += try_cut(&s, i, cut[i]);
    if (!cuts) return 0;
    tell(&s, o);
    sl_rewrite(&s);
    return cuts;
}

et_cut et_most_cut(unsigned char may, et_cut most) {
    while (most > ET_CUT_NONE && !(may >> most & 1))
        most--;
    return most;
}

static et_cut *everything(et_program *p, int count, et_cut what) {
    et_cut *cut = et_alloc(p->g->arena, ((size_t)p->ngroups + 1) * sizeof *cut);
    unsigned char *may = et_slice_cuts(p, count);
    for (int i = 0; i < p->ngroups; i++)
        cut[i] = et_most_cut(may[i], what);
    return cut;
}

static bool has_shares(const et_graph *g) {
    bool given = false;
    for (int m = 0; m < g->nmodels; m++)
        given |= g->model[m].share.to > 0;
    return given;
}

bool et_pass_slice(et_pipeline *pl) {
    const et_pass_options *o = pl->opt;
    bool choose = o->slices == ET_SLICES_AUTO, asked = o->verbose || o->dump || o->findings;
    int count = choose ? o->machine->dies : o->slices;
    if (!et_is_static(o) || count < 2 || count > ET_MAX_SLICES || is_sliced(pl->p)) return true;
    if (choose && (o->quick || has_shares(pl->g)))
        return true; /* a trial does not try slices in turn, and shares that were given stay as they
                        are */
    et_cut all = choose ? ET_CUT_NONE : o->slice_rows ? ET_CUT_ROWS : ET_CUT_SUM;
    const et_cut *cut = NULL;
    if (choose || (asked && !o->quick && !has_shares(pl->g)))
        cut = et_slices_chosen(pl, count, all);
    if (!choose) cut = everything(pl->p, count, all);
    if (cut) et_slice_groups(pl->p, count, cut, o);
    return true;
}
