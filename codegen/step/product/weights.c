/* Weights of a product to a lane's registers, from any source. */
#include "codegen/step/product/weights.h"

static void load_direct(cg *g, const et_contract *c, val chunk, et_source which, val *out) {
    (void)which;
    val k0 = cg_add(g, cg_muli(g, chunk, c->p.kc), c->at.kpart);
    for (int u = 0; u < c->p.units; u++)
        for (int i = 0; i < c->p.products; i++)
            for (int r = 0; r < c->p.nsub * c->p.rows_n; r++)
                *out++ = cg_contract_fragment(g, c, &c->at.row[i][r], k0, u);
}

static void load_streamed(cg *g, const et_contract *c, val chunk, et_source which, val *out) {
    (void)chunk, (void)which;
    cg_contract_consume(g, c, out);
}

static void load_packed(cg *g, const et_contract *c, val chunk, et_source which, val *out) {
    (void)which;
    cg_contract_packed(g, c, chunk, out);
}

static void load_packed_streamed(cg *g, const et_contract *c, val chunk, et_source which,
                                 val *out) {
    (void)chunk, (void)which;
    cg_contract_packed_consume(g, c, out);
}

/* Are all weights values of sixteen bits, whatever they are multiplied as? */
static bool are_narrow(const cg *g, const et_contract *c) {
    bool all = true;
    for (int i = 0; i < c->p.s->nacc && all; i++) {
        const et_node_x *n = et_x(g->x, c->p.s->b[i]);
        while (n->op == ET_X_TO_F32)
            n = et_x(g->x, n->ops[0]);
        bool load = n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR;
        et_dtype t = load ? g->p->tensors[n->i].shape.dtype : ET_F32;
        all = n->op == ET_X_TO_BF16 || n->op == ET_X_TO_F16 || t == ET_BF16 || t == ET_F16;
    }
    return all;
}

val cg_contract_product(cg *g, const et_contract *c, const val *of, const val *a, val sum) {
    g->narrow = are_narrow(g, c);
    sum = g->family->multiply(g, c->p.fr, c->p.lane_k, of, a, sum);
    g->narrow = false;
    return sum;
}

static val multiply_packed(cg *g, const et_contract *c, const val *of, const val *a, val sum) {
    return g->family->multiply_packed(g, c->p.fr, of, of + c->p.rows_n, a, sum);
}

/* By streamed, and whether they are decoded, or packed. */
static const struct et_weights ways[][2] = {
    {{cg_contract_rows, load_direct, cg_contract_product, 1, false},
     {NULL, load_streamed, cg_contract_product, 1, true}},
    {{cg_contract_rows, cg_contract_raws, cg_contract_product, 1, false},
     {cg_contract_rows, cg_contract_raws, cg_contract_product, 1, true}},
    {{cg_contract_packed_rows, load_packed, multiply_packed, 2, false},
     {NULL, load_packed_streamed, multiply_packed, 2, true}},
};

const struct et_weights *cg_weights_of(const et_mainloop *p) {
    return &ways[p->packed ? 2 : p->computed ? 1 : 0][p->streamed];
}

void cg_contract_load(cg *g, const et_contract *c, val chunk, et_source which, val *out) {
    c->weights->load(g, c, chunk, which, out);
}

/* Of a b that is computed: is raw number I from WHICH? */
static bool is_of(const et_contract *c, int i, et_source which) {
    return which == ET_FROM_BOTH || cg_contract_raw_source(c, i) == which;
}

void cg_contract_load_later(cg *g, const et_contract *c, val chunk, val chunks, et_source which,
                            val *out) {
    cg_if more;
    cg_if_begin(g, &more, cg_icmp(g, LLVMIntSLT, chunk, chunks));
    cg_contract_load(g, c, chunk, which, out);
    cg_if_end(g, &more);
    for (int i = 0; i < c->p.nload; i++) {
        if (!is_of(c, i, which)) continue;
        out[i] = cg_if_value(g, &more, out[i], LLVMGetPoison(LLVMTypeOf(out[i])));
    }
}
