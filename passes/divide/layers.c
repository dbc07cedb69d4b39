/* Layers of a graph, and how they are dealt to stages: contiguous, so that the most bytes of
 * weights that one stage reads in a launch are as few as can be. Tables of which rows are gathered
 * cost nothing. */
#include "passes/divide/stage_int.h"
#include <string.h>

void stage_walk(const et_graph *g, et_stmt s, void (*fn)(void *ctx, int node), void *ctx) {
    if (s.kind == ET_S_NODE) {
        fn(ctx, s.index);
        return;
    }
    const et_block *b = &g->loops[s.index].body;
    for (int i = 0; i < b->n; i++)
        stage_walk(g, b->stmt[i], fn, ctx);
}

int stage_of(const struct staging *t, int layer) {
    int s = 0;
    while (s + 1 < t->stages && layer >= t->bound[s + 1])
        s++;
    return s;
}

static int layers_of(const et_graph *g, const et_loop *l) {
    return et_loop_varies(g, l) ? 1 : (int)(l->hi - l->lo);
}

int stage_before(const struct staging *t, int stmt, int at) {
    const struct span *s = &t->at[stmt];
    const et_loop *l = &t->g->loops[t->g->body.stmt[stmt].index];
    if (at >= s->to) return (int)(l->hi - l->lo);
    return at > s->from ? at - s->from : 0;
}

/* What stands before the first loop goes with the first layer, all else with the layer before it.
 */
static void find_layers(struct staging *t) {
    const et_graph *g = t->g;
    t->at = et_alloc(g->arena, ((size_t)g->body.n + 1) * sizeof *t->at);
    for (int i = 0; i < g->body.n; i++) {
        et_stmt s = g->body.stmt[i];
        int own = t->layers ? t->layers - 1 : 0;
        if (s.kind == ET_S_LOOP) {
            own = t->layers;
            t->layers += layers_of(g, &g->loops[s.index]);
        }
        t->at[i] = (struct span){own, s.kind == ET_S_LOOP ? t->layers : own + 1};
    }
}

/* ---- homes ---- */

static bool is_free(const struct staging *t, const et_node *n) {
    const et_graph *g = t->g;
    if (!n->result.id || et_val_of(g, n->result)->is_output) return false;
    for (int a = 0; a < n->nargs; a++) {
        et_value_kind kind = et_val_of(g, n->args[a])->kind;
        if (kind == ET_V_WEIGHT || kind == ET_V_STATE || t->home[n->args[a].id] != ANYWHERE)
            return false;
    }
    return true;
}

static void find_homes(struct staging *t) {
    const et_graph *g = t->g;
    t->home = et_alloc(g->arena, (size_t)g->nvals * sizeof *t->home);
    for (int i = 0; i < g->nvals; i++) {
        et_value_kind kind = g->vals[i].kind;
        t->home[i] =
            kind == ET_V_NODE || kind == ET_V_CARRY || kind == ET_V_LOOP ? INSIDE : ANYWHERE;
    }
    for (int i = 0; i < g->body.n; i++) {
        et_stmt s = g->body.stmt[i];
        if (s.kind == ET_S_LOOP) {
            const et_loop *l = &g->loops[s.index];
            for (int c = 0; c < l->ncarry; c++)
                t->home[l->carry[c].result.id] = t->at[i].to - 1;
        } else if (g->nodes[s.index].result.id) {
            const et_node *n = &g->nodes[s.index];
            t->home[n->result.id] = is_free(t, n) ? ANYWHERE : t->at[i].from;
        }
    }
}

/* ---- bytes ---- */

struct weighing {
    const struct staging *t;
    double *bytes; /* by layer */
    bool *seen;    /* by value, in this statement */
    const struct span *at;
};

static void weigh(void *ctx, int node) {
    struct weighing *w = ctx;
    const et_node *n = &w->t->g->nodes[node];
    for (int a = n->op == &et_op_gather; a < n->nargs; a++) {
        const et_val *v = et_val_of(w->t->g, n->args[a]);
        if (v->kind != ET_V_WEIGHT || w->seen[n->args[a].id]) continue;
        w->seen[n->args[a].id] = true;
        double each = (double)et_shape_max_bytes(w->t->g->exprs, &v->shape);
        int count = w->at->to - w->at->from;
        for (int l = w->at->from; l < w->at->to; l++)
            w->bytes[l] += v->nloops ? each / count : each;
    }
}

static double *weigh_layers(const struct staging *t) {
    const et_graph *g = t->g;
    struct weighing w = {.t = t};
    w.bytes = et_alloc(g->arena, (size_t)t->layers * sizeof *w.bytes);
    w.seen = et_alloc(g->arena, (size_t)g->nvals);
    for (int i = 0; i < g->body.n; i++) {
        memset(w.seen, 0, (size_t)g->nvals);
        w.at = &t->at[i];
        stage_walk(g, g->body.stmt[i], weigh, &w);
    }
    return w.bytes;
}

/* Stages of at most MOST bytes each, filled one after another, with a layer left for each that
 * comes; does that do? */
static bool fill(struct staging *t, const double *bytes, double most) {
    int layer = 0;
    for (int s = 0; s < t->stages; s++) {
        double sum = 0;
        t->bound[s] = layer;
        int last = t->layers - (t->stages - 1 - s);
        do
            sum += bytes[layer++];
        while (layer < last && sum + bytes[layer] <= most);
        if (sum > most) return false;
    }
    t->bound[t->stages] = t->layers;
    return layer == t->layers;
}

static void deal(struct staging *t) {
    const double *bytes = weigh_layers(t);
    double lo = 0, hi = 1;
    for (int l = 0; l < t->layers; l++)
        hi += bytes[l];
    for (int i = 0; i < 60; i++) {
        double half = (lo + hi) / 2;
        if (fill(t, bytes, half))
            hi = half;
        else
            lo = half;
    }
    et_check(fill(t, bytes, hi));
}

bool stage_layers(struct staging *t) {
    t->bound = et_alloc(t->g->arena, ((size_t)t->stages + 1) * sizeof *t->bound);
    find_layers(t);
    if (t->stages > t->layers) {
        t->why = et_printf(t->g->arena, "its loops have %d iterations", t->layers);
        return false;
    }
    find_homes(t);
    deal(t);
    return true;
}
