/* Products of many rows by waves that multiply together (et_group_family), which take what they
 * multiply from the ring of chunks themselves. What a tile has to know of its operands, and its
 * first weights, comes before its waits. */
#include "codegen/step/contract_chunk.h"

/* ---- out of it, by several waves ---- */

/* ROW of an operand, at the k's of step J of these waves: each part has STEPS of them. */
static val group_rows(cg *g, const et_chunks *r, const et_chunk_side *s, val slot, val row, int j,
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
    if (s != r->side && c->product)
        at = cg_add(g, at, cg_muli(g, c->product, (int64_t)s->rows * r->wide));
    return cg_gepi(g, cg_gep(g, base, at), s->at + j / steps * s->bytes + j % steps * bytes);
}

/* SUM: f32's, of product after product. */
static void multiply_group(cg *g, const et_chunks *r, val slot, val *sum) {
    const et_contract *c = r->c;
    const et_group_family *of = g->t->group;
    int columns = 16 * (c->together == ET_GROUP_M ? c->nsub : c->msub);
    val all = cg_i32(g, -16 * of->waves);
    val m = c->together == ET_GROUP_M ? LLVMBuildAnd(g->b, c->m0, all, "") : c->m0;
    val n = c->together == ET_GROUP_N ? LLVMBuildAnd(g->b, c->n0, all, "") : c->n0;
    int steps = r->wide / c->size / of->k;
    of->begin(g, 0, NULL, 0, NULL);
    for (int j = 0; j < r->parts * steps / c->s->wk; j++)
        for (int i = 0; i < c->products; i++) {
            val a = group_rows(g, r, &r->side[0], slot, m, j, steps);
            val b = group_rows(g, r, &r->side[1 + i], slot, n, j, steps);
            bool rows_m = c->together == ET_GROUP_M;
            of->multiply(g, c->s->operand, r->wide, rows_m ? a : b, rows_m ? b : a, columns,
                         sum + (ptrdiff_t)i * columns / 2);
        }
    of->end(g);
}

/* While they multiply a chunk the next is stored, and the one that they had before is waited for
 * last. */
void cg_chunks_together(cg *g, et_chunks *r, val *acc) {
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
    val slot = carried[n], next = cg_chunks_next(g, r, slot);
    if (r->async) g->family->copied(g, cg_chunks_ahead(r->c) - 1);
    of->written(g);
    cg_barrier(g); /* the chunk is there, and the one two before it has been multiplied */
    if (r->async)
        cg_chunks_copy(g, r, cg_addi(g, chunk, cg_chunks_ahead(r->c)),
                       cg_chunks_back(g, r, slot, 2), r->nsides - 1);
    val then = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){cg_addi(g, chunk, 1), last});
    cg_chunk_load(g, r, then);
    multiply_group(g, r, slot, carried);
    cg_chunk_store(g, r, next);
    of->over(g, 1, 0, NULL);
    carried[n] = next;
    cg_for_end(g, &f, carried);
    of->over(g, 0, n, carried);
    for (int i = 0; i < n / EIGHT; i++)
        acc[i] = cg_vector(g, g->f32, EIGHT, carried + (ptrdiff_t)i * EIGHT);
}

/* ---- before the tile's waits ---- */

/* Where no tensor says how many rows there are, tiles are only of such as have some. */
bool cg_chunks_have_rows(const cg *g, const et_contract *c) {
    return c->together && !et_expr_loads(g->x, c->s->mlive);
}

/* Is where E, an operand, lies known without what other tasks write? */
static bool is_placed(cg *g, const et_contract *c, et_expr e) {
    if (!g->family->copy || !cg_contract_direct(g, c->s, e, c->piece)) return false;
    const et_node_x *x = et_x(g->x, e);
    for (int i = 0; i < x->nops; i++)
        if (et_expr_loads(g->x, x->ops[i])) return false;
    return true;
}

/* How many chunks of its right operands come before the waits: as many as are on their way later.
 */
static int early_chunks(cg *g, const et_contract *c) {
    bool weights = true;
    for (int i = 0; i < c->s->nacc; i++)
        weights &= !cg_reads_mutable(g, c->s->b[i]);
    int n = cg_chunks_ahead(c);
    return !weights ? 0 : n < c->chunks ? n : (int)c->chunks;
}

int64_t cg_contract_early_k(cg *g, const et_step *s) {
    et_contract c = {.s = s};
    if (!cg_contract_ring_early(g, s) || !cg_contract_plan(g, &c)) return 0;
    return (int64_t)early_chunks(g, &c) * c.kc;
}

bool cg_contract_ring_early(cg *g, const et_step *s) {
    et_contract c = {.s = s};
    if (s->kind != ET_STEP_CONTRACT || !cg_contract_plan(g, &c) || !cg_chunks_have_rows(g, &c) ||
        !g->family->anew || c.cond.id || c.chunks < 1 || et_expr_loads(g->x, s->nlive) ||
        !is_placed(g, &c, s->a))
        return false;
    for (int i = 0; i < s->nacc; i++)
        if (!is_placed(g, &c, s->b[i])) return false;
    return true;
}

/* What LLVM would otherwise compute where it is first used, behind the waits, is computed here.
 * What the tile before had in local memory has been read, so weights can be on their way, too. */
void cg_contract_ring_begin(cg *g, et_contract *c) {
    et_chunks *r = et_alloc(g->arena, sizeof *r);
    r->c = c;
    c->mlive = cg_emit_i32(g, c->s->mlive);
    c->nlive = cg_emit_i32(g, c->s->nlive);
    cg_chunks_begin(g, r);
    for (int i = 0; i < r->nsides; i++) {
        et_chunk_side *s = &r->side[i];
        for (int j = 0; j < s->n; j++) {
            val first = LLVMBuildPtrToInt(g->b, cg_chunk_first(g, r, s, j), g->i64, "");
            first = g->family->anew(g, first);
            s->first[j] = LLVMBuildIntToPtr(g->b, first, g->gptr, "");
            s->to[j] = g->family->anew(g, s->to[j]);
        }
    }
    c->ring = r;
    int n = early_chunks(g, c);
    r->early = n > 0;
    for (int i = 0; i < n; i++)
        cg_chunk_copy(g, r, cg_i32(g, i), cg_i32(g, i), 1, r->nsides - 1);
}
