/* The counters that a wait or notify names: how many, where each is, and what completes it. */
#include "codegen/emit/emit.h"
#include "ir/base/diag.h"
#include <string.h>

void cg_strides(cg *g, const et_event *e, int64_t *out) {
    int64_t s = 1;
    for (int i = e->rank - 1; i >= 0; i--) {
        int64_t lo, hi;
        out[i] = s;
        if (!et_bounds(g->x, e->dim[i], &lo, &hi))
            et_bug("dimension %d of event %s has no bounds", i, e->name);
        s *= hi;
    }
}

/* ---- how many arrivals ---- */

static val broken(cg *g, const et_event *e, val need) {
    if (!g->opt->break_event || strcmp(e->name, g->opt->break_event) != 0) return need;
    return cg_addi(g, need, 1);
}

val cg_event_need(cg *g, int event, const val *at) {
    const et_event *e = &g->p->events[event];
    int64_t lo, hi;
    if (et_expr_is_known(g->x, e->count)) return broken(g, e, cg_emit_i32(g, e->count));
    int mark = cg_scope(g);
    for (int i = 0; i < e->rank; i++)
        if (e->var[i]) cg_bind(g, e->var[i] - 1, at[i], true);
    val need = cg_emit_i32(g, e->count);
    cg_scope_end(g, mark);
    if (!et_bounds(g->x, e->count, &lo, &hi) || lo < 0)
        need = cg_call(g, "llvm.smax", 1, &g->i32, 2, (val[]){need, cg_i32(g, 0)});
    return broken(g, e, need);
}

/* ---- how many counters ---- */

static et_expr at_least_0(cg *g, et_expr e) {
    int64_t lo, hi;
    if (et_bounds(g->x, e, &lo, &hi) && lo >= 0) return e;
    return et_op2(g->x, ET_X_MAX, e, et_int(g->x, 0));
}

/* Code is made for items that turn out to be none: a variable that may have no value at all must
 * not be taken to be below its extent. */
static void begin_vars(cg *g, cg_box *box) {
    int64_t lo, hi;
    for (int i = 0; i < box->w->nvars; i++) {
        int var = box->var[i] = box->w->vars[i];
        et_expr extent = et_var_extent(g->x, var);
        box->extent[i] = at_least_0(g, extent);
        if (et_bounds(g->x, extent, &lo, &hi) && lo >= 1) continue;
        box->var[i] = cg_fresh_var(g, et_var_name(g->x, var), INT32_MAX);
        for (int d = 0; d < g->p->events[box->w->event].rank; d++) {
            et_expr by = et_var(g->x, box->var[i]);
            box->lo[d] = et_subst_var(g->x, box->lo[d], var, by);
            box->hi[d] = et_subst_var(g->x, box->hi[d], var, by);
        }
    }
}

/* How many places a dimension has at any values of the variables; less may be inside. */
static et_expr room(cg *g, const cg_box *box, int d) {
    const et_event *e = &g->p->events[box->w->event];
    et_expr one = et_int(g->x, 1);
    if (et_expr_eq(box->lo[d], box->hi[d])) return one;
    et_expr size = et_add(g->x, et_sub(g->x, box->hi[d], box->lo[d]), one);
    if (!box->w->nvars) return size;
    int64_t lo, hi, n;
    if (!et_expr_has_vars(g->x, size, box->w->nvars, box->var)) return at_least_0(g, size);
    bool known = et_bounds(g->x, size, &lo, &hi) && et_is_int(g->x, e->dim[d], &n) && hi <= n;
    return known ? et_int(g->x, hi > 0 ? hi : 0) : e->dim[d];
}

/* The two that E is the larger, or smaller, of, as OP says; else E twice, and false. */
static bool either(const cg *g, et_expr e, et_xop op, et_expr out[2]) {
    const et_node_x *x = et_x(g->x, e);
    for (int i = 0; i < 2; i++)
        out[i] = x->op == op ? x->ops[i] : e;
    return x->op == op;
}

/* SIZE's most, or -1. Where a range begins at the larger of two places, it is no longer than from
 * either: bounds of the difference alone do not see that `max(0, l - 1) .. l - 1` is one place. The
 * same of one that ends at the smaller of two, where that is worth to know: as many counters as it
 * has are looked at together. */
static int64_t most_places(cg *g, et_expr size, et_expr first, et_expr last) {
    int64_t lo, hi, most = et_bounds(g->x, size, &lo, &hi) ? hi : -1;
    et_expr from[2], to[2] = {last, last};
    bool some = either(g, first, ET_X_MAX, from);
    if (g->family->sets > 1) some |= either(g, last, ET_X_MIN, to);
    for (int i = 0; some && i < 4; i++) {
        et_expr n = et_add(g->x, et_sub(g->x, to[i & 1], from[i >> 1]), et_int(g->x, 1));
        if (et_bounds(g->x, n, &lo, &hi) && (most < 0 || hi < most)) most = hi > 0 ? hi : 0;
    }
    return most;
}

