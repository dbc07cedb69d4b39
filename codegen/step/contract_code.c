/* A b that is computed: codes of weights and what they are multiplied by, in any expression of
 * tensors. What is loaded for a lane's k of a row goes to registers as it lies in memory, a chunk
 * ahead like a b that is loaded as it is, and becomes fragments when the chunk's turn has come.
 *
 * A lane's k of a fragment follow each other. A load that is contiguous over them is one of whole
 * words, and one that is the same for all of them, as scales of groups are, one element; an
 * expression with other loads goes through LDS. */
#include "codegen/step/contract.h"
#include <string.h>

enum { MAX_RAWS = 24 };

/* What a load brings: elements for the lane's K values of unit U, or one for all of them. */
struct raw {
    et_expr load; /* as it stands in b */
    et_expr node; /* at the first of its k */
    int u, n, align;
};

struct et_coded {
    int chunk, part,
        group; /* variables: k = chunk * kc + part * kc / wk + u * unit + group * lane + j */
    int nraws; /* of a row of a product */
    struct raw raw[ET_MAX_ACC][MAX_RAWS];
    int count[ET_MAX_ACC];
    et_expr at[ET_MAX_ACC][ET_MAX_FRAGMENTS][16];
};

/* ---- which loads there are ---- */

struct leaves {
    cg *g;
    int kvar;
    et_expr load[8];
    int n;
    bool odd; /* more than can be kept, or some that only a choice makes */
};

static void find_loads(struct leaves *l, et_expr e) {
    et_node_x x = *et_x(l->g->x, e);
    if (x.op == ET_X_SELECT || x.op == ET_X_AND || x.op == ET_X_OR) l->odd = true;
    if (!et_expr_has_var(l->g->x, e, l->kvar)) return;
    if (x.op != ET_X_LOAD) {
        for (int i = 0; i < x.nops; i++)
            find_loads(l, x.ops[i]);
        return;
    }
    l->odd |= x.i2 != ET_LOAD_TENSOR;
    for (int i = 0; i < l->n; i++)
        if (et_expr_eq(l->load[i], e)) return;
    if (l->n == 8)
        l->odd = true;
    else
        l->load[l->n++] = e;
}

static et_expr k_of(cg *g, const et_contract *c, const struct et_coded *d, int u) {
    et_exprs *x = g->x;
    et_expr k = et_int(x, (int64_t)u * c->unit_k);
    k = et_add(x, k, et_mul(x, et_var(x, d->chunk), et_int(x, c->kc)));
    k = et_add(x, k, et_mul(x, et_var(x, d->part), et_int(x, c->kc / c->s->wk)));
    return et_add(x, k, et_mul(x, et_var(x, d->group), et_int(x, c->lane_k)));
}

/* LOAD in unit U as registers of a row of product I; false where it takes too many. */
static bool add_raw(cg *g, const et_contract *c, struct et_coded *d, int i, et_expr load, int u) {
    et_expr at[16], k = k_of(g, c, d, u);
    et_node_x x = *et_x(g->x, load);
    int bits = et_dtype_bits(g->p->tensors[x.i].shape.dtype);
    struct raw r = {.load = load, .u = u, .n = 1};
    cg_unroll(g, load, c->s->kvar, k, c->lane_k, at);
    bool same = true;
    for (int j = 1; j < c->lane_k; j++)
        same &= et_expr_eq(at[j], at[0]);
    if (!same) {
        r.n = c->lane_k;
        r.align = cg_wide_align(g, x.i2, x.i, x.ops, c->s->kvar, k, c->lane_k);
        if (!r.align || r.n * bits > 128) return false;
    }
    r.node = at[0];
    for (int o = 0; o < d->count[i]; o++)
        if (same && et_expr_eq(d->raw[i][o].node, r.node)) return true;
    if (d->count[i] == MAX_RAWS) return false;
    d->raw[i][d->count[i]++] = r;
    return true;
}

/* Cut into UNITS; NULL where some load is neither. */
static struct et_coded *coded_of(cg *g, const et_contract *c, int units) {
    const et_step *s = c->s;
    struct et_coded *d = et_alloc(g->arena, sizeof *d);
    d->chunk = cg_fresh_var(g, "c", c->k / c->kc);
    d->part = cg_fresh_var(g, "w", s->wk);
    d->group = cg_fresh_var(g, "g", c->unit_k / c->lane_k);
    for (int i = 0; i < s->nacc; i++) {
        struct leaves l = {.g = g, .kvar = s->kvar};
        find_loads(&l, s->b[i]);
        if (l.odd || !l.n) return NULL;
        for (int u = 0; u < units; u++) {
            cg_unroll(g, s->b[i], s->kvar, k_of(g, c, d, u), c->lane_k, d->at[i][u]);
            for (int o = 0; o < l.n; o++)
                if (!add_raw(g, c, d, i, l.load[o], u)) return NULL;
        }
        d->nraws += d->count[i];
    }
    return d;
}

