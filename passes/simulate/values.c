/* Values of the integer tensors that waits, notifies and the sizes of tiles read, from the
 * reference interpreter. It runs a copy of the graph that holds only the nodes these tensors depend
 * on and that depend on nothing missing. */
#include "ir/base/diag.h"
#include "ir/graph/ops.h"
#include "ir/program/step.h"
#include "passes/simulate/simulate.h"
#include <stdlib.h>
#include <string.h>

struct known {
    int64_t dim[ET_MAX_RANK];
    int rank;
    int64_t count, iterations;
    int32_t *v; /* of so many ITERATIONS that ran [count], or the caller's */
    bool is_given;
};

struct et_sim_values {
    et_program *p;
    struct known *of; /* by tensor; v is NULL where nothing is known */
};

/* ---- which tensors ---- */

struct readers {
    et_program *p;
    et_exprs *x;
    bool *read; /* by tensor */
};

static void note_load(void *ctx, et_expr e) {
    struct readers *r = ctx;
    const et_node_x *n = et_x(r->x, e);
    if (n->op == ET_X_LOAD && n->i2 == ET_LOAD_TENSOR && n->type == ET_T_I32) r->read[n->i] = true;
}

static void look(struct readers *r, et_expr e) {
    if (e.id) et_walk(r->x, e, note_load, r);
}

static void note_access(void *ctx, const et_step *step, int tensor, bool is_store,
                        const et_expr *index) {
    (void)step, (void)is_store;
    struct readers *r = ctx;
    for (int d = 0; d < r->p->tensors[tensor].shape.rank; d++)
        look(r, index[d]);
}

static void look_at_vars(struct readers *r, int n, const int *vars) {
    for (int i = 0; i < n; i++)
        look(r, et_var_extent(r->x, vars[i]));
}

static void look_at_grid(struct readers *r, const et_grid *g) {
    const et_func *f = &r->p->funcs[g->func];
    for (int i = 0; i < g->nwaits; i++) {
        for (int d = 0; d < r->p->events[g->waits[i].event].rank; d++) {
            look(r, g->waits[i].lo[d]);
            look(r, g->waits[i].hi[d]);
        }
        look_at_vars(r, g->waits[i].nvars, g->waits[i].vars);
    }
    for (int i = 0; i < g->nnotifies; i++) {
        for (int d = 0; d < r->p->events[g->notifies[i].event].rank; d++)
            look(r, g->notifies[i].index[d]);
        look_at_vars(r, g->notifies[i].nvars, g->notifies[i].vars);
    }
    et_func_accesses(r->p, f, note_access, r);
    for (int i = 0; i < f->nsteps; i++) {
        et_step_expr e[ET_STEP_EXPRS];
        for (int k = 0, n = et_step_exprs(&f->steps[i], e); k < n; k++)
            if (e[k].part == ET_PART_EXTENT) look(r, e[k].e);
    }
}

static bool *tensors_read(et_program *p) {
    struct readers r = {.p = p, .x = p->g->exprs};
    r.read = calloc((size_t)p->ntensors + 1, sizeof *r.read);
    if (!r.read) et_no_memory();
    for (int i = 0; i < p->ngrids; i++)
        look_at_grid(&r, &p->grids[i]);
    for (int i = 0; i < p->nevents; i++)
        look(&r, p->events[i].count);
    return r.read;
}

/* ---- which nodes ---- */

enum { UNSEEN, POSSIBLE, IMPOSSIBLE };

struct slice {
    const et_graph *g;
    et_tensor_data *const *given;
    char *state; /* by value */
};

/* Does node I write the state V? */
static bool writes(const et_graph *g, int i, et_value v) {
    const et_node *n = &g->nodes[i];
    return et_writes_state(n) && n->args[0].id == v.id;
}

/* Mark V and all it depends on as possible, whatever is missing. A state depends on all that is
 * written to it. */
static void need(struct slice *s, et_value v) {
    const et_val *val = et_val_of(s->g, v);
    if (s->state[v.id] != UNSEEN) return;
    s->state[v.id] = POSSIBLE;
    for (int i = 0; val->kind == ET_V_STATE && i < s->g->nnodes; i++)
        for (int k = 1; writes(s->g, i, v) && k < s->g->nodes[i].nargs; k++)
            need(s, s->g->nodes[i].args[k]);
    if (s->given[v.id]) return;
    if (val->kind == ET_V_NODE)
        for (int i = 0; i < s->g->nodes[val->node].nargs; i++)
            need(s, s->g->nodes[val->node].args[i]);
    if (val->kind != ET_V_CARRY && val->kind != ET_V_LOOP) return;
    const et_loop *l = &s->g->loops[val->node];
    for (int i = 0; i < l->ncarry; i++)
        if (l->carry[i].in.id == v.id || l->carry[i].result.id == v.id) {
            need(s, l->carry[i].in);
            need(s, l->carry[i].init);
            need(s, l->carry[i].out);
        }
}

