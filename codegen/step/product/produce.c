/* The producer of the weight stream; operand/consume.c has the layout of a stage. */
#include "codegen/step/product/product.h"
#include "ir/weights/packed.h"
#include "ir/weights/stream.h"
#include <string.h>

enum {
    PIECE = ET_RING_PIECE,
    MOST_LOTS = 63,
    MOST_PACKED = 16, /* rows' sixteens of a chunk that is packed */
    MOST_FROM = ET_MAX_ACC * ET_MOST_RUNS + ET_MOST_AUXILIARY_COPIES,
    LINE = 128, /* of a row, with warpgroup MMA: as chunks of both operands have it */
    ROWS = 4,   /* that lanes bring so much of at a time */
};

/* Stages that the tile's k is in. */
static int stages_of(const et_contract *c) {
    return (int)(c->p.stage_k ? c->p.k / c->p.stage_k : c->p.chunks);
}

/* ---- chunks that are prefetched before there is a stage for them ----
 *
 * A lane copies 16 bytes of a line to LDS that is never read, and the L2 takes in the whole line.
 * So memory is read on while all stages are full, which is when tasks wait for each other, and
 * stages are filled from the L2, at twice the rate, when they do not. `cp.async.bulk.prefetch` and
 * `prefetch` are dropped when many are in flight; these copies are not. */

enum { FLIGHT = 2 /* copies in flight, each of a line a lane */ };

/* Do lines divide among lanes? Where they do not, chunks are not prefetched, only counted. */
static bool can_prefetch(cg *g, const et_contract *c, int lines, int per) {
    int wave = g->t->wave;
    if (c->p.tail) return false;
    for (int i = 0; i < c->p.s->nacc; i++) /* the L2 does not keep what is the host's */
        if (g->p->tensors[et_x(g->x, et_stream_load(g->p, c->p.s, i))->i].host) return false;
    return (lines % wave == 0 || wave % lines == 0) && c->p.s->tn % per == 0 &&
           (per <= 16 || et_stream_is_full(g->p, c->p.s)) && et_stream_alike(cg_cx(g), &c->p, per);
}

static void ask(cg *g, val to, val from) {
    g->family->stream->prefetch(g, to, from);
    g->family->copy_group(g);
    g->family->copied(g, FLIGHT - 1);
}

/* Rows of a product from N on: on to PAST where there are none, which is NULL where all tiles have
 * all; and there. */
static block past_of(cg *g, const et_contract *c) {
    return et_stream_is_full(g->p, c->p.s) ? NULL : cg_block(g, "past");
}

static void skip(cg *g, const et_contract *c, int n, block past) {
    if (!past || !n || n % 16) return;
    block here = cg_block(g, "rows");
    cg_cond(g, cg_icmp(g, LLVMIntSGT, c->now.nlive, cg_i32(g, n)), here, past);
    cg_at(g, here);
}

static void pass(cg *g, block past) {
    if (!past) return;
    cg_br(g, past);
    cg_at(g, past);
}

/* The next chunk; FROM has the lane's first line of each b. */
static void prefetch_chunk(cg *g, const et_contract *c, const cg_producer *by, const val *from) {
    const et_step *s = c->p.s;
    int bytes = et_stream_row_bytes(&c->p), lines = bytes > ET_ASK_LINE ? bytes / ET_ASK_LINE : 1;
    int wave = g->t->wave, per = lines < wave ? wave / lines : 1;
    block asked = cg_block(g, "asked");
    cg_ring_prefetch(g, by, g->p->ring.prefetch / g->p->ring.bytes, asked);
    val to = cg_ring_scrap(g);
    for (int i = 0; i < s->nacc && can_prefetch(g, c, lines, per); i++) {
        block past = past_of(g, c);
        for (int r = 0; r < s->tn; r += per) {
            skip(g, c, r, past);
            int64_t row = et_stream_row(g->p, s, i, r) * c->p.bits / 8;
            for (int l = 0; l < lines; l += wave) {
                ask(g, to, cg_gepi(g, from[i], row + l * ET_ASK_LINE));
            }
        }
        pass(g, past);
    }
    cg_br(g, asked);
    cg_at(g, asked);
    cg_wave_meets(g);
}

