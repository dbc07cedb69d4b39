/* Does what a program means hang on how many rows groups are padded to, where that is chosen for
 * it? Shapes, and the values of rows that only fill a block, may; nobody sees them where all that
 * is read of blocks is read by the places of rows, as a mixture of experts does.
 *
 * The same program is looked at with two choices, node by node. What a value is decides which of
 * its nodes may differ, and how. */
#include "frontend/sema/sema.h"
#include "ir/graph/ops.h"
#include <string.h>

/* What a value has. Of blocks [T] of P places: */
typedef enum {
    SAME,   /* nothing of them */
    FIRST,  /* where groups begin */
    PLACES, /* the places of rows, as numbers */
    BLOCK,  /* [T, ...]: of each block */
    ROWS,   /* [T, P, ...]: of each place, by the row that is there */
    FLAT,   /* [T * P, ...]: the same */
} what;

typedef struct {
    what is;
    int group; /* the node that says where its groups begin */
} kind;

struct pads {
    const et_graph *g[2]; /* one choice, and another */
    const et_node *n[2];  /* the node that is looked at */
    kind *of;             /* per value */
};

static const et_shape *shape_of(const struct pads *s, int which, et_value v) {
    return &et_val_of(s->g[which], v)->shape;
}

static const char *text(const struct pads *s, int which, et_expr e) {
    return e.id ? et_expr_text(s->g[which]->exprs, e, NULL, NULL) : "";
}

static bool same_expr(const struct pads *s, et_expr a, et_expr b) {
    return strcmp(text(s, 0, a), text(s, 1, b)) == 0;
}

/* Dimensions FROM and later of V are the same with both choices. */
static bool same_from(const struct pads *s, et_value v, int from) {
    const et_shape *a = shape_of(s, 0, v), *b = shape_of(s, 1, v);
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int d = from; d < a->rank && same; d++)
        same = same_expr(s, a->dim[d], b->dim[d]);
    return same;
}

static bool same_attr(const struct pads *s, const et_attr *a, const et_attr *b) {
    bool same = strcmp(a->name, b->name) == 0 && a->kind == b->kind && a->n == b->n &&
                a->i == b->i && a->f == b->f && same_expr(s, a->expr, b->expr);
    for (int i = 0; i < a->n && same; i++)
        same = a->kind == ET_A_EXPRS ? same_expr(s, a->exprs[i], b->exprs[i])
                                     : a->ints[i] == b->ints[i];
    return same;
}

/* All attributes are the same, but for those called EXCEPT and ALSO. */
static bool same_attrs(const struct pads *s, const char *except, const char *also) {
    bool same = s->n[0]->nattrs == s->n[1]->nattrs;
    for (int i = 0; i < s->n[0]->nattrs && same; i++) {
        const et_attr *a = &s->n[0]->attrs[i];
        if (strcmp(a->name, except) != 0 && strcmp(a->name, also) != 0)
            same = same_attr(s, a, &s->n[1]->attrs[i]);
    }
    return same;
}

static kind arg(const struct pads *s, int i) {
    return i < s->n[0]->nargs ? s->of[s->n[0]->args[i].id] : (kind){SAME, 0};
}

static bool is_one(const struct pads *s, et_expr e) {
    int64_t n;
    return et_is_int(s->g[0]->exprs, e, &n) && n == 1;
}

/* Dimension D of argument I is dimension TO of the result, with both choices. */
static bool keeps(const struct pads *s, int i, int d, int to) {
    bool keep = true;
    for (int w = 0; w < 2; w++) {
        const et_shape *x = shape_of(s, w, s->n[w]->args[i]);
        const et_shape *y = shape_of(s, w, s->n[w]->result);
        keep &= d < x->rank && to < y->rank && et_expr_eq(x->dim[d], y->dim[to]);
    }
    return keep;
}

/* Dimensions that blocks and their places take of a value. */
static int leading(what is) {
    return is == ROWS ? 2 : is == BLOCK || is == FLAT ? 1 : 0;
}

/* ---- nodes: false where what comes of one is none of the above ---- */

static bool of_first(const struct pads *s, kind *out) {
    *out = (kind){FIRST, (int)(s->n[0] - s->g[0]->nodes)};
    return arg(s, 0).is == SAME && arg(s, 1).is == SAME && same_attrs(s, "pad", "");
}

static bool of_place(const struct pads *s, kind *out) {
    *out = (kind){PLACES, arg(s, 2).group};
    return arg(s, 0).is == SAME && arg(s, 1).is == SAME && arg(s, 2).is == FIRST &&
           same_attrs(s, "", "");
}

