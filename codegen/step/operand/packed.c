/* Products by weights of which two of every four k's are zero, read packed (ir/weights/packed.h). A
 * lane reads sixteen k's of a row as 16 bytes and their index as two, all of a wave's lanes those
 * of a block of 16 rows by 64 k's one behind the other. Which matrices are packed is known when
 * weights are loaded, so a step has two plans and a branch between their loops; what comes before
 * and after is the same. */
#include "ir/weights/packed.h"
#include "codegen/step/operand/operand.h"
#include "ir/program/step.h"

enum {
    PIECE = 16,
    INDEX = 2,
    VALUES = ET_PACKED_BYTES - ET_PACKED_BYTES / 9,
    WORDS = PIECE / 4,
    QUARTER = VALUES / WORDS
};

static et_packed shape_of(cg *g, const et_contract *c, int i) {
    et_packed p;
    if (!et_packed_of(g->p, et_x(g->x, c->p.s->b[i])->i, &p)) et_bug("no packed weight");
    return p;
}

/* Of a matrix. */
static int64_t bytes_of(const et_packed *p) {
    return p->high * p->wide * ET_PACKED_BYTES;
}

/* The number of a tensor among the kernel's arguments. */
static int argument_of(const cg *g, int tensor) {
    int n = 0;
    for (int i = 0; i < tensor; i++)
        n += g->p->tensors[i].kind != ET_TENSOR_TEMP && g->p->tensors[i].kind != ET_TENSOR_CONST;
    return n;
}

et_contract *cg_contract_other(cg *g, const et_contract *c) {
    const char *why;
    if (!c->p.s->plan[ET_PLAN_PACKED].made) return NULL;
    et_contract *o = et_alloc(g->arena, sizeof *o);
    bool is = et_mainloop_of(cg_cx(g), c->p.s, ET_PLAN_PACKED, &o->p, &why) &&
              et_mainloop_pairs_with(&c->p, &o->p);
    if (!is) et_bug("%s: a packed b has sums elsewhere", g->f->name);
    for (int i = 0; i < c->p.s->nacc; i++)
        g->packed[argument_of(g, et_x(g->x, c->p.s->b[i])->i)] = true;
    return o;
}

/* The number of the matrix that product I's tile is of. */
static val matrix_of(cg *g, const et_contract *c, int i) {
    const et_node_x n = *et_x(g->x, c->p.s->b[i]);
    et_expr matrix = et_int(g->x, 0);
    for (int d = 0; d + 2 < n.nops; d++)
        matrix = et_add(g->x, et_mul(g->x, matrix, g->p->tensors[n.i].shape.dim[d]), n.ops[d]);
    return cg_emit_i64(g, matrix);
}

val cg_contract_is_packed(cg *g, const et_contract *c) {
    val all = NULL;
    for (int i = 0; i < c->p.s->nacc; i++) {
        et_packed p = shape_of(g, c, i);
        val at = cg_gepi(g, g->tensor[et_x(g->x, c->p.s->b[i])->i], p.is_packed);
        val word =
            LLVMBuildLoad2(g->b, g->i32, cg_gep(g, at, cg_muli(g, matrix_of(g, c, i), 4)), "");
        LLVMSetAlignment(word, 4);
        cg_invariant(g, word);
        all = all ? LLVMBuildAnd(g->b, all, word, "") : word;
    }
    return cg_icmp(g, LLVMIntNE, cg_uniform(g, all), cg_i32(g, 0));
}

/* The last ones, in place of rows that do not exist. */
val cg_contract_packed_at(cg *g, const et_contract *c, int i, val n) {
    const et_node_x x = *et_x(g->x, c->p.s->b[i]);
    et_packed p = shape_of(g, c, i);
    int64_t rows, bytes = p.wide * ET_PACKED_BYTES;
    et_is_int(g->x, g->p->tensors[x.i].shape.dim[x.nops - 2], &rows);
    int mark = cg_scope(g);
    cg_bind(g, c->p.s->nvar, n, false);
    val row = cg_emit_i64(g, x.ops[x.nops - 2]), last = cg_i64(g, rows - 1);
    row = cg_select(g, cg_icmp(g, LLVMIntSLT, row, last), row, last);
    val at = cg_muli(g, LLVMBuildLShr(g->b, row, cg_i64(g, 4), ""), bytes);
    at = cg_add(g, at, cg_muli(g, matrix_of(g, c, i), bytes_of(&p)));
    cg_scope_end(g, mark);
    return cg_gep(g, cg_gepi(g, g->tensor[x.i], p.at), at);
}

/* Which row of sixteen the lane has number IN of, and its part of a block. */
static val lane_of(cg *g, const et_contract *c, int in) {
    val row = cg_addi(g, c->at.lane_n, et_deal_value(&c->p.fr->layout->n, in));
    return cg_add(g, cg_muli(g, c->at.group, ET_PACKED_ROWS), row);
}

