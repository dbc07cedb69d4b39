/* Attributes of nodes: their names and kinds, and what operators take for granted of them. */
#include "ir/eti/parser.h"
#include "ir/graph/attention.h"
#include "ir/graph/scan.h"
#include <string.h>

enum { REQUIRED = 1, DTYPE = 2, REDUCE = 4, ONE_DIM = 8 };

static const struct {
    const et_op *op;
    const char *name;
    int kind, flags;
} attributes[] = {
    {&et_op_map, "body", ET_A_EXPR, REQUIRED},
    {&et_op_map, "dtype", ET_A_INT, REQUIRED | DTYPE},
    {&et_op_contract, "trans_b", ET_A_INT, 0},
    {&et_op_reduce, "kind", ET_A_INT, REQUIRED | REDUCE},
    {&et_op_reduce, "axis", ET_A_INT, 0},
    {&et_op_reduce, "keep", ET_A_INT, 0},
    {&et_op_reduce, "count", ET_A_INT, 0},
    {&et_op_rmsnorm, "eps", ET_A_FLOAT, 0},
    {&et_op_layernorm, "eps", ET_A_FLOAT, 0},
    {&et_op_softmax, "axis", ET_A_INT, 0},
    {&et_op_concat, "axis", ET_A_INT, 0},
    {&et_op_exchange, "own", ET_A_INT, 0},
    {&et_op_attention, "over", ET_A_VARS, REQUIRED},
    {&et_op_attention, "q", ET_A_EXPR, REQUIRED},
    {&et_op_attention, "k", ET_A_EXPR, REQUIRED},
    {&et_op_attention, "v", ET_A_EXPR, REQUIRED},
    {&et_op_attention, "first", ET_A_EXPR, 0},
    {&et_op_attention, "end", ET_A_EXPR, 0},
    {&et_op_attention, "mask", ET_A_EXPR, 0},
    {&et_op_attention, "score", ET_A_EXPR, 0},
    {&et_op_attention, "extra", ET_A_EXPR, 0},
    {&et_op_scan, "over", ET_A_VARS, REQUIRED},
    {&et_op_scan, "index", ET_A_EXPRS, REQUIRED},
    {&et_op_scan, "fresh", ET_A_EXPR, 0},
    {&et_op_scan, "keep", ET_A_EXPR, 0},
    {&et_op_scan, "look", ET_A_EXPR, 0},
    {&et_op_scan, "next", ET_A_EXPR, REQUIRED},
    {&et_op_scan, "out", ET_A_EXPR, REQUIRED},
    {&et_op_reshape, "shape", ET_A_EXPRS, REQUIRED},
    {&et_op_slice, "start", ET_A_EXPRS, REQUIRED},
    {&et_op_slice, "size", ET_A_EXPRS, REQUIRED},
    {&et_op_slice, "drop", ET_A_INTS, REQUIRED},
    {&et_op_slice, "step", ET_A_INTS, 0},
    {&et_op_transpose, "perm", ET_A_INTS, REQUIRED},
    {&et_op_iota, "shape", ET_A_EXPRS, REQUIRED | ONE_DIM},
    {&et_op_segment, "kind", ET_A_INT, REQUIRED | REDUCE},
    {&et_op_segment, "axis", ET_A_INT, 0},
    {&et_op_segment, "mean", ET_A_INT, 0},
    {&et_op_prefix, "axis", ET_A_INT, REQUIRED},
    {&et_op_group_tally, "groups", ET_A_INT, REQUIRED},
    {&et_op_group_tally, "block", ET_A_INT, REQUIRED},
    {&et_op_group_count, "groups", ET_A_INT, REQUIRED},
    {&et_op_group_count, "block", ET_A_INT, REQUIRED},
    {&et_op_group_first, "pad", ET_A_INT, REQUIRED},
    {&et_op_group_place, "block", ET_A_INT, REQUIRED},
    {&et_op_group_owner, "pad", ET_A_INT, REQUIRED},
    {&et_op_group_owner, "blocks", ET_A_EXPRS, REQUIRED | ONE_DIM},
    {&et_op_group_rows, "block", ET_A_INT, REQUIRED},
    {&et_op_group_rows, "pad", ET_A_INT, REQUIRED},
    {&et_op_group_rows, "blocks", ET_A_EXPRS, REQUIRED | ONE_DIM},
    {&et_op_update, "index", ET_A_INTS, REQUIRED},
    {&et_op_update, "scalar", ET_A_EXPRS, REQUIRED},
    {&et_op_update, "size", ET_A_EXPRS, 0},
    {&et_op_update, "step", ET_A_INTS, 0},
};
enum { NATTRIBUTES = sizeof attributes / sizeof *attributes };

