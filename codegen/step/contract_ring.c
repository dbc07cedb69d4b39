/* CONTRACT steps of many rows: both operands go through a ring of chunks in LDS, ahead of the
 * products, and every wave has a rectangle of the tile's sums.
 *
 * A chunk has one part or several, each of ROW bytes of every row: four pieces of 16. Where piece q
 * of row r lies is turned by bits 1 to 3 of r, so that eight neighbouring lanes meet no bank twice,
 * whether they load the four pieces of two rows or one piece of eight, be those next to each other
 * or two and two of sixteen; and those that fill the ring write whole lines.
 *
 * Where waves multiply together (et_group_family), they take a chunk's operands from there
 * themselves, while the waves bring others; where a piece lies is as they want it, and parts have
 * twice as much of a row where the chunk has.
 *
 * An operand that is a tensor of the operands' type is copied without passing through registers
 * where the family can, as far ahead as the ring is long. Where it cannot, and all operands are
 * such, several chunks are on their way in registers, and one is stored while the one before it is
 * multiplied. Any other operand is loaded while the chunk before it is multiplied, and stored after
 * that. */
#include "codegen/step/contract.h"
#include "ir/base/diag.h"
#include <string.h>

enum { PIECE = 16, ROW = 64, PIECES = ROW / PIECE, MOST_ITEMS = 8, MOST_PARTS = 4 };
enum { MOST_VALUES = 2 * (ET_MAX_ROWS + ET_MAX_SUMS) * ET_MAX_ROWS }; /* of a wave's unit */

/* An operand on its way into the ring. Work-items have the same pieces of every chunk. */
struct side {
    et_expr e;
    int var, rows, local;
    int64_t at, bytes; /* of its first row in a part of the local, and of such a part */
    val live;          /* rows: those after them are not read */
    bool plain;        /* a tensor, as it is */
    bool async;        /* and copied */
    int n;             /* pieces of a work-item */
    cg_addr from[MOST_ITEMS];
    val there[MOST_ITEMS]; /* bytes of a piece: none of a row that is not live */
    val row[MOST_ITEMS], to[MOST_ITEMS], bits[MOST_ITEMS][MOST_PARTS];
};

struct ring {
    const et_contract *c;
    struct side side[1 + ET_MAX_ACC];
    int nsides;
    int wide;   /* bytes of a row in a part */
    int parts;  /* of a chunk */
    bool async; /* some are */
    val piece;  /* of a row, that this work-item has */
};

/* Rows of a part are twice as long where waves multiply together and a chunk has as much of each:
 * memory is asked for whole lines then. */
static int row_bytes(const et_contract *c) {
    return c->together && c->s->kc * c->size % (2 * ROW) == 0 ? 2 * ROW : ROW;
}

static int items(const cg *g, int rows, int wide) {
    return (rows * (wide / PIECE) + g->p->workgroup - 1) / g->p->workgroup;
}

const char *cg_contract_ring_problem(cg *g, const et_contract *c) {
    const et_step *s = c->s;
    int sums = cg_contract_sums(c), wide = row_bytes(c);
    if ((s->wk > 1 && !c->together) || s->stage_b < 0 || s->kc * c->size % ROW ||
        s->kc * c->size / ROW > MOST_PARTS || c->piece * c->size != PIECE ||
        g->p->workgroup % (wide / PIECE))
        return "a ring's chunks have 64 bytes of each row, or two to four times that, and all "
               "waves "
               "take the same k";
    if (items(g, s->tm, wide) > MOST_ITEMS || items(g, s->tn, wide) > MOST_ITEMS ||
        c->msub > ET_MAX_ROWS * 2)
        return "a ring's chunks are too large";
    if (sums > ET_MAX_SUMS)
        return et_printf(g->arena, "a wave cannot hold %d sums of 16 x 16", sums);
    return NULL;
}

/* Bytes from a chunk's first row to PIECE of ROW, of so many bytes. */
static val place(cg *g, const et_contract *c, int wide, val row, val piece) {
    val turn = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, row, cg_i32(g, 1), ""), cg_i32(g, 3), "");
    val eight = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, row, cg_i32(g, 3), ""), cg_i32(g, 1), "");
    if (!c->together) turn = LLVMBuildXor(g->b, turn, eight, "");
    if (wide > ROW) turn = LLVMBuildAnd(g->b, row, cg_i32(g, 7), "");
    val at = LLVMBuildShl(g->b, LLVMBuildXor(g->b, piece, turn, ""), cg_i32(g, 4), "");
    return cg_add(g, cg_muli(g, row, wide), at);
}

