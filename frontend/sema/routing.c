/* Programs whose shape data decides: choosing, sorting into groups, reducing stretches of rows. */
#include "frontend/sema/sema.h"
#include <string.h>

enum { MIN_PAD = 16, MAX_PAD = 160, MIN_BLOCK = 64, MAX_BLOCK = 1024, MAX_GROUPS = 1 << 16 };
enum {
    FEW_ROWS = 2048
}; /* counting them anew for each block takes no longer than one more event */

static const et_shape *shape_of(et_sema *s, et_value v) {
    return &et_val_of(s->graph, v)->shape;
}

/* ARGS may be where the result goes. */
static bool add(et_sema *s, const et_call *c, const et_op *op, int nargs, const et_value *args,
                int nattrs, const et_attr *attrs, const char *name, et_value *out) {
    et_value v;
    if (!et_sema_node_in(s, s->loop, op, c->loc, nargs, args, nattrs, attrs, &v)) return false;
    et_val_of(s->graph, v)->name = et_graph_name(s->graph, name);
    *out = v;
    return true;
}

bool et_lower_iota(et_sema *s, const et_call *c, et_elem *out) {
    et_attr attr = et_attr_of_exprs("shape", 1, &c->size);
    return et_sema_node(s, &et_op_iota, c->loc, 0, NULL, 1, &attr, out);
}

bool et_lower_size(et_sema *s, const et_call *c, et_elem *out) {
    const et_shape *x = shape_of(s, c->value[0]);
    int64_t axis = c->kw[0].i < 0 ? c->kw[0].i + x->rank : c->kw[0].i;
    if (axis < 0 || axis >= x->rank)
        return et_sema_error(s, c->kw[0].loc, "axis %lld of %s", (long long)c->kw[0].i,
                             et_shape_text(s->x, x));
    *out = et_elem_scalar(s, x->dim[axis]);
    return true;
}

bool et_lower_take(et_sema *s, const et_call *c, et_elem *out) {
    return et_sema_node(s, &et_op_take, c->loc, 2, c->value, 0, NULL, out);
}

bool et_lower_rank(et_sema *s, const et_call *c, et_elem *out) {
    return et_sema_node(s, &et_op_rank, c->loc, 1, c->value, 0, NULL, out);
}

bool et_lower_segment(et_sema *s, const et_call *c, et_elem *out) {
    bool mean = c->fn->op < 0;
    et_attr attrs[] = {et_attr_of_int("kind", mean ? ET_RED_SUM : c->fn->op),
                       et_attr_of_int("axis", 0), et_attr_of_int("mean", mean)};
    return et_sema_node(s, &et_op_segment, c->loc, 2, c->value, 3, attrs, out);
}

/* The sums with each element, where the operator has those before each. */
bool et_lower_cumsum(et_sema *s, const et_call *c, et_elem *out) {
    const et_shape x = *shape_of(s, c->value[0]);
    int64_t axis = c->kw[0].i < 0 ? c->kw[0].i + x.rank : c->kw[0].i, drop[ET_MAX_RANK] = {0};
    if (axis < 0 || axis >= x.rank)
        return et_sema_error(s, c->kw[0].loc, "axis %lld of %s", (long long)c->kw[0].i,
                             et_shape_text(s->x, &x));
    et_expr start[ET_MAX_RANK];
    for (int d = 0; d < x.rank; d++)
        start[d] = et_int(s->x, d == axis);
    et_attr along = et_attr_of_int("axis", axis);
    et_attr cut[] = {et_attr_of_exprs("start", x.rank, start),
                     et_attr_of_exprs("size", x.rank, x.dim),
                     et_attr_of_ints("drop", x.rank, drop)};
    et_value sums;
    if (!add(s, c, &et_op_prefix, 1, c->value, 1, &along, NULL, &sums) ||
        !add(s, c, &et_op_slice, 1, &sums, 3, cut, NULL, &sums))
        return false;
    out[0] = et_elem_value(s, sums);
    return true;
}

/* ---- topk ---- */

