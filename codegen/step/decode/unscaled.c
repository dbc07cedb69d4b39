/* Quantised values multiplied unscaled: the sum over k's that share a scale is multiplied by it, in
 * f32, after the product of the zero point and the sum of the row's elements has been added. Values
 * have few bits, and so become operands without rounding; scaling takes an instruction a sum, not
 * one a weight.
 *
 * Values become f16 where one instruction converts two of them and the row becomes f16, too
 * (f16.c), else operands of the product's type (et_unscaled_family). */
#include "codegen/step/decode/decode.h"
#include "ir/weights/computed.h"
#include "ir/weights/scaled.h"
#include <string.h>

static et_scaled of_product(cg *g, const et_contract *c, int i) {
    et_scaled s;
    et_check(et_decode_scaled(cg_cx(g), &c->p, i, &s));
    return s;
}

/* Is product I's scale the same for all k's? */
static bool is_one(cg *g, const et_contract *c, int i) {
    et_scaled s = of_product(g, c, i);
    return !s.times.id || !et_expr_has_var(g->x, s.times, c->p.s->kvar);
}

/* Product I's scale of unit U, the same in all lanes; none where there is none, or one for all k's.
 */
static et_expr scale_of(cg *g, const et_contract *c, int i, int u) {
    if (is_one(g, c, i)) return et_int(g->x, 1);
    return et_computed_of_unit(cg_cx(g), &c->p, of_product(g, c, i).times, u);
}

/* E, which all lanes share in unit U, as the lane's own k's have it: so the loads in it are those
 * that were made for the chunk (computed.c), which cg_contract_of_unit may call by another index.
 */
static et_expr of_lane(cg *g, const et_contract *c, et_expr e, int u) {
    return et_same_in_run(g->x, e, c->p.s->kvar, et_computed_k(cg_cx(g), &c->p, u), c->p.lane_k);
}

static et_expr of_unit(cg *g, const et_contract *c, et_expr e, int u) {
    return et_computed_of_unit(cg_cx(g), &c->p, e, u);
}

typedef et_expr at_unit(cg *, const et_contract *, et_expr e, int u);

/* The number added to product I's values, as the family converts them, in unit U; or none. */
static et_expr sum_of_added(cg *g, const et_contract *c, int i, int u, at_unit *at) {
    et_scaled s = of_product(g, c, i);
    et_dtype code = et_decode_type(cg_cx(g), &c->p, i);
    int64_t more =
        s.more + (c->p.f16 ? -g->family->pairs->excess(code) : g->family->unscaled->less(code));
    et_expr sum = et_int(g->x, more);
    if (!more && !s.n) return ET_NO_EXPR;
    for (int k = 0; k < s.n; k++) {
        et_expr e = at(g, c, s.add[k], u);
        sum = s.less[k] ? et_sub(g->x, sum, e) : et_add(g->x, sum, e);
    }
    return sum;
}

static et_expr added_to(cg *g, const et_contract *c, int i, int u) {
    return sum_of_added(g, c, i, u, of_unit);
}

/* The minimum of product I in unit U, the same in all lanes; or none. */
static et_expr minimum_of(cg *g, const et_contract *c, int i, int u) {
    et_expr plus = of_product(g, c, i).plus;
    return plus.id ? of_unit(g, c, plus, u) : ET_NO_EXPR;
}

static bool is_dealt_alike(const et_deal *a, const et_deal *b) {
    return !memcmp(a, b, sizeof *a);
}

/* ---- values ---- */

static val word_of(cg *g, val all, int w) {
    return LLVMTypeOf(all) == g->i32 ? all : cg_extract(g, all, w);
}

/* Bits N from number AT on of V, less than a word. */
static val some_bits(cg *g, val v, int at, int n) {
    if (LLVMTypeOf(v) == g->i8 || LLVMTypeOf(v) == g->i16) v = LLVMBuildZExt(g->b, v, g->i32, "");
    v = word_of(g, v, at / 32);
    if (at % 32) v = LLVMBuildLShr(g->b, v, cg_i32(g, at % 32), "");
    return at % 32 + n < 32 ? LLVMBuildAnd(g->b, v, cg_i32(g, (1 << n) - 1), "") : v;
}

