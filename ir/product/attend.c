/* An attention's plan made a loop over positions: each decision is checked, and what follows from
 * it derived. */
#include "ir/product/attend.h"
#include <math.h>

static bool no(const char **out_why, const char *why) {
    *out_why = why;
    return false;
}

static int waves_of(const et_product_cx *g) {
    return g->p->workgroup / g->t->wave;
}

/* ---- what any plan has ---- */

/* A score that is the product times a constant costs nothing: the queries take the factor. */
static et_expr score_of(const et_product_cx *g, const et_step *s, double *out_factor) {
    const et_node_x *n = et_x(g->x, s->part[ET_AT_SCORE]);
    et_expr product = et_arg(g->x, ET_ARG_QK, ET_T_F32);
    *out_factor = M_LOG2E;
    if (et_expr_eq(s->part[ET_AT_SCORE], product)) return ET_NO_EXPR;
    for (int i = 0; n->op == ET_X_MUL && i < 2; i++) {
        const et_node_x *other = et_x(g->x, n->ops[!i]);
        if (!et_expr_eq(n->ops[i], product) || other->op != ET_X_FLOAT) continue;
        *out_factor *= other->f;
        return ET_NO_EXPR;
    }
    *out_factor = 1;
    return s->part[ET_AT_SCORE];
}

static bool masked_by_head(const et_product_cx *g, const et_step *s) {
    et_expr mask = s->part[ET_AT_MASK];
    return mask.id && !et_expr_eq(mask, et_subst_var(g->x, mask, s->hvar, et_int(g->x, 0)));
}

static bool begin_one(const et_product_cx *g, et_attend_loop *l, const char **out_why) {
    const et_step *s = l->s;
    const et_local *part = &g->f->locals[s->scratch];
    l->masked_by_head = masked_by_head(g, s);
    if (s->depth > ET_ATTEND_LANE_D * g->t->wave)
        return no(out_why, "heads have more elements than the lanes of a wave hold");
    return part->dim[0] >= waves_of(g) ||
           no(out_why, "its buffer has no room for what every wave leaves");
}

/* Which of the lane's rows value V of a sum is of. */
int et_attend_row_of(const et_layout *l, int v) {
    for (int j = 0; j < et_deal_values(&l->m); j++)
        if (et_deal_value(&l->m, j) == et_deal_value(&l->sum_m, v)) return j;
    return -1;
}

/* Are a lane's columns of a sum the k's that it has of an operand? */
static bool chains(const et_target *t, const et_layout *l) {
    int groups = et_layout_groups(l), columns = 16 / groups;
    bool ok = columns * groups == 16 && columns >= 2 && ET_ATTEND_EACH % columns == 0 &&
              et_deal_values(&l->m) <= ET_ATTEND_LANE_ROWS &&
              et_deal_values(&l->m) * columns == 256 / t->wave;
    for (int v = 0; ok && v < 256 / t->wave; v++)
        ok = et_attend_row_of(l, v) >= 0 && et_deal_value(&l->sum_n, v) < columns;
    for (int i = 0; ok && i < t->wave; i++)
        ok = et_deal_lane(&l->sum_m, i) == et_deal_lane(&l->m, i) &&
             et_deal_lane(&l->sum_n, i) == et_deal_lane(&l->k, i) * columns;
    return ok;
}

