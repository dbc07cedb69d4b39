/* Attention split by positions, for launches with fewer tiles than CUs: every part stores its sums,
 * its largest score and its sum of weights, and readers of the result join the parts, in their
 * order. */
#include "ir/program/step.h"
#include "passes/cost/cost.h"
#include "passes/tile/tiler.h"
#include <math.h>
#include <string.h>

enum {
    MOST_PARTS = 16,
    LEAST = 64,       /* positions of a part */
    LEAST_DIES = 256, /* where its events go across dies */
    FEW_ROWS = 16,    /* of queries: what reads the result has them all in a tile, */
    JOINED_ROWS = 8,  /* and joins so many in each of its tiles, where parts are those of another
                         variant */
    MOST_HEADS = 8,
    EACH = 8,     /* elements of a head in a lane */
    AT_ONCE = 4,  /* positions of a lane */
    READ = 2,     /* times as long as bytes alone take, what is joined takes to be read */
    HEAD_TOP = 0, /* behind the elements of a head: the largest score */
    HEAD_SUM = 1, /* and the sum of weights */
};

static int64_t upper(const et_exprs *x, et_expr e) {
    int64_t lo, hi;
    return et_bounds(x, e, &lo, &hi) ? hi : INT32_MAX;
}

int64_t et_assumed_context(const et_program *p, const et_group *gr) {
    int64_t all = upper(p->g->exprs, et_var_extent(p->g->exprs, gr->pvar));
    int64_t half = all / 2 > ET_GUESSED_CONTEXT ? all / 2 : ET_GUESSED_CONTEXT;
    return half < all ? half : all;
}

/* ---- what may be cut ---- */

static int64_t depth_of(const et_exprs *x, const et_group *gr) {
    int64_t n;
    return et_is_int(x, et_var_extent(x, gr->axis[2]), &n) ? n : 0;
}

bool et_tile_alone_writes(const et_program *p, const et_group *gr) {
    int writers = 0;
    for (int i = 0; i < p->ngroups; i++)
        writers += p->groups[i].to.space == ET_LOAD_TENSOR && p->groups[i].to.id == gr->to.id;
    return writers == 1;
}

/* A temporary of this group's alone, element by element of its heads. */
static bool may_be_cut(const et_program *p, const et_group *gr) {
    const et_exprs *x = p->g->exprs;
    if (gr->kind != ET_GROUP_ATTEND || gr->mask.id || gr->slice.count || gr->parts ||
        gr->to.space != ET_LOAD_TENSOR)
        return false;
    const et_tensor *t = &p->tensors[gr->to.id];
    int last = t->shape.rank - 1;
    int64_t n, depth = depth_of(x, gr);
    if (t->kind != ET_TENSOR_TEMP || t->shape.dtype != ET_F32 || t->carried ||
        t->shape.rank == ET_MAX_RANK || !depth || !et_is_int(x, t->shape.dim[last], &n) ||
        n != depth || !et_expr_eq(gr->to.index[last], et_var((et_exprs *)x, gr->axis[2])))
        return false;
    return et_tile_alone_writes(p, gr);
}

/* ---- what it costs ---- */

/* The time of an attention and of its readers' loads of the result, at a sample. A tile loads
 * blocks of positions, waits for each, and computes its heads one after the other. */
static double us_at(const et_tiler *t, const et_group *gr, int heads, int parts,
                    const int64_t *syms) {
    const et_machine *m = t->opt->machine;
    double rows = (double)et_eval(t->x, et_var_extent(t->x, gr->axis[0]), syms, NULL);
    double depth = (double)depth_of(t->x, gr);
    double all = (double)upper(t->x, et_var_extent(t->x, gr->axis[1]));
    double tiles = rows * all / heads * parts, rounds = ceil(tiles / m->cus);
    double block = m->waves * ceil(m->wave_size * EACH / depth) * AT_ONCE;
    double blocks = (double)et_assumed_context(t->p, gr) / parts / block;
    blocks = blocks > 1 ? blocks : 1;
    double tile = (blocks * (2 + heads) + ET_DEPENDENT_LOADS) * m->latency_us;
    double read = rows * all * depth * 4 * parts; /* by every tile of a reader */
    return rounds * tile + read / (m->cache_gbs_cu * 1e3 / READ);
}

/* Relative to how it is, over the samples. */
static double cost(const et_tiler *t, const et_group *gr, int heads, int parts) {
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS];
    double sum = 0;
    int now = et_tile_attend_heads(t, gr);
    et_sample_symbols(t->x, syms);
    for (int i = 0; i < ET_SAMPLES; i++)
        sum += us_at(t, gr, heads, parts, syms[i]) / us_at(t, gr, now, 1, syms[i]);
    return sum / ET_SAMPLES;
}

/* The heads of a tile and the parts that cost least; all positions stay together unless that is
 * clearly worse. */
