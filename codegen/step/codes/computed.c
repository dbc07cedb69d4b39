/* A b that is computed: codes of weights and what they are multiplied by, in any expression of
 * tensors. What is loaded for a lane's k of a row goes to registers as it lies in memory, a chunk
 * ahead like a b that is loaded as it is, and becomes fragments when the chunk's turn has come.
 *
 * A lane's k of a fragment follow each other. A load that is contiguous over them is one of whole
 * words, and one that is the same for all of them, as scales of groups are, one element; an
 * expression with other loads goes through LDS. */
#include "codegen/step/contract.h"
#include "ir/program/stream.h"
#include <string.h>

enum { MAX_RAWS = 24 };

struct et_coded {
    int chunk, part,
        group; /* variables: k = chunk * kc + part * kc / wk + u * unit + group * lane + j */
    int nraws; /* of a row of a product */
    struct et_raw raw[ET_MAX_ACC][MAX_RAWS];
    int count[ET_MAX_ACC];
    et_expr streamed[ET_MAX_ACC]; /* the load that comes through the ring */
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

et_expr cg_contract_k(cg *g, const et_contract *c, int u) {
    const struct et_coded *d = c->coded;
    et_exprs *x = g->x;
    et_expr k = et_int(x, (int64_t)u * c->unit_k);
    k = et_add(x, k, et_mul(x, et_var(x, d->chunk), et_int(x, c->kc)));
    k = et_add(x, k, et_mul(x, et_var(x, d->part), et_int(x, c->kc / c->s->wk)));
    return et_add(x, k, et_mul(x, et_var(x, d->group), et_int(x, c->lane_k)));
}

et_expr cg_contract_of_unit(cg *g, const et_contract *c, et_expr e, int u) {
    et_expr k = et_subst_var(g->x, cg_contract_k(g, c, u), c->coded->group, et_int(g->x, 0));
    return et_same_in_run(g->x, e, c->s->kvar, k, c->unit_k);
}

/* LOAD in unit U as registers of a row of product I; false where it takes too many. */
static bool add_raw(cg *g, const et_contract *c, struct et_coded *d, int i, et_expr load, int u) {
    et_expr k = cg_contract_k(g, c, u), one = et_same_in_run(g->x, load, c->s->kvar, k, c->lane_k);
    et_node_x x = *et_x(g->x, load);
    int bits = et_dtype_bits(g->p->tensors[x.i].shape.dtype);
    struct et_raw r = {.load = load, .u = u, .n = 1};
    bool same = one.id;
    if (!same) {
        r.n = c->lane_k;
        r.align = cg_wide_align(g, x.i2, x.i, x.ops, c->s->kvar, k, c->lane_k);
        if (!r.align || r.n * bits > 128) return false;
    }
    r.node = same ? one : et_subst_var(g->x, load, c->s->kvar, k);
    r.ring = d->streamed[i].id && et_expr_eq(d->streamed[i], load);
    if (r.ring && (same || r.n * bits % 32)) return false;
    if (same) r.side = cg_contract_side(c, i, load);
    for (int o = 0; o < d->count[i]; o++)
        if (same && et_expr_eq(d->raw[i][o].node, r.node)) return true;
    if (d->count[i] == MAX_RAWS) return false;
    d->raw[i][d->count[i]++] = r;
    return true;
}

/* Cut into UNITS; false where some load is neither, or there are more than can be kept. */
static bool cut(cg *g, et_contract *c, int units) {
    const et_step *s = c->s;
    struct et_coded *d = c->coded;
    d->nraws = 0;
    memset(d->count, 0, sizeof d->count);
    c->sides = NULL;
    if (c->streamed) cg_contract_plan_sides(g, c, cg_contract_slot_bytes(c));
    d->chunk = cg_fresh_var(g, "c", c->k / c->kc);
    d->part = cg_fresh_var(g, "w", s->wk);
    d->group = cg_fresh_var(g, "g", c->unit_k / c->lane_k);
    for (int i = 0; i < s->nacc; i++) {
        struct leaves l = {.g = g, .kvar = s->kvar};
        find_loads(&l, s->b[i]);
        if (l.odd || !l.n) return false;
        if (c->streamed) d->streamed[i] = et_stream_load(g->p, s, i);
        for (int u = 0; u < units; u++) {
            for (int o = 0; o < l.n; o++)
                if (!add_raw(g, c, d, i, l.load[o], u)) return false;
        }
        d->nraws += d->count[i];
    }
    return true;
}

/* Can all products be computed in pairs, of k's that are as far apart? */
static int pairs_of(cg *g, const et_contract *c) {
    int apart = cg_contract_pairs(g, c, 0);
    for (int i = 1; i < c->s->nacc; i++)
        if (cg_contract_pairs(g, c, i) != apart) return 0;
    return apart;
}

bool cg_contract_code(cg *g, et_contract *c, int most) {
    const et_step *s = c->s;
    int rows = c->nsub * c->rows_n, wide = s->wk * c->unit_k;
    if (c->k <= 0 || c->k % wide || c->lane_k > 16) return false;
    if (most > MAX_RAWS) most = MAX_RAWS; /* a unit has one at least */
    c->coded = et_alloc(g->arena, sizeof *c->coded);
    for (int units = most; units > 0; units--) {
        if (c->k % ((int64_t)wide * units) || units * rows * s->nacc > ET_MAX_FRAGMENTS) continue;
        c->units = units;
        c->kc = units * wide;
        if (c->streamed && !cg_contract_fits(g, c)) continue;
        if (!cut(g, c, units)) continue;
        c->nload = c->coded->nraws * rows;
        c->apart = pairs_of(g, c);
        c->times = c->apart ? cg_contract_pairs_times() : 1;
        if (c->nload <= ET_MAX_FRAGMENTS) return true;
    }
    c->coded = NULL;
    c->times = 1;
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

static val load_one(cg *g, const struct et_raw *r) {
    et_node_x x = *et_x(g->x, r->node);
    et_dtype t = g->p->tensors[x.i].shape.dtype;
    int bits = et_dtype_bits(t) * r->n;
    LLVMTypeRef type = r->n == 1 ? (bits < 8 ? g->i8 : cg_storage(g, t)) : cg_words(g, bits);
    /* Not marked invariant, which would let LLVM sink it below the wait it is to hide in. */
    val v = LLVMBuildLoad2(g->b, type, cg_address(g, x.i2, x.i, offset_of(g, r->node)), "");
    LLVMSetAlignment(v, (unsigned)(r->n > 1 ? r->align : bits < 8 ? 1 : bits / 8));
    return v;
}

et_source cg_contract_raw_source(const et_contract *c, int i) {
    const struct et_coded *d = c->coded;
    int p = 0, rows = c->nsub * c->rows_n;
    while (i >= d->count[p] * rows)
        i -= d->count[p++] * rows;
    const struct et_raw *r = &d->raw[p][i % d->count[p]];
    return r->ring || r->side ? ET_FROM_RING : ET_FROM_MEMORY;
}

/* What comes through the ring of a row of product I, from SLOT. */
static void take_row(cg *g, const et_contract *c, val slot, int i, int row, val *out) {
    const struct et_coded *d = c->coded;
    val k0 = cg_add(g, c->kpart, c->lane_k0);
    for (int o = 0; o < d->count[i]; o++) {
        const struct et_raw *r = &d->raw[i][o];
        if (!r->ring && !r->side) continue;
        val k = cg_addi(g, k0, (int64_t)r->u * c->unit_k);
        if (r->side)
            out[o] = cg_contract_side_value(g, c, r->side, slot, row, k);
        else
            out[o] = cg_contract_from_slot(g, c, slot, i, row, k, r->n * c->bits);
    }
}

static void load_row(cg *g, const et_contract *c, val chunk, int i, int row, val *out) {
    const struct et_coded *d = c->coded;
    int mark = cg_scope(g);
    bind(g, c, chunk, row);
    for (int o = 0; o < d->count[i]; o++)
        if (!d->raw[i][o].ring && !d->raw[i][o].side) out[o] = load_one(g, &d->raw[i][o]);
    cg_scope_end(g, mark);
}

void cg_contract_raws(cg *g, const et_contract *c, val chunk, et_source which, val *out) {
    int rows = c->nsub * c->rows_n;
    val *to = out, slot;
    for (int i = 0; i < c->s->nacc && which & ET_FROM_MEMORY; i++)
        for (int row = 0; row < rows; row++, to += c->coded->count[i])
            load_row(g, c, chunk, i, row, to);
    if (!c->streamed || !(which & ET_FROM_RING)) return;
    cg_ring r = cg_ring_next(g, &g->taker);
    cg_ring_take(g, &r);
    slot = cg_ring_slot(g, &r);
    to = out;
    for (int i = 0; i < c->s->nacc; i++)
        for (int row = 0; row < rows; row++, to += c->coded->count[i])
            take_row(g, c, slot, i, row, to);
    cg_ring_taken(g, &r);
}

/* The elements that V brought are what their loads give. */
static void remember(cg *g, const et_contract *c, const struct et_raw *r, val v) {
    et_node_x x = *et_x(g->x, r->node);
    val out[16];
    et_expr at[16];
    if (r->n == 1) {
        cg_remember(g, r->node, cg_loaded_one(g, x.i2, x.i, v, offset_of(g, r->node)));
        return;
    }
    cg_loaded_words(g, g->p->tensors[x.i].shape.dtype, v, r->n, out);
    cg_unroll(g, r->load, c->s->kvar, cg_contract_k(g, c, r->u), r->n, at);
    for (int j = 0; j < r->n; j++)
        cg_remember(g, at[j], out[j]);
}

static val fragment(cg *g, const et_contract *c, int i, int u) {
    val v[16];
    et_expr at[16];
    cg_unroll(g, c->s->b[i], c->s->kvar, cg_contract_k(g, c, u), c->lane_k, at);
    for (int j = 0; j < c->lane_k; j++)
        v[j] = cg_to_storage(g, c->s->operand, cg_emit(g, at[j]));
    val all = cg_vector(g, cg_storage(g, c->s->operand), c->lane_k, v);
    return LLVMBuildBitCast(g->b, all, cg_fragment_type(g, c), "");
}

/* A row's fragments of units FROM to TO - 1, each PITCH behind the one before. */
static void decode_row(cg *g, const et_contract *c, int i, const val *raw, int from, int to,
                       int pitch, val *out) {
    const struct et_coded *d = c->coded;
    for (int o = 0; o < d->count[i]; o++) {
        const struct et_raw *r = &d->raw[i][o];
        bool needed = r->n == 1 || (r->u >= from && r->u < to && !c->apart && !c->bare);
        if (needed && !c->halves) remember(g, c, r, raw[o]);
    }
    for (int u = from; u < to; u++, out += pitch)
        *out = c->bare    ? cg_contract_bared(g, c, i, u, d->raw[i], raw)
               : c->apart ? cg_contract_paired(g, c, i, u, d->raw[i], raw)
                          : fragment(g, c, i, u);
}

void cg_contract_of_rows(cg *g, const et_contract *c, val chunk, const val *raw, int i, et_expr e,
                         val *out) {
    const struct et_coded *d = c->coded;
    int rows = c->nsub * c->rows_n;
    for (int k = 0; raw && k < i; k++)
        raw += (ptrdiff_t)rows * d->count[k];
    for (int row = 0; row < rows; row++) {
        int mark = cg_scope(g);
        bind(g, c, chunk, row);
        for (int o = 0; raw && o < d->count[i]; o++)
            if (d->raw[i][o].n == 1) remember(g, c, &d->raw[i][o], raw[row * d->count[i] + o]);
        out[row] = cg_emit_f32(g, e);
        cg_scope_end(g, mark);
    }
}

void cg_contract_decode(cg *g, const et_contract *c, val chunk, const val *raw, int from, int to,
                        val *out) {
    int rows = c->nsub * c->rows_n, pitch = rows * c->s->nacc;
    for (int i = 0; i < c->s->nacc; i++)
        for (int row = 0; row < rows; row++, raw += c->coded->count[i]) {
            int mark = cg_scope(g);
            bind(g, c, chunk, row);
            decode_row(g, c, i, raw, from, to, pitch, out + i * rows + row);
            cg_scope_end(g, mark);
        }
}
