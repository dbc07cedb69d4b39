/* A computed b in vectors of two bf16, where that gives the same bits as computing it in f32 and
 * rounding the result: what it is made of fits eight significant bits, as codes, scales of bf16 and
 * small integers do. A product of two of these is exact in f32, so rounding it once is what the
 * vector's product does, and sums of small integers are exact in either. */
#include "codegen/step/contract.h"

enum { EXACT = 256 }; /* integers up to here are bf16 */

struct pairs {
    cg *g;
    const et_contract *c;
    int i, u;
    /* When they are made. */
    const struct et_raw *raw;
    int n;
    const val *v;
    int apart; /* when it is asked for: of the loads so far, or -1 where some are not alike */
};

/* E at the lane's first k, where it is the same for all of them; else none. */
static et_expr same(const struct pairs *p, et_expr e) {
    et_expr at[16];
    cg_unroll(p->g, e, p->c->s->kvar, cg_contract_k(p->g, p->c, p->u), p->c->lane_k, at);
    for (int j = 1; j < p->c->lane_k; j++)
        if (!et_expr_eq(at[j], at[0])) return ET_NO_EXPR;
    return at[0];
}

static et_dtype dtype_of(const struct pairs *p, const et_node_x *load) {
    return p->g->p->tensors[load->i].shape.dtype;
}

/* Integers that are far from any limit, or LIMIT where they may not be. */
enum { LIMIT = 1 << 20 };