static bool is_possible(const struct slice *s, et_value v) {
    const et_val *val = et_val_of(s->g, v);
    bool ok = true;
    if (val->kind == ET_V_STATE) {
        for (int i = 0; i < s->g->nnodes; i++)
            for (int k = 1; writes(s->g, i, v) && k < s->g->nodes[i].nargs; k++)
                ok &= s->state[s->g->nodes[i].args[k].id] == POSSIBLE;
        return ok && s->given[v.id];
    }
    if (s->given[v.id] || val->kind == ET_V_CONST) return true;
    if (val->kind == ET_V_NODE) {
        const et_node *n = &s->g->nodes[val->node];
        for (int i = 0; i < n->nargs; i++)
            ok &= s->state[n->args[i].id] == POSSIBLE;
        return ok;
    }
    if (val->kind != ET_V_CARRY && val->kind != ET_V_LOOP) return false;
    const et_loop *l = &s->g->loops[val->node];
    for (int i = 0; i < l->ncarry; i++)
        if (l->carry[i].in.id == v.id || l->carry[i].result.id == v.id)
            ok &= s->state[l->carry[i].in.id] == POSSIBLE &&
                  s->state[l->carry[i].init.id] == POSSIBLE &&
                  s->state[l->carry[i].out.id] == POSSIBLE;
    return ok;
}

/* With loops: values that depend on impossible ones become so, until nothing changes. */
static void drop_impossible(struct slice *s) {
    for (bool again = true; again;) {
        again = false;
        for (int v = 1; v < s->g->nvals; v++)
            if (s->state[v] == POSSIBLE && !is_possible(s, (et_value){(uint32_t)v})) {
                s->state[v] = IMPOSSIBLE;
                again = true;
            }
    }
}

static et_block keep(struct slice *s, et_arena *a, const et_block *from, et_loop *loops) {
    et_block b = {0};
    for (int i = 0; i < from->n; i++) {
        const et_stmt *st = &from->stmt[i];
        if (st->kind == ET_S_NODE) {
            const et_node *n = &s->g->nodes[st->index];
            et_value v = n->result.id ? n->result : n->args[0]; /* or the state it writes */
            if (s->state[v.id] != POSSIBLE || (n->result.id && s->given[v.id])) continue;
        } else {
            et_loop *l = &loops[st->index];
            int n = 0;
            l->body = keep(s, a, &s->g->loops[st->index].body, loops);
            et_carry *carry = et_alloc(a, (size_t)(l->ncarry + 1) * sizeof *carry);
            for (int k = 0; k < l->ncarry; k++)
                if (s->state[l->carry[k].in.id] == POSSIBLE) carry[n++] = l->carry[k];
            l->carry = carry;
            l->ncarry = n;
            if (!l->body.n && !n) continue;
        }
        ET_GROW(a, b.stmt, b.n, b.cap);
        b.stmt[b.n++] = *st;
    }
    return b;
}

/* The graph without nodes that are not needed or impossible. */
static et_graph *cut(struct slice *s, et_arena *a) {
    et_graph *g = et_alloc(a, sizeof *g);
    *g = *s->g;
    g->vals = et_alloc(a, (size_t)g->nvals * sizeof *g->vals);
    g->loops = et_alloc(a, (size_t)(g->nloops + 1) * sizeof *g->loops);
    memcpy(g->vals, s->g->vals, (size_t)g->nvals * sizeof *g->vals);
    if (g->nloops) memcpy(g->loops, s->g->loops, (size_t)g->nloops * sizeof *g->loops);
    for (int v = 1; v < g->nvals; v++) {
        g->vals[v].is_output = false;
        if (!s->given[v] && g->vals[v].kind != ET_V_CONST) g->vals[v].kind = ET_V_NODE;
    }
    g->body = keep(s, a, &s->g->body, g->loops);
    et_graph_renamed(g);
    return g;
}

/* ---- keeping results ---- */

static int64_t iterations_around(const et_graph *g, int loop, const int64_t *vars,
                                 int64_t *out_now) {
    int64_t n = 1, now = 0;
    for (int l = loop; l >= 0; l = g->loops[l].parent) {
        now += vars ? vars[g->loops[l].var] * n : 0;
        n *= g->loops[l].hi - g->loops[l].lo;
    }
    if (out_now) *out_now = now;
    return n;
}