val cg_contract_unit_bare(cg *g, const et_contract *c, int i, int u, const et_raw *raw,
                          const val *v) {
    et_dtype code = et_decode_type(cg_cx(g), &c->p, i);
    et_scaled s = of_product(g, c, i);
    val all = v[cg_contract_raw_of(raw, u, s.load)];
    val words[16];
    int per = 32 / et_dtype_bits(code);
    for (int w = 0; w < c->p.lane_k / per; w++) {
        val *out = words + (ptrdiff_t)per / 2 * w;
        if (c->p.f16)
            g->family->pairs->convert_f16(g, code, word_of(g, all, w), out);
        else
            g->family->pairs->convert_bf16(g, code, word_of(g, all, w), out);
        if (!s.high.id) continue;
        int bits = et_dtype_bits(g->p->tensors[et_x(g->x, s.high)->i].shape.dtype);
        val high = v[cg_contract_raw_of(raw, u, s.high)];
        high = some_bits(g, high, w * per * bits, per * bits);
        g->family->pairs->high(g, c->p.f16 ? ET_F16 : ET_BF16, bits, high, out);
    }
    return cg_vector(g, g->i32, c->p.lane_k / 2, words);
}

static val unit_unscaled(cg *g, const et_contract *c, int i, int u, const et_raw *raw,
                         const val *v) {
    et_scaled s = of_product(g, c, i);
    et_dtype code = et_decode_type(cg_cx(g), &c->p, i);
    val all = v[cg_contract_raw_of(raw, u, s.load)], words[16], out[8];
    int per = 32 / et_dtype_bits(code), n = 0;
    for (int w = 0; w < c->p.lane_k / per; w++) {
        g->family->unscaled->convert(g, code, word_of(g, all, w), out);
        for (int k = 0; k < per; k += 2)
            words[n++] = g->family->unscaled->pack(g, c->p.s->operand, out[k], out[k + 1]);
    }
    val vector = n == 1 ? words[0] : cg_vector(g, g->i32, n, words);
    return LLVMBuildBitCast(g->b, vector, cg_fragment_type(g, c), "");
}

/* ---- products ---- */

/* A lane that has the row of FROM that this one has of TO. */
static val lane_of(cg *g, const et_deal *from, const et_deal *to) {
    val row = cg_contract_dealt(g, to), lane = cg_i32(g, 0);
    for (int b = 0, found = 0; b < (int)sizeof from->lane && found < 15; b++) {
        int place = from->lane[b];
        if (!place || place & found) continue;
        val bit =
            LLVMBuildAnd(g->b, LLVMBuildUDiv(g->b, row, cg_i32(g, place), ""), cg_i32(g, 1), "");
        lane = cg_add(g, lane, LLVMBuildShl(g->b, bit, cg_i32(g, b), ""));
        found |= place;
    }
    return lane;
}

/* V, of the row that the lane has codes of, for each of its sums. WIDE: of all sixteen. */
static val transposed(cg *g, const et_contract *c, val v, bool wide) {
    val each[16], none = LLVMConstNull(LLVMVectorType(g->f32, (unsigned)c->p.results));
    if (!wide) {
        const et_fragment *f = et_decode_transposing(cg_cx(g), &c->p);
        const et_deal *from = &c->p.fr->layout->n, *to = &f->layout->n;
        val part = cg_f32(g, 1.0 / et_layout_groups(f->layout));
        if (!is_dealt_alike(from, to)) v = g->family->unscaled->pick(g, v, lane_of(g, from, to));
        return g->family->multiply(g, f, 1, &v, &part, none);
    }
    for (int r = 0; r < c->p.results; r++)
        each[r] = v;
    return cg_vector(g, g->f32, c->p.results, each);
}

/* The factor of the sums of a piece of product I's rows: that of the lane's rows of b, N or none,
 * times M or none. */
static val factors(cg *g, const et_contract *c, int i, const val *n, val m) {
    int all = c->p.sets * c->p.results;
    val v[16], each[2];
    if (!c->p.f16)
        return transposed(g, c, *n, et_decode_is_wide(cg_cx(g), &c->p, of_product(g, c, i).times));
    for (int r = 0; r < 2; r++)
        each[r] = !n ? m : m ? LLVMBuildFMul(g->b, n[r], m, "") : n[r];
    for (int j = 0; j < all; j++)
        v[j] = each[j / 2 % 2];
    return cg_vector(g, g->f32, all, v);
}