/* The most counters in the box, or -1. */
static int64_t most_of(cg *g, const cg_box *box) {
    int64_t lo, hi, total = 1;
    for (int i = 0; i < box->w->nvars; i++)
        if (!et_bounds(g->x, box->extent[i], &lo, &hi) || __builtin_mul_overflow(total, hi, &total))
            return -1;
    for (int d = 0; d < g->p->events[box->w->event].rank; d++) {
        int64_t n = most_places(g, box->size[d], box->lo[d], box->hi[d]);
        if (n < 0 || __builtin_mul_overflow(total, n, &total)) return -1;
    }
    return total;
}

/* Can a tensor make dimension D of a wait without variables begin or end outside the event? */
static bool may_stray(cg *g, const cg_box *box, int d) {
    const et_wait *w = box->w;
    if (w->nvars || !(et_expr_loads(g->x, w->lo[d]) || et_expr_loads(g->x, w->hi[d]))) return false;
    et_expr last = et_sub(g->x, g->p->events[w->event].dim[d], et_int(g->x, 1));
    return !et_prove_le(g->x, et_int(g->x, 0), w->lo[d]) || !et_prove_le(g->x, w->hi[d], last);
}

static et_expr both(cg *g, et_xop op, et_expr a, et_expr b) {
    return a.id ? et_op2(g->x, op, a, b) : b;
}

/* What tensors hold is not trusted to name counters of the event. A box that is not empty and
 * reaches outside of it becomes one counter that is never complete, so that the wait is given up
 * like any other that lasts too long; nothing outside of the event is looked at. */
static et_expr stray_of(cg *g, cg_box *box) {
    const et_event *e = &g->p->events[box->w->event];
    et_expr outside = ET_NO_EXPR, some = ET_NO_EXPR;
    for (int d = 0; d < e->rank; d++) {
        et_expr lo = box->lo[d], hi = box->hi[d];
        if (!et_expr_eq(lo, hi)) some = both(g, ET_X_AND, some, et_op2(g->x, ET_X_LE, lo, hi));
        if (!may_stray(g, box, d)) continue;
        outside = both(g, ET_X_OR, outside, et_op2(g->x, ET_X_LT, lo, et_int(g->x, 0)));
        outside = both(g, ET_X_OR, outside, et_op2(g->x, ET_X_LE, e->dim[d], hi));
        if (!et_expr_eq(lo, hi))
            box->size[d] = et_op2(g->x, ET_X_MIN, at_least_0(g, box->size[d]), e->dim[d]);
    }
    return outside.id && some.id ? et_op2(g->x, ET_X_AND, some, outside) : outside;
}

void cg_box_shape(cg *g, const et_wait *w, cg_box *box) {
    const et_event *e = &g->p->events[w->event];
    et_expr total = et_int(g->x, 1);
    *box = (cg_box){.w = w, .constant = -1, .most = -1};
    memcpy(box->lo, w->lo, sizeof box->lo);
    memcpy(box->hi, w->hi, sizeof box->hi);
    begin_vars(g, box);
    for (int i = 0; i < w->nvars; i++)
        total = et_mul(g->x, total, box->extent[i]);
    for (int i = 0; i < e->rank; i++) {
        if (w->nvars && !et_expr_eq(box->lo[i], box->hi[i])) {
            et_expr last = et_sub(g->x, e->dim[i], et_int(g->x, 1));
            box->lo[i] = at_least_0(g, box->lo[i]);
            box->hi[i] = et_op2(g->x, ET_X_MIN, box->hi[i], last);
        }
        box->size[i] = room(g, box, i);
    }
    box->stray = stray_of(g, box);
    for (int i = 0; i < e->rank; i++)
        total = et_mul(g->x, total, box->size[i]);
    box->count = total;
    if (!et_is_int(g->x, total, &box->constant)) box->constant = -1;
    box->most = most_of(g, box);
}

static void emit_box(cg *g, cg_box *box) {
    int event = box->w->event;
    if (et_expr_is_known(g->x, g->p->events[event].count))
        box->need = cg_event_need(g, event, NULL);
    box->total = cg_emit_i32(g, box->count);
    box->astray = NULL;
    if (!box->stray.id) return;
    box->astray = cg_emit(g, box->stray);
    if (box->constant != 1) box->total = cg_select(g, box->astray, cg_i32(g, 1), box->total);
}

void cg_box_begin(cg *g, const et_wait *w, cg_box *box) {
    cg_box_shape(g, w, box);
    emit_box(g, box);
}

/* ---- one of them ---- */

/* The last digit of ITEM, which it loses; ITEM has others before it unless TOP. A box that may be
 * empty has no digits, and still none is divided by nothing. */
static val digit(cg *g, val *item, et_expr size, bool top) {
    val d = *item;
    int64_t lo, hi;
    if (top) return d;
    val s = cg_emit_i32(g, size);
    if (!et_bounds(g->x, size, &lo, &hi) || lo < 1)
        s = cg_call(g, "llvm.smax", 1, &g->i32, 2, (val[]){s, cg_i32(g, 1)});
    d = LLVMBuildURem(g->b, *item, s, "");
    *item = LLVMBuildUDiv(g->b, *item, s, "");
    return d;
}

