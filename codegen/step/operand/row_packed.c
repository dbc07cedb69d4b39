/* The k of a single row dealt to several rows of an operand. */
#include "codegen/step/operand/operand.h"

/* ---- one row ----
 *
 * Products of few rows have an operand of eight. With one row, lanes of all eight would load the
 * same elements, in as many cycles as different ones. So the operand's rows get pieces of that
 * row's k, one each, and one load has as many pieces. Each piece is multiplied into a set of sums
 * of which only that row's are valid. */

enum { PIECE = 16, ROWS = 4, RESULTS = 4 };

/* The lane's pieces of UNITS units from K on, of which as many follow each other as there are rows.
 */
void cg_row_packed_load(cg *g, const et_contract *c, val row, val k, int units, val *a) {
    int pieces = et_rows_packed_pieces(&c->p), n = units * pieces / c->p.row_packed;
    val which = LLVMBuildAnd(g->b, c->at.lane_m, cg_i32(g, c->p.row_packed - 1), "");
    val unit = LLVMBuildUDiv(g->b, which, cg_i32(g, pieces), "");
    val piece = LLVMBuildURem(g->b, which, cg_i32(g, pieces), "");
    val at = cg_add(g, cg_muli(g, unit, c->p.unit_k), cg_muli(g, piece, PIECE / c->p.size));
    at = cg_add(g, cg_add(g, cg_muli(g, row, c->p.pitch_a), c->at.lane_k0), cg_add(g, at, k));
    for (int i = 0; i < n; i++) {
        val to = cg_addi(g, at, (int64_t)i * c->p.row_packed / pieces * c->p.unit_k);
        a[i] = LLVMBuildLoad2(g->b, cg_words(g, 8 * PIECE),
                              cg_contract_staged_ptr(g, c, c->p.s->stage_a, to), "");
        LLVMSetAlignment(a[i], PIECE);
    }
}

val cg_row_packed_multiply(cg *g, const et_contract *c, int u, const val *of, const val *a,
                           val sum) {
    enum { WORDS = PIECE / 4 };
    int pieces = et_rows_packed_pieces(&c->p);
    for (int s = 0; s < pieces; s++) {
        int p = u * pieces + s, j = p % c->p.sets;
        val b[ET_MAX_ROWS];
        for (int r = 0; r < c->p.rows_n; r++) {
            val words = LLVMBuildBitCast(g->b, of[r], cg_words(g, 8 * PIECE * pieces), "");
            b[r] = cg_extract_n(g, words, s * WORDS, WORDS);
        }
        val set = cg_extract_n(g, sum, j * RESULTS, RESULTS);
        set = g->family->multiply(g, c->p.fr, PIECE / c->p.size, b, a + p / c->p.row_packed, set);
        for (int i = 0; i < RESULTS; i++)
            sum = LLVMBuildInsertElement(g->b, sum, cg_extract(g, set, i),
                                         cg_i32(g, j * RESULTS + i), "");
    }
    return sum;
}

int cg_row_packed_value(const et_contract *c, int j) {
    return j * c->p.results + (j % c->p.row_packed & et_deal_value(&c->p.sums->sum_m, 1));
}

val cg_row_packed_sum(cg *g, const et_contract *c, val sum) {
    const et_layout *l = c->p.sums;
    val out = LLVMConstNull(LLVMVectorType(g->f32, (unsigned)c->p.results));
    for (int n = 0; n < c->p.results; n += 2) {
        val all = cg_f32(g, 0);
        for (int j = 0; j < c->p.sets; j += 2) {
            val own = LLVMBuildFAdd(g->b, cg_extract(g, sum, cg_row_packed_value(c, j) + n),
                                    cg_extract(g, sum, cg_row_packed_value(c, j + 1) + n), "");
            val is = cg_icmp(g, LLVMIntEQ, c->at.out_m, cg_i32(g, j % c->p.row_packed));
            all = LLVMBuildFAdd(g->b, all, cg_select(g, is, own, cg_f32(g, 0)), "");
        }
        for (int b = 0; b < 2; b++)
            if (l->sum_m.lane[b] < c->p.row_packed)
                all = LLVMBuildFAdd(g->b, all, cg_shuffle_xor(g, all, 1 << b), "");
        out = LLVMBuildInsertElement(g->b, out, all, cg_i32(g, n), "");
    }
    return out;
}

/* ---- several rows ----
 *
 * Each piece of a lane's k's goes to the set that it goes to in a single row. */

/* Piece S of the fragment rows V. */
static void pieces_of(cg *g, const et_contract *c, const val *v, int n, int s, val *out) {
    enum { WORDS = PIECE / 4 };
    int pieces = et_rows_packed_pieces(&c->p);
    for (int i = 0; i < n; i++) {
        val words = LLVMBuildBitCast(g->b, v[i], cg_words(g, 8 * PIECE * pieces), "");
        out[i] = pieces == 1 ? words : cg_extract_n(g, words, s * WORDS, WORDS);
    }
}

val cg_in_turn_multiply(cg *g, const et_contract *c, int u, const val *of, const val *a, val sum) {
    int pieces = et_rows_packed_pieces(&c->p), n = c->p.results;
    for (int s = 0; s < pieces; s++) {
        int j = (u * pieces + s) % c->p.sets;
        val b[ET_MAX_ROWS], m[ET_MAX_ROWS], set = cg_extract_n(g, sum, j * n, n);
        pieces_of(g, c, of, c->p.rows_n, s, b);
        pieces_of(g, c, a, c->p.rows_m, s, m);
        set = g->family->multiply(g, c->p.fr, PIECE / c->p.size, b, m, set);
        for (int i = 0; i < n; i++)
            sum =
                LLVMBuildInsertElement(g->b, sum, cg_extract(g, set, i), cg_i32(g, j * n + i), "");
    }
    return sum;
}

val cg_in_turn_sum(cg *g, const et_contract *c, val sum) {
    int n = c->p.results;
    val set[ET_MAX_SUMS];
    for (int j = 0; j < c->p.sets; j++)
        set[j] = cg_extract_n(g, sum, j * n, n);
    for (int step = 1; step < c->p.sets; step *= 2)
        for (int j = 0; j + step < c->p.sets; j += 2 * step)
            set[j] = LLVMBuildFAdd(g->b, set[j], set[j + step], "");
    return set[0];
}
