/* Which weights lie in memory in another order than in the checkpoint. A lane of a product
 * loads consecutive k's, and a stage of the weight stream holds rows of k; where k is not the last
 * dimension, as in checkpoints whose layers multiply from the left or whose quantised values are
 * packed across rows, each would be a load of its own. So the weight is made k-major: the
 * dimensions indexed by k come last, those indexed by n before them, and the runtime stores it so
 * when it loads it. */
#include "ir/program/step.h"
#include "passes/fuse/lowering.h"
#include "passes/trial/trial.h"
#include <string.h>

enum { MOST_LOADS = 8 };

struct weight {
    et_expr load[MOST_LOADS]; /* of right operands */
    int n[MOST_LOADS], k[MOST_LOADS];
    int nloads;
    bool other; /* something else reads it, or too many do */
};

struct choosing {
    et_lowering *lo;
    struct weight *weight;     /* by tensor */
    const et_product *product; /* whose right operand is walked over, or NULL */
};

static void look(void *ctx, et_expr e) {
    struct choosing *t = ctx;
    const et_node_x *x = et_x(t->lo->g->exprs, e);
    if (x->op != ET_X_LOAD || x->i2 != ET_LOAD_TENSOR ||
        t->lo->p->tensors[x->i].kind != ET_TENSOR_WEIGHT)
        return;
    struct weight *w = &t->weight[x->i];
    if (!t->product || w->nloads == MOST_LOADS) {
        w->other = true;
        return;
    }
    w->load[w->nloads] = e;
    w->n[w->nloads] = t->product->n;
    w->k[w->nloads++] = t->product->k;
}

static void look_at_group(struct choosing *t, et_group *gr) {
    et_expr *all[ET_GROUP_EXPRS];
    int n = et_group_exprs(gr, all);
    for (int i = 0; i < n; i++) {
        t->product = NULL;
        for (int p = 0; p < gr->nproduct; p++)
            if (all[i] == &gr->product[p].b) t->product = &gr->product[p];
        et_walk(t->lo->g->exprs, *all[i], look, t);
    }
}

/* The step of VAR, a power of two, at which E changes; 0: it never does. */
static int64_t step_of(et_exprs *x, et_expr e, int var) {
    et_expr first = et_subst_var(x, e, var, et_int(x, 0));
    if (!et_expr_has_var(x, e, var)) return 0;
    for (int64_t n = 1; n < INT32_MAX; n *= 2)
        if (!et_expr_eq(et_subst_var(x, e, var, et_int(x, n)), first)) return n;
    return 0;
}

/* E as a part that counts OF in steps of BY, modulo MOD unless 0. */
struct digit {
    et_expr of;
    int64_t by, mod;
};

static struct digit digit_of(const et_exprs *x, et_expr e) {
    struct digit d = {e, 1, 0};
    if (et_x(x, d.of)->op == ET_X_MOD && et_is_int(x, et_x(x, d.of)->ops[1], &d.mod))
        d.of = et_x(x, d.of)->ops[0];
    if (et_x(x, d.of)->op == ET_X_IDIV && et_is_int(x, et_x(x, d.of)->ops[1], &d.by))
        d.of = et_x(x, d.of)->ops[0];
    return d;
}

/* The index of two dimensions joined, the last of LAST elements. *OUT_SIMPLER: it is a simpler one.
 */
static et_expr join(et_exprs *x, et_expr first, et_expr last, et_expr size, bool *out_simpler) {
    struct digit high = digit_of(x, first), low = digit_of(x, last);
    int64_t n;
    *out_simpler = et_is_int(x, size, &n) && et_expr_eq(high.of, low.of) && low.mod == n &&
                   high.by == low.by * n;
    if (!*out_simpler) return et_add(x, et_mul(x, first, size), last);
    et_expr e = et_op2(x, ET_X_IDIV, low.of, et_int(x, low.by));
    return high.mod ? et_op2(x, ET_X_MOD, e, et_int(x, high.mod * n)) : e;
}

/* The key that dimensions are ordered by, larger ones first: dimensions of neither n nor k come
 * first and keep their order. */
struct place {
    enum { OF_K, OF_N, OF_NEITHER } of;
    int64_t step;
};

/* An element of a tensor that the launch writes, as a router's choice is. */
static bool is_decided(const void *ctx, et_expr e) {
    const et_program *p = ctx;
    const et_node_x *n = et_x(p->g->exprs, e);
    return n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR && p->tensors[n->i].kind == ET_TENSOR_TEMP;
}

static bool place_of(const et_program *p, const struct weight *w, int i, int d, struct place *out) {
    et_exprs *x = p->g->exprs;
    et_expr e = et_x(x, w->load[i])->ops[d];
    bool decided = et_expr_any(x, e, is_decided, p);
    int64_t n = decided ? 0 : step_of(x, e, w->n[i]), k = decided ? 0 : step_of(x, e, w->k[i]);
    *out = (struct place){k ? OF_K : n ? OF_N : OF_NEITHER, k ? k : n};
    return !n || !k;
}

static bool comes_before(struct place a, struct place b) {
    return a.of != b.of ? a.of > b.of : a.step > b.step;
}

/* The dimensions in order, as load number I of W has them, and which are joined with the one in
 * front: where both indices together are one that is simpler. False: some dimension is of both. */
