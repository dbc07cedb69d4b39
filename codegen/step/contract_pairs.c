/* A computed b in vectors of two bf16, where that gives the same bits as computing it in f32 and
 * rounding the result: codes, a small integer added or not, times a scale. Each of these fits eight
 * significant bits, so the product is exact in f32, and rounding it once is what the vector's
 * product does, or its fused sum of products.
 *
 * What a word of codes becomes without arithmetic are numbers a power of two smaller than the codes
 * (et_pairs_family). The scale makes up for that, but for 2^SMALLER, which all of b and then the
 * sums are divided by: so neither the codes nor the scale, which is 2^-60 to 2^58 or zero, need an
 * instruction of their own to come to where bf16 has numbers. */
#include "codegen/step/contract.h"
#include <math.h>

enum { EXACT = 256, SMALLER = 60 }; /* integers up to EXACT are bf16 */

struct pairs {
    cg *g;
    const et_contract *c;
    int i, u;
    const struct et_raw *raw;
    const val *v;
};

/* bf16(times * (load + add_1 + ...)): what a row of b is. */
struct scaled {
    et_expr times; /* the same for all k's of a lane; none: 1 */
    et_expr load;  /* of codes */
    et_expr add[4];
    bool less[4]; /* is taken away */
    int n;
    int64_t more; /* and a number */
};

/* E at the lane's first k, where it is the same for all of them; else none. */
static et_expr same(const struct pairs *p, et_expr e) {
    et_expr at[16];
    cg_unroll(p->g, e, p->c->s->kvar, cg_contract_k(p->g, p->c, p->u), p->c->lane_k, at);
    for (int j = 1; j < p->c->lane_k; j++)
        if (!et_expr_eq(at[j], at[0])) return ET_NO_EXPR;
    return at[0];
}

static et_dtype dtype_of(const struct pairs *p, et_expr load) {
    return p->g->p->tensors[et_x(p->g->x, load)->i].shape.dtype;
}

static bool is_load(const struct pairs *p, et_expr e) {
    const et_node_x *x = et_x(p->g->x, e);
    return x->op == ET_X_LOAD && x->i2 == ET_LOAD_TENSOR;
}

/* Integers that are far from any limit, or LIMIT where they may not be. */
enum { LIMIT = 1 << 20 };

/* How far from zero an integer may be: of codes as far as their bits go. */
static int64_t reach(const struct pairs *p, et_expr e) {
    et_node_x x = *et_x(p->g->x, e);
    int64_t lo, hi, a, b, all;
    if (is_load(p, e) && et_dtype_is_code(dtype_of(p, e)))
        return (1 << et_dtype_bits(dtype_of(p, e))) - 1;
    if (x.op == ET_X_TO_I32) return reach(p, x.ops[0]);
    if (x.op == ET_X_ADD || x.op == ET_X_SUB || x.op == ET_X_MUL) {
        a = reach(p, x.ops[0]);
        b = reach(p, x.ops[1]);
        all = x.op == ET_X_MUL ? a * b : a + b;
        return all < LIMIT ? all : LIMIT;
    }
    et_span(p->g->x, e, &lo, &hi);
    return lo <= -LIMIT || hi >= LIMIT ? LIMIT : hi > -lo ? hi : -lo;
}

static bool is_small(const struct pairs *p, et_expr e) {
    return et_x(p->g->x, e)->type == ET_T_I32 && reach(p, e) <= EXACT;
}

/* ---- what can be ---- */

static bool fits(et_dtype t) {
    return t == ET_BF16 || t == ET_E4M3 || t == ET_E5M2 || t == ET_E2M1 || t == ET_UE8M0 ||
           t == ET_I8 || t == ET_U8 || t == ET_I4 || t == ET_U4;
}

/* E without conversions that change nothing of what fits eight bits. */
static et_expr inside(const struct pairs *p, et_expr e) {
    const et_node_x *x = et_x(p->g->x, e);
    while (x->op == ET_X_TO_BF16 || x->op == ET_X_TO_F32 || x->op == ET_X_TO_I32) {
        bool whole = et_x(p->g->x, x->ops[0])->type == ET_T_I32;
        if (x->op != ET_X_TO_BF16 && !whole) break;
        e = x->ops[0], x = et_x(p->g->x, e);
    }
    return e;
}

/* Is E, which is the same for all k's, a bf16 whatever it is made of? */
static bool is_scale(const struct pairs *p, et_expr e) {
    e = inside(p, e);
    return is_load(p, e) ? fits(dtype_of(p, e)) : is_small(p, e);
}