/* ---- into the ring ---- */

static void address(cg *g, const struct ring *r, struct side *s, int j) {
    int mark = cg_scope(g);
    et_node_x x = *et_x(g->x, s->e);
    cg_bind(g, s->var, s->row[j], true);
    et_expr off = cg_offset(g, x.i2, x.i, x.ops);
    s->from[j] =
        cg_address_split(g, x.i2, x.i, et_subst_var(g->x, off, r->c->s->kvar, et_int(g->x, 0)));
    if (!s->from[j].lane) s->from[j].lane = cg_i32(g, 0);
    cg_scope_end(g, mark);
}

static void begin_side(cg *g, struct ring *r, struct side *s) {
    const et_contract *c = r->c;
    int pieces = r->wide / PIECE, total = s->rows * pieces, wg = g->p->workgroup;
    s->n = items(g, s->rows, r->wide);
    s->plain = cg_contract_direct(g, c->s, s->e, c->piece);
    s->async = s->plain && g->family->copy;
    r->async |= s->async;
    for (int j = 0; j < s->n; j++) {
        val item = cg_addi(g, g->tid, (int64_t)j * wg);
        if (total % wg && j + 1 == s->n) /* those that have none left copy one once more */
            item = LLVMBuildURem(g->b, item, cg_i32(g, total), "");
        val row = LLVMBuildUDiv(g->b, item, cg_i32(g, pieces), "");
        s->to[j] = cg_addi(g, place(g, c, r->wide, row, r->piece), s->at);
        val last = cg_addi(g, s->live, -1), in = cg_icmp(g, LLVMIntSLT, row, s->live);
        s->row[j] = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){row, last});
        s->there[j] = cg_select(g, in, cg_i32(g, PIECE), cg_i32(g, 0));
        if (s->plain) address(g, r, s, j);
    }
}

static void begin(cg *g, struct ring *r) {
    const et_contract *c = r->c;
    const et_step *s = c->s;
    r->wide = row_bytes(c);
    r->piece = LLVMBuildAnd(g->b, g->tid, cg_i32(g, r->wide / PIECE - 1), "");
    r->nsides = 1 + s->nacc;
    r->parts = c->kc * c->size / r->wide;
    r->side[0] = (struct side){.e = s->a, .var = s->mvar, .rows = s->tm, .local = s->stage_a};
    r->side[0].live = c->mlive;
    r->side[0].bytes = (int64_t)s->tm * r->wide;
    for (int i = 0; i < s->nacc; i++) {
        struct side *b = &r->side[1 + i];
        *b = (struct side){.e = s->b[i], .var = s->nvar, .rows = s->tn, .local = s->stage_b};
        b->live = c->nlive;
        b->at = (int64_t)i * s->tn * r->wide;
        b->bytes = (int64_t)s->nacc * s->tn * r->wide;
    }
    for (int i = 0; i < r->nsides; i++)
        begin_side(g, r, &r->side[i]);
}

static val ring_ptr(cg *g, const struct ring *r, const struct side *s, int j, val slot, int part) {
    const et_local *l = &g->f->locals[s->local];
    val at = cg_add(g, s->to[j], cg_muli(g, slot, r->parts * s->bytes));
    return cg_gepi(g, cg_gep(g, cg_gepi(g, g->lds, l->offset), at), part * s->bytes);
}

static val first_k(cg *g, const struct ring *r, val chunk, int part) {
    const et_contract *c = r->c;
    val k = cg_add(g, cg_muli(g, chunk, c->kc), cg_muli(g, r->piece, c->piece));
    return cg_addi(g, k, (int64_t)part * r->wide / c->size);
}

static val memory_ptr(cg *g, const struct ring *r, const struct side *s, int j, val chunk,
                      int part) {
    val ahead = cg_muli(g, LLVMBuildSExt(g->b, chunk, g->i64, ""), (int64_t)r->parts * r->wide);
    val lane = cg_add(g, s->from[j].lane, cg_muli(g, r->piece, PIECE));
    val base = cg_gep(g, s->from[j].base, ahead);
    base = cg_gep(g, base, LLVMBuildZExt(g->b, lane, g->i64, ""));
    return cg_gepi(g, base, (int64_t)part * r->wide);
}

