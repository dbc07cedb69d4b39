/* Groups of scans. */
#include "passes/fuse/lowering.h"
#include <string.h>

/* A part of a scan as the group has it: its variables, and its loads of arguments. */
struct part {
    et_lowering *lo;
    const et_node *n;
    int nvars, var[ET_SCAN_VARS];
    et_expr by[ET_SCAN_VARS];
};

static et_expr lower_part(void *ctx, et_exprs *x, et_expr leaf) {
    const struct part *s = ctx;
    et_node_x l = *et_x(x, leaf);
    if (l.op == ET_X_LOAD) return et_arg_at(&s->lo->lower, s->n, l.i, l.ops);
    for (int v = 0; l.op == ET_X_VAR && v < s->nvars; v++)
        if (l.i == s->var[v]) return s->by[v];
    return ET_NO_EXPR;
}

/* ---- scans that are stored as what maps make of them ---- */

/* Launches of more rows do chunks of them at once, by products that leave sums. */
enum { FEW_ROWS = 31 };

static bool reads(const et_node *n, et_value v) {
    for (int a = 0; a < n->nargs; a++)
        if (n->args[a].id == v.id) return true;
    return false;
}

static bool has_hint(const et_node *n) {
    return et_attr_find(n, "tile") || et_attr_find(n, "range") || et_attr_find(n, "dynamic");
}

/* Does N have for each element of V one of its own? */
static bool is_map_of(const et_lowering *lo, const et_node *n, et_value v) {
    if (n->op == &et_op_reshape) return true;
    const et_shape *to = &et_val_of(lo->g, n->result)->shape, *from = &et_val_of(lo->g, v)->shape;
    bool same = n->op->class == ET_CLASS_MAP && to->rank == from->rank;
    for (int d = 0; same && d < to->rank; d++)
        same = et_expr_eq(to->dim[d], from->dim[d]);
    return same;
}

/* What the scan at statement AT becomes on the way: maps that nothing else reads, behind which
 * comes no other reader of the state. The scan waits for what the last of them reads. */
static void find_maps(et_lowering *lo, const et_block *b, int at) {
    const et_node *scan = &lo->g->nodes[b->stmt[at].index];
    et_value v = scan->result;
    for (int s = at + 1; s < b->n && b->stmt[s].kind == ET_S_NODE; s++) {
        const et_node *n = &lo->g->nodes[b->stmt[s].index];
        if (lo->info[v.id].uses != 1 || et_val_of(lo->g, v)->is_output || reads(n, scan->args[0]))
            break;
        if (!reads(n, v)) continue;
        if (!n->result.id || !is_map_of(lo, n, v) || has_hint(n) || lo->info[n->result.id].scan)
            break;
        v = n->result;
        lo->info[v.id].scan = (int)scan->result.id;
    }
    if (v.id == scan->result.id) return;
    lo->info[scan->result.id].scan = (int)scan->result.id;
    lo->info[v.id].ends_scan = true;
}

static void find_in(et_lowering *lo, const et_block *b) {
    for (int s = 0; s < b->n; s++) {
        int64_t least, most;
        if (b->stmt[s].kind == ET_S_LOOP) {
            find_in(lo, &lo->g->loops[b->stmt[s].index].body);
            continue;
        }
        const et_node *n = &lo->g->nodes[b->stmt[s].index];
        if (n->op->class == ET_CLASS_SCAN && !lo->forced[n->result.id] &&
            et_bounds(lo->g->exprs, et_val_of(lo->g, n->result)->shape.dim[0], &least, &most) &&
            most <= FEW_ROWS)
            find_maps(lo, b, s);
    }
}

void et_find_maps_of_scans(et_lowering *lo) {
    if (!lo->g->devices) find_in(lo, &lo->g->body);
}