/* Which element has place j, for every j below K: the one place among all that equals j. */
static bool indices(et_sema *s, const et_call *c, et_value place, int64_t k, et_value *out) {
    const et_shape *x = shape_of(s, place);
    et_expr dim[ET_MAX_RANK], column = et_int(s->x, k);
    memcpy(dim, x->dim, (size_t)x->rank * sizeof *dim);
    dim[x->rank] = dim[x->rank - 1];
    dim[x->rank - 1] = et_int(s->x, 1);
    et_attr rows = et_attr_of_exprs("shape", x->rank + 1, dim);
    et_attr count = et_attr_of_exprs("shape", 1, &column);
    et_attr stand = et_attr_of_exprs("shape", 2, (et_expr[]){column, et_int(s->x, 1)});
    et_value wide, j;
    et_elem a, b, eq, one = et_elem_int(s, 1), zero = et_elem_int(s, 0), hit;
    int rank = x->rank;
    if (!add(s, c, &et_op_reshape, 1, &place, 1, &rows, NULL, &wide) ||
        !add(s, c, &et_op_iota, 0, NULL, 1, &count, NULL, &j) ||
        !add(s, c, &et_op_reshape, 1, &j, 1, &stand, NULL, &j))
        return false;
    a = et_elem_value(s, wide);
    b = et_elem_value(s, j);
    et_attr attrs[] = {et_attr_of_int("kind", ET_RED_ARGMAX), et_attr_of_int("axis", rank),
                       et_attr_of_int("keep", 0)};
    return et_elem_op2(s, c->loc, ET_X_EQ, &a, &b, &eq) &&
           et_elem_select(s, c->loc, &eq, &one, &zero, &hit) &&
           et_elem_place(s, c->loc, &hit, &wide) &&
           add(s, c, &et_op_reduce, 1, &wide, 3, attrs, NULL, out);
}

bool et_lower_topk(et_sema *s, const et_call *c, et_elem *out) {
    const et_shape *x = shape_of(s, c->value[0]);
    int64_t k, n;
    et_value place, index, value;
    if (x->rank < 1 || x->rank >= ET_MAX_RANK)
        return et_sema_error(s, c->loc, "topk of %s: it needs from 1 to %d dimensions",
                             et_shape_text(s->x, x), ET_MAX_RANK - 1);
    if (!et_is_int(s->x, c->size, &k) || !et_is_int(s->x, x->dim[x->rank - 1], &n) || k < 1 ||
        k > n)
        return et_sema_error(s, c->loc,
                             "topk takes some of a constant number of elements: %s of %s",
                             et_sema_text(s, c->size), et_shape_text(s->x, x));
    if (!add(s, c, &et_op_rank, 1, c->value, 0, NULL, NULL, &place) ||
        !indices(s, c, place, k, &index) ||
        !add(s, c, &et_op_take, 2, (et_value[]){c->value[0], index}, 0, NULL, NULL, &value))
        return false;
    out[0] = et_elem_value(s, value);
    out[1] = et_elem_value(s, index);
    ET_GROW(s->arena, s->chosen, s->nchosen, s->cchosen);
    s->chosen[s->nchosen++] = index;
    return true;
}

/* ---- group ---- */

static int64_t upper(et_sema *s, et_expr e) {
    int64_t lo, hi;
    return et_bounds(s->x, e, &lo, &hi) ? hi : INT32_MAX;
}

/* The rows that one group may have: of what topk has chosen, one for each row of that. Should there
 * be more, as with scores that are no numbers, they take more blocks. */
static int64_t most_of_group(et_sema *s, et_value index, int64_t rows) {
    const et_shape *x = shape_of(s, index);
    int64_t each;
    for (int i = 0; i < s->nchosen; i++)
        if (s->chosen[i].id == index.id && et_is_int(s->x, x->dim[x->rank - 1], &each))
            return rows / each;
    return rows;
}

/* As many rows as most groups have where ROWS are dealt evenly by chance, so that they have one
 * block and their weights one reader, or the parts of that of no more than MAX_PAD; and no more
 * than MOST, which a group may have. */
static int64_t usual_pad(int64_t rows, int64_t groups, int64_t most) {
    int64_t mean = (rows + groups - 1) / groups, spread = 1;
    while (spread * spread < 4 * mean)
        spread++;
    int64_t enough = mean + spread < most ? mean + spread : most;
    int64_t parts = (enough + MAX_PAD - 1) / MAX_PAD, pad = MIN_PAD;
    while (pad * parts < enough)
        pad += MIN_PAD;
    while (pad > 1 && pad / 2 >= most)
        pad /= 2;
    return pad;
}

/* Counting per block costs rows / block per group, searching a block its length per row. */
static int64_t usual_block(int64_t rows) {
    int64_t block = MIN_BLOCK;
    while (block < MAX_BLOCK && block * block < 2 * rows)
        block *= 2;
    return block;
}

