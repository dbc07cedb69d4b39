/* What can be streamed. */
#include "ir/weights/stream.h"
#include "ir/program/step.h"
#include "ir/weights/computed.h"
#include <string.h>

int et_ring_words(int stages, int wave, bool prefetches) {
    enum { ALIGN = 128 };
    int barriers = ((2 * stages + 2) * ET_RING_BARRIER + ALIGN - 1) / ALIGN * ALIGN;
    return barriers + (prefetches ? wave * ET_RING_PIECE : 0);
}

static bool is_weight(const et_program *p, et_expr e) {
    const et_node_x *n = et_x(p->g->exprs, e);
    return n->i2 == ET_LOAD_TENSOR && p->tensors[n->i].kind == ET_TENSOR_WEIGHT;
}

/* Is this the load that K, a variable, walks through rows that pieces of a ring can be of? */
static bool along(const et_program *p, et_expr load, int k) {
    const et_node_x n = *et_x(p->g->exprs, load);
    return et_k_contiguous(p, load, k, p->tensors[n.i].shape.dtype) || et_k_part(p, load, k);
}

/* How many k of a row share an element of LOAD, which has the next ones' beside it; or 0. */
static int group_of(const et_program *p, et_expr load, int k) {
    et_exprs *x = p->g->exprs;
    const et_node_x n = *et_x(x, load);
    for (int d = 0; d + 1 < n.nops; d++)
        if (et_expr_has_var(x, n.ops[d], k)) return 0;
    const et_node_x last = n.nops ? *et_x(x, n.ops[n.nops - 1]) : n;
    int64_t by, all;
    if (last.op != ET_X_IDIV || !et_expr_eq(last.ops[0], et_var(x, k))) return 0;
    if (!et_is_int(x, last.ops[1], &by) || !et_is_int(x, et_var_extent(x, k), &all)) return 0;
    return by > 1 && by <= all && !(by & (by - 1)) && all % by == 0 ? (int)by : 0;
}

struct loads {
    const et_program *p;
    int k;
    et_expr found; /* the one along k */
    bool odd;      /* another, or one that is no weight */
    et_auxiliary_load beside[ET_MOST_AUXILIARY];
    int n;
};

static void note_beside(struct loads *l, et_expr load, int group) {
    for (int i = 0; i < l->n; i++)
        if (et_expr_eq(l->beside[i].load, load)) return;
    if (group && l->n < ET_MOST_AUXILIARY) l->beside[l->n++] = (et_auxiliary_load){load, group};
}

static et_dtype dtype_of(const et_program *p, et_expr load) {
    return p->tensors[et_x(p->g->exprs, load)->i].shape.dtype;
}

/* Of two planes of codes that of the fewer bits is beside the other. */
static void note_along(struct loads *l, et_expr load) {
    if (!l->found.id) {
        l->found = load;
        return;
    }
    int was = et_dtype_bits(dtype_of(l->p, l->found)), bits = et_dtype_bits(dtype_of(l->p, load));
    l->odd |= was == bits || was > 8 || bits > 8;
    note_beside(l, bits < was ? load : l->found, 1);
    if (bits > was) l->found = load;
}

/* What only one arm of a choice reads is not for everybody. */
static void find_loads(struct loads *l, et_expr e) {
    const et_node_x n = *et_x(l->p->g->exprs, e);
    if (n.op == ET_X_SELECT || n.op == ET_X_AND || n.op == ET_X_OR) l->odd = true;
    if (n.op != ET_X_LOAD) {
        for (int i = 0; i < n.nops; i++)
            find_loads(l, n.ops[i]);
        return;
    }
    if (!is_weight(l->p, e))
        l->odd = true;
    else if (l->found.id && et_expr_eq(l->found, e))
        return;
    else if (along(l->p, e, l->k))
        note_along(l, e);
    else
        note_beside(l, e, group_of(l->p, e, l->k));
}

et_expr et_stream_load(const et_program *p, const et_step *s, int i) {
    struct loads l = {.p = p, .k = s->kvar};
    find_loads(&l, s->b[i]);
    return l.odd ? ET_NO_EXPR : l.found;
}

int et_stream_auxiliary(const et_program *p, const et_step *s, int i, et_auxiliary_load *out) {
    struct loads l = {.p = p, .k = s->kvar};
    find_loads(&l, s->b[i]);
    if (l.odd || !l.found.id) return 0;
    memcpy(out, l.beside, sizeof l.beside);
    return l.n;
}

