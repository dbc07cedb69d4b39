/* MAP steps. */
#include "codegen/step/step.h"
#include "ir/base/diag.h"
#include "ir/product/items.h"
#include "ir/program/deal.h"
#include <string.h>

static void store_all(cg *g, const et_step *s, int var, et_expr base, int n, val *v) {
    et_expr off = cg_offset(g, s->to.space, s->to.id, s->to.index), at[16];
    cg_unroll(g, off, var, base, n, at);
    int size = et_dtype_bytes(cg_place_dtype(g, s->to.space, s->to.id));
    bool contiguous = true;
    for (int j = 1; j < n; j++) {
        int64_t d;
        contiguous &= et_is_int(g->x, et_sub(g->x, at[j], at[0]), &d) && d == j;
    }
    if (contiguous) {
        int align = size;
        for (int k = 2; k <= n && k * size <= 16; k *= 2)
            if (cg_divisible(g, at[0], k)) align = k * size;
        cg_store_n(g, s->to.space, s->to.id, cg_address(g, s->to.space, s->to.id, at[0]), n, align,
                   v);
        return;
    }
    for (int j = 0; j < n; j++)
        cg_store_n(g, s->to.space, s->to.id, cg_address(g, s->to.space, s->to.id, at[j]), 1, size,
                   &v[j]);
}

/* A map being emitted: an item has N elements along VAR from BASE on, or one. */
struct map {
    const et_step *s;
    int n, var, nvars, vars[ET_MAX_VARS];
    int64_t extent[ET_MAX_VARS + 1];
    et_expr base;
    et_expr mask; /* of the step, and that this device stores the element, or none */
};

/* MASK, and where each device stores elements of its own (ir/program/tags.h), that the element is
 * this one's.
 */
static et_expr with_own(cg *g, const et_step *s, et_expr mask) {
    const et_tensor *t = s->to.space == ET_LOAD_TENSOR ? &g->p->tensors[s->to.id] : NULL;
    if (!t || !t->own) return mask;
    int device = cg_fresh_var(g, "device", t->partial);
    cg_bind(g, device, LLVMBuildTrunc(g->b, g->device, g->i32, ""), false);
    et_expr own = et_op2(g->x, ET_X_EQ, s->to.index[t->own - 1], et_var(g->x, device));
    return mask.id ? et_op2(g->x, ET_X_AND, mask, own) : own;
}

static struct map begin_map(cg *g, const et_map_loop *l) {
    const et_step *s = &l->s;
    int n = s->map.vector, last = s->nvars - 1;
    struct map m = {.s = s, .n = n, .var = -1, .nvars = s->nvars, .mask = with_own(g, s, s->mask)};
    memcpy(m.vars, s->vars, sizeof m.vars);
    memcpy(m.extent, l->extent, sizeof m.extent);
    if (n == 1) return m;
    m.var = m.vars[last];
    m.vars[last] = cg_fresh_var(g, "u", l->extent[last] / n);
    m.base = et_mul(g->x, et_var(g->x, m.vars[last]), et_int(g->x, n));
    m.extent[last] /= n;
    return m;
}

static val mask_of(cg *g, const struct map *m) {
    et_expr mask = m->mask;
    return cg_emit(g, m->n > 1 ? et_subst_var(g->x, mask, m->var, m->base) : mask);
}

static void values_of(cg *g, const struct map *m, val *v) {
    if (m->n > 1)
        cg_emit_n(g, m->s->value, m->var, m->base, m->n, v);
    else
        v[0] = cg_emit(g, m->s->value);
}

/* The device that has the row of what is stored, where rows of the tensor are dealt. */
static val owner_of(cg *g, const struct map *m) {
    const et_place *to = &m->s->to;
    int dim = to->space == ET_LOAD_TENSOR ? g->p->tensors[to->id].dealt : 0;
    if (!dim) return NULL;
    et_expr row = to->index[dim - 1];
    if (m->n > 1) row = et_subst_var(g->x, row, m->var, m->base);
    return cg_emit_i32(g, et_deal_owner_of(g->p, row));
}

