/* The mainloop of products with weights in registers: chunk after chunk of k, with the next one's
 * weights in flight, and the rows of a sixteen at a time, through LDS or (rows_own.c) straight from
 * memory. */
#include "codegen/step/product/rows.h"
#include "codegen/step/product/weights.h"
#include <string.h>

/* The lane's staged rows. */
static void staged_rows(cg *g, const et_contract *c, val chunk, val *row) {
    val first = c->p.row_packed || c->p.run ? cg_i32(g, 0) : c->at.lane_m;
    if (cg_contract_in_blocks(g, c)) first = LLVMBuildAnd(g->b, g->lane, cg_i32(g, 7), "");
    for (int i = 0; i < c->p.rows_m; i++) {
        row[i] = cg_addi(g, first, et_deal_value(&c->p.fr->layout->m, i));
        /* Rows past those that there is room for repeat: their sums are not stored. */
        if (!c->now.slots && c->p.room < 0)
            row[i] = cg_low_bits(g, row[i], cg_i32(g, 4 + c->p.room));
        if (!c->now.slots) continue;
        val apart = LLVMBuildSub(g->b, cg_i32(g, 4 + c->p.room), c->now.slots, ""),
            slot = cg_low_bits(g, chunk, c->now.slots);
        row[i] = cg_add(g, cg_low_bits(g, row[i], apart), LLVMBuildShl(g->b, slot, apart, ""));
    }
}

/* The products of unit U of b, OF, with rows A into sums of piece MS. */
static void multiply_unit(cg *g, const et_contract *c, int ms, int u, const val *of, const val *a,
                          val *acc) {
    for (int i = 0; i < c->p.products; i++)
        for (int ns = 0; ns < c->p.nsub; ns++, of += c->weights->per_row * c->p.rows_n) {
            val *sum = &acc[cg_contract_sum(c, i, ms, ns)];
            *sum = c->p.row_packed ? cg_row_packed_multiply(g, c, u, of, a, *sum)
                   : c->p.in_turn  ? cg_in_turn_multiply(g, c, u, of, a, *sum)
                                   : c->weights->multiply(g, c, of, a, *sum);
        }
}

/* B's fragments of unit U, or those made of it. */
static const val *unit_of(cg *g, const et_contract *c, val chunk, int u, const val *b, val *made) {
    if (!c->p.late) return b + u * c->p.products * c->p.nsub * c->weights->per_row * c->p.rows_n;
    cg_contract_decode(g, c, chunk, b, u, u + 1, made);
    return made;
}

/* The products of 16 rows of a with B into the first piece of every sum. The rows are staged FROM
 * elements on, or NULL: from the first. */
static void multiply_staged_rows(cg *g, const et_contract *c, val chunk, val from, val *b,
                                 val *acc) {
    const et_step *s = c->p.s;
    val made[ET_MAX_FRAGMENTS], part[ET_MAX_SUMS], row[ET_MAX_ROWS];
    staged_rows(g, c, chunk, row);
    int most = et_rows_units_at_once(cg_cx(g), &c->p);
    for (int u0 = 0; u0 < c->p.units; u0 += most) {
        val a[ET_MAX_FRAGMENTS][ET_MAX_ROWS];
        int n = c->p.units - u0 < most ? c->p.units - u0 : most;
        val k0 = cg_addi(g, c->at.kpart, (int64_t)u0 * c->p.unit_k), spread[ET_MAX_FRAGMENTS];
        if (from) k0 = cg_add(g, k0, from);
        if (c->p.row_packed) cg_row_packed_load(g, c, row[0], k0, n, spread);
        if (c->p.run) cg_runs_load(g, c, row[0], k0, u0, n, spread);
        for (int u = 0; u < n && !c->p.row_packed && !c->p.run; u++) {
            val k = cg_addi(g, k0, (int64_t)u * c->p.unit_k);
            for (int i = 0; i < c->p.rows_m; i++)
                a[u][i] = cg_contract_staged(g, c, s->stage_a, c->p.pitch_a, row[i], k);
        }
        /* All of these loads first, or each would be waited for alone. */
        g->family->order_loads(g);
        for (int u = 0; u < n; u++) {
            const val *of = unit_of(g, c, chunk, u0 + u, b, made);
            const val *with = c->p.row_packed || c->p.run ? spread : a[u];
            if (c->decode && c->decode->multiply)
                c->decode->multiply(g, c, chunk, u0 + u, b, of, with, u, part, acc);
            else
                multiply_unit(g, c, 0, c->p.row_packed ? u : u0 + u, of, with, acc);
        }
    }
}

