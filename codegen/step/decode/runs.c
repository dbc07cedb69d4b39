/* Values as f16 (f16.c) with a column of the operand for each run of k's that share a scale
 * (ir/product/runs.c). In column n there are the row's elements of run n of a turn, and zeros
 * elsewhere; a lane has the sums of two columns, which are multiplied by their scales at the end of
 * a turn.
 *
 * Behind the staged row there are zeros, and for each run what its sum begins from: all that the
 * family puts above values, and what is added to them, times the run's elements; and the sum of
 * these, by which minima are multiplied. */
#include "codegen/step/decode/decode.h"
#include "ir/weights/scaled.h"

enum { PIECE = 16, EACH = PIECE / 2 /* elements */, COLUMNS = 8, WORDS = PIECE / 4 };

/* ---- the row ---- */

/* Where the numbers of run NUMBER of the row are. */
static val of_run(cg *g, const et_contract *c, val number) {
    int each = 4 * et_decode_each(cg_cx(g), &c->p);
    return cg_contract_behind_row(
        g, c, cg_addi(g, cg_muli(g, number, each), et_decode_zeros(cg_cx(g), &c->p)));
}

static void store(cg *g, val v, val to, int align) {
    LLVMSetAlignment(LLVMBuildStore(g->b, v, to), (unsigned)align);
}

void cg_runs_zeros(cg *g, const et_contract *c) {
    LLVMTypeRef t = LLVMVectorType(g->i32, WORDS);
    int n = et_decode_zeros(cg_cx(g), &c->p) / PIECE;
    cg_if some;
    et_check(n <= g->p->workgroup);
    cg_if_begin(g, &some, cg_icmp(g, LLVMIntULT, g->tid, cg_i32(g, n)));
    store(g, LLVMConstNull(t), cg_contract_behind_row(g, c, cg_muli(g, g->tid, PIECE)), PIECE);
    cg_if_end(g, &some);
}

/* The sum of the two halves of WORD. */
static val both(cg *g, val word) {
    val h = LLVMBuildBitCast(g->b, word, LLVMVectorType(g->f16, 2), "");
    return LLVMBuildFAdd(g->b, LLVMBuildFPExt(g->b, cg_extract(g, h, 0), g->f32, ""),
                         LLVMBuildFPExt(g->b, cg_extract(g, h, 1), g->f32, ""), "");
}

/* Elements that go with values times sixteen are a sixteenth. */
void cg_runs_note(cg *g, const et_contract *c, val item, val there, val halves) {
    et_dtype code = et_decode_type(cg_cx(g), &c->p, 0);
    const et_pairs_family *of = g->family->pairs;
    int64_t more = et_decode_more(cg_cx(g), &c->p) - of->excess(code);
    int each = et_decode_each(cg_cx(g), &c->p);
    val sum[2] = {cg_f32(g, 0), cg_f32(g, 0)};
    for (int w = 0; w < WORDS; w++)
        sum[w % 2] = LLVMBuildFAdd(g->b, sum[w % 2], both(g, cg_extract(g, halves, w)), "");
    val staged = LLVMBuildFAdd(g->b, sum[0], sum[1], "");
    val all = c->p.pair_gap > 1 ? cg_fma(g, sum[1], cg_f32(g, 16), sum[0]) : staged;
    val first = cg_fma(g, all, cg_f32(g, (double)more),
                       LLVMBuildFMul(g->b, staged, cg_f32(g, -of->above(ET_F16, code)), ""));
    val keep[] = {first, all};
    for (int n = 1; n < c->p.run / EACH; n *= 2)
        for (int i = 0; i < each; i++)
            keep[i] = LLVMBuildFAdd(g->b, keep[i], cg_shuffle_xor(g, keep[i], n), "");
    val one = LLVMBuildURem(g->b, item, cg_i32(g, c->p.run / EACH), "");
    one = cg_icmp(g, LLVMIntEQ, one, cg_i32(g, 0));
    cg_if some;
    cg_if_begin(g, &some, there ? LLVMBuildAnd(g->b, one, there, "") : one);
    store(g, each > 1 ? cg_vector(g, g->f32, each, keep) : keep[0],
          of_run(g, c, LLVMBuildUDiv(g->b, item, cg_i32(g, c->p.run / EACH), "")), 4 * each);
    cg_if_end(g, &some);
}