/* How many bytes of this work-item's piece there are. */
static val piece_bytes(cg *g, const struct ring *r, val chunk, int part) {
    const et_contract *c = r->c;
    if (!c->tail) return cg_i32(g, PIECE);
    val left = LLVMBuildSub(g->b, c->kend, first_k(g, r, chunk, part), "");
    left = cg_call(g, "llvm.smax", 1, &g->i32, 2, (val[]){left, cg_i32(g, 0)});
    left = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){left, cg_i32(g, c->piece)});
    return cg_muli(g, left, c->size);
}

static void copy_chunk(cg *g, const struct ring *r, val chunk, val slot) {
    for (int part = 0; part < r->parts; part++) {
        val bytes = piece_bytes(g, r, chunk, part);
        for (int i = 0; i < r->nsides; i++) {
            const struct side *s = &r->side[i];
            for (int j = 0; j < s->n && s->async; j++) {
                val to = ring_ptr(g, r, s, j, slot, part);
                val from = memory_ptr(g, r, s, j, chunk, part), n[] = {bytes, s->there[j]};
                g->family->copy(g, to, from, cg_call(g, "llvm.umin", 1, &g->i32, 2, n));
            }
        }
    }
}

static LLVMTypeRef piece_type(cg *g) {
    return LLVMVectorType(g->i32, PIECE / 4);
}

/* Past the end of a row that ends within the chunk: its first elements instead, then zero. */
static val load_plain(cg *g, const struct ring *r, const struct side *s, int j, val chunk,
                      int part) {
    const et_contract *c = r->c;
    val ptr = memory_ptr(g, r, s, j, chunk, part), k = first_k(g, r, chunk, part);
    if (c->tail) {
        val start = LLVMBuildZExt(g->b, s->from[j].lane, g->i64, "");
        val in = cg_icmp(g, LLVMIntSLT, k, c->kend);
        ptr = cg_select(g, in, ptr, cg_gep(g, s->from[j].base, start));
    }
    val v = LLVMBuildLoad2(g->b, piece_type(g), ptr, "");
    LLVMSetAlignment(v, PIECE);
    return c->tail ? cg_contract_mask(g, c, v, k) : v;
}

static val load_computed(cg *g, const struct ring *r, const struct side *s, int j, val chunk,
                         int part) {
    const et_contract *c = r->c;
    val v[16];
    int mark = cg_scope(g);
    cg_bind(g, s->var, s->row[j], true);
    val piece = cg_addi(g, r->piece, part * (r->wide / PIECE));
    cg_contract_elements(g, c, s->e, false, chunk, piece, c->piece, v);
    cg_scope_end(g, mark);
    for (int k = 0; k < c->piece; k++)
        v[k] = cg_to_storage(g, c->s->operand, v[k]);
    val all = cg_vector(g, cg_storage(g, c->s->operand), c->piece, v);
    return LLVMBuildBitCast(g->b, all, piece_type(g), "");
}

static void load_chunk(cg *g, struct ring *r, val chunk) {
    for (int i = 0; i < r->nsides; i++) {
        struct side *s = &r->side[i];
        for (int j = 0; j < s->n && !s->async; j++)
            for (int part = 0; part < r->parts; part++)
                s->bits[j][part] = s->plain ? load_plain(g, r, s, j, chunk, part)
                                            : load_computed(g, r, s, j, chunk, part);
    }
}

static void store_chunk(cg *g, const struct ring *r, val slot) {
    for (int i = 0; i < r->nsides; i++) {
        const struct side *s = &r->side[i];
        for (int j = 0; j < s->n && !s->async; j++)
            for (int part = 0; part < r->parts; part++) {
                val to = ring_ptr(g, r, s, j, slot, part);
                LLVMSetAlignment(LLVMBuildStore(g->b, s->bits[j][part], to), PIECE);
            }
    }
}

/* ---- out of it ---- */

/* One of the operands in a chunk, whose first byte is at CHUNK in the local. */
struct staged {
    int local;
    int64_t bytes;   /* of a part of it */
    val chunk, lane; /* lane: of sixteen rows, the first that this lane has */
    const et_deal *deal;
    bool left;
};

