/* The rows of a of products with few of them, copied to LDS some chunks ahead of the products.
 *
 * Staged just before it is multiplied, each chunk would add a trip to the L2. Where a is a tensor
 * of the operands' type and the family has asynchronous copies, the buffer has stages: of the chunk
 * being multiplied and of those after it, which are in flight. Rows that do not exist are zero.
 * With one to four rows so many chunks have room that staging them together is as good (slots_of in
 * rows.c). */
#include "codegen/step/product/rows.h"

enum { PIECE = 16 };

/* A work-item's pieces of a's rows: address, bytes in a whole chunk, k, and the offset within a
 * chunk, in elements. */
struct et_ahead {
    cg_addr from[ET_MAX_AHEAD];
    val there[ET_MAX_AHEAD], k[ET_MAX_AHEAD], to[ET_MAX_AHEAD];
};

static void begin_item(cg *g, const et_contract *c, struct et_ahead *a, int j) {
    int per = c->p.kc / c->p.piece;
    val item = cg_addi(g, g->tid, (int64_t)j * g->p->workgroup);
    int all = c->p.s->tm * per;
    if (all % g->p->workgroup) /* work-items without one repeat another */
        item = LLVMBuildURem(g->b, item, cg_i32(g, all), "");
    val row = LLVMBuildUDiv(g->b, item, cg_i32(g, per), "");
    val k = cg_muli(g, LLVMBuildURem(g->b, item, cg_i32(g, per), ""), c->p.piece);
    val in = cg_icmp(g, LLVMIntSLT, row, c->now.mlive), last = cg_addi(g, c->now.mlive, -1);
    val of = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){row, last});
    of = cg_call(g, "llvm.smax", 1, &g->i32, 2, (val[]){of, cg_i32(g, 0)});
    int mark = cg_scope(g);
    et_node_x x = *et_x(g->x, c->p.s->a);
    cg_bind(g, c->p.s->mvar, of, true);
    et_expr off = cg_offset(g, x.i2, x.i, x.ops);
    off = et_subst_var(g->x, off, c->p.s->kvar, et_int(g->x, 0));
    a->from[j] = cg_address_split(g, x.i2, x.i, off);
    cg_scope_end(g, mark);
    val lane = cg_muli(g, k, c->p.size);
    a->from[j].lane = a->from[j].lane ? cg_add(g, a->from[j].lane, lane) : lane;
    a->k[j] = k;
    a->to[j] = cg_add(g, cg_muli(g, row, c->p.pitch_a), k);
    a->there[j] = cg_select(g, in, cg_i32(g, PIECE), cg_i32(g, 0));
}

/* Where CHUNK's rows begin, in elements. */
static val stage_of(cg *g, const et_contract *c, val chunk) {
    val stage = LLVMBuildURem(g->b, chunk, cg_i32(g, c->p.rows_ahead), "");
    return cg_muli(g, stage, (int64_t)c->p.s->tm * c->p.pitch_a);
}

/* Bytes of the item's piece that CHUNK has. */
static val piece_bytes(cg *g, const et_contract *c, const struct et_ahead *a, val chunk, int j) {
    if (!c->p.tail) return a->there[j];
    val k = cg_add(g, cg_muli(g, chunk, c->p.kc), a->k[j]);
    val left = LLVMBuildSub(g->b, c->now.kend, k, "");
    left = cg_call(g, "llvm.smax", 1, &g->i32, 2, (val[]){left, cg_i32(g, 0)});
    left = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){left, cg_i32(g, c->p.piece)});
    return cg_call(g, "llvm.umin", 1, &g->i32, 2,
                   (val[]){cg_muli(g, left, c->p.size), a->there[j]});
}

/* Copies CHUNK, if there is such; a group of copies in any case. */
static void copy_chunk(cg *g, const et_contract *c, val chunk) {
    const struct et_ahead *a = c->now.ahead;
    cg_if some;
    cg_if_begin(g, &some, cg_icmp(g, LLVMIntSLT, chunk, c->now.nchunks));
    val far = cg_muli(g, LLVMBuildSExt(g->b, chunk, g->i64, ""), (int64_t)c->p.kc * c->p.size);
    val stage = stage_of(g, c, chunk);
    for (int j = 0; j < et_rows_items(cg_cx(g), &c->p); j++) {
        val lane = LLVMBuildZExt(g->b, a->from[j].lane, g->i64, "");
        val from = cg_gep(g, cg_gep(g, a->from[j].base, far), lane);
        val to = cg_local_ptr(g, c->p.s->stage_a, cg_add(g, stage, a->to[j]));
        g->family->copy(g, to, from, piece_bytes(g, c, a, chunk, j));
    }
    cg_if_end(g, &some);
    g->family->copy_group(g);
}

int cg_rows_ahead_begin(cg *g, et_contract *c, val *carried) {
    (void)carried;
    c->now.ahead = et_alloc(g->arena, sizeof *c->now.ahead);
    for (int j = 0; j < et_rows_items(cg_cx(g), &c->p); j++)
        begin_item(g, c, c->now.ahead, j);
    cg_barrier(g); /* what was staged before has been read */
    for (int i = 0; i + 1 < c->p.rows_ahead; i++)
        copy_chunk(g, c, cg_i32(g, i));
    return 0;
}

val cg_rows_ahead_at(cg *g, const et_contract *c, val chunk) {
    g->family->copied(g, c->p.rows_ahead - 2);
    cg_barrier(g); /* the chunk is there, and the one before it has been multiplied */
    copy_chunk(g, c, cg_addi(g, chunk, c->p.rows_ahead - 1));
    return stage_of(g, c, chunk);
}