/* SUM plus the valid elements of PART times BY. */
static val row_packed_scaled(cg *g, const et_contract *c, val part, val by, val sum) {
    for (int j = 0; j < c->p.sets; j++)
        for (int r = 0; r < c->p.results; r += 2) {
            int at = cg_row_packed_value(c, j) + r;
            val v = cg_call(
                g, "llvm.fma", 1, &g->f32, 3,
                (val[]){cg_extract(g, part, at), cg_extract(g, by, at), cg_extract(g, sum, at)});
            sum = LLVMBuildInsertElement(g->b, sum, v, cg_i32(g, at), "");
        }
    return sum;
}

static bool as_before(cg *g, const et_contract *c, int i, int u) {
    return u > 0 && et_expr_eq(scale_of(g, c, i, u - 1), scale_of(g, c, i, u)) &&
           et_expr_eq(added_to(g, c, i, u - 1), added_to(g, c, i, u)) &&
           et_expr_eq(minimum_of(g, c, i, u - 1), minimum_of(g, c, i, u));
}

/* Is unit U the last of the k's that share a scale and zero point of product I? */
static bool ends(cg *g, const et_contract *c, int i, int u) {
    return u + 1 == c->p.units || !as_before(g, c, i, u + 1);
}

/* For the lane's rows of b: the scales of unit U's k's to N, the numbers added to values to MORE,
 * the minima to PLUS. */
static void of_run(cg *g, const et_contract *c, val chunk, const val *raw, int i, int u, val *n,
                   val *more, val *plus) {
    et_expr add = added_to(g, c, i, u);
    et_expr times = of_product(g, c, i).times;
    et_expr least = of_product(g, c, i).plus;
    if (!is_one(g, c, i)) cg_contract_of_rows(g, c, chunk, raw, i, of_lane(g, c, times, u), n);
    if (least.id) cg_contract_of_rows(g, c, chunk, raw, i, of_lane(g, c, least, u), plus);
    for (int row = 0; least.id && row < c->p.nsub * c->p.rows_n; row++)
        plus[row] = LLVMBuildFMul(g->b, plus[row], cg_f32(g, 1 / c->p.times), "");
    if (!add.id) return;
    cg_contract_of_rows(g, c, chunk, raw, i, sum_of_added(g, c, i, u, of_lane), more);
    for (int row = 0; row < c->p.nsub * c->p.rows_n; row++)
        more[row] = LLVMBuildFMul(g->b, more[row], cg_f32(g, 1 / c->p.times), "");
}

static val increase(cg *g, const et_contract *c, int i, int u, val more) {
    return transposed(g, c, more, et_decode_is_wide(cg_cx(g), &c->p, added_to(g, c, i, u)));
}

/* PLUS, of the row that the lane has codes of, for each of its sums. */
static val minimum(cg *g, const et_contract *c, int i, int u, val plus) {
    return transposed(g, c, plus, et_decode_is_wide(cg_cx(g), &c->p, minimum_of(g, c, i, u)));
}

static void scale_pieces(cg *g, et_contract *c, val chunk, const val *raw) {
    val n[ET_MAX_FRAGMENTS], more[ET_MAX_FRAGMENTS], plus[ET_MAX_FRAGMENTS];
    if (!c->now.plus) c->now.plus = et_alloc(g->arena, sizeof *c->now.plus);
    if (!c->now.by) c->now.by = et_alloc(g->arena, sizeof *c->now.by);
    if (!c->now.more) c->now.more = et_alloc(g->arena, sizeof *c->now.more);
    for (int i = 0; i < c->p.s->nacc; i++)
        for (int u = 0; u < c->p.units; u++) {
            if (!ends(g, c, i, u)) continue;
            of_run(g, c, chunk, raw, i, u, n, more, plus);
            for (int ns = 0; ns < c->p.nsub; ns++) {
                int at = u * c->p.nsub + ns;
                if (!is_one(g, c, i)) c->now.by->of[i][at] = factors(g, c, i, n + ns, NULL);
                if (added_to(g, c, i, u).id)
                    c->now.more->of[i][at] = increase(g, c, i, u, more[ns]);
                if (minimum_of(g, c, i, u).id)
                    c->now.plus->of[i][at] = minimum(g, c, i, u, plus[ns]);
            }
        }
}

/* Do sums of product I need a factor or a term behind the instruction? */
static bool corrects(cg *g, const et_contract *c, int i, int u) {
    return added_to(g, c, i, u).id || minimum_of(g, c, i, u).id ||
           (c->p.f16 && g->family->pairs->above(ET_F16, et_decode_type(cg_cx(g), &c->p, i)) > 0);
}

