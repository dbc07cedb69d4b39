/* A plan made a mainloop again: what it decides is taken as it is, where that can be. */
#include "ir/product/product.h"

static bool no(const char **out_why, const char *why) {
    *out_why = why;
    return false;
}

/* Decoding that needs registers of what is loaded. */
static bool computes(const et_product_plan *w) {
    return w->decode >= ET_DECODE_COMPUTED && w->decode <= ET_DECODE_BF16;
}

/* Where b comes from is the step's and the target's; a plan says the same, or is another's. */
static et_weights_from weights_of(const et_mainloop *c) {
    return c->streamed ? ET_WEIGHTS_STREAM
           : c->stages ? ET_WEIGHTS_PIPELINE
           : c->direct ? ET_WEIGHTS_DIRECT
                       : ET_WEIGHTS_STAGED;
}

static bool cut(const et_product_cx *g, et_mainloop *c, const et_product_plan *w,
                const char **out_why) {
    int wide = c->s->wk * c->unit_k;
    bool whole = w->chunk > 0 && w->chunk % wide == 0;
    if (c->stages || w->weights == ET_WEIGHTS_STAGED) {
        if (w->decode != ET_DECODE_PLAIN)
            return no(out_why, "b is decoded in registers, and goes through local memory");
        if (!c->stages && c->s->stage_b < 0)
            return no(out_why, "b is not contiguous along k and there is no buffer to stage it");
        c->direct = false;
        return w->chunk == c->kc ||
               no(out_why, "what is staged is staged in chunks as large as its buffers");
    }
    if (!whole) return no(out_why, "a chunk has whole units of all waves");
    if (computes(w))
        return et_mainloop_compute(g, c, w->chunk / wide) ||
               no(out_why, "b cannot be computed in registers so many k's at a time");
    if (!c->direct) return no(out_why, "b does not lie in memory as it is multiplied");
    et_mainloop_cut(g, c, w->chunk / wide);
    return true;
}

static bool rows(const et_product_cx *g, et_mainloop *c, const et_product_plan *w,
                 const char **out_why) {
    int own = et_rows_own_depth(g, c);
    if (w->rows == ET_ROWS_OWN) {
        c->rows_own = w->rows_depth;
        c->rows_ahead = c->room = 0;
        return (w->rows_depth > 0 && w->rows_depth <= own && own % w->rows_depth == 0 &&
                c->chunks % w->rows_depth == 0) ||
               no(out_why, "rows cannot be a wave's own so many chunks ahead");
    }
    int64_t most = et_most_rows(g, c->s);
    if (c->direct && c->room < 0 && !c->rows_ahead && (most < 16 ? most : 16) > 16 >> -c->room)
        return no(out_why, "the buffer for a has no room for its rows");
    const et_local *a = &g->f->locals[c->s->stage_a];
    if (c->direct && !c->rows_ahead &&
        et_mainloop_held_rows(g, c) * c->pitch_a > (int64_t)a->dim[0] * et_mainloop_pitch(g, c))
        return no(out_why, "the buffer for a has no room for a chunk of its rows");
    return true;
}

static bool decode(const et_product_cx *g, et_mainloop *c, const et_product_plan *w,
                   const char **out_why) {
    if (!computes(w)) return true;
    int pairs = c->run ? 0 : et_decode_pairs(g, c);
    if (w->decode == ET_DECODE_PAIRS || (w->decode == ET_DECODE_F16 && pairs)) {
        c->pair_gap = pairs;
        c->times = pairs ? et_decode_pairs_times() : 1;
    }
    return w->decode != ET_DECODE_PAIRS || pairs || no(out_why, "b cannot be computed in pairs");
}

static bool finish(const et_product_cx *g, et_mainloop *c, const et_product_plan *w,
                   const char **out_why) {
    if (w->rows == ET_ROWS_AHEAD) {
        c->rows_ahead = w->rows_depth;
        if (c->rows_ahead < 2 || c->rows_ahead > et_rows_most_ahead(g, c))
            return no(out_why, "rows cannot be copied so many chunks ahead");
    }
    if ((w->rows == ET_ROWS_PIPELINE) != (c->stages > 0) ||
        (c->stages && w->rows_depth != c->stages))
        return no(out_why, "rows do not come through a ring of so many chunks");
    if (w->rows == ET_ROWS_STAGED && w->rows_depth != 1)
        return no(out_why, "rows are staged a chunk at a time");
    c->in_steps = w->in_steps;
    if (c->in_steps && !et_mainloop_may_step(g, c))
        return no(out_why, "lanes cannot have the k's of a warpgroup MMA's steps");
    et_mainloop_rows(g, c);
    et_mainloop_few(g, c, w->sets, w->in_turn);
    if (w->decode == ET_DECODE_F16 && !et_decode_f16(g, c))
        return no(out_why, "b cannot be multiplied as f16");
    if (w->decode == ET_DECODE_BF16 && !et_decode_bf16(g, c))
        return no(out_why, "b cannot be multiplied as bf16 without its scale");
    if (w->decode == ET_DECODE_UNSCALED && !et_decode_unscaled(g, c))
        return no(out_why, "b cannot be multiplied without its scale");
    c->results = et_layout_sums(c->sums);
    if (!rows(g, c, w, out_why)) return false;
    int spread = w->row_packed ? et_rows_most_packed(g, c) : 0;
    if (w->row_packed && (w->row_packed < 2 || w->row_packed > spread || spread % w->row_packed))
        return no(out_why, "a row's k cannot be dealt to so many rows");
    c->row_packed = w->row_packed;
    if (w->in_turn && (!c->in_turn || c->row_packed))
        return no(out_why, "sums cannot take turns by pieces");
    if (c->f16 && c->row_packed) c->sets = c->row_packed;
    if ((w->spans || w->span) && !et_mainloop_may_span(c, w->spans, w->span))
        return no(out_why, "k cannot be added up in so many sums one after the other");
    c->spans = w->spans;
    c->span = w->span;
    int most = et_pipeline_most_held(g, c);
    c->held = most ? w->depth : 0;
    if (c->stages && (w->depth > (most ? most : 1) || w->depth & (w->depth - 1)))
        return no(out_why, "registers have no room for so many chunks of a pipeline");
    if (!c->stages &&
        (w->depth > ET_DEEP || (w->depth == ET_DEEP && !c->deep && !et_mainloop_may_deepen(g, c))))
        return no(out_why, "registers have no room for two chunks of b");
    c->deep = !c->stages && w->depth == ET_DEEP;
    if (w->sets != c->sets) return no(out_why, "sums cannot take turns so");
    return true;
}

