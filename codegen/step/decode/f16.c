/* Unscaled quantised values (unscaled.c) as f16, which represents all of them exactly, by one row:
 * one instruction converts two.
 *
 * f16 has less range than a row of bf16. Its elements are multiplied by a power of two that makes
 * the largest the largest exponent of f16: all bits of a bf16 stay, except of elements below 2^-31
 * of the largest, which become multiples of 2^-38 of it. Where all of the row is staged at once,
 * elements stay in registers until the largest is known; else they are staged as bf16 and converted
 * in place. Sums are divided by that power. For several rows the search for the largest takes
 * longer than is gained.
 *
 * Values of four bits become mantissa bits of a power of two that count ones, or sixteens: elements
 * multiplied by the latter are a sixteenth, and unscaled.c subtracts the power of two. */
#include "codegen/step/decode/decode.h"
#include "ir/weights/scaled.h"
#include <string.h>

enum {
    SETS = 2,            /* of sums, which do not wait for each other */
    BIAS = 127,          /* of exponents of f32, */
    MANTISSA = 23,       /* above so many bits */
    LARGEST = 14,        /* the exponent of the largest element as f16 */
    HIGH_APART = 4,      /* k's of a pair of values of 4 bits */
    LEAST = LARGEST + 1, /* of what elements are counted as, so that both powers are normal */
};

/* ---- whether ---- */

static int waves(const cg *g) {
    return g->p->workgroup / g->t->wave;
}

static int kept_at(cg *g, const et_contract *c) {
    return (et_local_bytes(&g->f->locals[c->p.s->stage_a]) - et_decode_kept_of(cg_cx(g), &c->p)) /
           16 * 16;
}

/* ---- the row of a ---- */

/* The address of word number WORD of those kept behind the row. */
static val kept(cg *g, const et_contract *c, val word) {
    int64_t at = g->f->locals[c->p.s->stage_a].offset + kept_at(g, c);
    return cg_gep(g, cg_gepi(g, g->lds, at), cg_muli(g, word, 4));
}

val cg_contract_behind_row(cg *g, const et_contract *c, val at) {
    int64_t first = g->f->locals[c->p.s->stage_a].offset + kept_at(g, c);
    return cg_gep(g, cg_gepi(g, g->lds, first + et_decode_kept(cg_cx(g))), at);
}

val cg_contract_larger(cg *g, val most, int n, const val *v) {
    for (int i = 0; i < n; i++) {
        val size = cg_call(g, "llvm.fabs", 1, &g->f32, 1, (val[]){v[i]});
        most = cg_call(g, "llvm.maxnum", 1, &g->f32, 2, (val[]){most, size});
    }
    return most;
}

/* The largest element's exponent, LEAST at least, of what each wave has found. */
static val exponent(cg *g, const et_contract *c) {
    val most = cg_i32(g, LEAST << MANTISSA);
    for (int w = 0; w < waves(g); w += 4) {
        LLVMTypeRef v4 = LLVMVectorType(g->i32, 4);
        val four = LLVMBuildLoad2(g->b, v4, kept(g, c, cg_i32(g, w)), "");
        LLVMSetAlignment(four, 16);
        for (int i = 0; i < 4; i++)
            most = cg_call(g, "llvm.umax", 1, &g->i32, 2, (val[]){most, cg_extract(g, four, i)});
    }
    return LLVMBuildLShr(g->b, most, cg_i32(g, MANTISSA), "");
}

static val power(cg *g, val biased) {
    val bits = LLVMBuildShl(g->b, biased, cg_i32(g, MANTISSA), "");
    return LLVMBuildBitCast(g->b, bits, g->f32, "");
}

val cg_contract_row_factor(cg *g, const et_contract *c, val most) {
    val word = LLVMBuildBitCast(g->b, most, g->i32, "");
    cg_if one;
    word = g->family->pairs->most(g, word);
    cg_if_begin(g, &one, cg_icmp(g, LLVMIntEQ, g->lane, cg_i32(g, 0)));
    LLVMSetAlignment(LLVMBuildStore(g->b, word, kept(g, c, g->wave)), 4);
    cg_if_end(g, &one);
    cg_barrier(g);
    val e = exponent(g, c);
    cg_if_begin(g, &one, cg_icmp(g, LLVMIntEQ, g->tid, cg_i32(g, 0)));
    val by = power(g, cg_addi(g, e, -LARGEST));
    LLVMSetAlignment(LLVMBuildStore(g->b, by, kept(g, c, cg_i32(g, waves(g)))), 4);
    cg_if_end(g, &one);
    return power(g, LLVMBuildSub(g->b, cg_i32(g, 2 * BIAS + LARGEST), e, ""));
}

