/* Columns of a tile that lie in pieces, counted through: column i is column i % width of piece
 * i / width. Rotary embeddings pair elements half a head apart, so a tile that is narrower than a
 * head holds a piece of either half. */
#include "passes/tile/tiler.h"

/* OFF in piece number P, and which piece's column that always is; -1 where it is not one's. */
static int64_t piece_at(et_exprs *x, const et_pieces *s, et_expr off, int p, et_expr *out) {
    int64_t lo, hi;
    et_expr at = et_subst_var(x, off, s->var, et_int(x, p));
    if (!et_bounds(x, at, &lo, &hi) || lo < 0 || hi < lo) return -1;
    int64_t q = lo / s->apart;
    if (q >= s->count || hi >= q * s->apart + s->width) return -1;
    *out = et_sub(x, at, et_int(x, q * s->apart));
    return q;
}

static et_expr of_one(et_exprs *x, et_expr off, int64_t *out_most) {
    int64_t lo;
    bool known = et_bounds(x, off, &lo, out_most);
    return known && lo >= 0 ? off : ET_NO_EXPR;
}

et_expr et_pieces_column(et_exprs *x, const et_pieces *s, et_expr off, int64_t *out_most) {
    et_expr in, next;
    if (s->count == 1) return of_one(x, off, out_most);
    int64_t first = piece_at(x, s, off, 0, &in), step = piece_at(x, s, off, 1, &next) - first;
    if (first < 0) return ET_NO_EXPR;
    for (int p = 1; p < s->count; p++)
        if (piece_at(x, s, off, p, &next) != first + p * step || !et_expr_eq(in, next))
            return ET_NO_EXPR;
    *out_most = (int64_t)s->count * s->width - 1;
    et_expr piece = et_mul(x, et_var(x, s->var), et_int(x, step * s->width));
    return et_add(x, et_add(x, et_int(x, first * s->width), piece), in);
}

et_expr et_pieces_offset(et_exprs *x, const et_pieces *s, et_expr n) {
    if (s->count == 1) return n;
    et_expr width = et_int(x, s->width), piece = et_op2(x, ET_X_IDIV, n, width);
    return et_add(x, et_mul(x, piece, et_int(x, s->apart)), et_op2(x, ET_X_MOD, n, width));
}
