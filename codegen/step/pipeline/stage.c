/* Chunks of both operands of a product of many rows in LDS: their layout, copies into them, and the
 * reads of a wave.
 *
 * A chunk has one part or several, each of ROW bytes of every row: four pieces of 16. Piece q of
 * row r is swizzled by bits 1 to 3 of r, so that eight neighbouring lanes have no bank conflicts,
 * whether they load the four pieces of two rows or one piece of eight rows, neighbours or two and
 * two of sixteen; and copies write whole lines. With warpgroup MMA the swizzle is that of the
 * instruction (et_warpgroup_family), and parts have twice as many bytes of a row where the chunk
 * has them. */
#include "codegen/step/pipeline/pipeline.h"
#include "ir/base/diag.h"

enum { PIECE = 16, ROW = 64, PIECES = ROW / PIECE };

/* Bytes from a chunk's first row to PIECE of ROW, of so many bytes. */
static val place(cg *g, const et_contract *c, int wide, val row, val piece) {
    val swizzle = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, row, cg_i32(g, 1), ""), cg_i32(g, 3), "");
    val eight = LLVMBuildAnd(g->b, LLVMBuildLShr(g->b, row, cg_i32(g, 3), ""), cg_i32(g, 1), "");
    if (!c->p.warpgroup) swizzle = LLVMBuildXor(g->b, swizzle, eight, "");
    if (wide > ROW) swizzle = LLVMBuildAnd(g->b, row, cg_i32(g, 7), "");
    val at = LLVMBuildShl(g->b, LLVMBuildXor(g->b, piece, swizzle, ""), cg_i32(g, 4), "");
    return cg_add(g, cg_muli(g, row, wide), at);
}

/* ---- into a stage ---- */

val cg_chunk_in_turn(cg *g, const et_chunks *r, val turn) {
    const et_mainloop *c = &r->c->p;
    if (!c->spans) return turn;
    val each = cg_i32(g, c->chunks / c->spans), some = cg_i32(g, c->span / c->kc);
    val span = LLVMBuildUDiv(g->b, turn, each, ""), i = LLVMBuildURem(g->b, turn, each, "");
    val of = cg_add(g, cg_muli(g, LLVMBuildUDiv(g->b, i, some, ""), c->spans), span);
    return cg_add(g, cg_muli(g, of, c->span / c->kc), LLVMBuildURem(g->b, i, some, ""));
}

bool cg_chunk_once(cg *g, const et_chunks *r, int i) {
    return i && r->c->p.plan.evict_first && et_weights_may_evict(cg_cx(g), &r->c->p, i - 1);
}

static void address(cg *g, const et_chunks *r, et_chunk_operand *s, int j) {
    int mark = cg_scope(g);
    et_node_x x = *et_x(g->x, s->e);
    cg_bind(g, s->var, s->row[j], true);
    et_expr off = cg_offset(g, x.i2, x.i, x.ops);
    s->from[j] =
        cg_address_split(g, x.i2, x.i, et_subst_var(g->x, off, r->c->p.s->kvar, et_int(g->x, 0)));
    if (!s->from[j].lane) s->from[j].lane = cg_i32(g, 0);
    cg_scope_end(g, mark);
}

static void begin_side(cg *g, et_chunks *r, int i) {
    const et_contract *c = r->c;
    et_chunk_operand *s = &r->side[i];
    int pieces = r->wide / PIECE, total = s->rows * pieces, wg = g->p->workgroup;
    s->n = (total + wg - 1) / wg;
    s->grain = et_access_grain(cg_cx(g), &c->p, s->e);
    s->plain = s->grain > 0;
    s->async = s->plain && g->family->copy;
    s->once = s->grain == PIECE && cg_chunk_once(g, r, i);
    r->async |= s->async;
    bool across = !s->plain && et_access_across(g->p, g->f, s->e, s->var, c->p.s->kvar);
    for (int j = 0; j < s->n; j++) {
        val item = cg_addi(g, g->tid, (int64_t)j * wg);
        if (total % wg && j + 1 == s->n) /* work-items without one repeat another */
            item = LLVMBuildURem(g->b, item, cg_i32(g, total), "");
        val of = cg_i32(g, across ? s->rows : pieces);
        val row = across ? LLVMBuildURem(g->b, item, of, "") : LLVMBuildUDiv(g->b, item, of, "");
        s->piece[j] = across ? LLVMBuildUDiv(g->b, item, of, "") : r->piece;
        s->to[j] = cg_addi(g, place(g, c, r->wide, row, s->piece[j]), s->at);
        val last = cg_addi(g, s->live, -1), in = cg_icmp(g, LLVMIntSLT, row, s->live);
        s->row[j] = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){row, last});
        s->there[j] = cg_select(g, in, cg_i32(g, PIECE), cg_i32(g, 0));
        if (s->plain) address(g, r, s, j);
    }
}