/* The same of a packed b, where each sixteen rows begin. */
static void prefetch_packed(cg *g, const et_contract *c, const cg_producer *by, const val *from) {
    int all = et_stream_packed_bytes(&c->p), wave = g->t->wave;
    block asked = cg_block(g, "asked");
    cg_ring_prefetch(g, by, g->p->ring.prefetch / g->p->ring.bytes, asked);
    val to = cg_ring_scrap(g), own = cg_muli(g, g->lane, ET_ASK_LINE);
    for (int i = 0; i < et_stream_stage_bytes(&c->p) / all; i++)
        for (int at = 0; at < all; at += wave * ET_ASK_LINE) {
            val last = cg_i32(g, all - at - ET_RING_PIECE);
            val line = cg_call(g, "llvm.umin", 1, &g->i32, 2, (val[]){own, last});
            line = LLVMBuildZExt(g->b, line, g->i64, "");
            ask(g, to, cg_gepi(g, cg_gep(g, from[i], line), at));
        }
    cg_br(g, asked);
    cg_at(g, asked);
    cg_wave_meets(g);
}

/* ---- copies ---- */

/* The address of the lane's first piece of b[I]: PIECE of ROW, of so many BYTES; of the part of k
 * that k is bound to, where there are several. */
static val source(cg *g, const et_contract *c, int i, val row, val piece, int bytes) {
    const et_step *s = c->p.s;
    et_node_x x = *et_x(g->x, et_stream_load(g->p, s, i));
    int mark = cg_scope(g);
    cg_bind(g, s->nvar, row, true);
    et_expr off = cg_offset(g, x.i2, x.i, x.ops);
    if (!c->p.part) off = et_subst_var(g->x, off, s->kvar, et_int(g->x, 0));
    val at = cg_address(g, x.i2, x.i, off);
    cg_scope_end(g, mark);
    return cg_gep(g, at, LLVMBuildZExt(g->b, cg_muli(g, piece, bytes), g->i64, ""));
}

/* Copies are waited for in lots: when a lot is issued, lots before it are in flight, up to the
 * bytes that the stream may have in flight. So memory is always busy, and loads of the consumers,
 * which queue behind the copies, are not delayed long. While half of the stages are full, fewer of
 * a task that is `calm` are in flight. */
struct lots {
    int copies, most; /* of a lot; lots in flight beside the one being issued */
    int calm;         /* the same while the ring is not LOW */
    int asked;        /* copies so far */
    val low;
};

static struct lots lots_of(cg *g, const et_contract *c, const cg_producer *by) {
    int copy = g->t->wave * PIECE, all = et_stream_stage_bytes(&c->p) / copy;
    struct lots l = {.copies = all < ET_RING_LOT ? all : ET_RING_LOT};
    copy *= g->producers; /* which all have as many in flight */
    l.most = g->p->ring.flight / (l.copies * copy) - 1;
    if (l.most < 0) l.most = 0;
    l.calm = by->calm ? g->p->ring.calm / (l.copies * copy) - 1 : l.most;
    if (l.calm < 0) l.calm = 0;
    return l;
}

static void asked(cg *g, struct lots *l) {
    if (++l->asked % l->copies) return;
    g->family->copy_group(g);
    if (l->most <= MOST_LOTS) g->family->copied(g, l->most);
    if (l->calm >= l->most) return;
    cg_if calm;
    cg_if_begin(g, &calm, LLVMBuildNot(g->b, l->low, ""));
    g->family->copied(g, l->calm);
    cg_if_end(g, &calm);
}

/* The next stage; what is between begin and end is for the wave whose turn it is. */
struct turn {
    cg_ring r;
    val is; /* or NULL: there is one wave */
    cg_if own;
};

