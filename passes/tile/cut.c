/* Ways to cut the rows and columns of a group with matrix products into tiles. */
#include "passes/tile/contract.h"
#include <string.h>

enum {
    MAX_SPAN = 256, /* columns of a product per tile */
    MIN_PIECE = 8,  /* columns of a piece */
};

int64_t et_cut_upper(const et_contract_tiler *c, et_expr e) {
    int64_t lo, hi;
    return et_bounds(c->t.x, e, &lo, &hi) ? hi : INT32_MAX;
}

/* Neighbouring tiles run at the same time and share the operand that both read: the larger one, so
 * that it comes from memory once. With more columns than rows that is the right one, and rows are
 * the coordinate that changes fastest. */
static bool rows_fastest(const et_contract_tiler *c) {
    int64_t columns = 1;
    for (int d = 0; d < c->t.gr->rank; d++)
        if (c->column[d]) columns *= et_cut_upper(c, et_tiler_extent(&c->t, d));
    return c->m_axis >= 0 && et_cut_upper(c, et_tiler_extent(&c->t, c->m_axis)) < columns;
}

static et_tiler try_tiles(const et_contract_tiler *c, const et_tile_cut *cut) {
    et_tiler t = et_tiler_begin(&c->t, c->t.gr);
    int last = rows_fastest(c) ? c->m_axis : -1;
    for (int d = 0; d < t.gr->rank; d++) {
        if (d == last) continue;
        if (cut->pieces > 1 && d == cut->axis)
            et_tiler_pieces(&t, d, cut->pieces, cut->tile[d] / cut->pieces);
        else
            et_tiler_axis(&t, d, cut->tile[d]);
    }
    if (last >= 0) et_tiler_axis(&t, last, cut->tile[last]);
    return t;
}

static et_pieces pieces_of(const et_tiler *t, const et_tile_cut *cut) {
    int64_t whole = 0;
    if (cut->pieces == 1) return (et_pieces){.count = 1, .var = -1};
    et_is_int(t->x, et_tiler_extent(t, cut->axis), &whole);
    return (et_pieces){.count = cut->pieces,
                       .width = cut->tile[cut->axis] / cut->pieces,
                       .var = t->piece[cut->axis],
                       .apart = whole / cut->pieces};
}

/* Where each product's tile of columns starts, such that every reference is one of the span in its
 * pieces from there. Returns the span, or 0 when these tiles mix columns of several. */
static int columns_of(const et_contract_tiler *c, et_tiler *t, const et_pieces *pieces,
                      et_expr base[ET_MAX_ACC]) {
    int span = 0;
    for (int p = 0; p < c->t.gr->nproduct; p++) {
        base[p] = ET_NO_EXPR;
        for (int l = 0; l < c->nleaf && !base[p].id; l++) {
            if (c->leaf[l].product != p) continue;
            et_expr from = et_tiler_subst_first(t, c->leaf[l].n);
            int64_t hi = 0, most = 0;
            bool fits = true;
            for (int k = 0; k < c->nleaf && fits; k++) {
                if (c->leaf[k].product != p) continue;
                et_expr off = et_sub(t->x, et_tiler_subst(t, c->leaf[k].n), from);
                fits = et_pieces_column(t->x, pieces, off, &hi).id && hi < MAX_SPAN;
                most = hi > most ? hi : most;
            }
            if (!fits) continue;
            base[p] = from;
            span = (int)most + 1 > span ? (int)most + 1 : span;
        }
        if (!base[p].id) return 0;
    }
    return span;
}

et_expr et_cut_product_columns(const et_contract_tiler *c, int p) {
    return et_var_extent(c->t.x, c->t.gr->product[p].n);
}

/* Narrow tiles use more CUs; wide ones reuse the staged rows. */
static int wanted_span(const et_contract_tiler *c) {
    int64_t columns = et_cut_upper(c, et_cut_product_columns(c, 0)), cus = c->t.opt->machine->cus;
    for (int d = 0; d < c->t.gr->rank && c->t.gr->slice.count; d++)
        if (c->batch[d]) columns *= et_cut_upper(c, et_tiler_extent(&c->t, d));
    int span = 64;
    while (span > 16 && columns / span < cus)
        span /= 2;
    return span;
}

int et_cut_rows(const et_contract_tiler *c) {
    if (c->m_axis < 0) return 1;
    int64_t rows = et_cut_upper(c, et_tiler_extent(&c->t, c->m_axis));
    return rows < ET_RING_ROWS ? (int)rows : ET_RING_ROWS;
}

static bool add_cut(const et_contract_tiler *c, et_tile_cuts *cuts, et_tile_cut cut) {
    for (int d = 0; d < c->t.gr->rank; d++)
        if (et_tiler_straddles(&c->t, d, cut.tile[d])) return false;
    et_tiler t = try_tiles(c, &cut);
    et_pieces pieces = pieces_of(&t, &cut);
    et_expr base[ET_MAX_ACC];
    cut.span = columns_of(c, &t, &pieces, base);
    if (!cut.span || cuts->n == ET_TILE_CUTS) return false;
    cuts->v[cuts->n++] = cut;
    return true;
}

bool et_cut_may_be_many(const et_contract_tiler *c) {
    return c->t.opt->machine->dies == 1 || et_cut_rows(c) <= ET_TILE_FEW;
}