/* Where the wave has a part of this chunk: k may end before it. */
static void multiply_direct(cg *g, const et_contract *c, val chunk, val from, val *b, val *acc) {
    if (!c->p.streamed || !c->p.tail) {
        multiply_staged_rows(g, c, chunk, from, b, acc);
        return;
    }
    int sums = et_mainloop_sums(&c->p);
    val old[ET_MAX_SUMS];
    memcpy(old, acc, (size_t)sums * sizeof *old);
    val k = cg_add(g, cg_muli(g, chunk, c->p.kc), c->at.kpart);
    val some = LLVMBuildZExt(g->b, cg_icmp(g, LLVMIntSLT, k, c->now.kend), g->i32, "");
    cg_if there;
    cg_if_begin(g, &there, cg_icmp(g, LLVMIntNE, cg_uniform(g, some), cg_i32(g, 0)));
    int mark = cg_scope(g);
    multiply_staged_rows(g, c, chunk, from, b, acc);
    cg_scope_end(g, mark);
    cg_if_end(g, &there);
    for (int i = 0; i < sums; i++)
        acc[i] = cg_if_value(g, &there, acc[i], old[i]);
}

/* The same with the wave's own rows, all pieces of them; those of a later chunk take their place.
 */
static void multiply_own(cg *g, const et_contract *c, val chunk, val *b, val *acc) {
    val made[ET_MAX_FRAGMENTS], *a = c->rows->fragments(c);
    for (int u = 0; u < c->p.units; u++) {
        const val *of = unit_of(g, c, chunk, u, b, made);
        for (int ms = 0; ms < c->p.msub; ms++, a += c->p.rows_m)
            multiply_unit(g, c, ms, u, of, a, acc);
    }
    c->rows->next(g, c, chunk);
}

/* The pieces of m are rotated through the first place, so that one body serves them all. */
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
    et_staging st = {s->a,
                     s->mvar,
                     16,
                     row0,
                     c->now.mlive,
                     s->stage_a,
                     c->p.pitch_a,
                     chunk,
                     c->now.slots,
                     c->now.nchunks,
                     c->p.room,
                     c->p.chunks != 1 || c->p.msub > 1,
                     c->p.plan.prologue && c->p.cond.id};
    if (row0) {
        val left = LLVMBuildSub(g->b, c->now.mlive, row0, "");
        st.live = cg_call(g, "llvm.smin", 1, &g->i32, 2, (val[]){left, cg_i32(g, 16)});
    }
    cg_contract_stage(g, c, &st);
    cg_barrier(g);
}

/* Are fewer chunks staged at once than there are? */
static val staged_in_parts(cg *g, const et_contract *c) {
    val once = LLVMBuildShl(g->b, cg_i32(g, 1), c->now.slots, "");
    return cg_icmp(g, LLVMIntULT, once, c->now.nchunks);
}

/* All chunks are staged in front of the loop over them, before which ptxas waits for all loads in
 * flight, also of terms that are added to the sums: rows are loaded together with these. */
static void stage_all(cg *g, et_contract *c) {
    cg_if fresh;
    if (c->now.staged) return;
    val first = cg_first_tile(g, c->p.plan.reuse);
    if (first) cg_if_begin(g, &fresh, first);
    if (c->p.plan.prologue == ET_PROLOGUE_REGISTERS)
        cg_contract_stage_row(g, c);
    else
        stage_piece(g, c, cg_i32(g, 0), NULL);
    if (first) cg_if_end(g, &fresh);
    c->now.staged = true;
}

