/* Which values get a tensor of their own.
 *
 * Values flow into their readers' expressions unless that is impossible (a matrix product inside
 * another's operand), or repeats work that costs more than storing the result: products read twice,
 * transcendental functions read twice, anything computed in an outer loop and read in an inner one.
 * Norms read only by matrix products stay inline: each tile recomputes its rows' statistics, which
 * is cheaper than a device-wide event. */
#include "passes/fuse/lowering.h"

/* Most levels of values folded one into the next, as walks of them recurse; most elements that one
 * element of a value reads, which gathers of gathers double; and most gathers of what is gathered,
 * whose loads wait for one another and are made anew for every element of a reader. */
enum { MAX_LEVELS = 150, MAX_ASKS = 100, MAX_GATHERS = 8 };
/* A reduction over this many columns of a product can be done inside one tile. */
enum { TILE_ROW = 128 };
/* Bytes of a sum over devices, all of whose parts each tile that reads it may take. */
enum { MOST_SUM = 16384 };

void et_force(et_lowering *lo, int value) {
    if (!lo->forced[value]) lo->again = true;
    lo->forced[value] = true;
}

static et_value_info *info(et_lowering *lo, et_value v) {
    return &lo->info[v.id];
}

static bool is_node(const et_lowering *lo, et_value v) {
    return et_val_of(lo->g, v)->kind == ET_V_NODE;
}

static void keep(et_lowering *lo, et_value v, bool must) {
    if (is_node(lo, v)) {
        info(lo, v)->keep = true;
        info(lo, v)->must |= must;
        info(lo, v)->facts = (struct et_inline_facts){0};
        info(lo, v)->levels = info(lo, v)->asks = info(lo, v)->gathers = 0;
    }
}

/* ---- reads ---- */

static void note_read(et_lowering *lo, et_value v, int depth, const et_op *by) {
    et_value_info *i = info(lo, v);
    i->uses++;
    if (depth > i->deepest) i->deepest = depth;
    if (!by || by->class != ET_CLASS_CONTRACT) i->only_contracts = false;
}

/* The part of its argument that a slice is, at the largest sizes. */
static double share_of(const et_lowering *lo, const et_node *n) {
    int64_t part = et_shape_max_bytes(lo->g->exprs, &et_val_of(lo->g, n->result)->shape);
    int64_t all = et_shape_max_bytes(lo->g->exprs, &et_val_of(lo->g, n->args[0])->shape);
    return part >= 0 && all > 0 ? (double)part / (double)all : 1;
}

static void count_reads(et_lowering *lo, const et_block *b, int depth, int *position) {
    for (int s = 0; s < b->n; s++) {
        int at = b->stmt[s].index;
        if (b->stmt[s].kind == ET_S_LOOP) {
            const et_loop *l = &lo->g->loops[at];
            for (int c = 0; c < l->ncarry; c++) {
                note_read(lo, l->carry[c].init, depth, NULL);
                info(lo, l->carry[c].in)->depth = depth + 1;
            }
            count_reads(lo, &l->body, depth + 1, position);
            for (int c = 0; c < l->ncarry; c++) {
                note_read(lo, l->carry[c].out, depth + 1, NULL);
                info(lo, l->carry[c].result)->depth = depth;
            }
            continue;
        }
        const et_node *n = &lo->g->nodes[at];
        lo->position[at] = ++*position;
        for (int a = 0; a < n->nargs; a++) {
            bool twice = false;
            for (int k = 0; k < a; k++)
                twice |= n->args[k].id == n->args[a].id;
            if (!twice) note_read(lo, n->args[a], depth, n->op);
            info(lo, n->args[a])->taken += n->op == &et_op_slice ? share_of(lo, n) : 1;
        }
        if (n->result.id) {
            info(lo, n->result)->depth = depth;
            info(lo, n->result)->position = *position;
        }
    }
}

/* ---- what an expression holds ---- */

static bool is_costly(const void *exprs, et_expr e) {
    return et_xop_is(et_x(exprs, e)->op, ET_XOP_COSTLY);
}

