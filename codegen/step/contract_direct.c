/* Products with b in registers: chunks of k in turn, the next one's b on its way meanwhile, and the
 * rows of a sixteen at a time, through LDS or (contract_own.c) straight from memory. */
#include "codegen/step/contract.h"
#include <string.h>

/* ---- one row ----
 *
 * Products of few rows have room for eight. Were there one, lanes of all eight would load the same
 * of it, which takes local memory as long as if it were different. So the operand's rows get pieces
 * of that row's k, one each: a load brings as many pieces as there are rows that have any. Each
 * piece is multiplied into a set of sums in which no other row's sum is any good. */

enum { PIECE = 16, ROWS = 4, RESULTS = 4 };

/* The lane's pieces of UNITS units from K on, of which as many follow each other as there are rows.
 */
static void load_spread(cg *g, const et_contract *c, val row, val k, int units, val *a) {
    int pieces = et_rows_spread_pieces(&c->p), n = units * pieces / c->p.spread;
    val which = LLVMBuildAnd(g->b, c->lane_m, cg_i32(g, c->p.spread - 1), "");
    val unit = LLVMBuildUDiv(g->b, which, cg_i32(g, pieces), "");
    val piece = LLVMBuildURem(g->b, which, cg_i32(g, pieces), "");
    val at = cg_add(g, cg_muli(g, unit, c->p.unit_k), cg_muli(g, piece, PIECE / c->p.size));
    at = cg_add(g, cg_add(g, cg_muli(g, row, c->p.pitch_a), c->lane_k0), cg_add(g, at, k));
    for (int i = 0; i < n; i++) {
        val to = cg_addi(g, at, (int64_t)i * c->p.spread / pieces * c->p.unit_k);
        a[i] = LLVMBuildLoad2(g->b, cg_words(g, 8 * PIECE),
                              cg_contract_staged_ptr(g, c, c->p.s->stage_a, to), "");
        LLVMSetAlignment(a[i], PIECE);
    }
}

/* Values FROM to FROM + N - 1 of V. */
static val some_of(cg *g, val v, int from, int n) {
    val at[16];
    for (int i = 0; i < n; i++)
        at[i] = cg_i32(g, from + i);
    return LLVMBuildShuffleVector(g->b, v, LLVMGetPoison(LLVMTypeOf(v)),
                                  LLVMConstVector(at, (unsigned)n), "");
}

val cg_contract_multiply_spread(cg *g, const et_contract *c, int u, const val *of, const val *a,
                                val sum) {
    enum { WORDS = PIECE / 4 };
    int pieces = et_rows_spread_pieces(&c->p);
    for (int s = 0; s < pieces; s++) {
        int p = u * pieces + s, j = p % c->p.sets;
        val b[ET_MAX_ROWS];
        for (int r = 0; r < c->p.rows_n; r++) {
            val words = LLVMBuildBitCast(g->b, of[r], cg_words(g, 8 * PIECE * pieces), "");
            b[r] = some_of(g, words, s * WORDS, WORDS);
        }
        val set = some_of(g, sum, j * RESULTS, RESULTS);
        set = g->family->multiply(g, c->p.fr, PIECE / c->p.size, b, a + p / c->p.spread, set);
        for (int i = 0; i < RESULTS; i++)
            sum = LLVMBuildInsertElement(g->b, sum, cg_extract(g, set, i),
                                         cg_i32(g, j * RESULTS + i), "");
    }
    return sum;
}

int cg_contract_spread_value(const et_contract *c, int j) {
    return j * c->p.results + (j % c->p.spread & et_deal_value(&c->p.sums->sum_m, 1));
}

val cg_contract_gathered(cg *g, const et_contract *c, val sum) {
    const et_layout *l = c->p.sums;
    val out = LLVMConstNull(LLVMVectorType(g->f32, (unsigned)c->p.results));
    for (int n = 0; n < c->p.results; n += 2) {
        val all = cg_f32(g, 0);
        for (int j = 0; j < c->p.sets; j += 2) {
            val own = LLVMBuildFAdd(g->b, cg_extract(g, sum, cg_contract_spread_value(c, j) + n),
                                    cg_extract(g, sum, cg_contract_spread_value(c, j + 1) + n), "");
            val is = cg_icmp(g, LLVMIntEQ, c->out_m, cg_i32(g, j % c->p.spread));
            all = LLVMBuildFAdd(g->b, all, cg_select(g, is, own, cg_f32(g, 0)), "");
        }
        for (int b = 0; b < 2; b++)
            if (l->sum_m.lane[b] < c->p.spread)
                all = LLVMBuildFAdd(g->b, all, cg_shuffle_xor(g, all, 1 << b), "");
        out = LLVMBuildInsertElement(g->b, out, all, cg_i32(g, n), "");
    }
    return out;
}