/* What rows in whole blocks of PAD need at most: each group that has any wastes PAD - 1. */
static et_expr blocks_of(et_sema *s, et_expr rows, int64_t groups, int64_t pad) {
    et_expr used = et_op2(s->x, ET_X_MIN, rows, et_int(s->x, groups));
    et_expr most = et_add(s->x, rows, et_mul(s->x, used, et_int(s->x, pad - 1)));
    return et_op2(s->x, ET_X_IDIV, most, et_int(s->x, pad));
}

struct grouping {
    et_value index, count, first, place, owner, rows;
};

/* Rows of each group before each block of rows: many are counted block by block first. */
static bool count_rows(et_sema *s, const et_call *c, int64_t groups, int64_t block, bool many,
                       struct grouping *g) {
    et_attr by[] = {et_attr_of_int("groups", groups), et_attr_of_int("block", block)};
    et_attr rows = et_attr_of_int("axis", 0);
    et_value tally;
    if (!many) return add(s, c, &et_op_group_count, 1, &g->index, 2, by, "count", &g->count);
    return add(s, c, &et_op_group_tally, 1, &g->index, 2, by, "tally", &tally) &&
           add(s, c, &et_op_prefix, 1, &tally, 1, &rows, "count", &g->count);
}

static bool group_nodes(et_sema *s, const et_call *c, int64_t pad, et_expr blocks, int64_t block,
                        struct grouping *g) {
    et_attr by = et_attr_of_int("block", block);
    et_attr padded = et_attr_of_int("pad", pad), many = et_attr_of_exprs("blocks", 1, &blocks);
    return add(s, c, &et_op_group_first, 2, (et_value[]){g->count, g->index}, 1, &padded, NULL,
               &g->first) &&
           add(s, c, &et_op_group_place, 3, (et_value[]){g->index, g->count, g->first}, 1, &by,
               NULL, &g->place) &&
           add(s, c, &et_op_group_owner, 3, (et_value[]){g->first, g->place, g->index}, 2,
               (et_attr[]){padded, many}, NULL, &g->owner) &&
           add(s, c, &et_op_group_rows, 3, (et_value[]){g->place, g->count, g->first}, 3,
               (et_attr[]){by, padded, many}, NULL, &g->rows);
}

static bool reshape(et_sema *s, const et_call *c, int rank, const et_expr *dim, et_value *v) {
    et_attr attr = et_attr_of_exprs("shape", rank, dim);
    return add(s, c, &et_op_reshape, 1, v, 1, &attr, NULL, v);
}

/* Rows of a block where the program does not say. */
static int64_t choose_pad(et_sema *s, et_expr rows, int64_t groups, et_value index) {
    et_choices *c = s->choices;
    if (c->fixed && c->next < c->n) return c->of[c->next++];
    int64_t all = upper(s, rows), pad = usual_pad(all, groups, most_of_group(s, index, all));
    ET_GROW(s->arena, c->of, c->n, c->cap);
    c->of[c->n++] = pad;
    return pad;
}

bool et_lower_group(et_sema *s, const et_call *c, et_elem *out) {
    const et_shape x = *shape_of(s, c->value[0]);
    struct grouping g = {.index = c->value[0]};
    int64_t groups, pad = c->kw[0].i;
    et_expr rows = et_int(s->x, 1);
    if (x.rank < 1)
        return et_sema_error(s, c->loc, "group of a single number: it needs a dimension");
    if (!et_is_int(s->x, c->size, &groups) || groups < 1 || groups > MAX_GROUPS)
        return et_sema_error(s, c->loc, "the number of groups is a constant from 1 to %d",
                             MAX_GROUPS);
    for (int d = 0; d < x.rank; d++)
        rows = et_mul(s->x, rows, x.dim[d]);
    if (!c->kw[0].given) pad = choose_pad(s, rows, groups, g.index);
    if (pad < 1 || pad > 4096)
        return et_sema_error(s, c->kw[0].loc, "groups padded to %lld rows: from 1 to 4096",
                             (long long)pad);
    et_expr blocks = blocks_of(s, rows, groups, pad);
    if (x.rank > 1 && !reshape(s, c, 1, &rows, &g.index)) return false;
    int64_t most = upper(s, rows), block = usual_block(most);
    if (!count_rows(s, c, groups, block, most > FEW_ROWS, &g) ||
        !group_nodes(s, c, pad, blocks, block, &g))
        return false;
    if (x.rank > 1 && !reshape(s, c, x.rank, x.dim, &g.place)) return false;
    out[0] = et_elem_value(s, g.rows);
    out[1] = et_elem_value(s, g.place);
    out[2] = et_elem_value(s, g.owner);
    out[3] = et_elem_value(s, g.first);
    return true;
}