static bool body_costly(et_lowering *lo, const et_node *n) {
    if (n->op == &et_op_rope_table || n->op == &et_op_softmax) return true;
    const et_attr *body = et_attr_find(n, "body");
    return body && et_expr_any(lo->g->exprs, body->expr, is_costly, lo->g->exprs);
}

static bool extent_at_most(et_lowering *lo, et_expr e, int64_t limit) {
    int64_t n;
    return et_is_int(lo->g->exprs, e, &n) && n <= limit;
}

static et_expr reduced_extent(et_lowering *lo, const et_node *n) {
    const et_shape *s = &et_val_of(lo->g, n->args[0])->shape;
    return s->dim[et_attr_int(n, "axis", s->rank - 1)];
}

/* Materialise an argument whose expression cannot be inlined in its reader: a product or a
 * reduction is impossible there; a costly function is possible, and left to the choice, if there is
 * one. */
static void keep_if(et_lowering *lo, et_value v, bool contract, bool reduction, bool costly) {
    struct et_inline_facts f = info(lo, v)->facts;
    if ((contract && f.contract) || (reduction && f.reduction))
        keep(lo, v, true);
    else if (costly && f.costly && lo->choice[v.id] < 0)
        keep(lo, v, false);
}

/* A reshaped product cannot be tiled: it is stored in its own shape, and reshaped when it is read.
 */
static bool keep_reshaped(et_lowering *lo, et_value v) {
    const et_node *n = et_node_of(lo->g, v);
    if (!n || n->op != &et_op_reshape || info(lo, v)->keep || !info(lo, v)->facts.contract)
        return false;
    keep_reshaped(lo, n->args[0]);
    keep_if(lo, n->args[0], true, false, false);
    info(lo, v)->facts.contract = false;
    return true;
}

/* What a device has is computed once, and not for each of the devices that it has an index for. */
static void keep_own_part(et_lowering *lo, const et_node *exchange) {
    const et_node *n = et_node_of(lo->g, exchange->args[0]);
    int own = (int)et_attr_int(exchange, "own", -1);
    info(lo, exchange->args[0])->own = own + 1;
    if (own >= 0 && n && n->op == &et_op_map) n = et_node_of(lo->g, n->args[0]);
    if (own >= 0 && n && n->op == &et_op_reshape) keep(lo, n->args[0], true);
}

/* Is N a map of a scan's result that has no tensor before? */
static bool is_of_scan(const et_lowering *lo, const et_node *n) {
    int scan = lo->info[n->result.id].scan;
    for (int a = 0; a < n->nargs && scan; a++)
        if (lo->info[n->args[a].id].scan == scan && !lo->info[n->args[a].id].keep) return true;
    return false;
}

/* Are all reductions in V numbers of whole rows, as in a norm? */
static bool of_whole_rows(const et_lowering *lo, et_value v, int deep) {
    enum { MOST_DEEP = 8 };
    const et_node *n = et_node_of(lo->g, v);
    int64_t one = 0;
    if (!n || lo->info[v.id].keep) return true;
    const et_shape *s = &et_val_of(lo->g, v)->shape;
    if (n->op->class == ET_CLASS_REDUCE)
        return s->rank && et_is_int(lo->g->exprs, s->dim[s->rank - 1], &one) && one == 1;
    bool all = deep < MOST_DEEP;
    for (int a = 0; a < n->nargs && all; a++)
        all = of_whole_rows(lo, n->args[a], deep + 1);
    return all;
}

/* A reshape that takes dimensions of one element in or out alone, in front of rows that stay rows.
 */
static bool keeps_rows(const et_lowering *lo, const et_node *n) {
    const et_shape *a = &et_val_of(lo->g, n->args[0])->shape;
    const et_shape *b = &et_val_of(lo->g, n->result)->shape;
    int64_t one;
    int i = 0, j = 0;
    if (!a->rank || !b->rank || !et_expr_eq(a->dim[a->rank - 1], b->dim[b->rank - 1])) return false;
    for (;;) {
        while (i < a->rank && et_is_int(lo->g->exprs, a->dim[i], &one) && one == 1)
            i++;
        while (j < b->rank && et_is_int(lo->g->exprs, b->dim[j], &one) && one == 1)
            j++;
        if (i == a->rank || j == b->rank) return i == a->rank && j == b->rank;
        if (!et_expr_eq(a->dim[i++], b->dim[j++])) return false;
    }
}