static bool is_one(cg *g, et_expr e) {
    int64_t n;
    return et_is_int(g->x, e, &n) && n == 1;
}

/* Are all sizes before dimension D 1, and those of the variables? */
static bool is_top(cg *g, const cg_box *box, int d) {
    bool top = true;
    for (int k = 0; k < d; k++)
        top &= is_one(g, box->size[k]);
    for (int k = 0; k < box->w->nvars; k++)
        top &= is_one(g, box->extent[k]);
    return top;
}

/* A box without variables: the index of every item is in the event, or the box has strayed. */
static val plain_index(cg *g, const cg_box *box, val item, val at[ET_MAX_RANK]) {
    const et_event *e = &g->p->events[box->w->event];
    int64_t stride[ET_MAX_RANK];
    cg_strides(g, e, stride);
    val word = cg_i32(g, 0);
    for (int i = e->rank - 1; i >= 0; i--) {
        at[i] = cg_emit_i32(g, box->lo[i]);
        if (!is_one(g, box->size[i]))
            at[i] = cg_add(g, at[i], digit(g, &item, box->size[i], is_top(g, box, i)));
        if (box->astray) at[i] = cg_select(g, box->astray, cg_i32(g, 0), at[i]);
        word = cg_add(g, word, cg_muli(g, at[i], stride[i]));
    }
    return word;
}

static void bind_vars(cg *g, const cg_box *box, val item) {
    for (int i = box->w->nvars - 1; i >= 0; i--) {
        bool top = true;
        for (int k = 0; k < i; k++)
            top &= is_one(g, box->extent[k]);
        val v = is_one(g, box->extent[i]) ? cg_i32(g, 0) : digit(g, &item, box->extent[i], top);
        cg_bind(g, box->var[i], v, true);
    }
}

/* With variables: the index of an item may be outside. NEED may be NULL. */
static val place(cg *g, const cg_box *box, val item, val *inside, val *need) {
    const et_event *e = &g->p->events[box->w->event];
    int64_t stride[ET_MAX_RANK];
    val at[ET_MAX_RANK], word = cg_i32(g, 0), outer = g->guard;
    cg_strides(g, e, stride);
    *inside = g->guard = cg_icmp(g, LLVMIntULT, item, box->total);
    item = cg_select(g, *inside, item, cg_i32(g, 0)); /* keeps the first digit below its size */
    int mark = cg_scope(g);
    for (int i = e->rank - 1; i >= 0; i--)
        at[i] = is_one(g, box->size[i]) ? cg_i32(g, 0)
                                        : digit(g, &item, box->size[i], is_top(g, box, i));
    bind_vars(g, box, item);
    for (int i = 0; i < e->rank; i++) {
        at[i] = cg_add(g, at[i], cg_emit_i32(g, box->lo[i]));
        val in = cg_icmp(g, LLVMIntULT, at[i], cg_emit_i32(g, e->dim[i]));
        if (!et_expr_eq(box->lo[i], box->hi[i]))
            in = LLVMBuildAnd(g->b, in, cg_icmp(g, LLVMIntSLE, at[i], cg_emit_i32(g, box->hi[i])),
                              "");
        *inside = LLVMBuildAnd(g->b, *inside, in, "");
        word = cg_add(g, word, cg_muli(g, at[i], stride[i]));
    }
    if (need) {
        g->guard = *inside;
        *need = box->need ? box->need : cg_event_need(g, box->w->event, at);
    }
    cg_scope_end(g, mark);
    g->guard = outer;
    return cg_select(g, *inside, word, cg_i32(g, 0));
}

val cg_box_place(cg *g, const cg_box *box, val item, val *out_inside, val *out_need) {
    val word = place(g, box, item, out_inside, out_need);
    return cg_event_word(g, box->w->event, word);
}

val cg_box_index(cg *g, const cg_box *box, val item, val *out_need) {
    val at[ET_MAX_RANK], inside;
    if (box->w->nvars) {
        val word = place(g, box, item, &inside, out_need);
        *out_need = cg_select(g, inside, *out_need, cg_i32(g, 0));
        return word;
    }
    val word = plain_index(g, box, item, at);
    *out_need = box->need ? box->need : cg_event_need(g, box->w->event, at);
    if (box->astray) *out_need = cg_select(g, box->astray, cg_i32(g, ETRT_NO_COUNTER), *out_need);
    return word;
}

val cg_box_word(cg *g, const cg_box *box, val item) {
    val at[ET_MAX_RANK], inside;
    if (box->w->nvars) return cg_box_place(g, box, item, &inside, NULL);
    return cg_event_word(g, box->w->event, plain_index(g, box, item, at));
}

val cg_box_need(cg *g, const cg_box *box, val item) {
    val need;
    if (box->need && !box->w->nvars && !box->astray) return box->need;
    cg_box_index(g, box, item, &need);
    return need;
}