static struct turn turn_begin(cg *g, const cg_producer *by) {
    struct turn t = {.r = cg_ring_next(g, &by->next), .is = cg_ring_turn(g, by)};
    if (t.is) cg_if_begin(g, &t.own, t.is);
    cg_ring_producer_acquire(g, &t.r, by);
    return t;
}

static void turn_end(cg *g, struct turn *t) {
    cg_ring_producer_commit(g, &t->r);
    if (t->is) cg_if_end(g, &t->own);
}

/* The lane's row and piece of the rows that lanes copy together, in each run of a row's pieces. */
struct lanes {
    int runs;
    et_stream_run run[ET_MOST_RUNS];
    val row[ET_MOST_RUNS], unit[ET_MOST_RUNS];
};

static void place_lanes(cg *g, struct lanes *l) {
    for (int t = 0; t < l->runs; t++) {
        val by = cg_i32(g, l->run[t].lanes);
        bool shared = l->run[t].lanes < g->t->wave;
        l->row[t] = shared ? LLVMBuildUDiv(g->b, g->lane, by, "") : cg_i32(g, 0);
        l->unit[t] = shared ? LLVMBuildURem(g->b, g->lane, by, "") : g->lane;
        l->unit[t] = cg_addi(g, l->unit[t], l->run[t].first);
    }
}

/* The place of the lane's piece of a row in the stage. */
static val place_of(cg *g, const et_contract *c, val stage, val row, val unit, int swap) {
    val place = LLVMBuildXor(g->b, cg_muli(g, unit, PIECE), cg_contract_swapped(g, c, row), "");
    val swizzled = LLVMBuildXor(g->b, place, cg_i32(g, swap), "");
    return cg_gep(g, stage, cg_add(g, cg_muli(g, row, et_stream_row_bytes(&c->p)), swizzled));
}

struct copies {
    const struct lanes *l;
    struct lots *lots;
    val left; /* bytes of a row from the chunk on; NULL: more than it has */
    val stage, to[ET_MOST_RUNS][2 * ET_STREAM_SWAP / PIECE]; /* of pieces that are swapped so */
};

/* The lane's piece of a row, MORE behind its first one in run T, if there is that of k. */
static void copy_piece(cg *g, const et_contract *c, const struct copies *cp, int t, int more,
                       val to, val from) {
    if (!cp->left) {
        g->family->stream->copy(g, to, from, PIECE, c->p.plan.evict_first);
        return;
    }
    val at = cg_muli(g, cg_addi(g, cp->l->unit[t], more), PIECE);
    val bytes = cg_select(g, cg_icmp(g, LLVMIntSLT, at, cp->left), cg_i32(g, PIECE), cg_i32(g, 0));
    g->family->stream->copy_part(g, to, from, bytes, c->p.plan.evict_first);
}

/* Run T of as many rows of product I as lanes copy together, from row N on. The lane's row is less
 * than these are, which N is a multiple of: their bits do not meet. */
static void copy_run(cg *g, const et_contract *c, struct copies *cp, int i, int n, int t,
                     val from) {
    const et_step *s = c->p.s;
    int swap = cg_contract_swap(g, c, n), bytes = et_stream_row_bytes(&c->p);
    int64_t offset = et_stream_row(g->p, s, i, n) * c->p.bits / 8;
    val *at = &cp->to[t][swap / PIECE];
    if (!*at) *at = place_of(g, c, cp->stage, cp->l->row[t], cp->l->unit[t], swap);
    for (int j = 0; j < cp->l->run[t].times; j++) {
        int more = j * g->t->wave * PIECE;
        val piece = cg_gepi(g, from, offset + more);
        val to = cg_gepi(g, *at, (i * s->tn + n) * bytes + more);
        copy_piece(g, c, cp, t, j * g->t->wave, to, piece);
        asked(g, cp->lots);
    }
}

