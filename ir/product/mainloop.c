/* How a CONTRACT step is cut up: chunks of k, units of a chunk, and k's of a lane in a unit; where
 * b comes from, and whether it goes to registers; where the waves' parts of a sum meet. */
#include "ir/product/product.h"
#include "ir/weights/packed.h"
#include "ir/weights/zeros.h"

et_product_cx et_product_context(const et_program *p, const et_func *f, const et_target *t,
                                 et_arena *arena) {
    return (et_product_cx){.p = p, .f = f, .x = p->g->exprs, .t = t, .arena = arena};
}

int64_t et_most_rows(const et_product_cx *g, const et_step *s) {
    int64_t lo, rows;
    et_span(g->x, s->mlive, &lo, &rows);
    return rows;
}

int et_mainloop_pitch(const et_product_cx *g, const et_mainloop *c) {
    const et_local *l = &g->f->locals[c->s->stage_a];
    return l->pitch * et_dtype_bytes(l->dtype) / c->size;
}

static int declared_k(const et_product_cx *g, const et_mainloop *c) {
    const et_local *l = &g->f->locals[c->s->stage_a];
    return et_step_declared_k(g->f, c->s) * et_dtype_bytes(l->dtype) / c->size;
}

/* So that neighbouring rows begin in other banks. */
int et_mainloop_pad(const et_product_cx *g, const et_mainloop *c) {
    int pad = et_mainloop_pitch(g, c) - declared_k(g, c), most = 16 / c->size;
    return pad < most ? pad : most;
}

int et_mainloop_sums(const et_mainloop *c) {
    return c->products * c->msub * c->nsub;
}

/* ---- what is known before k is cut ---- */

/* The k of a tile that has any. Where that is a choice between some and none, *OUT_COND says when
 * there is any; else it is none. */
static et_expr full_extent(const et_product_cx *g, const et_step *s, et_expr *out_cond) {
    et_node_x x = *et_x(g->x, s->kextent);
    int64_t none;
    *out_cond = ET_NO_EXPR;
    if (x.op != ET_X_SELECT || !et_is_int(g->x, x.ops[2], &none) || none) return s->kextent;
    *out_cond = x.ops[0];
    return x.ops[1];
}

/* Bits of an element of b where it comes from. */
static int bits_of(const et_product_cx *g, const et_mainloop *c) {
    et_expr load = c->streamed ? et_stream_load(g->p, c->s, 0) : ET_NO_EXPR;
    if (!load.id) return 8 * c->size;
    return et_dtype_bits(g->p->tensors[et_x(g->x, load)->i].shape.dtype);
}

void et_mainloop_lane_k(et_mainloop *c, int lane_k) {
    c->lane_k = lane_k;
    c->piece = lane_k < 16 / c->size ? lane_k : 16 / c->size;
    c->unit_k = lane_k * et_layout_groups(c->fr->layout);
}

/* Chunks are multiplied while the next is brought, and one more is in flight. */
static et_warpgroup_rows group_of(const et_product_cx *g, const et_mainloop *c) {
    enum { MOST_SUMS = 20 }; /* beside which there is little else */
    const et_warpgroup_shape *of = g->t->warpgroup;
    const et_step *s = c->s;
    et_warpgroup_rows rows =
        of && c->stages >= 3 ? et_step_warpgroup(s, of->waves) : ET_WARPGROUP_NONE;
    if (!rows || et_mainloop_sums(c) > MOST_SUMS || g->f->locals[s->stage_a].offset % of->align ||
        g->f->locals[s->stage_b].offset % of->align)
        return ET_WARPGROUP_NONE;
    int columns = rows == ET_WARPGROUP_M ? s->tn / s->wn : s->tm / s->wm;
    bool whole = et_warpgroup_divides(c->kc, s->wk, of->k);
    return columns <= of->most && whole ? rows : ET_WARPGROUP_NONE;
}

