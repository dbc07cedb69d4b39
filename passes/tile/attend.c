/* Attention: one tile per query and set of heads that share keys and values, or part of its
 * positions. */
#include "ir/product/attend.h"
#include "ir/program/step.h"
#include "passes/tile/tiler.h"
#include <string.h>

enum {
    MAX_HEADS = 8,
    LANE_DEPTH = 32,  /* elements of a head in one lane, at most */
    MOST_ROWS = 32,   /* of queries in a tile */
    MOST_BESIDE = 16, /* and whose heads are columns, each with its sums in local memory: */
    BESIDE_BYTES = 144 << 10,
    MANY_ROUNDS = 3, /* of tiles of a row, from which on rows share theirs */
    SHORT = 8192, /* positions that there may be, up to which texts beside a prompt wait less where
                     tiles have few rows; of more each tile's way through them is what takes long */
    LARGE_LDS = 1 << 17 /* for a tile of rows, beside what other tasks' loads need */
};

static bool constant(const et_tiler *t, et_expr e, const char *what, int *out) {
    int64_t n;
    if (!et_is_int(t->x, e, &n) || n > 1 << 20) {
        et_diag(t->p->g->diags, ET_ERROR, t->gr->loc,
                "attention: the number of %s must be a constant", what);
        return false;
    }
    *out = (int)n;
    return true;
}

/* The group's variables in terms of the tile's. */
struct names {
    int n, var[5];
    et_expr by[5];
};

static et_expr rename_var(void *ctx, et_exprs *x, et_expr leaf) {
    struct names *s = ctx;
    const et_node_x *n = et_x(x, leaf);
    for (int i = 0; n->op == ET_X_VAR && i < s->n; i++)
        if (n->i == s->var[i]) return s->by[i];
    return ET_NO_EXPR;
}

/* The heads of a tile share its loads, and are computed one after the other. So all heads that
 * share keys and values are in a tile, unless the largest launch has CUs for more tiles: then as
 * few as these allow. */
int et_tile_attend_heads(const et_tiler *t, const et_group *gr) {
    const et_machine *m = t->opt->machine;
    int shared = gr->shared, per = shared < MAX_HEADS ? shared : MAX_HEADS;
    int64_t lo, most, tiles, heads = 1, depth = 1;
    et_is_int(t->x, et_var_extent(t->x, gr->axis[1]), &heads);
    et_is_int(t->x, et_var_extent(t->x, gr->axis[2]), &depth);
    int64_t bytes = (depth + 2) * 4 * m->waves;
    const et_attend_order *order = et_orders_attend(t->opt->orders, gr->name);
    if (order && order->plan.by == ET_ATTEND_BY_LANES) return order->heads;
    while (shared % per || (per > 1 && bytes * per > m->lds_bytes / 2))
        per--;
    if (!et_bounds(t->x, et_var_extent(t->x, gr->axis[0]), &lo, &most) || most > m->cus) return per;
    for (int few = 1; few < per; few++) {
        tiles = most * (heads / few) * (gr->parts > 1 ? gr->parts : 1);
        if (shared % few == 0 && tiles <= m->cus) return few;
    }
    return per;
}

/* The part of the group for tile S of its parts: as many positions each, or as many less one; where
 * variants have the same order, whole blocks of all waves, so that those of rows with other
 * positions are the same. Where rows share tiles, as few whole blocks as there are for a row, since
 * most rows of long caches are short: then the other parts have nothing to do. The first part has
 * the term that is no position's. */
static void cut_positions(et_tiler *t, et_step *s, et_expr part) {
    et_exprs *x = t->x;
    et_expr *of = s->part, first = of[ET_AT_FIRST], end = of[ET_AT_END], zero = et_int(x, 0);
    et_expr all = et_op2(x, ET_X_MAX, zero, et_sub(x, end, first));
    et_expr each = et_ceil_div(x, all, et_int(x, t->gr->parts));
    if (t->opt->same_sums) {
        et_expr block = et_int(x, (int64_t)ET_ATTEND_COLUMNS_P * t->opt->machine->waves);
        each = et_mul(x, et_ceil_div(x, each, block), block);
    } else if (s->rows) {
        et_expr block = et_int(x, ET_ATTEND_BLOCK);
        each = et_op2(x, ET_X_MAX, each, et_int(x, ET_PART_ROWS));
        each = et_mul(x, et_ceil_div(x, each, block), block);
    }
    of[ET_AT_FIRST] = et_add(x, first, et_mul(x, part, each));
    of[ET_AT_END] = et_op2(x, ET_X_MIN, end, et_add(x, of[ET_AT_FIRST], each));
    if (of[ET_AT_EXTRA].id)
        of[ET_AT_EXTRA] = et_select(x, et_op2(x, ET_X_EQ, part, zero), of[ET_AT_EXTRA],
                                    et_float(x, -ET_NO_SCORE));
}