bool cg_contract_code(cg *g, et_contract *c, int most) {
    const et_step *s = c->s;
    int rows = c->nsub * c->rows_n, wide = s->wk * c->unit_k;
    if (c->k <= 0 || c->k % wide || c->lane_k > 16) return false;
    for (int units = most; units > 0; units--) {
        if (c->k % ((int64_t)wide * units) || units * rows * s->nacc > ET_MAX_FRAGMENTS) continue;
        c->units = units;
        c->kc = units * wide;
        c->coded = coded_of(g, c, units);
        if (!c->coded) return false;
        c->nload = c->coded->nraws * rows;
        if (c->nload <= ET_MAX_FRAGMENTS) return true;
    }
    c->coded = NULL;
    return false;
}

/* ---- loads and fragments ---- */

static void bind(cg *g, const et_contract *c, val chunk, int row) {
    const struct et_coded *d = c->coded;
    cg_bind(g, d->chunk, chunk, false);
    cg_bind(g, d->part, c->ks, false);
    cg_bind(g, d->group, c->group, true);
    cg_bind(g, c->s->nvar, c->row_n[row], true);
}

static et_expr offset_of(cg *g, et_expr load) {
    et_node_x x = *et_x(g->x, load);
    return cg_offset(g, x.i2, x.i, x.ops);
}

static val load_one(cg *g, const struct raw *r) {
    et_node_x x = *et_x(g->x, r->node);
    et_dtype t = g->p->tensors[x.i].shape.dtype;
    int bits = et_dtype_bits(t) * r->n;
    LLVMTypeRef type = r->n == 1 ? (bits < 8 ? g->i8 : cg_storage(g, t)) : cg_words(g, bits);
    /* Not marked invariant, which would let LLVM sink it below the wait it is to hide in. */
    val v = LLVMBuildLoad2(g->b, type, cg_address(g, x.i2, x.i, offset_of(g, r->node)), "");
    LLVMSetAlignment(v, (unsigned)(r->n > 1 ? r->align : bits < 8 ? 1 : bits / 8));
    return v;
}

void cg_contract_raws(cg *g, const et_contract *c, val chunk, val *out) {
    for (int i = 0; i < c->s->nacc; i++)
        for (int row = 0; row < c->nsub * c->rows_n; row++) {
            int mark = cg_scope(g);
            bind(g, c, chunk, row);
            for (int o = 0; o < c->coded->count[i]; o++)
                *out++ = load_one(g, &c->coded->raw[i][o]);
            cg_scope_end(g, mark);
        }
}

/* The elements that V brought are what their loads give. */
static void remember(cg *g, const et_contract *c, const struct raw *r, val v) {
    et_node_x x = *et_x(g->x, r->node);
    val out[16];
    et_expr at[16];
    if (r->n == 1) {
        cg_remember(g, r->node, cg_loaded_one(g, x.i2, x.i, v, offset_of(g, r->node)));
        return;
    }
    cg_loaded_words(g, g->p->tensors[x.i].shape.dtype, v, r->n, out);
    cg_unroll(g, r->load, c->s->kvar, k_of(g, c, c->coded, r->u), r->n, at);
    for (int j = 0; j < r->n; j++)
        cg_remember(g, at[j], out[j]);
}

static val fragment(cg *g, const et_contract *c, const et_expr *at) {
    val v[16];
    for (int j = 0; j < c->lane_k; j++)
        v[j] = cg_to_storage(g, c->s->operand, cg_emit(g, at[j]));
    val all = cg_vector(g, cg_storage(g, c->s->operand), c->lane_k, v);
    return LLVMBuildBitCast(g->b, all, cg_fragment_type(g, c), "");
}

void cg_contract_decode(cg *g, const et_contract *c, val chunk, const val *raw, val *out) {
    int rows = c->nsub * c->rows_n;
    for (int i = 0; i < c->s->nacc; i++)
        for (int row = 0; row < rows; row++) {
            int mark = cg_scope(g);
            bind(g, c, chunk, row);
            for (int o = 0; o < c->coded->count[i]; o++)
                remember(g, c, &c->coded->raw[i][o], *raw++);
            for (int u = 0; u < c->units; u++)
                out[(u * c->s->nacc + i) * rows + row] = fragment(g, c, c->coded->at[i][u]);
            cg_scope_end(g, mark);
        }
}