static void store_values(cg *g, const struct map *m, val *v) {
    const et_step *s = m->s;
    g->owner = owner_of(g, m);
    if (m->n > 1) {
        store_all(g, s, m->var, m->base, m->n, v);
        return;
    }
    et_expr off = cg_offset(g, s->to.space, s->to.id, s->to.index);
    if (s->tag.id)
        cg_word_store(g, s->to.id, cg_emit_i64(g, off), v[0], cg_tag(g, s));
    else
        cg_store_n(g, s->to.space, s->to.id, cg_address(g, s->to.space, s->to.id, off), 1, 1, v);
}

static void map_item(cg *g, const struct map *m, val item) {
    val v[16];
    cg_if masked;
    cg_decode(g, item, m->nvars, m->vars, m->extent);
    int mark = cg_scope(g);
    if (m->mask.id) cg_if_begin(g, &masked, mask_of(g, m));
    values_of(g, m, v);
    store_values(g, m, v);
    if (m->mask.id) cg_if_end(g, &masked);
    cg_scope_end(g, mark);
}

/* ---- what is sent apart ---- */

enum { SENT_AT_ONCE = 8 }; /* items of a lane; the waves that send have few registers */

/* The waves that send go through the items of the step. */
struct send {
    struct map m;
    int64_t items;
    int lanes;  /* of all of these waves */
    val number; /* of the lane among them */
    val own;    /* the device, i32 */
    /* The inboxes of the others, from the next device on: not all send to the first one first. */
    val other[ET_MAX_DEVICES];
    int nothers;
};

/* One item of a lane: where it is in an inbox, whether it is there and goes to others, and whose it
 * is, or NULL. */
struct sent {
    val at, on, owner, word;
};

static val inbox_of(cg *g, val device) {
    int n = g->whole->g->devices;
    val base = g->inbox[n - 1];
    for (int d = n - 2; d >= 0; d--)
        base = cg_select(g, cg_icmp(g, LLVMIntEQ, device, cg_i32(g, d)), g->inbox[d], base);
    return base;
}

static void place_sent(cg *g, const struct send *x, val item, struct sent *out) {
    const et_step *s = x->m.s;
    int mark = cg_scope(g);
    val in = cg_icmp(g, LLVMIntULT, item, cg_i32(g, x->items));
    cg_decode(g, cg_select(g, in, item, cg_i32(g, 0)), x->m.nvars, x->m.vars, x->m.extent);
    if (x->m.mask.id) in = LLVMBuildAnd(g->b, in, mask_of(g, &x->m), "");
    et_expr off = cg_offset(g, s->to.space, s->to.id, s->to.index);
    if (x->m.n > 1) off = et_subst_var(g->x, off, x->m.var, x->m.base);
    val ptr = cg_address(g, s->to.space, s->to.id, off);
    *out = (struct sent){.on = in, .owner = owner_of(g, &x->m)};
    if (out->owner) out->on = LLVMBuildAnd(g->b, in, cg_icmp(g, LLVMIntNE, out->owner, x->own), "");
    out->at = cg_select(g, out->on, cg_in_inbox(g, s->to.id, ptr), cg_i64(g, 0));
    cg_scope_end(g, mark);
}