/* Tiles of so much of AXIS in one piece, or in as few as keep references together. */
static void add_cuts(const et_contract_tiler *c, et_tile_cuts *cuts, const int *tile, int axis) {
    et_tile_cut cut = {.axis = axis, .pieces = 1};
    int64_t whole;
    memcpy(cut.tile, tile, sizeof cut.tile);
    if (add_cut(c, cuts, cut)) return;
    const et_group *gr = c->t.gr;
    bool fixed = et_is_int(c->t.x, et_tiler_extent(&c->t, axis), &whole);
    bool sliced = gr->slice.count && gr->slice.coord == axis;
    if (!fixed || sliced || (!gr->tile[axis] && !et_cut_may_be_many(c))) return;
    for (cut.pieces = 2; tile[axis] / cut.pieces >= MIN_PIECE; cut.pieces *= 2)
        if (tile[axis] % cut.pieces == 0 && whole % tile[axis] == 0 && whole > tile[axis] &&
            add_cut(c, cuts, cut))
            return;
}

void et_cuts_of_columns(const et_contract_tiler *c, et_tile_cuts *cuts) {
    const et_group *gr = c->t.gr;
    int axis[ET_MAX_RANK], n = 0, tile[ET_MAX_RANK] = {0};
    for (int d = gr->rank - 1; d >= 0; d--)
        if (c->column[d]) axis[n++] = d;
    for (int d = 0; d < gr->rank; d++)
        tile[d] = d == c->m_axis ? et_cut_rows(c) : 1;
    et_tile_cut rows = {.pieces = 1};
    if (n == 0) memcpy(rows.tile, tile, sizeof tile), add_cut(c, cuts, rows);
    for (int k = 0; k < n; k++) {
        et_expr extent = et_tiler_extent(&c->t, axis[k]);
        int64_t whole = et_cut_upper(c, extent), constant;
        for (int size = k ? 2 : 16;; size *= 2) {
            tile[axis[k]] = size < whole ? size : (int)whole;
            add_cuts(c, cuts, tile, axis[k]);
            if (size >= whole || size >= MAX_SPAN) break;
        }
        if (!et_is_int(c->t.x, extent, &constant) || constant > MAX_SPAN) break;
        tile[axis[k]] = (int)constant;
    }
}

/* Do tiles of so much of AXIS have sixteens of columns, or each as many and all products together
 * such? */
static bool divides(const et_contract_tiler *c, int axis, int size) {
    int64_t whole;
    if (!et_is_int(c->t.x, et_tiler_extent(&c->t, axis), &whole)) return false;
    return whole % size ? whole % 16 == 0 && size % 16 == 0 : c->t.gr->nproduct * size % 16 == 0;
}

void et_cuts_odd(const et_contract_tiler *c, et_tile_cuts *cuts) {
    static const int many[] = {48, 96, 112, 224, 0}, few[] = {24, 48, 96, 0},
                     together[] = {96, 112, 160, 192, 224, 0};
    const et_machine *m = c->t.opt->machine;
    bool streams = et_may_stream(c->t.opt), narrow = streams && et_cut_rows(c) <= ET_TILE_FEW;
    if (!narrow && !m->group_waves && (streams || m->local_copies)) return;
    const int *sizes = narrow ? few : m->group_waves ? together : many;
    et_tile_cut cut = {.pieces = 1, .odd = true};
    int axis = -1;
    for (int d = 0; d < c->t.gr->rank; d++) {
        cut.tile[d] = d == c->m_axis ? et_cut_rows(c) : 1;
        if (c->column[d]) axis = d;
    }
    for (int i = 0; axis >= 0 && sizes[i]; i++) {
        int64_t whole = et_cut_upper(c, et_tiler_extent(&c->t, axis));
        cut.tile[axis] = sizes[i];
        cut.ending = narrow && sizes[i] > 48;
        cut.routed = narrow && sizes[i] < 48;
        if (whole > sizes[i] && (!narrow || divides(c, axis, sizes[i]))) add_cut(c, cuts, cut);
    }
}

const et_tile_cut *et_cut_plain(const et_contract_tiler *c, const et_tile_cuts *cuts) {
    const et_tile_cut *best = &cuts->v[0];
    int wanted = wanted_span(c);
    for (int i = 1; i < cuts->n; i++) {
        const et_tile_cut *o = &cuts->v[i];
        bool fits = et_round16(o->span) <= wanted;
        if (fits ? o->span > best->span || best->span > wanted : o->span < best->span) best = o;
    }
    return best;
}

bool et_cut_hinted(const et_contract_tiler *c, const et_tile_cut *plain, et_tile_cuts *out) {
    const et_group *gr = c->t.gr;
    int tile[ET_MAX_RANK], last = plain->axis;
    bool any = false;
    memcpy(tile, plain->tile, sizeof tile);
    for (int d = 0; d < gr->rank; d++) {
        if (c->column[d]) last = d;
        bool of_tile = d == c->m_axis || c->column[d];
        int64_t whole = et_cut_upper(c, et_tiler_extent(&c->t, d));
        if (!gr->tile[d] || !of_tile) continue;
        any = true;
        tile[d] = gr->tile[d] < whole ? gr->tile[d] : (int)whole;
    }
    if (any) add_cuts(c, out, tile, last);
    return out->n > 0;
}

void et_cut_apply(et_contract_tiler *c, const et_tile_cut *cut) {
    c->t = try_tiles(c, cut);
    c->pieces = pieces_of(&c->t, cut);
    c->span = columns_of(c, &c->t, &c->pieces, c->base);
}