bool et_mainloop_begin(const et_product_cx *g, const et_step *s, et_mainloop_kind kind,
                       et_mainloop *c) {
    *c = (et_mainloop){.s = s, .streamed = kind.streamed, .packed = kind.packed, .times = 1};
    c->maybe_packed = kind.maybe_packed;
    c->fp8 = kind.fp8;
    if (kind.fp8) c->times = g->t->fp8_times;
    c->fr = kind.maybe_packed ? et_target_maybe_packed(g->t, s->operand)
                              : et_target_fragment(g->t, s->operand);
    if (!c->fr) return false;
    if (s->stage_b >= 0 && g->f->locals[s->stage_b].slot) {
        c->stage_k = g->f->locals[s->stage_b].dim[2];
        c->streamed = true;
    }
    c->size = et_dtype_bytes(s->operand);
    c->kc = declared_k(g, c);
    int groups = et_layout_groups(c->fr->layout), kw = c->kc / s->wk;
    c->bits = bits_of(g, c);
    int lane_k = c->fr->lane_k > 16 / c->size ? c->fr->lane_k : 16 / c->size;
    while (lane_k > c->fr->lane_k && kw % (lane_k * groups))
        lane_k /= 2;
    if (kw % (lane_k * groups)) return false;
    et_mainloop_lane_k(c, c->packed ? ET_PACKED_LANE_K : lane_k);
    c->rows_n = et_deal_values(&c->fr->layout->n);
    c->rows_m = et_deal_values(&c->fr->layout->m);
    c->products = et_step_products(s);
    c->side_by_side = et_step_side_by_side(s);
    c->nsub = (c->products < s->nacc ? s->nacc : 1) * s->tn / s->wn / 16;
    c->msub = s->tm / s->wm / 16;
    c->stages = et_step_stages(g->f, s);
    c->bands = g->f->locals[s->acc[0]].rows ? s->tm / g->f->locals[s->acc[0]].rows : 1;
    c->next_m = c->bands > 1 ? 16 * s->wm : 16; /* a band's rows are next to each other */
    c->warpgroup = group_of(g, c);
    c->next_n = c->warpgroup == ET_WARPGROUP_N && c->nsub > 1 ? 16 * g->t->warpgroup->waves : 16;
    c->sums = !c->warpgroup                    ? c->fr->layout
              : c->warpgroup == ET_WARPGROUP_M ? g->t->warpgroup->rows_m
                                               : g->t->warpgroup->rows_n;
    c->extent = full_extent(g, s, &c->cond);
    if (!et_is_int(g->x, c->extent, &c->k)) c->k = -1;
    c->part = c->streamed ? et_stream_part(g->p, s) : 0;
    c->direct = !c->stages;
    for (int i = 0; i < s->nacc && !c->stages && !c->packed; i++)
        c->direct &= et_access_direct(g->p, g->f, s, s->b[i], c->piece) ||
                     (c->part && et_expr_eq(et_stream_load(g->p, s, i), s->b[i]));
    c->units = kw / c->unit_k;
    c->pitch_a = et_mainloop_pitch(g, c);
    c->sets = 1;
    c->late = !c->direct && !c->stages && !c->side_by_side && c->msub == 1 && g->t->scarce;
    return true;
}

/* ---- k ---- */

void et_mainloop_cut(const et_product_cx *g, et_mainloop *c, int units) {
    int per = c->nsub * c->rows_n * c->products, pad = et_mainloop_pad(g, c);
    c->units = units;
    c->kc = units * c->s->wk * c->unit_k;
    c->pitch_a = c->kc + pad;
    c->nload = c->packed ? 2 * units * per : units * per;
}

void et_mainloop_count(et_mainloop *c) {
    c->chunks = c->k < 0 ? -1 : c->k <= c->kc ? 1 : (c->k + c->kc - 1) / c->kc;
    c->tail = c->k < 0 || c->chunks * c->kc != c->k;
    c->late &= c->computed != NULL;
}

/* ---- what may be ---- */

/* Few rows of a, so that two chunks of them are always staged at once. */
bool et_mainloop_may_be_deep(const et_product_cx *g, const et_mainloop *c) {
    return g->t->deep && c->direct && !c->computed && !c->streamed && !c->zeros && c->chunks > 1 &&
           c->msub == 1 && et_most_rows(g, c->s) <= 8;
}

/* Few rows leave the registers that another chunk takes. */
bool et_mainloop_may_deepen(const et_product_cx *g, const et_mainloop *c) {
    return c->streamed && c->direct && (!c->computed || c->late) && !c->packed &&
           !c->maybe_packed && !c->zeros && !c->rows_ahead && !c->rows_own && !c->cond.id &&
           c->chunks > 1 && c->msub == 1 && et_most_rows(g, c->s) <= ET_DEEP_ROWS;
}

/* Which columns of the weight's rows begin where the step's do. */
static bool begin_at(const et_product_cx *g, const et_mainloop *c, et_expr load, int rows) {
    const et_node_x n = *et_x(g->x, load);
    et_expr row = et_subst_var(g->x, n.ops[n.nops - 2], c->s->nvar, et_int(g->x, 0));
    return et_divides(g->x, rows, row);
}