int64_t et_stream_auxiliary_bytes(const et_program *p, const et_step *s, int64_t bytes) {
    int64_t most = 0;
    for (int i = 0; i < s->nacc; i++) {
        et_auxiliary_load beside[ET_MOST_AUXILIARY];
        int n = et_stream_auxiliary(p, s, i, beside);
        int64_t all = 0;
        for (int b = 0; b < n; b++) {
            int64_t k = bytes * 8 / et_dtype_bits(dtype_of(p, et_stream_load(p, s, i)));
            all += et_dtype_size(dtype_of(p, beside[b].load), k / beside[b].group);
            if (beside[b].group == 1) all += all / 2; /* gaps between rows */
        }
        most = all > most ? all : most;
    }
    return most;
}

/* Elements from the first row of LOAD, along NVAR, to row ROW, or -1. */
static int64_t row_of(const et_program *p, et_expr load, int nvar, int row) {
    et_exprs *x = p->g->exprs;
    const et_node_x n = *et_x(x, load);
    const et_tensor *t = &p->tensors[n.i];
    int64_t offset = 0, stride = 1, d, size;
    for (int i = n.nops - 1; i >= 0; i--) {
        et_expr at = et_subst_var(x, n.ops[i], nvar, et_int(x, row));
        et_expr by = et_sub(x, at, et_subst_var(x, n.ops[i], nvar, et_int(x, 0)));
        if (!et_is_int(x, by, &d)) return -1;
        offset += d * stride;
        if (i && !et_is_int(x, t->shape.dim[i], &size)) return -1;
        if (i) stride *= size;
    }
    return offset;
}

int64_t et_stream_part(const et_program *p, const et_step *s) {
    et_expr load = et_stream_load(p, s, 0);
    return load.id ? et_k_part(p, load, s->kvar) : 0;
}

int64_t et_stream_row(const et_program *p, const et_step *s, int b, int row) {
    return row_of(p, et_stream_load(p, s, b), s->nvar, row);
}

/* Is each row of LOAD, along NVAR, as far from the one before it as the second? */
static bool is_even(const et_program *p, et_expr load, int nvar) {
    const et_node_x *n = et_x(p->g->exprs, load);
    for (int i = 0; i < n->nops; i++)
        if (et_growth_of(p->g->exprs, n->ops[i], nvar) > ET_EVEN) return false;
    return row_of(p, load, nvar, 1) >= 0;
}

bool et_stream_is_even(const et_program *p, const et_step *s, int b) {
    return is_even(p, et_stream_load(p, s, b), s->nvar);
}

int64_t et_stream_apart(const et_program *p, const et_step *s, et_expr load) {
    return is_even(p, load, s->nvar) ? row_of(p, load, s->nvar, 1) : -1;
}

/* Rows one behind the other, of K elements at least. */
static bool in_order(const et_program *p, const et_step *s, et_expr load, int64_t k) {
    int rows = is_even(p, load, s->nvar) && s->tn > 2 ? 2 : s->tn;
    for (int64_t n = 1, at = 0, next; n < rows; n++, at = next) {
        next = row_of(p, load, s->nvar, (int)n);
        if (next < at + k) return false;
    }
    return true;
}

/* Is it a multiple of 16, whatever its variables are? */
static bool sixteens(const et_exprs *x, et_expr e) {
    const et_node_x *n = et_x(x, e);
    int some = 0;
    for (int i = 0; i < n->nops; i++)
        some += sixteens(x, n->ops[i]);
    if (n->op == ET_X_INT) return n->n % 16 == 0;
    if (n->op == ET_X_MUL) return some > 0;
    return (n->op == ET_X_ADD || n->op == ET_X_SUB || n->op == ET_X_MIN) && some == n->nops;
}

bool et_stream_is_full(const et_program *p, const et_step *s) {
    int64_t n;
    return et_is_int(p->g->exprs, s->nlive, &n) && n == s->tn;
}

/* How many k a tile has that has any, or -1. */
static int64_t k_of(const et_exprs *x, const et_step *s) {
    int64_t k, none;
    const et_node_x *n = et_x(x, s->kextent);
    if (n->op == ET_X_SELECT)
        return et_is_int(x, n->ops[2], &none) && !none && et_is_int(x, n->ops[1], &k) ? k : -1;
    return et_is_int(x, s->kextent, &k) ? k : -1;
}