void cg_chunks_begin(cg *g, et_chunks *r) {
    const et_contract *c = r->c;
    const et_step *s = c->p.s;
    r->wide = et_pipeline_row_bytes(&c->p);
    r->piece = LLVMBuildAnd(g->b, g->tid, cg_i32(g, r->wide / PIECE - 1), "");
    r->nsides = c->p.stage_k ? 1 : 1 + s->nacc;
    r->parts = c->p.kc * c->p.size / r->wide;
    r->side[0] = (et_chunk_operand){.e = s->a, .var = s->mvar, .rows = s->tm, .local = s->stage_a};
    r->side[0].live = c->now.mlive;
    r->side[0].bytes = (int64_t)s->tm * r->wide;
    for (int i = 0; i < s->nacc; i++) {
        et_chunk_operand *b = &r->side[1 + i];
        *b = (et_chunk_operand){.e = s->b[i], .var = s->nvar, .rows = s->tn, .local = s->stage_b};
        b->live = c->now.nlive;
        b->at = (int64_t)i * s->tn * r->wide;
        b->bytes = (int64_t)s->nacc * s->tn * r->wide;
    }
    r->bulk = c->p.plan.boxes;
    r->boxed = r->bulk ? et_boxes_first(&c->p) : r->nsides;
    for (int i = 0; i < r->nsides; i++)
        if (i >= r->boxed)
            cg_chunks_begin_box(g, r, i);
        else
            begin_side(g, r, i);
}

static val stage_at(cg *g, const et_chunks *r, const et_chunk_operand *s, val stage) {
    return cg_muli(g, stage, r->parts * s->bytes);
}

static val ring_ptr(cg *g, const et_chunk_operand *s, int j, val at, int part) {
    const et_local *l = &g->f->locals[s->local];
    at = cg_add(g, s->to[j], at);
    return cg_gepi(g, cg_gep(g, cg_gepi(g, g->lds, l->offset), at), part * s->bytes);
}

static val first_k(cg *g, const et_chunks *r, val piece, val chunk, int part) {
    const et_contract *c = r->c;
    val k = cg_add(g, cg_muli(g, chunk, c->p.kc), cg_muli(g, piece, c->p.piece));
    return cg_addi(g, k, (int64_t)part * r->wide / c->p.size);
}

val cg_chunk_first(cg *g, const et_chunks *r, const et_chunk_operand *s, int j) {
    val lane = cg_add(g, s->from[j].lane, cg_muli(g, r->piece, PIECE));
    return cg_gep(g, s->from[j].base, LLVMBuildZExt(g->b, lane, g->i64, ""));
}

static val memory_ptr(cg *g, const et_chunks *r, const et_chunk_operand *s, int j, val chunk,
                      int part) {
    val offset = cg_muli(g, LLVMBuildSExt(g->b, chunk, g->i64, ""), (int64_t)r->parts * r->wide);
    if (s->first[j]) return cg_gepi(g, cg_gep(g, s->first[j], offset), (int64_t)part * r->wide);
    val lane = cg_add(g, s->from[j].lane, cg_muli(g, r->piece, PIECE));
    val base = cg_gep(g, s->from[j].base, offset);
    base = cg_gep(g, base, LLVMBuildZExt(g->b, lane, g->i64, ""));
    return cg_gepi(g, base, (int64_t)part * r->wide);
}

/* How many bytes of this work-item's piece there are. */
static val piece_bytes(cg *g, const et_chunks *r, val chunk, int part) {
    const et_contract *c = r->c;
    if (!c->p.tail) return cg_i32(g, PIECE);
    val left = LLVMBuildSub(g->b, c->now.kend, first_k(g, r, r->piece, chunk, part), "");
    left = cg_call(g, "llvm.smax", 1, &g->i32, 2, (val[]){left, cg_i32(g, 0)});
    left = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){left, cg_i32(g, c->p.piece)});
    return cg_muli(g, left, c->p.size);
}