static int64_t named_int(eti_parser *p, int flags) {
    et_loc loc = p->tok.loc;
    et_dtype dtype = ET_F32;
    if (!(flags & (DTYPE | REDUCE)))
        return eti_need_int(p, -ET_MAX_RANK * 8, 1 << 20, "an attribute");
    const char *text = eti_need_name(p, ETI_NAME, flags & DTYPE ? "a type" : "a reduction");
    if (!text) return 0;
    if (flags & DTYPE) {
        if (!et_dtype_parse(text, &dtype) || et_dtype_is_code(dtype)) {
            dtype = ET_F32;
            eti_error(p, loc, "unknown type '%s': there are f32, f16, bf16 and i32", text);
        }
        return dtype;
    }
    for (int r = 0; r < ET_REDUCES; r++)
        if (strcmp(et_reduce_text((et_reduce)r), text) == 0) return r;
    eti_error(p, loc, "unknown reduction '%s': there are sum, max, min, argmax and top", text);
    return 0;
}

/* Items of expressions may read what MAY says. */
static void list(eti_parser *p, et_attr *a, int may) {
    int64_t *ints = et_alloc(p->arena, ETI_MAX_LIST * sizeof *ints);
    et_expr *exprs = et_alloc(p->arena, ETI_MAX_LIST * sizeof *exprs);
    a->ints = ints;
    a->exprs = exprs;
    eti_need(p, '[');
    while (!p->broken && !eti_is(p, ']')) {
        if (a->n == ETI_MAX_LIST) {
            eti_expected(p, "fewer items");
            return;
        }
        if (a->kind == ET_A_INTS)
            ints[a->n] = eti_need_int(p, INT32_MIN, INT32_MAX, "an item");
        else if (!eti_take_word(p, "_"))
            exprs[a->n] = eti_expr_of(p, may, ET_T_I32, "an item");
        a->n++;
        if (!eti_take(p, ',')) break;
    }
    eti_need(p, ']');
}

/* [i < N, h < 4, p < 64, d < 32]: known to the attributes that follow. */
static void variables(eti_parser *p, const et_op *op, et_attr *a) {
    int vars[ET_SCAN_VARS];
    bool scan = op == &et_op_scan;
    int64_t *ints = et_alloc(p->arena, sizeof vars / sizeof *vars * sizeof *ints);
    et_loc loc = p->tok.loc;
    p->nmade = 0;
    a->n = eti_vars(p, scan ? ET_SCAN_VARS : ET_AT_VARS, vars, 0);
    a->ints = ints;
    for (int i = 0; i < a->n; i++)
        ints[i] = vars[i];
    bool suits = scan ? a->n > 1 : a->n == ET_AT_VARS;
    if (a->n >= 0 && !suits)
        eti_error(p, loc,
                  scan ? "a scan is over rows and the elements of a state"
                       : "an attention has four variables: query, head, position and "
                         "element");
    p->broken |= !suits;
}