static bool streamable(const et_program *p, const et_step *s) {
    et_exprs *x = p->g->exprs;
    int64_t k = k_of(x, s);
    if (k <= 0 || (!et_stream_is_full(p, s) && (s->tn % 16 || !sixteens(x, s->nlive))))
        return false;
    int bits = 0;
    int64_t part = et_stream_part(p, s);
    for (int b = 0; b < s->nacc; b++) {
        et_expr load = et_stream_load(p, s, b);
        bool plain = load.id && et_expr_eq(load, s->b[b]);
        if (!load.id || et_k_part(p, load, s->kvar) != part || (part && !plain)) return false;
        if (!in_order(p, s, load, part ? part : k)) return false;
        if (plain && dtype_of(p, load) != s->operand) return false;
        if (b && et_dtype_bits(dtype_of(p, load)) != bits) return false;
        bits = et_dtype_bits(dtype_of(p, load));
    }
    return true;
}

int et_stream_step(const et_program *p, const et_func *f) {
    int found = -1;
    for (int i = 0; i < f->nsteps; i++) {
        if (f->steps[i].kind != ET_STEP_CONTRACT) continue;
        const et_step *s = &f->steps[i];
        bool itself = et_step_stages(f, s) && !f->locals[s->stage_b].slot;
        if (found >= 0 || itself || !streamable(p, s)) return -1;
        found = i;
    }
    return found;
}

bool et_stream_is_routed(const et_grid *g) {
    return g->streamed && g->nawaits;
}

bool et_stream_is_short(const et_program *p, const et_grid *g) {
    const et_func *f = &p->funcs[g->func];
    if (!et_stream_is_routed(g)) return false;
    return et_dtype_bits(dtype_of(p, et_stream_load(p, &f->steps[et_stream_step(p, f)], 0))) <= 4;
}

/* ---- what decides where weights are ---- */

enum { MOST_DECIDERS = 4 };

struct deciders {
    const et_program *p;
    int *of, n;
    bool too_many;
};

/* Nothing in a launch writes these. */
static bool is_given(const et_program *p, int tensor) {
    et_tensor_kind kind = p->tensors[tensor].kind;
    return kind == ET_TENSOR_WEIGHT || kind == ET_TENSOR_INPUT || kind == ET_TENSOR_CONST;
}

static void note_decider(void *ctx, et_expr e) {
    struct deciders *d = ctx;
    const et_node_x *n = et_x(d->p->g->exprs, e);
    if (n->op != ET_X_LOAD || (n->i2 == ET_LOAD_TENSOR && is_given(d->p, n->i))) return;
    int tensor = n->i2 == ET_LOAD_TENSOR ? n->i : -1; /* a local: the producer has none */
    for (int i = 0; i < d->n; i++)
        if (d->of[i] == tensor) return;
    d->too_many |= tensor < 0 || d->n == MOST_DECIDERS;
    if (!d->too_many) d->of[d->n++] = tensor;
}

/* Tensors that tasks of a launch write and that decide where the weights of the step are, or
 * whether a tile has any: how many, into OUT; -1: more than there is room for. */
static int deciders_of(const et_program *p, const et_step *s, int out[MOST_DECIDERS]) {
    struct deciders d = {.p = p, .of = out};
    et_walk(p->g->exprs, s->kextent, note_decider, &d);
    for (int i = 0; i < s->nacc; i++)
        et_walk(p->g->exprs, s->b[i], note_decider, &d);
    return d.too_many ? -1 : d.n;
}

struct writers {
    int tensor;
    bool writes;
};

static void note_store(void *ctx, const et_step *s, int tensor, bool is_store,
                       const et_expr *index) {
    (void)s, (void)index;
    struct writers *w = ctx;
    w->writes |= is_store && tensor == w->tensor;
}

/* The one grid that writes TENSOR, or -1. */
static int writer_of(const et_program *p, int tensor) {
    int found = -1;
    for (int i = 0; i < p->ngrids; i++) {
        struct writers w = {.tensor = tensor};
        et_func_accesses(p, &p->funcs[p->grids[i].func], note_store, &w);
        if (w.writes && found >= 0) return -1;
        if (w.writes) found = i;
    }
    return found;
}

/* The wait for all counters that tiles of FROM tell by N in an iteration. A flag-in-data event says
 * nothing of what has no flags. */
static bool whole_box(const et_program *p, const et_grid *from, const et_notify *n, et_wait *out) {
    et_exprs *x = p->g->exprs;
    const et_event *e = &p->events[n->event];
    const et_func *f = &p->funcs[from->func];
    *out = (et_wait){.event = n->event};
    if (n->nvars || n->when != ET_ALWAYS || e->unfenced) return false;
    for (int d = 0; d < e->rank; d++) {
        if (e->var[d] || et_expr_loads(x, n->index[d])) return false;
        bool own = et_expr_has_vars(x, n->index[d], f->ncoords, f->coord);
        out->lo[d] = own ? et_int(x, 0) : n->index[d];
        out->hi[d] = own ? et_sub(x, e->dim[d], et_int(x, 1)) : n->index[d];
    }
    return true;
}