bool et_mainloop_may_zeros(const et_product_cx *g, const et_mainloop *c) {
    if (!c->direct || c->fp8 || c->part || c->chunks < 1) return false;
    for (int i = 0; i < c->s->nacc; i++) {
        et_expr load = et_zeros_load(g->p, c->s, i);
        if (!load.id || !begin_at(g, c, load, ET_ZERO_ROWS)) return false;
    }
    return true;
}

bool et_mainloop_may_pack(const et_product_cx *g, const et_mainloop *c) {
    if (!g->packed || !c->direct || c->computed || c->fp8 || c->part ||
        !et_target_maybe_packed(g->t, c->s->operand) || et_layout_groups(c->fr->layout) != 4)
        return false;
    for (int i = 0; i < c->s->nacc; i++)
        if (!et_packed_can(g->p, c->s, i) || !begin_at(g, c, c->s->b[i], ET_PACKED_ROWS))
            return false;
    return true;
}

/* The buffer for a holds what waves multiply of a unit. */
bool et_mainloop_fits_packed(const et_product_cx *g, const et_mainloop *c) {
    const et_step *s = c->s;
    int wide = s->wk * ET_PACKED_K, pitch = et_mainloop_pitch(g, c);
    int pad = pitch - declared_k(g, c);
    return wide + (pad < 8 ? pad : 8) <= s->tm * pitch / 16;
}

bool et_mainloop_pairs_with(const et_mainloop *c, const et_mainloop *packed) {
    return packed->nload <= ET_MAX_FRAGMENTS && packed->sums == c->sums &&
           packed->results * packed->sets == c->results * c->sets;
}

/* Fragments of two steps as they lie in memory, all of which there is. */
bool et_mainloop_may_step(const et_product_cx *g, const et_mainloop *c) {
    const et_warpgroup_shape *of = g->t->warpgroup;
    return of && c->direct && !c->computed && !c->packed && !c->maybe_packed && !c->fp8 &&
           !c->f16 && !c->run && !c->zeros && c->size == 2 && c->unit_k == 2 * of->k &&
           c->lane_k == c->piece && c->k > 0 && c->k % c->unit_k == 0;
}

/* Twice the registers: of one sum, and of those before. */
bool et_mainloop_may_span(const et_mainloop *c, int spans, int span) {
    enum { MOST_SUMS = 10 };
    return c->warpgroup && c->s->wk == 1 && !c->stage_k && spans > 1 && span && span % c->kc == 0 &&
           c->k > 0 && c->k % ((int64_t)spans * span) == 0 && et_mainloop_sums(c) <= MOST_SUMS;
}

/* ---- rows ---- */

int et_log2_up(int64_t n) {
    int bits = 0;
    while (INT64_C(1) << bits < n)
        bits++;
    return bits;
}

/* Rows of all chunks, where both are known: slots past the last chunk are not used. */
static int64_t rows_of_all(const et_product_cx *g, const et_mainloop *c) {
    int64_t most = et_most_rows(g, c->s);
    return c->chunks < 1 || c->chunks > 16 || most > 16 ? 16 * 16 : c->chunks << et_log2_up(most);
}

int64_t et_mainloop_held_rows(const et_product_cx *g, const et_mainloop *c) {
    int64_t room = c->room < 0 ? 16 >> -c->room : 16LL << c->room, all = rows_of_all(g, c);
    return room < all ? room : all;
}

/* The room that all chunks of a ask for, as a power of two; -4 where ALL elements do not hold
 * them, or where it is more than one chunk of sixteen rows and rows are so few that the products
 * had better begin before all are there. */
static int room_of_all(const et_product_cx *g, const et_mainloop *c, int64_t all) {
    enum { LEAST = -4 };
    int64_t rows = rows_of_all(g, c);
    bool more = c->direct && c->msub == 1 && !c->deep && c->streamed && c->cond.id;
    return rows <= (more ? 16 * 16 : 16) && rows * c->pitch_a <= all ? et_log2_up(rows) - 4 : LEAST;
}

/* Of the rows of a that are staged at once, where those of one chunk leave some, or where there is
 * room for fewer than sixteen. With few rows there is enough without: more would only begin the
 * products later. */