static val row_ptr(cg *g, const et_contract *c, const struct staged *o, val row16, val row,
                   int part, val piece) {
    val at = cg_addi(g, cg_add(g, o->chunk, cg_muli(g, row16, ROW)), part * o->bytes);
    val base = cg_gep(g, cg_gepi(g, g->lds, g->f->locals[o->local].offset), at);
    return cg_gep(g, base, place(g, c, ROW, row, piece));
}

/* This lane's k of unit U of the row that the deal has for value I. */
static val fragment(cg *g, const et_contract *c, const struct staged *o, val row16, int i, int u) {
    val row = cg_addi(g, o->lane, et_deal_value(o->deal, i)), words[16];
    val first = LLVMBuildUDiv(g->b, c->lane_k0, cg_i32(g, c->piece), "");
    int n = 0;
    for (int k = 0; k < c->lane_k; k += c->piece) {
        int ahead = (u * c->unit_k + k) / c->piece, part = ahead / PIECES;
        val piece = cg_addi(g, first, ahead % PIECES);
        val v = LLVMBuildLoad2(g->b, piece_type(g), row_ptr(g, c, o, row16, row, part, piece), "");
        LLVMSetAlignment(v, PIECE);
        if (c->lane_k == c->piece) return v;
        for (int w = 0; w < PIECE / 4; w++)
            words[n++] = cg_extract(g, v, w);
    }
    return cg_vector(g, g->i32, n, words);
}

/* A lane's k's lie apart in blocks, two and two; both operands have the same. */
static bool in_blocks(const cg *g, const et_contract *c) {
    return g->family->load_blocks && c->size == 2 && c->lane_k == c->piece &&
           c->unit_k * c->size == ROW && c->rows_m == 2 && c->rows_n == 2;
}

/* Both rows of unit U, each of four words. The words of one instruction are loaded together, in the
 * order in which it takes them: the left operand's blocks by rows first, the right one's by k. */
static void blocks(cg *g, const et_contract *c, const struct staged *o, val row16, int u,
                   val out[ET_MAX_ROWS]) {
    val low = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, g->lane, cg_i32(g, 3), ""), cg_i32(g, 1), "");
    val high = LLVMBuildLShr(g->b, g->lane, cg_i32(g, 4), "");
    val half = o->left ? low : high, odd = o->left ? high : low, words[2][4];
    val row = cg_muli(g, half, et_deal_value(o->deal, 1));
    for (int i = 0; i < 3; i++) { /* of a block, that of those lanes that get its words */
        val bit = LLVMBuildLShr(g->b, g->lane, cg_i32(g, i), "");
        bit = LLVMBuildAnd(g->b, bit, cg_i32(g, 1), "");
        row = cg_add(g, row, cg_muli(g, bit, et_deal_lane(o->deal, 4 << i)));
    }
    for (int p = 0; p < 2; p++) {
        val w[4], piece = cg_addi(g, odd, 2 * p);
        g->family->load_blocks(g, row_ptr(g, c, o, row16, row, u, piece), w);
        for (int i = 0; i < 4; i++)
            words[o->left ? i & 1 : i >> 1][2 * p + (o->left ? i >> 1 : i & 1)] = w[i];
    }
    for (int i = 0; i < 2; i++)
        out[i] = cg_vector(g, g->i32, 4, words[i]);
}

static void fragments(cg *g, const et_contract *c, const struct staged *o, val row16, int u,
                      val out[ET_MAX_ROWS]) {
    if (in_blocks(g, c)) {
        blocks(g, c, o, row16, u, out);
        return;
    }
    for (int i = 0; i < et_deal_values(o->deal); i++)
        out[i] = fragment(g, c, o, row16, i, u);
}

/* What a wave reads of a chunk's unit U, one after the other in OUT: the fragments of a, then those
 * of each b. */