static void send_some(cg *g, const struct send *x, val first) {
    const et_tensor *t = &g->p->tensors[x->m.s->to.id];
    int bytes = x->m.n * et_dtype_bytes(t->shape.dtype);
    LLVMTypeRef type = cg_words(g, bytes * 8);
    struct sent e[SENT_AT_ONCE];
    for (int i = 0; i < SENT_AT_ONCE; i++)
        place_sent(g, x, cg_addi(g, first, (int64_t)i * x->lanes), &e[i]);
    for (int i = 0; i < SENT_AT_ONCE; i++) {
        e[i].word = LLVMBuildLoad2(g->b, type, cg_gep(g, g->own_inbox, e[i].at), "");
        LLVMSetAlignment(e[i].word, (unsigned)bytes);
    }
    for (int i = 0; i < SENT_AT_ONCE; i++) {
        cg_if on;
        cg_if_begin(g, &on, e[i].on);
        for (int d = 0; d < (e[i].owner ? 1 : x->nothers); d++) {
            val base = e[i].owner ? inbox_of(g, e[i].owner) : x->other[d];
            val store = LLVMBuildStore(g->b, e[i].word, cg_gep(g, base, e[i].at));
            LLVMSetAlignment(store, (unsigned)bytes);
        }
        cg_if_end(g, &on);
    }
}

void cg_step_send(cg *g, const et_step *s) {
    et_map_loop l = et_map_loop_of(cg_cx(g), s);
    struct send x = {.m = begin_map(g, &l), .lanes = cg_workitems(g) - g->p->workgroup};
    int n = g->whole->g->devices, by = SENT_AT_ONCE * x.lanes;
    cg_if once;
    cg_for f;
    if (l.once) cg_if_begin(g, &once, cg_emit(g, s->mask));
    x.items = l.total / x.m.n;
    x.number = cg_addi(g, g->tid, -g->p->workgroup);
    x.own = LLVMBuildTrunc(g->b, g->device, g->i32, "");
    for (int d = 1; d < n; d++) {
        val next = cg_addi(g, x.own, d), round = cg_icmp(g, LLVMIntSGE, next, cg_i32(g, n));
        x.other[x.nothers++] = inbox_of(g, cg_select(g, round, cg_addi(g, next, -n), next));
    }
    val first = cg_for_begin(g, &f, cg_i32(g, 0), cg_i32(g, x.items), cg_i32(g, by), true, 0, NULL);
    send_some(g, &x, cg_add(g, first, x.number));
    cg_for_end(g, &f, NULL);
    if (l.once) cg_if_end(g, &once);
}

/* ---- several items of a work-item at once ---- */

static val decode_nth(cg *g, const struct map *m, val item, int i) {
    item = cg_addi(g, item, (int64_t)i * g->p->workgroup);
    cg_decode(g, item, m->nvars, m->vars, m->extent);
    return item;
}

static void load_and_store(cg *g, const struct map *m, val item, int n) {
    val v[ET_MAP_UNROLL][16];
    for (int i = 0; i < n; i++) {
        int mark = cg_scope(g);
        decode_nth(g, m, item, i);
        values_of(g, m, v[i]);
        cg_scope_end(g, mark);
    }
    for (int i = 0; i < n; i++) {
        int mark = cg_scope(g);
        decode_nth(g, m, item, i);
        store_values(g, m, v[i]);
        cg_scope_end(g, mark);
    }
}

/* Where the mask is false for one of the items, each is tested. */
static void map_items(cg *g, const struct map *m, val item, int n) {
    val all = NULL, step = cg_i32(g, g->p->workgroup);
    if (!m->mask.id) {
        load_and_store(g, m, item, n);
        return;
    }
    for (int i = 0; i < n; i++) {
        int mark = cg_scope(g);
        decode_nth(g, m, item, i);
        val in = mask_of(g, m);
        all = all ? LLVMBuildAnd(g->b, all, in, "") : in;
        cg_scope_end(g, mark);
    }
    cg_if some, each;
    cg_for f;
    cg_if_begin(g, &some, all);
    load_and_store(g, m, item, n);
    cg_if_end(g, &some);
    cg_if_begin(g, &each, LLVMBuildNot(g->b, all, ""));
    val end = cg_addi(g, item, (int64_t)n * g->p->workgroup);
    val one = cg_for_begin(g, &f, item, end, step, true, 0, NULL);
    int mark = cg_scope(g);
    map_item(g, m, one);
    cg_scope_end(g, mark);
    cg_for_end(g, &f, NULL);
    cg_if_end(g, &each);
}

