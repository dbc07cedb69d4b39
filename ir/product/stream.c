/* A b that comes through the weight stream (ir/weights/stream.h): how much of it a stage holds,
 * and whether what lanes copy comes out even. */
#include "ir/product/product.h"
#include "ir/weights/packed.h"

enum {
    PIECE = ET_RING_PIECE,
    LINE = 128,       /* of a row, with warpgroup MMA: as chunks of both operands have it */
    ROWS = 4,         /* that lanes copy so much of at a time */
    MOST_PACKED = 16, /* rows' sixteens of a chunk that is packed */
};

int et_stream_row_bytes(const et_mainloop *c) {
    return (c->stage_k ? c->stage_k : c->kc) * c->bits / 8;
}

int et_stream_packed_bytes(const et_mainloop *c) {
    return c->kc / ET_PACKED_K * ET_PACKED_BYTES;
}

int et_stream_packed_units(const et_mainloop *c, int bytes) {
    return bytes / (c->s->nacc * c->s->tn / ET_PACKED_ROWS * c->s->wk * ET_PACKED_BYTES);
}

int et_stream_stage_bytes(const et_mainloop *c) {
    if (c->packed) return c->s->nacc * c->s->tn / ET_PACKED_ROWS * et_stream_packed_bytes(c);
    return c->s->nacc * c->s->tn * et_stream_row_bytes(c);
}

/* Are the rows that lanes copy PER at a time, from each row on that they begin with, as far apart
 * as the first ones? */
bool et_stream_alike(const et_product_cx *g, const et_mainloop *c, int per) {
    const et_step *s = c->s;
    for (int i = 0; i < s->nacc; i++)
        for (int r = 0; r < s->tn && !et_stream_is_even(g->p, s, i); r += per)
            for (int k = 1; k < per; k++)
                if (et_stream_row(g->p, s, i, r + k) - et_stream_row(g->p, s, i, r) !=
                    et_stream_row(g->p, s, i, k))
                    return false;
    return true;
}

static int gcd(int a, int b) {
    return b ? gcd(b, a % b) : a;
}

int et_stream_rows_at_once(const et_product_cx *g, int pieces) {
    return g->t->wave / gcd(pieces, g->t->wave);
}

int et_stream_runs(const et_product_cx *g, int pieces, et_stream_run *out) {
    int n = 0, wave = g->t->wave, first = pieces / wave * wave;
    if (first) out[n++] = (et_stream_run){0, wave, pieces / wave};
    for (int lanes = wave / 2; lanes; lanes /= 2) {
        if (!(pieces & lanes)) continue;
        if (n == ET_MOST_RUNS) return 0;
        out[n++] = (et_stream_run){first, lanes, 1};
        first += lanes;
    }
    return n;
}

bool et_stream_fits(const et_product_cx *g, const et_mainloop *c) {
    if (c->packed)
        return c->s->nacc * c->s->tn / ET_PACKED_ROWS <= MOST_PACKED &&
               et_stream_stage_bytes(c) <= g->p->ring.bytes;
    int pieces = et_stream_row_bytes(c) / PIECE;
    et_stream_run run[ET_MOST_RUNS];
    int runs = et_stream_runs(g, pieces, run);
    bool alike = c->part % c->kc == 0;
    for (int i = 0; i < runs; i++)
        alike &= et_stream_alike(g, c, g->t->wave / run[i].lanes);
    return runs && et_stream_row_bytes(c) % PIECE == 0 &&
           c->s->tn % et_stream_rows_at_once(g, pieces) == 0 &&
           et_stream_stage_bytes(c) <= g->p->ring.bytes && alike;
}

bool et_stream_may_end(const et_mainloop *c, int kc) {
    enum { PART = 12 }; /* of all k: so much more at most takes the time of some */
    int64_t rest = c->k > 0 ? c->k % kc : 0;
    return (kc - rest) * PART <= c->k && c->streamed && c->late && !c->run && !c->bf16 &&
           !c->zeros && !c->part && !c->stage_k && rest && c->k > kc &&
           rest % (kc / c->s->wk) == 0 && rest * c->bits % (8 * PIECE) == 0;
}

/* With warpgroup MMA lanes copy four rows at a time, LINE of each, as they are multiplied. */
static bool suits_together(const et_product_cx *g, const et_mainloop *c) {
    for (int i = 0; i < c->s->nacc; i++)
        if (!et_expr_eq(et_stream_load(g->p, c->s, i), c->s->b[i])) return false;
    return c->warpgroup && c->k > 0 && c->k % c->stage_k == 0 && et_rows_chunks_have(g, c) &&
           c->s->tn % (2 * ROWS) == 0 && et_stream_is_full(g->p, c->s) &&
           c->kc * c->size % LINE == 0 && g->t->wave == ROWS * LINE / PIECE &&
           et_stream_stage_bytes(c) <= g->p->ring.bytes && et_stream_alike(g, c, ROWS);
}