static bool order_of(et_lowering *lo, const et_tensor *t, const struct weight *w, int i,
                     et_relaying *out) {
    et_exprs *x = lo->g->exprs;
    int rank = t->shape.rank;
    struct place at[ET_MAX_RANK];
    *out = (et_relaying){0};
    for (int d = 0; d < rank; d++) {
        int to = d;
        if (!place_of(lo->p, w, i, d, &at[d])) return false;
        for (; to > t->nloops && comes_before(at[d], at[out->order[to - 1]]); to--)
            out->order[to] = out->order[to - 1];
        out->order[to] = (unsigned char)d;
    }
    et_node_x load = *et_x(x, w->load[i]);
    et_expr all = load.ops[out->order[0]];
    for (int d = 1; d < rank; d++) {
        int to = out->order[d];
        et_expr own = load.ops[to];
        bool simpler;
        et_expr both = join(x, all, own, t->shape.dim[to], &simpler);
        out->joined[d] = d > t->nloops && at[to].of == at[out->order[d - 1]].of && simpler;
        all = out->joined[d] ? both : own;
    }
    return true;
}

static bool is_another(const et_relaying *t, int rank) {
    for (int d = 0; d < rank; d++)
        if (t->order[d] != d) return true;
    return false;
}

/* Are T's rows in that order of whole bytes? */
static bool has_bytes(const et_exprs *x, const et_tensor *t, const et_relaying *by) {
    int64_t bits = et_dtype_bits(t->shape.dtype), n;
    for (int d = t->shape.rank; d-- > 0;) {
        if (!et_is_int(x, t->shape.dim[by->order[d]], &n)) return false;
        bits *= n % 8;
        if (!by->joined[d]) break;
    }
    return bits % 8 == 0;
}

/* *OUT: the order of T's dimensions that suits all of its loads; false: it stays as it is. */
static bool gains(et_lowering *lo, const et_tensor *t, const struct weight *w, et_relaying *out) {
    et_relaying more;
    if (!w->nloads || w->other || !order_of(lo, t, w, 0, out) || !is_another(out, t->shape.rank) ||
        !has_bytes(lo->g->exprs, t, out))
        return false;
    for (int i = 1; i < w->nloads; i++)
        if (!order_of(lo, t, w, i, &more) || memcmp(&more, out, sizeof more) != 0) return false;
    return true;
}

/* By value id, in memory that outlives the trial. */
static void look_at_plan(et_lowering *lo, et_relaying *all, et_relaying **found) {
    struct choosing t = {.lo = lo};
    do {
        lo->again = false;
        et_build_groups(lo);
    } while (lo->again);
    t.weight = et_alloc(lo->g->arena, (size_t)(lo->p->ntensors + 1) * sizeof *t.weight);
    for (int i = 0; i < lo->p->ngroups; i++)
        look_at_group(&t, &lo->p->groups[i]);
    for (int i = 0; i < lo->p->ntensors; i++) {
        const et_tensor *of = &lo->p->tensors[i];
        if (gains(lo, of, &t.weight[i], &all[of->value.id]))
            found[of->value.id] = &all[of->value.id];
    }
}

void et_relay_weights(et_lowering *lo, const et_pass_options *opt) {
    if (et_is_without(opt->without, ET_FEATURE_RELAID) || opt->keep_order) return;
    size_t n = (size_t)lo->g->nvals;
    et_relaying *all = et_alloc(lo->g->arena, n * sizeof *all);
    et_relaying **found = et_alloc(lo->g->arena, n * sizeof *found);
    bool *forced = et_alloc(lo->g->arena, n * sizeof *forced);
    memcpy(forced, lo->forced, n * sizeof *forced);
    /* Each later trial would walk expressions that are kept. */
    et_trial trial;
    et_trial_begin(&trial, lo->g, NULL, opt);
    look_at_plan(lo, all, found);
    et_trial_end(&trial);
    memcpy(lo->forced, forced, n * sizeof *forced);
    lo->relaying = found;
}

void et_relay_tensor(et_lowering *lo, et_tensor *t, const et_relaying *by) {
    et_relaid *as = et_alloc(lo->g->arena, sizeof *as);
    et_shape *s = &t->shape;
    as->rank = s->rank;
    memcpy(as->dim, s->dim, sizeof as->dim);
    memcpy(as->order, by->order, sizeof as->order);
    s->rank = 0;
    for (int d = 0; d < as->rank; d++) {
        et_expr n = as->dim[by->order[d]];
        if (by->joined[d])
            s->dim[s->rank - 1] = et_mul(lo->g->exprs, s->dim[s->rank - 1], n);
        else
            s->dim[s->rank++] = n;
    }
    t->relaid = as;
}

int et_relaid_index(et_lowering *lo, const et_tensor *t, const et_relaying *by,
                    const et_expr *index, et_expr *out) {
    et_exprs *x = lo->g->exprs;
    int n = 0;
    for (int d = 0; d < t->relaid->rank; d++) {
        et_expr i = index[by->order[d]];
        bool simpler;
        if (by->joined[d])
            out[n - 1] = join(x, out[n - 1], i, t->relaid->dim[by->order[d]], &simpler);
        else
            out[n++] = i;
    }
    return n;
}