/* How far from zero an integer may be: of codes as far as their bits go. */
static int64_t reach(const struct pairs *p, et_expr e) {
    et_node_x x = *et_x(p->g->x, e);
    int64_t lo, hi, a, b, all;
    if (x.op == ET_X_LOAD && x.i2 == ET_LOAD_TENSOR && et_dtype_is_code(dtype_of(p, &x)))
        return (1 << et_dtype_bits(dtype_of(p, &x))) - 1;
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

static bool small(const struct pairs *p, et_expr e) {
    return reach(p, e) <= EXACT;
}

/* ---- what can be ---- */

/* A load that is the same for all k's. */
static bool fits(et_dtype t) {
    return t == ET_BF16 || t == ET_E4M3 || t == ET_E5M2 || t == ET_E2M1 || t == ET_UE8M0 ||
           t == ET_I8 || t == ET_U8 || t == ET_I4 || t == ET_U4;
}

static bool paired_load(struct pairs *p, const et_node_x *x) {
    int apart = p->g->family->pairs->apart(p->g, dtype_of(p, x));
    if (p->apart && apart != p->apart) return false;
    p->apart = apart;
    return apart;
}

static bool rounds(struct pairs *p, et_expr e);

/* Is every value of E a bf16, and can it be computed as that? */
static bool exact(struct pairs *p, et_expr e) {
    et_node_x x = *et_x(p->g->x, e);
    if (x.op == ET_X_LOAD)
        return x.i2 == ET_LOAD_TENSOR &&
               (same(p, e).id ? fits(dtype_of(p, &x)) : paired_load(p, &x));
    if (x.op == ET_X_TO_BF16) return rounds(p, x.ops[0]);
    if (x.op == ET_X_NEG) return exact(p, x.ops[0]);
    bool whole = x.nops && et_x(p->g->x, x.ops[0])->type == ET_T_I32;
    if (x.op == ET_X_TO_F32 || x.op == ET_X_TO_I32) return whole && exact(p, x.ops[0]);
    if (x.type != ET_T_I32 || !small(p, e)) return false;
    if (same(p, e).id) return true;
    return (x.op == ET_X_ADD || x.op == ET_X_SUB || x.op == ET_X_MUL) && exact(p, x.ops[0]) &&
           exact(p, x.ops[1]);
}

/* Is E, rounded to bf16, what comes of computing it so? */
static bool rounds(struct pairs *p, et_expr e) {
    et_node_x x = *et_x(p->g->x, e);
    if (x.op == ET_X_NEG) return rounds(p, x.ops[0]);
    if (x.op == ET_X_MUL && x.type == ET_T_F32) return exact(p, x.ops[0]) && exact(p, x.ops[1]);
    return exact(p, e);
}

int cg_contract_pairs(cg *g, const et_contract *c, int i) {
    struct pairs p = {.g = g, .c = c, .i = i};
    if (!g->family->pairs || c->s->operand != ET_BF16 || c->lane_k % 8) return 0;
    return rounds(&p, c->s->b[i]) && p.apart > 0 ? p.apart : 0;
}

/* ---- how ---- */

static val both(cg *g, val v) {
    v = LLVMBuildFPTrunc(g->b, cg_to_f32(g, v), g->bf16, "");
    return cg_vector(g, g->bf16, 2, (val[]){v, v});
}

/* Codes and BIAS, which is 0 where they are no integers. */
static void take(const struct pairs *p, et_expr load, int bias, val *out) {
    et_node_x x = *et_x(p->g->x, load);
    et_dtype t = dtype_of(p, &x);
    int per = 32 / et_dtype_bits(t), k = 0;
    while (p->raw[k].u != p->u || p->raw[k].n == 1 || !et_expr_eq(p->raw[k].load, load))
        k++;
    bool one = LLVMTypeOf(p->v[k]) == p->g->i32;
    for (int j = 0; j < p->c->lane_k; j += per, out += per / 2) {
        val word = one ? p->v[k] : cg_extract(p->g, p->v[k], j / per);
        p->g->family->pairs->take(p->g, t, word, bias, out);
    }
}

/* Where E is a load and a number: both. */
static bool is_biased(const struct pairs *p, const et_node_x *x, et_expr *load, int *bias) {
    int64_t n = 0;
    if (x->op != ET_X_ADD && x->op != ET_X_SUB) return false;
    int at = x->op == ET_X_ADD && et_x(p->g->x, x->ops[0])->op != ET_X_LOAD;
    *load = x->ops[at];
    if (et_x(p->g->x, *load)->op != ET_X_LOAD || same(p, *load).id ||
        !et_is_int(p->g->x, x->ops[!at], &n) || n < -EXACT || n > EXACT)
        return false;
    *bias = (int)(x->op == ET_X_SUB ? -n : n);
    return true;
}

static void make(const struct pairs *p, et_expr e, val *out) {
    cg *g = p->g;
    et_node_x x = *et_x(g->x, e);
    int pairs = p->c->lane_k / 2, bias;
    et_expr one = same(p, e), load;
    val a[8], b[8];
    if (one.id) {
        val v = both(g, cg_emit(g, one));
        for (int j = 0; j < pairs; j++)
            out[j] = v;
        return;
    }
    if (x.op == ET_X_LOAD || is_biased(p, &x, &load, &bias)) {
        take(p, x.op == ET_X_LOAD ? e : load, x.op == ET_X_LOAD ? 0 : bias, out);
        return;
    }
    make(p, x.ops[0], a);
    if (x.nops > 1) make(p, x.ops[1], b);
    for (int j = 0; j < pairs; j++)
        out[j] = x.op == ET_X_MUL   ? LLVMBuildFMul(g->b, a[j], b[j], "")
                 : x.op == ET_X_ADD ? LLVMBuildFAdd(g->b, a[j], b[j], "")
                 : x.op == ET_X_SUB ? LLVMBuildFSub(g->b, a[j], b[j], "")
                 : x.op == ET_X_NEG ? LLVMBuildFNeg(g->b, a[j], "")
                                    : a[j]; /* a conversion of what is exact */
}

val cg_contract_paired(cg *g, const et_contract *c, int i, int u, const struct et_raw *raw, int n,
                       const val *v) {
    struct pairs p = {.g = g, .c = c, .i = i, .u = u, .raw = raw, .n = n, .v = v};
    val out[8], words[8];
    make(&p, c->s->b[i], out);
    for (int j = 0; j < c->lane_k / 2; j++)
        words[j] = LLVMBuildBitCast(g->b, out[j], g->i32, "");
    return cg_vector(g, g->i32, c->lane_k / 2, words);
}
