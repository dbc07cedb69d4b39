/* Which integers the local buffers of a function hold: indices are counted there, and found as the
 * places of largest elements, and need no clamp then. Steps run in order, so what one stores is
 * made of what those before it did. */
#include "ir/base/diag.h"
#include "ir/verify/steps/int.h"

static const struct held all = {INT32_MIN, INT32_MAX};

static void element(void *ctx, int local, int64_t *lo, int64_t *hi) {
    const struct steps *s = ctx;
    const struct held *h = &s->held[local];
    if (h->lo > h->hi) return; /* never written: that is for others to say */
    *lo = h->lo;
    *hi = h->hi;
}

static struct held range_of(struct steps *s, et_expr e) {
    const et_node_x *n = et_x(s->x, e);
    struct held h;
    if (n->type == ET_T_PRED) return (struct held){0, 1};
    if (n->type != ET_T_I32) return all;
    sv_linear f = sv_form(s->one, e);
    return sv_bounds(s->problem, &f, &h.lo, &h.hi) ? h : all;
}

/* What a reduction of N values from V gives. */
static struct held reduced(et_reduce red, struct held v, struct held n) {
    int64_t most = n.hi < 0 ? 0 : n.hi, least = n.lo < 0 ? 0 : n.lo;
    __int128 lo, hi;
    switch (red) {
    case ET_RED_SUM:
        lo = (__int128)v.lo * (v.lo < 0 ? most : least);
        hi = (__int128)v.hi * (v.hi < 0 ? least : most);
        return lo < all.lo || hi > all.hi ? all : (struct held){(int64_t)lo, (int64_t)hi};
    case ET_RED_ARGMAX:
    case ET_RED_TOP:
        return (struct held){0, most > 0 ? most - 1 : 0};
    case ET_RED_MAX:
        return least ? v : (struct held){all.lo, v.hi};
    default:
        return least ? v : (struct held){v.lo, all.hi};
    }
}

static struct held stored(struct steps *s, const et_step *st) {
    struct held v = range_of(s, st->value);
    if (st->kind != ET_STEP_REDUCE) return v;
    if (st->red >= ET_RED_ARGMAX) return reduced(st->red, all, range_of(s, st->rextent));
    return et_x(s->x, st->value)->type == ET_T_F32 ? all
                                                   : reduced(st->red, v, range_of(s, st->rextent));
}

void sv_find_held(struct steps *s) {
    s->held = et_alloc(s->arena, (size_t)(s->f->nlocals + 1) * sizeof *s->held);
    sv_frame_elements(s->one, element, s);
    for (int l = 0; l < s->f->nlocals; l++)
        s->held[l] = (struct held){1, 0};
    for (int i = 0; i < s->f->nsteps; i++) {
        const et_step *st = &s->f->steps[i];
        const et_place *to = et_step_to(st);
        if (!to || to->space != ET_LOAD_LOCAL) continue;
        struct held *h = &s->held[to->id];
        sv_begin(s, i);
        struct held v = stored(s, st);
        if (v.lo < all.lo || v.hi > all.hi) v = all;
        bool first = h->lo > h->hi;
        h->lo = first || v.lo < h->lo ? v.lo : h->lo;
        h->hi = first || v.hi > h->hi ? v.hi : h->hi;
    }
}
