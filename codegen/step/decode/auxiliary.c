/* What several k of quantised values share, as the scales of groups, comes through the weight
 * stream with the values. Loads of consumers would queue behind all that the stream has in flight.
 * In a stage it follows the values, product by product, row by row, in the order of memory. */
#include "codegen/step/decode/decode.h"

enum { PIECE = ET_RING_PIECE };

static int dtype_bits(cg *g, et_expr load) {
    return et_dtype_bits(g->p->tensors[et_x(g->x, load)->i].shape.dtype);
}

/* ---- by consumers ---- */

/* E, an offset in bytes, modulo PIECE: without terms that are multiples of PIECE. */
static et_expr residue(et_exprs *x, et_expr e) {
    et_node_x n = *et_x(x, e);
    if (et_divides(x, PIECE, e)) return et_int(x, 0);
    if (n.op != ET_X_ADD) return e;
    return et_add(x, residue(x, n.ops[0]), residue(x, n.ops[1]));
}

/* Bytes from the begin of its first piece to row number ROW of the chunk. */
static val behind(cg *g, const et_contract *c, const et_auxiliary *side, val chunk, int row) {
    et_node_x x = *et_x(g->x, side->load);
    int mark = cg_scope(g), bytes = dtype_bits(g, side->load) / 8;
    cg_bind(g, c->p.s->nvar, c->at.row_n[row], true);
    et_expr off = et_subst_var(g->x, cg_offset(g, x.i2, x.i, x.ops), c->p.s->kvar, et_int(g->x, 0));
    off = residue(g->x, et_mul(g->x, cg_in_entry(g, off), et_int(g->x, bytes)));
    val first = LLVMBuildZExtOrBitCast(g->b, cg_emit(g, off), g->i32, "");
    cg_scope_end(g, mark);
    val at = cg_add(g, first, cg_muli(g, chunk, side->bytes));
    return LLVMBuildAnd(g->b, at, cg_i32(g, PIECE - 1), "");
}

/* Of four bits, the byte that holds it; the half follows from the offset in memory, as in loads
 * from there (cg_loaded_one). A chunk begins with a whole byte. */
val cg_auxiliary_value(cg *g, const et_contract *c, const et_auxiliary *side, val chunk, val stage,
                       int row, val k) {
    et_node_x x = *et_x(g->x, side->load);
    int bits = dtype_bits(g, side->load);
    val group = LLVMBuildLShr(g->b, k, cg_i32(g, __builtin_ctz((unsigned)side->group)), "");
    val byte = bits < 8 ? LLVMBuildUDiv(g->b, group, cg_i32(g, 8 / bits), "")
                        : cg_muli(g, group, bits / 8);
    val at = cg_add(g, cg_muli(g, c->at.row_n[row], side->pitch), byte);
    if (side->wide) at = cg_add(g, at, behind(g, c, side, chunk, row));
    LLVMTypeRef t = bits < 8 ? g->i8 : cg_storage(g, g->p->tensors[x.i].shape.dtype);
    val v = LLVMBuildLoad2(g->b, t, cg_gepi(g, cg_gep(g, stage, at), side->at), "");
    LLVMSetAlignment(v, bits < 8 ? 1 : (unsigned)bits / 8);
    return cg_contract_single(g, v);
}

/* An integer of BITS at byte AT of the lane's row number ROW. */
static val bits_at(cg *g, const et_contract *c, const et_auxiliary *side, val stage, int row,
                   val at, int bits, int align) {
    at = cg_add(g, cg_muli(g, c->at.row_n[row], side->pitch), at);
    val v = LLVMBuildLoad2(g->b, cg_words(g, bits), cg_gepi(g, cg_gep(g, stage, at), side->at), "");
    LLVMSetAlignment(v, (unsigned)align);
    return v;
}

val cg_auxiliary_codes(cg *g, const et_contract *c, const et_auxiliary *side, val stage, int row,
                       val k, int n) {
    int bits = dtype_bits(g, side->load);
    val at = LLVMBuildUDiv(g->b, k, cg_i32(g, 8 / bits), "");
    return bits_at(g, c, side, stage, row, at, n * bits, n * bits / 8);
}

/* Elements that there are none of, since the turn has fewer runs, are others. */
val cg_auxiliary_columns(cg *g, const et_contract *c, const et_raw *r, val chunk, val stage,
                         int row) {
    const et_auxiliary *side = r->side;
    int bits = dtype_bits(g, side->load), here = et_runs_here(&c->p, r->u / et_runs_units(&c->p));
    bool two = r->columns == ET_COLUMNS_BOTH;
    val k = cg_addi(g, c->at.kpart, (int64_t)r->u * c->p.unit_k), column = c->at.out_m;
    if (r->columns == ET_COLUMNS_SECOND) column = cg_addi(g, column, 1);
    if (here < 8)
        column = cg_call(g, "llvm.umin", 1, &g->i32, 2, (val[]){column, cg_i32(g, here - 1 - two)});
    if (r->columns != ET_COLUMNS_ALL) k = cg_add(g, k, cg_muli(g, column, c->p.run));
    val at = LLVMBuildUDiv(g->b, k, cg_i32(g, side->group), "");
    at = cg_muli(g, at, bits / 8);
    if (side->wide) at = cg_add(g, at, behind(g, c, side, chunk, row));
    bool whole = !side->wide && side->pitch % (bits / 4) == 0;
    val v = bits_at(g, c, side, stage, row, at, bits << two, (bits / 8) << (two && whole));
    return bits << two < 32 ? LLVMBuildZExt(g->b, v, g->i32, "") : v;
}

