/* Products by weights of which two of every four k's are zero, read packed (ir/program/packed.h). A
 * lane reads sixteen k's of a row as 16 bytes and their index as two, all of a wave's lanes those
 * of a block of 16 rows by 64 k's one behind the other. Which matrices are packed is known when
 * weights are loaded, so a step has two plans and a branch between their loops; what comes before
 * and after is the same. */
#include "codegen/step/contract.h"
#include "ir/program/packed.h"
#include "ir/program/step.h"

enum { PIECE = 16, INDEX = 2, VALUES = ET_PACKED_BYTES - ET_PACKED_BYTES / 9 };

static et_packed shape_of(cg *g, const et_contract *c, int i) {
    et_packed p;
    if (!et_packed_of(g->p, et_x(g->x, c->s->b[i])->i, &p)) et_bug("no packed weight");
    return p;
}

/* Of a matrix. */
static int64_t bytes_of(const et_packed *p) {
    return p->high * p->wide * ET_PACKED_BYTES;
}

static bool can(cg *g, const et_contract *c) {
    if (g->opt->sparse != ET_SPARSE_2_4 || !c->direct || c->coded || c->codes || c->streamed ||
        !c->fr->packed || et_layout_groups(c->fr->layout) != 4)
        return false;
    for (int i = 0; i < c->s->nacc; i++) {
        if (!et_packed_can(g->p, c->s, i)) return false;
        const et_node_x n = *et_x(g->x, c->s->b[i]);
        et_expr row = et_subst_var(g->x, n.ops[n.nops - 2], c->s->nvar, et_int(g->x, 0));
        if (!cg_divisible(g, row, ET_PACKED_ROWS)) return false;
    }
    return true;
}

/* The number of a tensor among the kernel's arguments. */
static int argument_of(const cg *g, int tensor) {
    int n = 0;
    for (int i = 0; i < tensor; i++)
        n += g->p->tensors[i].kind != ET_TENSOR_TEMP && g->p->tensors[i].kind != ET_TENSOR_CONST;
    return n;
}

et_contract *cg_contract_other(cg *g, const et_contract *c) {
    if (!can(g, c)) return NULL;
    et_contract *o = et_alloc(g->arena, sizeof *o);
    *o = (et_contract){.s = c->s, .packed = true};
    bool fits = cg_contract_plan(g, o) && o->nload <= ET_MAX_FRAGMENTS &&
                o->results * o->sets == c->results * c->sets;
    if (!fits) return NULL;
    for (int i = 0; i < c->s->nacc; i++)
        g->packed[argument_of(g, et_x(g->x, c->s->b[i])->i)] = true;
    return o;
}

/* The number of the matrix that product I's tile is of. */
static val matrix_of(cg *g, const et_contract *c, int i) {
    const et_node_x n = *et_x(g->x, c->s->b[i]);
    et_expr matrix = et_int(g->x, 0);
    for (int d = 0; d + 2 < n.nops; d++)
        matrix = et_add(g->x, et_mul(g->x, matrix, g->p->tensors[n.i].shape.dim[d]), n.ops[d]);
    return cg_emit_i64(g, matrix);
}

val cg_contract_is_packed(cg *g, const et_contract *c) {
    val all = NULL;
    for (int i = 0; i < c->s->nacc; i++) {
        et_packed p = shape_of(g, c, i);
        val at = cg_gepi(g, g->tensor[et_x(g->x, c->s->b[i])->i], p.is_packed);
        val word =
            LLVMBuildLoad2(g->b, g->i32, cg_gep(g, at, cg_muli(g, matrix_of(g, c, i), 4)), "");
        LLVMSetAlignment(word, 4);
        LLVMSetMetadata(word, g->md_invariant,
                        LLVMMetadataAsValue(g->ctx, LLVMMDNodeInContext2(g->ctx, NULL, 0)));
        all = all ? LLVMBuildAnd(g->b, all, word, "") : word;
    }
    return cg_icmp(g, LLVMIntNE, cg_uniform(g, all), cg_i32(g, 0));
}

