/* Orders of sums: read off plans, and compared. */
#include "ir/product/order.h"
#include "ir/base/diag.h"
#include "ir/product/items.h"
#include <string.h>

et_product_order et_order_of(const et_mainloop *c) {
    et_product_order o = {.k = c->k, .waves = c->s->wk, .lane = c->lane_k, .turns = 1};
    const et_product_plan *w = &c->plan;
    bool few = c->sets > 1 && !c->in_turn && !c->row_packed;
    o.terms = c->warpgroup  ? ET_TERMS_TOGETHER
              : c->packed   ? ET_TERMS_PACKED
              : c->fp8      ? ET_TERMS_FP8
              : c->f16      ? ET_TERMS_F16
              : c->unscaled ? ET_TERMS_UNSCALED
                            : ET_TERMS_AS_WRITTEN;
    if (c->warpgroup) o.lane = 1;
    if (c->in_steps || (c->warpgroup && o.waves == 1)) o.terms = ET_TERMS_IN_STEPS, o.lane = 1;
    if (c->sets > 1) o.turns = few ? -c->sets : c->sets; /* by instructions, or by pieces */
    if (o.waves > 1 || o.turns != 1) o.chunk = w->chunk;
    if (c->spans) o.waves = c->spans, o.chunk = c->spans * c->span;
    return o;
}

bool et_order_eq(const et_product_order *a, const et_product_order *b) {
    return a->k == b->k && a->waves == b->waves && a->chunk == b->chunk && a->lane == b->lane &&
           a->turns == b->turns && a->terms == b->terms;
}

/* ---- finding one ---- */

struct first {
    const et_program *p;
    et_expr weight, any;
};

static void find_first(void *ctx, et_expr e) {
    struct first *f = ctx;
    const et_node_x *x = et_x(f->p->g->exprs, e);
    if (x->op != ET_X_LOAD || x->i2 != ET_LOAD_TENSOR) return;
    if (!f->any.id) f->any = e;
    if (!f->weight.id && f->p->tensors[x->i].kind == ET_TENSOR_WEIGHT) f->weight = e;
}

static et_expr first_value(void *ctx, et_exprs *x, et_expr leaf) {
    (void)ctx;
    const et_node_x *n = et_x(x, leaf);
    return n->op == ET_X_VAR || n->op == ET_X_SYM ? et_int(x, 0) : ET_NO_EXPR;
}

bool et_order_first(et_exprs *x, et_expr e, int64_t *out) {
    return !et_expr_loads(x, e) && et_is_int(x, et_subst(x, e, first_value, NULL), out);
}

/* By what a product with the right operand E is found; false where it reads no tensor. */
static bool key_of(const et_program *p, et_expr e, et_order_key *out) {
    struct first f = {.p = p};
    et_exprs *x = p->g->exprs;
    et_walk(x, e, find_first, &f);
    if (!f.any.id) return false;
    et_node_x n = *et_x(x, f.weight.id ? f.weight : f.any);
    *out = (et_order_key){
        .tensor = p->tensors[n.i].name, .source = p->tensors[n.i].source, .rank = n.nops};
    for (int i = 0; i < n.nops; i++)
        if (!et_order_first(x, n.ops[i], &out->at[i])) out->at[i] = -1;
    return true;
}

static bool key_eq(const et_order_key *a, const et_order_key *b) {
    bool eq = a->rank == b->rank && !strcmp(a->tensor, b->tensor);
    for (int i = 0; eq && i < a->rank; i++)
        eq = a->at[i] == b->at[i];
    return eq;
}

/* The order under that key; else that of all products by the tensor, where they have the same:
 * other columns may share a task in another variant. */
static const et_order *find(const et_orders *o, const et_order_key *key, bool attends) {
    const et_order *other = NULL;
    bool alike = !attends;
    for (int i = 0; o && i < o->n; i++) {
        const et_order *of = &o->of[i];
        if (of->attends != attends || strcmp(of->key.tensor, key->tensor) != 0) continue;
        if (key_eq(&of->key, key)) return of;
        alike &= !other || et_order_eq(&other->product, &of->product);
        other = of;
    }
    return alike ? other : NULL;
}

