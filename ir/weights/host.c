#include "ir/weights/host.h"
#include "ir/program/step.h"

static int64_t elements(const et_program *p, const et_tensor *t, int from, int to) {
    int64_t all = 1, n;
    for (int d = from; d < to; d++)
        all *= et_is_int(p->g->exprs, t->shape.dim[d], &n) ? n : 0;
    return all;
}

/* Are the first DIMS dimensions in memory what they are in the checkpoint? */
static bool keeps_order(const et_program *p, const et_tensor *t, int dims) {
    for (int d = 0; t->relaid && d < dims; d++)
        if (t->relaid->order[d] != d || !et_expr_eq(t->relaid->dim[d], t->shape.dim[d]))
            return false;
    (void)p;
    return true;
}

const char *et_host_problem(const et_program *p, const et_tensor *t, int dims) {
    int bits = et_dtype_bits(t->shape.dtype);
    if (t->kind != ET_TENSOR_WEIGHT) return "only weights lie in host memory";
    if (dims < 1 || dims >= t->shape.rank || dims < t->nloops)
        return "entries of a weight in host memory are numbered by its first dimensions, all of "
               "loops among them, and have others";
    if (t->cut.devices) return "what is divided among devices is not in host memory";
    if (!keeps_order(p, t, dims)) return "dimensions that number entries keep their places";
    if (elements(p, t, dims, t->shape.rank) * bits % (8 * ET_HOST_ALIGN))
        return "an entry of a weight in host memory is a multiple of 16 bytes";
    return NULL;
}

int64_t et_host_entries(const et_program *p, const et_tensor *t) {
    return elements(p, t, 0, t->host);
}

struct reading {
    const et_program *p;
    int tensor; /* that is read otherwise; or -1 */
};

/* A product's weights come row by row from where the first is, and k by k. */
static void look(void *ctx, const et_step *s, int tensor, bool is_store, const et_expr *index) {
    struct reading *r = ctx;
    const et_tensor *t = &r->p->tensors[tensor];
    for (int d = 0; d < t->host && s->kind == ET_STEP_CONTRACT && !is_store; d++)
        if (et_expr_has_var(r->p->g->exprs, index[d], s->nvar) ||
            et_expr_has_var(r->p->g->exprs, index[d], s->kvar))
            r->tensor = tensor;
}

const char *et_host_misread(const et_program *p, int *out_tensor) {
    struct reading r = {p, -1};
    for (int i = 0; i < p->nfuncs; i++)
        et_func_accesses(p, &p->funcs[i], look, &r);
    *out_tensor = r.tensor;
    return r.tensor < 0 ? NULL
                        : "a tile's product reads several entries of a weight in host memory";
}