/* Which staged rows are the lane's. */
static void staged_rows(cg *g, const et_contract *c, val chunk, val *row) {
    val first = c->p.spread ? cg_i32(g, 0) : c->lane_m;
    if (cg_contract_in_blocks(g, c)) first = LLVMBuildAnd(g->b, g->lane, cg_i32(g, 7), "");
    for (int i = 0; i < c->p.rows_m; i++) {
        row[i] = cg_addi(g, first, et_deal_value(&c->p.fr->layout->m, i));
        /* Rows past those that there is room for repeat: nobody looks at their sums. */
        if (!c->slots && c->p.room < 0) row[i] = cg_low_bits(g, row[i], cg_i32(g, 4 + c->p.room));
        if (!c->slots) continue;
        val apart = LLVMBuildSub(g->b, cg_i32(g, 4 + c->p.room), c->slots, ""),
            slot = cg_low_bits(g, chunk, c->slots);
        row[i] = cg_add(g, cg_low_bits(g, row[i], apart), LLVMBuildShl(g->b, slot, apart, ""));
    }
}

/* Values that are the lane's rows of sixteen of b. */
static int values_of(const et_contract *c) {
    return c->p.packed ? 2 * c->p.rows_n : c->p.rows_n;
}

/* The products of unit U of b, OF, with rows A into sums of piece MS. */
static void multiply_unit(cg *g, const et_contract *c, int ms, int u, const val *of, val *a,
                          val *acc) {
    for (int i = 0; i < c->p.products; i++)
        for (int ns = 0; ns < c->p.nsub; ns++, of += values_of(c)) {
            val *sum = &acc[cg_contract_sum(c, i, ms, ns)];
            if (c->p.spread)
                *sum = cg_contract_multiply_spread(g, c, u, of, a, *sum);
            else if (c->p.packed)
                *sum = g->family->multiply_packed(g, c->p.fr, of, of + c->p.rows_n, a, *sum);
            else
                *sum = g->family->multiply(g, c->p.fr, c->p.lane_k, of, a, *sum);
        }
}

/* B's fragments of unit U, or those made of it. */
static const val *unit_of(cg *g, const et_contract *c, val chunk, int u, const val *b, val *made) {
    if (!c->p.late) return b + u * c->p.products * c->p.nsub * values_of(c);
    cg_contract_decode(g, c, chunk, b, u, u + 1, made);
    return made;
}

/* The products of 16 rows of a with B into the first piece of every sum. The rows are staged FROM
 * elements on, or NULL: from the first. */
static void multiply_direct(cg *g, const et_contract *c, val chunk, val from, val *b, val *acc) {
    const et_step *s = c->p.s;
    val made[ET_MAX_FRAGMENTS], part[ET_MAX_SUMS], row[ET_MAX_ROWS];
    staged_rows(g, c, chunk, row);
    int ahead = et_rows_units_ahead(cg_cx(g), &c->p);
    for (int u0 = 0; u0 < c->p.units; u0 += ahead) {
        val a[ET_MAX_FRAGMENTS][ET_MAX_ROWS];
        int n = c->p.units - u0 < ahead ? c->p.units - u0 : ahead;
        val k0 = cg_addi(g, c->kpart, (int64_t)u0 * c->p.unit_k), spread[ET_MAX_FRAGMENTS];
        if (from) k0 = cg_add(g, k0, from);
        if (c->p.spread) load_spread(g, c, row[0], k0, n, spread);
        for (int u = 0; u < n && !c->p.spread; u++) {
            val k = cg_addi(g, k0, (int64_t)u * c->p.unit_k);
            for (int i = 0; i < c->p.rows_m; i++)
                a[u][i] = cg_contract_staged(g, c, s->stage_a, c->p.pitch_a, row[i], k);
        }
        /* All of these loads first, or each would be waited for alone. */
        g->family->order_loads(g);
        for (int u = 0; u < n; u++) {
            const val *of = unit_of(g, c, chunk, u0 + u, b, made);
            if (c->p.bare)
                cg_contract_multiply_bare(g, c, chunk, u0 + u, b, of, c->p.spread ? spread : a[u],
                                          u, part, acc);
            else
                multiply_unit(g, c, 0, u, of, c->p.spread ? spread : a[u], acc);
        }
    }
}

/* The same with the wave's own rows, all pieces of them; those of a later chunk take their place.
 */