static bool fits_rows(const et_product_cx *g, et_attend_loop *l, const char **out_why) {
    const et_step *s = l->s;
    et_expr key[ET_ATTEND_KEYS];
    const et_local *out = &g->f->locals[s->out], *part = &g->f->locals[s->scratch];
    if (!et_attend_operand(g->p, s, &l->operand) ||
        et_attend_keys(g->x, s, ET_ATTEND_KEYS, key) < 0)
        return no(out_why,
                  "rows of queries share keys and values that are elements of tensors of 16 bits");
    if (s->depth % ET_ATTEND_ROWS_UNIT || s->depth > ET_ATTEND_ROWS_D || s->rows > g->t->wave ||
        s->rows > ET_ATTEND_ROWS || s->rows / 16 * s->heads > waves_of(g) || s->part[ET_AT_MASK].id)
        return no(out_why,
                  "rows of queries are at most 32, of heads of 32 to 256 elements, sixteen of a "
                  "head for each wave at most, and without a mask");
    bool whole = et_step_is_part(g->f, s) ? out->pitch % 4 == 0 : out->pitch == s->depth;
    if (part->pitch != part->dim[2] || !whole) return no(out_why, "its buffers have no padding");
    l->fr = et_target_fragment(g->t, l->operand);
    return (l->fr && chains(g->t, l->fr->layout) && ET_ATTEND_EACH % l->fr->lane_k == 0) ||
           no(out_why,
              "rows of queries need matrix instructions whose sums are dealt as operands are");
}

/* Loads of a work-item, where a block has so many. */
static int shared_out(const et_product_cx *g, int loads) {
    return (loads + g->p->workgroup - 1) / g->p->workgroup;
}

static bool begin_rows(const et_product_cx *g, et_attend_loop *l, const char **out_why) {
    const et_step *s = l->s;
    if (!fits_rows(g, l, out_why)) return false;
    int loads = ET_ATTEND_BLOCK * s->depth / ET_ATTEND_EACH;
    const et_layout *of = l->fr->layout;
    l->sums = of;
    l->groups = et_layout_groups(of);
    l->columns = 16 / l->groups;
    l->nrows = et_deal_values(&of->m);
    l->results = 256 / g->t->wave;
    l->unit = ET_ATTEND_EACH * l->groups;
    l->fragments = s->rows / 16 * s->heads;
    l->apart = s->depth > ET_ATTEND_WAVE_D;
    l->values = s->depth / (l->apart ? ET_ATTEND_APART : 1);
    l->value = 2 * ET_ATTEND_BLOCK + 64; /* of deep heads they are not so, but swizzled */
    l->key = (et_attend_slot(s->depth) - s->depth * l->value) / ET_ATTEND_BLOCK;
    l->nk = shared_out(g, loads);
    l->nv = shared_out(g, loads / 2);
    if (l->score.id) l->factor = M_LOG2E;
    if (!(l->factor > 1e-6 && l->factor < 3)) l->before = l->factor, l->factor = 1;
    return l->nk + 2 * l->nv <= 2 * ET_ATTEND_ITEMS ||
           no(out_why, "a workgroup has too few work-items to load a block of positions");
}

bool et_attend_begin(const et_product_cx *g, const et_step *s, et_attend_loop *l,
                     const char **out_why) {
    *l = (et_attend_loop){.s = s, .before = 1};
    l->score = score_of(g, s, &l->factor);
    if (s->rows && et_attend_has_columns(g, s)) {
        et_expr key[ET_ATTEND_KEYS];
        return (s->rows <= g->t->wave && !s->part[ET_AT_MASK].id &&
                et_attend_keys(g->x, s, ET_ATTEND_KEYS, key) >= 0) ||
               no(out_why, "rows whose heads are columns share keys and values, without a mask");
    }
    return s->rows ? begin_rows(g, l, out_why) : begin_one(g, l, out_why);
}

/* ---- several rows ---- */

/* Each of the waves has units of a block, and leaves its sums where the blocks were; of deep heads
 * elements of the values. */
bool et_attend_may_share(const et_product_cx *g, const et_attend_loop *l, int waves) {
    if (l->apart)
        return waves == ET_ATTEND_APART && l->values % ET_ATTEND_ROWS_UNIT == 0 &&
               et_attend_may_group(g, l, waves);
    int left = 2 * l->nrows + l->s->depth / 16 * l->results;
    int64_t bytes = (int64_t)left * g->t->wave * (int)sizeof(float) * waves_of(g);
    return waves >= 1 && !(waves & (waves - 1)) && waves * l->fragments <= waves_of(g) &&
           waves * l->unit <= ET_ATTEND_BLOCK &&
           (waves == 1 || bytes <= et_local_bytes(&g->f->locals[l->s->scratch]));
}

