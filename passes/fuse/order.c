/* The order of groups that need not wait for each other. Workgroups run the tasks of a program in
 * its order, so a ready task may queue behind one that waits: of queries, keys and
 * values, each with a norm after its product, all products come first. A group's level is one more
 * than those it waits for; groups between the same loops are put in the order of their
 * levels, and where these are equal stay as the author wrote them. */
#include "ir/program/step.h"
#include "passes/fuse/lowering.h"
#include <string.h>

/* The highest level so far of those that read a tensor, and of those that write it. */
struct levels {
    int read, written;
};

struct order {
    const et_lowering *lo;
    struct levels *of; /* by tensor */
    int level;         /* of the group looked at */
};

static void after(struct order *o, int level) {
    if (o->level <= level) o->level = level + 1;
}

static void look(void *ctx, et_expr e);

static void look_at(struct order *o, et_expr e) {
    if (e.id) et_walk(o->lo->g->exprs, e, look, o);
}

static void look(void *ctx, et_expr e) {
    struct order *o = ctx;
    const et_node_x *x = et_x(o->lo->g->exprs, e);
    if (x->op == ET_X_LOAD && x->i2 == ET_LOAD_TENSOR) after(o, o->of[x->i].written);
    if (x->op == ET_X_VAR) look_at(o, et_var_extent(o->lo->g->exprs, x->i));
}

static void note(void *ctx, et_expr e) {
    struct order *o = ctx;
    const et_node_x *x = et_x(o->lo->g->exprs, e);
    if (x->op == ET_X_LOAD && x->i2 == ET_LOAD_TENSOR && o->of[x->i].read < o->level)
        o->of[x->i].read = o->level;
    if (x->op == ET_X_VAR) {
        et_expr extent = et_var_extent(o->lo->g->exprs, x->i);
        if (extent.id) et_walk(o->lo->g->exprs, extent, note, o);
    }
}

static int level_of(struct order *o, et_group *gr) {
    et_expr *e[ET_GROUP_EXPRS];
    int n = et_group_exprs(gr, e);
    /* A scan stores to its state as well. */
    struct levels *to = &o->of[gr->to.id],
                  *state = gr->kind == ET_GROUP_SCAN ? &o->of[gr->state.id] : to;
    o->level = 0;
    for (int i = 0; i < n; i++)
        look_at(o, *e[i]);
    after(o, to->read);
    after(o, to->written);
    after(o, state->read);
    after(o, state->written);
    for (int i = 0; i < n; i++)
        et_walk(o->lo->g->exprs, *e[i], note, o);
    to->written = state->written = o->level;
    return o->level;
}

/* Groups FIRST to END - 1, between which there is no loop and which are of one model. */
static void put_in_order(const et_lowering *lo, int first, int end) {
    et_program *p = lo->p;
    struct order o = {.lo = lo};
    int n = end - first, at = first, most = 0;
    if (n < 3) return; /* of two, the second waits or is where it was */
    size_t tensors = (size_t)p->ntensors * sizeof *o.of, all = (size_t)n * sizeof(et_group);
    o.of = memset(et_alloc(lo->g->arena, tensors), -1, tensors);
    int *level = et_alloc(lo->g->arena, (size_t)n * sizeof *level);
    et_group *was = memcpy(et_alloc(lo->g->arena, all), p->groups + first, all);
    for (int i = 0; i < n; i++) {
        level[i] = level_of(&o, &was[i]);
        most = level[i] > most ? level[i] : most;
    }
    for (int l = 0; l <= most; l++)
        for (int i = 0; i < n; i++)
            if (level[i] == l) p->groups[at++] = was[i];
}

static int model_of(const et_lowering *lo, int group) {
    return et_model_of(lo->g, lo->p->groups[group].name);
}

/* The items of a list that are groups number by number. */
static void order_list(const et_lowering *lo, int first, int count) {
    const et_item *it = lo->p->items + first;
    for (int i = 0, end; i < count; i = end) {
        end = i + 1;
        if (it[i].kind == ET_P_LOOP) {
            order_list(lo, it[i].first, it[i].count);
            continue;
        }
        int model = model_of(lo, it[i].index);
        while (end < count && it[end].kind == ET_P_GRID && it[end].index == it[i].index + end - i &&
               model_of(lo, it[end].index) == model)
            end++;
        put_in_order(lo, it[i].index, it[i].index + end - i);
    }
}

void et_order_groups(et_lowering *lo) {
    order_list(lo, lo->p->first, lo->p->count);
}
