/* Groups: the fused stage. */
#include "ir/eti/parser.h"
#include <string.h>

enum { PLAIN = ETI_TENSORS | ETI_LOOPS, VALUE = PLAIN | ETI_GROUPS };

/* A new scope of these variables of the group alone. */
static void scope_of(eti_parser *p, int n, const int *vars) {
    p->nscope = 0;
    for (int i = 0; i < n; i++)
        if (vars[i] >= 0) eti_bind_var(p, vars[i]);
}

/* product p0 : bf16 [b0 < 2, m < N, n < 64] over k < 128, then a and b */
struct nested {
    const et_exprs *x;
    int var;
    bool found;
};

static void find_nested(void *ctx, et_expr e) {
    struct nested *n = ctx;
    n->found |= et_x(n->x, e)->op == ET_X_REDUCE && et_expr_has_var(n->x, e, n->var);
}

/* Those within are computed before, once for all of it. */
bool eti_check_nested(eti_parser *p, int var, et_expr body, et_loc loc) {
    struct nested n = {.x = p->x, .var = var};
    et_walk(p->x, body, find_nested, &n);
    if (n.found) eti_error(p, loc, "a reduction within this one may not depend on its variable");
    return !n.found;
}

static void product(eti_parser *p, et_group *gr) {
    int vars[ET_MAX_RANK];
    p->nscope = 0; /* a product knows its own variables alone */
    p->gr = NULL;  /* and no other product */
    eti_next(p);
    et_loc loc = p->tok.loc;
    et_product pr = {.name = eti_need_name(p, ETI_NAME, "the product's name")};
    eti_need(p, ':');
    et_loc at = p->tok.loc;
    const char *type = eti_need_name(p, ETI_NAME, "the type of the operands");
    if (type && (!et_dtype_parse(type, &pr.operand) || !et_dtype_multiplies(pr.operand)))
        eti_error(p, at, "the operands of a product are f32, f16 or bf16");
    at = p->tok.loc;
    int n = eti_vars(p, ET_MAX_RANK, vars, 0);
    if (n >= 0 && n < 2) eti_error(p, at, "a product has at least the variables m and n");
    eti_need_word(p, "over");
    if (!p->broken) pr.k = eti_var(p, 0);
    pr.a = eti_side(p, "a", VALUE, ET_T_F32);
    pr.b = eti_side(p, "b", PLAIN, ET_T_F32);
    scope_of(p, gr->rank, gr->axis);
    p->gr = gr;
    if (!pr.name || p->broken) return;
    if (gr->nproduct == ET_MAX_ACC) {
        eti_error(p, loc, "more than %d products in a group", ET_MAX_ACC);
        return;
    }
    char own[16];
    snprintf(own, sizeof own, "p%d", gr->nproduct);
    if (strcmp(own, pr.name) != 0) eti_error(p, loc, "this product is called %s", own);
    if (n < 2 || pr.k < 0 || !pr.a.id || !pr.b.id) {
        gr->nproduct++;
        return;
    }
    pr.nbatch = n - 2;
    memcpy(pr.batch, vars, (size_t)pr.nbatch * sizeof *vars);
    pr.m = vars[n - 2];
    pr.n = vars[n - 1];
    gr->product[gr->nproduct++] = pr;
}

static void check_heads(eti_parser *p, et_group *gr, et_loc loc) {
    int64_t heads, groups;
    if (gr->rank != 3)
        eti_error(p, loc, "attention has the axes query, head and element");
    else if (!et_is_int(p->x, et_var_extent(p->x, gr->axis[1]), &heads) ||
             !et_is_int(p->x, et_var_extent(p->x, gr->gvar), &groups) ||
             heads != groups * gr->shared)
        eti_error(p, loc, "the heads must be a constant: those that share keys times the rest");
    int64_t depth;
    if (gr->rank == 3 && !et_is_int(p->x, et_var_extent(p->x, gr->axis[2]), &depth))
        eti_error(p, loc, "the elements of a head must be a constant");
}