/* By the first event that says so: the coarsest, if they are made finest first. */
static bool await_of(const et_program *p, const et_grid *g, int tensor, et_wait *out) {
    int from = writer_of(p, tensor);
    const et_grid *w = from < 0 ? NULL : &p->grids[from];
    if (!w || w->loop != g->loop || w->model != g->model) return false;
    for (int i = w->nnotifies - 1; i >= 0; i--)
        if (whole_box(p, w, &w->notifies[i], out)) return true;
    return false;
}

static bool same_wait(const et_program *p, const et_wait *a, const et_wait *b) {
    bool same = a->event == b->event && !a->nvars && !b->nvars && a->when == b->when;
    for (int d = 0; d < p->events[a->event].rank && same; d++)
        same = et_expr_eq(a->lo[d], b->lo[d]) && et_expr_eq(a->hi[d], b->hi[d]);
    return same;
}

/* Does the await say that all of TENSOR is written? */
static bool says(const et_program *p, const et_grid *g, const et_wait *await, int tensor) {
    int from = writer_of(p, tensor);
    const et_grid *w = from < 0 ? NULL : &p->grids[from];
    et_wait whole;
    if (!w || w->loop != g->loop || w->model != g->model) return false;
    for (int i = 0; i < w->nnotifies; i++)
        if (whole_box(p, w, &w->notifies[i], &whole) && same_wait(p, &whole, await)) return true;
    return false;
}

static bool is_awaited(const et_program *p, const et_grid *g, int tensor) {
    for (int k = 0; k < g->nawaits; k++)
        if (says(p, g, &g->awaits[k], tensor)) return true;
    return false;
}

static bool serves(const et_program *p, const et_grid *g, int await, int n, const int *of) {
    for (int i = 0; i < n; i++)
        if (says(p, g, &g->awaits[await], of[i])) return true;
    return false;
}

bool et_stream_await(et_program *p, et_grid *g) {
    const et_func *f = &p->funcs[g->func];
    int of[MOST_DECIDERS], n = deciders_of(p, &f->steps[et_stream_step(p, f)], of);
    bool ok = n >= 0;
    g->nawaits = 0;
    for (int i = 0; i < n && ok; i++) {
        et_wait w;
        if (is_awaited(p, g, of[i])) continue;
        ok = await_of(p, g, of[i], &w);
        if (!ok) break;
        ET_GROW(p->g->arena, g->awaits, g->nawaits, g->cawaits);
        g->awaits[g->nawaits++] = w;
    }
    if (!ok) g->nawaits = 0;
    return ok;
}

/* ---- grids ---- */

static const char *awaits_problem(const et_program *p, const et_grid *g, const et_step *s) {
    int of[MOST_DECIDERS], n = deciders_of(p, s, of);
    if (n < 0) return "too many tensors decide where its weights are";
    for (int i = 0; i < n; i++)
        if (!is_awaited(p, g, of[i]))
            return et_printf(p->g->arena,
                             "%%%s decides where its weights are, and it does not await the event "
                             "that says all of that is written",
                             p->tensors[of[i]].name);
    for (int k = 0; k < g->nawaits; k++)
        if (!serves(p, g, k, n, of)) return "it awaits what does not decide where its weights are";
    return NULL;
}

const char *et_stream_problem(const et_program *p, const et_grid *g) {
    if (g->dynamic || g->slice.count) return "its tiles are not known from the start of a launch";
    if (!p->ring.slots) return "there is no ring";
    const et_func *f = &p->funcs[g->func];
    int step = et_stream_step(p, f);
    if (step < 0) return "it has no product by rows of weights that all lie in order";
    return awaits_problem(p, g, &f->steps[step]);
}

int64_t et_stream_bytes(et_program *p, const et_grid *g) {
    et_exprs *x = p->g->exprs;
    const et_func *f = &p->funcs[g->func];
    const et_step *s = &f->steps[et_stream_step(p, f)];
    int64_t k = k_of(x, s), lo, hi;
    int64_t bytes = s->nacc * s->tn * et_dtype_size(dtype_of(p, et_stream_load(p, s, 0)), k);
    for (int i = 0; i < f->ncoords; i++) {
        bool used = false;
        for (int b = 0; b < s->nacc; b++)
            used |= et_expr_has_var(x, s->b[b], f->coord[i]);
        if (used && et_bounds(x, g->extent[i], &lo, &hi)) bytes *= hi > 1 ? hi : 1;
    }
    return bytes;
}
