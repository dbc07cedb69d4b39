/* Loop-carried values: the tensor of each, and whether an iteration may write its result straight
 * into it. */
#include "passes/fuse/lowering.h"

/* A value with a tensor of its own: expressions stop at it. */
static bool is_kept(const et_lowering *lo, et_value v) {
    return lo->info[v.id].tensor >= 0 || lo->info[v.id].keep;
}

/* Does the expression of V, given through its node, read TENSOR? With ALIGNED, reads at the very
 * element being computed (only elementwise operators of one shape in between) do not count. */
static bool reads_below(et_lowering *lo, et_value v, int tensor, bool aligned, bool top) {
    if (!top && is_kept(lo, v)) return lo->info[v.id].tensor == tensor && !aligned;
    int *seen = &lo->seen[2 * v.id + aligned];
    if (*seen == lo->visit) return false; /* looked at before: it would have ended there */
    *seen = lo->visit;
    const et_node *n = et_node_of(lo->g, v);
    for (int a = 0; n && a < n->nargs; a++) {
        const et_shape *to = &et_val_of(lo->g, v)->shape;
        const et_shape *from = &et_val_of(lo->g, n->args[a])->shape;
        bool same = aligned && n->op == &et_op_map && to->rank == from->rank;
        for (int d = 0; same && d < to->rank; d++)
            same = et_expr_eq(to->dim[d], from->dim[d]) &&
                   et_expr_eq(to->dim[d], et_most(lo, to->dim[d]));
        if (reads_below(lo, n->args[a], tensor, same, false)) return true;
    }
    return false;
}

static bool reads(et_lowering *lo, et_value v, int tensor, bool aligned, bool top) {
    lo->visit++;
    return reads_below(lo, v, tensor, aligned, top);
}

/* Is TENSOR read by a statement of BLOCK after POSITION? */
static bool read_after(et_lowering *lo, const et_block *b, int position, int tensor) {
    for (int s = 0; s < b->n; s++) {
        int at = b->stmt[s].index;
        if (b->stmt[s].kind == ET_S_LOOP) {
            const et_loop *l = &lo->g->loops[at];
            for (int c = 0; c < l->ncarry; c++)
                if (lo->info[l->carry[c].init.id].tensor == tensor) return true;
            if (read_after(lo, &l->body, position, tensor)) return true;
            continue;
        }
        const et_node *n = &lo->g->nodes[at];
        bool root = !n->result.id || is_kept(lo, n->result);
        bool later = lo->position[at] > position;
        for (int a = 0; root && later && a < n->nargs; a++)
            if (reads(lo, n->args[a], tensor, false, false)) return true;
    }
    return false;
}

static int loop_depth(const et_lowering *lo, int loop) {
    int depth = 0;
    for (; loop >= 0; loop = lo->g->loops[loop].parent)
        depth++;
    return depth;
}

/* An iteration's last value is stored straight into the tensor that the loop carries, where no task
 * reads its old contents during or after that. */
static bool may_write_in_place(et_lowering *lo, int loop, et_value out, int tensor) {
    const et_loop *l = &lo->g->loops[loop];
    if (et_val_of(lo->g, out)->kind != ET_V_NODE || lo->info[out.id].tensor >= 0 ||
        lo->info[out.id].depth != loop_depth(lo, loop))
        return false;
    for (int c = 0; c < l->ncarry; c++) /* another carry takes the old value over */
        if (lo->info[l->carry[c].out.id].tensor == tensor) return false;
    return !reads(lo, out, tensor, true, true) &&
           !read_after(lo, &l->body, lo->info[out.id].position, tensor);
}

void et_assign_carries(et_lowering *lo) {
    for (int i = 0; i < lo->g->nloops; i++)
        for (int c = 0; c < lo->g->loops[i].ncarry; c++) {
            const et_carry *k = &lo->g->loops[i].carry[c];
            int t = et_temp_for(lo, k->in);
            lo->p->tensors[t].carried = i + 1;
            lo->info[k->in.id].tensor = lo->info[k->result.id].tensor = t;
            et_value_info *init = &lo->info[k->init.id];
            bool node = et_val_of(lo->g, k->init)->kind == ET_V_NODE;
            if (node && init->uses == 1 && init->tensor < 0) init->tensor = t;
        }
    for (int i = 0; i < lo->g->nloops; i++)
        for (int c = 0; c < lo->g->loops[i].ncarry; c++) {
            const et_carry *k = &lo->g->loops[i].carry[c];
            if (may_write_in_place(lo, i, k->out, lo->info[k->in.id].tensor))
                lo->info[k->out.id].tensor = lo->info[k->in.id].tensor;
        }
}
