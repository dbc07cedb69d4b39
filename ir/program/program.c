#include "ir/program/program.h"
#include <string.h>

const char *et_scope_name(et_scope s) {
    static const char *const name[] = {"workgroup", "die", "device", "system"};
    return name[s];
}

const char *et_hint_name(et_hint h) {
    static const char *const name[] = {"", "static", "dynamic"};
    return name[h];
}

et_program *et_program_create(et_graph *g) {
    et_program *p = et_alloc(g->arena, sizeof *p);
    p->g = g;
    p->stage = "fused";
    p->workgroup = 256;
    p->schedule = "static";
    p->source_hash = g->source_hash;
    return p;
}

et_program *et_program_part(et_program *p, int i) {
    if (p->nvariants) return i < p->nvariants ? p->variant[i].program : NULL;
    return i == 0 ? p : NULL;
}

int et_item_model(const et_program *p, const et_item *it) {
    if (it->kind == ET_P_LOOP) return p->g->loops[it->index].model;
    return p->ngrids ? p->grids[it->index].model : et_model_of(p->g, p->groups[it->index].name);
}

int et_local_bytes(const et_local *l) {
    int n = l->pitch * et_dtype_bytes(l->dtype);
    for (int i = 0; i + 1 < l->rank; i++)
        n *= l->dim[i];
    return (n + 15) & ~15;
}

struct find {
    const et_exprs *x;
    int var;
    bool found;
};

static void find_var(void *ctx, et_expr e) {
    struct find *f = ctx;
    const et_node_x *x = et_x(f->x, e);
    f->found |= x->op == ET_X_VAR && x->i == f->var;
}

bool et_k_contiguous(const et_program *p, et_expr b, int kvar, et_dtype operand) {
    et_exprs *x = p->g->exprs;
    const et_node_x *n = et_x(x, b);
    if (n->op != ET_X_LOAD || n->i2 != ET_LOAD_TENSOR) return false;
    const et_tensor *t = &p->tensors[n->i];
    int64_t pitch;
    if (n->nops < 1 || t->shape.dtype != operand ||
        !et_expr_eq(n->ops[n->nops - 1], et_var(x, kvar)) ||
        !et_is_int(x, t->shape.dim[n->nops - 1], &pitch) ||
        pitch * et_dtype_bytes(t->shape.dtype) % 16)
        return false;
    struct find f = {x, kvar, false};
    for (int d = 0; d + 1 < n->nops; d++)
        et_walk(x, n->ops[d], find_var, &f);
    return !f.found;
}

int et_local_add(et_program *p, et_func *f, const char *name, et_dtype t, int rank, const int *dim,
                 int pitch) {
    ET_GROW(p->g->arena, f->locals, f->nlocals, f->clocals);
    et_local *l = &f->locals[f->nlocals];
    *l = (et_local){.name = name, .dtype = t, .rank = rank, .pitch = pitch, .offset = f->lds_bytes};
    memcpy(l->dim, dim, (size_t)rank * sizeof *dim);
    f->lds_bytes += et_local_bytes(l);
    return f->nlocals++;
}

et_expr et_grid_tiles(et_program *p, const et_grid *gr) {
    et_expr n = et_int(p->g->exprs, 1);
    for (int i = 0; i < p->funcs[gr->func].ncoords; i++)
        n = et_mul(p->g->exprs, n, gr->extent[i]);
    return n;
}

struct visit {
    const et_program *p;
    const et_step *step;
    et_access_fn fn;
    void *ctx;
};

static void visit_node(void *ctx, et_expr e) {
    struct visit *v = ctx;
    const et_node_x *x = et_x(v->p->g->exprs, e);
    if (x->op == ET_X_LOAD && x->i2 == ET_LOAD_TENSOR) v->fn(v->ctx, v->step, x->i, false, x->ops);
}

static void visit_expr(struct visit *v, et_expr e) {
    if (e.id) et_walk(v->p->g->exprs, e, visit_node, v);
}

void et_func_accesses(const et_program *p, const et_func *f, et_access_fn fn, void *ctx) {
    for (int i = 0; i < f->nsteps; i++) {
        const et_step *s = &f->steps[i];
        struct visit v = {p, s, fn, ctx};
        et_expr all[] = {s->mask, s->value, s->rextent, s->mlive, s->nlive, s->kextent,
                         s->a,    s->b[0],  s->b[1],    s->b[2],  s->b[3]};
        for (size_t k = 0; k < sizeof all / sizeof *all; k++)
            visit_expr(&v, all[k]);
        for (int k = 0; k < ET_AT_PARTS; k++)
            visit_expr(&v, s->part[k]);
        if (s->kind != ET_STEP_MAP && s->kind != ET_STEP_REDUCE) continue;
        for (int k = 0; k < s->to.rank; k++)
            visit_expr(&v, s->to.index[k]);
        if (s->to.space == ET_LOAD_TENSOR) fn(ctx, s, s->to.id, true, s->to.index);
    }
}