static void attend(eti_parser *p, et_group *gr) {
    et_loc loc = p->tok.loc;
    eti_next(p);
    gr->kind = ET_GROUP_ATTEND;
    if (gr->nproduct) eti_error(p, loc, "no products in a group with attention");
    p->nscope = gr->rank > 0 ? gr->rank : 0;
    gr->gvar = eti_var(p, 0);
    eti_need_word(p, "shared");
    gr->shared = (int)eti_need_int(p, 1, 1 << 16, "the number of heads that share keys");
    eti_need_word(p, "over");
    gr->pvar = p->broken ? -1 : eti_var(p, 0);
    if (!p->broken && gr->gvar >= 0 && gr->rank >= 0) check_heads(p, gr, loc);
    p->nscope = 0;
    int var[ET_AT_VARS] = {-1, -1, gr->pvar, -1};
    static const int of_axis[] = {ET_AT_I, ET_AT_H, ET_AT_D};
    for (int i = 0; i < gr->rank && i < 3; i++)
        var[of_axis[i]] = gr->axis[i];
    eti_attention(p, var, gr->gvar, PLAIN, gr->part);
    scope_of(p, gr->rank, gr->axis);
    eti_need_word(p, "into");
}

static void scan(eti_parser *p, et_group *gr) {
    et_loc loc = p->tok.loc;
    int64_t n;
    eti_next(p);
    gr->kind = ET_GROUP_SCAN;
    if (gr->nproduct) eti_error(p, loc, "no products in a group with a scan");
    gr->pvar = eti_var(p, 1 << 16);
    for (int d = 1; d < gr->rank && !p->broken; d++)
        if (!et_is_int(p->x, et_var_extent(p->x, gr->axis[d]), &n))
            eti_error(p, loc, "all axes of a scan but its rows must be constants");
    if (!p->broken && gr->rank < 1) eti_error(p, loc, "a scan has rows");
    if (p->broken || gr->rank < 1 || gr->pvar < 0) {
        p->broken = true;
        return;
    }
    eti_scan(p, gr->axis[0], gr->rank - 1, gr->axis + 1, gr->pvar, &gr->state, gr->scan);
    scope_of(p, gr->rank, gr->axis);
    eti_need_word(p, "into");
}

static void body(eti_parser *p, et_group *gr) {
    eti_need(p, '{');
    while (!p->broken && eti_is_word(p, "product"))
        product(p, gr);
    if (!p->broken && eti_is_word(p, "attend"))
        attend(p, gr);
    else if (!p->broken && eti_is_word(p, "scan"))
        scan(p, gr);
    eti_target(p, PLAIN, &gr->to);
    if (gr->kind == ET_GROUP_STORE) {
        eti_need(p, '=');
        if (!p->broken) gr->value = eti_number(p, VALUE, "the value");
        if (eti_take_word(p, "where"))
            gr->mask = eti_expr_of(p, PLAIN, ET_T_PRED, "what follows where");
    }
    eti_need(p, '}');
}

/* tile [64, 0]: elements per tile, 0 where the tiler chooses */
static void hint(eti_parser *p, et_group *gr) {
    et_loc open = p->tok.loc;
    int n = 0;
    eti_need(p, '[');
    while (!p->broken && !eti_is(p, ']')) {
        int size = (int)eti_need_int(p, 0, 4096, "the elements per tile");
        if (n < ET_MAX_RANK) gr->tile[n] = size;
        n++;
        if (!eti_take(p, ',')) break;
    }
    eti_need(p, ']');
    if (!p->broken && gr->rank >= 0 && n != gr->rank)
        eti_error(p, open, "%d tile sizes for %d axes", n, gr->rank);
}

/* group @name [axes] [tile [sizes]] [range [from, to]] [slice AXIS of K] [dealt] [static | dynamic]
 * { ... } */
void eti_group(eti_parser *p) {
    eti_next(p);
    et_loc loc = p->tok.loc;
    int before = p->errors;
    const char *name = eti_need_name(p, ETI_FUNC, "a name such as @x");
    et_group gr = {.name = name, .loc = loc, .loop = -1};
    p->gr = &gr;
    p->nscope = p->nmade = 0;
    gr.rank = eti_vars(p, ET_MAX_RANK, gr.axis, 0);
    if (eti_take_word(p, "tile")) hint(p, &gr);
    gr.range = eti_range(p);
    gr.slice = eti_slice(p, gr.rank > 0 ? gr.rank : 0, gr.axis);
    gr.dealt = eti_take_word(p, "dealt");
    gr.hint = eti_hint(p);
    if (!p->broken) body(p, &gr);
    p->gr = NULL;
    p->nscope = p->nmade = 0;
    if (!name) return;
    if (p->p->ngroups >= ETI_MAX_ITEMS) eti_error(p, loc, "more than %d groups", ETI_MAX_ITEMS);
    if (p->broken || p->errors > before || !eti_declare_made(p, '@', name, loc, p->p->ngroups)) {
        eti_poison(p, '@', name, loc);
        return;
    }
    ET_GROW(p->arena, p->p->groups, p->p->ngroups, p->p->cgroups);
    p->p->groups[p->p->ngroups++] = gr;
}