struct watch {
    et_sim_values *sv;
    const bool *read;
    const int *loop; /* by node: innermost around it, or -1 */
};

static void keep_result(void *ctx, const et_node *n, const int64_t *vars, const et_tensor_data *r) {
    struct watch *w = ctx;
    et_program *p = w->sv->p;
    for (int t = 0; t < p->ntensors; t++) {
        struct known *k = &w->sv->of[t];
        int64_t now;
        if (!w->read[t] || p->tensors[t].value.id != n->result.id || r->dtype != ET_I32) continue;
        int64_t all = iterations_around(p->g, w->loop[n - p->g->nodes], vars, &now);
        if (!k->v) {
            k->count = 1;
            k->rank = r->rank;
            for (int d = 0; d < r->rank; d++)
                k->count *= k->dim[d] = r->dim[d];
            k->v = calloc((size_t)(all * k->count), sizeof *k->v);
            if (!k->v) et_no_memory();
        }
        if (now >= k->iterations) k->iterations = now + 1;
        memcpy(k->v + now * k->count, r->i, (size_t)k->count * sizeof *k->v);
    }
}

static void find_loops(const et_graph *g, const et_block *b, int loop, int *out) {
    for (int i = 0; i < b->n; i++)
        if (b->stmt[i].kind == ET_S_NODE)
            out[b->stmt[i].index] = loop;
        else
            find_loops(g, &g->loops[b->stmt[i].index].body, b->stmt[i].index, out);
}

static void take_given(et_sim_values *sv, int t, et_tensor_data *d) {
    struct known *k = &sv->of[t];
    if (d->dtype != ET_I32 || !d->p) return;
    k->v = d->i;
    k->is_given = true;
    k->rank = d->rank;
    k->count = k->iterations = 1;
    for (int i = 0; i < d->rank; i++)
        k->count *= k->dim[i] = d->dim[i];
}

static bool interpret(struct slice *s, struct watch *w, const int64_t *syms, char *err) {
    const et_graph *g = s->g;
    size_t n = (size_t)g->nvals;
    et_arena *a = et_arena_create();
    et_tensor_data **data = et_alloc(a, n * sizeof *data);
    int *loop = et_alloc(a, (size_t)(g->nnodes + 1) * sizeof *loop);
    memcpy(data, s->given, n * sizeof *data);
    find_loops(g, &g->body, -1, loop);
    w->loop = loop;
    et_graph *small = cut(s, a);
    bool ok = et_graph_interp_watch(small, syms, data, keep_result, w, err);
    et_arena_destroy(a);
    return ok;
}

et_sim_values *et_sim_values_create(et_program *p, const int64_t *syms,
                                    struct et_tensor_data *const *given, char err[ET_SIM_ERR]) {
    p = et_part_at(p, syms);
    et_sim_values *sv = calloc(1, sizeof *sv);
    bool *read = tensors_read(p);
    struct slice s = {.g = p->g, .given = given};
    s.state = calloc((size_t)p->g->nvals + 1, 1);
    if (sv) sv->of = calloc((size_t)p->ntensors + 1, sizeof *sv->of);
    if (!sv || !s.state || !sv->of) et_no_memory();
    sv->p = p;
    err[0] = 0;
    for (int t = 0; t < p->ntensors; t++) {
        et_value v = p->tensors[t].value;
        if (!read[t] || !v.id) continue;
        if (given[v.id])
            take_given(sv, t, given[v.id]);
        else
            need(&s, v);
    }
    drop_impossible(&s);
    struct watch w = {sv, read, NULL};
    bool ok = interpret(&s, &w, syms, err);
    free(read);
    free(s.state);
    if (ok) return sv;
    et_sim_values_destroy(sv);
    return NULL;
}

void et_sim_values_destroy(et_sim_values *sv) {
    if (!sv) return;
    for (int t = 0; t < sv->p->ntensors; t++)
        if (!sv->of[t].is_given) free(sv->of[t].v);
    free(sv->of);
    free(sv);
}

bool et_sim_value(void *values, int tensor, int64_t iteration, const int64_t *index, int64_t *out) {
    const et_sim_values *sv = values;
    const struct known *k = &sv->of[tensor];
    int64_t at = 0;
    if (tensor < 0 || tensor >= sv->p->ntensors || !k->v) return false;
    for (int d = 0; d < k->rank; d++) {
        if (index[d] < 0 || index[d] >= k->dim[d]) return false;
        at = at * k->dim[d] + index[d];
    }
    *out = k->v[(iteration < k->iterations ? iteration : k->iterations - 1) * k->count + at];
    return true;
}
