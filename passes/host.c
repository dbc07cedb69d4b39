/* Which weights stay in host memory (ir/weights/host.h): with `experts_on_host` those of routed
 * experts, which are what products alone read, at an entry that a tensor says. */
#include "ir/weights/host.h"
#include "ir/program/step.h"
#include "passes/pipeline/pipeline.h"

struct reader {
    et_program *p;
    int *dims;                 /* by tensor: that number its entries; 0: none, -1: it cannot */
    const et_product *product; /* whose right operand is walked over, or NULL */
};

/* The dimensions up to the last one whose index a tensor says. */
static int routed(const struct reader *r, const et_node_x *load) {
    et_exprs *x = r->p->g->exprs;
    int dims = 0;
    for (int d = 0; d < load->nops; d++)
        if (et_expr_loads(x, load->ops[d])) dims = d + 1;
    for (int d = 0; d < dims; d++)
        if (!r->product || et_expr_has_var(x, load->ops[d], r->product->n) ||
            et_expr_has_var(x, load->ops[d], r->product->k))
            return -1;
    return dims ? dims : -1;
}

static void look(void *ctx, et_expr e) {
    struct reader *r = ctx;
    const et_node_x n = *et_x(r->p->g->exprs, e);
    if (n.op != ET_X_LOAD || n.i2 != ET_LOAD_TENSOR || r->p->tensors[n.i].kind != ET_TENSOR_WEIGHT)
        return;
    int dims = routed(r, &n), *have = &r->dims[n.i];
    *have = *have && *have != dims ? -1 : dims;
}

bool et_pass_host(et_pipeline *pl) {
    et_program *p = pl->p;
    if (!pl->opt->experts_on_host) return true;
    if (p->g->devices > 1) {
        et_diag(p->g->diags, ET_ERROR, (et_loc){0},
                "--experts-on=host with --devices is not supported yet");
        return false;
    }
    struct reader r = {.p = p};
    r.dims = et_alloc(p->g->arena, (size_t)(p->ntensors + 1) * sizeof *r.dims);
    for (int i = 0; i < p->ngroups; i++) {
        et_expr *all[ET_GROUP_EXPRS];
        int n = et_group_exprs(&p->groups[i], all);
        for (int k = 0; k < n; k++) {
            r.product = NULL;
            for (int b = 0; b < p->groups[i].nproduct; b++)
                if (all[k] == &p->groups[i].product[b].b) r.product = &p->groups[i].product[b];
            et_walk(p->g->exprs, *all[k], look, &r);
        }
    }
    bool any = false;
    for (int t = 0; t < p->ntensors; t++) {
        if (r.dims[t] > 0 && !et_host_problem(p, &p->tensors[t], r.dims[t]))
            p->tensors[t].host = r.dims[t];
        any |= p->tensors[t].host > 0;
    }
    if (!any)
        et_diag(p->g->diags, ET_ERROR, (et_loc){0},
                "--experts-on=host: there are no weights of experts that it could be for");
    return any;
}