/* The tile's heads and their elements stored. PART: in front of the last index, where there are
 * parts; then what it is joined by comes behind the elements. */
static void store(et_tiler *t, const struct names *names, const et_step *s, et_expr part) {
    et_exprs *x = t->x;
    const et_place *to = &t->gr->to;
    const et_local *local = &t->f.locals[s->out];
    int hvar = s->hvar, out = s->out, wide = local->dim[local->rank - 1];
    int dvar = part.id ? et_graph_var(t->p->g, "e", et_int(x, wide)) : s->dvar;
    struct names by = *names;
    by.by[2] = et_var(x, dvar);
    bool many = s->heads > 1;
    et_step *m = et_tiler_step(t, ET_STEP_MAP);
    m->nvars = 0;
    et_expr at[] = {et_var(x, hvar), by.by[2], et_int(x, 0)};
    if (s->rows) {
        et_expr row = et_var(x, s->ivar[0]), in = et_op2(x, ET_X_LT, row, s->ilive);
        m->vars[m->nvars++] = s->ivar[0];
        if (et_x(x, in)->op != ET_X_INT) m->mask = in;
        memmove(at + 1, at, 2 * sizeof *at);
        at[0] = row;
    }
    if (many) m->vars[m->nvars++] = hvar;
    m->vars[m->nvars++] = dvar;
    m->value = et_load(x, ET_LOAD_LOCAL, out, ET_T_F32, s->rows ? 3 : 2, at);
    m->to = *to;
    for (int k = 0; k < to->rank; k++)
        m->to.index[k] = et_subst(x, to->index[k], rename_var, &by);
    if (!part.id) return;
    m->to.index[to->rank] = m->to.index[to->rank - 1];
    m->to.index[to->rank - 1] = part;
    m->to.rank++;
}

/* Waves that share the rows of a head of DEPTH elements: of a deep one each has sums of some, by
 * warpgroup MMA, which must be of all waves then. 0: it is too deep, or there is no such MMA. */
static int waves_of_rows(const et_tiler *t, int depth) {
    const et_machine *m = t->opt->machine;
    if (depth % ET_ATTEND_ROWS_UNIT) return 0;
    if (depth <= ET_ATTEND_WAVE_D) return 1;
    return depth <= ET_ATTEND_ROWS_D && depth % (ET_ATTEND_APART * ET_ATTEND_ROWS_UNIT) == 0 &&
                   m->group_waves && m->local_copies && m->waves == ET_ATTEND_APART * m->group_waves
               ? ET_ATTEND_APART
               : 0;
}

/* How many rows of queries are a tile, of PER heads each, so that every wave has sixteen rows of a
 * head, or each two have, where there are CUs for such tiles; 0: one row, by itself. Launches that
 * may have a sequence for each row do best with that, and those of few tiles. */
static int rows_of(const et_tiler *t, const et_group *gr, int depth, int *out_per) {
    const et_machine *m = t->opt->machine;
    int64_t lo, hi, positions = INT64_MAX, heads = 1;
    int share = waves_of_rows(t, depth), per = gr->shared;
    while (gr->shared % per || per > MAX_HEADS || per * (share ? share : 1) > m->waves)
        per--;
    *out_per = per;
    et_is_int(t->x, et_tiler_extent(t, 1), &heads);
    if (t->opt->same_sums || gr->heads || gr->part[ET_AT_MASK].id || gr->slice.count || !share ||
        m->lds_bytes < LARGE_LDS || m->wave_size < MOST_ROWS ||
        !et_bounds(t->x, et_tiler_extent(t, 0), &lo, &hi) ||
        hi * (heads / gr->shared) < (int64_t)MANY_ROUNDS * m->cus)
        return 0;
    int64_t rows = m->waves / share / per * 16, tiles = (hi + 15) / 16 * (heads / gr->shared);
    if (share > 1) return rows * per == 16 * m->group_waves && rows <= MOST_ROWS ? (int)rows : 0;
    if (rows > MOST_ROWS) rows = MOST_ROWS;
    et_bounds(t->x, et_var_extent(t->x, gr->pvar), &lo, &positions);
    return tiles <= m->cus && positions <= SHORT ? 16 : (int)rows;
}