/* Where the blocks of the sixteen rows begin that begin with row N of product I; of the last ones,
 * for rows that are not there. */
static val blocks_of(cg *g, const et_contract *c, int i, val n) {
    const et_node_x x = *et_x(g->x, c->s->b[i]);
    et_packed p = shape_of(g, c, i);
    int64_t rows, bytes = p.wide * ET_PACKED_BYTES;
    et_is_int(g->x, g->p->tensors[x.i].shape.dim[x.nops - 2], &rows);
    int mark = cg_scope(g);
    cg_bind(g, c->s->nvar, n, false);
    val row = cg_emit_i64(g, x.ops[x.nops - 2]), last = cg_i64(g, rows - 1);
    row = cg_select(g, cg_icmp(g, LLVMIntSLT, row, last), row, last);
    val at = cg_muli(g, LLVMBuildLShr(g->b, row, cg_i64(g, 4), ""), bytes);
    at = cg_add(g, at, cg_muli(g, matrix_of(g, c, i), bytes_of(&p)));
    cg_scope_end(g, mark);
    return cg_gep(g, cg_gepi(g, g->tensor[x.i], p.at), at);
}

void cg_contract_packed_rows(cg *g, et_contract *c) {
    for (int i = 0; i < c->s->nacc; i++)
        for (int r = 0; r < c->nsub * c->rows_n; r++) {
            cg_addr *a = &c->row[i][r];
            int in = r % c->rows_n;
            a->base = in ? c->row[i][r - in].base
                         : blocks_of(g, c, i, cg_addi(g, c->n0, 16 * (r / c->rows_n)));
            val row = cg_addi(g, c->lane_n, et_deal_value(&c->fr->layout->n, in));
            a->lane = cg_add(g, cg_muli(g, c->group, ET_PACKED_ROWS), row);
        }
}

/* BYTES of the lane's part, which lies SKIP bytes into the block at AT. */
static val part(cg *g, val at, const cg_addr *row, int64_t skip, int bytes) {
    val off = LLVMBuildZExt(g->b, cg_muli(g, row->lane, bytes), g->i64, "");
    val v = LLVMBuildLoad2(g->b, bytes == INDEX ? g->i16 : LLVMVectorType(g->i32, PIECE / 4),
                           cg_gepi(g, cg_gep(g, at, off), skip), "");
    LLVMSetAlignment(v, (unsigned)bytes);
    return v;
}

/* Past the last block there is the row's first, made zero. */
void cg_contract_packed(cg *g, const et_contract *c, val chunk, val *out) {
    val first = LLVMBuildLShr(g->b, c->kpart, cg_i32(g, 6), "");
    first = cg_add(g, first, cg_muli(g, chunk, c->kc / ET_PACKED_K));
    for (int u = 0; u < c->units; u++)
        for (int i = 0; i < c->s->nacc; i++)
            for (int r = 0; r < c->nsub * c->rows_n; r++) {
                const cg_addr *row = &c->row[i][r];
                val number = cg_addi(g, first, u), in = NULL;
                if (c->tail) {
                    in = cg_icmp(g, LLVMIntSLT, number, cg_i32(g, shape_of(g, c, i).wide));
                    number = cg_select(g, in, number, cg_i32(g, 0));
                }
                number = LLVMBuildZExt(g->b, cg_muli(g, number, ET_PACKED_BYTES), g->i64, "");
                val at = cg_gep(g, row->base, number), v = part(g, at, row, 0, PIECE);
                if (in) v = cg_select(g, in, v, LLVMConstNull(LLVMTypeOf(v)));
                val index = LLVMBuildZExt(g->b, part(g, at, row, VALUES, INDEX), g->i32, "");
                val *to = out + r / c->rows_n * 2 * c->rows_n + r % c->rows_n;
                to[0] = v;
                to[c->rows_n] = index;
                if (r + 1 == c->nsub * c->rows_n) out += 2 * c->nsub * c->rows_n;
            }
}