void cg_contract_packed_rows(cg *g, et_contract *c) {
    for (int i = 0; i < c->p.s->nacc; i++)
        for (int r = 0; r < c->p.nsub * c->p.rows_n; r++) {
            cg_addr *a = &c->at.row[i][r];
            int in = r % c->p.rows_n;
            a->base =
                in ? c->at.row[i][r - in].base
                   : cg_contract_packed_at(g, c, i, cg_addi(g, c->at.n0, 16 * (r / c->p.rows_n)));
        }
}

static val load(cg *g, LLVMTypeRef t, val at, int64_t skip, int bytes) {
    val v = LLVMBuildLoad2(g->b, t, cg_gepi(g, at, skip), "");
    LLVMSetAlignment(v, (unsigned)bytes);
    return v;
}

static val past(cg *g, val at, val parts, int bytes) {
    return cg_gep(g, at, LLVMBuildZExt(g->b, cg_muli(g, parts, bytes), g->i64, ""));
}

/* What the lane multiplies by of the block at AT, LANE its part of that: one piece, or, where lanes
 * of a row have every fourth word, one of each quarter. */
static val values(cg *g, const et_contract *c, val at, val lane) {
    val word[WORDS];
    if (!g->t->spread)
        return load(g, LLVMVectorType(g->i32, WORDS), past(g, at, lane, PIECE), 0, PIECE);
    val row = LLVMBuildAnd(g->b, lane, cg_i32(g, ET_PACKED_ROWS - 1), "");
    val own = cg_add(g, cg_muli(g, row, WORDS), c->at.group);
    for (int q = 0; q < WORDS; q++)
        word[q] = load(g, g->i32, past(g, at, own, 4), (int64_t)q * QUARTER, 4);
    return cg_vector(g, g->i32, WORDS, word);
}

static val index_at(cg *g, val at, val lane) {
    return LLVMBuildZExt(g->b, load(g, g->i16, past(g, at, lane, INDEX), VALUES, INDEX), g->i32,
                         "");
}

/* ---- from memory ---- */

/* Past the last block there is the row's first, made zero. */
void cg_contract_packed(cg *g, const et_contract *c, val chunk, val *out) {
    val first = LLVMBuildLShr(g->b, c->at.kpart, cg_i32(g, 6), "");
    first = cg_add(g, first, cg_muli(g, chunk, c->p.kc / ET_PACKED_K));
    for (int u = 0; u < c->p.units; u++)
        for (int i = 0; i < c->p.s->nacc; i++)
            for (int r = 0; r < c->p.nsub * c->p.rows_n; r++) {
                val lane = lane_of(g, c, r % c->p.rows_n);
                val number = cg_addi(g, first, u), in = NULL;
                if (c->p.tail) {
                    in = cg_icmp(g, LLVMIntSLT, number, cg_i32(g, shape_of(g, c, i).wide));
                    number = cg_select(g, in, number, cg_i32(g, 0));
                }
                val at = past(g, c->at.row[i][r].base, number, ET_PACKED_BYTES);
                val v = values(g, c, at, lane);
                if (in) v = cg_select(g, in, v, LLVMConstNull(LLVMTypeOf(v)));
                val *to = out + r / c->p.rows_n * 2 * c->p.rows_n + r % c->p.rows_n;
                to[0] = v;
                to[c->p.rows_n] = index_at(g, at, lane);
                if (r + 1 == c->p.nsub * c->p.rows_n) out += 2 * c->p.nsub * c->p.rows_n;
            }
}

/* ---- through the weight stream: of each product each sixteen rows' blocks of the chunk ---- */

void cg_contract_packed_consume(cg *g, const et_contract *c, val *out) {
    cg_ring r = cg_ring_next(g, &g->consumer);
    cg_ring_consumer_wait(g, &r);
    int all = et_stream_packed_bytes(&c->p);
    val at = past(g, cg_ring_stage(g, &r), LLVMBuildLShr(g->b, c->at.n0, cg_i32(g, 4), ""), all);
    at = past(g, at, LLVMBuildLShr(g->b, c->at.kpart, cg_i32(g, 6), ""), ET_PACKED_BYTES);
    for (int u = 0; u < c->p.units; u++)
        for (int i = 0; i < c->p.s->nacc; i++)
            for (int ns = 0; ns < c->p.nsub; ns++, out += 2 * c->p.rows_n) {
                int64_t rows = (int64_t)i * (c->p.s->tn / ET_PACKED_ROWS) + ns;
                val begin = cg_gepi(g, at, rows * all + (int64_t)u * ET_PACKED_BYTES);
                for (int in = 0; in < c->p.rows_n; in++) {
                    out[in] = values(g, c, begin, lane_of(g, c, in));
                    out[c->p.rows_n + in] = index_at(g, begin, lane_of(g, c, in));
                }
            }
    cg_ring_consumer_release(g, &r);
}