void cg_contract_rows_first(cg *g, et_contract *c) {
    c->now.nchunks = cg_i32(g, c->p.chunks);
    c->now.kend = cg_emit_i32(g, c->p.extent);
    c->rows->begin(g, c, NULL);
    stage_all(g, c);
}

/* FROM: the offset of the chunk's rows that were copied ahead, or NULL. */
static void one_piece(cg *g, const et_contract *c, val chunk, val row0, val from, val *b,
                      val *acc) {
    cg_if due;
    if (c->now.staged) {
        multiply_direct(g, c, chunk, NULL, b, acc);
        return;
    }
    if (from) {
        if (row0) from = cg_add(g, from, cg_muli(g, row0, c->p.pitch_a));
        multiply_direct(g, c, chunk, from, b, acc);
        return;
    }
    val window = chunk, fresh = cg_first_tile(g, c->p.plan.reuse); /* not what it has left */
    if (c->now.slots && c->p.zeros) {
        val was = LLVMBuildAShr(g->b, c->now.before, c->now.slots, "");
        val is = LLVMBuildAShr(g->b, chunk, c->now.slots, "");
        cg_if_begin(g, &due, cg_icmp(g, LLVMIntNE, was, is));
        window = LLVMBuildShl(g->b, is, c->now.slots, "");
    } else if (c->now.slots) {
        val is = cg_icmp(g, LLVMIntEQ, cg_low_bits(g, chunk, c->now.slots), cg_i32(g, 0));
        if (fresh)
            is = LLVMBuildAnd(g->b, is, LLVMBuildOr(g->b, fresh, staged_in_parts(g, c), ""), "");
        cg_if_begin(g, &due, is);
    } else if (fresh) {
        cg_if_begin(g, &due, fresh);
    }
    stage_piece(g, c, window, row0);
    if (c->now.slots || fresh) cg_if_end(g, &due);
    multiply_direct(g, c, chunk, NULL, b, acc);
}