static void constrain_args(et_lowering *lo, const et_node *n) {
    const et_shape *b;
    if (n->op == &et_op_exchange) {
        keep(lo, n->args[0], true);
        info(lo, n->args[0])->partial = true;
        keep_own_part(lo, n);
        return;
    }
    switch (n->op->class) {
    case ET_CLASS_VIEW:
        if (n->op == &et_op_gather) keep_reshaped(lo, n->args[0]);
        for (int a = 0; a < n->nargs; a++)
            if (n->op != &et_op_reshape)
                keep_if(lo, n->args[a], n->op != &et_op_slice, n->op != &et_op_slice,
                        n->op == &et_op_gather);
            else
                keep_if(lo, n->args[a], false,
                        !keeps_rows(lo, n) || !of_whole_rows(lo, n->args[a], 0), false);
        break;
    case ET_CLASS_MAP: /* no products nor reductions while a scan goes through its rows */
        for (int a = 0; a < n->nargs && is_of_scan(lo, n); a++)
            keep_if(lo, n->args[a], true, true, false);
        break;
    case ET_CLASS_REDUCE: {
        const et_shape *x = &et_val_of(lo->g, n->args[0])->shape;
        bool last = et_attr_int(n, "axis", x->rank - 1) == x->rank - 1;
        bool in_tile = last && extent_at_most(lo, reduced_extent(lo, n), TILE_ROW) && x->rank > 2;
        keep_if(lo, n->args[0], !in_tile, true, info(lo, n->args[0])->uses > 1);
        for (int a = 1; a < n->nargs; a++)
            keep_if(lo, n->args[a], true, true, false);
        break;
    }
    case ET_CLASS_CONTRACT:
        b = &et_val_of(lo->g, n->result)->shape;
        if (keep_reshaped(lo, n->args[0])) info(lo, n->args[0])->facts.costly = false;
        keep_if(lo, n->args[0], true, false, !extent_at_most(lo, b->dim[b->rank - 1], 256));
        keep_if(lo, n->args[1], true, true, true);
        break;
    case ET_CLASS_ATTENTION:
        for (int a = 0; a < n->nargs; a++)
            keep_if(lo, n->args[a], true, true, true);
        break;
    case ET_CLASS_SCAN: /* for each element of the state, and while it is written */
        for (int a = 1; a < n->nargs; a++) {
            keep_if(lo, n->args[a], true, true, true);
            if (info(lo, n->args[a])->facts.state) keep(lo, n->args[a], true);
        }
        break;
    case ET_CLASS_UPDATE:
        for (int a = 2; a < n->nargs; a++)
            keep_if(lo, n->args[a], true, true, true);
        break;
    }
}

static void add_facts(struct et_inline_facts *to, struct et_inline_facts f) {
    to->contract |= f.contract;
    to->reduction |= f.reduction;
    to->costly |= f.costly;
    to->state |= f.state;
}

static bool worth_keeping(et_lowering *lo, const et_node *n) {
    const et_value_info *i = info(lo, n->result);
    struct et_inline_facts f = i->facts;
    if (n->op->class == ET_CLASS_ATTENTION || n->op->class == ET_CLASS_SCAN) return true;
    if (i->ends_scan) return true;
    if (i->deepest > i->depth && (f.contract || f.reduction || f.costly)) return true;
    if (i->uses < 2) return false;
    if (f.contract && i->taken > 1) return true;
    if (f.costly) return true;
    return f.reduction && !(i->only_contracts && n->op->class == ET_CLASS_REDUCE &&
                            extent_at_most(lo, reduced_extent(lo, n), ET_RECOMPUTE_ROW));
}

/* Every tile that reads the sum over devices of N takes the parts of all it reads of it: of one
 * that is large a tensor is made first. */