/* One item at a time. */
static void map_each(cg *g, const struct map *m, int64_t all) {
    cg_items items;
    val item = cg_items_begin(g, &items, cg_i32(g, all), all);
    map_item(g, m, item);
    cg_items_end(g, &items);
}

/* The work-item's only ITEM, if that is less than ALL. */
static void map_own(cg *g, const struct map *m, val item, int64_t all) {
    cg_if in;
    cg_if_begin(g, &in, cg_icmp(g, LLVMIntULT, item, cg_i32(g, all)));
    int mark = cg_scope(g);
    map_item(g, m, item);
    cg_scope_end(g, mark);
    cg_if_end(g, &in);
}

/* MANY items of a work-item at a time. */
static void map_all(cg *g, const et_map_loop *l, int many) {
    struct map m = begin_map(g, l);
    int64_t items = l->total / m.n;
    if (many == 1) {
        map_each(g, &m, items);
        return;
    }
    cg_for f;
    val zero = cg_i32(g, 0), end = cg_i32(g, items), by = cg_i32(g, many * g->p->workgroup);
    val first = cg_for_begin(g, &f, zero, end, by, true, 0, NULL);
    map_items(g, &m, cg_add(g, first, g->tid), many);
    cg_for_end(g, &f, NULL);
}

/* Where the plan says that tiles that are full have code of their own. */
static void map_full(cg *g, const et_map_loop *l) {
    et_map_loop full = *l;
    et_expr bound;
    bool may = et_map_may_be_full(cg_cx(g), l, &bound, &full.s.mask);
    et_check(may);
    const et_node_x *less = et_x(g->x, bound);
    const et_expr at = less->ops[0], limit = less->ops[1];
    et_expr first = et_subst_var(g->x, at, l->s.vars[0], et_int(g->x, 0));
    et_expr last = et_add(g->x, first, et_int(g->x, l->extent[0] - 1));
    val all = cg_emit(g, et_op2(g->x, ET_X_LT, last, limit));
    cg_if whole, part;
    cg_if_begin(g, &whole, all);
    int mark = cg_scope(g);
    g->below = bound;
    map_all(g, &full, l->s.map.full);
    g->below = ET_NO_EXPR;
    cg_scope_end(g, mark);
    cg_if_end(g, &whole);
    cg_if_begin(g, &part, LLVMBuildNot(g->b, all, ""));
    mark = cg_scope(g);
    map_all(g, l, l->s.map.unroll);
    cg_scope_end(g, mark);
    cg_if_end(g, &part);
}

/* ---- loads before the steps in front of a map, as its plan says (ET_MAP_EARLY_LOADS) ----
 *
 * The first wave, which polls, has no items where the others suffice: its polls would queue behind
 * its loads. */

enum { MOST_EARLY = 48, MOST_NODES = 400 };

struct cg_early_map {
    const et_step *s;
    et_map_loop l;
    struct map m;
    bool others; /* the first wave has no items */
    int turn;    /* which of the work-item's items this is */
    int n;       /* expressions whose values are known there */
    et_expr e[MOST_EARLY];
    val v[MOST_EARLY];
    struct cg_early_map *next;
};

static void know(cg *g, struct cg_early_map *a, et_expr e) {
    for (int i = 0; i < a->n; i++)
        if (a->e[i].id == e.id) return;
    if (a->n == MOST_EARLY) return;
    a->v[a->n] = cg_emit(g, e);
    a->e[a->n++] = e;
}

/* The same of a computed value, hidden from LLVM, which would compute it where it is used. */
static void know_computed(cg *g, struct cg_early_map *a, et_expr e) {
    int n = a->n;
    know(g, a, e);
    if (n == a->n || !g->family->anew || LLVMTypeOf(a->v[n]) != g->f32) return;
    val bits = g->family->anew(g, LLVMBuildBitCast(g->b, a->v[n], g->i32, ""));
    a->v[n] = LLVMBuildBitCast(g->b, bits, g->f32, "");
}