static void produce_chunk(cg *g, const et_contract *c, const cg_producer *by, const cg_ring *r,
                          const struct lanes *l, val chunk, val *from) {
    const et_step *s = c->p.s;
    int bytes = et_stream_row_bytes(&c->p), per = et_stream_rows_at_once(cg_cx(g), bytes / PIECE);
    struct lots lots = lots_of(g, c, by);
    cg_ring mine = {g->family->stream->own(g, r->stage), r->phase};
    val stage = cg_ring_stage(g, &mine);
    if (lots.calm < lots.most) lots.low = cg_ring_is_low(g, r, g->stages_here / 2);
    struct copies cp = {.l = l, .lots = &lots, .stage = stage};
    if (c->p.tail)
        cp.left =
            LLVMBuildSub(g->b, cg_i32(g, c->p.k * c->p.bits / 8), cg_muli(g, chunk, bytes), "");
    cg_auxiliary_produce(g, c, stage, from + s->nacc * l->runs);
    for (int i = 0; i < s->nacc; i++) {
        block past = past_of(g, c);
        for (int n = 0; n < s->tn; n += per) {
            skip(g, c, n, past);
            for (int t = 0; t < l->runs; t++)
                for (int m = 0; m < per; m += g->t->wave / l->run[t].lanes)
                    copy_run(g, c, &cp, i, n + m, t, from[i * l->runs + t]);
        }
        pass(g, past);
    }
}

/* The same for waves of a warpgroup MMA: a LINE of all rows, then the next one, each in the
 * places that a multistage pipeline has them in (pipeline/stage.c). */
static void produce_lines(cg *g, const et_contract *c, const cg_producer *by, const cg_ring *r,
                          val row, val unit, val *from) {
    const et_step *s = c->p.s;
    int lines = et_stream_row_bytes(&c->p) / LINE, rows = s->nacc * s->tn;
    struct lots lots = lots_of(g, c, by);
    cg_ring mine = {g->family->stream->own(g, r->stage), r->phase};
    val stage = cg_ring_stage(g, &mine), to[2];
    if (lots.calm < lots.most) lots.low = cg_ring_is_low(g, r, g->stages_here / 2);
    for (int i = 0; i < 2; i++) {
        val swizzled = LLVMBuildXor(g->b, unit, cg_addi(g, row, (int64_t)i * ROWS), "");
        to[i] = cg_add(g, cg_muli(g, row, LINE), cg_muli(g, swizzled, PIECE));
        to[i] = cg_gep(g, stage, to[i]);
    }
    for (int i = 0; i < s->nacc; i++)
        for (int n = 0; n < s->tn; n += ROWS) {
            int64_t offset = et_stream_row(g->p, s, i, n) * c->p.size;
            for (int line = 0; line < lines; line++) {
                int at = (line * rows + i * s->tn + n) * LINE;
                g->family->stream->copy(g, cg_gepi(g, to[n / ROWS % 2], at),
                                        cg_gepi(g, from[i], offset + line * LINE), PIECE,
                                        c->p.plan.evict_first);
                asked(g, &lots);
            }
        }
}

static void produce_next(cg *g, const et_contract *c, const cg_producer *by, const struct lanes *l,
                         val chunk, val *from) {
    if (by->asks) {
        prefetch_chunk(g, c, by, from);
        return;
    }
    struct turn t = turn_begin(g, by);
    if (c->p.stage_k)
        produce_lines(g, c, by, &t.r, l->row[0], l->unit[0], from);
    else
        produce_chunk(g, c, by, &t.r, l, chunk, from);
    turn_end(g, &t);
}

/* Where the lane's pieces are of the first chunk. */
static void sources(cg *g, const et_contract *c, const struct lanes *l, int bytes, val *from) {
    for (int i = 0; i < c->p.s->nacc * l->runs; i++)
        from[i] = source(g, c, i / l->runs, l->row[i % l->runs], l->unit[i % l->runs], bytes);
}

static void sources_of_part(cg *g, const et_contract *c, const struct lanes *l, int bytes, val part,
                            val *from) {
    int mark = cg_scope(g);
    cg_bind(g, c->p.s->kvar, cg_muli(g, part, c->p.part), true);
    sources(g, c, l, bytes, from);
    cg_scope_end(g, mark);
}

