/* A computed b in packed pairs of bf16, with the same bits as computing in f32 and rounding the
 * result: quantised values, a small integer added or not, times a scale. Each of these has eight
 * significant bits, so the product is exact in f32, and the packed product, or its fused sum,
 * rounds once.
 *
 * A word of quantised values becomes, without arithmetic, numbers a power of two smaller
 * (et_pairs_family). The scale makes up for that, but for 2^SMALLER, by which b and then the sums
 * are off: so neither the values nor the scale, which is 2^-60 to 2^58 or zero, need an instruction
 * of their own to be in the range of bf16. */
#include "codegen/step/decode/decode.h"
#include "ir/base/diag.h"
#include "ir/weights/computed.h"
#include "ir/weights/scaled.h"
#include <math.h>
#include <string.h>

enum { SMALLER = 60 };

struct pairs {
    cg *g;
    const et_contract *c;
    int i, u;
    const et_raw *raw;
    const val *v;
};

/* E at the lane's first k, where it is the same for all of them; else none. */
static et_expr same(const struct pairs *p, et_expr e) {
    et_expr k = et_computed_k(cg_cx(p->g), &p->c->p, p->u);
    return et_same_in_run(p->g->x, e, p->c->p.s->kvar, k, p->c->p.lane_k);
}

static et_dtype dtype_of(const struct pairs *p, et_expr load) {
    return p->g->p->tensors[et_x(p->g->x, load)->i].shape.dtype;
}

static void match(const struct pairs *p, et_scaled *out) {
    bool is = et_decode_scaled(cg_cx(p->g), &p->c->p, p->i, out);
    et_check(is);
}

/* ---- how ---- */

static val both(cg *g, val v) {
    return cg_vector(g, g->bf16, 2, (val[]){v, v});
}

static val power(cg *g, int of_two) {
    return both(g, LLVMConstReal(g->bf16, ldexp(1, of_two)));
}

/* E, the same for all k's, twice. */
static val twice(const struct pairs *p, et_expr e) {
    val v = cg_to_f32(p->g, cg_emit(p->g, same(p, e)));
    return both(p->g, LLVMBuildFPTrunc(p->g->b, v, p->g->bf16, ""));
}

/* The load of exponents of 2 that E is, under conversions; else NULL. */
static val exponent_of(const struct pairs *p, et_expr e) {
    et_exprs *x = p->g->x;
    e = same(p, e);
    while (et_x(x, e)->op == ET_X_TO_BF16 || et_x(x, e)->op == ET_X_TO_F32)
        e = et_x(x, e)->ops[0];
    const et_node_x *load = et_x(x, e);
    if (load->op != ET_X_LOAD || load->i2 != ET_LOAD_TENSOR || dtype_of(p, e) != ET_UE8M0)
        return NULL;
    for (int o = 0; o < p->c->p.computed->count[p->i]; o++)
        if (p->raw[o].n == 1 && et_expr_eq(p->raw[o].node, e)) return p->v[o];
    return NULL;
}

/* The scale times 2^N, twice; infinity where that overflows bf16. An exponent becomes a bf16 by a
 * shift: N is at most 127, so the lower one has no carry into the upper one. */
static val scale(const struct pairs *p, const et_scaled *s, int n) {
    enum { MANTISSA = 7, INFINITE = 255, BOTH = 1 << (16 + MANTISSA) | 1 << MANTISSA };
    cg *g = p->g;
    val code = s->times.id && n >= 0 ? exponent_of(p, s->times) : NULL;
    if (!code)
        return LLVMBuildFMul(g->b, s->times.id ? twice(p, s->times) : power(g, 0), power(g, n), "");
    code = cg_addi(g, cg_muli(g, code, BOTH), (int64_t)n * BOTH);
    val most[] = {code, cg_i32(g, INFINITE * BOTH)};
    code = cg_call(g, "llvm.umin", 1, &g->i32, 2, most);
    return LLVMBuildBitCast(g->b, code, LLVMVectorType(g->bf16, 2), "");
}

/* V times 2^N, which may be denormal; V is an integer and the product a multiple of the least
 * denormal. */
static val moved(cg *g, val v, int n) {
    if (n < -120) v = LLVMBuildFMul(g->b, v, power(g, n + 120), "");
    return LLVMBuildFMul(g->b, v, power(g, n < -120 ? -120 : n), "");
}

/* The number to add to values that are divided by 2^DOWN, and MORE. */
static val increase(const struct pairs *p, const et_scaled *s, int64_t more, int down) {
    cg *g = p->g;
    val sum = both(g, LLVMConstReal(g->bf16, (double)more));
    for (int i = 0; i < s->n; i++)
        sum = s->less[i] ? LLVMBuildFSub(g->b, sum, twice(p, s->add[i]), "")
                         : LLVMBuildFAdd(g->b, sum, twice(p, s->add[i]), "");
    return moved(g, sum, -down);
}

static bool is_power(int64_t n) {
    return n && !((n < 0 ? -n : n) & ((n < 0 ? -n : n) - 1));
}

/* (V * 2^DOWN + what is added) * scale / 2^SMALLER. Where a power of two is added, its product with
 * the scale is exact, and so the sum is rounded once. */
static val product(const struct pairs *p, const et_scaled *s, int64_t more, int down, val v) {
    cg *g = p->g;
    val by = scale(p, s, down - SMALLER);
    if (s->n || (more && !is_power(more)))
        v = LLVMBuildFAdd(g->b, v, increase(p, s, more, down), "");
    if (s->n || !is_power(more)) return LLVMBuildFMul(g->b, v, by, "");
    val add = both(g, LLVMConstReal(g->bf16, ldexp((double)more, -SMALLER)));
    val times = s->times.id ? twice(p, s->times) : power(g, 0);
    LLVMTypeRef t = LLVMTypeOf(v);
    return cg_call(g, "llvm.fma", 1, &t, 3, (val[]){v, by, LLVMBuildFMul(g->b, times, add, "")});
}

val cg_contract_paired(cg *g, const et_contract *c, int i, int u, const et_raw *raw, const val *v) {
    struct pairs p = {.g = g, .c = c, .i = i, .u = u, .raw = raw, .v = v};
    et_scaled s;
    val words[8], out[4];
    int n = 0;
    match(&p, &s);
    et_dtype t = dtype_of(&p, s.load);
    int k = cg_contract_raw_of(raw, u, s.load);
    bool one = LLVMTypeOf(v[k]) == g->i32;
    int64_t more = s.more - g->family->pairs->excess(t);
    for (int w = 0; n < c->p.lane_k / 2; w++) {
        g->family->pairs->convert(g, t, one ? v[k] : cg_extract(g, v[k], w), out);
        for (int j = 0; j < 16 / et_dtype_bits(t); j++, n++) {
            val pair = product(&p, &s, more, g->family->pairs->power(t, j), out[j]);
            words[n] = LLVMBuildBitCast(g->b, pair, g->i32, "");
        }
    }
    return cg_vector(g, g->i32, c->p.lane_k / 2, words);
}

void cg_contract_pair_up(const et_contract *c, int n, val *v) {
    val was[16];
    memcpy(was, v, (size_t)n * sizeof *v);
    for (int i = 0; i < n; i++) {
        int two = 2 * c->p.pair_gap, in = i % two;
        v[i] = was[i - in + in / 2 + in % 2 * c->p.pair_gap];
    }
}