static void choose(const et_tiler *t, et_group *gr) {
    double least = 0.95;
    int64_t context = et_assumed_context(t->p, gr), depth = depth_of(t->x, gr);
    const et_machine *m = t->opt->machine;
    int shortest = m->dies > 1 ? LEAST_DIES : LEAST;
    for (int heads = 1; heads <= gr->shared && heads <= MOST_HEADS; heads++)
        for (int parts = 2; parts <= MOST_PARTS && parts * shortest <= context; parts *= 2) {
            double c = cost(t, gr, heads, parts);
            if (gr->shared % heads || heads * (depth + 2) * 4 * m->waves > m->lds_bytes / 2 ||
                c >= least)
                continue;
            least = c;
            gr->heads = heads, gr->parts = parts;
        }
}

/* ---- of rows that share tiles ----
 *
 * A launch takes as long as one of its tiles, which goes through all positions, however few they
 * are. What is joined is by a task of its own. */

struct shared {
    int rows;      /* of a tile */
    int64_t tiles; /* of so many rows */
};

static double us_shared(const et_tiler *t, const et_group *gr, const struct shared *of, int parts,
                        int64_t context, const int64_t *syms) {
    const et_machine *m = t->opt->machine;
    const int waits = 4; /* a block of positions is loaded, multiplied, weighed, multiplied again */
    double rows = (double)et_eval(t->x, et_var_extent(t->x, gr->axis[0]), syms, NULL);
    double all = (double)upper(t->x, et_var_extent(t->x, gr->axis[1]));
    double tiles = ceil(rows / of->rows) * (double)of->tiles;
    double each = fmax((double)context / parts, ET_PART_ROWS), used = ceil((double)context / each);
    double blocks = ceil(fmin(each, (double)context) / ET_ATTEND_BLOCK);
    double us = ceil(tiles * used / m->cus) * blocks * waits * m->latency_us;
    us += ceil(tiles * parts / m->cus) * ET_DEPENDENT_LOADS * m->latency_us;
    double bytes = rows * all * (double)depth_of(t->x, gr) * 4 * parts; /* stored and read */
    double joined = READ * bytes / (m->cache_gbs_cu * m->cus * 1e3) + m->event_us;
    return parts > 1 ? us + joined : us;
}

/* For half of the positions that there may be, and for few. */
static void choose_shared(const et_tiler *t, et_group *gr) {
    const double clearly = 0.95;
    int64_t syms[ET_SAMPLES][ET_MAX_SYMS], context[] = {et_assumed_context(t->p, gr), ET_PART_ROWS};
    struct shared of;
    of.tiles = et_tile_attend_tiles(t, gr, &of.rows);
    if (!of.tiles || t->opt->same_sums) return;
    et_sample_symbols(t->x, syms);
    double least = 0;
    for (int parts = 1; parts <= MOST_PARTS; parts *= 2) {
        double us = 0;
        for (int i = 0; i < ET_SAMPLES * 2; i++)
            us += us_shared(t, gr, &of, parts, context[i % 2], syms[i / 2]);
        if (parts > 1 && us >= clearly * least) continue;
        least = us;
        gr->parts = parts > 1 ? parts : 0;
    }
}

/* ---- its readers ---- */

struct joining {
    int tensor, parts;
    int64_t depth;
};

/* Element AT of part number S of the head that OPS name. */
static et_expr of_part(et_exprs *x, const struct joining *j, const et_node_x *n, int s,
                       et_expr at) {
    et_expr index[ET_MAX_RANK];
    memcpy(index, n->ops, (size_t)(n->nops - 1) * sizeof *index);
    index[n->nops - 1] = et_int(x, s);
    index[n->nops] = at;
    return et_load(x, ET_LOAD_TENSOR, j->tensor, ET_T_F32, n->nops + 1, index);
}

static et_expr join(void *ctx, et_exprs *x, et_expr leaf) {
    const struct joining *j = ctx;
    const et_node_x n = *et_x(x, leaf);
    if (n.op != ET_X_LOAD || n.i2 != ET_LOAD_TENSOR || n.i != j->tensor) return ET_NO_EXPR;
    et_expr top = ET_NO_EXPR, sum = ET_NO_EXPR, out = ET_NO_EXPR, weight[MOST_PARTS];
    for (int s = 0; s < j->parts; s++) {
        et_expr one = of_part(x, j, &n, s, et_int(x, j->depth + HEAD_TOP));
        top = top.id ? et_op2(x, ET_X_MAX, top, one) : one;
    }
    for (int s = 0; s < j->parts; s++) {
        et_expr below = et_sub(x, of_part(x, j, &n, s, et_int(x, j->depth + HEAD_TOP)), top);
        weight[s] = et_op1(x, ET_X_EXP, et_mul(x, below, et_float(x, M_LN2)));
        et_expr own = of_part(x, j, &n, s, et_int(x, j->depth + HEAD_SUM));
        own = et_mul(x, weight[s], own);
        sum = s ? et_add(x, sum, own) : own;
    }
    /* At least 1, or there is no position and nothing to divide; a choice between both would keep
     * the loads from being wide. */
    sum = et_op2(x, ET_X_MAX, sum, et_float(x, 0.5));
    for (int s = 0; s < j->parts; s++) {
        et_expr share = et_op2(x, ET_X_DIV, weight[s], sum);
        et_expr own = et_mul(x, share, of_part(x, j, &n, s, n.ops[n.nops - 1]));
        out = s ? et_add(x, out, own) : own;
    }
    return out;
}

