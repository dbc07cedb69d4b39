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

/* ---- by the producer ---- */

/* The lane's copy of a chunk, of those from number FIRST on. */
static val item_of(cg *g, const et_contract *c, const et_auxiliary *side, int first) {
    int items = c->p.s->tn * (side->pitch / side->piece);
    val lane = g->lane;
    if (items < g->t->wave) lane = LLVMBuildAnd(g->b, lane, cg_i32(g, items - 1), "");
    return cg_addi(g, lane, first);
}

static val source(cg *g, const et_contract *c, const et_auxiliary *side, val item) {
    et_node_x x = *et_x(g->x, side->load);
    val pieces = cg_i32(g, side->pitch / side->piece);
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
        for (int j = 0; j < c->p.auxiliary->count[i]; j++)
            for (int k = 0; k < c->p.auxiliary->of[i][j].copies; k++)
                f(g, c, &c->p.auxiliary->of[i][j], k * g->t->wave, ctx, from++);
}

static void begin(cg *g, const et_contract *c, const et_auxiliary *side, int first, void *none,
                  val *from) {
    (void)none;
    *from = source(g, c, side, item_of(g, c, side, first));
}

static void bring(cg *g, const et_contract *c, const et_auxiliary *side, int first, void *stage,
                  val *from) {
    val at = cg_muli(g, item_of(g, c, side, first), side->piece), piece = *from;
    if (side->wide) {
        LLVMTypeRef t[] = {LLVMTypeOf(piece), g->i64};
        val whole[] = {piece, LLVMConstInt(g->i64, (unsigned long long)-PIECE, true)};
        piece = cg_call(g, "llvm.ptrmask", 2, t, 2, whole);
    }
    g->family->stream->copy(g, cg_gepi(g, cg_gep(g, stage, at), side->at), piece, side->piece,
                            c->p.plan.evict_first);
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
    return c->p.auxiliary ? c->p.auxiliary->copies : 0;
}

void cg_auxiliary_produce(cg *g, const et_contract *c, val stage, val *from) {
    each(g, c, bring, stage, from);
}

void cg_auxiliary_move(cg *g, const et_contract *c, val chunks, val *from) {
    each(g, c, move, chunks, from);
}