/* What is beside the cut of k. */
static const char *staging_problem(const et_product_cx *g, const et_mainloop *c) {
    const et_product_plan *w = &c->plan;
    bool some = false;
    for (int i = 0; i < c->s->nacc; i++)
        some |= et_weights_may_evict(g, c, i);
    if (w->unroll < 1 || w->unroll > ET_STAGE_UNROLL ||
        (w->unroll > 1 && w->rows != ET_ROWS_STAGED))
        return "nothing is staged so many items at once";
    if (w->prologue > et_rows_prologue(g, c))
        return "rows cannot be staged so in front of the mainloop";
    if (w->interleaved && !et_pipeline_may_interleave(g, c))
        return "a wave does not read fragments of chunks that are in registers before";
    if (w->evict_first && !some) return "it copies no weights that could leave the L2 first";
    return NULL;
}

bool et_mainloop_of(const et_product_cx *g, const et_step *s, et_plan_of which, et_mainloop *c,
                    const char **out_why) {
    const et_product_plan *w = &s->plan[which];
    const et_step *of = w->decode == ET_DECODE_FP8 ? et_decode_fp8(g, s) : s;
    if (!of) return no(out_why, "operands are not values of e4m3, or not multiplied as such");
    const et_mainloop_kind kind = {.streamed = w->weights == ET_WEIGHTS_STREAM,
                                   .packed = which == ET_PLAN_PACKED,
                                   .maybe_packed = w->maybe_packed,
                                   .fp8 = w->decode == ET_DECODE_FP8};
    if (!et_mainloop_begin(g, of, kind, c))
        return no(out_why, "the target has no matrix instruction for the operands");
    bool whole =
        c->packed ||
        (w->lane_k > 0 && !(w->lane_k & (w->lane_k - 1)) && w->lane_k <= (w->run ? 32 : 16) &&
         w->chunk / s->wk % (w->lane_k * et_layout_groups(c->fr->layout)) == 0);
    whole &= w->lane_k % c->fr->lane_k == 0;
    if (!whole) return no(out_why, "a lane's k's do not divide a wave's part of a chunk");
    if (c->packed && (w->lane_k != c->lane_k || !et_mainloop_fits_packed(g, c)))
        return no(out_why, "the buffer for a does not hold what waves multiply of packed weights");
    et_mainloop_lane_k(c, w->lane_k);
    if (w->run && (w->decode != ET_DECODE_F16 || w->run != et_runs_of(g, c)))
        return no(out_why, "runs of a row's k cannot have a column each");
    c->run = w->run;
    c->bf16 = w->decode == ET_DECODE_BF16;
    if (c->bf16 && !et_bare_may(g, c))
        return no(out_why, "b cannot be multiplied as bf16 without its scale");
    if (!cut(g, c, w, out_why) || !decode(g, c, w, out_why)) return false;
    et_mainloop_count(c);
    if (weights_of(c) != w->weights) return no(out_why, "weights do not come from there");
    if (c->fp8 && w->weights != ET_WEIGHTS_DIRECT)
        return no(out_why, "values of e4m3 are multiplied straight from memory alone");
    if (c->packed && !et_mainloop_may_pack(g, c))
        return no(out_why, "weights are not read packed (--sparse=2:4)");
    c->zeros = which == ET_PLAN_ZEROS && et_mainloop_may_zeros(g, c);
    c->deep = w->depth == ET_DEEP && et_mainloop_may_be_deep(g, c);
    if (!finish(g, c, w, out_why)) return false;
    if (c->streamed && !et_stream_suits(g, c))
        return no(out_why, c->stage_k
                               ? "its weights come in slots of a ring, and there is none for them"
                               : "b cannot come through the ring in such chunks");
    c->plan = *w;
    *out_why = staging_problem(g, c);
    if (!*out_why) *out_why = et_mainloop_problem(g, c);
    return !*out_why;
}
