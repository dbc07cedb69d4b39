/* Operands of a multistage pipeline as TMA boxes: each is a matrix of which the tile has a box. */
#include "ir/product/product.h"

enum { ROW = 64, PIECE = 16 };

/* Twice as long where the waves of a warpgroup MMA read them and a chunk has as much of each row:
 * memory is read in whole lines then. */
int et_pipeline_row_bytes(const et_mainloop *c) {
    return c->warpgroup && c->kc * c->size % (2 * ROW) == 0 ? 2 * ROW : ROW;
}

/* Elements of T that there are at each launch: a launch may bind less of an argument than the most
 * that there can be. */
static int64_t elements(const et_product_cx *g, const et_tensor *t) {
    et_expr all = et_int(g->x, 1);
    int64_t n;
    for (int d = 0; d < t->shape.rank; d++)
        all = et_mul(g->x, all, t->shape.dim[d]);
    if (et_is_int(g->x, all, &n)) return n;
    return t->kind == ET_TENSOR_TEMP ? t->max_bytes / et_dtype_bytes(t->shape.dtype) : 0;
}

bool et_box_of(const et_product_cx *g, const et_mainloop *c, et_expr e, int var, int rows,
               et_box *out) {
    et_exprs *x = g->x;
    et_node_x load = *et_x(x, e);
    int64_t pitch, lo, hi;
    if (!et_access_direct(g->p, g->f, c->s, e, c->piece) || rows > g->t->boxes->most_rows ||
        c->size != 2)
        return false;
    const et_tensor *t = &g->p->tensors[load.i];
    if (t->host) return false; /* there is a map of a tensor, not of each entry */
    et_expr none = et_int(x, 0), one = et_int(x, 1);
    et_expr off = et_access_offset(g->p, g->f, load.i2, load.i, load.ops);
    off = et_subst_var(x, off, c->s->kvar, none);
    et_expr at0 = et_subst_var(x, off, var, none);
    et_expr apart = et_sub(x, et_subst_var(x, off, var, one), at0);
    if (!et_is_int(x, apart, &pitch) || pitch < 1 || pitch * c->size % PIECE ||
        !et_access_grows(x, off, var, pitch, at0))
        return false;
    out->tensor = load.i;
    out->row = et_op2(x, ET_X_IDIV, at0, et_int(x, pitch));
    out->column = et_op2(x, ET_X_MOD, at0, et_int(x, pitch));
    out->map = (et_tensor_map){.pitch = pitch * c->size,
                               .rows = elements(g, t) / pitch,
                               .box_rows = rows,
                               .box_bytes = et_pipeline_row_bytes(c)};
    return t->kind != ET_TENSOR_CONST && out->map.rows > 0 && out->map.rows <= INT32_MAX &&
           et_bounds(x, out->row, &lo, &hi) && lo >= 0 && hi <= INT32_MAX &&
           et_bounds(x, out->column, &lo, &hi) && lo >= 0 && hi + c->k <= pitch;
}

/* Has the kernel room for barriers of boxes, beside what any of its tasks keeps in local memory?
 * Where each task is a kernel, there are none. */
static bool has_room(const et_product_cx *g) {
    int most = 0;
    for (int i = 0; i < g->p->ngrids; i++) {
        int bytes = g->p->funcs[g->p->grids[i].func].lds_bytes;
        most = bytes > most ? bytes : most;
    }
    return !et_schedule_of(g->p->schedule)->kernels && most + ET_LDS_OWN <= g->t->lds_bytes;
}

et_boxes_of et_boxes_may(const et_product_cx *g, const et_mainloop *c) {
    const et_step *s = c->s;
    et_box box;
    if (!g->t->boxes || et_is_without(g->without, ET_FEATURE_BOXES) || !c->warpgroup ||
        c->stage_k || c->tail || c->stages > ET_BOX_STAGES || !has_room(g))
        return ET_BOXES_NONE;
    for (int i = 0; i < s->nacc; i++)
        if (!et_box_of(g, c, s->b[i], s->nvar, s->tn, &box)) return ET_BOXES_NONE;
    return et_box_of(g, c, s->a, s->mvar, s->tm, &box) ? ET_BOXES_ALL : ET_BOXES_WEIGHTS;
}

int et_boxes_map(et_box_maps *all, int tensor, const et_tensor_map *m) {
    int i = all->first;
    for (; i < all->n; i++) {
        const et_tensor_map *k = &all->of[i].map;
        if (all->of[i].tensor == tensor && k->pitch == m->pitch && k->rows == m->rows &&
            k->box_rows == m->box_rows && k->box_bytes == m->box_bytes)
            return i;
    }
    if (i == ET_MOST_MAPS) return -1;
    all->of[i].tensor = tensor;
    all->of[i].map = *m;
    return all->n++;
}

bool et_boxes_add(const et_product_cx *g, const et_mainloop *c, et_box_maps *all) {
    const et_step *s = c->s;
    int was = all->n;
    for (int i = et_boxes_first(c); i <= s->nacc; i++) {
        et_box box;
        if (et_box_of(g, c, i ? s->b[i - 1] : s->a, i ? s->nvar : s->mvar, i ? s->tn : s->tm,
                      &box) &&
            et_boxes_map(all, box.tensor, &box.map) >= 0)
            continue;
        all->n = was;
        return false;
    }
    return true;
}

int et_boxes_first(const et_mainloop *c) {
    return c->plan.boxes == ET_BOXES_WEIGHTS ? 1 : 0;
}