/* ---- of many rows ----
 *
 * Each of their readers' tiles would join all of them again: a task of its own does so once. */

struct instead {
    int tensor, by;
};

static et_expr read_instead(void *ctx, et_exprs *x, et_expr leaf) {
    const struct instead *r = ctx;
    const et_node_x n = *et_x(x, leaf);
    if (n.op != ET_X_LOAD || n.i2 != ET_LOAD_TENSOR || n.i != r->tensor) return ET_NO_EXPR;
    return et_load(x, ET_LOAD_TENSOR, r->by, ET_T_F32, n.nops, n.ops);
}

/* Behind the attention GROUP: a group that copies its result, which others read from there. */
static void add_copy(et_program *p, int group) {
    et_exprs *x = p->g->exprs;
    et_arena *arena = p->g->arena;
    struct instead r = {p->groups[group].to.id, p->ntensors};
    for (int i = 0; i < p->ngroups; i++) {
        et_expr *e[ET_GROUP_EXPRS];
        for (int k = 0, n = et_group_exprs(&p->groups[i], e); k < n; k++)
            if (e[k]->id) *e[k] = et_subst(x, *e[k], read_instead, &r);
    }
    ET_GROW(arena, p->tensors, p->ntensors, p->ctensors);
    et_tensor *t = &p->tensors[p->ntensors++];
    *t = p->tensors[r.tensor];
    t->name = et_printf(arena, "%s.joined", t->name);
    t->value = (et_value){0};
    ET_GROW(arena, p->groups, p->ngroups, p->cgroups);
    memmove(p->groups + group + 1, p->groups + group,
            (size_t)(p->ngroups++ - group) * sizeof *p->groups);
    const et_group *of = &p->groups[group];
    et_group *gr = &p->groups[group + 1];
    *gr = (et_group){.kind = ET_GROUP_STORE, .loc = of->loc, .loop = of->loop, .rank = 3};
    gr->name = et_printf(arena, "%s.joined", of->name);
    memcpy(gr->axis, of->axis, sizeof gr->axis);
    gr->to = of->to;
    gr->to.id = r.by;
    gr->value = et_load(x, ET_LOAD_TENSOR, r.tensor, ET_T_F32, of->to.rank, of->to.index);
    int at = 0;
    while (p->items[at].kind != ET_P_GRID || p->items[at].index != group)
        at++;
    et_program_insert_group(p, at);
}

static void cut(et_program *p, const et_group *gr) {
    et_exprs *x = p->g->exprs;
    struct joining j = {gr->to.id, gr->parts, depth_of(x, gr)};
    et_shape *s = &p->tensors[gr->to.id].shape;
    for (int i = 0; i < p->ngroups; i++) {
        et_expr *e[ET_GROUP_EXPRS];
        for (int k = 0, n = et_group_exprs(&p->groups[i], e); k < n; k++)
            if (e[k]->id) *e[k] = et_subst(x, *e[k], join, &j);
    }
    int last = s->rank++; /* rows of whole vectors */
    s->dim[last] = et_int(x, (j.depth + 2 + 3) / 4 * 4);
    s->dim[last - 1] = et_int(x, gr->parts);
    p->tensors[gr->to.id].max_bytes = et_shape_max_bytes(x, s);
}

void et_tile_parts(const et_tiler *common) {
    et_program *p = common->p;
    for (int i = 0; i < p->ngroups; i++) {
        et_group *gr = &p->groups[i];
        if (!may_be_cut(p, gr)) continue;
        const et_attend_order *order = et_orders_attend(common->opt->orders, gr->name);
        int64_t rows = upper(p->g->exprs, et_var_extent(p->g->exprs, gr->axis[0]));
        if (order && order->parts > 1) { /* heads are columns of their own, whatever is beside */
            bool lanes = order->plan.by == ET_ATTEND_BY_LANES;
            gr->heads = lanes ? order->heads : 0, gr->parts = order->parts;
        }
        if (!order && rows <= FEW_ROWS) choose(common, gr);
        if (!order && rows > FEW_ROWS) choose_shared(common, gr);
        if (gr->parts <= 1) continue;
        if (rows > (order ? JOINED_ROWS : FEW_ROWS)) add_copy(p, i);
        cut(p, &p->groups[i]);
    }
}