static void multiply_own(cg *g, const et_contract *c, val chunk, val *b, val *acc) {
    val made[ET_MAX_FRAGMENTS], *a = cg_contract_own(c);
    for (int u = 0; u < c->p.units; u++) {
        const val *of = unit_of(g, c, chunk, u, b, made);
        for (int ms = 0; ms < c->p.msub; ms++, a += c->p.rows_m)
            multiply_unit(g, c, ms, u, of, a, acc);
    }
    cg_contract_own_next(g, c, chunk);
}

/* The pieces of m take turns in the first place, so that one body serves them all. */
static void rotate(const et_contract *c, val *acc) {
    for (int i = 0; i < c->p.products; i++)
        for (int ns = 0; ns < c->p.nsub; ns++) {
            val first = acc[cg_contract_sum(c, i, 0, ns)];
            for (int ms = 0; ms + 1 < c->p.msub; ms++)
                acc[cg_contract_sum(c, i, ms, ns)] = acc[cg_contract_sum(c, i, ms + 1, ns)];
            acc[cg_contract_sum(c, i, c->p.msub - 1, ns)] = first;
        }
}

static void stage_piece(cg *g, const et_contract *c, val chunk, val row0) {
    const et_step *s = c->p.s;
    if (c->p.chunks != 1 || c->p.msub > 1) cg_barrier(g); /* what was staged before has been read */
    et_staging st = {s->a,         s->mvar, 16,       row0,       c->mlive, s->stage_a,
                     c->p.pitch_a, chunk,   c->slots, c->nchunks, c->p.room};
    if (row0) {
        val left = LLVMBuildSub(g->b, c->mlive, row0, "");
        st.live = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){left, cg_i32(g, 16)});
    }
    cg_contract_stage(g, c, &st);
    cg_barrier(g);
}

/* Are fewer chunks staged at once than there are? */
static val in_turns(cg *g, const et_contract *c) {
    val once = LLVMBuildShl(g->b, cg_i32(g, 1), c->slots, "");
    return cg_icmp(g, LLVMIntULT, once, c->nchunks);
}

static int log2_of(int64_t n) {
    int bits = 0;
    while (INT64_C(1) << bits < n)
        bits++;
    return bits;
}

/* Are the chunks of all rows staged at once, however many rows there are? */
static bool staged_at_once(cg *g, const et_contract *c) {
    int64_t lo, rows;
    et_span(g->x, c->p.s->mlive, &lo, &rows);
    return c->slots && !c->p.zeros && !c->p.turns && c->p.msub == 1 && c->p.chunks > 0 &&
           rows <= 16 && 4 + c->p.room - log2_of(rows) >= log2_of(c->p.chunks);
}

/* Then that stands in front of the loop over chunks, before which ptxas waits for all loads that
 * are under way, those of what is added to the sums among them: rows are loaded together with it.
 */
static void stage_all(cg *g, et_contract *c) {
    cg_if fresh;
    bool again = cg_rows_still_there(g, c);
    if (again) cg_if_begin(g, &fresh, LLVMBuildNot(g->b, g->again, ""));
    if (c->p.halves && cg_contract_stage_row(g, c))
        cg_barrier(g);
    else
        stage_piece(g, c, cg_i32(g, 0), NULL);
    if (again) cg_if_end(g, &fresh);
    c->staged = true;
}

/* FROM: where the rows of the chunk are that came ahead, or NULL. */
static void one_piece(cg *g, const et_contract *c, val chunk, val row0, val from, val *b,
                      val *acc) {
    cg_if due;
    if (c->staged) {
        multiply_direct(g, c, chunk, NULL, b, acc);
        return;
    }
    if (from) {
        if (row0) from = cg_add(g, from, cg_muli(g, row0, c->p.pitch_a));
        multiply_direct(g, c, chunk, from, b, acc);
        return;
    }
    val window = chunk, fresh = NULL; /* fresh: not what the tile before has left */
    if (cg_rows_still_there(g, c)) fresh = LLVMBuildNot(g->b, g->again, "");
    if (c->slots && c->p.zeros) {
        val was = LLVMBuildAShr(g->b, c->before, c->slots, "");
        val is = LLVMBuildAShr(g->b, chunk, c->slots, "");
        cg_if_begin(g, &due, cg_icmp(g, LLVMIntNE, was, is));
        window = LLVMBuildShl(g->b, is, c->slots, "");
    } else if (c->slots) {
        val is = cg_icmp(g, LLVMIntEQ, cg_low_bits(g, chunk, c->slots), cg_i32(g, 0));
        if (fresh) is = LLVMBuildAnd(g->b, is, LLVMBuildOr(g->b, fresh, in_turns(g, c), ""), "");
        cg_if_begin(g, &due, is);
    } else if (fresh) {
        cg_if_begin(g, &due, fresh);
    }
    stage_piece(g, c, window, row0);
    if (c->slots || fresh) cg_if_end(g, &due);
    multiply_direct(g, c, chunk, NULL, b, acc);
}