void eti_attribute(eti_parser *p, const et_op *op, et_attr *out) {
    et_loc loc = p->tok.loc;
    const char *name = eti_need_name(p, ETI_NAME, "an attribute");
    eti_need(p, '=');
    if (p->broken) return;
    if (strcmp(name, "tile") == 0) {
        *out = (et_attr){.name = name, .kind = ET_A_INTS};
        list(p, out, ETI_LOOPS);
        for (int k = 0; k < out->n; k++)
            if (out->ints[k] < 0 || out->ints[k] > 4096 || out->n > ET_MAX_RANK)
                eti_error(p, loc, "a tile has from 1 to 4096 elements along a dimension, or 0");
        return;
    }
    if (strcmp(name, "range") == 0) {
        *out = (et_attr){.name = name, .kind = ET_A_INTS};
        list(p, out, ETI_LOOPS);
        if (p->broken) return;
        if (out->n != 2 || out->ints[0] < 0 || out->ints[0] >= out->ints[1] ||
            out->ints[1] > 1000000)
            eti_error(p, loc, "a range is two numbers from 0 to 1000000, millionths of the GPU");
        return;
    }
    if (strcmp(name, "dynamic") == 0) {
        *out = (et_attr){.name = name, .kind = ET_A_INT};
        out->i = eti_need_int(p, 0, 1, "1 or 0");
        return;
    }
    int i = 0;
    while (i < NATTRIBUTES && (attributes[i].op != op || strcmp(attributes[i].name, name) != 0))
        i++;
    if (i == NATTRIBUTES) {
        eti_error(p, loc, "%s has no attribute '%s'", op->name, name);
        p->broken = true;
        return;
    }
    *out = (et_attr){.name = name};
    switch (attributes[i].kind) {
    case ET_A_INT:
        out->kind = ET_A_INT;
        out->i = named_int(p, attributes[i].flags);
        return;
    case ET_A_FLOAT:
        out->kind = ET_A_FLOAT;
        out->f = eti_need_float(p);
        return;
    case ET_A_EXPR:
        out->kind = ET_A_EXPR;
        out->expr = eti_expr(p, ETI_ARGS | ETI_LOOPS);
        return;
    case ET_A_VARS:
        out->kind = ET_A_VARS;
        variables(p, op, out);
        return;
    default:
        if (attributes[i].kind == ET_A_INTS)
            out->kind = ET_A_INTS;
        else
            out->kind = ET_A_EXPRS;
        list(p, out, op == &et_op_scan ? ETI_ARGS | ETI_LOOPS : ETI_LOOPS);
    }
}

/* ---- what the operators take for granted of their attributes ---- */

static const et_attr *attr(int n, const et_attr *a, const char *name) {
    for (int i = 0; i < n; i++)
        if (strcmp(a[i].name, name) == 0) return &a[i];
    return NULL;
}

static bool complain(eti_parser *p, const et_node *n, const char *what) {
    eti_error(p, n->loc, "%s: %s", n->op->name, what);
    return false;
}

static bool check_map(eti_parser *p, const et_node *n, const et_attr *body, const et_attr *dtype) {
    et_type t = et_x(p->x, body->expr)->type;
    if (dtype->i == ET_I32 && t == ET_T_F32)
        return complain(p, n, "the body is f32: write i32(...) to convert it");
    return true;
}

static bool check_slice(eti_parser *p, const et_node *n, const et_attr *size, const et_attr *start,
                        const et_attr *drop, const et_attr *step) {
    for (int i = 0; i < size->n; i++) {
        int64_t v;
        if (!size->exprs[i].id || !start->exprs[i].id)
            return complain(p, n, "start and size have an item per dimension");
        if (drop->ints[i] < 0 || drop->ints[i] > 1) return complain(p, n, "drop holds 0 and 1");
        if (drop->ints[i] && (!et_is_int(p->x, size->exprs[i], &v) || v != 1))
            return complain(p, n, "only a dimension cut to one element can be dropped");
        if (step && (step->ints[i] < 1 || step->ints[i] > INT32_MAX))
            return complain(p, n, "a step is 1 or more");
    }
    return true;
}

