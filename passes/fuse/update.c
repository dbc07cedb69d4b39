/* Updates that read the state they write.
 *
 * The right side of an update, and its indices, see the state as it was before the statement. A
 * group computes and stores its elements in no particular order, so it may read of the tensor it
 * writes only what no other element of the group overwrites: each element where it is stored
 * itself, and what no element is stored to. Everything else is read before, into a tensor of its
 * own. */
#include "ir/program/step.h"
#include "passes/fuse/lowering.h"
#include <stdlib.h>

struct reads {
    et_lowering *lo;
    const et_group *gr;
    bool scattered; /* two elements may go to one place: neither may see what the other left */
    bool found;
};

static bool has_axis(const struct reads *r, et_expr e) {
    return et_expr_has_vars(r->lo->g->exprs, e, r->gr->rank, r->gr->axis);
}

static bool has_product_var(const struct reads *r, et_expr e) {
    bool has = false;
    for (int i = 0; i < r->gr->nproduct; i++) {
        const et_product *p = &r->gr->product[i];
        has |= et_expr_has_vars(r->lo->g->exprs, e, 3, (int[]){p->m, p->n, p->k});
        has |= et_expr_has_vars(r->lo->g->exprs, e, p->nbatch, p->batch);
    }
    return has;
}

/* The growth of E as the variable grows by 1, where it is constant. */
static bool grows(et_exprs *x, et_expr e, int var, int64_t *out_step) {
    et_expr next = et_add(x, et_var(x, var), et_int(x, 1));
    return et_is_int(x, et_sub(x, et_subst_var(x, e, var, next), e), out_step);
}

/* Is the stored INDEX another one for each value of AXIS? */
static bool says(const struct reads *r, et_expr index, int axis) {
    et_exprs *x = r->lo->g->exprs;
    int64_t step;
    if (!grows(x, index, axis, &step) || step == 0) return false;
    et_expr rest = et_sub(x, index, et_mul(x, et_var(x, axis), et_int(x, step)));
    return !has_axis(r, rest) && !et_expr_loads(x, rest);
}

/* Is what LOAD reads overwritten by no element of the group? So it is where one index of all that
 * is stored is the same and never that of the load. An index of the load that changes within a tile
 * is not looked at: the verifier takes tiles as if they were full. */
static bool lies_beside(const struct reads *r, const et_node_x *load) {
    et_exprs *x = r->lo->g->exprs;
    for (int d = 0; d < load->nops; d++) {
        et_expr to = r->gr->to.index[d];
        int64_t lo, hi;
        if (has_axis(r, to) || et_expr_loads(x, to)) continue;
        if (has_axis(r, load->ops[d]) || has_product_var(r, load->ops[d])) continue;
        if (et_bounds(x, et_sub(x, load->ops[d], to), &lo, &hi) && (lo > 0 || hi < 0)) return true;
    }
    return false;
}

static void find_read(void *ctx, et_expr e) {
    struct reads *r = ctx;
    et_node_x load = *et_x(r->lo->g->exprs, e);
    if (load.op != ET_X_LOAD || load.i2 != ET_LOAD_TENSOR || load.i != r->gr->to.id) return;
    bool own = !r->scattered;
    for (int d = 0; d < load.nops; d++)
        own &= et_expr_eq(load.ops[d], r->gr->to.index[d]);
    r->found |= !own && !lies_beside(r, &load);
}

bool et_reads_what_it_overwrites(et_lowering *lo, const et_group *gr, et_expr e) {
    struct reads r = {.lo = lo, .gr = gr};
    for (int a = 0; a < gr->rank; a++) {
        et_expr axis = et_var(lo->g->exprs, gr->axis[a]);
        bool alone = !has_axis(&r, axis); /* an index by itself, or with a single value? */
        for (int d = 0; d < gr->to.rank; d++)
            alone |= says(&r, gr->to.index[d], gr->axis[a]);
        r.scattered |= !alone;
    }
    et_walk(lo->g->exprs, e, find_read, &r);
    return r.found;
}

struct apart {
    et_exprs *x;
    int var;
    int64_t extent;
    bool found;
};

static bool is_apart(const struct apart *a, et_expr e);

static void find_apart(void *ctx, et_expr e) {
    struct apart *a = ctx;
    const et_node_x load = *et_x(a->x, e);
    for (int i = 0; load.op == ET_X_LOAD && i < load.nops && !a->found; i++)
        a->found = is_apart(a, load.ops[i]);
}

static bool is_apart(const struct apart *a, et_expr e) {
    const et_node_x *n = et_x(a->x, e);
    int64_t step, limit = INT64_MAX;
    if (n->op == ET_X_TO_I32 && et_x(a->x, n->ops[0])->type == ET_T_I32) {
        limit = (int64_t)1 << 32; /* what is so far apart has the same low bits */
        e = n->ops[0];
    }
    if (grows(a->x, e, a->var, &step) && step && llabs(step) < limit / a->extent) return true;
    struct apart of_loads = *a;
    et_walk(a->x, e, find_apart, &of_loads);
    return of_loads.found;
}

bool et_goes_alone(et_lowering *lo, const et_group *gr, et_expr e) {
    et_exprs *x = lo->g->exprs;
    int64_t lo_extent, extent;
    if (gr->rank == 0) return true;
    et_span(x, et_var_extent(x, gr->axis[0]), &lo_extent, &extent);
    struct apart a = {.x = x, .var = gr->axis[0], .extent = extent};
    return extent == 1 || is_apart(&a, e);
}