bool et_stream_suits(const et_product_cx *g, const et_mainloop *c) {
    if (c->stage_k) return suits_together(g, c);
    bool full = et_stream_is_full(g->p, c->s);
    return c->direct && (!c->tail || et_stream_may_end(c, c->kc)) && c->chunks > 0 &&
           (c->computed ? full : c->piece * c->size == PIECE) && et_stream_fits(g, c) &&
           (full || et_stream_rows_at_once(g, et_stream_row_bytes(c) / PIECE) <= 16);
}

/* ---- auxiliary operands: they follow the values, product by product, row by row ---- */

/* The largest piece that copies of a row's BYTES are made of; 0: none is. */
static int piece_of(int bytes) {
    for (int piece = PIECE; piece >= 4; piece /= 2)
        if (bytes % piece == 0) return piece;
    return 0;
}

/* Does the first element of each chunk, of all rows, lie at a multiple of COUNT? */
static bool aligned(const et_product_cx *g, const et_mainloop *c, et_expr load, int count) {
    et_node_x x = *et_x(g->x, load);
    et_expr chunk = et_var(g->x, et_var_add(g->x, "c", et_int(g->x, (c->k + c->kc - 1) / c->kc)));
    et_expr k = et_mul(g->x, chunk, et_int(g->x, c->kc));
    et_expr off = et_access_offset(g->p, g->f, x.i2, x.i, x.ops);
    return et_divides(g->x, count, et_subst_var(g->x, off, c->s->kvar, k));
}

static bool plan_side(const et_product_cx *g, const et_mainloop *c, const et_auxiliary_load *b,
                      int at, et_auxiliary *out) {
    int bits = et_dtype_bits(g->p->tensors[et_x(g->x, b->load)->i].shape.dtype), wave = g->t->wave;
    if (c->kc % b->group || c->kc / b->group * bits % 8) return false;
    int bytes = c->kc / b->group * bits / 8, piece = piece_of(bytes);
    bool wide = !piece || !aligned(g, c, b->load, piece * 8 / bits);
    if (wide && bits < 8) return false;
    if (wide) piece = PIECE;
    int pitch = wide ? (bytes + 2 * (PIECE - 1)) / PIECE * PIECE : bytes, pieces = pitch / piece;
    int items = c->s->tn * pieces, apart = c->unit_k * bits / 8;
    if (b->group == 1 && (wide || c->lane_k * bits % 8)) return false;
    /* Rows of codes begin where other banks are than those of a unit of the row before. */
    if (b->group == 1) pitch += apart < piece ? piece : apart;
    *out = (et_auxiliary){.load = b->load,
                          .group = b->group,
                          .bytes = bytes,
                          .piece = piece,
                          .pieces = pieces,
                          .pitch = pitch,
                          .at = at,
                          .wide = wide};
    out->copies = (items + wave - 1) / wave;
    int64_t next = et_stream_apart(g->p, c->s, b->load) * bits / 8;
    bool whole = items % wave == 0 || items < wave;
    if ((c->run || c->bf16 || b->group == 1) && !wide && next > 0 && wave % pieces == 0 && whole)
        out->on = next * (wave / pieces);
    return true;
}

const et_auxiliaries *et_auxiliaries_plan(const et_product_cx *g, const et_mainloop *c,
                                          int values) {
    int at = (values + PIECE - 1) / PIECE * PIECE;
    et_auxiliaries *sides = et_alloc(g->arena, sizeof *sides);
    for (int i = 0; i < c->s->nacc; i++) {
        et_auxiliary_load b[ET_MOST_AUXILIARY];
        int n = et_stream_auxiliary(g->p, c->s, i, b);
        for (int j = 0; j < n; j++) {
            et_auxiliary *side = &sides->of[i][sides->count[i]];
            if (!plan_side(g, c, &b[j], at, side)) continue;
            int end = at + c->s->tn * side->pitch;
            int sources = side->on ? 1 : side->copies;
            int most = c->run || c->bf16 ? ET_MOST_AUXILIARY_COPIES : ET_USUAL_AUXILIARY_COPIES;
            if (end > g->p->ring.bytes || sides->sources + sources > most ||
                side->copies > ET_MOST_ALIKE_COPIES)
                continue;
            sides->count[i]++;
            sides->sources += sources;
            at = (end + PIECE - 1) / PIECE * PIECE;
        }
    }
    return sides;
}

const et_auxiliary *et_mainloop_auxiliary(const et_mainloop *c, int i, et_expr load) {
    for (int j = 0; c->auxiliary && j < c->auxiliary->count[i]; j++)
        if (et_expr_eq(c->auxiliary->of[i][j].load, load)) return &c->auxiliary->of[i][j];
    return NULL;
}