static bool is_large_sum(const et_lowering *lo, const et_node *n) {
    const et_shape *s = &et_val_of(lo->g, n->result)->shape;
    return n->op == &et_op_exchange &&
           (lo->apart || et_shape_max_bytes(lo->g->exprs, s) > MOST_SUM ||
            et_shape_max_bytes(lo->g->exprs, s) > lo->most_tagged);
}

/* Where one map alone reads such a sum, element by element, as what adds the residual does, the
 * tensor is that map's. */
static bool leaves_sum_to_reader(const et_lowering *lo, const et_node *n) {
    const et_value_info *i = &lo->info[n->result.id];
    return is_large_sum(lo, n) && !lo->apart && i->uses == 1 &&
           !et_val_of(lo->g, n->result)->is_output;
}

/* An argument of N is a large sum without a tensor: N gets one, or else the sum. */
static bool takes_sum(et_lowering *lo, const et_node *n) {
    bool takes = false;
    for (int a = 0; a < n->nargs; a++) {
        if (!info(lo, n->args[a])->facts.sum) continue;
        const et_shape *to = n->result.id ? &et_val_of(lo->g, n->result)->shape : NULL;
        const et_shape *from = &et_val_of(lo->g, n->args[a])->shape;
        bool again = n->op == &et_op_reshape; /* of what each device has a part of */
        bool alike = again || (to && n->op->class == ET_CLASS_MAP && to->rank == from->rank);
        for (int d = 0; alike && !again && d < to->rank; d++)
            alike = et_expr_eq(to->dim[d], from->dim[d]);
        if (!alike) keep(lo, n->args[a], true);
        takes |= alike;
    }
    return takes;
}

static void plan_node(et_lowering *lo, const et_node *n, int loop) {
    constrain_args(lo, n);
    bool takes = takes_sum(lo, n);
    if (!n->result.id) return;
    bool leaves = leaves_sum_to_reader(lo, n);
    et_value_info *i = info(lo, n->result);
    i->loop = loop;
    i->fixed = true;
    for (int a = 0; a < n->nargs; a++) {
        const et_value_info *arg = info(lo, n->args[a]);
        et_value_kind kind = et_val_of(lo->g, n->args[a])->kind;
        i->fixed &= kind == ET_V_WEIGHT || kind == ET_V_CONST || arg->fixed;
        add_facts(&i->facts, arg->facts);
        if (is_node(lo, n->args[a]) && arg->levels >= i->levels) i->levels = arg->levels + 1;
        i->asks += 1 + arg->asks;
        if (arg->gathers > i->gathers) i->gathers = arg->gathers;
        i->facts.state |= et_val_of(lo->g, n->args[a])->kind == ET_V_STATE;
    }
    i->gathers += n->op == &et_op_gather || n->op == &et_op_take;
    i->facts.costly |= body_costly(lo, n);
    i->facts.reduction |= n->op->class == ET_CLASS_REDUCE;
    i->facts.contract |= n->op->class == ET_CLASS_CONTRACT;
    if (n->op->class == ET_CLASS_CONTRACT) /* operands are read inside the product, not beside it */
        i->facts.reduction = i->facts.costly = false;
    int choice = lo->choice[n->result.id];
    /* A product whose size changes with a loop has tiles of its own tensor only. */
    bool changes = false;
    const et_shape *shape = &et_val_of(lo->g, n->result)->shape;
    for (int d = 0; d < shape->rank && n->op->class == ET_CLASS_CONTRACT; d++)
        changes |= !et_expr_eq(shape->dim[d], et_most(lo, shape->dim[d]));
    i->facts.sum = leaves;
    bool must = i->must || changes || takes || (is_large_sum(lo, n) && !leaves) ||
                i->levels >= MAX_LEVELS || i->asks >= MAX_ASKS || i->gathers >= MAX_GATHERS ||
                et_val_of(lo->g, n->result)->is_output || lo->forced[n->result.id] ||
                et_feeds_router(lo, n->result) || et_attr_find(n, "tile") ||
                et_attr_find(n, "range") || et_attr_find(n, "dynamic") ||
                n->op->class == ET_CLASS_ATTENTION || i->ends_scan ||
                (n->op->class == ET_CLASS_SCAN && (!i->scan || lo->forced[n->result.id]));
    if (n->op->class == ET_CLASS_SCAN && !must) return;
    if (must || (choice < 0 ? worth_keeping(lo, n) : choice)) keep(lo, n->result, must);
}