/* Number of the column that has the elements from AT on, in a wave's part, of the lane's. */
static val column_of(cg *g, const et_contract *c, int at) {
    val k = cg_addi(g, c->at.lane_k0, at % (COLUMNS * c->p.run));
    k = LLVMBuildUDiv(g->b, k, cg_i32(g, c->p.run), "");
    return LLVMBuildURem(g->b, k, cg_i32(g, COLUMNS), "");
}

/* Lanes of other columns read zeros, from addresses that differ by numbers, too. */
void cg_runs_load(cg *g, const et_contract *c, val row, val k, int u, int units, val *a) {
    val at = cg_add(g, cg_add(g, cg_muli(g, row, c->p.pitch_a), c->at.lane_k0), k);
    val first = cg_contract_staged_ptr(g, c, c->p.s->stage_a, at);
    val zeros = cg_contract_behind_row(g, c, cg_i32(g, 0));
    for (int i = 0; i < units; i++)
        for (int piece = 0; piece < c->p.lane_k / EACH; piece++) {
            int of = i * c->p.unit_k + piece * EACH;
            val own = column_of(g, c, u * c->p.unit_k + of);
            val is = cg_icmp(g, LLVMIntEQ, own, c->at.lane_m);
            val from = cg_gepi(g, cg_select(g, is, first, zeros), (int64_t)of * c->p.size);
            *a = LLVMBuildLoad2(g->b, cg_words(g, 8 * PIECE), from, "");
            LLVMSetAlignment(*a++, PIECE);
        }
}

/* ---- products ---- */

/* What is kept of the lane's two columns in the turn of unit U: OUT[0] for values, OUT[1] for
 * minima; zero where the turn has no such run. */
static void kept(cg *g, const et_contract *c, val chunk, int u, val out[2][2]) {
    int here = et_runs_here(&c->p, u / et_runs_units(&c->p));
    val k = cg_add(g, cg_muli(g, chunk, c->p.kc), c->at.kpart);
    k = cg_addi(g, k, (int64_t)u * c->p.unit_k);
    val run = cg_add(g, LLVMBuildUDiv(g->b, k, cg_i32(g, c->p.run), ""), c->at.out_m),
        in[2] = {NULL};
    if (here < COLUMNS) {
        for (int v = 0; v < 2; v++)
            in[v] = cg_icmp(g, LLVMIntULT, c->at.out_m, cg_i32(g, here - v));
        run = cg_select(g, in[0], run, cg_i32(g, 0));
    }
    int each = et_decode_each(cg_cx(g), &c->p);
    val all =
        LLVMBuildLoad2(g->b, LLVMVectorType(g->f32, 2 * (unsigned)each), of_run(g, c, run), "");
    bool even = c->p.kc / c->p.s->wk % (2 * c->p.run) == 0;
    LLVMSetAlignment(all, 4 * (unsigned)each << even);
    for (int v = 0; v < 2; v++)
        for (int n = 0; n < each; n++) {
            out[n][v] = cg_extract(g, all, each * v + n);
            if (in[v]) out[n][v] = cg_select(g, in[v], out[n][v], cg_f32(g, 0));
        }
}

/* Sets in turn, of which the first begins from what is KEPT. */
static val begin_turn(cg *g, const et_contract *c, const val *first) {
    val sum = LLVMConstNull(LLVMVectorType(g->f32, (unsigned)(c->p.sets * c->p.results)));
    for (int r = 0; r < c->p.results; r++)
        sum = LLVMBuildInsertElement(g->b, sum, first[r % 2], cg_i32(g, r), "");
    return sum;
}