const et_product_order *et_orders_product(const et_orders *o, const et_program *p, et_expr e) {
    et_order_key key;
    const et_order *of = o && o->n && key_of(p, e, &key) ? find(o, &key, false) : NULL;
    return of ? &of->product : NULL;
}

const et_attend_order *et_orders_attend(const et_orders *o, const char *name) {
    const et_order *of = find(o, &(et_order_key){.tensor = name}, true);
    return of ? &of->attend : NULL;
}

/* ---- those of a program ---- */

typedef bool (*order_fn)(void *ctx, const et_program *, const et_order *);

static bool same(const et_order *a, const et_order *b) {
    const et_attend_plan *p = &a->attend.plan, *q = &b->attend.plan;
    if (!a->attends) return et_order_eq(&a->product, &b->product);
    bool lanes = p->by == ET_ATTEND_BY_LANES;
    return a->attend.parts == b->attend.parts && p->by == q->by &&
           p->block.positions == q->block.positions && p->waves == q->waves &&
           (!lanes || (a->attend.heads == b->attend.heads && p->heads == q->heads &&
                       p->lane_d == q->lane_d && p->rest.positions == q->rest.positions));
}

static bool of_product(const et_product_cx *cx, const et_step *s, order_fn fn, void *ctx) {
    et_mainloop c;
    const char *why;
    bool ok = true;
    if (!s->plan[ET_PLAN_MAIN].made) return true;
    if (!et_mainloop_of(cx, s, ET_PLAN_MAIN, &c, &why))
        et_bug("%s: a product that was planned: %s", cx->f->name, why);
    for (int i = 0; i < s->nacc; i++) {
        et_order o = {.product = et_order_of(&c)};
        if (key_of(cx->p, s->b[i], &o.key)) ok &= fn(ctx, cx->p, &o);
    }
    return ok;
}

/* How many tiles share a row's positions: the group says, where the text of a program did not. */
static int parts_of(const et_program *p, const char *name) {
    for (int i = 0; i < p->ngroups; i++)
        if (p->groups[i].kind == ET_GROUP_ATTEND && !strcmp(p->groups[i].name, name))
            return p->groups[i].parts > 1 ? p->groups[i].parts : 1;
    return 0;
}

static bool of_attention(const et_product_cx *cx, const et_grid *gr, const et_step *s, order_fn fn,
                         void *ctx) {
    et_order o = {.key = {.tensor = gr->name}, .attends = true};
    o.attend = (et_attend_order){.parts = parts_of(cx->p, gr->name), .heads = s->heads};
    o.attend.plan = s->attend;
    return fn(ctx, cx->p, &o);
}

static bool each(const et_program *p, const et_target *t, et_features without, order_fn fn,
                 void *ctx) {
    et_arena *arena = et_arena_create();
    const bool *stored = et_program_stored(p, arena);
    bool ok = true;
    for (int i = 0; i < p->ngrids; i++) {
        const et_func *f = &p->funcs[p->grids[i].func];
        et_product_cx cx = et_product_context(p, f, t, arena);
        cx.without = without;
        cx.stored = stored;
        for (int k = 0; k < f->nsteps; k++) {
            const et_step *s = &f->steps[k];
            if (s->kind == ET_STEP_CONTRACT) ok &= of_product(&cx, s, fn, ctx);
            if (s->kind == ET_STEP_ATTEND) ok &= of_attention(&cx, &p->grids[i], s, fn, ctx);
        }
    }
    et_arena_destroy(arena);
    return ok;
}

/* ---- all of a program's, and those of two ---- */