static void read_unit(cg *g, const struct ring *r, val slot, int u, val *out) {
    const et_contract *c = r->c;
    const int64_t a = r->side[0].bytes, b = r->side[1].bytes;
    struct staged m = {c->s->stage_a,     a,   cg_muli(g, slot, r->parts * a), c->lane_m,
                       &c->fr->layout->m, true};
    struct staged n = {c->s->stage_b,     b,    cg_muli(g, slot, r->parts * b), c->lane_n,
                       &c->fr->layout->n, false};
    for (int ms = 0; ms < c->msub; ms++, out += c->rows_m)
        fragments(g, c, &m, cg_addi(g, c->m0, (int64_t)c->next_m * ms), u, out);
    for (int i = 0; i < c->s->nacc * c->nsub; i++, out += c->rows_n) {
        int64_t first = (int64_t)(i / c->nsub) * c->s->tn + 16 * (i % c->nsub);
        fragments(g, c, &n, cg_addi(g, c->n0, first), u, out);
    }
}

/* How many that are. */
static int unit_values(const et_contract *c) {
    return c->msub * c->rows_m + c->s->nacc * c->nsub * c->rows_n;
}

static void multiply_unit(cg *g, const et_contract *c, const val *of, val *acc) {
    const val *b = of + (ptrdiff_t)c->msub * c->rows_m;
    for (int p = 0; p < c->s->nacc; p++)
        for (int ns = 0; ns < c->nsub; ns++, b += c->rows_n)
            for (int ms = 0; ms < c->msub; ms++) {
                val *sum = &acc[cg_contract_sum(c, p, ms, ns)];
                *sum = g->family->multiply(g, c->fr, c->lane_k, b, of + (ptrdiff_t)ms * c->rows_m,
                                           *sum);
            }
}

static void multiply(cg *g, const struct ring *r, val slot, val *acc) {
    val of[MOST_VALUES];
    for (int u = 0; u < r->c->units; u++) {
        read_unit(g, r, slot, u, of);
        multiply_unit(g, r->c, of, acc);
    }
}

/* ---- out of it, by several waves ---- */

/* ROW of an operand, at the k's of step J of these waves: each part has STEPS of them. */
static val group_rows(cg *g, const struct ring *r, const struct side *s, val slot, val row, int j,
                      int steps) {
    const et_contract *c = r->c;
    int own = r->parts * steps / c->s->wk, bytes = r->wide / steps;
    val at = cg_add(g, cg_muli(g, slot, r->parts * s->bytes), cg_muli(g, row, r->wide));
    val base = cg_gepi(g, g->lds, g->f->locals[s->local].offset);
    if (own % steps == 0) { /* whole parts */
        at = cg_add(g, at, cg_muli(g, c->ks, own / steps * s->bytes));
    } else {
        val first = cg_muli(g, c->ks, own), of = cg_i32(g, steps);
        at = cg_add(g, at, cg_muli(g, LLVMBuildUDiv(g->b, first, of, ""), s->bytes));
        at = cg_add(g, at, cg_muli(g, LLVMBuildURem(g->b, first, of, ""), bytes));
    }
    return cg_gepi(g, cg_gep(g, base, at), s->at + j / steps * s->bytes + j % steps * bytes);
}

/* SUM: f32's, of product after product. */
static void multiply_group(cg *g, const struct ring *r, val slot, val *sum) {
    const et_contract *c = r->c;
    const et_group_family *of = g->t->group;
    int columns = 16 * (c->together == ET_GROUP_M ? c->nsub : c->msub);
    val all = cg_i32(g, -16 * of->waves);
    val m = c->together == ET_GROUP_M ? LLVMBuildAnd(g->b, c->m0, all, "") : c->m0;
    val n = c->together == ET_GROUP_N ? LLVMBuildAnd(g->b, c->n0, all, "") : c->n0;
    int steps = r->wide / c->size / of->k;
    of->begin(g, 0, NULL, 0, NULL);
    for (int j = 0; j < r->parts * steps / c->s->wk; j++)
        for (int i = 0; i < c->s->nacc; i++) {
            val a = group_rows(g, r, &r->side[0], slot, m, j, steps);
            val b = group_rows(g, r, &r->side[1 + i], slot, n, j, steps);
            bool rows_m = c->together == ET_GROUP_M;
            of->multiply(g, c->s->operand, r->wide, rows_m ? a : b, rows_m ? b : a, columns,
                         sum + (ptrdiff_t)i * columns / 2);
        }
    of->end(g);
}

/* ---- the loop ---- */

static val next_slot(cg *g, const struct ring *r, val slot) {
    val next = cg_addi(g, slot, 1), round = cg_icmp(g, LLVMIntEQ, next, cg_i32(g, r->c->stages));
    return cg_select(g, round, cg_i32(g, 0), next);
}

