/* Products cut along k: of a few rows where these have fewer tiles than there are CUs, so that more
 * CUs have a tile, and of many where tiles enough for all CUs are narrow, so that the same number
 * is wider. Each reads a part of the rows. The parts of a sum are a row each of the tensor, and
 * its readers add them up, always in the same order; terms added to the product are in the first
 * part. So there is no additional task or event; the price is what readers load.
 *
 * Every product that may be is tried, with all of its model tiled as it would be then. */
#include "ir/program/step.h"
#include "passes/cost/stream_many.h"
#include "passes/tile/split_k.h"
#include "passes/tile/tiler.h"
#include "passes/trial/trial.h"
#include <string.h>

enum {
    MOST_PARTS = 4, /* of a few rows, */
    MOST_OF_MANY =
        2, /* and of more, of which each part is as much to write and read as the rows; */
    MOST_OF_SLOTS = 4, /* with weights that are there before these are */
    LEAST_K = 512,     /* of a part, */
    STEP_K = 64,       /* whose multiples parts have where halves of the least do not divide k */
    MOST_TRIED = 32,   /* products */
    LOOP_TRIPS = 16,   /* what is cut is the same for any depth */
};
/* The least gain of a cut, relative to its model's time: less is noise of the model. */
static const double least_gain = 0.005, least_of_many = 0.008;

static int64_t upper(const et_exprs *x, et_expr e) {
    int64_t lo, hi;
    return et_bounds(x, e, &lo, &hi) ? hi : INT32_MAX;
}

/* ---- what may be cut ---- */

/* Does the group leave the tensor alone, or read and write it such that it could be in parts? The
 * group that writes it says which part the rest is in; a right operand is read as it lies in
 * memory. */
static bool bears_parts(et_program *p, et_group *gr, int tensor) {
    const et_exprs *x = p->g->exprs;
    et_expr *e[ET_GROUP_EXPRS];
    bool any = false, writes = gr->to.space == ET_LOAD_TENSOR && gr->to.id == tensor;
    for (int i = 0, n = et_group_exprs(gr, e); i < n; i++)
        any |= et_expr_loads_tensor(x, *e[i], tensor);
    for (int i = 0; i < gr->nproduct; i++)
        if (et_expr_loads_tensor(x, gr->product[i].b, tensor)) return false;
    if (any && (writes || gr->kind != ET_GROUP_STORE)) return false;
    return !writes || (gr->kind == ET_GROUP_STORE && gr->rank < ET_MAX_RANK && !gr->slice.count);
}

static bool is_asked_for(const et_group *gr) {
    for (int d = 0; d < gr->rank; d++)
        if (gr->tile[d]) return true;
    return gr->range.to || gr->hint != ET_HINT_NONE;
}

/* So many rows are few: what reads the sums has them all in a tile, and so has the product.
 */
static int64_t few_rows(const et_pass_options *opt) {
    return et_may_stream(opt) ? 8 : 16;
}

/* Are parts of k tried for so many rows? Where weights come ahead of tasks a few rows gain little
 * by them, and eight lose, which costs do not show. */
static bool suits(const et_pass_options *opt, int64_t rows) {
    return rows == 1 || rows > few_rows(opt) || !et_may_stream(opt);
}

int64_t et_tile_sums_k(const et_tiler *t, const et_group *gr) {
    et_program *p = t->p;
    et_exprs *x = p->g->exprs;
    const et_product *of = &gr->product[0];
    et_expr product, rest;
    int64_t k;
    if (gr->kind != ET_GROUP_STORE || gr->nproduct != 1 || of->nbatch || gr->slice.count ||
        gr->mask.id || gr->to.space != ET_LOAD_TENSOR || is_asked_for(gr) ||
        (!t->opt->orders && !suits(t->opt, upper(x, et_var_extent(x, of->m)))) ||
        !et_is_int(x, et_var_extent(x, of->k), &k))
        return 0;
    const et_tensor *to = &p->tensors[gr->to.id];
    if (to->kind != ET_TENSOR_TEMP || to->shape.dtype != ET_F32 || to->shape.rank >= ET_MAX_RANK ||
        to->partial || !et_split_off_product(x, gr->value, &product, &rest))
        return 0;
    for (int i = 0; i < p->ngroups; i++) {
        et_group *o = &p->groups[i];
        bool another = o != gr && o->to.space == ET_LOAD_TENSOR && o->to.id == gr->to.id;
        if (!bears_parts(p, o, gr->to.id) || (another && o->nproduct)) return 0;
    }
    return k;
}

/* ---- the cut ---- */

struct adding {
    int tensor, parts;
};

static et_expr add_up(void *ctx, et_exprs *x, et_expr leaf) {
    const struct adding *a = ctx;
    et_node_x n = *et_x(x, leaf);
    if (n.op != ET_X_LOAD || n.i2 != ET_LOAD_TENSOR || n.i != a->tensor) return ET_NO_EXPR;
    return et_add_parts_up(x, n.i, n.type, n.nops, n.ops, a->parts);
}

/* Parts of the same columns are dealt to CUs side by side. */
static et_expr add_last_axis(et_program *p, et_group *gr, int parts) {
    gr->tile[gr->rank] = 0;
    gr->axis[gr->rank] = et_graph_var(p->g, "s", et_int(p->g->exprs, parts));
    return et_var(p->g->exprs, gr->axis[gr->rank++]);
}

