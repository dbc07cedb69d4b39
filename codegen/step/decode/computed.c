/* A b that is computed: quantised values and scales, in any expression of tensors. Its loads for a
 * lane's k of a row go to registers unchanged, a chunk ahead, and become fragments when the chunk
 * is multiplied.
 *
 * A lane's k of a fragment follow each other. A load that is contiguous over them is one of whole
 * words, and one that is the same for all of them, as scales of groups are, one element; an
 * expression with other loads goes through LDS. */
#include "ir/weights/computed.h"
#include "codegen/step/decode/decode.h"
#include "ir/weights/stream.h"
#include <string.h>

/* ---- loads and fragments ---- */

static void bind(cg *g, const et_contract *c, val chunk, int row) {
    const et_computed *d = c->p.computed;
    cg_bind(g, d->chunk, chunk, false);
    cg_bind(g, d->part, c->at.ks, false);
    cg_bind(g, d->group, c->at.group, true);
    cg_bind(g, c->p.s->nvar, c->at.row_n[row], true);
}

static et_expr offset_of(cg *g, et_expr load) {
    et_node_x x = *et_x(g->x, load);
    return cg_offset(g, x.i2, x.i, x.ops);
}

static val load_one(cg *g, const et_raw *r) {
    et_node_x x = *et_x(g->x, r->node);
    et_dtype t = g->p->tensors[x.i].shape.dtype;
    int bits = et_dtype_bits(t) * r->n;
    LLVMTypeRef type = r->n == 1 ? (bits < 8 ? g->i8 : cg_storage(g, t)) : cg_words(g, bits);
    /* Not `invariant`: LLVM would sink it below the wait. */
    val v = LLVMBuildLoad2(g->b, type, cg_address(g, x.i2, x.i, offset_of(g, r->node)), "");
    LLVMSetAlignment(v, (unsigned)(r->n > 1 ? r->align : bits < 8 ? 1 : bits / 8));
    return r->n > 1 ? v : cg_contract_single(g, v);
}

val cg_contract_single(cg *g, val v) {
    return LLVMTypeOf(v) == g->i8 ? LLVMBuildZExt(g->b, v, g->i32, "") : v;
}

et_source cg_contract_raw_source(const et_contract *c, int i) {
    const et_computed *d = c->p.computed;
    int p = 0, rows = c->p.nsub * c->p.rows_n;
    while (i >= d->count[p] * rows)
        i -= d->count[p++] * rows;
    const et_raw *r = &d->raw[p][i % d->count[p]];
    return r->ring || r->side ? ET_FROM_RING : ET_FROM_MEMORY;
}

/* The codes of all rows of product I, from STAGE. */
static void take_blocks(cg *g, const et_contract *c, val stage, int i, val *out) {
    const et_computed *d = c->p.computed;
    int rows = c->p.nsub * c->p.rows_n;
    val word[ET_MAX_FRAGMENTS];
    cg_contract_blocks_from_stage(g, c, stage, i, word);
    for (int o = 0; o < d->count[i]; o++)
        for (int row = 0; row < rows && d->raw[i][o].ring; row++)
            out[row * d->count[i] + o] = word[d->raw[i][o].u * rows + row];
}

/* The streamed part of a row of product I, from STAGE; of BLOCKS all but the codes. */
static void take_row(cg *g, const et_contract *c, val chunk, val stage, bool blocks, int i, int row,
                     val *out) {
    const et_computed *d = c->p.computed;
    val k0 = cg_add(g, c->at.kpart, c->at.lane_k0);
    for (int o = 0; o < d->count[i]; o++) {
        const et_raw *r = &d->raw[i][o];
        if ((!r->ring && !r->side) || (r->ring && blocks)) continue;
        val k = cg_addi(g, k0, (int64_t)r->u * c->p.unit_k);
        if (r->side && r->each)
            out[o] = cg_auxiliary_units(g, c, r, chunk, stage, row);
        else if (r->side && r->columns)
            out[o] = cg_auxiliary_columns(g, c, r, chunk, stage, row);
        else if (r->side && r->n > 1)
            out[o] = cg_auxiliary_codes(g, c, r->side, stage, row, k, r->n);
        else if (r->side)
            out[o] = cg_auxiliary_value(g, c, r->side, chunk, stage, row, k);
        else
            out[o] = cg_contract_from_stage(g, c, stage, i, row, k, r->n * c->p.bits);
    }
}

static void load_row(cg *g, const et_contract *c, val chunk, int i, int row, val *out) {
    const et_computed *d = c->p.computed;
    int mark = cg_scope(g);
    bind(g, c, chunk, row);
    for (int o = 0; o < d->count[i]; o++)
        if (!d->raw[i][o].ring && !d->raw[i][o].side) out[o] = load_one(g, &d->raw[i][o]);
    cg_scope_end(g, mark);
}

