/* Where the rows of a come from, of products with b in registers: through local memory when their
 * turn comes; copied there some chunks ahead of it; or straight to the registers of the one wave
 * that multiplies their k, where waves share a tile's k and none of its columns. */
#include "ir/product/product.h"

enum { PIECE = 16, MOST_TURNS = 8, ROOM = 16 /* pieces of 16 bytes in a lane */ };

/* ---- ahead ---- */

int et_rows_items(const et_product_cx *g, const et_mainloop *c) {
    int pieces = c->s->tm * c->kc * c->size / PIECE;
    return (pieces + g->p->workgroup - 1) / g->p->workgroup;
}

bool et_rows_may_copy_ahead(const et_product_cx *g, const et_mainloop *c) {
    return g->t->copies && et_most_rows(g, c->s) > ET_FEW_ROWS && c->piece * c->size == PIECE &&
           et_access_direct(g->p, g->f, c->s, c->s->a, c->piece);
}

int et_rows_most_ahead(const et_product_cx *g, const et_mainloop *c) {
    if (c->zeros || !c->direct || c->chunks < 2 || c->deep || c->pair_gap || c->kc % c->piece ||
        c->pitch_a % c->piece || et_rows_items(g, c) > ET_MAX_AHEAD ||
        !et_rows_may_copy_ahead(g, c))
        return 0;
    int turns = et_mainloop_pitch(g, c) / c->pitch_a;
    if (turns > c->chunks) turns = (int)c->chunks;
    return turns < 2 ? 0 : turns > MOST_TURNS ? MOST_TURNS : turns;
}

/* ---- of a wave's own ---- */

bool et_rows_may_own(const et_product_cx *g, const et_mainloop *c) {
    const et_step *s = c->s;
    return c->direct && !c->computed && !c->fp8 && !(c->packed && g->t->spread) && s->wn == 1 &&
           s->wm == 1 && c->msub * c->rows_m <= ET_MAX_ROWS && et_rows_may_copy_ahead(g, c);
}

/* Of CHUNKS of so many units, how many are in registers at once: two at least, which take turns, or
 * the only one; 0: that cannot be. */
static int depth_of(const et_mainloop *c, int units, int64_t chunks) {
    int deep = ROOM * c->piece / (units * c->msub * c->rows_m * c->lane_k);
    if (deep > chunks) deep = (int)chunks;
    while (deep > 1 && chunks % deep)
        deep--;
    return deep > 1 || (deep && chunks == 1) ? deep : 0;
}

int et_rows_own_units(const et_mainloop *c, int64_t all, int most) {
    int room = ROOM / 2 * c->piece / (c->msub * c->rows_m * c->lane_k);
    if (most > room) most = room;
    if (most < 1) most = 1; /* of that many columns a unit is more than lanes have registers for */
    while (most > 1 && (all % most || !depth_of(c, most, all / most)))
        most--;
    return most;
}

int et_rows_own_depth(const et_product_cx *g, const et_mainloop *c) {
    if (c->tail || c->zeros || c->deep || !et_rows_may_own(g, c)) return 0;
    return depth_of(c, c->units, c->chunks);
}

/* ---- all at once ---- */

et_prologue_as et_rows_prologue(const et_product_cx *g, const et_mainloop *c) {
    enum { EACH = 8 }; /* elements of an item */
    int64_t lo, most, items = (c->k / EACH + g->p->workgroup - 1) / g->p->workgroup;
    et_span(g->x, c->s->mlive, &lo, &most);
    if (!c->direct || c->stages || c->rows_own || c->rows_ahead || c->zeros || c->msub > 1 ||
        (c->deep && !c->streamed) || c->chunks < (c->run ? 1 : 2) || most > 16 ||
        4 + c->room - et_log2_up(most) < et_log2_up(c->chunks))
        return ET_PROLOGUE_NONE;
    bool row = c->row_scaled && lo == 1 && most == 1 && c->kc % EACH == 0;
    return row && items <= ET_ROW_ITEMS ? ET_PROLOGUE_REGISTERS : ET_PROLOGUE_STAGED;
}