static void cut(et_program *p, int group, int parts) {
    et_exprs *x = p->g->exprs;
    struct adding a = {p->groups[group].to.id, parts};
    for (int i = 0; i < p->ngroups; i++) {
        et_group *gr = &p->groups[i];
        et_expr *e[ET_GROUP_EXPRS];
        for (int k = 0, n = et_group_exprs(gr, e); k < n; k++)
            *e[k] = et_subst(x, *e[k], add_up, &a);
        if (gr->to.space != ET_LOAD_TENSOR || gr->to.id != a.tensor) continue;
        et_expr part = ET_NO_EXPR;
        if (i == group) {
            part = add_last_axis(p, gr, parts);
            et_cut_product(p, gr, parts, part);
        } else {
            part = et_add_part_axis(p, gr, parts);
            gr->value = et_in_first(x, part, gr->value);
        }
        et_store_in_part(gr, part);
    }
    et_split_tensor(x, &p->tensors[a.tensor], parts);
    p->groups[group].parts = parts;
}

/* ---- what it costs ---- */

/* MODEL alone: decisions for it do not depend on other models. */
static void keep_model(et_program *p, int model) {
    int first = p->nitems;
    for (int i = p->first; i < p->first + p->count; i++) {
        et_item it = p->items[i];
        int of = it.kind == ET_P_LOOP ? p->g->loops[it.index].model : p->grids[it.index].model;
        if (of != model) continue;
        ET_GROW(p->g->arena, p->items, p->nitems, p->citems);
        p->items[p->nitems++] = it;
    }
    p->count = p->nitems - first;
    p->first = first;
}

/* Predicted times of the model of GROUP, that group cut into so many parts, how many tiles it has
 * at most, and whether its products had better have slots (passes/cost/stream_many.h); false where
 * that cannot be tiled. */
static bool price(const et_tiler *t, int group, int parts, double us[ET_SAMPLES], double *tiles,
                  bool *slots) {
    et_graph *g = t->p->g;
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    et_trial trial;
    et_trial_begin(&trial, g, t->p, t->opt);
    et_program *p = trial.p;
    int model = et_model_of(g, p->groups[group].name);
    if (parts > 1) cut(p, group, parts);
    et_tile_narrow(p);
    bool ok = et_tile_program(p, &trial.opt, NULL);
    if (ok) keep_model(p, model);
    *slots = ok && et_may_have_slots(t->opt) && et_stream_many_suits(p, t->opt->machine, model);
    et_sample_symbols(g->exprs, syms);
    for (int i = 0; ok && i < ET_SAMPLES; i++) {
        *tiles = et_grid_cost_at(p, &p->grids[group], t->opt->machine, syms[i]).tiles;
        us[i] = et_cost_at(p, t->opt->machine, syms[i], LOOP_TRIPS).us;
    }
    et_trial_end(&trial);
    return ok;
}

/* The parts that cost least; of a few rows no more than make as many tiles as there are CUs: that a
 * tile reads less of them does not pay by itself. Tiles may be wider then, as long as there are
 * more than of the whole. */
static int parts_of(const et_tiler *t, int group, int64_t k) {
    double whole[ET_SAMPLES], us[ET_SAMPLES], tiles, now, cus = t->opt->machine->cus;
    const et_product *of = &t->p->groups[group].product[0];
    bool few = upper(t->x, et_var_extent(t->x, of->m)) <= few_rows(t->opt);
    double gain = few ? least_gain : least_of_many, least = 1 - gain;
    int best = 1, most = few ? MOST_PARTS : MOST_OF_SLOTS;
    bool slots;
    if (!price(t, group, 1, whole, &tiles, &slots)) return 1;
    bool odd = k % LEAST_K;
    int64_t grain = odd ? STEP_K : LEAST_K / 2;
    for (int parts = 2; parts <= most && k / parts >= LEAST_K; parts += odd ? 1 : parts) {
        double sum = 0;
        if (k % (parts * grain) || (few && tiles > cus) ||
            !price(t, group, parts, us, &now, &slots) || (!few && parts > MOST_OF_MANY && !slots) ||
            (few && parts * tiles > cus && (now > cus || now <= tiles)))
            continue;
        for (int i = 0; i < ET_SAMPLES; i++)
            sum += us[i] / whole[i] / ET_SAMPLES;
        if (sum >= least) continue;
        least = sum - gain;
        best = parts;
    }
    return best;
}

/* Products are cut as the order of their sums says. */
static void follow(const et_tiler *t) {
    for (int i = 0; i < t->p->ngroups; i++) {
        const et_product_order *o = et_tile_sums_order(t, &t->p->groups[i], 0);
        int64_t k = o && o->k > 0 ? et_tile_sums_k(t, &t->p->groups[i]) : 0;
        if (k > (o ? o->k : k) && k % o->k == 0) cut(t->p, i, (int)(k / o->k));
    }
}

void et_tile_sums(const et_tiler *common) {
    et_program *p = common->p;
    int tried = 0;
    follow(common);
    if (common->opt->quick) return;
    for (int i = 0; i < p->ngroups && tried < MOST_TRIED; i++) {
        const et_group *gr = &p->groups[i];
        int64_t k;
        bool long_enough =
            gr->nproduct &&
            et_is_int(p->g->exprs, et_var_extent(p->g->exprs, gr->product[0].k), &k) &&
            k >= 2 * LEAST_K;
        if (!long_enough || et_tile_sums_order(common, gr, 0) || !et_tile_sums_k(common, gr))
            continue;
        tried++;
        int parts = parts_of(common, i, k);
        if (parts > 1) cut(p, i, parts);
    }
}