void cg_contract_raws(cg *g, const et_contract *c, val chunk, et_source which, val *out) {
    int rows = c->p.nsub * c->p.rows_n;
    val *to = out, stage;
    for (int i = 0; i < c->p.s->nacc && which & ET_FROM_MEMORY; i++)
        for (int row = 0; row < rows; row++, to += c->p.computed->count[i])
            load_row(g, c, chunk, i, row, to);
    if (!c->p.streamed || !(which & ET_FROM_RING)) return;
    cg_ring r = cg_ring_next(g, &g->consumer);
    cg_ring_consumer_wait(g, &r);
    stage = cg_ring_stage(g, &r);
    to = out;
    bool blocks = cg_contract_stage_in_blocks(g, c);
    for (int i = 0; i < c->p.s->nacc; i++) {
        if (blocks) take_blocks(g, c, stage, i, to);
        for (int row = 0; row < rows; row++, to += c->p.computed->count[i])
            take_row(g, c, chunk, stage, blocks, i, row, to);
    }
    cg_ring_consumer_release(g, &r);
}

/* Makes the elements in V the values of their loads. */
static void remember(cg *g, const et_contract *c, const et_raw *r, val v) {
    et_node_x x = *et_x(g->x, r->node);
    val out[16];
    et_expr at[16];
    if (r->n == 1) {
        if (LLVMTypeOf(v) == g->i32 && et_dtype_bits(g->p->tensors[x.i].shape.dtype) <= 8)
            v = LLVMBuildTrunc(g->b, v, g->i8, "");
        cg_remember(g, r->node, cg_loaded_one(g, x.i2, x.i, v, offset_of(g, r->node)));
        return;
    }
    cg_loaded_words(g, g->p->tensors[x.i].shape.dtype, v, r->n, out);
    cg_unroll(g, r->load, c->p.s->kvar, et_computed_k(cg_cx(g), &c->p, r->u), r->n, at);
    for (int j = 0; j < r->n; j++)
        cg_remember(g, at[j], out[j]);
}

static val fragment(cg *g, const et_contract *c, int i, int u, const et_raw *raw,
                    const val *loaded) {
    (void)raw, (void)loaded;
    val v[16];
    et_expr at[16];
    cg_unroll(g, c->p.s->b[i], c->p.s->kvar, et_computed_k(cg_cx(g), &c->p, u), c->p.lane_k, at);
    for (int j = 0; j < c->p.lane_k; j++)
        v[j] = cg_to_storage(g, c->p.s->operand, cg_emit(g, at[j]));
    val all = cg_vector(g, cg_storage(g, c->p.s->operand), c->p.lane_k, v);
    return LLVMBuildBitCast(g->b, all, cg_fragment_type(g, c), "");
}

/* A row's fragments of units FROM to TO - 1, each PITCH behind the one before. */
static void decode_row(cg *g, const et_contract *c, int i, const val *raw, int from, int to,
                       int pitch, val *out) {
    const et_computed *d = c->p.computed;
    for (int o = 0; o < d->count[i]; o++) {
        const et_raw *r = &d->raw[i][o];
        bool here = r->u >= from && r->u < to;
        if (r->n == 1 ? c->decode->singles : here && c->decode->elements) remember(g, c, r, raw[o]);
    }
    for (int u = from; u < to; u++, out += pitch)
        *out = c->decode->unit(g, c, i, u, d->raw[i], raw);
}