bool et_attend_may_group(const et_product_cx *g, const et_attend_loop *l, int waves) {
    const et_warpgroup_shape *of = g->t->warpgroup;
    int depth = l->s->depth, slot = et_attend_slot(depth);
    return of && g->t->copies && l->fragments % of->waves == 0 &&
           l->fragments * waves * g->t->wave == g->p->workgroup &&
           g->f->locals[l->s->scratch].offset % of->align == 0 && slot % of->align == 0 &&
           ET_ATTEND_BLOCK * ET_ATTEND_GROUP_ROW % of->align == 0 &&
           2 * ET_ATTEND_BLOCK * depth * 2 <= slot;
}

bool et_attend_may_alone(const et_product_cx *g, const et_step *s) {
    et_expr key[ET_ATTEND_KEYS];
    int64_t lo, hi, bytes = (int64_t)waves_of(g) * s->heads * (s->depth + 2) * 4;
    bool several = false;
    for (int i = et_attend_keys(g->x, s, ET_ATTEND_KEYS, key) - 1; i >= 0; i--)
        several |= !et_bounds(g->x, key[i], &lo, &hi) || lo < hi;
    return several && s->heads <= ET_ATTEND_HEADS && et_attend_may_columns(g, s) &&
           bytes <= et_local_bytes(&g->f->locals[s->scratch]);
}

bool et_attend_has_columns(const et_product_cx *g, const et_step *s) {
    const et_local *part = &g->f->locals[s->scratch];
    return s->rows && part->rank == 3 && part->dim[0] == waves_of(g) &&
           part->dim[1] == s->rows * s->heads && part->dim[2] == s->depth + 2;
}

static bool columns(const et_product_cx *g, et_attend_loop *l, const char **out_why) {
    enum { SHORT = 64 }; /* elements of heads of which registers hold two groups of rows */
    const et_attend_plan *w = &l->plan;
    if (w->by != ET_ATTEND_BY_COLUMNS)
        return no(out_why, "its buffers are those of heads that are columns");
    if (!et_attend_may_columns(g, l->s))
        return no(out_why, "heads cannot be columns of its matrix instructions");
    if (w->heads > l->s->heads || w->heads > ET_ATTEND_HEADS)
        return no(out_why, "so many heads are not columns at once");
    if (l->s->rows && w->heads < l->s->heads)
        return no(out_why, "of several rows all heads are columns at once");
    l->beside = ET_ATTEND_HEADS / l->s->heads;
    l->at_once = l->s->depth > SHORT ? 1 : 2;
    return (w->block.positions == ET_ATTEND_COLUMNS_P && w->block.depth == 2) ||
           no(out_why, "where heads are columns two blocks of 16 positions take turns");
}

static bool several(const et_product_cx *g, et_attend_loop *l, const char **out_why) {
    const et_attend_plan *w = &l->plan;
    if (et_attend_has_columns(g, l->s))
        return w->alone ? no(out_why, "its rows are done by themselves") : columns(g, l, out_why);
    l->warpgroup = w->by == ET_ATTEND_BY_WARPGROUP;
    if (!l->warpgroup && (w->by != ET_ATTEND_BY_ROWS || l->apart))
        return no(out_why, "it has several rows of queries, which are multiplied together");
    if (w->block.positions != ET_ATTEND_BLOCK || w->block.depth != 2)
        return no(out_why, "its buffer is for two blocks of 64 positions");
    if (!et_attend_may_share(g, l, w->waves))
        return no(out_why, "so many waves cannot share the positions of a block");
    if (l->warpgroup && !et_attend_may_group(g, l, w->waves))
        return no(out_why, "its rows and buffer are not those of warpgroup MMA");
    if (w->alone && !et_attend_may_alone(g, l->s))
        return no(out_why, "a row by itself cannot be done so, or there is none");
    if (l->warpgroup) l->sums = g->t->warpgroup->rows_m;
    l->partner = l->warpgroup ? l->fragments : 1;
    return true;
}

