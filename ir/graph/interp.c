/* The reference interpreter: statements in program order, every value a tensor of its own. */
#include "ir/graph/op_util.h"
#include <stdlib.h>
#include <string.h>

typedef struct {
    const et_graph *g;
    const int64_t *syms;
    int64_t *vars;
    et_tensor_data **of; /* value id -> its tensor, NULL until it is made */
    et_tensor_data *own; /* value id -> the tensor made here when the caller gave none */
    et_watch_fn watch;
    void *ctx;
    char *err;
} run;

static bool fail(run *r, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool fail(run *r, const char *fmt, ...) {
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(r->err, 256, fmt, ap);
    va_end(ap);
    return false;
}

static const char *name_of(const run *r, uint32_t id) {
    return r->g->vals[id].name ? r->g->vals[id].name : "(unnamed)";
}

/* The dimensions of a value at this launch; false when its bytes cannot be counted. */
static bool dims_of(const run *r, uint32_t id, et_tensor_data *out, int64_t *out_count) {
    const et_shape *s = &r->g->vals[id].shape;
    *out =
        (et_tensor_data){.dtype = et_dtype_is_float(s->dtype) ? ET_F32 : ET_I32, .rank = s->rank};
    *out_count = 1;
    for (int k = 0; k < s->rank; k++) {
        out->dim[k] = et_eval(r->g->exprs, s->dim[k], r->syms, r->vars);
        if (out->dim[k] < 1 || __builtin_mul_overflow(*out_count, out->dim[k], out_count))
            return false;
    }
    return *out_count <= INT64_MAX / 16;
}

static et_tensor_data *make(run *r, et_value v) {
    const et_val *val = et_val_of(r->g, v);
    et_tensor_data *t = &r->own[v.id], now;
    int64_t count = 0;
    if (r->of[v.id] && r->of[v.id] != t) return r->of[v.id];
    if (!dims_of(r, v.id, &now, &count)) {
        fail(r, "%s is too large or empty", name_of(r, v.id));
        return NULL;
    }
    if (r->of[v.id]) { /* of an earlier iteration, whose variable its size may depend on */
        if (memcmp(t->dim, now.dim, (size_t)now.rank * sizeof *now.dim) == 0) return t;
        free(t->p);
        r->of[v.id] = NULL;
    }
    *t = now;
    t->p = val->kind == ET_V_CONST ? (void *)val->data : calloc((size_t)count, sizeof(float));
    if (!t->p) {
        fail(r, "no memory for %s, %lld elements", name_of(r, v.id), (long long)count);
        return NULL;
    }
    return r->of[v.id] = t;
}

static et_tensor_data *find(run *r, et_value v) {
    if (et_val_of(r->g, v)->kind == ET_V_CONST) return make(r, v);
    if (!r->of[v.id]) fail(r, "%s is read before it has a value", name_of(r, v.id));
    return r->of[v.id];
}

static bool copy(run *r, et_value to, et_value from) {
    et_tensor_data *src = find(r, from), *dst = src ? make(r, to) : NULL;
    if (dst) memcpy(dst->p, src->p, (size_t)et_tensor_count(src) * sizeof(float));
    return dst != NULL;
}

static bool run_node(run *r, const et_node *n) {
    et_tensor_data *args[ET_MAX_ARGS];
    char why[256] = "failed";
    et_interp_args a = {.g = r->g, .node = n, .syms = r->syms, .vars = r->vars, .args = args};
    a.err = why;
    for (int i = 0; i < n->nargs; i++)
        if (!(args[i] = find(r, n->args[i]))) return false;
    if (n->result.id && !(a.result = make(r, n->result))) return false;
    if (!n->op->interp(&a)) return fail(r, "%s: %.200s", n->op->name, why);
    if (r->watch && n->result.id) r->watch(r->ctx, n, r->vars, a.result);
    return true;
}

/* The values leaving an iteration enter the next one all at once: a carry may leave with what
 * another one entered with. */
static bool turn_carries(run *r, const et_loop *l) {
    float **next = calloc((size_t)l->ncarry + 1, sizeof *next);
    bool ok = next || fail(r, "out of memory");
    for (int i = 0; ok && i < l->ncarry; i++) {
        const et_tensor_data *out = find(r, l->carry[i].out);
        size_t bytes = out ? (size_t)et_tensor_count(out) * sizeof **next : 0;
        ok = out && ((next[i] = malloc(bytes)) || fail(r, "out of memory"));
        if (ok) memcpy(next[i], out->p, bytes);
    }
    for (int i = 0; ok && i < l->ncarry; i++) {
        et_tensor_data *in = r->of[l->carry[i].in.id];
        memcpy(in->p, next[i], (size_t)et_tensor_count(in) * sizeof **next);
    }
    for (int i = 0; next && i < l->ncarry; i++)
        free(next[i]);
    free(next);
    return ok;
}

static bool run_block(run *r, const et_block *b);

static bool run_loop(run *r, const et_loop *l) {
    for (int i = 0; i < l->ncarry; i++)
        if (!copy(r, l->carry[i].in, l->carry[i].init)) return false;
    int64_t trips = et_eval(r->g->exprs, l->trips, r->syms, r->vars);
    for (int64_t k = 0; k < trips; k++) {
        r->vars[l->var] = k;
        if (!run_block(r, &l->body)) return false;
        if (k + 1 < trips && !turn_carries(r, l)) return false;
    }
    for (int i = 0; i < l->ncarry; i++)
        if (!copy(r, l->carry[i].result, l->carry[i].out)) return false;
    return true;
}

static bool run_block(run *r, const et_block *b) {
    for (int i = 0; i < b->n; i++) {
        const et_stmt *s = &b->stmt[i];
        if (s->kind == ET_S_NODE ? !run_node(r, &r->g->nodes[s->index])
                                 : !run_loop(r, &r->g->loops[s->index]))
            return false;
    }
    return true;
}

static bool must_be_given(const et_val *v) {
    return v->kind == ET_V_INPUT || v->kind == ET_V_WEIGHT || v->kind == ET_V_STATE || v->is_output;
}

static bool check_given(run *r, uint32_t id) {
    const et_tensor_data *t = r->of[id];
    et_tensor_data want;
    int64_t count;
    if (!t) return !must_be_given(&r->g->vals[id]) || fail(r, "%s is not given", name_of(r, id));
    bool same = dims_of(r, id, &want, &count) && t->rank == want.rank && t->p &&
                et_dtype_is_float(t->dtype) == et_dtype_is_float(want.dtype) &&
                memcmp(t->dim, want.dim, (size_t)want.rank * sizeof *want.dim) == 0;
    return same || fail(r, "%s has another type or shape than the graph says", name_of(r, id));
}

static int count_vars(const et_graph *g) {
    int n = 1;
    for (int i = 0; i < g->nloops; i++)
        n = g->loops[i].var >= n ? g->loops[i].var + 1 : n;
    return n;
}

bool et_graph_interp(const et_graph *g, const int64_t *syms, et_tensor_data **tensors,
                     char err[256]) {
    return et_graph_interp_watch(g, syms, tensors, NULL, NULL, err);
}

bool et_graph_interp_watch(const et_graph *g, const int64_t *syms, et_tensor_data **tensors,
                           et_watch_fn watch, void *ctx, char err[256]) {
    size_t n = (size_t)g->nvals;
    run r = {.g = g, .syms = syms, .watch = watch, .ctx = ctx, .err = err};
    r.vars = calloc((size_t)count_vars(g), sizeof *r.vars);
    r.of = calloc(n, sizeof *r.of);
    r.own = calloc(n, sizeof *r.own);
    bool ok = (r.vars && r.of && r.own) || fail(&r, "out of memory");
    for (int s = 0; ok && s < et_sym_count(g->exprs); s++) {
        int64_t lo, hi;
        et_sym_range(g->exprs, s, &lo, &hi);
        ok = (syms[s] >= lo && syms[s] <= hi) ||
             fail(&r, "%s is %lld, outside %lld..%lld", et_sym_name(g->exprs, s),
                  (long long)syms[s], (long long)lo, (long long)hi);
    }
    if (ok) memcpy(r.of, tensors, n * sizeof *r.of);
    for (size_t id = 1; ok && id < n; id++)
        ok = check_given(&r, (uint32_t)id);
    ok = ok && run_block(&r, &g->body);
    for (size_t id = 1; r.of && r.own && id < n; id++)
        if (r.of[id] == &r.own[id] && g->vals[id].kind != ET_V_CONST) free(r.own[id].p);
    free(r.vars);
    free(r.of);
    free(r.own);
    return ok;
}