static val slot_back(cg *g, const struct ring *r, val slot, int n) {
    val back = cg_addi(g, slot, -n), under = cg_icmp(g, LLVMIntSLT, back, cg_i32(g, 0));
    return cg_select(g, under, cg_addi(g, back, r->c->stages), back);
}

/* CHUNK into SLOT, if there is one of that number. */
static void copy_ahead(cg *g, const struct ring *r, val chunk, val slot) {
    cg_if some;
    cg_if_begin(g, &some, cg_icmp(g, LLVMIntSLT, chunk, r->c->nchunks));
    copy_chunk(g, r, chunk, slot);
    cg_if_end(g, &some);
    g->family->copy_group(g);
}

/* How many chunks are copied ahead of the one that is multiplied. Where waves multiply together,
 * the one before it may still be. */
static int ahead(const struct ring *r) {
    return r->c->stages - (r->c->together ? 2 : 1);
}

static void fill(cg *g, struct ring *r) {
    val zero = cg_i32(g, 0);
    cg_barrier(g); /* what another tile had here has been read */
    for (int i = 0; i < ahead(r) && r->async; i++)
        copy_ahead(g, r, cg_i32(g, i), cg_i32(g, i));
    load_chunk(g, r, zero);
    store_chunk(g, r, zero);
}

static void turn(cg *g, struct ring *r, val *acc) {
    const et_contract *c = r->c;
    int n = cg_contract_sums(c);
    val carried[ET_MAX_SUMS + 1], last = cg_addi(g, c->nchunks, -1);
    memcpy(carried, acc, (size_t)n * sizeof *acc);
    carried[n] = cg_i32(g, 0);
    cg_for f;
    val chunk = cg_for_begin(g, &f, cg_i32(g, 0), c->nchunks, cg_i32(g, 1), true, n + 1, carried);
    val slot = carried[n], next = next_slot(g, r, slot);
    if (r->async) g->family->copied(g, ahead(r) - 1);
    cg_barrier(g); /* the chunk is there, and the one before it has been multiplied */
    if (r->async) copy_ahead(g, r, cg_addi(g, chunk, ahead(r)), slot_back(g, r, slot, 1));
    val then = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){cg_addi(g, chunk, 1), last});
    load_chunk(g, r, then);
    multiply(g, r, slot, carried);
    store_chunk(g, r, next);
    carried[n] = next;
    cg_for_end(g, &f, carried);
    memcpy(acc, carried, (size_t)n * sizeof *acc);
}

/* ---- the loop, with what is on its way in registers ---- */

enum { SLOTS = 2, MOST_SETS = 4 };

/* Where all operands are tensors that pass through registers, so many chunks are on their way at
 * once as the target has loads for, each in a set of registers. 0: they are not, or nobody knows
 * how many chunks there are. */
static int sets(cg *g, struct ring *r) {
    int items = 0, n = MOST_SETS;
    for (int i = 0; i < r->nsides; i++) {
        if (!r->side[i].plain || r->side[i].async) return 0;
        items += r->side[i].n * r->parts;
    }
    while (n > 1 && (n * items > g->t->loads || n > r->c->chunks))
        n /= 2;
    if (!g->family->load_if || r->c->chunks < 0 || r->c->together) return 0;
    for (int i = 0; i < r->nsides; i++)
        for (int j = 0; j < r->side[i].n; j++)
            r->side[i].from[j].base = cg_uniform(g, r->side[i].from[j].base);
    return n;
}

/* A piece of CHUNK, if ANY: there is a chunk of that number. */
static val load_held(cg *g, const struct ring *r, const struct side *s, int j, val chunk, int part,
                     val any) {
    const et_contract *c = r->c;
    val lane = s->from[j].lane, k = first_k(g, r, chunk, part);
    val ahead = cg_muli(g, LLVMBuildSExt(g->b, chunk, g->i64, ""), (int64_t)r->parts * r->wide);
    val off = cg_addi(g, cg_add(g, lane, cg_muli(g, r->piece, PIECE)), (int64_t)part * r->wide);
    if (c->tail) off = cg_select(g, cg_icmp(g, LLVMIntSLT, k, c->kend), off, lane);
    val v = g->family->load_if(g, any, s->from[j].base, ahead, off);
    return c->tail ? cg_contract_mask(g, c, v, k) : v;
}