/* The product whose sums of row's elements are product I's: the first, where runs are the same. */
static int summed_with(cg *g, const et_contract *c, int i) {
    bool alike = corrects(g, c, 0, 0);
    for (int k = 0; k < c->p.units && alike; k++)
        alike = as_before(g, c, i, k) == as_before(g, c, 0, k);
    return alike ? 0 : i;
}

static val products(cg *g, const et_contract *c, const val *of, const val *a, int in_a, val sum) {
    return c->p.row_packed ? cg_row_packed_multiply(g, c, in_a, of, a, sum)
                           : g->family->multiply(g, c->p.fr, c->p.lane_k, of, a, sum);
}

enum { ONES_BF16 = 0x3f803f80, ONES_F16 = 0x3c003c00, SIXTEENS = 0x4c004c00 };

/* A row of b of such words in turn. */
static val row_of_words(cg *g, const et_contract *c, int first, int second) {
    val word[8];
    for (int w = 0; w < c->p.lane_k / 2; w++)
        word[w] = cg_i32(g, w % 2 ? second : first);
    val b = cg_vector(g, g->i32, c->p.lane_k / 2, word);
    return c->p.f16 ? b : LLVMBuildBitCast(g->b, b, cg_fragment_type(g, c), "");
}

/* The sums of the row's elements in unit U's run, for product I; ROW: those so far. As halves, the
 * sums of the first of a lane's rows are those of elements as they are staged, and of the second of
 * all in the same measure. */
static val row_sum(cg *g, const et_contract *c, int i, int u, const val *a, int in_a, val *row) {
    if (summed_with(g, c, i) < i) return row[0];
    int one = c->p.f16 || c->p.s->operand == ET_F16 ? ONES_F16 : ONES_BF16;
    int second = c->p.pair_gap > 1 ? SIXTEENS : one;
    val b[] = {row_of_words(g, c, one, one), c->p.f16 ? row_of_words(g, c, one, second) : NULL};
    if (!as_before(g, c, i, u))
        row[i] = LLVMConstNull(LLVMVectorType(g->f32, (unsigned)(c->p.sets * c->p.results)));
    return row[i] = products(g, c, b, a, in_a, row[i]);
}

static val times_plus(cg *g, val a, val b, val sum) {
    LLVMTypeRef t = LLVMTypeOf(sum);
    return cg_call(g, "llvm.fma", 1, &t, 3, (val[]){a, b, sum});
}

/* SUM of halves without what they are above codes, and with MORE for each of the lane's rows, or
 * nothing; ROW: as row_sum has it. */
static val correct(cg *g, const et_contract *c, int i, val row, const val *more, val sum) {
    et_dtype code = et_decode_type(cg_cx(g), &c->p, i);
    val above = cg_f32(g, -g->family->pairs->above(ET_F16, code));
    for (int j = 0; j < c->p.sets; j++)
        for (int r = 0; r < c->p.results; r++) {
            int own = c->p.row_packed ? cg_row_packed_value(c, j) : j * c->p.results + r % 2;
            int at = own + r / 2 * 2;
            if (c->p.row_packed && r % 2) continue;
            /* The same for all pieces of rows, where what is added is a number. */
            val v = cg_fmul(g, cg_extract(g, row, own), above);
            if (more) v = cg_fma(g, cg_extract(g, row, own + 2), more[r / 2], v);
            v = LLVMBuildFAdd(g->b, cg_extract(g, sum, at), v, "");
            sum = LLVMBuildInsertElement(g->b, sum, v, cg_i32(g, at), "");
        }
    return sum;
}

/* SUM with the minima of f16: the sums of the row's elements in the measure of all, times BY. */
static val with_minimum(cg *g, const et_contract *c, val row, val by, val sum) {
    for (int j = 0; j < c->p.sets; j++)
        for (int r = 0; r < c->p.results; r++) {
            int own = c->p.row_packed ? cg_row_packed_value(c, j) : j * c->p.results + r % 2;
            int at = own + r / 2 * 2;
            if (c->p.row_packed && r % 2) continue;
            val v = cg_fma(g, cg_extract(g, row, own + 2), cg_extract(g, by, at),
                           cg_extract(g, sum, at));
            sum = LLVMBuildInsertElement(g->b, sum, v, cg_i32(g, at), "");
        }
    return sum;
}