static int room_of(const et_product_cx *g, const et_mainloop *c) {
    int64_t held = g->f->locals[c->s->stage_a].dim[0];
    int64_t all = held * et_mainloop_pitch(g, c);
    int room = 0;
    while (room > -4 && (16LL >> -room) * c->pitch_a > all)
        room--;
    int all_at_once = room_of_all(g, c, all);
    if (held < 16 || room < 0) return room > all_at_once ? room : all_at_once;
    if (!c->direct || c->msub > 1 || c->deep || et_most_rows(g, c->s) <= ET_FEW_ROWS) return 0;
    while ((32LL << room) * c->pitch_a <= all)
        room++;
    return room;
}

void et_mainloop_rows(const et_product_cx *g, et_mainloop *c) {
    c->room = room_of(g, c);
}

/* Where no tile has more than eight rows of a, b in registers is multiplied with these alone, and
 * into several sums in turn: a wave has one row of sixteens, so its products wait for each other
 * otherwise. */
static void few(const et_product_cx *g, et_mainloop *c, int sets) {
    enum { SETS = 4, MOST_RESULTS = 64 };
    c->sets = 1;
    if (!c->direct || !c->fr->few || c->msub > 1 || et_most_rows(g, c->s) > 8) return;
    c->fr = c->fr->few;
    c->sums = c->fr->layout;
    c->rows_m = et_deal_values(&c->fr->layout->m);
    for (c->sets = SETS; c->sets * et_layout_sums(c->sums) * et_mainloop_sums(c) > MOST_RESULTS;)
        c->sets /= 2;
    if (sets && sets < c->sets && !(sets & (sets - 1))) c->sets = sets;
}

/* By pieces any fragment may have the sets that one of few rows has. */
void et_mainloop_few(const et_product_cx *g, et_mainloop *c, int sets, bool in_turn) {
    enum { MOST_RESULTS = 256, PIECE = 16 };
    few(g, c, sets);
    c->in_turn = false;
    if (!in_turn || !c->direct || c->in_steps || c->packed || c->size != 2 ||
        c->lane_k * c->size % PIECE)
        return;
    int each = et_layout_sums(c->sums) * et_mainloop_sums(c);
    if (sets > c->sets && !(sets & (sets - 1)) && sets * each <= MOST_RESULTS) c->sets = sets;
    c->in_turn = c->sets > 1;
}

/* ---- what cannot be emitted ---- */

enum { ROW = 64 /* bytes of a row in a part of a chunk */, PIECE = 16 };

static const char *ring_problem(const et_product_cx *g, const et_mainloop *c) {
    const et_step *s = c->s;
    int wide = et_pipeline_row_bytes(c);
    int per = g->p->workgroup / (wide / PIECE);
    if ((s->wk > 1 && !c->warpgroup) || s->stage_b < 0 || c->kc * c->size % ROW ||
        c->kc * c->size / ROW > ET_CHUNK_PARTS || c->piece * c->size != PIECE ||
        g->p->workgroup % (wide / PIECE))
        return "a ring's chunks have 64 bytes of each row, or two to four times that, and all "
               "waves take the same k";
    if ((s->tm + per - 1) / per > ET_CHUNK_ITEMS || (s->tn + per - 1) / per > ET_CHUNK_ITEMS ||
        c->msub > ET_MAX_ROWS * 2)
        return "a ring's chunks are too large";
    if (c->products < s->nacc && !c->warpgroup)
        return "waves that multiply for themselves have columns of each product";
    if (et_mainloop_sums(c) > ET_MAX_SUMS)
        return et_printf(g->arena, "a wave cannot hold %d sums of 16 x 16", et_mainloop_sums(c));
    return NULL;
}

static const char *bands_problem(const et_product_cx *g, const et_mainloop *c) {
    int after, row, n = et_func_bands(g->x, g->f, &after, &row);
    if (n == 1) return NULL;
    if (!c->stages || c->warpgroup || c->s->wk > 1 || c->msub % n)
        return "sums that are there a band at a time are of a ring, and waves have rows of each";
    return row < 0 ? "the steps after sums that are there a band at a time go by their rows" : NULL;
}

const char *et_mainloop_problem(const et_product_cx *g, const et_mainloop *c) {
    const char *bands = bands_problem(g, c);
    if (bands) return bands;
    if (c->stages) return ring_problem(g, c);
    if (et_mainloop_sums(c) <= ET_MAX_SUMS && c->nload <= ET_MAX_FRAGMENTS) return NULL;
    return et_printf(g->arena, "a wave cannot hold %d sums of 16 x 16 and %d rows of b",
                     et_mainloop_sums(c), c->nload);
}