/* The first BYTES of a piece and zeros, by copies of what rows are aligned to. */
static void copy_piece(cg *g, const et_chunk_operand *s, val to, val from, val bytes) {
    for (int at = 0; at < PIECE && s->grain < PIECE; at += s->grain) {
        val left = cg_addi(g, bytes, -at), most = cg_i32(g, s->grain);
        left = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){left, most});
        left = cg_call(g, "llvm.smax", 1, &g->i32, 2, (val[]){left, cg_i32(g, 0)});
        g->family->copy_few(g, cg_gepi(g, to, at), cg_gepi(g, from, at), s->grain, left);
    }
    if (s->grain < PIECE) return;
    if (s->once)
        g->family->stream->copy_some(g, to, from, bytes);
    else
        g->family->copy(g, to, from, bytes);
}

void cg_chunk_copy(cg *g, const et_chunks *r, val chunk, val stage, int first, int last) {
    chunk = cg_chunk_in_turn(g, r, chunk);
    for (int part = 0; part < r->parts; part++) {
        val bytes = piece_bytes(g, r, chunk, part);
        for (int i = first; i <= last; i++) {
            const et_chunk_operand *s = &r->side[i];
            val at = stage_at(g, r, s, stage);
            if (s->once) at = g->family->stream->own(g, at);
            for (int j = 0; j < s->n && s->async; j++) {
                val to = ring_ptr(g, s, j, at, part);
                val from = memory_ptr(g, r, s, j, chunk, part), n[] = {bytes, s->there[j]};
                copy_piece(g, s, to, from, cg_call(g, "llvm.umin", 1, &g->i32, 2, n));
            }
        }
    }
}

static LLVMTypeRef piece_type(cg *g) {
    return LLVMVectorType(g->i32, PIECE / 4);
}

/* Past the end of a row that ends within the chunk: its first elements instead, then zero. */
static val load_plain(cg *g, const et_chunks *r, const et_chunk_operand *s, int j, val chunk,
                      int part) {
    const et_contract *c = r->c;
    val ptr = memory_ptr(g, r, s, j, chunk, part), k = first_k(g, r, r->piece, chunk, part);
    if (c->p.tail) {
        val start = LLVMBuildZExt(g->b, s->from[j].lane, g->i64, "");
        val in = cg_icmp(g, LLVMIntSLT, k, c->now.kend);
        ptr = cg_select(g, in, ptr, cg_gep(g, s->from[j].base, start));
    }
    val v = LLVMBuildLoad2(g->b, piece_type(g), ptr, "");
    LLVMSetAlignment(v, PIECE);
    return c->p.tail ? cg_contract_mask(g, c, v, k) : v;
}

static val load_computed(cg *g, const et_chunks *r, const et_chunk_operand *s, int j, val chunk,
                         int part) {
    const et_contract *c = r->c;
    val v[16];
    int mark = cg_scope(g);
    cg_bind(g, s->var, s->row[j], true);
    val piece = cg_addi(g, s->piece[j], part * (r->wide / PIECE));
    cg_contract_elements(g, c, s->e, false, chunk, piece, c->p.piece, v);
    cg_scope_end(g, mark);
    for (int k = 0; k < c->p.piece; k++)
        v[k] = cg_to_storage(g, c->p.s->operand, v[k]);
    val all = cg_vector(g, cg_storage(g, c->p.s->operand), c->p.piece, v);
    return LLVMBuildBitCast(g->b, all, piece_type(g), "");
}

void cg_chunk_load(cg *g, et_chunks *r, val chunk) {
    chunk = cg_chunk_in_turn(g, r, chunk);
    for (int i = 0; i < r->nsides; i++) {
        et_chunk_operand *s = &r->side[i];
        for (int j = 0; j < s->n && !s->async; j++)
            for (int part = 0; part < r->parts; part++)
                s->bits[j][part] = s->plain ? load_plain(g, r, s, j, chunk, part)
                                            : load_computed(g, r, s, j, chunk, part);
    }
}

void cg_chunk_store(cg *g, const et_chunks *r, val stage) {
    for (int i = 0; i < r->nsides; i++) {
        const et_chunk_operand *s = &r->side[i];
        for (int j = 0; j < s->n && !s->async; j++)
            for (int part = 0; part < r->parts; part++) {
                val to = ring_ptr(g, s, j, stage_at(g, r, s, stage), part);
                LLVMSetAlignment(LLVMBuildStore(g->b, s->bits[j][part], to), PIECE);
            }
    }
}

