/* The plans of steps that have none yet, for prices of tiles that are still compared: what the pass
 * `product` would give them. What it knows besides is decided later, for a whole model at a time:
 * whether its weights stream, of which stages, and which operands have tags. */
#include "passes/product/product.h"

static int whole_lines(int64_t bytes) {
    return (int)(bytes + ET_RING_LINE - 1) / ET_RING_LINE * ET_RING_LINE;
}

int et_stream_stage(int bytes, int64_t beside, bool packed) {
    bytes += whole_lines(beside);
    /* Packed, of as many k's: half of them, and which of four columns they are of. */
    return packed ? whole_lines(bytes / 2 + bytes / 16) : bytes;
}

static et_product_cx context(const et_product_options *o, const et_program *p, const et_func *f,
                             et_arena *arena) {
    et_product_cx cx = et_product_context(p, f, o->target, arena);
    cx.without = o->without;
    cx.packed = o->packed;
    cx.orders = o->orders;
    cx.alone = o->alone;
    return cx;
}

static bool expect(const et_product_options *o, const et_program *p, const et_func *f,
                   const et_step *s, et_arena *arena, et_product_plan plan[ET_PLANS],
                   et_mainloop *c) {
    et_program at = *p;
    int step = o->stream_bytes && o->target->copies ? et_stream_step(p, f) : -1;
    bool streamed = step >= 0 && s == &f->steps[step];
    if (streamed && !at.ring.bytes)
        at.ring.bytes = et_stream_stage(
            o->stream_bytes, et_stream_auxiliary_bytes(p, s, o->stream_bytes), o->packed);
    et_product_cx cx = context(o, &at, f, arena);
    return et_product_choose(&cx, s, streamed, false, false, plan, c);
}

bool et_product_expect(const et_product_options *o, const et_program *p, const et_func *f,
                       const et_step *s, et_product_plan *out) {
    et_arena *arena = et_arena_create();
    et_product_plan plan[ET_PLANS];
    et_mainloop c;
    bool is = expect(o, p, f, s, arena, plan, &c);
    *out = plan[ET_PLAN_MAIN];
    et_arena_destroy(arena);
    return is;
}

int et_product_expect_stage(const et_product_options *o, const et_program *p, const et_func *f,
                            const et_step *s) {
    et_arena *arena = et_arena_create();
    et_product_plan plan[ET_PLANS];
    et_mainloop c;
    int bytes = 0;
    if (expect(o, p, f, s, arena, plan, &c) && c.streamed)
        bytes = c.chunks == 1 ? p->ring.bytes : et_stream_stage_bytes(&c);
    et_arena_destroy(arena);
    return bytes;
}

bool et_product_has_order(const et_product_options *o, const et_program *p, const et_func *f,
                          const et_step *s, const et_product_order *order, bool *out_streams) {
    et_arena *arena = et_arena_create();
    et_product_plan plan[ET_PLANS];
    et_mainloop c;
    bool is = expect(o, p, f, s, arena, plan, &c);
    et_product_order has = is ? et_order_of(&c) : *order;
    *out_streams = is && c.streamed;
    et_arena_destroy(arena);
    has.k = order->k; /* parts of k are cut off later */
    return is && et_order_eq(&has, order);
}

et_warpgroup_rows et_product_warpgroup(const et_product_options *o, const et_program *p,
                                       const et_func *f, const et_step *s) {
    et_arena *arena = et_arena_create();
    et_product_cx cx = context(o, p, f, arena);
    et_mainloop c;
    bool is = et_mainloop_begin(&cx, s, (et_mainloop_kind){.streamed = false}, &c);
    et_arena_destroy(arena);
    return is ? c.warpgroup : ET_WARPGROUP_NONE;
}

bool et_attend_expect(const et_product_options *o, const et_program *p, const et_func *f,
                      const et_step *s, et_attend_plan *out) {
    et_arena *arena = et_arena_create();
    et_product_cx cx = context(o, p, f, arena);
    bool is = et_attend_choose(&cx, s, out);
    et_arena_destroy(arena);
    return is;
}