/* CHUNK into a set of registers; their number. */
static int load_set(cg *g, const struct ring *r, val chunk, val *set) {
    val any = cg_icmp(g, LLVMIntSLT, chunk, r->c->nchunks);
    int n = 0;
    for (int i = 0; i < r->nsides; i++)
        for (int j = 0; j < r->side[i].n; j++)
            for (int part = 0; part < r->parts; part++)
                set[n++] = load_held(g, r, &r->side[i], j, chunk, part, any);
    return n;
}

static void store_set(cg *g, struct ring *r, int slot, const val *set) {
    for (int i = 0; i < r->nsides; i++)
        for (int j = 0; j < r->side[i].n; j++)
            for (int part = 0; part < r->parts; part++)
                r->side[i].bits[j][part] = *set++;
    store_chunk(g, r, cg_i32(g, slot));
}

/* What goes from chunk to chunk. */
struct turning {
    int sums, nsets, n, of; /* n: registers of a set; of: what is read of a unit, or 0 */
    val v[ET_MAX_SUMS + MOST_SETS * (1 + ET_MAX_ACC) * MOST_ITEMS * MOST_PARTS + MOST_VALUES];
};

/* The registers of set number I. */
static val *set_of(struct turning *t, int i) {
    return t->v + t->sums + (ptrdiff_t)(i % t->nsets) * t->n;
}

/* A wave that has a SIMD for itself reads operands while it multiplies others; elsewhere the waves
 * of a SIMD do so for each other. */
static bool is_alone(const cg *g) {
    return g->p->workgroup / g->t->wave <= g->t->simds;
}

/* CHUNK, whose number is I but for a multiple of the sets, is multiplied: its first unit has been
 * read. The next one goes to the other slot, and its registers to the one that is as many chunks
 * after it as there are sets. While a unit is multiplied the next one is read, be that of the next
 * chunk. */
static void turn_once(cg *g, struct ring *r, val chunk, int i, struct turning *t) {
    const et_contract *c = r->c;
    val *set = set_of(t, i + 1), *of = t->v + t->sums + (ptrdiff_t)t->nsets * t->n;
    if (!t->of) {
        store_set(g, r, (i + 1) % SLOTS, set);
        load_set(g, r, cg_addi(g, chunk, 1 + t->nsets), set);
        multiply(g, r, cg_i32(g, i % SLOTS), t->v);
        cg_barrier(g); /* the next chunk is there, and this one has been multiplied */
        return;
    }
    for (int u = 1; u <= c->units; u++) {
        et_mix mix = {.products = t->sums, .reads = t->of * c->lane_k / c->piece};
        bool last = u == c->units;
        val next[MOST_VALUES];
        if (!last) read_unit(g, r, cg_i32(g, i % SLOTS), u, next);
        if (u == 1) {
            store_set(g, r, (i + 1) % SLOTS, set);
            load_set(g, r, cg_addi(g, chunk, 1 + t->nsets), set);
            mix.writes = mix.loads = t->n;
        }
        if (last) {
            cg_barrier(g); /* the next chunk is there, and this one has been read */
            read_unit(g, r, cg_i32(g, (i + 1) % SLOTS), 0, next);
        }
        multiply_unit(g, c, of, t->v);
        g->family->mix(g, c->fr, c->lane_k, &mix);
        g->family->order_loads(g);
        memcpy(of, next, (size_t)t->of * sizeof *of);
    }
}

/* Registers do not change places before what they wait for is there, so each set has code of its
 * own. */