val cg_chunk_held(cg *g, const et_chunks *r, const et_chunk_operand *s, int j, val chunk, int part,
                  val any) {
    const et_contract *c = r->c;
    val lane = s->from[j].lane, k = first_k(g, r, r->piece, chunk, part);
    val offset = cg_muli(g, LLVMBuildSExt(g->b, chunk, g->i64, ""), (int64_t)r->parts * r->wide);
    val off = cg_addi(g, cg_add(g, lane, cg_muli(g, r->piece, PIECE)), (int64_t)part * r->wide);
    if (c->p.tail) off = cg_select(g, cg_icmp(g, LLVMIntSLT, k, c->now.kend), off, lane);
    val v = g->family->load_if(g, any, s->from[j].base, offset, off);
    return c->p.tail ? cg_contract_mask(g, c, v, k) : v;
}

/* ---- out of a stage ---- */

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
    val first = LLVMBuildUDiv(g->b, c->at.lane_k0, cg_i32(g, c->p.piece), "");
    int n = 0;
    for (int k = 0; k < c->p.lane_k; k += c->p.piece) {
        int offset = (u * c->p.unit_k + k) / c->p.piece, part = offset / PIECES;
        val piece = cg_addi(g, first, offset % PIECES);
        val v = LLVMBuildLoad2(g->b, piece_type(g), row_ptr(g, c, o, row16, row, part, piece), "");
        LLVMSetAlignment(v, PIECE);
        if (c->p.lane_k == c->p.piece) return v;
        for (int w = 0; w < PIECE / 4; w++)
            words[n++] = cg_extract(g, v, w);
    }
    return cg_vector(g, g->i32, n, words);
}

/* A lane's k's are pairs in blocks that are apart, in both operands alike. */
static bool in_blocks(const cg *g, const et_contract *c) {
    return g->family->load_blocks && c->p.size == 2 && c->p.lane_k == c->p.piece &&
           c->p.unit_k * c->p.size == ROW && c->p.rows_m == 2 && c->p.rows_n == 2;
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

void cg_chunk_unit(cg *g, const et_chunks *r, val stage, int u, val *out) {
    const et_contract *c = r->c;
    const int64_t a = r->side[0].bytes, b = r->side[1].bytes;
    struct staged m = {c->p.s->stage_a,     a,   cg_muli(g, stage, r->parts * a), c->at.lane_m,
                       &c->p.fr->layout->m, true};
    struct staged n = {c->p.s->stage_b,     b,    cg_muli(g, stage, r->parts * b), c->at.lane_n,
                       &c->p.fr->layout->n, false};
    for (int ms = 0; ms < c->p.msub; ms++, out += c->p.rows_m)
        fragments(g, c, &m, cg_addi(g, c->at.m0, (int64_t)c->p.next_m * ms), u, out);
    for (int i = 0; i < c->p.s->nacc * c->p.nsub; i++, out += c->p.rows_n) {
        int64_t first = (int64_t)(i / c->p.nsub) * c->p.s->tn + 16 * (i % c->p.nsub);
        fragments(g, c, &n, cg_addi(g, c->at.n0, first), u, out);
    }
}

int cg_chunk_unit_values(const et_contract *c) {
    return c->p.msub * c->p.rows_m + c->p.s->nacc * c->p.nsub * c->p.rows_n;
}

void cg_chunk_multiply_unit(cg *g, const et_contract *c, const val *of, val *acc) {
    const val *b = of + (ptrdiff_t)c->p.msub * c->p.rows_m;
    for (int p = 0; p < c->p.s->nacc; p++)
        for (int ns = 0; ns < c->p.nsub; ns++, b += c->p.rows_n)
            for (int ms = 0; ms < c->p.msub; ms++) {
                val *sum = &acc[cg_contract_sum(c, p, ms, ns)];
                *sum = g->family->multiply(g, c->p.fr, c->p.lane_k, b,
                                           of + (ptrdiff_t)ms * c->p.rows_m, *sum);
            }
}

void cg_chunk_multiply(cg *g, const et_chunks *r, val stage, val *acc) {
    val of[ET_UNIT_VALUES];
    for (int u = 0; u < r->c->p.units; u++) {
        cg_chunk_unit(g, r, stage, u, of);
        cg_chunk_multiply_unit(g, r->c, of, acc);
    }
}