/* As messages name what is multiplied: "wq[0, 64, 0]", the first of its elements. */
static const char *where_of(et_arena *a, const et_order_key *k) {
    const char *s = k->tensor;
    for (int i = 0; i < k->rank; i++)
        s = k->at[i] < 0 ? et_printf(a, "%s%s?", s, i ? ", " : "[")
                         : et_printf(a, "%s%s%lld", s, i ? ", " : "[", (long long)k->at[i]);
    return k->rank ? et_printf(a, "%s]", s) : s;
}

/* As messages name it. */
static const char *text(et_arena *a, const et_order *o) {
    static const char *const by[] = {
        "", " in steps", " multiplied together", " unscaled", " f16", " fp8", " packed"};
    const et_product_order *p = &o->product;
    const et_attend_plan *w = &o->attend.plan;
    if (o->attends)
        return et_printf(a, "%s positions %d in %d tiles",
                         et_plan_word(ET_PLAN_WORD_ATTEND_BY, w->by), w->block.positions,
                         o->attend.parts);
    return et_printf(a, "k %lld waves %d chunk %d lane %d turns %d%s", (long long)p->k, p->waves,
                     p->chunk, p->lane, p->turns, by[p->terms]);
}

static bool differ(const et_program *p, const et_order *a, const et_order *b, const char *where) {
    et_arena *arena = et_arena_create();
    et_diag(p->g->diags, ET_ERROR, (et_loc){0},
            "%s: %s are added up in two orders %s, which --same-sums asks not to be: %s, and %s",
            where_of(arena, &a->key), a->attends ? "positions" : "products", where, text(arena, a),
            text(arena, b));
    et_arena_destroy(arena);
    return false;
}

static bool add(void *ctx, const et_program *p, const et_order *o) {
    et_orders *all = ctx;
    for (int i = 0; i < all->n; i++)
        if (all->of[i].attends == o->attends && key_eq(&all->of[i].key, &o->key))
            return same(&all->of[i], o) || differ(p, &all->of[i], o, "in one variant");
    ET_GROW(p->g->arena, all->of, all->n, all->c);
    all->of[all->n++] = *o;
    return true;
}

bool et_orders_add(et_orders *all, const et_program *p, const et_target *t, et_features without) {
    return each(p, t, without, add, all);
}

/* The one order of products by what KEY's tensor is in the checkpoint. */
static const et_order *find_source(const et_orders *o, const et_order_key *key) {
    const et_order *is = NULL;
    bool alike = key->source != NULL;
    for (int i = 0; i < o->n; i++) {
        const et_order *of = &o->of[i];
        if (of->attends || !key->source || !of->key.source) continue;
        if (strcmp(of->key.source, key->source) != 0) continue;
        alike &= !is || et_order_eq(&is->product, &of->product);
        is = of;
    }
    return alike ? is : NULL;
}

void et_orders_take(et_orders *all, const et_orders *from) {
    for (int i = 0; i < all->n; i++) {
        et_order *o = &all->of[i];
        const et_order *is = find(from, &o->key, o->attends);
        if (!is && !o->attends) is = find_source(from, &o->key);
        if (is && !o->attends && is->product.k == o->product.k) o->product = is->product;
        if (!is || !o->attends) continue;
        int heads = o->attend.heads;
        o->attend = is->attend;
        o->attend.heads = heads < is->attend.heads ? heads : is->attend.heads;
    }
}

static bool suit(void *ctx, const et_program *p, const et_order *o) {
    const et_order *was = find(ctx, &o->key, o->attends);
    if (was) return same(was, o) || differ(p, was, o, "in variants");
    et_arena *arena = et_arena_create();
    et_diag(p->g->diags, ET_ERROR, (et_loc){0},
            "%s: --same-sums: in the variant for the fewest rows there is no such sum, whose order "
            "this would have",
            where_of(arena, &o->key));
    et_arena_destroy(arena);
    return false;
}

bool et_orders_suit(const et_orders *all, const et_program *p, const et_target *t,
                    et_features without) {
    return each(p, t, without, suit, (void *)all);
}