/* ---- one row ---- */

int et_attend_whole(const et_product_cx *g, const et_step *s, et_expr e, int lane_d) {
    et_node_x x = *et_x(g->x, e);
    if (x.op != ET_X_LOAD || x.i2 != ET_LOAD_TENSOR || s->depth % lane_d ||
        et_dtype_bits(g->p->tensors[x.i].shape.dtype) != 16)
        return 0;
    int u = et_var_add(g->x, "u", et_int(g->x, s->depth / lane_d));
    et_expr first = et_mul(g->x, et_var(g->x, u), et_int(g->x, lane_d));
    return et_access_align(g->p, g->f, x.i2, x.i, x.ops, s->dvar, first, ET_ATTEND_EACH);
}

static et_dtype type_of(const et_product_cx *g, et_expr load) {
    return g->p->tensors[et_x(g->x, load)->i].shape.dtype;
}

bool et_attend_may_columns(const et_product_cx *g, const et_step *s) {
    et_expr k = s->part[ET_AT_K], v = s->part[ET_AT_V];
    return g->t->columns8 && g->t->wave == 32 && s->depth % ET_ATTEND_COLUMNS_D == 0 &&
           s->depth <= ET_ATTEND_COLUMNS_MOST_D && !masked_by_head(g, s) &&
           et_attend_whole(g, s, k, ET_ATTEND_EACH) && et_attend_whole(g, s, v, ET_ATTEND_EACH) &&
           type_of(g, k) == type_of(g, v);
}

bool et_attend_may_double(const et_product_cx *g, const et_step *s, int positions, int lane_d) {
    return 2 * positions * lane_d / ET_ATTEND_EACH <= ET_ATTEND_LOADS &&
           et_attend_whole(g, s, s->part[ET_AT_K], lane_d) &&
           et_attend_whole(g, s, s->part[ET_AT_V], lane_d);
}

static bool block_suits(const et_product_cx *g, const et_attend_loop *l, const et_attend_block *b) {
    return b->positions >= 1 && b->positions <= ET_ATTEND_POSITIONS &&
           !(b->positions & (b->positions - 1)) &&
           (b->depth == 1 || et_attend_may_double(g, l->s, b->positions, l->plan.lane_d));
}

static bool lanes(const et_product_cx *g, et_attend_loop *l, const char **out_why) {
    const et_attend_plan *w = &l->plan;
    int each = w->lane_d, heads = l->s->heads;
    if (each < ET_ATTEND_EACH || each > ET_ATTEND_LANE_D || each & (each - 1) ||
        each * g->t->wave < l->s->depth)
        return no(out_why, "a head's elements cannot be dealt to lanes so");
    if (w->heads > heads || w->heads * each > ET_ATTEND_HEADS * ET_ATTEND_EACH)
        return no(out_why, "registers have no room for so many heads at once");
    if ((heads % w->heads != 0) != (w->rest.positions > 0))
        return no(out_why, "the rest is the last heads, where they are fewer than the others");
    if (!block_suits(g, l, &w->block) || (w->rest.positions && !block_suits(g, l, &w->rest)))
        return no(out_why, "registers have no room for such blocks, or keys and values are not "
                           "loaded as they lie in memory");
    l->lanes = 1;
    while (l->lanes * each < l->s->depth)
        l->lanes *= 2;
    l->per_wave = g->t->wave / l->lanes;
    return true;
}

static bool one(const et_product_cx *g, et_attend_loop *l, const char **out_why) {
    if (l->plan.alone) return no(out_why, "it has one row of queries");
    if (l->plan.by == ET_ATTEND_BY_LANES) return lanes(g, l, out_why);
    if (l->plan.by == ET_ATTEND_BY_COLUMNS) return columns(g, l, out_why);
    return no(out_why, "it has one row of queries");
}

/* ---- before the waits of a tile ---- */