/* The same in the order of a variant in which heads are columns, so that more columns are other
 * rows: these have the same blocks of positions then, whatever each has of them. */
static int rows_beside(const et_tiler *t, const et_group *gr, int depth, int per) {
    const et_machine *m = t->opt->machine;
    const et_attend_order *order = et_orders_attend(t->opt->orders, gr->name);
    int64_t lo, hi, first, heads = 1, parts = gr->parts > 1 ? gr->parts : 1;
    et_is_int(t->x, et_tiler_extent(t, 1), &heads);
    if (!order || order->plan.by != ET_ATTEND_BY_COLUMNS || gr->part[ET_AT_MASK].id ||
        gr->slice.count || !et_is_int(t->x, gr->part[ET_AT_FIRST], &first) ||
        !et_bounds(t->x, et_tiler_extent(t, 0), &lo, &hi))
        return 0;
    int64_t tiles = heads / per * parts, each = (int64_t)m->waves * per * (depth + 2) * 4;
    int rows = MOST_BESIDE;
    while (rows > 1 && (rows * each > BESIDE_BYTES || (hi + rows - 1) / rows * tiles < m->cus))
        rows /= 2;
    return hi * tiles < (int64_t)MANY_ROUNDS * m->cus || rows < 2 ? 0 : rows;
}

/* Sets S and its buffers up for rows; false where they do not share what they read, or might be
 * rows of as many sequences. */
static bool share_rows(et_tiler *t, et_step *s) {
    et_exprs *x = t->x;
    et_expr key[ET_ATTEND_KEYS];
    et_dtype operand;
    int64_t lo, hi, from, to, sequences = 1;
    int n = et_attend_keys(x, s, ET_ATTEND_KEYS, key);
    et_bounds(x, et_tiler_extent(t, 0), &lo, &hi);
    for (int i = 0; i < n; i++) {
        bool known = et_bounds(x, key[i], &from, &to);
        sequences = known && to - from < lo ? sequences * (to - from + 1) : lo;
        if (sequences >= lo) return false;
    }
    return n >= 0 && et_attend_operand(t->p, s, &operand);
}

static void add_buffers(et_tiler *t, et_step *s) {
    int heads = s->heads, depth = s->depth, waves = t->opt->machine->waves;
    int wide = t->gr->parts > 1 ? depth + 2 : depth;
    if (s->rows && t->opt->same_sums) {
        s->out = et_local_add(t->p, &t->f, "out", ET_F32, 3, (int[]){s->rows, heads, wide}, wide);
        s->scratch = et_local_add(t->p, &t->f, "part", ET_F32, 3,
                                  (int[]){waves, s->rows * heads, depth + 2}, depth + 2);
        return;
    }
    if (s->rows) {
        int words = et_attend_slot(depth) / 4 / ET_ATTEND_BLOCK, pitch = (wide + 3) / 4 * 4;
        s->out = et_local_add(t->p, &t->f, "out", ET_F32, 3, (int[]){s->rows, heads, wide}, pitch);
        s->scratch =
            et_local_add(t->p, &t->f, "part", ET_F32, 3, (int[]){2, ET_ATTEND_BLOCK, words}, words);
        return;
    }
    s->out = et_local_add(t->p, &t->f, "out", ET_F32, 2, (int[]){heads, wide}, wide);
    s->scratch =
        et_local_add(t->p, &t->f, "part", ET_F32, 3, (int[]){waves, heads, depth + 2}, depth + 2);
}