static bool check_update(eti_parser *p, const et_node *n, const et_attr *index,
                         const et_attr *scalar, const et_attr *size, const et_attr *step) {
    int whole = n->nargs > 2;
    for (int i = 0; i < index->n; i++) {
        int64_t k = index->ints[i];
        if (k < -3 || k >= n->nargs - 2)
            return complain(p, n, "index holds -1, -2, -3 and the numbers of index tensors");
        if (k == -2 && !scalar->exprs[i].id)
            return complain(p, n, "a dimension with index -2 needs its scalar");
        if (k == -3 && (!scalar->exprs[i].id || !size || !size->exprs[i].id))
            return complain(p, n, "a dimension with index -3 needs its scalar and its size");
        if (step && (step->ints[i] < 1 || step->ints[i] > INT32_MAX))
            return complain(p, n, "a step is 1 or more");
        whole += k == -1 || k == -3;
    }
    return whole <= ET_MAX_RANK || complain(p, n, "too many dimensions");
}

/* An attribute that is one dimension of the result. */
static bool check_dim(eti_parser *p, const et_node *n, const et_attr *a) {
    if (a->n != 1 || !a->exprs[0].id || !eti_symbols_only(p, a->exprs[0], n->loc, "a dimension") ||
        !eti_in_bounds(p, a->exprs[0], n->loc, 1, INT32_MAX, "a dimension"))
        return complain(p, n, et_printf(p->arena, "%s holds one dimension", a->name));
    return true;
}

bool eti_check_attrs(eti_parser *p, const et_node *n, int na, const et_attr *a) {
    for (int i = 0; i < NATTRIBUTES; i++)
        if (attributes[i].op == n->op && attributes[i].flags & REQUIRED &&
            !attr(na, a, attributes[i].name))
            return complain(p, n,
                            et_printf(p->arena, "the attribute %s is missing", attributes[i].name));
    for (int i = 0; i < na; i++)
        if (a[i].kind == ET_A_EXPR && !a[i].expr.id) return false;
    int rank = n->nargs ? et_val_of(p->g, n->args[0])->shape.rank : 0;
    for (int i = 0; i < NATTRIBUTES; i++)
        if (attributes[i].op == n->op && attributes[i].flags & ONE_DIM &&
            !check_dim(p, n, attr(na, a, attributes[i].name)))
            return false;
    const et_attr *kind = n->op == &et_op_segment ? attr(na, a, "kind") : NULL;
    if (kind && (kind->i >= ET_RED_ARGMAX || (attr(na, a, "axis") && attr(na, a, "axis")->i != 0)))
        return complain(p, n, "there are sum, max and min over axis 0");
    for (int i = 0; i < na; i++)
        if ((n->op == &et_op_slice || n->op == &et_op_update) && a[i].n != rank &&
            strcmp(a[i].name, "tile") != 0 && strcmp(a[i].name, "range") != 0 &&
            strcmp(a[i].name, "dynamic") != 0)
            return complain(
                p, n,
                et_printf(p->arena, "%s has %d items for %d dimensions", a[i].name, a[i].n, rank));
    for (int i = 0; n->op == &et_op_scan && i < na; i++)
        for (int k = 0; a[i].kind == ET_A_EXPRS && k < a[i].n; k++)
            if (!a[i].exprs[k].id) return complain(p, n, "an index of the state is missing");
    if (n->op == &et_op_map) return check_map(p, n, attr(na, a, "body"), attr(na, a, "dtype"));
    if (n->op == &et_op_slice)
        return check_slice(p, n, attr(na, a, "size"), attr(na, a, "start"), attr(na, a, "drop"),
                           attr(na, a, "step"));
    if (n->op == &et_op_update)
        return check_update(p, n, attr(na, a, "index"), attr(na, a, "scalar"), attr(na, a, "size"),
                            attr(na, a, "step"));
    if (n->op == &et_op_reshape) {
        const et_attr *s = attr(na, a, "shape");
        if (s->n > ET_MAX_RANK) return complain(p, n, "too many dimensions");
        for (int i = 0; i < s->n; i++)
            if (!s->exprs[i].id || !eti_symbols_only(p, s->exprs[i], n->loc, "a dimension") ||
                !eti_in_bounds(p, s->exprs[i], n->loc, 1, INT32_MAX, "a dimension"))
                return complain(p, n, "shape holds dimensions");
    }
    return true;
}