/* ---- of a multistage pipeline ---- */

/* Where no tensor says how many rows there are, tiles are only of such as have some. */
bool et_rows_chunks_have(const et_product_cx *g, const et_mainloop *c) {
    return c->warpgroup && !et_expr_loads(g->x, c->s->mlive);
}

int et_pipeline_most_held(const et_product_cx *g, const et_mainloop *c) {
    enum { MOST = 4 };
    int wide = et_pipeline_row_bytes(c), wg = g->p->workgroup, items = 0, n = MOST;
    if (!c->stages || g->t->copies || c->chunks < 0 || c->warpgroup) return 0;
    for (int i = -1; i < c->s->nacc; i++) {
        int pieces = (i < 0 ? c->s->tm : c->s->tn) * (wide / PIECE);
        if (!et_access_direct(g->p, g->f, c->s, i < 0 ? c->s->a : c->s->b[i], c->piece)) return 0;
        items += (pieces + wg - 1) / wg * (c->kc * c->size / wide);
    }
    while (n > 1 && (n * items > g->t->loads || n > c->chunks))
        n /= 2;
    return n;
}

bool et_pipeline_may_interleave(const et_product_cx *g, const et_mainloop *c) {
    return et_pipeline_most_held(g, c) > 0;
}

bool et_weights_may_evict(const et_product_cx *g, const et_mainloop *c, int i) {
    const et_node_x *x = et_x(g->x, c->s->b[i]);
    if (c->streamed) return true;
    if (!c->stages || !g->t->copies || !g->stored ||
        !et_access_direct(g->p, g->f, c->s, c->s->b[i], c->piece))
        return false;
    for (int d = 0; d < x->nops; d++)
        if (et_reads_stored(g->x, x->ops[d], g->stored)) return false;
    return g->p->tensors[x->i].kind == ET_TENSOR_WEIGHT;
}

/* ---- one row ----
 *
 * Products of few rows have room for eight. Were there one, lanes of all eight would load the same
 * of it, which takes local memory as long as if it were different. So the operand's rows get pieces
 * of that row's k, one each: a load brings as many pieces as there are rows that have any. Each
 * piece is multiplied into a set of sums in which no other row's sum is any good. */

enum { ROWS = 4, RESULTS = 4 };

int et_rows_packed_pieces(const et_mainloop *c) {
    return c->lane_k * c->size / PIECE;
}

int et_rows_units_at_once(const et_product_cx *g, const et_mainloop *c) {
    return g->t->loads / 2 * c->piece / c->lane_k;
}

/* Has each pair of the rows up to ROW its sums in the same lanes, which the two lowest bits of a
 * lane's number decide, as the low bit of a value does which row of the pair it is of? */
static bool has_rows(const et_layout *l, int row) {
    int lanes = l->sum_m.lane[0] | l->sum_m.lane[1];
    return et_deal_value(&l->sum_m, 1) == 1 && !et_deal_value(&l->sum_m, 2) &&
           !(row & ~(lanes | 1)) && et_deal_values(&l->m) == 1;
}

int et_rows_most_packed(const et_product_cx *g, const et_mainloop *c) {
    const et_fragment *fr = et_target_fragment(g->t, c->f16 ? ET_F16 : c->s->operand);
    if (et_most_rows(g, c->s) != 1 || !c->direct || c->packed || c->run || c->in_steps ||
        et_mainloop_may_pack(g, c) || c->rows_own || c->size != 2 || !fr || c->fr != fr->few ||
        c->lane_k * c->size % PIECE || c->pitch_a % (PIECE / c->size) ||
        et_is_without(g->without, ET_FEATURE_ROW_PACKED))
        return 0;
    int pieces = et_rows_packed_pieces(c), n = c->f16 ? ROWS : c->sets,
        at_once = et_rows_units_at_once(g, c);
    while (n > 1 && (c->units * pieces % n || at_once * pieces % n))
        n /= 2;
    if (n < 2 || pieces > n || c->results != RESULTS || !has_rows(c->sums, n - 1)) return 0;
    return n;
}