static void all_pieces(cg *g, const et_contract *c, val chunk, val *b, val *acc) {
    if (c->own) {
        multiply_own(g, c, chunk, b, acc);
        return;
    }
    val from = c->p.turns ? cg_contract_ahead(g, c, chunk) : NULL;
    if (c->p.msub == 1) {
        one_piece(g, c, chunk, NULL, from, b, acc);
        return;
    }
    cg_for f;
    val row0 = cg_for_begin(g, &f, cg_i32(g, 0), cg_i32(g, c->p.s->tm), cg_i32(g, 16), true,
                            et_mainloop_sums(&c->p), acc);
    val old[ET_MAX_SUMS];
    memcpy(old, acc, (size_t)et_mainloop_sums(&c->p) * sizeof *old);
    cg_if live;
    cg_if_begin(g, &live, cg_icmp(g, LLVMIntSLT, row0, c->mlive));
    one_piece(g, c, chunk, row0, from, b, acc);
    cg_if_end(g, &live);
    for (int i = 0; i < et_mainloop_sums(&c->p); i++) {
        if (acc[i] == old[i]) continue;
        val phi = LLVMBuildPhi(g->b, LLVMTypeOf(old[i]), "");
        LLVMAddIncoming(phi, (val[]){acc[i], old[i]}, (block[]){live.then, live.otherwise}, 2);
        acc[i] = phi;
    }
    rotate(c, acc);
    cg_for_end(g, &f, acc);
}

/* One chunk, and the registers of NEXT into LOADED: those of a b that is loaded, or whose
 * fragments have all been made, are free once that is so. What is only to become fragments waits
 * for its turn, what is loaded for the next chunk has its own, and the next slot comes last. */
static void chunk_direct(cg *g, et_contract *c, val chunk, val next, val chunks, val *b,
                         val *loaded, val *acc) {
    val made[ET_MAX_FRAGMENTS];
    if (!c->p.coded) {
        all_pieces(g, c, chunk, b, acc);
        cg_contract_load_later(g, c, next, chunks, ET_FROM_BOTH, loaded);
        return;
    }
    if (c->p.late) {
        cg_contract_load_later(g, c, next, chunks, ET_FROM_MEMORY, loaded);
        all_pieces(g, c, chunk, b, acc);
    } else {
        cg_contract_decode(g, c, chunk, b, 0, c->p.units, made);
        if (c->p.bare) cg_contract_scale_pieces(g, c, chunk, b);
        cg_contract_load_later(g, c, next, chunks, ET_FROM_MEMORY, loaded);
        all_pieces(g, c, chunk, made, acc);
    }
    if (c->p.streamed) cg_contract_load_later(g, c, next, chunks, ET_FROM_RING, loaded);
}

/* Those chunks that have any weights: b of the first is on its way already. Carried are also b and
 * which chunk was the last. */
static void chunks_with_weights(cg *g, et_contract *c, val chunks, val *carried) {
    int sums = et_mainloop_sums(&c->p), n = sums + c->p.nload;
    val *b = carried + sums, loaded[ET_MAX_FRAGMENTS];
    memcpy(b, c->first[0], (size_t)c->p.nload * sizeof *b);
    carried[n] = cg_i32(g, -1);
    cg_for f;
    val chunk = cg_for_begin(g, &f, c->begin, chunks, cg_i32(g, 1), false, n + 1, carried);
    c->before = carried[n];
    val next = cg_contract_next(g, c, cg_addi(g, chunk, 1));
    chunk_direct(g, c, chunk, next, chunks, b, loaded, carried);
    memcpy(b, loaded, (size_t)c->p.nload * sizeof *b);
    carried[n] = chunk;
    f.step = LLVMBuildSub(g->b, next, chunk, "");
    cg_for_end(g, &f, carried);
}

/* Carried from chunk to chunk: the sums, then b of the chunk to come. Its registers are loaded
 * again as soon as they have been used, so the loads run while the next rows of a are staged. */
