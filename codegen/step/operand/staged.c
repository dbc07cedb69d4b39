/* Fragments of rows that are staged in local memory. */
#include "codegen/step/operand/operand.h"

bool cg_contract_in_blocks(const cg *g, const et_contract *c) {
    int piece = g->t->spread * et_layout_groups(c->p.fr->layout);
    return c->p.packed && g->t->spread && g->family->load_blocks && piece * c->p.size == 16 &&
           c->p.pitch_a % piece == 0;
}

/* The same where neighbouring lanes have K's between the lane's: in blocks of eight rows, of which
 * ROW is the one whose piece the lane names (cg_contract_in_blocks), or one by one. */
static val staged_strided(cg *g, const et_contract *c, int local, val row, val k) {
    int some = g->t->spread, next = some * et_layout_groups(c->p.fr->layout),
        n = c->p.lane_k / some;
    bool blocks = cg_contract_in_blocks(g, c);
    val own = blocks ? cg_muli(g, LLVMBuildLShr(g->b, g->lane, cg_i32(g, 3), ""), next)
                     : cg_muli(g, c->at.group, some);
    val word[16], at = cg_add(g, row, cg_add(g, k, own));
    for (int i = 0; i < n && blocks; i += 4)
        g->family->load_blocks(
            g, cg_contract_staged_ptr(g, c, local, cg_addi(g, at, (int64_t)i * next)), word + i);
    for (int i = 0; i < n && !blocks; i++) {
        val ptr = cg_contract_staged_ptr(g, c, local, cg_addi(g, at, (int64_t)i * next));
        word[i] = LLVMBuildLoad2(g->b, g->i32, ptr, "");
        LLVMSetAlignment(word[i], 4);
    }
    return cg_vector(g, g->i32, n, word);
}

/* The fragment of a staged row at k within the chunk. */
val cg_contract_staged(cg *g, const et_contract *c, int local, int pitch, val row, val k) {
    if (c->p.packed && g->t->spread) return staged_strided(g, c, local, cg_muli(g, row, pitch), k);
    val at = cg_add(g, cg_muli(g, row, pitch), cg_add(g, k, c->at.lane_k0));
    LLVMTypeRef type = c->p.in_steps ? cg_words(g, 64) : cg_fragment_type(g, c);
    int bytes = c->p.piece * c->p.size / (c->p.in_steps ? 2 : 1), n = c->p.in_steps ? 2 : 1;
    val v[2];
    for (int i = 0; i < n; i++) {
        val from = cg_addi(g, at, (int64_t)i * c->p.unit_k / 2);
        v[i] = LLVMBuildLoad2(g->b, type, cg_contract_staged_ptr(g, c, local, from), "");
        LLVMSetAlignment(v[i], (unsigned)(pitch % c->p.piece ? c->p.size : bytes));
    }
    return n > 1 ? cg_contract_halves(g, v[0], v[1]) : v[0];
}

val cg_contract_staged_ptr(cg *g, const et_contract *c, int local, val elements) {
    return c->p.fp8 ? cg_gep(g, cg_gepi(g, g->lds, g->f->locals[local].offset), elements)
                    : cg_local_ptr(g, local, elements);
}