void cg_contract_of_rows(cg *g, const et_contract *c, val chunk, const val *raw, int i, et_expr e,
                         val *out) {
    const et_computed *d = c->p.computed;
    int rows = c->p.nsub * c->p.rows_n;
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

/* Bits AT on of LOADED, whole words or less than one, as an element of type T that NODE loads. */
static void remember_bits(cg *g, et_expr node, et_dtype t, val loaded, int at) {
    et_node_x x = *et_x(g->x, node);
    int bits = et_dtype_bits(t);
    if (LLVMTypeOf(loaded) != g->i32) loaded = cg_extract(g, loaded, at / 32);
    if (at % 32) loaded = LLVMBuildLShr(g->b, loaded, cg_i32(g, at % 32), "");
    if (bits < 32) loaded = LLVMBuildTrunc(g->b, loaded, bits == 8 ? g->i8 : g->i16, "");
    if (bits > 8) loaded = LLVMBuildBitCast(g->b, loaded, cg_storage(g, t), "");
    cg_remember(g, node, cg_loaded_one(g, x.i2, x.i, loaded, et_int(g->x, 0)));
}

/* The lane's column number V of what R loaded, as its element. */
static void remember_column(cg *g, const et_contract *c, const et_raw *r, val loaded, int v) {
    et_node_x x = *et_x(g->x, r->load);
    et_dtype t = g->p->tensors[x.i].shape.dtype;
    int turn = r->u / et_runs_units(&c->p);
    et_expr node = et_subst_var(g->x, r->load, c->p.s->kvar, et_runs_k(cg_cx(g), &c->p, turn, v));
    bool second = r->columns == ET_COLUMNS_BOTH && v;
    remember_bits(g, node, t, loaded, second ? et_dtype_bits(t) : 0);
}

void cg_contract_of_columns(cg *g, const et_contract *c, val chunk, const val *raw, int i, int u,
                            et_expr e, val *out) {
    const et_computed *d = c->p.computed;
    int rows = c->p.nsub * c->p.rows_n, turn = u / et_runs_units(&c->p);
    for (int k = 0; k < i; k++)
        raw += (ptrdiff_t)rows * d->count[k];
    for (int row = 0; row < rows; row++, raw += d->count[i])
        for (int v = 0; v < 2; v++) {
            int mark = cg_scope(g);
            bind(g, c, chunk, row);
            cg_bind(g, d->column, c->at.out_m, true);
            for (int o = 0; o < d->count[i]; o++) {
                const et_raw *r = &d->raw[i][o];
                bool other = r->columns == (v ? ET_COLUMNS_FIRST : ET_COLUMNS_SECOND);
                if (r->columns && !other && r->u / et_runs_units(&c->p) == turn)
                    remember_column(g, c, r, raw[o], v);
            }
            et_expr k = et_runs_k(cg_cx(g), &c->p, turn, v);
            *out++ = cg_emit_f32(g, et_subst_var(g->x, e, c->p.s->kvar, k));
            cg_scope_end(g, mark);
        }
}

/* What R loaded for PART of unit U, if it did. */
static void remember_part(cg *g, const et_contract *c, const et_raw *r, val loaded, int u,
                          int part) {
    if (!r->each) return;
    et_dtype t = g->p->tensors[et_x(g->x, r->load)->i].shape.dtype;
    int first = u * c->p.unit_k + part * c->p.unit_k / et_bare_parts(&c->p);
    int at = first / r->side->group - r->first;
    if (at < 0 || at >= r->each) return;
    et_expr k = et_bare_k(cg_cx(g), &c->p, u, part);
    et_expr node = et_same_in_run(g->x, r->load, c->p.s->kvar, k, c->p.lane_k);
    remember_bits(g, node, t, loaded, at * et_dtype_bits(t));
}

void cg_contract_of_part(cg *g, const et_contract *c, val chunk, const val *raw, int i, int u,
                         int part, et_expr e, val *out) {
    const et_computed *d = c->p.computed;
    int rows = c->p.nsub * c->p.rows_n;
    et_expr k = et_bare_k(cg_cx(g), &c->p, u, part);
    e = et_same_in_run(g->x, e, c->p.s->kvar, k, c->p.lane_k);
    for (int p = 0; p < i; p++)
        raw += (ptrdiff_t)rows * d->count[p];
    for (int row = 0; row < rows; row++, raw += d->count[i]) {
        int mark = cg_scope(g);
        bind(g, c, chunk, row);
        for (int o = 0; o < d->count[i]; o++)
            remember_part(g, c, &d->raw[i][o], raw[o], u, part);
        out[row] = cg_emit_f32(g, e);
        cg_scope_end(g, mark);
    }
}

void cg_contract_decode(cg *g, const et_contract *c, val chunk, const val *raw, int from, int to,
                        val *out) {
    int rows = c->p.nsub * c->p.rows_n, pitch = rows * c->p.s->nacc;
    for (int i = 0; i < c->p.s->nacc; i++)
        for (int row = 0; row < rows; row++, raw += c->p.computed->count[i]) {
            int mark = cg_scope(g);
            bind(g, c, chunk, row);
            decode_row(g, c, i, raw, from, to, pitch, out + i * rows + row);
            cg_scope_end(g, mark);
        }
}

/* The number in RAW of unit U's quantised values. */
int cg_contract_raw_of(const et_raw *raw, int u, et_expr codes) {
    int k = 0;
    while (raw[k].u != u || raw[k].n == 1 || !et_expr_eq(raw[k].load, codes))
        k++;
    return k;
}

static const struct et_decoding elements = {.unit = fragment, .elements = true, .singles = true};
static const struct et_decoding pairs = {.unit = cg_contract_paired, .singles = true};

const struct et_decoding *cg_decoding_of(const et_mainloop *p) {
    static const struct et_decoding *const ways[] = {
        [ET_DECODE_PLAIN] = NULL,         [ET_DECODE_COMPUTED] = &elements,
        [ET_DECODE_PAIRS] = &pairs,       [ET_DECODE_UNSCALED] = &cg_decode_unscaled,
        [ET_DECODE_F16] = &cg_decode_f16, [ET_DECODE_BF16] = &cg_decode_bf16,
        [ET_DECODE_FP8] = NULL,
    };
    if (p->run) return &cg_decode_runs;
    return ways[p->plan.decode];
}