bool et_attend_is_index(const et_product_cx *g, const et_step *s, et_expr load) {
    const et_node_x *n = et_x(g->x, load);
    et_step_var v[ET_STEP_VARS];
    if (n->op != ET_X_LOAD || n->type != ET_T_I32 || et_reads_stored(g->x, load, g->stored) ||
        !et_load_inside(g->p, load, ET_NO_EXPR))
        return false;
    for (int i = 0, count = et_step_vars(g->x, s, v); i < count; i++)
        if (et_expr_has_var(g->x, load, v[i].var)) return false;
    return true;
}

struct indices {
    const et_product_cx *g;
    const et_step *s;
};

static bool is_index(const void *ctx, et_expr e) {
    const struct indices *i = ctx;
    return et_attend_is_index(i->g, i->s, e);
}

static bool has_indices(const et_product_cx *g, const et_step *s) {
    for (int k = 0; k < ET_AT_PARTS; k++)
        if (et_expr_any(g->x, s->part[k], is_index, &(struct indices){g, s})) return true;
    return false;
}

static bool is_prefetched(const et_product_cx *g, const et_step *s, et_expr e) {
    const et_node_x *n = et_x(g->x, e);
    bool ok = n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR &&
              et_dtype_bits(g->p->tensors[n->i].shape.dtype) >= 8 &&
              et_expr_eq(n->ops[n->nops - 1], et_var(g->x, s->dvar));
    for (int d = 0; ok && d < n->nops; d++)
        ok = !et_reads_stored(g->x, n->ops[d], g->stored);
    return ok;
}

/* The positions that the step has are decided by what nobody writes. */
static bool positions_known(const et_product_cx *g, const et_step *s) {
    return !et_reads_stored(g->x, s->part[ET_AT_FIRST], g->stored) &&
           !et_reads_stored(g->x, s->part[ET_AT_END], g->stored);
}

static bool may_prefetch(const et_product_cx *g, const et_step *s) {
    return g->t->prefetches && !s->rows && positions_known(g, s) &&
           is_prefetched(g, s, s->part[ET_AT_K]) && is_prefetched(g, s, s->part[ET_AT_V]);
}

/* One step of a tile may, for its registers are held until then. */
static bool may_know_run(const et_product_cx *g, const et_step *s) {
    et_expr key[ET_ATTEND_KEYS];
    bool ok = s->rows && !et_attend_has_columns(g, s) && positions_known(g, s) &&
              !et_reads_stored(g->x, s->ilive, g->stored);
    for (int i = 0; i < g->f->nsteps && &g->f->steps[i] != s; i++)
        ok &= !(g->f->steps[i].kind == ET_STEP_ATTEND && g->f->steps[i].rows);
    for (int i = ok ? et_attend_keys(g->x, s, ET_ATTEND_KEYS, key) - 1 : -1; i >= 0; i--)
        ok &= !et_reads_stored(g->x, key[i], g->stored);
    return ok;
}

bool et_attend_may_early(const et_product_cx *g, const et_step *s, et_attend_early_as how) {
    switch (how) {
    case ET_ATTEND_EARLY_NONE:
        return true;
    case ET_ATTEND_EARLY_INDICES:
        return has_indices(g, s);
    case ET_ATTEND_EARLY_PREFETCH:
        return may_prefetch(g, s);
    case ET_ATTEND_EARLY_RUN:
        return may_know_run(g, s);
    }
    return false;
}

/* ---- all of it ---- */

bool et_attend_loop_of(const et_product_cx *g, const et_step *s, et_attend_loop *l,
                       const char **out_why) {
    *out_why = NULL;
    if (!et_attend_begin(g, s, l, out_why)) return false;
    l->plan = s->attend;
    if (!l->plan.made) return no(out_why, "its attention has no plan");
    if (!(s->rows ? several(g, l, out_why) : one(g, l, out_why))) return false;
    return et_attend_may_early(g, s, l->plan.early) ||
           no(out_why, "what it reads is not known so far before a tile's waits");
}