static void recall_all(cg *g, const struct cg_early_map *a) {
    for (int i = 0; i < a->n; i++)
        cg_remember(g, a->e[i], a->v[i]);
}

/* May the element that S loads from tensor ID be loaded before all steps? No other step of the
 * function writes the tensor, and no work-item of S reads an element that another one writes. */
static bool may_be_early(cg *g, const et_step *s, int id) {
    if (g->p->tensors[id].tagged) return false;
    for (int i = 0; i < g->f->nsteps; i++) {
        const et_place *to = et_step_to(&g->f->steps[i]);
        if (&g->f->steps[i] != s && to && to->space == ET_LOAD_TENSOR && to->id == id) return false;
    }
    return true;
}

struct find_early {
    cg *g;
    struct cg_early_map *a;
    bool waited, wide; /* of all elements of the item, at once where they are side by side */
    bool ready, inside;
    int left; /* nodes to look at: expressions share parts */
};

static void note_ready(void *ctx, et_expr e) {
    struct find_early *f = ctx;
    const et_node_x *n = et_x(f->g->x, e);
    if (n->op != ET_X_LOAD) return;
    f->ready &= n->i2 == ET_LOAD_TENSOR && may_be_early(f->g, f->a->s, n->i);
    f->inside &= cg_in_range(f->g, e);
}

/* May all loads of E happen before the tile's steps, or before its waits? */
static bool is_ready(struct find_early *f, et_expr e) {
    f->ready = f->waited || !cg_reads_mutable(f->g, e);
    f->inside = true;
    et_walk(f->g->x, e, note_ready, f);
    return f->ready;
}

/* Emits the loads of E that always happen, or may happen without harm; before the waits functions
 * of them, too. */
static void find_loads(struct find_early *f, et_expr e, bool sure) {
    cg *g = f->g;
    et_node_x x = *et_x(g->x, e);
    if (--f->left < 0 || !x.nops) return;
    bool choice = x.op == ET_X_SELECT || x.op == ET_X_AND || x.op == ET_X_OR;
    if (!f->waited && !f->wide && et_xop_is(x.op, ET_XOP_FUNCTION) &&
        et_expr_has_op(g->x, e, ET_X_LOAD) && is_ready(f, e) && (sure || f->inside)) {
        know_computed(g, f->a, e);
        return;
    }
    if (x.op == ET_X_LOAD) {
        et_expr at[16];
        bool now = is_ready(f, e) && (sure || cg_in_range(g, e));
        if (now && f->wide)
            cg_unroll_loads(g, e, f->a->m.var, f->a->m.base, f->a->m.n, at);
        else if (now)
            know(g, f->a, e);
        return;
    }
    for (int i = 0; i < x.nops; i++)
        find_loads(f, x.ops[i], sure && (!choice || i == 0));
}

static val own_item(cg *g, const struct cg_early_map *a) {
    int64_t first = a->others ? -g->t->wave : (int64_t)a->turn * g->p->workgroup;
    return first ? cg_addi(g, g->tid, first) : g->tid;
}

/* Binds the work-item's item: a work-item without one has the first. */
static void bind_only(cg *g, const struct cg_early_map *a) {
    int64_t items = a->l.total / a->m.n;
    val item = own_item(g, a);
    if (items < (int64_t)(a->turn + 1) * g->p->workgroup)
        item = cg_select(g, cg_icmp(g, LLVMIntULT, item, cg_i32(g, items)), item, cg_i32(g, 0));
    cg_decode(g, item, a->m.nvars, a->m.vars, a->m.extent);
}