/* Pairs of values of 4 bits are as large as they are and sixteen times that in turn. */
val cg_contract_to_f16(cg *g, const et_contract *c, int n, val words, val by) {
    val v[16], out[8], low = NULL;
    if (c->p.pair_gap == HIGH_APART) low = LLVMBuildFMul(g->b, by, cg_f32(g, 1.0 / 16), "");
    cg_loaded_words(g, ET_BF16, words, n, v);
    for (int i = 0; i < n; i += 2) {
        val h[2];
        for (int k = 0; k < 2; k++) {
            val moved =
                LLVMBuildFMul(g->b, cg_to_f32(g, v[i + k]), low && i / 2 % 2 ? low : by, "");
            h[k] = LLVMBuildFPTrunc(g->b, moved, g->f16, "");
        }
        out[i / 2] = LLVMBuildBitCast(g->b, cg_vector(g, g->f16, 2, h), g->i32, "");
    }
    return n == 2 ? out[0] : cg_vector(g, g->i32, n / 2, out);
}

/* ---- the row, staged at once ---- */

enum { EACH = 8 /* elements of an item */ };

struct row_item {
    val number, there, to, words;
};

/* Item number J of the work-item's, as bf16, and where in the buffer it goes. */
static void load_row_item(cg *g, const et_contract *c, int j, struct row_item *it, val *most) {
    int per = c->p.kc / EACH, wg = g->p->workgroup, mark = cg_scope(g);
    val item = cg_addi(g, g->tid, (int64_t)j * wg), v[EACH];
    it->there = NULL;
    if (c->p.k / EACH < (int64_t)(j + 1) * wg) {
        it->there = cg_icmp(g, LLVMIntULT, item, cg_i32(g, c->p.k / EACH));
        item = cg_select(g, it->there, item, cg_i32(g, 0));
    }
    it->number = item;
    val u = LLVMBuildURem(g->b, item, cg_i32(g, per), "");
    val chunk = LLVMBuildUDiv(g->b, item, cg_i32(g, per), "");
    val apart = c->now.slots ? LLVMBuildSub(g->b, cg_i32(g, 4 + c->p.room), c->now.slots, "")
                             : cg_i32(g, 0);
    cg_bind(g, c->p.s->mvar, cg_i32(g, 0), true);
    cg_contract_elements(g, c, c->p.s->a, true, chunk, u, EACH, v);
    *most = cg_contract_larger(g, *most, EACH, v);
    if (c->p.pair_gap > 1) cg_contract_pair_up(c, EACH, v);
    for (int i = 0; i < EACH; i++)
        v[i] = cg_to_storage(g, ET_BF16, v[i]);
    val all = cg_vector(g, LLVMTypeOf(v[0]), EACH, v);
    it->words = LLVMBuildBitCast(g->b, all, LLVMVectorType(g->i32, EACH / 2), "");
    it->to = cg_muli(g, LLVMBuildShl(g->b, chunk, apart, ""), c->p.pitch_a);
    it->to = cg_add(g, it->to, cg_muli(g, u, EACH));
    cg_scope_end(g, mark);
}

/* Elements stay in registers until the power of two is known. */
void cg_contract_stage_row(cg *g, const et_contract *c) {
    int wg = g->p->workgroup;
    int64_t n = (c->p.k / EACH + wg - 1) / wg;
    struct row_item it[ET_ROW_ITEMS];
    val most = cg_f32(g, 0);
    for (int j = 0; j < n; j++)
        load_row_item(g, c, j, &it[j], &most);
    val by = cg_contract_row_factor(g, c, most);
    if (c->p.run) cg_runs_zeros(g, c);
    for (int j = 0; j < n; j++) {
        cg_if in;
        val halves = c->p.run ? cg_contract_to_f16(g, c, EACH, it[j].words, by) : NULL;
        if (halves) cg_runs_note(g, c, it[j].number, it[j].there, halves);
        if (it[j].there) cg_if_begin(g, &in, it[j].there);
        val to = cg_contract_staged_ptr(g, c, c->p.s->stage_a, it[j].to);
        if (!halves) halves = cg_contract_to_f16(g, c, EACH, it[j].words, by);
        LLVMSetAlignment(LLVMBuildStore(g->b, halves, to), c->p.pitch_a % EACH ? 2 : 2 * EACH);
        if (it[j].there) cg_if_end(g, &in);
    }
    cg_barrier(g);
}

val cg_contract_of_row(cg *g, const et_contract *c) {
    val m = LLVMBuildLoad2(g->b, g->f32, kept(g, c, cg_i32(g, waves(g))), "");
    LLVMSetAlignment(m, 4);
    return m;
}
