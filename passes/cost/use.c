/* How a product is multiplied: read of its plan, or expected of one (passes/product/choose.c). All
 * that is expected is here. */
#include "passes/cost/use.h"
#include "ir/program/step.h"
#include "ir/program/stream.h"

/* ---- with a plan ---- */

static et_product_use planned(const et_func *f, const et_step *s, const et_machine *m) {
    const et_product_plan *w = &s->plan[ET_PLAN_MAIN];
    bool ring = w->rows == ET_ROWS_PIPELINE, ahead = w->rows == ET_ROWS_AHEAD;
    et_product_use u = {.rows = w->rows, .chunk = w->chunk};
    u.in_flight = ring || ahead ? w->rows_depth - 1 : 0;
    if (ring && !m->local_copies) u.in_flight = w->depth;
    u.by_chunk =
        m->stream_kb && s->stage_b >= 0 && !et_step_stages(f, s) && w->weights != ET_WEIGHTS_STREAM;
    return u;
}

/* ---- before ---- */

/* Chunks of a pipeline: those of the buffers, or as many as registers are loaded with. */
static int in_flight(const et_func *f, const et_step *s, const et_machine *m) {
    double chunk =
        (double)(s->tm + s->nacc * s->tn) * et_step_chunk(f, s) * et_dtype_bytes(s->operand);
    int n = 4;
    if (m->local_copies) return et_step_stages(f, s) - 1;
    while (n > 1 && n * chunk > m->load_kb * 1024)
        n /= 2;
    return n;
}

/* A stream has chunks that are whole. */
static bool may_stream(const et_program *p, const et_func *f, const et_step *s, double k) {
    enum { UNIT = 32 }; /* k's of a wave at a time */
    return et_stream_step(p, f) >= 0 && et_stream_is_full(p, s) &&
           (int64_t)k % (UNIT * (int64_t)s->wk) == 0;
}

static et_product_use expected(const et_program *p, const et_func *f, const et_step *s,
                               const et_machine *m, double k) {
    bool ring = et_step_stages(f, s) > 0;
    et_product_use u = {.chunk = et_step_chunk(f, s)};
    u.rows = ring ? ET_ROWS_PIPELINE : m->stream_kb && s->wn == 1 ? ET_ROWS_OWN : ET_ROWS_STAGED;
    u.in_flight = ring ? in_flight(f, s, m) : 0;
    u.by_chunk = m->stream_kb && s->stage_b >= 0 && !ring && !may_stream(p, f, s, k);
    return u;
}

et_product_use et_product_use_of(const et_program *p, const et_func *f, const et_step *s,
                                 const et_machine *m, double k) {
    return s->plan[ET_PLAN_MAIN].made ? planned(f, s, m) : expected(p, f, s, m, k);
}

/* ---- decoding ---- */

et_decode_as et_product_decode_of(const et_step *s, const et_machine *m, const et_element_cost *b,
                                  double rows) {
    const et_product_plan *w = &s->plan[ET_PLAN_MAIN];
    bool computed = s->stage_b >= 0 || b->ops > 0;
    if (w->made && w->decode != ET_DECODE_PLAIN) return w->decode;
    if (w->made) return computed ? ET_DECODE_COMPUTED : ET_DECODE_PLAIN;
    double bare = b->bare_bits == 8 ? m->bare8_ops : b->bare_bits == 4 ? m->bare4_ops : 0;
    double pairs = b->code_bits == 8 ? m->code8_ops : b->code_bits == 4 ? m->code4_ops : 0;
    if (bare > 0) return ET_DECODE_UNSCALED;
    if (b->plain && rows <= 1 && m->code8_one_ops > 0) return ET_DECODE_F16;
    if (pairs > 0) return ET_DECODE_PAIRS;
    return computed ? ET_DECODE_COMPUTED : ET_DECODE_PLAIN;
}