/* E as a load of codes and small integers added to it. */
static bool sum_of(const struct pairs *p, et_expr e, struct scaled *out) {
    e = inside(p, e);
    et_node_x x = *et_x(p->g->x, e);
    int64_t n;
    if (is_load(p, e)) {
        out->load = e;
        return p->g->family->pairs->apart(p->g, dtype_of(p, e)) > 0 && !same(p, e).id;
    }
    if ((x.op != ET_X_ADD && x.op != ET_X_SUB) || !is_small(p, e)) return false;
    int at = x.op == ET_X_ADD && same(p, x.ops[0]).id ? 0 : 1;
    et_expr add = x.ops[at];
    if (!is_small(p, add) || !same(p, add).id || !sum_of(p, x.ops[!at], out)) return false;
    if (et_is_int(p->g->x, add, &n)) {
        out->more += x.op == ET_X_SUB ? -n : n;
        return true;
    }
    if (out->n == (int)(sizeof out->add / sizeof *out->add)) return false;
    out->less[out->n] = x.op == ET_X_SUB;
    out->add[out->n++] = add;
    return true;
}

static bool match(const struct pairs *p, et_expr e, struct scaled *out) {
    *out = (struct scaled){0};
    e = inside(p, e);
    et_node_x x = *et_x(p->g->x, e);
    if (x.op == ET_X_MUL && x.type == ET_T_F32) {
        int at = same(p, x.ops[0]).id ? 0 : 1;
        out->times = x.ops[at];
        if (!same(p, out->times).id || !is_scale(p, out->times)) return false;
        e = x.ops[!at];
    }
    return sum_of(p, e, out) && out->more >= -EXACT && out->more <= EXACT;
}

int cg_contract_pairs(cg *g, const et_contract *c, int i) {
    struct pairs p = {.g = g, .c = c, .i = i};
    struct scaled s;
    if (!g->family->pairs || c->s->operand != ET_BF16 || c->lane_k % 8) return 0;
    return match(&p, c->s->b[i], &s) ? g->family->pairs->apart(g, dtype_of(&p, s.load)) : 0;
}

float cg_contract_pairs_times(void) {
    return ldexpf(1, SMALLER);
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

/* V times 2^N, which may be less than bf16 has; V is an integer and the product at least a
 * multiple of the least there is. */
static val moved(cg *g, val v, int n) {
    if (n < -120) v = LLVMBuildFMul(g->b, v, power(g, n + 120), "");
    return LLVMBuildFMul(g->b, v, power(g, n < -120 ? -120 : n), "");
}

/* What codes, divided by 2^DOWN, are to be increased by, and MORE. */
static val increase(const struct pairs *p, const struct scaled *s, int64_t more, int down) {
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
static val product(const struct pairs *p, const struct scaled *s, int64_t more, int down, val v) {
    cg *g = p->g;
    val times = s->times.id ? twice(p, s->times) : power(g, 0);
    val by = LLVMBuildFMul(g->b, times, power(g, down - SMALLER), "");
    if (s->n || (more && !is_power(more)))
        v = LLVMBuildFAdd(g->b, v, increase(p, s, more, down), "");
    if (s->n || !is_power(more)) return LLVMBuildFMul(g->b, v, by, "");
    val add = both(g, LLVMConstReal(g->bf16, ldexp((double)more, -SMALLER)));
    LLVMTypeRef t = LLVMTypeOf(v);
    return cg_call(g, "llvm.fma", 1, &t, 3, (val[]){v, by, LLVMBuildFMul(g->b, times, add, "")});
}

val cg_contract_paired(cg *g, const et_contract *c, int i, int u, const struct et_raw *raw,
                       const val *v) {
    struct pairs p = {.g = g, .c = c, .i = i, .u = u, .raw = raw, .v = v};
    struct scaled s;
    val words[8], out[4];
    int k = 0, n = 0;
    et_check(match(&p, c->s->b[i], &s));
    et_dtype t = dtype_of(&p, s.load);
    while (raw[k].u != u || raw[k].n == 1 || !et_expr_eq(raw[k].load, s.load))
        k++;
    bool one = LLVMTypeOf(v[k]) == g->i32;
    int64_t more = s.more - g->family->pairs->excess(t);
    for (int w = 0; n < c->lane_k / 2; w++) {
        g->family->pairs->take(g, t, one ? v[k] : cg_extract(g, v[k], w), out);
        for (int j = 0; j < 16 / et_dtype_bits(t); j++, n++) {
            val pair = product(&p, &s, more, g->family->pairs->power(t, j), out[j]);
            words[n] = LLVMBuildBitCast(g->b, pair, g->i32, "");
        }
    }
    return cg_vector(g, g->i32, c->lane_k / 2, words);
}