static bool of_owner(const struct pads *s, kind *out) {
    *out = (kind){BLOCK, arg(s, 0).group};
    if (s->n[0]->nargs > 1 && (arg(s, 1).is != PLACES || arg(s, 2).is != SAME)) return false;
    return arg(s, 0).is == FIRST && same_attrs(s, "pad", "blocks");
}

static bool of_rows(const struct pads *s, kind *out) {
    *out = (kind){ROWS, arg(s, 0).group};
    return arg(s, 0).is == PLACES && arg(s, 1).is == SAME && arg(s, 2).is == FIRST &&
           arg(s, 0).group == arg(s, 2).group && same_attrs(s, "pad", "blocks");
}

/* [T, P, ...] as [T * P, ...]. */
static bool flattens(const struct pads *s) {
    bool flat = same_from(s, s->n[0]->result, 1);
    for (int w = 0; w < 2; w++) {
        const et_shape *x = shape_of(s, w, s->n[w]->args[0]);
        const et_shape *y = shape_of(s, w, s->n[w]->result);
        flat &= y->rank > 0 && et_expr_eq(y->dim[0], et_mul(s->g[w]->exprs, x->dim[0], x->dim[1]));
    }
    return flat;
}

static bool of_reshape(const struct pads *s, kind *out) {
    kind x = *out = arg(s, 0);
    if (x.is == PLACES) return same_attrs(s, "", "");
    if (x.is == BLOCK) return keeps(s, 0, 0, 0) && same_from(s, s->n[0]->result, 1);
    if (x.is != ROWS) return false;
    if (keeps(s, 0, 0, 0) && keeps(s, 0, 1, 1)) return same_from(s, s->n[0]->result, 2);
    out->is = FLAT;
    return flattens(s);
}

static bool of_gather(const struct pads *s, kind *out) {
    kind table = arg(s, 0), index = *out = arg(s, 1);
    if (!same_attrs(s, "", "")) return false;
    if (table.is == SAME) return index.is == ROWS || index.is == BLOCK;
    *out = (kind){SAME, 0};
    return table.is == FLAT && index.is == PLACES && table.group == index.group;
}

/* Is argument I the same for all of N leading dimensions of a result of RANK? */
static bool is_shared(const struct pads *s, int i, int rank, int n) {
    const et_shape *x = shape_of(s, 0, s->n[0]->args[i]);
    bool shared = true;
    for (int d = 0; d < x->rank; d++)
        if (d + rank - x->rank < n) shared &= is_one(s, x->dim[d]);
    return shared;
}

static bool of_map(const struct pads *s, kind *out) {
    const et_shape *y = shape_of(s, 0, s->n[0]->result);
    bool ok = same_attrs(s, "", "");
    for (int i = 0; i < s->n[0]->nargs; i++) {
        kind x = arg(s, i);
        if (x.is == SAME) continue;
        if (out->is == SAME) *out = x;
        ok &= (x.is == ROWS || x.is == BLOCK) && x.group == out->group;
        if (x.is == ROWS) out->is = ROWS;
    }
    for (int i = 0; i < s->n[0]->nargs && ok; i++) {
        const et_shape *x = shape_of(s, 0, s->n[0]->args[i]);
        kind k = arg(s, i);
        if (k.is == SAME)
            ok = is_shared(s, i, y->rank, leading(out->is));
        else
            ok = x->rank == y->rank && (k.is == out->is || (x->rank > 1 && is_one(s, x->dim[1])));
    }
    return ok && same_from(s, s->n[0]->result, leading(out->is));
}

static bool of_contract(const struct pads *s, kind *out) {
    kind a = *out = arg(s, 0), b = arg(s, 1);
    int rank = shape_of(s, 0, s->n[0]->args[1])->rank;
    return a.is == ROWS && shape_of(s, 0, s->n[0]->result)->rank == 3 &&
           ((b.is == BLOCK && b.group == a.group && rank == 3) || (b.is == SAME && rank == 2)) &&
           same_attrs(s, "", "") && keeps(s, 0, 0, 0) && keeps(s, 0, 1, 1) &&
           same_from(s, s->n[0]->result, 2);
}