static void turn_sets(cg *g, struct ring *r, int nsets, val *acc) {
    const et_contract *c = r->c;
    struct turning *t = et_alloc(g->arena, sizeof *t);
    int by = nsets < SLOTS ? SLOTS : nsets;
    int64_t whole = c->chunks / by * by;
    *t = (struct turning){
        .sums = cg_contract_sums(c), .nsets = nsets, .of = is_alone(g) ? unit_values(c) : 0};
    memcpy(t->v, acc, (size_t)t->sums * sizeof *acc);
    for (int i = 0; i < nsets; i++)
        t->n = load_set(g, r, cg_i32(g, i), set_of(t, i));
    cg_barrier(g); /* what another tile had here has been read */
    store_set(g, r, 0, set_of(t, 0));
    load_set(g, r, cg_i32(g, nsets), set_of(t, 0));
    cg_barrier(g);
    if (t->of) read_unit(g, r, cg_i32(g, 0), 0, t->v + t->sums + (ptrdiff_t)nsets * t->n);
    if (whole) {
        cg_for f;
        val chunk = cg_for_begin(g, &f, cg_i32(g, 0), cg_i32(g, whole), cg_i32(g, by), true,
                                 t->sums + nsets * t->n + t->of, t->v);
        for (int i = 0; i < by; i++)
            turn_once(g, r, cg_addi(g, chunk, i), i, t);
        cg_for_end(g, &f, t->v);
    }
    for (int i = 0; i < c->chunks - whole; i++)
        turn_once(g, r, cg_i32(g, whole + i), i, t);
    memcpy(acc, t->v, (size_t)t->sums * sizeof *acc);
}

/* The same where waves multiply together: while they do, the next chunk is stored, and the one that
 * they had before is waited for last. */
static void turn_group(cg *g, struct ring *r, val *acc) {
    enum { EIGHT = 8 };
    const et_contract *c = r->c;
    const et_group_family *of = g->t->group;
    int n = cg_contract_sums(c) * EIGHT;
    val carried[ET_MAX_SUMS * EIGHT + 1], last = cg_addi(g, c->nchunks, -1);
    for (int i = 0; i < n; i++)
        carried[i] = cg_extract(g, acc[i / EIGHT], i % EIGHT);
    carried[n] = cg_i32(g, 0);
    cg_for f;
    val chunk = cg_for_begin(g, &f, cg_i32(g, 0), c->nchunks, cg_i32(g, 1), true, n + 1, carried);
    val slot = carried[n], next = next_slot(g, r, slot);
    if (r->async) g->family->copied(g, ahead(r) - 1);
    of->written(g);
    cg_barrier(g); /* the chunk is there, and the one two before it has been multiplied */
    if (r->async) copy_ahead(g, r, cg_addi(g, chunk, ahead(r)), slot_back(g, r, slot, 2));
    val then = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){cg_addi(g, chunk, 1), last});
    load_chunk(g, r, then);
    multiply_group(g, r, slot, carried);
    store_chunk(g, r, next);
    of->over(g, 1, 0, NULL);
    carried[n] = next;
    cg_for_end(g, &f, carried);
    of->over(g, 0, n, carried);
    for (int i = 0; i < n / EIGHT; i++)
        acc[i] = cg_vector(g, g->f32, EIGHT, carried + (ptrdiff_t)i * EIGHT);
}

/* Nothing is read of a tile that has no rows or no k. */
void cg_contract_ring(cg *g, const et_contract *c, val *acc) {
    struct ring *r = et_alloc(g->arena, sizeof *r);
    int n = cg_contract_sums(c);
    val old[ET_MAX_SUMS];
    memcpy(old, acc, (size_t)n * sizeof *old);
    r->c = c;
    /* Where no tensor says how many rows there are, tiles are only of such as have some. A choice
     * that is none leaves more of the loop to what is the same in all lanes, which waves that
     * multiply together wait for; others are given so much to keep that registers do not do. */
    bool sure = c->together && !et_expr_loads(g->x, c->s->mlive);
    val rows =
        sure ? LLVMConstInt(g->i1, 1, false) : cg_icmp(g, LLVMIntSGT, c->mlive, cg_i32(g, 0));
    cg_if any;
    cg_if_begin(g, &any,
                LLVMBuildAnd(g->b, rows, cg_icmp(g, LLVMIntSGT, c->nchunks, cg_i32(g, 0)), ""));
    int mark = cg_scope(g);
    begin(g, r);
    int nsets = sets(g, r);
    if (!nsets) fill(g, r);
    if (c->together)
        turn_group(g, r, acc);
    else if (nsets)
        turn_sets(g, r, nsets, acc);
    else
        turn(g, r, acc);
    cg_scope_end(g, mark);
    cg_if_end(g, &any);
    for (int i = 0; i < n; i++) {
        val phi = LLVMBuildPhi(g->b, LLVMTypeOf(old[i]), "");
        LLVMAddIncoming(phi, (val[]){acc[i], old[i]}, (block[]){any.then, any.otherwise}, 2);
        acc[i] = phi;
    }
}