static void all_pieces(cg *g, const et_contract *c, val chunk, val *b, val *acc) {
    if (c->rows->fragments) {
        multiply_own(g, c, chunk, b, acc);
        return;
    }
    val from = c->rows->at ? c->rows->at(g, c, chunk) : NULL;
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
    cg_if_begin(g, &live, cg_icmp(g, LLVMIntSLT, row0, c->now.mlive));
    one_piece(g, c, chunk, row0, from, b, acc);
    cg_if_end(g, &live);
    for (int i = 0; i < et_mainloop_sums(&c->p); i++) {
        if (acc[i] == old[i]) continue;
        acc[i] = cg_if_value(g, &live, acc[i], old[i]);
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
    if (!c->decode) {
        all_pieces(g, c, chunk, b, acc);
        cg_contract_load_later(g, c, next, chunks, ET_FROM_BOTH, loaded);
        return;
    }
    if (c->p.late) {
        cg_contract_load_later(g, c, next, chunks, ET_FROM_MEMORY, loaded);
        all_pieces(g, c, chunk, b, acc);
    } else {
        cg_contract_decode(g, c, chunk, b, 0, c->p.units, made);
        if (c->decode->scale) c->decode->scale(g, c, chunk, b);
        cg_contract_load_later(g, c, next, chunks, ET_FROM_MEMORY, loaded);
        all_pieces(g, c, chunk, made, acc);
    }
    if (c->weights->streamed) cg_contract_load_later(g, c, next, chunks, ET_FROM_RING, loaded);
}

/* The chunks that have weights; b of the first is in flight. Also loop-carried: b, and the number
 * of the last chunk. */
static void chunks_with_weights(cg *g, et_contract *c, val chunks, val *carried) {
    int sums = et_mainloop_sums(&c->p), n = sums + c->p.nload;
    val *b = carried + sums, loaded[ET_MAX_FRAGMENTS];
    memcpy(b, c->now.first[0], (size_t)c->p.nload * sizeof *b);
    carried[n] = cg_i32(g, -1);
    cg_for f;
    val chunk = cg_for_begin(g, &f, c->now.begin, chunks, cg_i32(g, 1), false, n + 1, carried);
    c->now.before = carried[n];
    val next = cg_contract_next(g, c, cg_addi(g, chunk, 1));
    chunk_direct(g, c, chunk, next, chunks, b, loaded, carried);
    memcpy(b, loaded, (size_t)c->p.nload * sizeof *b);
    carried[n] = chunk;
    f.step = LLVMBuildSub(g->b, next, chunk, "");
    cg_for_end(g, &f, carried);
}

/* The only chunk there is. */
static void one_chunk(cg *g, et_contract *c, val *b, val *acc) {
    val made[ET_MAX_FRAGMENTS], chunk = cg_i32(g, 0);
    if (c->p.plan.prologue) stage_all(g, c);
    bool first = c->decode && !c->p.late;
    if (first) cg_contract_decode(g, c, chunk, b, 0, c->p.units, made);
    if (first && c->decode->scale) c->decode->scale(g, c, chunk, b);
    all_pieces(g, c, chunk, first ? made : b, acc);
}

/* Number I of two chunks whose weights lie in memory: both are staged with the first. */
static void one_of_two(cg *g, et_contract *c, val chunk, int i, val chunks, val *b, val *acc) {
    if (!i) one_piece(g, c, chunk, NULL, NULL, b, acc);
    if (i) multiply_direct(g, c, chunk, NULL, b, acc);
    if (c->p.chunks > ET_DEEP)
        cg_contract_load_later(g, c, cg_addi(g, chunk, ET_DEEP), chunks, ET_FROM_BOTH, b);
}

/* So many chunks have registers, and so code, of their own: registers are not exchanged before what
 * they wait for is there. From chunk to chunk go the sums, then b of as many chunks to come as
 * registers have room for, then rows of the wave's own. Registers of b are loaded again as soon as
 * they have been used, so the loads run while the next rows of a are staged. */
static void chunks_pipelined(cg *g, et_contract *c, val chunks, val *carried) {
    int sums = et_mainloop_sums(&c->p), deep = c->p.deep ? ET_DEEP : 1;
    int depth = c->p.rows_own ? c->p.rows_own : deep;
    int64_t whole = c->p.chunks < 0 ? -1 : c->p.chunks / depth * depth;
    bool loop = whole < 0 || whole > depth, apart = deep > 1 && !c->weights->streamed;
    val *b = carried + sums, first = cg_i32(g, 0), loaded[ET_MAX_FRAGMENTS];
    for (int i = 0; i < deep; i++)
        memcpy(b + (ptrdiff_t)i * c->p.nload, c->now.first[i], (size_t)c->p.nload * sizeof *b);
    if (c->p.chunks == 1 && depth == 1 && !c->rows->fragments) {
        one_chunk(g, c, b, carried);
        return;
    }
    cg_for f;
    if (c->p.plan.prologue) stage_all(g, c);
    if (loop)
        first = cg_for_begin(g, &f, first, whole < 0 ? chunks : cg_i32(g, whole), cg_i32(g, depth),
                             whole > 0, sums + deep * c->p.nload + c->now.rowvals, carried);
    for (int i = 0; i < depth; i++) {
        val chunk = cg_addi(g, first, i), *of = b + (ptrdiff_t)(i % deep) * c->p.nload;
        if (c->rows->fragments) cg_rows_own_select(c, i);
        if (apart) {
            one_of_two(g, c, chunk, i, chunks, of, carried);
            continue;
        }
        chunk_direct(g, c, chunk, cg_addi(g, chunk, deep), chunks, of, loaded, carried);
        memcpy(of, loaded, (size_t)c->p.nload * sizeof *of);
    }
    if (loop) cg_for_end(g, &f, carried);
    if (whole >= 0 && whole < c->p.chunks)
        one_piece(g, c, cg_i32(g, whole), NULL, NULL, b, carried);
}

void cg_contract_chunks(cg *g, et_contract *c, val chunks, val *carried) {
    if (c->p.zeros)
        chunks_with_weights(g, c, chunks, carried);
    else
        chunks_pipelined(g, c, chunks, carried);
}