static void multiply_unscaled(cg *g, const et_contract *c, val chunk, int u, const val *raw,
                              const val *of, const val *a, int in_a, val *part, val *acc) {
    for (int i = 0; i < c->p.s->nacc; i++) {
        bool one = is_one(g, c, i), straight = one && !c->p.row_scaled, last = ends(g, c, i, u),
             corrected = corrects(g, c, i, u);
        bool least = minimum_of(g, c, i, u).id, more_than = added_to(g, c, i, u).id;
        val n[ET_MAX_FRAGMENTS], more[ET_MAX_FRAGMENTS], plus[ET_MAX_FRAGMENTS], row = NULL;
        val m = last && c->p.row_scaled ? cg_contract_of_row(g, c) : NULL;
        if (last && !c->now.by) of_run(g, c, chunk, raw, i, u, n, more, plus);
        if (corrected) row = row_sum(g, c, i, u, a, in_a, part + et_mainloop_sums(&c->p));
        for (int ns = 0; ns < c->p.nsub; ns++, of += c->p.rows_n) {
            int at = cg_contract_sum(c, i, 0, ns), run = u * c->p.nsub + ns;
            val *sum = straight ? &acc[at] : &part[at];
            if (!straight && !as_before(g, c, i, u)) *sum = LLVMConstNull(LLVMTypeOf(acc[at]));
            *sum = products(g, c, of, a, in_a, *sum);
            if (last && corrected && c->p.f16) {
                const val *added = more_than ? more + (ptrdiff_t)ns * c->p.rows_n : NULL;
                *sum = correct(g, c, i, row, added, *sum);
            } else if (last && more_than) {
                val by = c->now.more ? c->now.more->of[i][run] : increase(g, c, i, u, more[ns]);
                *sum = times_plus(g, row, by, *sum);
            }
            if (!last || straight) continue;
            val by = c->now.by ? c->now.by->of[i][run]
                               : factors(g, c, i, one ? NULL : n + (ptrdiff_t)ns * c->p.rows_n, m);
            acc[at] = c->p.row_packed ? row_packed_scaled(g, c, part[at], by, acc[at])
                                      : times_plus(g, part[at], by, acc[at]);
            if (least && c->p.f16) {
                by = factors(g, c, i, plus + (ptrdiff_t)ns * c->p.rows_n, m);
                acc[at] = with_minimum(g, c, row, by, acc[at]);
            } else if (least) {
                by = c->now.plus ? c->now.plus->of[i][run] : minimum(g, c, i, u, plus[ns]);
                acc[at] = times_plus(g, row, by, acc[at]);
            }
        }
    }
}

/* ---- scales of all k's ---- */

static bool has_one(cg *g, const et_contract *c, int i) {
    return is_one(g, c, i) && of_product(g, c, i).times.id;
}

/* What the count of products in the machine code is compared with. */
static void note_sums(cg *g, const et_contract *c) {
    int *n = g->products[g->task];
    n[0] = n[1] = 0;
    for (int i = 0; i < c->p.s->nacc; i++) {
        n[0] += c->p.nsub;
        n[1] += corrects(g, c, i, 0) && summed_with(g, c, i) == i;
    }
}

static void begin(cg *g, et_contract *c) {
    if (g->products) note_sums(g, c);
    c->now.scale = et_alloc(g->arena, sizeof *c->now.scale);
    for (int i = 0; i < c->p.s->nacc; i++)
        if (has_one(g, c, i))
            cg_contract_of_rows(g, c, cg_i32(g, 0), NULL, i, of_product(g, c, i).times,
                                c->now.scale->of[i]);
}

static void end(cg *g, const et_contract *c, val *acc) {
    for (int i = 0; i < c->p.s->nacc; i++)
        for (int ns = 0; ns < c->p.nsub && has_one(g, c, i); ns++) {
            const val *n = c->now.scale->of[i] + (ptrdiff_t)ns * c->p.rows_n;
            val by = factors(g, c, i, n, NULL);
            for (int ms = 0; ms < c->p.msub; ms++) {
                val *sum = &acc[cg_contract_sum(c, i, ms, ns)];
                *sum = LLVMBuildFMul(g->b, *sum, by, "");
            }
        }
}

const struct et_decoding cg_decode_unscaled = {
    .unit = unit_unscaled,
    .singles = true,
    .begin = begin,
    .scale = scale_pieces,
    .multiply = multiply_unscaled,
    .end = end,
};

const struct et_decoding cg_decode_f16 = {
    .unit = cg_contract_unit_bare,
    .begin = begin,
    .scale = scale_pieces,
    .multiply = multiply_unscaled,
    .end = end,
};