/* The tile's coordinates and variables, and the parts over them. */
static et_expr lay_out(et_tiler *t, et_step *s, struct names *names) {
    const et_group *gr = t->gr;
    et_exprs *x = t->x;
    int shared = gr->shared, per = s->heads;
    int64_t heads = 1;
    et_expr extent = et_tiler_extent(t, 0), size = et_int(x, s->rows ? s->rows : 1), i;
    et_is_int(x, et_tiler_extent(t, 1), &heads);
    i = et_tiler_coord(t, "i0", s->rows ? et_ceil_div(x, extent, size) : extent);
    if (s->rows) {
        i = et_mul(x, i, size);
        s->ivar[0] = et_graph_var(t->p->g, "i", size);
        s->ilive = et_op2(x, ET_X_MIN, size, et_sub(x, extent, i));
        i = et_add(x, i, et_var(x, s->ivar[0]));
    }
    if (gr->slice.count && gr->slice.coord == 1 && !(heads / shared % gr->slice.count))
        et_tiler_slice(t);
    et_expr g = et_tiler_coord(t, "g0", et_int(x, heads / shared));
    et_expr c = et_tiler_coord(t, "h0", et_int(x, shared / per));
    et_expr part = gr->parts > 1 ? et_tiler_coord(t, "s0", et_int(x, gr->parts)) : ET_NO_EXPR;
    et_expr first = et_add(x, et_mul(x, g, et_int(x, shared)), et_mul(x, c, et_int(x, per)));
    s->hvar = et_graph_var(t->p->g, "h", et_int(x, per));
    s->dvar = et_graph_var(t->p->g, "d", et_int(x, s->depth));
    s->pvar = gr->pvar;
    et_expr h = et_add(x, first, et_var(x, s->hvar)), d = et_var(x, s->dvar);
    *names = (struct names){4, {gr->axis[0], gr->axis[1], gr->axis[2], gr->gvar}, {i, h, d, g}};
    for (int k = 0; k < ET_AT_PARTS; k++)
        s->part[k] = gr->part[k].id ? et_subst(x, gr->part[k], rename_var, names) : ET_NO_EXPR;
    return part;
}

int64_t et_tile_attend_tiles(const et_tiler *common, const et_group *gr, int *out_rows) {
    et_tiler t = et_tiler_begin(common, gr);
    struct names names;
    et_step s = et_step_make(ET_STEP_ATTEND);
    int64_t depth = 0, heads = 0, positions = 0;
    et_is_int(t.x, et_tiler_extent(&t, 1), &heads);
    et_is_int(t.x, et_tiler_extent(&t, 2), &depth);
    et_bounds(t.x, et_var_extent(t.x, gr->pvar), &(int64_t){0}, &positions);
    s.depth = (int)depth;
    bool deep = waves_of_rows(&t, s.depth) != 1; /* not measured in parts */
    s.rows = positions > SHORT && !deep ? rows_of(&t, gr, s.depth, &s.heads) : 0;
    if (!s.rows) return 0;
    s.nivar = 1;
    lay_out(&t, &s, &names);
    *out_rows = s.rows;
    return share_rows(&t, &s) ? heads / s.heads : 0;
}

bool et_tile_attend(const et_tiler *common, const et_group *gr) {
    et_tiler t = et_tiler_begin(common, gr);
    struct names names;
    et_step s = et_step_make(ET_STEP_ATTEND);
    int heads, per;
    if (!constant(&t, et_tiler_extent(&t, 1), "heads", &heads) ||
        !constant(&t, et_tiler_extent(&t, 2), "elements of a head", &s.depth))
        return false;
    int most = LANE_DEPTH * t.opt->machine->wave_size;
    if (s.depth > most) {
        et_diag(t.p->g->diags, ET_ERROR, gr->loc,
                "attention: heads of %d elements, at most %d are supported", s.depth, most);
        return false;
    }
    s.rows = rows_of(&t, gr, s.depth, &per);
    if (!s.rows) s.rows = rows_beside(&t, gr, s.depth, per);
    s.nivar = s.rows > 0;
    s.heads = s.rows ? per : gr->heads ? gr->heads : et_tile_attend_heads(&t, gr);
    et_expr part = lay_out(&t, &s, &names);
    if (s.rows && !share_rows(&t, &s)) {
        t = et_tiler_begin(common, gr);
        s.rows = s.nivar = 0;
        s.ilive = ET_NO_EXPR;
        s.heads = gr->heads ? gr->heads : et_tile_attend_heads(&t, gr);
        part = lay_out(&t, &s, &names);
    }
    add_buffers(&t, &s);
    if (part.id) cut_positions(&t, &s, part);
    *et_tiler_step(&t, ET_STEP_ATTEND) = s;
    store(&t, &names, &s, part);
    return et_tiler_end(&t);
}