static void plan_block(et_lowering *lo, const et_block *b, int loop) {
    for (int s = 0; s < b->n; s++) {
        int at = b->stmt[s].index;
        if (b->stmt[s].kind == ET_S_LOOP)
            plan_block(lo, &lo->g->loops[at].body, at);
        else
            plan_node(lo, &lo->g->nodes[at], loop);
    }
}

/* ---- states read before and after an update ---- */

struct state_walk {
    et_lowering *lo;
    int *updated; /* by value id of a state: position of the last update so far, counting those of
                     earlier iterations */
    int position;
};

/* A value that reads a state must be computed before the next update of that state: the last
 * position at which V may still be inlined, or -1 when it reads none that changes. */
static bool reads_stale_state(struct state_walk *w, et_value v) {
    const et_val *val = et_val_of(w->lo->g, v);
    if (val->kind != ET_V_NODE || info(w->lo, v)->keep || !info(w->lo, v)->facts.state)
        return false;
    if (w->lo->seen[2 * v.id] == w->lo->visit) return false; /* looked at for this statement */
    w->lo->seen[2 * v.id] = w->lo->visit;
    const et_node *n = &w->lo->g->nodes[val->node];
    for (int a = 0; a < n->nargs; a++) {
        if (et_val_of(w->lo->g, n->args[a])->kind == ET_V_STATE) {
            if (w->updated[n->args[a].id] > info(w->lo, v)->position) return true;
        } else if (reads_stale_state(w, n->args[a])) {
            return true;
        }
    }
    return false;
}

/* In a loop, all updates come before a read: they did in the iteration before. */
static void note_updates(struct state_walk *w, const et_block *b, int position) {
    for (int s = 0; s < b->n; s++) {
        int at = b->stmt[s].index;
        if (b->stmt[s].kind == ET_S_LOOP)
            note_updates(w, &w->lo->g->loops[at].body, position);
        else if (et_writes_state(&w->lo->g->nodes[at]))
            w->updated[w->lo->g->nodes[at].args[0].id] = position;
    }
}

static void keep_stale_reads(struct state_walk *w, const et_block *b) {
    for (int s = 0; s < b->n; s++) {
        int at = b->stmt[s].index;
        if (b->stmt[s].kind == ET_S_LOOP) {
            note_updates(w, &w->lo->g->loops[at].body, w->position + 1);
            keep_stale_reads(w, &w->lo->g->loops[at].body);
            continue;
        }
        const et_node *n = &w->lo->g->nodes[at];
        w->position++;
        w->lo->visit++;
        for (int a = 0; a < n->nargs; a++) {
            if (!reads_stale_state(w, n->args[a])) continue;
            et_force(w->lo, (int)n->args[a].id);
            keep(w->lo, n->args[a], true); /* what reads it need not be stored for its sake */
        }
        if (et_writes_state(n)) w->updated[n->args[0].id] = w->position;
    }
}

void et_plan_materialise(et_lowering *lo) {
    et_graph *g = lo->g;
    lo->info = et_alloc(g->arena, (size_t)g->nvals * sizeof *lo->info);
    lo->position = et_alloc(g->arena, (size_t)g->nnodes * sizeof *lo->position);
    for (int v = 1; v < g->nvals; v++) {
        lo->info[v].only_contracts = true;
        lo->info[v].tensor = -1;
    }
    int position = 0;
    count_reads(lo, &g->body, 0, &position);
    et_find_maps_of_scans(lo);
    for (int l = 0; l < g->nloops; l++)
        for (int c = 0; c < g->loops[l].ncarry; c++) {
            keep(lo, g->loops[l].carry[c].init, true);
            keep(lo, g->loops[l].carry[c].out, true);
        }
    plan_block(lo, &g->body, -1);
    struct state_walk w = {lo, et_alloc(g->arena, (size_t)g->nvals * sizeof(int)), 0};
    keep_stale_reads(&w, &g->body);
}