/* Along, or over, later dimensions than those of blocks alone. */
static bool of_row(const struct pads *s, kind *out) {
    *out = arg(s, 0);
    int n = leading(out->is), rank = shape_of(s, 0, s->n[0]->args[0])->rank;
    bool ok = out->is == ROWS || out->is == BLOCK;
    for (int i = 1; i < s->n[0]->nargs; i++)
        ok &= arg(s, i).is == SAME;
    int64_t axis = et_attr_int(s->n[0], "axis", rank - 1);
    for (int d = 0; d < n; d++)
        ok &= keeps(s, 0, d, d);
    return ok && axis >= n && same_attrs(s, "", "") && same_from(s, s->n[0]->result, n);
}

static bool of_transpose(const struct pads *s, kind *out) {
    const et_attr *perm = et_attr_find(s->n[0], "perm");
    bool ok = of_row(s, out) && perm;
    for (int d = 0; d < leading(out->is) && ok; d++)
        ok = perm->ints[d] == d;
    return ok;
}

/* Some of what follows the dimensions of blocks. */
static bool of_slice(const struct pads *s, kind *out) {
    *out = arg(s, 0);
    int n = leading(out->is);
    bool ok = (out->is == ROWS || out->is == BLOCK) && same_attrs(s, "size", "") &&
              same_from(s, s->n[0]->result, n);
    for (int w = 0; w < 2 && ok; w++) {
        const et_attr *start = et_attr_find(s->n[w], "start"),
                      *drop = et_attr_find(s->n[w], "drop");
        const et_attr *step = et_attr_find(s->n[w], "step");
        int64_t at;
        for (int d = 0; d < n && ok; d++)
            ok = keeps(s, 0, d, d) && !drop->ints[d] && (!step || step->ints[d] == 1) &&
                 et_is_int(s->g[w]->exprs, start->exprs[d], &at) && at == 0;
    }
    return ok;
}

static const struct {
    const et_op *op;
    bool (*of)(const struct pads *, kind *out);
} rule[] = {
    {&et_op_group_owner, of_owner}, {&et_op_group_place, of_place},   {&et_op_group_rows, of_rows},
    {&et_op_reshape, of_reshape},   {&et_op_gather, of_gather},       {&et_op_map, of_map},
    {&et_op_contract, of_contract}, {&et_op_reduce, of_row},          {&et_op_softmax, of_row},
    {&et_op_rmsnorm, of_row},       {&et_op_transpose, of_transpose}, {&et_op_slice, of_slice},
};

static bool look(struct pads *s, int node, kind *out) {
    bool same = true;
    for (int w = 0; w < 2; w++)
        s->n[w] = &s->g[w]->nodes[node];
    *out = (kind){SAME, 0};
    if (s->n[0]->op != s->n[1]->op || s->n[0]->nargs != s->n[1]->nargs ||
        s->n[0]->result.id != s->n[1]->result.id)
        return false;
    for (int i = 0; i < s->n[0]->nargs; i++) {
        if (s->n[0]->args[i].id != s->n[1]->args[i].id) return false;
        same &= arg(s, i).is == SAME;
    }
    if (s->n[0]->op == &et_op_group_first) return of_first(s, out);
    if (same)
        return same_attrs(s, "", "") && (!s->n[0]->result.id || same_from(s, s->n[0]->result, 0));
    for (size_t i = 0; i < sizeof rule / sizeof *rule; i++)
        if (rule[i].op == s->n[0]->op) return rule[i].of(s, out);
    return false;
}

/* What leaves an iteration or the program has nothing of blocks. */
static bool is_over(const struct pads *s) {
    bool over = true;
    for (int i = 0; i < s->g[0]->noutputs; i++)
        over &= s->of[s->g[0]->outputs[i].id].is == SAME;
    for (int l = 0; l < s->g[0]->nloops; l++)
        for (int i = 0; i < s->g[0]->loops[l].ncarry; i++) {
            const et_carry *c = &s->g[0]->loops[l].carry[i];
            over &= s->of[c->init.id].is == SAME && s->of[c->out.id].is == SAME;
        }
    return over;
}

bool et_pads_show(const et_graph *a, const et_graph *b) {
    struct pads s = {.g = {a, b}};
    bool ok = a->nnodes == b->nnodes && a->nvals == b->nvals && a->nloops == b->nloops &&
              a->noutputs == b->noutputs;
    s.of = et_alloc(a->arena, (size_t)a->nvals * sizeof *s.of);
    for (int i = 0; i < a->nnodes && ok; i++) {
        kind k;
        ok = look(&s, i, &k);
        if (a->nodes[i].result.id) s.of[a->nodes[i].result.id] = k;
    }
    return !ok || !is_over(&s);
}
