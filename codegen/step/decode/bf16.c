/* Quantised values as bf16, exactly and without their scale, by several rows: the sums of a unit
 * are those of k's that share a scale, by which they are multiplied.
 *
 * Values lie above a number that makes them mantissa bits, and some number is added to all of them:
 * sums begin from the row's elements times what makes up for both, one product more for all columns
 * of the weights. Minima are multiplied by that, too, or by the sums of the row's elements. */
#include "codegen/step/decode/decode.h"
#include "ir/weights/scaled.h"

static et_scaled of_product(cg *g, const et_contract *c, int i) {
    et_scaled s;
    et_check(et_decode_scaled(cg_cx(g), &c->p, i, &s));
    return s;
}

/* What is to be added to values as the family converts them, the same for all products. */
static int added(cg *g, const et_contract *c) {
    const et_pairs_family *of = g->family->pairs;
    et_dtype code = et_decode_type(cg_cx(g), &c->p, 0);
    return (int)et_decode_more(cg_cx(g), &c->p) - of->excess(code) - of->above(ET_BF16, code);
}

static val zero(cg *g, const et_contract *c) {
    return LLVMConstNull(LLVMVectorType(g->f32, (unsigned)c->p.results));
}

/* The products of the rows A by columns that are NUMBER everywhere. */
static val by_number(cg *g, const et_contract *c, int number, const val *a) {
    val words[8], n = LLVMConstReal(g->bf16, number), two[] = {n, n}, rows[ET_MAX_ROWS];
    for (int w = 0; w < c->p.lane_k / 2; w++)
        words[w] = LLVMConstBitCast(LLVMConstVector(two, 2), g->i32);
    for (int r = 0; r < c->p.rows_n; r++)
        rows[r] = cg_vector(g, g->i32, c->p.lane_k / 2, words);
    return g->family->multiply(g, c->p.fr, c->p.lane_k, rows, a, zero(g, c));
}

/* OF, for each of a lane's rows of b, for each of its sums, times BY. */
static val of_sums(cg *g, const et_contract *c, const val *of, double by) {
    val each[16], row[2];
    for (int r = 0; r < c->p.rows_n; r++)
        row[r] = by == 1 ? of[r] : LLVMBuildFMul(g->b, of[r], cg_f32(g, by), "");
    for (int r = 0; r < c->p.results; r++)
        each[r] = row[et_deal_value(&c->p.sums->sum_n, r) != 0];
    return cg_vector(g, g->f32, c->p.results, each);
}

static val times_plus(cg *g, val a, val b, val sum) {
    LLVMTypeRef t = LLVMTypeOf(sum);
    return cg_call(g, "llvm.fma", 1, &t, 3, (val[]){a, b, sum});
}

/* The rows A for lanes that have k's of PART, of so many PARTS, and zeros for others. */
static void of_part(cg *g, const et_contract *c, int part, int parts, const val *a, val *out) {
    int each = et_layout_groups(c->p.fr->layout) / parts;
    val own = LLVMBuildUDiv(g->b, c->at.group, cg_i32(g, each), "");
    val is = parts > 1 ? cg_icmp(g, LLVMIntEQ, own, cg_i32(g, part)) : NULL;
    for (int r = 0; r < c->p.rows_m; r++)
        out[r] = is ? cg_select(g, is, a[r], LLVMConstNull(LLVMTypeOf(a[r]))) : a[r];
}

/* The products of one part of unit U, OF of product 0 on by rows A, times their scales. */
static void multiply_part(cg *g, const et_contract *c, val chunk, int u, int part, const val *raw,
                          const val *of, const val *a, val *acc) {
    int number = added(g, c);
    bool minima = et_decode_each(cg_cx(g), &c->p) > 1;
    val first = number || minima ? by_number(g, c, number ? number : 1, a) : zero(g, c);
    val from = number ? first : zero(g, c);
    for (int i = 0; i < c->p.s->nacc; i++) {
        val scale[ET_MAX_FRAGMENTS], least[ET_MAX_FRAGMENTS];
        et_scaled s = of_product(g, c, i);
        cg_contract_of_part(g, c, chunk, raw, i, u, part, s.times, scale);
        if (s.plus.id) cg_contract_of_part(g, c, chunk, raw, i, u, part, s.plus, least);
        for (int ns = 0; ns < c->p.nsub; ns++, of += c->p.rows_n) {
            val *sum = &acc[cg_contract_sum(c, i, 0, ns)];
            val all = g->family->multiply(g, c->p.fr, c->p.lane_k, of, a, from);
            const val *by = scale + (ptrdiff_t)ns * c->p.rows_n;
            *sum = times_plus(g, all, of_sums(g, c, by, 1), *sum);
            if (!s.plus.id) continue;
            by = least + (ptrdiff_t)ns * c->p.rows_n;
            *sum = times_plus(g, first, of_sums(g, c, by, number ? 1. / number : 1), *sum);
        }
    }
}

static void multiply(cg *g, const et_contract *c, val chunk, int u, const val *raw, const val *of,
                     const val *a, int in_a, val *part, val *acc) {
    (void)in_a, (void)part;
    int parts = et_bare_parts(&c->p);
    for (int p = 0; p < parts; p++) {
        val own[ET_MAX_ROWS];
        of_part(g, c, p, parts, a, own);
        multiply_part(g, c, chunk, u, p, raw, of, own, acc);
    }
}

const struct et_decoding cg_decode_bf16 = {.unit = cg_contract_unit_bare, .multiply = multiply};
