/* The pass: the plan that costs least, and the groups it makes. */
#include "ir/base/diag.h"
#include "ir/graph/ops.h"
#include "passes/fuse/lowering.h"
#include "passes/tile/tile.h"
#include <string.h>

static void force(void *ctx, et_value v) {
    et_force(ctx, (int)v.id);
}

static bool stale(void *ctx, int group) {
    const et_lowering *lo = ctx;
    int first = 0, end = lo->nfolded;
    while (first < end) {
        int middle = (first + end) / 2;
        if (lo->folded[middle].group <= group)
            first = middle + 1;
        else
            end = middle;
    }
    for (; first < lo->nfolded && lo->folded[first].group == group + 1; first++)
        if (lo->forced[lo->folded[first].value]) return true;
    return false;
}

static bool known(void *ctx, int group) {
    const et_lowering *lo = ctx;
    return lo->prices && et_price_is_known(lo->prices, lo->p, group);
}

/* Tiling finds fusions without a device function; each round materialises at least one more value,
 * so this ends. */
bool et_lower_graph(et_lowering *lo, const et_pass_options *opt) {
    et_tile_trial trial = {force, stale, known, lo};
    do {
        lo->again = false;
        et_build_groups(lo);
        if (lo->p->ngroups > ET_MAX_TASKS) {
            et_diag(lo->g->diags, ET_ERROR, lo->p->groups[ET_MAX_TASKS].loc,
                    "this is task %d of the program, at most %d are compiled", ET_MAX_TASKS + 1,
                    ET_MAX_TASKS);
            et_diag(lo->g->diags, ET_NOTE, lo->p->groups[ET_MAX_TASKS].loc,
                    "what a loop repeats ('for l in 0..L') counts once");
            return false;
        }
        if (!lo->again && !et_tile_program(lo->p, opt, &trial)) return false;
    } while (lo->again);
    return true;
}

static et_expr value_at(et_lower *l, et_value v, const et_expr *index) {
    return et_value_at(l->ctx, v, index);
}

static bool has_reshapes(const et_graph *g) {
    for (int i = 0; i < g->nnodes; i++)
        if (g->nodes[i].op == &et_op_reshape) return true;
    return false;
}

/* Operands and results of reshapes are materialised. */
static void force_reshapes(et_lowering *lo) {
    for (int i = 0; i < lo->g->nnodes; i++) {
        const et_node *n = &lo->g->nodes[i];
        if (n->op != &et_op_reshape) continue;
        et_force(lo, (int)n->result.id);
        if (et_node_of(lo->g, n->args[0])) et_force(lo, (int)n->args[0].id);
    }
}

/* A tag for each element takes the link for as long again as the elements do; a flag takes two
 * fences, and the link there once more, for it is sent when they are there. */
static int64_t most_tagged(const et_pass_options *o, int devices) {
    const et_machine *m = o->machine;
    if (o->exchange != ET_EXCHANGE_AUTO) return o->exchange == ET_EXCHANGE_TAGS ? INT64_MAX : 0;
    double us = 2 * m->event_us + m->release_us + m->acquire_us;
    return (int64_t)(m->link_gbs * 1e3 * us / (devices > 2 ? devices - 1 : 1));
}

static const et_node *node_of(const et_graph *g, et_value v) {
    const et_val *val = v.id ? et_val_of(g, v) : NULL;
    return val && val->kind == ET_V_NODE ? &g->nodes[val->node] : NULL;
}

/* The number of the grouping whose value BEGINS says where groups begin: they are counted as their
 * tensors come, since numbers of values depend on whether the graph was read. */
static int number_of(et_value *groupings, int *n, et_value begins) {
    for (int i = 0; i < *n; i++)
        if (groupings[i].id == begins.id) return i + 1;
    groupings[(*n)++] = begins;
    return *n;
}

/* Which temporaries say whose blocks are, and where rows are, of the same grouping. */
static void note_groupings(et_program *p) {
    int count = 0;
    et_value *groupings = et_alloc(p->g->arena, (size_t)p->ntensors * sizeof *groupings);
    for (int i = 0; i < p->ntensors; i++) {
        et_tensor *t = &p->tensors[i];
        const et_node *n = t->kind == ET_TENSOR_TEMP ? node_of(p->g, t->value) : NULL;
        if (n && n->op == &et_op_group_place)
            t->grouping.number = number_of(groupings, &count, n->args[2]);
        if (n && n->op == &et_op_group_owner) {
            t->grouping.number = number_of(groupings, &count, n->args[0]);
            t->grouping.pad = (int)et_attr_int(n, "pad", 0);
        }
    }
}

bool et_pass_fuse(et_pipeline *pl) {
    et_lowering *lo = et_alloc(pl->g->arena, sizeof *lo);
    et_join_experts(pl->g, pl->opt);
    et_take_largest(pl->g, pl->opt->machine);
    size_t n = (size_t)pl->g->nvals;
    lo->g = pl->g;
    lo->lower = (et_lower){pl->g, value_at, lo, pl->simpler >= ET_CLAMPED};
    lo->forced = et_alloc(pl->g->arena, n * sizeof *lo->forced);
    lo->seen = et_alloc(pl->g->arena, 2 * n * sizeof *lo->seen);
    lo->choice = memset(et_alloc(pl->g->arena, n), -1, n);
    lo->apart = pl->apart;
    lo->same_sums = pl->opt->same_sums;
    lo->workgroup = pl->opt->machine->waves * pl->opt->machine->wave_size;
    lo->occupancy = pl->opt->machine->occupancy;
    lo->most_tagged = most_tagged(pl->opt, pl->g->devices);
    lo->parts = pl->opt->parts == ET_PARTS_BF16 ? ET_BF16 : ET_F32;
    if (pl->simpler == ET_RESHAPES_APART) force_reshapes(lo);
    et_leave_out_choices(lo, pl->opt);
    et_relay_weights(lo, pl->opt);
    if (!et_lower_graph(lo, pl->opt)) return false;
    if (!pl->opt->quick) {
        et_search_fusion(lo, pl->opt);
        if (!et_lower_graph(lo, pl->opt)) return false;
    }
    if (!pl->opt->quick && !lo->same_sums) et_split_products(lo, pl->opt);
    et_order_groups(lo);
    note_groupings(lo->p);
    pl->p = lo->p;
    pl->reshapes = has_reshapes(lo->g);
    pl->p->nfuncs = pl->p->ngrids = 0;
    return true;
}