static void produce_chunks(cg *g, const et_contract *c, const cg_producer *by,
                           const struct lanes *l, val *from) {
    int64_t many = c->p.part ? c->p.part / c->p.kc : stages_of(c);
    val zero = cg_i32(g, 0), one = cg_i32(g, 1), chunks = cg_i32(g, many), at[MOST_FROM];
    int n = c->p.s->nacc * l->runs, all = n + (c->p.auxiliary ? c->p.auxiliary->sources : 0);
    cg_for f;
    if (!c->p.zeros) {
        val number = cg_for_begin(g, &f, zero, chunks, one, true, all, from);
        produce_next(g, c, by, l, number, from);
        for (int i = 0; i < n; i++)
            from[i] = cg_gepi(g, from[i], et_stream_row_bytes(&c->p));
        cg_auxiliary_move(g, c, NULL, from + n);
        cg_for_end(g, &f, from);
        return;
    }
    val chunk = cg_for_begin(g, &f, cg_contract_next(g, c, zero), chunks, one, false, 0, at);
    val offset = LLVMBuildZExt(g->b, cg_muli(g, chunk, et_stream_row_bytes(&c->p)), g->i64, "");
    for (int i = 0; i < n; i++)
        at[i] = cg_gep(g, from[i], offset);
    memcpy(at + n, from + n, (size_t)(all - n) * sizeof *at);
    cg_auxiliary_move(g, c, chunk, at + n);
    produce_next(g, c, by, l, chunk, at);
    f.step = LLVMBuildSub(g->b, cg_contract_next(g, c, cg_addi(g, chunk, 1)), chunk, "");
    cg_for_end(g, &f, at);
}

/* A part of k after the other; what says where the next one lies is loaded while this is copied. */
static void produce_parts(cg *g, const et_contract *c, const cg_producer *by, const struct lanes *l,
                          int bytes, val *from) {
    val last = cg_i32(g, c->p.k / c->p.part - 1), now[MOST_FROM];
    sources_of_part(g, c, l, bytes, cg_i32(g, 0), from);
    cg_for f;
    val part = cg_for_begin(g, &f, cg_i32(g, 0), cg_i32(g, c->p.k / c->p.part), cg_i32(g, 1), true,
                            c->p.s->nacc * l->runs, from);
    val next = cg_call(g, "llvm.umin", 1, &g->i32, 2, (val[]){cg_addi(g, part, 1), last});
    memcpy(now, from, (size_t)c->p.s->nacc * (size_t)l->runs * sizeof *now);
    sources_of_part(g, c, l, bytes, next, from);
    produce_chunks(g, c, by, l, now);
    cg_for_end(g, &f, from);
}

/* Packed, of each product each sixteen rows' blocks: FROM has the lane's first piece of these. */
static void produce_packed_chunk(cg *g, const et_contract *c, const cg_producer *by,
                                 const cg_ring *r, const val *from) {
    int wave = g->t->wave, all = et_stream_packed_bytes(&c->p),
        runs = et_stream_stage_bytes(&c->p) / all;
    struct lots lots = lots_of(g, c, by);
    val stage = cg_ring_stage(g, r), own = cg_muli(g, g->lane, PIECE);
    if (lots.calm < lots.most) lots.low = cg_ring_is_low(g, r, g->stages_here / 2);
    for (int i = 0; i < runs; i++)
        for (int at = 0; at < all; at += wave * PIECE) {
            val to = own; /* lanes past the last piece bring that once more */
            if (all - at < wave * PIECE)
                to = cg_call(g, "llvm.umin", 1, &g->i32, 2,
                             (val[]){own, cg_i32(g, all - at - PIECE)});
            val more = LLVMBuildZExt(g->b, to, g->i64, "");
            g->family->stream->copy(g, cg_gepi(g, cg_gep(g, stage, to), (int64_t)i * all + at),
                                    cg_gepi(g, cg_gep(g, from[i], more), at), PIECE,
                                    c->p.plan.evict_first);
            asked(g, &lots);
        }
}

