/* One stage of several: what crosses from one to the next, and what the stage keeps of the graph.
 */
#include "passes/divide/stage_int.h"
#include <string.h>

/* ---- what crosses the boundary before layer AT ---- */

struct crossing {
    const struct staging *t;
    int at;
    bool *value; /* by value */
};

static void cross_value(struct crossing *c, et_value x) {
    int home = x.id ? c->t->home[x.id] : INSIDE;
    if (home >= 0 && home < c->at) c->value[x.id] = true;
}

static void cross_node(void *ctx, int node) {
    struct crossing *c = ctx;
    const et_node *n = &c->t->g->nodes[node];
    for (int a = 0; a < n->nargs; a++)
        cross_value(c, n->args[a]);
}

/* A loop that goes on behind the boundary needs what it carries as it is there. */
static void cross_loop(struct crossing *c, const et_loop *l, const struct span *at) {
    for (int i = 0; i < l->ncarry; i++)
        if (at->from >= c->at)
            cross_value(c, l->carry[i].init);
        else
            c->value[l->carry[i].result.id] = true;
}

static bool *find_crossing(const struct staging *t, int layer) {
    const et_graph *g = t->g;
    struct crossing c = {t, layer, et_alloc(g->arena, (size_t)g->nvals)};
    for (int i = 0; i < g->body.n; i++) {
        et_stmt s = g->body.stmt[i];
        if (t->at[i].to <= layer) continue;
        if (s.kind == ET_S_LOOP) cross_loop(&c, &g->loops[s.index], &t->at[i]);
        stage_walk(g, s, cross_node, &c);
    }
    return c.value;
}

/* ---- the stage ---- */

static const char *numbered(et_graph *g, const char *name, int n) {
    return n ? et_printf(g->arena, "%s_%d", name, n) : name;
}

struct own {
    struct staging *t;
    et_value *in; /* by value: the input in its place */
};

static et_value *add_inputs(struct staging *t, const bool *crosses, int nvals) {
    et_graph *g = t->g;
    et_value *in = et_alloc(g->arena, (size_t)nvals * sizeof *in);
    int n = 0;
    for (int v = 1; v < nvals; v++) {
        if (!crosses[v]) continue;
        et_shape shape = g->vals[v].shape;
        in[v] = et_graph_value(g, ET_V_INPUT, numbered(g, "stage_in", n++), &shape, g->vals[v].loc);
    }
    return in;
}

static void read_inputs(void *ctx, int node) {
    struct own *o = ctx;
    et_node *n = &o->t->g->nodes[node];
    for (int a = 0; a < n->nargs; a++)
        if (o->in[n->args[a].id].id) n->args[a] = o->in[n->args[a].id];
}

static bool is_here(const struct staging *t, int s) {
    const et_graph *g = t->g;
    et_stmt at = g->body.stmt[s];
    et_value r = at.kind == ET_S_NODE ? g->nodes[at.index].result : ET_NO_VALUE;
    if (r.id && t->home[r.id] == ANYWHERE) return true;
    return stage_of(t, t->at[s].from) <= t->stage && t->stage <= stage_of(t, t->at[s].to - 1);
}

/* Statements of other stages go, those that stay read inputs. */
static void keep_stage(struct staging *t, et_value *in) {
    et_graph *g = t->g;
    struct own o = {t, in};
    int n = 0;
    for (int i = 0; i < g->body.n; i++) {
        et_stmt s = g->body.stmt[i];
        if (!is_here(t, i)) continue;
        et_loop *l = s.kind == ET_S_LOOP ? &g->loops[s.index] : NULL;
        for (int c = 0; l && c < l->ncarry; c++) {
            bool goes_on = t->at[i].from < t->bound[t->stage];
            et_value from = goes_on ? l->carry[c].result : l->carry[c].init;
            if (in[from.id].id) l->carry[c].init = in[from.id];
            in[l->carry[c].result.id] = ET_NO_VALUE; /* what follows reads the loop's own */
        }
        stage_walk(g, s, read_inputs, &o);
        t->at[n] = t->at[i];
        g->body.stmt[n++] = s;
    }
    g->body.n = n;
}

/* Of the model's own outputs those that are computed here. */
static void keep_outputs(struct staging *t) {
    et_graph *g = t->g;
    int n = 0;
    for (int i = 0; i < g->noutputs; i++)
        if (stage_of(t, t->home[g->outputs[i].id]) == t->stage) g->outputs[n++] = g->outputs[i];
    g->noutputs = n;
}

static bool is_made_here(const struct staging *t, et_value v) {
    const et_graph *g = t->g;
    for (int i = 0; i < g->body.n; i++) {
        et_stmt s = g->body.stmt[i];
        if (s.kind == ET_S_NODE && g->nodes[s.index].result.id == v.id) return true;
        for (int c = 0; s.kind == ET_S_LOOP && c < g->loops[s.index].ncarry; c++)
            if (g->loops[s.index].carry[c].result.id == v.id) return true;
    }
    return false;
}

static void add_outputs(struct staging *t, const bool *crosses, const et_value *in, int nvals) {
    et_graph *g = t->g;
    int n = 0;
    for (int v = 1; v < nvals; v++) {
        et_value x = {(uint32_t)v};
        if (!crosses[v]) continue;
        et_graph_output(g, is_made_here(t, x) ? x : in[v], numbered(g, "stage_out", n++));
    }
}

static const char *problem(const et_graph *g, int stage, int stages) {
    if (g->nmodels) return "several models in one kernel have no stages";
    if (g->devices) return "stages are of a program that is not divided yet";
    if (stage < 1 || stage > stages) return "there is no such stage";
    for (int v = 1; v < g->nvals; v++)
        if (g->vals[v].name && strncmp(g->vals[v].name, "stage_", 6) == 0 &&
            (g->vals[v].kind == ET_V_INPUT || g->vals[v].is_output))
            return "it is a stage already";
    return NULL;
}

bool et_take_stage(et_graph *g, int stage, int stages) {
    if (stages <= 1) return true;
    struct staging t = {
        .g = g, .stage = stage - 1, .stages = stages, .why = problem(g, stage, stages)};
    int nvals = g->nvals;
    bool ok = !t.why && stage_layers(&t);
    if (ok) {
        bool *before = find_crossing(&t, t.bound[t.stage]),
             *after = find_crossing(&t, t.bound[stage]);
        if (!t.stage) memset(before, 0, (size_t)nvals);
        if (stage == stages) memset(after, 0, (size_t)nvals);
        ok = stage_cut(&t);
        et_value *in = add_inputs(&t, before, nvals);
        keep_outputs(&t);
        keep_stage(&t, in);
        add_outputs(&t, after, in, nvals);
        stage_keep(g, stage == stages);
    }
    if (!ok) et_diag(g->diags, ET_ERROR, (et_loc){0}, "--layers=%d/%d: %s", stage, stages, t.why);
    return ok;
}