static val products(cg *g, const et_contract *c, int u, const val *of, const val *a, val sum) {
    int pieces = c->p.lane_k / EACH;
    for (int s = 0; s < pieces; s++) {
        int set = (u * pieces + s) % c->p.sets;
        val b[ET_MAX_ROWS];
        for (int r = 0; r < c->p.rows_n; r++)
            b[r] = cg_extract_n(g, of[r], s * WORDS, WORDS);
        val part = cg_extract_n(g, sum, set * c->p.results, c->p.results);
        part = g->family->multiply(g, c->p.fr, EACH, b, a + s, part);
        for (int i = 0; i < c->p.results; i++)
            sum = LLVMBuildInsertElement(g->b, sum, cg_extract(g, part, i),
                                         cg_i32(g, set * c->p.results + i), "");
    }
    return sum;
}

/* ACC plus PART, whose values are of two rows N and two columns, by SCALE; and LEAST by what is
 * kept for minima, or NULL. */
static val end_turn(cg *g, const et_contract *c, val part, const val *scale, const val *least,
                    const val *kept, val acc) {
    for (int r = 0; r < c->p.results; r++) {
        val v = cg_extract(g, part, r), sum = cg_extract(g, acc, r);
        for (int set = 1; set < c->p.sets; set++)
            v = LLVMBuildFAdd(g->b, v, cg_extract(g, part, set * c->p.results + r), "");
        sum = cg_fma(g, v, scale[r], sum);
        if (least) sum = cg_fma(g, kept[r % 2], least[r], sum);
        acc = LLVMBuildInsertElement(g->b, acc, sum, cg_i32(g, r), "");
    }
    return acc;
}

static void multiply(cg *g, const et_contract *c, val chunk, int u, const val *raw, const val *of,
                     const val *a, int in_a, val *part, val *acc) {
    int units = et_runs_units(&c->p), pieces = c->p.lane_k / EACH;
    bool first = u % units == 0, last = u + 1 == c->p.units || (u + 1) % units == 0;
    val keep[2][2];
    if (first || last) kept(g, c, chunk, u / units * units, keep);
    for (int i = 0; i < c->p.s->nacc; i++) {
        val scale[ET_MAX_FRAGMENTS], least[ET_MAX_FRAGMENTS];
        et_scaled s;
        et_check(et_decode_scaled(cg_cx(g), &c->p, i, &s));
        if (last) cg_contract_of_columns(g, c, chunk, raw, i, u, s.times, scale);
        if (last && s.plus.id) cg_contract_of_columns(g, c, chunk, raw, i, u, s.plus, least);
        for (int ns = 0; ns < c->p.nsub; ns++, of += c->p.rows_n) {
            int at = cg_contract_sum(c, i, 0, ns), row = 2 * ns * c->p.rows_n;
            if (first) part[at] = begin_turn(g, c, keep[0]);
            part[at] = products(g, c, u % units, of, a + (ptrdiff_t)in_a * pieces, part[at]);
            if (!last) continue;
            acc[at] = end_turn(g, c, part[at], scale + row, s.plus.id ? least + row : NULL, keep[1],
                               acc[at]);
        }
    }
}

static void end(cg *g, const et_contract *c, val *acc) {
    val by = cg_contract_of_row(g, c);
    for (int i = 0; i < et_mainloop_sums(&c->p); i++)
        for (int r = 0; r < c->p.results; r++) {
            val v = LLVMBuildFMul(g->b, cg_extract(g, acc[i], r), by, "");
            acc[i] = LLVMBuildInsertElement(g->b, acc[i], v, cg_i32(g, r), "");
        }
}

/* Of the columns in four lanes and two values. */
val cg_runs_sum(cg *g, const et_contract *c, val sum) {
    val out = LLVMConstNull(LLVMVectorType(g->f32, (unsigned)c->p.results));
    for (int n = 0; n < c->p.results; n += 2) {
        val all = LLVMBuildFAdd(g->b, cg_extract(g, sum, n), cg_extract(g, sum, n + 1), "");
        for (int b = 0; b < 2; b++)
            all = LLVMBuildFAdd(g->b, all, cg_shuffle_xor(g, all, 1 << b), "");
        out = LLVMBuildInsertElement(g->b, out, all, cg_i32(g, n), "");
    }
    return out;
}

const struct et_decoding cg_decode_runs = {
    .unit = cg_contract_unit_bare,
    .multiply = multiply,
    .end = end,
};