static void load_early(cg *g, struct cg_early_map *a, bool waited) {
    struct find_early f = {g, a, waited, true, true, true, MOST_NODES};
    et_expr at[16] = {a->l.s.value}, mask = a->s->mask;
    int mark = cg_scope(g);
    bind_only(g, a);
    recall_all(g, a);
    if (mask.id && a->m.n > 1) mask = et_subst_var(g->x, mask, a->m.var, a->m.base);
    val outer = g->guard;
    if (mask.id && !waited && !cg_reads_mutable(g, mask)) know(g, a, mask);
    bool sure = mask.id && a->n && a->e[0].id == mask.id;
    if (sure) g->guard = a->v[0];
    if (sure || !mask.id) {
        if (a->m.n > 1) find_loads(&f, a->l.s.value, true);
        f.wide = false;
        f.left = MOST_NODES;
        if (a->m.n > 1) cg_unroll(g, a->l.s.value, a->m.var, a->m.base, a->m.n, at);
        for (int j = 0; j < a->m.n; j++)
            find_loads(&f, at[j], true);
    }
    for (int d = 0; !waited && d < a->s->to.rank && (sure || !mask.id); d++) {
        et_expr e = a->s->to.index[d]; /* what says where it is stored, too */
        if (a->m.n > 1) e = et_subst_var(g->x, e, a->m.var, a->m.base);
        find_loads(&f, e, true);
    }
    g->guard = outer;
    cg_scope_end(g, mark);
}

static void load_before_waits(cg *g, struct cg_early_map *a) {
    cg_if some;
    if (a->others) cg_if_begin(g, &some, cg_icmp(g, LLVMIntNE, g->wave, cg_i32(g, 0)));
    g->hold = true;
    load_early(g, a, false);
    g->hold = false;
    if (!a->others) return;
    cg_if_end(g, &some);
    for (int i = 0; i < a->n; i++)
        a->v[i] = cg_if_value(g, &some, a->v[i], LLVMConstNull(LLVMTypeOf(a->v[i])));
}

static void map_early(cg *g, const et_step *s) {
    et_map_loop l = et_map_loop_of(cg_cx(g), s);
    struct map m = begin_map(g, &l);
    int turns = et_map_early_rounds(cg_cx(g), &l, m.n);
    for (int i = 0; i < turns; i++) {
        struct cg_early_map *a = et_alloc(g->arena, sizeof *a);
        *a = (struct cg_early_map){.s = s, .l = l, .m = m, .turn = i, .next = g->early_maps};
        a->m.s = &a->l.s;
        a->others = l.total / m.n <= g->p->workgroup - g->t->wave;
        load_before_waits(g, a);
        g->early_maps = a;
    }
}

void cg_maps_early(cg *g, const et_func *f) {
    g->early_maps = NULL;
    for (int i = 0; i < f->nsteps; i++)
        if (f->steps[i].map.early == ET_MAP_EARLY_LOADS) map_early(g, &f->steps[i]);
}

void cg_maps_early_waited(cg *g) {
    for (struct cg_early_map *a = g->early_maps; a; a = a->next)
        load_early(g, a, true);
}

/* A map: all of it, or the items whose loads were EARLY. */
static void map_whole(cg *g, const et_step *s, const struct cg_early_map *early) {
    cg_if outer;
    int mark = cg_scope(g);
    if (early) recall_all(g, early);
    et_map_loop l = early ? early->l : et_map_loop_of(cg_cx(g), s);
    int64_t items = l.total / s->map.vector;
    if (l.once) cg_if_begin(g, &outer, cg_emit(g, s->mask));
    if (early && items < (int64_t)(early->turn + 1) * g->p->workgroup)
        map_own(g, &early->m, own_item(g, early), items);
    else if (early)
        map_item(g, &early->m, own_item(g, early));
    else if (s->map.full)
        map_full(g, &l);
    else
        map_all(g, &l, s->map.unroll);
    if (l.once) cg_if_end(g, &outer);
    cg_scope_end(g, mark);
}

void cg_step_map(cg *g, const et_step *s) {
    bool known = false;
    et_check(s->map.made);
    for (const struct cg_early_map *a = g->early_maps; a; a = a->next) {
        if (a->s == s) map_whole(g, s, a);
        known |= a->s == s;
    }
    if (!known) map_whole(g, s, NULL);
}
