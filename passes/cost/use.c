/* How a product is multiplied and attention done, of what costs depend on: read of the step's plan,
 * or of the one that it would get. */
#include "passes/cost/use.h"
#include "ir/program/step.h"
#include "passes/product/product.h"

/* ---- products ---- */

/* By its buffers, where there is no target to plan for. */
static et_product_plan by_buffers(const et_func *f, const et_step *s) {
    int stages = et_step_stages(f, s);
    return (et_product_plan){.rows = stages ? ET_ROWS_PIPELINE : ET_ROWS_STAGED,
                             .rows_depth = stages ? stages : 1,
                             .weights = stages            ? ET_WEIGHTS_PIPELINE
                                        : s->stage_b >= 0 ? ET_WEIGHTS_STAGED
                                                          : ET_WEIGHTS_DIRECT,
                             .depth = 1,
                             .chunk = et_step_declared_k(f, s)};
}

static et_product_plan plan_of(const et_program *p, const et_func *f, const et_step *s,
                               const et_machine *m) {
    et_product_plan own;
    if (s->plan[ET_PLAN_MAIN].made) return s->plan[ET_PLAN_MAIN];
    if (m->plans && et_product_expect(m->plans, p, f, s, &own)) return own;
    return by_buffers(f, s);
}

et_product_use et_product_use_of(const et_program *p, const et_func *f, const et_step *s,
                                 const et_machine *m) {
    et_product_plan w = plan_of(p, f, s, m);
    et_product_use u = {.rows = w.rows, .chunk = w.chunk, .decode = w.decode};
    u.streamed = w.weights == ET_WEIGHTS_STREAM;
    bool pipeline = w.rows == ET_ROWS_PIPELINE;
    if (pipeline) u.in_flight = m->local_copies ? w.rows_depth - 1 : w.depth;
    if (pipeline && m->group_waves && m->plans)
        u.warpgroup = et_product_warpgroup(m->plans, p, f, s);
    else if (pipeline)
        u.warpgroup = et_step_warpgroup(s, m->group_waves);
    u.by_chunk = m->stream_kb && s->stage_b >= 0 && !pipeline && !u.streamed;
    return u;
}

/* ---- attention ---- */

static et_attend_plan attend_plan_of(const et_program *p, const et_func *f, const et_step *s,
                                     const et_machine *m) {
    et_attend_plan own;
    if (s->attend.made) return s->attend;
    if (m->plans && et_attend_expect(m->plans, p, f, s, &own)) return own;
    int lane_d = ET_ATTEND_EACH;
    while (lane_d * m->wave_size < s->depth)
        lane_d *= 2;
    return (et_attend_plan){.by = s->rows ? ET_ATTEND_BY_ROWS : ET_ATTEND_BY_LANES,
                            .heads = s->heads,
                            .lane_d = lane_d,
                            .waves = 1,
                            .block = {s->rows ? ET_ATTEND_BLOCK : ET_ATTEND_POSITIONS, 2}};
}

/* Positions that a wave has at once: groups of lanes have a block each. */
static int of_wave(const et_step *s, const et_attend_plan *w, const et_machine *m) {
    int lanes = 1;
    if (w->by != ET_ATTEND_BY_LANES) return w->block.positions;
    while (lanes * w->lane_d < s->depth)
        lanes *= 2;
    return m->wave_size / lanes * w->block.positions;
}

et_attend_use et_attend_use_of(const et_program *p, const et_func *f, const et_step *s,
                               const et_machine *m) {
    et_attend_plan w = attend_plan_of(p, f, s, m);
    et_attend_use u = {.matrix = w.by != ET_ATTEND_BY_LANES, .passes = 1};
    u.in_flight = w.block.depth;
    bool shared = w.by >= ET_ATTEND_BY_ROWS;
    u.positions = shared ? w.block.positions : m->waves * of_wave(s, &w, m);
    if (!s->rows) u.passes = (s->heads + w.heads - 1) / w.heads;
    return u;
}