static void produce_packed(cg *g, const et_contract *c, const cg_producer *by) {
    int all = et_stream_packed_bytes(&c->p), high = c->p.s->tn / ET_PACKED_ROWS;
    int runs = c->p.s->nacc * high;
    val from[MOST_PACKED];
    for (int i = 0; i < runs; i++)
        from[i] = cg_contract_packed_at(g, c, i / high, cg_i32(g, i % high * ET_PACKED_ROWS));
    cg_for f;
    cg_for_begin(g, &f, cg_i32(g, 0), cg_i32(g, c->p.chunks), cg_i32(g, 1), true, runs, from);
    if (by->asks) {
        prefetch_packed(g, c, by, from);
    } else {
        struct turn t = turn_begin(g, by);
        produce_packed_chunk(g, c, by, &t.r, from);
        turn_end(g, &t);
    }
    for (int i = 0; i < runs; i++)
        from[i] = cg_gepi(g, from[i], all);
    cg_for_end(g, &f, from);
}

static void produce_dense(cg *g, et_contract *c, const cg_producer *by) {
    const et_step *s = c->p.s;
    int bytes = by->asks ? ET_ASK_LINE : PIECE, all = et_stream_row_bytes(&c->p);
    int pieces = all > bytes ? all / bytes : 1, wave = g->t->wave;
    struct lanes l = {.runs = 1, .run = {{0, pieces < wave ? pieces : wave, 1}}};
    if (c->p.stage_k && !by->asks)
        l.run[0].lanes = LINE / PIECE;
    else if (!by->asks)
        l.runs = et_stream_runs(cg_cx(g), pieces, l.run);
    place_lanes(g, &l);
    val from[MOST_FROM];
    if (by->asks) c->p.auxiliary = NULL; /* too small to be worth it */
    if (!c->p.part) {
        sources(g, c, &l, bytes, from);
        cg_auxiliary_begin(g, c, from + s->nacc * l.runs);
    }
    if (!et_stream_is_full(g->p, s)) c->now.nlive = cg_emit_i32(g, s->nlive);
    if (c->p.part) {
        produce_parts(g, c, by, &l, bytes, from);
        return;
    }
    cg_contract_find_zeros(g, c);
    produce_chunks(g, c, by, &l, from);
}

static void produce_none(cg *g, const cg_producer *by) {
    for (int i = 0; i < g->producers; i++) {
        struct turn t = turn_begin(g, by);
        turn_end(g, &t);
    }
}

static void produce_any(cg *g, et_contract *c, const cg_producer *by) {
    et_contract *other = cg_contract_other(g, c);
    block packed, dense, over;
    if (!other) {
        produce_dense(g, c, by);
        return;
    }
    packed = cg_block(g, "packed"), dense = cg_block(g, "dense"), over = cg_block(g, "either");
    cg_cond(g, cg_contract_is_packed(g, other), packed, dense);
    for (int i = 0; i < 2; i++) {
        cg_at(g, i ? dense : packed);
        int mark = cg_scope(g);
        if (i)
            produce_dense(g, c, by);
        else
            produce_packed(g, other, by);
        cg_scope_end(g, mark);
        cg_br(g, over);
    }
    cg_at(g, over);
}

void cg_contract_produce(cg *g, const et_step *s, const cg_producer *by) {
    et_contract *c = et_alloc(g->arena, sizeof *c);
    cg_contract_plan(g, s, c);
    if (!c->p.cond.id) {
        produce_any(g, c, by);
        return;
    }
    block some = cg_block(g, "some"), none = cg_block(g, "none"), over = cg_block(g, "any");
    val any = LLVMBuildZExt(g->b, cg_emit(g, c->p.cond), g->i32, "");
    cg_cond(g, cg_icmp(g, LLVMIntNE, cg_uniform(g, any), cg_i32(g, 0)), some, none);
    for (int i = 0; i < 2; i++) {
        cg_at(g, i ? none : some);
        int mark = cg_scope(g);
        if (!i)
            produce_any(g, c, by);
        else if (!by->asks)
            produce_none(g, by);
        cg_scope_end(g, mark);
        cg_br(g, over);
    }
    cg_at(g, over);
}