val cg_auxiliary_units(cg *g, const et_contract *c, const et_raw *r, val chunk, val stage,
                       int row) {
    const et_auxiliary *side = r->side;
    int each = dtype_bits(g, side->load), bits = each * r->each;
    val at = LLVMBuildUDiv(g->b, c->at.kpart, cg_i32(g, side->group), "");
    at = cg_muli(g, cg_addi(g, at, r->first), each / 8);
    if (side->wide) at = cg_add(g, at, behind(g, c, side, chunk, row));
    val v = bits_at(g, c, side, stage, row, at, bits, bits / 8);
    return bits < 32 ? LLVMBuildZExt(g->b, v, g->i32, "") : v;
}

/* ---- by the producer ---- */

/* The lane's copy of a chunk, of those from number FIRST on. Lanes past the last one make that once
 * more. */
static val item_of(cg *g, const et_contract *c, const et_auxiliary *side, int first) {
    int left = c->p.s->tn * side->pieces - first;
    val lane = g->lane;
    if (left < g->t->wave && !(left & (left - 1)))
        lane = LLVMBuildAnd(g->b, lane, cg_i32(g, left - 1), "");
    else if (left < g->t->wave)
        lane = cg_call(g, "llvm.umin", 1, &g->i32, 2, (val[]){lane, cg_i32(g, left - 1)});
    return cg_addi(g, lane, first);
}

static val source(cg *g, const et_contract *c, const et_auxiliary *side, val item) {
    et_node_x x = *et_x(g->x, side->load);
    val pieces = cg_i32(g, side->pieces);
    int mark = cg_scope(g);
    cg_bind(g, c->p.s->nvar, LLVMBuildUDiv(g->b, item, pieces, ""), true);
    et_expr off = cg_offset(g, x.i2, x.i, x.ops);
    val at = cg_address(g, x.i2, x.i, et_subst_var(g->x, off, c->p.s->kvar, et_int(g->x, 0)));
    cg_scope_end(g, mark);
    val offset = cg_muli(g, LLVMBuildURem(g->b, item, pieces, ""), side->piece);
    return cg_gep(g, at, LLVMBuildZExt(g->b, offset, g->i64, ""));
}

/* Calls F for each copy of a chunk that a lane makes, with its source. */
static void each(cg *g, const et_contract *c,
                 void (*f)(cg *, const et_contract *, const et_auxiliary *, int, void *, val *),
                 void *ctx, val *from) {
    for (int i = 0; c->p.auxiliary && i < c->p.s->nacc; i++)
        for (int j = 0; j < c->p.auxiliary->count[i]; j++) {
            const et_auxiliary *side = &c->p.auxiliary->of[i][j];
            for (int k = 0; k < (side->on ? 1 : side->copies); k++)
                f(g, c, side, k, ctx, from++);
        }
}

static void begin(cg *g, const et_contract *c, const et_auxiliary *side, int first, void *none,
                  val *from) {
    (void)none;
    *from = source(g, c, side, item_of(g, c, side, first * g->t->wave));
}

static void bring_one(cg *g, const et_contract *c, const et_auxiliary *side, int first, val stage,
                      val piece) {
    val item = item_of(g, c, side, first), at = cg_muli(g, item, side->piece);
    if (side->pitch > side->pieces * side->piece) {
        val row = LLVMBuildUDiv(g->b, item, cg_i32(g, side->pieces), "");
        at = cg_add(g, at, cg_muli(g, row, side->pitch - side->pieces * side->piece));
    }
    if (side->wide) {
        LLVMTypeRef t[] = {LLVMTypeOf(piece), g->i64};
        val whole[] = {piece, LLVMConstInt(g->i64, (unsigned long long)-PIECE, true)};
        piece = cg_call(g, "llvm.ptrmask", 2, t, 2, whole);
    }
    g->family->stream->copy(g, cg_gepi(g, cg_gep(g, stage, at), side->at), piece, side->piece,
                            c->p.plan.evict_first);
}

static void bring(cg *g, const et_contract *c, const et_auxiliary *side, int first, void *stage,
                  val *from) {
    for (int k = 0; k < (side->on ? side->copies : 1); k++)
        bring_one(g, c, side, (first + k) * g->t->wave, stage,
                  k ? cg_gepi(g, *from, k * side->on) : *from);
}

static void move(cg *g, const et_contract *c, const et_auxiliary *side, int first, void *by,
                 val *from) {
    (void)c, (void)first;
    val chunks = by ? LLVMBuildZExt(g->b, cg_muli(g, by, side->bytes), g->i64, "")
                    : LLVMConstInt(g->i64, (unsigned)side->bytes, false);
    *from = cg_gep(g, *from, chunks);
}

int cg_auxiliary_begin(cg *g, const et_contract *c, val *from) {
    each(g, c, begin, NULL, from);
    return c->p.auxiliary ? c->p.auxiliary->sources : 0;
}

void cg_auxiliary_produce(cg *g, const et_contract *c, val stage, val *from) {
    each(g, c, bring, stage, from);
}

void cg_auxiliary_move(cg *g, const et_contract *c, val chunks, val *from) {
    each(g, c, move, chunks, from);
}