static void chunks_direct(cg *g, et_contract *c, val chunks, val *carried) {
    val chunk = cg_i32(g, 0), *b = carried + et_mainloop_sums(&c->p), loaded[ET_MAX_FRAGMENTS];
    memcpy(b, c->first[0], (size_t)c->p.nload * sizeof *b);
    if (c->p.chunks == 1) {
        bool made = c->p.coded && !c->p.late;
        if (made) cg_contract_decode(g, c, chunk, b, 0, c->p.units, loaded);
        if (made && c->p.bare) cg_contract_scale_pieces(g, c, chunk, b);
        all_pieces(g, c, chunk, made ? loaded : b, carried);
        return;
    }
    cg_for f;
    if (staged_at_once(g, c)) stage_all(g, c);
    chunk = cg_for_begin(g, &f, chunk, chunks, cg_i32(g, 1), c->p.chunks > 0,
                         et_mainloop_sums(&c->p) + c->p.nload, carried);
    chunk_direct(g, c, chunk, cg_addi(g, chunk, 1), chunks, b, loaded, carried);
    memcpy(b, loaded, (size_t)c->p.nload * sizeof *b);
    cg_for_end(g, &f, carried);
}

/* The same with chunks in two halves of the registers, one under way while the other is multiplied;
 * each has code of its own, since registers are not exchanged before what they wait for is there.
 * What is staged for an even chunk is enough for the next, too, but where b comes through the ring:
 * then all is staged at once, or each chunk looks for itself. */
static void chunks_in_turns(cg *g, et_contract *c, val chunks, val *carried) {
    val *b = carried + et_mainloop_sums(&c->p), chunk = cg_i32(g, 0), loaded[ET_MAX_FRAGMENTS];
    int64_t even = c->p.chunks & ~INT64_C(1);
    for (int i = 0; i < ET_DEEP; i++)
        memcpy(b + (ptrdiff_t)i * c->p.nload, c->first[i], (size_t)c->p.nload * sizeof *b);
    cg_for f;
    if (c->p.streamed && staged_at_once(g, c)) stage_all(g, c);
    if (even > ET_DEEP)
        chunk = cg_for_begin(g, &f, chunk, cg_i32(g, even), cg_i32(g, ET_DEEP), true,
                             et_mainloop_sums(&c->p) + ET_DEEP * c->p.nload, carried);
    for (int i = 0; i < ET_DEEP; i++) {
        val *half = b + (ptrdiff_t)i * c->p.nload;
        if (c->p.streamed) {
            val next = cg_addi(g, chunk, ET_DEEP + i);
            chunk_direct(g, c, cg_addi(g, chunk, i), next, chunks, half, loaded, carried);
            memcpy(half, loaded, (size_t)c->p.nload * sizeof *half);
            continue;
        }
        if (!i) one_piece(g, c, chunk, NULL, NULL, half, carried);
        if (i) multiply_direct(g, c, cg_addi(g, chunk, i), NULL, half, carried);
        if (c->p.chunks > ET_DEEP)
            cg_contract_load_later(g, c, cg_addi(g, chunk, ET_DEEP + i), chunks, ET_FROM_BOTH,
                                   half);
    }
    if (even > ET_DEEP) cg_for_end(g, &f, carried);
    if (even < c->p.chunks) one_piece(g, c, cg_i32(g, even), NULL, NULL, b, carried);
}

/* With rows of a of the wave's own: of each of the chunks that are in registers at once they have
 * registers, and so code, of their own. */
static void chunks_own(cg *g, et_contract *c, val chunks, val *carried) {
    int sums = et_mainloop_sums(&c->p),
        n = sums + c->p.nload + cg_contract_own_begin(g, c, carried);
    val first = cg_i32(g, 0), *b = carried + sums, loaded[ET_MAX_FRAGMENTS];
    bool loop = c->p.chunks > c->p.deep_a;
    cg_for f;
    memcpy(b, c->first[0], (size_t)c->p.nload * sizeof *b);
    if (loop) first = cg_for_begin(g, &f, first, chunks, cg_i32(g, c->p.deep_a), true, n, carried);
    for (c->own->turn = 0; c->own->turn < c->p.deep_a; c->own->turn++) {
        val at = cg_addi(g, first, c->own->turn);
        chunk_direct(g, c, at, cg_addi(g, at, 1), chunks, b, loaded, carried);
        memcpy(b, loaded, (size_t)c->p.nload * sizeof *b);
    }
    if (loop) cg_for_end(g, &f, carried);
}

void cg_contract_chunks(cg *g, et_contract *c, val chunks, val *carried) {
    if (c->p.zeros)
        chunks_with_weights(g, c, chunks, carried);
    else if (c->p.deep)
        chunks_in_turns(g, c, chunks, carried);
    else if (c->p.deep_a)
        chunks_own(g, c, chunks, carried);
    else
        chunks_direct(g, c, chunks, carried);
}