const et_node *et_scan_in(const et_lowering *lo, et_value v) {
    int scan = lo->info[v.id].scan;
    if (!scan || scan == (int)v.id || lo->info[scan].keep) return NULL;
    /* The first that has a tensor is the scan's, what follows reads that. */
    for (const et_node *n = et_node_of(lo->g, v);;) {
        et_value from = {0};
        for (int a = 0; a < n->nargs; a++)
            if (lo->info[n->args[a].id].scan == scan) from = n->args[a];
        if (!from.id || lo->info[from.id].tensor >= 0) return NULL;
        n = et_node_of(lo->g, from);
        if (from.id == (uint32_t)scan) return n;
    }
}

et_expr et_sum_of_scan(et_lowering *lo, et_value v, const et_expr *index) {
    bool own = lo->scanned && !lo->forced[v.id];
    for (int d = 0; own && d < et_val_of(lo->g, v)->shape.rank; d++)
        own = et_expr_eq(index[d], lo->scanned[d]);
    if (own) return et_arg(lo->g->exprs, ET_ARG_SUM, ET_T_F32);
    et_force(lo, (int)v.id);
    return et_arg(lo->g->exprs, (int)v.id, ET_T_F32);
}

/* The element of AS that the scan's at AT becomes. */
static void place_in(et_lowering *lo, const et_node *scan, const et_node *as, const et_expr *at,
                     et_expr *out) {
    const et_shape *to = &et_val_of(lo->g, as->result)->shape;
    et_expr from[ET_MAX_RANK];
    if (as == scan) {
        memcpy(out, at, (size_t)to->rank * sizeof *at);
        return;
    }
    for (int a = 0; a < as->nargs; a++) {
        if (lo->info[as->args[a].id].scan != (int)scan->result.id) continue;
        place_in(lo, scan, et_node_of(lo->g, as->args[a]), at, from);
        const et_shape *of = &et_val_of(lo->g, as->args[a])->shape;
        if (as->op == &et_op_reshape)
            et_reshaped_index(&lo->lower, to, of, from, out);
        else
            memcpy(out, from, (size_t)to->rank * sizeof *from);
        return;
    }
}

static void store_as(et_lowering *lo, et_group *gr, const et_node *scan, const et_node *as,
                     const et_expr *at) {
    gr->to.rank = et_val_of(lo->g, as->result)->shape.rank;
    place_in(lo, scan, as, at, gr->to.index);
    lo->scanned = at;
    gr->scan[ET_SC_THEN] = as->op->at(&lo->lower, as, gr->to.index);
    lo->scanned = NULL;
    if (et_expr_has_op(lo->g->exprs, gr->scan[ET_SC_THEN], ET_X_CONTRACT) ||
        et_expr_has_op(lo->g->exprs, gr->scan[ET_SC_THEN], ET_X_REDUCE))
        et_force(lo, (int)scan->result.id);
}

void et_scan_group(et_lowering *lo, et_group *gr, const et_node *n, const et_node *as,
                   const et_expr *at) {
    et_exprs *x = lo->g->exprs;
    struct part s = {.lo = lo, .n = n};
    s.nvars = et_scan_vars(n, s.var);
    gr->kind = ET_GROUP_SCAN;
    gr->pvar = et_graph_var(lo->g, "k", et_var_extent(x, s.var[s.nvars - 1]));
    memcpy(s.by, at, (size_t)gr->rank * sizeof *at);
    s.by[s.nvars - 1] = et_var(x, gr->pvar);
    for (int i = 0; i < ET_SC_PARTS; i++) {
        et_expr e = et_scan_part_of(n, (et_scan_part)i);
        gr->scan[i] = e.id ? et_subst(x, e, lower_part, &s) : e;
    }
    gr->state = (et_place){.space = ET_LOAD_TENSOR,
                           .id = lo->info[n->args[0].id].tensor,
                           .rank = et_val_of(lo->g, n->args[0])->shape.rank};
    for (int d = 0; d < gr->state.rank; d++)
        gr->state.index[d] = et_subst(x, et_scan_index(n)[d], lower_part, &s);
    if (as != n) store_as(lo, gr, n, as, at);
}
