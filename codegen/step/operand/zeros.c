/* Which chunks a product leaves out, as all of their weights are zero
 * (ir/weights/zeros.h). The words of a tile's rows, ORed, say which columns have any
 * that is not; producer and consumers read the same words, which nothing writes
 * while the kernel runs, and so go through the same chunks. */
#include "ir/weights/zeros.h"
#include "codegen/step/operand/operand.h"

/* The word of the rows that begin with row N of product I; the last ones for rows that are not
 * there. */
static val word(cg *g, const et_contract *c, int i, int n) {
    const et_node_x x = *et_x(g->x, et_zeros_load(g->p, c->p.s, i));
    const et_shape *t = &g->p->tensors[x.i].shape;
    et_zeros z;
    et_zeros_of(g->p, x.i, &z);
    et_expr matrix = et_int(g->x, 0);
    for (int d = 0; d + 2 < x.nops; d++)
        matrix = et_add(g->x, et_mul(g->x, matrix, t->dim[d]), x.ops[d]);
    et_expr row = et_subst_var(g->x, x.ops[x.nops - 2], c->p.s->nvar, et_int(g->x, n));
    val at = cg_muli(g, cg_emit_i64(g, matrix), z.groups);
    val last = cg_i64(g, z.rows - 1), from = cg_emit_i64(g, row);
    from = cg_select(g, cg_icmp(g, LLVMIntSLT, from, last), from, last);
    at = cg_add(g, at, LLVMBuildLShr(g->b, from, cg_i64(g, 4), ""));
    val ptr = cg_gepi(g, cg_gep(g, g->tensor[x.i], cg_muli(g, at, 8)), z.at);
    val v = LLVMBuildLoad2(g->b, LLVMVectorType(g->i32, 2), ptr, "");
    LLVMSetAlignment(v, 8);
    return v;
}

void cg_contract_find_zeros(cg *g, et_contract *c) {
    if (!c->p.zeros) return;
    int mark = cg_scope(g);
    val all = NULL, half[2];
    for (int i = 0; i < c->p.s->nacc; i++)
        for (int n = 0; n < c->p.s->tn; n += ET_ZERO_ROWS) {
            val one = word(g, c, i, n);
            all = all ? LLVMBuildOr(g->b, all, one, "") : one;
        }
    for (int i = 0; i < 2; i++)
        half[i] = cg_uniform(g, cg_extract(g, all, i));
    c->now.some = LLVMBuildBitCast(g->b, cg_vector(g, g->i32, 2, half), g->i64, "");
    cg_scope_end(g, mark);
}

val cg_contract_next(cg *g, const et_contract *c, val chunk) {
    if (!c->p.zeros) return chunk;
    et_zeros z;
    et_zeros_of(g->p, et_x(g->x, et_zeros_load(g->p, c->p.s, 0))->i, &z);
    val log2 = cg_i32(g, z.log2_columns), end = cg_i32(g, c->p.chunks), zero = cg_i64(g, 0);
    val bit = LLVMBuildLShr(g->b, cg_muli(g, chunk, c->p.kc), log2, "");
    val inside = cg_call(g, "llvm.umin", 1, &g->i32, 2, (val[]){bit, cg_i32(g, 63)});
    val rest = LLVMBuildLShr(g->b, c->now.some, LLVMBuildZExt(g->b, inside, g->i64, ""), "");
    val any = cg_icmp(g, LLVMIntNE, rest, zero);
    any = LLVMBuildAnd(g->b, any, cg_icmp(g, LLVMIntSLT, chunk, end), "");
    val skip = cg_call(g, "llvm.cttz", 1, &g->i64, 2, (val[]){rest, LLVMConstInt(g->i1, 0, false)});
    skip = LLVMBuildTrunc(g->b, skip, g->i32, "");
    val at = LLVMBuildShl(g->b, cg_add(g, bit, skip), log2, "");
    at = LLVMBuildUDiv(g->b, at, cg_i32(g, c->p.kc), "");
    at = cg_call(g, "llvm.umax", 1, &g->i32, 2, (val[]){at, chunk});
    return cg_select(g, any, at, end);
}
